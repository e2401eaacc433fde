/* What faults come to: which GPUs are taken out of service. */
#include "app/fault_impl.h"
#include "base/cleanup.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

enum { CAUSE_BYTES_MAX = 128, MARK_BYTES_MAX = 1024, NODE_SUBJECT_BYTES = 144 };

static const char *node_subject(struct weir_str name, char text[NODE_SUBJECT_BYTES])
{
    return weir_str_format(text, NODE_SUBJECT_BYTES, "node/%.*s", WEIR_STR_ARG(name));
}

/* What was said, and what the driver makes of it where that is not the same line. */
static void put_cause(const struct weir_incident *incident, struct weir_buf *cause)
{
    weir_buf_puts(cause, incident->evidence);
    if (incident->recovery == WEIR_FAULT_RECOVERY_ABSENT ||
        incident->recovery == WEIR_FAULT_RECOVERY_NONE)
        return;
    weir_buf_printf(cause, "; the driver asks for %s",
                    weir_fault_recovery_words(incident->recovery));
}

static int mark_gpu(struct weir_server *server, struct weir_str key,
                    const struct weir_incident *incident, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf cause = WEIR_BUF_INIT(MARK_BYTES_MAX);
    const struct weir_server_mark *old = weir_fault_find_mark(server, key);
    struct weir_mark_record record = {
        .key = key,
        .class = weir_str(incident->class),
        .action = incident->action,
        .then = incident->then,
        .since_wall_ms = server->clock.now(server->clock.ctx).wall_ms,
        .boot_id = server->boot_id,
    };
    int r;

    if (old != NULL && old->action >= record.action)
        return 0;
    if (old != NULL && !weir_selftest_is_of(old))
        record.since_wall_ms = old->since_wall_ms;
    put_cause(incident, &cause);
    r = weir_buf_check(&cause, "what a GPU suffers from", err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    record.cause = weir_buf_view(&cause);
    r = weir_fault_put_mark(server, &record, "gpu.unhealthy", record.class, record.cause, err);
    if (r < 0)
        return r;
    weir_log_warn("gpu.unhealthy", "%.*s is out of service: %.*s (%s)", WEIR_STR_ARG(key),
                  WEIR_STR_ARG(record.cause), weir_fault_action_words(incident->action));
    weir_vec_last(&server->faults->marks)->was_down =
        incident->recovery != WEIR_FAULT_RECOVERY_ABSENT &&
        incident->recovery != WEIR_FAULT_RECOVERY_NONE;
    return 0;
}

/* More of the fleet at once than faults of its own explain: something else is wrong. */
static bool may_mark(struct weir_server *server, uint32_t n_gpus)
{
    int64_t now = server->clock.now(server->clock.ctx).wall_ms;
    uint32_t n_lately = 0;
    bool is_held;

    /* What waits for its test, or did not pass, was out before: it takes nothing out. */
    weir_vec_foreach (mark, &server->faults->marks)
        n_lately += !weir_selftest_is_of(mark) && mark->since_wall_ms > now - WEIR_FAULT_BREAKER_MS;
    is_held = weir_fault_breaker(n_gpus, n_lately);
    if (is_held && !server->faults->is_held)
        weir_log_error("faults.breaker",
                       "%u of %u GPUs failed within minutes: no more are taken out of service "
                       "until that is over",
                       n_lately, n_gpus);
    server->faults->is_held = is_held;
    return !is_held;
}

bool weir_fault_concerns(const struct weir_incident *incident, enum weir_fault_outcome outcome,
                         const struct weir_fault_device *at)
{
    if (at->node != incident->device.node)
        return false;
    return outcome == WEIR_FAULT_OUTCOME_FABRIC || weir_fault_same_address(at, &incident->device);
}

/* Of a device that the driver does not show, or that has no name: the log alone knows of it. */
static int tell_of_unknown(struct weir_server *server, const struct weir_incident *incident,
                           struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    char subject[NODE_SUBJECT_BYTES];
    int r;

    if (incident->device.is_known)
        weir_log_warn("gpu.fault", "%04x:%02x:%02x.0, which the driver does not show: %s (%s)",
                      incident->device.domain, incident->device.bus, incident->device.device,
                      incident->evidence, incident->class);
    else
        weir_log_warn("gpu.fault", "a device that is not named: %s (%s)", incident->evidence,
                      incident->class);
    if (!weir_table_is_live(&world->tables[WEIR_TABLE_NODES], incident->device.node))
        return 0;
    node_subject(weir_world_string(world, weir_world_node(world, incident->device.node)->name),
                 subject);
    r = weir_server_begin(server, err);
    if (r == 0)
        r = weir_server_event(server, WEIR_STR("weir"), "gpu.fault", weir_str(subject),
                              weir_str(incident->class), WEIR_STR(""), weir_str(incident->evidence),
                              err);
    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

struct asking {
    const struct weir_server *server;
    const char *kind;
    int64_t since_mono_ms;
    bool has_one;
};

static int on_event(void *arg, const struct weir_event_record *event)
{
    struct asking *asking = arg;

    asking->has_one = asking->has_one || (weir_str_eq_c(event->kind, asking->kind) &&
                                          memcmp(event->boot_id, asking->server->boot_id,
                                                 sizeof(asking->server->boot_id)) == 0 &&
                                          event->mono_ms >= asking->since_mono_ms);
    return 0;
}

/* Whether something was done for what an earlier life was told: what is not so any more, a person
 * (or a reset) has put back since. */
static int was_dealt_with(struct weir_server *server, const struct weir_incident *incident,
                          const char *kind, const char *subject, bool *ret_was,
                          struct weir_err *err)
{
    struct weir_now now = server->clock.now(server->clock.ctx);
    struct asking asking = {server, kind, incident->first_ms, false};
    struct weir_event_filter filter = {.until = INT64_MAX,
                                       .limit = UINT32_MAX,
                                       .subject = weir_str(subject)};
    int r = 0;

    if (incident->decided <= server->faults->n_loaded)
        r = server->store.events_since(server->store.ctx,
                                       now.wall_ms - (now.mono_ms - incident->first_ms),
                                       &filter.after, err);
    if (r == 0 && incident->decided <= server->faults->n_loaded)
        r = server->store.each_event(server->store.ctx, &filter, on_event, &asking, err);
    *ret_was = asking.has_one;
    return r;
}

/* For a fault: what only waits for its test is not. */
static bool is_out(const struct weir_server *server, struct weir_str key)
{
    const struct weir_server_mark *mark = weir_fault_find_mark(server, key);

    return mark != NULL && !weir_selftest_is_of(mark);
}

/* An earlier life's, and long over: only what the breaker kept from being judged is still open. */
static bool is_old(const struct weir_server *server, const struct weir_incident *incident)
{
    return incident->decided <= server->faults->n_loaded && incident->state == WEIR_INCIDENT_CLOSED;
}

static int take_out_one(struct weir_server *server, struct weir_str key,
                        const struct weir_incident *incident, struct weir_err *err)
{
    char subject[WEIR_FAULT_SUBJECT_BYTES];
    bool was = false, was_held = true;
    int r = 0;

    weir_fault_subject(key, subject);
    if (!is_out(server, key))
        r = was_dealt_with(server, incident, "gpu.unhealthy", subject, &was, err);
    if (r == 0 && !was && is_old(server, incident)) {
        r = was_dealt_with(server, incident, "gpu.held", subject, &was_held, err);
        if (r == 0)
            r = was_dealt_with(server, incident, "gpu.healthy", subject, &was, err);
    }
    return r < 0 || was || !was_held ? r : mark_gpu(server, key, incident, err);
}

/* The breaker leaves the GPU in service; told once, and looked at again when that is over. */
static int hold(struct weir_server *server, struct weir_str key,
                const struct weir_incident *incident, struct weir_err *err)
{
    uint64_t *held = &server->faults->held[incident - server->faults->health.incidents];
    int r;

    if (*held == incident->id)
        return 0;
    r = weir_server_begin(server, err);
    if (r == 0)
        r = weir_fault_tell(server, "gpu.held", key, weir_str(incident->class),
                            weir_str(incident->evidence), err);
    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

/* Its test says whether it is good. */
static bool is_tested(const struct weir_server *server, struct weir_str key)
{
    const struct weir_server_mark *mark = weir_fault_find_mark(server, key);

    return mark != NULL && weir_selftest_is_of(mark);
}

static int take_out(struct weir_server *server, const struct weir_incident *incident,
                    enum weir_fault_outcome outcome, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = weir_fault_list(server, &arena, &devices);
    bool may = may_mark(server, n); /* one fault of several GPUs counts once */
    uint64_t *held = &server->faults->held[incident - server->faults->health.incidents];
    bool is_again = *held == incident->id;
    uint32_t n_there = 0;
    uint32_t n_held = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct weir_fault_device at;

        if (!weir_fault_address_of(server, &devices[i], &at) ||
            !weir_fault_concerns(incident, outcome, &at))
            continue;
        n_there++;
        if (is_again && is_tested(server, devices[i].uuid))
            continue;
        if (may || is_out(server, devices[i].uuid))
            r = take_out_one(server, devices[i].uuid, incident, err);
        else if (!is_old(server, incident))
            r = hold(server, devices[i].uuid, incident, err);
        n_held += !may && !is_out(server, devices[i].uuid);
    }
    if (r == 0)
        *held = n_held > 0 ? incident->id : 0;
    return r == 0 && n_there == 0 && !is_old(server, incident)
               ? tell_of_unknown(server, incident, err)
               : r;
}

/* Whether a GPU of the node is out for a fault: of that the driver goes on to complain, often
 * without its name. Another that is lost as well the driver shows itself. */
static bool has_gpu_out(struct weir_server *server, uint32_t node)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = weir_fault_list(server, &arena, &devices);

    for (uint32_t i = 0; i < n; i++) {
        struct weir_fault_device at;

        if (is_out(server, devices[i].uuid) && weir_fault_address_of(server, &devices[i], &at) &&
            at.node == node)
            return true;
    }
    return false;
}

/* Nothing new is placed there, as if a person had said so; what runs goes on. */
static int take_node_out(struct weir_server *server, const struct weir_incident *incident,
                         struct weir_err *err)
{
    uint32_t index = incident->device.node;
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_cordon_record record = {WEIR_SUBJECT_NODE, WEIR_NODE_CORDONED, WEIR_STR(""),
                                        weir_str_cut(weir_str(incident->evidence),
                                                     CAUSE_BYTES_MAX)};
    char subject[NODE_SUBJECT_BYTES];
    struct weir_node *node;
    bool was;
    int r;

    if (!weir_table_is_live(&world->tables[WEIR_TABLE_NODES], index) ||
        weir_world_node(world, index)->phase != WEIR_NODE_READY)
        return 0;
    record.name = weir_world_string(world, weir_world_node(world, index)->name);
    r = was_dealt_with(server, incident, "node.phase", node_subject(record.name, subject), &was,
                       err);
    if (r < 0 || was)
        return r;
    r = weir_server_begin(server, err);
    if (r == 0)
        r = server->store.put_cordon(server->store.ctx, &record, err);
    if (r == 0)
        r = weir_server_event(server, WEIR_STR("weir"), "node.phase", weir_str(subject),
                              weir_str(incident->class), WEIR_STR(""),
                              weir_str(weir_node_phase_name(WEIR_NODE_CORDONED)), err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    weir_log_warn("node.cordoned", "%.*s: %s", WEIR_STR_ARG(record.name), incident->evidence);
    node = weir_edit_node(server->edit, index);
    if (node == NULL || weir_edit_string(server->edit, record.cause, &node->phase_cause) < 0)
        return weir_server_fail(server, weir_error(err, WEIR_E_NO_MEMORY, "no memory for a node"),
                                err);
    node->phase = WEIR_NODE_CORDONED;
    return 0;
}

/* What takes nothing out of service is told, and no more. */
static int record_only(struct weir_server *server, const struct weir_incident *incident,
                       struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = weir_fault_list(server, &arena, &devices);

    for (uint32_t i = 0; i < n; i++) {
        struct weir_fault_device at;
        int r;

        if (!weir_fault_address_of(server, &devices[i], &at) ||
            !weir_fault_concerns(incident, WEIR_FAULT_OUTCOME_JOB, &at))
            continue;
        r = weir_server_begin(server, err);
        if (r == 0)
            r = weir_fault_tell(server, "gpu.fault", devices[i].uuid, weir_str(incident->class),
                                weir_str(incident->evidence), err);
        return r < 0 ? weir_server_fail(server, r, err) : 0;
    }
    return tell_of_unknown(server, incident, err);
}

/* Whether it is the GPU's fault its test tells. */
static int have_tested(struct weir_server *server, const struct weir_incident *incident,
                       struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = weir_fault_list(server, &arena, &devices);
    int r = record_only(server, incident, err);

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct weir_fault_device at;

        if (weir_fault_address_of(server, &devices[i], &at) &&
            weir_fault_concerns(incident, WEIR_FAULT_OUTCOME_JOB, &at) &&
            weir_fault_find_mark(server, devices[i].uuid) == NULL)
            r = weir_selftest_require(server, devices[i].uuid, "jobs of several users failed on it",
                                      err);
    }
    return r;
}

static int judge(struct weir_server *server, const struct weir_incident *incident,
                 struct weir_err *err)
{
    enum weir_fault_outcome outcome = weir_incident_outcome(incident);

    switch (outcome) {
    case WEIR_FAULT_OUTCOME_DEVICE:
    case WEIR_FAULT_OUTCOME_FABRIC:
        return take_out(server, incident, outcome, err);
    case WEIR_FAULT_OUTCOME_NODE:
        return incident->is_nameless && has_gpu_out(server, incident->device.node)
                   ? tell_of_unknown(server, incident, err)
                   : take_node_out(server, incident, err);
    case WEIR_FAULT_OUTCOME_TEST:
        return have_tested(server, incident, err);
    case WEIR_FAULT_OUTCOME_RECORD:
    case WEIR_FAULT_OUTCOME_WATCH:
    case WEIR_FAULT_OUTCOME_JOB:
        return record_only(server, incident, err);
    case WEIR_FAULT_OUTCOME_NONE:
    case WEIR_FAULT_OUTCOME_MAX:
        break;
    }
    return 0;
}

/* What an earlier life was told it may have judged, and may not: only what it should have taken out
 * is looked at again, while that is news. What was over before it was read is judged where it came
 * while nobody was there to read it, not where the log tells of times before weir's. */
static bool is_to_judge(const struct weir_server_faults *faults,
                        const struct weir_incident *incident)
{
    if (incident->decided <= faults->n_judged)
        return false;
    if (incident->decided <= faults->n_loaded)
        return weir_incident_outcome(incident) >= WEIR_FAULT_OUTCOME_DEVICE &&
               (incident->state == WEIR_INCIDENT_DECIDED ||
                (incident->state == WEIR_INCIDENT_CLOSED && incident->decided > 0 &&
                 weir_incident_outcome(incident) != WEIR_FAULT_OUTCOME_NODE));
    return incident->state == WEIR_INCIDENT_DECIDED ||
           (incident->state == WEIR_INCIDENT_CLOSED && faults->has_past);
}

static bool is_held(const struct weir_server_faults *faults, uint32_t i)
{
    return faults->held[i] != 0 && faults->held[i] == faults->health.incidents[i].id;
}

/* Once the breaker lets more be taken out, what it kept from that is next. */
static int judge_held(struct weir_server *server, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n_held = 0, n;
    int r = 0;

    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++)
        n_held += is_held(server->faults, i);
    if (n_held == 0)
        return 0;
    n = weir_fault_list(server, &arena, &devices);
    for (uint32_t i = 0; r == 0 && i < WEIR_INCIDENTS_MAX; i++)
        if (is_held(server->faults, i) && may_mark(server, n))
            r = judge(server, &server->faults->health.incidents[i], err);
    return r;
}

int weir_server_faults_judge(struct weir_server *server, struct weir_err *err)
{
    struct weir_server_faults *faults = server->faults;
    uint64_t n_changes;

    if (faults == NULL)
        return 0;
    weir_health_tick(&faults->health, server->clock.now(server->clock.ctx).mono_ms);
    n_changes = faults->health.n_changes;
    if (n_changes == faults->n_judged)
        return judge_held(server, err);
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *incident = &faults->health.incidents[i];
        int r;

        if (!is_to_judge(faults, incident))
            continue;
        r = judge(server, incident, err);
        if (r < 0)
            return r;
    }
    faults->n_judged = n_changes;
    faults->is_changed = true; /* what was suspect may not be so any more */
    return 0;
}

const char *weir_server_faults_of_job(struct weir_server *server, struct weir_str key,
                                      int64_t since_mono_ms)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    const struct weir_incident *newest = NULL;
    struct weir_fault_device at;
    uint32_t n = server->faults != NULL ? weir_fault_list(server, &arena, &devices) : 0;
    uint32_t d = 0;

    while (d < n && !weir_str_eq(devices[d].uuid, key))
        d++;
    if (d == n || !weir_fault_address_of(server, &devices[d], &at))
        return NULL;
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *incident = &server->faults->health.incidents[i];

        if (incident->state == WEIR_INCIDENT_FREE || incident->last_ms < since_mono_ms ||
            incident->scope != WEIR_FAULT_SCOPE_JOB ||
            !weir_fault_concerns(incident, WEIR_FAULT_OUTCOME_JOB, &at))
            continue;
        if (newest == NULL || incident->last_ms > newest->last_ms)
            newest = incident;
    }
    return newest != NULL ? newest->evidence : NULL;
}

int64_t weir_server_faults_due(const struct weir_server *server)
{
    struct weir_server_faults *faults = server->faults;
    int64_t due_ms = faults == NULL ? INT64_MAX : weir_health_due_ms(&faults->health);
    struct weir_now now = server->clock.now(server->clock.ctx);

    if (faults == NULL || !faults->is_held)
        return due_ms;
    weir_vec_foreach (mark, &faults->marks) {
        int64_t closes_ms = now.mono_ms + mark->since_wall_ms + WEIR_FAULT_BREAKER_MS - now.wall_ms;

        if (closes_ms > now.mono_ms && closes_ms < due_ms)
            due_ms = closes_ms;
    }
    return due_ms;
}

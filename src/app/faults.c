#include "app/faults.h"

#include "app/fault_codec.h"
#include "app/server.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "edge/nvml/fault_event.h"

#include <stdio.h>
#include <string.h>

enum {
    KEPT_MS = 24 * 60 * 60 * 1000, /* as long as repetition counts */
    EVENT_BYTES_MAX = 16 * 1024,
    CAUSE_BYTES_MAX = 128
};

static int64_t mono_ms(const struct weir_server *server)
{
    return server->clock.now(server->clock.ctx).mono_ms;
}

/* ---- which device ---- */

static bool parse_address(struct weir_str pci, struct weir_fault_device *ret_device)
{
    char text[32];
    unsigned domain, bus, device, function;

    snprintf(text, sizeof(text), "%.*s", WEIR_STR_ARG(weir_str_cut(pci, sizeof(text) - 1)));
    if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
        return false;
    *ret_device = (struct weir_fault_device){
        .domain = domain, .bus = (uint8_t)bus, .device = (uint8_t)device, .is_known = true};
    return true;
}

static uint32_t node_of(const struct weir_server *server, struct weir_str name)
{
    uint32_t node =
        weir_edit_find_node(server->edit, name.len > 0 ? name : weir_str(server->node_name));

    return node != WEIR_NONE ? node : 0;
}

static bool address_of(const struct weir_server *server, const struct weir_gpu_device *gpu,
                       struct weir_fault_device *ret_device)
{
    if (!parse_address(gpu->pci, ret_device))
        return false;
    ret_device->node = node_of(server, gpu->node);
    return true;
}

static bool is_same_address(const struct weir_fault_device *a, const struct weir_fault_device *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* The devices as they were last read; none where the driver is away. */
static uint32_t list(struct weir_server *server, struct weir_arena *arena,
                     struct weir_gpu_device **ret_devices)
{
    uint32_t n = 0;

    return server->gpu.list(server->gpu.ctx, arena, ret_devices, &n, NULL) < 0 ? 0 : n;
}

/* The job that has the device for itself; 0: none, or one of several. */
static uint64_t job_on(const struct weir_server *server, struct weir_str uuid)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_key key = weir_key_of_device(uuid);
    uint32_t device = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
    uint32_t first = device == WEIR_NONE ? WEIR_NONE : weir_world_device(world, device)->first_hold;
    const struct weir_hold *hold;

    if (first == WEIR_NONE || weir_world_hold(world, first)->next_of_device != WEIR_NONE)
        return 0;
    hold = weir_world_hold(world, first);
    return weir_world_workload(world, weir_world_task(world, hold->task)->workload)->number;
}

/* The log names a place on the bus; whose it is, and what runs there, is known here. */
static void locate(struct weir_server *server, struct weir_fault_event *event)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = list(server, &arena, &devices);

    event->device.node = node_of(server, WEIR_STR(""));
    for (uint32_t i = 0; event->device.is_known && i < n; i++) {
        struct weir_fault_device at;

        if (!address_of(server, &devices[i], &at) || !is_same_address(&at, &event->device))
            continue;
        event->device.node = at.node;
        event->job = job_on(server, devices[i].uuid);
        return;
    }
}

/* ---- events in ---- */

static int store_fault(struct weir_server *server, const struct weir_fault_event *event,
                       uint64_t seq, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(EVENT_BYTES_MAX);
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_now now = server->clock.now(server->clock.ctx);
    struct weir_fault_record record = {
        .wall_ms = now.wall_ms - (now.mono_ms - event->at_ms),
        .mono_ms = event->at_ms,
        .boot_id = server->boot_id,
        .source_seq = (int64_t)seq,
    };
    int r = weir_server_begin(server, err);

    if (weir_table_is_live(&world->tables[WEIR_TABLE_NODES], event->device.node))
        record.node = weir_world_string(world, weir_world_node(world, event->device.node)->name);
    if (r == 0)
        r = weir_fault_encode(event, &text, err);
    record.event = weir_buf_view(&text);
    if (r == 0)
        r = server->store.append_fault(server->store.ctx, &record, err);
    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

/* What nobody can prove is no evidence. */
static bool is_evidence(const struct weir_fault_event *event)
{
    return event->kind != WEIR_FAULT_NONE && event->origin == WEIR_FAULT_ORIGIN_KERNEL;
}

static int take(struct weir_server *server, struct weir_fault_event *event, uint64_t seq,
                struct weir_err *err)
{
    int r;

    if (!is_evidence(event))
        return 0;
    r = store_fault(server, event, seq, err);
    if (r < 0)
        return r;
    weir_health_feed(&server->faults->health, event);
    server->faults->is_changed = true;
    server->dirty = true;
    return 0;
}

struct reading {
    struct weir_server *server;
    struct weir_err *err;
    int64_t kept_wall_ms; /* of what is loaded: older faults do not count any more, */
    uint32_t n_old;       /* … so many */
};

static int on_line(void *arg, uint64_t seq, const struct weir_fault_event *told)
{
    struct reading *reading = arg;
    struct weir_server *server = reading->server;
    struct weir_fault_event event = *told;
    int r;

    locate(server, &event);
    r = take(server, &event, seq, reading->err);
    if (r == 0)
        server->faults->last_seq = seq;
    return r;
}

int weir_server_faults_read(struct weir_server *server, struct weir_err *err)
{
    struct weir_err why = WEIR_ERR_INIT;
    struct reading reading = {.server = server, .err = &why};
    int r;

    if (server->fault_source.read == NULL || server->faults == NULL)
        return 0;
    r = server->fault_source.read(server->fault_source.ctx, server->faults->last_seq, on_line,
                                  &reading, &why);
    if (r == 0)
        return 0;
    if (server->failed != 0)
        return weir_error_pass(err, &why);
    weir_log_warn("faults.read", "%s", why.text);
    return 0;
}

int weir_server_faults_note(struct weir_server *server, const struct weir_gpu_event *told,
                            struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    struct weir_fault_event event;
    uint32_t n;

    if (server->faults == NULL)
        return 0;
    n = list(server, &arena, &devices);
    for (uint32_t i = 0; i < n; i++) {
        const struct weir_gpu_device *gpu = &devices[i];
        uint8_t recovery = WEIR_FAULT_RECOVERY_ABSENT;
        struct weir_fault_device at;

        if (!weir_str_eq_c(gpu->uuid, told->uuid) || !address_of(server, gpu, &at))
            continue;
        if (gpu->sample != NULL &&
            weir_gpu_has_metric(&gpu->sample->metrics, WEIR_GPU_RECOVERY_ACTION))
            recovery = (uint8_t)gpu->sample->metrics.of[WEIR_GPU_RECOVERY_ACTION];
        if (!weir_fault_from_nvml(told->type, told->data, recovery, &at, told->seen_ms, &event))
            return 0;
        event.job = job_on(server, gpu->uuid);
        return take(server, &event, 0, err);
    }
    return 0;
}

/* ---- marks ---- */

static void free_mark(struct weir_server_mark *mark)
{
    weir_mem_free(mark->key);
    weir_mem_free(mark->cause);
    weir_mem_free(mark->class);
}

static struct weir_server_mark *find_mark(const struct weir_server *server, struct weir_str key)
{
    if (server->faults == NULL)
        return NULL;
    weir_vec_foreach (mark, &server->faults->marks)
        if (weir_str_eq_c(key, mark->key))
            return mark;
    return NULL;
}

const struct weir_server_mark *weir_server_faults_mark(const struct weir_server *server,
                                                       struct weir_str key)
{
    return find_mark(server, key);
}

static int add_mark(struct weir_server *server, const struct weir_mark_record *record,
                    struct weir_err *err)
{
    struct weir_server_mark mark = {
        .key = weir_mem_strndup(record->key.ptr, record->key.len),
        .cause = weir_mem_strndup(record->cause.ptr, record->cause.len),
        .class = weir_mem_strndup(record->class.ptr, record->class.len),
        .action = record->action,
        .then = record->then,
        .since_wall_ms = record->since_wall_ms,
    };

    memcpy(mark.boot_id, record->boot_id, sizeof(mark.boot_id));
    if (mark.key == NULL || mark.cause == NULL || mark.class == NULL ||
        weir_vec_push(&server->faults->marks, mark) < 0) {
        free_mark(&mark);
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU that is out of service");
    }
    return 0;
}

static void drop_mark(struct weir_server *server, struct weir_server_mark *mark)
{
    size_t at = (size_t)(mark - server->faults->marks.items);

    free_mark(mark);
    weir_vec_remove(&server->faults->marks, at);
    server->faults->is_changed = true;
    server->dirty = true;
}

static int tell(struct weir_server *server, const char *kind, struct weir_str key,
                struct weir_str cause, struct weir_str after, struct weir_err *err)
{
    char subject[WEIR_GPU_UUID_BYTES + 8];

    snprintf(subject, sizeof(subject), "gpu/%.*s",
             WEIR_STR_ARG(weir_str_cut(key, WEIR_GPU_UUID_BYTES)));
    return weir_server_event(server, WEIR_STR("weir"), kind, weir_str(subject), cause, WEIR_STR(""),
                             after, err);
}

static int mark_gpu(struct weir_server *server, struct weir_str key,
                    const struct weir_incident *incident, struct weir_err *err)
{
    struct weir_server_mark *old = find_mark(server, key);
    struct weir_mark_record record = {
        .key = key,
        .cause = weir_str(incident->evidence),
        .class = weir_str(incident->class),
        .action = incident->action,
        .then = incident->then,
        .since_wall_ms = server->clock.now(server->clock.ctx).wall_ms,
        .boot_id = server->boot_id,
    };
    int r;

    if (old != NULL && old->action >= record.action)
        return 0;
    if (old != NULL)
        record.since_wall_ms = old->since_wall_ms;
    r = weir_server_begin(server, err);
    if (r == 0)
        r = server->store.put_mark(server->store.ctx, &record, err);
    if (r == 0)
        r = tell(server, "gpu.unhealthy", key, record.class, record.cause, err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    if (old != NULL)
        drop_mark(server, old);
    weir_log_warn("gpu.unhealthy", "%.*s is out of service: %.*s (%s)", WEIR_STR_ARG(key),
                  WEIR_STR_ARG(record.cause), weir_fault_action_words(incident->action));
    server->faults->is_changed = true;
    server->dirty = true;
    return add_mark(server, &record, err);
}

int weir_server_faults_clear(struct weir_server *server, struct weir_str key, const char *why,
                             struct weir_err *err)
{
    struct weir_server_mark *mark = find_mark(server, key);
    int r;

    if (mark == NULL)
        return 0;
    r = weir_server_begin(server, err);
    if (r == 0)
        r = server->store.delete_mark(server->store.ctx, key, err);
    if (r == 0)
        r = tell(server, "gpu.healthy", key, weir_str(why), WEIR_STR(""), err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    weir_log_info("gpu.healthy", "%.*s is back in service: %s", WEIR_STR_ARG(key), why);
    drop_mark(server, mark);
    return 0;
}

/* ---- judging ---- */

/* More of the fleet at once than faults of its own explain: something else is wrong. */
static bool may_mark(struct weir_server *server, uint32_t n_gpus)
{
    int64_t now = server->clock.now(server->clock.ctx).wall_ms;
    uint32_t n_lately = 0;
    bool is_held;

    weir_vec_foreach (mark, &server->faults->marks)
        n_lately += mark->since_wall_ms > now - WEIR_FAULT_BREAKER_MS;
    is_held = weir_fault_breaker(n_gpus, n_lately);
    if (is_held && !server->faults->is_held)
        weir_log_error("faults.breaker",
                       "%u of %u GPUs failed within minutes: no more are taken out of service "
                       "until that is over",
                       n_lately, n_gpus);
    server->faults->is_held = is_held;
    return !is_held;
}

static bool concerns(const struct weir_incident *incident, enum weir_fault_outcome outcome,
                     const struct weir_fault_device *at)
{
    if (at->node != incident->device.node)
        return false;
    return outcome == WEIR_FAULT_OUTCOME_FABRIC || is_same_address(at, &incident->device);
}

/* Of a device that the driver does not show: the log alone knows of it. */
static int tell_of_unknown(struct weir_server *server, const struct weir_incident *incident,
                           struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    char subject[128] = "node/";
    int r;

    weir_log_warn("gpu.fault", "%04x:%02x:%02x.0, which the driver does not show: %s (%s)",
                  incident->device.domain, incident->device.bus, incident->device.device,
                  incident->evidence, incident->class);
    if (!weir_table_is_live(&world->tables[WEIR_TABLE_NODES], incident->device.node))
        return 0;
    snprintf(subject, sizeof(subject), "node/%.*s",
             WEIR_STR_ARG(weir_str_cut(
                 weir_world_string(world, weir_world_node(world, incident->device.node)->name),
                 100)));
    r = weir_server_begin(server, err);
    if (r == 0)
        r = weir_server_event(server, WEIR_STR("weir"), "gpu.fault", weir_str(subject),
                              weir_str(incident->class), WEIR_STR(""), weir_str(incident->evidence),
                              err);
    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

static int take_out(struct weir_server *server, const struct weir_incident *incident,
                    enum weir_fault_outcome outcome, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = list(server, &arena, &devices);
    uint32_t n_there = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct weir_fault_device at;

        if (!address_of(server, &devices[i], &at) || !concerns(incident, outcome, &at))
            continue;
        n_there++;
        if (may_mark(server, n))
            r = mark_gpu(server, devices[i].uuid, incident, err);
    }
    return r == 0 && n_there == 0 ? tell_of_unknown(server, incident, err) : r;
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
    struct weir_node *node;
    int r;

    if (!weir_table_is_live(&world->tables[WEIR_TABLE_NODES], index) ||
        weir_world_node(world, index)->phase != WEIR_NODE_READY)
        return 0;
    record.name = weir_world_string(world, weir_world_node(world, index)->name);
    r = weir_server_begin(server, err);
    if (r == 0)
        r = server->store.put_cordon(server->store.ctx, &record, err);
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
    uint32_t n = list(server, &arena, &devices);

    for (uint32_t i = 0; i < n; i++) {
        struct weir_fault_device at;
        int r;

        if (!address_of(server, &devices[i], &at) ||
            !concerns(incident, WEIR_FAULT_OUTCOME_JOB, &at))
            continue;
        r = weir_server_begin(server, err);
        if (r == 0)
            r = tell(server, "gpu.fault", devices[i].uuid, weir_str(incident->class),
                     weir_str(incident->evidence), err);
        return r < 0 ? weir_server_fail(server, r, err) : 0;
    }
    return tell_of_unknown(server, incident, err);
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
        return take_node_out(server, incident, err);
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

int weir_server_faults_judge(struct weir_server *server, struct weir_err *err)
{
    struct weir_server_faults *faults = server->faults;
    uint64_t n_changes;

    if (faults == NULL)
        return 0;
    weir_health_tick(&faults->health, mono_ms(server));
    n_changes = faults->health.n_changes;
    if (n_changes == faults->n_judged)
        return 0;
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *incident = &faults->health.incidents[i];
        int r;

        if (incident->state != WEIR_INCIDENT_DECIDED || incident->changed <= faults->n_judged)
            continue;
        r = judge(server, incident, err);
        if (r < 0)
            return r;
    }
    faults->n_judged = n_changes;
    faults->is_changed = true; /* what was suspect may not be so any more */
    return 0;
}

int64_t weir_server_faults_due(const struct weir_server *server)
{
    return server->faults == NULL ? INT64_MAX : weir_health_due_ms(&server->faults->health);
}

/* ---- how a device stands ---- */

static const struct weir_incident *settling_on(const struct weir_server *server,
                                               const struct weir_fault_device *at)
{
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *incident = &server->faults->health.incidents[i];
        enum weir_fault_outcome outcome = weir_incident_outcome(incident);

        if (incident->state == WEIR_INCIDENT_SETTLING && outcome >= WEIR_FAULT_OUTCOME_JOB &&
            concerns(incident, outcome, at))
            return incident;
    }
    return NULL;
}

/* A driver that says so itself. Once: until it is well again it says nothing new. */
static int note_state(struct weir_server *server, const struct weir_gpu_device *seen,
                      const struct weir_fault_device *at, struct weir_err *err)
{
    struct weir_fault_event event = {
        .at_ms = mono_ms(server),
        .device = *at,
        .kind = seen->state == WEIR_GPU_LOST ? WEIR_FAULT_LOST : WEIR_FAULT_RESET_REQUIRED,
        .origin = WEIR_FAULT_ORIGIN_KERNEL,
        .recovery = WEIR_FAULT_RECOVERY_ABSENT,
        .pid = -1,
        .gpu_instance = -1,
        .link = -1,
        .gpc = -1,
        .tpc = -1,
        .text = seen->cause,
    };

    if ((seen->state != WEIR_GPU_LOST && seen->state != WEIR_GPU_RESET_REQUIRED) ||
        find_mark(server, seen->uuid) != NULL)
        return 0;
    event.job = job_on(server, seen->uuid);
    return take(server, &event, 0, err);
}

/* It was down since, or asked for a reset, and does neither any more: somebody reset it. */
static bool was_reset(struct weir_server_mark *mark, const struct weir_gpu_device *seen)
{
    bool wants = seen->sample != NULL &&
                 weir_gpu_has_metric(&seen->sample->metrics, WEIR_GPU_RECOVERY_ACTION) &&
                 seen->sample->metrics.of[WEIR_GPU_RECOVERY_ACTION] != WEIR_FAULT_RECOVERY_NONE;

    if (seen->state != WEIR_GPU_READY || wants)
        mark->was_down = true;
    return mark->was_down && seen->state == WEIR_GPU_READY && !wants &&
           mark->action != WEIR_FAULT_ACTION_SUPPORT &&
           mark->action != WEIR_FAULT_ACTION_CHECK_MECH;
}

int weir_server_faults_of(struct weir_server *server, const struct weir_gpu_device *seen,
                          enum weir_device_health *ret_health, struct weir_str *ret_cause,
                          struct weir_err *err)
{
    struct weir_server_mark *mark = find_mark(server, seen->uuid);
    const struct weir_incident *incident = NULL;
    struct weir_fault_device at;
    int r = 0;

    *ret_health = seen->state == WEIR_GPU_READY ? WEIR_DEVICE_HEALTHY : WEIR_DEVICE_LOST;
    *ret_cause = seen->cause;
    if (server->faults == NULL || !address_of(server, seen, &at))
        return 0;
    r = note_state(server, seen, &at, err);
    if (r == 0 && mark != NULL && was_reset(mark, seen)) {
        r = weir_server_faults_clear(server, seen->uuid, "it was reset", err);
        mark = NULL;
    }
    if (r < 0)
        return r;
    if (mark == NULL)
        incident = settling_on(server, &at);
    if (mark != NULL) {
        *ret_health = WEIR_DEVICE_UNHEALTHY;
        *ret_cause = weir_str(mark->cause);
    } else if (incident != NULL && *ret_health == WEIR_DEVICE_HEALTHY) {
        *ret_health = WEIR_DEVICE_SUSPECT;
        *ret_cause = weir_str(incident->evidence);
    }
    return 0;
}

/* ---- from the store ---- */

static int load_fault(void *arg, const struct weir_fault_record *record)
{
    struct reading *loading = arg;
    struct weir_server *server = loading->server;
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err why = WEIR_ERR_INIT;
    struct weir_fault_event event;
    int r;

    loading->n_old += record->wall_ms < loading->kept_wall_ms;
    /* What was before the boot is over. */
    if (memcmp(record->boot_id, server->boot_id, sizeof(server->boot_id)) != 0)
        return 0;
    if (record->source_seq > (int64_t)server->faults->last_seq)
        server->faults->last_seq = (uint64_t)record->source_seq;
    r = weir_fault_decode(record->event, &arena, &event, &why);
    if (r == WEIR_E_NO_MEMORY)
        return weir_error_pass(loading->err, &why);
    if (r < 0) {
        weir_log_warn("faults.load", "%s", why.text);
        return 0;
    }
    event.at_ms = record->mono_ms;
    event.device.node = node_of(server, record->node);
    weir_health_feed(&server->faults->health, &event);
    return 0;
}

static int load_mark(void *arg, const struct weir_mark_record *record)
{
    struct reading *loading = arg;

    return add_mark(loading->server, record, loading->err);
}

/* A boot is what many faults take; others outlive it. */
static bool is_mended(const struct weir_server *server, const struct weir_server_mark *mark)
{
    return memcmp(mark->boot_id, server->boot_id, sizeof(mark->boot_id)) != 0 &&
           mark->action != WEIR_FAULT_ACTION_SUPPORT &&
           mark->action != WEIR_FAULT_ACTION_CHECK_MECH;
}

static int forget_what_is_over(struct weir_server *server, int64_t kept_wall_ms,
                               struct weir_err *err)
{
    struct weir_server_faults *faults = server->faults;
    int r = server->store.delete_faults(server->store.ctx, kept_wall_ms, err);

    for (size_t i = faults->marks.n; r == 0 && i-- > 0;)
        if (is_mended(server, &faults->marks.items[i]))
            r = weir_server_faults_clear(server, weir_str(faults->marks.items[i].key),
                                         "its node was booted", err);
    return r;
}

/* In a transaction of its own, where there is something to forget. */
static int tidy_up(struct weir_server *server, const struct reading *loaded, struct weir_err *err)
{
    uint32_t n = loaded->n_old;
    int r;

    weir_vec_foreach (mark, &server->faults->marks)
        n += is_mended(server, mark);
    r = n > 0 ? weir_server_begin(server, err) : 0;
    if (n == 0 || r < 0)
        return r;
    r = forget_what_is_over(server, loaded->kept_wall_ms, err);
    server->in_transaction = false;
    if (r == 0)
        return server->store.commit(server->store.ctx, false, err);
    server->store.rollback(server->store.ctx);
    return r;
}

int weir_server_faults_load(struct weir_server *server, struct weir_err *err)
{
    struct reading loading = {server, err, server->clock.now(server->clock.ctx).wall_ms - KEPT_MS,
                              0};
    int r;

    server->faults = weir_mem_alloc_array(1, sizeof(*server->faults));
    if (server->faults == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for faults");
    weir_health_init(&server->faults->health);
    r = server->store.each_mark(server->store.ctx, load_mark, &loading, err);
    if (r == 0)
        r = server->store.each_fault(server->store.ctx, load_fault, &loading, err);
    if (r == 0)
        r = tidy_up(server, &loading, err);
    /* What they came to is in the marks. */
    weir_health_tick(&server->faults->health, mono_ms(server));
    server->faults->n_judged = server->faults->health.n_changes;
    server->faults->is_changed = true;
    return r;
}

void weir_server_faults_unload(struct weir_server *server)
{
    if (server->faults == NULL)
        return;
    weir_vec_foreach (mark, &server->faults->marks)
        free_mark(mark);
    weir_vec_finish(&server->faults->marks);
    server->faults = weir_mem_free(server->faults);
}

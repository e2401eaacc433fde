#include "core/health/incident.h"

#include "core/health/repeat.h"
#include "model/xid_catalogue.h"

#include <string.h>

enum { XID_RECOVERY = 154 };

void weir_health_init(struct weir_health *health)
{
    memset(health, 0, sizeof(*health));
    health->next_id = 1;
}

static bool is_open(const struct weir_incident *incident)
{
    return incident->state == WEIR_INCIDENT_SETTLING || incident->state == WEIR_INCIDENT_DECIDED;
}

static void touch(struct weir_health *health, struct weir_incident *incident)
{
    incident->changed = ++health->n_changes;
}

static bool is_verdict(const struct weir_fault_event *event)
{
    return event->kind == WEIR_FAULT_RECOVERY ||
           (event->kind == WEIR_FAULT_XID && event->code == XID_RECOVERY);
}

/* ---- messages of several lines ---- */

static void remember_head(struct weir_health *health, const struct weir_fault_event *event)
{
    struct weir_fault_head head = {.device = event->device, .at_ms = event->at_ms};
    uint32_t at = health->n_heads;

    for (uint32_t i = 0; i < health->n_heads; i++)
        if (health->heads[i].device.node == event->device.node)
            at = i;
    if (at == WEIR_FAULT_HEADS_MAX) {
        memmove(&health->heads[0], &health->heads[1],
                (WEIR_FAULT_HEADS_MAX - 1) * sizeof(health->heads[0]));
        at--;
    } else if (at == health->n_heads) {
        health->n_heads++;
    }
    health->heads[at] = head;
}

/* The device that the head of the message named; taken once. */
static void take_head(struct weir_health *health, struct weir_fault_event *event)
{
    for (uint32_t i = 0; i < health->n_heads; i++) {
        const struct weir_fault_head *head = &health->heads[i];

        if (head->device.node != event->device.node)
            continue;
        if (event->at_ms - head->at_ms <= WEIR_INCIDENT_MERGE_MS)
            event->device = head->device;
        memmove(&health->heads[i], &health->heads[i + 1],
                (health->n_heads - i - 1) * sizeof(health->heads[0]));
        health->n_heads--;
        return;
    }
}

/* ---- which incident ---- */

static bool has_code(const struct weir_incident *incident, uint32_t code)
{
    for (uint32_t i = 0; i < incident->n_codes; i++)
        if (incident->codes[i] == code)
            return true;
    return false;
}

/* How well the event fits: 0 not at all. */
static int fit(const struct weir_incident *incident, const struct weir_fault_event *event,
               const struct weir_fault_class *class)
{
    int64_t quiet_ms = event->at_ms - incident->last_ms;

    if (!is_open(incident) || !weir_fault_same_device(&incident->device, &event->device) ||
        quiet_ms > WEIR_INCIDENT_EPISODE_MS)
        return 0;
    if (event->caused_by != 0 && has_code(incident, event->caused_by))
        return 4;
    /* Where nothing says which device it was, only the same thing is the same. */
    if (!event->device.is_known && incident->family != class->family)
        return 0;
    if (quiet_ms <= WEIR_INCIDENT_MERGE_MS)
        return 3;
    if (incident->family == class->family)
        return 2;
    return class->is_child || is_verdict(event) ? 1 : 0;
}

static struct weir_incident *find(struct weir_health *health, const struct weir_fault_event *event,
                                  const struct weir_fault_class *class)
{
    struct weir_incident *best = NULL;
    int best_fit = 0;

    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        struct weir_incident *one = &health->incidents[i];
        int how = fit(one, event, class);

        if (how > best_fit || (how > 0 && how == best_fit && one->last_ms > best->last_ms)) {
            best = one;
            best_fit = how;
        }
    }
    return best;
}

/* Whether it says which GPU it is that fails at that time. */
static bool names_failed(const struct weir_incident *incident, uint32_t node, int64_t first_ms,
                         int64_t last_ms)
{
    return is_open(incident) && incident->device.is_known && incident->device.node == node &&
           incident->first_ms - last_ms <= WEIR_INCIDENT_MERGE_MS &&
           first_ms - incident->last_ms <= WEIR_INCIDENT_MERGE_MS &&
           weir_incident_outcome(incident) == WEIR_FAULT_OUTCOME_DEVICE;
}

/* NULL: nothing says it. */
static struct weir_incident *find_failed(struct weir_health *health, uint32_t node,
                                         int64_t first_ms, int64_t last_ms)
{
    struct weir_incident *best = NULL;

    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        struct weir_incident *one = &health->incidents[i];

        if (names_failed(one, node, first_ms, last_ms) &&
            (best == NULL || one->last_ms > best->last_ms))
            best = one;
    }
    return best;
}

/* Whether a gives its place up before b does: free ones, then closed ones by age, then what weighs
 * least by age. */
static bool goes_first(const struct weir_incident *a, const struct weir_incident *b)
{
    int rank_a = a->state == WEIR_INCIDENT_FREE ? 0 : is_open(a) ? 2 : 1;
    int rank_b = b->state == WEIR_INCIDENT_FREE ? 0 : is_open(b) ? 2 : 1;

    if (rank_a != rank_b)
        return rank_a < rank_b;
    if (rank_a == 2 && a->action != b->action)
        return a->action < b->action;
    return a->last_ms < b->last_ms;
}

static struct weir_incident *make(struct weir_health *health, const struct weir_fault_event *event,
                                  const struct weir_fault_class *class)
{
    struct weir_incident *place = &health->incidents[0];

    for (uint32_t i = 1; i < WEIR_INCIDENTS_MAX; i++)
        if (goes_first(&health->incidents[i], place))
            place = &health->incidents[i];
    if (is_open(place) && place->action > class->action) {
        health->n_dropped++;
        return NULL;
    }
    *place = (struct weir_incident){
        .id = health->next_id++,
        .state = WEIR_INCIDENT_SETTLING,
        .recovery = WEIR_FAULT_RECOVERY_ABSENT,
        .device = event->device,
        .gpu_instance = event->gpu_instance,
        .family = class->family,
        .first_ms = event->at_ms,
        .last_ms = event->at_ms,
        .settled_ms = event->at_ms + WEIR_INCIDENT_SETTLE_MS,
    };
    return place;
}

/* ---- taking an event in ---- */

static void keep_line(char *ret_text, size_t size, struct weir_str text)
{
    struct weir_str rest = text, line = {0};

    (void)weir_str_split(&rest, '\n', &line);
    line = weir_str_cut(line, size - 1);
    if (line.len > 0)
        memcpy(ret_text, line.ptr, line.len);
    ret_text[line.len] = '\0';
}

static void keep_pid(struct weir_incident *incident, int64_t pid)
{
    if (pid < 0 || incident->n_pids == WEIR_INCIDENT_PIDS_MAX)
        return;
    for (uint32_t i = 0; i < incident->n_pids; i++)
        if (incident->pids[i] == pid)
            return;
    incident->pids[incident->n_pids++] = pid;
}

static void settle_anew(struct weir_incident *incident, int64_t now_ms)
{
    if (incident->state != WEIR_INCIDENT_DECIDED)
        return;
    incident->state = WEIR_INCIDENT_SETTLING;
    incident->settled_ms = now_ms + WEIR_INCIDENT_SETTLE_MS;
}

/* Raises the action; a lighter one changes nothing. */
static void raise(struct weir_incident *incident, uint8_t action, uint8_t authority,
                  const char *why, int64_t now_ms)
{
    if (action <= incident->action)
        return;
    incident->action = action;
    incident->authority = authority;
    keep_line(incident->why, sizeof(incident->why), weir_str(why));
    settle_anew(incident, now_ms);
}

/* The cause is what weighs most; of the first event there is nothing else yet. */
static void take_cause(struct weir_incident *incident, const struct weir_fault_event *event,
                       const struct weir_fault_class *class)
{
    bool is_first = incident->n_events == 1;
    /* The verdict may come before what it is of, and weighs as much. */
    bool has_verdict_only = incident->kind == WEIR_FAULT_RECOVERY ||
                            (incident->kind == WEIR_FAULT_XID && incident->code == XID_RECOVERY);

    if (!is_first && (class->is_child || is_verdict(event) ||
                      (class->action <= incident->action && !has_verdict_only)))
        return;
    incident->kind = event->kind;
    incident->code = event->code;
    incident->family = class->family;
    incident->then = class->then;
    incident->scope = class->scope;
    incident->is_nameless = class->is_nameless;
    memcpy(incident->class, class->name, sizeof(incident->class));
    keep_line(incident->evidence, sizeof(incident->evidence), event->text);
}

static void take_repetition(struct weir_health *health, struct weir_incident *incident,
                            const struct weir_fault_event *event,
                            const struct weir_fault_class *class)
{
    struct weir_repeat repeat;

    if (class->is_child || is_verdict(event) || has_code(incident, event->code) ||
        incident->n_codes == WEIR_INCIDENT_CODES_MAX)
        return;
    incident->codes[incident->n_codes++] = event->code;
    weir_repeat_note(health, event, class, &repeat);
    if (event->code == incident->code)
        incident->n_episodes = repeat.n_episodes;
    if (repeat.is_to_test && !incident->is_to_test) {
        incident->is_to_test = true;
        settle_anew(incident, event->at_ms);
        touch(health, incident);
    }
    if (repeat.action > incident->action) {
        raise(incident, repeat.action, WEIR_FAULT_AUTHORITY_REPETITION, repeat.why, event->at_ms);
        if (repeat.action >= WEIR_FAULT_ACTION_CHECK_MECH)
            incident->scope =
                incident->device.is_known ? WEIR_FAULT_SCOPE_DEVICE : WEIR_FAULT_SCOPE_NODE;
    }
}

static void take(struct weir_health *health, struct weir_incident *incident,
                 const struct weir_fault_event *event, const struct weir_fault_class *class)
{
    uint8_t before = incident->action;

    incident->n_events++;
    incident->last_ms = event->at_ms;
    keep_pid(incident, event->pid);
    take_cause(incident, event, class);
    if (is_verdict(event) && event->recovery != WEIR_FAULT_RECOVERY_ABSENT)
        incident->recovery = event->recovery;
    /* Who was told to follow the verdict follows it, be it a lighter one. */
    if (is_verdict(event) && incident->action == WEIR_FAULT_ACTION_FOLLOW_154 &&
        class->action != WEIR_FAULT_ACTION_RECORD)
        incident->action = WEIR_FAULT_ACTION_NOT_EVENT;
    if (!class->is_child || incident->n_events == 1)
        raise(incident, class->action, class->authority, class->why, event->at_ms);
    if (incident->action != before && is_verdict(event))
        incident->scope = class->scope;
    take_repetition(health, incident, event, class);
    if (!incident->is_nameless &&
        (incident->kind == WEIR_FAULT_LOST || incident->kind == WEIR_FAULT_LOST_TAIL ||
         (incident->kind == WEIR_FAULT_XID && incident->action >= WEIR_FAULT_ACTION_REBOOT_NODE)))
        incident->settled_ms = event->at_ms;
    if (incident->action != before || incident->n_events == 1)
        touch(health, incident);
}

struct weir_incident *weir_health_feed(struct weir_health *health,
                                       const struct weir_fault_event *event)
{
    struct weir_fault_event whole = *event;
    struct weir_fault_class class;
    struct weir_incident *incident;

    weir_health_tick(health, event->at_ms);
    if (event->origin == WEIR_FAULT_ORIGIN_USER || event->origin == WEIR_FAULT_ORIGIN_STALE)
        return NULL;
    if (event->kind == WEIR_FAULT_LOST_HEAD) {
        remember_head(health, event);
        return NULL;
    }
    if ((event->kind == WEIR_FAULT_LOST_TAIL || event->kind == WEIR_FAULT_UNSUPPORTED) &&
        !event->device.is_known)
        take_head(health, &whole);
    weir_fault_classify(&whole, &class);
    if (class.action == WEIR_FAULT_ACTION_NOT_EVENT)
        return NULL;
    incident =
        class.is_nameless ? find_failed(health, whole.device.node, whole.at_ms, whole.at_ms) : NULL;
    if (incident != NULL) {
        whole.device = incident->device;
        weir_fault_classify(&whole, &class);
    } else {
        incident = find(health, &whole, &class);
    }
    if (incident == NULL)
        incident = make(health, &whole, &class);
    if (incident != NULL) {
        take(health, incident, &whole, &class);
        weir_health_tick(health, event->at_ms);
    }
    return incident;
}

void weir_health_close(struct weir_health *health, const struct weir_fault_device *device)
{
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        struct weir_incident *incident = &health->incidents[i];

        if (!is_open(incident) || !weir_fault_same_device(&incident->device, device))
            continue;
        incident->state = WEIR_INCIDENT_CLOSED;
        touch(health, incident);
    }
}

/* ---- time ---- */

/* Devices of the node that have the same cause, began at about the same time and had no verdict. */
static uint32_t count_alike(const struct weir_health *health, const struct weir_incident *incident)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *one = &health->incidents[i];
        int64_t apart_ms = one->first_ms - incident->first_ms;

        n += is_open(one) && one->device.node == incident->device.node && one->device.is_known &&
             one->kind == incident->kind && one->code == incident->code &&
             one->recovery == WEIR_FAULT_RECOVERY_ABSENT && apart_ms <= WEIR_INCIDENT_MERGE_MS &&
             -apart_ms <= WEIR_INCIDENT_MERGE_MS;
    }
    return n;
}

/* No verdict came: the job starts again, unless the whole node has it. */
static void decide_follow(struct weir_health *health, struct weir_incident *incident)
{
    bool is_spread = count_alike(health, incident) >= WEIR_INCIDENT_SPREAD_MIN;

    if (is_spread) {
        raise(incident, WEIR_FAULT_ACTION_REBOOT_NODE, WEIR_FAULT_AUTHORITY_SPREAD,
              "many GPUs of the node have it at once and the driver gives no verdict",
              incident->settled_ms);
        incident->scope = WEIR_FAULT_SCOPE_NODE;
        return;
    }
    raise(incident, WEIR_FAULT_ACTION_RESTART_APP, incident->authority,
          "the driver asked for nothing more", incident->settled_ms);
}

/* What names no GPU, of the one that was named since. */
static bool fold(struct weir_health *health, struct weir_incident *incident)
{
    struct weir_incident *named;

    if (!incident->is_nameless)
        return false;
    named = find_failed(health, incident->device.node, incident->first_ms, incident->last_ms);
    if (named == NULL)
        return false;
    named->n_events += incident->n_events;
    raise(named, incident->action, incident->authority, incident->why, incident->last_ms);
    touch(health, named);
    incident->state = WEIR_INCIDENT_CLOSED;
    touch(health, incident);
    return true;
}

static void decide(struct weir_health *health, struct weir_incident *incident)
{
    if (fold(health, incident))
        return;
    if (incident->action == WEIR_FAULT_ACTION_FOLLOW_154)
        decide_follow(health, incident);
    incident->state = WEIR_INCIDENT_DECIDED;
    touch(health, incident);
    incident->decided = incident->changed;
}

static void decide_due(struct weir_health *health, int64_t now_ms)
{
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        struct weir_incident *incident = &health->incidents[i];

        if (incident->state == WEIR_INCIDENT_SETTLING && incident->settled_ms <= now_ms)
            decide(health, incident);
    }
}

void weir_health_tick(struct weir_health *health, int64_t now_ms)
{
    decide_due(health, now_ms);
    decide_due(health, now_ms); /* what others were folded into */
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        struct weir_incident *incident = &health->incidents[i];

        if (incident->state == WEIR_INCIDENT_DECIDED &&
            now_ms - incident->last_ms > WEIR_INCIDENT_EPISODE_MS) {
            incident->state = WEIR_INCIDENT_CLOSED;
            touch(health, incident);
        }
    }
}

int64_t weir_health_due_ms(const struct weir_health *health)
{
    int64_t due_ms = INT64_MAX;

    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *incident = &health->incidents[i];
        int64_t at_ms = INT64_MAX;

        if (incident->state == WEIR_INCIDENT_SETTLING)
            at_ms = incident->settled_ms;
        else if (incident->state == WEIR_INCIDENT_DECIDED)
            at_ms = incident->last_ms + WEIR_INCIDENT_EPISODE_MS + 1;
        if (at_ms < due_ms)
            due_ms = at_ms;
    }
    return due_ms;
}

/* ---- what it comes to ---- */

static enum weir_fault_outcome of_device(enum weir_fault_family family, bool device_is_known)
{
    /* A bad adapter makes no GPU bad. */
    if (family == WEIR_FAULT_FAMILY_NIC)
        return WEIR_FAULT_OUTCOME_WATCH;
    if (family == WEIR_FAULT_FAMILY_SWITCH)
        return WEIR_FAULT_OUTCOME_FABRIC;
    return device_is_known ? WEIR_FAULT_OUTCOME_DEVICE : WEIR_FAULT_OUTCOME_NODE;
}

enum weir_fault_outcome weir_fault_outcome(enum weir_fault_action action,
                                           enum weir_fault_family family, bool device_is_known)
{
    switch (action) {
    case WEIR_FAULT_ACTION_RECORD:
        return WEIR_FAULT_OUTCOME_RECORD;
    case WEIR_FAULT_ACTION_WATCH:
    case WEIR_FAULT_ACTION_FOLLOW_154:
    case WEIR_FAULT_ACTION_CHECK_SW:
        return WEIR_FAULT_OUTCOME_WATCH;
    case WEIR_FAULT_ACTION_RESTART_APP:
        return WEIR_FAULT_OUTCOME_JOB;
    case WEIR_FAULT_ACTION_CHECK_MECH:
    case WEIR_FAULT_ACTION_RESET_GPU:
    case WEIR_FAULT_ACTION_RESET_FABRIC:
    case WEIR_FAULT_ACTION_RESTART_VM:
    case WEIR_FAULT_ACTION_REBOOT_NODE:
    case WEIR_FAULT_ACTION_SUPPORT:
        return of_device(family, device_is_known);
    case WEIR_FAULT_ACTION_NOT_EVENT:
    case WEIR_FAULT_ACTION_MAX:
        break;
    }
    return WEIR_FAULT_OUTCOME_NONE;
}

enum weir_fault_outcome weir_incident_outcome(const struct weir_incident *incident)
{
    enum weir_fault_outcome outcome =
        weir_fault_outcome(incident->action, incident->family, incident->device.is_known);

    return incident->is_to_test && outcome == WEIR_FAULT_OUTCOME_JOB ? WEIR_FAULT_OUTCOME_TEST
                                                                     : outcome;
}

bool weir_fault_breaker(uint32_t n_gpus, uint32_t n_failed_lately)
{
    return n_failed_lately >= WEIR_FAULT_BREAKER_MIN &&
           n_failed_lately >= n_gpus / WEIR_FAULT_BREAKER_PART;
}

static const struct {
    const char *name;
    const char *words;
} outcomes[WEIR_FAULT_OUTCOME_MAX] = {
    [WEIR_FAULT_OUTCOME_NONE] = {"none", "nothing"},
    [WEIR_FAULT_OUTCOME_RECORD] = {"record", "records it"},
    [WEIR_FAULT_OUTCOME_WATCH] = {"watch", "records it and counts how often it comes"},
    [WEIR_FAULT_OUTCOME_JOB] = {"job", "fails the job that ran there, and nothing else"},
    [WEIR_FAULT_OUTCOME_TEST] = {"test", "fails the job that ran there, and tests the GPU before "
                                         "it serves others"},
    [WEIR_FAULT_OUTCOME_DEVICE] = {"device", "takes the GPU out: nothing more is placed on it"},
    [WEIR_FAULT_OUTCOME_FABRIC] =
        {"fabric", "takes out the GPUs behind that switch: nothing more is placed on them"},
    [WEIR_FAULT_OUTCOME_NODE] =
        {"node", "takes the node out, as long as it is not known which of its GPUs it is"},
};

const char *weir_fault_outcome_name(enum weir_fault_outcome outcome)
{
    return outcome < WEIR_FAULT_OUTCOME_MAX ? outcomes[outcome].name : NULL;
}

const char *weir_fault_outcome_words(enum weir_fault_outcome outcome)
{
    return outcome < WEIR_FAULT_OUTCOME_MAX ? outcomes[outcome].words : NULL;
}

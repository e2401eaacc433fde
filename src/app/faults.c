#include "app/faults.h"

#include "app/fault_codec.h"
#include "app/fault_impl.h"
#include "app/known.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "edge/nvml/fault_event.h"

#include <stdio.h>
#include <string.h>

enum { EVENT_BYTES_MAX = 16 * 1024, STORED_OF_EACH = 32, STORED_EVERY_MS = 1000 };

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

bool weir_fault_address_of(const struct weir_server *server, const struct weir_gpu_device *gpu,
                           struct weir_fault_device *ret_device)
{
    if (!parse_address(gpu->pci, ret_device))
        return false;
    ret_device->node = node_of(server, gpu->node);
    return true;
}

bool weir_fault_same_address(const struct weir_fault_device *a, const struct weir_fault_device *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* The devices as they were last read; none where the driver is away. */
uint32_t weir_fault_list(struct weir_server *server, struct weir_arena *arena,
                         struct weir_gpu_device **ret_devices)
{
    uint32_t n = 0;

    return weir_known_list(server, arena, ret_devices, &n, NULL) < 0 ? 0 : n;
}

/* The GPU, or the instance of it that the event names, by the driver's number. */
static uint32_t device_of(const struct weir_server *server, struct weir_str uuid,
                          int32_t gpu_instance)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_key key = weir_key_of_device(uuid);
    uint32_t device = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
    uint32_t at;

    if (device == WEIR_NONE || gpu_instance < 0)
        return device;
    at = weir_world_next_instance(world, device, WEIR_NONE);
    while (at != WEIR_NONE && weir_world_device(world, at)->instance != (uint32_t)gpu_instance)
        at = weir_world_next_instance(world, device, at);
    return at;
}

/* A number for whoever submitted the job that has the device for itself, the same in every life of
 * the server; 0: there is none, or several share it. */
static uint64_t user_on(const struct weir_server *server, struct weir_str uuid,
                        int32_t gpu_instance)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    uint32_t device = device_of(server, uuid, gpu_instance);
    uint32_t first = device == WEIR_NONE ? WEIR_NONE : weir_world_device(world, device)->first_hold;
    struct weir_str owner;
    const struct weir_hold *hold;

    if (first == WEIR_NONE || weir_world_hold(world, first)->next_of_device != WEIR_NONE)
        return 0;
    hold = weir_world_hold(world, first);
    owner = weir_world_string(
        world, weir_world_workload(world, weir_world_task(world, hold->task)->workload)->owner);
    return weir_hash_sip13(0, 0, owner.ptr, owner.len) >> 1 | 1;
}

/* The log names a place on the bus; whose it is, and what runs there, is known here. */
static void locate(struct weir_server *server, struct weir_fault_event *event)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = weir_fault_list(server, &arena, &devices);

    event->device.node = node_of(server, WEIR_STR(""));
    for (uint32_t i = 0; event->device.is_known && i < n; i++) {
        struct weir_fault_device at;

        if (!weir_fault_address_of(server, &devices[i], &at) ||
            !weir_fault_same_address(&at, &event->device))
            continue;
        event->device.node = at.node;
        event->user = user_on(server, devices[i].uuid, event->gpu_instance);
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

/* Of a storm one event in a second is, and what changes something. */
static bool is_to_store(struct weir_server_faults *faults, const struct weir_incident *incident,
                        uint64_t n_changes_before, int64_t at_ms)
{
    int64_t *stored_ms;

    if (incident == NULL) /* a half of a message, or no room to note it */
        return true;
    stored_ms = &faults->stored_mono_ms[incident - faults->health.incidents];
    if (incident->n_events > STORED_OF_EACH && faults->health.n_changes == n_changes_before &&
        at_ms - *stored_ms < STORED_EVERY_MS)
        return false;
    *stored_ms = at_ms;
    return true;
}

/* A write that fails fails the transaction: then the state is built anew from what is stored. */
static int take(struct weir_server *server, struct weir_fault_event *event, uint64_t seq,
                struct weir_err *err)
{
    struct weir_server_faults *faults = server->faults;
    uint64_t n_changes = faults->health.n_changes;
    const struct weir_incident *incident;

    if (!is_evidence(event))
        return 0;
    incident = weir_health_feed(&faults->health, event);
    weir_selftest_note(server, event);
    faults->is_changed = true;
    server->dirty = true;
    if (is_to_store(faults, incident, n_changes, event->at_ms)) {
        faults->passed_seq = seq > 0 ? 0 : faults->passed_seq;
        return store_fault(server, event, seq, err);
    }
    faults->passed_seq = seq > 0 ? seq : faults->passed_seq;
    return 0;
}

/* How far the log was read, or the end of a storm would be news again at the next start. */
static int store_position(struct weir_server *server, struct weir_err *err)
{
    struct weir_fault_event nothing = {.at_ms = mono_ms(server),
                                       .recovery = WEIR_FAULT_RECOVERY_ABSENT,
                                       .pid = -1,
                                       .gpu_instance = -1,
                                       .link = -1,
                                       .gpc = -1,
                                       .tpc = -1};
    uint64_t seq = server->faults->passed_seq;

    server->faults->passed_seq = 0;
    nothing.device.node = node_of(server, WEIR_STR(""));
    server->dirty = true;
    return store_fault(server, &nothing, seq, err);
}

struct reading {
    struct weir_server *server;
    struct weir_err *err;
    int64_t kept_wall_ms; /* of what is loaded: older faults do not count any more, */
    uint32_t n_old;       /* … so many */
};

/* The kernel's clock stands while the machine sleeps, and drifts: what came since the log was last
 * read to its end did so between then and now, whatever it says. */
static int64_t when(const struct weir_server *server, int64_t told_ms)
{
    int64_t now_ms = mono_ms(server);

    if (told_ms < server->faults->read_mono_ms)
        return server->faults->read_mono_ms;
    return told_ms < now_ms ? told_ms : now_ms;
}

static int on_line(void *arg, uint64_t seq, const struct weir_fault_event *told)
{
    struct reading *reading = arg;
    struct weir_server *server = reading->server;
    struct weir_fault_event event = *told;
    int r;

    event.at_ms = when(server, told->at_ms);
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
    int64_t now_ms = mono_ms(server);
    uint64_t before;
    bool is_quiet;
    int r;

    if (server->fault_source.read == NULL || server->faults == NULL)
        return 0;
    before = server->faults->last_seq;
    r = server->fault_source.read(server->fault_source.ctx, server->faults->last_seq, on_line,
                                  &reading, &why);
    is_quiet = server->faults->passed_seq > 0 && server->faults->last_seq == before;
    if (r == 0)
        server->faults->read_mono_ms = now_ms;
    if (r >= 0)
        return is_quiet ? store_position(server, err) : 0;
    if (server->failed != 0)
        return weir_error_pass(err, &why);
    weir_log_warn("faults.read", "%s", why.text);
    return 0;
}

/* What the driver asks for, read at that time or later: before, it told of times before. */
static uint8_t recovery_of(const struct weir_gpu_sample *sample, int64_t since_ms)
{
    int64_t value = sample != NULL ? sample->metrics.of[WEIR_GPU_RECOVERY_ACTION] : 0;

    if (sample == NULL || !weir_gpu_has_metric(&sample->metrics, WEIR_GPU_RECOVERY_ACTION) ||
        sample->read_ms < since_ms || value < 0 || value >= WEIR_FAULT_RECOVERY_ABSENT)
        return WEIR_FAULT_RECOVERY_ABSENT;
    return (uint8_t)value;
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
    n = weir_fault_list(server, &arena, &devices);
    for (uint32_t i = 0; i < n; i++) {
        const struct weir_gpu_device *gpu = &devices[i];
        struct weir_fault_device at;

        if (!weir_str_eq_c(gpu->uuid, told->uuid) || !weir_fault_address_of(server, gpu, &at))
            continue;
        if (!weir_fault_from_nvml(told->type, told->data, recovery_of(gpu->sample, told->seen_ms),
                                  &at, told->seen_ms, &event))
            return 0;
        /* That it asks for another one the event says, and for which the next sample. */
        if (event.kind == WEIR_FAULT_RECOVERY && event.recovery == WEIR_FAULT_RECOVERY_ABSENT)
            return 0;
        event.user = user_on(server, gpu->uuid, event.gpu_instance);
        return take(server, &event, 0, err);
    }
    return 0;
}

/* ---- how a device stands ---- */

static const struct weir_incident *settling_on(const struct weir_server *server,
                                               const struct weir_fault_device *at)
{
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *incident = &server->faults->health.incidents[i];
        enum weir_fault_outcome outcome = weir_incident_outcome(incident);

        if (incident->state == WEIR_INCIDENT_SETTLING && outcome >= WEIR_FAULT_OUTCOME_JOB &&
            weir_fault_concerns(incident, outcome, at))
            return incident;
    }
    return NULL;
}

/* Whether it is known to be down already. */
static bool was_down(const struct weir_server *server, struct weir_str uuid)
{
    struct weir_key key = weir_key_of_device(uuid);
    uint32_t index = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
    uint32_t health;

    if (index == WEIR_NONE)
        return false;
    health = weir_world_device(weir_edit_view(server->edit), index)->health;
    return health == WEIR_DEVICE_LOST || health == WEIR_DEVICE_UNHEALTHY;
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

    const struct weir_server_mark *mark = weir_fault_find_mark(server, seen->uuid);

    if ((seen->state != WEIR_GPU_LOST && seen->state != WEIR_GPU_RESET_REQUIRED) ||
        (mark != NULL && !weir_selftest_is_due(mark)) || was_down(server, seen->uuid))
        return 0;
    event.user = user_on(server, seen->uuid, -1);
    return take(server, &event, 0, err);
}

struct place {
    char text[32];
};

static struct weir_str place_of(const struct weir_fault_device *at, struct place *place)
{
    snprintf(place->text, sizeof(place->text), "%x:%x:%x:%x", at->node, at->domain, at->bus,
             at->device);
    return weir_str(place->text);
}

/* The driver asks for a recovery, or for another than before. */
static int note_recovery(struct weir_server *server, const struct weir_gpu_device *seen,
                         const struct weir_fault_device *at, struct weir_err *err)
{
    const struct weir_server_mark *mark = weir_fault_find_mark(server, seen->uuid);
    struct weir_map *recoveries = &server->faults->recoveries;
    uint8_t recovery = recovery_of(seen->sample, 0);
    uint64_t before = WEIR_FAULT_RECOVERY_NONE;
    struct place place;
    struct weir_fault_event event;
    int r = 0;

    (void)weir_map_get(recoveries, place_of(at, &place), &before);
    if (recovery == WEIR_FAULT_RECOVERY_ABSENT || recovery == before ||
        (mark != NULL && weir_selftest_is_of(mark))) /* its test asks that itself */
        return 0;
    event = weir_fault_from_recovery(recovery, at, mono_ms(server));
    event.user = user_on(server, seen->uuid, -1);
    if (recovery != WEIR_FAULT_RECOVERY_NONE)
        r = take(server, &event, 0, err);
    if (r == 0 && weir_map_set(recoveries, weir_str(place.text), recovery) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what a GPU asks for");
    return r;
}

/* 0 where it was not read, which is "nothing to be done" of each of those that are asked for. */
static int64_t reads(const struct weir_gpu_sample *sample, enum weir_gpu_metric which)
{
    return weir_gpu_has_metric(&sample->metrics, which) ? sample->metrics.of[which] : 0;
}

/* It was down, or asked for a reset, and does neither any more: somebody reset it. */
static bool was_reset(struct weir_server_mark *mark, const struct weir_gpu_device *seen)
{
    bool is_new = seen->sample == NULL || seen->sample->read_ms > mark->since_mono_ms;
    bool wants = seen->sample != NULL &&
                 (reads(seen->sample, WEIR_GPU_RECOVERY_ACTION) != WEIR_FAULT_RECOVERY_NONE ||
                  reads(seen->sample, WEIR_GPU_REMAP_PENDING) != 0 ||
                  reads(seen->sample, WEIR_GPU_RETIREMENT_PENDING) != 0);

    /* One that hangs for a while may be as bad as before. */
    if (seen->state == WEIR_GPU_LOST || seen->state == WEIR_GPU_RESET_REQUIRED ||
        seen->state == WEIR_GPU_ABSENT || wants)
        mark->was_down = true;
    return mark->was_down && is_new && seen->state == WEIR_GPU_READY && !wants &&
           mark->action != WEIR_FAULT_ACTION_SUPPORT &&
           mark->action != WEIR_FAULT_ACTION_CHECK_MECH;
}

/* What the driver's own words are, and what is to be tested for them; at NULL: it tells no place.
 */
static int note(struct weir_server *server, const struct weir_gpu_device *seen,
                const struct weir_fault_device *at, struct weir_err *err)
{
    struct weir_server_mark *mark = weir_fault_find_mark(server, seen->uuid);
    int r = at != NULL ? note_state(server, seen, at, err) : 0;

    if (r == 0 && at != NULL)
        r = note_recovery(server, seen, at, err);
    if (r == 0 && mark != NULL && !weir_selftest_is_due(mark) && was_reset(mark, seen))
        r = weir_selftest_require(server, seen->uuid, "it was reset", err);
    else if (r == 0 && mark == NULL && seen->state != WEIR_GPU_READY)
        r = weir_selftest_require(server, seen->uuid, "it answers again", err);
    return r;
}

int weir_server_faults_of(struct weir_server *server, const struct weir_gpu_device *seen,
                          enum weir_device_health *ret_health, struct weir_str *ret_cause,
                          struct weir_err *err)
{
    const struct weir_incident *incident = NULL;
    const struct weir_server_mark *mark;
    struct weir_fault_device at;
    bool has_address;
    int r;

    *ret_health = seen->state == WEIR_GPU_READY ? WEIR_DEVICE_HEALTHY : WEIR_DEVICE_LOST;
    *ret_cause = seen->cause;
    if (server->faults == NULL)
        return 0;
    has_address = weir_fault_address_of(server, seen, &at);
    r = note(server, seen, has_address ? &at : NULL, err);
    if (r < 0)
        return r;
    mark = weir_fault_find_mark(server, seen->uuid);
    if (mark == NULL && has_address)
        incident = settling_on(server, &at);
    if (mark != NULL && !weir_selftest_is_due(mark)) {
        *ret_health = WEIR_DEVICE_UNHEALTHY;
        *ret_cause = weir_str(mark->cause);
    } else if (*ret_health == WEIR_DEVICE_HEALTHY && (mark != NULL || incident != NULL)) {
        /* Whoever still runs there goes on: a lost GPU without a fault stops nobody. */
        *ret_health = WEIR_DEVICE_SUSPECT;
        *ret_cause = weir_str(mark != NULL ? mark->shown : incident->evidence);
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
    struct place place;
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
    if (event.kind == WEIR_FAULT_RECOVERY &&
        weir_map_set(&server->faults->recoveries, place_of(&event.device, &place), event.recovery) <
            0)
        return weir_error(loading->err, WEIR_E_NO_MEMORY, "no memory for what a GPU asks for");
    return 0;
}

static int load_mark(void *arg, const struct weir_mark_record *record)
{
    struct reading *loading = arg;
    int r = weir_fault_add_mark(loading->server, record, loading->err);

    if (r < 0)
        return r;
    /* What does not answer, or not before a reset, is reset when it answers. Of other faults only
     * who saw the GPU go down knows. */
    weir_vec_last(&loading->server->faults->marks)->was_down =
        weir_str_starts_with(record->class, WEIR_STR("gpu-lost;")) ||
        weir_str_starts_with(record->class, WEIR_STR("gpu-reset-required;"));
    return 0;
}

/* A boot is what many faults take; others outlive it. */
static bool is_mended(const struct weir_server *server, const struct weir_server_mark *mark)
{
    return memcmp(mark->boot_id, server->boot_id, sizeof(mark->boot_id)) != 0 &&
           !weir_selftest_is_due(mark) && mark->action != WEIR_FAULT_ACTION_SUPPORT &&
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
                                         "its node was booted", false, err);
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
    struct reading loading = {
        server, err, server->clock.now(server->clock.ctx).wall_ms - WEIR_SERVER_FAULTS_KEPT_MS, 0};
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
    weir_health_tick(&server->faults->health, mono_ms(server));
    server->faults->n_loaded = server->faults->health.n_changes;
    server->faults->has_past = server->faults->last_seq > 0;
    server->faults->is_changed = true;
    return r;
}

void weir_server_faults_unload(struct weir_server *server)
{
    if (server->faults == NULL)
        return;
    weir_vec_foreach (mark, &server->faults->marks) {
        weir_selftest_stop(server, mark);
        weir_fault_free_mark(mark);
    }
    weir_vec_finish(&server->faults->marks);
    weir_map_finish(&server->faults->recoveries);
    server->faults = weir_mem_free(server->faults);
}

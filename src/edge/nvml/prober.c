#include "edge/nvml/prober.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/time.h"
#include "edge/nvml/prober_core.h"

#include <stdio.h>
#include <string.h>

enum { OUTBOX_MAX = 4096, INBOX_MAX = 256, CAUSE_BYTES = 160, HUNG_BYTES = 96, LOOK_EVERY_MS = 50 };

/* What is known of a device, by its index. */
struct slot {
    struct message *facts;  /* NULL: it never answered */
    struct message *sample; /* NULL: none yet */
    enum weir_gpu_state state;
    char cause[CAUSE_BYTES];
    bool is_hung;
    char hung[HUNG_BYTES]; /* since when, in words */
};

/* A change that was asked for and whose result is to come. */
struct change {
    uint64_t ticket;
    int64_t until_ms;
    char uuid[WEIR_GPU_UUID_BYTES];
};

struct slots weir_vec(struct slot);
struct changes weir_vec(struct change);

struct weir_prober {
    struct core *core;
    struct slots slots;
    struct changes changes;
    uint64_t last_ticket;
    bool is_opened;
    bool is_known; /* the driver has said what there is */
    bool is_driver_hung;
    bool is_driver_away; /* it went, and comes back slowly */
    uint32_t n_devices;  /* as the driver said */
    uint32_t generation;
    int64_t looked_ms; /* for devices that hang */
    struct weir_err open_err;
    struct weir_err driver_err; /* code 0: the driver is there */
    char driver_version[WEIR_NVML_VERSION_BYTES];
};

struct weir_prober_options weir_prober_defaults(void)
{
    return (struct weir_prober_options){.sample_ms = 1000,
                                        .facts_ms = 5000,
                                        .slow_ms = 300,
                                        .deadline_ms = 3000,
                                        .change_ms = 60000,
                                        .open_ms = 10000,
                                        .first_ms = 2000,
                                        .event_wait_ms = 1000};
}

/* ---- what the threads say ---- */

static void forget_slot(struct slot *slot)
{
    slot->facts = message_free(slot->facts);
    slot->sample = message_free(slot->sample);
}

static bool set_state(struct slot *slot, enum weir_gpu_state state, struct weir_str cause)
{
    bool is_new = slot->state != state || slot->is_hung;

    slot->state = state;
    slot->is_hung = false;
    snprintf(slot->cause, sizeof(slot->cause), "%.*s", WEIR_STR_ARG(cause));
    return is_new;
}

static bool take_driver(struct weir_prober *prober, struct message *message)
{
    uint32_t n = message->as.driver.n_devices;

    prober->is_known = true;
    prober->driver_err = message->as.driver.err;
    if (prober->driver_err.code == 0) {
        prober->n_devices = n;
        prober->generation = message->generation;
        for (size_t i = n; i < prober->slots.n; i++)
            forget_slot(&prober->slots.items[i]);
        if (prober->slots.n > n)
            prober->slots.n = n;
    }
    message_free(message);
    return true;
}

/* NULL: no memory, or it is about a device that is gone. */
static struct slot *slot_of(struct weir_prober *prober, uint32_t index)
{
    while (prober->slots.n <= index)
        if (weir_vec_push(&prober->slots, (struct slot){.facts = NULL}) < 0)
            return NULL;
    return &prober->slots.items[index];
}

static bool is_same_mig(const struct weir_gpu_device *a, const struct weir_gpu_device *b)
{
    bool is_same = a->mig_mode == b->mig_mode && a->mig_pending == b->mig_pending &&
                   a->n_instances == b->n_instances;

    for (uint32_t i = 0; is_same && i < a->n_instances; i++)
        is_same = a->instances[i].id == b->instances[i].id &&
                  a->instances[i].profile_id == b->instances[i].profile_id &&
                  a->instances[i].n_compute == b->instances[i].n_compute;
    return is_same;
}

/* A device that fails keeps what was known of it, as long as its index means the same device. */
static bool keeps_old(const struct slot *slot, const struct message *message)
{
    const struct weir_gpu_device *device = &message->as.device;

    if (slot->facts == NULL || device->state == WEIR_GPU_READY ||
        slot->facts->generation != message->generation)
        return false;
    return device->uuid.len == 0 || weir_str_eq(device->uuid, slot->facts->as.device.uuid);
}

static bool take_facts(struct weir_prober *prober, struct message *message)
{
    struct slot *slot = slot_of(prober, message->index);
    const struct weir_gpu_device *device = &message->as.device;
    bool is_new;

    if (slot == NULL || message->generation < prober->generation) {
        message_free(message);
        return false;
    }
    is_new = set_state(slot, device->state, device->cause);
    if (keeps_old(slot, message)) {
        message_free(message);
        return is_new;
    }
    if (device->uuid.len == 0) { /* nothing to know it by */
        is_new = slot->facts != NULL;
        forget_slot(slot);
        message_free(message);
        return is_new;
    }
    if (slot->facts == NULL || !weir_str_eq(slot->facts->as.device.uuid, device->uuid)) {
        forget_slot(slot);
        is_new = true;
    }
    is_new = is_new || !is_same_mig(&slot->facts->as.device, device);
    message_free(slot->facts);
    slot->facts = message;
    return is_new;
}

static bool take_sample(struct weir_prober *prober, struct message *message)
{
    struct slot *slot = slot_of(prober, message->index);
    const struct weir_nvml_health *health = &message->as.sampled.health;
    bool is_new;

    /* Of a device that is not known by name, or of another one under the same index. */
    if (slot == NULL || slot->facts == NULL || slot->facts->generation != message->generation) {
        message_free(message);
        return false;
    }
    /* What it is was not to be had: that is read first. */
    if (slot->facts->as.device.state != WEIR_GPU_READY && health->state == WEIR_GPU_READY) {
        message_free(message);
        return false;
    }
    is_new = set_state(slot, health->state, weir_str(health->cause));
    if (health->state != WEIR_GPU_READY) {
        message_free(message);
        return is_new;
    }
    message_free(slot->sample);
    slot->sample = message;
    return is_new;
}

static bool take_change(struct weir_prober *prober, const struct weir_gpu_mig_result *result,
                        const struct weir_gpu_sink *sink)
{
    for (size_t i = 0; i < prober->changes.n; i++) {
        if (prober->changes.items[i].ticket != result->ticket)
            continue;
        weir_vec_remove(&prober->changes, i);
        if (sink->mig != NULL)
            sink->mig(sink->arg, result);
        return true;
    }
    return false; /* it was given up */
}

/* One that is not there yet is a driver that is away. */
static void take_opened(struct weir_prober *prober)
{
    if (prober->open_err.code != 0) {
        prober->driver_err = prober->open_err;
        prober->is_known = prober->core->options.may_be_away;
        return;
    }
    prober->driver_err = (struct weir_err)WEIR_ERR_INIT;
    prober->is_known = false;
    snprintf(prober->driver_version, sizeof(prober->driver_version), "%s",
             weir_nvml_driver_version(prober->core->nvml));
}

static bool take_message(struct weir_prober *prober, struct message *message,
                         const struct weir_gpu_sink *sink)
{
    bool is_new = false;

    switch (message->kind) {
    case MESSAGE_OPENED:
        prober->is_opened = true;
        prober->open_err = message->as.err;
        take_opened(prober);
        break;
    case MESSAGE_DRIVER:
        return take_driver(prober, message);
    case MESSAGE_FACTS:
        return take_facts(prober, message);
    case MESSAGE_SAMPLE:
        return take_sample(prober, message);
    case MESSAGE_EVENT:
        if (sink->event != NULL)
            sink->event(sink->arg, &message->as.event);
        break;
    case MESSAGE_MIG:
        is_new = take_change(prober, &message->as.mig, sink);
        break;
    }
    message_free(message);
    return is_new;
}

/* ---- deadlines ---- */

static int start_worker(struct core *core, struct weir_err *err)
{
    struct worker *worker = weir_mem_alloc_array(1, sizeof(*worker));
    int r;

    if (worker == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a thread that reads GPUs");
    *worker = (struct worker){.core = core, .at = AT_NOTHING, .since_ms = weir_clock_mono_ms()};
    pthread_mutex_lock(&core->lock);
    core->active = worker;
    pthread_mutex_unlock(&core->lock);
    r = core_start_thread(core, prober_work, worker, err);
    if (r == 0)
        return 0;
    pthread_mutex_lock(&core->lock);
    core->active = NULL;
    pthread_mutex_unlock(&core->lock);
    weir_mem_free(worker);
    return r;
}

static void mark_hung(struct slot *slot, int64_t since_ms)
{
    weir_cleanup_buf struct weir_buf when = WEIR_BUF_INIT(HUNG_BYTES);

    weir_time_format(weir_clock_wall_ms() - (weir_clock_mono_ms() - since_ms), &when);
    slot->is_hung = true;
    snprintf(slot->hung, sizeof(slot->hung), "the driver has not answered for it since %.*s",
             WEIR_STR_ARG(weir_buf_view(&when)));
}

/* Whether one was found whose reader waits for longer than the deadline. */
static bool find_hung(struct weir_prober *prober, int64_t now_ms)
{
    struct core *core = prober->core;
    bool is_new = false;

    if (now_ms - prober->looked_ms < LOOK_EVERY_MS)
        return false;
    prober->looked_ms = now_ms;
    pthread_mutex_lock(&core->lock);
    for (uint32_t i = 0; i < prober->n_devices && i < core->seats.n; i++) {
        const struct seat *seat = core->seats.items[i];
        struct slot *slot;

        if (seat->holder == NULL || !core_is_late(core, seat, now_ms))
            continue;
        slot = slot_of(prober, i);
        if (slot == NULL || slot->is_hung)
            continue;
        mark_hung(slot, seat->since_ms);
        is_new = true;
    }
    pthread_mutex_unlock(&core->lock);
    return is_new;
}

/* Where the driver as a whole does not answer: it hangs, or, while it is initialised anew, it is
 * not there yet. */
static bool look_at_driver(struct weir_prober *prober, int64_t now_ms)
{
    struct core *core = prober->core;
    bool was_hung = prober->is_driver_hung;
    bool was_away = prober->is_driver_away;
    bool is_late;

    pthread_mutex_lock(&core->lock);
    is_late = core->active != NULL && now_ms - core->active->since_ms > core->options.deadline_ms;
    prober->is_driver_hung = is_late && core->active->at == AT_DRIVER;
    prober->is_driver_away = is_late && core->active->at == AT_INIT;
    pthread_mutex_unlock(&core->lock);
    return was_hung != prober->is_driver_hung || was_away != prober->is_driver_away;
}

static void give_up_changes(struct weir_prober *prober, int64_t now_ms,
                            const struct weir_gpu_sink *sink)
{
    for (size_t i = prober->changes.n; i-- > 0;) {
        struct change *change = &prober->changes.items[i];
        struct weir_gpu_mig_result result = {.ticket = change->ticket};

        if (now_ms < change->until_ms)
            continue;
        weir_error(&result.err, WEIR_E_TIMEOUT,
                   "%s: the driver did not answer within %u ms to a change of MIG", change->uuid,
                   prober->core->options.change_ms);
        take_change(prober, &result, sink);
    }
}

static bool check(struct weir_prober *prober, const struct weir_gpu_sink *sink)
{
    int64_t now_ms = weir_clock_mono_ms();
    bool is_new = find_hung(prober, now_ms);

    is_new = look_at_driver(prober, now_ms) || is_new;
    prober_have_standby(prober->core); /* where there was no memory for it */
    give_up_changes(prober, now_ms, sink);
    return is_new;
}

bool weir_prober_collect(struct weir_prober *prober, const struct weir_gpu_sink *sink)
{
    struct weir_queue_item *item = weir_queue_take(&prober->core->outbox);
    bool is_new = false;

    while (item != NULL) {
        struct weir_queue_item *next = item->next;

        is_new = take_message(prober, (struct message *)item, sink) || is_new;
        item = next;
    }
    return check(prober, sink) || is_new;
}

int weir_prober_fd(const struct weir_prober *prober)
{
    return prober->core->outbox.fd;
}

/* ---- what is known ---- */

static void describe_state(const struct weir_prober *prober, const struct slot *slot,
                           struct weir_gpu_device *device)
{
    device->state = slot->state;
    device->cause = weir_str(slot->cause);
    if (slot->facts == NULL && slot->state == WEIR_GPU_READY) {
        device->state = WEIR_GPU_UNREADABLE;
        device->cause = WEIR_STR("the driver has not said yet which GPU it is");
    }
    if (slot->is_hung) {
        device->state = WEIR_GPU_HUNG;
        device->cause = weir_str(slot->hung);
    }
    if (prober->is_driver_hung) {
        device->state = WEIR_GPU_HUNG;
        device->cause = WEIR_STR("the driver does not say any more which GPUs there are");
    }
    if (prober->driver_err.code != 0) {
        device->state = WEIR_GPU_UNREADABLE;
        device->cause = weir_str(prober->driver_err.text);
    }
    if (prober->is_driver_away) {
        device->state = WEIR_GPU_UNREADABLE;
        device->cause = WEIR_STR("the driver went away, and is being initialised");
    }
}

static int say_nothing_known(const struct weir_prober *prober, struct weir_err *err)
{
    if (prober->driver_err.code != 0) {
        weir_error_pass(err, &prober->driver_err);
        return prober->driver_err.code;
    }
    return weir_error(err, WEIR_E_UNAVAILABLE, "the GPU driver has not answered yet");
}

int weir_prober_list(struct weir_prober *prober, struct weir_arena *arena,
                     struct weir_gpu_device **ret_devices, uint32_t *ret_n, struct weir_err *err)
{
    static const struct slot unknown = {.facts = NULL};
    uint32_t n_slots =
        prober->slots.n > prober->n_devices ? (uint32_t)prober->slots.n : prober->n_devices;
    struct weir_gpu_device *devices = weir_arena_new_n(arena, struct weir_gpu_device, n_slots + 1u);
    uint32_t n = 0;

    if (devices == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the devices");
    for (uint32_t i = 0; i < n_slots; i++) {
        const struct slot *slot = i < prober->slots.n ? &prober->slots.items[i] : &unknown;

        devices[n] = (struct weir_gpu_device){.index = i};
        if (slot->facts != NULL)
            devices[n] = slot->facts->as.device;
        devices[n].sample = slot->sample != NULL ? &slot->sample->as.sampled.sample : NULL;
        describe_state(prober, slot, &devices[n++]);
    }
    if (n == 0 && (!prober->is_known || prober->driver_err.code != 0))
        return say_nothing_known(prober, err);
    *ret_devices = devices;
    *ret_n = n;
    return 0;
}

const char *weir_prober_driver_version(const struct weir_prober *prober)
{
    return prober->driver_version;
}

/* ---- changes ---- */

static int find(const struct weir_prober *prober, struct weir_str uuid, uint32_t *ret_index,
                struct weir_err *err)
{
    for (size_t i = 0; i < prober->slots.n; i++) {
        const struct slot *slot = &prober->slots.items[i];

        if (slot->facts == NULL || !weir_str_eq(slot->facts->as.device.uuid, uuid))
            continue;
        if (slot->is_hung || prober->is_driver_hung)
            return weir_error(err, WEIR_E_UNAVAILABLE, "GPU '%.*s' hangs: it cannot be changed",
                              WEIR_STR_ARG(uuid));
        if (prober->is_driver_away)
            return weir_error(err, WEIR_E_UNAVAILABLE, "the driver of GPU '%.*s' went away",
                              WEIR_STR_ARG(uuid));
        *ret_index = (uint32_t)i;
        return 0;
    }
    return weir_error(err, WEIR_E_NOT_FOUND, "no GPU '%.*s'", WEIR_STR_ARG(uuid));
}

int weir_prober_mig(struct weir_prober *prober, const struct weir_gpu_mig_request *request,
                    uint64_t *ret_ticket, struct weir_err *err)
{
    struct change change = {.ticket = prober->last_ticket + 1,
                            .until_ms = weir_clock_mono_ms() + prober->core->options.change_ms};
    struct errand *errand;
    uint32_t index = 0;
    int r = find(prober, request->uuid, &index, err);

    if (r < 0)
        return r;
    errand = weir_mem_alloc_array(1, sizeof(*errand));
    snprintf(change.uuid, sizeof(change.uuid), "%.*s", WEIR_STR_ARG(request->uuid));
    if (errand == NULL || weir_vec_push(&prober->changes, change) < 0) {
        weir_mem_free(errand);
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a change of MIG");
    }
    errand->request = *request;
    memcpy(errand->uuid, change.uuid, sizeof(errand->uuid));
    errand->request.uuid = weir_str(errand->uuid);
    errand->index = index;
    errand->ticket = change.ticket;
    if (!weir_queue_push(&prober->core->inbox, &errand->item)) {
        weir_mem_free(errand);
        prober->changes.n--;
        return weir_error(err, WEIR_E_UNAVAILABLE, "too many changes of MIG wait for the driver");
    }
    prober->last_ticket = change.ticket;
    *ret_ticket = change.ticket;
    return 0;
}

/* ---- opening and closing ---- */

static int make_queues(struct core *core, struct weir_err *err)
{
    int r = weir_queue_init(&core->inbox, INBOX_MAX, err);

    if (r < 0)
        return r;
    r = weir_queue_init(&core->outbox, OUTBOX_MAX, err);
    if (r < 0)
        weir_queue_finish(&core->inbox);
    return r;
}

static struct core *make_core(const char *path, const struct weir_prober_options *options,
                              struct weir_err *err)
{
    struct core *core = weir_mem_alloc_array(1, sizeof(*core));
    char *own_path = path != NULL ? weir_mem_strdup(path) : NULL;
    pthread_condattr_t attributes;
    bool is_made = false;

    if (core == NULL || (path != NULL && own_path == NULL))
        weir_error(err, WEIR_E_NO_MEMORY, "no memory to read GPUs");
    else
        is_made = make_queues(core, err) == 0;
    if (!is_made) {
        weir_mem_free(own_path);
        return weir_mem_free(core);
    }
    pthread_mutex_init(&core->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&core->changed, &attributes);
    pthread_cond_init(&core->due, &attributes);
    pthread_condattr_destroy(&attributes);
    core->n_users = 1;
    core->options = *options;
    core->path = own_path;
    core->next_sample_ms = weir_clock_mono_ms() + options->sample_ms;
    return core;
}

static bool has_all(const struct weir_prober *prober)
{
    uint32_t n;

    if (!prober->is_known)
        return false;
    pthread_mutex_lock(&prober->core->lock);
    n = prober->core->n_devices;
    pthread_mutex_unlock(&prober->core->lock);
    if (prober->driver_err.code != 0 || n == 0)
        return true;
    for (uint32_t i = 0; i < n; i++)
        if (i >= prober->slots.n ||
            (prober->slots.items[i].state == WEIR_GPU_READY &&
             prober->slots.items[i].sample == NULL && !prober->slots.items[i].is_hung))
            return false;
    return true;
}

static int await(struct weir_prober *prober, struct weir_err *err)
{
    const struct weir_gpu_sink nobody = {NULL, NULL, NULL};
    const struct weir_prober_options *options = &prober->core->options;
    int64_t until_ms = weir_clock_mono_ms() + options->open_ms;
    int64_t left_ms = options->open_ms;

    while (!prober->is_opened && left_ms > 0) {
        weir_queue_wait(&prober->core->outbox, (int)left_ms);
        weir_prober_collect(prober, &nobody);
        left_ms = until_ms - weir_clock_mono_ms();
    }
    if (options->may_be_away && (!prober->is_opened || prober->open_err.code != 0))
        return 0;
    if (!prober->is_opened)
        return weir_error(err, WEIR_E_TIMEOUT, "the GPU driver does not answer");
    if (prober->open_err.code != 0)
        return weir_error_pass(err, &prober->open_err);
    until_ms = weir_clock_mono_ms() + options->first_ms;
    for (left_ms = options->first_ms; left_ms > 0 && !has_all(prober);
         left_ms = until_ms - weir_clock_mono_ms()) {
        weir_queue_wait(&prober->core->outbox, (int)left_ms);
        weir_prober_collect(prober, &nobody);
    }
    return 0;
}

int weir_prober_open(const char *path, const struct weir_prober_options *options,
                     struct weir_prober **ret_prober, struct weir_err *err)
{
    struct weir_prober *prober = weir_mem_alloc_array(1, sizeof(*prober));
    int r;

    if (prober == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to read GPUs");
    prober->core = make_core(path, options, err);
    if (prober->core == NULL) {
        weir_mem_free(prober);
        return weir_error_code(err);
    }
    r = start_worker(prober->core, err);
    if (r == 0)
        r = await(prober, err);
    if (r == 0) /* not before: what happens now has someone to hear it */
        r = core_start_thread(prober->core, prober_watch_events, prober->core, err);
    if (r < 0) {
        weir_prober_close(prober);
        return r;
    }
    *ret_prober = prober;
    return 0;
}

struct weir_prober *weir_prober_close(struct weir_prober *prober)
{
    if (prober == NULL)
        return NULL;
    pthread_mutex_lock(&prober->core->lock);
    prober->core->is_stopping = true;
    pthread_cond_broadcast(&prober->core->changed);
    pthread_cond_broadcast(&prober->core->due);
    pthread_mutex_unlock(&prober->core->lock);
    /* Where there is no room nobody sleeps. */
    weir_queue_push(&prober->core->inbox, &prober->core->stop);
    core_release(prober->core);
    for (size_t i = 0; i < prober->slots.n; i++)
        forget_slot(&prober->slots.items[i]);
    weir_vec_finish(&prober->slots);
    weir_vec_finish(&prober->changes);
    return weir_mem_free(prober);
}

/* The thread that waits for events. A set of events is given up for another one when a device comes
 * or comes back: then the new one is there before the old one is read to its end, so that nothing
 * that happens meanwhile is missed, and what both tell is told once. */
#include "base/clock.h"
#include "base/mem.h"
#include "edge/nvml/prober_core.h"

#include <string.h>

enum { RETRY_MS = 1000, PAUSES = 10, OVERLAP_MAX = 32 };

/* Which driver and which devices a set is for. */
struct version {
    uint32_t n_devices;
    uint32_t generation;
    uint32_t n_recoveries;
};

struct watching {
    struct core *core;
    struct weir_nvml_events *events; /* NULL: none */
    struct version version;
    bool is_broken;
    /* Told from the old set when the new one was there already. */
    struct weir_gpu_event overlap[OVERLAP_MAX];
    uint32_t n_overlap;
};

/* ---- telling ---- */

static bool is_same(const struct weir_gpu_event *a, const struct weir_gpu_event *b)
{
    return a->type == b->type && a->data == b->data && a->gpu_instance == b->gpu_instance &&
           a->compute_instance == b->compute_instance && strcmp(a->uuid, b->uuid) == 0;
}

static bool was_told(struct watching *w, const struct weir_gpu_event *event)
{
    for (uint32_t i = 0; i < w->n_overlap; i++) {
        if (!is_same(&w->overlap[i], event))
            continue;
        w->overlap[i] = w->overlap[--w->n_overlap];
        return true;
    }
    return false;
}

static void tell(struct core *core, const struct weir_gpu_event *event)
{
    struct message *message = message_new(MESSAGE_EVENT);

    if (message == NULL)
        return;
    message->as.event = *event;
    message->as.event.seen_ms = weir_clock_mono_ms();
    core_tell(core, message);
}

/* What the set has still to tell. */
static void drain(struct watching *w, bool has_another)
{
    struct weir_gpu_event event;
    bool is_broken = false;

    w->n_overlap = 0;
    while (!core_is_stopping(w->core) && weir_nvml_events_wait(w->events, 0, &event, &is_broken)) {
        tell(w->core, &event);
        if (has_another && w->n_overlap < OVERLAP_MAX)
            w->overlap[w->n_overlap++] = event;
    }
}

/* ---- sets ---- */

/* Under the lock: whether a set of that version must be given up. */
static bool is_outdated(const struct core *core, const struct version *version)
{
    return core->is_stopping || core->is_reloading || version->generation != core->generation ||
           version->n_devices != core->n_devices || version->n_recoveries != core->n_recoveries;
}

/* Under the lock: it can be of no use to anyone. */
static bool is_over(const struct core *core, const struct version *version)
{
    return core->is_stopping || core->is_reloading || version->generation != core->generation;
}

/* Whether the driver let go of the set is known only when it is closed. */
static void close_set(struct watching *w, bool has_another)
{
    struct core *core = w->core;
    bool is_stale;

    if (!w->is_broken)
        drain(w, has_another);
    pthread_mutex_lock(&core->lock);
    is_stale = core->is_set_stale;
    core->is_set_stale = false;
    pthread_mutex_unlock(&core->lock);
    w->events = weir_nvml_events_close(w->events, is_stale);
    pthread_mutex_lock(&core->lock);
    core->has_events = has_another;
    pthread_cond_broadcast(&core->changed);
    pthread_mutex_unlock(&core->lock);
}

/* Sleeps until there is something to watch. False: it is time to end. */
static bool await_devices(struct core *core, struct version *ret)
{
    bool goes_on;

    pthread_mutex_lock(&core->lock);
    while (!core->is_stopping &&
           (core->is_reloading || core->generation == 0 || core->n_devices == 0))
        core_wait(core, &core->changed, RETRY_MS);
    goes_on = !core->is_stopping;
    *ret = (struct version){core->n_devices, core->generation, core->n_recoveries};
    core->has_events = goes_on;
    pthread_mutex_unlock(&core->lock);
    return goes_on;
}

/* One that hangs is left out, and asked when it answers again. NULL: no memory. */
static bool *choose(struct core *core, uint32_t n_devices)
{
    bool *skips = weir_mem_alloc_array(n_devices, sizeof(*skips));
    int64_t now_ms = weir_clock_mono_ms();

    if (skips == NULL)
        return NULL;
    pthread_mutex_lock(&core->lock);
    for (uint32_t i = 0; i < n_devices && i < core->seats.n; i++) {
        struct seat *seat = core->seats.items[i];

        skips[i] = seat->holder != NULL && now_ms - seat->since_ms > core->options.slow_ms;
        seat->is_unwatched = skips[i];
    }
    pthread_mutex_unlock(&core->lock);
    return skips;
}

static bool open_set(struct watching *w, const struct version *version)
{
    struct weir_nvml_events *events = NULL;
    bool *skips = choose(w->core, version->n_devices);
    bool is_open = skips != NULL && weir_nvml_events_open(w->core->nvml, version->n_devices, skips,
                                                          &events, NULL) == 0;

    weir_mem_free(skips);
    w->n_overlap = 0;
    if (w->events != NULL)
        close_set(w, is_open);
    w->events = events;
    w->version = *version;
    w->is_broken = false;
    return is_open;
}

/* Until the set is of no use. */
static void watch(struct watching *w)
{
    struct core *core = w->core;

    for (bool ends = false; !ends;) {
        struct weir_gpu_event event;
        bool is_there =
            weir_nvml_events_wait(w->events, core->options.event_wait_ms, &event, &w->is_broken);

        if (is_there && !was_told(w, &event))
            tell(core, &event);
        if (!is_there)
            w->n_overlap = 0;
        pthread_mutex_lock(&core->lock);
        ends = w->is_broken || is_outdated(core, &w->version);
        pthread_mutex_unlock(&core->lock);
    }
}

/* A driver that tells of no events, or not now, is asked again, not all the time. */
static void pause_events(struct core *core, const struct version *version, int n_pauses)
{
    int64_t until_ms = weir_clock_mono_ms() + (int64_t)n_pauses * RETRY_MS;

    pthread_mutex_lock(&core->lock);
    core->has_events = false;
    pthread_cond_broadcast(&core->changed);
    while (weir_clock_mono_ms() < until_ms && !is_outdated(core, version))
        core_wait(core, &core->changed, RETRY_MS);
    pthread_mutex_unlock(&core->lock);
}

void *prober_watch_events(void *arg)
{
    struct core *core = arg;
    struct watching w = {.core = core};
    struct version version;

    while (await_devices(core, &version)) {
        bool is_open = open_set(&w, &version);
        bool ends;

        if (is_open)
            watch(&w);
        pthread_mutex_lock(&core->lock);
        ends = w.is_broken || is_over(core, &w.version);
        pthread_mutex_unlock(&core->lock);
        if (w.events != NULL && ends)
            close_set(&w, false);
        if (w.events == NULL)
            pause_events(core, &version, is_open ? 1 : PAUSES);
    }
    if (w.events != NULL)
        close_set(&w, false);
    core_release(core);
    return NULL;
}

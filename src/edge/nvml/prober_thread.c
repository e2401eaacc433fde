#include "base/clock.h"
#include "base/mem.h"
#include "edge/nvml/prober_core.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FULL_WAIT_MS = 10, RETRY_MS = 1000, STACK_BYTES = 1 << 20 };

/* ---- the core ---- */

struct message *message_free(struct message *message)
{
    if (message != NULL)
        weir_arena_finish(&message->arena);
    return weir_mem_free(message);
}

static void free_core(struct core *core)
{
    struct weir_queue_item *item;
    struct weir_queue_item *next;

    for (item = weir_queue_take(&core->outbox); item != NULL; item = next) {
        next = item->next;
        message_free((struct message *)item);
    }
    for (item = weir_queue_take(&core->inbox); item != NULL; item = next) {
        next = item->next;
        if (item != &core->stop)
            weir_mem_free(item);
    }
    for (item = core->todo; item != NULL; item = next) {
        next = item->next;
        weir_mem_free(item);
    }
    for (size_t i = 0; i < core->seats.n; i++) {
        weir_nvml_meter_destroy(core->seats.items[i]->meter);
        weir_mem_free(core->seats.items[i]);
    }
    weir_vec_finish(&core->seats);
    weir_nvml_close(core->nvml);
    weir_queue_finish(&core->inbox);
    weir_queue_finish(&core->outbox);
    pthread_cond_destroy(&core->changed);
    pthread_mutex_destroy(&core->lock);
    weir_mem_free((void *)(uintptr_t)core->path);
    weir_mem_free(core);
}

void core_release(struct core *core)
{
    bool is_last;

    pthread_mutex_lock(&core->lock);
    is_last = --core->n_users == 0;
    pthread_mutex_unlock(&core->lock);
    if (is_last)
        free_core(core);
}

int core_start_thread(struct core *core, void *(*start)(void *arg), void *arg, struct weir_err *err)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int r;

    pthread_mutex_lock(&core->lock);
    core->n_users++;
    pthread_mutex_unlock(&core->lock);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
    r = pthread_create(&thread, &attributes, start, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (r == 0)
        return 0;
    core_release(core);
    return weir_error_errno(err, r, "start a thread that reads GPUs");
}

/* Sleeps with the lock given up until something changed, at most `ms`. */
static bool wait_change(struct core *core, uint32_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return pthread_cond_timedwait(&core->changed, &core->lock, &until) != ETIMEDOUT;
}

static bool is_stopping(struct core *core)
{
    bool stopping;

    pthread_mutex_lock(&core->lock);
    stopping = core->is_stopping;
    pthread_mutex_unlock(&core->lock);
    return stopping;
}

static struct message *new_message(enum message_kind kind)
{
    struct message *message = weir_mem_alloc_array(1, sizeof(*message));

    if (message != NULL)
        message->kind = kind;
    return message;
}

/* Waits while the loop is behind. */
static void tell(struct core *core, struct message *message)
{
    while (!weir_queue_push(&core->outbox, &message->item)) {
        const struct timespec pause = {0, FULL_WAIT_MS * 1000000L};

        if (is_stopping(core)) {
            message_free(message);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

/* ---- the worker: where it is ---- */

static void set_place(struct worker *worker, int64_t at, uint64_t ticket)
{
    worker->at = at;
    worker->since_ms = weir_clock_mono_ms();
    worker->ticket = ticket;
}

/* False: it was left behind meanwhile, and may touch nothing any more. */
static bool go_to(struct worker *worker, int64_t at, uint64_t ticket)
{
    bool goes;

    pthread_mutex_lock(&worker->core->lock);
    goes = !worker->is_left_behind && !worker->core->is_stopping;
    if (goes)
        set_place(worker, at, ticket);
    pthread_mutex_unlock(&worker->core->lock);
    return goes;
}

/* NULL: a worker that was left behind holds it, or memory is short. */
static struct seat *take_seat(struct worker *worker, uint32_t index, uint64_t ticket)
{
    struct core *core = worker->core;
    struct seat *seat;
    bool forget;

    pthread_mutex_lock(&core->lock);
    seat = index < core->seats.n && !worker->is_left_behind && !core->is_stopping
               ? core->seats.items[index]
               : NULL;
    if (seat != NULL && seat->holder != NULL)
        seat = NULL;
    if (seat != NULL) {
        seat->holder = worker;
        set_place(worker, index, ticket);
    }
    forget = seat != NULL && seat->meter != NULL && seat->forget;
    if (seat != NULL)
        seat->forget = false;
    pthread_mutex_unlock(&core->lock);
    if (forget)
        weir_nvml_meter_forget(seat->meter);
    return seat;
}

/* Whether the worker may go on. */
static bool give_seat(struct worker *worker, struct seat *seat)
{
    bool goes_on;

    pthread_mutex_lock(&worker->core->lock);
    seat->holder = NULL;
    goes_on = !worker->is_left_behind;
    if (goes_on)
        set_place(worker, AT_NOTHING, 0);
    else
        seat->wants_facts = true; /* nobody has seen what became of it */
    pthread_mutex_unlock(&worker->core->lock);
    return goes_on;
}

/* ---- the worker: what it does ---- */

static struct message *read_facts(struct core *core, uint32_t index)
{
    struct message *message = new_message(MESSAGE_FACTS);

    if (message == NULL)
        return NULL;
    message->index = index;
    message->generation = core->told_generation;
    if (weir_nvml_read_facts(core->nvml, index, &message->arena, &message->as.device, NULL) < 0)
        return message_free(message);
    return message;
}

static struct message *read_sample(struct core *core, struct seat *seat, uint32_t index)
{
    struct message *message = new_message(MESSAGE_SAMPLE);

    if (message == NULL)
        return NULL;
    if (seat->meter == NULL)
        seat->meter = weir_nvml_meter_create(core->nvml);
    message->index = index;
    message->generation = core->told_generation;
    if (seat->meter == NULL ||
        weir_nvml_read_sample(core->nvml, index, seat->meter, &message->arena,
                              &message->as.sampled.sample, &message->as.sampled.health, NULL) < 0)
        return message_free(message);
    return message;
}

static void note_health(struct core *core, struct seat *seat, const struct message *sample)
{
    bool is_failing = sample->as.sampled.health.state != WEIR_GPU_READY;

    if (seat->is_failing && !is_failing) {
        pthread_mutex_lock(&core->lock);
        core->n_recoveries++;
        pthread_cond_broadcast(&core->changed);
        pthread_mutex_unlock(&core->lock);
        seat->wants_facts = true;
    }
    seat->is_failing = is_failing;
}

/* Whether the worker may go on. Where memory is short the reading is left out. */
static bool read_device(struct worker *worker, uint32_t index, bool with_facts)
{
    struct core *core = worker->core;
    struct seat *seat = take_seat(worker, index, 0);
    struct message *facts = NULL;
    struct message *sample = NULL;
    bool goes_on = true;

    if (seat == NULL)
        return go_to(worker, AT_NOTHING, 0);
    if (with_facts || seat->wants_facts) {
        facts = read_facts(core, index);
        goes_on = go_to(worker, index, 0); /* the sample has a deadline of its own */
        if (goes_on)
            seat->wants_facts = facts == NULL;
    }
    if (goes_on)
        sample = read_sample(core, seat, index);
    if (sample != NULL && go_to(worker, index, 0))
        note_health(core, seat, sample);
    if (give_seat(worker, seat) && goes_on) {
        if (facts != NULL)
            tell(core, facts);
        if (sample != NULL)
            tell(core, sample);
        return true;
    }
    message_free(facts);
    message_free(sample);
    return false;
}

/* Before the library is initialised anew nobody may wait for events in it. */
static void before_reload(void *arg)
{
    struct core *core = arg;
    int64_t until_ms = weir_clock_mono_ms() + 2 * (int64_t)core->options.event_wait_ms;

    pthread_mutex_lock(&core->lock);
    core->is_reloading = true;
    pthread_cond_broadcast(&core->changed);
    while (core->has_events && weir_clock_mono_ms() < until_ms)
        wait_change(core, core->options.event_wait_ms);
    core->is_set_stale = core->has_events;
    pthread_mutex_unlock(&core->lock);
}

/* Under the lock. */
static int have_seats(struct core *core, uint32_t n)
{
    while (core->seats.n < n) {
        struct seat *seat = weir_mem_alloc_array(1, sizeof(*seat));

        if (seat == NULL || weir_vec_push(&core->seats, seat) < 0) {
            weir_mem_free(seat);
            return WEIR_E_NO_MEMORY;
        }
        seat->wants_facts = true;
    }
    return 0;
}

static void adopt_driver(struct core *core, uint32_t n, uint32_t generation)
{
    pthread_mutex_lock(&core->lock);
    if (generation != core->generation) {
        for (size_t i = 0; i < core->seats.n; i++) {
            core->seats.items[i]->forget = true;
            core->seats.items[i]->wants_facts = true;
        }
    }
    core->n_devices = have_seats(core, n) < 0 ? (uint32_t)core->seats.n : n;
    core->generation = generation;
    core->is_reloading = false;
    pthread_cond_broadcast(&core->changed);
    pthread_mutex_unlock(&core->lock);
}

/* Tells the loop what is new about the driver, once. */
static void tell_driver(struct core *core, uint32_t n, uint32_t generation,
                        const struct weir_err *err)
{
    struct message *message;

    if (n == core->told_devices && generation == core->told_generation &&
        err->code == core->told_code)
        return;
    message = new_message(MESSAGE_DRIVER);
    if (message == NULL)
        return; /* at the next round */
    message->generation = generation;
    message->as.driver.n_devices = n;
    message->as.driver.err = *err;
    core->told_devices = n;
    core->told_generation = generation;
    core->told_code = err->code;
    tell(core, message);
}

/* False: it was left behind. */
static bool ask_driver(struct worker *worker, uint32_t *ret_n)
{
    struct core *core = worker->core;
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t generation = core->told_generation;
    uint32_t n = 0;
    int r;

    if (!go_to(worker, AT_DRIVER, 0))
        return false;
    r = weir_nvml_count(core->nvml, before_reload, core, &n, &generation, &err);
    if (r == 0)
        adopt_driver(core, n, generation);
    if (!go_to(worker, AT_NOTHING, 0))
        return false;
    tell_driver(core, n, generation, &err);
    *ret_n = n;
    return true;
}

/* ---- the worker: errands ---- */

static struct errand *next_errand(struct core *core)
{
    struct weir_queue_item *taken = weir_queue_take(&core->inbox);
    struct weir_queue_item *first;
    struct weir_queue_item **end = &core->todo;

    pthread_mutex_lock(&core->lock);
    while (*end != NULL)
        end = &(*end)->next;
    while (taken != NULL) {
        struct weir_queue_item *next = taken->next;

        taken->next = NULL;
        if (taken != &core->stop) {
            *end = taken;
            end = &taken->next;
        }
        taken = next;
    }
    first = core->todo;
    if (first != NULL)
        core->todo = first->next;
    pthread_mutex_unlock(&core->lock);
    return (struct errand *)first;
}

static void refuse(const struct errand *errand, struct weir_gpu_mig_result *result)
{
    weir_error(&result->err, WEIR_E_UNAVAILABLE, "%s: an earlier question to it does not return",
               errand->uuid);
}

/* Whether the worker may go on. The device is read before the result is told, so that whoever hears
 * of it sees what became of it. */
static bool run_errand(struct worker *worker, struct errand *errand)
{
    struct core *core = worker->core;
    struct message *message = new_message(MESSAGE_MIG);
    struct seat *seat = message != NULL ? take_seat(worker, errand->index, errand->ticket) : NULL;
    uint32_t index = errand->index;
    bool goes_on = true;

    if (message == NULL) {
        pthread_mutex_lock(&core->lock);
        errand->item.next = core->todo;
        core->todo = &errand->item;
        pthread_mutex_unlock(&core->lock);
        return true; /* memory may be there at the next occasion */
    }
    message->as.mig.ticket = errand->ticket;
    if (seat == NULL) {
        refuse(errand, &message->as.mig);
    } else {
        weir_nvml_change_mig(core->nvml, &errand->request, &message->as.mig);
        goes_on = give_seat(worker, seat) && read_device(worker, index, true);
    }
    weir_mem_free(errand);
    /* One that was left behind for taking long tells, too. */
    tell(core, message);
    return goes_on;
}

/* Whether the worker may go on. */
static bool run_errands(struct worker *worker)
{
    struct errand *errand;
    bool goes_on = true;

    /* Those that memory was short for are left to the next occasion: one look at each. */
    for (unsigned i = 0; goes_on && i < 64 && (errand = next_errand(worker->core)) != NULL; i++)
        goes_on = run_errand(worker, errand);
    return goes_on;
}

/* ---- the worker: rounds ---- */

static bool round_of_all(struct worker *worker)
{
    struct core *core = worker->core;
    int64_t now_ms = weir_clock_mono_ms();
    bool with_facts = now_ms >= core->next_facts_ms;
    uint32_t n = 0;
    bool goes_on = ask_driver(worker, &n);

    if (goes_on && with_facts)
        core->next_facts_ms = now_ms + core->options.facts_ms;
    for (uint32_t i = 0; goes_on && i < n; i++)
        goes_on = run_errands(worker) && read_device(worker, i, with_facts);
    return goes_on;
}

static bool rest(struct worker *worker)
{
    struct core *core = worker->core;

    for (;;) {
        int64_t left_ms = core->next_sample_ms - weir_clock_mono_ms();

        if (left_ms <= 0)
            break;
        weir_queue_wait(&core->inbox, (int)left_ms);
        if (!run_errands(worker) || is_stopping(core))
            return false;
    }
    core->next_sample_ms += core->options.sample_ms;
    /* After a long sleep there is nothing to catch up with. */
    if (core->next_sample_ms < weir_clock_mono_ms())
        core->next_sample_ms = weir_clock_mono_ms() + core->options.sample_ms;
    return true;
}

/* Whether there is a library to work with. */
static bool open_library(struct worker *worker)
{
    struct core *core = worker->core;
    struct message *message = new_message(MESSAGE_OPENED);
    struct weir_nvml *nvml = NULL;

    if (message == NULL)
        return false; /* opening runs into its deadline */
    if (weir_nvml_open(core->path, &nvml, &message->as.err) < 0) {
        tell(core, message);
        return false;
    }
    pthread_mutex_lock(&core->lock);
    core->nvml = nvml;
    pthread_mutex_unlock(&core->lock);
    tell(core, message);
    return true;
}

void *prober_work(void *arg)
{
    struct worker *worker = arg;
    struct core *core = worker->core;
    bool is_first;

    pthread_mutex_lock(&core->lock);
    is_first = core->nvml == NULL;
    pthread_mutex_unlock(&core->lock);
    if (!is_first || open_library(worker))
        while (round_of_all(worker) && rest(worker))
            ;
    pthread_mutex_lock(&core->lock);
    if (core->active == worker)
        core->active = NULL;
    pthread_mutex_unlock(&core->lock);
    weir_mem_free(worker);
    core_release(core);
    return NULL;
}

/* ---- events ---- */

/* Which driver and which devices a set is for. */
struct version {
    uint32_t n_devices;
    uint32_t generation;
    uint32_t n_recoveries;
};

/* Under the lock: whether a set of that version must be given up. */
static bool is_outdated(const struct core *core, const struct version *version)
{
    return core->is_stopping || core->is_reloading || version->generation != core->generation ||
           version->n_devices != core->n_devices || version->n_recoveries != core->n_recoveries;
}

/* Sleeps until there is something to watch. False: it is time to end. */
static bool await_devices(struct core *core, struct version *ret)
{
    bool goes_on;

    pthread_mutex_lock(&core->lock);
    while (!core->is_stopping &&
           (core->is_reloading || core->generation == 0 || core->n_devices == 0))
        wait_change(core, RETRY_MS);
    goes_on = !core->is_stopping;
    *ret = (struct version){core->n_devices, core->generation, core->n_recoveries};
    core->has_events = goes_on;
    pthread_mutex_unlock(&core->lock);
    return goes_on;
}

/* Until the set is of no use. */
static void watch(struct core *core, struct weir_nvml_events *events, const struct version *version)
{
    for (bool ends = false; !ends;) {
        struct weir_gpu_event event;
        bool is_broken = false;
        bool is_there =
            weir_nvml_events_wait(events, core->options.event_wait_ms, &event, &is_broken);
        struct message *message = is_there ? new_message(MESSAGE_EVENT) : NULL;

        if (message != NULL) {
            event.seen_ms = weir_clock_mono_ms();
            message->as.event = event;
            tell(core, message);
        }
        pthread_mutex_lock(&core->lock);
        ends = is_broken || is_outdated(core, version);
        pthread_mutex_unlock(&core->lock);
    }
}

/* A driver that tells of no events, or not now, is asked again, not all the time. */
static void pause_events(struct core *core, const struct version *version, int n_pauses)
{
    pthread_mutex_lock(&core->lock);
    for (int i = 0; i < n_pauses && !is_outdated(core, version); i++)
        wait_change(core, RETRY_MS);
    pthread_mutex_unlock(&core->lock);
}

void *prober_watch_events(void *arg)
{
    struct core *core = arg;
    struct version version;

    while (await_devices(core, &version)) {
        struct weir_nvml_events *events = NULL;
        bool is_open = weir_nvml_events_open(core->nvml, version.n_devices, &events, NULL) == 0;
        bool is_stale;

        if (is_open)
            watch(core, events, &version);
        pthread_mutex_lock(&core->lock);
        is_stale = core->is_set_stale;
        core->is_set_stale = false;
        pthread_mutex_unlock(&core->lock);
        weir_nvml_events_close(events, is_stale);
        pthread_mutex_lock(&core->lock);
        core->has_events = false;
        pthread_cond_broadcast(&core->changed);
        pthread_mutex_unlock(&core->lock);
        pause_events(core, &version, is_open ? 1 : 10);
    }
    core_release(core);
    return NULL;
}

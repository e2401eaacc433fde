#include "base/clock.h"
#include "base/mem.h"
#include "edge/nvml/prober_core.h"

enum { RETRY_MS = 1000, IDLE_MS = 60000, ERRANDS_AT_ONCE = 64 };

/* ---- where a worker is ---- */

static void set_place(struct worker *worker, int64_t at)
{
    bool was_idle = worker->at < 0;

    worker->at = at;
    worker->since_ms = weir_clock_mono_ms();
    if (at >= 0 && was_idle)
        pthread_cond_signal(&worker->core->due);
}

static bool may_go_on(const struct worker *worker)
{
    return !worker->is_left_behind && !worker->core->is_stopping;
}

/* False: it was left behind meanwhile. */
static bool go_to(struct worker *worker, int64_t at)
{
    bool goes;

    pthread_mutex_lock(&worker->core->lock);
    goes = may_go_on(worker);
    if (goes)
        set_place(worker, at);
    pthread_mutex_unlock(&worker->core->lock);
    return goes;
}

/* ---- seats; all of it under the lock ---- */

/* NULL: another worker holds it, or there is none for lack of memory. */
static struct seat *take_seat(struct worker *worker, uint32_t index)
{
    struct core *core = worker->core;
    struct seat *seat = index < core->seats.n ? core->seats.items[index] : NULL;

    if (seat == NULL || seat->holder != NULL)
        return NULL;
    seat->holder = worker;
    seat->generation = core->generation;
    set_place(worker, index);
    seat->since_ms = worker->since_ms;
    seat->is_stale |= seat->forget;
    seat->forget = false;
    return seat;
}

/* What was asked before was answered, and the next question has a time of its own. */
static void next_question(struct worker *worker, struct seat *seat, bool is_change)
{
    pthread_mutex_lock(&worker->core->lock);
    worker->since_ms = weir_clock_mono_ms();
    seat->since_ms = worker->since_ms;
    seat->is_changing = is_change;
    pthread_mutex_unlock(&worker->core->lock);
}

/* ---- one device ---- */

static struct message *read_facts(struct core *core, const struct seat *seat, uint32_t index)
{
    struct message *message = message_new(MESSAGE_FACTS);

    if (message == NULL)
        return NULL;
    message->index = index;
    message->generation = seat->generation;
    if (weir_nvml_read_facts(core->nvml, index, &message->arena, &message->as.device, NULL) < 0)
        return message_free(message);
    return message;
}

static struct message *read_sample(struct core *core, struct seat *seat, uint32_t index)
{
    struct message *message = message_new(MESSAGE_SAMPLE);

    if (message == NULL)
        return NULL;
    if (seat->meter == NULL)
        seat->meter = weir_nvml_meter_create(core->nvml);
    else if (seat->is_stale) /* which asks the driver, too: not under the lock */
        weir_nvml_meter_forget(seat->meter);
    seat->is_stale = false;
    message->index = index;
    message->generation = seat->generation;
    if (seat->meter == NULL ||
        weir_nvml_read_sample(core->nvml, index, seat->meter, &message->arena,
                              &message->as.sampled.sample, &message->as.sampled.health, NULL) < 0)
        return message_free(message);
    return message;
}

/* What a worker found out of the device that it holds. Where memory is short a reading is left out.
 */
struct findings {
    struct message *facts;
    struct message *sample;
};

static struct findings read_device(struct worker *worker, struct seat *seat, uint32_t index,
                                   bool with_facts)
{
    struct findings found = {NULL, NULL};

    if (with_facts) {
        found.facts = read_facts(worker->core, seat, index);
        next_question(worker, seat, false);
    }
    found.sample = read_sample(worker->core, seat, index);
    return found;
}

/* Under the lock. */
static void note_health(struct core *core, struct seat *seat, const struct message *sample)
{
    bool is_failing = sample->as.sampled.health.state != WEIR_GPU_READY;

    if (seat->is_failing && !is_failing) {
        core->n_recoveries++;
        pthread_cond_broadcast(&core->changed);
        seat->wants_facts = true;
    }
    seat->is_failing = is_failing;
}

/* Gives the seat up and tells, also where the worker was left behind: nobody else has read that
 * device meanwhile. Whether the worker may go on. */
static bool leave_device(struct worker *worker, struct seat *seat, const struct findings *found,
                         bool had_facts)
{
    struct core *core = worker->core;
    bool goes_on;

    if (found->facts != NULL)
        core_tell(core, found->facts);
    pthread_mutex_lock(&core->lock);
    if (had_facts && seat->generation == core->generation)
        seat->wants_facts = found->facts == NULL;
    if (seat->is_unwatched) {
        seat->is_unwatched = false;
        core->n_recoveries++;
        pthread_cond_broadcast(&core->changed);
    }
    if (found->sample != NULL)
        note_health(core, seat, found->sample);
    pthread_mutex_unlock(&core->lock);
    if (found->sample != NULL)
        core_tell(core, found->sample);
    pthread_mutex_lock(&core->lock);
    seat->holder = NULL;
    goes_on = may_go_on(worker);
    if (goes_on)
        set_place(worker, AT_NOTHING);
    pthread_mutex_unlock(&core->lock);
    return goes_on;
}

/* On a device of its own: it is slow no more when it is read in the time that a round has. */
static void *read_alone(void *arg)
{
    struct worker *worker = arg;
    struct core *core = worker->core;
    uint32_t index = (uint32_t)worker->at;
    int64_t since_ms = weir_clock_mono_ms();
    struct seat *seat;
    struct findings found;

    pthread_mutex_lock(&core->lock);
    seat = core->seats.items[index];
    pthread_mutex_unlock(&core->lock);
    found = read_device(worker, seat, index, worker->with_facts);
    pthread_mutex_lock(&core->lock);
    seat->is_slow = weir_clock_mono_ms() - since_ms > core->options.slow_ms;
    pthread_mutex_unlock(&core->lock);
    leave_device(worker, seat, &found, worker->with_facts);
    weir_mem_free(worker);
    core_release(core);
    return NULL;
}

/* For lack of a thread it is left out of this round. */
static void start_alone(struct core *core, uint32_t index, bool with_facts)
{
    struct worker *worker = weir_mem_alloc_array(1, sizeof(*worker));
    struct seat *seat = NULL;

    if (worker == NULL)
        return;
    *worker = (struct worker){
        .core = core, .at = AT_NOTHING, .is_left_behind = true, .with_facts = with_facts};
    pthread_mutex_lock(&core->lock);
    seat = take_seat(worker, index);
    pthread_mutex_unlock(&core->lock);
    if (seat != NULL && core_start_thread(core, read_alone, worker, NULL) == 0)
        return;
    pthread_mutex_lock(&core->lock);
    if (seat != NULL)
        seat->holder = NULL;
    pthread_mutex_unlock(&core->lock);
    weir_mem_free(worker);
}

/* ---- the driver ---- */

/* Before the library is initialised anew nobody may wait for events in it. */
static void before_reload(void *arg)
{
    struct worker *worker = arg;
    struct core *core = worker->core;
    int64_t until_ms = weir_clock_mono_ms() + 2 * (int64_t)core->options.event_wait_ms;

    pthread_mutex_lock(&core->lock);
    set_place(worker, AT_INIT);
    core->is_reloading = true;
    pthread_cond_broadcast(&core->changed);
    while (core->has_events && weir_clock_mono_ms() < until_ms)
        core_wait(core, &core->changed, core->options.event_wait_ms);
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
    message = message_new(MESSAGE_DRIVER);
    if (message == NULL)
        return; /* at the next round */
    message->generation = generation;
    message->as.driver.n_devices = n;
    message->as.driver.err = *err;
    core->told_devices = n;
    core->told_generation = generation;
    core->told_code = err->code;
    core_tell(core, message);
}

/* False: it is time to end. */
static bool ask_driver(struct worker *worker, uint32_t *ret_n)
{
    struct core *core = worker->core;
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t generation = core->told_generation;
    uint32_t n = 0;
    int r;

    if (!go_to(worker, AT_DRIVER))
        return false;
    r = weir_nvml_count(core->nvml, before_reload, worker, &n, &generation, &err);
    if (r == 0)
        adopt_driver(core, n, generation);
    if (!go_to(worker, AT_NOTHING))
        return false;
    tell_driver(core, n, generation, &err);
    *ret_n = n;
    return true;
}

/* ---- errands ---- */

/* Under the lock. */
static void put_last(struct core *core, struct weir_queue_item *item)
{
    struct weir_queue_item **end = &core->todo;

    while (*end != NULL)
        end = &(*end)->next;
    item->next = NULL;
    *end = item;
}

static struct errand *next_errand(struct core *core)
{
    struct weir_queue_item *taken = weir_queue_take(&core->inbox);
    struct weir_queue_item *first;

    pthread_mutex_lock(&core->lock);
    while (taken != NULL) {
        struct weir_queue_item *next = taken->next;

        if (taken != &core->stop)
            put_last(core, taken);
        taken = next;
    }
    first = core->todo;
    if (first != NULL)
        core->todo = first->next;
    pthread_mutex_unlock(&core->lock);
    return (struct errand *)first;
}

static void put_off(struct core *core, struct errand *errand)
{
    pthread_mutex_lock(&core->lock);
    put_last(core, &errand->item);
    pthread_mutex_unlock(&core->lock);
}

enum chance { CHANCE_NOW, CHANCE_LATER, CHANCE_NEVER };

/* Whether the device is the worker's to change. */
static enum chance approach(struct worker *worker, uint32_t index, struct seat **ret_seat)
{
    struct core *core = worker->core;
    enum chance chance = CHANCE_NEVER;
    const struct seat *seat;

    pthread_mutex_lock(&core->lock);
    seat = index < core->seats.n ? core->seats.items[index] : NULL;
    *ret_seat = may_go_on(worker) ? take_seat(worker, index) : NULL;
    if (*ret_seat != NULL)
        chance = CHANCE_NOW;
    else if (seat != NULL && !core_is_late(core, seat, weir_clock_mono_ms()))
        chance = CHANCE_LATER;
    pthread_mutex_unlock(&core->lock);
    return chance;
}

/* The device is read before the result is told, so that whoever hears of it sees what became of it.
 * What took long is told, too. */
static bool change_mig(struct worker *worker, struct seat *seat, const struct errand *errand,
                       struct weir_gpu_mig_result *result)
{
    struct findings found;

    next_question(worker, seat, true);
    weir_nvml_change_mig(worker->core->nvml, &errand->request, result);
    next_question(worker, seat, false);
    seat->is_stale = true; /* an instance may have got the number of another one */
    found = read_device(worker, seat, errand->index, true);
    return leave_device(worker, seat, &found, true);
}

/* Whether the worker may go on. */
static bool run_errand(struct worker *worker, struct errand *errand)
{
    struct core *core = worker->core;
    struct message *message = message_new(MESSAGE_MIG);
    struct seat *seat = NULL;
    enum chance chance = message != NULL ? approach(worker, errand->index, &seat) : CHANCE_LATER;
    bool goes_on = true;

    if (chance == CHANCE_LATER) {
        message_free(message);
        put_off(core, errand);
        return true;
    }
    message->as.mig.ticket = errand->ticket;
    if (chance == CHANCE_NOW)
        goes_on = change_mig(worker, seat, errand, &message->as.mig);
    else
        weir_error(&message->as.mig.err, WEIR_E_UNAVAILABLE,
                   "%s: an earlier question to it does not return", errand->uuid);
    weir_mem_free(errand);
    core_tell(core, message);
    return goes_on;
}

/* Whether the worker may go on. */
static bool run_errands(struct worker *worker)
{
    struct errand *errand;
    bool goes_on = true;

    /* Those that are put off are left to the next occasion: one look at each. */
    for (unsigned i = 0;
         goes_on && i < ERRANDS_AT_ONCE && (errand = next_errand(worker->core)) != NULL; i++)
        goes_on = run_errand(worker, errand);
    return goes_on;
}

/* ---- rounds ---- */

/* False: it is time to end. */
static bool begin_round(struct worker *worker)
{
    struct core *core = worker->core;
    int64_t now_ms = weir_clock_mono_ms();
    bool with_facts = now_ms >= core->next_facts_ms;
    uint32_t n = 0;

    if (!ask_driver(worker, &n))
        return false;
    if (with_facts)
        core->next_facts_ms = now_ms + core->options.facts_ms;
    pthread_mutex_lock(&core->lock);
    core->round = (struct round){.n = n, .with_facts = with_facts};
    pthread_mutex_unlock(&core->lock);
    return true;
}

/* The next device of the round, and its seat; NULL where it is another worker's. */
struct turn {
    struct seat *seat;
    uint32_t index;
    bool with_facts;
    bool is_slow;
};

/* False: the round is over, or it is time to end. */
static bool next_turn(struct worker *worker, struct turn *ret, bool *ret_goes_on)
{
    struct core *core = worker->core;
    struct turn turn = {.seat = NULL};
    struct seat *seat = NULL;
    bool is_there;

    pthread_mutex_lock(&core->lock);
    *ret_goes_on = may_go_on(worker);
    is_there = *ret_goes_on && core->round.next < core->round.n;
    if (is_there) {
        turn.index = core->round.next++;
        seat = turn.index < core->seats.n ? core->seats.items[turn.index] : NULL;
    }
    if (seat != NULL) {
        seat->wants_facts |= core->round.with_facts;
        turn.with_facts = seat->wants_facts;
        turn.is_slow = seat->is_slow && seat->holder == NULL;
        turn.seat = turn.is_slow ? NULL : take_seat(worker, turn.index);
    }
    pthread_mutex_unlock(&core->lock);
    *ret = turn;
    return is_there;
}

/* The rest of the round that is under way; with all devices in it. False: it is time to end. */
static bool go_round(struct worker *worker)
{
    bool goes_on = true;
    struct turn turn;

    while (run_errands(worker) && next_turn(worker, &turn, &goes_on)) {
        struct findings found;

        if (turn.is_slow)
            start_alone(worker->core, turn.index, turn.with_facts);
        if (turn.seat == NULL)
            continue;
        found = read_device(worker, turn.seat, turn.index, turn.with_facts);
        if (!leave_device(worker, turn.seat, &found, turn.with_facts))
            return false;
    }
    return goes_on && go_to(worker, AT_NOTHING);
}

static bool rest(struct worker *worker)
{
    struct core *core = worker->core;

    for (;;) {
        int64_t left_ms = core->next_sample_ms - weir_clock_mono_ms();

        if (left_ms <= 0)
            break;
        weir_queue_wait(&core->inbox, (int)left_ms);
        if (!run_errands(worker) || core_is_stopping(core))
            return false;
    }
    core->next_sample_ms += core->options.sample_ms;
    /* After a long sleep there is nothing to catch up with. */
    if (core->next_sample_ms < weir_clock_mono_ms())
        core->next_sample_ms = weir_clock_mono_ms() + core->options.sample_ms;
    return true;
}

/* As the active worker, until it is left behind or it is time to end. */
static void be_active(struct worker *worker)
{
    struct core *core = worker->core;

    while (go_round(worker) && rest(worker) && begin_round(worker))
        ;
    pthread_mutex_lock(&core->lock);
    if (core->active == worker)
        core->active = NULL;
    pthread_cond_signal(&core->due);
    pthread_mutex_unlock(&core->lock);
}

/* ---- standing by ---- */

/* Under the lock: how long the active worker may still be where it is; 0: it is to be left behind.
 * With the driver as a whole another worker would hang, too. */
static int64_t patience(const struct core *core)
{
    int64_t spent_ms = weir_clock_mono_ms() - core->active->since_ms;

    if (core->active->at < 0)
        return IDLE_MS;
    return spent_ms < core->options.slow_ms ? core->options.slow_ms - spent_ms : 0;
}

/* False: it is time to end. */
static bool take_over(struct worker *worker)
{
    struct core *core = worker->core;
    bool goes_on;

    pthread_mutex_lock(&core->lock);
    while (!core->is_stopping && core->active != NULL) {
        int64_t left_ms = patience(core);

        if (left_ms == 0)
            break;
        core_wait(core, &core->due, left_ms);
    }
    goes_on = !core->is_stopping && core->active != NULL;
    if (goes_on) {
        core->active->is_left_behind = true;
        core->seats.items[core->active->at]->is_slow = true;
        core->active = worker;
    }
    core->has_standby = false;
    pthread_mutex_unlock(&core->lock);
    return goes_on;
}

static void *stand_by(void *arg)
{
    struct worker *worker = arg;
    struct core *core = worker->core;

    if (take_over(worker)) {
        prober_have_standby(core);
        be_active(worker);
    }
    weir_mem_free(worker);
    core_release(core);
    return NULL;
}

void prober_have_standby(struct core *core)
{
    struct worker *worker = NULL;
    bool is_wanted;

    pthread_mutex_lock(&core->lock);
    is_wanted =
        core->active != NULL && core->nvml != NULL && !core->has_standby && !core->is_stopping;
    core->has_standby |= is_wanted;
    pthread_mutex_unlock(&core->lock);
    if (!is_wanted)
        return;
    worker = weir_mem_alloc_array(1, sizeof(*worker));
    if (worker != NULL) {
        *worker = (struct worker){.core = core, .at = AT_NOTHING};
        if (core_start_thread(core, stand_by, worker, NULL) == 0)
            return;
    }
    weir_mem_free(worker);
    pthread_mutex_lock(&core->lock);
    core->has_standby = false; /* the loop tries again */
    pthread_mutex_unlock(&core->lock);
}

/* ---- the first worker ---- */

/* Whether there is a library to work with. */
static bool try_to_open(struct core *core, struct weir_err *err)
{
    struct weir_nvml *nvml = NULL;

    if (weir_nvml_open(core->path, &nvml, err) < 0)
        return false;
    pthread_mutex_lock(&core->lock);
    core->nvml = nvml;
    pthread_mutex_unlock(&core->lock);
    return true;
}

static bool pause_opening(struct core *core)
{
    int64_t until_ms = weir_clock_mono_ms() + RETRY_MS;
    bool goes_on;

    pthread_mutex_lock(&core->lock);
    while (!core->is_stopping && weir_clock_mono_ms() < until_ms)
        core_wait(core, &core->changed, until_ms - weir_clock_mono_ms());
    goes_on = !core->is_stopping;
    pthread_mutex_unlock(&core->lock);
    return goes_on;
}

/* A library that is not there now may come, where GPUs are known to be there. */
static bool open_library(struct core *core)
{
    bool has_told = false;

    for (;;) {
        struct message *message = message_new(MESSAGE_OPENED);
        struct weir_err err = WEIR_ERR_INIT;
        bool is_open = message != NULL && try_to_open(core, &err);

        if (message != NULL && (is_open || !has_told)) {
            message->as.err = err;
            core->told_code = err.code;
            has_told = true;
            core_tell(core, message);
        } else {
            message_free(message);
        }
        if (is_open)
            return true;
        if (!core->options.may_be_away || !pause_opening(core))
            return false; /* without a message opening runs into its deadline */
    }
}

void *prober_work(void *arg)
{
    struct worker *worker = arg;
    struct core *core = worker->core;

    if (open_library(core)) {
        prober_have_standby(core);
        if (begin_round(worker))
            be_active(worker);
    }
    pthread_mutex_lock(&core->lock);
    if (core->active == worker)
        core->active = NULL;
    pthread_mutex_unlock(&core->lock);
    weir_mem_free(worker);
    core_release(core);
    return NULL;
}

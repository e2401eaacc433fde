/* GPUs that hang, go and come back, under a driver that does as it is told (rig_nvml.c). */
#include "rig_load.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "edge/nvml/prober.h"

#include <poll.h>

enum { PATIENCE_MS = 20000, HEARD_MAX = 8 };

static const struct weir_prober_options quick = {.sample_ms = 10,
                                                 .facts_ms = 30,
                                                 .slow_ms = 50,
                                                 .deadline_ms = 300,
                                                 .change_ms = 60000,
                                                 .open_ms = 5000,
                                                 .first_ms = 5000,
                                                 .event_wait_ms = 10};

static struct weir_prober *prober;
static struct weir_arena arena = WEIR_ARENA_INIT;
static struct weir_gpu_device *devices;
static uint32_t n;
static struct weir_gpu_event events[HEARD_MAX];
static unsigned n_events;
static struct weir_gpu_mig_result results[HEARD_MAX];
static unsigned n_results;

static void hear_event(void *arg, const struct weir_gpu_event *event)
{
    (void)arg;
    assert_true(n_events < HEARD_MAX);
    events[n_events++] = *event;
}

static void hear_result(void *arg, const struct weir_gpu_mig_result *result)
{
    (void)arg;
    assert_true(n_results < HEARD_MAX);
    results[n_results++] = *result;
}

static void open_prober(const struct weir_prober_options *options)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_prober_open(rig_path(), options, &prober, &err) < 0)
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    (void)state;
    rig_reset(3);
    n_events = 0;
    n_results = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    prober = weir_prober_close(prober);
    weir_arena_finish(&arena);
    /* Threads that were left behind end when their call returns. */
    for (unsigned i = 0; i < RIG_DEVICES_MAX; i++)
        rig_do(rig->devices[i].hangs = false);
    rig_do((rig->init_hangs = false, rig->count_hangs = false));
    return 0;
}

/* As the loop does. */
static void collect(void)
{
    const struct weir_gpu_sink sink = {hear_event, hear_result, NULL};
    struct pollfd watched = {.fd = weir_prober_fd(prober), .events = POLLIN};

    poll(&watched, 1, 5);
    weir_prober_collect(prober, &sink);
}

static void list(void)
{
    struct weir_err err = WEIR_ERR_INIT;

    weir_arena_reset(&arena);
    if (weir_prober_list(prober, &arena, &devices, &n, &err) < 0)
        fail_msg("%s", err.text);
}

/* Collects until the condition holds for what is listed. */
#define await(condition)                                                                           \
    do {                                                                                           \
        int64_t until_ms = weir_clock_mono_ms() + PATIENCE_MS;                                     \
        for (list(); !(condition); list()) {                                                       \
            collect();                                                                             \
            if (weir_clock_mono_ms() > until_ms)                                                   \
                fail_msg("in vain: %s", #condition);                                               \
        }                                                                                          \
    } while (0)

static int64_t reading_of(uint32_t index)
{
    return devices[index].sample != NULL ? devices[index].sample->read_ms : -1;
}

static void add_event(unsigned index, uint64_t xid)
{
    pthread_mutex_lock(&rig->lock);
    assert_true(rig->n_events < RIG_EVENTS_MAX);
    rig->events[rig->n_events] =
        (struct weir_nvml_event_data){NULL, WEIR_NVML_EVENT_XID, xid, ~0u, ~0u};
    rig->event_devices[rig->n_events++] = index;
    pthread_cond_broadcast(&rig->changed);
    pthread_mutex_unlock(&rig->lock);
}

static void opening_waits_for_a_first_reading(void **state)
{
    (void)state;
    open_prober(&quick);
    assert_string_equal(weir_prober_driver_version(prober), "1.2.3");
    list();
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(devices[i].state, WEIR_GPU_READY);
        assert_int_equal(devices[i].index, i);
        assert_non_null(devices[i].sample);
        assert_true(weir_gpu_has_metric(&devices[i].sample->metrics, WEIR_GPU_UTILIZATION_PERCENT));
        assert_true(weir_clock_mono_ms() - devices[i].read_ms < PATIENCE_MS);
    }
}

static void readings_are_renewed(void **state)
{
    int64_t before;
    int64_t facts_before;

    (void)state;
    open_prober(&quick);
    list();
    before = reading_of(2);
    facts_before = devices[2].read_ms;
    await(reading_of(2) > before && devices[2].read_ms > facts_before);
}

static void a_gpu_that_hangs_stops_no_other(void **state)
{
    int64_t since_ms;

    (void)state;
    open_prober(&quick);
    rig_do(rig->devices[1].hangs = true);
    await(devices[1].state == WEIR_GPU_HUNG);
    assert_true(weir_str_find(devices[1].cause, WEIR_STR("has not answered for")) > 0);
    assert_true(weir_str_eq_c(devices[1].uuid, "GPU-0-1"));
    assert_non_null(devices[1].sample);
    since_ms = weir_clock_mono_ms();
    await(reading_of(0) > since_ms && reading_of(2) > since_ms);
    assert_int_equal(devices[1].state, WEIR_GPU_HUNG);
    assert_true(reading_of(1) < since_ms);

    /* No one asks it again while that call lasts; the event thread may, once. */
    assert_in_range(rig_get(&rig->devices[1].n_hanging), 1, 2);
    rig_do(rig->devices[2].hangs = true);
    await(devices[2].state == WEIR_GPU_HUNG);
    since_ms = weir_clock_mono_ms();
    await(reading_of(0) > since_ms);

    rig_do((rig->devices[1].hangs = false, rig->devices[2].hangs = false));
    since_ms = weir_clock_mono_ms();
    await(reading_of(1) > since_ms && reading_of(2) > since_ms);
    assert_int_equal(devices[1].state, WEIR_GPU_READY);
    assert_int_equal(devices[2].state, WEIR_GPU_READY);
}

/* Not for as long as it takes until they are said to hang. */
static void gpus_that_hang_do_not_delay_the_others(void **state)
{
    struct weir_prober_options options = quick;
    int64_t last_ms = 0;
    int64_t longest_ms = 0;

    (void)state;
    options.deadline_ms = 2000;
    open_prober(&options);
    rig_do((rig->devices[0].hangs = true, rig->devices[1].hangs = true));
    for (list(); devices[1].state != WEIR_GPU_HUNG; list()) {
        if (last_ms > 0 && reading_of(2) > last_ms && reading_of(2) - last_ms > longest_ms)
            longest_ms = reading_of(2) - last_ms;
        last_ms = reading_of(2);
        collect();
    }
    assert_true(longest_ms > 0 && longest_ms < options.deadline_ms / 2);
    /* One reader waits for each, whatever else is asked. */
    assert_in_range(rig_get(&rig->devices[0].n_hanging), 1, 2);
    assert_in_range(rig_get(&rig->devices[1].n_hanging), 1, 2);
}

static void closing_waits_for_no_hung_call(void **state)
{
    int64_t before_ms;

    (void)state;
    open_prober(&quick);
    rig_do(rig->devices[0].hangs = true);
    await(devices[0].state == WEIR_GPU_HUNG);
    before_ms = weir_clock_mono_ms();
    prober = weir_prober_close(prober);
    assert_true(weir_clock_mono_ms() - before_ms < quick.deadline_ms);
}

static void a_gpu_may_hang_from_the_start(void **state)
{
    struct weir_prober_options options = quick;

    (void)state;
    rig_do(rig->devices[0].hangs = true);
    options.first_ms = 600;
    open_prober(&options);
    await(n == 3 && reading_of(1) > 0 && devices[0].state == WEIR_GPU_HUNG);
    assert_int_equal(devices[0].uuid.len, 0); /* which it is it did not say */
    assert_int_equal(devices[0].index, 0);
    assert_true(weir_str_eq_c(devices[1].uuid, "GPU-0-1"));
    rig_do(rig->devices[0].hangs = false);
    await(devices[0].state == WEIR_GPU_READY);
    assert_true(weir_str_eq_c(devices[0].uuid, "GPU-0-0"));
}

static void a_lost_gpu_keeps_its_identity(void **state)
{
    (void)state;
    rig_do(rig->devices[2].result = WEIR_NVML_GPU_IS_LOST);
    open_prober(&quick);
    list();
    assert_int_equal(n, 3);
    assert_int_equal(devices[2].uuid.len, 0); /* it never answered */
    assert_int_equal(devices[2].state, WEIR_GPU_LOST);
    rig_do((rig->devices[1].result = WEIR_NVML_GPU_IS_LOST, rig->devices[2].result = 0));
    await(n == 3 && devices[1].state == WEIR_GPU_LOST && devices[2].state == WEIR_GPU_READY);
    assert_true(weir_str_eq_c(devices[1].uuid, "GPU-0-1"));
    assert_true(weir_str_eq_c(devices[1].cause, "GPU is lost"));
    assert_int_equal(devices[1].memory_total_bytes, 80000);
    assert_int_equal(devices[0].state, WEIR_GPU_READY);
    rig_do(rig->devices[1].result = WEIR_NVML_RESET_REQUIRED);
    await(devices[1].state == WEIR_GPU_RESET_REQUIRED);
    rig_do(rig->devices[1].result = 0);
    await(devices[1].state == WEIR_GPU_READY);
    assert_int_equal(devices[1].cause.len, 0);
}

static void says_when_something_changed(void **state)
{
    const struct weir_gpu_sink nobody = {NULL, NULL, NULL};
    int64_t until_ms = weir_clock_mono_ms() + PATIENCE_MS;

    (void)state;
    open_prober(&quick);
    for (int i = 0; i < 20; i++) {
        usleep(5000);
        assert_false(weir_prober_collect(prober, &nobody));
    }
    rig_do(rig->devices[1].result = WEIR_NVML_GPU_IS_LOST);
    while (!weir_prober_collect(prober, &nobody))
        assert_true(weir_clock_mono_ms() < until_ms);
    list();
    assert_int_equal(devices[1].state, WEIR_GPU_LOST);
    rig_do(rig->devices[0].mig_mode = 1);
    while (!weir_prober_collect(prober, &nobody))
        assert_true(weir_clock_mono_ms() < until_ms);
    list();
    assert_true(devices[0].mig_mode);
}

static void goes_on_when_the_driver_was_reloaded(void **state)
{
    unsigned n_inits;

    (void)state;
    open_prober(&quick);
    n_inits = rig_get(&rig->n_inits);
    rig_do((rig->is_reloaded = true, rig->n_devices = 2, rig->series = 5));
    await(n == 2 && weir_str_eq_c(devices[1].uuid, "GPU-5-1") &&
          devices[1].state == WEIR_GPU_READY && weir_str_eq_c(devices[0].uuid, "GPU-5-0"));
    assert_int_equal(rig_get(&rig->n_inits), n_inits + 1);

    /* Gone, and back. */
    rig_do((rig->is_reloaded = true, rig->init_result = WEIR_NVML_DRIVER_NOT_LOADED));
    await(devices[0].state == WEIR_GPU_UNREADABLE && devices[1].state == WEIR_GPU_UNREADABLE);
    assert_true(weir_str_find(devices[0].cause, WEIR_STR("Driver Not Loaded")) > 0);
    assert_int_equal(n, 2);
    rig_do(rig->init_result = 0);
    await(devices[0].state == WEIR_GPU_READY && devices[1].state == WEIR_GPU_READY);
}

/* It went, and takes long to come back: that is no GPU that hangs. */
static void a_driver_that_comes_back_slowly_is_away(void **state)
{
    (void)state;
    open_prober(&quick);
    rig_do((rig->init_hangs = true, rig->is_reloaded = true));
    await(devices[0].state != WEIR_GPU_READY);
    assert_int_equal(devices[0].state, WEIR_GPU_UNREADABLE);
    assert_int_equal(devices[2].state, WEIR_GPU_UNREADABLE);
    assert_true(weir_str_find(devices[0].cause, WEIR_STR("went away")) > 0);
    assert_true(weir_str_eq_c(devices[2].uuid, "GPU-0-2"));
    rig_do(rig->init_hangs = false);
    await(devices[0].state == WEIR_GPU_READY && devices[2].state == WEIR_GPU_READY);
}

static void a_driver_may_be_away_from_the_start(void **state)
{
    struct weir_prober_options options = quick;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    options.may_be_away = true;
    rig_do(rig->init_result = WEIR_NVML_DRIVER_NOT_LOADED);
    open_prober(&options);
    assert_string_equal(weir_prober_driver_version(prober), "");
    assert_int_equal(weir_prober_list(prober, &arena, &devices, &n, &err), WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "Driver Not Loaded"));
    rig_do(rig->init_result = 0);
    for (int64_t until_ms = weir_clock_mono_ms() + PATIENCE_MS;;) {
        collect();
        assert_true(weir_clock_mono_ms() < until_ms);
        weir_arena_reset(&arena);
        if (weir_prober_list(prober, &arena, &devices, &n, &err) == 0 && n == 3 &&
            reading_of(2) > 0)
            break;
    }
    assert_string_equal(weir_prober_driver_version(prober), "1.2.3");
    await(rig_get(&rig->devices[2].n_registered) > 0);
    add_event(2, 79);
    await(n_events == 1);
    prober = weir_prober_close(prober);

    /* It may also hang. */
    rig_do(rig->init_hangs = true);
    options.open_ms = 50;
    open_prober(&options);
    weir_arena_reset(&arena);
    assert_int_equal(weir_prober_list(prober, &arena, &devices, &n, &err), WEIR_E_UNAVAILABLE);
}

/* What it is could not be read while it failed: it does not serve before that was read. */
static void a_gpu_is_ready_when_it_has_told_what_it_is(void **state)
{
    (void)state;
    rig_do(rig->devices[2].name_result = WEIR_NVML_RESET_REQUIRED);
    open_prober(&quick);
    await(n == 3 && devices[2].state == WEIR_GPU_RESET_REQUIRED);
    usleep(100000);
    await(reading_of(0) > 0);
    assert_int_equal(devices[2].state, WEIR_GPU_RESET_REQUIRED);
    assert_int_equal(devices[2].name.len, 0);
    rig_do(rig->devices[2].name_result = 0);
    await(devices[2].state == WEIR_GPU_READY);
    assert_true(devices[2].name.len > 0);
}

static void a_driver_that_hangs_is_a_state_of_all(void **state)
{
    (void)state;
    open_prober(&quick);
    rig_do(rig->count_hangs = true);
    await(devices[0].state == WEIR_GPU_HUNG && devices[2].state == WEIR_GPU_HUNG);
    rig_do(rig->count_hangs = false);
    await(devices[0].state == WEIR_GPU_READY && devices[2].state == WEIR_GPU_READY);
}

static void opening_fails_with_a_reason(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_prober_options options = quick;

    (void)state;
    assert_int_equal(weir_prober_open("/nowhere/nvml.so", &quick, &prober, &err),
                     WEIR_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "/nowhere/nvml.so"));
    rig_do(rig->init_result = WEIR_NVML_DRIVER_NOT_LOADED);
    assert_int_equal(weir_prober_open(rig_path(), &quick, &prober, &err), WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.hint, "modprobe"));
    rig_do((rig->init_result = 0, rig->init_hangs = true));
    options.open_ms = 50;
    assert_int_equal(weir_prober_open(rig_path(), &options, &prober, &err), WEIR_E_TIMEOUT);
    assert_null(prober);
}

static void a_machine_may_have_no_gpus(void **state)
{
    (void)state;
    rig_do(rig->n_devices = 0);
    open_prober(&quick);
    list();
    assert_int_equal(n, 0);
    rig_do(rig->n_devices = 1);
    await(n == 1);
}

static void says_so_until_the_driver_has_answered(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_prober_options options = quick;

    (void)state;
    rig_do(rig->count_hangs = true);
    options.first_ms = 20;
    open_prober(&options);
    assert_int_equal(weir_prober_list(prober, &arena, &devices, &n, &err), WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "not answered yet"));
    rig_do((rig->count_hangs = false, rig->is_reloaded = true,
            rig->init_result = WEIR_NVML_DRIVER_NOT_LOADED));
    for (int64_t until_ms = weir_clock_mono_ms() + PATIENCE_MS;;) {
        collect();
        assert_true(weir_clock_mono_ms() < until_ms);
        assert_int_equal(weir_prober_list(prober, &arena, &devices, &n, &err), WEIR_E_UNAVAILABLE);
        if (strstr(err.text, "Driver Not Loaded") != NULL)
            break;
    }
}

/* ---- events ---- */

static void events_are_heard_in_order(void **state)
{
    (void)state;
    open_prober(&quick);
    await(rig_get(&rig->devices[2].n_registered) > 0);
    add_event(1, 63);
    add_event(2, 79);
    await(n_events == 2);
    assert_string_equal(events[0].uuid, "GPU-0-1");
    assert_int_equal(events[0].data, 63);
    assert_int_equal(events[1].data, 79);
    assert_true(events[1].seen_ms > 0);
}

static void events_go_on_after_the_set_broke(void **state)
{
    unsigned n_registered;

    (void)state;
    open_prober(&quick);
    await(rig_get(&rig->devices[0].n_registered) > 0);
    n_registered = rig_get(&rig->devices[0].n_registered);
    rig_do(rig->wait_result = WEIR_NVML_GPU_IS_LOST);
    usleep(30000);
    rig_do(rig->wait_result = 0);
    await(rig_get(&rig->devices[0].n_registered) > n_registered);
    add_event(0, 48);
    await(n_events == 1);

    /* A GPU that comes back is asked again, and so is a new driver. */
    n_registered = rig_get(&rig->devices[1].n_registered);
    rig_do(rig->devices[1].result = WEIR_NVML_GPU_IS_LOST);
    await(devices[1].state == WEIR_GPU_LOST);
    rig_do(rig->devices[1].result = 0);
    await(rig_get(&rig->devices[1].n_registered) > n_registered);
    n_registered = rig_get(&rig->devices[1].n_registered);
    rig_do(rig->is_reloaded = true);
    await(rig_get(&rig->devices[1].n_registered) > n_registered);
    add_event(1, 13);
    await(n_events == 2);
}

/* A GPU that comes back has the set replaced. */
static void nothing_is_missed_when_the_set_is_replaced(void **state)
{
    unsigned n_registered;

    (void)state;
    open_prober(&quick);
    await(rig_get(&rig->devices[0].n_registered) > 0);
    rig_do(rig->devices[1].result = WEIR_NVML_GPU_IS_LOST);
    await(devices[1].state == WEIR_GPU_LOST);
    n_registered = rig_get(&rig->devices[1].n_registered);
    rig_do((rig->xids_at_set[0] = 31, rig->xids_at_set[1] = 45, rig->devices[1].result = 0));
    await(rig_get(&rig->devices[1].n_registered) > n_registered && n_events >= 2);
    add_event(2, 79);
    await(n_events >= 3);
    assert_int_equal(events[0].data, 31);
    assert_int_equal(events[1].data, 45); /* both sets have it */
    assert_int_equal(events[2].data, 79);
    await(rig_get(&rig->n_event_sets) == 1);
    assert_int_equal(n_events, 3);
}

/* ---- MIG ---- */

static int ask_for(const char *uuid, enum weir_gpu_mig_action action, uint64_t *ticket,
                   struct weir_err *err)
{
    char text[32]; /* the request must not keep it */
    struct weir_gpu_mig_request request = {.uuid = weir_str(
                                               weir_str_format(text, sizeof(text), "%s", uuid)),
                                           .action = action,
                                           .profile_id = 19,
                                           .start = 1,
                                           .size = 1};
    int r = weir_prober_mig(prober, &request, ticket, err);

    memset(text, 'x', sizeof(text));
    return r;
}

static void changes_of_mig_are_carried_out_in_order(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t tickets[3] = {0};

    (void)state;
    open_prober(&quick);
    list();
    assert_int_equal(ask_for("GPU-0-1", WEIR_GPU_MIG_ENABLE, &tickets[0], &err), 0);
    assert_int_equal(ask_for("GPU-0-1", WEIR_GPU_MIG_CREATE, &tickets[1], &err), 0);
    await(n_results == 2);
    assert_int_equal(results[0].ticket, tickets[0]);
    assert_int_equal(results[1].ticket, tickets[1]);
    assert_int_equal(results[0].err.code, 0);
    assert_int_equal(results[1].err.code, 0);
    assert_int_equal(results[1].placement.start, 1);
    /* Whoever hears of it sees it. */
    assert_true(devices[1].mig_mode);
    assert_int_equal(devices[1].n_instances, 1);
    rig_do(rig->devices[1].create_result = WEIR_NVML_INSUFFICIENT_RESOURCES);
    assert_int_equal(ask_for("GPU-0-1", WEIR_GPU_MIG_CREATE, &tickets[2], &err), 0);
    await(n_results == 3);
    assert_int_equal(results[2].err.code, WEIR_E_UNAVAILABLE);
    assert_int_equal(ask_for("GPU-0-9", WEIR_GPU_MIG_CREATE, &tickets[2], &err), WEIR_E_NOT_FOUND);
}

static void a_gpu_that_hangs_is_not_changed(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t ticket = 0;

    (void)state;
    open_prober(&quick);
    rig_do(rig->devices[1].hangs = true);
    await(devices[1].state == WEIR_GPU_HUNG);
    assert_int_equal(ask_for("GPU-0-1", WEIR_GPU_MIG_CREATE, &ticket, &err), WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "hangs"));
    rig_do(rig->devices[1].hangs = false);
}

/* Switching the mode of a GPU takes seconds, in which it answers nothing else. */
static void a_change_that_takes_long_is_no_hang(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t tickets[2] = {0};
    int64_t since_ms;

    (void)state;
    open_prober(&quick);
    list();
    rig_do(rig->devices[1].mode_hangs = true);
    assert_int_equal(ask_for("GPU-0-1", WEIR_GPU_MIG_ENABLE, &tickets[0], &err), 0);
    assert_int_equal(ask_for("GPU-0-2", WEIR_GPU_MIG_ENABLE, &tickets[1], &err), 0);
    await(n_results == 1);
    assert_int_equal(results[0].ticket, tickets[1]);
    assert_int_equal(results[0].err.code, 0);
    since_ms = weir_clock_mono_ms();
    while (weir_clock_mono_ms() < since_ms + 3 * (int64_t)quick.deadline_ms) {
        list();
        assert_int_equal(devices[1].state, WEIR_GPU_READY);
        usleep(20000);
    }
    since_ms = weir_clock_mono_ms();
    rig_do(rig->devices[1].mode_hangs = false);
    await(n_results == 2 && reading_of(1) > since_ms);
    assert_int_equal(results[1].ticket, tickets[0]);
    assert_int_equal(results[1].err.code, 0);
}

static void a_change_that_never_ends_is_given_up(void **state)
{
    struct weir_prober_options options = quick;
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t ticket = 0;
    int64_t since_ms;

    (void)state;
    options.change_ms = 500;
    open_prober(&options);
    rig_do(rig->devices[2].mode_hangs = true);
    assert_int_equal(ask_for("GPU-0-2", WEIR_GPU_MIG_ENABLE, &ticket, &err), 0);
    await(n_results == 1 && devices[2].state == WEIR_GPU_HUNG);
    assert_int_equal(results[0].ticket, ticket);
    assert_int_equal(results[0].err.code, WEIR_E_TIMEOUT);
    assert_non_null(strstr(results[0].err.text, "GPU-0-2"));
    since_ms = weir_clock_mono_ms();
    rig_do(rig->devices[2].mode_hangs = false);
    await(reading_of(2) > since_ms && devices[2].mig_mode);
    assert_int_equal(n_results, 1); /* what comes late is not told, but shows */
}

static void too_many_changes_are_refused(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t ticket;
    int r = 0;

    (void)state;
    open_prober(&quick);
    list();
    rig_do(rig->count_hangs = true); /* no one works */
    usleep(50000);
    for (int i = 0; r == 0 && i < 2000; i++)
        r = ask_for("GPU-0-0", WEIR_GPU_MIG_ENABLE, &ticket, &err);
    assert_int_equal(r, WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "too many"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(opening_waits_for_a_first_reading),
        TEST(readings_are_renewed),
        TEST(a_gpu_that_hangs_stops_no_other),
        TEST(gpus_that_hang_do_not_delay_the_others),
        TEST(closing_waits_for_no_hung_call),
        TEST(a_gpu_may_hang_from_the_start),
        TEST(a_lost_gpu_keeps_its_identity),
        TEST(says_when_something_changed),
        TEST(goes_on_when_the_driver_was_reloaded),
        TEST(a_driver_that_comes_back_slowly_is_away),
        TEST(a_driver_may_be_away_from_the_start),
        TEST(a_gpu_is_ready_when_it_has_told_what_it_is),
        TEST(a_driver_that_hangs_is_a_state_of_all),
        TEST(opening_fails_with_a_reason),
        TEST(a_machine_may_have_no_gpus),
        TEST(says_so_until_the_driver_has_answered),
        TEST(events_are_heard_in_order),
        TEST(events_go_on_after_the_set_broke),
        TEST(nothing_is_missed_when_the_set_is_replaced),
        TEST(changes_of_mig_are_carried_out_in_order),
        TEST(a_gpu_that_hangs_is_not_changed),
        TEST(a_change_that_takes_long_is_no_hang),
        TEST(a_change_that_never_ends_is_given_up),
        TEST(too_many_changes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

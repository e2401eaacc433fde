/* Jobs on simulated GPUs, as they are read through the library and the adapter. */
#include "../support.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/err.h"
#include "base/units.h"
#include "edge/nvml/gpus.h"
#include "model/world.h"

#include "temp_dir.h"

enum { WAIT_MS = 20000, PID = 4711 };

static struct weir_gpus *gpus;
static struct weir_gpu_port port;
static struct weir_arena arena;
static struct weir_gpu_device *devices;

static int open_gpus(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (temp_dir_make(state) < 0)
        return -1;
    if (weir_gpus_open(temp_dir, WEIR_STR("2xH100"), WEIR_GPUS_KNOWN_NONE, &gpus, &port, &err) < 0)
        fail_msg("%s", err.text);
    return 0;
}

static int close_gpus(void **state)
{
    gpus = weir_gpus_close(gpus);
    weir_arena_finish(&arena);
    return temp_dir_remove(state);
}

static const struct weir_gpu_device *read_device(uint32_t index)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t n;

    weir_arena_reset(&arena);
    port.collect(port.ctx, &(struct weir_gpu_sink){0});
    if (port.list(port.ctx, &arena, &devices, &n, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(n, 2);
    return &devices[index];
}

static const struct weir_gpu_process *process_on(uint32_t index, uint32_t pid)
{
    const struct weir_gpu_sample *sample = read_device(index)->sample;

    for (uint32_t i = 0; sample != NULL && i < sample->n_processes; i++)
        if (sample->processes[i].pid == pid)
            return &sample->processes[i];
    return NULL;
}

/* Until the reader has come by. */
static const struct weir_gpu_process *wait_for(uint32_t index, uint32_t pid, bool is_there)
{
    int64_t until_ms = weir_clock_mono_ms() + WAIT_MS;
    const struct weir_gpu_process *process;

    do {
        process = process_on(index, pid);
        if ((process != NULL) == is_there)
            return process;
        usleep(10000);
    } while (weir_clock_mono_ms() < until_ms);
    fail_msg("waited in vain");
    return NULL;
}

static int occupy(uint32_t index, const struct weir_gpu_occupant *occupant)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r = port.occupy(port.ctx, read_device(index)->uuid, occupant, &err);

    if (r < 0)
        fail_msg("%s", err.text);
    return r;
}

static int64_t metric(uint32_t index, enum weir_gpu_metric which)
{
    const struct weir_gpu_sample *sample = devices[index].sample;

    assert_true(weir_gpu_has_metric(&sample->metrics, which));
    return sample->metrics.of[which];
}

/* A job of ten minutes ago, and one beside it that waits for its input. */
static void a_job_shows_as_what_it_is(void **state)
{
    struct weir_gpu_occupant training = {.pid = PID,
                                         .class = WEIR_CLASS_TRAINING,
                                         .seed = 7,
                                         .memory_bytes = 60 * WEIR_GIB,
                                         .began_ms = weir_clock_mono_ms() - 600000};
    struct weir_gpu_occupant starved = training;
    struct weir_str uuid;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    starved.pid++;
    starved.profile = WEIR_STR("starved");
    starved.memory_bytes = 0;
    occupy(0, &training);
    occupy(1, &starved);
    wait_for(0, PID, true);
    assert_int_equal(wait_for(0, PID, true)->used_bytes, 60 * WEIR_GIB);
    assert_in_range(metric(0, WEIR_GPU_UTILIZATION_PERCENT), 84, 100);
    assert_in_range(metric(0, WEIR_GPU_POWER_MW), 500000, 700000);
    assert_int_equal(metric(0, WEIR_GPU_MEMORY_USED_BYTES), 60 * WEIR_GIB);
    /* Nobody said how much: something that the GPU has. */
    assert_in_range(wait_for(1, PID + 1, true)->used_bytes, 25 * WEIR_GIB, 45 * WEIR_GIB);
    assert_in_range(metric(1, WEIR_GPU_UTILIZATION_PERCENT), 0, 24);
    assert_null(process_on(1, PID));
    uuid = read_device(0)->uuid;
    assert_int_equal(port.vacate(port.ctx, uuid, PID, &err), 0);
    wait_for(0, PID, false);
    assert_int_equal(port.vacate(port.ctx, uuid, PID, &err), WEIR_E_NOT_FOUND);
    assert_int_equal(port.occupy(port.ctx, WEIR_STR("GPU-x"), &training, &err), WEIR_E_NOT_FOUND);
}

static void who_comes_later_gets_what_is_left(void **state)
{
    struct weir_gpu_occupant first = {
        .pid = PID, .profile = WEIR_STR("held"), .memory_bytes = 70 * WEIR_GIB, .seed = 1};
    struct weir_gpu_occupant second = {
        .pid = PID + 1, .profile = WEIR_STR("held"), .memory_bytes = 70 * WEIR_GIB, .seed = 2};
    int64_t room;

    (void)state;
    occupy(0, &first);
    occupy(0, &second);
    wait_for(0, PID + 1, true);
    room = devices[0].memory_total_bytes - devices[0].memory_reserved_bytes;
    assert_int_equal(wait_for(0, PID + 1, true)->used_bytes, room - 70 * WEIR_GIB);
    /* One that is there already does not stand in its own way. */
    occupy(0, &first);
    assert_int_equal(wait_for(0, PID, true)->used_bytes, 70 * WEIR_GIB);
}

/* An instant of before the boot, and a profile of another version. */
static void what_makes_no_sense_is_as_usual(void **state)
{
    struct weir_gpu_occupant odd = {.pid = PID,
                                    .class = WEIR_CLASS_DEV,
                                    .profile = WEIR_STR("quantum"),
                                    .began_ms = INT64_MAX - 1,
                                    .seed = 3};

    (void)state;
    occupy(0, &odd);
    wait_for(0, PID, true);
    assert_in_range(metric(0, WEIR_GPU_UTILIZATION_PERCENT), 0, 16);
    assert_in_range(metric(0, WEIR_GPU_MEMORY_USED_BYTES), 0, 18 * WEIR_GIB);
}

/* On a GPU that has been idle, a load may have a past: it is warm at once, and has used power. */
static void a_past_may_be_made_up(void **state)
{
    struct weir_gpu_occupant job = {.pid = PID,
                                    .class = WEIR_CLASS_TRAINING,
                                    .seed = 5,
                                    .began_ms = weir_clock_mono_ms(),
                                    .past_ms = 6 * 3600 * (int64_t)1000};
    struct weir_gpu_occupant next = job;

    (void)state;
    occupy(0, &job);
    occupy(1, &(struct weir_gpu_occupant){.pid = 1, .began_ms = job.began_ms, .seed = 5});
    assert_true(wait_for(0, PID, true)->used_bytes > 50 * WEIR_GIB);
    assert_in_range(metric(0, WEIR_GPU_UTILIZATION_PERCENT), 84, 100);
    assert_true(metric(0, WEIR_GPU_TEMPERATURE_C) > 60);
    /* Six hours at over 500 W, where the other has idled at 70. */
    assert_true(metric(0, WEIR_GPU_ENERGY_MJ) > (int64_t)(18 * 70 + 6 * 500) * 3600 * 1000);
    wait_for(1, 1, true);
    assert_true(metric(1, WEIR_GPU_ENERGY_MJ) < (int64_t)25 * 70 * 3600 * 1000);
    /* It keeps it, and whoever comes later has none. */
    job.past_ms = 0;
    occupy(0, &job);
    wait_for(0, PID, true);
    assert_true(metric(0, WEIR_GPU_TEMPERATURE_C) > 60);
    assert_int_equal(port.vacate(port.ctx, read_device(0)->uuid, PID, NULL), 0);
    next.pid = PID + 1;
    occupy(0, &next);
    assert_true(wait_for(0, PID + 1, true)->used_bytes < 50 * WEIR_GIB);
}

static int64_t power_limit(uint32_t index)
{
    return read_device(index)->limits.of[WEIR_GPU_POWER_LIMIT_MW];
}

static enum weir_gpu_state wait_for_state(uint32_t index, enum weir_gpu_state state)
{
    int64_t until_ms = weir_clock_mono_ms() + WAIT_MS;

    while (read_device(index)->state != state && weir_clock_mono_ms() < until_ms)
        usleep(10000);
    return devices[index].state;
}

/* All of them or none; nothing on a schedule. */
static void faults_are_carried_out_when_all_are_right(void **state)
{
    static const struct {
        const char *text;
        int code;
        uint32_t line;
        uint32_t column;
    } wrong[] = {
        {"gpu 1 lost\ngpu 7 lost", WEIR_E_NOT_FOUND, 2, 5},
        {"gpu 1 lost\ngpu 1 power 900", WEIR_E_INVALID, 2, 1},
        {"gpu 1 lost\ngpu 1 explode", WEIR_E_INVALID, 2, 7},
        {"gpu 1 lost\n+3s gpu 1 lost", WEIR_E_INVALID, 2, 1},
        {"# nothing\n\n", WEIR_E_INVALID, 0, 0},
    };
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(wrong); i++) {
        err = (struct weir_err)WEIR_ERR_INIT;
        assert_int_equal(port.befall(port.ctx, weir_str(wrong[i].text), false, &err),
                         wrong[i].code);
        assert_int_equal(err.line, wrong[i].line);
        assert_int_equal(err.column, wrong[i].column);
    }
    assert_int_equal(port.befall(port.ctx, WEIR_STR("gpu 1 lost"), true, &err), 0);
    assert_int_equal(port.befall(port.ctx, WEIR_STR("node sim-1 gpu 0 lost"), false, &err), 0);
    assert_int_equal(wait_for_state(0, WEIR_GPU_LOST), WEIR_GPU_LOST);
    assert_int_equal(devices[1].state, WEIR_GPU_READY);
    assert_int_equal(port.befall(port.ctx, WEIR_STR("gpu all recovered"), false, &err), 0);
    assert_int_equal(wait_for_state(0, WEIR_GPU_READY), WEIR_GPU_READY);
    assert_int_equal(power_limit(1), 700000);
}

/* What is to be said of the second cannot be written. */
static void all_of_them_befall_or_none(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    const char *path = temp_path("sim/kmsg");

    (void)state;
    unlink(path);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(port.befall(port.ctx, WEIR_STR("gpu 0 power 300\ngpu 1 lost"), false, &err),
                     WEIR_E_IO);
    assert_int_equal(power_limit(0), 700000);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(port.befall(port.ctx, WEIR_STR("gpu 0 power 300\ngpu 1 lost"), false, &err),
                     0);
    for (int64_t until_ms = weir_clock_mono_ms() + WAIT_MS;
         power_limit(0) != 300000 && weir_clock_mono_ms() < until_ms;)
        usleep(10000);
    assert_int_equal(power_limit(0), 300000);
}

struct told {
    size_t n;
    struct weir_str last;
};

static void tell(void *arg, struct weir_str fault, const struct weir_err *why)
{
    struct told *told = arg;

    assert_null(why);
    told->n++;
    told->last = fault;
}

static void faults_come_by_schedule(void **state)
{
    char text[] = "+10s gpu 1 lost\n+5s gpu 0 ecc 3 # first\n";
    struct weir_err err = WEIR_ERR_INIT;
    struct told told = {0};

    (void)state;
    assert_int_equal(weir_gpus_plan_faults(gpus, WEIR_STR("+5s gpu 3 lost"), &err),
                     WEIR_E_NOT_FOUND);
    assert_int_equal(err.column, 9);
    assert_int_equal(weir_gpus_plan_faults(gpus, weir_str(text), &err), 0);
    memset(text, 'x', sizeof(text) - 1); /* it keeps its own */
    weir_gpus_begin_faults(gpus, 1000);
    assert_true(weir_gpus_run_faults(gpus, 1000, tell, &told) == 5000);
    assert_int_equal(told.n, 0);
    assert_true(weir_gpus_run_faults(gpus, 6500, tell, &told) == 4500);
    assert_true(weir_str_eq_c(told.last, "gpu 0 ecc 3"));
    assert_true(weir_gpus_run_faults(gpus, 11000, tell, &told) == INT64_MAX);
    assert_int_equal(told.n, 2);
    assert_int_equal(wait_for_state(1, WEIR_GPU_LOST), WEIR_GPU_LOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(faults_are_carried_out_when_all_are_right, open_gpus,
                                        close_gpus),
        cmocka_unit_test_setup_teardown(a_past_may_be_made_up, open_gpus, close_gpus),
        cmocka_unit_test_setup_teardown(all_of_them_befall_or_none, open_gpus, close_gpus),
        cmocka_unit_test_setup_teardown(faults_come_by_schedule, open_gpus, close_gpus),
        cmocka_unit_test_setup_teardown(a_job_shows_as_what_it_is, open_gpus, close_gpus),
        cmocka_unit_test_setup_teardown(who_comes_later_gets_what_is_left, open_gpus, close_gpus),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_is_as_usual, open_gpus, close_gpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a server makes of MPS daemons: of what becomes of them, of who runs under them, and of their
 * processes. The daemons do as they are told here. */
#include "app_rig.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SERVER_PID = 4242 };

#define GIB(n)      ((int64_t)(n) << 30)
#define CLIENT(gib) "{\"command\":[\"a\"],\"gpuMemory\":\"" #gib "Gi\",\"isolation\":\"memory\"}"

static struct app_rig rig;
static struct weir_mps_facts daemons[RIG_GPUS];
static unsigned n_begins;
static unsigned n_ends;
static int begin_result;
static bool is_serviced;

static struct weir_mps_facts *daemon_of(struct weir_str uuid)
{
    assert_int_equal(uuid.len, 5);
    return &daemons[uuid.ptr[4] - '0'];
}

static int begin(void *ctx, struct weir_str uuid, struct weir_err *err)
{
    (void)ctx;
    n_begins++;
    if (begin_result < 0)
        return weir_error(err, begin_result, "no room");
    daemon_of(uuid)->state = WEIR_MPS_STARTING;
    return 0;
}

static void end(void *ctx, struct weir_str uuid)
{
    (void)ctx;
    n_ends++;
    daemon_of(uuid)->state = WEIR_MPS_STOPPING;
}

static void look(void *ctx, struct weir_str uuid, struct weir_mps_facts *ret_facts)
{
    (void)ctx;
    *ret_facts = *daemon_of(uuid);
    ret_facts->pipe_dir = WEIR_STR("/d/pipe");
    ret_facts->log_dir = WEIR_STR("/d/log");
}

static bool owns(void *ctx, uint32_t pid)
{
    (void)ctx;
    return pid == SERVER_PID;
}

static bool service(void *ctx)
{
    (void)ctx;
    return is_serviced;
}

static void offer(void)
{
    rig.server.mps = (struct weir_mps_port){&rig, true, begin, end, look, owns, service, -1};
}

static void glance(void)
{
    is_serviced = true;
    weir_server_look_at_mps(&rig.server);
}

/* As the loop does when the port has news. */
static void news(void)
{
    glance();
    if (rig.server.dirty)
        assert_int_equal(app_rig_tick(&rig), 0);
}

static int set_up(void **state)
{
    (void)state;
    app_rig_init(&rig);
    memset(daemons, 0, sizeof(daemons));
    n_begins = n_ends = 0;
    begin_result = 0;
    rig.gpu_major = 9;
    offer();
    news();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weir_vec_finish(&rig.server.mps_marks);
    app_rig_finish(&rig);
    return 0;
}

static const struct weir_device *device(uint32_t index)
{
    return weir_world_device(weir_edit_view(rig.server.edit), index);
}

static void share(uint32_t index, bool begins)
{
    const struct weir_action action = {.kind = WEIR_ACTION_SHARE,
                                       .device = index,
                                       .task = WEIR_NONE,
                                       .workload = WEIR_NONE,
                                       .amount = begins};

    weir_server_share(&rig.server, &action);
}

static void come_on(uint32_t index)
{
    assert_int_equal(daemons[index].state, WEIR_MPS_STARTING);
    daemons[index].state = WEIR_MPS_ON;
    news();
    app_rig_begin_all(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
}

static void submit(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_submit(&rig, spec, "", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_begin_all(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
}

static const char *events(void)
{
    return app_rig_events(&rig, "gpu/GPU-0");
}

static void devices_say_whether_they_can(void **state)
{
    (void)state;
    assert_int_equal(device(0)->can_mps, 1);
    assert_int_equal(device(0)->isolation, WEIR_ISOLATION_MEMORY);
    assert_int_equal(device(0)->max_sharers, 16);
    rig.gpu_major = 6;
    news();
    assert_int_equal(device(0)->can_mps, 0);
    assert_int_equal(device(0)->isolation, WEIR_ISOLATION_NONE);
    rig.gpu_major = 7;
    rig.gpu_is_exclusive[1] = true;
    news();
    assert_int_equal(device(0)->can_mps, 1);
    assert_int_equal(device(1)->can_mps, 1);
    assert_int_equal(device(1)->max_sharers, 1);
    weir_edit_device(rig.server.edit, 1)->sharing = WEIR_SHARING_MPS;
    news();
    assert_int_equal(device(1)->max_sharers, 48); /* of the one process, the server */
    rig.server.mps.can_begin = false;
    news();
    assert_int_equal(device(0)->can_mps, 0);
    assert_int_equal(device(1)->can_mps, 0);
    assert_int_equal(device(1)->max_sharers, 1);
}

static void one_begins_is_on_and_ends(void **state)
{
    (void)state;
    share(0, true);
    assert_int_equal(n_begins, 1);
    assert_int_equal(device(0)->mps, WEIR_MPS_STARTING);
    daemons[0].state = WEIR_MPS_ON;
    glance();
    assert_int_equal(device(0)->mps, WEIR_MPS_ON);
    assert_int_equal(device(0)->isolation, WEIR_ISOLATION_MEMORY);
    assert_int_equal(device(0)->max_sharers, 48);
    assert_int_equal(device(1)->mps, WEIR_MPS_OFF);
    app_rig_check(&rig);
    assert_int_equal(app_rig_tick(&rig), 0); /* nobody wants it */
    assert_int_equal(n_ends, 1);
    assert_int_equal(device(0)->mps, WEIR_MPS_STOPPING);
    daemons[0].state = WEIR_MPS_OFF;
    news();
    assert_int_equal(device(0)->mps, WEIR_MPS_OFF);
    assert_int_equal(device(0)->max_sharers, 16);
    is_serviced = false;
    rig.server.dirty = false;
    weir_server_look_at_mps(&rig.server);
    assert_false(rig.server.dirty);
}

static void fail_once(const char *why)
{
    share(0, true);
    daemons[0].state = WEIR_MPS_OFF;
    daemons[0].n_failures++;
    snprintf(daemons[0].why, sizeof(daemons[0].why), "%s", why);
    news();
}

static int64_t barred_ms(void)
{
    return device(0)->change_not_before_wall_ms - rig.now.wall_ms;
}

static void failures_bar_the_next_try_for_longer_each_time(void **state)
{
    static const int64_t expected_s[] = {5, 10, 20, 40, 80, 160, 320, 600, 600};

    (void)state;
    for (size_t i = 0; i < sizeof(expected_s) / sizeof(expected_s[0]); i++) {
        fail_once("it ended with status 3");
        assert_int_equal(device(0)->mps, WEIR_MPS_OFF);
        assert_int_equal(barred_ms(), expected_s[i] * 1000);
        assert_true(weir_str_eq_c(weir_world_string(weir_edit_view(rig.server.edit),
                                                    device(0)->change_cause),
                                  "MPS: it ended with status 3"));
        app_rig_pass(&rig, expected_s[i] * 1000);
    }
    assert_non_null(strstr(events(), "gpu.mps-failed:it ended with status 3:"));
    assert_int_equal(device(1)->change_not_before_wall_ms, 0);
    share(0, true);
    daemons[0].state = WEIR_MPS_ON;
    glance();
    fail_once("it was killed by signal 9");
    assert_int_equal(barred_ms(), 5000);
}

static void a_begin_that_is_refused_is_a_failure(void **state)
{
    (void)state;
    begin_result = WEIR_E_IO;
    share(0, true);
    assert_int_equal(device(0)->mps, WEIR_MPS_OFF);
    assert_int_equal(barred_ms(), 5000);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_non_null(strstr(events(), "gpu.mps-failed:no room:"));
}

/* What was barred stays so when the state is built anew. */
static void a_state_that_is_built_anew_knows_it(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    fail_once("it ended with status 3");
    daemons[1].state = WEIR_MPS_ON;
    assert_int_equal(weir_server_load(&rig.server, &err), 0);
    assert_int_equal(barred_ms(), 5000);
    assert_int_equal(device(1)->mps, WEIR_MPS_ON);
    assert_int_equal(device(1)->isolation, WEIR_ISOLATION_MEMORY);
    assert_int_equal(device(1)->max_sharers, 48);
}

static void jobs_are_clients_with_a_limit(void **state)
{
    (void)state;
    submit("{\"command\":[\"a\"],\"gpuMemory\":\"20Gi\",\"isolation\":\"memory\",\"env\":{"
           "\"CUDA_MPS_PIPE_DIRECTORY\":\"/evil\",\"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE\":\"7\"}}");
    assert_null(app_rig_attempt(&rig, 1, 0));
    assert_int_equal(n_begins, 1);
    assert_non_null(strstr(events(), "gpu.mps-begins:demanded:"));
    come_on(0);
    assert_string_equal(app_rig_attempt(&rig, 1, 0)->mps,
                        "CUDA_MPS_PIPE_DIRECTORY=/d/pipe\nCUDA_MPS_LOG_DIRECTORY=/d/log\n"
                        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20480M\n");
    assert_string_equal(app_rig_attempt(&rig, 1, 0)->devices, "GPU-0");
}

/* As with `gpus: 0.25`: a part, of which the budget follows. */
static void who_asked_for_a_part_gets_that_of_the_multiprocessors(void **state)
{
    const struct weir_world *world;
    uint32_t role;

    (void)state;
    submit(CLIENT(20));
    world = weir_edit_view(rig.server.edit);
    role = weir_world_workload(world, weir_world_first(world, WEIR_TABLE_WORKLOADS))->first_role;
    ((struct weir_shape *)weir_world_shape(world, weir_world_role(world, role)->shape))
        ->device_memory_bytes = 0;
    come_on(0);
    assert_string_equal(app_rig_attempt(&rig, 1, 0)->mps,
                        "CUDA_MPS_PIPE_DIRECTORY=/d/pipe\nCUDA_MPS_LOG_DIRECTORY=/d/log\n"
                        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20398M\n"
                        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=24\n");
}

static void other_jobs_are_none(void **state)
{
    (void)state;
    submit("{\"command\":[\"a\"],\"gpuMemory\":\"20Gi\","
           "\"env\":{\"CUDA_MPS_PIPE_DIRECTORY\":\"/evil\"}}");
    assert_string_equal(app_rig_attempt(&rig, 1, 0)->mps, "");
}

static void its_server_is_no_stranger(void **state)
{
    (void)state;
    app_rig_sample(&rig);
    app_rig_use(&rig, 0, SERVER_PID, GIB(1));
    app_rig_use(&rig, 1, SERVER_PID + 1, GIB(1)); /* of somebody else's daemon */
    for (int i = 0; i < 4; i++)
        app_rig_sample(&rig);
    assert_int_equal(device(0)->n_foreign, 0);
    assert_int_equal(device(1)->n_foreign, 1);
}

static void die(uint32_t index)
{
    daemons[index].n_deaths++;
    daemons[index].state = WEIR_MPS_STARTING;
    snprintf(daemons[index].why, sizeof(daemons[index].why), "it was killed by signal 9");
    news();
}

static void a_death_is_told_and_said_of_those_who_failed(void **state)
{
    (void)state;
    submit(CLIENT(20));
    submit(CLIENT(20));
    come_on(0);
    die(0);
    assert_int_equal(device(0)->mps, WEIR_MPS_STARTING);
    assert_non_null(strstr(events(), "gpu.mps-died:it was killed by signal 9:"));
    app_rig_end(&rig, app_rig_attempt(&rig, 1, 0), WEIR_END_EXITED, 1);
    app_rig_end(&rig, app_rig_attempt(&rig, 2, 0), WEIR_END_EXITED, 0);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_non_null(
        strstr(app_rig_events(&rig, "workload/1"), "the MPS daemon of its GPU died while it ran"));
    assert_null(strstr(app_rig_events(&rig, "workload/2"), "MPS"));
    submit(CLIENT(20));
    come_on(0);
    app_rig_end(&rig, app_rig_attempt(&rig, 3, 0), WEIR_END_EXITED, 1);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_null(strstr(app_rig_events(&rig, "workload/3"), "MPS"));
}

static void without_a_port_there_is_none(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    rig.server.mps = (struct weir_mps_port){0};
    assert_int_equal(weir_server_load(&rig.server, &err), 0);
    assert_int_equal(app_rig_tick(&rig), 0);
    assert_int_equal(device(0)->can_mps, 0);
    share(0, true);
    assert_int_equal(n_begins, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(devices_say_whether_they_can),
        TEST(one_begins_is_on_and_ends),
        TEST(failures_bar_the_next_try_for_longer_each_time),
        TEST(a_begin_that_is_refused_is_a_failure),
        TEST(a_state_that_is_built_anew_knows_it),
        TEST(jobs_are_clients_with_a_limit),
        TEST(who_asked_for_a_part_gets_that_of_the_multiprocessors),
        TEST(other_jobs_are_none),
        TEST(its_server_is_no_stranger),
        TEST(a_death_is_told_and_said_of_those_who_failed),
        TEST(without_a_port_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The tick: what fails, what is put off, what is read back. */
#include "plane.h"

#include "base/log.h"

static void tries_again_after_a_failure_whatever_the_clock_says(void **state)
{
    struct weir_server *server = &plane->server;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(submit(""), 0);
    plane->commit_result = WEIR_E_NO_SPACE;
    assert_int_equal(weir_server_tick(server, &err), WEIR_E_NO_SPACE);
    assert_int_equal(plane->answer, WEIR_E_NO_SPACE);
    assert_true(server->dirty);
    assert_false(weir_server_may_tick(server));
    assert_int_equal(weir_server_wake(server), plane->now.wall_ms + 1000);
    plane->now.wall_ms -= 3600 * 1000;
    plane->now.mono_ms += 400;
    assert_false(weir_server_may_tick(server));
    assert_int_equal(weir_server_wake(server), plane->now.wall_ms + 600);
    plane->now.mono_ms += 600;
    assert_true(weir_server_may_tick(server));
    assert_int_equal(weir_server_wake(server), plane->now.wall_ms);
    plane->commit_result = 0;
    tick();
    assert_true(weir_server_may_tick(server));
    assert_true(weir_server_wake(server) > plane->now.wall_ms);
}

/* What a plan waits for was reckoned by a clock that is set back meanwhile: it is decided anew. */
static void ticks_when_the_clock_is_set(void **state)
{
    struct weir_server *server = &plane->server;
    int64_t wake;

    (void)state;
    assert_int_equal(submit(",\"backoff\":\"5s\",\"retries\":1"), 0);
    tick();
    sees(1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 0);
    plane->attempts[1].facts.exit_status = 1;
    server->look_at_all = true;
    tick();
    wake = server->plan.wake_wall_ms;
    assert_int_equal(weir_server_wake(server), wake);
    plane->now.wall_ms -= 600 * 1000;
    assert_int_equal(weir_server_wake(server), plane->now.wall_ms);
    tick();
    assert_int_equal(plane->n_attempts, 2);
    assert_true(weir_server_wake(server) > plane->now.wall_ms);
}

/* Somebody waits for an answer: the tick that gives it is not put off. */
static void does_not_let_askers_wait_after_a_failure(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(submit(""), 0);
    plane->commit_result = WEIR_E_IO;
    assert_int_equal(weir_server_tick(&plane->server, &err), WEIR_E_IO);
    assert_int_equal(submit(""), 0);
    assert_true(weir_server_may_tick(&plane->server));
}

static void answers_all_before_it_stops(void **state)
{
    (void)state;
    assert_int_equal(submit(""), 0);
    assert_int_equal(plane->n_answers, 0);
    weir_server_end(&plane->server);
    assert_int_equal(plane->n_answers, 1);
    assert_int_equal(plane->answer, 0);
    assert_true(plane->attempts[1].is_launched);
    assert_int_equal(submit(""), WEIR_E_UNAVAILABLE);
    assert_int_equal(plane->server.dones.n, 0);
}

/* Where there is no state to tick on, they hear that. */
static void refuses_what_it_cannot_do_before_it_stops(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(
        weir_server_add_done(&plane->server, (struct weir_done){on_done, NULL}, 1, &err), 0);
    weir_server_unload(&plane->server);
    plane->list_result = WEIR_E_NO_MEMORY;
    weir_server_end(&plane->server);
    assert_int_equal(plane->n_answers, 1);
    assert_int_equal(plane->answer, WEIR_E_UNAVAILABLE);
}

/* Whatever allocation of a look fails: the state is whole after the next tick. (Devices that could
 * not be listed have changed nothing.) */
static void builds_its_state_anew_after_half_a_look(void **state)
{
    struct weir_server *server = &plane->server;
    uint64_t n_failed_before;
    uint64_t n_made;

    (void)state;
    assert_int_equal(submit(",\"gpus\":1"), 0);
    tick();
    for (uint64_t n = 0;; n++) {
        const struct weir_world *world;
        struct weir_err err = WEIR_ERR_INIT;

        sees(1, WEIR_SEEN_NOTHING, WEIR_END_NOT, 0);
        plane->n_gpus = N_GPUS;
        assert_int_equal(server->store.begin(server->store.ctx, &err), 0);
        assert_int_equal(server->store.delete_gpu(server->store.ctx, WEIR_STR("GPU-2"), &err), 0);
        assert_int_equal(server->store.commit(server->store.ctx, true, &err), 0);
        assert_int_equal(weir_server_load(server, &err), 0);
        tick();
        plane->n_gpus = N_GPUS + 1;
        sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
        n_failed_before = server->n_failed_ticks;
        weir_mem_fail(n, 1);
        weir_server_look(server, true);
        n_made = weir_mem_count();
        weir_mem_fail(0, 0);
        if (server->failed != 0) {
            assert_int_equal(weir_server_tick(server, &err), WEIR_E_NO_MEMORY);
            assert_int_equal(server->n_failed_ticks, n_failed_before + 1);
        } else if (n_made > n) {
            weir_server_look(server, true);
        }
        tick();
        world = server->world;
        assert_int_equal(weir_world_table(world, WEIR_TABLE_DEVICES)->n_live, N_GPUS + 1);
        assert_int_equal(weir_world_node(world, weir_world_first(world, WEIR_TABLE_NODES))
                             ->capacity.of[WEIR_RES_GPU],
                         (N_GPUS + 1) * 1000);
        assert_int_equal(first_task()->state, WEIR_TASK_RUNNING);
        if (n_made <= n)
            break;
    }
    assert_true(n_made > 0);
}

static int64_t capacity(void)
{
    const struct weir_world *world = plane->server.world;

    return weir_world_node(world, weir_world_first(world, WEIR_TABLE_NODES))
        ->capacity.of[WEIR_RES_GPU];
}

static void look_at_devices(void)
{
    weir_server_look(&plane->server, true);
    tick();
}

/* The last one. */
static void assert_device(uint32_t n, enum weir_device_health health, const char *cause)
{
    const struct weir_world *world = plane->server.world;
    uint32_t index = n - 1;

    assert_int_equal(weir_world_table(world, WEIR_TABLE_DEVICES)->n_live, n);
    assert_int_equal(weir_world_device(world, index)->health, health);
    assert_true(weir_str_eq_c(
        weir_world_string(world, weir_world_device(world, index)->health_cause), cause));
}

static void a_gpu_that_fails_from_the_start_counts_when_it_answers(void **state)
{
    (void)state;
    plane->n_gpus = N_GPUS + 1;
    plane->last_gpu = WEIR_GPU_RESET_REQUIRED;
    look_at_devices();
    look_at_devices();
    assert_device(N_GPUS + 1, WEIR_DEVICE_LOST, "it is broken");
    assert_int_equal(capacity(), N_GPUS * 1000);
    plane->last_gpu = WEIR_GPU_READY;
    for (int i = 0; i < 3; i++) {
        look_at_devices();
        assert_device(N_GPUS + 1, WEIR_DEVICE_SUSPECT, "being tested: it answers again");
        assert_int_equal(capacity(), (N_GPUS + 1) * 1000);
    }
    plane->last_gpu = WEIR_GPU_HUNG;
    for (int i = 0; i < 2; i++) {
        look_at_devices();
        assert_device(N_GPUS + 1, WEIR_DEVICE_LOST, "it is broken");
        assert_int_equal(capacity(), (N_GPUS + 1) * 1000);
    }
}

static void a_gpu_may_not_tell_its_memory(void **state)
{
    (void)state;
    plane->memory_bytes = 0;
    plane->n_gpus = N_GPUS + 1;
    for (int i = 0; i < 3; i++) {
        look_at_devices();
        assert_device(N_GPUS + 1, WEIR_DEVICE_HEALTHY, "");
        assert_int_equal(capacity(), (N_GPUS + 1) * 1000);
    }
}

static void starts_with_a_slot_that_cannot_be_read(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(submit(",\"gpus\":1"), 0);
    tick();
    plane->attempts[1].look_result = WEIR_E_IO;
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    tick();
    assert_int_equal(first_task()->state, WEIR_TASK_STARTING);
    plane->attempts[1].look_result = 0;
    sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
    weir_server_look(&plane->server, false);
    tick();
    assert_int_equal(first_task()->state, WEIR_TASK_RUNNING);
    assert_int_equal(plane->n_attempts, 1);
}

/* What an attempt gives notice of, and nobody waits for, may wait for company. */
static void news_wait_a_little_where_nobody_does(void **state)
{
    struct weir_server *server = &plane->server;

    (void)state;
    assert_int_equal(submit(",\"gpus\":2"), 0);
    tick();
    weir_server_take_notices(server, true);
    assert_false(server->dirty);
    assert_true(weir_server_wake(server) > plane->now.wall_ms + 1000);
    sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
    plane->noticed = 1;
    weir_server_take_notices(server, false);
    assert_false(server->dirty);
    assert_int_equal(weir_server_wake(server), plane->now.wall_ms + 5);
    plane->now.mono_ms += 3;
    plane->now.wall_ms += 3;
    weir_server_take_notices(server, false); /* nothing new: the first time counts */
    assert_int_equal(weir_server_wake(server), plane->now.wall_ms + 2);
    tick();
    assert_int_equal(first_task()->state, WEIR_TASK_RUNNING);
    assert_true(weir_server_wake(server) > plane->now.wall_ms + 1000);
    /* Another one waits for what this one holds. */
    assert_int_equal(submit(",\"gpus\":1"), 0);
    tick();
    assert_false(server->dirty);
    sees(1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 42);
    plane->noticed = 1;
    weir_server_take_notices(server, false);
    assert_true(server->dirty);
    tick();
    /* Nothing waits any more, but somebody watches. */
    sees(2, WEIR_SEEN_ENDED, WEIR_END_EXITED, 43);
    plane->noticed = 2;
    weir_server_take_notices(server, true);
    assert_true(server->dirty);
    tick();
    assert_int_equal(first_task()->state, WEIR_TASK_SUCCEEDED);
}

/* The last tick takes them along. */
static void news_are_not_left_behind_at_the_end(void **state)
{
    struct weir_server *server = &plane->server;

    (void)state;
    assert_int_equal(submit(",\"gpus\":1"), 0);
    tick();
    sees(1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 42);
    plane->noticed = 1;
    weir_server_take_notices(server, false);
    assert_false(server->dirty);
    weir_server_end(server);
    assert_int_equal(first_task()->state, WEIR_TASK_SUCCEEDED);
}

/* A load looks at every attempt: what was noticed meanwhile is not needed, but must not stay. */
static void notices_without_a_state_are_read_away(void **state)
{
    (void)state;
    weir_server_unload(&plane->server);
    plane->noticed = 1;
    weir_server_take_notices(&plane->server, false);
    assert_int_equal(plane->noticed, 0);
    tick();
    assert_non_null(plane->server.edit);
}

/* Of a model that no catalogue knows, too. */
static void loads_what_asks_for_a_class_that_has_gone(void **state)
{
    static const char *const queue[] = {QUEUE("q", "\"limit\":{\"gpu/Odd-One\":1}"), NULL};
    static const char *const odd = ",\"queue\":\"q\",\"gpus\":1,\"gpuModel\":\"Odd-One\"";
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    plane->class = "odd-one";
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    assert_int_equal(apply(queue, false), 0);
    assert_int_equal(submit(odd), 0);
    tick();
    plane->class = "h100-sxm";
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    assert_int_equal(first_task()->state, WEIR_TASK_STARTING);
    assert_int_equal(submit(odd), WEIR_E_IMPOSSIBLE);
    sees(1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 0);
    tick();
    assert_int_equal(plane->server.world->tables[WEIR_TABLE_TASKS].n_live, 1);
    assert_int_equal(first_task()->state, WEIR_TASK_SUCCEEDED);
}

static int64_t gpus_of_the_node(void)
{
    const struct weir_world *world = weir_edit_view(plane->server.edit);

    return weir_world_node(world, weir_world_first(world, WEIR_TABLE_NODES))
        ->capacity.of[WEIR_RES_GPU];
}

/* As NVML does of GPUs that share the machine's. */
static void counts_gpus_once_that_do_not_tell_their_memory(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    plane->hides_memory = true;
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gpus_of_the_node(), N_GPUS * 1000);
        weir_server_look(&plane->server, true);
    }
}

/* Gone while a task held it, and listed again later. */
static void counts_a_gpu_that_comes_back_once(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(submit(",\"gpus\":2"), 0);
    tick();
    sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
    plane->n_gpus = N_GPUS - 1;
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    assert_int_equal(gpus_of_the_node(), N_GPUS * 1000); /* it is known */
    plane->n_gpus = N_GPUS;
    for (int i = 0; i < 3; i++) {
        weir_server_look(&plane->server, true);
        assert_int_equal(gpus_of_the_node(), N_GPUS * 1000);
    }
}

/* Whatever allocation of a load fails: it says so, or nothing is missing. */
static void loads_all_or_says_what_failed(void **state)
{
    static const char *const queues[] = {QUEUE("a", ""), QUEUE("b", "\"parent\":\"a\""), NULL};
    struct weir_server *server = &plane->server;
    int r = -1;

    (void)state;
    assert_int_equal(apply(queues, false), 0);
    assert_int_equal(submit(",\"gpus\":1,\"queue\":\"b\""), 0);
    assert_int_equal(plane->service.set_phase(server, &admin, WEIR_SUBJECT_NODE, WEIR_STR("here"),
                                              WEIR_NODE_CORDONED, false,
                                              (struct weir_done){on_done, NULL}, NULL),
                     0);
    tick();
    for (uint64_t n = 0; r < 0; n++) {
        struct weir_err err = WEIR_ERR_INIT;

        weir_mem_fail(n, 1);
        r = weir_server_load(server, &err);
        weir_mem_fail(0, 0);
        if (r < 0) {
            assert_int_equal(r, WEIR_E_NO_MEMORY);
            if (err.code != WEIR_E_NO_MEMORY || err.text[0] == '\0')
                fail_msg("allocation %llu: %d '%s'", (unsigned long long)n, err.code, err.text);
            continue;
        }
        assert_int_equal(weir_world_node(server->world,
                                         weir_world_first(server->world, WEIR_TABLE_NODES))
                             ->phase,
                         WEIR_NODE_CORDONED);
        assert_parent("b", "a");
        assert_int_equal(server->world->tables[WEIR_TABLE_TASKS].n_live, 1);
    }
}

static void tells_who_debugs_of_ticks_and_launches(void **state)
{
    char text[4096];
    int ends[2];
    ssize_t n;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    weir_log_set_fd(ends[1]);
    weir_log_set_level(WEIR_LOG_DEBUG);
    assert_int_equal(submit(""), 0);
    assert_int_equal(submit(",\"gpus\":1"), 0);
    assert_int_equal(submit(",\"gpus\":1"), 0);
    tick();
    weir_log_set_level(WEIR_LOG_INFO);
    weir_log_set_fd(STDERR_FILENO);
    n = read(ends[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    close(ends[0]);
    close(ends[1]);
    assert_non_null(strstr(text, "level=debug event=tick msg=\""));
    assert_non_null(strstr(text, ": 2 actions, 1 workloads wait"));
    assert_non_null(strstr(text, "event=attempt.launch subject=workload/1 msg="));
    assert_non_null(strstr(text, "event=attempt.launch subject=workload/2 msg="));
    assert_null(strstr(text, "subject=workload/3"));
}

static uint32_t n_removed;

static int count_removed(void *ctx, uint64_t number, uint32_t member, uint32_t attempt,
                         struct weir_err *err)
{
    (void)ctx;
    (void)number;
    (void)member;
    (void)attempt;
    (void)err;
    n_removed++;
    return 0;
}

/* An array's output goes a part at a time, however large it is. */
static void prunes_a_large_array_in_parts(void **state)
{
    enum { N_TASKS = 330 };
    struct weir_server *server = &plane->server;
    struct weir_store *store = &server->store;
    struct weir_workload_record w = {.number = 1, .queue = {"default", 7}, .n_tasks = N_TASKS};
    uint32_t n_before = 0;
    bool is_more;

    (void)state;
    n_removed = 0;
    server->cluster.remove_output = count_removed;
    w.state = WEIR_TASK_SUCCEEDED;
    w.ended_wall_ms = 1;
    assert_int_equal(store->begin(store->ctx, NULL), 0);
    assert_int_equal(store->add_workload(store->ctx, &w, NULL), 0);
    for (uint32_t i = 0; i < N_TASKS; i++) {
        struct weir_task_record task = {
            .number = 1, .member = i, .state = WEIR_TASK_SUCCEEDED, .attempt = i % 2 + 1};

        assert_int_equal(store->put_task(store->ctx, &task, NULL), 0);
    }
    assert_int_equal(store->commit(store->ctx, false, NULL), 0);
    plane->now.wall_ms += server->keep_ended_ms + 1000;
    do {
        is_more = weir_server_prune(server, plane->now);
        assert_in_range(n_removed - n_before, 1, 101);
        n_before = n_removed;
    } while (is_more);
    assert_int_equal(n_removed, N_TASKS * 3 / 2);
    assert_int_equal(store->get_workload(store->ctx, 1, NULL, NULL, NULL), WEIR_E_NOT_FOUND);
    assert_false(weir_server_prune(server, plane->now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANE_TEST(tries_again_after_a_failure_whatever_the_clock_says),
        PLANE_TEST(ticks_when_the_clock_is_set),
        PLANE_TEST(does_not_let_askers_wait_after_a_failure),
        PLANE_TEST(answers_all_before_it_stops),
        PLANE_TEST(refuses_what_it_cannot_do_before_it_stops),
        PLANE_TEST(builds_its_state_anew_after_half_a_look),
        PLANE_TEST(a_gpu_that_fails_from_the_start_counts_when_it_answers),
        PLANE_TEST(a_gpu_may_not_tell_its_memory),
        PLANE_TEST(starts_with_a_slot_that_cannot_be_read),
        PLANE_TEST(news_wait_a_little_where_nobody_does),
        PLANE_TEST(news_are_not_left_behind_at_the_end),
        PLANE_TEST(notices_without_a_state_are_read_away),
        PLANE_TEST(loads_what_asks_for_a_class_that_has_gone),
        PLANE_TEST(counts_gpus_once_that_do_not_tell_their_memory),
        PLANE_TEST(counts_a_gpu_that_comes_back_once),
        PLANE_TEST(loads_all_or_says_what_failed),
        PLANE_TEST(tells_who_debugs_of_ticks_and_launches),
        PLANE_TEST(prunes_a_large_array_in_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The control plane between a real store and a cluster, devices and a clock that do as they are
 * told. */
#include "../support.h"

#include "app/schemas.h"
#include "app/server.h"
#include "edge/sqlite/store.h"
#include "fmt/json.h"

#include "../edge/temp_dir.h"

enum { ATTEMPTS_MAX = 8, N_GPUS = 2, ENV_MAX = 32 };

/* What the cluster was asked, and what it answers, by serial. */
struct attempt {
    bool is_launched;
    int look_result; /* 0: `facts` */
    struct weir_cluster_facts facts;
    int command_result;
    uint32_t n_commands;
};

struct plane {
    struct weir_arena arena;
    struct weir_sqlite *sqlite;
    struct weir_server server;
    struct weir_service service;
    struct weir_now now;
    struct attempt attempts[ATTEMPTS_MAX];
    uint64_t n_attempts;
    int launch_result;
    const char *env[ENV_MAX]; /* of the last launch */
    size_t n_env;
    int list_result;
    uint32_t n_gpus;
    const char *class;         /* of all of them */
    uint32_t pids[N_GPUS + 1]; /* on each device */
    int commit_result;
    int (*commit)(void *ctx, bool durable, struct weir_err *err);
    int n_answers;
    int answer; /* the last */
};

static struct plane *plane;

/* ---- what the control plane stands between ---- */

static struct weir_now tell_time(void *ctx)
{
    return ((struct plane *)ctx)->now;
}

static struct attempt *attempt_of(const struct weir_cluster_ref *ref)
{
    assert_in_range(ref->serial, 1, ATTEMPTS_MAX - 1);
    return &plane->attempts[ref->serial];
}

static int launch(void *ctx, const struct weir_cluster_launch *what, struct weir_err *err)
{
    (void)ctx;
    if (plane->launch_result < 0)
        return weir_error(err, plane->launch_result, "told to fail");
    attempt_of(&what->ref)->is_launched = true;
    for (plane->n_env = 0; what->envp[plane->n_env] != NULL; plane->n_env++) {
        assert_in_range(plane->n_env, 0, ENV_MAX - 1);
        plane->env[plane->n_env] = weir_arena_printf(&plane->arena, "%s", what->envp[plane->n_env]);
    }
    return 0;
}

static int look(void *ctx, const struct weir_cluster_ref *ref, struct weir_cluster_facts *ret_facts,
                struct weir_err *err)
{
    const struct attempt *attempt = attempt_of(ref);

    (void)ctx;
    if (attempt->look_result < 0)
        return weir_error(err, attempt->look_result, "the slot cannot be read");
    *ret_facts = attempt->facts;
    return 0;
}

static int command(void *ctx, const struct weir_cluster_ref *ref, enum weir_cluster_command what,
                   int signal_number, int64_t grace_ms, struct weir_err *err)
{
    struct attempt *attempt = attempt_of(ref);

    (void)ctx;
    (void)what;
    (void)signal_number;
    (void)grace_ms;
    attempt->n_commands++;
    if (attempt->command_result == 0)
        return 0;
    return weir_error(err, attempt->command_result, "told to fail");
}

static int notices(void *ctx, void (*each)(void *arg, uint64_t serial), void *arg,
                   struct weir_err *err)
{
    (void)ctx;
    (void)each;
    (void)arg;
    (void)err;
    return 0;
}

static int new_ref(void *ctx, struct weir_cluster_ref *ret_ref, struct weir_err *err)
{
    (void)ctx;
    (void)err;
    plane->n_attempts++;
    *ret_ref = (struct weir_cluster_ref){plane->n_attempts, 7, (uint32_t)plane->n_attempts};
    return 0;
}

static void release(void *ctx, const struct weir_cluster_ref *ref)
{
    (void)ctx;
    (void)ref;
}

static void forget(void *ctx)
{
    (void)ctx;
}

static int adopt(void *ctx, const struct weir_cluster_ref *ref, struct weir_err *err)
{
    (void)ctx;
    (void)ref;
    (void)err;
    return 0;
}

static int list_gpus(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                     uint32_t *ret_n, struct weir_err *err)
{
    static const char *const uuids[] = {"GPU-0", "GPU-1", "GPU-2"};
    struct weir_gpu_device *devices = weir_arena_new_n(arena, struct weir_gpu_device, N_GPUS + 1);

    (void)ctx;
    if (plane->list_result < 0)
        return weir_error(err, plane->list_result, "told to fail");
    if (devices == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory");
    for (uint32_t i = 0; i < plane->n_gpus; i++)
        devices[i] = (struct weir_gpu_device){.uuid = weir_str(uuids[i]),
                                              .name = WEIR_STR("H100"),
                                              .class = weir_str(plane->class),
                                              .index = i,
                                              .memory_total_bytes = (int64_t)80 << 30};
    *ret_devices = devices;
    *ret_n = plane->n_gpus;
    return 0;
}

static uint32_t *pid_on(struct weir_str uuid)
{
    return &plane->pids[uuid.ptr[uuid.len - 1] - '0'];
}

static int occupy(void *ctx, struct weir_str uuid, uint32_t pid, int64_t bytes,
                  struct weir_err *err)
{
    (void)ctx;
    (void)bytes;
    (void)err;
    *pid_on(uuid) = pid;
    return 0;
}

static int vacate(void *ctx, struct weir_str uuid, uint32_t pid, struct weir_err *err)
{
    (void)ctx;
    if (*pid_on(uuid) != pid)
        return weir_error(err, WEIR_E_NOT_FOUND, "no such process");
    *pid_on(uuid) = 0;
    return 0;
}

static int commit(void *ctx, bool durable, struct weir_err *err)
{
    if (plane->commit_result == 0)
        return plane->commit(ctx, durable, err);
    plane->server.store.rollback(ctx);
    return weir_error(err, plane->commit_result, "told to fail");
}

/* ---- the rig ---- */

static int setup(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_server *server;

    if (temp_dir_make(state) < 0)
        return -1;
    plane = calloc(1, sizeof(*plane));
    plane->arena = (struct weir_arena)WEIR_ARENA_INIT;
    plane->now = (struct weir_now){1000000, 1000};
    plane->n_gpus = N_GPUS;
    plane->class = "h100-sxm";
    server = &plane->server;
    assert_int_equal(weir_schemas_load(&err), 0);
    assert_int_equal(weir_sqlite_open(temp_path("db"), &plane->sqlite, &server->store, &err), 0);
    plane->commit = server->store.commit;
    server->store.commit = commit;
    server->cluster = (struct weir_cluster){.launch = launch,
                                            .look = look,
                                            .settle = look,
                                            .command = command,
                                            .notices = notices,
                                            .release = release,
                                            .new_ref = new_ref,
                                            .forget = forget,
                                            .adopt = adopt};
    server->gpu = (struct weir_gpu_port){NULL, list_gpus, occupy, vacate};
    server->clock = (struct weir_clock){plane, tell_time};
    server->policy = weir_policy_default();
    server->output_max_bytes = 1 << 20;
    snprintf(server->node_name, sizeof(server->node_name), "here");
    assert_int_equal(weir_server_load(server, &err), 0);
    assert_int_equal(weir_server_first_run(server, &err), 0);
    assert_int_equal(weir_server_tick(server, &err), 0);
    weir_server_service(server, &plane->service);
    return 0;
}

static int teardown(void **state)
{
    weir_server_unload(&plane->server);
    weir_vec_finish(&plane->server.dones);
    weir_arena_finish(&plane->server.plan_arenas[0]);
    weir_arena_finish(&plane->server.plan_arenas[1]);
    weir_sqlite_close(plane->sqlite);
    weir_schemas_unload();
    weir_arena_finish(&plane->arena);
    free(plane);
    return temp_dir_remove(state);
}

static void on_done(void *arg, int result, uint64_t outcome, const struct weir_err *err)
{
    (void)arg;
    (void)outcome;
    (void)err;
    plane->n_answers++;
    plane->answer = result;
}

static const struct weir_actor admin = {{"root", 4}, 0, 0, WEIR_ROLE_ADMIN};

/* 0, or why it was refused. */
static int submit_as(const struct weir_actor *actor, const char *spec, struct weir_err *err)
{
    const char *text = weir_arena_printf(&plane->arena,
                                         "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Workload\","
                                         "\"metadata\":{\"name\":\"j\"},\"spec\":{%s}}",
                                         spec);
    struct weir_tree *doc;

    assert_int_equal(weir_json_read(weir_str(text), NULL, &plane->arena, &doc, err), 0);
    return plane->service.submit(&plane->server, actor, doc, WEIR_STR(""),
                                 (struct weir_done){on_done, NULL}, err);
}

static int submit(const char *more)
{
    struct weir_err err = WEIR_ERR_INIT;

    return submit_as(
        &admin, weir_arena_printf(&plane->arena, "\"command\":[\"true\"],\"cwd\":\"/\"%s", more),
        &err);
}

enum { DOCS_MAX = 4 };

/* Documents as JSON, up to a NULL. 0, or why they were refused. */
static int apply(const char *const *texts, bool dry_run)
{
    struct weir_tree *docs[DOCS_MAX];
    struct weir_apply_result *results;
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t n = 0;

    for (; texts[n] != NULL; n++) {
        assert_in_range(n, 0, DOCS_MAX - 1);
        assert_int_equal(weir_json_read(weir_str(texts[n]), NULL, &plane->arena, &docs[n], &err),
                         0);
    }
    return plane->service.apply(&plane->server, &admin, (const struct weir_tree *const *)docs, n,
                                dry_run, &plane->arena, &results, (struct weir_done){on_done, NULL},
                                &err);
}

#define QUEUE(name, spec)                                                                          \
    "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"" name            \
    "\"},\"spec\":{" spec "}}"
#define WORKLOAD(spec)                                                                             \
    "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Workload\",\"spec\":{\"command\":[\"true\"],"      \
    "\"cwd\":\"/\"" spec "}}"

static const struct weir_queue *queue_of(const char *name)
{
    const struct weir_world *world = weir_edit_view(plane->server.edit);
    uint32_t index = weir_edit_find_queue(plane->server.edit, weir_str(name));

    return index == WEIR_NONE ? NULL : weir_world_queue(world, index);
}

/* "" for a root. */
static void assert_parent(const char *name, const char *want)
{
    const struct weir_world *world = weir_edit_view(plane->server.edit);
    uint32_t parent = queue_of(name)->parent;
    struct weir_str is = parent == WEIR_NONE
                             ? WEIR_STR("")
                             : weir_world_string(world, weir_world_queue(world, parent)->name);

    assert_true(weir_str_eq_c(is, want));
}

static void tick(void)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_server_tick(&plane->server, &err) < 0)
        fail_msg("%s", err.text);
}

static void sees(uint64_t serial, enum weir_cluster_phase phase, enum weir_end end, uint32_t pid)
{
    plane->attempts[serial].facts =
        (struct weir_cluster_facts){.phase = phase, .end = end, .pid = pid};
}

static const struct weir_task *first_task(void)
{
    const struct weir_world *world = plane->server.world;

    return weir_world_task(world, weir_world_first(world, WEIR_TABLE_TASKS));
}

/* ---- tests ---- */

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
    plane->list_result = WEIR_E_UNAVAILABLE;
    weir_server_end(&plane->server);
    assert_int_equal(plane->n_answers, 1);
    assert_int_equal(plane->answer, WEIR_E_UNAVAILABLE);
}

/* Whatever allocation of a look fails: the state is whole after the next tick. */
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
        assert_int_equal(weir_server_load(server, &err), 0);
        tick();
        plane->n_gpus = N_GPUS + 1;
        sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
        n_failed_before = server->n_failed_ticks;
        weir_mem_fail(n, 1);
        weir_server_look(server, true);
        n_made = weir_mem_count();
        weir_mem_fail(0, 0);
        if (n_made > n) {
            assert_int_equal(weir_server_tick(server, &err), WEIR_E_NO_MEMORY);
            assert_int_equal(server->n_failed_ticks, n_failed_before + 1);
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

static void takes_processes_off_devices_after_a_reload(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(submit(",\"gpus\":2"), 0);
    tick();
    sees(1, WEIR_SEEN_RUNNING, WEIR_END_NOT, 42);
    weir_server_look(&plane->server, false);
    assert_int_equal(plane->pids[0], 42);
    assert_int_equal(plane->pids[1], 42);
    assert_int_equal(weir_server_load(&plane->server, &err), 0);
    sees(1, WEIR_SEEN_ENDED, WEIR_END_EXITED, 42);
    tick();
    assert_int_equal(plane->pids[0], 0);
    assert_int_equal(plane->pids[1], 0);
}

static void signals_every_member_there_is(void **state)
{
    static const struct {
        int results[3];
        int want;
    } rows[] = {
        {{0, 0, 0}, 0},
        {{WEIR_E_UNAVAILABLE, 0, WEIR_E_NOT_FOUND}, 0},
        {{WEIR_E_NOT_FOUND, WEIR_E_NOT_FOUND, WEIR_E_NOT_FOUND}, WEIR_E_UNAVAILABLE},
        {{WEIR_E_UNAVAILABLE, WEIR_E_UNAVAILABLE, WEIR_E_NOT_FOUND}, WEIR_E_UNAVAILABLE},
        {{WEIR_E_DENIED, 0, 0}, WEIR_E_DENIED},
    };

    (void)state;
    plane->n_gpus = 3;
    weir_server_look(&plane->server, true);
    assert_int_equal(submit(",\"gpus\":1,\"members\":3"), 0);
    tick();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_err err = WEIR_ERR_INIT;

        for (int m = 0; m < 3; m++) {
            assert_true(plane->attempts[m + 1].is_launched);
            plane->attempts[m + 1].command_result = rows[i].results[m];
            plane->attempts[m + 1].n_commands = 0;
        }
        assert_int_equal(plane->service.signal(&plane->server, &admin, 1, 10, &err), rows[i].want);
        for (int m = 0; m < 3; m++)
            assert_int_equal(plane->attempts[m + 1].n_commands, 1);
    }
}

/* The others of the same tick are answered as if nobody had asked for nonsense. */
static void refuses_an_apply_without_a_trace(void **state)
{
    static const char *const bad[] = {QUEUE("fresh", ""),
                                      WORKLOAD(",\"queue\":\"fresh\",\"gpus\":99"), NULL};

    (void)state;
    assert_int_equal(submit(""), 0);
    assert_int_equal(apply(bad, false), WEIR_E_IMPOSSIBLE);
    assert_int_equal(plane->server.failed, 0);
    assert_int_equal(submit(""), 0);
    tick();
    assert_int_equal(plane->n_answers, 2);
    assert_int_equal(plane->answer, 0);
    assert_null(queue_of("fresh"));
    assert_int_equal(plane->server.n_failed_ticks, 0);
}

/* So is what is beyond the sums that weir keeps. */
static void refuses_what_it_cannot_count(void **state)
{
    static const char *const both[] = {QUEUE("fresh", ""), WORKLOAD(",\"queue\":\"fresh\""),
                                       WORKLOAD(",\"gpus\":0,\"memory\":\"16Pi\",\"array\":32"),
                                       NULL};
    struct weir_server *server = &plane->server;
    struct weir_node *node;

    (void)state;
    node = weir_edit_node(server->edit,
                          weir_world_first(weir_edit_view(server->edit), WEIR_TABLE_NODES));
    node->capacity.of[WEIR_RES_MEMORY] = (int64_t)1 << 54;
    assert_int_equal(submit(",\"gpus\":2,\"memory\":\"16Pi\""), 0);
    tick();
    assert_int_equal(submit(",\"gpus\":0,\"memory\":\"16Pi\",\"array\":32"), 0);
    assert_int_equal(submit(",\"gpus\":0,\"memory\":\"16Pi\",\"array\":32"), WEIR_E_TOO_LARGE);
    assert_int_equal(apply(both, false), WEIR_E_TOO_LARGE);
    assert_null(queue_of("fresh"));
    assert_int_equal(submit(""), 0);
    tick();
    assert_int_equal(plane->n_answers, 3);
    assert_int_equal(plane->answer, 0);
    assert_int_equal(server->n_failed_ticks, 0);
}

static void moves_queues_past_each_other(void **state)
{
    static const char *const first[] = {QUEUE("a", ""), QUEUE("b", "\"parent\":\"a\""), NULL};
    static const char *const swapped[] = {QUEUE("a", "\"parent\":\"b\""), QUEUE("b", ""), NULL};
    static const char *const refused[] = {QUEUE("a", "\"parent\":\"b\""), QUEUE("b", ""),
                                          WORKLOAD(",\"gpus\":99"), NULL};

    (void)state;
    assert_int_equal(apply(first, false), 0);
    assert_int_equal(apply(swapped, true), 0);
    assert_int_equal(apply(refused, false), WEIR_E_IMPOSSIBLE);
    assert_parent("a", "");
    assert_parent("b", "a");
    assert_int_equal(apply(swapped, false), 0);
    tick();
    assert_parent("a", "b");
    assert_parent("b", "");
    assert_int_equal(plane->answer, 0);
    assert_int_equal(plane->server.n_failed_ticks, 0);
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

/* A start that can never be made is an end; any other is tried again. */
static void fails_what_can_never_be_launched(void **state)
{
    static const int for_good[] = {WEIR_E_INVALID, WEIR_E_TOO_LARGE};
    const struct weir_world *world;

    (void)state;
    for (size_t i = 0; i < sizeof(for_good) / sizeof(for_good[0]); i++) {
        plane->launch_result = for_good[i];
        assert_int_equal(submit(""), 0);
        for (int n = 0; n < 3; n++) {
            tick();
            plane->now.mono_ms += 60 * 1000;
            plane->now.wall_ms += 60 * 1000;
        }
        world = plane->server.world;
        assert_int_equal(weir_world_first(world, WEIR_TABLE_WORKLOADS), WEIR_NONE);
        assert_int_equal(plane->n_attempts, i + 1);
    }
    plane->launch_result = WEIR_E_UNAVAILABLE;
    assert_int_equal(submit(""), 0);
    tick();
    plane->launch_result = 0;
    for (int n = 0; n < 3; n++) {
        plane->now.mono_ms += 60 * 1000;
        plane->now.wall_ms += 60 * 1000;
        tick();
    }
    assert_true(plane->attempts[4].is_launched);
}

static const char *repeat(const char *before, char c, size_t n, const char *after)
{
    char *middle = weir_arena_bytes(&plane->arena, n + 1);

    memset(middle, c, n);
    middle[n] = '\0';
    return weir_arena_printf(&plane->arena, "%s%s%s", before, middle, after);
}

static const char *many_variables(int n)
{
    const char *value = repeat("", 'v', 1000, "");
    struct weir_buf text = WEIR_BUF_INIT(4 << 20);
    const char *copy;

    for (int i = 0; i < n; i++)
        weir_buf_printf(&text, "%s\"V%d\":\"%s\"", i > 0 ? "," : "", i, value);
    copy =
        weir_arena_printf(&plane->arena, "\"command\":[\"c\"],\"env\":{%s}", weir_buf_cstr(&text));
    weir_buf_finish(&text);
    return copy;
}

static void refuses_what_can_never_start(void **state)
{
    const struct {
        const char *spec;
        const char *field; /* NULL: it is taken */
    } rows[] = {
        {"\"command\":[\"\"]", "spec.command[0]"},
        {"\"command\":[\"c\",\"\"]", NULL},
        {"\"command\":[\"c\",\"a\\u0000b\"]", "spec.command[1]"},
        {repeat("\"command\":[\"c\",\"", 'a', 131071, "\"]"), NULL},
        {repeat("\"command\":[\"c\",\"", 'a', 131072, "\"]"), "spec.command[1]"},
        {"\"command\":[\"c\"],\"env\":{\"A\":\"a\\u0000b\"}", "spec.env.A"},
        {"\"command\":[\"c\"],\"env\":{\"WEIR_TOKEN\":\"t\"}", "spec.env.WEIR_TOKEN"},
        {repeat("\"command\":[\"c\"],\"env\":{\"A\":\"", 'a', 131069, "\"}"), NULL},
        {repeat("\"command\":[\"c\"],\"env\":{\"A\":\"", 'a', 131070, "\"}"), "spec.env.A"},
        {many_variables(1700), NULL},
        {many_variables(1900), "spec.env"},
        {"\"command\":[\"c\"],\"cwd\":\"tmp\"", "spec.cwd"},
        {"\"command\":[\"c\"],\"cwd\":\"/tmp\\u0000/nowhere\"", "spec.cwd"},
        {repeat("\"command\":[\"c\"],\"cwd\":\"/", 'a', 3999, "\""), NULL},
        {repeat("\"command\":[\"c\"],\"cwd\":\"/", 'a', 4000, "\""), "spec.cwd"},
        {repeat("\"command\":[\"c\"],\"cwd\":\"/\xc3\xa4", 'a', 3998, "\""), "spec.cwd"},
        {"\"command\":[\"c\"],\"outputMax\":4095", "spec.outputMax"},
        {"\"command\":[\"c\"],\"outputMax\":4096", NULL},
        {"\"command\":[\"c\"],\"timeLimit\":\"0s\"", "spec.timeLimit"},
        {"\"command\":[\"c\"],\"timeLimit\":0", "spec.timeLimit"},
        {"\"command\":[\"c\"],\"timeLimit\":\"1ms\"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        int r = submit_as(&admin, rows[i].spec, &err);

        if (r != (rows[i].field == NULL ? 0 : WEIR_E_INVALID))
            fail_msg("row %zu: %d %s", i, r, err.text);
        if (rows[i].field != NULL)
            assert_string_equal(err.field, rows[i].field);
    }
}

static size_t n_env(const char *start)
{
    size_t n = 0;

    for (size_t i = 0; i < plane->n_env; i++)
        n += strncmp(plane->env[i], start, strlen(start)) == 0;
    return n;
}

/* A job may be submitted from within another. */
static void leaves_out_what_another_job_was_told(void **state)
{
    static const char *const stale[] = {
        "WEIR_JOB_ID",      "WEIR_JOB_NAME",     "WEIR_QUEUE",           "WEIR_NODE",
        "WEIR_JOB_ATTEMPT", "WEIR_ARRAY_INDEX",  "WEIR_ARRAY_SIZE",      "WEIR_ATTEMPT",
        "WEIR_MEMBERS",     "WEIR_MEMBER_INDEX", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    };
    static const char *const unset[] = {"WEIR_ARRAY_INDEX=", "WEIR_ARRAY_SIZE=", "WEIR_MEMBERS=",
                                        "WEIR_MEMBER_INDEX="};
    struct weir_buf spec = WEIR_BUF_INIT(4096);

    (void)state;
    weir_buf_puts(&spec, ",\"env\":{\"WEIR_DATA\":\"/d\",\"CUDA_CACHE_PATH\":\"/c\"");
    for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++)
        weir_buf_printf(&spec, ",\"%s\":\"stale\"", stale[i]);
    weir_buf_puts(&spec, "}");
    assert_int_equal(submit(weir_buf_cstr(&spec)), 0);
    tick();
    assert_true(plane->attempts[1].is_launched);
    assert_int_equal(n_env("WEIR_DATA=/d"), 1);
    assert_int_equal(n_env("CUDA_CACHE_PATH=/c"), 1);
    assert_int_equal(n_env("CUDA_VISIBLE_DEVICES=GPU-"), 1);
    assert_int_equal(n_env("WEIR_JOB_ID=1"), 1);
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
        assert_int_equal(n_env(unset[i]), 0);
    for (size_t i = 0; i < plane->n_env; i++)
        assert_null(strstr(plane->env[i], "=stale"));
    weir_buf_finish(&spec);
}

/* All tokens of a weir that is not root have its uid. */
static void lets_nobody_touch_what_another_name_submitted(void **state)
{
    static const struct weir_actor ana = {{"ana", 3}, 0, 0, WEIR_ROLE_SUBMIT};
    static const struct weir_actor bob = {{"bob", 3}, 0, 0, WEIR_ROLE_SUBMIT};
    static const struct weir_actor other_ana = {{"ana", 3}, 1, 1, WEIR_ROLE_SUBMIT};
    struct weir_done done = {on_done, NULL};
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_service *service = &plane->service;
    void *ctx = &plane->server;

    (void)state;
    assert_int_equal(submit_as(&ana, "\"command\":[\"c\"]", &err), 0);
    tick();
    assert_int_equal(service->cancel(ctx, &bob, 1, done, &err), WEIR_E_DENIED);
    assert_int_equal(service->signal(ctx, &bob, 1, 10, &err), WEIR_E_DENIED);
    assert_int_equal(service->cancel(ctx, &other_ana, 1, done, &err), WEIR_E_DENIED);
    assert_int_equal(service->signal(ctx, &ana, 1, 10, &err), 0);
    assert_int_equal(service->signal(ctx, &admin, 1, 10, &err), 0);
    assert_int_equal(service->cancel(ctx, &ana, 1, done, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tries_again_after_a_failure_whatever_the_clock_says, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(ticks_when_the_clock_is_set, setup, teardown),
        cmocka_unit_test_setup_teardown(does_not_let_askers_wait_after_a_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_all_before_it_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_it_cannot_do_before_it_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(builds_its_state_anew_after_half_a_look, setup, teardown),
        cmocka_unit_test_setup_teardown(starts_with_a_slot_that_cannot_be_read, setup, teardown),
        cmocka_unit_test_setup_teardown(takes_processes_off_devices_after_a_reload, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(signals_every_member_there_is, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_an_apply_without_a_trace, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_it_cannot_count, setup, teardown),
        cmocka_unit_test_setup_teardown(moves_queues_past_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(loads_what_asks_for_a_class_that_has_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_what_can_never_be_launched, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_can_never_start, setup, teardown),
        cmocka_unit_test_setup_teardown(leaves_out_what_another_job_was_told, setup, teardown),
        cmocka_unit_test_setup_teardown(lets_nobody_touch_what_another_name_submitted, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

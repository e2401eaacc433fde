/* The control plane between a real store and a cluster, devices and a clock that do as they are
 * told. */
#ifndef WEIR_TESTS_APP_PLANE_H
#define WEIR_TESTS_APP_PLANE_H

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
    uint64_t noticed; /* the attempt of which a note is there; 0: none */
    int launch_result;
    const char *env[ENV_MAX]; /* of the last launch */
    size_t n_env;
    int64_t stop_grace_ms; /* of that */
    int list_result;
    uint32_t n_gpus;
    enum weir_gpu_state last_gpu;                   /* not READY: it tells its name only */
    int64_t memory_bytes;                           /* of each, */
    bool hides_memory;                              /* where they tell it */
    const char *class;                              /* of all of them */
    uint32_t pids[N_GPUS + 1];                      /* on each device */
    struct weir_gpu_occupant occupants[N_GPUS + 1]; /* the last on each */
    int befall_result;
    int n_befallen;
    int commit_result;
    int (*commit)(void *ctx, bool durable, struct weir_err *err);
    int n_answers;
    int answer; /* the last */
};

static struct plane *plane;

/* ---- what the control plane stands between ---- */

static inline struct weir_now tell_time(void *ctx)
{
    return ((struct plane *)ctx)->now;
}

static inline struct attempt *attempt_of(const struct weir_cluster_ref *ref)
{
    assert_in_range(ref->serial, 1, ATTEMPTS_MAX - 1);
    return &plane->attempts[ref->serial];
}

static inline int launch(void *ctx, const struct weir_cluster_launch *what, struct weir_err *err)
{
    (void)ctx;
    if (plane->launch_result < 0)
        return weir_error(err, plane->launch_result, "told to fail");
    attempt_of(&what->ref)->is_launched = true;
    plane->stop_grace_ms = what->stop_grace_ms;
    for (plane->n_env = 0; what->envp[plane->n_env] != NULL; plane->n_env++) {
        assert_in_range(plane->n_env, 0, ENV_MAX - 1);
        plane->env[plane->n_env] = weir_arena_printf(&plane->arena, "%s", what->envp[plane->n_env]);
    }
    return 0;
}

static inline int look(void *ctx, const struct weir_cluster_ref *ref,
                       struct weir_cluster_facts *ret_facts, struct weir_err *err)
{
    const struct attempt *attempt = attempt_of(ref);

    (void)ctx;
    if (attempt->look_result < 0)
        return weir_error(err, attempt->look_result, "the slot cannot be read");
    *ret_facts = attempt->facts;
    return 0;
}

static inline int command(void *ctx, const struct weir_cluster_ref *ref,
                          enum weir_cluster_command what, int signal_number, int64_t grace_ms,
                          struct weir_err *err)
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

static inline int notices(void *ctx, void (*each)(void *arg, uint64_t serial), void *arg,
                          struct weir_err *err)
{
    (void)ctx;
    (void)err;
    if (plane->noticed != 0)
        each(arg, plane->noticed);
    plane->noticed = 0;
    return 0;
}

static inline int new_ref(void *ctx, struct weir_cluster_ref *ret_ref, struct weir_err *err)
{
    (void)ctx;
    (void)err;
    plane->n_attempts++;
    *ret_ref = (struct weir_cluster_ref){plane->n_attempts, 7, (uint32_t)plane->n_attempts};
    return 0;
}

static inline void release(void *ctx, const struct weir_cluster_ref *ref)
{
    (void)ctx;
    (void)ref;
}

static inline void forget(void *ctx)
{
    (void)ctx;
}

static inline int adopt(void *ctx, const struct weir_cluster_ref *ref, struct weir_err *err)
{
    (void)ctx;
    (void)ref;
    (void)err;
    return 0;
}

static inline int list_gpus(void *ctx, struct weir_arena *arena,
                            struct weir_gpu_device **ret_devices, uint32_t *ret_n,
                            struct weir_err *err)
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
                                              .memory_total_bytes =
                                                  plane->hides_memory ? 0 : plane->memory_bytes};
    if (plane->n_gpus > 0 && plane->last_gpu != WEIR_GPU_READY)
        devices[plane->n_gpus - 1] =
            (struct weir_gpu_device){.uuid = weir_str(uuids[plane->n_gpus - 1]),
                                     .index = plane->n_gpus - 1,
                                     .state = plane->last_gpu,
                                     .cause = WEIR_STR("it is broken")};
    *ret_devices = devices;
    *ret_n = plane->n_gpus;
    return 0;
}

static inline uint32_t *pid_on(struct weir_str uuid)
{
    return &plane->pids[uuid.ptr[uuid.len - 1] - '0'];
}

static inline int occupy(void *ctx, struct weir_str uuid, const struct weir_gpu_occupant *occupant,
                         struct weir_err *err)
{
    struct weir_gpu_occupant *seen = &plane->occupants[pid_on(uuid) - plane->pids];

    (void)ctx;
    (void)err;
    *pid_on(uuid) = occupant->pid;
    *seen = *occupant;
    seen->profile = weir_str(weir_str_dup(occupant->profile, &plane->arena));
    return 0;
}

static inline int vacate(void *ctx, struct weir_str uuid, uint32_t pid, struct weir_err *err)
{
    (void)ctx;
    if (*pid_on(uuid) != pid)
        return weir_error(err, WEIR_E_NOT_FOUND, "no such process");
    *pid_on(uuid) = 0;
    return 0;
}

static inline int befall(void *ctx, struct weir_str faults, bool only_check, struct weir_err *err)
{
    (void)ctx;
    if (weir_str_find(faults, WEIR_STR("wrong")) >= 0)
        return weir_error(err, WEIR_E_INVALID, "no such fault");
    if (!only_check && plane->befall_result < 0)
        return weir_error(err, plane->befall_result, "told to fail");
    plane->n_befallen += !only_check;
    return 0;
}

static inline int commit(void *ctx, bool durable, struct weir_err *err)
{
    if (plane->commit_result == 0)
        return plane->commit(ctx, durable, err);
    plane->server.store.rollback(ctx);
    return weir_error(err, plane->commit_result, "told to fail");
}

/* ---- the rig ---- */

static inline int setup(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_server *server;

    if (temp_dir_make(state) < 0)
        return -1;
    plane = calloc(1, sizeof(*plane));
    plane->arena = (struct weir_arena)WEIR_ARENA_INIT;
    plane->now = (struct weir_now){1000000, 1000};
    plane->n_gpus = N_GPUS;
    plane->memory_bytes = (int64_t)80 << 30;
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
    server->gpu = (struct weir_gpu_port){
        .list = list_gpus, .occupy = occupy, .vacate = vacate, .befall = befall};
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

static inline int teardown(void **state)
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

static inline void on_done(void *arg, int result, uint64_t outcome, const struct weir_err *err)
{
    (void)arg;
    (void)outcome;
    (void)err;
    plane->n_answers++;
    plane->answer = result;
}

static const struct weir_actor admin = {{"root", 4}, 0, 0, WEIR_ROLE_ADMIN};

/* 0, or why it was refused. */
static inline int submit_as(const struct weir_actor *actor, const char *spec, struct weir_err *err)
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

static inline int submit(const char *more)
{
    struct weir_err err = WEIR_ERR_INIT;

    return submit_as(
        &admin, weir_arena_printf(&plane->arena, "\"command\":[\"true\"],\"cwd\":\"/\"%s", more),
        &err);
}

enum { DOCS_MAX = 4 };

/* Documents as JSON, up to a NULL. 0, or why they were refused. */
static inline int apply(const char *const *texts, bool dry_run)
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

static inline const struct weir_queue *queue_of(const char *name)
{
    const struct weir_world *world = weir_edit_view(plane->server.edit);
    uint32_t index = weir_edit_find_queue(plane->server.edit, weir_str(name));

    return index == WEIR_NONE ? NULL : weir_world_queue(world, index);
}

/* "" for a root. */
static inline void assert_parent(const char *name, const char *want)
{
    const struct weir_world *world = weir_edit_view(plane->server.edit);
    uint32_t parent = queue_of(name)->parent;
    struct weir_str is = parent == WEIR_NONE
                             ? WEIR_STR("")
                             : weir_world_string(world, weir_world_queue(world, parent)->name);

    assert_true(weir_str_eq_c(is, want));
}

static inline void tick(void)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_server_tick(&plane->server, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void sees(uint64_t serial, enum weir_cluster_phase phase, enum weir_end end,
                        uint32_t pid)
{
    plane->attempts[serial].facts =
        (struct weir_cluster_facts){.phase = phase, .end = end, .pid = pid};
}

static inline const struct weir_task *first_task(void)
{
    const struct weir_world *world = plane->server.world;

    return weir_world_task(world, weir_world_first(world, WEIR_TABLE_TASKS));
}

#define PLANE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif

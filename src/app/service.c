/* What people ask for. Each function checks everything first, then writes into the tick's
 * transaction and the edit; a write that fails half-way fails the whole transaction
 * (transaction.c), so nothing is ever half applied. */
#include "app/decision_log.h"
#include "app/faults.h"
#include "app/known.h"
#include "app/service_impl.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/mem.h"
#include "core/sim/eta.h"

enum { ETA_STEPS_MAX = 2000 };
#define ETA_HORIZON_MS ((int64_t)30 * 24 * 3600 * 1000)

/* ---- common ---- */

int weir_service_check_ready(const struct weir_server *server, struct weir_err *err)
{
    if (server->is_stopping) {
        weir_error(err, WEIR_E_UNAVAILABLE, "weir is stopping");
        return weir_error_hint(err, "ask again when it is up");
    }
    if (server->edit != NULL)
        return 0;
    weir_error(err, WEIR_E_UNAVAILABLE, "weir cannot read its store at the moment");
    return weir_error_hint(err, "it tries again every second; its log says why");
}

int weir_service_check_role(const struct weir_actor *actor, enum weir_actor_role role,
                            const char *what, struct weir_err *err)
{
    if (actor->role >= role)
        return 0;
    weir_error(err, WEIR_E_DENIED, "%.*s may not %s", WEIR_STR_ARG(actor->user), what);
    return weir_error_hint(err, "it takes the role %s",
                           role == WEIR_ROLE_ADMIN ? "admin" : "submit");
}

/* Not found, with the nearest name of a queue. */
int weir_service_no_queue(const struct weir_server *server, int code, struct weir_str name,
                          struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_str names[64];
    size_t n = 0;
    ptrdiff_t nearest;

    for (uint32_t q = weir_world_first(world, WEIR_TABLE_QUEUES); q != WEIR_NONE;
         q = weir_world_after(world, WEIR_TABLE_QUEUES, q)) {
        if (n == WEIR_COUNT_OF(names)) { /* the nearest so far goes on */
            nearest = weir_str_nearest(name, names, n);
            names[0] = names[nearest >= 0 ? nearest : 0];
            n = nearest >= 0;
        }
        names[n++] = weir_world_string(world, weir_world_queue(world, q)->name);
    }
    nearest = weir_str_nearest(name, names, n);
    weir_error(err, code, "there is no queue '%.*s'", WEIR_STR_ARG(name));
    if (nearest >= 0)
        weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[nearest]));
    else
        weir_error_hint(err, "`weir get queues` lists them");
    return code;
}

uint32_t weir_service_find_workload(const struct weir_server *server, uint64_t number)
{
    struct weir_key key = weir_key_of_number(server->store.space, number);

    return weir_edit_find(server->edit, WEIR_TABLE_WORKLOADS, &key);
}

struct weir_str weir_service_actor_name(const struct weir_actor *actor, char *text, size_t size)
{
    static const char user[] = "user:";

    snprintf(text, size, "%s%.*s", user,
             WEIR_STR_ARG(weir_str_cut(actor->user, size - sizeof(user))));
    return weir_str(text);
}

int weir_service_event(struct weir_server *server, const struct weir_actor *actor, const char *kind,
                       const char *subject_kind, struct weir_str name, struct weir_str after,
                       struct weir_err *err)
{
    char who[128];
    char subject[256];

    snprintf(subject, sizeof(subject), "%s/%.*s", subject_kind, WEIR_STR_ARG(name));
    return weir_server_event(server, weir_service_actor_name(actor, who, sizeof(who)), kind,
                             weir_str(subject), WEIR_STR(""), WEIR_STR(""), after, err);
}

/* ---- reading ---- */

static const struct weir_world *service_world(void *ctx)
{
    return ((struct weir_server *)ctx)->world;
}

static const struct weir_plan *service_plan(void *ctx)
{
    return &((struct weir_server *)ctx)->plan;
}

static const struct weir_world *service_plan_world(void *ctx)
{
    return ((struct weir_server *)ctx)->plan_world;
}

static const struct weir_store *service_store(void *ctx)
{
    return &((struct weir_server *)ctx)->store;
}

static const struct weir_cluster *service_cluster(void *ctx)
{
    return &((struct weir_server *)ctx)->cluster;
}

static bool service_is_ready(void *ctx)
{
    return ((struct weir_server *)ctx)->edit != NULL;
}

static const struct weir_policy *service_policy(void *ctx)
{
    return &((struct weir_server *)ctx)->policy;
}

static struct weir_service_counters service_counters(void *ctx)
{
    const struct weir_server *server = ctx;
    struct weir_decision_stats log = {0};

    if (server->log != NULL)
        log = weir_decision_log_stats(server->log);
    return (struct weir_service_counters){.n_ticks = server->n_ticks,
                                          .n_failed_ticks = server->n_failed_ticks,
                                          .n_logged = log.n_written,
                                          .n_not_logged = log.n_lost,
                                          .log_bytes = log.bytes,
                                          .log_is_off = log.is_off};
}

/* All that the simulation needs: an immutable version, and copies. */
struct weir_service_eta {
    const struct weir_world *world;
    struct weir_policy policy;
    struct weir_now now;
    uint64_t seed;
    uint32_t workload;
};

static int service_eta_begin(void *ctx, uint64_t number, struct weir_service_eta **ret_eta,
                             struct weir_err *err)
{
    struct weir_server *server = ctx;
    struct weir_service_eta *eta;
    uint32_t index;
    int r = weir_service_check_ready(server, err);

    if (r < 0)
        return r;
    index = weir_service_find_workload(server, number);
    if (index == WEIR_NONE ||
        !weir_table_is_live(&server->world->tables[WEIR_TABLE_WORKLOADS], index) ||
        weir_world_workload(server->world, index)->n_waiting == 0)
        return weir_error(err, WEIR_E_NOT_FOUND, "workload %llu does not wait",
                          (unsigned long long)number);
    eta = weir_mem_alloc(sizeof(*eta));
    if (eta == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a simulation");
    *eta = (struct weir_service_eta){server->world, server->policy,
                                     server->clock.now(server->clock.ctx), server->seed, index};
    weir_world_ref(eta->world);
    *ret_eta = eta;
    return 0;
}

static int service_eta_run(struct weir_service_eta *eta, int64_t *ret_p50_wall_ms,
                           int64_t *ret_p90_wall_ms, bool *ret_is_assumed, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_eta_limits limits = {.max_steps = ETA_STEPS_MAX, .horizon_ms = ETA_HORIZON_MS};
    struct weir_eta found;
    int r = weir_eta(eta->world, &eta->policy, eta->now, eta->seed, &limits, &eta->workload, 1,
                     &arena, &found, err);

    if (r < 0)
        return r;
    *ret_p50_wall_ms = found.p50_wall_ms;
    *ret_p90_wall_ms = found.p90_wall_ms;
    *ret_is_assumed = found.is_assumed != 0;
    return 0;
}

static void service_eta_end(struct weir_service_eta *eta)
{
    weir_world_unref(eta->world);
    weir_mem_free(eta);
}

static const struct weir_gpu_device *service_gpu(void *ctx, struct weir_str uuid,
                                                 struct weir_arena *arena)
{
    const struct weir_server *server = ctx;
    struct weir_gpu_device *devices;
    uint32_t n;

    if (weir_known_list(server, arena, &devices, &n, NULL) < 0)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (weir_str_eq(devices[i].uuid, uuid))
            return &devices[i];
    return NULL;
}

static bool service_fault(void *ctx, struct weir_str uuid, struct weir_arena *arena,
                          struct weir_mark_record *ret_mark)
{
    const struct weir_server_mark *mark = weir_server_faults_mark(ctx, uuid);
    const char *words = NULL;

    if (mark != NULL)
        *ret_mark = (struct weir_mark_record){.key = weir_str(mark->key),
                                              .cause = weir_str(mark->cause),
                                              .class = weir_str(mark->class),
                                              .action = mark->action,
                                              .then = mark->then,
                                              .since_wall_ms = mark->since_wall_ms,
                                              .boot_id = mark->boot_id};
    if (mark != NULL && weir_selftest_is_due(mark))
        words = weir_arena_printf(arena, "%s: %s", weir_selftest_words(mark), mark->cause);
    if (words != NULL)
        ret_mark->cause = weir_str(words);
    return mark != NULL;
}

static bool service_process(void *ctx, struct weir_str uuid, uint32_t pid,
                            struct weir_service_process *ret_process)
{
    const struct weir_server *server = ctx;
    struct weir_server_process process;
    const struct weir_world *state;
    uint32_t task;

    if (!weir_server_find_process(server, uuid, pid, &process))
        return false;
    state = weir_edit_view(server->edit);
    task = weir_server_task_of(server, process.serial);
    *ret_process =
        (struct weir_service_process){.uid = process.uid, .is_foreign = process.is_foreign};
    if (task != WEIR_NONE)
        ret_process->number =
            weir_world_workload(state, weir_world_task(state, task)->workload)->number;
    return true;
}

void weir_server_service(struct weir_server *server, struct weir_service *ret_service)
{
    *ret_service = (struct weir_service){
        .ctx = server,
        .world = service_world,
        .plan = service_plan,
        .plan_world = service_plan_world,
        .store = service_store,
        .cluster = service_cluster,
        .eta_begin = service_eta_begin,
        .eta_run = service_eta_run,
        .eta_end = service_eta_end,
        .gpu = service_gpu,
        .fault = service_fault,
        .process = service_process,
        .is_ready = service_is_ready,
        .policy = service_policy,
        .counters = service_counters,
        .submit = weir_service_submit,
        .apply = weir_service_apply,
        .delete_queue = weir_service_delete_queue,
        .delete_setup = weir_service_delete_setup,
        .delete_gpu = weir_service_delete_gpu,
        .cancel = weir_service_cancel,
        .signal = weir_service_signal,
        .set_phase = weir_service_set_phase,
        .befall = weir_service_befall,
    };
}

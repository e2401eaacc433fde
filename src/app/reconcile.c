/* reconcile.c — THE tick. Start reading weir here.
 *
 * - observe: what became of attempts and devices goes into the edit, beside what people asked for
 *   since the last tick;
 * - decide: core/decide.h says what is to be done, the only place where anything is decided;
 * - commit: all of it goes into the store in one transaction, and the decision into its log;
 * - answer: whoever asked hears that it is done;
 * - act: starts, stops and signals, in the plan's order.
 *
 * Between ticks nothing is remembered but what can be read back: a crash at any line below loses
 * nothing. Before the commit nobody was told and nothing was done; after it, load.c finds every
 * start in the store and asks the attempt itself whether it began.
 *
 * The map: base/ and fmt/ know no GPUs. model/ holds the nouns. core/ decides, purely. port/ says
 * what the outside must offer; edge/ offers it (nvml, local processes, sqlite, the HTTP API). app/
 * wires them: load.c builds the state, observe.c sees, persist.c writes, act.c does, service*.c
 * take requests, up.c starts it all. cmd/ is the command line. */
#include "app/decision_log.h"
#include "app/faults.h"
#include "app/server.h"
#include "base/log.h"
#include "base/time.h"
#include "core/apply.h"
#include "core/decide.h"

enum {
    RETRY_AFTER_FAILURE_MS = 1000,
    CLOCK_STEP_MS = 1000 /* the wall clock was set rather than slewed */
};

/* Everybody who waits for this tick hears how it ended. */
static void answer(struct weir_server *server, int result, const struct weir_err *err)
{
    struct dones dones = server->dones;

    server->dones = (struct dones){0};
    weir_vec_foreach (each, &dones)
        each->done.fn(each->done.arg, result, each->outcome, err);
    weir_vec_finish(&dones);
}

/* Nothing of this tick holds: the store is as it was before, so the state is built from it anew. */
static int give_up(struct weir_server *server, int result, struct weir_err *err)
{
    struct weir_err reload = WEIR_ERR_INIT;

    server->n_failed_ticks++;
    if (server->in_transaction)
        server->store.rollback(server->store.ctx);
    server->in_transaction = false;
    server->failed = 0;
    answer(server, result, err);
    server->retry_mono_ms = server->clock.now(server->clock.ctx).mono_ms + RETRY_AFTER_FAILURE_MS;
    server->dirty = true;
    if (weir_server_load(server, &reload) < 0)
        weir_log_error("state.reload", "%s", reload.text);
    return result;
}

/* Whoever waits for an answer gets one that a power cut does not take back. */
static int commit(struct weir_server *server, struct weir_err *err)
{
    if (!server->in_transaction)
        return 0;
    server->in_transaction = false;
    return server->store.commit(server->store.ctx, server->dones.n > 0, err);
}

/* Decides on `before`, makes the plan true in the edit, and writes it down. */
static int decide(struct weir_server *server, const struct weir_world *before, struct weir_now now,
                  struct weir_arena *arena, struct weir_plan *ret_plan,
                  const struct weir_world **ret_after, struct weir_err *err)
{
    const struct weir_world *after;
    int r = weir_decide(before, &server->policy, now, server->seed, NULL, arena, ret_plan, err);

    if (r == 0)
        r = weir_server_assign_attempts(server, ret_plan, err);
    if (r == 0)
        r = weir_plan_apply(ret_plan, now, server->edit, err);
    if (r < 0)
        return r;
    after = weir_edit_seal(server->edit);
    if (after == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the next version of the world");
    r = weir_server_persist(server, before, after, ret_plan, now, err);
    if (r == 0)
        r = commit(server, err);
    if (r < 0) {
        weir_world_unref(after);
        return r;
    }
    *ret_after = after;
    return 0;
}

/* Written before anybody hears of it: so a kill finds in the log whatever was told. */
static void log_decision(struct weir_server *server, const struct weir_world *before,
                         const struct weir_plan *plan, struct weir_now now)
{
    if (server->log == NULL)
        return;
    weir_decision_log_tick(server->log, before, &server->policy, now, server->seed, plan);
    weir_decision_log_flush(server->log);
}

static void keep_plan(struct weir_server *server, const struct weir_world *before,
                      const struct weir_world *after, const struct weir_plan *plan,
                      struct weir_now now)
{
    weir_world_unref(server->plan_world);
    weir_world_unref(server->world);
    server->plan_world = before;
    server->world = after;
    server->plan = *plan;
    server->plan_now = now;
    server->plan_arena ^= 1;
}

/* When it decides again even if nothing happens; "" where nothing is waited for. */
static const char *wake_text(const struct weir_plan *plan, struct weir_now now, char text[64])
{
    if (plan->wake_wall_ms <= 0 || plan->wake_wall_ms == WEIR_TIME_NEVER)
        return "";
    return weir_str_format(text, 64, ", wake in %lld ms",
                           (long long)(plan->wake_wall_ms - now.wall_ms));
}

static void log_tick(const struct weir_server *server, struct weir_now now)
{
    const struct weir_plan *plan = &server->plan;
    char wake[64];

    weir_log_debug("tick", "%llu: %u actions, %u workloads wait%s",
                   (unsigned long long)server->n_ticks, plan->n_actions, plan->n_verdicts,
                   wake_text(plan, now, wake));
}

int weir_server_tick(struct weir_server *server, struct weir_err *err)
{
    struct weir_now now = server->clock.now(server->clock.ctx);
    struct weir_arena *arena = &server->plan_arenas[server->plan_arena ^ 1];
    const struct weir_world *before;
    const struct weir_world *after = NULL;
    struct weir_plan plan;
    int r = server->failed;

    server->dirty = false;
    server->settle_mono_ms = 0;
    server->n_ticks++;
    if (server->edit == NULL && weir_server_load(server, err) < 0) {
        server->retry_mono_ms = now.mono_ms + RETRY_AFTER_FAILURE_MS;
        return weir_error_code(err);
    }
    if (r < 0)
        return give_up(server, weir_error_pass(err, &server->failure), err);
    r = weir_server_take_refusals(server, err);
    /* First the faults: an attempt that one of them ended is to be seen so. */
    if (r == 0)
        r = weir_server_observe_faults(server, err);
    if (r == 0)
        r = weir_server_observe_attempts(server, server->look_at_all, err);
    if (r < 0)
        return give_up(server, r, err);
    server->has_news = false;
    before = weir_edit_seal(server->edit);
    if (before == NULL)
        return give_up(server, weir_error(err, WEIR_E_NO_MEMORY, "no memory for a version"), err);
    weir_arena_reset(arena);
    r = decide(server, before, now, arena, &plan, &after, err);
    if (r < 0) {
        weir_world_unref(before);
        return give_up(server, r, err);
    }
    server->retry_mono_ms = 0;
    server->look_at_all = false;
    log_decision(server, before, &plan, now);
    keep_plan(server, before, after, &plan, now);
    log_tick(server, now);
    answer(server, 0, NULL);
    weir_server_act(server, before, &server->plan);
    r = weir_server_retire(server, &server->plan, err);
    if (r < 0)
        return give_up(server, r, err);
    if (server->changed != NULL)
        server->changed(server->changed_arg);
    return 0;
}

static bool was_clock_set(const struct weir_server *server, struct weir_now now)
{
    int64_t step =
        (now.wall_ms - server->plan_now.wall_ms) - (now.mono_ms - server->plan_now.mono_ms);

    return step >= CLOCK_STEP_MS || step <= -CLOCK_STEP_MS;
}

int64_t weir_server_wake(const struct weir_server *server)
{
    struct weir_now now = server->clock.now(server->clock.ctx);
    int64_t faults_due = weir_server_faults_due(server);
    int64_t wake_ms = WEIR_TIME_NEVER;

    if (server->retry_mono_ms > now.mono_ms)
        return now.wall_ms + (server->retry_mono_ms - now.mono_ms);
    if (server->retry_mono_ms > 0)
        return now.wall_ms;
    if (server->settle_mono_ms > 0)
        wake_ms = now.wall_ms + (server->settle_mono_ms - now.mono_ms);
    if (faults_due != INT64_MAX && now.wall_ms + (faults_due - now.mono_ms) < wake_ms)
        wake_ms = now.wall_ms + (faults_due - now.mono_ms);
    if (server->plan.wake_wall_ms <= 0 || server->plan.wake_wall_ms == WEIR_TIME_NEVER)
        return wake_ms;
    if (was_clock_set(server, now))
        return now.wall_ms;
    return wake_ms < server->plan.wake_wall_ms ? wake_ms : server->plan.wake_wall_ms;
}

bool weir_server_may_tick(const struct weir_server *server)
{
    return server->dones.n > 0 ||
           server->retry_mono_ms <= server->clock.now(server->clock.ctx).mono_ms;
}

void weir_server_end(struct weir_server *server)
{
    struct weir_err err = WEIR_ERR_INIT;

    if ((server->dirty || server->has_news) && weir_server_tick(server, &err) < 0)
        weir_log_error("tick.failed", "%s", err.text);
    server->is_stopping = true;
    answer(server, weir_error(&err, WEIR_E_UNAVAILABLE, "weir is stopping"), &err);
}

#include "app/launch.h"
#include "app/server.h"
#include "base/cleanup.h"
#include "base/log.h"

enum { CANNOT_EXECUTE = 126, USE_BYTES_MAX = 128 };

/* Who has to leave room gets its checkpoint signal first; who ends for good does not. */
void weir_server_stop(struct weir_server *server, uint32_t task)
{
    const struct weir_world *state = weir_edit_view(server->edit);
    const struct weir_task *row = weir_world_task(state, task);
    const struct weir_workload *w = weir_world_workload(state, row->workload);
    struct weir_server_attempt *attempt = weir_server_attempt_of(server, task);
    bool checkpoints = weir_cause_makes_room(row->stop_cause) && w->checkpoint_signal != 0;
    char name[WEIR_SERVER_TASK_NAME_MAX];
    struct weir_err err = WEIR_ERR_INIT;
    int r;

    if (attempt == NULL || attempt->ref.serial == 0)
        return;
    r = server->cluster.command(server->cluster.ctx, &attempt->ref,
                                checkpoints ? WEIR_CLUSTER_CHECKPOINT : WEIR_CLUSTER_STOP,
                                (int)w->checkpoint_signal, w->checkpoint_grace_ms, &err);
    attempt->is_asked_to_stop = r == 0 ? row->stop_cause : 0;
    /* One that has not begun, or has just ended, is looked at again soon. */
    if (r < 0 && r != WEIR_E_UNAVAILABLE && r != WEIR_E_NOT_FOUND) {
        WEIR_LOG_FIELD(field, "subject", weir_server_task_name(state, task, name));
        weir_log_warn("attempt.stop", "%s", err.text);
    }
}

/* What can never be launched is an end, as if a shell had not been able to: status 126. */
static bool is_for_good(int code)
{
    return code == WEIR_E_INVALID || code == WEIR_E_TOO_LARGE;
}

static void log_launch(const struct weir_server *server, uint32_t task, int result,
                       const struct weir_err *err)
{
    char name[WEIR_SERVER_TASK_NAME_MAX];

    WEIR_LOG_FIELD(field, "subject",
                   weir_server_task_name(weir_edit_view(server->edit), task, name));
    if (result == 0)
        weir_log_debug("attempt.launch", "asked for");
    else
        weir_log_warn("attempt.launch", "%s", err->text);
}

/* A start that surely did not happen is seen as such at once; everything else is asked of the
 * attempt. */
static void start(struct weir_server *server, const struct weir_action *action)
{
    struct weir_cluster_facts facts = {.phase = WEIR_SEEN_ENDED, .end = WEIR_END_NOT_STARTED};
    struct weir_err err = WEIR_ERR_INIT;
    int r = weir_server_launch(server, action->task, &err);

    log_launch(server, action->task, r, &err);
    if (r == 0)
        return;
    snprintf(facts.detail, sizeof(facts.detail), "%.*s",
             WEIR_STR_ARG(weir_str_cut(weir_str(err.text), sizeof(facts.detail) - 1)));
    if (is_for_good(r)) {
        facts.end = WEIR_END_EXITED;
        facts.exit_status = CANNOT_EXECUTE;
        facts.ended_wall_ms = server->clock.now(server->clock.ctx).wall_ms;
    }
    if (weir_server_see(server, action->task, &facts, &err) < 0)
        weir_server_fail(server, err.code, &err);
    server->dirty = true;
}

/* Who is warned is whoever reads the log, or the events. */
static void note_budget(const struct weir_world *before, const struct weir_action *action)
{
    weir_cleanup_buf struct weir_buf use = WEIR_BUF_INIT(USE_BYTES_MAX);
    char name[WEIR_SERVER_TASK_NAME_MAX];

    weir_server_put_use(before, action->task, action->amount, &use);
    WEIR_LOG_FIELD(field, "subject", weir_server_task_name(before, action->task, name));
    if (action->cause == WEIR_CAUSE_OVER_BUDGET)
        weir_log_warn("budget.over", "it uses %s of GPU memory", weir_buf_cstr(&use));
    else
        weir_log_info("budget.within", "it keeps to its budget of GPU memory again");
}

void weir_server_act(struct weir_server *server, const struct weir_world *before,
                     const struct weir_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_actions; i++) {
        const struct weir_action *action = &plan->actions[i];

        if (action->kind == WEIR_ACTION_SHARE)
            weir_server_share(server, action);
        else if (action->kind == WEIR_ACTION_START)
            start(server, action);
        else if (action->kind == WEIR_ACTION_NOTIFY)
            note_budget(before, action);
        else if (action->kind == WEIR_ACTION_RESHAPE)
            weir_server_reshape(server, action);
        else if ((action->kind == WEIR_ACTION_STOP || action->kind == WEIR_ACTION_EVICT) &&
                 weir_world_task(before, action->task)->state != WEIR_TASK_QUEUED)
            weir_server_stop(server, action->task);
    }
}

static void forget_attempt(struct weir_server *server, uint32_t task)
{
    static const struct weir_cluster_ref none;
    struct weir_server_attempt *attempt = weir_server_attempt_of(server, task);

    if (attempt == NULL || attempt->ref.serial == 0)
        return;
    weir_map_remove(&server->by_serial, weir_server_serial_key(&attempt->ref.serial));
    server->cluster.release(server->cluster.ctx, &attempt->ref);
    weir_server_attempt_set(attempt, &none);
}

int weir_server_retire(struct weir_server *server, const struct weir_plan *plan,
                       struct weir_err *err)
{
    const struct weir_world *state = weir_edit_view(server->edit);

    for (uint32_t i = 0; i < plan->n_actions; i++) {
        const struct weir_action *action = &plan->actions[i];
        const struct weir_workload *w;

        if (action->kind == WEIR_ACTION_SETTLE)
            forget_attempt(server, action->task);
        if (action->kind != WEIR_ACTION_SETTLE && action->kind != WEIR_ACTION_STOP)
            continue;
        /* An earlier action of this plan may have retired it already. */
        if (!weir_table_is_live(&state->tables[WEIR_TABLE_WORKLOADS], action->workload))
            continue;
        w = weir_world_workload(state, action->workload);
        if (w->n_done == w->n_tasks &&
            weir_edit_remove_workload(server->edit, action->workload) < 0)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory to let a workload go");
    }
    return 0;
}

#include "app/launch.h"
#include "app/server.h"
#include "base/log.h"

static void stop(struct weir_server *server, const struct weir_action *action)
{
    const struct weir_server_attempt *attempt = weir_server_attempt_of(server, action->task);
    const struct weir_workload *w =
        weir_world_workload(weir_edit_view(server->edit), action->workload);
    bool checkpoints = action->kind == WEIR_ACTION_EVICT && w->checkpoint_signal != 0;
    struct weir_err err = WEIR_ERR_INIT;

    if (attempt == NULL || attempt->ref.serial == 0)
        return;
    if (server->cluster.command(server->cluster.ctx, &attempt->ref,
                                checkpoints ? WEIR_CLUSTER_CHECKPOINT : WEIR_CLUSTER_STOP,
                                (int)w->checkpoint_signal, w->checkpoint_grace_ms, &err) < 0)
        weir_log_warn("attempt.stop", "task %u: %s", action->task, err.text);
}

/* A start that surely did not happen is seen as such at once; everything else is asked of the
 * attempt. */
static void start(struct weir_server *server, const struct weir_action *action)
{
    struct weir_cluster_facts facts = {.phase = WEIR_SEEN_ENDED, .end = WEIR_END_NOT_STARTED};
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_server_launch(server, action->task, &err) == 0)
        return;
    weir_log_warn("attempt.launch", "task %u: %s", action->task, err.text);
    if (weir_server_see(server, action->task, &facts, &err) < 0)
        weir_server_fail(server, err.code, &err);
}

void weir_server_act(struct weir_server *server, const struct weir_world *before,
                     const struct weir_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_actions; i++) {
        const struct weir_action *action = &plan->actions[i];
        bool was_queued = weir_world_task(before, action->task)->state == WEIR_TASK_QUEUED;

        if (action->kind == WEIR_ACTION_START)
            start(server, action);
        else if (!was_queued &&
                 (action->kind == WEIR_ACTION_STOP || action->kind == WEIR_ACTION_EVICT))
            stop(server, action);
    }
}

static void forget_attempt(struct weir_server *server, uint32_t task)
{
    struct weir_server_attempt *attempt = weir_server_attempt_of(server, task);

    if (attempt == NULL || attempt->ref.serial == 0)
        return;
    weir_map_remove(&server->by_serial,
                    weir_str_n((const char *)&attempt->ref.serial, sizeof(attempt->ref.serial)));
    server->cluster.release(server->cluster.ctx, &attempt->ref);
    *attempt = (struct weir_server_attempt){0};
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

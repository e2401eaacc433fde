#include "core/apply.h"

#include "base/err.h"
#include "base/units.h"

static int start(const struct weir_plan *plan, const struct weir_action *action,
                 struct weir_now now, struct weir_edit *edit)
{
    const struct weir_grant *grants =
        action->n_grants > 0 ? plan->grants + action->first_grant : NULL;

    return weir_edit_task_start(edit, action->task, action->node, grants, action->n_grants,
                                now.wall_ms, now.mono_ms);
}

/* STOP and EVICT: what runs is asked to leave, what is queued ends at once. */
static int stop(const struct weir_action *action, struct weir_edit *edit)
{
    const struct weir_task *task = weir_world_task(weir_edit_view(edit), action->task);
    bool was_stopping = task->state == WEIR_TASK_STOPPING;
    struct weir_task *row;
    int r;

    if (task->state == WEIR_TASK_QUEUED)
        return weir_edit_task_state(edit, action->task, (enum weir_task_state)action->state);
    if (!was_stopping) {
        r = weir_edit_task_state(edit, action->task, WEIR_TASK_STOPPING);
        if (r < 0)
            return r;
    }
    row = weir_edit_task(edit, action->task);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->stop_cause = action->cause;
    /* Its room stays promised, whatever it is stopped for meanwhile. */
    if (!was_stopping || action->for_whom != WEIR_NONE)
        row->for_whom = action->for_whom;
    return 0;
}

/* A failure of an array's task or a single one is its own, that of a member is its gang's. */
static int count_failure(const struct weir_action *action, struct weir_edit *edit)
{
    const struct weir_workload *job = weir_world_workload(weir_edit_view(edit), action->workload);
    bool is_own = job->independent || job->n_tasks == 1;
    struct weir_task *task = is_own ? weir_edit_task(edit, action->task) : NULL;
    struct weir_workload *gang = is_own ? NULL : weir_edit_workload(edit, action->workload);

    if (task == NULL && gang == NULL)
        return WEIR_E_NO_MEMORY;
    if (task != NULL)
        task->n_failures++;
    else
        gang->n_failures++;
    return 0;
}

static int settle(const struct weir_action *action, struct weir_edit *edit)
{
    int r = weir_edit_task_state(edit, action->task, (enum weir_task_state)action->state);
    struct weir_task *row;

    if (r < 0)
        return r;
    if (action->state != WEIR_TASK_QUEUED)
        return 0;
    row = weir_edit_task(edit, action->task);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->not_before_wall_ms = action->amount;
    if (action->cause == WEIR_CAUSE_NOT_STARTED)
        row->attempt--; /* it never was one */
    return action->cause == WEIR_CAUSE_RETRIED || action->cause == WEIR_CAUSE_DEVICE_FAULT
               ? count_failure(action, edit)
               : 0;
}

/* Told once, until the opposite is. */
static int notify(const struct weir_action *action, struct weir_edit *edit)
{
    const struct weir_world *view = weir_edit_view(edit);
    uint32_t next;

    for (uint32_t at = weir_world_task(view, action->task)->first_hold; at != WEIR_NONE;
         at = next) {
        const struct weir_hold *hold = weir_world_hold(view, at);

        next = hold->next_of_task;
        if (hold->memory_bytes > 0 &&
            weir_edit_hold_warned(edit, at, action->cause == WEIR_CAUSE_OVER_BUDGET) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static int apply(const struct weir_plan *plan, const struct weir_action *action,
                 struct weir_now now, struct weir_edit *edit)
{
    switch ((enum weir_action_kind)action->kind) {
    case WEIR_ACTION_START:
        return start(plan, action, now, edit);
    case WEIR_ACTION_STOP:
    case WEIR_ACTION_EVICT:
        return stop(action, edit);
    case WEIR_ACTION_SETTLE:
        return settle(action, edit);
    case WEIR_ACTION_NOTIFY:
        return notify(action, edit);
    case WEIR_ACTION_RESHAPE:
    case WEIR_ACTION_SHARE:
    case WEIR_ACTION_CORDON:
    case WEIR_ACTION_DRAIN:
    case WEIR_ACTION_REQUEST_NODE:
    case WEIR_ACTION_SCALE:
    case WEIR_ACTION_ROUTE:
    case WEIR_ACTION_KIND_MAX:
        break;
    }
    return WEIR_E_UNSUPPORTED;
}

static int note_cause(const struct weir_action *action, struct weir_edit *edit)
{
    struct weir_task *row = weir_edit_task(edit, action->task);

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->cause = action->cause;
    return 0;
}

/* All are compared before the first is carried out: one action may touch the rows of neighbours. */
static int check(const struct weir_plan *plan, const struct weir_world *view, struct weir_err *err)
{
    if (plan->world_version != view->version)
        return weir_error(err, WEIR_E_EXISTS, "plan for version %llu, the world is at %llu",
                          (unsigned long long)plan->world_version,
                          (unsigned long long)view->version);
    for (uint32_t i = 0; i < plan->n_actions; i++) {
        const struct weir_action *action = &plan->actions[i];

        if (!weir_table_is_live(&view->tables[WEIR_TABLE_TASKS], action->task) ||
            weir_world_task(view, action->task)->row.gen != action->task_gen)
            return weir_error(err, WEIR_E_EXISTS, "task %u of action %u was changed meanwhile",
                              action->task, i);
    }
    return 0;
}

int weir_plan_apply(const struct weir_plan *plan, struct weir_now now, struct weir_edit *edit,
                    struct weir_err *err)
{
    int r = check(plan, weir_edit_view(edit), err);

    for (uint32_t i = 0; r == 0 && i < plan->n_actions; i++) {
        const struct weir_action *action = &plan->actions[i];

        r = apply(plan, action, now, edit);
        if (r == 0 && action->kind != WEIR_ACTION_NOTIFY) /* its state is as it was */
            r = note_cause(action, edit);
        if (r < 0)
            return weir_error(err, r, "apply action %u, to %s task %u", i,
                              weir_action_name((enum weir_action_kind)action->kind), action->task);
    }
    return r;
}

#include "core/heal/settle.h"

#include "base/err.h"

static struct weir_action action_on(const struct weir_tick *tick, uint32_t task,
                                    enum weir_action_kind kind, enum weir_cause cause)
{
    const struct weir_task *row = weir_world_task(tick->world, task);

    return (struct weir_action){
        .kind = kind,
        .cause = cause,
        .workload = row->workload,
        .task = task,
        .task_gen = row->row.gen,
        .node = row->node,
        .for_whom = WEIR_NONE,
    };
}

int weir_settle_running(struct weir_tick *tick, uint32_t running, enum weir_task_state state,
                        enum weir_cause cause, int64_t not_before_wall_ms)
{
    struct weir_action action =
        action_on(tick, tick->overlay.running[running].task, WEIR_ACTION_SETTLE, cause);

    action.state = state;
    if (state == WEIR_TASK_QUEUED) {
        action.amount = not_before_wall_ms;
        weir_tick_wake(tick, not_before_wall_ms > tick->now.wall_ms ? not_before_wall_ms
                                                                    : tick->now.wall_ms);
    }
    if (weir_draft_action(&tick->draft, action) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_overlay_leave(&tick->overlay, running, WEIR_RUNNING_GONE);
}

int weir_settle_again(struct weir_tick *tick, uint32_t task)
{
    struct weir_action action = action_on(tick, task, WEIR_ACTION_SETTLE, WEIR_CAUSE_GANG_BROKEN);

    action.state = WEIR_TASK_QUEUED;
    weir_tick_wake(tick, tick->now.wall_ms);
    return weir_draft_action(&tick->draft, action);
}

static int ask_to_leave(struct weir_tick *tick, uint32_t running, struct weir_action action)
{
    if (weir_draft_action(&tick->draft, action) < 0)
        return WEIR_E_NO_MEMORY;
    if (tick->overlay.running[running].state != WEIR_RUNNING_LIVE)
        return 0;
    return weir_overlay_leave(&tick->overlay, running, WEIR_RUNNING_LEAVING);
}

int weir_settle_evict(struct weir_tick *tick, uint32_t running, enum weir_cause cause,
                      uint32_t for_whom)
{
    struct weir_action action =
        action_on(tick, tick->overlay.running[running].task, WEIR_ACTION_EVICT, cause);

    action.for_whom = for_whom;
    return ask_to_leave(tick, running, action);
}

int weir_settle_stop(struct weir_tick *tick, uint32_t running, enum weir_cause cause)
{
    return ask_to_leave(tick, running,
                        action_on(tick, tick->overlay.running[running].task, WEIR_ACTION_STOP,
                                  cause));
}

int weir_settle_notify(struct weir_tick *tick, uint32_t running, enum weir_cause cause,
                       int64_t amount)
{
    struct weir_action action =
        action_on(tick, tick->overlay.running[running].task, WEIR_ACTION_NOTIFY, cause);

    action.amount = amount;
    return weir_draft_action(&tick->draft, action);
}

int weir_settle_cancel(struct weir_tick *tick, uint32_t task, enum weir_cause cause)
{
    struct weir_action action = action_on(tick, task, WEIR_ACTION_STOP, cause);

    action.state = WEIR_TASK_CANCELLED;
    return weir_draft_action(&tick->draft, action);
}

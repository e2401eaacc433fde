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

static bool is_of_device(const struct weir_action *action)
{
    return action->kind == WEIR_ACTION_RESHAPE || action->kind == WEIR_ACTION_SHARE;
}

static int64_t memory_of(const struct weir_world *view, const struct weir_device *device,
                         uint32_t profile)
{
    for (uint32_t i = 0; i < weir_world_n_mig_offers(view, device); i++) {
        struct weir_mig_offer offer = weir_world_mig_offer(view, device, i);

        if (offer.profile == profile)
            return (int64_t)offer.memory_mib * WEIR_MIB;
    }
    return 0;
}

/* A row for an instance that the driver has yet to make and name. */
static int add_instance(const struct weir_action *action, struct weir_edit *edit)
{
    const struct weir_world *view = weir_edit_view(edit);
    const struct weir_device *whole = weir_world_device(view, action->device);
    struct weir_key key = weir_key_of_instance(&whole->row.key, action->slots);
    struct weir_device row = weir_device_blank();
    uint32_t index;

    row.uuid = WEIR_NONE;
    row.index = WEIR_NONE;
    row.model = whole->model;
    row.node = whole->node;
    row.parent = action->device;
    row.kind = WEIR_DEVICE_MIG;
    row.gpu_class = whole->gpu_class;
    row.mig_profile = action->resource;
    row.numa = whole->numa;
    row.phase = WEIR_DEVICE_MAKING;
    row.slots = action->slots;
    row.isolation = WEIR_ISOLATION_HARDWARE;
    row.memory_bytes = memory_of(view, whole, action->resource);
    return weir_edit_add_device(edit, &key, &row, &index);
}

/* Begins; the driver's next reading ends it. */
static int reshape(const struct weir_action *action, struct weir_edit *edit)
{
    struct weir_device *row;

    if (action->reshape == WEIR_RESHAPE_CREATE)
        return add_instance(action, edit);
    row = weir_edit_device(edit, action->device);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->phase =
        action->reshape == WEIR_RESHAPE_DESTROY ? WEIR_DEVICE_UNMAKING : WEIR_DEVICE_SWITCHING;
    return 0;
}

static int share(const struct weir_action *action, struct weir_edit *edit)
{
    struct weir_device *row = weir_edit_device(edit, action->device);

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->mps = action->amount > 0 ? WEIR_MPS_STARTING : WEIR_MPS_STOPPING;
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
        return reshape(action, edit);
    case WEIR_ACTION_SHARE:
        return share(action, edit);
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

static bool starts(const struct weir_plan *plan, uint32_t workload)
{
    for (uint32_t i = 0; i < plan->n_actions; i++)
        if (plan->actions[i].kind == WEIR_ACTION_START && plan->actions[i].workload == workload)
            return true;
    return false;
}

/* Who has come to where others have left for it has no claim on their room any more. */
static int end_claims(const struct weir_plan *plan, struct weir_edit *edit)
{
    const struct weir_world *view = weir_edit_view(edit);

    for (uint32_t i = weir_world_first(view, WEIR_TABLE_TASKS); i != WEIR_NONE;
         i = weir_world_after(view, WEIR_TABLE_TASKS, i)) {
        const struct weir_task *task = weir_world_task(view, i);
        struct weir_task *row;

        if (task->state != WEIR_TASK_QUEUED || task->for_whom == WEIR_NONE ||
            !starts(plan, task->for_whom))
            continue;
        row = weir_edit_task(edit, i);
        if (row == NULL)
            return WEIR_E_NO_MEMORY;
        row->for_whom = WEIR_NONE;
    }
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

        if (is_of_device(action)) {
            if (!weir_table_is_live(&view->tables[WEIR_TABLE_DEVICES], action->device) ||
                weir_world_device(view, action->device)->row.gen != action->device_gen)
                return weir_error(err, WEIR_E_EXISTS,
                                  "device %u of action %u was changed meanwhile", action->device,
                                  i);
            continue;
        }
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
    uint32_t n_starts = 0;
    int r = check(plan, weir_edit_view(edit), err);

    for (uint32_t i = 0; r == 0 && i < plan->n_actions; i++) {
        const struct weir_action *action = &plan->actions[i];

        n_starts += action->kind == WEIR_ACTION_START;
        r = apply(plan, action, now, edit);
        if (r == 0 && !is_of_device(action) &&
            action->kind != WEIR_ACTION_NOTIFY) /* its state is as it was */
            r = note_cause(action, edit);
        if (r < 0)
            return weir_error(err, r, "apply action %u, to %s %s %u", i,
                              weir_action_name((enum weir_action_kind)action->kind),
                              is_of_device(action) ? "device" : "task",
                              is_of_device(action) ? action->device : action->task);
    }
    if (r == 0 && n_starts > 0 && end_claims(plan, edit) < 0)
        r = weir_error(err, WEIR_E_NO_MEMORY, "apply: out of memory");
    return r;
}

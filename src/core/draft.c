#include "base/arena.h"
#include "base/err.h"
#include "core/tick.h"

int weir_draft_action(struct weir_draft *d, struct weir_action action)
{
    if (weir_arena_grow(d->arena, &d->actions, &d->cap_actions, d->n_actions + 1, sizeof(action)) <
        0)
        return WEIR_E_NO_MEMORY;
    if (action.kind != WEIR_ACTION_RESHAPE && action.kind != WEIR_ACTION_SHARE) {
        action.device = WEIR_NONE;
        action.resource = WEIR_NONE;
    }
    action.order = d->n_actions;
    d->actions[d->n_actions++] = action;
    return 0;
}

int weir_draft_start(struct weir_draft *d, struct weir_action action,
                     const struct weir_grant *grants, uint32_t n_grants)
{
    if (weir_arena_grow(d->arena, &d->grants, &d->cap_grants, d->n_grants + n_grants,
                        sizeof(grants[0])) < 0)
        return WEIR_E_NO_MEMORY;
    action.first_grant = d->n_grants;
    action.n_grants = n_grants;
    if (n_grants > 0)
        memcpy(d->grants + d->n_grants, grants, n_grants * sizeof(grants[0]));
    d->n_grants += n_grants;
    return weir_draft_action(d, action);
}

int weir_draft_verdict(struct weir_draft *d, struct weir_verdict verdict)
{
    if (weir_arena_grow(d->arena, &d->verdicts, &d->cap_verdicts, d->n_verdicts + 1,
                        sizeof(verdict)) < 0)
        return WEIR_E_NO_MEMORY;
    d->verdicts[d->n_verdicts++] = verdict;
    return 0;
}

int weir_draft_reason(struct weir_draft *d, struct weir_reason reason, uint32_t *ret_reason)
{
    if (weir_arena_grow(d->arena, &d->reasons, &d->cap_reasons, d->n_reasons + 1, sizeof(reason)) <
        0)
        return WEIR_E_NO_MEMORY;
    *ret_reason = d->n_reasons;
    d->reasons[d->n_reasons++] = reason;
    return 0;
}

int weir_draft_holder(struct weir_draft *d, struct weir_holder holder)
{
    if (weir_arena_grow(d->arena, &d->holders, &d->cap_holders, d->n_holders + 1, sizeof(holder)) <
        0)
        return WEIR_E_NO_MEMORY;
    d->holders[d->n_holders++] = holder;
    return 0;
}

int weir_draft_end(struct weir_draft *d, struct weir_awaited end)
{
    if (weir_arena_grow(d->arena, &d->ends, &d->cap_ends, d->n_ends + 1, sizeof(end)) < 0)
        return WEIR_E_NO_MEMORY;
    d->ends[d->n_ends++] = end;
    return 0;
}

int weir_draft_cordon(struct weir_draft *d, struct weir_cordoned cordon)
{
    if (weir_arena_grow(d->arena, &d->cordons, &d->cap_cordons, d->n_cordons + 1, sizeof(cordon)) <
        0)
        return WEIR_E_NO_MEMORY;
    d->cordons[d->n_cordons++] = cordon;
    return 0;
}

void weir_draft_finish(const struct weir_draft *d, struct weir_plan *ret_plan)
{
    ret_plan->actions = d->actions;
    ret_plan->n_actions = d->n_actions;
    ret_plan->grants = d->grants;
    ret_plan->n_grants = d->n_grants;
    ret_plan->verdicts = d->verdicts;
    ret_plan->n_verdicts = d->n_verdicts;
    ret_plan->reasons = d->reasons;
    ret_plan->n_reasons = d->n_reasons;
    ret_plan->holders = d->holders;
    ret_plan->n_holders = d->n_holders;
    ret_plan->ends = d->ends;
    ret_plan->n_ends = d->n_ends;
    ret_plan->cordons = d->cordons;
    ret_plan->n_cordons = d->n_cordons;
}

#include "core/heal/budget.h"

#include "base/err.h"
#include "core/heal/settle.h"

enum { OVER_STOPS = 2, UNDER_TELLS = 10 };

_Static_assert((int)OVER_STOPS <= (int)WEIR_SAMPLES_MAX &&
                   (int)UNDER_TELLS <= (int)WEIR_SAMPLES_MAX,
               "they are counted so far");

bool weir_budget_is_broken(const struct weir_world *world, const struct weir_running *running)
{
    const struct weir_hold *hold;

    for (uint32_t at = running->row->first_hold; at != WEIR_NONE; at = hold->next_of_task) {
        hold = weir_world_hold(world, at);
        if (hold->n_over >= OVER_STOPS)
            return weir_world_over_budget(world, running->job->queue) == WEIR_OVER_BUDGET_STOP;
    }
    return false;
}

/* What is to be told of it; NONE: nothing. */
static uint32_t news_of(const struct weir_hold *hold)
{
    if (hold->n_over > 0)
        return hold->is_warned ? WEIR_CAUSE_NONE : WEIR_CAUSE_OVER_BUDGET;
    return hold->is_warned && hold->n_under >= UNDER_TELLS ? WEIR_CAUSE_WITHIN_BUDGET
                                                           : WEIR_CAUSE_NONE;
}

static int notify_of(struct weir_tick *tick, uint32_t running)
{
    const struct weir_running *r = &tick->overlay.running[running];
    const struct weir_hold *hold;
    uint32_t cause = WEIR_CAUSE_NONE;
    int64_t used_bytes = 0;

    for (uint32_t at = r->row->first_hold; at != WEIR_NONE; at = hold->next_of_task) {
        hold = weir_world_hold(tick->world, at);
        used_bytes += hold->used_bytes;
        if (cause != WEIR_CAUSE_OVER_BUDGET && news_of(hold) != WEIR_CAUSE_NONE)
            cause = news_of(hold);
    }
    if (cause == WEIR_CAUSE_NONE)
        return 0;
    return weir_settle_notify(tick, running, (enum weir_cause)cause, used_bytes);
}

int weir_budget_notify(struct weir_tick *tick)
{
    for (uint32_t i = 0; i < tick->overlay.n_running; i++)
        if (tick->overlay.running[i].state == WEIR_RUNNING_LIVE && notify_of(tick, i) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

#include "core/decide.h"

#include "base/arena.h"
#include "base/err.h"
#include "core/explain/explain.h"
#include "core/heal/budget.h"
#include "core/heal/heal.h"
#include "core/mig/stage.h"
#include "core/place/promise.h"
#include "core/place/turn.h"
#include "core/queue/order.h"
#include "core/tick.h"

static int place(struct weir_line *line)
{
    enum weir_line_change change = WEIR_LINE_SAME;

    for (;;) {
        uint32_t next = weir_line_next(line, change);

        if (next == WEIR_NONE)
            return 0;
        if (weir_turn_take(line, &line->candidates[next], &change) < 0)
            return WEIR_E_NO_MEMORY;
    }
}

/* What may not be changed yet is looked at again when it may. */
static void freeze(struct weir_tick *tick)
{
    int64_t until = weir_overlay_freeze(&tick->overlay, tick->now.wall_ms);

    if (until < INT64_MAX)
        weir_tick_wake(tick, until);
}

static int run_stages(struct weir_tick *tick, bool explain)
{
    struct weir_line line;

    if (weir_overlay_init(&tick->overlay, tick->world, 0, tick->arena) < 0)
        return WEIR_E_NO_MEMORY;
    freeze(tick);
    if (weir_heal(tick) < 0 || weir_line_init(&line, tick) < 0 || place(&line) < 0 ||
        weir_promises_check(&line) < 0 || weir_budget_notify(tick) < 0 ||
        weir_mig_reshape(tick) < 0)
        return WEIR_E_NO_MEMORY;
    return explain ? weir_explain(&line) : 0;
}

int weir_tick_decide(const struct weir_world *world, const struct weir_policy *policy,
                     struct weir_now now, bool explain, struct weir_arena *arena,
                     struct weir_plan *ret_plan)
{
    struct weir_tick tick = {
        .world = world,
        .policy = policy,
        .now = now,
        .arena = arena,
        .draft = {.arena = arena},
        .wake_wall_ms = INT64_MAX,
    };

    if (run_stages(&tick, explain) < 0)
        return WEIR_E_NO_MEMORY;
    *ret_plan =
        (struct weir_plan){.world_version = world->version, .wake_wall_ms = tick.wake_wall_ms};
    weir_draft_finish(&tick.draft, ret_plan);
    return 0;
}

int weir_decide(const struct weir_world *world, const struct weir_policy *policy,
                struct weir_now now, uint64_t seed, struct weir_cache *cache,
                struct weir_arena *arena, struct weir_plan *ret_plan, struct weir_err *err)
{
    (void)seed;
    (void)cache;
    if (weir_tick_decide(world, policy, now, true, arena, ret_plan) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "decide: out of memory");
    return 0;
}

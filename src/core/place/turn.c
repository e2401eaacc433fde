#include "core/place/turn.h"

#include "base/arena.h"
#include "base/err.h"
#include "core/heal/fate.h"
#include "core/place/gang.h"
#include "core/preempt/victims.h"
#include "core/queue/quota.h"

struct turn {
    struct weir_line *line;
    struct weir_tick *tick;
    struct weir_candidate *candidate;
    const struct weir_workload *job;
    enum weir_line_change change;
    bool is_rehearsal; /* nothing is started, nobody is asked */
};

enum outcome { OUTCOME_NOTHING, OUTCOME_STARTED, OUTCOME_PROMISED };

static int start_members(struct turn *turn, const struct weir_set *set)
{
    struct weir_tick *tick = turn->tick;

    for (uint32_t i = 0; i < set->n_members; i++) {
        const struct weir_member *member = &set->members[i];
        const struct weir_task *task = weir_world_task(tick->world, member->task);
        const struct weir_grant *grants =
            member->spot.n_grants > 0 ? tick->overlay.grants + member->spot.first_grant : NULL;
        struct weir_action action = {
            .kind = WEIR_ACTION_START,
            .cause = WEIR_CAUSE_PLACED,
            .workload = turn->candidate->workload,
            .task = member->task,
            .task_gen = task->row.gen,
            .node = tick->overlay.nodes[member->spot.node].index,
            .for_whom = WEIR_NONE,
        };

        if (weir_draft_start(&tick->draft, action, grants, member->spot.n_grants) < 0)
            return WEIR_E_NO_MEMORY;
    }
    turn->candidate->n_placed += set->n_members;
    tick->overlay.jobs[turn->candidate->workload].is_growing = 1;
    if (turn->change == WEIR_LINE_SAME)
        turn->change = WEIR_LINE_PATH;
    return 0;
}

/* Whether looking for room is worth while: what found none is remembered with what it asked for,
 * until somebody else gives room back. */
static bool may_find(const struct turn *turn, const struct weir_want *want, uint32_t views)
{
    const struct weir_overlay *overlay = &turn->tick->overlay;
    uint32_t none = views == WEIR_IN_BOTH ? want->none_now : want->none_soon;

    if (views & WEIR_IN_NOW && (turn->tick->policy->actions & WEIR_POLICY_PLACE) == 0)
        return false;
    return none != overlay->freed + 1 &&
           weir_quota_fits_limits(overlay, views, want->leaf, &want->amounts, NULL);
}

/* Room in both views starts it, room in SOON keeps that room for it. */
static int try_views(struct turn *turn, uint32_t want, struct weir_set *set, uint32_t views)
{
    struct weir_overlay *overlay = &turn->tick->overlay;
    uint32_t *none = views == WEIR_IN_BOTH ? &turn->line->wants[want].none_now
                                           : &turn->line->wants[want].none_soon;
    int r;

    if (!may_find(turn, &turn->line->wants[want], views))
        return 0;
    r = weir_set_place(overlay, views, set);
    if (r == 0)
        *none = overlay->freed + 1;
    return r;
}

static int try_victims(struct turn *turn, uint32_t want, struct weir_set *set)
{
    struct weir_want *w = &turn->line->wants[want];
    int r;

    if (!weir_victims_may_exist(turn->line, turn->candidate, w))
        return 0;
    r = weir_victims_make_room(turn->line, turn->candidate, set);
    if (r == 1)
        turn->change = WEIR_LINE_EVERYWHERE;
    if (r == 0) {
        w->no_victims = turn->tick->overlay.freed + 1;
        w->no_victims_priority = turn->candidate->priority;
    }
    return r;
}

static uint32_t role_of(const struct turn *turn, const struct weir_member *member)
{
    return weir_world_task(turn->tick->world, member->task)->role;
}

static int note_asked(struct turn *turn, const struct weir_set *set)
{
    struct weir_line *line = turn->line;

    if (line->roles == NULL)
        line->roles =
            weir_arena_new_n(turn->tick->arena, struct weir_line_role,
                             weir_world_table(turn->tick->world, WEIR_TABLE_ROLES)->n_rows);
    if (line->roles == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < set->n_members; i++)
        line->roles[role_of(turn, &set->members[i])].n_asked++;
    turn->candidate->n_asked += set->n_members;
    line->n_asked += set->n_members;
    return 0;
}

static void note_promised(struct turn *turn, const struct weir_set *set)
{
    turn->candidate->n_promised += set->n_members;
    turn->candidate->promised_node = set->n_members == 1 ? set->members[0].spot.node : WEIR_NONE;
    for (uint32_t i = 0; turn->is_rehearsal && i < set->n_members; i++)
        turn->line->roles[role_of(turn, &set->members[i])].n_rehearsed++;
}

static int try_set(struct turn *turn, uint32_t want, struct weir_set *set,
                   enum outcome *ret_outcome)
{
    int r = turn->is_rehearsal ? 0 : try_views(turn, want, set, WEIR_IN_BOTH);

    *ret_outcome = OUTCOME_NOTHING;
    if (r < 0)
        return r;
    if (r == 1) {
        *ret_outcome = OUTCOME_STARTED;
        return start_members(turn, set);
    }
    r = try_views(turn, want, set, WEIR_IN_SOON);
    if (r == 0 && !turn->is_rehearsal) {
        r = try_victims(turn, want, set);
        if (r == 1 && note_asked(turn, set) < 0)
            return WEIR_E_NO_MEMORY;
    }
    if (r <= 0)
        return r;
    note_promised(turn, set);
    if (turn->change == WEIR_LINE_SAME)
        turn->change = WEIR_LINE_PATH;
    *ret_outcome = OUTCOME_PROMISED;
    return 0;
}

static bool has_one_role(const struct turn *turn)
{
    return weir_world_role(turn->tick->world, turn->job->first_role)->next_in_workload == WEIR_NONE;
}

static bool is_ready(const struct turn *turn, uint32_t at, const struct weir_task *task)
{
    return task->state == WEIR_TASK_QUEUED && weir_fate_is_due(turn->tick, turn->job, task) &&
           !(turn->is_rehearsal && turn->line->started[at]);
}

static struct weir_member member_of(const struct turn *turn, uint32_t task)
{
    const struct weir_world *world = turn->tick->world;
    uint32_t shape = weir_world_role(world, weir_world_task(world, task)->role)->shape;
    const struct weir_shape *row = weir_world_shape(world, shape);
    uint32_t isolation = turn->line->queues[turn->job->queue].isolation;

    return (struct weir_member){
        .request = {row, row->isolation > isolation ? row->isolation : isolation, shape,
                    turn->job->owner},
        .task = task,
    };
}

/* All that may start has its place; the rest, if any, is in a back-off. */
static void note_backoff(struct turn *turn)
{
    const struct weir_task *task;

    for (uint32_t at = turn->job->first_task; at != WEIR_NONE; at = task->next_in_workload) {
        task = weir_world_task(turn->tick->world, at);
        if (task->state != WEIR_TASK_QUEUED || is_ready(turn, at, task))
            continue;
        if (turn->candidate->code == WEIR_REASON_NONE ||
            task->not_before_wall_ms < turn->candidate->until_wall_ms)
            turn->candidate->until_wall_ms = task->not_before_wall_ms;
        turn->candidate->code = WEIR_REASON_BACKOFF;
        weir_tick_wake(turn->tick, task->not_before_wall_ms);
    }
}

/* Without its members. */
static struct weir_set set_of(const struct turn *turn, uint32_t want)
{
    const struct weir_want *w = &turn->line->wants[want];

    return (struct weir_set){
        .taker = {turn->job->queue, turn->candidate->workload, turn->job->owner},
        .amounts = w->amounts,
        .topology = w->topology,
        .scope = w->scope,
    };
}

static int place_task(struct turn *turn, uint32_t task, uint32_t want, enum outcome *ret_outcome)
{
    struct weir_member member = member_of(turn, task);
    struct weir_set set = set_of(turn, want);

    set.members = &member;
    set.n_members = 1;
    return try_set(turn, want, &set, ret_outcome);
}

/* The first of the rest of a gang fixes the domain for the others; they come next time. */
static bool fixes_domain(const struct weir_want *want)
{
    return want->topology.required < WEIR_TOPOLOGY_LEVELS && want->scope.level == WEIR_NONE;
}

/* What placing task by task has come to. */
struct each {
    uint32_t full_role; /* that found no room: no further task of it is tried; or WEIR_NONE */
    uint32_t blocked;   /* the first want that found none, or WEIR_NONE */
    bool is_over;
};

static int place_one(struct turn *turn, uint32_t at, struct each *each)
{
    uint32_t role = weir_world_task(turn->tick->world, at)->role;
    enum outcome outcome;
    uint32_t want;

    if (weir_line_want_of_task(turn->line, turn->candidate->workload, role, &want) < 0 ||
        place_task(turn, at, want, &outcome) < 0)
        return WEIR_E_NO_MEMORY;
    if (outcome != OUTCOME_NOTHING) {
        each->is_over = fixes_domain(&turn->line->wants[want]);
        if (each->is_over)
            turn->candidate->code = WEIR_REASON_ALL_RUNNING;
        return 0;
    }
    each->full_role = role;
    if (each->blocked == WEIR_NONE)
        each->blocked = want;
    return 0;
}

static int place_those(struct turn *turn, bool with_gpus, struct each *each)
{
    const struct weir_world *world = turn->tick->world;
    const struct weir_task *task;

    for (uint32_t at = turn->job->first_task; at != WEIR_NONE && !each->is_over;
         at = task->next_in_workload) {
        const struct weir_role *role;

        task = weir_world_task(world, at);
        role = weir_world_role(world, task->role);
        if (task->role == each->full_role || !is_ready(turn, at, task) ||
            (weir_world_shape(world, role->shape)->n_devices > 0) != with_gpus)
            continue;
        if (place_one(turn, at, each) < 0)
            return WEIR_E_NO_MEMORY;
        each->is_over |= has_one_role(turn) && each->full_role != WEIR_NONE;
    }
    return 0;
}

/* Task by task, as many as fit; those with GPUs first, which else might see the room that was made
 * for them go to the others. */
static int place_each(struct turn *turn)
{
    struct each each = {.full_role = WEIR_NONE, .blocked = WEIR_NONE};

    if (place_those(turn, true, &each) < 0 || place_those(turn, false, &each) < 0)
        return WEIR_E_NO_MEMORY;
    if (turn->is_rehearsal || turn->candidate->code == WEIR_REASON_ALL_RUNNING)
        return 0;
    if (each.blocked != WEIR_NONE)
        turn->candidate->want = each.blocked;
    else
        note_backoff(turn);
    return 0;
}

/* The members that must run together: of each role the first that wait. */
static int list_members(const struct turn *turn, const struct weir_want *want, struct weir_set *set)
{
    const struct weir_world *world = turn->tick->world;
    uint32_t role = turn->job->first_role;

    set->members = weir_arena_new_n(turn->tick->arena, struct weir_member, want->n_tasks);
    if (set->members == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < want->n_parts; i++) {
        const struct weir_task *task;
        uint32_t n = 0;

        for (uint32_t at = turn->job->first_task; at != WEIR_NONE && n < want->parts[i].n;
             at = task->next_in_workload) {
            task = weir_world_task(world, at);
            if (task->role != role || !is_ready(turn, at, task))
                continue;
            set->members[set->n_members++] = member_of(turn, at);
            n++;
        }
        role = weir_world_role(world, role)->next_in_workload;
    }
    return weir_set_sort(set, turn->tick->arena);
}

static bool is_hopeless(const struct turn *turn, const struct weir_want *want)
{
    return !may_find(turn, want, WEIR_IN_BOTH) && !may_find(turn, want, WEIR_IN_SOON) &&
           !weir_victims_may_exist(turn->line, turn->candidate, want);
}

static int place_gang(struct turn *turn)
{
    const struct weir_want *want = &turn->line->wants[turn->candidate->want];
    struct weir_set set = set_of(turn, turn->candidate->want);
    enum outcome outcome;

    if (list_members(turn, want, &set) < 0 ||
        try_set(turn, turn->candidate->want, &set, &outcome) < 0)
        return WEIR_E_NO_MEMORY;
    if (outcome == OUTCOME_STARTED)
        turn->candidate->code = WEIR_REASON_ALL_RUNNING;
    return 0;
}

static int take(struct turn *turn)
{
    const struct weir_want *want = &turn->line->wants[turn->candidate->want];

    /* Its gang may have been asked to leave since it was put on the line. */
    if (!want->is_gang && !weir_is_independent(turn->job) &&
        !weir_gang_goes_on(&turn->tick->overlay, turn->candidate->workload)) {
        turn->candidate->code = WEIR_REASON_GANG;
        return 0;
    }
    if (want->is_gang)
        return is_hopeless(turn, want) ? 0 : place_gang(turn);
    return has_one_role(turn) && is_hopeless(turn, want) ? 0 : place_each(turn);
}

static struct turn turn_of(struct weir_line *line, struct weir_candidate *candidate)
{
    return (struct turn){
        .line = line,
        .tick = line->tick,
        .candidate = candidate,
        .job = weir_world_workload(line->tick->world, candidate->workload),
    };
}

int weir_turn_take(struct weir_line *line, struct weir_candidate *candidate,
                   enum weir_line_change *ret_change)
{
    struct turn turn = turn_of(line, candidate);
    int r = take(&turn);

    *ret_change = turn.change;
    return r;
}

int weir_turn_rehearse(struct weir_line *line, struct weir_candidate *candidate)
{
    struct turn turn = turn_of(line, candidate);

    turn.is_rehearsal = true;
    candidate->n_promised = 0;
    for (uint32_t at = turn.job->first_role; at != WEIR_NONE;
         at = weir_world_role(line->tick->world, at)->next_in_workload)
        line->roles[at].n_rehearsed = 0;
    return take(&turn);
}

#include "core/place/promise.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/sort.h"
#include "core/place/turn.h"

/* One of those to whom room in SOON was promised. */
struct promise {
    struct weir_candidate *candidate;
    uint32_t is_owed;    /* in the next decision: enum weir_owed */
    uint32_t n_promised; /* tasks, before the rehearsals */
};

struct promises {
    struct weir_line *line;
    struct promise *items; /* the owed first, in their order; the others as they came */
    uint32_t n;
};

/* ---- who comes first next time ---- */

static void raise_owed(struct promises *p, uint32_t workload, enum weir_owed owed)
{
    struct weir_overlay_job *job = &p->line->tick->overlay.jobs[workload];

    if (owed > job->is_owed)
        job->is_owed = owed;
}

static void mark_owed(struct promises *p)
{
    struct weir_overlay *overlay = &p->line->tick->overlay;
    const struct weir_draft *draft = &p->line->tick->draft;

    for (uint32_t i = 0; i < p->n; i++)
        overlay->jobs[p->items[i].candidate->workload].is_owed = WEIR_OWED_NOTHING;
    weir_line_mark_claims(p->line->tick);
    for (uint32_t i = 0; i < overlay->n_running; i++) {
        const struct weir_running *r = &overlay->running[i];

        if (r->state == WEIR_RUNNING_LEAVING && weir_line_owed_by(p->line, r) != WEIR_OWED_NOTHING)
            raise_owed(p, r->row->for_whom, weir_line_owed_by(p->line, r));
    }
    for (uint32_t i = 0; i < draft->n_actions; i++) {
        const struct weir_action *action = &draft->actions[i];

        if (action->kind == WEIR_ACTION_EVICT && action->for_whom != WEIR_NONE)
            raise_owed(p, action->for_whom,
                       action->cause == WEIR_CAUSE_RECLAIMED ? WEIR_OWED_BY_GUARANTEE
                                                             : WEIR_OWED_BY_PRIORITY);
    }
}

static int compare_promises(const void *a, const void *b, const void *ctx)
{
    const struct promise *x = a;
    const struct promise *y = b;

    (void)ctx;
    if (x->is_owed != y->is_owed)
        return x->is_owed > y->is_owed ? -1 : 1;
    return x->is_owed == WEIR_OWED_NOTHING ? 0 : weir_line_compare(x->candidate, y->candidate);
}

static int sort_promises(struct promises *p)
{
    mark_owed(p);
    for (uint32_t i = 0; i < p->n; i++)
        p->items[i].is_owed = p->line->tick->overlay.jobs[p->items[i].candidate->workload].is_owed;
    return weir_sort(p->items, p->n, sizeof(p->items[0]), compare_promises, NULL,
                     p->line->tick->arena);
}

static int list_promises(struct promises *p)
{
    p->items = weir_arena_new_n(p->line->tick->arena, struct promise, p->line->n_taken);
    if (p->items == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < p->line->n_taken; i++) {
        struct weir_candidate *c = &p->line->candidates[p->line->order[i]];

        if (c->n_promised > 0)
            p->items[p->n++] = (struct promise){.candidate = c, .n_promised = c->n_promised};
    }
    return sort_promises(p);
}

/* ---- the rehearsal ---- */

static int list_started(struct weir_line *line)
{
    const struct weir_draft *draft = &line->tick->draft;

    line->started = weir_arena_new_n(line->tick->arena, uint8_t,
                                     weir_world_table(line->tick->world, WEIR_TABLE_TASKS)->n_rows);
    if (line->started == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < draft->n_actions; i++)
        if (draft->actions[i].kind == WEIR_ACTION_START)
            line->started[draft->actions[i].task] = 1;
    return 0;
}

/* Every task for which others were asked now must be among those that find room; if nobody was, as
 * many as before. */
static bool is_content(const struct promises *p, const struct promise *promise)
{
    const struct weir_world *world = p->line->tick->world;
    const struct weir_candidate *c = promise->candidate;

    if (c->n_asked == 0)
        return c->n_promised >= promise->n_promised;
    for (uint32_t at = weir_world_workload(world, c->workload)->first_role; at != WEIR_NONE;
         at = weir_world_role(world, at)->next_in_workload)
        if (p->line->roles[at].n_rehearsed < p->line->roles[at].n_asked)
            return false;
    return true;
}

/* 1, or 0 with the first that does not find what it needs in *ret_failed. */
static int rehearse_owed(struct promises *p, uint32_t *ret_failed)
{
    *ret_failed = WEIR_NONE;
    for (uint32_t i = 0; i < p->n && p->items[i].is_owed != WEIR_OWED_NOTHING; i++) {
        if (weir_turn_rehearse(p->line, p->items[i].candidate) < 0)
            return WEIR_E_NO_MEMORY;
        if (*ret_failed == WEIR_NONE && !is_content(p, &p->items[i]))
            *ret_failed = i;
    }
    return *ret_failed == WEIR_NONE;
}

/* ---- withdrawing ---- */

static int let_stay(struct weir_line *line, const struct weir_action *action)
{
    struct weir_overlay *overlay = &line->tick->overlay;
    uint32_t running = overlay->jobs[action->workload].first_running;

    while (overlay->running[running].task != action->task)
        running++;
    return weir_overlay_stay(overlay, running);
}

/* Those who were asked just now to leave for this one need not. */
static int withdraw(struct promises *p, struct promise *promise)
{
    struct weir_candidate *candidate = promise->candidate;
    struct weir_draft *draft = &p->line->tick->draft;
    uint32_t n = 0;

    for (uint32_t i = 0; i < draft->n_actions; i++) {
        struct weir_action action = draft->actions[i];

        if (action.kind == WEIR_ACTION_EVICT && action.for_whom == candidate->workload) {
            if (let_stay(p->line, &action) < 0)
                return WEIR_E_NO_MEMORY;
            continue;
        }
        action.order = n;
        draft->actions[n++] = action;
    }
    draft->n_actions = n;
    p->line->n_asked -= candidate->n_asked;
    candidate->n_asked = 0;
    promise->n_promised = 0;
    p->line->tick->overlay.freed++; /* who found nothing beside it may look again */
    return sort_promises(p);
}

/* The one that fails, if others were asked for it now; else the last for whom they were. */
static struct promise *whom_to_disappoint(const struct promises *p, uint32_t failed)
{
    uint32_t i = failed;

    if (p->items[i].candidate->n_asked == 0)
        for (i = p->n - 1; p->items[i].candidate->n_asked == 0; i--)
            ;
    return &p->items[i];
}

static int rehearse(struct promises *p)
{
    struct weir_overlay *overlay = &p->line->tick->overlay;

    for (;;) {
        struct weir_overlay_mark mark = weir_overlay_mark(overlay);
        uint32_t failed;
        int r = rehearse_owed(p, &failed);

        if (r < 0)
            return r;
        if (r == 1 || p->line->n_asked == 0) {
            weir_overlay_keep(overlay);
            return 0;
        }
        weir_overlay_rollback(overlay, mark);
        if (withdraw(p, whom_to_disappoint(p, failed)) < 0)
            return WEIR_E_NO_MEMORY;
    }
}

int weir_promises_check(struct weir_line *line)
{
    struct promises p = {.line = line};

    if (line->n_asked == 0)
        return 0;
    if (list_promises(&p) < 0 || list_started(line) < 0)
        return WEIR_E_NO_MEMORY;
    weir_overlay_take_back(&line->tick->overlay);
    if (rehearse(&p) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < p.n; i++)
        if (p.items[i].is_owed == WEIR_OWED_NOTHING &&
            weir_turn_rehearse(line, p.items[i].candidate) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

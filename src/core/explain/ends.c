#include "core/explain/ends.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/sort.h"
#include "core/queue/quota.h"

static int compare_ends(const void *a, const void *b, const void *ctx)
{
    const struct weir_holding *x = a;
    const struct weir_holding *y = b;

    if (x->last_end_wall_ms != y->last_end_wall_ms)
        return x->last_end_wall_ms < y->last_end_wall_ms ? -1 : 1;
    return weir_key_cmp(&weir_world_workload(ctx, x->workload)->row.key,
                        &weir_world_workload(ctx, y->workload)->row.key);
}

/* All holders in the order of their ends. Nothing is decided while it is explained, so once does.
 */
static int list_ends(struct weir_explainer *x)
{
    const struct weir_holder_query all = {.resource = WEIR_NONE,
                                          .node = WEIR_NONE,
                                          .queue = WEIR_NONE};
    const struct weir_world *world = x->tick->world;

    if (x->place_in_ends != NULL)
        return 0;
    if (weir_holders_find(x, &all) < 0)
        return WEIR_E_NO_MEMORY;
    x->n_ends = x->n_holdings;
    x->ends = weir_arena_new_n(x->tick->arena, struct weir_holding, x->n_ends);
    x->place_in_ends = weir_arena_new_n(x->tick->arena, uint32_t,
                                        weir_world_table(world, WEIR_TABLE_WORKLOADS)->n_rows);
    if (x->ends == NULL || x->place_in_ends == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < x->n_ends; i++)
        x->ends[i] = x->holdings[i];
    if (weir_sort(x->ends, x->n_ends, sizeof(x->ends[0]), compare_ends, world, x->tick->arena) < 0)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < x->n_ends; i++)
        x->place_in_ends[x->ends[i].workload] = i + 1;
    x->n_steps_before_ends = x->overlay->n_steps;
    return 0;
}

static int end_running(struct weir_overlay *overlay, uint32_t workload, bool only_leaving)
{
    const struct weir_overlay_job *job = &overlay->jobs[workload];

    for (uint32_t i = job->first_running; i < job->first_running + job->n_running; i++)
        if (overlay->running[i].state != WEIR_RUNNING_GONE &&
            (!only_leaving || overlay->running[i].state == WEIR_RUNNING_LEAVING) &&
            weir_overlay_leave(overlay, i, WEIR_RUNNING_GONE) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

/* The ends from `from` to before `to` come to pass. */
static int let_end(struct weir_explainer *x, const struct weir_ends_query *query, uint32_t from,
                   uint32_t to)
{
    bool only_leaving = query->promised_to != WEIR_NONE;
    struct weir_overlay *overlay = x->overlay;

    for (uint32_t i = from; i < to; i++)
        if (end_running(overlay, x->ends[i].workload, only_leaving) < 0)
            return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; !only_leaving && i < x->n_steps_before_ends; i++) {
        const struct weir_overlay_step *step = &overlay->steps[i];
        uint32_t place = step->running == WEIR_NONE && step->taker.workload != WEIR_NONE
                             ? x->place_in_ends[step->taker.workload]
                             : 0;

        if (place > from && place <= to && weir_overlay_give_back(overlay, i) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* 1 with the set placed, 0, or WEIR_E_NO_MEMORY. */
static int place(struct weir_explainer *x, const struct weir_ends_query *query)
{
    if (query->limits && !weir_quota_fits_limits(x->overlay, WEIR_IN_BOTH, query->set->taker.leaf,
                                                 &query->set->amounts, NULL))
        return 0;
    return query->places ? weir_set_place(x->overlay, WEIR_IN_BOTH, query->set) : 1;
}

/* Would it fit after the ends of [from, to)? If not, they stay ended. */
static int try(struct weir_explainer *x, const struct weir_ends_query *query, uint32_t from,
               uint32_t to)
{
    struct weir_overlay_mark mark = weir_overlay_mark(x->overlay);
    int r = let_end(x, query, from, to);

    if (r == 0)
        r = place(x, query);
    if (r == 0)
        weir_overlay_keep(x->overlay);
    else
        weir_overlay_rollback(x->overlay, mark);
    return r;
}

/* The fewest of the first n ends after which it fits: 1 and their number, 0 if all are too few. In
 * steps that double, then by halves; the overlay is left as it was. */
static int find_fewest(struct weir_explainer *x, const struct weir_ends_query *query, uint32_t n,
                       uint32_t *ret_n)
{
    struct weir_overlay_mark mark = weir_overlay_mark(x->overlay);
    uint32_t below = 0; /* too few */
    uint32_t enough = 0;
    int r = try(x, query, 0, 0);

    for (uint32_t step = 1; r == 0 && below < n; step *= 2) {
        enough = n - below < step ? n : below + step;
        r = try(x, query, below, enough);
        if (r == 0)
            below = enough;
    }
    while (r == 1 && enough - below > 1) {
        uint32_t middle = below + (enough - below) / 2;
        int fits = try(x, query, below, middle);

        if (fits == 0)
            below = middle;
        else if (fits == 1)
            enough = middle;
        else
            r = fits;
    }
    weir_overlay_rollback(x->overlay, mark);
    *ret_n = enough;
    return r;
}

static int give_back_promises(struct weir_explainer *x, uint32_t workload)
{
    for (uint32_t i = 0; i < x->n_steps_before_ends; i++) {
        const struct weir_overlay_step *step = &x->overlay->steps[i];

        if (step->running == WEIR_NONE && step->views == WEIR_IN_SOON &&
            step->taker.workload == workload && weir_overlay_give_back(x->overlay, i) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static void add(const struct weir_explainer *x, uint32_t place, bool is_leaving,
                struct weir_ends *ends)
{
    const struct weir_holding *end = &x->ends[place];

    if (ends->n == WEIR_ENDS_MAX) {
        ends->n_more++;
        return;
    }
    ends->items[ends->n++] =
        (struct weir_awaited){.workload = end->workload,
                              .is_assumed = !is_leaving && end->is_assumed,
                              .end_p50_wall_ms =
                                  is_leaving ? end->last_leave_wall_ms : end->last_end_wall_ms};
}

static bool is_among(const struct weir_ends *ends, uint32_t workload)
{
    for (uint32_t i = 0; i < ends->n; i++)
        if (ends->items[i].workload == workload)
            return true;
    return false;
}

int weir_ends_find(struct weir_explainer *x, const struct weir_ends_query *query,
                   struct weir_ends *ret_ends)
{
    bool only_leaving = query->promised_to != WEIR_NONE;
    uint32_t n;
    int r = list_ends(x);

    ret_ends->n = 0;
    ret_ends->n_more = 0;
    if (r == 0 && only_leaving)
        r = give_back_promises(x, query->promised_to);
    if (r == 0 && query->certain != WEIR_NONE)
        r = end_running(x->overlay, query->certain, false);
    if (r == 0)
        r = find_fewest(x, query, x->n_ends, &n);
    if (r <= 0)
        return r;
    /* The last of the fewest is needed; what else is, of those before it? */
    while (n > 0) {
        add(x, n - 1, only_leaving, ret_ends);
        if (ret_ends->n == WEIR_ENDS_MAX) {
            ret_ends->n_more = n - 1;
            r = let_end(x, query, 0, n);
            break;
        }
        r = let_end(x, query, n - 1, n);
        if (r == 0)
            r = find_fewest(x, query, n - 1, &n);
        if (r < 0)
            return r;
    }
    if (query->certain != WEIR_NONE && !is_among(ret_ends, query->certain))
        add(x, x->place_in_ends[query->certain] - 1, false, ret_ends);
    return r < 0 ? r : place(x, query);
}

int weir_ends_first(struct weir_explainer *x, struct weir_ends *ret_ends)
{
    if (list_ends(x) < 0)
        return WEIR_E_NO_MEMORY;
    ret_ends->n = 0;
    ret_ends->n_more = 0;
    for (uint32_t i = 0; i < x->n_ends; i++)
        add(x, i, false, ret_ends);
    return 0;
}

static bool is_leaving(const struct weir_overlay *overlay, uint32_t workload)
{
    const struct weir_overlay_job *job = &overlay->jobs[workload];

    for (uint32_t i = job->first_running; i < job->first_running + job->n_running; i++)
        if (overlay->running[i].state == WEIR_RUNNING_LEAVING)
            return true;
    return false;
}

int weir_ends_leaving(struct weir_explainer *x, struct weir_ends *ret_ends)
{
    if (list_ends(x) < 0)
        return WEIR_E_NO_MEMORY;
    ret_ends->n = 0;
    ret_ends->n_more = 0;
    for (uint32_t i = x->n_ends; i-- > 0;)
        if (is_leaving(x->overlay, x->ends[i].workload))
            add(x, i, true, ret_ends);
    return 0;
}

int weir_ends_write(struct weir_explainer *x, const struct weir_ends *ends,
                    struct weir_verdict *verdict)
{
    verdict->unblock_first_end = x->tick->draft.n_ends;
    verdict->unblock_n_ends = ends->n;
    verdict->unblock_n_more_ends = ends->n_more;
    for (uint32_t i = 0; i < ends->n; i++)
        if (weir_draft_end(&x->tick->draft, ends->items[i]) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

int weir_ends_wait_for(struct weir_explainer *x, enum weir_unblock_kind kind,
                       const struct weir_ends *ends, struct weir_verdict *verdict)
{
    if (ends->n == 0)
        return 0;
    verdict->unblock = kind;
    verdict->unblock_subject_kind = WEIR_SUBJECT_WORKLOAD;
    verdict->unblock_subject = ends->items[0].workload;
    return weir_ends_write(x, ends, verdict);
}

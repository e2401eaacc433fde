#include "core/queue/order.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/sort.h"
#include "base/time.h"
#include "core/queue/quota.h"

static const struct weir_queue *queue_of(const struct weir_line *line, uint32_t queue)
{
    return weir_world_queue(line->tick->world, queue);
}

/* ---- shares ---- */

__extension__ typedef unsigned __int128 u128;

/* part / whole in 1/2^32, saturating. */
static uint64_t ratio(int64_t part, int64_t whole)
{
    u128 scaled;

    if (part <= 0)
        return 0;
    if (whole <= 0)
        return UINT64_MAX;
    scaled = ((u128)(uint64_t)part << 32) / (uint64_t)whole;
    return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* The largest over all resources of held / guaranteed, or of what is held beyond as part of the
 * fleet. */
static uint64_t dominant_share(const struct weir_line *line, uint32_t queue, bool is_within)
{
    const struct weir_overlay *overlay = &line->tick->overlay;
    const struct weir_queue *row = queue_of(line, queue);
    uint64_t largest = 0;

    for (uint32_t r = 0; r < overlay->n_resources; r++) {
        int64_t held = weir_overlay_held(overlay, WEIR_VIEW_SOON, queue, r);
        int64_t guaranteed = row->guaranteed.of[r];
        uint64_t share;

        if (is_within)
            share = guaranteed > 0 ? ratio(held, guaranteed) : 0;
        else
            share = held > guaranteed ? ratio(held - guaranteed, line->totals[r]) : 0;
        if (share > largest)
            largest = share;
    }
    return largest;
}

static bool is_within(const struct weir_line *line, uint32_t queue)
{
    const struct weir_candidate *head = &line->candidates[line->queues[queue].head];

    return weir_quota_is_within(&line->tick->overlay, queue, &line->wants[head->want].amounts);
}

static int compare_shares(const struct weir_line *line, uint32_t a, uint32_t b, bool within)
{
    u128 x = dominant_share(line, a, within);
    u128 y = dominant_share(line, b, within);

    if (!within) {
        x *= queue_of(line, b)->weight;
        y *= queue_of(line, a)->weight;
    }
    return (x > y) - (x < y);
}

/* Who of two children of one queue comes first. Both have a head. */
static int compare_queues(const struct weir_line *line, uint32_t a, uint32_t b)
{
    const struct weir_queue *x = queue_of(line, a);
    const struct weir_queue *y = queue_of(line, b);
    bool x_within = is_within(line, a);
    bool y_within = is_within(line, b);
    int by_share;

    if (x_within != y_within)
        return x_within ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    by_share = compare_shares(line, a, b, x_within);
    if (by_share != 0)
        return by_share;
    if (x->created_wall_ms != y->created_wall_ms)
        return x->created_wall_ms < y->created_wall_ms ? -1 : 1;
    return weir_key_cmp(&x->row.key, &y->row.key);
}

/* ---- the walk ---- */

static bool is_first(const struct weir_line *line, uint32_t queue, uint32_t best)
{
    return line->queues[queue].head != WEIR_NONE &&
           (best == WEIR_NONE || compare_queues(line, queue, best) < 0);
}

static void refresh_one(struct weir_line *line, uint32_t queue)
{
    struct weir_line_queue *q = &line->queues[queue];
    uint32_t best = WEIR_NONE;

    q->head = q->next < q->end ? q->next : WEIR_NONE;
    if (q->head != WEIR_NONE || q->n_left == 0)
        return;
    for (uint32_t child = queue_of(line, queue)->first_child; child != WEIR_NONE;
         child = queue_of(line, child)->next_sibling)
        if (is_first(line, child, best))
            best = child;
    if (best != WEIR_NONE)
        q->head = line->queues[best].head;
}

static void refresh_root(struct weir_line *line)
{
    line->root = WEIR_NONE;
    for (uint32_t i = 0; i < line->n_roots; i++)
        if (is_first(line, line->roots[i], line->root))
            line->root = line->roots[i];
}

static void refresh_path(struct weir_line *line, uint32_t leaf)
{
    for (uint32_t queue = leaf; queue != WEIR_NONE; queue = queue_of(line, queue)->parent)
        refresh_one(line, queue);
}

/* Leaf after leaf: a queue above several is refreshed several times, the last time with all its
 * children fresh. */
static void refresh_all(struct weir_line *line)
{
    for (uint32_t i = line->n_owed; i < line->n_candidates; i++) {
        const struct weir_line_queue *q = &line->queues[line->candidates[i].leaf];

        if (q->next == i)
            refresh_path(line, line->candidates[i].leaf);
    }
    refresh_root(line);
}

static void count_path(struct weir_line *line, const struct weir_candidate *c, int32_t sign)
{
    for (uint32_t queue = c->leaf; queue != WEIR_NONE; queue = queue_of(line, queue)->parent)
        line->queues[queue].n_left += (uint32_t)sign;
}

/* Where the next of a leaf asks for the same as the last, and nothing else has changed, every
 * comparison would come out as before. */
static bool may_step(const struct weir_line *line, const struct weir_candidate *last)
{
    const struct weir_line_queue *q = &line->queues[last->leaf];

    return q->next < q->end && line->candidates[q->next].want == last->want;
}

static void advance(struct weir_line *line, enum weir_line_change change)
{
    const struct weir_candidate *last = &line->candidates[line->last];

    if (change == WEIR_LINE_SAME && may_step(line, last)) {
        for (uint32_t queue = last->leaf; queue != WEIR_NONE; queue = queue_of(line, queue)->parent)
            line->queues[queue].head = line->queues[last->leaf].next;
        return;
    }
    refresh_path(line, last->leaf);
    if (change == WEIR_LINE_EVERYWHERE)
        refresh_all(line);
    else
        refresh_root(line);
}

/* Those for whom others are leaving come before the tree is walked, so that nobody takes their
 * room, neither from another queue nor from before them in their own. */
static uint32_t next_owed(struct weir_line *line)
{
    uint32_t next = line->n_taken;

    line->order[line->n_taken++] = next;
    return next;
}

uint32_t weir_line_next(struct weir_line *line, enum weir_line_change change)
{
    if (line->n_taken < line->n_owed)
        return next_owed(line);
    if (line->n_taken == line->n_owed)
        refresh_all(line);
    else
        advance(line, change);
    line->last = line->root != WEIR_NONE ? line->queues[line->root].head : WEIR_NONE;
    if (line->last == WEIR_NONE)
        return WEIR_NONE;
    line->order[line->n_taken++] = line->last;
    line->queues[line->candidates[line->last].leaf].next++;
    count_path(line, &line->candidates[line->last], -1);
    return line->last;
}

/* ---- setting up ---- */

static int64_t minutes_at(const struct weir_line *line, const struct weir_queue *queue, uint32_t i)
{
    return (int64_t)weir_world_span_at(line->tick->world, queue->open_hours, i) * WEIR_TIME_MIN;
}

/* Is it open now, and if not, when next? */
static bool is_open(const struct weir_line *line, const struct weir_queue *queue, int64_t *opens)
{
    int64_t since = line->tick->now.wall_ms - queue->open_hours_base_wall_ms;
    uint32_t n = weir_world_span_len(line->tick->world, queue->open_hours);

    *opens = INT64_MAX;
    if (n == 0)
        return true;
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        int64_t from = minutes_at(line, queue, i);
        int64_t to = minutes_at(line, queue, i + 1);

        if (from <= since && since < to)
            return true;
        if (from > since && queue->open_hours_base_wall_ms + from < *opens)
            *opens = queue->open_hours_base_wall_ms + from;
    }
    return false;
}

static void set_up_queue(struct weir_line *line, uint32_t row)
{
    struct weir_line_queue *q = &line->queues[row];
    const struct weir_queue *above;

    q->head = WEIR_NONE;
    q->closed = WEIR_NONE;
    q->first_running = WEIR_NONE;
    q->lowest_running = INT32_MAX;
    q->isolation = weir_world_queue_isolation(line->tick->world, row);
    for (uint32_t queue = row; queue != WEIR_NONE; queue = above->parent) {
        int64_t opens;

        above = queue_of(line, queue);
        if (is_open(line, above, &opens) || (q->closed != WEIR_NONE && opens <= q->opens_wall_ms))
            continue;
        q->closed = queue;
        q->opens_wall_ms = opens;
    }
    if (queue_of(line, row)->parent == WEIR_NONE)
        line->roots[line->n_roots++] = row;
}

static void index_running(struct weir_line *line)
{
    struct weir_overlay *overlay = &line->tick->overlay;

    for (uint32_t i = overlay->n_running; i-- > 0;) {
        struct weir_running *r = &overlay->running[i];
        struct weir_line_queue *q = &line->queues[r->job->queue];

        r->next_in_queue = q->first_running;
        q->first_running = i;
        if (r->job->priority < q->lowest_running)
            q->lowest_running = r->job->priority;
    }
}

static int set_up_queues(struct weir_line *line)
{
    const struct weir_world *world = line->tick->world;
    const struct weir_overlay *overlay = &line->tick->overlay;
    const struct weir_table *table = weir_world_table(world, WEIR_TABLE_QUEUES);

    line->queues = weir_arena_new_n(line->tick->arena, struct weir_line_queue, table->n_rows);
    line->roots = weir_arena_new_n(line->tick->arena, uint32_t, table->n_live);
    line->totals = weir_arena_new_n(line->tick->arena, int64_t, overlay->n_resources);
    if (line->queues == NULL || line->roots == NULL || line->totals == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < overlay->n_nodes; i++)
        for (uint32_t r = 0; r < overlay->n_resources; r++)
            line->totals[r] += overlay->nodes[i].row->capacity.of[r];
    for (uint32_t row = weir_world_first(world, WEIR_TABLE_QUEUES); row != WEIR_NONE;
         row = weir_world_after(world, WEIR_TABLE_QUEUES, row))
        set_up_queue(line, row);
    index_running(line);
    return 0;
}

int weir_line_compare(const struct weir_candidate *x, const struct weir_candidate *y)
{
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->submitted_wall_ms != y->submitted_wall_ms)
        return x->submitted_wall_ms < y->submitted_wall_ms ? -1 : 1;
    return weir_key_cmp(x->key, y->key);
}

static int compare_idle(const void *a, const void *b, const void *ctx)
{
    (void)ctx;
    return weir_line_compare(a, b);
}

static int compare_candidates(const void *a, const void *b, const void *ctx)
{
    const struct weir_candidate *x = a;
    const struct weir_candidate *y = b;

    if (x->is_owed != y->is_owed)
        return x->is_owed > y->is_owed ? -1 : 1;
    if (x->is_owed == WEIR_OWED_NOTHING && x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    (void)ctx;
    return weir_line_compare(x, y);
}

enum weir_owed weir_line_owed_by(const struct weir_line *line, const struct weir_running *r)
{
    const struct weir_task *task = r->row;

    if (task->state != WEIR_TASK_STOPPING ||
        task->for_whom >= weir_world_table(line->tick->world, WEIR_TABLE_WORKLOADS)->n_rows)
        return WEIR_OWED_NOTHING;
    /* Whoever was cancelled while leaving still leaves the room to whom it was being made for. */
    return task->stop_cause == WEIR_CAUSE_RECLAIMED ? WEIR_OWED_BY_GUARANTEE
                                                    : WEIR_OWED_BY_PRIORITY;
}

static void raise_owed(struct weir_overlay *overlay, uint32_t workload, enum weir_owed owed)
{
    if (owed > overlay->jobs[workload].is_owed)
        overlay->jobs[workload].is_owed = owed;
}

void weir_line_mark_claims(struct weir_tick *tick)
{
    struct weir_overlay *overlay = &tick->overlay;
    const struct weir_world *world = tick->world;
    uint32_t n_workloads = weir_world_table(world, WEIR_TABLE_WORKLOADS)->n_rows;

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_TASKS);
         overlay->has_shaping && i != WEIR_NONE; i = weir_world_after(world, WEIR_TABLE_TASKS, i)) {
        const struct weir_task *task = weir_world_task(world, i);
        bool has_left = task->state == WEIR_TASK_QUEUED && (task->cause == WEIR_CAUSE_PREEMPTED ||
                                                            task->cause == WEIR_CAUSE_RECLAIMED);

        if (!has_left || task->for_whom >= n_workloads ||
            weir_world_workload(world, task->for_whom)->n_waiting == 0 ||
            !weir_tick_awaits(tick, task->ended_wall_ms, tick->policy->claim_ms))
            continue;
        raise_owed(overlay, task->for_whom,
                   task->cause == WEIR_CAUSE_RECLAIMED ? WEIR_OWED_BY_GUARANTEE
                                                       : WEIR_OWED_BY_PRIORITY);
    }
}

/* Marks the workloads for which others are leaving, or have left. */
static void mark_owed(struct weir_line *line)
{
    struct weir_overlay *overlay = &line->tick->overlay;

    for (uint32_t i = 0; i < overlay->n_running; i++) {
        const struct weir_running *r = &overlay->running[i];
        enum weir_owed owed = weir_line_owed_by(line, r);

        if (owed != WEIR_OWED_NOTHING)
            raise_owed(overlay, r->row->for_whom, owed);
    }
    weir_line_mark_claims(line->tick);
}

int weir_line_init(struct weir_line *line, struct weir_tick *tick)
{
    *line = (struct weir_line){.tick = tick, .last = WEIR_NONE, .root = WEIR_NONE};
    mark_owed(line);
    if (set_up_queues(line) < 0 || weir_line_collect(line) < 0 ||
        weir_sort(line->candidates, line->n_candidates, sizeof(line->candidates[0]),
                  compare_candidates, NULL, tick->arena) < 0 ||
        weir_sort(line->idle, line->n_idle, sizeof(line->idle[0]), compare_idle, NULL,
                  tick->arena) < 0)
        return WEIR_E_NO_MEMORY;
    while (line->n_owed < line->n_candidates &&
           line->candidates[line->n_owed].is_owed != WEIR_OWED_NOTHING)
        line->n_owed++;
    for (uint32_t i = line->n_owed; i < line->n_candidates; i++) {
        struct weir_line_queue *q = &line->queues[line->candidates[i].leaf];

        if (q->end == 0)
            q->next = i;
        q->end = i + 1;
        count_path(line, &line->candidates[i], 1);
    }
    return 0;
}

#include "core/preempt/hunt.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/sort.h"
#include "core/queue/quota.h"

static uint32_t parent_of(const struct weir_hunt *hunt, uint32_t queue)
{
    return weir_world_queue(hunt->tick->world, queue)->parent;
}

void weir_hunt_init(struct weir_hunt *hunt, struct weir_line *line,
                    const struct weir_candidate *candidate, struct weir_set *set)
{
    *hunt = (struct weir_hunt){
        .line = line,
        .tick = line->tick,
        .overlay = &line->tick->overlay,
        .candidate = candidate,
        .set = set,
    };
    for (uint32_t queue = set->taker.leaf;
         queue != WEIR_NONE && weir_quota_is_within(hunt->overlay, queue, &set->amounts);
         queue = parent_of(hunt, queue))
        hunt->n_within++;
}

/* ---- who may be asked ---- */

static bool leaves_whole(const struct weir_hunt *hunt, const struct weir_running *r)
{
    const struct weir_overlay_job *state = &hunt->overlay->jobs[r->workload];

    return !weir_is_independent(r->job) &&
           state->n_live - 1 + state->n_succeeded < weir_gang_min(r->job);
}

static struct weir_amounts freed_by(const struct weir_hunt *hunt, const struct weir_running *r)
{
    const struct weir_overlay_job *state = &hunt->overlay->jobs[r->workload];
    struct weir_amounts freed = {{0}};

    if (!leaves_whole(hunt, r)) {
        weir_quota_add_shape(&freed, r->shape, 1);
        return freed;
    }
    for (uint32_t i = 0; i < state->n_running; i++) {
        const struct weir_running *member = &hunt->overlay->running[state->first_running + i];

        if (member->state == WEIR_RUNNING_LIVE)
            weir_quota_add_shape(&freed, member->shape, 1);
    }
    return freed;
}

/* How many queues of the requester's path lie below `queue`; all of them if it is not on it. */
static uint32_t queues_below(const struct weir_hunt *hunt, uint32_t queue, bool *is_on_path)
{
    uint32_t n = 0;
    uint32_t at = hunt->set->taker.leaf;

    while (at != WEIR_NONE && at != queue) {
        at = parent_of(hunt, at);
        n++;
    }
    *is_on_path = at == queue;
    return n;
}

/* Would all that goes on running in the queue of `r`, at its priority or above, without what is
 * freed, still fill the guarantee of this resource? */
static bool stays_filled(const struct weir_hunt *hunt, const struct weir_running *r,
                         const struct weir_amounts *freed, uint32_t resource)
{
    int64_t left = -freed->of[resource] -
                   weir_world_queue(hunt->tick->world, r->job->queue)->guaranteed.of[resource];
    const struct weir_running *other;

    for (uint32_t at = hunt->line->queues[r->job->queue].first_running; at != WEIR_NONE && left < 0;
         at = other->next_in_queue) {
        other = &hunt->overlay->running[at];
        if (other->state != WEIR_RUNNING_LIVE || other->job->priority < r->job->priority)
            continue;
        for (uint32_t i = 0; i < other->shape->n_amounts; i++)
            if (other->shape->amounts[i].resource == resource)
                left += other->shape->amounts[i].amount;
    }
    return left >= 0;
}

/* Rules 1 and 2 of victims.h. */
static bool breaks_guarantee(const struct weir_hunt *hunt, const struct weir_running *r,
                             const struct weir_amounts *freed, bool is_own)
{
    const struct weir_queue *queue = weir_world_queue(hunt->tick->world, r->job->queue);
    bool gpus = weir_quota_asks_for_gpus(hunt->overlay, freed);

    for (uint32_t i = 0; i < hunt->overlay->n_resources; i++) {
        bool counts =
            is_own ? hunt->set->amounts.of[i] == 0 : weir_overlay_is_gpu(hunt->overlay, i) == gpus;

        if (counts && freed->of[i] > 0 && queue->guaranteed.of[i] > 0 &&
            !stays_filled(hunt, r, freed, i))
            return true;
    }
    return false;
}

static bool may_preempt(const struct weir_hunt *hunt, const struct weir_running *r)
{
    struct weir_amounts freed;

    if ((hunt->tick->policy->actions & WEIR_POLICY_PREEMPT) == 0 ||
        r->job->priority >= hunt->candidate->priority)
        return false;
    freed = freed_by(hunt, r);
    return !breaks_guarantee(hunt, r, &freed, true);
}

static bool may_reclaim(const struct weir_hunt *hunt, const struct weir_running *r)
{
    struct weir_amounts freed;
    uint32_t queue = r->job->queue;

    if ((hunt->tick->policy->actions & WEIR_POLICY_RECLAIM) == 0 || hunt->n_within == 0 ||
        !weir_world_queue(hunt->tick->world, queue)->preemptible)
        return false;
    freed = freed_by(hunt, r);
    if (breaks_guarantee(hunt, r, &freed, false))
        return false;
    for (;;) {
        bool is_common;
        uint32_t below = queues_below(hunt, queue, &is_common);

        if (is_common)
            return hunt->n_within >= below;
        if (!weir_quota_can_give(hunt->overlay, queue, &hunt->set->amounts, &freed))
            return false;
        queue = parent_of(hunt, queue);
    }
}

static uint32_t cause_to_leave(const struct weir_hunt *hunt, const struct weir_running *r)
{
    if (r->state != WEIR_RUNNING_LIVE || !r->job->preemptible ||
        r->workload == hunt->candidate->workload)
        return WEIR_CAUSE_NONE;
    /* What has just been started for a gang is no use without it. */
    if (!weir_is_independent(r->job) && hunt->overlay->jobs[r->workload].is_growing)
        return WEIR_CAUSE_NONE;
    if (r->job->queue == hunt->set->taker.leaf)
        return may_preempt(hunt, r) ? WEIR_CAUSE_PREEMPTED : WEIR_CAUSE_NONE;
    return may_reclaim(hunt, r) ? WEIR_CAUSE_RECLAIMED : WEIR_CAUSE_NONE;
}

/* ---- the list ---- */

static int64_t work_lost_ms(const struct weir_hunt *hunt, const struct weir_running *r)
{
    int64_t since = r->row->started_mono_ms > r->row->checkpoint_mono_ms
                        ? r->row->started_mono_ms
                        : r->row->checkpoint_mono_ms;

    return hunt->tick->now.mono_ms - since;
}

static int compare_units(const void *a, const void *b, const void *ctx)
{
    const struct weir_unit *x = a;
    const struct weir_unit *y = b;

    (void)ctx;
    if (x->is_own != y->is_own)
        return x->is_own ? 1 : -1;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    if (x->lost_ms != y->lost_ms)
        return x->lost_ms < y->lost_ms ? -1 : 1;
    return (x->running < y->running) - (x->running > y->running);
}

static int add_unit(struct weir_hunt *hunt, uint32_t running)
{
    const struct weir_running *r = &hunt->overlay->running[running];

    if (cause_to_leave(hunt, r) == WEIR_CAUSE_NONE)
        return 0;
    if (weir_arena_grow(hunt->tick->arena, &hunt->units, &hunt->cap_units, hunt->n_units + 1,
                        sizeof(hunt->units[0])) < 0)
        return WEIR_E_NO_MEMORY;
    hunt->units[hunt->n_units++] =
        (struct weir_unit){.lost_ms = work_lost_ms(hunt, r),
                           .priority = r->job->priority,
                           .running = running,
                           .is_own = r->job->queue == hunt->set->taker.leaf};
    return 0;
}

int weir_hunt_list(struct weir_hunt *hunt, uint32_t node)
{
    const struct weir_overlay *overlay = hunt->overlay;

    hunt->n_units = 0;
    if (node == WEIR_NONE) {
        for (uint32_t i = 0; i < overlay->n_running; i++)
            if (add_unit(hunt, i) < 0)
                return WEIR_E_NO_MEMORY;
    } else {
        for (uint32_t i = overlay->nodes[node].first_running; i != WEIR_NONE;
             i = overlay->running[i].next_on_node)
            if (add_unit(hunt, i) < 0)
                return WEIR_E_NO_MEMORY;
    }
    return weir_sort(hunt->units, hunt->n_units, sizeof(hunt->units[0]), compare_units, NULL,
                     hunt->tick->arena);
}

/* ---- taking and sparing ---- */

static int add_victim(struct weir_hunt *hunt, uint32_t running, uint32_t cause)
{
    if (weir_arena_grow(hunt->tick->arena, &hunt->victims, &hunt->cap_victims, hunt->n_victims + 1,
                        sizeof(hunt->victims[0])) < 0)
        return WEIR_E_NO_MEMORY;
    hunt->victims[hunt->n_victims++] = (struct weir_victim){running, cause, hunt->n_taken};
    return weir_overlay_leave(hunt->overlay, running, WEIR_RUNNING_LEAVING);
}

int weir_hunt_take(struct weir_hunt *hunt, uint32_t running)
{
    const struct weir_running *r = &hunt->overlay->running[running];
    const struct weir_overlay_job *state = &hunt->overlay->jobs[r->workload];
    uint32_t cause = cause_to_leave(hunt, r);

    if (cause == WEIR_CAUSE_NONE)
        return 0;
    hunt->n_taken++;
    if (!leaves_whole(hunt, r))
        return add_victim(hunt, running, cause) < 0 ? WEIR_E_NO_MEMORY : 1;
    for (uint32_t i = 0; i < state->n_running; i++)
        if (hunt->overlay->running[state->first_running + i].state == WEIR_RUNNING_LIVE &&
            add_victim(hunt, state->first_running + i, cause) < 0)
            return WEIR_E_NO_MEMORY;
    return 1;
}

int weir_hunt_spare(struct weir_hunt *hunt, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (weir_overlay_stay(hunt->overlay, hunt->victims[first + i].running) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

int weir_hunt_take_again(struct weir_hunt *hunt, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (weir_overlay_leave(hunt->overlay, hunt->victims[first + i].running,
                               WEIR_RUNNING_LEAVING) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

uint32_t weir_hunt_last_unit(const struct weir_hunt *hunt, uint32_t from, uint32_t end)
{
    uint32_t n = 1;

    while (end - n > from && hunt->victims[end - n - 1].unit == hunt->victims[end - 1].unit)
        n++;
    return n;
}

void weir_hunt_forget(struct weir_hunt *hunt, uint32_t first, uint32_t n)
{
    memmove(hunt->victims + first, hunt->victims + first + n,
            (hunt->n_victims - first - n) * sizeof(hunt->victims[0]));
    hunt->n_victims -= n;
}

/* ---- cost ---- */

struct weir_hunt_cost weir_hunt_cost(const struct weir_hunt *hunt, uint32_t from)
{
    struct weir_hunt_cost cost = {.own_priority = INT32_MIN, .priority = INT32_MIN};

    for (uint32_t i = from; i < hunt->n_victims; i++) {
        const struct weir_running *r = &hunt->overlay->running[hunt->victims[i].running];
        int32_t *dearest =
            r->job->queue == hunt->set->taker.leaf ? &cost.own_priority : &cost.priority;

        cost.mgpu += r->shape->device_mgpu * r->shape->n_devices;
        cost.lost_ms += work_lost_ms(hunt, r);
        if (r->job->priority > *dearest)
            *dearest = r->job->priority;
        cost.n++;
    }
    return cost;
}

bool weir_hunt_is_cheaper(const struct weir_hunt_cost *a, const struct weir_hunt_cost *b)
{
    if (a->own_priority != b->own_priority)
        return a->own_priority < b->own_priority;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->mgpu != b->mgpu)
        return a->mgpu < b->mgpu;
    if (a->n != b->n)
        return a->n < b->n;
    return a->lost_ms < b->lost_ms;
}

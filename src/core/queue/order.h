/* core/queue/order.h — who is next.
 *
 * The queue tree is walked from the roots: at each level the child that comes first, in the end the
 * first workload of a leaf. Among children (compare_queues() is the seam where full fair share will
 * sit): those that stay within their guarantee with their next workload; higher queue priority; the
 * smaller dominant share, which is held / guaranteed for those within, and what is held beyond the
 * guarantee as part of the fleet, by weight, for the others; the older; the smaller key. In a leaf:
 * higher priority, submitted earlier, smaller key.
 *
 * A workload that finds no room does not keep the next one waiting. */
#ifndef WEIR_CORE_QUEUE_ORDER_H
#define WEIR_CORE_QUEUE_ORDER_H

#include "core/tick.h"

/* So many tasks of one shape. */
struct weir_want_part {
    uint32_t shape;
    uint32_t n;
};

/* What a workload asks for next, interned: workloads of a leaf that ask for the same share one, and
 * with it what was found out. */
struct weir_want {
    uint32_t leaf;
    uint32_t isolation;
    uint32_t owner;   /* string, where it matters who shares a GPU with whom, else WEIR_NONE */
    uint32_t is_gang; /* all parts together; 0: one task, of parts[0].shape */
    uint32_t n_parts;
    const struct weir_want_part *parts;
    struct weir_topology_demand topology;
    struct weir_scope scope;     /* the domain that what runs of its gang has fixed, or all */
    struct weir_amounts amounts; /* of all parts */
    uint32_t n_tasks;            /* of all parts */
    uint32_t none_now;           /* overlay.freed + 1 when no room was found, by view; 0: not yet */
    uint32_t none_soon;
    uint32_t no_victims; /* the same for a search for victims at `no_victims_priority` */
    int32_t no_victims_priority;
    uint32_t is_explained;
    struct weir_verdict verdict; /* once it is; without workload and position */
};

struct weir_candidate {
    const struct weir_key *key;
    int64_t submitted_wall_ms;
    int64_t until_wall_ms; /* while it cannot be considered: until then, or 0 */
    uint32_t workload;
    uint32_t leaf;
    uint32_t want;
    int32_t priority;
    uint32_t is_owed;       /* enum weir_owed: others are leaving to make room for it */
    uint32_t code;          /* enum weir_reason_code: why it may not be considered; NONE: it may */
    uint32_t queue;         /* the queue that is not open, where that is why; or WEIR_NONE */
    uint32_t n_placed;      /* tasks started */
    uint32_t n_asked;       /* tasks for which others were asked to leave in this decision */
    uint32_t n_promised;    /* tasks for which others leave, whenever they were asked; */
    uint32_t promised_node; /* the last of them onto this node: position; WEIR_NONE: several */
};

struct weir_line_queue {
    uint32_t next; /* its own candidates not yet considered: [next, end) */
    uint32_t end;
    uint32_t n_left; /* in the subtree */
    uint32_t head;   /* the first of the subtree, or WEIR_NONE */
    uint32_t isolation;
    uint32_t first_running; /* of this leaf, or WEIR_NONE */
    uint32_t closed;        /* the queue that is not open, itself or above; or WEIR_NONE */
    int32_t lowest_running; /* priority among what runs in this leaf; INT32_MAX: nothing does */
    int64_t opens_wall_ms;  /* while closed; INT64_MAX: never */
};

struct weir_line_role {
    uint32_t n_asked;     /* tasks for which others were asked to leave in this decision */
    uint32_t n_rehearsed; /* that found room in the last rehearsal */
};

struct weir_line {
    struct weir_tick *tick;
    struct weir_candidate *candidates; /* that may be considered, by leaf but for the owed */
    uint32_t *order;                   /* of candidates, as they were taken off the line */
    uint32_t n_candidates;
    uint32_t n_owed; /* of these, the first: others are leaving for them */
    uint32_t n_taken;
    uint32_t n_asked; /* tasks for which others were asked to leave in this decision */
    uint32_t n_idle;
    struct weir_candidate *idle; /* that may not: held, back-off…; in order of priority */
    struct weir_want *wants;
    uint32_t n_wants;
    uint32_t cap_wants;
    uint32_t *slots; /* hash table of wants: index + 1 */
    uint32_t n_slots;
    uint32_t last; /* the candidate that was taken off last, or WEIR_NONE */
    uint32_t root; /* the root that comes first, or WEIR_NONE */
    uint32_t n_roots;
    uint32_t *roots;
    struct weir_line_queue *queues; /* by row */
    int64_t *totals;                /* of the fleet, by resource */
    struct weir_want_part *parts;   /* scratch */
    uint32_t cap_parts;
    uint8_t *started;             /* by task row, for rehearsals: by this decision */
    struct weir_line_role *roles; /* by row, once somebody was asked to leave; or NULL */
};

/* After healing: everything that waits. 0 or WEIR_E_NO_MEMORY. */
int weir_line_init(struct weir_line *line, struct weir_tick *tick);

/* The want that is like this one (leaf, owner, is_gang, parts, topology and scope
 * are read): its index. */
int weir_line_intern(struct weir_line *line, const struct weir_want *like, uint32_t *ret_want);
/* What one waiting task of this role asks for, by itself or beside the gang that runs. */
int weir_line_want_of_task(struct weir_line *line, uint32_t workload, uint32_t role,
                           uint32_t *ret_want);
/* Who has a claim on the room of one that was asked to leave: its row->for_whom, or nobody. */
enum weir_owed weir_line_owed_by(const struct weir_line *line, const struct weir_running *r);
/* Where devices take time to be made ready, that room may be gone before it can be used: so who has
 * left for another leaves it to him until he has it, or until there is room for both, or for
 * policy.claim_ms. Raises is_owed of the workloads for which a waiting task had to leave. */
void weir_line_mark_claims(struct weir_tick *tick);
/* The order within a leaf, and among those for whom others leave. */
int weir_line_compare(const struct weir_candidate *a, const struct weir_candidate *b);
/* Fills line->candidates and line->idle. */
int weir_line_collect(struct weir_line *line);

/* What the last one taken off the line has changed of what queues hold. */
enum weir_line_change {
    WEIR_LINE_SAME,      /* nothing */
    WEIR_LINE_PATH,      /* of its own queue, and so of those above */
    WEIR_LINE_EVERYWHERE /* of others too */
};

/* Takes the next off the line: its index in candidates, or WEIR_NONE. */
uint32_t weir_line_next(struct weir_line *line, enum weir_line_change change);

/* Tasks of a gang that must run together. */
static inline uint32_t weir_gang_min(const struct weir_workload *job)
{
    return job->gang_min == 0 || job->gang_min > job->n_tasks ? job->n_tasks : job->gang_min;
}

/* Its tasks are jobs of their own: an array, or one task alone. */
static inline bool weir_is_independent(const struct weir_workload *job)
{
    return job->independent || job->n_tasks == 1;
}

/* A gang of which enough runs or has succeeded: what waits is extra. */
static inline bool weir_gang_goes_on(const struct weir_overlay *overlay, uint32_t workload)
{
    const struct weir_overlay_job *state = &overlay->jobs[workload];

    return state->n_live + state->n_succeeded >=
           weir_gang_min(weir_world_workload(overlay->world, workload));
}

#endif

/* core/explain/holders.h — who holds what is wanted. For explain/ only. */
#ifndef WEIR_CORE_EXPLAIN_HOLDERS_H
#define WEIR_CORE_EXPLAIN_HOLDERS_H

#include "core/explain/explain.h"
#include "core/place/gang.h"

/* What is asked of a fleet as it would be. */
enum weir_what_if {
    WEIR_WHAT_IF_EMPTY,
    WEIR_WHAT_IF_UNCORDONED,
    WEIR_WHAT_IF_OURS, /* and without foreign processes */
    WEIR_WHAT_IF_MAX
};

struct weir_holding {
    uint32_t workload;
    uint32_t is_assumed; /* the last of them to end is only assumed to run that long */
    int64_t amount;
    int64_t last_end_wall_ms;   /* of its tasks that hold */
    int64_t last_leave_wall_ms; /* of those of them that are leaving; 0: none is */
};

struct weir_explainer {
    struct weir_line *line;
    struct weir_tick *tick;
    struct weir_overlay *overlay;
    struct weir_overlay fleets[WEIR_WHAT_IF_MAX]; /* built when first asked for */
    bool has_fleet[WEIR_WHAT_IF_MAX];
    struct weir_holding *holdings;
    uint32_t n_holdings;
    uint32_t cap_holdings;
    uint32_t *holding_of; /* by workload row: index + 1 */
    /* For ends.h alone: all holders, in order of their ends. */
    struct weir_holding *ends;
    uint32_t n_ends;
    uint32_t n_steps_before_ends;
    uint32_t *place_in_ends; /* by workload row: index + 1; NULL: not listed yet */
};

/* Whom to look for. */
struct weir_holder_query {
    const struct weir_request *request; /* of its devices: parts of those that could serve this, */
    uint32_t resource;                  /* or else of this resource, or else (WEIR_NONE) anything */
    uint32_t node;                      /* position, or WEIR_NONE: anywhere */
    uint32_t queue;                     /* at or under it, or WEIR_NONE: all */
    bool only_leaving;
};

int weir_explainer_init(struct weir_explainer *x, struct weir_line *line);
/* When one that is leaving is gone at the latest. */
int64_t weir_holders_leave(const struct weir_explainer *x, const struct weir_running *r);
/* Lists them in x->holdings: what runs, what was started, what room is promised to. */
int weir_holders_find(struct weir_explainer *x, const struct weir_holder_query *query);
/* The largest of them into the draft, for this reason. */
int weir_holders_write(struct weir_explainer *x, struct weir_reason *reason);

#endif

/* core/explain/unblock.h — what stands in the way on the nodes, and what would let it start. For
 * explain/ only. */
#ifndef WEIR_CORE_EXPLAIN_UNBLOCK_H
#define WEIR_CORE_EXPLAIN_UNBLOCK_H

#include "core/explain/holders.h"
#include "core/queue/quota.h"

/* Which way out there is: of these the first that would do. */
enum weir_way {
    WEIR_WAY_WAIT,     /* it would fit on the fleet as it is, empty */
    WEIR_WAY_UNCORDON, /* with nothing cordoned */
    WEIR_WAY_FOREIGN,  /* and without foreign processes */
    WEIR_WAY_CAPACITY
};

struct weir_survey {
    uint32_t way;  /* enum weir_way */
    uint32_t code; /* what blocks, in one word */
    uint32_t node; /* position of the one nearest to fitting, or WEIR_NONE */
    uint32_t resource;
    int64_t have; /* on that node */
    int64_t need;
    const struct weir_request *request;
    uint32_t n_devices;
    uint32_t nodes[WEIR_REASON_CODE_MAX];
    uint32_t devices[WEIR_REASON_CODE_MAX];
};

/* Asks every node and device for the request, which is one of the set's. */
int weir_survey(struct weir_explainer *x, struct weir_set *set, const struct weir_request *request,
                struct weir_survey *ret_survey);

/* Fill in the unblock of the verdict. */
int weir_unblock_limit(struct weir_explainer *x, struct weir_set *set,
                       const struct weir_quota_over *over, struct weir_verdict *verdict);
int weir_unblock_places(struct weir_explainer *x, struct weir_set *set,
                        const struct weir_survey *survey, struct weir_verdict *verdict);
/* Whether nobody has to leave for it any more, only devices are not as they have to be yet: 1 or 0,
 * or WEIR_E_NO_MEMORY. */
int weir_unblock_is_reshaping(struct weir_explainer *x, struct weir_set *set, uint32_t workload);
/* Of a workload for which others are leaving. */
int weir_unblock_promised(struct weir_explainer *x, struct weir_set *set, uint32_t workload,
                          struct weir_verdict *verdict);
/* Of the rest of a gang for which its domain has no room, also when empty: what runs of it has to
 * end, as that is what fixes the domain, and others perhaps. */
int weir_unblock_rest(struct weir_explainer *x, const struct weir_want *want, uint32_t workload,
                      struct weir_verdict *verdict);

#endif

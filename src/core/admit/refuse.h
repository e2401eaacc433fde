/* core/admit/refuse.h — the refusals of core/admit.h, with the nearest that would fit, in numbers
 * and in words. For admit.c only. */
#ifndef WEIR_CORE_ADMIT_REFUSE_H
#define WEIR_CORE_ADMIT_REFUSE_H

#include "core/admit.h"
#include "core/place/gang.h"
#include "core/queue/quota.h"

struct weir_admission {
    const struct weir_ask *ask;
    struct weir_overlay fleet;
    uint32_t queue;     /* the one that is asked for, or tried instead */
    uint32_t isolation; /* of its queues */
    struct weir_refusal refusal;
    struct weir_err *err;
};

static inline uint32_t weir_ask_n_tasks(const struct weir_ask *ask)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < ask->n_roles; i++)
        n += ask->roles[i].n_tasks;
    return n;
}

/* Each sets a->refusal, says it in a->err and returns WEIR_E_IMPOSSIBLE. */

/* The queue is none that takes workloads; `nearest` below it would do, or WEIR_NONE. */
int weir_refuse_queue(struct weir_admission *a, uint32_t nearest);
/* `need` for so many tasks is more than a queue's limit. */
int weir_refuse_limit(struct weir_admission *a, const struct weir_quota_over *over, int64_t need,
                      int64_t n_tasks);
/* Each task asks for more of the resource than any node has on which it would fit otherwise. */
int weir_refuse_amount(struct weir_admission *a, uint32_t code, uint32_t resource, int64_t have,
                       int64_t need);
/* No amount of anything would do; `counts` are the nodes by what they say. */
int weir_refuse_kind(struct weir_admission *a, const struct weir_request *request,
                     const uint32_t counts[WEIR_REASON_CODE_MAX]);
/* No more than `most` members of the gang find room. */
int weir_refuse_gang(struct weir_admission *a, const struct weir_set *set, uint32_t most);

#endif

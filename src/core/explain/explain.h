/* core/explain/explain.h — the last stage: for every workload with tasks that go on waiting, why.
 *
 * A tree has the root (level WORKLOAD) with these below it, in this order:
 *   - one QUEUE for each queue from the leaf up;
 *   - GANG, where it asks for several tasks at once: `have` of `need` tasks would find room;
 *   - TOPOLOGY, where one is required: `have` is what is free in the freest domain, `count`
 * domains;
 *   - NODES: `have` of `count` nodes would do; below it one NODES for each code, with its count;
 *   - DEVICES: likewise for the devices, of which those of nodes out of service count as what the
 *     node is; absent for work without.
 * Code NONE means passed. The verdict's `blocking` is the first that is not, outermost first.
 *
 * What the unblock says is true in this sense: once it has come to pass, with all that it names and
 * counts as "more", what was in the way is not; and done again and again, as long as the workload
 * waits, it lets it start. Where waiting is enough (on the fleet as it is, empty, it would fit), it
 * names the workloads that have to end, with none among them that it could do without; where it
 * fits already, and only came too late in this decision, those of which any may end first. Else, if
 * it would fit with nothing cordoned, the nodes and devices to uncordon, none of which can be left
 * out (of more than WEIR_CORDONS_MAX there may be such), and the ends that it takes besides. Else
 * capacity. */
#ifndef WEIR_CORE_EXPLAIN_EXPLAIN_H
#define WEIR_CORE_EXPLAIN_EXPLAIN_H

#include "core/queue/order.h"

enum { WEIR_HOLDERS_MAX = 8, WEIR_ENDS_MAX = 64, WEIR_CORDONS_MAX = 64 };

/* Verdicts, reasons and holders into the draft. 0 or WEIR_E_NO_MEMORY. */
int weir_explain(struct weir_line *line);

#endif

/* core/preempt/victims.h — who is asked to leave so that somebody else fits.
 *
 * Within a queue (policy PREEMPT) a workload may take the place of preemptible work of strictly
 * lower priority. Between queues (RECLAIM) it may take what another queue holds beyond its
 * guarantee, if its own queue and all above it, up to where the two paths meet, stay within theirs;
 * a queue is never left with less than its guarantee, however the pieces fall.
 *
 * Nobody takes turns in asking each other to leave. By themselves the two would allow it: a wins
 * over b by priority, b over c by guarantee, c over d by priority, d over a by guarantee of another
 * resource. So, for the queue that the victim is in, and every resource of which some is guaranteed
 * to it, what goes on running there at the victim's priority or above must still fill that
 * guarantee
 *   1. of whatever is taken by guarantee;
 *   2. of whatever is taken by priority and not asked for by who takes it (work without GPUs does
 *      not empty GPUs that are guaranteed to their queue);
 * and
 *   3. nobody is asked to leave for one who would not start then (core/place/promise.h).
 * Why that is enough: follow one guarantee of one queue, among work that holds of that resource,
 * from the highest priority down, to the first priority at which work comes and goes for ever. It
 * goes by guarantee (1) or for work that asks for none of it (2), for who asks for it would, by
 * (3), have come for ever itself, at a higher priority. Both leave the guarantee filled, and it
 * stays so, and a queue whose guarantee is filled takes nothing by it. If there is no such
 * priority, nothing comes that could take. (First for GPUs, which only work with GPUs can take by
 * guarantee; then for the rest, when what is taken by guarantee of GPUs has come to its end.) So
 * taking by guarantee ends, and by priority alone every queue only gets better from the top down.
 *
 * Per node the victims are taken from other queues first, which only lose what they borrowed, then
 * by priority, lowest first, then by work lost since their last checkpoint, least first, until the
 * task fits; then those that turn out not to be needed stay. The node (for sets with a topology
 * demand the domain) is the one whose dearest victim, first of its own queue, has the lowest
 * priority, then the one that gives up the fewest GPUs. Tasks of an array leave one by one, gangs
 * whole, unless they are above their minimum. */
#ifndef WEIR_CORE_PREEMPT_VICTIMS_H
#define WEIR_CORE_PREEMPT_VICTIMS_H

#include "core/place/gang.h"
#include "core/queue/order.h"

/* Could there be victims at all? Cheap. */
bool weir_victims_may_exist(const struct weir_line *line, const struct weir_candidate *candidate,
                            const struct weir_want *want);

/* Finds room for the set by asking others to leave: 1, with the evictions in the draft and the room
 * promised in SOON; 0 with nothing changed; or WEIR_E_NO_MEMORY. */
int weir_victims_make_room(struct weir_line *line, const struct weir_candidate *candidate,
                           struct weir_set *set);

#endif

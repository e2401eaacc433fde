/* core/preempt/victims.h — who is asked to leave so that somebody else fits.
 *
 * Within a queue (policy PREEMPT) a workload may take the place of preemptible work of strictly
 * lower priority. Between queues (RECLAIM) it may take what another queue holds beyond its
 * guarantee, if its own queue and all above it, up to where the two paths meet, stay within theirs;
 * a queue is never left with less than its guarantee, however the pieces fall. Together these make
 * loops impossible: who was asked to leave ranks behind the one it left for, by priority or by
 * guarantee.
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

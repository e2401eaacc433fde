/* core/place/turn.h — one workload's turn: start what fits, promise what will fit once others have
 * left, ask others to leave where it may. */
#ifndef WEIR_CORE_PLACE_TURN_H
#define WEIR_CORE_PLACE_TURN_H

#include "core/queue/order.h"

/* Starts and evictions go into the draft, the outcome into the candidate. 0 or WEIR_E_NO_MEMORY. */
int weir_turn_take(struct weir_line *line, struct weir_candidate *candidate,
                   enum weir_line_change *ret_change);

/* The same turn in the next decision, once all who were asked to leave have left: holds in SOON
 * what it would start, and counts it in candidate->n_promised. line->started says what was started
 * now.
 */
int weir_turn_rehearse(struct weir_line *line, struct weir_candidate *candidate);

#endif

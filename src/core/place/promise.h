/* core/place/promise.h — will those for whom others leave find their room?
 *
 * A promise is not written down: in the next decision those for whom others are leaving come first,
 * and are placed like anybody else. So before a decision ends, that is rehearsed: with what it has
 * started where it is and all who were asked gone, everyone for whom others leave must find a
 * place, in that order. Evictions of this decision that would not serve are withdrawn: nobody
 * leaves for one who then does not start. */
#ifndef WEIR_CORE_PLACE_PROMISE_H
#define WEIR_CORE_PLACE_PROMISE_H

#include "core/queue/order.h"

/* After the last turn. 0 or WEIR_E_NO_MEMORY. */
int weir_promises_check(struct weir_line *line);

#endif

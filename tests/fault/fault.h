/* tests/fault/fault.h — every allocation of an action fails once. */
#ifndef WEIR_TESTS_FAULT_FAULT_H
#define WEIR_TESTS_FAULT_FAULT_H

#include "../unit/support.h"

#include "base/err.h"
#include "base/mem.h"

/* Runs action(arg) again and again, with its first, its second, … allocation failing alone and all
 * after it, until it makes no more. It must give WEIR_E_NO_MEMORY each time and 0 at last; whether
 * it cleaned up is for the sanitizers, whether what it worked on is sound for the action itself.
 * Returns how many allocations there were. */
static inline uint64_t fail_each_allocation(int (*action)(void *arg), void *arg)
{
    for (uint64_t n = 0;; n++) {
        uint64_t n_made;
        int code;

        for (uint64_t count = 1; count <= UINT64_MAX / 2; count += UINT64_MAX / 2 - 1) {
            weir_mem_fail(n, count);
            code = action(arg);
            n_made = weir_mem_count();
            weir_mem_fail(0, 0);
            if (n_made <= n) {
                assert_int_equal(code, 0);
                return n_made;
            }
            assert_int_equal(code, WEIR_E_NO_MEMORY);
        }
    }
}

#endif

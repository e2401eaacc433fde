/* How nvml_layout*.c compare our declarations of NVML with NVIDIA's. */
#ifndef WEIR_TESTS_NVML_LAYOUT_H
#define WEIR_TESTS_NVML_LAYOUT_H

#include <nvml.h>

#include "edge/nvml/nvml_abi.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, a, theirs, b)                                                             \
    _Static_assert(offsetof(ours, a) == offsetof(theirs, b) &&                                     \
                       sizeof(((ours *)0)->a) == sizeof(((theirs *)0)->b),                         \
                   #ours "." #a)
#define SAME_VALUE(ours, theirs)                                                                   \
    _Static_assert((unsigned long long)(ours) == (unsigned long long)(theirs), #ours)
#define SAME_OFFSET(ours, a, theirs, b)                                                            \
    _Static_assert(offsetof(ours, a) == offsetof(theirs, b), #ours "." #a)

#endif

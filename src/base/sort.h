/* base/sort.h — a stable merge sort whose scratch memory comes from an arena: libc's qsort may use
 * the heap and is not stable, so equal input would not always give equal output. */
#ifndef WEIR_BASE_SORT_H
#define WEIR_BASE_SORT_H

#include <stddef.h>

struct weir_arena;

/* Negative, zero or positive, as a stands to b. */
typedef int weir_sort_compare(const void *a, const void *b, const void *ctx);

/* Sorts n items of `size` bytes. O(n log n), O(n) comparisons where they are in order already.
 * 0, or WEIR_E_NO_MEMORY with the items as they were. */
int weir_sort(void *items, size_t n, size_t size, weir_sort_compare *compare, const void *ctx,
              struct weir_arena *scratch);

#endif

/* base/vec.h — a typed growing array: struct weir_vec(int) ids = {0}; weir_vec_push(&ids, 7).
 *
 * Growth goes through weir_vec_grow(); push returns 0 or WEIR_E_NO_MEMORY and leaves the array as
 * it was on failure. */
#ifndef WEIR_BASE_VEC_H
#define WEIR_BASE_VEC_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An anonymous struct body: struct name weir_vec(type) or `struct weir_vec(type) v`. */
#define weir_vec(type)                                                                             \
    {                                                                                              \
        type *items;                                                                               \
        size_t n;                                                                                  \
        size_t cap;                                                                                \
    }

/* Makes room for n items in all. 0 or WEIR_E_NO_MEMORY. */
int weir_vec_grow(void *items_ptr, size_t *cap, size_t n, size_t item_size);

#define weir_vec_reserve(vec, count)                                                               \
    ((count) <= (vec)->cap                                                                         \
         ? 0                                                                                       \
         : weir_vec_grow(&(vec)->items, &(vec)->cap, (count), sizeof(*(vec)->items)))
#define weir_vec_push(vec, item)                                                                   \
    (weir_vec_reserve((vec), (vec)->n + 1) < 0 ? (int)WEIR_E_NO_MEMORY                             \
                                               : ((vec)->items[(vec)->n] = (item), (vec)->n++, 0))
#define weir_vec_last(vec) (&(vec)->items[(vec)->n - 1])
/* Removes item i, keeps the order. */
#define weir_vec_remove(vec, i)                                                                    \
    (memmove(&(vec)->items[i], &(vec)->items[(i) + 1],                                             \
             ((vec)->n - (i)-1) * sizeof(*(vec)->items)),                                          \
     (void)(vec)->n--)
#define weir_vec_clear(vec) ((void)((vec)->n = 0))
#define weir_vec_finish(vec)                                                                       \
    (weir_mem_free((vec)->items), (vec)->items = NULL, (vec)->n = 0, (void)((vec)->cap = 0))
#define weir_vec_foreach(item, vec)                                                                \
    for (__typeof__((vec)->items) item = (vec)->items;                                             \
         (vec)->n > 0 && item < (vec)->items + (vec)->n; item++)

#endif

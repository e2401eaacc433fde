/* base/mem.h — the only way to the heap, so that tests can fail the n-th allocation.
 *
 * All return NULL when memory is short; the caller reports WEIR_E_NO_MEMORY. Sizes are checked for
 * overflow. */
#ifndef WEIR_BASE_MEM_H
#define WEIR_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

void *weir_mem_alloc(size_t size);
void *weir_mem_alloc_array(size_t n, size_t size);              /* zeroed */
void *weir_mem_realloc_array(void *old, size_t n, size_t size); /* old stays valid on failure */
void *weir_mem_free(void *ptr);                                 /* NULL is fine; returns NULL */
char *weir_mem_strdup(const char *text);                        /* NULL only on failure */
char *weir_mem_strndup(const char *text, size_t len); /* of so many bytes, and a NUL behind them */

/* Fault injection, per thread: the allocation after the next `after` ones fails, and `count` in all
 * (0: off). */
void weir_mem_fail(uint64_t after, uint64_t count);
/* Allocations made by this thread since the last weir_mem_fail(). */
uint64_t weir_mem_count(void);

#endif

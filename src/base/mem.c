#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local uint64_t n_calls;
static _Thread_local uint64_t fail_after;
static _Thread_local uint64_t fail_count;

static bool must_fail(void)
{
    uint64_t call = n_calls++;

    return fail_count > 0 && call >= fail_after && call - fail_after < fail_count;
}

/* More than any object can have: refused here, because tools that watch malloc take it for a bug.
 */
static bool is_absurd(size_t n, size_t size)
{
    size_t total;

    return __builtin_mul_overflow(n, size, &total) || total > PTRDIFF_MAX;
}

void *weir_mem_alloc(size_t size)
{
    if (must_fail() || is_absurd(1, size))
        return NULL;
    return malloc(size > 0 ? size : 1);
}

void *weir_mem_alloc_array(size_t n, size_t size)
{
    if (must_fail() || is_absurd(n, size))
        return NULL;
    return calloc(n > 0 ? n : 1, size > 0 ? size : 1);
}

void *weir_mem_realloc_array(void *old, size_t n, size_t size)
{
    if (must_fail() || is_absurd(n, size))
        return NULL;
    return reallocarray(old, n > 0 ? n : 1, size > 0 ? size : 1);
}

void *weir_mem_free(void *ptr)
{
    free(ptr);
    return NULL;
}

char *weir_mem_strndup(const char *text, size_t len)
{
    char *copy = len < SIZE_MAX ? weir_mem_alloc(len + 1) : NULL;

    if (copy == NULL)
        return NULL;
    if (len > 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *weir_mem_strdup(const char *text)
{
    return weir_mem_strndup(text, strlen(text));
}

void weir_mem_fail(uint64_t after, uint64_t count)
{
    n_calls = 0;
    fail_after = after;
    fail_count = count;
}

uint64_t weir_mem_count(void)
{
    return n_calls;
}

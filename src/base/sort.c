#include "base/sort.h"

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <string.h>

struct sorting {
    size_t size;
    weir_sort_compare *compare;
    const void *ctx;
};

/* Merges [from, middle) and [middle, to) of `in` into `out` at the same place. */
static void merge(const struct sorting *s, const unsigned char *in, unsigned char *out, size_t from,
                  size_t middle, size_t to)
{
    size_t left = from;
    size_t right = middle;

    for (size_t at = from; at < to; at++) {
        bool take_left =
            right == to ||
            (left < middle && s->compare(in + left * s->size, in + right * s->size, s->ctx) <= 0);
        size_t *taken = take_left ? &left : &right;

        memcpy(out + at * s->size, in + *taken * s->size, s->size);
        (*taken)++;
    }
}

static void pass(const struct sorting *s, const unsigned char *in, unsigned char *out, size_t n,
                 size_t width)
{
    for (size_t from = 0; from < n; from += 2 * width) {
        size_t middle = from + width < n ? from + width : n;
        size_t to = middle + width < n ? middle + width : n;

        if (middle == to ||
            s->compare(in + (middle - 1) * s->size, in + middle * s->size, s->ctx) <= 0)
            memcpy(out + from * s->size, in + from * s->size, (to - from) * s->size);
        else
            merge(s, in, out, from, middle, to);
    }
}

static bool is_sorted(const struct sorting *s, const unsigned char *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (s->compare(items + (i - 1) * s->size, items + i * s->size, s->ctx) > 0)
            return false;
    return true;
}

int weir_sort(void *items, size_t n, size_t size, weir_sort_compare *compare, const void *ctx,
              struct weir_arena *scratch)
{
    struct sorting s = {size, compare, ctx};
    unsigned char *in = items;
    unsigned char *out;

    if (is_sorted(&s, items, n))
        return 0;
    out = weir_arena_alloc_array(scratch, n, size);
    if (out == NULL)
        return WEIR_E_NO_MEMORY;
    for (size_t width = 1; width < n; width *= 2) {
        unsigned char *swap = in;

        pass(&s, in, out, n, width);
        in = out;
        out = swap;
    }
    if (in != items)
        memcpy(items, in, n * size);
    return 0;
}

#include "base/vec.h"

int weir_vec_grow(void *items_ptr, size_t *cap, size_t n, size_t item_size)
{
    size_t want = *cap + *cap / 2 + 4;
    void *items;

    if (n <= *cap)
        return 0;
    if (want < n)
        want = n;
    memcpy(&items, items_ptr, sizeof(items));
    items = weir_mem_realloc_array(items, want, item_size);
    if (items == NULL)
        return WEIR_E_NO_MEMORY;
    memcpy(items_ptr, &items, sizeof(items));
    *cap = want;
    return 0;
}

/* base/bitset.h — a set of small integers over memory the caller gives (an arena, as a rule). */
#ifndef WEIR_BASE_BITSET_H
#define WEIR_BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;

struct weir_bitset {
    uint64_t *words;
    size_t n_bits;
};

/* All clear, in the arena. 0 or WEIR_E_NO_MEMORY. */
int weir_bitset_init(struct weir_bitset *set, size_t n_bits, struct weir_arena *arena);
void weir_bitset_add(struct weir_bitset *set, size_t bit);
bool weir_bitset_has(const struct weir_bitset *set, size_t bit); /* false beyond n_bits */
/* The first member at or after `from`, or n_bits. */
size_t weir_bitset_next(const struct weir_bitset *set, size_t from);

#endif

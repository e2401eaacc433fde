#include "base/bitset.h"

#include "base/arena.h"
#include "base/err.h"

static size_t words_of(const struct weir_bitset *set)
{
    return (set->n_bits + 63) / 64;
}

int weir_bitset_init(struct weir_bitset *set, size_t n_bits, struct weir_arena *arena)
{
    uint64_t *words = weir_arena_new_n(arena, uint64_t, n_bits / 64 + 1);

    if (words == NULL)
        return WEIR_E_NO_MEMORY;
    *set = (struct weir_bitset){words, n_bits};
    return 0;
}

void weir_bitset_add(struct weir_bitset *set, size_t bit)
{
    WEIR_ASSERT(bit < set->n_bits);
    set->words[bit / 64] |= (uint64_t)1 << (bit % 64);
}

bool weir_bitset_has(const struct weir_bitset *set, size_t bit)
{
    return bit < set->n_bits && (set->words[bit / 64] >> (bit % 64) & 1) != 0;
}

size_t weir_bitset_next(const struct weir_bitset *set, size_t from)
{
    size_t word = from / 64;
    uint64_t bits;

    if (from >= set->n_bits)
        return set->n_bits;
    bits = set->words[word] & ~(uint64_t)0 << (from % 64);
    while (bits == 0) {
        if (++word >= words_of(set))
            return set->n_bits;
        bits = set->words[word];
    }
    return word * 64 + (size_t)__builtin_ctzll(bits);
}

#include "base/rng.h"

#include "base/err.h"

static uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

void weir_rng_init(struct weir_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        rng->s[i] = z ^ z >> 31;
    }
}

uint64_t weir_rng_next(struct weir_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t weir_rng_below(struct weir_rng *rng, uint64_t n)
{
    uint64_t floor;

    WEIR_ASSERT(n > 0);
    floor = (0u - n) % n;
    for (;;) {
        __extension__ unsigned __int128 wide = (unsigned __int128)weir_rng_next(rng) * n;

        if ((uint64_t)wide >= floor)
            return (uint64_t)(wide >> 64);
    }
}

double weir_rng_unit(struct weir_rng *rng)
{
    return (double)(weir_rng_next(rng) >> 11) * 0x1.0p-53;
}

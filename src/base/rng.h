/* base/rng.h — seeded pseudo-random numbers: xoshiro256** (Blackman and Vigna 2018), seeded by
 * SplitMix64. Deterministic by seed; not for secrets. */
#ifndef WEIR_BASE_RNG_H
#define WEIR_BASE_RNG_H

#include <stdint.h>

struct weir_rng {
    uint64_t s[4];
};

void weir_rng_init(struct weir_rng *rng, uint64_t seed);
uint64_t weir_rng_next(struct weir_rng *rng);
/* Uniform in 0 … n-1 without bias (Lemire 2019); n > 0. */
uint64_t weir_rng_below(struct weir_rng *rng, uint64_t n);
/* Uniform in [0, 1), 53 bits. */
double weir_rng_unit(struct weir_rng *rng);

#endif

/* fmt/json_keys.h — members of one object with the same name. For the files of fmt/json only. */
#ifndef WEIR_FMT_JSON_KEYS_H
#define WEIR_FMT_JSON_KEYS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;
struct weir_tree;

/* Names seen so far, as a Bloom filter: most objects are cleared by it without comparing names. */
struct json_names {
    uint64_t seen[4];
    bool maybe_twice;
};

static inline void json_names_add(struct json_names *names, struct weir_str name)
{
    uint32_t mix = (uint32_t)name.len;
    uint64_t bit;

    if (name.len > 0)
        mix = mix << 24 | (uint32_t)(unsigned char)name.ptr[name.len / 2] << 16 |
              (uint32_t)(unsigned char)name.ptr[name.len - 1] << 8 |
              (uint32_t)(unsigned char)name.ptr[0];
    mix = mix * 0x9E3779B1u >> 24;
    bit = (uint64_t)1 << (mix & 63);
    names->maybe_twice |= (names->seen[mix >> 6] & bit) != 0;
    names->seen[mix >> 6] |= bit;
}

/* Looks for equal names, in n log n. last_wins: takes the earlier members out of the object.
 * Otherwise WEIR_E_INVALID at the repeated name. WEIR_E_NO_MEMORY. */
int json_keys_settle(struct weir_tree *object, bool last_wins, struct weir_err *err);

#endif

/* base/map.h — from a byte string to a 64-bit value.
 *
 * Open addressing with linear probing over an entry array. Keys are copied. Removal leaves a hole
 * in the entry array, closed at its end at once and elsewhere when a later weir_map_set() finds
 * more holes than entries. The hash key is per process (weir_map_seed), so an attacker cannot
 * choose collisions; nothing observable depends on it. */
#ifndef WEIR_BASE_MAP_H
#define WEIR_BASE_MAP_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_map_entry {
    const char *key; /* owned by the map, NUL-terminated; NULL: a hole */
    uint32_t key_len;
    uint32_t hash;
    uint64_t value;
};

struct weir_map {
    struct weir_map_entry *entries; /* in order of insertion */
    size_t n_entries;               /* holes included */
    size_t n_live;
    size_t cap_entries;
    uint32_t *slots; /* entry index + 1; 0 is free */
    size_t n_slots;  /* power of two, or 0 */
};

#define WEIR_MAP_INIT                                                                              \
    {                                                                                              \
        NULL, 0, 0, 0, NULL, 0                                                                     \
    }

void weir_map_finish(struct weir_map *map);
void weir_map_clear(struct weir_map *map);
/* Sets or replaces. 0 or WEIR_E_NO_MEMORY (the map is unchanged then). */
int weir_map_set(struct weir_map *map, struct weir_str key, uint64_t value);
bool weir_map_get(const struct weir_map *map, struct weir_str key, uint64_t *ret_value);
bool weir_map_remove(struct weir_map *map, struct weir_str key);
/* Once at the start of a process, before the first map; without it the key is a constant (tests).
 */
void weir_map_seed(uint64_t key0, uint64_t key1);

#endif

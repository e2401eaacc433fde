#include "base/map.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

enum { SLOTS_MIN = 8, HOLES_KEPT = 16 };

static uint64_t seed0;
static uint64_t seed1;

void weir_map_seed(uint64_t key0, uint64_t key1)
{
    seed0 = key0;
    seed1 = key1;
}

static uint32_t hash_of(struct weir_str key)
{
    return (uint32_t)weir_hash_sip13(seed0, seed1, key.ptr, key.len);
}

static bool is_hole(const struct weir_map_entry *e)
{
    return e->key == NULL;
}

void weir_map_clear(struct weir_map *map)
{
    for (size_t i = 0; i < map->n_entries; i++)
        weir_mem_free((void *)(uintptr_t)map->entries[i].key);
    map->n_entries = 0;
    map->n_live = 0;
    if (map->n_slots > 0)
        memset(map->slots, 0, map->n_slots * sizeof(*map->slots));
}

void weir_map_finish(struct weir_map *map)
{
    if (map == NULL)
        return;
    weir_map_clear(map);
    weir_mem_free(map->entries);
    weir_mem_free(map->slots);
    *map = (struct weir_map)WEIR_MAP_INIT;
}

/* The slot of the key, or the free slot where it would go. Ends, because a quarter of the slots is
 * free at least. */
static size_t find_slot(const struct weir_map *map, struct weir_str key, uint32_t hash,
                        bool *ret_found)
{
    size_t mask = map->n_slots - 1;

    for (size_t at = hash & mask;; at = (at + 1) & mask) {
        const struct weir_map_entry *e;

        *ret_found = false;
        if (map->slots[at] == 0)
            return at;
        e = &map->entries[map->slots[at] - 1];
        if (e->hash == hash && weir_str_eq(weir_str_n(e->key, e->key_len), key)) {
            *ret_found = true;
            return at;
        }
    }
}

/* Points the slots, all free, at the entries. No key is there twice, so none is compared. */
static void fill_slots(struct weir_map *map)
{
    size_t mask = map->n_slots - 1;

    for (size_t i = 0; i < map->n_entries; i++) {
        size_t at = map->entries[i].hash & mask;

        if (is_hole(&map->entries[i]))
            continue;
        while (map->slots[at] != 0)
            at = (at + 1) & mask;
        map->slots[at] = (uint32_t)i + 1;
    }
}

/* Needs no memory: removal alone can never bring the map into a state it cannot leave. */
static void close_holes(struct weir_map *map)
{
    size_t kept = 0;

    for (size_t i = 0; i < map->n_entries; i++)
        if (!is_hole(&map->entries[i]))
            map->entries[kept++] = map->entries[i];
    map->n_entries = kept;
    memset(map->slots, 0, map->n_slots * sizeof(*map->slots));
    fill_slots(map);
}

static int grow_slots(struct weir_map *map)
{
    size_t n_slots = map->n_slots == 0 ? SLOTS_MIN : map->n_slots * 2;
    uint32_t *slots = weir_mem_alloc_array(n_slots, sizeof(*slots));

    if (slots == NULL)
        return WEIR_E_NO_MEMORY;
    weir_mem_free(map->slots);
    map->slots = slots;
    map->n_slots = n_slots;
    fill_slots(map);
    return 0;
}

/* For one entry more. Holes are closed once they outnumber the entries: the removals that made them
 * pay for the work. */
static int make_room(struct weir_map *map)
{
    if (map->n_entries - map->n_live > map->n_live + HOLES_KEPT)
        close_holes(map);
    if ((map->n_live + 1) * 4 > map->n_slots * 3 && grow_slots(map) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_vec_grow(&map->entries, &map->cap_entries, map->n_entries + 1,
                         sizeof(*map->entries));
}

int weir_map_set(struct weir_map *map, struct weir_str key, uint64_t value)
{
    uint32_t hash = hash_of(key);
    bool found = false;
    size_t slot;
    char *copy;

    if (map->n_slots > 0) {
        slot = find_slot(map, key, hash, &found);
        if (found) {
            map->entries[map->slots[slot] - 1].value = value;
            return 0;
        }
    }
    if (key.len >= UINT32_MAX || map->n_entries >= UINT32_MAX - 1 || make_room(map) < 0)
        return WEIR_E_NO_MEMORY;
    copy = weir_mem_strndup(key.ptr, key.len);
    if (copy == NULL)
        return WEIR_E_NO_MEMORY;
    slot = find_slot(map, key, hash, &found);
    map->entries[map->n_entries] = (struct weir_map_entry){copy, (uint32_t)key.len, hash, value};
    map->slots[slot] = (uint32_t)++map->n_entries;
    map->n_live++;
    return 0;
}

bool weir_map_get(const struct weir_map *map, struct weir_str key, uint64_t *ret_value)
{
    bool found;
    size_t slot;

    if (map->n_slots == 0)
        return false;
    slot = find_slot(map, key, hash_of(key), &found);
    if (found)
        *ret_value = map->entries[map->slots[slot] - 1].value;
    return found;
}

/* Frees a slot and moves up those behind it that probed past it: no slot ever stands for a removed
 * entry, and a probe stays as short as if that had never been. */
static void free_slot(struct weir_map *map, size_t hole)
{
    size_t mask = map->n_slots - 1;
    size_t at = hole;

    for (;;) {
        size_t home;

        map->slots[hole] = 0;
        do {
            at = (at + 1) & mask;
            if (map->slots[at] == 0)
                return;
            home = map->entries[map->slots[at] - 1].hash & mask;
            /* One whose home lies behind the hole, up to where it stands, may not cross it. */
        } while (((at - home) & mask) < ((at - hole) & mask));
        map->slots[hole] = map->slots[at];
        hole = at;
    }
}

/* Holes at the end go at once, as when entries leave in reverse. */
static void trim(struct weir_map *map)
{
    if (map->n_live == 0) {
        map->n_entries = 0;
        return;
    }
    while (is_hole(&map->entries[map->n_entries - 1]))
        map->n_entries--;
}

bool weir_map_remove(struct weir_map *map, struct weir_str key)
{
    bool found;
    size_t slot;
    struct weir_map_entry *e;

    if (map->n_slots == 0)
        return false;
    slot = find_slot(map, key, hash_of(key), &found);
    if (!found)
        return false;
    e = &map->entries[map->slots[slot] - 1];
    free_slot(map, slot);
    weir_mem_free((void *)(uintptr_t)e->key);
    e->key = NULL;
    map->n_live--;
    trim(map);
    return true;
}

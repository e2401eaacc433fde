#include "base/map.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#include <string.h>

static uint64_t seed0;
static uint64_t seed1;

void weir_map_seed(uint64_t key0, uint64_t key1)
{
    seed0 = key0;
    seed1 = key1;
}

static uint64_t hash_of(struct weir_str key)
{
    return weir_hash_sip13(seed0, seed1, key.ptr, key.len);
}

void weir_map_clear(struct weir_map *map)
{
    for (size_t i = 0; i < map->n_entries; i++)
        if (map->entries[i].live)
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

/* The slot of the key, or the free slot that ends its probe. A slot of a removed entry does not end
 * it. */
static size_t find_slot(const struct weir_map *map, struct weir_str key, bool *ret_found)
{
    size_t mask = map->n_slots - 1;
    size_t at = (size_t)hash_of(key) & mask;

    for (;; at = (at + 1) & mask) {
        uint32_t slot = map->slots[at];
        const struct weir_map_entry *e;

        if (slot == 0) {
            *ret_found = false;
            return at;
        }
        e = &map->entries[slot - 1];
        if (e->live && weir_str_eq(weir_str_n(e->key, e->key_len), key)) {
            *ret_found = true;
            return at;
        }
    }
}

/* Closes the holes of the entry array and makes the slot table fit n entries. */
static int rebuild(struct weir_map *map, size_t n)
{
    size_t n_slots = 8;
    uint32_t *slots;
    size_t kept = 0;

    while (n_slots < n * 2)
        n_slots *= 2;
    slots = weir_mem_alloc_array(n_slots, sizeof(*slots));
    if (slots == NULL)
        return WEIR_E_NO_MEMORY;
    for (size_t i = 0; i < map->n_entries; i++)
        if (map->entries[i].live)
            map->entries[kept++] = map->entries[i];
    map->n_entries = kept;
    weir_mem_free(map->slots);
    map->slots = slots;
    map->n_slots = n_slots;
    for (size_t i = 0; i < kept; i++) {
        bool found;
        const struct weir_map_entry *e = &map->entries[i];

        map->slots[find_slot(map, weir_str_n(e->key, e->key_len), &found)] = (uint32_t)i + 1;
    }
    return 0;
}

static int make_room(struct weir_map *map)
{
    if ((map->n_entries + 1) * 2 > map->n_slots && rebuild(map, (map->n_live + 1) * 2) < 0)
        return WEIR_E_NO_MEMORY;
    return weir_vec_grow(&map->entries, &map->cap_entries, map->n_entries + 1,
                         sizeof(*map->entries));
}

int weir_map_set(struct weir_map *map, struct weir_str key, uint64_t value)
{
    bool found = false;
    size_t slot;
    char *copy;

    if (map->n_slots > 0) {
        slot = find_slot(map, key, &found);
        if (found) {
            map->entries[map->slots[slot] - 1].value = value;
            return 0;
        }
    }
    if (key.len > UINT32_MAX || map->n_entries >= UINT32_MAX - 1 || make_room(map) < 0)
        return WEIR_E_NO_MEMORY;
    copy = weir_mem_alloc(key.len + 1);
    if (copy == NULL)
        return WEIR_E_NO_MEMORY;
    if (key.len > 0)
        memcpy(copy, key.ptr, key.len);
    copy[key.len] = '\0';
    slot = find_slot(map, key, &found);
    map->entries[map->n_entries] = (struct weir_map_entry){copy, (uint32_t)key.len, true, value};
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
    slot = find_slot(map, key, &found);
    if (found)
        *ret_value = map->entries[map->slots[slot] - 1].value;
    return found;
}

bool weir_map_remove(struct weir_map *map, struct weir_str key)
{
    bool found;
    size_t slot;
    struct weir_map_entry *e;

    if (map->n_slots == 0)
        return false;
    slot = find_slot(map, key, &found);
    if (!found)
        return false;
    e = &map->entries[map->slots[slot] - 1];
    weir_mem_free((void *)(uintptr_t)e->key);
    e->key = NULL;
    e->live = false;
    map->n_live--;
    return true;
}

const struct weir_map_entry *weir_map_next(const struct weir_map *map, size_t *at)
{
    while (*at < map->n_entries) {
        const struct weir_map_entry *e = &map->entries[(*at)++];

        if (e->live)
            return e;
    }
    return NULL;
}

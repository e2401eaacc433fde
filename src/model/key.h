/* model/key.h — persistent identity: 16 bytes that outlive every version of the world. */
#ifndef WEIR_MODEL_KEY_H
#define WEIR_MODEL_KEY_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct weir_key {
    uint8_t bytes[16];
};

/* "no row": the index that points nowhere. */
#define WEIR_NONE UINT32_MAX

static inline int weir_key_cmp(const struct weir_key *a, const struct weir_key *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

static inline bool weir_key_eq(const struct weir_key *a, const struct weir_key *b)
{
    return weir_key_cmp(a, b) == 0;
}

/* The keys of what goes by a name: a node and a queue of one name have different keys. */
struct weir_key weir_key_of_node(struct weir_str name);
struct weir_key weir_key_of_device(struct weir_str uuid);
struct weir_key weir_key_of_queue(struct weir_str name);
/* Of a MIG instance that is not yet: the driver has given it no name. */
struct weir_key weir_key_of_instance(const struct weir_key *device, uint32_t slots);

/* The key of a workload: its number under the number of the data directory that gave it. */
static inline struct weir_key weir_key_of_number(uint64_t space, uint64_t number)
{
    struct weir_key key;

    for (int i = 0; i < 8; i++) {
        key.bytes[i] = (uint8_t)(space >> (56 - 8 * i));
        key.bytes[8 + i] = (uint8_t)(number >> (56 - 8 * i));
    }
    return key;
}

#endif

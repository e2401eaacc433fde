#include "model/key.h"

#include "base/hash.h"

static struct weir_key key_of(struct weir_str noun, struct weir_str name)
{
    struct weir_key key;

    weir_hash_key128(noun, name, key.bytes);
    return key;
}

struct weir_key weir_key_of_node(struct weir_str name)
{
    return key_of(WEIR_STR("node"), name);
}

struct weir_key weir_key_of_device(struct weir_str uuid)
{
    return key_of(WEIR_STR("gpu"), uuid);
}

struct weir_key weir_key_of_queue(struct weir_str name)
{
    return key_of(WEIR_STR("queue"), name);
}

struct weir_key weir_key_of_instance(const struct weir_key *device, uint32_t slots)
{
    char name[sizeof(device->bytes) + 4];

    memcpy(name, device->bytes, sizeof(device->bytes));
    for (size_t i = 0; i < 4; i++)
        name[sizeof(device->bytes) + i] = (char)(slots >> 8 * i);
    return key_of(WEIR_STR("instance"), weir_str_n(name, sizeof(name)));
}

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/queue/order.h"
#include "core/queue/quota.h"

static uint64_t hash_of(const struct weir_want *want)
{
    uint64_t hash = weir_hash_sip13(want->leaf, want->is_gang, want->parts,
                                    want->n_parts * sizeof(want->parts[0]));

    hash = weir_hash_mix64(hash ^ want->scope.value ^ (uint64_t)want->owner << 32);
    return weir_hash_mix64(hash ^
                           ((uint64_t)want->topology.required << 32 | want->topology.preferred));
}

static bool same(const struct weir_want *a, const struct weir_want *b)
{
    return a->leaf == b->leaf && a->owner == b->owner && a->is_gang == b->is_gang &&
           a->n_parts == b->n_parts &&
           memcmp(a->parts, b->parts, a->n_parts * sizeof(a->parts[0])) == 0 &&
           memcmp(&a->topology, &b->topology, sizeof(a->topology)) == 0 &&
           a->scope.level == b->scope.level && a->scope.value == b->scope.value &&
           a->scope.node == b->scope.node;
}

static int grow_slots(struct weir_line *line)
{
    uint32_t n = line->n_slots == 0 ? 64 : line->n_slots * 2;
    uint32_t *slots = weir_arena_new_n(line->tick->arena, uint32_t, n);

    if (slots == NULL)
        return WEIR_E_NO_MEMORY;
    for (uint32_t i = 0; i < line->n_wants; i++) {
        uint64_t at = hash_of(&line->wants[i]) & (n - 1);

        while (slots[at] != 0)
            at = (at + 1) & (n - 1);
        slots[at] = i + 1;
    }
    line->slots = slots;
    line->n_slots = n;
    return 0;
}

static int add(struct weir_line *line, const struct weir_want *want)
{
    struct weir_want_part *parts =
        weir_arena_new_n(line->tick->arena, struct weir_want_part, want->n_parts);
    struct weir_want *to;

    if (parts == NULL || weir_arena_grow(line->tick->arena, &line->wants, &line->cap_wants,
                                         line->n_wants + 1, sizeof(*want)) < 0)
        return WEIR_E_NO_MEMORY;
    memcpy(parts, want->parts, want->n_parts * sizeof(parts[0]));
    to = &line->wants[line->n_wants++];
    *to = *want;
    to->parts = parts;
    to->isolation = line->queues[want->leaf].isolation;
    for (uint32_t i = 0; i < want->n_parts; i++) {
        const struct weir_shape *shape = weir_world_shape(line->tick->world, parts[i].shape);

        weir_quota_add_shape(&to->amounts, shape, parts[i].n);
        to->n_tasks += parts[i].n;
    }
    return 0;
}

int weir_line_intern(struct weir_line *line, const struct weir_want *like, uint32_t *ret_want)
{
    uint64_t at;

    if (line->n_wants * 2 >= line->n_slots && grow_slots(line) < 0)
        return WEIR_E_NO_MEMORY;
    at = hash_of(like) & (line->n_slots - 1);
    for (; line->slots[at] != 0; at = (at + 1) & (line->n_slots - 1)) {
        if (same(&line->wants[line->slots[at] - 1], like)) {
            *ret_want = line->slots[at] - 1;
            return 0;
        }
    }
    *ret_want = line->n_wants;
    line->slots[at] = line->n_wants + 1;
    return add(line, like);
}

#include "model/fleet_spec.h"

#include "base/arena.h"
#include "base/char.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/gpu_catalogue.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { COUNTS_MAX = 2, GROUPS_MAX = WEIR_FLEET_SPEC_BYTES_MAX / 2 + 1 };

struct group {
    const struct weir_gpu_model *model;
    uint32_t n_nodes;
    uint32_t n_gpus; /* of each node */
};

struct reader {
    struct weir_str spec;
    size_t at;
    struct weir_err *err;
};

static int fail_at(const struct reader *in, size_t at)
{
    return weir_error_at(in->err, 1, (uint32_t)at + 1);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static char peek(const struct reader *in)
{
    return in->at < in->spec.len ? in->spec.ptr[in->at] : '\0';
}

static void skip_blanks(struct reader *in)
{
    while (is_blank(peek(in)))
        in->at++;
}

/* "8 x": a count and its sign. */
static int read_count(struct reader *in, uint32_t *ret_count)
{
    size_t from = in->at;
    struct weir_str digits;
    uint64_t count;

    while (weir_char_is_digit(peek(in)))
        in->at++;
    digits = weir_str_sub(in->spec, from, in->at - from);
    if (!weir_str_to_u64(digits, &count) || count > WEIR_FLEET_GPUS_MAX) {
        weir_error(in->err, WEIR_E_TOO_LARGE, "a count of %.*s is more than the %d GPUs of a fleet",
                   (int)(digits.len < 20 ? digits.len : 20), digits.ptr, WEIR_FLEET_GPUS_MAX);
        return fail_at(in, from);
    }
    if (count == 0) {
        weir_error(in->err, WEIR_E_INVALID, "a count of zero");
        weir_error_hint(in->err, "leave the group out");
        return fail_at(in, from);
    }
    skip_blanks(in);
    if (peek(in) != 'x' && peek(in) != 'X') {
        weir_error(in->err, WEIR_E_INVALID, "'x' expected after the count %" PRIu64, count);
        weir_error_hint(in->err, "write it like 8xH100");
        return fail_at(in, in->at);
    }
    in->at++;
    skip_blanks(in);
    *ret_count = (uint32_t)count;
    return 0;
}

bool weir_fleet_can_simulate(const struct weir_gpu_model *model)
{
    return model->vendor == WEIR_GPU_VENDOR_NVIDIA && model->memory_total_bytes != 0 &&
           model->device_name != NULL;
}

static int read_model(struct reader *in, const struct weir_gpu_model **ret_model)
{
    size_t from = in->at;
    struct weir_str name;
    const struct weir_gpu_model *model;
    int rc;

    while (in->at < in->spec.len && peek(in) != '+')
        in->at++;
    name = weir_str_trim(weir_str_sub(in->spec, from, in->at - from));
    if (name.len == 0) {
        weir_error(in->err, WEIR_E_INVALID, "a GPU model is missing");
        weir_error_hint(in->err, "write it like 8xH100 or 2x8xH100+4xL40S");
        return fail_at(in, from);
    }
    rc = weir_gpu_catalogue_lookup(name, &model, in->err);
    if (rc < 0)
        return fail_at(in, from);
    if (model->vendor != WEIR_GPU_VENDOR_NVIDIA) {
        weir_error(in->err, WEIR_E_UNSUPPORTED,
                   "%s cannot be simulated: NVML shows NVIDIA GPUs only", model->id);
        return fail_at(in, from);
    }
    if (!weir_fleet_can_simulate(model)) {
        weir_error(in->err, WEIR_E_UNSUPPORTED,
                   "%s cannot be simulated: its memory size in the driver is not known", model->id);
        return fail_at(in, from);
    }
    *ret_model = model;
    return 0;
}

static int read_group(struct reader *in, struct group *ret_group)
{
    struct group group = {NULL, 1, 1};
    size_t from;
    unsigned n_counts = 0;
    int rc;

    skip_blanks(in);
    from = in->at;
    while (weir_char_is_digit(peek(in))) {
        uint32_t count = 0;

        if (n_counts == COUNTS_MAX) {
            weir_error(in->err, WEIR_E_INVALID, "more than two counts before a GPU model");
            weir_error_hint(in->err, "nodes x GPUs x model, like 2x8xH100");
            return fail_at(in, in->at);
        }
        rc = read_count(in, &count);
        if (rc < 0)
            return rc;
        group.n_nodes = n_counts == 0 ? 1 : group.n_gpus;
        group.n_gpus = count;
        n_counts++;
    }
    if (group.n_gpus > WEIR_FLEET_GPUS_PER_NODE_MAX || group.n_nodes > WEIR_FLEET_NODES_MAX) {
        weir_error(in->err, WEIR_E_TOO_LARGE, "a fleet has at most %d nodes of %d GPUs",
                   WEIR_FLEET_NODES_MAX, WEIR_FLEET_GPUS_PER_NODE_MAX);
        return fail_at(in, from);
    }
    rc = read_model(in, &group.model);
    if (rc < 0)
        return rc;
    *ret_group = group;
    return 0;
}

/* Control characters would tear the one line of an error message. */
static int check_text(const struct reader *in)
{
    if (in->spec.len > WEIR_FLEET_SPEC_BYTES_MAX)
        return weir_error(in->err, WEIR_E_TOO_LARGE, "the fleet is longer than %d characters",
                          WEIR_FLEET_SPEC_BYTES_MAX);
    for (size_t i = 0; i < in->spec.len; i++) {
        unsigned char c = (unsigned char)in->spec.ptr[i];

        if ((c < 0x20 && c != '\t') || c >= 0x7f) {
            weir_error(in->err, WEIR_E_INVALID, "the character 0x%02x has no place in a fleet", c);
            return fail_at(in, i);
        }
    }
    return 0;
}

void weir_fleet_identify(struct weir_fleet_gpu *gpu, uint64_t seed, const char *node,
                         uint32_t place)
{
    char name[128];
    uint8_t key[16];
    uint64_t number;

    snprintf(name, sizeof(name), "%" PRIu64 "/%s/%" PRIu32 "/%s", seed, node, place,
             gpu->model->id);
    weir_hash_key128(WEIR_STR("simulated gpu"), weir_str(name), key);
    memcpy(&number, key, sizeof(number));
    key[6] = (uint8_t)((key[6] & 0x0f) | 0x40); /* the shape of a random UUID, RFC 9562 */
    key[8] = (uint8_t)((key[8] & 0x3f) | 0x80);
    snprintf(gpu->uuid, sizeof(gpu->uuid),
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", key[0],
             key[1], key[2], key[3], key[4], key[5], key[6], key[7], key[8], key[9], key[10],
             key[11], key[12], key[13], key[14], key[15]);
    snprintf(gpu->serial, sizeof(gpu->serial), "16%011" PRIu64, number % UINT64_C(100000000000));
}

static void lay_nodes(struct weir_fleet *fleet, const struct group *groups, size_t n_groups,
                      uint64_t seed)
{
    uint32_t node = 0;
    uint32_t gpu = 0;

    for (size_t g = 0; g < n_groups; g++)
        for (uint32_t i = 0; i < groups[g].n_nodes; i++, node++) {
            struct weir_fleet_node *to = &fleet->nodes[node];

            snprintf(to->name, sizeof(to->name), "sim-%" PRIu32, node + 1);
            to->first_gpu = gpu;
            to->n_gpus = groups[g].n_gpus;
            for (uint32_t place = 0; place < to->n_gpus; place++, gpu++) {
                fleet->gpus[gpu].model = groups[g].model;
                fleet->gpus[gpu].node = node;
                fleet->gpus[gpu].pci_domain = node;
                fleet->gpus[gpu].pci_bus = (uint8_t)(8 + 3 * place);
                weir_fleet_identify(&fleet->gpus[gpu], seed, to->name, place);
            }
        }
}

static int read_groups(struct reader *in, struct group *groups, size_t *ret_n,
                       struct weir_fleet *sizes)
{
    size_t n = 0;

    do {
        size_t from = in->at;
        int rc = read_group(in, &groups[n]);

        if (rc < 0)
            return rc;
        sizes->n_nodes += groups[n].n_nodes;
        sizes->n_gpus += groups[n].n_nodes * groups[n].n_gpus;
        if (sizes->n_nodes > WEIR_FLEET_NODES_MAX || sizes->n_gpus > WEIR_FLEET_GPUS_MAX) {
            weir_error(in->err, WEIR_E_TOO_LARGE, "more than %d GPUs or %d nodes",
                       WEIR_FLEET_GPUS_MAX, WEIR_FLEET_NODES_MAX);
            return fail_at(in, from);
        }
        n++;
    } while (peek(in) == '+' && in->at++ < in->spec.len);
    *ret_n = n;
    return 0;
}

int weir_fleet_parse(struct weir_str spec, uint64_t seed, struct weir_arena *arena,
                     struct weir_fleet *ret_fleet, struct weir_err *err)
{
    struct reader in = {spec, 0, err};
    struct group groups[GROUPS_MAX];
    struct weir_fleet fleet = {NULL, NULL, 0, 0};
    size_t n_groups = 0;
    int rc = check_text(&in);

    if (rc == 0)
        rc = read_groups(&in, groups, &n_groups, &fleet);
    if (rc < 0)
        return rc;
    fleet.nodes = weir_arena_new_n(arena, struct weir_fleet_node, fleet.n_nodes);
    fleet.gpus = weir_arena_new_n(arena, struct weir_fleet_gpu, fleet.n_gpus);
    if (fleet.nodes == NULL || fleet.gpus == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a fleet of %" PRIu32 " GPUs",
                          fleet.n_gpus);
    lay_nodes(&fleet, groups, n_groups, seed);
    *ret_fleet = fleet;
    return 0;
}

/* model/fleet_spec.h — which GPUs a simulated fleet has, from a text like "2x8xH100+4xL40S".
 *
 *     fleet = group *( "+" group )
 *     group = [ [ NODES "x" ] GPUS "x" ] MODEL
 *
 * "8xH100" is one node of eight, "2x8xH100" two nodes of eight, "H100" one node of one. Blanks
 * between the parts do not count, nor does case. MODEL is any name of the catalogue that NVML can
 * show: an NVIDIA GPU whose memory size in the driver is known.
 *
 * Nodes are called sim-1, sim-2, … in order. UUID and serial number of a GPU follow from the seed,
 * the node, the place in the node and the model, and from nothing else: a fleet that grows keeps
 * the ones it had. */
#ifndef WEIR_MODEL_FLEET_SPEC_H
#define WEIR_MODEL_FLEET_SPEC_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;
struct weir_gpu_model;

enum {
    WEIR_FLEET_NODES_MAX = 1024,
    WEIR_FLEET_GPUS_PER_NODE_MAX = 64,
    WEIR_FLEET_GPUS_MAX = 4096,
    WEIR_FLEET_SPEC_BYTES_MAX = 1000,
    WEIR_FLEET_NODE_NAME_BYTES = 64,
    WEIR_FLEET_LABEL_BYTES = 32,
    WEIR_FLEET_UUID_BYTES = 41, /* "GPU-" and 36 characters */
    WEIR_FLEET_SERIAL_BYTES = 14
};

struct weir_fleet_gpu {
    const struct weir_gpu_model *model;
    uint32_t node;       /* index in nodes */
    uint32_t pci_domain; /* the node's number from 0, so that an address is unique in the fleet */
    uint8_t pci_bus;
    char uuid[WEIR_FLEET_UUID_BYTES];
    char serial[WEIR_FLEET_SERIAL_BYTES];
};

/* The labels are empty where nothing says them: a text never does. */
struct weir_fleet_node {
    char name[WEIR_FLEET_NODE_NAME_BYTES];
    char zone[WEIR_FLEET_LABEL_BYTES];
    char rack[WEIR_FLEET_LABEL_BYTES];
    char link_domain[WEIR_FLEET_LABEL_BYTES]; /* nodes of one name share their links */
    bool mig;                                 /* its GPUs that can are in MIG mode */
    uint32_t first_gpu;                       /* index in gpus */
    uint32_t n_gpus;
};

struct weir_fleet {
    struct weir_fleet_node *nodes;
    struct weir_fleet_gpu *gpus; /* node by node */
    uint32_t n_nodes;
    uint32_t n_gpus;
};

/* Whether a fleet may have such GPUs. */
bool weir_fleet_can_simulate(const struct weir_gpu_model *model);
/* The fleet lives in the arena. On bad input an error with its column: WEIR_E_INVALID (grammar, a
 * count of zero), WEIR_E_TOO_LARGE (over a maximum above), WEIR_E_NOT_FOUND (unknown model),
 * WEIR_E_UNSUPPORTED (a model that NVML does not show). */
int weir_fleet_parse(struct weir_str spec, uint64_t seed, struct weir_arena *arena,
                     struct weir_fleet *ret_fleet, struct weir_err *err);
/* Gives a GPU its UUID and serial number, which follow from the seed, the name of its node, its
 * place there and its model. */
void weir_fleet_identify(struct weir_fleet_gpu *gpu, uint64_t seed, const char *node,
                         uint32_t place);

#endif

/* Any text: either a fleet that holds together, or an error with a message. */
#include "base/arena.h"
#include "base/err.h"
#include "model/fleet_spec.h"
#include "model/gpu_catalogue.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fleet(const struct weir_fleet *fleet)
{
    uint32_t next = 0;

    WEIR_ASSERT(fleet->n_nodes > 0 && fleet->n_nodes <= WEIR_FLEET_NODES_MAX);
    WEIR_ASSERT(fleet->n_gpus > 0 && fleet->n_gpus <= WEIR_FLEET_GPUS_MAX);
    for (uint32_t i = 0; i < fleet->n_nodes; i++) {
        WEIR_ASSERT(fleet->nodes[i].first_gpu == next);
        WEIR_ASSERT(fleet->nodes[i].n_gpus > 0);
        for (uint32_t k = 0; k < fleet->nodes[i].n_gpus; k++) {
            WEIR_ASSERT(fleet->gpus[next + k].node == i);
            WEIR_ASSERT(fleet->gpus[next + k].model->memory_total_bytes > 0);
        }
        next += fleet->nodes[i].n_gpus;
    }
    WEIR_ASSERT(next == fleet->n_gpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_fleet fleet;
    struct weir_err err = WEIR_ERR_INIT;
    int rc = weir_fleet_parse(weir_str_n((const char *)data, size), 1, &arena, &fleet, &err);

    if (rc == 0) {
        check_fleet(&fleet);
    } else {
        WEIR_ASSERT(err.code == rc && err.text[0] != '\0');
        WEIR_ASSERT(err.column <= size + 1);
    }
    weir_arena_finish(&arena);
    return 0;
}

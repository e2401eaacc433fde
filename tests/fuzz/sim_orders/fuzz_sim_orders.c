/* Any text: either orders in the order of their instants, each of one sort, or an error with its
 * place. */
#include "base/arena.h"
#include "base/err.h"
#include "edge/nvml/sim_orders.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_sim_order *orders = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    size_t n = 0;
    int rc = weir_sim_orders_parse(weir_str_n((const char *)data, size), &arena, &orders, &n, &err);

    if (rc < 0)
        WEIR_ASSERT(err.code == rc && err.text[0] != '\0' && n == 0 && orders == NULL);
    for (size_t i = 0; i < n; i++) {
        WEIR_ASSERT(orders[i].line > 0 && orders[i].after_ms >= 0);
        WEIR_ASSERT(i == 0 || orders[i - 1].after_ms <= orders[i].after_ms);
        WEIR_ASSERT(orders[i].is_reload || orders[i].gpu.len > 0);
        WEIR_ASSERT(orders[i].fault.kind < WEIR_SIM_FAULT_MAX);
    }
    weir_arena_finish(&arena);
    return 0;
}

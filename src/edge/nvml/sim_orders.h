/* edge/nvml/sim_orders.h — faults as text, one order a line:
 *
 *     [at DURATION] gpu GPU FAULT
 *     [at DURATION] driver reload [DURATION]
 *
 *     GPU     3 (the number in the fleet), sim-1/3 (in its node), a UUID, or "all"
 *     FAULT   xid CODE [pid PID]      lost              reset-required      recovered
 *             ecc N [corrected|uncorrected]             remap correctable|uncorrectable N
 *             remap failed            thermal CELSIUS|off                   power WATT|off
 *             hang DURATION|forever   action none|reset|reboot|drain-p2p|drain-and-reset
 *
 * Blank lines and what follows a '#' do not count. Errors of "ecc" are uncorrected unless said
 * otherwise; a driver that is reloaded is away for two seconds. */
#ifndef WEIR_EDGE_NVML_SIM_ORDERS_H
#define WEIR_EDGE_NVML_SIM_ORDERS_H

#include "base/str.h"
#include "edge/nvml/sim_fleet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;

enum { WEIR_SIM_ORDERS_MAX = 10000, WEIR_SIM_ORDERS_BYTES_MAX = 1 << 20 };

struct weir_sim_order {
    int64_t after_ms; /* since whatever the schedule begins with */
    uint32_t line;
    uint32_t gpu_column;
    bool is_reload;
    int64_t down_ms;      /* of a reload */
    struct weir_str node; /* as the lines of a node are about its own GPUs only; else empty */
    struct weir_str gpu;  /* as written */
    struct weir_sim_fault fault;
};

/* All orders of a text, in the order of their instants (of their lines where that is the same), in
 * the arena; what they name points into the text. WEIR_E_INVALID with line and column;
 * WEIR_E_TOO_LARGE; WEIR_E_NO_MEMORY. */
int weir_sim_orders_parse(struct weir_str text, struct weir_arena *arena,
                          struct weir_sim_order **ret_orders, size_t *ret_n, struct weir_err *err);
/* WEIR_E_NOT_FOUND, with the place, where an order is for a GPU that the fleet does not have. */
int weir_sim_order_check(const struct weir_sim_fleet *fleet, const struct weir_sim_order *order,
                         struct weir_err *err);
/* Now, whatever after_ms says. Errors: of the check, and of weir_sim_fleet_fault(). */
int weir_sim_order_carry_out(struct weir_sim_fleet *fleet, const struct weir_sim_order *order,
                             int64_t at_ms, struct weir_err *err);
/* A schedule that began at begin_ms: carries out the orders from *next on whose instant has come,
 * and moves *next on. One that fails is passed over, and the first failure returned. *ret_wait_ms
 * is the time until the next, or WEIR_SIM_NEVER after the last. */
int weir_sim_orders_run(struct weir_sim_fleet *fleet, const struct weir_sim_order *orders, size_t n,
                        size_t *next, int64_t begin_ms, int64_t now_ms, int64_t *ret_wait_ms,
                        struct weir_err *err);

#endif

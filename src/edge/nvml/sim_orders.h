/* edge/nvml/sim_orders.h — faults as text, one order a line:
 *
 *     [+DURATION] [node NODE] gpu GPU FAULT
 *     [+DURATION] driver reload [DURATION]
 *
 *     GPU     3 (the number in the fleet, or in the node that is named), sim-1/3 (in its node), a
 *             UUID, or "all"
 *     FAULT   xid CODE [pid PID]      lost              reset-required      recovered
 *             ecc N [corrected|uncorrected]             remap correctable|uncorrectable N
 *             remap failed            thermal CELSIUS|off                   power WATT|off
 *             hang DURATION|forever   action none|reset|reboot|drain-p2p|drain-and-reset
 *
 * "at DURATION" means the same as "+DURATION": when, on a schedule. Blank lines and what follows a
 * '#' do not count. Errors of "ecc" are uncorrected unless said
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
    uint32_t node_column;
    bool is_reload;
    int64_t down_ms;      /* of a reload */
    struct weir_str text; /* without its instant */
    struct weir_str node; /* whose GPUs it is about; empty: the fleet's */
    struct weir_str gpu;  /* as written */
    struct weir_sim_fault fault;
};

/* All orders of a text, in the order of their instants (of their lines where that is the same), in
 * the arena; what they name points into the text. WEIR_E_INVALID with line and column;
 * WEIR_E_TOO_LARGE; WEIR_E_NO_MEMORY. */
int weir_sim_orders_parse(struct weir_str text, struct weir_arena *arena,
                          struct weir_sim_order **ret_orders, size_t *ret_n, struct weir_err *err);
/* WEIR_E_NOT_FOUND, with the place, where an order is for a node or GPU that the fleet does not
 * have; WEIR_E_INVALID where one of its GPUs cannot have such a limit. */
int weir_sim_order_check(const struct weir_sim_fleet *fleet, const struct weir_sim_order *order,
                         struct weir_err *err);
/* Now, whatever after_ms says. Errors: of the check, and of weir_sim_fleet_fault(). */
int weir_sim_order_carry_out(struct weir_sim_fleet *fleet, const struct weir_sim_order *order,
                             int64_t at_ms, struct weir_err *err);

struct weir_sim_schedule {
    const struct weir_sim_order *orders; /* by their instants */
    size_t n;
    size_t next;
    int64_t begin_ms;
};
/* Carries out what is due, each with its own instant, and tells of it: `why` is NULL, or why it
 * could not be. Returns the time until the next, or WEIR_SIM_NEVER after the last. */
int64_t weir_sim_schedule_run(
    struct weir_sim_schedule *schedule, struct weir_sim_fleet *fleet, int64_t now_ms,
    void (*tell)(void *arg, struct weir_str order, const struct weir_err *why), void *arg);

#endif

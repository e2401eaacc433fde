#include "edge/nvml/sim_fleet_impl.h"

#include "base/err.h"
#include "edge/nvml/nvml_abi_values.h"
#include "edge/nvml/sim_kmsg.h"
#include "edge/nvml/sim_mig.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    XID_ACTION_CHANGED = 154,
    XID_OFF_THE_BUS = 79,
    THERMAL_MIN_C = 20,
    THERMAL_MAX_C = 120,
    XID_MAX = 9999,
    REMAP_MAX = 1024
};

/* Clients wait for the bell: a word of the file, so that the wake reaches other processes. */
static void ring_bell(struct weir_sim_header *header)
{
    __atomic_add_fetch(&header->event_bell, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &header->event_bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void add_event(struct weir_sim_fleet *fleet, uint32_t index, uint64_t type, uint64_t data,
                      const struct weir_sim_load *load, int64_t at_ms)
{
    struct weir_sim_header *header = fleet->header;
    uint64_t n = __atomic_load_n(&header->n_events, __ATOMIC_RELAXED);

    header->events[n % WEIR_SIM_EVENTS_MAX] = (struct weir_sim_event){
        .type = type,
        .data = data,
        .device = index,
        .gpu_instance = load != NULL ? load->gpu_instance : WEIR_NVML_NO_INSTANCE,
        .compute_instance = load != NULL ? load->compute_instance : WEIR_NVML_NO_INSTANCE,
        .at_ms = at_ms,
    };
    __atomic_store_n(&header->n_events, n + 1, __ATOMIC_RELEASE);
    ring_bell(header);
}

static int change_action(struct weir_sim_fleet *fleet, uint32_t index, uint32_t action,
                         struct weir_sim_state *state, int64_t at_ms, struct weir_err *err)
{
    uint32_t before = state->recovery_action;
    int rc;

    if (action == before)
        return 0;
    rc =
        weir_sim_kmsg_action(fleet, weir_sim_fleet_facts(fleet, index), before, action, at_ms, err);
    if (rc < 0)
        return rc;
    state->recovery_action = action;
    add_event(fleet, index, WEIR_NVML_EVENT_XID, XID_ACTION_CHANGED, NULL, at_ms);
    add_event(fleet, index, WEIR_NVML_EVENT_RECOVERY_ACTION, action, NULL, at_ms);
    return 0;
}

static int raise_xid(struct weir_sim_fleet *fleet, uint32_t index,
                     const struct weir_sim_fault *fault, struct weir_sim_state *state,
                     int64_t at_ms, struct weir_err *err)
{
    const struct weir_sim_load *load = NULL;
    const struct weir_sim_xid *xid;
    uint32_t code = (uint32_t)fault->amount;
    int rc;

    for (uint32_t i = 0; fault->pid != 0 && i < state->n_loads; i++)
        if (state->loads[i].pid == fault->pid)
            load = &state->loads[i];
    xid = weir_sim_xid_find(code);
    rc = weir_sim_kmsg_xid(fleet, weir_sim_fleet_facts(fleet, index), code, fault->pid, load, at_ms,
                           err);
    if (rc < 0)
        return rc;
    if (code == XID_OFF_THE_BUS)
        state->health = WEIR_SIM_LOST;
    add_event(fleet, index, WEIR_NVML_EVENT_XID, code, load, at_ms);
    if (xid->event != 0)
        add_event(fleet, index, xid->event, 0, load, at_ms);
    return xid->action > state->recovery_action
               ? change_action(fleet, index, xid->action, state, at_ms, err)
               : 0;
}

static void raise_remap(const struct weir_sim_fault *fault, struct weir_sim_state *state)
{
    uint32_t more = (uint32_t)fault->amount;

    if (fault->which == WEIR_SIM_REMAP_FAILED) {
        state->remap_failed = 1;
        return;
    }
    if (fault->which == WEIR_SIM_REMAP_CORRECTABLE)
        state->remapped_correctable += more;
    else
        state->remapped_uncorrectable += more;
    state->remap_pending = 1;
}

static int recover(struct weir_sim_fleet *fleet, uint32_t index, struct weir_sim_state *state,
                   int64_t at_ms, struct weir_err *err)
{
    int rc = change_action(fleet, index, WEIR_NVML_RECOVERY_NONE, state, at_ms, err);

    if (rc == 0)
        weir_sim_fleet_reset(fleet, index, state);
    return rc;
}

int weir_sim_fault_check(const struct weir_sim_facts *facts, const struct weir_sim_fault *fault,
                         struct weir_err *err)
{
    if (fault->kind == WEIR_SIM_FAULT_XID && (fault->amount == 0 || fault->amount > XID_MAX))
        return weir_error(err, WEIR_E_INVALID, "%" PRIu64 " is no XID", fault->amount);
    if (fault->kind == WEIR_SIM_FAULT_REMAP && (fault->amount == 0 || fault->amount > REMAP_MAX))
        return weir_error(err, WEIR_E_INVALID, "%" PRIu64 " rows cannot be remapped at once",
                          fault->amount);
    if (fault->kind == WEIR_SIM_FAULT_ACTION &&
        fault->which > WEIR_NVML_RECOVERY_RECOVER_IMEX_DOMAIN)
        return weir_error(err, WEIR_E_INVALID, "there is no recovery action %" PRIu32,
                          fault->which);
    if (fault->kind >= WEIR_SIM_FAULT_MAX)
        return weir_error(err, WEIR_E_INVALID, "there is no fault of kind %" PRIu32, fault->kind);
    if (fault->kind == WEIR_SIM_FAULT_POWER && fault->amount > facts->power_limit_mw)
        return weir_error(err, WEIR_E_INVALID,
                          "a power cap of %" PRIu64 " W is above the %" PRIu32 " W of '%s'",
                          fault->amount / 1000, facts->power_limit_mw / 1000, facts->name);
    if (fault->kind == WEIR_SIM_FAULT_THERMAL && fault->amount != 0 &&
        (fault->amount < THERMAL_MIN_C || fault->amount > THERMAL_MAX_C))
        return weir_error(err, WEIR_E_INVALID, "a thermal cap is from %d to %d degrees",
                          THERMAL_MIN_C, THERMAL_MAX_C);
    return 0;
}

static int apply(struct weir_sim_fleet *fleet, uint32_t index, const struct weir_sim_fault *fault,
                 struct weir_sim_state *state, int64_t at_ms, struct weir_err *err)
{
    const struct weir_sim_facts *facts = weir_sim_fleet_facts(fleet, index);

    switch ((enum weir_sim_fault_kind)fault->kind) {
    case WEIR_SIM_FAULT_XID:
        return raise_xid(fleet, index, fault, state, at_ms, err);
    case WEIR_SIM_FAULT_LOST:
        state->health = WEIR_SIM_LOST;
        return weir_sim_kmsg_lost(fleet, facts, at_ms, err);
    case WEIR_SIM_FAULT_RESET_REQUIRED:
        state->health = WEIR_SIM_RESET_REQUIRED;
        return change_action(fleet, index, WEIR_NVML_RECOVERY_GPU_RESET, state, at_ms, err);
    case WEIR_SIM_FAULT_RECOVERED:
        return recover(fleet, index, state, at_ms, err);
    case WEIR_SIM_FAULT_ACTION:
        return change_action(fleet, index, fault->which, state, at_ms, err);
    case WEIR_SIM_FAULT_ECC:
        state->ecc_volatile[fault->which & 1] += fault->amount;
        state->ecc_aggregate[fault->which & 1] += fault->amount;
        add_event(fleet, index,
                  fault->which == WEIR_NVML_ECC_CORRECTED ? WEIR_NVML_EVENT_SINGLE_BIT_ECC
                                                          : WEIR_NVML_EVENT_DOUBLE_BIT_ECC,
                  0, NULL, at_ms);
        return 0;
    case WEIR_SIM_FAULT_REMAP:
        raise_remap(fault, state);
        return 0;
    case WEIR_SIM_FAULT_THERMAL:
        state->thermal_limit_c = (uint32_t)fault->amount;
        return 0;
    case WEIR_SIM_FAULT_POWER:
        state->power_cap_mw = (uint32_t)fault->amount;
        return 0;
    case WEIR_SIM_FAULT_HANG:
        state->hang_until_ms = fault->amount >= (uint64_t)(WEIR_SIM_NEVER - at_ms)
                                   ? WEIR_SIM_NEVER
                                   : at_ms + (int64_t)fault->amount;
        return 0;
    case WEIR_SIM_FAULT_MAX:
        break;
    }
    return 0; /* it was checked */
}

int weir_sim_fleet_fault(struct weir_sim_fleet *fleet, uint32_t index,
                         const struct weir_sim_fault *fault, int64_t at_ms, struct weir_err *err)
{
    struct weir_sim_state state;
    int rc;

    rc = weir_sim_fault_check(weir_sim_fleet_facts(fleet, index), fault, err);
    if (rc < 0)
        return rc;
    weir_sim_fleet_read_at(fleet, index, at_ms, &state);
    rc = apply(fleet, index, fault, &state, at_ms, err);
    if (rc < 0)
        return rc;
    weir_sim_fleet_publish(fleet, index, &state);
    ring_bell(fleet->header);
    return 0;
}

void weir_sim_fleet_reload_driver(struct weir_sim_fleet *fleet, int64_t down_ms, int64_t at_ms)
{
    __atomic_store_n(&fleet->header->driver_down_until_ms, at_ms + down_ms, __ATOMIC_RELEASE);
    __atomic_add_fetch(&fleet->header->driver_loads, 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < fleet->header->n_devices; i++) {
        struct weir_sim_state state;

        weir_sim_fleet_read_at(fleet, i, at_ms, &state);
        weir_sim_fleet_reset(fleet, i, &state);
        state.base = (struct weir_sim_base){.at_ms = state.base.at_ms,
                                            .power_w = state.base.power_w,
                                            .temperature_c = state.base.temperature_c};
        weir_sim_fleet_publish(fleet, i, &state);
    }
    ring_bell(fleet->header);
}

#include "edge/nvml/simlib/simlib.h"

#include "edge/nvml/nvml_abi_values.h"

#include <math.h>

API int nvmlDeviceGetFieldValues(struct weir_nvml_handle *device, int count,
                                 struct weir_nvml_field_value *values);

struct moment {
    const struct weir_sim_view *view;
    struct weir_sim_reading now;
};

static void set_u32(struct weir_nvml_field_value *field, uint32_t value)
{
    field->value_type = WEIR_NVML_VALUE_UNSIGNED_INT;
    field->value.u32 = value;
}

static void set_u64(struct weir_nvml_field_value *field, uint64_t value)
{
    field->value_type = WEIR_NVML_VALUE_UNSIGNED_LONG_LONG;
    field->value.u64 = value;
}

/* What passed a link, or all of them, in KiB. */
static void set_link_data(const struct moment *at, struct weir_nvml_field_value *field)
{
    const struct weir_sim_facts *facts = &at->view->facts;
    double kib = at->now.base.nvlink_kib;

    if (facts->link == WEIR_SIM_LINK_NONE || facts->n_links == 0) {
        field->result = WEIR_NVML_NOT_SUPPORTED;
        return;
    }
    if (field->scope != WEIR_NVML_SCOPE_ALL_LINKS) {
        if (field->scope >= facts->n_links) {
            field->result = WEIR_NVML_INVALID_ARGUMENT;
            return;
        }
        kib /= facts->n_links;
    }
    set_u64(field, (uint64_t)kib);
}

/* Rows are remapped from Ampere on; before, pages were retired. */
static void set_of_generation(const struct weir_sim_view *view, bool is_remap, uint32_t value,
                              struct weir_nvml_field_value *field)
{
    set_u32(field, value);
    if (is_remap != (view->facts.cc_major >= 8))
        field->result = WEIR_NVML_NOT_SUPPORTED;
}

static bool fill_errors(const struct weir_sim_view *view, struct weir_nvml_field_value *field)
{
    const struct weir_sim_state *state = &view->state;

    switch (field->field) {
    case WEIR_NVML_FIELD_ECC_SBE_VOLATILE:
        set_u64(field, state->ecc_volatile[WEIR_NVML_ECC_CORRECTED]);
        return true;
    case WEIR_NVML_FIELD_ECC_DBE_VOLATILE:
        set_u64(field, state->ecc_volatile[WEIR_NVML_ECC_UNCORRECTED]);
        return true;
    case WEIR_NVML_FIELD_ECC_SBE_AGGREGATE:
        set_u64(field, state->ecc_aggregate[WEIR_NVML_ECC_CORRECTED]);
        return true;
    case WEIR_NVML_FIELD_ECC_DBE_AGGREGATE:
        set_u64(field, state->ecc_aggregate[WEIR_NVML_ECC_UNCORRECTED]);
        return true;
    case WEIR_NVML_FIELD_REMAPPED_CORRECTABLE:
        set_of_generation(view, true, state->remapped_correctable, field);
        return true;
    case WEIR_NVML_FIELD_REMAPPED_UNCORRECTABLE:
        set_of_generation(view, true, state->remapped_uncorrectable, field);
        return true;
    case WEIR_NVML_FIELD_REMAPPED_PENDING:
        set_of_generation(view, true, state->remap_pending, field);
        return true;
    case WEIR_NVML_FIELD_REMAPPED_FAILURE:
        set_of_generation(view, true, state->remap_failed, field);
        return true;
    case WEIR_NVML_FIELD_RETIRED_SBE:
    case WEIR_NVML_FIELD_RETIRED_DBE:
    case WEIR_NVML_FIELD_RETIRED_PENDING:
        set_of_generation(view, false, 0, field);
        return true;
    case WEIR_NVML_FIELD_PCIE_REPLAY:
    case WEIR_NVML_FIELD_PCIE_REPLAY_ROLLOVER:
        set_u32(field, 0);
        return true;
    default:
        return false;
    }
}

static bool fill_power(const struct moment *at, struct weir_nvml_field_value *field)
{
    const struct weir_sim_facts *facts = &at->view->facts;
    uint32_t cap_mw = at->view->state.power_cap_mw;

    switch (field->field) {
    case WEIR_NVML_FIELD_TOTAL_ENERGY:
        set_u64(field, (uint64_t)(at->now.base.energy_j * 1000));
        return true;
    case WEIR_NVML_FIELD_POWER_AVERAGE:
    case WEIR_NVML_FIELD_POWER_INSTANT:
        set_u32(field, (uint32_t)lround(at->now.base.power_w * 1000));
        return true;
    case WEIR_NVML_FIELD_POWER_LIMIT_MIN:
        set_u32(field, facts->power_limit_mw / 7 * 2);
        return true;
    case WEIR_NVML_FIELD_POWER_LIMIT_MAX:
    case WEIR_NVML_FIELD_POWER_LIMIT_DEFAULT:
        set_u32(field, facts->power_limit_mw);
        return true;
    case WEIR_NVML_FIELD_POWER_LIMIT_CURRENT:
        set_u32(field, cap_mw > 0 ? cap_mw : facts->power_limit_mw);
        return true;
    case WEIR_NVML_FIELD_VIOLATION_POWER:
        set_u64(field, (uint64_t)(at->now.base.power_violation_s * 1e9));
        return true;
    case WEIR_NVML_FIELD_VIOLATION_THERMAL:
        set_u64(field, (uint64_t)(at->now.base.thermal_violation_s * 1e9));
        return true;
    case WEIR_NVML_FIELD_VIOLATION_SYNC_BOOST:
    case WEIR_NVML_FIELD_VIOLATION_BOARD_LIMIT:
    case WEIR_NVML_FIELD_VIOLATION_LOW_UTILIZATION:
    case WEIR_NVML_FIELD_VIOLATION_RELIABILITY:
        set_u64(field, 0);
        return true;
    default:
        return false;
    }
}

static bool fill_link(const struct moment *at, struct weir_nvml_field_value *field)
{
    const struct weir_sim_facts *facts = &at->view->facts;
    bool has_links = facts->link != WEIR_SIM_LINK_NONE;

    switch (field->field) {
    case WEIR_NVML_FIELD_NVLINK_LINK_COUNT:
        set_u32(field, has_links ? facts->n_links : 0);
        return true;
    case WEIR_NVML_FIELD_NVLINK_SPEED_COMMON:
        set_u32(field, has_links ? facts->link_mb_per_s : 0);
        return true;
    case WEIR_NVML_FIELD_NVLINK_DATA_TX:
    case WEIR_NVML_FIELD_NVLINK_DATA_RX:
    case WEIR_NVML_FIELD_NVLINK_RAW_TX:
    case WEIR_NVML_FIELD_NVLINK_RAW_RX:
        set_link_data(at, field);
        return true;
    case WEIR_NVML_FIELD_NVLINK_CRC_FLIT_TOTAL:
    case WEIR_NVML_FIELD_NVLINK_CRC_DATA_TOTAL:
    case WEIR_NVML_FIELD_NVLINK_REPLAY_TOTAL:
    case WEIR_NVML_FIELD_NVLINK_RECOVERY_TOTAL:
    case WEIR_NVML_FIELD_NVLINK_ECC_TOTAL:
        set_u64(field, 0);
        if (!has_links)
            field->result = WEIR_NVML_NOT_SUPPORTED;
        return true;
    default:
        return false;
    }
}

static void fill_field(const struct moment *at, struct weir_nvml_field_value *field)
{
    field->result = WEIR_NVML_SUCCESS;
    field->value_type = WEIR_NVML_VALUE_UNSIGNED_INT;
    field->value.u64 = 0;
    /* The driver's verdict is told also of a GPU that tells nothing else any more. */
    if (field->field == WEIR_NVML_FIELD_RECOVERY_ACTION) {
        set_u32(field, at->view->state.recovery_action);
        return;
    }
    if (at->view->state.health == WEIR_SIM_RESET_REQUIRED) {
        field->result = WEIR_NVML_RESET_REQUIRED;
        return;
    }
    if (field->field == WEIR_NVML_FIELD_MEMORY_TEMP)
        set_u32(field, (uint32_t)lround(at->now.memory_temperature_c));
    else if (!fill_errors(at->view, field) && !fill_power(at, field) && !fill_link(at, field))
        field->result = WEIR_NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(struct weir_nvml_handle *device, int count,
                             struct weir_nvml_field_value *values)
{
    struct weir_sim_view view;
    struct moment at = {.view = &view};
    int result = weir_sim_look_with(device, values, WEIR_SIM_ACCEPT_RESET, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (count <= 0)
        return WEIR_NVML_INVALID_ARGUMENT;
    weir_sim_model_read(&view.facts, &view.state, view.at_ms, &at.now);
    for (int i = 0; i < count; i++) {
        fill_field(&at, &values[i]);
        values[i].timestamp_us = (int64_t)weir_sim_wall_us();
        values[i].latency_us = 0;
    }
    return WEIR_NVML_SUCCESS;
}

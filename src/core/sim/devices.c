#include "core/sim/devices.h"

#include "base/err.h"

static bool is_under_way(const struct weir_device *row)
{
    return row->phase != WEIR_DEVICE_THERE || row->mps == WEIR_MPS_STARTING ||
           row->mps == WEIR_MPS_STOPPING;
}

/* The driver gives a number; here it is one that no other instance of the device has. */
static uint32_t number_of(const struct weir_device *row)
{
    uint32_t number = 0;

    while (number < WEIR_DEVICE_SLOTS_MAX && (row->slots & 1u << number) == 0)
        number++;
    return number;
}

static void end_phase(struct weir_device *row)
{
    if (row->phase == WEIR_DEVICE_MAKING)
        row->instance = number_of(row);
    if (row->phase == WEIR_DEVICE_SWITCHING)
        row->mig = row->mig_wanted != WEIR_MIG_NONE ? row->mig_wanted
                   : row->mig == WEIR_MIG_ON        ? WEIR_MIG_OFF
                                                    : WEIR_MIG_ON;
    row->phase = WEIR_DEVICE_THERE;
    if (row->mps == WEIR_MPS_STARTING)
        row->mps = WEIR_MPS_ON;
    if (row->mps == WEIR_MPS_STOPPING)
        row->mps = WEIR_MPS_OFF;
}

int weir_sim_settle_devices(struct weir_edit *edit)
{
    const struct weir_world *view = weir_edit_view(edit);
    uint32_t n_rows = weir_world_table(view, WEIR_TABLE_DEVICES)->n_rows;
    int is_any = 0;

    for (uint32_t i = weir_world_first(view, WEIR_TABLE_DEVICES); i < n_rows;
         i = weir_world_after(view, WEIR_TABLE_DEVICES, i)) {
        const struct weir_device *row = weir_world_device(view, i);
        struct weir_device *changed;

        if (!is_under_way(row) || (row->phase == WEIR_DEVICE_UNMAKING && row->n_sharers > 0))
            continue;
        is_any = 1;
        if (row->phase == WEIR_DEVICE_UNMAKING) {
            if (weir_edit_remove_device(edit, i) < 0)
                return WEIR_E_NO_MEMORY;
            continue;
        }
        changed = weir_edit_device(edit, i);
        if (changed == NULL)
            return WEIR_E_NO_MEMORY;
        end_phase(changed);
    }
    return is_any;
}

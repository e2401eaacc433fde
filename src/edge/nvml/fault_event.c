#include "edge/nvml/fault_event.h"

#include "base/count.h"
#include "edge/nvml/nvml_abi.h"

#include <stddef.h>

static struct weir_fault_event event_of(enum weir_fault_kind kind,
                                        const struct weir_fault_device *device, int64_t at_ms,
                                        struct weir_str text)
{
    return (struct weir_fault_event){
        .at_ms = at_ms,
        .device = *device,
        .kind = (uint8_t)kind,
        .origin = WEIR_FAULT_ORIGIN_KERNEL,
        .recovery = WEIR_FAULT_RECOVERY_ABSENT,
        .pid = -1,
        .gpu_instance = -1,
        .link = -1,
        .gpc = -1,
        .tpc = -1,
        .text = text,
    };
}

bool weir_fault_from_nvml(uint64_t type, uint64_t data, uint8_t recovery,
                          const struct weir_fault_device *device, int64_t at_ms,
                          struct weir_fault_event *ret_event)
{
    /* The library's own types mean the same as these Xids. */
    static const struct {
        uint64_t type;
        uint32_t xid; /* 0: none */
        uint8_t kind;
        struct weir_str text;
    } types[] = {
        {WEIR_NVML_EVENT_DOUBLE_BIT_ECC, 48, WEIR_FAULT_XID, {"NVML: double bit ECC error", 26}},
        {WEIR_NVML_EVENT_SINGLE_BIT_ECC_STORM,
         92,
         WEIR_FAULT_XID,
         {"NVML: single bit ECC error storm", 32}},
        {WEIR_NVML_EVENT_DRAM_RETIREMENT, 63, WEIR_FAULT_XID, {"NVML: DRAM retirement", 21}},
        {WEIR_NVML_EVENT_DRAM_RETIREMENT_FAILURE,
         64,
         WEIR_FAULT_XID,
         {"NVML: DRAM retirement failed", 28}},
        {WEIR_NVML_EVENT_NON_FATAL_POISON, 94, WEIR_FAULT_XID, {"NVML: contained poison", 22}},
        {WEIR_NVML_EVENT_FATAL_POISON, 95, WEIR_FAULT_XID, {"NVML: fatal poison", 18}},
        {WEIR_NVML_EVENT_GPU_UNAVAILABLE, 0, WEIR_FAULT_LOST, {"NVML: the GPU is unavailable", 28}},
        {WEIR_NVML_EVENT_RECOVERY_ACTION, 0, WEIR_FAULT_RECOVERY, {"NVML: recovery action", 21}},
    };

    if (type == WEIR_NVML_EVENT_XID) {
        if (data == 0 || data > UINT32_MAX)
            return false;
        *ret_event = event_of(WEIR_FAULT_XID, device, at_ms, WEIR_STR("NVML: Xid"));
        ret_event->code = (uint32_t)data;
        ret_event->recovery = recovery;
        return true;
    }
    for (size_t i = 0; i < WEIR_COUNT_OF(types); i++) {
        if (types[i].type != type)
            continue;
        *ret_event = event_of((enum weir_fault_kind)types[i].kind, device, at_ms, types[i].text);
        ret_event->code = types[i].xid;
        ret_event->recovery = recovery;
        return true;
    }
    return false;
}

bool weir_fault_from_nvml_return(int code, const struct weir_fault_device *device, int64_t at_ms,
                                 struct weir_fault_event *ret_event)
{
    static const struct {
        int code;
        uint8_t kind;
        struct weir_str text;
    } codes[] = {
        {WEIR_NVML_GPU_IS_LOST, WEIR_FAULT_LOST, {"NVML: GPU is lost", 17}},
        {WEIR_NVML_RESET_REQUIRED, WEIR_FAULT_RESET_REQUIRED, {"NVML: reset required", 20}},
        {WEIR_NVML_LIB_RM_VERSION_MISMATCH,
         WEIR_FAULT_VERSION_MISMATCH,
         {"NVML: driver/library version mismatch", 37}},
        {WEIR_NVML_DRIVER_NOT_LOADED, WEIR_FAULT_NO_PROBE, {"NVML: driver not loaded", 23}},
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(codes); i++)
        if (codes[i].code == code) {
            *ret_event =
                event_of((enum weir_fault_kind)codes[i].kind, device, at_ms, codes[i].text);
            return true;
        }
    return false;
}

struct weir_fault_event weir_fault_from_recovery(uint8_t recovery,
                                                 const struct weir_fault_device *device,
                                                 int64_t at_ms)
{
    struct weir_fault_event event =
        event_of(WEIR_FAULT_RECOVERY, device, at_ms, WEIR_STR("NVML: recovery action"));

    event.recovery = recovery;
    return event;
}

bool weir_fault_from_count(uint32_t n_expected, uint32_t n_driver, uint32_t n_pci, uint32_t node,
                           int64_t at_ms, struct weir_fault_event *ret_event)
{
    struct weir_fault_device device = {.node = node};

    if (n_driver >= n_expected && n_driver >= n_pci)
        return false;
    *ret_event = event_of(WEIR_FAULT_COUNT, &device, at_ms, WEIR_STR("fewer GPUs than expected"));
    return true;
}

/* edge/nvml/fault_event.h — what the driver library tells of faults, as fault events.
 *
 * The library sees some faults that the log does not name by an Xid, and the other way round; both
 * make the same events, so that one incident takes them in. */
#ifndef WEIR_EDGE_NVML_FAULT_EVENT_H
#define WEIR_EDGE_NVML_FAULT_EVENT_H

#include "model/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* An event of nvmlEventSetWait: one bit of the type, and its data (the code of an Xid). recovery is
 * the value of field 230, read when the event came; WEIR_FAULT_RECOVERY_ABSENT where it cannot be
 * read. False: that type is no fault. */
bool weir_fault_from_nvml(uint64_t type, uint64_t data, uint8_t recovery,
                          const struct weir_fault_device *device, int64_t at_ms,
                          struct weir_fault_event *ret_event);
/* What a call on the device returned (enum weir_nvml_return). False: it tells no fault. */
bool weir_fault_from_nvml_return(int code, const struct weir_fault_device *device, int64_t at_ms,
                                 struct weir_fault_event *ret_event);
/* Field 230 read by itself. */
struct weir_fault_event weir_fault_from_recovery(uint8_t recovery,
                                                 const struct weir_fault_device *device,
                                                 int64_t at_ms);
/* The GPUs that the node should have, that the driver serves, and that are on the PCIe bus. False:
 * none is missing. */
bool weir_fault_from_count(uint32_t n_expected, uint32_t n_driver, uint32_t n_pci, uint32_t node,
                           int64_t at_ms, struct weir_fault_event *ret_event);

#endif

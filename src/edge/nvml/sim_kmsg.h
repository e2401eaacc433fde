/* edge/nvml/sim_kmsg.h — the lines that the kernel module of a real driver logs about a fault, as
 * records of /dev/kmsg of facility 0:
 *
 *     3,17,5013045000,-;NVRM: Xid (PCI:0000:08:00): 79, pid='<unknown>', name=<unknown>, GPU has …
 *
 * priority, sequence number, microseconds since boot; the message. The file begins anew when it has
 * grown to WEIR_SIM_KMSG_BYTES_MAX, as the kernel's ring forgets; sequence numbers go on. */
#ifndef WEIR_EDGE_NVML_SIM_KMSG_H
#define WEIR_EDGE_NVML_SIM_KMSG_H

#include "edge/nvml/sim_layout.h"

struct weir_err;
struct weir_sim_fleet;

enum { WEIR_SIM_KMSG_BYTES_MAX = 1 << 20 };

/* What is known of an XID: what the driver says of it, and what it then advises. */
struct weir_sim_xid {
    uint32_t code;
    uint32_t action;  /* enum weir_nvml_recovery_action; raised by the XID */
    const char *text; /* behind the process */
    uint64_t event;   /* besides WEIR_NVML_EVENT_XID */
};

/* Never NULL: one of an unknown code has a text that says so. */
const struct weir_sim_xid *weir_sim_xid_find(uint32_t code);

/* Room for what is said of so many faults: then none of them fails for lack of it. */
int weir_sim_kmsg_reserve(struct weir_sim_fleet *fleet, size_t n_faults, struct weir_err *err);

/* pid 0: the driver knows no process. load: where it runs, when it is one of the GPU's; or NULL. */
int weir_sim_kmsg_xid(struct weir_sim_fleet *fleet, const struct weir_sim_facts *facts,
                      uint32_t code, uint32_t pid, const struct weir_sim_load *load, int64_t at_ms,
                      struct weir_err *err);
int weir_sim_kmsg_lost(struct weir_sim_fleet *fleet, const struct weir_sim_facts *facts,
                       int64_t at_ms, struct weir_err *err);
/* XID 154. */
int weir_sim_kmsg_action(struct weir_sim_fleet *fleet, const struct weir_sim_facts *facts,
                         uint32_t from, uint32_t to, int64_t at_ms, struct weir_err *err);

#endif

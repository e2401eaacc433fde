/* fmt/gpu_log.h — one line that a kernel log (or a tool of the driver) says about GPUs, their
 * links, their switches and the adapters beside them, taken apart. What it means is core/health/'s
 * business.
 *
 * The line must begin with what the speaker puts there ("NVRM:", "nvidia-nvswitch0:", "mlx5_core
 * 0000:…"): a line that only quotes such a message is WEIR_GPU_LOG_NONE. Who wrote the line is not
 * asked here; that takes fmt/kmsg.h's facility or fmt/log_prefix.h's origin.
 *
 * Shapes: NVIDIA/open-gpu-kernel-modules 595.45.04, kernel_rc.c, osapi.c, osinit.c, nv.c, gpu.c,
 * kern_gpu_error_cont_ga100.c, common_nvswitch.h, intr_nvswitch.h, error_nvswitch.c; PCIe:
 * Linux drivers/pci/pcie/aer.c; adapters: Linux drivers/net/ethernet/mellanox/mlx5. */
#ifndef WEIR_FMT_GPU_LOG_H
#define WEIR_FMT_GPU_LOG_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum weir_gpu_log_kind {
    WEIR_GPU_LOG_NONE,
    WEIR_GPU_LOG_XID,
    WEIR_GPU_LOG_SXID,
    WEIR_GPU_LOG_SXID_DETAIL, /* "Severity …" or "Data {…}": belongs to the SXid before it */
    WEIR_GPU_LOG_UUID,        /* which GPU has which address */
    WEIR_GPU_LOG_LOST,        /* fallen off the bus, said without an Xid */
    WEIR_GPU_LOG_LOST_HEAD,   /* "The NVIDIA GPU ADDRESS": what of it, the next lines say */
    WEIR_GPU_LOG_LOST_TAIL,   /* "fallen off the bus …": the GPU of the head */
    WEIR_GPU_LOG_UNSUPPORTED, /* "installed in this … is not supported": the GPU of the head */
    WEIR_GPU_LOG_INIT_FAILED, /* the driver cannot bring the GPU up */
    WEIR_GPU_LOG_MARKED_FOR_RESET,
    WEIR_GPU_LOG_VERSION_MISMATCH, /* kernel module and libraries differ */
    WEIR_GPU_LOG_NO_PROBE,         /* the module did not get at the devices */
    WEIR_GPU_LOG_LINK_SETUP,       /* links cannot be brought up */
    WEIR_GPU_LOG_POWER_MISSING,    /* external power is not connected */
    WEIR_GPU_LOG_CONTAINER,        /* a container lost, or did not get, the devices */
    WEIR_GPU_LOG_AER,              /* an error of the PCIe link */
    WEIR_GPU_LOG_AER_DETAIL,       /* more about the one before */
    WEIR_GPU_LOG_FABRIC_MANAGER,   /* its errors; code is the SXid of a switch, or 0 */
    WEIR_GPU_LOG_NIC_POWER,
    WEIR_GPU_LOG_NIC_FAILED,
    WEIR_GPU_LOG_NIC_CABLE, /* a bad cable or module */
    WEIR_GPU_LOG_NIC_PORT,  /* unplugged, hot, down */
    WEIR_GPU_LOG_NIC_NOISE,
    WEIR_GPU_LOG_PEER_MEMORY, /* nvidia-peermem */
    WEIR_GPU_LOG_NCCL,        /* a process died in the library, or it gave up waiting */
    WEIR_GPU_LOG_MAX
};

enum weir_gpu_log_severity {
    WEIR_GPU_LOG_SEVERITY_UNKNOWN,
    WEIR_GPU_LOG_SEVERITY_CORRECTED,
    WEIR_GPU_LOG_SEVERITY_NONFATAL,
    WEIR_GPU_LOG_SEVERITY_FATAL,
    WEIR_GPU_LOG_SEVERITY_MAX
};

enum {
    WEIR_GPU_LOG_WORDS_MAX = 9,
    WEIR_GPU_LOG_ACTION_NONE = 255, /* the line names no recovery action */
    WEIR_GPU_LOG_NO_LINK = -1000,   /* -1 is a link that drivers print */
};

struct weir_gpu_log {
    uint8_t kind;     /* enum weir_gpu_log_kind */
    uint8_t severity; /* enum weir_gpu_log_severity, as the line has it */
    bool has_pci;
    bool has_function; /* drivers name a GPU without it */
    uint32_t pci_domain;
    uint8_t pci_bus;
    uint8_t pci_device;
    uint8_t pci_function;
    int32_t gpu_instance;     /* MIG; -1: the whole GPU */
    int32_t compute_instance; /* -1: the whole instance */
    uint32_t code;            /* Xid or SXid */
    int64_t pid;              /* -1: unknown */
    struct weir_str name;     /* of the process; empty: unknown */
    struct weir_str text;     /* what follows code, pid and name */
    struct weir_str unit;     /* "RLW_REMAP" of Xid 144 to 150, the driver's name for AER */
    struct weir_str uuid;     /* of WEIR_GPU_LOG_UUID */
    uint32_t caused_by;       /* the Xid that came before; 0: none named */
    uint8_t action_from;      /* Xid 154: the driver's recovery action, NVML's numbers */
    uint8_t action_to;
    bool wants_reset; /* "RST: Yes" */
    bool wants_drain; /* "D-RST: Yes" */
    int32_t link;     /* WEIR_GPU_LOG_NO_LINK: none named */
    int32_t gpc;      /* place of an exception in the GPU; -1: none named */
    int32_t tpc;
    uint32_t n_words; /* the registers an Xid prints */
    uint32_t words[WEIR_GPU_LOG_WORDS_MAX];
};

/* Never fails: what is no such line is WEIR_GPU_LOG_NONE. The line is without its newline and
 * without a log's prefix (fmt/log_prefix.h); texts point into it. Returns ret_log->kind. */
enum weir_gpu_log_kind weir_gpu_log_read(struct weir_str line, struct weir_gpu_log *ret_log);

#endif

/* What the driver, its tools and the adapters say without a code: known words behind a known
 * beginning. */
#include "base/count.h"
#include "fmt/gpu_log_scan.h"

struct phrase {
    const char *begin;  /* of the line */
    const char *needle; /* anywhere behind it; "": nothing more is asked */
    uint8_t kind;
};

/* The first that fits counts: what is narrower stands above. */
static const struct phrase phrases[] = {
    /* the driver */
    {"NVRM: GPU at ", ": GPU-", WEIR_GPU_LOG_UUID},
    {"NVRM: The NVIDIA ", "fallen off the bus", WEIR_GPU_LOG_LOST},
    {"NVRM: The NVIDIA ", "is not supported by", WEIR_GPU_LOG_UNSUPPORTED},
    {"NVRM: The NVIDIA probe routine ", "", WEIR_GPU_LOG_NO_PROBE},
    {"NVRM: The NVIDIA GPU ", "", WEIR_GPU_LOG_LOST_HEAD},
    {"NVRM: The NVIDIA vGPU ", "", WEIR_GPU_LOG_LOST_HEAD},
    {"NVRM: fallen off the bus", "", WEIR_GPU_LOG_LOST_TAIL},
    {"NVRM: installed in this ", "is not supported by", WEIR_GPU_LOG_UNSUPPORTED},
    {"NVRM: ", "GPU marked for reset", WEIR_GPU_LOG_MARKED_FOR_RESET},
    {"NVRM: ", "has fallen off the bus", WEIR_GPU_LOG_LOST},
    {"NVRM: ", "NV_ERR_GPU_IS_LOST", WEIR_GPU_LOG_LOST},
    {"NVRM: ", "GPU lost from the bus", WEIR_GPU_LOG_LOST},
    {"NVRM: ", "necessary power cables", WEIR_GPU_LOG_POWER_MISSING},
    {"NVRM: ", "RmInitAdapter failed", WEIR_GPU_LOG_INIT_FAILED},
    {"NVRM: ", "bailing out of RmInitAdapter", WEIR_GPU_LOG_INIT_FAILED},
    {"NVRM: RmInitAdapter: Cannot initialize", "", WEIR_GPU_LOG_INIT_FAILED},
    {"NVRM: ", "rm_init_adapter failed", WEIR_GPU_LOG_INIT_FAILED},
    {"NVRM: ", "failed to wait for GFW_BOOT", WEIR_GPU_LOG_INIT_FAILED},
    {"NVRM: ", "*** Cannot attach gpu", WEIR_GPU_LOG_INIT_FAILED},
    {"NVRM: API mismatch:", "", WEIR_GPU_LOG_VERSION_MISMATCH},
    {"NVRM: No NVIDIA devices probed", "", WEIR_GPU_LOG_NO_PROBE},
    {"NVRM: None of the NVIDIA devices", "", WEIR_GPU_LOG_NO_PROBE},
    {"NVRM: No NVIDIA GPU found", "", WEIR_GPU_LOG_NO_PROBE},
    {"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid", "",
     WEIR_GPU_LOG_NO_PROBE},
    {"NVRM: knvlink", "ailed to update Rx Detect Link mask", WEIR_GPU_LOG_LINK_SETUP},
    {"NVRM: knvlink", "ostRxDetLinkMask failed", WEIR_GPU_LOG_LINK_SETUP},
    /* the kernel, of a device that the driver holds */
    {"nvidia 0", "config space inaccessible", WEIR_GPU_LOG_LOST},
    {"nvidia 0", "device inaccessible", WEIR_GPU_LOG_LOST},
    {"nvidia-peermem ", " ERROR ", WEIR_GPU_LOG_PEER_MEMORY},
    {"nvidia_peermem", " ERROR ", WEIR_GPU_LOG_PEER_MEMORY},
    {"nvidia: ", "version magic", WEIR_GPU_LOG_VERSION_MISMATCH},
    {"nvidia: ", "disagrees about version of symbol", WEIR_GPU_LOG_VERSION_MISMATCH},
    {"nvidia: probe of ", "failed with error", WEIR_GPU_LOG_NO_PROBE},
    /* its tools */
    {"Unable to determine the device handle for", "Insufficient External Power",
     WEIR_GPU_LOG_POWER_MISSING},
    {"Unable to determine the device handle for", "", WEIR_GPU_LOG_LOST},
    {"Failed to initialize NVML: Driver/library version mismatch", "",
     WEIR_GPU_LOG_VERSION_MISMATCH},
    {"Failed to initialize NVML: Unknown Error", "", WEIR_GPU_LOG_CONTAINER},
    {"Failed to initialize NVML:", "", WEIR_GPU_LOG_NO_PROBE},
    {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", "",
     WEIR_GPU_LOG_NO_PROBE},
    {"modprobe: FATAL: Module nvidia", "not found", WEIR_GPU_LOG_NO_PROBE},
    {"modprobe: ERROR: could not insert 'nvidia'", "", WEIR_GPU_LOG_NO_PROBE},
    {"nvidia-container-cli: ", "version mismatch", WEIR_GPU_LOG_VERSION_MISMATCH},
    {"nvidia-container-cli: ", " error", WEIR_GPU_LOG_NO_PROBE},
    {"docker: Error response from daemon: ", "nvidia-container-cli: ", WEIR_GPU_LOG_NO_PROBE},
    {"docker: Error response from daemon: ", "could not select device driver",
     WEIR_GPU_LOG_NO_PROBE},
    {"OCI runtime ", "nvidia-container-cli: ", WEIR_GPU_LOG_NO_PROBE},
    /* adapters */
    {"mlx5_core ", "insufficient power on the PCIe slot", WEIR_GPU_LOG_NIC_POWER},
    {"mlx5_core ", "device's health compromised", WEIR_GPU_LOG_NIC_FAILED},
    {"mlx5_core ", "in fatal state", WEIR_GPU_LOG_NIC_FAILED},
    {"mlx5_core ", "atal error", WEIR_GPU_LOG_NIC_FAILED},
    {"mlx5_core ", "handling bad device here", WEIR_GPU_LOG_NIC_FAILED},
    {"mlx5_core ", "health recovery failed", WEIR_GPU_LOG_NIC_FAILED},
    {"mlx5_core ", "Cable unplugged", WEIR_GPU_LOG_NIC_PORT},
    {"mlx5_core ", "igh temperature", WEIR_GPU_LOG_NIC_PORT},
    {"mlx5_core ", "High Temperature", WEIR_GPU_LOG_NIC_PORT},
    {"mlx5_core ", ", Cable error", WEIR_GPU_LOG_NIC_CABLE},
    {"mlx5_core ", "Link down", WEIR_GPU_LOG_NIC_PORT},
    {"mlx5_core ", "Cable plugged", WEIR_GPU_LOG_NIC_NOISE},
    {"mlx5_core ", "Link up", WEIR_GPU_LOG_NIC_NOISE},
    {"mlx5_core ", "available PCIe bandwidth", WEIR_GPU_LOG_NIC_NOISE},
    {"mlx5_core ", "ACCESS_REG", WEIR_GPU_LOG_NIC_NOISE},
    {"mlx5_core ", "mlx5_cmd", WEIR_GPU_LOG_NIC_NOISE},
    {"mlx5_core ", "cmd_work_handler", WEIR_GPU_LOG_NIC_NOISE},
};

/* "GPU 0000:b3:00.0", "GPU0000:A1:00.0", "GPU at PCI:0000:03:00", "mlx5_core 0000:5c:00.0". */
static void find_pci(struct weir_str line, struct weir_gpu_log *log)
{
    static const char *const labels[] = {"GPU at PCI:", "GPU at ", "GPU ",   "GPU",
                                         "gpu ",        "core ",   "nvidia "};

    for (size_t i = 0; i < WEIR_COUNT_OF(labels) && !log->has_pci; i++) {
        struct weir_str behind;

        if (weir_scan_find(line, labels[i], &behind))
            (void)weir_scan_pci(&behind, log);
    }
}

/* "detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id … physical id 3 port 61". */
static void read_switch_error(struct weir_str text, struct weir_gpu_log *log)
{
    struct weir_str rest = text, behind;
    uint8_t severity = WEIR_GPU_LOG_SEVERITY_NONFATAL;

    if (!weir_scan_literal(&rest, "detected NVSwitch "))
        return;
    if (weir_scan_literal(&rest, "fatal error "))
        severity = WEIR_GPU_LOG_SEVERITY_FATAL;
    else if (!weir_scan_literal(&rest, "non-fatal error "))
        return;
    if (!weir_scan_u32(&rest, &log->code))
        return;
    log->severity = severity;
    if (weir_scan_find(rest, "pci bus id ", &behind))
        (void)weir_scan_pci(&behind, log);
    if (weir_scan_find(rest, " port ", &behind))
        (void)weir_scan_i32(&behind, &log->link);
}

/* "[ERROR] [tid N] TEXT". */
static bool read_fabric_manager(struct weir_str line, struct weir_gpu_log *log)
{
    struct weir_str rest = line, behind;
    uint32_t thread;

    if (!weir_scan_literal(&rest, "[ERROR] [tid ") || !weir_scan_u32(&rest, &thread) ||
        !weir_scan_literal(&rest, "] "))
        return false;
    log->text = rest;
    log->kind = weir_scan_find(rest, "driver interface version", &behind)
                    ? WEIR_GPU_LOG_VERSION_MISMATCH
                    : WEIR_GPU_LOG_FABRIC_MANAGER;
    read_switch_error(rest, log);
    return true;
}

/* "python[12]: segfault at … in libnccl.so.2[…]" is the kernel's; the others are the library's. */
static bool read_nccl(struct weir_str line, struct weir_gpu_log *log)
{
    struct weir_str behind;
    bool is_crash = weir_scan_find(line, "]: segfault at ", &behind) &&
                    weir_scan_find(behind, " in libnccl.so", &behind);
    /* "[rank0]:[E…] [PG 0 Rank 0] Watchdog …", "[E ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog …"
     */
    bool is_watchdog =
        weir_str_starts_with(line, WEIR_STR("[")) &&
        weir_scan_find(line, "Watchdog caught collective operation timeout", &behind);

    log->kind = WEIR_GPU_LOG_NCCL;
    log->text = line;
    return is_crash || is_watchdog;
}

bool weir_gpu_log_read_other(struct weir_str line, struct weir_gpu_log *log)
{
    if (read_fabric_manager(line, log) || read_nccl(line, log))
        return true;
    /* An Xid that does not read as one is damaged or forged, whatever else it says. */
    if (weir_str_starts_with(line, WEIR_STR("NVRM: Xid")))
        return false;
    for (size_t i = 0; i < WEIR_COUNT_OF(phrases); i++) {
        struct weir_str rest = line, behind;

        if (!weir_scan_literal(&rest, phrases[i].begin) ||
            !weir_scan_find(rest, phrases[i].needle, &behind))
            continue;
        find_pci(line, log);
        log->kind = phrases[i].kind;
        log->text = line;
        /* Two of the forms need their address: "The NVIDIA GPU driver …" names no GPU. */
        if ((log->kind == WEIR_GPU_LOG_LOST_HEAD || log->kind == WEIR_GPU_LOG_UUID) &&
            !log->has_pci)
            return false;
        if (log->kind == WEIR_GPU_LOG_UUID)
            log->uuid = weir_str_sub(line, (size_t)(behind.ptr - line.ptr) - 4, line.len);
        return true;
    }
    return false;
}

#include "edge/nvml/sim_kmsg.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/fd.h"
#include "edge/nvml/nvml_abi_values.h"
#include "edge/nvml/sim_fleet_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum { PRIORITY = 3, RECORDS_BYTES_MAX = 8192, FAULT_BYTES = 1024, XID_ACTION_CHANGED = 154 };

#define RESET  WEIR_NVML_RECOVERY_GPU_RESET
#define REBOOT WEIR_NVML_RECOVERY_NODE_REBOOT
#define DRAIN  WEIR_NVML_RECOVERY_DRAIN_AND_RESET

static const struct weir_sim_xid xids[] = {
    {13, 0, "Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address", 0},
    {31, 0,
     "Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_3 faulted @ "
     "0x7f12_3a000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
     0},
    {32, 0, "Channel ID 00000008 intr0 00040000", 0},
    {43, 0, "channel 0x00000004", 0},
    {45, 0, "channel 0x00000010", 0},
    {46, RESET, "GPU stopped processing", 0},
    {48, RESET,
     "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at "
     "partition 4, subpartition 1.",
     WEIR_NVML_EVENT_DOUBLE_BIT_ECC},
    {62, RESET, "4b16a5c4 00000001 00000000 00000000 00000000 00000000 00000000", 0},
    {63, 0,
     "Row Remapper: New row (0x00000000019fd5c0) marked for remapping, reset gpu to activate.",
     WEIR_NVML_EVENT_DRAM_RETIREMENT},
    {64, RESET,
     "Row Remapper Error: (0x00000000019fd5c0) - All reserved rows for bank are remapped",
     WEIR_NVML_EVENT_DRAM_RETIREMENT_FAILURE},
    {74, RESET, "NVLink: fatal error detected on link 4(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", 0},
    {79, REBOOT, "GPU has fallen off the bus.", WEIR_NVML_EVENT_GPU_UNAVAILABLE},
    {92, 0, "High single-bit ECC error rate", WEIR_NVML_EVENT_SINGLE_BIT_ECC_STORM},
    {94, 0, "Contained: SM (0x1). RST: No, D-RST: No", WEIR_NVML_EVENT_NON_FATAL_POISON},
    {95, RESET, "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
     WEIR_NVML_EVENT_FATAL_POISON},
    {109, RESET, "errorString CTX SWITCH TIMEOUT, Info 0x5c00c", 0},
    {119, RESET,
     "Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 "
     "(GSP_RM_CONTROL) (0x20802a02 0x4).",
     0},
    {120, RESET, "GSP Error: Task 1 raised error code 0x5 for reason 0x0 at 0x0", 0},
    {140, RESET, "Unrecovered ECC errors: L1 uncorrectable 1", 0},
    {149, DRAIN, "NETIR_LINK_EVT Fatal XC0 i0 Link 04 (0x004505c6 0x00000000)", 0},
};

const struct weir_sim_xid *weir_sim_xid_find(uint32_t code)
{
    static const struct weir_sim_xid unknown = {0, 0, "Unknown Error", 0};

    for (size_t i = 0; i < WEIR_COUNT_OF(xids); i++)
        if (xids[i].code == code)
            return &xids[i];
    return &unknown;
}

static int append(struct weir_sim_fleet *fleet, const struct weir_buf *records,
                  struct weir_err *err)
{
    weir_cleanup_fd int fd =
        open(fleet->kmsg_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    struct stat st;
    int rc = weir_buf_check(records, "the kernel's log", err);

    if (rc < 0)
        return rc;
    if (fd < 0 || fstat(fd, &st) < 0 ||
        (st.st_size + (off_t)records->len > WEIR_SIM_KMSG_BYTES_MAX && ftruncate(fd, 0) < 0) ||
        weir_fd_write_all(fd, records->data, records->len) < 0)
        return weir_error_errno(err, errno, "write '%s'", fleet->kmsg_path);
    return 0;
}

int weir_sim_kmsg_reserve(struct weir_sim_fleet *fleet, size_t n_faults, struct weir_err *err)
{
    weir_cleanup_fd int fd =
        open(fleet->kmsg_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    size_t n_max = WEIR_SIM_KMSG_BYTES_MAX / FAULT_BYTES;
    off_t bytes = (off_t)((n_faults < n_max ? n_faults : n_max) * FAULT_BYTES);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 ||
        (bytes > 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, bytes) < 0 &&
         errno != EOPNOTSUPP && errno != ENOSYS))
        return weir_error_errno(err, errno, "write '%s'", fleet->kmsg_path);
    return 0;
}

static void begin_record(struct weir_sim_fleet *fleet, int64_t at_ms, struct weir_buf *out)
{
    weir_buf_printf(out, "%d,%" PRIu64 ",%" PRId64 ",-;NVRM: ", PRIORITY, ++fleet->header->kmsg_seq,
                    at_ms * 1000);
}

static void begin_xid(struct weir_sim_fleet *fleet, const struct weir_sim_facts *facts,
                      uint32_t code, const struct weir_sim_load *load, int64_t at_ms,
                      struct weir_buf *out)
{
    begin_record(fleet, at_ms, out);
    weir_buf_printf(out, "Xid (PCI:%04" PRIx32 ":%02" PRIx32 ":00", facts->pci_domain,
                    facts->pci_bus);
    if (load != NULL && load->gpu_instance != WEIR_NVML_NO_INSTANCE)
        weir_buf_printf(out, " GPU-I:%02" PRIu32 " GPU-CI:%02" PRIu32, load->gpu_instance,
                        load->compute_instance);
    weir_buf_printf(out, "): %" PRIu32 ", ", code);
}

/* The kernel knows a process by its short name. */
static void add_process(uint32_t pid, struct weir_buf *out)
{
    char path[40];
    char name[64] = "";
    weir_cleanup_file FILE *file = NULL;

    if (pid == 0) {
        weir_buf_puts(out, "pid='<unknown>', name=<unknown>, ");
        return;
    }
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
    file = fopen(path, "re");
    if (file == NULL || fgets(name, sizeof(name), file) == NULL)
        snprintf(name, sizeof(name), "<unknown>");
    name[strcspn(name, "\n")] = '\0';
    weir_buf_printf(out, "pid=%" PRIu32 ", name=%s, ", pid, name);
}

int weir_sim_kmsg_xid(struct weir_sim_fleet *fleet, const struct weir_sim_facts *facts,
                      uint32_t code, uint32_t pid, const struct weir_sim_load *load, int64_t at_ms,
                      struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(RECORDS_BYTES_MAX);

    begin_xid(fleet, facts, code, load, at_ms, &out);
    add_process(pid, &out);
    weir_buf_printf(&out, "%s\n", weir_sim_xid_find(code)->text);
    return append(fleet, &out, err);
}

int weir_sim_kmsg_lost(struct weir_sim_fleet *fleet, const struct weir_sim_facts *facts,
                       int64_t at_ms, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(RECORDS_BYTES_MAX);

    /* The driver prints its three lines at once: they are one record, and the kernel shows the ends
     * of the lines within it as it does all that cannot be printed. */
    begin_record(fleet, at_ms, &out);
    weir_buf_printf(&out, "The NVIDIA GPU %04" PRIx32 ":%02" PRIx32 ":00.0\\x0a", facts->pci_domain,
                    facts->pci_bus);
    weir_buf_printf(&out,
                    "NVRM: (PCI ID: %04" PRIx32 ":%04" PRIx32 ") installed in this system has\\x0a",
                    facts->pci_device_id & 0xffff, facts->pci_device_id >> 16);
    weir_buf_puts(&out, "NVRM: fallen off the bus and is not responding to commands.\n");
    return append(fleet, &out, err);
}

static const char *action_name(uint32_t action)
{
    static const char *const names[] = {"None",      "GPU Reset Required", "Node Reboot Required",
                                        "Drain P2P", "Drain and Reset",    "Recover IMEX Domain"};

    return action < WEIR_COUNT_OF(names) ? names[action] : "Unknown";
}

int weir_sim_kmsg_action(struct weir_sim_fleet *fleet, const struct weir_sim_facts *facts,
                         uint32_t from, uint32_t to, int64_t at_ms, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(RECORDS_BYTES_MAX);

    begin_xid(fleet, facts, XID_ACTION_CHANGED, NULL, at_ms, &out);
    weir_buf_printf(&out,
                    "GPU recovery action changed from 0x%" PRIx32 " (%s) to 0x%" PRIx32 " (%s)\n",
                    from, action_name(from), to, action_name(to));
    return append(fleet, &out, err);
}

#include "edge/kernlog/fault_line.h"

#include "fmt/gpu_log.h"
#include "fmt/kmsg.h"
#include "fmt/log_prefix.h"

#include <string.h>

_Static_assert((int)WEIR_FAULT_WORDS_MAX == (int)WEIR_GPU_LOG_WORDS_MAX, "registers are copied");
_Static_assert((int)WEIR_FAULT_SEVERITY_MAX == (int)WEIR_GPU_LOG_SEVERITY_MAX,
               "severities are the same");
_Static_assert((int)WEIR_FAULT_RECOVERY_ABSENT == (int)WEIR_GPU_LOG_ACTION_NONE,
               "recovery actions are the same");

static const uint8_t kinds[WEIR_GPU_LOG_MAX] = {
    [WEIR_GPU_LOG_XID] = WEIR_FAULT_XID,
    [WEIR_GPU_LOG_SXID] = WEIR_FAULT_SXID,
    [WEIR_GPU_LOG_SXID_DETAIL] = WEIR_FAULT_SXID_DETAIL,
    [WEIR_GPU_LOG_LOST] = WEIR_FAULT_LOST,
    [WEIR_GPU_LOG_LOST_HEAD] = WEIR_FAULT_LOST_HEAD,
    [WEIR_GPU_LOG_LOST_TAIL] = WEIR_FAULT_LOST_TAIL,
    [WEIR_GPU_LOG_UNSUPPORTED] = WEIR_FAULT_UNSUPPORTED,
    [WEIR_GPU_LOG_INIT_FAILED] = WEIR_FAULT_INIT_FAILED,
    [WEIR_GPU_LOG_MARKED_FOR_RESET] = WEIR_FAULT_MARKED_FOR_RESET,
    [WEIR_GPU_LOG_VERSION_MISMATCH] = WEIR_FAULT_VERSION_MISMATCH,
    [WEIR_GPU_LOG_NO_PROBE] = WEIR_FAULT_NO_PROBE,
    [WEIR_GPU_LOG_LINK_SETUP] = WEIR_FAULT_LINK_SETUP,
    [WEIR_GPU_LOG_POWER_MISSING] = WEIR_FAULT_POWER_MISSING,
    [WEIR_GPU_LOG_CONTAINER] = WEIR_FAULT_CONTAINER,
    [WEIR_GPU_LOG_AER] = WEIR_FAULT_AER,
    [WEIR_GPU_LOG_AER_DETAIL] = WEIR_FAULT_AER_DETAIL,
    [WEIR_GPU_LOG_FABRIC_MANAGER] = WEIR_FAULT_FABRIC_MANAGER,
    [WEIR_GPU_LOG_NIC_POWER] = WEIR_FAULT_NIC_POWER,
    [WEIR_GPU_LOG_NIC_FAILED] = WEIR_FAULT_NIC_FAILED,
    [WEIR_GPU_LOG_NIC_CABLE] = WEIR_FAULT_NIC_CABLE,
    [WEIR_GPU_LOG_NIC_PORT] = WEIR_FAULT_NIC_PORT,
    [WEIR_GPU_LOG_NIC_NOISE] = WEIR_FAULT_NIC_NOISE,
    [WEIR_GPU_LOG_PEER_MEMORY] = WEIR_FAULT_PEER_MEMORY,
    [WEIR_GPU_LOG_NCCL] = WEIR_FAULT_NCCL,
};

static bool make_event(struct weir_str message, enum weir_fault_origin origin, uint32_t node,
                       int64_t at_ms, struct weir_fault_event *ret_event)
{
    struct weir_gpu_log log;
    enum weir_gpu_log_kind kind = weir_gpu_log_read(message, &log);

    if (kinds[kind] == WEIR_FAULT_NONE)
        return false;
    *ret_event = (struct weir_fault_event){
        .at_ms = at_ms,
        .device = {.node = node,
                   .domain = log.pci_domain,
                   .bus = log.pci_bus,
                   .device = log.pci_device,
                   .function = log.pci_function,
                   .is_known = log.has_pci},
        .kind = kinds[kind],
        .origin = (uint8_t)origin,
        .severity = log.severity,
        .recovery = log.action_to,
        .wants_reset = log.wants_reset,
        .wants_drain = log.wants_drain,
        .code = log.code,
        .caused_by = log.caused_by,
        .pid = log.pid,
        .gpu_instance = log.gpu_instance,
        .link = log.link == WEIR_GPU_LOG_NO_LINK ? -1 : log.link,
        .gpc = log.gpc,
        .tpc = log.tpc,
        .n_words = log.n_words,
        .unit = log.unit,
        .text = weir_str_trim(message),
    };
    memcpy(ret_event->words, log.words, sizeof(log.words));
    return true;
}

bool weir_fault_from_line(struct weir_str line, uint32_t node, int64_t at_ms,
                          struct weir_fault_event *ret_event)
{
    /* A text can be forged, so what it says of the kernel proves nothing; what it says against
     * does. */
    static const uint8_t origins[WEIR_LOG_ORIGIN_MAX] = {
        [WEIR_LOG_ORIGIN_UNKNOWN] = WEIR_FAULT_ORIGIN_TEXT,
        [WEIR_LOG_ORIGIN_KERNEL] = WEIR_FAULT_ORIGIN_TEXT,
        [WEIR_LOG_ORIGIN_USER] = WEIR_FAULT_ORIGIN_USER,
        [WEIR_LOG_ORIGIN_STALE] = WEIR_FAULT_ORIGIN_STALE,
    };
    struct weir_str message;
    enum weir_log_origin origin = weir_log_prefix_strip(line, &message);

    return make_event(message, origins[origin], node, at_ms, ret_event);
}

/* The driver prints several lines at once. Others print what a process made up, with newlines in
 * it (a mount's options): of theirs the first line alone has a beginning that is the kernel's. */
static bool is_of_driver(struct weir_str message)
{
    return weir_str_starts_with(weir_str_trim(message), WEIR_STR("NVRM: "));
}

bool weir_fault_from_kmsg(const struct weir_kmsg *kmsg, uint32_t node, int64_t at_ms, size_t *at,
                          struct weir_fault_event *ret_event)
{
    enum weir_fault_origin origin = kmsg->facility == WEIR_KMSG_FACILITY_KERN
                                        ? WEIR_FAULT_ORIGIN_KERNEL
                                        : WEIR_FAULT_ORIGIN_USER;
    struct weir_str rest = kmsg->message, line;
    size_t n = 0;

    while (weir_str_split(&rest, '\n', &line)) {
        if (n++ < *at)
            continue;
        if (*at > 0 && !is_of_driver(kmsg->message))
            return false;
        (*at)++;
        if (make_event(line, origin, node, at_ms, ret_event))
            return true;
    }
    return false;
}

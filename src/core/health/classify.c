#include "core/health/classify.h"

#include "core/health/subcode.h"
#include "model/xid_catalogue.h"

#include <string.h>

enum { XID_RECOVERY = 154, XID_CONTAINED = 94, SHOWN_UNIT_MAX = 24 };

/* What needs no more than the kind to be judged. */
static const struct rule {
    const char *name;
    uint8_t action;
    uint8_t scope; /* of a known device; of an unknown one it is the node's, if not a job's */
    uint8_t family;
    bool is_child;
    const char *why;
} rules[WEIR_FAULT_KIND_MAX] = {
    [WEIR_FAULT_SXID_DETAIL] = {"sxid-detail", WEIR_FAULT_ACTION_RECORD, WEIR_FAULT_SCOPE_NONE,
                                WEIR_FAULT_FAMILY_SWITCH, true,
                                "it tells more of the SXid before it"},
    [WEIR_FAULT_LOST] = {"gpu-lost;fatal;hardware", WEIR_FAULT_ACTION_REBOOT_NODE,
                         WEIR_FAULT_SCOPE_DEVICE, WEIR_FAULT_FAMILY_BUS, false,
                         "the driver cannot reach the GPU over PCIe any more"},
    [WEIR_FAULT_LOST_TAIL] = {"gpu-lost;fatal;hardware", WEIR_FAULT_ACTION_REBOOT_NODE,
                              WEIR_FAULT_SCOPE_DEVICE, WEIR_FAULT_FAMILY_BUS, false,
                              "the driver cannot reach the GPU over PCIe any more"},
    [WEIR_FAULT_UNSUPPORTED] = {"driver-unsupported;config", WEIR_FAULT_ACTION_CHECK_SW,
                                WEIR_FAULT_SCOPE_DEVICE, WEIR_FAULT_FAMILY_SOFTWARE, false,
                                "this driver does not serve that GPU"},
    [WEIR_FAULT_INIT_FAILED] = {"driver-init;fatal", WEIR_FAULT_ACTION_REBOOT_NODE,
                                WEIR_FAULT_SCOPE_DEVICE, WEIR_FAULT_FAMILY_FIRMWARE, false,
                                "the driver cannot bring the GPU up"},
    [WEIR_FAULT_MARKED_FOR_RESET] = {"gpu-marked-for-reset;fatal", WEIR_FAULT_ACTION_RESET_GPU,
                                     WEIR_FAULT_SCOPE_DEVICE, WEIR_FAULT_FAMILY_FIRMWARE, false,
                                     "the driver gave the GPU up until a reset"},
    [WEIR_FAULT_RESET_REQUIRED] = {"gpu-reset-required;fatal", WEIR_FAULT_ACTION_RESET_GPU,
                                   WEIR_FAULT_SCOPE_DEVICE, WEIR_FAULT_FAMILY_FIRMWARE, false,
                                   "the driver answers that the GPU needs a reset"},
    [WEIR_FAULT_VERSION_MISMATCH] = {"driver-mismatch;config", WEIR_FAULT_ACTION_CHECK_SW,
                                     WEIR_FAULT_SCOPE_NODE, WEIR_FAULT_FAMILY_SOFTWARE, false,
                                     "kernel module and libraries of the driver differ"},
    [WEIR_FAULT_NO_PROBE] = {"driver-noprobe;config", WEIR_FAULT_ACTION_CHECK_SW,
                             WEIR_FAULT_SCOPE_NODE, WEIR_FAULT_FAMILY_SOFTWARE, false,
                             "the driver is not loaded, or does not get at its GPUs"},
    [WEIR_FAULT_LINK_SETUP] = {"nvlink-setup;fabric", WEIR_FAULT_ACTION_REBOOT_NODE,
                               WEIR_FAULT_SCOPE_NODE, WEIR_FAULT_FAMILY_LINK, false,
                               "the driver cannot find out which NVLinks are connected"},
    [WEIR_FAULT_POWER_MISSING] = {"gpu-power;config;hardware", WEIR_FAULT_ACTION_CHECK_MECH,
                                  WEIR_FAULT_SCOPE_DEVICE, WEIR_FAULT_FAMILY_BUS, false,
                                  "the board lacks its auxiliary power"},
    [WEIR_FAULT_CONTAINER] = {"container-lost-gpu;config", WEIR_FAULT_ACTION_RESTART_APP,
                              WEIR_FAULT_SCOPE_JOB, WEIR_FAULT_FAMILY_SOFTWARE, false,
                              "the container lost its devices; a new one has them again"},
    [WEIR_FAULT_COUNT] = {"gpu-count;fatal;hardware", WEIR_FAULT_ACTION_REBOOT_NODE,
                          WEIR_FAULT_SCOPE_NODE, WEIR_FAULT_FAMILY_BUS, false,
                          "the driver has fewer GPUs than there should be"},
    [WEIR_FAULT_AER_DETAIL] = {"aer-detail", WEIR_FAULT_ACTION_RECORD, WEIR_FAULT_SCOPE_NONE,
                               WEIR_FAULT_FAMILY_BUS, true,
                               "it tells more of the PCIe error before it"},
    [WEIR_FAULT_NIC_POWER] = {"nic-power;config", WEIR_FAULT_ACTION_CHECK_MECH,
                              WEIR_FAULT_SCOPE_NODE, WEIR_FAULT_FAMILY_NIC, false,
                              "the slot does not give the adapter its power"},
    [WEIR_FAULT_NIC_FAILED] = {"nic-health;fatal", WEIR_FAULT_ACTION_SUPPORT, WEIR_FAULT_SCOPE_NODE,
                               WEIR_FAULT_FAMILY_NIC, false,
                               "the adapter's own health check failed"},
    [WEIR_FAULT_NIC_CABLE] = {"nic-cable;config", WEIR_FAULT_ACTION_CHECK_MECH,
                              WEIR_FAULT_SCOPE_NODE, WEIR_FAULT_FAMILY_NIC, false,
                              "a cable or module of the adapter is bad"},
    [WEIR_FAULT_NIC_PORT] = {"nic-port;nonfatal", WEIR_FAULT_ACTION_WATCH, WEIR_FAULT_SCOPE_NODE,
                             WEIR_FAULT_FAMILY_NIC, false,
                             "a port of the adapter went down or hot"},
    [WEIR_FAULT_NIC_NOISE] = {"nic-noise", WEIR_FAULT_ACTION_RECORD, WEIR_FAULT_SCOPE_NONE,
                              WEIR_FAULT_FAMILY_NIC, false, "the adapter says this in health, too"},
    [WEIR_FAULT_PEER_MEMORY] = {"peer-memory;nonfatal;driver", WEIR_FAULT_ACTION_WATCH,
                                WEIR_FAULT_SCOPE_NODE, WEIR_FAULT_FAMILY_SOFTWARE, false,
                                "GPU memory shared with an adapter was not given back in order"},
    [WEIR_FAULT_NCCL] = {"nccl;nonfatal;app", WEIR_FAULT_ACTION_RESTART_APP, WEIR_FAULT_SCOPE_JOB,
                         WEIR_FAULT_FAMILY_APP, false,
                         "a process died or waited in vain: look for an earlier cause"},
};

static void set(struct weir_fault_class *class, enum weir_fault_action action,
                enum weir_fault_authority authority, const char *why)
{
    class->action = (uint8_t)action;
    class->authority = (uint8_t)authority;
    class->why = why;
}

static uint8_t scope_of(uint8_t action, bool device_is_known)
{
    switch ((enum weir_fault_action)action) {
    case WEIR_FAULT_ACTION_RESTART_APP:
    case WEIR_FAULT_ACTION_FOLLOW_154:
        return WEIR_FAULT_SCOPE_JOB;
    case WEIR_FAULT_ACTION_RESET_FABRIC:
        return WEIR_FAULT_SCOPE_FABRIC;
    case WEIR_FAULT_ACTION_CHECK_SW:
    case WEIR_FAULT_ACTION_RESTART_VM:
        return WEIR_FAULT_SCOPE_NODE;
    case WEIR_FAULT_ACTION_WATCH:
    case WEIR_FAULT_ACTION_CHECK_MECH:
    case WEIR_FAULT_ACTION_RESET_GPU:
    case WEIR_FAULT_ACTION_REBOOT_NODE:
    case WEIR_FAULT_ACTION_SUPPORT:
        return device_is_known ? WEIR_FAULT_SCOPE_DEVICE : WEIR_FAULT_SCOPE_NODE;
    case WEIR_FAULT_ACTION_NOT_EVENT:
    case WEIR_FAULT_ACTION_RECORD:
    case WEIR_FAULT_ACTION_MAX:
        break;
    }
    return WEIR_FAULT_SCOPE_NONE;
}

static uint8_t family_of_xid(const struct weir_xid *xid, uint32_t code)
{
    static const uint8_t memory[] = {48, 63, 64, 92, 94, 95, 140, 156, 157, 171, 172, 175};
    static const uint8_t bus[] = {79, 167, 176};

    for (size_t i = 0; i < sizeof(memory); i++)
        if (memory[i] == code)
            return WEIR_FAULT_FAMILY_MEMORY;
    for (size_t i = 0; i < sizeof(bus); i++)
        if (bus[i] == code)
            return WEIR_FAULT_FAMILY_BUS;
    if (xid != NULL && xid->origin == WEIR_XID_ORIGIN_FABRIC)
        return WEIR_FAULT_FAMILY_LINK;
    return xid != NULL && xid->origin == WEIR_XID_ORIGIN_APP ? WEIR_FAULT_FAMILY_APP
                                                             : WEIR_FAULT_FAMILY_FIRMWARE;
}

static bool is_child_code(uint32_t code)
{
    return code == 43 || code == 45 || code == 171 || code == 172;
}

static const char *recovery_word(uint8_t recovery)
{
    static const char *const words[WEIR_FAULT_RECOVERY_MAX] = {
        "none", "reset", "reboot", "drain-p2p", "drain-and-reset", "imex"};

    return recovery < WEIR_FAULT_RECOVERY_MAX ? words[recovery] : "unknown";
}

static void judge_recovery(const struct weir_fault_event *event, struct weir_fault_class *class)
{
    enum weir_fault_action action = weir_fault_recovery_action(event->recovery);

    set(class, action, WEIR_FAULT_AUTHORITY_DRIVER, "the driver says so itself");
    class->family = WEIR_FAULT_FAMILY_FIRMWARE;
    weir_str_format(class->name, sizeof(class->name), "%s/%s",
                    event->kind == WEIR_FAULT_XID ? "xid:154" : "nvml:recovery",
                    recovery_word(event->recovery));
}

/* Registers before catalogue. */
static void judge_registers(const struct weir_fault_event *event, struct weir_fault_class *class)
{
    struct weir_subcode subcode;
    char unit[SHOWN_UNIT_MAX + 1];
    size_t n = event->unit.len < SHOWN_UNIT_MAX ? event->unit.len : SHOWN_UNIT_MAX;

    if (n > 0)
        memcpy(unit, event->unit.ptr, n);
    unit[n] = '\0';
    if (!weir_subcode_decode(event, &subcode)) {
        set(class, WEIR_FAULT_ACTION_WATCH, WEIR_FAULT_AUTHORITY_SUBCODE,
            event->n_words > 0 ? "no rule knows what these registers say"
                               : "it came without the registers that say what it is");
        weir_str_format(class->name, sizeof(class->name), "xid:%u/%s;undecoded;fabric", event->code,
                        n > 0 ? unit : "?");
        return;
    }
    /* Where no register was asked, the driver's word weighs more than the rule. */
    if (subcode.is_any && event->severity == WEIR_FAULT_SEVERITY_NONFATAL) {
        set(class, WEIR_FAULT_ACTION_WATCH, WEIR_FAULT_AUTHORITY_DRIVER,
            "the driver itself calls it nonfatal");
        weir_str_format(class->name, sizeof(class->name), "xid:%u/%s;nonfatal;fabric", event->code,
                        n > 0 ? unit : subcode.unit);
        return;
    }
    set(class, subcode.action, WEIR_FAULT_AUTHORITY_SUBCODE, "its registers say so");
    class->repeats = subcode.repeats;
    class->repeats_action = subcode.then;
    if (subcode.unit != NULL)
        weir_str_format(class->name, sizeof(class->name), "xid:%u/%s;fabric", event->code,
                        n > 0 ? unit : subcode.unit);
    else
        weir_str_format(class->name, sizeof(class->name), "xid:%u/reg%ubit%u;fabric", event->code,
                        subcode.reg, subcode.bit);
}

static void judge_catalogue(const struct weir_fault_event *event, const struct weir_xid *xid,
                            struct weir_fault_class *class)
{
    if (xid == NULL) {
        set(class, WEIR_FAULT_ACTION_WATCH, WEIR_FAULT_AUTHORITY_UNKNOWN_CODE,
            "nobody has described this code");
        weir_str_format(class->name, sizeof(class->name), "xid:%u;unknown code", event->code);
        return;
    }
    set(class, xid->action, WEIR_FAULT_AUTHORITY_CATALOGUE, xid->meaning);
    class->then = xid->then;
    weir_str_format(class->name, sizeof(class->name), "xid:%u;%s;%s", event->code,
                    xid->fatal == WEIR_XID_FATAL_YES  ? "fatal"
                    : xid->fatal == WEIR_XID_FATAL_NO ? "nonfatal"
                                                      : weir_xid_fatal_name(xid->fatal),
                    weir_xid_origin_name(xid->origin));
}

static void judge_xid(const struct weir_fault_event *event, struct weir_fault_class *class)
{
    const struct weir_xid *xid = weir_xid_find(event->code);

    class->family = family_of_xid(xid, event->code);
    class->is_child = is_child_code(event->code) || event->caused_by != 0;
    if (event->code == XID_RECOVERY) {
        judge_recovery(event, class);
        return;
    }
    if (weir_subcode_applies(event->code))
        judge_registers(event, class);
    else
        judge_catalogue(event, xid, class);
    if (event->code == XID_CONTAINED && (event->wants_reset || event->wants_drain))
        set(class, WEIR_FAULT_ACTION_RESET_GPU, WEIR_FAULT_AUTHORITY_DRIVER,
            "the driver says beside it that the GPU needs a reset");
    if (event->caused_by != 0) {
        set(class, WEIR_FAULT_ACTION_RECORD, WEIR_FAULT_AUTHORITY_DRIVER,
            "the driver says that another Xid caused it");
        weir_str_format(class->name, sizeof(class->name), "xid:%u/caused-by;child-of-%u",
                        event->code, event->caused_by);
    }
}

static uint8_t judge_switch(uint8_t class, uint8_t severity)
{
    if (severity == WEIR_FAULT_SEVERITY_FATAL)
        return WEIR_FAULT_ACTION_RESET_FABRIC;
    if (class == WEIR_SXID_CLASS_THERMAL || class == WEIR_SXID_CLASS_BAD_RESPONSE)
        return WEIR_FAULT_ACTION_WATCH;
    if (class == WEIR_SXID_CLASS_CORRECTED_ECC || class == WEIR_SXID_CLASS_LINK_NOISE ||
        severity == WEIR_FAULT_SEVERITY_CORRECTED)
        return WEIR_FAULT_ACTION_RECORD;
    if (class == WEIR_SXID_CLASS_FATAL_PORT || class == WEIR_SXID_CLASS_FATAL_FABRIC)
        /* The catalogue calls it fatal, the line does not: somebody should look. */
        return severity == WEIR_FAULT_SEVERITY_NONFATAL ? WEIR_FAULT_ACTION_WATCH
                                                        : WEIR_FAULT_ACTION_RESET_FABRIC;
    return severity == WEIR_FAULT_SEVERITY_NONFATAL ? WEIR_FAULT_ACTION_RECORD
                                                    : WEIR_FAULT_ACTION_WATCH;
}

static void judge_sxid(const struct weir_fault_event *event, struct weir_fault_class *class)
{
    static const char *const severities[WEIR_FAULT_SEVERITY_MAX] = {"unknown", "corrected",
                                                                    "nonfatal", "fatal"};
    const struct weir_sxid *sxid = weir_sxid_find(event->code);
    uint8_t known = sxid != NULL ? sxid->class : WEIR_SXID_CLASS_NONE;
    bool by_line = event->severity != WEIR_FAULT_SEVERITY_UNKNOWN;

    class->family = WEIR_FAULT_FAMILY_SWITCH;
    set(class, judge_switch(known, event->severity),
        by_line ? WEIR_FAULT_AUTHORITY_DRIVER : WEIR_FAULT_AUTHORITY_CATALOGUE,
        by_line ? "the switch's driver gives it that severity" : weir_sxid_class_words(known));
    if (!by_line && sxid == NULL)
        set(class, class->action, WEIR_FAULT_AUTHORITY_UNKNOWN_CODE,
            "nobody has described this code");
    weir_str_format(class->name, sizeof(class->name), "sxid:%u;%s;%s", event->code,
                    severities[event->severity], weir_sxid_class_name(known));
}

/* The functions of a graphics board beside the GPU's, the ports above it, and whoever holds it. */
static bool is_of_gpu_board(const struct weir_fault_event *event)
{
    return weir_str_eq_c(event->unit, "nvidia") || weir_str_eq_c(event->unit, "pcieport") ||
           weir_str_eq_c(event->unit, "nouveau") || weir_str_eq_c(event->unit, "vfio-pci") ||
           (event->device.function != 0 && (weir_str_eq_c(event->unit, "snd_hda_intel") ||
                                            weir_str_eq_c(event->unit, "xhci_hcd")));
}

static void judge_aer(const struct weir_fault_event *event, struct weir_fault_class *class)
{
    class->family = WEIR_FAULT_FAMILY_BUS;
    if (!is_of_gpu_board(event)) {
        set(class, WEIR_FAULT_ACTION_RECORD, WEIR_FAULT_AUTHORITY_RULE,
            "it is an error of another device");
        weir_str_format(class->name, sizeof(class->name), "aer/other-device");
        return;
    }
    if (event->severity == WEIR_FAULT_SEVERITY_FATAL)
        set(class, WEIR_FAULT_ACTION_REBOOT_NODE, WEIR_FAULT_AUTHORITY_RULE,
            "the PCIe link failed, and a GPU does not come back from that by itself");
    else
        set(class, WEIR_FAULT_ACTION_WATCH, WEIR_FAULT_AUTHORITY_RULE,
            "the PCIe link lost something and went on");
    weir_str_format(class->name, sizeof(class->name), "aer;%s;pcie",
                    event->severity == WEIR_FAULT_SEVERITY_FATAL ? "fatal" : "nonfatal");
}

static void judge_kind(const struct weir_fault_event *event, struct weir_fault_class *class)
{
    const struct rule *rule = &rules[event->kind < WEIR_FAULT_KIND_MAX ? event->kind : 0];

    if (rule->name == NULL)
        return;
    set(class, rule->action, WEIR_FAULT_AUTHORITY_RULE, rule->why);
    class->family = rule->family;
    class->is_child = rule->is_child;
    class->is_nameless = rule->scope == WEIR_FAULT_SCOPE_DEVICE && !event->device.is_known;
    class->scope = class->is_nameless ? WEIR_FAULT_SCOPE_NODE : rule->scope;
    weir_str_format(class->name, sizeof(class->name), "%s", rule->name);
}

/* Thermal events have no line of their own but the detail's. */
static bool is_alone(const struct weir_fault_event *event)
{
    const struct weir_sxid *sxid = weir_sxid_find(event->code);

    return sxid != NULL && sxid->class == WEIR_SXID_CLASS_THERMAL;
}

void weir_fault_classify(const struct weir_fault_event *event, struct weir_fault_class *ret_class)
{
    struct weir_fault_class class = {.name = "none", .why = "it is no fault"};

    if (event->origin == WEIR_FAULT_ORIGIN_USER || event->origin == WEIR_FAULT_ORIGIN_STALE) {
        set(&class, WEIR_FAULT_ACTION_NOT_EVENT, WEIR_FAULT_AUTHORITY_ORIGIN,
            event->origin == WEIR_FAULT_ORIGIN_USER ? "a process wrote it, not the kernel"
                                                    : "it is from before the last boot");
        *ret_class = class;
        return;
    }
    if (event->kind == WEIR_FAULT_XID)
        judge_xid(event, &class);
    else if (event->kind == WEIR_FAULT_RECOVERY)
        judge_recovery(event, &class);
    else if (event->kind == WEIR_FAULT_SXID ||
             (event->kind == WEIR_FAULT_SXID_DETAIL && is_alone(event)))
        judge_sxid(event, &class);
    else if (event->kind == WEIR_FAULT_AER)
        judge_aer(event, &class);
    else if (event->kind == WEIR_FAULT_FABRIC_MANAGER) {
        judge_sxid(event, &class);
        /* The manager's log has what it could not let pass. */
        if (class.action < WEIR_FAULT_ACTION_WATCH)
            class.action = WEIR_FAULT_ACTION_WATCH;
    } else {
        judge_kind(event, &class);
        *ret_class = class;
        return;
    }
    class.scope = scope_of(class.action, event->device.is_known);
    class.is_nameless =
        !event->device.is_known && scope_of(class.action, true) == WEIR_FAULT_SCOPE_DEVICE;
    *ret_class = class;
}

const char *weir_fault_scope_name(enum weir_fault_scope scope)
{
    static const char *const names[WEIR_FAULT_SCOPE_MAX] = {[WEIR_FAULT_SCOPE_NONE] = "none",
                                                            [WEIR_FAULT_SCOPE_JOB] = "job",
                                                            [WEIR_FAULT_SCOPE_DEVICE] = "device",
                                                            [WEIR_FAULT_SCOPE_FABRIC] = "fabric",
                                                            [WEIR_FAULT_SCOPE_NODE] = "node"};

    return scope < WEIR_FAULT_SCOPE_MAX ? names[scope] : NULL;
}

const char *weir_fault_authority_name(enum weir_fault_authority authority)
{
    static const char *const names[WEIR_FAULT_AUTHORITY_MAX] = {
        [WEIR_FAULT_AUTHORITY_ORIGIN] = "origin",
        [WEIR_FAULT_AUTHORITY_RULE] = "rule",
        [WEIR_FAULT_AUTHORITY_CATALOGUE] = "catalogue",
        [WEIR_FAULT_AUTHORITY_UNKNOWN_CODE] = "unknown-code",
        [WEIR_FAULT_AUTHORITY_SUBCODE] = "sub-code",
        [WEIR_FAULT_AUTHORITY_DRIVER] = "driver",
        [WEIR_FAULT_AUTHORITY_REPETITION] = "repetition",
        [WEIR_FAULT_AUTHORITY_SPREAD] = "spread"};

    return authority < WEIR_FAULT_AUTHORITY_MAX ? names[authority] : NULL;
}

/* model/fault.h — a fault as the decisions see it: what happened to which device, from whatever
 * source, and the words for what may be done about it.
 *
 * edge/kernlog makes such events of log lines, edge/nvml of the driver's events; core/health judges
 * them. Texts are borrowed for the time of a call. */
#ifndef WEIR_MODEL_FAULT_H
#define WEIR_MODEL_FAULT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* In order of weight: of two verdicts on one incident the later wins. */
enum weir_fault_action {
    WEIR_FAULT_ACTION_NOT_EVENT,    /* nothing happened */
    WEIR_FAULT_ACTION_RECORD,       /* store it */
    WEIR_FAULT_ACTION_WATCH,        /* count it; repetition makes it more */
    WEIR_FAULT_ACTION_FOLLOW_154,   /* do what the paired Xid 154 says, else RESTART_APP */
    WEIR_FAULT_ACTION_RESTART_APP,  /* the job failed; the device is good */
    WEIR_FAULT_ACTION_CHECK_SW,     /* a person corrects software or configuration */
    WEIR_FAULT_ACTION_CHECK_MECH,   /* a person checks cables, seating, power */
    WEIR_FAULT_ACTION_RESET_GPU,    /* drain the GPU and reset it */
    WEIR_FAULT_ACTION_RESET_FABRIC, /* reset all GPUs and switches of the NVLink partition */
    WEIR_FAULT_ACTION_RESTART_VM,
    WEIR_FAULT_ACTION_REBOOT_NODE,
    WEIR_FAULT_ACTION_SUPPORT, /* out of service until a person has it back */
    WEIR_FAULT_ACTION_MAX
};

enum weir_fault_kind {
    WEIR_FAULT_NONE,
    WEIR_FAULT_XID,
    WEIR_FAULT_SXID,
    WEIR_FAULT_SXID_DETAIL,
    WEIR_FAULT_LOST,
    WEIR_FAULT_LOST_HEAD, /* a line that tells nothing without its next */
    WEIR_FAULT_LOST_TAIL, /* … and that next line: the GPU of the head */
    WEIR_FAULT_UNSUPPORTED,
    WEIR_FAULT_INIT_FAILED,
    WEIR_FAULT_MARKED_FOR_RESET,
    WEIR_FAULT_RESET_REQUIRED, /* NVML's error class */
    WEIR_FAULT_RECOVERY,       /* the driver's recovery action, read by itself (NVML field 230) */
    WEIR_FAULT_VERSION_MISMATCH,
    WEIR_FAULT_NO_PROBE,
    WEIR_FAULT_LINK_SETUP,
    WEIR_FAULT_POWER_MISSING,
    WEIR_FAULT_CONTAINER,
    WEIR_FAULT_COUNT, /* fewer GPUs than there should be */
    WEIR_FAULT_AER,
    WEIR_FAULT_AER_DETAIL,
    WEIR_FAULT_FABRIC_MANAGER,
    WEIR_FAULT_NIC_POWER,
    WEIR_FAULT_NIC_FAILED,
    WEIR_FAULT_NIC_CABLE,
    WEIR_FAULT_NIC_PORT,
    WEIR_FAULT_NIC_NOISE,
    WEIR_FAULT_PEER_MEMORY,
    WEIR_FAULT_NCCL,
    WEIR_FAULT_KIND_MAX
};

enum weir_fault_origin {
    WEIR_FAULT_ORIGIN_KERNEL, /* proven: facility 0 of /dev/kmsg in this boot, or NVML */
    WEIR_FAULT_ORIGIN_TEXT,   /* a line that somebody pasted or a file that anybody may write */
    WEIR_FAULT_ORIGIN_USER,   /* a process wrote it: no evidence of anything */
    WEIR_FAULT_ORIGIN_STALE,  /* an earlier boot's: the fault is over */
    WEIR_FAULT_ORIGIN_MAX
};

enum weir_fault_severity {
    WEIR_FAULT_SEVERITY_UNKNOWN,
    WEIR_FAULT_SEVERITY_CORRECTED,
    WEIR_FAULT_SEVERITY_NONFATAL,
    WEIR_FAULT_SEVERITY_FATAL,
    WEIR_FAULT_SEVERITY_MAX
};

/* NVML's recovery actions, as Xid 154 and field 230 give them. */
enum weir_fault_recovery {
    WEIR_FAULT_RECOVERY_NONE,
    WEIR_FAULT_RECOVERY_RESET,
    WEIR_FAULT_RECOVERY_REBOOT,
    WEIR_FAULT_RECOVERY_DRAIN_P2P,
    WEIR_FAULT_RECOVERY_DRAIN_AND_RESET,
    WEIR_FAULT_RECOVERY_IMEX,
    WEIR_FAULT_RECOVERY_MAX,
    WEIR_FAULT_RECOVERY_ABSENT = 255
};

enum { WEIR_FAULT_WORDS_MAX = 9 };

/* A device: its address on the bus of a node. */
struct weir_fault_device {
    uint32_t node; /* the caller's number of it */
    uint32_t domain;
    uint8_t bus;
    uint8_t device;
    uint8_t function; /* of what is no GPU; 0 for one */
    bool is_known;    /* else: some device of the node */
};

struct weir_fault_event {
    int64_t at_ms; /* one clock for all events of a state, never going back */
    struct weir_fault_device device;
    uint8_t kind;     /* enum weir_fault_kind */
    uint8_t origin;   /* enum weir_fault_origin */
    uint8_t severity; /* enum weir_fault_severity */
    uint8_t recovery; /* enum weir_fault_recovery; ABSENT where the event names none */
    bool wants_reset; /* the driver says beside the error that it needs a reset, */
    bool wants_drain; /* … or a reset once the work is gone */
    uint32_t code;    /* Xid or SXid */
    uint32_t caused_by;
    int64_t pid;          /* -1: unknown */
    uint64_t user;        /* the caller's number of the user whose job ran there; 0: unknown */
    int32_t gpu_instance; /* -1: the whole GPU */
    int32_t link;         /* -1: none named */
    int32_t gpc;          /* -1: unknown */
    int32_t tpc;
    uint32_t n_words;
    uint32_t words[WEIR_FAULT_WORDS_MAX];
    struct weir_str unit; /* part of the GPU that complains; the driver's name for AER */
    struct weir_str text; /* evidence */
};

/* RECORD, RESET_GPU, …; NULL beyond the last. */
const char *weir_fault_action_name(enum weir_fault_action action);
/* What a person does for it: a sentence's rest, "drain the GPU and reset it (nvidia-smi …)". */
const char *weir_fault_action_words(enum weir_fault_action action);
/* The rung of the ladder for a recovery action: 1, 4 reset; 2 reboot; 3, 5 the fabric; one that is
 * not known yet WATCH. */
enum weir_fault_action weir_fault_recovery_action(uint8_t recovery);
/* What the driver asks for: "a reset of the GPU". */
const char *weir_fault_recovery_words(uint8_t recovery);
bool weir_fault_same_device(const struct weir_fault_device *a, const struct weir_fault_device *b);

#endif

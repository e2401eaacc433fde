#include "model/fault.h"

#include <stddef.h>

static const struct {
    const char *name;
    const char *words;
} actions[WEIR_FAULT_ACTION_MAX] = {
    [WEIR_FAULT_ACTION_NOT_EVENT] = {"NOT_EVENT", "nothing: it is no fault"},
    [WEIR_FAULT_ACTION_RECORD] = {"RECORD", "nothing; it is kept as a record"},
    [WEIR_FAULT_ACTION_WATCH] = {"WATCH", "nothing yet; if it comes again, look into it"},
    [WEIR_FAULT_ACTION_FOLLOW_154] =
        {"FOLLOW_154", "what the Xid 154 beside it says; without one, start the job again"},
    [WEIR_FAULT_ACTION_RESTART_APP] = {"RESTART_APP", "start the job again; the GPU is good"},
    [WEIR_FAULT_ACTION_CHECK_SW] = {"CHECK_SW",
                                    "correct the driver, its versions or the configuration"},
    [WEIR_FAULT_ACTION_CHECK_MECH] = {"CHECK_MECH", "check power cables, seating and links"},
    [WEIR_FAULT_ACTION_RESET_GPU] = {"RESET_GPU",
                                     "drain the GPU and reset it (nvidia-smi --gpu-reset -i GPU)"},
    [WEIR_FAULT_ACTION_RESET_FABRIC] =
        {"RESET_FABRIC",
         "drain all GPUs that share the NVLink fabric and reset them together with the switches"},
    [WEIR_FAULT_ACTION_RESTART_VM] = {"RESTART_VM", "drain the machine and restart the VM"},
    [WEIR_FAULT_ACTION_REBOOT_NODE] = {"REBOOT_NODE", "drain the node and reboot it"},
    [WEIR_FAULT_ACTION_SUPPORT] =
        {"SUPPORT", "keep it out of service, run the vendor's diagnostics, ask for support"},
};

const char *weir_fault_action_name(enum weir_fault_action action)
{
    return action < WEIR_FAULT_ACTION_MAX ? actions[action].name : NULL;
}

const char *weir_fault_action_words(enum weir_fault_action action)
{
    return action < WEIR_FAULT_ACTION_MAX ? actions[action].words : NULL;
}

enum weir_fault_action weir_fault_recovery_action(uint8_t recovery)
{
    static const uint8_t rungs[WEIR_FAULT_RECOVERY_MAX] = {
        [WEIR_FAULT_RECOVERY_NONE] = WEIR_FAULT_ACTION_RECORD,
        [WEIR_FAULT_RECOVERY_RESET] = WEIR_FAULT_ACTION_RESET_GPU,
        [WEIR_FAULT_RECOVERY_REBOOT] = WEIR_FAULT_ACTION_REBOOT_NODE,
        [WEIR_FAULT_RECOVERY_DRAIN_P2P] = WEIR_FAULT_ACTION_RESET_FABRIC,
        [WEIR_FAULT_RECOVERY_DRAIN_AND_RESET] = WEIR_FAULT_ACTION_RESET_GPU,
        [WEIR_FAULT_RECOVERY_IMEX] = WEIR_FAULT_ACTION_RESET_FABRIC,
    };

    return recovery < WEIR_FAULT_RECOVERY_MAX ? rungs[recovery] : WEIR_FAULT_ACTION_WATCH;
}

const char *weir_fault_recovery_words(uint8_t recovery)
{
    static const char *const words[WEIR_FAULT_RECOVERY_MAX] = {
        [WEIR_FAULT_RECOVERY_NONE] = "nothing",
        [WEIR_FAULT_RECOVERY_RESET] = "a reset of the GPU",
        [WEIR_FAULT_RECOVERY_REBOOT] = "a reboot of the node",
        [WEIR_FAULT_RECOVERY_DRAIN_P2P] = "a reset of the NVLink fabric",
        [WEIR_FAULT_RECOVERY_DRAIN_AND_RESET] = "a reset of the GPU once it is drained",
        [WEIR_FAULT_RECOVERY_IMEX] = "a recovery of the IMEX domain",
    };

    return recovery < WEIR_FAULT_RECOVERY_MAX ? words[recovery]
                                              : "a recovery that weir does not know";
}

bool weir_fault_same_device(const struct weir_fault_device *a, const struct weir_fault_device *b)
{
    return a->node == b->node && a->is_known == b->is_known &&
           (!a->is_known || (a->domain == b->domain && a->bus == b->bus && a->device == b->device &&
                             a->function == b->function));
}

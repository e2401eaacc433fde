#include "cmd/commands.h"

/* In the order in which the overview shows them. */
const struct weir_command *const weir_commands[] = {
    &weir_command_run,      &weir_command_cancel,  &weir_command_signal,  &weir_command_ps,
    &weir_command_logs,     &weir_command_explain, &weir_command_queue,   &weir_command_get,
    &weir_command_describe, &weir_command_apply,   &weir_command_delete,  &weir_command_cordon,
    &weir_command_uncordon, &weir_command_drain,   &weir_command_sim,     &weir_command_snapshot,
    &weir_command_xid,      &weir_command_up,      &weir_command_token,   &weir_command_replay,
    &weir_command_launcher, &weir_command_help,    &weir_command_version, NULL,
};

#include "cmd/commands.h"

const struct weir_command *const weir_commands[] = {
    &weir_command_run,
    &weir_command_ps,
    &weir_command_logs,
    &weir_command_cancel,
    &weir_command_up,
    &weir_command_replay,
    &weir_command_launcher,
    &weir_command_help,
    &weir_command_version,
    NULL,
};

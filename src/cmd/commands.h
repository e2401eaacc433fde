/* cmd/commands.h — every command, for the table. */
#ifndef WEIR_CMD_COMMANDS_H
#define WEIR_CMD_COMMANDS_H

#include "cmd/command.h"

extern const struct weir_command weir_command_run;
extern const struct weir_command weir_command_ps;
extern const struct weir_command weir_command_logs;
extern const struct weir_command weir_command_cancel;
extern const struct weir_command weir_command_version;
extern const struct weir_command weir_command_help;
extern const struct weir_command weir_command_launcher;
extern const struct weir_command weir_command_replay;
extern const struct weir_command weir_command_up;

#endif

/* cmd/commands.h — every command, for the table. */
#ifndef WEIR_CMD_COMMANDS_H
#define WEIR_CMD_COMMANDS_H

#include "cmd/command.h"

extern const struct weir_command weir_command_apply;
extern const struct weir_command weir_command_cancel;
extern const struct weir_command weir_command_cordon;
extern const struct weir_command weir_command_delete;
extern const struct weir_command weir_command_describe;
extern const struct weir_command weir_command_drain;
extern const struct weir_command weir_command_explain;
extern const struct weir_command weir_command_get;
extern const struct weir_command weir_command_help;
extern const struct weir_command weir_command_launcher;
extern const struct weir_command weir_command_logs;
extern const struct weir_command weir_command_mps_control;
extern const struct weir_command weir_command_ps;
extern const struct weir_command weir_command_queue;
extern const struct weir_command weir_command_replay;
extern const struct weir_command weir_command_run;
extern const struct weir_command weir_command_signal;
extern const struct weir_command weir_command_sim;
extern const struct weir_command weir_command_snapshot;
extern const struct weir_command weir_command_token;
extern const struct weir_command weir_command_uncordon;
extern const struct weir_command weir_command_up;
extern const struct weir_command weir_command_version;
extern const struct weir_command weir_command_xid;

#endif

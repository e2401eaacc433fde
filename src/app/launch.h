/* app/launch.h — from a workload's spec and a task's devices to a command with its environment. */
#ifndef WEIR_APP_LAUNCH_H
#define WEIR_APP_LAUNCH_H

#include <stdint.h>

struct weir_err;
struct weir_server;

/* Launches the running attempt of a task. An error says that it surely did not start. */
int weir_server_launch(struct weir_server *server, uint32_t task, struct weir_err *err);

#endif

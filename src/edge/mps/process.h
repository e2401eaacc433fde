/* edge/mps/process.h — the processes of MPS: a control daemon, and the short-lived control program
 * that asks it something. All are started without waiting for them.
 *
 * A daemon has a folder: `pipe` and `log`, and `daemon`, which names its process and its GPU. That
 * file is
 * written by the process itself before it becomes the control program: so none is ever there that
 * the file does not name. */
#ifndef WEIR_EDGE_MPS_PROCESS_H
#define WEIR_EDGE_MPS_PROCESS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct weir_err;

/* The socket in `pipe` must fit into a sockaddr_un, with the longest name that is seen there. */
enum {
    WEIR_MPS_PATH_MAX = 108,
    WEIR_MPS_SOCKET_MAX = sizeof("/pipe/control_privileged"),
    /* Of the data directory, where GPUs have names as NVIDIA's driver gives them: a folder is
     * called by the last part of such a name. */
    WEIR_MPS_DATA_DIR_MAX =
        WEIR_MPS_PATH_MAX - WEIR_MPS_SOCKET_MAX - sizeof("/mps") - sizeof("000000000000") + 1,
    WEIR_MPS_UUID_MAX = 64,
};

struct weir_mps_program {
    const char *exe;         /* absolute; NULL: there is none */
    const char *const *argv; /* NULL-terminated; what it is told follows */
};

struct weir_mps_process {
    pid_t pid; /* 0: none */
    int fd;    /* pidfd */
    bool is_child;
};

#define WEIR_MPS_PROCESS_NONE                                                                      \
    {                                                                                              \
        0, -1, false                                                                               \
    }

/* Makes folder, pipe and log, passable for the users of clients, and removes what an earlier daemon
 * left in pipe. */
int weir_mps_make_folder(const char *folder, struct weir_err *err);

/* Starts the daemon of a GPU, in a session of its own. An exec that fails is an exit status of 127.
 */
int weir_mps_start(const struct weir_mps_program *program, const char *folder, const char *uuid,
                   struct weir_mps_process *ret_process, struct weir_err *err);
/* The daemon that the folder names, if it lives, and its GPU. */
bool weir_mps_find(const char *folder, struct weir_mps_process *ret_process,
                   char ret_uuid[WEIR_MPS_UUID_MAX]);
/* Starts the control program on a line for the daemon of the folder. Its output goes to
 * *ret_output, a file. */
int weir_mps_ask(const struct weir_mps_program *program, const char *folder, const char *line,
                 struct weir_mps_process *ret_process, struct weir_err *err);

/* Whether it has ended; then it is buried, *ret_status is as of waitpid(2) (-1: not known), and
 * *process is none. */
bool weir_mps_has_ended(struct weir_mps_process *process, int *ret_status);
/* To its process group, which is its own. */
void weir_mps_signal(const struct weir_mps_process *process, int signal_number);
/* Lets go of it; it lives on. */
void weir_mps_forget(struct weir_mps_process *process);
/* After the daemon's end: kills what is left of it (its servers), and removes the file that names
 * it. */
void weir_mps_clear(const char *folder);
/* "ended with status 1: no such device" */
void weir_mps_say_end(const char *folder, int status, char *ret_text, size_t size);

#endif

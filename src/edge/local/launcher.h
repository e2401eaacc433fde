/* edge/local/launcher.h — the server's handle on its launcher: one small process that forks a shim
 * for every request, so that starting a job costs the fork of a tiny process, not of the server.
 *
 * It ends when its socket closes (the server is gone); shims go on. Requests are one-way: success
 * is seen in the slot (a note tells when to look), only what could not even be claimed comes back
 * as a refusal. When the launcher dies, weir_launcher_receive() says so; requests sent before may
 * or may not have been taken: stop it, start a new one, and ask weir_slots_forbid() for every
 * attempt that was sent and has no status.
 *
 * Shims whose launcher is gone become children of the next subreaper above, or of process 1: a
 * server that is one of these must reap them. Under systemd the unit needs KillMode=process. */
#ifndef WEIR_EDGE_LOCAL_LAUNCHER_H
#define WEIR_EDGE_LOCAL_LAUNCHER_H

#include "base/buf.h"
#include "edge/local/launch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct weir_err;

struct weir_launcher_options {
    const char *exe;         /* NULL: /proc/self/exe */
    const char *const *argv; /* must lead that program to weir_launcher_main(); NULL-terminated */
    const char *const *envp; /* NULL: empty. Jobs do not see it; same-user processes could */
    const char *data_dir;
};

struct weir_launcher {
    pid_t pid;
    int fd; /* non-blocking: watch for reading, and for writing while wants_write() */
    struct weir_buf out;
    uint8_t in[16];
    uint32_t n_in;
};

struct weir_launch_refusal {
    uint64_t serial; /* 0: the request could not be read */
    uint32_t slot;
    int errnum; /* see weir_slot_claim(); EAGAIN, ENOMEM: no process could be made, try again later;
                   EPROTO: the request could not be read; ENOSYS: there is no /proc */
};

/* Starts it with DATA as its directory. WEIR_E_NOT_FOUND, WEIR_E_IO, … */
int weir_launcher_start(const struct weir_launcher_options *options,
                        struct weir_launcher *ret_launcher, struct weir_err *err);
/* Closes the socket and waits for its end: requests sent completely are still carried out. Accepts
 * one that was stopped before. */
void weir_launcher_stop(struct weir_launcher *launcher);

/* Queues the request and sends what the socket takes. Errors of weir_launch_encode(), or
 * WEIR_E_UNAVAILABLE when the launcher is gone. */
int weir_launcher_launch(struct weir_launcher *launcher, const struct weir_launch *launch,
                         struct weir_err *err);
bool weir_launcher_wants_write(const struct weir_launcher *launcher);
/* Sends on. WEIR_E_UNAVAILABLE as above. */
int weir_launcher_flush(struct weir_launcher *launcher, struct weir_err *err);
/* 1: *ret_refusal is set, call again; 0: nothing now; WEIR_E_UNAVAILABLE: the launcher is gone. */
int weir_launcher_receive(struct weir_launcher *launcher, struct weir_launch_refusal *ret_refusal,
                          struct weir_err *err);

/* The launcher itself: serves the socket on its stdin until that closes. For a hidden subcommand;
 * the arguments are not looked at. Returns the exit status. */
int weir_launcher_main(int argc, char **argv);

#endif

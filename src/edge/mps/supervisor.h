/* edge/mps/supervisor.h — port/mps.h on this machine: begins a control daemon for each GPU that is
 * to have one, asks each whether it is well, begins those again that died or hang, and ends them.
 *
 * A daemon outlives its server: the next one finds it, and keeps it if it answers.
 *
 *   off ─ begin ─> beginning ─ it answers ─> on ─ end ─> quitting ─> terminating ─> killing ─> off
 *                  │  └ it dies: off, with why     └ it dies, or does not answer and is killed:
 *                  └ end: quitting                   resting ─ later each time ─> beginning
 *
 * What does not die when it is killed (a driver hangs) stays "killing", and nothing waits for it:
 * there are never two daemons for one GPU. */
#ifndef WEIR_EDGE_MPS_SUPERVISOR_H
#define WEIR_EDGE_MPS_SUPERVISOR_H

#include "edge/mps/process.h"
#include "port/mps.h"

struct weir_mps_supervisor;

struct weir_mps_times {
    int64_t begin_ms;     /* until one that was begun must answer */
    int64_t retry_ms;     /* between questions until then */
    int64_t health_ms;    /* between questions to one that is on */
    int64_t answer_ms;    /* for an answer */
    int64_t quit_ms;      /* for clients, once it is asked to end; rounded up to seconds */
    int64_t terminate_ms; /* between SIGTERM and SIGKILL, and before SIGTERM beyond quit_ms */
    int64_t rest_ms;      /* before the first begin anew; doubled for each that follows */
    int64_t settled_ms;   /* on for so long: what was before counts no more */
    uint32_t tries;       /* in a row, before it is given up */
};

struct weir_mps_times weir_mps_times_default(void);

/* A daemon that an earlier server left in DATA/mps is adopted. Without a program no daemon begins,
 * and adopted ones are ended by signals. Errors: WEIR_E_NO_MEMORY, WEIR_E_IO. */
int weir_mps_open(const char *data_dir, const struct weir_mps_program *program,
                  struct weir_mps_times times, struct weir_mps_supervisor **ret_supervisor,
                  struct weir_mps_port *ret_port, struct weir_err *err);
/* Daemons go on. */
struct weir_mps_supervisor *weir_mps_close(struct weir_mps_supervisor *supervisor);

/* The program of this name: as it is where it has a slash, else along PATH. False: there is none
 * that may be run. */
bool weir_mps_find_program(const char *name, char *ret_path, size_t size);

#endif

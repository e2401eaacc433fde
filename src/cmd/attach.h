/* cmd/attach.h — the terminal of a job that runs elsewhere: its output, its signals, its exit
 * status.
 *
 * It survives the server: the connection is made again and the output goes on where it was. */
#ifndef WEIR_CMD_ATTACH_H
#define WEIR_CMD_ATTACH_H

#include "cmd/client.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;

struct weir_attach_options {
    const char *id;
    bool quiet; /* says nothing of its own on stderr but errors */
    bool tells; /* says why the job waits */
    bool label; /* "[3] " before each line */
    int signal; /* that came before, and ends the job if it can; 0: none */
    /* For those who only look: */
    bool looks;             /* passes no signal on; the status is 0 once the job has ended */
    bool hides[2];          /* not stdout, not stderr */
    const char *member;     /* one alone, by its number; NULL: all */
    int64_t attempt;        /* of `member`, that starts are of */
    const uint64_t *starts; /* where its stdout and stderr go on; NULL: at 0 */
};

enum { WEIR_ATTACH_STATUS_CANCELLED = 130, WEIR_ATTACH_STATUS_PIPE = 141 };

/* Follows the job to its end. Returns what `weir run` exits with: the command's status (128+n for a
 * signal), 130 if it was cancelled, WEIR_EXIT_UNKNOWN if it was lost, 141 if nobody reads our
 * output any more (the job goes on). A negative code if it cannot be followed. Unless it only
 * looks, weir_attach_signals_begin() comes before. */
int weir_attach(const struct weir_client *client, const struct weir_attach_options *options,
                struct weir_err *err);

#endif

/* cmd/interruption.h — a submission that is interrupted before it is answered.
 *
 * Nobody knows then whether the job was taken. So the answer is waited for a little longer, and the
 * signal is for the job once it is known; a second one ends the wait. */
#ifndef WEIR_CMD_INTERRUPTION_H
#define WEIR_CMD_INTERRUPTION_H

#include "io/http_client.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_interruption {
    struct weir_http_client *http;
    bool quiet;       /* says nothing of a job that was not submitted */
    int number;       /* the signal; 0: none came */
    bool is_repeated; /* and another: the wait is over */
    bool was_sent;    /* the server may have got the job */
    int64_t until_ms; /* monotonic: how long the answer is still waited for */
};

/* Between weir_attach_signals_begin() and …_end(): takes over what ends the waits of http. */
void weir_interruption_init(struct weir_interruption *interruption, bool quiet,
                            struct weir_http_client *http);
/* Takes in what came since; true: the wait is over. */
bool weir_interruption_look(struct weir_interruption *interruption);
/* The same, within ms. */
bool weir_interruption_pause(struct weir_interruption *interruption, int ms);
/* Says on stderr what is known of the job, which is not waited for any more; however quiet, that it
 * may have been taken. Returns the exit status. */
int weir_interruption_tell(const struct weir_interruption *interruption);

#endif

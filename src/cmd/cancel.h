/* Ending jobs, as cancel and delete do it. */
#ifndef WEIR_CMD_CANCEL_H
#define WEIR_CMD_CANCEL_H

#include "cmd/client.h"

/* Asks for the end of a job and, unless quiet, prints what that means for it: one that waited is
 * cancelled, one that runs is asked to stop, and one that had ended stays as it ended. */
int weir_cancel(struct weir_client *client, const char *word, bool quiet, struct weir_err *err);

#endif

/* cmd/watch.h — events as they come. */
#ifndef WEIR_CMD_WATCH_H
#define WEIR_CMD_WATCH_H

struct weir_args;
struct weir_client;
struct weir_err;

/* Prints a line per event (about `subject`; empty: all) until it is interrupted: for people, or one
 * JSON object per line with -o json. Goes on where it was when the server restarts. */
int weir_watch_events(struct weir_client *client, const struct weir_args *args, const char *subject,
                      struct weir_err *err);

#endif

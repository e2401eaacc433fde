/* cmd/events.h — the last of what happened. */
#ifndef WEIR_CMD_EVENTS_H
#define WEIR_CMD_EVENTS_H

struct weir_args;
struct weir_client;
struct weir_err;

/* Lists the events of the client's path that are no older than --since, and of those the last
 * --tail. */
int weir_events_recent(struct weir_client *client, const struct weir_args *args,
                       struct weir_err *err);

#endif

/* cmd/explain.h — why a job waits, in words. */
#ifndef WEIR_CMD_EXPLAIN_H
#define WEIR_CMD_EXPLAIN_H

struct weir_buf;
struct weir_client;
struct weir_err;

/* Asks, and appends the tree of reasons and what would help, indented by two. */
int weir_explain_text(struct weir_client *client, const char *id, struct weir_buf *out,
                      struct weir_err *err);

#endif

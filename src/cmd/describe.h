/* cmd/describe.h — one thing for people: its fields, a line each. */
#ifndef WEIR_CMD_DESCRIBE_H
#define WEIR_CMD_DESCRIBE_H

#include <stdint.h>

struct weir_buf;
struct weir_tree;

/* "submitted_ms: 1700000000000" becomes "Submitted:  14:20:05 (3m05s ago)"; what is null or empty
 * is left out. */
void weir_describe(const struct weir_tree *object, int64_t now_ms, struct weir_buf *out);

#endif

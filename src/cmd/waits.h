/* cmd/waits.h — tells a person why a job waits, once per change. */
#ifndef WEIR_CMD_WAITS_H
#define WEIR_CMD_WAITS_H

struct weir_client;
struct weir_tree;

enum { WEIR_WAITS_REASON_MAX = 128 };

struct weir_waits {
    const char *id;
    char told[WEIR_WAITS_REASON_MAX]; /* the reason that was told last */
};

void weir_waits_init(struct weir_waits *waits, const char *id);
/* Says on stderr why the workload waits and when it should start, if it waits for something else
 * than before. The client is asked for the time; without an answer there is none. */
void weir_waits_tell(struct weir_waits *waits, struct weir_client *client,
                     const struct weir_tree *workload);

#endif

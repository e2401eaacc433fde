/* base/queue.h — hands owned items from any number of threads to one: bounded, in order, with a
 * descriptor that an event loop can watch.
 *
 * The item is embedded in what is handed over, so that pushing allocates nothing. Whoever takes an
 * item owns it. */
#ifndef WEIR_BASE_QUEUE_H
#define WEIR_BASE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct weir_err;

struct weir_queue_item {
    struct weir_queue_item *next;
};

struct weir_queue {
    pthread_mutex_t lock;
    struct weir_queue_item *first;
    struct weir_queue_item **last; /* where the next one is hung on */
    size_t n;
    size_t max;
    int fd; /* readable while there is something to take */
};

/* Errors: the operating system's, for lack of descriptors. */
int weir_queue_init(struct weir_queue *queue, size_t max, struct weir_err *err);
/* Nobody may use it any more; what was not taken must have been freed by its owner. */
void weir_queue_finish(struct weir_queue *queue);

/* False, and the item stays the caller's, when max items wait. */
bool weir_queue_push(struct weir_queue *queue, struct weir_queue_item *item);
/* All that waits, the oldest first, linked by next; NULL: nothing. Never blocks. */
struct weir_queue_item *weir_queue_take(struct weir_queue *queue);
/* Sleeps until there is something to take, at most timeout_ms (negative: for ever). */
void weir_queue_wait(const struct weir_queue *queue, int timeout_ms);

#endif

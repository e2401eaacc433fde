#include "base/queue.h"

#include "base/err.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int weir_queue_init(struct weir_queue *queue, size_t max, struct weir_err *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0)
        return weir_error_errno(err, errno, "make a queue between threads");
    *queue = (struct weir_queue){.max = max, .fd = fd};
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    return 0;
}

void weir_queue_finish(struct weir_queue *queue)
{
    pthread_mutex_destroy(&queue->lock);
    close(queue->fd);
}

bool weir_queue_push(struct weir_queue *queue, struct weir_queue_item *item)
{
    const uint64_t one = 1;
    bool fits;

    item->next = NULL;
    pthread_mutex_lock(&queue->lock);
    fits = queue->n < queue->max;
    if (fits) {
        *queue->last = item;
        queue->last = &item->next;
        queue->n++;
    }
    /* Under the lock: the taker may free the queue once it has the last item. A write of one to a
     * counter that is at most one cannot fail. */
    if (fits && queue->n == 1 && write(queue->fd, &one, sizeof(one)) < 0)
        WEIR_BUG("an eventfd refuses a count of one");
    pthread_mutex_unlock(&queue->lock);
    return fits;
}

struct weir_queue_item *weir_queue_take(struct weir_queue *queue)
{
    struct weir_queue_item *first;
    uint64_t count;

    pthread_mutex_lock(&queue->lock);
    first = queue->first;
    queue->first = NULL;
    queue->last = &queue->first;
    queue->n = 0;
    if (first != NULL && read(queue->fd, &count, sizeof(count)) < 0)
        WEIR_BUG("an eventfd has lost its count");
    pthread_mutex_unlock(&queue->lock);
    return first;
}

void weir_queue_wait(const struct weir_queue *queue, int timeout_ms)
{
    struct pollfd watched = {.fd = queue->fd, .events = POLLIN};

    poll(&watched, 1, timeout_ms);
}

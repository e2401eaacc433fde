/* The core of the prober, its threads and their messages. */
#include "edge/nvml/prober_core.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum { FULL_WAIT_MS = 10, STACK_BYTES = 1 << 20 };

struct message *message_free(struct message *message)
{
    if (message != NULL)
        weir_arena_finish(&message->arena);
    return weir_mem_free(message);
}

static void free_core(struct core *core)
{
    struct weir_queue_item *item;
    struct weir_queue_item *next;

    for (item = weir_queue_take(&core->outbox); item != NULL; item = next) {
        next = item->next;
        message_free((struct message *)item);
    }
    for (item = weir_queue_take(&core->inbox); item != NULL; item = next) {
        next = item->next;
        if (item != &core->stop)
            weir_mem_free(item);
    }
    for (item = core->todo; item != NULL; item = next) {
        next = item->next;
        weir_mem_free(item);
    }
    for (size_t i = 0; i < core->seats.n; i++) {
        weir_nvml_meter_destroy(core->seats.items[i]->meter);
        weir_mem_free(core->seats.items[i]);
    }
    weir_vec_finish(&core->seats);
    weir_nvml_close(core->nvml);
    weir_queue_finish(&core->inbox);
    weir_queue_finish(&core->outbox);
    pthread_cond_destroy(&core->changed);
    pthread_cond_destroy(&core->due);
    pthread_mutex_destroy(&core->lock);
    weir_mem_free((void *)(uintptr_t)core->path);
    weir_mem_free(core);
}

void core_release(struct core *core)
{
    bool is_last;

    pthread_mutex_lock(&core->lock);
    is_last = --core->n_users == 0;
    pthread_mutex_unlock(&core->lock);
    if (is_last)
        free_core(core);
}

int core_start_thread(struct core *core, void *(*start)(void *arg), void *arg, struct weir_err *err)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int r;

    pthread_mutex_lock(&core->lock);
    core->n_users++;
    pthread_mutex_unlock(&core->lock);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's */
    r = pthread_create(&thread, &attributes, start, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (r == 0)
        return 0;
    core_release(core);
    return weir_error_errno(err, r, "start a thread that reads GPUs");
}

bool core_wait(struct core *core, pthread_cond_t *cond, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return pthread_cond_timedwait(cond, &core->lock, &until) != ETIMEDOUT;
}

bool core_is_stopping(struct core *core)
{
    bool stopping;

    pthread_mutex_lock(&core->lock);
    stopping = core->is_stopping;
    pthread_mutex_unlock(&core->lock);
    return stopping;
}

bool core_is_late(const struct core *core, const struct seat *seat, int64_t now_ms)
{
    const struct weir_prober_options *options = &core->options;

    return now_ms - seat->since_ms >
           (int64_t)(seat->is_changing ? options->change_ms : options->deadline_ms);
}

struct message *message_new(enum message_kind kind)
{
    struct message *message = weir_mem_alloc_array(1, sizeof(*message));

    if (message != NULL)
        message->kind = kind;
    return message;
}

void core_tell(struct core *core, struct message *message)
{
    while (!weir_queue_push(&core->outbox, &message->item)) {
        const struct timespec pause = {0, FULL_WAIT_MS * 1000000L};

        if (core_is_stopping(core)) {
            message_free(message);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

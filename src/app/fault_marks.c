/* The marks of GPUs that are out of service. */
#include "app/fault_impl.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* ---- marks ---- */

void weir_fault_free_mark(struct weir_server_mark *mark)
{
    weir_mem_free(mark->key);
    weir_mem_free(mark->cause);
    weir_mem_free(mark->class);
}

struct weir_server_mark *weir_fault_find_mark(const struct weir_server *server, struct weir_str key)
{
    if (server->faults == NULL)
        return NULL;
    weir_vec_foreach (mark, &server->faults->marks)
        if (weir_str_eq_c(key, mark->key))
            return mark;
    return NULL;
}

const struct weir_server_mark *weir_server_faults_mark(const struct weir_server *server,
                                                       struct weir_str key)
{
    return weir_fault_find_mark(server, key);
}

int weir_fault_add_mark(struct weir_server *server, const struct weir_mark_record *record,
                        struct weir_err *err)
{
    struct weir_server_mark mark = {
        .key = weir_mem_strndup(record->key.ptr, record->key.len),
        .cause = weir_mem_strndup(record->cause.ptr, record->cause.len),
        .class = weir_mem_strndup(record->class.ptr, record->class.len),
        .action = record->action,
        .then = record->then,
        .since_wall_ms = record->since_wall_ms,
    };

    memcpy(mark.boot_id, record->boot_id, sizeof(mark.boot_id));
    snprintf(mark.shown, sizeof(mark.shown), "being tested: %.*s",
             WEIR_STR_ARG(weir_str_cut(record->cause, sizeof(mark.shown) - 16)));
    if (mark.key == NULL || mark.cause == NULL || mark.class == NULL ||
        weir_vec_push(&server->faults->marks, mark) < 0) {
        weir_fault_free_mark(&mark);
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU that is out of service");
    }
    return 0;
}

static void drop_mark(struct weir_server *server, struct weir_server_mark *mark)
{
    size_t at = (size_t)(mark - server->faults->marks.items);

    weir_selftest_stop(server, mark);
    weir_fault_free_mark(mark);
    weir_vec_remove(&server->faults->marks, at);
    server->faults->is_changed = true;
    server->dirty = true;
}

const char *weir_fault_subject(struct weir_str key, char text[WEIR_FAULT_SUBJECT_BYTES])
{
    return weir_str_format(text, WEIR_FAULT_SUBJECT_BYTES, "gpu/%.*s",
                           WEIR_STR_ARG(weir_str_cut(key, WEIR_GPU_UUID_BYTES)));
}

int weir_fault_tell(struct weir_server *server, const char *kind, struct weir_str key,
                    struct weir_str cause, struct weir_str after, struct weir_err *err)
{
    char subject[WEIR_FAULT_SUBJECT_BYTES];

    return weir_server_event(server, WEIR_STR("weir"), kind,
                             weir_str(weir_fault_subject(key, subject)), cause, WEIR_STR(""), after,
                             err);
}

int weir_fault_put_mark(struct weir_server *server, const struct weir_mark_record *record,
                        const char *event, struct weir_str event_cause, struct weir_str event_after,
                        struct weir_err *err)
{
    struct weir_server_mark *old;
    int r = weir_server_begin(server, err);

    if (r == 0)
        r = server->store.put_mark(server->store.ctx, record, err);
    if (r == 0 && event != NULL)
        r = weir_fault_tell(server, event, record->key, event_cause, event_after, err);
    if (r == 0)
        r = weir_fault_add_mark(server, record,
                                err); /* behind the old one, whose texts it may use */
    if (r < 0)
        return weir_server_fail(server, r, err);
    weir_vec_last(&server->faults->marks)->since_mono_ms =
        server->clock.now(server->clock.ctx).mono_ms;
    old = weir_fault_find_mark(server, record->key);
    if (old != NULL && old != weir_vec_last(&server->faults->marks))
        drop_mark(server, old);
    server->faults->is_changed = true;
    server->dirty = true;
    return 0;
}

/* It is good again: what was held back of it is over. */
static void forget_held(struct weir_server *server, struct weir_str key)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = server->faults == NULL ? 0 : weir_fault_list(server, &arena, &devices);

    for (uint32_t i = 0; i < n; i++) {
        struct weir_fault_device at;

        if (!weir_str_eq(devices[i].uuid, key) || !weir_fault_address_of(server, &devices[i], &at))
            continue;
        for (uint32_t k = 0; k < WEIR_INCIDENTS_MAX; k++)
            if (weir_fault_same_device(&server->faults->health.incidents[k].device, &at))
                server->faults->held[k] = 0;
    }
}

int weir_fault_drop(struct weir_server *server, struct weir_str key, const char *why,
                    struct weir_err *err)
{
    struct weir_server_mark *mark = weir_fault_find_mark(server, key);
    int r;

    if (mark == NULL)
        return 0;
    r = weir_server_begin(server, err);
    if (r == 0)
        r = server->store.delete_mark(server->store.ctx, key, err);
    if (r == 0)
        r = weir_fault_tell(server, "gpu.healthy", key, weir_str(why), WEIR_STR(""), err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    weir_log_info("gpu.healthy", "%.*s is back in service: %s", WEIR_STR_ARG(key), why);
    forget_held(server, key);
    drop_mark(server, mark);
    return 0;
}

static bool answers(struct weir_server *server, struct weir_str key)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = weir_fault_list(server, &arena, &devices);
    uint32_t i = 0;

    while (i < n && !weir_str_eq(devices[i].uuid, key))
        i++;
    return i < n && devices[i].state == WEIR_GPU_READY;
}

int weir_server_faults_clear(struct weir_server *server, struct weir_str key, const char *why,
                             bool without_test, struct weir_err *err)
{
    if (weir_fault_find_mark(server, key) == NULL) {
        forget_held(server, key);
        return 0;
    }
    if (!answers(server, key))
        return 0;
    forget_held(server, key);
    return without_test ? weir_fault_drop(server, key, why, err)
                        : weir_selftest_require(server, key, why, err);
}

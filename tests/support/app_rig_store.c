#include "app_rig_store.h"

static bool fails(struct app_rig *rig, struct weir_err *err)
{
    if (!rig->is_broken && rig->n_writes++ != rig->fail_at)
        return false;
    rig->real.rollback(rig->real.ctx); /* as the contract says */
    weir_error(err, WEIR_E_NO_SPACE, "the disk is full");
    return true;
}

#define WRITE(name, parameters, ...)                                                               \
    static int store_##name parameters                                                             \
    {                                                                                              \
        struct app_rig *rig = ctx;                                                                 \
                                                                                                   \
        return fails(rig, err) ? WEIR_E_NO_SPACE : rig->real.name(rig->real.ctx, __VA_ARGS__);     \
    }

static int store_begin(void *ctx, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return fails(rig, err) ? WEIR_E_NO_SPACE : rig->real.begin(rig->real.ctx, err);
}

static int store_sync(void *ctx, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.sync(rig->real.ctx, err);
}

static int store_mark(void *ctx, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return fails(rig, err) ? WEIR_E_NO_SPACE : rig->real.mark(rig->real.ctx, err);
}

static int store_undo(void *ctx, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return fails(rig, err) ? WEIR_E_NO_SPACE : rig->real.undo(rig->real.ctx, err);
}

static void store_rollback(void *ctx)
{
    struct app_rig *rig = ctx;

    rig->real.rollback(rig->real.ctx);
}

WRITE(commit, (void *ctx, bool durable, struct weir_err *err), durable, err)
WRITE(next_number, (void *ctx, uint64_t *ret, struct weir_err *err), ret, err)
WRITE(put_queue, (void *ctx, const struct weir_queue_record *q, struct weir_err *err), q, err)
WRITE(delete_queue, (void *ctx, struct weir_str name, struct weir_err *err), name, err)
WRITE(add_workload, (void *ctx, const struct weir_workload_record *w, struct weir_err *err), w, err)
WRITE(update_workload, (void *ctx, const struct weir_workload_record *w, struct weir_err *err), w,
      err)
WRITE(put_task, (void *ctx, const struct weir_task_record *t, struct weir_err *err), t, err)
WRITE(put_cordon, (void *ctx, const struct weir_cordon_record *c, struct weir_err *err), c, err)
WRITE(put_setup, (void *ctx, const struct weir_setup_record *s, struct weir_err *err), s, err)
WRITE(delete_setup, (void *ctx, struct weir_str name, struct weir_err *err), name, err)
WRITE(put_gpu, (void *ctx, const struct weir_gpu_record *g, struct weir_err *err), g, err)
WRITE(delete_gpu, (void *ctx, struct weir_str key, struct weir_err *err), key, err)
WRITE(append_event, (void *ctx, const struct weir_event_record *e, struct weir_err *err), e, err)
WRITE(append_fault, (void *ctx, const struct weir_fault_record *f, struct weir_err *err), f, err)
WRITE(delete_faults, (void *ctx, int64_t wall_ms, struct weir_err *err), wall_ms, err)
WRITE(put_mark, (void *ctx, const struct weir_mark_record *m, struct weir_err *err), m, err)
WRITE(delete_mark, (void *ctx, struct weir_str key, struct weir_err *err), key, err)

static int store_each_fault(void *ctx,
                            int (*each)(void *arg, const struct weir_fault_record *fault),
                            void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.each_fault(rig->real.ctx, each, arg, err);
}

static int store_each_mark(void *ctx, int (*each)(void *arg, const struct weir_mark_record *mark),
                           void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.each_mark(rig->real.ctx, each, arg, err);
}

static int store_each_queue(void *ctx,
                            int (*each)(void *arg, const struct weir_queue_record *queue),
                            void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    if (rig->is_broken)
        return weir_error(err, WEIR_E_IO, "the disk is gone");
    return rig->real.each_queue(rig->real.ctx, each, arg, err);
}

static int store_each_setup(void *ctx,
                            int (*each)(void *arg, const struct weir_setup_record *setup),
                            void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.each_setup(rig->real.ctx, each, arg, err);
}

static int store_each_gpu(void *ctx, int (*each)(void *arg, const struct weir_gpu_record *gpu),
                          void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.each_gpu(rig->real.ctx, each, arg, err);
}

static int store_each_workload(void *ctx, const struct weir_workload_filter *filter, bool with_spec,
                               int (*each)(void *arg, const struct weir_workload_record *w),
                               void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.each_workload(rig->real.ctx, filter, with_spec, each, arg, err);
}

static int store_each_task(void *ctx, uint64_t number,
                           int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                           struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.each_task(rig->real.ctx, number, each, arg, err);
}

static int store_find_cordon(void *ctx, uint32_t subject_kind, struct weir_str name,
                             int (*each)(void *arg, const struct weir_cordon_record *cordon),
                             void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.find_cordon(rig->real.ctx, subject_kind, name, each, arg, err);
}

static int store_get_workload(void *ctx, uint64_t number,
                              int (*each)(void *arg, const struct weir_workload_record *w),
                              void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.get_workload(rig->real.ctx, number, each, arg, err);
}

static int store_get_request(void *ctx, struct weir_str owner, struct weir_str key,
                             uint8_t ret_digest[16], uint64_t *ret_number, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.get_request(rig->real.ctx, owner, key, ret_digest, ret_number, err);
}

static int store_each_event(void *ctx, const struct weir_event_filter *filter,
                            int (*each)(void *arg, const struct weir_event_record *event),
                            void *arg, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.each_event(rig->real.ctx, filter, each, arg, err);
}

static int store_events_since(void *ctx, int64_t wall_ms, int64_t *ret_after, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.events_since(rig->real.ctx, wall_ms, ret_after, err);
}

static int store_prune(void *ctx, int64_t wall_ms, int64_t event_seq, uint32_t limit,
                       int (*each)(void *arg, const struct weir_task_record *task), void *arg,
                       struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.prune(rig->real.ctx, wall_ms, event_seq, limit, each, arg, err);
}

static int store_last_event(void *ctx, int64_t *ret_seq, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    return rig->real.last_event(rig->real.ctx, ret_seq, err);
}

struct weir_store app_rig_wrap_store(struct app_rig *rig)
{
    return (struct weir_store){
        .ctx = rig,
        .space = rig->real.space,
        .begin = store_begin,
        .commit = store_commit,
        .sync = store_sync,
        .rollback = store_rollback,
        .mark = store_mark,
        .undo = store_undo,
        .next_number = store_next_number,
        .put_queue = store_put_queue,
        .delete_queue = store_delete_queue,
        .add_workload = store_add_workload,
        .update_workload = store_update_workload,
        .put_task = store_put_task,
        .put_cordon = store_put_cordon,
        .append_event = store_append_event,
        .append_fault = store_append_fault,
        .delete_faults = store_delete_faults,
        .put_mark = store_put_mark,
        .delete_mark = store_delete_mark,
        .each_fault = store_each_fault,
        .each_mark = store_each_mark,
        .put_setup = store_put_setup,
        .delete_setup = store_delete_setup,
        .each_queue = store_each_queue,
        .each_setup = store_each_setup,
        .put_gpu = store_put_gpu,
        .delete_gpu = store_delete_gpu,
        .each_gpu = store_each_gpu,
        .each_workload = store_each_workload,
        .each_task = store_each_task,
        .find_cordon = store_find_cordon,
        .each_event = store_each_event,
        .events_since = store_events_since,
        .prune = store_prune,
        .get_workload = store_get_workload,
        .get_request = store_get_request,
        .last_event = store_last_event,
    };
}

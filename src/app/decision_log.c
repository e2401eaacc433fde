/* States of the log: on with a segment (has_segment: its head is written or pending), on without
 * one (the next tick begins it), off (until retry_mono_ms). Off and "without" both mean last ==
 * NULL, so what comes next begins with a keyframe. */
#include "app/decision_log.h"

#include "app/decision_format.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "model/world_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PENDING_BYTES = 1 << 20,
    KEPT_BYTES = 4 << 20, /* memory that stays after a flush */
    RETRY_AFTER_MS = 10 * 1000
};

struct weir_decision_log {
    int dir_fd;
    int fd; /* of the segment under way, once it has bytes on disk */
    struct weir_decision_limits limits;
    struct weir_decision_segments
        segments; /* oldest first; with has_segment the last is under way */
    bool has_segment;
    bool is_off;
    struct weir_buf pending;
    uint64_t n_pending;            /* ticks in it */
    const struct weir_world *last; /* of the last record; NULL: a keyframe is due */
    struct weir_policy policy;
    int64_t segment_bytes;  /* of the one under way, pending included */
    int64_t delta_bytes;    /* of ticks since the last keyframe */
    int64_t keyframe_bytes; /* of the last keyframe */
    uint64_t run;
    uint64_t seq; /* of the next tick */
    int64_t mono_ms;
    int64_t retry_mono_ms;
    struct weir_decision_stats stats;
};

struct weir_decision_limits weir_decision_limits_default(void)
{
    return (struct weir_decision_limits){256 * WEIR_MIB, 16 * WEIR_MIB, 4 * WEIR_MIB};
}

static int64_t bytes_on_disk(const struct weir_decision_log *log)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < log->segments.n; i++)
        bytes += log->segments.items[i].bytes;
    return bytes;
}

/* ---- files ---- */

/* Removes the oldest segments until n more bytes of the one under way fit. */
static int make_room(struct weir_decision_log *log, int64_t n, struct weir_err *err)
{
    int64_t bytes = bytes_on_disk(log);
    int64_t mine = log->has_segment ? weir_vec_last(&log->segments)->bytes + n : 0;

    if (mine > log->limits.total_bytes)
        return weir_error(err, WEIR_E_TOO_LARGE,
                          "a stretch of decisions has %lld bytes, all may have %lld",
                          (long long)mine, (long long)log->limits.total_bytes);
    while (bytes > log->limits.total_bytes - n) {
        struct weir_decision_segment oldest;
        char name[WEIR_DECISION_NAME_BYTES];

        oldest = log->segments.items[0];
        weir_decision_name(oldest.number, name);
        if (unlinkat(log->dir_fd, name, 0) < 0 && errno != ENOENT)
            return weir_error_errno(err, errno, "remove decisions '%s'", name);
        weir_vec_remove(&log->segments, 0);
        bytes -= oldest.bytes;
    }
    return 0;
}

static int open_segment(struct weir_decision_log *log, struct weir_err *err)
{
    char name[WEIR_DECISION_NAME_BYTES];

    weir_decision_name(weir_vec_last(&log->segments)->number, name);
    log->fd = openat(log->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (log->fd < 0)
        return weir_error_errno(err, errno, "make decisions '%s'", name);
    return 0;
}

/* The next tick begins a new segment. A piece of a record at the end of this one is cut off; where
 * even that fails, it is torn, which the reader sees. */
static void end_segment(struct weir_decision_log *log, bool is_torn)
{
    struct weir_decision_segment *segment;
    struct stat st;

    if (!log->has_segment)
        return;
    segment = weir_vec_last(&log->segments);
    log->has_segment = false;
    if (log->fd >= 0) {
        if (is_torn && ftruncate(log->fd, segment->bytes) < 0 && fstat(log->fd, &st) == 0)
            segment->bytes = st.st_size;
        if (segment->bytes == 0) {
            char name[WEIR_DECISION_NAME_BYTES];

            weir_decision_name(segment->number, name);
            unlinkat(log->dir_fd, name, 0);
        }
        close(log->fd);
        log->fd = -1;
    }
    if (segment->bytes == 0)
        log->segments.n--;
}

static void forget_last(struct weir_decision_log *log)
{
    weir_world_unref(log->last);
    log->last = NULL;
}

/* What is pending is lost, and so is all until it is time to try again. */
static void turn_off(struct weir_decision_log *log, const struct weir_err *err)
{
    if (!log->is_off)
        weir_log_warn("decisions.off", "%s; decisions are not kept until it can be written again",
                      err->text);
    end_segment(log, true);
    forget_last(log);
    weir_buf_finish(&log->pending);
    log->stats.n_lost += log->n_pending;
    log->n_pending = 0;
    log->is_off = true;
    log->retry_mono_ms = log->mono_ms + RETRY_AFTER_MS;
}

static int write_pending(struct weir_decision_log *log, struct weir_err *err)
{
    int r = make_room(log, (int64_t)log->pending.len, err);

    if (r == 0 && log->fd < 0)
        r = open_segment(log, err);
    if (r == 0 && weir_fd_write_all(log->fd, log->pending.data, log->pending.len) < 0)
        r = weir_error_errno(err, errno, "write decisions");
    if (r < 0)
        return r;
    weir_vec_last(&log->segments)->bytes += (int64_t)log->pending.len;
    log->stats.n_written += log->n_pending;
    log->n_pending = 0;
    if (log->pending.cap > KEPT_BYTES)
        weir_buf_finish(&log->pending);
    else
        weir_buf_reset(&log->pending);
    if (log->is_off)
        weir_log_info("decisions.on", "decisions are kept again; %" PRIu64 " were not",
                      log->stats.n_lost);
    log->is_off = false;
    return 0;
}

void weir_decision_log_flush(struct weir_decision_log *log)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (log->pending.len > 0 && write_pending(log, &err) < 0)
        turn_off(log, &err);
}

/* ---- records ---- */

static size_t begin_record(struct weir_decision_log *log)
{
    static const struct weir_decision_record zero;
    size_t at = log->pending.len;

    weir_buf_append(&log->pending, &zero, sizeof(zero));
    return at;
}

/* Returns the size of the record. */
static int64_t end_record(struct weir_decision_log *log, size_t at, enum weir_decision_type type)
{
    char *bytes = log->pending.data + at;
    struct weir_decision_record record;

    record.length = (uint32_t)(log->pending.len - at - sizeof(record));
    record.type = type;
    record.crc = weir_decision_crc(record.length, record.type, bytes + sizeof(record));
    memcpy(bytes, &record, sizeof(record));
    log->segment_bytes += (int64_t)(log->pending.len - at);
    return (int64_t)(log->pending.len - at);
}

static int begin_segment(struct weir_decision_log *log, struct weir_err *err)
{
    struct weir_decision_segment segment = {.number = 1};
    struct weir_decision_head head;

    if (log->segments.n > 0)
        segment.number = weir_vec_last(&log->segments)->number + 1;
    if (segment.number > WEIR_DECISION_NUMBER_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "there are no more numbers for decisions");
    if (weir_vec_push(&log->segments, segment) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for decisions");
    weir_decision_head_fill(segment.number, &head);
    weir_buf_append(&log->pending, &head, sizeof(head));
    log->has_segment = true;
    log->segment_bytes = sizeof(head);
    return 0;
}

static int put_keyframe(struct weir_decision_log *log, const struct weir_world *world,
                        const struct weir_policy *policy, struct weir_err *err)
{
    const struct weir_decision_keyframe keyframe = {.run = log->run,
                                                    .seq = log->seq,
                                                    .policy = *policy};
    size_t at;
    int r = log->has_segment ? 0 : begin_segment(log, err);

    if (r < 0)
        return r;
    at = begin_record(log);
    weir_buf_append(&log->pending, &keyframe, sizeof(keyframe));
    weir_world_write(world, NULL, &log->pending);
    r = weir_buf_check(&log->pending, "the decisions that gathered", err);
    if (r < 0)
        return r;
    log->keyframe_bytes = end_record(log, at, WEIR_DECISION_KEYFRAME);
    log->delta_bytes = 0;
    forget_last(log);
    weir_world_ref(world);
    log->last = world;
    log->policy = *policy;
    return 0;
}

/* What the world changed since the last record goes with it. */
static int put_tick(struct weir_decision_log *log, const struct weir_world *world,
                    struct weir_now now, uint64_t seed, const struct weir_plan *plan,
                    struct weir_err *err)
{
    struct weir_decision_tick tick = {.seq = log->seq,
                                      .now = now,
                                      .seed = seed,
                                      .n_actions = plan->n_actions,
                                      .n_grants = plan->n_grants};
    size_t at = begin_record(log);
    size_t delta_at;
    int r = 0;

    weir_plan_digest(plan, tick.digest);
    weir_buf_append(&log->pending, &tick, sizeof(tick));
    weir_buf_append(&log->pending, plan->actions, plan->n_actions * sizeof(plan->actions[0]));
    weir_buf_append(&log->pending, plan->grants, plan->n_grants * sizeof(plan->grants[0]));
    delta_at = log->pending.len;
    if (world != log->last)
        r = weir_world_write(world, log->last, &log->pending);
    if (r == WEIR_E_INVALID)
        return weir_error(err, r, "this version of the world does not follow from the last");
    r = weir_buf_check(&log->pending, "the decisions that gathered", err);
    if (r < 0)
        return r;
    tick.delta_bytes = (uint32_t)(log->pending.len - delta_at);
    memcpy(log->pending.data + at + sizeof(struct weir_decision_record), &tick, sizeof(tick));
    log->delta_bytes += end_record(log, at, WEIR_DECISION_TICK);
    weir_world_ref(world);
    forget_last(log);
    log->last = world;
    return 0;
}

static bool needs_keyframe(const struct weir_decision_log *log, const struct weir_world *world,
                           const struct weir_policy *policy)
{
    int64_t most = log->limits.keyframe_bytes > log->keyframe_bytes ? log->limits.keyframe_bytes
                                                                    : log->keyframe_bytes;

    return log->last == NULL || log->delta_bytes >= most ||
           !weir_world_is_earlier(log->last, world) ||
           memcmp(policy, &log->policy, sizeof(*policy)) != 0;
}

static int put(struct weir_decision_log *log, const struct weir_world *world,
               const struct weir_policy *policy, struct weir_now now, uint64_t seed,
               const struct weir_plan *plan, struct weir_err *err)
{
    int r = 0;

    if (needs_keyframe(log, world, policy)) {
        if (log->has_segment && log->segment_bytes >= log->limits.segment_bytes) {
            r = log->pending.len > 0 ? write_pending(log, err) : 0;
            if (r < 0)
                return r;
            end_segment(log, false);
        }
        r = put_keyframe(log, world, policy, err);
    }
    if (r == 0)
        r = put_tick(log, world, now, seed, plan, err);
    return r;
}

void weir_decision_log_tick(struct weir_decision_log *log, const struct weir_world *world,
                            const struct weir_policy *policy, struct weir_now now, uint64_t seed,
                            const struct weir_plan *plan)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r;

    log->mono_ms = now.mono_ms;
    if (log->is_off && log->n_pending == 0 && now.mono_ms < log->retry_mono_ms) {
        log->stats.n_lost++;
        log->seq++;
        return;
    }
    r = put(log, world, policy, now, seed, plan, &err);
    log->seq++;
    if (r < 0) {
        log->stats.n_lost++;
        turn_off(log, &err);
        return;
    }
    log->n_pending++;
    if (log->pending.len >= PENDING_BYTES)
        weir_decision_log_flush(log);
}

/* ---- life ---- */

static int open_folder(const char *data_dir, int *ret_fd, struct weir_err *err)
{
    weir_cleanup_fd int data_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd;

    if (data_fd < 0)
        return weir_error_errno(err, errno, "open data directory '%s'", data_dir);
    if (mkdirat(data_fd, WEIR_DECISION_FOLDER, 0700) < 0 && errno != EEXIST)
        return weir_error_errno(err, errno, "make '%s/%s'", data_dir, WEIR_DECISION_FOLDER);
    fd = openat(data_fd, WEIR_DECISION_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        weir_error_errno(err, errno, "open '%s/%s'", data_dir, WEIR_DECISION_FOLDER);
        return weir_error_hint(err, "move it away; earlier decisions cannot be repeated then");
    }
    *ret_fd = fd;
    return 0;
}

int weir_decision_log_open(const char *data_dir, struct weir_decision_limits limits,
                           struct weir_decision_log **ret_log, struct weir_err *err)
{
    struct weir_decision_log *log = weir_mem_alloc_array(1, sizeof(*log));
    int r;

    if (log == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the decision log");
    log->dir_fd = -1;
    log->fd = -1;
    log->limits = limits;
    weir_buf_init(&log->pending, (size_t)limits.total_bytes);
    log->run = (uint64_t)weir_clock_wall_ms();
    log->seq = 1;
    r = open_folder(data_dir, &log->dir_fd, err);
    if (r == 0)
        r = weir_decision_list(log->dir_fd, &log->segments, err);
    if (r == 0)
        r = make_room(log, 0, err);
    if (r < 0) {
        weir_decision_log_close(log);
        return r;
    }
    *ret_log = log;
    return 0;
}

struct weir_decision_stats weir_decision_log_stats(const struct weir_decision_log *log)
{
    struct weir_decision_stats stats = log->stats;

    stats.bytes = bytes_on_disk(log);
    stats.is_off = log->is_off;
    return stats;
}

struct weir_decision_log *weir_decision_log_close(struct weir_decision_log *log)
{
    if (log == NULL)
        return NULL;
    weir_decision_log_flush(log);
    end_segment(log, false);
    forget_last(log);
    weir_buf_finish(&log->pending);
    weir_vec_finish(&log->segments);
    if (log->dir_fd >= 0)
        close(log->dir_fd);
    return weir_mem_free(log);
}

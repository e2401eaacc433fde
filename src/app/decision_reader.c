#include "app/decision_reader.h"

#include "app/decision_format.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "model/world_check.h"
#include "model/world_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 1 << 30 };

struct weir_decision_reader {
    int dir_fd;
    int fd; /* of the segment under way, or -1 */
    struct weir_decision_segments segments;
    size_t next; /* segment */
    uint32_t number;
    int64_t at;
    int64_t size;
    struct weir_buf payload;
    const struct weir_world *world; /* NULL: a keyframe must come */
    struct weir_decision decision;
    uint64_t run; /* of the last keyframe */
    uint64_t seq; /* that the next tick must have */
    bool has_gap;
    struct weir_decision_damage damage;
};

/* What became of a step within a segment; negative: an error that ends the reading. */
enum step { STEP_GOOD = 1, STEP_END = 0, STEP_LEAVE = 2 };

/* ---- leaving a segment ---- */

static int leave(struct weir_decision_reader *reader, uint32_t *count, const struct weir_err *why)
{
    (*count)++;
    reader->has_gap = true;
    if (why != NULL && reader->damage.first.code == 0) {
        char name[WEIR_DECISION_NAME_BYTES];

        weir_decision_name(reader->number, name);
        reader->damage.first = *why;
        weir_error_wrap(&reader->damage.first, "decisions '%s'", name);
    }
    return STEP_LEAVE;
}

static int is_corrupt(struct weir_decision_reader *reader, const char *what)
{
    struct weir_err why = WEIR_ERR_INIT;

    weir_error(&why, WEIR_E_CORRUPT, "%s at byte %lld", what, (long long)reader->at);
    return leave(reader, &reader->damage.n_corrupt, &why);
}

static int is_torn(struct weir_decision_reader *reader)
{
    return leave(reader, &reader->damage.n_torn, NULL);
}

/* Out of memory ends the reading, anything else the segment. */
static int is_unreadable(struct weir_decision_reader *reader, const struct weir_err *why,
                         struct weir_err *err)
{
    if (why->code == WEIR_E_NO_MEMORY)
        return weir_error_pass(err, why);
    return leave(reader, &reader->damage.n_corrupt, why);
}

static void close_segment(struct weir_decision_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    reader->fd = -1;
    weir_world_unref(reader->world);
    reader->world = NULL;
}

/* ---- bytes ---- */

/* 1, or 0 where the file ends before n. */
static int read_at(struct weir_decision_reader *reader, int64_t at, void *ret_bytes, size_t n,
                   struct weir_err *err)
{
    char *to = ret_bytes;

    while (n > 0) {
        ssize_t done = pread(reader->fd, to, n, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return weir_error_errno(err, errno, "read decisions");
        if (done == 0)
            return 0;
        to += done;
        at += done;
        n -= (size_t)done;
    }
    return 1;
}

static int read_head(struct weir_decision_reader *reader, struct weir_err *err)
{
    struct weir_decision_head head;
    struct weir_err why = WEIR_ERR_INIT;
    int r = read_at(reader, 0, &head, sizeof(head), err);

    if (r < 0)
        return r;
    if (r == 0)
        return is_torn(reader);
    if (!weir_decision_head_is_sound(&head) || head.number != reader->number)
        return is_corrupt(reader, "the head is damaged");
    if (head.layout != weir_decision_layout()) {
        weir_error(&why, WEIR_E_UNSUPPORTED, "written by another build (weir %s)", head.version);
        weir_error_hint(&why, "read it with the version of weir that wrote it");
        return leave(reader, &reader->damage.n_foreign, &why);
    }
    reader->at = sizeof(head);
    return STEP_GOOD;
}

/* STEP_GOOD: reader->fd is the next segment, behind its head. */
static int open_segment(struct weir_decision_reader *reader, struct weir_err *err)
{
    char name[WEIR_DECISION_NAME_BYTES];
    struct stat st;

    if (reader->next == reader->segments.n)
        return STEP_END;
    reader->number = reader->segments.items[reader->next++].number;
    reader->at = 0;
    weir_decision_name(reader->number, name);
    reader->fd = weir_fd_open_file(reader->dir_fd, name, O_NOFOLLOW, err);
    if (reader->fd == WEIR_E_NOT_FOUND) {
        /* The writer has made room meanwhile. */
        reader->has_gap = true;
        return STEP_LEAVE;
    }
    if (reader->fd < 0)
        return weir_error_wrap(err, "open decisions '%s'", name);
    if (fstat(reader->fd, &st) < 0)
        return weir_error_errno(err, errno, "open decisions '%s'", name);
    reader->size = st.st_size;
    return read_head(reader, err);
}

static bool is_zero_to_the_end(struct weir_decision_reader *reader)
{
    char bytes[4096];

    for (int64_t at = reader->at; at < reader->size; at += (int64_t)sizeof(bytes)) {
        int64_t left = reader->size - at;
        size_t n = left < (int64_t)sizeof(bytes) ? (size_t)left : sizeof(bytes);

        if (read_at(reader, at, bytes, n, NULL) <= 0)
            return false;
        for (size_t i = 0; i < n; i++)
            if (bytes[i] != 0)
                return false;
    }
    return true;
}

/* The next record into reader->payload. */
static int read_record(struct weir_decision_reader *reader, uint32_t *ret_type,
                       struct weir_err *err)
{
    struct weir_decision_record record;
    int64_t left = reader->size - reader->at - (int64_t)sizeof(record);
    char *room;
    int r;

    if (reader->at == reader->size)
        return STEP_END;
    if (left < 0)
        return is_torn(reader);
    r = read_at(reader, reader->at, &record, sizeof(record), err);
    if (r <= 0)
        return r < 0 ? r : is_torn(reader);
    /* A power cut may leave zeros where the kernel had made the file longer. */
    if (record.type == 0 && record.length == 0 && is_zero_to_the_end(reader))
        return is_torn(reader);
    if (record.length > left)
        return is_torn(reader);
    if (record.length > RECORD_BYTES_MAX)
        return is_corrupt(reader, "a record is too long");
    weir_buf_reset(&reader->payload);
    room = weir_buf_reserve(&reader->payload, record.length);
    if (room == NULL)
        return weir_buf_check(&reader->payload, "a record of decisions", err);
    r = read_at(reader, reader->at + (int64_t)sizeof(record), room, record.length, err);
    if (r <= 0)
        return r < 0 ? r : is_torn(reader);
    weir_buf_commit(&reader->payload, record.length);
    if (record.crc != weir_decision_crc(record.length, record.type, reader->payload.data))
        return record.length == left ? is_torn(reader)
                                     : is_corrupt(reader, "a record's checksum is wrong");
    reader->at += (int64_t)sizeof(record) + record.length;
    *ret_type = record.type;
    return STEP_GOOD;
}

/* ---- records ---- */

static int take_world(struct weir_decision_reader *reader, struct weir_str bytes,
                      struct weir_err *err)
{
    struct weir_err why = WEIR_ERR_INIT;
    const struct weir_world *world = NULL;

    if (weir_world_read(bytes, reader->world, &world, &why) < 0)
        return is_unreadable(reader, &why, err);
    if (weir_world_check(world, &why) < 0) {
        weir_world_unref(world);
        return is_unreadable(reader, &why, err);
    }
    weir_world_unref(reader->world);
    reader->world = world;
    return STEP_GOOD;
}

static int take_keyframe(struct weir_decision_reader *reader, struct weir_err *err)
{
    struct weir_str payload = weir_buf_view(&reader->payload);
    struct weir_decision_keyframe keyframe;
    int r;

    if (payload.len < sizeof(keyframe))
        return is_corrupt(reader, "a keyframe is too short");
    memcpy(&keyframe, payload.ptr, sizeof(keyframe));
    r = take_world(reader, weir_str_sub(payload, sizeof(keyframe), payload.len), err);
    if (r != STEP_GOOD)
        return r;
    if (!reader->world->is_keyframe)
        return is_corrupt(reader, "a keyframe holds a delta");
    if (keyframe.run != reader->run || keyframe.seq != reader->seq)
        reader->has_gap = true;
    reader->run = keyframe.run;
    reader->seq = keyframe.seq;
    reader->decision.policy = keyframe.policy;
    return STEP_GOOD;
}

static int take_tick(struct weir_decision_reader *reader, struct weir_err *err)
{
    struct weir_str payload = weir_buf_view(&reader->payload);
    struct weir_decision *decision = &reader->decision;
    struct weir_decision_tick tick;
    uint64_t action_bytes;
    uint64_t grant_bytes;
    int r;

    if (reader->world == NULL)
        return is_corrupt(reader, "a tick comes before the first keyframe");
    if (payload.len < sizeof(tick))
        return is_corrupt(reader, "a tick is too short");
    memcpy(&tick, payload.ptr, sizeof(tick));
    action_bytes = (uint64_t)tick.n_actions * sizeof(struct weir_action);
    grant_bytes = (uint64_t)tick.n_grants * sizeof(struct weir_grant);
    if (payload.len != sizeof(tick) + action_bytes + grant_bytes + tick.delta_bytes)
        return is_corrupt(reader, "a tick has another length than it says");
    if (tick.seq != reader->seq)
        return is_corrupt(reader, "a tick is out of order");
    if (tick.delta_bytes > 0) {
        r = take_world(reader, weir_str_sub(payload, payload.len - tick.delta_bytes, payload.len),
                       err);
        if (r != STEP_GOOD)
            return r;
        if (reader->world->is_keyframe)
            return is_corrupt(reader, "a tick holds a keyframe");
    }
    decision->run = reader->run;
    decision->seq = tick.seq;
    decision->follows = !reader->has_gap;
    decision->segment = reader->number;
    decision->world = reader->world;
    decision->now = tick.now;
    decision->seed = tick.seed;
    memcpy(decision->digest, tick.digest, sizeof(decision->digest));
    decision->n_actions = tick.n_actions;
    decision->n_grants = tick.n_grants;
    decision->actions = (const void *)(payload.ptr + sizeof(tick));
    decision->grants = (const void *)(payload.ptr + sizeof(tick) + action_bytes);
    reader->seq++;
    reader->has_gap = false;
    return STEP_GOOD;
}

/* ---- the whole ---- */

/* One record, or one segment begun or left. *ret_is_tick: reader->decision is new. */
static int step(struct weir_decision_reader *reader, bool *ret_is_tick, struct weir_err *err)
{
    uint32_t type = 0;
    int r;

    *ret_is_tick = false;
    if (reader->fd < 0) {
        r = open_segment(reader, err);
        if (r == STEP_LEAVE)
            close_segment(reader);
        return r == STEP_END ? STEP_END : r < 0 ? r : STEP_GOOD;
    }
    r = read_record(reader, &type, err);
    if (r == STEP_GOOD && type == WEIR_DECISION_KEYFRAME) {
        r = take_keyframe(reader, err);
    } else if (r == STEP_GOOD && type == WEIR_DECISION_TICK) {
        r = take_tick(reader, err);
        *ret_is_tick = r == STEP_GOOD;
    } else if (r == STEP_GOOD) {
        r = is_corrupt(reader, "a record is of no known type");
    }
    if (r == STEP_LEAVE || r == STEP_END)
        close_segment(reader);
    return r < 0 ? r : STEP_GOOD;
}

int weir_decision_reader_next(struct weir_decision_reader *reader,
                              struct weir_decision *ret_decision, struct weir_err *err)
{
    bool is_tick = false;

    while (!is_tick) {
        int r = step(reader, &is_tick, err);

        if (r < 0)
            return r;
        if (r != STEP_END)
            continue;
        if (reader->segments.n > 0 && reader->damage.n_foreign == reader->segments.n)
            return weir_error_pass(err, &reader->damage.first);
        return 0;
    }
    *ret_decision = reader->decision;
    return 1;
}

const struct weir_decision_damage *weir_decision_reader_damage(
    const struct weir_decision_reader *reader)
{
    return &reader->damage;
}

int weir_decision_reader_open(const char *data_dir, struct weir_decision_reader **ret_reader,
                              struct weir_err *err)
{
    struct weir_decision_reader *reader = weir_mem_alloc_array(1, sizeof(*reader));
    weir_cleanup_fd int data_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (reader == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to read decisions");
    reader->fd = -1;
    reader->has_gap = true;
    weir_buf_init(&reader->payload, RECORD_BYTES_MAX);
    reader->dir_fd =
        data_fd < 0 ? -1
                    : openat(data_fd, WEIR_DECISION_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = reader->dir_fd < 0
            ? weir_error_errno(err, errno, "open '%s/%s'", data_dir, WEIR_DECISION_FOLDER)
            : weir_decision_list(reader->dir_fd, &reader->segments, err);
    if (r < 0) {
        weir_decision_reader_close(reader);
        return r;
    }
    *ret_reader = reader;
    return 0;
}

struct weir_decision_reader *weir_decision_reader_close(struct weir_decision_reader *reader)
{
    if (reader == NULL)
        return NULL;
    close_segment(reader);
    weir_buf_finish(&reader->payload);
    weir_vec_finish(&reader->segments);
    if (reader->dir_fd >= 0)
        close(reader->dir_fd);
    return weir_mem_free(reader);
}

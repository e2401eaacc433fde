/* All output and every change of a workload, as frames.
 *
 * A member that has begun has a cursor until all it wrote is sent and it has ended for good. What a
 * member's state is, is always taken in before its output is read: then a read that gives nothing
 * says that an ended attempt is drained. */
#include "edge/api/attach.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/lookup.h"
#include "edge/api/output.h"

enum {
    STATE_BYTES_MAX = 256 * 1024,
    FRAME_BYTES_MAX = STATE_BYTES_MAX + WEIR_FRAME_HEAD_BYTES,
    FEW_MEMBERS = 256, /* so many are looked at with every change; more only every poll */
    SLOT_NONE = 0,
    N_STREAMS = 2,
};
#define SLOT_DONE UINT32_MAX

struct cursor {
    uint32_t member;
    uint32_t attempt;      /* being sent; 0: not said yet which */
    uint32_t seen_attempt; /* as the world has it */
    uint32_t seen_state;
    uint64_t at[N_STREAMS];
};

struct attach {
    struct weir_api_stream stream;
    struct weir_api_watch watch;
    uint32_t n_members;
    uint32_t only;   /* a member, or WEIR_NONE: all */
    uint32_t *slots; /* by member: position + 1 of its cursor, SLOT_NONE or SLOT_DONE */
    struct cursors weir_vec(struct cursor) cursors;
    size_t turn;           /* whose output is next */
    uint32_t seen_changes; /* of the API, when the state was last taken in */
    uint64_t signature;    /* of its rows then */
    int64_t synced_us;
    bool is_synced;
    bool is_final;         /* the workload has ended */
    struct weir_buf state; /* the workload as last sent */
    struct weir_buf frame;
};

/* ---- frames ---- */

static void begin_frame(struct attach *a)
{
    static const char head[WEIR_FRAME_HEAD_BYTES];

    weir_buf_reset(&a->frame);
    weir_buf_append(&a->frame, head, sizeof(head));
}

static void put_be32(char *to, uint32_t value)
{
    to[0] = (char)(value >> 24);
    to[1] = (char)(value >> 16);
    to[2] = (char)(value >> 8);
    to[3] = (char)value;
}

/* Sends what was appended since begin_frame(). False: it could not be made. */
static bool send_frame(struct attach *a, enum weir_frame kind, uint32_t member)
{
    if (a->frame.failed != 0)
        return false;
    a->frame.data[0] = (char)kind;
    put_be32(a->frame.data + 4, member);
    put_be32(a->frame.data + 8, (uint32_t)(a->frame.len - WEIR_FRAME_HEAD_BYTES));
    weir_api_stream_write(&a->stream, weir_buf_view(&a->frame));
    return true;
}

static bool send_attempt(struct attach *a, const struct cursor *c)
{
    begin_frame(a);
    weir_buf_printf(&a->frame, "{\"attempt\":%u}", c->attempt);
    return send_frame(a, WEIR_FRAME_ATTEMPT, c->member);
}

static bool send_gap(struct attach *a, const struct cursor *c, int stream, uint64_t to)
{
    begin_frame(a);
    weir_buf_printf(&a->frame, "{\"stream\":\"%s\",\"from\":%llu,\"to\":%llu}",
                    stream == WEIR_STDOUT ? "stdout" : "stderr", (unsigned long long)c->at[stream],
                    (unsigned long long)to);
    return send_frame(a, WEIR_FRAME_GAP, c->member);
}

static bool send_state(struct attach *a, enum weir_frame kind)
{
    begin_frame(a);
    weir_buf_str(&a->frame, weir_buf_view(&a->state));
    return send_frame(a, kind, 0);
}

/* ---- taking in how things stand ---- */

/* Its cursor, made if need be. NULL: it is done, or not asked for, or no memory (*failed). */
static struct cursor *cursor_of(struct attach *a, uint32_t member, bool *failed)
{
    struct cursor fresh = {.member = member};

    if (member >= a->n_members || (a->only != WEIR_NONE && a->only != member) ||
        a->slots[member] == SLOT_DONE)
        return NULL;
    if (a->slots[member] == SLOT_NONE) {
        if (weir_vec_push(&a->cursors, fresh) < 0) {
            *failed = true;
            return NULL;
        }
        a->slots[member] = (uint32_t)a->cursors.n;
    }
    return &a->cursors.items[a->slots[member] - 1];
}

static void drop_cursor(struct attach *a, struct cursor *c)
{
    struct cursor *last = weir_vec_last(&a->cursors);

    a->slots[c->member] = SLOT_DONE;
    if (c != last) {
        *c = *last;
        a->slots[c->member] = (uint32_t)(c - a->cursors.items) + 1;
    }
    a->cursors.n--;
}

static bool see_member(struct attach *a, uint32_t member, uint32_t state, uint32_t attempt)
{
    bool failed = false;
    struct cursor *c;

    if (attempt == 0)
        return true; /* nothing to read, and there may never be */
    c = cursor_of(a, member, &failed);
    if (c != NULL) {
        c->seen_state = state;
        c->seen_attempt = attempt;
    }
    return !failed;
}

static int see_record(void *arg, const struct weir_task_record *task)
{
    return see_member(arg, task->member, task->state, task->attempt) ? 0 : WEIR_E_NO_MEMORY;
}

static bool see_members(struct attach *a)
{
    struct weir_api *api = a->stream.api;
    const struct weir_store *store = weir_api_store(api);
    const struct weir_world *world = weir_api_world(api);
    uint32_t row = weir_api_watch_workload(api, &a->watch);

    if (row == WEIR_NONE)
        return store->each_task(store->ctx, a->watch.number, see_record, a, NULL) >= 0;
    for (uint32_t t = weir_world_workload(world, row)->first_task; t != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(world, t);

        if (!see_member(a, task->member, task->state, task->attempt))
            return false;
        t = task->next_in_workload;
    }
    return true;
}

struct describing {
    struct attach *a;
    struct weir_buf *out;
    int failed;
};

static int describe(void *arg, const struct weir_workload_record *record)
{
    struct describing *d = arg;
    const struct weir_api *api = d->a->stream.api;
    struct weir_api_task_counts counts;
    struct weir_json_writer w;
    uint32_t n_read = 0;

    d->a->is_final = weir_task_state_is_final(record->state);
    if (record->n_tasks > 1 && weir_api_count_tasks(api, record, &counts, &n_read, NULL) < 0) {
        d->failed = WEIR_E_IO;
        return 0;
    }
    weir_json_writer_init(&w, d->out, false);
    weir_json_object_begin(&w);
    weir_api_put_workload(&w, api, record, record->n_tasks > 1 ? &counts : NULL);
    weir_json_object_end(&w);
    d->failed = weir_json_writer_end(&w, "a workload", NULL);
    return 0;
}

/* Says how the workload stands, if that is news. */
static bool see_workload(struct attach *a)
{
    struct weir_api *api = a->stream.api;
    const struct weir_store *store = weir_api_store(api);
    weir_cleanup_buf struct weir_buf now = WEIR_BUF_INIT(STATE_BYTES_MAX);
    struct describing d = {a, &now, 0};

    if (weir_api_index_make(&api->index, &api->service, NULL) < 0)
        return true; /* there is no world at the moment */
    if (store->get_workload(store->ctx, a->watch.number, describe, &d, NULL) < 0 || d.failed < 0)
        return false;
    if (weir_str_eq(weir_buf_view(&now), weir_buf_view(&a->state)))
        return true;
    weir_buf_reset(&a->state);
    if (weir_buf_str(&a->state, weir_buf_view(&now)) < 0)
        return false;
    return a->is_final || send_state(a, WEIR_FRAME_STATE);
}

/* Differs when a row of the workload does. */
static uint64_t signature_of(const struct weir_world *world, uint32_t row)
{
    const struct weir_workload *w = weir_world_workload(world, row);
    uint64_t signature = weir_hash_mix64(w->row.gen);

    for (uint32_t t = w->first_task; t != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(world, t);

        signature = weir_hash_mix64(signature ^ task->row.gen);
        t = task->next_in_workload;
    }
    return signature;
}

/* Takes a change in: at once where rows of a small workload differ; else, for its reason to wait
 * and for large arrays, not more often than it is polled. */
static bool take_in(struct attach *a)
{
    struct weir_api *api = a->stream.api;
    uint32_t row = weir_api_watch_workload(api, &a->watch);
    bool is_small = a->n_members <= FEW_MEMBERS;
    uint64_t signature = row != WEIR_NONE && is_small ? signature_of(weir_api_world(api), row) : 0;
    bool is_urgent = !a->is_synced || row == WEIR_NONE || signature != a->signature;
    int64_t now_us = weir_clock_mono_us();

    if (a->is_synced && a->seen_changes == api->n_changes)
        return true;
    if (!is_urgent && now_us - a->synced_us < (int64_t)WEIR_API_POLL_MS * 1000)
        return true;
    a->seen_changes = api->n_changes;
    if (!is_urgent && is_small && weir_world_workload(weir_api_world(api), row)->n_waiting == 0)
        return true;
    a->is_synced = true;
    a->signature = signature;
    a->synced_us = now_us;
    return see_workload(a) && see_members(a);
}

/* ---- output ---- */

/* 1: something was sent; 0: nothing more now; negative: it failed. */
static int send_piece(struct attach *a, struct cursor *c, int stream)
{
    uint64_t at = c->at[stream];
    int r;

    begin_frame(a);
    r = weir_api_read_output(a->stream.api, a->watch.number, c->member, c->attempt,
                             (enum weir_stream)stream, &at, WEIR_API_OUTPUT_PIECE, &a->frame, NULL);
    /* Output that cannot be read (weir logs says why) must not keep the end from coming. */
    if (r < 0)
        return r == WEIR_E_NO_MEMORY ? -1 : 0;
    if (a->frame.len == WEIR_FRAME_HEAD_BYTES)
        return 0;
    if (at > c->at[stream]) {
        /* The gap is said first; the piece is read again after it. */
        if (!send_gap(a, c, stream, at))
            return -1;
        c->at[stream] = at;
        return 1;
    }
    c->at[stream] += a->frame.len - WEIR_FRAME_HEAD_BYTES;
    return send_frame(a, stream == WEIR_STDOUT ? WEIR_FRAME_STDOUT : WEIR_FRAME_STDERR, c->member)
               ? 1
               : -1;
}

/* One piece of each stream. 1: there may be more; 0: drained for now; negative: it failed. */
static int send_some(struct attach *a, struct cursor *c)
{
    int more = 0;

    for (int stream = 0; stream < N_STREAMS && !a->stream.is_blocked; stream++) {
        int r = send_piece(a, c, stream);

        if (r < 0)
            return r;
        more |= r;
    }
    return more || a->stream.is_blocked;
}

static bool next_attempt(struct attach *a, struct cursor *c)
{
    c->attempt = c->attempt == 0 ? c->seen_attempt : c->attempt + 1;
    c->at[WEIR_STDOUT] = 0;
    c->at[WEIR_STDERR] = 0;
    return send_attempt(a, c);
}

/* 1: go on with it; 0: nothing more now, or the cursor is gone; negative: it failed. */
static int advance(struct attach *a, struct cursor *c)
{
    int r;

    if (c->attempt == 0)
        return next_attempt(a, c) ? 1 : -1;
    r = send_some(a, c);
    if (r != 0)
        return r;
    if (c->attempt < c->seen_attempt)
        return next_attempt(a, c) ? 1 : -1;
    if (weir_task_state_is_final(c->seen_state))
        drop_cursor(a, c);
    return 0;
}

/* All members in turn, so that one that writes much does not hold up the others. 1: there may be
 * more; 0: drained for now; negative: it failed. */
static int send_output(struct attach *a)
{
    uint32_t n_steps = 0;
    size_t n_idle = 0;

    while (!a->stream.is_blocked && n_idle < a->cursors.n) {
        size_t n_before = a->cursors.n;
        int r;

        if (n_steps == WEIR_API_PIECES_AT_ONCE)
            return 1;

        if (a->turn >= a->cursors.n)
            a->turn = 0;
        r = advance(a, &a->cursors.items[a->turn]);
        if (r < 0)
            return r;
        n_steps += r > 0;
        if (r > 0)
            n_idle = 0;
        else if (a->cursors.n == n_before)
            n_idle++;
        if (a->cursors.n == n_before)
            a->turn++;
    }
    return a->stream.is_blocked;
}

static bool is_anything_running(const struct attach *a)
{
    for (size_t i = 0; i < a->cursors.n; i++)
        if (weir_task_state_holds(a->cursors.items[i].seen_state))
            return true;
    return false;
}

static void pump(struct weir_api_stream *stream)
{
    struct attach *a = (struct attach *)stream;
    int more = take_in(a) ? 0 : -1;

    if (more == 0)
        more = stream->is_blocked ? 1 : send_output(a);
    if (more < 0) {
        weir_api_stream_abort(stream);
        return;
    }
    if (more == 0 && a->is_final && a->cursors.n == 0 &&
        a->seen_changes == stream->api->n_changes) {
        if (send_state(a, WEIR_FRAME_END))
            weir_api_stream_end(stream);
        else
            weir_api_stream_abort(stream);
        return;
    }
    weir_api_stream_poll(stream, more > 0 || is_anything_running(a) ||
                                     a->seen_changes != stream->api->n_changes);
}

static void beat(struct weir_api_stream *stream)
{
    struct attach *a = (struct attach *)stream;

    begin_frame(a);
    send_frame(a, WEIR_FRAME_NOTHING, 0);
}

static void destroy(struct weir_api_stream *stream)
{
    struct attach *a = (struct attach *)stream;

    weir_vec_finish(&a->cursors);
    weir_mem_free(a->slots);
    weir_buf_finish(&a->state);
    weir_buf_finish(&a->frame);
    weir_mem_free(a);
}

/* ---- where to go on ---- */

static int bad_list(const char *name, struct weir_str item, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];

    weir_error(err, WEIR_E_INVALID, "'%s' is not an offset", weir_str_show(item, shown));
    weir_error_field(err, "%s", name);
    return weir_error_hint(err, "a number, or with several members one each, with commas between");
}

/* The numbers of a list belong to the members from 0 on, or to the one asked for. */
static int read_list(const struct weir_api_call *call, struct attach *a, const char *name,
                     uint64_t max, void (*set)(struct cursor *c, uint64_t value),
                     struct weir_err *err)
{
    const struct weir_str *text = weir_api_query(call, name);
    struct weir_str rest = text != NULL ? *text : WEIR_STR("");
    uint32_t member = a->only != WEIR_NONE ? a->only : 0;
    struct weir_str item;

    if (text != NULL && text->len == 0)
        return bad_list(name, *text, err);
    for (; text != NULL && weir_str_split(&rest, ',', &item); member++) {
        bool failed = false;
        struct cursor *c;
        uint64_t value;

        if (!weir_str_to_u64(item, &value) || value > max)
            return bad_list(name, item, err);
        c = cursor_of(a, member, &failed);
        if (failed)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory to attach");
        if (c == NULL) {
            weir_error(err, WEIR_E_INVALID, "more offsets than members");
            return weir_error_field(err, "%s", name);
        }
        set(c, value);
    }
    return 0;
}

static void set_stdout(struct cursor *c, uint64_t value)
{
    c->at[WEIR_STDOUT] = value;
}

static void set_stderr(struct cursor *c, uint64_t value)
{
    c->at[WEIR_STDERR] = value;
}

static void set_attempt(struct cursor *c, uint64_t value)
{
    c->attempt = (uint32_t)value;
}

/* Offsets without an attempt are of the one that is the last now; an attempt that is not there
 * (yet) has no offsets. */
static void settle_cursors(struct attach *a)
{
    for (size_t i = a->cursors.n; i-- > 0;) {
        struct cursor *c = &a->cursors.items[i];
        uint32_t member = c->member;
        bool is_resumed = c->attempt > 0 || c->at[WEIR_STDOUT] > 0 || c->at[WEIR_STDERR] > 0;

        if (c->attempt > c->seen_attempt)
            c->attempt = 0;
        else if (c->attempt == 0 && is_resumed)
            c->attempt = c->seen_attempt;
        if (c->seen_attempt == 0) { /* it has not begun: made again when it has */
            drop_cursor(a, c);
            a->slots[member] = SLOT_NONE;
        }
    }
}

static int prepare(struct weir_api_call *call, const struct weir_workload_record *record,
                   struct attach *a, struct weir_err *err)
{
    int r;

    a->watch = (struct weir_api_watch){record->number, WEIR_NONE, WEIR_NONE};
    a->n_members = record->n_tasks;
    a->only = WEIR_NONE;
    weir_buf_init(&a->state, STATE_BYTES_MAX);
    weir_buf_init(&a->frame, FRAME_BYTES_MAX);
    a->slots = weir_mem_alloc_array(record->n_tasks, sizeof(*a->slots));
    if (a->slots == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to attach");
    r = weir_api_query_member(call, record->n_tasks, &a->only, err);
    if (r == 0)
        r = read_list(call, a, "attempt", UINT32_MAX, set_attempt, err);
    if (r == 0)
        r = read_list(call, a, "stdout", INT64_MAX, set_stdout, err);
    if (r == 0)
        r = read_list(call, a, "stderr", INT64_MAX, set_stderr, err);
    if (r == 0 && !see_members(a))
        r = weir_error(err, WEIR_E_IO, "the members of workload %llu cannot be read",
                       (unsigned long long)record->number);
    if (r == 0)
        settle_cursors(a);
    return r;
}

int weir_api_attach(struct weir_api_call *call, struct weir_err *err)
{
    static const struct weir_api_stream_ops ops = {pump, beat, destroy};
    struct weir_workload_record record;
    struct attach *a;
    int r = weir_api_get_record(call, &record, err);

    if (r < 0)
        return r;
    a = weir_mem_alloc_array(1, sizeof(*a));
    if (a == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to attach");
    a->stream.api = call->api; /* to look around before there is a stream */
    r = prepare(call, &record, a, err);
    if (r < 0) {
        destroy(&a->stream);
        return r;
    }
    weir_api_stream_start(call, &a->stream, &ops, WEIR_FRAME_TYPE);
    weir_http_request_close_on_eof(call->request, true);
    weir_api_stream_go(&a->stream);
    return 0;
}

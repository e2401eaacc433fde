/* Output as it is: one stream of one member. */
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/lookup.h"
#include "edge/api/output.h"

struct logs {
    struct weir_api_stream stream;
    struct weir_api_watch watch;
    uint32_t member;
    uint32_t attempt; /* being read; 0: none has begun */
    bool follows;
    bool one_attempt; /* an attempt was named: no other is of interest */
    enum weir_stream which;
    uint64_t at;
    struct weir_buf piece;
};

static bool is_over(const struct logs *l, const struct weir_api_member *now)
{
    if (l->attempt < now->attempt)
        return l->one_attempt;
    return weir_task_state_is_final(now->state) ||
           (l->one_attempt && now->state == WEIR_TASK_QUEUED);
}

enum written { WRITTEN_ALL, WRITTEN_PART, WRITTEN_FAILED };

static enum written write_some(struct logs *l, uint32_t *n_pieces)
{
    while (!l->stream.is_blocked && l->attempt > 0) {
        weir_buf_reset(&l->piece);
        if (weir_api_read_output(l->stream.api, l->watch.number, l->member, l->attempt, l->which,
                                 &l->at, WEIR_API_OUTPUT_PIECE, &l->piece, NULL) < 0)
            return WRITTEN_FAILED;
        if (l->piece.len == 0)
            return WRITTEN_ALL;
        l->at += l->piece.len;
        weir_api_stream_write(&l->stream, weir_buf_view(&l->piece));
        if (++*n_pieces == WEIR_API_PIECES_AT_ONCE)
            return WRITTEN_PART;
    }
    return l->stream.is_blocked ? WRITTEN_PART : WRITTEN_ALL;
}

static void pump(struct weir_api_stream *stream)
{
    struct logs *l = (struct logs *)stream;
    struct weir_api_member now = {0};
    enum written written;
    uint32_t n_pieces = 0;

    for (;;) {
        /* How it stands is asked before the output is read: what an ended attempt wrote is then
         * there. */
        written = weir_api_watch_member(stream->api, &l->watch, l->member, &now, NULL) < 0
                      ? WRITTEN_FAILED
                      : write_some(l, &n_pieces);
        if (written == WRITTEN_FAILED) {
            weir_api_stream_abort(stream);
            return;
        }
        if (written == WRITTEN_PART ||
            (l->follows && !is_over(l, &now) && l->attempt >= now.attempt))
            break;
        if (!l->follows || is_over(l, &now)) {
            weir_api_stream_end(stream);
            return;
        }
        l->attempt++;
        l->at = 0;
    }
    weir_api_stream_poll(stream, written == WRITTEN_PART || weir_task_state_holds(now.state));
}

static void destroy(struct weir_api_stream *stream)
{
    struct logs *l = (struct logs *)stream;

    weir_buf_finish(&l->piece);
    weir_mem_free(l);
}

static int read_stream(const struct weir_api_call *call, enum weir_stream *ret_stream,
                       struct weir_err *err)
{
    const struct weir_str *text = weir_api_query(call, "stream");
    char shown[WEIR_STR_SHOW_MAX];

    *ret_stream = WEIR_STDOUT;
    if (text == NULL || weir_str_eq_c(*text, "stdout"))
        return 0;
    *ret_stream = WEIR_STDERR;
    if (weir_str_eq_c(*text, "stderr"))
        return 0;
    weir_error(err, WEIR_E_INVALID, "there is no stream '%s'", weir_str_show(*text, shown));
    weir_error_field(err, "stream");
    return weir_error_hint(err, "one of stdout, stderr");
}

static int read_query(const struct weir_api_call *call, const struct weir_workload_record *record,
                      struct logs *l, struct weir_err *err)
{
    struct weir_api_member now = {0};
    uint64_t attempt = 0;
    int r = read_stream(call, &l->which, err);

    if (r == 0)
        r = weir_api_query_member(call, record->n_tasks, &l->member, err);
    if (r == 0)
        r = weir_api_query_u64(call, "offset", 0, INT64_MAX, &l->at, err);
    if (r == 0)
        r = weir_api_query_bool(call, "follow", &l->follows, err);
    if (r == 0)
        r = weir_api_query_u64(call, "attempt", 1, UINT32_MAX, &attempt, err);
    if (r == 0)
        r = weir_api_watch_member(call->api, &l->watch, l->member, &now, err);
    if (r < 0)
        return r;
    l->one_attempt = attempt > 0;
    l->attempt = attempt > 0 ? (uint32_t)attempt : now.attempt;
    if (l->attempt <= now.attempt)
        return 0;
    weir_error(err, WEIR_E_NOT_FOUND, "there has been no attempt %u", l->attempt);
    weir_error_field(err, "attempt");
    return weir_error_hint(err, "the last one is %u", now.attempt);
}

/* Where the bytes begin has to be known before the first is sent. */
static int put_offset(struct weir_api_call *call, struct logs *l, struct weir_err *err)
{
    char text[24];
    int r = l->attempt == 0 ? 0
                            : weir_api_read_output(call->api, l->watch.number, l->member,
                                                   l->attempt, l->which, &l->at, 1, &l->piece, err);

    if (r < 0)
        return r;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)l->at);
    return weir_http_reply_header(call->request, "Weir-Offset", weir_str(text), err);
}

int weir_api_get_logs(struct weir_api_call *call, struct weir_err *err)
{
    static const struct weir_api_stream_ops ops = {pump, NULL, destroy};
    struct weir_workload_record record;
    struct logs *l;
    int r = weir_api_get_record(call, &record, err);

    if (r < 0)
        return r;
    l = weir_mem_alloc_array(1, sizeof(*l));
    if (l == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the output");
    l->watch = (struct weir_api_watch){record.number, WEIR_NONE, WEIR_NONE};
    weir_buf_init(&l->piece, WEIR_API_OUTPUT_PIECE + 1);
    r = read_query(call, &record, l, err);
    if (r == 0)
        r = put_offset(call, l, err);
    if (r < 0) {
        destroy(&l->stream);
        return r;
    }
    weir_api_stream_start(call, &l->stream, &ops, "application/octet-stream");
    if (l->follows)
        weir_http_request_close_on_eof(call->request, true);
    weir_api_stream_go(&l->stream);
    return 0;
}

/* Events: in pages, or as they come. Only what is on disk is told: api->last_seq is taken when a
 * tick has been committed. */
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "fmt/sse.h"

enum {
    SCANNED_MAX = 20000,
    PAGE = 200,
    PAGES_AT_ONCE = 8,
    EVENT_BYTES_MAX = 1024 * 1024,
    RETRY_MS = 2000
};

/* Of all things (empty), or of one: of "workload/42" also "workload/42/3". */
static bool is_about(const struct weir_event_record *event, struct weir_str subject)
{
    return subject.len == 0 ||
           (weir_str_starts_with(event->subject, subject) &&
            (event->subject.len == subject.len || event->subject.ptr[subject.len] == '/'));
}

/* ---- a page ---- */

struct page {
    struct weir_json_writer *w;
    int64_t end;
    int64_t last;
    uint32_t n;
    uint32_t n_scanned;
    uint32_t limit;
    struct weir_str subject;
    bool more;
};

static int put_event(void *arg, const struct weir_event_record *event)
{
    struct page *page = arg;

    if (event->seq > page->end)
        return 1;
    /* A page ends early rather than hold up the loop. */
    if (page->n == page->limit || page->n_scanned == SCANNED_MAX) {
        page->more = true;
        return 1;
    }
    page->last = event->seq;
    page->n_scanned++;
    if (!is_about(event, page->subject))
        return 0;
    weir_api_put_event(page->w, event);
    page->n++;
    return 0;
}

static int list_events(struct weir_api_call *call, int64_t after, struct weir_str subject,
                       struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    struct page page = {.end = call->api->last_seq, .last = after, .subject = subject};
    struct weir_api_json json;
    int r = weir_api_query_limit(call, &page.limit, err);

    if (r < 0)
        return r;
    weir_api_json_init(&json);
    page.w = &json.w;
    weir_json_object_begin(&json.w);
    weir_json_key(&json.w, "items");
    weir_json_array_begin(&json.w);
    r = store->each_event(store->ctx, after, subject.len > 0 ? SCANNED_MAX + 1 : page.limit + 1,
                          put_event, &page, err);
    if (r < 0) {
        weir_buf_finish(&json.body);
        return r;
    }
    weir_json_array_end(&json.w);
    if (page.more)
        weir_api_put_id(&json.w, "next", (uint64_t)page.last);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

/* ---- as they come ---- */

struct events {
    struct weir_api_stream stream;
    int64_t sent; /* seq */
    int failed;
    struct weir_buf subject; /* that it is about; empty: all */
    struct weir_buf text;
    struct weir_buf data;
};

static int send_event(void *arg, const struct weir_event_record *event)
{
    struct events *e = arg;
    struct weir_json_writer w;
    struct weir_sse_event out;
    char id[24];

    if (event->seq > e->stream.api->last_seq)
        return 1;
    if (!is_about(event, weir_buf_view(&e->subject))) {
        e->sent = event->seq;
        return 0;
    }
    weir_buf_reset(&e->text);
    weir_buf_reset(&e->data);
    weir_json_writer_init(&w, &e->data, false);
    weir_api_put_event(&w, event);
    snprintf(id, sizeof(id), "%lld", (long long)event->seq);
    out = (struct weir_sse_event){weir_str(id), event->kind, weir_buf_view(&e->data)};
    if (weir_json_writer_end(&w, "an event", NULL) < 0 ||
        weir_sse_write(&e->text, &out, NULL) < 0) {
        e->failed = WEIR_E_NO_MEMORY;
        return 1;
    }
    weir_api_stream_write(&e->stream, weir_buf_view(&e->text));
    e->sent = event->seq;
    return e->stream.is_blocked;
}

static void pump(struct weir_api_stream *stream)
{
    struct events *e = (struct events *)stream;
    const struct weir_store *store = weir_api_store(stream->api);
    int64_t before = e->sent - 1;
    uint32_t n_pages = 0;

    /* Where a page brings nothing, the events have been pruned. */
    while (!stream->is_blocked && e->sent < stream->api->last_seq && e->sent > before &&
           n_pages++ < PAGES_AT_ONCE) {
        before = e->sent;
        if (store->each_event(store->ctx, e->sent, PAGE, send_event, e, NULL) < 0 ||
            e->failed < 0) {
            weir_api_stream_abort(stream);
            return;
        }
    }
    weir_api_stream_poll(stream, n_pages > PAGES_AT_ONCE);
}

static void beat(struct weir_api_stream *stream)
{
    struct events *e = (struct events *)stream;

    weir_buf_reset(&e->text);
    weir_sse_write_comment(&e->text, WEIR_STR("still here"));
    weir_api_stream_write(stream, weir_buf_view(&e->text));
}

static void destroy(struct weir_api_stream *stream)
{
    struct events *e = (struct events *)stream;

    weir_buf_finish(&e->subject);
    weir_buf_finish(&e->text);
    weir_buf_finish(&e->data);
    weir_mem_free(e);
}

/* The id goes out first, so that a client that is cut off before the first event knows where it
 * was. */
static int greet(struct events *e, struct weir_err *err)
{
    weir_sse_write_retry(&e->text, RETRY_MS);
    weir_buf_printf(&e->text, "id: %lld\n\n", (long long)e->sent);
    return weir_buf_check(&e->text, "events", err);
}

static int stream_events(struct weir_api_call *call, int64_t after, struct weir_str subject,
                         struct weir_err *err)
{
    static const struct weir_api_stream_ops ops = {pump, beat, destroy};
    struct events *e = weir_mem_alloc_array(1, sizeof(*e));
    int r;

    if (e == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for events");
    weir_buf_init(&e->subject, EVENT_BYTES_MAX);
    weir_buf_init(&e->text, EVENT_BYTES_MAX);
    weir_buf_init(&e->data, EVENT_BYTES_MAX);
    e->sent = after;
    weir_buf_str(&e->subject, subject);
    r = weir_buf_check(&e->subject, "the subject of events", err);
    if (r == 0)
        r = greet(e, err);
    if (r == 0)
        r = weir_http_reply_header(call->request, "Cache-Control", WEIR_STR("no-store"), err);
    if (r < 0) {
        destroy(&e->stream);
        return r;
    }
    weir_api_stream_start(call, &e->stream, &ops, WEIR_SSE_CONTENT_TYPE);
    weir_http_request_close_on_eof(call->request, true);
    if (!e->stream.is_blocked)
        weir_api_stream_write(&e->stream, weir_buf_view(&e->text));
    weir_api_stream_go(&e->stream);
    return 0;
}

static bool wants_stream(const struct weir_api_call *call)
{
    const struct weir_str *accept = weir_http1_find(call->head, "Accept");

    return accept != NULL && weir_str_find(*accept, WEIR_STR(WEIR_SSE_CONTENT_TYPE)) >= 0;
}

/* Last-Event-ID is what a browser sends when it connects again: it is later than ?after=. */
static int read_last_id(const struct weir_api_call *call, uint64_t *after, struct weir_err *err)
{
    const struct weir_str *id = weir_http1_find(call->head, "Last-Event-ID");
    uint64_t seq;

    if (id == NULL || id->len == 0)
        return 0;
    if (weir_str_to_u64(*id, &seq) && seq <= INT64_MAX) {
        *after = seq;
        return 0;
    }
    weir_error(err, WEIR_E_INVALID, "the header Last-Event-ID is not a number");
    return weir_error_hint(err, "leave it out to begin with what comes now");
}

int weir_api_get_events(struct weir_api_call *call, struct weir_err *err)
{
    uint64_t newest = (uint64_t)call->api->last_seq;
    const struct weir_str *asked = weir_api_query(call, "subject");
    struct weir_str subject = asked != NULL ? *asked : WEIR_STR("");
    bool is_stream = wants_stream(call);
    uint64_t after = is_stream ? newest : 0;
    int r = weir_api_query_u64(call, "after", 0, INT64_MAX, &after, err);

    if (r == 0 && is_stream)
        r = read_last_id(call, &after, err);
    if (r < 0)
        return r;
    /* Ahead of us is what another data directory had: those begin with what comes now. */
    if (is_stream && after > newest)
        after = newest;
    return is_stream ? stream_events(call, (int64_t)after, subject, err)
                     : list_events(call, (int64_t)after, subject, err);
}

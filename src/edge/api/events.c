/* Events: in pages, or as they come. Only what is on disk is told: api->last_seq is taken when a
 * tick has been committed. */
#include "base/count.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "fmt/sse.h"

enum {
    /* seqs that one answer looks at, and one page of a stream: a few milliseconds of the loop */
    SCANNED_MAX = 100000,
    SCANNED_BY_STREAM = 10000,
    TAIL_MAX = 100000000,
    PAGE = 200,
    PAGES_AT_ONCE = 8,
    EVENT_BYTES_MAX = 1024 * 1024,
    RETRY_MS = 2000
};

/* ---- where a list goes on ---- */

/* In `next`: "AFTER" in a list that is open, "AFTER-UNTIL" in one that ends where it ended when it
 * was first asked for, and "AFTER-UNTIL-FLOOR-FROM-LEFT" while its beginning is being looked for:
 * of the events from FROM down to above FLOOR so many more belong to it. AFTER and UNTIL are then
 * those of what is found; while that is nothing, they are the same. */
struct place {
    int64_t after;
    int64_t until; /* -1: open */
    int64_t floor;
    int64_t from;
    uint32_t n_left;
};

enum { PLACE_AFTER, PLACE_UNTIL, PLACE_FLOOR, PLACE_FROM, PLACE_LEFT, PLACE_NUMBERS };

static bool parse_place(struct weir_str text, struct place *ret_place)
{
    int64_t numbers[PLACE_NUMBERS] = {0};
    struct weir_str part;
    size_t n = 0;

    while (weir_str_split(&text, '-', &part)) {
        uint64_t number;

        if (n == PLACE_NUMBERS || !weir_str_to_u64(part, &number) || number > INT64_MAX)
            return false;
        numbers[n++] = (int64_t)number;
    }
    if ((n != 1 && n != 2 && n != PLACE_NUMBERS) || numbers[PLACE_LEFT] > TAIL_MAX)
        return false;
    *ret_place = (struct place){.after = numbers[PLACE_AFTER],
                                .until = n == 1 ? -1 : numbers[PLACE_UNTIL],
                                .floor = numbers[PLACE_FLOOR],
                                .from = numbers[PLACE_FROM],
                                .n_left = (uint32_t)numbers[PLACE_LEFT]};
    return true;
}

static int read_place(const struct weir_api_call *call, struct place *place, struct weir_err *err)
{
    const struct weir_str *after = weir_api_query(call, "after");
    char shown[WEIR_STR_SHOW_MAX];

    *place = (struct place){.until = -1};
    if (after == NULL || parse_place(*after, place))
        return 0;
    weir_error(err, WEIR_E_INVALID, "'%s' is not where a list of events goes on",
               weir_str_show(*after, shown));
    weir_error_field(err, "after");
    return weir_error_hint(err, "give the seq of an event, or what `next` said");
}

static void put_next(struct weir_json_writer *w, const struct place *place)
{
    char text[24 * PLACE_NUMBERS];
    size_t len = (size_t)snprintf(text, sizeof(text), "%lld", (long long)place->after);

    if (place->until >= 0)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "-%lld", (long long)place->until);
    if (place->n_left > 0)
        snprintf(text + len, sizeof(text) - len, "-%lld-%lld-%u", (long long)place->floor,
                 (long long)place->from, place->n_left);
    weir_api_put_str(w, "next", weir_str(text));
}

/* ---- where a list begins ---- */

/* What a request that is not the first of its list says of `tail` and `since_ms` has had its
 * effect: what the first one found is in the place. */
static int begin_list(const struct weir_api_call *call, struct place *place, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    bool has_tail = weir_api_query(call, "tail") != NULL;
    bool has_since = weir_api_query(call, "since_ms") != NULL;
    uint64_t since_ms = 0;
    uint64_t tail = 0;
    int64_t since = 0;
    int r = weir_api_query_u64(call, "tail", 0, TAIL_MAX, &tail, err);

    if (r == 0)
        r = weir_api_query_u64(call, "since_ms", 0, INT64_MAX, &since_ms, err);
    if (r < 0 || place->until >= 0)
        return r;
    /* Without a time too: what is pruned is not looked at. */
    r = store->events_since(store->ctx, has_since ? (int64_t)since_ms : INT64_MIN, &since, err);
    if (r < 0)
        return r;
    if (since > place->after)
        place->after = since;
    if (has_tail || has_since)
        place->until = call->api->last_seq;
    if (has_tail) {
        place->floor = place->after;
        place->after = place->from = place->until;
        place->n_left = (uint32_t)tail;
    }
    return 0;
}

/* From the end back, until so many are found or there are no more. */
static int look_back(const struct weir_api_call *call, struct place *place, struct weir_str subject,
                     struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    bool is_far = place->from - place->floor > SCANNED_MAX;
    struct weir_event_filter filter = {.after = is_far ? place->from - SCANNED_MAX : place->floor,
                                       .until = place->from,
                                       .subject = subject,
                                       .limit = place->n_left};
    struct weir_event_run found = {0};
    int r = store->last_events(store->ctx, &filter, &found, err);

    if (r < 0)
        return r;
    /* The pages are not to look for more where there are none. */
    if (found.n > 0 && place->after == place->until)
        place->until = found.last;
    if (found.n > 0)
        place->after = found.first - 1;
    place->from = filter.after;
    place->n_left = is_far ? place->n_left - found.n : 0;
    return 0;
}

/* ---- a page ---- */

struct page {
    struct weir_json_writer *w;
    int64_t last;
    uint32_t n;
};

static int put_event(void *arg, const struct weir_event_record *event)
{
    struct page *page = arg;

    weir_api_put_event(page->w, event);
    page->last = event->seq;
    page->n++;
    return 0;
}

/* The place moves to where the list goes on, if it does. */
static int put_page(const struct weir_api_call *call, struct weir_json_writer *w,
                    struct place *place, struct weir_str subject, uint32_t limit, bool *ret_is_more,
                    struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    int64_t newest = call->api->last_seq;
    int64_t until = place->until >= 0 && place->until < newest ? place->until : newest;
    bool is_far = subject.len > 0 && until - place->after > SCANNED_MAX;
    struct weir_event_filter filter = {.after = place->after,
                                       .until = is_far ? place->after + SCANNED_MAX : until,
                                       .subject = subject,
                                       .limit = limit};
    struct page page = {.w = w};
    int r = store->each_event(store->ctx, &filter, put_event, &page, err);

    place->after = page.n == limit ? page.last : filter.until;
    *ret_is_more = place->after < until;
    return r;
}

static int list_events(struct weir_api_call *call, struct weir_str subject, struct weir_err *err)
{
    struct weir_api_json json;
    struct place place;
    uint32_t limit = 0;
    bool is_more = true;
    int r = weir_api_query_limit(call, &limit, err);

    if (r == 0)
        r = read_place(call, &place, err);
    if (r == 0)
        r = begin_list(call, &place, err);
    if (r == 0 && place.n_left > 0)
        r = look_back(call, &place, subject, err);
    if (r < 0)
        return r;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_json_key(&json.w, "items");
    weir_json_array_begin(&json.w);
    if (place.n_left == 0)
        r = put_page(call, &json.w, &place, subject, limit, &is_more, err);
    if (r < 0) {
        weir_buf_finish(&json.body);
        return r;
    }
    weir_json_array_end(&json.w);
    if (is_more)
        put_next(&json.w, &place);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

/* ---- as they come ---- */

struct events {
    struct weir_api_stream stream;
    int64_t sent; /* seq */
    uint32_t n_in_page;
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
    e->n_in_page++;
    return e->stream.is_blocked;
}

/* Sends what there is, or so many events, of the seqs that follow. */
static int send_page(struct events *e)
{
    const struct weir_store *store = weir_api_store(e->stream.api);
    int64_t newest = e->stream.api->last_seq;
    bool is_far = newest - e->sent > SCANNED_BY_STREAM;
    struct weir_event_filter filter = {.after = e->sent,
                                       .until = is_far ? e->sent + SCANNED_BY_STREAM : newest,
                                       .subject = weir_buf_view(&e->subject),
                                       .limit = PAGE};
    int r;

    e->n_in_page = 0;
    r = store->each_event(store->ctx, &filter, send_event, e, NULL);
    if (r == 0 && e->n_in_page < PAGE)
        e->sent = filter.until;
    return r < 0 ? r : e->failed;
}

static void pump(struct weir_api_stream *stream)
{
    struct events *e = (struct events *)stream;
    uint32_t n_pages = 0;

    while (!stream->is_blocked && e->sent < stream->api->last_seq && n_pages++ < PAGES_AT_ONCE) {
        if (send_page(e) < 0) {
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

static int begin_stream(struct weir_api_call *call, struct weir_str subject, struct weir_err *err)
{
    static const char *const of_pages[] = {"tail", "since_ms"};
    uint64_t newest = (uint64_t)call->api->last_seq;
    uint64_t after = newest;
    int r;

    for (size_t i = 0; i < WEIR_COUNT_OF(of_pages); i++) {
        if (weir_api_query(call, of_pages[i]) == NULL)
            continue;
        weir_error(err, WEIR_E_INVALID, "'%s' is for pages of events, not for a stream",
                   of_pages[i]);
        weir_error_field(err, "%s", of_pages[i]);
        return weir_error_hint(err, "begin a stream with `after`");
    }
    r = weir_api_query_u64(call, "after", 0, INT64_MAX, &after, err);
    if (r == 0)
        r = read_last_id(call, &after, err);
    if (r < 0)
        return r;
    /* Ahead of us is what another data directory had: those begin with what comes now. */
    return stream_events(call, (int64_t)(after > newest ? newest : after), subject, err);
}

int weir_api_get_events(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_str *asked = weir_api_query(call, "subject");
    struct weir_str subject = asked != NULL ? *asked : WEIR_STR("");

    return wants_stream(call) ? begin_stream(call, subject, err) : list_events(call, subject, err);
}

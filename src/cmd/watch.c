#include "cmd/watch.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/output.h"
#include "cmd/when.h"
#include "fmt/json.h"
#include "fmt/sse.h"
#include "fmt/yaml_write.h"

#include <poll.h>
#include <stdio.h>

enum {
    EVENT_BYTES_MAX = 1024 * 1024,
    ID_MAX = 24,
    SILENCE_MS = 60000, /* the server says something every 15 s */
    AWAY_MAX_MS = 600000,
    RETRY_MS = 500,
};

struct watch {
    struct weir_client *client;
    enum weir_output form;
    const char *subject;  /* empty: all */
    char last_id[ID_MAX]; /* empty: from now on */
};

static void add(struct weir_buf *line, const struct weir_tree *event, const char *member,
                const char *before)
{
    struct weir_str text = weir_client_text(event, member);

    if (text.len > 0)
        weir_buf_printf(line, "%s%.*s", before, WEIR_STR_ARG(text));
}

/* "2026-11-30 14:20:05 CET  workload.started  workload/42  queued → running  (placed)  by alice" */
static void put_line(const struct weir_tree *event, struct weir_buf *line)
{
    int64_t at_ms = weir_client_i64(event, "at_ms", 0);
    char when[WEIR_WHEN_MAX];

    weir_buf_puts(line, weir_when_full(at_ms, when));
    add(line, event, "kind", "  ");
    add(line, event, "subject", "  ");
    add(line, event, "before", "  ");
    add(line, event, "after", weir_client_text(event, "before").len > 0 ? " → " : "  ");
    add(line, event, "cause", "  ");
    add(line, event, "actor", "  by ");
}

static int print_event(const struct watch *watch, struct weir_str data, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    weir_cleanup_buf struct weir_buf line = WEIR_BUF_INIT((size_t)2 * EVENT_BYTES_MAX);
    struct weir_json_options options = {.allow_duplicates = true};
    struct weir_tree *event = NULL;
    int result = weir_json_read(data, &options, &arena, &event, err);

    if (result < 0)
        return weir_error_wrap(err, "weir sends what is no event");
    switch (watch->form) {
    case WEIR_OUTPUT_JSON:
        weir_buf_str(&line, data);
        break;
    case WEIR_OUTPUT_NAME:
        weir_buf_str(&line, weir_client_text(event, "seq"));
        break;
    case WEIR_OUTPUT_YAML:
        weir_buf_puts(&line, "---\n");
        result = weir_yaml_write(event, &line, err);
        break;
    case WEIR_OUTPUT_TABLE:
    case WEIR_OUTPUT_WIDE:
        put_line(event, &line);
        break;
    }
    if (result == 0)
        result = weir_buf_check(&line, "an event", err);
    if (result < 0)
        return result;
    printf("%s%s", weir_buf_cstr(&line), watch->form == WEIR_OUTPUT_YAML ? "" : "\n");
    return weir_output_flush(err);
}

static int read_events(struct watch *watch, struct weir_sse_reader *reader, struct weir_err *err)
{
    struct weir_str piece;
    int result;

    while ((result = weir_http_client_read(&watch->client->http, &piece, err)) > 0) {
        while ((result = weir_sse_next(reader, &piece, err)) > 0) {
            result = print_event(watch, reader->event.data, err);
            if (result < 0)
                return result;
            snprintf(watch->last_id, sizeof(watch->last_id), "%.*s",
                     WEIR_STR_ARG(reader->event.id));
        }
        if (result < 0)
            return result;
    }
    return result < 0 ? result : weir_error(err, WEIR_E_UNAVAILABLE, "weir ended the stream");
}

static int watch_once(struct watch *watch, struct weir_err *err)
{
    struct weir_sse_reader reader;
    int result;

    weir_client_path(watch->client, "/v1/events");
    weir_client_query(watch->client, "after", watch->last_id[0] != '\0' ? watch->last_id : NULL);
    weir_client_query(watch->client, "subject", watch->subject[0] != '\0' ? watch->subject : NULL);
    result = weir_client_stream(watch->client, WEIR_SSE_CONTENT_TYPE, err);
    if (result < 0)
        return result;
    weir_sse_reader_init(&reader, EVENT_BYTES_MAX);
    result = read_events(watch, &reader, err);
    weir_sse_reader_finish(&reader);
    return result;
}

int weir_watch_events(struct weir_client *client, const struct weir_args *args, const char *subject,
                      struct weir_err *err)
{
    struct watch watch = {.client = client, .form = weir_output_form(args), .subject = subject};
    int64_t away_ms = 0;
    bool was_there = false;

    client->http.timeout_ms = SILENCE_MS;
    for (;;) {
        int64_t begin_ms = weir_clock_mono_ms();
        int result = watch_once(&watch, err);
        bool answered = client->http.in_body || weir_clock_mono_ms() - begin_ms > RETRY_MS;

        if (result != WEIR_E_UNAVAILABLE && result != WEIR_E_TIMEOUT)
            return result;
        weir_http_client_close(&client->http);
        was_there = was_there || answered || watch.last_id[0] != '\0';
        if (answered || away_ms == 0)
            away_ms = weir_clock_mono_ms();
        if (!was_there || weir_clock_mono_ms() - away_ms > AWAY_MAX_MS)
            return result;
        poll(NULL, 0, RETRY_MS);
    }
}

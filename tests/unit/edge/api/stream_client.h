/* A client that reads a stream of the API as it comes. */
#ifndef WEIR_TESTS_UNIT_EDGE_API_STREAM_CLIENT_H
#define WEIR_TESTS_UNIT_EDGE_API_STREAM_CLIENT_H

#include "api_test.h"
#include "base/clock.h"

struct client {
    int fd;
    struct weir_http1_parser parser;
    struct weir_arena arena;
    struct weir_buf heard;
    struct weir_buf body; /* decoded */
    bool has_head;
    bool has_ended; /* in order */
};

static inline void open_client(struct client *c, const char *target, const char *headers)
{
    char request[512];

    memset(c, 0, sizeof(*c));
    weir_buf_init(&c->heard, 1 << 28);
    weir_buf_init(&c->body, 1 << 28);
    weir_http1_parser_init(&c->parser, WEIR_HTTP1_RESPONSE);
    weir_http1_parser_begin(&c->parser, &c->arena);
    weir_http1_parser_set_body_max(&c->parser, 1 << 28);
    c->fd = api_dial(&f);
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", target, headers);
    api_say(&f, c->fd, request, strlen(request));
}

static inline void close_client(struct client *c)
{
    close(c->fd);
    weir_http1_parser_finish(&c->parser);
    weir_arena_finish(&c->arena);
    weir_buf_finish(&c->heard);
    weir_buf_finish(&c->body);
}

/* Takes in what comes within some milliseconds, or until the stream has ended. */
static inline void read_client(struct client *c, int ms)
{
    int64_t until = weir_clock_mono_ms() + ms;

    do {
        struct weir_str input;
        enum weir_http1_event event;

        weir_buf_reset(&c->heard);
        api_hear_for(&f, c->fd, &c->heard, 1);
        input = weir_buf_view(&c->heard);
        while (!c->has_ended &&
               (event = weir_http1_next(&c->parser, &input, NULL)) != WEIR_HTTP1_EVENT_MORE) {
            assert_int_not_equal(event, WEIR_HTTP1_EVENT_ERROR);
            if (event == WEIR_HTTP1_EVENT_BODY)
                weir_buf_str(&c->body, c->parser.piece);
            c->has_head = c->has_head || event == WEIR_HTTP1_EVENT_HEAD;
            c->has_ended = event == WEIR_HTTP1_EVENT_END;
        }
    } while (!c->has_ended && weir_clock_mono_ms() < until);
}

static inline void await_body(struct client *c, const char *text)
{
    int64_t until = weir_clock_mono_ms() + 10000;

    while (weir_str_find(weir_buf_view(&c->body), weir_str(text)) < 0) {
        read_client(c, 2);
        if (weir_clock_mono_ms() > until || c->has_ended)
            break;
    }
    if (weir_str_find(weir_buf_view(&c->body), weir_str(text)) < 0)
        fail_msg("'%s' did not come; came: %s", text, weir_buf_cstr(&c->body));
}

static inline void await_end(struct client *c)
{
    read_client(c, 10000);
    assert_true(c->has_ended);
}

#endif

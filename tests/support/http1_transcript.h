/* What the HTTP/1.1 reader says about some bytes, as text: to compare how it does when they are cut
 * differently. */
#ifndef WEIR_TESTS_SUPPORT_HTTP1_TRANSCRIPT_H
#define WEIR_TESTS_SUPPORT_HTTP1_TRANSCRIPT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "fmt/http1.h"

#include <stdlib.h>
#include <string.h>

struct transcript {
    struct weir_http1_parser parser;
    struct weir_arena arena;
    struct weir_buf text;
    struct weir_buf body;
    struct weir_err err;
    uint64_t body_max;
    bool answers_head;
    bool failed;
    unsigned n_messages;
};

static inline void transcript_begin(struct transcript *t)
{
    weir_http1_parser_begin(&t->parser, &t->arena);
    if (t->answers_head)
        weir_http1_parser_answers_head(&t->parser);
    weir_buf_reset(&t->body);
}

static inline void transcript_init(struct transcript *t, enum weir_http1_kind kind,
                                   bool answers_head, uint64_t body_max)
{
    memset(t, 0, sizeof(*t));
    weir_http1_parser_init(&t->parser, kind);
    weir_buf_init(&t->text, 64 * 1024 * 1024);
    weir_buf_init(&t->body, 64 * 1024 * 1024);
    t->answers_head = answers_head;
    t->body_max = body_max;
    transcript_begin(t);
}

static inline void transcript_finish(struct transcript *t)
{
    weir_http1_parser_finish(&t->parser);
    weir_arena_finish(&t->arena);
    weir_buf_finish(&t->text);
    weir_buf_finish(&t->body);
}

static inline void transcript_head(struct transcript *t)
{
    const struct weir_http1_head *head = &t->parser.head;

    if (t->parser.kind == WEIR_HTTP1_REQUEST)
        weir_buf_printf(&t->text, "%s target=%.*s path=%.*s query=%.*s host=%.*s%s",
                        weir_http1_method_name(head->method), WEIR_STR_ARG(head->target),
                        WEIR_STR_ARG(head->path), WEIR_STR_ARG(head->query),
                        WEIR_STR_ARG(head->host), head->expect_continue ? " expects" : "");
    else
        weir_buf_printf(&t->text, "%u reason=%.*s%s", head->status, WEIR_STR_ARG(head->reason),
                        head->until_close ? " until-close" : "");
    weir_buf_printf(&t->text, " 1.%u %s length=%llu%s\n", head->minor,
                    head->keep_alive ? "keep" : "close", (unsigned long long)head->content_length,
                    head->chunked ? " chunked" : "");
    for (size_t i = 0; i < head->n_headers; i++)
        weir_buf_printf(&t->text, "%.*s: %.*s\n", WEIR_STR_ARG(head->headers[i].name),
                        WEIR_STR_ARG(head->headers[i].value));
    weir_http1_parser_set_body_max(&t->parser, t->body_max);
}

static inline void transcript_event(struct transcript *t, enum weir_http1_event event)
{
    if (event == WEIR_HTTP1_EVENT_HEAD)
        transcript_head(t);
    if (event == WEIR_HTTP1_EVENT_BODY)
        weir_buf_str(&t->body, t->parser.piece);
    if (event == WEIR_HTTP1_EVENT_END || event == WEIR_HTTP1_EVENT_ERROR) {
        weir_buf_printf(&t->text, "[");
        weir_buf_str(&t->text, weir_buf_view(&t->body));
        weir_buf_printf(&t->text, "]");
    }
    if (event == WEIR_HTTP1_EVENT_END) {
        weir_buf_puts(&t->text, " end\n");
        t->n_messages++;
        transcript_begin(t);
    }
    if (event == WEIR_HTTP1_EVENT_ERROR) {
        weir_buf_printf(&t->text, " error %d %s\n", t->parser.status, t->err.text);
        t->failed = true;
    }
}

static inline void transcript_feed(struct transcript *t, struct weir_str input)
{
    enum weir_http1_event event;

    while (!t->failed) {
        event = weir_http1_next(&t->parser, &input, &t->err);
        transcript_event(t, event);
        if (event == WEIR_HTTP1_EVENT_MORE)
            break;
    }
    if (!t->failed && input.len != 0)
        abort();
}

static inline void transcript_eof(struct transcript *t)
{
    if (!t->failed)
        transcript_event(t, weir_http1_end_of_input(&t->parser, &t->err));
}

#endif

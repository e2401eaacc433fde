/* Every case is read whole, byte by byte and cut in two at every place: the answer must be the
 * same. */
#ifndef WEIR_TESTS_FMT_HTTP1_WAYS_H
#define WEIR_TESTS_FMT_HTTP1_WAYS_H

#include "fmt/http1.h"

#include "../../support/http1_transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A copy of its own for each piece, so that a read past its end is seen. */
static inline void feed_copy(struct transcript *t, const char *data, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);

    assert_non_null(copy);
    memcpy(copy, data, len);
    transcript_feed(t, weir_str_n(copy, len));
    free(copy);
}

struct message {
    enum weir_http1_kind kind;
    bool answers_head;
    uint64_t body_max;
    struct weir_str bytes;
};

static inline void read_in_pieces(const struct message *m, size_t first, size_t step,
                                  struct transcript *ret)
{
    size_t at = first < m->bytes.len ? first : m->bytes.len;

    transcript_init(ret, m->kind, m->answers_head, m->body_max);
    feed_copy(ret, m->bytes.ptr, at);
    while (at < m->bytes.len) {
        size_t n = step < m->bytes.len - at ? step : m->bytes.len - at;

        feed_copy(ret, m->bytes.ptr + at, n);
        at += n;
    }
    transcript_eof(ret);
}

/* Reads the message in all those ways and returns what was said, to be freed. */
static inline char *read_all_ways(const struct message *m)
{
    struct transcript whole;
    struct transcript cut;
    char *text;

    read_in_pieces(m, m->bytes.len, 1, &whole);
    for (size_t first = 0; first <= m->bytes.len && first < 4096; first++) {
        read_in_pieces(m, first, m->bytes.len, &cut);
        if (strcmp(weir_buf_cstr(&whole.text), weir_buf_cstr(&cut.text)) != 0)
            fail_msg("cut at %zu:\n%s\nwhole:\n%s", first, cut.text.data, whole.text.data);
        transcript_finish(&cut);
    }
    read_in_pieces(m, 0, 1, &cut);
    assert_string_equal(weir_buf_cstr(&whole.text), weir_buf_cstr(&cut.text));
    transcript_finish(&cut);
    text = strdup(weir_buf_cstr(&whole.text));
    transcript_finish(&whole);
    assert_non_null(text);
    return text;
}

static inline void expect(const struct message *m, const char *wanted)
{
    char *said = read_all_ways(m);

    if (strcmp(said, wanted) != 0)
        fail_msg("input:\n%.*s\nsaid:\n%s\nwanted:\n%s", WEIR_STR_ARG(m->bytes), said, wanted);
    free(said);
}

#define REQUEST(text) ((struct message){WEIR_HTTP1_REQUEST, false, 16, WEIR_STR(text)})
#define RESPONSE(text)                                                                             \
    ((struct message){WEIR_HTTP1_RESPONSE, false, WEIR_HTTP1_BODY_MAX, WEIR_STR(text)})
#define H   "Host: h\r\n"
#define G   "GET / HTTP/1.1\r\n"
#define GH  "GET / HTTP/1.1\r\nHost: h\r\n"
#define PTE "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

#endif

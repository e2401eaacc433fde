#include "fmt/sse.h"

#include "base/count.h"
#include "base/err.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EVENT_MAX = 64 };

/* Reads the stream in pieces: the first of `first` bytes, the others of `step`. */
static char *read_stream(struct weir_str stream, size_t first, size_t step)
{
    struct weir_sse_reader reader;
    struct weir_buf text = WEIR_BUF_INIT(1 << 20);
    struct weir_err err = WEIR_ERR_INIT;
    size_t at = 0;
    int code = 0;
    char *said;

    weir_sse_reader_init(&reader, EVENT_MAX);
    while (at < stream.len && code >= 0) {
        struct weir_str piece = weir_str_sub(stream, at, at == 0 && first > 0 ? first : step);
        char *copy = malloc(piece.len);
        struct weir_str input = {copy, piece.len};

        assert_non_null(copy);
        memcpy(copy, piece.ptr, piece.len);
        while ((code = weir_sse_next(&reader, &input, &err)) > 0)
            weir_buf_printf(&text, "<%.*s|%.*s|%.*s>", WEIR_STR_ARG(reader.event.id),
                            WEIR_STR_ARG(reader.event.event), WEIR_STR_ARG(reader.event.data));
        free(copy);
        at += piece.len;
    }
    if (reader.retry_ms >= 0)
        weir_buf_printf(&text, "retry %lld", (long long)reader.retry_ms);
    if (code < 0)
        weir_buf_printf(&text, "error %s", err.text);
    weir_sse_reader_finish(&reader);
    said = strdup(weir_buf_cstr(&text));
    weir_buf_finish(&text);
    return said;
}

static void reads_streams(void **state)
{
    static const struct {
        struct weir_str stream;
        const char *said;
    } cases[] = {
        {WEIR_STR(""), ""},
        {WEIR_STR("data: a\n\n"), "<||a>"},
        {WEIR_STR("data:a\r\rdata: b\r\n\r\ndata:  c\n\n"), "<||a><||b><|| c>"},
        {WEIR_STR("data: a\ndata\ndata: b\n\n"), "<||a\n\nb>"},
        {WEIR_STR("data\n\n"), "<||>"},
        {WEIR_STR("data:\n\n"), "<||>"},
        {WEIR_STR("data: a"), ""},
        {WEIR_STR("data: a\n"), ""},
        {WEIR_STR("event: x\n\ndata: a\n\n"), "<||a>"},
        {WEIR_STR("event: x\ndata: a\n\ndata: b\n\n"), "<|x|a><||b>"},
        {WEIR_STR("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"), "<1||a><1||b><||c>"},
        {WEIR_STR("id: 1\nid: 2\0\ndata: a\n\n"), "<1||a>"},
        {WEIR_STR("id: 7\n\ndata: a\n\n"), "<7||a>"},
        {WEIR_STR(": heartbeat\n\n:\n\ndata: a\n:x\ndata: b\n\n"), "<||a\nb>"},
        {WEIR_STR("unknown: x\nDATA: y\n data: z\ndata: a\n\n"), "<||a>"},
        {WEIR_STR("retry: 250\n\n"), "retry 250"},
        {WEIR_STR("retry: 1\nretry: -1\nretry: +2\nretry: 3x\nretry:\nretry: "
                  "99999999999999999999\n\n"),
         "retry 1"},
        {WEIR_STR("\xEF\xBB\xBF"
                  "data: a\n\n"),
         "<||a>"},
        {WEIR_STR("\xEF\xBB"
                  "data: a\n\ndata: b\n\n"),
         "<||b>"},
        {WEIR_STR("\xEF\xBB\xBF\xEF\xBB\xBF"
                  "data: a\n\ndata: b\n\n"),
         "<||b>"},
        {WEIR_STR("\n\n\r\n\rdata: a\n\n"), "<||a>"},
        {WEIR_STR("data: a:b: c\n\n"), "<||a:b: c>"},
        {WEIR_STR("data: 0123456789012345678901234567890123456789012345678901234567\n\n"),
         "<||0123456789012345678901234567890123456789012345678901234567>"},
        {WEIR_STR("data: 01234567890123456789012345678901234567890123456789012345678\n\n"),
         "error an event is larger than 64 bytes"},
        {WEIR_STR("data: 0123456789012345678901234567890123456789\n"
                  "data: 0123456789012345678901234567890123456789\n\n"),
         "error an event is larger than 64 bytes"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        for (size_t cut = 0; cut <= cases[i].stream.len; cut++) {
            char *said = read_stream(cases[i].stream, cut, cut == 0 ? 1 : cases[i].stream.len);

            if (strcmp(said, cases[i].said) != 0)
                fail_msg("case %zu cut at %zu: '%s', wanted '%s'", i, cut, said, cases[i].said);
            free(said);
        }
    }
}

static void writes_events(void **state)
{
    static const struct {
        struct weir_sse_event event;
        const char *text;
    } cases[] = {
        {{WEIR_STR(""), WEIR_STR(""), WEIR_STR("")}, "data: \n\n"},
        {{WEIR_STR("7"), WEIR_STR("gpu"), WEIR_STR("{}")}, "id: 7\nevent: gpu\ndata: {}\n\n"},
        {{WEIR_STR(""), WEIR_STR(""), WEIR_STR("a\nb\rc\r\nd")},
         "data: a\ndata: b\ndata: c\ndata: d\n\n"},
        {{WEIR_STR(""), WEIR_STR(""), WEIR_STR("\n")}, "data: \ndata: \n\n"},
        {{WEIR_STR(""), WEIR_STR(""), WEIR_STR("a\r\n\r\n")}, "data: a\ndata: \ndata: \n\n"},
        {{WEIR_STR(""), WEIR_STR(""), WEIR_STR(" x")}, "data:  x\n\n"},
    };
    struct weir_buf out = WEIR_BUF_INIT(1000);

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        weir_buf_reset(&out);
        assert_int_equal(weir_sse_write(&out, &cases[i].event, NULL), 0);
        assert_string_equal(weir_buf_cstr(&out), cases[i].text);
    }
    weir_buf_reset(&out);
    weir_sse_write_comment(&out, WEIR_STR("a\ndata: b"));
    weir_sse_write_comment(&out, WEIR_STR(""));
    weir_sse_write_retry(&out, 3000);
    assert_string_equal(weir_buf_cstr(&out), ": a\n: data: b\n\n: \n\nretry: 3000\n\n");
    weir_buf_finish(&out);
}

static void refuses_what_would_add_fields(void **state)
{
    static const struct weir_str bad[] = {WEIR_STR("a\nb"), WEIR_STR("\r"), WEIR_STR("a\0")};
    struct weir_buf out = WEIR_BUF_INIT(1000);
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        assert_int_equal(weir_sse_write(&out, &(struct weir_sse_event){.id = bad[i]}, &err),
                         WEIR_E_INVALID);
        assert_int_equal(weir_sse_write(&out, &(struct weir_sse_event){.event = bad[i]}, &err),
                         WEIR_E_INVALID);
    }
    assert_int_equal(out.len, 0);
    out.max = 5;
    assert_int_equal(weir_sse_write(&out, &(struct weir_sse_event){.data = WEIR_STR("a")}, &err),
                     WEIR_E_TOO_LARGE);
    weir_buf_finish(&out);
}

static size_t random_text(struct weir_rng *rng, const char *alphabet, char *room, size_t max)
{
    size_t n = weir_rng_below(rng, max + 1);

    for (size_t i = 0; i < n; i++)
        room[i] = alphabet[weir_rng_below(rng, strlen(alphabet))];
    return n;
}

static void what_is_written_reads_back(void **state)
{
    const char *seed = getenv("WEIR_SEED");
    struct weir_rng rng;
    struct weir_buf out = WEIR_BUF_INIT(1 << 16);

    (void)state;
    weir_rng_init(&rng, seed != NULL ? strtoull(seed, NULL, 10) : 1);
    for (int round = 0; round < 5000; round++) {
        char id[8];
        char name[8];
        char data[40];
        char wanted[100];
        struct weir_sse_event event;
        char *said;

        event.id = weir_str_n(id, random_text(&rng, "a:1 ", id, 8));
        event.event = weir_str_n(name, random_text(&rng, "a:1 ", name, 8));
        event.data = weir_str_n(data, random_text(&rng, "ab:\n \t\xc3", data, 40));
        weir_buf_reset(&out);
        if (weir_rng_below(&rng, 2) == 0)
            weir_sse_write_comment(&out, event.data);
        assert_int_equal(weir_sse_write(&out, &event, NULL), 0);
        snprintf(wanted, sizeof(wanted), "<%.*s|%.*s|%.*s>", WEIR_STR_ARG(event.id),
                 WEIR_STR_ARG(event.event), WEIR_STR_ARG(event.data));
        said = read_stream(weir_buf_view(&out), 0, 1 + weir_rng_below(&rng, 20));
        assert_string_equal(said, wanted);
        free(said);
    }
    weir_buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_streams),
        cmocka_unit_test(writes_events),
        cmocka_unit_test(refuses_what_would_add_fields),
        cmocka_unit_test(what_is_written_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

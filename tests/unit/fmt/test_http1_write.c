#include "fmt/http1_write.h"

#include "base/count.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/time.h"

#include "../../support/http1_transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void writes_heads(void **state)
{
    struct weir_buf out = WEIR_BUF_INIT(4096);

    (void)state;
    assert_int_equal(weir_http1_write_status(&out, 404), 0);
    assert_int_equal(weir_http1_write_date(&out, 0), 0);
    assert_int_equal(
        weir_http1_write_header(&out, WEIR_STR("X-Y"), WEIR_STR("a\tb \xc3\xa9"), NULL), 0);
    assert_int_equal(weir_http1_write_header(&out, WEIR_STR("Empty"), WEIR_STR(""), NULL), 0);
    assert_int_equal(weir_http1_write_content_length(&out, UINT64_MAX), 0);
    assert_int_equal(weir_http1_write_chunked(&out), 0);
    assert_int_equal(weir_http1_write_head_end(&out), 0);
    assert_string_equal(weir_buf_cstr(&out),
                        "HTTP/1.1 404 Not Found\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                        "X-Y: a\tb \xc3\xa9\r\nEmpty: \r\n"
                        "Content-Length: 18446744073709551615\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n");
    weir_buf_reset(&out);
    weir_http1_write_status(&out, 599);
    assert_string_equal(weir_buf_cstr(&out), "HTTP/1.1 599 Unknown\r\n");
    weir_buf_reset(&out);
    assert_int_equal(weir_http1_write_request(&out, WEIR_STR("GET"), WEIR_STR("/a?b=%20"), NULL),
                     0);
    assert_string_equal(weir_buf_cstr(&out), "GET /a?b=%20 HTTP/1.1\r\n");
    weir_buf_finish(&out);
}

static void dates_fall_on_their_weekdays(void **state)
{
    static const struct {
        int64_t wall_ms;
        const char *text;
    } cases[] = {
        {784111777999, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"},
        {951782400000, "Date: Tue, 29 Feb 2000 00:00:00 GMT\r\n"},
        {1796051045123, "Date: Mon, 30 Nov 2026 15:04:05 GMT\r\n"},
        {4102444799000, "Date: Thu, 31 Dec 2099 23:59:59 GMT\r\n"},
    };
    struct weir_buf out = WEIR_BUF_INIT(100);

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        weir_buf_reset(&out);
        assert_int_equal(weir_http1_write_date(&out, cases[i].wall_ms), 0);
        assert_string_equal(weir_buf_cstr(&out), cases[i].text);
    }
    weir_buf_finish(&out);
}

static void refuses_what_would_smuggle(void **state)
{
    static const struct {
        struct weir_str name;
        struct weir_str value;
    } cases[] = {
        {WEIR_STR("X"), WEIR_STR("a\r\nY: b")}, {WEIR_STR("X"), WEIR_STR("a\n")},
        {WEIR_STR("X"), WEIR_STR("\r")},        {WEIR_STR("X"), WEIR_STR("a\0b")},
        {WEIR_STR("X"), WEIR_STR("\x1b[31m")},  {WEIR_STR("X"), WEIR_STR("\x7f")},
        {WEIR_STR("X"), WEIR_STR(" a")},        {WEIR_STR("X"), WEIR_STR("a\t")},
        {WEIR_STR(""), WEIR_STR("a")},          {WEIR_STR("X:"), WEIR_STR("a")},
        {WEIR_STR("X Y"), WEIR_STR("a")},       {WEIR_STR("X\r\n"), WEIR_STR("a")},
        {WEIR_STR("X\0"), WEIR_STR("a")},       {WEIR_STR("\xc3\xa9"), WEIR_STR("a")},
    };
    static const struct weir_str targets[] = {
        WEIR_STR(""),       WEIR_STR("a"),     WEIR_STR("*"),         WEIR_STR("/a b"),
        WEIR_STR("/\r\nX"), WEIR_STR("/\0"),   WEIR_STR("/a#b"),      WEIR_STR("/%"),
        WEIR_STR("/?\n"),   WEIR_STR("/?a b"), WEIR_STR("http://h/"),
    };
    struct weir_buf out = WEIR_BUF_INIT(100);
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++)
        assert_int_equal(weir_http1_write_header(&out, cases[i].name, cases[i].value, &err),
                         WEIR_E_INVALID);
    for (size_t i = 0; i < WEIR_COUNT_OF(targets); i++)
        assert_int_equal(weir_http1_write_request(&out, WEIR_STR("GET"), targets[i], &err),
                         WEIR_E_INVALID);
    assert_int_equal(weir_http1_write_request(&out, WEIR_STR("G T"), WEIR_STR("/"), &err),
                     WEIR_E_INVALID);
    assert_int_equal(weir_http1_write_request(&out, WEIR_STR(""), WEIR_STR("/"), &err),
                     WEIR_E_INVALID);
    assert_int_equal(out.len, 0);
    assert_int_equal(out.failed, 0);
    weir_buf_finish(&out);
}

static void says_when_the_buffer_is_full(void **state)
{
    struct weir_buf out = WEIR_BUF_INIT(10);
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_http1_write_header(&out, WEIR_STR("Name"), WEIR_STR("value"), &err),
                     WEIR_E_TOO_LARGE);
    assert_string_equal(err.text, "a header is larger than 10 bytes");
    weir_buf_finish(&out);
}

static void chunk_heads_are_hexadecimal(void **state)
{
    static const struct {
        uint64_t size;
        const char *text;
    } cases[] = {{1, "1\r\n"}, {15, "f\r\n"}, {16, "10\r\n"}, {UINT64_MAX, "ffffffffffffffff\r\n"}};
    char head[WEIR_HTTP1_CHUNK_HEAD_MAX];

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        size_t n = weir_http1_chunk_head(cases[i].size, head);

        assert_true(weir_str_eq_c(weir_str_n(head, n), cases[i].text));
    }
}

static struct weir_str random_text(struct weir_rng *rng, const char *alphabet, char *room,
                                   size_t min, size_t max)
{
    size_t n = min + weir_rng_below(rng, max - min + 1);

    for (size_t i = 0; i < n; i++)
        room[i] = alphabet[weir_rng_below(rng, strlen(alphabet))];
    return weir_str_n(room, n);
}

static void write_body(struct weir_rng *rng, struct weir_buf *out, struct weir_str body,
                       bool chunked)
{
    char head[WEIR_HTTP1_CHUNK_HEAD_MAX];

    if (!chunked) {
        weir_http1_write_content_length(out, body.len);
        weir_http1_write_head_end(out);
        weir_buf_str(out, body);
        return;
    }
    weir_http1_write_chunked(out);
    weir_http1_write_head_end(out);
    for (size_t at = 0; at < body.len;) {
        struct weir_str piece = weir_str_sub(body, at, 1 + weir_rng_below(rng, body.len - at));

        weir_buf_append(out, head, weir_http1_chunk_head(piece.len, head));
        weir_buf_str(out, piece);
        weir_buf_puts(out, WEIR_HTTP1_CHUNK_END);
        at += piece.len;
    }
    weir_buf_puts(out, WEIR_HTTP1_CHUNK_LAST);
}

/* One random request, and what the reader must say of it. */
static void write_random(struct weir_rng *rng, struct weir_buf *out, struct weir_buf *wanted)
{
    static const char path_chars[] = "abz019-._~!$&'()*+,;=:@/";
    static const char value_chars[] = "ab z\t01\"(),/:;<=>?@[\\]{}\xc3\xa9";
    char target[64] = "/";
    char name[16] = "N";
    char value[40];
    char body[300];
    bool chunked = weir_rng_below(rng, 2) == 1;
    enum weir_http1_method method =
        (enum weir_http1_method)weir_rng_below(rng, WEIR_HTTP1_METHOD_MAX);
    struct weir_str t = random_text(rng, path_chars, target + 1, 0, 60);
    struct weir_str n = random_text(rng, "abcXYZ0!#$%&'*+-.^_`|~", name + 1, 0, 14);
    struct weir_str v = weir_str_trim(random_text(rng, value_chars, value, 0, 40));
    struct weir_str b = random_text(rng, "a\r\n\t\x01\xff", body, 0, 300);

    t = weir_str_n(target, t.len + 1);
    n = weir_str_n(name, n.len + 1);
    assert_int_equal(
        weir_http1_write_request(out, weir_str(weir_http1_method_name(method)), t, NULL), 0);
    assert_int_equal(weir_http1_write_header(out, WEIR_STR("Host"), WEIR_STR("h"), NULL), 0);
    assert_int_equal(weir_http1_write_header(out, n, v, NULL), 0);
    write_body(rng, out, b, chunked);
    weir_buf_printf(wanted, "%s target=%.*s path=%.*s query= host=h 1.1 keep length=%zu%s\n",
                    weir_http1_method_name(method), WEIR_STR_ARG(t), WEIR_STR_ARG(t),
                    chunked ? 0 : b.len, chunked ? " chunked" : "");
    weir_buf_printf(wanted, "Host: h\n%.*s: %.*s\n", WEIR_STR_ARG(n), WEIR_STR_ARG(v));
    if (chunked)
        weir_buf_puts(wanted, "Transfer-Encoding: chunked\n[");
    else
        weir_buf_printf(wanted, "Content-Length: %zu\n[", b.len);
    weir_buf_str(wanted, b);
    weir_buf_puts(wanted, "] end\n");
}

static void what_is_written_reads_back(void **state)
{
    const char *seed = getenv("WEIR_SEED");
    struct weir_rng rng;
    struct weir_buf out = WEIR_BUF_INIT(1 << 20);
    struct weir_buf wanted = WEIR_BUF_INIT(1 << 20);
    struct transcript t;

    (void)state;
    weir_rng_init(&rng, seed != NULL ? strtoull(seed, NULL, 10) : 1);
    for (int round = 0; round < 2000; round++) {
        size_t n = 1 + weir_rng_below(&rng, 3);

        weir_buf_reset(&out);
        weir_buf_reset(&wanted);
        for (size_t i = 0; i < n; i++)
            write_random(&rng, &out, &wanted);
        transcript_init(&t, WEIR_HTTP1_REQUEST, false, 300);
        for (size_t at = 0; at < out.len;) {
            struct weir_str piece =
                weir_str_sub(weir_buf_view(&out), at, 1 + weir_rng_below(&rng, 200));

            transcript_feed(&t, piece);
            at += piece.len;
        }
        transcript_eof(&t);
        assert_int_equal(t.text.len, wanted.len);
        assert_memory_equal(t.text.data, wanted.data, wanted.len);
        transcript_finish(&t);
    }
    weir_buf_finish(&out);
    weir_buf_finish(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_heads),
        cmocka_unit_test(dates_fall_on_their_weekdays),
        cmocka_unit_test(refuses_what_would_smuggle),
        cmocka_unit_test(says_when_the_buffer_is_full),
        cmocka_unit_test(chunk_heads_are_hexadecimal),
        cmocka_unit_test(what_is_written_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

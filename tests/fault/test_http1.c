/* For every n, the n-th allocation of reading and writing fails: the fault is said, nothing leaks,
 * and what was said before it holds. */
#include "fmt/http1.h"
#include "fmt/http1_write.h"
#include "fmt/url.h"

#include "base/err.h"
#include "base/mem.h"

#include "../support/http1_transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct weir_str message =
    WEIR_STR("POST /a%20b/c?d=e+f HTTP/1.1\r\nHost: h\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n"
             "3\r\nabc\r\n0\r\nT: x\r\n\r\n");

/* Reads the message in two pieces. Returns whether it was read; a failure must be a 503. */
static bool read_message(size_t cut, uint64_t fail_after, uint64_t n_failures)
{
    struct weir_http1_parser parser;
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    enum weir_http1_event event = WEIR_HTTP1_EVENT_MORE;
    struct weir_str parts[2] = {weir_str_sub(message, 0, cut),
                                weir_str_sub(message, cut, message.len)};

    weir_http1_parser_init(&parser, WEIR_HTTP1_REQUEST);
    weir_http1_parser_begin(&parser, &arena);
    weir_mem_fail(fail_after, n_failures);
    for (int i = 0; i < 2 && event != WEIR_HTTP1_EVENT_ERROR; i++) {
        do {
            event = weir_http1_next(&parser, &parts[i], &err);
        } while (event == WEIR_HTTP1_EVENT_HEAD || event == WEIR_HTTP1_EVENT_BODY);
    }
    weir_mem_fail(0, 0);
    if (event == WEIR_HTTP1_EVENT_ERROR) {
        assert_int_equal(parser.status, 503);
        assert_int_equal(err.code, WEIR_E_NO_MEMORY);
    } else {
        assert_int_equal(event, WEIR_HTTP1_EVENT_END);
        assert_int_equal(parser.head.n_headers, 3);
    }
    weir_http1_parser_finish(&parser);
    weir_arena_finish(&arena);
    return event == WEIR_HTTP1_EVENT_END;
}

static void reading_survives(void **state)
{
    unsigned n_failed = 0;

    (void)state;
    for (size_t cut = 0; cut <= message.len; cut++) {
        uint64_t n = 0;

        while (!read_message(cut, n, 1)) {
            n_failed++;
            n++;
            assert_true(n < 100);
        }
        assert_true(cut == 0 || n > 0);
        n = 0;
        while (!read_message(cut, n, UINT64_MAX))
            n++;
    }
    assert_true(n_failed > message.len);
}

static int split(struct weir_arena *arena, struct weir_err *err)
{
    struct weir_url_path path;
    struct weir_url_query query;
    int code = weir_url_split_path(WEIR_STR("/a%20b/c"), arena, &path, err);

    if (code == 0)
        code = weir_url_split_query(WEIR_STR("d=e+f&g"), arena, &query, err);
    if (code == 0)
        assert_true(weir_str_eq_c(query.params[0].value, "e f"));
    return code;
}

static void splitting_survives(void **state)
{
    uint64_t n = 0;
    int code;

    (void)state;
    do {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_err err = WEIR_ERR_INIT;

        weir_mem_fail(n, 1);
        code = split(&arena, &err);
        weir_mem_fail(0, 0);
        assert_int_equal(code, n == 0 ? WEIR_E_NO_MEMORY : 0);
        assert_int_equal(err.code, code);
        weir_arena_finish(&arena);
        n++;
    } while (code < 0);
}

static void writing_survives(void **state)
{
    struct weir_buf out = WEIR_BUF_INIT(4096);
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_mem_fail(0, 1);
    assert_int_equal(weir_http1_write_status(&out, 200), WEIR_E_NO_MEMORY);
    weir_mem_fail(0, 0);
    assert_int_equal(weir_http1_write_header(&out, WEIR_STR("X"), WEIR_STR("y"), &err),
                     WEIR_E_NO_MEMORY);
    assert_int_equal(err.code, WEIR_E_NO_MEMORY);
    assert_int_equal(weir_http1_write_request(&out, WEIR_STR("GET"), WEIR_STR("/"), &err),
                     WEIR_E_NO_MEMORY);
    assert_int_equal(out.len, 0);
    weir_buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_survives),
        cmocka_unit_test(splitting_survives),
        cmocka_unit_test(writing_survives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

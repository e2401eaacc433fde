#include "fmt/url.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define S(literal) WEIR_STR(literal)

static void assert_str(struct weir_str s, const char *wanted)
{
    if (!weir_str_eq_c(s, wanted))
        fail_msg("'%.*s' is not '%s'", WEIR_STR_ARG(s), wanted);
}

static void knows_the_bytes_of_paths_and_queries(void **state)
{
    static const char path[] = "-._~!$&'()*+,;=:@/";
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[2] = {'/', (char)c};
        bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        bool in_path = alnum || (c != 0 && strchr(path, c) != NULL);

        assert_int_equal(weir_url_is_path(weir_str_n(text, 2)), in_path);
        assert_int_equal(weir_url_is_query(weir_str_n(text, 2)), in_path || c == '?');
    }
    assert_false(weir_url_is_path(S("")));
    assert_false(weir_url_is_path(S("a/b")));
    assert_true(weir_url_is_query(S("")));
    assert_true(weir_url_is_path(S("/%00%fF")));
    assert_false(weir_url_is_path(S("/%f")));
    assert_false(weir_url_is_path(S("/%")));
    assert_false(weir_url_is_path(S("/%fg")));
    assert_false(weir_url_is_path(S("/%gf")));
}

static void parses_authorities(void **state)
{
    static const struct {
        struct weir_str text;
        const char *host; /* NULL: refused */
        uint16_t port;
    } cases[] = {
        {S(""), "", 0},
        {S("h"), "h", 0},
        {S("h.example:80"), "h.example", 80},
        {S(":8080"), "", 8080},
        {S("127.0.0.1:65535"), "127.0.0.1", 65535},
        {S("[::1]"), "::1", 0},
        {S("[fe80::1:2]:443"), "fe80::1:2", 443},
        {S("[::ffff:1.2.3.4]:1"), "::ffff:1.2.3.4", 1},
        {S("%2Frun%2Fx"), "%2Frun%2Fx", 0},
        {S("h:"), NULL, 0},
        {S("h:0"), NULL, 0},
        {S("h:65536"), NULL, 0},
        {S("h:8a"), NULL, 0},
        {S("h:+8"), NULL, 0},
        {S("a:b:1"), NULL, 0},
        {S("::1"), NULL, 0},
        {S("[::1"), NULL, 0},
        {S("[::1]1"), NULL, 0},
        {S("[::1]:"), NULL, 0},
        {S("[]"), NULL, 0},
        {S("[12]"), NULL, 0},
        {S("[::g]"), NULL, 0},
        {S("u@h"), NULL, 0},
        {S("a b"), NULL, 0},
        {S("a/b"), NULL, 0},
        {S("a\0b"), NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_str host = S("untouched");
        uint16_t port = 7;
        struct weir_err err = WEIR_ERR_INIT;
        int code = weir_url_parse_authority(cases[i].text, &host, &port, &err);

        assert_int_equal(code, cases[i].host != NULL ? 0 : WEIR_E_INVALID);
        assert_str(host, cases[i].host != NULL ? cases[i].host : "untouched");
        assert_int_equal(port, cases[i].host != NULL ? cases[i].port : 7);
        assert_int_equal(err.text[0] != '\0', cases[i].host == NULL);
    }
}

static void decodes(void **state)
{
    static const struct {
        struct weir_str text;
        bool plus;
        const char *wanted; /* NULL: refused */
    } cases[] = {
        {S(""), false, ""},
        {S("abc"), false, "abc"},
        {S("a+b"), false, "a+b"},
        {S("a+b%2B"), true, "a b+"},
        {S("%c3%A9"), false, "\xc3\xa9"},
        {S("%25"), false, "%"},
        {S("%2525"), false, "%25"},
        {S("%"), false, NULL},
        {S("%1"), false, NULL},
        {S("%zz"), false, NULL},
        {S("%00"), false, NULL},
        {S("%0a"), false, NULL},
        {S("%7f"), false, NULL},
        {S("%c3"), false, NULL},
        {S("%c0%80"), false, NULL},
        {S("%ed%a0%80"), false, NULL},
        {S("\xff"), false, NULL},
        {S("a\nb"), false, NULL},
    };
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_str text = S("untouched");
        struct weir_err err = WEIR_ERR_INIT;
        int code = weir_url_decode(cases[i].text, cases[i].plus, &arena, &text, &err);

        assert_int_equal(code, cases[i].wanted != NULL ? 0 : WEIR_E_INVALID);
        assert_str(text, cases[i].wanted != NULL ? cases[i].wanted : "untouched");
    }
    weir_arena_finish(&arena);
}

static void splits_paths(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_url_path path = {0};
    static const struct weir_str refused[] = {
        S(""),
        S("v1"),
        S("//"),
        S("/a//b"),
        S("/a/."),
        S("/../a"),
        S("/%2e%2E"),
        S("/a%2Fb"),
        S("/a//"),
        S("/a/%00"),
        S("/%2e/x"),
        S("/a?b"),
        S("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/"
          "33"),
    };

    (void)state;
    assert_int_equal(weir_url_split_path(S("/"), &arena, &path, NULL), 0);
    assert_int_equal(path.n_segments, 0);
    assert_false(path.trailing_slash);
    assert_int_equal(weir_url_split_path(S("/v1/jobs/a%20b.%C3%A9"), &arena, &path, NULL), 0);
    assert_int_equal(path.n_segments, 3);
    assert_str(path.segments[0], "v1");
    assert_str(path.segments[1], "jobs");
    assert_str(path.segments[2], "a b.\xc3\xa9");
    assert_false(path.trailing_slash);
    assert_int_equal(weir_url_split_path(S("/ui/"), &arena, &path, NULL), 0);
    assert_int_equal(path.n_segments, 1);
    assert_true(path.trailing_slash);
    for (size_t i = 0; i < WEIR_COUNT_OF(refused); i++) {
        struct weir_err err = WEIR_ERR_INIT;

        assert_true(weir_url_split_path(refused[i], &arena, &path, &err) < 0);
        assert_int_equal(path.n_segments, 1);
        assert_true(err.text[0] != '\0');
    }
    weir_arena_finish(&arena);
}

static void splits_queries(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_url_query query = {0};
    struct weir_buf long_query = WEIR_BUF_INIT(1000);

    (void)state;
    assert_int_equal(weir_url_split_query(S(""), &arena, &query, NULL), 0);
    assert_int_equal(query.n_params, 0);
    assert_null(weir_url_query_get(&query, ""));
    assert_int_equal(
        weir_url_split_query(S("state=a&&b=x+y%26z&c&=d&e=1=2&state=b&"), &arena, &query, NULL), 0);
    assert_int_equal(query.n_params, 6);
    assert_str(*weir_url_query_get(&query, "state"), "a");
    assert_str(*weir_url_query_get(&query, "b"), "x y&z");
    assert_str(*weir_url_query_get(&query, "c"), "");
    assert_str(*weir_url_query_get(&query, ""), "d");
    assert_str(*weir_url_query_get(&query, "e"), "1=2");
    assert_str(query.params[5].name, "state");
    assert_str(query.params[5].value, "b");
    assert_null(weir_url_query_get(&query, "stat"));
    assert_int_equal(weir_url_split_query(S("a=%0d"), &arena, &query, NULL), WEIR_E_INVALID);
    assert_int_equal(weir_url_split_query(S("a=%"), &arena, &query, NULL), WEIR_E_INVALID);
    assert_int_equal(weir_url_split_query(S("%ff=a"), &arena, &query, NULL), WEIR_E_INVALID);
    assert_int_equal(weir_url_split_query(S("a b"), &arena, &query, NULL), WEIR_E_INVALID);
    assert_int_equal(query.n_params, 6);
    for (int i = 0; i < WEIR_URL_PARAMS_MAX; i++)
        weir_buf_puts(&long_query, i > 0 ? "&a" : "a");
    assert_int_equal(weir_url_split_query(weir_buf_view(&long_query), &arena, &query, NULL), 0);
    assert_int_equal(query.n_params, WEIR_URL_PARAMS_MAX);
    weir_buf_puts(&long_query, "&a");
    assert_int_equal(weir_url_split_query(weir_buf_view(&long_query), &arena, &query, NULL),
                     WEIR_E_TOO_LARGE);
    weir_buf_finish(&long_query);
    weir_arena_finish(&arena);
}

static void encodes_so_that_it_decodes_back(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_buf out = WEIR_BUF_INIT(4096);
    struct weir_str text;

    (void)state;
    for (unsigned c = 0x20; c < 0x7F; c++) {
        char raw[3] = {'a', (char)c, 'b'};

        weir_buf_reset(&out);
        assert_int_equal(weir_url_encode(weir_str_n(raw, 3), &out), 0);
        assert_true(weir_url_is_query(weir_buf_view(&out)));
        assert_int_equal(weir_str_find_char(weir_buf_view(&out), '&'), -1);
        assert_int_equal(weir_str_find_char(weir_buf_view(&out), '/'), -1);
        for (int plus = 0; plus <= 1; plus++) {
            assert_int_equal(weir_url_decode(weir_buf_view(&out), plus, &arena, &text, NULL), 0);
            assert_true(weir_str_eq(text, weir_str_n(raw, 3)));
        }
    }
    weir_buf_reset(&out);
    weir_url_encode(S("\xc3\xa9/\xff"), &out);
    assert_string_equal(weir_buf_cstr(&out), "%C3%A9%2F%FF");
    weir_buf_finish(&out);
    weir_arena_finish(&arena);
}

/* Whatever is taken for a segment is read back as one, and nothing else is. */
static void knows_what_can_be_a_segment(void **state)
{
    static const char *const words[] = {"a", "a b", "...", ".a", "\xc3\xa9", "a%2Fb", "?#",   "",
                                        ".", "..",  "a/b", "/",  "a\nb",     "\x7f",  "\xff", "%"};
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_buf path = WEIR_BUF_INIT(4096);
    struct weir_url_path parts;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(words); i++) {
        bool is_read;

        weir_buf_reset(&path);
        weir_buf_puts(&path, "/x/");
        weir_url_encode(weir_str(words[i]), &path);
        weir_buf_puts(&path, "/y");
        is_read = weir_url_split_path(weir_buf_view(&path), &arena, &parts, NULL) == 0;
        assert_int_equal(weir_url_is_segment(weir_str(words[i])), is_read);
        assert_true(!is_read || weir_str_eq_c(parts.segments[1], words[i]));
    }
    assert_true(weir_url_is_segment(S("a")));
    assert_false(weir_url_is_segment(S("a/b")));
    weir_buf_finish(&path);
    weir_arena_finish(&arena);
}

static void knows_the_addresses_of_the_machine_itself(void **state)
{
    static const char *const ours[] = {"localhost", "LocalHost", "127.0.0.1", "127.1.2.3", "::1"};
    static const char *const others[] = {"",    "localhost.example", "127.example", "128.0.0.1",
                                         "::2", "gpu-box",           "0.0.0.0",     "1127.0.0.1"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(ours); i++)
        assert_true(weir_url_is_loopback(weir_str(ours[i])));
    for (size_t i = 0; i < WEIR_COUNT_OF(others); i++)
        assert_false(weir_url_is_loopback(weir_str(others[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_bytes_of_paths_and_queries),
        cmocka_unit_test(parses_authorities),
        cmocka_unit_test(knows_what_can_be_a_segment),
        cmocka_unit_test(knows_the_addresses_of_the_machine_itself),
        cmocka_unit_test(decodes),
        cmocka_unit_test(splits_paths),
        cmocka_unit_test(splits_queries),
        cmocka_unit_test(encodes_so_that_it_decodes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "fmt/json.h"

#include "base/arena.h"
#include "base/count.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct weir_arena arena = WEIR_ARENA_INIT;

static int release(void **state)
{
    (void)state;
    weir_arena_finish(&arena);
    return 0;
}

/* Reads an exact copy on the heap, so that a step past the end is seen by the sanitizer. */
static int read_copy(struct weir_str text, const struct weir_json_options *options,
                     struct weir_tree **ret_tree, struct weir_err *err)
{
    char *copy = weir_arena_alloc(&arena, text.len);

    assert_non_null(copy);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    return weir_json_read(weir_str_n(copy, text.len), options, &arena, ret_tree, err);
}

static struct weir_tree *accept_n(struct weir_str text)
{
    struct weir_tree *tree = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    if (read_copy(text, NULL, &tree, &err) < 0)
        fail_msg("refused %.*s: %u:%u %s", WEIR_STR_ARG(text), err.line, err.column, err.text);
    return tree;
}

static struct weir_tree *accept(const char *text)
{
    return accept_n(weir_str(text));
}

static void refuse_n(struct weir_str text, uint32_t line, uint32_t column, const char *message)
{
    struct weir_tree *tree = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    int code = read_copy(text, NULL, &tree, &err);

    if (code >= 0)
        fail_msg("accepted %.*s", WEIR_STR_ARG(text));
    assert_null(tree);
    assert_int_equal(code, err.code);
    assert_string_equal(err.text, message);
    if (err.line != line || err.column != column)
        fail_msg("%.*s: error at %u:%u, not %u:%u", WEIR_STR_ARG(text), err.line, err.column, line,
                 column);
    /* The caller who wants no words gets the same code. */
    assert_int_equal(read_copy(text, NULL, &tree, NULL), code);
}

static void refuse(const char *text, uint32_t line, uint32_t column, const char *message)
{
    refuse_n(weir_str(text), line, column, message);
}

static void assert_str(struct weir_str got, const char *expected)
{
    if (!weir_str_eq_c(got, expected))
        fail_msg("got '%.*s', not '%s'", WEIR_STR_ARG(got), expected);
}

static void reads_every_kind(void **state)
{
    const struct weir_tree *t =
        accept(" {\"a\": [1, -2.5e+3, \"x\", true, false, null, {}, []]}\t\r\n");
    const struct weir_tree *a = weir_tree_get(t, "a");
    static const enum weir_tree_kind kinds[] = {WEIR_TREE_NUMBER, WEIR_TREE_NUMBER,
                                                WEIR_TREE_STRING, WEIR_TREE_BOOL,
                                                WEIR_TREE_BOOL,   WEIR_TREE_NULL,
                                                WEIR_TREE_OBJECT, WEIR_TREE_ARRAY};
    static const char *const texts[] = {"1", "-2.5e+3", "x", "true", "false", "null", "", ""};
    size_t i = 0;

    (void)state;
    assert_int_equal(t->kind, WEIR_TREE_OBJECT);
    assert_null(t->parent);
    assert_int_equal(t->n_children, 1);
    assert_ptr_equal(a->parent, t);
    assert_int_equal(a->n_children, 8);
    weir_tree_foreach (child, a) {
        assert_int_equal(child->kind, kinds[i]);
        assert_str(child->text, texts[i]);
        assert_int_equal(child->quoted, child->kind == WEIR_TREE_STRING);
        assert_ptr_equal(child->parent, a);
        i++;
    }
    assert_int_equal(i, 8);
    assert_ptr_equal(a->last->next, NULL);
}

static void knows_every_place(void **state)
{
    const struct weir_tree *t =
        accept("{\n  \"one\": 1,\r\n\t\"two\" : [\n10, {\"x\":\"\xC3\xA9\", "
               "\"y\":null} ]\n}");
    static const struct {
        const char *path;
        uint32_t line, column, key_line, key_column;
    } places[] = {
        {"", 1, 1, 0, 0},           {"one", 2, 10, 2, 3},   {"two", 3, 10, 3, 2},
        {"two[0]", 4, 1, 0, 0},     {"two[1]", 4, 5, 0, 0}, {"two[1].x", 4, 10, 4, 6},
        {"two[1].y", 4, 20, 4, 16},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(places); i++) {
        const struct weir_tree *node = weir_tree_path(t, places[i].path);

        assert_non_null(node);
        assert_int_equal(node->line, places[i].line);
        assert_int_equal(node->column, places[i].column);
        assert_int_equal(node->key_line, places[i].key_line);
        assert_int_equal(node->key_column, places[i].key_column);
    }
}

static void places_continue_from_the_options(void **state)
{
    struct weir_json_options options = {.line = 7, .column = 100};
    struct weir_tree *t;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(read_copy(WEIR_STR("[1,\n2]"), &options, &t, &err), 0);
    assert_int_equal(t->line, 7);
    assert_int_equal(t->column, 100);
    assert_int_equal(t->first->column, 101);
    assert_int_equal(t->last->line, 8);
    assert_int_equal(t->last->column, 1);
    assert_int_equal(read_copy(WEIR_STR("[1,]"), &options, &t, &err), WEIR_E_INVALID);
    assert_int_equal(err.line, 7);
    assert_int_equal(err.column, 103);
    options.column = UINT32_MAX;
    assert_int_equal(read_copy(WEIR_STR("[1, 2]"), &options, &t, &err), 0);
    assert_true(t->column > 4000000000u && t->last->column > t->column);
}

static void texts_without_escapes_are_not_copied(void **state)
{
    static const char text[] = "{\"key\":\"value\",\"n\":12,\"e\":\"a\\nb\",\"\":\"\"}";
    struct weir_tree *t;
    const struct weir_tree *e;

    (void)state;
    assert_int_equal(weir_json_read(weir_str(text), NULL, &arena, &t, NULL), 0);
    assert_ptr_equal(t->first->key.ptr, text + 2);
    assert_ptr_equal(t->first->text.ptr, text + 8);
    assert_ptr_equal(t->first->next->text.ptr, text + 19);
    e = weir_tree_get(t, "e");
    assert_str(e->text, "a\nb");
    assert_true(e->text.ptr < text || e->text.ptr >= text + sizeof(text));
    assert_int_equal(weir_tree_get(t, "")->text.len, 0);
}

static void decodes_strings(void **state)
{
    static const struct {
        const char *text;
        struct weir_str value;
    } cases[] = {
        {"\"\"", {"", 0}},
        {"\"plain\"", {"plain", 5}},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", {"\"\\/\b\f\n\r\t", 8}},
        {"\"12345678\\n12345678\"", {"12345678\n12345678", 17}},
        {"\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"", {"A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10}},
        {"\"\\ud800\\udc00\\uDBFF\\uDFFF\"", {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", 8}},
        {"\"\\u0000\"", {"\0", 1}},
        {"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
         {"\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF", 11}},
        {"\"\x7F\"", {"\x7F", 1}},
        {"\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"",
         {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", 11}},
        {"\"\xE2\x80\xA8\xE2\x80\xA9\"", {"\xE2\x80\xA8\xE2\x80\xA9", 6}},
        {"\"\xC3\xA9\\t\xC3\xA9\"", {"\xC3\xA9\t\xC3\xA9", 5}},
        {"\"\\\\\"", {"\\", 1}},
        {"\"[1,{]\"", {"[1,{]", 5}},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        const struct weir_tree *t = accept(cases[i].text);

        assert_int_equal(t->kind, WEIR_TREE_STRING);
        if (!weir_str_eq(t->text, cases[i].value))
            fail_msg("%s was read as '%.*s'", cases[i].text, WEIR_STR_ARG(t->text));
    }
}

/* A special byte at every position, so that each lane of the eight-byte steps is met. */
static void finds_specials_in_every_lane(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        for (size_t at = 0; at < n; at++) {
            char text[64];
            char expected[64];
            const struct weir_tree *t;

            memset(text, 'x', sizeof(text));
            text[0] = '"';
            memcpy(text + 1 + at, "\\n", 2);
            text[n + 2] = '"';
            t = accept_n(weir_str_n(text, n + 3));
            memset(expected, 'x', sizeof(expected));
            expected[at] = '\n';
            assert_true(weir_str_eq(t->text, weir_str_n(expected, n)));
            memcpy(text + 1 + at, "\xC3\xA9", 2);
            t = accept_n(weir_str_n(text, n + 3));
            assert_ptr_equal(memchr(t->text.ptr, '\xC3', t->text.len), t->text.ptr + at);
            memcpy(text + 1 + at, "\xC3x", 2);
            refuse_n(weir_str_n(text, n + 3), 1, (uint32_t)at + 2,
                     "byte 0xc3 in a string is not UTF-8");
            memcpy(text + 1 + at, "\x1Fx", 2);
            refuse_n(weir_str_n(text, n + 3), 1, (uint32_t)at + 2,
                     "control character 0x1f in a string, not escaped");
        }
    }
}

static void numbers_keep_their_text(void **state)
{
    static const char *const numbers[] = {
        "0",
        "-0",
        "1",
        "10",
        "-1",
        "0.0",
        "0.5",
        "1.5e300",
        "1e5",
        "1E+5",
        "1e-5",
        "0e0",
        "0e+00",
        "-0.0E-0",
        "1e999",
        "123456789012345678901234567890",
        "9223372036854775808",
        "1.000000000000000000001",
    };
    int64_t value;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(numbers); i++) {
        char text[80];

        assert_str(accept(numbers[i])->text, numbers[i]);
        assert_true(weir_json_is_number(weir_str(numbers[i])));
        snprintf(text, sizeof(text), "[%s]", numbers[i]);
        assert_str(accept(text)->first->text, numbers[i]);
    }
    assert_int_equal(
        weir_tree_i64(accept("-9223372036854775808"), INT64_MIN, INT64_MAX, &value, NULL), 0);
    assert_true(value == INT64_MIN);
    assert_false(weir_json_is_number(weir_str("")));
    assert_false(weir_json_is_number(weir_str("-")));
    assert_false(weir_json_is_number(weir_str("0x1F")));
    assert_false(weir_json_is_number(weir_str("012")));
    assert_false(weir_json_is_number(weir_str(".inf")));
    assert_false(weir_json_is_number(weir_str("1 ")));
    assert_false(weir_json_is_number(weir_str("+1")));
}

static const struct {
    const char *text;
    uint32_t line, column;
    const char *message;
} no_json[] = {
    {"", 1, 1, "expected a value, got the end of the text"},
    {" \n ", 2, 2, "expected a value, got the end of the text"},
    {"x", 1, 1, "expected a value, got 'x'"},
    {"\xEF\xBB\xBF[]", 1, 1, "expected a value, got byte 0xef"},
    {"[1]]", 1, 4, "expected nothing behind the value, got ']'"},
    {"1 2", 1, 3, "expected nothing behind the value, got '2'"},
    {"{}\v", 1, 3, "expected nothing behind the value, got byte 0x0b"},
    {"[\f1]", 1, 2, "expected a value, got byte 0x0c"},
    {"tru", 1, 1, "expected a value, got 't'"},
    {"trux", 1, 1, "expected a value, got 't'"},
    {"nullx", 1, 5, "expected nothing behind the value, got 'x'"},
    {"True", 1, 1, "expected a value, got 'T'"},
    {"NaN", 1, 1, "expected a value, got 'N'"},
    {"nul", 1, 1, "expected a value, got 'n'"},
    {"[1,2", 1, 5, "expected ',' or ']', got the end of the text"},
    {"[1,]", 1, 4, "expected a value, got ']'"},
    {"[,1]", 1, 2, "expected a value, got ','"},
    {"[1,,2]", 1, 4, "expected a value, got ','"},
    {"[1 2]", 1, 4, "expected ',' or ']', got '2'"},
    {"[1}", 1, 3, "expected ',' or ']', got '}'"},
    {"[", 1, 2, "expected a value, got the end of the text"},
    {"[\n\n  1\n  x", 4, 3, "expected ',' or ']', got 'x'"},
    {"{", 1, 2, "expected a key in double quotes, got the end of the text"},
    {"{]", 1, 2, "expected a key in double quotes, got ']'"},
    {"{a:1}", 1, 2, "expected a key in double quotes, got 'a'"},
    {"{'a':1}", 1, 2, "expected a key in double quotes, got '''"},
    {"{1:1}", 1, 2, "expected a key in double quotes, got '1'"},
    {"{\"a\"}", 1, 5, "expected ':', got '}'"},
    {"{\"a\" 1}", 1, 6, "expected ':', got '1'"},
    {"{\"a\":}", 1, 6, "expected a value, got '}'"},
    {"{\"a\":1,}", 1, 8, "expected a key in double quotes, got '}'"},
    {"{\"a\":1 \"b\":2}", 1, 8, "expected ',' or '}', got '\"'"},
    {"{\"a\":1]", 1, 7, "expected ',' or '}', got ']'"},
    {"{\"a\":1,,\"b\":2}", 1, 8, "expected a key in double quotes, got ','"},
    {"{\"a\"::1}", 1, 6, "expected a value, got ':'"},
    {"// x\n1", 1, 1, "expected a value, got '/'"},
    {"[1/* */]", 1, 3, "expected ',' or ']', got '/'"},
    {"-", 1, 2, "expected a digit, got the end of the text"},
    {"-x", 1, 2, "expected a digit, got 'x'"},
    {"+1", 1, 1, "expected a value, got '+'"},
    {".5", 1, 1, "expected a value, got '.'"},
    {"1.", 1, 3, "expected a digit, got the end of the text"},
    {"1.e5", 1, 3, "expected a digit, got 'e'"},
    {"1e", 1, 3, "expected a digit, got the end of the text"},
    {"1e+", 1, 4, "expected a digit, got the end of the text"},
    {"1e+-1", 1, 4, "expected a digit, got '-'"},
    {"01", 1, 1, "number begins with 0"},
    {"-01", 1, 1, "number begins with 0"},
    {"[00]", 1, 2, "number begins with 0"},
    {"0x10", 1, 2, "expected nothing behind the value, got 'x'"},
    {"1_000", 1, 2, "expected nothing behind the value, got '_'"},
    {"\"", 1, 2, "string is not closed at the end of the text"},
    {"\"abcdefgh", 1, 10, "string is not closed at the end of the text"},
    {"\"\\", 1, 3, "string is not closed at the end of the text"},
    {"\"\\\"", 1, 4, "string is not closed at the end of the text"},
    {"\"a\nb\"", 1, 3, "control character 0x0a in a string, not escaped"},
    {"\"a\tb\"", 1, 3, "control character 0x09 in a string, not escaped"},
    {"\"\\n\n\"", 1, 4, "control character 0x0a in a string, not escaped"},
    {"\"\\x\"", 1, 3, "expected one of \"\\/bfnrtu behind a backslash, got 'x'"},
    {"\"\\U0041\"", 1, 3, "expected one of \"\\/bfnrtu behind a backslash, got 'U'"},
    {"\"\\u12\"", 1, 2, "escape '\\u' without four hexadecimal digits"},
    {"\"\\u12g4\"", 1, 2, "escape '\\u' without four hexadecimal digits"},
    {"\"\\u", 1, 4, "string is not closed at the end of the text"},
    {"\"\\ud800\"", 1, 2, "escape '\\ud800' is the first half of a pair alone"},
    {"\"\\ud800x\"", 1, 2, "escape '\\ud800' is the first half of a pair alone"},
    {"\"\\ud800\\n\"", 1, 2, "escape '\\ud800' is the first half of a pair alone"},
    {"\"\\ud800\\u0041\"", 1, 2, "escape '\\ud800' is the first half of a pair alone"},
    {"\"\\uDBFF\\uD800\"", 1, 2, "escape '\\udbff' is the first half of a pair alone"},
    {"\"\\ud800\\udc0\"", 1, 2, "escape '\\ud800' is the first half of a pair alone"},
    {"\"\\udc00\"", 1, 2, "escape '\\udc00' is the second half of a pair alone"},
    {"\"\\n\\udfff\\ud800\"", 1, 4, "escape '\\udfff' is the second half of a pair alone"},
    {"\"\x80\"", 1, 2, "byte 0x80 in a string is not UTF-8"},
    {"\"\xC0\xAF\"", 1, 2, "byte 0xc0 in a string is not UTF-8"},
    {"\"\xE0\x80\x80\"", 1, 2, "byte 0xe0 in a string is not UTF-8"},
    {"\"\xED\xA0\x80\"", 1, 2, "byte 0xed in a string is not UTF-8"},
    {"\"\xF4\x90\x80\x80\"", 1, 2, "byte 0xf4 in a string is not UTF-8"},
    {"\"\xF8\x88\x80\x80\x80\"", 1, 2, "byte 0xf8 in a string is not UTF-8"},
    {"\"\xFF\"", 1, 2, "byte 0xff in a string is not UTF-8"},
    {"\"a\xE2\x82\"", 1, 3, "byte 0xe2 in a string is not UTF-8"},
    {"\"\xC3", 1, 2, "byte 0xc3 in a string is not UTF-8"},
    {"{\"\xC3\":1}", 1, 3, "byte 0xc3 in a string is not UTF-8"},
    {"[\xC3\xA9]", 1, 2, "expected a value, got byte 0xc3"},
};

static void refuses_what_is_no_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(no_json); i++)
        refuse(no_json[i].text, no_json[i].line, no_json[i].column, no_json[i].message);
    refuse_n(WEIR_STR("[1\0]"), 1, 3, "expected ',' or ']', got byte 0x00");
    refuse_n(WEIR_STR("\"a\0b\""), 1, 3, "control character 0x00 in a string, not escaped");
    refuse_n(WEIR_STR("1\0"), 1, 2, "expected nothing behind the value, got byte 0x00");
}

static void refuses_every_cut(void **state)
{
    static const char text[] = "{\"a\":[1.5e+3,\"x\\u00e9\\ud83d\\ude00\xC3\xA9\",true,null],"
                               "\"b\":{\"c\":false}}";

    (void)state;
    accept(text);
    for (size_t n = 0; n < strlen(text); n++) {
        struct weir_tree *tree;

        assert_int_equal(read_copy(weir_str_n(text, n), NULL, &tree, NULL), WEIR_E_INVALID);
    }
}

static void names_are_given_once(void **state)
{
    (void)state;
    refuse("{\"a\":1,\n \"a\":2}", 2, 2, "key 'a' is given twice, first on line 1, column 2");
    refuse("{\"a\":1,\"\\u0061\":2}", 1, 8, "key 'a' is given twice, first on line 1, column 2");
    refuse("{\"\":1,\"\":2}", 1, 7, "key '' is given twice, first on line 1, column 2");
    refuse("[{\"b\":{\"x\":1,\"y\":2,\"x\":3}}]", 1, 20,
           "key 'x' is given twice, first on line 1, column 8");
    accept("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}");
    accept("{\"ab\":1,\"ba\":2,\"aab\":3,\"aba\":4,\"abb\":5,\"\":6,\"a\\u0000b\":7}");
}

/* An object of n names; the one at `again` is repeated as the last (n: none is). */
static struct weir_str many_names(uint32_t n, uint32_t again)
{
    struct weir_buf text = WEIR_BUF_INIT(64 * 1024 * 1024);
    char *copy;

    for (uint32_t i = 0; i < n; i++)
        weir_buf_printf(&text, "%c\"k%u\":%u", i == 0 ? '{' : ',',
                        (unsigned)(i * 7919ull % 1000003), i);
    if (again < n)
        weir_buf_printf(&text, ",\"k%u\":true", (unsigned)(again * 7919ull % 1000003));
    weir_buf_putc(&text, '}');
    assert_int_equal(text.failed, 0);
    copy = weir_str_dup(weir_buf_view(&text), &arena);
    weir_buf_finish(&text);
    return weir_str(copy);
}

static void repeated_names_are_found_in_any_size(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 15, 16, 17, 18, 31, 33, 63, 64, 65, 100, 1000};

    (void)state;
    for (size_t s = 0; s < WEIR_COUNT_OF(sizes); s++) {
        uint32_t n = sizes[s];
        uint32_t step = n < 100 ? 1 : n / 50;

        assert_int_equal(accept_n(many_names(n, n))->n_children, n);
        for (uint32_t again = 0; again < n; again += step) {
            struct weir_json_options options = {.allow_duplicates = true};
            struct weir_tree *t = NULL;
            char name[32];
            struct weir_err err = WEIR_ERR_INIT;

            snprintf(name, sizeof(name), "k%u", (unsigned)(again * 7919ull % 1000003));
            assert_int_equal(read_copy(many_names(n, again), NULL, &t, &err), WEIR_E_INVALID);
            assert_non_null(strstr(err.text, "given twice"));
            assert_non_null(strstr(err.text, name));
            assert_int_equal(read_copy(many_names(n, again), &options, &t, &err), 0);
            assert_int_equal(t->n_children, n);
            assert_int_equal(weir_tree_get(t, name)->kind, WEIR_TREE_BOOL);
            assert_ptr_equal(weir_tree_get(t, name), t->last);
        }
        weir_arena_finish(&arena);
    }
}

static void the_last_of_equal_names_wins(void **state)
{
    struct weir_json_options options = {.allow_duplicates = true};
    struct weir_tree *t;

    (void)state;
    assert_int_equal(read_copy(WEIR_STR("{\"a\":1,\"b\":2,\"a\":{\"x\":[],\"x\":3},\"c\":4,"
                                        "\"a\":5,\"b\":6}"),
                               &options, &t, NULL),
                     0);
    assert_int_equal(t->n_children, 3);
    assert_str(t->first->key, "c");
    assert_str(t->first->next->key, "a");
    assert_str(t->first->next->text, "5");
    assert_str(t->last->key, "b");
    assert_str(t->last->text, "6");
    assert_null(t->last->next);
    assert_int_equal(read_copy(WEIR_STR("{\"a\":1,\"a\":2,\"a\":[7,8]}"), &options, &t, NULL), 0);
    assert_int_equal(t->n_children, 1);
    assert_ptr_equal(t->first, t->last);
    assert_int_equal(t->first->n_children, 2);
}

/* A million names must not take a million times a million steps: this ends in a blink or never. */
static void large_objects_take_no_square(void **state)
{
    (void)state;
    assert_int_equal(accept_n(many_names(1000000, 1000000))->n_children, 1000000);
}

static struct weir_str nested(size_t depth, const char *open, const char *close)
{
    struct weir_buf text = WEIR_BUF_INIT(1024 * 1024);
    char *copy;

    for (size_t i = 0; i < depth; i++)
        weir_buf_puts(&text, open);
    weir_buf_puts(&text, "1");
    for (size_t i = 0; i < depth; i++)
        weir_buf_puts(&text, close);
    copy = weir_str_dup(weir_buf_view(&text), &arena);
    weir_buf_finish(&text);
    return weir_str(copy);
}

static void depth_is_capped(void **state)
{
    struct weir_json_options options = {.max_depth = 3};
    struct weir_tree *t;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    accept_n(nested(128, "[", "]"));
    accept_n(nested(128, "{\"a\":", "}"));
    refuse_n(nested(129, "[", "]"), 1, 129, "more than 128 arrays and objects inside one another");
    refuse_n(nested(129, "{\"a\":", "}"), 1, 641,
             "more than 128 arrays and objects inside one another");
    assert_int_equal(read_copy(nested(129, "[", "]"), NULL, &t, NULL), WEIR_E_TOO_LARGE);
    assert_int_equal(read_copy(nested(3, "[", "]"), &options, &t, &err), 0);
    assert_int_equal(read_copy(nested(4, "[", "]"), &options, &t, &err), WEIR_E_TOO_LARGE);
    /* Only what is open counts. */
    assert_int_equal(read_copy(WEIR_STR("[[[]],[[]],{\"a\":{}}]"), &options, &t, &err), 0);
    options.max_depth = 1000000;
    assert_int_equal(read_copy(nested(1024, "[", "]"), &options, &t, &err), 0);
    assert_int_equal(read_copy(nested(1025, "[", "]"), &options, &t, &err), WEIR_E_TOO_LARGE);
}

static void texts_of_four_gib_are_refused(void **state)
{
    struct weir_tree *t = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    /* Refused by its length, before any byte is looked at. */
    assert_int_equal(weir_json_read(weir_str_n("1", UINT32_MAX), NULL, &arena, &t, &err),
                     WEIR_E_TOO_LARGE);
    assert_string_equal(err.text, "JSON text of 4 GiB or more");
    assert_null(t);
}

static void a_full_arena_is_an_error(void **state)
{
    struct weir_arena small;
    struct weir_tree *t = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    char zeros[2000];

    (void)state;
    for (size_t i = 0; i < sizeof(zeros); i++)
        zeros[i] = i == 0 ? '[' : i == sizeof(zeros) - 1 ? ']' : i % 2 == 1 ? '0' : ',';
    weir_arena_init(&small, 8192);
    assert_int_equal(weir_json_read(weir_str_n(zeros, sizeof(zeros)), NULL, &small, &t, &err),
                     WEIR_E_NO_MEMORY);
    assert_null(t);
    assert_string_equal(err.text, "no memory for the JSON tree");
    weir_arena_finish(&small);
    weir_arena_init(&small, 1000);
    memset(zeros, 'x', sizeof(zeros));
    zeros[0] = '"';
    memcpy(zeros + 1, "\\n", 2);
    zeros[sizeof(zeros) - 1] = '"';
    assert_int_equal(weir_json_read(weir_str_n(zeros, sizeof(zeros)), NULL, &small, &t, &err),
                     WEIR_E_NO_MEMORY);
    assert_null(t);
    weir_arena_finish(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_kind),
        cmocka_unit_test(knows_every_place),
        cmocka_unit_test(places_continue_from_the_options),
        cmocka_unit_test(texts_without_escapes_are_not_copied),
        cmocka_unit_test(decodes_strings),
        cmocka_unit_test(finds_specials_in_every_lane),
        cmocka_unit_test(numbers_keep_their_text),
        cmocka_unit_test(refuses_what_is_no_json),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(names_are_given_once),
        cmocka_unit_test(repeated_names_are_found_in_any_size),
        cmocka_unit_test(the_last_of_equal_names_wins),
        cmocka_unit_test(large_objects_take_no_square),
        cmocka_unit_test(depth_is_capped),
        cmocka_unit_test(texts_of_four_gib_are_refused),
        cmocka_unit_test(a_full_arena_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}

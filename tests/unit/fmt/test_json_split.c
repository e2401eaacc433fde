#include "base/count.h"
#include "json_split_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct weir_json_split_options list = {WEIR_JSON_SPLIT_LIST, 60, 200};
static const struct weir_json_split_options lines = {WEIR_JSON_SPLIT_LINES, 60, 0};

/* In whole, byte by byte, and in chunks of many sizes: always the same. */
static void expect_n(const struct weir_json_split_options *options, struct weir_str stream,
                     const char *expected)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        static const size_t sizes[] = {1, 2, 3, 5, 8, 20, 1000};
        size_t max_chunk = sizes[seed % (WEIR_COUNT_OF(sizes))];
        struct weir_buf log = WEIR_BUF_INIT(1024 * 1024);

        log_split(options, stream, max_chunk, seed, &log);
        if (strcmp(weir_buf_cstr(&log), expected) != 0)
            fail_msg("chunks up to %zu, seed %llu, of %.*s gave:\n%s\nnot:\n%s", max_chunk,
                     (unsigned long long)seed, WEIR_STR_ARG(stream), weir_buf_cstr(&log), expected);
        weir_buf_finish(&log);
    }
}

static void expect(const struct weir_json_split_options *options, const char *stream,
                   const char *expected)
{
    expect_n(options, weir_str(stream), expected);
}

static void takes_a_list_apart(void **state)
{
    (void)state;
    expect(&list,
           "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"c\"},"
           "\"items\":[{\"a\":1},{\"b\":[{}]}],\"x\":null}\n",
           "1:78 {\"a\":1}\n"
           "1:86 {\"b\":[{}]}\n"
           "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"c\"},"
           "\"items\":[],\"x\":null} @ 1:1/0:0 1:9/1:2 1:30/1:19 1:49/1:31 1:64/1:53 1:77/1:69 "
           "1:102/1:98\n");
    expect(&list, "{\"items\":[]}", "{\"items\":[]} @ 1:1/0:0 1:10/1:2\n");
    expect(&list, "{\"items\" : [ ] }", "{\"items\":[]} @ 1:1/0:0 1:12/1:2\n");
    expect(&list, "{\"items\":null}", "{\"items\":null} @ 1:1/0:0 1:10/1:2\n");
    expect(&list, "{\"kind\":\"Status\",\"code\":410}",
           "{\"kind\":\"Status\",\"code\":410} @ 1:1/0:0 1:9/1:2 1:25/1:18\n");
}

static void places_are_those_of_the_stream(void **state)
{
    (void)state;
    expect(
        &list,
        "{\n  \"items\": [\n    {\n      \"a\": 1\n    },\n    {}\n  ],\n  \"metadata\": {\n"
        "    \"continue\": \"\" } }",
        "3:5 {\n      \"a\": 1\n    }\n"
        "6:5 {}\n"
        "{\"items\":[],\"metadata\":{\"continue\":\"\"}} @ 1:1/0:0 2:12/2:3 8:15/8:3 9:17/9:5\n");
    expect(&list, "{\"items\":[{}\n,{}\n],\"a\":1,\n\"b\":2}",
           "1:11 {}\n2:2 {}\n{\"items\":[],\"a\":1,\"b\":2} @ 1:1/0:0 1:10/1:2 3:7/3:3 4:5/4:1\n");
    expect(&list, "{\"items\":[\n{}],\"a\":x}", "2:1 {}\nenvelope 2:9 expected a value, got 'x'\n");
}

static void only_the_roots_items_count(void **state)
{
    (void)state;
    expect(&list, "{\"a\":{\"items\":[1]},\"items\":[{\"items\":[{}]}]}",
           "1:29 {\"items\":[{}]}\n"
           "{\"a\":{\"items\":[1]},\"items\":[]} @ 1:1/0:0 1:6/1:2 1:15/1:7 1:16/0:0 1:28/1:20\n");
    expect(&list, "{\"a\":\"items\",\"b\":[1],\"items\":[{}]}",
           "1:31 {}\n{\"a\":\"items\",\"b\":[1],\"items\":[]} @ 1:1/0:0 1:6/1:2 1:18/1:14 1:19/0:0 "
           "1:30/1:22\n");
    expect(&list, "{\"item\":[1],\"itemss\":[2]}",
           "{\"item\":[1],\"itemss\":[2]} @ 1:1/0:0 1:9/1:2 1:10/0:0 1:22/1:13 1:23/0:0\n");
    expect(&list, "[\"items\",[1]]", "[\"items\",[1]] @ 1:1/0:0 1:2/0:0 1:10/0:0 1:11/0:0\n");
}

static void brackets_in_strings_do_not_count(void **state)
{
    (void)state;
    expect(&list, "{\"a\":\"}]\\\"[\",\"items\":[{\"x\":\"}\\\\\\\"}\"},{\"\\\\\":\"]\"}]}",
           "1:23 {\"x\":\"}\\\\\\\"}\"}\n"
           "1:38 {\"\\\\\":\"]\"}\n"
           "{\"a\":\"}]\\\"[\",\"items\":[]} @ 1:1/0:0 1:6/1:2 1:22/1:14\n");
}

static void refuses_broken_lists(void **state)
{
    static const char *const cases[][2] = {
        {"{\"items\":[1]}", "invalid 1:11 item 1 is not an object\n"},
        {"{\"items\":[{},\n \"x\"]}", "1:11 {}\ninvalid 2:2 item 2 is not an object\n"},
        {"{\"items\":[{},]}", "1:11 {}\ninvalid 1:14 item 2 is not an object\n"},
        {"{\"items\":[,{}]}", "invalid 1:11 item 1 is not an object\n"},
        {"{\"items\":[{} {}]}", "1:11 {}\ninvalid 1:14 expected ',' or ']' behind item 1\n"},
        {"{\"items\":[{}}", "1:11 {}\ninvalid 1:13 expected ',' or ']' behind item 1\n"},
        {"{\"items\":[", "invalid 1:11 list ends behind item 0, its items are not closed\n"},
        {"{\"items\":[{}, ",
         "1:11 {}\ninvalid 1:15 list ends behind item 1, its items are not closed\n"},
        {"{\"items\":[{},{\"a\":\"}", "1:11 {}\ninvalid 1:21 list ends inside item 2\n"},
        {"{\"items\":[{}]",
         "1:11 {}\nenvelope 1:14 expected ',' or '}', got the end of the text\n"},
        {"{\"items\":[{}]}x",
         "1:11 {}\nenvelope 1:15 expected nothing behind the value, got 'x'\n"},
        {"{\"items\":[{}],\"items\":[{}]}",
         "1:11 {}\nenvelope 1:15 key 'items' is given twice, first on line 1, column 2\n"},
        {"{\"items\":[{}],\"metadata\":{}",
         "1:11 {}\nenvelope 1:28 expected ',' or '}', got the end of the text\n"},
        {"{\"\\u0069tems\":[{}]}",
         "envelope 1:15 \"items\" must be an array, its name without escapes\n"},
        {"{\"items\":{}}", "envelope 1:10 \"items\" must be an array, its name without escapes\n"},
        {"{\"items\":5}", "envelope 1:10 \"items\" must be an array, its name without escapes\n"},
        {"", "envelope 1:1 expected a value, got the end of the text\n"},
        {"]", "envelope 1:1 expected a value, got ']'\n"},
        {"{\"kind\"", "envelope 1:8 expected ':', got the end of the text\n"},
        {"{\"kin", "envelope 1:6 string is not closed at the end of the text\n"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++)
        expect(&list, cases[i][0], cases[i][1]);
}

static void sizes_are_capped(void **state)
{
    char fill[300];
    char stream[700];
    char expected[700];

    (void)state;
    memset(fill, 'x', sizeof(fill));
    /* 60 bytes are allowed, 61 are not; wherever the chunks end. */
    snprintf(stream, sizeof(stream), "{\"items\":[{\"k\":\"%.52s\"}]}", fill);
    snprintf(expected, sizeof(expected),
             "1:11 {\"k\":\"%.52s\"}\n{\"items\":[]} @ 1:1/0:0 1:10/1:2\n", fill);
    expect(&list, stream, expected);
    snprintf(stream, sizeof(stream), "{\"items\":[{},{\"k\":\"%.53s\"}]}", fill);
    expect(&list, stream, "1:11 {}\ntoo-large 1:14 item 2 is larger than 60 bytes\n");
    snprintf(stream, sizeof(stream), "{\"items\":[{},{\"k\":\"%.200s", fill);
    expect(&list, stream, "1:11 {}\ntoo-large 1:14 item 2 is larger than 60 bytes\n");
    snprintf(stream, sizeof(stream), "{\"items\":[{}],\"k\":\"%.180s\"}", fill);
    snprintf(expected, sizeof(expected),
             "1:11 {}\n{\"items\":[],\"k\":\"%.180s\"} @ 1:1/0:0 1:10/1:2 1:19/1:15\n", fill);
    expect(&list, stream, expected);
    snprintf(stream, sizeof(stream), "{\"items\":[{}],\"k\":\"%.182s\"}", fill);
    expect(&list, stream,
           "1:11 {}\ntoo-large 0:0 list without its items is larger than 200 bytes\n");
    snprintf(stream, sizeof(stream), "{\"k\":\"%.200s", fill);
    expect(&list, stream, "too-large 0:0 list without its items is larger than 200 bytes\n");
    snprintf(stream, sizeof(stream), "1\n%.60s\n", fill);
    snprintf(expected, sizeof(expected), "1:1 1\n2:1 %.60s\n", fill);
    expect(&lines, stream, expected);
    snprintf(stream, sizeof(stream), "1\n%.61s\n2\n", fill);
    expect(&lines, stream, "1:1 1\ntoo-large 2:1 item 2 is larger than 60 bytes\n");
    snprintf(stream, sizeof(stream), "\n%.61s", fill);
    expect(&lines, stream, "too-large 2:1 item 1 is larger than 60 bytes\n");
    snprintf(stream, sizeof(stream), "%61s\n1\n", "");
    expect(&lines, stream, "too-large 1:1 item 1 is larger than 60 bytes\n");
}

static void takes_lines_apart(void **state)
{
    (void)state;
    expect(&lines, "", "");
    expect(&lines, "\n \n\t\r\n", "");
    expect(&lines, "{\"type\":\"ADDED\"}\n{\"type\":\"BOOKMARK\"}\n",
           "1:1 {\"type\":\"ADDED\"}\n2:1 {\"type\":\"BOOKMARK\"}\n");
    expect(&lines, "\n{}\r\n\n \n 1 \n[2", "2:1 {}\r\n5:1  1 \n6:1 [2\n");
    expect_n(&lines, weir_str_n("a\0b\n\0", 5), "1:1 a\\0b\n2:1 \\0\n");
}

/* Each item is read with the place it had in the stream. */
static void items_are_ready_to_be_read(void **state)
{
    struct weir_json_split split;
    struct weir_json_item item;
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *tree;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_json_split_init(&split, &list);
    weir_json_split_push(&split, WEIR_STR("{\"items\":[\n {\"a\":1}, {\"a\""));
    assert_int_equal(weir_json_split_next(&split, &item, &err), 1);
    assert_int_equal(weir_json_read(item.text, &item.options, &arena, &tree, &err), 0);
    assert_int_equal(tree->first->line, 2);
    assert_int_equal(tree->first->column, 7);
    assert_int_equal(weir_json_split_next(&split, &item, &err), 0);
    weir_json_split_push(&split, WEIR_STR(":x}]}"));
    assert_int_equal(weir_json_split_next(&split, &item, &err), 1);
    assert_int_equal(weir_json_read(item.text, &item.options, &arena, &tree, &err), WEIR_E_INVALID);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 16);
    assert_int_equal(weir_json_split_next(&split, &item, &err), 0);
    weir_json_split_end(&split);
    assert_int_equal(weir_json_split_next(&split, &item, &err), 0);
    assert_int_equal(weir_json_split_envelope(&split, &arena, &tree, &err), 0);
    weir_json_split_finish(&split);
    /* The envelope outlives the splitter. */
    assert_true(weir_str_eq_c(tree->first->key, "items"));
    weir_arena_finish(&arena);
}

static void one_item_is_held(void **state)
{
    struct weir_json_split_options options = {WEIR_JSON_SPLIT_LIST, 10000, 100};
    struct weir_json_split split;
    struct weir_json_item item;
    struct weir_buf body = WEIR_BUF_INIT(1024);
    unsigned n = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        weir_buf_puts(&body, i == 0 ? "{\"k\":[0" : i == 99 ? "]}," : ",1234567");
    weir_json_split_init(&split, &options);
    weir_json_split_push(&split, WEIR_STR("{\"items\":["));
    assert_int_equal(weir_json_split_next(&split, &item, NULL), 0);
    /* Chunks that end inside the items, for a stream of 8 MB. */
    for (int i = 0; i < 100000; i++) {
        struct weir_str part = weir_str_sub(weir_buf_view(&body), (size_t)(i % 8) * 100, 100);

        weir_json_split_push(&split, part);
        while (weir_json_split_next(&split, &item, NULL) > 0)
            n++;
    }
    assert_int_equal(n, 100000 / 8);
    assert_true(split.carry.cap < 2000 && split.envelope.cap < 200);
    weir_buf_finish(&body);
    weir_json_split_finish(&split);
    weir_json_split_finish(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_list_apart),
        cmocka_unit_test(places_are_those_of_the_stream),
        cmocka_unit_test(only_the_roots_items_count),
        cmocka_unit_test(brackets_in_strings_do_not_count),
        cmocka_unit_test(refuses_broken_lists),
        cmocka_unit_test(sizes_are_capped),
        cmocka_unit_test(takes_lines_apart),
        cmocka_unit_test(items_are_ready_to_be_read),
        cmocka_unit_test(one_item_is_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

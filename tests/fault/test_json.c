/* Every allocation of the JSON reader, splitter and writer fails once, alone and with all that
 * follow: WEIR_E_NO_MEMORY, outputs untouched, nothing lost (LeakSanitizer). */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/tree.h"
#include "fmt/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct weir_buf document = WEIR_BUF_INIT(1024 * 1024);

/* Large enough for several arena chunks, with an object that is sorted, escapes, and items that
 * chunks cut. */
static int make_document(void **state)
{
    (void)state;
    weir_buf_puts(&document, "{\"metadata\":{\"continue\":\"a\\u0062c\"},\"items\":[");
    for (int i = 0; i < 3; i++) {
        weir_buf_printf(&document, "%s{\"n\":%d,\"labels\":{", i > 0 ? "," : "", i);
        for (int k = 0; k < 100; k++)
            weir_buf_printf(&document, "%s\"key-%d\":\"v\\n%d\"", k > 0 ? "," : "", k, k);
        weir_buf_puts(&document, "}}");
    }
    weir_buf_puts(&document, "]}");
    assert_int_equal(document.failed, 0);
    return 0;
}

static int drop_document(void **state)
{
    (void)state;
    weir_buf_finish(&document);
    return 0;
}

static int read_whole(bool duplicates)
{
    struct weir_json_options options = {.allow_duplicates = duplicates};
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *tree = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    int code = weir_json_read(weir_buf_view(&document), &options, &arena, &tree, &err);

    if (code < 0) {
        assert_null(tree);
        assert_int_equal(err.code, code);
        assert_true(strncmp(err.text, "no memory", 9) == 0);
    } else {
        assert_int_equal(tree->n_children, 2);
    }
    weir_arena_finish(&arena);
    return code;
}

static int read_strict(void)
{
    return read_whole(false);
}

static int read_lenient(void)
{
    return read_whole(true);
}

static int split_all(void)
{
    static const struct weir_json_split_options options = {WEIR_JSON_SPLIT_LIST, 64 * 1024, 1024};
    struct weir_json_split split;
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_json_item item = {{NULL, 0}, {0}};
    struct weir_tree *tree = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    int code = 0;

    weir_json_split_init(&split, &options);
    for (size_t at = 0; at < document.len && code == 0; at += 500) {
        weir_json_split_push(&split, weir_str_sub(weir_buf_view(&document), at, 500));
        while ((code = weir_json_split_next(&split, &item, &err)) > 0)
            item.text = weir_str_n(NULL, 0);
        if (code < 0)
            assert_null(item.text.ptr);
    }
    if (code == 0) {
        weir_json_split_end(&split);
        assert_int_equal(weir_json_split_next(&split, &item, &err), 0);
        code = weir_json_split_envelope(&split, &arena, &tree, &err);
    }
    if (code < 0) {
        assert_null(tree);
        assert_true(strncmp(err.text, "no memory", 9) == 0);
    }
    weir_json_split_finish(&split);
    weir_arena_finish(&arena);
    return code;
}

static int split_lines(void)
{
    static const struct weir_json_split_options options = {WEIR_JSON_SPLIT_LINES, 64 * 1024, 0};
    struct weir_json_split split;
    struct weir_json_item item;
    struct weir_err err = WEIR_ERR_INIT;
    int code = 0;

    weir_json_split_init(&split, &options);
    for (size_t at = 0; at < document.len && code == 0; at += 500) {
        weir_json_split_push(&split, weir_str_sub(weir_buf_view(&document), at, 500));
        code = weir_json_split_next(&split, &item, &err);
    }
    if (code == 0) {
        weir_json_split_end(&split);
        assert_int_equal(weir_json_split_next(&split, &item, &err), 1);
        assert_true(weir_str_eq(item.text, weir_buf_view(&document)));
    } else {
        assert_string_equal(err.text, "no memory for item 1");
    }
    weir_json_split_finish(&split);
    return code;
}

static int write_all(void)
{
    struct weir_buf out = WEIR_BUF_INIT(64 * 1024);
    struct weir_json_writer w;
    struct weir_err err = WEIR_ERR_INIT;
    int code;

    weir_json_writer_init(&w, &out, true);
    weir_json_array_begin(&w);
    for (int i = 0; i < 500; i++) {
        weir_json_object_begin(&w);
        weir_json_key(&w, "k\n\x01");
        weir_json_f64(&w, i / 3.0);
        weir_json_object_end(&w);
    }
    weir_json_array_end(&w);
    code = weir_json_writer_end(&w, "the answer", &err);
    if (code < 0)
        assert_string_equal(err.text, "no memory for the answer");
    weir_buf_finish(&out);
    return code;
}

static void fail_each(int (*operation)(void), uint64_t fewest)
{
    static const uint64_t counts[] = {1, UINT64_MAX};

    for (size_t c = 0; c < 2; c++) {
        uint64_t n_allocations;

        weir_mem_fail(0, 0);
        assert_int_equal(operation(), 0);
        n_allocations = weir_mem_count();
        assert_true(n_allocations >= fewest);
        for (uint64_t at = 0; at < n_allocations; at++) {
            weir_mem_fail(at, counts[c]);
            assert_int_equal(operation(), WEIR_E_NO_MEMORY);
        }
        weir_mem_fail(0, 0);
    }
}

static void reader(void **state)
{
    (void)state;
    /* Four chunks of the arena, three objects sorted. */
    fail_each(read_strict, 7);
    fail_each(read_lenient, 7);
}

static void splitter(void **state)
{
    (void)state;
    fail_each(split_all, 5);
    fail_each(split_lines, 5);
}

static void writer(void **state)
{
    (void)state;
    fail_each(write_all, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader),
        cmocka_unit_test(splitter),
        cmocka_unit_test(writer),
    };

    return cmocka_run_group_tests(tests, make_document, drop_document);
}

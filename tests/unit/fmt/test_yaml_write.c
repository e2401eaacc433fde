#include "../support.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "fmt/yaml.h"
#include "fmt/yaml_write.h"

static const struct weir_tree *read_json(struct weir_str text, struct weir_arena *arena)
{
    struct weir_tree *tree = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_json_read(text, NULL, arena, &tree, &err) < 0)
        fail_msg("%.*s: %s", WEIR_STR_ARG(text), err.text);
    return tree;
}

static void assert_written(const char *json, const char *yaml)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);

    assert_int_equal(weir_yaml_write(read_json(weir_str(json), &arena), &out, NULL), 0);
    assert_string_equal(weir_buf_cstr(&out), yaml);
}

static void blocks_look_like_kubectls(void **state)
{
    (void)state;
    assert_written(
        "{\"a\": 1, \"b\": {\"c\": [1, {\"d\": true, \"e\": null}, [2, 3], []], \"f\": {}}}",
        "a: 1\nb:\n  c:\n  - 1\n  - d: true\n    e: null\n  - - 2\n    - 3\n  - []\n  f: {}\n");
    assert_written("\"text\"", "text\n");
    assert_written("[]", "[]\n");
    assert_written("[{\"a\": [{\"b\": 1}]}]", "- a:\n  - b: 1\n");
}

static void texts_are_quoted_where_they_must(void **state)
{
    (void)state;
    assert_written(
        "{\"a\": \"yes\", \"b\": \"1\", \"c\": \"0x1f\", \"d\": \"\", \"e\": \"~\", \"f\": "
        "\"null\", \"g\": \"1e3\"}",
        "a: \"yes\"\nb: \"1\"\nc: \"0x1f\"\nd: \"\"\ne: \"~\"\nf: \"null\"\ng: \"1e3\"\n");
    assert_written(
        "{\"a\": \"a: b\", \"b\": \"# x\", \"c\": \"- x\", \"d\": \"a #b\", \"on\": \"*x\", \"g\": "
        "\" x\", \"h\": \"x \"}",
        "a: \"a: b\"\nb: \"# x\"\nc: \"- x\"\nd: \"a #b\"\n\"on\": \"*x\"\ng: \" x\"\nh: \"x \"\n");
    assert_written("{\"a\": \"20Gi\", \"b\": \"/data/x\", \"c\": \"python train.py --n=3\", \"d\": "
                   "\"h100-sxm\", \"e\": \"größe\"}",
                   "a: 20Gi\nb: /data/x\nc: python train.py --n=3\nd: h100-sxm\ne: \"größe\"\n");
    assert_written("{\"a\": \"\\t\\u0007\\u0085\\u2028\\ufeff\\\"\\\\\\r\"}",
                   "a: \"\\t\\x07\\x85\\u2028\\ufeff\\\"\\\\\\r\"\n");
}

static void lines_become_blocks(void **state)
{
    (void)state;
    assert_written("{\"a\": \"x\\n  y\\n\", \"b\": [\"x\\n\\ny\"], \"c\": \" x\\n\", \"d\": "
                   "\"x\\n\\n\", \"e\": \"\\n\", \"f\": \"a\\tb\\n\"}",
                   "a: |\n  x\n    y\nb:\n- |-\n  x\n\n  y\nc: \" x\\n\"\nd: \"x\\n\\n\"\ne: "
                   "\"\\n\"\nf: \"a\\tb\\n\"\n");
    assert_written("\"x\\ny\"", "|-\n  x\n  y\n");
}

/* ---- any tree reads back ---- */

static void put_text(struct weir_rng *rng, struct weir_json_writer *writer, bool key)
{
    static const char *const pieces[] = {"a",
                                         "Z",
                                         "0",
                                         "1",
                                         "9",
                                         ".",
                                         "-",
                                         ":",
                                         " ",
                                         "#",
                                         "\n",
                                         "\t",
                                         "'",
                                         "\"",
                                         "\\",
                                         "{",
                                         "[",
                                         ",",
                                         "&",
                                         "*",
                                         "!",
                                         "|",
                                         ">",
                                         "%",
                                         "@",
                                         "`",
                                         "~",
                                         "yes",
                                         "null",
                                         "true",
                                         "0x",
                                         "1e",
                                         "_",
                                         "=",
                                         "<<",
                                         "?",
                                         "é",
                                         "日",
                                         "\xc2\x85",
                                         "\xe2\x80\xa8",
                                         "\xef\xbb\xbf",
                                         "\r",
                                         "\x7f",
                                         "\xf0\x9f\x98\x80",
                                         "---",
                                         "...",
                                         "\xef\xbf\xbd"};
    char text[256] = "";

    for (uint64_t k = weir_rng_below(rng, 6); k > 0; k--)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
                 pieces[weir_rng_below(rng, WEIR_COUNT_OF(pieces))]);
    if (key)
        weir_json_key(writer, text);
    else
        weir_json_text(writer, text);
}

static void put_value(struct weir_rng *rng, struct weir_json_writer *writer, int depth);

static void put_members(struct weir_rng *rng, struct weir_json_writer *writer, int depth)
{
    weir_json_object_begin(writer);
    for (uint64_t n = weir_rng_below(rng, 4); n > 0; n--) {
        char key[32];

        /* Names must differ, and some be odd. */
        snprintf(key, sizeof(key), "%s%u", weir_rng_below(rng, 2) == 0 ? "k" : ": #", (unsigned)n);
        weir_json_key(writer, key);
        put_value(rng, writer, depth);
    }
    if (weir_rng_below(rng, 2) == 0) {
        put_text(rng, writer, true);
        weir_json_null(writer);
    }
    weir_json_object_end(writer);
}

static void put_value(struct weir_rng *rng, struct weir_json_writer *writer, int depth)
{
    switch (weir_rng_below(rng, depth > 0 ? 8 : 6)) {
    case 0:
        weir_json_null(writer);
        break;
    case 1:
        weir_json_bool(writer, weir_rng_below(rng, 2) == 0);
        break;
    case 2:
        weir_json_i64(writer, (int64_t)weir_rng_next(rng));
        break;
    case 3:
        weir_json_f64(writer, weir_rng_unit(rng) * (weir_rng_below(rng, 2) == 0 ? 1e300 : 1));
        break;
    case 6:
        weir_json_array_begin(writer);
        for (uint64_t n = weir_rng_below(rng, 4); n > 0; n--)
            put_value(rng, writer, depth - 1);
        weir_json_array_end(writer);
        break;
    case 7:
        put_members(rng, writer, depth - 1);
        break;
    default:
        put_text(rng, writer, false);
        break;
    }
}

static void any_tree_reads_back(void **state)
{
    struct weir_rng rng = random_numbers();
    (void)state;

    for (int round = 0; round < 20000; round++) {
        weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
        weir_cleanup_buf struct weir_buf json = WEIR_BUF_INIT(1 << 20);
        weir_cleanup_buf struct weir_buf yaml = WEIR_BUF_INIT(1 << 20);
        struct weir_json_options options = {.allow_duplicates = true};
        struct weir_json_writer writer;
        struct weir_tree *tree = NULL;
        const struct weir_tree *back = NULL;
        struct weir_err err = WEIR_ERR_INIT;

        weir_json_writer_init(&writer, &json, false);
        put_value(&rng, &writer, 5);
        assert_int_equal(weir_json_read(weir_buf_view(&json), &options, &arena, &tree, NULL), 0);
        assert_int_equal(weir_yaml_write(tree, &yaml, NULL), 0);
        if (weir_yaml_read_one(weir_buf_view(&yaml), 1 << 20, &arena, &back, &err) < 0)
            fail_msg("%s\n%s\n%u:%u: %s", weir_buf_cstr(&json), weir_buf_cstr(&yaml), err.line,
                     err.column, err.text);
        if (!weir_tree_equal(tree, back))
            fail_msg("%s\n%s", weir_buf_cstr(&json), weir_buf_cstr(&yaml));
    }
}

static void limits_and_memory(void **state)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    char deep[400];
    const struct weir_tree *tree;
    struct weir_json_options options = {.max_depth = 200};
    struct weir_tree *nested = NULL;
    (void)state;

    memset(deep, '[', 150);
    deep[150] = '1';
    memset(deep + 151, ']', 150);
    assert_int_equal(weir_json_read(weir_str_n(deep, 301), &options, &arena, &nested, NULL), 0);
    {
        weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);

        assert_int_equal(weir_yaml_write(nested, &out, NULL), WEIR_E_TOO_LARGE);
    }
    tree = read_json(WEIR_STR("{\"a\": [\"word\", \"yes\", {\"b\": \"x\\ny\\n\"}]}"), &arena);
    for (uint64_t after = 0;; after++) {
        weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);
        int result;
        uint64_t used;

        weir_mem_fail(after, 1);
        result = weir_yaml_write(tree, &out, NULL);
        used = weir_mem_count();
        weir_mem_fail(0, 0);
        if (used <= after) {
            assert_int_equal(result, 0);
            return;
        }
        assert_int_equal(result, WEIR_E_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_look_like_kubectls),
        cmocka_unit_test(texts_are_quoted_where_they_must),
        cmocka_unit_test(lines_become_blocks),
        cmocka_unit_test(any_tree_reads_back),
        cmocka_unit_test(limits_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

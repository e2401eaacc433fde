/* Any bytes: what is read is written and read again as the same tree, on both layouts; and leave to
 * repeat names never refuses what was accepted without. */
#include "base/arena.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"

static void write_and_read(const struct weir_tree *tree, bool pretty, struct weir_arena *arena)
{
    struct weir_json_options options = {.max_depth = WEIR_JSON_DEPTH_LIMIT};
    struct weir_buf out = WEIR_BUF_INIT(256 * 1024 * 1024);
    struct weir_json_writer writer;
    struct weir_tree *again;

    weir_json_writer_init(&writer, &out, pretty);
    WEIR_ASSERT(weir_json_write_tree(&writer, tree, NULL) == 0);
    WEIR_ASSERT(weir_json_writer_end(&writer, "tree", NULL) == 0);
    WEIR_ASSERT(weir_json_read(weir_buf_view(&out), &options, arena, &again, NULL) == 0);
    WEIR_ASSERT(weir_tree_equal(tree, again));
    weir_buf_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_json_options lenient = {.allow_duplicates = true, .line = 3, .column = 9};
    struct weir_str text = weir_str_n((const char *)data, size);
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *tree = NULL;
    struct weir_tree *other = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    int code = weir_json_read(text, NULL, &arena, &tree, &err);
    int lenient_code = weir_json_read(text, &lenient, &arena, &other, NULL);

    WEIR_ASSERT(code == 0 || (err.line > 0 && err.column > 0 && err.text[0] != '\0'));
    WEIR_ASSERT(weir_json_read(text, NULL, &arena, &tree, NULL) == code);
    if (code == 0)
        WEIR_ASSERT(lenient_code == 0 && weir_tree_equal(tree, other));
    if (lenient_code == 0) {
        write_and_read(other, false, &arena);
        write_and_read(other, true, &arena);
    }
    weir_arena_finish(&arena);
    return 0;
}

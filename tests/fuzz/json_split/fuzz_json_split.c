/* Any bytes: what the splitter says does not depend on where the stream is cut. And when it finds
 * no fault and neither does the reader in the items, then the whole is one JSON text. */
#include "../../unit/fmt/json_split_log.h"
#include "base/count.h"

static void check(const struct weir_json_split_options *options, struct weir_str stream)
{
    static const size_t sizes[] = {1, 2, 7, 64};
    struct weir_buf whole = WEIR_BUF_INIT(256 * 1024 * 1024);

    log_split(options, stream, stream.len + 1, 0, &whole);
    for (size_t i = 0; i < WEIR_COUNT_OF(sizes); i++) {
        struct weir_buf log = WEIR_BUF_INIT(256 * 1024 * 1024);

        log_split(options, stream, sizes[i], i, &log);
        WEIR_ASSERT(weir_str_eq(weir_buf_view(&whole), weir_buf_view(&log)));
        weir_buf_finish(&log);
    }
    weir_buf_finish(&whole);
}

/* Pushes the stream in whole. Whether the splitter, the envelope and all items are good. */
static bool all_good(struct weir_str stream, struct weir_arena *arena)
{
    static const struct weir_json_split_options options = {WEIR_JSON_SPLIT_LIST, SIZE_MAX / 2,
                                                           SIZE_MAX / 2};
    struct weir_json_split split;
    struct weir_json_item item;
    struct weir_tree *tree;
    bool good = true;
    int got;

    weir_json_split_init(&split, &options);
    weir_json_split_push(&split, stream);
    weir_json_split_end(&split);
    while ((got = weir_json_split_next(&split, &item, NULL)) > 0)
        good = good && weir_json_read(item.text, &item.options, arena, &tree, NULL) == 0;
    good = good && got == 0 && weir_json_split_envelope(&split, arena, &tree, NULL) == 0;
    weir_json_split_finish(&split);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct weir_json_split_options options[] = {
        {WEIR_JSON_SPLIT_LIST, 1024 * 1024, 1024 * 1024},
        {WEIR_JSON_SPLIT_LIST, 40, 60},
        {WEIR_JSON_SPLIT_LINES, 1024 * 1024, 0},
        {WEIR_JSON_SPLIT_LINES, 20, 0},
    };
    struct weir_str stream = weir_str_n((const char *)data, size);
    struct weir_json_options deeper = {.max_depth = 1000};
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *tree;

    for (size_t i = 0; i < WEIR_COUNT_OF(options); i++)
        check(&options[i], stream);
    if (all_good(stream, &arena))
        WEIR_ASSERT(weir_json_read(stream, &deeper, &arena, &tree, NULL) == 0);
    weir_arena_finish(&arena);
    return 0;
}

/* What the splitter says of a stream, as text: a line per item, then how it ended. Used to hold
 * that the chunking does not matter, by the unit test and by the fuzz target. */
#ifndef WEIR_TESTS_JSON_SPLIT_LOG_H
#define WEIR_TESTS_JSON_SPLIT_LOG_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tree.h"
#include "fmt/json.h"

#include <string.h>

static void log_places(const struct weir_tree *node, struct weir_buf *log)
{
    weir_buf_printf(log, " %u:%u/%u:%u", node->line, node->column, node->key_line,
                    node->key_column);
    weir_tree_foreach (child, node)
        log_places(child, log);
}

static void log_envelope(struct weir_json_split *split, struct weir_buf *log)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_json_writer writer;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_tree *tree;

    if (weir_json_split_envelope(split, &arena, &tree, &err) < 0) {
        weir_buf_printf(log, "envelope %u:%u %s\n", err.line, err.column, err.text);
    } else {
        weir_json_writer_init(&writer, log, false);
        if (weir_json_write_tree(&writer, tree, &err) < 0)
            WEIR_BUG(err.text);
        weir_buf_puts(log, " @");
        log_places(tree, log);
        weir_buf_putc(log, '\n');
    }
    weir_arena_finish(&arena);
}

static void log_item(const struct weir_json_item *item, struct weir_buf *log)
{
    weir_buf_printf(log, "%u:%u ", item->options.line, item->options.column);
    for (size_t i = 0; i < item->text.len; i++)
        if (item->text.ptr[i] == '\0')
            weir_buf_puts(log, "\\0");
        else
            weir_buf_putc(log, item->text.ptr[i]);
    weir_buf_putc(log, '\n');
}

/* Takes out what is there. False after a failure. */
static bool log_items(struct weir_json_split *split, struct weir_buf *log)
{
    struct weir_json_item item;
    struct weir_err err = WEIR_ERR_INIT;
    int got;

    while ((got = weir_json_split_next(split, &item, &err)) > 0)
        log_item(&item, log);
    if (got < 0)
        weir_buf_printf(log, "%s %u:%u %s\n", weir_code_name(got), err.line, err.column, err.text);
    return got == 0;
}

/* Chunks of 1 to max_chunk bytes by seed, each an exact copy on the heap. */
static void log_split(const struct weir_json_split_options *options, struct weir_str stream,
                      size_t max_chunk, uint64_t seed, struct weir_buf *log)
{
    struct weir_json_split split;
    struct weir_rng rng;
    bool good = true;

    weir_rng_init(&rng, seed);
    weir_json_split_init(&split, options);
    for (size_t at = 0; at < stream.len && good;) {
        struct weir_str rest = weir_str_sub(stream, at, stream.len);
        struct weir_str part = weir_str_sub(rest, 0, 1 + (size_t)weir_rng_below(&rng, max_chunk));
        char *copy = weir_mem_alloc(part.len);

        if (copy == NULL)
            WEIR_BUG("no memory");
        memcpy(copy, part.ptr, part.len);
        weir_json_split_push(&split, weir_str_n(copy, part.len));
        good = log_items(&split, log);
        weir_mem_free(copy);
        at += part.len;
    }
    if (good) {
        weir_json_split_end(&split);
        good = log_items(&split, log);
    }
    if (good && options->mode == WEIR_JSON_SPLIT_LIST)
        log_envelope(&split, log);
    weir_json_split_finish(&split);
}

#endif

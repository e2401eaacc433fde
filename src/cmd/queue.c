#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/kinds.h"
#include "cmd/output.h"

#include <stdio.h>

enum { DEPTH_MAX = 64, NAME_BYTES_MAX = 1024, OUTPUT_BYTES_MAX = 256 * 1024 * 1024 };

static const struct weir_option options[] = {WEIR_OPTION_OUTPUT};

static const struct weir_sheet_column columns[] = {
    {.title = "QUEUE", .stretches = true},
    {.title = "GUARANTEED", .is_right = true},
    {.title = "LIMIT", .is_right = true},
    {.title = "HELD", .is_right = true},
    {.title = "WANTED", .is_right = true},
    {.title = "WAITING", .is_right = true},
    {.title = "WEIGHT", .is_right = true, .wide = true},
    {.title = "PRIORITY", .is_right = true, .wide = true},
};

struct forest {
    const struct weir_tree **queues;
    size_t n;
    struct weir_sheet table;
};

static void add_row(struct forest *forest, const struct weir_tree *queue, unsigned depth)
{
    weir_cleanup_buf struct weir_buf name = WEIR_BUF_INIT(NAME_BYTES_MAX);

    for (unsigned i = 0; i < depth; i++)
        weir_buf_puts(&name, "  ");
    weir_buf_str(&name, weir_client_text(queue, "name"));
    weir_sheet_add(&forest->table, weir_buf_view(&name));
    weir_kinds_amounts(&forest->table, weir_tree_get(queue, "guaranteed"));
    weir_kinds_amounts(&forest->table, weir_tree_get(queue, "limit"));
    weir_kinds_amounts(&forest->table, weir_tree_get(queue, "held"));
    weir_kinds_amounts(&forest->table, weir_tree_get(queue, "wanted"));
    weir_output_cell(&forest->table, queue, "waiting");
    weir_output_cell(&forest->table, queue, "weight");
    weir_output_cell(&forest->table, queue, "priority");
}

/* The children of `parent` (empty: those at the top), each with what is below it. */
static void add_children(struct forest *forest, struct weir_str parent, unsigned depth)
{
    for (size_t i = 0; i < forest->n && depth < DEPTH_MAX; i++) {
        const struct weir_tree *queue = forest->queues[i];

        if (!weir_str_eq(weir_client_text(queue, "parent"), parent))
            continue;
        add_row(forest, queue, depth);
        add_children(forest, weir_client_text(queue, "name"), depth + 1);
    }
}

static int print_tree(struct weir_client *client, const struct weir_args *args,
                      struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX);
    struct weir_sheet_look look =
        weir_output_look(args, weir_output_form(args) == WEIR_OUTPUT_WIDE);
    struct forest forest = {0};
    int result = weir_client_collect(client, &arena, &forest.queues, &forest.n, err);

    if (result < 0)
        return result;
    weir_sheet_init(&forest.table, columns, WEIR_COUNT_OF(columns));
    add_children(&forest, WEIR_STR(""), 0);
    result = weir_sheet_write(&forest.table, &look, &text, err);
    weir_sheet_finish(&forest.table);
    if (result == 0)
        fputs(weir_buf_cstr(&text), stdout);
    for (size_t i = 0; result == 0 && i < forest.n; i++) {
        struct weir_str warning = weir_client_text(forest.queues[i], "warning");

        if (warning.len > 0)
            fprintf(stderr, "weir: queue %.*s: %.*s\n",
                    WEIR_STR_ARG(weir_client_text(forest.queues[i], "name")),
                    WEIR_STR_ARG(warning));
    }
    return result;
}

static int show(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    enum weir_output form = weir_output_form(args);

    weir_client_path(client, "/v1/queues");
    if (form == WEIR_OUTPUT_TABLE || form == WEIR_OUTPUT_WIDE)
        return print_tree(client, args, err);
    return weir_output_list(client, args, &weir_queues_kind, err);
}

static const struct weir_example examples[] = {
    {"weir queue", "the tree of queues: quotas, use and who waits"},
};

const struct weir_command weir_command_queue = {
    .name = "queue",
    .summary = "show the tree of queues: quotas and use",
    .operands = "",
    .about =
        "Shows the queues as a tree. Numbers are GPUs, other resources stand behind them by "
        "name. GUARANTEED is what a queue gets whenever it asks, LIMIT the most it may use, "
        "HELD what it uses now, WANTED what it uses and waits for, WAITING how many jobs wait.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .group = WEIR_GROUP_LOOK,
    .is_client = true,
    .ask = show,
};

#include "cmd/workloads.h"

#include "base/cleanup.h"
#include "base/count.h"
#include "base/tree.h"
#include "fmt/quantity.h"

static const struct weir_sheet_column columns[] = {
    {.title = "ID", .is_right = true},
    {.title = "NAME", .stretches = true},
    {.title = "QUEUE"},
    {.title = "STATE", .is_state = true},
    {.title = "GPUS", .is_right = true},
    {.title = "NODE"},
    {.title = "AGE", .is_right = true},
    {.title = "RUN", .is_right = true},
    {.title = "OWNER", .wide = true},
    {.title = "CLASS", .wide = true},
    {.title = "PRIORITY", .wide = true, .is_right = true},
    {.title = "ATTEMPT", .wide = true, .is_right = true},
    {.title = "EXIT", .wide = true, .is_right = true},
    {.title = "DEVICES", .wide = true},
    {.title = "ISOLATION", .wide = true},
    {.title = "REASON", .stretches = true},
};

/* How many it holds, with the tasks of an array that run; of such it shares "20Gi" or "3x20Gi", or
 * "0.25"; of instances "1g.10gb". */
static void add_gpus(struct weir_sheet *table, const struct weir_tree *item)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_SHEET_BYTES_MAX);
    const struct weir_tree *gpus = weir_tree_get(item, "gpus");
    uint32_t n = gpus != NULL ? gpus->n_children : 0;
    int64_t budget = weir_client_i64(item, "gpu_memory_bytes", 0);
    const struct weir_tree *part = weir_tree_get(item, "gpu_part");
    struct weir_str profile = weir_client_text(item, "mig_profile");
    bool is_part = part != NULL && part->kind == WEIR_TREE_NUMBER;
    bool is_counted = budget == 0 && !is_part && profile.len == 0;

    if (n > 0 && (is_counted || n > 1))
        weir_buf_printf(&text, "%u%s", n, is_counted ? "" : "x");
    if (n > 0 && profile.len > 0)
        weir_buf_str(&text, profile);
    else if (n > 0 && budget > 0)
        weir_quantity_format_bytes(budget, &text);
    else if (n > 0 && is_part)
        weir_buf_str(&text, part->text);
    weir_sheet_add(table, weir_buf_view(&text));
}

/* The first, and whether there are more: the whole list is too wide. */
static void add_devices(struct weir_sheet *table, const struct weir_tree *item)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_SHEET_BYTES_MAX);
    const struct weir_tree *gpus = weir_tree_get(item, "gpus");

    if (gpus != NULL && gpus->first != NULL)
        weir_buf_printf(&text, "%.*s%s", WEIR_STR_ARG(gpus->first->text),
                        gpus->n_children > 1 ? ",…" : "");
    weir_sheet_add(table, weir_buf_view(&text));
}

/* "sweep[12]" for an array or a gang. */
static void add_name(struct weir_sheet *table, const struct weir_tree *item)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_SHEET_BYTES_MAX);
    int64_t members = weir_client_i64(item, "members", 1);

    weir_buf_str(&text, weir_client_text(item, "name"));
    if (members > 1)
        weir_buf_printf(&text, "[%lld]", (long long)members);
    weir_sheet_add(table, weir_buf_view(&text));
}

static void row(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms)
{
    int64_t submitted_ms = weir_client_i64(item, "submitted_ms", -1);
    int64_t started_ms = weir_client_i64(item, "started_ms", -1);
    int64_t ended_ms = weir_client_i64(item, "ended_ms", -1);

    weir_output_cell(table, item, "id");
    add_name(table, item);
    weir_output_cell(table, item, "queue");
    weir_output_cell(table, item, "state");
    add_gpus(table, item);
    weir_output_cell(table, item, "node");
    weir_output_span(table, submitted_ms, now_ms);
    weir_output_span(table, started_ms, ended_ms >= 0 ? ended_ms : now_ms);
    weir_output_cell(table, item, "owner");
    weir_output_cell(table, item, "class");
    weir_output_cell(table, item, "priority");
    weir_output_cell(table, item, "attempt");
    weir_output_cell(table, item, "exit_status");
    add_devices(table, item);
    weir_output_cell(table, item, "isolation");
    weir_output_cell(table, item, "reason");
}

const struct weir_output_kind weir_workloads_kind = {
    .columns = columns,
    .n_columns = WEIR_COUNT_OF(columns),
    .row = row,
    .key = "id",
    .nothing = "no jobs",
};

bool weir_workload_has_ended(struct weir_str state)
{
    static const char *const ended[] = {"succeeded", "failed", "cancelled", "lost"};

    for (size_t i = 0; i < WEIR_COUNT_OF(ended); i++)
        if (weir_str_eq_c(state, ended[i]))
            return true;
    return false;
}

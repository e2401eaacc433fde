#include "cmd/kinds.h"

#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "base/units.h"
#include "cmd/when.h"
#include "cmd/workloads.h"
#include "fmt/quantity.h"

#include <stdio.h>
#include <string.h>

enum { CELL_BYTES_MAX = 64 * 1024, WORDS_MAX = 32 };

/* ---- cells ---- */

static void put_amount(struct weir_buf *text, const struct weir_tree *amount)
{
    int64_t bytes;

    if (weir_str_eq_c(amount->key, "gpu")) {
        weir_buf_str(text, amount->text);
        return;
    }
    weir_buf_printf(text, "%.*s=", WEIR_STR_ARG(amount->key));
    if (weir_str_eq_c(amount->key, "memory") && weir_str_to_i64(amount->text, &bytes))
        weir_quantity_format_bytes(bytes, text);
    else
        weir_buf_str(text, amount->text);
}

void weir_kinds_amounts(struct weir_sheet *table, const struct weir_tree *amounts)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CELL_BYTES_MAX);

    for (const struct weir_tree *one = amounts != NULL ? amounts->first : NULL; one != NULL;
         one = one->next) {
        if (text.len > 0)
            weir_buf_putc(&text, ',');
        put_amount(&text, one);
    }
    weir_sheet_add(table, weir_buf_view(&text));
}

/* "23.5Gi" */
static void put_size(struct weir_buf *text, int64_t bytes)
{
    size_t start = text->len;
    size_t end;

    weir_units_format_bytes(bytes, text);
    if (text->failed != 0)
        return;
    for (end = start; end < text->len && text->data[end] != ' ';)
        end++;
    if (end + 3 < text->len)
        memmove(&text->data[end], &text->data[end + 1], 2);
    weir_buf_truncate(text, end + 3 < text->len ? end + 2 : text->len);
}

static void put_thing(struct weir_buf *text, const struct weir_tree *amount)
{
    int64_t bytes;

    if (weir_str_eq_c(amount->key, "memory") && weir_str_to_i64(amount->text, &bytes))
        put_size(text, bytes);
    else
        weir_buf_printf(text, "%.*s %s%s", WEIR_STR_ARG(amount->text),
                        weir_str_eq_c(amount->key, "gpu") ? "GPU" : "CPU",
                        weir_str_eq_c(amount->text, "1") ? "" : "s");
}

/* "8 GPUs, 2 CPUs, 23.5Gi" */
static void add_things(struct weir_sheet *table, const struct weir_tree *amounts)
{
    static const char *const keys[] = {"gpu", "cpu", "memory"};
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CELL_BYTES_MAX);

    for (size_t i = 0; i < WEIR_COUNT_OF(keys); i++) {
        const struct weir_tree *amount = weir_tree_get(amounts, keys[i]);

        if (amount == NULL)
            continue;
        if (text.len > 0)
            weir_buf_puts(&text, ", ");
        put_thing(&text, amount);
    }
    weir_sheet_add(table, weir_buf_view(&text));
}

static void add_bytes(struct weir_sheet *table, const struct weir_tree *item, const char *member)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CELL_BYTES_MAX);
    int64_t bytes = weir_client_i64(item, member, -1);

    if (bytes >= 0)
        weir_units_format_bytes(bytes, &text);
    weir_sheet_add(table, weir_buf_view(&text));
}

/* ---- queues ---- */

static const struct weir_sheet_column queue_columns[] = {
    {.title = "NAME"},
    {.title = "PARENT"},
    {.title = "GUARANTEED", .is_right = true},
    {.title = "LIMIT", .is_right = true},
    {.title = "HELD", .is_right = true},
    {.title = "WANTED", .is_right = true},
    {.title = "WAITING", .is_right = true},
    {.title = "WEIGHT", .is_right = true, .wide = true},
    {.title = "PRIORITY", .is_right = true, .wide = true},
    {.title = "ISOLATION", .wide = true},
    {.title = "PREEMPTIBLE", .wide = true},
};

static void queue_row(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms)
{
    (void)now_ms;
    weir_output_cell(table, item, "name");
    weir_output_cell(table, item, "parent");
    weir_kinds_amounts(table, weir_tree_get(item, "guaranteed"));
    weir_kinds_amounts(table, weir_tree_get(item, "limit"));
    weir_kinds_amounts(table, weir_tree_get(item, "held"));
    weir_kinds_amounts(table, weir_tree_get(item, "wanted"));
    weir_output_cell(table, item, "waiting");
    weir_output_cell(table, item, "weight");
    weir_output_cell(table, item, "priority");
    weir_output_cell(table, item, "isolation");
    weir_output_cell(table, item, "preemptible");
}

const struct weir_output_kind weir_queues_kind = {
    .columns = queue_columns,
    .n_columns = WEIR_COUNT_OF(queue_columns),
    .row = queue_row,
    .key = "name",
    .nothing = "there are no queues",
};

/* ---- GPUs ---- */

static const struct weir_sheet_column gpu_columns[] = {
    {.title = "KEY"},
    {.title = "NODE"},
    {.title = "INDEX", .is_right = true},
    {.title = "MODEL"},
    {.title = "MIG"},
    {.title = "MEMORY", .is_right = true},
    {.title = "STATE", .is_state = true},
    {.title = "HELD", .is_right = true},
    {.title = "CLASS", .wide = true},
    {.title = "HEALTH", .wide = true, .is_state = true},
    {.title = "FOREIGN", .wide = true, .is_right = true},
    {.title = "SHARING", .wide = true},
    {.title = "MPS", .wide = true},
    {.title = "HOLDERS", .stretches = true},
    {.title = "CAUSE", .wide = true, .stretches = true},
};

static void add_holders(struct weir_sheet *table, const struct weir_tree *holders)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CELL_BYTES_MAX);

    for (const struct weir_tree *one = holders != NULL ? holders->first : NULL; one != NULL;
         one = one->next) {
        if (text.len > 0)
            weir_buf_putc(&text, ',');
        weir_buf_str(&text, weir_client_text(one, "id"));
        if (weir_client_i64(one, "memory_bytes", 0) > 0) {
            weir_buf_putc(&text, ':');
            weir_quantity_format_bytes(weir_client_i64(one, "memory_bytes", 0), &text);
        }
    }
    weir_sheet_add(table, weir_buf_view(&text));
}

/* "on" of a GPU that is cut, "3g.40gb 4-7" of an instance. */
static void add_cut(struct weir_sheet *table, const struct weir_tree *item)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CELL_BYTES_MAX);
    const struct weir_tree *slots = weir_tree_get(item, "slots");
    struct weir_str mode = weir_client_text(weir_tree_get(item, "mig"), "mode");

    if (weir_str_eq_c(mode, "on"))
        weir_buf_puts(&text, "on");
    weir_buf_str(&text, weir_client_text(item, "mig_profile"));
    if (slots != NULL && slots->n_children == 1)
        weir_buf_printf(&text, " %.*s", WEIR_STR_ARG(slots->first->text));
    else if (slots != NULL && slots->first != NULL)
        weir_buf_printf(&text, " %.*s-%.*s", WEIR_STR_ARG(slots->first->text),
                        WEIR_STR_ARG(slots->last->text));
    weir_sheet_add(table, weir_buf_view(&text));
}

static void gpu_row(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms)
{
    (void)now_ms;
    weir_output_cell(table, item, "key");
    weir_output_cell(table, item, "node");
    weir_output_cell(table, item, "index");
    weir_output_cell(table, item, "model");
    add_cut(table, item);
    add_bytes(table, item, "memory_bytes");
    weir_output_cell(table, item, "state");
    weir_output_cell(table, item, "held");
    weir_output_cell(table, item, "class");
    weir_output_cell(table, item, "health");
    weir_output_cell(table, item, "foreign_processes");
    weir_output_cell(table, item, "sharing");
    weir_output_cell(table, item, "mps");
    add_holders(table, weir_tree_get(item, "holders"));
    weir_output_cell(table, item, "cause");
}

static const struct weir_output_kind gpus_kind = {
    .columns = gpu_columns,
    .n_columns = WEIR_COUNT_OF(gpu_columns),
    .row = gpu_row,
    .key = "key",
    .nothing = "there are no GPUs",
};

/* ---- GPU setups ---- */

static const struct weir_sheet_column setup_columns[] = {
    {.title = "NAME"},
    {.title = "ENTRIES", .is_right = true},
    {.title = "CREATED"},
    {.title = "MIG OR SHARING", .stretches = true},
};

/* "time-slicing 4" */
static void put_sharing(struct weir_buf *text, const struct weir_tree *entry)
{
    struct weir_str sharing = weir_client_text(entry, "sharing");
    struct weir_str replicas = weir_client_text(entry, "replicas");

    weir_buf_str(text, sharing);
    if (replicas.len > 0)
        weir_buf_printf(text, " %.*s", WEIR_STR_ARG(replicas));
}

/* "1g.10gb=7; time-slicing 4": what each entry makes of its GPUs. */
static void add_cuts(struct weir_sheet *table, const struct weir_tree *entries)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CELL_BYTES_MAX);

    for (const struct weir_tree *one = entries != NULL ? entries->first : NULL; one != NULL;
         one = one->next) {
        const struct weir_tree *mig = weir_tree_get(one, "mig");
        const struct weir_tree *devices = weir_tree_get(mig, "devices");

        weir_buf_puts(&text, text.len > 0 ? "; " : "");
        if (devices == NULL || devices->first == NULL) {
            weir_buf_str(&text, weir_str_eq_c(weir_client_text(mig, "enabled"), "true")
                                    ? WEIR_STR("on")
                                : weir_client_text(mig, "enabled").len > 0 ? WEIR_STR("off")
                                                                           : WEIR_STR(""));
            put_sharing(&text, one);
            continue;
        }
        weir_tree_foreach (count, devices)
            weir_buf_printf(&text, "%s%.*s=%.*s", count == devices->first ? "" : ",",
                            WEIR_STR_ARG(count->key), WEIR_STR_ARG(count->text));
    }
    weir_sheet_add(table, weir_buf_view(&text));
}

static void setup_row(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms)
{
    const struct weir_tree *entries = weir_tree_path(item, "spec.gpus");
    int64_t at_ms = weir_client_i64(item, "created_ms", -1);
    char when[WEIR_WHEN_MAX];
    char n[16];

    (void)now_ms;
    snprintf(n, sizeof(n), "%u", entries != NULL ? entries->n_children : 0);
    weir_output_cell(table, item, "name");
    weir_sheet_add(table, weir_str(n));
    weir_sheet_add(table, weir_str(at_ms >= 0 ? weir_when_full(at_ms, when) : ""));
    add_cuts(table, entries);
}

static const struct weir_output_kind setups_kind = {
    .columns = setup_columns,
    .n_columns = WEIR_COUNT_OF(setup_columns),
    .row = setup_row,
    .key = "name",
    .nothing = "there are no GPU setups",
};

/* ---- nodes ---- */

static const struct weir_sheet_column node_columns[] = {
    {.title = "NAME"},
    {.title = "STATE", .is_state = true},
    {.title = "GPUS", .is_right = true},
    {.title = "CAPACITY"},
    {.title = "HELD"},
    {.title = "POOL", .wide = true},
    {.title = "CAUSE", .stretches = true},
};

static void node_row(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms)
{
    (void)now_ms;
    weir_output_cell(table, item, "name");
    weir_output_cell(table, item, "state");
    weir_output_cell(table, item, "gpus");
    add_things(table, weir_tree_get(item, "capacity"));
    add_things(table, weir_tree_get(item, "held"));
    weir_output_cell(table, item, "pool");
    weir_output_cell(table, item, "cause");
}

static const struct weir_output_kind nodes_kind = {
    .columns = node_columns,
    .n_columns = WEIR_COUNT_OF(node_columns),
    .row = node_row,
    .key = "name",
    .nothing = "there are no nodes",
};

/* ---- events ---- */

static const struct weir_sheet_column event_columns[] = {
    {.title = "SEQ", .is_right = true},
    {.title = "AT"},
    {.title = "KIND"},
    {.title = "SUBJECT"},
    {.title = "ACTOR"},
    {.title = "BEFORE", .wide = true},
    {.title = "AFTER"},
    {.title = "CAUSE", .stretches = true},
};

static void event_row(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms)
{
    int64_t at_ms = weir_client_i64(item, "at_ms", -1);
    char when[WEIR_WHEN_MAX];

    (void)now_ms;
    weir_output_cell(table, item, "seq");
    weir_sheet_add(table, weir_str(at_ms >= 0 ? weir_when_full(at_ms, when) : ""));
    weir_output_cell(table, item, "kind");
    weir_output_cell(table, item, "subject");
    weir_output_cell(table, item, "actor");
    weir_output_cell(table, item, "before");
    weir_output_cell(table, item, "after");
    weir_output_cell(table, item, "cause");
}

const struct weir_output_kind weir_events_kind = {
    .columns = event_columns,
    .n_columns = WEIR_COUNT_OF(event_columns),
    .row = event_row,
    .key = "seq",
    .nothing = "nothing has happened",
};

/* ---- tasks ---- */

static const struct weir_sheet_column task_columns[] = {
    {.title = "MEMBER", .is_right = true},
    {.title = "STATE", .is_state = true},
    {.title = "ATTEMPT", .is_right = true},
    {.title = "EXIT", .is_right = true},
    {.title = "NODE"},
    {.title = "RUN", .is_right = true},
    {.title = "REASON", .stretches = true},
};

static void task_row(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms)
{
    int64_t started_ms = weir_client_i64(item, "started_ms", -1);
    int64_t ended_ms = weir_client_i64(item, "ended_ms", -1);

    weir_output_cell(table, item, "member");
    weir_output_cell(table, item, "state");
    weir_output_cell(table, item, "attempt");
    weir_output_cell(table, item, "exit_status");
    weir_output_cell(table, item, "node");
    weir_output_span(table, started_ms, ended_ms >= 0 ? ended_ms : now_ms);
    weir_output_cell(table, item, "reason");
}

static const struct weir_output_kind tasks_kind = {
    .columns = task_columns,
    .n_columns = WEIR_COUNT_OF(task_columns),
    .row = task_row,
    .key = "member",
    .nothing = "there are no such tasks",
};

/* ---- names ---- */

static const struct weir_kind_entry kinds[] = {
    {"workloads", "workload", {"wl", "jobs", "job"}, &weir_workloads_kind},
    {"tasks", "task", {"members", "member"}, &tasks_kind},
    {"queues", "queue", {"q"}, &weir_queues_kind},
    {"gpus", "gpu", {"g"}, &gpus_kind},
    {"gpusetups", "gpusetup", {"setups", "setup"}, &setups_kind},
    {"nodes", "node", {"no", "n"}, &nodes_kind},
    {"events", "event", {"ev"}, &weir_events_kind},
};

int weir_kind_find(const char *command, const char *word, const struct weir_kind_entry **ret_kind,
                   struct weir_err *err)
{
    struct weir_str words[WORDS_MAX];
    char shown[WEIR_STR_SHOW_MAX];
    size_t n = 0;
    ptrdiff_t near;

    for (size_t i = 0; i < WEIR_COUNT_OF(kinds); i++) {
        const struct weir_kind_entry *kind = &kinds[i];

        words[n++] = weir_str(kind->plural);
        words[n++] = weir_str(kind->one);
        for (size_t j = 0; j < WEIR_COUNT_OF(kind->alias) && kind->alias[j] != NULL; j++)
            words[n++] = weir_str(kind->alias[j]);
        for (size_t j = 0; j < n; j++) {
            if (!weir_str_eq_c(words[j], word))
                continue;
            *ret_kind = kind;
            return 0;
        }
    }
    near = weir_str_nearest(weir_str(word), words, n);
    weir_error(err, WEIR_E_INVALID, "%s: there is no kind '%s'", command,
               weir_str_show(weir_str(word), shown));
    if (near >= 0)
        return weir_error_hint(err, "did you mean %.*s?", WEIR_STR_ARG(words[near]));
    return weir_error_hint(err, "one of %s", WEIR_KIND_WORDS);
}

bool weir_kind_is_gpu_key(const char *word)
{
    struct weir_str text = weir_str(word);

    return weir_str_starts_with(text, WEIR_STR("GPU-")) ||
           weir_str_starts_with(text, WEIR_STR("MIG-")) || weir_str_find_char(text, '#') >= 0;
}

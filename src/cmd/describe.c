/* One thing for people: its fields, a line each. "submitted_ms: 1700000000000" becomes "Submitted:
 * 14:20:05 CET (3m05s ago)"; what is null or empty is left out. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/err.h"
#include "base/time.h"
#include "base/tree.h"
#include "base/units.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/explain.h"
#include "cmd/job_id.h"
#include "cmd/kinds.h"
#include "cmd/when.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT_BYTES_MAX = 64 * 1024 * 1024, LABEL_WIDTH = 18, DEPTH_MAX = 8, TASKS_SHOWN = 10 };

/* ---- values ---- */

static struct weir_str without(struct weir_str name, const char *suffix)
{
    if (weir_str_ends_with(name, weir_str(suffix)))
        name.len -= strlen(suffix);
    return name;
}

/* Of the thing itself or of one of a list of its parts. Others are names that people gave, or that
 * they write like that. */
static bool is_field(const struct weir_tree *member, unsigned depth)
{
    return depth == 0 || (member->parent != NULL && member->parent->parent != NULL &&
                          member->parent->parent->kind == WEIR_TREE_ARRAY);
}

/* "exit_status" becomes "Exit status", "gpus" "GPUs". */
static void put_label(const struct weir_tree *member, unsigned depth, struct weir_buf *out)
{
    static const char *const words[][2] = {{"id", "ID"},
                                           {"gpus", "GPUs"},
                                           {"mig", "MIG"},
                                           {"mps", "MPS"},
                                           {"mig_offers", "MIG offers"},
                                           {"mig_profile", "MIG profile"}};
    struct weir_str name = without(without(member->key, "_ms"), "_bytes");
    bool is_ours = is_field(member, depth);

    for (size_t i = 0; i < WEIR_COUNT_OF(words); i++)
        if (is_ours && weir_str_eq_c(name, words[i][0]))
            name = weir_str(words[i][1]);

    for (unsigned i = 0; i < depth; i++)
        weir_buf_puts(out, "  ");
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (is_ours && i == 0 && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        weir_buf_putc(out, c == '_' && is_ours ? ' ' : c);
    }
    weir_buf_putc(out, ':');
}

static void pad(struct weir_buf *out, size_t line_start, unsigned depth)
{
    size_t column = line_start + LABEL_WIDTH + 2 * (size_t)depth;

    do
        weir_buf_putc(out, ' ');
    while (out->failed == 0 && out->len < column);
}

static void put_time(int64_t at_ms, int64_t now_ms, struct weir_buf *out)
{
    char when[WEIR_WHEN_MAX];

    weir_buf_printf(out, "%s (%s", weir_when_exact(at_ms, now_ms, when),
                    at_ms > now_ms ? "in " : "");
    weir_duration_format(at_ms > now_ms ? at_ms - now_ms : now_ms - at_ms, out);
    weir_buf_puts(out, at_ms > now_ms ? ")" : " ago)");
}

static void put_text(struct weir_str text, struct weir_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        /* No field may steer the terminal. */
        if (c == '\n')
            weir_buf_puts(out, "\\n");
        else
            weir_buf_putc(out, c < 0x20 || c == 0x7f ? '?' : (char)c);
    }
}

static void put_scalar(const struct weir_tree *node, int64_t now_ms, struct weir_buf *out)
{
    int64_t number;
    bool is_number = node->kind == WEIR_TREE_NUMBER && weir_str_to_i64(node->text, &number);

    if (is_number && weir_str_ends_with(node->key, WEIR_STR("_ms")) &&
        number > WEIR_TIME_DAY_MS * 365)
        put_time(number, now_ms, out);
    else if (is_number && weir_str_ends_with(node->key, WEIR_STR("_ms")))
        weir_duration_format(number, out);
    else if (is_number && (weir_str_ends_with(node->key, WEIR_STR("_bytes")) ||
                           weir_str_eq_c(node->key, "memory")))
        weir_units_format_bytes(number, out);
    else if (is_number && weir_str_eq_c(node->key, "umask"))
        weir_buf_printf(out, "%04llo", (unsigned long long)number);
    else
        put_text(node->text, out);
}

static bool is_scalar(const struct weir_tree *node)
{
    return node->kind != WEIR_TREE_ARRAY && node->kind != WEIR_TREE_OBJECT;
}

static bool are_scalars(const struct weir_tree *list)
{
    weir_tree_foreach (item, list) {
        if (!is_scalar(item))
            return false;
    }
    return true;
}

static bool is_nothing(const struct weir_tree *node)
{
    return node->kind == WEIR_TREE_NULL ||
           (is_scalar(node) ? node->text.len == 0 : node->first == NULL);
}

static void put_object(const struct weir_tree *object, unsigned depth, int64_t now_ms,
                       struct weir_buf *out);

static void put_list(const struct weir_tree *list, unsigned depth, int64_t now_ms,
                     struct weir_buf *out)
{
    bool is_tall = weir_str_eq_c(list->key, "gpus"); /* their keys are long */

    if (are_scalars(list)) {
        weir_tree_foreach (item, list) {
            put_scalar(item, now_ms, out);
            weir_buf_puts(out, item->next != NULL && !is_tall ? " " : "\n");
            if (item->next != NULL && is_tall)
                pad(out, out->len, depth);
        }
        return;
    }
    weir_buf_putc(out, '\n');
    weir_tree_foreach (item, list) {
        if (is_scalar(item))
            continue;
        put_object(item, depth + 1, now_ms, out);
        if (item->next != NULL)
            weir_buf_putc(out, '\n');
    }
}

static void put_member(const struct weir_tree *member, unsigned depth, int64_t now_ms,
                       struct weir_buf *out)
{
    size_t start = out->len;

    if (is_nothing(member) && weir_str_eq_c(member->key, "held")) {
        put_label(member, depth, out);
        pad(out, start, depth);
        weir_buf_puts(out, "0\n");
        return;
    }
    if (is_nothing(member) || depth > DEPTH_MAX)
        return;
    put_label(member, depth, out);
    if (is_scalar(member)) {
        pad(out, start, depth);
        put_scalar(member, now_ms, out);
        weir_buf_putc(out, '\n');
    } else if (member->kind == WEIR_TREE_ARRAY) {
        if (are_scalars(member))
            pad(out, start, depth);
        put_list(member, depth, now_ms, out);
    } else {
        weir_buf_putc(out, '\n');
        put_object(member, depth + 1, now_ms, out);
    }
}

static void put_object(const struct weir_tree *object, unsigned depth, int64_t now_ms,
                       struct weir_buf *out)
{
    weir_tree_foreach (member, object) {
        put_member(member, depth, now_ms, out);
    }
}

/* ---- many tasks ---- */

static void put_task(const struct weir_tree *task, struct weir_buf *out)
{
    struct weir_str node = weir_client_text(task, "node");
    struct weir_str reason = weir_client_text(task, "reason");

    weir_buf_printf(out, "  %-6.*s %.*s", WEIR_STR_ARG(weir_client_text(task, "member")),
                    WEIR_STR_ARG(weir_client_text(task, "state")));
    if (node.len > 0)
        weir_buf_printf(out, " on %.*s", WEIR_STR_ARG(node));
    if (reason.len > 0) {
        weir_buf_puts(out, ": ");
        put_text(reason, out);
    }
    weir_buf_putc(out, '\n');
}

/* Those that failed, else the first: a line each, as many as can be taken in. */
static int put_tasks(struct weir_client *client, const struct weir_tree *workload, const char *id,
                     struct weir_buf *out, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    int64_t n_tasks = weir_client_i64(workload, "members", 1);
    int64_t n_failed = weir_client_i64(weir_tree_get(workload, "tasks_by_state"), "failed", 0);
    const struct weir_tree *answer = NULL;
    const struct weir_tree *items;
    char limit[16];
    int result;

    snprintf(limit, sizeof(limit), "%d", TASKS_SHOWN);
    weir_client_path(client, "/v1/workloads/%s/tasks", id);
    weir_client_query(client, "state", n_failed > 0 ? "failed" : NULL);
    weir_client_query(client, "limit", limit);
    result = weir_client_get(client, &arena, &answer, err);
    if (result < 0)
        return result;
    weir_buf_printf(out, n_failed > 0 ? "Failed tasks:\n" : "Tasks:\n");
    items = weir_tree_get(answer, "items");
    for (const struct weir_tree *task = items != NULL ? items->first : NULL; task != NULL;
         task = task->next)
        put_task(task, out);
    if (items != NULL && items->n_children < n_tasks)
        weir_buf_printf(out, "  %lld in all: weir get tasks %s\n", (long long)n_tasks, id);
    return 0;
}

/* ---- a workload ---- */

static bool is_put_last(struct weir_str key)
{
    return weir_str_eq_c(key, "spec") || weir_str_eq_c(key, "tasks");
}

/* What was asked for comes behind what became of it, and its environment behind all. */
static int put_workload(struct weir_client *client, const struct weir_tree *workload,
                        const char *id, struct weir_buf *out, struct weir_err *err)
{
    int64_t now_ms = weir_clock_wall_ms();
    const struct weir_tree *spec = weir_tree_get(workload, "spec");
    const struct weir_tree *env = weir_tree_get(spec, "env");
    const struct weir_tree *tasks = weir_tree_get(workload, "tasks");
    int result = 0;

    weir_tree_foreach (member, workload) {
        if (!is_put_last(member->key))
            put_member(member, 0, now_ms, out);
    }
    if (weir_client_i64(workload, "members", 1) > 1)
        result = put_tasks(client, workload, id, out, err);
    else if (tasks != NULL)
        put_member(tasks, 0, now_ms, out);
    if (spec != NULL && spec->kind == WEIR_TREE_OBJECT) {
        weir_buf_puts(out, "Spec:\n");
        weir_tree_foreach (member, spec) {
            if (member != env)
                put_member(member, 1, now_ms, out);
        }
    }
    if (result == 0 && weir_str_eq_c(weir_client_text(workload, "state"), "queued")) {
        weir_buf_puts(out, "Explanation:\n");
        result = weir_explain_text(client, id, out, err);
    }
    if (env != NULL && !is_nothing(env)) {
        weir_buf_puts(out, "Environment:\n");
        put_object(env, 1, now_ms, out);
    }
    return result;
}

/* ---- the command ---- */

static int describe(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX);
    const struct weir_kind_entry *kind = NULL;
    const struct weir_tree *object = NULL;
    const char *name = args->operands[1];
    int result = weir_kind_find("describe", args->operands[0], &kind, err);

    if (result == 0 && strcmp(kind->plural, "workloads") == 0)
        result = weir_job_id_whole("describe", name, &name, err);
    if (result < 0)
        return result;
    if (strcmp(kind->plural, "events") == 0)
        return weir_error(err, WEIR_E_INVALID, "describe: events have no names");
    if (strcmp(kind->plural, "tasks") == 0)
        return weir_error(err, WEIR_E_INVALID, "describe: tasks are described with their workload");
    weir_client_path(client, "/v1/%s/%s", kind->plural, name);
    result = weir_client_get(client, &arena, &object, err);
    if (result < 0)
        return result;
    if (strcmp(kind->plural, "workloads") == 0)
        result = put_workload(client, object, name, &text, err);
    else
        put_object(object, 0, weir_clock_wall_ms(), &text);
    if (result == 0)
        result = weir_buf_check(&text, "the description", err);
    if (result == 0)
        fputs(weir_buf_cstr(&text), stdout);
    return result;
}

static const struct weir_example examples[] = {
    {"weir describe workload 42", "a job, its members, what was asked for, and why it waits"},
    {"weir describe gpu GPU-8f1c", "a GPU and who holds it"},
};

const struct weir_command weir_command_describe = {
    .name = "describe",
    .summary = "show all there is to know of one thing",
    .operands = "KIND NAME",
    .operand_choices = "workload|queue|gpu|gpusetup|node",
    .about = "Shows a workload, queue, GPU, GPU setup or node, for people. For programs there is "
             "weir get KIND "
             "NAME -o json.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .min_operands = 2,
    .max_operands = 2,
    .group = WEIR_GROUP_LOOK,
    .is_client = true,
    .ask = describe,
};

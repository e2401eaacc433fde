#include "cmd/explain.h"

#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/job_id.h"
#include "cmd/output.h"

#include <stdio.h>

enum { OUTPUT_BYTES_MAX = 16 * 1024 * 1024, DEPTH_MAX = 32 };

static const struct weir_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "FORM",
     .choices = "table|json|yaml",
     .help = "the form of what is printed",
     .example = "json"},
};

/* The same constraint as the first that blocks. */
static bool is_blocking(const struct weir_tree *reason, const struct weir_tree *blocking)
{
    static const char *const members[] = {"level", "code", "subject", "text"};

    if (blocking == NULL || blocking->kind != WEIR_TREE_OBJECT)
        return false;
    for (size_t i = 0; i < WEIR_COUNT_OF(members); i++)
        if (!weir_str_eq(weir_client_text(reason, members[i]),
                         weir_client_text(blocking, members[i])))
            return false;
    return true;
}

/* That GPUs are held was said where their holders were named. */
static bool is_told(const struct weir_tree *reason, const struct weir_tree *blocking)
{
    const struct weir_tree *holders = weir_tree_get(blocking, "holders");

    return holders != NULL && holders->first != NULL && !is_blocking(reason, blocking) &&
           weir_str_eq_c(weir_client_text(reason, "code"), "DeviceBusy");
}

static void put_reasons(const struct weir_tree *reasons, const struct weir_tree *blocking,
                        unsigned depth, struct weir_buf *out)
{
    for (const struct weir_tree *one = reasons != NULL && depth < DEPTH_MAX ? reasons->first : NULL;
         one != NULL; one = one->next) {
        if (is_told(one, blocking))
            continue;
        for (unsigned i = 0; i < depth; i++)
            weir_buf_puts(out, "  ");
        weir_buf_printf(out, "- %.*s%s\n", WEIR_STR_ARG(weir_client_text(one, "text")),
                        is_blocking(one, blocking) ? "  ← this blocks it" : "");
        put_reasons(weir_tree_get(one, "children"), blocking, depth + 1, out);
    }
}

static bool is_in_tree(const struct weir_tree *reasons, struct weir_str text, unsigned depth)
{
    for (const struct weir_tree *one = reasons != NULL && depth < DEPTH_MAX ? reasons->first : NULL;
         one != NULL; one = one->next)
        if (weir_str_eq(weir_client_text(one, "text"), text) ||
            is_in_tree(weir_tree_get(one, "children"), text, depth + 1))
            return true;
    return false;
}

/* The tree, then what was said beside it: what would help, and when it starts. */
static void put_answer(const struct weir_tree *answer, struct weir_buf *out)
{
    const struct weir_tree *reasons = weir_tree_get(answer, "reasons");
    const struct weir_tree *texts = weir_tree_get(answer, "text");

    put_reasons(reasons, weir_tree_get(answer, "blocking"), 1, out);
    for (const struct weir_tree *one = texts != NULL ? texts->first : NULL; one != NULL;
         one = one->next)
        if (!is_in_tree(reasons, one->text, 0))
            weir_buf_printf(out, "  %.*s\n", WEIR_STR_ARG(one->text));
}

static int ask(struct weir_client *client, const char *id, struct weir_arena *arena,
               const struct weir_tree **ret_answer, struct weir_err *err)
{
    weir_client_path(client, "/v1/workloads/%s/explain", id);
    return weir_client_get(client, arena, ret_answer, err);
}

int weir_explain_text(struct weir_client *client, const char *id, struct weir_buf *out,
                      struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *answer = NULL;
    int result = ask(client, id, &arena, &answer, err);

    if (result == 0)
        put_answer(answer, out);
    return result;
}

static int explain(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX);
    const char *form = weir_args_text(args, "output");
    const struct weir_tree *answer = NULL;
    const char *id = NULL;
    struct weir_str name, position;
    int result = weir_job_id_whole("explain", args->operands[0], &id, err);

    if (result == 0)
        result = ask(client, id, &arena, &answer, err);
    if (result < 0)
        return result;
    if (form != NULL && weir_str_eq_c(weir_str(form), "json"))
        return weir_output_json(answer, err);
    if (form != NULL && weir_str_eq_c(weir_str(form), "yaml"))
        return weir_output_yaml(answer, err);
    name = weir_client_text(answer, "name");
    position = weir_client_text(answer, "position");
    weir_buf_printf(&text, "job %.*s%s%.*s%s: %.*s", WEIR_STR_ARG(weir_client_text(answer, "id")),
                    name.len > 0 ? " (" : "", WEIR_STR_ARG(name), name.len > 0 ? ")" : "",
                    WEIR_STR_ARG(weir_client_text(answer, "state")));
    if (position.len > 0)
        weir_buf_printf(&text, "%s now number %.*s of those that wait",
                        weir_str_eq_c(weir_client_text(answer, "state"), "queued")
                            ? ","
                            : "; the rest of it is",
                        WEIR_STR_ARG(position));
    weir_buf_putc(&text, '\n');
    put_answer(answer, &text);
    result = weir_buf_check(&text, "the explanation", err);
    if (result == 0)
        fputs(weir_buf_cstr(&text), stdout);
    return result;
}

static const struct weir_example examples[] = {
    {"weir explain 42", "why it waits, what would help, and when it should start"},
    {"weir explain train-resnet -o json", "the same for a program"},
};

const struct weir_command weir_command_explain = {
    .name = "explain",
    .summary = "say why a job waits and when it starts",
    .operands = "ID",
    .about = "Prints the tree of reasons, from the queue down to the device, marks the first that "
             "blocks the job, says what would help, and when the job is expected to start. ID is a "
             "number, or a name that one job has.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .min_operands = 1,
    .max_operands = 1,
    .group = WEIR_GROUP_LOOK,
    .is_client = true,
    .ask = explain,
};

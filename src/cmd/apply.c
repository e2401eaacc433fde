#include "base/char.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/manifests.h"
#include "cmd/output.h"

#include <stdio.h>
#include <string.h>

static const struct weir_option options[] = {
    {.name = "file",
     .letter = 'f',
     .kind = WEIR_OPTION_FILE,
     .repeated = true,
     .argument = "FILE|DIR|-",
     .help = "what to apply: a file, all *.yaml, *.yml and *.json of a folder, or standard input",
     .example = "queues.yaml"},
    {.name = "dry-run", .kind = WEIR_OPTION_FLAG, .help = "check it, change nothing"},
    {.name = "mig-config",
     .kind = WEIR_OPTION_TEXT,
     .argument = "NAME",
     .help = "of a file of mig-parted, the configuration that is meant",
     .example = "all-balanced"},
    {.name = "output",
     .letter = 'o',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "FORM",
     .choices = "table|json|yaml|name",
     .help = "the form of what is printed",
     .example = "json"},
};

/* Says it with the file and line it is about, and returns the status. */
static int complain(struct weir_err *err, const char *file, int code)
{
    if (code == WEIR_E_NOT_FOUND)
        code = WEIR_E_INVALID;
    weir_command_complain(err, file);
    return (int)weir_command_status(code);
}

static struct weir_str lower(struct weir_str kind, char *text, size_t size)
{
    size_t n = kind.len < size ? kind.len : size;

    for (size_t i = 0; i < n; i++)
        text[i] = weir_char_lower(kind.ptr[i]);
    return weir_str_n(text, n);
}

/* "queue/research created", "workload/12 created (train-resnet)" */
static void print_items(const struct weir_tree *answer, bool only_names)
{
    const struct weir_tree *items = weir_tree_get(answer, "items");
    struct weir_str dry = weir_client_text(answer, "dry_run");

    for (const struct weir_tree *item = items != NULL ? items->first : NULL; item != NULL;
         item = item->next) {
        char text[32];
        struct weir_str kind = lower(weir_client_text(item, "kind"), text, sizeof(text));
        struct weir_str name = weir_client_text(item, "name");
        struct weir_str id = weir_client_text(item, "id");
        struct weir_str warning = weir_client_text(item, "warning");

        printf("%.*s/%.*s", WEIR_STR_ARG(kind), WEIR_STR_ARG(id.len > 0 ? id : name));
        if (!only_names) {
            printf(" %.*s", WEIR_STR_ARG(weir_client_text(item, "action")));
            if (id.len > 0 && name.len > 0)
                printf(" (%.*s)", WEIR_STR_ARG(name));
            if (weir_str_eq_c(dry, "true"))
                printf(" (dry run)");
            if (warning.len > 0)
                printf("; %.*s", WEIR_STR_ARG(warning));
        }
        putchar('\n');
    }
}

static int send(struct weir_client *client, const struct weir_args *args,
                const struct weir_manifests *manifests, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_client_request request = {.method = "POST",
                                          .content_type = "application/yaml",
                                          .body = weir_buf_view(&manifests->text)};
    const struct weir_tree *answer = NULL;
    const char *form = weir_args_text(args, "output");
    int result;

    weir_client_path(client, "/v1/apply");
    weir_client_query(client, "dryRun", weir_args_has(args, "dry-run") ? "true" : NULL);
    weir_client_query(client, "migConfig", weir_args_text(args, "mig-config"));
    result = weir_client_call(client, &request, &arena, &answer, err);
    if (result < 0) {
        const char *file = err->line > 0 ? weir_manifests_find(manifests, &err->line) : NULL;

        return file != NULL ? complain(err, file, result) : result;
    }
    if (form != NULL && strcmp(form, "json") == 0)
        return weir_output_json(weir_tree_get(answer, "items"), err);
    if (form != NULL && strcmp(form, "yaml") == 0)
        return weir_output_yaml(weir_tree_get(answer, "items"), err);
    print_items(answer, form != NULL && strcmp(form, "name") == 0);
    return WEIR_EXIT_FINE;
}

static int send_all(struct weir_client *client, const struct weir_args *args,
                    struct weir_manifests *manifests, struct weir_err *err)
{
    const char *path;
    size_t at = 0;

    while ((path = weir_args_next(args, "file", &at)) != NULL) {
        const char *file = NULL;
        int result = weir_manifests_add(manifests, path, &file, err);

        if (result < 0)
            return complain(err, file, result);
    }
    if (manifests->files.n == 0) {
        weir_error(err, WEIR_E_INVALID, "apply: -f is missing");
        return weir_error_hint(err, "for example weir apply -f queues.yaml");
    }
    if (manifests->n_documents == 0)
        return weir_error(err, WEIR_E_INVALID, "apply: there is nothing to apply");
    return send(client, args, manifests, err);
}

static int apply(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    struct weir_manifests manifests;
    int result;

    weir_manifests_init(&manifests);
    result = send_all(client, args, &manifests, err);
    weir_manifests_finish(&manifests);
    return result;
}

static const struct weir_example examples[] = {
    {"weir apply -f queues.yaml", "all resources of a file, or none of them"},
    {"weir apply -f cluster/ --dry-run", "check a folder"},
    {"weir apply -f config.yaml --mig-config all-balanced", "how mig-parted would cut the GPUs"},
    {"cat queues.yaml jobs.yaml | weir apply -f -", "from standard input"},
};

const struct weir_command weir_command_apply = {
    .name = "apply",
    .summary = "create and change resources from files",
    .operands = "",
    .about =
        "Creates queues, GPU setups and workloads, and changes queues and setups that are there, "
        "as the files say. A configuration file of mig-parted becomes the setup mig-parted. "
        "All files are one request: either everything is done or nothing. Mistakes are named "
        "with file, line and column.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = apply,
};

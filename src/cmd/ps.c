#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/kinds.h"
#include "cmd/subject.h"
#include "cmd/workloads.h"

#include <stdio.h>

static const struct weir_option options[] = {
    {.name = "all", .letter = 'a', .kind = WEIR_OPTION_FLAG, .help = "those that ended, too"},
    {.name = "queue",
     .letter = 'Q',
     .kind = WEIR_OPTION_TEXT,
     .argument = "QUEUE",
     .help = "of this queue only",
     .example = "research"},
    {.name = "owner",
     .letter = 'u',
     .kind = WEIR_OPTION_TEXT,
     .argument = "USER",
     .help = "of this user only",
     .example = "alice"},
    {.name = "name",
     .letter = 'n',
     .kind = WEIR_OPTION_TEXT,
     .argument = "NAME",
     .help = "of this name only",
     .example = "train-resnet"},
    {.name = "state",
     .letter = 's',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "STATE",
     .choices = WEIR_KIND_STATES,
     .help = "in this state only",
     .example = "queued"},
    WEIR_OPTION_OUTPUT,
};

/* A wrong name must not look like an empty queue. One that was deleted may still have ended jobs:
 * where those can be meant, it is enough that something happened to it. */
static int check_queue(struct weir_client *client, const struct weir_args *args,
                       struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const char *queue = weir_args_text(args, "queue");
    const char *state = weir_args_text(args, "state");
    const struct weir_tree *answer = NULL;
    char word[WEIR_SUBJECT_TEXT_MAX];
    char subject[WEIR_SUBJECT_TEXT_MAX];

    if (queue == NULL)
        return 0;
    weir_client_path(client, "/v1/queues/%s", queue);
    if (client->no_path.code != 0)
        return weir_error_pass(err, &client->no_path);
    if (!weir_args_has(args, "all") && (state == NULL || !weir_workload_has_ended(weir_str(state))))
        return weir_client_get(client, &arena, &answer, err);
    snprintf(word, sizeof(word), "queue/%s", queue);
    return weir_subject_find(client, word, subject, err);
}

static int list(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    struct weir_output_kind kind = weir_workloads_kind;
    int result = check_queue(client, args, err);

    if (result < 0)
        return result;
    if (weir_args_has(args, "name"))
        kind.nothing = weir_args_has(args, "all")
                           ? "no jobs have this name"
                           : "no jobs that wait or run have this name (weir ps -a shows all)";
    weir_client_path(client, "/v1/workloads");
    weir_client_query(client, "all", weir_args_has(args, "all") ? "true" : NULL);
    weir_client_query(client, "queue", weir_args_text(args, "queue"));
    weir_client_query(client, "owner", weir_args_text(args, "owner"));
    weir_client_query(client, "name", weir_args_text(args, "name"));
    weir_client_query(client, "state", weir_args_text(args, "state"));
    return weir_output_list(client, args, &kind, err);
}

static const struct weir_example examples[] = {
    {"weir ps", "what runs and what waits, and why"},
    {"weir ps -a -o json", "everything, for a program"},
    {"weir ps --queue research --state queued", "who waits in a queue"},
};

const struct weir_command weir_command_ps = {
    .name = "ps",
    .summary = "list jobs",
    .operands = "",
    .about =
        "Lists what waits and what runs, with -a also what has ended, the oldest first. AGE is "
        "the time since it was submitted, RUN how long its last attempt has run. REASON says "
        "why it waits or how it ended.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .group = WEIR_GROUP_LOOK,
    .is_client = true,
    .ask = list,
};

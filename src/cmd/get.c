#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/events.h"
#include "cmd/job_id.h"
#include "cmd/kinds.h"
#include "cmd/subject.h"
#include "cmd/watch.h"

#include <string.h>

static const struct weir_option options[] = {
    {.name = "all",
     .letter = 'a',
     .kind = WEIR_OPTION_FLAG,
     .help = "of workloads, those that ended, too"},
    {.name = "state",
     .letter = 's',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "STATE",
     .choices = WEIR_KIND_STATES,
     .help = "of workloads and tasks, those in this state",
     .example = "failed"},
    {.name = "watch",
     .letter = 'w',
     .kind = WEIR_OPTION_FLAG,
     .help = "of events, those to come, until it is interrupted"},
    {.name = "tail",
     .letter = 'n',
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 0,
     .max = 100000000,
     .help = "of events, the last N only",
     .example = "50"},
    {.name = "since",
     .kind = WEIR_OPTION_DURATION,
     .argument = "DURATION",
     .help = "of events, those no older than that",
     .example = "2h"},
    WEIR_OPTION_OUTPUT,
};

static int list(struct weir_client *client, const struct weir_args *args,
                const struct weir_kind_entry *kind, struct weir_err *err)
{
    bool is_workloads = strcmp(kind->plural, "workloads") == 0;
    bool is_tasks = strcmp(kind->plural, "tasks") == 0;
    const char *id = NULL;

    if (is_tasks && args->n_operands < 2) {
        weir_error(err, WEIR_E_INVALID, "get: tasks are those of a workload, and none is named");
        return weir_error_hint(err, "for example weir get tasks 7 --state failed");
    }
    if (weir_args_has(args, "state") && !is_workloads && !is_tasks)
        return weir_error(err, WEIR_E_INVALID, "get: --state is for workloads and tasks");
    if (weir_args_has(args, "all") && !is_workloads)
        return weir_error(err, WEIR_E_INVALID, "get: --all is for workloads");
    if (is_tasks && weir_job_id_whole("get", args->operands[1], &id, err) < 0)
        return weir_error_code(err);
    if (is_tasks)
        weir_client_path(client, "/v1/workloads/%s/tasks", id);
    else
        weir_client_path(client, "/v1/%s", kind->plural);
    weir_client_query(client, "state", weir_args_text(args, "state"));
    weir_client_query(client, "all", weir_args_has(args, "all") ? "true" : NULL);
    return weir_output_list(client, args, kind->output, err);
}

static int get_one(struct weir_client *client, const struct weir_args *args,
                   const struct weir_kind_entry *kind, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *object = NULL;
    const char *name = args->operands[1];
    int result = 0;

    if (weir_args_has(args, "state"))
        return weir_error(err, WEIR_E_INVALID, "get: --state is for lists");
    if (strcmp(kind->plural, "workloads") == 0)
        result = weir_job_id_whole("get", name, &name, err);
    if (result < 0)
        return result;
    weir_client_path(client, "/v1/%s/%s", kind->plural, name);
    result = weir_client_get(client, &arena, &object, err);
    return result < 0 ? result : weir_output_object(object, args, kind->output, err);
}

static int get_events(struct weir_client *client, const struct weir_args *args,
                      const struct weir_kind_entry *kind, struct weir_err *err)
{
    bool is_recent = weir_args_has(args, "tail") || weir_args_has(args, "since");
    char subject[WEIR_SUBJECT_TEXT_MAX] = "";
    int result = 0;

    if (weir_args_has(args, "all"))
        return weir_error(err, WEIR_E_INVALID, "get: --all is for workloads");
    if (weir_args_has(args, "state"))
        return weir_error(err, WEIR_E_INVALID, "get: --state is for workloads and tasks");
    if (weir_args_has(args, "watch") && is_recent)
        return weir_error(err, WEIR_E_INVALID,
                          "get: --watch shows what is to come, --tail and --since what has been: "
                          "give one of them");
    if (args->n_operands > 1)
        result = weir_subject_find(client, args->operands[1], subject, err);
    if (result < 0)
        return result;
    if (weir_args_has(args, "watch"))
        return weir_watch_events(client, args, subject, err);
    weir_client_path(client, "/v1/events");
    weir_client_query(client, "subject", subject[0] != '\0' ? subject : NULL);
    return is_recent ? weir_events_recent(client, args, err)
                     : weir_output_list(client, args, kind->output, err);
}

static int get(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    const struct weir_kind_entry *kind = NULL;
    int result = weir_kind_find("get", args->operands[0], &kind, err);
    static const char *const of_events[] = {"watch", "tail", "since"};

    if (result < 0)
        return result;
    if (strcmp(kind->plural, "events") == 0)
        return get_events(client, args, kind, err);
    for (size_t i = 0; i < WEIR_COUNT_OF(of_events); i++) {
        if (!weir_args_has(args, of_events[i]))
            continue;
        weir_error(err, WEIR_E_INVALID, "get: --%s is for events", of_events[i]);
        return weir_error_hint(err, "see weir get --help");
    }
    return args->n_operands > 1 && strcmp(kind->plural, "tasks") != 0
               ? get_one(client, args, kind, err)
               : list(client, args, kind, err);
}

static const struct weir_example examples[] = {
    {"weir get gpus", "what is there and who holds it"},
    {"weir get queue research -o yaml", "one, with all its fields"},
    {"weir get events --since 1h --tail 50", "what happened of late"},
    {"weir get events 42", "what happened to a job; -w: and what happens to it"},
    {"weir get tasks 7 --state failed", "which members of an array failed, and how"},
    {"weir get events -w", "what happens, as it happens"},
};

const struct weir_command weir_command_get = {
    .name = "get",
    .summary = "list things, or get one",
    .operands = "KIND [NAME]",
    .operand_choices = WEIR_KIND_WORDS,
    .about = "Lists things of a kind, or gets one by its name: workloads (wl, jobs), tasks (of a "
             "workload: its members), queues (q), gpus (g), gpusetups (setups), nodes (no), events "
             "(ev); the singular "
             "does as well. Of events NAME is what they are about: a job by its number or name, "
             "42/3 for one member of it, or queue/NAME, gpu/KEY, node/NAME.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .min_operands = 1,
    .max_operands = 2,
    .group = WEIR_GROUP_LOOK,
    .is_client = true,
    .ask = get,
};

#include "cmd/cancel.h"

#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/commands.h"
#include "cmd/job_id.h"
#include "cmd/workloads.h"

#include <stdio.h>

enum { IDS_MAX = 10000 };

static const struct weir_option options[] = {
    {.name = "quiet",
     .letter = 'q',
     .kind = WEIR_OPTION_FLAG,
     .help = "say nothing of what became of them"},
};

static void say_cancelled(struct weir_str id, struct weir_str was)
{
    if (weir_workload_has_ended(was))
        printf("workload/%.*s had already ended (%.*s)\n", WEIR_STR_ARG(id), WEIR_STR_ARG(was));
    else if (weir_str_eq_c(was, "queued"))
        printf("workload/%.*s cancelled\n", WEIR_STR_ARG(id));
    else
        printf("workload/%.*s is asked to stop\n", WEIR_STR_ARG(id));
}

int weir_cancel(struct weir_client *client, const char *word, bool quiet, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_client_request request = {.method = "POST"};
    struct weir_job_id job = weir_job_id(word);
    const struct weir_tree *answer = NULL;
    int result;

    if (job.member.len > 0) {
        weir_error(err, WEIR_E_INVALID, "one element of an array cannot be cancelled by itself");
        return weir_error_hint(err, "weir cancel %.*s ends all of it", WEIR_STR_ARG(job.id));
    }
    weir_client_path(client, "/v1/workloads/%s/cancel", job.whole);
    result = weir_client_call(client, &request, &arena, &answer, err);
    if (result == 0 && !quiet)
        say_cancelled(weir_client_text(answer, "id"), weir_client_text(answer, "was"));
    return result;
}

/* All are tried; the status is that of the first that failed. */
static int cancel_all(struct weir_client *client, const struct weir_args *args,
                      struct weir_err *err)
{
    int first = WEIR_EXIT_FINE;

    for (size_t i = 0; i < args->n_operands; i++) {
        struct weir_err one = WEIR_ERR_INIT;
        char shown[WEIR_STR_SHOW_MAX];
        int result;

        result = weir_cancel(client, args->operands[i], weir_args_has(args, "quiet"), &one);
        if (result == WEIR_E_UNAVAILABLE || result == WEIR_E_TIMEOUT) {
            *err = one;
            return result;
        }
        if (result < 0) {
            weir_error_wrap(&one, "cancel %s", weir_str_show(weir_str(args->operands[i]), shown));
            weir_command_complain(&one, NULL);
            first = first == WEIR_EXIT_FINE ? (int)weir_command_status(result) : first;
        }
    }
    return first;
}

static const struct weir_example examples[] = {
    {"weir cancel 42", "one job, by its number"},
    {"weir cancel train-resnet sweep", "several, by name"},
};

const struct weir_command weir_command_cancel = {
    .name = "cancel",
    .summary = "end jobs",
    .operands = "ID…",
    .about =
        "Ends jobs: those that wait at once, those that run with SIGTERM and, after their "
        "grace time, SIGKILL. An array is ended as a whole. ID is a number, or a name that one "
        "job has.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .min_operands = 1,
    .max_operands = IDS_MAX,
    .group = WEIR_GROUP_WORK,
    .is_client = true,
    .ask = cancel_all,
};

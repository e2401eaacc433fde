#include "base/err.h"
#include "cmd/client.h"
#include "cmd/commands.h"

#include <stdio.h>

enum { IDS_MAX = 10000 };

static const struct weir_option options[] = {
    {.name = "quiet",
     .letter = 'q',
     .kind = WEIR_OPTION_FLAG,
     .help = "say nothing of those that "
             "were cancelled"},
};

/* All are tried; the status is that of the first that failed. */
static int cancel_all(struct weir_client *client, const struct weir_args *args,
                      struct weir_err *err)
{
    int first = WEIR_EXIT_FINE;

    for (size_t i = 0; i < args->n_operands; i++) {
        struct weir_err one = WEIR_ERR_INIT;
        int result;

        weir_client_path(client, "/v1/workloads/%s/cancel", args->operands[i]);
        result = weir_client_post(client, &one);
        if (result == WEIR_E_UNAVAILABLE || result == WEIR_E_TIMEOUT) {
            *err = one;
            return result;
        }
        if (result < 0) {
            weir_error_wrap(&one, "cancel %s", args->operands[i]);
            weir_command_complain(&one, NULL);
            first = first == WEIR_EXIT_FINE ? (int)weir_command_status(result) : first;
        } else if (!weir_args_has(args, "quiet")) {
            printf("workload/%s cancelled\n", args->operands[i]);
        }
    }
    return first;
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    struct weir_client client;
    int result = weir_client_init(&client, args, err);

    if (result == 0)
        result = cancel_all(&client, args, err);
    weir_client_finish(&client);
    return result;
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
    .n_examples = sizeof(examples) / sizeof(examples[0]),
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .min_operands = 1,
    .max_operands = IDS_MAX,
    .group = WEIR_GROUP_WORK,
    .is_client = true,
    .run = run,
};

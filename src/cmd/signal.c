#include "base/buf.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/str.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/job_id.h"
#include "fmt/json.h"

#include <stdio.h>

enum { BODY_BYTES_MAX = 4096 };

static int send_signal(struct weir_client *client, const struct weir_args *args,
                       struct weir_err *err)
{
    const char *name = args->n_operands > 1 ? args->operands[1] : "TERM";
    weir_cleanup_buf struct weir_buf body = WEIR_BUF_INIT(BODY_BYTES_MAX);
    struct weir_client_request request = {.method = "POST", .content_type = "application/json"};
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *answer = NULL;
    struct weir_json_writer writer;
    const char *id = NULL;
    int result = weir_job_id_whole("signal", args->operands[0], &id, err);

    if (result < 0)
        return result;
    weir_json_writer_init(&writer, &body, false);
    weir_json_object_begin(&writer);
    weir_json_key(&writer, "signal");
    weir_json_text(&writer, name);
    weir_json_object_end(&writer);
    result = weir_json_writer_end(&writer, "the signal", err);
    if (result < 0)
        return result;
    request.body = weir_buf_view(&body);
    weir_client_path(client, "/v1/workloads/%s/signal", id);
    result = weir_client_call(client, &request, &arena, &answer, err);
    if (result < 0)
        return result;
    printf("workload/%.*s signalled (%s)\n", WEIR_STR_ARG(weir_client_text(answer, "id")), name);
    return WEIR_EXIT_FINE;
}

static const struct weir_example examples[] = {
    {"weir signal 42 USR1", "have a job write a checkpoint, if that is what USR1 means to it"},
    {"weir signal train-resnet", "ask it to stop, as kill does: SIGTERM, and nothing after it"},
};

const struct weir_command weir_command_signal = {
    .name = "signal",
    .summary = "send a signal to a job",
    .operands = "ID [SIGNAL]",
    .about = "Sends a signal to every process of a job that runs: USR1, SIGUSR1 or 10, else TERM. "
             "What it does is the job's affair; weir cancel ends a job for certain. ID is a "
             "number, or a name that one job has.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .min_operands = 1,
    .max_operands = 2,
    .group = WEIR_GROUP_WORK,
    .is_client = true,
    .ask = send_signal,
};

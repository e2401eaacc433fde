#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/attach.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/job_id.h"
#include "cmd/tail.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMBER_MAX = 24 };

static const struct weir_option options[] = {
    {.name = "follow",
     .letter = 'f',
     .kind = WEIR_OPTION_FLAG,
     .help = "go on with what comes, until the job ends"},
    {.name = "stdout", .kind = WEIR_OPTION_FLAG, .help = "only what it wrote to stdout"},
    {.name = "stderr", .kind = WEIR_OPTION_FLAG, .help = "only what it wrote to stderr"},
    {.name = "member",
     .letter = 'm',
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 0,
     .max = 99999,
     .help = "of this member only, the first being 0",
     .example = "3"},
    {.name = "attempt",
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 1,
     .max = 1001,
     .help = "of this attempt; else of the last",
     .example = "1"},
    {.name = "tail",
     .letter = 'n',
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 0,
     .max = 100000000,
     .help = "only the last N lines of each stream",
     .example = "20"},
    {.name = "label",
     .kind = WEIR_OPTION_FLAG,
     .help = "the member's number before each line, as on a terminal with several members"},
};

struct logs {
    struct weir_client client;
    const struct weir_args *args;
    const char *id;
    bool wants[2];
    bool label;
    int64_t n_members;
    int64_t tail;    /* < 0: all */
    int64_t attempt; /* the last one of the member */
};

static const char *const stream_names[] = {"stdout", "stderr"};

/* One stream of one member, as far as it has come. *ret_end is where it will go on. */
static int print_stream(struct logs *logs, const char *member, unsigned stream, uint64_t *ret_end,
                        struct weir_err *err)
{
    const struct weir_str *offset;
    struct weir_tail tail;
    struct weir_str piece;
    uint64_t at = 0;
    int result;

    weir_client_path(&logs->client, "/v1/workloads/%s/logs", logs->id);
    weir_client_query(&logs->client, "stream", stream_names[stream]);
    weir_client_query(&logs->client, "member", member);
    weir_client_query(&logs->client, "attempt", weir_args_text(logs->args, "attempt"));
    result = weir_client_stream(&logs->client, NULL, err);
    if (result < 0)
        return result;
    offset = weir_http1_find(logs->client.head, "Weir-Offset");
    if (offset != NULL && !weir_str_to_u64(*offset, &at))
        return weir_error(err, WEIR_E_IO, "weir does not say where the output begins");
    if (at > 0 && logs->tail < 0)
        fprintf(stderr,
                "weir: %llu bytes of %s before this were dropped (see weir run --output-max)\n",
                (unsigned long long)at, stream_names[stream]);
    weir_tail_init(&tail, stream == 0 ? stdout : stderr, logs->tail, logs->label ? member : NULL);
    while (result == 0 && (result = weir_http_client_read(&logs->client.http, &piece, err)) > 0) {
        at += piece.len;
        result = weir_tail_put(&tail, piece, err);
    }
    if (result == 0)
        result = weir_tail_end(&tail, err);
    weir_tail_finish(&tail);
    *ret_end = at;
    return result;
}

static int print_member(struct logs *logs, const char *member, uint64_t ret_ends[2],
                        struct weir_err *err)
{
    for (unsigned stream = 0; stream < 2; stream++) {
        int result = 0;

        if (logs->wants[stream])
            result = print_stream(logs, member, stream, &ret_ends[stream], err);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Without ends, all of it. */
static int follow(struct logs *logs, const char *member, const uint64_t *ends, struct weir_err *err)
{
    struct weir_attach_options attach = {
        .id = logs->id,
        .label = logs->label,
        .looks = true,
        .hides = {!logs->wants[0], !logs->wants[1]},
        .member = member,
        .attempt = logs->attempt,
        .starts = logs->attempt > 0 ? ends : NULL,
    };

    return weir_attach(&logs->client, &attach, err);
}

/* The last attempt of a member; 0: it has not begun. */
static int64_t last_attempt(const struct weir_tree *workload, const char *member)
{
    const struct weir_tree *tasks = weir_tree_get(workload, "tasks");

    for (const struct weir_tree *task = tasks != NULL ? tasks->first : NULL; task != NULL;
         task = task->next)
        if (weir_str_eq_c(weir_client_text(task, "member"), member))
            return weir_client_i64(task, "attempt", 0);
    return 0;
}

static int check_follow(const struct logs *logs, const char *member, struct weir_err *err)
{
    if (weir_args_has(logs->args, "attempt")) {
        weir_error(err, WEIR_E_INVALID, "logs: -f follows the last attempt");
        return weir_error_hint(err, "leave out -f or --attempt");
    }
    if (logs->tail >= 0 && member == NULL) {
        weir_error(err, WEIR_E_INVALID, "logs: --tail with -f is for one member");
        return weir_error_hint(err, "name it: --member N");
    }
    return 0;
}

static int print_all(struct logs *logs, struct weir_err *err)
{
    for (int64_t i = 0; i < logs->n_members; i++) {
        uint64_t ends[2] = {0, 0};
        char member[MEMBER_MAX];
        int result;

        snprintf(member, sizeof(member), "%lld", (long long)i);
        result = print_member(logs, member, ends, err);
        if (result < 0)
            return result;
    }
    return WEIR_EXIT_FINE;
}

static int get_workload(struct logs *logs, const char *after, struct weir_arena *arena,
                        const struct weir_tree **ret_workload, struct weir_err *err)
{
    weir_client_path(&logs->client, "/v1/workloads/%s", logs->id);
    weir_client_query(&logs->client, "limit", "1");
    weir_client_query(&logs->client, "after", after);
    return weir_client_get(&logs->client, arena, ret_workload, err);
}

static int check_member(const struct logs *logs, const struct weir_tree *workload,
                        struct weir_err *err)
{
    int64_t member = weir_args_count(logs->args, "member", 0);
    struct weir_str id = weir_client_text(workload, "id");

    if (member < logs->n_members)
        return 0;
    if (logs->n_members == 1)
        return weir_error(err, WEIR_E_INVALID, "member %lld: workload %.*s has member 0 only",
                          (long long)member, WEIR_STR_ARG(id));
    return weir_error(err, WEIR_E_INVALID, "member %lld: workload %.*s has members 0 to %lld",
                      (long long)member, WEIR_STR_ARG(id), (long long)logs->n_members - 1);
}

/* Why there is nothing to see, or that this is not all. */
static void tell_attempts(const struct logs *logs, const struct weir_tree *workload)
{
    struct weir_str id = weir_client_text(workload, "id");
    struct weir_str reason = weir_client_text(workload, "reason");
    int64_t attempt = weir_client_i64(workload, "attempt", 0);

    if (attempt == 0 && weir_str_eq_c(weir_client_text(workload, "state"), "queued"))
        fprintf(stderr, "weir: job %.*s has not begun%s%.*s\n", WEIR_STR_ARG(id),
                reason.len > 0 ? ": " : "", WEIR_STR_ARG(reason));
    else if (attempt > 1 && logs->n_members == 1 && !weir_args_has(logs->args, "attempt") &&
             !weir_args_has(logs->args, "follow"))
        fprintf(stderr, "weir: this is attempt %lld of job %.*s; the one before: --attempt %lld\n",
                (long long)attempt, WEIR_STR_ARG(id), (long long)attempt - 1);
}

static int show(struct logs *logs, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *workload = NULL;
    const char *one = weir_args_text(logs->args, "member");
    bool follows = weir_args_has(logs->args, "follow");
    uint64_t ends[2] = {0, 0};
    int result;

    result = get_workload(logs, NULL, &arena, &workload, err);
    if (result < 0)
        return result;
    logs->n_members = weir_client_i64(workload, "members", 1);
    if (check_member(logs, workload, err) < 0)
        return weir_error_code(err);
    logs->label = weir_args_has(logs->args, "label") ||
                  (logs->n_members > 1 && one == NULL && isatty(STDOUT_FILENO) == 1);
    if (one == NULL && logs->n_members == 1)
        one = "0";
    if (follows && check_follow(logs, one, err) < 0)
        return weir_error_code(err);
    tell_attempts(logs, workload);
    if (follows && logs->tail < 0)
        return follow(logs, one, NULL, err);
    if (one == NULL)
        return print_all(logs, err);
    if (follows)
        result = get_workload(logs, one, &arena, &workload, err);
    if (result < 0)
        return result;
    logs->attempt = last_attempt(workload, one);
    result = print_member(logs, one, ends, err);
    return result < 0 || !follows ? result : follow(logs, one, ends, err);
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    bool only_out = weir_args_has(args, "stdout") && !weir_args_has(args, "stderr");
    bool only_err = weir_args_has(args, "stderr") && !weir_args_has(args, "stdout");
    struct weir_job_id job = weir_job_id(args->operands[0]);
    struct logs logs = {.args = args,
                        .id = job.whole,
                        .wants = {!only_err, !only_out},
                        .tail = weir_args_count(args, "tail", -1)};
    int result;

    if (job.member.len > 0) {
        weir_error(err, WEIR_E_INVALID, "logs: %s is one member of a job", job.whole);
        return weir_error_hint(err, "weir logs %.*s --member %.*s", WEIR_STR_ARG(job.id),
                               WEIR_STR_ARG(job.member));
    }
    result = weir_client_init(&logs.client, args, err);
    if (result == 0)
        result = show(&logs, err);
    weir_client_finish(&logs.client);
    return result;
}

static const struct weir_example examples[] = {
    {"weir logs 42", "what a job wrote, stdout to stdout and stderr to stderr"},
    {"weir logs -f --tail 20 train-resnet", "the last lines, and what comes"},
    {"weir logs --member 3 --attempt 1 sweep", "of one member, before it was started again"},
};

const struct weir_command weir_command_logs = {
    .name = "logs",
    .summary = "show the output of a job",
    .operands = "ID",
    .about = "Shows what a job wrote, during and after its life: stdout to stdout, stderr to "
             "stderr, byte for byte. With -f it goes on until the job ends, also over a restart of "
             "the server. ID is a number, or a name that one job has.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .min_operands = 1,
    .max_operands = 1,
    .group = WEIR_GROUP_LOOK,
    .is_client = true,
    .run = run,
};

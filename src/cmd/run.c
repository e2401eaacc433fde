#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/attach.h"
#include "cmd/attach_signals.h"
#include "cmd/cancel.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/interruption.h"
#include "cmd/output.h"
#include "cmd/run_body.h"
#include "fmt/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEY_BYTES = 16,
    ID_MAX = 32,
    RETRY_MS = 20000,
    RETRY_PAUSE_MS = 100,
    SAY_AWAY_MS = 1000,
    WORDS_MAX = 10000
};

static const struct weir_option options[] = {
    {.name = "gpus",
     .letter = 'g',
     .kind = WEIR_OPTION_AMOUNT,
     .argument = "N",
     .help = "whole GPUs for each member; 1 if neither this nor --gpu-memory is given, 0 for none, "
             "below 1 a part of one; with --mig, instances",
     .example = "2"},
    {.name = "mig",
     .kind = WEIR_OPTION_TEXT,
     .argument = "PROFILE",
     .help = "not whole GPUs but MIG instances of this profile",
     .example = "1g.10gb"},
    {.name = "gpu-model",
     .kind = WEIR_OPTION_TEXT,
     .argument = "MODEL",
     .help = "the model of GPU it must have",
     .example = "H100"},
    {.name = "gpu-memory",
     .kind = WEIR_OPTION_SIZE,
     .argument = "SIZE",
     .help = "so much of a GPU's memory, on one that others share; with --gpus whole GPUs with at "
             "least so much",
     .example = "20Gi"},
    {.name = "cpu",
     .kind = WEIR_OPTION_AMOUNT,
     .argument = "N",
     .help = "CPUs for each member",
     .example = "4"},
    {.name = "memory",
     .kind = WEIR_OPTION_SIZE,
     .argument = "SIZE",
     .help = "main memory for each member",
     .example = "32Gi"},
    {.name = "queue",
     .letter = 'Q',
     .kind = WEIR_OPTION_TEXT,
     .argument = "QUEUE",
     .help = "the queue to wait in; default if it is left out",
     .example = "research"},
    {.name = "priority",
     .letter = 'p',
     .kind = WEIR_OPTION_COUNT,
     .argument = "P",
     .min = -1000000,
     .max = 1000000,
     .help = "higher goes first within the queue",
     .example = "10"},
    {.name = "time",
     .letter = 't',
     .kind = WEIR_OPTION_DURATION,
     .argument = "LIMIT",
     .help = "how long it may run, 90s, 1h30m, 2d, 1:30 for a minute and a half, or seconds; a "
             "truthful limit lets it start earlier",
     .example = "12h"},
    {.name = "name",
     .letter = 'n',
     .kind = WEIR_OPTION_TEXT,
     .argument = "NAME",
     .help = "its name; else made of the command",
     .example = "train-resnet"},
    {.name = "env",
     .letter = 'e',
     .kind = WEIR_OPTION_TEXT,
     .repeated = true,
     .argument = "NAME[=VALUE]",
     .help = "a variable for it; without a value, the shell's",
     .example = "EPOCHS=3"},
    {.name = "clean-env",
     .kind = WEIR_OPTION_FLAG,
     .help = "not the shell's environment but PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ, "
             "TERM, and what --env says"},
    {.name = "cwd",
     .kind = WEIR_OPTION_DIR,
     .argument = "DIR",
     .help = "the folder it starts in; else this one",
     .example = "/data/run1"},
    {.name = "array",
     .letter = 'a',
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 1,
     .max = 100000,
     .help = "so many independent copies; each finds its number in WEIR_ARRAY_INDEX",
     .example = "100"},
    {.name = "members",
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 1,
     .max = 4096,
     .help = "so many processes that start together or not at all",
     .example = "8"},
    {.name = "min-members",
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 1,
     .max = 4096,
     .help = "with how many members it can start and go on",
     .example = "4"},
    {.name = "class",
     .kind = WEIR_OPTION_CHOICE,
     .argument = "CLASS",
     .choices = "service|batch|training|dev",
     .help = "the kind of work, else batch",
     .example = "training"},
    {.name = "isolation",
     .kind = WEIR_OPTION_CHOICE,
     .argument = "I",
     .choices = "hardware|memory|none",
     .help = "the least isolation it accepts from others on its GPU",
     .example = "memory"},
    {.name = "retries",
     .letter = 'r',
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = 0,
     .max = 1000,
     .help = "how often it is started again after a failure",
     .example = "3"},
    {.name = "retry-on",
     .kind = WEIR_OPTION_TEXT,
     .argument = "CODES",
     .help = "the exit statuses after which --retries counts; else all but 0",
     .example = "1,64-78"},
    {.name = "backoff",
     .kind = WEIR_OPTION_DURATION,
     .argument = "D",
     .help = "how long to wait before that, doubled each time; 1s if it is left out",
     .example = "30s"},
    {.name = "checkpoint-signal",
     .kind = WEIR_OPTION_TEXT,
     .argument = "SIGNAL",
     .help = "what makes it write a checkpoint before it is stopped for others",
     .example = "USR1"},
    {.name = "grace",
     .kind = WEIR_OPTION_DURATION,
     .argument = "D",
     .help = "the time between being asked to stop and being killed; 10s if it is left out",
     .example = "60s"},
    {.name = "output-max",
     .kind = WEIR_OPTION_SIZE,
     .argument = "SIZE",
     .help = "how much of stdout and of stderr is kept; 64Mi each if it is left out",
     .example = "64Mi"},
    {.name = "preemptible",
     .kind = WEIR_OPTION_BOOL,
     .help = "whether it may be stopped for others and started again later; true if it is left out",
     .example = "false"},
    {.name = "sim-profile",
     .kind = WEIR_OPTION_CHOICE,
     .argument = "NAME",
     .choices = "steady|saw-tooth|bursty|interactive|starved|idle|held",
     .help = "what its load on simulated GPUs looks like, else as is usual for its class; real "
             "GPUs take no notice of it",
     .example = "saw-tooth"},
    {.name = "detach",
     .letter = 'd',
     .kind = WEIR_OPTION_FLAG,
     .help = "print its number and leave it to itself"},
    {.name = "label",
     .kind = WEIR_OPTION_FLAG,
     .help = "the member's number before each line, as on a terminal with several members"},
    {.name = "quiet",
     .letter = 'q',
     .kind = WEIR_OPTION_FLAG,
     .help = "nothing of weir's own on stderr but errors"},
    {.name = "dry-run",
     .kind = WEIR_OPTION_FLAG,
     .help =
         "ask whether it could be submitted, and print what would be; of queue, class, priority, "
         "preemptible, gpus and cpu also what weir assumes; variables only with --show-env"},
    {.name = "show-env", .kind = WEIR_OPTION_FLAG, .help = "with --dry-run, the variables, too"},
};

struct submission {
    struct weir_buf body;
    char key[2 * KEY_BYTES + 1];
    char id[ID_MAX];
    int64_t n_members;
};

static int make_key(char ret_key[2 * KEY_BYTES + 1], struct weir_err *err)
{
    unsigned char bytes[KEY_BYTES];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return weir_error(err, WEIR_E_IO, "the system has no random numbers");
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret_key + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int make_body(const struct weir_args *args, struct weir_buf *out, struct weir_err *err)
{
    char cwd[PATH_MAX];
    mode_t mask = umask(0);
    struct weir_run_shell shell = {environ, cwd, mask};

    umask(mask);
    /* Only where it is needed: the folder may be gone. */
    if (weir_args_has(args, "cwd"))
        cwd[0] = '\0';
    else if (getcwd(cwd, sizeof(cwd)) == NULL)
        return weir_error_errno(err, errno, "find out which folder this is");
    return weir_run_body(args, &shell, out, err);
}

/* ---- submitting ---- */

static void tell_away(const struct weir_client *client)
{
    const struct weir_http_endpoint *at = &client->http.endpoint;

    char where[PATH_MAX];

    weir_http_endpoint_text(at, where, sizeof(where));
    fprintf(stderr, "weir: waiting for weir at '%s' (%s)\n", where, weir_http_endpoint_hint(at));
}

/* Sends it again, under the same key, while the server restarts: it cannot be taken twice. */
static int send_until_taken(struct weir_client *client, struct submission *submission,
                            struct weir_interruption *interruption, struct weir_arena *arena,
                            const struct weir_tree **ret_answer, struct weir_err *err)
{
    struct weir_client_request request = {.method = "POST",
                                          .content_type = "application/json",
                                          .body = weir_buf_view(&submission->body),
                                          .key = submission->key,
                                          .last = true};
    int64_t begin_ms = weir_clock_mono_ms();
    bool was_there = !weir_client_is_absent(client);
    bool said_away = false;

    for (;;) {
        int result;

        weir_client_path(client, "/v1/workloads");
        result = weir_client_call(client, &request, arena, ret_answer, err);
        interruption->was_sent |= client->http.was_sent;
        if (result != WEIR_E_UNAVAILABLE || !was_there ||
            weir_clock_mono_ms() > begin_ms + RETRY_MS)
            return result;
        if (!interruption->quiet && !said_away && weir_clock_mono_ms() > begin_ms + SAY_AWAY_MS) {
            tell_away(client);
            said_away = true;
        }
        if (weir_interruption_pause(interruption, RETRY_PAUSE_MS) ||
            (interruption->number != 0 && !interruption->was_sent))
            return result;
    }
}

static int submit(struct weir_client *client, struct submission *submission,
                  struct weir_interruption *interruption, struct weir_arena *arena,
                  struct weir_err *err)
{
    const struct weir_tree *answer = NULL;
    int result = send_until_taken(client, submission, interruption, arena, &answer, err);

    if (result < 0)
        return result;
    snprintf(submission->id, sizeof(submission->id), "%.*s",
             WEIR_STR_ARG(weir_client_text(answer, "id")));
    submission->n_members = weir_client_i64(answer, "members", 1);
    if (submission->id[0] == '\0')
        return weir_error(err, WEIR_E_IO, "weir does not say which number the job has");
    return 0;
}

/* ---- asking only ---- */

static struct weir_tree *child_of(struct weir_tree *object, const char *key)
{
    for (struct weir_tree *child = object->first; child != NULL; child = child->next)
        if (weir_str_eq_c(child->key, key))
            return child;
    return NULL;
}

/* The name that the server would give, in front of the spec. */
static int add_name(struct weir_tree *tree, struct weir_str name, struct weir_arena *arena,
                    struct weir_err *err)
{
    struct weir_tree *metadata = child_of(tree, "metadata");
    struct weir_tree *node;

    if (metadata != NULL || name.len == 0)
        return 0;
    metadata = weir_tree_add_before(tree->last, WEIR_TREE_OBJECT, WEIR_STR("metadata"), arena);
    node = metadata != NULL ? weir_tree_add(metadata, WEIR_TREE_STRING, WEIR_STR("name"), arena)
                            : NULL;
    if (node == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the workload");
    node->text = name;
    return 0;
}

/* What counts where nothing is said, before the environment, which may be long. */
static int add_assumed(struct weir_tree *spec, const struct weir_tree *assumed,
                       struct weir_arena *arena, struct weir_err *err)
{
    struct weir_tree *env = child_of(spec, "env");

    for (const struct weir_tree *each = assumed != NULL ? assumed->first : NULL; each != NULL;
         each = each->next) {
        enum weir_tree_kind kind = (enum weir_tree_kind)each->kind;
        struct weir_tree *node;

        node = env != NULL ? weir_tree_add_before(env, kind, each->key, arena)
                           : weir_tree_add(spec, kind, each->key, arena);
        if (node == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the workload");
        node->text = each->text;
    }
    return 0;
}

/* A terminal that others see, or a file that goes on, is no place for the shell's secrets. */
static void leave_out_env(struct weir_tree *spec, bool quiet)
{
    struct weir_tree *env = child_of(spec, "env");

    if (env == NULL)
        return;
    if (!quiet)
        fprintf(stderr, "weir: %u variables of the environment are not shown (--show-env)\n",
                env->n_children);
    weir_tree_remove(env);
}

static int show_workload(const struct weir_args *args, const struct submission *submission,
                         const struct weir_tree *told, struct weir_arena *arena,
                         struct weir_err *err)
{
    struct weir_json_options json = {0};
    struct weir_tree *tree = NULL;
    int result = weir_json_read(weir_buf_view(&submission->body), &json, arena, &tree, err);

    if (result == 0)
        result = add_name(tree, weir_client_text(told, "name"), arena, err);
    if (result == 0)
        result = add_assumed(tree->last, weir_tree_get(told, "assumed"), arena, err);
    if (result < 0)
        return result;
    if (!weir_args_has(args, "show-env"))
        leave_out_env(tree->last, weir_args_has(args, "quiet"));
    return weir_output_yaml(tree, err);
}

static int dry_run(const struct weir_args *args, struct weir_client *client,
                   const struct submission *submission, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_client_request request = {.method = "POST",
                                          .content_type = "application/json",
                                          .body = weir_buf_view(&submission->body)};
    const struct weir_tree *answer = NULL;
    int result;

    weir_client_path(client, "/v1/apply");
    weir_client_query(client, "dryRun", "true");
    result = weir_client_call(client, &request, &arena, &answer, err);
    if (result < 0)
        return result;
    return show_workload(args, submission, weir_tree_path(answer, "items[0]"), &arena, err);
}

/* 0: it is taken; above: what to exit with, the answer is not waited for any more. *ret_signal is
 * what came meanwhile, and is for the job. */
static int submit_interruptibly(struct weir_client *client, struct submission *submission,
                                bool quiet, int *ret_signal, struct weir_arena *arena,
                                struct weir_err *err)
{
    struct weir_interruption interruption;
    int result;

    weir_interruption_init(&interruption, quiet, &client->http);
    result = submit(client, submission, &interruption, arena, err);
    weir_attach_signals_look(); /* one that came while the answer was read */
    weir_interruption_look(&interruption);
    client->http.interrupted = NULL;
    if (interruption.number != 0 && (result == WEIR_E_UNAVAILABLE || result == WEIR_E_TIMEOUT))
        return weir_interruption_tell(&interruption);
    *ret_signal = interruption.number;
    return result;
}

/* Whoever interrupts it before it has said which job it is wants none. */
static int run_detached(const struct weir_args *args, struct weir_client *client,
                        struct submission *submission, struct weir_arena *arena,
                        struct weir_err *err)
{
    bool quiet = weir_args_has(args, "quiet");
    int number = 0;
    int result = submit_interruptibly(client, submission, quiet, &number, arena, err);

    if (result != 0)
        return result;
    if (number == 0) {
        printf("%s\n", submission->id);
        return WEIR_EXIT_FINE;
    }
    result = weir_cancel(client, submission->id, true, err);
    if (result < 0) {
        weir_error_wrap(err, "job %s goes on: it cannot be cancelled", submission->id);
        weir_command_complain(err, NULL);
        return WEIR_EXIT_UNKNOWN;
    }
    if (!quiet)
        fprintf(stderr, "weir: interrupted: job %s is cancelled\n", submission->id);
    return WEIR_ATTACH_STATUS_CANCELLED;
}

static int run_attached(const struct weir_args *args, struct weir_client *client,
                        struct submission *submission, struct weir_arena *arena,
                        struct weir_err *err)
{
    struct weir_attach_options attach = {.id = submission->id,
                                         .quiet = weir_args_has(args, "quiet")};
    int result = submit_interruptibly(client, submission, attach.quiet, &attach.signal, arena, err);

    if (result != 0)
        return result;
    weir_http_client_close(&client->http);
    attach.tells = !attach.quiet && isatty(STDERR_FILENO) == 1;
    attach.label =
        weir_args_has(args, "label") || (submission->n_members > 1 && isatty(STDOUT_FILENO) == 1);
    result = weir_attach(client, &attach, err);
    if (result >= 0)
        return result;
    /* What became of the job is not known: no status of its own can be meant. */
    weir_command_complain(err, NULL);
    return WEIR_EXIT_UNKNOWN;
}

static int run_with(const struct weir_args *args, struct weir_client *client,
                    struct submission *submission, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    int result = make_body(args, &submission->body, err);

    if (result == 0)
        result = make_key(submission->key, err);
    if (result < 0)
        return result;
    if (weir_args_has(args, "dry-run"))
        return dry_run(args, client, submission, err);
    weir_attach_signals_begin();
    if (weir_args_has(args, "detach"))
        result = run_detached(args, client, submission, &arena, err);
    else
        result = run_attached(args, client, submission, &arena, err);
    weir_attach_signals_end();
    return result;
}

/* People gave an option, and know nothing of the field that it became. */
static void name_option(const struct weir_args *args, struct weir_err *err)
{
    const char *option = weir_run_body_option(err->field);
    const char *value;

    if (option == NULL)
        return;
    value = weir_args_text(args, option); /* NULL as well where it was left out */
    weir_error_field(err, "--%s%s%s", option, value != NULL ? " " : "", value != NULL ? value : "");
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    struct submission submission = {.body = WEIR_BUF_INIT(WEIR_RUN_BODY_MAX)};
    struct weir_client client;
    int result = weir_client_init(&client, args, err);

    if (result == 0)
        result = run_with(args, &client, &submission, err);
    if (result < 0)
        name_option(args, err);
    weir_client_finish(&client);
    weir_buf_finish(&submission.body);
    return result;
}

static const struct weir_example examples[] = {
    {"weir run --gpus 1 -- python train.py", "one GPU, when it is its turn; the output comes here"},
    {"weir run -d --gpus 4 --time 12h --queue research ./train.sh",
     "in the background; prints the job's number"},
    {"weir run --gpu-memory 20Gi -- python serve.py", "a part of a GPU, beside others"},
    {"weir run --mig 3g.40gb -- python serve.py", "a MIG instance, made where none is idle"},
    {"weir run --array 20 --gpus 1 -- sh -c 'python trial.py $WEIR_ARRAY_INDEX'",
     "twenty jobs in one, each on a GPU of its own"},
    {"weir run --gpus 1 --checkpoint-signal USR1 --grace 60s -- ./fit",
     "a job that can be stopped for others without losing its work"},
};

const struct weir_command weir_command_run = {
    .name = "run",
    .summary = "run a command on GPUs: wait, stream its output, return its status",
    .operands = "[--] COMMAND [ARG]…",
    .about =
        "Submits a command and follows it. It starts when its turn comes and what it asks for is "
        "free, in this folder, with this environment and umask; CUDA_VISIBLE_DEVICES names its "
        "GPUs. The first word that is no option begins the command; no shell reads it.\n"
        "\n"
        "Its output goes to stdout and stderr, kept apart. SIGINT, SIGTERM, SIGHUP, SIGQUIT, "
        "SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed on to it; while it waits, the first "
        "four cancel it, also if they come before the server has answered. A second SIGINT within "
        "two seconds cancels it in any case. If the server "
        "restarts, the job goes on, and so does its output here. If nobody reads the output any "
        "more, the job goes on without: the status is 141.",
    .status =
        "The status of the command (128+n if signal n ended it; 126 or 127 if it could not be "
        "started), or 130 if it was cancelled; of an array or a gang that of the first member "
        "that failed. Of weir itself: 1 if the job was refused, 2 for wrong use, 3 if it cannot "
        "be told what became of it, 141 if nobody reads the output any more, 128+n if signal n "
        "came while the server was away; after the last two the job goes on if it was taken. With "
        "--detach, 0 if it was taken; interrupted before it has printed the number, it cancels "
        "the job.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .min_operands = 1,
    .max_operands = WORDS_MAX,
    .group = WEIR_GROUP_WORK,
    .is_client = true,
    .takes_words = true,
    .run = run,
};

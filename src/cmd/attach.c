#include "cmd/attach.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/attach_output.h"
#include "cmd/attach_signals.h"
#include "cmd/command.h"
#include "cmd/frames.h"
#include "cmd/waits.h"
#include "fmt/json.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SILENCE_MS = 60000, /* the server says something every 15 s */
    CONTROL_TIMEOUT_MS = 5000,
    RETRY_FIRST_MS = 50,
    RETRY_MAX_MS = 2000,
    SAY_AWAY_MS = 1000,
    AWAY_MAX_MS = 600000, /* then it is given up */
    TWICE_MS = 2000,      /* a second interrupt within it ends the job */
    STATE_MAX = 16,
    FAILED_SHOWN = 4,
    LINE_BYTES_MAX = 4096,
};

struct attach {
    const struct weir_attach_options *options;
    struct weir_client client;  /* of the stream */
    struct weir_client control; /* of signals and questions */
    struct weir_frames frames;
    struct weir_attach_output output;
    struct weir_waits waits;
    char state[STATE_MAX];
    uint32_t member;      /* options->member as a number */
    bool is_away;         /* the server does not answer */
    int64_t connected_ms; /* when it did last */
    bool said_away;
    bool pipe_closed; /* nobody reads our output */
    bool has_ended;
    bool was_stopped; /* a TSTP was passed on */
    int status;       /* once it has ended, or a signal made us leave: what to exit with */
    bool leaves;
    int64_t stopped_attempt; /* of which was told last that it had to leave */
    int64_t interrupted_ms;  /* when the last interrupt was passed on; 0: never */
};

__attribute__((format(printf, 2, 0))) static void say_v(const struct attach *attach,
                                                        const char *format, va_list args)
{
    char text[512];

    vsnprintf(text, sizeof(text), format, args);
    fprintf(stderr, "weir: job %s %s\n", attach->options->id, text);
}

__attribute__((format(printf, 2, 3))) static void say(const struct attach *attach,
                                                      const char *format, ...)
{
    va_list args;

    if (attach->options->quiet)
        return;
    va_start(args, format);
    say_v(attach, format, args);
    va_end(args);
}

/* What was asked for did not happen: that is said in any case. */
__attribute__((format(printf, 2, 3))) static void complain(const struct attach *attach,
                                                           const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_v(attach, format, args);
    va_end(args);
}

/* ---- signals ---- */

static int post(struct attach *attach, const char *what, const char *signal_name,
                struct weir_err *err)
{
    struct weir_client_request request = {.method = "POST"};
    char body[64];

    weir_client_path(&attach->control, "/v1/workloads/%s/%s", attach->options->id, what);
    if (signal_name != NULL) {
        snprintf(body, sizeof(body), "{\"signal\": \"%s\"}", signal_name);
        request.content_type = "application/json";
        request.body = weir_str(body);
    }
    attach->control.head = NULL;
    return weir_client_call(&attach->control, &request, NULL, NULL, err);
}

/* Whether nothing answered: a server that answers may refuse with the same codes. */
static bool is_unreached(const struct attach *attach, int result)
{
    return attach->control.head == NULL &&
           (result == WEIR_E_UNAVAILABLE || result == WEIR_E_TIMEOUT);
}

static bool is_state(const struct attach *attach, const char *state)
{
    return weir_str_eq_c(weir_str(attach->state), state);
}

static void leave(struct attach *attach, int number)
{
    complain(attach, "goes on: weir cannot be reached");
    attach->leaves = true;
    attach->status = 128 + number;
}

static void cancel(struct attach *attach, int number)
{
    struct weir_err err = WEIR_ERR_INIT;
    int result = post(attach, "cancel", NULL, &err);

    if (is_unreached(attach, result))
        leave(attach, number);
    else if (result < 0)
        complain(attach, "cannot be cancelled: %s", err.text);
}

/* Ends the job if it can: what still waits is cancelled, what runs gets the signal. */
static void pass_on_end(struct attach *attach, int number)
{
    int64_t now_ms = weir_clock_mono_ms();
    bool is_second = number == SIGINT && attach->interrupted_ms != 0 &&
                     now_ms - attach->interrupted_ms < TWICE_MS;
    struct weir_err err = WEIR_ERR_INIT;
    int result;

    if (attach->has_ended)
        return;
    if (attach->is_away) {
        leave(attach, number);
        return;
    }
    if (number == SIGINT)
        attach->interrupted_ms = now_ms;
    if (is_second)
        say(attach, "is being cancelled");
    if (is_second || is_state(attach, "queued")) {
        cancel(attach, number);
        return;
    }
    result = post(attach, "signal", weir_attach_signals_name(number), &err);
    if (is_unreached(attach, result))
        leave(attach, number);
    else if (result < 0 && result != WEIR_E_EXISTS) /* else it has ended, which comes next */
        cancel(attach, number);                     /* it has nothing to signal yet */
}

static void pass_on(struct attach *attach, int number)
{
    struct weir_err err = WEIR_ERR_INIT;
    int result;

    if (attach->is_away || attach->has_ended || is_state(attach, "queued"))
        return;
    result = post(attach, "signal", weir_attach_signals_name(number), &err);
    if (result < 0 && result != WEIR_E_EXISTS)
        complain(attach, "did not get SIG%s: %s", weir_attach_signals_name(number), err.text);
}

static void handle_signals(struct attach *attach)
{
    int number;

    while ((number = weir_attach_signals_take()) != 0) {
        switch (number) {
        case SIGTSTP:
            attach->was_stopped = true;
            pass_on(attach, number);
            raise(SIGSTOP);
            break;
        case SIGCONT:
            if (attach->was_stopped)
                pass_on(attach, number);
            attach->was_stopped = false;
            break;
        case SIGUSR1:
        case SIGUSR2:
            pass_on(attach, number);
            break;
        default:
            pass_on_end(attach, number);
            break;
        }
    }
}

static bool on_interrupted(void *arg)
{
    struct attach *attach = arg;

    handle_signals(attach);
    return attach->leaves;
}

/* ---- output ---- */

static int write_out(void *ctx, int fd, struct weir_str data, struct weir_err *err)
{
    struct attach *attach = ctx;
    int result = 0;

    if (attach->options->hides[fd - STDOUT_FILENO])
        return 0;
    weir_attach_signals_allow(true);
    while (data.len > 0 && !attach->leaves) {
        ssize_t n = write(fd, data.ptr, data.len);

        if (n >= 0) {
            data = weir_str_sub(data, (size_t)n, data.len);
            continue;
        }
        if (errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};

            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            attach->pipe_closed = errno == EPIPE;
            result = errno == EPIPE ? weir_error(err, WEIR_E_UNAVAILABLE, "nobody reads the output")
                                    : weir_error_errno(err, errno, "write the job's output");
            break;
        }
        weir_attach_signals_allow(false);
        handle_signals(attach);
        weir_attach_signals_allow(true);
    }
    weir_attach_signals_allow(false);
    return result;
}

/* ---- frames ---- */

static int read_json(struct weir_str text, struct weir_arena *arena, struct weir_tree **ret_tree,
                     struct weir_err *err)
{
    struct weir_json_options options = {.allow_duplicates = true};
    int result = weir_json_read(text, &options, arena, ret_tree, err);

    if (result < 0)
        weir_error_wrap(err, "weir sends what is no frame of a job's output");
    return result;
}

static bool has_said_why(const struct attach *attach)
{
    for (size_t i = 0; i < attach->output.members.n; i++)
        if (attach->output.members.items[i].streams[1].printed > 0)
            return true;
    return false;
}

/* "exit 3" is what the exit status says; "exit 126: …" tells why the command could not be started.
 * The attempt itself has said that on its stderr, if it came that far. */
static void tell_failure(const struct attach *attach, struct weir_str reason)
{
    struct weir_str why = reason;
    struct weir_str status;

    if (!weir_str_starts_with(reason, WEIR_STR("exit "))) {
        if (reason.len > 0)
            say(attach, "failed: %.*s", WEIR_STR_ARG(reason));
        return;
    }
    weir_str_split(&why, ':', &status);
    why = weir_str_trim(why);
    if (why.len > 0 && !has_said_why(attach))
        fprintf(stderr, "weir: job %s could not start: %.*s\n", attach->options->id,
                WEIR_STR_ARG(why));
}

/* "job 7: 2 of 3 failed: 1 (exit 1), 2 (exit 2)": the first of them, on stderr. */
static void tell_failed_members(struct attach *attach, const struct weir_tree *workload)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    weir_cleanup_buf struct weir_buf line = WEIR_BUF_INIT(LINE_BYTES_MAX);
    int64_t n_failed = weir_client_i64(weir_tree_get(workload, "tasks_by_state"), "failed", 0);
    const struct weir_tree *answer = NULL;
    const struct weir_tree *items;
    int64_t n = 0;
    char limit[16];

    snprintf(limit, sizeof(limit), "%d", FAILED_SHOWN);
    weir_client_path(&attach->control, "/v1/workloads/%s/tasks", attach->options->id);
    weir_client_query(&attach->control, "state", "failed");
    weir_client_query(&attach->control, "limit", limit);
    if (weir_client_get(&attach->control, &arena, &answer, NULL) < 0)
        answer = NULL;
    items = weir_tree_get(answer, "items");
    weir_buf_printf(&line, "weir: job %s: %lld of %lld failed", attach->options->id,
                    (long long)n_failed, (long long)weir_client_i64(workload, "members", 1));
    for (const struct weir_tree *task = items != NULL ? items->first : NULL; task != NULL;
         task = task->next, n++)
        weir_buf_printf(&line, "%s%.*s (%.*s)", n == 0 ? ": " : ", ",
                        WEIR_STR_ARG(weir_client_text(task, "member")),
                        WEIR_STR_ARG(weir_client_text(task, "reason")));
    if (n > 0 && n < n_failed)
        weir_buf_printf(&line, ", and %lld more (weir get tasks %s --state failed)",
                        (long long)(n_failed - n), attach->options->id);
    if (line.failed == 0)
        fprintf(stderr, "%s\n", weir_buf_cstr(&line));
}

static int status_of(struct attach *attach, const struct weir_tree *workload)
{
    struct weir_str reason = weir_client_text(workload, "reason");
    int64_t status = weir_client_i64(workload, "exit_status", -1);

    if (is_state(attach, "succeeded"))
        return WEIR_EXIT_FINE;
    if (is_state(attach, "cancelled")) {
        say(attach, "was cancelled");
        return WEIR_ATTACH_STATUS_CANCELLED;
    }
    if (is_state(attach, "lost")) {
        fprintf(stderr, "weir: job %s was lost: what became of it is not known\n",
                attach->options->id);
        return WEIR_EXIT_UNKNOWN;
    }
    if (weir_client_i64(workload, "members", 1) == 1)
        tell_failure(attach, reason);
    else if (!attach->options->quiet)
        tell_failed_members(attach, workload);
    return status > 0 && status < 256 ? (int)status : WEIR_EXIT_NO;
}

/* Once for each attempt that had to leave. */
static void tell_stopped(struct attach *attach, const struct weir_tree *workload)
{
    struct weir_str why = weir_client_text(workload, "stopped");
    int64_t attempt = weir_client_i64(workload, "attempt", 0);

    if (why.len == 0 || attempt <= attach->stopped_attempt || attach->options->looks)
        return;
    attach->stopped_attempt = attempt;
    say(attach, "was %.*s and starts over", WEIR_STR_ARG(why));
}

static int on_state(struct attach *attach, const struct weir_frame_piece *frame,
                    struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *workload = NULL;
    int result = read_json(frame->data, &arena, &workload, err);

    if (result < 0)
        return result;
    snprintf(attach->state, sizeof(attach->state), "%.*s",
             WEIR_STR_ARG(weir_client_text(workload, "state")));
    if (frame->kind == WEIR_FRAME_END) {
        result = weir_attach_output_flush(&attach->output, err);
        attach->has_ended = true;
        attach->status = attach->options->looks ? WEIR_EXIT_FINE : status_of(attach, workload);
        return result;
    }
    tell_stopped(attach, workload);
    if (attach->options->tells)
        weir_waits_tell(&attach->waits, &attach->control, workload);
    return result;
}

static int on_gap(struct attach *attach, const struct weir_frame_piece *frame,
                  const struct weir_tree *gap, struct weir_err *err)
{
    struct weir_str name = weir_client_text(gap, "stream");
    unsigned stream = weir_str_eq_c(name, "stderr") ? 1 : 0;
    int64_t to = weir_client_i64(gap, "to", 0);
    uint64_t n_lost = 0;
    int result = weir_attach_output_gap(&attach->output, frame->member, stream,
                                        to > 0 ? (uint64_t)to : 0, &n_lost, err);

    if (result == 0 && n_lost > 0)
        say(attach, "wrote more than is kept: %llu bytes of %.*s are gone",
            (unsigned long long)n_lost, WEIR_STR_ARG(name));
    return result;
}

static int on_frame(struct attach *attach, const struct weir_frame_piece *frame,
                    struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *tree = NULL;
    int result;

    switch ((enum weir_frame)frame->kind) {
    case WEIR_FRAME_STDOUT:
    case WEIR_FRAME_STDERR:
        return weir_attach_output_put(&attach->output, frame->member,
                                      frame->kind - WEIR_FRAME_STDOUT, frame->data, err);
    case WEIR_FRAME_STATE:
    case WEIR_FRAME_END:
        return on_state(attach, frame, err);
    case WEIR_FRAME_ATTEMPT:
    case WEIR_FRAME_GAP:
        result = read_json(frame->data, &arena, &tree, err);
        if (result < 0)
            return result;
        if (frame->kind == WEIR_FRAME_GAP)
            return on_gap(attach, frame, tree, err);
        return weir_attach_output_attempt(&attach->output, frame->member,
                                          weir_client_i64(tree, "attempt", 0), err);
    case WEIR_FRAME_NOTHING:
        break;
    }
    return 0;
}

/* ---- the connection ---- */

/* "3,0,17": a number per member, for the query. */
static void put_numbers(struct attach *attach, const char *name, size_t first,
                        uint64_t (*number)(const struct weir_attach_member *member))
{
    weir_cleanup_buf struct weir_buf list = WEIR_BUF_INIT(WEIR_CLIENT_PATH_MAX);

    for (size_t i = first; i < attach->output.members.n; i++) {
        if (i > first)
            weir_buf_putc(&list, ',');
        weir_buf_u64(&list, number(&attach->output.members.items[i]));
    }
    weir_client_query(&attach->client, name, weir_buf_cstr(&list));
}

static uint64_t attempt_of(const struct weir_attach_member *member)
{
    return (uint64_t)member->attempt;
}

static uint64_t stdout_of(const struct weir_attach_member *member)
{
    return member->streams[0].printed;
}

static uint64_t stderr_of(const struct weir_attach_member *member)
{
    return member->streams[1].printed;
}

static void set_path_only(struct attach *attach)
{
    weir_client_path(&attach->client, "/v1/workloads/%s/attach", attach->options->id);
    weir_client_query(&attach->client, "member", attach->options->member);
}

/* Where the output of each member goes on. Of too many for one request it all comes again, and what
 * was printed is passed over. */
static void set_path(struct attach *attach)
{
    size_t first = attach->options->member != NULL ? attach->member : 0;
    bool restart;

    set_path_only(attach);
    if (first < attach->output.members.n) {
        put_numbers(attach, "attempt", first, attempt_of);
        put_numbers(attach, "stdout", first, stdout_of);
        put_numbers(attach, "stderr", first, stderr_of);
    }
    restart = attach->client.path.failed != 0;
    if (restart)
        set_path_only(attach);
    weir_attach_output_reconnected(&attach->output, restart);
}

/* Follows one connection until the job or the connection ends. */
static int follow(struct attach *attach, struct weir_err *err)
{
    struct weir_str piece;
    struct weir_frame_piece frame;
    int result;

    set_path(attach);
    weir_frames_reset(&attach->frames);
    result = weir_client_stream(&attach->client, NULL, err);
    if (result < 0)
        return result;
    if (attach->said_away)
        say(attach, "is followed again: weir is back");
    attach->connected_ms = weir_clock_mono_ms();
    attach->is_away = false;
    attach->said_away = false;
    while (!attach->has_ended && !attach->leaves) {
        result = weir_http_client_read(&attach->client.http, &piece, err);
        if (result == 0)
            return weir_error(err, WEIR_E_UNAVAILABLE, "weir ended the stream before the job did");
        while (result > 0 && (result = weir_frames_next(&attach->frames, &piece, &frame, err)) > 0)
            result = on_frame(attach, &frame, err) < 0 ? -1 : 1;
        if (result < 0)
            return weir_error_code(err);
        weir_attach_signals_look();
        handle_signals(attach);
    }
    return 0;
}

/* Waits ms, or until a signal says to leave. */
static void wait_away(struct attach *attach, int ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

    ppoll(NULL, 0, &time, weir_attach_signals_mask());
    handle_signals(attach);
}

static bool is_passing(int code)
{
    return code == WEIR_E_UNAVAILABLE || code == WEIR_E_TIMEOUT;
}

static int follow_to_end(struct attach *attach, struct weir_err *err)
{
    int64_t away_ms = 0;
    int delay_ms = RETRY_FIRST_MS;

    for (;;) {
        int result;

        *err = (struct weir_err)WEIR_ERR_INIT;
        result = follow(attach, err);
        if (attach->has_ended || attach->leaves)
            return attach->status;
        if (attach->pipe_closed)
            return WEIR_ATTACH_STATUS_PIPE;
        if (!is_passing(result))
            return result;
        weir_http_client_close(&attach->client.http);
        weir_http_client_close(&attach->control.http);
        if (!attach->is_away) {
            away_ms = weir_clock_mono_ms();
            /* A stream that breaks as soon as it begins is not asked for without pause. */
            if (away_ms - attach->connected_ms > RETRY_MAX_MS)
                delay_ms = RETRY_FIRST_MS;
        }
        attach->is_away = true;
        if (weir_clock_mono_ms() - away_ms > AWAY_MAX_MS)
            return weir_error_hint(err, "the job goes on: weir logs -f %s", attach->options->id);
        if (!attach->said_away && weir_clock_mono_ms() - away_ms + delay_ms > SAY_AWAY_MS) {
            say(attach, "goes on, but weir is away: waiting for it to come back");
            attach->said_away = true;
        }
        wait_away(attach, delay_ms);
        delay_ms = delay_ms * 2 < RETRY_MAX_MS ? delay_ms * 2 : RETRY_MAX_MS;
        if (attach->leaves)
            return attach->status;
    }
}

int weir_attach(const struct weir_client *client, const struct weir_attach_options *options,
                struct weir_err *err)
{
    struct attach attach = {.options = options};
    int result = 0;

    if (options->member != NULL)
        attach.member = (uint32_t)strtoul(options->member, NULL, 10);
    weir_client_init_like(&attach.client, client);
    weir_client_init_like(&attach.control, client);
    attach.client.http.timeout_ms = SILENCE_MS;
    attach.client.http.interrupted = on_interrupted;
    attach.client.http.interrupted_arg = &attach;
    attach.client.http.wait_mask = options->looks ? NULL : weir_attach_signals_mask();
    attach.control.http.timeout_ms = CONTROL_TIMEOUT_MS;
    weir_frames_init(&attach.frames);
    weir_attach_output_init(&attach.output, options->label, write_out, &attach);
    weir_waits_init(&attach.waits, options->id);
    if (options->starts != NULL)
        result = weir_attach_output_start(&attach.output, attach.member, options->attempt,
                                          options->starts, err);
    if (options->signal != 0)
        pass_on_end(&attach, options->signal);
    if (result == 0)
        result = attach.leaves ? attach.status : follow_to_end(&attach, err);
    weir_attach_output_finish(&attach.output);
    weir_frames_finish(&attach.frames);
    weir_client_finish(&attach.control);
    weir_client_finish(&attach.client);
    return result;
}

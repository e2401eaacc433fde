#include "rig.h"

#include "base/clock.h"
#include "base/err.h"
#include "edge/local/command.h"
#include "edge/local/note.h"
#include "edge/local/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char self_path[PATH_MAX];

int rig_main(int argc, char **argv, int (*run_all)(void))
{
    ssize_t n = readlink("/proc/self/exe", self_path, sizeof(self_path) - 1);

    if (n < 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], "launcher") == 0)
        return weir_launcher_main(argc, argv);
    if (argc > 2 && strcmp(argv[1], "job") == 0)
        return rig_job_main(argc - 2, argv + 2);
    return run_all();
}

const char *rig_self(void)
{
    return self_path;
}

int64_t rig_now_ms(void)
{
    return weir_clock_mono_ms();
}

void rig_pause(void)
{
    poll(NULL, 0, 1);
}

#define must(call)                                                                                 \
    do {                                                                                           \
        struct weir_err err = WEIR_ERR_INIT;                                                       \
        if ((call) < 0)                                                                            \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, err.text);                                   \
    } while (0)

void rig_start_launcher(struct rig *rig)
{
    static const char *const argv[] = {"weir-test", "launcher", NULL};
    /* Sanitizers of launcher and shims take their options from it. */
    struct weir_launcher_options options = {.argv = argv,
                                            .envp = (const char *const *)environ,
                                            .data_dir = rig->dir};

    must(weir_launcher_start(&options, &rig->launcher, &err));
}

struct rig *rig_create_in(const char *dir)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    snprintf(rig->dir, sizeof(rig->dir), "%s/weir-rig-XXXXXX", dir);
    assert_non_null(mkdtemp(rig->dir));
    rig->nonce = (uint64_t)getpid() << 32 ^ (uint64_t)weir_clock_mono_us();
    must(weir_slots_open(rig->dir, RIG_SLOTS, &rig->slots, &err));
    must(weir_notes_open(rig->dir, &rig->notes_fd, &err));
    rig_start_launcher(rig);
    return rig;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void rig_destroy(struct rig *rig)
{
    weir_launcher_stop(&rig->launcher);
    weir_slots_close(&rig->slots);
    close(rig->notes_fd);
    nftw(rig->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    free(rig);
}

int rig_setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    *state = rig_create_in(tmp != NULL ? tmp : "/tmp");
    return 0;
}

/* Processes that work in the rig's directory (launcher and shims); told to kill their jobs. */
static unsigned count_workers(const struct rig *rig, bool must_kill)
{
    const struct weir_command command = {WEIR_COMMAND_KILL, 0, 0};
    union sigval value = {.sival_ptr = (void *)(uintptr_t)weir_command_pack(&command)};
    struct weir_proc_walk walk;
    struct weir_proc proc;
    unsigned n = 0;

    weir_proc_walk_init(&walk);
    while (weir_proc_walk_next(&walk, &proc)) {
        char path[64];
        char cwd[PATH_MAX];
        ssize_t n_cwd;

        snprintf(path, sizeof(path), "/proc/%d/cwd", proc.pid);
        n_cwd = readlink(path, cwd, sizeof(cwd) - 1);
        if (n_cwd <= 0)
            continue;
        cwd[n_cwd] = '\0';
        if (strcmp(cwd, rig->dir) != 0)
            continue;
        n++;
        if (must_kill)
            sigqueue(proc.pid, WEIR_COMMAND_SIGNAL, value);
    }
    weir_proc_walk_finish(&walk);
    return n;
}

int rig_teardown(void **state)
{
    enum { TEARDOWN_MS = 20000 };
    struct rig *rig = *state;
    int64_t until = rig_now_ms() + TEARDOWN_MS;
    bool was_left = false;

    weir_launcher_stop(&rig->launcher);
    while (count_workers(rig, false) > 0 && rig_now_ms() < until)
        rig_pause();
    /* What a failed test left must not stay. */
    if (count_workers(rig, true) > 0) {
        was_left = true;
        print_error("shims were left\n");
        until = rig_now_ms() + TEARDOWN_MS;
        while (count_workers(rig, false) > 0 && rig_now_ms() < until)
            rig_pause();
    }
    rig_destroy(rig);
    return was_left;
}

void rig_prepare(struct rig *rig, struct rig_job *job, const char *const *argv)
{
    uint64_t serial = ++rig->last_serial;

    memset(job, 0, sizeof(*job));
    job->launch = (struct weir_launch){
        .id = {serial, rig->nonce, (uint32_t)(serial % RIG_SLOTS)},
        .argv = argv,
        .envp = job->envp,
        .cwd = "/",
        .umask = 022,
        .grace_ms = 10000,
        .output_dir = job->output_dir,
        .output_cap_bytes = RIG_OUTPUT_CAP,
        .cgroup = "",
    };
    weir_attempt_marker(&job->launch.id, job->marker);
    snprintf(job->output_dir, sizeof(job->output_dir), "out-%llu", (unsigned long long)serial);
    job->envp[0] = "PATH=/usr/bin:/bin";
    job->envp[1] = job->marker;
}

void rig_prepare_sh(struct rig *rig, struct rig_job *job, const char *script)
{
    static const char *argv[] = {"sh", "-c", NULL, NULL};

    argv[2] = script;
    rig_prepare(rig, job, argv);
}

void rig_launch(struct rig *rig, const struct rig_job *job)
{
    must(weir_launcher_launch(&rig->launcher, &job->launch, &err));
    while (weir_launcher_wants_write(&rig->launcher)) {
        struct pollfd watch = {.fd = rig->launcher.fd, .events = POLLOUT};

        assert_true(poll(&watch, 1, RIG_DEADLINE_MS) > 0);
        must(weir_launcher_flush(&rig->launcher, &err));
    }
}

static void wait_note(struct rig *rig)
{
    struct weir_note notes[64];
    struct pollfd watch = {.fd = rig->notes_fd, .events = POLLIN};
    size_t n;

    poll(&watch, 1, 20);
    must(weir_notes_read(rig->notes_fd, notes, 64, &n, &err));
}

static struct weir_attempt_status wait_phase(struct rig *rig, const struct rig_job *job,
                                             bool must_be_final)
{
    int64_t until = rig_now_ms() + RIG_DEADLINE_MS;
    struct weir_attempt_view view;

    for (;;) {
        struct weir_launch_refusal refusal;

        must(weir_slots_view(&rig->slots, &job->launch.id, &view, &err));
        if (weir_attempt_is_final(view.status.phase) ||
            (!must_be_final && view.status.phase == WEIR_ATTEMPT_RUNNING))
            return view.status;
        if (weir_launcher_receive(&rig->launcher, &refusal, NULL) == 1)
            fail_msg("attempt %llu refused: %s", (unsigned long long)refusal.serial,
                     strerror(refusal.errnum));
        if (rig_now_ms() > until)
            fail_msg("attempt %llu: still in phase %d", (unsigned long long)job->launch.id.serial,
                     view.status.phase);
        wait_note(rig);
    }
}

struct weir_attempt_status rig_wait_running(struct rig *rig, const struct rig_job *job)
{
    return wait_phase(rig, job, false);
}

struct weir_attempt_status rig_wait_final(struct rig *rig, const struct rig_job *job)
{
    return wait_phase(rig, job, true);
}

struct weir_attempt_status rig_run(struct rig *rig, struct rig_job *job, const char *const *argv)
{
    rig_prepare(rig, job, argv);
    rig_launch(rig, job);
    return rig_wait_final(rig, job);
}

struct weir_attempt_status rig_run_sh(struct rig *rig, struct rig_job *job, const char *script)
{
    return rig_run(rig, job, (const char *const[]){"sh", "-c", script, NULL});
}

void rig_assert_exited(const struct weir_attempt_status *status, int exit_status)
{
    assert_int_equal(status->phase, WEIR_ATTEMPT_EXITED);
    assert_true(WIFEXITED(status->wait_status));
    assert_int_equal(WEXITSTATUS(status->wait_status), exit_status);
}

void rig_assert_exited_with(const struct weir_attempt_status *status, int exit_status,
                            uint32_t flags)
{
    rig_assert_exited(status, exit_status);
    assert_int_equal(status->flags, flags);
}

void rig_need(bool condition, const char *what)
{
    if (condition)
        return;
    print_message("# skipped: needs %s\n", what);
    skip();
}

size_t rig_output(struct rig *rig, const struct rig_job *job, enum weir_output_stream stream,
                  char *text, size_t size)
{
    size_t n = 0;

    for (;;) {
        struct weir_output_chunk chunk;

        must(weir_output_read(rig->dir, job->launch.output_dir, stream, n, text + n, size - 1 - n,
                              &chunk, &err));
        if (chunk.n == 0)
            break;
        assert_int_equal(chunk.offset, n);
        n += chunk.n;
    }
    text[n] = '\0';
    return n;
}

static bool has_output(struct rig *rig, const struct rig_job *job, const char *text)
{
    char output[4096];

    rig_output(rig, job, WEIR_OUTPUT_OUT, output, sizeof(output));
    return strstr(output, text) != NULL;
}

void rig_wait_output(struct rig *rig, const struct rig_job *job, const char *text)
{
    rig_wait_until(has_output(rig, job, text));
}

void rig_command(struct rig *rig, const struct rig_job *job, int op, int signal, uint32_t grace_ms)
{
    struct weir_command command = {(enum weir_command_op)op, (uint8_t)signal, grace_ms};
    struct weir_attempt_view view;

    must(weir_slots_view(&rig->slots, &job->launch.id, &view, &err));
    must(weir_command_send(&view.status, &command, &err));
}

unsigned rig_count_marked(const struct rig_job *job)
{
    struct weir_proc_walk walk;
    struct weir_proc proc;
    unsigned n = 0;

    weir_proc_walk_init(&walk);
    while (weir_proc_walk_next(&walk, &proc))
        n += !weir_proc_is_dead(&proc) && weir_proc_has_environment(proc.pid, job->marker);
    weir_proc_walk_finish(&walk);
    return n;
}

/* 2,000 times /bin/true, 8 at a time: through launcher and shims, beside plain posix_spawn.
 *
 *     local-bench [JOBS] [AT_ONCE] [DIR]
 *
 * CPU is that of a cgroup v2 made for the run (root), else of the whole machine. */
#include "base/clock.h"
#include "base/err.h"
#include "edge/local/launcher.h"
#include "edge/local/note.h"
#include "edge/local/slots.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, AT_ONCE_MAX = 256 };

static char group[64];

static void check(int code, const struct weir_err *err)
{
    if (code >= 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_done = fd >= 0 && write(fd, text, strlen(text)) > 0;

    if (fd >= 0)
        close(fd);
    return is_done;
}

static void enter_group(void)
{
    static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};

    for (size_t i = 0; i < 2; i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/cgroup.subtree_control", roots[i]);
        if (access(path, F_OK) != 0)
            continue;
        snprintf(group, sizeof(group), "%s/weir-bench-%d", roots[i], getpid());
        snprintf(path, sizeof(path), "%s/cgroup.procs", group);
        if (mkdir(group, 0755) == 0 && write_text(path, "0"))
            return;
        rmdir(group);
    }
    group[0] = '\0';
}

static void leave_group(void)
{
    char path[128];

    if (group[0] == '\0')
        return;
    snprintf(path, sizeof(path), "%.*s/cgroup.procs", (int)(strrchr(group, '/') - group), group);
    write_text(path, "0");
    for (int i = 0; i < 100 && rmdir(group) != 0; i++)
        poll(NULL, 0, 10);
}

/* Microseconds of CPU used so far. */
static int64_t cpu_us(void)
{
    char path[128] = "/proc/stat";
    char line[256];
    int64_t us = 0;
    int64_t user;
    int64_t nice;
    int64_t system;
    FILE *file;

    if (group[0] != '\0')
        snprintf(path, sizeof(path), "%s/cpu.stat", group);
    file = fopen(path, "re");
    while (file != NULL && us == 0 && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "usage_usec %" SCNd64, &us) == 1)
            break;
        if (sscanf(line, "cpu %" SCNd64 " %" SCNd64 " %" SCNd64, &user, &nice, &system) == 3)
            us = (user + nice + system) * (1000000 / sysconf(_SC_CLK_TCK));
    }
    if (file != NULL)
        fclose(file);
    return us;
}

static void run_plain(unsigned n_jobs, unsigned at_once)
{
    char true_name[] = "true";
    char *const argv[] = {true_name, NULL};
    char *const envp[] = {NULL};
    unsigned n_running = 0;

    for (unsigned i = 0; i < n_jobs; i++) {
        pid_t pid;

        if (n_running == at_once && wait(NULL) > 0)
            n_running--;
        n_running += posix_spawn(&pid, "/bin/true", NULL, NULL, argv, envp) == 0;
    }
    /* The launcher is a child too, and stays. */
    while (n_running > 0 && wait(NULL) > 0)
        n_running--;
}

struct server {
    struct weir_slots slots;
    struct weir_launcher launcher;
    int notes_fd;
    uint64_t serial;
    struct weir_attempt_id ids[AT_ONCE_MAX]; /* by slot; serial 0: free */
};

static void launch(struct server *server, uint32_t slot)
{
    static const char *const argv[] = {"/bin/true", NULL};
    char marker[WEIR_CLUSTER_MARKER_MAX];
    char output_dir[32];
    const char *envp[] = {"PATH=/usr/bin:/bin", marker, NULL};
    struct weir_attempt_id id = {++server->serial, 0x1234, slot};
    struct weir_launch launch = {.id = id,
                                 .argv = argv,
                                 .envp = envp,
                                 .cwd = "/",
                                 .umask = 022,
                                 .grace_ms = 1000,
                                 .output_dir = output_dir,
                                 .output_cap_bytes = 64 << 20,
                                 .cgroup = ""};
    struct weir_err err = WEIR_ERR_INIT;

    weir_attempt_marker(&id, marker);
    snprintf(output_dir, sizeof(output_dir), "out-%" PRIu64, id.serial);
    check(weir_launcher_launch(&server->launcher, &launch, &err), &err);
    server->ids[slot] = id;
}

/* Slots that have come to their end. */
static unsigned collect(struct server *server)
{
    struct weir_note notes[64];
    struct pollfd watch = {.fd = server->notes_fd, .events = POLLIN};
    struct weir_err err = WEIR_ERR_INIT;
    unsigned n_ended = 0;
    size_t n;

    poll(&watch, 1, 10000);
    check(weir_notes_read(server->notes_fd, notes, 64, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        struct weir_attempt_view view;
        struct weir_attempt_id *id = &server->ids[notes[i].slot];

        if (id->serial != notes[i].serial)
            continue;
        check(weir_slots_view(&server->slots, id, &view, &err), &err);
        if (!weir_attempt_is_final(view.status.phase))
            continue;
        if (view.status.wait_status != 0)
            fprintf(stderr, "attempt %" PRIu64 " failed: %s\n", id->serial, view.status.what);
        id->serial = 0;
        n_ended++;
    }
    return n_ended;
}

static void run_shims(struct server *server, unsigned n_jobs, unsigned at_once)
{
    unsigned n_started = 0;
    unsigned n_ended = 0;

    while (n_ended < n_jobs) {
        for (uint32_t slot = 0; slot < at_once && n_started < n_jobs; slot++)
            if (server->ids[slot].serial == 0) {
                launch(server, slot);
                n_started++;
            }
        n_ended += collect(server);
    }
}

static void report(const char *name, unsigned n_jobs, int64_t wall_us, int64_t cpu)
{
    printf("%-24s %7.0f jobs/s  %6.0f us CPU per job\n", name,
           (double)n_jobs * 1e6 / (double)wall_us, (double)cpu / n_jobs);
}

int main(int argc, char **argv)
{
    static const char *const launcher_argv[] = {"weir-bench", "launcher", NULL};
    static struct server server;
    unsigned n_jobs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2000;
    unsigned at_once = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 8;
    char dir[256];
    struct weir_err err = WEIR_ERR_INIT;

    if (argc == 2 && strcmp(argv[1], "launcher") == 0)
        return weir_launcher_main(argc, argv);
    if (n_jobs == 0 || at_once == 0 || at_once > AT_ONCE_MAX)
        return 64;
    snprintf(dir, sizeof(dir), "%s/weir-bench-XXXXXX", argc > 3 ? argv[3] : "/tmp");
    if (mkdtemp(dir) == NULL)
        return 1;
    enter_group();
    check(weir_slots_open(dir, AT_ONCE_MAX, &server.slots, &err), &err);
    check(weir_notes_open(dir, &server.notes_fd, &err), &err);
    check(weir_launcher_start(&(struct weir_launcher_options){.argv = launcher_argv,
                                                              .data_dir = dir},
                              &server.launcher, &err),
          &err);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t wall = weir_clock_mono_us();
        int64_t cpu = cpu_us();

        run_plain(n_jobs, at_once);
        report("posix_spawn", n_jobs, weir_clock_mono_us() - wall, cpu_us() - cpu);
        wall = weir_clock_mono_us();
        cpu = cpu_us();
        run_shims(&server, n_jobs, at_once);
        report("launcher and shims", n_jobs, weir_clock_mono_us() - wall, cpu_us() - cpu);
    }
    weir_launcher_stop(&server.launcher);
    weir_slots_close(&server.slots);
    close(server.notes_fd);
    leave_group();
    if (chdir(dir) == 0) {
        unlink(WEIR_SLOTS_FILE);
        unlink(WEIR_NOTE_FILE);
        rmdir(dir);
    }
    return 0;
}

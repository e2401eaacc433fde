#include "edge/local/cgroup.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "edge/local/dir.h"
#include "edge/local/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CPU_PERIOD_US = 100000, FREEZE_WAIT_MS = 100, DEPTH_MAX = 16 };

/* 0 or an errno value. */
static int write_file(int dir_fd, const char *name, const char *text)
{
    weir_cleanup_fd int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    return write(fd, text, strlen(text)) < 0 ? errno : 0;
}

/* The number after "key " in a file of such lines; -1 when it is not there. */
static int64_t read_key(int dir_fd, const char *name, const char *key)
{
    weir_cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    char text[1024];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    struct weir_str rest = weir_str_n(text, n > 0 ? (size_t)n : 0);
    struct weir_str line;

    while (weir_str_split(&rest, '\n', &line)) {
        struct weir_str word;
        int64_t value;

        if (weir_str_split(&line, ' ', &word) && weir_str_eq_c(word, key) &&
            weir_str_to_i64(line, &value))
            return value;
    }
    return -1;
}

bool weir_cgroup_has_controller(const char *path, const char *name)
{
    weir_cleanup_fd int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    weir_cleanup_fd int fd =
        dir_fd < 0 ? -1 : openat(dir_fd, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
    char text[1024];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    struct weir_str rest = weir_str_trim(weir_str_n(text, n > 0 ? (size_t)n : 0));
    struct weir_str word;

    while (rest.len > 0 && weir_str_split(&rest, ' ', &word))
        if (weir_str_eq_c(word, name))
            return true;
    return false;
}

static int set_limits(const struct weir_cgroup *cgroup, const struct weir_launch *launch,
                      const char **ret_what)
{
    char text[64];
    int errnum = 0;

    if (launch->memory_max_bytes > 0) {
        *ret_what = "cgroup memory.max";
        snprintf(text, sizeof(text), "%" PRId64, launch->memory_max_bytes);
        errnum = write_file(cgroup->dir_fd, "memory.max", text);
    }
    if (errnum == 0 && launch->cpu_max_mcpu > 0) {
        *ret_what = "cgroup cpu.max";
        snprintf(text, sizeof(text), "%" PRId64 " %d",
                 launch->cpu_max_mcpu * (CPU_PERIOD_US / 1000), CPU_PERIOD_US);
        errnum = write_file(cgroup->dir_fd, "cpu.max", text);
    }
    return errnum;
}

int weir_cgroup_open(const char *path, struct weir_cgroup *ret_cgroup)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return errno;
    *ret_cgroup = (struct weir_cgroup){fd, -1, path};
    return 0;
}

int weir_cgroup_create(const struct weir_launch *launch, struct weir_cgroup *ret_cgroup,
                       const char **ret_what)
{
    struct weir_cgroup cgroup = WEIR_CGROUP_INIT;
    bool is_made = mkdir(launch->cgroup, 0755) == 0;
    int errnum = is_made || errno == EEXIST ? 0 : errno;

    *ret_what = "cgroup";
    if (errnum == 0)
        errnum = weir_cgroup_open(launch->cgroup, &cgroup);
    if (errnum == 0 && !is_made && weir_cgroup_is_populated(&cgroup))
        errnum = EBUSY;
    if (errnum == 0) {
        cgroup.procs_fd = openat(cgroup.dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        errnum = cgroup.procs_fd < 0 ? errno : set_limits(&cgroup, launch, ret_what);
    }
    if (errnum != 0) {
        weir_cgroup_close(&cgroup);
        if (is_made)
            rmdir(launch->cgroup);
        return errnum;
    }
    *ret_cgroup = cgroup;
    return 0;
}

void weir_cgroup_close(struct weir_cgroup *cgroup)
{
    if (cgroup->procs_fd >= 0)
        close(cgroup->procs_fd);
    if (cgroup->dir_fd >= 0)
        close(cgroup->dir_fd);
    *cgroup = (struct weir_cgroup)WEIR_CGROUP_INIT;
}

static void signal_each(int dir_fd, int signal)
{
    int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    weir_cleanup_file FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    pid_t pid;

    if (file == NULL && fd >= 0)
        close(fd);
    while (file != NULL && fscanf(file, "%d", &pid) == 1) {
        /* 0 is a process of another pid namespace: not to be named from here. */
        if (pid > 0 && pid != getpid())
            kill(pid, signal);
    }
}

/* Calls visit for the group and every one below it, deepest first. */
static void each_group(int dir_fd, int depth, void (*visit)(int dir_fd))
{
    DIR *dir = weir_dir_list(dir_fd);
    struct dirent *entry;

    while (dir != NULL && depth < DEPTH_MAX && (entry = readdir(dir)) != NULL) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        weir_cleanup_fd int child_fd =
            openat(dir_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (child_fd >= 0)
            each_group(child_fd, depth + 1, visit);
    }
    if (dir != NULL)
        closedir(dir);
    visit(dir_fd);
}

static void kill_each(int dir_fd)
{
    signal_each(dir_fd, SIGKILL);
}

static void remove_children(int dir_fd)
{
    DIR *dir = weir_dir_list(dir_fd);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR);
    if (dir != NULL)
        closedir(dir);
}

/* Waits until the kernel says that all is frozen, so that nothing can fork while it is killed. */
static void freeze(int dir_fd)
{
    weir_cleanup_fd int events_fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    struct pollfd watch = {.fd = events_fd, .events = POLLPRI};

    if (events_fd < 0 || write_file(dir_fd, "cgroup.freeze", "1") != 0)
        return;
    if (read_key(dir_fd, "cgroup.events", "frozen") == 0)
        poll(&watch, 1, FREEZE_WAIT_MS);
}

void weir_cgroup_signal(const struct weir_cgroup *cgroup, int signal)
{
    if (cgroup->dir_fd < 0)
        return;
    if (signal != SIGKILL) {
        signal_each(cgroup->dir_fd, signal);
        return;
    }
    if (write_file(cgroup->dir_fd, "cgroup.kill", "1") == 0)
        return;
    freeze(cgroup->dir_fd);
    each_group(cgroup->dir_fd, 0, kill_each);
    write_file(cgroup->dir_fd, "cgroup.freeze", "0");
}

bool weir_cgroup_is_populated(const struct weir_cgroup *cgroup)
{
    return cgroup->dir_fd >= 0 && read_key(cgroup->dir_fd, "cgroup.events", "populated") > 0;
}

int64_t weir_cgroup_oom_kills(const struct weir_cgroup *cgroup)
{
    int64_t n = cgroup->dir_fd < 0 ? 0 : read_key(cgroup->dir_fd, "memory.events", "oom_kill");

    return n > 0 ? n : 0;
}

void weir_cgroup_remove(const struct weir_cgroup *cgroup)
{
    if (cgroup->dir_fd < 0 || rmdir(cgroup->path) == 0 || errno != EBUSY)
        return;
    each_group(cgroup->dir_fd, 0, remove_children);
    rmdir(cgroup->path);
}

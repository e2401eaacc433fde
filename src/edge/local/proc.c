#include "edge/local/proc.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 64, STAT_BYTES = 1024, STATUS_BYTES = 1024 };

bool weir_proc_is_dead(const struct weir_proc *proc)
{
    return proc->state == 'Z' || proc->state == 'X' || proc->state == 'x';
}

/* The file's first bytes, NUL-terminated; false when it cannot be read. */
static bool read_head(const char *path, char *text, size_t size)
{
    weir_cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, size - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

/* The next blank-separated number; a sign is skipped, no field used here has one that matters. */
static uint64_t next_number(const char **at)
{
    uint64_t value = 0;

    while (**at == ' ' || **at == '-')
        (*at)++;
    for (; isdigit((unsigned char)**at); (*at)++)
        value = value * 10 + (uint64_t)(**at - '0');
    return value;
}

bool weir_proc_parse(const char *line, struct weir_proc *ret_proc)
{
    enum { FIELD_SESSION = 6, FIELD_START = 22 };
    /* The command's name may hold blanks and parentheses: the last one ends it. */
    const char *at = strrchr(line, ')');
    struct weir_proc proc;

    proc.pid = (pid_t)next_number(&line);
    if (proc.pid == 0 || at == NULL || at[1] != ' ' || at[2] == '\0')
        return false;
    proc.state = at[2];
    at += 3;
    proc.ppid = (pid_t)next_number(&at);
    proc.pgrp = (pid_t)next_number(&at);
    proc.session = (pid_t)next_number(&at);
    for (int field = FIELD_SESSION + 1; field < FIELD_START; field++)
        next_number(&at);
    if (*at != ' ')
        return false;
    proc.start_ticks = next_number(&at);
    *ret_proc = proc;
    return true;
}

bool weir_proc_head(pid_t pid, const char *name, char *text, size_t size)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return read_head(path, text, size);
}

bool weir_proc_read(pid_t pid, struct weir_proc *ret_proc)
{
    char line[STAT_BYTES];

    return weir_proc_head(pid, "stat", line, sizeof(line)) && weir_proc_parse(line, ret_proc);
}

bool weir_proc_uid(pid_t pid, uint32_t *ret_uid)
{
    char text[STATUS_BYTES];
    const char *at =
        weir_proc_head(pid, "status", text, sizeof(text)) ? strstr(text, "\nUid:") : NULL;

    if (at == NULL)
        return false;
    at += strlen("\nUid:");
    while (*at == '\t' || *at == ' ')
        at++;
    *ret_uid = (uint32_t)next_number(&at);
    return true;
}

void weir_proc_walk_init(struct weir_proc_walk *walk)
{
    walk->fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    walk->at = 0;
    walk->n = 0;
}

void weir_proc_walk_finish(struct weir_proc_walk *walk)
{
    if (walk->fd >= 0)
        close(walk->fd);
    walk->fd = -1;
}

/* The few entries of one small read, then the next; 0 at the end. */
static pid_t next_pid(struct weir_proc_walk *walk)
{
    for (;;) {
        const struct dirent64 *entry;
        const char *name;
        pid_t pid;

        if (walk->at >= walk->n) {
            ssize_t n =
                walk->fd < 0 ? 0 : getdents64(walk->fd, walk->entries.bytes, sizeof(walk->entries));

            if (n <= 0)
                return 0;
            walk->n = (unsigned)n;
            walk->at = 0;
        }
        entry = (const struct dirent64 *)(const void *)(walk->entries.bytes + walk->at);
        walk->at += entry->d_reclen;
        name = entry->d_name;
        pid = (pid_t)next_number(&name);
        if (pid > 0)
            return pid;
    }
}

bool weir_proc_walk_next(struct weir_proc_walk *walk, struct weir_proc *ret_proc)
{
    pid_t pid;

    while ((pid = next_pid(walk)) > 0)
        if (weir_proc_read(pid, ret_proc))
            return true;
    return false;
}

/* Reads an environment entry by entry, without keeping more of it than asked for. */
struct environment {
    const char *prefix;
    size_t n_prefix;
    size_t n_seen; /* of the entry under way */
    bool is_candidate;
    char *value;
    size_t size;
};

/* One more character; true at the end of the entry that is looked for. */
static bool take_character(struct environment *env, char c)
{
    size_t at = env->n_seen++;

    if (c == '\0') {
        bool is_it = env->is_candidate && at >= env->n_prefix && at - env->n_prefix < env->size;

        if (is_it)
            env->value[at - env->n_prefix] = '\0';
        env->n_seen = 0;
        env->is_candidate = true;
        return is_it;
    }
    if (at < env->n_prefix)
        env->is_candidate = env->is_candidate && c == env->prefix[at];
    else if (env->is_candidate && at - env->n_prefix < env->size)
        env->value[at - env->n_prefix] = c;
    return false;
}

bool weir_proc_environment(pid_t pid, const char *prefix, char *ret_value, size_t size)
{
    enum { CHUNK = 16384 };
    struct environment env = {prefix, strlen(prefix), 0, true, ret_value, size};
    char path[PATH_BYTES];
    char chunk[CHUNK];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    weir_cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        for (ssize_t i = 0; i < n; i++)
            if (take_character(&env, chunk[i]))
                return true;
    return false;
}

bool weir_proc_has_environment(pid_t pid, const char *entry)
{
    char rest[1]; /* nothing behind it */

    return weir_proc_environment(pid, entry, rest, sizeof(rest));
}

/* Index of pid, or where it would stand. */
static size_t find_pid(const struct weir_proc_hunt *hunt, pid_t pid)
{
    size_t low = 0;
    size_t high = hunt->n_pids;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (hunt->pids[middle] < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_pid(const struct weir_proc_hunt *hunt, pid_t pid)
{
    size_t at = find_pid(hunt, pid);

    return at < hunt->n_pids && hunt->pids[at] == pid;
}

/* Short of memory the pid is not remembered: its children are found once they are reparented. */
static void remember_pid(struct weir_proc_hunt *hunt, pid_t pid)
{
    size_t at = find_pid(hunt, pid);

    if (hunt->n_pids == hunt->cap &&
        weir_vec_grow(&hunt->pids, &hunt->cap, hunt->n_pids + 1, sizeof(pid_t)) < 0)
        return;
    memmove(&hunt->pids[at + 1], &hunt->pids[at], (hunt->n_pids - at) * sizeof(pid_t));
    hunt->pids[at] = pid;
    hunt->n_pids++;
}

static void signal_member(const struct weir_proc *proc, pid_t own_group, const int *signals,
                          unsigned n_signals, struct weir_proc_hunt *hunt)
{
    int result = 0;

    for (unsigned i = 0; i < n_signals; i++) {
        result = kill(proc->pid, signals[i]);
        if (signals[i] == SIGKILL && proc->pgrp > 1 && proc->pgrp != own_group)
            kill(-proc->pgrp, SIGKILL);
    }
    if (result == 0)
        hunt->n_signalled++;
    else if (errno == EPERM)
        hunt->n_denied++;
}

/* Pids mostly rise from parent to child, so a child is met after its parent, and what forks during
 * the pass is still ahead of it. The dead have no children any more. */
unsigned weir_proc_hunt_pass(struct weir_proc_hunt *hunt, const int *signals, unsigned n_signals)
{
    pid_t self = getpid();
    pid_t own_group = getpgrp();
    struct weir_proc_walk walk;
    struct weir_proc proc;
    unsigned n_new = 0;

    weir_proc_walk_init(&walk);
    while (weir_proc_walk_next(&walk, &proc)) {
        if (proc.pid == self || weir_proc_is_dead(&proc) || has_pid(hunt, proc.pid) ||
            (proc.ppid != self && !has_pid(hunt, proc.ppid)))
            continue;
        remember_pid(hunt, proc.pid);
        n_new++;
        signal_member(&proc, own_group, signals, n_signals, hunt);
    }
    weir_proc_walk_finish(&walk);
    return n_new;
}

void weir_proc_hunt_finish(struct weir_proc_hunt *hunt)
{
    hunt->pids = weir_mem_free(hunt->pids);
    hunt->n_pids = 0;
    hunt->cap = 0;
}

int64_t weir_proc_oom_kills(void)
{
    enum { VMSTAT_BYTES = 16384 };
    char text[VMSTAT_BYTES];
    const char *at =
        read_head("/proc/vmstat", text, sizeof(text)) ? strstr(text, "\noom_kill ") : NULL;

    if (at == NULL)
        return -1;
    at += strlen("\noom_kill");
    return (int64_t)next_number(&at);
}

/* edge/local/proc.h — reading /proc: one process, and everything below one. */
#ifndef WEIR_EDGE_LOCAL_PROC_H
#define WEIR_EDGE_LOCAL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct weir_proc {
    pid_t pid;
    pid_t ppid;
    pid_t pgrp;
    pid_t session;
    char state;           /* 'R', 'S', 'Z', … as in proc(5) */
    uint64_t start_ticks; /* since boot: with the pid it names one process of one boot */
};

/* A zombie or worse: it runs no code any more. */
bool weir_proc_is_dead(const struct weir_proc *proc);

/* False when there is no such process, or /proc does not show it. */
bool weir_proc_read(pid_t pid, struct weir_proc *ret_proc);
/* For unit tests: one line as /proc/PID/stat gives it. False when it is not one. */
bool weir_proc_parse(const char *line, struct weir_proc *ret_proc);

/* The first bytes of /proc/PID/NAME, NUL-terminated; false when it cannot be read. */
bool weir_proc_head(pid_t pid, const char *name, char *text, size_t size);

/* The real user id: the owner of /proc/PID is root's for whatever may not be dumped. False when
 * there is no such process. */
bool weir_proc_uid(pid_t pid, uint32_t *ret_uid);

/* A walk over all processes by rising pid. Each step looks anew: a process that was forked during
 * the walk is met, unless pids have just wrapped around. So who forks and exits cannot slip away
 * from a walk that kills, as it could from a list that was read in one go. */
struct weir_proc_walk {
    int fd; /* -1: there is no /proc, the walk is empty */
    unsigned at;
    unsigned n;
    union {
        char bytes[128];
        uint64_t alignment;
    } entries;
};

void weir_proc_walk_init(struct weir_proc_walk *walk);
bool weir_proc_walk_next(struct weir_proc_walk *walk, struct weir_proc *ret_proc);
void weir_proc_walk_finish(struct weir_proc_walk *walk);

/* True when the environment that the process was started with holds exactly this entry
 * ("NAME=value"). False also where it cannot be read (other user, kernel thread). */
bool weir_proc_has_environment(pid_t pid, const char *entry);
/* What the entry that begins with this ("NAME=") ends with; false likewise, and where it does not
 * fit. */
bool weir_proc_environment(pid_t pid, const char *prefix, char *ret_value, size_t size);

/* Signals to every living process below the caller, which is their subreaper (so that reparented
 * descendants stay below it). Passes are repeated until one finds nobody new; the caller buries its
 * dead between them, or a job that forks without end fills the machine's process table. */
struct weir_proc_hunt {
    pid_t *pids; /* signalled, rising */
    size_t n_pids;
    size_t cap;
    unsigned n_signalled;
    unsigned n_denied; /* alive, but the kernel does not let us signal them */
};

#define WEIR_PROC_HUNT_INIT                                                                        \
    {                                                                                              \
        NULL, 0, 0, 0, 0                                                                           \
    }

/* One pass: the signals, in their order, to each one found that this hunt did not signal yet. For
 * SIGKILL its whole process group goes at once, which no fork can outrun; the caller's own group is
 * left out. How many were found. */
unsigned weir_proc_hunt_pass(struct weir_proc_hunt *hunt, const int *signals, unsigned n_signals);
/* Frees the list; the counts stay. */
void weir_proc_hunt_finish(struct weir_proc_hunt *hunt);

/* The kernel's count of processes killed for memory since boot; -1 where it does not tell. */
int64_t weir_proc_oom_kills(void);

#endif

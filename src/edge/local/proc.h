/* edge/local/proc.h — reading /proc: one process, and everything below one. */
#ifndef WEIR_EDGE_LOCAL_PROC_H
#define WEIR_EDGE_LOCAL_PROC_H

#include <dirent.h>
#include <stdbool.h>
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

/* The next process of an open /proc, in the order of pids; false at the end. */
bool weir_proc_next(DIR *proc_dir, struct weir_proc *ret_proc);

/* True when the environment that the process was started with holds exactly this entry
 * ("NAME=value"). False also where it cannot be read (other user, kernel thread). */
bool weir_proc_has_environment(pid_t pid, const char *entry);

struct weir_proc_tree {
    unsigned n_signalled;
    unsigned n_denied; /* alive, but the kernel does not let us signal them */
};

/* Sends signals (at most 2, one after the other) to every living process below root, root itself
 * left out, and goes on until a pass finds no new one. For SIGKILL whole process groups go at once,
 * which no fork can outrun; the group of the caller is left out. Only for root == the caller: that
 * keeps reparented descendants below root (PR_SET_CHILD_SUBREAPER). */
struct weir_proc_tree weir_proc_signal_tree(pid_t root, const int *signals, unsigned n_signals);

/* The kernel's count of processes killed for memory since boot; -1 where it does not tell. */
int64_t weir_proc_oom_kills(void);

#endif

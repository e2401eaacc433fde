/* edge/local/cgroup.h — a job's own cgroup v2: made, limited, killed as a whole, removed. */
#ifndef WEIR_EDGE_LOCAL_CGROUP_H
#define WEIR_EDGE_LOCAL_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct weir_launch;

struct weir_cgroup {
    int dir_fd;       /* -1: the job has none */
    int procs_fd;     /* cgroup.procs, open for writing */
    const char *path; /* borrowed */
};

#define WEIR_CGROUP_INIT                                                                           \
    {                                                                                              \
        -1, -1, ""                                                                                 \
    }

/* Whether groups below the one at this path can be given limits of that kind ("memory"). */
bool weir_cgroup_has_controller(const char *path, const char *name);
/* Makes launch->cgroup and sets the limits asked for. A group that is there already is taken when
 * nothing lives in it (so it may have been made for us), else EBUSY. Returns 0 or an errno value
 * and at what in *ret_what; nothing is left behind then. */
int weir_cgroup_create(const struct weir_launch *launch, struct weir_cgroup *ret_cgroup,
                       const char **ret_what);
/* Opens a group that another process made: 0 or an errno value. */
int weir_cgroup_open(const char *path, struct weir_cgroup *ret_cgroup);
void weir_cgroup_close(struct weir_cgroup *cgroup);

/* SIGKILL to everything in it and below, atomically by cgroup.kill (Linux 5.14), else frozen and
 * killed one by one. Other signals: to each process in the group itself. */
void weir_cgroup_signal(const struct weir_cgroup *cgroup, int signal);
/* True while anything lives in it; false when there is no group. */
bool weir_cgroup_is_populated(const struct weir_cgroup *cgroup);
/* How many processes the kernel killed in it for memory; 0 where it does not tell. */
int64_t weir_cgroup_oom_kills(const struct weir_cgroup *cgroup);
/* rmdir, groups that the job made below it included (best effort). */
void weir_cgroup_remove(const struct weir_cgroup *cgroup);

#endif

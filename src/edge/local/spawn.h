/* edge/local/spawn.h — for the shim: starting main with everything the request asks for. */
#ifndef WEIR_EDGE_LOCAL_SPAWN_H
#define WEIR_EDGE_LOCAL_SPAWN_H

#include "edge/local/launch.h"

struct weir_spawn {
    const struct weir_launch *launch;
    int out_fd; /* become the job's 1 and 2; its 0 is the caller's */
    int err_fd;
    int cgroup_procs_fd;       /* -1: none */
    const char *oom_score_adj; /* to be set for the job; NULL: as it is */
    const char *ret_what;      /* on failure: at what ("exec", "user", …) */
};

/* Returns main's pid once it runs (the exec succeeded, or a signal ended it before), or the negated
 * errno with spawn->ret_what set. The caller is single-threaded, has every signal blocked and none
 * caught or ignored, and all its descriptors but 0, 1, 2 are close-on-exec. Blocks until the exec
 * is done; main shares the caller's memory till then, so no page table is copied. */
pid_t weir_spawn_main(struct weir_spawn *spawn);

#endif

#include "edge/local/ending.h"

#include "edge/local/attempt.h"
#include "model/world.h"
#include "port/cluster.h"

#include <errno.h>
#include <sys/wait.h>

_Static_assert((int)WEIR_CLUSTER_DETAIL_MAX == (int)WEIR_ATTEMPT_WHY_MAX,
               "the port takes it whole");

static int32_t shell_status(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return 128 + WTERMSIG(wait_status);
    return WEXITSTATUS(wait_status);
}

static uint32_t end_of(const struct weir_attempt_status *status)
{
    if ((status->flags & WEIR_ATTEMPT_TIME_LIMIT) != 0)
        return WEIR_END_TIME_LIMIT;
    if ((status->flags & (WEIR_ATTEMPT_OOM_KNOWN | WEIR_ATTEMPT_OOM_LIKELY)) != 0)
        return WEIR_END_OUT_OF_MEMORY;
    return (status->flags & WEIR_ATTEMPT_STOP_ASKED) != 0 ? WEIR_END_STOPPED : WEIR_END_EXITED;
}

/* A command that is not there is the job's own fault and ends it as a shell would; want of space or
 * of processes is not, and the start is tried again. */
static bool is_own_fault(const struct weir_attempt_status *status)
{
    switch (status->start_errno) {
    case ENOSPC:
    case EDQUOT:
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EIO:
    case EROFS:
        return false;
    default:
        return true;
    }
}

void weir_ending_tell(const struct weir_attempt_status *status, struct weir_cluster_facts *facts)
{
    facts->phase = WEIR_SEEN_ENDED;
    facts->exit_status = shell_status(status->wait_status);
    facts->ended_wall_ms = status->ended_wall_ms;
    facts->cpu_us = status->user_us + status->system_us;
    facts->maxrss_bytes = status->maxrss_kib * 1024;
    facts->was_checkpointed = (status->flags & WEIR_ATTEMPT_CHECKPOINT_SENT) != 0;
    facts->end = end_of(status);
    if (status->phase != WEIR_ATTEMPT_FAILED || status->start_errno == ECANCELED)
        return;
    facts->end = is_own_fault(status) ? WEIR_END_EXITED : WEIR_END_NOT_STARTED;
    weir_attempt_why(status, facts->detail);
}

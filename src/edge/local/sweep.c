#include "edge/local/sweep.h"

#include "base/clock.h"
#include "base/err.h"
#include "edge/local/cgroup.h"
#include "edge/local/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static bool is_of_boot(const struct weir_sweep_target *target, const uint8_t boot_id[16])
{
    return memcmp(boot_id, target->status.boot_id, sizeof(target->status.boot_id)) == 0;
}

static bool has_uid(pid_t pid, uid_t uid)
{
    uint32_t real_uid;

    return weir_proc_uid(pid, &real_uid) && real_uid == uid;
}

/* A number stays taken as a session or group while one member lives. So a leader with that pid but
 * another start time means that ours are gone, and the number was given out anew. */
static bool is_leader_ours(pid_t pid, uint64_t start_ticks)
{
    struct weir_proc leader;

    return !weir_proc_read(pid, &leader) || leader.start_ticks == start_ticks;
}

static bool is_in_group_of(const struct weir_proc *proc, const struct weir_attempt_status *status)
{
    bool is_in_session = status->shim_pid > 1 && proc->session == status->shim_pid &&
                         is_leader_ours(status->shim_pid, status->shim_start_ticks);
    bool is_in_group = status->main_pid > 1 && proc->pgrp == status->main_pid &&
                       is_leader_ours(status->main_pid, status->main_start_ticks);

    return (is_in_session || is_in_group) && proc->start_ticks >= status->shim_start_ticks &&
           has_uid(proc->pid, status->uid);
}

static bool belongs_to(const struct weir_proc *proc, const struct weir_sweep_target *target)
{
    char marker[WEIR_CLUSTER_MARKER_MAX];

    if (proc->pid == target->status.shim_pid &&
        proc->start_ticks == target->status.shim_start_ticks)
        return false;
    if (is_in_group_of(proc, &target->status))
        return true;
    weir_attempt_marker(&target->status.id, marker);
    return weir_proc_has_environment(proc->pid, marker);
}

static unsigned sweep_cgroup(const struct weir_sweep_target *target)
{
    struct weir_cgroup cgroup = WEIR_CGROUP_INIT;
    unsigned n_left = 0;

    if (target->cgroup[0] == '\0' || weir_cgroup_open(target->cgroup, &cgroup) != 0)
        return 0;
    if (weir_cgroup_is_populated(&cgroup)) {
        weir_cgroup_signal(&cgroup, SIGKILL);
        n_left = 1;
    } else {
        weir_cgroup_remove(&cgroup);
    }
    weir_cgroup_close(&cgroup);
    return n_left;
}

/* Kills what belongs to one of the targets; how many there were. */
static unsigned sweep_processes(const struct weir_sweep_target *targets, size_t n,
                                const uint8_t boot_id[16])
{
    struct weir_proc_walk walk;
    struct weir_proc proc;
    unsigned n_found = 0;

    weir_proc_walk_init(&walk);
    while (weir_proc_walk_next(&walk, &proc)) {
        if (weir_proc_is_dead(&proc) || proc.pid == getpid())
            continue;
        for (size_t i = 0; i < n; i++) {
            if (!is_of_boot(&targets[i], boot_id) || !belongs_to(&proc, &targets[i]))
                continue;
            kill(proc.pid, SIGKILL);
            n_found++;
            break;
        }
    }
    weir_proc_walk_finish(&walk);
    return n_found;
}

int weir_sweep(const struct weir_sweep_target *targets, size_t n, unsigned *ret_n,
               struct weir_err *err)
{
    uint8_t boot_id[16];
    unsigned n_left;

    if (access("/proc/self/stat", R_OK) != 0)
        return weir_error(err, WEIR_E_UNSUPPORTED, "cannot read /proc: %s", strerror(errno));
    weir_clock_boot_id(boot_id);
    n_left = sweep_processes(targets, n, boot_id);
    /* Nothing is believed only when it was seen twice: pids may have wrapped around. */
    if (n_left == 0)
        n_left = sweep_processes(targets, n, boot_id);
    for (size_t i = 0; i < n; i++)
        if (is_of_boot(&targets[i], boot_id))
            n_left += sweep_cgroup(&targets[i]);
    *ret_n = n_left;
    return 0;
}

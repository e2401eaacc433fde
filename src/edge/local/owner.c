#include "edge/local/owner.h"

#include "base/char.h"
#include "base/err.h"
#include "edge/local/proc.h"

#include <string.h>

enum { ANCESTORS_MAX = 1024, CGROUP_BYTES = 4096 };

#define CGROUP_MOUNT  "/sys/fs/cgroup"
#define GROUP_PREFIX  "/job-"
#define MARKER_PREFIX "WEIR_ATTEMPT="

/* ---- who there is ---- */

static int load_shims(struct weir_owners *owners, struct weir_err *err)
{
    if (owners->has_shims)
        return 0;
    weir_vec_clear(&owners->shims);
    for (uint32_t slot = 0; slot < owners->slots->n; slot++) {
        struct weir_attempt_status status;
        struct weir_owner_shim shim;
        int r = weir_slots_holder(owners->slots, slot, &status, err);

        if (r < 0)
            return r;
        if (r == 0)
            continue;
        shim = (struct weir_owner_shim){status.shim_pid, status.shim_start_ticks, status.id.serial,
                                        status.id.nonce, status.uid};
        if (weir_vec_push(&owners->shims, shim) < 0)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory to tell whose processes are");
    }
    owners->has_shims = true;
    return 0;
}

static uint64_t serial_of_shim(struct weir_owners *owners, const struct weir_proc *proc)
{
    weir_vec_foreach (shim, &owners->shims)
        if (shim->pid == proc->pid && shim->start_ticks == proc->start_ticks)
            return shim->serial;
    return 0;
}

static bool lives(struct weir_owners *owners, uint64_t serial)
{
    weir_vec_foreach (shim, &owners->shims)
        if (shim->serial == serial)
            return true;
    return false;
}

/* ---- the three ways ---- */

static uint64_t by_descent(struct weir_owners *owners, const struct weir_proc *proc)
{
    struct weir_proc at = *proc;

    for (int i = 0; i < ANCESTORS_MAX; i++) {
        uint64_t serial = serial_of_shim(owners, &at);

        if (serial != 0)
            return serial;
        if (at.ppid <= 1 || !weir_proc_read(at.ppid, &at))
            return 0;
    }
    return 0;
}

/* "/job-17/below" behind the folder of the groups; 0: it is not there. The folder begins the path:
 * who may make groups of his own can give them the same names further below. */
static uint64_t serial_in_path(struct weir_str path, struct weir_str folder)
{
    struct weir_str rest;
    uint64_t serial;
    size_t n = 0;

    if (folder.len == 0 || !weir_str_starts_with(path, folder))
        return 0;
    rest = weir_str_sub(path, folder.len, path.len);
    if (!weir_str_starts_with(rest, WEIR_STR(GROUP_PREFIX)))
        return 0;
    rest = weir_str_sub(rest, sizeof(GROUP_PREFIX) - 1, rest.len);
    while (n < rest.len && weir_char_is_digit(rest.ptr[n]))
        n++;
    return weir_str_to_u64(weir_str_sub(rest, 0, n), &serial) ? serial : 0;
}

/* Of what /proc/PID/cgroup says: a line "NUMBER:CONTROLLERS:PATH" for each hierarchy. */
static uint64_t serial_in_group(struct weir_str groups, struct weir_str folder)
{
    struct weir_str mount = WEIR_STR(CGROUP_MOUNT);
    struct weir_str line;
    uint64_t serial = 0;

    if (weir_str_starts_with(folder, mount))
        folder = weir_str_sub(folder, mount.len, folder.len);
    while (serial == 0 && weir_str_split(&groups, '\n', &line)) {
        struct weir_str part;

        if (weir_str_split(&line, ':', &part) && weir_str_split(&line, ':', &part))
            serial = serial_in_path(line, folder);
    }
    return serial;
}

static uint64_t by_cgroup(struct weir_owners *owners, pid_t pid)
{
    char text[CGROUP_BYTES];
    uint64_t serial;

    if (owners->cgroup[0] == '\0' || !weir_proc_head(pid, "cgroup", text, sizeof(text)))
        return 0;
    serial = serial_in_group(weir_str(text), weir_str(owners->cgroup));
    return lives(owners, serial) ? serial : 0;
}

static uint64_t newest(struct weir_owners *owners)
{
    uint64_t serial = 0;

    weir_vec_foreach (shim, &owners->shims)
        if (shim->serial > serial)
            serial = shim->serial;
    return serial;
}

/* 0: it carries none of an attempt that lives. Up to which attempt that is told for good is in
 * *ret_until: an environment is what the process began with, and may be long. */
static uint64_t by_marker(struct weir_owners *owners, pid_t pid, uint32_t uid, uint64_t *ret_until)
{
    char value[WEIR_CLUSTER_MARKER_MAX];
    char marker[WEIR_CLUSTER_MARKER_MAX];

    *ret_until = UINT64_MAX;
    if (!weir_proc_environment(pid, MARKER_PREFIX, value, sizeof(value)))
        return 0;
    weir_vec_foreach (shim, &owners->shims) {
        weir_cluster_marker(shim->serial, shim->nonce, marker);
        if (strcmp(marker + sizeof(MARKER_PREFIX) - 1, value) == 0)
            return uid == shim->uid || uid == 0 ? shim->serial : 0;
    }
    *ret_until = newest(owners);
    return 0;
}

/* ---- one process ---- */

struct identity {
    uint64_t start_ticks;
    uint64_t pid;
};

static struct weir_str key_of(const struct identity *identity)
{
    return weir_str_n((const char *)identity, sizeof(*identity));
}

/* What one call finds, for the next one. */
struct found {
    struct weir_map known;
    struct weir_map strangers;
};

/* Without memory for it, it is looked for again the next time. */
static int search(struct weir_owners *owners, const struct weir_proc *proc, uint32_t uid,
                  struct found *found, uint64_t *ret_serial, struct weir_err *err)
{
    struct identity identity = {.start_ticks = proc->start_ticks, .pid = (uint64_t)proc->pid};
    uint64_t serial = 0;
    uint64_t until = 0;

    if (!weir_map_get(&owners->known, key_of(&identity), &serial)) {
        int r = load_shims(owners, err);

        if (r < 0)
            return r;
        serial = by_descent(owners, proc);
        if (serial == 0)
            serial = by_cgroup(owners, proc->pid);
        if (serial == 0 && (!weir_map_get(&owners->strangers, key_of(&identity), &until) ||
                            until < newest(owners)))
            serial = by_marker(owners, proc->pid, uid, &until);
    }
    if (serial != 0)
        weir_map_set(&found->known, key_of(&identity), serial);
    else
        weir_map_set(&found->strangers, key_of(&identity), until);
    *ret_serial = serial;
    return 0;
}

static int find_one(struct weir_owners *owners, uint32_t pid, struct found *found,
                    struct weir_cluster_owner *ret, struct weir_err *err)
{
    struct weir_cluster_owner owner = {.is_gone = true};
    struct weir_proc proc;
    int r = 0;

    if (weir_proc_read((pid_t)pid, &proc) && !weir_proc_is_dead(&proc) &&
        weir_proc_uid(proc.pid, &owner.uid)) {
        owner.is_gone = false;
        r = search(owners, &proc, owner.uid, found, &owner.serial, err);
    }
    if (r == 0)
        *ret = owner;
    return r;
}

int weir_owners_find(struct weir_owners *owners, const uint32_t *pids, size_t n,
                     struct weir_cluster_owner *ret_owners, struct weir_err *err)
{
    struct found found = {WEIR_MAP_INIT, WEIR_MAP_INIT};
    int r = 0;

    owners->has_shims = false;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = find_one(owners, pids[i], &found, &ret_owners[i], err);
    weir_map_finish(&owners->known);
    weir_map_finish(&owners->strangers);
    owners->known = found.known;
    owners->strangers = found.strangers;
    return r;
}

void weir_owners_finish(struct weir_owners *owners)
{
    weir_map_finish(&owners->known);
    weir_map_finish(&owners->strangers);
    weir_vec_finish(&owners->shims);
}

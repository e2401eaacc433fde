#include "edge/local/cluster.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/local/cgroup.h"
#include "edge/local/command.h"
#include "edge/local/ending.h"
#include "edge/local/launcher.h"
#include "edge/local/note.h"
#include "edge/local/output.h"
#include "edge/local/owner.h"
#include "edge/local/slots.h"
#include "edge/local/sweep.h"
#include "edge/local/tenants.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SLOTS_MIN = 64,
    GROUPS_MAX = 1024,
    NOTES_MAX = 64,
    PATH_BYTES = 4096,
    STRANGER_TRIES = 2000,
    STRANGER_PAUSE_MS = 5,
};

struct weir_local {
    char data_dir[PATH_BYTES];
    char cgroup[PATH_BYTES];
    bool limits_memory;
    const char *launcher_exe;
    const char *const *launcher_argv;
    struct weir_slots slots;
    struct weir_launcher launcher;
    int notes_fd;
    uint64_t serial_floor; /* the last of earlier servers that is still in the books */
    uint64_t last_serial;
    struct weir_tenants tenants;
    struct weir_owners owners;
};

static void output_dir_name(uint64_t number, uint32_t member, uint32_t attempt, char *out,
                            size_t size)
{
    snprintf(out, size, WEIR_OUTPUT_FOLDER "/%llu.%u.%u", (unsigned long long)number, member,
             attempt);
}

static void cgroup_name(const struct weir_local *local, const struct weir_attempt_id *id, char *out,
                        size_t size)
{
    out[0] = '\0';
    if (local->cgroup[0] != '\0')
        snprintf(out, size, "%s/job-%llu", local->cgroup, (unsigned long long)id->serial);
}

static struct weir_attempt_id id_of(const struct weir_cluster_ref *ref)
{
    return (struct weir_attempt_id){.serial = ref->serial, .nonce = ref->nonce, .slot = ref->slot};
}

/* ---- launching ---- */

/* The groups of the user the job runs as. */
static int groups_of(uint32_t uid, uint32_t gid, gid_t *groups, int *n, struct weir_err *err)
{
    const struct passwd *user;

    errno = 0;
    user = getpwuid(uid);
    if (user == NULL && errno != 0)
        return weir_error_errno(err, errno, "look up uid %u", uid);
    if (user == NULL) {
        groups[0] = gid;
        *n = 1;
        return 0;
    }
    if (getgrouplist(user->pw_name, gid, groups, n) < 0)
        return weir_error(err, WEIR_E_TOO_LARGE, "uid %u is in more than %d groups", uid,
                          (int)GROUPS_MAX);
    return 0;
}

static uint32_t grace_of(int64_t ms)
{
    return ms > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)ms;
}

static int local_launch(void *ctx, const struct weir_cluster_launch *launch, struct weir_err *err)
{
    struct weir_local *local = ctx;
    struct weir_tenant *tenant =
        weir_tenants_find(&local->tenants, launch->ref.serial, launch->ref.slot);
    gid_t groups[GROUPS_MAX];
    int n_groups = GROUPS_MAX;
    char output[128];
    char cgroup[PATH_BYTES + 32];
    struct weir_launch request = {
        .id = id_of(&launch->ref),
        .argv = launch->argv,
        .envp = launch->envp,
        .cwd = launch->cwd,
        .umask = launch->umask,
        .time_limit_ms = launch->time_limit_ms == INT64_MAX ? 0 : launch->time_limit_ms,
        .grace_ms = grace_of(launch->stop_grace_ms),
        .output_dir = output,
        .output_cap_bytes = launch->output_max_bytes,
        .cgroup = cgroup,
        .memory_max_bytes = local->limits_memory ? launch->memory_max_bytes : 0,
    };
    int r;

    if (launch->switch_user) {
        r = groups_of(launch->uid, launch->gid, groups, &n_groups, err);
        if (r < 0)
            return r;
        request.set_identity = true;
        request.uid = launch->uid;
        request.gid = launch->gid;
        request.groups = groups;
        request.n_groups = (uint32_t)n_groups;
    }
    output_dir_name(launch->number, launch->member, launch->attempt, output, sizeof(output));
    cgroup_name(local, &request.id, cgroup, sizeof(cgroup));
    r = weir_launcher_launch(&local->launcher, &request, err);
    if (r == 0 && tenant != NULL)
        tenant->sent = tenant->serial;
    return r;
}

static int start_launcher(struct weir_local *local, struct weir_err *err)
{
    struct weir_launcher_options options = {.exe = local->launcher_exe,
                                            .argv = local->launcher_argv,
                                            .data_dir = local->data_dir};

    return weir_launcher_start(&options, &local->launcher, err);
}

int weir_local_launcher_fd(const struct weir_local *local)
{
    return local->launcher.fd;
}

bool weir_local_wants_write(const struct weir_local *local)
{
    return weir_launcher_wants_write(&local->launcher);
}

int weir_local_service(struct weir_local *local, struct weir_err *err)
{
    struct weir_launch_refusal refusal;
    int r;

    if (local->launcher.fd < 0)
        return start_launcher(local, err);
    r = weir_launcher_flush(&local->launcher, err);
    while (r == 0 && (r = weir_launcher_receive(&local->launcher, &refusal, err)) > 0) {
        r = 0;
        if (refusal.serial == 0) /* whose it was could not be read */
            weir_tenants_doubt_all(&local->tenants);
        else
            weir_tenants_doubt(&local->tenants,
                               weir_tenants_find(&local->tenants, refusal.serial, refusal.slot));
    }
    if (r != WEIR_E_UNAVAILABLE)
        return r;
    weir_launcher_stop(&local->launcher);
    weir_tenants_doubt_all(&local->tenants);
    return start_launcher(local, err);
}

/* ---- looking ---- */

/* The shim is gone without a last word: what is left of the job goes too, before it counts as
 * ended. */
static int tell_lost(const struct weir_local *local, const struct weir_attempt_status *status,
                     struct weir_cluster_facts *facts, struct weir_err *err)
{
    char cgroup[PATH_BYTES + 32];
    struct weir_sweep_target target = {.status = *status, .cgroup = cgroup};
    unsigned n_left;
    int r;

    cgroup_name(local, &status->id, cgroup, sizeof(cgroup));
    r = weir_sweep(&target, 1, &n_left, err);
    if (r < 0)
        return r;
    facts->phase = n_left > 0 ? WEIR_SEEN_RUNNING : WEIR_SEEN_ENDED;
    facts->end = n_left > 0 ? WEIR_END_NOT : WEIR_END_LOST;
    return 0;
}

/* A slot that was made anew says nothing of an attempt that an earlier server launched: that may
 * still run, or have ended, and must not begin again. */
static int tell_forbidden(const struct weir_local *local, const struct weir_attempt_status *status,
                          struct weir_cluster_facts *facts, struct weir_err *err)
{
    if (status->id.slot >= local->slots.n_found && status->id.serial <= local->serial_floor)
        return tell_lost(local, status, facts, err);
    facts->phase = WEIR_SEEN_ENDED;
    facts->end = WEIR_END_NOT_STARTED;
    return 0;
}

static int tell(const struct weir_local *local, const struct weir_attempt_view *view,
                struct weir_cluster_facts *ret_facts, struct weir_err *err)
{
    const struct weir_attempt_status *status = &view->status;
    struct weir_cluster_facts facts = {.started_wall_ms = status->started_wall_ms,
                                       .pid = (uint32_t)status->main_pid};
    int r = 0;

    switch (status->phase) {
    case WEIR_ATTEMPT_NONE:
        facts.phase = WEIR_SEEN_NOTHING;
        break;
    case WEIR_ATTEMPT_FORBIDDEN:
        r = tell_forbidden(local, status, &facts, err);
        break;
    case WEIR_ATTEMPT_CLAIMED:
    case WEIR_ATTEMPT_RUNNING:
        facts.phase = status->phase == WEIR_ATTEMPT_RUNNING ? WEIR_SEEN_RUNNING : WEIR_SEEN_NOTHING;
        if (!view->is_alive)
            r = tell_lost(local, status, &facts, err);
        break;
    case WEIR_ATTEMPT_EXITED:
    case WEIR_ATTEMPT_FAILED:
        weir_ending_tell(status, &facts);
        break;
    case WEIR_ATTEMPT_PHASE_MAX:
        return weir_error(err, WEIR_E_CORRUPT, "an attempt is in no known phase");
    }
    if (r == 0)
        *ret_facts = facts;
    return r;
}

/* Forbids what has not begun. */
static int settle(struct weir_local *local, const struct weir_cluster_ref *ref,
                  struct weir_cluster_facts *ret_facts, struct weir_err *err)
{
    struct weir_attempt_id id = id_of(ref);
    struct weir_attempt_view view = {0};
    int r = weir_slots_forbid(&local->slots, &id, &view.status, err);

    if (r == WEIR_E_UNAVAILABLE) /* a shim has it: alive */
        r = weir_slots_view(&local->slots, &id, &view, err);
    if (r == 0)
        r = tell(local, &view, ret_facts, err);
    /* A shim that has the slot and did not claim it yet may still die before it does. */
    if (r == 0 && view.status.phase != WEIR_ATTEMPT_NONE)
        weir_tenants_settle(&local->tenants,
                            weir_tenants_find(&local->tenants, ref->serial, ref->slot));
    return r;
}

/* Only a store that was brought back from earlier asks for an attempt whose slot a later one has:
 * it has ended since, and nobody knows how. */
static int tell_overtaken(const struct weir_local *local, const struct weir_attempt_id *id,
                          struct weir_cluster_facts *ret_facts, struct weir_err *err)
{
    struct weir_attempt_status status = {.id = *id};
    struct weir_cluster_facts facts = {0};
    int r;

    weir_clock_boot_id(status.boot_id);
    r = tell_lost(local, &status, &facts, err);
    if (r == 0)
        *ret_facts = facts;
    return r;
}

static int local_look(void *ctx, const struct weir_cluster_ref *ref,
                      struct weir_cluster_facts *ret_facts, struct weir_err *err)
{
    struct weir_local *local = ctx;
    struct weir_attempt_id id = id_of(ref);
    const struct weir_tenant *tenant = weir_tenants_find(&local->tenants, ref->serial, ref->slot);
    struct weir_attempt_view view;
    int r;

    if (tenant != NULL && tenant->is_in_doubt) {
        r = settle(local, ref, ret_facts, err);
    } else {
        r = weir_slots_view(&local->slots, &id, &view, err);
        r = r < 0 ? r : tell(local, &view, ret_facts, err);
    }
    return r == WEIR_E_EXISTS ? tell_overtaken(local, &id, ret_facts, err) : r;
}

static int local_command(void *ctx, const struct weir_cluster_ref *ref,
                         enum weir_cluster_command what, int signal_number, int64_t grace_ms,
                         struct weir_err *err)
{
    static const enum weir_command_op ops[] = {[WEIR_CLUSTER_SIGNAL] = WEIR_COMMAND_FORWARD,
                                               [WEIR_CLUSTER_STOP] = WEIR_COMMAND_STOP,
                                               [WEIR_CLUSTER_CHECKPOINT] = WEIR_COMMAND_CHECKPOINT};
    struct weir_local *local = ctx;
    struct weir_attempt_id id = id_of(ref);
    struct weir_command command = {.op = ops[what],
                                   .signal = (uint8_t)signal_number,
                                   .grace_ms = WEIR_COMMAND_GRACE_DEFAULT};
    struct weir_attempt_view view;
    int r = weir_slots_view(&local->slots, &id, &view, err);

    if (r < 0)
        return r;
    if (what == WEIR_CLUSTER_CHECKPOINT)
        command.grace_ms = grace_of(grace_ms);
    if (view.status.phase == WEIR_ATTEMPT_NONE)
        return weir_error(err, WEIR_E_UNAVAILABLE, "it has not begun");
    return weir_command_send(&view.status, &command, err);
}

/* ---- notices, slots ---- */

static int local_notice_fd(void *ctx)
{
    return ((struct weir_local *)ctx)->notes_fd;
}

static int local_notices(void *ctx, void (*each)(void *arg, uint64_t serial), void *arg,
                         struct weir_err *err)
{
    struct weir_local *local = ctx;
    const struct weir_tenants *tenants = &local->tenants;
    struct weir_note notes[NOTES_MAX];
    size_t n;

    for (size_t i = 0; tenants->n_in_doubt > 0 && i < tenants->slots.n; i++)
        if (tenants->slots.items[i].is_in_doubt)
            each(arg, tenants->slots.items[i].serial); /* looking at it ends the doubt */
    do {
        int r = weir_notes_read(local->notes_fd, notes, NOTES_MAX, &n, err);

        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++)
            each(arg, notes[i].serial);
    } while (n == NOTES_MAX);
    return 0;
}

static void local_forget(void *ctx)
{
    struct weir_local *local = ctx;

    for (size_t i = 0; i < local->tenants.slots.n; i++)
        weir_tenants_set(&local->tenants, (uint32_t)i, 0);
}

static void local_release(void *ctx, const struct weir_cluster_ref *ref)
{
    struct weir_local *local = ctx;

    if (weir_tenants_find(&local->tenants, ref->serial, ref->slot) != NULL)
        weir_tenants_set(&local->tenants, ref->slot, 0);
}

static int make_slots(struct weir_local *local, uint32_t n, struct weir_err *err)
{
    int r = n > local->slots.n ? weir_slots_grow(&local->slots, n, err) : 0;

    return r < 0 ? r : weir_tenants_grow(&local->tenants, n, err);
}

static int local_adopt(void *ctx, const struct weir_cluster_ref *ref, struct weir_err *err)
{
    struct weir_local *local = ctx;
    int r;

    if (ref->slot >= WEIR_SLOTS_MAX)
        return weir_error(err, WEIR_E_CORRUPT, "slot %u of attempt %llu does not exist", ref->slot,
                          (unsigned long long)ref->serial);
    r = make_slots(local, ref->slot + 1, err);
    if (r < 0)
        return r;
    weir_tenants_adopt(&local->tenants, ref->slot, ref->serial);
    if (ref->serial > local->last_serial)
        local->last_serial = ref->serial;
    return 0;
}

static int local_new_ref(void *ctx, struct weir_cluster_ref *ret_ref, struct weir_err *err)
{
    struct weir_local *local = ctx;
    uint64_t nonce;
    uint32_t slot = weir_tenants_free_slot(&local->tenants);

    if (slot == local->tenants.slots.n) {
        int r = make_slots(local, slot + SLOTS_MIN, err);

        if (r < 0)
            return r;
    }
    if (getrandom(&nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
        return weir_error(err, WEIR_E_IO, "get random bytes for an attempt");
    *ret_ref = (struct weir_cluster_ref){++local->last_serial, nonce >> 1, slot};
    weir_tenants_set(&local->tenants, slot, ret_ref->serial);
    return 0;
}

/* ---- processes ---- */

static int local_owners(void *ctx, const uint32_t *pids, size_t n,
                        struct weir_cluster_owner *ret_owners, struct weir_err *err)
{
    struct weir_local *local = ctx;

    local->owners.slots = &local->slots;
    local->owners.cgroup = local->cgroup;
    return weir_owners_find(&local->owners, pids, n, ret_owners, err);
}

/* ---- output ---- */

static int local_read_output(void *ctx, uint64_t number, uint32_t member, uint32_t attempt,
                             enum weir_stream stream, uint64_t offset, size_t max,
                             uint64_t *ret_first, struct weir_buf *out, struct weir_err *err)
{
    struct weir_local *local = ctx;
    struct weir_output_chunk chunk;
    char dir[128];
    char *room = weir_buf_reserve(out, max);
    int r;

    if (room == NULL)
        return weir_buf_check(out, "output", err);
    output_dir_name(number, member, attempt, dir, sizeof(dir));
    r = weir_output_read(local->data_dir, dir,
                         stream == WEIR_STDOUT ? WEIR_OUTPUT_OUT : WEIR_OUTPUT_ERR, offset, room,
                         max, &chunk, err);
    if (r < 0)
        return r;
    weir_buf_commit(out, chunk.n);
    *ret_first = chunk.offset;
    return 0;
}

static int local_remove_output(void *ctx, uint64_t number, uint32_t member, uint32_t attempt,
                               struct weir_err *err)
{
    char dir[128];

    output_dir_name(number, member, attempt, dir, sizeof(dir));
    return weir_output_remove(((struct weir_local *)ctx)->data_dir, dir, err);
}

/* ---- life ---- */

static int prepare(struct weir_local *local, const struct weir_local_config *config,
                   struct weir_err *err)
{
    char path[PATH_BYTES + 8];
    uint64_t serial = 0;
    struct stat st;
    int r;

    snprintf(path, sizeof(path), "%s/" WEIR_OUTPUT_FOLDER, local->data_dir);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return weir_error_errno(err, errno, "make '%s'", path);
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
        weir_error(err, WEIR_E_CORRUPT, "'%s' is not a directory", path);
        return weir_error_hint(err, "move it away; the output of earlier jobs is gone then");
    }
    r = weir_slots_open(local->data_dir, SLOTS_MIN, &local->slots, err);
    if (r == 0)
        r = make_slots(local, local->slots.n, err);
    if (r == 0)
        r = weir_slots_max_serial(&local->slots, &serial, err);
    if (r == 0)
        r = weir_notes_open(local->data_dir, &local->notes_fd, err);
    if (r == 0)
        r = start_launcher(local, err);
    local->serial_floor = config->serial_floor;
    local->last_serial = serial > config->serial_floor ? serial : config->serial_floor;
    return r;
}

int weir_local_open(const struct weir_local_config *config, struct weir_local **ret_local,
                    struct weir_cluster *ret_port, struct weir_err *err)
{
    struct weir_local *local;
    int r;

    if (strlen(config->data_dir) >= PATH_BYTES || strlen(config->cgroup) >= PATH_BYTES)
        return weir_error(err, WEIR_E_TOO_LARGE, "the data directory's path is too long");
    local = weir_mem_alloc_array(1, sizeof(*local));
    if (local == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to run jobs");
    local->slots = (struct weir_slots)WEIR_SLOTS_INIT;
    local->launcher.fd = -1;
    local->notes_fd = -1;
    local->launcher_exe = config->launcher_exe;
    local->launcher_argv = config->launcher_argv;
    memcpy(local->data_dir, config->data_dir, strlen(config->data_dir) + 1);
    memcpy(local->cgroup, config->cgroup, strlen(config->cgroup) + 1);
    local->limits_memory =
        local->cgroup[0] != '\0' && weir_cgroup_has_controller(local->cgroup, "memory");
    r = prepare(local, config, err);
    if (r < 0) {
        weir_local_close(local);
        return r;
    }
    *ret_port = (struct weir_cluster){
        .ctx = local,
        .launch = local_launch,
        .look = local_look,
        .settle = local_look, /* adopted, and in doubt unless the launcher has it */
        .command = local_command,
        .notice_fd = local_notice_fd,
        .notices = local_notices,
        .release = local_release,
        .new_ref = local_new_ref,
        .forget = local_forget,
        .adopt = local_adopt,
        .owners = local_owners,
        .read_output = local_read_output,
        .remove_output = local_remove_output,
    };
    *ret_local = local;
    return 0;
}

int weir_local_check(const struct weir_local *local, const struct weir_cluster_ref *ref,
                     struct weir_err *err)
{
    int r = weir_slots_check(&local->slots, ref->slot, err);

    return r < 0 ? weir_error_wrap(err, "'%s/" WEIR_SLOTS_FILE "'", local->data_dir) : 0;
}

bool weir_local_limits_memory(const struct weir_local *local)
{
    return local->limits_memory;
}

/* 1: there was one, and it is gone. */
static int end_stranger(const struct weir_local *local, uint32_t slot, struct weir_err *err)
{
    static const struct weir_command kill = {.op = WEIR_COMMAND_KILL};
    const struct weir_tenants *tenants = &local->tenants;
    uint64_t own = slot < tenants->slots.n ? tenants->slots.items[slot].serial : 0;
    struct weir_attempt_status status;
    uint64_t told = 0;

    for (int i = 0; i < STRANGER_TRIES; i++) {
        int r = weir_slots_holder(&local->slots, slot, &status, err);

        if (r < 0)
            return r;
        if (r == 0 || status.id.serial == own)
            return told != 0;
        if (told != status.id.serial)
            r = weir_command_send(&status, &kill, err);
        if (r < 0 && r != WEIR_E_NOT_FOUND && r != WEIR_E_UNAVAILABLE)
            return r;
        told = r < 0 ? told : status.id.serial;
        poll(NULL, 0, STRANGER_PAUSE_MS);
    }
    weir_error(err, WEIR_E_UNAVAILABLE,
               "a job that is not in the store cannot be ended: shim %d, pid %d", status.shim_pid,
               status.main_pid);
    return weir_error_hint(err, "end it, and start weir again");
}

int weir_local_end_strangers(const struct weir_local *local, uint32_t *ret_n, struct weir_err *err)
{
    uint32_t n = 0;

    for (uint32_t slot = 0; slot < local->slots.n; slot++) {
        int r = end_stranger(local, slot, err);

        if (r < 0)
            return r;
        n += (uint32_t)r;
    }
    *ret_n = n;
    return 0;
}

struct weir_local *weir_local_close(struct weir_local *local)
{
    if (local == NULL)
        return NULL;
    if (local->launcher.fd >= 0)
        weir_launcher_stop(&local->launcher);
    if (local->notes_fd >= 0)
        close(local->notes_fd);
    weir_slots_close(&local->slots);
    weir_owners_finish(&local->owners);
    weir_tenants_finish(&local->tenants);
    return weir_mem_free(local);
}

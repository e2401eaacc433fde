#include "edge/nvml/sim_fleet_impl.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/time.h"
#include "edge/nvml/sim_facts.h"
#include "edge/nvml/sim_file.h"
#include "edge/nvml/sim_mig.h"
#include "model/fleet_spec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NO_FLEET ((struct weir_sim_fleet){.fd = -1})

/* As if it had been idle for a day: what is said to have begun earlier than now has its past. */
static void fill_idle(const struct weir_sim_facts *facts, struct weir_sim_state *state)
{
    memset(state, 0, sizeof(*state));
    weir_sim_model_rest(facts, weir_clock_mono_ms() - WEIR_TIME_DAY_MS, &state->base);
}

static size_t bytes_for(uint32_t n_devices)
{
    return sizeof(struct weir_sim_header) + (size_t)n_devices * sizeof(struct weir_sim_device);
}

static void fill_image(const struct weir_fleet *fleet, uint64_t seed, void *image)
{
    struct weir_sim_header *header = image;
    struct weir_sim_device *devices = (struct weir_sim_device *)(header + 1);
    struct weir_sim_state state;

    memcpy(header->magic, WEIR_SIM_MAGIC, sizeof(header->magic));
    header->version = WEIR_SIM_VERSION;
    header->seed = seed;
    header->header_bytes = sizeof(*header);
    header->device_bytes = sizeof(*devices);
    header->n_devices = fleet->n_gpus;
    header->cuda_version = 12080;
    weir_clock_boot_id(header->boot_id);
    snprintf(header->driver_version, sizeof(header->driver_version), "570.133.20");
    snprintf(header->nvml_version, sizeof(header->nvml_version), "12.570.133.20");
    for (uint32_t i = 0; i < fleet->n_gpus; i++) {
        struct weir_sim_mig mig = {0};

        weir_sim_facts_fill(fleet, i, seed, &devices[i].facts);
        fill_idle(&devices[i].facts, &state);
        weir_sim_publish(&devices[i], &state);
        mig.is_enabled =
            fleet->nodes[fleet->gpus[i].node].mig && devices[i].facts.mig_compute_slices > 0;
        mig.is_pending = mig.is_enabled;
        weir_sim_publish_mig(&devices[i], &mig);
    }
}

static int map_file(struct weir_sim_fleet *fleet, size_t bytes, const char *path,
                    struct weir_err *err)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fleet->fd, 0);

    if (map == MAP_FAILED)
        return weir_error_errno(err, errno, "map fleet '%s'", path);
    fleet->header = map;
    fleet->devices = (struct weir_sim_device *)(fleet->header + 1);
    fleet->bytes = bytes;
    return 0;
}

static void finish(struct weir_sim_fleet *fleet)
{
    if (fleet->header != NULL)
        munmap(fleet->header, fleet->bytes);
    if (fleet->fd >= 0)
        close(fleet->fd);
    weir_mem_free(fleet->kmsg_path);
    *fleet = NO_FLEET;
}

/* Opens and locks what lies at path now. Sets fd to -1 when nothing does. */
static int open_existing(const char *path, struct weir_sim_fleet *fleet, struct stat *st,
                         struct weir_err *err)
{
    struct stat now;

    for (;;) {
        weir_cleanup_fd int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

        if (fd < 0 && errno == ENOENT)
            return 0;
        if (fd < 0)
            return weir_error_errno(err, errno, "open fleet '%s'", path);
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
            if (errno != EWOULDBLOCK)
                return weir_error_errno(err, errno, "lock fleet '%s'", path);
            weir_error(err, WEIR_E_UNAVAILABLE, "fleet '%s' has another writer", path);
            return weir_error_hint(err, "a weir server with the same data folder is running");
        }
        if (fstat(fd, st) < 0)
            return weir_error_errno(err, errno, "read fleet '%s'", path);
        /* Someone may have put a new file there between the open and the lock. */
        if (stat(path, &now) == 0 && now.st_ino == st->st_ino && now.st_dev == st->st_dev) {
            fleet->fd = WEIR_TAKE_FD(fd);
            return 0;
        }
    }
}

static bool is_readable(const struct weir_sim_header *header, size_t bytes)
{
    return bytes >= sizeof(*header) && header->version == WEIR_SIM_VERSION &&
           header->header_bytes == sizeof(*header) &&
           header->device_bytes == sizeof(struct weir_sim_device) &&
           header->n_devices <= WEIR_SIM_DEVICES_MAX && bytes == bytes_for(header->n_devices) &&
           header->retired == 0;
}

static bool holds_same_gpus(const struct weir_sim_fleet *file, const struct weir_fleet *wanted,
                            uint64_t seed)
{
    struct weir_sim_facts facts;

    if (file->header->n_devices != wanted->n_gpus)
        return false;
    for (uint32_t i = 0; i < wanted->n_gpus; i++) {
        weir_sim_facts_fill(wanted, i, seed, &facts);
        if (memcmp(&facts, &file->devices[i].facts, sizeof(facts)) != 0)
            return false;
    }
    return true;
}

/* Writes the new file beside path and returns its locked descriptor. */
static int write_beside(const char *beside, const struct weir_fleet *fleet, uint64_t seed,
                        struct weir_err *err)
{
    size_t bytes = bytes_for(fleet->n_gpus);
    weir_cleanup_free void *image = weir_mem_alloc_array(1, bytes);
    weir_cleanup_fd int fd = -1;

    if (image == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for fleet '%s'", beside);
    fill_image(fleet, seed, image);
    fd = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return weir_error_errno(err, errno, "create fleet '%s'", beside);
    /* Written, not just made long: a full disk must show here, not as a signal in a later store. */
    if (weir_fd_write_all(fd, image, bytes) < 0 || fchmod(fd, 0644) < 0 || fsync(fd) < 0 ||
        flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int errnum = errno;

        unlink(beside);
        return weir_error_errno(err, errnum, "write fleet '%s'", beside);
    }
    return WEIR_TAKE_FD(fd);
}

static int sync_folder(const char *path, struct weir_err *err)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    weir_cleanup_fd int fd = -1;

    snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
             slash != NULL ? path : ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return weir_error_errno(err, errno, "sync folder '%s'", folder);
    return 0;
}

/* Puts a new file at path. Where there was none, WEIR_E_EXISTS says that another writer was faster.
 */
static int put_new(const char *path, bool replaces, const struct weir_fleet *wanted, uint64_t seed,
                   struct weir_sim_fleet *fleet, struct weir_err *err)
{
    char beside[PATH_MAX];
    int fd;
    int moved;
    int errnum;

    if (snprintf(beside, sizeof(beside), "%s.%ld", path, (long)getpid()) >= (int)sizeof(beside))
        return weir_error(err, WEIR_E_TOO_LARGE, "the path '%.80s…' is too long", path);
    fd = write_beside(beside, wanted, seed, err);
    if (fd < 0)
        return fd;
    fleet->fd = fd;
    moved = replaces ? rename(beside, path) : link(beside, path);
    errnum = errno;
    if (moved < 0 || !replaces)
        unlink(beside);
    if (moved < 0)
        return weir_error_errno(err, errnum, "put fleet '%s' in place", path);
    return map_file(fleet, bytes_for(wanted->n_gpus), path, err);
}

/* Takes the seed of an existing file, whatever its version. */
static int look_at_existing(struct weir_sim_fleet *file, const struct stat *st, const char *path,
                            uint64_t *seed, struct weir_err *err)
{
    int rc;

    if (file->fd < 0 || st->st_size < (off_t)offsetof(struct weir_sim_header, header_bytes))
        return 0;
    rc = map_file(file, (size_t)st->st_size, path, err);
    if (rc == 0 && file->header != NULL &&
        memcmp(file->header->magic, WEIR_SIM_MAGIC, sizeof(file->header->magic)) == 0)
        *seed = file->header->seed;
    return rc;
}

static bool may_keep(const struct weir_sim_fleet *file, const struct weir_fleet *wanted,
                     uint64_t seed)
{
    return file->header != NULL &&
           memcmp(file->header->magic, WEIR_SIM_MAGIC, sizeof(file->header->magic)) == 0 &&
           is_readable(file->header, file->bytes) && holds_same_gpus(file, wanted, seed);
}

static int set_kmsg_path(struct weir_sim_fleet *fleet, const char *path, struct weir_err *err)
{
    const char *slash = strrchr(path, '/');
    int dir_len = slash != NULL ? (int)(slash - path) + 1 : 0;
    size_t room = (size_t)dir_len + sizeof("kmsg");

    fleet->kmsg_path = weir_mem_alloc(room);
    if (fleet->kmsg_path == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for fleet '%s'", path);
    snprintf(fleet->kmsg_path, room, "%.*skmsg", dir_len, path);
    return 0;
}

static bool is_of_this_boot(const struct weir_sim_header *header)
{
    uint8_t boot_id[16];

    weir_clock_boot_id(boot_id);
    return memcmp(boot_id, header->boot_id, sizeof(boot_id)) == 0;
}

/* One kernel's log, whichever fleet it tells of: who read it knows it by its numbers. That of
 * another boot is over. */
static void continue_log(struct weir_sim_fleet *fresh, const struct weir_sim_fleet *old)
{
    if (old->header != NULL && is_readable(old->header, old->bytes) && is_of_this_boot(old->header))
        fresh->header->kmsg_seq = old->header->kmsg_seq;
    else
        unlink(fresh->kmsg_path);
}

/* The instants of another boot mean nothing now, and its processes are gone. */
static void start_after_boot(struct weir_sim_fleet *fleet)
{
    struct weir_sim_state state;

    if (is_of_this_boot(fleet->header))
        return;
    fleet->header->kmsg_seq = 0;
    unlink(fleet->kmsg_path);
    for (uint32_t i = 0; i < fleet->header->n_devices; i++) {
        weir_sim_fleet_read(fleet, i, &state);
        weir_sim_fleet_reset(fleet, i, &state);
        state.n_loads = 0;
        weir_sim_model_rest(&fleet->devices[i].facts, weir_clock_mono_ms() - WEIR_TIME_DAY_MS,
                            &state.base);
        weir_sim_publish(&fleet->devices[i], &state);
    }
    __atomic_store_n(&fleet->header->driver_down_until_ms, 0, __ATOMIC_RELEASE);
    weir_clock_boot_id(fleet->header->boot_id);
}

static int befall(struct weir_sim_fleet *fleet, const struct weir_sim_plan *plan,
                  struct weir_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < plan->n_orders && rc == 0; i++)
        rc = weir_sim_order_carry_out(fleet, &plan->orders[i], weir_clock_mono_ms(), err);
    return rc;
}

static int open_or_make(const char *path, struct weir_str spec, uint64_t seed,
                        struct weir_arena *arena, struct weir_sim_fleet *ret, struct weir_err *err)
{
    struct weir_sim_fleet old = NO_FLEET;
    struct weir_sim_fleet fresh = NO_FLEET;
    struct weir_sim_plan wanted;
    struct stat st;
    int rc = open_existing(path, &old, &st, err);

    if (rc == 0)
        rc = look_at_existing(&old, &st, path, &seed, err);
    if (rc == 0)
        rc = weir_sim_file_read(spec, seed, arena, &wanted, err);
    if (rc == 0)
        rc = set_kmsg_path(&fresh, path, err);
    if (rc == 0 && may_keep(&old, &wanted.fleet, seed)) {
        old.kmsg_path = WEIR_TAKE_PTR(fresh.kmsg_path);
        start_after_boot(&old);
        *ret = old;
        return 0;
    }
    if (rc == 0)
        rc = put_new(path, old.fd >= 0, &wanted.fleet, seed, &fresh, err);
    if (rc == 0)
        continue_log(&fresh, &old);
    if (rc == 0)
        rc = befall(&fresh, &wanted, err);
    if (rc == 0 && old.header != NULL)
        __atomic_store_n(&old.header->retired, 1, __ATOMIC_RELEASE);
    if (rc == 0)
        rc = sync_folder(path, err);
    if (rc == 0)
        *ret = fresh;
    else
        finish(&fresh);
    finish(&old);
    return rc;
}

int weir_sim_fleet_open(const char *path, struct weir_str spec, uint64_t seed,
                        struct weir_sim_fleet **ret_fleet, struct weir_err *err)
{
    struct weir_sim_fleet *fleet = weir_mem_alloc(sizeof(*fleet));
    int rc;

    if (fleet == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for fleet '%s'", path);
    *fleet = NO_FLEET;
    do {
        weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;

        rc = open_or_make(path, spec, seed, &arena, fleet, err);
    } while (rc == WEIR_E_EXISTS);
    if (rc < 0) {
        weir_mem_free(fleet);
        return rc;
    }
    *ret_fleet = fleet;
    return 0;
}

struct weir_sim_fleet *weir_sim_fleet_close(struct weir_sim_fleet *fleet)
{
    if (fleet != NULL)
        finish(fleet);
    return weir_mem_free(fleet);
}

uint32_t weir_sim_fleet_size(const struct weir_sim_fleet *fleet)
{
    return fleet->header->n_devices;
}

const struct weir_sim_facts *weir_sim_fleet_facts(const struct weir_sim_fleet *fleet,
                                                  uint32_t index)
{
    WEIR_ASSERT(index < fleet->header->n_devices);
    return &fleet->devices[index].facts;
}

void weir_sim_fleet_read(const struct weir_sim_fleet *fleet, uint32_t index,
                         struct weir_sim_state *ret_state)
{
    WEIR_ASSERT(index < fleet->header->n_devices);
    /* Nobody else writes, so the first try is good; a damaged slot reads as an idle GPU. */
    if (!weir_sim_try_read(&fleet->devices[index], ret_state))
        fill_idle(&fleet->devices[index].facts, ret_state);
}

void weir_sim_fleet_read_mig(const struct weir_sim_fleet *fleet, uint32_t index,
                             struct weir_sim_mig *ret_mig)
{
    enum { TRIES_MAX = 1000000 };

    WEIR_ASSERT(index < fleet->header->n_devices);
    for (unsigned i = 0; i < TRIES_MAX; i++)
        if (weir_sim_try_read_mig(&fleet->devices[index], ret_mig))
            return;
    memset(ret_mig, 0, sizeof(*ret_mig));
}

void weir_sim_fleet_read_at(const struct weir_sim_fleet *fleet, uint32_t index, int64_t at_ms,
                            struct weir_sim_state *ret_state)
{
    weir_sim_fleet_read(fleet, index, ret_state);
    weir_sim_model_advance(weir_sim_fleet_facts(fleet, index), ret_state, at_ms);
}

void weir_sim_fleet_measure(const struct weir_sim_fleet *fleet, uint32_t index, int64_t at_ms,
                            struct weir_sim_reading *ret_reading)
{
    struct weir_sim_state state;

    weir_sim_fleet_read(fleet, index, &state);
    weir_sim_model_read(weir_sim_fleet_facts(fleet, index), &state, at_ms, ret_reading);
}

void weir_sim_fleet_publish(struct weir_sim_fleet *fleet, uint32_t index,
                            const struct weir_sim_state *state)
{
    weir_sim_publish(&fleet->devices[index], state);
}

/* Instances do not outlive a reset. Without the lock (no /proc, or no descriptors left) they stay
 * as they are. Returns whether the mode is another one now. */
static bool reset_mig(struct weir_sim_fleet *fleet, uint32_t index)
{
    weir_cleanup_fd int lock = weir_sim_mig_lock(fleet->fd);
    struct weir_sim_mig before;
    struct weir_sim_mig after = {0};

    if (lock < 0)
        return false;
    weir_sim_fleet_read_mig(fleet, index, &before);
    after.is_enabled = before.is_pending;
    after.is_pending = before.is_pending;
    weir_sim_publish_mig(&fleet->devices[index], &after);
    return after.is_enabled != before.is_enabled;
}

void weir_sim_fleet_reset(struct weir_sim_fleet *fleet, uint32_t index,
                          struct weir_sim_state *state)
{
    bool is_new_mode = reset_mig(fleet, index);
    uint32_t n = 0;

    state->health = WEIR_SIM_OK;
    state->hang_until_ms = 0;
    state->recovery_action = 0;
    state->remap_pending = 0;
    memset(state->ecc_volatile, 0, sizeof(state->ecc_volatile));
    for (uint32_t i = 0; i < state->n_loads; i++)
        if (!is_new_mode && state->loads[i].gpu_instance == WEIR_NVML_NO_INSTANCE)
            state->loads[n++] = state->loads[i];
    state->n_loads = n;
}

#include "edge/nvml/sim_fleet.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/units.h"
#include "model/fleet_spec.h"
#include "model/gpu_catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

_Static_assert((int)WEIR_FLEET_GPUS_MAX <= (int)WEIR_SIM_DEVICES_MAX, "every fleet has room");
_Static_assert((int)WEIR_FLEET_NODE_NAME_BYTES <= (int)WEIR_SIM_NODE_BYTES, "every node has room");

struct weir_sim_fleet {
    int fd; /* holds the lock */
    struct weir_sim_header *header;
    struct weir_sim_device *devices;
    size_t bytes;
};

/* What the catalogue does not hold because nothing is decided by it. */
struct generation {
    uint8_t cc_major, cc_minor;
    uint8_t architecture;
    uint16_t sm_clock_mhz, memory_clock_mhz;
};

enum { SM_CLOCK_IDLE_MHZ = 345, TEMPERATURE_IDLE_C = 30, MEMORY_TEMPERATURE_IDLE_C = 34 };

static const struct generation *generation_of(const struct weir_gpu_model *model)
{
    static const struct generation generations[] = {
        {7, 0, 5, 1530, 877},    {7, 5, 6, 1590, 5001},   {8, 0, 7, 1410, 1593},
        {8, 6, 7, 1740, 7251},   {8, 9, 8, 2520, 9001},   {9, 0, 9, 1980, 2619},
        {10, 0, 10, 1965, 3996}, {10, 3, 10, 1965, 3996}, {12, 0, 10, 2430, 14001},
    };
    size_t n = WEIR_COUNT_OF(generations);

    for (size_t i = 0; i < n; i++)
        if (generations[i].cc_major == model->cc_major &&
            generations[i].cc_minor == model->cc_minor)
            return &generations[i];
    return &generations[n - 1];
}

static uint64_t reserved_bytes(const struct weir_gpu_model *model)
{
    if (model->memory_reserved_bytes > 0)
        return (uint64_t)model->memory_reserved_bytes;
    return (uint64_t)(model->memory_total_bytes * 6 / 1000 / WEIR_MIB * WEIR_MIB);
}

static void fill_facts(const struct weir_fleet *fleet, const struct weir_fleet_gpu *gpu,
                       struct weir_sim_facts *facts)
{
    const struct weir_gpu_model *model = gpu->model;
    const struct generation *generation = generation_of(model);
    uint32_t id = model->n_pci_ids > 0 ? model->pci_ids[0] : 0x10de0000u;

    memset(facts, 0, sizeof(*facts));
    snprintf(facts->uuid, sizeof(facts->uuid), "%s", gpu->uuid);
    snprintf(facts->name, sizeof(facts->name), "%s", model->device_name);
    snprintf(facts->node, sizeof(facts->node), "%s", fleet->nodes[gpu->node].name);
    snprintf(facts->serial, sizeof(facts->serial), "%s", gpu->serial);
    facts->memory_total_bytes = (uint64_t)model->memory_total_bytes;
    facts->memory_reserved_bytes = reserved_bytes(model);
    facts->pci_domain = gpu->pci_domain;
    facts->pci_bus = gpu->pci_bus;
    facts->pci_device_id = id << 16 | id >> 16;
    facts->pci_subsystem_id = id >> 16;
    facts->cc_major = model->cc_major;
    facts->cc_minor = model->cc_minor;
    facts->architecture = generation->architecture;
    facts->mig_compute_slices = model->mig_compute_slices;
    facts->power_limit_mw = model->tdp_w * 1000;
    facts->sm_clock_max_mhz = generation->sm_clock_mhz;
    facts->memory_clock_max_mhz = generation->memory_clock_mhz;
}

static void fill_idle(const struct weir_sim_facts *facts, struct weir_sim_state *state)
{
    memset(state, 0, sizeof(*state));
    state->power_mw = facts->power_limit_mw / 10;
    state->temperature_c = TEMPERATURE_IDLE_C;
    state->memory_temperature_c = MEMORY_TEMPERATURE_IDLE_C;
    state->sm_clock_mhz = SM_CLOCK_IDLE_MHZ;
    state->memory_clock_mhz = facts->memory_clock_max_mhz;
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
    snprintf(header->driver_version, sizeof(header->driver_version), "570.133.20");
    snprintf(header->nvml_version, sizeof(header->nvml_version), "12.570.133.20");
    for (uint32_t i = 0; i < fleet->n_gpus; i++) {
        fill_facts(fleet, &fleet->gpus[i], &devices[i].facts);
        fill_idle(&devices[i].facts, &state);
        weir_sim_publish(&devices[i], &state);
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
    *fleet = (struct weir_sim_fleet){-1, NULL, NULL, 0};
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
    return header->version == WEIR_SIM_VERSION && header->header_bytes == sizeof(*header) &&
           header->device_bytes == sizeof(struct weir_sim_device) &&
           header->n_devices <= WEIR_SIM_DEVICES_MAX && bytes == bytes_for(header->n_devices) &&
           header->retired == 0;
}

static bool holds_same_gpus(const struct weir_sim_fleet *file, const struct weir_fleet *wanted)
{
    struct weir_sim_facts facts;

    if (file->header->n_devices != wanted->n_gpus)
        return false;
    for (uint32_t i = 0; i < wanted->n_gpus; i++) {
        fill_facts(wanted, &wanted->gpus[i], &facts);
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

    if (file->fd < 0 || st->st_size < (off_t)sizeof(struct weir_sim_header))
        return 0;
    rc = map_file(file, (size_t)st->st_size, path, err);
    if (rc < 0)
        return rc;
    if (memcmp(file->header->magic, WEIR_SIM_MAGIC, sizeof(file->header->magic)) == 0)
        *seed = file->header->seed;
    return 0;
}

static bool may_keep(const struct weir_sim_fleet *file, const struct weir_fleet *wanted)
{
    return file->header != NULL &&
           memcmp(file->header->magic, WEIR_SIM_MAGIC, sizeof(file->header->magic)) == 0 &&
           is_readable(file->header, file->bytes) && holds_same_gpus(file, wanted);
}

static int open_or_make(const char *path, struct weir_str spec, uint64_t seed,
                        struct weir_arena *arena, struct weir_sim_fleet *ret, struct weir_err *err)
{
    struct weir_sim_fleet old = {-1, NULL, NULL, 0};
    struct weir_sim_fleet fresh = {-1, NULL, NULL, 0};
    struct weir_fleet wanted;
    struct stat st;
    int rc = open_existing(path, &old, &st, err);

    if (rc == 0)
        rc = look_at_existing(&old, &st, path, &seed, err);
    if (rc == 0)
        rc = weir_fleet_parse(spec, seed, arena, &wanted, err);
    if (rc == 0 && may_keep(&old, &wanted)) {
        *ret = old;
        return 0;
    }
    if (rc == 0)
        rc = put_new(path, old.fd >= 0, &wanted, seed, &fresh, err);
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
    *fleet = (struct weir_sim_fleet){-1, NULL, NULL, 0};
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

static int check_processes(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                           struct weir_err *err)
{
    uint64_t room = facts->memory_total_bytes - facts->memory_reserved_bytes;
    uint64_t used = state->other_used_bytes;

    if (state->n_processes > WEIR_SIM_PROCESSES_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "more than %d processes on '%s'",
                          WEIR_SIM_PROCESSES_MAX, facts->uuid);
    for (uint32_t i = 0; i < state->n_processes; i++) {
        const struct weir_sim_process *process = &state->processes[i];

        if (process->pid == 0)
            return weir_error(err, WEIR_E_INVALID, "a process without a pid on '%s'", facts->uuid);
        for (uint32_t j = 0; j < i; j++)
            if (state->processes[j].pid == process->pid)
                return weir_error(err, WEIR_E_INVALID, "process %" PRIu32 " twice on '%s'",
                                  process->pid, facts->uuid);
        if (used > room || process->used_bytes > room - used)
            return weir_error(err, WEIR_E_TOO_LARGE,
                              "the processes on '%s' hold more than its %" PRIu64 " bytes",
                              facts->uuid, room);
        used += process->used_bytes;
    }
    if (used > room)
        return weir_error(err, WEIR_E_TOO_LARGE, "'%s' has only %" PRIu64 " bytes", facts->uuid,
                          room);
    return 0;
}

int weir_sim_fleet_write(struct weir_sim_fleet *fleet, uint32_t index,
                         const struct weir_sim_state *state, struct weir_err *err)
{
    int rc = check_processes(weir_sim_fleet_facts(fleet, index), state, err);

    if (rc == 0)
        weir_sim_publish(&fleet->devices[index], state);
    return rc;
}

static uint32_t find_process(const struct weir_sim_state *state, uint32_t pid)
{
    uint32_t i = 0;

    while (i < state->n_processes && state->processes[i].pid != pid)
        i++;
    return i;
}

int weir_sim_fleet_set_process(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                               uint64_t used_bytes, struct weir_err *err)
{
    struct weir_sim_state state;
    uint32_t i;

    weir_sim_fleet_read(fleet, index, &state);
    i = find_process(&state, pid);
    if (i == WEIR_SIM_PROCESSES_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "more than %d processes on '%s'",
                          WEIR_SIM_PROCESSES_MAX, weir_sim_fleet_facts(fleet, index)->uuid);
    if (i == state.n_processes) {
        state.processes[i] = (struct weir_sim_process){pid, WEIR_SIM_COMPUTE, 0, 0, 0};
        state.n_processes++;
    }
    state.processes[i].used_bytes = used_bytes;
    return weir_sim_fleet_write(fleet, index, &state, err);
}

int weir_sim_fleet_remove_process(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                                  struct weir_err *err)
{
    struct weir_sim_state state;
    uint32_t i;

    weir_sim_fleet_read(fleet, index, &state);
    i = find_process(&state, pid);
    if (i == state.n_processes)
        return weir_error(err, WEIR_E_NOT_FOUND, "no process %" PRIu32 " on '%s'", pid,
                          weir_sim_fleet_facts(fleet, index)->uuid);
    state.n_processes--;
    memmove(&state.processes[i], &state.processes[i + 1],
            (state.n_processes - i) * sizeof(state.processes[0]));
    return weir_sim_fleet_write(fleet, index, &state, err);
}

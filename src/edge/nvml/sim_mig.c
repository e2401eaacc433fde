#include "edge/nvml/sim_mig.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* A lock of an open file description excludes other descriptions only, so each change opens the
 * file anew: by the descriptor that is there, as another file may have taken its path. */
int weir_sim_mig_lock(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[40];
    int own;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0)
        return -1;
    while (fcntl(own, F_OFD_SETLKW, &whole) < 0)
        if (errno != EINTR) {
            int errnum = errno;

            close(own);
            errno = errnum;
            return -1;
        }
    return own;
}

static const struct weir_sim_mig_profile *profile_of(const struct weir_sim_facts *facts,
                                                     const struct weir_sim_gpu_instance *instance)
{
    uint32_t profile = instance->profile;

    return &facts->mig_profiles[profile < WEIR_SIM_MIG_PROFILES_MAX ? profile : 0];
}

static uint32_t slices_mask(uint32_t start, uint32_t size)
{
    return ((1u << size) - 1) << start;
}

uint32_t weir_sim_mig_starts(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                             uint32_t profile)
{
    const struct weir_sim_mig_profile *wanted = &facts->mig_profiles[profile];
    uint32_t taken = 0;
    uint32_t compute = wanted->compute_slices;
    uint32_t same = 0;
    uint32_t starts = 0;

    for (int i = 0; i < WEIR_SIM_GPU_INSTANCES_MAX; i++) {
        const struct weir_sim_gpu_instance *other = &mig->gpu[i];

        if (!other->is_there)
            continue;
        taken |= slices_mask(other->start, profile_of(facts, other)->memory_slices);
        compute += profile_of(facts, other)->compute_slices;
        same += other->profile == profile;
    }
    if (compute > facts->mig_compute_slices || same >= wanted->max_instances)
        return 0;
    for (uint32_t k = 0; k < 16; k++)
        if ((wanted->start_mask >> k & 1) != 0 &&
            (taken & slices_mask(k, wanted->memory_slices)) == 0)
            starts |= 1u << k;
    return starts;
}

/* Instances are the nodes of a tree that halves the memory; they are numbered level by level, the
 * upper half first. */
static uint32_t id_of(const struct weir_sim_facts *facts, uint32_t start, uint32_t size)
{
    uint32_t n = size > 0 ? facts->mig_memory_slices / size : 0;

    if (n == 0)
        return 0;
    return n - 1 + (start / size + n / 2) % n;
}

static uint32_t highest(uint32_t starts)
{
    uint32_t k = 31;

    while (k > 0 && (starts >> k & 1) == 0)
        k--;
    return k;
}

int weir_sim_mig_create(const struct weir_sim_facts *facts, struct weir_sim_mig *mig,
                        uint32_t profile, uint32_t start, uint32_t *ret_id)
{
    const struct weir_sim_mig_profile *wanted = &facts->mig_profiles[profile];
    uint32_t starts = weir_sim_mig_starts(facts, mig, profile);
    uint32_t id;

    if (start != WEIR_SIM_MIG_ANY_START && (start > 15 || (wanted->start_mask >> start & 1) == 0))
        return WEIR_NVML_INVALID_ARGUMENT;
    if (starts == 0 || (start != WEIR_SIM_MIG_ANY_START && (starts >> start & 1) == 0))
        return WEIR_NVML_INSUFFICIENT_RESOURCES;
    if (start == WEIR_SIM_MIG_ANY_START)
        start = highest(starts);
    id = id_of(facts, start, wanted->memory_slices);
    if (id >= WEIR_SIM_GPU_INSTANCES_MAX || mig->gpu[id].is_there)
        return WEIR_NVML_INSUFFICIENT_RESOURCES;
    mig->gpu[id] = (struct weir_sim_gpu_instance){.is_there = 1,
                                                  .profile = (uint8_t)profile,
                                                  .start = (uint8_t)start};
    *ret_id = id;
    return WEIR_NVML_SUCCESS;
}

uint32_t weir_sim_mig_capacity(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                               uint32_t profile)
{
    struct weir_sim_mig filled = *mig;
    uint32_t n = 0;
    uint32_t id;

    while (weir_sim_mig_create(facts, &filled, profile, WEIR_SIM_MIG_ANY_START, &id) ==
           WEIR_NVML_SUCCESS)
        n++;
    return n;
}

int weir_sim_mig_destroy(struct weir_sim_mig *mig, uint32_t id)
{
    if (!mig->gpu[id].is_there)
        return WEIR_NVML_NOT_FOUND;
    for (int i = 0; i < WEIR_SIM_COMPUTE_INSTANCES_MAX; i++)
        if (mig->gpu[id].compute[i].slices > 0)
            return WEIR_NVML_IN_USE;
    mig->gpu[id] = (struct weir_sim_gpu_instance){0};
    return WEIR_NVML_SUCCESS;
}

uint32_t weir_sim_mig_compute_starts(const struct weir_sim_facts *facts,
                                     const struct weir_sim_mig *mig, uint32_t id, uint32_t slices)
{
    const struct weir_sim_gpu_instance *in = &mig->gpu[id];
    uint32_t all = profile_of(facts, in)->compute_slices;
    uint32_t taken = 0;
    uint32_t starts = 0;

    for (int i = 0; i < WEIR_SIM_COMPUTE_INSTANCES_MAX; i++)
        taken |= slices_mask(in->compute[i].start, in->compute[i].slices);
    for (uint32_t k = 0; k + slices <= all; k++)
        if ((taken & slices_mask(k, slices)) == 0)
            starts |= 1u << k;
    return starts;
}

int weir_sim_mig_create_compute(const struct weir_sim_facts *facts, struct weir_sim_mig *mig,
                                uint32_t id, uint32_t slices, uint32_t start, uint32_t *ret_compute)
{
    struct weir_sim_gpu_instance *in = &mig->gpu[id];
    uint32_t starts;
    uint32_t compute = 0;

    if (!in->is_there)
        return WEIR_NVML_NOT_FOUND;
    if (slices == 0 || slices > profile_of(facts, in)->compute_slices)
        return WEIR_NVML_NOT_SUPPORTED;
    starts = weir_sim_mig_compute_starts(facts, mig, id, slices);
    while (compute < WEIR_SIM_COMPUTE_INSTANCES_MAX && in->compute[compute].slices > 0)
        compute++;
    if (starts == 0 || compute == WEIR_SIM_COMPUTE_INSTANCES_MAX ||
        (start != WEIR_SIM_MIG_ANY_START && (start > 15 || (starts >> start & 1) == 0)))
        return WEIR_NVML_INSUFFICIENT_RESOURCES;
    for (uint32_t k = 0; start == WEIR_SIM_MIG_ANY_START; k++)
        if ((starts >> k & 1) != 0)
            start = k;
    in->compute[compute] = (struct weir_sim_compute_instance){(uint8_t)slices, (uint8_t)start};
    *ret_compute = compute;
    return WEIR_NVML_SUCCESS;
}

int weir_sim_mig_destroy_compute(struct weir_sim_mig *mig, uint32_t id, uint32_t compute)
{
    struct weir_sim_compute_instance *instance = &mig->gpu[id].compute[compute];

    if (!mig->gpu[id].is_there || instance->slices == 0)
        return WEIR_NVML_NOT_FOUND;
    *instance = (struct weir_sim_compute_instance){0};
    return WEIR_NVML_SUCCESS;
}

/* By its multiprocessors; a compute instance has its part of those of its GPU instance. */
uint32_t weir_sim_mig_share_milli(const struct weir_sim_facts *facts,
                                  const struct weir_sim_mig *mig, uint32_t id, uint32_t compute)
{
    const struct weir_sim_mig_profile *profile = profile_of(facts, &mig->gpu[id]);
    uint32_t sms = facts->sm_count > 0 ? facts->sm_count : 1;
    uint32_t slices = profile->compute_slices > 0 ? profile->compute_slices : 1;

    return 1000u * profile->sm_count * mig->gpu[id].compute[compute].slices / (sms * slices);
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits, finished as SplitMix64 is. */
static uint64_t hash(const void *data, size_t len, uint64_t seed)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;

    for (size_t i = 0; i < len; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

void weir_sim_mig_uuid(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                       uint32_t id, uint32_t compute, char ret_uuid[WEIR_SIM_MIG_UUID_BYTES])
{
    const struct weir_sim_gpu_instance *in = &mig->gpu[id];
    char place[WEIR_NVML_UUID_BYTES + 40];
    int n = snprintf(place, sizeof(place), "%.*s/%u/%u/%u", (int)sizeof(facts->uuid), facts->uuid,
                     profile_of(facts, in)->id, in->start, compute);
    uint64_t a = hash(place, (size_t)n, 1);
    uint64_t b = hash(place, (size_t)n, 2);

    snprintf(ret_uuid, WEIR_SIM_MIG_UUID_BYTES,
             "MIG-%08" PRIx64 "-%04" PRIx64 "-5%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, a >> 32,
             a >> 16 & 0xffff, a & 0xfff, (b >> 48 & 0x3fff) | 0x8000,
             b & UINT64_C(0xffffffffffff));
}

#include "edge/nvml/sim_facts.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/units.h"
#include "edge/nvml/nvml_abi_mig.h"
#include "model/fleet_spec.h"
#include "model/gpu_catalogue.h"

#include <stdio.h>

_Static_assert((int)WEIR_FLEET_GPUS_MAX <= (int)WEIR_SIM_DEVICES_MAX, "every fleet has room");
_Static_assert((int)WEIR_FLEET_NODE_NAME_BYTES <= (int)WEIR_SIM_NODE_BYTES, "every node has room");
_Static_assert((int)WEIR_FLEET_LABEL_BYTES <= (int)WEIR_SIM_LABEL_BYTES, "every label has room");

enum {
    SM_CLOCK_IDLE_MHZ = 345,
    SLOWDOWN_C = 87,
    SHUTDOWN_C = 92,
    MEMORY_MAX_C = 95,
    SM_COUNT_UNKNOWN = 152,
    LINK_MB_PER_S = 25000 /* of one link of a bridge */
};

/* What the catalogue does not hold because nothing is decided by it. */
struct generation {
    uint8_t cc_major, cc_minor;
    uint8_t architecture;
    uint16_t sm_clock_mhz, memory_clock_mhz;
};

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

static uint32_t pcie_gen(const struct weir_gpu_model *model)
{
    if (model->cc_major >= 9)
        return 5;
    return model->cc_major == 8 ? 4 : 3;
}

/* Which profile a client means when it asks for one: by slices, and by what the name ends with. */
static uint8_t enumeration_of(const struct weir_mig_profile *profile,
                              const struct weir_mig_profile *smallest)
{
    static const struct {
        const char *suffix;
        uint8_t slices;
        uint8_t enumeration;
    } kinds[] = {
        {"", 1, WEIR_NVML_GI_PROFILE_1_SLICE},
        {"", 2, WEIR_NVML_GI_PROFILE_2_SLICE},
        {"", 3, WEIR_NVML_GI_PROFILE_3_SLICE},
        {"", 4, WEIR_NVML_GI_PROFILE_4_SLICE},
        {"", 7, WEIR_NVML_GI_PROFILE_7_SLICE},
        {"+me", 1, WEIR_NVML_GI_PROFILE_1_SLICE_REV1},
        {"+me", 2, WEIR_NVML_GI_PROFILE_2_SLICE_REV1},
        {"+gfx", 1, WEIR_NVML_GI_PROFILE_1_SLICE_GFX},
        {"+gfx", 2, WEIR_NVML_GI_PROFILE_2_SLICE_GFX},
        {"+gfx", 4, WEIR_NVML_GI_PROFILE_4_SLICE_GFX},
        {"-me", 1, WEIR_NVML_GI_PROFILE_1_SLICE_NO_ME},
        {"-me", 2, WEIR_NVML_GI_PROFILE_2_SLICE_NO_ME},
        {"+me.all", 1, WEIR_NVML_GI_PROFILE_1_SLICE_ALL_ME},
        {"+me.all", 2, WEIR_NVML_GI_PROFILE_2_SLICE_ALL_ME},
    };
    const char *suffix = profile->name + strcspn(profile->name, "+-");

    if (*suffix == '\0' && profile->compute_slices == 1 &&
        profile->memory_slices > smallest->memory_slices)
        return WEIR_NVML_GI_PROFILE_1_SLICE_REV2;
    for (size_t i = 0; i < WEIR_COUNT_OF(kinds); i++)
        if (profile->compute_slices == kinds[i].slices && strcmp(suffix, kinds[i].suffix) == 0)
            return kinds[i].enumeration;
    return WEIR_NVML_GI_PROFILE_COUNT;
}

static void fill_profile(const struct weir_gpu_model *model, const struct weir_sim_facts *facts,
                         const struct weir_mig_profile *from, struct weir_sim_mig_profile *to)
{
    uint64_t usable = facts->memory_total_bytes - facts->memory_reserved_bytes;
    bool has_media = strstr(from->name, "+me") != NULL;

    snprintf(to->name, sizeof(to->name), "%s", from->name);
    to->memory_mib = from->memory_bytes > 0
                         ? (uint64_t)(from->memory_bytes / WEIR_MIB)
                         : usable * from->memory_slices / model->mig_memory_slices / (1 << 20);
    to->sm_count =
        from->sm_count > 0
            ? from->sm_count
            : (uint16_t)(facts->sm_count * from->compute_slices / model->mig_compute_slices);
    to->start_mask = from->start_mask;
    to->enumeration = enumeration_of(from, &model->mig_profiles[0]);
    to->id = from->gi_profile_id;
    to->compute_slices = from->compute_slices;
    to->memory_slices = from->memory_slices;
    to->max_instances = from->max_instances;
    to->media_engines = has_media ? 1 : (uint8_t)(from->compute_slices - 1);
}

static void fill_mig(const struct weir_gpu_model *model, struct weir_sim_facts *facts)
{
    facts->mig_compute_slices = model->mig_compute_slices;
    facts->mig_memory_slices = model->mig_memory_slices;
    for (uint32_t i = 0; i < model->n_mig_profiles && i < WEIR_SIM_MIG_PROFILES_MAX; i++)
        fill_profile(model, facts, &model->mig_profiles[i],
                     &facts->mig_profiles[facts->n_mig_profiles++]);
}

static bool is_bridge(const struct weir_gpu_model *model)
{
    return model->link == WEIR_GPU_LINK_NVLINK_BRIDGE;
}

/* The domain's name where it spans nodes; a bridge never does. */
static const char *domain_of(const struct weir_fleet *fleet, const struct weir_fleet_gpu *gpu)
{
    return is_bridge(gpu->model) ? "" : fleet->nodes[gpu->node].link_domain;
}

static bool may_link(const struct weir_fleet *fleet, const struct weir_fleet_gpu *a,
                     const struct weir_fleet_gpu *b)
{
    const char *domain = domain_of(fleet, a);

    if (a->model != b->model)
        return false;
    return domain[0] != '\0' ? strcmp(fleet->nodes[b->node].link_domain, domain) == 0
                             : a->node == b->node;
}

/* The first of the GPUs that this one's links reach: those of its model in its domain, where that
 * has a name, else in its node as many as links can join. -1: there is none but itself. */
static int64_t first_linked(const struct weir_fleet *fleet, uint32_t index)
{
    const struct weir_fleet_gpu *gpu = &fleet->gpus[index];
    uint32_t room =
        domain_of(fleet, gpu)[0] != '\0' ? WEIR_FLEET_GPUS_MAX : gpu->model->max_link_domain;
    uint32_t first = index;
    uint32_t n_before = 0;
    uint32_t n_after = 0;

    if (room < 2)
        return -1;
    for (uint32_t i = 0; i < fleet->n_gpus; i++) {
        if (i == index || !may_link(fleet, gpu, &fleet->gpus[i]))
            continue;
        if (i > index)
            n_after++;
        else if (n_before++ % room == 0)
            first = i;
    }
    if (n_before % room != 0)
        return first;
    return n_after > 0 ? (int64_t)index : -1;
}

/* The first GPU of a domain gives it its number. */
static void fill_links(const struct weir_fleet *fleet, uint32_t index, uint64_t seed,
                       struct weir_sim_facts *facts)
{
    const struct weir_fleet_gpu *gpu = &fleet->gpus[index];
    const struct weir_gpu_model *model = gpu->model;
    const char *domain = domain_of(fleet, gpu);
    char name[WEIR_FLEET_LABEL_BYTES + 24];
    int64_t first;

    if (model->link != WEIR_GPU_LINK_NVLINK && !is_bridge(model))
        return;
    first = first_linked(fleet, index);
    if (first < 0)
        return;
    facts->link = is_bridge(model) ? WEIR_SIM_LINK_BRIDGE : WEIR_SIM_LINK_SWITCH;
    facts->link_gen = model->link_gen > 0 ? model->link_gen : model->cc_major - 5u;
    facts->n_links = model->n_links > 0 ? model->n_links : model->link_mb_per_s / LINK_MB_PER_S;
    facts->link_mb_per_s = facts->n_links > 0 ? model->link_mb_per_s / facts->n_links : 0;
    facts->link_domain = (uint32_t)first + 1;
    if (domain[0] == '\0')
        return;
    snprintf(name, sizeof(name), "%llu/%s", (unsigned long long)seed, domain);
    weir_hash_key128(WEIR_STR("simulated fabric"), weir_str(name), facts->fabric_uuid);
}

void weir_sim_facts_fill(const struct weir_fleet *fleet, uint32_t index, uint64_t seed,
                         struct weir_sim_facts *ret_facts)
{
    const struct weir_fleet_gpu *gpu = &fleet->gpus[index];
    const struct weir_fleet_node *node = &fleet->nodes[gpu->node];
    const struct weir_gpu_model *model = gpu->model;
    const struct generation *generation = generation_of(model);
    uint32_t id = model->n_pci_ids > 0 ? model->pci_ids[0] : 0x10de0000u;
    struct weir_sim_facts *facts = ret_facts;

    memset(facts, 0, sizeof(*facts));
    snprintf(facts->uuid, sizeof(facts->uuid), "%s", gpu->uuid);
    snprintf(facts->name, sizeof(facts->name), "%s", model->device_name);
    snprintf(facts->node, sizeof(facts->node), "%s", node->name);
    snprintf(facts->zone, sizeof(facts->zone), "%s", node->zone);
    snprintf(facts->rack, sizeof(facts->rack), "%s", node->rack);
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
    facts->sm_count = model->sm_count > 0 ? model->sm_count : SM_COUNT_UNKNOWN;
    facts->numa_node = node->n_gpus > 1 && index - node->first_gpu >= node->n_gpus / 2;
    facts->pcie_gen = pcie_gen(model);
    facts->power_idle_mw = model->tdp_w * 100;
    facts->power_limit_mw = model->tdp_w * 1000;
    facts->sm_clock_idle_mhz = SM_CLOCK_IDLE_MHZ;
    facts->sm_clock_max_mhz = generation->sm_clock_mhz;
    facts->memory_clock_max_mhz = generation->memory_clock_mhz;
    facts->slowdown_c = SLOWDOWN_C;
    facts->shutdown_c = SHUTDOWN_C;
    facts->memory_max_c = MEMORY_MAX_C;
    fill_links(fleet, index, seed, facts);
    fill_mig(model, facts);
}

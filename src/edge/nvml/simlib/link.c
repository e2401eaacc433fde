#include "edge/nvml/simlib/simlib.h"

#include "edge/nvml/nvml_abi_fabric.h"
#include "edge/nvml/nvml_abi_values.h"

#include <limits.h>
#include <stdio.h>

API int nvmlDeviceGetNvLinkState(struct weir_nvml_handle *device, unsigned link, unsigned *out);
API int nvmlDeviceGetNvLinkVersion(struct weir_nvml_handle *device, unsigned link, unsigned *out);
API int nvmlDeviceGetNvLinkCapability(struct weir_nvml_handle *device, unsigned link,
                                      unsigned capability, unsigned *out);
API int nvmlDeviceGetNvLinkErrorCounter(struct weir_nvml_handle *device, unsigned link,
                                        unsigned counter, unsigned long long *out);
API int nvmlDeviceGetNvLinkRemoteDeviceType(struct weir_nvml_handle *device, unsigned link,
                                            unsigned *out);
API int nvmlDeviceGetNvLinkRemotePciInfo(struct weir_nvml_handle *device, unsigned link,
                                         struct weir_nvml_pci_info *out);
API int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct weir_nvml_handle *device, unsigned link,
                                            struct weir_nvml_pci_info *out);
API int nvmlDeviceGetP2PStatus(struct weir_nvml_handle *a, struct weir_nvml_handle *b,
                               unsigned index, unsigned *out);
API int nvmlDeviceGetTopologyCommonAncestor(struct weir_nvml_handle *a, struct weir_nvml_handle *b,
                                            unsigned *out);
API int nvmlDeviceGetTopologyNearestGpus(struct weir_nvml_handle *device, unsigned level,
                                         unsigned *count, struct weir_nvml_handle **out);
API int nvmlDeviceOnSameBoard(struct weir_nvml_handle *a, struct weir_nvml_handle *b, int *out);
API int nvmlDeviceGetNumaNodeId(struct weir_nvml_handle *device, unsigned *out);
API int nvmlDeviceGetMemoryAffinity(struct weir_nvml_handle *device, unsigned n_words,
                                    unsigned long *words, unsigned scope);
API int nvmlDeviceGetGpuFabricInfo(struct weir_nvml_handle *device,
                                   struct weir_nvml_fabric_v1 *out);
API int nvmlDeviceGetGpuFabricInfoV(struct weir_nvml_handle *device, void *out);

/* Looks at one link of a GPU. */
static int look_at_link(struct weir_nvml_handle *device, unsigned link, const void *output,
                        struct weir_sim_view *view)
{
    int result = weir_sim_look(device, output, view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (view->facts.link == WEIR_SIM_LINK_NONE)
        return WEIR_NVML_NOT_SUPPORTED;
    return link < view->facts.n_links ? WEIR_NVML_SUCCESS : WEIR_NVML_INVALID_ARGUMENT;
}

/* MIG takes the links from a GPU. */
int nvmlDeviceGetNvLinkState(struct weir_nvml_handle *device, unsigned link, unsigned *out)
{
    struct weir_sim_view view;
    int result = look_at_link(device, link, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.mig.is_enabled ? 0 : 1;
    return result;
}

int nvmlDeviceGetNvLinkVersion(struct weir_nvml_handle *device, unsigned link, unsigned *out)
{
    struct weir_sim_view view;
    int result = look_at_link(device, link, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.facts.link_gen;
    return result;
}

int nvmlDeviceGetNvLinkCapability(struct weir_nvml_handle *device, unsigned link,
                                  unsigned capability, unsigned *out)
{
    struct weir_sim_view view;
    int result = look_at_link(device, link, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (capability > WEIR_NVML_NVLINK_CAP_VALID)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = capability != WEIR_NVML_NVLINK_CAP_SLI_BRIDGE;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkErrorCounter(struct weir_nvml_handle *device, unsigned link,
                                    unsigned counter, unsigned long long *out)
{
    struct weir_sim_view view;
    int result = look_at_link(device, link, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (counter > WEIR_NVML_NVLINK_ERROR_ECC_DATA)
        return WEIR_NVML_INVALID_ARGUMENT;
    *out = 0;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(struct weir_nvml_handle *device, unsigned link,
                                        unsigned *out)
{
    struct weir_sim_view view;
    int result = look_at_link(device, link, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.facts.link == WEIR_SIM_LINK_SWITCH ? WEIR_NVML_NVLINK_REMOTE_SWITCH
                                                       : WEIR_NVML_NVLINK_REMOTE_GPU;
    return result;
}

/* Number k of the other GPUs in the domain of the view's, and how many there are. */
static int find_peer(const struct weir_sim_view *view, unsigned k, unsigned *ret_n,
                     struct weir_sim_facts *ret_facts)
{
    struct weir_sim_facts other;
    unsigned n = 0;
    int result;

    for (uint32_t i = 0; (result = weir_sim_facts_of(i, &other)) == WEIR_NVML_SUCCESS; i++)
        if (i != view->index && other.link_domain == view->facts.link_domain && n++ == k)
            *ret_facts = other;
    *ret_n = n;
    return result == WEIR_NVML_INVALID_ARGUMENT ? WEIR_NVML_SUCCESS : result;
}

/* The GPU at the other end of a bridge's link: links are dealt out to the peers in turn. */
static int bridge_peer(const struct weir_sim_view *view, unsigned link, struct weir_sim_facts *ret)
{
    unsigned n = 0;
    int result = find_peer(view, 0, &n, ret);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    return n > 0 ? find_peer(view, link % n, &n, ret) : WEIR_NVML_NOT_FOUND;
}

/* The switches of a node have addresses below those of its GPUs. */
int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct weir_nvml_handle *device, unsigned link,
                                        struct weir_nvml_pci_info *out)
{
    enum { SWITCHES = 4, SWITCH_ID = 0x22a310de };
    struct weir_sim_view view;
    struct weir_sim_facts peer;
    int result = look_at_link(device, link, out, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memset(out, 0, sizeof(*out));
    if (view.facts.link == WEIR_SIM_LINK_SWITCH) {
        out->domain = view.facts.pci_domain;
        out->bus = 1 + link % SWITCHES;
        out->pci_device_id = SWITCH_ID;
    } else {
        result = bridge_peer(&view, link, &peer);
        if (result != WEIR_NVML_SUCCESS)
            return result;
        out->domain = peer.pci_domain;
        out->bus = peer.pci_bus;
        out->pci_device_id = peer.pci_device_id;
    }
    snprintf(out->bus_id, sizeof(out->bus_id), "%08X:%02X:00.0", out->domain, out->bus);
    snprintf(out->bus_id_legacy, sizeof(out->bus_id_legacy), "%04X:%02X:00.0",
             out->domain & 0xffffu, out->bus & 0xffu);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo(struct weir_nvml_handle *device, unsigned link,
                                     struct weir_nvml_pci_info *out)
{
    enum { OLD_BYTES = offsetof(struct weir_nvml_pci_info, bus_id) + 4 * sizeof(uint32_t) };
    struct weir_nvml_pci_info full;
    int result = out != NULL ? nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &full)
                             : WEIR_NVML_INVALID_ARGUMENT;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memset(full.bus_id, 0, sizeof(full.bus_id));
    memcpy(out, &full, OLD_BYTES);
    return WEIR_NVML_SUCCESS;
}

static int look_at_both(struct weir_nvml_handle *a, struct weir_nvml_handle *b, const void *output,
                        struct weir_sim_view *view_a, struct weir_sim_view *view_b)
{
    int result = weir_sim_look(a, output, view_a);

    return result == WEIR_NVML_SUCCESS ? weir_sim_look(b, output, view_b) : result;
}

static bool are_linked(const struct weir_sim_view *a, const struct weir_sim_view *b)
{
    return a->facts.link_domain != 0 && a->facts.link_domain == b->facts.link_domain &&
           !a->mig.is_enabled && !b->mig.is_enabled;
}

static bool are_in_one_node(const struct weir_sim_view *a, const struct weir_sim_view *b)
{
    return a->facts.pci_domain == b->facts.pci_domain;
}

int nvmlDeviceGetP2PStatus(struct weir_nvml_handle *a, struct weir_nvml_handle *b, unsigned index,
                           unsigned *out)
{
    struct weir_sim_view view_a;
    struct weir_sim_view view_b;
    int result = look_at_both(a, b, out, &view_a, &view_b);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (index > WEIR_NVML_P2P_PCI)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (!are_in_one_node(&view_a, &view_b) || view_a.mig.is_enabled || view_b.mig.is_enabled)
        *out = WEIR_NVML_P2P_NOT_SUPPORTED;
    else if (index == WEIR_NVML_P2P_NVLINK || index == WEIR_NVML_P2P_ATOMICS)
        *out = are_linked(&view_a, &view_b) ? WEIR_NVML_P2P_OK : WEIR_NVML_P2P_NOT_SUPPORTED;
    else
        *out = WEIR_NVML_P2P_OK;
    return WEIR_NVML_SUCCESS;
}

static unsigned level_between(const struct weir_sim_facts *a, const struct weir_sim_facts *b)
{
    if (strcmp(a->uuid, b->uuid) == 0)
        return WEIR_NVML_TOPOLOGY_INTERNAL;
    if (a->pci_domain == b->pci_domain && a->numa_node == b->numa_node)
        return WEIR_NVML_TOPOLOGY_NODE;
    return WEIR_NVML_TOPOLOGY_SYSTEM;
}

int nvmlDeviceGetTopologyCommonAncestor(struct weir_nvml_handle *a, struct weir_nvml_handle *b,
                                        unsigned *out)
{
    struct weir_sim_view view_a;
    struct weir_sim_view view_b;
    int result = look_at_both(a, b, out, &view_a, &view_b);

    if (result == WEIR_NVML_SUCCESS)
        *out = level_between(&view_a.facts, &view_b.facts);
    return result;
}

int nvmlDeviceGetTopologyNearestGpus(struct weir_nvml_handle *device, unsigned level,
                                     unsigned *count, struct weir_nvml_handle **out)
{
    struct weir_sim_view view;
    struct weir_sim_facts other;
    unsigned room;
    unsigned n = 0;
    int result = weir_sim_look(device, count, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    room = out != NULL ? *count : 0;
    for (uint32_t i = 0; (result = weir_sim_facts_of(i, &other)) == WEIR_NVML_SUCCESS; i++) {
        if (i == view.index || other.pci_domain != view.facts.pci_domain ||
            level_between(&view.facts, &other) > level)
            continue;
        if (n < room)
            out[n] = weir_sim_gpu_handle(i);
        n++;
    }
    if (result != WEIR_NVML_INVALID_ARGUMENT)
        return result;
    *count = out != NULL && n > room ? room : n;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceOnSameBoard(struct weir_nvml_handle *a, struct weir_nvml_handle *b, int *out)
{
    struct weir_sim_view view_a;
    struct weir_sim_view view_b;
    int result = look_at_both(a, b, out, &view_a, &view_b);

    if (result == WEIR_NVML_SUCCESS)
        *out = view_a.index == view_b.index;
    return result;
}

int nvmlDeviceGetNumaNodeId(struct weir_nvml_handle *device, unsigned *out)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    if (result == WEIR_NVML_SUCCESS)
        *out = view.facts.numa_node;
    return result;
}

int nvmlDeviceGetMemoryAffinity(struct weir_nvml_handle *device, unsigned n_words,
                                unsigned long *words, unsigned scope)
{
    enum { WORD_BITS = sizeof(unsigned long) * CHAR_BIT };
    struct weir_sim_view view;
    int result = weir_sim_look(device, words, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (n_words <= view.facts.numa_node / WORD_BITS || scope > WEIR_NVML_AFFINITY_SOCKET)
        return WEIR_NVML_INVALID_ARGUMENT;
    memset(words, 0, n_words * sizeof(*words));
    words[view.facts.numa_node / WORD_BITS] = 1ul << view.facts.numa_node % WORD_BITS;
    return WEIR_NVML_SUCCESS;
}

static int fabric(struct weir_nvml_handle *device, const void *output,
                  struct weir_nvml_fabric_v1 *ret)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, output, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    /* Fabric managers register GPUs with switches of the third generation on. */
    if (view.facts.link != WEIR_SIM_LINK_SWITCH || view.facts.cc_major < 9)
        return WEIR_NVML_NOT_SUPPORTED;
    *ret = (struct weir_nvml_fabric_v1){.state = WEIR_NVML_FABRIC_COMPLETED,
                                        .status = WEIR_NVML_SUCCESS};
    memcpy(ret->cluster_uuid, view.facts.fabric_uuid, sizeof(ret->cluster_uuid));
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetGpuFabricInfo(struct weir_nvml_handle *device, struct weir_nvml_fabric_v1 *out)
{
    struct weir_nvml_fabric_v1 now;
    int result = fabric(device, out, &now);

    if (result == WEIR_NVML_SUCCESS)
        *out = now;
    return result;
}

int nvmlDeviceGetGpuFabricInfoV(struct weir_nvml_handle *device, void *out)
{
    struct weir_nvml_fabric_v1 now;
    struct weir_nvml_fabric_v3 full;
    uint32_t version;
    int result = fabric(device, out, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memcpy(&version, out, sizeof(version));
    if (version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_fabric_v2, 2) &&
        version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_fabric_v3, 3))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    full = (struct weir_nvml_fabric_v3){
        .version = version, .status = now.status, .clique_id = now.clique_id, .state = now.state};
    memcpy(full.cluster_uuid, now.cluster_uuid, sizeof(full.cluster_uuid));
    /* The second version is the third without its end. */
    memcpy(out, &full, version & 0xffffff);
    return WEIR_NVML_SUCCESS;
}

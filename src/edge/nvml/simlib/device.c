#include "edge/nvml/simlib/simlib.h"

#include "edge/nvml/sim_mig.h"
#include "edge/nvml/simlib/mig.h"

#include <stdio.h>

API int nvmlDeviceGetHandleByUUID(const char *uuid, struct weir_nvml_handle **ret);
API int nvmlDeviceGetHandleBySerial(const char *serial, struct weir_nvml_handle **ret);
API int nvmlDeviceGetHandleByPciBusId(const char *bus_id, struct weir_nvml_handle **ret);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct weir_nvml_handle **ret);
API int weirSimDeviceGetNode(struct weir_nvml_handle *device, char *name, unsigned length);
API int nvmlDeviceGetName(struct weir_nvml_handle *device, char *name, unsigned length);
API int nvmlDeviceGetUUID(struct weir_nvml_handle *device, char *uuid, unsigned length);
API int nvmlDeviceGetSerial(struct weir_nvml_handle *device, char *serial, unsigned length);
API int nvmlDeviceGetIndex(struct weir_nvml_handle *device, unsigned *index);
API int nvmlDeviceGetMinorNumber(struct weir_nvml_handle *device, unsigned *minor);
API int nvmlDeviceGetPciInfo(struct weir_nvml_handle *device, struct weir_nvml_pci_info *pci);
API int nvmlDeviceGetPciInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_pci_info *pci);
API int nvmlDeviceGetPciInfo_v3(struct weir_nvml_handle *device, struct weir_nvml_pci_info *pci);
API int nvmlDeviceGetArchitecture(struct weir_nvml_handle *device, unsigned *architecture);
API int nvmlDeviceGetBrand(struct weir_nvml_handle *device, unsigned *brand);
API int nvmlDeviceGetCudaComputeCapability(struct weir_nvml_handle *device, int *major, int *minor);
API int nvmlDeviceGetMemoryInfo(struct weir_nvml_handle *device,
                                struct weir_nvml_memory_v1 *memory);
API int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *device,
                                   struct weir_nvml_memory_v2 *memory);
API int nvmlDeviceGetBAR1MemoryInfo(struct weir_nvml_handle *device,
                                    struct weir_nvml_bar1_memory *memory);
API int weirSimDeviceGetLabel(struct weir_nvml_handle *device, const char *key, char *value,
                              unsigned length);
API int nvmlDeviceGetNumGpuCores(struct weir_nvml_handle *device, unsigned *cores);
API int nvmlDeviceGetVbiosVersion(struct weir_nvml_handle *device, char *version, unsigned length);
API int nvmlDeviceGetBoardId(struct weir_nvml_handle *device, unsigned *id);
API int nvmlDeviceGetMultiGpuBoard(struct weir_nvml_handle *device, unsigned *is_multi);

static bool has_uuid(const struct weir_sim_facts *facts, const void *wanted)
{
    return strcmp(facts->uuid, wanted) == 0;
}

static bool has_serial(const struct weir_sim_facts *facts, const void *wanted)
{
    return strcmp(facts->serial, wanted) == 0;
}

static bool has_address(const struct weir_sim_facts *facts, const void *wanted)
{
    const unsigned *address = wanted;

    return facts->pci_domain == address[0] && facts->pci_bus == address[1];
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct weir_nvml_handle **ret)
{
    if (uuid != NULL && ret != NULL && strncmp(uuid, "MIG-", 4) == 0)
        return weir_sim_find_mig(uuid, ret);
    return weir_sim_find(has_uuid, uuid, ret);
}

int nvmlDeviceGetHandleBySerial(const char *serial, struct weir_nvml_handle **ret)
{
    return weir_sim_find(has_serial, serial, ret);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct weir_nvml_handle **ret)
{
    unsigned address[2];
    unsigned device;
    unsigned function;

    if (bus_id == NULL || ret == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (sscanf(bus_id, "%x:%x:%x.%x", &address[0], &address[1], &device, &function) != 4) {
        address[0] = 0;
        if (sscanf(bus_id, "%x:%x.%x", &address[1], &device, &function) != 3)
            return WEIR_NVML_INVALID_ARGUMENT;
    }
    if (device != 0 || function != 0)
        return weir_sim_ready() == WEIR_NVML_SUCCESS ? WEIR_NVML_NOT_FOUND : weir_sim_ready();
    return weir_sim_find(has_address, address, ret);
}

int nvmlDeviceGetHandleByPciBusId(const char *bus_id, struct weir_nvml_handle **ret)
{
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, ret);
}

enum { IDENTITY = WEIR_SIM_ACCEPT_MIG | WEIR_SIM_ACCEPT_RESET };

/* A text of the view, by its place there. */
static int text(const struct weir_nvml_handle *device, char *out, unsigned length, size_t offset)
{
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, out, IDENTITY, &view);

    return result == WEIR_NVML_SUCCESS ? weir_sim_text(out, length, (const char *)&view + offset)
                                       : result;
}

int weirSimDeviceGetNode(struct weir_nvml_handle *device, char *name, unsigned length)
{
    return text(device, name, length, offsetof(struct weir_sim_view, facts.node));
}

/* What a fleet file says of the place of a node: "zone", "rack". Empty where it says nothing. */
int weirSimDeviceGetLabel(struct weir_nvml_handle *device, const char *key, char *value,
                          unsigned length)
{
    if (key != NULL && strcmp(key, "zone") == 0)
        return text(device, value, length, offsetof(struct weir_sim_view, facts.zone));
    if (key != NULL && strcmp(key, "rack") == 0)
        return text(device, value, length, offsetof(struct weir_sim_view, facts.rack));
    return WEIR_NVML_INVALID_ARGUMENT;
}

int nvmlDeviceGetName(struct weir_nvml_handle *device, char *name, unsigned length)
{
    char full[WEIR_NVML_NAME_BYTES + sizeof(" MIG ") + 24];
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, name, IDENTITY, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (view.gpu_instance == WEIR_NVML_NO_INSTANCE)
        return weir_sim_text(name, length, view.facts.name);
    snprintf(full, sizeof(full), "%s MIG %s", view.facts.name, weir_sim_profile_of(&view)->name);
    return weir_sim_text(name, length, full);
}

int nvmlDeviceGetUUID(struct weir_nvml_handle *device, char *uuid, unsigned length)
{
    char mig[WEIR_SIM_MIG_UUID_BYTES];
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, uuid, IDENTITY, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (view.gpu_instance == WEIR_NVML_NO_INSTANCE)
        return weir_sim_text(uuid, length, view.facts.uuid);
    weir_sim_mig_uuid(&view.facts, &view.mig, view.gpu_instance, view.compute_instance, mig);
    return weir_sim_text(uuid, length, mig);
}

int nvmlDeviceGetSerial(struct weir_nvml_handle *device, char *serial, unsigned length)
{
    return text(device, serial, length, offsetof(struct weir_sim_view, facts.serial));
}

int nvmlDeviceGetIndex(struct weir_nvml_handle *device, unsigned *index)
{
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, index, IDENTITY, &view);

    if (result == WEIR_NVML_SUCCESS)
        *index = view.index;
    return result;
}

/* One number line for the whole fleet, as one driver would have it. */
int nvmlDeviceGetMinorNumber(struct weir_nvml_handle *device, unsigned *minor)
{
    return nvmlDeviceGetIndex(device, minor);
}

/* The first versions end after the numbers and four reserved words: the caller's room may, too. */
static int old_pci_info(struct weir_nvml_handle *device, struct weir_nvml_pci_info *pci)
{
    enum { OLD_BYTES = offsetof(struct weir_nvml_pci_info, bus_id) + 4 * sizeof(uint32_t) };
    struct weir_nvml_pci_info full;
    int result = pci != NULL ? nvmlDeviceGetPciInfo_v3(device, &full) : WEIR_NVML_INVALID_ARGUMENT;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memset(full.bus_id, 0, sizeof(full.bus_id));
    memcpy(pci, &full, OLD_BYTES);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo(struct weir_nvml_handle *device, struct weir_nvml_pci_info *pci)
{
    return old_pci_info(device, pci);
}

int nvmlDeviceGetPciInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_pci_info *pci)
{
    return old_pci_info(device, pci);
}

int nvmlDeviceGetPciInfo_v3(struct weir_nvml_handle *device, struct weir_nvml_pci_info *pci)
{
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, pci, IDENTITY, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memset(pci, 0, sizeof(*pci));
    pci->domain = view.facts.pci_domain;
    pci->bus = view.facts.pci_bus;
    pci->pci_device_id = view.facts.pci_device_id;
    pci->pci_subsystem_id = view.facts.pci_subsystem_id;
    snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:00.0", pci->domain, pci->bus);
    snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "%04X:%02X:00.0",
             pci->domain & 0xffffu, pci->bus & 0xffu);
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetArchitecture(struct weir_nvml_handle *device, unsigned *architecture)
{
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, architecture, IDENTITY, &view);

    if (result == WEIR_NVML_SUCCESS)
        *architecture = view.facts.architecture;
    return result;
}

int nvmlDeviceGetBrand(struct weir_nvml_handle *device, unsigned *brand)
{
    enum { BRAND_NVIDIA = 14 };
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, brand, IDENTITY, &view);

    if (result == WEIR_NVML_SUCCESS)
        *brand = BRAND_NVIDIA;
    return result;
}

int nvmlDeviceGetCudaComputeCapability(struct weir_nvml_handle *device, int *major, int *minor)
{
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, major, IDENTITY, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (minor == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *major = (int)view.facts.cc_major;
    *minor = (int)view.facts.cc_minor;
    return WEIR_NVML_SUCCESS;
}

/* What there is, and what is in use: of the GPU, or of the GPU instance that a MIG device is in. */
static int amounts(const struct weir_nvml_handle *device, const void *output,
                   struct weir_nvml_memory_v2 *ret_amounts)
{
    struct weir_sim_view view;
    int result = weir_sim_look_with(device, output, WEIR_SIM_ACCEPT_MIG, &view);
    uint64_t room;

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (view.gpu_instance == WEIR_NVML_NO_INSTANCE) {
        ret_amounts->total = view.facts.memory_total_bytes;
        ret_amounts->reserved = view.facts.memory_reserved_bytes;
    } else {
        ret_amounts->total = weir_sim_profile_of(&view)->memory_mib << 20;
        ret_amounts->reserved = 0;
    }
    room = ret_amounts->total - ret_amounts->reserved;
    ret_amounts->used = weir_sim_model_used(&view.state, view.gpu_instance, view.at_ms);
    if (ret_amounts->used > room)
        ret_amounts->used = room;
    ret_amounts->free = room - ret_amounts->used;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(struct weir_nvml_handle *device, struct weir_nvml_memory_v1 *memory)
{
    struct weir_nvml_memory_v2 now;
    int result = amounts(device, memory, &now);

    if (result == WEIR_NVML_SUCCESS)
        *memory = (struct weir_nvml_memory_v1){now.total, now.free, now.used + now.reserved};
    return result;
}

int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *memory)
{
    struct weir_nvml_memory_v2 now;
    int result = amounts(device, memory, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (memory->version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_memory_v2, 2))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    now.version = memory->version;
    *memory = now;
    return WEIR_NVML_SUCCESS;
}

/* The window is the next power of two of the memory, as on the boards with resizable BAR. */
int nvmlDeviceGetBAR1MemoryInfo(struct weir_nvml_handle *device,
                                struct weir_nvml_bar1_memory *memory)
{
    struct weir_nvml_memory_v2 now;
    int result = amounts(device, memory, &now);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memory->total = UINT64_C(1) << 30;
    while (memory->total < now.total)
        memory->total <<= 1;
    memory->used = UINT64_C(1) << 20;
    memory->free = memory->total - memory->used;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetNumGpuCores(struct weir_nvml_handle *device, unsigned *cores)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, cores, &view);

    if (result == WEIR_NVML_SUCCESS)
        *cores =
            view.facts.sm_count * (view.facts.cc_major == 8 && view.facts.cc_minor == 0 ? 64 : 128);
    return result;
}

int nvmlDeviceGetVbiosVersion(struct weir_nvml_handle *device, char *version, unsigned length)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, version, &view);

    return result == WEIR_NVML_SUCCESS ? weir_sim_text(version, length, "96.00.00.00.01") : result;
}

int nvmlDeviceGetBoardId(struct weir_nvml_handle *device, unsigned *id)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, id, &view);

    if (result == WEIR_NVML_SUCCESS)
        *id = view.facts.pci_domain << 16 | view.facts.pci_bus << 8;
    return result;
}

int nvmlDeviceGetMultiGpuBoard(struct weir_nvml_handle *device, unsigned *is_multi)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, is_multi, &view);

    if (result == WEIR_NVML_SUCCESS)
        *is_multi = 0;
    return result;
}

#include "edge/nvml/simlib/simlib.h"

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
API int nvmlDeviceGetMigMode(struct weir_nvml_handle *device, unsigned *current, unsigned *pending);
API int nvmlDeviceGetMaxMigDeviceCount(struct weir_nvml_handle *device, unsigned *count);
API int nvmlDeviceGetMigDeviceHandleByIndex(struct weir_nvml_handle *device, unsigned index,
                                            struct weir_nvml_handle **ret);
API int nvmlDeviceIsMigDeviceHandle(struct weir_nvml_handle *device, unsigned *is_mig);

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

/* A text of the view, by its place there. */
static int text(const struct weir_nvml_handle *device, char *out, unsigned length, size_t offset)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, out, &view);

    return result == WEIR_NVML_SUCCESS ? weir_sim_text(out, length, (const char *)&view + offset)
                                       : result;
}

int weirSimDeviceGetNode(struct weir_nvml_handle *device, char *name, unsigned length)
{
    return text(device, name, length, offsetof(struct weir_sim_view, facts.node));
}

int nvmlDeviceGetName(struct weir_nvml_handle *device, char *name, unsigned length)
{
    return text(device, name, length, offsetof(struct weir_sim_view, facts.name));
}

int nvmlDeviceGetUUID(struct weir_nvml_handle *device, char *uuid, unsigned length)
{
    return text(device, uuid, length, offsetof(struct weir_sim_view, facts.uuid));
}

int nvmlDeviceGetSerial(struct weir_nvml_handle *device, char *serial, unsigned length)
{
    return text(device, serial, length, offsetof(struct weir_sim_view, facts.serial));
}

int nvmlDeviceGetIndex(struct weir_nvml_handle *device, unsigned *index)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, index, &view);

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
    int result = weir_sim_look(device, pci, &view);

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
    int result = weir_sim_look(device, architecture, &view);

    if (result == WEIR_NVML_SUCCESS)
        *architecture = view.facts.architecture;
    return result;
}

int nvmlDeviceGetBrand(struct weir_nvml_handle *device, unsigned *brand)
{
    enum { BRAND_NVIDIA = 14 };
    struct weir_sim_view view;
    int result = weir_sim_look(device, brand, &view);

    if (result == WEIR_NVML_SUCCESS)
        *brand = BRAND_NVIDIA;
    return result;
}

int nvmlDeviceGetCudaComputeCapability(struct weir_nvml_handle *device, int *major, int *minor)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, major, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (minor == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *major = (int)view.facts.cc_major;
    *minor = (int)view.facts.cc_minor;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(struct weir_nvml_handle *device, struct weir_nvml_memory_v1 *memory)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, memory, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memory->total = view.facts.memory_total_bytes;
    memory->used = weir_sim_used_bytes(&view.facts, &view.state) + view.facts.memory_reserved_bytes;
    memory->free = memory->total - memory->used;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo_v2(struct weir_nvml_handle *device, struct weir_nvml_memory_v2 *memory)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, memory, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (memory->version != WEIR_NVML_STRUCT_VERSION(struct weir_nvml_memory_v2, 2))
        return WEIR_NVML_ARGUMENT_VERSION_MISMATCH;
    memory->total = view.facts.memory_total_bytes;
    memory->reserved = view.facts.memory_reserved_bytes;
    memory->used = weir_sim_used_bytes(&view.facts, &view.state);
    memory->free = memory->total - memory->reserved - memory->used;
    return WEIR_NVML_SUCCESS;
}

/* The window is the next power of two of the memory, as on the boards with resizable BAR. */
int nvmlDeviceGetBAR1MemoryInfo(struct weir_nvml_handle *device,
                                struct weir_nvml_bar1_memory *memory)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, memory, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    memory->total = UINT64_C(1) << 30;
    while (memory->total < view.facts.memory_total_bytes)
        memory->total <<= 1;
    memory->used = UINT64_C(1) << 20;
    memory->free = memory->total - memory->used;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetMigMode(struct weir_nvml_handle *device, unsigned *current, unsigned *pending)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, current, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (pending == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (view.facts.mig_compute_slices == 0)
        return WEIR_NVML_NOT_SUPPORTED;
    *current = 0;
    *pending = 0;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(struct weir_nvml_handle *device, unsigned *count)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, count, &view);

    if (result == WEIR_NVML_SUCCESS)
        *count = view.facts.mig_compute_slices;
    return result;
}

int nvmlDeviceGetMigDeviceHandleByIndex(struct weir_nvml_handle *device, unsigned index,
                                        struct weir_nvml_handle **ret)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, ret, &view);

    if (result != WEIR_NVML_SUCCESS)
        return result;
    return index < view.facts.mig_compute_slices ? WEIR_NVML_NOT_FOUND : WEIR_NVML_INVALID_ARGUMENT;
}

int nvmlDeviceIsMigDeviceHandle(struct weir_nvml_handle *device, unsigned *is_mig)
{
    struct weir_sim_view view;
    int result = weir_sim_look(device, is_mig, &view);

    if (result == WEIR_NVML_SUCCESS)
        *is_mig = 0;
    return result;
}

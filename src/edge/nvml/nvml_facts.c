#include "edge/nvml/nvml_internal.h"

#include "base/arena.h"
#include "base/char.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/gpu_catalogue.h"

#include <string.h>

/* Every text NVML gives fits, with its end. */
enum { TEXT_BYTES = 96 };

_Static_assert(TEXT_BYTES >= (int)WEIR_NVML_UUID_BYTES, "a uuid fits");
_Static_assert(TEXT_BYTES >= (int)WEIR_NVML_NAME_BYTES, "a name fits");

typedef int text_fn(struct weir_nvml_handle *device, char *out, unsigned length);
typedef int number_fn(struct weir_nvml_handle *device, unsigned *out);

static int keep(struct weir_arena *arena, const char *text, struct weir_str *ret)
{
    char *copy = weir_arena_strndup(arena, text, strlen(text));

    if (copy == NULL)
        return WEIR_E_NO_MEMORY;
    *ret = weir_str(copy);
    return 0;
}

/* A text of the device; empty when it is not to be had. */
static int read_text(struct weir_nvml_reader *reader, text_fn *call, struct weir_str *ret)
{
    char text[TEXT_BYTES + 1] = "";

    if (call == NULL || !weir_nvml_ok(reader, call(reader->handle, text, TEXT_BYTES)))
        return 0;
    text[TEXT_BYTES] = '\0';
    return keep(reader->arena, text, ret);
}

/* "NVIDIA RTX 5000" → "nvidia-rtx-5000": a class for a model the catalogue does not know. */
static int name_class(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    const struct weir_gpu_model *model = weir_gpu_catalogue_find(device->name);
    char *slug;

    if (model != NULL)
        return keep(reader->arena, model->id, &device->class);
    slug = weir_str_dup(device->name, reader->arena);
    if (slug == NULL)
        return WEIR_E_NO_MEMORY;
    for (char *c = slug; *c != '\0'; c++) {
        if (weir_char_is_letter(*c))
            *c = weir_char_lower(*c);
        else if (!weir_char_is_digit(*c) && *c != '.')
            *c = '-';
    }
    device->class = weir_str(slug);
    return 0;
}

static int read_pci(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    struct weir_nvml_pci_info pci = {.domain = 0};
    char text[16];

    if (reader->call->pci_info == NULL ||
        !weir_nvml_ok(reader, reader->call->pci_info(reader->handle, &pci)))
        return 0;
    weir_nvml_bus_id(&pci, text);
    device->pci_id = pci.pci_device_id << 16 | pci.pci_device_id >> 16;
    device->valid |= WEIR_GPU_HAS_PCI;
    return keep(reader->arena, text, &device->pci);
}

static void read_number(struct weir_nvml_reader *reader, number_fn *call, uint32_t *ret,
                        enum weir_gpu_valid bit, uint32_t *valid)
{
    unsigned value = 0;

    if (call == NULL || !weir_nvml_ok(reader, call(reader->handle, &value)))
        return;
    *ret = value;
    *valid |= bit;
}

static void read_compute_capability(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    int major = 0;
    int minor = 0;

    if (reader->call->compute_capability == NULL ||
        !weir_nvml_ok(reader, reader->call->compute_capability(reader->handle, &major, &minor)))
        return;
    device->compute_major = (uint32_t)major;
    device->compute_minor = (uint32_t)minor;
    device->valid |= WEIR_GPU_HAS_COMPUTE_CAPABILITY;
}

/* The NUMA node of the host that is near; where the GPU's memory is a node itself, that tells. */
static void read_numa(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    unsigned long nodes[16] = {0};

    if (reader->call->memory_affinity != NULL &&
        weir_nvml_ok(reader, reader->call->memory_affinity(reader->handle, 16, nodes,
                                                           WEIR_NVML_AFFINITY_NODE))) {
        for (uint32_t word = 0; word < 16; word++) {
            if (nodes[word] == 0)
                continue;
            device->numa_node =
                word * (uint32_t)(8 * sizeof(nodes[0])) + (uint32_t)__builtin_ctzl(nodes[word]);
            device->valid |= WEIR_GPU_HAS_NUMA;
            return;
        }
    }
    read_number(reader, reader->call->numa_node, &device->numa_node, WEIR_GPU_HAS_NUMA,
                &device->valid);
}

static void read_memory(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    struct weir_nvml_memory memory;

    if (!weir_nvml_read_memory(reader, reader->handle, &memory))
        return;
    device->memory_total_bytes = memory.total_bytes;
    device->valid |= WEIR_GPU_HAS_MEMORY;
    if (!memory.has_reserved)
        return;
    device->memory_reserved_bytes = memory.reserved_bytes;
    device->valid |= WEIR_GPU_HAS_MEMORY_RESERVED;
}

static void limit(struct weir_nvml_reader *reader, number_fn *call, enum weir_gpu_limit which,
                  struct weir_gpu_limits *limits)
{
    unsigned value = 0;

    if (call != NULL && weir_nvml_ok(reader, call(reader->handle, &value)))
        weir_gpu_set_limit(limits, which, value);
}

static void limit_of(struct weir_nvml_reader *reader,
                     int (*call)(struct weir_nvml_handle *, unsigned, unsigned *), unsigned kind,
                     enum weir_gpu_limit which, struct weir_gpu_limits *limits)
{
    unsigned value = 0;

    if (call != NULL && weir_nvml_ok(reader, call(reader->handle, kind, &value)))
        weir_gpu_set_limit(limits, which, value);
}

static void read_limits(struct weir_nvml_reader *reader, struct weir_gpu_limits *limits)
{
    const struct weir_nvml_symbols *call = reader->call;
    unsigned min = 0;
    unsigned max = 0;

    limit(reader, call->power_limit_enforced, WEIR_GPU_POWER_LIMIT_MW, limits);
    limit(reader, call->power_limit_default, WEIR_GPU_POWER_LIMIT_DEFAULT_MW, limits);
    if (call->power_limit_range != NULL &&
        weir_nvml_ok(reader, call->power_limit_range(reader->handle, &min, &max))) {
        weir_gpu_set_limit(limits, WEIR_GPU_POWER_LIMIT_MIN_MW, min);
        weir_gpu_set_limit(limits, WEIR_GPU_POWER_LIMIT_MAX_MW, max);
    }
    limit_of(reader, call->max_clock, WEIR_NVML_CLOCK_SM, WEIR_GPU_SM_CLOCK_MAX_MHZ, limits);
    limit_of(reader, call->max_clock, WEIR_NVML_CLOCK_MEM, WEIR_GPU_MEMORY_CLOCK_MAX_MHZ, limits);
    limit_of(reader, call->threshold, WEIR_NVML_THRESHOLD_SHUTDOWN, WEIR_GPU_SHUTDOWN_C, limits);
    limit_of(reader, call->threshold, WEIR_NVML_THRESHOLD_SLOWDOWN, WEIR_GPU_SLOWDOWN_C, limits);
    limit_of(reader, call->threshold, WEIR_NVML_THRESHOLD_MEMORY_MAX, WEIR_GPU_MEMORY_MAX_C,
             limits);
    limit_of(reader, call->threshold, WEIR_NVML_THRESHOLD_GPU_MAX, WEIR_GPU_OPERATING_MAX_C,
             limits);
    limit(reader, call->pcie_generation_max, WEIR_GPU_PCIE_GENERATION_MAX, limits);
    limit(reader, call->pcie_width_max, WEIR_GPU_PCIE_WIDTH_MAX, limits);
}

static uint32_t link_kind(struct weir_nvml_reader *reader, uint32_t link)
{
    unsigned type = WEIR_NVML_NVLINK_REMOTE_UNKNOWN;

    if (reader->call->nvlink_remote_type == NULL ||
        !weir_nvml_ok(reader, reader->call->nvlink_remote_type(reader->handle, link, &type)))
        return WEIR_GPU_LINK_TO_UNKNOWN;
    return type == WEIR_NVML_NVLINK_REMOTE_GPU      ? WEIR_GPU_LINK_TO_GPU
           : type == WEIR_NVML_NVLINK_REMOTE_SWITCH ? WEIR_GPU_LINK_TO_SWITCH
           : type == WEIR_NVML_NVLINK_REMOTE_NPU    ? WEIR_GPU_LINK_TO_CPU
                                                    : WEIR_GPU_LINK_TO_UNKNOWN;
}

static int read_links(struct weir_nvml_reader *reader, struct weir_gpu_device *device)
{
    struct weir_gpu_nvlink found[WEIR_NVML_NVLINK_LINKS_MAX];
    struct weir_gpu_nvlink *links;
    uint32_t n = 0;

    if (reader->call->nvlink_state == NULL)
        return 0;
    for (uint32_t i = 0; i < WEIR_NVML_NVLINK_LINKS_MAX; i++) {
        struct weir_nvml_pci_info peer = {.domain = 0};
        unsigned is_active = 0;
        char text[16];

        /* The first that is none ends them. */
        if (!weir_nvml_ok(reader, reader->call->nvlink_state(reader->handle, i, &is_active)))
            break;
        found[n] = (struct weir_gpu_nvlink){.link = i,
                                            .kind = link_kind(reader, i),
                                            .is_active = is_active != 0};
        if (reader->call->nvlink_remote_pci != NULL &&
            weir_nvml_ok(reader, reader->call->nvlink_remote_pci(reader->handle, i, &peer))) {
            weir_nvml_bus_id(&peer, text);
            if (keep(reader->arena, text, &found[n].peer_pci) < 0)
                return WEIR_E_NO_MEMORY;
        }
        n++;
    }
    links = weir_arena_new_n(reader->arena, struct weir_gpu_nvlink, n + 1u);
    if (links == NULL)
        return WEIR_E_NO_MEMORY;
    memcpy(links, found, n * sizeof(found[0]));
    device->links = links;
    device->n_links = n;
    device->valid |= WEIR_GPU_HAS_LINKS;
    return 0;
}

static int read_all(struct weir_nvml_reader *reader, struct weir_gpu_device *device,
                    struct weir_err *err)
{
    const struct weir_nvml_symbols *call = reader->call;

    if (read_text(reader, call->node, &device->node) < 0 ||
        read_text(reader, call->name, &device->name) < 0 || name_class(reader, device) < 0 ||
        read_text(reader, call->serial, &device->serial) < 0 || read_pci(reader, device) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU");
    read_number(reader, call->minor, &device->minor, WEIR_GPU_HAS_MINOR, &device->valid);
    read_number(reader, call->compute_mode, &device->compute_mode, WEIR_GPU_HAS_COMPUTE_MODE,
                &device->valid);
    read_compute_capability(reader, device);
    read_memory(reader, device);
    read_numa(reader, device);
    read_limits(reader, &device->limits);
    if (read_links(reader, device) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU's links");
    return weir_nvml_read_mig(reader, device, err);
}

static int tell_failure(struct weir_nvml_reader *reader, struct weir_gpu_device *device,
                        struct weir_err *err)
{
    if (reader->failed == WEIR_NVML_SUCCESS)
        return 0;
    device->state = weir_nvml_state(reader->failed);
    if (keep(reader->arena, weir_nvml_words(reader->call, reader->failed), &device->cause) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU");
    return 0;
}

int weir_nvml_read_facts(const struct weir_nvml *nvml, uint32_t index, struct weir_arena *arena,
                         struct weir_gpu_device *ret_device, struct weir_err *err)
{
    struct weir_nvml_reader reader = {&nvml->call, NULL, arena, WEIR_NVML_SUCCESS};
    struct weir_gpu_device device = {.index = index, .read_ms = weir_clock_mono_ms()};
    char uuid[WEIR_NVML_UUID_BYTES + 1] = "";
    int r = 0;
    int result = nvml->call.by_index(index, &reader.handle);

    if (result == WEIR_NVML_SUCCESS)
        result = nvml->call.uuid(reader.handle, uuid, WEIR_NVML_UUID_BYTES);
    if (result != WEIR_NVML_SUCCESS) {
        reader.failed = result;
    } else {
        uuid[WEIR_NVML_UUID_BYTES - 1] = '\0';
        r = keep(arena, uuid, &device.uuid);
        r = r < 0 ? weir_error(err, r, "no memory for a GPU") : read_all(&reader, &device, err);
    }
    if (r == 0)
        r = tell_failure(&reader, &device, err);
    if (r == 0)
        *ret_device = device;
    return r;
}

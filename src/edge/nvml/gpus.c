#include "edge/nvml/gpus.h"

#include "base/arena.h"
#include "base/char.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/nvml/nvml.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"
#include "model/gpu_catalogue.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define AUTO_SPEC "8xH100"

struct weir_gpus {
    struct weir_nvml *nvml;
    struct weir_sim_fleet *fleet; /* NULL: a real driver */
    char description[256];
};

/* "NVIDIA RTX 5000" → "nvidia-rtx-5000": a class for a model the catalogue does not know. */
static const char *class_of_name(const char *name, struct weir_arena *arena)
{
    size_t n = strlen(name);
    char *slug = weir_arena_strndup(arena, name, n);

    for (size_t i = 0; slug != NULL && i < n; i++) {
        char c = slug[i];

        if (weir_char_is_letter(c))
            slug[i] = weir_char_lower(c);
        else if (!weir_char_is_digit(c) && c != '.')
            slug[i] = '-';
    }
    return slug;
}

static struct weir_str dup_text(const char *text, struct weir_arena *arena)
{
    return weir_str(weir_arena_strndup(arena, text, strlen(text)));
}

static int copy_processes(struct weir_gpus *gpus, const struct weir_nvml_device *device,
                          struct weir_arena *arena, struct weir_gpu_device *out,
                          struct weir_err *err)
{
    struct weir_nvml_process *list;
    struct weir_gpu_process *processes;
    uint32_t n;
    int r = weir_nvml_processes(gpus->nvml, device->uuid, arena, &list, &n, err);

    if (r == WEIR_E_UNSUPPORTED || r == WEIR_E_UNAVAILABLE || r == WEIR_E_NOT_FOUND)
        return 0; /* unknown is not an error of the whole */
    if (r < 0)
        return r;
    processes = weir_arena_new_n(arena, struct weir_gpu_process, n + 1u);
    if (processes == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the processes of a GPU");
    for (uint32_t i = 0; i < n; i++)
        processes[i] =
            (struct weir_gpu_process){list[i].pid, list[i].used_valid, list[i].used_bytes};
    out->processes = processes;
    out->n_processes = n;
    return 0;
}

static int copy_device(struct weir_gpus *gpus, const struct weir_nvml_device *device,
                       struct weir_arena *arena, struct weir_gpu_device *out, struct weir_err *err)
{
    const struct weir_gpu_model *model = weir_gpu_catalogue_find(weir_str(device->name));

    *out = (struct weir_gpu_device){
        .uuid = dup_text(device->uuid, arena),
        .name = dup_text(device->name, arena),
        .class = weir_str(model != NULL ? model->id : class_of_name(device->name, arena)),
        .node = dup_text(device->node, arena),
        .pci = dup_text(device->pci_bus_id, arena),
        .index = device->index,
        .is_lost = device->state != WEIR_NVML_STATE_READY,
        .mig_mode = device->mig_enabled,
        .memory_total_bytes = device->memory_total_bytes,
        .memory_reserved_bytes = device->memory_reserved_bytes,
        .compute_major = device->cc_major,
        .compute_minor = device->cc_minor,
    };
    if ((device->valid & WEIR_NVML_VALID_MEMORY_TOTAL) != 0)
        out->valid |= WEIR_GPU_HAS_MEMORY;
    if ((device->valid & WEIR_NVML_VALID_PCI) != 0)
        out->valid |= WEIR_GPU_HAS_PCI;
    if ((device->valid & WEIR_NVML_VALID_MIG_MODE) != 0)
        out->valid |= WEIR_GPU_HAS_MIG_MODE;
    if ((device->valid & WEIR_NVML_VALID_COMPUTE_CAPABILITY) != 0)
        out->valid |= WEIR_GPU_HAS_COMPUTE_CAPABILITY;
    if (out->uuid.ptr == NULL || out->name.ptr == NULL || out->class.ptr == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the devices");
    return out->is_lost ? 0 : copy_processes(gpus, device, arena, out, err);
}

static int gpus_list(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                     uint32_t *ret_n_devices, struct weir_err *err)
{
    struct weir_gpus *gpus = ctx;
    struct weir_nvml_device *list;
    struct weir_gpu_device *devices;
    uint32_t n;
    uint32_t n_known = 0;
    int r = weir_nvml_list(gpus->nvml, arena, &list, &n, err);

    if (r < 0)
        return r;
    devices = weir_arena_new_n(arena, struct weir_gpu_device, n + 1u);
    if (devices == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the devices");
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].uuid[0] == '\0')
            continue; /* never answered since the driver came up: nothing to know it by */
        r = copy_device(gpus, &list[i], arena, &devices[n_known++], err);
        if (r < 0)
            return r;
    }
    *ret_devices = devices;
    *ret_n_devices = n_known;
    return 0;
}

static int find_in_fleet(const struct weir_gpus *gpus, struct weir_str uuid, uint32_t *ret_index,
                         struct weir_err *err)
{
    for (uint32_t i = 0; i < weir_sim_fleet_size(gpus->fleet); i++) {
        if (weir_str_eq_c(uuid, weir_sim_fleet_facts(gpus->fleet, i)->uuid)) {
            *ret_index = i;
            return 0;
        }
    }
    return weir_error(err, WEIR_E_NOT_FOUND, "there is no simulated GPU '%.*s'",
                      WEIR_STR_ARG(uuid));
}

static int gpus_occupy(void *ctx, struct weir_str uuid, uint32_t pid, int64_t bytes,
                       struct weir_err *err)
{
    struct weir_gpus *gpus = ctx;
    uint32_t index;
    int r = find_in_fleet(gpus, uuid, &index, err);

    return r < 0 ? r : weir_sim_fleet_set_process(gpus->fleet, index, pid, (uint64_t)bytes, err);
}

static int gpus_vacate(void *ctx, struct weir_str uuid, uint32_t pid, struct weir_err *err)
{
    struct weir_gpus *gpus = ctx;
    uint32_t index;
    int r = find_in_fleet(gpus, uuid, &index, err);

    return r < 0 ? r : weir_sim_fleet_remove_process(gpus->fleet, index, pid, err);
}

/* Jobs end while no weir runs: their processes in the fleet are taken off when it comes back. */
static void remove_dead(struct weir_sim_fleet *fleet)
{
    for (uint32_t i = 0; i < weir_sim_fleet_size(fleet); i++) {
        struct weir_sim_state state;

        weir_sim_fleet_read(fleet, i, &state);
        for (uint32_t p = 0; p < state.n_loads; p++)
            if (kill((pid_t)state.loads[p].pid, 0) < 0 && errno == ESRCH)
                weir_sim_fleet_remove_process(fleet, i, state.loads[p].pid, NULL);
    }
}

static int open_simulated(struct weir_gpus *gpus, const char *data_dir, struct weir_str spec,
                          struct weir_err *err)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    const char *path = weir_arena_printf(&arena, "%s/" WEIR_SIM_LIBRARY_PATH, data_dir);
    int r = weir_sim_install(data_dir, spec, 1, &gpus->fleet, err);

    if (r == 0 && path == NULL)
        r = weir_error(err, WEIR_E_NO_MEMORY, "no memory to load the simulated driver");
    if (r == 0) {
        remove_dead(gpus->fleet);
        r = weir_nvml_open(path, &gpus->nvml, err);
    }
    weir_arena_finish(&arena);
    snprintf(gpus->description, sizeof(gpus->description), "simulated %.*s", WEIR_STR_ARG(spec));
    return r;
}

static int open_any(struct weir_gpus *gpus, const char *data_dir, struct weir_str simulate,
                    struct weir_err *err)
{
    bool is_auto = weir_str_eq_c(simulate, "auto");
    int r;

    if (simulate.len > 0 && !is_auto)
        return open_simulated(gpus, data_dir, simulate, err);
    r = weir_nvml_open(NULL, &gpus->nvml, err);
    if (r == 0) {
        snprintf(gpus->description, sizeof(gpus->description), "driver %s",
                 weir_nvml_driver_version(gpus->nvml));
        return 0;
    }
    if (is_auto)
        return open_simulated(gpus, data_dir, WEIR_STR(AUTO_SPEC), err);
    return weir_error_hint(err, "without a GPU: weir up --simulate " AUTO_SPEC);
}

int weir_gpus_open(const char *data_dir, struct weir_str simulate, struct weir_gpus **ret_gpus,
                   struct weir_gpu_port *ret_port, struct weir_err *err)
{
    struct weir_gpus *gpus = weir_mem_alloc_array(1, sizeof(*gpus));
    int r;

    if (gpus == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the GPUs");
    r = open_any(gpus, data_dir, simulate, err);
    if (r < 0) {
        weir_gpus_close(gpus);
        return r;
    }
    *ret_port = (struct weir_gpu_port){
        .ctx = gpus,
        .list = gpus_list,
        .occupy = gpus->fleet != NULL ? gpus_occupy : NULL,
        .vacate = gpus->fleet != NULL ? gpus_vacate : NULL,
    };
    *ret_gpus = gpus;
    return 0;
}

struct weir_gpus *weir_gpus_close(struct weir_gpus *gpus)
{
    if (gpus == NULL)
        return NULL;
    weir_nvml_close(gpus->nvml);
    weir_sim_fleet_close(gpus->fleet);
    return weir_mem_free(gpus);
}

bool weir_gpus_are_simulated(const struct weir_gpus *gpus)
{
    return gpus->fleet != NULL;
}

const char *weir_gpus_describe(const struct weir_gpus *gpus)
{
    return gpus->description;
}

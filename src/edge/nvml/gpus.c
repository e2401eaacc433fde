#include "edge/nvml/gpus.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/nvml/prober.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"
#include "edge/nvml/sim_kmsg.h"
#include "edge/nvml/sim_mig.h"
#include "edge/nvml/sim_orders.h"
#include "model/gpu_catalogue.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define AUTO_SPEC "8xH100"

struct weir_gpus {
    struct weir_prober *prober;
    struct weir_sim_fleet *fleet; /* NULL: a real driver */
    struct weir_sim_schedule schedule;
    struct weir_arena schedule_arena;
    char description[256];
};

/* ---- what the driver shows ---- */

static int keep(const char *text, struct weir_arena *arena, struct weir_str *ret)
{
    char *copy = weir_arena_strndup(arena, text, strlen(text));

    *ret = copy != NULL ? weir_str(copy) : WEIR_STR("");
    return copy != NULL ? 0 : WEIR_E_NO_MEMORY;
}

/* Which GPU does not say what it is, the file of the fleet knows. */
static int name_device(const struct weir_gpus *gpus, struct weir_arena *arena,
                       struct weir_gpu_device *device, struct weir_err *err)
{
    const struct weir_sim_facts *facts = weir_sim_fleet_facts(gpus->fleet, device->index);
    const struct weir_gpu_model *model = weir_gpu_catalogue_find(weir_str(facts->name));
    char pci[16];

    snprintf(pci, sizeof(pci), "%04x:%02x:00.0", facts->pci_domain & 0xffffu,
             facts->pci_bus & 0xffu);
    if (keep(facts->uuid, arena, &device->uuid) < 0 ||
        keep(facts->name, arena, &device->name) < 0 ||
        keep(model != NULL ? model->id : facts->name, arena, &device->class) < 0 ||
        keep(facts->node, arena, &device->node) < 0 || keep(pci, arena, &device->pci) < 0 ||
        keep(facts->serial, arena, &device->serial) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a GPU");
    device->is_remembered = true;
    device->valid = WEIR_GPU_HAS_MEMORY | WEIR_GPU_HAS_MEMORY_RESERVED | WEIR_GPU_HAS_PCI |
                    WEIR_GPU_HAS_COMPUTE_CAPABILITY | WEIR_GPU_HAS_COMPUTE_MODE;
    device->memory_total_bytes = (int64_t)facts->memory_total_bytes;
    device->memory_reserved_bytes = (int64_t)facts->memory_reserved_bytes;
    device->pci_id = facts->pci_device_id << 16 | facts->pci_device_id >> 16;
    device->compute_major = facts->cc_major;
    device->compute_minor = facts->cc_minor;
    return 0;
}

/* Of one that told its name and not what it is, as of one that did not. */
static bool is_unnamed(const struct weir_gpu_device *device)
{
    return device->uuid.len == 0 ||
           (device->state != WEIR_GPU_READY && device->memory_total_bytes == 0);
}

static int gpus_list(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                     uint32_t *ret_n_devices, struct weir_err *err)
{
    const struct weir_gpus *gpus = ctx;
    struct weir_gpu_device *devices;
    uint32_t n;
    int r = weir_prober_list(gpus->prober, arena, &devices, &n, err);

    for (uint32_t i = 0; r == 0 && gpus->fleet != NULL && i < n; i++)
        if (is_unnamed(&devices[i]) && devices[i].index < weir_sim_fleet_size(gpus->fleet))
            r = name_device(gpus, arena, &devices[i], err);
    if (r < 0)
        return r;
    *ret_devices = devices;
    *ret_n_devices = n;
    return 0;
}

static bool gpus_collect(void *ctx, const struct weir_gpu_sink *sink)
{
    struct weir_gpus *gpus = ctx;

    return weir_prober_collect(gpus->prober, sink);
}

static int gpus_mig(void *ctx, const struct weir_gpu_mig_request *request, uint64_t *ret_ticket,
                    struct weir_err *err)
{
    struct weir_gpus *gpus = ctx;

    return weir_prober_mig(gpus->prober, request, ret_ticket, err);
}

/* Where in the fleet: a GPU, or an instance of one. */
struct place {
    uint32_t index;
    uint32_t gpu_instance; /* WEIR_NVML_NO_INSTANCE: the whole GPU, here and below */
    uint32_t compute_instance;
};

static bool find_instance(const struct weir_gpus *gpus, struct weir_str uuid, uint32_t index,
                          struct place *ret_place)
{
    const struct weir_sim_facts *facts = weir_sim_fleet_facts(gpus->fleet, index);
    struct weir_sim_mig mig;

    weir_sim_fleet_read_mig(gpus->fleet, index, &mig);
    for (uint32_t gi = 0; gi < WEIR_SIM_GPU_INSTANCES_MAX; gi++) {
        for (uint32_t ci = 0; mig.gpu[gi].is_there && ci < WEIR_SIM_COMPUTE_INSTANCES_MAX; ci++) {
            char name[WEIR_SIM_MIG_UUID_BYTES];

            if (mig.gpu[gi].compute[ci].slices == 0)
                continue;
            weir_sim_mig_uuid(facts, &mig, gi, ci, name);
            if (!weir_str_eq_c(uuid, name))
                continue;
            *ret_place = (struct place){index, gi, ci};
            return true;
        }
    }
    return false;
}

static int find_in_fleet(const struct weir_gpus *gpus, struct weir_str uuid,
                         struct place *ret_place, struct weir_err *err)
{
    bool is_instance = weir_str_starts_with(uuid, WEIR_STR("MIG-"));

    for (uint32_t i = 0; i < weir_sim_fleet_size(gpus->fleet); i++) {
        if (weir_str_eq_c(uuid, weir_sim_fleet_facts(gpus->fleet, i)->uuid)) {
            *ret_place = (struct place){i, WEIR_NVML_NO_INSTANCE, WEIR_NVML_NO_INSTANCE};
            return 0;
        }
        if (is_instance && find_instance(gpus, uuid, i, ret_place))
            return 0;
    }
    return weir_error(err, WEIR_E_NOT_FOUND, "there is no simulated GPU '%.*s'",
                      WEIR_STR_ARG(uuid));
}

/* A name that this version does not know was accepted by another one. */
static uint32_t profile_of(const struct weir_gpu_occupant *occupant)
{
    uint32_t profile;

    if (weir_sim_profile_from_name(occupant->profile.ptr, occupant->profile.len, &profile))
        return profile;
    return weir_sim_profile_of_class((enum weir_class)occupant->class);
}

/* One that is there already keeps its begin, which may be in a past that was made up for it. */
static int64_t begin_of(const struct weir_sim_fleet *fleet, uint32_t index,
                        const struct weir_gpu_occupant *occupant)
{
    int64_t now_ms = weir_clock_mono_ms();
    /* An instant of another boot may lie ahead. */
    int64_t began_ms =
        occupant->began_ms > 0 && occupant->began_ms < now_ms ? occupant->began_ms : now_ms;
    struct weir_sim_state state;

    weir_sim_fleet_read(fleet, index, &state);
    for (uint32_t i = 0; i < state.n_loads; i++)
        if (state.loads[i].pid == occupant->pid && state.loads[i].seed == occupant->seed)
            return state.loads[i].begin_ms;
    if (state.n_loads == 0 && state.base.at_ms <= began_ms - occupant->past_ms)
        return began_ms - occupant->past_ms;
    return began_ms;
}

static bool gpus_has(void *ctx, struct weir_str uuid)
{
    const struct weir_gpus *gpus = ctx;

    for (uint32_t i = 0; i < weir_sim_fleet_size(gpus->fleet); i++)
        if (weir_str_eq_c(uuid, weir_sim_fleet_facts(gpus->fleet, i)->uuid))
            return true;
    return false;
}

static int gpus_occupy(void *ctx, struct weir_str uuid, const struct weir_gpu_occupant *occupant,
                       struct weir_err *err)
{
    struct weir_gpus *gpus = ctx;
    struct weir_sim_load load = {
        .pid = occupant->pid,
        .kind = WEIR_SIM_COMPUTE,
        .profile = (uint16_t)profile_of(occupant),
        .seed = occupant->seed,
    };
    struct place at;
    int r = find_in_fleet(gpus, uuid, &at, err);

    if (r < 0)
        return r;
    load.gpu_instance = at.gpu_instance;
    load.compute_instance = at.compute_instance;
    load.begin_ms = begin_of(gpus->fleet, at.index, occupant);
    load.memory_bytes =
        weir_sim_fleet_memory_for(gpus->fleet, at.index, &load, (uint64_t)occupant->memory_bytes);
    return weir_sim_fleet_set_load(gpus->fleet, at.index, &load, load.begin_ms, err);
}

static int gpus_vacate(void *ctx, struct weir_str uuid, uint32_t pid, struct weir_err *err)
{
    struct weir_gpus *gpus = ctx;
    struct place at;
    int r = find_in_fleet(gpus, uuid, &at, err);

    return r < 0 ? r : weir_sim_fleet_remove_process(gpus->fleet, at.index, pid, err);
}

/* The orders of a text, if the fleet can carry out all of them. */
static int read_faults(const struct weir_gpus *gpus, struct weir_str text, struct weir_arena *arena,
                       struct weir_sim_order **ret_orders, size_t *ret_n, struct weir_err *err)
{
    int r = weir_sim_orders_parse(text, arena, ret_orders, ret_n, err);

    for (size_t i = 0; r == 0 && i < *ret_n; i++)
        r = weir_sim_order_check(gpus->fleet, &(*ret_orders)[i], err);
    return r;
}

static int gpus_befall(void *ctx, struct weir_str faults, bool only_check, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpus *gpus = ctx;
    struct weir_sim_order *orders;
    size_t n;
    int r = read_faults(gpus, faults, &arena, &orders, &n, err);

    if (r == 0 && n == 0)
        return weir_error(err, WEIR_E_INVALID, "a fault expected, like 'gpu 3 xid 79'");
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (orders[i].after_ms == 0)
            continue;
        weir_error(err, WEIR_E_INVALID, "what is ordered befalls at once");
        weir_error_hint(err, "for later there is `weir up --simulate-faults FILE`");
        return weir_error_at(err, orders[i].line, 1);
    }
    /* All that can be wrong with one is found before the first of them befalls. */
    if (r == 0)
        r = weir_sim_kmsg_reserve(gpus->fleet, n * weir_sim_fleet_size(gpus->fleet), err);
    for (size_t i = 0; r == 0 && !only_check && i < n; i++)
        r = weir_sim_order_carry_out(gpus->fleet, &orders[i], weir_clock_mono_ms(), err);
    return r;
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
                          bool may_be_away, struct weir_err *err)
{
    struct weir_prober_options options = weir_prober_defaults();
    struct weir_arena arena = WEIR_ARENA_INIT;
    const char *path = weir_arena_printf(&arena, "%s/" WEIR_SIM_LIBRARY_PATH, data_dir);
    int r = weir_sim_install(data_dir, spec, 1, &gpus->fleet, err);

    if (r == 0 && path == NULL)
        r = weir_error(err, WEIR_E_NO_MEMORY, "no memory to load the simulated driver");
    if (r == 0) {
        remove_dead(gpus->fleet);
        options.may_be_away = may_be_away;
        r = weir_prober_open(path, &options, &gpus->prober, err);
    }
    weir_arena_finish(&arena);
    snprintf(gpus->description, sizeof(gpus->description), "simulated %.*s", WEIR_STR_ARG(spec));
    return r;
}

static int open_real(struct weir_gpus *gpus, bool may_be_away, struct weir_err *err)
{
    struct weir_prober_options options = weir_prober_defaults();
    const char *version;
    int r;

    options.may_be_away = may_be_away;
    r = weir_prober_open(NULL, &options, &gpus->prober, err);
    if (r < 0)
        return r;
    version = weir_prober_driver_version(gpus->prober);
    snprintf(gpus->description, sizeof(gpus->description),
             version[0] != '\0' ? "driver %s" : "a driver that is not there yet", version);
    return 0;
}

static int open_any(struct weir_gpus *gpus, const char *data_dir, struct weir_str simulate,
                    enum weir_gpus_known known, struct weir_err *err)
{
    bool is_auto = weir_str_eq_c(simulate, "auto");
    bool is_simulated = known == WEIR_GPUS_KNOWN_SIMULATED;
    int r;

    if (simulate.len > 0 && !is_auto)
        return open_simulated(gpus, data_dir, simulate, is_simulated, err);
    if (is_auto && is_simulated)
        return open_simulated(gpus, data_dir, WEIR_STR(AUTO_SPEC), true, err);
    r = open_real(gpus, known == WEIR_GPUS_KNOWN_REAL, err);
    if (r == 0)
        return 0;
    if (is_auto)
        return open_simulated(gpus, data_dir, WEIR_STR(AUTO_SPEC), false, err);
    return weir_error_hint(err, "without a GPU: weir up --simulate " AUTO_SPEC);
}

int weir_gpus_open(const char *data_dir, struct weir_str simulate, enum weir_gpus_known known,
                   struct weir_gpus **ret_gpus, struct weir_gpu_port *ret_port,
                   struct weir_err *err)
{
    struct weir_gpus *gpus = weir_mem_alloc_array(1, sizeof(*gpus));
    int r;

    if (gpus == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the GPUs");
    gpus->schedule_arena = (struct weir_arena)WEIR_ARENA_INIT;
    r = open_any(gpus, data_dir, simulate, known, err);
    if (r < 0) {
        weir_gpus_close(gpus);
        return r;
    }
    *ret_port = (struct weir_gpu_port){
        .ctx = gpus,
        .list = gpus_list,
        .collect = gpus_collect,
        .notice_fd = weir_prober_fd(gpus->prober),
        .mig = gpus_mig,
        .occupy = gpus->fleet != NULL ? gpus_occupy : NULL,
        .vacate = gpus->fleet != NULL ? gpus_vacate : NULL,
        .has = gpus->fleet != NULL ? gpus_has : NULL,
        .befall = gpus->fleet != NULL ? gpus_befall : NULL,
    };
    *ret_gpus = gpus;
    return 0;
}

struct weir_gpus *weir_gpus_close(struct weir_gpus *gpus)
{
    if (gpus == NULL)
        return NULL;
    weir_prober_close(gpus->prober);
    weir_sim_fleet_close(gpus->fleet);
    weir_arena_finish(&gpus->schedule_arena);
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

int weir_gpus_plan_faults(struct weir_gpus *gpus, struct weir_str text, struct weir_err *err)
{
    struct weir_sim_order *orders;
    const char *copy;
    size_t n;
    int r;

    if (gpus->fleet == NULL)
        return weir_error(err, WEIR_E_UNSUPPORTED, "these GPUs are not simulated");
    copy = weir_str_dup(text, &gpus->schedule_arena);
    if (copy == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the faults");
    r = read_faults(gpus, weir_str_n(copy, text.len), &gpus->schedule_arena, &orders, &n, err);
    if (r == 0)
        gpus->schedule = (struct weir_sim_schedule){.orders = orders, .n = n};
    return r;
}

void weir_gpus_begin_faults(struct weir_gpus *gpus, int64_t begin_ms)
{
    gpus->schedule.begin_ms = begin_ms;
}

int64_t weir_gpus_run_faults(struct weir_gpus *gpus, int64_t now_ms, weir_gpus_tell_fn tell,
                             void *arg)
{
    return weir_sim_schedule_run(&gpus->schedule, gpus->fleet, now_ms, tell, arg);
}

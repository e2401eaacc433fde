#include "edge/nvml/sim_fleet_impl.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "edge/nvml/sim_mig.h"

#include <inttypes.h>

#define PAGE_BYTES (UINT64_C(2) << 20) /* what a driver gives out at once */

/* What the load may hold at most, and what it can use of the GPU. */
static int check_place(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                       const struct weir_sim_load *load, uint64_t *ret_room, uint32_t *ret_milli,
                       struct weir_err *err)
{
    uint32_t gi = load->gpu_instance;
    uint32_t ci = load->compute_instance;

    if (gi == WEIR_NVML_NO_INSTANCE) {
        if (mig->is_enabled)
            return weir_error(err, WEIR_E_INVALID,
                              "process %" PRIu32
                              " on '%s', which is in MIG mode, is in no instance",
                              load->pid, facts->uuid);
        *ret_room = facts->memory_total_bytes - facts->memory_reserved_bytes;
        *ret_milli = 1000;
        return 0;
    }
    if (gi >= WEIR_SIM_GPU_INSTANCES_MAX || ci >= WEIR_SIM_COMPUTE_INSTANCES_MAX ||
        !mig->gpu[gi].is_there || mig->gpu[gi].compute[ci].slices == 0)
        return weir_error(err, WEIR_E_INVALID,
                          "'%s' has no GPU instance %" PRIu32 " with a compute instance %" PRIu32,
                          facts->uuid, gi, ci);
    *ret_room = facts->mig_profiles[mig->gpu[gi].profile].memory_mib << 20;
    *ret_milli = weir_sim_mig_share_milli(facts, mig, gi, ci);
    return 0;
}

/* Load i and all before it, against the room of the place where it is. */
static int check_memory(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                        uint32_t i, uint64_t room, struct weir_err *err)
{
    uint64_t left = room;

    for (uint32_t j = 0; j <= i; j++) {
        const struct weir_sim_load *load = &state->loads[j];

        if (load->gpu_instance != state->loads[i].gpu_instance)
            continue;
        if (load->memory_bytes > left)
            return weir_error(err, WEIR_E_TOO_LARGE,
                              "the processes on '%s' hold more than its %" PRIu64 " bytes",
                              facts->uuid, room);
        left -= load->memory_bytes;
    }
    return 0;
}

static int check_loads(const struct weir_sim_facts *facts, const struct weir_sim_mig *mig,
                       struct weir_sim_state *state, struct weir_err *err)
{
    if (state->n_loads > WEIR_SIM_PROCESSES_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "more than %d processes on '%s'",
                          WEIR_SIM_PROCESSES_MAX, facts->uuid);
    for (uint32_t i = 0; i < state->n_loads; i++) {
        struct weir_sim_load *load = &state->loads[i];
        uint64_t room = 0;
        int rc;

        if (load->pid == 0)
            return weir_error(err, WEIR_E_INVALID, "a process without a pid on '%s'", facts->uuid);
        if (load->profile >= WEIR_SIM_PROFILE_MAX || load->kind > WEIR_SIM_MPS)
            return weir_error(err, WEIR_E_INVALID, "process %" PRIu32 " of an unknown kind on '%s'",
                              load->pid, facts->uuid);
        for (uint32_t j = 0; j < i; j++)
            if (state->loads[j].pid == load->pid)
                return weir_error(err, WEIR_E_INVALID, "process %" PRIu32 " twice on '%s'",
                                  load->pid, facts->uuid);
        rc = check_place(facts, mig, load, &room, &load->share_milli, err);
        if (rc == 0)
            rc = check_memory(facts, state, i, room, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int weir_sim_fleet_write(struct weir_sim_fleet *fleet, uint32_t index,
                         const struct weir_sim_state *state, struct weir_err *err)
{
    struct weir_sim_state checked = *state;
    struct weir_sim_mig mig;
    int rc;

    weir_sim_fleet_read_mig(fleet, index, &mig);
    rc = check_loads(weir_sim_fleet_facts(fleet, index), &mig, &checked, err);
    if (rc == 0)
        weir_sim_fleet_publish(fleet, index, &checked);
    return rc;
}

static uint32_t find_load(const struct weir_sim_state *state, uint32_t pid)
{
    uint32_t i = 0;

    while (i < state->n_loads && state->loads[i].pid != pid)
        i++;
    return i;
}

uint32_t weir_sim_profile_of_class(enum weir_class class)
{
    switch (class) {
    case WEIR_CLASS_BATCH:
        return WEIR_SIM_PROFILE_SAW_TOOTH;
    case WEIR_CLASS_SERVICE:
        return WEIR_SIM_PROFILE_BURSTY;
    case WEIR_CLASS_DEV:
        return WEIR_SIM_PROFILE_INTERACTIVE;
    case WEIR_CLASS_TRAINING:
    case WEIR_CLASS_MAX:
        break;
    }
    return WEIR_SIM_PROFILE_STEADY;
}

/* In percent of the GPU's memory. */
static const unsigned usual_memory[WEIR_SIM_PROFILE_MAX] = {
    [WEIR_SIM_PROFILE_HELD] = 40,        [WEIR_SIM_PROFILE_STEADY] = 80,
    [WEIR_SIM_PROFILE_SAW_TOOTH] = 55,   [WEIR_SIM_PROFILE_IDLE] = 35,
    [WEIR_SIM_PROFILE_STARVED] = 45,     [WEIR_SIM_PROFILE_BURSTY] = 65,
    [WEIR_SIM_PROFILE_INTERACTIVE] = 20,
};

static uint64_t usual_bytes(const struct weir_sim_load *load, uint64_t room)
{
    struct weir_rng rng;
    double percent = load->profile < WEIR_SIM_PROFILE_MAX ? usual_memory[load->profile] : 0;

    weir_rng_init(&rng, load->seed);
    return (uint64_t)((double)room * percent / 100 * (0.9 + 0.2 * weir_rng_unit(&rng)));
}

/* The memory of the GPU, or of the instance that it is in. */
static uint64_t room_of(const struct weir_sim_fleet *fleet, uint32_t index,
                        const struct weir_sim_load *load)
{
    const struct weir_sim_facts *facts = weir_sim_fleet_facts(fleet, index);
    struct weir_sim_mig mig;

    if (load->gpu_instance >= WEIR_SIM_GPU_INSTANCES_MAX)
        return facts->memory_total_bytes - facts->memory_reserved_bytes;
    weir_sim_fleet_read_mig(fleet, index, &mig);
    return facts->mig_profiles[mig.gpu[load->gpu_instance].profile].memory_mib << 20;
}

uint64_t weir_sim_fleet_memory_for(const struct weir_sim_fleet *fleet, uint32_t index,
                                   const struct weir_sim_load *load, uint64_t asked_bytes)
{
    uint64_t room = room_of(fleet, index, load);
    uint64_t bytes = asked_bytes > 0 ? asked_bytes : usual_bytes(load, room) & ~(PAGE_BYTES - 1);
    struct weir_sim_state state;

    weir_sim_fleet_read(fleet, index, &state);
    for (uint32_t i = 0; i < state.n_loads; i++) {
        uint64_t held = state.loads[i].memory_bytes;

        if (state.loads[i].pid != load->pid && state.loads[i].gpu_instance == load->gpu_instance)
            room -= held < room ? held : room;
    }
    return bytes < room ? bytes : room;
}

int weir_sim_fleet_set_load(struct weir_sim_fleet *fleet, uint32_t index,
                            const struct weir_sim_load *load, int64_t at_ms, struct weir_err *err)
{
    struct weir_sim_state state;
    int64_t begin_ms = load->begin_ms;
    uint32_t i;

    weir_sim_fleet_read_at(fleet, index, at_ms, &state);
    i = find_load(&state, load->pid);
    if (i == WEIR_SIM_PROCESSES_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "more than %d processes on '%s'",
                          WEIR_SIM_PROCESSES_MAX, weir_sim_fleet_facts(fleet, index)->uuid);
    if (begin_ms == 0)
        begin_ms = i < state.n_loads ? state.loads[i].begin_ms : at_ms;
    if (i == state.n_loads)
        state.n_loads++;
    state.loads[i] = *load;
    state.loads[i].begin_ms = begin_ms;
    return weir_sim_fleet_write(fleet, index, &state, err);
}

int weir_sim_fleet_remove_load(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                               int64_t at_ms, struct weir_err *err)
{
    struct weir_sim_state state;
    uint32_t i;

    weir_sim_fleet_read_at(fleet, index, at_ms, &state);
    i = find_load(&state, pid);
    if (i == state.n_loads)
        return weir_error(err, WEIR_E_NOT_FOUND, "no process %" PRIu32 " on '%s'", pid,
                          weir_sim_fleet_facts(fleet, index)->uuid);
    state.n_loads--;
    memmove(&state.loads[i], &state.loads[i + 1], (state.n_loads - i) * sizeof(state.loads[0]));
    weir_sim_fleet_publish(fleet, index, &state);
    return 0;
}

int weir_sim_fleet_remove_process(struct weir_sim_fleet *fleet, uint32_t index, uint32_t pid,
                                  struct weir_err *err)
{
    return weir_sim_fleet_remove_load(fleet, index, pid, weir_clock_mono_ms(), err);
}

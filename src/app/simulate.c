/* A simulated driver is told which processes use its devices, and what they are, as a real one
 * would know by itself. */
#include "app/server.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/tree.h"
#include "fmt/json.h"

/* The demo's jobs have just begun, and should not look like it. */
#define DEMO_PAST_MS ((int64_t)6 * 3600 * 1000)

struct reading {
    struct weir_arena *arena;
    struct weir_gpu_occupant *occupant;
    struct weir_err *err;
};

static int read_workload(void *arg, const struct weir_workload_record *record)
{
    struct reading *reading = arg;
    const struct weir_tree *profile;
    struct weir_tree *spec;
    const char *text;
    int r = weir_json_read(record->spec, NULL, reading->arena, &spec, reading->err);

    if (r < 0)
        return r;
    if (record->is_demo)
        reading->occupant->past_ms = DEMO_PAST_MS;
    profile = weir_tree_get(spec, "simProfile");
    if (profile == NULL)
        return 0;
    text = weir_str_dup(profile->text, reading->arena);
    if (text == NULL)
        return weir_error(reading->err, WEIR_E_NO_MEMORY, "no memory for a profile");
    reading->occupant->profile = weir_str_n(text, profile->text.len);
    return 0;
}

/* What was asked for is in the store only: no decision depends on it. */
static int look_up(struct weir_server *server, uint64_t number, struct weir_arena *arena,
                   struct weir_gpu_occupant *occupant, struct weir_err *err)
{
    struct reading reading = {arena, occupant, err};
    int r = server->store.get_workload(server->store.ctx, number, read_workload, &reading, err);

    if (r == WEIR_E_NO_MEMORY)
        return r;
    if (r < 0)
        weir_log_warn("gpu.occupy", "workload %llu does as its class does: %s",
                      (unsigned long long)number, err->text);
    return 0;
}

/* The same for each run of a member, and another for each of its devices. */
static uint64_t seed_of(uint64_t number, uint32_t member, uint32_t place)
{
    return weir_hash_mix64(number ^ weir_hash_mix64((uint64_t)member << 32 | place));
}

static void say_cannot(struct weir_server *server, int result, const struct weir_err *why)
{
    if (result == WEIR_E_NOT_FOUND && !server->said_other_fleet) {
        server->said_other_fleet = true;
        weir_log_warn("gpu.occupy",
                      "jobs run on GPUs that are not among those simulated now (%s): they go "
                      "on; start weir with the --simulate it had, or with another --data",
                      why->text);
    } else if (result != WEIR_E_NOT_FOUND) {
        weir_log_warn("gpu.occupy", "%s", why->text);
    }
}

int weir_server_occupy(struct weir_server *server, uint32_t task,
                       struct weir_server_attempt *attempt, uint32_t pid, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_world *world = weir_edit_view(server->edit);
    const struct weir_task *row = weir_world_task(world, task);
    const struct weir_workload *w = weir_world_workload(world, row->workload);
    const struct weir_role *role = weir_world_role(world, row->role);
    int64_t asked_bytes = weir_world_shape(world, role->shape)->device_memory_bytes;
    struct weir_gpu_occupant occupant = {.pid = pid,
                                         .class = w->class,
                                         .began_ms = row->started_mono_ms};
    uint32_t place = 0;
    int r;

    if (server->gpu.occupy == NULL || attempt->is_occupying || row->first_hold == WEIR_NONE)
        return 0;
    r = look_up(server, w->number, &arena, &occupant, err);
    if (r < 0)
        return r;
    attempt->is_occupying = 1;
    for (uint32_t h = row->first_hold; h != WEIR_NONE; place++) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        const struct weir_device *device = weir_world_device(world, hold->device);
        struct weir_err why = WEIR_ERR_INIT;

        h = hold->next_of_task;
        if (device->kind == WEIR_DEVICE_MIG && place > 0)
            continue; /* CUDA shows a process its first instance only */
        occupant.seed = seed_of(w->number, row->member, place);
        occupant.memory_bytes = hold->memory_bytes > 0 ? hold->memory_bytes : asked_bytes;
        r = server->gpu.occupy(server->gpu.ctx, weir_world_string(world, device->uuid), &occupant,
                               &why);
        if (r < 0)
            say_cannot(server, r, &why);
    }
    return 0;
}

void weir_server_vacate(struct weir_server *server, uint32_t task, uint32_t pid)
{
    const struct weir_world *world = weir_edit_view(server->edit);

    if (server->gpu.vacate == NULL || pid == 0)
        return;
    for (uint32_t h = weir_world_task(world, task)->first_hold; h != WEIR_NONE;) {
        const struct weir_hold *hold = weir_world_hold(world, h);
        const struct weir_device *device = weir_world_device(world, hold->device);
        struct weir_err err = WEIR_ERR_INIT;
        int r =
            server->gpu.vacate(server->gpu.ctx, weir_world_string(world, device->uuid), pid, &err);

        if (r < 0 && r != WEIR_E_NOT_FOUND) /* it may have ended before it was seen */
            weir_log_warn("gpu.vacate", "%s", err.text);
        h = hold->next_of_task;
    }
}

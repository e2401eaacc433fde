/* What uses the GPUs: the processes of every sample, whose they are, and what they have of the
 * memory. What follows from it is decided elsewhere.
 *
 * Foreign is a process that has no business on a device: that weir did not start, or that is of a
 * job that holds other GPUs. Nobody is called that for a moment: not before its second sample,
 * and not while somebody who holds the device begins or ends. Only what is on a device when it is
 * first looked at counts at once, or a server that comes back would give out what others use. */
#include "app/known.h"
#include "app/selftest.h"
#include "app/server.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"

enum { ALIEN_SAMPLES = 2 };

/* Memory of foreign processes counts in steps: what comes and goes by less makes no new world. */
#define FOREIGN_STEP_BYTES (64 * WEIR_MIB)

/* One device with a sample that was not looked at yet: a GPU, or an instance of it. */
struct seen {
    const struct weir_gpu_sample *sample;
    uint32_t device;
    size_t first;         /* the processes of the sample, in what all have together */
    int32_t gpu_instance; /* of which those count; WEIR_GPU_NO_INSTANCE: of the GPU itself */
};

struct look {
    struct weir_server *server;
    struct seen *seen;
    size_t n_seen;
    const struct weir_gpu_sample **samples; /* each once */
    size_t n_samples;
    uint32_t *pids;
    struct weir_cluster_owner *owners;
    size_t n_pids;
};

struct weir_server_gpu *weir_server_gpu_of(struct weir_server *server, uint32_t device)
{
    static const struct weir_server_gpu none;

    while (server->gpus.n <= device)
        if (weir_vec_push(&server->gpus, none) < 0)
            return NULL;
    return &server->gpus.items[device];
}

void weir_server_forget_gpus(struct weir_server *server)
{
    weir_vec_foreach (gpu, &server->gpus)
        weir_vec_finish(&gpu->processes);
    weir_vec_finish(&server->gpus);
}

void weir_server_forget_gpu(struct weir_server *server, uint32_t device)
{
    if (device >= server->gpus.n)
        return;
    weir_vec_finish(&server->gpus.items[device].processes);
    server->gpus.items[device] = (struct weir_server_gpu){.read_ms = 0};
}

uint32_t weir_server_task_of(const struct weir_server *server, uint64_t serial)
{
    uint64_t task;

    return serial != 0 && weir_map_get(&server->by_serial, weir_server_serial_key(&serial), &task)
               ? (uint32_t)task
               : WEIR_NONE;
}

void weir_server_put_use(const struct weir_world *world, uint32_t task, int64_t used_bytes,
                         struct weir_buf *out)
{
    int64_t budget = 0;

    for (uint32_t at = weir_world_task(world, task)->first_hold; at != WEIR_NONE;
         at = weir_world_hold(world, at)->next_of_task)
        budget += weir_world_hold(world, at)->memory_bytes;
    weir_units_format_bytes(used_bytes, out);
    weir_buf_puts(out, " of ");
    weir_units_format_bytes(budget, out);
}

/* ---- one device ---- */

/* What the task's processes have of the device; of some of them it may not be known. */
static int64_t use_of_task(const struct weir_server *server, const struct weir_server_gpu *gpu,
                           uint32_t task)
{
    int64_t sum = 0;

    for (size_t i = 0; i < gpu->processes.n; i++) {
        const struct weir_server_process *process = &gpu->processes.items[i];

        if (process->used_bytes > 0 && weir_server_task_of(server, process->serial) == task)
            sum += process->used_bytes;
    }
    return sum;
}

static int measure_holds(struct weir_server *server, const struct weir_server_gpu *gpu,
                         uint32_t device, struct weir_err *err)
{
    const struct weir_world *state = weir_edit_view(server->edit);
    uint32_t next;

    for (uint32_t at = weir_world_device(state, device)->first_hold; at != WEIR_NONE; at = next) {
        const struct weir_hold *hold = weir_world_hold(state, at);
        int r;

        next = hold->next_of_device;
        if (hold->memory_bytes == 0)
            continue;
        r = weir_edit_hold_use(server->edit, at, use_of_task(server, gpu, hold->task));
        if (r < 0)
            return weir_error(err, r, "no memory for what a job uses of a GPU");
        server->dirty |= r == 1;
    }
    return 0;
}

/* A process stands there once for each part of the device that it uses. There is room for it. */
static void add_process(struct processes *to, const struct weir_gpu_process *process,
                        const struct weir_cluster_owner *owner)
{
    bool has_memory = (process->valid & WEIR_GPU_PROCESS_HAS_MEMORY) != 0;
    struct weir_server_process *last = to->n > 0 ? weir_vec_last(to) : NULL;
    struct weir_server_process one = {.pid = process->pid,
                                      .uid = owner->uid,
                                      .serial = owner->serial,
                                      .used_bytes = has_memory ? process->used_bytes : -1,
                                      .only_draws = process->kinds == WEIR_GPU_PROCESS_GRAPHICS};

    if (owner->is_gone)
        return;
    if (last == NULL || last->pid != process->pid) {
        to->items[to->n++] = one;
        return;
    }
    last->only_draws = last->only_draws && one.only_draws;
    if (last->used_bytes < 0 || !has_memory)
        last->used_bytes = -1;
    else
        last->used_bytes += process->used_bytes;
}

static int list_processes(const struct look *look, const struct seen *seen,
                          struct processes *ret_processes)
{
    uint32_t n = seen->sample->n_processes;
    struct processes all = {.cap = n};

    if (n > 0) {
        all.items = weir_mem_alloc_array(n, sizeof(all.items[0]));
        if (all.items == NULL)
            return WEIR_E_NO_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++)
        if (seen->sample->processes[i].gpu_instance == seen->gpu_instance)
            add_process(&all, &seen->sample->processes[i], &look->owners[seen->first + i]);
    *ret_processes = all;
    return 0;
}

/* ---- who has no business there ---- */

/* Or an instance of it: in which one a process is, a driver may keep to itself. */
static bool holds(const struct weir_world *state, uint32_t task, uint32_t device)
{
    uint32_t at = task != WEIR_NONE ? weir_world_task(state, task)->first_hold : WEIR_NONE;

    while (at != WEIR_NONE) {
        const struct weir_hold *hold = weir_world_hold(state, at);

        if (hold->device == device || weir_world_device(state, hold->device)->parent == device)
            return true;
        at = hold->next_of_task;
    }
    return false;
}

/* Somebody who holds it begins or ends: whose a process is may not be told just now. */
static bool is_unsettled(const struct weir_world *state, uint32_t device)
{
    const struct weir_hold *hold;

    for (uint32_t at = weir_world_device(state, device)->first_hold; at != WEIR_NONE;
         at = hold->next_of_device) {
        const struct weir_task *task;

        hold = weir_world_hold(state, at);
        task = weir_world_task(state, hold->task);
        if (task->state != WEIR_TASK_RUNNING || task->ended != WEIR_END_NOT)
            return true;
    }
    return false;
}

static const struct weir_server_process *find_process(const struct weir_server_gpu *gpu,
                                                      uint32_t pid)
{
    for (size_t i = 0; i < gpu->processes.n; i++)
        if (gpu->processes.items[i].pid == pid)
            return &gpu->processes.items[i];
    return NULL;
}

/* One of a daemon that weir began; those of others have no business there. */
static bool is_mps_server(const struct weir_server *server,
                          const struct weir_server_process *process)
{
    return server->mps.ctx != NULL && process->serial == 0 &&
           server->mps.owns(server->mps.ctx, process->pid);
}

/* Of an instance: whether the GPU is that it is a part of. */
static bool is_under_test(const struct weir_server *server, uint32_t device)
{
    const struct weir_world *state = weir_edit_view(server->edit);
    uint32_t parent = weir_world_device(state, device)->parent;
    uint32_t whole = parent != WEIR_NONE ? parent : device;

    return weir_selftest_runs_on(server,
                                 weir_world_string(state, weir_world_device(state, whole)->uuid));
}

static void tell_foreign(struct weir_server *server, struct weir_server_gpu *gpu,
                         const struct weir_server_gpu *before, uint32_t device)
{
    const struct weir_world *state = weir_edit_view(server->edit);
    bool is_first = before->read_ms == 0;
    bool waits = is_unsettled(state, device) || is_under_test(server, device);

    for (size_t i = 0; i < gpu->processes.n; i++) {
        struct weir_server_process *process = &gpu->processes.items[i];
        const struct weir_server_process *was = find_process(before, process->pid);

        if (holds(state, weir_server_task_of(server, process->serial), device) ||
            is_mps_server(server, process))
            continue;
        process->n_alien = was != NULL ? was->n_alien : 0;
        if (process->n_alien < ALIEN_SAMPLES && !waits)
            process->n_alien += is_first ? (uint32_t)ALIEN_SAMPLES : 1;
        process->is_foreign = process->n_alien >= ALIEN_SAMPLES;
    }
}

/* What is not to be had of the memory: all of it where it is not known how much they use. */
static int64_t foreign_bytes(const struct weir_server_gpu *gpu, int64_t memory_bytes)
{
    int64_t sum = 0;

    for (size_t i = 0; i < gpu->processes.n; i++) {
        const struct weir_server_process *process = &gpu->processes.items[i];

        if (!process->is_foreign)
            continue;
        if (process->used_bytes < 0 && !process->only_draws)
            return memory_bytes;
        sum += process->used_bytes > 0 ? process->used_bytes : 0;
    }
    sum = (sum + FOREIGN_STEP_BYTES - 1) / FOREIGN_STEP_BYTES * FOREIGN_STEP_BYTES;
    return sum < memory_bytes ? sum : memory_bytes;
}

static void log_foreign(const struct weir_world *state, const struct weir_device *row,
                        const struct weir_server_gpu *gpu)
{
    struct weir_str uuid = weir_world_string(state, row->uuid);
    size_t i = 0;

    while (i < gpu->processes.n && !gpu->processes.items[i].is_foreign)
        i++;
    if (row->n_foreign > 0)
        weir_log_info("gpu.foreign", "%.*s is used by %u processes that weir did not start, pid %u",
                      WEIR_STR_ARG(uuid), row->n_foreign, gpu->processes.items[i].pid);
    else
        weir_log_info("gpu.foreign", "%.*s is used by weir's jobs only", WEIR_STR_ARG(uuid));
}

static int set_foreign(struct weir_server *server, const struct weir_server_gpu *gpu,
                       uint32_t device, struct weir_err *err)
{
    const struct weir_world *state = weir_edit_view(server->edit);
    const struct weir_device *was = weir_world_device(state, device);
    int64_t bytes = foreign_bytes(gpu, was->memory_bytes);
    bool is_new;
    struct weir_device *row;
    uint32_t n = 0;

    for (size_t i = 0; i < gpu->processes.n; i++)
        n += gpu->processes.items[i].is_foreign && !gpu->processes.items[i].only_draws;
    if (n == was->n_foreign && bytes == was->memory_foreign_bytes)
        return 0;
    is_new = (n > 0) != (was->n_foreign > 0);
    row = weir_edit_device(server->edit, device);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what uses a GPU");
    row->n_foreign = n;
    row->memory_foreign_bytes = bytes;
    server->dirty = true;
    if (is_new)
        log_foreign(state, row, gpu);
    return 0;
}

static int take_sample(const struct look *look, const struct seen *seen, struct weir_err *err)
{
    struct weir_server_gpu *gpu = weir_server_gpu_of(look->server, seen->device);
    struct weir_server_gpu now = {.read_ms = seen->sample->read_ms};
    int r;

    if (gpu == NULL || list_processes(look, seen, &now.processes) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what uses a GPU");
    now.half_made_mono_ms = gpu->half_made_mono_ms;
    tell_foreign(look->server, &now, gpu, seen->device);
    weir_vec_finish(&gpu->processes);
    *gpu = now;
    r = set_foreign(look->server, gpu, seen->device, err);
    return r < 0 ? r : measure_holds(look->server, gpu, seen->device, err);
}

/* ---- all of them ---- */

static bool is_new_sample(const struct weir_server *server, uint32_t device,
                          const struct weir_gpu_sample *sample)
{
    return device != WEIR_NONE &&
           (device >= server->gpus.n || sample->read_ms > server->gpus.items[device].read_ms);
}

/* The rows of one GPU's instances: only those that were taken in. */
static void list_instances(struct look *look, const struct weir_gpu_device *gpu, size_t first)
{
    const struct weir_edit *edit = look->server->edit;

    for (uint32_t i = 0; i < gpu->n_instances; i++) {
        const struct weir_gpu_instance *instance = &gpu->instances[i];
        struct weir_key key;
        uint32_t device;

        if (instance->n_compute != 1)
            continue;
        key = weir_key_of_device(instance->compute[0].uuid);
        device = weir_edit_find(edit, WEIR_TABLE_DEVICES, &key);
        if (is_new_sample(look->server, device, gpu->sample))
            look->seen[look->n_seen++] =
                (struct seen){gpu->sample, device, first, (int32_t)instance->id};
    }
}

static void list_new(struct look *look, const struct weir_gpu_device *devices, uint32_t n)
{
    struct weir_server *server = look->server;

    for (uint32_t i = 0; i < n; i++) {
        const struct weir_gpu_sample *sample = devices[i].sample;
        struct weir_key key = weir_key_of_device(devices[i].uuid);
        uint32_t device = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
        size_t n_before = look->n_seen;

        if (sample == NULL || !sample->has_processes)
            continue;
        if (is_new_sample(server, device, sample))
            look->seen[look->n_seen++] =
                (struct seen){sample, device, look->n_pids, WEIR_GPU_NO_INSTANCE};
        list_instances(look, &devices[i], look->n_pids);
        if (look->n_seen == n_before)
            continue;
        look->samples[look->n_samples++] = sample;
        look->n_pids += sample->n_processes;
    }
}

static int list_pids(struct look *look, struct weir_arena *arena, struct weir_err *err)
{
    size_t n = 0;

    look->pids = weir_arena_new_n(arena, uint32_t, look->n_pids);
    look->owners = weir_arena_new_n(arena, struct weir_cluster_owner, look->n_pids);
    if (look->pids == NULL || look->owners == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what uses the GPUs");
    for (size_t i = 0; i < look->n_samples; i++)
        for (uint32_t p = 0; p < look->samples[i]->n_processes; p++)
            look->pids[n++] = look->samples[i]->processes[p].pid;
    return 0;
}

static int observe(struct weir_server *server, bool *ret_is_half_made, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices;
    struct look look = {.server = server};
    size_t n_places = 1;
    uint32_t n;
    int r = weir_known_list(server, &arena, &devices, &n, err);

    *ret_is_half_made = false;
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < n; i++)
        n_places += 1 + (size_t)devices[i].n_instances;
    look.seen = weir_arena_new_n(&arena, struct seen, n_places);
    look.samples = weir_arena_new_n(&arena, const struct weir_gpu_sample *, n + 1u);
    if (look.seen == NULL || look.samples == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for what uses the GPUs");
    list_new(&look, devices, n);
    r = list_pids(&look, &arena, err);
    if (r == 0 && look.n_pids > 0)
        r = server->cluster.owners(server->cluster.ctx, look.pids, look.n_pids, look.owners, err);
    for (size_t i = 0; r == 0 && i < look.n_seen; i++) {
        *ret_is_half_made = true;
        r = take_sample(&look, &look.seen[i], err);
    }
    return r;
}

/* As of the device itself, or of an instance of it. */
static const struct weir_server_process *find_on(const struct weir_server *server, uint32_t device,
                                                 uint32_t pid)
{
    const struct weir_world *state = weir_edit_view(server->edit);
    const struct weir_server_process *process = NULL;

    for (uint32_t i = device; process == NULL && i != WEIR_NONE;
         i = weir_world_next_instance(state, device, i == device ? WEIR_NONE : i))
        if (i < server->gpus.n)
            process = find_process(&server->gpus.items[i], pid);
    return process;
}

bool weir_server_find_process(const struct weir_server *server, struct weir_str uuid, uint32_t pid,
                              struct weir_server_process *ret)
{
    struct weir_key key = weir_key_of_device(uuid);
    uint32_t device =
        server->edit != NULL ? weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key) : WEIR_NONE;
    const struct weir_server_process *process =
        device != WEIR_NONE ? find_on(server, device, pid) : NULL;

    if (process != NULL)
        *ret = *process;
    return process != NULL;
}

int weir_server_observe_use(struct weir_server *server, struct weir_err *err)
{
    bool is_half_made;

    return observe(server, &is_half_made, err);
}

void weir_server_look_at_use(struct weir_server *server)
{
    struct weir_err err = WEIR_ERR_INIT;
    bool is_half_made;
    int r = observe(server, &is_half_made, &err);

    if (r == 0 || r == WEIR_E_UNAVAILABLE) /* which is said where the devices are listed */
        return;
    weir_log_warn("gpus.use", "%s", err.text);
    if (is_half_made)
        weir_server_fail(server, r, &err);
}

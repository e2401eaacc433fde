#include "app/known.h"

#include "app/gpu_codec.h"
#include "app/server.h"
#include "base/bitset.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

enum { FACTS_BYTES_MAX = 64 * 1024 };

struct known_gpu {
    struct weir_str facts; /* as stored; in the arena, as all of it */
    struct weir_gpu_device device;
    int64_t noted_ms; /* of the driver's reading that it is the same as; 0: not known */
    struct weir_arena arena;
};

struct weir_server_known {
    struct known_gpus weir_vec(struct known_gpu) gpus;
    struct weir_map by_uuid;               /* index in gpus */
    struct strays weir_vec(char *) strays; /* of a simulated fleet that is another one now; owned */
};

/* ---- one of them ---- */

static int no_memory(struct weir_err *err)
{
    return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the GPUs that were seen");
}

static int make(const struct weir_gpu_record *record, struct known_gpu *ret, struct weir_err *err)
{
    struct known_gpu gpu = {.arena = WEIR_ARENA_INIT};
    char *facts = weir_str_dup(record->facts, &gpu.arena);
    char *uuid = weir_str_dup(record->key, &gpu.arena);
    int r = facts == NULL || uuid == NULL ? no_memory(err) : 0;

    if (r == 0) {
        gpu.facts = weir_str_n(facts, record->facts.len);
        r = weir_gpu_decode(gpu.facts, &gpu.arena, &gpu.device, err);
    }
    if (r < 0) {
        weir_arena_finish(&gpu.arena);
        return r;
    }
    gpu.device.uuid = weir_str_n(uuid, record->key.len);
    *ret = gpu;
    return 0;
}

static struct known_gpu *find(const struct weir_server_known *known, struct weir_str uuid)
{
    uint64_t at;

    return known != NULL && weir_map_get(&known->by_uuid, uuid, &at) ? &known->gpus.items[at]
                                                                     : NULL;
}

/* In the place of what was known of it. */
static int put(struct weir_server_known *known, const struct weir_gpu_record *record,
               struct weir_err *err)
{
    struct known_gpu *old = find(known, record->key);
    struct known_gpu gpu;
    int r = make(record, &gpu, err);

    if (r < 0)
        return r;
    if (old != NULL) {
        weir_arena_finish(&old->arena);
        *old = gpu;
        return 0;
    }
    if (weir_map_set(&known->by_uuid, record->key, known->gpus.n) == 0 &&
        weir_vec_push(&known->gpus, gpu) == 0)
        return 0;
    weir_map_remove(&known->by_uuid, record->key);
    weir_arena_finish(&gpu.arena);
    return no_memory(err);
}

/* ---- from the store ---- */

struct loading {
    struct weir_server *server;
    struct weir_err *err;
};

static int add_stray(struct weir_server_known *known, struct weir_str key, struct weir_err *err)
{
    char *copy = weir_mem_strndup(key.ptr, key.len);

    if (copy != NULL && weir_vec_push(&known->strays, copy) == 0)
        return 0;
    weir_mem_free(copy);
    return no_memory(err);
}

static int load_one(void *arg, const struct weir_gpu_record *record)
{
    struct loading *loading = arg;
    const struct weir_gpu_port *port = &loading->server->gpu;
    struct weir_err why = WEIR_ERR_INIT;
    int r;

    /* Of a fleet that exists in a file it is known what is not in it. */
    if (port->has != NULL && !port->has(port->ctx, record->key))
        return add_stray(loading->server->known, record->key, loading->err);
    r = put(loading->server->known, record, &why);
    if (r == WEIR_E_NO_MEMORY)
        return weir_error_pass(loading->err, &why);
    if (r < 0)
        weir_log_warn("gpus.load", "%.*s is not known while it does not answer: %s",
                      WEIR_STR_ARG(record->key), why.text);
    return 0;
}

int weir_known_load(struct weir_server *server, struct weir_err *err)
{
    struct loading loading = {server, err};

    server->known = weir_mem_alloc_array(1, sizeof(*server->known));
    if (server->known == NULL)
        return no_memory(err);
    return server->store.each_gpu(server->store.ctx, load_one, &loading, err);
}

void weir_known_unload(struct weir_server *server)
{
    struct weir_server_known *known = server->known;

    if (known == NULL)
        return;
    weir_vec_foreach (gpu, &known->gpus)
        weir_arena_finish(&gpu->arena);
    weir_vec_foreach (stray, &known->strays)
        weir_mem_free(*stray);
    weir_vec_finish(&known->gpus);
    weir_vec_finish(&known->strays);
    weir_map_finish(&known->by_uuid);
    server->known = weir_mem_free(known);
}

struct counting {
    uint32_t n[2];
};

static int count_one(void *arg, const struct weir_gpu_record *record)
{
    struct counting *counting = arg;

    counting->n[record->is_simulated]++;
    return 0;
}

int weir_known_count(const struct weir_store *store, uint32_t *ret_n_real,
                     uint32_t *ret_n_simulated, struct weir_err *err)
{
    struct counting counting = {{0, 0}};
    int r = store->each_gpu(store->ctx, count_one, &counting, err);

    if (r < 0)
        return r;
    *ret_n_real = counting.n[0];
    *ret_n_simulated = counting.n[1];
    return 0;
}

/* ---- the list ---- */

/* The driver as it is: `away` says why it lists nothing, or has code 0. */
struct merging {
    const struct weir_server_known *known;
    struct weir_gpu_device *devices;
    uint32_t n;
    const struct weir_gpu_device *told; /* by the driver */
    uint32_t n_told;
    const char *away;
};

static bool tells_all(const struct weir_gpu_device *device)
{
    return device->class.len > 0 && device->memory_total_bytes > 0;
}

/* What does not answer is what it was; how it is, the driver knows. */
static struct weir_gpu_device recall(const struct known_gpu *gpu,
                                     const struct weir_gpu_device *told)
{
    struct weir_gpu_device device = gpu->device;

    device.index = told->index;
    device.state = told->state;
    device.cause = told->cause;
    device.sample = told->sample;
    device.read_ms = told->read_ms;
    return device;
}

/* A size that it did not tell this time it has still. */
static struct weir_gpu_device complete(const struct weir_gpu_device *told,
                                       const struct known_gpu *gpu)
{
    struct weir_gpu_device device = *told;

    if (gpu == NULL || device.memory_total_bytes > 0)
        return device;
    device.memory_total_bytes = gpu->device.memory_total_bytes;
    device.memory_reserved_bytes = gpu->device.memory_reserved_bytes;
    return device;
}

/* One that did not say which it is, in the place where the GPU was; NULL: there is none. */
static const struct weir_gpu_device *nameless_at(const struct merging *m, uint32_t index)
{
    for (uint32_t i = 0; i < m->n_told; i++)
        if (m->told[i].uuid.len == 0 && m->told[i].index == index)
            return &m->told[i];
    return NULL;
}

/* The driver counts the others without it: its number is another's. */
static bool is_taken(const struct merging *m, const struct weir_gpu_device *device)
{
    for (uint32_t i = 0; i < m->n_told; i++)
        if (m->told[i].uuid.len > 0 && m->told[i].index == device->index &&
            weir_str_eq(m->told[i].node, device->node))
            return true;
    return false;
}

static void insert(struct merging *m, const struct weir_gpu_device *device)
{
    uint32_t at = m->n++;

    for (; at > 0 && m->devices[at - 1].index > device->index; at--)
        m->devices[at] = m->devices[at - 1];
    m->devices[at] = *device;
}

static void add_missing(struct merging *m, const struct known_gpu *gpu)
{
    const struct weir_gpu_device *nameless = nameless_at(m, gpu->device.index);
    struct weir_gpu_device device = gpu->device;

    if (nameless != NULL) {
        device = recall(gpu, nameless);
    } else {
        device.state = m->away != NULL ? WEIR_GPU_UNREADABLE : WEIR_GPU_ABSENT;
        device.cause = weir_str(m->away != NULL ? m->away : "the driver does not list it");
        if (is_taken(m, &device))
            device.index = WEIR_NONE;
    }
    insert(m, &device);
}

/* Nor does the file of a simulated fleet know all that was read. */
static bool is_to_recall(const struct weir_gpu_device *told)
{
    return told->state != WEIR_GPU_READY && (told->is_remembered || !tells_all(told));
}

static int merge(struct merging *m, struct weir_arena *arena, struct weir_err *err)
{
    size_t n_known = m->known != NULL ? m->known->gpus.n : 0;
    const struct known_gpu *known = n_known > 0 ? m->known->gpus.items : NULL;
    struct weir_bitset seen;

    m->devices = weir_arena_new_n(arena, struct weir_gpu_device, m->n_told + n_known + 1);
    if (m->devices == NULL || weir_bitset_init(&seen, n_known, arena) < 0)
        return no_memory(err);
    for (uint32_t i = 0; i < m->n_told; i++) {
        const struct known_gpu *gpu = find(m->known, m->told[i].uuid);

        if (gpu != NULL)
            weir_bitset_add(&seen, (size_t)(gpu - m->known->gpus.items));
        if (gpu != NULL && is_to_recall(&m->told[i]))
            m->devices[m->n++] = recall(gpu, &m->told[i]);
        else if (m->told[i].uuid.len > 0)
            m->devices[m->n++] = complete(&m->told[i], gpu);
    }
    for (size_t i = 0; known != NULL && i < n_known; i++)
        if (!weir_bitset_has(&seen, i))
            add_missing(m, &known[i]);
    return 0;
}

int weir_known_list(const struct weir_server *server, struct weir_arena *arena,
                    struct weir_gpu_device **ret_devices, uint32_t *ret_n, struct weir_err *err)
{
    struct weir_err why = WEIR_ERR_INIT;
    struct weir_gpu_device *told = NULL;
    struct merging merging = {.known = server->known};
    int r = server->gpu.list(server->gpu.ctx, arena, &told, &merging.n_told, &why);

    if (r < 0 && (r == WEIR_E_NO_MEMORY || server->known == NULL || server->known->gpus.n == 0))
        return weir_error_pass(err, &why);
    if (r < 0) {
        merging.n_told = 0;
        merging.away = weir_arena_strndup(arena, why.text, strlen(why.text));
        if (merging.away == NULL)
            return no_memory(err);
    }
    merging.told = told;
    r = merge(&merging, arena, err);
    if (r < 0)
        return r;
    *ret_devices = merging.devices;
    *ret_n = merging.n;
    return 0;
}

/* ---- what is new ---- */

static int note_one(struct weir_server *server, const struct weir_gpu_device *device,
                    struct weir_buf *text, struct weir_err *err)
{
    struct known_gpu *gpu = find(server->known, device->uuid);
    struct weir_gpu_record record = {.key = device->uuid,
                                     .is_simulated = server->gpu.befall != NULL,
                                     .seen_wall_ms = server->clock.now(server->clock.ctx).wall_ms};
    int r;

    if (gpu != NULL && device->read_ms > 0 && gpu->noted_ms == device->read_ms)
        return 0;
    weir_buf_reset(text);
    r = weir_gpu_encode(device, text, err);
    if (r < 0)
        return r;
    record.facts = weir_buf_view(text);
    if (gpu != NULL && weir_str_eq(gpu->facts, record.facts)) {
        gpu->noted_ms = device->read_ms;
        return 0;
    }
    r = weir_server_begin(server, err);
    if (r == 0)
        r = server->store.put_gpu(server->store.ctx, &record, err);
    return r < 0 ? r : put(server->known, &record, err);
}

static int drop_strays(struct weir_server *server, struct weir_err *err)
{
    struct weir_server_known *known = server->known;
    int r = known->strays.n > 0 ? weir_server_begin(server, err) : 0;

    while (r == 0 && known->strays.n > 0) {
        char *stray = *weir_vec_last(&known->strays);

        r = server->store.delete_gpu(server->store.ctx, weir_str(stray), err);
        weir_mem_free(stray);
        known->strays.n--;
    }
    return r;
}

/* One that shares the machine's memory tells of none; one that told before has some still. */
static bool is_to_note(const struct weir_server_known *known, const struct weir_gpu_device *device)
{
    const struct known_gpu *gpu = find(known, device->uuid);

    if (device->state != WEIR_GPU_READY || device->is_remembered || device->class.len == 0)
        return false;
    return tells_all(device) || gpu == NULL || !tells_all(&gpu->device);
}

int weir_known_note(struct weir_server *server, const struct weir_gpu_device *devices, uint32_t n,
                    struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(FACTS_BYTES_MAX);
    int r = drop_strays(server, err);

    for (uint32_t i = 0; r == 0 && i < n; i++)
        if (is_to_note(server->known, &devices[i]))
            r = note_one(server, &devices[i], &text, err);
    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

int weir_known_forget(struct weir_server *server, struct weir_str uuid, struct weir_err *err)
{
    struct weir_server_known *known = server->known;
    struct known_gpu *gpu = find(known, uuid);
    size_t at;
    int r = server->store.delete_gpu(server->store.ctx, uuid, err);

    if (r < 0 || gpu == NULL)
        return r;
    at = (size_t)(gpu - known->gpus.items);
    weir_map_remove(&known->by_uuid, uuid);
    weir_arena_finish(&gpu->arena);
    weir_vec_remove(&known->gpus, at);
    for (size_t i = at; i < known->gpus.n; i++)
        if (weir_map_set(&known->by_uuid, known->gpus.items[i].device.uuid, i) < 0)
            return no_memory(err);
    return 0;
}

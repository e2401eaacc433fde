#include "edge/nvml/nvml_internal.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct processes weir_vec(struct weir_gpu_process);

bool weir_nvml_read_memory(struct weir_nvml_reader *reader, struct weir_nvml_handle *handle,
                           struct weir_nvml_memory *ret_memory)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_memory_v2 v2 = {WEIR_NVML_STRUCT_VERSION(v2, 2), 0, 0, 0, 0};
    struct weir_nvml_memory_v1 v1 = {0, 0, 0};

    if (call->memory_v2 != NULL && weir_nvml_ok(reader, call->memory_v2(handle, &v2))) {
        *ret_memory =
            (struct weir_nvml_memory){true, weir_nvml_amount(v2.total),
                                      weir_nvml_amount(v2.reserved), weir_nvml_amount(v2.used)};
        return true;
    }
    if (call->memory_v1 == NULL || !weir_nvml_ok(reader, call->memory_v1(handle, &v1)))
        return false;
    *ret_memory =
        (struct weir_nvml_memory){false, weir_nvml_amount(v1.total), 0, weir_nvml_amount(v1.used)};
    return true;
}

/* ---- processes ---- */

static int compare(const void *a, const void *b)
{
    const struct weir_gpu_process *x = a;
    const struct weir_gpu_process *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->gpu_instance != y->gpu_instance)
        return x->gpu_instance < y->gpu_instance ? -1 : 1;
    if (x->compute_instance != y->compute_instance)
        return x->compute_instance < y->compute_instance ? -1 : 1;
    return 0;
}

static int32_t instance_id(uint32_t id)
{
    return id <= INT32_MAX ? (int32_t)id : WEIR_GPU_NO_INSTANCE;
}

static struct weir_gpu_process process_at(const void *records, bool is_v1, size_t i, uint32_t kind)
{
    struct weir_nvml_process_v2 from = {0, 0, WEIR_NVML_NO_INSTANCE, WEIR_NVML_NO_INSTANCE};
    struct weir_gpu_process process = {.kinds = kind};

    if (is_v1) {
        struct weir_nvml_process_v1 old;

        memcpy(&old, (const struct weir_nvml_process_v1 *)records + i, sizeof(old));
        from.pid = old.pid;
        from.used_bytes = old.used_bytes;
    } else {
        memcpy(&from, (const struct weir_nvml_process_v2 *)records + i, sizeof(from));
    }
    process.pid = from.pid;
    process.gpu_instance = instance_id(from.gpu_instance);
    process.compute_instance = instance_id(from.compute_instance);
    /* Inside some containers the driver does not tell. */
    if (from.used_bytes != WEIR_NVML_VALUE_NOT_AVAILABLE) {
        process.used_bytes = weir_nvml_amount(from.used_bytes);
        process.valid = WEIR_GPU_PROCESS_HAS_MEMORY;
    }
    return process;
}

/* Asks with more room until the list fits: processes come between two calls. Returns NVML's result,
 * or MEMORY when ours is short. */
static int fetch_records(const struct weir_nvml_process_list *list, struct weir_nvml_handle *handle,
                         void **records, unsigned *n)
{
    enum { FIRST_ROOM = 32, ROOM_MAX = 1 << 16 };
    size_t size =
        list->is_v1 ? sizeof(struct weir_nvml_process_v1) : sizeof(struct weir_nvml_process_v2);
    unsigned room = FIRST_ROOM;
    int result;

    for (;;) {
        void *grown = weir_mem_realloc_array(*records, room, size);

        if (grown == NULL)
            return WEIR_NVML_MEMORY;
        *records = grown;
        *n = room;
        result = list->call(handle, n, *records);
        if (result != WEIR_NVML_INSUFFICIENT_SIZE || room >= ROOM_MAX)
            break;
        room = *n > room && *n < ROOM_MAX / 2 ? *n * 2 : room * 2;
    }
    if (*n > room)
        *n = room;
    return result;
}

static int add_list(const struct weir_nvml_process_list *list, uint32_t kind,
                    struct weir_nvml_handle *handle, struct processes *out)
{
    weir_cleanup_free void *records = NULL;
    unsigned n = 0;
    int result;

    if (list->call == NULL)
        return WEIR_NVML_FUNCTION_NOT_FOUND;
    result = fetch_records(list, handle, &records, &n);
    if (result != WEIR_NVML_SUCCESS)
        return result;
    for (unsigned i = 0; i < n; i++)
        if (weir_vec_push(out, process_at(records, list->is_v1, i, kind)) < 0)
            return WEIR_NVML_MEMORY;
    return WEIR_NVML_SUCCESS;
}

static int add_all_lists(const struct weir_nvml_symbols *call, struct weir_nvml_handle *handle,
                         struct processes *out)
{
    const struct {
        const struct weir_nvml_process_list *list;
        uint32_t kind;
    } lists[] = {{&call->compute, WEIR_GPU_PROCESS_COMPUTE},
                 {&call->graphics, WEIR_GPU_PROCESS_GRAPHICS},
                 {&call->mps, WEIR_GPU_PROCESS_MPS}};
    int first = WEIR_NVML_SUCCESS;

    for (size_t i = 0; i < WEIR_COUNT_OF(lists); i++) {
        int result = add_list(lists[i].list, lists[i].kind, handle, out);

        if (i == 0)
            first = result;
        /* A GPU without graphics or MPS has no such processes. */
        if (result != WEIR_NVML_SUCCESS && weir_nvml_code(result) != WEIR_E_UNSUPPORTED)
            return result;
    }
    return first;
}

/* The same process is in several lists when it computes and draws. */
static uint32_t merge(struct weir_gpu_process *items, size_t n)
{
    uint32_t kept = 0;

    if (n > 1)
        qsort(items, n, sizeof(*items), compare);
    for (size_t i = 0; i < n; i++) {
        struct weir_gpu_process *last = kept > 0 ? &items[kept - 1] : NULL;

        if (last == NULL || compare(last, &items[i]) != 0) {
            items[kept++] = items[i];
            continue;
        }
        last->kinds |= items[i].kinds;
        last->valid |= items[i].valid;
        if (items[i].used_bytes > last->used_bytes)
            last->used_bytes = items[i].used_bytes;
    }
    return kept;
}

/* ---- what each does ---- */

struct samples weir_vec(struct weir_nvml_process_sample);

/* Returns NVML's result, or MEMORY when ours is short. NVML takes its samples more rarely than we
 * ask, and tells of those that were not idle only. */
static int fetch_samples(struct weir_nvml_reader *reader, struct samples *out)
{
    enum { WINDOW_US = 2000000, ROOM_MAX = 1 << 16 };
    uint64_t since_us = (uint64_t)weir_clock_wall_ms() * 1000 - WINDOW_US;
    unsigned room = 64;
    int result = WEIR_NVML_FUNCTION_NOT_FOUND;

    while (reader->call->process_samples != NULL && room <= ROOM_MAX) {
        unsigned n = room;

        if (weir_vec_reserve(out, room) < 0)
            return WEIR_NVML_MEMORY;
        result = reader->call->process_samples(reader->handle, out->items, &n, since_us);
        out->n = result == WEIR_NVML_SUCCESS ? (n < room ? n : room) : 0;
        if (result != WEIR_NVML_INSUFFICIENT_SIZE)
            break;
        room *= 2;
    }
    return result;
}

static const struct weir_nvml_process_sample *newest_of(const struct samples *samples, uint32_t pid)
{
    const struct weir_nvml_process_sample *newest = NULL;

    for (size_t i = 0; i < samples->n; i++)
        if (samples->items[i].pid == pid &&
            (newest == NULL || samples->items[i].timestamp_us > newest->timestamp_us))
            newest = &samples->items[i];
    return newest;
}

static int add_activity(struct weir_nvml_reader *reader, struct weir_gpu_process *processes,
                        uint32_t n)
{
    struct samples samples = {NULL, 0, 0};
    int result = fetch_samples(reader, &samples);

    weir_nvml_ok(reader, result);
    for (uint32_t i = 0; (result == WEIR_NVML_SUCCESS || result == WEIR_NVML_NOT_FOUND) && i < n;
         i++) {
        const struct weir_nvml_process_sample *newest = newest_of(&samples, processes[i].pid);

        processes[i].sm_percent = newest == NULL             ? 0
                                  : newest->sm_percent < 100 ? newest->sm_percent
                                                             : 100;
        processes[i].valid |= WEIR_GPU_PROCESS_HAS_SM;
    }
    weir_vec_finish(&samples);
    return result == WEIR_NVML_MEMORY ? WEIR_E_NO_MEMORY : 0;
}

int weir_nvml_read_processes(struct weir_nvml_reader *reader, bool is_mig,
                             struct weir_gpu_sample *sample, struct weir_err *err)
{
    struct processes found = {NULL, 0, 0};
    struct weir_gpu_process *processes = NULL;
    uint32_t n = 0;
    int result = add_all_lists(reader->call, reader->handle, &found);

    if (weir_nvml_ok(reader, result)) {
        n = merge(found.items, found.n);
        processes = weir_arena_new_n(reader->arena, struct weir_gpu_process, n + 1u);
        result = processes != NULL ? result : WEIR_NVML_MEMORY;
    }
    if (processes != NULL && n > 0)
        memcpy(processes, found.items, n * sizeof(*processes));
    weir_vec_finish(&found);
    /* NVML does not tell what a process does in an instance. */
    if (processes != NULL && !is_mig && n > 0 && add_activity(reader, processes, n) < 0)
        result = WEIR_NVML_MEMORY;
    if (result == WEIR_NVML_MEMORY)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the processes of a GPU");
    sample->has_processes = processes != NULL;
    sample->processes = processes;
    sample->n_processes = n;
    return 0;
}

#include "edge/api/lookup.h"

#include "edge/api/impl.h"

enum { NAMESAKES_SHOWN = 10, NAMESAKES_READ = 10000, NAMES_COMPARED = 500 };

/* ---- by name ---- */

struct namesakes {
    uint64_t numbers[NAMESAKES_SHOWN];
    uint64_t newest;
    uint32_t n;
};

static int note_number(void *arg, const struct weir_workload_record *record)
{
    struct namesakes *found = arg;

    if (found->n < NAMESAKES_SHOWN)
        found->numbers[found->n] = record->number;
    found->newest = record->number;
    found->n++;
    return 0;
}

static int find_namesakes(struct weir_api_call *call, struct weir_str name, bool all,
                          struct namesakes *ret_found, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    struct weir_workload_filter filter = {
        .all = all, .name = name, .state = -1, .limit = NAMESAKES_READ};

    ret_found->n = 0;
    return store->each_workload(store->ctx, &filter, false, note_number, ret_found, err);
}

static int ambiguous(struct weir_str name, const struct namesakes *found, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf list = WEIR_BUF_INIT(WEIR_ERR_TEXT_MAX);
    char shown[WEIR_STR_SHOW_MAX];

    for (uint32_t i = 0; i < found->n && i < NAMESAKES_SHOWN; i++)
        weir_buf_printf(&list, "%s%llu", i > 0 ? ", " : "", (unsigned long long)found->numbers[i]);
    weir_error(err, WEIR_E_EXISTS, "several workloads are called '%s': %s%s",
               weir_str_show(name, shown), weir_buf_cstr(&list),
               found->n > NAMESAKES_SHOWN ? " and more" : "");
    if (found->n == NAMESAKES_READ)
        return weir_error_hint(err, "name one by its number");
    return weir_error_hint(err, "name one by its number; the newest is %llu",
                           (unsigned long long)found->newest);
}

struct names {
    struct weir_arena *arena;
    struct weir_str names[NAMES_COMPARED];
    uint32_t n;
};

static int note_name(void *arg, const struct weir_workload_record *record)
{
    struct names *names = arg;
    const char *copy = weir_str_dup(record->name, names->arena);

    if (copy != NULL && names->n < NAMES_COMPARED)
        names->names[names->n++] = weir_str(copy);
    return 0;
}

static int no_such_workload(struct weir_api_call *call, struct weir_str id, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    struct weir_workload_filter filter = {.state = -1, .limit = NAMES_COMPARED};
    struct names *names = weir_arena_new(call->arena, struct names);
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t nearest = -1;

    weir_error(err, WEIR_E_NOT_FOUND, "there is no workload '%s'", weir_str_show(id, shown));
    if (names != NULL) {
        names->arena = call->arena;
        store->each_workload(store->ctx, &filter, false, note_name, names, NULL);
        nearest = weir_str_nearest(id, names->names, names->n);
    }
    if (nearest >= 0)
        return weir_error_hint(err, "did you mean '%s'?",
                               weir_str_show(names->names[nearest], shown));
    return weir_error_hint(err, "`weir ps -a` lists them");
}

/* ---- by number or name ---- */

static int ignore_record(void *arg, const struct weir_workload_record *record)
{
    (void)arg;
    (void)record;
    return 0;
}

static int find_by_number(struct weir_api_call *call, struct weir_str id, uint64_t *ret_number,
                          struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    uint64_t number;
    int r;

    if (!weir_str_to_u64(id, &number) || number > INT64_MAX)
        return WEIR_E_NOT_FOUND;
    r = store->get_workload(store->ctx, number, ignore_record, NULL, err);
    if (r == 0)
        *ret_number = number;
    return r;
}

int weir_api_find_workload(struct weir_api_call *call, uint64_t *ret_number, struct weir_err *err)
{
    struct weir_str id = call->params[0];
    struct namesakes found;
    int r = find_by_number(call, id, ret_number, err);

    if (r != WEIR_E_NOT_FOUND)
        return r;
    r = find_namesakes(call, id, false, &found, err);
    if (r == 0 && found.n == 0)
        r = find_namesakes(call, id, true, &found, err);
    if (r < 0)
        return r;
    if (found.n == 0)
        return no_such_workload(call, id, err);
    if (found.n > 1)
        return ambiguous(id, &found, err);
    *ret_number = found.numbers[0];
    return 0;
}

/* ---- records ---- */

struct copying {
    struct weir_arena *arena;
    struct weir_workload_record *record;
    bool failed;
};

static void copy_text(struct copying *copying, struct weir_str *text)
{
    const char *copy = weir_arena_strndup(copying->arena, text->ptr, text->len);

    copying->failed = copying->failed || copy == NULL;
    text->ptr = copy;
}

static int copy_record(void *arg, const struct weir_workload_record *record)
{
    struct copying *copying = arg;

    *copying->record = *record;
    copy_text(copying, &copying->record->name);
    copy_text(copying, &copying->record->queue);
    copy_text(copying, &copying->record->owner);
    copy_text(copying, &copying->record->spec);
    copy_text(copying, &copying->record->gpus);
    copy_text(copying, &copying->record->node);
    copy_text(copying, &copying->record->detail);
    return 0;
}

int weir_api_load_workload(struct weir_api_call *call, uint64_t number,
                           struct weir_workload_record *ret_record, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    struct copying copying = {call->arena, ret_record, false};
    int r = store->get_workload(store->ctx, number, copy_record, &copying, err);

    if (r == 0 && copying.failed)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a workload");
    return r;
}

int weir_api_get_record(struct weir_api_call *call, struct weir_workload_record *ret_record,
                        struct weir_err *err)
{
    uint64_t number = 0;
    int r = weir_api_index_make(&call->api->index, &call->api->service, err);

    if (r == 0)
        r = weir_api_find_workload(call, &number, err);
    return r < 0 ? r : weir_api_load_workload(call, number, ret_record, err);
}

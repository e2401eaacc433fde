#include "base/tree.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/lookup.h"
#include "edge/api/spec.h"
#include "model/signals.h"

enum { KEY_BYTES_MAX = 128, TASKS_READ_MAX = 20000, TASKS_DEFAULT = 1000 };

/* ---- submitting ---- */

/* Idempotency-Key; empty if there is none. */
static int read_key(const struct weir_api_call *call, struct weir_str *ret_key,
                    struct weir_err *err)
{
    struct weir_str key = WEIR_STR("");
    uint32_t n = 0;

    for (size_t i = 0; i < call->head->n_headers; i++) {
        if (!weir_str_eq_nocase(call->head->headers[i].name, WEIR_STR("Idempotency-Key")))
            continue;
        key = call->head->headers[i].value;
        n++;
    }
    for (size_t i = 0; i < key.len; i++)
        if (key.ptr[i] < 0x20 || key.ptr[i] > 0x7e)
            n = 2;
    if (n == 0 || (n == 1 && key.len > 0 && key.len <= KEY_BYTES_MAX)) {
        *ret_key = key;
        return 0;
    }
    weir_error(err, WEIR_E_INVALID, "the header Idempotency-Key is malformed");
    return weir_error_hint(err, "once, with 1 to %d printable characters", KEY_BYTES_MAX);
}

static int finish_submit(struct weir_api_call *call, uint64_t number, struct weir_err *err)
{
    struct weir_workload_record record = {0};
    struct weir_api_task_counts counts;
    struct weir_api_json json;
    uint32_t n_read = 0;
    char where[64];
    int r = weir_api_index_make(&call->api->index, &call->api->service, err);

    if (r == 0)
        r = weir_api_load_workload(call, number, &record, err);
    if (r == 0 && record.n_tasks > 1)
        r = weir_api_count_tasks(call->api, &record, &counts, &n_read, err);
    if (r < 0)
        return r;
    snprintf(where, sizeof(where), "/v1/workloads/%llu", (unsigned long long)number);
    weir_http_reply_header(call->request, "Location", weir_str(where), NULL);
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_workload(&json.w, call->api, &record, record.n_tasks > 1 ? &counts : NULL);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 201, &json, err);
}

int weir_api_submit(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    const struct weir_tree *doc = NULL;
    struct weir_done done = {0};
    struct weir_str key = {0};
    int r = weir_api_check_account(call, err);

    if (r == 0)
        r = read_key(call, &key, err);
    if (r == 0)
        r = weir_api_body_tree(call, &doc, err);
    if (r == 0)
        r = weir_api_pending_new(call, finish_submit, &done, err);
    if (r < 0)
        return r;
    r = service->submit(service->ctx, &call->actor, doc, key, done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

/* ---- listing ---- */

struct listing {
    struct weir_api_call *call;
    struct weir_json_writer *w;
    uint32_t n;
    uint32_t limit;
    uint32_t n_read; /* records of tasks */
    uint64_t last;
    bool more;
    struct weir_err *err;
};

static int list_one(void *arg, const struct weir_workload_record *record)
{
    struct listing *l = arg;
    struct weir_api_task_counts counts;
    int r = 0;

    /* A page ends early rather than hold up the loop with large ended arrays. */
    if (l->n == l->limit || l->n_read > TASKS_READ_MAX) {
        l->more = true;
        return 1;
    }
    if (record->n_tasks > 1)
        r = weir_api_count_tasks(l->call->api, record, &counts, &l->n_read, l->err);
    if (r < 0)
        return r;
    weir_json_object_begin(l->w);
    weir_api_put_workload(l->w, l->call->api, record, record->n_tasks > 1 ? &counts : NULL);
    weir_json_object_end(l->w);
    l->n++;
    l->last = record->number;
    return 0;
}

/* -1: any */
static int read_state(const struct weir_api_call *call, int *ret_state, struct weir_err *err)
{
    const struct weir_str *text = weir_api_query(call, "state");
    struct weir_str names[WEIR_TASK_STATE_MAX];
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t nearest;

    *ret_state = -1;
    if (text == NULL)
        return 0;
    for (int s = 0; s < WEIR_TASK_STATE_MAX; s++) {
        names[s] = weir_str(weir_task_state_name((enum weir_task_state)s));
        if (weir_str_eq(*text, names[s])) {
            *ret_state = s;
            return 0;
        }
    }
    nearest = weir_str_nearest(*text, names, WEIR_TASK_STATE_MAX);
    weir_error(err, WEIR_E_INVALID, "there is no state '%s'", weir_str_show(*text, shown));
    weir_error_field(err, "state");
    if (nearest >= 0)
        return weir_error_hint(err, "did you mean '%s'?", names[nearest].ptr);
    return weir_error_hint(err, "one of queued, starting, running, stopping, succeeded, failed, "
                                "cancelled, lost");
}

static struct weir_str text_of(const struct weir_api_call *call, const char *name)
{
    const struct weir_str *text = weir_api_query(call, name);

    return text != NULL ? *text : WEIR_STR("");
}

static int read_filter(const struct weir_api_call *call, struct weir_workload_filter *filter,
                       struct weir_err *err)
{
    int r = weir_api_query_bool(call, "all", &filter->all, err);

    if (r == 0)
        r = read_state(call, &filter->state, err);
    if (r == 0 && filter->state >= 0)
        filter->all = filter->all || weir_task_state_is_final((uint32_t)filter->state);
    if (r == 0)
        r = weir_api_query_u64(call, "after", 0, INT64_MAX, &filter->after_number, err);
    if (r == 0)
        r = weir_api_query_limit(call, &filter->limit, err);
    filter->queue = text_of(call, "queue");
    filter->owner = text_of(call, "owner");
    filter->name = text_of(call, "name");
    return r;
}

int weir_api_list_workloads(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    struct weir_workload_filter filter = {0};
    struct weir_api_json json;
    struct listing listing;
    int r = read_filter(call, &filter, err);

    if (r == 0)
        r = weir_api_index_make(&call->api->index, &call->api->service, err);
    if (r < 0)
        return r;
    weir_api_json_init(&json);
    listing = (struct listing){
        .call = call, .w = &json.w, .limit = filter.limit, .last = filter.after_number, .err = err};
    filter.limit++;
    weir_json_object_begin(&json.w);
    weir_json_key(&json.w, "items");
    weir_json_array_begin(&json.w);
    r = store->each_workload(store->ctx, &filter, false, list_one, &listing, err);
    if (r < 0) {
        weir_buf_finish(&json.body);
        return r;
    }
    weir_json_array_end(&json.w);
    if (listing.more)
        weir_api_put_id(&json.w, "next", listing.last);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

/* ---- one ---- */

struct task_page {
    struct weir_json_writer *w;
    int state;     /* only those in it; -1: any */
    uint32_t left; /* so many may follow */
    uint32_t next; /* member; that of the next page, once this one is full */
    bool is_full;
};

static void put_one(struct task_page *page, const struct weir_task_record *task)
{
    bool is_wanted = page->state < 0 || task->state == (uint32_t)page->state;

    if (is_wanted && page->left == 0) {
        page->is_full = true;
        return;
    }
    if (is_wanted) {
        weir_api_put_task(page->w, task);
        page->left--;
    }
    page->next = task->member + 1;
}

/* A task that never started has no record. */
static void put_waiting(struct task_page *page, uint32_t end)
{
    while (page->next < end && !page->is_full) {
        struct weir_task_record task = {.member = page->next, .state = WEIR_TASK_QUEUED};

        put_one(page, &task);
    }
}

static int put_task(void *arg, const struct weir_task_record *task)
{
    struct task_page *page = arg;

    if (task->member < page->next)
        return 0;
    put_waiting(page, task->member);
    if (!page->is_full)
        put_one(page, task);
    return page->is_full ? 1 : 0;
}

/* Tasks from page->next on, as a list. */
static int put_tasks(struct weir_api_call *call, const struct weir_workload_record *record,
                     struct task_page *page, const char *list, const char *next,
                     struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    int r;

    weir_json_key(page->w, list);
    weir_json_array_begin(page->w);
    r = store->each_task(store->ctx, record->number, put_task, page, err);
    put_waiting(page, record->n_tasks);
    weir_json_array_end(page->w);
    if (page->is_full)
        weir_api_put_id(page->w, next, page->next);
    return r < 0 ? r : 0;
}

static int read_after(struct weir_api_call *call, const struct weir_workload_record *record,
                      struct task_page *page, struct weir_err *err)
{
    uint64_t after = 0;
    int r = weir_api_query_u64(call, "after", 0, record->n_tasks, &after, err);

    page->next = (uint32_t)after;
    return r;
}

int weir_api_list_tasks(struct weir_api_call *call, struct weir_err *err)
{
    struct weir_workload_record record = {0};
    struct weir_api_json json;
    struct task_page page = {.w = &json.w};
    int r = weir_api_get_record(call, &record, err);

    if (r == 0)
        r = read_state(call, &page.state, err);
    if (r == 0)
        r = weir_api_query_limit(call, &page.left, err);
    if (r == 0)
        r = read_after(call, &record, &page, err);
    if (r < 0)
        return r;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    r = put_tasks(call, &record, &page, "items", "next", err);
    if (r < 0) {
        weir_buf_finish(&json.body);
        return r;
    }
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

int weir_api_get_workload(struct weir_api_call *call, struct weir_err *err)
{
    struct weir_workload_record record = {0};
    struct weir_api_task_counts counts;
    struct weir_api_json json;
    struct task_page page = {.w = &json.w, .state = -1};
    uint64_t limit = TASKS_DEFAULT;
    uint32_t n_read = 0;
    bool is_own;
    int r = weir_api_get_record(call, &record, err);

    if (r == 0 && record.n_tasks > 1)
        r = weir_api_count_tasks(call->api, &record, &counts, &n_read, err);
    if (r == 0)
        r = weir_api_query_u64(call, "limit", 1, TASKS_DEFAULT, &limit, err);
    if (r == 0)
        r = read_after(call, &record, &page, err);
    if (r < 0)
        return r;
    page.left = (uint32_t)limit;
    is_own = call->actor.role == WEIR_ROLE_ADMIN ||
             weir_actor_owns(&call->actor, record.owner, record.uid);
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_workload(&json.w, call->api, &record, record.n_tasks > 1 ? &counts : NULL);
    r = put_tasks(call, &record, &page, "tasks", "tasks_next", err);
    if (r == 0)
        r = weir_api_put_spec(&json.w, record.spec, is_own, call->arena, err);
    if (r < 0) {
        weir_buf_finish(&json.body);
        return r;
    }
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

/* ---- ending, signalling ---- */

/* What it was before tells what the request meant for it. */
static int finish_cancel(struct weir_api_call *call, uint64_t number, struct weir_err *err)
{
    const struct weir_workload_record *record = call->arg;
    struct weir_api_json json;

    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_id(&json.w, "id", number);
    weir_api_put_str(&json.w, "was",
                     weir_str(weir_task_state_name((enum weir_task_state)record->state)));
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 202, &json, err);
}

int weir_api_cancel(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_workload_record *record = weir_arena_new(call->arena, struct weir_workload_record);
    struct weir_done done = {0};
    int r;

    if (record == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a workload");
    r = weir_api_get_record(call, record, err);
    if (r == 0)
        r = weir_api_pending_new(call, finish_cancel, &done, err);
    if (r < 0)
        return r;
    call->arg = record;
    r = service->cancel(service->ctx, &call->actor, record->number, done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

static int read_signal(const struct weir_api_call *call, int *ret_number, struct weir_err *err)
{
    static const struct weir_str fields[] = {{"signal", 6}};
    const struct weir_tree *tree;
    const struct weir_tree *signal;
    int r = weir_api_body_tree(call, &tree, err);

    if (r < 0)
        return r;
    if (tree->kind != WEIR_TREE_OBJECT)
        return weir_tree_error(tree, err, "expected {\"signal\": \"INT\"}");
    weir_tree_foreach (child, tree) {
        if (weir_str_eq(child->key, fields[0]))
            continue;
        weir_tree_error(child, err, "unknown field");
        return weir_error_hint(err, "known: signal");
    }
    signal = weir_tree_get(tree, "signal");
    if (signal == NULL) {
        weir_tree_error(tree, err, "signal is missing");
        return weir_error_field(err, "signal");
    }
    if (signal->kind != WEIR_TREE_STRING && signal->kind != WEIR_TREE_NUMBER)
        return weir_tree_error(signal, err, "expected the name of a signal");
    *ret_number = weir_signal_number(signal->text);
    if (*ret_number > 0)
        return 0;
    weir_tree_error(signal, err, "there is no such signal");
    return weir_error_hint(err, "for example INT, TERM, USR1, KILL");
}

int weir_api_signal(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_api_json json;
    uint64_t number = 0;
    int signal_number = 0;
    int r = weir_api_find_workload(call, &number, err);

    if (r == 0)
        r = read_signal(call, &signal_number, err);
    if (r == 0)
        r = service->signal(service->ctx, &call->actor, number, signal_number, err);
    if (r < 0)
        return r;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_id(&json.w, "id", number);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 202, &json, err);
}

/* Setups of GPUs. They are rows of the store, and none of the world. */
#include "base/tree.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "fmt/json.h"
#include "fmt/mig_parted.h"

struct listing {
    struct weir_api_call *call;
    struct weir_json_writer *w;
    struct weir_str after;
    struct weir_str wanted; /* the one, and no other; empty: all */
    struct weir_str last;
    uint32_t limit;
    uint32_t n;
    bool has_more;
    struct weir_err *err;
};

static int put_setup(struct listing *listing, const struct weir_setup_record *record)
{
    struct weir_json_writer *w = listing->w;
    struct weir_tree *spec = NULL;
    int r = weir_json_read(record->spec, NULL, listing->call->arena, &spec, listing->err);

    if (r < 0)
        return r;
    weir_json_object_begin(w);
    weir_api_put_str(w, "name", record->name);
    weir_api_put_time(w, "created_ms", record->created_wall_ms);
    weir_json_key(w, "spec");
    weir_json_write_tree(w, spec, NULL);
    weir_json_object_end(w);
    return 0;
}

static int on_setup(void *arg, const struct weir_setup_record *record)
{
    struct listing *listing = arg;
    const char *copy;

    if (listing->wanted.len > 0 && !weir_str_eq(record->name, listing->wanted))
        return 0;
    if (weir_str_cmp(record->name, listing->after) <= 0)
        return 0;
    if (listing->n == listing->limit) {
        listing->has_more = true;
        return 1;
    }
    listing->n++;
    copy = weir_str_dup(record->name, listing->call->arena);
    if (copy == NULL)
        return weir_error(listing->err, WEIR_E_NO_MEMORY, "no memory for a list");
    listing->last = weir_str(copy);
    return put_setup(listing, record);
}

int weir_api_list_setups(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    const struct weir_str *after = weir_api_query(call, "after");
    struct listing listing = {.call = call, .err = err};
    struct weir_api_json json;
    int r = weir_api_query_limit(call, &listing.limit, err);

    if (r < 0)
        return r;
    if (after != NULL)
        listing.after = *after;
    weir_api_json_init(&json);
    listing.w = &json.w;
    weir_json_object_begin(&json.w);
    weir_json_key(&json.w, "items");
    weir_json_array_begin(&json.w);
    r = store->each_setup(store->ctx, on_setup, &listing, err);
    weir_json_array_end(&json.w);
    if (listing.has_more)
        weir_api_put_str(&json.w, "next", listing.last);
    weir_json_object_end(&json.w);
    if (r < 0) {
        weir_buf_finish(&json.body);
        return r;
    }
    return weir_api_json_reply(call, 200, &json, err);
}

int weir_api_get_setup(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_store *store = weir_api_store(call->api);
    struct listing listing = {.call = call, .wanted = call->params[0], .limit = 1, .err = err};
    struct weir_api_json json;
    char shown[WEIR_STR_SHOW_MAX];
    int r;

    weir_api_json_init(&json);
    listing.w = &json.w;
    r = store->each_setup(store->ctx, on_setup, &listing, err);
    if (r >= 0 && listing.n > 0)
        return weir_api_json_reply(call, 200, &json, err);
    weir_buf_finish(&json.body);
    if (r < 0)
        return r;
    weir_error(err, WEIR_E_NOT_FOUND, "there is no GPU setup '%s'",
               weir_str_show(call->params[0], shown));
    return weir_error_hint(err, "`weir get gpusetups` lists them");
}

static int finish_delete(struct weir_api_call *call, uint64_t outcome, struct weir_err *err)
{
    struct weir_api_json json;

    (void)outcome;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 202, &json, err);
}

int weir_api_delete_setup(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_done done = {0};
    int r = weir_api_pending_new(call, finish_delete, &done, err);

    if (r < 0)
        return r;
    r = service->delete_setup(service->ctx, &call->actor, call->params[0], done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

int weir_api_read_mig_parted(struct weir_api_call *call, const struct weir_tree **docs, uint32_t n,
                             struct weir_err *err)
{
    const struct weir_str *config = weir_api_query(call, "migConfig");
    bool is_used = false;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        if (!weir_mig_parted_is(docs[i]))
            continue;
        is_used = true;
        r = weir_mig_parted_read(docs[i], config != NULL ? *config : WEIR_STR(""), call->arena,
                                 &docs[i], err);
    }
    if (r < 0 || is_used || config == NULL)
        return r;
    weir_error(err, WEIR_E_INVALID, "there is no mig-parted file to choose a configuration of");
    return weir_error_field(err, "migConfig");
}

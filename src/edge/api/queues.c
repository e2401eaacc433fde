#include "base/tree.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/nouns.h"

enum { DOCUMENTS_MAX = 10000 };

static struct weir_str queue_name(const struct weir_world *world, uint32_t row)
{
    return weir_world_string(world, weir_world_queue(world, row)->name);
}

const struct weir_api_noun weir_api_queues = {
    .table = WEIR_TABLE_QUEUES,
    .word = "queue",
    .list = "`weir get queues` lists them",
    .name = queue_name,
    .put = weir_api_put_queue,
};

int weir_api_list_queues(struct weir_api_call *call, struct weir_err *err)
{
    return weir_api_noun_list(call, &weir_api_queues, err);
}

int weir_api_get_queue(struct weir_api_call *call, struct weir_err *err)
{
    return weir_api_noun_get(call, &weir_api_queues, err);
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

int weir_api_delete_queue(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_done done = {0};
    int r = weir_api_pending_new(call, finish_delete, &done, err);

    if (r < 0)
        return r;
    r = service->delete_queue(service->ctx, &call->actor, call->params[0], done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

/* ---- apply ---- */

struct applied {
    struct weir_apply_result *results;
    uint32_t n;
    bool dry_run;
};

static int finish_apply(struct weir_api_call *call, uint64_t outcome, struct weir_err *err)
{
    static const char *const actions[] = {[WEIR_APPLIED_CREATED] = "created",
                                          [WEIR_APPLIED_CONFIGURED] = "configured",
                                          [WEIR_APPLIED_UNCHANGED] = "unchanged"};
    const struct applied *applied = call->arg;
    struct weir_api_json json;
    int r = weir_api_index_make(&call->api->index, &call->api->service, err);

    (void)outcome;
    if (r < 0)
        return r;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_json_key(&json.w, "dry_run");
    weir_json_bool(&json.w, applied->dry_run);
    weir_json_key(&json.w, "items");
    weir_json_array_begin(&json.w);
    for (uint32_t i = 0; i < applied->n; i++) {
        const struct weir_apply_result *result = &applied->results[i];

        weir_json_object_begin(&json.w);
        weir_api_put_str(&json.w, "kind", result->kind);
        weir_api_put_str(&json.w, "name", result->name);
        if (result->number > 0)
            weir_api_put_id(&json.w, "id", result->number);
        weir_api_put_str(&json.w, "action", weir_str(actions[result->applied]));
        weir_api_put_shortfall(&json.w, call->api->index.world, &result->shortfall);
        if (result->assumed != NULL) {
            weir_json_key(&json.w, "assumed");
            weir_json_write_tree(&json.w, result->assumed, NULL);
        }
        weir_json_object_end(&json.w);
    }
    weir_json_array_end(&json.w);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

static bool has_workload(const struct weir_tree *const *docs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct weir_tree *kind = weir_tree_get(docs[i], "kind");

        if (kind != NULL && weir_str_eq_c(kind->text, "Workload"))
            return true;
    }
    return false;
}

int weir_api_apply(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct applied *applied = weir_arena_new(call->arena, struct applied);
    const struct weir_tree **docs = NULL;
    struct weir_done done = {0};
    int r;

    if (applied == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a request");
    r = weir_api_query_bool(call, "dryRun", &applied->dry_run, err);
    if (r == 0)
        r = weir_api_body_documents(call, &docs, &applied->n, err);
    if (r == 0 && applied->n > DOCUMENTS_MAX)
        r = weir_error(err, WEIR_E_TOO_LARGE, "more than %d resources at once", DOCUMENTS_MAX);
    if (r == 0)
        r = weir_api_read_mig_parted(call, docs, applied->n, err);
    if (r == 0 && has_workload(docs, applied->n))
        r = weir_api_check_account(call, err);
    if (r == 0)
        r = weir_api_pending_new(call, finish_apply, &done, err);
    if (r < 0)
        return r;
    call->arg = applied;
    r = service->apply(service->ctx, &call->actor, docs, applied->n, applied->dry_run, call->arena,
                       &applied->results, done, err);
    if (r < 0)
        weir_api_pending_drop(call);
    return r;
}

/* Why it waits and when it starts; or what it does, or how it ended. */
#include "base/clock.h"
#include "base/time.h"
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"
#include "edge/api/lookup.h"
#include "edge/api/words.h"

enum { SENTENCE_MAX = 1024, DEPTH_MAX = 16, SENTENCES_MAX = 256, SIMULATIONS_MAX = 4 };

struct explaining {
    struct weir_api_call *call;
    struct weir_words words;
    struct weir_json_writer *w;
    struct weir_str sentences[SENTENCES_MAX];
    uint32_t n_sentences;
};

/* ---- sentences ---- */

static void add_sentence(struct explaining *e, struct weir_buf *text)
{
    const char *copy;

    if (text->len == 0 || e->n_sentences == SENTENCES_MAX)
        return;
    copy = weir_arena_strndup(e->call->arena, text->data, text->len);
    if (copy != NULL)
        e->sentences[e->n_sentences++] = weir_str(copy);
}

static void put_sentences(struct explaining *e)
{
    weir_json_key(e->w, "text");
    weir_json_array_begin(e->w);
    for (uint32_t i = 0; i < e->n_sentences; i++)
        weir_json_str(e->w, e->sentences[i]);
    weir_json_array_end(e->w);
}

/* ---- the tree ---- */

static int put_workload_name(void *arg, const struct weir_workload_record *record)
{
    weir_api_put_str(arg, "name", record->name);
    return 0;
}

static void put_workload(struct explaining *e, uint32_t workload)
{
    const struct weir_store *store = weir_api_store(e->call->api);
    uint64_t number = weir_world_workload(e->words.world, workload)->number;

    weir_api_put_id(e->w, "id", number);
    store->get_workload(store->ctx, number, put_workload_name, e->w, NULL);
}

/* Whether that time is a guess. */
static void put_assumed(struct explaining *e, uint32_t is_assumed)
{
    weir_json_key(e->w, "assumed");
    weir_json_bool(e->w, is_assumed != 0);
}

static void put_holders(struct explaining *e, const struct weir_reason *reason, uint32_t resource)
{
    weir_json_key(e->w, "holders");
    weir_json_array_begin(e->w);
    for (uint32_t i = 0; i < reason->n_holders; i++) {
        const struct weir_holder *holder = &e->words.plan->holders[reason->first_holder + i];

        weir_json_object_begin(e->w);
        put_workload(e, holder->workload);
        weir_json_key(e->w, "amount");
        weir_api_put_amount(e->w, e->words.world, resource, holder->amount);
        weir_api_put_time(e->w, "end_p50_ms", holder->end_p50_wall_ms);
        put_assumed(e, holder->is_assumed);
        weir_json_object_end(e->w);
    }
    weir_json_array_end(e->w);
}

static void put_subject(struct explaining *e, uint32_t kind, uint32_t subject)
{
    weir_cleanup_buf struct weir_buf name = WEIR_BUF_INIT(SENTENCE_MAX);

    weir_words_subject(e->words.world, kind, subject, &name);
    weir_api_put_name(e->w, "subject", weir_buf_view(&name));
}

static void put_resource(struct explaining *e, uint32_t resource)
{
    const struct weir_world *world = e->words.world;

    weir_api_put_name(e->w, "resource",
                      resource == WEIR_NONE
                          ? WEIR_STR("")
                          : weir_world_string(world, weir_world_resource(world, resource)->name));
}

static void put_number(struct explaining *e, const char *key, uint32_t resource, int64_t amount)
{
    weir_json_key(e->w, key);
    if (resource != WEIR_NONE)
        weir_api_put_amount(e->w, e->words.world, resource, amount);
    else
        weir_json_i64(e->w, amount);
}

/* The members of a reason without its children. */
static void put_reason(struct explaining *e, const struct weir_reason *reason, bool as_text)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(SENTENCE_MAX);
    uint32_t resource = reason->resource != WEIR_NONE ? reason->resource : WEIR_RES_GPU;

    weir_words_reason(&e->words, reason, &text);
    weir_api_put_str(e->w, "level",
                     weir_str(weir_level_name((enum weir_reason_level)reason->level)));
    weir_api_put_str(e->w, "code", weir_str(weir_reason_name((enum weir_reason_code)reason->code)));
    put_subject(e, reason->subject_kind, reason->subject);
    put_resource(e, reason->resource);
    put_number(e, "have", reason->resource, reason->have);
    put_number(e, "need", reason->resource, reason->need);
    weir_json_key(e->w, "count");
    weir_json_u64(e->w, reason->count);
    put_holders(e, reason, resource);
    weir_api_put_str(e->w, "text", weir_buf_view(&text));
    if (as_text)
        add_sentence(e, &text);
}

static void put_tree(struct explaining *e, uint32_t first, uint32_t depth)
{
    const struct weir_plan *plan = e->words.plan;

    weir_json_array_begin(e->w);
    for (uint32_t i = first; i < plan->n_reasons && depth < DEPTH_MAX; i = plan->reasons[i].next) {
        weir_json_object_begin(e->w);
        put_reason(e, &plan->reasons[i], true);
        weir_json_key(e->w, "children");
        put_tree(e, plan->reasons[i].first_child, depth + 1);
        weir_json_object_end(e->w);
    }
    weir_json_array_end(e->w);
}

static void put_cordons(struct explaining *e, const struct weir_verdict *verdict)
{
    weir_json_key(e->w, "cordons");
    weir_json_array_begin(e->w);
    for (uint32_t i = 0; i < verdict->unblock_n_cordons; i++) {
        const struct weir_cordoned *cordon =
            &e->words.plan->cordons[verdict->unblock_first_cordon + i];
        weir_cleanup_buf struct weir_buf name = WEIR_BUF_INIT(SENTENCE_MAX);

        weir_words_subject(e->words.world, cordon->kind, cordon->subject, &name);
        weir_json_str(e->w, weir_buf_view(&name));
    }
    weir_json_array_end(e->w);
    weir_json_key(e->w, "more_cordons");
    weir_json_u64(e->w, verdict->unblock_n_more_cordons);
}

static void put_ends(struct explaining *e, const struct weir_verdict *verdict)
{
    weir_json_key(e->w, "ends");
    weir_json_array_begin(e->w);
    for (uint32_t i = 0; i < verdict->unblock_n_ends; i++) {
        const struct weir_awaited *end = &e->words.plan->ends[verdict->unblock_first_end + i];

        weir_json_object_begin(e->w);
        put_workload(e, end->workload);
        weir_api_put_time(e->w, "end_p50_ms", end->end_p50_wall_ms);
        put_assumed(e, end->is_assumed);
        weir_json_object_end(e->w);
    }
    weir_json_array_end(e->w);
    weir_json_key(e->w, "more_ends");
    weir_json_u64(e->w, verdict->unblock_n_more_ends);
}

static void put_unblock(struct explaining *e, const struct weir_verdict *verdict)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(SENTENCE_MAX);
    bool is_time = verdict->unblock == WEIR_UNBLOCK_WAIT_UNTIL;

    weir_json_key(e->w, "unblock");
    if (verdict->unblock == WEIR_UNBLOCK_NONE) {
        weir_json_null(e->w);
        return;
    }
    weir_json_object_begin(e->w);
    weir_api_put_str(e->w, "kind", weir_str(weir_words_unblock_name(verdict->unblock)));
    put_subject(e, verdict->unblock_subject_kind, verdict->unblock_subject);
    put_resource(e, is_time ? WEIR_NONE : verdict->unblock_resource);
    put_number(e, "amount", is_time ? WEIR_NONE : verdict->unblock_resource,
               verdict->unblock_amount);
    put_cordons(e, verdict);
    put_ends(e, verdict);
    weir_json_object_end(e->w);
    weir_words_unblock(&e->words, verdict, &text);
    add_sentence(e, &text);
}

/* ---- when ---- */

/* What the simulation found. */
struct expected {
    int64_t p50_wall_ms;
    int64_t p90_wall_ms;
    bool is_assumed;
    struct weir_err err; /* code 0: it is known */
};

static void put_start(struct explaining *e, const struct expected *expected, struct weir_buf *text)
{
    int64_t p90 = expected->p90_wall_ms;

    if (expected->p50_wall_ms == INT64_MAX) {
        weir_buf_puts(text, "it does not start within 30 days as things are");
        return;
    }
    weir_buf_puts(text, "starts about ");
    weir_words_time(expected->p50_wall_ms, e->words.now_wall_ms, text);
    weir_buf_puts(text, " (at the latest ");
    if (p90 == INT64_MAX)
        weir_buf_puts(text, "unknown");
    else
        weir_words_time(p90, e->words.now_wall_ms, text);
    weir_buf_puts(text, expected->is_assumed
                            ? "), a guess: how long others run is assumed where it is not known"
                            : ")");
}

/* NULL: it does not wait. */
static void put_expected_start(struct explaining *e, const struct expected *expected)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(SENTENCE_MAX);

    weir_json_key(e->w, "expected_start");
    if (expected == NULL || expected->err.code != 0) {
        weir_json_null(e->w);
        if (expected != NULL)
            weir_buf_printf(&text, "when it starts cannot be told: %s", expected->err.text);
        add_sentence(e, &text);
        return;
    }
    weir_json_object_begin(e->w);
    weir_api_put_time(e->w, "p50_ms", expected->p50_wall_ms);
    weir_api_put_time(e->w, "p90_ms", expected->p90_wall_ms);
    put_assumed(e, expected->is_assumed);
    weir_json_object_end(e->w);
    put_start(e, expected, &text);
    add_sentence(e, &text);
}

/* ---- what it does, how it ended ---- */

static void put_gpu_count(struct weir_str keys, struct weir_buf *text)
{
    struct weir_str key;
    unsigned n = 0;

    while (keys.len > 0 && weir_str_split(&keys, ',', &key))
        n++;
    if (n > 0)
        weir_buf_printf(text, " with %u GPU%s", n, n == 1 ? "" : "s");
}

/* The time limit, and when that ends it. */
static void put_limit(struct explaining *e, const struct weir_workload_record *record,
                      struct weir_buf *text)
{
    const struct weir_api_index *index = &e->call->api->index;
    uint32_t row = weir_api_index_find(index, record->number);
    int64_t limit_ms =
        row != WEIR_NONE ? weir_world_workload(index->world, row)->runtime.limit_ms : INT64_MAX;
    if (limit_ms == INT64_MAX || record->started_wall_ms <= 0)
        return;
    weir_buf_puts(text, ", time limit ");
    weir_duration_format(limit_ms, text);
    if (record->n_tasks > 1 && record->independent) {
        weir_buf_puts(text, " each");
        return;
    }
    weir_buf_puts(text, ", until ");
    weir_words_time(record->started_wall_ms + limit_ms, e->words.now_wall_ms, text);
    weir_buf_puts(text, " at the latest");
}

static void describe_life(struct explaining *e, const struct weir_workload_record *record)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(SENTENCE_MAX);
    const char *state = weir_task_state_name((enum weir_task_state)record->state);
    char how[WEIR_WORDS_END_MAX];
    int64_t until = record->ended_wall_ms > 0 ? record->ended_wall_ms : e->words.now_wall_ms;

    weir_buf_puts(&text, state);
    if (weir_task_state_is_final(record->state)) {
        const char *end = weir_words_end_and_why(record->state, record->cause, record->exit_status,
                                                 record->detail, how);

        if (!weir_str_eq_c(weir_str(end), state))
            weir_buf_printf(&text, ": %s", end);
        weir_buf_puts(&text, ", at ");
        weir_words_time(record->ended_wall_ms, e->words.now_wall_ms, &text);
    } else if (record->node.len > 0) {
        weir_buf_printf(&text, " on node %.*s", WEIR_STR_ARG(record->node));
        put_gpu_count(record->gpus, &text);
    }
    if (record->started_wall_ms > 0) {
        weir_buf_puts(&text, weir_task_state_is_final(record->state) ? ", after " : ", for ");
        weir_duration_format(until > record->started_wall_ms ? until - record->started_wall_ms : 0,
                             &text);
    }
    if (record->attempt > 1)
        weir_buf_printf(&text, " (attempt %u)", record->attempt);
    if (!weir_task_state_is_final(record->state))
        put_limit(e, record, &text);
    add_sentence(e, &text);
}

/* The first of its tasks that had to leave and waits again. */
static int describe_stopped(void *arg, const struct weir_task_record *task)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(SENTENCE_MAX);
    struct explaining *e = arg;

    if (task->state != WEIR_TASK_QUEUED || !weir_cause_requeues(task->cause) ||
        task->detail.len == 0)
        return 0;
    weir_buf_printf(&text, "its attempt %u was stopped", task->attempt);
    if (task->ended_wall_ms > 0) {
        weir_buf_puts(&text, " at ");
        weir_words_time(task->ended_wall_ms, e->words.now_wall_ms, &text);
    }
    weir_buf_printf(&text, ": %.*s", WEIR_STR_ARG(task->detail));
    add_sentence(e, &text);
    return 1;
}

static void describe_waiting(struct explaining *e)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(SENTENCE_MAX);

    weir_buf_puts(&text, "queued: the next decision looks at it");
    add_sentence(e, &text);
}

/* ---- all of it ---- */

static void put_verdict(struct explaining *e, const struct weir_verdict *verdict)
{
    const struct weir_plan *plan = e->words.plan;

    weir_json_key(e->w, "position");
    if (verdict != NULL)
        weir_json_u64(e->w, verdict->position);
    else
        weir_json_null(e->w);
    weir_json_key(e->w, "reasons");
    put_tree(e, verdict != NULL ? verdict->reason : WEIR_NONE, 0);
    weir_json_key(e->w, "blocking");
    if (verdict != NULL && verdict->blocking < plan->n_reasons) {
        weir_json_object_begin(e->w);
        put_reason(e, &plan->reasons[verdict->blocking], false);
        weir_json_object_end(e->w);
    } else {
        weir_json_null(e->w);
    }
    if (verdict != NULL) {
        put_unblock(e, verdict);
    } else {
        weir_json_key(e->w, "unblock");
        weir_json_null(e->w);
    }
}

static bool is_waiting(const struct weir_api_index *index, uint32_t row)
{
    return row != WEIR_NONE && weir_world_workload(index->world, row)->n_waiting > 0;
}

static void put_explanation(struct explaining *e, const struct weir_workload_record *record,
                            const struct weir_verdict *verdict, const struct expected *expected)
{
    const struct weir_store *store = weir_api_store(e->call->api);

    weir_json_object_begin(e->w);
    weir_api_put_id(e->w, "id", record->number);
    weir_api_put_str(e->w, "name", record->name);
    weir_api_put_str(e->w, "state",
                     weir_str(weir_task_state_name((enum weir_task_state)record->state)));
    if (record->state == WEIR_TASK_QUEUED && record->detail.len > 0)
        store->each_task(store->ctx, record->number, describe_stopped, e, NULL);
    if (record->state != WEIR_TASK_QUEUED)
        describe_life(e, record);
    else if (verdict == NULL)
        describe_waiting(e);
    put_verdict(e, verdict);
    put_expected_start(e, expected);
    put_sentences(e);
    weir_json_object_end(e->w);
}

static int reply(struct weir_api_call *call, const struct weir_workload_record *record,
                 const struct expected *expected, struct weir_err *err)
{
    const struct weir_api_index *index = &call->api->index;
    struct explaining *e = weir_arena_new(call->arena, struct explaining);
    uint32_t row = weir_api_index_find(index, record->number);
    const struct weir_verdict *verdict =
        is_waiting(index, row) ? weir_api_index_verdict(index, row) : NULL;
    struct weir_api_json json;

    if (e == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an answer");
    weir_api_json_init(&json);
    e->call = call;
    e->words = (struct weir_words){
        .world = index->plan_world,
        .plan = index->plan,
        .workload = row,
        .until_wall_ms = verdict != NULL && verdict->unblock == WEIR_UNBLOCK_WAIT_UNTIL
                             ? verdict->unblock_amount
                             : 0,
        .now_wall_ms = weir_clock_wall_ms(),
    };
    e->w = &json.w;
    put_explanation(e, record, verdict, expected);
    return weir_api_json_reply(call, 200, &json, err);
}

/* ---- simulating, which may take long, on a thread of its own ---- */

struct simulation {
    uv_work_t work;
    struct weir_api *api; /* waits for it before it goes */
    struct weir_service_eta *eta;
    struct weir_done done;
    struct expected expected;
};

static void simulate(uv_work_t *work)
{
    struct simulation *s = work->data;
    struct expected *x = &s->expected;

    if (s->api->service.eta_run(s->eta, &x->p50_wall_ms, &x->p90_wall_ms, &x->is_assumed, &x->err) <
            0 &&
        x->err.code == 0)
        weir_error(&x->err, WEIR_E_NO_MEMORY, "the simulation failed");
}

static void after_simulation(uv_work_t *work, int status)
{
    struct simulation *s = work->data;
    const struct weir_api_pending *pending = s->done.arg;

    (void)status;
    s->api->service.eta_end(s->eta);
    if (pending->call != NULL)
        pending->call->arg = &s->expected;
    s->done.fn(s->done.arg, 0, 0, NULL);
    weir_api_simulated(s->api);
    weir_mem_free(s);
}

/* Things may have changed meanwhile: all but the expected start is as it is now. */
static int finish_explain(struct weir_api_call *call, uint64_t outcome, struct weir_err *err)
{
    struct weir_workload_record record;
    int r = weir_api_get_record(call, &record, err);

    (void)outcome;
    if (r == 0 &&
        !is_waiting(&call->api->index, weir_api_index_find(&call->api->index, record.number)))
        return reply(call, &record, NULL, err);
    return r < 0 ? r : reply(call, &record, call->arg, err);
}

static int start_simulation(struct weir_api_call *call, struct weir_service_eta *eta,
                            struct weir_err *err)
{
    struct simulation *s = weir_mem_alloc_array(1, sizeof(*s));
    int r;

    if (s == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a simulation");
    r = weir_api_pending_new(call, finish_explain, &s->done, err);
    if (r == 0) {
        s->work.data = s;
        s->api = call->api;
        s->eta = eta;
        r = uv_queue_work(call->api->loop, &s->work, simulate, after_simulation);
        if (r < 0) {
            r = weir_error(err, WEIR_E_UNAVAILABLE, "start a simulation: %s", uv_strerror(r));
            weir_api_pending_drop(call);
        }
    }
    if (r < 0)
        weir_mem_free(s);
    else
        call->api->n_simulating++;
    return r;
}

int weir_api_explain(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;
    struct weir_workload_record record;
    struct expected expected = {0};
    struct weir_service_eta *eta;
    int r = weir_api_get_record(call, &record, err);

    if (r < 0)
        return r;
    if (!is_waiting(&call->api->index, weir_api_index_find(&call->api->index, record.number)))
        return reply(call, &record, NULL, err);
    if (call->api->n_simulating >= SIMULATIONS_MAX)
        weir_error(&expected.err, WEIR_E_UNAVAILABLE, "too many ask at once");
    if (expected.err.code != 0 ||
        service->eta_begin(service->ctx, record.number, &eta, &expected.err) < 0)
        return reply(call, &record, &expected, err);
    r = start_simulation(call, eta, err);
    if (r < 0)
        service->eta_end(eta);
    return r;
}

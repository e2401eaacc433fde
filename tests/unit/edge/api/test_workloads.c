/* Workloads over HTTP: submitting, finding, listing, ending, explaining. */
#include "api_test.h"
#include "base/count.h"

static uint32_t n_items(const struct api_answer *answer)
{
    return weir_tree_get(answer->json, "items")->n_children;
}

/* ---- submitting ---- */

static void test_submit(void **state)
{
    static const char yaml[] = "kind: Workload\nmetadata:\n  name: train\n";
    static const char json[] = "{\"kind\": \"Workload\", \"metadata\": {\"name\": \"train\"}}";
    struct api_answer answer;

    (void)state;
    api_ask(&f, "POST", "/v1/workloads",
            "Content-Type: application/yaml\r\nIdempotency-Key: a b~\r\n", yaml, &answer);
    assert_int_equal(answer.status, 201);
    assert_string_equal(api_header(&answer, "Location"), "/v1/workloads/1");
    assert_string_equal(api_text(&answer, "id"), "1");
    assert_string_equal(api_text(&answer, "name"), "train");
    assert_string_equal(api_text(&answer, "state"), "queued");
    assert_string_equal(api_text(&answer, "exit_status"), "null");
    assert_string_equal(api_text(&answer, "started_ms"), "null");
    assert_string_equal(api_text(&answer, "submitted_ms"), "1000000");
    assert_string_equal(f.asked, "submit key=a b~");
    api_answer_finish(&answer);
    api_ask(&f, "POST", "/v1/workloads", "Content-Type: application/json; charset=UTF-8\r\n", json,
            &answer);
    assert_int_equal(answer.status, 201);
    assert_string_equal(api_text(&answer, "id"), "2");
    assert_string_equal(f.asked, "submit key=");
    api_answer_finish(&answer);
}

/* The peer goes away while the write is under way: nobody is told, nothing breaks. */
static void test_submit_and_leave(void **state)
{
    static const char request[] = "POST /v1/workloads HTTP/1.1\r\nHost: a\r\n"
                                  "Content-Type: application/yaml\r\nContent-Length: 41\r\n\r\n"
                                  "kind: Workload\nmetadata:\n  name: orphaned\n\n";
    int fd = api_dial(&f);

    (void)state;
    api_say(&f, fd, request, sizeof(request) - 1);
    for (int i = 0; i < 1000 && f.dones.n == 0; i++)
        api_turn(&f);
    assert_int_equal(f.dones.n, 1);
    close(fd);
    for (int i = 0; i < 100; i++)
        api_turn(&f);
    api_tick(&f);
    assert_get("/v1/workloads/orphaned", "state", "queued");
}

/* ---- finding ---- */

static void test_by_name(void **state)
{
    struct api_answer answer;
    uint64_t old;

    (void)state;
    old = api_add(&f, "twice", "default", 1, false);
    api_add(&f, "once", "default", 1, false);
    api_start(&f, old, 0, 0);
    api_end(&f, old, 0, WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 3);
    api_tick(&f);
    api_retire(&f, old);
    api_tick(&f);
    assert_get("/v1/workloads/once", "id", "2");
    assert_get("/v1/workloads/twice", "id", "1");
    api_add(&f, "twice", "default", 1, false);
    api_tick(&f);
    assert_get("/v1/workloads/twice", "id", "3"); /* the live one */
    assert_get("/v1/workloads/1", "reason", "exit 3");
    api_add(&f, "twice", "default", 1, false);
    api_tick(&f);
    get("/v1/workloads/twice", 409, &answer);
    assert_string_equal(api_text(&answer, "error.message"),
                        "several workloads are called 'twice': 3, 4");
    api_answer_finish(&answer);
    get("/v1/workloads/onse", 404, &answer);
    assert_string_equal(api_text(&answer, "error.hint"), "did you mean 'once'?");
    api_answer_finish(&answer);
    get("/v1/workloads/99", 404, &answer);
    api_answer_finish(&answer);
    get("/v1/workloads/99999999999999999999", 404, &answer);
    api_answer_finish(&answer);
}

static void test_one(void **state)
{
    struct api_answer answer;
    uint64_t number;

    (void)state;
    number = api_add(&f, "pair", "research", 2, false);
    api_start(&f, number, 0, 0);
    api_start(&f, number, 1, 1);
    api_run(&f, number, 0);
    api_tick(&f);
    get("/v1/workloads/1", 200, &answer);
    assert_string_equal(api_text(&answer, "state"), "running");
    assert_string_equal(api_text(&answer, "queue"), "research");
    assert_string_equal(api_text(&answer, "members"), "2");
    assert_string_equal(api_text(&answer, "array"), "false");
    assert_string_equal(api_text(&answer, "node"), "alpha");
    assert_string_equal(api_text(&answer, "reason"), "null");
    assert_string_equal(api_text(&answer, "tasks_by_state.running"), "1");
    assert_string_equal(api_text(&answer, "tasks_by_state.starting"), "1");
    assert_string_equal(api_text(&answer, "tasks[0].gpus[0]"), "GPU-0");
    assert_string_equal(api_text(&answer, "tasks[1].member"), "1");
    assert_string_equal(api_text(&answer, "tasks[1].state"), "starting");
    assert_string_equal(api_text(&answer, "spec.command[0]"), "true");
    api_answer_finish(&answer);
    api_stop(&f, number, 0, WEIR_CAUSE_PREEMPTED);
    api_stop(&f, number, 1, WEIR_CAUSE_PREEMPTED);
    api_tick(&f);
    assert_get("/v1/workloads/1", "reason", "stopping for a higher priority");
    assert_get("/v1/workloads/1", "tasks[0].reason", "stopping for a higher priority");
}

static void test_tasks_in_pages(void **state)
{
    struct api_answer answer;
    uint64_t number;

    (void)state;
    number = api_add(&f, "many", "default", 10, true);
    api_start(&f, number, 4, 0);
    api_tick(&f);
    get("/v1/workloads/many?limit=3&after=3", 200, &answer);
    assert_int_equal(weir_tree_get(answer.json, "tasks")->n_children, 3);
    assert_string_equal(api_text(&answer, "tasks[0].member"), "3");
    assert_string_equal(api_text(&answer, "tasks[0].state"), "queued");
    assert_string_equal(api_text(&answer, "tasks[1].state"), "starting");
    assert_string_equal(api_text(&answer, "tasks[2].member"), "5");
    assert_string_equal(api_text(&answer, "tasks_next"), "6");
    assert_string_equal(api_text(&answer, "tasks_by_state.queued"), "9");
    api_answer_finish(&answer);
    get("/v1/workloads/many?after=6", 200, &answer);
    assert_int_equal(weir_tree_get(answer.json, "tasks")->n_children, 4);
    assert_string_equal(api_text(&answer, "tasks_next"), "");
    api_answer_finish(&answer);
    get("/v1/workloads/many?after=11", 400, &answer);
    api_answer_finish(&answer);
    get("/v1/workloads/many/tasks?state=queued&limit=4", 200, &answer);
    assert_int_equal(weir_tree_get(answer.json, "items")->n_children, 4);
    assert_string_equal(api_text(&answer, "items[3].member"), "3");
    assert_string_equal(api_text(&answer, "next"), "5"); /* 4 is passed over: it starts */
    api_answer_finish(&answer);
    get("/v1/workloads/many/tasks?state=queued&after=5", 200, &answer);
    assert_int_equal(weir_tree_get(answer.json, "items")->n_children, 5);
    assert_string_equal(api_text(&answer, "next"), "");
    api_answer_finish(&answer);
    get("/v1/workloads/many/tasks?state=starting", 200, &answer);
    assert_int_equal(weir_tree_get(answer.json, "items")->n_children, 1);
    assert_string_equal(api_text(&answer, "items[0].member"), "4");
    api_answer_finish(&answer);
    get("/v1/workloads/many/tasks?state=failedd", 400, &answer);
    assert_string_equal(api_text(&answer, "error.hint"), "did you mean 'failed'?");
    api_answer_finish(&answer);
}

/* Values of the environment are for the owner and for admins. Over TCP as somebody else they are
 * left out, here and in the snapshot for everybody. */
static void test_secrets(void **state)
{
    struct api_answer answer;

    (void)state;
    api_add_as(&f, "mine", "eve", 4242, "{\"command\":[\"x\"],\"env\":{\"KEY\":\"hush\"}}");
    api_tick(&f);
    assert_get("/v1/workloads/mine", "spec.env.KEY", "hush"); /* the test is admin */
    api_ask_tcp(&f, "GET", "/v1/workloads/mine", "Authorization: Bearer read-token-0123456789\r\n",
                NULL, &answer);
    assert_string_equal(api_text(&answer, "spec.env.KEY"), "null");
    assert_string_equal(api_text(&answer, "spec.command[0]"), "x");
    assert_null(strstr(weir_buf_cstr(&answer.body), "hush"));
    api_answer_finish(&answer);
    get("/v1/snapshot", 200, &answer);
    assert_null(strstr(weir_buf_cstr(&answer.body), "hush"));
    assert_string_equal(api_text(&answer, "workloads[0].spec.env.KEY"), "null");
    api_answer_finish(&answer);
}

/* ---- listing ---- */

static void test_pages(void **state)
{
    char target[64] = "/v1/workloads?limit=3";
    uint32_t seen = 0;

    (void)state;
    for (int i = 0; i < 8; i++)
        api_add(&f, "w", "default", 1, false);
    api_tick(&f);
    for (int page = 0; page < 3; page++) {
        struct api_answer answer;

        get(target, 200, &answer);
        assert_int_equal(n_items(&answer), page < 2 ? 3 : 2);
        for (uint32_t i = 0; i < n_items(&answer); i++) {
            char path[32];
            char number[16];

            snprintf(path, sizeof(path), "items[%u].id", i);
            snprintf(number, sizeof(number), "%u", ++seen);
            assert_string_equal(api_text(&answer, path), number);
        }
        if (page == 2)
            assert_string_equal(api_text(&answer, "next"), "");
        snprintf(target, sizeof(target), "/v1/workloads?limit=3&after=%s",
                 api_text(&answer, "next"));
        api_answer_finish(&answer);
    }
    assert_int_equal(seen, 8);
}

static void test_filters(void **state)
{
    static const struct {
        const char *query;
        uint32_t n;
    } filters[] = {
        {"", 3},           {"?all=true", 4},           {"?queue=research", 1}, {"?owner=eve", 1},
        {"?name=a", 1},    {"?state=running", 1},      {"?state=failed", 1},   {"?state=lost", 0},
        {"?all=false", 3}, {"?all=true&name=gone", 1}, {"?queue=none", 0},     {"?after=2", 2},
    };
    uint64_t running;
    uint64_t gone;

    (void)state;
    running = api_add(&f, "a", "research", 1, false);
    gone = api_add(&f, "gone", "default", 1, false);
    api_add_as(&f, "b", "eve", 4242, "{}");
    api_add(&f, "c", "default", 1, false);
    api_start(&f, running, 0, 0);
    api_run(&f, running, 0);
    api_start(&f, gone, 0, 1);
    api_end(&f, gone, 0, WEIR_TASK_FAILED, WEIR_CAUSE_TIME_LIMIT, 143);
    api_tick(&f);
    for (size_t i = 0; i < WEIR_COUNT_OF(filters); i++) {
        char target[64];
        struct api_answer answer;

        snprintf(target, sizeof(target), "/v1/workloads%s", filters[i].query);
        get(target, 200, &answer);
        if (n_items(&answer) != filters[i].n)
            fail_msg("%s: %u", target, n_items(&answer));
        api_answer_finish(&answer);
    }
}

static void test_ends(void **state)
{
    static const struct {
        enum weir_task_state state;
        enum weir_cause cause;
        int exit_status;
        const char *reason;
        const char *status;
    } ends[] = {
        {WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0, "exit 0", "0"},
        {WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 3, "exit 3", "3"},
        {WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 137, "killed by signal 9 (KILL)", "137"},
        {WEIR_TASK_FAILED, WEIR_CAUSE_TIME_LIMIT, 143, "time limit", "143"},
        {WEIR_TASK_FAILED, WEIR_CAUSE_OUT_OF_MEMORY, 137, "out of memory", "137"},
        {WEIR_TASK_CANCELLED, WEIR_CAUSE_CANCELLED, 143, "cancelled", "143"},
        {WEIR_TASK_LOST, WEIR_CAUSE_LOST, 0, "lost: it ended unseen", "null"},
        {WEIR_TASK_FAILED, WEIR_CAUSE_NOT_STARTED, 0, "it could not be started", "null"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(ends); i++) {
        uint64_t number = api_add(&f, "w", "default", 1, false);
        char target[32];

        api_start(&f, number, 0, -1);
        api_end(&f, number, 0, ends[i].state, ends[i].cause, ends[i].exit_status);
        api_tick(&f);
        snprintf(target, sizeof(target), "/v1/workloads/%llu", (unsigned long long)number);
        assert_get(target, "reason", ends[i].reason);
        assert_get(target, "exit_status", ends[i].status);
        assert_get(target, "tasks[0].exit_status", ends[i].status);
        assert_get(target, "state", weir_task_state_name(ends[i].state));
        assert_get(target, "ended_ms", "3000000");
    }
}

/* An ended array counts its tasks from the store, also those that never started. */
static void test_ended_array(void **state)
{
    uint64_t number;

    (void)state;
    number = api_add(&f, "sweep", "default", 3, true);
    for (uint32_t i = 0; i < 3; i++) {
        api_start(&f, number, i, -1);
        api_end(&f, number, i, i == 1 ? WEIR_TASK_FAILED : WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED,
                i == 1);
    }
    api_tick(&f);
    api_retire(&f, number);
    api_tick(&f);
    assert_get("/v1/workloads?all=true", "items[0].tasks_by_state.succeeded", "2");
    assert_get("/v1/workloads?all=true", "items[0].tasks_by_state.failed", "1");
    assert_get("/v1/workloads/sweep", "state", "failed");
}

/* ---- ending, signalling ---- */

static void test_cancel_and_signal(void **state)
{
    static const char *const json = "Content-Type: application/json\r\n";
    static const struct {
        const char *body;
        int status;
        const char *asked;
    } signals[] = {
        {"{\"signal\": \"INT\"}", 202, "signal 1 2"},
        {"{\"signal\": \"SIGUSR1\"}", 202, "signal 1 10"},
        {"{\"signal\": 15}", 202, "signal 1 15"},
        {"{\"signal\": \"NOSUCH\"}", 400, NULL},
        {"{\"signal\": 0}", 400, NULL},
        {"{\"signal\": null}", 400, NULL},
        {"{\"signal\": \"INT\", \"x\": 1}", 400, NULL},
        {"{}", 400, NULL},
        {"[]", 400, NULL},
    };
    struct api_answer answer;

    (void)state;
    api_add(&f, "train", "default", 1, false);
    api_tick(&f);
    for (size_t i = 0; i < WEIR_COUNT_OF(signals); i++) {
        f.asked[0] = '\0';
        api_ask(&f, "POST", "/v1/workloads/train/signal", json, signals[i].body, &answer);
        if (answer.status != signals[i].status)
            fail_msg("%s: %d", signals[i].body, answer.status);
        assert_string_equal(f.asked, signals[i].asked != NULL ? signals[i].asked : "");
        api_answer_finish(&answer);
    }
    f.refuse = WEIR_E_UNAVAILABLE;
    api_ask(&f, "POST", "/v1/workloads/train/signal", json, "{\"signal\": \"INT\"}", &answer);
    assert_int_equal(answer.status, 503);
    api_answer_finish(&answer);
    f.refuse = 0;
    api_ask(&f, "POST", "/v1/workloads/train/cancel", NULL, NULL, &answer);
    assert_int_equal(answer.status, 202);
    assert_string_equal(f.asked, "cancel 1");
    assert_string_equal(api_text(&answer, "id"), "1");
    assert_string_equal(api_text(&answer, "was"), "queued");
    api_answer_finish(&answer);
    api_ask(&f, "POST", "/v1/workloads/nobody/cancel", NULL, NULL, &answer);
    assert_int_equal(answer.status, 404);
    api_answer_finish(&answer);
}

/* ---- explaining ---- */

static void plan_for(uint64_t waiting, uint64_t holder)
{
    static struct weir_reason reasons[4];
    static struct weir_holder holders[1];
    static struct weir_awaited ends[1];
    static struct weir_verdict verdicts[1];

    ends[0] = (struct weir_awaited){api_row(&f, holder), 1, 51840000};
    holders[0] = (struct weir_holder){api_row(&f, holder), 1, 1000, 51840000};
    reasons[0] = (struct weir_reason){.level = WEIR_LEVEL_WORKLOAD,
                                      .subject = WEIR_NONE,
                                      .resource = WEIR_NONE,
                                      .first_child = 1,
                                      .next = WEIR_NONE};
    reasons[1] = (struct weir_reason){.level = WEIR_LEVEL_QUEUE,
                                      .subject_kind = WEIR_SUBJECT_QUEUE,
                                      .subject = f.research,
                                      .resource = WEIR_RES_GPU,
                                      .have = 1000,
                                      .need = 1000,
                                      .first_child = WEIR_NONE,
                                      .next = 2};
    reasons[2] = (struct weir_reason){.level = WEIR_LEVEL_NODES,
                                      .code = WEIR_REASON_RESOURCES,
                                      .subject = WEIR_NONE,
                                      .resource = WEIR_RES_GPU,
                                      .count = 2,
                                      .need = 1000,
                                      .first_child = 3,
                                      .next = WEIR_NONE};
    reasons[3] = (struct weir_reason){.level = WEIR_LEVEL_DEVICES,
                                      .code = WEIR_REASON_DEVICE_BUSY,
                                      .subject = WEIR_NONE,
                                      .resource = WEIR_NONE,
                                      .count = 1,
                                      .n_holders = 1,
                                      .first_child = WEIR_NONE,
                                      .next = WEIR_NONE};
    verdicts[0] = (struct weir_verdict){.workload = api_row(&f, waiting),
                                        .position = 1,
                                        .reason = 0,
                                        .blocking = 2,
                                        .unblock = WEIR_UNBLOCK_WAIT_FOR,
                                        .unblock_subject_kind = WEIR_SUBJECT_WORKLOAD,
                                        .unblock_subject = api_row(&f, holder),
                                        .unblock_resource = WEIR_NONE,
                                        .unblock_n_ends = 1};
    f.plan = (struct weir_plan){.verdicts = verdicts,
                                .n_verdicts = 1,
                                .reasons = reasons,
                                .n_reasons = 4,
                                .holders = holders,
                                .n_holders = 1,
                                .ends = ends,
                                .n_ends = 1};
}

static void test_explain_waiting(void **state)
{
    struct api_answer answer;
    uint64_t holder;
    uint64_t waiting;

    (void)state;
    holder = api_add(&f, "train", "research", 1, false);
    waiting = api_add(&f, "next", "research", 1, false);
    api_start(&f, holder, 0, 0);
    api_run(&f, holder, 0);
    api_tick(&f);
    plan_for(waiting, holder);
    f.eta_p50 = 51840000;  /* 1 January 1970, 14:24 */
    f.eta_p90 = 103680000; /* and the day after, 04:48 */
    api_tick(&f);
    assert_get("/v1/workloads/next", "reason", "Resources");
    assert_get("/v1/workloads", "items[1].reason", "Resources");
    get("/v1/workloads/next/explain", 200, &answer);
    assert_string_equal(api_text(&answer, "position"), "1");
    assert_string_equal(api_text(&answer, "reasons[0].code"), "None");
    assert_string_equal(api_text(&answer, "reasons[0].children[0].subject"), "queue/research");
    assert_string_equal(api_text(&answer, "reasons[0].children[1].code"), "Resources");
    assert_string_equal(api_text(&answer, "reasons[0].children[1].need"), "1");
    assert_string_equal(api_text(&answer, "reasons[0].children[1].children[0].holders[0].name"),
                        "train");
    assert_string_equal(
        api_text(&answer, "reasons[0].children[1].children[0].holders[0].end_p50_ms"), "51840000");
    assert_string_equal(api_text(&answer, "blocking.code"), "Resources");
    assert_string_equal(api_text(&answer, "unblock.kind"), "wait-for");
    assert_string_equal(api_text(&answer, "unblock.subject"), "workload/1");
    assert_string_equal(api_text(&answer, "unblock.ends[0].id"), "1");
    assert_string_equal(api_text(&answer, "unblock.ends[0].name"), "train");
    assert_string_equal(api_text(&answer, "unblock.ends[0].end_p50_ms"), "51840000");
    assert_string_equal(api_text(&answer, "unblock.ends[0].assumed"), "true");
    assert_string_equal(api_text(&answer, "reasons[0].children[1].children[0].holders[0].assumed"),
                        "true");
    assert_string_equal(api_text(&answer, "expected_start.assumed"), "true");
    assert_string_equal(api_text(&answer, "unblock.more_cordons"), "0");
    assert_string_equal(api_text(&answer, "unblock.more_ends"), "0");
    assert_string_equal(api_text(&answer, "expected_start.p90_ms"), "103680000");
    assert_string_equal(api_text(&answer, "text[0]"), "workload: ok");
    assert_string_equal(api_text(&answer, "text[1]"),
                        "queue research: ok (1 GPU held, limit 2 GPUs)");
    assert_string_equal(api_text(&answer, "text[2]"), "nodes: not enough free GPUs anywhere");
    assert_string_equal(
        api_text(&answer, "text[3]"),
        "GPUs: 1 of 3 GPUs is held by other workloads; held by workload 1 (until about "
        "1970-01-01 14:24 UTC, assumed)");
    assert_string_equal(api_text(&answer, "text[4]"),
                        "what it needs comes free with the end of workload/1");
    assert_string_equal(api_text(&answer, "text[5]"),
                        "starts about 1970-01-01 14:24 UTC (at the latest 1970-01-02 04:48 UTC), "
                        "a guess: how long others run is assumed where it is not known");
    api_answer_finish(&answer);
}

/* The simulation may fail, be one of too many, or end when nobody waits for it any more. */
static void test_explain_without_time(void **state)
{
    static const char request[] = "GET /v1/workloads/next/explain HTTP/1.1\r\nHost: a\r\n\r\n";
    struct api_answer answer;
    int fds[8];

    (void)state;
    api_add(&f, "next", "research", 1, false);
    api_tick(&f);
    f.eta_p50 = 51840000;
    get("/v1/workloads/next/explain", 200, &answer);
    assert_string_equal(api_text(&answer, "expected_start"), "null");
    assert_string_equal(api_text(&answer, "text[1]"),
                        "when it starts cannot be told: too large to simulate");
    api_answer_finish(&answer);
    f.eta_p90 = INT64_MAX;
    get("/v1/workloads/next/explain", 200, &answer);
    assert_string_equal(api_text(&answer, "expected_start.p90_ms"), "null");
    assert_non_null(strstr(api_text(&answer, "text[1]"), "(at the latest unknown)"));
    api_answer_finish(&answer);
    f.eta_takes_ms = 500;
    for (size_t i = 0; i < WEIR_COUNT_OF(fds); i++) {
        fds[i] = api_dial(&f);
        api_say(&f, fds[i], request, sizeof(request) - 1);
        for (int k = 0; k < 10; k++)
            api_turn(&f);
    }
    get("/v1/workloads/next/explain", 200, &answer);
    assert_string_equal(api_text(&answer, "text[1]"),
                        "when it starts cannot be told: too many ask at once");
    api_answer_finish(&answer);
    for (size_t i = 0; i < WEIR_COUNT_OF(fds); i++)
        close(fds[i]);
    /* The fixture goes while they are under way. */
}

static void test_explain_others(void **state)
{
    struct api_answer answer;
    uint64_t running;

    (void)state;
    running = api_add(&f, "train", "default", 1, false);
    api_add(&f, "fresh", "default", 1, false);
    api_start(&f, running, 0, 0);
    api_run(&f, running, 0);
    weir_edit_workload(f.edit, api_row(&f, running))->runtime.limit_ms = 3600000;
    api_tick(&f);
    get("/v1/workloads/train/explain", 200, &answer);
    assert_non_null(strstr(api_text(&answer, "text[0]"), "running on node alpha with 1 GPU, for "));
    assert_non_null(strstr(api_text(&answer, "text[0]"), ", time limit 1h00m, until "));
    assert_string_equal(api_text(&answer, "expected_start"), "null");
    api_answer_finish(&answer);
    get("/v1/workloads/fresh/explain", 200, &answer);
    assert_string_equal(api_text(&answer, "text[0]"), "queued: the next decision looks at it");
    assert_non_null(strstr(api_text(&answer, "text[1]"), "cannot be told"));
    api_answer_finish(&answer);
    api_end(&f, running, 0, WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 9);
    api_tick(&f);
    api_retire(&f, running);
    api_tick(&f);
    get("/v1/workloads/train/explain", 200, &answer);
    assert_string_equal(api_text(&answer, "text[0]"),
                        "failed: exit 9, at 1970-01-01 00:50 UTC, after 16m40s");
    assert_string_equal(api_text(&answer, "text[1]"), "");
    api_answer_finish(&answer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_set_up, api_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_submit),
        TEST(test_submit_and_leave),
        TEST(test_by_name),
        TEST(test_one),
        TEST(test_tasks_in_pages),
        TEST(test_secrets),
        TEST(test_pages),
        TEST(test_filters),
        TEST(test_ends),
        TEST(test_ended_array),
        TEST(test_cancel_and_signal),
        TEST(test_explain_waiting),
        TEST(test_explain_without_time),
        TEST(test_explain_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Queues, GPUs, nodes, apply, metrics, snapshot, and what the server says of itself. */
#include "api_test.h"
#include "base/clock.h"
#include "base/count.h"
#include "edge/api/impl.h"
#include "fmt/prom.h"
#include "fmt/schema.h"
#include "model/fault.h"

static void post(const char *method, const char *target, int status, const char *asked)
{
    struct api_answer answer;

    f.asked[0] = '\0';
    api_ask(&f, method, target, NULL, NULL, &answer);
    assert_int_equal(answer.status, status);
    assert_string_equal(f.asked, asked);
    api_answer_finish(&answer);
}

static void test_faults(void **state)
{
    static const struct {
        const char *body;
        const char *field;
        const char *says;
    } wrong[] = {
        {"[]", "", "expected {"},
        {"{}", "faults", "missing"},
        {"{\"faults\":[]}", "faults", "expected a list"},
        {"{\"faults\":\"gpu 0 lost\"}", "faults", "expected a list"},
        {"{\"faults\":[7]}", "faults[0]", "expected a text"},
        {"{\"faults\":[\"gpu 0 lost\\ngpu 1 lost\"]}", "faults[0]", "in one line"},
        {"{\"faults\":[\"gpu 0 lost # \\u001b[1m\"]}", "faults[0]", "in one line"},
        {"{\"faults\":[\"gpu 0 lost\"],\"node\":\"a\"}", "node", "unknown field"},
    };
    static const char json[] = "Content-Type: application/json\r\n";
    struct api_answer answer;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(wrong); i++) {
        f.asked[0] = '\0';
        api_ask(&f, "POST", "/v1/simulation/faults", json, wrong[i].body, &answer);
        assert_int_equal(answer.status, 400);
        assert_string_equal(api_text(&answer, "error.field"), wrong[i].field);
        assert_non_null(strstr(api_text(&answer, "error.message"), wrong[i].says));
        assert_string_equal(f.asked, "");
        api_answer_finish(&answer);
    }
    api_ask(&f, "POST", "/v1/simulation/faults", json,
            "{\"faults\":[\"gpu 0 lost\",\"gpu all xid 31\"]}", &answer);
    assert_int_equal(answer.status, 202);
    assert_string_equal(api_text(&answer, "faults"), "2");
    assert_string_equal(f.asked, "befall gpu 0 lost\ngpu all xid 31\n");
    api_answer_finish(&answer);
    api_ask(&f, "POST", "/v1/simulation/faults", json,
            "{\"faults\":[\"gpu 0 lost\",\n\"gpu 0 wrong\"]}", &answer);
    assert_int_equal(answer.status, 404);
    assert_string_equal(api_text(&answer, "error.field"), "faults[1]");
    assert_string_equal(api_text(&answer, "error.line"), "2");
    assert_string_equal(api_text(&answer, "error.message"), "character 7: no such thing");
    api_answer_finish(&answer);
    f.refuse = WEIR_E_UNSUPPORTED;
    api_ask(&f, "POST", "/v1/simulation/faults", json, "{\"faults\":[\"gpu 0 lost\"]}", &answer);
    assert_int_equal(answer.status, 501);
    api_answer_finish(&answer);
}

static void test_queues(void **state)
{
    struct api_answer answer;
    uint64_t running;

    (void)state;
    running = api_add(&f, "a", "research", 1, false);
    api_add(&f, "b", "research", 2, false);
    api_start(&f, running, 0, 0);
    api_tick(&f);
    get("/v1/queues", 200, &answer);
    assert_string_equal(api_text(&answer, "items[0].name"), "default");
    assert_string_equal(api_text(&answer, "items[0].limit.gpu"), ""); /* none */
    assert_string_equal(api_text(&answer, "items[1].name"), "research");
    assert_string_equal(api_text(&answer, "items[1].guaranteed.gpu"), "1");
    assert_string_equal(api_text(&answer, "items[1].limit.gpu"), "2");
    assert_string_equal(api_text(&answer, "items[1].held.gpu"), "1");
    assert_string_equal(api_text(&answer, "items[1].wanted.gpu"), "2");
    assert_string_equal(api_text(&answer, "items[1].waiting"), "1");
    assert_string_equal(api_text(&answer, "next"), "");
    api_answer_finish(&answer);
    assert_get("/v1/queues?limit=1", "next", "default");
    assert_get("/v1/queues?limit=1&after=default", "items[0].name", "research");
    assert_get("/v1/queues/research", "waiting", "1");
    get("/v1/queues/reserch", 404, &answer);
    assert_string_equal(api_text(&answer, "error.hint"), "did you mean 'research'?");
    api_answer_finish(&answer);
    post("DELETE", "/v1/queues/research", 202, "delete research");
    f.refuse = WEIR_E_EXISTS;
    post("DELETE", "/v1/queues/research", 409, "delete research");
}

static void test_gpus(void **state)
{
    struct api_answer answer;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_start(&f, number, 0, 1);
    api_tick(&f);
    get("/v1/gpus", 200, &answer);
    assert_string_equal(api_text(&answer, "items[0].key"), "GPU-0");
    assert_string_equal(api_text(&answer, "items[0].state"), "free");
    assert_string_equal(api_text(&answer, "items[0].class"), "h100-sxm");
    assert_string_equal(api_text(&answer, "items[0].memory_bytes"), "85899345920");
    assert_string_equal(api_text(&answer, "items[1].state"), "in-use");
    assert_string_equal(api_text(&answer, "items[1].holders[0].id"), "1");
    assert_string_equal(api_text(&answer, "items[1].holders[0].name"), "train");
    assert_string_equal(api_text(&answer, "items[1].holders[0].gpus"), "1");
    assert_string_equal(api_text(&answer, "items[2].node"), "beta");
    api_answer_finish(&answer);
    assert_get("/v1/gpus/GPU-2", "model", "NVIDIA H100 80GB HBM3");
    assert_get("/v1/gpus?limit=2", "next", "GPU-1");
    get("/v1/gpus/GPU-9", 404, &answer);
    api_answer_finish(&answer);
    post("POST", "/v1/gpus/GPU-0/cordon", 202, "phase gpu GPU-0 cordoned");
    post("POST", "/v1/gpus/GPU-0/uncordon", 202, "phase gpu GPU-0 ready");
}

/* Of a GPU that is out of service for a fault: why, and what a person is to do. */
static void test_gpu_fault(void **state)
{
    const struct weir_mark_record mark = {.key = WEIR_STR("GPU-1"),
                                          .cause = WEIR_STR("Xid 79, it fell off"),
                                          .class = WEIR_STR("xid:79"),
                                          .action = WEIR_FAULT_ACTION_REBOOT_NODE,
                                          .then = WEIR_FAULT_ACTION_SUPPORT,
                                          .since_wall_ms = 1700000000000};
    struct api_answer answer;

    (void)state;
    api_tick(&f);
    f.mark = &mark;
    get("/v1/gpus/GPU-1", 200, &answer);
    assert_string_equal(api_text(&answer, "fault.class"), "xid:79");
    assert_string_equal(api_text(&answer, "fault.evidence"), "Xid 79, it fell off");
    assert_string_equal(api_text(&answer, "fault.since_ms"), "1700000000000");
    assert_string_equal(api_text(&answer, "fault.to_do"),
                        weir_fault_action_words(WEIR_FAULT_ACTION_REBOOT_NODE));
    assert_string_equal(api_text(&answer, "fault.if_that_does_not_help"),
                        weir_fault_action_words(WEIR_FAULT_ACTION_SUPPORT));
    api_answer_finish(&answer);
    get("/v1/gpus/GPU-0", 200, &answer);
    assert_string_equal(api_text(&answer, "fault"), "null");
    api_answer_finish(&answer);
    f.mark = NULL;
}

static void assert_processes(const struct api_answer *answer)
{
    assert_string_equal(api_text(answer, "reading.processes[0].sm_percent"), "42");
    assert_string_equal(api_text(answer, "reading.processes[0].gpu_instance"), "null");
    assert_string_equal(api_text(answer, "reading.processes[0].user"), "null");
    assert_string_equal(api_text(answer, "reading.processes[0].workload"), "null");
    assert_string_equal(api_text(answer, "reading.processes[0].foreign"), "null");
    assert_string_equal(api_text(answer, "reading.processes[1].memory_bytes"), "null");
    assert_string_equal(api_text(answer, "reading.processes[1].gpu_instance"), "3");
    assert_string_equal(api_text(answer, "reading.processes[1].user"), "root");
    assert_string_equal(api_text(answer, "reading.processes[1].workload"), "12");
    assert_string_equal(api_text(answer, "reading.processes[1].foreign"), "true");
}

static void test_gpu_reading(void **state)
{
    static const struct weir_gpu_process processes[] = {
        {100, WEIR_GPU_PROCESS_COMPUTE, WEIR_GPU_PROCESS_HAS_MEMORY | WEIR_GPU_PROCESS_HAS_SM, 42,
         7, WEIR_GPU_NO_INSTANCE, WEIR_GPU_NO_INSTANCE},
        {101, WEIR_GPU_PROCESS_COMPUTE, 0, 0, 0, 3, 0}};
    static const struct weir_gpu_mig_profile profiles[] = {{.id = 19, .name = WEIR_STR("1g.10gb")}};
    static const struct weir_gpu_compute_instance compute[] = {{0, 0, WEIR_STR("MIG-1")}};
    static const struct weir_gpu_instance instances[] = {
        {.id = 3, .profile_id = 19, .placement = {2, 1}, .compute = compute, .n_compute = 1},
        {.id = 4, .profile_id = 20}};
    struct weir_gpu_sample sample = {.read_ms = weir_clock_mono_ms() - 500,
                                     .has_processes = true,
                                     .processes = processes,
                                     .n_processes = 2};
    struct weir_gpu_device gpu = {.uuid = WEIR_STR("GPU-1"),
                                  .state = WEIR_GPU_HUNG,
                                  .cause = WEIR_STR("it does not answer"),
                                  .profiles = profiles,
                                  .n_profiles = 1,
                                  .instances = instances,
                                  .n_instances = 2};
    struct api_answer answer;

    (void)state;
    api_tick(&f);
    get("/v1/gpus/GPU-1", 200, &answer);
    assert_string_equal(api_text(&answer, "reading"), "null");
    api_answer_finish(&answer);
    f.gpu = &gpu;
    get("/v1/gpus/GPU-1", 200, &answer);
    assert_string_equal(api_text(&answer, "reading.state"), "hung");
    assert_string_equal(api_text(&answer, "reading.cause"), "it does not answer");
    assert_string_equal(api_text(&answer, "reading.age_ms"), "null");
    assert_string_equal(api_text(&answer, "reading.mig"), "null");
    api_answer_finish(&answer);
    gpu.sample = &sample;
    f.known_pid = 101;
    f.known_process = (struct weir_service_process){.uid = 0, .number = 12, .is_foreign = true};
    gpu.valid = WEIR_GPU_HAS_MIG_MODE | WEIR_GPU_HAS_NUMA;
    gpu.mig_mode = true;
    weir_gpu_set_limit(&gpu.limits, WEIR_GPU_PCIE_WIDTH_MAX, 16);
    weir_gpu_set_metric(&sample.metrics, WEIR_GPU_POWER_MW, 350000);
    weir_gpu_set_metric(&sample.metrics, WEIR_GPU_NVLINK_RECEIVED_BYTES_S, 0);
    get("/v1/gpus/GPU-1", 200, &answer);
    assert_string_equal(api_text(&answer, "reading.numa_node"), "0");
    assert_string_equal(api_text(&answer, "reading.limits.pcie_width_max"), "16");
    assert_string_equal(api_text(&answer, "reading.metrics.power_mw"), "350000");
    assert_string_equal(api_text(&answer, "reading.metrics.nvlink_received_bytes_s"), "0");
    assert_string_equal(api_text(&answer, "reading.metrics.temperature_c"), "");
    assert_true(atoi(api_text(&answer, "reading.age_ms")) >= 500);
    assert_processes(&answer);
    assert_string_equal(api_text(&answer, "reading.mig.enabled"), "true");
    assert_string_equal(api_text(&answer, "reading.mig.instances[0].profile"), "1g.10gb");
    assert_string_equal(api_text(&answer, "reading.mig.instances[0].keys[0]"), "MIG-1");
    assert_string_equal(api_text(&answer, "reading.mig.instances[1].profile"), "");
    api_answer_finish(&answer);
    f.gpu = NULL;
}

/* As much of a key as is unique. */
static void test_gpu_by_prefix(void **state)
{
    static const char *const keys[] = {"GPU-8f1c22", "GPU-8f1c33", "GPU-8f1c"};
    struct api_answer answer;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(keys); i++)
        weir_edit_string(f.edit, weir_str(keys[i]), &weir_edit_device(f.edit, f.gpus[i])->uuid);
    api_tick(&f);
    assert_get("/v1/gpus/GPU-8f1c", "key", "GPU-8f1c"); /* a whole key is no prefix */
    assert_get("/v1/gpus/GPU-8f1c2", "key", "GPU-8f1c22");
    post("POST", "/v1/gpus/GPU-8f1c3/cordon", 202, "phase gpu GPU-8f1c33 cordoned");
    weir_edit_string(f.edit, WEIR_STR("GPU-other"), &weir_edit_device(f.edit, f.gpus[2])->uuid);
    api_tick(&f);
    get("/v1/gpus/GPU-8f1c", 409, &answer);
    assert_string_equal(api_text(&answer, "error.message"),
                        "several GPUs begin with 'GPU-8f1c': GPU-8f1c22, GPU-8f1c33");
    api_answer_finish(&answer);
    post("POST", "/v1/gpus/GPU-8f1c/cordon", 409, "");
    get("/v1/gpus/GPU-", 409, &answer);
    assert_string_equal(api_text(&answer, "error.message"),
                        "several GPUs begin with 'GPU-': GPU-8f1c22, GPU-8f1c33, GPU-other");
    api_answer_finish(&answer);
    post("POST", "/v1/gpus/GPU-/uncordon", 409, "");
    get("/v1/gpus/GPU", 404, &answer); /* no key could be meant */
    api_answer_finish(&answer);
    post("POST", "/v1/gpus/GPU-x/cordon", 404, "");
    post("DELETE", "/v1/gpus/GPU-8f1c3", 202, "delete gpu GPU-8f1c33");
    post("DELETE", "/v1/gpus/GPU-8f1c", 409, "");
    post("DELETE", "/v1/gpus/GPU-x", 404, "");
    post("POST", "/v1/nodes/beta-9/cordon", 404, "");
    assert_get("/v1/gpus/GPU-o", "key", "GPU-other");
}

static void test_gpu_states(void **state)
{
    static const struct {
        enum weir_device_health health;
        uint32_t cordoned;
        uint32_t n_foreign;
        enum weir_node_phase phase;
        const char *state;
    } cases[] = {
        {WEIR_DEVICE_HEALTHY, 0, 0, WEIR_NODE_READY, "free"},
        {WEIR_DEVICE_HEALTHY, 1, 0, WEIR_NODE_READY, "cordoned"},
        {WEIR_DEVICE_HEALTHY, 0, 0, WEIR_NODE_DRAINING, "drained"},
        {WEIR_DEVICE_HEALTHY, 0, 2, WEIR_NODE_READY, "foreign"},
        {WEIR_DEVICE_SUSPECT, 1, 2, WEIR_NODE_READY, "suspect"},
        {WEIR_DEVICE_UNHEALTHY, 0, 0, WEIR_NODE_READY, "unhealthy"},
        {WEIR_DEVICE_LOST, 0, 0, WEIR_NODE_READY, "lost"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_device *device = weir_edit_device(f.edit, f.gpus[0]);

        device->health = cases[i].health;
        device->cordoned = cases[i].cordoned;
        device->n_foreign = cases[i].n_foreign;
        weir_edit_node(f.edit, f.nodes[0])->phase = cases[i].phase;
        api_tick(&f);
        assert_get("/v1/gpus/GPU-0", "state", cases[i].state);
    }
}

static void test_nodes(void **state)
{
    struct api_answer answer;

    (void)state;
    get("/v1/nodes", 200, &answer);
    assert_string_equal(api_text(&answer, "items[0].name"), "alpha");
    assert_string_equal(api_text(&answer, "items[0].state"), "ready");
    assert_string_equal(api_text(&answer, "items[0].phase"), "ready");
    assert_string_equal(api_text(&answer, "items[0].gpus"), "2");
    assert_string_equal(api_text(&answer, "items[0].capacity.cpu"), "8.5");
    assert_string_equal(api_text(&answer, "items[0].capacity.memory"), "68719476736");
    assert_string_equal(api_text(&answer, "items[1].cause"), "null");
    api_answer_finish(&answer);
    assert_get("/v1/nodes/beta", "gpus", "1");
    post("POST", "/v1/nodes/beta/drain", 202, "phase node beta draining");
    post("POST", "/v1/nodes/beta/cordon", 202, "phase node beta cordoned");
    post("POST", "/v1/nodes/beta/uncordon", 202, "phase node beta ready");
}

/* A sample with these labels; of several the last, -1 of none. */
static double sample(const struct api_answer *answer, const char *name, const char *a,
                     const char *b)
{
    struct weir_prom_reader reader;
    struct weir_prom_sample found;
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    double value = -1;
    int r;

    weir_prom_reader_init(&reader, weir_buf_view(&answer->body));
    while ((r = weir_prom_next(&reader, &arena, &found, &err)) > 0) {
        bool fits = weir_str_eq_c(found.name, name);

        for (size_t i = 0; i < found.n_labels; i++)
            fits = fits && ((a != NULL && weir_str_eq_c(found.labels[i].value, a)) ||
                            (b != NULL && weir_str_eq_c(found.labels[i].value, b)));
        if (fits)
            value = found.value;
    }
    if (r < 0)
        fail_msg("metrics: %s", err.text);
    weir_prom_reader_finish(&reader);
    weir_arena_finish(&arena);
    return value;
}

/* All that shows nodes and GPUs says the same of them. */
static void assert_states(const char *node, const char *used, const char *empty)
{
    struct api_answer answer;

    assert_get("/v1/nodes/alpha", "state", node);
    assert_get("/v1/nodes/alpha", "phase", "draining");
    assert_get("/v1/nodes", "items[0].state", node);
    assert_get("/v1/gpus", "items[0].state", used);
    assert_get("/v1/gpus/GPU-1", "state", empty);
    assert_get("/v1/snapshot", "nodes[0].state", node);
    assert_get("/v1/snapshot", "gpus[0].state", used);
    get("/metrics", 200, &answer);
    assert_true(sample(&answer, "weir_nodes", node, NULL) == 1);
    assert_true(sample(&answer, "weir_nodes", "ready", NULL) == 1);
    assert_true(sample(&answer, "weir_nodes", "cordoned", NULL) == 0);
    assert_true(sample(&answer, "weir_gpus", "h100-sxm", used) ==
                (strcmp(used, empty) == 0 ? 2 : 1));
    assert_true(sample(&answer, "weir_gpus", "h100-sxm", "free") == 1);
    api_answer_finish(&answer);
}

static void test_draining(void **state)
{
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_start(&f, number, 0, 0);
    api_run(&f, number, 0);
    weir_edit_node(f.edit, f.nodes[0])->phase = WEIR_NODE_DRAINING;
    api_tick(&f);
    assert_states("draining", "in-use", "drained");
    api_stop(&f, number, 0, WEIR_CAUSE_DRAINED);
    api_tick(&f);
    assert_states("draining", "in-use", "drained");
    api_end(&f, number, 0, WEIR_TASK_QUEUED, WEIR_CAUSE_DRAINED, 0);
    api_tick(&f);
    assert_states("drained", "drained", "drained");
}

static void test_apply(void **state)
{
    static const char yaml[] = "# a team\nkind: Queue\nmetadata: {name: a}\n---\n---\n"
                               "kind: Workload\nmetadata: {name: b}\n---\n"
                               "kind: Queue\nmetadata: {name: c}\n";
    static const char json[] = "[{\"kind\":\"Queue\",\"metadata\":{\"name\":\"a\"}}]";
    struct api_answer answer;

    (void)state;
    api_ask(&f, "POST", "/v1/apply", "Content-Type: application/yaml\r\n", yaml, &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(f.asked, "apply 3");
    assert_string_equal(api_text(&answer, "items[0].kind"), "Queue");
    assert_string_equal(api_text(&answer, "items[0].action"), "created");
    assert_string_equal(api_text(&answer, "items[0].id"), "");
    assert_string_equal(api_text(&answer, "items[1].name"), "b");
    assert_string_equal(api_text(&answer, "items[1].id"), "8");
    assert_string_equal(api_text(&answer, "items[1].action"), "configured");
    assert_string_equal(api_text(&answer, "items[1].assumed.name"), "b");
    assert_null(weir_tree_path(answer.json, "items[0].assumed"));
    assert_string_equal(api_text(&answer, "items[2].action"), "unchanged");
    api_answer_finish(&answer);
    api_ask(&f, "POST", "/v1/apply?dryRun=true", "Content-Type: application/json\r\n", json,
            &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(f.asked, "apply 1 dry");
    assert_string_equal(api_text(&answer, "dry_run"), "true");
    api_answer_finish(&answer);
    api_ask(&f, "POST", "/v1/apply", "Content-Type: application/yaml\r\n",
            "kind: Queue\nmetadata: {name: a}\n---\nkind: Queue\n", &answer);
    assert_int_equal(answer.status, 400);
    assert_string_equal(api_text(&answer, "error.line"), "4");
    api_answer_finish(&answer);
}

static void test_about(void **state)
{
    struct api_answer answer;

    (void)state;
    get("/", 200, &answer);
    assert_non_null(strstr(weir_buf_cstr(&answer.body), "/v1/openapi.json"));
    api_answer_finish(&answer);
    assert_get("/v1/version", "version", WEIR_VERSION);
    assert_get("/v1/version", "inside", "weir with tests inside");
    assert_get("/v1/openapi.json", "openapi", "3.1.0");
}

/* ---- metrics ---- */

static void test_metrics(void **state)
{
    struct api_answer answer;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "research", 1, false);
    api_add(&f, "next", "research", 1, false);
    api_start(&f, number, 0, 0);
    api_run(&f, number, 0);
    api_tick(&f);
    get("/v1/nothing", 404, &answer);
    api_answer_finish(&answer);
    get("/metrics", 200, &answer);
    assert_string_equal(api_header(&answer, "Content-Type"), WEIR_PROM_CONTENT_TYPE);
    assert_true(sample(&answer, "weir_ticks_total", NULL, NULL) == 17);
    assert_true(sample(&answer, "weir_ticks_failed_total", NULL, NULL) == 2);
    assert_true(sample(&answer, "weir_decisions_logged_total", NULL, NULL) == 14);
    assert_true(sample(&answer, "weir_decisions_lost_total", NULL, NULL) == 1);
    assert_true(sample(&answer, "weir_decision_log_bytes", NULL, NULL) == 4096);
    assert_true(sample(&answer, "weir_decision_log_off", NULL, NULL) == 1);
    assert_true(sample(&answer, "weir_ready", NULL, NULL) == 1);
    assert_true(sample(&answer, "weir_workloads", "running", NULL) == 1);
    assert_true(sample(&answer, "weir_workloads", "queued", NULL) == 1);
    assert_true(sample(&answer, "weir_workloads", "stopping", NULL) == 0);
    assert_true(sample(&answer, "weir_gpus", "h100-sxm", "in-use") == 1);
    assert_true(sample(&answer, "weir_gpus", "h100-sxm", "free") == 2);
    assert_true(sample(&answer, "weir_queue_held", "research", "gpu") == 1);
    assert_true(sample(&answer, "weir_queue_limit", "research", "gpu") == 2);
    assert_true(sample(&answer, "weir_queue_limit", "default", "gpu") == -1);
    assert_true(sample(&answer, "weir_queue_waiting", "research", NULL) == 1);
    assert_non_null(strstr(weir_buf_cstr(&answer.body),
                           "weir_http_requests_total{method=\"other\",route=\"other\","
                           "status=\"4xx\"} 1\n"));
    api_answer_finish(&answer);
    get("/metrics", 200, &answer);
    assert_non_null(strstr(weir_buf_cstr(&answer.body),
                           "weir_http_requests_total{method=\"GET\",route=\"/metrics\","
                           "status=\"2xx\"} 1\n"));
    api_answer_finish(&answer);
}

/* ---- snapshot ---- */

static void test_snapshot(void **state)
{
    struct api_answer answer;
    uint64_t number;

    (void)state;
    number = api_add(&f, "pair", "research", 2, true);
    api_add(&f, "next", "default", 1, false);
    api_start(&f, number, 0, 0);
    api_event(&f, "x", "y");
    api_tick(&f);
    get("/v1/snapshot", 200, &answer);
    assert_string_equal(api_text(&answer, "version"), "1");
    assert_string_equal(api_text(&answer, "weir"), WEIR_VERSION);
    assert_string_equal(api_text(&answer, "event_seq"), "1");
    assert_string_equal(api_text(&answer, "policy.backoff_ms"), "1000");
    assert_string_equal(api_text(&answer, "nodes[1].name"), "beta");
    assert_string_equal(api_text(&answer, "gpus[0].holders[0].id"), "1");
    assert_string_equal(api_text(&answer, "queues[0].name"), "default");
    assert_string_equal(api_text(&answer, "queues[1].spec.weight"), "1");
    assert_string_equal(api_text(&answer, "queues[1].held.gpu"), "1");
    assert_string_equal(api_text(&answer, "workloads[0].tasks[0].state"), "starting");
    assert_string_equal(api_text(&answer, "workloads[0].spec.env.SECRET"), "null");
    assert_string_equal(api_text(&answer, "workloads[1].name"), "next");
    api_answer_finish(&answer);
}

/* A large one comes whole, in pieces. */
static void test_large_snapshot(void **state)
{
    enum { WORKLOADS = 3000 };
    struct api_answer answer;
    char last[64];

    (void)state;
    for (int i = 0; i < WORKLOADS; i++)
        api_add(&f, "w", "default", 1, false);
    api_tick(&f);
    get("/v1/snapshot", 200, &answer);
    assert_true(answer.body.len > 512 * 1024);
    snprintf(last, sizeof(last), "workloads[%d].id", WORKLOADS - 1);
    assert_string_equal(api_text(&answer, last), "3000");
    api_answer_finish(&answer);
    get("/v1/workloads?limit=1000", 200, &answer);
    assert_string_equal(api_text(&answer, "next"), "1000");
    api_answer_finish(&answer);
}

/* ---- openapi.json ---- */

static bool is_method(struct weir_str name)
{
    return weir_str_eq_c(name, "get") || weir_str_eq_c(name, "post") ||
           weir_str_eq_c(name, "delete") || weir_str_eq_c(name, "put") ||
           weir_str_eq_c(name, "patch");
}

static const struct weir_tree *operation(const struct weir_tree *paths,
                                         const struct weir_api_route *route)
{
    weir_tree_foreach (path, paths)
        if (weir_str_eq_c(path->key, route->path))
            weir_tree_foreach (op, path)
                if (weir_str_eq_nocase(op->key, weir_str(weir_http1_method_name(route->method))))
                    return op;
    return NULL;
}

/* The query parameters described are those that the route knows, and the path's those it has. */
static void check_parameters(const struct weir_tree *op, const struct weir_api_route *route)
{
    char described[512] = "";
    uint32_t n_in_path = 0;
    const struct weir_tree *list = weir_tree_get(op, "parameters");

    for (const struct weir_tree *p = list != NULL ? list->first : NULL; p != NULL; p = p->next) {
        size_t len = strlen(described);
        struct weir_str name = weir_tree_get(p, "name")->text;
        struct weir_str in = weir_tree_get(p, "in")->text;
        char param[64];

        if (weir_str_eq_c(in, "query"))
            snprintf(described + len, sizeof(described) - len, "%s%.*s", len > 0 ? " " : "",
                     WEIR_STR_ARG(name));
        snprintf(param, sizeof(param), "{%.*s}", WEIR_STR_ARG(name));
        if (weir_str_eq_c(in, "path")) {
            assert_non_null(strstr(route->path, param));
            n_in_path++;
        }
    }
    if (strcmp(described, route->query != NULL ? route->query : "") != 0)
        fail_msg("%s: described '%s', known '%s'", route->path, described, route->query);
    assert_int_equal(n_in_path, strchr(route->path, '{') != NULL);
}

static void test_openapi_routes(void **state)
{
    struct api_answer answer;
    const struct weir_tree *paths;
    uint32_t n = 0;

    (void)state;
    get("/v1/openapi.json", 200, &answer);
    paths = weir_tree_get(answer.json, "paths");
    weir_tree_foreach (path, paths)
        weir_tree_foreach (op, path)
            n += is_method(op->key);
    assert_int_equal(n, weir_api_n_routes);
    for (uint32_t i = 0; i < weir_api_n_routes; i++) {
        const struct weir_api_route *route = &weir_api_routes[i];
        const struct weir_tree *op = operation(paths, route);

        if (op == NULL)
            fail_msg("%s is not described", route->path);
        check_parameters(op, route);
        assert_int_equal(weir_tree_get(op, "requestBody") != NULL,
                         route->body != WEIR_API_BODY_NONE);
        assert_int_equal(weir_tree_get(op, "security") != NULL, route->access == WEIR_API_ANYBODY);
    }
    api_answer_finish(&answer);
}

static struct weir_tree *read_schema(const char *name, struct weir_arena *arena)
{
    char path[512];
    char *text = weir_arena_bytes(arena, 65536);
    struct weir_tree *tree;
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "%s/data/schema/%s.json", getenv("WEIR_SOURCE_ROOT"), name);
    file = fopen(path, "r");
    assert_non_null(file);
    n = fread(text, 1, 65536, file);
    fclose(file);
    assert_int_equal(weir_json_read(weir_str_n(text, n), NULL, arena, &tree, NULL), 0);
    return tree;
}

static void test_openapi_schemas(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct api_answer answer;

    (void)state;
    get("/v1/openapi.json", 200, &answer);
    assert_true(weir_tree_equal(weir_tree_path(answer.json, "components.schemas.WorkloadResource"),
                                read_schema("workload", &arena)));
    assert_true(weir_tree_equal(weir_tree_path(answer.json, "components.schemas.QueueResource"),
                                read_schema("queue", &arena)));
    assert_true(weir_tree_equal(weir_tree_path(answer.json, "components.schemas.GpuSetupResource"),
                                read_schema("gpusetup", &arena)));
    api_answer_finish(&answer);
    weir_arena_finish(&arena);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_set_up, api_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_queues),         TEST(test_gpus),           TEST(test_gpu_reading),
        TEST(test_gpu_fault),      TEST(test_gpu_by_prefix),  TEST(test_gpu_states),
        TEST(test_nodes),          TEST(test_apply),          TEST(test_draining),
        TEST(test_about),          TEST(test_metrics),        TEST(test_snapshot),
        TEST(test_large_snapshot), TEST(test_openapi_routes), TEST(test_openapi_schemas),
        TEST(test_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

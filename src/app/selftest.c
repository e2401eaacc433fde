#include "app/selftest.h"

#include "app/fault_impl.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "core/health/classify.h"
#include "core/health/incident.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    /* The driver may send its verdict of an error so much later. */
    SETTLE_MS = WEIR_INCIDENT_SETTLE_MS,
    LOOK_MAX_MS = 30 * 1000, /* without a fresh reading */
    LINE_BYTES = 104         /* of what the command said */
};

static int64_t mono_ms(const struct weir_server *server)
{
    return server->clock.now(server->clock.ctx).mono_ms;
}

bool weir_selftest_is_due(const struct weir_server_mark *mark)
{
    return strcmp(mark->class, WEIR_SELFTEST_DUE) == 0;
}

bool weir_selftest_is_of(const struct weir_server_mark *mark)
{
    return weir_selftest_is_due(mark) || strcmp(mark->class, WEIR_SELFTEST_FAILED) == 0;
}

const char *weir_selftest_words(const struct weir_server_mark *mark)
{
    switch ((enum weir_selftest_phase)mark->test.phase) {
    case WEIR_SELFTEST_IDLE:
        return "to be tested";
    case WEIR_SELFTEST_WAITING:
        return "to be tested as soon as nobody uses it";
    case WEIR_SELFTEST_LOOKING:
    case WEIR_SELFTEST_RUNNING:
    case WEIR_SELFTEST_RAN:
        break;
    }
    return "being tested";
}

static void set_phase(struct weir_server *server, struct weir_server_mark *mark,
                      enum weir_selftest_phase phase)
{
    mark->test.phase = phase;
    mark->test.since_ms = mono_ms(server);
    server->dirty = true; /* it is shown */
}

void weir_selftest_stop(struct weir_server *server, struct weir_server_mark *mark)
{
    if (mark->test.phase == WEIR_SELFTEST_RUNNING)
        server->gpu_test.stop(server->gpu_test.ctx, weir_str(mark->key));
    mark->test = (struct weir_selftest){0};
}

/* What was said of it is over: the same once more is news. */
static void close_incidents(struct weir_server *server, struct weir_str key)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n = weir_fault_list(server, &arena, &devices);

    for (uint32_t i = 0; i < n; i++) {
        struct weir_fault_device at;

        if (weir_str_eq(devices[i].uuid, key) && weir_fault_address_of(server, &devices[i], &at))
            weir_health_close(&server->faults->health, &at);
    }
}

int weir_selftest_require(struct weir_server *server, struct weir_str key, const char *why,
                          struct weir_err *err)
{
    struct weir_mark_record record = {
        .key = key,
        .cause = weir_str(why),
        .class = WEIR_STR(WEIR_SELFTEST_DUE),
        .action = WEIR_FAULT_ACTION_NOT_EVENT,
        .then = WEIR_FAULT_ACTION_NOT_EVENT,
        .since_wall_ms = server->clock.now(server->clock.ctx).wall_ms,
        .boot_id = server->boot_id,
    };

    if (weir_fault_find_mark(server, key) != NULL)
        close_incidents(server, key);
    return weir_fault_put_mark(server, &record, NULL, WEIR_STR(""), WEIR_STR(""), err);
}

bool weir_selftest_runs_on(const struct weir_server *server, struct weir_str key)
{
    const struct weir_server_mark *mark = weir_fault_find_mark(server, key);

    return mark != NULL && mark->test.phase == WEIR_SELFTEST_RUNNING;
}

/* ---- who uses it ---- */

/* One that has ended may wait for what the test says, and is no obstacle to it. */
static bool has_live_hold(const struct weir_world *world, uint32_t device)
{
    uint32_t at = weir_world_device(world, device)->first_hold;

    while (at != WEIR_NONE &&
           weir_world_task(world, weir_world_hold(world, at)->task)->ended != WEIR_END_NOT)
        at = weir_world_hold(world, at)->next_of_device;
    return at != WEIR_NONE;
}

/* The GPU, or an instance of it. */
static bool is_held(const struct weir_server *server, struct weir_str key)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_key device = weir_key_of_device(key);
    uint32_t index = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &device);

    for (uint32_t i = index; i != WEIR_NONE;
         i = weir_world_next_instance(world, index, i == index ? WEIR_NONE : i))
        if (has_live_hold(world, i))
            return true;
    return false;
}

static bool is_computing(const struct weir_gpu_sample *sample)
{
    for (uint32_t i = 0; sample->has_processes && i < sample->n_processes; i++)
        if (sample->processes[i].kinds != WEIR_GPU_PROCESS_GRAPHICS)
            return true;
    return false;
}

static bool is_free(const struct weir_server *server, const struct weir_gpu_device *seen)
{
    return !is_held(server, seen->uuid) && !is_computing(seen->sample);
}

/* ---- what the driver tells ---- */

static bool has(const struct weir_gpu_metrics *metrics, enum weir_gpu_metric which)
{
    return weir_gpu_has_metric(metrics, which) && metrics->of[which] != 0;
}

/* What is wrong with it, and what a person is to do; NOT_EVENT: nothing is. */
static enum weir_fault_action judge(const struct weir_selftest *test,
                                    const struct weir_gpu_metrics *metrics,
                                    char ret_why[WEIR_SELFTEST_WHY_MAX])
{
    int64_t wanted = has(metrics, WEIR_GPU_RECOVERY_ACTION) ? metrics->of[WEIR_GPU_RECOVERY_ACTION]
                                                            : WEIR_FAULT_RECOVERY_NONE;
    int64_t errors = weir_gpu_has_metric(metrics, WEIR_GPU_ECC_UNCORRECTED_ERRORS)
                         ? metrics->of[WEIR_GPU_ECC_UNCORRECTED_ERRORS]
                         : -1;

    if (test->trouble[0] != '\0') {
        snprintf(ret_why, WEIR_SELFTEST_WHY_MAX, "%s", test->trouble);
        return WEIR_FAULT_ACTION_SUPPORT;
    }
    if (has(metrics, WEIR_GPU_REMAP_FAILED)) {
        snprintf(ret_why, WEIR_SELFTEST_WHY_MAX, "a bad row of its memory could not be remapped");
        return WEIR_FAULT_ACTION_SUPPORT;
    }
    if (wanted != WEIR_FAULT_RECOVERY_NONE) {
        snprintf(ret_why, WEIR_SELFTEST_WHY_MAX,
                 "the driver asks for %s (recovery action %" PRId64 ")",
                 weir_fault_recovery_words(wanted < WEIR_FAULT_RECOVERY_MAX
                                               ? (uint8_t)wanted
                                               : WEIR_FAULT_RECOVERY_ABSENT),
                 wanted);
        return wanted < WEIR_FAULT_RECOVERY_MAX ? weir_fault_recovery_action((uint8_t)wanted)
                                                : WEIR_FAULT_ACTION_SUPPORT;
    }
    if (has(metrics, WEIR_GPU_REMAP_PENDING) || has(metrics, WEIR_GPU_RETIREMENT_PENDING)) {
        snprintf(ret_why, WEIR_SELFTEST_WHY_MAX,
                 "bad memory of it is taken out of use by its next reset only");
        return WEIR_FAULT_ACTION_RESET_GPU;
    }
    if (test->is_measured && test->errors >= 0 && errors > test->errors) {
        snprintf(ret_why, WEIR_SELFTEST_WHY_MAX,
                 "%" PRId64 " uncorrected memory errors during the test", errors - test->errors);
        return WEIR_FAULT_ACTION_SUPPORT;
    }
    return WEIR_FAULT_ACTION_NOT_EVENT;
}

static bool is_any_tested(const struct weir_server *server)
{
    weir_vec_foreach (mark, &server->faults->marks)
        if (mark->test.phase != WEIR_SELFTEST_IDLE)
            return true;
    return false;
}

void weir_selftest_note(struct weir_server *server, const struct weir_fault_event *event)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    struct weir_fault_class class;
    uint32_t n;

    if (!event->device.is_known || !is_any_tested(server))
        return;
    n = weir_fault_list(server, &arena, &devices);
    weir_fault_classify(event, &class);
    if (class.is_child || class.action < WEIR_FAULT_ACTION_WATCH)
        return;
    for (uint32_t i = 0; i < n; i++) {
        struct weir_server_mark *mark = weir_fault_find_mark(server, devices[i].uuid);
        struct weir_fault_device at;

        if (mark == NULL || mark->test.phase == WEIR_SELFTEST_IDLE ||
            !weir_fault_address_of(server, &devices[i], &at) ||
            !weir_fault_same_address(&at, &event->device) || event->at_ms < mark->test.began_ms)
            continue;
        /* What a job that goes on there does wrong is not the GPU's. */
        if (class.scope == WEIR_FAULT_SCOPE_JOB && is_held(server, devices[i].uuid))
            continue;
        snprintf(mark->test.trouble, sizeof(mark->test.trouble), "%.*s",
                 WEIR_STR_ARG(weir_str_cut(event->text, sizeof(mark->test.trouble) - 1)));
        server->dirty = true;
    }
}

/* ---- how it ends ---- */

static int fail(struct weir_server *server, struct weir_server_mark *mark,
                enum weir_fault_action action, const char *why, struct weir_err *err)
{
    char key[WEIR_GPU_UUID_BYTES];
    char cause[WEIR_SELFTEST_WHY_MAX + 32];
    struct weir_mark_record record = {
        .class = WEIR_STR(WEIR_SELFTEST_FAILED),
        .action = action,
        .then = WEIR_FAULT_ACTION_SUPPORT,
        .since_wall_ms = server->clock.now(server->clock.ctx).wall_ms,
        .boot_id = server->boot_id,
    };

    snprintf(key, sizeof(key), "%s", mark->key);
    snprintf(cause, sizeof(cause), "self-test failed: %s", why);
    record.key = weir_str(key);
    record.cause = weir_str(cause);
    if (record.then == record.action)
        record.then = WEIR_FAULT_ACTION_NOT_EVENT;
    weir_log_warn("gpu.test-failed", "%s stays out of service: %s", key, why);
    return weir_fault_put_mark(server, &record, "gpu.test-failed", weir_str(mark->cause),
                               weir_str(why), err);
}

static int pass(struct weir_server *server, const struct weir_server_mark *mark,
                struct weir_err *err)
{
    int r = weir_server_begin(server, err);

    if (r == 0)
        r = weir_fault_tell(server, "gpu.test-passed", weir_str(mark->key), weir_str(mark->cause),
                            WEIR_STR(""), err);
    return r < 0 ? weir_server_fail(server, r, err)
                 : weir_fault_drop(server, weir_str(mark->key), mark->cause, err);
}

/* ---- one step ---- */

static int begin(struct weir_server *server, struct weir_server_mark *mark, struct weir_err *err)
{
    int r = weir_server_begin(server, err);

    if (r == 0)
        r = weir_fault_tell(server, "gpu.test-started", weir_str(mark->key), weir_str(mark->cause),
                            WEIR_STR(""), err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    weir_log_info("gpu.test-started", "%s is tested before it serves: %s", mark->key, mark->cause);
    set_phase(server, mark, WEIR_SELFTEST_LOOKING);
    mark->test.began_ms = mark->test.since_ms;
    return 0;
}

static void measure(struct weir_selftest *test, const struct weir_gpu_metrics *metrics)
{
    test->errors = weir_gpu_has_metric(metrics, WEIR_GPU_ECC_UNCORRECTED_ERRORS)
                       ? metrics->of[WEIR_GPU_ECC_UNCORRECTED_ERRORS]
                       : -1;
    test->is_measured = true;
}

static int look(struct weir_server *server, struct weir_server_mark *mark,
                const struct weir_gpu_device *seen, struct weir_err *err)
{
    int64_t age = mono_ms(server) - mark->test.since_ms;

    if (!mark->test.is_measured && seen->sample->read_ms > mark->test.since_ms)
        measure(&mark->test, &seen->sample->metrics);
    if (seen->sample->read_ms >= mark->test.since_ms + SETTLE_MS &&
        seen->read_ms >= mark->test.since_ms && age >= SETTLE_MS) {
        if (server->gpu_test.start == NULL)
            return pass(server, mark, err);
        set_phase(server, mark, WEIR_SELFTEST_WAITING);
        return 0;
    }
    return age < LOOK_MAX_MS ? 0
                             : fail(server, mark, WEIR_FAULT_ACTION_SUPPORT,
                                    "the driver gives no fresh reading", err);
}

static struct weir_str node_name_of(const struct weir_server *server,
                                    const struct weir_gpu_device *seen)
{
    return seen->node.len > 0 ? seen->node : weir_str(server->node_name);
}

static int run(struct weir_server *server, struct weir_server_mark *mark,
               const struct weir_gpu_device *seen, struct weir_err *err)
{
    const struct weir_gpu_test what = {seen->uuid, node_name_of(server, seen), seen->index};
    struct weir_err cannot = WEIR_ERR_INIT;
    char why[WEIR_SELFTEST_WHY_MAX];
    int r;

    if (!is_free(server, seen)) {
        if (!mark->test.was_told_to_wait)
            weir_log_info("gpu.test-waits", "%s is in use: its test command waits until it is not",
                          mark->key);
        mark->test.was_told_to_wait = true;
        return 0;
    }
    r = server->gpu_test.start(server->gpu_test.ctx, &what, &cannot);
    if (r == WEIR_E_UNAVAILABLE)
        return 0;
    if (r < 0) {
        snprintf(why, sizeof(why), "%.*s",
                 WEIR_STR_ARG(weir_str_cut(weir_str(cannot.text), sizeof(why) - 1)));
        return fail(server, mark, WEIR_FAULT_ACTION_SUPPORT, why, err);
    }
    set_phase(server, mark, WEIR_SELFTEST_RUNNING);
    return 0;
}

static int go_on(struct weir_server *server, struct weir_server_mark *mark,
                 const struct weir_gpu_device *seen, struct weir_err *err)
{
    switch ((enum weir_selftest_phase)mark->test.phase) {
    case WEIR_SELFTEST_IDLE:
        return begin(server, mark, err);
    case WEIR_SELFTEST_LOOKING:
        return look(server, mark, seen, err);
    case WEIR_SELFTEST_WAITING:
        return run(server, mark, seen, err);
    case WEIR_SELFTEST_RUNNING:
        break;
    case WEIR_SELFTEST_RAN:
        /* What the command brought about may be told a little later. */
        if (seen->sample->read_ms >= mark->test.since_ms + SETTLE_MS)
            return pass(server, mark, err);
        break;
    }
    return 0;
}

static int step_one(struct weir_server *server, const struct weir_gpu_device *seen,
                    struct weir_err *err)
{
    struct weir_server_mark *mark = weir_fault_find_mark(server, seen->uuid);
    char why[WEIR_SELFTEST_WHY_MAX];
    enum weir_fault_action action;

    if (mark == NULL || !weir_selftest_is_due(mark))
        return 0;
    if (seen->state != WEIR_GPU_READY || seen->sample == NULL) {
        weir_selftest_stop(server, mark);
        return 0;
    }
    /* A sample from before says nothing of now. */
    if (mark->test.phase != WEIR_SELFTEST_IDLE && (mark->test.phase != WEIR_SELFTEST_LOOKING ||
                                                   seen->sample->read_ms > mark->test.since_ms)) {
        action = judge(&mark->test, &seen->sample->metrics, why);
        if (action != WEIR_FAULT_ACTION_NOT_EVENT)
            return fail(server, mark, action, why, err);
    }
    return go_on(server, mark, seen, err);
}

int weir_selftest_step(struct weir_server *server, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n;
    int r = 0;

    if (server->faults == NULL || server->faults->marks.n == 0)
        return 0;
    n = weir_fault_list(server, &arena, &devices);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = step_one(server, &devices[i], err);
    return r;
}

bool weir_selftest_wants_tick(struct weir_server *server)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices = NULL;
    uint32_t n;

    if (server->faults == NULL || server->faults->marks.n == 0)
        return false;
    n = weir_fault_list(server, &arena, &devices);
    for (uint32_t i = 0; i < n; i++) {
        const struct weir_server_mark *mark = weir_fault_find_mark(server, devices[i].uuid);

        if (mark == NULL || !weir_selftest_is_due(mark) || devices[i].sample == NULL)
            continue;
        if (mark->test.phase != WEIR_SELFTEST_WAITING || is_free(server, &devices[i]))
            return true;
    }
    return false;
}

/* ---- what becomes of the command ---- */

/* The last line that has something in it, without what would spoil a terminal. */
static void last_line(struct weir_str output, char ret_line[LINE_BYTES])
{
    struct weir_str rest = output;
    struct weir_str line;
    struct weir_str last = WEIR_STR("");
    size_t n = 0;

    while (weir_str_split(&rest, '\n', &line))
        if (weir_str_trim(line).len > 0)
            last = weir_str_trim(line);
    last = weir_str_cut(last, LINE_BYTES - 1);
    for (size_t i = 0; i < last.len; i++)
        ret_line[n++] = last.ptr[i] >= ' ' && last.ptr[i] < 0x7f ? last.ptr[i] : '?';
    ret_line[n] = '\0';
}

static void log_output(const struct weir_gpu_test_result *result)
{
    struct weir_str rest = result->output;
    struct weir_str line;
    char shown[LINE_BYTES];

    while (weir_str_split(&rest, '\n', &line)) {
        last_line(line, shown);
        if (shown[0] != '\0')
            weir_log_warn("gpu.test-output", "%.*s: %s", WEIR_STR_ARG(result->uuid), shown);
    }
}

static void take_result(void *arg, const struct weir_gpu_test_result *result)
{
    struct weir_server *server = arg;
    struct weir_server_mark *mark = weir_fault_find_mark(server, result->uuid);
    char line[LINE_BYTES];

    if (mark == NULL || mark->test.phase != WEIR_SELFTEST_RUNNING)
        return;
    set_phase(server, mark, WEIR_SELFTEST_RAN);
    if (result->has_passed)
        return;
    last_line(result->output, line);
    log_output(result);
    snprintf(mark->test.trouble, sizeof(mark->test.trouble), "%.*s%s%s",
             WEIR_STR_ARG(weir_str_cut(result->how, 80)), line[0] != '\0' ? ": " : "", line);
}

void weir_selftest_collect(struct weir_server *server)
{
    if (server->gpu_test.collect != NULL)
        server->gpu_test.collect(server->gpu_test.ctx, take_result, server);
}

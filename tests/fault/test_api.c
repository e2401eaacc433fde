/* Every request of a list, with the n-th allocation failing, for every n: it is answered or cut
 * off, and the next one is answered as ever. */
#include "../unit/support.h"

#include "../support/api_fixture.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/mem.h"

#include <errno.h>
#include <sys/socket.h>

enum { PATIENCE_MS = 5000, STEPS_MAX = 2000 };

static struct api_fixture f;

static int set_up(void **state)
{
    static struct weir_reason reasons[2];
    static struct weir_verdict verdicts[1];
    uint64_t running;
    uint64_t waiting;

    (void)state;
    api_fixture_init(&f, NULL);
    running = api_add(&f, "pair", "research", 2, true);
    waiting = api_add(&f, "next", "default", 1, false);
    api_start(&f, running, 0, 0);
    api_run(&f, running, 0);
    api_write(&f, running, 0, 1, WEIR_STDOUT, "output");
    api_event(&f, "a", "b");
    reasons[0] = (struct weir_reason){.code = WEIR_REASON_RESOURCES,
                                      .level = WEIR_LEVEL_NODES,
                                      .subject = WEIR_NONE,
                                      .resource = WEIR_RES_GPU,
                                      .first_child = WEIR_NONE,
                                      .next = WEIR_NONE};
    verdicts[0] = (struct weir_verdict){.workload = api_row(&f, waiting),
                                        .position = 1,
                                        .unblock_subject = WEIR_NONE,
                                        .unblock_resource = WEIR_NONE};
    f.plan = (struct weir_plan){
        .reasons = reasons, .n_reasons = 1, .verdicts = verdicts, .n_verdicts = 1};
    api_tick(&f);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    api_fixture_finish(&f);
    return 0;
}

/* Says it, then turns the loop with faults until the answer's head has come or the connection is
 * closed. Returns the status, 0 if it was cut off. Nothing here allocates. */
static int ask_with_fault(const char *request, uint64_t after, bool *ret_fired)
{
    int64_t until = weir_clock_mono_ms() + PATIENCE_MS;
    char heard[65536];
    size_t n_heard = 0;
    uint64_t n_allocations = 0;
    int fd = api_dial(&f);
    int status = 0;

    api_say(&f, fd, request, strlen(request));
    *ret_fired = false;
    weir_mem_fail(after, 1);
    while (n_heard < 12 && weir_clock_mono_ms() < until) {
        ssize_t n;

        api_turn(&f);
        n = recv(fd, heard + n_heard, sizeof(heard) - n_heard, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        if (n > 0)
            n_heard += (size_t)n;
        if (f.dones.n > 0) {
            n_allocations = weir_mem_count();
            weir_mem_fail(0, 0);
            api_tick(&f);
            weir_mem_fail(after > n_allocations ? after - n_allocations : 0,
                          after >= n_allocations);
        }
    }
    *ret_fired = n_allocations + weir_mem_count() > after;
    weir_mem_fail(0, 0);
    assert_true(weir_clock_mono_ms() < until);
    if (n_heard >= 12)
        status = atoi(heard + 9);
    close(fd);
    for (int i = 0; i < 5; i++)
        api_turn(&f);
    return status;
}

static void check(const char *request, int good)
{
    uint64_t after = 0;
    bool fired = true;
    int status = 0;

    for (; fired && after < STEPS_MAX; after++) {
        status = ask_with_fault(request, after, &fired);
        if (status != 0 && status != good && status != 500 && status != 503)
            fail_msg("%.40s: allocation %d: %d", request, (int)after, status);
    }
    assert_false(fired);
    assert_int_equal(status, good);
}

#define HOST " HTTP/1.1\r\nHost: a\r\n"
#define TYPE "Content-Type: application/yaml\r\n"

static void test_requests(void **state)
{
    static const struct {
        const char *request;
        int status;
    } requests[] = {
        {"GET /v1/whoami" HOST "\r\n", 200},
        {"GET /v1/workloads?all=true&limit=10" HOST "\r\n", 200},
        {"GET /v1/workloads/pair" HOST "\r\n", 200},
        {"GET /v1/workloads/next/explain" HOST "\r\n", 200},
        {"GET /v1/workloads/nowhere" HOST "\r\n", 404},
        {"GET /v1/workloads/pair/logs" HOST "\r\n", 200},
        {"GET /v1/workloads/pair/attach?stdout=1,0" HOST "\r\n", 200},
        {"GET /v1/queues" HOST "\r\n", 200},
        {"GET /v1/queues/nowhere" HOST "\r\n", 404},
        {"GET /v1/gpus" HOST "\r\n", 200},
        {"GET /v1/nodes/alpha" HOST "\r\n", 200},
        {"GET /v1/events" HOST "\r\n", 200},
        {"GET /v1/events?tail=1&subject=b&since_ms=1" HOST "\r\n", 200},
        {"GET /v1/events?after=0" HOST "Accept: text/event-stream\r\n\r\n", 200},
        {"GET /v1/snapshot" HOST "\r\n", 200},
        {"GET /metrics" HOST "\r\n", 200},
        {"GET /v1/nothing" HOST "\r\n", 404},
        {"PATCH /v1/queues/a" HOST "\r\n", 405},
        {"POST /v1/workloads/pair/cancel" HOST "\r\n", 202},
        {"DELETE /v1/queues/default" HOST "\r\n", 202},
        {"POST /v1/nodes/alpha/drain" HOST "\r\n", 202},
        {"POST /v1/apply?dryRun=true" HOST TYPE "Content-Length: 34\r\n\r\n"
         "kind: Queue\nmetadata: {name: abc}\n",
         200},
    };
    struct api_answer answer;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(requests); i++) {
        check(requests[i].request, requests[i].status);
        api_ask(&f, "GET", "/healthz", NULL, NULL, &answer);
        assert_int_equal(answer.status, 200);
        api_answer_finish(&answer);
    }
}

/* A tick with streams open, and no memory for what they would say. */
static void test_ticks(void **state)
{
    static const char attach[] = "GET /v1/workloads/pair/attach" HOST "\r\n";
    static const char stream[] = "GET /v1/events" HOST "Accept: text/event-stream\r\n\r\n";

    (void)state;
    for (uint64_t after = 0; after < 60; after++) {
        int attached = api_dial(&f);
        int events = api_dial(&f);

        api_say(&f, attached, attach, sizeof(attach) - 1);
        api_say(&f, events, stream, sizeof(stream) - 1);
        for (int i = 0; i < 20; i++)
            api_turn(&f);
        api_event(&f, "more", "c");
        assert_int_equal(f.store.commit(f.store.ctx, false, NULL), 0);
        f.in_transaction = false;
        weir_mem_fail(after, 1);
        weir_api_changed(f.api);
        weir_mem_fail(0, 0);
        close(attached);
        close(events);
        for (int i = 0; i < 5; i++)
            api_turn(&f);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_requests), TEST(test_ticks)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

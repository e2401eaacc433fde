/* Logs and streams of events, and what holds for all answers that go on. */
#include "api_test.h"
#include "base/count.h"
#include "fmt/sse.h"
#include "stream_client.h"

static void test_head_of_streams(void **state)
{
    static const char *const targets[] = {"/v1/workloads/1/attach",
                                          "/v1/workloads/1/logs?follow=true", "/v1/snapshot",
                                          "/v1/workloads"};
    struct api_answer answer;

    (void)state;
    api_add(&f, "train", "default", 1, false);
    api_tick(&f);
    for (size_t i = 0; i < WEIR_COUNT_OF(targets); i++) {
        api_ask(&f, "HEAD", targets[i], NULL, NULL, &answer);
        assert_int_equal(answer.status, 200);
        assert_int_equal(answer.body.len, 0);
        api_answer_finish(&answer);
    }
}

/* ---- logs ---- */

static void assert_logs(const char *query, const char *offset, const char *expected)
{
    struct api_answer answer;
    char target[128];

    snprintf(target, sizeof(target), "/v1/workloads/1/logs%s", query);
    api_ask(&f, "GET", target, NULL, NULL, &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(weir_buf_cstr(&answer.body), expected);
    assert_string_equal(api_header(&answer, "Weir-Offset"), offset);
    api_answer_finish(&answer);
}

static void test_logs(void **state)
{
    static const char *const bad[] = {"?stream=both", "?member=1", "?attempt=3",
                                      "?attempt=0",   "?offset=x", "?follow=1"};
    struct api_answer answer;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_tick(&f);
    assert_logs("", "0", "");
    api_start(&f, number, 0, 0);
    api_write(&f, number, 0, 1, WEIR_STDOUT, "first");
    api_end(&f, number, 0, WEIR_TASK_QUEUED, WEIR_CAUSE_RETRIED, 1);
    api_start(&f, number, 0, 0);
    api_write(&f, number, 0, 2, WEIR_STDOUT, "second");
    api_write(&f, number, 0, 2, WEIR_STDERR, "errors");
    api_tick(&f);
    assert_logs("", "0", "second");
    assert_logs("?stream=stderr", "0", "errors");
    assert_logs("?attempt=1", "0", "first");
    assert_logs("?offset=2", "2", "cond");
    assert_logs("?offset=99", "99", "");
    api_rotate(&f, number, 0, 2, WEIR_STDOUT, 2);
    assert_logs("", "2", "cond");
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        char target[64];

        snprintf(target, sizeof(target), "/v1/workloads/1/logs%s", bad[i]);
        api_ask(&f, "GET", target, NULL, NULL, &answer);
        if (answer.status != 400 && answer.status != 404)
            fail_msg("%s: %d", bad[i], answer.status);
        api_answer_finish(&answer);
    }
}

static void test_logs_follow(void **state)
{
    struct client c;
    struct client one;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/logs?follow=true", "");
    read_client(&c, 20);
    assert_true(c.has_head);
    api_start(&f, number, 0, 0);
    api_run(&f, number, 0);
    api_tick(&f);
    api_write(&f, number, 0, 1, WEIR_STDOUT, "one,");
    await_body(&c, "one,");
    open_client(&one, "/v1/workloads/1/logs?follow=true&attempt=1", "");
    await_body(&one, "one,");
    api_end(&f, number, 0, WEIR_TASK_QUEUED, WEIR_CAUSE_RETRIED, 1);
    api_tick(&f);
    await_end(&one);
    api_start(&f, number, 0, 0);
    api_write(&f, number, 0, 2, WEIR_STDOUT, "two");
    api_tick(&f);
    await_body(&c, "one,two");
    api_end(&f, number, 0, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_tick(&f);
    await_end(&c);
    assert_string_equal(weir_buf_cstr(&c.body), "one,two");
    close_client(&c);
    close_client(&one);
}

/* ---- events ---- */

#define SSE "Accept: text/event-stream\r\n"

/* seqs and kinds of all events in a body. */
static const char *events_of(const struct client *c)
{
    static char text[65536];
    struct weir_sse_reader reader;
    struct weir_str input = weir_buf_view(&c->body);

    text[0] = '\0';
    weir_sse_reader_init(&reader, 65536);
    while (weir_sse_next(&reader, &input, NULL) > 0) {
        size_t len = strlen(text);

        snprintf(text + len, sizeof(text) - len, "%.*s %.*s,", WEIR_STR_ARG(reader.event.id),
                 WEIR_STR_ARG(reader.event.event));
    }
    weir_sse_reader_finish(&reader);
    return text;
}

static void test_event_stream(void **state)
{
    struct client c;

    (void)state;
    api_event(&f, "old", "a");
    api_event(&f, "old", "a");
    api_tick(&f);
    open_client(&c, "/v1/events", SSE);
    await_body(&c, "id: 2\n\n"); /* where it begins, with no event */
    assert_string_equal(events_of(&c), "");
    api_event(&f, "new", "b");
    read_client(&c, 30);
    assert_string_equal(events_of(&c), "");
    api_tick(&f);
    await_body(&c, "event: new");
    assert_string_equal(events_of(&c), "3 new,");
    assert_non_null(strstr(weir_buf_cstr(&c.body), "\"subject\":\"b\""));
    close_client(&c);
    api_event(&f, "missed", "c");
    api_tick(&f);
    open_client(&c, "/v1/events?after=1", SSE "Last-Event-ID: 3\r\n");
    await_body(&c, "missed");
    assert_string_equal(events_of(&c), "4 missed,");
    close_client(&c);
    open_client(&c, "/v1/events?after=0", SSE);
    await_body(&c, "missed");
    assert_string_equal(events_of(&c), "1 old,2 old,3 new,4 missed,");
    close_client(&c);
    open_client(&c, "/v1/events", SSE "Last-Event-ID: 4711\r\n");
    await_body(&c, "id: 4\n\n"); /* of another data directory */
    close_client(&c);
    open_client(&c, "/v1/events?after=0&subject=b", SSE);
    await_body(&c, "event: new");
    assert_string_equal(events_of(&c), "3 new,");
    close_client(&c);
}

/* Catching up takes several pages and several turns. */
static void test_event_catch_up(void **state)
{
    enum { EVENTS = 5000 };
    struct client c;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < EVENTS; i++)
        api_event(&f, "tick", "x");
    api_tick(&f);
    open_client(&c, "/v1/events?after=0", SSE);
    await_body(&c, "id: 5000\nevent");
    for (const char *at = weir_buf_cstr(&c.body); (at = strstr(at, "event: tick")) != NULL; at++)
        n++;
    assert_int_equal(n, EVENTS);
    close_client(&c);
}

/* What is about one thing may be far behind much that is not. */
static void test_catch_up_of_one_thing(void **state)
{
    enum { EVENTS = 100000 };
    struct client c;

    (void)state;
    for (int i = 1; i <= EVENTS; i++)
        api_event(&f, "tick", i == 50000 || i == EVENTS ? "a" : "x");
    api_tick(&f);
    open_client(&c, "/v1/events?after=0&subject=a", SSE);
    await_body(&c, "id: 100000\nevent");
    assert_string_equal(events_of(&c), "50000 tick,100000 tick,");
    close_client(&c);
}

/* At shutdown streams are cut off, without an end: who reads them knows to come again. */
static void test_shutdown(void **state)
{
    struct client attached;
    struct client events;

    (void)state;
    api_fixture_init(&f, NULL);
    api_add(&f, "train", "default", 1, false);
    api_tick(&f);
    open_client(&attached, "/v1/workloads/1/attach", "");
    open_client(&events, "/v1/events", SSE);
    read_client(&attached, 20);
    read_client(&events, 20);
    api_fixture_finish(&f);
    assert_false(attached.has_ended);
    assert_false(events.has_ended);
    close_client(&attached);
    close_client(&events);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_set_up, api_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_head_of_streams),      TEST(test_logs),
        TEST(test_logs_follow),          TEST(test_event_stream),
        TEST(test_event_catch_up),       TEST(test_catch_up_of_one_thing),
        cmocka_unit_test(test_shutdown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Attach: frames, attempts, members, going on, slow readers. */
#include "api_test.h"
#include "base/count.h"
#include "edge/api/attach.h"
#include "fmt/json.h"
#include "stream_client.h"

/* ---- frames ---- */

struct frame {
    int kind;
    uint32_t member;
    struct weir_str data;
};

static uint32_t be32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Takes a frame off the body, from *at on. */
static bool next_frame(const struct client *c, size_t *at, struct frame *ret)
{
    const char *p = weir_buf_cstr(&c->body) + *at;
    uint32_t len;

    if (c->body.len - *at < WEIR_FRAME_HEAD_BYTES)
        return false;
    assert_memory_equal(p + 1, "\0\0\0", 3);
    len = be32(p + 8);
    if (c->body.len - *at - WEIR_FRAME_HEAD_BYTES < len)
        return false;
    *ret = (struct frame){p[0], be32(p + 4), weir_str_n(p + WEIR_FRAME_HEAD_BYTES, len)};
    *at += WEIR_FRAME_HEAD_BYTES + len;
    return true;
}

/* All frames as text: "3", "5:0 {…}", "1:0 hello", states without their JSON. */
static const char *transcript(const struct client *c)
{
    static char text[65536];
    size_t at = 0;
    struct frame frame;

    text[0] = '\0';
    while (next_frame(c, &at, &frame)) {
        size_t len = strlen(text);

        if (frame.kind == WEIR_FRAME_STATE || frame.kind == WEIR_FRAME_END) {
            struct weir_arena arena = WEIR_ARENA_INIT;
            struct weir_tree *tree;

            assert_int_equal(weir_json_read(frame.data, NULL, &arena, &tree, NULL), 0);
            snprintf(text + len, sizeof(text) - len, "%d %.*s\n", frame.kind,
                     WEIR_STR_ARG(weir_tree_get(tree, "state")->text));
            weir_arena_finish(&arena);
        } else {
            snprintf(text + len, sizeof(text) - len, "%d:%u %.*s\n", frame.kind, frame.member,
                     WEIR_STR_ARG(frame.data));
        }
    }
    assert_int_equal(at, c->body.len);
    return text;
}

static void test_attach(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_tick(&f);
    open_client(&c, "/v1/workloads/train/attach", "");
    read_client(&c, 30);
    assert_string_equal(transcript(&c), "3 queued\n");
    api_start(&f, number, 0, 0);
    api_tick(&f);
    api_run(&f, number, 0);
    api_write(&f, number, 0, 1, WEIR_STDOUT, "hello\n");
    api_tick(&f);
    await_body(&c, "hello");
    api_write(&f, number, 0, 1, WEIR_STDERR, "oh\n"); /* nobody says so: it is polled */
    await_body(&c, "oh");
    api_write(&f, number, 0, 1, WEIR_STDOUT, "bye\n");
    api_end(&f, number, 0, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_tick(&f);
    await_end(&c);
    assert_string_equal(transcript(&c), "3 queued\n3 starting\n5:0 {\"attempt\":1}\n3 running\n"
                                        "1:0 hello\n\n2:0 oh\n\n1:0 bye\n\n4 succeeded\n");
    close_client(&c);
}

/* A stream of an ended workload, also one that has left the world, brings all of it at once. */
static void test_attach_ended(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_start(&f, number, 0, 0);
    api_write(&f, number, 0, 1, WEIR_STDOUT, "all of it");
    api_end(&f, number, 0, WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 2);
    api_tick(&f);
    api_retire(&f, number);
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach", "");
    await_end(&c);
    assert_string_equal(transcript(&c), "5:0 {\"attempt\":1}\n1:0 all of it\n4 failed\n");
    close_client(&c);
}

static void test_attach_never_started(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 2, false);
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach", "");
    api_end(&f, number, 0, WEIR_TASK_CANCELLED, WEIR_CAUSE_CANCELLED, 0);
    api_end(&f, number, 1, WEIR_TASK_CANCELLED, WEIR_CAUSE_CANCELLED, 0);
    read_client(&c, 20);
    api_tick(&f);
    await_end(&c);
    assert_non_null(strstr(transcript(&c), "4 cancelled\n"));
    close_client(&c);
}

/* A retry: what is left of the old attempt comes before the new one is said. */
static void test_attach_retry(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_start(&f, number, 0, 0);
    api_run(&f, number, 0);
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach", "");
    read_client(&c, 20);
    api_write(&f, number, 0, 1, WEIR_STDOUT, "one");
    api_end(&f, number, 0, WEIR_TASK_QUEUED, WEIR_CAUSE_RETRIED, 1);
    api_start(&f, number, 0, 0);
    api_write(&f, number, 0, 2, WEIR_STDOUT, "two");
    api_end(&f, number, 0, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_tick(&f);
    await_end(&c);
    assert_string_equal(transcript(&c), "3 running\n5:0 {\"attempt\":1}\n1:0 one\n"
                                        "5:0 {\"attempt\":2}\n1:0 two\n4 succeeded\n");
    close_client(&c);
}

static void test_attach_members(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "sweep", "default", 3, true);
    api_start(&f, number, 0, 0);
    api_start(&f, number, 2, 1);
    api_write(&f, number, 0, 1, WEIR_STDOUT, "zero");
    api_write(&f, number, 2, 1, WEIR_STDERR, "two");
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach", "");
    await_body(&c, "two");
    api_end(&f, number, 0, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_end(&f, number, 2, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_start(&f, number, 1, 0);
    api_write(&f, number, 1, 1, WEIR_STDOUT, "one");
    api_tick(&f);
    await_body(&c, "one");
    api_end(&f, number, 1, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_tick(&f);
    await_end(&c);
    assert_non_null(strstr(transcript(&c), "5:0 {\"attempt\":1}\n"));
    assert_non_null(strstr(transcript(&c), "1:0 zero\n"));
    assert_non_null(strstr(transcript(&c), "2:2 two\n"));
    assert_non_null(strstr(transcript(&c), "1:1 one\n4 succeeded\n"));
    close_client(&c);
    open_client(&c, "/v1/workloads/1/attach?member=1", "");
    await_end(&c);
    assert_string_equal(transcript(&c), "5:1 {\"attempt\":1}\n1:1 one\n4 succeeded\n");
    close_client(&c);
}

/* At every byte at which a connection may break, going on gives the rest and nothing twice. */
static void test_attach_resumes(void **state)
{
    static const char out[] = "0123456789";
    static const char err[] = "abcdef";
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_start(&f, number, 0, 0);
    api_write(&f, number, 0, 1, WEIR_STDOUT, out);
    api_write(&f, number, 0, 1, WEIR_STDERR, err);
    api_end(&f, number, 0, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_tick(&f);
    for (size_t n = 0; n <= strlen(out); n++) {
        size_t n_err = n < strlen(err) ? n : strlen(err);
        char target[128];
        char expected[256];
        struct client c;

        for (int with_attempt = 0; with_attempt < 2; with_attempt++) {
            bool is_known = with_attempt || n > 0;

            snprintf(target, sizeof(target), "/v1/workloads/1/attach?stdout=%zu&stderr=%zu%s", n,
                     n_err, with_attempt ? "&attempt=1" : "");
            snprintf(expected, sizeof(expected), "%s%s%s%s%s%s%s4 succeeded\n",
                     is_known ? "" : "5:0 {\"attempt\":1}\n", n < strlen(out) ? "1:0 " : "",
                     out + n, n < strlen(out) ? "\n" : "", n_err < strlen(err) ? "2:0 " : "",
                     err + n_err, n_err < strlen(err) ? "\n" : "");
            open_client(&c, target, "");
            await_end(&c);
            assert_string_equal(transcript(&c), expected);
            close_client(&c);
        }
    }
}

/* An older attempt is finished before the newer ones; one that has not been gives all. */
static void test_attach_resumes_attempt(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    for (int attempt = 1; attempt <= 3; attempt++) {
        api_start(&f, number, 0, 0);
        api_write(&f, number, 0, attempt, WEIR_STDOUT, attempt == 1 ? "first" : "later");
        api_end(&f, number, 0, attempt < 3 ? WEIR_TASK_QUEUED : WEIR_TASK_SUCCEEDED,
                WEIR_CAUSE_EXITED, 0);
    }
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach?attempt=1&stdout=3", "");
    await_end(&c);
    assert_string_equal(transcript(&c),
                        "1:0 st\n5:0 {\"attempt\":2}\n1:0 later\n5:0 {\"attempt\":3}\n1:0 later\n"
                        "4 succeeded\n");
    close_client(&c);
    open_client(&c, "/v1/workloads/1/attach?attempt=9&stdout=3", "");
    await_end(&c);
    assert_string_equal(transcript(&c), "5:0 {\"attempt\":3}\n1:0 later\n4 succeeded\n");
    close_client(&c);
}

static void test_attach_resumes_members(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "pair", "default", 2, false);
    for (uint32_t m = 0; m < 2; m++) {
        api_start(&f, number, m, (int)m);
        api_write(&f, number, m, 1, WEIR_STDOUT, m == 0 ? "zero" : "one");
        api_end(&f, number, m, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    }
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach?stdout=2,1&attempt=1,1", "");
    await_end(&c);
    assert_non_null(strstr(transcript(&c), "1:0 ro\n"));
    assert_non_null(strstr(transcript(&c), "1:1 ne\n"));
    assert_null(strstr(transcript(&c), "attempt"));
    close_client(&c);
}

static void test_attach_refuses(void **state)
{
    static const struct {
        const char *query;
        int status;
    } bad[] = {
        {"stdout=x", 400},
        {"stdout=", 400},
        {"stdout=1,,2", 400},
        {"stdout=1,2,3", 400},
        {"member=2", 400},
        {"stdout=-1", 400},
        {"attempt=1,", 400},
        {"member=0&stdout=1,2", 400},
        {"stderr=99999999999999999999", 400},
    };
    struct api_answer answer;

    (void)state;
    api_add(&f, "pair", "default", 2, false);
    api_tick(&f);
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        char target[128];

        snprintf(target, sizeof(target), "/v1/workloads/1/attach?%s", bad[i].query);
        api_ask(&f, "GET", target, NULL, NULL, &answer);
        if (answer.status != bad[i].status)
            fail_msg("%s: %d", bad[i].query, answer.status);
        api_answer_finish(&answer);
    }
    api_ask(&f, "GET", "/v1/workloads/9/attach", NULL, NULL, &answer);
    assert_int_equal(answer.status, 404);
    api_answer_finish(&answer);
}

static void test_attach_gap(void **state)
{
    struct client c;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_start(&f, number, 0, 0);
    api_write(&f, number, 0, 1, WEIR_STDOUT, "0123456789");
    api_rotate(&f, number, 0, 1, WEIR_STDOUT, 4);
    api_end(&f, number, 0, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach?stdout=2", "");
    await_end(&c);
    assert_string_equal(transcript(&c),
                        "7:0 {\"stream\":\"stdout\",\"from\":2,\"to\":4}\n1:0 456789\n"
                        "4 succeeded\n");
    close_client(&c);
}

/* Much output and a slow reader: the server holds little of it, all of it comes, the end last. */
static void test_attach_slow_reader(void **state)
{
    enum { TIMES = 20000, LINE = 1000 };
    char line[LINE + 1];
    struct client c;
    uint64_t number;
    size_t at = 0;
    size_t n = 0;
    struct frame frame = {0};

    (void)state;
    memset(line, 'x', LINE);
    line[LINE] = '\0';
    number = api_add(&f, "loud", "default", 1, false);
    api_start(&f, number, 0, 0);
    for (int i = 0; i < TIMES; i++)
        api_write(&f, number, 0, 1, WEIR_STDOUT, line);
    api_end(&f, number, 0, WEIR_TASK_SUCCEEDED, WEIR_CAUSE_EXITED, 0);
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach", "");
    for (int i = 0; i < 300; i++) { /* the peer does not read */
        api_turn(&f);
        usleep(200);
    }
    assert_true(f.n_reads < 100); /* of 306 pieces of 64 KiB */
    await_end(&c);
    while (next_frame(&c, &at, &frame))
        if (frame.kind == WEIR_FRAME_STDOUT)
            n += frame.data.len;
    assert_int_equal(n, (size_t)TIMES * LINE);
    assert_int_equal(frame.kind, WEIR_FRAME_END);
    close_client(&c);
}

/* Whoever leaves is forgotten, and then no timer runs. */
static void test_attach_and_leave(void **state)
{
    struct client c;
    uint32_t n_reads;
    uint64_t number;

    (void)state;
    number = api_add(&f, "train", "default", 1, false);
    api_start(&f, number, 0, 0);
    api_run(&f, number, 0);
    api_tick(&f);
    open_client(&c, "/v1/workloads/1/attach", "");
    read_client(&c, 100);
    assert_true(f.n_reads > 2);
    close_client(&c);
    for (int i = 0; i < 50; i++)
        api_turn(&f);
    n_reads = f.n_reads;
    for (int i = 0; i < 3000 && uv_backend_timeout(&f.loop) != -1; i++) {
        api_turn(&f); /* the server looks after its connections once more */
        usleep(1000);
    }
    assert_int_equal(f.n_reads, n_reads);
    assert_int_equal(uv_backend_timeout(&f.loop), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_set_up, api_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_attach),
        TEST(test_attach_ended),
        TEST(test_attach_never_started),
        TEST(test_attach_retry),
        TEST(test_attach_members),
        TEST(test_attach_resumes),
        TEST(test_attach_resumes_attempt),
        TEST(test_attach_resumes_members),
        TEST(test_attach_refuses),
        TEST(test_attach_gap),
        TEST(test_attach_slow_reader),
        TEST(test_attach_and_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

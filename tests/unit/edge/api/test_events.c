/* Events in pages: which belong to a list, and that a list is the same however it is cut up. */
#include "api_test.h"
#include "base/count.h"

/* The seqs of a list, page by page, as its `next` leads on; each page ends with a bar. */
static const char *seqs_of(const char *target)
{
    static char text[1 << 20];
    char path[512];
    struct api_answer answer;
    size_t len = 0;
    bool is_more = true;

    snprintf(path, sizeof(path), "%s", target);
    text[0] = '\0';
    while (is_more) {
        get(path, 200, &answer);
        weir_tree_foreach (item, weir_tree_get(answer.json, "items"))
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ",
                                    WEIR_STR_ARG(weir_tree_get(item, "seq")->text));
        len += (size_t)snprintf(text + len, sizeof(text) - len, "|");
        assert_true(len < sizeof(text));
        is_more = api_text(&answer, "next")[0] != '\0';
        snprintf(path, sizeof(path), "%s&after=%s", target, api_text(&answer, "next"));
        api_answer_finish(&answer);
    }
    return text;
}

static void assert_seqs(const char *target, const char *want)
{
    const char *seen = seqs_of(target);

    if (strcmp(seen, want) != 0)
        fail_msg("%s: %s, not %s", target, seen, want);
}

static void test_pages(void **state)
{
    struct api_answer answer;

    (void)state;
    assert_seqs("/v1/events?limit=3", "|");
    for (int i = 0; i < 5; i++)
        api_event(&f, "workload.started", "workload/1");
    api_tick(&f);
    api_event(&f, "workload.ended", "workload/1"); /* not on disk yet */
    get("/v1/events?limit=3", 200, &answer);
    assert_int_equal(weir_tree_get(answer.json, "items")->n_children, 3);
    assert_string_equal(api_text(&answer, "items[0].kind"), "workload.started");
    assert_string_equal(api_text(&answer, "items[0].cause"), "null");
    assert_string_equal(api_text(&answer, "next"), "3");
    api_answer_finish(&answer);
    assert_seqs("/v1/events?after=3", "4 5 |");
    assert_seqs("/v1/events?limit=3", "1 2 3 |4 5 |");
    assert_seqs("/v1/events?limit=5", "1 2 3 4 5 |");
    assert_seqs("/v1/events?after=99", "|"); /* of another data directory */
}

/* Of one thing and its parts; "workload/1" is not "workload/10". */
static void test_of_one_thing(void **state)
{
    static const char *const subjects[] = {"workload/1", "workload/10", "workload/1/3",
                                           "queue/q",    "workload/1.", "workload/10",
                                           "workload/1", "workload/"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(subjects); i++)
        api_event(&f, "x", subjects[i]);
    api_tick(&f);
    assert_seqs("/v1/events?subject=workload%2F1", "1 3 7 |");
    assert_seqs("/v1/events?subject=workload%2F1&limit=1", "1 |3 |7 ||");
    assert_seqs("/v1/events?subject=workload%2F1&tail=2", "3 7 |");
    assert_seqs("/v1/events?subject=workload%2F1&tail=2&limit=1", "3 |7 |");
    assert_seqs("/v1/events?subject=workload%2F1&tail=9", "1 3 7 |");
    assert_seqs("/v1/events?subject=workload", "1 2 3 5 6 7 8 |");
    assert_seqs("/v1/events?subject=gpu%2Fx", "|");
    assert_seqs("/v1/events?subject=gpu%2Fx&tail=3", "|");
}

static void test_tail(void **state)
{
    (void)state;
    assert_seqs("/v1/events?tail=3", "|");
    for (int i = 0; i < 9; i++)
        api_event(&f, "x", "y");
    api_tick(&f);
    api_event(&f, "x", "y"); /* not on disk yet */
    assert_seqs("/v1/events?tail=0", "|");
    assert_seqs("/v1/events?tail=1", "9 |");
    assert_seqs("/v1/events?tail=3", "7 8 9 |");
    assert_seqs("/v1/events?tail=9", "1 2 3 4 5 6 7 8 9 |");
    assert_seqs("/v1/events?tail=100000000", "1 2 3 4 5 6 7 8 9 |");
    assert_seqs("/v1/events?tail=5&limit=2", "5 6 |7 8 |9 |");
    assert_seqs("/v1/events?tail=4&limit=2", "6 7 |8 9 |");
    assert_seqs("/v1/events?tail=3&after=7", "8 9 |");
    assert_seqs("/v1/events?tail=1&after=7", "9 |");
}

/* What came meanwhile is not one of the last that were asked for. */
static void test_a_tail_keeps_its_end(void **state)
{
    struct api_answer answer;

    (void)state;
    for (int i = 0; i < 9; i++)
        api_event_at(&f, i, "x", "y");
    api_tick(&f);
    get("/v1/events?tail=3&limit=2", 200, &answer);
    assert_string_equal(api_text(&answer, "items[0].seq"), "7");
    assert_string_equal(api_text(&answer, "next"), "8-9");
    api_answer_finish(&answer);
    get("/v1/events?since_ms=6&limit=2", 200, &answer);
    assert_string_equal(api_text(&answer, "next"), "8-9");
    api_answer_finish(&answer);
    api_event(&f, "x", "y");
    api_tick(&f);
    assert_get("/v1/events?tail=3&limit=2&after=8-9", "items[0].seq", "9");
    assert_get("/v1/events?tail=3&limit=2&after=8-9", "items[1].seq", "");
    assert_get("/v1/events?tail=3&limit=2&after=8-9", "next", "");
    assert_get("/v1/events?since_ms=0&after=8-9", "items[0].seq", "9");
    api_event(&f, "x", "y"); /* not on disk yet */
    assert_seqs("/v1/events?limit=2", "1 2 |3 4 |5 6 |7 8 |9 10 |");
    get("/v1/events?after=8-4711", 200, &answer); /* no further than there is */
    assert_int_equal(weir_tree_get(answer.json, "items")->n_children, 2);
    assert_string_equal(api_text(&answer, "next"), "");
    api_answer_finish(&answer);
}

static void test_since(void **state)
{
    (void)state;
    assert_seqs("/v1/events?since_ms=0", "|");
    for (int i = 1; i <= 9; i++)
        api_event_at(&f, 100 * i, "x", i % 3 == 0 ? "queue/q" : "y");
    api_tick(&f);
    api_event_at(&f, 5000, "x", "y"); /* not on disk yet */
    assert_seqs("/v1/events?since_ms=700", "7 8 9 |");
    assert_seqs("/v1/events?since_ms=701", "8 9 |");
    assert_seqs("/v1/events?since_ms=901", "|");
    assert_seqs("/v1/events?since_ms=5001", "|");
    assert_seqs("/v1/events?since_ms=9223372036854775807", "|");
    assert_seqs("/v1/events?since_ms=0&limit=5", "1 2 3 4 5 |6 7 8 9 |");
    assert_seqs("/v1/events?since_ms=400&tail=2", "8 9 |");
    assert_seqs("/v1/events?since_ms=800&tail=5", "8 9 |");
    assert_seqs("/v1/events?since_ms=400&after=6", "7 8 9 |");
    assert_seqs("/v1/events?since_ms=400&subject=queue%2Fq", "6 9 |");
    assert_seqs("/v1/events?since_ms=700&subject=queue%2Fq&tail=4", "9 |");
}

/* What happened later is in the list, whatever time it bears. */
static void test_a_clock_set_back(void **state)
{
    static const int64_t times[] = {100, 200, 300, 150, 250, 260};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(times); i++)
        api_event_at(&f, times[i], "x", "y");
    api_tick(&f);
    assert_seqs("/v1/events?since_ms=150", "2 3 4 5 6 |");
    assert_seqs("/v1/events?since_ms=260", "6 |");
}

/* What is rare may be far back: it takes more than one request to find it, and no request looks at
 * all of them. */
static void test_far_back(void **state)
{
    enum { EVENTS = 230000 };
    struct api_answer answer;

    (void)state;
    for (int i = 1; i <= EVENTS; i++)
        api_event_at(&f, i, "x",
                     i == 3 || i == 120000 || i == EVENTS - 1 ? "queue/q"
                     : i == 4 || i == 5                       ? "queue/r"
                                                              : "y");
    api_tick(&f);
    assert_seqs("/v1/events?subject=queue%2Fq&tail=1", "229999 |");
    assert_seqs("/v1/events?subject=queue%2Fq&tail=2", "|120000 |229999 |");
    get("/v1/events?subject=queue%2Fq&tail=2", 200, &answer);
    assert_string_equal(api_text(&answer, "items[0].seq"), "");
    assert_string_equal(api_text(&answer, "next"), "229998-229999-0-130000-1");
    api_answer_finish(&answer);
    assert_seqs("/v1/events?subject=queue%2Fr&tail=2", "||4 5 |"); /* and no look at the rest */
    assert_seqs("/v1/events?subject=queue%2Fr", "4 5 |||");
    assert_seqs("/v1/events?subject=queue%2Fs&tail=2", "|||");
    assert_seqs("/v1/events?subject=queue%2Fq&tail=3", "||3 |120000 |229999 |");
    assert_seqs("/v1/events?subject=queue%2Fq&tail=9", "||3 |120000 |229999 |");
    assert_seqs("/v1/events?subject=queue%2Fq&tail=9&since_ms=4", "||120000 |229999 |");
    assert_seqs("/v1/events?subject=queue%2Fq&tail=9&limit=1", "||3 ||120000 ||229999 |");
    assert_seqs("/v1/events?subject=queue%2Fq", "3 |120000 |229999 |");
    assert_seqs("/v1/events?tail=229999&limit=1000&after=229998", "229999 230000 |");
    assert_seqs("/v1/events?tail=2", "229999 230000 |");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_set_up, api_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pages),    TEST(test_of_one_thing),
        TEST(test_tail),     TEST(test_a_tail_keeps_its_end),
        TEST(test_since),    TEST(test_a_clock_set_back),
        TEST(test_far_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

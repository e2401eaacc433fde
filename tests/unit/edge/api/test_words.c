/* Every code has words, and they say what they should. */
#include "api_test.h"
#include "base/count.h"
#include "edge/api/words.h"

static struct weir_buf text;

static int set_up(void **state)
{
    weir_buf_init(&text, 65536);
    return api_set_up(state);
}

static int tear_down(void **state)
{
    weir_buf_finish(&text);
    return api_tear_down(state);
}

static struct weir_words words_of(uint64_t number)
{
    return (struct weir_words){f.world, &f.plan, api_row(&f, number), 0, 86400000};
}

static struct weir_reason reason_of(enum weir_reason_level level, enum weir_reason_code code)
{
    return (struct weir_reason){.level = level,
                                .code = code,
                                .subject = WEIR_NONE,
                                .resource = WEIR_NONE,
                                .count = 2,
                                .have = 1,
                                .need = 3,
                                .first_child = WEIR_NONE,
                                .next = WEIR_NONE};
}

/* No code without words, at no level, with or without a count: no empty text, no brace left. */
static void test_all_reasons(void **state)
{
    struct weir_words words;

    (void)state;
    api_add(&f, "w", "research", 2, false);
    api_tick(&f);
    words = words_of(1);
    for (uint32_t level = 0; level <= WEIR_LEVEL_MAX; level++) {
        for (uint32_t code = 0; code <= WEIR_REASON_CODE_MAX; code++) {
            struct weir_reason reason = reason_of(level, code);
            struct weir_str view;

            for (reason.count = 0; reason.count < 3; reason.count++) {
                weir_buf_reset(&text);
                weir_words_reason(&words, &reason, &text);
                view = weir_buf_view(&text);
                if (weir_str_ends_with(view, WEIR_STR(": ")) || weir_str_find_char(view, ':') < 1 ||
                    weir_str_find_char(view, '{') >= 0 || weir_str_find_char(view, '}') >= 0 ||
                    (code > 0 && weir_str_ends_with(view, WEIR_STR(": ok"))))
                    fail_msg("level %u, code %s: '%s'", level,
                             weir_reason_name((enum weir_reason_code)code), weir_buf_cstr(&text));
            }
        }
    }
}

static void assert_reason(const struct weir_reason *reason, const char *expected)
{
    struct weir_words words = words_of(1);

    weir_buf_reset(&text);
    weir_words_reason(&words, reason, &text);
    assert_string_equal(weir_buf_cstr(&text), expected);
}

static void test_reasons(void **state)
{
    static struct weir_holder holders[5];
    struct weir_reason reason;
    struct weir_workload *row;

    (void)state;
    api_add(&f, "w", "research", 2, false);
    row = weir_edit_workload(f.edit, api_row(&f, 1));
    row->not_before_wall_ms = 2 * 86400000 + 3600000;
    api_tick(&f);

    reason = reason_of(WEIR_LEVEL_QUEUE, WEIR_REASON_QUEUE_LIMIT);
    reason.resource = WEIR_RES_GPU;
    reason.have = 500;
    reason.need = 3000;
    assert_reason(&reason, "queue research: its limit of 2 GPUs is reached (1.5 GPUs held, 3 GPUs "
                           "more asked for)");
    reason = reason_of(WEIR_LEVEL_QUEUE, WEIR_REASON_NONE);
    reason.subject_kind = WEIR_SUBJECT_QUEUE;
    reason.subject = f.default_queue;
    assert_reason(&reason, "queue default: ok (0 GPUs held, no limit)");
    reason = reason_of(WEIR_LEVEL_GANG, WEIR_REASON_GANG);
    assert_reason(&reason, "members: 1 of 3 members fit at the same time");
    reason.need = 0;
    assert_reason(&reason, "members: some of them are still stopping");
    reason = reason_of(WEIR_LEVEL_GANG, WEIR_REASON_NONE);
    assert_reason(&reason, "members: 1 of 3 find room at the same time");
    reason = reason_of(WEIR_LEVEL_QUEUE, WEIR_REASON_BEGIN_TIME);
    assert_reason(&reason, "queue research: closed until 1970-01-03 01:00 UTC");
    reason = reason_of(WEIR_LEVEL_DEVICES, WEIR_REASON_NONE);
    assert_reason(&reason, "GPUs: 1 of 2 can be had now, 3 needed");
    reason = reason_of(WEIR_LEVEL_NODES, WEIR_REASON_RESOURCES);
    reason.resource = WEIR_RES_GPU;
    reason.subject_kind = WEIR_SUBJECT_NODE;
    reason.subject = f.nodes[0];
    reason.have = 1000;
    reason.need = 4000;
    assert_reason(&reason, "nodes: not enough free GPUs anywhere (nearest: alpha with 1 GPU, 4 "
                           "GPUs needed)");
    reason = reason_of(WEIR_LEVEL_WORKLOAD, WEIR_REASON_BEGIN_TIME);
    assert_reason(&reason, "workload: not before 1970-01-03 01:00 UTC");
    reason = reason_of(WEIR_LEVEL_NODES, WEIR_REASON_MEMORY);
    reason.count = 1;
    assert_reason(&reason, "nodes: 1 of 2 nodes has too little free memory");
    reason.count = 2;
    assert_reason(&reason, "nodes: 2 of 2 nodes have too little free memory");
    reason = reason_of(WEIR_LEVEL_DEVICES, WEIR_REASON_DEVICE_FOREIGN);
    for (size_t i = 0; i < WEIR_COUNT_OF(holders); i++)
        holders[i] = (struct weir_holder){api_row(&f, 1), 0, 1000, INT64_MAX};
    holders[0].end_p50_wall_ms = 86400000 + 3600000;
    f.plan.holders = holders;
    f.plan.n_holders = WEIR_COUNT_OF(holders);
    reason.n_holders = WEIR_COUNT_OF(holders);
    assert_reason(&reason,
                  "GPUs: 2 of 3 GPUs are in use by processes weir did not start; held by its own "
                  "other members (until about 01:00 UTC), its own other members, its own "
                  "other members and 2 more");
}

static void test_ends(void **state)
{
    char room[WEIR_WORDS_REASON_MAX];

    (void)state;
    for (uint32_t s = WEIR_TASK_SUCCEEDED; s < WEIR_TASK_STATE_MAX; s++)
        for (uint32_t cause = 0; cause <= WEIR_CAUSE_MAX; cause++)
            assert_true(weir_words_end(s, cause, 1, room)[0] != '\0');
    for (uint32_t cause = 0; cause <= WEIR_CAUSE_MAX; cause++)
        assert_true(
            weir_str_starts_with(weir_str(weir_words_stopping(cause)), WEIR_STR("stopping")));
    assert_string_equal(weir_words_end(WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 128, room), "exit 128");
    assert_string_equal(weir_words_end(WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 139, room),
                        "killed by signal 11 (SEGV)");
    assert_string_equal(weir_words_end(WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 255, room), "exit 255");
    assert_string_equal(weir_words_end(WEIR_TASK_FAILED, WEIR_CAUSE_GANG_BROKEN, 143, room),
                        "another member failed");
}

static void test_ends_with_why(void **state)
{
    char room[WEIR_WORDS_END_MAX];
    char name[WEIR_WORDS_END_MAX];

    (void)state;
    assert_string_equal(weir_words_end_and_why(WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 127,
                                               WEIR_STR("no such file"), room),
                        "exit 127: no such file");
    assert_string_equal(weir_words_end_and_why(WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 1, WEIR_STR(""),
                                               room),
                        "exit 1");
    assert_string_equal(weir_words_end_and_why(WEIR_TASK_CANCELLED, WEIR_CAUSE_CANCELLED, 127,
                                               WEIR_STR("no such file"), room),
                        "cancelled");
    memset(name, 'n', sizeof(name));
    weir_words_end_and_why(WEIR_TASK_FAILED, WEIR_CAUSE_EXITED, 127, weir_str_n(name, sizeof(name)),
                           room);
    assert_true(strlen(room) < sizeof(room) && strlen(room) > 320);
}

static void assert_amount(uint32_t resource, int64_t amount, const char *expected)
{
    weir_buf_reset(&text);
    weir_words_amount(f.world, resource, amount, &text);
    assert_string_equal(weir_buf_cstr(&text), expected);
}

static void test_amounts(void **state)
{
    uint32_t other;

    (void)state;
    assert_int_equal(
        weir_edit_resource(f.edit, WEIR_RESOURCE_OTHER, WEIR_STR("x.com/fpga"), 1000, &other), 0);
    api_tick(&f);
    assert_amount(WEIR_RES_GPU, 1000, "1 GPU");
    assert_amount(WEIR_RES_GPU, 2000, "2 GPUs");
    assert_amount(WEIR_RES_GPU, 0, "0 GPUs");
    assert_amount(WEIR_RES_GPU, 500, "0.5 of a GPU");
    assert_amount(WEIR_RES_CPU, 1500, "1.5 CPUs");
    assert_amount(WEIR_RES_MEMORY, (int64_t)32 << 30, "32.0 GiB of memory");
    assert_amount(weir_world_device(f.world, f.gpus[0])->gpu_class, 2000, "2 h100-sxm");
    assert_amount(other, 3000, "3 x.com/fpga");
}

static void test_subjects(void **state)
{
    const struct {
        uint32_t kind;
        uint32_t subject;
        const char *expected;
    } subjects[] = {
        {WEIR_SUBJECT_NONE, 0, ""},
        {WEIR_SUBJECT_QUEUE, WEIR_NONE, ""},
        {WEIR_SUBJECT_NODE, f.nodes[1], "node/beta"},
        {WEIR_SUBJECT_DEVICE, f.gpus[2], "gpu/GPU-2"},
        {WEIR_SUBJECT_QUEUE, f.research, "queue/research"},
        {WEIR_SUBJECT_WORKLOAD, 0, "workload/1"},
        {WEIR_SUBJECT_TASK, 1, "workload/1/0"},
        {WEIR_SUBJECT_POOL, 0, "pool/alpha"},
    };

    (void)state;
    api_add(&f, "w", "default", 2, true);
    api_tick(&f);
    for (size_t i = 0; i < WEIR_COUNT_OF(subjects); i++) {
        uint32_t subject = subjects[i].subject;

        if (subjects[i].kind == WEIR_SUBJECT_WORKLOAD)
            subject = api_row(&f, 1);
        if (subjects[i].kind == WEIR_SUBJECT_TASK)
            subject = weir_world_workload(f.world, api_row(&f, 1))->first_task;
        if (subjects[i].kind == WEIR_SUBJECT_POOL)
            subject = weir_world_node(f.world, f.nodes[0])->name;
        weir_buf_reset(&text);
        weir_words_subject(f.world, subjects[i].kind, subject, &text);
        assert_string_equal(weir_buf_cstr(&text), subjects[i].expected);
    }
}

static void assert_unblock(const struct weir_verdict *verdict, const char *expected)
{
    struct weir_words words = words_of(1);

    weir_buf_reset(&text);
    weir_words_unblock(&words, verdict, &text);
    assert_string_equal(weir_buf_cstr(&text), expected);
}

static void test_unblock(void **state)
{
    static const char *const expected[] = {
        "",
        "what it needs comes free with the end of workload/2",
        "what it needs is free by now: it is looked at again with the end of any of workload/2",
        "it could start if the limit of queue/research were 3 GPUs",
        "it needs these put back into use: queue/research and 1 more, and the end of workload/2",
        "it could start with this much more: 3 GPUs",
        "it can start from 1970-01-01 00:00 UTC on",
        "it can start when it is released",
        "it needs processes that weir did not start to end: look at queue/research",
        "",
    };
    const uint32_t node = weir_world_first(f.world, WEIR_TABLE_NODES);
    struct weir_cordoned cordons[2] = {{WEIR_SUBJECT_QUEUE, f.research}, {WEIR_SUBJECT_NODE, node}};
    struct weir_awaited end;
    struct weir_verdict verdict;

    (void)state;
    for (int i = 0; i < 2; i++)
        api_add(&f, "w", "research", 1, false);
    api_tick(&f);
    end = (struct weir_awaited){api_row(&f, 2), 0, INT64_MAX};
    f.plan.ends = &end;
    f.plan.n_ends = 1;
    f.plan.cordons = cordons;
    f.plan.n_cordons = 2;
    for (uint32_t kind = 0; kind <= WEIR_UNBLOCK_MAX; kind++) {
        verdict = (struct weir_verdict){.unblock = kind,
                                        .unblock_subject_kind = WEIR_SUBJECT_QUEUE,
                                        .unblock_subject = f.research,
                                        .unblock_resource = WEIR_NONE,
                                        .unblock_amount = 3000,
                                        .unblock_n_cordons = 1,
                                        .unblock_n_more_cordons = 1,
                                        .unblock_n_ends = 1};
        assert_unblock(&verdict, expected[kind]);
        assert_non_null(weir_words_unblock_name(kind));
        assert_true(kind == 0 || kind == WEIR_UNBLOCK_MAX ||
                    strcmp(weir_words_unblock_name(kind), "none") != 0);
    }
    verdict.unblock = WEIR_UNBLOCK_UNCORDON;
    verdict.unblock_n_cordons = 2;
    assert_unblock(&verdict, "it needs these put back into use: queue/research, node/alpha and 1 "
                             "more, and the end of workload/2");
    verdict.unblock_n_more_cordons = 0;
    verdict.unblock_n_cordons = 1;
    verdict.unblock_n_ends = 0;
    assert_unblock(&verdict, "it could start if these were put back into use: queue/research");
}

/* Those whose end it takes are named, the job's own tasks as such; many are counted. */
static void test_unblock_by_ends(void **state)
{
    struct weir_verdict verdict = {.unblock = WEIR_UNBLOCK_WAIT_FOR, .unblock_first_end = 1};
    struct weir_awaited ends[11];

    (void)state;
    for (int i = 0; i < 10; i++)
        api_add(&f, "w", "research", 1, i == 0);
    api_tick(&f);
    for (uint64_t i = 0; i < 10; i++)
        ends[i + 1] = (struct weir_awaited){api_row(&f, i + 1), 0, INT64_MAX};
    f.plan.ends = ends;
    f.plan.n_ends = 11;
    verdict.unblock_n_ends = 1;
    assert_unblock(&verdict, "what it needs comes free with the end of its own other elements");
    verdict.unblock_n_ends = 3;
    assert_unblock(&verdict, "what it needs comes free with the end of its own other elements, "
                             "workload/2 and workload/3");
    verdict.unblock_n_more_ends = 4;
    assert_unblock(&verdict, "what it needs comes free with the end of its own other elements, "
                             "workload/2, workload/3 and 4 more");
    verdict.unblock_first_end = 2;
    verdict.unblock_n_ends = 8;
    verdict.unblock_n_more_ends = 0;
    assert_unblock(&verdict, "what it needs comes free with the end of workload/2, workload/3, "
                             "workload/4, workload/5, workload/6, workload/7, workload/8 and "
                             "workload/9");
    verdict.unblock_n_ends = 9;
    assert_unblock(&verdict, "what it needs comes free with the end of workload/2, workload/3, "
                             "workload/4, workload/5, workload/6, workload/7, workload/8, "
                             "workload/9 and 1 more");
    verdict.unblock = WEIR_UNBLOCK_WAIT_FOR_ANY;
    verdict.unblock_n_ends = 2;
    assert_unblock(&verdict, "what it needs is free by now: it is looked at again with the end of "
                             "any of workload/2 and workload/3");
}

/* What comes free is not for the second in line alone. */
static void test_unblock_after_others(void **state)
{
    struct weir_verdict verdicts[6] = {0};
    struct weir_awaited end;

    (void)state;
    for (int i = 0; i < 7; i++)
        api_add(&f, "w", "research", 1, false);
    api_tick(&f);
    end = (struct weir_awaited){api_row(&f, 7), 0, INT64_MAX};
    f.plan.ends = &end;
    f.plan.n_ends = 1;
    for (uint32_t i = 0; i < 6; i++)
        verdicts[i] = (struct weir_verdict){.workload = api_row(&f, i + 1),
                                            .position = i + 1,
                                            .unblock = WEIR_UNBLOCK_WAIT_FOR,
                                            .unblock_n_ends = 1};
    f.plan.verdicts = verdicts;
    f.plan.n_verdicts = 6;
    assert_unblock(&verdicts[0], "what it needs comes free with the end of workload/7");
    assert_unblock(&verdicts[1], "what it needs comes free with the end of workload/7; as the "
                                 "order is now, workload/1 is looked at first");
    assert_unblock(&verdicts[3],
                   "what it needs comes free with the end of workload/7; as the "
                   "order is now, workload/1, workload/2 and workload/3 are looked at "
                   "first");
    verdicts[5].unblock = WEIR_UNBLOCK_WAIT_FOR_ANY;
    assert_unblock(&verdicts[5], "what it needs is free by now: it is looked at again with the end "
                                 "of any of workload/7; as the order is now, workload/1, "
                                 "workload/2, workload/3 and 2 more are looked at first");
}

static void test_times(void **state)
{
    (void)state;
    weir_words_time(86400000 + 599000, 86400000, &text);
    assert_string_equal(weir_buf_cstr(&text), "00:09:59 UTC");
    weir_buf_reset(&text);
    weir_words_time(86400000 + 600000, 86400000, &text);
    assert_string_equal(weir_buf_cstr(&text), "00:10 UTC");
    weir_buf_reset(&text);
    weir_words_time(86400000 + 1000, 86400000 - 1000, &text);
    assert_string_equal(weir_buf_cstr(&text), "00:00:01 UTC");
    weir_buf_reset(&text);
    weir_words_time(86400000 + 1000, 86400000 - 600000, &text);
    assert_string_equal(weir_buf_cstr(&text), "1970-01-02 00:00 UTC");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_reasons), TEST(test_reasons),
        TEST(test_ends),        TEST(test_ends_with_why),
        TEST(test_amounts),     TEST(test_subjects),
        TEST(test_unblock),     TEST(test_unblock_by_ends),
        TEST(test_times),       TEST(test_unblock_after_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

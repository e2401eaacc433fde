#include "../support.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/sheet.h"

static const struct weir_sheet_column columns[] = {
    {.title = "ID", .is_right = true},      {.title = "NAME", .stretches = true},
    {.title = "STATE", .is_state = true},   {.title = "MORE", .wide = true},
    {.title = "REASON", .stretches = true},
};

static const char *const rows[][5] = {
    {"1", "train", "running", "x", ""},
    {"200", "größe", "queued", "", "Resources"},
    {"3", "日本", "failed", "y", "killed by a signal that nobody expected"},
};

static void assert_sheet(const struct weir_sheet_look *look, const char *wanted)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 16);
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_sheet sheet;

    weir_sheet_init(&sheet, columns, WEIR_COUNT_OF(columns));
    for (size_t r = 0; r < WEIR_COUNT_OF(rows); r++)
        for (size_t c = 0; c < WEIR_COUNT_OF(columns); c++)
            weir_sheet_add(&sheet, weir_str(rows[r][c]));
    assert_int_equal(weir_sheet_write(&sheet, look, &out, &err), 0);
    assert_string_equal(weir_buf_cstr(&out), wanted);
    weir_sheet_finish(&sheet);
}

static void columns_stand_below_one_another(void **state)
{
    (void)state;
    assert_sheet(&(struct weir_sheet_look){0},
                 " ID  NAME   STATE    REASON\n"
                 "  1  train  running  -\n"
                 "200  größe  queued   Resources\n"
                 "  3  日本   failed   killed by a signal that nobody expected\n");
    assert_sheet(&(struct weir_sheet_look){.wide = true},
                 " ID  NAME   STATE    MORE  REASON\n"
                 "  1  train  running  x     -\n"
                 "200  größe  queued   -     Resources\n"
                 "  3  日本   failed   y     killed by a signal that nobody expected\n");
}

static void color_takes_no_room(void **state)
{
    (void)state;
    assert_sheet(&(struct weir_sheet_look){.color = true},
                 " ID  NAME   STATE    REASON\n"
                 "  1  train  \033[32mrunning\033[0m  -\n"
                 "200  größe  \033[33mqueued\033[0m   Resources\n"
                 "  3  日本   \033[31mfailed\033[0m   killed by a signal that nobody expected\n");
}

static void narrow_terminals_cut_what_stretches(void **state)
{
    (void)state;
    assert_sheet(&(struct weir_sheet_look){.width = 36}, " ID  NAME   STATE    REASON\n"
                                                         "  1  train  running  -\n"
                                                         "200  größe  queued   Resources\n"
                                                         "  3  日本   failed   killed by a si…\n");
    /* Never below what can be read. */
    assert_sheet(&(struct weir_sheet_look){.width = 10}, " ID  NAME   STATE    REASON\n"
                                                         "  1  train  running  -\n"
                                                         "200  größe  queued   Resourc…\n"
                                                         "  3  日本   failed   killed …\n");
}

static void nothing_steers_the_terminal(void **state)
{
    static const struct weir_sheet_column one[] = {{.title = "X"}};
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 16);
    struct weir_sheet sheet;
    (void)state;

    weir_sheet_init(&sheet, one, 1);
    weir_sheet_add(&sheet, WEIR_STR("a\033[2Jb\nc\x7f\xff\xc2\x9b"
                                    "d\xc2\xa0"));
    assert_int_equal(weir_sheet_write(&sheet, &(struct weir_sheet_look){0}, &out, NULL), 0);
    assert_string_equal(weir_buf_cstr(&out), "X\na?[2Jb?c???d\xc2\xa0\n");
    weir_sheet_finish(&sheet);
}

static void without_rows_there_is_nothing(void **state)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 16);
    struct weir_sheet sheet;
    (void)state;

    weir_sheet_init(&sheet, columns, WEIR_COUNT_OF(columns));
    assert_int_equal(weir_sheet_write(&sheet, &(struct weir_sheet_look){0}, &out, NULL), 0);
    assert_int_equal(out.len, 0);
    weir_sheet_finish(&sheet);
}

/* Every line of a cut sheet fits, every line has its columns, and none ends in a blank. */
static void any_text_keeps_the_columns(void **state)
{
    static const char *const pieces[] = {"a", "ß",  "語",   "e\xcc\x81", "\xf0\x9f\x98\x80",
                                         " ", "\t", "\xff", "-"};
    struct weir_rng rng = random_numbers();
    (void)state;

    for (int round = 0; round < 2000; round++) {
        weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);
        struct weir_sheet_look look = {.width = 24 + weir_rng_below(&rng, 60)};
        struct weir_sheet sheet;
        struct weir_str rest, line;

        weir_sheet_init(&sheet, columns, WEIR_COUNT_OF(columns));
        for (size_t c = 0; c < 4 * WEIR_COUNT_OF(columns); c++) {
            char text[256] = "";

            for (uint64_t k = weir_rng_below(&rng, 20); k > 0; k--)
                snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
                         pieces[weir_rng_below(&rng, WEIR_COUNT_OF(pieces))]);
            weir_sheet_add(&sheet, weir_str(c % WEIR_COUNT_OF(columns) == 1 ||
                                                    c % WEIR_COUNT_OF(columns) == 4
                                                ? text
                                                : "xy"));
        }
        assert_int_equal(weir_sheet_write(&sheet, &look, &out, NULL), 0);
        assert_true(weir_str_is_utf8(weir_buf_view(&out)));
        rest = weir_buf_view(&out);
        for (int n = 0; weir_str_split(&rest, '\n', &line) && line.len > 0; n++) {
            size_t width = weir_text_width(line);

            assert_true(width <= look.width || width <= 2 + 2 + 8 + 2 + 5 + 2 + 8);
        }
        weir_sheet_finish(&sheet);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 100; after++) {
        weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 16);
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_sheet sheet;
        uint64_t used;
        int result;

        weir_mem_fail(after, 1);
        weir_sheet_init(&sheet, columns, WEIR_COUNT_OF(columns));
        for (size_t c = 0; c < WEIR_COUNT_OF(columns) * 40; c++)
            weir_sheet_add(&sheet, WEIR_STR("some text that takes room"));
        result = weir_sheet_write(&sheet, &(struct weir_sheet_look){0}, &out, &err);
        used = weir_mem_count();
        weir_mem_fail(0, 0);
        weir_sheet_finish(&sheet);
        if (used <= after) {
            assert_int_equal(result, 0);
            assert_true(after > 2);
            return;
        }
        assert_int_equal(result, WEIR_E_NO_MEMORY);
    }
    fail_msg("it never came through");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_below_one_another),
        cmocka_unit_test(color_takes_no_room),
        cmocka_unit_test(narrow_terminals_cut_what_stretches),
        cmocka_unit_test(nothing_steers_the_terminal),
        cmocka_unit_test(without_rows_there_is_nothing),
        cmocka_unit_test(any_text_keeps_the_columns),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

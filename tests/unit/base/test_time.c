#include "../support.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"

#include <time.h>

static void assert_civil_like_libc(int64_t seconds)
{
    time_t at = (time_t)seconds;
    struct tm tm;
    struct weir_civil c;

    assert_non_null(gmtime_r(&at, &tm));
    weir_time_civil(seconds * 1000 + 7, &c);
    if (c.year != tm.tm_year + 1900 || c.month != tm.tm_mon + 1 || c.day != tm.tm_mday ||
        c.hour != tm.tm_hour || c.minute != tm.tm_min || c.second != tm.tm_sec ||
        c.millisecond != 7)
        fail_msg("%lld s is %d-%02d-%02d", (long long)seconds, c.year, c.month, c.day);
    assert_true(weir_time_from_civil(&c) == seconds * 1000 + 7);
}

/* Every day from 1600 to 2400, its first and its last second. */
static void days_of_eight_centuries_agree_with_libc(void **state)
{
    (void)state;
    for (int64_t day = -135140; day <= 157054; day++) {
        assert_civil_like_libc(day * 86400);
        assert_civil_like_libc(day * 86400 + 86399);
    }
}

static void random_instants_agree_with_libc(void **state)
{
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int i = 0; i < 100000; i++)
        assert_civil_like_libc((int64_t)weir_rng_below(&rng, 600000000000) - 200000000000);
}

static void milliseconds_before_1970_count_from_below(void **state)
{
    struct weir_civil c;

    (void)state;
    weir_time_civil(-1, &c);
    assert_int_equal(c.year, 1969);
    assert_int_equal(c.month, 12);
    assert_int_equal(c.day, 31);
    assert_int_equal(c.second, 59);
    assert_int_equal(c.millisecond, 999);
    weir_time_civil(-WEIR_TIME_DAY_MS, &c);
    assert_int_equal(c.day, 31);
    assert_int_equal(c.hour, 0);
}

/* The ends of int64: nothing wraps, and the way back is the same. */
static void the_ends_of_time_do_not_wrap(void **state)
{
    struct weir_civil c;

    (void)state;
    weir_time_civil(INT64_MAX, &c);
    assert_int_equal(c.year, 292278994);
    assert_int_equal(c.month, 8);
    assert_int_equal(c.day, 17);
    assert_true(weir_time_from_civil(&c) == INT64_MAX);
    weir_time_civil(INT64_MIN, &c);
    assert_int_equal(c.year, -292275055);
    assert_int_equal(c.month, 5);
    assert_int_equal(c.day, 16);
    assert_int_equal(c.hour, 16);
    assert_int_equal(c.millisecond, 192);
}

static void assert_time_text(int64_t wall_ms, const char *text)
{
    struct weir_buf buf = WEIR_BUF_INIT(100);
    int64_t back = 1;

    assert_int_equal(weir_time_format(wall_ms, &buf), 0);
    assert_string_equal(weir_buf_cstr(&buf), text);
    assert_int_equal(weir_time_parse(weir_buf_view(&buf), &back, NULL), 0);
    assert_true(back == wall_ms);
    weir_buf_finish(&buf);
}

static void formats_and_reads_back(void **state)
{
    (void)state;
    assert_time_text(0, "1970-01-01T00:00:00.000Z");
    assert_time_text(1796051045123, "2026-11-30T15:04:05.123Z");
    assert_time_text(951782400000, "2000-02-29T00:00:00.000Z");
    assert_time_text(253402300799999, "9999-12-31T23:59:59.999Z");
    assert_time_text(-62167219200000, "0000-01-01T00:00:00.000Z");
}

static void random_times_read_back(void **state)
{
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct weir_buf buf = WEIR_BUF_INIT(100);
        int64_t wall_ms = (int64_t)weir_rng_below(&rng, 253402300800000);
        int64_t back;

        weir_time_format(wall_ms, &buf);
        assert_int_equal(weir_time_parse(weir_buf_view(&buf), &back, NULL), 0);
        assert_true(back == wall_ms);
        weir_buf_finish(&buf);
    }
}

static void reads_rfc_3339(void **state)
{
    static const struct {
        const char *text;
        int64_t wall_ms;
    } cases[] = {
        {"2026-11-30T15:04:05Z", 1796051045000},
        {"2026-11-30t15:04:05z", 1796051045000},
        {"2026-11-30 15:04:05Z", 1796051045000},
        {"2026-11-30T15:04:05.1Z", 1796051045100},
        {"2026-11-30T15:04:05.123999999999999999999999Z", 1796051045123},
        {"2026-11-30T15:04:05.000000001Z", 1796051045000},
        {"2026-11-30T16:04:05+01:00", 1796051045000},
        {"2026-11-30T09:34:05.5-05:30", 1796051045500},
        {"2026-11-30T15:04:05-00:00", 1796051045000},
        {"2026-12-01T15:03:05+23:59", 1796051045000},
        {"2024-02-29T00:00:00Z", 1709164800000},
        {"2016-12-31T23:59:60Z", 1483228800000}, /* a leap second */
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        int64_t wall_ms = 0;

        assert_int_equal(weir_time_parse(weir_str(cases[i].text), &wall_ms, NULL), 0);
        assert_true(wall_ms == cases[i].wall_ms);
    }
}

static void refuses_what_is_no_time(void **state)
{
    static const char *const bad[] = {
        "",
        "now",
        "2026-11-30",
        "2026-11-30T15:04:05",
        "2026-11-30T15:04Z",
        "2026-11-30T15:04:05.Z",
        "2026-11-30T15:04:05,1Z",
        "2026-11-30T15:04:05Zx",
        "2026-11-30T15:04:05Z ",
        " 2026-11-30T15:04:05Z",
        "2026-13-30T15:04:05Z",
        "2026-00-30T15:04:05Z",
        "2026-11-31T15:04:05Z",
        "2026-11-00T15:04:05Z",
        "2026-02-29T15:04:05Z",
        "2100-02-29T15:04:05Z",
        "2026-11-30T24:00:00Z",
        "2026-11-30T15:60:05Z",
        "2026-11-30T15:04:61Z",
        "2026-11-30T15:04:05+24:00",
        "2026-11-30T15:04:05+01:60",
        "2026-11-30T15:04:05+0100",
        "2026-11-30T15:04:05+1:00",
        "2026-11-30T15:04:05+",
        "+026-11-30T15:04:05Z",
        "-026-11-30T15:04:05Z",
        "2026/11/30T15:04:05Z",
        "2026-1-30T15:04:05Z",
        "12026-11-30T15:04:05Z",
        "2026-11-30T15:04:+5Z",
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        char wanted[100];
        int64_t wall_ms = 7;

        assert_int_equal(weir_time_parse(weir_str(bad[i]), &wall_ms, &err), WEIR_E_INVALID);
        assert_int_equal(wall_ms, 7);
        snprintf(wanted, sizeof(wanted), "'%s' is not a time", bad[i]);
        assert_string_equal(err.text, wanted);
        assert_string_equal(err.hint, "write it as 2026-11-30T15:04:05Z");
    }
}

static void formats_durations(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0ms"},
        {1, "1ms"},
        {999, "999ms"},
        {1000, "1.0s"},
        {4299, "4.2s"},
        {9999, "9.9s"},
        {10000, "10s"},
        {59999, "59s"},
        {60000, "1m00s"},
        {185000, "3m05s"},
        {3599999, "59m59s"},
        {3600000, "1h00m"},
        {7800000, "2h10m"},
        {86399999, "23h59m"},
        {86400000, "1d00h"},
        {442800000, "5d03h"},
        {INT64_MAX, "106751991167d07h"},
        {-1, "-1ms"},
        {-185000, "-3m05s"},
        {INT64_MIN, "-106751991167d07h"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_buf buf = WEIR_BUF_INIT(100);

        assert_int_equal(weir_duration_format(cases[i].ms, &buf), 0);
        assert_string_equal(weir_buf_cstr(&buf), cases[i].text);
        weir_buf_finish(&buf);
    }
}

static void reads_durations(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"0", 0},
        {"90", 90000},
        {"90s", 90000},
        {"500ms", 500},
        {"1h30m", 5400000},
        {"1.5h", 5400000},
        {"0.25s", 250},
        {"1.0009s", 1000},
        {"2d", 172800000},
        {"1w", 604800000},
        {"1d2h3m4s5ms", 93784005},
        {"01:30:00", 5400000},
        {"100:00:00", 360000000},
        {"01:30", 90000},
        {"90:00", 5400000},
        {"0:0:1", 1000},
        {"3653d", 315619200000},
        {"315619200", 315619200000},
        {"87672:00:00", 315619200000},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        int64_t ms = -1;

        assert_int_equal(weir_duration_parse(weir_str(cases[i].text), &ms, NULL), 0);
        assert_true(ms == cases[i].ms);
    }
}

static void refuses_what_is_no_duration(void **state)
{
    static const char *const bad[] = {
        "",
        "s",
        "-1",
        "-1s",
        "+1s",
        " 1s",
        "1s ",
        "1 s",
        "1x",
        "1h30",
        "1.h",
        ".5h",
        "1.5",
        "1.5.5h",
        "1H",
        "1e3s",
        "1:2:3:4",
        "1:",
        ":1",
        "::",
        "1:60",
        "1:00:60",
        "1:60:00",
        "-1:00",
        "1:+1",
        "1:00s",
        "3653d1ms",
        "315619201",
        "87672:00:01",
        "9999999:00:00",
        "999999999999w",
        "9999999999999s",
        "18446744073709551616s",
        "18446744073709551615",
        "99999999999999999999",
        /* the whole part fits into int64 milliseconds, with its fraction it does not */
        "15250284452.999w",
        "106751991167.999d",
        "3653d3653d",
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        char wanted[100];
        int64_t ms = 7;

        assert_int_equal(weir_duration_parse(weir_str(bad[i]), &ms, &err), WEIR_E_INVALID);
        assert_int_equal(ms, 7);
        snprintf(wanted, sizeof(wanted), "'%s' is not a duration", bad[i]);
        assert_string_equal(err.text, wanted);
        assert_true(err.hint[0] != '\0');
    }
}

static void offers_the_unit_that_is_missing(void **state)
{
    static const char *const cases[][2] = {{"1h30", "did you mean 1h30m?"},
                                           {"2d3", "did you mean 2d3h?"},
                                           {"5m7", "did you mean 5m7s?"}};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        int64_t ms = 0;

        assert_int_equal(weir_duration_parse(weir_str(cases[i][0]), &ms, &err), WEIR_E_INVALID);
        assert_string_equal(err.hint, cases[i][1]);
        /* And it is one. */
        assert_int_equal(weir_duration_parse(weir_str_sub(weir_str(cases[i][1]), 13,
                                                          strlen(cases[i][1]) - 14),
                                             &ms, &err),
                         0);
    }
}

/* What is shown for people can be given back, and says the same to the precision shown. */
static void shown_durations_read_back(void **state)
{
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct weir_buf buf = WEIR_BUF_INIT(100);
        int64_t ms = (int64_t)(weir_rng_next(&rng) >> weir_rng_below(&rng, 63) >> 1) % 315619200000;
        int64_t grain = ms < 1000       ? 1
                        : ms < 10000    ? 100
                        : ms < 3600000  ? 1000
                        : ms < 86400000 ? 60000
                                        : 3600000;
        int64_t back;

        weir_duration_format(ms, &buf);
        assert_int_equal(weir_duration_parse(weir_buf_view(&buf), &back, NULL), 0);
        assert_true(back == ms - ms % grain);
        weir_buf_finish(&buf);
    }
}

/* A number of minutes in 32 bits times the constant is a time in 64. */
static void units_are_wide(void **state)
{
    uint32_t minutes = 100000;

    (void)state;
    assert_true(minutes * WEIR_TIME_MIN == 6000000000);
    assert_true(minutes * WEIR_TIME_S == 100000000);
    assert_true(minutes * WEIR_TIME_H == 360000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_of_eight_centuries_agree_with_libc),
        cmocka_unit_test(random_instants_agree_with_libc),
        cmocka_unit_test(milliseconds_before_1970_count_from_below),
        cmocka_unit_test(the_ends_of_time_do_not_wrap),
        cmocka_unit_test(formats_and_reads_back),
        cmocka_unit_test(random_times_read_back),
        cmocka_unit_test(reads_rfc_3339),
        cmocka_unit_test(refuses_what_is_no_time),
        cmocka_unit_test(formats_durations),
        cmocka_unit_test(reads_durations),
        cmocka_unit_test(refuses_what_is_no_duration),
        cmocka_unit_test(offers_the_unit_that_is_missing),
        cmocka_unit_test(shown_durations_read_back),
        cmocka_unit_test(units_are_wide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Lines are read back from a pipe; time stands still where a test says so. */
#include "../support.h"

#include "base/clock.h"
#include "base/mem.h"

static int64_t fixed_mono_ms;

/* The log's own clock, so that a window of ten seconds takes none. */
#define weir_clock_mono_ms() (fixed_mono_ms)
#include "base/log.c"
#undef weir_clock_mono_ms

#include <fcntl.h>

static int ends[2];
static char line[65536];

static int open_pipe(void **state)
{
    (void)state;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    weir_log_set_fd(ends[1]);
    weir_log_set_level(WEIR_LOG_INFO);
    fixed_mono_ms = 1000000;
    return 0;
}

static int close_pipe(void **state)
{
    (void)state;
    weir_log_set_fd(STDERR_FILENO);
    return close(ends[0]) | close(ends[1]);
}

/* What was logged since the last call, without the time at its start. */
static const char *logged(void)
{
    ssize_t n = read(ends[0], line, sizeof(line) - 1);
    struct weir_str text = weir_str_n(line, n > 0 ? (size_t)n : 0);
    int64_t wall_ms;

    line[text.len] = '\0';
    if (text.len == 0)
        return "";
    assert_true(weir_str_starts_with(text, WEIR_STR("time=")));
    assert_int_equal(weir_time_parse(weir_str_sub(text, 5, 24), &wall_ms, NULL), 0);
    assert_true(wall_ms <= weir_clock_wall_ms() && wall_ms > weir_clock_wall_ms() - 60000);
    return line + 30;
}

static void writes_one_line(void **state)
{
    (void)state;
    weir_log_warn("gpu.lost", "device %d went away", 3);
    assert_string_equal(logged(), "level=warn event=gpu.lost msg=\"device 3 went away\"\n");
    weir_log_error("x", "plain");
    assert_string_equal(logged(), "level=error event=x msg=plain\n");
}

static void says_no_more_than_its_level(void **state)
{
    char number[16];

    (void)state;
    weir_log_debug("x", "no");
    assert_string_equal(logged(), "");
    weir_log_set_level(WEIR_LOG_DEBUG);
    weir_log_debug("x", "yes");
    assert_string_equal(logged(), "level=debug event=x msg=yes\n");
    for (int i = 0; i < 100; i++) { /* never too many */
        weir_log_debug("x", "%d", i);
        assert_string_equal(logged() + 24, weir_str_format(number, sizeof(number), "%d\n", i));
    }
    weir_log_set_level(WEIR_LOG_ERROR);
    weir_log_warn("x", "no");
    assert_string_equal(logged(), "");
    weir_log_set_fd(-1);
    weir_log_error("x", "no");
    assert_string_equal(logged(), "");
}

static void escapes_what_would_break_the_line(void **state)
{
    static const struct {
        const char *text;
        const char *shown;
    } cases[] = {
        {"", "\"\""},
        {"plain-text/1.0:x", "plain-text/1.0:x"},
        {"two words", "\"two words\""},
        {"a=b", "\"a=b\""},
        {"say \"hi\"", "\"say \\\"hi\\\"\""},
        {"back\\slash", "\"back\\\\slash\""},
        {"line\nbreak", "\"line\\nbreak\""},
        {"\r\t\x1b[31m\x7f\x01", "\"\\x0d\\x09\\x1b[31m\\x7f\\x01\""},
        {"\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac"},
        {"\xc3\xa4 \xc3\xa4", "\"\xc3\xa4 \xc3\xa4\""},
        {"\xff", "\"\\xff\""},
        {"\xc3\xa4\x80", "\"\\xc3\\xa4\\x80\""},
        {"level=error event=fake", "\"level=error event=fake\""},
    };
    char wanted[200];

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        fixed_mono_ms += SITE_WINDOW_MS;
        weir_log_info("x", "%s", cases[i].text);
        snprintf(wanted, sizeof(wanted), "level=info event=x msg=%s\n", cases[i].shown);
        assert_string_equal(logged(), wanted);
    }
}

static void scopes_add_fields_from_the_outside_in(void **state)
{
    (void)state;
    {
        WEIR_LOG_FIELD(outer, "job", WEIR_STR("j 1"));
        {
            WEIR_LOG_FIELD(inner, "gpu", WEIR_STR("GPU-7"));

            weir_log_info("x", "both");
            assert_string_equal(logged(), "level=info event=x job=\"j 1\" gpu=GPU-7 msg=both\n");
        }
        weir_log_info("x", "one");
        assert_string_equal(logged(), "level=info event=x job=\"j 1\" msg=one\n");
    }
    weir_log_info("x", "none");
    assert_string_equal(logged(), "level=info event=x msg=none\n");
}

static void one_site(int n)
{
    weir_log_info("x", "%d", n);
}

static void another_site(void)
{
    weir_log_info("y", "other");
}

static size_t count_lines(void)
{
    const char *text = logged();
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

static void a_site_is_limited_and_says_what_it_dropped(void **state)
{
    (void)state;
    for (int i = 0; i < 25; i++)
        one_site(i);
    assert_int_equal(count_lines(), SITE_LINES_MAX);
    another_site(); /* another site is not concerned */
    assert_string_equal(logged(), "level=info event=y msg=other\n");
    fixed_mono_ms += SITE_WINDOW_MS - 1;
    one_site(98);
    assert_string_equal(logged(), "");
    fixed_mono_ms += 1;
    one_site(99);
    assert_string_equal(logged(), "level=info event=x suppressed=16 msg=99\n");
    one_site(100);
    assert_string_equal(logged(), "level=info event=x msg=100\n");
}

static void a_long_message_is_cut_and_not_lost(void **state)
{
    char text[3 * TEXT_BYTES_MAX];

    (void)state;
    for (size_t i = 0; i + 2 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    text[sizeof(text) - 2] = '\0';
    text[0] = 'a';
    text[1] = 'b'; /* even positions: the cut falls between two letters, or not */
    weir_log_info("x", "%s", text);
    assert_true(weir_str_is_utf8(weir_str(logged())));
    assert_int_equal(strlen(logged()), 0);
    weir_log_info("x", "%s", text + 1);
    logged();
    assert_true(weir_str_is_utf8(weir_str(line)));
    assert_in_range(strlen(line), TEXT_BYTES_MAX, TEXT_BYTES_MAX + 100);
    assert_true(line[strlen(line) - 1] == '\n');
}

/* The worst there is: every byte becomes four, in the message and in many fields. */
static void the_longest_line_is_still_one_line(void **state)
{
    char text[TEXT_BYTES_MAX + 1];
    struct weir_log_scope scopes[100];
    struct weir_log_scope *last = NULL;

    (void)state;
    memset(text, 0x01, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    weir_log_info("x", "%s", text);
    logged();
    assert_in_range(strlen(line), 4 * TEXT_BYTES_MAX, 4 * TEXT_BYTES_MAX + 100);
    assert_string_equal(line + strlen(line) - 6, "\\x01\"\n");
    for (size_t i = 0; i < WEIR_COUNT_OF(scopes); i++) {
        scopes[i] = (struct weir_log_scope){"k", weir_str(text), NULL};
        weir_log_push(&scopes[i]);
    }
    weir_log_info("x", "%s", text);
    for (size_t i = WEIR_COUNT_OF(scopes); i > 0; i--) {
        last = &scopes[i - 1];
        weir_log_pop(&last);
    }
    logged();
    assert_in_range(strlen(line), LINE_BYTES_MAX - 3000, LINE_BYTES_MAX);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

static void without_memory_nothing_breaks(void **state)
{
    (void)state;
    weir_mem_fail(0, 100);
    weir_log_info("x", "y");
    weir_mem_fail(0, 0);
    assert_string_equal(logged(), "");
    weir_mem_fail(1, 100);
    weir_log_info("x", "y %100s", "z");
    weir_mem_fail(0, 0);
    logged();
    assert_true(strlen(line) == 0 || line[strlen(line) - 1] == '\n');
    weir_log_info("x", "y");
    assert_string_equal(logged(), "level=info event=x msg=y\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_one_line, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(says_no_more_than_its_level, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(escapes_what_would_break_the_line, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(scopes_add_fields_from_the_outside_in, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(a_site_is_limited_and_says_what_it_dropped, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(a_long_message_is_cut_and_not_lost, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(the_longest_line_is_still_one_line, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(without_memory_nothing_breaks, open_pipe, close_pipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "fmt/prom.h"

#include "base/arena.h"
#include "base/count.h"
#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define L(n, v)                                                                                    \
    {                                                                                              \
        WEIR_STR(n), WEIR_STR(v)                                                                   \
    }

static void writes_families(void **state)
{
    static const struct weir_prom_label labels[] = {L("gpu", "GPU-1"), L("note", "a\\b\"c\nd")};
    static const struct weir_prom_label odd[] = {L("x", "\xff\xc3\xa9\xe2\x82"), L("_y", "")};
    static const struct weir_prom_label le[] = {L("le", "+Inf")};
    struct weir_buf out = WEIR_BUF_INIT(4096);
    struct weir_prom prom;

    (void)state;
    weir_prom_init(&prom, &out);
    weir_prom_family(&prom, "weir_used_bytes", WEIR_PROM_GAUGE, "Memory\\in\nuse.");
    weir_prom_i64(&prom, "", labels, 2, INT64_MIN);
    weir_prom_i64(&prom, "", NULL, 0, INT64_MAX);
    weir_prom_f64(&prom, "", odd, 2, 0.1);
    weir_prom_family(&prom, "a:b", WEIR_PROM_HISTOGRAM, "");
    weir_prom_f64(&prom, "_bucket", le, 1, 3);
    weir_prom_f64(&prom, "_sum", NULL, 0, (double)NAN);
    weir_prom_f64(&prom, "_count", NULL, 0, (double)INFINITY);
    weir_prom_family(&prom, "c_total", WEIR_PROM_COUNTER, "x");
    weir_prom_f64_at(&prom, "", NULL, 0, -(double)INFINITY, -5);
    assert_int_equal(weir_prom_finish(&prom, NULL), 0);
    assert_string_equal(weir_buf_cstr(&out),
                        "# HELP weir_used_bytes Memory\\\\in\\nuse.\n"
                        "# TYPE weir_used_bytes gauge\n"
                        "weir_used_bytes{gpu=\"GPU-1\",note=\"a\\\\b\\\"c\\nd\"} "
                        "-9223372036854775808\n"
                        "weir_used_bytes 9223372036854775807\n"
                        "weir_used_bytes{x=\"\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\",_y="
                        "\"\"} 0.1\n"
                        "# HELP a:b \n# TYPE a:b histogram\n"
                        "a:b_bucket{le=\"+Inf\"} 3\na:b_sum NaN\na:b_count +Inf\n"
                        "# HELP c_total x\n# TYPE c_total counter\nc_total -Inf -5\n");
    weir_buf_finish(&out);
}

static void says_when_the_buffer_is_full(void **state)
{
    struct weir_buf out = WEIR_BUF_INIT(50);
    struct weir_prom prom;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_prom_init(&prom, &out);
    weir_prom_family(&prom, "a", WEIR_PROM_GAUGE, "some help that is longer than the buffer is");
    weir_prom_i64(&prom, "", NULL, 0, 1);
    assert_int_equal(weir_prom_finish(&prom, &err), WEIR_E_TOO_LARGE);
    assert_string_equal(err.text, "the metrics is larger than 50 bytes");
    weir_buf_finish(&out);
}

/* A bug ends the process: looked at from outside. */
static bool is_bug(int which)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        struct weir_buf out = WEIR_BUF_INIT(1000);
        struct weir_prom prom;
        struct weir_prom_label bad = L("a-b", "x");

        close(2);
        weir_prom_init(&prom, &out);
        if (which == 1)
            weir_prom_family(&prom, "1a", WEIR_PROM_GAUGE, "");
        if (which == 2)
            weir_prom_i64(&prom, "", NULL, 0, 1);
        weir_prom_family(&prom, "a", WEIR_PROM_GAUGE, "");
        if (which == 3)
            weir_prom_family(&prom, "a", WEIR_PROM_GAUGE, "");
        if (which == 4)
            weir_prom_i64(&prom, "", &bad, 1, 1);
        if (which == 5)
            weir_prom_i64(&prom, "_sum x", NULL, 0, 1);
        if (which == 6)
            weir_prom_family(&prom, "", WEIR_PROM_GAUGE, "");
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void bad_names_are_bugs(void **state)
{
    (void)state;
    assert_false(is_bug(0));
    for (int which = 1; which <= 6; which++)
        assert_true(is_bug(which));
}

static const char samples[] = "# HELP h Help \\\\ with {braces}\n"
                              "# TYPE h histogram\n"
                              "h_bucket{le=\"0.5\"} 1\n"
                              "h_bucket{le=\"+Inf\",} 2 1700000000123\n"
                              "h_sum 1e3\n"
                              "h_count 2\n"
                              "h_other 3\n"
                              "\n"
                              "  \t\n"
                              "# a comment\n"
                              "#TYPES differ\n"
                              "#\n"
                              "# TYPE s summary\n"
                              "s_bucket 1\n"
                              "s_sum\t-.5\t-7 \n"
                              " c { a = \"x\\\\y\\\"z\\n\" , b=\"\" } +Inf\n"
                              "d{} NaN\n"
                              "big 9223372036854775807\n"
                              "# TYPE h_sum_sum counter\n"
                              "h_sum_sum 1.\n";

static const struct {
    const char *name;
    const char *family;
    enum weir_prom_type type;
    size_t n_labels;
    double value;
    uint32_t line;
} wanted_samples[] = {
    {"h_bucket", "h", WEIR_PROM_HISTOGRAM, 1, 1, 3},
    {"h_bucket", "h", WEIR_PROM_HISTOGRAM, 1, 2, 4},
    {"h_sum", "h", WEIR_PROM_HISTOGRAM, 0, 1000, 5},
    {"h_count", "h", WEIR_PROM_HISTOGRAM, 0, 2, 6},
    {"h_other", "h_other", WEIR_PROM_UNTYPED, 0, 3, 7},
    {"s_bucket", "s_bucket", WEIR_PROM_UNTYPED, 0, 1, 14},
    {"s_sum", "s", WEIR_PROM_SUMMARY, 0, -.5, 15},
    {"c", "c", WEIR_PROM_UNTYPED, 2, (double)INFINITY, 16},
    {"d", "d", WEIR_PROM_UNTYPED, 0, (double)NAN, 17},
    {"big", "big", WEIR_PROM_UNTYPED, 0, 9223372036854775807.0, 18},
    {"h_sum_sum", "h_sum_sum", WEIR_PROM_COUNTER, 0, 1, 20},
};

static void reads_samples(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_prom_reader reader;
    struct weir_prom_sample sample;

    (void)state;
    weir_prom_reader_init(&reader, weir_str(samples));
    for (size_t i = 0; i < WEIR_COUNT_OF(wanted_samples); i++) {
        struct weir_err err = WEIR_ERR_INIT;

        if (weir_prom_next(&reader, &arena, &sample, &err) != 1)
            fail_msg("sample %zu: %s", i, err.text);
        assert_true(weir_str_eq_c(sample.name, wanted_samples[i].name));
        assert_true(weir_str_eq_c(sample.family, wanted_samples[i].family));
        assert_int_equal(sample.type, wanted_samples[i].type);
        assert_int_equal(sample.n_labels, wanted_samples[i].n_labels);
        assert_true(isnan(wanted_samples[i].value) ? isnan(sample.value)
                                                   : sample.value == wanted_samples[i].value);
        assert_int_equal(reader.line, wanted_samples[i].line);
        assert_int_equal(sample.has_time, i == 1 || i == 6);
        if (i == 1)
            assert_int_equal(sample.wall_ms, 1700000000123);
        if (i == 6)
            assert_int_equal(sample.wall_ms, -7);
        if (i == 7) {
            assert_true(weir_str_eq_c(*weir_prom_label(&sample, "a"), "x\\y\"z\n"));
            assert_true(weir_str_eq_c(*weir_prom_label(&sample, "b"), ""));
            assert_null(weir_prom_label(&sample, "c"));
        }
        if (i == 9)
            assert_true(weir_str_eq_c(sample.value_text, "9223372036854775807"));
    }
    assert_int_equal(weir_prom_next(&reader, &arena, &sample, NULL), 0);
    assert_int_equal(weir_prom_next(&reader, &arena, &sample, NULL), 0);
    weir_prom_reader_finish(&reader);
    weir_arena_finish(&arena);
}

static const struct {
    const char *text;
    const char *said;
    uint32_t line;
    uint32_t column;
} faults[] = {
    {"a 1", "the last line has no line end", 1, 4},
    {"a 1\nb", "the last line has no line end", 2, 2},
    {"1a 1\n", "a name is missing", 1, 1},
    {"{a=\"b\"} 1\n", "a name is missing", 1, 1},
    {"a-b 1\n", "a metric name is followed by neither a blank nor '{'", 1, 2},
    {"a\n", "a metric name is followed by neither a blank nor '{'", 1, 2},
    {"a \n", "a value is not a number", 1, 3},
    {"a x\n", "a value is not a number", 1, 3},
    {"a 1x\n", "a value is not a number", 1, 3},
    {"a 0x10\n", "a value is not a number", 1, 3},
    {"a 1e\n", "a value is not a number", 1, 3},
    {"a .\n", "a value is not a number", 1, 3},
    {"a +\n", "a value is not a number", 1, 3},
    {"a 1_000\n", "a value is not a number", 1, 3},
    {"a infinity\n", "a value is not a number", 1, 3},
    {"a 1\r\n", "a value is not a number", 1, 3},
    {"a 1e999\n", "a value is out of range", 1, 3},
    {"a 1 x\n", "a value is followed by something other than milliseconds", 1, 5},
    {"a 1 1.5\n", "a value is followed by something other than milliseconds", 1, 5},
    {"a 1 2 3\n", "a value is followed by something other than milliseconds", 1, 5},
    {"a{b} 1\n", "a label name is not followed by '='", 1, 4},
    {"a{b=c} 1\n", "a label value does not begin with '\"'", 1, 5},
    {"a{b=\"c} 1\n", "a label value is not closed by '\"'", 1, 6},
    {"a{b=\"c\\\"} 1\n", "a label value is not closed by '\"'", 1, 6},
    {"a{b=\"c\" 1\n", "a label is followed by neither ',' nor '}'", 1, 9},
    {"a{b=\"c\"d=\"e\"} 1\n", "a label is followed by neither ',' nor '}'", 1, 8},
    {"a{,} 1\n", "a name is missing", 1, 3},
    {"a{b:c=\"d\"} 1\n", "a label name is not followed by '='", 1, 4},
    {"a{b=\"\\x\"} 1\n", "a label value holds '\\' before neither '\\', '\"' nor 'n'", 1, 6},
    {"a{b=\"\xff\"} 1\n", "a label value is not UTF-8", 1, 6},
    {"a{b=\"c\",b=\"d\"} 1\n", "label 'b' is given twice", 1, 10},
    {"a{b=\"c\"", "the last line has no line end", 1, 8},
    {"# TYPE a gauges\n", "TYPE is not counter, gauge, histogram, summary or untyped", 1, 10},
    {"# TYPE a gauge x\n", "TYPE is not counter, gauge, histogram, summary or untyped", 1, 10},
    {"# TYPE a\n", "TYPE is not counter, gauge, histogram, summary or untyped", 1, 9},
    {"# TYPE\n", "a name is missing", 1, 7},
    {"# HELP a-b c\n", "a metric name holds a character that is not allowed", 1, 9},
    {"# HELP a \xff\n", "HELP of 'a' is not UTF-8", 1, 10},
    {"# HELP a x\n# HELP a x\n", "HELP of 'a' is given twice", 2, 10},
    {"# TYPE a gauge\n# TYPE a gauge\n", "TYPE of 'a' is given twice", 2, 15},
    {"a 1\n# TYPE a gauge\n", "TYPE of 'a' stands behind its samples", 2, 15},
};

static void refuses_faults_with_their_place(void **state)
{

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(faults); i++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_prom_reader reader;
        struct weir_prom_sample sample;
        struct weir_err err = WEIR_ERR_INIT;
        int code;

        weir_prom_reader_init(&reader, weir_str(faults[i].text));
        while ((code = weir_prom_next(&reader, &arena, &sample, &err)) > 0)
            ;
        assert_int_equal(code, WEIR_E_INVALID);
        if (strcmp(err.text, faults[i].said) != 0 || err.line != faults[i].line ||
            err.column != faults[i].column)
            fail_msg("'%s': %u:%u %s", faults[i].text, err.line, err.column, err.text);
        weir_prom_reader_finish(&reader);
        weir_arena_finish(&arena);
    }
}

static void goes_on_behind_a_fault(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_prom_reader reader;
    struct weir_prom_sample sample;

    (void)state;
    weir_prom_reader_init(&reader, WEIR_STR("a x\nb 2\n"));
    assert_int_equal(weir_prom_next(&reader, &arena, &sample, NULL), WEIR_E_INVALID);
    assert_int_equal(weir_prom_next(&reader, &arena, &sample, NULL), 1);
    assert_true(sample.value == 2);
    weir_prom_reader_finish(&reader);
    weir_arena_finish(&arena);
}

static void caps_labels(void **state)
{
    (void)state;
    for (int over = 0; over <= 1; over++) {
        struct weir_buf text = WEIR_BUF_INIT(4096);
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_prom_reader reader;
        struct weir_prom_sample sample;

        weir_buf_puts(&text, "a{");
        for (int i = 0; i < WEIR_PROM_LABELS_MAX + over; i++)
            weir_buf_printf(&text, "l%d=\"\",", i);
        weir_buf_puts(&text, "} 1\n");
        weir_prom_reader_init(&reader, weir_buf_view(&text));
        assert_int_equal(weir_prom_next(&reader, &arena, &sample, NULL), over ? WEIR_E_INVALID : 1);
        weir_prom_reader_finish(&reader);
        weir_arena_finish(&arena);
        weir_buf_finish(&text);
    }
}

static double random_double(struct weir_rng *rng)
{
    uint64_t bits = weir_rng_next(rng);
    double value;

    if (weir_rng_below(rng, 3) == 0)
        return (double)(int64_t)bits;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void what_is_written_reads_back(void **state)
{
    const char *seed = getenv("WEIR_SEED");
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, seed != NULL ? strtoull(seed, NULL, 10) : 1);
    for (int round = 0; round < 2000; round++) {
        struct weir_buf out = WEIR_BUF_INIT(1 << 16);
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_prom prom;
        struct weir_prom_reader reader;
        struct weir_prom_sample sample;
        struct weir_err err = WEIR_ERR_INIT;
        char values[3][12];
        struct weir_prom_label labels[3] = {L("a", ""), L("b_1", ""), L("Z", "")};
        size_t n_labels = weir_rng_below(&rng, 4);
        double value = random_double(&rng);
        int64_t when = (int64_t)weir_rng_next(&rng);

        for (size_t i = 0; i < n_labels; i++) {
            size_t n = weir_rng_below(&rng, sizeof(values[i]) + 1);

            for (size_t k = 0; k < n; k++)
                values[i][k] = "ab\\\"\n{}=, \t\r#"[weir_rng_below(&rng, 13)];
            labels[i].value = weir_str_n(values[i], n);
        }
        weir_prom_init(&prom, &out);
        weir_prom_family(&prom, "m", WEIR_PROM_SUMMARY, "h\\\n");
        weir_prom_f64_at(&prom, "_sum", labels, n_labels, value, when);
        weir_prom_i64(&prom, "_count", labels, n_labels, when);
        assert_int_equal(weir_prom_finish(&prom, &err), 0);
        weir_prom_reader_init(&reader, weir_buf_view(&out));
        if (weir_prom_next(&reader, &arena, &sample, &err) != 1)
            fail_msg("%s: %s", err.text, weir_buf_cstr(&out));
        assert_true(isnan(value) ? isnan(sample.value)
                                 : memcmp(&sample.value, &value, sizeof(value)) == 0);
        assert_true(sample.has_time);
        assert_int_equal(sample.wall_ms, when);
        assert_int_equal(sample.n_labels, n_labels);
        for (size_t i = 0; i < n_labels; i++)
            assert_true(weir_str_eq(sample.labels[i].value, labels[i].value));
        assert_int_equal(weir_prom_next(&reader, &arena, &sample, &err), 1);
        assert_true(weir_str_to_i64(sample.value_text, &when));
        assert_int_equal(sample.type, WEIR_PROM_SUMMARY);
        assert_int_equal(weir_prom_next(&reader, &arena, &sample, &err), 0);
        weir_prom_reader_finish(&reader);
        weir_arena_finish(&arena);
        weir_buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_families),
        cmocka_unit_test(says_when_the_buffer_is_full),
        cmocka_unit_test(bad_names_are_bugs),
        cmocka_unit_test(reads_samples),
        cmocka_unit_test(refuses_faults_with_their_place),
        cmocka_unit_test(goes_on_behind_a_fault),
        cmocka_unit_test(caps_labels),
        cmocka_unit_test(what_is_written_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

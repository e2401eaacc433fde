#include "fmt/json_write.c"

#include "base/arena.h"
#include "base/count.h"
#include "base/rng.h"

#include <float.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct weir_buf out = WEIR_BUF_INIT(16 * 1024 * 1024);
static struct weir_arena arena = WEIR_ARENA_INIT;

static int release(void **state)
{
    (void)state;
    weir_buf_finish(&out);
    weir_arena_finish(&arena);
    return 0;
}

static struct weir_json_writer begin(bool pretty)
{
    struct weir_json_writer w;

    weir_buf_reset(&out);
    weir_json_writer_init(&w, &out, pretty);
    return w;
}

static void ends_as(const struct weir_json_writer *w, const char *expected)
{
    assert_int_equal(weir_json_writer_end(w, "the answer", NULL), 0);
    assert_string_equal(weir_buf_cstr(&out), expected);
}

static void write_sample(struct weir_json_writer *w)
{
    weir_json_object_begin(w);
    weir_json_key(w, "name");
    weir_json_text(w, "a \"b\"");
    weir_json_key(w, "none");
    weir_json_text(w, NULL);
    weir_json_key(w, "list");
    weir_json_array_begin(w);
    weir_json_i64(w, INT64_MIN);
    weir_json_u64(w, UINT64_MAX);
    weir_json_array_begin(w);
    weir_json_array_end(w);
    weir_json_object_begin(w);
    weir_json_object_end(w);
    weir_json_bool(w, true);
    weir_json_bool(w, false);
    weir_json_array_end(w);
    weir_json_key_str(w, WEIR_STR("o\n"));
    weir_json_object_begin(w);
    weir_json_key(w, "");
    weir_json_f64(w, 0.5);
    weir_json_object_end(w);
    weir_json_object_end(w);
}

static void knows_where_commas_are_due(void **state)
{
    struct weir_json_writer w = begin(false);

    (void)state;
    write_sample(&w);
    ends_as(&w, "{\"name\":\"a \\\"b\\\"\",\"none\":null,\"list\":[-9223372036854775808,"
                "18446744073709551615,[],{},true,false],\"o\\n\":{\"\":0.5}}");
}

static void prints_for_people(void **state)
{
    struct weir_json_writer w = begin(true);

    (void)state;
    write_sample(&w);
    ends_as(&w, "{\n"
                "  \"name\": \"a \\\"b\\\"\",\n"
                "  \"none\": null,\n"
                "  \"list\": [\n"
                "    -9223372036854775808,\n"
                "    18446744073709551615,\n"
                "    [],\n"
                "    {},\n"
                "    true,\n"
                "    false\n"
                "  ],\n"
                "  \"o\\n\": {\n"
                "    \"\": 0.5\n"
                "  }\n"
                "}");
    w = begin(true);
    weir_json_null(&w);
    ends_as(&w, "null");
}

static void appends_to_what_is_there(void **state)
{
    struct weir_json_writer w = begin(false);

    (void)state;
    weir_buf_puts(&out, "data: ");
    weir_json_i64(&w, -7);
    weir_json_writer_init(&w, &out, false);
    weir_json_array_begin(&w);
    weir_json_array_end(&w);
    ends_as(&w, "data: -7[]");
}

static void escapes_what_json_asks_for(void **state)
{
    static const struct {
        struct weir_str text;
        const char *json;
    } cases[] = {
        {{NULL, 0}, "\"\""},
        {{"\"\\/", 3}, "\"\\\"\\\\/\""},
        {{"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
        {{"\0\x01\x1F\x7F", 4}, "\"\\u0000\\u0001\\u001f\x7F\""},
        {{"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9}, "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {{"\xE2\x80\xA8</script>", 12}, "\"\xE2\x80\xA8</script>\""},
        {{"a\xFFz", 3}, "\"a\xEF\xBF\xBDz\""},
        {{"\xC3", 1}, "\"\xEF\xBF\xBD\""},
        {{"\xE2\x82", 2}, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {{"\xED\xA0\x80", 3}, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {{"\xC3\"", 2}, "\"\xEF\xBF\xBD\\\"\""},
        {{"0123456\n01234567\n", 17}, "\"0123456\\n01234567\\n\""},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_json_writer w = begin(false);

        weir_json_str(&w, cases[i].text);
        ends_as(&w, cases[i].json);
    }
}

static const char *write_f64(double value)
{
    struct weir_json_writer w = begin(false);

    weir_json_f64(&w, value);
    assert_int_equal(weir_json_writer_end(&w, "the number", NULL), 0);
    return weir_buf_cstr(&out);
}

static void doubles_are_short_and_exact(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1.0, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3.0, "0.3333333333333333"},
        {100.0, "100"},
        {1e15, "1e+15"},
        {1e21, "1e+21"},
        {1e-7, "1e-07"},
        {123456789.25, "123456789.25"},
        {9007199254740993.0, "9007199254740992"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {DBL_TRUE_MIN, "5e-324"},
        {-3e-320, "-3e-320"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++)
        assert_string_equal(write_f64(cases[i].value), cases[i].text);
}

static size_t significant_digits(const char *number)
{
    size_t n = 0;
    size_t zeros = 0;

    for (const char *p = number; *p != '\0' && *p != 'e'; p++) {
        if (*p < '0' || *p > '9' || (*p == '0' && n == 0))
            continue;
        n++;
        zeros = *p == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

static void doubles_read_back(void **state)
{
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 20260101);
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = weir_rng_next(&rng);
        double value;
        double back = 0;
        char text[64];
        struct weir_tree *tree;

        memcpy(&value, &bits, sizeof(value));
        if (i % 3 == 0)
            value = (double)(int64_t)weir_rng_below(&rng, 1000000) / 1000;
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof(text), "%s", write_f64(value));
        weir_arena_reset(&arena);
        assert_int_equal(weir_json_read(weir_str(text), NULL, &arena, &tree, NULL), 0);
        assert_int_equal(weir_tree_f64(tree, &back, NULL), 0);
        assert_memory_equal(&back, &value, sizeof(value));
        /* No fewer digits would do. */
        for (int digits = 1; digits < 17; digits++) {
            char shorter[64];

            snprintf(shorter, sizeof(shorter), "%.*g", digits, value);
            if (strtod(shorter, NULL) == value)
                assert_true(significant_digits(text) <= significant_digits(shorter));
        }
    }
}

/* printf's output where the locale has a decimal comma, or two bytes (U+066B). */
static void a_decimal_comma_stays_out(void **state)
{
    static const char *const cases[][2] = {
        {"-2,5", "-2.5"},
        {"1,25e+300", "1.25e+300"},
        {"3", "3"},
        {"-1e-07", "-1e-07"},
        {"7\xD9\xAB"
         "5e-10",
         "7.5e-10"},
        {"0.5", "0.5"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        weir_buf_reset(&out);
        put_with_point(&out, cases[i][0]);
        assert_string_equal(weir_buf_cstr(&out), cases[i][1]);
    }
}

static void what_is_not_finite_is_refused(void **state)
{
    static const double values[] = {NAN, INFINITY, -INFINITY};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct weir_json_writer w = begin(false);
        struct weir_err err = WEIR_ERR_INIT;

        weir_json_array_begin(&w);
        weir_json_f64(&w, values[i]);
        weir_json_f64(&w, 1);
        weir_json_array_end(&w);
        assert_int_equal(weir_json_writer_end(&w, "the answer", &err), WEIR_E_INVALID);
        assert_string_equal(err.text, "the answer holds a number that is not finite");
    }
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    for (int pretty = 0; pretty < 2; pretty++) {
        struct weir_json_writer w = begin(pretty != 0);
        size_t need;

        write_sample(&w);
        need = out.len;
        for (size_t max = 0; max <= need; max++) {
            struct weir_buf small = WEIR_BUF_INIT(max);
            struct weir_err err = WEIR_ERR_INIT;

            weir_json_writer_init(&w, &small, pretty != 0);
            write_sample(&w);
            assert_int_equal(weir_json_writer_end(&w, "the answer", &err),
                             max < need ? WEIR_E_TOO_LARGE : 0);
            if (max < need)
                assert_non_null(strstr(err.text, "the answer is larger than"));
            weir_buf_finish(&small);
        }
    }
}

/* ---- wrong nesting ends the process ---- */

static void key_in_array(struct weir_json_writer *w)
{
    weir_json_array_begin(w);
    weir_json_key(w, "a");
}

static void value_without_key(struct weir_json_writer *w)
{
    weir_json_object_begin(w);
    weir_json_i64(w, 1);
}

static void key_after_key(struct weir_json_writer *w)
{
    weir_json_object_begin(w);
    weir_json_key(w, "a");
    weir_json_key(w, "b");
}

static void end_after_key(struct weir_json_writer *w)
{
    weir_json_object_begin(w);
    weir_json_key(w, "a");
    weir_json_object_end(w);
}

static void wrong_bracket(struct weir_json_writer *w)
{
    weir_json_array_begin(w);
    weir_json_object_end(w);
}

static void wrong_bracket_too(struct weir_json_writer *w)
{
    weir_json_object_begin(w);
    weir_json_array_end(w);
}

static void bracket_too_many(struct weir_json_writer *w)
{
    weir_json_array_begin(w);
    weir_json_array_end(w);
    weir_json_array_end(w);
}

static void two_roots(struct weir_json_writer *w)
{
    weir_json_i64(w, 1);
    weir_json_array_begin(w);
}

static void not_closed(struct weir_json_writer *w)
{
    weir_json_array_begin(w);
    weir_json_writer_end(w, "x", NULL);
}

static void nothing_written(struct weir_json_writer *w)
{
    weir_json_writer_end(w, "x", NULL);
}

static void too_deep(struct weir_json_writer *w)
{
    for (int i = 0; i <= WEIR_JSON_DEPTH_LIMIT; i++)
        weir_json_array_begin(w);
}

static void wrong_nesting_ends_the_process(void **state)
{
    static void (*const mistakes[])(struct weir_json_writer *) = {
        key_in_array,  value_without_key, key_after_key,    end_after_key,
        wrong_bracket, wrong_bracket_too, bracket_too_many, two_roots,
        not_closed,    nothing_written,   too_deep,
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(mistakes); i++) {
        struct weir_json_writer w = begin(false);
        int status = 0;
        pid_t child;

        fflush(NULL);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            fclose(stderr);
            mistakes[i](&w);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("mistake %zu went through", i);
    }
}

/* ---- trees ---- */

static struct weir_str random_text(struct weir_rng *rng)
{
    static const char *const pieces[] = {
        "a", "key",  "\"", "\\",     "\n",           "\x01", "\xC3\xA9", "\xF0\x9F\x98\x80",
        "/", "\x7F", " ",  "{}[],:", "\xE2\x80\xA8", "null", "12345678"};
    struct weir_buf text = WEIR_BUF_INIT(4096);
    char *copy;

    for (uint64_t n = weir_rng_below(rng, 6); n > 0; n--)
        weir_buf_puts(&text, pieces[weir_rng_below(rng, WEIR_COUNT_OF(pieces))]);
    if (weir_rng_below(rng, 8) == 0)
        weir_buf_putc(&text, '\0');
    copy = weir_str_dup(weir_buf_view(&text), &arena);
    assert_non_null(copy);
    weir_buf_finish(&text);
    return weir_str_n(copy, text.len);
}

static struct weir_str unique_key(struct weir_rng *rng, const struct weir_tree *parent)
{
    struct weir_str text = random_text(rng);
    char *key = weir_arena_printf(&arena, "%u", parent->n_children);
    size_t n = strlen(key);
    char *joined = weir_arena_bytes(&arena, n + text.len);

    assert_non_null(joined);
    memcpy(joined, key, n);
    if (text.len > 0)
        memcpy(joined + n, text.ptr, text.len);
    return weir_str_n(joined, n + text.len);
}

static struct weir_str random_number(struct weir_rng *rng)
{
    static const char *const numbers[] = {"0",   "-0",   "7",   "-12.50",
                                          "1e9", "1E-7", "0.0", "18446744073709551616"};

    return weir_str(numbers[weir_rng_below(rng, WEIR_COUNT_OF(numbers))]);
}

static void grow(struct weir_rng *rng, struct weir_tree *parent, unsigned levels)
{
    for (uint64_t n = weir_rng_below(rng, 12); n > 0; n--) {
        struct weir_str key =
            parent->kind == WEIR_TREE_OBJECT ? unique_key(rng, parent) : weir_str_n(NULL, 0);
        uint64_t kinds = levels > 0 ? WEIR_TREE_KIND_MAX : WEIR_TREE_ARRAY;
        struct weir_tree *child =
            weir_tree_add(parent, (enum weir_tree_kind)weir_rng_below(rng, kinds), key, &arena);

        assert_non_null(child);
        if (child->kind == WEIR_TREE_BOOL)
            child->text = weir_rng_below(rng, 2) == 0 ? WEIR_STR("true") : WEIR_STR("false");
        if (child->kind == WEIR_TREE_NUMBER)
            child->text = random_number(rng);
        if (child->kind == WEIR_TREE_STRING)
            child->text = random_text(rng);
        if (child->kind == WEIR_TREE_ARRAY || child->kind == WEIR_TREE_OBJECT)
            grow(rng, child, levels - 1);
    }
}

static void random_trees_come_back(void **state)
{
    const char *given = getenv("WEIR_SEED");
    uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
    uint64_t n = given != NULL ? 1 : 400;

    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct weir_rng rng;
        struct weir_tree *tree;

        weir_rng_init(&rng, seed);
        weir_arena_reset(&arena);
        tree = weir_tree_add(NULL, seed % 2 == 0 ? WEIR_TREE_OBJECT : WEIR_TREE_ARRAY,
                             weir_str_n(NULL, 0), &arena);
        assert_non_null(tree);
        grow(&rng, tree, 4);
        for (int pretty = 0; pretty < 2; pretty++) {
            struct weir_json_writer w = begin(pretty != 0);
            struct weir_tree *back;
            struct weir_err err = WEIR_ERR_INIT;

            assert_int_equal(weir_json_write_tree(&w, tree, &err), 0);
            assert_int_equal(weir_json_writer_end(&w, "tree", &err), 0);
            if (weir_json_read(weir_buf_view(&out), NULL, &arena, &back, &err) < 0)
                fail_msg("WEIR_SEED=%llu: %u:%u %s", (unsigned long long)seed, err.line, err.column,
                         err.text);
            if (!weir_tree_equal(tree, back))
                fail_msg("WEIR_SEED=%llu: not equal", (unsigned long long)seed);
        }
    }
}

static void a_tree_can_be_part_of_more(void **state)
{
    struct weir_json_writer w = begin(false);
    struct weir_tree *tree;

    (void)state;
    assert_int_equal(weir_json_read(WEIR_STR("{\"x\":[1.50,\"\\u0041\",true,null]}"), NULL, &arena,
                                    &tree, NULL),
                     0);
    weir_json_object_begin(&w);
    weir_json_key(&w, "a");
    assert_int_equal(weir_json_write_tree(&w, tree, NULL), 0);
    weir_json_key(&w, "b");
    assert_int_equal(weir_json_write_tree(&w, tree->first, NULL), 0);
    weir_json_object_end(&w);
    ends_as(&w, "{\"a\":{\"x\":[1.50,\"A\",true,null]},\"b\":[1.50,\"A\",true,null]}");
}

/* A tree from YAML may hold numbers that JSON has no form for. */
static void numbers_of_other_formats_are_refused(void **state)
{
    static const char *const numbers[] = {"0x1F", ".inf", "012", "1_000", "", "+1"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(numbers); i++) {
        struct weir_json_writer w = begin(false);
        struct weir_tree *tree;
        struct weir_tree *number;
        struct weir_err err = WEIR_ERR_INIT;

        tree = weir_tree_add(NULL, WEIR_TREE_OBJECT, weir_str_n(NULL, 0), &arena);
        number = weir_tree_add(tree, WEIR_TREE_NUMBER, WEIR_STR("n"), &arena);
        number->text = weir_str(numbers[i]);
        number->line = 4;
        number->column = 7;
        assert_int_equal(weir_json_write_tree(&w, tree, &err), WEIR_E_INVALID);
        assert_string_equal(err.field, "n");
        assert_int_equal(err.line, 4);
        assert_int_equal(err.column, 7);
        assert_non_null(strstr(err.text, numbers[i]));
    }
}

static void trees_too_deep_are_refused(void **state)
{
    struct weir_json_writer w = begin(false);
    struct weir_tree *node = weir_tree_add(NULL, WEIR_TREE_ARRAY, weir_str_n(NULL, 0), &arena);
    struct weir_tree *root = node;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    for (int i = 1; i < WEIR_JSON_DEPTH_LIMIT; i++)
        node = weir_tree_add(node, WEIR_TREE_ARRAY, weir_str_n(NULL, 0), &arena);
    assert_int_equal(weir_json_write_tree(&w, root, &err), 0);
    assert_int_equal(weir_json_writer_end(&w, "tree", &err), 0);
    assert_int_equal(out.len, 2 * WEIR_JSON_DEPTH_LIMIT);
    weir_tree_add(node, WEIR_TREE_ARRAY, weir_str_n(NULL, 0), &arena)->line = 9;
    w = begin(false);
    assert_int_equal(weir_json_write_tree(&w, root, &err), WEIR_E_TOO_LARGE);
    assert_int_equal(err.line, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_where_commas_are_due),
        cmocka_unit_test(prints_for_people),
        cmocka_unit_test(appends_to_what_is_there),
        cmocka_unit_test(escapes_what_json_asks_for),
        cmocka_unit_test(doubles_are_short_and_exact),
        cmocka_unit_test(doubles_read_back),
        cmocka_unit_test(a_decimal_comma_stays_out),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(a_full_buffer_is_an_error),
        cmocka_unit_test(wrong_nesting_ends_the_process),
        cmocka_unit_test(random_trees_come_back),
        cmocka_unit_test(a_tree_can_be_part_of_more),
        cmocka_unit_test(numbers_of_other_formats_are_refused),
        cmocka_unit_test(trees_too_deep_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}

#include "../support.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/tree.h"

static struct weir_arena arena = WEIR_ARENA_INIT;

static int free_arena(void **state)
{
    (void)state;
    weir_arena_finish(&arena);
    return 0;
}

static struct weir_tree *add(struct weir_tree *parent, enum weir_tree_kind kind, const char *key,
                             const char *text)
{
    struct weir_tree *node = weir_tree_add(parent, kind, weir_str(key), &arena);

    assert_non_null(node);
    node->text = weir_str(text);
    return node;
}

/* {"name": "a", "spec": {"gpus": 2, "items": [true, {"deep": null}]}} */
static struct weir_tree *sample(void)
{
    struct weir_tree *root = add(NULL, WEIR_TREE_OBJECT, NULL, NULL);
    struct weir_tree *spec;
    struct weir_tree *items;
    struct weir_tree *gpus;

    add(root, WEIR_TREE_STRING, "name", "a");
    spec = add(root, WEIR_TREE_OBJECT, "spec", NULL);
    gpus = add(spec, WEIR_TREE_NUMBER, "gpus", "2");
    gpus->line = 3;
    gpus->column = 9;
    items = add(spec, WEIR_TREE_ARRAY, "items", NULL);
    add(items, WEIR_TREE_BOOL, NULL, "true");
    add(add(items, WEIR_TREE_OBJECT, NULL, NULL), WEIR_TREE_NULL, "deep", NULL);
    return root;
}

static void keeps_children_in_order(void **state)
{
    struct weir_tree *root = add(NULL, WEIR_TREE_ARRAY, NULL, NULL);
    uint32_t n = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        add(root, WEIR_TREE_NUMBER, NULL, weir_arena_printf(&arena, "%d", i));
    weir_tree_foreach (child, root) {
        int64_t value;

        assert_ptr_equal(child->parent, root);
        assert_int_equal(weir_tree_i64(child, 0, 100, &value, NULL), 0);
        assert_int_equal(value, n++);
    }
    assert_int_equal(n, 100);
    assert_int_equal(root->n_children, 100);
    assert_null(root->last->next);
}

static void finds_by_name_and_path(void **state)
{
    struct weir_tree *root = sample();
    const struct weir_tree *spec = weir_tree_get(root, "spec");

    (void)state;
    assert_ptr_equal(weir_tree_path(root, "spec"), spec);
    assert_ptr_equal(weir_tree_path(root, ""), root);
    assert_ptr_equal(weir_tree_path(root, "spec.gpus"), weir_tree_get(spec, "gpus"));
    assert_int_equal(weir_tree_path(root, "spec.items[0]")->kind, WEIR_TREE_BOOL);
    assert_int_equal(weir_tree_path(root, "spec.items[1].deep")->kind, WEIR_TREE_NULL);
    assert_null(weir_tree_get(root, "gpus"));
    assert_null(weir_tree_get(NULL, "x"));
    assert_null(weir_tree_get(weir_tree_get(root, "name"), "x"));
}

static void paths_that_lead_nowhere(void **state)
{
    static const char *const paths[] = {
        "spec.gpus.x",
        "spec.items[2]",
        "spec.items[-1]",
        "spec.items[]",
        "spec.items[x]",
        "spec.items[0",
        "spec.items[99999999999999999999]",
        "spec[0]",
        "items[0]",
        "spec..gpus",
        ".spec",
        "[0]",
        "spec.items.0",
        "Spec",
        "spec.items[0][0]",
        "name[0]",
        "spec gpus",
    };
    struct weir_tree *root = sample();

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(paths); i++)
        if (weir_tree_path(root, paths[i]) != NULL)
            fail_msg("'%s' leads somewhere", paths[i]);
    assert_null(weir_tree_path(NULL, "spec"));
}

static void paths_lead_back(void **state)
{
    static const char *const paths[] = {
        "",           "name",          "spec",          "spec.gpus",
        "spec.items", "spec.items[0]", "spec.items[1]", "spec.items[1].deep"};
    struct weir_tree *root = sample();

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(paths); i++) {
        struct weir_buf buf = WEIR_BUF_INIT(100);

        assert_int_equal(weir_tree_path_of(weir_tree_path(root, paths[i]), &buf), 0);
        assert_string_equal(weir_buf_cstr(&buf), paths[i]);
        weir_buf_finish(&buf);
    }
}

static void reads_types(void **state)
{
    struct weir_tree *text = add(NULL, WEIR_TREE_STRING, NULL, "true");
    struct weir_tree *yes = add(NULL, WEIR_TREE_BOOL, NULL, "true");
    struct weir_tree *no = add(NULL, WEIR_TREE_BOOL, NULL, "false");
    bool b = false;
    int64_t i = 7;
    double f = 7;

    (void)state;
    assert_int_equal(weir_tree_bool(text, &b, NULL), WEIR_E_INVALID);
    assert_int_equal(weir_tree_i64(text, 0, 1, &i, NULL), WEIR_E_INVALID);
    assert_int_equal(weir_tree_f64(yes, &f, NULL), WEIR_E_INVALID);
    assert_true(!b && i == 7 && f == 7);
    assert_int_equal(weir_tree_bool(yes, &b, NULL), 0);
    assert_true(b);
    assert_int_equal(weir_tree_bool(no, &b, NULL), 0);
    assert_false(b);
}

static void whole_numbers_keep_their_digits(void **state)
{
    static const char *const bad[] = {"1.0", "1e3", "9223372036854775808", "-9223372036854775809",
                                      "",    "x"};
    int64_t value = 7;

    (void)state;
    assert_int_equal(weir_tree_i64(add(NULL, WEIR_TREE_NUMBER, NULL, "9007199254740993"), INT64_MIN,
                                   INT64_MAX, &value, NULL),
                     0);
    assert_true(value == 9007199254740993); /* no double holds it */
    assert_int_equal(weir_tree_i64(add(NULL, WEIR_TREE_NUMBER, NULL, "-9223372036854775808"),
                                   INT64_MIN, 0, &value, NULL),
                     0);
    assert_true(value == INT64_MIN);
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        value = 7;
        assert_int_equal(weir_tree_i64(add(NULL, WEIR_TREE_NUMBER, NULL, bad[i]), INT64_MIN,
                                       INT64_MAX, &value, NULL),
                         WEIR_E_INVALID);
        assert_int_equal(value, 7);
    }
}

static void reads_real_numbers(void **state)
{
    static const char *const bad[] = {"", "x", "1x", "1e999", "-1e999", "nan", "inf", "1 "};
    char long_text[100];
    double value = 7;

    (void)state;
    assert_int_equal(weir_tree_f64(add(NULL, WEIR_TREE_NUMBER, NULL, "-1.5e3"), &value, NULL), 0);
    assert_true(value == -1500);
    assert_int_equal(weir_tree_f64(add(NULL, WEIR_TREE_NUMBER, NULL, "0.1"), &value, NULL), 0);
    assert_true(value == 0.1);
    value = 7;
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++)
        assert_int_equal(weir_tree_f64(add(NULL, WEIR_TREE_NUMBER, NULL, bad[i]), &value, NULL),
                         WEIR_E_INVALID);
    memset(long_text, '1', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    assert_int_equal(weir_tree_f64(add(NULL, WEIR_TREE_NUMBER, NULL, long_text), &value, NULL),
                     WEIR_E_INVALID);
    assert_true(value == 7);
}

static void errors_name_path_and_place(void **state)
{
    const struct weir_tree *gpus = weir_tree_path(sample(), "spec.gpus");
    struct weir_err err = WEIR_ERR_INIT;
    bool b;
    int64_t value;

    (void)state;
    assert_int_equal(weir_tree_bool(gpus, &b, &err), WEIR_E_INVALID);
    assert_string_equal(err.text, "expected a boolean, got a number");
    assert_string_equal(err.field, "spec.gpus");
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 9);
    assert_int_equal(weir_tree_i64(gpus, 4, 8, &value, &err), WEIR_E_INVALID);
    assert_string_equal(err.text, "2 is not between 4 and 8");
    assert_int_equal(weir_tree_error(gpus, NULL, "x"), WEIR_E_INVALID);
}

/* A path longer than an error's field is cut, and the error is still made. */
static void a_deep_path_is_cut(void **state)
{
    struct weir_tree *node = add(NULL, WEIR_TREE_OBJECT, NULL, NULL);
    struct weir_err err = WEIR_ERR_INIT;
    bool b;

    (void)state;
    for (int i = 0; i < 100; i++)
        node = add(node, WEIR_TREE_OBJECT, "member", NULL);
    assert_int_equal(weir_tree_bool(node, &b, &err), WEIR_E_INVALID);
    assert_string_equal(err.text, "expected a boolean, got an object");
    assert_true(strlen(err.field) > WEIR_ERR_FIELD_MAX - 10);
}

static void compares_content_and_not_layout(void **state)
{
    struct weir_tree *a = sample();
    struct weir_tree *b = add(NULL, WEIR_TREE_OBJECT, NULL, NULL);
    struct weir_tree *spec = add(b, WEIR_TREE_OBJECT, "spec", NULL);
    struct weir_tree *items = add(spec, WEIR_TREE_ARRAY, "items", NULL);
    struct weir_tree *gpus = add(spec, WEIR_TREE_NUMBER, "gpus", "2");
    struct weir_tree *yes = add(items, WEIR_TREE_BOOL, NULL, "true");

    (void)state;
    add(add(items, WEIR_TREE_OBJECT, NULL, NULL), WEIR_TREE_NULL, "deep", "~");
    assert_false(weir_tree_equal(a, b)); /* the name is missing */
    add(b, WEIR_TREE_STRING, "name", "a");
    assert_true(weir_tree_equal(a, b));
    assert_true(weir_tree_equal(b, a));
    gpus->text = WEIR_STR("2.0");
    assert_false(weir_tree_equal(a, b));
    gpus->text = WEIR_STR("2");
    yes->text = WEIR_STR("false");
    assert_false(weir_tree_equal(a, b));
    yes->kind = WEIR_TREE_STRING;
    yes->text = WEIR_STR("true");
    assert_false(weir_tree_equal(a, b));
}

static void arrays_compare_in_order(void **state)
{
    struct weir_tree *a = add(NULL, WEIR_TREE_ARRAY, NULL, NULL);
    struct weir_tree *b = add(NULL, WEIR_TREE_ARRAY, NULL, NULL);

    (void)state;
    assert_true(weir_tree_equal(a, b));
    add(a, WEIR_TREE_NUMBER, NULL, "1");
    add(a, WEIR_TREE_NUMBER, NULL, "2");
    add(b, WEIR_TREE_NUMBER, NULL, "2");
    add(b, WEIR_TREE_NUMBER, NULL, "1");
    assert_false(weir_tree_equal(a, b));
}

static void kinds_have_names(void **state)
{
    (void)state;
    assert_string_equal(weir_tree_kind_name(WEIR_TREE_NULL), "null");
    assert_string_equal(weir_tree_kind_name(WEIR_TREE_OBJECT), "an object");
    assert_string_equal(weir_tree_kind_name(WEIR_TREE_KIND_MAX), "nothing");
}

static void no_memory_leaves_the_parent_alone(void **state)
{
    struct weir_arena small;
    struct weir_tree *root;
    uint32_t n = 0;

    (void)state;
    weir_arena_init(&small, 1000);
    root = weir_tree_add(NULL, WEIR_TREE_ARRAY, weir_str(NULL), &small);
    while (weir_tree_add(root, WEIR_TREE_NULL, weir_str(NULL), &small) != NULL)
        n++;
    assert_true(n > 0);
    assert_int_equal(root->n_children, n);
    weir_tree_foreach (child, root)
        n--;
    assert_int_equal(n, 0);
    weir_arena_finish(&small);
}

/* "a b c", and that first, last, the count and the parents agree with it. */
static void assert_children(const struct weir_tree *root, const char *expected)
{
    struct weir_buf text = WEIR_BUF_INIT(100);
    const struct weir_tree *last = NULL;
    uint32_t n = 0;

    weir_tree_foreach (child, root) {
        weir_buf_printf(&text, "%s%.*s", n > 0 ? " " : "", WEIR_STR_ARG(child->key));
        assert_ptr_equal(child->parent, root);
        last = child;
        n++;
    }
    assert_string_equal(weir_buf_cstr(&text), expected);
    assert_ptr_equal(root->last, last);
    assert_int_equal(root->n_children, n);
    weir_buf_finish(&text);
}

static struct weir_tree *add_before(struct weir_tree *sibling, const char *key)
{
    struct weir_tree *node = weir_tree_add_before(sibling, WEIR_TREE_NULL, weir_str(key), &arena);

    assert_non_null(node);
    return node;
}

static void nodes_come_before_others_and_go(void **state)
{
    struct weir_tree *root = add(NULL, WEIR_TREE_OBJECT, NULL, NULL);
    struct weir_tree *c = add(root, WEIR_TREE_NULL, "c", NULL);
    struct weir_tree *a = add_before(c, "a");
    struct weir_tree *b = add_before(c, "b");
    struct weir_tree *d;

    (void)state;
    assert_children(root, "a b c");
    d = add(root, WEIR_TREE_NULL, "d", NULL);
    assert_children(root, "a b c d");
    weir_tree_remove(b);
    assert_children(root, "a c d");
    assert_null(b->parent);
    assert_null(b->next);
    weir_tree_remove(d);
    assert_children(root, "a c");
    weir_tree_remove(a);
    assert_children(root, "c");
    add_before(c, "e");
    assert_children(root, "e c");
    weir_tree_remove(root->first);
    weir_tree_remove(c);
    assert_children(root, "");
    add(root, WEIR_TREE_NULL, "f", NULL);
    assert_children(root, "f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(keeps_children_in_order, free_arena),
        cmocka_unit_test_teardown(finds_by_name_and_path, free_arena),
        cmocka_unit_test_teardown(paths_that_lead_nowhere, free_arena),
        cmocka_unit_test_teardown(paths_lead_back, free_arena),
        cmocka_unit_test_teardown(reads_types, free_arena),
        cmocka_unit_test_teardown(whole_numbers_keep_their_digits, free_arena),
        cmocka_unit_test_teardown(reads_real_numbers, free_arena),
        cmocka_unit_test_teardown(errors_name_path_and_place, free_arena),
        cmocka_unit_test_teardown(a_deep_path_is_cut, free_arena),
        cmocka_unit_test_teardown(compares_content_and_not_layout, free_arena),
        cmocka_unit_test_teardown(arrays_compare_in_order, free_arena),
        cmocka_unit_test_teardown(nodes_come_before_others_and_go, free_arena),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(no_memory_leaves_the_parent_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

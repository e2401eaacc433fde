/* The containers of base/: a failed step leaves them as they were, and the next one works. */
#include "fault.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/tree.h"
#include "base/vec.h"

enum { ITEMS = 200 };

static struct weir_str numbered(char *text, size_t size, int number)
{
    return weir_str_n(text, (size_t)snprintf(text, size, "%d", number));
}

/* A map with the keys from … to-1, each with itself as value. */
static void assert_holds(const struct weir_map *map, int from, int to)
{
    char text[16];

    assert_int_equal(map->n_live, to - from);
    for (int i = from; i < to; i++) {
        uint64_t value = 0;

        assert_true(weir_map_get(map, numbered(text, sizeof(text), i), &value));
        assert_int_equal(value, i);
    }
}

/* Whether the map was filled in spite of the failure to come. */
static bool fill_a_map(uint64_t failing)
{
    struct weir_map map = WEIR_MAP_INIT;
    char text[16];
    int n = 0;

    weir_mem_fail(failing, 1);
    while (n < ITEMS && weir_map_set(&map, numbered(text, sizeof(text), n), (uint64_t)n) == 0)
        n++;
    assert_holds(&map, 0, n);
    /* Removal and replacement need no memory. */
    weir_mem_fail(0, UINT64_MAX);
    for (int i = 0; i < n / 2; i++)
        assert_true(weir_map_remove(&map, numbered(text, sizeof(text), i)));
    for (int i = n / 2; i < n; i++)
        assert_int_equal(weir_map_set(&map, numbered(text, sizeof(text), i), (uint64_t)i), 0);
    assert_holds(&map, n / 2, n);
    weir_mem_fail(0, 0);
    weir_map_finish(&map);
    return n == ITEMS;
}

static void a_map_stays_as_it_was(void **state)
{
    uint64_t n_failures = 0;

    (void)state;
    while (!fill_a_map(n_failures))
        n_failures++;
    /* A copy of each key, and the growth of entries and slots. */
    assert_in_range(n_failures, ITEMS + 10, ITEMS + 30);
}

static int fill_a_vector(void *arg)
{
    struct weir_vec(int) v = {0};
    int code = 0;
    int i = 0;

    (void)arg;
    for (; i < ITEMS && code == 0; i++)
        code = weir_vec_push(&v, i);
    assert_int_equal(v.n, code == 0 ? ITEMS : i - 1);
    for (size_t k = 0; k < v.n; k++)
        assert_int_equal(v.items[k], k);
    weir_vec_finish(&v);
    return code;
}

static int fill_a_buffer(void *arg)
{
    struct weir_buf buf = WEIR_BUF_INIT(100000);
    struct weir_err err = WEIR_ERR_INIT;
    int code;

    (void)arg;
    for (int i = 0; i < ITEMS; i++) {
        weir_buf_puts(&buf, "abc");
        weir_buf_i64(&buf, -i);
        weir_buf_printf(&buf, "%s", "def");
    }
    code = weir_buf_check(&buf, "the text", &err);
    assert_int_equal(err.code, code);
    assert_int_equal(strlen(weir_buf_cstr(&buf)), buf.len);
    assert_memory_equal(weir_buf_cstr(&buf), "abc0defabc-1def", buf.len < 15 ? buf.len : 15);
    weir_buf_finish(&buf);
    return code;
}

static int fill_an_arena(void *arg)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *root = weir_tree_add(NULL, WEIR_TREE_ARRAY, weir_str(NULL), &arena);
    int code = root == NULL ? WEIR_E_NO_MEMORY : 0;
    uint32_t n = 0;

    (void)arg;
    for (int i = 0; i < ITEMS && code == 0; i++) {
        struct weir_tree *node = weir_tree_add(root, WEIR_TREE_NUMBER, weir_str(NULL), &arena);
        char *text = node != NULL ? weir_arena_printf(&arena, "%d", i) : NULL;

        if (text == NULL)
            code = WEIR_E_NO_MEMORY;
        else
            node->text = weir_str(text);
    }
    if (root != NULL) {
        weir_tree_foreach (child, root)
            n++;
        assert_int_equal(n, root->n_children);
    }
    weir_arena_reset(&arena);
    assert_true(code != 0 || weir_arena_alloc(&arena, 100) != NULL);
    weir_arena_finish(&arena);
    return code;
}

static int add_in_front(void *arg)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree root = {.kind = WEIR_TREE_ARRAY};
    struct weir_tree only = {.parent = &root};
    uint32_t n = 1;

    (void)arg;
    root.first = &only;
    root.last = &only;
    root.n_children = 1;
    while (n < ITEMS && weir_tree_add_before(&only, WEIR_TREE_NULL, weir_str(NULL), &arena) != NULL)
        n++;
    assert_int_equal(root.n_children, n);
    assert_ptr_equal(root.last, &only);
    weir_tree_foreach (child, &root)
        n--;
    assert_int_equal(n, 0);
    weir_arena_finish(&arena);
    return root.n_children == ITEMS ? 0 : WEIR_E_NO_MEMORY;
}

static void a_tree_stays_as_it_was(void **state)
{
    (void)state;
    assert_in_range(fail_each_allocation(add_in_front, NULL), 1, 20);
}

static void a_vector_stays_as_it_was(void **state)
{
    (void)state;
    assert_in_range(fail_each_allocation(fill_a_vector, NULL), 5, 20);
}

static void a_buffer_says_so_in_the_end(void **state)
{
    (void)state;
    assert_in_range(fail_each_allocation(fill_a_buffer, NULL), 5, 20);
}

static void an_arena_can_be_finished(void **state)
{
    (void)state;
    assert_in_range(fail_each_allocation(fill_an_arena, NULL), 3, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_stays_as_it_was),    cmocka_unit_test(a_vector_stays_as_it_was),
        cmocka_unit_test(a_tree_stays_as_it_was),   cmocka_unit_test(a_buffer_says_so_in_the_end),
        cmocka_unit_test(an_arena_can_be_finished),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

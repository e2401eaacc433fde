#include "../support.h"

#include "base/vec.h"

struct ints weir_vec(int);
struct sizes weir_vec(size_t);

static void an_empty_one_can_be_used(void **state)
{
    struct ints v = {0};
    size_t none = 0;
    int n = 0;

    (void)state;
    weir_vec_foreach (item, &v)
        n += *item;
    assert_int_equal(n, 0);
    weir_vec_clear(&v);
    assert_int_equal(weir_vec_reserve(&v, none), 0);
    assert_null(v.items);
    weir_vec_finish(&v);
}

static void keeps_what_was_pushed(void **state)
{
    struct ints v = {0};
    long sum = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(weir_vec_push(&v, i), 0);
        assert_int_equal(*weir_vec_last(&v), i);
    }
    assert_int_equal(v.n, 100000);
    assert_true(v.cap < 200000);
    weir_vec_foreach (item, &v)
        sum += *item;
    assert_int_equal(sum, 4999950000);
    weir_vec_finish(&v);
    assert_null(v.items);
    assert_int_equal(v.n + v.cap, 0);
}

/* The item may be worked out from the vector it goes into. */
static void an_item_may_name_the_vector(void **state)
{
    struct sizes v = {0};

    (void)state;
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(weir_vec_push(&v, v.n), 0);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(weir_vec_push(&v, v.items[i] + v.n), 0);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(v.items[i], i);
        assert_int_equal(v.items[100 + i], 100 + 2 * i);
    }
    weir_vec_finish(&v);
}

static void removes_and_keeps_the_order(void **state)
{
    struct ints v = {0};

    (void)state;
    for (int i = 0; i < 5; i++)
        weir_vec_push(&v, i);
    weir_vec_remove(&v, 4);
    weir_vec_remove(&v, 0);
    weir_vec_remove(&v, 1);
    assert_int_equal(v.n, 2);
    assert_int_equal(v.items[0], 1);
    assert_int_equal(v.items[1], 3);
    weir_vec_remove(&v, 0);
    weir_vec_remove(&v, 0);
    assert_int_equal(v.n, 0);
    weir_vec_finish(&v);
}

static void failure_leaves_it_as_it_was(void **state)
{
    struct ints v = {0};

    (void)state;
    assert_int_equal(weir_vec_push(&v, 7), 0);
    while (v.n < v.cap)
        weir_vec_push(&v, 7);
    weir_mem_fail(0, 1);
    assert_int_equal(weir_vec_push(&v, 8), WEIR_E_NO_MEMORY);
    assert_int_equal(v.n, v.cap);
    assert_int_equal(*weir_vec_last(&v), 7);
    weir_mem_fail(0, 0);
    assert_int_equal(weir_vec_reserve(&v, SIZE_MAX / 2), WEIR_E_NO_MEMORY);
    assert_int_equal(weir_vec_reserve(&v, SIZE_MAX), WEIR_E_NO_MEMORY);
    assert_int_equal(weir_vec_push(&v, 8), 0);
    assert_int_equal(*weir_vec_last(&v), 8);
    weir_vec_finish(&v);
}

static void reserve_makes_pushes_sure(void **state)
{
    struct ints v = {0};

    (void)state;
    assert_int_equal(weir_vec_reserve(&v, 1000), 0);
    weir_mem_fail(0, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(weir_vec_push(&v, i), 0);
    assert_int_equal(weir_mem_count(), 0);
    weir_mem_fail(0, 0);
    weir_vec_finish(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_can_be_used),
        cmocka_unit_test(keeps_what_was_pushed),
        cmocka_unit_test(an_item_may_name_the_vector),
        cmocka_unit_test(removes_and_keeps_the_order),
        cmocka_unit_test(failure_leaves_it_as_it_was),
        cmocka_unit_test(reserve_makes_pushes_sure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support.h"

#include "base/mem.h"

static void fails_exactly_the_allocations_it_was_told(void **state)
{
    (void)state;
    for (uint64_t after = 0; after < 5; after++)
        for (uint64_t count = 0; count < 4; count++) {
            weir_mem_fail(after, count);
            for (uint64_t i = 0; i < 10; i++) {
                void *p = weir_mem_alloc(1);

                assert_int_equal(p == NULL, i >= after && i < after + count);
                weir_mem_free(p);
            }
            assert_true(weir_mem_count() == 10);
        }
    weir_mem_fail(0, 0);
    assert_true(weir_mem_count() == 0);
}

static void every_way_to_the_heap_can_fail(void **state)
{
    void *old = weir_mem_alloc(10);

    (void)state;
    weir_mem_fail(0, UINT64_MAX);
    assert_null(weir_mem_alloc(1));
    assert_null(weir_mem_alloc_array(1, 1));
    assert_null(weir_mem_realloc_array(old, 2, 1));
    assert_null(weir_mem_strdup("x"));
    assert_null(weir_mem_strndup("xy", 1));
    assert_true(weir_mem_count() == 5);
    weir_mem_fail(0, 0);
    memset(old, 1, 10); /* still ours */
    assert_null(weir_mem_free(old));
    assert_null(weir_mem_free(NULL));
}

static void sizes_that_overflow_are_refused(void **state)
{
    char *old = weir_mem_alloc(1);

    (void)state;
    assert_null(weir_mem_alloc(SIZE_MAX));
    assert_null(weir_mem_alloc_array(SIZE_MAX / 2, 3));
    assert_null(weir_mem_alloc_array(SIZE_MAX, SIZE_MAX));
    assert_null(weir_mem_realloc_array(old, SIZE_MAX / 2, 3));
    assert_null(weir_mem_strndup("x", SIZE_MAX));
    old[0] = 1;
    weir_mem_free(old);
}

static void nothing_is_something(void **state)
{
    void *pieces[] = {weir_mem_alloc(0), weir_mem_alloc_array(0, 8), weir_mem_alloc_array(8, 0),
                      weir_mem_realloc_array(NULL, 0, 8)};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(pieces); i++) {
        assert_non_null(pieces[i]);
        weir_mem_free(pieces[i]);
    }
}

static void arrays_are_zeroed_and_text_is_copied(void **state)
{
    unsigned char *array = weir_mem_alloc_array(100, 10);
    char text[] = "text";
    char *copy = weir_mem_strdup(text);
    char *part = weir_mem_strndup(text + 1, 2);
    char *none = weir_mem_strndup(NULL, 0);

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(array[i], 0);
    text[0] = 'n';
    assert_string_equal(copy, "text");
    text[1] = 'o';
    assert_string_equal(part, "ex");
    assert_string_equal(none, "");
    weir_mem_free(part);
    weir_mem_free(none);
    weir_mem_free(array);
    weir_mem_free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_exactly_the_allocations_it_was_told),
        cmocka_unit_test(every_way_to_the_heap_can_fail),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(nothing_is_something),
        cmocka_unit_test(arrays_are_zeroed_and_text_is_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void gives_zeroed_aligned_memory(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    for (size_t size = 0; size < 5000; size += 37) {
        unsigned char *p = weir_arena_alloc(&arena, size);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xFF, size);
    }
    weir_arena_finish(&arena);
}

static void keeps_to_its_maximum(void **state)
{
    struct weir_arena arena;

    (void)state;
    weir_arena_init(&arena, 10000);
    assert_non_null(weir_arena_alloc(&arena, 6000));
    assert_null(weir_arena_alloc(&arena, 6000));
    assert_non_null(weir_arena_alloc(&arena, 1000));
    assert_null(weir_arena_alloc(&arena, SIZE_MAX));
    assert_null(weir_arena_alloc_array(&arena, SIZE_MAX / 2, 4));
    weir_arena_finish(&arena);
}

static void reset_gives_clean_memory_again(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++) {
            char *p = weir_arena_alloc(&arena, 1000);

            assert_non_null(p);
            assert_int_equal(p[999], 0);
            memset(p, 0xAA, 1000);
        }
        weir_arena_reset(&arena);
    }
    weir_arena_finish(&arena);
}

static void formats(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    assert_string_equal(weir_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(weir_arena_strndup(&arena, "abcdef", 3), "abc");
    weir_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_zeroed_aligned_memory),
        cmocka_unit_test(keeps_to_its_maximum),
        cmocka_unit_test(reset_gives_clean_memory_again),
        cmocka_unit_test(formats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

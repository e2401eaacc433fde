#include "../support.h"

#include "base/arena.h"
#include "base/mem.h"

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

static void pieces_do_not_overlap(void **state)
{
    enum { PIECES = 2000 };
    struct weir_rng rng = random_numbers();
    struct weir_arena arena = WEIR_ARENA_INIT;
    unsigned char *pieces[PIECES];
    size_t sizes[PIECES];

    (void)state;
    for (int i = 0; i < PIECES; i++) {
        sizes[i] = weir_rng_below(&rng, weir_rng_below(&rng, 50) == 0 ? 3000000 : 300);
        pieces[i] = weir_rng_below(&rng, 2) == 0
                        ? (unsigned char *)weir_arena_bytes(&arena, sizes[i])
                        : weir_arena_alloc(&arena, sizes[i]);
        assert_non_null(pieces[i]);
        memset(pieces[i], i & 0xFF, sizes[i]);
    }
    for (int i = 0; i < PIECES; i++)
        for (size_t at = 0; at < sizes[i]; at++)
            if (pieces[i][at] != (i & 0xFF))
                fail_msg("piece %d was written over at %zu", i, at);
    weir_arena_finish(&arena);
}

/* A round like the last needs no memory from outside; a large piece is given back. */
static void reset_keeps_what_the_next_round_needs(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    weir_arena_reset(&arena);
    for (int round = 0; round < 12; round++) {
        weir_mem_fail(0, 0);
        for (int i = 0; i < 1000; i++)
            assert_non_null(weir_arena_alloc(&arena, 100));
        weir_arena_reset(&arena);
    }
    assert_true(weir_mem_count() == 0);
    assert_non_null(weir_arena_alloc(&arena, 5 << 20));
    weir_arena_reset(&arena);
    assert_true(arena.used_bytes <= 1 << 20);
    weir_arena_finish(&arena);
    assert_non_null(weir_arena_alloc(&arena, 5 << 20));
    weir_arena_reset(&arena);
    assert_int_equal(arena.used_bytes, 0);
    assert_non_null(weir_arena_alloc(&arena, 100));
    weir_arena_finish(&arena);
}

static void the_maximum_holds_after_reset_too(void **state)
{
    struct weir_arena arena;

    (void)state;
    weir_arena_init(&arena, 100000);
    for (int round = 0; round < 10; round++) {
        size_t total = 0;

        while (weir_arena_alloc(&arena, 1000) != NULL)
            total += 1000;
        assert_in_range(total, 50000, 100000);
        assert_true(arena.used_bytes <= 100000);
        weir_arena_reset(&arena);
    }
    weir_arena_finish(&arena);
    assert_int_equal(arena.max_bytes, 100000);
    weir_arena_finish(NULL);
}

static void nothing_can_be_had(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    assert_non_null(weir_arena_alloc(&arena, 0));
    assert_non_null(weir_arena_bytes(&arena, 0));
    assert_string_equal(weir_arena_strndup(&arena, NULL, 0), "");
    assert_null(weir_arena_strndup(&arena, "x", SIZE_MAX));
    assert_null(weir_arena_bytes(&arena, SIZE_MAX));
    assert_null(weir_arena_alloc_array(&arena, SIZE_MAX, SIZE_MAX));
    assert_non_null(weir_arena_alloc(&arena, 16)); /* still of use */
    weir_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_zeroed_aligned_memory),
        cmocka_unit_test(keeps_to_its_maximum),
        cmocka_unit_test(reset_gives_clean_memory_again),
        cmocka_unit_test(formats),
        cmocka_unit_test(pieces_do_not_overlap),
        cmocka_unit_test(reset_keeps_what_the_next_round_needs),
        cmocka_unit_test(the_maximum_holds_after_reset_too),
        cmocka_unit_test(nothing_can_be_had),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

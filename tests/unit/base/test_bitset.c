#include "../support.h"

#include "base/arena.h"
#include "base/bitset.h"
#include "base/err.h"

/* Sizes around the borders of words. */
static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 128, 129, 1000};

static void starts_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(sizes); i++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_bitset set;

        assert_int_equal(weir_bitset_init(&set, sizes[i], &arena), 0);
        assert_int_equal(weir_bitset_next(&set, 0), sizes[i]);
        assert_int_equal(weir_bitset_next(&set, SIZE_MAX), sizes[i]);
        assert_false(weir_bitset_has(&set, 0));
        assert_false(weir_bitset_has(&set, SIZE_MAX));
        weir_arena_finish(&arena);
    }
}

static void every_bit_stands_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(sizes); i++)
        for (size_t bit = 0; bit < sizes[i]; bit++) {
            struct weir_arena arena = WEIR_ARENA_INIT;
            struct weir_bitset set;

            weir_bitset_init(&set, sizes[i], &arena);
            weir_bitset_add(&set, bit);
            weir_bitset_add(&set, bit);
            assert_int_equal(weir_bitset_next(&set, 0), bit);
            assert_int_equal(weir_bitset_next(&set, bit), bit);
            assert_int_equal(weir_bitset_next(&set, bit + 1), sizes[i]);
            for (size_t other = 0; other < sizes[i] + 70; other++)
                assert_int_equal(weir_bitset_has(&set, other), other == bit);
            weir_arena_finish(&arena);
        }
}

static void behaves_like_an_array(void **state)
{
    enum { BITS = 200 };
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        size_t n_bits = weir_rng_below(&rng, BITS);
        struct weir_bitset set;
        bool is_in[BITS] = {false};
        size_t at = 0;

        weir_bitset_init(&set, n_bits, &arena);
        for (size_t i = 0; i < n_bits; i++) {
            is_in[i] = weir_rng_below(&rng, 2) == 0;
            if (is_in[i])
                weir_bitset_add(&set, i);
        }
        for (size_t i = 0; i < n_bits; i++) {
            assert_int_equal(weir_bitset_has(&set, i), is_in[i]);
            if (is_in[i]) {
                assert_int_equal(weir_bitset_next(&set, at), i);
                at = i + 1;
            }
        }
        assert_int_equal(weir_bitset_next(&set, at), n_bits);
        weir_arena_finish(&arena);
    }
}

static void add_beyond(void *set)
{
    weir_bitset_add(set, ((struct weir_bitset *)set)->n_bits);
}

static void misuse_ends_the_process(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_bitset set;

    (void)state;
    weir_bitset_init(&set, 70, &arena);
    assert_true(dies(add_beyond, &set));
    weir_arena_finish(&arena);
}

static void no_memory_is_told(void **state)
{
    struct weir_arena arena;
    struct weir_bitset set = {NULL, 7};

    (void)state;
    weir_arena_init(&arena, 100);
    assert_int_equal(weir_bitset_init(&set, 10000, &arena), WEIR_E_NO_MEMORY);
    assert_int_equal(weir_bitset_init(&set, SIZE_MAX, &arena), WEIR_E_NO_MEMORY);
    assert_int_equal(set.n_bits, 7);
    weir_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty),          cmocka_unit_test(every_bit_stands_alone),
        cmocka_unit_test(behaves_like_an_array), cmocka_unit_test(misuse_ends_the_process),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support.h"

#include "base/rng.h"

/* The first values of the authors' xoshiro256starstar.c from the state 1, 2, 3, 4. */
static void gives_the_reference_values(void **state)
{
    static const uint64_t wanted[] = {
        11520u,
        0u,
        1509978240u,
        1215971899390074240u,
        1216172134540287360u,
        607988272756665600u,
        16172922978634559625u,
        8476171486693032832u,
        10595114339597558777u,
        2904607092377533576u,
    };
    struct weir_rng rng = {{1, 2, 3, 4}};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(wanted); i++)
        assert_true(weir_rng_next(&rng) == wanted[i]);
}

/* The authors' splitmix64.c. */
static void is_seeded_by_splitmix(void **state)
{
    static const uint64_t of_0[] = {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu,
                                    0xf88bb8a8724c81ecu};
    static const uint64_t of_1234567[] = {0x599ed017fb08fc85u, 0x2c73f08458540fa5u,
                                          0x883ebce5a3f27c77u, 0x3fbef740e9177b3fu};
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 0);
    assert_memory_equal(rng.s, of_0, sizeof(of_0));
    weir_rng_init(&rng, 1234567);
    assert_memory_equal(rng.s, of_1234567, sizeof(of_1234567));
}

static void a_seed_repeats(void **state)
{
    struct weir_rng a;
    struct weir_rng b;
    struct weir_rng c;
    bool differs = false;

    (void)state;
    weir_rng_init(&a, 42);
    weir_rng_init(&b, 42);
    weir_rng_init(&c, 43);
    for (int i = 0; i < 100; i++) {
        uint64_t value = weir_rng_next(&a);

        assert_true(value == weir_rng_next(&b));
        differs = differs || value != weir_rng_next(&c);
    }
    assert_true(differs);
}

static void stays_below_its_bound(void **state)
{
    static const uint64_t bounds[] = {1,         2,           3,           7,
                                      1000,      4294967296u, 4294967297u, UINT64_MAX / 2 + 2,
                                      UINT64_MAX};
    struct weir_rng rng = random_numbers();

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(bounds); i++)
        for (int n = 0; n < 10000; n++)
            assert_true(weir_rng_below(&rng, bounds[i]) < bounds[i]);
}

/* Of n = 3 * 2^62 values a bare modulo would give the lowest third twice as often, a bare
 * multiplication those divisible by three. The seed is fixed: the figures are no gamble. */
static void is_not_biased(void **state)
{
    enum { DRAWS = 300000, SLACK = 2000 };
    uint64_t n = (uint64_t)3 << 62;
    struct weir_rng rng;
    int thirds[3] = {0, 0, 0};
    int remainders[3] = {0, 0, 0};

    (void)state;
    weir_rng_init(&rng, 7);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t value = weir_rng_below(&rng, n);

        thirds[value >> 62]++;
        remainders[value % 3]++;
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(thirds[i], DRAWS / 3 - SLACK, DRAWS / 3 + SLACK);
        assert_in_range(remainders[i], DRAWS / 3 - SLACK, DRAWS / 3 + SLACK);
    }
}

static void below_nothing(void *rng)
{
    weir_rng_below(rng, 0);
}

static void nothing_is_below_nothing(void **state)
{
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 1);
    assert_true(dies(below_nothing, &rng));
}

static void the_unit_interval_is_half_open(void **state)
{
    struct weir_rng rng;
    double sum = 0;

    (void)state;
    weir_rng_init(&rng, 3);
    for (int i = 0; i < 100000; i++) {
        double value = weir_rng_unit(&rng);

        assert_true(value >= 0 && value < 1);
        sum += value;
    }
    assert_true(sum > 49500 && sum < 50500);
    /* The largest there can be, and the smallest. */
    rng = (struct weir_rng){{0, 0x4fc71c71c71c71c7u, 0, 0}};
    assert_true(weir_rng_unit(&rng) == 1 - 0x1p-53);
    rng = (struct weir_rng){{1, 0, 0, 0}};
    assert_true(weir_rng_unit(&rng) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_reference_values),
        cmocka_unit_test(is_seeded_by_splitmix),
        cmocka_unit_test(a_seed_repeats),
        cmocka_unit_test(stays_below_its_bound),
        cmocka_unit_test(is_not_biased),
        cmocka_unit_test(nothing_is_below_nothing),
        cmocka_unit_test(the_unit_interval_is_half_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

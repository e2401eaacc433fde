#include "../support.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"

/* The exact result in 128 bits, drawn into int64. */
static int64_t saturated(__int128 value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static const int64_t edges[] = {
    INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -4294967296,   -1000,         -2,       -1, 0, 1,
    2,         1000,          4294967296,    INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

static void arithmetic_saturates(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(edges); i++)
        for (size_t j = 0; j < WEIR_COUNT_OF(edges); j++) {
            int64_t a = edges[i];
            int64_t b = edges[j];
            bool unbounded = a == INT64_MAX || b == INT64_MAX;

            assert_true(weir_units_add(a, b) ==
                        (unbounded ? INT64_MAX : saturated((__int128)a + b)));
            assert_true(weir_units_mul(a, b) == saturated((__int128)a * b));
        }
}

static void random_arithmetic_saturates(void **state)
{
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int i = 0; i < 100000; i++) {
        int64_t a = (int64_t)weir_rng_next(&rng) >> weir_rng_below(&rng, 64);
        int64_t b = (int64_t)weir_rng_next(&rng) >> weir_rng_below(&rng, 64);

        assert_true(weir_units_add(a, b) == saturated((__int128)a + b));
        assert_true(weir_units_mul(a, b) == saturated((__int128)a * b));
    }
}

static void formats_bytes(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {10234, "9.9 KiB"},
        {10240, "10.0 KiB"},
        {102348, "99.9 KiB"},
        {102349, "99.9 KiB"},
        {1047000, "1022.4 KiB"},
        {1048063, "1023.4 KiB"},
        {1048575, "1023.9 KiB"},
        {1048576, "1.0 MiB"},
        {85469433856, "79.5 GiB"},
        {WEIR_GIB * 1024, "1.0 TiB"},
        {WEIR_GIB * 1024 * 1024, "1.0 PiB"},
        {INT64_MAX, "7.9 EiB"},
        {-1, "-1 B"},
        {-1023, "-1023 B"},
        {-1024, "-1.0 KiB"},
        {-102349, "-99.9 KiB"},
        {-85469433856, "-79.5 GiB"},
        {INT64_MIN, "-8.0 EiB"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_buf buf = WEIR_BUF_INIT(100);

        assert_int_equal(weir_units_format_bytes(cases[i].bytes, &buf), 0);
        assert_string_equal(weir_buf_cstr(&buf), cases[i].text);
        weir_buf_finish(&buf);
    }
}

static void formats_gpus(void **state)
{
    static const struct {
        int64_t mgpu;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "0.001"},
        {10, "0.01"},
        {100, "0.1"},
        {500, "0.5"},
        {1000, "1"},
        {1250, "1.25"},
        {1001, "1.001"},
        {10000, "10"},
        {100100, "100.1"},
        {-1, "-0.001"},
        {-500, "-0.5"},
        {-1000, "-1"},
        {-1250, "-1.25"},
        {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_buf buf = WEIR_BUF_INIT(100);

        weir_buf_puts(&buf, "100 ");
        assert_int_equal(weir_units_format_mgpu(cases[i].mgpu, &buf), 0);
        assert_string_equal(weir_buf_cstr(&buf) + 4, cases[i].text);
        weir_buf_finish(&buf);
    }
}

/* What was there before stays, zeros at its end too. */
static void a_full_buffer_is_told(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(4);

    (void)state;
    weir_buf_puts(&buf, "100");
    assert_int_equal(weir_units_format_mgpu(12500, &buf), WEIR_E_TOO_LARGE);
    assert_true(weir_str_starts_with(weir_buf_view(&buf), WEIR_STR("100")));
    assert_int_equal(weir_units_format_bytes(1, &buf), WEIR_E_TOO_LARGE);
    weir_buf_finish(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_saturates),  cmocka_unit_test(random_arithmetic_saturates),
        cmocka_unit_test(formats_bytes),         cmocka_unit_test(formats_gpus),
        cmocka_unit_test(a_full_buffer_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

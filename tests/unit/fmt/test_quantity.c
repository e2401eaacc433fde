#include "fmt/quantity.h"

#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define KI INT64_C(1024)
#define MI (KI * 1024)
#define GI (MI * 1024)
#define TI (GI * 1024)
#define PI (TI * 1024)
#define EI (PI * 1024)

static void assert_amount(const char *text, unsigned decimals, int64_t want)
{
    struct weir_err err = WEIR_ERR_INIT;
    int64_t got = -7;

    if (weir_quantity_parse(weir_str(text), decimals, WEIR_QUANTITY_SIGNED, &got, &err) < 0)
        fail_msg("'%s': %s", text, err.text);
    if (got != want)
        fail_msg("'%s' with %u decimals is %" PRId64 ", not %" PRId64, text, decimals, got, want);
}

/* The examples of the Kubernetes documentation: the reference's Quantity, and "Resource Management
 * for Pods and Containers" (0.1 CPU is 100m; 128974848, 129e6, 129M, 128974848000m and 123Mi are
 * the same or about the same). */
static void reads_the_documented_examples(void **state)
{
    (void)state;
    assert_amount("0.1m", 3, 1);
    assert_amount("1.5", 3, 1500);
    assert_amount("1.5Gi", 0, 1536 * MI);
    assert_amount("12e6", 0, 12000000);
    assert_amount("0.5", 3, 500);
    assert_amount("0.1", 3, 100);
    assert_amount("100m", 3, 100);
    assert_amount("500m", 3, 500);
    assert_amount("5m", 3, 5);
    assert_amount("0.005", 3, 5);
    assert_amount("1.0", 3, 1000);
    assert_amount("128974848", 0, 128974848);
    assert_amount("129e6", 0, 129000000);
    assert_amount("129M", 0, 129000000);
    assert_amount("128974848000m", 0, 128974848);
    assert_amount("123Mi", 0, 128974848);
    assert_amount("400m", 0, 1);
    assert_amount("64Mi", 0, 67108864);
    assert_amount("1E", 0, INT64_C(1000000000000000000));
}

static void reads_every_suffix(void **state)
{
    static const struct {
        const char *text;
        unsigned decimals;
        int64_t want;
    } table[] = {
        {"5n", 9, 5},
        {"4u", 9, 4000},
        {"4u", 6, 4},
        {"3m", 3, 3},
        {"9", 0, 9},
        {"8k", 0, 8000},
        {"7M", 0, 7000000},
        {"6G", 0, INT64_C(6000000000)},
        {"5T", 0, INT64_C(5000000000000)},
        {"2P", 0, INT64_C(2000000000000000)},
        {"9E", 0, INT64_C(9000000000000000000)},
        {"8Ki", 0, 8 * KI},
        {"7Mi", 0, 7 * MI},
        {"6Gi", 0, 6 * GI},
        {"5Ti", 0, 5 * TI},
        {"4Pi", 0, 4 * PI},
        {"3Ei", 0, 3 * EI},
        {"2Ki", 3, 2048000},
        {"1E-3", 3, 1},
        {"1e3", 0, 1000},
        {"1.3E+6", 0, 1300000},
        {"1.53E12", 0, INT64_C(1530000000000)},
        {"1e0", 0, 1},
        {"0e999999999", 0, 0},
        {"0.0e-999999999", 9, 0},
        {"0Ei", 9, 0},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++)
        assert_amount(table[i].text, table[i].decimals, table[i].want);
}

static void reads_fractions_and_odd_forms(void **state)
{
    (void)state;
    assert_amount("100.035k", 0, 100035);
    assert_amount("0.0005k", 3, 500);
    assert_amount("0.00050k", 3, 500);
    assert_amount("6.987654321G", 0, INT64_C(6987654321));
    assert_amount("0.5Mi", 0, MI / 2);
    assert_amount(".001", 3, 1);
    assert_amount("1.", 0, 1);
    assert_amount("1.G", 0, 1000000000);
    assert_amount("+2", 0, 2);
    assert_amount("000000000000000000000000000000000000000000000007", 0, 7);
    assert_amount("7.000000000000000000000000000000000000000000000000", 0, 7);
    assert_amount("0.00000000000000000000000000000000000001e38", 0, 1);
    assert_amount("-0", 0, 0);
    assert_amount("-2Ki", 0, -2048);
}

static void rounds_up_and_exactly(void **state)
{
    (void)state;
    assert_amount("0.1", 0, 1);
    assert_amount("0.9999999999999999999999999999", 0, 1);
    assert_amount("1.0000000000000000000000000001", 0, 2);
    assert_amount("3.001n", 9, 4);
    assert_amount("1.1E-9", 9, 2);
    assert_amount("1e-2000000000", 0, 1);
    assert_amount("1e-38", 0, 1);
    assert_amount("1e-39", 0, 1);
    assert_amount("0.00000012345", 9, 124);
    assert_amount("100.035Ki", 0, 102436); /* 102435.84 */
    assert_amount("0.05Gi", 0, 53687092);  /* 53687091.2 */
    assert_amount("0.025Ti", 0, INT64_C(27487790695));
    assert_amount("0.000000000001Ki", 9, 2); /* 1.024 n */
    /* 1/1024 in full is exact; one digit more is not. */
    assert_amount("0.0009765625Ki", 0, 1);
    assert_amount("0.00097656250000000000000000000000000001Ki", 0, 2);
    assert_amount("0.00000000000000000086736173798840354720Ei", 0, 1);
    assert_amount("0.00000000000000000086736173798840354721Ei", 0, 2);
    assert_amount("-1.5", 0, -2);
    assert_amount("-0.1m", 3, -1);
}

static void what_does_not_fit_is_an_error(void **state)
{
    static const struct {
        const char *text;
        unsigned decimals;
    } table[] = {
        {"9223372036854775808", 0},
        {"9223372036854775807.1", 0},
        {"8Ei", 0},
        {"7.9999999999999999999999Ei", 0},
        {"10E", 0},
        {"9223372036854775.8071", 3},
        {"99999999999999999999999999999999999999", 0},
        {"99999999999999999999999999999999999999Ei", 9},
        {"1e19", 0},
        {"1e2000000000", 0},
        {"-9223372036854775809", 0},
    };
    struct weir_err err = WEIR_ERR_INIT;
    int64_t amount = -7;

    (void)state;
    assert_amount("9223372036854775807", 0, INT64_MAX);
    assert_amount("9223372036854775806.1", 0, INT64_MAX);
    assert_amount("-9223372036854775808", 0, INT64_MIN);
    assert_amount("7Ei", 0, 7 * EI);
    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++) {
        if (weir_quantity_parse(weir_str(table[i].text), table[i].decimals, WEIR_QUANTITY_SIGNED,
                                &amount, &err) != WEIR_E_TOO_LARGE)
            fail_msg("'%s' is %" PRId64, table[i].text, amount);
        assert_int_equal(amount, -7);
    }
    assert_string_equal(err.text, "quantity '-9223372036854775809' is too large");
}

static void errors_say_what_to_write(void **state)
{
    static const char *const any =
        "write a number, with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei or nothing behind it";
    static const char *const comma =
        "write the fraction with a point, and thousands without a mark";
    const struct {
        const char *text;
        const char *message;
        const char *hint;
    } table[] = {
        {"20GiB", "'20GiB' is not a quantity", "write 20Gi"},
        {"20GB", "'20GB' is not a quantity", "write 20G"},
        {"512mb", "'512mb' is not a quantity", "write 512M"},
        {"1.5K", "'1.5K' is not a quantity", "write 1.5k"},
        {"1ki", "'1ki' is not a quantity", "write 1Ki"},
        {"16g", "'16g' is not a quantity", "write 16G"},
        {"5 Gi", "'5 Gi' is not a quantity", "write 5Gi"},
        {"100B", "'100B' is not a quantity", "write 100"},
        {"100 bytes", "'100 bytes' is not a quantity", "write 100"},
        {"1,5", "'1,5' is not a quantity", comma},
        {"1,000Gi", "'1,000Gi' is not a quantity", comma},
        {"5%", "'5%' is not a quantity", any},
        {"1e3Gi", "'1e3Gi' is not a quantity", any},
        {"1e", "'1e' is not a quantity", "write 1E"},
        {"1e1.5", "'1e1.5' is not a quantity", any},
        {"1e+-5", "'1e+-5' is not a quantity", any},
        {"1e99999999999", "'1e99999999999' is not a quantity", any},
        {"0x10", "'0x10' is not a quantity", any},
        {"1.2.3", "'1.2.3' is not a quantity", any},
        {"1_000", "'1_000' is not a quantity", any},
        {"Gi", "'Gi' is not a quantity", any},
        {".", "'.' is not a quantity", any},
        {"-", "'-' is not a quantity", any},
        {"+-1", "'+-1' is not a quantity", any},
        {" 1", "' 1' is not a quantity", any},
        {"inf", "'inf' is not a quantity", any},
        {"many\nlines", "'many?lines' is not a quantity", any},
        {"", "an empty text is not a quantity", any},
        {"-1", "quantity '-1' is negative", ""},
        {"-0.1n", "quantity '-0.1n' is negative", ""},
        {"1.000000000000000000000000000000000000001",
         "quantity '1.000000000000000000000000000000000000001' has more than 38 digits", ""},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        int64_t amount = -7;
        int rc = weir_quantity_bytes(weir_str(table[i].text), &amount, &err);

        if (rc != WEIR_E_INVALID || amount != -7 || strcmp(err.text, table[i].message) != 0 ||
            strcmp(err.hint, table[i].hint) != 0)
            fail_msg("'%s' gives %d: %s, hint: %s", table[i].text, rc, err.text, err.hint);
        assert_int_equal(weir_quantity_milli(weir_str(table[i].text), &amount, NULL), rc);
    }
}

static void assert_formats(int64_t value, const char *want)
{
    struct weir_buf buf = WEIR_BUF_INIT(64);

    assert_int_equal(weir_quantity_format_bytes(value, &buf), 0);
    assert_string_equal(weir_buf_cstr(&buf), want);
    weir_buf_finish(&buf);
}

static void formats_the_canonical_form(void **state)
{
    (void)state;
    assert_formats(0, "0");
    assert_formats(1000, "1000");
    assert_formats(1024, "1Ki");
    assert_formats(1536 * MI, "1536Mi");
    assert_formats(20 * GI, "20Gi");
    assert_formats(4 * EI, "4Ei");
    assert_formats(INT64_MAX, "9223372036854775807");
    assert_formats(INT64_MIN, "-8Ei");
}

static void what_is_formatted_reads_back(void **state)
{
    uint64_t x = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct weir_buf buf = WEIR_BUF_INIT(64);
        int64_t value;
        int64_t got;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        /* Few significant bits at every height, so that suffixes come up. */
        value = (int64_t)((x & 0xFFF) << (x >> 58));
        assert_int_equal(weir_quantity_format_bytes(value, &buf), 0);
        assert_int_equal(
            weir_quantity_parse(weir_buf_view(&buf), 0, WEIR_QUANTITY_SIGNED, &got, NULL), 0);
        assert_true(got == value);
        weir_buf_finish(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_documented_examples),
        cmocka_unit_test(reads_every_suffix),
        cmocka_unit_test(reads_fractions_and_odd_forms),
        cmocka_unit_test(rounds_up_and_exactly),
        cmocka_unit_test(what_does_not_fit_is_an_error),
        cmocka_unit_test(errors_say_what_to_write),
        cmocka_unit_test(formats_the_canonical_form),
        cmocka_unit_test(what_is_formatted_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

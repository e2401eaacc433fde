#include "fmt/kmsg.h"

#include "base/count.h"
#include "base/err.h"
#include "tests/unit/support.h"

static char buffer[WEIR_KMSG_RECORD_MAX];

static void reads_a_record(void **state)
{
    static const char text[] =
        "3,901,5140900,-,caller=T12;NVRM: a\\x0ab\\x5c\\x7f;c\n SUBSYSTEM=pci\n"
        " DEVICE=+pci:0000:3b:00.0\n";
    struct weir_kmsg kmsg;

    (void)state;
    assert_int_equal(weir_kmsg_read(weir_str(text), buffer, sizeof(buffer), &kmsg, NULL), 0);
    assert_int_equal(kmsg.facility, WEIR_KMSG_FACILITY_KERN);
    assert_int_equal(kmsg.level, 3);
    assert_int_equal(kmsg.seq, 901);
    assert_int_equal(kmsg.at_us, 5140900);
    assert_false(kmsg.is_fragment);
    assert_true(weir_str_eq_c(kmsg.message, "NVRM: a\nb\\\x7f;c"));
    assert_true(weir_str_eq_c(weir_kmsg_value(&kmsg, "DEVICE"), "+pci:0000:3b:00.0"));
    assert_true(weir_str_eq_c(weir_kmsg_value(&kmsg, "SUBSYSTEM"), "pci"));
    assert_int_equal(weir_kmsg_value(&kmsg, "EVIC").len, 0);
}

static void tells_who_wrote_it(void **state)
{
    struct weir_kmsg kmsg;

    (void)state;
    assert_int_equal(weir_kmsg_read(WEIR_STR("12,1,2,c;x"), buffer, sizeof(buffer), &kmsg, NULL),
                     0);
    assert_int_equal(kmsg.facility, 1);
    assert_int_equal(kmsg.level, 4);
    assert_true(kmsg.is_fragment);
    assert_int_equal(kmsg.dictionary.len, 0);
    assert_int_equal(weir_kmsg_read(WEIR_STR("7,1,2,-;"), buffer, sizeof(buffer), &kmsg, NULL), 0);
    assert_int_equal(kmsg.facility, 0);
    assert_int_equal(kmsg.message.len, 0);
}

static void refuses_what_is_no_record(void **state)
{
    static const struct {
        const char *text;
        uint32_t column;
    } cases[] = {
        {"", 1},
        {"x", 2},
        {"3,1,2,-", 8},
        {";x", 1},
        {"a,1,2,-;x", 1},
        {"3,b,2,-;x", 3},
        {"3,1,c,-;x", 5},
        {"3,1,2;x", 5},
        {"3,1,2,;x", 7},
        {"3,1,2,q;x", 7},
        {"3,1,2,--;x", 7},
        {"-3,1,2,-;x", 1},
        {"70000,1,2,-;x", 1},
        {"3, 1,2,-;x", 3},
        {"3,1,99999999999999999999,-;x", 5},
        {"3,1,2,-;a\\", 10},
        {"3,1,2,-;\\x0", 9},
        {"3,1,2,-;\\n", 9},
        {"3,1,2,-;\\xg0", 9},
        {"3,1,2,-;x\nA=b\n", 11},
        {"3,1,2,-;x\n\n", 11},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_kmsg kmsg = {.level = 9};

        assert_int_equal(weir_kmsg_read(weir_str(cases[i].text), buffer, sizeof(buffer), &kmsg,
                                        &err),
                         WEIR_E_INVALID);
        assert_int_equal(err.column, cases[i].column);
        assert_int_equal(kmsg.level, 9);
    }
}

static void keeps_to_its_bounds(void **state)
{
    static char large[WEIR_KMSG_RECORD_MAX + 2];
    struct weir_kmsg kmsg;

    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    memcpy(large, "3,1,2,-;", 8);
    assert_int_equal(weir_kmsg_read(weir_str(large), buffer, sizeof(buffer), &kmsg, NULL),
                     WEIR_E_TOO_LARGE);
    large[sizeof(large) - 2] = '\0';
    assert_int_equal(weir_kmsg_read(weir_str(large), buffer, sizeof(buffer), &kmsg, NULL), 0);
    assert_int_equal(kmsg.message.len, WEIR_KMSG_RECORD_MAX - 8);
    assert_int_equal(weir_kmsg_read(WEIR_STR("3,1,2,-;xyz"), buffer, 2, &kmsg, NULL),
                     WEIR_E_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_record),
        cmocka_unit_test(tells_who_wrote_it),
        cmocka_unit_test(refuses_what_is_no_record),
        cmocka_unit_test(keeps_to_its_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

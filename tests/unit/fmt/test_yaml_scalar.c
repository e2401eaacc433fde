#include "base/count.h"
#include "yaml_fixture.h"

static const struct {
    const char *plain;
    uint8_t kind;
    const char *text;
    bool is_integer;
} plain_scalars[] = {
    {"", WEIR_TREE_NULL, "", false},
    {"~", WEIR_TREE_NULL, "", false},
    {"NULL", WEIR_TREE_NULL, "", false},
    {"nULL", WEIR_TREE_STRING, "nULL", false},
    {"y", WEIR_TREE_BOOL, "true", false},
    {"N", WEIR_TREE_BOOL, "false", false},
    {"Yes", WEIR_TREE_BOOL, "true", false},
    {"OFF", WEIR_TREE_BOOL, "false", false},
    {"oN", WEIR_TREE_STRING, "oN", false},
    {"True", WEIR_TREE_BOOL, "true", false},
    {"0", WEIR_TREE_NUMBER, "0", true},
    {"-0", WEIR_TREE_NUMBER, "0", true},
    {"+12", WEIR_TREE_NUMBER, "12", true},
    {"-12", WEIR_TREE_NUMBER, "-12", true},
    {"18446744073709551616", WEIR_TREE_NUMBER, "18446744073709551616", true},
    {"0x1f", WEIR_TREE_NUMBER, "31", true},
    {"0X1F", WEIR_TREE_NUMBER, "31", true},
    {"-0x1f", WEIR_TREE_NUMBER, "-31", true},
    {"0xFFFFFFFFFFFFFFFF", WEIR_TREE_NUMBER, "18446744073709551615", true},
    {"0x10000000000000000", WEIR_TREE_STRING, "0x10000000000000000", false},
    {"-0x8000000000000000", WEIR_TREE_NUMBER, "-9223372036854775808", true},
    {"-0x8000000000000001", WEIR_TREE_STRING, "-0x8000000000000001", false},
    {"0x", WEIR_TREE_STRING, "0x", false},
    {"0xG", WEIR_TREE_STRING, "0xG", false},
    {"0o17", WEIR_TREE_NUMBER, "15", true},
    {"0o8", WEIR_TREE_STRING, "0o8", false},
    {"0755", WEIR_TREE_NUMBER, "493", true},
    {"00", WEIR_TREE_NUMBER, "0", true},
    {"-017", WEIR_TREE_NUMBER, "-15", true},
    {"08", WEIR_TREE_NUMBER, "8", true},
    {"0b101", WEIR_TREE_NUMBER, "5", true},
    {"0b2", WEIR_TREE_STRING, "0b2", false},
    {"1_000", WEIR_TREE_NUMBER, "1000", true},
    {"0x_1_F", WEIR_TREE_NUMBER, "31", true},
    {"_1", WEIR_TREE_STRING, "_1", false},
    {"._5", WEIR_TREE_STRING, "._5", false},
    {"-_1", WEIR_TREE_NUMBER, "-1", true},
    {"+_", WEIR_TREE_STRING, "+_", false},
    {"1.5", WEIR_TREE_NUMBER, "1.5", false},
    {".5", WEIR_TREE_NUMBER, "0.5", false},
    {"-.5", WEIR_TREE_NUMBER, "-0.5", false},
    {"5.", WEIR_TREE_NUMBER, "5", false},
    {"007.50", WEIR_TREE_NUMBER, "7.50", false},
    {"1e3", WEIR_TREE_NUMBER, "1e3", false},
    {"1.E+03", WEIR_TREE_NUMBER, "1E+03", false},
    {"-0.0", WEIR_TREE_NUMBER, "-0.0", false},
    {"1e", WEIR_TREE_STRING, "1e", false},
    {"1e+", WEIR_TREE_STRING, "1e+", false},
    {"e3", WEIR_TREE_STRING, "e3", false},
    {".", WEIR_TREE_STRING, ".", false},
    {"-", WEIR_TREE_STRING, "-", false},
    {"+", WEIR_TREE_STRING, "+", false},
    {"1.2.3", WEIR_TREE_STRING, "1.2.3", false},
    {"--1", WEIR_TREE_STRING, "--1", false},
    {".inf", WEIR_TREE_STRING, ".inf", false},
    {"-.Inf", WEIR_TREE_STRING, "-.Inf", false},
    {".NaN", WEIR_TREE_STRING, ".NaN", false},
    {"12:30", WEIR_TREE_STRING, "12:30", false},
    {"2026-11-30", WEIR_TREE_STRING, "2026-11-30", false},
    {"1 2", WEIR_TREE_STRING, "1 2", false},
    {"500m", WEIR_TREE_STRING, "500m", false},
};

static void resolves_plain_scalars(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < WEIR_COUNT_OF(plain_scalars); i++) {
        struct weir_yaml_scalar s;

        assert_int_equal(weir_yaml_resolve(weir_str(plain_scalars[i].plain), &f->arena, &s), 0);
        if (s.kind != plain_scalars[i].kind || !weir_str_eq_c(s.text, plain_scalars[i].text) ||
            s.is_integer != plain_scalars[i].is_integer)
            fail_msg("'%s' is %s '%.*s'", plain_scalars[i].plain, weir_tree_kind_name(s.kind),
                     WEIR_STR_ARG(s.text));
    }
}

static const char *const ambiguous[] = {
    "y",
    "N",
    "yes",
    "Off",
    "on",
    "010",
    "00",
    "0o17",
    "08",
    "1_000",
    "0b11",
    "-0x1F",
    "0x1_F",
    "1e3",
    "1.5e3",
    "1_0.5",
    "12:30",
    "1:02:03",
    "20:30.15",
    "2026-11-30",
    "2026-1-3T1:02:03Z",
    "2001-12-14 21:59:43.10 -5",
    "<<",
    "=",
    "0:30.",
};

static const char *const clear[] = {
    "",
    "~",
    "null",
    "true",
    "False",
    "1",
    "-1",
    "+1",
    "0",
    "0x1F",
    "1.5",
    ".5",
    "5.",
    "1.5e+3",
    "-.inf",
    ".NaN",
    "abc",
    "500m",
    "01:30:00",
    "12:60",
    "12:3x",
    "12:",
    "1.2.3",
    "2026-1",
    "2026-1-3",
    "20260-01-03",
    "2026-11-30x",
    "0o8",
    "0b2",
    "0xG",
    "_1",
    "-",
    ".",
    "yEs",
    "1e",
    "1.e",
    "2026-11-30T1:2:3",
    "2026-11-30T01:02",
    "0b",
    "0x",
    "+",
    "1:2:",
    "-_1",
    "2026-111-30",
    "2026-11-301",
};

static void tells_what_versions_disagree_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(ambiguous); i++)
        if (!weir_yaml_is_ambiguous(weir_str(ambiguous[i])))
            fail_msg("'%s' should be ambiguous", ambiguous[i]);
    for (size_t i = 0; i < WEIR_COUNT_OF(clear); i++)
        if (weir_yaml_is_ambiguous(weir_str(clear[i])))
            fail_msg("'%s' should be clear", clear[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        YAML_TEST(resolves_plain_scalars),
        YAML_TEST(tells_what_versions_disagree_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support.h"

#include "base/arena.h"
#include "base/str.h"

#include <limits.h>

static void compares(void **state)
{
    struct weir_str null = weir_str(NULL);

    (void)state;
    assert_int_equal(null.len, 0);
    assert_true(weir_str_eq(null, WEIR_STR("")));
    assert_true(weir_str_eq_c(WEIR_STR("a\0b"), "a") == false);
    assert_true(weir_str_eq(WEIR_STR("a\0b"), weir_str_n("a\0b", 3)));
    assert_false(weir_str_eq(WEIR_STR("a\0b"), WEIR_STR("a\0c")));
    assert_true(weir_str_eq_nocase(WEIR_STR("AbZ@["), WEIR_STR("aBz@[")));
    /* '@' and '`', '[' and '{' differ by the bit that makes lower case, and are no letters. */
    assert_false(weir_str_eq_nocase(WEIR_STR("@["), WEIR_STR("`{")));
    assert_false(weir_str_eq_nocase(WEIR_STR("a"), WEIR_STR("ab")));
    assert_true(weir_str_cmp(WEIR_STR("a"), WEIR_STR("ab")) < 0);
    assert_true(weir_str_cmp(WEIR_STR("b"), WEIR_STR("ab")) > 0);
    assert_true(weir_str_cmp(null, WEIR_STR("")) == 0);
    /* Bytes are unsigned. */
    assert_true(weir_str_cmp(WEIR_STR("\x80"), WEIR_STR("\x7f")) > 0);
    assert_true(weir_str_starts_with(WEIR_STR("abc"), WEIR_STR("")));
    assert_true(weir_str_starts_with(WEIR_STR("abc"), WEIR_STR("abc")));
    assert_false(weir_str_starts_with(WEIR_STR("ab"), WEIR_STR("abc")));
    assert_true(weir_str_ends_with(WEIR_STR("abc"), WEIR_STR("bc")));
    assert_false(weir_str_ends_with(WEIR_STR("c"), WEIR_STR("bc")));
    assert_true(weir_str_ends_with(null, null));
}

static void constant_time_comparison_is_a_comparison(void **state)
{
    (void)state;
    assert_true(weir_str_eq_constant_time(WEIR_STR("secret"), WEIR_STR("secret")));
    assert_true(weir_str_eq_constant_time(WEIR_STR(""), weir_str(NULL)));
    assert_false(weir_str_eq_constant_time(WEIR_STR("secret"), WEIR_STR("secreT")));
    assert_false(weir_str_eq_constant_time(WEIR_STR("Secret"), WEIR_STR("secret")));
    assert_false(weir_str_eq_constant_time(WEIR_STR("aaaa"), WEIR_STR("aa")));
    assert_false(weir_str_eq_constant_time(WEIR_STR("aa"), WEIR_STR("aaaa")));
    assert_false(weir_str_eq_constant_time(WEIR_STR(""), WEIR_STR("a")));
    assert_false(weir_str_eq_constant_time(WEIR_STR("a"), WEIR_STR("")));
    assert_false(weir_str_eq_constant_time(WEIR_STR("\x01"), WEIR_STR("")));
}

static void cuts_and_trims(void **state)
{
    (void)state;
    assert_true(weir_str_eq_c(weir_str_sub(WEIR_STR("abcdef"), 2, 3), "cde"));
    assert_true(weir_str_eq_c(weir_str_sub(WEIR_STR("abcdef"), 2, SIZE_MAX), "cdef"));
    assert_int_equal(weir_str_sub(WEIR_STR("abc"), 3, 1).len, 0);
    assert_int_equal(weir_str_sub(WEIR_STR("abc"), SIZE_MAX, SIZE_MAX).len, 0);
    assert_int_equal(weir_str_sub(weir_str(NULL), 0, 5).len, 0);
    assert_true(weir_str_eq_c(weir_str_trim(WEIR_STR(" \t\r\n a b\n ")), "a b"));
    assert_int_equal(weir_str_trim(WEIR_STR(" \t ")).len, 0);
    assert_int_equal(weir_str_trim(weir_str(NULL)).len, 0);
    /* Not a blank for us: no-break space, vertical tab. */
    assert_int_equal(weir_str_trim(WEIR_STR("\v\xc2\xa0")).len, 3);
}

static void finds(void **state)
{
    (void)state;
    assert_int_equal(weir_str_find_char(WEIR_STR("abcabc"), 'c'), 2);
    assert_int_equal(weir_str_find_char(WEIR_STR("abc"), 'x'), -1);
    assert_int_equal(weir_str_find_char(WEIR_STR("a\0b"), 'b'), 2);
    assert_int_equal(weir_str_find_char(weir_str(NULL), 'x'), -1);
    assert_int_equal(weir_str_find_char(WEIR_STR("ab"), '\0'), -1);
    assert_int_equal(weir_str_find(WEIR_STR("aabaabaac"), WEIR_STR("aabaac")), 3);
    assert_int_equal(weir_str_find(WEIR_STR("abc"), WEIR_STR("")), 0);
    assert_int_equal(weir_str_find(weir_str(NULL), WEIR_STR("")), 0);
    assert_int_equal(weir_str_find(weir_str(NULL), WEIR_STR("a")), -1);
    assert_int_equal(weir_str_find(WEIR_STR("ab"), WEIR_STR("abc")), -1);
}

static void assert_parts(struct weir_str text, const char *const *parts, size_t n)
{
    struct weir_str part;

    for (size_t i = 0; i < n; i++) {
        assert_true(weir_str_split(&text, ',', &part));
        assert_true(weir_str_eq_c(part, parts[i]));
    }
    assert_false(weir_str_split(&text, ',', &part));
    assert_false(weir_str_split(&text, ',', &part));
}

static void splits(void **state)
{
    (void)state;
    assert_parts(WEIR_STR("a,bc,d"), (const char *[]){"a", "bc", "d"}, 3);
    assert_parts(WEIR_STR(",a,,"), (const char *[]){"", "a", "", ""}, 4);
    assert_parts(WEIR_STR(""), (const char *[]){""}, 1);
    assert_parts(weir_str(NULL), NULL, 0);
}

static void reads_whole_numbers_strictly(void **state)
{
    static const char *const bad[] = {"",    "-",   "+1",  " 1", "1 ",      "1_0",
                                      "0x1", "1.0", "--1", "1-", "\xd9\xa1"};
    uint64_t u = 7;
    int64_t i = 7;

    (void)state;
    for (size_t n = 0; n < WEIR_COUNT_OF(bad); n++) {
        assert_false(weir_str_to_u64(weir_str(bad[n]), &u));
        assert_false(weir_str_to_i64(weir_str(bad[n]), &i));
    }
    assert_false(weir_str_to_u64(WEIR_STR("-1"), &u));
    assert_false(weir_str_to_u64(WEIR_STR("18446744073709551616"), &u));
    assert_false(weir_str_to_u64(WEIR_STR("99999999999999999999"), &u));
    assert_false(weir_str_to_u64(WEIR_STR("184467440737095516150"), &u));
    assert_false(weir_str_to_u64(WEIR_STR("1\0"), &u));
    assert_false(weir_str_to_i64(WEIR_STR("9223372036854775808"), &i));
    assert_false(weir_str_to_i64(WEIR_STR("-9223372036854775809"), &i));
    assert_int_equal(u, 7); /* untouched so far */
    assert_int_equal(i, 7);
    assert_true(weir_str_to_u64(WEIR_STR("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
    assert_true(weir_str_to_u64(WEIR_STR("000000000000000000000000000012"), &u));
    assert_true(u == 12);
    assert_true(weir_str_to_i64(WEIR_STR("9223372036854775807"), &i));
    assert_true(i == INT64_MAX);
    assert_true(weir_str_to_i64(WEIR_STR("-9223372036854775808"), &i));
    assert_true(i == INT64_MIN);
    assert_true(weir_str_to_i64(WEIR_STR("-0"), &i));
    assert_true(i == 0);
}

static void whole_numbers_agree_with_libc(void **state)
{
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int n = 0; n < 20000; n++) {
        char text[40];
        uint64_t u = 0;
        int64_t i = 0;
        uint64_t value = weir_rng_next(&rng) >> weir_rng_below(&rng, 64);

        snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        assert_true(weir_str_to_u64(weir_str(text), &u) && u == value);
        snprintf(text, sizeof(text), "%lld", (long long)value);
        assert_true(weir_str_to_i64(weir_str(text), &i) && i == (int64_t)value);
    }
}

static void knows_utf8(void **state)
{
    static const char *const good[] = {
        "",
        "plain text longer than a word",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "1234567\xc3\xa4 8",
    };
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2\x41",
        "\xc2\xc2",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe2\x82",
        "\xe2\x82\x41",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xf8\x88\x80\x80\x80",
        "12345678\x80",
        "1234567\xe2",
        "\xf0\x90\x80",
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(good); i++)
        assert_true(weir_str_is_utf8(weir_str(good[i])));
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++)
        assert_false(weir_str_is_utf8(weir_str(bad[i])));
    assert_true(weir_str_is_utf8(WEIR_STR("a\0b")));
    /* Cut one byte short, exactly sized, so that reading on is seen. */
    for (size_t i = 2; i < WEIR_COUNT_OF(good); i++) {
        size_t len = strlen(good[i]);
        char *exact = malloc(len - 1);

        memcpy(exact, good[i], len - 1);
        assert_int_equal(weir_str_is_utf8(weir_str_n(exact, len - 1)),
                         i == WEIR_COUNT_OF(good) - 1);
        free(exact);
    }
}

/* Every code point there is, surrogates apart, is UTF-8 when encoded; no surrogate is. */
static void knows_every_code_point(void **state)
{
    (void)state;
    for (uint32_t code = 0x80; code <= 0x110000; code++) {
        char text[4];
        size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        bool valid = (code < 0xD800 || code > 0xDFFF) && code <= 0x10FFFF;

        for (size_t i = n - 1; i > 0; i--)
            text[i] = (char)(0x80 | (code >> (6 * (n - 1 - i)) & 0x3F));
        text[0] = (char)((0xF00 >> n & 0xFF) | code >> (6 * (n - 1)));
        if (weir_str_is_utf8(weir_str_n(text, n)) != valid)
            fail_msg("code point U+%04X", code);
    }
}

static void cuts_between_characters(void **state)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x9fz";
    static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};

    (void)state;
    for (size_t n = 0; n < WEIR_COUNT_OF(kept); n++)
        assert_int_equal(weir_str_cut(weir_str(text), n).len, kept[n]);
    assert_int_equal(weir_str_cut(weir_str(NULL), 0).len, 0);
    /* Not UTF-8: cut anywhere, but never beyond. */
    for (size_t n = 0; n <= 8; n++)
        assert_int_equal(weir_str_cut(WEIR_STR("\x80\x80\x80\x80\x80\x80\x80\x80"), n).len, n);
}

static void cutting_random_text_keeps_it_utf8(void **state)
{
    static const char *const pieces[] = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x9f"};
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int round = 0; round < 2000; round++) {
        char text[128] = "";
        struct weir_str cut;
        size_t n = weir_rng_below(&rng, 64);

        while (strlen(text) < 100)
            strcat(text, pieces[weir_rng_below(&rng, WEIR_COUNT_OF(pieces))]);
        cut = weir_str_cut(weir_str(text), n);
        assert_true(weir_str_is_utf8(cut));
        assert_true(cut.len <= n && n - cut.len < 4);
    }
}

static void duplicates(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    char *copy = weir_str_dup(WEIR_STR("a\0b"), &arena);

    (void)state;
    assert_memory_equal(copy, "a\0b", 4);
    assert_string_equal(weir_str_dup(weir_str(NULL), &arena), "");
    weir_arena_finish(&arena);
}

/* Optimal string alignment, written down as its definition says. */
static unsigned plain_distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned d[16][16];

    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            unsigned best = (unsigned)(i == 0 ? j : i);

            if (i > 0 && j > 0) {
                best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
                best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
                best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                    d[i - 2][j - 2] + 1 < best)
                    best = d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    return d[n][m];
}

static void distance_agrees_with_its_definition(void **state)
{
    struct weir_rng rng = random_numbers();

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char a[15];
        char b[15];
        size_t n = weir_rng_below(&rng, sizeof(a));
        size_t m = weir_rng_below(&rng, sizeof(b));
        unsigned limit = (unsigned)weir_rng_below(&rng, 8);
        unsigned d;

        for (size_t i = 0; i < n; i++)
            a[i] = (char)('a' + weir_rng_below(&rng, 3));
        for (size_t i = 0; i < m; i++)
            b[i] = (char)('a' + weir_rng_below(&rng, 3));
        d = plain_distance(a, n, b, m);
        assert_int_equal(weir_str_distance(weir_str_n(a, n), weir_str_n(b, m), limit),
                         d <= limit ? d : limit + 1);
    }
}

static void distance_has_its_edges(void **state)
{
    char longest[63];
    char longer[64];

    (void)state;
    memset(longest, 'x', sizeof(longest));
    memset(longer, 'x', sizeof(longer));
    assert_int_equal(weir_str_distance(WEIR_STR("gpu"), WEIR_STR("GPU"), 3), 0);
    assert_int_equal(weir_str_distance(WEIR_STR("gpu"), WEIR_STR("gup"), 3), 1);
    /* Optimal string alignment edits no part twice: 3, where free transposition would say 2. */
    assert_int_equal(weir_str_distance(WEIR_STR("ca"), WEIR_STR("abc"), 5), 3);
    assert_int_equal(weir_str_distance(WEIR_STR(""), WEIR_STR("abc"), 5), 3);
    assert_int_equal(weir_str_distance(weir_str(NULL), weir_str(NULL), 5), 0);
    assert_int_equal(weir_str_distance(weir_str_n(longest, 63), weir_str_n(longest, 60), 5), 3);
    /* Over the longest only the same text is near. */
    assert_int_equal(weir_str_distance(weir_str_n(longer, 64), weir_str_n(longer, 64), 5), 0);
    assert_int_equal(weir_str_distance(weir_str_n(longer, 64), weir_str_n(longest, 63), 5), 6);
}

static void finds_the_nearest_name(void **state)
{
    struct weir_str names[] = {WEIR_STR("queue"),     WEIR_STR("priority"), WEIR_STR("gpus"),
                               WEIR_STR("gpu-model"), WEIR_STR("name"),     WEIR_STR("x")};
    size_t n = WEIR_COUNT_OF(names);

    (void)state;
    assert_int_equal(weir_str_nearest(WEIR_STR("queu"), names, n), 0);
    assert_int_equal(weir_str_nearest(WEIR_STR("priorty"), names, n), 1);
    assert_int_equal(weir_str_nearest(WEIR_STR("GPUS"), names, n), 2);
    assert_int_equal(weir_str_nearest(WEIR_STR("gpu"), names, n), 2);
    assert_int_equal(weir_str_nearest(WEIR_STR("gpu_modle"), names, n), 3);
    assert_int_equal(weir_str_nearest(WEIR_STR("frobnicate"), names, n), -1);
    /* One letter is "near" every other letter: no help. */
    assert_int_equal(weir_str_nearest(WEIR_STR("y"), names, n), -1);
    assert_int_equal(weir_str_nearest(WEIR_STR(""), names, n), -1);
    assert_int_equal(weir_str_nearest(WEIR_STR("queue"), names, 0), -1);
    /* Equally near: the first. */
    assert_int_equal(weir_str_nearest(WEIR_STR("nape"),
                                      (struct weir_str[]){WEIR_STR("nate"), WEIR_STR("name")}, 2),
                     0);
}

static void formats_into_a_room(void **state)
{
    char room[6];

    (void)state;
    assert_ptr_equal(weir_str_format(room, sizeof(room), "%d%s", 12, "ab"), room);
    assert_string_equal(room, "12ab");
    assert_string_equal(weir_str_format(room, sizeof(room), "%s", "too long"), "too l");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compares),
        cmocka_unit_test(constant_time_comparison_is_a_comparison),
        cmocka_unit_test(cuts_and_trims),
        cmocka_unit_test(finds),
        cmocka_unit_test(splits),
        cmocka_unit_test(reads_whole_numbers_strictly),
        cmocka_unit_test(whole_numbers_agree_with_libc),
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(knows_every_code_point),
        cmocka_unit_test(cuts_between_characters),
        cmocka_unit_test(cutting_random_text_keeps_it_utf8),
        cmocka_unit_test(duplicates),
        cmocka_unit_test(distance_agrees_with_its_definition),
        cmocka_unit_test(distance_has_its_edges),
        cmocka_unit_test(formats_into_a_room),
        cmocka_unit_test(finds_the_nearest_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void short_text_is_shown_as_it_is(void **state)
{
    char shown[WEIR_STR_SHOW_MAX];

    (void)state;
    assert_string_equal(weir_str_show(WEIR_STR("größe/a b"), shown), "größe/a b");
    assert_string_equal(weir_str_show(weir_str_n(NULL, 0), shown), "");
}

static void what_would_break_the_line_is_replaced(void **state)
{
    char shown[WEIR_STR_SHOW_MAX];

    (void)state;
    assert_string_equal(weir_str_show(WEIR_STR("a\nb\tc\0d\x7F\xC2\x85"), shown), "a?b?c?d??");
    assert_string_equal(weir_str_show(WEIR_STR("\xFF\xC3"), shown), "??");
}

static void long_text_is_cut_between_characters(void **state)
{
    char shown[WEIR_STR_SHOW_MAX];
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(text); i += 2)
        memcpy(text + i, "\xC3\xA4", 2);
    weir_str_show(weir_str_n(text, sizeof(text)), shown);
    assert_int_equal(strlen(shown), 63);
    assert_true(weir_str_is_utf8(weir_str(shown)));
    assert_true(weir_str_ends_with(weir_str(shown), WEIR_STR("\xC3\xA4...")));
    /* One byte further on, no whole character fits the last byte. */
    weir_str_show(weir_str_n(text + 1, sizeof(text) - 1), shown);
    assert_int_equal(strlen(shown), 62);
    assert_true(weir_str_is_utf8(weir_str(shown)));
}

static void text_that_just_fits_is_whole(void **state)
{
    char shown[WEIR_STR_SHOW_MAX];
    char text[WEIR_STR_SHOW_MAX];

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(strlen(weir_str_show(weir_str_n(text, 60), shown)), 60);
    assert_int_equal(shown[59], 'x');
    assert_string_equal(weir_str_show(weir_str_n(text, 61), shown) + 60, "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_text_is_shown_as_it_is),
        cmocka_unit_test(what_would_break_the_line_is_replaced),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(text_that_just_fits_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

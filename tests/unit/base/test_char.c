#include "../support.h"

#include "base/char.h"

#include <ctype.h>

/* The C library, in its "C" locale, is the other opinion. */
static void agrees_with_the_c_locale(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        char c = (char)i;

        assert_int_equal(weir_char_is_digit(c), isdigit(i) != 0);
        assert_int_equal(weir_char_is_letter(c), isalpha(i) != 0);
        assert_int_equal((unsigned char)weir_char_lower(c), tolower(i));
        assert_int_equal(weir_char_hex(c) >= 0, isxdigit(i) != 0);
    }
}

static void hex_digits_have_their_values(void **state)
{
    static const char digits[] = "0123456789abcdefABCDEF";

    (void)state;
    for (int i = 0; i < 22; i++)
        assert_int_equal(weir_char_hex(digits[i]), i < 16 ? i : i - 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_c_locale),
        cmocka_unit_test(hex_digits_have_their_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/count.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void measures_one_sequence(void **state)
{
    static const struct {
        struct weir_str text;
        size_t length;
    } cases[] = {
        {{NULL, 0}, 0},
        {{"", 0}, 0},
        {{"ab", 2}, 1},
        {{"\0", 1}, 1},
        {{"\x7F", 1}, 1},
        {{"\x80", 1}, 0},
        {{"\xC1\xBF", 2}, 0},
        {{"\xC2\x80z", 3}, 2},
        {{"\xDF\xBF", 2}, 2},
        {{"\xC3", 1}, 0},
        {{"\xC3z", 2}, 0},
        {{"\xE0\x9F\xBF", 3}, 0},
        {{"\xE0\xA0\x80", 3}, 3},
        {{"\xED\x9F\xBF", 3}, 3},
        {{"\xED\xA0\x80", 3}, 0},
        {{"\xEF\xBF\xBFz", 4}, 3},
        {{"\xEF\xBF", 2}, 0},
        {{"\xF0\x8F\xBF\xBF", 4}, 0},
        {{"\xF0\x90\x80\x80", 4}, 4},
        {{"\xF4\x8F\xBF\xBF", 4}, 4},
        {{"\xF4\x90\x80\x80", 4}, 0},
        {{"\xF5\x80\x80\x80", 4}, 0},
        {{"\xF0\x90\x80", 3}, 0},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++)
        assert_int_equal(weir_str_utf8_length(cases[i].text), cases[i].length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measures_one_sequence)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

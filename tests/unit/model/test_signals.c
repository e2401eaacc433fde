#include "base/count.h"
#include "model/signals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void tells_what_a_status_says(void **state)
{
    static const struct {
        int status;
        const char *text;
    } cases[] = {{0, "exit 0"},
                 {3, "exit 3"},
                 {128, "exit 128"},
                 {130, "killed by signal 2 (INT)"},
                 {137, "killed by signal 9 (KILL)"},
                 {162, "killed by signal 34"},
                 {192, "killed by signal 64"},
                 {193, "exit 193"},
                 {255, "exit 255"}};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        char text[WEIR_STATUS_TEXT_MAX];

        assert_string_equal(weir_status_text(cases[i].status, text), cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells_what_a_status_says)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

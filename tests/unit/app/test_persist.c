/* What the store is told of a workload's devices. */
#include "app/persist.c"
#include "base/count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void keys_are_told_apart_whole(void **state)
{
    static const struct {
        const char *grants[3];
        const char *keys;
    } cases[] = {
        {{"n#10:1000:5:0", "n#1:1000:5:0", "n#0:1:2:3"}, "n#10,n#1,n#0"},
        {{"n#1:1000:5:0,n#2:500:5:0", "n#2:500:5:0,n#12:1:1:1", ""}, "n#1,n#2,n#12"},
        {{"an#1:1000:5:0", "n#1:1000:5:0", "n#1:1000:5:0"}, "an#1,n#1"},
        {{"", "", "n:1:1:1"}, "n"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_buf gpus = WEIR_BUF_INIT(1000);

        for (size_t k = 0; k < 3; k++)
            add_keys(weir_str(cases[i].grants[k]), &gpus);
        assert_true(weir_str_eq_c(weir_buf_view(&gpus), cases[i].keys));
        weir_buf_finish(&gpus);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_are_told_apart_whole)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

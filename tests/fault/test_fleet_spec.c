#include "model/fleet_spec.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_allocation_may_fail(void **state)
{
    uint64_t n;

    (void)state;
    for (n = 0;; n++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_fleet fleet = {NULL, NULL, 77, 0};
        struct weir_err err = WEIR_ERR_INIT;
        int rc;

        weir_mem_fail(n, 1);
        rc = weir_fleet_parse(WEIR_STR("16x64xH100+4xL40S"), 1, &arena, &fleet, &err);
        weir_mem_fail(0, 0);
        weir_arena_finish(&arena);
        if (rc == 0)
            break;
        assert_int_equal(rc, WEIR_E_NO_MEMORY);
        assert_int_equal(err.code, WEIR_E_NO_MEMORY);
        assert_int_equal(fleet.n_nodes, 77);
    }
    assert_true(n >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

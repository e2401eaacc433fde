/* The n-th allocation fails: of what reads simulated fleets and their faults. */
#include "edge/nvml/sim_file.h"

#include "base/arena.h"
#include "base/err.h"

#include "../unit/edge/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault.h"

static int read_file(void *arg)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_sim_plan plan = {.n_orders = 77};
    struct weir_err err = WEIR_ERR_INIT;
    int rc = weir_sim_file_read(weir_str(arg), 1, &arena, &plan, &err);

    assert_int_equal(err.code, rc);
    assert_int_equal(plan.n_orders, rc == 0 ? 60 : 77);
    weir_arena_finish(&arena);
    return rc;
}

static void a_fleet_file_is_read_whole_or_not(void **state)
{
    char path[PATH_MAX];
    FILE *file;

    (void)state;
    snprintf(path, sizeof(path), "%s", temp_path("f.yaml"));
    file = fopen(path, "we");
    fputs("nodes:\n- {name: a, count: 60, gpus: [2xH100, L4], faults: [gpu 2 lost]}\n", file);
    fclose(file);
    assert_true(fail_each_allocation(read_file, path) >= 4);
}

static int parse_orders(void *arg)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_sim_order *orders = NULL;
    size_t n = 0;
    int rc = weir_sim_orders_parse(weir_str(arg), &arena, &orders, &n, NULL);

    assert_int_equal(n, rc == 0 ? 3 : 0);
    weir_arena_finish(&arena);
    return rc;
}

static void faults_are_read_whole_or_not(void **state)
{
    char text[] = "at 3s gpu 0 lost\nat 2s gpu 0 xid 13\ndriver reload";

    (void)state;
    assert_true(fail_each_allocation(parse_orders, text) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fleet_file_is_read_whole_or_not, temp_dir_make,
                                        temp_dir_remove),
        cmocka_unit_test(faults_are_read_whole_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

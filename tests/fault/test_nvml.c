/* The n-th allocation fails: of the simulated fleet's writer, and of the adapter that reads it. */
#include "edge/nvml/nvml.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"

#include "../unit/edge/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static int install(struct weir_sim_fleet **fleet, struct weir_err *err)
{
    return weir_sim_install(temp_dir, WEIR_STR("2x8xH100"), 1, fleet, err);
}

static void install_fails_whole(void **state)
{
    struct weir_sim_fleet *fleet = NULL;
    uint64_t n;

    (void)state;
    for (n = 0;; n++) {
        struct weir_err err = WEIR_ERR_INIT;
        int rc;

        weir_mem_fail(n, 1);
        rc = install(&fleet, &err);
        weir_mem_fail(0, 0);
        if (rc == 0)
            break;
        assert_int_equal(rc, WEIR_E_NO_MEMORY);
        assert_int_equal(err.code, WEIR_E_NO_MEMORY);
        assert_null(fleet);
        /* Nothing of the attempt is left to lock out the next one. */
        assert_int_equal(access(temp_path(WEIR_SIM_FLEET_PATH), F_OK), -1);
    }
    assert_true(n >= 3);
    assert_int_equal(weir_sim_fleet_size(fleet), 16);
    weir_sim_fleet_close(fleet);
}

/* Opens, lists twice and asks for processes. Returns the first failure. */
static int use_adapter(struct weir_arena *arena, struct weir_err *err)
{
    struct weir_nvml *nvml = NULL;
    struct weir_nvml_device *devices = NULL;
    struct weir_nvml_process *processes = NULL;
    uint32_t n_devices = 0;
    uint32_t n = 0;
    int rc = weir_nvml_open(temp_path(WEIR_SIM_LIBRARY_PATH), &nvml, err);

    if (rc == 0)
        rc = weir_nvml_list(nvml, arena, &devices, &n_devices, err);
    if (rc == 0)
        rc = weir_nvml_list(nvml, arena, &devices, &n_devices, err);
    if (rc == 0)
        rc = weir_nvml_processes(nvml, devices[1].uuid, arena, &processes, &n, err);
    if (rc == 0) {
        assert_int_equal(n_devices, 16);
        assert_int_equal(n, WEIR_SIM_PROCESSES_MAX);
    }
    weir_nvml_close(nvml);
    return rc;
}

static void the_adapter_fails_cleanly(void **state)
{
    struct weir_sim_fleet *fleet = NULL;
    unsigned n_failed = 0;
    uint64_t n_needed;
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    assert_int_equal(install(&fleet, NULL), 0);
    for (uint32_t pid = 1; pid <= WEIR_SIM_PROCESSES_MAX; pid++)
        assert_int_equal(weir_sim_fleet_set_process(fleet, 1, pid, 1, NULL), 0);
    weir_mem_fail(0, 0);
    assert_int_equal(use_adapter(&arena, NULL), 0);
    n_needed = weir_mem_count();
    weir_arena_finish(&arena);
    assert_true(n_needed >= 6);
    for (uint64_t n = 0; n < n_needed; n++) {
        struct weir_err err = WEIR_ERR_INIT;
        int rc;

        weir_mem_fail(n, 1);
        rc = use_adapter(&arena, &err);
        weir_mem_fail(0, 0);
        weir_arena_finish(&arena);
        /* Memory of earlier readings is a help, not a need: those failures do not show. */
        assert_true(rc == 0 || (rc == WEIR_E_NO_MEMORY && err.code == WEIR_E_NO_MEMORY));
        n_failed += rc != 0;
    }
    assert_true(n_failed >= 4);
    weir_sim_fleet_close(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(install_fails_whole, temp_dir_make, temp_dir_remove),
        cmocka_unit_test_setup_teardown(the_adapter_fails_cleanly, temp_dir_make, temp_dir_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The n-th allocation fails: of the simulated fleet's writer, and of the adapter that reads it. */
#include "edge/nvml/nvml.h"
#include "edge/nvml/prober.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"

#include "../support/sim_process.h"
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

/* Opens, reads all there is twice and waits for an event. Returns the first failure. */
static int use_adapter(struct weir_arena *arena, struct weir_err *err)
{
    struct weir_nvml *nvml = NULL;
    struct weir_nvml_meter *meter = NULL;
    struct weir_nvml_events *events = NULL;
    struct weir_nvml_health health;
    struct weir_gpu_device device = {.index = 0};
    struct weir_gpu_sample sample = {.n_processes = 0};
    uint32_t n_devices = 0;
    uint32_t generation = 0;
    int rc = weir_nvml_open(temp_path(WEIR_SIM_LIBRARY_PATH), &nvml, err);

    if (rc == 0)
        rc = weir_nvml_count(nvml, NULL, NULL, &n_devices, &generation, err);
    if (rc == 0) {
        meter = weir_nvml_meter_create(nvml);
        rc = meter != NULL ? 0 : weir_error(err, WEIR_E_NO_MEMORY, "no memory for a meter");
    }
    for (int i = 0; rc == 0 && i < 2; i++) {
        rc = weir_nvml_read_facts(nvml, 1, arena, &device, err);
        if (rc == 0)
            rc = weir_nvml_read_sample(nvml, 1, meter, arena, &sample, &health, err);
        usleep(i == 0 ? 110000 : 0); /* else there is nothing to meter */
    }
    if (rc == 0)
        rc = weir_nvml_events_open(nvml, n_devices, NULL, &events, err);
    if (rc == 0) {
        assert_int_equal(n_devices, 16);
        assert_int_equal(sample.n_processes, WEIR_SIM_PROCESSES_MAX);
    }
    weir_nvml_events_close(events, false);
    weir_nvml_meter_destroy(meter);
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
        assert_int_equal(sim_set_process(fleet, 1, pid, 1, NULL), 0);
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

/* Opens, asks for a change of MIG, collects and lists. Returns the first failure. */
static int use_prober(struct weir_arena *arena, struct weir_err *err)
{
    const struct weir_prober_options options = {.sample_ms = 5,
                                                .facts_ms = 10,
                                                .slow_ms = 1000,
                                                .deadline_ms = 5000,
                                                .change_ms = 5000,
                                                .open_ms = 5000,
                                                .first_ms = 50,
                                                .event_wait_ms = 5};
    const struct weir_gpu_sink nobody = {NULL, NULL, NULL};
    struct weir_gpu_mig_request request = {.action = WEIR_GPU_MIG_ENABLE};
    struct weir_prober *prober = NULL;
    struct weir_gpu_device *devices = NULL;
    uint64_t ticket = 0;
    uint32_t n = 0;
    int rc = weir_prober_open(temp_path(WEIR_SIM_LIBRARY_PATH), &options, &prober, err);

    if (rc == 0)
        rc = weir_prober_list(prober, arena, &devices, &n, err);
    if (rc == 0) {
        assert_in_range(n, 1, 16);
        request.uuid = devices[0].uuid;
        rc = weir_prober_mig(prober, &request, &ticket, err);
    }
    if (rc == 0) {
        weir_prober_collect(prober, &nobody);
        rc = weir_prober_list(prober, arena, &devices, &n, err);
    }
    weir_prober_close(prober);
    return rc;
}

static void the_prober_fails_cleanly(void **state)
{
    struct weir_sim_fleet *fleet = NULL;
    unsigned n_failed = 0;
    uint64_t n_needed;
    struct weir_arena arena = WEIR_ARENA_INIT;

    (void)state;
    assert_int_equal(install(&fleet, NULL), 0);
    weir_mem_fail(0, 0);
    assert_int_equal(use_prober(&arena, NULL), 0);
    n_needed = weir_mem_count();
    weir_arena_finish(&arena);
    assert_true(n_needed >= 7);
    for (uint64_t n = 0; n < n_needed; n++) {
        struct weir_err err = WEIR_ERR_INIT;
        int rc;

        weir_mem_fail(n, 1);
        rc = use_prober(&arena, &err);
        weir_mem_fail(0, 0);
        weir_arena_finish(&arena);
        /* A reading that could not be kept is followed by another one. */
        assert_true(rc == 0 || (rc == WEIR_E_NO_MEMORY && err.code == WEIR_E_NO_MEMORY));
        n_failed += rc != 0;
    }
    assert_true(n_failed >= 5);
    weir_sim_fleet_close(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(install_fails_whole, temp_dir_make, temp_dir_remove),
        cmocka_unit_test_setup_teardown(the_adapter_fails_cleanly, temp_dir_make, temp_dir_remove),
        cmocka_unit_test_setup_teardown(the_prober_fails_cleanly, temp_dir_make, temp_dir_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

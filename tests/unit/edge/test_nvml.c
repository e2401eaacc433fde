/* The adapter, on the simulated driver and on drivers that are odd (odd_nvml.c). */
#include "../support.h"

#include "base/count.h"
#include "edge/nvml/nvml.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"

#include "../../support/sim_process.h"
#include "temp_dir.h"

static struct weir_sim_fleet *fleet;
static struct weir_nvml *nvml;
static struct weir_nvml_meter *meter;
static struct weir_arena arena = WEIR_ARENA_INIT;
static struct weir_gpu_device devices[16];
static struct weir_gpu_sample sample;
static struct weir_nvml_health health;
static const struct weir_gpu_process *processes;
static uint32_t n;
static uint32_t generation;

static void open_sim(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_sim_install(temp_dir, weir_str(spec), 1, &fleet, &err) < 0)
        fail_msg("install '%s': %s", spec, err.text);
    if (nvml == NULL && weir_nvml_open(temp_path(WEIR_SIM_LIBRARY_PATH), &nvml, &err) < 0)
        fail_msg("open: %s", err.text);
}

/* The odd libraries lie beside this program. */
static const char *odd_path(const char *variant)
{
    static char path[PATH_MAX + 64];
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(len > 0);
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(path, sizeof(path), "%s/libodd-nvml-%s.so", self, variant);
    return path;
}

static void open_odd(const char *variant)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_nvml_open(odd_path(variant), &nvml, &err) < 0)
        fail_msg("open %s: %s", variant, err.text);
}

static int set_up(void **state)
{
    return temp_dir_make(state);
}

static int tear_down(void **state)
{
    meter = weir_nvml_meter_destroy(meter);
    nvml = weir_nvml_close(nvml);
    fleet = weir_sim_fleet_close(fleet);
    weir_arena_finish(&arena);
    return temp_dir_remove(state);
}

static void list(void)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_nvml_count(nvml, NULL, NULL, &n, &generation, &err) < 0)
        fail_msg("count: %s", err.text);
    assert_in_range(n, 0, WEIR_COUNT_OF(devices));
    for (uint32_t i = 0; i < n; i++)
        if (weir_nvml_read_facts(nvml, i, &arena, &devices[i], &err) < 0)
            fail_msg("facts of %u: %s", i, err.text);
}

static void read_sample(uint32_t index)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (meter == NULL)
        meter = weir_nvml_meter_create(nvml);
    assert_non_null(meter);
    if (weir_nvml_read_sample(nvml, index, meter, &arena, &sample, &health, &err) < 0)
        fail_msg("sample of %u: %s", index, err.text);
}

static void list_processes(uint32_t index)
{
    read_sample(index);
    assert_true(sample.has_processes);
    processes = sample.processes;
    n = sample.n_processes;
}

static void assert_text(struct weir_str text, const char *wanted)
{
    if (!weir_str_eq_c(text, wanted))
        fail_msg("'%.*s', not '%s'", WEIR_STR_ARG(text), wanted);
}

/* What the simulated driver tells of a GPU with MIG. */
enum {
    ALWAYS = WEIR_GPU_HAS_MEMORY | WEIR_GPU_HAS_MEMORY_RESERVED | WEIR_GPU_HAS_PCI |
             WEIR_GPU_HAS_MIG_MODE | WEIR_GPU_HAS_COMPUTE_CAPABILITY | WEIR_GPU_HAS_MINOR
};

static void lists_a_simulated_fleet(void **state)
{
    (void)state;
    open_sim("2x2xH100+L40S");
    assert_string_equal(weir_nvml_driver_version(nvml), "570.133.20");
    assert_int_equal(sim_set_process(fleet, 3, 1, 5 * WEIR_GIB, NULL), 0);
    list();
    assert_int_equal(n, 5);
    for (uint32_t i = 0; i < n; i++) {
        const struct weir_sim_facts *facts = weir_sim_fleet_facts(fleet, i);

        assert_int_equal(devices[i].index, i);
        assert_int_equal(devices[i].state, WEIR_GPU_READY);
        assert_text(devices[i].uuid, facts->uuid);
        assert_text(devices[i].name, facts->name);
        assert_text(devices[i].serial, facts->serial);
        assert_int_equal(devices[i].memory_total_bytes, facts->memory_total_bytes);
        assert_int_equal(devices[i].memory_reserved_bytes, facts->memory_reserved_bytes);
        read_sample(i);
        assert_true(weir_gpu_has_metric(&sample.metrics, WEIR_GPU_MEMORY_USED_BYTES));
        assert_int_equal(sample.metrics.of[WEIR_GPU_MEMORY_USED_BYTES], i == 3 ? 5 * WEIR_GIB : 0);
        assert_int_equal(devices[i].minor, i);
    }
    assert_text(devices[0].node, "sim-1");
    assert_text(devices[4].node, "sim-3");
    assert_text(devices[3].pci, "0001:0b:00.0");
    assert_int_equal(devices[3].pci_id, 0x10de2330);
    assert_int_equal(devices[4].compute_major, 8);
    assert_int_equal(devices[4].compute_minor, 9);
    assert_int_equal(devices[0].valid & ALWAYS, ALWAYS);
    assert_int_equal(devices[4].valid & ALWAYS, ALWAYS & ~WEIR_GPU_HAS_MIG_MODE);
    assert_false(devices[0].mig_mode);
}

static void lists_processes_once_each(void **state)
{
    struct weir_sim_state load;

    (void)state;
    open_sim("2xH100");
    list();
    list_processes(0);
    assert_int_equal(n, 0);
    weir_sim_fleet_read(fleet, 0, &load);
    load.n_loads = WEIR_SIM_PROCESSES_MAX;
    for (uint32_t i = 0; i < load.n_loads; i++)
        load.loads[i] = (struct weir_sim_load){
            .pid = 1000 - i,
            .kind = i % 2 == 0 ? WEIR_SIM_COMPUTE : WEIR_SIM_GRAPHICS,
            .memory_bytes = i,
            .gpu_instance = WEIR_NVML_NO_INSTANCE,
            .compute_instance = WEIR_NVML_NO_INSTANCE,
        };
    assert_int_equal(weir_sim_fleet_write(fleet, 0, &load, NULL), 0);
    list_processes(0);
    assert_int_equal(n, WEIR_SIM_PROCESSES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(processes[i].pid, 1001 - WEIR_SIM_PROCESSES_MAX + i);
        assert_true(processes[i].valid & WEIR_GPU_PROCESS_HAS_MEMORY);
        assert_int_equal(processes[i].used_bytes, 1000 - processes[i].pid);
        assert_int_equal(processes[i].kinds, processes[i].used_bytes % 2 == 0
                                                 ? WEIR_GPU_PROCESS_COMPUTE
                                                 : WEIR_GPU_PROCESS_GRAPHICS);
        assert_int_equal(processes[i].gpu_instance, WEIR_GPU_NO_INSTANCE);
    }
    list_processes(1);
    assert_int_equal(n, 0);
}

static void says_when_a_device_is_not_there(void **state)
{
    struct weir_gpu_mig_result result = {.ticket = 7};
    const struct weir_gpu_mig_request request = {.uuid = WEIR_STR("GPU-none"),
                                                 .action = WEIR_GPU_MIG_ENABLE};

    (void)state;
    open_sim("H100");
    read_sample(5);
    assert_int_equal(health.state, WEIR_GPU_UNREADABLE);
    assert_string_not_equal(health.cause, "");
    weir_nvml_change_mig(nvml, &request, &result);
    assert_int_equal(result.err.code, WEIR_E_NOT_FOUND);
    assert_int_equal(result.ticket, 7);
    assert_non_null(strstr(result.err.text, "GPU-none: find the GPU"));
}

static void set_health(uint32_t index, uint32_t wanted)
{
    struct weir_sim_state load;

    weir_sim_fleet_read(fleet, index, &load);
    load.health = wanted;
    assert_int_equal(weir_sim_fleet_write(fleet, index, &load, NULL), 0);
}

static void a_lost_gpu_is_a_state(void **state)
{
    (void)state;
    open_sim("3xH100");
    set_health(1, WEIR_SIM_LOST);
    list();
    assert_int_equal(n, 3);
    assert_int_equal(devices[0].state, WEIR_GPU_READY);
    assert_int_equal(devices[1].state, WEIR_GPU_LOST);
    assert_text(devices[1].cause, "GPU is lost");
    read_sample(1);
    assert_int_equal(health.state, WEIR_GPU_LOST);
    assert_string_equal(health.cause, "GPU is lost");
    assert_false(sample.has_processes);
    assert_false(weir_gpu_has_metric(&sample.metrics, WEIR_GPU_MEMORY_USED_BYTES));

    set_health(1, WEIR_SIM_OK);
    list();
    assert_int_equal(devices[1].state, WEIR_GPU_READY);
    read_sample(1);
    assert_int_equal(health.state, WEIR_GPU_READY);
    assert_true(weir_gpu_has_metric(&sample.metrics, WEIR_GPU_MEMORY_USED_BYTES));
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void goes_on_after_the_driver_was_reloaded(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t before;
    int n_reloads = 0;

    (void)state;
    open_sim("3xH100");
    list();
    assert_int_equal(n, 3);
    before = generation;
    fleet = weir_sim_fleet_close(fleet);
    open_sim("2xH200");
    read_sample(0);
    assert_int_equal(health.state, WEIR_GPU_UNREADABLE);
    assert_int_equal(weir_nvml_count(nvml, count_call, &n_reloads, &n, &generation, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(n_reloads, 1);
    assert_int_equal(generation, before + 1);
    weir_nvml_meter_forget(meter);
    list();
    assert_text(devices[0].name, "NVIDIA H200");

    /* Gone for good: an error each time, until it is back. */
    fleet = weir_sim_fleet_close(fleet);
    open_sim("H100");
    fleet = weir_sim_fleet_close(fleet);
    assert_int_equal(rename(temp_path(WEIR_SIM_FLEET_PATH), temp_path("away")), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(weir_nvml_count(nvml, NULL, NULL, &n, &generation, &err),
                         WEIR_E_UNAVAILABLE);
        assert_non_null(strstr(err.text, "Driver Not Loaded"));
        assert_non_null(strstr(err.hint, "modprobe"));
    }
    assert_int_equal(rename(temp_path("away"), temp_path(WEIR_SIM_FLEET_PATH)), 0);
    list();
    assert_int_equal(n, 1);
}

static void refuses_what_is_no_driver(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_nvml_open(temp_path("none.so"), &nvml, &err), WEIR_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "none.so"));
    assert_non_null(strstr(err.hint, "simulated fleet"));
    assert_int_equal(weir_nvml_open(odd_path("foreign"), &nvml, &err), WEIR_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "lacks nvmlInit_v2"));
    assert_int_equal(weir_nvml_open(odd_path("unloaded"), &nvml, &err), WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.hint, "modprobe"));
    assert_int_equal(weir_nvml_open(odd_path("unloaded"), &nvml, NULL), WEIR_E_UNAVAILABLE);
    assert_null(nvml);
}

static void a_driver_without_gpus_lists_none(void **state)
{
    (void)state;
    open_odd("empty");
    assert_string_equal(weir_nvml_driver_version(nvml), "");
    list();
    assert_int_equal(n, 0);
}

static void takes_the_oldest_forms(void **state)
{
    (void)state;
    open_odd("old");
    list();
    assert_int_equal(n, 1);
    assert_int_equal(devices[0].valid, WEIR_GPU_HAS_PCI | WEIR_GPU_HAS_MEMORY);
    assert_int_equal(devices[0].limits.valid, 0);
    assert_text(devices[0].uuid, "GPU-1");
    assert_text(devices[0].node, "");
    assert_text(devices[0].pci, "0001:65:02.0");
    assert_int_equal(devices[0].pci_id, 0x10de1eb8);
    assert_int_equal(devices[0].memory_total_bytes, 16000);
    list_processes(0);
    assert_int_equal(sample.metrics.of[WEIR_GPU_MEMORY_USED_BYTES], 4000);
    assert_int_equal(sample.metrics.valid[0], UINT64_C(1) << WEIR_GPU_MEMORY_USED_BYTES);
    assert_int_equal(sample.metrics.valid[1], 0);
    assert_int_equal(n, 2);
    assert_int_equal(processes[0].pid, 11);
    assert_int_equal(processes[0].used_bytes, 1100);
    assert_int_equal(processes[1].pid, 12);
    assert_int_equal(processes[1].used_bytes, 1300);
    assert_int_equal(processes[1].kinds, WEIR_GPU_PROCESS_COMPUTE | WEIR_GPU_PROCESS_GRAPHICS);
    assert_int_equal(processes[1].gpu_instance, WEIR_GPU_NO_INSTANCE);
}

static void asks_again_while_the_list_grows(void **state)
{
    (void)state;
    open_odd("middle");
    list();
    assert_false(devices[0].valid & WEIR_GPU_HAS_MEMORY_RESERVED);
    list_processes(0);
    assert_int_equal(n, 70);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(processes[i].pid, 1000 - 69 + i);
        assert_int_equal(processes[i].used_bytes, 69 - i);
        assert_int_equal(processes[i].gpu_instance, 3);
        assert_int_equal(processes[i].compute_instance, 4);
    }
}

static void avoids_the_wide_records_of_driver_535(void **state)
{
    (void)state;
    open_odd("wide");
    list_processes(0);
    assert_int_equal(n, 2);
    assert_int_equal(processes[0].pid, 21);
    assert_int_equal(processes[1].pid, 22);
    assert_int_equal(processes[1].used_bytes, 2200);
}

static void survives_a_strange_driver(void **state)
{
    (void)state;
    open_odd("strange");
    assert_int_equal(strlen(weir_nvml_driver_version(nvml)), WEIR_NVML_VERSION_BYTES - 1);
    list();
    assert_int_equal(devices[0].name.len, WEIR_NVML_NAME_BYTES);
    assert_text(devices[0].serial, "");
    assert_int_equal(devices[0].memory_total_bytes, 16000);
    list_processes(0);
    assert_int_equal(n, 1);
    assert_int_equal(processes[0].pid, 31);
    assert_false(processes[0].valid & WEIR_GPU_PROCESS_HAS_MEMORY);
    assert_int_equal(processes[0].used_bytes, 0);
}

static void sees_a_gpu_go_between_two_questions(void **state)
{
    (void)state;
    open_odd("dying");
    list();
    assert_int_equal(n, 1);
    assert_int_equal(devices[0].state, WEIR_GPU_LOST);
    assert_text(devices[0].uuid, "GPU-1");
    assert_int_equal(devices[0].valid, 0);
    read_sample(0);
    assert_int_equal(health.state, WEIR_GPU_LOST);
    assert_false(sample.has_processes);
}

static void a_driver_that_can_nothing_leaves_everything_open(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_nvml_events *events = NULL;
    struct weir_gpu_mig_result result = {.ticket = 1};

    (void)state;
    open_odd("plain");
    list();
    assert_int_equal(devices[0].state, WEIR_GPU_READY);
    assert_int_equal(devices[0].valid, 0);
    assert_int_equal(devices[0].limits.valid, 0);
    for (int i = 0; i < 2; i++) {
        read_sample(0);
        assert_int_equal(health.state, WEIR_GPU_READY);
        assert_int_equal(sample.metrics.valid[0], 0);
        assert_int_equal(sample.metrics.valid[1], 0);
        assert_false(sample.has_processes);
    }
    assert_int_equal(weir_nvml_events_open(nvml, 1, NULL, &events, &err), WEIR_E_UNSUPPORTED);
    for (int action = 0; action <= WEIR_GPU_MIG_ACTION_MAX; action++) {
        const struct weir_gpu_mig_request request = {.uuid = WEIR_STR("GPU-1"),
                                                     .action = (enum weir_gpu_mig_action)action};

        weir_nvml_change_mig(nvml, &request, &result);
        assert_int_equal(result.err.code,
                         action < WEIR_GPU_MIG_ACTION_MAX ? WEIR_E_UNSUPPORTED : WEIR_E_INVALID);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lists_a_simulated_fleet),
        TEST(lists_processes_once_each),
        TEST(says_when_a_device_is_not_there),
        TEST(a_lost_gpu_is_a_state),
        TEST(goes_on_after_the_driver_was_reloaded),
        TEST(refuses_what_is_no_driver),
        TEST(a_driver_without_gpus_lists_none),
        TEST(takes_the_oldest_forms),
        TEST(asks_again_while_the_list_grows),
        TEST(avoids_the_wide_records_of_driver_535),
        TEST(survives_a_strange_driver),
        TEST(sees_a_gpu_go_between_two_questions),
        TEST(a_driver_that_can_nothing_leaves_everything_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

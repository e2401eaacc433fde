/* What the adapter makes of the answers of a driver (rig_nvml.c): values, MIG, GPM and events. */
#include "rig_load.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/units.h"
#include "edge/nvml/nvml.h"

static struct weir_nvml *nvml;
static struct weir_nvml_meter *meter;
static struct weir_arena arena = WEIR_ARENA_INIT;
static struct weir_gpu_device device;
static struct weir_gpu_sample sample;
static struct weir_nvml_health health;
static struct weir_gpu_mig_result result;

static int set_up(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    rig_reset(3);
    if (weir_nvml_open(rig_path(), &nvml, &err) < 0)
        fail_msg("%s", err.text);
    meter = weir_nvml_meter_create(nvml);
    assert_non_null(meter);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    meter = weir_nvml_meter_destroy(meter);
    nvml = weir_nvml_close(nvml);
    weir_arena_finish(&arena);
    assert_int_equal(rig_get(&rig->n_gpm_samples), 0);
    assert_int_equal(rig_get(&rig->n_event_sets), 0);
    return 0;
}

static void read_facts(uint32_t index)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_nvml_read_facts(nvml, index, &arena, &device, &err) < 0)
        fail_msg("%s", err.text);
}

static void read_sample(uint32_t index)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_nvml_read_sample(nvml, index, meter, &arena, &sample, &health, &err) < 0)
        fail_msg("%s", err.text);
}

static bool has(enum weir_gpu_metric metric)
{
    return weir_gpu_has_metric(&sample.metrics, metric);
}

static void assert_metric(enum weir_gpu_metric metric, int64_t wanted)
{
    assert_true(has(metric));
    assert_int_equal(sample.metrics.of[metric], wanted);
}

static void assert_limit(enum weir_gpu_limit limit, int64_t wanted)
{
    assert_true(weir_gpu_has_limit(&device.limits, limit));
    assert_int_equal(device.limits.of[limit], wanted);
}

static void assert_text(struct weir_str text, const char *wanted)
{
    if (!weir_str_eq_c(text, wanted))
        fail_msg("'%.*s', not '%s'", WEIR_STR_ARG(text), wanted);
}

static void facts_are_what_the_driver_says(void **state)
{
    (void)state;
    read_facts(1);
    assert_int_equal(device.state, WEIR_GPU_READY);
    assert_text(device.uuid, "GPU-0-1");
    assert_text(device.class, "h100-sxm");
    assert_text(device.pci, "0000:02:00.0");
    assert_true(device.valid & WEIR_GPU_HAS_NUMA);
    assert_int_equal(device.numa_node, 65);
    assert_false(device.valid & (WEIR_GPU_HAS_COMPUTE_MODE | WEIR_GPU_HAS_MINOR |
                                 WEIR_GPU_HAS_COMPUTE_CAPABILITY));
    assert_limit(WEIR_GPU_POWER_LIMIT_MW, 700000);
    assert_limit(WEIR_GPU_POWER_LIMIT_MIN_MW, 200000);
    assert_limit(WEIR_GPU_POWER_LIMIT_MAX_MW, 700000);
    assert_limit(WEIR_GPU_SHUTDOWN_C, 90);
    assert_limit(WEIR_GPU_MEMORY_MAX_C, 92);
    assert_false(weir_gpu_has_limit(&device.limits, WEIR_GPU_OPERATING_MAX_C));
    assert_false(weir_gpu_has_limit(&device.limits, WEIR_GPU_POWER_LIMIT_DEFAULT_MW));
    assert_int_equal(device.n_links, 3);
    assert_int_equal(device.links[0].kind, WEIR_GPU_LINK_TO_SWITCH);
    assert_int_equal(device.links[2].kind, WEIR_GPU_LINK_TO_GPU);
    assert_true(device.links[0].is_active);
    assert_false(device.links[1].is_active);
    assert_text(device.links[2].peer_pci, "0001:12:00.0");
    read_facts(0);
    assert_int_equal(device.numa_node, 1);
}

static void a_sample_holds_what_was_told_and_nothing_else(void **state)
{
    (void)state;
    read_sample(0);
    assert_int_equal(health.state, WEIR_GPU_READY);
    assert_metric(WEIR_GPU_MEMORY_USED_BYTES, 9000);
    assert_metric(WEIR_GPU_UTILIZATION_PERCENT, 40);
    assert_metric(WEIR_GPU_MEMORY_TEMPERATURE_C, -5);
    assert_metric(WEIR_GPU_ENERGY_MJ, INT64_C(1) << 40);
    assert_metric(WEIR_GPU_POWER_AVERAGE_MW, 123);
    assert_metric(WEIR_GPU_POWER_MW, 111000);  /* the field value is no number */
    assert_metric(WEIR_GPU_TEMPERATURE_C, 50); /* the newer function refuses its version */
    assert_metric(WEIR_GPU_RECOVERY_ACTION, WEIR_NVML_RECOVERY_DRAIN_AND_RESET);
    assert_metric(WEIR_GPU_NVLINK_SENT_BYTES, 3 * 1024);
    assert_metric(WEIR_GPU_VIOLATION_POWER_NS, 77);
    assert_metric(WEIR_GPU_RETIREMENT_PENDING, 1);
    assert_metric(WEIR_GPU_REMAPPED_CORRECTABLE, 1);
    assert_metric(WEIR_GPU_REMAPPED_UNCORRECTABLE, 2);
    assert_metric(WEIR_GPU_REMAP_PENDING, 1);
    assert_metric(WEIR_GPU_REMAP_FAILED, 0);
    assert_metric(WEIR_GPU_PERFORMANCE_STATE, 2);
    assert_false(has(WEIR_GPU_NVLINK_RECEIVED_BYTES));
    assert_false(has(WEIR_GPU_NVLINK_REPLAY_ERRORS));
    assert_false(has(WEIR_GPU_RETIRED_PAGES_CORRECTABLE));
    assert_false(has(WEIR_GPU_ECC_CORRECTED_ERRORS));
    assert_false(has(WEIR_GPU_FAN_PERCENT));
    assert_false(has(WEIR_GPU_SM_ACTIVE_PPM)); /* it takes two */
    read_sample(1);
    assert_false(has(WEIR_GPU_PERFORMANCE_STATE)); /* "unknown" is none */
}

static void processes_have_their_share_where_it_is_told(void **state)
{
    (void)state;
    read_sample(0);
    assert_true(sample.has_processes);
    assert_int_equal(sample.n_processes, 2);
    assert_int_equal(sample.processes[0].pid, 100);
    assert_int_equal(sample.processes[0].valid,
                     WEIR_GPU_PROCESS_HAS_MEMORY | WEIR_GPU_PROCESS_HAS_SM);
    assert_int_equal(sample.processes[0].sm_percent, 100); /* 129, says the driver */
    assert_int_equal(sample.processes[1].sm_percent, 0);   /* not named: idle */
    read_sample(1);                                        /* all idle */
    assert_int_equal(sample.processes[0].sm_percent, 0);
    assert_true(sample.processes[0].valid & WEIR_GPU_PROCESS_HAS_SM);
    read_sample(2); /* may not be known */
    assert_false(sample.processes[0].valid & WEIR_GPU_PROCESS_HAS_SM);
}

static void performance_metrics_take_two_samples(void **state)
{
    (void)state;
    read_sample(0);
    read_sample(0); /* too soon */
    assert_false(has(WEIR_GPU_SM_ACTIVE_PPM));
    assert_metric(WEIR_GPU_PCIE_SENT_BYTES_S, 100 * 1024);
    assert_metric(WEIR_GPU_PCIE_RECEIVED_BYTES_S, 101 * 1024);
    for (int i = 0; i < 2; i++) {
        usleep(110000);
        read_sample(0);
        assert_metric(WEIR_GPU_SM_ACTIVE_PPM, 125000);
        assert_metric(WEIR_GPU_DRAM_ACTIVE_PPM, 125000);
        assert_metric(WEIR_GPU_PCIE_SENT_BYTES_S, 12 * 1048576 + 524288);
        assert_metric(WEIR_GPU_NVLINK_SENT_BYTES_S, 12 * 1048576 + 524288);
        assert_false(has(WEIR_GPU_FP64_ACTIVE_PPM)); /* no number */
        assert_false(has(WEIR_GPU_FP16_ACTIVE_PPM)); /* not supported */
    }
    assert_int_equal(rig_get(&rig->n_gpm_samples), 2);
}

static void an_older_gpu_has_no_performance_metrics(void **state)
{
    (void)state;
    rig_do(rig->devices[0].has_gpm = false);
    read_sample(0);
    usleep(110000);
    read_sample(0);
    assert_false(has(WEIR_GPU_SM_ACTIVE_PPM));
    assert_int_equal(rig_get(&rig->n_gpm_samples), 0);
}

static void a_gpu_in_need_of_a_reset_is_a_state(void **state)
{
    (void)state;
    rig_do(rig->devices[0].result = WEIR_NVML_RESET_REQUIRED);
    read_facts(0);
    assert_int_equal(device.state, WEIR_GPU_RESET_REQUIRED);
    assert_text(device.cause, "GPU requires reset");
    read_sample(0);
    assert_int_equal(health.state, WEIR_GPU_RESET_REQUIRED);
    rig_do(rig->devices[0].result = WEIR_NVML_UNKNOWN);
    read_facts(0);
    assert_int_equal(device.state, WEIR_GPU_UNREADABLE);
    assert_int_equal(device.uuid.len, 0);
}

/* ---- MIG ---- */

static void change(uint32_t index, enum weir_gpu_mig_action action, int32_t start, uint32_t gi)
{
    char uuid[32];
    const struct weir_gpu_mig_request request = {
        .uuid = weir_str(weir_str_format(uuid, sizeof(uuid), "GPU-0-%u", index)),
        .action = action,
        .profile_id = 19,
        .start = start,
        .size = 1,
        .gpu_instance = gi};

    weir_nvml_change_mig(nvml, &request, &result);
}

static void profiles_are_the_devices_own(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) { /* version 2, 1 and 3 of the answer */
        read_facts(i);
        assert_true(device.valid & WEIR_GPU_HAS_PROFILES);
        assert_false(device.valid & WEIR_GPU_HAS_INSTANCES);
        assert_int_equal(device.n_profiles, 1);
        assert_int_equal(device.profiles[0].id, 19);
        assert_int_equal(device.profiles[0].slices, 1);
        assert_int_equal(device.profiles[0].instances_max, 4);
        assert_int_equal(device.profiles[0].n_multiprocessors, 16);
        assert_int_equal(device.profiles[0].memory_bytes, 10 * WEIR_GIB);
        assert_text(device.profiles[0].name, i == 1 ? "" : "1g.10gb");
        assert_int_equal(device.profiles[0].n_placements, 4);
        assert_int_equal(device.profiles[0].placements[3].start, 3);
        assert_int_equal(device.profiles[0].placements[3].size, 1);
    }
}

static void instances_are_made_read_and_destroyed(void **state)
{
    (void)state;
    change(0, WEIR_GPU_MIG_ENABLE, 0, 0);
    assert_int_equal(result.err.code, 0);
    assert_false(result.needs_reset);
    change(0, WEIR_GPU_MIG_CREATE, WEIR_GPU_ANY_PLACE, 0);
    assert_int_equal(result.err.code, 0);
    assert_int_equal(result.gpu_instance, 0);
    assert_int_equal(result.placement.start, 6);
    change(0, WEIR_GPU_MIG_CREATE, 2, 0);
    assert_int_equal(result.err.code, 0);
    assert_int_equal(result.gpu_instance, 1);
    assert_int_equal(result.placement.start, 2);
    read_facts(0);
    assert_true(device.mig_mode);
    assert_int_equal(device.n_instances, 2);
    assert_int_equal(device.instances[1].id, 1);
    assert_int_equal(device.instances[1].profile_id, 19);
    assert_int_equal(device.instances[1].placement.start, 2);
    assert_int_equal(device.instances[1].n_compute, 1);
    assert_text(device.instances[1].compute[0].uuid, "MIG-0-1");
    change(0, WEIR_GPU_MIG_DESTROY, 0, 0);
    assert_int_equal(result.err.code, 0);
    read_facts(0);
    assert_int_equal(device.n_instances, 1);
    change(0, WEIR_GPU_MIG_DESTROY, 0, 0);
    assert_int_equal(result.err.code, WEIR_E_NOT_FOUND);
}

static bool instance_has_gpm(void)
{
    read_sample(0);
    assert_int_equal(sample.n_instances, 1);
    assert_int_equal(sample.instances[0].gpu_instance, 0);
    return weir_gpu_has_metric(&sample.instances[0].metrics, WEIR_GPU_SM_ACTIVE_PPM);
}

/* The counts of the one say nothing of the other. */
static void a_new_instance_with_an_old_number_is_metered_anew(void **state)
{
    (void)state;
    rig_do(rig->devices[0].has_gpm = true);
    change(0, WEIR_GPU_MIG_ENABLE, 0, 0);
    change(0, WEIR_GPU_MIG_CREATE, 1, 0);
    assert_false(instance_has_gpm());
    usleep(110000);
    assert_true(instance_has_gpm());
    change(0, WEIR_GPU_MIG_DESTROY, 0, 0);
    read_sample(0);
    assert_int_equal(sample.n_instances, 0);
    change(0, WEIR_GPU_MIG_CREATE, 2, 0);
    assert_int_equal(result.gpu_instance, 0);
    usleep(110000);
    assert_false(instance_has_gpm());
    usleep(110000);
    assert_true(instance_has_gpm());
}

static void who_may_not_list_instances_sees_mig_devices(void **state)
{
    (void)state;
    change(0, WEIR_GPU_MIG_ENABLE, 0, 0);
    change(0, WEIR_GPU_MIG_CREATE, 2, 0);
    change(0, WEIR_GPU_MIG_CREATE, 3, 0);
    rig_do(rig->devices[0].list_result = WEIR_NVML_NO_PERMISSION);
    read_facts(0);
    assert_false(device.valid & WEIR_GPU_HAS_INSTANCES);
    assert_int_equal(device.n_instances, 2);
    assert_int_equal(device.instances[1].id, 1);
    assert_int_equal(device.instances[1].profile_id, WEIR_GPU_UNKNOWN_PROFILE);
    assert_int_equal(device.instances[1].placement.size, 0);
    assert_int_equal(device.instances[1].n_compute, 1);
    assert_text(device.instances[1].compute[0].uuid, "MIG-0-1");
}

static void instances_have_samples_of_their_own(void **state)
{
    (void)state;
    change(0, WEIR_GPU_MIG_ENABLE, 0, 0);
    change(0, WEIR_GPU_MIG_CREATE, 2, 0);
    change(0, WEIR_GPU_MIG_CREATE, 3, 0);
    read_sample(0);
    usleep(110000);
    read_sample(0);
    assert_int_equal(sample.n_instances, 2);
    assert_int_equal(sample.instances[1].gpu_instance, 1);
    assert_int_equal(sample.instances[1].memory_total_bytes, 10000);
    assert_true(weir_gpu_has_metric(&sample.instances[1].metrics, WEIR_GPU_MEMORY_USED_BYTES));
    assert_true(weir_gpu_has_metric(&sample.instances[1].metrics, WEIR_GPU_SM_ACTIVE_PPM));
    assert_false(weir_gpu_has_metric(&sample.instances[1].metrics, WEIR_GPU_POWER_MW));
    /* NVML does not say what a process does there. */
    assert_false(sample.processes[0].valid & WEIR_GPU_PROCESS_HAS_SM);
}

static void what_mig_refuses_is_said(void **state)
{
    (void)state;
    rig_do(rig->devices[0].mig_activation = WEIR_NVML_RESET_REQUIRED);
    change(0, WEIR_GPU_MIG_ENABLE, 0, 0);
    assert_int_equal(result.err.code, 0);
    assert_true(result.needs_reset);
    rig_do(rig->devices[0].mig_activation = WEIR_NVML_IN_USE);
    change(0, WEIR_GPU_MIG_ENABLE, 0, 0);
    assert_int_equal(result.err.code, WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(result.err.text, "GPU-0-0: turn MIG on"));
    assert_non_null(strstr(result.err.hint, "uses it"));

    rig_do(rig->devices[0].create_result = WEIR_NVML_INSUFFICIENT_RESOURCES);
    change(0, WEIR_GPU_MIG_CREATE, 1, 0);
    assert_int_equal(result.err.code, WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(result.err.hint, "take the place"));
    rig_do(rig->devices[0].create_result = WEIR_NVML_NO_PERMISSION);
    change(0, WEIR_GPU_MIG_CREATE, 1, 0);
    assert_int_equal(result.err.code, WEIR_E_DENIED);
    assert_non_null(strstr(result.err.hint, "root"));

    /* Half of it is taken back. */
    rig_do(rig->devices[0].create_result = 0);
    rig_do(rig->devices[0].compute_result = WEIR_NVML_INSUFFICIENT_RESOURCES);
    change(0, WEIR_GPU_MIG_CREATE, 1, 0);
    assert_int_equal(result.err.code, WEIR_E_UNAVAILABLE);
    assert_false(rig->devices[0].instances[0].is_there);

    rig_do(rig->devices[0].compute_result = 0);
    change(0, WEIR_GPU_MIG_CREATE, 1, 0);
    rig_do(rig->devices[0].destroy_result = WEIR_NVML_IN_USE);
    change(0, WEIR_GPU_MIG_DESTROY, 0, 0);
    assert_int_equal(result.err.code, WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(result.err.text, "destroy GPU instance 0"));
    assert_true(rig->devices[0].instances[0].has_compute);
    /* All of it or nothing: half of it would serve nobody. */
    rig_do((rig->devices[0].destroy_result = 0, rig->devices[0].free_result = WEIR_NVML_IN_USE));
    change(0, WEIR_GPU_MIG_DESTROY, 0, 0);
    assert_int_equal(result.err.code, WEIR_E_UNAVAILABLE);
    assert_true(rig->devices[0].instances[0].is_there);
    assert_true(rig->devices[0].instances[0].has_compute);
    rig_do(rig->devices[0].result = WEIR_NVML_GPU_IS_LOST);
    change(0, WEIR_GPU_MIG_DESTROY, 0, 0);
    assert_int_equal(result.err.code, WEIR_E_UNAVAILABLE);
}

/* ---- events ---- */

static void add_event(unsigned index, uint64_t data, uint32_t gi)
{
    pthread_mutex_lock(&rig->lock);
    assert_true(rig->n_events < RIG_EVENTS_MAX);
    rig->events[rig->n_events] =
        (struct weir_nvml_event_data){NULL, WEIR_NVML_EVENT_XID, data, gi, gi};
    rig->event_devices[rig->n_events++] = index;
    pthread_mutex_unlock(&rig->lock);
}

static void events_name_the_gpu_and_the_instance(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_nvml_events *events = NULL;
    struct weir_gpu_event event;
    bool is_broken;

    (void)state;
    rig_do(rig->devices[2].result = WEIR_NVML_GPU_IS_LOST); /* it is left out */
    assert_int_equal(weir_nvml_events_open(nvml, 3, NULL, &events, &err), 0);
    assert_false(weir_nvml_events_wait(events, 1, &event, &is_broken));
    assert_false(is_broken);
    add_event(1, 79, WEIR_NVML_NO_INSTANCE);
    add_event(0, 94, 3);
    assert_true(weir_nvml_events_wait(events, 1000, &event, &is_broken));
    assert_string_equal(event.uuid, "GPU-0-1");
    assert_int_equal(event.type, WEIR_NVML_EVENT_XID);
    assert_int_equal(event.data, 79);
    assert_int_equal(event.gpu_instance, WEIR_GPU_NO_INSTANCE);
    assert_true(weir_nvml_events_wait(events, 1000, &event, &is_broken));
    assert_string_equal(event.uuid, "GPU-0-0");
    assert_int_equal(event.gpu_instance, 3);
    assert_int_equal(event.compute_instance, 3);
    rig_do(rig->wait_result = WEIR_NVML_UNKNOWN);
    assert_false(weir_nvml_events_wait(events, 1000, &event, &is_broken));
    assert_true(is_broken);
    weir_nvml_events_close(events, false);
}

static void without_a_gpu_that_tells_there_are_no_events(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_nvml_events *events = NULL;

    (void)state;
    rig_do(rig->devices[0].result = WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(weir_nvml_events_open(nvml, 1, NULL, &events, &err), WEIR_E_UNSUPPORTED);
    assert_null(events);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(facts_are_what_the_driver_says),
        TEST(a_sample_holds_what_was_told_and_nothing_else),
        TEST(processes_have_their_share_where_it_is_told),
        TEST(performance_metrics_take_two_samples),
        TEST(an_older_gpu_has_no_performance_metrics),
        TEST(a_gpu_in_need_of_a_reset_is_a_state),
        TEST(profiles_are_the_devices_own),
        TEST(instances_are_made_read_and_destroyed),
        TEST(a_new_instance_with_an_old_number_is_metered_anew),
        TEST(who_may_not_list_instances_sees_mig_devices),
        TEST(instances_have_samples_of_their_own),
        TEST(what_mig_refuses_is_said),
        TEST(events_name_the_gpu_and_the_instance),
        TEST(without_a_gpu_that_tells_there_are_no_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

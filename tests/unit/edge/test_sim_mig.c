/* MIG on the simulated driver: modes, profiles, placements, instances, and what clients see of
 * them. */
#include "base/units.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/sim_process.h"
#include "sim_rig.h"

enum { ID_1G = 19, ID_1G_ME = 20, ID_1G_DOUBLE = 15, ID_2G = 14, ID_3G = 9, ID_4G = 5, ID_7G = 0 };

static int set_up(void **state)
{
    return sim_rig_open(state, "2xH100+A30+L40S");
}

static void enable(unsigned index)
{
    int activation = 77;

    assert_int_equal(sim.DeviceSetMigMode(handle(index), WEIR_NVML_MIG_ENABLE, &activation), 0);
    assert_int_equal(activation, 0);
}

static int create(unsigned index, unsigned profile, uint32_t start, uint32_t size,
                  struct weir_nvml_gi_handle **ret)
{
    struct weir_nvml_placement placement = {start, size};

    return sim.DeviceCreateGpuInstanceWithPlacement(handle(index), profile, &placement, ret);
}

static void modes_change_where_nobody_uses_the_gpu(void **state)
{
    unsigned current = 7;
    unsigned pending = 7;
    int activation = 77;

    (void)state;
    assert_int_equal(sim.DeviceSetMigMode(handle(3), 1, &activation), WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.DeviceSetMigMode(handle(0), 2, &activation), WEIR_NVML_INVALID_ARGUMENT);
    enable(0);
    assert_int_equal(sim.DeviceGetMigMode(handle(0), &current, &pending), 0);
    assert_int_equal(current, 1);
    assert_int_equal(pending, 1);
    /* A GPU in use gets its mode with the next reset. */
    assert_int_equal(sim_set_process(fleet, 1, 4, 1, NULL), 0);
    assert_int_equal(sim.DeviceSetMigMode(handle(1), 1, &activation), 0);
    assert_int_equal(activation, WEIR_NVML_IN_USE);
    assert_int_equal(sim.DeviceGetMigMode(handle(1), &current, &pending), 0);
    assert_int_equal(current, 0);
    assert_int_equal(pending, 1);
    assert_int_equal(
        weir_sim_fleet_fault(fleet, 1, &(struct weir_sim_fault){.kind = WEIR_SIM_FAULT_RECOVERED},
                             weir_clock_mono_ms(), NULL),
        0);
    assert_int_equal(sim.DeviceGetMigMode(handle(1), &current, &pending), 0);
    assert_int_equal(current, 1);
    /* In MIG mode nothing runs outside of an instance. */
    assert_int_equal(sim_set_process(fleet, 1, 4, 1, NULL), WEIR_E_INVALID);
}

static void tells_profiles_in_each_version(void **state)
{
    struct weir_nvml_gi_profile_info_v1 v1;
    struct weir_nvml_gi_profile_info_v2 v2 = {.version = WEIR_NVML_STRUCT_VERSION(v2, 2)};
    struct weir_nvml_gi_profile_info_v3 v3 = {.version = WEIR_NVML_STRUCT_VERSION(v3, 3)};

    (void)state;
    assert_int_equal(
        sim.DeviceGetGpuInstanceProfileInfo(handle(0), WEIR_NVML_GI_PROFILE_3_SLICE, &v1), 0);
    assert_int_equal(v1.id, ID_3G);
    assert_int_equal(v1.slices, 3);
    assert_int_equal(v1.instances, 2);
    assert_int_equal(v1.multiprocessors, 60);
    assert_int_equal(v1.memory_mib, 40448);
    assert_int_equal(
        sim.DeviceGetGpuInstanceProfileInfoV(handle(0), WEIR_NVML_GI_PROFILE_1_SLICE_REV2, &v2), 0);
    assert_int_equal(v2.id, ID_1G_DOUBLE);
    assert_string_equal(v2.name, "MIG 1g.20gb");
    assert_int_equal(
        sim.DeviceGetGpuInstanceProfileInfoV(handle(0), WEIR_NVML_GI_PROFILE_1_SLICE_REV1, &v3), 0);
    assert_int_equal(v3.id, ID_1G_ME);
    assert_string_equal(v3.name, "MIG 1g.10gb+me");
    v3.version = 1;
    assert_int_equal(sim.DeviceGetGpuInstanceProfileInfoV(handle(0), WEIR_NVML_GI_PROFILE_1_SLICE,
                                                          &v3),
                     WEIR_NVML_ARGUMENT_VERSION_MISMATCH);
    assert_int_equal(sim.DeviceGetGpuInstanceProfileInfo(handle(0), WEIR_NVML_GI_PROFILE_8_SLICE,
                                                         &v1),
                     WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.DeviceGetGpuInstanceProfileInfo(handle(0), WEIR_NVML_GI_PROFILE_COUNT,
                                                         &v1),
                     WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(
        sim.DeviceGetGpuInstanceProfileInfo(handle(2), WEIR_NVML_GI_PROFILE_4_SLICE, &v1), 0);
    assert_int_equal(v1.memory_mib, 24064);
    assert_int_equal(sim.DeviceGetGpuInstanceProfileInfo(handle(3), WEIR_NVML_GI_PROFILE_1_SLICE,
                                                         &v1),
                     WEIR_NVML_NOT_SUPPORTED);
}

static void placements_are_the_catalogues(void **state)
{
    struct weir_nvml_placement places[8];
    unsigned n = 0;

    (void)state;
    assert_int_equal(sim.DeviceGetGpuInstancePossiblePlacements_v2(handle(0), ID_3G, NULL, &n),
                     WEIR_NVML_NOT_SUPPORTED);
    enable(0);
    assert_int_equal(sim.DeviceGetGpuInstancePossiblePlacements_v2(handle(0), ID_3G, NULL, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(sim.DeviceGetGpuInstancePossiblePlacements_v2(handle(0), ID_3G, places, &n),
                     0);
    assert_int_equal(places[1].start, 4);
    assert_int_equal(places[1].size, 4);
    n = 3;
    assert_int_equal(sim.DeviceGetGpuInstancePossiblePlacements_v2(handle(0), ID_1G, places, &n),
                     WEIR_NVML_INSUFFICIENT_SIZE);
    assert_int_equal(n, 7);
    assert_int_equal(sim.DeviceGetGpuInstancePossiblePlacements_v2(handle(0), 77, places, &n),
                     WEIR_NVML_INVALID_ARGUMENT);
}

static unsigned capacity(unsigned index, unsigned profile)
{
    unsigned n = 99;

    assert_int_equal(sim.DeviceGetGpuInstanceRemainingCapacity(handle(index), profile, &n), 0);
    return n;
}

static void instances_fit_where_there_is_room(void **state)
{
    struct weir_nvml_gi_handle *three = NULL;
    struct weir_nvml_gi_handle *one = NULL;
    struct weir_nvml_gi_handle *all[8];
    struct weir_nvml_gi_info info;
    unsigned n = 0;

    (void)state;
    assert_int_equal(sim.DeviceCreateGpuInstance(handle(0), ID_3G, &three),
                     WEIR_NVML_NOT_SUPPORTED);
    enable(0);
    assert_int_equal(capacity(0, ID_1G), 7);
    assert_int_equal(capacity(0, ID_1G_DOUBLE), 4);
    assert_int_equal(create(0, ID_3G, 4, 4, &three), 0);
    assert_int_equal(sim.GpuInstanceGetInfo(three, &info), 0);
    assert_int_equal(info.profile_id, ID_3G);
    assert_int_equal(info.placement.start, 4);
    assert_ptr_equal(info.device, handle(0));
    assert_int_equal(capacity(0, ID_3G), 1);
    assert_int_equal(capacity(0, ID_1G), 4);
    assert_int_equal(capacity(0, ID_7G), 0);
    assert_int_equal(create(0, ID_1G, 5, 1, &one), WEIR_NVML_INSUFFICIENT_RESOURCES);
    assert_int_equal(create(0, ID_1G, 7, 1, &one), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(create(0, ID_1G, 0, 2, &one), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(create(0, ID_1G, 255, 1, &one), WEIR_NVML_INVALID_ARGUMENT);
    assert_null(one);
    assert_int_equal(sim.DeviceCreateGpuInstance(handle(0), ID_4G, &one), 0);
    assert_int_equal(capacity(0, ID_1G), 0);
    assert_int_equal(sim.DeviceGetGpuInstances(handle(0), ID_4G, all, &n), 0);
    assert_int_equal(n, 1);
    assert_ptr_equal(all[0], one);
    assert_int_equal(sim.DeviceGetGpuInstances(handle(0), ID_1G, all, &n), 0);
    assert_int_equal(n, 0);
    /* The mode stays as long as there are instances. */
    assert_int_equal(sim.DeviceSetMigMode(handle(0), 0, &(int){0}), WEIR_NVML_IN_USE);
    assert_int_equal(sim.GpuInstanceDestroy(one), 0);
    assert_int_equal(sim.GpuInstanceDestroy(one), WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim.GpuInstanceGetInfo(one, &info), WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim.GpuInstanceDestroy(three), 0);
    assert_int_equal(sim.DeviceSetMigMode(handle(0), 0, &(int){0}), 0);
    assert_int_equal(sim.GpuInstanceDestroy((struct weir_nvml_gi_handle *)&info),
                     WEIR_NVML_INVALID_ARGUMENT);
}

/* Seven small ones have seven ids, and only one has the media engines. */
static void seven_instances_fill_a_gpu(void **state)
{
    struct weir_nvml_gi_handle *instances[7];
    struct weir_nvml_gi_info info;
    unsigned seen = 0;

    (void)state;
    enable(1);
    assert_int_equal(sim.DeviceCreateGpuInstance(handle(1), ID_1G_ME, &instances[0]), 0);
    assert_int_equal(sim.DeviceCreateGpuInstance(handle(1), ID_1G_ME, &instances[1]),
                     WEIR_NVML_INSUFFICIENT_RESOURCES);
    for (int i = 1; i < 7; i++)
        assert_int_equal(sim.DeviceCreateGpuInstance(handle(1), ID_1G, &instances[i]), 0);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(sim.GpuInstanceGetInfo(instances[i], &info), 0);
        assert_in_range(info.id, 7, 14);
        seen |= 1u << info.id;
    }
    assert_int_equal(__builtin_popcount(seen), 7);
    assert_int_equal(sim.DeviceCreateGpuInstance(handle(1), ID_1G, &instances[0]),
                     WEIR_NVML_INSUFFICIENT_RESOURCES);
}

static gpu make_device(unsigned index, unsigned profile, uint32_t start, uint32_t size,
                       unsigned compute_profile, struct weir_nvml_gi_handle **gi,
                       struct weir_nvml_ci_handle **ci)
{
    gpu mig = NULL;

    assert_int_equal(create(index, profile, start, size, gi), 0);
    assert_int_equal(sim.GpuInstanceCreateComputeInstance(*gi, compute_profile, ci), 0);
    assert_int_equal(sim.DeviceGetMigDeviceHandleByIndex(handle(index), 0, &mig), 0);
    return mig;
}

static void a_compute_instance_is_a_device(void **state)
{
    struct weir_nvml_memory_v2 memory = {.version = WEIR_NVML_STRUCT_VERSION(memory, 2)};
    struct weir_nvml_attributes attributes;
    struct weir_nvml_gi_handle *gi;
    struct weir_nvml_ci_handle *ci;
    struct weir_nvml_ci_info_v2 info;
    struct weir_nvml_process_v2 processes[4];
    struct weir_nvml_utilization utilization;
    struct weir_sim_load load = {.pid = 4711, .memory_bytes = 3 * WEIR_GIB};
    char text[96];
    char uuid[96];
    unsigned n = 0;
    gpu parent = NULL;
    gpu again = NULL;
    gpu mig;

    (void)state;
    enable(0);
    mig = make_device(0, ID_3G, 4, 4, WEIR_NVML_CI_PROFILE_3_SLICE, &gi, &ci);
    assert_int_equal(sim.DeviceIsMigDeviceHandle(mig, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(sim.DeviceIsMigDeviceHandle(handle(0), &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(sim.DeviceGetName(mig, text, sizeof(text)), 0);
    assert_string_equal(text, "NVIDIA H100 80GB HBM3 MIG 3g.40gb");
    assert_int_equal(sim.DeviceGetUUID(mig, uuid, sizeof(uuid)), 0);
    assert_int_equal(strncmp(uuid, "MIG-", 4), 0);
    assert_int_equal(strlen(uuid), 40);
    assert_int_equal(sim.DeviceGetHandleByUUID(uuid, &again), 0);
    assert_ptr_equal(again, mig);
    assert_int_equal(sim.DeviceGetHandleByUUID("MIG-none", &again), WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim.DeviceGetDeviceHandleFromMigDeviceHandle(mig, &parent), 0);
    assert_ptr_equal(parent, handle(0));
    assert_int_equal(sim.DeviceGetDeviceHandleFromMigDeviceHandle(parent, &again),
                     WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetAttributes_v2(mig, &attributes), 0);
    assert_int_equal(attributes.gi_slices, 3);
    assert_int_equal(attributes.ci_slices, 3);
    assert_int_equal(attributes.multiprocessors, 60);
    assert_int_equal(attributes.memory_mib, 40448);
    assert_int_equal(sim.ComputeInstanceGetInfo_v2(ci, &info), 0);
    assert_ptr_equal(info.gpu_instance, gi);
    assert_int_equal(info.profile_id, WEIR_NVML_CI_PROFILE_3_SLICE);

    assert_int_equal(sim.DeviceGetGpuInstanceId(mig, &load.gpu_instance), 0);
    assert_int_equal(sim.DeviceGetComputeInstanceId(mig, &load.compute_instance), 0);
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, weir_clock_mono_ms(), NULL), 0);
    assert_int_equal(sim.DeviceGetMemoryInfo_v2(mig, &memory), 0);
    assert_int_equal(memory.total, 40448 * WEIR_MIB);
    assert_int_equal(memory.used, 3 * WEIR_GIB);
    n = 4;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v3(mig, &n, processes), 0);
    assert_int_equal(n, 1);
    assert_int_equal(processes[0].pid, 4711);
    n = 4;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, processes), 0);
    assert_int_equal(n, 1);
    assert_int_equal(processes[0].gpu_instance, load.gpu_instance);
    assert_int_equal(sim.DeviceGetUtilizationRates(handle(0), &utilization),
                     WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.DeviceGetPowerUsage(mig, &n), WEIR_NVML_NOT_SUPPORTED);
    load.memory_bytes = 40 * WEIR_GIB;
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, weir_clock_mono_ms(), NULL),
                     WEIR_E_TOO_LARGE);
    load.gpu_instance = 2;
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, weir_clock_mono_ms(), NULL),
                     WEIR_E_INVALID);

    /* Nobody takes it away from under the process. */
    assert_int_equal(sim.ComputeInstanceDestroy(ci), WEIR_NVML_IN_USE);
    assert_int_equal(sim.GpuInstanceDestroy(gi), WEIR_NVML_IN_USE);
    assert_int_equal(weir_sim_fleet_remove_process(fleet, 0, 4711, NULL), 0);
    assert_int_equal(sim.GpuInstanceDestroy(gi), WEIR_NVML_IN_USE);
    assert_int_equal(sim.ComputeInstanceDestroy(ci), 0);
    assert_int_equal(sim.DeviceGetUUID(mig, text, sizeof(text)), WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim.GpuInstanceDestroy(gi), 0);

    /* At the same place it is called the same again. */
    mig = make_device(0, ID_3G, 4, 4, WEIR_NVML_CI_PROFILE_3_SLICE, &gi, &ci);
    assert_int_equal(sim.DeviceGetUUID(mig, text, sizeof(text)), 0);
    assert_string_equal(text, uuid);
}

static void compute_instances_divide_a_gpu_instance(void **state)
{
    struct weir_nvml_ci_profile_info_v1 info;
    struct weir_nvml_ci_handle *one;
    struct weir_nvml_ci_handle *two;
    struct weir_nvml_gi_handle *gi;
    gpu mig[8];
    char a[96];
    char b[96];

    (void)state;
    enable(0);
    assert_int_equal(create(0, ID_3G, 0, 4, &gi), 0);
    assert_int_equal(sim.GpuInstanceGetComputeInstanceProfileInfo(gi, WEIR_NVML_CI_PROFILE_1_SLICE,
                                                                  0, &info),
                     0);
    assert_int_equal(info.slices, 1);
    assert_int_equal(info.instances, 3);
    assert_int_equal(info.multiprocessors, 20);
    assert_int_equal(sim.GpuInstanceGetComputeInstanceProfileInfo(gi, WEIR_NVML_CI_PROFILE_4_SLICE,
                                                                  0, &info),
                     WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.GpuInstanceCreateComputeInstance(gi, WEIR_NVML_CI_PROFILE_2_SLICE, &two),
                     0);
    assert_int_equal(sim.GpuInstanceCreateComputeInstance(gi, WEIR_NVML_CI_PROFILE_2_SLICE, &one),
                     WEIR_NVML_INSUFFICIENT_RESOURCES);
    assert_int_equal(sim.GpuInstanceCreateComputeInstance(gi, WEIR_NVML_CI_PROFILE_1_SLICE, &one),
                     0);
    assert_int_equal(sim.DeviceGetMigDeviceHandleByIndex(handle(0), 0, &mig[0]), 0);
    assert_int_equal(sim.DeviceGetMigDeviceHandleByIndex(handle(0), 1, &mig[1]), 0);
    assert_int_equal(sim.DeviceGetMigDeviceHandleByIndex(handle(0), 2, &mig[2]),
                     WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim.DeviceGetMigDeviceHandleByIndex(handle(0), 7, &mig[2]),
                     WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetUUID(mig[0], a, sizeof(a)), 0);
    assert_int_equal(sim.DeviceGetUUID(mig[1], b, sizeof(b)), 0);
    assert_string_not_equal(a, b);
}

/* Several clients at once make what fits, and no more. */
static void *make_until_full(void *arg)
{
    struct weir_nvml_gi_handle *gi;
    int *made = arg;

    while (sim.DeviceCreateGpuInstance(handle(0), ID_1G, &gi) == 0)
        (*made)++;
    return NULL;
}

static void clients_that_race_make_seven(void **state)
{
    enum { CHILDREN = 3 };
    pid_t children[CHILDREN];
    pthread_t threads[2];
    int made[2] = {0, 0};
    int total = 0;

    (void)state;
    enable(0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            int n = 0;

            make_until_full(&n);
            _exit(n);
        }
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_until_full, &made[i]), 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        total += made[i];
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        total += WEXITSTATUS(status);
    }
    assert_int_equal(total, 7);
}

static void an_instance_has_gpm_of_its_own(void **state)
{
    union {
        struct weir_nvml_gpm_metrics call;
        char room[sizeof(struct weir_nvml_gpm_metrics) + 2 * sizeof(struct weir_nvml_gpm_metric)];
    } get = {.call = {.version = WEIR_NVML_GPM_VERSION, .n_metrics = 2}};
    struct weir_nvml_gpm_metric *metrics = get.call.metrics;
    int64_t now_ms = weir_clock_mono_ms();
    struct weir_nvml_gi_handle *gi;
    struct weir_nvml_ci_handle *ci;
    struct weir_sim_load load = {.pid = 9, .profile = WEIR_SIM_PROFILE_STEADY, .seed = 2};
    gpu mig;

    (void)state;
    enable(0);
    mig = make_device(0, ID_3G, 4, 4, WEIR_NVML_CI_PROFILE_3_SLICE, &gi, &ci);
    assert_int_equal(sim.DeviceGetGpuInstanceId(mig, &load.gpu_instance), 0);
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, now_ms, NULL), 0);
    assert_int_equal(sim.GpmSampleAlloc(&get.call.sample1), 0);
    assert_int_equal(sim.GpmSampleAlloc(&get.call.sample2), 0);
    sim.SimSetInstant(now_ms + 60000);
    assert_int_equal(sim.GpmMigSampleGet(handle(0), load.gpu_instance, get.call.sample1), 0);
    sim.SimSetInstant(now_ms + 61000);
    assert_int_equal(sim.GpmMigSampleGet(handle(0), load.gpu_instance, get.call.sample2), 0);
    metrics[0].id = WEIR_NVML_GPM_GRAPHICS;
    metrics[1].id = 9999;
    assert_int_equal(sim.GpmMetricsGet(&get.call), 0);
    assert_int_equal(metrics[0].result, 0);
    assert_true(metrics[0].value > 80 && metrics[0].value <= 100);
    assert_int_equal(metrics[1].result, WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.GpmMigSampleGet(handle(0), 0, get.call.sample1), WEIR_NVML_NOT_FOUND);
    sim.GpmSampleFree(get.call.sample1);
    sim.GpmSampleFree(get.call.sample2);
}

/* Whoever may not write the file may look, and no more. Root may all: then there is nothing to see.
 */
static void a_client_without_the_right_changes_nothing(void **state)
{
    int activation = 0;

    (void)state;
    assert_int_equal(chmod(temp_path(WEIR_SIM_FLEET_PATH), 0444), 0);
    if (geteuid() != 0) {
        assert_int_equal(sim.DeviceSetMigMode(handle(0), 1, &activation), WEIR_NVML_NO_PERMISSION);
        return;
    }
    if (fork() == 0) {
        int result = setgid(65534) == 0 && setuid(65534) == 0
                         ? sim.DeviceSetMigMode(handle(0), 1, &activation)
                         : -1;

        _exit(result == WEIR_NVML_NO_PERMISSION ? 0 : 1);
    }
    assert_true(wait(&activation) > 0);
    assert_int_equal(activation, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, sim_rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(modes_change_where_nobody_uses_the_gpu),
        TEST(tells_profiles_in_each_version),
        TEST(placements_are_the_catalogues),
        TEST(instances_fit_where_there_is_room),
        TEST(seven_instances_fill_a_gpu),
        TEST(a_compute_instance_is_a_device),
        TEST(compute_instances_divide_a_gpu_instance),
        TEST(clients_that_race_make_seven),
        TEST(an_instance_has_gpm_of_its_own),
        TEST(a_client_without_the_right_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The embedded library, installed and loaded as a client does it. */
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"

#include "../../support/sim_process.h"
#include "sim_api.h"
#include "temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct weir_sim_fleet *fleet;

static void install(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_sim_install(temp_dir, weir_str(spec), 1, &fleet, &err) < 0)
        fail_msg("install '%s': %s", spec, err.text);
}

static int set_up(void **state)
{
    if (temp_dir_make(state) != 0)
        return -1;
    install("2x2xH100+L40S");
    if (!sim_api_load(temp_path(WEIR_SIM_LIBRARY_PATH)))
        return -1;
    return sim.InitWithFlags(0);
}

static int tear_down(void **state)
{
    while (sim.Shutdown() == WEIR_NVML_SUCCESS)
        ;
    dlclose(sim.library);
    fleet = weir_sim_fleet_close(fleet);
    return temp_dir_remove(state);
}

static gpu handle(unsigned index)
{
    gpu device = NULL;

    assert_int_equal(sim.DeviceGetHandleByIndex_v2(index, &device), 0);
    assert_non_null(device);
    return device;
}

static void installs_the_library_once(void **state)
{
    struct stat first;
    struct stat second;
    int fd;

    (void)state;
    assert_int_equal(stat(temp_path(WEIR_SIM_LIBRARY_PATH), &first), 0);
    assert_int_equal(first.st_mode & 0777, 0755);
    fleet = weir_sim_fleet_close(fleet);
    install("2x2xH100+L40S");
    assert_int_equal(stat(temp_path(WEIR_SIM_LIBRARY_PATH), &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);

    /* A different one is replaced beside the old, which stays whole for whoever has it mapped. */
    fd = open(temp_path(WEIR_SIM_LIBRARY_PATH), O_WRONLY | O_CLOEXEC | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    fleet = weir_sim_fleet_close(fleet);
    install("2x2xH100+L40S");
    assert_int_equal(stat(temp_path(WEIR_SIM_LIBRARY_PATH), &second), 0);
    assert_int_not_equal(first.st_ino, second.st_ino);
    assert_int_equal(first.st_size, second.st_size);
}

static void says_why_it_cannot_be_installed(void **state)
{
    struct weir_sim_fleet *other = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    char long_dir[PATH_MAX + 10];

    (void)state;
    assert_int_equal(weir_sim_install(temp_path("none"), WEIR_STR("H100"), 1, &other, &err),
                     WEIR_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "none/lib"));
    memset(long_dir, 'a', sizeof(long_dir));
    long_dir[sizeof(long_dir) - 1] = '\0';
    assert_int_equal(weir_sim_install(long_dir, WEIR_STR("H100"), 1, &other, &err),
                     WEIR_E_TOO_LARGE);
    assert_int_equal(weir_sim_install(temp_dir, WEIR_STR("H100"), 1, &other, &err),
                     WEIR_E_UNAVAILABLE);
    assert_null(other);
}

static void counts_inits(void **state)
{
    unsigned n = 77;

    (void)state;
    assert_int_equal(sim.Init_v2(), 0);
    assert_int_equal(sim.Init(), 0);
    assert_int_equal(sim.Shutdown(), 0);
    assert_int_equal(sim.Shutdown(), 0);
    assert_int_equal(sim.DeviceGetCount_v2(&n), 0);
    assert_int_equal(n, 5);
    assert_int_equal(sim.Shutdown(), 0);
    assert_int_equal(sim.DeviceGetCount_v2(&n), WEIR_NVML_UNINITIALIZED);
    assert_int_equal(sim.Shutdown(), WEIR_NVML_UNINITIALIZED);
}

static void tells_versions_and_errors(void **state)
{
    char text[WEIR_NVML_VERSION_BYTES];
    int cuda = 0;

    (void)state;
    assert_int_equal(sim.SystemGetDriverVersion(text, sizeof(text)), 0);
    assert_string_equal(text, "570.133.20");
    assert_int_equal(sim.SystemGetNVMLVersion(text, sizeof(text)), 0);
    assert_string_equal(text, "12.570.133.20");
    assert_int_equal(sim.SystemGetNVMLVersion(text, 4), WEIR_NVML_INSUFFICIENT_SIZE);
    assert_int_equal(sim.SystemGetCudaDriverVersion(&cuda), 0);
    assert_int_equal(cuda, 12080);
    assert_string_equal(sim.ErrorString(0), "Success");
    assert_string_equal(sim.ErrorString(WEIR_NVML_GPU_IS_LOST), "GPU is lost");
    assert_string_equal(sim.ErrorString(4242), "Unknown Error");
    assert_int_equal(sim.SystemGetProcessName((unsigned)getpid(), text, sizeof(text)), 0);
    assert_non_null(strstr(text, "sim_library"));
    assert_int_equal(sim.SystemGetProcessName(0x7fffffff, text, sizeof(text)), WEIR_NVML_NOT_FOUND);
}

static void identifies_devices_in_every_way(void **state)
{
    const struct weir_sim_facts *facts = weir_sim_fleet_facts(fleet, 3);
    struct weir_nvml_pci_info pci;
    char text[96];
    gpu device = NULL;
    unsigned index = 0;

    (void)state;
    assert_int_equal(sim.DeviceGetHandleByUUID(facts->uuid, &device), 0);
    assert_ptr_equal(device, handle(3));
    assert_int_equal(sim.DeviceGetHandleBySerial(facts->serial, &device), 0);
    assert_ptr_equal(device, handle(3));
    assert_int_equal(sim.DeviceGetIndex(device, &index), 0);
    assert_int_equal(index, 3);
    assert_int_equal(sim.DeviceGetPciInfo_v3(device, &pci), 0);
    assert_string_equal(pci.bus_id, "00000001:0B:00.0");
    assert_string_equal(pci.bus_id_legacy, "0001:0B:00.0");
    assert_int_equal(pci.pci_device_id, 0x233010de);
    assert_int_equal(sim.DeviceGetHandleByPciBusId_v2(pci.bus_id, &device), 0);
    assert_ptr_equal(device, handle(3));
    assert_int_equal(sim.DeviceGetHandleByPciBusId_v2("0001:0b:00.0", &device), 0);
    assert_ptr_equal(device, handle(3));
    assert_int_equal(sim.DeviceGetHandleByPciBusId_v2("08:00.0", &device), 0);
    assert_ptr_equal(device, handle(0));
    assert_int_equal(sim.DeviceGetHandleByPciBusId_v2("0001:0b:01.0", &device),
                     WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim.DeviceGetHandleByPciBusId_v2("nonsense", &device),
                     WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetHandleByUUID("GPU-none", &device), WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim.SimDeviceGetNode(device, text, sizeof(text)), 0);
    assert_string_equal(text, "sim-1");
    assert_int_equal(sim.SimDeviceGetNode(handle(4), text, sizeof(text)), 0);
    assert_string_equal(text, "sim-3");
    assert_int_equal(sim.DeviceGetUUID(handle(3), text, sizeof(text)), 0);
    assert_string_equal(text, facts->uuid);
    assert_int_equal(sim.DeviceGetSerial(handle(3), text, 30), 0);
    assert_int_equal(sim.DeviceGetName(handle(3), text, 10), WEIR_NVML_INSUFFICIENT_SIZE);
    assert_int_equal(sim.DeviceGetName(handle(3), NULL, 96), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetHandleByIndex_v2(5, &device), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetHandleByIndex_v2(UINT32_MAX, &device),
                     WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetIndex(NULL, &index), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetIndex((gpu)&index, &index), WEIR_NVML_INVALID_ARGUMENT);
}

/* A caller of the second version gives 52 bytes of room, not 68. */
static void old_pci_info_keeps_to_its_room(void **state)
{
    struct {
        struct weir_nvml_pci_info pci;
    } room;
    const unsigned char *after = (const unsigned char *)&room + 52;

    (void)state;
    memset(&room, 0xAA, sizeof(room));
    assert_int_equal(sim.DeviceGetPciInfo_v2(handle(1), &room.pci), 0);
    assert_string_equal(room.pci.bus_id_legacy, "0000:0B:00.0");
    assert_int_equal(room.pci.bus, 0x0b);
    for (size_t i = 0; i < sizeof(room) - 52; i++)
        assert_int_equal(after[i], 0xAA);
}

static void counts_memory_as_both_versions_do(void **state)
{
    struct weir_nvml_memory_v1 v1;
    struct weir_nvml_memory_v2 v2 = {WEIR_NVML_STRUCT_VERSION(v2, 2), 0, 0, 0, 0};
    uint64_t total = 81559 * WEIR_MIB;
    uint64_t reserved = 480 * WEIR_MIB;

    (void)state;
    assert_int_equal(v2.version, 0x02000028);
    assert_int_equal(sim_set_process(fleet, 0, 1, 3 * WEIR_GIB, NULL), 0);
    assert_int_equal(sim_set_process(fleet, 0, 2, 2 * WEIR_GIB, NULL), 0);
    assert_int_equal(sim.DeviceGetMemoryInfo(handle(0), &v1), 0);
    assert_int_equal(v1.total, total);
    assert_int_equal(v1.used, 5 * WEIR_GIB + reserved);
    assert_int_equal(v1.free, total - v1.used);
    assert_int_equal(sim.DeviceGetMemoryInfo_v2(handle(0), &v2), 0);
    assert_int_equal(v2.total, total);
    assert_int_equal(v2.reserved, reserved);
    assert_int_equal(v2.used, 5 * WEIR_GIB);
    assert_int_equal(v2.free, total - reserved - v2.used);
    v2.version = sizeof(v2) | 1u << 24;
    assert_int_equal(sim.DeviceGetMemoryInfo_v2(handle(0), &v2),
                     WEIR_NVML_ARGUMENT_VERSION_MISMATCH);
}

static void lists_processes_by_the_two_step_dance(void **state)
{
    struct weir_nvml_process_v2 v2[4];
    struct weir_nvml_process_v1 v1[4];
    struct weir_nvml_process_sample samples[4];
    unsigned n = 0;

    (void)state;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_equal(sim.DeviceGetProcessUtilization(handle(0), NULL, &n, 0), WEIR_NVML_NOT_FOUND);
    assert_int_equal(sim_set_process(fleet, 0, 41, 100, NULL), 0);
    assert_int_equal(sim_set_process(fleet, 0, 42, 200, NULL), 0);
    n = 0;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, NULL),
                     WEIR_NVML_INSUFFICIENT_SIZE);
    assert_int_equal(n, 2);
    n = 1;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, v2),
                     WEIR_NVML_INSUFFICIENT_SIZE);
    assert_int_equal(n, 2);
    n = 4;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, v2), 0);
    assert_int_equal(n, 2);
    assert_int_equal(v2[1].pid, 42);
    assert_int_equal(v2[1].used_bytes, 200);
    assert_int_equal(v2[1].gpu_instance, WEIR_NVML_NO_INSTANCE);
    n = 4;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v2(handle(0), &n, v2), 0);
    n = 4;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses(handle(0), &n, v1), 0);
    assert_int_equal(v1[1].pid, 42);
    assert_int_equal(v1[1].used_bytes, 200);
    n = 0;
    assert_int_equal(sim.DeviceGetGraphicsRunningProcesses_v3(handle(0), &n, NULL), 0);
    n = 0;
    assert_int_equal(sim.DeviceGetProcessUtilization(handle(0), NULL, &n, 0),
                     WEIR_NVML_INSUFFICIENT_SIZE);
    assert_int_equal(sim.DeviceGetProcessUtilization(handle(0), samples, &n, 0), 0);
    assert_int_equal(n, 2);
    assert_int_equal(samples[0].pid, 41);
    assert_true(samples[0].timestamp_us > UINT64_C(1000000) * 1000000);
}

static void shows_the_load_it_is_given(void **state)
{
    struct weir_nvml_temperature_v1 temperature = {WEIR_NVML_STRUCT_VERSION(temperature, 1), 0, 0};
    struct weir_nvml_utilization utilization;
    struct weir_nvml_field_value fields[3] = {{.field = WEIR_NVML_FIELD_TOTAL_ENERGY},
                                              {.field = WEIR_NVML_FIELD_POWER_INSTANT},
                                              {.field = 9999}};
    int64_t now_ms = weir_clock_mono_ms();
    struct weir_sim_load load = {.pid = 7,
                                 .profile = WEIR_SIM_PROFILE_STEADY,
                                 .seed = 3,
                                 .memory_bytes = 1000,
                                 .gpu_instance = WEIR_NVML_NO_INSTANCE};
    struct weir_sim_reading reading;
    unsigned value = 0;

    (void)state;
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, now_ms, NULL), 0);
    weir_sim_fleet_measure(fleet, 0, now_ms + 600000, &reading);
    sim.SimSetInstant(now_ms + 600000);
    assert_int_equal(sim.DeviceGetUtilizationRates(handle(0), &utilization), 0);
    assert_int_equal(utilization.gpu, (unsigned)(100 * reading.gpu + 0.5));
    assert_in_range(utilization.gpu, 80, 100);
    assert_in_range(utilization.memory, 40, 60);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), 0);
    assert_int_equal(value, (unsigned)(1000 * reading.base.power_w + 0.5));
    assert_in_range(value, 550000, 700000);
    assert_int_equal(sim.DeviceGetTemperature(handle(0), 0, &value), 0);
    assert_in_range(value, 60, 80);
    assert_int_equal(sim.DeviceGetTemperature(handle(0), 7, &value), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetTemperatureV(handle(0), &temperature), 0);
    assert_in_range(temperature.temperature, 60, 80);
    temperature.version = 0;
    assert_int_equal(sim.DeviceGetTemperatureV(handle(0), &temperature),
                     WEIR_NVML_ARGUMENT_VERSION_MISMATCH);
    assert_int_equal(sim.DeviceGetFieldValues(handle(0), 3, fields), 0);
    assert_int_equal(fields[0].result, 0);
    assert_int_equal(fields[0].value_type, WEIR_NVML_VALUE_UNSIGNED_LONG_LONG);
    assert_int_equal(fields[0].value.u64, (uint64_t)(1000 * reading.base.energy_j));
    assert_int_equal(fields[1].value.u32, (unsigned)(1000 * reading.base.power_w + 0.5));
    assert_int_equal(fields[2].result, WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.DeviceGetFieldValues(handle(0), 0, fields), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetFanSpeed(handle(0), &value), WEIR_NVML_NOT_SUPPORTED);
    /* The same call at the time before the load: an idle GPU. */
    sim.SimSetInstant(now_ms - 1000);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), 0);
    assert_int_equal(value, 70000);
    sim.SimSetInstant(0);
}

static void tells_mig_capable_from_not(void **state)
{
    unsigned current = 7;
    unsigned pending = 7;
    gpu instance = NULL;

    (void)state;
    assert_int_equal(sim.DeviceGetMigMode(handle(0), &current, &pending), 0);
    assert_int_equal(current, 0);
    assert_int_equal(pending, 0);
    assert_int_equal(sim.DeviceGetMigMode(handle(0), NULL, &pending), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetMigMode(handle(0), &current, NULL), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetMigMode(handle(4), &current, &pending), WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.DeviceGetMigDeviceHandleByIndex(handle(0), 0, &instance),
                     WEIR_NVML_NOT_FOUND);
}

static void set_health(uint32_t index, uint32_t health)
{
    struct weir_sim_state state;

    weir_sim_fleet_read(fleet, index, &state);
    state.health = health;
    assert_int_equal(weir_sim_fleet_write(fleet, index, &state, NULL), 0);
}

static void a_lost_gpu_does_not_touch_the_others(void **state)
{
    gpu lost = handle(1);
    gpu device = NULL;
    unsigned value = 0;

    (void)state;
    set_health(1, WEIR_SIM_LOST);
    assert_int_equal(sim.DeviceGetPowerUsage(lost, &value), WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(sim.DeviceGetHandleByIndex_v2(1, &device), WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(sim.DeviceGetHandleByUUID(weir_sim_fleet_facts(fleet, 1)->uuid, &device),
                     WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), 0);
    assert_int_equal(sim.DeviceGetCount_v2(&value), 0);
    assert_int_equal(value, 5);
    set_health(1, WEIR_SIM_OK);
    assert_int_equal(sim.DeviceGetPowerUsage(lost, &value), 0);
}

static void waits_for_events_as_long_as_told(void **state)
{
    struct weir_nvml_event_set *set = NULL;
    struct weir_nvml_event_data data;
    int64_t start_us;

    (void)state;
    assert_int_equal(sim.EventSetCreate(&set), 0);
    assert_int_equal(sim.DeviceRegisterEvents(handle(0), WEIR_NVML_EVENT_XID, set), 0);
    assert_int_equal(sim.DeviceRegisterEvents(handle(0), WEIR_NVML_EVENT_XID, set), 0);
    assert_int_equal(sim.DeviceRegisterEvents(handle(1), WEIR_NVML_EVENT_XID, set), 0);
    assert_int_equal(sim.DeviceRegisterEvents(handle(1), 1ull << 40, set), WEIR_NVML_NOT_SUPPORTED);
    start_us = weir_clock_mono_us();
    assert_int_equal(sim.EventSetWait_v2(set, &data, 150), WEIR_NVML_TIMEOUT);
    assert_true(weir_clock_mono_us() - start_us >= 150000);
    assert_int_equal(sim.EventSetWait_v2(set, &data, 0), WEIR_NVML_TIMEOUT);
    set_health(1, WEIR_SIM_LOST);
    assert_int_equal(sim.EventSetWait_v2(set, &data, 60000), WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(sim.EventSetFree(set), 0);
}

static void a_replaced_fleet_is_a_driver_that_went_away(void **state)
{
    unsigned n = 0;

    (void)state;
    fleet = weir_sim_fleet_close(fleet);
    install("3xH200");
    assert_int_equal(sim.DeviceGetCount_v2(&n), WEIR_NVML_DRIVER_NOT_LOADED);
    assert_int_equal(sim.Init_v2(), 0);
    assert_int_equal(sim.DeviceGetCount_v2(&n), 0);
    assert_int_equal(n, 3);
}

static void a_fleet_that_is_not_there_is_no_driver(void **state)
{
    uint32_t version = WEIR_SIM_VERSION + 1;
    int fd;

    (void)state;
    assert_int_equal(sim.Shutdown(), 0);
    fd = open(temp_path(WEIR_SIM_FLEET_PATH), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &version, sizeof(version),
                            offsetof(struct weir_sim_header, version)),
                     sizeof(version));
    assert_int_equal(sim.Init_v2(), WEIR_NVML_LIB_RM_VERSION_MISMATCH);
    assert_int_equal(pwrite(fd, "nothing", 8, 0), 8);
    assert_int_equal(sim.Init_v2(), WEIR_NVML_DRIVER_NOT_LOADED);
    close(fd);
    assert_int_equal(truncate(temp_path(WEIR_SIM_FLEET_PATH), 10), 0);
    assert_int_equal(sim.Init_v2(), WEIR_NVML_DRIVER_NOT_LOADED);
    assert_int_equal(unlink(temp_path(WEIR_SIM_FLEET_PATH)), 0);
    assert_int_equal(sim.Init_v2(), WEIR_NVML_DRIVER_NOT_LOADED);
}

static void the_environment_may_name_the_fleet(void **state)
{
    unsigned n = 0;

    (void)state;
    assert_int_equal(sim.Shutdown(), 0);
    fleet = weir_sim_fleet_close(fleet);
    assert_int_equal(rename(temp_path(WEIR_SIM_FLEET_PATH), temp_path("elsewhere")), 0);
    assert_int_equal(sim.Init_v2(), WEIR_NVML_DRIVER_NOT_LOADED);
    setenv("WEIR_SIM_FLEET", temp_path("elsewhere"), 1);
    assert_int_equal(sim.Init_v2(), 0);
    unsetenv("WEIR_SIM_FLEET");
    assert_int_equal(sim.DeviceGetCount_v2(&n), 0);
    assert_int_equal(n, 5);
}

/* In each state: k processes, k from 1 to 40, all with the same amount, and pids that follow. */
static void write_states_until_killed(void)
{
    struct weir_sim_state state;

    weir_sim_fleet_read(fleet, 0, &state);
    for (uint32_t round = 1;; round++) {
        state.n_loads = 1 + round % 40;
        for (uint32_t i = 0; i < state.n_loads; i++)
            state.loads[i] = (struct weir_sim_load){.pid = round + i,
                                                    .memory_bytes = 1 + round % 100000,
                                                    .gpu_instance = WEIR_NVML_NO_INSTANCE};
        if (weir_sim_fleet_write(fleet, 0, &state, NULL) < 0)
            _exit(1);
    }
}

/* Returns whether the list is of one state; *first tells which. */
static int is_of_one_state(const struct weir_nvml_process_v2 *list, unsigned n, uint32_t *first)
{
    uint32_t round = list[0].pid;

    if (n != 1 + round % 40)
        return 0;
    for (unsigned i = 0; i < n; i++)
        if (list[i].pid != round + i || list[i].used_bytes != 1 + round % 100000)
            return 0;
    *first = round;
    return 1;
}

static void readers_never_see_half_a_change(void **state)
{
    enum { CHANGES = 5000, CHANGES_MIN = 20, LIMIT_S = 5 };
    struct weir_nvml_process_v2 list[WEIR_SIM_PROCESSES_MAX];
    unsigned n_changes = 0;
    unsigned n_torn = 0;
    uint32_t last = 0;
    int64_t until_us;
    unsigned n = 0;
    pid_t writer = fork();

    (void)state;
    assert_true(writer >= 0);
    if (writer == 0)
        write_states_until_killed();
    while (sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, NULL) == 0 && n == 0)
        ;
    until_us = weir_clock_mono_us() + LIMIT_S * INT64_C(1000000);
    while (n_changes < CHANGES && n_torn == 0 && weir_clock_mono_us() < until_us) {
        uint32_t round = 0;

        n = WEIR_SIM_PROCESSES_MAX;
        if (sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, list) != 0 ||
            !is_of_one_state(list, n, &round))
            n_torn++;
        n_changes += round != last;
        last = round;
    }
    kill(writer, SIGKILL);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    assert_int_equal(n_torn, 0);
    /* How many it gets depends on how busy the machine is. */
    assert_true(n_changes >= CHANGES_MIN);

    /* The writer died at any point; what it last said still stands. */
    n = WEIR_SIM_PROCESSES_MAX;
    assert_int_equal(sim.DeviceGetComputeRunningProcesses_v3(handle(0), &n, list), 0);
    assert_true(is_of_one_state(list, n, &last));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(installs_the_library_once),
        TEST(says_why_it_cannot_be_installed),
        TEST(counts_inits),
        TEST(tells_versions_and_errors),
        TEST(identifies_devices_in_every_way),
        TEST(old_pci_info_keeps_to_its_room),
        TEST(counts_memory_as_both_versions_do),
        TEST(lists_processes_by_the_two_step_dance),
        TEST(shows_the_load_it_is_given),
        TEST(tells_mig_capable_from_not),
        TEST(a_lost_gpu_does_not_touch_the_others),
        TEST(waits_for_events_as_long_as_told),
        TEST(a_replaced_fleet_is_a_driver_that_went_away),
        TEST(a_fleet_that_is_not_there_is_no_driver),
        TEST(the_environment_may_name_the_fleet),
        TEST(readers_never_see_half_a_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What befalls a simulated GPU, as clients of the library and readers of the kernel's log see it.
 */
#include "base/arena.h"
#include "edge/nvml/sim_kmsg.h"
#include "edge/nvml/sim_orders.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/sim_process.h"
#include "sim_rig.h"

static int set_up(void **state)
{
    return sim_rig_open(state, "2x2xH100+2xH100-PCIe+L40S");
}

static void order(const char *text)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_sim_order *orders;
    size_t n = 0;
    int rc = weir_sim_orders_parse(weir_str(text), &arena, &orders, &n, &err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = weir_sim_order_check(fleet, &orders[i], &err);
        if (rc == 0)
            rc = weir_sim_order_carry_out(fleet, &orders[i], weir_clock_mono_ms(), &err);
    }
    weir_arena_finish(&arena);
    if (rc < 0)
        fail_msg("'%s': %s", text, err.text);
}

static int fails(const char *text, struct weir_err *err)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_sim_order *orders;
    size_t n = 0;
    int rc = weir_sim_orders_parse(weir_str(text), &arena, &orders, &n, err);

    if (rc == 0)
        rc = weir_sim_order_carry_out(fleet, &orders[0], weir_clock_mono_ms(), err);
    weir_arena_finish(&arena);
    return rc;
}

/* The messages of the kernel's log, without their heads, which must be whole and in order. */
static const char *kmsg(void)
{
    static char messages[16384];
    char line[2048];
    FILE *file = fopen(temp_path("sim/kmsg"), "re");
    uint64_t want = 1; /* 0 is what a reader has read who read nothing */

    messages[0] = '\0';
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        int head = 0;
        uint64_t seq;
        int64_t us;

        assert_int_equal(sscanf(line, "3,%" SCNu64 ",%" SCNd64 ",-;%n", &seq, &us, &head), 2);
        assert_true(head > 0 && us > 0);
        assert_int_equal(seq, want++);
        strcat(messages, line + head);
    }
    if (file != NULL)
        fclose(file);
    return messages;
}

static struct weir_nvml_event_set *listen_to(unsigned index, uint64_t types)
{
    struct weir_nvml_event_set *set = NULL;

    assert_int_equal(sim.EventSetCreate(&set), 0);
    assert_int_equal(sim.DeviceRegisterEvents(handle(index), types, set), 0);
    return set;
}

static void expect_event(struct weir_nvml_event_set *set, unsigned index, uint64_t type,
                         uint64_t data)
{
    struct weir_nvml_event_data event = {0};

    assert_int_equal(sim.EventSetWait_v2(set, &event, 1000), 0);
    assert_ptr_equal(event.device, handle(index));
    assert_int_equal(event.type, type);
    assert_int_equal(event.data, data);
}

static void expect_silence(struct weir_nvml_event_set *set)
{
    struct weir_nvml_event_data event;

    assert_int_equal(sim.EventSetWait_v2(set, &event, 0), WEIR_NVML_TIMEOUT);
}

static void an_xid_is_told_once_to_each_set(void **state)
{
    struct weir_nvml_event_set *first;
    struct weir_nvml_event_set *second;
    struct weir_nvml_event_set *late;

    (void)state;
    order("gpu 0 xid 13");
    first = listen_to(0, WEIR_NVML_EVENT_XID);
    second = listen_to(0, WEIR_NVML_EVENT_XID);
    assert_int_equal(sim.DeviceRegisterEvents(handle(1), WEIR_NVML_EVENT_XID, second), 0);
    expect_silence(first);
    order("gpu 0 xid 31 pid 1");
    order("gpu 1 xid 43");
    late = listen_to(0, WEIR_NVML_EVENT_XID);
    expect_event(first, 0, WEIR_NVML_EVENT_XID, 31);
    expect_silence(first);
    expect_event(second, 0, WEIR_NVML_EVENT_XID, 31);
    expect_event(second, 1, WEIR_NVML_EVENT_XID, 43);
    expect_silence(second);
    expect_silence(late);
    sim.EventSetFree(first);
    sim.EventSetFree(second);
    sim.EventSetFree(late);
}

static void an_xid_says_in_which_instance(void **state)
{
    struct weir_nvml_event_set *set = listen_to(0, WEIR_NVML_EVENT_XID);
    struct weir_nvml_event_data event;
    struct weir_nvml_gi_handle *gi;
    struct weir_nvml_ci_handle *ci;
    struct weir_nvml_gi_info info;
    struct weir_sim_load load = {.pid = 77};

    (void)state;
    assert_int_equal(sim.DeviceSetMigMode(handle(0), 1, &(int){0}), 0);
    assert_int_equal(sim.DeviceCreateGpuInstance(handle(0), 9, &gi), 0);
    assert_int_equal(sim.GpuInstanceCreateComputeInstance(gi, 2, &ci), 0);
    assert_int_equal(sim.GpuInstanceGetInfo(gi, &info), 0);
    load.gpu_instance = info.id;
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, weir_clock_mono_ms(), NULL), 0);
    order("gpu 0 xid 94 pid 77");
    assert_int_equal(sim.EventSetWait_v2(set, &event, 0), 0);
    assert_int_equal(event.gpu_instance, info.id);
    assert_int_equal(event.compute_instance, 0);
    assert_non_null(strstr(kmsg(), " GPU-I:"));
    sim.EventSetFree(set);
}

struct waiting {
    struct weir_nvml_event_set *set;
    int64_t took_us;
    int result;
};

static void *wait_for_event(void *arg)
{
    struct weir_nvml_event_data event;
    struct waiting *waiting = arg;
    int64_t start_us = weir_clock_mono_us();

    waiting->result = sim.EventSetWait_v2(waiting->set, &event, 20000);
    waiting->took_us = weir_clock_mono_us() - start_us;
    return NULL;
}

static void a_wait_ends_with_the_event(void **state)
{
    struct waiting waiting = {.set = listen_to(0, WEIR_NVML_EVENT_XID)};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_event, &waiting), 0);
    usleep(250000);
    order("gpu 0 xid 13");
    pthread_join(thread, NULL);
    assert_int_equal(waiting.result, 0);
    assert_in_range(waiting.took_us, 200000, 10000000);
    sim.EventSetFree(waiting.set);
}

static void a_ring_that_ran_over_goes_on_with_the_newest(void **state)
{
    struct weir_nvml_event_set *set = listen_to(0, WEIR_NVML_EVENT_XID);
    struct weir_nvml_event_data event;
    unsigned n = 0;

    (void)state;
    for (int i = 0; i < WEIR_SIM_EVENTS_MAX + 50; i++)
        order("gpu 0 xid 13");
    order("gpu 0 xid 43");
    while (sim.EventSetWait_v2(set, &event, 0) == 0)
        n++;
    assert_int_equal(event.data, 43);
    assert_in_range(n, WEIR_SIM_EVENTS_MAX - 2, WEIR_SIM_EVENTS_MAX);
    sim.EventSetFree(set);
}

static void a_gpu_falls_off_the_bus(void **state)
{
    struct weir_nvml_event_set *set = listen_to(1, WEIR_NVML_EVENT_XID);
    gpu lost = handle(1);
    struct weir_nvml_event_data event;
    unsigned value;

    (void)state;
    order("gpu 1 xid 79");
    assert_int_equal(sim.DeviceGetPowerUsage(lost, &value), WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(sim.EventSetWait_v2(set, &event, 0), 0);
    assert_int_equal(event.data, 79);
    assert_int_equal(sim.EventSetWait_v2(set, &event, 0), 0);
    assert_int_equal(event.data, 154);
    assert_int_equal(sim.EventSetWait_v2(set, &event, 1000), WEIR_NVML_GPU_IS_LOST);
    assert_string_equal(
        kmsg(),
        "NVRM: Xid (PCI:0000:0b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the "
        "bus.\n"
        "NVRM: Xid (PCI:0000:0b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node "
        "Reboot Required)\n");
    order("gpu 1 recovered");
    assert_int_equal(sim.DeviceGetPowerUsage(lost, &value), 0);
    assert_non_null(strstr(kmsg(), "from 0x2 (Node Reboot Required) to 0x0 (None)\n"));
    sim.EventSetFree(set);
}

static void a_lost_gpu_has_three_lines_in_one_record(void **state)
{
    unsigned value;

    (void)state;
    order("gpu sim-2/0 lost");
    assert_int_equal(sim.DeviceGetHandleByIndex_v2(2, &(gpu){NULL}), WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(3), &value), 0);
    assert_string_equal(kmsg(), "NVRM: The NVIDIA GPU 0001:08:00.0\\x0a"
                                "NVRM: (PCI ID: 10de:2330) installed in this system has\\x0a"
                                "NVRM: fallen off the bus and is not responding to commands.\n");
}

static void a_process_is_named_with_its_xid(void **state)
{
    char text[32];

    (void)state;
    assert_int_equal(prctl(PR_SET_NAME, "trainer"), 0);
    snprintf(text, sizeof(text), "gpu 0 xid 31 pid %d", (int)getpid());
    order(text);
    snprintf(text, sizeof(text), "31, pid=%d, name=trainer", (int)getpid());
    assert_non_null(strstr(kmsg(), text));
    assert_null(strstr(kmsg(), "154"));
    order("gpu 0 xid 999");
    assert_non_null(strstr(kmsg(), "): 999, pid='<unknown>'"));
    assert_int_equal(weir_sim_xid_find(64)->action, WEIR_NVML_RECOVERY_GPU_RESET);
}

static void the_log_begins_anew_before_it_grows_too_long(void **state)
{
    struct stat st;

    (void)state;
    for (int i = 0; i < 8; i++)
        order("gpu 0 xid 13");
    assert_int_equal(truncate(temp_path("sim/kmsg"), WEIR_SIM_KMSG_BYTES_MAX - 10), 0);
    order("gpu 0 xid 13");
    assert_int_equal(stat(temp_path("sim/kmsg"), &st), 0);
    assert_in_range(st.st_size, 50, 300);
}

static struct weir_nvml_field_value field(unsigned index, uint32_t number)
{
    struct weir_nvml_field_value value = {.field = number};

    assert_int_equal(sim.DeviceGetFieldValues(handle(index), 1, &value), 0);
    return value;
}

static void a_gpu_that_needs_a_reset_tells_only_that(void **state)
{
    char text[96];
    unsigned value;

    (void)state;
    order("gpu 0 reset-required");
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), WEIR_NVML_RESET_REQUIRED);
    assert_int_equal(sim.DeviceGetUUID(handle(0), text, sizeof(text)), 0);
    assert_int_equal(field(0, WEIR_NVML_FIELD_RECOVERY_ACTION).value.u32,
                     WEIR_NVML_RECOVERY_GPU_RESET);
    assert_int_equal(field(0, WEIR_NVML_FIELD_MEMORY_TEMP).result, WEIR_NVML_RESET_REQUIRED);
    order("gpu 0 recovered");
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), 0);
    assert_int_equal(field(0, WEIR_NVML_FIELD_RECOVERY_ACTION).value.u32, 0);
}

static void errors_are_counted(void **state)
{
    struct weir_nvml_event_set *set =
        listen_to(0, WEIR_NVML_EVENT_DOUBLE_BIT_ECC | WEIR_NVML_EVENT_SINGLE_BIT_ECC);
    unsigned long long n = 0;
    unsigned rows[4];

    (void)state;
    order("gpu 0 ecc 2\ngpu 0 ecc 7 corrected\ngpu 0 remap uncorrectable 1\n"
          "gpu 0 remap correctable 2\ngpu 0 remap failed");
    expect_event(set, 0, WEIR_NVML_EVENT_DOUBLE_BIT_ECC, 0);
    expect_event(set, 0, WEIR_NVML_EVENT_SINGLE_BIT_ECC, 0);
    assert_int_equal(sim.DeviceGetTotalEccErrors(handle(0), 1, 0, &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(sim.DeviceGetTotalEccErrors(handle(0), 0, 1, &n), 0);
    assert_int_equal(n, 7);
    assert_int_equal(sim.DeviceGetRemappedRows(handle(0), &rows[0], &rows[1], &rows[2], &rows[3]),
                     0);
    assert_int_equal(rows[0], 2);
    assert_int_equal(rows[1], 1);
    assert_int_equal(rows[2], 1);
    assert_int_equal(rows[3], 1);
    assert_int_equal(field(0, WEIR_NVML_FIELD_ECC_DBE_VOLATILE).value.u64, 2);
    assert_int_equal(field(0, WEIR_NVML_FIELD_REMAPPED_PENDING).value.u32, 1);
    assert_int_equal(field(0, WEIR_NVML_FIELD_RETIRED_SBE).result, WEIR_NVML_NOT_SUPPORTED);
    /* A reset clears what is volatile and does what was pending. */
    order("gpu 0 recovered");
    assert_int_equal(field(0, WEIR_NVML_FIELD_ECC_DBE_VOLATILE).value.u64, 0);
    assert_int_equal(field(0, WEIR_NVML_FIELD_ECC_DBE_AGGREGATE).value.u64, 2);
    assert_int_equal(field(0, WEIR_NVML_FIELD_REMAPPED_PENDING).value.u32, 0);
    assert_int_equal(field(0, WEIR_NVML_FIELD_REMAPPED_UNCORRECTABLE).value.u32, 1);
    sim.EventSetFree(set);
}

static void caps_throttle(void **state)
{
    int64_t now_ms = weir_clock_mono_ms();
    struct weir_sim_load load = {.pid = 7,
                                 .profile = WEIR_SIM_PROFILE_STEADY,
                                 .gpu_instance = WEIR_NVML_NO_INSTANCE};
    struct weir_err err = WEIR_ERR_INIT;
    unsigned long long reasons = 0;
    unsigned value = 0;

    (void)state;
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, now_ms, NULL), 0);
    order("gpu 0 power 300\ngpu 0 thermal 40");
    sim.SimSetInstant(now_ms + 600000);
    assert_int_equal(sim.DeviceGetEnforcedPowerLimit(handle(0), &value), 0);
    assert_int_equal(value, 300000);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), 0);
    assert_in_range(value, 200000, 300001);
    assert_int_equal(sim.DeviceGetCurrentClocksEventReasons(handle(0), &reasons), 0);
    assert_int_equal(reasons,
                     WEIR_NVML_CLOCK_REASON_SW_POWER_CAP | WEIR_NVML_CLOCK_REASON_SW_THERMAL);
    assert_int_equal(sim.DeviceGetClockInfo(handle(0), WEIR_NVML_CLOCK_SM, &value), 0);
    assert_true(value < 1600);
    order("gpu 0 power off\ngpu 0 thermal off");
    assert_int_equal(sim.DeviceGetCurrentClocksEventReasons(handle(0), &reasons), 0);
    assert_int_equal(reasons, 0);
    assert_int_equal(fails("gpu 0 power 900", &err), WEIR_E_INVALID);
    assert_non_null(strstr(err.text, "above the 700 W"));
    assert_int_equal(fails("gpu 0 thermal 5", &err), WEIR_E_INVALID);
    assert_int_equal(fails("gpu 70 lost", &err), WEIR_E_NOT_FOUND);
    assert_int_equal(err.column, 5);
    assert_int_equal(fails("gpu sim-9/0 lost", &err), WEIR_E_NOT_FOUND);
}

static void *use_gpu_0(void *arg)
{
    struct waiting *waiting = arg;
    int64_t start_us = weir_clock_mono_us();
    unsigned value;

    waiting->result = sim.DeviceGetPowerUsage((gpu)(void *)waiting->set, &value);
    waiting->took_us = weir_clock_mono_us() - start_us;
    return NULL;
}

static void a_hang_holds_up_its_own_gpu_only(void **state)
{
    struct waiting waiting = {.set = (void *)handle(0)};
    int64_t start_us;
    pthread_t thread;
    unsigned value;

    (void)state;
    order("gpu 0 hang 600ms");
    assert_int_equal(pthread_create(&thread, NULL, use_gpu_0, &waiting), 0);
    start_us = weir_clock_mono_us();
    usleep(50000);
    for (unsigned i = 1; i < 7; i++)
        assert_int_equal(sim.DeviceGetPowerUsage(handle(i), &value), 0);
    assert_int_equal(sim.DeviceGetCount_v2(&value), 0);
    /* Nor does it keep others from coming and going. */
    assert_int_equal(sim.Init_v2(), 0);
    assert_int_equal(sim.Shutdown(), 0);
    assert_true(weir_clock_mono_us() - start_us < 500000);
    pthread_join(thread, NULL);
    assert_int_equal(waiting.result, 0);
    assert_true(waiting.took_us >= 500000);

    order("gpu 0 hang forever");
    assert_int_equal(pthread_create(&thread, NULL, use_gpu_0, &waiting), 0);
    usleep(100000);
    order("gpu 0 recovered");
    pthread_join(thread, NULL);
    assert_int_equal(waiting.result, 0);
}

static void a_reloaded_driver_must_be_initialised_anew(void **state)
{
    int64_t end_ms;
    unsigned value;

    (void)state;
    order("gpu 0 ecc 3\ngpu 1 lost\ndriver reload 300ms");
    end_ms = weir_clock_mono_ms() + 300;
    assert_int_equal(sim.DeviceGetCount_v2(&value), WEIR_NVML_DRIVER_NOT_LOADED);
    assert_int_equal(sim.Init_v2(), WEIR_NVML_DRIVER_NOT_LOADED);
    while (weir_clock_mono_ms() <= end_ms)
        usleep(10000);
    assert_int_equal(sim.Init_v2(), 0);
    assert_int_equal(sim.DeviceGetCount_v2(&value), 0);
    assert_int_equal(value, 7);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(1), &value), 0);
    assert_int_equal(field(0, WEIR_NVML_FIELD_ECC_DBE_VOLATILE).value.u64, 0);
    assert_true(field(0, WEIR_NVML_FIELD_TOTAL_ENERGY).value.u64 < 70000 * 30);
}

struct told {
    size_t n;
    struct weir_str last;
    int code; /* of the last */
};

static void tell(void *arg, struct weir_str text, const struct weir_err *why)
{
    struct told *told = arg;

    told->n++;
    told->last = text;
    told->code = why != NULL ? why->code : 0;
}

static void a_schedule_takes_its_time(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_sim_order *orders;
    struct weir_sim_schedule schedule = {.begin_ms = weir_clock_mono_ms()};
    struct told told = {0};
    unsigned value;

    (void)state;
    assert_int_equal(weir_sim_orders_parse(WEIR_STR("+30s gpu 0 xid 79 # falls\ngpu 1 xid 13\n"
                                                    "gpu 70 lost\nat 1m gpu 0 recovered\n"),
                                           &arena, &orders, &schedule.n, &err),
                     0);
    schedule.orders = orders;
    assert_int_equal(weir_sim_order_check(fleet, &orders[1], &err), WEIR_E_NOT_FOUND);
    assert_int_equal(err.line, 3);
    assert_true(weir_sim_schedule_run(&schedule, fleet, schedule.begin_ms + 5000, tell, &told) ==
                25000);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.code, WEIR_E_NOT_FOUND);
    assert_true(weir_str_eq_c(told.last, "gpu 70 lost"));
    assert_non_null(strstr(kmsg(), "): 13,"));
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), 0);
    assert_true(weir_sim_schedule_run(&schedule, fleet, schedule.begin_ms + 30000, tell, &told) ==
                30000);
    assert_true(weir_str_eq_c(told.last, "gpu 0 xid 79"));
    assert_int_equal(told.code, 0);
    assert_int_equal(sim.DeviceGetHandleByIndex_v2(0, &(gpu){NULL}), WEIR_NVML_GPU_IS_LOST);
    assert_true(weir_sim_schedule_run(&schedule, fleet, schedule.begin_ms + 99000, tell, &told) ==
                WEIR_SIM_NEVER);
    assert_int_equal(told.n, 4);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(0), &value), 0);
    weir_arena_finish(&arena);
}

static void says_what_no_gpu_is_meant_by(void **state)
{
    static const struct {
        const char *text;
        int code;
        uint32_t column;
        const char *says;
    } cases[] = {
        {"node sim-2 gpu 1 lost", 0, 0, ""},
        {"node sim-2 gpu 2 lost", WEIR_E_NOT_FOUND, 16, "node 'sim-2' has no GPU '2'"},
        {"node sim-9 gpu 1 lost", WEIR_E_NOT_FOUND, 6, "the fleet has no node 'sim-9'"},
        {"gpu sim-9/1 lost", WEIR_E_NOT_FOUND, 5, "the fleet has no GPU 'sim-9/1'"},
        {"gpu 0 power 700", 0, 0, ""},
        /* One of them is a smaller model. */
        {"gpu all power 400", WEIR_E_INVALID, 1, "above the 350 W of"},
        {"gpu 0 thermal 19", WEIR_E_INVALID, 1, "from 20 to 120"},
        {"driver reload", 0, 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_sim_order *orders;
        size_t n;

        assert_int_equal(weir_sim_orders_parse(weir_str(cases[i].text), &arena, &orders, &n, &err),
                         0);
        if (weir_sim_order_check(fleet, &orders[0], &err) != cases[i].code ||
            err.column != cases[i].column || strstr(err.text, cases[i].says) == NULL)
            fail_msg("'%s' gives %d at %u: %s", cases[i].text, err.code, err.column, err.text);
        weir_arena_finish(&arena);
    }
}

/* A fleet of an earlier boot: its instants mean nothing, its processes are gone. */
static void a_boot_leaves_the_identity_only(void **state)
{
    struct weir_sim_header header;
    struct weir_sim_state now;
    char uuid[96];
    FILE *file;

    (void)state;
    assert_int_equal(sim_set_process(fleet, 0, 7, 1, NULL), 0);
    order("gpu 0 ecc 2\ngpu 1 lost");
    memcpy(uuid, weir_sim_fleet_facts(fleet, 0)->uuid, sizeof(uuid));
    fleet = weir_sim_fleet_close(fleet);
    file = fopen(temp_path(WEIR_SIM_FLEET_PATH), "r+e");
    assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
    header.boot_id[0] ^= 1;
    rewind(file);
    assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
    fclose(file);
    assert_int_equal(
        weir_sim_install(temp_dir, WEIR_STR("2x2xH100+2xH100-PCIe+L40S"), 9, &fleet, NULL), 0);
    assert_string_equal(weir_sim_fleet_facts(fleet, 0)->uuid, uuid);
    weir_sim_fleet_read(fleet, 0, &now);
    assert_int_equal(now.n_loads, 0);
    assert_int_equal(now.ecc_volatile[WEIR_NVML_ECC_UNCORRECTED], 0);
    assert_int_equal(now.ecc_aggregate[WEIR_NVML_ECC_UNCORRECTED], 2);
    weir_sim_fleet_read(fleet, 1, &now);
    assert_int_equal(now.health, WEIR_SIM_OK);
    assert_string_equal(kmsg(), "");
    order("gpu 0 xid 13");
    assert_non_null(strstr(kmsg(), "): 13,"));
}

/* The kernel is the same: who reads its log goes on where he was. */
static void another_fleet_goes_on_with_the_log(void **state)
{
    (void)state;
    order("gpu 0 xid 13");
    fleet = weir_sim_fleet_close(fleet);
    assert_int_equal(weir_sim_install(temp_dir, WEIR_STR("2xL40S"), 9, &fleet, NULL), 0);
    order("gpu 0 xid 31");
    assert_non_null(strstr(kmsg(), "): 31,"));
}

static void a_file_brings_places_and_faults(void **state)
{
    char text[32];
    FILE *file = fopen(temp_path("f.yaml"), "we");
    unsigned value;

    (void)state;
    fputs("nodes:\n- {name: b-7, gpus: 2xH200, zone: eu-1, rack: r7, faults: [gpu 1 lost]}\n"
          "- {name: b-8, gpus: H200, mig: true}\n",
          file);
    fclose(file);
    fleet = weir_sim_fleet_close(fleet);
    assert_int_equal(weir_sim_install(temp_dir, weir_str(temp_path("f.yaml")), 1, &fleet, NULL), 0);
    assert_int_equal(sim.Init_v2(), 0);
    assert_int_equal(sim.SimDeviceGetNode(handle(0), text, sizeof(text)), 0);
    assert_string_equal(text, "b-7");
    assert_int_equal(sim.SimDeviceGetLabel(handle(0), "rack", text, sizeof(text)), 0);
    assert_string_equal(text, "r7");
    assert_int_equal(sim.DeviceGetHandleByIndex_v2(1, &(gpu){NULL}), WEIR_NVML_GPU_IS_LOST);
    assert_int_equal(sim.DeviceGetMigMode(handle(2), &value, &(unsigned){0}), 0);
    assert_int_equal(value, 1);
    /* What was repaired stays repaired. */
    order("gpu b-7/1 recovered");
    fleet = weir_sim_fleet_close(fleet);
    assert_int_equal(weir_sim_install(temp_dir, weir_str(temp_path("f.yaml")), 1, &fleet, NULL), 0);
    assert_int_equal(sim.DeviceGetPowerUsage(handle(1), &value), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, sim_rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_xid_is_told_once_to_each_set),
        TEST(an_xid_says_in_which_instance),
        TEST(a_wait_ends_with_the_event),
        TEST(a_ring_that_ran_over_goes_on_with_the_newest),
        TEST(a_gpu_falls_off_the_bus),
        TEST(a_lost_gpu_has_three_lines_in_one_record),
        TEST(a_process_is_named_with_its_xid),
        TEST(the_log_begins_anew_before_it_grows_too_long),
        TEST(a_gpu_that_needs_a_reset_tells_only_that),
        TEST(errors_are_counted),
        TEST(caps_throttle),
        TEST(a_hang_holds_up_its_own_gpu_only),
        TEST(a_reloaded_driver_must_be_initialised_anew),
        TEST(a_schedule_takes_its_time),
        TEST(says_what_no_gpu_is_meant_by),
        TEST(a_boot_leaves_the_identity_only),
        TEST(another_fleet_goes_on_with_the_log),
        TEST(a_file_brings_places_and_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/count.h"
#include "edge/kernlog/fault_line.h"
#include "edge/nvml/fault_event.h"
#include "edge/nvml/nvml_abi.h"
#include "fmt/kmsg.h"
#include "tests/unit/support.h"

static const struct weir_fault_device device = {.node = 3, .bus = 7, .is_known = true};

static void the_librarys_events_are_faults(void **state)
{
    static const struct {
        uint64_t type;
        uint64_t data;
        uint8_t kind;
        uint32_t code;
    } cases[] = {
        {WEIR_NVML_EVENT_XID, 79, WEIR_FAULT_XID, 79},
        {WEIR_NVML_EVENT_DOUBLE_BIT_ECC, 0, WEIR_FAULT_XID, 48},
        {WEIR_NVML_EVENT_SINGLE_BIT_ECC_STORM, 0, WEIR_FAULT_XID, 92},
        {WEIR_NVML_EVENT_DRAM_RETIREMENT, 0, WEIR_FAULT_XID, 63},
        {WEIR_NVML_EVENT_DRAM_RETIREMENT_FAILURE, 0, WEIR_FAULT_XID, 64},
        {WEIR_NVML_EVENT_NON_FATAL_POISON, 0, WEIR_FAULT_XID, 94},
        {WEIR_NVML_EVENT_FATAL_POISON, 0, WEIR_FAULT_XID, 95},
        {WEIR_NVML_EVENT_GPU_UNAVAILABLE, 0, WEIR_FAULT_LOST, 0},
        {WEIR_NVML_EVENT_RECOVERY_ACTION, 0, WEIR_FAULT_RECOVERY, 0},
    };
    struct weir_fault_event event;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        assert_true(weir_fault_from_nvml(cases[i].type, cases[i].data, WEIR_FAULT_RECOVERY_RESET,
                                         &device, 12, &event));
        assert_int_equal(event.kind, cases[i].kind);
        assert_int_equal(event.code, cases[i].code);
        assert_int_equal(event.recovery, WEIR_FAULT_RECOVERY_RESET);
        assert_int_equal(event.origin, WEIR_FAULT_ORIGIN_KERNEL);
        assert_true(weir_fault_same_device(&event.device, &device));
        assert_int_equal(event.at_ms, 12);
        assert_true(event.text.len > 0 && strlen(event.text.ptr) == event.text.len);
    }
    assert_false(weir_fault_from_nvml(WEIR_NVML_EVENT_PSTATE, 1, 0, &device, 0, &event));
    assert_false(weir_fault_from_nvml(WEIR_NVML_EVENT_XID, 0, 0, &device, 0, &event));
    assert_false(
        weir_fault_from_nvml(WEIR_NVML_EVENT_XID, UINT64_C(1) << 32, 0, &device, 0, &event));
}

static void returns_and_counts_are_faults(void **state)
{
    static const struct {
        int code;
        uint8_t kind;
    } cases[] = {
        {WEIR_NVML_GPU_IS_LOST, WEIR_FAULT_LOST},
        {WEIR_NVML_RESET_REQUIRED, WEIR_FAULT_RESET_REQUIRED},
        {WEIR_NVML_LIB_RM_VERSION_MISMATCH, WEIR_FAULT_VERSION_MISMATCH},
        {WEIR_NVML_DRIVER_NOT_LOADED, WEIR_FAULT_NO_PROBE},
    };
    struct weir_fault_event event;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        assert_true(weir_fault_from_nvml_return(cases[i].code, &device, 0, &event));
        assert_int_equal(event.kind, cases[i].kind);
        assert_true(strlen(event.text.ptr) == event.text.len);
    }
    assert_false(weir_fault_from_nvml_return(WEIR_NVML_SUCCESS, &device, 0, &event));
    assert_false(weir_fault_from_nvml_return(WEIR_NVML_TIMEOUT, &device, 0, &event));
    assert_int_equal(weir_fault_from_recovery(2, &device, 0).recovery, WEIR_FAULT_RECOVERY_REBOOT);
    assert_true(weir_fault_from_count(8, 7, 8, 3, 0, &event));
    assert_int_equal(event.kind, WEIR_FAULT_COUNT);
    assert_false(event.device.is_known);
    assert_true(weir_fault_from_count(0, 7, 8, 3, 0, &event));
    assert_false(weir_fault_from_count(8, 8, 8, 3, 0, &event));
}

static void a_record_gives_each_of_its_lines(void **state)
{
    static const char record[] =
        "3,1,2,-;NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:2330) installed in this "
        "system has\\x0aNVRM: fallen off the bus and is not responding to commands.";
    char buffer[WEIR_KMSG_RECORD_MAX];
    struct weir_kmsg kmsg;
    struct weir_fault_event event;
    size_t at = 0;

    (void)state;
    assert_int_equal(weir_kmsg_read(weir_str(record), buffer, sizeof(buffer), &kmsg, NULL), 0);
    assert_true(weir_fault_from_kmsg(&kmsg, 3, 5, &at, &event));
    assert_int_equal(event.kind, WEIR_FAULT_LOST_HEAD);
    assert_int_equal(event.device.bus, 0xb3);
    assert_int_equal(event.origin, WEIR_FAULT_ORIGIN_KERNEL);
    assert_true(weir_fault_from_kmsg(&kmsg, 3, 5, &at, &event));
    assert_int_equal(event.kind, WEIR_FAULT_LOST_TAIL);
    assert_false(weir_fault_from_kmsg(&kmsg, 3, 5, &at, &event));
    kmsg.facility = 1;
    at = 0;
    assert_true(weir_fault_from_kmsg(&kmsg, 3, 5, &at, &event));
    assert_int_equal(event.origin, WEIR_FAULT_ORIGIN_USER);
}

/* A record's message is taken as it stands: what looks like a log's prefix in it proves nothing. */
static void a_record_has_no_prefix(void **state)
{
    char buffer[WEIR_KMSG_RECORD_MAX];
    struct weir_kmsg kmsg;
    struct weir_fault_event event;
    size_t at = 0;

    (void)state;
    assert_int_equal(weir_kmsg_read(WEIR_STR("3,1,2,-;kernel: NVRM: Xid (PCI:0000:3b:00): 79"),
                                    buffer, sizeof(buffer), &kmsg, NULL),
                     0);
    assert_false(weir_fault_from_kmsg(&kmsg, 3, 5, &at, &event));
    assert_true(
        weir_fault_from_line(WEIR_STR("kernel: NVRM: Xid (PCI:0000:3b:00): 79"), 3, 5, &event));
    assert_int_equal(event.origin, WEIR_FAULT_ORIGIN_TEXT);
    assert_int_equal(event.device.node, 3);
    assert_int_equal(event.at_ms, 5);
}

/* The kernel prints the options of a mount that any user may try: newlines and all. */
static void a_line_within_anothers_record_is_no_evidence(void **state)
{
    char buffer[WEIR_KMSG_RECORD_MAX];
    struct weir_kmsg kmsg;
    struct weir_fault_event event;
    size_t at = 0;

    (void)state;
    assert_int_equal(weir_kmsg_read(WEIR_STR("3,1,2,-;overlayfs: unrecognized mount option \"a\\x0a"
                                             "NVRM: Xid (PCI:0000:3b:00): 79, b\""),
                                    buffer, sizeof(buffer), &kmsg, NULL),
                     0);
    assert_false(weir_fault_from_kmsg(&kmsg, 3, 5, &at, &event));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_librarys_events_are_faults),
        cmocka_unit_test(returns_and_counts_are_faults),
        cmocka_unit_test(a_record_gives_each_of_its_lines),
        cmocka_unit_test(a_record_has_no_prefix),
        cmocka_unit_test(a_line_within_anothers_record_is_no_evidence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "fmt/gpu_log.h"

#include "base/count.h"
#include "fmt/log_prefix.h"
#include "tests/unit/support.h"

#define assert_text(part, literal) assert_true(weir_str_eq_c((part), (literal)))

static struct weir_gpu_log read_line(const char *line)
{
    struct weir_gpu_log log;

    (void)weir_gpu_log_read(weir_str(line), &log);
    return log;
}

static void reads_a_whole_xid(void **state)
{
    struct weir_gpu_log log =
        read_line("NVRM: Xid (PCI:000b:3c:1f.7 GPU-I:05 GPU-CI:12): 94, pid=1016, name=a, b:c/d, "
                  "Contained: SM (0x1, 0x2f). RST: No, D-RST: Yes");

    (void)state;
    assert_int_equal(log.kind, WEIR_GPU_LOG_XID);
    assert_true(log.has_pci && log.has_function);
    assert_int_equal(log.pci_domain, 0xb);
    assert_int_equal(log.pci_bus, 0x3c);
    assert_int_equal(log.pci_device, 0x1f);
    assert_int_equal(log.pci_function, 7);
    assert_int_equal(log.gpu_instance, 5);
    assert_int_equal(log.compute_instance, 12);
    assert_int_equal(log.code, 94);
    assert_int_equal(log.pid, 1016);
    assert_text(log.name, "a, b:c/d");
    assert_text(log.text, "Contained: SM (0x1, 0x2f). RST: No, D-RST: Yes");
    assert_int_equal(log.n_words, 2);
    assert_int_equal(log.words[1], 0x2f);
    assert_false(log.wants_reset);
    assert_true(log.wants_drain);
}

static void what_a_line_leaves_out_is_unknown(void **state)
{
    struct weir_gpu_log log = read_line("NVRM: Xid (0000:03:00): 79");

    (void)state;
    assert_int_equal(log.kind, WEIR_GPU_LOG_XID);
    assert_false(log.has_function);
    assert_int_equal(log.gpu_instance, -1);
    assert_int_equal(log.compute_instance, -1);
    assert_int_equal(log.pid, -1);
    assert_int_equal(log.name.len + log.text.len + log.unit.len, 0);
    assert_int_equal(log.action_to, WEIR_GPU_LOG_ACTION_NONE);
    assert_int_equal(log.link, WEIR_GPU_LOG_NO_LINK);
    assert_int_equal(log.gpc, -1);
    assert_int_equal(log.n_words + log.caused_by, 0);
    log = read_line("NVRM: Xid (PCI:0000:b5:00): 13, pid='<unknown>', name=<unknown>, Graphics SM "
                    "Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address");
    assert_int_equal(log.pid, -1);
    assert_int_equal(log.name.len, 0);
    assert_int_equal(log.gpc, 1);
    assert_int_equal(log.tpc, 3);
}

static void a_name_ends_where_the_text_begins(void **state)
{
    static const struct {
        const char *rest;
        const char *name;
        const char *text;
    } cases[] = {
        {"name=sh, Ch 00000008, intr 0", "sh", "Ch 00000008, intr 0"},
        {"name=a, b, Ch 00000008", "a, b", "Ch 00000008"},
        {"name=[kworker/3:1], channel 0x00000004", "[kworker/3:1]", "channel 0x00000004"},
        {"name=ray::WorkerDict, channel 0x0", "ray::WorkerDict", "channel 0x0"},
        {"name=a, what nobody knows, Ch 00000008", "a", "what nobody knows, Ch 00000008"},
        {"name=only", "only", ""},
        {"name=, Ch 00000008", "", "Ch 00000008"},
        {"name=pid=3, Ch 1", "pid=3", "Ch 1"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        char line[160];
        struct weir_gpu_log log;

        snprintf(line, sizeof(line), "NVRM: Xid (PCI:0000:3b:00): 45, pid=12, %s", cases[i].rest);
        log = read_line(line);
        assert_int_equal(log.pid, 12);
        assert_text(log.name, cases[i].name);
        assert_text(log.text, cases[i].text);
    }
}

static void reads_causes_and_verdicts(void **state)
{
    struct weir_gpu_log log = read_line("NVRM: Xid (PCI:0008:01:00): 45, pid=1, name=w, channel "
                                        "0x00000012 caused by previous Xid 149");

    (void)state;
    assert_int_equal(log.caused_by, 149);
    log = read_line("NVRM: Xid (PCI:0008:01:00): 45, pid=1, name=caused by previous Xid 7, x");
    assert_int_equal(log.caused_by, 0);
    log = read_line("NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x1 (GPU "
                    "Reset Required) to 0x4 (Drain and Reset)");
    assert_int_equal(log.action_from, 1);
    assert_int_equal(log.action_to, 4);
    log = read_line("NVRM: Xid (PCI:0008:01:00): 154, changed from 0x0 (None) to 0x7 (Drain P2P)");
    assert_int_equal(log.action_to, 3);
    log = read_line("NVRM: Xid (PCI:0008:01:00): 154, changed from 0x0 (None) to 0x7 (New)");
    assert_int_equal(log.action_to, 7);
    /* Another code's text is not looked at for it. */
    log = read_line("NVRM: Xid (PCI:0008:01:00): 13, changed from 0x0 (None) to 0x2 (Node)");
    assert_int_equal(log.action_to, WEIR_GPU_LOG_ACTION_NONE);
}

static void reads_registers(void **state)
{
    struct weir_gpu_log log =
        read_line("NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 "
                  "0x00000000 0x00000000 0x00000000 0x00000000 0xffffffff)");

    (void)state;
    assert_text(log.unit, "NETIR");
    assert_int_equal(log.severity, WEIR_GPU_LOG_SEVERITY_FATAL);
    assert_int_equal(log.link, -1);
    assert_int_equal(log.n_words, 6);
    assert_int_equal(log.words[0], 0xfe406);
    assert_int_equal(log.words[5], 0xffffffff);
    log = read_line("NVRM: Xid (PCI:0003:00:00): 74, NVLink: fatal error detected on link 14(0x0, "
                    "0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)");
    assert_int_equal(log.link, 14);
    assert_int_equal(log.n_words, 7);
    assert_int_equal(log.words[2], 0x10000);
    log = read_line("NVRM: Xid (PCI:0003:00:00): 62, 00004a7e 0000b2c4 20206a1e");
    assert_int_equal(log.n_words, 3);
    log = read_line("NVRM: Xid (PCI:0003:00:00): 45, Ch 00000010");
    assert_int_equal(log.n_words, 0);
    log = read_line("NVRM: Xid (PCI:0003:00:00): 74, x (0x1, 0x123456789)");
    assert_int_equal(log.n_words, 0);
    log = read_line("NVRM: Xid (PCI:0003:00:00): 74, x (0x1, 0x2");
    assert_int_equal(log.n_words, 0);
    log = read_line("NVRM: Xid (PCI:0003:00:00): 74, x (0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8 0x9 0xa)");
    assert_int_equal(log.n_words, 0);
}

static void reads_switches(void **state)
{
    struct weir_gpu_log log = read_line("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, "
                                        "Non-fatal, Link 32 egress (First)");

    (void)state;
    assert_int_equal(log.kind, WEIR_GPU_LOG_SXID);
    assert_int_equal(log.code, 12028);
    assert_int_equal(log.severity, WEIR_GPU_LOG_SEVERITY_NONFATAL);
    assert_int_equal(log.link, 32);
    assert_text(log.text, "Link 32 egress (First)");
    log = read_line("nvidia-nvswitch0: SXid (PCI:0004:00:00.0): 26006, SOE HALTED");
    assert_int_equal(log.severity, WEIR_GPU_LOG_SEVERITY_UNKNOWN);
    assert_text(log.text, "SOE HALTED");
    log = read_line("nvidia-nvswitch0: SXid (PCI:0004:00:00.0): 1, Data {0x1, 0x2}");
    assert_int_equal(log.kind, WEIR_GPU_LOG_SXID_DETAIL);
    log = read_line("[ERROR] [tid 12] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci "
                    "bus id 00000000:86:00.0 physical id 3 port 61");
    assert_int_equal(log.kind, WEIR_GPU_LOG_FABRIC_MANAGER);
    assert_int_equal(log.code, 20034);
    assert_int_equal(log.pci_bus, 0x86);
    assert_int_equal(log.link, 61);
}

static void reads_what_has_no_code(void **state)
{
    struct weir_gpu_log log = read_line("NVRM: The NVIDIA GPU 0000:b3:00.0");

    (void)state;
    assert_int_equal(log.kind, WEIR_GPU_LOG_LOST_HEAD);
    assert_int_equal(log.pci_bus, 0xb3);
    log = read_line("Unable to determine the device handle for GPU0000:A1:00.0: Unknown Error");
    assert_int_equal(log.kind, WEIR_GPU_LOG_LOST);
    assert_int_equal(log.pci_bus, 0xa1);
    log = read_line("NVRM: GPU at PCI:0000:03:00: GPU-00000000-0000-0000-0000-000000000001");
    assert_int_equal(log.kind, WEIR_GPU_LOG_UUID);
    assert_int_equal(log.pci_bus, 3);
    assert_text(log.uuid, "GPU-00000000-0000-0000-0000-000000000001");
    log = read_line("  nvidia 0000:07:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), x");
    assert_int_equal(log.kind, WEIR_GPU_LOG_AER);
    assert_int_equal(log.severity, WEIR_GPU_LOG_SEVERITY_NONFATAL);
    assert_text(log.unit, "nvidia");
    log = read_line("nvidia 0000:07:00.0:    [12] Timeout");
    assert_int_equal(log.kind, WEIR_GPU_LOG_AER_DETAIL);
}

static void other_lines_are_none(void **state)
{
    static const char *const lines[] = {
        "",
        " ",
        "NVRM:",
        "NVRM: Xid",
        "NVRM: Xid (PCI:0000:3b:00)",
        "NVRM: Xid (PCI:0000:3b:00): ",
        "NVRM: Xid (PCI:0000:3b:00): -79, x",
        "NVRM: Xid (PCI:0000:3b:00): 0x4f, x",
        "NVRM: Xid (PCI:0000:3b): 79, x",
        "NVRM: Xid (PCI:0000:3b:00.9): 79, x",
        "NVRM: Xid (PCI:123456789:3b:00): 79, x",
        "NVRM: Xid (PCI:0000:3b:00 GPU-CI:): 79, x",
        "NVRM: Xid (invalid): GPU has fallen off the bus",
        "xNVRM: Xid (PCI:0000:3b:00): 79, x",
        "NVRM: GPU Board Serial Number: 1320000000000",
        "NVRM: The NVIDIA GPU driver is good",
        "nvidia-nvswitch: SXid (PCI:0000:00:00.0): 1, Fatal",
        "nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal error",
        "[INFO] [tid 1] detected NVSwitch fatal error 20034",
        "app[1]: nvidia 0000:07:00.0: PCIe Bus Error: severity=Correctable",
        "mlx5_core 0000:d2:00.0: firmware version: 22.31.1014",
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(lines); i++)
        assert_int_equal(read_line(lines[i]).kind, WEIR_GPU_LOG_NONE);
}

static void prefixes_tell_the_origin(void **state)
{
    static const struct {
        const char *line;
        enum weir_log_origin origin;
        const char *message;
    } cases[] = {
        {"NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "NVRM: x"},
        {"[ 1.5] NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "NVRM: x"},
        {"[ 1.5][ T12] NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "NVRM: x"},
        {"<6>[ 1.5] NVRM: x", WEIR_LOG_ORIGIN_KERNEL, "NVRM: x"},
        {"<14>NVRM: x", WEIR_LOG_ORIGIN_USER, "NVRM: x"},
        {"<x>NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "<x>NVRM: x"},
        {"kern  :warn  : [ 1.5] NVRM: x", WEIR_LOG_ORIGIN_KERNEL, "NVRM: x"},
        {"daemon:info: NVRM: x", WEIR_LOG_ORIGIN_USER, "NVRM: x"},
        {"1.2.3.4: kern: err: [2026-01-02T03:04:05.1Z]: NVRM: x", WEIR_LOG_ORIGIN_KERNEL,
         "NVRM: x"},
        {"kernel: NVRM: x", WEIR_LOG_ORIGIN_KERNEL, "NVRM: x"},
        {"Feb  7 15:10:02 n kernel: [ 1.5] NVRM: x", WEIR_LOG_ORIGIN_KERNEL, "NVRM: x"},
        {"a b c d e f kernel: NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "a b c d e f kernel: NVRM: x"},
        {"a: kernel: NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "a: kernel: NVRM: x"},
        {"\"b kernel: NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "\"b kernel: NVRM: x"},
        {"[journal _BOOT_ID != current] kernel: NVRM: x", WEIR_LOG_ORIGIN_STALE, "NVRM: x"},
        {"[journal _BOOT_ID = current] NVRM: x", WEIR_LOG_ORIGIN_UNKNOWN, "NVRM: x"},
        {"[journal _TRANSPORT != kernel] NVRM: x", WEIR_LOG_ORIGIN_USER, "NVRM: x"},
        {"[journal _TRANSPORT=syslog] kernel: NVRM: x", WEIR_LOG_ORIGIN_USER, "NVRM: x"},
        {"[ERROR] x", WEIR_LOG_ORIGIN_UNKNOWN, "[ERROR] x"},
        {"[rank0] x", WEIR_LOG_ORIGIN_UNKNOWN, "[rank0] x"},
        {"[Feb 27 2025 15:10:02] [ERROR] x", WEIR_LOG_ORIGIN_UNKNOWN, "[ERROR] x"},
        {"[Thu Feb 27 15:10:02 2025] x", WEIR_LOG_ORIGIN_UNKNOWN, "x"},
        {"[    C3] x", WEIR_LOG_ORIGIN_UNKNOWN, "x"},
        {"[] x", WEIR_LOG_ORIGIN_UNKNOWN, "[] x"},
        {"[1", WEIR_LOG_ORIGIN_UNKNOWN, "[1"},
        {"[tid 12] x", WEIR_LOG_ORIGIN_UNKNOWN, "[tid 12] x"},
        {"", WEIR_LOG_ORIGIN_UNKNOWN, ""},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_str message;

        assert_int_equal(weir_log_prefix_strip(weir_str(cases[i].line), &message), cases[i].origin);
        assert_text(message, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_whole_xid),
        cmocka_unit_test(what_a_line_leaves_out_is_unknown),
        cmocka_unit_test(a_name_ends_where_the_text_begins),
        cmocka_unit_test(reads_causes_and_verdicts),
        cmocka_unit_test(reads_registers),
        cmocka_unit_test(reads_switches),
        cmocka_unit_test(reads_what_has_no_code),
        cmocka_unit_test(other_lines_are_none),
        cmocka_unit_test(prefixes_tell_the_origin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

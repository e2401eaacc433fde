/* Links, places and GPM of the simulated driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim_rig.h"

static int set_up(void **state)
{
    return sim_rig_open(state, "2x2xH100+2xH100-PCIe+L40S");
}

static void links_and_places(void **state)
{
    struct weir_nvml_fabric_v3 fabric = {.version = WEIR_NVML_STRUCT_VERSION(fabric, 3)};
    struct weir_nvml_pci_info pci;
    char text[32];
    unsigned value = 9;

    (void)state;
    assert_int_equal(sim.DeviceGetNvLinkState(handle(0), 17, &value), 0);
    assert_int_equal(value, 1);
    assert_int_equal(sim.DeviceGetNvLinkState(handle(0), 18, &value), WEIR_NVML_INVALID_ARGUMENT);
    assert_int_equal(sim.DeviceGetNvLinkRemoteDeviceType(handle(0), 0, &value), 0);
    assert_int_equal(value, WEIR_NVML_NVLINK_REMOTE_SWITCH);
    assert_int_equal(sim.DeviceGetP2PStatus(handle(0), handle(1), WEIR_NVML_P2P_NVLINK, &value), 0);
    assert_int_equal(value, WEIR_NVML_P2P_OK);
    assert_int_equal(sim.DeviceGetP2PStatus(handle(0), handle(2), WEIR_NVML_P2P_NVLINK, &value), 0);
    assert_int_equal(value, WEIR_NVML_P2P_NOT_SUPPORTED);
    /* Two cards under a bridge see each other. */
    assert_int_equal(sim.DeviceGetNvLinkRemoteDeviceType(handle(4), 0, &value), 0);
    assert_int_equal(value, WEIR_NVML_NVLINK_REMOTE_GPU);
    assert_int_equal(sim.DeviceGetNvLinkRemotePciInfo_v2(handle(4), 0, &pci), 0);
    assert_string_equal(pci.bus_id, "00000002:0B:00.0");
    assert_int_equal(sim.DeviceGetNvLinkRemotePciInfo_v2(handle(5), 3, &pci), 0);
    assert_string_equal(pci.bus_id, "00000002:08:00.0");
    assert_int_equal(sim.DeviceGetNvLinkState(handle(6), 0, &value), WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.DeviceGetTopologyCommonAncestor(handle(0), handle(1), &value), 0);
    assert_int_equal(value, WEIR_NVML_TOPOLOGY_SYSTEM);
    assert_int_equal(sim.DeviceGetNumaNodeId(handle(1), &value), 0);
    assert_int_equal(value, 1);
    assert_int_equal(sim.DeviceGetGpuFabricInfoV(handle(0), &fabric), 0);
    assert_int_equal(fabric.state, WEIR_NVML_FABRIC_COMPLETED);
    assert_int_equal(sim.DeviceGetGpuFabricInfoV(handle(4), &fabric), WEIR_NVML_NOT_SUPPORTED);
    assert_int_equal(sim.SimDeviceGetLabel(handle(0), "zone", text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(sim.SimDeviceGetLabel(handle(0), "colour", text, sizeof(text)),
                     WEIR_NVML_INVALID_ARGUMENT);
}

static void gpm_is_what_passed_between_two_samples(void **state)
{
    enum { N = 4 };
    union {
        struct weir_nvml_gpm_metrics call;
        char room[sizeof(struct weir_nvml_gpm_metrics) + N * sizeof(struct weir_nvml_gpm_metric)];
    } get = {.call = {.version = WEIR_NVML_GPM_VERSION, .n_metrics = N}};
    struct weir_nvml_gpm_metric *metrics = get.call.metrics;
    struct weir_nvml_gpm_support support = {.version = WEIR_NVML_GPM_SUPPORT_VERSION};
    int64_t now_ms = weir_clock_mono_ms();
    struct weir_sim_load load = {.pid = 7,
                                 .profile = WEIR_SIM_PROFILE_SAW_TOOTH,
                                 .gpu_instance = WEIR_NVML_NO_INSTANCE};
    struct weir_sim_reading a;
    struct weir_sim_reading b;

    (void)state;
    assert_int_equal(sim.GpmQueryDeviceSupport(handle(6), &support), 0);
    assert_int_equal(support.is_supported, 0);
    assert_int_equal(sim.GpmQueryDeviceSupport(handle(0), &support), 0);
    assert_int_equal(support.is_supported, 1);
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, now_ms, NULL), 0);
    assert_int_equal(sim.GpmSampleAlloc(&get.call.sample1), 0);
    assert_int_equal(sim.GpmSampleAlloc(&get.call.sample2), 0);
    assert_int_equal(sim.GpmMetricsGet(&get.call), WEIR_NVML_INVALID_ARGUMENT);
    sim.SimSetInstant(now_ms + 60000);
    assert_int_equal(sim.GpmSampleGet(handle(0), get.call.sample1), 0);
    sim.SimSetInstant(now_ms + 65000);
    assert_int_equal(sim.GpmSampleGet(handle(0), get.call.sample2), 0);
    for (uint32_t i = 0; i < N; i++)
        metrics[i].id = (uint32_t[]){WEIR_NVML_GPM_GRAPHICS, WEIR_NVML_GPM_PCIE_RX,
                                     WEIR_NVML_GPM_NVLINK_L17_TX, 9999}[i];
    assert_int_equal(sim.GpmMetricsGet(&get.call), 0);
    weir_sim_fleet_measure(fleet, 0, now_ms + 60000, &a);
    weir_sim_fleet_measure(fleet, 0, now_ms + 65000, &b);
    assert_float_equal(metrics[0].value, 100 * (b.base.busy_s - a.base.busy_s) / 5, 1e-6);
    assert_float_equal(metrics[1].value, (b.base.pcie_rx_kib - a.base.pcie_rx_kib) / 5 / 1024,
                       1e-3);
    assert_true(metrics[2].value > 0);
    assert_int_equal(metrics[3].result, WEIR_NVML_NOT_SUPPORTED);
    get.call.version = 2;
    assert_int_equal(sim.GpmMetricsGet(&get.call), WEIR_NVML_ARGUMENT_VERSION_MISMATCH);
    sim.GpmSampleFree(get.call.sample1);
    sim.GpmSampleFree(get.call.sample2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, sim_rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(links_and_places),
        TEST(gpm_is_what_passed_between_two_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

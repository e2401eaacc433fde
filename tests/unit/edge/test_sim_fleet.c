#include "edge/nvml/sim_fleet.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/time.h"
#include "base/units.h"
#include "model/gpu_catalogue.h"

#include "../../support/sim_process.h"
#include "temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct weir_sim_fleet *open_fleet(const char *spec, uint64_t seed)
{
    struct weir_sim_fleet *fleet = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_sim_fleet_open(temp_path("fleet"), weir_str(spec), seed, &fleet, &err) < 0)
        fail_msg("open '%s': %s", spec, err.text);
    return fleet;
}

static ino_t inode(void)
{
    struct stat st;

    assert_int_equal(stat(temp_path("fleet"), &st), 0);
    return st.st_ino;
}

static void makes_idle_gpus_of_the_models(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("2xH100+1xL40S", 1);
    const struct weir_sim_facts *h100 = weir_sim_fleet_facts(fleet, 1);
    const struct weir_sim_facts *l40s = weir_sim_fleet_facts(fleet, 2);
    struct weir_sim_state now;
    struct stat st;

    (void)state;
    assert_int_equal(weir_sim_fleet_size(fleet), 3);
    assert_string_equal(h100->name, "NVIDIA H100 80GB HBM3");
    assert_string_equal(h100->node, "sim-1");
    assert_string_equal(l40s->node, "sim-2");
    assert_int_equal(h100->memory_total_bytes, 81559 * WEIR_MIB);
    assert_int_equal(h100->memory_reserved_bytes, 480 * WEIR_MIB);
    assert_int_equal(h100->pci_device_id, 0x233010de);
    assert_int_equal(h100->architecture, 9);
    assert_int_equal(h100->mig_compute_slices, 7);
    assert_int_equal(l40s->mig_compute_slices, 0);
    assert_int_equal(l40s->pci_domain, 1);
    weir_sim_fleet_read(fleet, 1, &now);
    assert_int_equal(now.health, WEIR_SIM_OK);
    assert_int_equal(now.n_loads, 0);
    assert_float_equal(now.base.power_w, 70, 1e-9);
    assert_float_equal(now.base.temperature_c, 30, 1e-9);
    assert_int_equal(stat(temp_path("fleet"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    weir_sim_fleet_close(fleet);
}

static void every_nvidia_model_with_known_memory_can_be_simulated(void **state)
{
    unsigned n = 0;

    (void)state;
    for (size_t i = 0; i < weir_n_gpu_models; i++) {
        const struct weir_gpu_model *model = &weir_gpu_models[i];
        struct weir_sim_fleet *fleet;
        const struct weir_sim_facts *facts;

        if (model->vendor != WEIR_GPU_VENDOR_NVIDIA || model->memory_total_bytes == 0)
            continue;
        fleet = open_fleet(model->id, 1);
        facts = weir_sim_fleet_facts(fleet, 0);
        assert_string_equal(facts->name, model->device_name);
        assert_true(facts->memory_reserved_bytes > 0);
        assert_true(facts->memory_reserved_bytes < facts->memory_total_bytes / 20);
        assert_true(facts->architecture >= 5 && facts->architecture <= 10);
        assert_true(facts->power_limit_mw > 0 && facts->sm_clock_max_mhz > 0);
        weir_sim_fleet_close(fleet);
        n++;
    }
    assert_true(n >= 30);
}

static void keeps_a_file_of_the_same_gpus(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("4xH100", 1);
    char uuid[WEIR_NVML_UUID_BYTES];
    ino_t before = inode();
    struct weir_sim_state now;

    (void)state;
    memcpy(uuid, weir_sim_fleet_facts(fleet, 3)->uuid, sizeof(uuid));
    assert_int_equal(sim_set_process(fleet, 3, 4711, WEIR_GIB, NULL), 0);
    weir_sim_fleet_close(fleet);
    fleet = open_fleet(" 1x4x h100-sxm", 99);
    assert_int_equal(inode(), before);
    assert_string_equal(weir_sim_fleet_facts(fleet, 3)->uuid, uuid);
    weir_sim_fleet_read(fleet, 3, &now);
    assert_int_equal(now.n_loads, 1);
    assert_int_equal(now.loads[0].pid, 4711);
    assert_int_equal(now.loads[0].memory_bytes, WEIR_GIB);
    weir_sim_fleet_close(fleet);
}

static void another_fleet_replaces_it_and_shared_gpus_stay(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("4xH100", 5);
    char uuid[WEIR_NVML_UUID_BYTES];
    struct weir_sim_header old;
    ino_t before = inode();
    int fd = open(temp_path("fleet"), O_RDONLY | O_CLOEXEC);

    (void)state;
    memcpy(uuid, weir_sim_fleet_facts(fleet, 3)->uuid, sizeof(uuid));
    weir_sim_fleet_close(fleet);
    fleet = open_fleet("4xH100+2xL4", 6);
    assert_int_not_equal(inode(), before);
    assert_int_equal(weir_sim_fleet_size(fleet), 6);
    assert_string_equal(weir_sim_fleet_facts(fleet, 3)->uuid, uuid);
    assert_int_equal(pread(fd, &old, sizeof(old), 0), sizeof(old));
    assert_int_equal(old.retired, 1);
    close(fd);
    weir_sim_fleet_close(fleet);
}

static void refuses_a_second_writer(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("H100", 1);
    struct weir_sim_fleet *second = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_sim_fleet_open(temp_path("fleet"), WEIR_STR("H200"), 1, &second, &err),
                     WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "another writer"));
    assert_null(second);
    weir_sim_fleet_close(fleet);
    weir_sim_fleet_close(open_fleet("H200", 1));
}

static void a_bad_text_leaves_the_file_alone(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("H100", 1);
    struct weir_err err = WEIR_ERR_INIT;
    ino_t before = inode();

    (void)state;
    weir_sim_fleet_close(fleet);
    fleet = NULL;
    assert_int_equal(weir_sim_fleet_open(temp_path("fleet"), WEIR_STR("8xH10O"), 1, &fleet, &err),
                     WEIR_E_NOT_FOUND);
    assert_int_equal(err.column, 3);
    assert_null(fleet);
    assert_int_equal(inode(), before);
    assert_int_equal(weir_sim_fleet_open(temp_path("none/fleet"), WEIR_STR("H100"), 1, &fleet,
                                         &err),
                     WEIR_E_NOT_FOUND);
}

static void overwrite(off_t at, const void *data, size_t len)
{
    int fd = open(temp_path("fleet"), O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, len, at), len);
    close(fd);
}

static void replaces_what_it_cannot_read(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("H100", 21);
    char uuid[WEIR_NVML_UUID_BYTES];
    uint32_t version = WEIR_SIM_VERSION + 1;
    struct weir_sim_state now;

    (void)state;
    memcpy(uuid, weir_sim_fleet_facts(fleet, 0)->uuid, sizeof(uuid));
    assert_int_equal(sim_set_process(fleet, 0, 1, 1, NULL), 0);
    weir_sim_fleet_close(fleet);

    /* Another version: a new file, but the seed and so the UUIDs stay. */
    overwrite(offsetof(struct weir_sim_header, version), &version, sizeof(version));
    fleet = open_fleet("H100", 22);
    assert_string_equal(weir_sim_fleet_facts(fleet, 0)->uuid, uuid);
    weir_sim_fleet_read(fleet, 0, &now);
    assert_int_equal(now.n_loads, 0);
    weir_sim_fleet_close(fleet);

    /* One with a shorter header, as an earlier version has. */
    version = WEIR_SIM_VERSION - 1;
    overwrite(offsetof(struct weir_sim_header, version), &version, sizeof(version));
    assert_int_equal(truncate(temp_path("fleet"), 300), 0);
    fleet = open_fleet("H100", 23);
    assert_string_equal(weir_sim_fleet_facts(fleet, 0)->uuid, uuid);
    weir_sim_fleet_close(fleet);

    /* No fleet at all, too short, empty. */
    overwrite(0, "garbage", 8);
    weir_sim_fleet_close(open_fleet("H100", 1));
    assert_int_equal(truncate(temp_path("fleet"), 1000), 0);
    weir_sim_fleet_close(open_fleet("H100", 1));
    assert_int_equal(truncate(temp_path("fleet"), 0), 0);
    fleet = open_fleet("H100", 1);
    assert_int_equal(weir_sim_fleet_size(fleet), 1);
    weir_sim_fleet_close(fleet);
}

static void reads_a_damaged_slot_as_idle(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("H100", 1);
    uint32_t n = UINT32_MAX;
    struct weir_sim_state now;
    off_t slots = sizeof(struct weir_sim_header) + offsetof(struct weir_sim_device, slots);
    off_t at = offsetof(struct weir_sim_state, n_loads);

    (void)state;
    overwrite(slots + at, &n, sizeof(n));
    overwrite(slots + (off_t)sizeof(struct weir_sim_state) + at, &n, sizeof(n));
    weir_sim_fleet_read(fleet, 0, &now);
    assert_int_equal(now.n_loads, 0);
    assert_int_equal(sim_set_process(fleet, 0, 7, 1, NULL), 0);
    weir_sim_fleet_read(fleet, 0, &now);
    assert_int_equal(now.n_loads, 1);
    weir_sim_fleet_close(fleet);
}

static void holds_processes_to_the_memory(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("H100", 1);
    uint64_t room = (81559 - 480) * WEIR_MIB;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_sim_state now;

    (void)state;
    assert_int_equal(sim_set_process(fleet, 0, 10, room, &err), 0);
    assert_int_equal(sim_set_process(fleet, 0, 11, 1, &err), WEIR_E_TOO_LARGE);
    assert_int_equal(sim_set_process(fleet, 0, 10, room - 5, &err), 0);
    assert_int_equal(sim_set_process(fleet, 0, 11, 5, &err), 0);
    assert_int_equal(sim_set_process(fleet, 0, 11, UINT64_MAX, &err), WEIR_E_TOO_LARGE);
    assert_int_equal(sim_set_process(fleet, 0, 0, 1, &err), WEIR_E_INVALID);
    weir_sim_fleet_read(fleet, 0, &now);
    assert_int_equal(now.n_loads, 2);
    assert_int_equal(now.loads[0].memory_bytes, room - 5);
    assert_int_equal(now.loads[1].memory_bytes, 5);

    now.loads[1].pid = 10;
    assert_int_equal(weir_sim_fleet_write(fleet, 0, &now, &err), WEIR_E_INVALID);
    now.loads[1].pid = 11;
    now.loads[1].profile = WEIR_SIM_PROFILE_MAX;
    assert_int_equal(weir_sim_fleet_write(fleet, 0, &now, &err), WEIR_E_INVALID);
    now.n_loads = WEIR_SIM_PROCESSES_MAX + 1;
    assert_int_equal(weir_sim_fleet_write(fleet, 0, &now, &err), WEIR_E_TOO_LARGE);
    weir_sim_fleet_close(fleet);
}

static void removes_processes_and_knows_its_limit(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("H100", 1);
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_sim_state now;

    (void)state;
    for (uint32_t pid = 1; pid <= WEIR_SIM_PROCESSES_MAX; pid++)
        assert_int_equal(sim_set_process(fleet, 0, pid, pid, &err), 0);
    assert_int_equal(sim_set_process(fleet, 0, 1000, 1, &err), WEIR_E_TOO_LARGE);
    assert_int_equal(weir_sim_fleet_remove_process(fleet, 0, 1, &err), 0);
    assert_int_equal(weir_sim_fleet_remove_process(fleet, 0, 1, &err), WEIR_E_NOT_FOUND);
    assert_int_equal(weir_sim_fleet_remove_process(fleet, 0, WEIR_SIM_PROCESSES_MAX, &err), 0);
    weir_sim_fleet_read(fleet, 0, &now);
    assert_int_equal(now.n_loads, WEIR_SIM_PROCESSES_MAX - 2);
    assert_int_equal(now.loads[0].pid, 2);
    assert_int_equal(now.loads[WEIR_SIM_PROCESSES_MAX - 3].pid, WEIR_SIM_PROCESSES_MAX - 1);
    weir_sim_fleet_close(fleet);
}

static void each_class_has_its_profile(void **state)
{
    uint32_t seen = 0;

    (void)state;
    for (int class = 0; class < WEIR_CLASS_MAX; class ++)
        seen |= 1u << weir_sim_profile_of_class(class);
    assert_int_equal(__builtin_popcount(seen), WEIR_CLASS_MAX);
    assert_int_equal(weir_sim_profile_of_class(WEIR_CLASS_TRAINING), WEIR_SIM_PROFILE_STEADY);
}

static void a_load_has_its_past(void **state)
{
    struct weir_sim_fleet *fleet = open_fleet("H100", 1);
    int64_t now_ms = weir_clock_mono_ms();
    struct weir_sim_load load = {.pid = 3,
                                 .profile = WEIR_SIM_PROFILE_STEADY,
                                 .memory_bytes = WEIR_GIB,
                                 .gpu_instance = WEIR_NVML_NO_INSTANCE};
    struct weir_sim_reading reading;

    (void)state;
    assert_int_equal(weir_sim_fleet_set_load(fleet, 0, &load, now_ms - 6 * WEIR_TIME_H, NULL), 0);
    weir_sim_fleet_measure(fleet, 0, now_ms, &reading);
    assert_true(reading.base.power_w > 500 && reading.base.temperature_c > 60);
    /* 18 idle hours, then six busy ones. */
    assert_true(reading.base.energy_j > 70.0 * 18 * 3600 + 550.0 * 6 * 3600);
    weir_sim_fleet_measure(fleet, 0, now_ms - 3 * WEIR_TIME_H, &reading);
    assert_true(reading.base.power_w > 500);
    assert_int_equal(weir_sim_fleet_remove_load(fleet, 0, 3, now_ms, NULL), 0);
    weir_sim_fleet_measure(fleet, 0, now_ms + WEIR_TIME_MIN, &reading);
    assert_true(reading.base.power_w < 71 && reading.base.temperature_c > 35);
    weir_sim_fleet_close(fleet);
}

/* Several processes make the file at once: one wins, the others find it or are refused, and all
 * that got it saw the same GPU. */
static void writers_that_race_agree(void **state)
{
    enum { N = 8 };
    pid_t children[N];
    unsigned n_won = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct weir_sim_fleet *fleet = NULL;
            int rc = weir_sim_fleet_open(temp_path("fleet"), WEIR_STR("8xH100"), 100 + (unsigned)i,
                                         &fleet, NULL);

            weir_sim_fleet_close(fleet);
            _exit(rc == 0 ? 0 : rc == WEIR_E_UNAVAILABLE ? 1 : 2);
        }
    }
    for (int i = 0; i < N; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        n_won += WEXITSTATUS(status) == 0;
    }
    assert_true(n_won >= 1);
    weir_sim_fleet_close(open_fleet("8xH100", 1));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, temp_dir_make, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(makes_idle_gpus_of_the_models),
        TEST(every_nvidia_model_with_known_memory_can_be_simulated),
        TEST(keeps_a_file_of_the_same_gpus),
        TEST(another_fleet_replaces_it_and_shared_gpus_stay),
        TEST(refuses_a_second_writer),
        TEST(a_bad_text_leaves_the_file_alone),
        TEST(replaces_what_it_cannot_read),
        TEST(reads_a_damaged_slot_as_idle),
        TEST(holds_processes_to_the_memory),
        TEST(removes_processes_and_knows_its_limit),
        TEST(each_class_has_its_profile),
        TEST(a_load_has_its_past),
        TEST(writers_that_race_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

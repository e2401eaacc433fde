/* The model of a simulated GPU against its own definition: bounds, no jumps, energy as the integral
 * of power, one answer however it is asked. */
#include "edge/nvml/sim_model.h"

#include "base/count.h"
#include "base/rng.h"
#include "edge/nvml/nvml_abi_values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define H   INT64_C(3600000)

static const struct weir_sim_facts h100 = {
    .memory_total_bytes = 80 * GIB,
    .memory_reserved_bytes = GIB / 2,
    .power_idle_mw = 70000,
    .power_limit_mw = 700000,
    .sm_clock_idle_mhz = 345,
    .sm_clock_max_mhz = 1980,
    .memory_clock_max_mhz = 2619,
    .slowdown_c = 87,
    .sm_count = 132,
    .link = WEIR_SIM_LINK_SWITCH,
    .n_links = 18,
    .link_mb_per_s = 25000,
};

static struct weir_sim_state rest(int64_t at_ms)
{
    struct weir_sim_state state = {.n_loads = 0};

    weir_sim_model_rest(&h100, at_ms, &state.base);
    return state;
}

static struct weir_sim_reading read_at(const struct weir_sim_state *state, int64_t at_ms)
{
    struct weir_sim_reading reading;

    weir_sim_model_read(&h100, state, at_ms, &reading);
    return reading;
}

static void add(struct weir_sim_state *state, int64_t at_ms, uint32_t profile, uint64_t seed)
{
    weir_sim_model_advance(&h100, state, at_ms);
    state->loads[state->n_loads] = (struct weir_sim_load){
        .pid = 100 + state->n_loads,
        .profile = (uint16_t)profile,
        .seed = seed,
        .begin_ms = at_ms,
        .memory_bytes = 10 * GIB,
        .gpu_instance = WEIR_NVML_NO_INSTANCE,
        .share_milli = 1000,
    };
    state->n_loads++;
}

static uint64_t seed_of_test(void)
{
    const char *text = getenv("WEIR_SEED");

    return text != NULL ? strtoull(text, NULL, 10) : 1;
}

static void an_idle_gpu_stays_as_it_is(void **state_)
{
    struct weir_sim_state state = rest(5000);
    struct weir_sim_reading reading = read_at(&state, 5000 + 24 * H);

    (void)state_;
    assert_float_equal(reading.base.power_w, 70, 1e-9);
    assert_float_equal(reading.base.temperature_c, 30, 1e-9);
    assert_float_equal(reading.base.energy_j, 70.0 * 24 * 3600, 1e-3);
    assert_float_equal(reading.gpu, 0, 1e-12);
    assert_int_equal(reading.sm_clock_mhz, 345);
    assert_int_equal(reading.clock_reasons, WEIR_NVML_CLOCK_REASON_GPU_IDLE);
    /* Before its base it is what it was at its base. */
    reading = read_at(&state, 0);
    assert_int_equal(reading.base.at_ms, 5000);
    assert_float_equal(reading.base.energy_j, 0, 1e-12);
}

/* Whatever the loads, at any time: nothing leaves its range, and no sum goes back. */
static void nothing_leaves_its_bounds(void **state_)
{
    struct weir_rng rng;

    (void)state_;
    weir_rng_init(&rng, seed_of_test());
    for (int round = 0; round < 60; round++) {
        struct weir_sim_state state = rest(0);
        double energy = 0;
        int64_t at_ms = 0;

        for (int step = 0; step < 40; step++) {
            struct weir_sim_reading now;
            double sm = 0;

            at_ms += (int64_t)weir_rng_below(&rng, step % 5 == 0 ? 5000000 : 20000);
            if (state.n_loads < 6 && weir_rng_below(&rng, 3) == 0)
                add(&state, at_ms, (uint32_t)weir_rng_below(&rng, WEIR_SIM_PROFILE_MAX),
                    weir_rng_next(&rng));
            else if (state.n_loads > 0 && weir_rng_below(&rng, 5) == 0) {
                weir_sim_model_advance(&h100, &state, at_ms);
                state.n_loads--;
            }
            now = read_at(&state, at_ms);
            assert_true(now.gpu >= -1e-9 && now.gpu <= 1 + 1e-9);
            assert_true(now.memory >= -1e-9 && now.memory <= now.gpu + 1e-9);
            assert_true(now.decoder >= -1e-9 && now.encoder >= -1e-9 && now.tensor <= 1);
            assert_true(now.base.power_w >= 70 - 1e-6 && now.base.power_w <= 700 + 1e-6);
            assert_true(now.base.temperature_c >= 30 - 1e-6 && now.base.temperature_c <= 75 + 1e-6);
            assert_true(now.memory_temperature_c > now.base.temperature_c);
            assert_in_range(now.sm_clock_mhz, 345, 1980);
            assert_true(now.base.energy_j >= energy - 1e-6);
            assert_true(now.used_bytes <= h100.memory_total_bytes - h100.memory_reserved_bytes);
            energy = now.base.energy_j;
            for (uint32_t i = 0; i < state.n_loads; i++) {
                struct weir_sim_activity activity;

                weir_sim_model_activity(&state, i, at_ms, &activity);
                assert_true(activity.sm >= -1e-9);
                sm += activity.sm;
            }
            assert_float_equal(sm, now.gpu, 1e-9);
        }
    }
}

/* The sums against numeric integration: Simpson's rule over pieces of 20 ms. */
static void energy_is_the_integral_of_power(void **state_)
{
    enum { STEP_MS = 10, SPAN_MS = 300000 };
    struct weir_sim_state state = rest(0);
    double power = 0;
    double busy = 0;
    double nvlink = 0;
    struct weir_sim_reading end;

    (void)state_;
    add(&state, 0, WEIR_SIM_PROFILE_SAW_TOOTH, 7);
    add(&state, 4000, WEIR_SIM_PROFILE_BURSTY, 8);
    for (int64_t t = 4000; t < 4000 + SPAN_MS; t += 2 * STEP_MS) {
        struct weir_sim_reading a = read_at(&state, t);
        struct weir_sim_reading b = read_at(&state, t + STEP_MS);
        struct weir_sim_reading c = read_at(&state, t + 2 * STEP_MS);

        power += (a.base.power_w + 4 * b.base.power_w + c.base.power_w) * STEP_MS / 3000.0;
        busy += (a.gpu + 4 * b.gpu + c.gpu) * STEP_MS / 3000.0;
        nvlink += (a.nvlink_kib_s + 4 * b.nvlink_kib_s + c.nvlink_kib_s) * STEP_MS / 3000.0;
    }
    end = read_at(&state, 4000 + SPAN_MS);
    assert_float_equal(end.base.energy_j - state.base.energy_j, power, power * 1e-7);
    assert_float_equal(end.base.busy_s - state.base.busy_s, busy, busy * 1e-7);
    assert_float_equal(end.base.nvlink_kib - state.base.nvlink_kib, nvlink, nvlink * 1e-7);
    assert_true(power > 70.0 * SPAN_MS / 1000);
}

/* Temperature follows power as d/dt T = (T(P) - T) / 45 s, power its target in the same way. */
static void power_and_temperature_have_their_inertia(void **state_)
{
    struct weir_sim_state state = rest(0);

    (void)state_;
    add(&state, 1000, WEIR_SIM_PROFILE_STEADY, 3);
    for (int64_t t = 1500; t < 400000; t += 1700) {
        struct weir_sim_reading a = read_at(&state, t - 1);
        struct weir_sim_reading b = read_at(&state, t);
        struct weir_sim_reading c = read_at(&state, t + 1);
        double slope = (c.base.temperature_c - a.base.temperature_c) / 0.002;
        double target = 30 + 45 * (b.base.power_w - 70) / 630;

        assert_float_equal(slope, (target - b.base.temperature_c) / 45, 1e-6);
        slope = (c.base.power_w - a.base.power_w) / 0.002;
        target = 70 + 630 * 0.95 * b.gpu;
        assert_float_equal(slope, (target - b.base.power_w) / 2, 1e-3);
    }
}

static void changes_of_loads_make_no_jump(void **state_)
{
    struct weir_sim_state state = rest(0);

    (void)state_;
    for (int64_t at_ms = 1000; at_ms < 400000; at_ms += 31000) {
        struct weir_sim_reading before = read_at(&state, at_ms);
        struct weir_sim_reading after;

        if (state.n_loads < 3) {
            add(&state, at_ms, WEIR_SIM_PROFILE_STEADY + state.n_loads, (uint64_t)at_ms);
        } else {
            weir_sim_model_advance(&h100, &state, at_ms);
            state.n_loads = 0;
            state.power_cap_mw = 400000;
        }
        after = read_at(&state, at_ms);
        assert_float_equal(after.base.power_w, before.base.power_w, 1e-9);
        assert_float_equal(after.base.temperature_c, before.base.temperature_c, 1e-9);
        assert_float_equal(after.base.energy_j, before.base.energy_j, 1e-6);
        after = read_at(&state, at_ms + 1);
        assert_true(fabs(after.base.power_w - before.base.power_w) < 1);
        assert_true(fabs(after.base.temperature_c - before.base.temperature_c) < 0.01);
        assert_true(after.base.energy_j - before.base.energy_j < 0.8);
    }
}

/* A state that was moved on and one that was not say the same, after a second and after a week. */
static void the_way_there_does_not_matter(void **state_)
{
    static const int64_t spans_ms[] = {1, 1000, 60000, H, 24 * H, 7 * 24 * H};

    (void)state_;
    for (size_t i = 0; i < WEIR_COUNT_OF(spans_ms); i++) {
        struct weir_sim_state direct = rest(0);
        struct weir_sim_state moved;
        struct weir_sim_reading a;
        struct weir_sim_reading b;

        add(&direct, 0, WEIR_SIM_PROFILE_BURSTY, 11);
        add(&direct, 500, WEIR_SIM_PROFILE_STARVED, 12);
        moved = direct;
        for (int k = 1; k <= 17; k++)
            weir_sim_model_advance(&h100, &moved, 500 + spans_ms[i] * k / 20);
        a = read_at(&direct, 500 + spans_ms[i]);
        b = read_at(&moved, 500 + spans_ms[i]);
        assert_float_equal(a.gpu, b.gpu, 1e-6);
        assert_float_equal(a.base.power_w, b.base.power_w, 1e-3);
        assert_float_equal(a.base.temperature_c, b.base.temperature_c, 1e-3);
        assert_float_equal(a.base.energy_j, b.base.energy_j, a.base.energy_j * 1e-9 + 1e-6);
        assert_int_equal(a.used_bytes, b.used_bytes);
        a = read_at(&direct, 500 + spans_ms[i]);
        assert_memory_equal(&a, &(struct weir_sim_reading[]){read_at(&direct, 500 + spans_ms[i])},
                            sizeof(a));
    }
}

/* Means over ten minutes, an hour after the start. */
static double mean_of(uint32_t profile, uint64_t seed, double *ret_low, double *ret_high)
{
    struct weir_sim_state state = rest(0);

    add(&state, 0, profile, seed);
    *ret_low = 1;
    *ret_high = 0;
    for (int64_t t = H; t < H + 600000; t += 500) {
        double gpu = read_at(&state, t).gpu;

        *ret_low = fmin(*ret_low, gpu);
        *ret_high = fmax(*ret_high, gpu);
    }
    return (read_at(&state, H + 600000).base.busy_s - read_at(&state, H).base.busy_s) / 600;
}

static void profiles_look_like_what_they_are(void **state_)
{
    double low;
    double high;
    double mean;

    (void)state_;
    for (uint64_t seed = 1; seed < 20; seed++) {
        mean = mean_of(WEIR_SIM_PROFILE_STEADY, seed, &low, &high);
        assert_true(mean > 0.88 && low > 0.8);
        mean = mean_of(WEIR_SIM_PROFILE_SAW_TOOTH, seed, &low, &high);
        assert_true(mean > 0.5 && mean < 0.7 && low < 0.4 && high > 0.8);
        mean = mean_of(WEIR_SIM_PROFILE_IDLE, seed, &low, &high);
        assert_true(mean == 0 && high == 0);
        mean = mean_of(WEIR_SIM_PROFILE_STARVED, seed, &low, &high);
        assert_true(mean < 0.16 && high < 0.3 && high > 0.1);
        mean = mean_of(WEIR_SIM_PROFILE_BURSTY, seed, &low, &high);
        assert_true(mean > 0.3 && mean < 0.55 && high - low > 0.3);
        mean = mean_of(WEIR_SIM_PROFILE_INTERACTIVE, seed, &low, &high);
        assert_true(mean < 0.15);
    }
    assert_true(mean_of(WEIR_SIM_PROFILE_STEADY, 1, &low, &high) !=
                mean_of(WEIR_SIM_PROFILE_STEADY, 2, &low, &high));
}

static void memory_grows_within_a_minute_and_stays(void **state_)
{
    struct weir_sim_load load = {.profile = WEIR_SIM_PROFILE_BURSTY, .memory_bytes = 40 * GIB};
    uint64_t last = 0;

    (void)state_;
    assert_int_equal(weir_sim_model_memory(&load, 0), GIB / 2);
    for (int64_t t = 0; t <= 60000; t += 100) {
        uint64_t now = weir_sim_model_memory(&load, t);

        assert_true(now >= last);
        last = now;
    }
    assert_int_equal(weir_sim_model_memory(&load, 60000), 40 * GIB);
    assert_int_equal(weir_sim_model_memory(&load, 1000 * H), 40 * GIB);
    load.profile = WEIR_SIM_PROFILE_HELD;
    assert_int_equal(weir_sim_model_memory(&load, 0), 40 * GIB);
}

static void a_power_cap_holds_and_says_so(void **state_)
{
    struct weir_sim_state state = rest(0);
    struct weir_sim_reading now;

    (void)state_;
    add(&state, 0, WEIR_SIM_PROFILE_STEADY, 5);
    assert_true(read_at(&state, 300000).base.power_w > 560);
    assert_int_equal(read_at(&state, 300000).clock_reasons, 0);
    weir_sim_model_advance(&h100, &state, 300000);
    state.power_cap_mw = 350000;
    for (int64_t t = 330000; t < 700000; t += 777) {
        now = read_at(&state, t);
        assert_true(now.base.power_w <= 350 + 1e-3 && now.base.power_w > 250);
        assert_int_equal(now.clock_reasons, WEIR_NVML_CLOCK_REASON_SW_POWER_CAP);
        assert_true(now.sm_clock_mhz < 1980);
        assert_true(now.gpu > 0.8);
    }
    assert_float_equal(read_at(&state, 400000).base.power_violation_s, 100, 1e-9);
    state.power_cap_mw = 50000; /* below what an idle GPU takes */
    assert_float_equal(read_at(&state, 900000).base.power_w, 70, 1e-3);
}

static void a_thermal_cap_lowers_the_clock(void **state_)
{
    struct weir_sim_state state = rest(0);
    struct weir_sim_reading now;

    (void)state_;
    add(&state, 0, WEIR_SIM_PROFILE_STEADY, 5);
    state.thermal_limit_c = 60;
    now = read_at(&state, 5000);
    assert_int_equal(now.clock_reasons, 0);
    assert_int_equal(now.sm_clock_mhz, 1980);
    now = read_at(&state, 400000);
    assert_int_equal(now.clock_reasons, WEIR_NVML_CLOCK_REASON_SW_THERMAL);
    assert_in_range(now.sm_clock_mhz, 700, 1700);
    assert_float_equal(now.base.thermal_violation_s, 400, 1e-9);
}

static void instances_share_a_gpu_by_their_slices(void **state_)
{
    struct weir_sim_state state = rest(0);
    struct weir_sim_activity a;
    struct weir_sim_activity b;
    struct weir_sim_base half;
    struct weir_sim_base later;

    (void)state_;
    add(&state, 0, WEIR_SIM_PROFILE_STEADY, 5);
    add(&state, 0, WEIR_SIM_PROFILE_STEADY, 5);
    state.loads[0].gpu_instance = 1;
    state.loads[0].share_milli = 454;
    state.loads[1].gpu_instance = 2;
    state.loads[1].share_milli = 121;
    weir_sim_model_activity(&state, 0, 60000, &a);
    weir_sim_model_activity(&state, 1, 60000, &b);
    assert_float_equal(a.sm / b.sm, 454.0 / 121, 1e-9);
    assert_int_equal(weir_sim_model_used(&state, 1, H), 10 * GIB);
    assert_int_equal(weir_sim_model_used(&state, 2, H), 10 * GIB);
    assert_int_equal(weir_sim_model_used(&state, WEIR_NVML_NO_INSTANCE, H), 20 * GIB);
    /* The sums of an instance do not care for moves of the base. */
    weir_sim_model_instance(&h100, &state, 1, 60000, &half);
    weir_sim_model_advance(&h100, &state, 90000);
    weir_sim_model_instance(&h100, &state, 1, 120000, &later);
    assert_true(later.busy_s - half.busy_s > 0.454 * 0.8 * 60);
    assert_true(later.busy_s - half.busy_s < 0.454 * 60);
}

static void profiles_have_names(void **state_)
{
    uint32_t profile;

    (void)state_;
    for (uint32_t i = 0; i < WEIR_SIM_PROFILE_MAX; i++) {
        const char *name = weir_sim_profile_name(i);

        assert_true(weir_sim_profile_from_name(name, strlen(name), &profile));
        assert_int_equal(profile, i);
    }
    assert_string_equal(weir_sim_profile_name(WEIR_SIM_PROFILE_SAW_TOOTH), "saw-tooth");
    assert_false(weir_sim_profile_from_name("saw", 3, &profile));
    assert_string_equal(weir_sim_profile_name(WEIR_SIM_PROFILE_MAX), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_gpu_stays_as_it_is),
        cmocka_unit_test(nothing_leaves_its_bounds),
        cmocka_unit_test(energy_is_the_integral_of_power),
        cmocka_unit_test(power_and_temperature_have_their_inertia),
        cmocka_unit_test(changes_of_loads_make_no_jump),
        cmocka_unit_test(the_way_there_does_not_matter),
        cmocka_unit_test(profiles_look_like_what_they_are),
        cmocka_unit_test(memory_grows_within_a_minute_and_stays),
        cmocka_unit_test(a_power_cap_holds_and_says_so),
        cmocka_unit_test(a_thermal_cap_lowers_the_clock),
        cmocka_unit_test(instances_share_a_gpu_by_their_slices),
        cmocka_unit_test(profiles_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "edge/nvml/sim_model.h"

#include "edge/nvml/nvml_abi_values.h"
#include "edge/nvml/sim_math.h"

#include <math.h>

enum { WAVES_MAX = 4, TERMS_MAX = 2 * (1 + WAVES_MAX) };

static const double POWER_LAG_S = 2;
static const double TEMPERATURE_LAG_S = 45;
static const double START_S =
    5; /* of a load; neither of the two above, or the terms would differ */
static const double IDLE_C = 30;
static const double RISE_C = 45; /* at the limit of the power */
static const double MEMORY_ABOVE_C = 4;
static const double MEMORY_RISE_C = 8;

/* A sum of these is a signal: the real part of factor · e^(rate · t). */
struct term {
    double complex factor;
    double complex rate;
};

struct wave {
    double amplitude;
    double period_s;
};

/* What a fully busy load of a profile asks of the GPU, as shares of what there is. */
struct profile {
    const char *name;
    double mean;
    double spread; /* by which the mean may differ from load to load */
    struct wave waves[WAVES_MAX];
    bool is_saw; /* the waves are the first terms of one saw-tooth, and keep in step */
    double power;
    double memory;
    double tensor;
    double encoder;
    double decoder;
    double pcie_tx_kib_s;
    double pcie_rx_kib_s;
    double nvlink; /* of the links */
    double fill_s; /* of the memory */
};

static const struct profile profiles[WEIR_SIM_PROFILE_MAX] = {
    [WEIR_SIM_PROFILE_HELD] = {.name = "held"},
    [WEIR_SIM_PROFILE_STEADY] = {.name = "steady",
                                 .mean = 0.92,
                                 .spread = 0.01,
                                 .waves = {{0.03, 11}, {0.02, 67}, {0.02, 410}},
                                 .power = 0.95,
                                 .memory = 0.55,
                                 .tensor = 0.6,
                                 .pcie_tx_kib_s = 400e3,
                                 .pcie_rx_kib_s = 1200e3,
                                 .nvlink = 0.25,
                                 .fill_s = 45},
    [WEIR_SIM_PROFILE_SAW_TOOTH] = {.name = "saw-tooth",
                                    .mean = 0.6,
                                    .spread = 0.02,
                                    .waves = {{0.16, 30}, {-0.08, 15}, {0.0533, 10}, {-0.04, 7.5}},
                                    .is_saw = true,
                                    .power = 0.9,
                                    .memory = 0.5,
                                    .tensor = 0.5,
                                    .decoder = 0.1,
                                    .pcie_tx_kib_s = 300e3,
                                    .pcie_rx_kib_s = 2500e3,
                                    .nvlink = 0.2,
                                    .fill_s = 45},
    [WEIR_SIM_PROFILE_IDLE] = {.name = "idle", .fill_s = 20},
    [WEIR_SIM_PROFILE_STARVED] = {.name = "starved",
                                  .mean = 0.12,
                                  .spread = 0.02,
                                  .waves = {{0.05, 4}, {0.03, 19}, {0.02, 130}},
                                  .power = 0.8,
                                  .memory = 0.4,
                                  .tensor = 0.3,
                                  .decoder = 0.2,
                                  .pcie_tx_kib_s = 200e3,
                                  .pcie_rx_kib_s = 4000e3,
                                  .nvlink = 0.1,
                                  .fill_s = 30},
    [WEIR_SIM_PROFILE_BURSTY] = {.name = "bursty",
                                 .mean = 0.42,
                                 .spread = 0.03,
                                 .waves = {{0.15, 7}, {0.1, 29}, {0.08, 113}, {0.05, 1800}},
                                 .power = 0.8,
                                 .memory = 0.75,
                                 .tensor = 0.35,
                                 .encoder = 0.02,
                                 .decoder = 0.05,
                                 .pcie_tx_kib_s = 600e3,
                                 .pcie_rx_kib_s = 800e3,
                                 .nvlink = 0.1,
                                 .fill_s = 60},
    [WEIR_SIM_PROFILE_INTERACTIVE] = {.name = "interactive",
                                      .mean = 0.08,
                                      .spread = 0.005,
                                      .waves = {{0.04, 13}, {0.03, 301}},
                                      .power = 0.6,
                                      .memory = 0.4,
                                      .tensor = 0.2,
                                      .pcie_tx_kib_s = 100e3,
                                      .pcie_rx_kib_s = 200e3,
                                      .fill_s = 10},
};

static const struct profile *profile_of(const struct weir_sim_load *load)
{
    return &profiles[load->profile < WEIR_SIM_PROFILE_MAX ? load->profile : WEIR_SIM_PROFILE_HELD];
}

/* SplitMix64 (Steele, Lea and Flood 2014), as a number in 0 … 1. */
static double unit(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static double peak_of(const struct profile *profile)
{
    double peak = profile->mean + profile->spread;

    for (int i = 0; i < WAVES_MAX; i++)
        peak += fabs(profile->waves[i].amplitude);
    return peak;
}

/* The utilisation of a load that has the GPU for itself, as terms of the time since `from_ms`. */
static int terms_of(const struct weir_sim_load *load, int64_t from_ms, struct term terms[TERMS_MAX])
{
    const struct profile *profile = profile_of(load);
    double age_s = (double)(from_ms - load->begin_ms) / 1000;
    double start = age_s > 0 ? weir_sim_exp(-age_s / START_S) : 1;
    uint64_t seed = load->seed;
    double mean = profile->mean + profile->spread * (2 * unit(&seed) - 1);
    double stretch = 0.8 + 0.4 * unit(&seed);
    double phase = 2 * M_PI * unit(&seed);
    int n = 0;

    if (age_s < 0)
        age_s = 0;
    if (mean <= 0)
        return 0;
    terms[n++] = (struct term){mean, 0};
    for (int i = 0; i < WAVES_MAX && profile->waves[i].period_s > 0; i++) {
        const struct wave *wave = &profile->waves[i];
        double rate;
        double angle;

        if (!profile->is_saw && i > 0) {
            stretch = 0.8 + 0.4 * unit(&seed);
            phase = 2 * M_PI * unit(&seed);
        }
        rate = 2 * M_PI / (wave->period_s * stretch);
        angle = rate * age_s + (profile->is_saw ? (i + 1) * phase : phase);
        /* The real part of -i·e^(i·x) is sin x. */
        terms[n++] = (struct term){-I * wave->amplitude * weir_sim_turn(angle), I * rate};
    }
    for (int i = 0, waves = n; i < waves; i++)
        terms[n++] = (struct term){-terms[i].factor * start, terms[i].rate - 1 / START_S};
    return n;
}

static double value_of(const struct term *term, double t)
{
    return creal(term->factor * weir_sim_cexp(term->rate * t));
}

/* From 0 to t. */
static double integral_of(const struct term *term, double t)
{
    if (term->rate == 0)
        return creal(term->factor) * t;
    return creal(term->factor * (weir_sim_cexp(term->rate * t) - 1) / term->rate);
}

/* The response of a low-pass to the term, once settled. */
static struct term settled(const struct term *term, double lag_s)
{
    return (struct term){term->factor / (1 + term->rate * lag_s), term->rate};
}

/* How much of its own peak a load gets: its share, or less where those that share it with it could
 * ask for more than all. */
static double share_of(const struct weir_sim_state *state, uint32_t load)
{
    double asked = 0;

    for (uint32_t i = 0; i < state->n_loads; i++)
        if (state->loads[i].gpu_instance == state->loads[load].gpu_instance)
            asked += peak_of(profile_of(&state->loads[i]));
    return state->loads[load].share_milli / 1000.0 / (asked > 1 ? asked : 1);
}

/* The steady part of one load's doings, and the sums. */
static void add_load(const struct weir_sim_facts *facts, const struct weir_sim_load *load,
                     double share, double now, double sum, struct weir_sim_reading *reading)
{
    const struct profile *profile = profile_of(load);
    double links_kib_s = (double)facts->n_links * facts->link_mb_per_s * 1e6 / 1024;

    reading->gpu += share * now;
    reading->memory += share * now * profile->memory;
    reading->tensor += share * now * profile->tensor;
    reading->encoder += share * now * profile->encoder;
    reading->decoder += share * now * profile->decoder;
    reading->pcie_tx_kib_s += share * now * profile->pcie_tx_kib_s;
    reading->pcie_rx_kib_s += share * now * profile->pcie_rx_kib_s;
    reading->nvlink_kib_s += share * now * profile->nvlink * links_kib_s;
    reading->base.busy_s += share * sum;
    reading->base.memory_busy_s += share * sum * profile->memory;
    reading->base.tensor_busy_s += share * sum * profile->tensor;
    reading->base.pcie_tx_kib += share * sum * profile->pcie_tx_kib_s;
    reading->base.pcie_rx_kib += share * sum * profile->pcie_rx_kib_s;
    reading->base.nvlink_kib += share * sum * profile->nvlink * links_kib_s;
}

/* What power and temperature are made of: the draw above idle, as a fraction of what is left up to
 * the limit. */
struct draw {
    double now;        /* behind the first low-pass */
    double sum;        /* its integral */
    double heat;       /* behind the second */
    double start;      /* of the settled part behind the first, at the base */
    double heat_start; /* and behind both */
    double mean;       /* long-term */
};

static void add_draw(const struct term *term, double weight, double t, struct draw *draw)
{
    struct term lagged = settled(term, POWER_LAG_S);
    struct term heat = settled(&lagged, TEMPERATURE_LAG_S);

    draw->now += weight * value_of(&lagged, t);
    draw->sum += weight * integral_of(&lagged, t);
    draw->heat += weight * value_of(&heat, t);
    draw->start += weight * creal(lagged.factor);
    draw->heat_start += weight * creal(heat.factor);
    if (term->rate == 0)
        draw->mean += weight * creal(term->factor);
}

/* By how much a power cap cuts what the loads draw; 1: not at all. */
static double gain_of(const struct weir_sim_facts *facts, const struct weir_sim_state *state)
{
    double idle = facts->power_idle_mw;
    double range = (double)facts->power_limit_mw - idle;
    double peak = 0;

    if (state->power_cap_mw == 0 || range <= 0)
        return 1;
    for (uint32_t i = 0; i < state->n_loads; i++) {
        const struct profile *profile = profile_of(&state->loads[i]);

        peak += share_of(state, i) * peak_of(profile) * profile->power;
    }
    if (peak * range <= state->power_cap_mw - idle)
        return 1;
    return state->power_cap_mw > idle ? (state->power_cap_mw - idle) / (peak * range) : 0;
}

static double limit_c(const struct weir_sim_facts *facts, const struct weir_sim_state *state)
{
    return state->thermal_limit_c > 0 ? state->thermal_limit_c : facts->slowdown_c;
}

/* Adds what still decays of the base to the settled part. */
static void set_inertia(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                        const struct draw *draw, double t, struct weir_sim_base *base)
{
    double idle_w = facts->power_idle_mw / 1000.0;
    double range_w = facts->power_limit_mw / 1000.0 - idle_w;
    double left_p = weir_sim_exp(-t / POWER_LAG_S);
    double left_t = weir_sim_exp(-t / TEMPERATURE_LAG_S);
    double first = (state->base.power_w - idle_w) / range_w - draw->start;
    /* The decaying part of the power heats, too: a low-pass of an exponential. */
    double heated = first / (1 - TEMPERATURE_LAG_S / POWER_LAG_S);
    double second = (state->base.temperature_c - IDLE_C) / RISE_C - draw->heat_start - heated;

    base->power_w = idle_w + range_w * (draw->now + first * left_p);
    base->energy_j = state->base.energy_j + idle_w * t +
                     range_w * (draw->sum + first * POWER_LAG_S * (1 - left_p));
    base->temperature_c = IDLE_C + RISE_C * (draw->heat + heated * left_p + second * left_t);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static void set_clocks(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                       double gain, struct weir_sim_reading *reading)
{
    double over_c = reading->base.temperature_c - limit_c(facts, state);
    double clock = state->n_loads > 0 ? facts->sm_clock_max_mhz : facts->sm_clock_idle_mhz;

    if (reading->gpu < 0.005)
        reading->clock_reasons |= WEIR_NVML_CLOCK_REASON_GPU_IDLE;
    if (gain < 1) {
        reading->clock_reasons |= WEIR_NVML_CLOCK_REASON_SW_POWER_CAP;
        clock *=
            larger(0.35, weir_sim_cbrt(gain)); /* power grows with the third power of the clock */
    }
    if (over_c >= 0) {
        reading->clock_reasons |= WEIR_NVML_CLOCK_REASON_SW_THERMAL;
        clock *= larger(0.4, 1 - 0.03 * (over_c + 1));
    }
    reading->sm_clock_mhz = (uint32_t)larger(clock, facts->sm_clock_idle_mhz);
    reading->memory_clock_mhz = facts->memory_clock_max_mhz;
}

void weir_sim_model_read(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                         int64_t at_ms, struct weir_sim_reading *ret_reading)
{
    double t = at_ms > state->base.at_ms ? (double)(at_ms - state->base.at_ms) / 1000 : 0;
    double gain = gain_of(facts, state);
    uint64_t room = facts->memory_total_bytes - facts->memory_reserved_bytes;
    struct draw draw = {0};

    memset(ret_reading, 0, sizeof(*ret_reading));
    ret_reading->base = state->base;
    if (at_ms > state->base.at_ms)
        ret_reading->base.at_ms = at_ms;
    for (uint32_t i = 0; i < state->n_loads; i++) {
        const struct weir_sim_load *load = &state->loads[i];
        double share = share_of(state, i);
        struct term terms[TERMS_MAX];
        int n = terms_of(load, state->base.at_ms, terms);
        double now = 0;
        double sum = 0;

        for (int k = 0; k < n; k++) {
            now += value_of(&terms[k], t);
            sum += integral_of(&terms[k], t);
            add_draw(&terms[k], share * gain * profile_of(load)->power, t, &draw);
        }
        add_load(facts, load, share, now, sum, ret_reading);
    }
    set_inertia(facts, state, &draw, t, &ret_reading->base);
    if (gain < 1)
        ret_reading->base.power_violation_s += t;
    if (IDLE_C + RISE_C * draw.mean >= limit_c(facts, state))
        ret_reading->base.thermal_violation_s += t;
    ret_reading->memory_temperature_c =
        ret_reading->base.temperature_c + MEMORY_ABOVE_C +
        MEMORY_RISE_C * ret_reading->base.power_w * 1000 / facts->power_limit_mw;
    set_clocks(facts, state, gain, ret_reading);
    ret_reading->used_bytes = weir_sim_model_used(state, WEIR_NVML_NO_INSTANCE, at_ms);
    if (ret_reading->used_bytes > room)
        ret_reading->used_bytes = room;
}

void weir_sim_model_activity(const struct weir_sim_state *state, uint32_t load, int64_t at_ms,
                             struct weir_sim_activity *ret_activity)
{
    const struct profile *profile = profile_of(&state->loads[load]);
    int64_t base_ms = state->base.at_ms;
    struct term terms[TERMS_MAX];
    int n = terms_of(&state->loads[load], at_ms > base_ms ? at_ms : base_ms, terms);
    double sm = 0;

    for (int k = 0; k < n; k++)
        sm += value_of(&terms[k], 0);
    sm *= share_of(state, load);
    *ret_activity = (struct weir_sim_activity){sm, sm * profile->memory, sm * profile->encoder,
                                               sm * profile->decoder};
}

uint64_t weir_sim_model_memory(const struct weir_sim_load *load, int64_t at_ms)
{
    static const uint64_t CONTEXT_BYTES = UINT64_C(512) << 20; /* there before any data is */
    double fill_s = profile_of(load)->fill_s;
    double age_s = at_ms > load->begin_ms ? (double)(at_ms - load->begin_ms) / 1000 : 0;
    uint64_t context = load->memory_bytes < CONTEXT_BYTES ? load->memory_bytes : CONTEXT_BYTES;
    double x = age_s / fill_s;

    if (fill_s <= age_s)
        return load->memory_bytes;
    return context + (uint64_t)((double)(load->memory_bytes - context) * x * (2 - x));
}

uint64_t weir_sim_model_used(const struct weir_sim_state *state, uint32_t gpu_instance,
                             int64_t at_ms)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < state->n_loads; i++)
        if (gpu_instance == WEIR_NVML_NO_INSTANCE || state->loads[i].gpu_instance == gpu_instance)
            used += weir_sim_model_memory(&state->loads[i], at_ms);
    return used;
}

void weir_sim_model_instance(const struct weir_sim_facts *facts, const struct weir_sim_state *state,
                             uint32_t gpu_instance, int64_t at_ms, struct weir_sim_base *ret_sums)
{
    struct weir_sim_reading reading = {.base.at_ms = at_ms};

    for (uint32_t i = 0; i < state->n_loads; i++) {
        const struct weir_sim_load *load = &state->loads[i];
        double age_s = (double)(at_ms - load->begin_ms) / 1000;
        struct term terms[TERMS_MAX];
        double sum = 0;
        int n;

        if (load->gpu_instance != gpu_instance || age_s <= 0)
            continue;
        n = terms_of(load, load->begin_ms, terms);
        for (int k = 0; k < n; k++)
            sum += integral_of(&terms[k], age_s);
        add_load(facts, load, share_of(state, i), 0, sum, &reading);
    }
    *ret_sums = reading.base;
}

void weir_sim_model_rest(const struct weir_sim_facts *facts, int64_t at_ms,
                         struct weir_sim_base *ret_base)
{
    memset(ret_base, 0, sizeof(*ret_base));
    ret_base->at_ms = at_ms;
    ret_base->power_w = facts->power_idle_mw / 1000.0;
    ret_base->temperature_c = IDLE_C;
}

void weir_sim_model_advance(const struct weir_sim_facts *facts, struct weir_sim_state *state,
                            int64_t at_ms)
{
    struct weir_sim_reading reading;

    weir_sim_model_read(facts, state, at_ms, &reading);
    state->base = reading.base;
}

const char *weir_sim_profile_name(uint32_t profile)
{
    return profile < WEIR_SIM_PROFILE_MAX ? profiles[profile].name : "?";
}

bool weir_sim_profile_from_name(const char *name, size_t len, uint32_t *ret_profile)
{
    for (uint32_t i = 0; i < WEIR_SIM_PROFILE_MAX; i++)
        if (strlen(profiles[i].name) == len && memcmp(profiles[i].name, name, len) == 0) {
            *ret_profile = i;
            return true;
        }
    return false;
}

/* What it costs to sample GPUs: memory of this process before and after the reader threads began,
 * their CPU time, and how many they are.
 *
 *     sampling-bench [SECONDS [SPEC]]     60 and 8xH100, where not said
 *
 * The GPUs are simulated and busy; their driver library is loaded into this process, as a real one
 * would be, and counts as sampling. Readings are taken over as by weir up: when there is notice. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "edge/nvml/prober.h"
#include "edge/nvml/sim_fleet.h"
#include "edge/nvml/sim_install.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/edge/temp_dir.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <time.h>

enum { LOADS_AGE_MS = 600000, SETTLE_MS = 3000 };

struct memory {
    long rss_kib;
    long private_kib;
};

static struct memory memory_now(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    struct memory now = {0};
    char line[256];
    long kib;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "Rss: %ld", &kib) == 1)
            now.rss_kib = kib;
        if (sscanf(line, "Private_Clean: %ld", &kib) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &kib) == 1)
            now.private_kib += kib;
    }
    if (file != NULL)
        fclose(file);
    return now;
}

static int n_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;

    while (tasks != NULL && readdir(tasks) != NULL)
        n++;
    if (tasks != NULL)
        closedir(tasks);
    return n - 2; /* . and .. */
}

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A load on each, so that every reading has something to compute. */
static void make_fleet(const char *spec)
{
    struct weir_sim_fleet *fleet = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    int64_t began_ms = weir_clock_mono_ms() - LOADS_AGE_MS;

    if (weir_sim_install(temp_dir, weir_str(spec), 1, &fleet, &err) < 0) {
        fprintf(stderr, "sampling-bench: %s\n", err.text);
        exit(1);
    }
    for (uint32_t i = 0; i < weir_sim_fleet_size(fleet); i++) {
        struct weir_sim_load load = {.pid = 1000 + i,
                                     .profile = WEIR_SIM_PROFILE_STEADY,
                                     .seed = i,
                                     .begin_ms = began_ms,
                                     .memory_bytes = WEIR_GIB,
                                     .gpu_instance = WEIR_NVML_NO_INSTANCE,
                                     .compute_instance = WEIR_NVML_NO_INSTANCE};

        weir_sim_fleet_set_load(fleet, i, &load, began_ms, NULL);
    }
    weir_sim_fleet_close(fleet);
}

struct samples {
    unsigned n;
    int64_t last_ms[WEIR_SIM_DEVICES_MAX];
};

static void count_samples(struct weir_prober *prober, struct weir_arena *arena,
                          struct samples *samples)
{
    struct weir_gpu_device *devices;
    uint32_t n = 0;

    weir_arena_reset(arena);
    if (weir_prober_list(prober, arena, &devices, &n, NULL) < 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        if (devices[i].sample == NULL || devices[i].sample->read_ms == samples->last_ms[i])
            continue;
        samples->last_ms[i] = devices[i].sample->read_ms;
        samples->n++;
    }
}

/* As the loop of weir up does, and looks at each. Returns how many samples came. */
static unsigned take_over(struct weir_prober *prober, int64_t ms)
{
    static struct samples samples;
    struct pollfd notice = {.fd = weir_prober_fd(prober), .events = POLLIN};
    struct weir_arena arena = WEIR_ARENA_INIT;
    int64_t until_ms = weir_clock_mono_ms() + ms;
    unsigned before = samples.n;

    for (int64_t now_ms = weir_clock_mono_ms(); now_ms < until_ms; now_ms = weir_clock_mono_ms()) {
        if (poll(&notice, 1, (int)(until_ms - now_ms)) != 1)
            continue;
        weir_prober_collect(prober, &(struct weir_gpu_sink){0});
        count_samples(prober, &arena, &samples);
    }
    weir_arena_finish(&arena);
    return samples.n - before;
}

int main(int argc, char **argv)
{
    int64_t seconds = argc > 1 ? atoll(argv[1]) : 60;
    const char *spec = argc > 2 ? argv[2] : "8xH100";
    struct weir_prober_options options = weir_prober_defaults();
    struct weir_prober *prober = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    struct memory before;
    struct memory after;
    double began_s;
    unsigned n;

    temp_dir_make(NULL);
    make_fleet(spec);
    malloc_trim(0);
    before = memory_now();
    if (weir_prober_open(temp_path(WEIR_SIM_LIBRARY_PATH), &options, &prober, &err) < 0) {
        fprintf(stderr, "sampling-bench: %s\n", err.text);
        return 1;
    }
    take_over(prober, SETTLE_MS);
    began_s = cpu_s();
    n = take_over(prober, seconds * 1000);
    printf("%s, every %u ms, for %" PRId64 " s (%u samples)\n", spec, options.sample_ms, seconds,
           n);
    printf("CPU       %.3f %% of a core\n", 100 * (cpu_s() - began_s) / (double)seconds);
    after = memory_now();
    printf("resident  %.2f MiB before, %.2f MiB with: %.2f MiB more\n",
           (double)before.rss_kib / 1024, (double)after.rss_kib / 1024,
           (double)(after.rss_kib - before.rss_kib) / 1024);
    printf("private   %.2f MiB before, %.2f MiB with: %.2f MiB more\n",
           (double)before.private_kib / 1024, (double)after.private_kib / 1024,
           (double)(after.private_kib - before.private_kib) / 1024);
    printf("threads   %d besides its own\n", n_threads() - 1);
    weir_prober_close(prober);
    temp_dir_remove(NULL);
    return 0;
}

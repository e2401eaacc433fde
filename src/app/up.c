/* Opens everything in order, runs the loop, closes in reverse.
 *
 * One loop thread. A tick follows whatever made the state dirty: a request, a note from a shim, the
 * wake time of the last plan, or the once-a-second look at all attempts (notes are hints and may be
 * lost). */
#include "app/up.h"

#include "app/cgroup_root.h"
#include "app/datadir.h"
#include "app/decision_log.h"
#include "app/demo.h"
#include "app/earlier.h"
#include "app/fault_plan.h"
#include "app/known.h"
#include "app/schemas.h"
#include "app/up_impl.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/time.h"
#include "edge/api/api.h"
#include "edge/kernlog/kernlog.h"
#include "edge/local/cluster.h"
#include "edge/local/gpu_test.h"
#include "edge/local/output.h"
#include "edge/mps/supervisor.h"
#include "edge/nvml/gpus.h"
#include "edge/sqlite/store.h"
#include "fmt/url.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP_ENDED_MS    (30 * WEIR_TIME_DAY_MS)
#define OUTPUT_MAX_BYTES ((int64_t)64 * 1024 * 1024)

/* ---- opening ---- */

static int open_store(struct weir_up_state *up, struct weir_err *err)
{
    char path[WEIR_UP_PATH_BYTES];
    int r;

    snprintf(path, sizeof(path), "%s/weir.db", up->data_dir);
    if (chmod(path, 0600) < 0 && errno != ENOENT)
        return weir_error_errno(err, errno, "make '%s' private", path);
    r = weir_sqlite_open(path, &up->sqlite, &up->server.store, err);
    return r < 0 ? r : weir_datadir_lock_space(up->server.store.space, &up->space_fd, err);
}

static int open_jobs(struct weir_up_state *up, struct weir_err *err)
{
    static const char *const launcher_argv[] = {"weir-launcher", "launcher", NULL};
    char cgroup[WEIR_UP_PATH_BYTES] = "";
    struct weir_local_config config = {.data_dir = up->data_dir,
                                       .launcher_argv = launcher_argv,
                                       .cgroup = cgroup};
    int r = weir_cgroup_root(up->options->cgroup, cgroup, sizeof(cgroup), err);

    if (r == 0)
        r = weir_earlier_serial(&up->server.store, &config.serial_floor, err);
    if (r == 0)
        r = weir_local_open(&config, &up->local, &up->server.cluster, err);
    return r < 0 ? r : weir_earlier_check(&up->server.store, up->local, err);
}

/* The numbers of jobs whose output is there are not given again, even by a store that was made anew
 * or brought back from earlier: the one would be shown for the other's. */
static int keep_numbers(struct weir_up_state *up, struct weir_err *err)
{
    uint64_t last = 0;
    int r = weir_output_last_number(up->data_dir, &last, err);

    return r < 0 ? r : weir_sqlite_skip_numbers(up->sqlite, last, err);
}

static int end_strangers(struct weir_up_state *up, struct weir_err *err)
{
    uint32_t n = 0;
    int r = weir_local_end_strangers(up->local, &n, err);

    if (r == 0 && n > 0)
        weir_log_warn("strangers", "%u running jobs that are not in the store were ended", n);
    return r;
}

/* Whether it listens on an address that others than this machine can reach. */
static bool is_reachable(const char *address)
{
    struct weir_str host = weir_str_n(address, (size_t)(strrchr(address, ':') - address));

    if (weir_str_starts_with(host, WEIR_STR("[")))
        host = weir_str_sub(host, 1, host.len - 2);
    return !weir_url_is_loopback(host);
}

static int listen_tcp(struct weir_up_state *up, struct weir_err *err)
{
    const char *address =
        up->options->listen != NULL ? up->options->listen : WEIR_UP_LISTEN_DEFAULT;
    const char *colon = strrchr(address, ':');
    uint16_t port = 0;
    int r;

    if (address[0] == '\0')
        return 0;
    r = weir_api_listen_tcp(up->api, address, &port, err);
    if (r < 0)
        return weir_error_wrap(err, "--listen");
    if (is_reachable(address))
        weir_log_warn("listen",
                      "tokens and jobs cross the network in clear on %s: put a TLS proxy or an SSH "
                      "tunnel before it",
                      address);
    snprintf(up->address, sizeof(up->address), "http://%.*s:%u",
             (int)(colon != NULL ? colon - address : 0), address, port);
    return 0;
}

static void on_bad_tokens(const struct weir_err *err)
{
    char place[64] = "";

    if (err->line > 0)
        snprintf(place, sizeof(place), ", line %u, column %u", err->line, err->column);
    weir_log_error("tokens", "nobody is let in over TCP: %s%s%s%s%s", err->text, place,
                   err->hint[0] != '\0' ? " (" : "", err->hint, err->hint[0] != '\0' ? ")" : "");
}

static int open_api(struct weir_up_state *up, struct weir_err *err)
{
    char tokens[WEIR_UP_PATH_BYTES];
    char path[WEIR_UP_PATH_BYTES];
    struct weir_api_config config = {
        .tokens_path = tokens,
        .host = up->options->host,
        .version_text = up->options->version,
        .uid = geteuid(),
        .gid = getegid(),
        .on_bad_tokens = on_bad_tokens,
    };
    int r;

    snprintf(tokens, sizeof(tokens), "%s/tokens", up->data_dir);
    snprintf(path, sizeof(path), "%s/weir.sock", up->data_dir);
    snprintf(up->address, sizeof(up->address), "%s", path);
    weir_server_service(&up->server, &up->service);
    r = weir_api_create(&up->loop, &config, &up->service, &up->api, err);
    if (r == 0)
        r = weir_api_listen_unix(up->api, path, err);
    return r < 0 ? r : listen_tcp(up, err);
}

static int seed_everything(struct weir_up_state *up, struct weir_err *err)
{
    uint64_t seed[3];

    if (getrandom(seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        return weir_error(err, WEIR_E_IO, "get random bytes");
    weir_map_seed(seed[0], seed[1]);
    up->server.seed = seed[2];
    return 0;
}

static void set_defaults(struct weir_server *server)
{
    server->policy = weir_policy_default();
    server->clock = (struct weir_clock){NULL, weir_up_clock};
    server->uid = geteuid();
    server->output_max_bytes = OUTPUT_MAX_BYTES;
    server->keep_ended_ms = KEEP_ENDED_MS;
    server->changed = weir_up_changed;
    weir_clock_boot_id(server->boot_id);
    if (gethostname(server->node_name, sizeof(server->node_name) - 1) < 0 ||
        server->node_name[0] == '\0')
        snprintf(server->node_name, sizeof(server->node_name), "localhost");
}

static int open_data_dir(struct weir_up_state *up, struct weir_err *err)
{
    char chosen[WEIR_DATADIR_PATH_MAX];
    const char *path = up->options->data_dir;
    int r = 0;

    if (path == NULL) {
        r = weir_datadir_default(chosen, sizeof(chosen), err);
        path = chosen;
    }
    if (r == 0)
        r = weir_datadir_prepare(path, up->data_dir, sizeof(up->data_dir), err);
    if (r < 0)
        return up->options->data_dir != NULL ? weir_error_wrap(err, "--data") : r;
    return weir_datadir_lock(up->data_dir, &up->lock_fd, err);
}

/* A job that was submitted for the one kind must not end up on the other. */
static int choose_gpus(struct weir_up_state *up, enum weir_gpus_known *ret_known,
                       struct weir_err *err)
{
    struct weir_str simulate = weir_str(up->options->simulate);
    uint32_t n_real = 0;
    uint32_t n_simulated = 0;
    int r = weir_known_count(&up->server.store, &n_real, &n_simulated, err);

    if (r < 0)
        return r;
    if (n_real > 0 && simulate.len > 0 && !weir_str_eq_c(simulate, "auto")) {
        weir_error(err, WEIR_E_INVALID, "--simulate: '%s' is the data of a weir with real GPUs",
                   up->data_dir);
        return weir_error_hint(err, "give simulated ones a directory of their own with --data");
    }
    if (n_simulated > 0 && simulate.len == 0) {
        weir_error(err, WEIR_E_INVALID, "'%s' is the data of a weir with simulated GPUs",
                   up->data_dir);
        return weir_error_hint(err, "go on with --simulate, or give real GPUs a directory of their "
                                    "own with --data");
    }
    *ret_known = n_real > 0        ? WEIR_GPUS_KNOWN_REAL
                 : n_simulated > 0 ? WEIR_GPUS_KNOWN_SIMULATED
                                   : WEIR_GPUS_KNOWN_NONE;
    return 0;
}

/* What is wrong with the text of --simulate has a column in it, and is wrong use. */
static int open_gpus(struct weir_up_state *up, struct weir_err *err)
{
    char hint[WEIR_ERR_HINT_MAX];
    enum weir_gpus_known known = WEIR_GPUS_KNOWN_NONE;
    int r = choose_gpus(up, &known, err);

    if (r < 0)
        return r;
    r = weir_gpus_open(up->data_dir, weir_str(up->options->simulate), known, &up->gpus,
                       &up->server.gpu, err);
    if (r == 0 || err->column == 0 || up->options->simulate == NULL)
        return r;
    snprintf(hint, sizeof(hint), "%s", err->hint);
    weir_error(err, WEIR_E_INVALID, "--simulate '%.100s': %s", up->options->simulate, err->text);
    return weir_error_hint(err, "%s%s`weir up --simulate list` names the models", hint,
                           hint[0] != '\0' ? "; " : "");
}

/* On simulated GPUs this program stands in for the real one. */
static int choose_mps(struct weir_up_state *up, struct weir_mps_program *ret_program,
                      struct weir_err *err)
{
    static const char *const real[] = {"nvidia-cuda-mps-control", NULL};
    static const char *const simulated[] = {"weir-mps-control", "mps-control", NULL};
    const char *given = up->options->mps_control;

    *ret_program = (struct weir_mps_program){NULL, real};
    if (given != NULL && strcmp(given, "off") == 0)
        return 0;
    if (given == NULL && weir_gpus_are_simulated(up->gpus)) {
        *ret_program = (struct weir_mps_program){"/proc/self/exe", simulated};
        return 0;
    }
    if (weir_mps_find_program(given != NULL ? given : real[0], up->mps_exe, sizeof(up->mps_exe)))
        ret_program->exe = up->mps_exe;
    else if (given != NULL)
        return weir_error(err, WEIR_E_NOT_FOUND, "--mps-control: there is no program '%s'", given);
    return 0;
}

/* Without it GPUs are shared by budgets that are watched. */
static int open_mps(struct weir_up_state *up, struct weir_err *err)
{
    struct weir_mps_program program;
    int r = choose_mps(up, &program, err);

    if (r == 0)
        (void)weir_mps_open(up->data_dir, &program, weir_mps_times_default(), &up->mps,
                            &up->server.mps, &up->no_mps);
    return r;
}

static int open_tests(struct weir_up_state *up, struct weir_err *err)
{
    uint32_t n = 0;
    int r =
        weir_gpu_tests_open(up->data_dir, up->options->gpu_test, up->options->gpu_test_timeout_ms,
                            &up->gpu_tests, &up->server.gpu_test, &n, err);

    if (r == 0 && n > 0)
        weir_log_warn("gpu.test-strays", "%u processes of tests that were cut off were ended", n);
    return r;
}

/* Without it faults are known by what the driver tells alone. */
static void open_kernlog(struct weir_up_state *up)
{
    bool is_simulated = weir_gpus_are_simulated(up->gpus);
    struct weir_err why = WEIR_ERR_INIT;
    char path[WEIR_UP_PATH_BYTES] = "/dev/kmsg";

    if (is_simulated)
        snprintf(path, sizeof(path), "%s/sim/kmsg", up->data_dir);
    if (weir_kernlog_open(path, is_simulated, &up->kernlog, &up->server.fault_source, &why) < 0)
        weir_log_warn("kernlog", "%s: of GPU faults only what the driver tells is known", why.text);
}

static int open_all(struct weir_up_state *up, struct weir_err *err)
{
    int r = open_data_dir(up, err);

    if (r == 0)
        r = seed_everything(up, err);
    if (r == 0)
        r = weir_schemas_load(err);
    if (r == 0)
        r = open_store(up, err);
    if (r == 0)
        r = open_jobs(up, err);
    if (r == 0)
        r = open_gpus(up, err);
    if (r == 0 && up->options->simulate_faults != NULL)
        r = weir_fault_plan_read(up->gpus, up->options->simulate_faults, err);
    if (r == 0)
        r = open_mps(up, err);
    if (r == 0)
        r = open_tests(up, err);
    if (r == 0)
        open_kernlog(up);
    if (r == 0)
        r = weir_decision_log_open(up->data_dir, weir_decision_limits_default(), &up->server.log,
                                   err);
    if (r == 0)
        r = keep_numbers(up, err);
    if (r == 0)
        r = weir_server_load(&up->server, err);
    if (r == 0)
        r = end_strangers(up, err);
    if (r == 0)
        r = weir_server_first_run(&up->server, err);
    if (r == 0 && up->options->removes_orphans)
        weir_server_remove_orphans(&up->server);
    if (r == 0)
        r = weir_server_tick(&up->server, err);
    if (r == 0)
        r = weir_up_start(up, err);
    return r < 0 ? r : open_api(up, err);
}

/* ---- closing ---- */

static void close_all(struct weir_up_state *up)
{
    weir_up_stop(up);
    weir_server_unload(&up->server);
    weir_server_forget_reshapes(&up->server);
    weir_vec_finish(&up->server.dones);
    weir_arena_finish(&up->server.plan_arenas[0]);
    weir_arena_finish(&up->server.plan_arenas[1]);
    weir_decision_log_close(up->server.log);
    weir_kernlog_close(up->kernlog);
    weir_mps_close(up->mps);
    weir_vec_finish(&up->server.mps_marks);
    weir_gpu_tests_close(up->gpu_tests);
    weir_gpus_close(up->gpus);
    weir_local_close(up->local);
    weir_sqlite_close(up->sqlite);
    weir_schemas_unload();
    if (up->space_fd >= 0)
        close(up->space_fd);
    if (up->lock_fd >= 0)
        close(up->lock_fd);
}

static void say_confinement(const struct weir_up_state *up)
{
    if (up->mps == NULL)
        weir_log_warn("mps", "no GPU is shared under MPS: %s", up->no_mps.text);
    else if (!up->server.mps.can_begin)
        weir_log_info("mps", "%s: no GPU is shared under MPS",
                      up->options->mps_control != NULL ? "it is off"
                                                       : "no nvidia-cuda-mps-control along PATH");
    if (!weir_local_limits_memory(up->local))
        weir_log_info("cgroup", "%s: memory limits are not enforced",
                      strcmp(up->options->cgroup, "off") == 0
                          ? "jobs are not confined"
                          : "no cgroup v2 with a memory controller that weir may use");
}

int weir_up(const struct weir_up_options *options, struct weir_err *err)
{
    static struct weir_up_state up; /* large, and one of a kind */
    int r;

    up = (struct weir_up_state){
        .options = options, .lock_fd = -1, .space_fd = -1, .launcher_fd = -1};
    set_defaults(&up.server);
    up.server.changed_arg = &up;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails then, as on a full disk */
    umask(0077);              /* what weir keeps is nobody else's business; jobs have their own */
    uv_loop_init(&up.loop);
    r = open_all(&up, err);
    if (r == 0) {
        if (options->demo && weir_gpus_are_simulated(up.gpus)) {
            weir_demo_submit(&up.service, &up.server.store);
            weir_up_tick(&up);
        }
        say_confinement(&up);
        printf("ready on %s with %s, data in %s\n", up.address, weir_gpus_describe(up.gpus),
               up.data_dir);
        fflush(stdout);
        if (options->simulate_faults != NULL)
            r = weir_fault_plan_start(up.gpus, &up.loop, err);
    }
    if (r == 0) {
        uv_run(&up.loop, UV_RUN_DEFAULT);
        weir_log_info("stopped", "weir is down");
    }
    close_all(&up);
    return r;
}

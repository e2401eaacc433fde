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
#include "app/selftest.h"
#include "app/server.h"
#include "base/cleanup.h"
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
#include <uv.h>

enum {
    LOOK_EVERY_MS = 1000,
    SAMPLES_WAIT_MS = 50, /* for those of the other devices, which come one after the other */
    DEVICES_EVERY_MS = 5000,
    PRUNE_EVERY_MS = 60000,
    SHUTDOWN_GRACE_MS = 2000,
    PATH_BYTES = WEIR_DATADIR_PATH_MAX + 64,
};
#define KEEP_ENDED_MS    (30 * WEIR_TIME_DAY_MS)
#define OUTPUT_MAX_BYTES ((int64_t)64 * 1024 * 1024)

struct up {
    const struct weir_up_options *options;
    char data_dir[WEIR_DATADIR_PATH_MAX];
    char address[PATH_BYTES]; /* for people: where to reach it */
    int lock_fd;
    int space_fd;
    struct weir_sqlite *sqlite;
    struct weir_local *local;
    struct weir_gpus *gpus;
    struct weir_mps_supervisor *mps; /* NULL: it could not be opened */
    char mps_exe[PATH_BYTES];
    struct weir_err no_mps; /* why the daemons cannot be watched over; code 0: they are */
    struct weir_gpu_tests *gpu_tests;
    struct weir_kernlog *kernlog; /* NULL: it may not be read */
    bool kernlog_is_broken;       /* and cannot be watched */
    struct weir_api *api;
    struct weir_server server;
    struct weir_service service;

    uv_loop_t loop;
    uv_check_t after_io;
    uv_poll_t notes;
    uv_poll_t gpu_notes;
    uv_poll_t kernlog_notes;
    uv_poll_t mps_notes;
    uv_poll_t test_notes;
    uv_poll_t *launcher;
    int launcher_fd;
    int launcher_events;
    bool is_launcher_failing; /* and that was said */
    uv_timer_t wake;
    uv_timer_t look;
    uv_timer_t samples;
    uv_signal_t on_term;
    uv_signal_t on_int;
    int64_t devices_mono_ms; /* when they were last read */
    int64_t prune_mono_ms;
};

static struct weir_now read_clock(void *ctx)
{
    (void)ctx;
    return (struct weir_now){weir_clock_wall_ms(), weir_clock_mono_ms()};
}

/* ---- the loop ---- */

static void watch_launcher(struct up *up);

static void on_wake(uv_timer_t *timer);

static void schedule(struct up *up)
{
    int64_t now_ms = weir_clock_wall_ms();
    int64_t wake_ms = weir_server_wake(&up->server);

    if (wake_ms == WEIR_TIME_NEVER) {
        uv_timer_stop(&up->wake);
        return;
    }
    /* A jump of the wall clock is noticed by the once-a-second look. */
    uv_update_time(&up->loop);
    uv_timer_start(&up->wake, on_wake, wake_ms > now_ms ? (uint64_t)(wake_ms - now_ms) + 1 : 1, 0);
}

static void tick(struct up *up)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (up->server.is_stopping)
        return;
    if (up->server.dirty && weir_server_may_tick(&up->server)) {
        if (weir_server_tick(&up->server, &err) < 0)
            weir_log_error("tick.failed", "%s", err.text);
        watch_launcher(up);
    }
    schedule(up);
}

static void on_wake(uv_timer_t *timer)
{
    struct up *up = timer->data;

    up->server.dirty = true;
    tick(up);
}

static void after_io(uv_check_t *check)
{
    struct up *up = check->data;

    if (up->server.dirty)
        tick(up);
}

static void on_notes(uv_poll_t *poll, int status, int events)
{
    struct up *up = poll->data;

    (void)events;
    if (status != 0)
        return;
    weir_server_take_notices(&up->server, up->api != NULL && weir_api_is_watched(up->api));
    if (!up->server.dirty) /* else a tick follows */
        schedule(up);
}

static void on_samples(uv_timer_t *timer)
{
    struct up *up = timer->data;

    if (up->server.edit == NULL || up->server.is_stopping)
        return;
    weir_server_look_at_use(&up->server);
    tick(up);
}

static void on_gpus(uv_poll_t *poll, int status, int events)
{
    struct up *up = poll->data;
    bool is_changed = status >= 0 && weir_server_collect_gpus(&up->server);

    (void)events;
    if (status < 0 || up->server.edit == NULL || up->server.is_stopping)
        return;
    if (!uv_is_active((uv_handle_t *)&up->samples))
        uv_timer_start(&up->samples, on_samples, SAMPLES_WAIT_MS, 0);
    if (!is_changed)
        return;
    weir_server_look(&up->server, true);
    up->devices_mono_ms = read_clock(NULL).mono_ms;
}

static void on_mps(uv_poll_t *poll, int status, int events)
{
    struct up *up = poll->data;

    (void)events;
    if (status < 0)
        uv_poll_stop(poll);
    else if (!up->server.is_stopping)
        weir_server_look_at_mps(&up->server);
}

/* The tick reads it. Until it has there is something to read, all the time, so what comes next is
 * left to the once-a-second look: a kernel that chats makes no tick of every line, and a tick that
 * has to wait is not asked for without pause. */
static void on_kernlog(uv_poll_t *poll, int status, int events)
{
    struct up *up = poll->data;

    (void)events;
    uv_poll_stop(poll);
    up->kernlog_is_broken = status < 0;
    if (status >= 0 && !up->server.is_stopping)
        up->server.dirty = true;
}

static void watch_kernlog(struct up *up)
{
    if (up->kernlog == NULL || weir_kernlog_fd(up->kernlog) < 0 || up->kernlog_is_broken ||
        up->server.is_stopping || uv_is_active((uv_handle_t *)&up->kernlog_notes))
        return;
    uv_poll_start(&up->kernlog_notes, UV_READABLE, on_kernlog);
}

/* A tick follows where one is due. */
static void on_tests(uv_poll_t *poll, int status, int events)
{
    struct up *up = poll->data;

    (void)events;
    if (status < 0)
        uv_poll_stop(poll); /* the once-a-second look goes on */
    else if (up->server.edit != NULL && !up->server.is_stopping)
        weir_selftest_collect(&up->server);
}

static void note_launcher(struct up *up, int result, const char *why)
{
    if (result < 0 && !up->is_launcher_failing)
        weir_log_error("launcher", "no job starts: %s; tried again every second", why);
    if (result == 0 && up->is_launcher_failing)
        weir_log_info("launcher", "jobs start again");
    up->is_launcher_failing = result < 0;
}

static void service_launcher(struct up *up)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r = weir_local_service(up->local, &err);

    if (r < 0)
        note_launcher(up, r, err.text);
    up->server.dirty = true; /* refusals are noticed by the tick */
    watch_launcher(up);
}

static void on_launcher(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    service_launcher(poll->data);
}

static void free_handle(uv_handle_t *handle)
{
    weir_mem_free(handle);
}

/* The launcher's socket is another one after it was started anew; a poll handle is bound to one. */
static void watch_launcher(struct up *up)
{
    int fd = weir_local_launcher_fd(up->local);
    int events = UV_READABLE | (weir_local_wants_write(up->local) ? UV_WRITABLE : 0);

    if (up->launcher != NULL && fd != up->launcher_fd) {
        uv_close((uv_handle_t *)up->launcher, free_handle);
        up->launcher = NULL;
    }
    if (fd < 0)
        return;
    if (up->launcher == NULL) {
        up->launcher = weir_mem_alloc_array(1, sizeof(*up->launcher));
        if (up->launcher == NULL || uv_poll_init(&up->loop, up->launcher, fd) < 0) {
            up->launcher = weir_mem_free(up->launcher);
            note_launcher(up, WEIR_E_NO_MEMORY, "it cannot be watched");
            return;
        }
        up->launcher->data = up;
        up->launcher_fd = fd;
        up->launcher_events = 0;
        note_launcher(up, 0, NULL);
    }
    if (events != up->launcher_events)
        uv_poll_start(up->launcher, events, on_launcher);
    up->launcher_events = events;
}

static void on_look(uv_timer_t *timer)
{
    struct up *up = timer->data;
    struct weir_now now = read_clock(NULL);
    struct weir_err err = WEIR_ERR_INIT;
    bool devices_too = weir_server_collect_gpus(&up->server) ||
                       now.mono_ms - up->devices_mono_ms >= DEVICES_EVERY_MS;

    if (up->launcher == NULL)
        service_launcher(up);
    if (up->server.edit == NULL) {
        up->server.dirty = true; /* the tick tries to load again */
    } else {
        weir_selftest_collect(&up->server);
        weir_server_look(&up->server, devices_too);
        up->devices_mono_ms = devices_too ? now.mono_ms : up->devices_mono_ms;
    }
    if (weir_server_wake(&up->server) <= now.wall_ms)
        up->server.dirty = true;
    tick(up);
    watch_kernlog(up);
    if (up->server.store.sync(up->server.store.ctx, &err) < 0)
        weir_log_warn("store.sync", "%s", err.text);
    if (now.mono_ms - up->prune_mono_ms >= PRUNE_EVERY_MS && !up->server.in_transaction) {
        if (!weir_server_prune(&up->server, now))
            up->prune_mono_ms = now.mono_ms;
    }
}

static void on_api_closed(void *ctx)
{
    struct up *up = ctx;

    up->api = NULL;
    uv_stop(&up->loop);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct up *up = handle->data;

    (void)number;
    if (up->server.is_stopping)
        return;
    weir_server_end(&up->server);
    uv_timer_stop(&up->wake);
    weir_log_info("stop", "jobs go on; `weir up` on the same directory takes them over");
    weir_api_shutdown(up->api, SHUTDOWN_GRACE_MS, on_api_closed, up);
}

static void on_changed(void *arg)
{
    struct up *up = arg;

    if (up->api != NULL)
        weir_api_changed(up->api);
}

static int start_loop(struct up *up, struct weir_err *err)
{
    int r =
        uv_poll_init(&up->loop, &up->notes, up->server.cluster.notice_fd(up->server.cluster.ctx));

    if (r < 0)
        return weir_error(err, WEIR_E_IO, "watch for notes: %s", uv_strerror(r));
    r = uv_poll_init(&up->loop, &up->gpu_notes, up->server.gpu.notice_fd);
    if (r < 0)
        return weir_error(err, WEIR_E_IO, "watch the GPUs: %s", uv_strerror(r));
    r = uv_poll_init(&up->loop, &up->test_notes, up->server.gpu_test.notice_fd);
    if (r < 0)
        return weir_error(err, WEIR_E_IO, "watch the tests of GPUs: %s", uv_strerror(r));
    up->test_notes.data = up;
    uv_poll_start(&up->test_notes, UV_READABLE, on_tests);
    if (up->kernlog != NULL && weir_kernlog_fd(up->kernlog) >= 0) {
        r = uv_poll_init(&up->loop, &up->kernlog_notes, weir_kernlog_fd(up->kernlog));
        if (r < 0)
            return weir_error(err, WEIR_E_IO, "watch the kernel's log: %s", uv_strerror(r));
        up->kernlog_notes.data = up;
        watch_kernlog(up);
    }
    if (up->mps != NULL) {
        r = uv_poll_init(&up->loop, &up->mps_notes, up->server.mps.notice_fd);
        if (r < 0)
            return weir_error(err, WEIR_E_IO, "watch the MPS daemons: %s", uv_strerror(r));
        up->mps_notes.data = up;
        uv_poll_start(&up->mps_notes, UV_READABLE, on_mps);
    }
    uv_check_init(&up->loop, &up->after_io);
    uv_timer_init(&up->loop, &up->wake);
    uv_timer_init(&up->loop, &up->look);
    uv_timer_init(&up->loop, &up->samples);
    uv_signal_init(&up->loop, &up->on_term);
    uv_signal_init(&up->loop, &up->on_int);
    up->notes.data = up;
    up->gpu_notes.data = up;
    up->after_io.data = up;
    up->wake.data = up;
    up->look.data = up;
    up->samples.data = up;
    up->on_term.data = up;
    up->on_int.data = up;
    uv_poll_start(&up->notes, UV_READABLE, on_notes);
    uv_poll_start(&up->gpu_notes, UV_READABLE, on_gpus);
    uv_check_start(&up->after_io, after_io);
    uv_timer_start(&up->look, on_look, LOOK_EVERY_MS, LOOK_EVERY_MS);
    uv_signal_start(&up->on_term, on_signal, SIGTERM);
    uv_signal_start(&up->on_int, on_signal, SIGINT);
    watch_launcher(up);
    return 0;
}

/* ---- opening ---- */

static int open_store(struct up *up, struct weir_err *err)
{
    char path[PATH_BYTES];
    int r;

    snprintf(path, sizeof(path), "%s/weir.db", up->data_dir);
    if (chmod(path, 0600) < 0 && errno != ENOENT)
        return weir_error_errno(err, errno, "make '%s' private", path);
    r = weir_sqlite_open(path, &up->sqlite, &up->server.store, err);
    return r < 0 ? r : weir_datadir_lock_space(up->server.store.space, &up->space_fd, err);
}

static int open_jobs(struct up *up, struct weir_err *err)
{
    static const char *const launcher_argv[] = {"weir-launcher", "launcher", NULL};
    char cgroup[PATH_BYTES] = "";
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
static int keep_numbers(struct up *up, struct weir_err *err)
{
    uint64_t last = 0;
    int r = weir_output_last_number(up->data_dir, &last, err);

    return r < 0 ? r : weir_sqlite_skip_numbers(up->sqlite, last, err);
}

static int end_strangers(struct up *up, struct weir_err *err)
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

static int listen_tcp(struct up *up, struct weir_err *err)
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

static int open_api(struct up *up, struct weir_err *err)
{
    char tokens[PATH_BYTES];
    char path[PATH_BYTES];
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

static int seed_everything(struct up *up, struct weir_err *err)
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
    server->clock = (struct weir_clock){NULL, read_clock};
    server->uid = geteuid();
    server->output_max_bytes = OUTPUT_MAX_BYTES;
    server->keep_ended_ms = KEEP_ENDED_MS;
    server->changed = on_changed;
    weir_clock_boot_id(server->boot_id);
    if (gethostname(server->node_name, sizeof(server->node_name) - 1) < 0 ||
        server->node_name[0] == '\0')
        snprintf(server->node_name, sizeof(server->node_name), "localhost");
}

static int open_data_dir(struct up *up, struct weir_err *err)
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
static int choose_gpus(struct up *up, enum weir_gpus_known *ret_known, struct weir_err *err)
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
static int open_gpus(struct up *up, struct weir_err *err)
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
static int choose_mps(struct up *up, struct weir_mps_program *ret_program, struct weir_err *err)
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
static int open_mps(struct up *up, struct weir_err *err)
{
    struct weir_mps_program program;
    int r = choose_mps(up, &program, err);

    if (r == 0)
        (void)weir_mps_open(up->data_dir, &program, weir_mps_times_default(), &up->mps,
                            &up->server.mps, &up->no_mps);
    return r;
}

static int open_tests(struct up *up, struct weir_err *err)
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
static void open_kernlog(struct up *up)
{
    bool is_simulated = weir_gpus_are_simulated(up->gpus);
    struct weir_err why = WEIR_ERR_INIT;
    char path[PATH_BYTES] = "/dev/kmsg";

    if (is_simulated)
        snprintf(path, sizeof(path), "%s/sim/kmsg", up->data_dir);
    if (weir_kernlog_open(path, is_simulated, &up->kernlog, &up->server.fault_source, &why) < 0)
        weir_log_warn("kernlog", "%s: of GPU faults only what the driver tells is known", why.text);
}

static int open_all(struct up *up, struct weir_err *err)
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
        r = start_loop(up, err);
    return r < 0 ? r : open_api(up, err);
}

/* ---- closing ---- */

static void close_handle(uv_handle_t *handle, void *arg)
{
    struct up *up = arg;

    if (!uv_is_closing(handle))
        uv_close(handle, handle == (uv_handle_t *)up->launcher ? free_handle : NULL);
}

static void close_all(struct up *up)
{
    uv_walk(&up->loop, close_handle, up);
    uv_run(&up->loop, UV_RUN_DEFAULT);
    uv_loop_close(&up->loop);
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

static void say_confinement(const struct up *up)
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
    static struct up up; /* large, and one of a kind */
    int r;

    up = (struct up){.options = options, .lock_fd = -1, .space_fd = -1, .launcher_fd = -1};
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
            tick(&up);
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

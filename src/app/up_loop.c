/* What makes the state dirty, and the tick that follows. */
#include "app/selftest.h"
#include "app/up_impl.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "edge/api/api.h"
#include "edge/kernlog/kernlog.h"
#include "edge/local/cluster.h"

#include <signal.h>
#include <string.h>

enum {
    LOOK_EVERY_MS = 1000,
    SAMPLES_WAIT_MS = 50, /* for those of the other devices, which come one after the other */
    DEVICES_EVERY_MS = 5000,
    PRUNE_EVERY_MS = 60000,
    SHUTDOWN_GRACE_MS = 2000,
};

struct weir_now weir_up_clock(void *ctx)
{
    (void)ctx;
    return (struct weir_now){weir_clock_wall_ms(), weir_clock_mono_ms()};
}

static void watch_launcher(struct weir_up_state *up);

static void on_wake(uv_timer_t *timer);

static void schedule(struct weir_up_state *up)
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

void weir_up_tick(struct weir_up_state *up)
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
    struct weir_up_state *up = timer->data;

    up->server.dirty = true;
    weir_up_tick(up);
}

static void after_io(uv_check_t *check)
{
    struct weir_up_state *up = check->data;

    if (up->server.dirty)
        weir_up_tick(up);
}

static void on_notes(uv_poll_t *poll, int status, int events)
{
    struct weir_up_state *up = poll->data;

    (void)events;
    if (status != 0)
        return;
    weir_server_take_notices(&up->server, up->api != NULL && weir_api_is_watched(up->api));
    if (!up->server.dirty) /* else a tick follows */
        schedule(up);
}

static void on_samples(uv_timer_t *timer)
{
    struct weir_up_state *up = timer->data;

    if (up->server.edit == NULL || up->server.is_stopping)
        return;
    weir_server_look_at_use(&up->server);
    weir_up_tick(up);
}

static void on_gpus(uv_poll_t *poll, int status, int events)
{
    struct weir_up_state *up = poll->data;
    bool is_changed = status >= 0 && weir_server_collect_gpus(&up->server);

    (void)events;
    if (status < 0 || up->server.edit == NULL || up->server.is_stopping)
        return;
    if (!uv_is_active((uv_handle_t *)&up->samples))
        uv_timer_start(&up->samples, on_samples, SAMPLES_WAIT_MS, 0);
    if (!is_changed)
        return;
    weir_server_look(&up->server, true);
    up->devices_mono_ms = weir_up_clock(NULL).mono_ms;
}

static void on_mps(uv_poll_t *poll, int status, int events)
{
    struct weir_up_state *up = poll->data;

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
    struct weir_up_state *up = poll->data;

    (void)events;
    uv_poll_stop(poll);
    up->kernlog_is_broken = status < 0;
    if (status >= 0 && !up->server.is_stopping)
        up->server.dirty = true;
}

static void watch_kernlog(struct weir_up_state *up)
{
    if (up->kernlog == NULL || weir_kernlog_fd(up->kernlog) < 0 || up->kernlog_is_broken ||
        up->server.is_stopping || uv_is_active((uv_handle_t *)&up->kernlog_notes))
        return;
    uv_poll_start(&up->kernlog_notes, UV_READABLE, on_kernlog);
}

/* A tick follows where one is due. */
static void on_tests(uv_poll_t *poll, int status, int events)
{
    struct weir_up_state *up = poll->data;

    (void)events;
    if (status < 0)
        uv_poll_stop(poll); /* the once-a-second look goes on */
    else if (up->server.edit != NULL && !up->server.is_stopping)
        weir_selftest_collect(&up->server);
}

static void note_launcher(struct weir_up_state *up, int result, const char *why)
{
    if (result < 0 && !up->is_launcher_failing)
        weir_log_error("launcher", "no job starts: %s; tried again every second", why);
    if (result == 0 && up->is_launcher_failing)
        weir_log_info("launcher", "jobs start again");
    up->is_launcher_failing = result < 0;
}

static void service_launcher(struct weir_up_state *up)
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
static void watch_launcher(struct weir_up_state *up)
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
    struct weir_up_state *up = timer->data;
    struct weir_now now = weir_up_clock(NULL);
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
    weir_up_tick(up);
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
    struct weir_up_state *up = ctx;

    up->api = NULL;
    uv_stop(&up->loop);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct weir_up_state *up = handle->data;

    (void)number;
    if (up->server.is_stopping)
        return;
    weir_server_end(&up->server);
    uv_timer_stop(&up->wake);
    weir_log_info("stop", "jobs go on; `weir up` on the same directory takes them over");
    weir_api_shutdown(up->api, SHUTDOWN_GRACE_MS, on_api_closed, up);
}

void weir_up_changed(void *arg)
{
    struct weir_up_state *up = arg;

    if (up->api != NULL)
        weir_api_changed(up->api);
}

int weir_up_start(struct weir_up_state *up, struct weir_err *err)
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

static void close_handle(uv_handle_t *handle, void *arg)
{
    struct weir_up_state *up = arg;

    if (!uv_is_closing(handle))
        uv_close(handle, handle == (uv_handle_t *)up->launcher ? free_handle : NULL);
}

void weir_up_stop(struct weir_up_state *up)
{
    uv_walk(&up->loop, close_handle, up);
    uv_run(&up->loop, UV_RUN_DEFAULT);
    uv_loop_close(&up->loop);
}

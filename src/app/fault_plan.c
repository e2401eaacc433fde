#include "app/fault_plan.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "edge/nvml/gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <uv.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static int read_file(const char *path, struct weir_buf *text, struct weir_err *err)
{
    weir_cleanup_fd int fd = weir_fd_open_file(AT_FDCWD, path, 0, err);

    if (fd < 0)
        return weir_error_wrap(err, "'%s'", path);
    if (weir_fd_read_all(fd, text) < 0)
        return weir_error_errno(err, errno, "read '%s'", path);
    return weir_buf_check(text, path, err);
}

int weir_fault_plan_read(struct weir_gpus *gpus, const char *path, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(FILE_BYTES_MAX);
    char hint[WEIR_ERR_HINT_MAX];
    int r = read_file(path, &text, err);

    if (r < 0)
        return weir_error_wrap(err, "--simulate-faults");
    r = weir_gpus_plan_faults(gpus, weir_buf_view(&text), err);
    if (r == 0 || err->line == 0)
        return r < 0 ? weir_error_wrap(err, "--simulate-faults") : r;
    snprintf(hint, sizeof(hint), "%s", err->hint);
    weir_error(err, WEIR_E_INVALID, "--simulate-faults '%s', line %u column %u: %s", path,
               err->line, err->column, err->text);
    return hint[0] != '\0' ? weir_error_hint(err, "%s", hint) : WEIR_E_INVALID;
}

static void tell(void *arg, struct weir_str fault, const struct weir_err *why)
{
    (void)arg;
    if (why != NULL)
        weir_log_warn("sim.fault", "%.*s: %s", WEIR_STR_ARG(fault), why->text);
    else
        weir_log_info("sim.fault", "%.*s", WEIR_STR_ARG(fault));
}

static void run(uv_timer_t *timer)
{
    int64_t wait_ms = weir_gpus_run_faults(timer->data, weir_clock_mono_ms(), tell, NULL);

    if (wait_ms == INT64_MAX)
        return;
    uv_update_time(timer->loop);
    uv_timer_start(timer, run, (uint64_t)wait_ms, 0);
}

int weir_fault_plan_start(struct weir_gpus *gpus, struct uv_loop_s *loop, struct weir_err *err)
{
    static uv_timer_t timer; /* one of a kind, as weir_up()'s */
    int r = uv_timer_init(loop, &timer);

    if (r < 0)
        return weir_error(err, WEIR_E_IO, "start the faults: %s", uv_strerror(r));
    timer.data = gpus;
    weir_gpus_begin_faults(gpus, weir_clock_mono_ms());
    run(&timer);
    return 0;
}

#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/time.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum {
    TEXT_BYTES_MAX = 4096,
    FIELD_BYTES_MAX = 256,
    LINE_BYTES_MAX = 32768,
    SITE_LINES_MAX = 10,
    SITE_WINDOW_MS = 10000
};

static enum weir_log_level max_level = WEIR_LOG_INFO;
static int log_fd = STDERR_FILENO;
static _Thread_local struct weir_log_scope *innermost;

void weir_log_set_level(enum weir_log_level level)
{
    max_level = level;
}

void weir_log_set_fd(int fd)
{
    log_fd = fd;
}

struct weir_log_scope *weir_log_push(struct weir_log_scope *scope)
{
    scope->outer = innermost;
    innermost = scope;
    return scope;
}

void weir_log_pop(struct weir_log_scope **scope)
{
    innermost = (*scope)->outer;
}

static bool needs_quotes(struct weir_str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7F)
            return true;
    }
    return value.len == 0 || !weir_str_is_utf8(value);
}

/* A line of the log is always one line of valid UTF-8, whatever the value. */
static void put_value(struct weir_buf *line, struct weir_str value)
{
    bool is_utf8 = weir_str_is_utf8(value);

    if (!needs_quotes(value)) {
        weir_buf_str(line, value);
        return;
    }
    weir_buf_putc(line, '"');
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (c == '"' || c == '\\')
            weir_buf_printf(line, "\\%c", c);
        else if (c == '\n')
            weir_buf_puts(line, "\\n");
        else if (c < ' ' || c == 0x7F || (c >= 0x80 && !is_utf8))
            weir_buf_printf(line, "\\x%02x", c);
        else
            weir_buf_putc(line, (char)c);
    }
    weir_buf_putc(line, '"');
}

/* False when the site has had its share of this window. */
static bool admit(struct weir_log_site *site, int64_t now_ms, uint32_t *ret_suppressed)
{
    if (now_ms - site->window_start_ms >= SITE_WINDOW_MS || site->n_in_window == 0) {
        site->window_start_ms = now_ms;
        site->n_in_window = 0;
    }
    if (site->n_in_window >= SITE_LINES_MAX) {
        site->n_suppressed++;
        return false;
    }
    site->n_in_window++;
    *ret_suppressed = site->n_suppressed;
    site->n_suppressed = 0;
    return true;
}

static void put_scopes(struct weir_buf *line, const struct weir_log_scope *scope)
{
    if (scope == NULL)
        return;
    put_scopes(line, scope->outer);
    weir_buf_printf(line, " %s=", scope->key);
    put_value(line, weir_str_cut(scope->value, FIELD_BYTES_MAX));
}

/* Writes what there is of a line, ended whatever happened to its buffer. */
static void send_line(struct weir_buf *line)
{
    ssize_t written;

    if (line->len == 0)
        return;
    line->data[line->len - 1] = '\n';
    written = write(log_fd, line->data, line->len);
    (void)written; /* nowhere left to complain to */
}

void weir_log_write(struct weir_log_site *site, enum weir_log_level level, const char *event,
                    const char *format, ...)
{
    static const char *const names[WEIR_LOG_LEVEL_MAX] = {"error", "warn", "info", "debug"};
    struct weir_buf line = WEIR_BUF_INIT(LINE_BYTES_MAX);
    char text[TEXT_BYTES_MAX + 4];
    uint32_t suppressed = 0;
    va_list args;

    if (level > max_level || log_fd < 0 ||
        (level != WEIR_LOG_DEBUG && !admit(site, weir_clock_mono_ms(), &suppressed)))
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        text[0] = '\0';
    va_end(args);
    weir_buf_puts(&line, "time=");
    weir_time_format(weir_clock_wall_ms(), &line);
    weir_buf_printf(&line, " level=%s event=%s", names[level], event);
    put_scopes(&line, innermost);
    if (suppressed > 0)
        weir_buf_printf(&line, " suppressed=%u", suppressed);
    weir_buf_puts(&line, " msg=");
    put_value(&line, weir_str_cut(weir_str(text), TEXT_BYTES_MAX));
    weir_buf_putc(&line, '\n');
    send_line(&line);
    weir_buf_finish(&line);
}

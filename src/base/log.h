/* base/log.h — what happened, as logfmt lines on stderr. Only app/ and cmd/ log; everything below
 * returns errors.
 *
 *     time=2026-11-30T15:04:05.123Z level=warn event=gpu.lost gpu=GPU-7e1a… msg="device went away"
 *
 * Fields pushed in a scope appear on every line logged below it. Each call site is limited to 10
 * lines in 10 s; what was dropped is counted on its next line (suppressed=N). Debug lines, which
 * somebody asked for, are all written. Secrets are never
 * passed here. A message is cut at 4096 bytes, a field at 256; what is not plain text is escaped.
 */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include "base/str.h"

#include <stdint.h>

enum weir_log_level {
    WEIR_LOG_ERROR,
    WEIR_LOG_WARN,
    WEIR_LOG_INFO,
    WEIR_LOG_DEBUG,
    WEIR_LOG_LEVEL_MAX
};

struct weir_log_site {
    int64_t window_start_ms;
    uint32_t n_in_window;
    uint32_t n_suppressed;
};

struct weir_log_scope {
    const char *key;
    struct weir_str value;
    struct weir_log_scope *outer;
};

void weir_log_set_level(enum weir_log_level level);
/* Where lines go; -1 is nowhere (the default is stderr). */
void weir_log_set_fd(int fd);
void weir_log_write(struct weir_log_site *site, enum weir_log_level level, const char *event,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Pushes one field until the end of the enclosing block. value must outlive it. */
struct weir_log_scope *weir_log_push(struct weir_log_scope *scope);
void weir_log_pop(struct weir_log_scope **scope);

#define WEIR_LOG(level, event, ...)                                                                \
    do {                                                                                           \
        static struct weir_log_site weir_log_site_;                                                \
        weir_log_write(&weir_log_site_, (level), (event), __VA_ARGS__);                            \
    } while (0)
#define weir_log_error(event, ...) WEIR_LOG(WEIR_LOG_ERROR, event, __VA_ARGS__)
#define weir_log_warn(event, ...)  WEIR_LOG(WEIR_LOG_WARN, event, __VA_ARGS__)
#define weir_log_info(event, ...)  WEIR_LOG(WEIR_LOG_INFO, event, __VA_ARGS__)
#define weir_log_debug(event, ...) WEIR_LOG(WEIR_LOG_DEBUG, event, __VA_ARGS__)

#define WEIR_LOG_FIELD(name, field_key, field_value)                                               \
    struct weir_log_scope name = {(field_key), (field_value), NULL};                               \
    __attribute__((cleanup(weir_log_pop), unused)) struct weir_log_scope *name##_guard =           \
        weir_log_push(&name)

#endif

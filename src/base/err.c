#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int code;
    const char *name;
} code_names[] = {
    {WEIR_OK, "ok"},
    {WEIR_E_INVALID, "invalid"},
    {WEIR_E_NOT_FOUND, "not-found"},
    {WEIR_E_EXISTS, "exists"},
    {WEIR_E_DENIED, "denied"},
    {WEIR_E_IMPOSSIBLE, "impossible"},
    {WEIR_E_TOO_LARGE, "too-large"},
    {WEIR_E_NO_MEMORY, "no-memory"},
    {WEIR_E_NO_SPACE, "no-space"},
    {WEIR_E_IO, "io"},
    {WEIR_E_UNAVAILABLE, "unavailable"},
    {WEIR_E_TIMEOUT, "timeout"},
    {WEIR_E_CORRUPT, "corrupt"},
    {WEIR_E_UNSUPPORTED, "unsupported"},
    {WEIR_E_AGAIN, "again"},
    {WEIR_E_UNAUTHENTICATED, "unauthenticated"},
};

/* vsnprintf that never leaves half a UTF-8 sequence at the end, and makes one line of what it
 * writes: subjects are quoted from input that may hold anything. Returns the length written. */
__attribute__((format(printf, 3, 0))) static size_t format_capped(char *out, size_t size,
                                                                  const char *format, va_list args)
{
    int n = vsnprintf(out, size, format, args);
    size_t len;

    if (n < 0) {
        out[0] = '\0';
        return 0;
    }
    for (char *c = out; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = '?';
    if ((size_t)n < size)
        return (size_t)n;
    len = size - 1;
    while (len > 0 && ((unsigned char)out[len - 1] & 0xC0) == 0x80)
        len--;
    if (len > 0 && ((unsigned char)out[len - 1] & 0x80) != 0)
        len--;
    out[len] = '\0';
    return len;
}

int weir_error_v(struct weir_err *err, int code, const char *format, va_list args)
{
    if (err == NULL)
        return code;
    err->code = code;
    err->line = 0;
    err->column = 0;
    err->hint[0] = '\0';
    err->field[0] = '\0';
    format_capped(err->text, sizeof(err->text), format, args);
    return code;
}

int weir_error(struct weir_err *err, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    weir_error_v(err, code, format, args);
    va_end(args);
    return code;
}

static int code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return WEIR_E_NO_SPACE;
    case ENOENT:
        return WEIR_E_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return WEIR_E_DENIED;
    case EEXIST:
        return WEIR_E_EXISTS;
    case ENOMEM:
        return WEIR_E_NO_MEMORY;
    case ETIMEDOUT:
        return WEIR_E_TIMEOUT;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
        return WEIR_E_UNAVAILABLE;
    default:
        return WEIR_E_IO;
    }
}

int weir_error_errno(struct weir_err *err, int errnum, const char *format, ...)
{
    int code = code_of_errno(errnum);
    char reason[128];
    size_t len;
    va_list args;

    if (err == NULL)
        return code;
    va_start(args, format);
    weir_error_v(err, code, format, args);
    va_end(args);
    len = strlen(err->text);
    snprintf(err->text + len, sizeof(err->text) - len, ": %s",
             strerror_r(errnum, reason, sizeof(reason)));
    return code;
}

int weir_error_wrap(struct weir_err *err, const char *format, ...)
{
    char old[WEIR_ERR_TEXT_MAX];
    size_t len;
    va_list args;

    if (err == NULL || err->code == 0)
        return WEIR_E_IO;
    memcpy(old, err->text, sizeof(old));
    va_start(args, format);
    len = format_capped(err->text, sizeof(err->text), format, args);
    va_end(args);
    snprintf(err->text + len, sizeof(err->text) - len, ": %s", old);
    return err->code;
}

int weir_error_at(struct weir_err *err, uint32_t line, uint32_t column)
{
    if (err == NULL)
        return WEIR_E_INVALID;
    err->line = line;
    err->column = column;
    return err->code;
}

int weir_error_field(struct weir_err *err, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return WEIR_E_INVALID;
    va_start(args, format);
    format_capped(err->field, sizeof(err->field), format, args);
    va_end(args);
    return err->code;
}

int weir_error_hint(struct weir_err *err, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return WEIR_E_INVALID;
    va_start(args, format);
    format_capped(err->hint, sizeof(err->hint), format, args);
    va_end(args);
    return err->code;
}

const char *weir_code_name(int code)
{
    for (size_t i = 0; i < sizeof(code_names) / sizeof(code_names[0]); i++)
        if (code_names[i].code == code)
            return code_names[i].name;
    return "unknown";
}

int weir_code_from_name(const char *name)
{
    for (size_t i = 0; i < sizeof(code_names) / sizeof(code_names[0]); i++)
        if (strcmp(code_names[i].name, name) == 0)
            return code_names[i].code;
    return 0;
}

_Noreturn void weir_bug(const char *file, int line, const char *what)
{
    fprintf(stderr, "weir: bug at %s:%d: %s\n", file, line, what);
    abort();
}

#include "base/err.h"

#include "base/count.h"
#include "base/str.h"

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

/* What the functions that add to an error return for a caller that wants only the code. */
static _Thread_local int last_code = WEIR_E_IO;

/* Copies text into out, cut at a UTF-8 boundary if need be, and makes one line of it: subjects are
 * quoted from input that may hold anything. */
static void put(char *out, size_t size, const char *text)
{
    struct weir_str kept = weir_str_cut(weir_str(text), size - 1);

    memmove(out, kept.ptr, kept.len);
    out[kept.len] = '\0';
    for (char *c = out; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7F) {
            *c = '?';
        } else if ((unsigned char)c[0] == 0xC2 && c[1] != '\0' && (unsigned char)c[1] < 0xA0) {
            /* U+0080 to U+009F: terminals obey them too. */
            *c = '?';
            memmove(c + 1, c + 2, strlen(c + 2) + 1);
        }
    }
}

/* The arguments may point into out. */
__attribute__((format(printf, 3, 0))) static void put_format(char *out, size_t size,
                                                             const char *format, va_list args)
{
    /* Room for one character more than fits, so that put() sees where the cut falls. */
    char text[WEIR_ERR_TEXT_MAX + 4];

    put(out, size, vsnprintf(text, sizeof(text), format, args) < 0 ? format : text);
}

int weir_error_v(struct weir_err *err, int code, const char *format, va_list args)
{
    last_code = code;
    if (err == NULL)
        return code;
    err->code = code;
    err->line = 0;
    err->column = 0;
    put_format(err->text, sizeof(err->text), format, args);
    err->hint[0] = '\0';
    err->field[0] = '\0';
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
    case EFBIG: /* the limit of the process, or of the file system */
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

/* err's text becomes "first: second". */
static void join(struct weir_err *err, const char *first, const char *second)
{
    char text[2 * WEIR_ERR_TEXT_MAX + 4];

    snprintf(text, sizeof(text), "%s: %s", first, second);
    put(err->text, sizeof(err->text), text);
}

int weir_error_errno(struct weir_err *err, int errnum, const char *format, ...)
{
    int code = code_of_errno(errnum);
    char what[WEIR_ERR_TEXT_MAX];
    char reason[128];
    va_list args;

    va_start(args, format);
    weir_error_v(err, code, format, args);
    va_end(args);
    if (err == NULL)
        return code;
    put(what, sizeof(what), err->text);
    join(err, what, strerror_r(errnum, reason, sizeof(reason)));
    return code;
}

int weir_error_wrap(struct weir_err *err, const char *format, ...)
{
    char context[WEIR_ERR_TEXT_MAX];
    va_list args;

    if (err == NULL)
        return last_code;
    if (err->code == 0)
        return WEIR_E_IO;
    va_start(args, format);
    put_format(context, sizeof(context), format, args);
    va_end(args);
    join(err, context, err->text);
    return err->code;
}

int weir_error_at(struct weir_err *err, uint32_t line, uint32_t column)
{
    if (err == NULL)
        return last_code;
    err->line = line;
    err->column = column;
    return err->code;
}

int weir_error_field(struct weir_err *err, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return last_code;
    va_start(args, format);
    put_format(err->field, sizeof(err->field), format, args);
    va_end(args);
    return err->code;
}

int weir_error_hint(struct weir_err *err, const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return last_code;
    va_start(args, format);
    put_format(err->hint, sizeof(err->hint), format, args);
    va_end(args);
    return err->code;
}

int weir_error_pass(struct weir_err *err, const struct weir_err *why)
{
    last_code = why->code;
    if (err != NULL)
        *err = *why;
    return why->code;
}

int weir_error_code(const struct weir_err *err)
{
    if (err == NULL)
        return last_code;
    return err->code != 0 ? err->code : WEIR_E_IO;
}

const char *weir_code_name(int code)
{
    for (size_t i = 0; i < WEIR_COUNT_OF(code_names); i++)
        if (code_names[i].code == code)
            return code_names[i].name;
    return "unknown";
}

int weir_code_from_name(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT_OF(code_names); i++)
        if (strcmp(code_names[i].name, name) == 0)
            return code_names[i].code;
    return 0;
}

_Noreturn void weir_bug(const char *file, int line, const char *what)
{
    fprintf(stderr, "weir: bug at %s:%d: %s\n", file, line, what);
    abort();
}

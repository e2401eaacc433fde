/* base/err.h — the one error object: made, wrapped and returned in one expression.
 *
 * A function that can fail returns int: 0 or more on success, a negative WEIR_E_* code on failure.
 * It takes a `struct weir_err *err` last (NULL: the caller wants only the code) and leaves its
 * ret_… outputs untouched on failure. Messages: lower case, no full stop, say what failed first,
 * quote the subject. The hint says what to do next. Control characters become '?'. Only app/ and
 * cmd/ print errors. */
#ifndef WEIR_BASE_ERR_H
#define WEIR_BASE_ERR_H

#include <stdarg.h>
#include <stdint.h>

/* Codes are negative; the order is stable because the HTTP API publishes the names. */
enum weir_code {
    WEIR_OK = 0,
    WEIR_E_INVALID = -1,          /* the input is wrong: the caller can correct it */
    WEIR_E_NOT_FOUND = -2,        /* the thing named does not exist */
    WEIR_E_EXISTS = -3,           /* the thing named exists already, or was changed meanwhile */
    WEIR_E_DENIED = -4,           /* the actor may not do this */
    WEIR_E_IMPOSSIBLE = -5,       /* well formed, but can never be satisfied here */
    WEIR_E_TOO_LARGE = -6,        /* over a stated maximum */
    WEIR_E_NO_MEMORY = -7,        /* an allocation failed */
    WEIR_E_NO_SPACE = -8,         /* the disk is full */
    WEIR_E_IO = -9,               /* the operating system refused */
    WEIR_E_UNAVAILABLE = -10,     /* try again later: busy, starting, peer away */
    WEIR_E_TIMEOUT = -11,         /* did not answer in time */
    WEIR_E_CORRUPT = -12,         /* stored data does not read back */
    WEIR_E_UNSUPPORTED = -13,     /* this machine, driver or peer does not offer it */
    WEIR_E_AGAIN = -14,           /* not an error: more input is needed */
    WEIR_E_UNAUTHENTICATED = -15, /* no credentials, or unknown ones */
};

enum { WEIR_ERR_TEXT_MAX = 512, WEIR_ERR_HINT_MAX = 256, WEIR_ERR_FIELD_MAX = 128 };

struct weir_err {
    int code;                     /* enum weir_code; 0 when unset */
    uint32_t line;                /* 1-based place in the input; 0: unknown */
    uint32_t column;              /* 1-based, in bytes */
    char text[WEIR_ERR_TEXT_MAX]; /* what failed; cut at a UTF-8 boundary if need be, as all here */
    char hint[WEIR_ERR_HINT_MAX]; /* what to do next; may be empty */
    char field[WEIR_ERR_FIELD_MAX]; /* path of the offending field ("spec.gpus"); may be empty */
};

#define WEIR_ERR_INIT                                                                              \
    {                                                                                              \
        0                                                                                          \
    }

/* Makes the error (replacing what err held) and returns code, so that `return weir_error(…)` is one
 * expression. Arguments may point into err. */
int weir_error(struct weir_err *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int weir_error_v(struct weir_err *err, int code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* The same from errno: appends strerror(errnum), and maps errnum to a code (ENOSPC → NO_SPACE,
 * ENOENT → NOT_FOUND, EACCES/EPERM → DENIED, EEXIST → EXISTS, ENOMEM → NO_MEMORY, EDQUOT/EFBIG
 * → NO_SPACE, else IO). */
int weir_error_errno(struct weir_err *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prefixes the text with context ("context: text"), keeps place, hint and field. Returns err's
 * code (WEIR_E_IO if err is unset). */
int weir_error_wrap(struct weir_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds to a made error, and returns its code. On NULL this and weir_error_wrap() do nothing and
 * return the code of the error that this thread made last. */
int weir_error_at(struct weir_err *err, uint32_t line, uint32_t column);
int weir_error_field(struct weir_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int weir_error_hint(struct weir_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes the error that was made elsewhere, and returns its code. */
int weir_error_pass(struct weir_err *err, const struct weir_err *why);
/* The code of a made error, for where one of several calls failed (WEIR_E_IO if err is unset; on
 * NULL as above). */
int weir_error_code(const struct weir_err *err);

/* The code's stable name ("invalid", "not-found", …), and back (0 if unknown). */
const char *weir_code_name(int code);
int weir_code_from_name(const char *name);

/* Ends the process: for programming errors, never for input. */
_Noreturn void weir_bug(const char *file, int line, const char *what);
#define WEIR_BUG(what)    weir_bug(__FILE__, __LINE__, (what))
#define WEIR_ASSERT(cond) ((cond) ? (void)0 : weir_bug(__FILE__, __LINE__, #cond))

#endif

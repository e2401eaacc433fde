/* fmt/http1_head.h — private to fmt/http1*.c: what the lines of a head mean, once they are all
 * there. */
#ifndef WEIR_FMT_HTTP1_HEAD_H
#define WEIR_FMT_HTTP1_HEAD_H

#include "fmt/http1.h"

/* Makes the error, sets *ret_status and returns the code that goes with the status. */
int weir_http1_refuse(int *ret_status, int status, struct weir_err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* text: whole lines that end in CR LF, without the closing blank line and without control
 * characters; n_lines of them. Returns 0, or a negative code with *ret_status set. */
int weir_http1_read_head(struct weir_str text, size_t n_lines, enum weir_http1_kind kind,
                         struct weir_arena *arena, struct weir_http1_head *ret_head,
                         int *ret_status, struct weir_err *err);
/* The same lines as header lines only; checked, not kept. None may be a header that frames. */
int weir_http1_check_trailer(struct weir_str text, int *ret_status, struct weir_err *err);

#endif

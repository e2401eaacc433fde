#include "cmd/tail.h"

#include "base/err.h"

#include <string.h>

enum { TRIM_FIRST_BYTES = 1024 * 1024 };

void weir_tail_init(struct weir_tail *tail, FILE *out, int64_t n_lines, const char *label)
{
    memset(tail, 0, sizeof(*tail));
    tail->out = out;
    tail->n_lines = n_lines;
    tail->label = label;
    tail->trim_at = TRIM_FIRST_BYTES;
    weir_buf_init(&tail->held, WEIR_TAIL_BYTES_MAX);
}

void weir_tail_finish(struct weir_tail *tail)
{
    weir_buf_finish(&tail->held);
}

static int print(struct weir_tail *tail, struct weir_str data, struct weir_err *err)
{
    bool failed = false;

    while (data.len > 0 && !failed) {
        ptrdiff_t end = tail->label != NULL ? weir_str_find_char(data, '\n') : -1;
        size_t n = end >= 0 ? (size_t)end + 1 : data.len;

        if (tail->label != NULL && !tail->in_line)
            fprintf(tail->out, "[%s] ", tail->label);
        tail->in_line = end < 0;
        failed = fwrite(data.ptr, 1, n, tail->out) != n;
        data = weir_str_sub(data, n, data.len);
    }
    return failed ? weir_error(err, WEIR_E_IO, "write the output") : 0;
}

/* Where the last n lines begin; a last line without its end counts. */
static size_t find_start(struct weir_str text, int64_t n)
{
    size_t at = text.len;

    if (n == 0)
        return text.len;
    if (at > 0 && text.ptr[at - 1] == '\n')
        at--;
    for (; at > 0; at--)
        if (text.ptr[at - 1] == '\n' && --n == 0)
            return at;
    return 0;
}

static void trim(struct weir_tail *tail)
{
    weir_buf_consume(&tail->held, find_start(weir_buf_view(&tail->held), tail->n_lines));
    tail->trim_at = 2 * tail->held.len > TRIM_FIRST_BYTES ? 2 * tail->held.len : TRIM_FIRST_BYTES;
}

int weir_tail_put(struct weir_tail *tail, struct weir_str data, struct weir_err *err)
{
    if (tail->n_lines < 0)
        return print(tail, data, err);
    weir_buf_str(&tail->held, data);
    if (tail->held.failed == 0 && tail->held.len >= tail->trim_at)
        trim(tail);
    return weir_buf_check(&tail->held, "the last lines", err);
}

int weir_tail_end(struct weir_tail *tail, struct weir_err *err)
{
    int result = 0;

    if (tail->n_lines >= 0) {
        trim(tail);
        result = print(tail, weir_buf_view(&tail->held), err);
    }
    if (result == 0 && tail->label != NULL && tail->in_line)
        fputc('\n', tail->out);
    return result < 0 || fflush(tail->out) == 0 ? result
                                                : weir_error(err, WEIR_E_IO, "write the output");
}

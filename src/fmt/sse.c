#include "fmt/sse.h"

#include "base/err.h"

#include <string.h>

static const unsigned char byte_order_mark[] = {0xEF, 0xBB, 0xBF};
enum { PAST_MARK = 4 };

static bool is_one_line(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '\r' || s.ptr[i] == '\n' || s.ptr[i] == '\0')
            return false;
    return true;
}

/* "prefix: line" for each line of text; an empty text is one empty line. */
static void write_lines(struct weir_buf *out, const char *prefix, struct weir_str text)
{
    size_t at = 0;

    for (;;) {
        size_t end = at;

        while (end < text.len && text.ptr[end] != '\r' && text.ptr[end] != '\n')
            end++;
        weir_buf_puts(out, prefix);
        weir_buf_str(out, weir_str_sub(text, at, end - at));
        weir_buf_putc(out, '\n');
        if (end == text.len)
            return;
        at = end + 1;
        if (text.ptr[end] == '\r' && at < text.len && text.ptr[at] == '\n')
            at++;
    }
}

int weir_sse_write(struct weir_buf *out, const struct weir_sse_event *event, struct weir_err *err)
{
    if (!is_one_line(event->id))
        return weir_error(err, WEIR_E_INVALID, "the id of an event holds a line end or NUL");
    if (!is_one_line(event->event))
        return weir_error(err, WEIR_E_INVALID, "the name of an event holds a line end or NUL");
    if (event->id.len > 0)
        write_lines(out, "id: ", event->id);
    if (event->event.len > 0)
        write_lines(out, "event: ", event->event);
    write_lines(out, "data: ", event->data);
    weir_buf_putc(out, '\n');
    return weir_buf_check(out, "an event", err);
}

int weir_sse_write_comment(struct weir_buf *out, struct weir_str text)
{
    write_lines(out, ": ", text);
    return weir_buf_putc(out, '\n');
}

int weir_sse_write_retry(struct weir_buf *out, uint32_t retry_ms)
{
    weir_buf_puts(out, "retry: ");
    weir_buf_u64(out, retry_ms);
    return weir_buf_puts(out, "\n\n");
}

void weir_sse_reader_init(struct weir_sse_reader *reader, size_t event_max)
{
    *reader = (struct weir_sse_reader){.retry_ms = -1};
    weir_buf_init(&reader->line, event_max);
    weir_buf_init(&reader->id, event_max);
    weir_buf_init(&reader->name, event_max);
    weir_buf_init(&reader->data, event_max);
}

void weir_sse_reader_finish(struct weir_sse_reader *reader)
{
    if (reader == NULL)
        return;
    weir_buf_finish(&reader->line);
    weir_buf_finish(&reader->id);
    weir_buf_finish(&reader->name);
    weir_buf_finish(&reader->data);
}

static int replace(struct weir_buf *buf, struct weir_str text)
{
    weir_buf_reset(buf);
    return weir_buf_str(buf, text);
}

static int take_retry(struct weir_sse_reader *reader, struct weir_str value)
{
    int64_t retry_ms;

    if (value.len > 0 && value.ptr[0] != '-' && weir_str_to_i64(value, &retry_ms))
        reader->retry_ms = retry_ms;
    return 0;
}

static int take_field(struct weir_sse_reader *reader, struct weir_str line)
{
    ptrdiff_t colon = weir_str_find_char(line, ':');
    struct weir_str field = colon < 0 ? line : weir_str_sub(line, 0, (size_t)colon);
    struct weir_str value = weir_str_sub(line, field.len + 1, line.len);

    if (value.len > 0 && value.ptr[0] == ' ')
        value = weir_str_sub(value, 1, value.len);
    if (weir_str_eq_c(field, "data")) {
        if (reader->has_data)
            weir_buf_putc(&reader->data, '\n');
        reader->has_data = true;
        return weir_buf_str(&reader->data, value);
    }
    if (weir_str_eq_c(field, "event"))
        return replace(&reader->name, value);
    if (weir_str_eq_c(field, "id") && weir_str_find_char(value, '\0') < 0)
        return replace(&reader->id, value);
    if (weir_str_eq_c(field, "retry"))
        return take_retry(reader, value);
    return 0;
}

static void forget_event(struct weir_sse_reader *reader)
{
    weir_buf_reset(&reader->name);
    weir_buf_reset(&reader->data);
    reader->has_data = false;
    reader->handed_out = false;
}

/* A line is whole. Returns 1 if it completes an event, else 0 or a negative code. */
static int take_line(struct weir_sse_reader *reader)
{
    struct weir_str line = weir_buf_view(&reader->line);
    int code = 0;

    if (line.len > 0) {
        code = line.ptr[0] != ':' ? take_field(reader, line) : 0;
        weir_buf_reset(&reader->line);
        return code;
    }
    if (!reader->has_data) {
        forget_event(reader);
        return 0;
    }
    reader->event.id = weir_buf_view(&reader->id);
    reader->event.event = weir_buf_view(&reader->name);
    reader->event.data = weir_buf_view(&reader->data);
    reader->handed_out = true;
    return 1;
}

/* Passes over a byte order mark; what only began like one belongs to the first line. Returns true
 * if c was taken. */
static bool take_mark(struct weir_sse_reader *reader, unsigned char c)
{
    if (reader->n_mark == PAST_MARK)
        return false;
    if (reader->n_mark < sizeof(byte_order_mark) && c == byte_order_mark[reader->n_mark]) {
        reader->n_mark++;
        if (reader->n_mark == sizeof(byte_order_mark))
            reader->n_mark = PAST_MARK;
        return true;
    }
    weir_buf_append(&reader->line, byte_order_mark, reader->n_mark);
    reader->n_mark = PAST_MARK;
    return false;
}

/* Length of what belongs to the line under way. */
static size_t line_part(struct weir_str s)
{
    size_t n = 0;

    while (n < s.len && s.ptr[n] != '\r' && s.ptr[n] != '\n')
        n++;
    return n;
}

static int step(struct weir_sse_reader *reader, struct weir_str *input)
{
    char c = input->ptr[0];
    size_t n;

    if (take_mark(reader, (unsigned char)c)) {
        *input = weir_str_sub(*input, 1, input->len);
        return 0;
    }
    n = line_part(*input);
    weir_buf_append(&reader->line, input->ptr, n);
    if (reader->line.failed != 0)
        return reader->line.failed;
    if (n > 0) {
        reader->saw_cr = false;
        *input = weir_str_sub(*input, n, input->len);
        return 0;
    }
    *input = weir_str_sub(*input, 1, input->len);
    if (c == '\n' && reader->saw_cr) {
        reader->saw_cr = false;
        return 0;
    }
    reader->saw_cr = c == '\r';
    return take_line(reader);
}

int weir_sse_next(struct weir_sse_reader *reader, struct weir_str *input, struct weir_err *err)
{
    int code = 0;

    if (reader->handed_out)
        forget_event(reader);
    while (code == 0 && input->len > 0)
        code = step(reader, input);
    if (code == WEIR_E_TOO_LARGE)
        return weir_error(err, code, "an event is larger than %zu bytes", reader->line.max);
    if (code < 0)
        return weir_error(err, code, "no memory for an event");
    return code;
}

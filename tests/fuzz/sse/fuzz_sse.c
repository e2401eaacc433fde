/* What the reader says may not depend on how the stream is cut; and an event it read, written
 * again, reads as the same event. */
#include "base/err.h"
#include "fmt/sse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENT_MAX = 256 };

static void must(bool cond)
{
    if (!cond)
        abort();
}

static void write_again(const struct weir_sse_event *event)
{
    struct weir_buf out = WEIR_BUF_INIT(1 << 16);
    struct weir_sse_reader reader;
    struct weir_str input;
    size_t n_lost = event->id.len == 0; /* not written */

    /* A peer may put NUL into a name, we do not. */
    if (weir_str_find_char(event->event, '\0') >= 0) {
        must(weir_sse_write(&out, event, NULL) == WEIR_E_INVALID);
        return;
    }
    must(weir_sse_write(&out, event, NULL) == 0);
    weir_sse_reader_init(&reader, 1 << 16);
    input = weir_buf_view(&out);
    must(weir_sse_next(&reader, &input, NULL) == 1 && input.len == 0);
    must(n_lost == 1 || weir_str_eq(reader.event.id, event->id));
    must(weir_str_eq(reader.event.event, event->event));
    must(weir_str_eq(reader.event.data, event->data));
    weir_sse_reader_finish(&reader);
    weir_buf_finish(&out);
}

static void put(struct weir_buf *text, struct weir_str s)
{
    weir_buf_printf(text, "%zu:", s.len);
    weir_buf_str(text, s);
}

static void read_cut(const uint8_t *data, size_t size, size_t step, struct weir_buf *text)
{
    struct weir_sse_reader reader;
    struct weir_err err = WEIR_ERR_INIT;
    int code = 0;

    weir_sse_reader_init(&reader, EVENT_MAX);
    for (size_t at = 0; at < size && code >= 0; at += step) {
        size_t n = step < size - at ? step : size - at;
        char *copy = malloc(n);
        struct weir_str input = {copy, n};

        must(copy != NULL);
        memcpy(copy, data + at, n);
        while ((code = weir_sse_next(&reader, &input, &err)) > 0) {
            put(text, reader.event.id);
            put(text, reader.event.event);
            put(text, reader.event.data);
            if (step == size)
                write_again(&reader.event);
        }
        must(code < 0 || input.len == 0);
        free(copy);
    }
    weir_buf_printf(text, "%lld %d %s", (long long)reader.retry_ms, code, err.text);
    weir_sse_reader_finish(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_buf whole = WEIR_BUF_INIT(1 << 24);
    size_t steps[3] = {1, 2, size > 0 ? 1u + data[0] : 1};

    if (size == 0)
        return 0;
    read_cut(data, size, size, &whole);
    for (int i = 0; i < 3; i++) {
        struct weir_buf cut = WEIR_BUF_INIT(1 << 24);

        read_cut(data, size, steps[i], &cut);
        must(weir_str_eq(weir_buf_view(&whole), weir_buf_view(&cut)));
        weir_buf_finish(&cut);
    }
    weir_buf_finish(&whole);
    return 0;
}

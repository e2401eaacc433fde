#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "fmt/json_scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void weir_json_writer_init(struct weir_json_writer *writer, struct weir_buf *out, bool pretty)
{
    *writer = (struct weir_json_writer){.out = out, .pretty = pretty};
}

int weir_json_writer_end(const struct weir_json_writer *writer, const char *what,
                         struct weir_err *err)
{
    WEIR_ASSERT(writer->depth == 0 && writer->comma);
    if (writer->not_finite)
        return weir_error(err, WEIR_E_INVALID, "%s holds a number that is not finite", what);
    return weir_buf_check(writer->out, what, err);
}

/* ---- nesting ---- */

static bool in_object(const struct weir_json_writer *w)
{
    return w->depth > 0 && (w->is_object[(w->depth - 1) / 64] >> ((w->depth - 1) % 64) & 1) != 0;
}

static void new_line(struct weir_json_writer *w)
{
    size_t n = 1 + 2 * (size_t)w->depth;
    char *room = weir_buf_reserve(w->out, n);

    if (room == NULL)
        return;
    memset(room, ' ', n);
    room[0] = '\n';
    weir_buf_commit(w->out, n);
}

static void next_entry(struct weir_json_writer *w)
{
    if (w->comma)
        weir_buf_putc(w->out, ',');
    w->comma = true;
    if (w->pretty)
        new_line(w);
}

static void before_value(struct weir_json_writer *w)
{
    if (w->depth == 0) {
        WEIR_ASSERT(!w->comma);
        w->comma = true;
    } else if (in_object(w)) {
        WEIR_ASSERT(w->after_key);
        w->after_key = false;
    } else {
        next_entry(w);
    }
}

static void open_bracket(struct weir_json_writer *w, char bracket)
{
    uint64_t bit = (uint64_t)1 << (w->depth % 64);
    uint64_t *bits = &w->is_object[w->depth / 64];

    WEIR_ASSERT(w->depth < WEIR_JSON_DEPTH_LIMIT);
    before_value(w);
    weir_buf_putc(w->out, bracket);
    *bits = bracket == '{' ? *bits | bit : *bits & ~bit;
    w->depth++;
    w->comma = false;
}

static void close_bracket(struct weir_json_writer *w, char bracket)
{
    w->depth--;
    if (w->pretty && w->comma)
        new_line(w);
    weir_buf_putc(w->out, bracket);
    w->comma = true;
}

void weir_json_object_begin(struct weir_json_writer *writer)
{
    open_bracket(writer, '{');
}

void weir_json_object_end(struct weir_json_writer *writer)
{
    WEIR_ASSERT(in_object(writer) && !writer->after_key);
    close_bracket(writer, '}');
}

void weir_json_array_begin(struct weir_json_writer *writer)
{
    open_bracket(writer, '[');
}

void weir_json_array_end(struct weir_json_writer *writer)
{
    WEIR_ASSERT(writer->depth > 0 && !in_object(writer));
    close_bracket(writer, ']');
}

/* ---- texts ---- */

static void put_control(struct weir_buf *out, unsigned char c)
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

    if (letters[c] != '\0') {
        weir_buf_putc(out, '\\');
        weir_buf_putc(out, letters[c]);
    } else {
        weir_buf_printf(out, "\\u%04x", c);
    }
}

/* Writes what stands at the start of rest and is no plain text; returns how many bytes it took. */
static size_t put_special(struct weir_buf *out, struct weir_str rest)
{
    unsigned char c = (unsigned char)rest.ptr[0];
    size_t n = weir_str_utf8_length(rest);

    if (c < 0x20) {
        put_control(out, c);
    } else if (n == 0) {
        weir_buf_puts(out, "\xEF\xBF\xBD");
        return 1;
    } else {
        if (n == 1)
            weir_buf_putc(out, '\\');
        weir_buf_append(out, rest.ptr, n);
    }
    return n;
}

static void put_text(struct weir_buf *out, struct weir_str text)
{
    const char *end = text.len > 0 ? text.ptr + text.len : text.ptr;
    const char *p = text.ptr;

    weir_buf_putc(out, '"');
    while (p < end) {
        const char *special = json_skip_plain(p, end);

        weir_buf_append(out, p, (size_t)(special - p));
        p = special;
        if (p < end)
            p += put_special(out, weir_str_n(p, (size_t)(end - p)));
    }
    weir_buf_putc(out, '"');
}

void weir_json_key_str(struct weir_json_writer *writer, struct weir_str key)
{
    WEIR_ASSERT(in_object(writer) && !writer->after_key);
    next_entry(writer);
    put_text(writer->out, key);
    weir_buf_putc(writer->out, ':');
    if (writer->pretty)
        weir_buf_putc(writer->out, ' ');
    writer->after_key = true;
}

void weir_json_key(struct weir_json_writer *writer, const char *key)
{
    weir_json_key_str(writer, weir_str(key));
}

void weir_json_str(struct weir_json_writer *writer, struct weir_str value)
{
    before_value(writer);
    put_text(writer->out, value);
}

void weir_json_text(struct weir_json_writer *writer, const char *value)
{
    if (value == NULL)
        weir_json_null(writer);
    else
        weir_json_str(writer, weir_str(value));
}

/* ---- numbers and words ---- */

void weir_json_i64(struct weir_json_writer *writer, int64_t value)
{
    before_value(writer);
    weir_buf_i64(writer->out, value);
}

void weir_json_u64(struct weir_json_writer *writer, uint64_t value)
{
    before_value(writer);
    weir_buf_u64(writer->out, value);
}

/* printf and strtod follow the locale alike; only what is written must have a point. */
static void put_with_point(struct weir_buf *out, const char *text)
{
    size_t head = strspn(text, "-0123456789e+");
    size_t radix = strcspn(text + head, "0123456789");

    weir_buf_append(out, text, head);
    if (radix > 0)
        weir_buf_putc(out, '.');
    weir_buf_puts(out, text + head + radix);
}

void weir_json_f64(struct weir_json_writer *writer, double value)
{
    char text[64];
    /* 15 digits of any normal double are its own, and %g drops the zeros behind them. A subnormal
     * has fewer. */
    int digits = fpclassify(value) == FP_SUBNORMAL ? 1 : 15;

    before_value(writer);
    if (!isfinite(value)) {
        writer->not_finite = true;
        return;
    }
    do
        snprintf(text, sizeof(text), "%.*g", digits, value);
    while (++digits <= 17 && strtod(text, NULL) != value);
    put_with_point(writer->out, text);
}

void weir_json_bool(struct weir_json_writer *writer, bool value)
{
    before_value(writer);
    weir_buf_puts(writer->out, value ? "true" : "false");
}

void weir_json_null(struct weir_json_writer *writer)
{
    before_value(writer);
    weir_buf_puts(writer->out, "null");
}

/* ---- trees ---- */

static int write_number(struct weir_json_writer *w, const struct weir_tree *node,
                        struct weir_err *err)
{
    if (!weir_json_is_number(node->text))
        return weir_tree_error(node, err, "JSON has no way to write the number '%.*s'",
                               WEIR_STR_ARG(node->text));
    before_value(w);
    weir_buf_str(w->out, node->text);
    return 0;
}

static int write_container(struct weir_json_writer *w, const struct weir_tree *node,
                           struct weir_err *err)
{
    bool object = node->kind == WEIR_TREE_OBJECT;

    if (w->depth >= WEIR_JSON_DEPTH_LIMIT) {
        weir_error(err, WEIR_E_TOO_LARGE, "more than %d arrays and objects inside one another",
                   WEIR_JSON_DEPTH_LIMIT);
        return weir_error_at(err, node->line, node->column);
    }
    open_bracket(w, object ? '{' : '[');
    weir_tree_foreach (child, node) {
        int result;

        if (object)
            weir_json_key_str(w, child->key);
        result = weir_json_write_tree(w, child, err);
        if (result < 0)
            return result;
    }
    close_bracket(w, object ? '}' : ']');
    return 0;
}

int weir_json_write_tree(struct weir_json_writer *writer, const struct weir_tree *node,
                         struct weir_err *err)
{
    switch ((enum weir_tree_kind)node->kind) {
    case WEIR_TREE_NULL:
        weir_json_null(writer);
        return 0;
    case WEIR_TREE_BOOL:
        weir_json_bool(writer, weir_str_eq_c(node->text, "true"));
        return 0;
    case WEIR_TREE_NUMBER:
        return write_number(writer, node, err);
    case WEIR_TREE_STRING:
        weir_json_str(writer, node->text);
        return 0;
    case WEIR_TREE_ARRAY:
    case WEIR_TREE_OBJECT:
        return write_container(writer, node, err);
    case WEIR_TREE_KIND_MAX:
        break;
    }
    WEIR_BUG("a tree node without a kind");
}

#include "base/arena.h"
#include "base/char.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "fmt/json_keys.h"
#include "fmt/json_scan.h"

#include <string.h>

/* The functions below take the place to read from and return the place behind what they read, or
 * NULL after fail(). The recursion read_value → read_array/read_object → read_value is bounded by
 * max_depth. */
struct reader {
    const char *begin;
    const char *end;
    int64_t line_offset; /* of the line's first byte, from begin; before it for the first line */
    uint32_t line;
    uint32_t depth;
    uint32_t max_depth;
    bool last_wins;
    struct weir_arena *arena;
    struct weir_err *err;
    int code; /* of the failure */
};

static uint32_t column_of(const struct reader *r, const char *at)
{
    return (uint32_t)(at - r->begin - r->line_offset + 1);
}

__attribute__((format(printf, 4, 5), cold)) static const char *fail(struct reader *r, int code,
                                                                    const char *at,
                                                                    const char *format, ...)
{
    va_list args;

    va_start(args, format);
    r->code = weir_error_v(r->err, code, format, args);
    va_end(args);
    weir_error_at(r->err, r->line, column_of(r, at));
    return NULL;
}

__attribute__((cold)) static const char *expected(struct reader *r, const char *at,
                                                  const char *what)
{
    if (at >= r->end)
        return fail(r, WEIR_E_INVALID, at, "expected %s, got the end of the text", what);
    if (*at > ' ' && *at <= '~')
        return fail(r, WEIR_E_INVALID, at, "expected %s, got '%c'", what, *at);
    return fail(r, WEIR_E_INVALID, at, "expected %s, got byte 0x%02x", what, (unsigned char)*at);
}

__attribute__((cold)) static const char *no_memory(struct reader *r, const char *at)
{
    return fail(r, WEIR_E_NO_MEMORY, at, "no memory for the JSON tree");
}

static const char *skip_space(struct reader *r, const char *p)
{
    for (; p < r->end && (unsigned char)*p <= ' '; p++) {
        if (*p == '\n') {
            r->line++;
            r->line_offset = p + 1 - r->begin;
        } else if (*p != ' ' && *p != '\t' && *p != '\r') {
            break;
        }
    }
    return p;
}

/* ---- strings ---- */

__attribute__((cold)) static const char *not_closed(struct reader *r)
{
    return fail(r, WEIR_E_INVALID, r->end, "string is not closed at the end of the text");
}

/* To the quote or backslash that ends a run of plain text. */
static const char *skip_text(struct reader *r, const char *p)
{
    for (;;) {
        size_t n;

        p = json_skip_plain(p, r->end);
        if (p == r->end)
            return not_closed(r);
        if (*p == '"' || *p == '\\')
            return p;
        n = weir_str_utf8_length(weir_str_n(p, (size_t)(r->end - p)));
        if ((unsigned char)*p < 0x20)
            return fail(r, WEIR_E_INVALID, p, "control character 0x%02x in a string, not escaped",
                        (unsigned char)*p);
        if (n == 0)
            return fail(r, WEIR_E_INVALID, p, "byte 0x%02x in a string is not UTF-8",
                        (unsigned char)*p);
        p += n;
    }
}

/* The four digits behind \u; -1 if they are not. */
static int32_t hex4(const char *p, const char *end)
{
    int32_t code = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = weir_char_hex(p[i]);

        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static char *put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = (char)(0xE0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    } else {
        *out++ = (char)(0xF0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3F));
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (char)(0x80 | (code & 0x3F));
    }
    return out;
}

/* p is at the backslash of \uXXXX. */
static const char *read_unicode_escape(struct reader *r, const char *p, char **out)
{
    int32_t code = hex4(p + 2, r->end);
    int32_t low;

    if (code < 0)
        return fail(r, WEIR_E_INVALID, p, "escape '\\u' without four hexadecimal digits");
    if (code >= 0xDC00 && code <= 0xDFFF)
        return fail(r, WEIR_E_INVALID, p, "escape '\\u%04x' is the second half of a pair alone",
                    (unsigned)code);
    if (code < 0xD800 || code > 0xDBFF) {
        *out = put_utf8(*out, (uint32_t)code);
        return p + 6;
    }
    low = r->end - p >= 8 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8, r->end) : -1;
    if (low < 0xDC00 || low > 0xDFFF)
        return fail(r, WEIR_E_INVALID, p, "escape '\\u%04x' is the first half of a pair alone",
                    (unsigned)code);
    *out = put_utf8(*out, 0x10000 + (uint32_t)((code - 0xD800) << 10) + (uint32_t)(low - 0xDC00));
    return p + 12;
}

/* p is at the backslash; the string is known to be closed further on. */
static const char *read_escape(struct reader *r, const char *p, char **out)
{
    static const char meaning[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                      ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    char c;

    if (p[1] == 'u')
        return read_unicode_escape(r, p, out);
    c = meaning[(unsigned char)p[1]];
    if (c == '\0')
        return expected(r, p + 1, "one of \"\\/bfnrtu behind a backslash");
    *(*out)++ = c;
    return p + 2;
}

/* The string from start, plain up to p, where the first backslash is. Decoding never lengthens. */
static const char *read_escaped(struct reader *r, const char *start, const char *p,
                                struct weir_str *ret_text)
{
    const char *close = p;
    char *text;
    char *out;

    while (close < r->end && *close == '\\')
        close = close + 2 < r->end ? json_skip_to_quote(close + 2, r->end) : r->end;
    if (close == r->end)
        return not_closed(r);
    text = weir_arena_bytes(r->arena, (size_t)(close - start));
    if (text == NULL)
        return no_memory(r, start);
    out = text;
    for (;;) {
        memcpy(out, start, (size_t)(p - start));
        out += p - start;
        if (*p == '"')
            break;
        start = read_escape(r, p, &out);
        p = start != NULL ? skip_text(r, start) : NULL;
        if (p == NULL)
            return NULL;
    }
    *ret_text = weir_str_n(text, (size_t)(out - text));
    return p + 1;
}

/* p is behind the opening quote. */
static const char *read_string(struct reader *r, const char *p, struct weir_str *ret_text)
{
    const char *start = p;

    p = skip_text(r, p);
    if (p == NULL)
        return NULL;
    if (*p == '\\')
        return read_escaped(r, start, p, ret_text);
    *ret_text = weir_str_n(start, (size_t)(p - start));
    return p + 1;
}

/* ---- numbers and words ---- */

static bool is_digit(const char *p, const char *end)
{
    return p < end && weir_char_is_digit(*p);
}

/* Behind the number at p; NULL if it is none, with the place where a digit is missing. */
static const char *skip_number(const char *p, const char *end, const char **ret_missing)
{
    if (p < end && *p == '-')
        p++;
    *ret_missing = p;
    if (!is_digit(p, end))
        return NULL;
    if (*p == '0')
        p++;
    else
        while (is_digit(p, end))
            p++;
    if (p < end && *p == '.') {
        *ret_missing = ++p;
        if (!is_digit(p, end))
            return NULL;
        while (is_digit(p, end))
            p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        *ret_missing = p;
        if (!is_digit(p, end))
            return NULL;
        while (is_digit(p, end))
            p++;
    }
    return p;
}

bool weir_json_is_number(struct weir_str text)
{
    const char *missing;

    return text.len > 0 &&
           skip_number(text.ptr, text.ptr + text.len, &missing) == text.ptr + text.len;
}

static const char *read_number(struct reader *r, const char *p, struct weir_tree *node)
{
    const char *missing;
    const char *end = skip_number(p, r->end, &missing);

    if (end == NULL)
        return expected(r, missing, "a digit");
    if (is_digit(end, r->end))
        return fail(r, WEIR_E_INVALID, p, "number begins with 0");
    node->kind = WEIR_TREE_NUMBER;
    node->text = weir_str_n(p, (size_t)(end - p));
    return end;
}

static const char *read_word(struct reader *r, const char *p, struct weir_tree *node,
                             enum weir_tree_kind kind, struct weir_str word)
{
    if ((size_t)(r->end - p) < word.len || memcmp(p, word.ptr, word.len) != 0)
        return expected(r, p, "a value");
    node->kind = (uint8_t)kind;
    node->text = weir_str_n(p, word.len);
    return p + word.len;
}

/* ---- arrays and objects ---- */

static const char *read_value(struct reader *r, const char *p, struct weir_tree *node);

static struct weir_tree *add_child(struct reader *r, struct weir_tree *parent)
{
    return weir_tree_add(parent, WEIR_TREE_NULL, weir_str_n(NULL, 0), r->arena);
}

static const char *enter(struct reader *r, const char *p)
{
    if (r->depth == r->max_depth)
        return fail(r, WEIR_E_TOO_LARGE, p, "more than %u arrays and objects inside one another",
                    r->max_depth);
    r->depth++;
    return skip_space(r, p + 1);
}

static const char *read_array(struct reader *r, const char *p, struct weir_tree *node)
{
    node->kind = WEIR_TREE_ARRAY;
    p = enter(r, p);
    if (p == NULL)
        return NULL;
    if (p < r->end && *p == ']')
        goto close;
    for (;;) {
        struct weir_tree *child = add_child(r, node);

        if (child == NULL)
            return no_memory(r, p);
        p = read_value(r, p, child);
        if (p == NULL)
            return NULL;
        p = skip_space(r, p);
        if (p < r->end && *p == ']')
            goto close;
        if (p == r->end || *p != ',')
            return expected(r, p, "',' or ']'");
        p = skip_space(r, p + 1);
    }
close:
    r->depth--;
    return p + 1;
}

/* p is where the key must be. */
static const char *read_member(struct reader *r, const char *p, struct weir_tree *object,
                               struct json_names *names)
{
    struct weir_tree *child;

    if (p == r->end || *p != '"')
        return expected(r, p, "a key in double quotes");
    child = add_child(r, object);
    if (child == NULL)
        return no_memory(r, p);
    child->key_line = r->line;
    child->key_column = column_of(r, p);
    p = read_string(r, p + 1, &child->key);
    if (p == NULL)
        return NULL;
    json_names_add(names, child->key);
    p = skip_space(r, p);
    if (p == r->end || *p != ':')
        return expected(r, p, "':'");
    p = read_value(r, skip_space(r, p + 1), child);
    return p != NULL ? skip_space(r, p) : NULL;
}

static const char *read_object(struct reader *r, const char *p, struct weir_tree *node)
{
    struct json_names names = {{0}, false};

    node->kind = WEIR_TREE_OBJECT;
    p = enter(r, p);
    if (p == NULL)
        return NULL;
    if (p < r->end && *p == '}')
        goto close;
    for (;;) {
        p = read_member(r, p, node, &names);
        if (p == NULL)
            return NULL;
        if (p < r->end && *p == '}')
            break;
        if (p == r->end || *p != ',')
            return expected(r, p, "',' or '}'");
        p = skip_space(r, p + 1);
    }
    if (names.maybe_twice) {
        r->code = json_keys_settle(node, r->last_wins, r->err);
        if (r->code < 0)
            return NULL;
    }
close:
    r->depth--;
    return p + 1;
}

static const char *read_value(struct reader *r, const char *p, struct weir_tree *node)
{
    node->line = r->line;
    node->column = column_of(r, p);
    switch (p < r->end ? *p : '\0') {
    case '"':
        node->kind = WEIR_TREE_STRING;
        node->quoted = true;
        return read_string(r, p + 1, &node->text);
    case '{':
        return read_object(r, p, node);
    case '[':
        return read_array(r, p, node);
    case 't':
        return read_word(r, p, node, WEIR_TREE_BOOL, WEIR_STR("true"));
    case 'f':
        return read_word(r, p, node, WEIR_TREE_BOOL, WEIR_STR("false"));
    case 'n':
        return read_word(r, p, node, WEIR_TREE_NULL, WEIR_STR("null"));
    case '-':
    case '0' ... '9':
        return read_number(r, p, node);
    default:
        return expected(r, p, "a value");
    }
}

static void start(struct reader *r, struct weir_str text, const struct weir_json_options *options)
{
    static const struct weir_json_options defaults = {0};
    const struct weir_json_options *o = options != NULL ? options : &defaults;
    int64_t column = o->column > 0 ? o->column : 1;

    r->begin = text.len > 0 ? text.ptr : "";
    r->end = r->begin + text.len;
    /* So that no column passes UINT32_MAX. */
    if (column > (int64_t)(UINT32_MAX - text.len - 1))
        column = (int64_t)(UINT32_MAX - text.len - 1);
    r->line_offset = 1 - column;
    r->line = o->line > 0 ? o->line : 1;
    r->max_depth = o->max_depth > 0 ? o->max_depth : WEIR_JSON_DEPTH_DEFAULT;
    if (r->max_depth > WEIR_JSON_DEPTH_LIMIT)
        r->max_depth = WEIR_JSON_DEPTH_LIMIT;
    r->last_wins = o->allow_duplicates;
}

int weir_json_read(struct weir_str text, const struct weir_json_options *options,
                   struct weir_arena *arena, struct weir_tree **ret_tree, struct weir_err *err)
{
    struct reader r = {.arena = arena, .err = err};
    struct weir_tree *root;
    const char *p;

    if (text.len >= UINT32_MAX - 1)
        return weir_error(err, WEIR_E_TOO_LARGE, "JSON text of 4 GiB or more");
    start(&r, text, options);
    root = add_child(&r, NULL);
    if (root == NULL) {
        no_memory(&r, r.begin);
        return r.code;
    }
    p = read_value(&r, skip_space(&r, r.begin), root);
    if (p == NULL)
        return r.code;
    p = skip_space(&r, p);
    if (p != r.end) {
        expected(&r, p, "nothing behind the value");
        return r.code;
    }
    *ret_tree = root;
    return 0;
}

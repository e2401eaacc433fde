#include "fmt/yaml_write.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/char.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/yaml.h"

#include <stdbool.h>

struct writer {
    struct weir_buf *out;
    struct weir_arena arena; /* for weir_yaml_resolve() */
    struct weir_err *err;
};

static bool is_plain_char(char c)
{
    return weir_char_is_letter(c) || weir_char_is_digit(c) ||
           weir_str_find_char(WEIR_STR("_./@+=-"), c) >= 0;
}

/* Nothing but words of plain characters: what is left are those that mean something by themselves.
 */
static bool looks_plain(struct weir_str text)
{
    if (text.len == 0 || weir_str_find_char(WEIR_STR(" .=-+@"), text.ptr[0]) >= 0 ||
        text.ptr[text.len - 1] == ' ')
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != ' ' && !is_plain_char(text.ptr[i]))
            return false;
    return true;
}

/* Characters that a reader refuses or takes for a line's end when they stand there by themselves.
 */
static bool must_escape(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
           code == 0xfeff || code == 0xfffe || code == 0xffff;
}

static uint32_t decode(struct weir_str text, size_t *ret_len)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t len = weir_str_utf8_length(text);
    uint32_t code;

    *ret_len = len > 0 ? len : 1;
    if (len == 0)
        return 0xfffd;
    if (len == 1)
        return bytes[0];
    code = bytes[0] & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (bytes[i] & 0x3fU);
    return code;
}

static void put_escaped(struct writer *w, uint32_t code)
{
    switch (code) {
    case '\n':
        weir_buf_puts(w->out, "\\n");
        return;
    case '\t':
        weir_buf_puts(w->out, "\\t");
        return;
    case '\r':
        weir_buf_puts(w->out, "\\r");
        return;
    default:
        weir_buf_printf(w->out, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
    }
}

static void put_quoted(struct writer *w, struct weir_str text)
{
    weir_buf_putc(w->out, '"');
    while (text.len > 0) {
        size_t len;
        uint32_t code = decode(text, &len);

        if (code == '"' || code == '\\') {
            weir_buf_putc(w->out, '\\');
            weir_buf_putc(w->out, (char)code);
        } else if (code == 0xfffd) {
            weir_buf_puts(w->out, "\xef\xbf\xbd");
        } else if (must_escape(code)) {
            put_escaped(w, code);
        } else {
            weir_buf_str(w->out, weir_str_sub(text, 0, len));
        }
        text = weir_str_sub(text, len, text.len);
    }
    weir_buf_putc(w->out, '"');
}

static int put_string(struct writer *w, struct weir_str text)
{
    struct weir_yaml_scalar scalar;

    if (!looks_plain(text)) {
        put_quoted(w, text);
        return 0;
    }
    weir_arena_reset(&w->arena);
    if (weir_yaml_resolve(text, &w->arena, &scalar) < 0)
        return weir_error(w->err, WEIR_E_NO_MEMORY, "no memory to write YAML");
    if (scalar.kind != WEIR_TREE_STRING || weir_yaml_is_ambiguous(text))
        put_quoted(w, text);
    else
        weir_buf_str(w->out, text);
    return 0;
}

/* Several lines, of which a literal block loses nothing. */
static bool fits_block(struct weir_str text)
{
    if (weir_str_find_char(text, '\n') < 0 || text.ptr[0] == ' ' || text.ptr[0] == '\n' ||
        weir_str_ends_with(text, WEIR_STR("\n\n")) || text.len < 2)
        return false;
    while (text.len > 0) {
        size_t len;
        uint32_t code = decode(text, &len);

        if (code != '\n' && (code == 0xfffd || must_escape(code)))
            return false;
        text = weir_str_sub(text, len, text.len);
    }
    return true;
}

static void put_indent(struct writer *w, unsigned level)
{
    for (unsigned i = 0; i < level; i++)
        weir_buf_puts(w->out, "  ");
}

static void put_block(struct writer *w, struct weir_str text, unsigned level)
{
    struct weir_str line;

    if (text.ptr[text.len - 1] == '\n') {
        weir_buf_puts(w->out, "|\n");
        text.len--;
    } else {
        weir_buf_puts(w->out, "|-\n");
    }
    while (weir_str_split(&text, '\n', &line)) {
        if (line.len > 0)
            put_indent(w, level > 0 ? level : 1);
        weir_buf_str(w->out, line);
        weir_buf_putc(w->out, '\n');
    }
}

static int put_node(struct writer *w, const struct weir_tree *node, unsigned level, unsigned depth);

/* What stands behind "key:" or "-", with the newline. */
static int put_value(struct writer *w, const struct weir_tree *node, unsigned level)
{
    int result = 0;

    if (node->kind == WEIR_TREE_STRING && fits_block(node->text)) {
        put_block(w, node->text, level);
        return 0;
    }
    if (node->kind == WEIR_TREE_STRING)
        result = put_string(w, node->text);
    else if (node->kind == WEIR_TREE_ARRAY)
        weir_buf_puts(w->out, "[]");
    else if (node->kind == WEIR_TREE_OBJECT)
        weir_buf_puts(w->out, "{}");
    else if (node->kind == WEIR_TREE_NULL)
        weir_buf_puts(w->out, "null");
    else
        weir_buf_str(w->out, node->text);
    weir_buf_putc(w->out, '\n');
    return result;
}

static bool is_nested(const struct weir_tree *node)
{
    return (node->kind == WEIR_TREE_ARRAY || node->kind == WEIR_TREE_OBJECT) && node->first != NULL;
}

static int put_member(struct writer *w, const struct weir_tree *node, unsigned level,
                      unsigned depth)
{
    int result = put_string(w, node->key);

    if (result < 0)
        return result;
    weir_buf_putc(w->out, ':');
    if (!is_nested(node)) {
        weir_buf_putc(w->out, ' ');
        return put_value(w, node, level + 1);
    }
    weir_buf_putc(w->out, '\n');
    /* A list stands at the level of its key, as kubectl writes it. */
    level += node->kind == WEIR_TREE_ARRAY ? 0 : 1;
    put_indent(w, level);
    return put_node(w, node, level, depth + 1);
}

/* The first line's indent is written already. */
static int put_node(struct writer *w, const struct weir_tree *node, unsigned level, unsigned depth)
{
    bool first = true;

    if (depth > WEIR_YAML_DEPTH_MAX)
        return weir_error(w->err, WEIR_E_TOO_LARGE, "nested deeper than %d levels",
                          WEIR_YAML_DEPTH_MAX);
    if (!is_nested(node))
        return put_value(w, node, level);
    weir_tree_foreach (child, node) {
        int result;

        if (!first)
            put_indent(w, level);
        first = false;
        if (node->kind == WEIR_TREE_OBJECT) {
            result = put_member(w, child, level, depth);
        } else {
            weir_buf_puts(w->out, "- ");
            result = put_node(w, child, level + 1, depth + 1);
        }
        if (result < 0)
            return result;
    }
    return 0;
}

int weir_yaml_write(const struct weir_tree *root, struct weir_buf *out, struct weir_err *err)
{
    struct writer w = {.out = out, .err = err, .arena = WEIR_ARENA_INIT};
    int result = put_node(&w, root, 0, 1);

    weir_arena_finish(&w.arena);
    return result < 0 ? result : weir_buf_check(out, "the YAML", err);
}

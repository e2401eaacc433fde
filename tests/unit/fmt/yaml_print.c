/* Reads cases from stdin, each a line with its length in bytes and then the bytes, and prints for
 * each one line of JSON: what weir_yaml_read() made of it. For yaml_oracle.py. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "fmt/yaml.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BYTES = 1 << 24 };

static void put_string(struct weir_str s, struct weir_buf *out)
{
    weir_buf_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F)
            weir_buf_printf(out, "\\u%04x", c);
        else
            weir_buf_putc(out, s.ptr[i]);
    }
    weir_buf_putc(out, '"');
}

/* {"kind": …, "text": …, "quoted": …, "at": [line, column]} and for what has children
 * "members": [[key, [line, column], node] …] or "items": [node …] */
static void put_node(const struct weir_tree *node, struct weir_buf *out)
{
    bool is_object = node->kind == WEIR_TREE_OBJECT;

    weir_buf_printf(out, "{\"kind\":\"%s\",\"quoted\":%s,\"at\":[%u,%u],\"text\":",
                    weir_tree_kind_name((enum weir_tree_kind)node->kind),
                    node->quoted ? "true" : "false", node->line, node->column);
    put_string(node->text, out);
    weir_buf_puts(out, is_object ? ",\"members\":[" : ",\"items\":[");
    weir_tree_foreach (child, node) {
        if (child != node->first)
            weir_buf_putc(out, ',');
        if (is_object) {
            weir_buf_putc(out, '[');
            put_string(child->key, out);
            weir_buf_printf(out, ",[%u,%u],", child->key_line, child->key_column);
        }
        put_node(child, out);
        if (is_object)
            weir_buf_putc(out, ']');
    }
    weir_buf_puts(out, "]}");
}

static void put_case(struct weir_str text, struct weir_buf *out)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_yaml_stream stream;

    if (weir_yaml_read(text, MAX_BYTES, &arena, &stream, &err) < 0) {
        weir_buf_printf(out, "{\"at\":[%u,%u],\"error\":", err.line, err.column);
        put_string(weir_str(err.text), out);
        weir_buf_puts(out, "}\n");
    } else {
        weir_buf_puts(out, "{\"documents\":[");
        for (size_t i = 0; i < stream.n_documents; i++) {
            if (i > 0)
                weir_buf_putc(out, ',');
            put_node(stream.documents[i].root, out);
        }
        weir_buf_puts(out, "]}\n");
    }
    weir_arena_finish(&arena);
}

int main(void)
{
    static char text[MAX_BYTES];
    char head[32];

    while (fgets(head, sizeof(head), stdin) != NULL) {
        struct weir_buf out = WEIR_BUF_INIT((size_t)MAX_BYTES * 16);
        size_t n = strtoul(head, NULL, 10);

        if (n > sizeof(text) || fread(text, 1, n, stdin) != n)
            return 1;
        put_case(weir_str_n(text, n), &out);
        if (weir_buf_check(&out, "output", NULL) < 0)
            return 1;
        fwrite(out.data, 1, out.len, stdout);
        weir_buf_finish(&out);
    }
    return 0;
}

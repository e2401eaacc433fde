/* Whatever is read must keep the promises of fmt/yaml.h: places inside the input, no key twice,
 * numbers that are JSON numbers, text without NUL, no deeper than the limit. */
#include "base/arena.h"
#include "base/err.h"
#include "fmt/schema.h"
#include "fmt/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_BYTES = 1 << 20, ARENA_BYTES = 64 << 20, KEYS_COMPARED_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t digits(struct weir_str s, size_t at)
{
    size_t n = 0;

    while (at + n < s.len && s.ptr[at + n] >= '0' && s.ptr[at + n] <= '9')
        n++;
    return n;
}

static bool is_json_number(struct weir_str s)
{
    size_t at = s.len > 0 && s.ptr[0] == '-' ? 1 : 0;
    size_t n = digits(s, at);

    if (n == 0 || (n > 1 && s.ptr[at] == '0'))
        return false;
    at += n;
    if (at < s.len && s.ptr[at] == '.') {
        n = digits(s, at + 1);
        if (n == 0)
            return false;
        at += n + 1;
    }
    if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
        at++;
        if (at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-'))
            at++;
        n = digits(s, at);
        if (n == 0)
            return false;
        at += n;
    }
    return at == s.len;
}

static void check_text(struct weir_str s)
{
    WEIR_ASSERT(weir_str_is_utf8(s));
    WEIR_ASSERT(weir_str_find_char(s, '\0') < 0);
    weir_yaml_is_ambiguous(s);
}

static void check_keys(const struct weir_tree *node)
{
    unsigned n = 0;

    weir_tree_foreach (a, node) {
        if (++n > KEYS_COMPARED_MAX)
            return;
        for (const struct weir_tree *b = node->first; b != a; b = b->next)
            WEIR_ASSERT(!weir_str_eq(a->key, b->key));
    }
}

static void check_node(const struct weir_tree *node, unsigned depth, uint32_t n_lines)
{
    uint32_t n_children = 0;

    WEIR_ASSERT(node->line >= 1 && node->line <= n_lines && node->column >= 1);
    check_text(node->text);
    check_text(node->key);
    if (node->kind == WEIR_TREE_NUMBER)
        WEIR_ASSERT(is_json_number(node->text));
    if (node->kind == WEIR_TREE_OBJECT)
        check_keys(node);
    if (node->kind == WEIR_TREE_OBJECT || node->kind == WEIR_TREE_ARRAY)
        WEIR_ASSERT(depth < WEIR_YAML_DEPTH_MAX);
    weir_tree_foreach (child, node) {
        WEIR_ASSERT(child->parent == node);
        WEIR_ASSERT(node->kind != WEIR_TREE_OBJECT ||
                    (child->key_line >= 1 && child->key_line <= n_lines));
        check_node(child, depth + 1, n_lines);
        n_children++;
    }
    WEIR_ASSERT(n_children == node->n_children);
}

static uint32_t count_lines(struct weir_str text)
{
    uint32_t n = 1;

    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n' || text.ptr[i] == '\r';
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_str text = weir_str_n((const char *)data, size);
    uint32_t n_lines = count_lines(text);
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_yaml_stream stream;
    struct weir_arena arena;
    int rc;

    weir_arena_init(&arena, ARENA_BYTES);
    rc = weir_yaml_read(text, MAX_BYTES, &arena, &stream, &err);
    if (rc < 0) {
        WEIR_ASSERT(err.code == rc && err.text[0] != '\0');
        WEIR_ASSERT(rc != WEIR_E_INVALID || (err.line >= 1 && err.line <= n_lines));
    } else {
        for (size_t i = 0; i < stream.n_documents; i++) {
            const struct weir_tree *root = stream.documents[i].root;

            WEIR_ASSERT(stream.documents[i].line >= 1 && stream.documents[i].line <= n_lines);
            check_node(root, 0, n_lines);
            /* Any document may turn out to be a schema. */
            if (weir_schema_check_schema(root, &err) == 0)
                weir_schema_check(root, stream.documents[0].root, &err);
        }
    }
    weir_arena_finish(&arena);
    return 0;
}

#include "fmt/yaml_reader.h"

#include "base/buf.h"
#include "base/err.h"

/* Up to so many members a key is looked for in the list itself. */
enum { KEYS_LINEAR = 16 };

struct weir_yaml_frame *weir_yaml_top_frame(struct weir_yaml_reader *r)
{
    return r->n_frames > 0 ? &r->frames[r->n_frames - 1] : NULL;
}

int weir_yaml_fail(struct weir_yaml_reader *r, int code, struct weir_yaml_place place,
                   const char *format, ...)
{
    struct weir_buf path = WEIR_BUF_INIT(WEIR_ERR_FIELD_MAX);
    const struct weir_yaml_frame *top = weir_yaml_top_frame(r);
    va_list args;

    va_start(args, format);
    weir_error_v(r->err, code, format, args);
    va_end(args);
    if (r->err == NULL)
        return code;
    if (top != NULL)
        weir_tree_path_of(top->node, &path);
    if (top != NULL && top->has_key)
        weir_buf_printf(&path, "%s%.*s", path.len > 0 ? "." : "", WEIR_STR_ARG(top->key));
    weir_error_field(r->err, "%s", weir_buf_cstr(&path));
    weir_buf_finish(&path);
    return weir_error_at(r->err, place.line, place.column);
}

int weir_yaml_no_memory(struct weir_yaml_reader *r)
{
    return weir_error(r->err, WEIR_E_NO_MEMORY, "no memory to read YAML");
}

bool weir_yaml_find_key(const struct weir_yaml_frame *frame, struct weir_str key,
                        uint64_t *ret_line)
{
    if (frame->key_lines.n_live > 0)
        return weir_map_get(&frame->key_lines, key, ret_line);
    weir_tree_foreach (child, frame->node) {
        if (!weir_str_eq(child->key, key))
            continue;
        *ret_line = child->key_line;
        return true;
    }
    return false;
}

int weir_yaml_note_key(struct weir_yaml_frame *frame, struct weir_str key, uint32_t line)
{
    if (frame->node->n_children < KEYS_LINEAR)
        return 0;
    if (frame->key_lines.n_live == 0)
        weir_tree_foreach (child, frame->node)
            if (weir_map_set(&frame->key_lines, child->key, child->key_line) < 0)
                return WEIR_E_NO_MEMORY;
    return weir_map_set(&frame->key_lines, key, line);
}

int weir_yaml_find_anchor(struct weir_yaml_reader *r, const yaml_char_t *anchor,
                          struct weir_yaml_place place, const struct weir_tree **ret_node)
{
    char shown[WEIR_STR_SHOW_MAX];
    struct weir_str name = weir_str((const char *)anchor);
    uint64_t value;

    weir_str_show(name, shown);
    if (!weir_map_get(&r->anchors, name, &value)) {
        weir_yaml_fail(r, WEIR_E_INVALID, place, "alias '*%s' has no anchor '&%s' before it", shown,
                       shown);
        return weir_error_hint(r->err, "quote a text that starts with '*'");
    }
    *ret_node = (const struct weir_tree *)(uintptr_t)value;
    for (unsigned i = 0; i < r->n_frames; i++)
        if (r->frames[i].node == *ret_node)
            return weir_yaml_fail(r, WEIR_E_INVALID, place,
                                  "alias '*%s' is inside what it stands for", shown);
    return 0;
}

bool weir_yaml_is_nest(const struct weir_tree *node)
{
    return node->kind == WEIR_TREE_ARRAY || node->kind == WEIR_TREE_OBJECT;
}

int weir_yaml_too_deep(struct weir_yaml_reader *r, struct weir_yaml_place place)
{
    return weir_yaml_fail(r, WEIR_E_TOO_LARGE, place, "nested deeper than %d levels",
                          WEIR_YAML_DEPTH_MAX);
}

static int copy_member(struct weir_yaml_reader *r, struct weir_tree *parent,
                       const struct weir_tree *from, unsigned depth, struct weir_yaml_place place)
{
    struct weir_tree *copy =
        weir_tree_add(parent, (enum weir_tree_kind)from->kind, from->key, r->arena);

    if (copy == NULL)
        return weir_yaml_no_memory(r);
    copy->line = from->line;
    copy->column = from->column;
    copy->key_line = from->key_line;
    copy->key_column = from->key_column;
    return weir_yaml_copy_content(r, copy, from, depth, place);
}

int weir_yaml_copy_content(struct weir_yaml_reader *r, struct weir_tree *to,
                           const struct weir_tree *from, unsigned depth,
                           struct weir_yaml_place place)
{
    if (++r->n_expanded > WEIR_YAML_EXPANDED_MAX)
        return weir_yaml_fail(r, WEIR_E_TOO_LARGE, place, "aliases expand to more than %d values",
                              WEIR_YAML_EXPANDED_MAX);
    if (weir_yaml_is_nest(from) && depth >= WEIR_YAML_DEPTH_MAX)
        return weir_yaml_too_deep(r, place);
    to->quoted = from->quoted;
    to->text = from->text;
    weir_tree_foreach (child, from) {
        int rc = copy_member(r, to, child, depth + 1, place);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int merge_mapping(struct weir_yaml_reader *r, const struct weir_tree *from)
{
    struct weir_yaml_place place = {from->line, from->column};
    struct weir_yaml_frame *top = weir_yaml_top_frame(r);

    WEIR_ASSERT(top != NULL);
    if (from->kind != WEIR_TREE_OBJECT)
        return weir_yaml_fail(r, WEIR_E_INVALID, place,
                              "'<<' takes a mapping or a list of mappings, not %s",
                              weir_tree_kind_name((enum weir_tree_kind)from->kind));
    weir_tree_foreach (member, from) {
        uint64_t line;
        int rc;

        if (weir_yaml_find_key(top, member->key, &line))
            continue;
        if (weir_yaml_note_key(top, member->key, member->key_line) < 0)
            return weir_yaml_no_memory(r);
        rc = copy_member(r, top->node, member, r->n_frames, place);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void unlink_child(struct weir_tree *parent, const struct weir_tree *child)
{
    struct weir_tree *before = NULL;

    for (struct weir_tree *c = parent->first; c != child; c = c->next)
        before = c;
    if (before != NULL)
        before->next = child->next;
    else
        parent->first = child->next;
    if (parent->last == child)
        parent->last = before;
    parent->n_children--;
}

int weir_yaml_merge(struct weir_yaml_reader *r)
{
    struct weir_yaml_frame *top = weir_yaml_top_frame(r);
    const struct weir_tree *from;

    WEIR_ASSERT(top != NULL);
    from = top->merge;
    unlink_child(top->node, from);
    if (from->kind != WEIR_TREE_ARRAY)
        return merge_mapping(r, from);
    weir_tree_foreach (item, from) {
        int rc = merge_mapping(r, item);

        if (rc < 0)
            return rc;
    }
    return 0;
}

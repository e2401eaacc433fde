#include "fmt/yaml.h"

#include "base/arena.h"
#include "base/err.h"
#include "fmt/yaml_reader.h"

#include <string.h>

#define TAG_PREFIX "tag:yaml.org,2002:"

static bool wants_key(const struct weir_yaml_frame *top)
{
    return top != NULL && top->node->kind == WEIR_TREE_OBJECT && !top->has_key;
}

static struct weir_tree *add_node(struct weir_yaml_reader *r, enum weir_tree_kind kind,
                                  struct weir_yaml_place place)
{
    struct weir_yaml_frame *top = weir_yaml_top_frame(r);
    bool is_member = top != NULL && top->has_key;
    struct weir_tree *node = weir_tree_add(top != NULL ? top->node : NULL, kind,
                                           is_member ? top->key : weir_str_n("", 0), r->arena);

    if (node == NULL)
        return NULL;
    node->line = place.line;
    node->column = place.column;
    if (is_member) {
        node->key_line = top->key_place.line;
        node->key_column = top->key_place.column;
        if (top->key_is_merge)
            top->merge = node;
        top->has_key = false;
        top->key_is_merge = false;
    }
    if (top == NULL)
        r->document.root = node;
    return node;
}

static int set_anchor(struct weir_yaml_reader *r, const yaml_char_t *anchor, struct weir_tree *node)
{
    if (anchor == NULL)
        return 0;
    if (weir_map_set(&r->anchors, weir_str((const char *)anchor), (uintptr_t)node) < 0)
        return weir_yaml_no_memory(r);
    return 0;
}

static bool is_tag(const yaml_char_t *tag, const char *name)
{
    return strncmp((const char *)tag, TAG_PREFIX, sizeof(TAG_PREFIX) - 1) == 0 &&
           strcmp((const char *)tag + sizeof(TAG_PREFIX) - 1, name) == 0;
}

static int bad_tag(struct weir_yaml_reader *r, const yaml_char_t *tag, struct weir_yaml_place place)
{
    struct weir_str name = weir_str((const char *)tag);
    char shown[WEIR_STR_SHOW_MAX];
    bool is_common = weir_str_starts_with(name, WEIR_STR(TAG_PREFIX));

    weir_str_show(weir_str_sub(name, is_common ? sizeof(TAG_PREFIX) - 1 : 0, name.len), shown);
    return weir_yaml_fail(r, WEIR_E_INVALID, place, "tag '%s%s' cannot be used here",
                          is_common ? "!!" : "", shown);
}

/* Reads the scalar as if nothing was said of its type, and then holds it to the tag. */
static int apply_tag(struct weir_yaml_reader *r, const yaml_char_t *tag,
                     struct weir_yaml_place place, struct weir_yaml_scalar *scalar)
{
    char shown[WEIR_STR_SHOW_MAX];
    struct weir_str text = scalar->text;
    bool fits;

    if (weir_yaml_resolve(text, r->arena, scalar) < 0)
        return weir_yaml_no_memory(r);
    if (is_tag(tag, "null"))
        fits = scalar->kind == WEIR_TREE_NULL;
    else if (is_tag(tag, "bool"))
        fits = scalar->kind == WEIR_TREE_BOOL;
    else if (is_tag(tag, "int"))
        fits = scalar->kind == WEIR_TREE_NUMBER && scalar->is_integer;
    else if (is_tag(tag, "float"))
        fits = scalar->kind == WEIR_TREE_NUMBER;
    else
        return bad_tag(r, tag, place);
    if (fits)
        return 0;
    weir_str_show(text, shown);
    return weir_yaml_fail(r, WEIR_E_INVALID, place, "'%s' does not fit its tag '!!%s'", shown,
                          (const char *)tag + sizeof(TAG_PREFIX) - 1);
}

static int read_scalar(struct weir_yaml_reader *r, const yaml_event_t *event,
                       struct weir_yaml_place place, struct weir_yaml_scalar *ret, bool *ret_quoted)
{
    struct weir_str value =
        weir_str_n((const char *)event->data.scalar.value, event->data.scalar.length);
    const yaml_char_t *tag = event->data.scalar.tag;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    char *copy = weir_str_dup(value, r->arena);

    if (copy == NULL)
        return weir_yaml_no_memory(r);
    if (weir_str_find_char(value, '\0') >= 0)
        return weir_yaml_fail(r, WEIR_E_INVALID, place, "text with a NUL character");
    value.ptr = copy;
    *ret = (struct weir_yaml_scalar){WEIR_TREE_STRING, false, value};
    *ret_quoted = true;
    if (tag != NULL && (strcmp((const char *)tag, "!") == 0 || is_tag(tag, "str")))
        return 0;
    *ret_quoted = false;
    if (tag != NULL)
        return apply_tag(r, tag, place, ret);
    *ret_quoted = !plain;
    if (plain && weir_yaml_resolve(value, r->arena, ret) < 0)
        return weir_yaml_no_memory(r);
    return 0;
}

/* `written` is the key as it stands in the input, for the message: "true" may have been `on`. */
static int take_key(struct weir_yaml_reader *r, enum weir_tree_kind kind, struct weir_str key,
                    struct weir_str written, struct weir_yaml_place place)
{
    struct weir_yaml_frame *top = weir_yaml_top_frame(r);
    char shown[WEIR_STR_SHOW_MAX];
    uint64_t line;
    bool found;

    if (kind == WEIR_TREE_NULL) {
        weir_yaml_fail(r, WEIR_E_INVALID, place, "null cannot be a key");
        return weir_error_hint(r->err, "put the key in quotes");
    }
    found = weir_yaml_find_key(top, key, &line);
    if (!found && weir_yaml_note_key(top, key, place.line) < 0)
        return weir_yaml_no_memory(r);
    top->has_key = true;
    top->key = key;
    top->key_place = place;
    if (!found)
        return 0;
    weir_str_show(key, shown);
    weir_yaml_fail(r, WEIR_E_INVALID, place, "key '%s' is given twice, on lines %u and %u", shown,
                   (unsigned)line, place.line);
    if (!weir_str_eq(key, written))
        weir_error_hint(r->err, "'%s' without quotes is read as %s", weir_str_show(written, shown),
                        weir_tree_kind_name(kind));
    return WEIR_E_INVALID;
}

static int on_scalar(struct weir_yaml_reader *r, const yaml_event_t *event,
                     struct weir_yaml_place place)
{
    struct weir_str written =
        weir_str_n((const char *)event->data.scalar.value, event->data.scalar.length);
    struct weir_yaml_frame *top = weir_yaml_top_frame(r);
    struct weir_yaml_scalar scalar;
    struct weir_tree *node;
    bool quoted;
    int rc = read_scalar(r, event, place, &scalar, &quoted);

    if (rc < 0)
        return rc;
    if (wants_key(top)) {
        rc = take_key(r, scalar.kind, scalar.text, written, place);
        if (rc < 0)
            return rc;
        top->key_is_merge = !quoted && weir_str_eq_c(scalar.text, "<<");
        if (event->data.scalar.anchor == NULL)
            return 0;
        node = weir_tree_add(NULL, scalar.kind, weir_str_n("", 0), r->arena);
    } else {
        node = add_node(r, scalar.kind, place);
    }
    if (node == NULL)
        return weir_yaml_no_memory(r);
    node->text = scalar.text;
    node->quoted = quoted;
    return set_anchor(r, event->data.scalar.anchor, node);
}

static int on_alias(struct weir_yaml_reader *r, const yaml_event_t *event,
                    struct weir_yaml_place place)
{
    const struct weir_tree *from = NULL;
    struct weir_tree *node;
    int rc = weir_yaml_find_anchor(r, event->data.alias.anchor, place, &from);

    if (rc < 0)
        return rc;
    if (wants_key(weir_yaml_top_frame(r))) {
        if (weir_yaml_is_nest(from))
            return weir_yaml_fail(r, WEIR_E_INVALID, place, "%s cannot be a key",
                                  weir_tree_kind_name((enum weir_tree_kind)from->kind));
        return take_key(r, (enum weir_tree_kind)from->kind, from->text, from->text, place);
    }
    node = add_node(r, (enum weir_tree_kind)from->kind, place);
    if (node == NULL)
        return weir_yaml_no_memory(r);
    return weir_yaml_copy_content(r, node, from, r->n_frames, place);
}

static int on_open(struct weir_yaml_reader *r, enum weir_tree_kind kind, const yaml_char_t *anchor,
                   const yaml_char_t *tag, struct weir_yaml_place place)
{
    struct weir_tree *node;

    if (wants_key(weir_yaml_top_frame(r))) {
        weir_yaml_fail(r, WEIR_E_INVALID, place, "%s cannot be a key", weir_tree_kind_name(kind));
        return weir_error_hint(r->err, "quote a text that starts with '{' or '['");
    }
    if (tag != NULL && strcmp((const char *)tag, "!") != 0 &&
        !is_tag(tag, kind == WEIR_TREE_ARRAY ? "seq" : "map"))
        return bad_tag(r, tag, place);
    if (r->n_frames == WEIR_YAML_DEPTH_MAX)
        return weir_yaml_too_deep(r, place);
    node = add_node(r, kind, place);
    if (node == NULL)
        return weir_yaml_no_memory(r);
    r->frames[r->n_frames++] = (struct weir_yaml_frame){.node = node};
    return set_anchor(r, anchor, node);
}

static int on_close(struct weir_yaml_reader *r)
{
    struct weir_yaml_frame *top = weir_yaml_top_frame(r);
    int rc = top->merge != NULL ? weir_yaml_merge(r) : 0;

    weir_map_finish(&top->key_lines);
    r->n_frames--;
    return rc;
}

static int on_document_end(struct weir_yaml_reader *r)
{
    weir_map_clear(&r->anchors);
    if (weir_vec_push(&r->documents, r->document) < 0)
        return weir_yaml_no_memory(r);
    return 0;
}

static int on_event(struct weir_yaml_reader *r, const yaml_event_t *event)
{
    struct weir_yaml_place place = weir_yaml_places_find(&r->places, &event->start_mark);

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        r->document.line = place.line;
        return 0;
    case YAML_DOCUMENT_END_EVENT:
        return on_document_end(r);
    case YAML_ALIAS_EVENT:
        return on_alias(r, event, place);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event, place);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, WEIR_TREE_ARRAY, event->data.sequence_start.anchor,
                       event->data.sequence_start.tag, place);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, WEIR_TREE_OBJECT, event->data.mapping_start.anchor,
                       event->data.mapping_start.tag, place);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(r);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        return 0;
    }
    return 0;
}

static int read_events(struct weir_yaml_reader *r)
{
    for (;;) {
        yaml_event_t event;
        bool done;
        int rc;

        if (yaml_parser_parse(&r->parser, &event) == 0)
            return weir_yaml_syntax_error(&r->parser, &r->places, r->err);
        rc = on_event(r, &event);
        done = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (rc < 0 || done)
            return rc;
    }
}

static uint32_t line_of(struct weir_str text, size_t at)
{
    uint32_t line = 1;

    for (size_t i = 0; i < at; i++)
        line += text.ptr[i] == '\n';
    return line;
}

/* libyaml compares every %TAG with all before it, so their number is held down here, with every
 * byte that may end a line taken for a line end. */
static int check_tag_directives(struct weir_str text, struct weir_err *err)
{
    struct weir_str rest = text;
    ptrdiff_t at;
    unsigned n = 0;

    while ((at = weir_str_find(rest, WEIR_STR("%TAG"))) >= 0) {
        const char *found = rest.ptr + at;
        bool starts_line =
            found == text.ptr || (unsigned char)found[-1] < ' ' || (unsigned char)found[-1] > 0x7F;

        if (starts_line && ++n > WEIR_YAML_TAG_DIRECTIVES_MAX) {
            weir_error(err, WEIR_E_TOO_LARGE, "more than %d %%TAG directives",
                       WEIR_YAML_TAG_DIRECTIVES_MAX);
            return weir_error_at(err, line_of(text, (size_t)(found - text.ptr)), 1);
        }
        rest = weir_str_sub(rest, (size_t)at + 4, rest.len);
    }
    return 0;
}

static int check_input(struct weir_str *text, size_t max_bytes, struct weir_err *err)
{
    if (text->len > max_bytes || text->len >= UINT32_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "YAML of %zu bytes is over the maximum of %zu",
                          text->len, max_bytes);
    if (weir_str_starts_with(*text, WEIR_STR("\xFF\xFE")) ||
        weir_str_starts_with(*text, WEIR_STR("\xFE\xFF"))) {
        weir_error(err, WEIR_E_INVALID, "not YAML: UTF-16 text");
        weir_error_hint(err, "save the file as UTF-8 text");
        return weir_error_at(err, 1, 1);
    }
    if (weir_str_starts_with(*text, WEIR_STR("\xEF\xBB\xBF")))
        *text = weir_str_sub(*text, 3, text->len);
    return check_tag_directives(*text, err);
}

static int hand_over(struct weir_yaml_reader *r, struct weir_yaml_stream *ret_stream)
{
    struct weir_yaml_document *documents =
        weir_arena_new_n(r->arena, struct weir_yaml_document, r->documents.n);

    if (documents == NULL)
        return weir_yaml_no_memory(r);
    if (r->documents.n > 0)
        memcpy(documents, r->documents.items, r->documents.n * sizeof(*documents));
    *ret_stream = (struct weir_yaml_stream){documents, r->documents.n};
    return 0;
}

int weir_yaml_read(struct weir_str text, size_t max_bytes, struct weir_arena *arena,
                   struct weir_yaml_stream *ret_stream, struct weir_err *err)
{
    struct weir_yaml_reader r;
    int rc = check_input(&text, max_bytes, err);

    if (rc < 0)
        return rc;
    memset(&r, 0, sizeof(r));
    r.arena = arena;
    r.err = err;
    weir_yaml_places_init(&r.places, text);
    if (yaml_parser_initialize(&r.parser) == 0)
        return weir_yaml_no_memory(&r);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.len > 0 ? text.ptr : ""),
                                 text.len);
    rc = read_events(&r);
    if (rc >= 0)
        rc = hand_over(&r, ret_stream);
    while (r.n_frames > 0)
        weir_map_finish(&r.frames[--r.n_frames].key_lines);
    weir_map_finish(&r.anchors);
    weir_vec_finish(&r.documents);
    yaml_parser_delete(&r.parser);
    return rc;
}

int weir_yaml_read_one(struct weir_str text, size_t max_bytes, struct weir_arena *arena,
                       const struct weir_tree **ret_root, struct weir_err *err)
{
    struct weir_yaml_stream stream = {NULL, 0};
    int rc = weir_yaml_read(text, max_bytes, arena, &stream, err);

    if (rc < 0)
        return rc;
    if (stream.n_documents == 0)
        return weir_error(err, WEIR_E_INVALID, "the YAML is empty");
    if (stream.n_documents > 1) {
        weir_error(err, WEIR_E_INVALID, "%zu documents where one is wanted", stream.n_documents);
        return weir_error_at(err, stream.documents[1].line, 1);
    }
    *ret_root = stream.documents[0].root;
    return 0;
}

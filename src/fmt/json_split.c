#include "base/arena.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "fmt/json_scan.h"

#include <string.h>

/* A list goes ENVELOPE → FIRST → ITEM → AFTER → NEXT → ITEM → … → AFTER → TAIL. The envelope is
 * collected without looking at more than strings and brackets, for the reader judges it at the end;
 * what stands between the items is judged here, because nobody sees it later. */
enum state {
    ENVELOPE, /* before the '[' of "items" */
    FIRST,    /* behind it: an item or ']' */
    NEXT,     /* behind a comma: an item */
    ITEM,     /* inside one */
    AFTER,    /* behind one: ',' or ']' */
    TAIL,     /* from the ']' on, or behind a root without items */
    LINES,    /* the only state of that mode */
    FAILED
};

enum name { NAME_NONE, NAME_SEEN, NAME_COLON };

void weir_json_split_init(struct weir_json_split *split,
                          const struct weir_json_split_options *options)
{
    *split = (struct weir_json_split){.options = *options};
    split->state = options->mode == WEIR_JSON_SPLIT_LINES ? LINES : ENVELOPE;
    weir_buf_init(&split->carry, options->max_item_bytes);
    weir_buf_init(&split->envelope, options->max_envelope_bytes);
}

void weir_json_split_finish(struct weir_json_split *split)
{
    if (split == NULL)
        return;
    weir_buf_finish(&split->carry);
    weir_buf_finish(&split->envelope);
}

void weir_json_split_push(struct weir_json_split *split, struct weir_str chunk)
{
    WEIR_ASSERT(split->input.len == 0 && !split->ended);
    split->input = chunk;
}

void weir_json_split_end(struct weir_json_split *split)
{
    split->ended = true;
}

/* ---- places ---- */

static uint32_t clamp32(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* The place of input's first byte. */
static struct weir_json_options place(const struct weir_json_split *split)
{
    return (struct weir_json_options){.line = clamp32(split->line + 1),
                                      .column = clamp32(split->offset - split->line_offset + 1)};
}

static int fail_at(struct weir_json_options where, struct weir_err *err)
{
    return weir_error_at(err, where.line, where.column);
}

static void advance(struct weir_json_split *split, const char *to)
{
    size_t n = (size_t)(to - split->input.ptr);

    split->offset += n;
    split->input.ptr += n;
    split->input.len -= n;
}

/* at is the newline, in what is left of input. */
static void count_line(struct weir_json_split *split, const char *at)
{
    split->line++;
    split->line_offset = split->offset + (uint64_t)(at - split->input.ptr) + 1;
}

/* ---- items, of lists and of lines ---- */

static int item_failed(const struct weir_json_split *split, int code, struct weir_err *err)
{
    unsigned long long item = split->n_items + 1;

    if (code == WEIR_E_TOO_LARGE)
        weir_error(err, code, "item %llu is larger than %zu bytes", item,
                   split->options.max_item_bytes);
    else
        weir_error(err, code, "no memory for item %llu", item);
    return fail_at(split->item, err);
}

static int carry_over(struct weir_json_split *split, struct weir_str part, struct weir_err *err)
{
    int code = weir_buf_str(&split->carry, part);

    return code < 0 ? item_failed(split, code, err) : 0;
}

/* last is the item's last part, or all of it: then it is not copied. */
static int yield(struct weir_json_split *split, struct weir_str last,
                 struct weir_json_item *ret_item, struct weir_err *err)
{
    struct weir_str text = last;
    int result;

    if (last.len > split->options.max_item_bytes)
        return item_failed(split, WEIR_E_TOO_LARGE, err);
    if (split->carry.len > 0) {
        result = carry_over(split, last, err);
        if (result < 0)
            return result;
        text = weir_buf_view(&split->carry);
        split->yielded = true;
    }
    *ret_item = (struct weir_json_item){text, split->item};
    split->n_items++;
    return 1;
}

/* From inside a string to behind its closing quote, or to the end of input. */
static const char *skip_string(struct weir_json_split *split, const char *p, const char *end)
{
    if (split->escaped && p < end) {
        split->escaped = false;
        p++;
    }
    for (;;) {
        p = json_skip_to_quote(p, end);
        if (p == end)
            return p;
        if (*p++ == '"') {
            split->in_string = false;
            return p;
        }
        if (p == end) {
            split->escaped = true;
            return p;
        }
        p++;
    }
}

/* From where the scan is to behind the object's closing bracket (the depth is 0 then), or to the
 * end of input. */
static const char *skip_object(struct weir_json_split *split)
{
    const char *p = split->input.ptr;
    const char *end = p + split->input.len;
    size_t depth = split->depth;

    if (split->in_string)
        p = skip_string(split, p, end);
    while (p < end) {
        char c = *p++;

        if (c == '"') {
            split->in_string = true;
            p = skip_string(split, p, end);
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0)
                break;
        } else if (c == '\n') {
            count_line(split, p - 1);
        }
    }
    split->depth = depth;
    return p;
}

static int scan_item(struct weir_json_split *split, struct weir_json_item *ret_item,
                     struct weir_err *err)
{
    const char *start = split->input.ptr;
    const char *p = skip_object(split);
    struct weir_str part = weir_str_n(start, (size_t)(p - start));

    advance(split, p);
    if (split->depth > 0)
        return carry_over(split, part, err);
    split->state = AFTER;
    return yield(split, part, ret_item, err);
}

/* ---- the rest of a list ---- */

/* Moves input up to `to` into the envelope. */
static int keep(struct weir_json_split *split, const char *to, struct weir_err *err)
{
    struct weir_str part = weir_str_n(split->input.ptr, (size_t)(to - split->input.ptr));

    if (weir_buf_str(&split->envelope, part) < 0)
        return weir_buf_check(&split->envelope, "list without its items", err);
    advance(split, to);
    return 0;
}

static int scan_envelope_string(struct weir_json_split *split, struct weir_err *err)
{
    const char *p = split->input.ptr;

    p = skip_string(split, p, p + split->input.len);
    if (keep(split, p, err) < 0)
        return split->envelope.failed;
    if (!split->in_string && split->depth == 1) {
        struct weir_str seen = weir_buf_view(&split->envelope);

        seen = weir_str_sub(seen, split->name_at, seen.len);
        split->name = weir_str_eq_c(seen, "\"items\"") ? NAME_SEEN : NAME_NONE;
    }
    return 0;
}

/* Takes one byte, or a piece of a string. */
static int scan_envelope(struct weir_json_split *split, struct weir_err *err)
{
    const char *p = split->input.ptr;
    int name = split->name;

    if (split->in_string)
        return scan_envelope_string(split, err);
    split->name = NAME_NONE;
    switch (*p) {
    case '"':
        split->in_string = true;
        split->name_at = split->envelope.len;
        break;
    case ':':
        if (name == NAME_SEEN)
            split->name = NAME_COLON;
        break;
    case '[':
        if (name == NAME_COLON)
            split->state = FIRST;
        split->depth++;
        break;
    case '{':
        split->depth++;
        break;
    case ']':
    case '}':
        if (split->depth > 0)
            split->depth--;
        if (split->depth == 0)
            split->state = TAIL;
        break;
    case '\n':
        count_line(split, p);
        split->name = name;
        break;
    case ' ':
    case '\t':
    case '\r':
        split->name = name;
        break;
    default:
        break;
    }
    if (keep(split, p + 1, err) < 0)
        return split->envelope.failed;
    if (split->state == FIRST)
        split->cut = place(split);
    return 0;
}

static void skip_space(struct weir_json_split *split)
{
    const char *p = split->input.ptr;
    const char *end = p + split->input.len;

    for (; p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'); p++)
        if (*p == '\n')
            count_line(split, p);
    advance(split, p);
}

static int between_items(struct weir_json_split *split, struct weir_err *err)
{
    unsigned long long n = split->n_items;
    char c;

    skip_space(split);
    if (split->input.len == 0)
        return 0;
    c = split->input.ptr[0];
    if (c == ']' && split->state != NEXT) {
        split->state = TAIL;
        split->resume = place(split);
        return 0;
    }
    if (split->state == AFTER) {
        if (c != ',') {
            weir_error(err, WEIR_E_INVALID, "expected ',' or ']' behind item %llu", n);
            return fail_at(place(split), err);
        }
        split->state = NEXT;
        advance(split, split->input.ptr + 1);
        return 0;
    }
    if (c != '{') {
        weir_error(err, WEIR_E_INVALID, "item %llu is not an object", n + 1);
        return fail_at(place(split), err);
    }
    split->state = ITEM;
    split->item = place(split);
    split->depth = 0;
    return 0;
}

static int list_ended(const struct weir_json_split *split, struct weir_err *err)
{
    unsigned long long n = split->n_items;

    if (split->state == ENVELOPE || split->state == TAIL)
        return 0;
    if (split->state == ITEM)
        weir_error(err, WEIR_E_INVALID, "list ends inside item %llu", n + 1);
    else
        weir_error(err, WEIR_E_INVALID, "list ends behind item %llu, its items are not closed", n);
    return fail_at(place(split), err);
}

static int next_in_list(struct weir_json_split *split, struct weir_json_item *ret_item,
                        struct weir_err *err)
{
    while (split->input.len > 0) {
        int result;

        if (split->state == ITEM)
            result = scan_item(split, ret_item, err);
        else if (split->state == ENVELOPE)
            result = scan_envelope(split, err);
        else if (split->state == TAIL)
            result = keep(split, split->input.ptr + split->input.len, err);
        else
            result = between_items(split, err);
        if (result != 0)
            return result;
    }
    return split->ended ? list_ended(split, err) : 0;
}

/* ---- lines ---- */

static int next_line(struct weir_json_split *split, struct weir_json_item *ret_item,
                     struct weir_err *err)
{
    for (;;) {
        struct weir_str part = split->input;
        const char *newline = part.len > 0 ? memchr(part.ptr, '\n', part.len) : NULL;
        int result;

        split->item.line = clamp32(split->line + 1);
        split->item.column = 1;
        if (newline != NULL) {
            part.len = (size_t)(newline - part.ptr);
            count_line(split, newline);
        }
        if (part.len > 0 || newline != NULL)
            advance(split, part.ptr + part.len + (newline != NULL ? 1 : 0));
        if (newline == NULL && (!split->ended || part.len + split->carry.len == 0))
            return part.len > 0 ? carry_over(split, part, err) : 0;
        result = yield(split, part, ret_item, err);
        if (result <= 0 || weir_str_trim(ret_item->text).len > 0)
            return result;
        split->n_items--;
        split->yielded = false;
        weir_buf_reset(&split->carry);
    }
}

int weir_json_split_next(struct weir_json_split *split, struct weir_json_item *ret_item,
                         struct weir_err *err)
{
    struct weir_json_item item;
    int result;

    WEIR_ASSERT(split->state != FAILED);
    if (split->yielded) {
        split->yielded = false;
        weir_buf_reset(&split->carry);
    }
    result = split->state == LINES ? next_line(split, &item, err) : next_in_list(split, &item, err);
    if (result < 0)
        split->state = FAILED;
    if (result > 0)
        *ret_item = item;
    return result;
}

/* ---- the envelope ---- */

/* From a place in the envelope to the same place in the stream: what stands behind the cut was
 * moved there. */
static void restore_place(const struct weir_json_split *split, uint32_t *line, uint32_t *column)
{
    if (split->resume.line == 0 || *line < split->cut.line ||
        (*line == split->cut.line && *column < split->cut.column))
        return;
    if (*line == split->cut.line)
        *column = clamp32((uint64_t)*column - split->cut.column + split->resume.column);
    *line = clamp32((uint64_t)*line - split->cut.line + split->resume.line);
}

static void restore_places(const struct weir_json_split *split, struct weir_tree *node)
{
    restore_place(split, &node->line, &node->column);
    if (node->key_line > 0)
        restore_place(split, &node->key_line, &node->key_column);
    for (struct weir_tree *child = node->first; child != NULL; child = child->next)
        restore_places(split, child);
}

int weir_json_split_envelope(const struct weir_json_split *split, struct weir_arena *arena,
                             struct weir_tree **ret_tree, struct weir_err *err)
{
    struct weir_str text = weir_buf_view(&split->envelope);
    char *copy = weir_str_dup(text, arena);
    const struct weir_tree *items;
    struct weir_tree *tree;
    int result;

    WEIR_ASSERT(split->ended && (split->state == TAIL || split->state == ENVELOPE));
    if (copy == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the list without its items");
    result = weir_json_read(weir_str_n(copy, text.len), NULL, arena, &tree, err);
    if (result < 0) {
        if (err != NULL)
            restore_place(split, &err->line, &err->column);
        return result;
    }
    restore_places(split, tree);
    items = weir_tree_get(tree, "items");
    if (items != NULL && items->kind != WEIR_TREE_NULL &&
        (items->kind != WEIR_TREE_ARRAY || items->n_children > 0))
        return weir_tree_error(items, err, "\"items\" must be an array, its name without escapes");
    *ret_tree = tree;
    return 0;
}

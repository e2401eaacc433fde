/* fmt/json.h — JSON (RFC 8259): a reader into base/tree.h, a splitter that takes a long stream
 * apart item by item, and a writer.
 *
 * A list of a hundred thousand pods is never held whole: the splitter yields the bytes of one item,
 * the reader makes its tree in an arena that is reset before the next.
 *
 *     weir_json_split_push(&split, chunk);
 *     while ((got = weir_json_split_next(&split, &item, err)) > 0) {
 *         weir_arena_reset(&arena);
 *         if (weir_json_read(item.text, &item.options, &arena, &pod, err) < 0) …
 *     }
 */
#ifndef WEIR_FMT_JSON_H
#define WEIR_FMT_JSON_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;
struct weir_tree;

enum {
    WEIR_JSON_DEPTH_DEFAULT = 128, /* arrays and objects inside one another */
    WEIR_JSON_DEPTH_LIMIT = 1024   /* no option goes beyond */
};

/* ---- reader ---- */

struct weir_json_options {
    uint32_t max_depth;    /* 0: WEIR_JSON_DEPTH_DEFAULT */
    bool allow_duplicates; /* of equal names the last wins, the others are not in the tree */
    uint32_t line;         /* place of the text's first byte in what it was cut from; */
    uint32_t column;       /* 0: 1 */
};

/* Reads one value, with only white space around it. Strict: what RFC 8259 does not allow is an
 * error, and so are text that is not UTF-8, half a surrogate pair, and a name given twice.
 *
 * Texts without escapes point into `text`, which must outlive the tree; the rest is in the arena.
 * `\u0000` is a NUL byte in the decoded text: take care before using it as a C string. Numbers keep
 * their text. Columns count bytes; they stop being exact above 4 Gi.
 *
 * WEIR_E_INVALID with line and column; WEIR_E_TOO_LARGE for too deep a nesting or a text of 4 GiB
 * and more; WEIR_E_NO_MEMORY. What was taken from the arena until then stays taken. */
int weir_json_read(struct weir_str text, const struct weir_json_options *options,
                   struct weir_arena *arena, struct weir_tree **ret_tree, struct weir_err *err);

/* Whether the text is a number as JSON writes it. */
bool weir_json_is_number(struct weir_str text);

/* ---- splitter ---- */

enum weir_json_split_mode {
    WEIR_JSON_SPLIT_LIST, /* {…, "items": [ITEM, …], …}: a Kubernetes list */
    WEIR_JSON_SPLIT_LINES /* ITEM, newline, …: watch events; blank lines are passed over */
};

struct weir_json_split_options {
    enum weir_json_split_mode mode;
    size_t max_item_bytes;
    size_t max_envelope_bytes; /* of a list without its items; not used for lines */
};

struct weir_json_item {
    struct weir_str text;             /* valid until the next call on the splitter */
    struct weir_json_options options; /* its place in the stream, for weir_json_read() */
};

/* A piece of the stream goes in with push, its items come out of next until that returns 0:
 *
 *     push, next, next, … 0, push, next … 0, end, next … 0, envelope
 *
 * What comes out does not depend on where the stream was cut into chunks. Items are found by their
 * brackets only: each is checked when it is read, and the envelope at the very end. So what was
 * made of the items counts only when the envelope was good. */
struct weir_json_split {
    struct weir_json_split_options options;
    int state;
    struct weir_str input;    /* what next has not looked at; borrowed */
    struct weir_buf carry;    /* the item that began in an earlier chunk */
    struct weir_buf envelope; /* the list without what is between the brackets of "items" */
    bool ended;
    bool yielded;   /* the caller is looking at carry */
    bool in_string; /* where the scan is */
    bool escaped;   /* the next byte follows a backslash */
    size_t depth;   /* open brackets, of the envelope or of the item */
    int name;       /* how much of `"items": [` has been seen */
    size_t name_at; /* where the last string of the envelope begins in it */
    uint64_t n_items;
    uint64_t offset;                 /* of input's first byte in the stream */
    uint64_t line;                   /* 0-based */
    uint64_t line_offset;            /* of the line's first byte */
    struct weir_json_options item;   /* place of the item */
    struct weir_json_options cut;    /* where the envelope was cut, behind the '[' of "items", */
    struct weir_json_options resume; /* and where it goes on, at the ']' */
};

void weir_json_split_init(struct weir_json_split *split,
                          const struct weir_json_split_options *options);
void weir_json_split_finish(struct weir_json_split *split);
/* The chunk must stay until next has returned 0. Not before that, and not after end. */
void weir_json_split_push(struct weir_json_split *split, struct weir_str chunk);
/* No more will come: next may yield a last line without newline, or miss the rest of a list. */
void weir_json_split_end(struct weir_json_split *split);
/* 1: an item. 0: none until the next push. WEIR_E_INVALID with line and column, WEIR_E_TOO_LARGE
 * for an item or envelope over its maximum, WEIR_E_NO_MEMORY; after a failure only finish may
 * follow. */
int weir_json_split_next(struct weir_json_split *split, struct weir_json_item *ret_item,
                         struct weir_err *err);
/* The list without its items ("items" is an empty array, or what else it was), once next has
 * returned 0 after end. The tree does not need the splitter any more. "items" may be missing or
 * null. */
int weir_json_split_envelope(const struct weir_json_split *split, struct weir_arena *arena,
                             struct weir_tree **ret_tree, struct weir_err *err);

/* ---- writer ---- */

/* Writes into a buffer and knows where a comma is due. Wrong nesting (a value without a key, a
 * bracket too many) is a programming error and ends the process. Failures stick: check once, with
 * weir_json_writer_end(). */
struct weir_json_writer {
    struct weir_buf *out;
    bool pretty;
    bool comma;     /* something stands before in this array or object */
    bool after_key; /* a value must follow */
    bool not_finite;
    uint32_t depth;
    uint64_t is_object[WEIR_JSON_DEPTH_LIMIT / 64]; /* by depth, a bit each */
};

/* out is appended to. pretty: a line per value, two blanks per level. */
void weir_json_writer_init(struct weir_json_writer *writer, struct weir_buf *out, bool pretty);
/* All brackets must be closed, and one value written. Fails with what failed first: a number that
 * is not finite (WEIR_E_INVALID), or the buffer's failure, named by `what`. */
int weir_json_writer_end(const struct weir_json_writer *writer, const char *what,
                         struct weir_err *err);

void weir_json_object_begin(struct weir_json_writer *writer);
void weir_json_object_end(struct weir_json_writer *writer);
void weir_json_array_begin(struct weir_json_writer *writer);
void weir_json_array_end(struct weir_json_writer *writer);
void weir_json_key(struct weir_json_writer *writer, const char *key);
void weir_json_key_str(struct weir_json_writer *writer, struct weir_str key);

/* Texts are escaped as far as JSON asks for it; a byte that is not UTF-8 becomes U+FFFD. */
void weir_json_str(struct weir_json_writer *writer, struct weir_str value);
void weir_json_text(struct weir_json_writer *writer, const char *value); /* NULL is written null */
void weir_json_i64(struct weir_json_writer *writer, int64_t value);
void weir_json_u64(struct weir_json_writer *writer, uint64_t value);
/* The fewest digits that read back as the same double. NaN and infinities are refused. */
void weir_json_f64(struct weir_json_writer *writer, double value);
void weir_json_bool(struct weir_json_writer *writer, bool value);
void weir_json_null(struct weir_json_writer *writer);
/* A whole tree as one value. WEIR_E_INVALID for a number that JSON cannot write (a tree may come
 * from YAML), WEIR_E_TOO_LARGE for too deep a nesting, both with line and column; the writer is of
 * no more use then. */
int weir_json_write_tree(struct weir_json_writer *writer, const struct weir_tree *node,
                         struct weir_err *err);

#endif

/* fmt/yaml.h — YAML into a tree, read the way Kubernetes' own tools read it.
 *
 * Streams hold any number of documents. Nodes and texts live in the caller's arena; nothing points
 * into the input afterwards. Lines and columns are 1-based, columns in bytes; a line ends at LF, CR
 * or CR LF.
 *
 * Plain scalars follow YAML 1.1 as kubectl (sigs.k8s.io/yaml on go-yaml v2) applies it:
 *   null      ~ null Null NULL and nothing at all
 *   boolean   true false yes no on off y n, each also Capitalised and in UPPER case (y and n: Y, N)
 *   number    decimal, 0x…, 0o…, 0b…, 0… (octal), fractions, exponents, "_" between digits. The
 *             node's text is always a JSON number: 0x10 becomes 16, 010 becomes 8, +.5 becomes 0.5.
 *   string    everything else; also .inf and .nan (a tree has no such numbers), times, and hex,
 *             octal or binary beyond 64 bits
 * Quoted and block scalars are strings with `quoted` set. The tags !!str !!int !!float !!bool
 * !!null !!seq !!map are honoured, every other tag is refused.
 *
 * Keys become text: `on:` is "true", `0x10:` is "16", as in kubectl; null, lists and mappings are
 * refused as keys. A key given twice is an error that names both lines.
 *
 * `<<` (plain) merges a mapping or a list of mappings: own keys win, then the earlier mapping.
 * Merged members follow the own ones.
 *
 * An alias becomes a copy: its top node carries the alias' place, what is below keeps the place
 * where it is written. At most WEIR_YAML_EXPANDED_MAX nodes of one input may come from aliases and
 * merges.
 *
 * Refused: UTF-16, invalid UTF-8, control characters, NUL also when escaped, nesting beyond
 * WEIR_YAML_DEPTH_MAX. A UTF-8 byte order mark at the start is skipped. */
#ifndef WEIR_FMT_YAML_H
#define WEIR_FMT_YAML_H

#include "base/str.h"
#include "base/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;

enum {
    WEIR_YAML_DEPTH_MAX = 128,       /* lists and mappings inside each other */
    WEIR_YAML_EXPANDED_MAX = 100000, /* nodes made by aliases and merges, per input */
    WEIR_YAML_TAG_DIRECTIVES_MAX = 64,
};

struct weir_yaml_document {
    const struct weir_tree *root; /* never NULL; an empty document is a null */
    uint32_t line;                /* of its "---", or of its first node */
};

struct weir_yaml_stream {
    const struct weir_yaml_document *documents;
    size_t n_documents; /* 0 when there is nothing but blanks and comments */
};

/* Reads all documents. Fails with WEIR_E_TOO_LARGE (over max_bytes, too deep, too many expanded
 * nodes), WEIR_E_INVALID (with line and column) or WEIR_E_NO_MEMORY; the stream is untouched then.
 */
int weir_yaml_read(struct weir_str text, size_t max_bytes, struct weir_arena *arena,
                   struct weir_yaml_stream *ret_stream, struct weir_err *err);
/* The same for a text that must hold exactly one document. */
int weir_yaml_read_one(struct weir_str text, size_t max_bytes, struct weir_arena *arena,
                       const struct weir_tree **ret_root, struct weir_err *err);

struct weir_yaml_scalar {
    enum weir_tree_kind kind;
    bool is_integer; /* a number without fraction and exponent */
    struct weir_str text;
};

/* What a plain scalar means. The result may point into `plain` or the arena. Fails only with
 * WEIR_E_NO_MEMORY. */
int weir_yaml_resolve(struct weir_str plain, struct weir_arena *arena,
                      struct weir_yaml_scalar *ret_scalar);
/* True when a reader of YAML 1.1 and one of YAML 1.2 (core schema) take the plain scalar for
 * different things: yes, 010, 1_000, 12:30, 1e3, 2026-11-30, <<. By the letter of both
 * specifications, not by what this reader does. */
bool weir_yaml_is_ambiguous(struct weir_str plain);

#endif

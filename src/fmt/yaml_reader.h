/* fmt/yaml_reader.h — private to fmt/yaml: the state of one reading, shared by the reader and by
 * what expands aliases and merges. */
#ifndef WEIR_FMT_YAML_READER_H
#define WEIR_FMT_YAML_READER_H

#include "base/map.h"
#include "base/tree.h"
#include "base/vec.h"
#include "fmt/yaml.h"
#include "fmt/yaml_place.h"

/* A list or mapping that is still open. In a mapping a key waits for its value. */
struct weir_yaml_frame {
    struct weir_tree *node;
    struct weir_map key_lines; /* empty until there are many members */
    struct weir_tree *merge;   /* the member `<<`, whose members come in when this closes */
    bool has_key;
    bool key_is_merge;
    struct weir_str key;
    struct weir_yaml_place key_place;
};

struct weir_yaml_reader {
    yaml_parser_t parser;
    struct weir_yaml_places places;
    struct weir_arena *arena;
    struct weir_err *err;
    struct weir_map anchors; /* name to node, of this document */
    struct weir_yaml_frame frames[WEIR_YAML_DEPTH_MAX];
    unsigned n_frames;
    uint32_t n_expanded;
    struct weir_yaml_document document;
    struct weir_vec(struct weir_yaml_document) documents;
};

struct weir_yaml_frame *weir_yaml_top_frame(struct weir_yaml_reader *r); /* NULL outside */
/* Makes an error with place and field. Returns code. */
int weir_yaml_fail(struct weir_yaml_reader *r, int code, struct weir_yaml_place place,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
int weir_yaml_no_memory(struct weir_yaml_reader *r);
int weir_yaml_too_deep(struct weir_yaml_reader *r, struct weir_yaml_place place);
bool weir_yaml_is_nest(const struct weir_tree *node); /* a list or a mapping */

bool weir_yaml_find_key(const struct weir_yaml_frame *frame, struct weir_str key,
                        uint64_t *ret_line);
/* To be called before the member itself is added. 0 or WEIR_E_NO_MEMORY. */
int weir_yaml_note_key(struct weir_yaml_frame *frame, struct weir_str key, uint32_t line);

int weir_yaml_find_anchor(struct weir_yaml_reader *r, const yaml_char_t *anchor,
                          struct weir_yaml_place place, const struct weir_tree **ret_node);
/* Makes `to` say what `from` says. `depth` is what encloses `to`; it bounds the recursion. */
int weir_yaml_copy_content(struct weir_yaml_reader *r, struct weir_tree *to,
                           const struct weir_tree *from, unsigned depth,
                           struct weir_yaml_place place);
/* Puts the members of the top frame's `<<` into its mapping. */
int weir_yaml_merge(struct weir_yaml_reader *r);

#endif

/* fmt/yaml_write.h — a tree as YAML in block style, for people and for `weir apply`.
 *
 * Texts are quoted wherever any reader, of YAML 1.1 or 1.2, could take them for something else; a
 * text of several lines becomes a literal block where that loses nothing. What is written reads
 * back as an equal tree (fmt/yaml.h). */
#ifndef WEIR_FMT_YAML_WRITE_H
#define WEIR_FMT_YAML_WRITE_H

struct weir_buf;
struct weir_err;
struct weir_tree;

/* Appends one document, ending in a newline. WEIR_E_TOO_LARGE beyond WEIR_YAML_DEPTH_MAX, or the
 * buffer's failure. */
int weir_yaml_write(const struct weir_tree *root, struct weir_buf *out, struct weir_err *err);

#endif

/* cmd/manifests.h — several files of resources as one request, and the way back from a line of the
 * request to the file it came from. */
#ifndef WEIR_CMD_MANIFESTS_H
#define WEIR_CMD_MANIFESTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct weir_err;

enum { WEIR_MANIFESTS_BYTES_MAX = 64 * 1024 * 1024, WEIR_MANIFESTS_FILES_MAX = 10000 };

struct weir_manifest {
    const char *name;    /* for messages; "-" is standard input */
    uint32_t first_line; /* of the request, 1-based, that holds its line 1 */
};

struct weir_manifests {
    struct weir_buf text; /* YAML of any number of documents */
    uint32_t n_lines;     /* in it */
    size_t n_documents;
    struct weir_manifest_list weir_vec(struct weir_manifest) files; /* by first_line */
    struct weir_arena arena;                                        /* names */
};

void weir_manifests_init(struct weir_manifests *manifests);
void weir_manifests_finish(struct weir_manifests *manifests);
/* Adds a file, a folder (its *.yaml, *.yml and *.json by name, not what is in folders below), or
 * "-" for standard input. Each is read as YAML first. On failure *ret_file is what to name before
 * the error, or NULL. */
int weir_manifests_add(struct weir_manifests *manifests, const char *path, const char **ret_file,
                       struct weir_err *err);
/* Adds a text under a name. */
int weir_manifests_add_text(struct weir_manifests *manifests, const char *name,
                            struct weir_str text, struct weir_err *err);
/* The file that a line of the request came from; *line becomes its line there. NULL: no such line.
 */
const char *weir_manifests_find(const struct weir_manifests *manifests, uint32_t *line);

#endif

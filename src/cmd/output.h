/* cmd/output.h — -o: the same answer for people and for programs. */
#ifndef WEIR_CMD_OUTPUT_H
#define WEIR_CMD_OUTPUT_H

#include "base/buf.h"
#include "cmd/client.h"
#include "cmd/options.h"
#include "cmd/sheet.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;
struct weir_tree;

enum weir_output {
    WEIR_OUTPUT_TABLE,
    WEIR_OUTPUT_WIDE,
    WEIR_OUTPUT_JSON,
    WEIR_OUTPUT_YAML,
    WEIR_OUTPUT_NAME
};

/* The option itself, for tables of options. */
#define WEIR_OPTION_OUTPUT                                                                         \
    {                                                                                              \
        .name = "output", .letter = 'o', .kind = WEIR_OPTION_CHOICE, .argument = "FORM",           \
        .choices = "table|wide|json|yaml|name", .help = "the form of what is printed",             \
        .example = "json"                                                                          \
    }

enum weir_output weir_output_form(const struct weir_args *args);
/* How a table looks on stdout. */
struct weir_sheet_look weir_output_look(const struct weir_args *args, bool wide);

/* How one kind of object is shown. */
struct weir_output_kind {
    const struct weir_sheet_column *columns;
    size_t n_columns;
    /* Adds a cell per column. */
    void (*row)(struct weir_sheet *table, const struct weir_tree *item, int64_t now_ms);
    const char *key;     /* the member that names an object: for -o name */
    const char *nothing; /* said on stderr when the table is empty */
};

/* Lists what the client's path names, on stdout: the table, an array of the objects as the server
 * gave them, or their names. */
int weir_output_list(struct weir_client *client, const struct weir_args *args,
                     const struct weir_output_kind *kind, struct weir_err *err);
/* One object. */
int weir_output_object(const struct weir_tree *object, const struct weir_args *args,
                       const struct weir_output_kind *kind, struct weir_err *err);
/* 0: all that was printed has left this process; else it is an error. */
int weir_output_flush(struct weir_err *err);
int weir_output_json(const struct weir_tree *tree, struct weir_err *err);
int weir_output_yaml(const struct weir_tree *tree, struct weir_err *err);

/* Cells. */
void weir_output_cell(struct weir_sheet *table, const struct weir_tree *item, const char *member);
/* "3m05s" from then to `to`; nothing where either is missing (< 0). */
void weir_output_span(struct weir_sheet *table, int64_t from_ms, int64_t to_ms);

#endif

/* cmd/sheet.h — rows of text in columns: for people, never for programs. Widths are those of a
 * terminal (a wide character takes two cells, an accent none), no blank ends a line, and nothing is
 * cut but on a terminal too narrow for it, where the column that stretches ends in "…". */
#ifndef WEIR_CMD_SHEET_H
#define WEIR_CMD_SHEET_H

#include "base/buf.h"
#include "base/str.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR_SHEET_COLUMNS_MAX = 16, WEIR_SHEET_BYTES_MAX = 512 * 1024 * 1024 };

struct weir_sheet_column {
    const char *title;
    bool wide;      /* shown in the wide form only */
    bool is_right;  /* numbers */
    bool is_state;  /* coloured */
    bool stretches; /* cut first where the terminal is too narrow */
};

struct weir_sheet_cell {
    size_t at; /* in text */
    uint32_t len;
    uint32_t width;
};

struct weir_sheet {
    const struct weir_sheet_column *columns;
    size_t n_columns;
    struct weir_sheet_cells weir_vec(struct weir_sheet_cell) cells; /* row after row */
    struct weir_buf text;
};

void weir_sheet_init(struct weir_sheet *table, const struct weir_sheet_column *columns,
                     size_t n_columns);
void weir_sheet_finish(struct weir_sheet *table);
/* The next cell; control characters become '?', an empty text "-". A failure is told by
 * weir_sheet_write(). */
void weir_sheet_add(struct weir_sheet *table, struct weir_str text);

struct weir_sheet_look {
    bool wide;
    bool color;
    size_t width; /* of the terminal; 0: none, nothing is cut */
};

/* The title and all rows. Without a row: nothing. */
int weir_sheet_write(const struct weir_sheet *table, const struct weir_sheet_look *look,
                     struct weir_buf *out, struct weir_err *err);

/* Cells of a terminal that the text takes. */
size_t weir_text_width(struct weir_str text);

#endif

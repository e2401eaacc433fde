#include "cmd/sheet.h"

#include "base/count.h"
#include "base/err.h"

#include <string.h>

/* Code points of the sequence at the start, and how long it is; a broken byte stands for itself. */
static uint32_t code_point(struct weir_str text, size_t *ret_len)
{
    size_t len = weir_str_utf8_length(text);
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    uint32_t code;

    *ret_len = len > 0 ? len : 1;
    if (len <= 1)
        return bytes[0];
    code = bytes[0] & (0xffU >> (len + 1));
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (bytes[i] & 0x3fU);
    return code;
}

/* From UnicodeData and EastAsianWidth, in the large: what names and reasons hold. */
static size_t cell_width(uint32_t code)
{
    static const uint32_t none[][2] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                       {0x610, 0x61a},   {0x64b, 0x65f},   {0x200b, 0x200f},
                                       {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const uint32_t two[][2] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
                                      {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                      {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                                      {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

    for (size_t i = 0; i < WEIR_COUNT_OF(none); i++)
        if (code >= none[i][0] && code <= none[i][1])
            return 0;
    for (size_t i = 0; i < WEIR_COUNT_OF(two); i++)
        if (code >= two[i][0] && code <= two[i][1])
            return 2;
    return 1;
}

size_t weir_text_width(struct weir_str text)
{
    size_t width = 0;

    while (text.len > 0) {
        size_t len;

        width += cell_width(code_point(text, &len));
        text = weir_str_sub(text, len, text.len);
    }
    return width;
}

/* The longest start of the text that takes at most `width` cells. */
static struct weir_str cut_to(struct weir_str text, size_t width)
{
    struct weir_str rest = text;
    size_t taken = 0;

    while (rest.len > 0) {
        size_t len;

        taken += cell_width(code_point(rest, &len));
        if (taken > width)
            break;
        rest = weir_str_sub(rest, len, rest.len);
    }
    return weir_str_sub(text, 0, text.len - rest.len);
}

void weir_sheet_init(struct weir_sheet *table, const struct weir_sheet_column *columns,
                     size_t n_columns)
{
    WEIR_ASSERT(n_columns > 0 && n_columns <= WEIR_SHEET_COLUMNS_MAX);
    memset(table, 0, sizeof(*table));
    table->columns = columns;
    table->n_columns = n_columns;
    weir_buf_init(&table->text, WEIR_SHEET_BYTES_MAX);
}

void weir_sheet_finish(struct weir_sheet *table)
{
    weir_vec_finish(&table->cells);
    weir_buf_finish(&table->text);
}

void weir_sheet_add(struct weir_sheet *table, struct weir_str text)
{
    struct weir_sheet_cell cell = {.at = table->text.len};

    if (text.len == 0)
        text = WEIR_STR("-");
    for (struct weir_str rest = text; rest.len > 0;) {
        size_t len = weir_str_utf8_length(rest);
        unsigned char c = (unsigned char)rest.ptr[0];
        bool shown = len > 1 || (len == 1 && c >= 0x20 && c != 0x7f);

        /* U+0080 to U+009F are control characters too: terminals obey them. */
        if (len == 2 && c == 0xc2 && (unsigned char)rest.ptr[1] < 0xa0)
            shown = false;
        weir_buf_str(&table->text, shown ? weir_str_sub(rest, 0, len) : WEIR_STR("?"));
        rest = weir_str_sub(rest, len > 0 ? len : 1, rest.len);
    }
    if (table->text.failed != 0)
        return;
    cell.len = (uint32_t)(table->text.len - cell.at);
    cell.width = (uint32_t)weir_text_width(weir_str_n(table->text.data + cell.at, cell.len));
    if (weir_vec_push(&table->cells, cell) < 0)
        table->text.failed = WEIR_E_NO_MEMORY;
}

static size_t rows_of(const struct weir_sheet *table)
{
    return table->cells.n / table->n_columns;
}

static bool is_shown(const struct weir_sheet *table, const struct weir_sheet_look *look, size_t c)
{
    return look->wide || !table->columns[c].wide;
}

static void find_widths(const struct weir_sheet *table, const struct weir_sheet_look *look,
                        size_t widths[WEIR_SHEET_COLUMNS_MAX])
{
    size_t total = 0;

    for (size_t c = 0; c < table->n_columns; c++) {
        widths[c] = weir_text_width(weir_str(table->columns[c].title));
        for (size_t r = 0; r < rows_of(table); r++) {
            size_t width = table->cells.items[r * table->n_columns + c].width;

            widths[c] = width > widths[c] ? width : widths[c];
        }
        if (is_shown(table, look, c))
            total += widths[c] + (total > 0 ? 2 : 0);
    }
    for (size_t c = table->n_columns; c > 0 && look->width > 0 && total > look->width; c--) {
        size_t least = weir_text_width(weir_str(table->columns[c - 1].title));
        size_t over = total - look->width;
        size_t *width = &widths[c - 1];

        if (!table->columns[c - 1].stretches || !is_shown(table, look, c - 1))
            continue;
        least = least < 8 ? 8 : least;
        if (*width <= least)
            continue;
        over = over < *width - least ? over : *width - least;
        *width -= over;
        total -= over;
    }
}

static const char *state_color(struct weir_str state)
{
    static const struct {
        const char *state;
        const char *color;
    } colors[] = {
        {"running", "\033[32m"},  {"ready", "\033[32m"},     {"starting", "\033[36m"},
        {"queued", "\033[33m"},   {"stopping", "\033[33m"},  {"cordoned", "\033[33m"},
        {"draining", "\033[33m"}, {"drained", "\033[33m"},   {"failed", "\033[31m"},
        {"lost", "\033[31m"},     {"unhealthy", "\033[31m"}, {"gone", "\033[31m"},
        {"succeeded", "\033[2m"}, {"cancelled", "\033[2m"},
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(colors); i++)
        if (weir_str_eq_c(state, colors[i].state))
            return colors[i].color;
    return NULL;
}

static void put_blanks(struct weir_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        weir_buf_putc(out, ' ');
}

static void put_cell(const struct weir_sheet_column *column, const struct weir_sheet_look *look,
                     struct weir_str text, size_t width, bool is_last, struct weir_buf *out)
{
    size_t own = weir_text_width(text);
    const char *color = look->color && column->is_state ? state_color(text) : NULL;
    bool cut = own > width;

    if (cut) {
        text = cut_to(text, width - 1);
        own = weir_text_width(text) + 1;
    }
    if (column->is_right)
        put_blanks(out, width - own);
    if (color != NULL)
        weir_buf_puts(out, color);
    weir_buf_str(out, text);
    if (cut)
        weir_buf_puts(out, "…");
    if (color != NULL)
        weir_buf_puts(out, "\033[0m");
    if (!column->is_right && !is_last)
        put_blanks(out, width - own);
}

/* row NULL: the titles. */
static void put_row(const struct weir_sheet *table, const struct weir_sheet_look *look,
                    const size_t *widths, const struct weir_sheet_cell *row, struct weir_buf *out)
{
    size_t last = table->n_columns - 1;

    while (last > 0 && !is_shown(table, look, last))
        last--;
    for (size_t c = 0; c <= last; c++) {
        const struct weir_sheet_column *column = &table->columns[c];
        struct weir_sheet_look plain = *look;
        struct weir_str text = weir_str(column->title);

        if (!is_shown(table, look, c))
            continue;
        if (row != NULL)
            text = weir_str_n(table->text.data + row[c].at, row[c].len);
        else
            plain.color = false;
        put_cell(column, &plain, text, widths[c], c == last, out);
        if (c < last)
            weir_buf_puts(out, "  ");
    }
    weir_buf_putc(out, '\n');
}

int weir_sheet_write(const struct weir_sheet *table, const struct weir_sheet_look *look,
                     struct weir_buf *out, struct weir_err *err)
{
    size_t widths[WEIR_SHEET_COLUMNS_MAX];
    int result = weir_buf_check(&table->text, "the table", err);

    if (result < 0)
        return result;
    WEIR_ASSERT(table->cells.n % table->n_columns == 0);
    if (rows_of(table) == 0)
        return 0;
    find_widths(table, look, widths);
    put_row(table, look, widths, NULL, out);
    for (size_t r = 0; r < rows_of(table); r++)
        put_row(table, look, widths, &table->cells.items[r * table->n_columns], out);
    return weir_buf_check(out, "the table", err);
}

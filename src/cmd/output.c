#include "cmd/output.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count.h"
#include "base/err.h"
#include "base/time.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "fmt/yaml_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { OUTPUT_BYTES_MAX = 1 << 30, CELL_BYTES_MAX = 4096, OCTAL_MAX = 24 };

enum weir_output weir_output_form(const struct weir_args *args)
{
    static const char *const forms[] = {"table", "wide", "json", "yaml", "name"};
    const char *text = weir_args_text(args, "output");

    for (unsigned i = 0; text != NULL && i < WEIR_COUNT_OF(forms); i++)
        if (weir_str_eq_c(weir_str(text), forms[i]))
            return (enum weir_output)i;
    return WEIR_OUTPUT_TABLE;
}

/* Whether what goes to fd may be coloured: a terminal, and nobody asked for none. */
static bool may_color(const struct weir_args *args, int fd)
{
    const char *none = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return isatty(fd) == 1 && !weir_args_has(args, "no-color") &&
           (none == NULL || none[0] == '\0') &&
           (term == NULL || !weir_str_eq_c(weir_str(term), "dumb"));
}

struct weir_sheet_look weir_output_look(const struct weir_args *args, bool wide)
{
    struct weir_sheet_look look = {.wide = wide, .color = may_color(args, STDOUT_FILENO)};
    struct winsize size;

    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        look.width = size.ws_col;
    return look;
}

static int print(const struct weir_buf *text, struct weir_err *err)
{
    if (text->len > 0 && fwrite(text->data, 1, text->len, stdout) != text->len)
        return weir_error(err, WEIR_E_IO, "write to standard output");
    return 0;
}

/* What is larger than the buffer is written past it, and only the stream remembers how that went.
 */
int weir_output_flush(struct weir_err *err)
{
    if (fflush(stdout) != 0)
        return weir_error(err, WEIR_E_IO, "write to standard output: %s", strerrordesc_np(errno));
    if (ferror(stdout) != 0)
        return weir_error(err, WEIR_E_IO, "write to standard output: some of it is lost");
    return 0;
}

int weir_output_json(const struct weir_tree *tree, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX);
    struct weir_json_writer writer;
    int result;

    weir_json_writer_init(&writer, &text, true);
    result = weir_json_write_tree(&writer, tree, err);
    if (result == 0)
        result = weir_json_writer_end(&writer, "the output", err);
    if (result < 0)
        return result;
    weir_buf_putc(&text, '\n');
    return print(&text, err);
}

/* The umask as people write it, in octal: YAML reads both as the same number. */
static int write_yaml(const struct weir_tree *tree, struct weir_buf *out, struct weir_err *err)
{
    struct weir_tree *umask = (struct weir_tree *)(uintptr_t)weir_tree_path(tree, "spec.umask");
    char octal[OCTAL_MAX];
    struct weir_str plain;
    uint64_t mask;
    int result;

    if (umask == NULL || umask->kind != WEIR_TREE_NUMBER || !weir_str_to_u64(umask->text, &mask))
        return weir_yaml_write(tree, out, err);
    plain = umask->text;
    snprintf(octal, sizeof(octal), "%04llo", (unsigned long long)mask);
    umask->text = weir_str(octal);
    result = weir_yaml_write(tree, out, err);
    umask->text = plain;
    return result;
}

int weir_output_yaml(const struct weir_tree *tree, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX);
    int result = write_yaml(tree, &text, err);

    return result < 0 ? result : print(&text, err);
}

/* ---- cells ---- */

void weir_output_cell(struct weir_sheet *table, const struct weir_tree *item, const char *member)
{
    weir_sheet_add(table, weir_client_text(item, member));
}

void weir_output_span(struct weir_sheet *table, int64_t from_ms, int64_t to_ms)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(CELL_BYTES_MAX);

    if (from_ms >= 0 && to_ms >= 0)
        weir_duration_format(to_ms > from_ms ? to_ms - from_ms : 0, &text);
    weir_sheet_add(table, weir_buf_view(&text));
}

/* ---- lists ---- */

struct list {
    const struct weir_output_kind *kind;
    enum weir_output form;
    struct weir_sheet table;
    struct weir_buf text;
    struct weir_json_writer writer;
    size_t n;
    int64_t now_ms;
};

static int flush_text(struct list *list, struct weir_err *err)
{
    int result = weir_buf_check(&list->text, "the output", err);

    if (result == 0)
        result = print(&list->text, err);
    weir_buf_reset(&list->text);
    return result;
}

static int add_yaml(struct list *list, const struct weir_tree *item, struct weir_err *err)
{
    struct weir_tree one = *item;
    struct weir_tree array = {
        .kind = WEIR_TREE_ARRAY, .n_children = 1, .first = &one, .last = &one};

    one.next = NULL;
    return weir_yaml_write(&array, &list->text, err);
}

static int add_item(void *ctx, const struct weir_tree *item, struct weir_err *err)
{
    struct list *list = ctx;
    int result = 0;

    list->n++;
    switch (list->form) {
    case WEIR_OUTPUT_JSON:
        result = weir_json_write_tree(&list->writer, item, err);
        break;
    case WEIR_OUTPUT_YAML:
        result = add_yaml(list, item, err);
        break;
    case WEIR_OUTPUT_NAME:
        weir_buf_str(&list->text, weir_client_text(item, list->kind->key));
        weir_buf_putc(&list->text, '\n');
        break;
    case WEIR_OUTPUT_TABLE:
    case WEIR_OUTPUT_WIDE:
        list->kind->row(&list->table, item, list->now_ms);
        return 0;
    }
    return result < 0 ? result : flush_text(list, err);
}

static int end_list(struct list *list, const struct weir_args *args, struct weir_err *err)
{
    struct weir_sheet_look look;
    int result;

    if (list->form == WEIR_OUTPUT_JSON) {
        weir_json_array_end(&list->writer);
        weir_buf_putc(&list->text, '\n');
        return flush_text(list, err);
    }
    if (list->form == WEIR_OUTPUT_YAML && list->n == 0)
        weir_buf_puts(&list->text, "[]\n");
    if (list->form != WEIR_OUTPUT_TABLE && list->form != WEIR_OUTPUT_WIDE)
        return flush_text(list, err);
    if (list->n == 0)
        fprintf(stderr, "%s\n", list->kind->nothing);
    look = weir_output_look(args, list->form == WEIR_OUTPUT_WIDE);
    result = weir_sheet_write(&list->table, &look, &list->text, err);
    return result < 0 ? result : flush_text(list, err);
}

static void begin_list(struct list *list, const struct weir_args *args,
                       const struct weir_output_kind *kind)
{
    *list = (struct list){.kind = kind,
                          .form = weir_output_form(args),
                          .text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX),
                          .now_ms = weir_clock_wall_ms()};
    weir_sheet_init(&list->table, kind->columns, kind->n_columns);
    weir_json_writer_init(&list->writer, &list->text, true);
    if (list->form == WEIR_OUTPUT_JSON)
        weir_json_array_begin(&list->writer);
}

static void finish_list(struct list *list)
{
    weir_sheet_finish(&list->table);
    weir_buf_finish(&list->text);
}

int weir_output_list(struct weir_client *client, const struct weir_args *args,
                     const struct weir_output_kind *kind, struct weir_err *err)
{
    struct list list;
    int result;

    begin_list(&list, args, kind);
    result = weir_client_list(client, add_item, &list, err);
    if (result == 0)
        result = end_list(&list, args, err);
    finish_list(&list);
    return result;
}

int weir_output_object(const struct weir_tree *object, const struct weir_args *args,
                       const struct weir_output_kind *kind, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX);
    enum weir_output form = weir_output_form(args);
    struct weir_sheet_look look = weir_output_look(args, form == WEIR_OUTPUT_WIDE);
    struct weir_sheet table;
    int result;

    switch (form) {
    case WEIR_OUTPUT_JSON:
        return weir_output_json(object, err);
    case WEIR_OUTPUT_YAML:
        return weir_output_yaml(object, err);
    case WEIR_OUTPUT_NAME:
        weir_buf_str(&text, weir_client_text(object, kind->key));
        weir_buf_putc(&text, '\n');
        return print(&text, err);
    case WEIR_OUTPUT_TABLE:
    case WEIR_OUTPUT_WIDE:
        break;
    }
    weir_sheet_init(&table, kind->columns, kind->n_columns);
    kind->row(&table, object, weir_clock_wall_ms());
    result = weir_sheet_write(&table, &look, &text, err);
    weir_sheet_finish(&table);
    return result < 0 ? result : print(&text, err);
}

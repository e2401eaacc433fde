#include "cmd/help.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/sheet.h"

enum { HELP_BYTES_MAX = 64 * 1024, LINE_WIDTH = 80, HELP_COLUMN = 30 };

static const char *group_title(enum weir_command_group group)
{
    switch (group) {
    case WEIR_GROUP_WORK:
        return "Run something";
    case WEIR_GROUP_LOOK:
        return "See what is there";
    case WEIR_GROUP_MANAGE:
        return "Change what is there";
    case WEIR_GROUP_SERVER:
        return "Be the server";
    case WEIR_GROUP_OTHER:
    case WEIR_GROUP_MAX:
        break;
    }
    return "Other";
}

void weir_help_overview(FILE *out)
{
    fprintf(out, "weir: the control plane for GPUs.\n\nusage: weir COMMAND [OPTION]…\n");
    for (unsigned group = 0; group < WEIR_GROUP_MAX; group++) {
        bool is_titled = false;

        for (size_t i = 0; weir_commands[i] != NULL; i++) {
            if (weir_commands[i]->group != group || weir_commands[i]->is_hidden)
                continue;
            if (!is_titled)
                fprintf(out, "\n%s:\n", group_title((enum weir_command_group)group));
            is_titled = true;
            fprintf(out, "  %-10s %s\n", weir_commands[i]->name, weir_commands[i]->summary);
        }
    }
    fprintf(out,
            "\nweir COMMAND --help says more about one. First steps:\n"
            "  weir up --simulate auto            a control plane, with simulated GPUs\n"
            "  weir run -- sh -c 'echo $CUDA_VISIBLE_DEVICES'\n"
            "                                     a job on one GPU, from another terminal\n"
            "\nExit status: 0 done, 1 weir says no, 2 wrong use, 3 cannot tell (weir is away).\n");
}

static void pad_to(struct weir_buf *out, size_t line_start, size_t column)
{
    size_t width = out->failed == 0
                       ? weir_text_width(weir_str_n(out->data + line_start, out->len - line_start))
                       : column;

    for (; width < column; width++)
        weir_buf_putc(out, ' ');
}

/* Words of `text`, wrapped; the first line goes on where the buffer is. */
static void wrap(struct weir_buf *out, struct weir_str text, size_t column, size_t line_start)
{
    struct weir_str rest = text;
    struct weir_str word;
    bool first = true;

    while (weir_str_split(&rest, ' ', &word)) {
        if (!first && out->len - line_start + 1 + word.len > LINE_WIDTH) {
            weir_buf_putc(out, '\n');
            line_start = out->len;
            pad_to(out, line_start, column);
        } else if (!first) {
            weir_buf_putc(out, ' ');
        }
        weir_buf_str(out, word);
        first = false;
    }
    weir_buf_putc(out, '\n');
}

static void put_choices(struct weir_buf *out, const char *choices)
{
    for (; *choices != '\0'; choices++) {
        if (*choices == '|')
            weir_buf_puts(out, ", ");
        else
            weir_buf_putc(out, *choices);
    }
}

static void put_option(struct weir_buf *out, const struct weir_option *option)
{
    size_t start = out->len;

    if (option->letter != 0)
        weir_buf_printf(out, "  -%c, --%s", option->letter, option->name);
    else
        weir_buf_printf(out, "      --%s", option->name);
    if (option->kind == WEIR_OPTION_BOOL)
        weir_buf_puts(out, "[=true|false]");
    else if (option->kind != WEIR_OPTION_FLAG)
        weir_buf_printf(out, " %s", option->argument);
    if (option->repeated)
        weir_buf_puts(out, " …");
    if (out->len - start + 2 > HELP_COLUMN) {
        weir_buf_putc(out, '\n');
        start = out->len;
    }
    pad_to(out, start, HELP_COLUMN);
    if (option->kind == WEIR_OPTION_CHOICE) {
        weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(HELP_BYTES_MAX);

        weir_buf_printf(&text, "%s: ", option->help);
        put_choices(&text, option->choices);
        wrap(out, weir_buf_view(&text), HELP_COLUMN, start);
        return;
    }
    wrap(out, weir_str(option->help), HELP_COLUMN, start);
}

static void put_paragraphs(struct weir_buf *out, const char *about)
{
    struct weir_str rest = weir_str(about);
    struct weir_str line;

    while (weir_str_split(&rest, '\n', &line))
        wrap(out, line, 0, out->len);
}

void weir_help_text(const struct weir_command *command, struct weir_buf *out)
{
    const struct weir_option *option;

    weir_buf_printf(out, "weir %s: %s\n\nusage: weir %s [OPTION]…%s%s\n\n", command->name,
                    command->summary, command->name, command->operands[0] != '\0' ? " " : "",
                    command->operands);
    put_paragraphs(out, command->about);
    weir_buf_puts(out, command->n_examples == 1 ? "\nExample:\n" : "\nExamples:\n");
    for (size_t i = 0; i < command->n_examples; i++)
        weir_buf_printf(out, "  %s\n      %s\n", command->examples[i].command,
                        command->examples[i].says);
    weir_buf_puts(out, "\nOptions:\n");
    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++)
        put_option(out, option);
    weir_buf_puts(out, "\nExit status:\n");
    put_paragraphs(out, command->status != NULL ? command->status : WEIR_EXIT_WORDS);
}

int weir_help_command(const struct weir_command *command, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(HELP_BYTES_MAX);

    weir_help_text(command, &text);
    if (weir_buf_check(&text, "the help", err) < 0)
        return weir_error_code(err);
    fputs(weir_buf_cstr(&text), stdout);
    return WEIR_EXIT_FINE;
}

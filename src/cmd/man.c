/* Pages for man(1), in the roff macros of man(7). */
#include "cmd/help.h"

#include "base/buf.h"
#include "base/str.h"
#include "cmd/command.h"

#include <string.h>

/* Text of ours into roff: a backslash is \e, a dash a real one (so that options can be copied), a
 * dot or a quote at the start of a line is no request. */
static void put_text(struct weir_buf *out, struct weir_str text)
{
    bool at_start = true;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (at_start && (c == '.' || c == '\''))
            weir_buf_puts(out, "\\&");
        if (c == '\\')
            weir_buf_puts(out, "\\e");
        else if (c == '-')
            weir_buf_puts(out, "\\-");
        else
            weir_buf_putc(out, c);
        at_start = c == '\n';
    }
}

static void put_line(struct weir_buf *out, const char *text)
{
    put_text(out, weir_str(text));
    weir_buf_putc(out, '\n');
}

static void put_paragraphs(struct weir_buf *out, const char *about)
{
    struct weir_str rest = weir_str(about);
    struct weir_str line;

    while (weir_str_split(&rest, '\n', &line)) {
        if (line.len == 0) {
            weir_buf_puts(out, ".PP\n");
            continue;
        }
        put_text(out, line);
        weir_buf_putc(out, '\n');
    }
}

static void put_option(struct weir_buf *out, const struct weir_option *option)
{
    weir_buf_puts(out, ".TP\n\\fB");
    if (option->letter != 0)
        weir_buf_printf(out, "\\-%c\\fR, \\fB", option->letter);
    weir_buf_puts(out, "\\-\\-");
    put_text(out, weir_str(option->name));
    weir_buf_puts(out, "\\fR");
    if (option->kind == WEIR_OPTION_BOOL)
        weir_buf_puts(out, "[=true|false]");
    else if (option->kind != WEIR_OPTION_FLAG)
        weir_buf_printf(out, " \\fI%s\\fR", option->argument);
    if (option->repeated)
        weir_buf_puts(out, " …");
    weir_buf_putc(out, '\n');
    put_text(out, weir_str(option->help));
    if (option->kind == WEIR_OPTION_CHOICE) {
        struct weir_str rest = weir_str(option->choices);
        struct weir_str one;

        for (const char *before = ": "; weir_str_split(&rest, '|', &one); before = ", ") {
            weir_buf_puts(out, before);
            put_text(out, one);
        }
    }
    if (option->example != NULL) {
        weir_buf_puts(out, "; for example ");
        put_text(out, weir_str(option->example));
    }
    weir_buf_puts(out, ".\n");
}

static void put_head(struct weir_buf *out, const char *page, const char *summary)
{
    weir_buf_puts(out, ".TH \"");
    put_text(out, weir_str(page));
    weir_buf_puts(out, "\" 1 \"\" \"weir " WEIR_VERSION "\" \"weir\"\n.SH NAME\n");
    put_text(out, weir_str(page));
    weir_buf_puts(out, " \\- ");
    put_line(out, summary);
    weir_buf_puts(out, ".SH SYNOPSIS\n");
}

static void put_status(struct weir_buf *out, const char *status)
{
    weir_buf_puts(out, ".SH EXIT STATUS\n");
    put_paragraphs(out, status != NULL ? status : WEIR_EXIT_WORDS);
}

static void put_overview(struct weir_buf *out)
{
    put_head(out, "weir", "the control plane for GPUs");
    weir_buf_puts(out, ".B weir\n.I COMMAND\n[\\fIOPTION\\fR]...\n.SH DESCRIPTION\n"
                       "Schedules GPUs among jobs, shares them, watches them. Each command has a "
                       "page of its own.\n.SH COMMANDS\n");
    for (size_t i = 0; weir_commands[i] != NULL; i++) {
        if (weir_commands[i]->is_hidden)
            continue;
        weir_buf_printf(out, ".TP\n\\fBweir\\-%s\\fR(1)\n", weir_commands[i]->name);
        put_line(out, weir_commands[i]->summary);
    }
    weir_buf_puts(out, ".SH ENVIRONMENT\n.TP\n\\fBWEIR_DATA\\fR\nThe data directory, as "
                       "\\fB\\-\\-data\\fR.\n.TP\n\\fBWEIR_SERVER\\fR, \\fBWEIR_TOKEN\\fR\nThe "
                       "address of a server, as \\fB\\-\\-server\\fR, and the token that says who "
                       "asks.\n.TP\n\\fBNO_COLOR\\fR\nNo colour if it is set.\n");
    put_status(out, NULL);
}

void weir_help_man(const struct weir_command *command, struct weir_buf *out)
{
    const struct weir_option *option;
    char page[64];

    if (command == NULL) {
        put_overview(out);
        return;
    }
    snprintf(page, sizeof(page), "weir-%s", command->name);
    put_head(out, page, command->summary);
    weir_buf_printf(out, ".B weir %s\n[\\fIOPTION\\fR]...\n", command->name);
    if (command->operands[0] != '\0')
        put_line(out, command->operands);
    weir_buf_puts(out, ".SH DESCRIPTION\n");
    put_paragraphs(out, command->about);
    weir_buf_puts(out, ".SH OPTIONS\n");
    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++)
        put_option(out, option);
    weir_buf_puts(out, ".SH EXAMPLES\n");
    for (size_t i = 0; i < command->n_examples; i++) {
        weir_buf_puts(out, ".TP\n\\fB");
        put_text(out, weir_str(command->examples[i].command));
        weir_buf_puts(out, "\\fR\n");
        put_line(out, command->examples[i].says);
    }
    put_status(out, command->status);
    weir_buf_puts(out, ".SH SEE ALSO\n\\fBweir\\fR(1)\n");
}

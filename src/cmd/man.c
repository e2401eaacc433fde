/* Pages for man(1), in the roff macros of man(7). */
#include "cmd/help.h"

#include "base/buf.h"
#include "base/count.h"
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

static void put_examples(struct weir_buf *out, const struct weir_example *examples, size_t n)
{
    weir_buf_puts(out, ".SH EXAMPLES\n");
    for (size_t i = 0; i < n; i++) {
        weir_buf_puts(out, ".TP\n\\fB");
        put_text(out, weir_str(examples[i].command));
        weir_buf_puts(out, "\\fR\n");
        put_line(out, examples[i].says);
    }
}

struct entry {
    const char *name;
    const char *about;
};

static void put_entries(struct weir_buf *out, const char *title, const struct entry *entries,
                        size_t n)
{
    weir_buf_printf(out, ".SH %s\n", title);
    for (size_t i = 0; i < n; i++) {
        weir_buf_puts(out, ".TP\n\\fB");
        put_text(out, weir_str(entries[i].name));
        weir_buf_puts(out, "\\fR\n");
        put_line(out, entries[i].about);
    }
}

static const struct weir_example overview_examples[] = {
    {"weir up --simulate 8xH100", "a server with simulated GPUs"},
    {"weir run --gpus 2 -- python train.py", "a job on two GPUs, from another terminal"},
    {"weir run --detach --name train -- ./train.sh", "the same in the background"},
    {"weir ps", "what runs and what waits"},
    {"weir explain train", "why it waits, and when it starts"},
    {"weir logs -f train", "what it writes"},
    {"systemctl enable --now weir", "the server as a service of the machine"},
};

static const struct entry overview_files[] = {
    {"/var/lib/weir, ~/.local/share/weir",
     "The data directory of root's server, and of anybody else's: weir.db (queues, jobs, history), "
     "out (output), decisions, tokens. Users without a server of their own find root's by "
     "themselves."},
    {"DATA/weir.sock", "The socket over which the commands talk to the server: of the data "
                       "directory that --data names."},
    {"weir.service", "The unit of systemd for the server, with /var/lib/weir."},
    {"/etc/default/weir", "Further options of weir up for that unit, in WEIR_UP_OPTIONS."},
};

static const struct entry overview_environment[] = {
    {"WEIR_DATA", "The data directory, as --data."},
    {"WEIR_SERVER", "The address of a server, as --server."},
    {"WEIR_TOKEN", "The token that says who asks there."},
    {"NO_COLOR", "No colour if it is set."},
};

static void put_overview(struct weir_buf *out)
{
    put_head(out, "weir", "the control plane for GPUs");
    weir_buf_puts(out, ".B weir\n.I COMMAND\n[\\fIOPTION\\fR]…\n.SH DESCRIPTION\n"
                       "Schedules GPUs among jobs on one machine: queues with guarantees and "
                       "limits, priorities, preemption, and the reason why a job waits. A server "
                       "(\\fBweir up\\fR) decides and runs the jobs; the other commands ask it "
                       "over its socket. Each command has a page of its own.\n.SH COMMANDS\n");
    for (size_t i = 0; weir_commands[i] != NULL; i++) {
        if (weir_commands[i]->is_hidden)
            continue;
        weir_buf_printf(out, ".TP\n\\fBweir\\-%s\\fR(1)\n", weir_commands[i]->name);
        put_line(out, weir_commands[i]->summary);
    }
    put_examples(out, overview_examples, WEIR_COUNT_OF(overview_examples));
    put_entries(out, "ENVIRONMENT", overview_environment, WEIR_COUNT_OF(overview_environment));
    put_entries(out, "FILES", overview_files, WEIR_COUNT_OF(overview_files));
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
    weir_buf_printf(out, ".B weir %s\n[\\fIOPTION\\fR]…\n", command->name);
    if (command->operands[0] != '\0')
        put_line(out, command->operands);
    weir_buf_puts(out, ".SH DESCRIPTION\n");
    put_paragraphs(out, command->about);
    weir_buf_puts(out, ".SH OPTIONS\n");
    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++)
        put_option(out, option);
    put_examples(out, command->examples, command->n_examples);
    put_status(out, command->status);
    weir_buf_puts(out, ".SH SEE ALSO\n\\fBweir\\fR(1)\n");
}

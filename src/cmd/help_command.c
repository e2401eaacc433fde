#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "cmd/commands.h"
#include "cmd/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_BYTES_MAX = 256 * 1024, PATH_BYTES_MAX = 4096 };

static const struct weir_option options[] = {
    {.name = "man",
     .kind = WEIR_OPTION_TEXT,
     .argument = "COMMAND|all",
     .help =
         "write the man page of a command, of weir itself, or all of them, into the folder DIR; "
         "without DIR, to stdout",
     .example = "run"},
    {.name = "completion",
     .kind = WEIR_OPTION_CHOICE,
     .argument = "SHELL",
     .choices = "bash",
     .help = "print the completion for a shell",
     .example = "bash"},
};

static int unknown(const char *name, struct weir_err *err)
{
    weir_error(err, WEIR_E_INVALID, "help: there is no command '%s'", name);
    return weir_error_hint(err, "see weir --help");
}

/* dir NULL: stdout. command NULL: weir itself. */
static int write_page(const struct weir_command *command, const char *dir, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf page = WEIR_BUF_INIT(PAGE_BYTES_MAX);
    char path[PATH_BYTES_MAX];
    FILE *file = stdout;
    bool failed;
    int n = 0;

    weir_help_man(command, &page);
    if (weir_buf_check(&page, "the page", err) < 0)
        return weir_error_code(err);
    if (dir != NULL) {
        n = snprintf(path, sizeof(path), "%s/weir%s%s.1", dir, command != NULL ? "-" : "",
                     command != NULL ? command->name : "");
        if (n < 0 || (size_t)n >= sizeof(path))
            return weir_error(err, WEIR_E_TOO_LARGE, "the path of the folder is too long");
        file = fopen(path, "we");
        if (file == NULL)
            return weir_error_errno(err, errno, "write '%s'", path);
    }
    failed = fwrite(page.data, 1, page.len, file) != page.len;
    if (dir != NULL)
        failed = fclose(file) != 0 || failed;
    return failed ? weir_error_errno(err, errno, "write a page") : WEIR_EXIT_FINE;
}

static int write_pages(const char *name, const char *dir, struct weir_err *err)
{
    const struct weir_command *command = weir_command_find(name);
    int result;

    if (strcmp(name, "weir") == 0)
        return write_page(NULL, dir, err);
    if (strcmp(name, "all") != 0)
        return command != NULL ? write_page(command, dir, err) : unknown(name, err);
    if (dir == NULL) {
        weir_error(err, WEIR_E_INVALID, "help: --man all needs a folder");
        return weir_error_hint(err, "for example weir help --man all /usr/share/man/man1");
    }
    result = write_page(NULL, dir, err);
    for (size_t i = 0; weir_commands[i] != NULL && result >= 0; i++)
        if (!weir_commands[i]->is_hidden)
            result = write_page(weir_commands[i], dir, err);
    return result;
}

static int write_completion(struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(PAGE_BYTES_MAX);

    weir_help_completion(&text);
    if (weir_buf_check(&text, "the completion", err) < 0)
        return weir_error_code(err);
    fputs(weir_buf_cstr(&text), stdout);
    return WEIR_EXIT_FINE;
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    const char *page = weir_args_text(args, "man");
    const char *word = args->n_operands > 0 ? args->operands[0] : NULL;
    const struct weir_command *command;

    if (page != NULL)
        return write_pages(page, word, err);
    if (weir_args_has(args, "completion"))
        return write_completion(err);
    if (word == NULL) {
        weir_help_overview(stdout);
        return WEIR_EXIT_FINE;
    }
    command = weir_command_find(word);
    return command != NULL ? weir_help_command(command, err) : unknown(word, err);
}

static const struct weir_example examples[] = {
    {"weir help run", "how a command is used"},
    {"weir help --man all /usr/local/share/man/man1", "all man pages, into a folder"},
    {"weir help --completion bash > /etc/bash_completion.d/weir", "the completion for bash"},
};

const struct weir_command weir_command_help = {
    .name = "help",
    .summary = "say how a command is used; man pages and completion",
    .operands = "[COMMAND|DIR]",
    .about = "Says how a command is used, as COMMAND --help does. Makes the man pages and the "
             "completion, from the same table.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .max_operands = 1,
    .group = WEIR_GROUP_OTHER,
    .run = run,
};

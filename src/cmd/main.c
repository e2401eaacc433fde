#include "cmd/command.h"

#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/str.h"
#include "cmd/client.h"
#include "cmd/help.h"
#include "cmd/output.h"
#include "cmd/version.h"

#include <stdio.h>
#include <string.h>

enum { COMMANDS_MAX = 64, WORDS_MAX = 100000, LINE_BYTES_MAX = 8192 };

static const struct weir_option client_options[] = {
    {.name = "data",
     .kind = WEIR_OPTION_DIR,
     .argument = "DIR",
     .help = "the data directory of the weir to talk to, by its socket; else $WEIR_DATA",
     .example = "/var/lib/weir"},
    {.name = "server",
     .kind = WEIR_OPTION_TEXT,
     .argument = "URL",
     .help = "the address of the weir to talk to, with the token in $WEIR_TOKEN; else $WEIR_SERVER",
     .example = "http://127.0.0.1:7433"},
};

static const struct weir_option common_options[] = {
    {.name = "no-color",
     .kind = WEIR_OPTION_FLAG,
     .help = "no colour on a terminal; $NO_COLOR does the same"},
    {.name = "help", .letter = 'h', .kind = WEIR_OPTION_FLAG, .help = "say how it is used"},
};

const struct weir_option *weir_command_option(const struct weir_command *command, size_t i)
{
    if (i < command->n_options)
        return &command->options[i];
    i -= command->n_options;
    if (command->is_client) {
        if (i < WEIR_COUNT_OF(client_options))
            return &client_options[i];
        i -= WEIR_COUNT_OF(client_options);
    }
    return i < WEIR_COUNT_OF(common_options) ? &common_options[i] : NULL;
}

const struct weir_command *weir_command_find(const char *name)
{
    for (size_t i = 0; weir_commands[i] != NULL; i++)
        if (strcmp(weir_commands[i]->name, name) == 0)
            return weir_commands[i];
    return NULL;
}

enum weir_exit weir_command_status(int code)
{
    switch (code) {
    case WEIR_E_INVALID:
    case WEIR_E_TOO_LARGE:
    case WEIR_E_UNSUPPORTED:
        return WEIR_EXIT_USE;
    case WEIR_E_NOT_FOUND:
    case WEIR_E_EXISTS:
    case WEIR_E_DENIED:
    case WEIR_E_IMPOSSIBLE:
    case WEIR_E_UNAUTHENTICATED:
        return WEIR_EXIT_NO;
    default:
        return WEIR_EXIT_UNKNOWN;
    }
}

void weir_command_complain(const struct weir_err *err, const char *file)
{
    weir_cleanup_buf struct weir_buf line = WEIR_BUF_INIT(LINE_BYTES_MAX);

    weir_buf_puts(&line, "weir: ");
    if (file != NULL) {
        weir_buf_printf(&line, "%s:", file);
        if (err->line > 0)
            weir_buf_printf(&line, "%u:", err->line);
        if (err->line > 0 && err->column > 0)
            weir_buf_printf(&line, "%u:", err->column);
        weir_buf_putc(&line, ' ');
    }
    if (err->field[0] != '\0' && strstr(err->text, err->field) == NULL)
        weir_buf_printf(&line, "%s: ", err->field);
    weir_buf_puts(&line, err->text);
    if (err->hint[0] != '\0')
        weir_buf_printf(&line, " (%s)", err->hint);
    /* In one write: lines of several weirs on one terminal stay whole. */
    fprintf(stderr, "%s\n", line.failed == 0 ? weir_buf_cstr(&line) : err->text);
}

/* What other programs call it. */
static const char *meant_by(const char *name)
{
    static const struct {
        const char *said;
        const char *meant;
    } words[] = {{"jobs", "ps"},         {"list", "ps"},      {"ls", "ps"},
                 {"status", "ps"},       {"kill", "cancel"},  {"stop", "cancel"},
                 {"submit", "run"},      {"top", "get gpus"}, {"gpus", "get gpus"},
                 {"nodes", "get nodes"}, {"queues", "queue"}};

    for (size_t i = 0; i < WEIR_COUNT_OF(words); i++)
        if (strcmp(words[i].said, name) == 0)
            return words[i].meant;
    return NULL;
}

static int unknown_command(const char *name)
{
    struct weir_str names[COMMANDS_MAX] = {{NULL, 0}};
    struct weir_err err = WEIR_ERR_INIT;
    char shown[WEIR_STR_SHOW_MAX];
    size_t n = 0;
    ptrdiff_t near;

    for (size_t i = 0; weir_commands[i] != NULL && n < COMMANDS_MAX; i++)
        if (!weir_commands[i]->is_hidden)
            names[n++] = weir_str(weir_commands[i]->name);
    near = weir_str_nearest(weir_str(name), names, n);
    weir_error(&err, WEIR_E_INVALID, "there is no %s '%s'", name[0] == '-' ? "option" : "command",
               weir_str_show(weir_str(name), shown));
    if (meant_by(name) != NULL)
        weir_error_hint(&err, "did you mean weir %s?", meant_by(name));
    else if (near >= 0)
        weir_error_hint(&err, "did you mean %.*s?", WEIR_STR_ARG(names[near]));
    else
        weir_error_hint(&err, "see weir --help");
    weir_command_complain(&err, NULL);
    return WEIR_EXIT_USE;
}

static int run(const struct weir_command *command, const struct weir_args *args,
               struct weir_err *err)
{
    struct weir_client client;
    int result;

    if (command->ask == NULL)
        return command->run(args, err);
    result = weir_client_init(&client, args, err);
    if (result == 0)
        result = command->ask(&client, args, err);
    weir_client_finish(&client);
    return result;
}

static int run_command(const struct weir_command *command, int argc, char **argv)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_args args;
    int result;

    if (weir_args_parse(command, argc, (const char *const *)argv, &arena, &args, &err) < 0) {
        weir_command_complain(&err, NULL);
        return WEIR_EXIT_USE;
    }
    result = args.wants_help ? weir_help_command(command, &err) : run(command, &args, &err);
    /* What did not reach the disk or the pipe must not look like success. */
    if (result >= 0)
        result = weir_output_flush(&err) < 0 ? weir_error_code(&err) : result;
    if (result >= 0)
        return result;
    weir_command_complain(&err, NULL);
    return (int)weir_command_status(result);
}

/* Options that every command takes may stand before its name: they are moved behind it. Returns the
 * place of the name, or argc. */
static int find_name(int argc, char **argv)
{
    int at = 1;

    while (at < argc && argv[at][0] == '-') {
        if (strcmp(argv[at], "--data") == 0 || strcmp(argv[at], "--server") == 0)
            at += 2;
        else if (strncmp(argv[at], "--data=", 7) == 0 || strncmp(argv[at], "--server=", 9) == 0 ||
                 strcmp(argv[at], "--no-color") == 0)
            at++;
        else
            break;
    }
    return at < argc ? at : argc;
}

int weir_command_main(int argc, char **argv)
{
    struct weir_err err = WEIR_ERR_INIT;
    int at = find_name(argc, argv);
    const struct weir_command *command;

    if (at == argc) {
        weir_help_overview(stderr);
        return WEIR_EXIT_USE;
    }
    if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
        weir_help_overview(stdout);
        return weir_output_flush(NULL) == 0 ? WEIR_EXIT_FINE : WEIR_EXIT_UNKNOWN;
    }
    if (strcmp(argv[at], "--version") == 0 || strcmp(argv[at], "-V") == 0)
        return weir_version_print();
    command = weir_command_find(argv[at]);
    if (command == NULL)
        return unknown_command(argv[at]);
    /* argv[0 … at] without the name is what stood before it: move that up by one. */
    memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(argv[0]));
    if (argc - 2 > WORDS_MAX) {
        weir_error(&err, WEIR_E_TOO_LARGE, "more than %d words", WORDS_MAX);
        weir_command_complain(&err, NULL);
        return WEIR_EXIT_USE;
    }
    return run_command(command, argc - 2, argv + 2);
}

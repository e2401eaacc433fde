/* cmd/command.h — the table of commands, and how one is run. */
#ifndef WEIR_CMD_COMMAND_H
#define WEIR_CMD_COMMAND_H

#include "cmd/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_client;
struct weir_err;

/* The status of every command, as WEIR_EXIT_WORDS says it; `weir run` returns its job's beside. */
enum weir_exit {
    WEIR_EXIT_FINE = 0,
    WEIR_EXIT_NO = 1,      /* refused, or not there */
    WEIR_EXIT_USE = 2,     /* wrong use */
    WEIR_EXIT_UNKNOWN = 3, /* cannot tell: server away, input or output fails */
};

#define WEIR_EXIT_WORDS                                                                            \
    "0 if it is done; 1 if weir says no: there is no such thing, it is not allowed, or it can "    \
    "never be; 2 for wrong use: an option, a word or a file that is wrong; 3 if it cannot be "     \
    "told: weir is away, or input or output fails."

struct weir_example {
    const char *command;
    const char *says;
};

enum weir_command_group {
    WEIR_GROUP_WORK,   /* running things */
    WEIR_GROUP_LOOK,   /* seeing things */
    WEIR_GROUP_MANAGE, /* changing things */
    WEIR_GROUP_SERVER, /* on the server's machine */
    WEIR_GROUP_OTHER,
    WEIR_GROUP_MAX
};

struct weir_command {
    const char *name;
    const char *summary;                 /* "run a command on GPUs" */
    const char *operands;                /* for the usage line; "" if there are none */
    const char *about;                   /* paragraphs, an empty line between them */
    const char *status;                  /* its exit status; NULL: as enum weir_exit says */
    const char *operand_choices;         /* of the first operand, for completion; may be NULL */
    const struct weir_example *examples; /* at least one */
    size_t n_examples;
    const struct weir_option *options;
    size_t n_options;
    uint32_t min_operands;
    uint32_t max_operands;
    uint8_t group;    /* enum weir_command_group */
    bool is_client;   /* takes --data and --server */
    bool takes_words; /* the first operand ends the options: what follows is another command */
    bool is_hidden;
    /* The exit status, or a negative code with err. One of the two: `ask` is given the server that
     * --data or --server names, `run` finds what it needs by itself. */
    int (*ask)(struct weir_client *client, const struct weir_args *args, struct weir_err *err);
    int (*run)(const struct weir_args *args, struct weir_err *err);
};

extern const struct weir_command *const weir_commands[]; /* ends with NULL */

/* Options of the command, then those of all clients, then those of all commands; NULL behind the
 * last. */
const struct weir_option *weir_command_option(const struct weir_command *command, size_t i);
const struct weir_command *weir_command_find(const char *name); /* NULL: there is none */
/* Where everything starts: finds the command, reads its options, runs it, prints its error. */
int weir_command_main(int argc, char **argv);
/* "weir: FILE:LINE:COLUMN: TEXT (HINT)" on stderr; file may be NULL. */
void weir_command_complain(const struct weir_err *err, const char *file);
/* The exit status that goes with an error. */
enum weir_exit weir_command_status(int code);

#endif

/* cmd/options.h — one option table per command: parsing, --help, the man page and the completion
 * all come from it.
 *
 * GNU style: --name=value, --name value, -o value, -ovalue, clusters of flags (-aq), "--" ends the
 * options. Options and operands may be mixed unless the command takes another command's words. A
 * long name is never abbreviated, so that a new option cannot break a script. */
#ifndef WEIR_CMD_OPTIONS_H
#define WEIR_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;
struct weir_command;
struct weir_err;

enum weir_option_kind {
    WEIR_OPTION_FLAG,     /* no argument */
    WEIR_OPTION_BOOL,     /* true or false; without =VALUE: true */
    WEIR_OPTION_TEXT,     /* anything but the empty text */
    WEIR_OPTION_CHOICE,   /* one of `choices` */
    WEIR_OPTION_COUNT,    /* a whole number, min … max */
    WEIR_OPTION_DURATION, /* base/time.h */
    WEIR_OPTION_SIZE,     /* bytes as fmt/quantity.h reads them */
    WEIR_OPTION_AMOUNT,   /* a quantity with thousandths: GPUs, CPUs */
    WEIR_OPTION_FILE,     /* text; completed as a file name */
    WEIR_OPTION_DIR,
};

struct weir_option {
    const char *name; /* long, without dashes */
    char letter;      /* 0: none */
    uint8_t kind;     /* enum weir_option_kind */
    bool repeated;    /* may be given more than once; else the last one counts */
    const char *argument;
    const char *choices; /* "table|wide|json" */
    int64_t min;
    int64_t max;
    const char *help;    /* a sentence without full stop */
    const char *example; /* a value, for the man page and for the hint of an error; may be NULL */
};

struct weir_given {
    const struct weir_option *option;
    const char *value; /* NULL for a flag */
};

struct weir_args {
    const struct weir_command *command;
    struct weir_given *given; /* in order */
    size_t n_given;
    const char **operands;
    size_t n_operands;
    bool wants_help; /* the operands were not counted then */
};

/* Reads argv[0 … argc-1], the words behind the command's name. Values are checked for their kind.
 * The result points into argv and the arena. WEIR_E_INVALID names the word, and the nearest option
 * there is. */
int weir_args_parse(const struct weir_command *command, int argc, const char *const *argv,
                    struct weir_arena *arena, struct weir_args *ret_args, struct weir_err *err);

/* By long name, which must be in the command's table. */
bool weir_args_has(const struct weir_args *args, const char *name);
const char *weir_args_text(const struct weir_args *args, const char *name); /* NULL: not given */
int64_t weir_args_count(const struct weir_args *args, const char *name, int64_t fallback);
bool weir_args_bool(const struct weir_args *args, const char *name, bool fallback);
/* The next value of a repeated option at or after *at, which starts at 0; NULL at the end. */
const char *weir_args_next(const struct weir_args *args, const char *name, size_t *at);

/* What a value of the option must be: 0 or WEIR_E_INVALID. */
int weir_option_check(const struct weir_option *option, const char *value, struct weir_err *err);

#endif

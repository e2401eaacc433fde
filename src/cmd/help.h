/* cmd/help.h — what a person reads about a command: made from its option table. */
#ifndef WEIR_CMD_HELP_H
#define WEIR_CMD_HELP_H

#include <stdio.h>

struct weir_buf;
struct weir_command;
struct weir_err;

/* All commands, a line each. */
void weir_help_overview(FILE *out);
/* --help of one command, on stdout. 0 or a negative code. */
int weir_help_command(const struct weir_command *command, struct weir_err *err);
/* The same as text. */
void weir_help_text(const struct weir_command *command, struct weir_buf *out);
/* A page for man(1), section 1: of a command, or of weir itself (NULL). */
void weir_help_man(const struct weir_command *command, struct weir_buf *out);
/* A completion for bash: all commands, options and choices. */
void weir_help_completion(struct weir_buf *out);

#endif

/* The completion for bash: one function, a case per command. */
#include "cmd/help.h"

#include "base/buf.h"
#include "base/str.h"
#include "cmd/command.h"

/* The choices "a|b" as words. */
static void put_words(struct weir_buf *out, const char *choices)
{
    struct weir_str rest = weir_str(choices);
    struct weir_str one;

    while (weir_str_split(&rest, '|', &one)) {
        weir_buf_putc(out, ' ');
        weir_buf_str(out, one);
    }
}

static void put_previous(struct weir_buf *out, const struct weir_option *option)
{
    if (option->kind == WEIR_OPTION_FLAG || option->kind == WEIR_OPTION_BOOL)
        return;
    weir_buf_printf(out, "        --%s", option->name);
    if (option->letter != 0)
        weir_buf_printf(out, "|-%c", option->letter);
    weir_buf_puts(out, ") ");
    if (option->kind == WEIR_OPTION_CHOICE) {
        weir_buf_puts(out, "mapfile -t COMPREPLY < <(compgen -W '");
        put_words(out, option->choices);
        weir_buf_puts(out, "' -- \"$cur\")");
    } else if (option->kind == WEIR_OPTION_FILE) {
        weir_buf_puts(out, "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
    } else if (option->kind == WEIR_OPTION_DIR) {
        weir_buf_puts(out, "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")");
    } else {
        weir_buf_puts(out, "COMPREPLY=()");
    }
    weir_buf_puts(out, "; return ;;\n");
}

static void put_command(struct weir_buf *out, const struct weir_command *command)
{
    const struct weir_option *option;

    weir_buf_printf(out, "    %s)\n        case $prev in\n", command->name);
    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++)
        put_previous(out, option);
    weir_buf_puts(out, "        esac\n        words='");
    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++) {
        weir_buf_printf(out, " --%s", option->name);
        if (option->letter != 0)
            weir_buf_printf(out, " -%c", option->letter);
    }
    weir_buf_puts(out, "'\n");
    if (command->operand_choices != NULL) {
        weir_buf_puts(out, "        [[ $cur == -* ]] || words='");
        put_words(out, command->operand_choices);
        weir_buf_puts(out, "'\n");
    }
    weir_buf_puts(out, "        ;;\n");
}

void weir_help_completion(struct weir_buf *out)
{
    weir_buf_puts(out, "# Completion for weir in bash.\n"
                       "_weir() {\n"
                       "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
                       "words='' i command=''\n"
                       "    COMPREPLY=()\n"
                       "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                       "        case ${COMP_WORDS[i]} in\n"
                       "        --data|--server) ((i++)) ;;\n"
                       "        -*) ;;\n"
                       "        *) command=${COMP_WORDS[i]}; break ;;\n"
                       "        esac\n"
                       "    done\n"
                       "    case $command in\n"
                       "    '') words='--help --version");
    for (size_t i = 0; weir_commands[i] != NULL; i++)
        if (!weir_commands[i]->is_hidden)
            weir_buf_printf(out, " %s", weir_commands[i]->name);
    weir_buf_puts(out, "' ;;\n");
    for (size_t i = 0; weir_commands[i] != NULL; i++)
        if (!weir_commands[i]->is_hidden)
            put_command(out, weir_commands[i]);
    weir_buf_puts(out, "    esac\n"
                       "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                       "}\n"
                       "complete -o default -F _weir weir\n");
}

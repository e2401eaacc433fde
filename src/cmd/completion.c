/* The completion for bash: one function, a case per command. */
#include "cmd/help.h"

#include "base/buf.h"
#include "base/str.h"
#include "cmd/command.h"

#include <string.h>

/* The names come from a server: only plain words are taken, so that none means something to the
 * shell, and it has a second, so that no key press hangs on one that is away. */
static const char names_function[] =
    "# _weir_names KIND...: adds to COMPREPLY what the server that the line names has of them.\n"
    "_weir_names() {\n"
    "    local kind first second word\n"
    "    local -a ask\n"
    "    for kind; do\n"
    "        case $kind in\n"
    "        jobs) ask=(ps) ;;\n"
    "        history) ask=(ps -a) ;;\n"
    "        *) ask=(get \"$kind\" -o name) ;;\n"
    "        esac\n"
    "        while read -r first second _; do\n"
    "            case $kind in\n"
    "            jobs|history) [[ $first == [0-9]* ]] || continue ;;\n"
    "            esac\n"
    "            for word in \"$first\" \"${second%%[*}\"; do\n"
    "                [[ $word == \"$cur\"* && $word =~ ^[A-Za-z0-9][A-Za-z0-9._#/-]*$ ]] &&\n"
    "                    COMPREPLY+=(\"$word\")\n"
    "            done\n"
    "        done < <(timeout 1 \"${COMP_WORDS[0]}\" \"${ask[@]}\" \"${at[@]}\" 2>/dev/null "
    "</dev/null |\n"
    "            tail -n 1000)\n"
    "    done\n"
    "}\n";

static const char start_of_function[] =
    "_weir() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' i\n"
    "    local command='' valued='' kind='' n=0 word\n"
    "    local -a at=()\n"
    "    COMPREPLY=()\n"
    "    [[ $prev != = ]] || prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    if [[ $cur == = ]]; then cur=''; fi\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        case $word in\n"
    "        --data|--server)\n"
    "            [[ ${COMP_WORDS[i+1]} != = ]] || ((i++))\n"
    "            ((++i < COMP_CWORD)) && at+=(\"$word\" \"${COMP_WORDS[i]/#\\~\\//$HOME/}\") ;;\n"
    "        -*)\n"
    "            if [[ \" $valued \" == *\" $word \"* ]]; then\n"
    "                [[ ${COMP_WORDS[i+1]} != = ]] || ((i++))\n"
    "                ((i++))\n"
    "            fi ;;\n"
    "        *)\n"
    "            if [[ -z $command ]]; then\n"
    "                command=$word\n"
    "                case $command in\n";

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

static void put_commands(struct weir_buf *out)
{
    for (size_t i = 0; weir_commands[i] != NULL; i++)
        if (!weir_commands[i]->is_hidden)
            weir_buf_printf(out, " %s", weir_commands[i]->name);
}

static bool takes_value(const struct weir_option *option)
{
    return option->kind != WEIR_OPTION_FLAG && option->kind != WEIR_OPTION_BOOL;
}

static void put_option_words(struct weir_buf *out, const struct weir_command *command,
                             bool only_valued)
{
    const struct weir_option *option;

    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++) {
        if (only_valued && !takes_value(option))
            continue;
        weir_buf_printf(out, " --%s", option->name);
        if (option->letter != 0)
            weir_buf_printf(out, " -%c", option->letter);
    }
}

static void put_previous(struct weir_buf *out, const struct weir_option *option)
{
    if (!takes_value(option))
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
    } else if (strcmp(option->argument, "QUEUE") == 0) {
        weir_buf_puts(out, "_weir_names queues");
    } else {
        weir_buf_puts(out, "COMPREPLY=()");
    }
    weir_buf_puts(out, "; return ;;\n");
}

/* What a command only looks at may have ended. */
static const char *jobs_of(const struct weir_command *command)
{
    return command->group == WEIR_GROUP_LOOK ? "history" : "jobs";
}

/* "KIND NAME": the names of the kind that stands before. */
static void put_names_of_kind(struct weir_buf *out, const struct weir_command *command)
{
    const char *at = strstr(command->operands, "…") != NULL ? "*" : "1";

    weir_buf_printf(out,
                    "            case $n,$kind in\n"
                    "            0,*) ;;\n"
                    "            %s,w*|%s,j*) _weir_names %s ;;\n"
                    "            %s,q*) _weir_names queues ;;\n",
                    at, at, jobs_of(command), at);
    if (command->group == WEIR_GROUP_LOOK)
        weir_buf_puts(out, "            1,g*) _weir_names gpus ;;\n"
                           "            1,n*) _weir_names nodes ;;\n");
    if (command->operand_choices != NULL && strstr(command->operand_choices, "tasks") != NULL)
        weir_buf_puts(out, "            1,t*|1,m*) _weir_names history ;;\n"
                           "            1,e*) _weir_names history gpus ;;\n");
    weir_buf_puts(out, "            esac\n");
}

/* The words of the usage line say what an operand is. */
static void put_operands(struct weir_buf *out, const struct weir_command *command)
{
    const char *operands = command->operands;

    if (command->takes_words)
        return;
    weir_buf_puts(out, "        if [[ $cur != -* ]]; then\n            words=''\n");
    if (command->operand_choices != NULL) {
        weir_buf_puts(out, "            ((n > 0)) || words='");
        put_words(out, command->operand_choices);
        weir_buf_puts(out, "'\n");
    }
    if (strncmp(operands, "[COMMAND", 8) == 0) {
        weir_buf_puts(out, "            ((n > 0)) || words='");
        put_commands(out);
        weir_buf_puts(out, "'\n");
    } else if (strncmp(operands, "ID", 2) == 0) {
        weir_buf_printf(out, "            %s_weir_names %s\n",
                        strstr(operands, "…") != NULL ? "" : "((n > 0)) || ", jobs_of(command));
    } else if (strncmp(operands, "NODE", 4) == 0) {
        weir_buf_printf(out, "            _weir_names nodes%s\n",
                        strstr(operands, "GPU") != NULL ? " gpus" : "");
    } else if (strncmp(operands, "KIND", 4) == 0) {
        put_names_of_kind(out, command);
    }
    weir_buf_puts(out, "            [[ -n $words ]] || return\n        fi\n");
}

static void put_command(struct weir_buf *out, const struct weir_command *command)
{
    const struct weir_option *option;

    weir_buf_printf(out, "    %s)\n", command->name);
    if (command->takes_words)
        weir_buf_puts(out, "        ((n == 0)) || return\n");
    weir_buf_puts(out, "        case $prev in\n");
    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++)
        put_previous(out, option);
    weir_buf_puts(out, "        esac\n        words='");
    put_option_words(out, command, false);
    weir_buf_puts(out, "'\n");
    put_operands(out, command);
    weir_buf_puts(out, "        ;;\n");
}

void weir_help_completion(struct weir_buf *out)
{
    weir_buf_puts(out, "# Completion for weir in bash.\n");
    weir_buf_puts(out, names_function);
    weir_buf_puts(out, start_of_function);
    for (size_t i = 0; weir_commands[i] != NULL; i++) {
        if (weir_commands[i]->is_hidden)
            continue;
        weir_buf_printf(out, "                %s) valued='", weir_commands[i]->name);
        put_option_words(out, weir_commands[i], true);
        weir_buf_puts(out, "' ;;\n");
    }
    weir_buf_puts(out, "                esac\n"
                       "            else\n"
                       "                ((n++)) || kind=$word\n"
                       "            fi ;;\n"
                       "        esac\n"
                       "    done\n"
                       "    case $command in\n"
                       "    '') words='--help --version");
    put_commands(out);
    weir_buf_puts(out, "' ;;\n");
    for (size_t i = 0; weir_commands[i] != NULL; i++)
        if (!weir_commands[i]->is_hidden)
            put_command(out, weir_commands[i]);
    weir_buf_puts(out, "    esac\n"
                       "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                       "}\n"
                       "complete -o default -F _weir weir\n");
}

#include "cmd/options.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/command.h"
#include "fmt/quantity.h"

#include <string.h>

struct words {
    const char *const *argv;
    int argc;
    int at;
};

static const struct weir_option *find_long(const struct weir_command *command, struct weir_str name)
{
    const struct weir_option *option;

    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++)
        if (weir_str_eq_c(name, option->name))
            return option;
    return NULL;
}

static const struct weir_option *find_letter(const struct weir_command *command, char letter)
{
    const struct weir_option *option;

    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++)
        if (option->letter == letter)
            return option;
    return NULL;
}

static int unknown_long(const struct weir_command *command, struct weir_str name,
                        struct weir_err *err)
{
    struct weir_str names[64];
    char shown[WEIR_STR_SHOW_MAX];
    const struct weir_option *option;
    size_t n = 0;
    ptrdiff_t near;

    for (size_t i = 0; (option = weir_command_option(command, i)) != NULL && n < 64; i++)
        names[n++] = weir_str(option->name);
    near = weir_str_nearest(name, names, n);
    weir_error(err, WEIR_E_INVALID, "%s: there is no option --%s", command->name,
               weir_str_show(name, shown));
    if (near >= 0)
        return weir_error_hint(err, "did you mean --%.*s?", WEIR_STR_ARG(names[near]));
    return weir_error_hint(err, "see weir %s --help", command->name);
}

static int check_choice(const struct weir_option *option, const char *value, struct weir_err *err)
{
    struct weir_str rest = weir_str(option->choices);
    struct weir_str names[16];
    struct weir_str one;
    size_t n = 0;
    ptrdiff_t near;

    while (n < 16 && weir_str_split(&rest, '|', &one)) {
        if (weir_str_eq_c(one, value))
            return 0;
        names[n++] = one;
    }
    near = weir_str_nearest(weir_str(value), names, n);
    weir_error(err, WEIR_E_INVALID, "it must be one of %s", option->choices);
    if (near >= 0)
        return weir_error_hint(err, "did you mean %.*s?", WEIR_STR_ARG(names[near]));
    return WEIR_E_INVALID;
}

static int check_count(const struct weir_option *option, const char *value, struct weir_err *err)
{
    int64_t n;

    if (!weir_str_to_i64(weir_str(value), &n))
        return weir_error(err, WEIR_E_INVALID, "it must be a whole number");
    if (n < option->min || n > option->max)
        return weir_error(err, WEIR_E_INVALID, "it must be %lld to %lld", (long long)option->min,
                          (long long)option->max);
    return 0;
}

static bool read_bool(const char *value, bool *ret_value)
{
    if (value == NULL || strcmp(value, "true") == 0)
        *ret_value = true;
    else if (strcmp(value, "false") == 0)
        *ret_value = false;
    else
        return false;
    return true;
}

/* Nobody needs to hear of suffixes who writes "two". */
static int check_amount(const char *value, struct weir_err *err)
{
    struct weir_str text = weir_str(value);
    int64_t amount;
    int result = weir_quantity_milli(text, &amount, err);

    if (result != WEIR_E_INVALID || (text.len > 0 && text.ptr[0] == '-'))
        return result;
    return weir_error(err, WEIR_E_INVALID, "it must be a number, such as 2 or 0.5");
}

int weir_option_check(const struct weir_option *option, const char *value, struct weir_err *err)
{
    int64_t amount;
    bool is_true;

    if (value != NULL && value[0] == '\0')
        return weir_error(err, WEIR_E_INVALID, "it must not be empty");
    switch ((enum weir_option_kind)option->kind) {
    case WEIR_OPTION_BOOL:
        if (!read_bool(value, &is_true))
            return weir_error(err, WEIR_E_INVALID, "it must be true or false");
        return 0;
    case WEIR_OPTION_CHOICE:
        return check_choice(option, value, err);
    case WEIR_OPTION_COUNT:
        return check_count(option, value, err);
    case WEIR_OPTION_DURATION:
        return weir_duration_parse(weir_str(value), &amount, err);
    case WEIR_OPTION_SIZE:
        return weir_quantity_bytes(weir_str(value), &amount, err);
    case WEIR_OPTION_AMOUNT:
        return check_amount(value, err);
    case WEIR_OPTION_FLAG:
    case WEIR_OPTION_TEXT:
    case WEIR_OPTION_FILE:
    case WEIR_OPTION_DIR:
        return 0;
    }
    WEIR_BUG("an option without a kind");
}

static int add(struct weir_args *args, const struct weir_option *option, const char *value,
               struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];

    if (weir_option_check(option, value, err) < 0) {
        weir_error_wrap(err, "%s: --%s '%s'", args->command->name, option->name,
                        weir_str_show(weir_str(value), shown));
        if (err != NULL && err->hint[0] == '\0' && option->example != NULL)
            weir_error_hint(err, "for example --%s %s", option->name, option->example);
        return WEIR_E_INVALID;
    }
    args->given[args->n_given++] = (struct weir_given){option, value};
    return 0;
}

/* The word behind an option that needs one. */
static int take_word(struct weir_args *args, struct words *words, const struct weir_option *option,
                     const char **ret_word, struct weir_err *err)
{
    if (words->at >= words->argc) {
        weir_error(err, WEIR_E_INVALID, "%s: --%s needs %s", args->command->name, option->name,
                   option->argument);
        if (option->example != NULL)
            weir_error_hint(err, "for example --%s %s", option->name, option->example);
        return WEIR_E_INVALID;
    }
    *ret_word = words->argv[words->at++];
    return 0;
}

static bool stands_alone(const struct weir_option *option)
{
    return option->kind == WEIR_OPTION_FLAG || option->kind == WEIR_OPTION_BOOL;
}

static int parse_long(struct weir_args *args, struct words *words, const char *word,
                      struct weir_err *err)
{
    const char *equals = strchr(word, '=');
    struct weir_str name =
        equals != NULL ? weir_str_n(word, (size_t)(equals - word)) : weir_str(word);
    const struct weir_option *option = find_long(args->command, name);
    const char *value = equals != NULL ? equals + 1 : NULL;

    if (option == NULL)
        return unknown_long(args->command, name, err);
    if (option->kind == WEIR_OPTION_FLAG && value != NULL)
        return weir_error(err, WEIR_E_INVALID, "%s: --%s takes no value", args->command->name,
                          option->name);
    if (value == NULL && !stands_alone(option) && take_word(args, words, option, &value, err) < 0)
        return weir_error_code(err);
    return add(args, option, value, err);
}

static int parse_cluster(struct weir_args *args, struct words *words, const char *letters,
                         struct weir_err *err)
{
    for (; *letters != '\0'; letters++) {
        const struct weir_option *option = find_letter(args->command, *letters);
        const char *value = NULL;
        char shown[WEIR_STR_SHOW_MAX];

        if (option == NULL) {
            weir_error(err, WEIR_E_INVALID, "%s: there is no option -%s", args->command->name,
                       weir_str_show(weir_str_n(letters, 1), shown));
            return weir_error_hint(err, "see weir %s --help", args->command->name);
        }
        if (stands_alone(option)) {
            if (add(args, option, NULL, err) < 0)
                return weir_error_code(err);
            continue;
        }
        if (letters[1] != '\0')
            value = letters[1] == '=' ? letters + 2 : letters + 1;
        else if (take_word(args, words, option, &value, err) < 0)
            return weir_error_code(err);
        return add(args, option, value, err);
    }
    return 0;
}

static int parse_words(struct weir_args *args, struct words *words, struct weir_err *err)
{
    bool ended = false;

    while (words->at < words->argc) {
        const char *word = words->argv[words->at++];
        int result;

        if (ended || word[0] != '-' || word[1] == '\0') {
            args->operands[args->n_operands++] = word;
            ended = ended || args->command->takes_words;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            ended = true;
            continue;
        }
        result = word[1] == '-' ? parse_long(args, words, word + 2, err)
                                : parse_cluster(args, words, word + 1, err);
        if (result < 0)
            return result;
    }
    return 0;
}

static int check_operands(const struct weir_args *args, struct weir_err *err)
{
    const struct weir_command *command = args->command;
    char shown[WEIR_STR_SHOW_MAX];

    if (args->n_operands < command->min_operands)
        weir_error(err, WEIR_E_INVALID, "%s: %s is missing", command->name, command->operands);
    else if (args->n_operands > command->max_operands)
        weir_error(err, WEIR_E_INVALID, "%s: '%s' is one word too many", command->name,
                   weir_str_show(weir_str(args->operands[command->max_operands]), shown));
    else
        return 0;
    return weir_error_hint(err, "see weir %s --help", command->name);
}

int weir_args_parse(const struct weir_command *command, int argc, const char *const *argv,
                    struct weir_arena *arena, struct weir_args *ret_args, struct weir_err *err)
{
    struct words words = {argv, argc, 0};
    struct weir_args args = {.command = command};
    size_t n_max = 1;

    /* A cluster holds as many options as it has letters. */
    for (int i = 0; i < argc; i++)
        n_max += argv[i][0] == '-' ? strlen(argv[i]) : 1;
    args.given = weir_arena_new_n(arena, struct weir_given, n_max);
    args.operands = weir_arena_new_n(arena, const char *, (size_t)argc + 1);
    if (args.given == NULL || args.operands == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the options");
    if (parse_words(&args, &words, err) < 0)
        return weir_error_code(err);
    args.wants_help = weir_args_has(&args, "help");
    if (!args.wants_help && check_operands(&args, err) < 0)
        return weir_error_code(err);
    *ret_args = args;
    return 0;
}

static const struct weir_given *last_given(const struct weir_args *args, const char *name)
{
    const struct weir_option *option = find_long(args->command, weir_str(name));

    WEIR_ASSERT(option != NULL);
    for (size_t i = args->n_given; i > 0; i--)
        if (args->given[i - 1].option == option)
            return &args->given[i - 1];
    return NULL;
}

bool weir_args_has(const struct weir_args *args, const char *name)
{
    return last_given(args, name) != NULL;
}

const char *weir_args_text(const struct weir_args *args, const char *name)
{
    const struct weir_given *given = last_given(args, name);

    return given != NULL ? given->value : NULL;
}

int64_t weir_args_count(const struct weir_args *args, const char *name, int64_t fallback)
{
    const char *text = weir_args_text(args, name);
    int64_t n = fallback;

    if (text != NULL && !weir_str_to_i64(weir_str(text), &n))
        WEIR_BUG("a number that was not checked");
    return n;
}

bool weir_args_bool(const struct weir_args *args, const char *name, bool fallback)
{
    const struct weir_given *given = last_given(args, name);
    bool value = fallback;

    if (given != NULL && !read_bool(given->value, &value))
        WEIR_BUG("a truth that was not checked");
    return value;
}

const char *weir_args_next(const struct weir_args *args, const char *name, size_t *at)
{
    const struct weir_option *option = find_long(args->command, weir_str(name));

    WEIR_ASSERT(option != NULL);
    while (*at < args->n_given) {
        const struct weir_given *given = &args->given[(*at)++];

        if (given->option == option)
            return given->value;
    }
    return NULL;
}

#include "../support.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/help.h"
#include "cmd/sheet.h"

static const struct weir_option options[] = {
    {.name = "quiet", .letter = 'q', .kind = WEIR_OPTION_FLAG, .help = "quiet"},
    {.name = "all", .letter = 'a', .kind = WEIR_OPTION_FLAG, .help = "all"},
    {.name = "name",
     .letter = 'n',
     .kind = WEIR_OPTION_TEXT,
     .argument = "NAME",
     .help = "name",
     .example = "bob"},
    {.name = "env",
     .letter = 'e',
     .kind = WEIR_OPTION_TEXT,
     .repeated = true,
     .argument = "K=V",
     .help = "env"},
    {.name = "count",
     .letter = 'c',
     .kind = WEIR_OPTION_COUNT,
     .argument = "N",
     .min = -3,
     .max = 9,
     .help = "count",
     .example = "4"},
    {.name = "flag", .kind = WEIR_OPTION_BOOL, .help = "flag"},
    {.name = "time",
     .kind = WEIR_OPTION_DURATION,
     .argument = "D",
     .help = "time",
     .example = "12h"},
    {.name = "size",
     .kind = WEIR_OPTION_SIZE,
     .argument = "SIZE",
     .help = "size",
     .example = "20Gi"},
    {.name = "gpus", .kind = WEIR_OPTION_AMOUNT, .argument = "N", .help = "gpus", .example = "0.5"},
    {.name = "output",
     .letter = 'o',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "FORM",
     .choices = "table|json",
     .help = "form"},
};

static const struct weir_example examples[] = {{"weir test", "try it"}};

static const struct weir_command mixed = {
    .name = "test",
    .summary = "try",
    .operands = "WORD…",
    .about = "Tries.",
    .examples = examples,
    .n_examples = 1,
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .max_operands = 3,
};
static const struct weir_command wrapper = {
    .name = "wrap",
    .summary = "wrap",
    .operands = "COMMAND…",
    .about = "Wraps.",
    .examples = examples,
    .n_examples = 1,
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .min_operands = 1,
    .max_operands = 100,
    .takes_words = true,
};

static struct weir_arena arena;
static struct weir_err err;

/* words: NULL-terminated. */
static int parse(const struct weir_command *command, const char *const *words,
                 struct weir_args *ret_args)
{
    int n = 0;

    while (words[n] != NULL)
        n++;
    weir_arena_reset(&arena);
    err = (struct weir_err)WEIR_ERR_INIT;
    return weir_args_parse(command, n, words, &arena, ret_args, &err);
}
#define WORDS(...) ((const char *[]){__VA_ARGS__, NULL})

static void every_way_to_give_a_value(void **state)
{
    static const char *ways[][4] = {{"--name", "x", NULL}, {"--name=x", NULL},
                                    {"-n", "x", NULL},     {"-nx", NULL},
                                    {"-n=x", NULL},        {"-qnx", NULL},
                                    {"-qan", "x", NULL},   {"-n", "y", "-nx", NULL}};
    struct weir_args args;
    (void)state;

    for (size_t i = 0; i < WEIR_COUNT_OF(ways); i++) {
        assert_int_equal(parse(&mixed, ways[i], &args), 0);
        assert_string_equal(weir_args_text(&args, "name"), "x");
        assert_int_equal(args.n_operands, 0);
    }
    assert_int_equal(parse(&mixed, WORDS("--name=a=b"), &args), 0);
    assert_string_equal(weir_args_text(&args, "name"), "a=b");
    assert_int_equal(parse(&mixed, WORDS("--name", "--all"), &args), 0);
    assert_string_equal(weir_args_text(&args, "name"), "--all");
    assert_false(weir_args_has(&args, "all"));
}

static void options_and_operands_mix(void **state)
{
    struct weir_args args;
    (void)state;

    assert_int_equal(parse(&mixed, WORDS("a", "-q", "-", "--", "--all"), &args), 0);
    assert_true(weir_args_has(&args, "quiet"));
    assert_false(weir_args_has(&args, "all"));
    assert_int_equal(args.n_operands, 3);
    assert_string_equal(args.operands[1], "-");
    assert_string_equal(args.operands[2], "--all");
}

static void words_of_another_command_are_left_alone(void **state)
{
    struct weir_args args;
    (void)state;

    assert_int_equal(parse(&wrapper, WORDS("-q", "cmd", "-a", "--", "--help"), &args), 0);
    assert_false(weir_args_has(&args, "all"));
    assert_false(args.wants_help);
    assert_int_equal(args.n_operands, 4);
    assert_string_equal(args.operands[3], "--help");
    assert_int_equal(parse(&wrapper, WORDS("-q", "--", "-a"), &args), 0);
    assert_int_equal(args.n_operands, 1);
    assert_string_equal(args.operands[0], "-a");
    assert_int_equal(parse(&wrapper, WORDS("--help", "x"), &args), 0);
    assert_true(args.wants_help);
}

static void values_have_their_kind(void **state)
{
    struct weir_args args;
    size_t at = 0;
    (void)state;

    assert_int_equal(parse(&mixed,
                           WORDS("-c", "-3", "--flag=false", "--time", "1h30m", "--size=20Gi",
                                 "--gpus=0.5", "-e", "A=1", "--env", "B", "-o", "json"),
                           &args),
                     0);
    assert_int_equal(weir_args_count(&args, "count", 0), -3);
    assert_false(weir_args_bool(&args, "flag", true));
    assert_string_equal(weir_args_text(&args, "time"), "1h30m");
    assert_string_equal(weir_args_next(&args, "env", &at), "A=1");
    assert_string_equal(weir_args_next(&args, "env", &at), "B");
    assert_null(weir_args_next(&args, "env", &at));
    assert_int_equal(parse(&mixed, WORDS("--flag"), &args), 0);
    assert_true(weir_args_bool(&args, "flag", false));
    assert_int_equal(weir_args_count(&args, "count", 5), 5);
    assert_true(weir_args_bool(&args, "flag", false));
    assert_null(weir_args_text(&args, "time"));
    assert_null(weir_args_text(&args, "name"));
}

static void faults_are_named(void **state)
{
    static const struct {
        const char *words[4];
        const char *text;
        const char *hint;
    } faults[] = {
        {{"--nam", "x"}, "test: there is no option --nam", "did you mean --name?"},
        {{"--xyzzy=1"}, "test: there is no option --xyzzy", "see weir test --help"},
        {{"-x"}, "test: there is no option -x", "see weir test --help"},
        {{"-qx"}, "test: there is no option -x", "see weir test --help"},
        {{"-\xff"}, "test: there is no option -?", "see weir test --help"},
        {{"--name"}, "test: --name needs NAME", "for example --name bob"},
        {{"-e"}, "test: --env needs K=V", ""},
        {{"--name="}, "test: --name '': it must not be empty", "for example --name bob"},
        {{"--quiet=1"}, "test: --quiet takes no value", ""},
        {{"--count", "4x"},
         "test: --count '4x': it must be a whole number",
         "for example --count 4"},
        {{"--count", "10"}, "test: --count '10': it must be -3 to 9", "for example --count 4"},
        {{"--flag=yes"}, "test: --flag 'yes': it must be true or false", ""},
        {{"-ojsn"}, "test: --output 'jsn': it must be one of table|json", "did you mean json?"},
        {{"a", "b", "c", "d\n"}, "test: 'd?' is one word too many", "see weir test --help"},
    };
    struct weir_args args;
    (void)state;

    for (size_t i = 0; i < WEIR_COUNT_OF(faults); i++) {
        const char *words[5] = {faults[i].words[0], faults[i].words[1], faults[i].words[2],
                                faults[i].words[3], NULL};

        assert_int_equal(parse(&mixed, words, &args), WEIR_E_INVALID);
        assert_string_equal(err.text, faults[i].text);
        assert_string_equal(err.hint, faults[i].hint);
    }
    assert_int_equal(parse(&mixed, WORDS("--time", "soon"), &args), WEIR_E_INVALID);
    assert_int_equal(parse(&mixed, WORDS("--size", "20Q"), &args), WEIR_E_INVALID);
    assert_int_equal(parse(&mixed, WORDS("--gpus", "-1"), &args), WEIR_E_INVALID);
    assert_int_equal(parse(&wrapper, WORDS("-q"), &args), WEIR_E_INVALID);
    assert_string_equal(err.text, "wrap: COMMAND… is missing");
}

/* Whatever is given, the answer is yes or one line. */
static void random_words_do_no_harm(void **state)
{
    static const char *const pieces[] = {"-", "--", "q",    "name", "=", "x",  "-n",
                                         "c", "4",  "flag", "help", " ", "\n", "o"};
    struct weir_rng rng = random_numbers();
    (void)state;

    for (int round = 0; round < 20000; round++) {
        char texts[4][64] = {{0}};
        const char *words[5] = {texts[0], texts[1], texts[2], texts[3], NULL};
        struct weir_args args;
        int n = (int)weir_rng_below(&rng, 5);

        for (int i = 0; i < n; i++)
            for (uint64_t k = weir_rng_below(&rng, 5); k > 0; k--)
                snprintf(texts[i] + strlen(texts[i]), 64 - strlen(texts[i]), "%s",
                         pieces[weir_rng_below(&rng, WEIR_COUNT_OF(pieces))]);
        words[n] = NULL;
        if (parse(round % 2 == 0 ? &mixed : &wrapper, words, &args) < 0) {
            assert_true(err.text[0] != '\0');
            assert_null(strchr(err.text, '\n'));
        }
    }
}

static void every_allocation_may_fail(void **state)
{
    struct weir_args args;
    (void)state;

    weir_arena_finish(&arena);
    weir_mem_fail(0, 1);
    assert_int_equal(parse(&mixed, WORDS("-q"), &args), WEIR_E_NO_MEMORY);
    weir_mem_fail(0, 0);
}

/* ---- the real table ---- */

static bool names(struct weir_str text, const char *dashes, const char *what)
{
    char needle[128];

    snprintf(needle, sizeof(needle), "%s%s", dashes, what);
    return weir_str_find(text, weir_str(needle)) >= 0;
}

static void help_names_every_option(void **state)
{
    (void)state;
    for (size_t c = 0; weir_commands[c] != NULL; c++) {
        const struct weir_command *command = weir_commands[c];
        weir_cleanup_buf struct weir_buf help = WEIR_BUF_INIT(1 << 20);
        weir_cleanup_buf struct weir_buf man = WEIR_BUF_INIT(1 << 20);
        const struct weir_option *option;

        weir_help_text(command, &help);
        weir_help_man(command, &man);
        assert_true(command->n_examples > 0);
        for (size_t i = 0; (option = weir_command_option(command, i)) != NULL; i++) {
            assert_true(names(weir_buf_view(&help), "--", option->name));
            assert_true(strchr(option->name, '-') != NULL ||
                        names(weir_buf_view(&man), "\\-\\-", option->name));
            /* A sentence of the table begins small, unless it begins with a word like GPU. */
            assert_true(option->help[0] >= 'a' || option->help[1] < 'a');
            assert_true(option->help[strlen(option->help) - 1] != '.');
        }
        for (struct weir_str rest = weir_buf_view(&help), line; weir_str_split(&rest, '\n', &line);)
            if (weir_text_width(line) > 80 && !weir_str_starts_with(line, WEIR_STR("  weir ")))
                fail_msg("'%.*s' is too long", WEIR_STR_ARG(line));
    }
}

/* An example that its own option refuses would be worse than none. */
static void every_option_is_sound(void **state)
{
    (void)state;
    for (size_t c = 0; weir_commands[c] != NULL; c++) {
        const struct weir_option *option;

        for (size_t i = 0; (option = weir_command_option(weir_commands[c], i)) != NULL; i++) {
            const struct weir_option *other;

            err = (struct weir_err)WEIR_ERR_INIT;
            if (option->example != NULL && weir_option_check(option, option->example, &err) < 0)
                fail_msg("--%s %s: %s", option->name, option->example, err.text);
            assert_true(option->kind == WEIR_OPTION_FLAG || option->kind == WEIR_OPTION_BOOL ||
                        option->argument != NULL);
            assert_true((option->kind == WEIR_OPTION_CHOICE) == (option->choices != NULL));
            for (size_t j = 0; (other = weir_command_option(weir_commands[c], j)) != NULL && j < i;
                 j++) {
                assert_string_not_equal(option->name, other->name);
                assert_true(option->letter == 0 || option->letter != other->letter);
            }
        }
        for (size_t d = 0; d < c; d++)
            assert_string_not_equal(weir_commands[c]->name, weir_commands[d]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_give_a_value),
        cmocka_unit_test(options_and_operands_mix),
        cmocka_unit_test(words_of_another_command_are_left_alone),
        cmocka_unit_test(values_have_their_kind),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(random_words_do_no_harm),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(help_names_every_option),
        cmocka_unit_test(every_option_is_sound),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    weir_arena_finish(&arena);
    return failed;
}

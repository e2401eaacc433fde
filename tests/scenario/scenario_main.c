/* scenario FOLDER: every NAME.yaml there is a test. */
#include "scenario.h"

#include <dirent.h>

enum { CASES_MAX = 256 };

static const char *folder;

static int is_case(const struct dirent *entry)
{
    return weir_str_ends_with(weir_str(entry->d_name), WEIR_STR(".yaml"));
}

static struct weir_str read_file(const char *name, struct weir_arena *arena)
{
    char *path = weir_arena_printf(arena, "%s/%s", folder, name);
    char *text = weir_arena_bytes(arena, SCENARIO_BYTES_MAX);
    FILE *file;
    size_t n;

    assert_non_null(path);
    assert_non_null(text);
    file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    n = fread(text, 1, SCENARIO_BYTES_MAX, file);
    fclose(file);
    assert_true(n < SCENARIO_BYTES_MAX);
    return weir_str_n(text, n);
}

/* ---- what differs ---- */

/* Lines up to the first that differs. */
static size_t common_start(struct weir_str a, struct weir_str b)
{
    size_t line = 0;

    for (size_t i = 0; i < a.len && i < b.len && a.ptr[i] == b.ptr[i]; i++)
        if (a.ptr[i] == '\n')
            line = i + 1;
    return line;
}

/* Likewise from the end, in what is left of both. */
static size_t common_end(struct weir_str a, struct weir_str b)
{
    size_t line = 0;

    for (size_t n = 1; n <= a.len && n <= b.len && a.ptr[a.len - n] == b.ptr[b.len - n]; n++)
        if ((n == a.len || a.ptr[a.len - n - 1] == '\n') &&
            (n == b.len || b.ptr[b.len - n - 1] == '\n'))
            line = n;
    return line;
}

static void show_lines(struct weir_str text, char mark)
{
    struct weir_str line;

    if (text.len > 0 && text.ptr[text.len - 1] == '\n')
        text.len--;
    while (text.len > 0 && weir_str_split(&text, '\n', &line))
        print_message("# %c %.*s\n", mark, WEIR_STR_ARG(line));
}

static void show_difference(struct weir_str expected, struct weir_str got)
{
    size_t start = common_start(expected, got);
    struct weir_str missing = weir_str_sub(expected, start, expected.len);
    struct weir_str extra = weir_str_sub(got, start, got.len);
    size_t end = common_end(missing, extra);

    print_message("# the plan is not the one expected (-), but (+)\n");
    show_lines(weir_str_n(expected.ptr, start), ' ');
    show_lines(weir_str_n(missing.ptr, missing.len - end), '-');
    show_lines(weir_str_n(extra.ptr, extra.len - end), '+');
    show_lines(weir_str_sub(extra, extra.len - end, end), ' ');
}

/* ---- a test ---- */

static void run_case(void **state)
{
    static struct scenario s;
    const char *name = *state;
    struct weir_buf plan;
    bool is_same;

    s = (struct scenario){.arena = WEIR_ARENA_INIT};
    bench_init(&s.bench);
    weir_buf_init(&plan, SCENARIO_BYTES_MAX);
    scenario_read(&s, read_file(name, &s.arena));
    scenario_write(&s, &plan);
    is_same = weir_str_eq_c(weir_buf_view(&plan), s.plan);
    if (!is_same)
        show_difference(weir_str(s.plan), weir_buf_view(&plan));
    weir_buf_finish(&plan);
    bench_finish(&s.bench);
    weir_arena_finish(&s.arena);
    if (!is_same)
        fail_msg("%s: the plan differs", name);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[CASES_MAX];
    struct dirent **entries;
    int failed = 0;
    int n;

    if (argc != 2)
        return 2;
    folder = argv[1];
    n = scandir(folder, &entries, is_case, alphasort);
    if (n <= 0 || n > CASES_MAX) {
        fprintf(stderr, "%s: %d cases, not 1 to %d\n", folder, n, CASES_MAX);
        return 2;
    }
    for (int i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){.name = entries[i]->d_name,
                                       .test_func = run_case,
                                       .initial_state = entries[i]->d_name};
    failed = _cmocka_run_group_tests("scenario", tests, (size_t)n, NULL, NULL);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return failed != 0;
}

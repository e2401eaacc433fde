/* The token file: its content, its mode, its changes. */
#include "../../support.h"

#include "../temp_dir.h"
#include "base/err.h"
#include "edge/api/tokens.h"

#include <fcntl.h>
#include <sys/stat.h>

#define A "aaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbb"

/* ---- content ---- */

static void test_good(void **state)
{
    static const char text[] = "# who\n\n" A " admin ada\r\n  " B "\t read  anders öre \n"
                               "Aa0-._~+/=Aa0-._ submit x\n   # end";
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_token *tokens;
    uint32_t n;

    (void)state;
    assert_int_equal(weir_tokens_parse(weir_str(text), &arena, &tokens, &n, &err),
                     WEIR_E_INVALID); /* "öre" is one word too many */
    assert_int_equal(err.line, 4);
    assert_int_equal(weir_tokens_parse(WEIR_STR("# who\n\n" A " admin ada\r\n  " B
                                                "\t read  \xc3\xb6re \n"
                                                "Aa0-._~+/=Aa0-._ submit x\n   # end"),
                                       &arena, &tokens, &n, &err),
                     0);
    assert_int_equal(n, 3);
    assert_true(weir_str_eq_c(tokens[0].token, A));
    assert_true(weir_str_eq_c(tokens[0].user, "ada"));
    assert_int_equal(tokens[0].role, WEIR_ROLE_ADMIN);
    assert_true(weir_str_eq_c(tokens[1].user, "\xc3\xb6re"));
    assert_int_equal(tokens[1].role, WEIR_ROLE_READ);
    assert_int_equal(tokens[2].role, WEIR_ROLE_SUBMIT);
    assert_int_equal(weir_tokens_parse(WEIR_STR(""), &arena, &tokens, &n, &err), 0);
    assert_int_equal(n, 0);
    weir_arena_finish(&arena);
}

static void test_bad(void **state)
{
    static const struct {
        const char *text;
        uint32_t line;
        uint32_t column;
    } bad[] = {
        {"short admin ada", 1, 1},
        {"#\n\n  aaaaaaaaaaaaaaa! admin ada", 3, 3},
        {A, 1, 17},
        {A " root ada", 1, 18},
        {A " Admin ada", 1, 18},
        {A " admin", 1, 23},
        {A " admin a\x01", 1, 24},
        {A " admin \xff", 1, 24},
        {A " admin ada more", 1, 28},
        {A " admin ada\n" B " read bob\n" A " read eve", 3, 0},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_token *tokens;
        uint32_t n;

        assert_int_equal(weir_tokens_parse(weir_str(bad[i].text), &arena, &tokens, &n, &err),
                         WEIR_E_INVALID);
        if (err.line != bad[i].line || err.column != bad[i].column)
            fail_msg("%s: %u:%u", bad[i].text, err.line, err.column);
        assert_null(strstr(err.text, A)); /* no error tells a token */
        assert_null(strstr(err.hint, A));
        weir_arena_finish(&arena);
    }
    for (int len = 255; len <= 257; len++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_token *tokens;
        uint32_t n;

        memset(text, 'x', (size_t)len);
        snprintf(text + len, sizeof(text) - (size_t)len, " read ada");
        assert_int_equal(weir_tokens_parse(weir_str(text), &arena, &tokens, &n, NULL),
                         len <= 256 ? 0 : WEIR_E_INVALID);
        weir_arena_finish(&arena);
    }
}

/* ---- the file ---- */

static void write_file(const char *text, mode_t mode)
{
    const char *path = temp_path("tokens");
    FILE *file;

    unlink(path);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fchmod(fileno(file), mode), 0);
    fclose(file);
}

static int open_file(struct weir_tokens *tokens, struct weir_err *err)
{
    return weir_tokens_open(tokens, temp_path("tokens"), getuid(), WEIR_STR("ada"), err);
}

static int n_bad;

static void note_bad(const struct weir_err *err)
{
    assert_true(err->text[0] != '\0');
    n_bad++;
}

static int check(struct weir_tokens *tokens, const char *token, struct weir_err *err)
{
    const struct weir_token *found;

    return weir_tokens_check(tokens, weir_str(token), &found, err);
}

static void test_made(void **state)
{
    struct weir_tokens tokens;
    struct weir_tokens again;
    struct weir_err err = WEIR_ERR_INIT;
    const struct weir_token *found;
    char text[128];
    struct stat st;
    FILE *file;

    (void)state;
    assert_int_equal(open_file(&tokens, &err), 0);
    assert_int_equal(stat(temp_path("tokens"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(access(temp_path("tokens.new"), F_OK), -1);
    file = fopen(temp_path("tokens"), "r");
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_int_equal(strlen(text), 64 + strlen(" admin ada\n"));
    assert_int_equal(strspn(text, "0123456789abcdef"), 64);
    assert_string_equal(text + 64, " admin ada\n");
    text[64] = '\0';
    assert_int_equal(weir_tokens_check(&tokens, weir_str(text), &found, &err), 0);
    assert_int_equal(found->role, WEIR_ROLE_ADMIN);
    assert_int_equal(open_file(&again, &err), 0); /* kept, not made anew */
    assert_int_equal(check(&again, text, &err), 0);
    weir_tokens_finish(&tokens);
    weir_tokens_finish(&again);
}

static void test_changes(void **state)
{
    struct weir_tokens tokens;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    write_file(A " admin ada\n", 0600);
    assert_int_equal(open_file(&tokens, &err), 0);
    assert_int_equal(check(&tokens, A, &err), 0);
    assert_int_equal(check(&tokens, B, &err), WEIR_E_UNAUTHENTICATED);
    assert_int_equal(check(&tokens, "", &err), WEIR_E_UNAUTHENTICATED);
    write_file(B " read bob\n", 0600);
    assert_int_equal(check(&tokens, A, &err), WEIR_E_UNAUTHENTICATED);
    assert_int_equal(check(&tokens, B, &err), 0);
    /* While it is no good, nobody is let in, not even those who were. */
    tokens.on_bad = note_bad;
    n_bad = 0;
    write_file(B " read bob\n" A " nobody eve\n", 0600);
    assert_int_equal(check(&tokens, B, &err), WEIR_E_UNAVAILABLE);
    assert_int_equal(check(&tokens, B, &err), WEIR_E_UNAVAILABLE);
    assert_int_equal(n_bad, 1);
    assert_int_equal(err.line, 2);
    assert_non_null(strstr(err.text, "'nobody'"));
    write_file(B " read bob\n", 0640);
    assert_int_equal(check(&tokens, B, &err), WEIR_E_UNAVAILABLE);
    assert_non_null(strstr(err.text, "open to others"));
    assert_int_equal(n_bad, 2);
    unlink(temp_path("tokens"));
    assert_int_equal(check(&tokens, B, &err), WEIR_E_UNAVAILABLE);
    write_file(B " read bob\n", 0600);
    assert_int_equal(check(&tokens, B, &err), 0);
    weir_tokens_finish(&tokens);
}

static void test_refused_files(void **state)
{
    static const mode_t open_modes[] = {0604, 0640, 0660, 0602, 0677};
    struct weir_tokens tokens;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(open_modes); i++) {
        write_file(A " admin ada\n", open_modes[i]);
        assert_int_equal(open_file(&tokens, &err), WEIR_E_DENIED);
        assert_non_null(strstr(err.hint, "chmod 600"));
    }
    unlink(temp_path("tokens"));
    write_file(A " admin ada\n", 0600);
    assert_int_equal(rename(temp_path("tokens"), temp_path("real")), 0);
    assert_int_equal(symlink(temp_path("real"), temp_path("tokens")), 0);
    assert_int_equal(open_file(&tokens, &err), WEIR_E_IO); /* no link is followed */
    unlink(temp_path("tokens"));
    assert_int_equal(mkfifo(temp_path("tokens"), 0600), 0);
    assert_int_equal(open_file(&tokens, &err), WEIR_E_INVALID); /* and nothing waited for */
    unlink(temp_path("tokens"));
    assert_int_equal(weir_tokens_open(&tokens, temp_path("none/tokens"), getuid(), WEIR_STR("a"),
                                      &err),
                     WEIR_E_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_make, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good), cmocka_unit_test(test_bad), TEST(test_made),
        TEST(test_changes),          TEST(test_refused_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

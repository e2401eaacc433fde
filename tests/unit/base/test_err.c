#include "../support.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>

static void makes_an_error_in_one_expression(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_error(&err, WEIR_E_INVALID, "queue '%s' is unknown", "a"),
                     WEIR_E_INVALID);
    assert_int_equal(weir_error_at(&err, 3, 14), WEIR_E_INVALID);
    assert_int_equal(weir_error_field(&err, "spec.%s", "queue"), WEIR_E_INVALID);
    assert_int_equal(weir_error_hint(&err, "did you mean '%s'?", "b"), WEIR_E_INVALID);
    assert_int_equal(err.code, WEIR_E_INVALID);
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 14);
    assert_string_equal(err.text, "queue 'a' is unknown");
    assert_string_equal(err.field, "spec.queue");
    assert_string_equal(err.hint, "did you mean 'b'?");
}

static void a_new_error_leaves_nothing_of_the_old(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_error(&err, WEIR_E_INVALID, "first");
    weir_error_at(&err, 1, 2);
    weir_error_field(&err, "f");
    weir_error_hint(&err, "h");
    assert_int_equal(weir_error(&err, WEIR_E_IO, "second"), WEIR_E_IO);
    assert_int_equal(err.line + err.column, 0);
    assert_string_equal(err.field, "");
    assert_string_equal(err.hint, "");
    assert_string_equal(err.text, "second");
}

static void wrapping_keeps_place_hint_and_field(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_error_wrap(&err, "nothing"), WEIR_E_IO);
    weir_error(&err, WEIR_E_NOT_FOUND, "no such file");
    weir_error_at(&err, 1, 2);
    weir_error_field(&err, "f");
    weir_error_hint(&err, "h");
    assert_int_equal(weir_error_wrap(&err, "read '%s'", "x"), WEIR_E_NOT_FOUND);
    assert_int_equal(weir_error_wrap(&err, "start"), WEIR_E_NOT_FOUND);
    assert_string_equal(err.text, "start: read 'x': no such file");
    assert_string_equal(err.hint, "h");
    assert_string_equal(err.field, "f");
    assert_int_equal(err.line, 1);
    assert_int_equal(err.column, 2);
}

/* A caller that gives no error object still gets the right code from every way to return one. */
static void without_an_object_the_code_is_kept(void **state)
{
    (void)state;
    assert_int_equal(weir_error(NULL, WEIR_E_NOT_FOUND, "x"), WEIR_E_NOT_FOUND);
    assert_int_equal(weir_error_hint(NULL, "h"), WEIR_E_NOT_FOUND);
    assert_int_equal(weir_error_at(NULL, 1, 2), WEIR_E_NOT_FOUND);
    assert_int_equal(weir_error_field(NULL, "f"), WEIR_E_NOT_FOUND);
    assert_int_equal(weir_error_wrap(NULL, "w"), WEIR_E_NOT_FOUND);
    assert_int_equal(weir_error_errno(NULL, ENOSPC, "x"), WEIR_E_NO_SPACE);
    assert_int_equal(weir_error_wrap(NULL, "w"), WEIR_E_NO_SPACE);
    assert_int_equal(weir_error_code(NULL), WEIR_E_NO_SPACE);
}

static void passes_on_what_was_made_elsewhere(void **state)
{
    struct weir_err why = WEIR_ERR_INIT;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_error_code(&err), WEIR_E_IO);
    weir_error(&why, WEIR_E_DENIED, "not yours");
    weir_error_at(&why, 3, 4);
    weir_error(&err, WEIR_E_IO, "something else");
    assert_int_equal(weir_error_pass(&err, &why), WEIR_E_DENIED);
    assert_memory_equal(&err, &why, sizeof(err));
    assert_int_equal(weir_error_code(&err), WEIR_E_DENIED);
    weir_error(NULL, WEIR_E_IO, "x");
    assert_int_equal(weir_error_pass(NULL, &why), WEIR_E_DENIED);
    assert_int_equal(weir_error_code(NULL), WEIR_E_DENIED);
}

static void maps_errno(void **state)
{
    static const struct {
        int errnum;
        int code;
    } cases[] = {
        {ENOSPC, WEIR_E_NO_SPACE},
        {EDQUOT, WEIR_E_NO_SPACE},
        {ENOENT, WEIR_E_NOT_FOUND},
        {EACCES, WEIR_E_DENIED},
        {EPERM, WEIR_E_DENIED},
        {EROFS, WEIR_E_DENIED},
        {EEXIST, WEIR_E_EXISTS},
        {ENOMEM, WEIR_E_NO_MEMORY},
        {ETIMEDOUT, WEIR_E_TIMEOUT},
        {ECONNREFUSED, WEIR_E_UNAVAILABLE},
        {ECONNRESET, WEIR_E_UNAVAILABLE},
        {EPIPE, WEIR_E_UNAVAILABLE},
        {EIO, WEIR_E_IO},
        {EINVAL, WEIR_E_IO},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        char wanted[100];

        assert_int_equal(weir_error_errno(&err, cases[i].errnum, "open '%s'", "x"), cases[i].code);
        snprintf(wanted, sizeof(wanted), "open 'x': %s", strerror(cases[i].errnum));
        assert_string_equal(err.text, wanted);
    }
}

/* Text of any length and character width, through each function that writes one. */
static void long_text_is_cut_between_characters(void **state)
{
    static const char *const characters[] = {"x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x9f"};
    char text[2 * WEIR_ERR_TEXT_MAX];

    (void)state;
    for (size_t width = 1; width <= 4; width++)
        for (size_t shift = 0; shift < 4; shift++) {
            struct weir_err err = WEIR_ERR_INIT;
            size_t len = shift;

            memset(text, 'a', shift);
            for (; len + width < sizeof(text); len += width)
                memcpy(text + len, characters[width - 1], width);
            text[len] = '\0';
            weir_error(&err, WEIR_E_INVALID, "%s", text);
            weir_error_hint(&err, "%s", text);
            weir_error_field(&err, "%s", text);
            assert_memory_equal(err.text, text, strlen(err.text));
            assert_true(weir_str_is_utf8(weir_str(err.text)));
            assert_true(weir_str_is_utf8(weir_str(err.hint)));
            assert_true(weir_str_is_utf8(weir_str(err.field)));
            /* As much as fits: what is missing is less than a character. */
            assert_in_range(strlen(err.text), WEIR_ERR_TEXT_MAX - width, WEIR_ERR_TEXT_MAX - 1);
            assert_in_range(strlen(err.hint), WEIR_ERR_HINT_MAX - width, WEIR_ERR_HINT_MAX - 1);
            assert_in_range(strlen(err.field), WEIR_ERR_FIELD_MAX - width, WEIR_ERR_FIELD_MAX - 1);
            weir_error_wrap(&err, "%s", "b");
            assert_true(weir_str_is_utf8(weir_str(err.text)));
            assert_in_range(strlen(err.text), WEIR_ERR_TEXT_MAX - width, WEIR_ERR_TEXT_MAX - 1);
            weir_error_wrap(&err, "%s", text);
            assert_true(weir_str_is_utf8(weir_str(err.text)));
            weir_error_errno(&err, ENOENT, "%s", text);
            assert_true(weir_str_is_utf8(weir_str(err.text)));
        }
}

/* An exact fit is not cut. */
static void text_that_just_fits_is_whole(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    char text[WEIR_ERR_TEXT_MAX];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    weir_error(&err, WEIR_E_INVALID, "%s", text);
    assert_string_equal(err.text, text);
    memcpy(text + sizeof(text) - 3, "\xc3\xa4", 2);
    weir_error(&err, WEIR_E_INVALID, "%s", text);
    assert_string_equal(err.text, text);
}

static void arguments_may_point_into_the_error(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_error(&err, WEIR_E_INVALID, "inner");
    weir_error_hint(&err, "try again");
    weir_error(&err, WEIR_E_IO, "outer says %s (%s)", err.text, err.hint);
    assert_string_equal(err.text, "outer says inner (try again)");
    weir_error_wrap(&err, "%s", err.text);
    assert_string_equal(err.text, "outer says inner (try again): outer says inner (try again)");
}

static void text_that_is_no_utf8_is_bounded(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    char text[2 * WEIR_ERR_TEXT_MAX];

    (void)state;
    memset(text, 0x80, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    weir_error(&err, WEIR_E_INVALID, "%s", text);
    assert_int_equal(strlen(err.text), WEIR_ERR_TEXT_MAX - 1);
}

static void a_message_is_one_line(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_error(&err, WEIR_E_INVALID, "'%s' is bad", "a\nb\r\t\x1b[31m\x7f\xc3\xa4");
    assert_string_equal(err.text, "'a?b???[31m?\xc3\xa4' is bad");
    weir_error_hint(&err, "a\nb");
    weir_error_field(&err, "a\nb");
    weir_error_wrap(&err, "c\nd");
    assert_string_equal(err.hint, "a?b");
    assert_string_equal(err.field, "a?b");
    assert_string_equal(err.text, "c?d: 'a?b???[31m?\xc3\xa4' is bad");
}

static void a_message_controls_no_terminal(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_error(&err, WEIR_E_INVALID, "cannot run '%s'",
               "\xc2\x9b"
               "31m\xc2\x80\xc2\x9f\xc2\xa0\xc3\x9b");
    assert_string_equal(err.text, "cannot run '?31m??\xc2\xa0\xc3\x9b'");
}

static void codes_have_names(void **state)
{
    (void)state;
    for (int code = 0; code >= WEIR_E_UNAUTHENTICATED; code--) {
        assert_string_not_equal(weir_code_name(code), "unknown");
        assert_int_equal(weir_code_from_name(weir_code_name(code)), code);
    }
    assert_string_equal(weir_code_name(WEIR_E_NOT_FOUND), "not-found");
    assert_string_equal(weir_code_name(1), "unknown");
    assert_string_equal(weir_code_name(WEIR_E_UNAUTHENTICATED - 1), "unknown");
    assert_int_equal(weir_code_from_name("unknown"), 0);
    assert_int_equal(weir_code_from_name(""), 0);
}

static void fail_an_assertion(void *arg)
{
    WEIR_ASSERT(arg != NULL);
}

static void assertions_end_the_process(void **state)
{
    (void)state;
    assert_true(dies(fail_an_assertion, NULL));
    assert_false(dies(fail_an_assertion, state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_an_error_in_one_expression),
        cmocka_unit_test(a_new_error_leaves_nothing_of_the_old),
        cmocka_unit_test(wrapping_keeps_place_hint_and_field),
        cmocka_unit_test(without_an_object_the_code_is_kept),
        cmocka_unit_test(passes_on_what_was_made_elsewhere),
        cmocka_unit_test(maps_errno),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(text_that_just_fits_is_whole),
        cmocka_unit_test(arguments_may_point_into_the_error),
        cmocka_unit_test(text_that_is_no_utf8_is_bounded),
        cmocka_unit_test(a_message_is_one_line),
        cmocka_unit_test(a_message_controls_no_terminal),
        cmocka_unit_test(codes_have_names),
        cmocka_unit_test(assertions_end_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "../support.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/attach_output.h"

static struct weir_buf written[3];

static int keep(void *ctx, int fd, struct weir_str data, struct weir_err *err)
{
    (void)ctx;
    (void)err;
    return weir_buf_str(&written[fd], data);
}

static void start(struct weir_attach_output *output, bool label)
{
    for (int fd = 1; fd < 3; fd++) {
        weir_buf_finish(&written[fd]);
        weir_buf_init(&written[fd], 1 << 24);
    }
    weir_attach_output_init(output, label, keep, NULL);
}

static void put(struct weir_attach_output *output, uint32_t member, unsigned stream,
                const char *text)
{
    assert_int_equal(weir_attach_output_put(output, member, stream, weir_str(text), NULL), 0);
}

static void streams_stay_apart(void **state)
{
    struct weir_attach_output output;
    (void)state;

    start(&output, false);
    put(&output, 0, 0, "out");
    put(&output, 0, 1, "err");
    put(&output, 5, 0, "five");
    assert_string_equal(weir_buf_cstr(&written[1]), "outfive");
    assert_string_equal(weir_buf_cstr(&written[2]), "err");
    assert_int_equal(output.members.items[5].streams[0].printed, 4);
    weir_attach_output_finish(&output);
}

static void what_comes_again_is_passed_over(void **state)
{
    static const char text[] = "0123456789";
    (void)state;

    for (size_t first = 0; first <= 10; first++) {
        for (size_t step = 1; step <= 10; step++) {
            struct weir_attach_output output;

            start(&output, false);
            assert_int_equal(weir_attach_output_put(&output, 0, 0, weir_str_n(text, first), NULL),
                             0);
            weir_attach_output_reconnected(&output, true);
            for (size_t at = 0; at < 10; at += step)
                assert_int_equal(weir_attach_output_put(
                                     &output, 0, 0, weir_str_sub(weir_str(text), at, step), NULL),
                                 0);
            assert_string_equal(weir_buf_cstr(&written[1]), text);
            weir_attach_output_finish(&output);
        }
    }
}

static void the_server_may_go_on_where_we_are(void **state)
{
    struct weir_attach_output output;
    (void)state;

    start(&output, false);
    put(&output, 0, 0, "012");
    weir_attach_output_reconnected(&output, false);
    put(&output, 0, 0, "345");
    assert_string_equal(weir_buf_cstr(&written[1]), "012345");
    weir_attach_output_finish(&output);
}

static void attempts_start_over(void **state)
{
    struct weir_attach_output output;
    (void)state;

    start(&output, false);
    assert_int_equal(weir_attach_output_attempt(&output, 0, 1, NULL), 0);
    put(&output, 0, 0, "first ");
    assert_int_equal(weir_attach_output_attempt(&output, 0, 1, NULL), 0);
    put(&output, 0, 0, "still ");
    assert_int_equal(weir_attach_output_attempt(&output, 0, 2, NULL), 0);
    put(&output, 0, 0, "second");
    assert_string_equal(weir_buf_cstr(&written[1]), "first still second");
    assert_int_equal(output.members.items[0].streams[0].printed, 6);
    weir_attach_output_finish(&output);
}

static void gaps_are_counted(void **state)
{
    struct weir_attach_output output;
    uint64_t lost = 99;
    (void)state;

    start(&output, false);
    put(&output, 0, 0, "0123");
    assert_int_equal(weir_attach_output_gap(&output, 0, 0, 10, &lost, NULL), 0);
    assert_int_equal(lost, 6);
    put(&output, 0, 0, "abc");
    weir_attach_output_reconnected(&output, true);
    /* The same gap again, and less of the output. */
    assert_int_equal(weir_attach_output_gap(&output, 0, 0, 11, &lost, NULL), 0);
    assert_int_equal(lost, 0);
    put(&output, 0, 0, "bcde");
    assert_string_equal(weir_buf_cstr(&written[1]), "0123abcde");
    weir_attach_output_finish(&output);
}

static void lines_are_labelled_whole(void **state)
{
    struct weir_attach_output output;
    (void)state;

    start(&output, true);
    put(&output, 0, 0, "a");
    put(&output, 12, 0, "x\ny\nz");
    put(&output, 0, 0, "b\n\n");
    put(&output, 0, 1, "e");
    assert_int_equal(weir_attach_output_attempt(&output, 12, 1, NULL), 0);
    assert_int_equal(weir_attach_output_attempt(&output, 12, 2, NULL), 0);
    put(&output, 12, 0, "again");
    assert_int_equal(weir_attach_output_flush(&output, NULL), 0);
    assert_string_equal(weir_buf_cstr(&written[1]),
                        "[12] x\n[12] y\n[0] ab\n[0] \n[12] z\n[12] again\n");
    assert_string_equal(weir_buf_cstr(&written[2]), "[0] e\n");
    weir_attach_output_finish(&output);
}

static void a_line_without_end_is_printed_in_pieces(void **state)
{
    struct weir_attach_output output;
    char *text = malloc(200001);
    size_t n = 0;
    (void)state;

    memset(text, 'x', 200000);
    text[200000] = '\0';
    start(&output, true);
    put(&output, 3, 0, text);
    assert_int_equal(weir_attach_output_flush(&output, NULL), 0);
    for (size_t i = 0; i < written[1].len; i++)
        n += written[1].data[i] == 'x';
    assert_int_equal(n, 200000);
    assert_int_equal(output.members.items[3].streams[0].printed, 200000);
    weir_attach_output_finish(&output);
    free(text);
}

static void absurd_members_and_short_memory(void **state)
{
    struct weir_attach_output output;
    struct weir_err err = WEIR_ERR_INIT;
    (void)state;

    start(&output, true);
    assert_int_equal(weir_attach_output_put(&output, UINT32_MAX, 0, WEIR_STR("x"), &err),
                     WEIR_E_NO_MEMORY);
    for (uint64_t after = 0; after < 3; after++) {
        weir_mem_fail(after, 1);
        assert_int_equal(weir_attach_output_put(&output, 7, 0, WEIR_STR("x\n"), &err),
                         WEIR_E_NO_MEMORY);
        weir_mem_fail(0, 0);
        weir_attach_output_finish(&output);
        start(&output, true);
    }
    weir_attach_output_finish(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_stay_apart),
        cmocka_unit_test(what_comes_again_is_passed_over),
        cmocka_unit_test(the_server_may_go_on_where_we_are),
        cmocka_unit_test(attempts_start_over),
        cmocka_unit_test(gaps_are_counted),
        cmocka_unit_test(lines_are_labelled_whole),
        cmocka_unit_test(a_line_without_end_is_printed_in_pieces),
        cmocka_unit_test(absurd_members_and_short_memory),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    weir_buf_finish(&written[1]);
    weir_buf_finish(&written[2]);
    return failed;
}

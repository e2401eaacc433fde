#include "../support.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

static void is_empty_and_terminated_from_the_start(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(10);

    (void)state;
    assert_string_equal(weir_buf_cstr(&buf), "");
    assert_int_equal(weir_buf_view(&buf).len, 0);
    assert_int_equal(weir_buf_append(&buf, NULL, 0), 0);
    assert_string_equal(weir_buf_cstr(&buf), "");
    weir_buf_consume(&buf, 0);
    weir_buf_truncate(&buf, 0);
    weir_buf_finish(&buf);
    weir_buf_finish(&buf);
    weir_buf_finish(NULL);
    assert_int_equal(buf.max, 10);
}

static void holds_its_maximum_and_not_a_byte_more(void **state)
{
    (void)state;
    for (size_t max = 0; max < 300; max++) {
        struct weir_buf buf = WEIR_BUF_INIT(max);

        for (size_t i = 0; i < max; i++)
            assert_int_equal(weir_buf_putc(&buf, 'x'), 0);
        assert_int_equal(buf.len, max);
        assert_int_equal(weir_buf_append(&buf, NULL, 0), 0);
        assert_int_equal(weir_buf_putc(&buf, 'y'), WEIR_E_TOO_LARGE);
        assert_int_equal(buf.len, max);
        assert_true(buf.cap <= max + 1);
        weir_buf_finish(&buf);
    }
}

static void first_failure_sticks_until_reset(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(4);
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_buf_puts(&buf, "abc"), 0);
    assert_int_equal(weir_buf_check(&buf, "the answer", &err), 0);
    assert_int_equal(weir_buf_puts(&buf, "de"), WEIR_E_TOO_LARGE);
    assert_int_equal(weir_buf_puts(&buf, "d"), WEIR_E_TOO_LARGE);
    assert_int_equal(weir_buf_append(&buf, NULL, 0), WEIR_E_TOO_LARGE);
    assert_int_equal(weir_buf_printf(&buf, "%d", 1), WEIR_E_TOO_LARGE);
    assert_int_equal(weir_buf_u64(&buf, 1), WEIR_E_TOO_LARGE);
    assert_null(weir_buf_reserve(&buf, 1));
    assert_string_equal(weir_buf_cstr(&buf), "abc");
    assert_int_equal(weir_buf_check(&buf, "the answer", &err), WEIR_E_TOO_LARGE);
    assert_string_equal(err.text, "the answer is larger than 4 bytes");
    weir_buf_reset(&buf);
    assert_string_equal(weir_buf_cstr(&buf), "");
    assert_int_equal(weir_buf_puts(&buf, "abcd"), 0);
    weir_buf_finish(&buf);
}

static void a_maximum_of_everything_does_not_wrap(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(SIZE_MAX);

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(weir_buf_puts(&buf, "0123456789"), 0);
    assert_int_equal(buf.len, 10000);
    assert_true(buf.cap > buf.len);
    assert_null(weir_buf_reserve(&buf, SIZE_MAX - buf.len));
    assert_int_equal(buf.failed, WEIR_E_TOO_LARGE);
    weir_buf_reset(&buf);
    assert_null(weir_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(buf.failed, WEIR_E_TOO_LARGE);
    weir_buf_finish(&buf);
}

static void no_memory_is_told(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(1000);
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_mem_fail(0, 1);
    assert_int_equal(weir_buf_puts(&buf, "x"), WEIR_E_NO_MEMORY);
    weir_mem_fail(0, 0);
    assert_int_equal(weir_buf_puts(&buf, "x"), WEIR_E_NO_MEMORY);
    assert_int_equal(weir_buf_check(&buf, "the page", &err), WEIR_E_NO_MEMORY);
    assert_string_equal(err.text, "no memory for the page");
    assert_string_equal(weir_buf_cstr(&buf), "");
    weir_buf_finish(&buf);
}

static void writes_numbers(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(1000);

    (void)state;
    weir_buf_u64(&buf, 0);
    weir_buf_putc(&buf, ' ');
    weir_buf_u64(&buf, UINT64_MAX);
    weir_buf_putc(&buf, ' ');
    weir_buf_i64(&buf, INT64_MIN);
    weir_buf_putc(&buf, ' ');
    weir_buf_i64(&buf, INT64_MAX);
    weir_buf_putc(&buf, ' ');
    weir_buf_i64(&buf, -1);
    assert_string_equal(weir_buf_cstr(&buf),
                        "0 18446744073709551615 -9223372036854775808 9223372036854775807 -1");
    weir_buf_finish(&buf);
}

static void formats_at_the_edge_of_its_room(void **state)
{
    (void)state;
    for (size_t n = 0; n < 200; n++) {
        struct weir_buf buf = WEIR_BUF_INIT(100);
        int result;

        weir_buf_puts(&buf, "ab");
        result = weir_buf_printf(&buf, "%*s", (int)n, "");
        assert_int_equal(result, n <= 98 ? 0 : WEIR_E_TOO_LARGE);
        assert_int_equal(buf.len, n <= 98 ? n + 2 : 2);
        assert_int_equal(weir_buf_cstr(&buf)[buf.len], '\0');
        weir_buf_finish(&buf);
    }
}

/* A format that libc refuses must not pass as an empty success. */
static void a_format_that_cannot_be_written_fails(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(100);

    (void)state;
    assert_int_equal(weir_buf_printf(&buf, "%ls", L"\x20ac"), WEIR_E_TOO_LARGE);
    assert_string_equal(weir_buf_cstr(&buf), "");
    weir_buf_finish(&buf);
}

static void reserve_and_commit(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(100);
    char *room = weir_buf_reserve(&buf, 10);

    (void)state;
    memcpy(room, "0123456789", 10);
    assert_int_equal(weir_buf_view(&buf).len, 0); /* nothing there until it is committed */
    weir_buf_commit(&buf, 4);
    assert_string_equal(weir_buf_cstr(&buf), "0123");
    weir_buf_consume(&buf, 3);
    assert_string_equal(weir_buf_cstr(&buf), "3");
    weir_buf_truncate(&buf, 7);
    assert_string_equal(weir_buf_cstr(&buf), "3");
    weir_buf_consume(&buf, 1);
    assert_string_equal(weir_buf_cstr(&buf), "");
    weir_buf_finish(&buf);
}

static void commit_too_much(void *buf)
{
    weir_buf_commit(buf, ((struct weir_buf *)buf)->cap);
}

static void consume_too_much(void *buf)
{
    weir_buf_consume(buf, ((struct weir_buf *)buf)->len + 1);
}

static void misuse_ends_the_process(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(100);

    (void)state;
    weir_buf_puts(&buf, "abc");
    assert_true(dies(commit_too_much, &buf));
    assert_true(dies(consume_too_much, &buf));
    weir_buf_finish(&buf);
}

/* A queue of bytes, against a plain array. */
static void behaves_like_an_array(void **state)
{
    enum { MAX = 700 };
    struct weir_rng rng = random_numbers();
    struct weir_buf buf = WEIR_BUF_INIT(MAX);
    unsigned char model[MAX];
    size_t n = 0;

    (void)state;
    for (int step = 0; step < 50000; step++) {
        size_t len = weir_rng_below(&rng, 100);
        unsigned char bytes[100];

        switch (weir_rng_below(&rng, 4)) {
        case 0:
        case 1:
            for (size_t i = 0; i < len; i++)
                bytes[i] = (unsigned char)weir_rng_next(&rng);
            if (weir_buf_append(&buf, bytes, len) == 0) {
                memcpy(model + n, bytes, len);
                n += len;
            } else {
                assert_true(n + len > MAX);
                weir_buf_reset(&buf);
                n = 0;
            }
            break;
        case 2:
            len = len < n ? len : n;
            weir_buf_consume(&buf, len);
            memmove(model, model + len, n - len);
            n -= len;
            break;
        default:
            weir_buf_truncate(&buf, len * 5);
            n = len * 5 < n ? len * 5 : n;
        }
        assert_int_equal(buf.len, n);
        assert_memory_equal(weir_buf_cstr(&buf), model, n);
        assert_int_equal(weir_buf_cstr(&buf)[n], '\0');
    }
    weir_buf_finish(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_empty_and_terminated_from_the_start),
        cmocka_unit_test(holds_its_maximum_and_not_a_byte_more),
        cmocka_unit_test(first_failure_sticks_until_reset),
        cmocka_unit_test(a_maximum_of_everything_does_not_wrap),
        cmocka_unit_test(no_memory_is_told),
        cmocka_unit_test(writes_numbers),
        cmocka_unit_test(formats_at_the_edge_of_its_room),
        cmocka_unit_test(a_format_that_cannot_be_written_fails),
        cmocka_unit_test(reserve_and_commit),
        cmocka_unit_test(misuse_ends_the_process),
        cmocka_unit_test(behaves_like_an_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

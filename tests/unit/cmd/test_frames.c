#include "../support.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/frames.h"

static void put_frame(struct weir_buf *out, unsigned kind, uint32_t member, struct weir_str data)
{
    unsigned char head[12] = {(unsigned char)kind, 0, 0, 0};

    for (int i = 0; i < 4; i++) {
        head[4 + i] = (unsigned char)(member >> (24 - 8 * i));
        head[8 + i] = (unsigned char)(data.len >> (24 - 8 * i));
    }
    weir_buf_append(out, head, sizeof(head));
    weir_buf_str(out, data);
}

/* What came out, with the pieces of output put together again. */
static int transcribe(struct weir_frames *frames, struct weir_str input, struct weir_buf *out)
{
    struct weir_frame_piece frame;
    int result;

    while ((result = weir_frames_next(frames, &input, &frame, NULL)) > 0) {
        char head[32];
        int n = snprintf(head, sizeof(head), "<%u.%u:", frame.kind, frame.member);

        /* A piece that goes on the last one continues its text. */
        if (frame.kind > 2 || out->len == 0 || strstr(weir_buf_cstr(out), head) == NULL)
            weir_buf_append(out, head, (size_t)n);
        weir_buf_str(out, frame.data);
    }
    return result;
}

static void any_cut_gives_the_same(void **state)
{
    weir_cleanup_buf struct weir_buf stream = WEIR_BUF_INIT(1 << 16);
    static const char wanted[] = "<1.0:hello\n<3.0:{\"a\":1}<2.7:err<6.0:<4.1:end";
    (void)state;

    put_frame(&stream, 1, 0, WEIR_STR("hello\n"));
    put_frame(&stream, 3, 0, WEIR_STR("{\"a\":1}"));
    put_frame(&stream, 99, 4, WEIR_STR("what a later weir may send"));
    put_frame(&stream, 2, 7, WEIR_STR("err"));
    put_frame(&stream, 2, 7, WEIR_STR(""));
    put_frame(&stream, 6, 0, WEIR_STR(""));
    put_frame(&stream, 4, 1, WEIR_STR("end"));
    for (size_t step = 1; step <= stream.len; step++) {
        weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 16);
        struct weir_frames frames;

        weir_frames_init(&frames);
        for (size_t at = 0; at < stream.len; at += step)
            assert_int_equal(
                transcribe(&frames, weir_str_sub(weir_buf_view(&stream), at, step), &out), 0);
        assert_string_equal(weir_buf_cstr(&out), wanted);
        weir_frames_finish(&frames);
    }
}

static void another_stream_begins_anew(void **state)
{
    weir_cleanup_buf struct weir_buf stream = WEIR_BUF_INIT(1 << 16);
    (void)state;

    put_frame(&stream, 3, 0, WEIR_STR("state"));
    for (size_t cut = 1; cut < stream.len; cut++) {
        weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 16);
        struct weir_frames frames;

        weir_frames_init(&frames);
        assert_int_equal(transcribe(&frames, weir_str_sub(weir_buf_view(&stream), 0, cut), &out),
                         0);
        weir_frames_reset(&frames);
        assert_int_equal(transcribe(&frames, weir_buf_view(&stream), &out), 0);
        assert_string_equal(weir_buf_cstr(&out), "<3.0:state");
        weir_frames_finish(&frames);
    }
}

static void nonsense_is_refused(void **state)
{
    static const struct weir_str streams[] = {
        {"\0\0\0\0\0\0\0\0\0\0\0\0", 12},
        {"\1\1\0\0\0\0\0\0\0\0\0\0", 12},
        {"HTTP/1.1 200", 12},
        {"\3\0\0\0\0\0\0\0\xff\xff\xff\xff", 12},
    };
    (void)state;

    for (size_t i = 0; i < WEIR_COUNT_OF(streams); i++) {
        struct weir_str input = streams[i];
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_frames frames;
        struct weir_frame_piece frame;

        weir_frames_init(&frames);
        assert_int_equal(weir_frames_next(&frames, &input, &frame, &err), WEIR_E_INVALID);
        assert_true(err.text[0] != '\0');
        weir_frames_finish(&frames);
    }
}

static void memory_may_be_short(void **state)
{
    weir_cleanup_buf struct weir_buf stream = WEIR_BUF_INIT(1 << 16);
    struct weir_frames frames;
    struct weir_frame_piece frame;
    struct weir_str input;
    (void)state;

    put_frame(&stream, 3, 0, WEIR_STR("state"));
    input = weir_buf_view(&stream);
    weir_frames_init(&frames);
    weir_mem_fail(0, 1);
    assert_int_equal(weir_frames_next(&frames, &input, &frame, NULL), WEIR_E_NO_MEMORY);
    weir_mem_fail(0, 0);
    weir_frames_finish(&frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(another_stream_begins_anew),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

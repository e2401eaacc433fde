#include "cmd/frames.h"

#include "base/err.h"

#include <string.h>

void weir_frames_init(struct weir_frames *frames)
{
    memset(frames, 0, sizeof(*frames));
    weir_buf_init(&frames->held, WEIR_FRAME_JSON_MAX);
}

void weir_frames_finish(struct weir_frames *frames)
{
    weir_buf_finish(&frames->held);
}

void weir_frames_reset(struct weir_frames *frames)
{
    frames->n_head = 0;
    frames->left = 0;
    weir_buf_reset(&frames->held);
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static struct weir_str take(struct weir_str *input, size_t n)
{
    struct weir_str taken = weir_str_sub(*input, 0, n);

    *input = weir_str_sub(*input, taken.len, input->len);
    return taken;
}

static int read_head(struct weir_frames *frames, struct weir_str *input, struct weir_err *err)
{
    struct weir_str taken = take(input, WEIR_FRAME_HEAD_BYTES - frames->n_head);

    if (taken.len > 0)
        memcpy(frames->head + frames->n_head, taken.ptr, taken.len);
    frames->n_head += taken.len;
    if (frames->n_head < WEIR_FRAME_HEAD_BYTES)
        return 0;
    frames->left = big_endian(frames->head + 8);
    if (frames->head[0] == 0 || frames->head[1] != 0 || frames->head[2] != 0 ||
        frames->head[3] != 0)
        return weir_error(err, WEIR_E_INVALID, "weir sends what is no frame of a job's output");
    if (frames->head[0] > WEIR_FRAME_STDERR && frames->left > WEIR_FRAME_JSON_MAX)
        return weir_error(err, WEIR_E_INVALID, "weir sends a frame of %u bytes", frames->left);
    return 1;
}

/* 1: the frame is whole, or a piece of it is worth handing on. */
static int read_content(struct weir_frames *frames, struct weir_str *input,
                        struct weir_frame_piece *ret_frame, struct weir_err *err)
{
    struct weir_str taken = take(input, frames->left);
    bool is_output = frames->head[0] <= WEIR_FRAME_STDERR;

    frames->left -= (uint32_t)taken.len;
    if (frames->left == 0)
        frames->n_head = 0;
    *ret_frame = (struct weir_frame_piece){frames->head[0], big_endian(frames->head + 4), taken};
    if (is_output)
        return taken.len > 0 ? 1 : 0;
    weir_buf_str(&frames->held, taken);
    if (weir_buf_check(&frames->held, "a frame", err) < 0)
        return frames->held.failed;
    ret_frame->data = weir_buf_view(&frames->held);
    return frames->left == 0 ? 1 : 0;
}

int weir_frames_next(struct weir_frames *frames, struct weir_str *input,
                     struct weir_frame_piece *ret_frame, struct weir_err *err)
{
    for (;;) {
        struct weir_frame_piece frame;
        int result = 1;

        if (frames->n_head < WEIR_FRAME_HEAD_BYTES) {
            weir_buf_reset(&frames->held);
            result = read_head(frames, input, err);
        }
        if (result <= 0)
            return result;
        result = read_content(frames, input, &frame, err);
        if (result < 0)
            return result;
        if (result > 0 && frame.kind <= WEIR_FRAME_GAP) {
            *ret_frame = frame;
            return 1;
        }
        if (input->len == 0)
            return 0;
    }
}

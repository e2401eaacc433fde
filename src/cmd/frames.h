/* cmd/frames.h — the frames of GET /v1/workloads/ID/attach (docs/api.md), out of a stream that may
 * be cut anywhere. */
#ifndef WEIR_CMD_FRAMES_H
#define WEIR_CMD_FRAMES_H

#include "base/buf.h"
#include "base/str.h"
#include "edge/api/attach.h"

#include <stddef.h>
#include <stdint.h>

struct weir_err;

enum { WEIR_FRAME_JSON_MAX = 16 * 1024 * 1024 };

struct weir_frames {
    unsigned char head[WEIR_FRAME_HEAD_BYTES];
    size_t n_head; /* bytes of it that are in */
    uint32_t left; /* of the frame's content */
    struct weir_buf held;
};

struct weir_frame_piece {
    uint8_t kind;
    uint32_t member;
    struct weir_str data; /* valid until the next call */
};

void weir_frames_init(struct weir_frames *frames);
void weir_frames_finish(struct weir_frames *frames);
/* Forgets what was cut off: another stream begins. */
void weir_frames_reset(struct weir_frames *frames);
/* Takes bytes off the front of input. 1: a frame, or for stdout and stderr as much of it as is
 * there; kinds that are not known are passed over. 0: input is used up. WEIR_E_INVALID: no such
 * stream. */
int weir_frames_next(struct weir_frames *frames, struct weir_str *input,
                     struct weir_frame_piece *ret_frame, struct weir_err *err);

#endif

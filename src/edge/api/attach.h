/* edge/api/attach.h — the frames of /v1/workloads/{id}/attach, for those who write and read them.
 *
 * 1 byte kind, 3 bytes zero, 4 bytes member, 4 bytes length (big-endian), then the bytes. */
#ifndef WEIR_EDGE_API_ATTACH_H
#define WEIR_EDGE_API_ATTACH_H

enum { WEIR_FRAME_HEAD_BYTES = 12 };

#define WEIR_FRAME_TYPE "application/vnd.weir.frames"

enum weir_frame {
    WEIR_FRAME_STDOUT = 1,
    WEIR_FRAME_STDERR = 2,
    WEIR_FRAME_STATE = 3,   /* the workload as JSON */
    WEIR_FRAME_END = 4,     /* the same, as the last frame */
    WEIR_FRAME_ATTEMPT = 5, /* {"attempt": n}: output starts over at offset 0 */
    WEIR_FRAME_NOTHING = 6, /* keeps the connection alive */
    WEIR_FRAME_GAP = 7,     /* {"stream", "from", "to"}: output that was rotated away */
};

#endif

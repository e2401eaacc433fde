/* edge/local/sink.h — for the shim: one stream of the job, from its pipe into segments on disk
 * (output.h), within a cap, never blocking the job for want of space. */
#ifndef WEIR_EDGE_LOCAL_SINK_H
#define WEIR_EDGE_LOCAL_SINK_H

#include "edge/local/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR_SINK_SEGMENTS_MAX = 16 };

struct weir_sink_segment {
    uint64_t start;
    uint64_t n_bytes;
};

struct weir_sink {
    enum weir_output_stream stream;
    const char *output_dir; /* borrowed; below the current directory */
    int pipe_fd;            /* -1 once the job closed it */
    int segment_fd;         /* -1: none open */
    uint64_t cap_bytes;
    uint64_t offset;                                           /* bytes the job wrote */
    uint64_t dropped;                                          /* of those, lost to a full disk */
    struct weir_sink_segment segments[WEIR_SINK_SEGMENTS_MAX]; /* kept, oldest first */
    unsigned n_segments;
    int64_t retry_at_us; /* no new segment is tried before: the disk was full */
    bool is_rotated;
    bool is_pipe_grown;
};

void weir_sink_init(struct weir_sink *sink, enum weir_output_stream stream, const char *output_dir,
                    int64_t cap_bytes);
/* Keeps or drops n bytes. */
void weir_sink_write(struct weir_sink *sink, const char *data, size_t n);
/* Moves what the pipe holds, at most max_bytes; closes it at its end. True when there may be more
 * now. */
bool weir_sink_pump(struct weir_sink *sink, size_t max_bytes);
void weir_sink_close(struct weir_sink *sink);

#endif

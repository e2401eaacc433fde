/* edge/local/output.h — a job's output on disk, and how the server reads it.
 *
 * stdout and stderr are kept apart, in segments "out.OFFSET" and "err.OFFSET" (20 digits) of at
 * most a quarter of the cap. OFFSET counts every byte the job wrote to the stream: where the oldest
 * segments were deleted to keep the cap, or a full disk dropped bytes, the numbering has a gap. */
#ifndef WEIR_EDGE_LOCAL_OUTPUT_H
#define WEIR_EDGE_LOCAL_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct weir_err;

enum weir_output_stream { WEIR_OUTPUT_OUT, WEIR_OUTPUT_ERR, WEIR_OUTPUT_STREAM_MAX };

enum { WEIR_OUTPUT_NAME_MAX = 32 };

/* Below the data directory: "NUMBER.MEMBER.ATTEMPT" for each attempt that wrote something. */
#define WEIR_OUTPUT_FOLDER "out"

struct weir_output_chunk {
    uint64_t offset; /* of the first byte delivered: higher than asked for when bytes are missing */
    size_t n;        /* 0: nothing there yet */
    uint64_t first;  /* the lowest offset still kept; equal to offset when nothing is kept */
};

/* A segment's file name; writes at most WEIR_OUTPUT_NAME_MAX bytes. */
void weir_output_name(enum weir_output_stream stream, uint64_t offset, char *ret_name);

/* Reads on from offset: at most size bytes, from one segment. data_dir and output_dir as in the
 * launch request. A directory or stream that does not exist (yet) is empty, not an error. */
int weir_output_read(const char *data_dir, const char *output_dir, enum weir_output_stream stream,
                     uint64_t offset, void *buffer, size_t size,
                     struct weir_output_chunk *ret_chunk, struct weir_err *err);

/* Deletes the directory and the files in it; no such directory is fine. */
int weir_output_remove(const char *data_dir, const char *output_dir, struct weir_err *err);

/* The highest number of a workload whose output is there; 0: there is none. */
int weir_output_last_number(const char *data_dir, uint64_t *ret_number, struct weir_err *err);

#endif

#include "edge/local/sink.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 64 * 1024,
    PIPE_BYTES = 1024 * 1024,
    PATH_BYTES = 4096,
    RETRY_US = 250 * 1000,
};

void weir_sink_init(struct weir_sink *sink, enum weir_output_stream stream, const char *output_dir,
                    int64_t cap_bytes)
{
    *sink = (struct weir_sink){.stream = stream,
                               .output_dir = output_dir,
                               .pipe_fd = -1,
                               .segment_fd = -1,
                               .cap_bytes = (uint64_t)cap_bytes};
}

static uint64_t segment_bytes_max(const struct weir_sink *sink)
{
    return sink->cap_bytes / 4;
}

static void segment_path(const struct weir_sink *sink, uint64_t start, char path[PATH_BYTES])
{
    char name[WEIR_OUTPUT_NAME_MAX];

    weir_output_name(sink->stream, start, name);
    snprintf(path, PATH_BYTES, "%s/%s", sink->output_dir, name);
}

static void delete_oldest(struct weir_sink *sink)
{
    char path[PATH_BYTES];

    segment_path(sink, sink->segments[0].start, path);
    unlink(path);
    sink->n_segments--;
    for (unsigned i = 0; i < sink->n_segments; i++)
        sink->segments[i] = sink->segments[i + 1];
    sink->is_rotated = true;
}

/* Room for one more full segment under the cap. */
static void make_room(struct weir_sink *sink)
{
    uint64_t kept = 0;

    for (unsigned i = 0; i < sink->n_segments; i++)
        kept += sink->segments[i].n_bytes;
    while (sink->n_segments > 0 && (sink->n_segments == WEIR_SINK_SEGMENTS_MAX ||
                                    kept + segment_bytes_max(sink) > sink->cap_bytes)) {
        kept -= sink->segments[0].n_bytes;
        delete_oldest(sink);
    }
}

static void close_segment(struct weir_sink *sink)
{
    if (sink->segment_fd >= 0)
        close(sink->segment_fd);
    sink->segment_fd = -1;
}

/* Starts a segment at the present offset. */
static bool open_segment(struct weir_sink *sink)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    char path[PATH_BYTES];

    make_room(sink);
    segment_path(sink, sink->offset, path);
    sink->segment_fd = open(path, flags, 0600);
    if (sink->segment_fd < 0 && errno == ENOENT && mkdir(sink->output_dir, 0700) == 0)
        sink->segment_fd = open(path, flags, 0600);
    if (sink->segment_fd < 0)
        return false;
    sink->segments[sink->n_segments++] = (struct weir_sink_segment){sink->offset, 0};
    return true;
}

/* After a failed write: gives up the segment, and all output for a moment, so that a full disk does
 * not cost a system call for every line. */
static void give_up_segment(struct weir_sink *sink)
{
    char path[PATH_BYTES];

    close_segment(sink);
    sink->retry_at_us = weir_clock_mono_us() + RETRY_US;
    if (sink->n_segments == 0 || sink->segments[sink->n_segments - 1].n_bytes > 0)
        return;
    segment_path(sink, sink->segments[--sink->n_segments].start, path);
    unlink(path);
}

/* Writes into the open segment, or into a new one. How many bytes were kept; 0: none can be. */
static size_t write_some(struct weir_sink *sink, const char *data, size_t n)
{
    struct weir_sink_segment *segment;
    uint64_t room;
    ssize_t n_written;

    if (sink->segment_fd >= 0 &&
        sink->segments[sink->n_segments - 1].n_bytes == segment_bytes_max(sink))
        close_segment(sink);
    if (sink->segment_fd < 0 && !open_segment(sink))
        return 0;
    segment = &sink->segments[sink->n_segments - 1];
    room = segment_bytes_max(sink) - segment->n_bytes;
    do
        n_written =
            pwrite(sink->segment_fd, data, n < room ? n : (size_t)room, (off_t)segment->n_bytes);
    while (n_written < 0 && errno == EINTR);
    if (n_written <= 0)
        return 0;
    segment->n_bytes += (uint64_t)n_written;
    sink->offset += (uint64_t)n_written;
    return (size_t)n_written;
}

void weir_sink_write(struct weir_sink *sink, const char *data, size_t n)
{
    bool is_full = sink->retry_at_us > 0 && weir_clock_mono_us() < sink->retry_at_us;

    while (n > 0 && !is_full) {
        size_t n_kept = write_some(sink, data, n);

        data += n_kept;
        n -= n_kept;
        is_full = n_kept == 0;
        if (is_full)
            give_up_segment(sink);
        else
            sink->retry_at_us = 0;
    }
    /* The gap ends the segment: the next one starts at the offset where output goes on. */
    sink->dropped += n;
    sink->offset += n;
}

bool weir_sink_pump(struct weir_sink *sink, size_t max_bytes)
{
    static char buffer[BUFFER_BYTES];
    size_t n_moved = 0;

    while (sink->pipe_fd >= 0 && n_moved < max_bytes) {
        ssize_t n = read(sink->pipe_fd, buffer, sizeof(buffer));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0) {
            close(sink->pipe_fd);
            sink->pipe_fd = -1;
            return false;
        }
        /* A job that fills the pipe gets a larger one: fewer switches between it and us. */
        if (n == (ssize_t)sizeof(buffer) && !sink->is_pipe_grown) {
            sink->is_pipe_grown = true;
            fcntl(sink->pipe_fd, F_SETPIPE_SZ, PIPE_BYTES);
        }
        weir_sink_write(sink, buffer, (size_t)n);
        n_moved += (size_t)n;
        if (n < (ssize_t)sizeof(buffer))
            return false;
    }
    return sink->pipe_fd >= 0;
}

void weir_sink_close(struct weir_sink *sink)
{
    if (sink->pipe_fd >= 0)
        close(sink->pipe_fd);
    sink->pipe_fd = -1;
    close_segment(sink);
}

#include "edge/local/output.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "edge/local/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROTATED_TRIES_MAX = 8 };
#define NUMBER_MAX ((uint64_t)1 << 53)

static const char *const prefixes[WEIR_OUTPUT_STREAM_MAX] = {"out.", "err."};

void weir_output_name(enum weir_output_stream stream, uint64_t offset, char *ret_name)
{
    snprintf(ret_name, WEIR_OUTPUT_NAME_MAX, "%s%020" PRIu64, prefixes[stream], offset);
}

/* -1 with errno set. */
static int open_dir(const char *data_dir, const char *output_dir)
{
    weir_cleanup_fd int data_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (data_fd < 0)
        return -1;
    return openat(data_fd, output_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

struct segments {
    uint64_t first;   /* lowest start */
    uint64_t current; /* highest start <= offset */
    uint64_t next;    /* lowest start > offset */
    bool has_first;
    bool has_current;
    bool has_next;
};

static void add_segment(struct segments *found, uint64_t start, uint64_t offset)
{
    if (!found->has_first || start < found->first)
        found->first = start;
    found->has_first = true;
    if (start <= offset && (!found->has_current || start > found->current)) {
        found->current = start;
        found->has_current = true;
    }
    if (start > offset && (!found->has_next || start < found->next)) {
        found->next = start;
        found->has_next = true;
    }
}

static int find_segments(int dir_fd, enum weir_output_stream stream, uint64_t offset,
                         struct segments *ret_found, struct weir_err *err)
{
    DIR *dir = weir_dir_list(dir_fd);
    struct segments found = {0};
    struct dirent *entry;

    if (dir == NULL)
        return weir_error_errno(err, errno, "list output directory");
    while ((entry = readdir(dir)) != NULL) {
        struct weir_str name = weir_str(entry->d_name);
        uint64_t start;

        if (weir_str_starts_with(name, weir_str(prefixes[stream])) &&
            weir_str_to_u64(weir_str_sub(name, strlen(prefixes[stream]), name.len), &start))
            add_segment(&found, start, offset);
    }
    closedir(dir);
    *ret_found = found;
    return 0;
}

/* Bytes read at `at` of the segment that starts at `start`; 0 at its end. */
static int read_segment(int dir_fd, enum weir_output_stream stream, uint64_t start, uint64_t at,
                        void *buffer, size_t size, size_t *ret_n, struct weir_err *err)
{
    char name[WEIR_OUTPUT_NAME_MAX];
    ssize_t n;

    weir_output_name(stream, start, name);
    weir_cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return weir_error_errno(err, errno, "open output segment '%s'", name);
    do
        n = pread(fd, buffer, size, (off_t)(at - start));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return weir_error_errno(err, errno, "read output segment '%s'", name);
    *ret_n = (size_t)n;
    return 0;
}

static int read_at(int dir_fd, enum weir_output_stream stream, uint64_t offset, void *buffer,
                   size_t size, struct weir_output_chunk *ret_chunk, struct weir_err *err)
{
    struct weir_output_chunk chunk = {.offset = offset, .first = offset};
    struct segments found = {0};
    int code = find_segments(dir_fd, stream, offset, &found, err);

    if (code < 0)
        return code;
    if (found.has_first)
        chunk.first = found.first;
    if (found.has_current)
        code = read_segment(dir_fd, stream, found.current, offset, buffer, size, &chunk.n, err);
    /* A segment that has a successor is complete: what is missing there is lost. */
    if (code == 0 && chunk.n == 0 && found.has_next) {
        chunk.offset = found.next;
        code = read_segment(dir_fd, stream, found.next, found.next, buffer, size, &chunk.n, err);
    }
    if (code == 0)
        *ret_chunk = chunk;
    return code;
}

int weir_output_read(const char *data_dir, const char *output_dir, enum weir_output_stream stream,
                     uint64_t offset, void *buffer, size_t size,
                     struct weir_output_chunk *ret_chunk, struct weir_err *err)
{
    weir_cleanup_fd int dir_fd = open_dir(data_dir, output_dir);
    int code = WEIR_E_NOT_FOUND;

    if (dir_fd < 0 && errno == ENOENT) {
        *ret_chunk = (struct weir_output_chunk){.offset = offset, .first = offset};
        return 0;
    }
    if (dir_fd < 0)
        return weir_error_errno(err, errno, "open output directory '%s'", output_dir);
    /* The shim may delete the segment between listing and opening: then list again. */
    for (int i = 0; i < ROTATED_TRIES_MAX && code == WEIR_E_NOT_FOUND; i++)
        code = read_at(dir_fd, stream, offset, buffer, size, ret_chunk, err);
    if (code == WEIR_E_NOT_FOUND)
        return weir_error(err, WEIR_E_UNAVAILABLE, "output of '%s' rotates faster than it is read",
                          output_dir);
    if (code < 0)
        weir_error_wrap(err, "'%s'", output_dir);
    return code;
}

int weir_output_remove(const char *data_dir, const char *output_dir, struct weir_err *err)
{
    weir_cleanup_fd int data_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    weir_cleanup_fd int dir_fd = open_dir(data_dir, output_dir);
    DIR *dir;
    struct dirent *entry;

    if (dir_fd < 0 && errno == ENOENT)
        return 0;
    dir = data_fd < 0 || dir_fd < 0 ? NULL : weir_dir_list(dir_fd);
    if (dir == NULL)
        return weir_error_errno(err, errno, "open output directory '%s'", output_dir);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_type != DT_DIR)
            unlinkat(dir_fd, entry->d_name, 0);
    closedir(dir);
    if (unlinkat(data_fd, output_dir, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return weir_error_errno(err, errno, "remove output directory '%s'", output_dir);
    return 0;
}

int weir_output_last_number(const char *data_dir, uint64_t *ret_number, struct weir_err *err)
{
    weir_cleanup_fd int dir_fd = open_dir(data_dir, WEIR_OUTPUT_FOLDER);
    DIR *dir = dir_fd < 0 ? NULL : weir_dir_list(dir_fd);
    struct dirent *entry;
    uint64_t last = 0;

    if (dir == NULL && errno != ENOENT)
        return weir_error_errno(err, errno, "list '%s/" WEIR_OUTPUT_FOLDER "'", data_dir);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct weir_str name = weir_str(entry->d_name);
        ptrdiff_t dot = weir_str_find_char(name, '.');
        uint64_t number;

        /* A name that is none of ours must not use up the numbers. */
        if (dot > 0 && weir_str_to_u64(weir_str_sub(name, 0, (size_t)dot), &number) &&
            number > last && number <= NUMBER_MAX)
            last = number;
    }
    if (dir != NULL)
        closedir(dir);
    *ret_number = last;
    return 0;
}

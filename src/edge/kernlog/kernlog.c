#include "edge/kernlog/kernlog.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "edge/kernlog/fault_line.h"
#include "fmt/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    US_PER_MS = 1000,
    FILE_BYTES_AT_ONCE = 64 * 1024,
    RECORDS_AT_ONCE = 4096 /* the rest comes with the next call: the loop has more to do */
};

struct weir_kernlog {
    char *path;
    int fd; /* of the device, or -1 */
    bool is_file;
    int64_t at; /* in the file */
    ino_t inode;
    uint64_t last_seq;  /* read */
    uint64_t last_told; /* of what was told, and taken */
    bool has_seq;
    uint64_t n_missed;
    char record[WEIR_KMSG_RECORD_MAX + 1];
    char message[WEIR_KMSG_RECORD_MAX];
};

/* What one call has to do. */
struct reading {
    struct weir_kernlog *log;
    uint64_t after;
    weir_fault_each each;
    void *arg;
};

/* A record that is none is none of a fault. */
static int take_record(struct reading *r, struct weir_str text)
{
    struct weir_kernlog *log = r->log;
    struct weir_fault_event event;
    struct weir_kmsg kmsg;
    bool is_told = false;
    size_t at = 0;
    int result = 0;

    if (weir_kmsg_read(text, log->message, sizeof(log->message), &kmsg, NULL) < 0)
        return 0;
    if (log->has_seq && kmsg.seq > log->last_seq + 1)
        log->n_missed += kmsg.seq - log->last_seq - 1;
    log->last_seq = kmsg.seq;
    log->has_seq = true;
    if (kmsg.seq <= r->after)
        return 0;
    while (result == 0 &&
           weir_fault_from_kmsg(&kmsg, 0, (int64_t)(kmsg.at_us / US_PER_MS), &at, &event)) {
        result = r->each(r->arg, kmsg.seq, &event);
        is_told = true;
    }
    /* Of what is no fault nobody remembers that it was read. */
    if (result == 0 && is_told && kmsg.seq > log->last_told)
        log->last_told = kmsg.seq;
    return result;
}

/* All that is still there is read again. */
static void rewind_log(struct weir_kernlog *log)
{
    log->at = 0;
    log->inode = 0;
    log->has_seq = false;
    log->last_told = 0;
    if (!log->is_file)
        lseek(log->fd, 0, SEEK_SET);
}

/* ---- the device: one read is one record ---- */

static int read_device(struct reading *r, struct weir_err *err)
{
    struct weir_kernlog *log = r->log;

    for (int i = 0; i < RECORDS_AT_ONCE; i++) {
        ssize_t n = read(log->fd, log->record, sizeof(log->record) - 1);
        int result;

        if (n < 0 && (errno == EINTR || errno == EPIPE)) /* EPIPE: some were overwritten */
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return weir_error_errno(err, errno, "read the kernel's log");
        if (n == 0)
            return 0;
        result = take_record(r, weir_str_n(log->record, (size_t)n));
        if (result < 0)
            return result;
    }
    return 1;
}

/* ---- a file: whole lines only ---- */

static int take_lines(struct reading *r, struct weir_str text)
{
    struct weir_str line;

    while (weir_str_split(&text, '\n', &line)) {
        int result = line.len > 0 && line.ptr[0] != ' ' ? take_record(r, line) : 0;

        if (result < 0)
            return result;
    }
    return 0;
}

static size_t whole_lines(const char *text, size_t n)
{
    while (n > 0 && text[n - 1] != '\n')
        n--;
    return n;
}

static int read_piece(struct reading *r, int fd, char *piece, size_t *ret_n, struct weir_err *err)
{
    ssize_t n = pread(fd, piece, FILE_BYTES_AT_ONCE, r->log->at);

    if (n < 0)
        return weir_error_errno(err, errno, "read '%s'", r->log->path);
    *ret_n = whole_lines(piece, (size_t)n);
    if (*ret_n == 0 && n == FILE_BYTES_AT_ONCE) { /* no record is as long */
        r->log->at += n;
        *ret_n = (size_t)n;
        return 0;
    }
    r->log->at += (int64_t)*ret_n;
    return *ret_n > 0 ? take_lines(r, weir_str_n(piece, *ret_n - 1)) : 0;
}

/* One look is all it takes where nothing was added: it is asked often. */
static bool has_more(const struct weir_kernlog *log)
{
    struct stat st;

    return stat(log->path, &st) == 0 && (st.st_size != log->at || st.st_ino != log->inode);
}

static int read_file(struct reading *r, struct weir_err *err)
{
    int fd = weir_fd_open_file(AT_FDCWD, r->log->path, O_NOFOLLOW, err);
    char *piece = fd < 0 ? NULL : weir_mem_alloc(FILE_BYTES_AT_ONCE);
    struct stat st;
    size_t n = 1;
    int result = 0;

    if (fd < 0)
        return fd == WEIR_E_NOT_FOUND ? 0 : weir_error_wrap(err, "'%s'", r->log->path);
    if (piece == NULL)
        result = weir_error(err, WEIR_E_NO_MEMORY, "no memory for the kernel's log");
    else if (fstat(fd, &st) < 0)
        result = weir_error_errno(err, errno, "look at '%s'", r->log->path);
    else if (st.st_size < r->log->at || st.st_ino != r->log->inode)
        r->log->at = 0; /* it began anew: what was read is skipped by its number */
    if (result == 0)
        r->log->inode = st.st_ino;
    while (result == 0 && n > 0)
        result = read_piece(r, fd, piece, &n, err);
    weir_mem_free(piece);
    close(fd);
    return result;
}

static int read_log(void *ctx, uint64_t after, weir_fault_each each, void *arg,
                    struct weir_err *err)
{
    struct weir_kernlog *log = ctx;
    struct reading reading = {log, after, each, arg};
    int r = 0;

    if (after < log->last_told)
        rewind_log(log);
    if (!log->is_file)
        r = read_device(&reading, err);
    else if (has_more(log))
        r = read_file(&reading, err);
    if (r < 0)
        rewind_log(log);
    return r;
}

/* ---- life ---- */

int weir_kernlog_open(const char *path, bool is_file, struct weir_kernlog **ret_log,
                      struct weir_fault_source *ret_source, struct weir_err *err)
{
    struct weir_kernlog *log = weir_mem_alloc_array(1, sizeof(*log));

    if (log == NULL || (log->path = weir_mem_strdup(path)) == NULL) {
        weir_mem_free(log);
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the kernel's log");
    }
    log->is_file = is_file;
    log->fd = is_file ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (!is_file && log->fd < 0) {
        int r = weir_error_errno(err, errno, "open the kernel's log '%s'", path);

        weir_kernlog_close(log);
        return r;
    }
    *ret_log = log;
    *ret_source = (struct weir_fault_source){log, read_log};
    return 0;
}

int weir_kernlog_fd(const struct weir_kernlog *log)
{
    return log->fd;
}

uint64_t weir_kernlog_n_missed(const struct weir_kernlog *log)
{
    return log->n_missed;
}

struct weir_kernlog *weir_kernlog_close(struct weir_kernlog *log)
{
    if (log == NULL)
        return NULL;
    if (log->fd >= 0)
        close(log->fd);
    weir_mem_free(log->path);
    return weir_mem_free(log);
}

/* base/fd.h — all of it, where read(2) and write(2) may stop half-way or at a signal. For files and
 * descriptors that block. */
#ifndef WEIR_BASE_FD_H
#define WEIR_BASE_FD_H

#include <stddef.h>

struct weir_buf;
struct weir_err;

/* Opens for reading what is read as a whole: a file, behind a link too. What is none (a folder, a
 * pipe, a device) may have no end, or not even begin, and is refused: WEIR_E_INVALID. flags: more
 * of open(2), O_NOFOLLOW. Returns the descriptor; else the message does not name the file, so that
 * the caller does. */
int weir_fd_open_file(int dir_fd, const char *path, int flags, struct weir_err *err);

/* -1 with errno. */
int weir_fd_write_all(int fd, const void *data, size_t len);
/* Appends what there is up to the end. -1 with errno; where there is more than the buffer may hold,
 * or memory is short, 0, and weir_buf_check() tells. */
int weir_fd_read_all(int fd, struct weir_buf *out);

#endif

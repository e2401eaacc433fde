/* base/fd.h — all of it, where read(2) and write(2) may stop half-way or at a signal. For files and
 * descriptors that block. */
#ifndef WEIR_BASE_FD_H
#define WEIR_BASE_FD_H

#include <stddef.h>

struct weir_buf;

/* -1 with errno. */
int weir_fd_write_all(int fd, const void *data, size_t len);
/* Appends what there is up to the end. -1 with errno; where there is more than the buffer may hold,
 * or memory is short, 0, and weir_buf_check() tells. */
int weir_fd_read_all(int fd, struct weir_buf *out);

#endif

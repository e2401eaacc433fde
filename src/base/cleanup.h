/* base/cleanup.h — scoped release: weir_cleanup_fd int fd = -1; … All accept the empty value. */
#ifndef WEIR_BASE_CLEANUP_H
#define WEIR_BASE_CLEANUP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <unistd.h>

static inline void weir_cleanup_fd_fn(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void weir_cleanup_file_fn(FILE **file)
{
    if (*file != NULL)
        fclose(*file);
}

static inline void weir_cleanup_free_fn(void *ptr)
{
    void *held;

    __builtin_memcpy(&held, ptr, sizeof(held));
    weir_mem_free(held);
}

#define weir_cleanup_fd    __attribute__((cleanup(weir_cleanup_fd_fn)))
#define weir_cleanup_file  __attribute__((cleanup(weir_cleanup_file_fn)))
#define weir_cleanup_free  __attribute__((cleanup(weir_cleanup_free_fn)))
#define weir_cleanup_buf   __attribute__((cleanup(weir_buf_finish)))
#define weir_cleanup_arena __attribute__((cleanup(weir_arena_finish)))

/* Hands the value on and disarms the cleanup. */
#define WEIR_TAKE_FD(fd)                                                                           \
    __extension__({                                                                                \
        int weir_taken_ = (fd);                                                                    \
        (fd) = -1;                                                                                 \
        weir_taken_;                                                                               \
    })
#define WEIR_TAKE_PTR(ptr)                                                                         \
    __extension__({                                                                                \
        __typeof__(ptr) weir_taken_ = (ptr);                                                       \
        (ptr) = NULL;                                                                              \
        weir_taken_;                                                                               \
    })

#endif

/* edge/local/dir.h — listing a directory that is open already. */
#ifndef WEIR_EDGE_LOCAL_DIR_H
#define WEIR_EDGE_LOCAL_DIR_H

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

/* From its start, apart from dir_fd, which stays the caller's. NULL with errno set. */
static inline DIR *weir_dir_list(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0)
        close(fd);
    return dir;
}

#endif

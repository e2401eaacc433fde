#include "edge/nvml/sim_install.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "edge/nvml/sim_fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Made by tools/embed.py. */
extern const char weir_sim_library[];
extern const char weir_sim_library_end[];

static int join(char *path, size_t room, const char *data_dir, const char *below,
                struct weir_err *err)
{
    if (snprintf(path, room, "%s/%s", data_dir, below) < (int)room)
        return 0;
    return weir_error(err, WEIR_E_TOO_LARGE, "the path '%.80s…' is too long", data_dir);
}

static int make_folder(const char *data_dir, const char *below, struct weir_err *err)
{
    char path[PATH_MAX];
    int rc = join(path, sizeof(path), data_dir, below, err);

    if (rc < 0)
        return rc;
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return weir_error_errno(err, errno, "make folder '%s'", path);
    return 0;
}

static bool holds(const char *path, const char *data, size_t len)
{
    weir_cleanup_fd int fd = weir_fd_open_file(AT_FDCWD, path, 0, NULL);
    struct stat st;
    void *map;
    bool same;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size != (off_t)len)
        return false;
    map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return false;
    same = memcmp(map, data, len) == 0;
    munmap(map, len);
    return same;
}

static int write_file(const char *path, const char *data, size_t len, struct weir_err *err)
{
    weir_cleanup_fd int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0755);

    if (fd < 0)
        return weir_error_errno(err, errno, "create '%s'", path);
    if (weir_fd_write_all(fd, data, len) < 0 || fchmod(fd, 0755) < 0 || fsync(fd) < 0)
        return weir_error_errno(err, errno, "write '%s'", path);
    return 0;
}

static int install_library(const char *data_dir, struct weir_err *err)
{
    size_t len = (size_t)(weir_sim_library_end - weir_sim_library);
    char path[PATH_MAX];
    char beside[PATH_MAX];
    int rc = join(path, sizeof(path), data_dir, WEIR_SIM_LIBRARY_PATH, err);

    if (rc < 0 || holds(path, weir_sim_library, len))
        return rc;
    if (snprintf(beside, sizeof(beside), "%s.%ld", path, (long)getpid()) >= (int)sizeof(beside))
        return weir_error(err, WEIR_E_TOO_LARGE, "the path '%.80s…' is too long", data_dir);
    rc = write_file(beside, weir_sim_library, len, err);
    if (rc == 0 && rename(beside, path) < 0)
        rc = weir_error_errno(err, errno, "put '%s' in place", path);
    if (rc < 0)
        unlink(beside);
    return rc;
}

int weir_sim_install(const char *data_dir, struct weir_str spec, uint64_t seed,
                     struct weir_sim_fleet **ret_fleet, struct weir_err *err)
{
    char path[PATH_MAX];
    int rc = join(path, sizeof(path), data_dir, WEIR_SIM_FLEET_PATH, err);

    if (rc == 0)
        rc = make_folder(data_dir, "lib", err);
    if (rc == 0)
        rc = make_folder(data_dir, "sim", err);
    if (rc == 0)
        rc = weir_sim_fleet_open(path, spec, seed, ret_fleet, err);
    if (rc < 0)
        return rc;
    rc = install_library(data_dir, err);
    if (rc < 0)
        *ret_fleet = weir_sim_fleet_close(*ret_fleet);
    return rc;
}

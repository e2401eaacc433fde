/* A group that has processes may not hand controllers down to children ("no internal processes"),
 * so weir itself moves into a leaf, GROUP/weir, and the jobs' groups are made in GROUP/jobs. */
#include "app/cgroup_root.h"

#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static bool write_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_BYTES];
    weir_cleanup_fd int fd = -1;
    size_t n = strlen(text);

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
        return false;
    fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, n) == (ssize_t)n;
}

static bool has_file(const char *dir, const char *name, int mode)
{
    char path[PATH_BYTES];

    return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path) &&
           access(path, mode) == 0;
}

/* "0::/system.slice/weir.service" → the path after the mount point. */
static bool own_group(const char *self, char *ret_group, size_t size)
{
    weir_cleanup_file FILE *file = fopen(self, "re");
    char line[PATH_BYTES];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        struct weir_str text = weir_str_trim(weir_str(line));

        if (!weir_str_starts_with(text, WEIR_STR("0::/")))
            continue;
        text = weir_str_sub(text, 3, text.len);
        if (weir_str_eq_c(text, "/"))
            text = WEIR_STR("");
        return (size_t)snprintf(ret_group, size, "%.*s", WEIR_STR_ARG(text)) < size;
    }
    return false;
}

static bool make_group(const char *path)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* Writes "" where no group of our own can be had. */
static void make_own_groups(const char *mount, const char *self, char *ret_path, size_t size)
{
    static const char *const controllers[] = {"+memory", "+cpu", "+pids"};
    char group[PATH_BYTES];
    char base[PATH_BYTES];
    char leaf[PATH_BYTES];
    char jobs[PATH_BYTES];

    ret_path[0] = '\0';
    if (!has_file(mount, "cgroup.controllers", R_OK) || !own_group(self, group, sizeof(group)) ||
        (size_t)snprintf(base, sizeof(base), "%s%s", mount, group) >= sizeof(base) ||
        (size_t)snprintf(leaf, sizeof(leaf), "%s/weir", base) >= sizeof(leaf) ||
        (size_t)snprintf(jobs, sizeof(jobs), "%s/jobs", base) >= sizeof(jobs) ||
        strlen(jobs) >= size)
        return;
    if (!has_file(base, "cgroup.procs", W_OK) || !make_group(leaf) ||
        !write_file(leaf, "cgroup.procs", "0") || !make_group(jobs))
        return;
    for (size_t i = 0; i < WEIR_COUNT_OF(controllers); i++) {
        /* A controller that is not to be had is no reason to do without the rest. */
        if (write_file(base, "cgroup.subtree_control", controllers[i]))
            (void)write_file(jobs, "cgroup.subtree_control", controllers[i]);
    }
    memcpy(ret_path, jobs, strlen(jobs) + 1);
}

int weir_cgroup_root(const char *choice, char *ret_path, size_t size, struct weir_err *err)
{
    ret_path[0] = '\0';
    if (choice == NULL || strcmp(choice, "off") == 0)
        return 0;
    if (strcmp(choice, "auto") == 0) {
        make_own_groups("/sys/fs/cgroup", "/proc/self/cgroup", ret_path, size);
        return 0;
    }
    if (choice[0] != '/' || strlen(choice) >= size || !has_file(choice, "cgroup.procs", W_OK)) {
        weir_error(err, WEIR_E_INVALID, "'%s' is no cgroup v2 directory that weir may use", choice);
        return weir_error_hint(err, "name one below /sys/fs/cgroup, or say auto or off");
    }
    memcpy(ret_path, choice, strlen(choice) + 1);
    return 0;
}

/* app/cgroup_root.h — where in cgroup v2 the jobs' groups are made. */
#ifndef WEIR_APP_CGROUP_ROOT_H
#define WEIR_APP_CGROUP_ROOT_H

#include <stddef.h>

struct weir_err;

/* choice: "off" or NULL gives ""; a path is checked (a directory with cgroup.procs that we may
 * write to) and taken; "auto" looks for a group of our own in a unified hierarchy that was
 * delegated to us (systemd's Delegate=yes, or root), moves this process into a leaf of it, hands
 * the controllers down, and gives "" where that cannot be had. */
int weir_cgroup_root(const char *choice, char *ret_path, size_t size, struct weir_err *err);

#endif

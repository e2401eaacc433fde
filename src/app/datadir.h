/* app/datadir.h — the data directory: where it is, and that one weir at a time has it. */
#ifndef WEIR_APP_DATADIR_H
#define WEIR_APP_DATADIR_H

#include <stddef.h>
#include <stdint.h>

struct weir_err;

enum { WEIR_DATADIR_PATH_MAX = 4000 };

/* The place used when none is named: /var/lib/weir for root, else $XDG_DATA_HOME/weir or
 * ~/.local/share/weir. */
int weir_datadir_default(char *ret_path, size_t size, struct weir_err *err);
/* Makes the directory (and what is above it) if need be, checks that it is ours and private, and
 * makes the path absolute. Root's is searchable by all (for the socket in it), anybody else's is
 * 0700. */
int weir_datadir_prepare(const char *path, char *ret_path, size_t size, struct weir_err *err);
/* Holds DATA/lock for the life of the process. WEIR_E_EXISTS names the pid that has it. */
int weir_datadir_lock(const char *path, int *ret_fd, struct weir_err *err);
/* The same for the store, by its identity (weir_store.space) on this machine: a copy has the same,
 * and would take what runs under the original for its own. WEIR_E_EXISTS names the pid. */
int weir_datadir_lock_space(uint64_t space, int *ret_fd, struct weir_err *err);

#endif

/* edge/sqlite/store.h — the store in one SQLite file: WAL, STRICT tables, forward
 * migrations.
 *
 * One connection, one thread. */
#ifndef WEIR_EDGE_SQLITE_STORE_H
#define WEIR_EDGE_SQLITE_STORE_H

#include "port/store.h"

struct weir_sqlite;

/* Opens or makes the file. WEIR_E_CORRUPT, with what to do, where it is damaged or not ours;
 * WEIR_E_UNSUPPORTED where a newer weir wrote it; WEIR_E_NO_SPACE, WEIR_E_DENIED. ret_port->ctx is
 * the store. */
int weir_sqlite_open(const char *path, struct weir_sqlite **ret_store, struct weir_store *ret_port,
                     struct weir_err *err);
/* No number up to `last` is given from now on. */
int weir_sqlite_skip_numbers(struct weir_sqlite *store, uint64_t last, struct weir_err *err);
struct weir_sqlite *weir_sqlite_close(struct weir_sqlite *store);

#endif

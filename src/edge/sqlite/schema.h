/* edge/sqlite/schema.h — the steps from an empty file to the schema of this build. Step n takes
 * user_version n to n+1. A step that has been released is never changed; tests keep a database of
 * every earlier version. */
#ifndef WEIR_EDGE_SQLITE_SCHEMA_H
#define WEIR_EDGE_SQLITE_SCHEMA_H

#include "base/count.h"

static const char *const weir_sqlite_steps[] = {
    /* 0 → 1 */
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE queues(name TEXT PRIMARY KEY, spec TEXT NOT NULL, created_ms INTEGER NOT NULL) "
    "STRICT, WITHOUT ROWID;"
    "CREATE TABLE workloads("
    "  number INTEGER PRIMARY KEY, name TEXT NOT NULL, queue TEXT NOT NULL, owner TEXT NOT NULL,"
    "  uid INTEGER NOT NULL, gid INTEGER NOT NULL, class INTEGER NOT NULL, priority INTEGER NOT "
    "NULL,"
    "  n_tasks INTEGER NOT NULL, independent INTEGER NOT NULL, is_demo INTEGER NOT NULL,"
    "  state INTEGER NOT NULL, cause INTEGER NOT NULL, attempt INTEGER NOT NULL, exit_status "
    "INTEGER NOT NULL,"
    "  cancelled INTEGER NOT NULL, n_failures INTEGER NOT NULL, gpus TEXT NOT NULL, node TEXT NOT "
    "NULL,"
    "  submitted_ms INTEGER NOT NULL, started_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL,"
    "  not_before_ms INTEGER NOT NULL, detail TEXT NOT NULL, request TEXT NOT NULL, digest BLOB "
    "NOT NULL) STRICT;"
    "CREATE TABLE specs(number INTEGER PRIMARY KEY, spec TEXT NOT NULL) STRICT;"
    "CREATE INDEX workloads_live ON workloads(number) WHERE ended_ms = 0;"
    "CREATE INDEX workloads_ended ON workloads(ended_ms) WHERE ended_ms > 0;"
    "CREATE INDEX workloads_name ON workloads(name);"
    "CREATE UNIQUE INDEX workloads_request ON workloads(owner, request) WHERE request <> '';"
    "CREATE TABLE tasks("
    "  number INTEGER NOT NULL, member INTEGER NOT NULL, state INTEGER NOT NULL, attempt INTEGER "
    "NOT NULL,"
    "  stop_cause INTEGER NOT NULL, end INTEGER NOT NULL, cause INTEGER NOT NULL, exit_status "
    "INTEGER NOT NULL,"
    "  n_failures INTEGER NOT NULL, serial INTEGER NOT NULL, nonce INTEGER NOT NULL,"
    "  slot INTEGER NOT NULL, node TEXT NOT NULL, grants TEXT NOT "
    "NULL,"
    "  started_ms INTEGER NOT NULL, started_mono_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL,"
    "  not_before_ms INTEGER NOT NULL, detail TEXT NOT NULL, PRIMARY KEY(number, member)) STRICT, "
    "WITHOUT ROWID;"
    "CREATE TABLE cordons(kind INTEGER NOT NULL, name TEXT NOT NULL, phase INTEGER NOT NULL, cause "
    "TEXT NOT NULL,"
    "  PRIMARY KEY(kind, name)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE events(seq INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL, mono_ms "
    "INTEGER NOT NULL,"
    "  boot BLOB NOT NULL, actor TEXT NOT NULL, kind TEXT NOT NULL, cause TEXT NOT NULL, subject "
    "TEXT NOT NULL,"
    "  before TEXT NOT NULL, after TEXT NOT NULL) STRICT;",
    /* 1 → 2 */
    "ALTER TABLE tasks ADD COLUMN for_whom INTEGER NOT NULL DEFAULT 0;",
    /* 2 → 3 */
    "CREATE TABLE faults(seq INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL, mono_ms INTEGER NOT "
    "NULL, boot BLOB NOT NULL, source_seq INTEGER NOT NULL, node TEXT NOT NULL, event TEXT NOT "
    "NULL) "
    "STRICT;"
    "CREATE TABLE marks(key TEXT NOT NULL PRIMARY KEY, cause TEXT NOT NULL, class TEXT NOT NULL, "
    "action INTEGER NOT NULL, next_action INTEGER NOT NULL, since_ms INTEGER NOT NULL, boot BLOB "
    "NOT "
    "NULL) STRICT, WITHOUT ROWID;",
    /* 3 → 4 */
    "CREATE TABLE setups(name TEXT NOT NULL PRIMARY KEY, spec TEXT NOT NULL, created_ms INTEGER "
    "NOT "
    "NULL) STRICT, WITHOUT ROWID;",
    /* 4 → 5 */
    "CREATE TABLE gpus("
    "  key TEXT NOT NULL PRIMARY KEY, facts TEXT NOT NULL, simulated INTEGER NOT NULL,"
    "  seen_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;",
};

enum { WEIR_SQLITE_VERSION = WEIR_COUNT_OF(weir_sqlite_steps) };
/* "weir" as SQLite's application_id: a file without it is not ours. */
enum { WEIR_SQLITE_APPLICATION_ID = 0x77656972 };

#endif

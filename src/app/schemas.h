/* app/schemas.h — the schemas of data/schema, compiled in and read once. */
#ifndef WEIR_APP_SCHEMAS_H
#define WEIR_APP_SCHEMAS_H

#include "app/resource.h"

/* Reads and checks the embedded schemas; call before any other use, once. A fault in them is a
 * fault of this build. */
int weir_schemas_load(struct weir_err *err);
void weir_schemas_unload(void);
const struct weir_tree *weir_schema_of(enum weir_kind kind);

#endif

/* fmt/schema_format.h — private to fmt/schema: the formats of texts and keys, and types as bits. */
#ifndef WEIR_FMT_SCHEMA_FORMAT_H
#define WEIR_FMT_SCHEMA_FORMAT_H

#include "base/err.h"
#include "base/tree.h"

enum weir_schema_type {
    WEIR_SCHEMA_OBJECT = 1,
    WEIR_SCHEMA_ARRAY = 2,
    WEIR_SCHEMA_STRING = 4,
    WEIR_SCHEMA_INTEGER = 8,
    WEIR_SCHEMA_NUMBER = 16,
    WEIR_SCHEMA_BOOLEAN = 32,
    WEIR_SCHEMA_NULL = 64, /* beside others: left empty in YAML */
};

/* One type by name, 0 if unknown. */
unsigned weir_schema_type(struct weir_str name);
/* The bits of a `type` keyword's value. */
unsigned weir_schema_types(const struct weir_tree *type);

enum weir_schema_format {
    WEIR_SCHEMA_FORMAT_NONE,
    WEIR_SCHEMA_FORMAT_QUANTITY_BYTES,
    WEIR_SCHEMA_FORMAT_QUANTITY_MILLI,
    WEIR_SCHEMA_FORMAT_DURATION,
    WEIR_SCHEMA_FORMAT_NAME,
    WEIR_SCHEMA_FORMAT_LABEL,
    WEIR_SCHEMA_FORMAT_TIMESTAMP,
    WEIR_SCHEMA_FORMAT_SIGNAL,
    WEIR_SCHEMA_FORMAT_LABEL_KEY,
    WEIR_SCHEMA_FORMAT_ENV_NAME,
    WEIR_SCHEMA_FORMAT_GPU_CLASS,
    WEIR_SCHEMA_FORMAT_MAX
};

enum weir_schema_format weir_schema_format(struct weir_str name); /* NONE if unknown */
bool weir_schema_format_is_for_keys(enum weir_schema_format format);
/* Numbers as well as texts. */
bool weir_schema_format_takes_numbers(enum weir_schema_format format);
/* 0 or a negative code, without a place. */
int weir_schema_format_check(enum weir_schema_format format, struct weir_str text,
                             struct weir_err *err);

#endif

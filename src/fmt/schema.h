/* fmt/schema.h — holds a document to a schema, both as trees.
 *
 * A schema is an object of keywords, a subset of JSON Schema with two of ours:
 *   type                 "object" "array" "string" "integer" "number" "boolean", or a list of them
 *   description          what it means, for the reference
 *   default              what holds when it is left out; must itself fit. Never filled in here.
 *   enum                 the scalars allowed
 *   properties, required, additionalProperties (false or a schema; always to be given)
 *   items (always to be given), minItems, maxItems
 *   minLength, maxLength in characters
 *   minimum, maximum
 *   x-weir-format        what a text must be: quantity-bytes quantity-milli duration (these may be
 *                        numbers too), name label timestamp signal
 *   x-weir-key-format    what a key that is not in properties must be: label-key env-name gpu-class
 *
 * name: a lower-case RFC 1123 label. label: a Kubernetes label value. timestamp: RFC 3339.
 * signal: a signal a process can catch, with or without "SIG". label-key: a Kubernetes label key.
 * env-name: printable ASCII without '='. gpu-class: "gpu/" and a label value. */
#ifndef WEIR_FMT_SCHEMA_H
#define WEIR_FMT_SCHEMA_H

#include "base/err.h"
#include "base/tree.h"

enum { WEIR_SCHEMA_NAMES_MAX = 128 }; /* properties of one object, values of one enum */

/* Finds the first fault, in the order of the document; fields that are missing come after what is
 * wrong in the same object. WEIR_E_INVALID with line, column, field, and a hint where one helps.
 * The schema must have passed weir_schema_check_schema(). */
int weir_schema_check(const struct weir_tree *schema, const struct weir_tree *doc,
                      struct weir_err *err);
/* Holds a schema to the rules above: unknown keywords, keywords that do not suit the type, defaults
 * that do not fit, properties without a description are errors. */
int weir_schema_check_schema(const struct weir_tree *schema, struct weir_err *err);

#endif

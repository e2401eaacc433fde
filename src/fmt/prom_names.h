/* fmt/prom_names.h — private to fmt/prom_*.c: what names look like. */
#ifndef WEIR_FMT_PROM_NAMES_H
#define WEIR_FMT_PROM_NAMES_H

#include "fmt/prom.h"

extern const char *const weir_prom_type_names[WEIR_PROM_TYPE_MAX];

/* How much of s, from its start, is a name: [a-zA-Z_:][a-zA-Z0-9_:]*, without colons for labels. */
size_t weir_prom_metric_name_len(struct weir_str s);
size_t weir_prom_label_name_len(struct weir_str s);

#endif

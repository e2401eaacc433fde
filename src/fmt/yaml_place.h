/* fmt/yaml_place.h — private to fmt/yaml: from libyaml's marks to lines and columns, and its
 * complaints as our errors.
 *
 * libyaml counts characters and takes NEL, LS and PS for line ends; editors and weir_err count
 * bytes and end lines at LF, CR and CR LF. So places are counted again here, from a mark's
 * character index. */
#ifndef WEIR_FMT_YAML_PLACE_H
#define WEIR_FMT_YAML_PLACE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

struct weir_err;

struct weir_yaml_place {
    uint32_t line;
    uint32_t column;
};

/* Walks forward with the marks; a mark behind the last one costs a walk from the start. */
struct weir_yaml_places {
    struct weir_str text; /* without a byte order mark */
    size_t at;            /* byte */
    size_t index;         /* character */
    struct weir_yaml_place place;
};

void weir_yaml_places_init(struct weir_yaml_places *places, struct weir_str text);
struct weir_yaml_place weir_yaml_places_find(struct weir_yaml_places *places,
                                             const yaml_mark_t *mark);
/* Makes the error of a parser that has failed. Returns its code. */
int weir_yaml_syntax_error(const yaml_parser_t *parser, struct weir_yaml_places *places,
                           struct weir_err *err);

#endif

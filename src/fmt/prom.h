/* fmt/prom.h — Prometheus text exposition, version 0.0.4.
 *
 * The writer groups samples by family: HELP and TYPE once, then the samples. Names come from our
 * own code, so a bad one is a bug (WEIR_ASSERT), and so is a family begun twice; label values may
 * be anything, and are escaped.
 *
 *     weir_prom_family(&prom, "weir_gpu_used_bytes", WEIR_PROM_GAUGE, "Memory in use.");
 *     weir_prom_i64(&prom, "", labels, n_labels, used);
 *
 * The reader gives one sample after the other, with the type of its family.
 *
 * Numbers are written and read in the process's numeric locale, which must be "C". */
#ifndef WEIR_FMT_PROM_H
#define WEIR_FMT_PROM_H

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;

#define WEIR_PROM_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum weir_prom_type {
    WEIR_PROM_UNTYPED,
    WEIR_PROM_COUNTER,
    WEIR_PROM_GAUGE,
    WEIR_PROM_HISTOGRAM,
    WEIR_PROM_SUMMARY,
    WEIR_PROM_TYPE_MAX
};

enum { WEIR_PROM_LABELS_MAX = 64 };

struct weir_prom_label {
    struct weir_str name;
    struct weir_str value; /* not escaped */
};

struct weir_prom {
    struct weir_buf *out;
    struct weir_str family; /* points into families */
    struct weir_map families;
    int failed; /* 0 or WEIR_E_NO_MEMORY; out has a failure of its own */
};

void weir_prom_init(struct weir_prom *prom, struct weir_buf *out);
/* Frees what the writer holds and returns its failure or out's, as an error. */
int weir_prom_finish(struct weir_prom *prom, struct weir_err *err);
void weir_prom_family(struct weir_prom *prom, const char *name, enum weir_prom_type type,
                      const char *help);
/* suffix: "", or "_bucket", "_sum", "_count" of a histogram or summary. */
void weir_prom_i64(struct weir_prom *prom, const char *suffix, const struct weir_prom_label *labels,
                   size_t n_labels, int64_t value);
/* The shortest text that reads back as the same double; "NaN", "+Inf", "-Inf". */
void weir_prom_f64(struct weir_prom *prom, const char *suffix, const struct weir_prom_label *labels,
                   size_t n_labels, double value);
/* The same at a time. */
void weir_prom_f64_at(struct weir_prom *prom, const char *suffix,
                      const struct weir_prom_label *labels, size_t n_labels, double value,
                      int64_t wall_ms);

struct weir_prom_sample {
    struct weir_str name;   /* with its suffix */
    struct weir_str family; /* without it, where a TYPE was given; else the name */
    enum weir_prom_type type;
    const struct weir_prom_label *labels; /* in the order of the input */
    size_t n_labels;
    double value;
    struct weir_str value_text; /* as written: exact where a double is not */
    bool has_time;
    int64_t wall_ms;
};

struct weir_prom_reader {
    struct weir_str rest;
    uint32_t line;            /* of the sample last read */
    struct weir_map families; /* name → its type and what was seen of it */
};

/* text must outlive the reader and the samples. */
void weir_prom_reader_init(struct weir_prom_reader *reader, struct weir_str text);
void weir_prom_reader_finish(struct weir_prom_reader *reader);
/* 1: ret_sample is set, labels live in the arena or point into the text; 0: the end. WEIR_E_INVALID
 * with line and column on a fault: a name, label, value or time that is malformed, a label given
 * twice, a TYPE or HELP given twice or a TYPE behind its samples, no line end at the end. The next
 * call then goes on with the next line. */
int weir_prom_next(struct weir_prom_reader *reader, struct weir_arena *arena,
                   struct weir_prom_sample *ret_sample, struct weir_err *err);
/* The value of the label of that name, or NULL. */
const struct weir_str *weir_prom_label(const struct weir_prom_sample *sample, const char *name);

#endif

/* cmd/kinds.h — the kinds of things one can get, describe and delete. */
#ifndef WEIR_CMD_KINDS_H
#define WEIR_CMD_KINDS_H

#include "cmd/output.h"

#include <stdbool.h>

struct weir_err;

struct weir_kind_entry {
    const char *plural; /* "queues", as in the path */
    const char *one;    /* "queue" */
    const char *alias[3];
    const struct weir_output_kind *output;
};

/* The words for -o, completion and messages. */
#define WEIR_KIND_WORDS "workloads|tasks|queues|gpus|gpusetups|nodes|events"

#define WEIR_KIND_STATES "queued|starting|running|stopping|succeeded|failed|cancelled|lost"

/* By its plural, singular or short name. WEIR_E_INVALID names the nearest. */
int weir_kind_find(const char *command, const char *word, const struct weir_kind_entry **ret_kind,
                   struct weir_err *err);

/* Whether a word can be the key of a GPU only, or its beginning. */
bool weir_kind_is_gpu_key(const char *word);

/* Cells of what has amounts: "4,cpu=16,memory=64Gi". */
void weir_kinds_amounts(struct weir_sheet *table, const struct weir_tree *amounts);

extern const struct weir_output_kind weir_queues_kind;
extern const struct weir_output_kind weir_events_kind;

#endif

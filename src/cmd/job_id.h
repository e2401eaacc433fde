/* How people name a job. */
#ifndef WEIR_CMD_JOB_ID_H
#define WEIR_CMD_JOB_ID_H

#include "base/str.h"

struct weir_err;

/* "42" or "train"; also as weir prints them, "workload/42", and "42/3" for one member of it. */
struct weir_job_id {
    const char *whole;      /* to ask with, unless a member is named */
    struct weir_str id;     /* without the member */
    struct weir_str member; /* digits; empty: none */
};

struct weir_job_id weir_job_id(const char *word);
/* For what can be asked of a whole job only: what to ask with, or WEIR_E_INVALID for a member. */
int weir_job_id_whole(const char *command, const char *word, const char **ret_whole,
                      struct weir_err *err);

#endif

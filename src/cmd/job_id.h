/* How people name a job. */
#ifndef WEIR_CMD_JOB_ID_H
#define WEIR_CMD_JOB_ID_H

#include "base/str.h"

/* "42" or "train"; also as weir prints them, "workload/42", and "42/3" for one member of it. */
struct weir_job_id {
    const char *whole;      /* to ask with, unless a member is named */
    struct weir_str id;     /* without the member */
    struct weir_str member; /* digits; empty: none */
};

struct weir_job_id weir_job_id(const char *word);

#endif

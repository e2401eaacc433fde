/* A world and a policy in, the plan out, as text: one file for each rule.
 *
 *     rule: What the case is there for.
 *     policy: {preempt: false}
 *     nodes:
 *       - {name: n1, gpus: 8, model: h100, cordoned: [0], unhealthy: [1]}
 *     queues:
 *       - {name: a, guaranteed: 4, limit: 6}
 *     jobs:
 *       - {name: runs, queue: a, gpus: 2, attempts: [{host: n1, gpus: [2, 3], ran_ms: 5000}]}
 *       - {name: waits, queue: a, gpus: 2, priority: 1}
 *     asks:
 *       - {name: huge, queue: a, gpus: 16}
 *     plan: |
 *       start waits on n1: GPU 4,5
 *
 * Jobs are submitted in the order in which they stand, queues were made so. `attempts` tells of the
 * first tasks what they do: they run on a host, or wait for the end of a back-off; the other tasks
 * wait. Times are milliseconds; the clock stands at 1000000, 0 is when the machine was started.
 * `asks` are only asked for, before they are submitted: each is admitted or refused. Every key is
 * in scenario_read.c; one that is not there is an error.
 *
 * The plan has, in this order, a line for each of the asks, each action, each verdict, and one for
 * the next time to decide, if there is one. A task is called by its job, with its number behind a
 * slash where the job has several:
 *
 *     admit NAME | refuse NAME: REASON: TEXT (HINT)
 *     start TASK on NODE: GPU 0,1 | GPU 0 (250 mGPU)
 *     evict TASK for NAME (CAUSE) | stop TASK (CAUSE) | settle TASK: STATE (CAUSE), in N ms
 *     wait NAME: REASON in QUEUE; what would let it start
 *     decide again in N ms */
#ifndef TESTS_SCENARIO_H
#define TESTS_SCENARIO_H

#include "tests/unit/core/build_world.h"

#include "base/tree.h"

enum { SCENARIO_JOBS_MAX = 64, SCENARIO_BYTES_MAX = 1 << 20 };

struct scenario_job {
    struct job_spec spec;
    const struct weir_tree *attempts;
    uint32_t row;
};

struct scenario {
    struct bench bench;
    struct weir_arena arena; /* holds the tree of the file and all texts */
    struct scenario_job jobs[SCENARIO_JOBS_MAX];
    struct scenario_job asks[SCENARIO_JOBS_MAX];
    int n_jobs;
    int n_asks;
    const char *plan; /* as the file has it */
};

/* Builds what the text describes. Fails the test, with line and column, on what it does not
 * understand. */
void scenario_read(struct scenario *s, struct weir_str text);
/* Asks what is to be asked, decides, and writes the plan in words. Then the plan is carried out:
 * the world must be whole after it. */
void scenario_write(struct scenario *s, struct weir_buf *out);

#endif

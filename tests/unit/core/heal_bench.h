/* One node, one queue, and what happens to the jobs on them. */
#ifndef TESTS_CORE_HEAL_BENCH_H
#define TESTS_CORE_HEAL_BENCH_H

#include "build_world.h"

static inline void one_node(struct bench *b)
{
    bench_with_node(b, 8);
    add_queue(b, (struct queue_spec){.name = "q"});
}

static inline void starts(struct bench *b, struct job_spec spec)
{
    spec.queue = "q";
    spec.gpus = 1;
    add_job(b, spec);
    tick_and_run(b);
}

static inline void cancel(struct bench *b, const char *job)
{
    weir_edit_workload(b->edit, job_at(b, job))->cancelled = 1;
}

static inline void preempt(struct bench *b, const char *job, uint32_t member)
{
    assert_int_equal(weir_edit_task_state(b->edit, task_at(b, job, member), WEIR_TASK_STOPPING), 0);
    weir_edit_task(b->edit, task_at(b, job, member))->stop_cause = WEIR_CAUSE_PREEMPTED;
}

#endif

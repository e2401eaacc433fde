/* Random small worlds for property tests: specs first, so that one world can be built in several
 * orders of insertion. */
#ifndef TESTS_CORE_RANDOM_WORLD_H
#define TESTS_CORE_RANDOM_WORLD_H

#include "build_world.h"

enum { NODES_MAX = 8, QUEUES_MAX = 10, JOBS_MAX = 40, NAME_MAX_BYTES = 16 };

struct random_world {
    struct weir_rng rng;
    struct node_spec nodes[NODES_MAX];
    struct queue_spec queues[QUEUES_MAX];
    struct job_spec jobs[JOBS_MAX];
    char node_names[NODES_MAX][NAME_MAX_BYTES];
    char queue_names[QUEUES_MAX][NAME_MAX_BYTES];
    char job_names[JOBS_MAX][NAME_MAX_BYTES];
    int n_nodes;
    int n_queues;
    int n_jobs;
    int first_leaf; /* queues from here on are leaves */
};

/* WEIR_FULL=1 tries more. */
static inline uint64_t more_if_full(uint64_t n)
{
    const char *full = getenv("WEIR_FULL");

    return full != NULL && strcmp(full, "1") == 0 ? n * 20 : n;
}

static inline int pick(struct weir_rng *rng, int n)
{
    return (int)weir_rng_below(rng, (uint64_t)n);
}

static inline bool one_in(struct weir_rng *rng, int n)
{
    return pick(rng, n) == 0;
}

static inline void random_nodes(struct random_world *w)
{
    static const int gpus[] = {0, 1, 2, 4, 4, 8};
    static const char *const racks[] = {NULL, "r1", "r2"};
    static const enum weir_node_phase phases[] = {WEIR_NODE_READY, WEIR_NODE_CORDONED,
                                                  WEIR_NODE_QUARANTINED, WEIR_NODE_BOOTING};
    struct weir_rng *rng = &w->rng;

    w->n_nodes = 1 + pick(rng, NODES_MAX);
    for (int i = 0; i < w->n_nodes; i++) {
        snprintf(w->node_names[i], NAME_MAX_BYTES, "n%d", 1 + pick(rng, 3) * 100 + i);
        w->nodes[i] = (struct node_spec){
            .name = w->node_names[i],
            .gpus = gpus[pick(rng, 6)],
            .class = one_in(rng, 3) ? "a100" : "h100",
            .gpu_gib = one_in(rng, 3) ? 40 : 80,
            .cpus = 4 + pick(rng, 12),
            .gib = 64,
            .sharers = one_in(rng, 3) ? 4 : 1,
            .foreign = one_in(rng, 4) ? 1 + pick(rng, 2) : 0,
            .foreign_gib = pick(rng, 60),
            .rack = racks[pick(rng, 3)],
            .label = one_in(rng, 4) ? "x" : NULL,
            .phase = phases[one_in(rng, 4) ? pick(rng, 4) : 0],
            .nvlink = one_in(rng, 2) ? 4 : 0,
        };
    }
}

static inline void random_queues(struct random_world *w)
{
    struct weir_rng *rng = &w->rng;
    int n_inner = pick(rng, 4);

    w->n_queues = n_inner + 1 + pick(rng, 5);
    w->first_leaf = n_inner;
    for (int i = 0; i < w->n_queues; i++) {
        int parent = i < n_inner ? i : n_inner;

        snprintf(w->queue_names[i], NAME_MAX_BYTES, "q%d", i);
        w->queues[i] = (struct queue_spec){
            .name = w->queue_names[i],
            .parent = parent > 0 && !one_in(rng, 3) ? w->queue_names[pick(rng, parent)] : NULL,
            .guaranteed_gpus = one_in(rng, 2) ? pick(rng, 6) : 0,
            .guaranteed_cpus = one_in(rng, 4) ? pick(rng, 6) : 0,
            .guaranteed_gib = one_in(rng, 4) ? pick(rng, 40) : 0,
            .guaranteed_h100 = one_in(rng, 4) ? pick(rng, 4) : 0,
            .limit_gpus = one_in(rng, 4) ? 1 + pick(rng, 8) : 0,
            .priority = pick(rng, 2),
            .weight = 1 + pick(rng, 3),
            .fixed = one_in(rng, 8),
            .isolation = one_in(rng, 8) ? WEIR_ISOLATION_MEMORY : WEIR_ISOLATION_NONE,
            .over_budget = (enum weir_over_budget)pick(rng, WEIR_OVER_BUDGET_MAX),
            .created_ms = pick(rng, 3),
        };
    }
}

static inline struct job_spec random_job(struct random_world *w, int i)
{
    struct weir_rng *rng = &w->rng;
    int kind = pick(rng, 10);
    int leaf = w->first_leaf + pick(rng, w->n_queues - w->first_leaf);
    struct job_spec job = {
        .queue = w->queue_names[leaf],
        .gpus = pick(rng, 5) == 0 ? 4 : pick(rng, 3),
        .cpus = 1 + pick(rng, 2),
        .gib = pick(rng, 2) * 8,
        .priority = pick(rng, 4),
        .fixed = one_in(rng, 6),
        .held = one_in(rng, 20),
        .class = one_in(rng, 4) ? "h100" : NULL,
        .label = one_in(rng, 12) ? "x" : NULL,
        .gpu_gib = one_in(rng, 5) ? 60 : 0,
        .retries = pick(rng, 3),
        .begin_ms = one_in(rng, 20) ? 2000000 : 0,
        .submitted_ms = 1000 + pick(rng, 50),
        .p50_ms = one_in(rng, 2) ? 1000 * (1 + pick(rng, 1000)) : 0,
    };

    if (kind < 2) {
        job.array = true;
        job.tasks = 2 + pick(rng, 5);
    } else if (kind < 5) {
        job.tasks = 2 + pick(rng, 4);
        job.min = one_in(rng, 2) ? 0 : 1 + pick(rng, job.tasks);
        job.same_rack = one_in(rng, 3);
        job.lead_cpus = one_in(rng, 4) ? 2 : 0;
    } else if (kind < 6) {
        job.gpus = 0;
        job.mgpu = 100 + 100 * pick(rng, 6);
        job.gpu_gib = pick(rng, 3) * 10;
        job.isolation = one_in(rng, 4) ? WEIR_ISOLATION_MEMORY : WEIR_ISOLATION_NONE;
    }
    snprintf(w->job_names[i], NAME_MAX_BYTES, "j%d", i);
    job.name = w->job_names[i];
    return job;
}

static inline void random_world(struct random_world *w, uint64_t seed)
{
    *w = (struct random_world){.n_nodes = 0};
    weir_rng_init(&w->rng, seed);
    random_nodes(w);
    random_queues(w);
    w->n_jobs = 1 + pick(&w->rng, JOBS_MAX - 1);
    for (int i = 0; i < w->n_jobs; i++)
        w->jobs[i] = random_job(w, i);
}

/* Builds it, in an order of insertion given by the seed; 0: as listed. */
static inline void build(struct bench *b, const struct random_world *w, uint64_t order)
{
    int nodes[NODES_MAX];
    int jobs[JOBS_MAX];
    struct weir_rng rng;

    weir_rng_init(&rng, order);
    for (int i = 0; i < NODES_MAX; i++)
        nodes[i] = i;
    for (int i = 0; i < JOBS_MAX; i++)
        jobs[i] = i;
    for (int i = w->n_nodes - 1; order != 0 && i > 0; i--) {
        int j = pick(&rng, i + 1);
        int swap = nodes[i];

        nodes[i] = nodes[j];
        nodes[j] = swap;
    }
    for (int i = w->n_jobs - 1; order != 0 && i > 0; i--) {
        int j = pick(&rng, i + 1);
        int swap = jobs[i];

        jobs[i] = jobs[j];
        jobs[j] = swap;
    }
    bench_init(b);
    class_of(b, "h100");
    class_of(b, "a100");
    for (int i = 0; i < w->first_leaf; i++)
        add_queue(b, w->queues[i]);
    for (int i = 0; i < w->n_queues - w->first_leaf; i++)
        add_queue(b, w->queues[order != 0 ? w->n_queues - 1 - i : w->first_leaf + i]);
    for (int i = 0; i < w->n_nodes; i++)
        add_node(b, w->nodes[nodes[i]]);
    for (int i = 0; i < w->n_jobs; i++)
        add_job(b, w->jobs[jobs[i]]);
}

#endif

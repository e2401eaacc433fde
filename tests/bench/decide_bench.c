/* How long a decision takes, for worlds of several kinds, as JSON: one line each. Nothing is
 * applied between rounds, so that all rounds of a line are the same decision. What is asked of it:
 * 8 GPUs and 1,000 queued jobs in 1 ms. */
#include "../unit/core/build_world.h"
#include "base/count.h"

#include <time.h>

enum { ROUNDS = 200 };

static int64_t now_ns(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The same world again and again: nothing is applied. */
static void measure(struct bench *b, const char *what, int rounds)
{
    static int64_t took[ROUNDS];

    weir_world_unref(b->world);
    b->world = weir_edit_seal(b->edit);
    for (int i = 0; i < rounds; i++) {
        int64_t from = now_ns();

        weir_arena_reset(&b->arena);
        must(weir_decide(b->world, &b->policy, b->now, 1, NULL, &b->arena, &b->plan, NULL));
        took[i] = now_ns() - from;
    }
    qsort(took, (size_t)rounds, sizeof(took[0]), compare);
    printf("  {\"name\": \"%s\", \"rounds\": %d, \"median_us\": %.1f, \"p99_us\": %.1f, "
           "\"actions\": %u, \"verdicts\": %u, \"reasons\": %u, \"arena_kib\": %.1f}",
           what, rounds, (double)took[rounds / 2] / 1e3, (double)took[rounds * 99 / 100] / 1e3,
           b->plan.n_actions, b->plan.n_verdicts, b->plan.n_reasons,
           (double)b->arena.used_bytes / 1024);
}

static void add_jobs(struct bench *b, int n, int n_queues, bool mixed)
{
    for (int i = 0; i < n; i++) {
        char name[32];
        char queue[32];

        snprintf(name, sizeof(name), "j%d", i);
        snprintf(queue, sizeof(queue), "q%d", i % n_queues);
        add_job(b, (struct job_spec){.name = name,
                                     .queue = queue,
                                     .gpus = mixed ? 1 + i % 4 : 1,
                                     .cpus = mixed ? 1 + i % 3 : 1,
                                     .priority = mixed ? i % 5 : 0});
    }
}

static void add_fleet(struct bench *b, int n_nodes, int n_queues, int guaranteed)
{
    for (int i = 0; i < n_nodes; i++) {
        char name[32];

        snprintf(name, sizeof(name), "n%d", i);
        add_node(b, (struct node_spec){.name = name, .gpus = 8});
    }
    for (int i = 0; i < n_queues; i++) {
        char name[32];

        snprintf(name, sizeof(name), "q%d", i);
        add_queue(b, (struct queue_spec){.name = name, .guaranteed_gpus = guaranteed});
    }
}

struct kind {
    const char *what;
    int n_nodes;
    int n_queues;
    int n_jobs;
    int guaranteed;
    bool mixed;
    bool full;    /* what fits runs already */
    int rounds;   /* ROUNDS */
    int n_urgent; /* come when all is busy, and may take the place of others */
};

static void run(const struct kind *kind)
{
    struct bench b;

    bench_init(&b);
    add_fleet(&b, kind->n_nodes, kind->n_queues, kind->guaranteed);
    add_jobs(&b, kind->n_jobs, kind->n_queues, kind->mixed);
    if (kind->full)
        settle(&b, 1000);
    for (int i = 0; i < kind->n_urgent; i++) {
        char name[32];

        snprintf(name, sizeof(name), "u%d", i);
        add_job(&b, (struct job_spec){.name = name, .queue = "q0", .gpus = 1, .priority = 9});
    }
    measure(&b, kind->what, kind->rounds > 0 ? kind->rounds : ROUNDS);
    bench_finish(&b);
}

static const struct kind kinds[] = {
    {.what = "8 GPUs, 1,000 one-GPU jobs wait, 8 start",
     .n_nodes = 1,
     .n_queues = 1,
     .n_jobs = 1000},
    {.what = "8 GPUs, 1,000 one-GPU jobs wait, all busy",
     .n_nodes = 1,
     .n_queues = 1,
     .n_jobs = 1008,
     .full = true},
    {.what = "8 GPUs, 10,000 one-GPU jobs wait, all busy",
     .n_nodes = 1,
     .n_queues = 1,
     .n_jobs = 10008,
     .full = true},
    {.what = "16 GPUs, 100 jobs wait, all busy",
     .n_nodes = 2,
     .n_queues = 1,
     .n_jobs = 116,
     .full = true},
    {.what = "16 GPUs, 100 jobs wait, all busy, 8 urgent ones come",
     .n_nodes = 2,
     .n_queues = 1,
     .n_jobs = 116,
     .full = true,
     .n_urgent = 8},
    {.what = "8 GPUs, 1,000 mixed jobs in 20 queues",
     .n_nodes = 1,
     .n_queues = 20,
     .n_jobs = 1000,
     .guaranteed = 1,
     .mixed = true,
     .full = true},
    {.what = "800 GPUs, 1,000 jobs wait, all busy, 50 urgent ones come",
     .n_nodes = 100,
     .n_queues = 1,
     .n_jobs = 1800,
     .full = true,
     .n_urgent = 50,
     .rounds = 20},
    {.what = "800 GPUs, 10,000 mixed jobs in 50 queues",
     .n_nodes = 100,
     .n_queues = 50,
     .n_jobs = 10000,
     .guaranteed = 10,
     .mixed = true,
     .full = true,
     .rounds = 20},
    {.what = "800 GPUs, 10,000 one-GPU jobs in 200 queues, start",
     .n_nodes = 100,
     .n_queues = 200,
     .n_jobs = 10000,
     .guaranteed = 2,
     .rounds = 20},
};

int main(void)
{
    printf("[\n");
    for (size_t i = 0; i < WEIR_COUNT_OF(kinds); i++) {
        run(&kinds[i]);
        printf("%s\n", i + 1 < WEIR_COUNT_OF(kinds) ? "," : "");
    }
    printf("]\n");
    return 0;
}

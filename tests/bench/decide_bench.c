/* How long a decision takes: median and 99 % of 200, for worlds of several kinds.
 *     ninja -C build tests/bench/decide-bench && build/tests/bench/decide-bench */
#include "../unit/core/build_world.h"

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
    printf("%-52s %8.1f us median %8.1f us p99  %6u actions %6u verdicts %6u reasons %7.1f KiB\n",
           what, (double)took[rounds / 2] / 1e3, (double)took[rounds * 99 / 100] / 1e3,
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
    bool full; /* what fits runs already */
    int rounds;
};

static void run(const struct kind *kind)
{
    struct bench b;

    bench_init(&b);
    add_fleet(&b, kind->n_nodes, kind->n_queues, kind->guaranteed);
    add_jobs(&b, kind->n_jobs, kind->n_queues, kind->mixed);
    if (kind->full)
        settle(&b, 1000);
    measure(&b, kind->what, kind->rounds);
    bench_finish(&b);
}

int main(void)
{
    static const struct kind kinds[] = {
        {"8 GPUs, 1,000 one-GPU jobs wait, 8 start", 1, 1, 1000, 0, false, false, ROUNDS},
        {"8 GPUs, 1,000 one-GPU jobs wait, all busy", 1, 1, 1008, 0, false, true, ROUNDS},
        {"8 GPUs, 10,000 one-GPU jobs wait, all busy", 1, 1, 10008, 0, false, true, ROUNDS},
        {"16 GPUs, 100 jobs wait, all busy", 2, 1, 116, 0, false, true, ROUNDS},
        {"8 GPUs, 1,000 mixed jobs in 20 queues", 1, 20, 1000, 1, true, true, ROUNDS},
        {"800 GPUs, 10,000 mixed jobs in 50 queues", 100, 50, 10000, 10, true, true, 20},
        {"800 GPUs, 10,000 one-GPU jobs in 200 queues, start", 100, 200, 10000, 2, false, false,
         20},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        run(&kinds[i]);
    return 0;
}

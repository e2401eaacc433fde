/* A few jobs from their submission to their end, where anything may fail on the way: who was told
 * no asks again, and what was not done is done later. */
#ifndef WEIR_TEST_TICK_SCENARIO_H
#define WEIR_TEST_TICK_SCENARIO_H

#include "app_rig.h"
#include "base/count.h"

#include <stdio.h>
#include <string.h>

enum { SCENARIO_JOBS = 4, SCENARIO_STEPS_MAX = 60, SCENARIO_ATTEMPTS_MAX = 8 };

struct scenario {
    struct app_rig *rig;
    uint32_t n_failed;    /* ticks that failed, and asks */
    int64_t crash_at;     /* the server goes after this tick (< 0: never) */
    bool crash_swallowed; /* … and nothing of what that tick launched began */
    bool begins_at_once;  /* what is launched begins before the next tick */
    int64_t n_ticks;
};

/* One tick, with what must hold of it: all who asked are told, and a failure does nothing. */
static inline int scenario_try_tick(struct scenario *s)
{
    struct app_rig *rig = s->rig;
    uint32_t due = rig->n_answers + (uint32_t)rig->server.dones.n;
    uint32_t n_launches = rig->n_launches;
    bool crashes = s->n_ticks++ == s->crash_at;
    int r;

    rig->swallows = crashes && s->crash_swallowed;
    r = app_rig_tick(rig);
    rig->swallows = false;
    app_must(rig->n_answers == due, "somebody was not told");
    app_must(r == 0 || rig->n_launches == n_launches, "a tick that failed has launched");
    s->n_failed += r < 0;
    if (s->begins_at_once)
        app_rig_begin_all(rig);
    if (crashes)
        app_rig_crash(rig);
    return r;
}

static inline void scenario_tick(struct scenario *s)
{
    int n = 0;

    while (scenario_try_tick(s) < 0)
        app_must(++n < SCENARIO_ATTEMPTS_MAX, "ticks fail for ever");
    if (s->rig->n_answers > RIG_ANSWERS_MAX / 2)
        s->rig->n_answers = 0;
}

/* Asks until it is told yes. */
static inline void scenario_ask(struct scenario *s, int (*ask)(struct app_rig *rig, int which),
                                int which)
{
    struct app_rig *rig = s->rig;

    for (int n = 0; n < SCENARIO_ATTEMPTS_MAX; n++) {
        int r = ask(rig, which);
        uint32_t at = rig->n_answers;

        s->n_failed += r < 0;
        if (scenario_try_tick(s) == 0 && r == 0 && rig->n_answers > at &&
            rig->answers[at].result == 0)
            return;
    }
    app_must(false, "it is refused for ever");
}

static inline int scenario_submit(struct app_rig *rig, int which)
{
    static const char *const specs[SCENARIO_JOBS] = {
        "{\"command\":[\"a\"],\"gpus\":2}",
        "{\"command\":[\"b\"],\"gpus\":2,\"members\":2,\"queue\":\"deep\"}",
        "{\"command\":[\"c\"],\"gpus\":1,\"array\":3}",
        "{\"command\":[\"d\"],\"gpus\":4,\"retries\":1}",
    };
    static const char *const keys[SCENARIO_JOBS] = {"a", "b", "c", "d"};

    return app_rig_submit(rig, specs[which], keys[which], NULL);
}

static inline int scenario_cancel(struct app_rig *rig, int which)
{
    return rig->service.cancel(rig->service.ctx, &app_ana, (uint64_t)which, app_done(rig), NULL);
}

static inline int scenario_apply(struct app_rig *rig, int which)
{
    (void)which;
    return app_rig_apply(rig,
                         "[{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Queue\",\"metadata\":{"
                         "\"name\":\"deep\"},\"spec\":{\"parent\":\"top\"}},"
                         "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Queue\",\"metadata\":{"
                         "\"name\":\"top\"},\"spec\":{\"weight\":2}}]",
                         false, NULL);
}

static inline int scenario_cordon(struct app_rig *rig, int which)
{
    return rig->service.set_phase(rig->service.ctx, &app_root, WEIR_SUBJECT_DEVICE,
                                  WEIR_STR("GPU-3"), which ? WEIR_NODE_CORDONED : WEIR_NODE_READY,
                                  false, app_done(rig), NULL);
}

static inline void scenario_step(struct scenario *s)
{
    app_rig_pass(s->rig, 3000);
    scenario_tick(s);
}

/* Submissions, a cancelled job, a failed one that goes again, a cordon; then on until all ended. */
static inline void scenario_run(struct scenario *s)
{
    struct app_rig *rig = s->rig;

    scenario_ask(s, scenario_apply, 0);
    for (int i = 0; i < SCENARIO_JOBS; i++)
        scenario_ask(s, scenario_submit, i);
    app_rig_begin_all(rig);
    scenario_step(s);
    scenario_ask(s, scenario_cancel, 2);
    scenario_ask(s, scenario_cordon, 1);
    app_rig_end_all(rig);
    scenario_step(s);
    scenario_ask(s, scenario_cordon, 0);
    for (int i = 0; i < SCENARIO_STEPS_MAX && app_rig_n_live(rig) > 0; i++) {
        struct app_attempt *d = app_rig_attempt(rig, 4, 0);

        app_rig_begin_all(rig);
        scenario_step(s);
        if (d != NULL && d->attempt == 1 && d->facts.phase == WEIR_SEEN_RUNNING)
            app_rig_end(rig, d, WEIR_END_EXITED, 1);
        app_rig_end_all(rig);
        scenario_step(s);
    }
    app_must(app_rig_n_live(rig) == 0, "jobs do not end");
}

/* What became of all jobs, as text. */
static inline void scenario_outcome(struct scenario *s, char *text, size_t size)
{
    size_t n = 0;

    for (uint64_t i = 1; i <= SCENARIO_JOBS + 1; i++)
        n += (size_t)snprintf(text + n, size - n, "%s\n", app_rig_record(s->rig, i));
    app_must(n < size, "an outcome too long");
}

static inline uint32_t scenario_count(const char *text, const char *word)
{
    uint32_t n = 0;

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        n++;
    return n;
}

/* Every task ended once, and the books say so. */
static inline void scenario_check_ends(struct scenario *s)
{
    static const struct {
        const char *subject;
        uint32_t n;
    } tasks[] = {{"workload/1", 1},   {"workload/2/0", 1}, {"workload/2/1", 1}, {"workload/3/0", 1},
                 {"workload/3/1", 1}, {"workload/3/2", 1}, {"workload/4", 1}};

    for (size_t i = 0; i < WEIR_COUNT_OF(tasks); i++)
        app_must(scenario_count(app_rig_events(s->rig, tasks[i].subject), "workload.ended:") ==
                     tasks[i].n,
                 tasks[i].subject);
    for (uint32_t i = 0; i < s->rig->n_attempts; i++)
        app_must(s->rig->attempts[i].facts.phase == WEIR_SEEN_ENDED, "an attempt still runs");
    app_must(strcmp(app_rig_record(s->rig, SCENARIO_JOBS + 1), "none") == 0,
             "a job was made twice");
}

#endif

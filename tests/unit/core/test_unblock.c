/* What explain says would let a workload start does, tried on random worlds. WEIR_SEED=n tries
 * others, WEIR_FULL=1 more. */
#include "plan_text.h"

enum { WORLDS = 150 };

/* ---- what is named comes to pass ---- */

static void remove_job(struct bench *b, uint32_t row)
{
    const struct weir_world *view = weir_edit_view(b->edit);

    weir_edit_workload(b->edit, row)->cancelled = 1;
    for (uint32_t at = weir_world_workload(view, row)->first_task; at != WEIR_NONE;
         at = weir_world_task(view, at)->next_in_workload)
        if (weir_task_state_holds(weir_world_task(view, at)->state))
            weir_edit_task(b->edit, at)->ended = WEIR_END_STOPPED;
}

static void end_own_tasks(struct bench *b, uint32_t row)
{
    const struct weir_world *view = weir_edit_view(b->edit);

    for (uint32_t at = weir_world_workload(view, row)->first_task; at != WEIR_NONE;
         at = weir_world_task(view, at)->next_in_workload)
        if (weir_task_state_holds(weir_world_task(view, at)->state)) {
            weir_edit_task(b->edit, at)->ended = WEIR_END_EXITED;
            weir_edit_task(b->edit, at)->exit_status = 0;
        }
}

/* A node on which the whole of a job finds room. */
static void add_capacity(struct bench *b, const struct job_spec *job, int n)
{
    char name[32];
    int tasks = job->tasks > 0 ? job->tasks : 1;

    snprintf(name, sizeof(name), "n%d", 1000 + n);
    add_node(b, (struct node_spec){.name = name,
                                   .gpus = job->mgpu > 0 ? tasks : tasks * job->gpus,
                                   .class = job->class,
                                   .gpu_gib = 80,
                                   .cpus = 64,
                                   .gib = 512,
                                   .sharers = job->mgpu > 0 ? 4 : 1,
                                   .rack = name,
                                   .label = job->label});
}

static void let_end(struct bench *b, const struct weir_verdict *v, uint32_t i)
{
    uint32_t row = b->plan.ends[v->unblock_first_end + i].workload;

    if (row == v->workload)
        end_own_tasks(b, row);
    else
        remove_job(b, row);
}

static void let_all_end(struct bench *b, const struct weir_verdict *v, uint32_t but)
{
    for (uint32_t i = 0; i < v->unblock_n_ends; i++)
        if (i != but)
            let_end(b, v, i);
}

/* All of its cordons, but for one. */
static void uncordon(struct bench *b, const struct weir_verdict *v, uint32_t but)
{
    assert_true(v->unblock_n_cordons > 0 && v->unblock_n_more_cordons == 0);
    for (uint32_t i = 0; i < v->unblock_n_cordons; i++) {
        const struct weir_cordoned *cordon = &b->plan.cordons[v->unblock_first_cordon + i];

        if (i == 0)
            assert_true(cordon->kind == v->unblock_subject_kind &&
                        cordon->subject == v->unblock_subject);
        if (i == but)
            continue;
        if (cordon->kind == WEIR_SUBJECT_NODE)
            weir_edit_node(b->edit, cordon->subject)->phase = WEIR_NODE_READY;
        else
            weir_edit_device(b->edit, cordon->subject)->cordoned = 0;
    }
}

static void unblock(struct bench *b, const struct job_spec *job, const struct weir_verdict *v,
                    int n)
{
    switch ((enum weir_unblock_kind)v->unblock) {
    case WEIR_UNBLOCK_WAIT_FOR:
        let_all_end(b, v, WEIR_NONE);
        return;
    case WEIR_UNBLOCK_WAIT_FOR_ANY:
        let_end(b, v, 0);
        return;
    case WEIR_UNBLOCK_RAISE_LIMIT:
        weir_edit_queue(b->edit, v->unblock_subject)->limit.of[v->unblock_resource] =
            v->unblock_amount;
        return;
    case WEIR_UNBLOCK_UNCORDON:
        uncordon(b, v, WEIR_NONE);
        return;
    case WEIR_UNBLOCK_ADD_CAPACITY:
        add_capacity(b, job, n);
        return;
    case WEIR_UNBLOCK_WAIT_UNTIL:
        assert_true(v->unblock_amount > b->now.wall_ms);
        b->now.wall_ms = v->unblock_amount;
        return;
    case WEIR_UNBLOCK_RELEASE:
        weir_edit_workload(b->edit, v->unblock_subject)->held = 0;
        return;
    case WEIR_UNBLOCK_FOREIGN:
        assert_int_equal(v->unblock_subject_kind, WEIR_SUBJECT_DEVICE);
        assert_true(weir_edit_device(b->edit, v->unblock_subject)->n_foreign > 0 ||
                    weir_edit_device(b->edit, v->unblock_subject)->memory_foreign_bytes > 0);
        weir_edit_device(b->edit, v->unblock_subject)->n_foreign = 0;
        weir_edit_device(b->edit, v->unblock_subject)->memory_foreign_bytes = 0;
        return;
    case WEIR_UNBLOCK_NONE:
    case WEIR_UNBLOCK_MAX:
        break;
    }
    fail_msg("%s waits (%s), and nothing would unblock it:\n%s", job->name, why(b, job->name),
             plan_text(b));
}

/* ---- again and again ---- */

static uint32_t n_waiting(const struct bench *b, const char *job)
{
    return weir_world_workload(weir_edit_view(b->edit), job_at(b, job))->n_waiting;
}

static void starts_in_the_end(struct bench *b, const struct job_spec *job)
{
    for (int n = 0; n < 200; n++) {
        const struct weir_verdict *v;
        uint32_t waiting;

        decide(b);
        waiting = n_waiting(b, job->name);
        v = verdict_of(b, job->name);
        apply(b);
        if (n_waiting(b, job->name) < waiting)
            return;
        if (b->plan.n_actions == 0) {
            assert_non_null(v);
            unblock(b, job, v, n);
        }
        run_started(b);
        end_stopping(b);
        b->now.wall_ms++;
        b->now.mono_ms++;
    }
    fail_msg("%s does not start although all was done that would unblock it: %s", job->name,
             why(b, job->name));
}

static void what_would_unblock_does(void **state)
{
    uint64_t seed = test_seed(1);
    int n_tried = 0;

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;

        random_world(&w, seed + i);
        current = &w;
        for (int j = 0; j < w.n_jobs; j++) {
            struct bench b;

            build(&b, &w, 0);
            b.tell = plan_text;
            settle(&b, 200);
            if (n_waiting(&b, w.jobs[j].name) > 0) {
                starts_in_the_end(&b, &w.jobs[j]);
                n_tried++;
            }
            bench_finish(&b);
        }
    }
    print_message("# %d waiting jobs tried\n", n_tried);
    assert_true(n_tried > 100);
}

/* ---- the ends that are named: enough, and none too many ---- */

/* The world at rest, with `job` the only one that waits. False: it does not. */
static bool build_waiting(struct bench *b, const struct random_world *w, const char *job)
{
    build(b, w, 0);
    b->tell = plan_text;
    settle(b, 200);
    for (int i = 0; i < w->n_jobs; i++)
        if (strcmp(w->jobs[i].name, job) != 0 && n_waiting(b, w->jobs[i].name) > 0)
            weir_edit_workload(b->edit, job_at(b, w->jobs[i].name))->held = 1;
    settle(b, 200);
    decide(b);
    return n_waiting(b, job) > 0;
}

static bool waits_for_itself(const struct bench *b, const struct weir_verdict *v)
{
    for (uint32_t i = 0; i < v->unblock_n_ends; i++)
        if (b->plan.ends[v->unblock_first_end + i].workload == v->workload)
            return true;
    return false;
}

/* The first step is done. Where the limit of its queue was in the way, it is no more; and the rest
 * of a gang that is bound to no domain any more needs something else than an end. */
static bool is_further(const struct bench *b, const char *job, const struct weir_reason *before,
                       bool waited_for_itself)
{
    const struct weir_verdict *v = verdict_of(b, job);
    const struct weir_reason *now = &b->plan.reasons[v->blocking];

    if (waited_for_itself)
        return v->unblock == WEIR_UNBLOCK_UNCORDON || v->unblock == WEIR_UNBLOCK_ADD_CAPACITY;
    return before->level == WEIR_LEVEL_QUEUE &&
           (now->code != before->code || now->subject != before->subject);
}

/* The ends come to pass, but for one (or, of those of which any is enough, that one alone), and the
 * next decision is made: does it start, or is at least the first step done if all have come? */
static bool helps(const struct random_world *w, const char *job, uint32_t but, uint32_t but_cordon)
{
    const struct weir_verdict *v;
    struct weir_reason before;
    bool waited_for_itself;
    uint32_t waiting;
    struct bench b;
    bool r;

    assert_true(build_waiting(&b, w, job));
    v = verdict_of(&b, job);
    before = b.plan.reasons[v->blocking];
    waited_for_itself = v->unblock_n_ends == 1 && waits_for_itself(&b, v);
    waiting = n_waiting(&b, job);
    if (v->unblock == WEIR_UNBLOCK_WAIT_FOR_ANY)
        let_end(&b, v, but);
    else
        let_all_end(&b, v, but);
    if (v->unblock == WEIR_UNBLOCK_UNCORDON)
        uncordon(&b, v, but_cordon);
    tick(&b);
    r = n_waiting(&b, job) < waiting || (but == WEIR_NONE && but_cordon == WEIR_NONE &&
                                         is_further(&b, job, &before, waited_for_itself));
    bench_finish(&b);
    return r;
}

static void check_ends(const struct random_world *w, const char *job, const struct weir_verdict *v)
{
    if (v->unblock != WEIR_UNBLOCK_WAIT_FOR_ANY && !helps(w, job, WEIR_NONE, WEIR_NONE))
        fail_msg("%s waits, and all that is named does not help", job);
    for (uint32_t i = 0; i < v->unblock_n_ends; i++)
        if (helps(w, job, i, WEIR_NONE) != (v->unblock == WEIR_UNBLOCK_WAIT_FOR_ANY))
            fail_msg("%s waits, and end %u of %u is %s", job, i, v->unblock_n_ends,
                     v->unblock == WEIR_UNBLOCK_WAIT_FOR_ANY ? "not enough" : "not needed");
    for (uint32_t i = 0; i < v->unblock_n_cordons; i++)
        if (helps(w, job, WEIR_NONE, i))
            fail_msg("%s waits, and cordon %u of %u is not needed", job, i, v->unblock_n_cordons);
}

static void the_ends_that_are_named_suffice(void **state)
{
    uint64_t seed = test_seed(1);
    int n_tried[WEIR_UNBLOCK_MAX] = {0};
    int n_several = 0;
    int n_own = 0;

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;

        random_world(&w, seed + i);
        current = &w;
        for (int j = 0; j < w.n_jobs; j++) {
            const char *job = w.jobs[j].name;
            struct bench b;

            if (build_waiting(&b, &w, job)) {
                const struct weir_verdict *v = verdict_of(&b, job);

                assert_int_equal(b.plan.n_actions, 0);
                assert_int_equal(v->unblock_n_more_ends, 0);
                if (v->unblock_n_ends + v->unblock_n_cordons > 0) {
                    assert_true(v->unblock == WEIR_UNBLOCK_UNCORDON ||
                                b.plan.ends[v->unblock_first_end].workload == v->unblock_subject);
                    check_ends(&w, job, v);
                    n_tried[v->unblock]++;
                    n_several += v->unblock_n_ends > 1;
                    n_own += waits_for_itself(&b, v);
                }
            }
            bench_finish(&b);
        }
    }
    print_message("# ends alone: %d, beside a cordon: %d; several: %d, of itself: %d\n",
                  n_tried[WEIR_UNBLOCK_WAIT_FOR], n_tried[WEIR_UNBLOCK_UNCORDON], n_several, n_own);
    assert_true(n_tried[WEIR_UNBLOCK_WAIT_FOR] > 100 && n_several > 20);
}

/* ---- who is leaving ---- */

/* Those of its tasks that were asked to leave have left. */
static void let_leave(struct bench *b, uint32_t row)
{
    const struct weir_world *view = weir_edit_view(b->edit);

    for (uint32_t at = weir_world_workload(view, row)->first_task; at != WEIR_NONE;
         at = weir_world_task(view, at)->next_in_workload)
        if (weir_world_task(view, at)->state == WEIR_TASK_STOPPING)
            weir_edit_task(b->edit, at)->ended = WEIR_END_STOPPED;
}

static bool starts(const struct bench *b, uint32_t workload)
{
    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        if (b->plan.actions[i].kind == WEIR_ACTION_START && b->plan.actions[i].workload == workload)
            return true;
    return false;
}

/* All others that wait are held, or none is. */
static void hold_others(struct bench *b, uint32_t workload, uint32_t held)
{
    const struct weir_world *view = weir_edit_view(b->edit);

    for (uint32_t i = weir_world_first(view, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(view, WEIR_TABLE_WORKLOADS, i))
        if (i != workload && weir_world_workload(view, i)->n_waiting > 0)
            weir_edit_workload(b->edit, i)->held = held;
}

/* The only one for whom others leave, or NULL. */
static const struct weir_verdict *only_evicting(const struct bench *b)
{
    const struct weir_verdict *found = NULL;

    for (uint32_t i = 0; i < b->plan.n_verdicts; i++) {
        const struct weir_verdict *v = &b->plan.verdicts[i];

        if (b->plan.reasons[v->blocking].code != WEIR_REASON_EVICTING)
            continue;
        if (found != NULL)
            return NULL;
        found = v;
    }
    return found;
}

/* The first that waits for any of several, or NULL. */
static const struct weir_verdict *first_for_any(const struct bench *b)
{
    for (uint32_t i = 0; i < b->plan.n_verdicts; i++)
        if (b->plan.verdicts[i].unblock == WEIR_UNBLOCK_WAIT_FOR_ANY)
            return &b->plan.verdicts[i];
    return NULL;
}

/* Decides, lets leave who is named for one workload, or lets one end of which any is enough, and
 * decides again: it starts. Returns what was waited for. */
static enum weir_unblock_kind leave_for_one(struct bench *b, struct weir_rng *rng)
{
    const struct weir_verdict *v;
    enum weir_unblock_kind kind;
    uint32_t workload;

    tick(b);
    v = first_for_any(b);
    if (v == NULL)
        v = only_evicting(b);
    if (v == NULL)
        return WEIR_UNBLOCK_NONE;
    workload = v->workload;
    kind = (enum weir_unblock_kind)v->unblock;
    assert_true(v->unblock_n_ends > 0 && v->unblock_n_more_ends == 0);
    if (kind == WEIR_UNBLOCK_WAIT_FOR_ANY)
        let_end(b, v, (uint32_t)pick(rng, (int)v->unblock_n_ends));
    for (uint32_t i = 0; kind == WEIR_UNBLOCK_WAIT_FOR && i < v->unblock_n_ends; i++)
        let_leave(b, b->plan.ends[v->unblock_first_end + i].workload);
    hold_others(b, workload, 1);
    tick(b);
    if (!starts(b, workload))
        fail_msg("those named have left for %s, and it does not start:\n%s",
                 job_name(b, current, workload), plan_text(b));
    hold_others(b, workload, 0);
    return kind;
}

static void those_named_as_leaving_suffice(void **state)
{
    uint64_t seed = test_seed(1);
    int n_tried[WEIR_UNBLOCK_MAX] = {0};

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;
        struct bench b;

        random_world(&w, seed + i);
        current = &w;
        build(&b, &w, 0);
        b.tell = plan_text;
        for (int round = 0; round < 20; round++) {
            n_tried[leave_for_one(&b, &w.rng)]++;
            run_started(&b);
            for (int j = 0; j < w.n_jobs; j++)
                if (one_in(&w.rng, 4))
                    weir_edit_workload(b.edit, job_at(&b, w.jobs[j].name))->priority =
                        pick(&w.rng, 6);
            if (one_in(&w.rng, 4))
                end_stopping(&b);
            b.now.wall_ms++;
            b.now.mono_ms++;
        }
        bench_finish(&b);
    }
    print_message("# all of those named have left: %d, any: %d\n", n_tried[WEIR_UNBLOCK_WAIT_FOR],
                  n_tried[WEIR_UNBLOCK_WAIT_FOR_ANY]);
    assert_true(n_tried[WEIR_UNBLOCK_WAIT_FOR] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_would_unblock_does),
        cmocka_unit_test(the_ends_that_are_named_suffice),
        cmocka_unit_test(those_named_as_leaving_suffice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

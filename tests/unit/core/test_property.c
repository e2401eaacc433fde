/* What holds of every decision, tried on random worlds. WEIR_SEED=n tries others, WEIR_FULL=1 more.
 */
#include "plan_text.h"

#include "core/admit.h"

enum { WORLDS = 150, RESTS = 1000, ROUNDS = 30 };

/* ---- invariants of the world after each step ---- */

static void check_devices(const struct weir_world *world)
{
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i)) {
        const struct weir_device *device = weir_world_device(world, i);
        int64_t mgpu = 0;
        int64_t memory = 0;
        uint32_t n = 0;
        bool whole = false;

        for (uint32_t at = device->first_hold; at != WEIR_NONE;
             at = weir_world_hold(world, at)->next_of_device) {
            const struct weir_hold *hold = weir_world_hold(world, at);

            mgpu += hold->part_mgpu;
            memory += hold->memory_bytes;
            whole |= hold->part_mgpu == 1000;
            n++;
        }
        assert_true(mgpu <= 1000);
        assert_true(memory <= device->memory_bytes);
        assert_true(n <= device->max_sharers);
        assert_true(!whole || n == 1);
        assert_int_equal(mgpu, device->held_mgpu);
        assert_int_equal(n, device->n_sharers);
    }
}

static void check_nodes(const struct weir_world *world)
{
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_NODES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_NODES, i)) {
        const struct weir_node *node = weir_world_node(world, i);

        for (uint32_t r = 0; r < weir_world_n_resources(world); r++)
            assert_true(node->held.of[r] <= node->capacity.of[r]);
    }
}

static void check_queues(const struct weir_world *world)
{
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_QUEUES); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_QUEUES, i)) {
        const struct weir_queue *queue = weir_world_queue(world, i);

        for (uint32_t r = 0; r < weir_world_n_resources(world); r++)
            assert_true(queue->held.of[r] <= queue->limit.of[r]);
    }
}

/* Of a gang either enough runs, or what runs was asked to leave. */
static void check_gangs(const struct bench *b, const struct weir_world *world)
{
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_WORKLOADS, i)) {
        const struct weir_workload *job = weir_world_workload(world, i);
        uint32_t min = job->gang_min == 0 ? job->n_tasks : job->gang_min;
        uint32_t n_going = 0;
        uint32_t n_succeeded = 0;

        if (job->independent)
            continue;
        for (uint32_t at = job->first_task; at != WEIR_NONE;
             at = weir_world_task(world, at)->next_in_workload) {
            uint32_t state = weir_world_task(world, at)->state;

            n_going += state == WEIR_TASK_STARTING || state == WEIR_TASK_RUNNING;
            n_succeeded += state == WEIR_TASK_SUCCEEDED;
        }
        if (n_going > 0 && n_going + n_succeeded < min)
            fail_msg("%s is half a gang: %u run, %u succeeded, of %u:\n%s", job_name(b, current, i),
                     n_going, n_succeeded, min, plan_text(b));
    }
}

static void check_racks(const struct weir_world *world)
{
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_WORKLOADS, i)) {
        const struct weir_workload *job = weir_world_workload(world, i);
        uint32_t rack = WEIR_NONE;

        if (job->topology.required != WEIR_TOPOLOGY_RACK || job->n_tasks == 1)
            continue;
        for (uint32_t at = job->first_task; at != WEIR_NONE;
             at = weir_world_task(world, at)->next_in_workload) {
            const struct weir_task *task = weir_world_task(world, at);
            uint32_t own;

            if (task->state != WEIR_TASK_STARTING && task->state != WEIR_TASK_RUNNING)
                continue;
            own = weir_world_node(world, task->node)->topology[WEIR_TOPOLOGY_RACK];
            assert_true(own != WEIR_NONE);
            assert_true(rack == WEIR_NONE || own == rack);
            rack = own;
        }
    }
}

static void check_world(const struct bench *b)
{
    const struct weir_world *world = weir_edit_view(b->edit);

    check_devices(world);
    check_nodes(world);
    check_queues(world);
    check_gangs(b, world);
    check_racks(world);
}

/* A queue that something is reclaimed from keeps what is guaranteed to it. */
static void check_reclaims(const struct bench *b)
{
    int64_t taken[QUEUES_MAX] = {0};
    int64_t given[QUEUES_MAX] = {0};

    for (uint32_t i = 0; i < b->plan.n_actions; i++) {
        const struct weir_action *a = &b->plan.actions[i];
        const struct weir_task *task = weir_world_task(b->world, a->task);
        const struct weir_role *role = weir_world_role(b->world, task->role);
        const struct weir_shape *shape = weir_world_shape(b->world, role->shape);

        if (a->kind == WEIR_ACTION_EVICT && a->cause == WEIR_CAUSE_RECLAIMED &&
            shape->n_devices > 0)
            taken[weir_world_workload(b->world, a->workload)->queue] +=
                shape->device_mgpu * shape->n_devices;
        if (a->kind == WEIR_ACTION_START && shape->n_devices > 0)
            given[weir_world_workload(b->world, a->workload)->queue] +=
                shape->device_mgpu * shape->n_devices;
    }
    for (uint32_t q = 0; q < QUEUES_MAX; q++) {
        const struct weir_queue *queue;
        int64_t left;

        if (taken[q] == 0)
            continue;
        queue = weir_world_queue(b->world, q);
        left = queue->held.of[WEIR_RES_GPU] + given[q] - taken[q];
        if (left < queue->guaranteed.of[WEIR_RES_GPU])
            fail_msg("queue %u is left with %lld of %lld:\n%s", q, (long long)left,
                     (long long)queue->guaranteed.of[WEIR_RES_GPU], plan_text(b));
    }
}

/* What foreign processes use is not given out, and no GPU whole that they are on. */
static void check_foreign(const struct bench *b)
{
    const struct weir_world *after = weir_edit_view(b->edit);

    for (uint32_t i = 0; i < b->plan.n_actions; i++) {
        const struct weir_action *a = &b->plan.actions[i];

        for (uint32_t g = 0; a->kind == WEIR_ACTION_START && g < a->n_grants; g++) {
            const struct weir_grant *grant = &b->plan.grants[a->first_grant + g];
            const struct weir_device *device = weir_world_device(after, grant->device);

            if (grant->part_mgpu == 1000)
                assert_int_equal(device->n_foreign, 0);
            else if (grant->memory_bytes > 0)
                assert_true(device->held_memory_bytes + device->memory_foreign_bytes <=
                            device->memory_bytes);
        }
    }
}

/* Who is stopped for its memory went on using too much of it, and was not in a queue that lets it
 * pass; nobody is told twice. */
static void check_budgets(const struct bench *b)
{
    for (uint32_t i = 0; i < b->plan.n_actions; i++) {
        const struct weir_action *a = &b->plan.actions[i];
        const struct weir_task *task = weir_world_task(b->world, a->task);
        uint32_t queue = weir_world_workload(b->world, a->workload)->queue;
        const struct weir_hold *hold;

        if (a->kind != WEIR_ACTION_NOTIFY &&
            (a->kind != WEIR_ACTION_STOP || a->cause != WEIR_CAUSE_OVER_BUDGET))
            continue;
        assert_true(task->first_hold != WEIR_NONE);
        hold = weir_world_hold(b->world, task->first_hold);
        if (a->kind == WEIR_ACTION_NOTIFY) {
            assert_int_equal(hold->is_warned, a->cause == WEIR_CAUSE_WITHIN_BUDGET);
            continue;
        }
        assert_true(hold->n_over >= 2 && hold->used_bytes > hold->memory_bytes);
        assert_int_equal(weir_world_over_budget(b->world, queue), WEIR_OVER_BUDGET_STOP);
    }
}

/* ---- what may happen to a world ---- */

/* One more sample of every device. */
static void sample(struct bench *b, struct weir_rng *rng)
{
    const struct weir_world *view = weir_edit_view(b->edit);

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_HOLDS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_HOLDS, at))
        must(weir_edit_hold_use(b->edit, at, (int64_t)pick(rng, 35) << GIB_BITS));
    for (uint32_t at = weir_world_first(view, WEIR_TABLE_DEVICES); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_DEVICES, at)) {
        struct weir_device *device = one_in(rng, 4) ? weir_edit_device(b->edit, at) : NULL;

        if (device == NULL)
            continue;
        device->n_foreign = one_in(rng, 4) ? 1 : 0;
        device->memory_foreign_bytes = one_in(rng, 2) ? 0 : (int64_t)pick(rng, 40) << GIB_BITS;
    }
}

static void event(struct bench *b, struct random_world *w)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    struct weir_rng *rng = &w->rng;
    static const enum weir_end ends[] = {WEIR_END_EXITED,      WEIR_END_EXITED,
                                         WEIR_END_LOST,        WEIR_END_OUT_OF_MEMORY,
                                         WEIR_END_NOT_STARTED, WEIR_END_TIME_LIMIT};

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_TASKS, at)) {
        uint32_t state = weir_world_task(view, at)->state;
        struct weir_task *task;

        if (!weir_task_state_holds(state) || !one_in(rng, state == WEIR_TASK_STOPPING ? 2 : 8))
            continue;
        task = weir_edit_task(b->edit, at);
        task->ended = state == WEIR_TASK_STOPPING ? WEIR_END_STOPPED : ends[pick(rng, 6)];
        task->exit_status = one_in(rng, 3) ? 1 : 0;
    }
    if (one_in(rng, 4))
        weir_edit_workload(b->edit, job_at(b, w->jobs[pick(rng, w->n_jobs)].name))->cancelled = 1;
    if (one_in(rng, 3)) {
        static const enum weir_node_phase phases[] = {WEIR_NODE_READY, WEIR_NODE_READY,
                                                      WEIR_NODE_CORDONED, WEIR_NODE_DRAINING};
        const char *node = w->nodes[pick(rng, w->n_nodes)].name;

        weir_edit_node(b->edit, node_at(b, node))->phase = phases[pick(rng, 4)];
    }
    b->now.wall_ms += pick(rng, 3000);
    b->now.mono_ms += pick(rng, 3000);
}

static void holds_in_every_world(void **state)
{
    uint64_t seed = test_seed(1);

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;
        struct bench b;

        random_world(&w, seed + i);
        current = &w;
        build(&b, &w, 0);
        b.tell = plan_text;
        for (int round = 0; round < ROUNDS; round++) {
            tick(&b);
            check_reclaims(&b);
            check_foreign(&b);
            check_budgets(&b);
            check_world(&b);
            run_started(&b);
            event(&b, &w);
            if (one_in(&w.rng, 2))
                sample(&b, &w.rng);
        }
        /* Left alone it comes to rest: nobody takes turns in asking each other to leave. */
        settle(&b, 200);
        check_world(&b);
        bench_finish(&b);
    }
}

/* For whom others were asked to leave, starts when they have left, if nothing else happens. */
static void check_starts(const struct bench *b, const bool owed[JOBS_MAX])
{
    bool starts[JOBS_MAX] = {false};

    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        if (b->plan.actions[i].kind == WEIR_ACTION_START)
            starts[b->plan.actions[i].workload] = true;
    for (uint32_t i = 0; i < JOBS_MAX; i++)
        if (owed[i] && !starts[i])
            fail_msg("others left for %s, and it does not start:\n%s", job_name(b, current, i),
                     plan_text(b));
}

static void note_owed(const struct bench *b, bool owed[JOBS_MAX])
{
    memset(owed, 0, JOBS_MAX * sizeof(owed[0]));
    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        if (b->plan.actions[i].for_whom != WEIR_NONE)
            owed[b->plan.actions[i].for_whom] = true;
}

/* What is asked to leave leaves at once, or (`slowly`) one now, one then. Returns how many leave.
 */
static uint32_t let_leave(struct bench *b, struct weir_rng *rng, bool slowly)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    uint32_t n = 0;

    if (!slowly)
        return end_stopping(b);
    for (uint32_t at = weir_world_first(view, WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_TASKS, at)) {
        if (weir_world_task(view, at)->state != WEIR_TASK_STOPPING)
            continue;
        n++;
        if (one_in(rng, 3))
            weir_edit_task(b->edit, at)->ended = WEIR_END_STOPPED;
    }
    return n;
}

static uint64_t come_to_rest(struct bench *b, struct weir_rng *rng, bool slowly)
{
    bool owed[JOBS_MAX] = {false};

    for (uint64_t round = 1; round < 1000; round++) {
        tick(b);
        if (!slowly)
            check_starts(b, owed);
        note_owed(b, owed);
        if (b->plan.n_actions + run_started(b) + let_leave(b, rng, slowly) == 0)
            return round;
        b->now.wall_ms++;
        b->now.mono_ms++;
    }
    fail_msg("the world does not come to rest:\n%s", plan_text(b));
    return 0;
}

/* No arrivals, no ends but of what is asked to leave: however a world begins, it comes to rest. */
static void no_one_takes_turns(void **state)
{
    uint64_t seed = test_seed(100000);
    uint64_t n_decisions = 0;

    (void)state;
    for (uint64_t i = 0; i < more_if_full(RESTS); i++) {
        struct random_world w;
        struct bench b;

        random_world(&w, seed + i);
        current = &w;
        build(&b, &w, 0);
        n_decisions += come_to_rest(&b, &w.rng, i % 2 == 1);
        /* Shaken once: jobs end, and others become more urgent. */
        event(&b, &w);
        sample(&b, &w.rng);
        for (int j = 0; j < w.n_jobs; j++)
            if (one_in(&w.rng, 3))
                weir_edit_workload(b.edit, job_at(&b, w.jobs[j].name))->priority = pick(&w.rng, 6);
        n_decisions += come_to_rest(&b, &w.rng, i % 2 == 1);
        bench_finish(&b);
    }
    print_message("# %llu decisions\n", (unsigned long long)n_decisions);
}

/* Decided on twice: the same bytes. */
static void decide_twice(struct bench *b)
{
    struct weir_buf first = WEIR_BUF_INIT(1 << 26);
    struct weir_buf second = WEIR_BUF_INIT(1 << 26);
    uint8_t digests[2][16];

    decide(b);
    weir_plan_digest(&b->plan, digests[0]);
    assert_int_equal(weir_plan_write(&b->plan, &first), 0);
    decide(b);
    b->plan.world_version--; /* sealed once more */
    weir_plan_digest(&b->plan, digests[1]);
    assert_int_equal(weir_plan_write(&b->plan, &second), 0);
    b->plan.world_version++;
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
    assert_memory_equal(digests[0], digests[1], 16);
    weir_buf_finish(&first);
    weir_buf_finish(&second);
}

static void go_on(struct bench *b)
{
    apply(b);
    run_started(b);
    end_stopping(b);
}

/* What became more urgent in the one becomes so in the other, and some are asked to leave. */
static void shake_both(struct bench *b, struct bench *other, struct random_world *w)
{
    for (int i = 0; i < w->n_jobs; i++) {
        int32_t priority = pick(&w->rng, 6);

        weir_edit_workload(b->edit, job_at(b, w->jobs[i].name))->priority = priority;
        weir_edit_workload(other->edit, job_at(other, w->jobs[i].name))->priority = priority;
    }
}

/* One world, built in two orders, is one world. */
static void same_world_same_plan(void **state)
{
    uint64_t seed = test_seed(1);
    int n_evictions = 0;

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;
        struct bench b;
        struct bench other;

        random_world(&w, seed + i);
        build(&b, &w, 0);
        build(&other, &w, 1 + i);
        for (int round = 0; round < 10; round++) {
            struct weir_buf x = WEIR_BUF_INIT(1 << 26);
            struct weir_buf y = WEIR_BUF_INIT(1 << 26);
            bool owed[JOBS_MAX];

            decide_twice(&b);
            decide(&other);
            put_plan(&b, &w, &x);
            put_plan(&other, &w, &y);
            assert_string_equal(weir_buf_cstr(&x), weir_buf_cstr(&y));
            weir_buf_finish(&x);
            weir_buf_finish(&y);
            note_owed(&b, owed);
            n_evictions += memchr(owed, true, sizeof(owed)) != NULL;
            go_on(&b);
            go_on(&other);
            if (round == 3)
                shake_both(&b, &other, &w);
        }
        bench_finish(&b);
        bench_finish(&other);
    }
    print_message("# %d decisions asked others to leave\n", n_evictions);
    assert_true(n_evictions > 20);
}

/* ---- admission ---- */

static int admit_alone(struct bench *b, const struct job_spec *job)
{
    struct weir_arena scratch = WEIR_ARENA_INIT;
    struct weir_refusal refusal;
    struct weir_role roles[2];
    struct weir_shape shapes[2];
    uint32_t n_roles = roles_of(b, job, roles, shapes);
    struct weir_workload workload = workload_of(b, job);
    struct weir_ask ask = {&workload, roles, shapes, n_roles};
    int r = weir_admit(weir_edit_view(b->edit), &b->policy, &ask, &scratch, &refusal, NULL);

    weir_arena_finish(&scratch);
    return r;
}

/* What is admitted starts where nothing else is in the way, and nothing else does: but for the
 * first part of a gang whose second could never run. */
static void admits_what_can_start(void **state)
{
    uint64_t seed = test_seed(1);
    int n_refused = 0;
    int n_admitted = 0;

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;

        random_world(&w, seed + i);
        for (int n = 0; n < w.n_nodes; n++) {
            w.nodes[n].phase = WEIR_NODE_READY;
            w.nodes[n].foreign = 0;
        }
        for (int j = 0; j < w.n_jobs; j++) {
            struct random_world alone = w;
            struct bench b;
            bool admitted;
            bool started;

            alone.n_jobs = 0;
            alone.jobs[j].held = false;
            alone.jobs[j].begin_ms = 0;
            build(&b, &alone, 0);
            admitted = admit_alone(&b, &alone.jobs[j]) == 0;
            add_job(&b, alone.jobs[j]);
            tick(&b);
            started = strchr(states(&b, w.jobs[j].name), 'S') != NULL;
            if (admitted ? !started : started && w.jobs[j].lead_cpus == 0)
                fail_msg("%s is %s, and then: %s (%s)", w.jobs[j].name,
                         admitted ? "admitted" : "refused", states(&b, w.jobs[j].name),
                         why(&b, w.jobs[j].name));
            n_admitted += admitted;
            n_refused += !admitted;
            bench_finish(&b);
        }
    }
    print_message("# %d admitted, %d refused\n", n_admitted, n_refused);
    assert_true(n_admitted > 100 && n_refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_in_every_world),
        cmocka_unit_test(no_one_takes_turns),
        cmocka_unit_test(same_world_same_plan),
        cmocka_unit_test(admits_what_can_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

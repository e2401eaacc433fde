/* What must hold of GPUs that are cut and shared, whatever happens, tried on random worlds.
 * WEIR_SEED=n tries others, WEIR_FULL=1 more. */
#include "core/admit.h"
#include "mig_world.h"
#include "model/world_check.h"
#include "plan_text.h"

enum { WORLDS = 150, ROUNDS = 25 };

static const char *const profiles[] = {"1g.5gb",  "1g.10gb",   "2g.10gb", "3g.20gb", "4g.20gb",
                                       "7g.40gb", "1g.5gb+me", "1g.6gb",  "2g.12gb", "2g.20gb"};

static void make_node_special(struct random_world *w, struct node_spec *node)
{
    static const char *const layouts[] = {
        NULL, NULL, NULL, "3g.20gb 3g.20gb", "1g.5gb 1g.5gb 2g.10gb 3g.20gb", "4g.20gb 1g.10gb"};
    const struct weir_mig_offer *(*const geometries[])(struct bench *, uint32_t *) = {
        offers_a100, offers_a100, offers_h100, offers_a30};
    struct weir_rng *rng = &w->rng;

    node->foreign = one_in(rng, 3) ? node->foreign : 0;
    if (one_in(rng, 3)) {
        node->can_mps = true;
        node->sharers = 4;
        node->sharing = (enum weir_sharing)pick(rng, 4);
        node->replicas = node->sharing == WEIR_SHARING_REPLICAS ? 2 + pick(rng, 3) : 0;
        return;
    }
    node->offers = geometries[pick(rng, 4)];
    node->mig = one_in(rng, 4) ? WEIR_MIG_OFF : WEIR_MIG_ON;
    node->mig_wanted = (enum weir_mig_mode)(one_in(rng, 3) ? pick(rng, 3) : WEIR_MIG_NONE);
    node->layout = node->offers == offers_a100 ? layouts[pick(rng, 6)] : NULL;
    node->gpus = node->gpus > 4 ? 4 : node->gpus;
}

static void make_job_special(struct random_world *w, struct job_spec *job)
{
    static const char *const owners[] = {"ann", "bob", NULL};
    struct weir_rng *rng = &w->rng;

    job->owner = owners[pick(rng, 3)];
    if (one_in(rng, 2))
        return;
    job->gpu_gib = 0;
    job->class = NULL;
    if (one_in(rng, 4)) {
        job->gpus = 0;
        job->mgpu = 200;
        job->gpu_gib = 1 + pick(rng, 20);
        job->isolation = one_in(rng, 2) ? WEIR_ISOLATION_HARDWARE : WEIR_ISOLATION_MEMORY;
        return;
    }
    job->mgpu = 0;
    job->isolation = WEIR_ISOLATION_NONE;
    job->gpus = 1 + one_in(rng, 4);
    job->mig = profiles[pick(rng, (int)WEIR_COUNT_OF(profiles))];
}

static void random_mig_world(struct random_world *w, uint64_t seed)
{
    random_world(w, seed);
    for (int i = 0; i < w->n_nodes; i++)
        if (!one_in(&w->rng, 4))
            make_node_special(w, &w->nodes[i]);
    for (int j = 0; j < w->n_jobs; j++)
        make_job_special(w, &w->jobs[j]);
    current = w;
}

/* ---- what must hold ---- */

static void check_slots(const struct weir_world *view)
{
    static uint16_t taken[1 << 16];
    uint32_t n_rows = weir_world_table(view, WEIR_TABLE_DEVICES)->n_rows;

    memset(taken, 0, n_rows * sizeof(taken[0]));
    for (uint32_t at = weir_world_first(view, WEIR_TABLE_DEVICES); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_DEVICES, at)) {
        const struct weir_device *row = weir_world_device(view, at);

        if (row->kind != WEIR_DEVICE_MIG)
            continue;
        assert_int_equal(taken[row->parent] & row->slots, 0);
        taken[row->parent] |= row->slots;
        assert_true(row->n_sharers == 0 || row->phase == WEIR_DEVICE_THERE);
        assert_int_equal(weir_world_device(view, row->parent)->n_sharers, 0);
    }
}

/* Who shares a GPU under MPS is one user, and all who must be walled off are. */
static void check_sharers(const struct weir_world *view)
{
    for (uint32_t at = weir_world_first(view, WEIR_TABLE_HOLDS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_HOLDS, at)) {
        const struct weir_hold *hold = weir_world_hold(view, at);
        const struct weir_device *device = weir_world_device(view, hold->device);
        const struct weir_task *task = weir_world_task(view, hold->task);
        const struct weir_workload *job = weir_world_workload(view, task->workload);
        const struct weir_shape *shape =
            weir_world_shape(view, weir_world_role(view, task->role)->shape);

        assert_int_equal(device->mig != WEIR_MIG_ON || device->kind == WEIR_DEVICE_MIG, true);
        if (device->sharing == WEIR_SHARING_REPLICAS && device->replicas > 0)
            assert_true(hold->part_mgpu == 1000 / device->replicas &&
                        device->n_sharers <= device->replicas);
        if (shape->isolation == WEIR_ISOLATION_HARDWARE && shape->device_mgpu < 1000)
            assert_true(device->kind == WEIR_DEVICE_MIG &&
                        device->memory_bytes >= shape->device_memory_bytes);
        if (shape->isolation == WEIR_ISOLATION_MEMORY && shape->device_mgpu < 1000 &&
            device->can_mps)
            assert_int_equal(device->mps, WEIR_MPS_ON);
        for (uint32_t other = device->first_hold; device->mps == WEIR_MPS_ON && other != WEIR_NONE;
             other = weir_world_hold(view, other)->next_of_device) {
            const struct weir_task *neighbour =
                weir_world_task(view, weir_world_hold(view, other)->task);

            assert_int_equal(weir_world_workload(view, neighbour->workload)->owner, job->owner);
        }
    }
}

/* Once it is carried out: what has ended in this decision has let go, and nobody else is there. */
static void check_unheld(const struct bench *b)
{
    for (uint32_t i = 0; i < b->plan.n_actions; i++)
        if (b->plan.actions[i].device != WEIR_NONE)
            assert_int_equal(
                weir_world_device(weir_edit_view(b->edit), b->plan.actions[i].device)->n_sharers,
                0);
}

/* Before the plan is carried out: nothing of others is touched, nothing is begun twice. */
static void check_device_actions(const struct bench *b)
{
    for (uint32_t i = 0; i < b->plan.n_actions; i++) {
        const struct weir_action *a = &b->plan.actions[i];
        const struct weir_device *row;

        if (a->device == WEIR_NONE)
            continue;
        row = weir_world_device(b->world, a->device);
        assert_true(row->change_not_before_wall_ms <= b->now.wall_ms);
        assert_int_equal(row->phase, WEIR_DEVICE_THERE);
        if (a->kind == WEIR_ACTION_RESHAPE && a->reshape == WEIR_RESHAPE_CREATE) {
            assert_int_equal(row->slots_used & a->slots, 0);
            continue;
        }
        if (a->kind == WEIR_ACTION_RESHAPE)
            assert_int_equal(row->n_foreign, 0);
        for (uint32_t other = 0; other < b->plan.n_actions; other++) {
            const struct weir_action *o = &b->plan.actions[other];

            if (other != i && o->device == a->device)
                fail_msg("begun twice:\n%s", plan_text(b));
            for (uint32_t g = 0; g < o->n_grants; g++)
                assert_int_not_equal(b->plan.grants[o->first_grant + g].device, a->device);
        }
    }
}

static void check_all(struct bench *b)
{
    struct weir_err err = WEIR_ERR_INIT;
    const struct weir_world *world = weir_edit_seal(b->edit);

    assert_non_null(world);
    if (weir_world_check(world, &err) < 0)
        fail_msg("%s", err.text);
    check_slots(world);
    check_sharers(world);
    weir_world_unref(world);
}

/* ---- what may happen ---- */

static void end_some(struct bench *b, struct weir_rng *rng)
{
    const struct weir_world *view = weir_edit_view(b->edit);

    for (uint32_t at = weir_world_first(view, WEIR_TABLE_TASKS); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_TASKS, at)) {
        uint32_t state = weir_world_task(view, at)->state;

        if (weir_task_state_holds(state) && one_in(rng, state == WEIR_TASK_STOPPING ? 2 : 8))
            weir_edit_task(b->edit, at)->ended =
                state == WEIR_TASK_STOPPING ? WEIR_END_STOPPED : WEIR_END_EXITED;
    }
}

static void event(struct bench *b, struct random_world *w)
{
    const struct weir_world *view = weir_edit_view(b->edit);
    struct weir_rng *rng = &w->rng;

    end_some(b, rng);
    for (uint32_t at = weir_world_first(view, WEIR_TABLE_DEVICES); at != WEIR_NONE;
         at = weir_world_after(view, WEIR_TABLE_DEVICES, at)) {
        struct weir_device *row = one_in(rng, 12) ? weir_edit_device(b->edit, at) : NULL;

        if (row == NULL)
            continue;
        if (row->kind == WEIR_DEVICE_WHOLE && row->mig != WEIR_MIG_NONE && one_in(rng, 2))
            row->mig_wanted = (uint32_t)pick(rng, WEIR_MIG_MODE_MAX);
        else if (row->phase == WEIR_DEVICE_THERE)
            row->n_foreign = one_in(rng, 3);
        row->cordoned = one_in(rng, 5);
    }
    for (int j = 0; j < w->n_jobs; j++)
        if (one_in(rng, 6))
            weir_edit_workload(b->edit, job_at(b, w->jobs[j].name))->priority = pick(rng, 6);
    b->now.wall_ms += pick(rng, 1500);
    b->now.mono_ms += pick(rng, 1500);
}

static void holds_in_every_world(void **state)
{
    uint64_t seed = test_seed(1);
    int n_reshapes[WEIR_RESHAPE_MAX] = {0};
    int n_shares[2] = {0};
    uint64_t n_rounds = 0;

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;
        struct bench b;

        random_mig_world(&w, seed + i);
        build(&b, &w, 0);
        b.tell = plan_text;
        for (int round = 0; round < ROUNDS; round++) {
            decide(&b);
            check_device_actions(&b);
            for (uint32_t k = 0; k < b.plan.n_actions; k++) {
                const struct weir_action *a = &b.plan.actions[k];

                if (a->kind == WEIR_ACTION_RESHAPE)
                    n_reshapes[a->reshape]++;
                if (a->kind == WEIR_ACTION_SHARE)
                    n_shares[a->amount]++;
            }
            apply(&b);
            check_unheld(&b);
            check_all(&b);
            run_started(&b);
            drive(&b, &w.rng, 2, 8);
            event(&b, &w);
            check_all(&b);
        }
        n_rounds += (uint64_t)settle_all(&b, 300);
        /* What could not be changed for a while can be now. */
        b.now.wall_ms += 5000;
        n_rounds += (uint64_t)settle_all(&b, 300);
        check_all(&b);
        bench_finish(&b);
    }
    print_message("# enabled %d, disabled %d, created %d, destroyed %d; MPS on %d, off %d; at rest "
                  "after %llu rounds\n",
                  n_reshapes[WEIR_RESHAPE_ENABLE], n_reshapes[WEIR_RESHAPE_DISABLE],
                  n_reshapes[WEIR_RESHAPE_CREATE], n_reshapes[WEIR_RESHAPE_DESTROY], n_shares[1],
                  n_shares[0], (unsigned long long)n_rounds);
    assert_true(n_reshapes[WEIR_RESHAPE_ENABLE] > 20 && n_reshapes[WEIR_RESHAPE_DISABLE] > 20 &&
                n_reshapes[WEIR_RESHAPE_CREATE] > 200 && n_reshapes[WEIR_RESHAPE_DESTROY] > 50 &&
                n_shares[1] > 10 && n_shares[0] > 5);
}

/* One world, built in two orders, is one world. */
static void same_world_same_plan(void **state)
{
    uint64_t seed = test_seed(1);

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS); i++) {
        struct random_world w;
        struct bench b;
        struct bench other;

        random_mig_world(&w, seed + i);
        build(&b, &w, 0);
        build(&other, &w, 1 + i);
        for (int round = 0; round < 12; round++) {
            struct weir_buf x = WEIR_BUF_INIT(1 << 26);
            struct weir_buf y = WEIR_BUF_INIT(1 << 26);

            tick(&b);
            tick(&other);
            put_plan(&b, &w, &x);
            put_plan(&other, &w, &y);
            assert_string_equal(weir_buf_cstr(&x), weir_buf_cstr(&y));
            weir_buf_finish(&x);
            weir_buf_finish(&y);
            run_started(&b);
            run_started(&other);
            end_stopping(&b);
            end_stopping(&other);
            drive(&b, NULL, 1, 0);
            drive(&other, NULL, 1, 0);
        }
        bench_finish(&b);
        bench_finish(&other);
    }
}

/* Alone on an idle fleet whatever is admitted starts, though it may take a few changes. */
static void admits_what_can_start(void **state)
{
    uint64_t seed = test_seed(1);
    int n[2] = {0};

    (void)state;
    for (uint64_t i = 0; i < more_if_full(WORLDS) / 3; i++) {
        struct random_world w;

        random_mig_world(&w, seed + i);
        for (int k = 0; k < w.n_nodes; k++) {
            w.nodes[k].phase = WEIR_NODE_READY;
            w.nodes[k].foreign = 0;
        }
        for (int j = 0; j < w.n_jobs; j++) {
            struct random_world alone = w;
            struct weir_arena scratch = WEIR_ARENA_INIT;
            struct weir_refusal refusal;
            struct weir_role roles[2];
            struct weir_shape shapes[2];
            struct weir_workload workload;
            struct weir_ask ask;
            struct weir_err err = WEIR_ERR_INIT;
            bool is_admitted;
            struct bench b;

            alone.n_jobs = 0;
            alone.jobs[j].held = false;
            alone.jobs[j].begin_ms = 0;
            build(&b, &alone, 0);
            ask.n_roles = roles_of(&b, &alone.jobs[j], roles, shapes);
            workload = workload_of(&b, &alone.jobs[j]);
            ask.workload = &workload;
            ask.roles = roles;
            ask.shapes = shapes;
            is_admitted =
                weir_admit(weir_edit_view(b.edit), &b.policy, &ask, &scratch, &refusal, &err) == 0;
            weir_arena_finish(&scratch);
            add_job(&b, alone.jobs[j]);
            settle_all(&b, 50);
            if (is_admitted != (strchr(states(&b, w.jobs[j].name), 'R') != NULL) &&
                w.jobs[j].lead_cpus == 0)
                fail_msg("seed %llu: %s is %s (%s), and then: %s (%s)",
                         (unsigned long long)(seed + i), w.jobs[j].name,
                         is_admitted ? "admitted" : "refused", err.text, states(&b, w.jobs[j].name),
                         why(&b, w.jobs[j].name));
            n[is_admitted]++;
            bench_finish(&b);
        }
    }
    print_message("# %d admitted, %d refused\n", n[1], n[0]);
    assert_true(n[1] > 100 && n[0] > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_in_every_world),
        cmocka_unit_test(same_world_same_plan),
        cmocka_unit_test(admits_what_can_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

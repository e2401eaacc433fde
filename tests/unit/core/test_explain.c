#include "base/count.h"
#include "build_world.h"

/* A tree in one line: LEVEL:CODE, with count, have and need where they are set, children in
 * brackets. */
static void put_tree(const struct bench *b, uint32_t at, char *text, size_t size)
{
    for (; at != WEIR_NONE; at = b->plan.reasons[at].next) {
        const struct weir_reason *r = &b->plan.reasons[at];
        size_t n = strlen(text);

        n += (size_t)snprintf(text + n, size - n, "%s%s:%s", n > 0 && text[n - 1] != '[' ? " " : "",
                              weir_level_name((enum weir_reason_level)r->level),
                              weir_reason_name((enum weir_reason_code)r->code));
        if (r->count > 0)
            n += (size_t)snprintf(text + n, size - n, "*%u", r->count);
        if (r->need > 0)
            n += (size_t)snprintf(text + n, size - n, "(%lld/%lld)", (long long)r->have,
                                  (long long)r->need);
        if (r->first_child == WEIR_NONE)
            continue;
        snprintf(text + n, size - n, "[");
        put_tree(b, r->first_child, text, size);
        n = strlen(text);
        snprintf(text + n, size - n, "]");
    }
}

static const char *tree(const struct bench *b, const char *job)
{
    static char text[2048];

    text[0] = '\0';
    put_tree(b, verdict_of(b, job)->reason, text, sizeof(text));
    return text;
}

static const struct weir_reason *blocking(const struct bench *b, const char *job)
{
    return &b->plan.reasons[verdict_of(b, job)->blocking];
}

/* Whose ends it takes: names with blanks between. */
static void assert_ends(const struct bench *b, const char *job, const char *names)
{
    const struct weir_verdict *v = verdict_of(b, job);
    struct weir_str rest = weir_str(names);
    struct weir_str each;
    uint32_t n = 0;

    while (rest.len > 0 && weir_str_split(&rest, ' ', &each)) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", WEIR_STR_ARG(each));
        assert_true(n < v->unblock_n_ends);
        assert_int_equal(b->plan.ends[v->unblock_first_end + n].workload, job_at(b, name));
        n++;
    }
    assert_int_equal(v->unblock_n_ends, n);
    assert_int_equal(v->unblock_n_more_ends, 0);
}

static void busy_gpus_and_who_holds_them(void **state)
{
    const struct weir_reason *reason;
    const struct weir_verdict *v;
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 2, .class = "l4"});
    add_queue(&b, (struct queue_spec){.name = "org"});
    add_queue(&b, (struct queue_spec){.name = "q", .parent = "org"});
    add_job(&b, (struct job_spec){
                    .name = "large", .queue = "q", .gpus = 3, .class = "h100", .p50_ms = 90000});
    add_job(&b, (struct job_spec){
                    .name = "small", .queue = "q", .gpus = 1, .class = "h100", .p50_ms = 30000});
    add_job(&b, (struct job_spec){.name = "other", .queue = "q", .gpus = 2, .class = "l4"});
    tick(&b);
    run_started(&b);
    add_job(&b, (struct job_spec){.name = "j", .queue = "q", .gpus = 1, .class = "h100"});
    add_job(&b, (struct job_spec){.name = "twin", .queue = "q", .gpus = 1, .class = "h100"});
    b.now.wall_ms += 10000;
    b.now.mono_ms += 10000;
    tick(&b);
    assert_string_equal(tree(&b, "j"),
                        "workload:None[queue:None queue:None "
                        "nodes:Resources*2(0/1000)[nodes:GpuClass*1 nodes:DeviceBusy*1] "
                        "devices:None*6(0/1)[devices:GpuClass*2 devices:DeviceBusy*4]]");
    reason = blocking(&b, "j");
    assert_int_equal(reason->resource, class_of(&b, "h100"));
    assert_int_equal(reason->subject, node_at(&b, "n1"));
    assert_int_equal(reason->n_holders, 2);
    assert_int_equal(b.plan.holders[reason->first_holder].workload, job_at(&b, "large"));
    assert_int_equal(b.plan.holders[reason->first_holder].amount, 3000);
    assert_int_equal(b.plan.holders[reason->first_holder].end_p50_wall_ms, b.now.wall_ms + 80000);
    assert_int_equal(b.plan.holders[reason->first_holder + 1].workload, job_at(&b, "small"));
    /* The first to let go is the one to wait for. */
    v = verdict_of(&b, "j");
    assert_int_equal(v->unblock, WEIR_UNBLOCK_WAIT_FOR);
    assert_ends(&b, "j", "small");
    assert_int_equal(v->unblock_subject, job_at(&b, "small"));
    assert_int_equal(b.plan.ends[v->unblock_first_end].end_p50_wall_ms, b.now.wall_ms + 20000);
    /* Equal workloads share a tree; their places differ. */
    assert_int_equal(v->position, 1);
    assert_int_equal(verdict_of(&b, "twin")->position, 2);
    assert_int_equal(verdict_of(&b, "twin")->reason, v->reason);
    assert_int_equal(verdict_of(&b, "twin")->unblock_first_end, v->unblock_first_end);
    bench_finish(&b);
}

static void at_most_eight_holders(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 16});
    add_queue(&b, (struct queue_spec){.name = "q"});
    for (int i = 0; i < 12; i++) {
        char name[16];

        snprintf(name, sizeof(name), "j%d", i);
        add_job(&b, (struct job_spec){.name = name, .queue = "q", .gpus = i % 3 == 0 ? 2 : 1});
    }
    tick(&b);
    run_started(&b);
    add_job(&b, (struct job_spec){.name = "j", .queue = "q", .gpus = 1});
    tick(&b);
    assert_int_equal(blocking(&b, "j")->n_holders, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(b.plan.holders[blocking(&b, "j")->first_holder + i].amount,
                         i < 4 ? 2000 : 1000);
    bench_finish(&b);
}

static void limits_say_where_and_how_much(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 8});
    add_queue(&b, (struct queue_spec){.name = "org", .limit_gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "q", .parent = "org"});
    add_job(&b, (struct job_spec){.name = "runs", .queue = "q", .gpus = 3});
    add_job(&b, (struct job_spec){.name = "waits", .queue = "q", .gpus = 2});
    add_job(&b, (struct job_spec){.name = "never", .queue = "q", .gpus = 6});
    tick(&b);
    assert_string_equal(tree(&b, "waits"),
                        "workload:None[queue:None queue:ParentLimit(1000/2000) "
                        "nodes:None*1 devices:None*8(5/2)[devices:DeviceBusy*3]]");
    assert_int_equal(blocking(&b, "waits")->subject, queue_at(&b, "org"));
    assert_int_equal(verdict_of(&b, "waits")->unblock, WEIR_UNBLOCK_WAIT_FOR);
    assert_ends(&b, "waits", "runs");
    assert_int_equal(verdict_of(&b, "never")->unblock, WEIR_UNBLOCK_RAISE_LIMIT);
    assert_int_equal(verdict_of(&b, "never")->unblock_subject, queue_at(&b, "org"));
    assert_int_equal(verdict_of(&b, "never")->unblock_amount, 9000);
    bench_finish(&b);
}

static void gangs_and_topology(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4, .rack = "r1"});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 4, .rack = "r2"});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "runs", .queue = "q", .gpus = 2});
    add_job(&b, (struct job_spec){.name = "gang", .queue = "q", .tasks = 4, .gpus = 2});
    add_job(&b, (struct job_spec){
                    .name = "rack", .queue = "q", .tasks = 3, .gpus = 2, .same_rack = true});
    tick(&b);
    assert_string_equal(tree(&b, "gang"),
                        "workload:None[queue:None gang:Gang(3/4) nodes:Resources*2 "
                        "devices:None*8(6/2)[devices:DeviceBusy*2]]");
    assert_int_equal(verdict_of(&b, "gang")->unblock, WEIR_UNBLOCK_WAIT_FOR);
    assert_string_equal(tree(&b, "rack"),
                        "workload:None[queue:None gang:None(3/3) topology:Topology*2(4000/6000) "
                        "nodes:None*2 devices:None*8(6/2)[devices:DeviceBusy*2]]");
    assert_int_equal(verdict_of(&b, "rack")->unblock, WEIR_UNBLOCK_ADD_CAPACITY);
    assert_int_equal(verdict_of(&b, "rack")->unblock_amount, 6000);
    bench_finish(&b);
}

static void what_is_out_of_service(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4, .phase = WEIR_NODE_QUARANTINED});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 3});
    add_queue(&b, (struct queue_spec){.name = "q"});
    weir_edit_device(b.edit, device_at(&b, "n2", 0))->cordoned = 1;
    weir_edit_device(b.edit, device_at(&b, "n2", 1))->health = WEIR_DEVICE_UNHEALTHY;
    weir_edit_device(b.edit, device_at(&b, "n2", 2))->n_foreign = 1;
    add_job(&b, (struct job_spec){.name = "one", .queue = "q", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "four", .queue = "q", .gpus = 4});
    add_job(&b, (struct job_spec){.name = "five", .queue = "q", .gpus = 5});
    tick(&b);
    assert_string_equal(tree(&b, "one"),
                        "workload:None[queue:None "
                        "nodes:NodeCordoned*2(4000/1000)[nodes:NodeCordoned*1 "
                        "nodes:DeviceCordoned*1] devices:None*7(0/1)[devices:NodeCordoned*4 "
                        "devices:DeviceUnhealthy*1 "
                        "devices:DeviceCordoned*1 devices:DeviceForeign*1]]");
    assert_int_equal(verdict_of(&b, "one")->unblock, WEIR_UNBLOCK_UNCORDON);
    assert_int_equal(verdict_of(&b, "one")->unblock_subject_kind, WEIR_SUBJECT_NODE);
    assert_int_equal(verdict_of(&b, "one")->unblock_subject, node_at(&b, "n1"));
    assert_string_equal(why(&b, "four"), "NodeCordoned");
    assert_int_equal(verdict_of(&b, "four")->unblock, WEIR_UNBLOCK_UNCORDON);
    assert_int_equal(verdict_of(&b, "four")->unblock_subject_kind, WEIR_SUBJECT_NODE);
    assert_int_equal(verdict_of(&b, "four")->unblock_subject, node_at(&b, "n1"));
    assert_int_equal(verdict_of(&b, "five")->unblock, WEIR_UNBLOCK_ADD_CAPACITY);
    assert_int_equal(verdict_of(&b, "five")->unblock_amount, 5000);
    weir_edit_node(b.edit, node_at(&b, "n1"))->phase = WEIR_NODE_GONE;
    tick(&b);
    assert_string_equal(why(&b, "one"), "DeviceCordoned");
    assert_int_equal(verdict_of(&b, "one")->unblock, WEIR_UNBLOCK_UNCORDON);
    assert_int_equal(verdict_of(&b, "one")->unblock_subject_kind, WEIR_SUBJECT_DEVICE);
    assert_int_equal(verdict_of(&b, "one")->unblock_subject, device_at(&b, "n2", 0));
    bench_finish(&b);
}

static void evictions_and_promises(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 2});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "low", .queue = "q", .gpus = 1});
    tick(&b);
    run_started(&b);
    add_job(&b, (struct job_spec){.name = "high", .queue = "q", .gpus = 2, .priority = 1});
    add_job(&b, (struct job_spec){.name = "small", .queue = "q", .gpus = 1});
    tick(&b);
    assert_string_equal(why(&b, "high"), "Evicting");
    assert_ends(&b, "high", "low");
    assert_int_equal(blocking(&b, "high")->n_holders, 1);
    /* One GPU is free, and kept. */
    assert_string_equal(why(&b, "small"), "Reserved");
    assert_int_equal(verdict_of(&b, "small")->unblock, WEIR_UNBLOCK_WAIT_FOR);
    bench_finish(&b);
}

/* How long the verdict of "high" says that it takes "low" to leave. */
static int64_t leave_ms(const struct bench *b)
{
    const struct weir_verdict *v = verdict_of(b, "high");
    int64_t end = b->plan.ends[v->unblock_first_end].end_p50_wall_ms;

    assert_ends(b, "high", "low");
    assert_int_equal(b->plan.holders[blocking(b, "high")->first_holder].end_p50_wall_ms, end);
    return end - b->now.wall_ms;
}

/* Whoever leaves has its own graces, and that for a checkpoint only if it makes room. */
static void leaving_takes_the_job_s_own_graces(void **state)
{
    static const struct {
        uint32_t signal;
        int64_t checkpoint_ms;
        uint32_t stop_ms;
        int64_t room_ms;
        int64_t cancelled_ms;
    } cases[] = {{0, 0, 0, 10000, 10000},
                 {0, 0, 45000, 45000, 45000},
                 {10, 60000, 0, 70000, 10000},
                 {10, 60000, 1, 60001, 1}};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_workload *low;
        struct bench b;

        bench_init(&b);
        add_node(&b, (struct node_spec){.name = "n1", .gpus = 2});
        add_queue(&b, (struct queue_spec){.name = "q"});
        add_job(&b, (struct job_spec){.name = "low", .queue = "q", .gpus = 1, .tasks = 2});
        tick(&b);
        run_started(&b);
        low = weir_edit_workload(b.edit, job_at(&b, "low"));
        low->checkpoint_signal = cases[i].signal;
        low->checkpoint_grace_ms = cases[i].checkpoint_ms;
        low->stop_grace_ms = cases[i].stop_ms;
        add_job(&b, (struct job_spec){.name = "high", .queue = "q", .gpus = 2, .priority = 1});
        tick(&b); /* it is told to leave, */
        assert_int_equal(leave_ms(&b), cases[i].room_ms);
        tick(&b); /* is leaving, */
        assert_int_equal(leave_ms(&b), cases[i].room_ms);
        end_task(&b, "low", 0, WEIR_END_STOPPED, 0);
        tick(&b);
        tick(&b); /* and waits for the rest of it. */
        assert_string_equal(why(&b, "low"), "Gang");
        assert_int_equal(b.plan.ends[verdict_of(&b, "low")->unblock_first_end].end_p50_wall_ms,
                         b.now.wall_ms + cases[i].room_ms);
        weir_edit_task(b.edit, task_at(&b, "low", 1))->stop_cause = WEIR_CAUSE_CANCELLED;
        tick(&b);
        assert_int_equal(leave_ms(&b), cases[i].cancelled_ms);
        bench_finish(&b);
    }
}

static void backoff_of_some_tasks(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){
                    .name = "a", .queue = "q", .gpus = 1, .tasks = 3, .array = true, .retries = 1});
    tick(&b);
    run_started(&b);
    end_task(&b, "a", 1, WEIR_END_EXITED, 1);
    tick(&b);
    tick(&b);
    assert_string_equal(states(&b, "a"), "RQR");
    assert_string_equal(why(&b, "a"), "Backoff");
    assert_int_equal(verdict_of(&b, "a")->unblock, WEIR_UNBLOCK_WAIT_UNTIL);
    assert_int_equal(verdict_of(&b, "a")->unblock_amount, b.now.wall_ms + 1000);
    assert_int_equal(b.plan.wake_wall_ms, b.now.wall_ms + 1000);
    bench_finish(&b);
}

/* All the ends that it takes, the last of them first, and none that it does not. */
static void the_ends_that_are_enough(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 8});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "q", .limit_gpus = 13});
    add_job(&b, (struct job_spec){.name = "six", .queue = "q", .gpus = 6, .p50_ms = 3600000});
    add_job(&b, (struct job_spec){.name = "two", .queue = "q", .gpus = 2, .p50_ms = 20000});
    add_job(&b, (struct job_spec){.name = "four", .queue = "q", .gpus = 4, .p50_ms = 60000});
    tick(&b);
    run_started(&b);
    assert_string_equal(node_of(&b, "four", 0), "n2");
    add_job(&b, (struct job_spec){.name = "wants8", .queue = "q", .gpus = 8});
    add_job(&b, (struct job_spec){.name = "wants5", .queue = "q", .gpus = 5});
    add_job(&b, (struct job_spec){.name = "wants3", .queue = "q", .gpus = 3});
    add_job(&b, (struct job_spec){.name = "wants2", .queue = "q", .gpus = 2});
    tick(&b);
    assert_int_equal(verdict_of(&b, "wants8")->unblock, WEIR_UNBLOCK_WAIT_FOR);
    assert_int_equal(verdict_of(&b, "wants8")->unblock_subject, job_at(&b, "six"));
    assert_ends(&b, "wants8", "six two");
    assert_ends(&b, "wants5", "six");
    assert_ends(&b, "wants3", "four");
    assert_ends(&b, "wants2", "two");
    bench_finish(&b);
}

/* The limit lets go before the places do, or after. */
static void the_ends_that_make_room_below_a_limit(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 8});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 8});
    add_queue(&b, (struct queue_spec){.name = "q", .limit_gpus = 10});
    add_job(&b, (struct job_spec){.name = "first", .queue = "q", .gpus = 3, .p50_ms = 10000});
    add_job(&b, (struct job_spec){.name = "second", .queue = "q", .gpus = 3, .p50_ms = 20000});
    add_job(&b, (struct job_spec){.name = "third", .queue = "q", .gpus = 4, .p50_ms = 30000});
    tick(&b);
    run_started(&b);
    add_job(&b, (struct job_spec){.name = "j", .queue = "q", .gpus = 5});
    tick(&b);
    assert_string_equal(why(&b, "j"), "QueueLimit");
    assert_int_equal(verdict_of(&b, "j")->unblock, WEIR_UNBLOCK_WAIT_FOR);
    assert_ends(&b, "j", "second first");
    bench_finish(&b);
}

/* What a cordoned node would have is told, and of its cordons only those that it takes. */
static void a_cordoned_node_with_a_cordoned_gpu(void **state)
{
    const struct weir_verdict *v;
    const struct weir_reason *reason;
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 8, .phase = WEIR_NODE_CORDONED});
    add_queue(&b, (struct queue_spec){.name = "q"});
    weir_edit_device(b.edit, device_at(&b, "n1", 0))->cordoned = 1;
    add_job(&b, (struct job_spec){.name = "one", .queue = "q", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "cpus", .queue = "q", .cpus = 2});
    tick(&b);
    v = verdict_of(&b, "one");
    reason = blocking(&b, "one");
    assert_int_equal(reason->code, WEIR_REASON_NODE_CORDONED);
    assert_int_equal(reason->have, 7000);
    assert_int_equal(reason->need, 1000);
    assert_int_equal(v->unblock_n_cordons, 1);
    assert_int_equal(v->unblock_n_more_cordons, 0);
    assert_int_equal(b.plan.cordons[v->unblock_first_cordon].kind, WEIR_SUBJECT_NODE);
    assert_int_equal(b.plan.cordons[v->unblock_first_cordon].subject, node_at(&b, "n1"));
    assert_true(blocking(&b, "cpus")->need == 2000 && blocking(&b, "cpus")->have >= 2000);
    weir_edit_node(b.edit, node_at(&b, "n1"))->phase = WEIR_NODE_DRAINING;
    tick(&b);
    assert_string_equal(why(&b, "one"), "NodeDraining");
    assert_int_equal(verdict_of(&b, "one")->unblock, WEIR_UNBLOCK_UNCORDON);
    bench_finish(&b);
}

/* Whoever has no limit of its own lets go at that of its queue; where neither ends it by then, and
 * nothing is known of it, the time is an assumption, and said to be one. */
static void ends_by_the_limit_of_the_queue(void **state)
{
    const struct weir_holder *holder;
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 1});
    add_queue(&b, (struct queue_spec){.name = "q", .run_limit_ms = 60000});
    add_job(&b, (struct job_spec){.name = "runs", .queue = "q", .gpus = 1});
    tick(&b);
    run_started(&b);
    add_job(&b, (struct job_spec){.name = "waits", .queue = "q", .gpus = 1});
    tick(&b);
    holder = &b.plan.holders[blocking(&b, "waits")->first_holder];
    assert_int_equal(holder->end_p50_wall_ms, b.now.wall_ms + 60000);
    assert_false(holder->is_assumed);
    assert_false(b.plan.ends[verdict_of(&b, "waits")->unblock_first_end].is_assumed);
    weir_edit_queue(b.edit, weir_world_workload(b.world, job_at(&b, "runs"))->queue)->run_limit_ms =
        INT64_MAX;
    tick(&b);
    holder = &b.plan.holders[blocking(&b, "waits")->first_holder];
    assert_int_equal(holder->end_p50_wall_ms, b.now.wall_ms + b.policy.prior_p50_ms);
    assert_true(holder->is_assumed);
    assert_true(b.plan.ends[verdict_of(&b, "waits")->unblock_first_end].is_assumed);
    bench_finish(&b);
}

/* What is held counts as well: the cordon is not all that is in the way. */
static void cordons_and_the_ends_that_are_needed_besides(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "runs", .queue = "q", .gpus = 1});
    tick(&b);
    run_started(&b);
    for (int i = 0; i < 4; i++)
        if (weir_edit_device(b.edit, device_at(&b, "n1", i))->n_sharers == 0)
            weir_edit_device(b.edit, device_at(&b, "n1", i))->cordoned = i >= 2;
    add_job(&b, (struct job_spec){.name = "three", .queue = "q", .gpus = 3});
    add_job(&b, (struct job_spec){.name = "four", .queue = "q", .gpus = 4});
    tick(&b);
    assert_int_equal(verdict_of(&b, "three")->unblock, WEIR_UNBLOCK_UNCORDON);
    assert_int_equal(verdict_of(&b, "three")->unblock_n_cordons, 2);
    assert_ends(&b, "three", "");
    assert_int_equal(verdict_of(&b, "four")->unblock, WEIR_UNBLOCK_UNCORDON);
    assert_int_equal(verdict_of(&b, "four")->unblock_n_cordons, 2);
    assert_ends(&b, "four", "runs");
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy_gpus_and_who_holds_them),
        cmocka_unit_test(at_most_eight_holders),
        cmocka_unit_test(limits_say_where_and_how_much),
        cmocka_unit_test(gangs_and_topology),
        cmocka_unit_test(what_is_out_of_service),
        cmocka_unit_test(evictions_and_promises),
        cmocka_unit_test(leaving_takes_the_job_s_own_graces),
        cmocka_unit_test(backoff_of_some_tasks),
        cmocka_unit_test(the_ends_that_are_enough),
        cmocka_unit_test(the_ends_that_make_room_below_a_limit),
        cmocka_unit_test(a_cordoned_node_with_a_cordoned_gpu),
        cmocka_unit_test(ends_by_the_limit_of_the_queue),
        cmocka_unit_test(cordons_and_the_ends_that_are_needed_besides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

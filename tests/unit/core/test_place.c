#include "build_world.h"

static void starts_what_fits_in_order(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "first", .queue = "q", .gpus = 2});
    add_job(&b, (struct job_spec){.name = "large", .queue = "q", .gpus = 3});
    add_job(&b, (struct job_spec){.name = "small", .queue = "q", .gpus = 2});
    add_job(&b, (struct job_spec){.name = "urgent", .queue = "q", .gpus = 1, .priority = 5});
    tick(&b);
    assert_string_equal(states(&b, "urgent"), "S");
    assert_string_equal(gpus_of(&b, "urgent", 0), "0");
    assert_string_equal(states(&b, "first"), "S");
    assert_string_equal(gpus_of(&b, "first", 0), "1 2");
    assert_string_equal(states(&b, "large"), "Q");
    assert_string_equal(states(&b, "small"), "Q");
    assert_int_equal(task_of(&b, "first", 0)->attempt, 1);
    assert_int_equal(task_of(&b, "first", 0)->started_wall_ms, b.now.wall_ms);
    bench_finish(&b);
}

/* Fewest free GPUs left, then rank. */
static void fits_best(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 8);
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 4});
    add_node(&b, (struct node_spec){.name = "n3", .gpus = 4});
    add_node(&b, (struct node_spec){.name = "n4"});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "one", .queue = "q", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "two", .queue = "q", .gpus = 2});
    add_job(&b, (struct job_spec){.name = "three", .queue = "q", .gpus = 3});
    add_job(&b, (struct job_spec){.name = "eight", .queue = "q", .gpus = 8});
    add_job(&b, (struct job_spec){.name = "none", .queue = "q"});
    tick(&b);
    assert_string_equal(node_of(&b, "one", 0), "n2");
    assert_string_equal(node_of(&b, "two", 0), "n2");
    assert_string_equal(node_of(&b, "three", 0), "n3");
    assert_string_equal(node_of(&b, "eight", 0), "n1");
    assert_string_equal(node_of(&b, "none", 0), "n1"); /* no GPU is free there */
    bench_finish(&b);
}

static void asks_for_class_memory_and_labels(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 1, .class = "l4", .gpu_gib = 24});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 2, .gpu_gib = 40});
    add_node(&b, (struct node_spec){.name = "n3", .gpus = 3, .label = "x"});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "class", .queue = "q", .gpus = 1, .class = "h100"});
    add_job(&b, (struct job_spec){.name = "memory", .queue = "q", .gpus = 1, .gpu_gib = 41});
    add_job(&b, (struct job_spec){.name = "label", .queue = "q", .label = "x"});
    add_job(&b, (struct job_spec){.name = "any", .queue = "q", .gpus = 1});
    tick(&b);
    assert_string_equal(node_of(&b, "class", 0), "n2");
    assert_string_equal(node_of(&b, "memory", 0), "n3");
    assert_string_equal(node_of(&b, "label", 0), "n3");
    assert_string_equal(node_of(&b, "any", 0), "n1");
    bench_finish(&b);
}

static void keeps_off_what_is_out_of_service(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4, .phase = WEIR_NODE_CORDONED});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 4, .phase = WEIR_NODE_BOOTING});
    add_node(&b, (struct node_spec){.name = "n3", .gpus = 4, .requested = true});
    add_node(&b, (struct node_spec){.name = "n4", .gpus = 6});
    add_queue(&b, (struct queue_spec){.name = "q"});
    weir_edit_device(b.edit, device_at(&b, "n4", 0))->health = WEIR_DEVICE_SUSPECT;
    weir_edit_device(b.edit, device_at(&b, "n4", 1))->cordoned = 1;
    weir_edit_device(b.edit, device_at(&b, "n4", 2))->n_foreign = 1;
    weir_edit_device(b.edit, device_at(&b, "n4", 3))->health = WEIR_DEVICE_LOST;
    add_job(&b, (struct job_spec){.name = "j", .queue = "q", .gpus = 1, .tasks = 4, .array = true});
    tick(&b);
    assert_string_equal(states(&b, "j"), "SSQQ");
    assert_string_equal(gpus_of(&b, "j", 0), "4");
    assert_string_equal(gpus_of(&b, "j", 1), "5");
    bench_finish(&b);
}

static void counts_cpu_and_memory(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 8, .cpus = 4, .gib = 16});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .gpus = 1, .cpus = 2, .gib = 10});
    add_job(&b, (struct job_spec){.name = "memory", .queue = "q", .gpus = 1, .gib = 7});
    add_job(&b, (struct job_spec){.name = "cpu", .queue = "q", .gpus = 1, .cpus = 3});
    add_job(&b, (struct job_spec){.name = "b", .queue = "q", .gpus = 1, .cpus = 1, .gib = 6});
    tick(&b);
    assert_string_equal(states(&b, "a"), "S");
    assert_string_equal(states(&b, "b"), "S");
    assert_string_equal(why(&b, "memory"), "Memory");
    assert_string_equal(why(&b, "cpu"), "Cpu");
    /* What others use of the node is not ours to give. */
    weir_edit_node(b.edit, node_at(&b, "n1"))->foreign.of[WEIR_RES_CPU] = 1000;
    add_job(&b, (struct job_spec){.name = "c", .queue = "q", .cpus = 1});
    tick(&b);
    assert_string_equal(why(&b, "c"), "Cpu");
    bench_finish(&b);
}

static void shares_where_both_sides_agree(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 2, .sharers = 3});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 1});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "half", .queue = "q", .mgpu = 500});
    add_job(&b, (struct job_spec){.name = "third", .queue = "q", .mgpu = 300});
    add_job(&b, (struct job_spec){.name = "more", .queue = "q", .mgpu = 300});
    add_job(&b, (struct job_spec){.name = "whole", .queue = "q", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "tiny", .queue = "q", .mgpu = 200});
    add_job(&b, (struct job_spec){.name = "last", .queue = "q", .gpus = 1});
    tick(&b);
    assert_string_equal(gpus_of(&b, "half", 0), "0");
    assert_string_equal(gpus_of(&b, "third", 0), "0"); /* the fullest that fits */
    assert_string_equal(gpus_of(&b, "more", 0), "1");
    assert_string_equal(node_of(&b, "whole", 0), "n2"); /* no whole one is free on n1 */
    assert_string_equal(gpus_of(&b, "tiny", 0), "0");   /* 1000 in all, and three sharers */
    assert_string_equal(why(&b, "last"), "Resources");
    bench_finish(&b);
}

static void shares_by_memory_budget(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 1, .sharers = 8});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "a", .queue = "q", .mgpu = 100, .gpu_gib = 50});
    add_job(&b, (struct job_spec){.name = "b", .queue = "q", .mgpu = 100, .gpu_gib = 31});
    add_job(&b, (struct job_spec){.name = "c", .queue = "q", .mgpu = 100, .gpu_gib = 30});
    add_job(&b,
            (struct job_spec){
                .name = "hard", .queue = "q", .mgpu = 100, .isolation = WEIR_ISOLATION_HARDWARE});
    tick(&b);
    assert_string_equal(states(&b, "a"), "S");
    assert_string_equal(states(&b, "b"), "Q");
    assert_string_equal(states(&b, "c"), "S");
    assert_string_equal(why(&b, "hard"), "Isolation");
    bench_finish(&b);
}

static void keeps_to_the_isolation_of_the_queue(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 1, .sharers = 8});
    add_queue(&b, (struct queue_spec){.name = "prod", .isolation = WEIR_ISOLATION_HARDWARE});
    add_queue(&b, (struct queue_spec){.name = "q", .parent = "prod"});
    add_job(&b, (struct job_spec){.name = "share", .queue = "q", .mgpu = 100});
    add_job(&b, (struct job_spec){.name = "whole", .queue = "q", .gpus = 1});
    tick(&b);
    assert_string_equal(states(&b, "share"), "Q");
    assert_string_equal(states(&b, "whole"), "S");
    bench_finish(&b);
}

static void keeps_gpus_of_a_task_close(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 8, .nvlink = 4});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "one", .queue = "q", .gpus = 1});
    add_job(&b, (struct job_spec){.name = "four", .queue = "q", .gpus = 4});
    add_job(&b, (struct job_spec){.name = "two", .queue = "q", .gpus = 2});
    tick(&b);
    assert_string_equal(gpus_of(&b, "one", 0), "0");
    assert_string_equal(gpus_of(&b, "four", 0), "4 5 6 7");
    assert_string_equal(gpus_of(&b, "two", 0), "1 2");
    bench_finish(&b);
}

static void uses_numa_where_links_are_unknown(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    for (int i = 0; i < 4; i++)
        weir_edit_device(b.edit, device_at(&b, "n1", i))->numa = i % 2 == 0 ? 0 : 1;
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "two", .queue = "q", .gpus = 2});
    tick(&b);
    assert_string_equal(gpus_of(&b, "two", 0), "0 2");
    bench_finish(&b);
}

static void gangs_start_whole_or_not(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 3});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "four", .queue = "q", .tasks = 4, .gpus = 2});
    add_job(&b, (struct job_spec){.name = "three", .queue = "q", .tasks = 3, .gpus = 2});
    tick(&b);
    assert_string_equal(states(&b, "four"), "QQQQ");
    assert_string_equal(states(&b, "three"), "SSS");
    assert_string_equal(why(&b, "four"), "Resources");
    bench_finish(&b);
}

static void gangs_take_more_than_their_minimum_if_they_can(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 3);
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "g", .queue = "q", .tasks = 5, .min = 2, .gpus = 1});
    tick(&b);
    assert_string_equal(states(&b, "g"), "SSQQQ");
    assert_string_equal(why(&b, "g"), "AllRunning");
    assert_int_equal(b.plan.wake_wall_ms, b.now.wall_ms);
    tick(&b);
    assert_string_equal(states(&b, "g"), "SSSQQ");
    assert_string_equal(why(&b, "g"), "Resources");
    bench_finish(&b);
}

static void leader_and_workers_start_together(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 2, .cpus = 3});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b,
            (struct job_spec){.name = "g", .queue = "q", .tasks = 2, .gpus = 1, .lead_cpus = 2});
    tick(&b);
    assert_string_equal(states(&b, "g"), "QQQ"); /* four CPUs are needed */
    add_node(&b, (struct node_spec){.name = "n2", .cpus = 2});
    tick(&b);
    assert_string_equal(states(&b, "g"), "SSS");
    assert_string_equal(node_of(&b, "g", 0), "n2");
    bench_finish(&b);
}

static void a_required_rack_is_the_smallest_that_suffices(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4, .rack = "r1"});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 4, .rack = "r1"});
    add_node(&b, (struct node_spec){.name = "n3", .gpus = 4, .rack = "r2"});
    add_node(&b, (struct node_spec){.name = "n4", .gpus = 1, .rack = "r3"});
    add_node(&b, (struct node_spec){.name = "n5", .gpus = 8});
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){
                    .name = "small", .queue = "q", .tasks = 2, .gpus = 2, .same_rack = true});
    add_job(&b, (struct job_spec){
                    .name = "large", .queue = "q", .tasks = 4, .gpus = 2, .same_rack = true});
    add_job(&b, (struct job_spec){
                    .name = "huge", .queue = "q", .tasks = 5, .gpus = 2, .same_rack = true});
    add_job(&b, (struct job_spec){
                    .name = "late", .queue = "q", .tasks = 2, .gpus = 2, .same_rack = true});
    tick(&b);
    assert_string_equal(node_of(&b, "small", 0), "n3");
    assert_string_equal(node_of(&b, "small", 1), "n3");
    assert_string_equal(node_of(&b, "large", 0), "n1");
    assert_string_equal(node_of(&b, "large", 3), "n2");
    assert_string_equal(states(&b, "huge"), "QQQQQ");
    assert_string_equal(why(&b, "late"), "Topology"); /* n5 has room, and no rack */
    bench_finish(&b);
}

static void a_preferred_level_is_tried_first(void **state)
{
    struct bench b;
    uint32_t row;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 2, .rack = "r1"});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 2, .rack = "r2"});
    add_node(&b, (struct node_spec){.name = "n3", .gpus = 2, .rack = "r2"});
    add_queue(&b, (struct queue_spec){.name = "q"});
    row = add_job(&b, (struct job_spec){.name = "g", .queue = "q", .tasks = 2, .gpus = 2});
    weir_edit_workload(b.edit, row)->topology.preferred = WEIR_TOPOLOGY_RACK;
    tick(&b);
    assert_string_equal(node_of(&b, "g", 0), "n2");
    row = add_job(&b, (struct job_spec){.name = "h", .queue = "q", .tasks = 2, .gpus = 1});
    weir_edit_workload(b.edit, row)->topology.preferred = WEIR_TOPOLOGY_RACK;
    add_node(&b, (struct node_spec){.name = "n4", .gpus = 1, .rack = "r3"});
    weir_edit_device(b.edit, device_at(&b, "n1", 0))->cordoned = 1;
    tick(&b);
    assert_string_equal(states(&b, "h"), "SS"); /* in no one rack, but it is only preferred */
    bench_finish(&b);
}

/* Where others hand the devices out, the sums of the node count too. */
static void counts_where_others_bind(void **state)
{
    struct bench b;

    (void)state;
    bench_with_node(&b, 4);
    for (int i = 0; i < 4; i++)
        weir_edit_device(b.edit, device_at(&b, "n1", i))->binder = WEIR_BINDER_KUBELET;
    weir_edit_node(b.edit, node_at(&b, "n1"))->foreign.of[WEIR_RES_GPU] = 3000;
    add_queue(&b, (struct queue_spec){.name = "q"});
    add_job(&b, (struct job_spec){.name = "j", .queue = "q", .gpus = 1, .tasks = 2, .array = true});
    tick(&b);
    assert_string_equal(states(&b, "j"), "SQ");
    bench_finish(&b);
}

static void gives_instances_to_who_asks_for_them(void **state)
{
    struct weir_shape shape = {.gpu_class = WEIR_NONE,
                               .device_mgpu = 1000,
                               .n_devices = 1,
                               .labels = WEIR_NONE,
                               .n_amounts = 1};
    struct weir_role role = {.name = WEIR_NONE, .n_tasks = 1};
    struct job_spec spec = {.queue = "q"};
    struct weir_device instance;
    struct weir_workload job;
    struct weir_key key;
    uint32_t profile;
    uint32_t index;
    struct bench b;

    (void)state;
    bench_with_node(&b, 1);
    add_queue(&b, (struct queue_spec){.name = "q"});
    must(weir_edit_resource(b.edit, WEIR_RESOURCE_MIG, WEIR_STR("mig/1g.10gb"), 1000, &profile));
    weir_edit_node(b.edit, node_at(&b, "n1"))->capacity.of[profile] = 1000;
    instance = *weir_world_device(weir_edit_view(b.edit), device_at(&b, "n1", 0));
    instance.kind = WEIR_DEVICE_MIG;
    instance.parent = device_at(&b, "n1", 0);
    instance.mig_profile = profile;
    instance.index = 1;
    key = key_of("device", "instance");
    must(weir_edit_add_device(b.edit, &key, &instance, &index));
    shape.mig_profile = profile;
    shape.amounts[0] = (struct weir_shape_amount){.resource = profile, .amount = 1000};
    must(weir_edit_shape(b.edit, &shape, &role.shape));
    job = workload_of(&b, &spec);
    key = key_of("job", "mig");
    must(weir_edit_add_workload(b.edit, &key, &job, &role, 1, &index));
    add_job(&b, (struct job_spec){.name = "whole", .queue = "q", .gpus = 1});
    tick(&b);
    assert_string_equal(gpus_of(&b, "mig", 0), "1");
    assert_string_equal(states(&b, "whole"), "Q"); /* the GPU is cut */
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_what_fits_in_order),
        cmocka_unit_test(fits_best),
        cmocka_unit_test(asks_for_class_memory_and_labels),
        cmocka_unit_test(keeps_off_what_is_out_of_service),
        cmocka_unit_test(counts_cpu_and_memory),
        cmocka_unit_test(shares_where_both_sides_agree),
        cmocka_unit_test(shares_by_memory_budget),
        cmocka_unit_test(keeps_to_the_isolation_of_the_queue),
        cmocka_unit_test(keeps_gpus_of_a_task_close),
        cmocka_unit_test(uses_numa_where_links_are_unknown),
        cmocka_unit_test(gangs_start_whole_or_not),
        cmocka_unit_test(gangs_take_more_than_their_minimum_if_they_can),
        cmocka_unit_test(leader_and_workers_start_together),
        cmocka_unit_test(a_required_rack_is_the_smallest_that_suffices),
        cmocka_unit_test(a_preferred_level_is_tried_first),
        cmocka_unit_test(counts_where_others_bind),
        cmocka_unit_test(gives_instances_to_who_asks_for_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Every field of every table, broken by itself. */
#include "tests/unit/model/world_fixture.h"

static void names_faults_of_resources_and_shapes(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT_NAMED(RESOURCES, 0, weir_resource, kind, WEIR_RESOURCE_CPU, "name",
                    "must be 'gpu' of kind 0"),
        FAULT(RESOURCES, 4, weir_resource, kind, WEIR_RESOURCE_KIND_MAX, "is 6, not below 6"),
        FAULT(RESOURCES, 3, weir_resource, name, 9999, "is 9999, not a string"),
        FAULT(RESOURCES, 2, weir_resource, name, 0, "must be 'memory'"),
        FAULT(RESOURCES, 4, weir_resource, name, weir_world_resource(f->world, 3)->name,
              "is that of row 3 as well"),
        FAULT(RESOURCES, 3, weir_resource, grain, 0, "is 0"),
        FAULT(RESOURCES, 3, weir_resource, grain, -1, "is -1, not within"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, n_amounts, 9, "is 9, not below 9"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, n_amounts, 3, "amounts[2]",
                    "resource 0 after 2"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, n_amounts, 1, "amounts[1]",
                    "not used, but not zero"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[0].resource, 5, "amounts[0]",
                    "names resource 5 of 5"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[1].resource, 0, "amounts[1]",
                    "names resource 0 after 0"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[1].amount, 0, "amounts[1]",
                    "is 0, not within 1"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[1].amount, WEIR_AMOUNT_MAX + 1,
                    "amounts[1]", "not within 1"),
        FAULT_NAMED(SHAPES, SHAPE_GPU, weir_shape, amounts[0].reserved, 1, "amounts[0]",
                    "not zero"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, gpu_class, PROFILE_1G, "not a resource of kind 1"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, gpu_class, 5, "is 5, not a resource"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, mig_profile, CLASS_H100, "not a resource of kind 2"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, isolation, WEIR_ISOLATION_MAX, "not below 3"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, device_mgpu, 1001, "not within 1 and 1000"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, device_mgpu, 0, "is 0 for 1 devices"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, device_memory_bytes, -1, "is -1, not within"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, labels, 1, "is 1, not a span"),
        FAULT(SHAPES, SHAPE_GPU, weir_shape, labels, 12345678, "not a span"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_nodes(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(NODES, NODE_A, weir_node, name, 9999, "not a string"),
        FAULT(NODES, NODE_A, weir_node, pool, 9999, "not a string"),
        FAULT(NODES, NODE_A, weir_node, phase, WEIR_NODE_PHASE_MAX, "is 7, not below 7"),
        FAULT_NAMED(NODES, NODE_B, weir_node, topology[2], 9999, "topology[2]", "not a string"),
        FAULT(NODES, NODE_A, weir_node, labels, f->taints, "not of groups of 2"),
        FAULT(NODES, NODE_A, weir_node, taints, f->labels, "not of groups of 3"),
        FAULT(NODES, NODE_A, weir_node, labels, f->hours, "has 480 in cell 0 of its span"),
        FAULT(NODES, NODE_A, weir_node, n_devices, 3, "is 3, its list has 4"),
        FAULT(NODES, NODE_A, weir_node, first_device, 77, "not a live row of devices"),
        FAULT(NODES, NODE_A, weir_node, first_device, DEVICE_B, "which is not of it"),
        FAULT(NODES, NODE_A, weir_node, first_task, 77, "not a live row of tasks"),
        FAULT(NODES, NODE_A, weir_node, first_task, f->ended, "which is not of it"),
        FAULT(NODES, NODE_A, weir_node, first_task, f->gang[2], "which is not of it"),
        FAULT(NODES, NODE_A, weir_node, phase_cause, 9999, "not a string"),
        FAULT(NODES, NODE_A, weir_node, reserved, 1, "is not 0"),
        FAULT(NODES, NODE_A, weir_node, ready_p50_wall_ms, -1, "is -1, not within"),
        FAULT(NODES, NODE_A, weir_node, ready_p90_wall_ms, INT64_MAX, "not within"),
        FAULT_NAMED(NODES, NODE_A, weir_node, capacity.of[3], -1, "capacity[3]", "is -1"),
        FAULT_NAMED(NODES, NODE_B, weir_node, capacity.of[0], WEIR_AMOUNT_MAX, "capacity[0]",
                    "sum over the table"),
        FAULT_NAMED(NODES, NODE_A, weir_node, foreign.of[31], WEIR_AMOUNT_MAX + 1, "foreign[31]",
                    "not within"),
        FAULT_NAMED(NODES, NODE_A, weir_node, held.of[0], 2249, "held[0]",
                    "is 2249, its tasks sum to 2250"),
        FAULT_NAMED(NODES, NODE_B, weir_node, held.of[31], 1, "held[31]",
                    "is 1, its tasks sum to 0"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_devices(void **state)
{
    const struct fault faults[] = {
        FAULT(DEVICES, DEVICE_B, weir_device, uuid, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, model, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, nvlink, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, health_cause, 9999, "not a string"),
        FAULT(DEVICES, DEVICE_B, weir_device, node, WEIR_NONE, "not a live row of nodes"),
        FAULT(DEVICES, DEVICE_B, weir_device, node, 2, "not a live row of nodes"),
        FAULT(DEVICES, DEVICE_B, weir_device, parent, 77, "not a live row of devices"),
        FAULT(DEVICES, DEVICE_B, weir_device, parent, DEVICE_WHOLE, "no parent for kind 0"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, parent, DEVICE_INSTANCE, "no parent for kind"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, parent, DEVICE_B, "on node 1, not on node 0"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, kind, WEIR_DEVICE_KIND_MAX, "not below 4"),
        FAULT_NAMED(DEVICES, DEVICE_B, weir_device, kind, WEIR_DEVICE_MIG, "mig_profile",
                    "device of kind 1"),
        FAULT(DEVICES, DEVICE_B, weir_device, health, WEIR_DEVICE_HEALTH_MAX, "not below 4"),
        FAULT(DEVICES, DEVICE_B, weir_device, binder, WEIR_BINDER_MAX, "not below 3"),
        FAULT(DEVICES, DEVICE_B, weir_device, gpu_class, PROFILE_1G, "not a resource of kind 1"),
        FAULT(DEVICES, DEVICE_B, weir_device, mig_profile, CLASS_H100, "not a resource of kind 2"),
        FAULT(DEVICES, DEVICE_B, weir_device, mig_profile, PROFILE_1G, "for a device of kind 0"),
        FAULT(DEVICES, DEVICE_INSTANCE, weir_device, mig_profile, WEIR_NONE, "device of kind 1"),
        FAULT(DEVICES, DEVICE_B, weir_device, cordoned, 2, "not below 2"),
        FAULT(DEVICES, DEVICE_B, weir_device, isolation, WEIR_ISOLATION_MAX, "not below 3"),
        FAULT(DEVICES, DEVICE_B, weir_device, slots_used, 0x100, "not within its slots 0xff"),
        FAULT(DEVICES, DEVICE_B, weir_device, max_sharers, 0, "is 0"),
        FAULT(DEVICES, DEVICE_B, weir_device, memory_bytes, -1, "is -1, not within"),
        FAULT(DEVICES, DEVICE_B, weir_device, memory_foreign_bytes, INT64_MIN, "not within"),
        FAULT(DEVICES, DEVICE_B, weir_device, reserved, 7, "is not 0"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, first_hold, 77, "not a live row of holds"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, n_sharers, 0, "is 0, its list has 1"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, held_mgpu, 999, "is 999, its holds sum to 1000"),
        FAULT(DEVICES, DEVICE_WHOLE, weir_device, held_mgpu, -1, "is -1, not within"),
        FAULT(DEVICES, DEVICE_SHARED, weir_device, held_memory_bytes, 1, "its holds sum to"),
        FAULT_NAMED(DEVICES, DEVICE_SHARED, weir_device, memory_bytes, 10 * WEIR_GIB - 1,
                    "held_memory_bytes", "more than the 10737418239 it has"),
    };

    BREAK_EACH(*state, faults);
}

static void names_faults_of_holds(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(HOLDS, 0, weir_hold, device, 77, "not a live row of devices"),
        FAULT(HOLDS, 0, weir_hold, device, WEIR_NONE, "not a live row of devices"),
        FAULT(HOLDS, 0, weir_hold, task, 77, "not a live row of tasks"),
        FAULT(HOLDS, 0, weir_hold, next_of_device, 77, "not a live row of holds"),
        FAULT(HOLDS, 0, weir_hold, next_of_task, 77, "not a live row of holds"),
        FAULT(HOLDS, 0, weir_hold, next_of_device, 0, "twice, or into a circle"),
        FAULT(HOLDS, 0, weir_hold, next_of_task, 0, "twice, or into a circle"),
        FAULT(HOLDS, 0, weir_hold, part_mgpu, -1, "is -1, not within"),
        FAULT(HOLDS, 0, weir_hold, memory_bytes, -1, "is -1, not within"),
        FAULT(HOLDS, 0, weir_hold, used_bytes, -1, "is -1, not within"),
        FAULT(HOLDS, 0, weir_hold, n_over, WEIR_SAMPLES_MAX + 1, "not below 17"),
        FAULT(HOLDS, 0, weir_hold, n_under, WEIR_SAMPLES_MAX + 1, "not below 17"),
        FAULT(HOLDS, 0, weir_hold, is_warned, 2, "not below 2"),
        FAULT(HOLDS, 0, weir_hold, reserved, 1, "is not 0"),
    };
    char field[64];

    BREAK_EACH(f, faults);
    task(f, f->gang[0])->first_hold = WEIR_NONE;
    expect(f, "holds[0].next_of_task", "in no list of tasks");
    task(f, f->gang[0])->first_hold = 0;
    hold(f, 0)->task = f->ended;
    snprintf(field, sizeof(field), "tasks[%u].first_hold", f->gang[0]);
    expect(f, field, "leads to row 0 of holds, which is not of it");
    task(f, f->ended)->first_hold = 0;
    task(f, f->gang[0])->first_hold = WEIR_NONE;
    expect(f, "holds[0].task", "which is succeeded and holds nothing");
    task(f, f->ended)->first_hold = WEIR_NONE;
    task(f, f->gang[0])->first_hold = 0;
    hold(f, 0)->task = f->gang[0];
    expect_whole(f);
    /* On a device of another node. */
    hold(f, 0)->device = DEVICE_B;
    device(f, DEVICE_B)->first_hold = 0;
    device(f, DEVICE_B)->n_sharers = 1;
    device(f, DEVICE_WHOLE)->first_hold = WEIR_NONE;
    device(f, DEVICE_WHOLE)->n_sharers = 0;
    device(f, DEVICE_WHOLE)->held_mgpu = 0;
    expect(f, "holds[0].device", "is 4 on node 1, its task is on node 0");
}

static void names_faults_of_queues(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, name, 9999, "not a string"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, parent, 77, "not a live row of queues"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, first_child, 77, "not a live row of queues"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, next_sibling, 77, "not a live row of queues"),
        FAULT(QUEUES, QUEUE_OTHER, weir_queue, next_sibling, QUEUE_LEFT, "in no list"),
        FAULT(QUEUES, QUEUE_RIGHT, weir_queue, next_sibling, QUEUE_RIGHT, "into a circle"),
        FAULT(QUEUES, QUEUE_OTHER, weir_queue, first_child, QUEUE_LEFT, "which is not of it"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, first_workload, 77, "not a live row of workloads"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, first_workload, WORKLOAD_OTHER, "not of it"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, n_workloads, 1, "is 1, its list has 2"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, isolation, WEIR_ISOLATION_MAX, "not below 3"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, preemptible, 2, "not below 2"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, created_wall_ms, -1, "is -1"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, run_limit_ms, WEIR_MS_MAX + 1, "not within"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, budget_uusd, INT64_MAX - 1, "not within"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, spent_uusd, INT64_MAX, "not within"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, open_hours, f->statuses + 1, "not a span"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, open_hours, f->taints, "not of groups of 2"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, over_budget, WEIR_OVER_BUDGET_MAX, "not below 3"),
        FAULT(QUEUES, QUEUE_LEFT, weir_queue, open_hours_base_wall_ms, -1, "is -1"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, guaranteed.of[2], INT64_MAX, "guaranteed[2]",
                    "not within"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, limit.of[0], -1, "limit[0]", "is -1"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, decayed.of[1], -1, "decayed[1]", "is -1"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, held.of[0], 0, "held[0]",
                    "is 0, its tasks sum to 2250"),
        FAULT_NAMED(QUEUES, QUEUE_ROOT, weir_queue, held.of[0], 0, "held[0]",
                    "is 0, its tasks sum to 2250"),
        FAULT_NAMED(QUEUES, QUEUE_LEFT, weir_queue, wanted.of[0], 0, "wanted[0]",
                    "is 0, its tasks sum to 250"),
        FAULT_NAMED(QUEUES, QUEUE_OTHER, weir_queue, wanted.of[30], -5, "wanted[30]",
                    "is -5, its tasks sum to 0"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_workloads_and_roles(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, queue, 77, "not a live row of queues"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, next_in_queue, 77, "not a live row of"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, prev_in_queue, 77, "not a live row of"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, prev_in_queue, WEIR_NONE,
              "the one before it is 1"),
        FAULT(WORKLOADS, WORKLOAD_SECOND, weir_workload, next_in_queue, WORKLOAD_SECOND,
              "into a circle"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, owner, 9999, "not a string"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, class, WEIR_CLASS_MAX, "not below 4"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, preemptible, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, independent, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, gang_min, 4, "is 4 of 3 tasks"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, first_role, 77, "not a live row of roles"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, first_task, 77, "not a live row of tasks"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, first_task, f->second, "not of it"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, n_tasks, 2, "is 2, its list has 3"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, n_waiting, 2, "is 2, its tasks count 1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, n_running, 1, "is 1, its tasks count 2"),
        FAULT(WORKLOADS, WORKLOAD_RIGHT, weir_workload, n_done, 0, "is 0, its tasks count 1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, held, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, cancelled, 2, "not below 2"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, retry_on, f->hours, "has 480 in cell 0"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, backoff_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, checkpoint_signal, 65, "not below 65"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, submitted_wall_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, not_before_wall_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, deadline_wall_ms, INT64_MAX, "not within"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, checkpoint_grace_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, runtime.limit_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, runtime.p50_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, runtime.p90_ms, -1, "is -1"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.required, 5, "is 5, not below 5"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.preferred, 5, "not below 5"),
        FAULT(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.slice_level, 5, "not below 5"),
        FAULT_NAMED(WORKLOADS, WORKLOAD_GANG, weir_workload, topology.slice_level, 1,
                    "topology.slice_size", "is 0 although"),
        FAULT(ROLES, 0, weir_role, workload, 77, "not a live row of workloads"),
        FAULT(ROLES, 0, weir_role, next_in_workload, 77, "not a live row of roles"),
        FAULT(ROLES, 0, weir_role, next_in_workload, 0, "into a circle"),
        FAULT(ROLES, 0, weir_role, name, 9999, "not a string"),
        FAULT(ROLES, 0, weir_role, shape, 3, "not a live row of shapes"),
        FAULT(ROLES, 0, weir_role, n_tasks, 3, "is 3, there are 2 tasks"),
        FAULT(ROLES, 0, weir_role, n_min, 3, "is 3 of 2 tasks"),
        FAULT(ROLES, 0, weir_role, is_leader, 2, "not below 2"),
        FAULT(ROLES, 0, weir_role, reserved, 1, "is not 0"),
    };
    char field[64];

    BREAK_EACH(f, faults);
    ((struct weir_role *)mutable(weir_world_role(f->world, 0)))->n_tasks = 1;
    snprintf(field, sizeof(field), "tasks[%u].role", f->gang[2]);
    expect(f, field, "all roles of the workload are full");
}

static void names_faults_of_tasks(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(TASKS, f->gang[0], weir_task, workload, 77, "not a live row of workloads"),
        FAULT(TASKS, f->gang[0], weir_task, role, 77, "not a live row of roles"),
        FAULT(TASKS, f->gang[0], weir_task, role, 0, "its place in the workload is in role 1"),
        FAULT(TASKS, f->gang[0], weir_task, next_in_workload, 77, "not a live row of tasks"),
        FAULT(TASKS, f->gang[0], weir_task, next_in_workload, f->gang[0], "into a circle"),
        FAULT(TASKS, f->gang[1], weir_task, member, 2, "is 2 at place 1"),
        FAULT(TASKS, f->gang[0], weir_task, state, WEIR_TASK_STATE_MAX, "not below 8"),
        FAULT(TASKS, f->gang[0], weir_task, attempt, 0, "is 0 although it was started"),
        FAULT(TASKS, f->gang[0], weir_task, node, 77, "not a live row of nodes"),
        FAULT(TASKS, f->gang[0], weir_task, node, WEIR_NONE, "is none although it is running"),
        FAULT(TASKS, f->gang[2], weir_task, node, NODE_A, "although it is queued"),
        FAULT(TASKS, f->ended, weir_task, next_on_node, f->gang[2], "although the row is in no"),
        FAULT(TASKS, f->gang[0], weir_task, next_on_node, 77, "not a live row of tasks"),
        FAULT(TASKS, f->gang[0], weir_task, next_on_node, f->gang[0], "into a circle"),
        FAULT(TASKS, f->gang[0], weir_task, first_hold, 77, "not a live row of holds"),
        FAULT(TASKS, f->gang[0], weir_task, first_hold, 1, "which is not of it"),
        FAULT(TASKS, f->second, weir_task, stop_cause, 99, "is 99, not below"),
        FAULT(TASKS, f->gang[0], weir_task, stop_cause, 1, "although it is running"),
        FAULT(TASKS, f->gang[0], weir_task, ended, WEIR_END_MAX, "not below 7"),
        FAULT(TASKS, f->gang[2], weir_task, ended, WEIR_END_EXITED, "although it is queued"),
        FAULT(TASKS, f->gang[0], weir_task, exit_status, 256, "is 256, not below 256"),
        FAULT(TASKS, f->gang[0], weir_task, exit_status, -1, "not below 256"),
        FAULT(TASKS, f->gang[0], weir_task, cause, 99, "is 99, not below"),
        FAULT(TASKS, f->gang[0], weir_task, reserved, 1, "is not 0"),
        FAULT(TASKS, f->gang[0], weir_task, started_wall_ms, -1, "is -1"),
        FAULT(TASKS, f->gang[0], weir_task, started_mono_ms, -1, "is -1"),
        FAULT(TASKS, f->gang[0], weir_task, checkpoint_mono_ms, -1, "is -1"),
        FAULT(TASKS, f->gang[0], weir_task, not_before_wall_ms, -1, "is -1"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_signals_intents_and_prices(void **state)
{
    const struct fixture *f = *state;
    const struct fault faults[] = {
        FAULT(SIGNALS, 0, weir_signal, subject_kind, WEIR_SUBJECT_MAX, "not below 7"),
        FAULT(SIGNALS, 0, weir_signal, metric, 9999, "not a string"),
        FAULT(SIGNALS, 0, weir_signal, window_ms, -1, "is -1"),
        FAULT(SIGNALS, 0, weir_signal, observed_wall_ms, -1, "is -1"),
        FAULT(SIGNALS, 0, weir_signal, valid, 2, "not below 2"),
        FAULT(SIGNALS, 0, weir_signal, reserved, 1, "is not 0"),
        FAULT(INTENTS, 0, weir_intent, kind, WEIR_INTENT_KIND_MAX, "not below 7"),
        FAULT(INTENTS, 0, weir_intent, subject_kind, WEIR_SUBJECT_MAX, "not below 7"),
        FAULT(INTENTS, 0, weir_intent, created_wall_ms, -1, "is -1"),
        FAULT(INTENTS, 0, weir_intent, not_before_wall_ms, -1, "is -1"),
        FAULT(INTENTS, 0, weir_intent, deadline_wall_ms, INT64_MAX, "not within"),
        FAULT(INTENTS, 0, weir_intent, device, 77, "not a live row of devices"),
        FAULT(INTENTS, 0, weir_intent, node, 77, "not a live row of nodes"),
        FAULT(INTENTS, 0, weir_intent, reserved_mgpu, -1, "is -1"),
        FAULT(PRICES, 0, weir_price, gpu_class, WEIR_RES_CPU, "not a resource of kind 1"),
        FAULT(PRICES, 0, weir_price, pool, 9999, "not a string"),
        FAULT(PRICES, 0, weir_price, uusd_per_gpu_hour, -1, "is -1"),
        FAULT(PRICES, 0, weir_price, from_wall_ms, -1, "is -1"),
        FAULT(PRICES, 0, weir_price, source, 9999, "not a string"),
        FAULT(PRICES, 0, weir_price, spot, 2, "not below 2"),
    };

    BREAK_EACH(f, faults);
}

static void names_faults_of_rows_strings_and_spans(void **state)
{
    const struct fixture *f = *state;
    const uint32_t last = f->world->tables[WEIR_TABLE_SPANS].n_rows - 1;
    const struct fault faults[] = {
        FAULT_NAMED(SIGNALS, 1, weir_signal, window_ms, 5, "row", "is free, but not zero"),
        FAULT_NAMED(SIGNALS, 1, weir_signal, row.key.bytes[3], 5, "row", "is free, but not zero"),
        FAULT_NAMED(SIGNALS, 0, weir_signal, row.gen, 0, "gen", "is 0"),
        FAULT_NAMED(SIGNALS, 1, weir_signal, row.gen, 0, "gen", "is 0"),
        FAULT_NAMED(SIGNALS, 0, weir_signal, row.live, 2, "live", "is 2, not below 2"),
        FAULT_NAMED(STRINGS, 0, weir_string, row.live, 0, "live", "never freed"),
        FAULT_NAMED(SPANS, 0, weir_span_cell, row.live, 0, "live", "never freed"),
        FAULT_NAMED(TASKS, 0, weir_task, row.key.bytes[0], 1, "key", "have none"),
        FAULT(STRINGS, 0, weir_string, len, 220, "is 220, not below 220"),
        FAULT_NAMED(STRINGS, 0, weir_string, len, 2, "text", "goes on after its 2 bytes"),
        FAULT_NAMED(STRINGS, 0, weir_string, text[219], 1, "text", "goes on after its 3 bytes"),
        FAULT(SPANS, f->labels, weir_span_cell, value, 0, "counts 0 cells"),
        FAULT(SPANS, last - 2, weir_span_cell, value, 3, "counts 3 cells, 2 follow"),
        FAULT(SPANS, last - 2, weir_span_cell, value, WEIR_NONE, "2 follow"),
        FAULT(SPANS, last, weir_span_cell, reserved, 1, "is not 0"),
    };

    BREAK_EACH(f, faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(names_faults_of_resources_and_shapes),
        WITH_FIXTURE(names_faults_of_nodes),
        WITH_FIXTURE(names_faults_of_devices),
        WITH_FIXTURE(names_faults_of_holds),
        WITH_FIXTURE(names_faults_of_queues),
        WITH_FIXTURE(names_faults_of_workloads_and_roles),
        WITH_FIXTURE(names_faults_of_tasks),
        WITH_FIXTURE(names_faults_of_signals_intents_and_prices),
        WITH_FIXTURE(names_faults_of_rows_strings_and_spans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

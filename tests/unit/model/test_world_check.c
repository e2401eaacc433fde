/* What several rows say together, broken; and random damage. */
#include "base/count.h"
#include "tests/unit/model/world_fixture.h"
#include "world_history.h"

static void is_whole_to_begin_with(void **state)
{
    const struct fixture *f = *state;

    expect_whole(f);
    assert_int_equal(weir_world_check(weir_edit_view(f->edit), NULL), 0);
    assert_false(f->world->is_keyframe);
}

static void names_circles_of_devices(void **state)
{
    const struct fixture *f = *state;

    /* The newest is first. */
    device(f, DEVICE_WHOLE)->next_on_node = DEVICE_INSTANCE;
    expect(f, "devices[3].next_on_node", "into a list twice, or into a circle");
    device(f, DEVICE_WHOLE)->next_on_node = DEVICE_B;
    expect(f, "nodes[0].first_device", "leads to row 4 of devices, which is not of it");
}

static void no_device_is_given_out_twice(void **state)
{
    const struct fixture *f = *state;
    uint32_t whole = device(f, DEVICE_WHOLE)->first_hold;
    uint32_t slice = device(f, DEVICE_SLICED)->first_hold;
    uint32_t index;
    struct weir_grant more = {.device = DEVICE_SHARED, .part_mgpu = 1};

    hold(f, whole)->part_mgpu = 1001;
    device(f, DEVICE_WHOLE)->held_mgpu = 1001;
    expect(f, "devices[0].held_mgpu", "is 1001, more than the device has");
    hold(f, whole)->part_mgpu = 1000;
    device(f, DEVICE_WHOLE)->held_mgpu = 1000;
    hold(f, slice)->slots = 0x80;
    expect(f, "holds[2].slots", "not in use on its device");
    hold(f, slice)->slots = 4;
    expect_whole(f);
    /* Two tasks with the same slice, then one sharer too many. */
    device(f, DEVICE_SHARED)->max_sharers = 1;
    must(weir_edit_task_start(f->edit, f->gang[2], NODE_A, &more, 1, 1, 1));
    weir_world_unref(f->world);
    ((struct fixture *)*state)->world = weir_edit_seal(f->edit);
    device(f, DEVICE_SHARED)->max_sharers = 1;
    expect(f, "devices[1].n_sharers", "is 2, more than its 1");
    device(f, DEVICE_SHARED)->max_sharers = 2;
    index = device(f, DEVICE_SHARED)->first_hold;
    device(f, DEVICE_SHARED)->slots_used = 1;
    hold(f, index)->slots = 1;
    hold(f, hold(f, index)->next_of_device)->slots = 1;
    expect(f, "holds[1].slots", "is 0x1, taken by another hold");
}

static void names_circles_of_queues(void **state)
{
    const struct fixture *f = *state;

    /* Its own parent and child. */
    queue(f, QUEUE_OTHER)->parent = QUEUE_OTHER;
    expect(f, "queues[3].next_sibling", "in no list of queues");
    workload(f, WORKLOAD_OTHER)->queue = QUEUE_LEFT;
    queue(f, QUEUE_OTHER)->first_child = QUEUE_OTHER;
    expect(f, "queues[3].first_workload", "which is not of it");
    workload(f, WORKLOAD_OTHER)->queue = QUEUE_OTHER;
    expect(f, "queues[3].first_workload", "although the queue has children");
    queue(f, QUEUE_OTHER)->first_child = WEIR_NONE;
    queue(f, QUEUE_OTHER)->parent = WEIR_NONE;
    expect_whole(f);
    /* The root below one that has nothing else, which is below the root. */
    must(weir_edit_remove_workload(f->edit, WORKLOAD_RIGHT));
    weir_world_unref(f->world);
    ((struct fixture *)*state)->world = weir_edit_seal(f->edit);
    expect_whole(f);
    queue(f, QUEUE_ROOT)->parent = QUEUE_RIGHT;
    queue(f, QUEUE_RIGHT)->first_child = QUEUE_ROOT;
    expect(f, "queues[0].parent", "is 2, and leads back to it");
}

static void sums_past_the_bound_are_refused(void **state)
{
    const struct fixture *f = *state;
    struct weir_shape *shape = mutable(weir_world_shape(f->world, SHAPE_SHARE));

    shape->amounts[0].amount = WEIR_AMOUNT_MAX;
    expect(f, "nodes[0].held", "is too large to be summed");
    shape->amounts[0].amount = WEIR_AMOUNT_MAX - 2000;
    expect(f, "nodes[0].held[0]", "its tasks sum to");
    ((struct weir_node *)mutable(weir_world_node(f->world, NODE_A)))->held.of[0] = WEIR_AMOUNT_MAX;
    queue(f, QUEUE_LEFT)->held.of[0] = WEIR_AMOUNT_MAX;
    queue(f, QUEUE_LEFT)->wanted.of[0] = WEIR_AMOUNT_MAX - 2000;
    expect(f, "queues[1].wanted", "is too large together with held");
}

/* A value of a shared span: the row that first uses it is named. */
static void names_faults_in_spans(void **state)
{
    const struct fixture *f = *state;
    struct weir_span_cell *cell =
        mutable(weir_table_row(&f->world->tables[WEIR_TABLE_SPANS], f->hours + 2));

    cell->value = 480;
    expect(f, "queues[0].open_hours", "has 480 in cell 1 of its span");
    cell->value = 1080;
    cell = mutable(weir_table_row(&f->world->tables[WEIR_TABLE_SPANS], f->statuses + 1));
    cell->value = 256;
    expect(f, "workloads[0].retry_on", "has 256 in cell 0 of its span");
    cell->value = 1;
    cell = mutable(weir_table_row(&f->world->tables[WEIR_TABLE_SPANS], f->labels + 3));
    cell->value = 9999;
    expect(f, "shapes[1].labels", "has 9999 in cell 2 of its span");
}

static void names_rows_that_are_there_twice(void **state)
{
    const struct fixture *f = *state;
    static const enum weir_table_id keyed[] = {WEIR_TABLE_NODES, WEIR_TABLE_DEVICES,
                                               WEIR_TABLE_QUEUES, WEIR_TABLE_WORKLOADS,
                                               WEIR_TABLE_SIGNALS};
    struct weir_string kept =
        *(const struct weir_string *)weir_table_row(&f->world->tables[WEIR_TABLE_STRINGS], 1);
    struct weir_string *string = mutable(weir_table_row(&f->world->tables[WEIR_TABLE_STRINGS], 4));
    struct weir_shape *shape = mutable(weir_world_shape(f->world, 1));

    for (size_t i = 0; i < WEIR_COUNT_OF(keyed); i++) {
        uint32_t index = keyed[i] == WEIR_TABLE_SIGNALS ? 2 : 1;
        struct weir_row *row = mutable(weir_table_row(&f->world->tables[keyed[i]], index));
        struct weir_key was = row->key;
        char field[64];

        row->key = ((const struct weir_row *)weir_table_row(&f->world->tables[keyed[i]], 0))->key;
        snprintf(field, sizeof(field), "%s[%u].key", weir_table_name(keyed[i]), index);
        expect(f, field, "is that of row 0 as well");
        row->key = was;
    }
    {
        struct weir_string was = *string;

        string->len = kept.len;
        memcpy(string->text, kept.text, sizeof(kept.text));
        expect(f, "strings[4].value", "is that of row 1 as well");
        *string = was;
    }
    {
        struct weir_shape was = *shape;

        memcpy((char *)shape + sizeof(shape->row),
               (const char *)weir_world_shape(f->world, 0) + sizeof(shape->row),
               sizeof(*shape) - sizeof(shape->row));
        expect(f, "shapes[1].value", "is that of row 0 as well");
        *shape = was;
    }
    expect_whole(f);
}

static void names_faults_of_tables(void **state)
{
    const struct fixture *f = *state;
    struct weir_world *world = mutable(f->world);
    struct weir_table *tasks = &world->tables[WEIR_TABLE_TASKS];
    struct weir_table kept = *tasks;

    tasks->n_live++;
    expect(f, "tasks.n_live", "rows are live");
    *tasks = kept;
    tasks->row_size += 8;
    expect(f, "tasks.row_size", "must be");
    *tasks = kept;
    tasks->shift--;
    expect(f, "tasks.row_size", "with shift");
    *tasks = kept;
    tasks->n_rows += 1u << tasks->shift;
    expect(f, "tasks.n_rows", "which takes 2 chunks; there are 1");
    *tasks = kept;
    tasks->spine = NULL;
    expect(f, "tasks.n_rows", "there are 0");
    *tasks = kept;
    tasks->changed_from++;
    expect(f, "tasks.n_changed", "beside the change list");
    *tasks = kept;
    tasks->n_changed = 1000;
    expect(f, "tasks.n_changed", "beside the change list");
    *tasks = kept;
    world->changes[tasks->changed_from + 1] = world->changes[tasks->changed_from];
    expect(f, "tasks.changes", "out of order or of range");
    world->changes[tasks->changed_from + 1] = 500;
    expect(f, "tasks.changes", "name row 500");
    world->changes[tasks->changed_from + 1] = 1;
    expect_whole(f);
    world->n_changes++;
    expect(f, "", "n_changes is");
    world->n_changes--;
    world->is_keyframe = 1;
    expect(f, "nodes.n_changed", "beside the change list");
}

/* ---- arbitrary worlds ---- */

/* What the check lets through can be worked with: everything that can happen to tasks, happens. */
static void exercise(const struct weir_world *world)
{
    struct weir_edit *fork = weir_edit_fork(world);
    const struct weir_world *then;

    assert_non_null(fork);
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_TASKS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_TASKS, i))
        if (!weir_task_state_is_final(weir_world_task(world, i)->state))
            must(weir_edit_task_state(fork, i, WEIR_TASK_CANCELLED));
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_WORKLOADS, i))
        must(weir_edit_remove_workload(fork, i));
    then = weir_edit_seal(fork);
    assert_non_null(then);
    must(weir_world_check(then, NULL));
    for (uint32_t i = weir_world_first(then, WEIR_TABLE_QUEUES); i != WEIR_NONE;
         i = weir_world_after(then, WEIR_TABLE_QUEUES, i))
        for (int k = 0; k < WEIR_RESOURCE_MAX; k++)
            assert_true(weir_world_queue(then, i)->held.of[k] == 0 &&
                        weir_world_queue(then, i)->wanted.of[k] == 0);
    weir_world_unref(then);
    weir_edit_destroy(fork);
}

static void random_damage_is_refused_or_harmless(void **state)
{
    static const uint32_t values[] = {0, 1, 2, 3, 7, 255, 0x7fffffff, 0x80000000, WEIR_NONE};
    unsigned n_refused = 0;
    unsigned n_passed = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct history history;
        const struct weir_world *world;

        assert_int_equal(history_init(&history, seed, 6, 20), 0);
        assert_int_equal(history_run(&history, 1000), 0);
        world = weir_edit_seal(history.edit);
        must(weir_world_check(world, NULL));
        exercise(world);
        for (int i = 0; i < 1500; i++) {
            enum weir_table_id id =
                (enum weir_table_id)weir_rng_below(&history.rng, WEIR_TABLE_MAX);
            const struct weir_table *table = &world->tables[id];
            uint32_t *row;
            uint32_t at;
            uint32_t kept;

            if (table->n_rows == 0)
                continue;
            row = mutable(
                weir_table_row(table, (uint32_t)weir_rng_below(&history.rng, table->n_rows)));
            at = (uint32_t)weir_rng_below(&history.rng, table->row_size / 4);
            kept = row[at];
            row[at] = values[weir_rng_below(&history.rng, WEIR_COUNT_OF(values))];
            if (weir_world_check(world, NULL) < 0) {
                n_refused++;
            } else {
                n_passed++;
                exercise(world);
            }
            row[at] = kept;
        }
        weir_world_unref(world);
        history_finish(&history);
    }
    assert_true(n_refused > 500 && n_passed > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(is_whole_to_begin_with),
        WITH_FIXTURE(names_circles_of_devices),
        WITH_FIXTURE(no_device_is_given_out_twice),
        WITH_FIXTURE(names_circles_of_queues),
        WITH_FIXTURE(sums_past_the_bound_are_refused),
        WITH_FIXTURE(names_faults_in_spans),
        WITH_FIXTURE(names_rows_that_are_there_twice),
        WITH_FIXTURE(names_faults_of_tables),
        cmocka_unit_test(random_damage_is_refused_or_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

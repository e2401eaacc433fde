/* The writer of worlds against a plain model that has no sums, no lists and no versions: what the
 * writer keeps is computed from the model after every step of a random history. */
#include "base/err.h"
#include "model/world_check.h"
#include "model/world_edit.h"
#include "tests/unit/model/plain_model.h"
#include "world_history.h"
#include "world_same.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <malloc.h>
#include <pthread.h>

static uint64_t seed_of_run(void)
{
    const char *text = getenv("WEIR_SEED");

    return text != NULL ? strtoull(text, NULL, 10) : 1;
}

static void check(const struct weir_world *world)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_world_check(world, &err) < 0)
        fail_msg("%s", err.text);
}

static void agrees_with_a_plain_model(void **state)
{
    static struct model model;
    unsigned n_refused[HISTORY_KIND_MAX] = {0};
    unsigned n_done[HISTORY_KIND_MAX] = {0};

    (void)state;
    for (uint64_t seed = seed_of_run(); seed < seed_of_run() + 8; seed++) {
        struct history history;

        memset(&model, 0, sizeof(model));
        assert_int_equal(history_init(&history, seed, 8, 30), 0);
        for (int i = 0; i < 700; i++) {
            struct history_op op;
            int expected;

            assert_int_equal(history_step(&history, &op), 0);
            expected = apply(&model, &op, weir_edit_view(history.edit));
            if (op.result != expected)
                fail_msg("seed %llu step %d operation %d: %d, expected %d",
                         (unsigned long long)seed, i, op.kind, op.result, expected);
            (op.result < 0 ? n_refused : n_done)[op.kind]++;
            compare(&model, history.edit);
            check(weir_edit_view(history.edit));
            if (i % 7 == 0)
                weir_world_unref(weir_edit_seal(history.edit));
        }
        history_finish(&history);
    }
    for (int kind = 0; kind < HISTORY_KIND_MAX; kind++)
        assert_true(n_done[kind] > 10);
    assert_true(n_refused[HISTORY_START] > 10 && n_refused[HISTORY_STATE] > 10 &&
                n_refused[HISTORY_MOVE_QUEUE] > 10 && n_refused[HISTORY_ADD_WORKLOAD] > 10 &&
                n_refused[HISTORY_ADD_QUEUE] > 10 && n_refused[HISTORY_REMOVE_QUEUE] > 10);
}

/* ---- versions ---- */

enum { KEPT = 24 };

struct kept {
    const struct weir_world *world;
    uint64_t hash;
};

static void keep(struct kept *kept, const struct weir_world *world)
{
    weir_world_unref(kept->world);
    *kept = (struct kept){world, world_hash(world)};
}

static void old_versions_stay_as_they_are(void **state)
{
    struct kept kept[KEPT] = {{0}};
    struct history history;

    (void)state;
    assert_int_equal(history_init(&history, seed_of_run() + 100, 20, 100), 0);
    for (unsigned i = 0; i < 400; i++) {
        const struct weir_world *world;

        assert_int_equal(history_run(&history, 5), 0);
        world = weir_edit_seal(history.edit);
        assert_non_null(world);
        check(world);
        assert_int_equal(world->version, i + 1);
        keep(&kept[weir_rng_below(&history.rng, KEPT)], world);
        for (int k = 0; k < KEPT; k++)
            if (kept[k].world != NULL)
                assert_int_equal(world_hash(kept[k].world), kept[k].hash);
    }
    history_finish(&history);
    for (int k = 0; k < KEPT; k++) {
        if (kept[k].world != NULL)
            assert_int_equal(world_hash(kept[k].world), kept[k].hash);
        weir_world_unref(kept[k].world);
    }
}

static bool is_changed(const struct weir_world *world, enum weir_table_id id, uint32_t index)
{
    const struct weir_table *table = &world->tables[id];

    for (uint32_t i = 0; i < table->n_changed; i++)
        if (world->changes[table->changed_from + i] == index)
            return true;
    return false;
}

static void the_change_list_is_exact(void **state)
{
    const struct weir_world *before = NULL;
    struct history history;

    (void)state;
    assert_int_equal(history_init(&history, seed_of_run() + 200, 10, 40), 0);
    for (int i = 0; i < 300; i++) {
        const struct weir_world *world;

        assert_int_equal(history_run(&history, 4), 0);
        world = weir_edit_seal(history.edit);
        assert_non_null(world);
        assert_int_equal(world->is_keyframe, i == 0);
        for (enum weir_table_id id = 0; before != NULL && id < WEIR_TABLE_MAX; id++)
            for (uint32_t k = 0; k < world->tables[id].n_rows; k++) {
                const struct weir_row *row = weir_table_row(&world->tables[id], k);
                bool same = k < before->tables[id].n_rows && world_row_same(world, before, id, k);

                assert_int_equal(is_changed(world, id, k), !same);
                if (!same && k < before->tables[id].n_rows)
                    assert_true(
                        row->gen >
                        ((const struct weir_row *)weir_table_row(&before->tables[id], k))->gen);
            }
        weir_world_unref(before);
        before = world;
    }
    weir_world_unref(before);
    history_finish(&history);
}

/* A reader beside the writer: takes versions over, reads them whole, lets them go. */
struct reader {
    pthread_mutex_t lock;
    struct kept next;
    bool is_done;
    atomic_uint n_read;
    atomic_uint n_wrong;
};

static void *read_versions(void *arg)
{
    struct reader *reader = arg;

    for (;;) {
        struct kept mine;
        bool is_done;

        pthread_mutex_lock(&reader->lock);
        mine = reader->next;
        reader->next.world = NULL;
        is_done = reader->is_done;
        pthread_mutex_unlock(&reader->lock);
        if (mine.world == NULL && is_done)
            return NULL;
        if (mine.world == NULL)
            continue;
        atomic_fetch_add(&reader->n_read, 1);
        for (int i = 0; i < 3; i++)
            if (world_hash(mine.world) != mine.hash)
                atomic_fetch_add(&reader->n_wrong, 1);
        weir_world_unref(mine.world);
    }
}

static void is_read_while_it_goes_on(void **state)
{
    struct reader reader = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct history history;
    pthread_t threads[2];

    (void)state;
    assert_int_equal(history_init(&history, seed_of_run() + 300, 20, 60), 0);
    for (int t = 0; t < 2; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, read_versions, &reader), 0);
    for (int i = 0; i < 2000; i++) {
        struct kept kept;

        assert_int_equal(history_run(&history, 5), 0);
        kept.world = weir_edit_seal(history.edit);
        assert_non_null(kept.world);
        kept.hash = world_hash(kept.world);
        pthread_mutex_lock(&reader.lock);
        weir_world_unref(reader.next.world);
        reader.next = kept;
        pthread_mutex_unlock(&reader.lock);
    }
    pthread_mutex_lock(&reader.lock);
    reader.is_done = true;
    pthread_mutex_unlock(&reader.lock);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    assert_true(reader.n_read > 0);
    assert_int_equal(reader.n_wrong, 0);
    history_finish(&history);
}

static void a_fork_leaves_its_version_alone(void **state)
{
    struct history history;
    const struct weir_world *world;
    uint64_t hash;

    (void)state;
    assert_int_equal(history_init(&history, seed_of_run() + 400, 10, 60), 0);
    assert_int_equal(history_run(&history, 600), 0);
    world = weir_edit_seal(history.edit);
    assert_non_null(world);
    hash = world_hash(world);
    for (int round = 0; round < 2; round++) {
        struct weir_edit *fork = weir_edit_fork(world);
        const struct weir_world *then;
        unsigned n = 0;

        assert_non_null(fork);
        for (uint32_t i = weir_world_first(world, WEIR_TABLE_TASKS); i != WEIR_NONE;
             i = weir_world_after(world, WEIR_TABLE_TASKS, i))
            n += weir_edit_task_state(fork, i, WEIR_TASK_CANCELLED) == 0;
        assert_true(n > 10);
        assert_int_equal(history_run(&history, 20), 0);
        then = weir_edit_seal(fork);
        assert_non_null(then);
        check(then);
        assert_int_equal(then->version, world->version + 1);
        assert_false(then->is_keyframe);
        assert_int_equal(then->tables[WEIR_TABLE_TASKS].n_changed >= n, 1);
        assert_null(weir_edit_destroy(fork));
        check(then);
        weir_world_unref(then);
        assert_int_equal(world_hash(world), hash);
    }
    weir_world_unref(world);
    history_finish(&history);
}

static void a_fork_without_changes_seals(void **state)
{
    static const uint8_t boot_id[16];
    struct weir_edit *edit = weir_edit_create(boot_id);
    const struct weir_world *world = weir_edit_seal(edit);
    struct weir_edit *fork = weir_edit_fork(world);
    const struct weir_world *same = weir_edit_seal(fork);

    (void)state;
    check(same);
    assert_int_equal(same->n_changes, 0);
    weir_world_unref(same);
    weir_edit_destroy(fork);
    weir_world_unref(world);
    weir_edit_destroy(edit);
}

/* ---- single promises ---- */

static void rows_of_a_chunk_may_move_while_they_are_unlinked(void **state)
{
    struct history history;

    (void)state;
    /* Versions are let go at once, so that a replaced chunk is freed at once. */
    assert_int_equal(history_init(&history, seed_of_run() + 500, 6, 60), 0);
    for (int i = 0; i < 4000; i++) {
        assert_int_equal(history_run(&history, 1), 0);
        weir_world_unref(weir_edit_seal(history.edit));
    }
    check(weir_edit_view(history.edit));
    history_finish(&history);
}

static void refuses_a_key_in_use(void **state)
{
    static const uint8_t boot_id[16];
    struct weir_edit *edit = weir_edit_create(boot_id);
    struct weir_key key = weir_key_of_number(1, 2);
    struct weir_signal signal = {.metric = WEIR_NONE};
    uint32_t first = 77;
    uint32_t second = 77;

    (void)state;
    assert_int_equal(weir_edit_add_signal(edit, &key, &signal, &first), 0);
    assert_int_equal(weir_edit_add_signal(edit, &key, &signal, &second), WEIR_E_EXISTS);
    assert_int_equal(second, 77);
    assert_int_equal(weir_edit_remove_plain(edit, WEIR_TABLE_SIGNALS, first), 0);
    assert_int_equal(weir_edit_find(edit, WEIR_TABLE_SIGNALS, &key), WEIR_NONE);
    assert_int_equal(weir_edit_add_signal(edit, &key, &signal, &second), 0);
    assert_int_equal(second, first);
    assert_int_equal(weir_edit_remove_plain(edit, WEIR_TABLE_TASKS, first), WEIR_E_INVALID);
    weir_edit_destroy(edit);
}

/* A node, a device and a queue of one name are three things. */
static void finds_by_name(void **state)
{
    static const uint8_t boot_id[16];
    struct weir_edit *edit = weir_edit_create(boot_id);
    struct weir_str name = WEIR_STR("a");
    struct weir_key keys[] = {weir_key_of_node(name), weir_key_of_device(name),
                              weir_key_of_queue(name)};
    struct weir_node node = {.phase = WEIR_NODE_READY};
    struct weir_queue queue = {.parent = WEIR_NONE};
    uint32_t index;

    (void)state;
    assert_false(weir_key_eq(&keys[0], &keys[1]));
    assert_false(weir_key_eq(&keys[0], &keys[2]));
    assert_false(weir_key_eq(&keys[1], &keys[2]));
    assert_int_equal(weir_edit_add_node(edit, &keys[0], &node, &index), 0);
    assert_int_equal(weir_edit_find_node(edit, name), index);
    assert_int_equal(weir_edit_find_device(edit, name), WEIR_NONE);
    assert_int_equal(weir_edit_find_queue(edit, name), WEIR_NONE);
    assert_int_equal(weir_edit_add_queue(edit, &keys[2], &queue, &index), 0);
    assert_int_equal(weir_edit_find_queue(edit, name), index);
    assert_int_equal(weir_edit_find_node(edit, WEIR_STR("b")), WEIR_NONE);
    weir_edit_destroy(edit);
}

static void names_classes_of_gpus(void **state)
{
    static const uint8_t boot_id[16];
    struct weir_edit *edit = weir_edit_create(boot_id);
    char text[200];
    uint32_t a;
    uint32_t b;

    (void)state;
    assert_int_equal(weir_edit_gpu_class(edit, WEIR_STR("h100-sxm"), &a), 0);
    assert_true(weir_str_eq_c(weir_world_gpu_class_name(weir_edit_view(edit), a), "h100-sxm"));
    assert_true(
        weir_str_eq_c(weir_world_gpu_class_name(weir_edit_view(edit), WEIR_RES_GPU), "gpu"));
    assert_int_equal(
        weir_edit_resource(edit, WEIR_RESOURCE_GPU_CLASS, WEIR_STR("gpu/h100-sxm"), 1000, &b), 0);
    assert_int_equal(a, b);
    memset(text, 'x', sizeof(text));
    assert_int_equal(weir_edit_gpu_class(edit, weir_str_n(text, 128), &a), 0);
    assert_int_equal(weir_edit_gpu_class(edit, weir_str_n(text, 129), &b), 0);
    assert_int_equal(a, b);
    weir_edit_destroy(edit);
}

static void interns(void **state)
{
    static const uint8_t boot_id[16];
    struct weir_edit *edit = weir_edit_create(boot_id);
    char text[WEIR_STRING_BYTES];
    uint32_t values[] = {1, 2, 3};
    uint32_t a;
    uint32_t b;

    (void)state;
    memset(text, 'x', sizeof(text));
    assert_int_equal(weir_edit_string(edit, weir_str_n(text, 219), &a), 0);
    assert_int_equal(weir_edit_string(edit, weir_str_n(text, 219), &b), 0);
    assert_int_equal(a, b);
    assert_int_equal(weir_world_string(weir_edit_view(edit), a).len, 219);
    assert_int_equal(weir_edit_string(edit, weir_str_n(text, 220), &b), WEIR_E_TOO_LARGE);
    assert_int_equal(weir_edit_string(edit, WEIR_STR(""), &b), 0);
    assert_int_equal(weir_world_string(weir_edit_view(edit), b).len, 0);
    assert_int_equal(weir_edit_span(edit, values, 3, &a), 0);
    assert_int_equal(weir_edit_span(edit, values, 2, &b), 0);
    assert_int_not_equal(a, b);
    assert_int_equal(weir_world_span_len(weir_edit_view(edit), a), 3);
    assert_int_equal(weir_world_span_at(weir_edit_view(edit), a, 2), 3);
    assert_int_equal(weir_edit_span(edit, values, 3, &b), 0);
    assert_int_equal(a, b);
    assert_int_equal(weir_edit_span(edit, values, 0, &b), 0);
    assert_int_equal(b, WEIR_NONE);
    assert_int_equal(weir_edit_resource(edit, WEIR_RESOURCE_OTHER, weir_str_n(text, 220), 1, &b),
                     WEIR_E_TOO_LARGE);
    for (uint32_t i = 3; i < WEIR_RESOURCE_MAX; i++) {
        snprintf(text, sizeof(text), "vendor.com/%u", i);
        assert_int_equal(weir_edit_resource(edit, WEIR_RESOURCE_OTHER, weir_str(text), 1, &a), 0);
        assert_int_equal(a, i);
    }
    assert_int_equal(weir_edit_resource(edit, WEIR_RESOURCE_OTHER, WEIR_STR("one.more"), 1, &b),
                     WEIR_E_TOO_LARGE);
    assert_int_equal(weir_edit_resource(edit, WEIR_RESOURCE_OTHER, WEIR_STR("vendor.com/9"), 1, &b),
                     0);
    assert_int_equal(b, 9);
    check(weir_edit_view(edit));
    weir_edit_destroy(edit);
}

static void a_refused_start_changes_nothing(void **state)
{
    struct history history;
    const struct weir_world *world;
    unsigned n = 0;

    (void)state;
    assert_int_equal(history_init(&history, seed_of_run() + 600, 10, 60), 0);
    assert_int_equal(history_run(&history, 2000), 0);
    world = weir_edit_seal(history.edit);
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_TASKS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_TASKS, i)) {
        if (weir_world_task(world, i)->state == WEIR_TASK_QUEUED)
            continue;
        n++;
        assert_int_equal(weir_edit_task_start(history.edit, i,
                                              weir_world_first(world, WEIR_TABLE_NODES), NULL, 0, 1,
                                              1),
                         WEIR_E_INVALID);
        assert_int_equal(weir_edit_task_state(history.edit, i, WEIR_TASK_STARTING), WEIR_E_INVALID);
        assert_int_equal(weir_edit_task_state(history.edit, i, WEIR_TASK_STATE_MAX),
                         WEIR_E_INVALID);
    }
    assert_true(n > 10);
    assert_int_equal(weir_edit_task_start(history.edit, weir_world_first(world, WEIR_TABLE_TASKS),
                                          WEIR_NONE, NULL, 0, 1, 1),
                     WEIR_E_INVALID);
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++)
        for (uint32_t i = 0; i < world->tables[id].n_rows; i++)
            assert_true(world_row_same(world, weir_edit_view(history.edit), id, i));
    weir_world_unref(world);
    history_finish(&history);
}

static void sums_do_not_overflow(void **state)
{
    static const uint8_t boot_id[16];
    struct weir_edit *edit = weir_edit_create(boot_id);
    struct weir_shape shape = {.n_amounts = 1,
                               .gpu_class = WEIR_NONE,
                               .mig_profile = WEIR_NONE,
                               .labels = WEIR_NONE,
                               .amounts = {{WEIR_RES_MEMORY, 0, WEIR_AMOUNT_MAX / 2}}};
    struct weir_role role = {.name = WEIR_NONE, .n_tasks = 2};
    struct weir_queue queue = {
        .name = WEIR_NONE, .parent = WEIR_NONE, .run_limit_ms = INT64_MAX, .open_hours = WEIR_NONE};
    struct weir_workload workload = {
        .owner = WEIR_NONE,
        .retry_on = WEIR_NONE,
        .topology = {.required = WEIR_NONE, .preferred = WEIR_NONE, .slice_level = WEIR_NONE}};
    struct weir_key keys[6];
    uint32_t roots[2];
    uint32_t child;
    uint32_t index;

    (void)state;
    for (uint64_t i = 0; i < 6; i++)
        keys[i] = weir_key_of_number(1, i + 1);
    assert_int_equal(weir_edit_shape(edit, &shape, &role.shape), 0);
    assert_int_equal(weir_edit_add_queue(edit, &keys[0], &queue, &roots[0]), 0);
    assert_int_equal(weir_edit_add_queue(edit, &keys[1], &queue, &roots[1]), 0);
    queue.parent = roots[0];
    assert_int_equal(weir_edit_add_queue(edit, &keys[2], &queue, &child), 0);
    workload.queue = child;
    assert_int_equal(weir_edit_add_workload(edit, &keys[0], &workload, &role, 1, &index), 0);
    check(weir_edit_view(edit));
    role.n_tasks = 1;
    assert_int_equal(weir_edit_add_workload(edit, &keys[1], &workload, &role, 1, &index),
                     WEIR_E_TOO_LARGE);
    workload.queue = roots[1];
    assert_int_equal(weir_edit_add_workload(edit, &keys[1], &workload, &role, 1, &index), 0);
    assert_int_equal(weir_edit_move_queue(edit, roots[1], roots[0]), WEIR_E_TOO_LARGE);
    role.n_tasks = 5;
    assert_int_equal(weir_edit_add_workload(edit, &keys[2], &workload, &role, 1, &index),
                     WEIR_E_TOO_LARGE);
    check(weir_edit_view(edit));
    weir_edit_destroy(edit);
}

static void an_ended_task_is_taken_over_from_records(void **state)
{
    struct history history;
    const struct weir_world *world;
    uint32_t first;

    (void)state;
    assert_int_equal(history_init(&history, 1, 0, 0), 0);
    assert_int_equal(history_fill(&history, 0, 3), 0);
    world = weir_edit_seal(history.edit);
    first = weir_world_first(world, WEIR_TABLE_TASKS);
    assert_int_equal(weir_edit_task_end(history.edit, first, WEIR_TASK_RUNNING), WEIR_E_INVALID);
    assert_int_equal(weir_edit_task_end(history.edit, first, WEIR_TASK_STATE_MAX), WEIR_E_INVALID);
    assert_true(world_row_same(world, weir_edit_view(history.edit), WEIR_TABLE_TASKS, first));
    assert_int_equal(weir_edit_task_end(history.edit, first, WEIR_TASK_SUCCEEDED), 0);
    assert_int_equal(weir_edit_task_end(history.edit, first, WEIR_TASK_SUCCEEDED), WEIR_E_INVALID);
    assert_int_equal(weir_world_workload(weir_edit_view(history.edit), 0)->n_done, 1);
    check(weir_edit_view(history.edit));
    weir_world_unref(world);
    history_finish(&history);
}

/* The heap of this process in use; 0 where a sanitizer has replaced it. */
static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void a_queued_workload_takes_little_memory(void **state)
{
    enum { N = 10000 };
    struct history history;
    size_t before;
    size_t per_workload;
    const struct weir_world *world;

    (void)state;
    assert_int_equal(history_init(&history, 1, 0, 0), 0);
    before = heap_bytes();
    assert_int_equal(history_fill(&history, 0, N), 0);
    world = weir_edit_seal(history.edit);
    assert_non_null(world);
    per_workload = (heap_bytes() - before) / N;
    print_message("# %zu bytes for each queued workload with one task\n", per_workload);
    assert_true(per_workload <= 2048);
    check(world);
    weir_world_unref(world);
    history_finish(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_plain_model),
        cmocka_unit_test(old_versions_stay_as_they_are),
        cmocka_unit_test(the_change_list_is_exact),
        cmocka_unit_test(is_read_while_it_goes_on),
        cmocka_unit_test(a_fork_leaves_its_version_alone),
        cmocka_unit_test(a_fork_without_changes_seals),
        cmocka_unit_test(rows_of_a_chunk_may_move_while_they_are_unlinked),
        cmocka_unit_test(refuses_a_key_in_use),
        cmocka_unit_test(finds_by_name),
        cmocka_unit_test(names_classes_of_gpus),
        cmocka_unit_test(interns),
        cmocka_unit_test(a_refused_start_changes_nothing),
        cmocka_unit_test(sums_do_not_overflow),
        cmocka_unit_test(an_ended_task_is_taken_over_from_records),
        cmocka_unit_test(a_queued_workload_takes_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

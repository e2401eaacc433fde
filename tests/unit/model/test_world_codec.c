#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "model/world_check.h"
#include "model/world_codec.h"
#include "model/world_edit.h"
#include "world_history.h"
#include "world_same.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES_MAX = 64 << 20 };

static const struct weir_world *read_back(const struct weir_buf *bytes,
                                          const struct weir_world *base)
{
    const struct weir_world *world = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_world_read(weir_buf_view(bytes), base, &world, &err) < 0)
        fail_msg("%s", err.text);
    if (weir_world_check(world, &err) < 0)
        fail_msg("%s", err.text);
    return world;
}

static void write_to(struct weir_buf *bytes, const struct weir_world *world,
                     const struct weir_world *base)
{
    weir_buf_reset(bytes);
    assert_int_equal(weir_world_write(world, base, bytes), 0);
}

static const struct weir_world *grown(struct history *history, unsigned n_steps)
{
    const struct weir_world *world;

    assert_int_equal(history_run(history, n_steps), 0);
    world = weir_edit_seal(history->edit);
    assert_non_null(world);
    return world;
}

static void a_keyframe_comes_back_as_it_was(void **state)
{
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);
    struct weir_buf again = WEIR_BUF_INIT(BYTES_MAX);
    struct history history;

    (void)state;
    assert_int_equal(history_init(&history, 11, 20, 100), 0);
    for (int i = 0; i < 60; i++) {
        const struct weir_world *world = grown(&history, 30);
        const struct weir_world *back;

        write_to(&bytes, world, NULL);
        back = read_back(&bytes, NULL);
        assert_true(world_same(world, back));
        assert_int_equal(back->is_keyframe, 1);
        assert_int_equal(back->n_changes, 0);
        write_to(&again, back, NULL);
        assert_int_equal(bytes.len, again.len);
        assert_memory_equal(bytes.data, again.data, bytes.len);
        weir_world_unref(back);
        weir_world_unref(world);
    }
    history_finish(&history);
    weir_buf_finish(&bytes);
    weir_buf_finish(&again);
}

static void assert_same_changes(const struct weir_world *a, const struct weir_world *b)
{
    assert_int_equal(a->n_changes, b->n_changes);
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        assert_int_equal(a->tables[id].n_changed, b->tables[id].n_changed);
        assert_int_equal(a->tables[id].changed_from, b->tables[id].changed_from);
    }
    if (a->n_changes > 0)
        assert_memory_equal(a->changes, b->changes, a->n_changes * sizeof(*a->changes));
}

/* A table without differences shares its spine; one with few copies few chunks. */
static void assert_shares(const struct weir_world *back, const struct weir_world *base)
{
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        const struct weir_table *table = &back->tables[id];
        uint32_t n_own = 0;

        if (table->n_changed == 0) {
            assert_ptr_equal(table->spine, base->tables[id].spine);
            continue;
        }
        for (uint32_t i = 0; i < table->spine->n_chunks; i++)
            n_own += base->tables[id].spine == NULL || i >= base->tables[id].spine->n_chunks ||
                     table->spine->chunks[i] != base->tables[id].spine->chunks[i];
        assert_true(n_own <= table->n_changed);
    }
}

/* Every version against the one before, and what is read against what was read. */
static void a_chain_of_deltas_comes_back_as_it_was(void **state)
{
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);

    (void)state;
    for (uint64_t seed = 20; seed < 24; seed++) {
        struct history history;
        const struct weir_world *world;
        const struct weir_world *back;

        assert_int_equal(history_init(&history, seed, 10, 60), 0);
        world = grown(&history, 1);
        write_to(&bytes, world, NULL);
        back = read_back(&bytes, NULL);
        for (int i = 0; i < 500; i++) {
            const struct weir_world *next = grown(&history, 4);
            const struct weir_world *next_back;

            write_to(&bytes, next, world);
            next_back = read_back(&bytes, back);
            assert_true(world_same(next, next_back));
            assert_same_changes(next, next_back);
            assert_shares(next_back, back);
            weir_world_unref(world);
            weir_world_unref(back);
            world = next;
            back = next_back;
        }
        weir_world_unref(world);
        weir_world_unref(back);
        history_finish(&history);
    }
    weir_buf_finish(&bytes);
}

static void a_delta_may_leap_over_versions(void **state)
{
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);
    struct weir_buf again = WEIR_BUF_INIT(BYTES_MAX);
    struct history history;

    (void)state;
    assert_int_equal(history_init(&history, 31, 10, 60), 0);
    for (int i = 0; i < 40; i++) {
        const struct weir_world *base = grown(&history, 20);
        const struct weir_world *world;
        const struct weir_world *back;

        for (int k = 0; k < i % 5; k++)
            weir_world_unref(grown(&history, 10));
        world = grown(&history, 10);
        write_to(&bytes, world, base);
        back = read_back(&bytes, base);
        assert_true(world_same(world, back));
        write_to(&again, back, base);
        assert_int_equal(bytes.len, again.len);
        assert_memory_equal(bytes.data, again.data, bytes.len);
        assert_int_equal(weir_world_write(base, world, &again), WEIR_E_INVALID);
        weir_world_unref(back);
        weir_world_unref(world);
        weir_world_unref(base);
    }
    history_finish(&history);
    weir_buf_finish(&bytes);
    weir_buf_finish(&again);
}

static void nothing_changed_costs_next_to_nothing(void **state)
{
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);
    struct history history;
    const struct weir_world *world;
    const struct weir_world *back;

    (void)state;
    assert_int_equal(history_init(&history, 41, 20, 100), 0);
    world = grown(&history, 2000);
    write_to(&bytes, world, world);
    assert_true(bytes.len < 64);
    back = read_back(&bytes, world);
    assert_true(world_same(world, back));
    assert_int_equal(back->n_changes, 0);
    weir_world_unref(back);
    weir_world_unref(world);
    history_finish(&history);
    weir_buf_finish(&bytes);
}

static void ten_changed_rows_cost_some_hundred_bytes(void **state)
{
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);
    struct history history;
    const struct weir_world *base;
    const struct weir_world *world;
    uint32_t at = WEIR_NONE;

    (void)state;
    assert_int_equal(history_init(&history, 42, 100, 2000), 0);
    base = grown(&history, 12000);
    for (int i = 0; i < 10; i++) {
        struct weir_workload *row;

        at = at == WEIR_NONE ? weir_world_first(base, WEIR_TABLE_WORKLOADS)
                             : weir_world_after(base, WEIR_TABLE_WORKLOADS, at);
        row = weir_edit_workload(history.edit, at);
        assert_non_null(row);
        row->n_failures++;
        row->not_before_wall_ms = history.now_ms;
    }
    world = grown(&history, 0);
    assert_int_equal(world->n_changes, 10);
    write_to(&bytes, world, base);
    print_message("# ten changed rows: %zu bytes\n", bytes.len);
    assert_true(bytes.len < 600);
    write_to(&bytes, world, NULL);
    print_message("# keyframe of %u workloads, %u tasks: %zu bytes\n",
                  world->tables[WEIR_TABLE_WORKLOADS].n_live,
                  world->tables[WEIR_TABLE_TASKS].n_live, bytes.len);
    weir_world_unref(base);
    weir_world_unref(world);
    history_finish(&history);
    weir_buf_finish(&bytes);
}

/* ---- bad bytes ---- */

struct pair {
    struct weir_buf whole;
    struct weir_buf delta;
    const struct weir_world *base;
};

static void make_pair(struct pair *pair)
{
    struct history history;
    const struct weir_world *world;

    weir_buf_init(&pair->whole, BYTES_MAX);
    weir_buf_init(&pair->delta, BYTES_MAX);
    assert_int_equal(history_init(&history, 51, 3, 4), 0);
    pair->base = grown(&history, 60);
    world = grown(&history, 12);
    write_to(&pair->whole, pair->base, NULL);
    write_to(&pair->delta, world, pair->base);
    weir_world_unref(world);
    history_finish(&history);
}

static void drop_pair(struct pair *pair)
{
    weir_world_unref(pair->base);
    weir_buf_finish(&pair->whole);
    weir_buf_finish(&pair->delta);
}

/* An exact copy on the heap, so that a read beyond it is seen. */
static int read_copy(const char *bytes, size_t n, const struct weir_world *base,
                     struct weir_err *err)
{
    const struct weir_world *world = NULL;
    char *copy = malloc(n > 0 ? n : 1);
    int r;

    assert_non_null(copy);
    memcpy(copy, bytes, n);
    r = weir_world_read(weir_str_n(copy, n), base, &world, err);
    free(copy);
    if (r == 0)
        weir_world_check(world, NULL);
    else
        assert_null(world);
    weir_world_unref(world);
    return r;
}

static void every_torn_end_is_refused(void **state)
{
    struct pair pair;

    (void)state;
    make_pair(&pair);
    for (size_t n = 0; n < pair.whole.len; n++)
        assert_int_equal(read_copy(pair.whole.data, n, NULL, NULL), WEIR_E_CORRUPT);
    for (size_t n = 0; n < pair.delta.len; n++)
        assert_int_equal(read_copy(pair.delta.data, n, pair.base, NULL), WEIR_E_CORRUPT);
    weir_buf_putc(&pair.whole, 0);
    assert_int_equal(read_copy(pair.whole.data, pair.whole.len, NULL, NULL), WEIR_E_CORRUPT);
    drop_pair(&pair);
}

static void any_changed_byte_is_refused_or_harmless(void **state)
{
    struct pair pair;

    (void)state;
    make_pair(&pair);
    for (size_t i = 0; i < pair.delta.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            pair.delta.data[i] = (char)(pair.delta.data[i] ^ 1 << bit);
            read_copy(pair.delta.data, pair.delta.len, pair.base, NULL);
            pair.delta.data[i] = (char)(pair.delta.data[i] ^ 1 << bit);
        }
    for (size_t i = 0; i < pair.whole.len; i++) {
        char kept = pair.whole.data[i];

        pair.whole.data[i] = (char)0xff;
        read_copy(pair.whole.data, pair.whole.len, NULL, NULL);
        pair.whole.data[i] = kept;
    }
    drop_pair(&pair);
}

static void says_what_is_wrong(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct history history;
    const struct weir_world *stranger;
    struct pair pair;

    (void)state;
    make_pair(&pair);
    assert_int_equal(read_copy(pair.delta.data, pair.delta.len, NULL, &err), WEIR_E_INVALID);
    assert_string_equal(err.text, "world: a delta against version 1, which is not at hand");
    assert_int_equal(history_init(&history, 52, 3, 4), 0);
    weir_world_unref(grown(&history, 1));
    stranger = grown(&history, 1);
    assert_int_equal(read_copy(pair.delta.data, pair.delta.len, stranger, &err), WEIR_E_INVALID);
    assert_string_equal(err.text, "world: a delta against version 1, not against 2");
    pair.whole.data[0]++;
    assert_int_equal(read_copy(pair.whole.data, pair.whole.len, NULL, &err), WEIR_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "another layout"));
    assert_non_null(strstr(err.hint, "version of weir"));
    pair.whole.data[0]--;
    pair.whole.data[8] = 'X';
    assert_int_equal(read_copy(pair.whole.data, pair.whole.len, NULL, &err), WEIR_E_CORRUPT);
    assert_non_null(strstr(err.text, "neither keyframe nor delta"));
    weir_world_unref(stranger);
    history_finish(&history);
    drop_pair(&pair);
}

static void put(struct weir_buf *out, const char *bytes, size_t n)
{
    weir_buf_append(out, bytes, n);
}

/* Head of a keyframe of version 1, or of a delta against it. */
static void put_head(struct weir_buf *out, char kind)
{
    uint64_t layout = weir_world_layout();
    static const char zero[16];

    weir_buf_reset(out);
    weir_buf_append(out, &layout, sizeof(layout));
    weir_buf_putc(out, kind);
    put(out, "\x01\x01", kind == 'D' ? 2 : 1);
    put(out, zero, sizeof(zero));
}

static void expect_corrupt(const struct weir_buf *bytes, const struct weir_world *base,
                           const char *text)
{
    struct weir_err err = WEIR_ERR_INIT;

    assert_int_equal(read_copy(bytes->data, bytes->len, base, &err), WEIR_E_CORRUPT);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, err.text);
}

static void there_is_one_way_to_write_a_thing(void **state)
{
    static const struct {
        char kind;
        const char *bytes;
        size_t n;
        const char *text;
    } cases[] = {
#define CASE(kind, bytes, text) {kind, bytes, sizeof(bytes) - 1, text}
        CASE('K', "\x81\x00", "number is badly formed"),
        CASE('K', "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "number is badly formed"),
        CASE('K', "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more rows than bytes"),
        CASE('K', "\xff\xff\xff\xff\x0f", "more rows than bytes"),
        CASE('K', "\x01\x00__________", "does not differ"),
        CASE('K', "\x01\x7f__________", "more runs than words"),
        CASE('K', "\x01\x01\x06__________", "begins beyond its row"),
        CASE('K', "\x01\x01\x03\x03________", "ends beyond its row"),
        CASE('K', "\x01\x01\x03\x00________", "a run is empty"),
        CASE('K', "\x01\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", "word of a run does not"),
        CASE('K', "\x01\x02\x00\x01________\x00\x01________", "two runs touch"),
        CASE('D', "\x03\x00", "number of rows does not follow"),
        CASE('D', "\x05\x00", "number of rows does not follow"),
        CASE('D', "\xff\xff\xff\xff\x0f\x00", "more rows than can be"),
        CASE('D', "\x04\x01___________", "a row is beyond the table"),
        CASE('D', "\x04\x7f___________", "more rows than bytes"),
        CASE('D', "\x06\x02\x05\x01\x00\x01________\x01\x00\x01________", "new row is left out"),
        CASE('D', "\x05\x01\x00\x01\x00\x01________", "new rows are left out"),
        CASE('D', "\x04\x02\x03\x01\x00\x01________________________", "row is beyond the table"),
#undef CASE
    };
    static const uint8_t boot_id[16];
    struct weir_edit *edit = weir_edit_create(boot_id);
    const struct weir_world *base;
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);
    uint32_t index;

    (void)state;
    assert_int_equal(weir_edit_gpu_class(edit, WEIR_STR("x"), &index), 0);
    base = weir_edit_seal(edit);
    assert_int_equal(base->tables[WEIR_TABLE_RESOURCES].n_rows, 4);
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        put_head(&bytes, cases[i].kind);
        put(&bytes, cases[i].bytes, cases[i].n);
        expect_corrupt(&bytes, base, cases[i].text);
    }
    weir_buf_finish(&bytes);
    weir_world_unref(base);
    weir_edit_destroy(edit);
}

static void a_full_buffer_is_said(void **state)
{
    struct pair pair;
    struct weir_buf small = WEIR_BUF_INIT(100);

    (void)state;
    make_pair(&pair);
    assert_int_equal(weir_world_write(pair.base, NULL, &small), WEIR_E_TOO_LARGE);
    weir_buf_finish(&small);
    drop_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_keyframe_comes_back_as_it_was),
        cmocka_unit_test(a_chain_of_deltas_comes_back_as_it_was),
        cmocka_unit_test(a_delta_may_leap_over_versions),
        cmocka_unit_test(nothing_changed_costs_next_to_nothing),
        cmocka_unit_test(ten_changed_rows_cost_some_hundred_bytes),
        cmocka_unit_test(every_torn_end_is_refused),
        cmocka_unit_test(any_changed_byte_is_refused_or_harmless),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(there_is_one_way_to_write_a_thing),
        cmocka_unit_test(a_full_buffer_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The n-th allocation fails, for every n: in tables, in the writer, in the check, in the codec. */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "model/world_check.h"
#include "model/world_codec.h"
#include "model/world_edit.h"
#include "world_history.h"
#include "world_same.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES_MAX = 64 << 20, STEPS = 160, SEED = 5 };

static void calm(void)
{
    weir_mem_fail(0, 0);
}

/* From nothing to a world with a past. What was sealed before the failure stays as it was. */
static int live_through(uint64_t n)
{
    const struct weir_world *kept = NULL;
    struct history history;
    struct history_op op;
    uint64_t hash = 0;
    int r;

    weir_mem_fail(n, 1);
    r = history_init(&history, SEED, 4, 10);
    for (int i = 0; r == 0 && i < STEPS; i++) {
        r = history_step(&history, &op);
        if (r == 0 && i % 8 == 0) {
            const struct weir_world *world = weir_edit_seal(history.edit);

            if (world == NULL) {
                r = WEIR_E_NO_MEMORY;
                break;
            }
            weir_world_unref(kept);
            kept = world;
            hash = world_hash(world);
        }
    }
    calm();
    if (kept != NULL) {
        assert_int_equal(world_hash(kept), hash);
        assert_int_equal(weir_world_check(kept, NULL), 0);
    }
    if (history.edit != NULL) {
        int whole = weir_world_check(weir_edit_view(history.edit), NULL);

        /* Half made is allowed, but then it is said. */
        assert_true(r == 0 ? whole == 0 : whole == 0 || whole == WEIR_E_INVALID);
    }
    history_finish(&history);
    if (kept != NULL)
        assert_int_equal(world_hash(kept), hash);
    weir_world_unref(kept);
    return r;
}

static void the_writer_says_so(void **state)
{
    uint64_t n = 0;

    (void)state;
    while (live_through(n) < 0)
        n++;
    assert_true(n > 200);
}

static struct weir_edit *some_edit(struct history *history, const struct weir_world **ret_world)
{
    assert_int_equal(history_init(history, SEED, 6, 30), 0);
    assert_int_equal(history_run(history, 800), 0);
    *ret_world = weir_edit_seal(history->edit);
    assert_non_null(*ret_world);
    assert_int_equal(history_run(history, 20), 0);
    return history->edit;
}

static void a_failed_seal_changes_nothing(void **state)
{
    struct history history;
    const struct weir_world *before;
    struct weir_edit *edit = some_edit(&history, &before);
    const struct weir_world *world = NULL;
    uint64_t n;

    (void)state;
    for (n = 0; world == NULL; n++) {
        weir_mem_fail(n, 1);
        world = weir_edit_seal(edit);
        calm();
    }
    assert_true(n > 1);
    assert_int_equal(world->version, before->version + 1);
    assert_true(world->n_changes > 0);
    assert_int_equal(weir_world_check(world, NULL), 0);
    assert_true(world_same(world, weir_edit_view(edit)));
    weir_world_unref(world);
    weir_world_unref(before);
    history_finish(&history);
}

static void a_failed_fork_is_none(void **state)
{
    struct history history;
    const struct weir_world *world;
    struct weir_edit *fork = NULL;
    uint64_t n;

    (void)state;
    some_edit(&history, &world);
    for (n = 0; fork == NULL; n++) {
        weir_mem_fail(n, 1);
        fork = weir_edit_fork(world);
        calm();
    }
    assert_true(n > 1);
    weir_edit_destroy(fork);
    weir_world_unref(world);
    history_finish(&history);
}

static void a_failed_append_leaves_the_table(void **state)
{
    struct weir_table table;
    uint32_t index = 77;

    (void)state;
    weir_table_init(&table, 64);
    for (uint32_t i = 0; i < 1000; i++) {
        struct weir_table shared = weir_table_share(&table);
        uint32_t epoch = i + 1; /* all is to be copied */
        uint64_t n = 0;

        for (;; n++) {
            int r;

            weir_mem_fail(n, 1);
            r = weir_table_append(&table, epoch, &index);
            calm();
            if (r == 0)
                break;
            assert_int_equal(r, WEIR_E_NO_MEMORY);
            assert_int_equal(table.n_rows, i);
            assert_int_equal(table.n_live, i);
            if (i > 0)
                assert_int_equal(weir_table_is_live(&table, i - 1), 1);
        }
        assert_true(n > 0);
        assert_int_equal(index, i);
        weir_table_release(&shared);
    }
    weir_table_release(&table);
}

static void the_check_says_so(void **state)
{
    struct history history;
    const struct weir_world *world;
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t n = 0;

    (void)state;
    some_edit(&history, &world);
    for (;; n++) {
        int r;

        weir_mem_fail(n, 1);
        r = weir_world_check(world, &err);
        calm();
        if (r == 0)
            break;
        assert_int_equal(r, WEIR_E_NO_MEMORY);
        assert_string_equal(err.text, "no memory to check the world");
    }
    assert_true(n > 0);
    weir_world_unref(world);
    history_finish(&history);
}

static void read_all(const struct weir_buf *bytes, const struct weir_world *base,
                     const struct weir_world *expected)
{
    const struct weir_world *world = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t n = 0;

    for (;; n++) {
        int r;

        weir_mem_fail(n, 1);
        r = weir_world_read(weir_buf_view(bytes), base, &world, &err);
        calm();
        if (r == 0)
            break;
        assert_int_equal(r, WEIR_E_NO_MEMORY);
        assert_string_equal(err.text, "no memory for a world");
        assert_null(world);
    }
    assert_true(n > 10);
    assert_true(world_same(world, expected));
    weir_world_unref(world);
}

static void the_codec_says_so(void **state)
{
    struct history history;
    const struct weir_world *base;
    struct weir_edit *edit = some_edit(&history, &base);
    const struct weir_world *world = weir_edit_seal(edit);
    struct weir_buf whole = WEIR_BUF_INIT(BYTES_MAX);
    struct weir_buf delta = WEIR_BUF_INIT(BYTES_MAX);
    uint64_t hash = world_hash(base);
    uint64_t n = 0;

    (void)state;
    for (;; n++) {
        int r;

        weir_buf_reset(&whole);
        weir_mem_fail(n, 1);
        r = weir_world_write(base, NULL, &whole);
        calm();
        if (r == 0)
            break;
        assert_int_equal(r, WEIR_E_NO_MEMORY);
        weir_buf_finish(&whole);
    }
    assert_true(n > 5);
    assert_int_equal(weir_world_write(world, base, &delta), 0);
    read_all(&whole, NULL, base);
    read_all(&delta, base, world);
    assert_int_equal(world_hash(base), hash);
    weir_buf_finish(&whole);
    weir_buf_finish(&delta);
    weir_world_unref(base);
    weir_world_unref(world);
    history_finish(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_writer_says_so),    cmocka_unit_test(a_failed_seal_changes_nothing),
        cmocka_unit_test(a_failed_fork_is_none), cmocka_unit_test(a_failed_append_leaves_the_table),
        cmocka_unit_test(the_check_says_so),     cmocka_unit_test(the_codec_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

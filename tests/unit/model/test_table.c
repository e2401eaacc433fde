/* Tables against plain arrays: every version keeps what it had, whatever comes after. */
#include "base/err.h"
#include "base/rng.h"
#include "model/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct wide_row {
    struct weir_row row;
    uint64_t value[20];
};

struct huge_row {
    struct weir_row row;
    uint8_t bytes[5000];
};

enum { MODEL_ROWS = 2000, VERSIONS = 16 };

struct version {
    struct weir_table table;
    uint32_t n;
    uint64_t values[MODEL_ROWS];
    uint32_t live[MODEL_ROWS];
};

static void compare(const struct version *version)
{
    uint32_t n_live = 0;

    assert_int_equal(version->table.n_rows, version->n);
    for (uint32_t i = 0; i < version->n; i++) {
        const struct wide_row *row = weir_table_row(&version->table, i);

        assert_int_equal(row->row.live, version->live[i]);
        assert_int_equal(row->value[0], version->values[i]);
        assert_int_equal(row->value[19], version->values[i]);
        n_live += version->live[i];
    }
    assert_int_equal(version->table.n_live, n_live);
}

static void append(struct version *now, uint32_t epoch, uint64_t value)
{
    uint32_t index;
    struct wide_row *row;

    assert_int_equal(weir_table_append(&now->table, epoch, &index), 0);
    assert_int_equal(index, now->n);
    row = weir_table_edit(&now->table, index, epoch);
    assert_non_null(row);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(row->value[i], 0);
        row->value[i] = value;
    }
    now->values[index] = value;
    now->live[index] = 1;
    now->n++;
}

static void change(struct version *now, uint32_t epoch, uint32_t index, uint64_t value)
{
    struct wide_row *row = weir_table_edit(&now->table, index, epoch);

    assert_non_null(row);
    for (int i = 0; i < 20; i++)
        row->value[i] = value;
    now->values[index] = value;
    if (value % 5 == 0) {
        now->table.n_live -= row->row.live;
        row->row.live = 0;
        now->live[index] = 0;
    }
}

static void versions_keep_what_they_had(void **state)
{
    static struct version versions[VERSIONS];
    static struct version now;
    struct weir_rng rng;
    uint32_t epoch = 1;

    (void)state;
    memset(versions, 0, sizeof(versions));
    memset(&now, 0, sizeof(now));
    weir_rng_init(&rng, 1);
    weir_table_init(&now.table, sizeof(struct wide_row));
    assert_int_equal(weir_table_next(&now.table, 0), WEIR_NONE);
    for (int round = 0; round < 1500; round++) {
        if (now.n < MODEL_ROWS && weir_rng_below(&rng, 2) == 0)
            append(&now, epoch, weir_rng_next(&rng));
        else if (now.n > 0)
            change(&now, epoch, (uint32_t)weir_rng_below(&rng, now.n), weir_rng_next(&rng));
        if (weir_rng_below(&rng, 6) == 0) {
            struct version *kept = &versions[weir_rng_below(&rng, VERSIONS)];

            weir_table_release(&kept->table);
            *kept = now;
            kept->table = weir_table_share(&now.table);
            epoch++;
        }
        if (round % 50 == 0)
            for (int i = 0; i < VERSIONS; i++)
                compare(&versions[i]);
        compare(&now);
    }
    weir_table_release(&now.table);
    for (int i = 0; i < VERSIONS; i++) {
        compare(&versions[i]);
        weir_table_release(&versions[i].table);
    }
}

static void a_change_copies_one_chunk(void **state)
{
    struct weir_table table;
    struct weir_table before;
    uint32_t index;
    uint32_t n_other = 0;

    (void)state;
    weir_table_init(&table, sizeof(struct wide_row));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(weir_table_append(&table, 1, &index), 0);
    before = weir_table_share(&table);
    assert_ptr_equal(before.spine, table.spine);
    assert_non_null(weir_table_edit(&table, 500, 2));
    assert_non_null(weir_table_edit(&table, 501, 2));
    for (uint32_t i = 0; i < table.spine->n_chunks; i++)
        n_other += table.spine->chunks[i] != before.spine->chunks[i];
    assert_int_equal(n_other, 1);
    assert_true(table.spine->n_chunks > 10);
    weir_table_release(&before);
    weir_table_release(&table);
}

static void next_skips_what_is_not_live(void **state)
{
    struct weir_table table;
    uint32_t index;

    (void)state;
    weir_table_init(&table, sizeof(struct wide_row));
    for (int i = 0; i < 100; i++)
        assert_int_equal(weir_table_append(&table, 1, &index), 0);
    for (uint32_t i = 0; i < 100; i++)
        if (i != 7 && i != 99)
            ((struct weir_row *)weir_table_edit(&table, i, 1))->live = 0;
    assert_int_equal(weir_table_next(&table, 0), 7);
    assert_int_equal(weir_table_next(&table, 7), 7);
    assert_int_equal(weir_table_next(&table, 8), 99);
    assert_int_equal(weir_table_next(&table, 100), WEIR_NONE);
    assert_int_equal(weir_table_next(&table, WEIR_NONE), WEIR_NONE);
    assert_true(weir_table_is_live(&table, 7));
    assert_false(weir_table_is_live(&table, 8));
    assert_false(weir_table_is_live(&table, 100));
    assert_false(weir_table_is_live(&table, WEIR_NONE));
    weir_table_release(&table);
    assert_int_equal(table.n_rows, 0);
}

static void a_row_may_be_larger_than_half_a_chunk(void **state)
{
    struct weir_table table;
    uint32_t index;

    (void)state;
    weir_table_init(&table, sizeof(struct huge_row));
    assert_int_equal(table.shift, 0);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(weir_table_append(&table, 1, &index), 0);
        memset(((struct huge_row *)weir_table_edit(&table, index, 1))->bytes, (int)i, 5000);
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(((const struct huge_row *)weir_table_row(&table, i))->bytes[4999], i);
    weir_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_keep_what_they_had),
        cmocka_unit_test(a_change_copies_one_chunk),
        cmocka_unit_test(next_skips_what_is_not_live),
        cmocka_unit_test(a_row_may_be_larger_than_half_a_chunk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

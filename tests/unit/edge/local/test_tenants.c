/* Which attempt has which slot, and which of them may never begin. */
#include "../../support.h"

#include "base/err.h"
#include "edge/local/tenants.h"

static struct weir_tenants tenants;

static int start(void **state)
{
    (void)state;
    tenants = (struct weir_tenants){.n_in_doubt = 0};
    return weir_tenants_grow(&tenants, 3, NULL);
}

static int stop(void **state)
{
    (void)state;
    weir_tenants_finish(&tenants);
    return 0;
}

/* The count is that of the flags. */
static void assert_in_doubt(size_t n)
{
    size_t n_flags = 0;

    weir_vec_foreach (tenant, &tenants.slots)
        n_flags += tenant->is_in_doubt;
    assert_int_equal(n_flags, n);
    assert_int_equal(tenants.n_in_doubt, n);
}

static void finds_who_has_a_slot(void **state)
{
    (void)state;
    weir_tenants_set(&tenants, 1, 7);
    assert_ptr_equal(weir_tenants_find(&tenants, 7, 1), &tenants.slots.items[1]);
    assert_null(weir_tenants_find(&tenants, 8, 1));
    assert_null(weir_tenants_find(&tenants, 7, 2));
    assert_null(weir_tenants_find(&tenants, 7, 3)); /* there is no such slot */
    assert_null(weir_tenants_find(&tenants, 0, 0)); /* nobody has it */
    weir_tenants_set(&tenants, 1, 0);
    assert_null(weir_tenants_find(&tenants, 7, 1));
}

static void finds_a_free_slot(void **state)
{
    (void)state;
    assert_int_equal(weir_tenants_free_slot(&tenants), 0);
    weir_tenants_set(&tenants, 0, 5);
    weir_tenants_set(&tenants, 2, 6);
    assert_int_equal(weir_tenants_free_slot(&tenants), 1);
    weir_tenants_set(&tenants, 1, 7);
    assert_int_equal(weir_tenants_free_slot(&tenants), 3);
    assert_int_equal(weir_tenants_grow(&tenants, 2, NULL), 0); /* never fewer */
    assert_int_equal(tenants.slots.n, 3);
    assert_int_equal(weir_tenants_grow(&tenants, 5, NULL), 0);
    assert_int_equal(weir_tenants_free_slot(&tenants), 3);
    assert_non_null(weir_tenants_find(&tenants, 7, 1));
}

static void doubts_whom_the_launcher_does_not_have(void **state)
{
    (void)state;
    weir_tenants_set(&tenants, 0, 5);
    assert_in_doubt(0);
    weir_tenants_doubt(&tenants, weir_tenants_find(&tenants, 5, 0));
    weir_tenants_doubt(&tenants, weir_tenants_find(&tenants, 5, 0));
    assert_in_doubt(1);
    weir_tenants_settle(&tenants, weir_tenants_find(&tenants, 5, 0));
    assert_in_doubt(0);
    weir_tenants_set(&tenants, 1, 6);
    weir_tenants_doubt_all(&tenants); /* a free slot has nobody to doubt */
    assert_in_doubt(2);
    weir_tenants_doubt(&tenants, NULL);
    weir_tenants_settle(&tenants, NULL);
    assert_in_doubt(2);
    weir_tenants_set(&tenants, 0, 8); /* the next one is another */
    weir_tenants_set(&tenants, 1, 0);
    assert_in_doubt(0);
}

static void does_not_doubt_who_was_sent_when_the_state_is_built_anew(void **state)
{
    (void)state;
    weir_tenants_set(&tenants, 0, 5);
    weir_tenants_find(&tenants, 5, 0)->sent = 5;
    for (uint32_t slot = 0; slot < 3; slot++)
        weir_tenants_set(&tenants, slot, 0);
    weir_tenants_adopt(&tenants, 0, 5);
    assert_in_doubt(0);
    weir_tenants_adopt(&tenants, 1, 6);
    assert_in_doubt(1);
    weir_tenants_adopt(&tenants, 0, 7); /* what was sent was the one before */
    assert_in_doubt(2);
    weir_tenants_adopt(&tenants, 0, 5);
    weir_tenants_doubt_all(&tenants); /* that launcher is gone */
    weir_tenants_adopt(&tenants, 0, 5);
    assert_in_doubt(2);
}

static void no_memory_leaves_the_slots_alone(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    weir_tenants_set(&tenants, 2, 9);
    weir_mem_fail(0, UINT64_MAX);
    assert_int_equal(weir_tenants_grow(&tenants, 1000, &err), WEIR_E_NO_MEMORY);
    weir_mem_fail(0, 0);
    assert_int_equal(err.code, WEIR_E_NO_MEMORY);
    assert_non_null(weir_tenants_find(&tenants, 9, 2));
    assert_int_equal(weir_tenants_grow(&tenants, 1000, NULL), 0);
    assert_int_equal(tenants.slots.n, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_who_has_a_slot),
        TEST(finds_a_free_slot),
        TEST(doubts_whom_the_launcher_does_not_have),
        TEST(does_not_doubt_who_was_sent_when_the_state_is_built_anew),
        TEST(no_memory_leaves_the_slots_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

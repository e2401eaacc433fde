#include "build_world.h"

static void starts_what_fits_in_order(void **state)
{
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 4});
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
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_what_fits_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

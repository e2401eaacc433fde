#include "build_world.h"
#include "model/guarantee.h"

static struct weir_shortfall shortfall_of(const struct bench *b, const char *queue)
{
    return weir_guarantee_shortfall(b->world, weir_edit_find_queue(b->edit, weir_str(queue)));
}

/* What all are guaranteed together counts; what is guaranteed below a queue is part of its own. */
static void more_is_guaranteed_than_there_is(void **state)
{
    struct weir_shortfall s;
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 6});
    add_node(&b, (struct node_spec){.name = "n2", .gpus = 2, .phase = WEIR_NODE_CORDONED});
    add_queue(&b, (struct queue_spec){.name = "vision", .guaranteed_gpus = 4});
    add_queue(&b, (struct queue_spec){.name = "research", .guaranteed_gpus = 4});
    add_queue(&b,
              (struct queue_spec){.name = "speech", .parent = "research", .guaranteed_gpus = 3});
    add_queue(&b, (struct queue_spec){.name = "plain"});
    tick(&b);
    assert_int_equal(shortfall_of(&b, "vision").resource, WEIR_NONE);
    assert_int_equal(shortfall_of(&b, "research").resource, WEIR_NONE);
    add_queue(&b, (struct queue_spec){.name = "text", .parent = "research", .guaranteed_gpus = 17});
    tick(&b);
    s = shortfall_of(&b, "text");
    assert_int_equal(s.resource, WEIR_RES_GPU);
    assert_int_equal(s.guaranteed, 17000);
    assert_int_equal(s.there, 8000);
    assert_int_equal(s.others, 7000);
    s = shortfall_of(&b, "vision");
    assert_int_equal(s.guaranteed, 4000);
    assert_int_equal(s.others, 20000);
    assert_int_equal(shortfall_of(&b, "plain").resource, WEIR_NONE);
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(more_is_guaranteed_than_there_is)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

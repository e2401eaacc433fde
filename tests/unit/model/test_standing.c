#include "model/standing.h"

#include "base/count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SOME_ROW = 3 };

static void a_node_is_drained_when_no_task_is_left(void **state)
{
    static const struct {
        enum weir_node_phase phase;
        uint32_t first_task;
        const char *name;
    } cases[] = {
        {WEIR_NODE_REQUESTED, WEIR_NONE, "requested"}, {WEIR_NODE_BOOTING, WEIR_NONE, "booting"},
        {WEIR_NODE_READY, WEIR_NONE, "ready"},         {WEIR_NODE_READY, SOME_ROW, "ready"},
        {WEIR_NODE_CORDONED, WEIR_NONE, "cordoned"},   {WEIR_NODE_CORDONED, SOME_ROW, "cordoned"},
        {WEIR_NODE_DRAINING, SOME_ROW, "draining"},    {WEIR_NODE_DRAINING, WEIR_NONE, "drained"},
        {WEIR_NODE_DRAINING, 0, "draining"},           {WEIR_NODE_QUARANTINED, 0, "quarantined"},
        {WEIR_NODE_GONE, WEIR_NONE, "gone"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_node node = weir_node_blank();

        node.phase = cases[i].phase;
        node.first_task = cases[i].first_task;
        assert_string_equal(weir_node_standing_name(weir_node_standing(&node)), cases[i].name);
    }
}

/* The phase and the standing of a node that is not drained are the same word. */
static void a_phase_is_called_the_same(void **state)
{
    (void)state;
    for (int phase = 0; phase < WEIR_NODE_PHASE_MAX; phase++) {
        struct weir_node node = weir_node_blank();

        node.phase = (uint32_t)phase;
        node.first_task = SOME_ROW;
        assert_string_equal(weir_node_standing_name(weir_node_standing(&node)),
                            weir_node_phase_name((enum weir_node_phase)phase));
    }
}

static void what_is_wrong_with_a_gpu_comes_first(void **state)
{
    static const struct {
        enum weir_device_health health;
        uint32_t first_hold;
        uint32_t cordoned;
        uint32_t n_foreign;
        enum weir_node_phase phase;
        const char *name;
    } cases[] = {
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 0, 0, WEIR_NODE_READY, "free"},
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 0, 1, WEIR_NODE_READY, "foreign"},
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 1, 1, WEIR_NODE_READY, "cordoned"},
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 0, 0, WEIR_NODE_CORDONED, "cordoned"},
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 0, 0, WEIR_NODE_QUARANTINED, "cordoned"},
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 0, 0, WEIR_NODE_GONE, "cordoned"},
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 0, 1, WEIR_NODE_DRAINING, "drained"},
        /* It is out of use by itself too, and stays so when its node is taken back. */
        {WEIR_DEVICE_HEALTHY, WEIR_NONE, 1, 0, WEIR_NODE_DRAINING, "cordoned"},
        {WEIR_DEVICE_HEALTHY, SOME_ROW, 0, 1, WEIR_NODE_DRAINING, "in-use"},
        {WEIR_DEVICE_HEALTHY, 0, 1, 0, WEIR_NODE_READY, "in-use"},
        {WEIR_DEVICE_SUSPECT, SOME_ROW, 1, 1, WEIR_NODE_DRAINING, "suspect"},
        {WEIR_DEVICE_UNHEALTHY, WEIR_NONE, 0, 0, WEIR_NODE_DRAINING, "unhealthy"},
        {WEIR_DEVICE_LOST, SOME_ROW, 0, 0, WEIR_NODE_READY, "lost"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_device device = weir_device_blank();
        struct weir_node node = weir_node_blank();

        device.health = cases[i].health;
        device.first_hold = cases[i].first_hold;
        device.cordoned = cases[i].cordoned;
        device.n_foreign = cases[i].n_foreign;
        node.phase = cases[i].phase;
        assert_string_equal(weir_device_standing_name(weir_device_standing(&device, &node)),
                            cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_drained_when_no_task_is_left),
        cmocka_unit_test(a_phase_is_called_the_same),
        cmocka_unit_test(what_is_wrong_with_a_gpu_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Memory runs out anywhere while it is looked at what uses the GPUs: the next samples make up for
 * it, and nobody is stopped but who is over its budget. */
#include "app_rig.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GIB(n) ((int64_t)(n) << 30)

static struct app_rig rig;

static void submit(void)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_submit(&rig, "{\"command\":[\"a\"],\"gpuMemory\":\"20Gi\"}", "", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_begin_all(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
}

/* A job within its budget, one over it, and a stranger on another GPU. */
static void set_up(void)
{
    app_rig_init(&rig);
    app_rig_sample(&rig);
    submit();
    submit();
    app_rig_use(&rig, 0, app_rig_attempt(&rig, 1, 0)->facts.pid, GIB(20));
    app_rig_use(&rig, 0, app_rig_attempt(&rig, 2, 0)->facts.pid, GIB(21));
    app_rig_use(&rig, 1, 77, GIB(10));
}

/* A sample that is looked at without memory from the n-th allocation on. Whether it came so far. */
static bool fail_in_a_sample(uint64_t n, uint64_t count)
{
    struct weir_err err = WEIR_ERR_INIT;
    bool is_met;

    app_rig_pass(&rig, 1000);
    rig.sample_ms = rig.now.mono_ms;
    weir_mem_fail(n, count);
    weir_server_look_at_use(&rig.server);
    if (rig.server.dirty || rig.server.failed < 0)
        weir_server_tick(&rig.server, &err);
    is_met = weir_mem_count() > n;
    weir_mem_fail(0, 0);
    app_rig_check(&rig);
    return is_met;
}

static void the_next_samples_make_up_for_it(void **state)
{
    uint64_t n_failed = 0;
    bool is_met = true;

    (void)state;
    for (uint64_t n = 0; is_met; n++) {
        is_met = false;
        for (uint64_t before = 0; before < 2; before++) {
            for (uint64_t count = 1; count <= UINT64_MAX / 2; count += UINT64_MAX / 2 - 1) {
                bool met;

                set_up();
                if (before == 1)
                    app_rig_sample(&rig);
                met = fail_in_a_sample(n, count);
                is_met = is_met || met;
                n_failed += met;
                for (int i = 0; i < 6; i++)
                    app_rig_sample(&rig);
                assert_true(app_rig_attempt(&rig, 2, 0)->n_stops > 0);
                assert_int_equal(app_rig_attempt(&rig, 1, 0)->n_stops, 0);
                assert_int_equal(weir_world_device(weir_edit_view(rig.server.edit), 1)->n_foreign,
                                 1);
                app_rig_finish(&rig);
            }
        }
    }
    print_message("# %llu failures\n", (unsigned long long)n_failed);
    assert_true(n_failed > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_next_samples_make_up_for_it)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

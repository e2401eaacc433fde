/* The model's own functions against the C library's. */
#include "edge/nvml/sim_math.h"

#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N = 200000 };

/* In from … to. */
static double any(struct weir_rng *rng, double from, double to)
{
    return from + (to - from) * weir_rng_unit(rng);
}

static void must_be_near(const char *what, double x, double got, double expected, double scale)
{
    if (!(fabs(got - expected) <= 2e-15 * scale))
        fail_msg("%s of %.17g is %.17g, not %.17g", what, x, got, expected);
}

static void test_exp(void **state)
{
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 1);
    for (int i = 0; i < N; i++) {
        double x = any(&rng, i % 2 == 0 ? -2 : -600, i % 2 == 0 ? 2 : 600);

        must_be_near("exp", x, weir_sim_exp(x), exp(x), exp(x));
    }
    assert_true(weir_sim_exp(0) == 1);
    assert_true(weir_sim_exp(-701) == 0 && weir_sim_exp(-1e300) == 0);
}

static void test_turn(void **state)
{
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 2);
    for (int i = 0; i < N; i++) {
        double x = any(&rng, i % 2 == 0 ? -7 : -1e7, i % 2 == 0 ? 7 : 1e7);
        double complex turn = weir_sim_turn(x);

        must_be_near("cos", x, creal(turn), cos(x), 1);
        must_be_near("sin", x, cimag(turn), sin(x), 1);
    }
    assert_true(weir_sim_turn(0) == 1);
}

static void test_cexp(void **state)
{
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 3);
    for (int i = 0; i < N; i++) {
        double complex x = __builtin_complex(any(&rng, -50, 1), any(&rng, -1000, 1000));
        double complex expected = cexp(x);

        must_be_near("real cexp", creal(x), creal(weir_sim_cexp(x)), creal(expected),
                     2 * cabs(expected));
        must_be_near("imaginary cexp", creal(x), cimag(weir_sim_cexp(x)), cimag(expected),
                     2 * cabs(expected));
    }
}

static void test_cbrt(void **state)
{
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 4);
    for (int i = 0; i < N; i++) {
        double x = any(&rng, 0, 1) * (i % 2 == 0 ? 1 : 1e-9);

        must_be_near("cbrt", x, weir_sim_cbrt(x), cbrt(x), cbrt(x));
    }
    assert_true(weir_sim_cbrt(0) == 0 && weir_sim_cbrt(1) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp),
        cmocka_unit_test(test_turn),
        cmocka_unit_test(test_cexp),
        cmocka_unit_test(test_cbrt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

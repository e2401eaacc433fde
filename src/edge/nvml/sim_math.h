/* edge/nvml/sim_math.h — the little of <math.h> that the model of a simulated GPU takes.
 *
 * weir links without libm, which would cost every command's start (docs/decisions/0001), and the
 * model runs in the server too. These are also the same on every machine, so a fleet is. Good to
 * 2e-15 of the largest value that can come out, for |x| up to 1e7; no special values. */
#ifndef WEIR_EDGE_NVML_SIM_MATH_H
#define WEIR_EDGE_NVML_SIM_MATH_H

#include <complex.h>

/* e^x; 0 below -700. x must not be above 700. */
double weir_sim_exp(double x);
/* e^(i·x) */
double complex weir_sim_turn(double x);
double complex weir_sim_cexp(double complex x);
/* Of 0 … 1. */
double weir_sim_cbrt(double x);

#endif

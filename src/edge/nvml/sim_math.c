#include "edge/nvml/sim_math.h"

#include <stdint.h>
#include <string.h>

/* The constants that ranges are reduced by, in parts that are exact when multiplied by an integer
 * of 24 bits. */
static const double LN2_HIGH = 0x1.62e42fee00000p-1;
static const double LN2_LOW = 0x1.a39ef35793c76p-33;
static const double QUARTER_HIGH = 0x1.921fb54p+0;
static const double QUARTER_MIDDLE = 0x4.42d184p-32;
static const double QUARTER_LOW = 0x6.9898cc51701b8p-60;

static int64_t nearest(double x)
{
    return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

/* 2^n, for n from -1022 to 1023. */
static double power_of_two(int64_t n)
{
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

double weir_sim_exp(double x)
{
    int64_t n = x < -700 ? 0 : nearest(x * 0x1.71547652b82fep+0);
    double r = x - (double)n * LN2_HIGH - (double)n * LN2_LOW;
    double sum = 1;

    if (x < -700)
        return 0;
    /* The series of e^r, |r| ≤ ln 2 / 2, from its smallest term on. */
    for (int i = 14; i > 0; i--)
        sum = 1 + r / i * sum;
    return sum * power_of_two(n);
}

/* glibc has CMPLX for gcc only. */
static double complex pair(double real, double imaginary)
{
    return __builtin_complex(real, imaginary);
}

double complex weir_sim_turn(double x)
{
    int64_t n = nearest(x * 0x1.45f306dc9c883p-1);
    double r = x - (double)n * QUARTER_HIGH - (double)n * QUARTER_MIDDLE - (double)n * QUARTER_LOW;
    double cosine = 1;
    double sine = 1;

    /* Their series, |r| ≤ π/4, from the smallest terms on; then as many quarters as were taken. */
    for (int i = 18; i > 0; i -= 2) {
        cosine = 1 - r * r / (i * (i - 1)) * cosine;
        sine = 1 - r * r / (i * (i + 1)) * sine;
    }
    sine *= r;
    switch (n & 3) {
    case 0:
        return pair(cosine, sine);
    case 1:
        return pair(-sine, cosine);
    case 2:
        return pair(-cosine, -sine);
    default:
        return pair(sine, -cosine);
    }
}

double complex weir_sim_cexp(double complex x)
{
    return weir_sim_exp(creal(x)) * weir_sim_turn(cimag(x));
}

double weir_sim_cbrt(double x)
{
    double root = 1;

    if (x <= 0)
        return 0;
    for (;;) { /* Newton's, from above: each step is down, until it is none */
        double next = root - (root - x / (root * root)) / 3;

        if (next >= root)
            return root;
        root = next;
    }
}

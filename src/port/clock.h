/* port/clock.h — the time, as an argument that tests can give. */
#ifndef WEIR_PORT_CLOCK_H
#define WEIR_PORT_CLOCK_H

#include "model/policy.h"

struct weir_clock {
    void *ctx;
    struct weir_now (*now)(void *ctx);
};

#endif

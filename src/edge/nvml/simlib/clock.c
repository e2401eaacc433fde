#include "edge/nvml/simlib/simlib.h"

#include <time.h>

API void weirSimSetInstant(int64_t at_ms);

static _Thread_local int64_t instant_ms; /* 0: now */

int64_t weir_sim_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t weir_sim_now_ms(void)
{
    return instant_ms != 0 ? instant_ms : weir_sim_clock_ms();
}

uint64_t weir_sim_wall_us(void)
{
    struct timespec now;
    int64_t back_ms = instant_ms != 0 ? weir_sim_clock_ms() - instant_ms : 0;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 - (uint64_t)back_ms * 1000;
}

/* What this thread reads from now on is as it was at that instant; 0: as it is. */
void weirSimSetInstant(int64_t at_ms)
{
    instant_ms = at_ms;
}

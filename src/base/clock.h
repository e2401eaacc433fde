/* base/clock.h — the machine's clocks. Not for core/: time is an argument there. */
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

#include <stdint.h>

int64_t weir_clock_wall_ms(void); /* since 1970 UTC; may jump */
int64_t weir_clock_mono_ms(
    void); /* CLOCK_BOOTTIME: never jumps, counts suspend, valid within one boot */
int64_t weir_clock_mono_us(void); /* CLOCK_MONOTONIC, for measuring */
/* The kernel's boot id, 16 bytes; all zero where /proc does not tell. */
void weir_clock_boot_id(uint8_t ret_id[16]);

#endif

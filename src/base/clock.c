#include "base/clock.h"

#include "base/char.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t read_us(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t weir_clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

int64_t weir_clock_mono_ms(void)
{
    return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t weir_clock_mono_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

void weir_clock_boot_id(uint8_t ret_id[16])
{
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    size_t nibble = 0;

    if (fd >= 0)
        close(fd);
    memset(ret_id, 0, 16);
    for (ssize_t i = 0; i < n && nibble < 32; i++) {
        int value = weir_char_hex(text[i]);

        if (value >= 0) {
            ret_id[nibble / 2] |= (uint8_t)(value << (nibble % 2 == 0 ? 4 : 0));
            nibble++;
        }
    }
}

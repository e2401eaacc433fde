#include "../support.h"

#include "base/clock.h"

#include <time.h>

static void wall_time_is_libcs(void **state)
{
    int64_t before = (int64_t)time(NULL) * 1000;
    int64_t now = weir_clock_wall_ms();

    (void)state;
    assert_true(now >= before && now < before + 60000);
}

static void monotonic_time_goes_on_with_the_real(void **state)
{
    struct timespec nap = {0, 20000000};
    int64_t ms = weir_clock_mono_ms();
    int64_t us = weir_clock_mono_us();

    (void)state;
    nanosleep(&nap, NULL);
    assert_true(weir_clock_mono_ms() - ms >= 19);
    assert_true(weir_clock_mono_us() - us >= 20000);
}

static void boot_id_is_the_kernels(void **state)
{
    uint8_t id[16];
    uint8_t again[16];
    char hex[33];
    char text[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    size_t n = 0;

    (void)state;
    weir_clock_boot_id(id);
    weir_clock_boot_id(again);
    assert_memory_equal(id, again, sizeof(id));
    if (file == NULL)
        skip();
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    for (size_t i = 0; text[i] != '\0'; i++)
        if (text[i] != '-' && text[i] != '\n')
            text[n++] = text[i];
    text[n] = '\0';
    for (size_t i = 0; i < sizeof(id); i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    assert_string_equal(hex, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wall_time_is_libcs),
        cmocka_unit_test(monotonic_time_goes_on_with_the_real),
        cmocka_unit_test(boot_id_is_the_kernels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

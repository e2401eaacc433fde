#include "../support.h"
#include "cmd/when.h"

#include <stdlib.h>
#include <time.h>

#define NOON ((int64_t)1764504000000) /* 30 November 2025, 12:00 UTC */
#define HOUR ((int64_t)3600000)

static void set_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

/* The zone always stands with it; the date where it is neither today nor near. */
static void a_time_names_its_zone(void **state)
{
    char text[WEIR_WHEN_MAX];

    (void)state;
    set_zone("UTC");
    assert_string_equal(weir_when(NOON, NOON + HOUR, text), "12:00 UTC");
    assert_string_equal(weir_when(NOON, NOON + 5000, text), "12:00:00 UTC");
    assert_string_equal(weir_when(NOON + 24 * HOUR, NOON, text), "2025-12-01 12:00 UTC");
    assert_string_equal(weir_when(NOON + 12 * HOUR, NOON + 12 * HOUR - 1, text), "00:00:00 UTC");
    assert_string_equal(weir_when_exact(NOON + 61000, NOON + HOUR, text), "12:01:01 UTC");
    assert_string_equal(weir_when_exact(NOON - 24 * HOUR, NOON, text), "2025-11-29 12:00:00 UTC");
    assert_string_equal(weir_when_full(NOON, text), "2025-11-30 12:00:00 UTC");
    set_zone("CET-1");
    assert_string_equal(weir_when(NOON, NOON + HOUR, text), "13:00 CET");
    assert_string_equal(weir_when_exact(NOON + 11 * HOUR, NOON, text), "2025-12-01 00:00:00 CET");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_time_names_its_zone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

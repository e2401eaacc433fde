/* Times and durations: what is read can be written and read again, and is within what the headers
 * say. */
#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_time(struct weir_str text)
{
    struct weir_buf shown = WEIR_BUF_INIT(100);
    struct weir_err err = WEIR_ERR_INIT;
    int64_t wall_ms = INT64_MIN;
    int64_t again;

    if (weir_time_parse(text, &wall_ms, &err) < 0) {
        WEIR_ASSERT(err.code == WEIR_E_INVALID && wall_ms == INT64_MIN);
        return;
    }
    WEIR_ASSERT(err.code == 0);
    WEIR_ASSERT(weir_time_format(wall_ms, &shown) == 0);
    /* An offset may lead out of the four digits of a year. */
    if (shown.len == sizeof("2026-11-30T15:04:05.123Z") - 1 && shown.data[0] != '-')
        WEIR_ASSERT(weir_time_parse(weir_buf_view(&shown), &again, &err) == 0 && again == wall_ms);
    weir_buf_finish(&shown);
}

static void check_duration(struct weir_str text)
{
    struct weir_buf shown = WEIR_BUF_INIT(100);
    struct weir_err err = WEIR_ERR_INIT;
    int64_t ms = -1;
    int64_t again;

    if (weir_duration_parse(text, &ms, &err) < 0) {
        WEIR_ASSERT(err.code == WEIR_E_INVALID && ms == -1);
        return;
    }
    WEIR_ASSERT(ms >= 0 && ms <= 3653 * WEIR_TIME_DAY_MS);
    WEIR_ASSERT(weir_duration_format(ms, &shown) == 0);
    WEIR_ASSERT(weir_duration_parse(weir_buf_view(&shown), &again, &err) == 0);
    WEIR_ASSERT(again <= ms && ms - again < WEIR_TIME_H);
    weir_buf_finish(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_str text = weir_str_n((const char *)data, size);

    check_time(text);
    check_duration(text);
    return 0;
}

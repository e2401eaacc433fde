#include "cmd/when.h"

#include "base/time.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { SOON_MS = 600000 };

/* Days apart as far as it matters: 0 today, 1 within six days, else 2. */
static int distance(const struct tm *at, const struct tm *today, int64_t apart_ms)
{
    if (at->tm_year == today->tm_year && at->tm_yday == today->tm_yday)
        return 0;
    return apart_ms > -6 * WEIR_TIME_DAY_MS && apart_ms < 6 * WEIR_TIME_DAY_MS ? 1 : 2;
}

static const char *put(int64_t wall_ms, int64_t now_ms, bool exact, char ret_text[WEIR_WHEN_MAX])
{
    time_t then = (time_t)(wall_ms / WEIR_TIME_S);
    time_t now = (time_t)(now_ms / WEIR_TIME_S);
    struct tm at;
    struct tm today;
    int days;
    size_t n = 0;

    ret_text[0] = '\0';
    if (localtime_r(&then, &at) == NULL || localtime_r(&now, &today) == NULL)
        return ret_text;
    days = distance(&at, &today, wall_ms - now_ms);
    if (days == 1)
        n = strftime(ret_text, WEIR_WHEN_MAX, "%a ", &at);
    else if (days == 2)
        n = strftime(ret_text, WEIR_WHEN_MAX, "%Y-%m-%d ", &at);
    n += strftime(ret_text + n, WEIR_WHEN_MAX - n, "%H:%M", &at);
    if (exact)
        strftime(ret_text + n, WEIR_WHEN_MAX - n, ":%S", &at);
    return ret_text;
}

const char *weir_when(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX])
{
    bool is_soon = wall_ms - now_ms < SOON_MS && now_ms - wall_ms < SOON_MS;

    return put(wall_ms, now_ms, is_soon, ret_text);
}

const char *weir_when_exact(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX])
{
    return put(wall_ms, now_ms, true, ret_text);
}

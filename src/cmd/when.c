#include "cmd/when.h"

#include "base/time.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { SOON_MS = 600000 };

static bool is_same_day(int64_t a_ms, int64_t b_ms)
{
    time_t a = (time_t)(a_ms / WEIR_TIME_S);
    time_t b = (time_t)(b_ms / WEIR_TIME_S);
    struct tm x;
    struct tm y;

    return localtime_r(&a, &x) != NULL && localtime_r(&b, &y) != NULL && x.tm_year == y.tm_year &&
           x.tm_yday == y.tm_yday;
}

static const char *put(int64_t wall_ms, bool has_date, bool is_exact, char ret_text[WEIR_WHEN_MAX])
{
    time_t then = (time_t)(wall_ms / WEIR_TIME_S);
    struct tm at;
    size_t n = 0;

    ret_text[0] = '\0';
    if (localtime_r(&then, &at) == NULL)
        return ret_text;
    if (has_date)
        n = strftime(ret_text, WEIR_WHEN_MAX, "%Y-%m-%d ", &at);
    if (is_exact)
        strftime(ret_text + n, WEIR_WHEN_MAX - n, "%H:%M:%S %Z", &at);
    else
        strftime(ret_text + n, WEIR_WHEN_MAX - n, "%H:%M %Z", &at);
    return ret_text;
}

const char *weir_when(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX])
{
    bool is_today = is_same_day(wall_ms, now_ms);
    bool is_soon = wall_ms - now_ms < SOON_MS && now_ms - wall_ms < SOON_MS;

    return put(wall_ms, !is_today && !is_soon, is_soon, ret_text);
}

const char *weir_when_exact(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX])
{
    return put(wall_ms, !is_same_day(wall_ms, now_ms), true, ret_text);
}

const char *weir_when_full(int64_t wall_ms, char ret_text[WEIR_WHEN_MAX])
{
    return put(wall_ms, true, true, ret_text);
}

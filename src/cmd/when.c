#include "cmd/when.h"

#include "base/time.h"

#include <stdio.h>
#include <time.h>

const char *weir_when(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX])
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    time_t then = (time_t)(wall_ms / WEIR_TIME_S);
    time_t now = (time_t)(now_ms / WEIR_TIME_S);
    int64_t apart_ms = wall_ms > now_ms ? wall_ms - now_ms : now_ms - wall_ms;
    struct tm at;
    struct tm today;

    if (localtime_r(&then, &at) == NULL || localtime_r(&now, &today) == NULL) {
        snprintf(ret_text, WEIR_WHEN_MAX, "?");
        return ret_text;
    }
    if (at.tm_year == today.tm_year && at.tm_yday == today.tm_yday)
        snprintf(ret_text, WEIR_WHEN_MAX, "%02d:%02d", at.tm_hour, at.tm_min);
    else if (apart_ms < 6 * WEIR_TIME_DAY_MS)
        snprintf(ret_text, WEIR_WHEN_MAX, "%s %02d:%02d", days[at.tm_wday], at.tm_hour, at.tm_min);
    else
        snprintf(ret_text, WEIR_WHEN_MAX, "%d-%02d-%02d %02d:%02d", at.tm_year + 1900,
                 at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min);
    return ret_text;
}

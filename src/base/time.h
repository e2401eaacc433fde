/* base/time.h — time as numbers and as text. Pure: nothing here reads a clock (base/clock.h does).
 *
 * Wall time is int64 milliseconds since 1970 UTC. Durations are int64 milliseconds. */
#ifndef WEIR_BASE_TIME_H
#define WEIR_BASE_TIME_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_buf;
struct weir_err;

/* In milliseconds, and wide: a uint32_t of minutes times an int would wrap after seven weeks. */
#define WEIR_TIME_S      ((int64_t)1000)
#define WEIR_TIME_MIN    ((int64_t)60000)
#define WEIR_TIME_H      ((int64_t)3600000)
#define WEIR_TIME_DAY_MS ((int64_t)86400000)
/* The far end of time: "no limit", "never". */
#define WEIR_TIME_NEVER INT64_MAX

struct weir_civil {
    int32_t year; /* 1970 … 9999 for what we print */
    uint8_t month, day, hour, minute, second;
    uint16_t millisecond;
};

/* Proleptic Gregorian, UTC (algorithm: Hinnant, "chrono-compatible low-level date algorithms"). */
void weir_time_civil(int64_t wall_ms, struct weir_civil *ret_civil);
int64_t weir_time_from_civil(const struct weir_civil *civil);
/* "2026-11-30T15:04:05.123Z" */
int weir_time_format(int64_t wall_ms, struct weir_buf *out);
/* RFC 3339 with Z or an offset, fraction optional. WEIR_E_INVALID otherwise. */
int weir_time_parse(struct weir_str text, int64_t *ret_wall_ms, struct weir_err *err);
/* For people: "850ms", "4.2s", "3m05s", "2h10m", "5d03h". */
int weir_duration_format(int64_t duration_ms, struct weir_buf *out);
/* "90s", "1h30m", "1.5h", "2d", "500ms", a bare number of seconds ("90"), or Slurm's "HH:MM:SS" and
 * "MM:SS". Not negative; at most ten years. */
int weir_duration_parse(struct weir_str text, int64_t *ret_duration_ms, struct weir_err *err);

#endif

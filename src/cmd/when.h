/* cmd/when.h — a time of day for people, in their zone. */
#ifndef WEIR_CMD_WHEN_H
#define WEIR_CMD_WHEN_H

#include <stdint.h>

enum { WEIR_WHEN_MAX = 40 };

/* "14:20" today, with seconds within ten minutes from now, "Tue 14:20" within six days, else
 * "2026-11-30 14:20". Returns ret_text. */
const char *weir_when(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX]);

/* The same with seconds. */
const char *weir_when_exact(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX]);

#endif

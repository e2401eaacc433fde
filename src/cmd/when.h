/* cmd/when.h — a time for people, in their zone, which stands with it. */
#ifndef WEIR_CMD_WHEN_H
#define WEIR_CMD_WHEN_H

#include <stdint.h>

enum { WEIR_WHEN_MAX = 40 };

/* "14:20:05 CET" within ten minutes from now, "14:20 CET" today, else "2026-11-30 14:20 CET".
 * Returns ret_text. */
const char *weir_when(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX]);

/* The same with seconds. */
const char *weir_when_exact(int64_t wall_ms, int64_t now_ms, char ret_text[WEIR_WHEN_MAX]);

/* With seconds and, also today, the date: for what may be kept and read another day. */
const char *weir_when_full(int64_t wall_ms, char ret_text[WEIR_WHEN_MAX]);

#endif

/* model/signals.h — signals by name, as people write them: "USR1", "SIGUSR1", any case, or a number
 * 1 … 31. */
#ifndef WEIR_MODEL_SIGNALS_H
#define WEIR_MODEL_SIGNALS_H

#include "base/str.h"

/* 0 if it is none. */
int weir_signal_number(struct weir_str name);
/* "USR1"; NULL if unknown. */
const char *weir_signal_name(int number);

enum { WEIR_STATUS_TEXT_MAX = 64 };

/* What an exit status says: "exit 3", or "killed by signal 9 (KILL)" of 137. Returns ret_text. */
const char *weir_status_text(int status, char ret_text[WEIR_STATUS_TEXT_MAX]);

#endif

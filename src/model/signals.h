/* model/signals.h — signals by name, as people write them: "USR1", "SIGUSR1", any case, or a number
 * 1 … 31. */
#ifndef WEIR_MODEL_SIGNALS_H
#define WEIR_MODEL_SIGNALS_H

#include "base/str.h"

/* 0 if it is none. */
int weir_signal_number(struct weir_str name);
/* "USR1"; NULL if unknown. */
const char *weir_signal_name(int number);

#endif

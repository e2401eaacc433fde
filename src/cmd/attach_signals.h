/* cmd/attach_signals.h — signals that an attached `weir run` passes on. They are blocked but while
 * it waits, so that none is missed between a look and a wait. One per process. */
#ifndef WEIR_CMD_ATTACH_SIGNALS_H
#define WEIR_CMD_ATTACH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Catches and blocks them; SIGPIPE is ignored. */
void weir_attach_signals_begin(void);
/* As it was before. What came and was not taken is forgotten. */
void weir_attach_signals_end(void);
/* For ppoll() and its like: what is blocked while waiting. */
const sigset_t *weir_attach_signals_mask(void);
/* A signal that came since, once each, in order of their numbers; 0: none. */
int weir_attach_signals_take(void);
/* Lets those in that came while they were blocked. */
void weir_attach_signals_look(void);
/* Around a write that may block: a signal ends it. */
void weir_attach_signals_allow(bool allow);
/* "INT" for SIGINT; one of those that are caught. */
const char *weir_attach_signals_name(int number);

#endif

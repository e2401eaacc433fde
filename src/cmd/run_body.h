/* cmd/run_body.h — what `weir run` submits: a Workload made of its options, the environment, the
 * folder and the umask of the shell. */
#ifndef WEIR_CMD_RUN_BODY_H
#define WEIR_CMD_RUN_BODY_H

#include "base/buf.h"
#include "cmd/options.h"

struct weir_err;

enum { WEIR_RUN_BODY_MAX = 32 * 1024 * 1024 };

/* What a job takes over from the shell that submits it. */
struct weir_run_shell {
    char *const *environment;
    const char *cwd;
    unsigned umask;
};

/* Appends the Workload as JSON. WEIR_E_INVALID names the option or the word that cannot be sent. */
int weir_run_body(const struct weir_args *args, const struct weir_run_shell *shell,
                  struct weir_buf *out, struct weir_err *err);
/* The option that a field of the request comes from: "queue" of "spec.queue". NULL: none. */
const char *weir_run_body_option(const char *field);

#endif

#include "edge/local/launcher.h"

#include "base/count.h"
#include "cmd/commands.h"

static int run(const struct weir_args *args, struct weir_err *err)
{
    (void)args;
    (void)err;
    return weir_launcher_main(0, NULL);
}

static const struct weir_example examples[] = {
    {"weir launcher", "what a weir server starts for itself"},
};

const struct weir_command weir_command_launcher = {
    .name = "launcher",
    .summary = "start jobs for a server",
    .operands = "",
    .about = "Started by `weir up`, which talks to it over its standard input.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .group = WEIR_GROUP_SERVER,
    .is_hidden = true,
    .run = run,
};

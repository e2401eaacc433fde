#include "edge/mps/sim_control.h"

#include "base/count.h"
#include "cmd/commands.h"

static const struct weir_option options[] = {
    {.name = "foreground", .letter = 'f', .kind = WEIR_OPTION_FLAG, .help = "be the daemon"},
};

static int run(const struct weir_args *args, struct weir_err *err)
{
    int r = weir_mps_sim_control(weir_args_has(args, "foreground"), err);

    return r < 0 ? r : WEIR_EXIT_FINE;
}

static const struct weir_example examples[] = {
    {"weir mps-control -f", "what a weir server with simulated GPUs starts for itself"},
};

const struct weir_command weir_command_mps_control = {
    .name = "mps-control",
    .summary = "stand in for the MPS control program on simulated GPUs",
    .operands = "",
    .about = "Started by `weir up`, in the place of nvidia-cuda-mps-control.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .group = WEIR_GROUP_SERVER,
    .is_hidden = true,
    .run = run,
};

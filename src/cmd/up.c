#include "app/up.h"

#include "base/count.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/commands.h"
#include "cmd/version.h"
#include "model/fleet_spec.h"
#include "model/gpu_catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPU_TEST_TIMEOUT_MS = 60 * 1000 };

static const struct weir_option options[] = {
    {.name = "simulate",
     .kind = WEIR_OPTION_TEXT,
     .argument = "SPEC|auto",
     .help = "simulated GPUs, such as 8xH100 or 2x8xH100+4xL40S, or a .yaml file of nodes; list: "
             "say which models there are; auto: real ones where a driver answers, else simulated "
             "ones",
     .example = "8xH100"},
    {.name = "simulate-faults",
     .kind = WEIR_OPTION_FILE,
     .argument = "FILE",
     .help = "what befalls the simulated GPUs and when, a line each, such as '+30s gpu 3 xid 79', "
             "reckoned from the start on",
     .example = "faults.txt"},
    {.name = "data",
     .kind = WEIR_OPTION_DIR,
     .argument = "DIR",
     .help = "where everything is kept (else $WEIR_DATA, /var/lib/weir for root, or "
             "~/.local/share/weir)",
     .example = "/var/lib/weir"},
    {.name = "listen",
     .kind = WEIR_OPTION_TEXT,
     .argument = "ADDR:PORT",
     .help = "where the API listens beside its socket in DIR; port 0 is any free one; "
             "else " WEIR_UP_LISTEN_DEFAULT,
     .example = WEIR_UP_LISTEN_DEFAULT},
    {.name = "host",
     .kind = WEIR_OPTION_TEXT,
     .argument = "NAME",
     .help = "a further name by which clients may address it",
     .example = "gpu-box.example"},
    {.name = "gpu-test",
     .kind = WEIR_OPTION_TEXT,
     .argument = "COMMAND",
     .help =
         "a line for /bin/sh that tries a GPU before it serves again after a fault; exit status "
         "0 passes",
     .example = "dcgmi diag -r 1 -i $WEIR_GPU_INDEX"},
    {.name = "gpu-test-timeout",
     .kind = WEIR_OPTION_DURATION,
     .argument = "DURATION",
     .help = "how long that may take before it counts as failed, else 60s",
     .example = "5m"},
    {.name = "no-demo", .kind = WEIR_OPTION_FLAG, .help = "no demo jobs on simulated GPUs"},
    {.name = "mig-orphans",
     .kind = WEIR_OPTION_CHOICE,
     .argument = "WHAT",
     .choices = "keep|remove",
     .help = "MIG instances that are found at the start, which no job holds and no process uses: "
             "they stay (the default) and serve who comes, or are destroyed",
     .example = "remove"},
    {.name = "cgroup",
     .kind = WEIR_OPTION_TEXT,
     .argument = "auto|off|DIR",
     .help = "a cgroup v2 group for every job: below weir's own where that is to be had, none, or "
             "below DIR",
     .example = "off"},
    {.name = "mps-control",
     .kind = WEIR_OPTION_TEXT,
     .argument = "PROGRAM|off",
     .help = "the MPS control program, else nvidia-cuda-mps-control along $PATH; off: no GPU is "
             "shared under MPS",
     .example = "/usr/bin/nvidia-cuda-mps-control"},
    {.name = "log-level",
     .kind = WEIR_OPTION_CHOICE,
     .argument = "LEVEL",
     .choices = "error|warn|info|debug",
     .help = "how much it says on stderr, else info",
     .example = "warn"},
};

static void set_log_level(const char *name)
{
    static const char *const names[WEIR_LOG_LEVEL_MAX] = {"error", "warn", "info", "debug"};

    for (int level = 0; name != NULL && level < WEIR_LOG_LEVEL_MAX; level++)
        if (strcmp(names[level], name) == 0)
            weir_log_set_level((enum weir_log_level)level);
}

static int list_models(void)
{
    for (size_t i = 0; i < weir_n_gpu_models; i++)
        if (weir_fleet_can_simulate(&weir_gpu_models[i]))
            printf("%-20s %s\n", weir_gpu_models[i].id, weir_gpu_models[i].name);
    return WEIR_EXIT_FINE;
}

/* The parser has checked it but for zero. */
static int read_test(const struct weir_args *args, struct weir_up_options *up, struct weir_err *err)
{
    const char *limit = weir_args_text(args, "gpu-test-timeout");

    up->gpu_test = weir_args_text(args, "gpu-test");
    up->gpu_test_timeout_ms = GPU_TEST_TIMEOUT_MS;
    if (up->gpu_test != NULL && weir_str_trim(weir_str(up->gpu_test)).len == 0)
        return weir_error(err, WEIR_E_INVALID, "--gpu-test: the command is empty");
    if (limit == NULL)
        return 0;
    if (up->gpu_test == NULL)
        return weir_error(err, WEIR_E_INVALID, "--gpu-test-timeout: there is no --gpu-test");
    if (weir_duration_parse(weir_str(limit), &up->gpu_test_timeout_ms, err) < 0)
        return weir_error_wrap(err, "--gpu-test-timeout");
    return up->gpu_test_timeout_ms > 0 && up->gpu_test_timeout_ms <= WEIR_TIME_DAY_MS
               ? 0
               : weir_error(err, WEIR_E_INVALID,
                            "--gpu-test-timeout: '%s' is not above zero and at most a day", limit);
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    const char *cgroup = weir_args_text(args, "cgroup");
    const char *orphans = weir_args_text(args, "mig-orphans");
    const char *given = weir_args_text(args, "data");
    const char *data = given != NULL ? given : getenv("WEIR_DATA");
    struct weir_up_options up = {
        .data_dir = data != NULL && data[0] != '\0' ? data : NULL,
        .listen = weir_args_text(args, "listen"),
        .host = weir_args_text(args, "host"),
        .simulate = weir_args_text(args, "simulate"),
        .simulate_faults = weir_args_text(args, "simulate-faults"),
        .mps_control = weir_args_text(args, "mps-control"),
        .cgroup = cgroup != NULL ? cgroup : "auto",
        .removes_orphans = orphans != NULL && strcmp(orphans, "remove") == 0,
        .demo = !weir_args_has(args, "no-demo"),
        .version = weir_version_text(),
    };
    int r;

    if (up.simulate != NULL && strcmp(up.simulate, "list") == 0)
        return list_models();
    r = read_test(args, &up, err);
    if (r < 0)
        return r;
    set_log_level(weir_args_text(args, "log-level"));
    r = weir_up(&up, err);
    return r < 0 ? r : WEIR_EXIT_FINE;
}

static const struct weir_example examples[] = {
    {"weir up --simulate 8xH100", "a control plane with eight GPUs that are not there"},
    {"weir up --data /var/lib/weir", "the GPUs of this machine"},
};

const struct weir_command weir_command_up = {
    .name = "up",
    .summary = "run the control plane of this machine",
    .operands = "",
    .about = "Runs until SIGTERM or SIGINT. Jobs go on without it; started again on the same "
             "directory it takes them over. It prints a line that begins with \"ready\" once it "
             "serves.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .group = WEIR_GROUP_SERVER,
    .run = run,
};

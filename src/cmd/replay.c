#include "app/decision_replay.h"

#include "app/datadir.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"
#include "cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct weir_option options[] = {
    {.name = "data",
     .kind = WEIR_OPTION_DIR,
     .argument = "DIR",
     .help = "the data directory of the weir whose decisions are repeated",
     .example = "/var/lib/weir"},
    {.name = "output",
     .letter = 'o',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "FORMAT",
     .choices = "text|json",
     .help = "how to print the result",
     .example = "json"},
};

static void print_text(const struct weir_replay_summary *summary)
{
    char when[64] = "";
    struct weir_buf text = WEIR_BUF_INIT(64);

    printf("%llu decisions repeated, %llu differ\n", (unsigned long long)summary->n_ticks,
           (unsigned long long)summary->n_differing);
    if (summary->n_differing == 0)
        return;
    weir_time_format(summary->differing_now.wall_ms, &text);
    snprintf(when, sizeof(when), "%s", weir_buf_cstr(&text));
    weir_buf_finish(&text);
    printf("the first is decision %llu of run %llu, made at %s\n",
           (unsigned long long)summary->differing_seq, (unsigned long long)summary->differing_run,
           when);
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    const char *data = weir_args_text(args, "data");
    const char *output = weir_args_text(args, "output");
    char chosen[WEIR_DATADIR_PATH_MAX];
    struct weir_replay_summary summary;
    int r = 0;

    if (data == NULL)
        data = getenv("WEIR_DATA");
    if (data == NULL) {
        r = weir_datadir_default(chosen, sizeof(chosen), err);
        data = chosen;
    }
    if (r == 0)
        r = weir_decision_replay(data, NULL, NULL, &summary, err);
    if (r < 0)
        return r;
    if (output != NULL && strcmp(output, "json") == 0)
        printf("{\"ticks\": %llu, \"differ\": %llu, \"gaps\": %llu}\n",
               (unsigned long long)summary.n_ticks, (unsigned long long)summary.n_differing,
               (unsigned long long)summary.n_gaps);
    else
        print_text(&summary);
    return summary.n_differing == 0 ? WEIR_EXIT_FINE : WEIR_EXIT_NO;
}

static const struct weir_example examples[] = {
    {"weir replay --data /var/lib/weir", "decide again all that the log holds"},
};

const struct weir_command weir_command_replay = {
    .name = "replay",
    .summary = "repeat logged decisions and compare",
    .operands = "",
    .about = "Every decision of a weir is logged with what it was made on. This makes each again "
             "and compares the plans byte for byte. It can only read the log of the same build.",
    .examples = examples,
    .n_examples = sizeof(examples) / sizeof(examples[0]),
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .group = WEIR_GROUP_SERVER,
    .run = run,
};

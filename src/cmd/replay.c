#include "app/decision_replay.h"

#include "app/datadir.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "base/time.h"
#include "cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHEN_BYTES_MAX = 64 };

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
    const struct weir_decision_damage *damage = &summary->damage;
    struct weir_buf when = WEIR_BUF_INIT(WHEN_BYTES_MAX);

    printf("%llu decisions repeated, %llu differ\n", (unsigned long long)summary->n_ticks,
           (unsigned long long)summary->n_differing);
    if (summary->n_differing > 0) {
        weir_time_format(summary->differing_now.wall_ms, &when);
        printf("the first is decision %llu of run %llu, made at %s\n",
               (unsigned long long)summary->differing_seq,
               (unsigned long long)summary->differing_run, weir_buf_cstr(&when));
    }
    if (damage->n_foreign + damage->n_corrupt > 0)
        printf("left out: %u files of another build, %u damaged ones (%s)\n", damage->n_foreign,
               damage->n_corrupt, damage->first.text);
    weir_buf_finish(&when);
}

static void print_json(const struct weir_replay_summary *summary)
{
    printf("{\"ticks\": %llu, \"differ\": %llu, \"gaps\": %llu, \"foreign\": %u, \"corrupt\": "
           "%u, \"torn\": %u}\n",
           (unsigned long long)summary->n_ticks, (unsigned long long)summary->n_differing,
           (unsigned long long)summary->n_gaps, summary->damage.n_foreign,
           summary->damage.n_corrupt, summary->damage.n_torn);
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    const char *data = weir_args_text(args, "data");
    const char *output = weir_args_text(args, "output");
    char chosen[WEIR_DATADIR_PATH_MAX];
    struct weir_replay_summary summary = {0};
    int r = 0;

    if (data == NULL)
        data = getenv("WEIR_DATA");
    if (data == NULL || data[0] == '\0') {
        r = weir_datadir_default(chosen, sizeof(chosen), err);
        data = chosen;
    }
    if (r == 0)
        r = weir_decision_replay(data, NULL, NULL, &summary, err);
    if (r < 0)
        return r;
    if (output != NULL && strcmp(output, "json") == 0)
        print_json(&summary);
    else
        print_text(&summary);
    if (summary.n_differing > 0)
        return WEIR_EXIT_NO;
    return summary.damage.n_corrupt > 0 ? WEIR_EXIT_UNKNOWN : WEIR_EXIT_FINE;
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
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .group = WEIR_GROUP_SERVER,
    .run = run,
};

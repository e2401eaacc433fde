/* cordon, uncordon, drain: the same for nodes and GPUs. */
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/str.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "cmd/kinds.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 1000 };

struct target {
    const char *name;
    bool may_be_node;
    bool may_be_gpu;
};

/* "node/NAME" and "gpu/KEY" say what it is; else a GPU is known by its key. */
static struct target read_target(const char *word)
{
    struct weir_str text = weir_str(word);

    if (weir_str_starts_with(text, WEIR_STR("node/")))
        return (struct target){word + 5, true, false};
    if (weir_str_starts_with(text, WEIR_STR("gpu/")))
        return (struct target){word + 4, false, true};
    if (weir_kind_is_gpu_key(word))
        return (struct target){word, false, true};
    return (struct target){word, true, true};
}

static int set_one(struct weir_client *client, const char *phase, const char *word,
                   bool without_test, struct weir_arena *arena, const char **ret_kind,
                   const struct weir_tree **ret_answer, struct weir_err *err)
{
    struct target target = read_target(word);
    bool is_drain = strcmp(phase, "drain") == 0;
    struct weir_err again = WEIR_ERR_INIT;
    int result = WEIR_E_NOT_FOUND;

    if (without_test && !target.may_be_gpu)
        return weir_error(err, WEIR_E_INVALID,
                          "--no-test: '%s' is a node, and only GPUs are tested", word);
    target.may_be_node = target.may_be_node && !without_test;
    if (target.may_be_node) {
        weir_client_path(client, "/v1/nodes/%s/%s", target.name, phase);
        *ret_kind = "node";
        result = weir_client_post(client, arena, ret_answer, err);
    }
    if (result != WEIR_E_NOT_FOUND || !target.may_be_gpu || (is_drain && target.may_be_node))
        return result;
    if (is_drain) {
        weir_error(err, WEIR_E_INVALID, "drain: '%s' is a GPU, and only nodes are drained", word);
        return weir_error_hint(err, "cordon it, and cancel what runs on it");
    }
    weir_client_path(client, "/v1/gpus/%s/%s", target.name, phase);
    if (without_test)
        weir_client_query(client, "test", "false");
    *ret_kind = "gpu";
    result = weir_client_post(client, arena, ret_answer, &again);
    /* Of a word that may be either, what was said of the node is as good. */
    if (result < 0 && (result != WEIR_E_NOT_FOUND || !target.may_be_node))
        *err = again;
    return result;
}

static void tell(const char *phase, const char *kind, struct weir_str name,
                 struct weir_str not_serving)
{
    const char *done = strcmp(phase, "drain") == 0 ? "draining"
                       : phase[0] == 'u'           ? "uncordoned"
                                                   : "cordoned";

    printf("%s/%.*s %s", kind, WEIR_STR_ARG(name), done);
    if (not_serving.len > 0)
        printf("; it does not serve yet: %.*s", WEIR_STR_ARG(not_serving));
    putchar('\n');
}

static int set_all(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    const char *phase = args->command->name;
    bool without_test = args->command == &weir_command_uncordon && weir_args_has(args, "no-test");
    int result = 0;

    for (size_t i = 0; i < args->n_operands && result == 0; i++) {
        weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
        const struct weir_tree *answer = NULL;
        const char *kind = "";
        struct weir_str name;

        result =
            set_one(client, phase, args->operands[i], without_test, &arena, &kind, &answer, err);
        name = weir_client_text(answer, "name");
        if (name.len == 0) /* a server of an earlier version */
            name = weir_str(read_target(args->operands[i]).name);
        if (result == 0)
            tell(phase, kind, name, weir_client_text(answer, "not_serving"));
    }
    return result;
}

static const struct weir_example cordon_examples[] = {
    {"weir cordon node-3", "nothing new starts there; what runs goes on"},
    {"weir cordon GPU-8f1c", "the same for one GPU, by as much of its key as is unique"},
    {"weir cordon gpu/3 gpu/node-3:7",
     "or by its index, where there are several nodes with theirs"},
};

const struct weir_command weir_command_cordon = {
    .name = "cordon",
    .summary = "take a node or a GPU out of use; what runs there goes on",
    .operands = "NODE|GPU…",
    .about =
        "Nothing new is started on a cordoned node or GPU; what runs there goes on to its end. "
        "node/NAME or gpu/KEY says which it is where a name could be either. A GPU is named by "
        "its key, the beginning of one, its index, or NODE:INDEX.",
    .examples = cordon_examples,
    .n_examples = WEIR_COUNT_OF(cordon_examples),
    .min_operands = 1,
    .max_operands = NAMES_MAX,
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = set_all,
};

static const struct weir_option uncordon_options[] = {
    {.name = "no-test",
     .kind = WEIR_OPTION_FLAG,
     .help = "a GPU that failed serves at once: it is not tested, and a test of it that runs ends"},
};

static const struct weir_example uncordon_examples[] = {
    {"weir uncordon node-3", "back in use, also after it was drained"},
    {"weir uncordon GPU-8f1c", "the same for a GPU; one that had failed is tested first"},
    {"weir uncordon --no-test GPU-8f1c", "it serves whatever a test would say"},
};

const struct weir_command weir_command_uncordon = {
    .name = "uncordon",
    .summary = "take a node or a GPU back into use",
    .operands = "NODE|GPU…",
    .about =
        "Ends what cordon or drain began. A GPU that is out of service for a fault, or failed a "
        "self-test, is tested (again) before it serves: see --gpu-test of weir up.",
    .examples = uncordon_examples,
    .n_examples = WEIR_COUNT_OF(uncordon_examples),
    .options = uncordon_options,
    .n_options = WEIR_COUNT_OF(uncordon_options),
    .min_operands = 1,
    .max_operands = NAMES_MAX,
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = set_all,
};

static const struct weir_example drain_examples[] = {
    {"weir drain node-3", "empty a node, for maintenance"},
};

const struct weir_command weir_command_drain = {
    .name = "drain",
    .summary = "empty a node: what runs there is stopped and starts elsewhere",
    .operands = "NODE…",
    .about =
        "Nothing new is started on the node, and what runs there is asked to leave: it gets its "
        "checkpoint signal and its grace time, and waits for its turn again. When nothing is left, "
        "weir get nodes says drained. weir uncordon takes the node back into use.",
    .examples = drain_examples,
    .n_examples = WEIR_COUNT_OF(drain_examples),
    .min_operands = 1,
    .max_operands = NAMES_MAX,
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = set_all,
};

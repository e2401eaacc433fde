/* sim: what befalls simulated GPUs. */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/commands.h"
#include "fmt/json.h"

#include <stdio.h>

enum { WORDS_MAX = 16, BODY_BYTES_MAX = 64 * 1024 };

static const struct weir_option options[] = {
    {.name = "node",
     .kind = WEIR_OPTION_TEXT,
     .argument = "NODE",
     .help = "the GPUs are those of this node; else they are counted through the fleet",
     .example = "sim-1"},
};

/* "gpu 3 xid 79" of words, for the node. */
static int put_fault(const struct weir_args *args, struct weir_buf *fault, struct weir_err *err)
{
    const char *node = weir_args_text(args, "node");

    if (node != NULL)
        weir_buf_printf(fault, "node %s ", node);
    for (size_t i = 1; i < args->n_operands; i++)
        weir_buf_printf(fault, "%s%s", i > 1 ? " " : "", args->operands[i]);
    if (!weir_str_is_utf8(weir_buf_view(fault)))
        return weir_error(err, WEIR_E_INVALID, "sim fault: what should befall is not UTF-8");
    return weir_buf_check(fault, "the fault", err);
}

static int put_body(struct weir_str fault, struct weir_buf *body, struct weir_err *err)
{
    struct weir_json_writer writer;

    weir_json_writer_init(&writer, body, false);
    weir_json_object_begin(&writer);
    weir_json_key(&writer, "faults");
    weir_json_array_begin(&writer);
    weir_json_str(&writer, fault);
    weir_json_array_end(&writer);
    weir_json_object_end(&writer);
    return weir_json_writer_end(&writer, "the fault", err);
}

static int order_fault(struct weir_client *client, const struct weir_args *args,
                       struct weir_err *err)
{
    static const struct weir_option verbs = {.kind = WEIR_OPTION_CHOICE, .choices = "fault"};
    weir_cleanup_buf struct weir_buf fault = WEIR_BUF_INIT(BODY_BYTES_MAX);
    weir_cleanup_buf struct weir_buf body = WEIR_BUF_INIT(BODY_BYTES_MAX);
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_client_request request = {.method = "POST", .content_type = "application/json"};
    int result = weir_option_check(&verbs, args->operands[0], err);

    if (result < 0)
        return weir_error_wrap(err, "sim: '%s'", args->operands[0]);
    result = put_fault(args, &fault, err);
    if (result == 0)
        result = put_body(weir_buf_view(&fault), &body, err);
    if (result < 0)
        return result;
    request.body = weir_buf_view(&body);
    weir_client_path(client, "/v1/simulation/faults");
    result = weir_client_call(client, &request, &arena, NULL, err);
    if (result < 0) {
        weir_error_field(err, "%s", ""); /* there is one only */
        return weir_error_wrap(err, "sim fault '%s'", weir_buf_cstr(&fault));
    }
    printf("%s: done\n", weir_buf_cstr(&fault));
    return WEIR_EXIT_FINE;
}

static const struct weir_example examples[] = {
    {"weir sim fault gpu 3 xid 79", "the fourth GPU falls off the bus"},
    {"weir sim fault --node sim-2 gpu all power 400", "all of a node throttle at 400 W"},
    {"weir sim fault gpu 0 hang 20s", "a driver that does not answer"},
    {"weir sim fault driver reload", "it is gone for two seconds, and all volatile counts with it"},
};

const struct weir_command weir_command_sim = {
    .name = "sim",
    .summary = "let a fault befall simulated GPUs",
    .operands = "fault FAULT…",
    .operand_choices = "fault",
    .about =
        "A fault is gpu GPU and what befalls it: xid CODE [pid PID], lost, reset-required, "
        "recovered, ecc N [corrected], remap correctable|uncorrectable N, remap failed, thermal "
        "CELSIUS|off, power WATT|off, hang DURATION|forever, action "
        "none|reset|reboot|drain-p2p|drain-and-reset; or driver reload [DURATION]. GPU is its "
        "number, NODE/NUMBER, its key, or all. It takes the role admin, and a weir that runs "
        "with --simulate. For faults by schedule see weir up --simulate-faults.",
    .examples = examples,
    .n_examples = sizeof(examples) / sizeof(examples[0]),
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .min_operands = 2,
    .max_operands = WORDS_MAX,
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = order_fault,
};

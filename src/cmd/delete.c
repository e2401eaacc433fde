#include "base/count.h"
#include "base/err.h"
#include "cmd/cancel.h"
#include "cmd/commands.h"
#include "cmd/kinds.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 1001 };

static int delete_one(struct weir_client *client, const struct weir_kind_entry *kind,
                      const char *name, struct weir_err *err)
{
    struct weir_client_request request = {.method = "DELETE"};

    int result;

    if (strcmp(kind->one, "workload") == 0)
        return weir_cancel(client, name, false, err);
    weir_client_path(client, "/v1/%s/%s", kind->plural, name);
    result = weir_client_call(client, &request, NULL, NULL, err);
    if (result == 0)
        printf("%s/%s deleted\n", kind->one, name);
    return result;
}

static int delete_all(struct weir_client *client, const struct weir_args *args,
                      struct weir_err *err)
{
    const struct weir_kind_entry *kind = NULL;
    int result = weir_kind_find("delete", args->operands[0], &kind, err);

    if (result < 0)
        return result;
    if (strcmp(kind->one, "queue") != 0 && strcmp(kind->one, "gpusetup") != 0 &&
        strcmp(kind->one, "workload") != 0 && strcmp(kind->one, "gpu") != 0) {
        weir_error(err, WEIR_E_INVALID, "delete: a %s cannot be deleted", kind->one);
        return weir_error_hint(err, "queues, workloads, GPU setups and GPUs can; see weir cordon");
    }
    for (size_t i = 1; i < args->n_operands && result == 0; i++)
        result = delete_one(client, kind, args->operands[i], err);
    return result;
}

static const struct weir_example examples[] = {
    {"weir delete queue vision", "a queue in which nothing runs or waits"},
    {"weir delete workload 42", "the same as weir cancel 42"},
    {"weir delete gpu GPU-1f3a", "a GPU that was taken out of the machine"},
};

const struct weir_command weir_command_delete = {
    .name = "delete",
    .summary = "delete queues, GPU setups and GPUs that are gone, end workloads",
    .operands = "KIND NAME…",
    .operand_choices = "queue|workload|gpusetup|gpu",
    .about = "Deletes empty queues, and GPU setups: what they said of GPUs counts no more, and the "
             "instances stay. A workload is cancelled: its history stays. A GPU that the driver "
             "does not show stays in the list until it comes back: one that was taken out for good "
             "is deleted.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .min_operands = 2,
    .max_operands = NAMES_MAX,
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = delete_all,
};

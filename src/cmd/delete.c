#include "base/count.h"
#include "base/err.h"
#include "cmd/cancel.h"
#include "cmd/commands.h"
#include "cmd/kinds.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 1001 };

static int delete_one(struct weir_client *client, bool is_queue, const char *name,
                      struct weir_err *err)
{
    struct weir_client_request request = {.method = "DELETE"};

    int result;

    if (!is_queue)
        return weir_cancel(client, name, false, err);
    weir_client_path(client, "/v1/queues/%s", name);
    result = weir_client_call(client, &request, NULL, NULL, err);
    if (result == 0)
        printf("queue/%s deleted\n", name);
    return result;
}

static int delete_all(struct weir_client *client, const struct weir_args *args,
                      struct weir_err *err)
{
    const struct weir_kind_entry *kind = NULL;
    int result = weir_kind_find("delete", args->operands[0], &kind, err);
    bool is_queue;

    if (result < 0)
        return result;
    is_queue = strcmp(kind->one, "queue") == 0;
    if (!is_queue && strcmp(kind->one, "workload") != 0) {
        weir_error(err, WEIR_E_INVALID, "delete: a %s cannot be deleted", kind->one);
        return weir_error_hint(err, "queues and workloads can; see weir cordon");
    }
    for (size_t i = 1; i < args->n_operands && result == 0; i++)
        result = delete_one(client, is_queue, args->operands[i], err);
    return result;
}

static const struct weir_example examples[] = {
    {"weir delete queue vision", "a queue in which nothing runs or waits"},
    {"weir delete workload 42", "the same as weir cancel 42"},
};

const struct weir_command weir_command_delete = {
    .name = "delete",
    .summary = "delete queues, end workloads",
    .operands = "KIND NAME…",
    .operand_choices = "queue|workload",
    .about = "Deletes empty queues. A workload is cancelled: its history stays.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .min_operands = 2,
    .max_operands = NAMES_MAX,
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = delete_all,
};

#include "cmd/waits.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/when.h"

#include <stdio.h>
#include <string.h>

void weir_waits_init(struct weir_waits *waits, const char *id)
{
    memset(waits, 0, sizeof(*waits));
    waits->id = id;
}

static int64_t expected_start_ms(struct weir_waits *waits, struct weir_client *client)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *answer = NULL;

    weir_client_path(client, "/v1/workloads/%s/explain", waits->id);
    if (weir_client_get(client, &arena, &answer, NULL) < 0)
        return -1;
    return weir_client_i64(weir_tree_get(answer, "expected_start"), "p50_ms", -1);
}

void weir_waits_tell(struct weir_waits *waits, struct weir_client *client,
                     const struct weir_tree *workload)
{
    struct weir_str reason = weir_client_text(workload, "reason");
    char when[WEIR_WHEN_MAX];
    int64_t start_ms;

    if (!weir_str_eq_c(weir_client_text(workload, "state"), "queued")) {
        waits->told[0] = '\0';
        return;
    }
    if (reason.len == 0 || weir_str_eq_c(reason, waits->told))
        return;
    snprintf(waits->told, sizeof(waits->told), "%.*s", WEIR_STR_ARG(reason));
    start_ms = expected_start_ms(waits, client);
    if (start_ms < 0)
        fprintf(stderr, "weir: job %s waits: %s\n", waits->id, waits->told);
    else
        fprintf(stderr, "weir: job %s waits: %s (expected start %s)\n", waits->id, waits->told,
                weir_when(start_ms, weir_clock_wall_ms(), when));
}

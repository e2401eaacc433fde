#include "cmd/waits.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/when.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

void weir_waits_init(struct weir_waits *waits, const char *id)
{
    memset(waits, 0, sizeof(*waits));
    waits->id = id;
}

/* The reason as explain says it, and when it starts. */
static void put_explanation(struct weir_waits *waits, struct weir_client *client,
                            struct weir_buf *out)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *answer = NULL;
    const struct weir_tree *start;
    char when[WEIR_WHEN_MAX];
    struct weir_str why = WEIR_STR("");
    int64_t start_ms = -1;
    bool is_guess = false;

    weir_client_path(client, "/v1/workloads/%s/explain", waits->id);
    if (weir_client_get(client, &arena, &answer, NULL) == 0) {
        start = weir_tree_get(answer, "expected_start");
        why = weir_client_text(weir_tree_get(answer, "blocking"), "text");
        start_ms = weir_client_i64(start, "p50_ms", -1);
        is_guess = weir_str_eq_c(weir_client_text(start, "assumed"), "true");
    }
    weir_buf_str(out, why.len > 0 ? why : weir_str(waits->told));
    if (start_ms >= 0)
        weir_buf_printf(out, " (expected start %s%s)",
                        weir_when(start_ms, weir_clock_wall_ms(), when),
                        is_guess ? ", a guess" : "");
}

void weir_waits_tell(struct weir_waits *waits, struct weir_client *client,
                     const struct weir_tree *workload)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(TEXT_MAX);
    struct weir_str reason = weir_client_text(workload, "reason");

    if (!weir_str_eq_c(weir_client_text(workload, "state"), "queued")) {
        waits->told[0] = '\0';
        return;
    }
    if (reason.len == 0 || weir_str_eq_c(reason, waits->told))
        return;
    snprintf(waits->told, sizeof(waits->told), "%.*s", WEIR_STR_ARG(reason));
    put_explanation(waits, client, &text);
    fprintf(stderr, "weir: job %s waits: %s\n", waits->id, weir_buf_cstr(&text));
}

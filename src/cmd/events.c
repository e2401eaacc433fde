#include "cmd/events.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/time.h"
#include "cmd/client.h"
#include "cmd/kinds.h"

int weir_events_recent(struct weir_client *client, const struct weir_args *args,
                       struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const char *since = weir_args_text(args, "since");
    const struct weir_tree **events = NULL;
    int64_t span_ms = 0;
    int64_t from_ms;
    size_t n = 0;
    size_t n_kept = 0;
    size_t n_tail;
    int result;

    if (since != NULL && weir_duration_parse(weir_str(since), &span_ms, err) < 0)
        return weir_error_code(err);
    from_ms = since != NULL ? weir_clock_wall_ms() - span_ms : INT64_MIN;
    result = weir_client_collect(client, &arena, &events, &n, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < n; i++)
        if (weir_client_i64(events[i], "at_ms", INT64_MAX) >= from_ms)
            events[n_kept++] = events[i];
    n_tail = (size_t)weir_args_count(args, "tail", (int64_t)n_kept);
    if (n_tail > n_kept)
        n_tail = n_kept;
    return weir_output_items(events + (n_kept - n_tail), n_tail, args, &weir_events_kind, err);
}

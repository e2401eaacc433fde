#include "cmd/events.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/time.h"
#include "cmd/client.h"
#include "cmd/kinds.h"

#include <stdio.h>

static void query_number(struct weir_client *client, const char *name, int64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", number > 0 ? (long long)number : 0);
    weir_client_query(client, name, text);
}

int weir_events_recent(struct weir_client *client, const struct weir_args *args,
                       struct weir_err *err)
{
    const char *since = weir_args_text(args, "since");
    int64_t span_ms = 0;

    if (since != NULL && weir_duration_parse(weir_str(since), &span_ms, err) < 0)
        return weir_error_code(err);
    if (since != NULL)
        query_number(client, "since_ms", weir_clock_wall_ms() - span_ms);
    if (weir_args_has(args, "tail"))
        query_number(client, "tail", weir_args_count(args, "tail", 0));
    return weir_output_list(client, args, &weir_events_kind, err);
}

#include "app/server.h"

int weir_server_fail(struct weir_server *server, int result, const struct weir_err *err)
{
    if (server->failed == 0) {
        server->failed = result;
        if (err != NULL && err->code != 0)
            server->failure = *err;
        else
            weir_error(&server->failure, result, "the change could not be made");
    }
    server->dirty = true;
    return result;
}

int weir_server_begin(struct weir_server *server, struct weir_err *err)
{
    int r;

    if (server->failed != 0)
        return weir_error_pass(err, &server->failure);
    if (server->in_transaction)
        return 0;
    r = server->store.begin(server->store.ctx, err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    server->in_transaction = true;
    server->dirty = true;
    return 0;
}

int weir_server_add_done(struct weir_server *server, struct weir_done done, uint64_t outcome,
                         struct weir_err *err)
{
    struct weir_server_done entry = {done, outcome};

    server->dirty = true;
    if (weir_vec_push(&server->dones, entry) < 0)
        return weir_server_fail(server,
                                weir_error(err, WEIR_E_NO_MEMORY, "no memory for another request"),
                                err);
    return 0;
}

int weir_server_event(struct weir_server *server, struct weir_str actor, const char *kind,
                      struct weir_str subject, struct weir_str cause, struct weir_str before,
                      struct weir_str after, struct weir_err *err)
{
    struct weir_now now = server->clock.now(server->clock.ctx);
    struct weir_event_record event = {
        .wall_ms = now.wall_ms,
        .mono_ms = now.mono_ms,
        .boot_id = server->boot_id,
        .actor = actor,
        .kind = weir_str(kind),
        .cause = cause,
        .subject = subject,
        .before = before,
        .after = after,
    };

    return server->store.append_event(server->store.ctx, &event, err);
}

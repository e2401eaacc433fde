/* What people let befall simulated GPUs. */
#include "app/service_impl.h"

int weir_service_befall(void *ctx, const struct weir_actor *actor, struct weir_str faults,
                        struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    struct weir_str rest = faults;
    struct weir_str line;
    int r = weir_service_check_ready(server, err);

    if (r == 0)
        r = weir_service_check_role(actor, WEIR_ROLE_ADMIN, "let faults befall GPUs", err);
    if (r == 0 && server->gpu.befall == NULL) {
        weir_error(err, WEIR_E_UNSUPPORTED, "the GPUs here are real: no fault can be ordered");
        return weir_error_hint(err, "`weir up --simulate 8xH100` has some that are not");
    }
    if (r == 0)
        r = server->gpu.befall(server->gpu.ctx, faults, true, err);
    if (r == 0)
        r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    while (r == 0 && weir_str_split(&rest, '\n', &line)) {
        line = weir_str_trim(line);
        if (line.len > 0)
            r = weir_service_event(server, actor, "sim.fault", "sim", WEIR_STR("fleet"), line, err);
    }
    if (r == 0)
        r = server->gpu.befall(server->gpu.ctx, faults, false, err);
    return r < 0 ? weir_server_fail(server, r, err) : weir_server_add_done(server, done, 0, err);
}

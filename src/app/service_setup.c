#include "app/service_impl.h"
#include "app/setup.h"
#include "base/tree.h"

struct same_spec {
    struct weir_str name;
    struct weir_str spec;
    bool is_there;
};

static int compare_spec(void *arg, const struct weir_setup_record *record)
{
    struct same_spec *same = arg;

    if (!weir_str_eq(record->name, same->name))
        return 0;
    same->is_there = true;
    return weir_str_eq(record->spec, same->spec);
}

int weir_setup_change_check(struct weir_server *server, const struct weir_tree *doc,
                            struct weir_arena *arena, struct weir_setup_change *ret,
                            struct weir_err *err)
{
    struct weir_setup_change change = {.name = weir_resource_name(doc)};
    struct same_spec same = {.name = change.name};
    int r = weir_setup_check(server, weir_tree_get(doc, "spec"), err);

    if (r == 0)
        r = weir_resource_json(weir_tree_get(doc, "spec"), arena, &change.spec, err);
    if (r < 0)
        return r;
    same.spec = change.spec;
    r = server->store.each_setup(server->store.ctx, compare_spec, &same, err);
    if (r < 0)
        return r;
    change.unchanged = r > 0;
    change.is_new = !same.is_there;
    *ret = change;
    return 0;
}

int weir_setup_change_write(struct weir_server *server, const struct weir_actor *actor,
                            const struct weir_setup_change *change, struct weir_err *err)
{
    struct weir_setup_record record = {change->name, change->spec,
                                       server->clock.now(server->clock.ctx).wall_ms};
    int r = server->store.put_setup(server->store.ctx, &record, err);

    return r < 0 ? r
                 : weir_service_event(server, actor,
                                      change->is_new ? "gpusetup.created" : "gpusetup.configured",
                                      "gpusetup", change->name, change->spec, err);
}

/* As the store, or the open transaction, has them. */
int weir_setup_change_take_over(struct weir_server *server, struct weir_err *err)
{
    int r = weir_setups_load(server, err);

    return r < 0 ? r : weir_setups_apply(server, err);
}

static int no_setup(struct weir_str name, struct weir_err *err)
{
    weir_error(err, WEIR_E_NOT_FOUND, "there is no GPU setup '%.*s'", WEIR_STR_ARG(name));
    return weir_error_hint(err, "`weir get gpusetups` lists them");
}

int weir_service_delete_setup(void *ctx, const struct weir_actor *actor, struct weir_str name,
                              struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    struct same_spec same = {.name = name};
    int r = weir_service_check_ready(server, err);

    if (r == 0)
        r = weir_service_check_role(actor, WEIR_ROLE_ADMIN, "delete GPU setups", err);
    if (r == 0)
        r = server->store.each_setup(server->store.ctx, compare_spec, &same, err);
    if (r < 0)
        return r;
    if (!same.is_there)
        return no_setup(name, err);
    r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    r = server->store.delete_setup(server->store.ctx, name, err);
    if (r == 0)
        r = weir_service_event(server, actor, "gpusetup.deleted", "gpusetup", name, WEIR_STR(""),
                               err);
    if (r == 0)
        r = weir_setup_change_take_over(server, err);
    return r < 0 ? weir_server_fail(server, r, err) : weir_server_add_done(server, done, 0, err);
}

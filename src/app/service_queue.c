#include "app/service_impl.h"
#include "app/startable.h"
#include "base/tree.h"

struct same_spec {
    struct weir_str name;
    struct weir_str spec;
};

static int compare_spec(void *arg, const struct weir_queue_record *record)
{
    const struct same_spec *same = arg;

    return weir_str_eq(record->name, same->name) && weir_str_eq(record->spec, same->spec);
}

int weir_queue_change_check(struct weir_server *server, const struct weir_tree *doc,
                            struct weir_arena *arena, struct weir_queue_change *ret,
                            struct weir_err *err)
{
    const struct weir_tree *spec = weir_tree_get(doc, "spec");
    struct weir_queue_change change = {.name = weir_resource_name(doc),
                                       .parent = weir_resource_queue_parent(spec)};
    struct same_spec same;
    int r;

    if (change.name.len == 0)
        return weir_tree_error(doc, err, "a queue needs a name (metadata.name)");
    r = weir_startable_check_limit(weir_tree_get(spec, "maxRunTime"), err);
    if (r < 0)
        return r;
    r = weir_resource_queue(spec, WEIR_RESOURCE_ASKED, server->edit, &change.row, err);
    if (r == WEIR_E_NO_MEMORY) /* while it put words into the edit, perhaps */
        return weir_server_fail(server, r, err);
    if (r == 0)
        r = weir_resource_json(spec, arena, &change.spec, err);
    if (r < 0)
        return r;
    change.index = weir_edit_find_queue(server->edit, change.name);
    change.is_new = change.index == WEIR_NONE;
    same = (struct same_spec){change.name, change.spec};
    r = server->store.each_queue(server->store.ctx, compare_spec, &same, err);
    if (r < 0)
        return r;
    change.unchanged = r > 0;
    *ret = change;
    return 0;
}

int weir_queue_change_check_parents(struct weir_server *server, const struct weir_tree *const *docs,
                                    const struct weir_queue_change *changes, uint32_t n,
                                    struct weir_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct weir_str at = changes[i].parent;
        uint32_t steps = 0;
        uint32_t child = i; /* the document that names it */
        uint32_t index;

        if (changes[i].name.len == 0)
            continue;
        if (weir_str_eq_c(at, "default"))
            return weir_tree_error(weir_tree_path(docs[i], "spec.parent"), err,
                                   "queue 'default' cannot be a parent: it takes the jobs that "
                                   "name no queue");
        while (at.len > 0) {
            uint32_t j = 0;

            if (weir_str_eq(at, changes[i].name) || ++steps > 1000)
                return weir_tree_error(weir_tree_path(docs[i], "spec.parent"), err,
                                       "queue '%.*s' would be its own ancestor",
                                       WEIR_STR_ARG(changes[i].name));
            while (j < n && !weir_str_eq(changes[j].name, at))
                j++;
            if (j < n) {
                at = changes[j].parent;
                child = j;
                continue;
            }
            index = weir_edit_find_queue(server->edit, at);
            if (index == WEIR_NONE) {
                weir_service_no_queue(server, WEIR_E_INVALID, at, err);
                return weir_tree_place(weir_tree_path(docs[child], "spec.parent"), err);
            }
            index = weir_world_queue(weir_edit_view(server->edit), index)->parent;
            at = index == WEIR_NONE
                     ? WEIR_STR("")
                     : weir_world_string(
                           weir_edit_view(server->edit),
                           weir_world_queue(weir_edit_view(server->edit), index)->name);
        }
        index = weir_edit_find_queue(server->edit, changes[i].parent);
        if (index != WEIR_NONE &&
            weir_world_queue(weir_edit_view(server->edit), index)->first_workload != WEIR_NONE)
            return weir_tree_error(weir_tree_path(docs[i], "spec.parent"), err,
                                   "queue '%.*s' has workloads of its own: it cannot be a parent",
                                   WEIR_STR_ARG(changes[i].parent));
    }
    return 0;
}

/* The fields people set; the rest of the row is the world's. */
static void set_queue(struct weir_queue *row, const struct weir_queue *like)
{
    row->priority = like->priority;
    row->weight = like->weight;
    row->isolation = like->isolation;
    row->over_budget = like->over_budget;
    row->preemptible = like->preemptible;
    row->run_limit_ms = like->run_limit_ms;
    row->guaranteed = like->guaranteed;
    row->limit = like->limit;
}

int weir_queue_change_write(struct weir_server *server, const struct weir_actor *actor,
                            struct weir_queue_change *change, struct weir_err *err)
{
    struct weir_queue_record record = {change->name, change->spec,
                                       server->clock.now(server->clock.ctx).wall_ms};
    struct weir_queue *row;
    struct weir_key key;
    int r = server->store.put_queue(server->store.ctx, &record, err);

    if (r == 0)
        r = weir_service_event(server, actor,
                               change->index == WEIR_NONE ? "queue.created" : "queue.configured",
                               "queue", change->name, change->spec, err);
    if (r < 0)
        return r;
    if (change->index != WEIR_NONE) {
        row = weir_edit_queue(server->edit, change->index);
        if (row == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a queue");
        change->old = *row;
        change->is_written = true;
        set_queue(row, &change->row);
        return 0;
    }
    change->row.created_wall_ms = record.created_wall_ms;
    key = weir_key_of_queue(change->name);
    r = weir_edit_string(server->edit, change->name, &change->row.name);
    if (r == 0)
        r = weir_edit_add_queue(server->edit, &key, &change->row, &change->index);
    if (r < 0)
        return weir_error(err, r, "no memory for a queue");
    change->is_written = true;
    return 0;
}

/* The parent the change leads to, or `back` from it. */
static uint32_t parent_after(const struct weir_server *server,
                             const struct weir_queue_change *change, bool back)
{
    if (back)
        return change->is_new ? WEIR_NONE : change->old.parent;
    return change->parent.len > 0 ? weir_edit_find_queue(server->edit, change->parent) : WEIR_NONE;
}

int weir_queue_change_unlink(struct weir_server *server, const struct weir_queue_change *change,
                             bool back)
{
    uint32_t parent = parent_after(server, change, back);

    if (!change->is_written ||
        weir_world_queue(weir_edit_view(server->edit), change->index)->parent == parent)
        return 0;
    return weir_edit_move_queue(server->edit, change->index, WEIR_NONE);
}

int weir_queue_change_link(struct weir_server *server, const struct weir_queue_change *change,
                           bool back)
{
    if (!change->is_written)
        return 0;
    return weir_edit_move_queue(server->edit, change->index, parent_after(server, change, back));
}

int weir_queue_change_undo(struct weir_server *server, const struct weir_queue_change *change)
{
    struct weir_queue *row;

    if (!change->is_written)
        return 0;
    if (change->is_new)
        return weir_edit_remove_queue(server->edit, change->index);
    row = weir_edit_queue(server->edit, change->index);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    set_queue(row, &change->old);
    return 0;
}

int weir_service_delete_queue(void *ctx, const struct weir_actor *actor, struct weir_str name,
                              struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    const struct weir_queue *row;
    uint32_t index;
    int r = weir_service_check_ready(server, err);

    if (r == 0)
        r = weir_service_check_role(actor, WEIR_ROLE_ADMIN, "delete queues", err);
    if (r < 0)
        return r;
    index = weir_edit_find_queue(server->edit, name);
    if (index == WEIR_NONE)
        return weir_service_no_queue(server, WEIR_E_NOT_FOUND, name, err);
    if (weir_str_eq_c(name, "default"))
        return weir_error(err, WEIR_E_EXISTS,
                          "queue 'default' stays: it takes the jobs that name no queue");
    row = weir_world_queue(weir_edit_view(server->edit), index);
    if (row->first_child != WEIR_NONE || row->first_workload != WEIR_NONE) {
        weir_error(err, WEIR_E_EXISTS, "queue '%.*s' is not empty: it has %s", WEIR_STR_ARG(name),
                   row->first_child != WEIR_NONE ? "queues below it" : "workloads");
        return weir_error_hint(err, "`weir ps --queue %.*s` shows them", WEIR_STR_ARG(name));
    }
    r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    r = server->store.delete_queue(server->store.ctx, name, err);
    if (r == 0)
        r = weir_service_event(server, actor, "queue.deleted", "queue", name, WEIR_STR(""), err);
    if (r == 0 && weir_edit_remove_queue(server->edit, index) < 0)
        r = weir_error(err, WEIR_E_NO_MEMORY, "no memory to delete a queue");
    return r < 0 ? weir_server_fail(server, r, err) : weir_server_add_done(server, done, 0, err);
}

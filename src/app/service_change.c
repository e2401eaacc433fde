/* What is asked of workloads that are there, of nodes and of devices. */
#include "app/faults.h"
#include "app/service_impl.h"

/* ---- workloads ---- */

struct noted {
    const struct weir_actor *actor;
    bool is_own;
    uint32_t state;
};

static int note(void *arg, const struct weir_workload_record *record)
{
    struct noted *noted = arg;

    noted->is_own = weir_actor_owns(noted->actor, record->owner, record->uid);
    noted->state = record->state;
    return 0;
}

/* The live workload, if the actor may touch it. */
static int find_own(struct weir_server *server, const struct weir_actor *actor, uint64_t number,
                    uint32_t *ret_index, uint32_t *ret_state, struct weir_err *err)
{
    struct noted noted = {.actor = actor};
    int r = weir_service_check_ready(server, err);

    if (r == 0)
        r = weir_service_check_role(actor, WEIR_ROLE_SUBMIT, "change workloads", err);
    if (r == 0)
        r = server->store.get_workload(server->store.ctx, number, note, &noted, err);
    if (r < 0)
        return r;
    if (actor->role < WEIR_ROLE_ADMIN && !noted.is_own)
        return weir_error(err, WEIR_E_DENIED, "workload %llu is not yours",
                          (unsigned long long)number);
    *ret_index = weir_service_find_workload(server, number);
    *ret_state = noted.state;
    return 0;
}

int weir_service_cancel(void *ctx, const struct weir_actor *actor, uint64_t number,
                        struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    struct weir_workload *row;
    char text[24];
    uint32_t index;
    uint32_t state;
    int r = find_own(server, actor, number, &index, &state, err);

    if (r < 0)
        return r;
    if (index == WEIR_NONE || weir_world_workload(weir_edit_view(server->edit), index)->cancelled)
        return weir_server_add_done(server, done, number, err); /* it has ended, or is about to */
    r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    r = weir_service_event(server, actor, "workload.cancelled", "workload", weir_str(text),
                           WEIR_STR(""), err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    row = weir_edit_workload(server->edit, index);
    if (row == NULL) {
        r = weir_error(err, WEIR_E_NO_MEMORY, "no memory to cancel a workload");
        return weir_server_fail(server, r, err);
    }
    row->cancelled = 1;
    return weir_server_add_done(server, done, number, err);
}

int weir_service_signal(void *ctx, const struct weir_actor *actor, uint64_t number,
                        int signal_number, struct weir_err *err)
{
    struct weir_server *server = ctx;
    const struct weir_world *world;
    struct weir_err cannot = WEIR_ERR_INIT;
    uint32_t index;
    uint32_t n_sent = 0;
    uint32_t state;
    int failed = 0;
    int r = find_own(server, actor, number, &index, &state, err);

    if (r < 0)
        return r;
    if (weir_task_state_is_final(state))
        return weir_error(err, WEIR_E_EXISTS, "workload %llu has ended (%s)",
                          (unsigned long long)number,
                          weir_task_state_name((enum weir_task_state)state));
    world = weir_edit_view(server->edit);
    for (uint32_t t = index != WEIR_NONE ? weir_world_workload(world, index)->first_task
                                         : WEIR_NONE;
         t != WEIR_NONE; t = weir_world_task(world, t)->next_in_workload) {
        const struct weir_server_attempt *attempt = weir_server_attempt_of(server, t);

        if (!weir_task_state_holds(weir_world_task(world, t)->state) || attempt == NULL ||
            attempt->ref.serial == 0)
            continue;
        r = server->cluster.command(server->cluster.ctx, &attempt->ref, WEIR_CLUSTER_SIGNAL,
                                    signal_number, 0, &cannot);
        n_sent += r == 0;
        /* One that has not begun, or has just ended, has nothing to be told. */
        if (r < 0 && r != WEIR_E_NOT_FOUND && r != WEIR_E_UNAVAILABLE && failed == 0) {
            failed = r;
            weir_error(err, r, "member %u of workload %llu: %s", weir_world_task(world, t)->member,
                       (unsigned long long)number, cannot.text);
        }
    }
    if (failed < 0)
        return failed;
    if (n_sent == 0)
        return weir_error(err, WEIR_E_UNAVAILABLE, "workload %llu has not begun",
                          (unsigned long long)number);
    return 0;
}

/* ---- nodes and devices ---- */

static int find_subject(struct weir_server *server, enum weir_subject kind, struct weir_str name,
                        uint32_t *ret_index, struct weir_err *err)
{
    bool is_node = kind == WEIR_SUBJECT_NODE;

    *ret_index = is_node ? weir_edit_find_node(server->edit, name)
                         : weir_edit_find_device(server->edit, name);
    if (*ret_index != WEIR_NONE)
        return 0;
    weir_error(err, WEIR_E_NOT_FOUND, "there is no %s '%.*s'", is_node ? "node" : "GPU",
               WEIR_STR_ARG(name));
    return weir_error_hint(err,
                           is_node ? "`weir get nodes` lists them" : "`weir get gpus` lists them");
}

/* An instance is out of use with its GPU; what was said of it alone goes on. */
static int cordon_instance(struct weir_server *server, uint32_t index, bool with_gpu,
                           struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_str uuid = weir_world_string(world, weir_world_device(world, index)->uuid);
    struct weir_server_cordon own = {.phase = WEIR_NODE_READY};
    struct weir_device *row;
    int r =
        uuid.len > 0 ? weir_server_find_cordon(server, WEIR_SUBJECT_DEVICE, uuid, &own, err) : 0;

    if (r < 0)
        return r;
    row = weir_edit_device(server->edit, index);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a cordon");
    row->cordoned = with_gpu || own.phase != WEIR_NODE_READY;
    return 0;
}

static int cordon_device(struct weir_server *server, uint32_t index, bool is_cordoned,
                         struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_device *row = weir_edit_device(server->edit, index);
    uint32_t parent;
    int r = 0;

    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a cordon");
    row->cordoned = is_cordoned;
    parent = row->parent;
    if (parent != WEIR_NONE && weir_world_device(world, parent)->cordoned)
        row->cordoned = true;
    for (uint32_t i = weir_world_next_instance(world, index, WEIR_NONE); r == 0 && i != WEIR_NONE;
         i = weir_world_next_instance(world, index, i))
        r = cordon_instance(server, i, is_cordoned, err);
    return r;
}

static int set_subject(struct weir_server *server, enum weir_subject kind, uint32_t index,
                       enum weir_node_phase phase, struct weir_str cause, struct weir_err *err)
{
    uint32_t string = WEIR_NONE;
    int r = weir_edit_string(server->edit, cause, &string);

    if (r == 0 && kind == WEIR_SUBJECT_NODE) {
        struct weir_node *node = weir_edit_node(server->edit, index);

        if (node != NULL) {
            node->phase = phase;
            node->phase_cause = phase == WEIR_NODE_READY ? WEIR_NONE : string;
            return 0;
        }
    } else if (r == 0) {
        return cordon_device(server, index, phase != WEIR_NODE_READY, err);
    }
    return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a cordon");
}

int weir_service_set_phase(void *ctx, const struct weir_actor *actor, enum weir_subject kind,
                           struct weir_str name, enum weir_node_phase phase, bool without_test,
                           struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    char who[128];
    struct weir_cordon_record record = {kind, phase, name,
                                        weir_service_actor_name(actor, who, sizeof(who))};
    uint32_t index = WEIR_NONE;
    int r = weir_service_check_ready(server, err);

    if (r == 0)
        r = weir_service_check_role(actor, WEIR_ROLE_ADMIN, "take things out of use", err);
    if (r == 0)
        r = find_subject(server, kind, name, &index, err);
    if (r == 0)
        r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    r = server->store.put_cordon(server->store.ctx, &record, err);
    if (r == 0)
        r = weir_service_event(server, actor,
                               kind == WEIR_SUBJECT_NODE ? "node.phase" : "gpu.phase",
                               kind == WEIR_SUBJECT_NODE ? "node" : "gpu", name,
                               weir_str(weir_node_phase_name(phase)), err);
    if (r == 0)
        r = set_subject(server, kind, index, phase, record.cause, err);
    if (r == 0 && kind == WEIR_SUBJECT_DEVICE && phase == WEIR_NODE_READY)
        r = weir_server_faults_clear(server, name, record.cause.ptr, without_test, err);
    return r < 0 ? weir_server_fail(server, r, err) : weir_server_add_done(server, done, 0, err);
}

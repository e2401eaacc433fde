/* Changes of MIG that a plan asks for: the request to the driver, and what became of it.
 *
 * Nothing of it is in the store but what is told as events. What the driver was asked for is
 * remembered until its result is there, and after that until its next reading shows it; the rows of
 * the world follow from both (instances.c). A change that fails keeps its device from others for a
 * while, which doubles with each failure in a row. */
#include "app/server.h"
#include "base/log.h"

#include <stdio.h>

enum {
    SETBACK_FIRST_MS = 5000,
    SETBACK_MAX_MS = 600000,
    SETBACK_DOUBLINGS_MAX = 7,
    HALF_MADE_MS = 30000, /* so long a person may take between the two steps */
    WHAT_BYTES_MAX = 96
};

static const struct weir_device *row_of(const struct weir_server *server, uint32_t index)
{
    return weir_world_device(weir_edit_view(server->edit), index);
}

/* ---- what is under way ---- */

const struct weir_server_reshape *weir_server_find_reshape(const struct weir_server *server,
                                                           const struct weir_key *on,
                                                           uint16_t slots)
{
    for (size_t i = 0; i < server->reshapes.n; i++) {
        const struct weir_server_reshape *change = &server->reshapes.items[i];

        if (weir_key_eq(&change->on, on) && change->slots == slots)
            return change;
    }
    return NULL;
}

void weir_server_forget_reshape(struct weir_server *server, const struct weir_key *on,
                                uint16_t slots)
{
    for (size_t i = server->reshapes.n; i-- > 0;)
        if (weir_key_eq(&server->reshapes.items[i].on, on) &&
            server->reshapes.items[i].slots == slots)
            weir_vec_remove(&server->reshapes, i);
}

void weir_server_forget_done(struct weir_server *server, const struct weir_key *on)
{
    for (size_t i = server->reshapes.n; i-- > 0;)
        if (server->reshapes.items[i].is_done && weir_key_eq(&server->reshapes.items[i].on, on))
            weir_vec_remove(&server->reshapes, i);
}

void weir_server_forget_reshapes(struct weir_server *server)
{
    weir_vec_finish(&server->reshapes);
    weir_vec_finish(&server->setbacks);
}

/* ---- setbacks ---- */

static struct weir_server_setback *find_setback(struct weir_server *server,
                                                const struct weir_key *on)
{
    weir_vec_foreach (setback, &server->setbacks)
        if (weir_key_eq(&setback->on, on))
            return setback;
    return NULL;
}

static void drop_setback(struct weir_server *server, const struct weir_key *on)
{
    const struct weir_server_setback *setback = find_setback(server, on);

    if (setback != NULL)
        weir_vec_remove(&server->setbacks, (size_t)(setback - server->setbacks.items));
}

/* Without memory for it the change is simply tried again at once. */
static void add_setback(struct weir_server *server, const struct weir_key *on, const char *cause)
{
    struct weir_server_setback *setback = find_setback(server, on);
    const struct weir_server_setback first = {.on = *on};
    int64_t wait_ms;
    uint32_t n;

    if (setback == NULL && weir_vec_push(&server->setbacks, first) == 0)
        setback = weir_vec_last(&server->setbacks);
    if (setback == NULL)
        return;
    n = setback->n < SETBACK_DOUBLINGS_MAX ? setback->n : SETBACK_DOUBLINGS_MAX;
    wait_ms = (int64_t)SETBACK_FIRST_MS << n;
    setback->n++;
    setback->not_before_wall_ms = server->clock.now(server->clock.ctx).wall_ms +
                                  (wait_ms < SETBACK_MAX_MS ? wait_ms : SETBACK_MAX_MS);
    snprintf(setback->cause, sizeof(setback->cause), "%.*s",
             WEIR_STR_ARG(weir_str_cut(weir_str(cause), sizeof(setback->cause) - 1)));
}

int weir_server_note_setback(struct weir_server *server, uint32_t device, struct weir_err *err)
{
    const struct weir_device *was = row_of(server, device);
    const struct weir_server_setback *setback = find_setback(server, &was->row.key);
    struct weir_device *row;
    uint32_t cause;

    if (setback == NULL)
        return 0;
    if (weir_edit_string(server->edit, weir_str(setback->cause), &cause) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for why a change failed");
    if (was->change_cause == cause && was->change_not_before_wall_ms == setback->not_before_wall_ms)
        return 0;
    row = weir_edit_device(server->edit, device);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for why a change failed");
    row->change_cause = cause;
    row->change_not_before_wall_ms = setback->not_before_wall_ms;
    server->dirty = true;
    return 0;
}

/* ---- what is told ---- */

/* "made 3g.40gb on slots 4-7"; "make …" where it was not. */
static void put_what(const struct weir_server_reshape *change, bool is_done,
                     char text[WHAT_BYTES_MAX])
{
    static const char *const done[WEIR_RESHAPE_MAX] = {"MIG mode on", "MIG mode off", "made",
                                                       "destroyed"};
    static const char *const wanted[WEIR_RESHAPE_MAX] = {"turn MIG mode on", "turn MIG mode off",
                                                         "make", "destroy"};
    const char *verb = (is_done ? done : wanted)[change->reshape];
    unsigned first = change->slots != 0 ? (unsigned)__builtin_ctz(change->slots) : 0;
    unsigned last = change->slots != 0 ? 31u - (unsigned)__builtin_clz(change->slots) : 0;

    if (change->slots == 0)
        snprintf(text, WHAT_BYTES_MAX, "%s", verb);
    else if (first == last)
        snprintf(text, WHAT_BYTES_MAX, "%s %s on slot %u", verb, change->profile, first);
    else
        snprintf(text, WHAT_BYTES_MAX, "%s %s on slots %u-%u", verb, change->profile, first, last);
}

static int tell(struct weir_server *server, uint32_t device,
                const struct weir_server_reshape *change, const char *failure, struct weir_err *err)
{
    struct weir_str uuid =
        weir_world_string(weir_edit_view(server->edit), row_of(server, device)->uuid);
    char subject[WEIR_GPU_UUID_BYTES + 8];
    char what[WHAT_BYTES_MAX];
    int r;

    put_what(change, failure == NULL, what);
    snprintf(subject, sizeof(subject), "gpu/%.*s",
             WEIR_STR_ARG(weir_str_cut(uuid, WEIR_GPU_UUID_BYTES)));
    if (failure == NULL)
        weir_log_info("gpu.reshaped", "%.*s: %s", WEIR_STR_ARG(uuid), what);
    else
        weir_log_warn("gpu.reshape-failed", "%.*s: cannot %s: %s", WEIR_STR_ARG(uuid), what,
                      failure);
    r = weir_server_begin(server, err);
    if (r == 0)
        r = weir_server_event(
            server, WEIR_STR("weir"), failure == NULL ? "gpu.reshaped" : "gpu.reshape-failed",
            weir_str(subject),
            weir_str(failure != NULL ? failure : weir_cause_name((enum weir_cause)change->cause)),
            WEIR_STR(""), weir_str(what), err);
    return r;
}

/* ---- results ---- */

static uint32_t find_on_slots(const struct weir_server *server, uint32_t device, uint16_t slots)
{
    const struct weir_world *world = weir_edit_view(server->edit);

    uint32_t i = weir_world_next_instance(world, device, WEIR_NONE);

    while (i != WEIR_NONE && weir_world_device(world, i)->slots != slots)
        i = weir_world_next_instance(world, device, i);
    return i;
}

static int set_phase(struct weir_server *server, uint32_t index, uint32_t phase)
{
    struct weir_device *row = weir_edit_device(server->edit, index);

    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->phase = phase;
    return 0;
}

/* As before the change was begun. */
static int take_back(struct weir_server *server, uint32_t device,
                     const struct weir_server_reshape *change)
{
    uint32_t index = change->slots != 0 ? find_on_slots(server, device, change->slots) : device;

    if (index == WEIR_NONE)
        return 0;
    if (row_of(server, index)->phase == WEIR_DEVICE_MAKING) {
        weir_server_forget_gpu(server, index);
        return weir_edit_remove_device(server->edit, index);
    }
    /* One that serves nobody stays what it is. */
    if (index != device &&
        weir_world_string(weir_edit_view(server->edit), row_of(server, index)->uuid).len == 0)
        return 0;
    return set_phase(server, index, WEIR_DEVICE_THERE);
}

static int forget_cause(struct weir_server *server, uint32_t device)
{
    struct weir_device *row;

    if (row_of(server, device)->change_cause == WEIR_NONE &&
        row_of(server, device)->change_not_before_wall_ms == 0)
        return 0;
    row = weir_edit_device(server->edit, device);
    if (row == NULL)
        return WEIR_E_NO_MEMORY;
    row->change_cause = WEIR_NONE;
    row->change_not_before_wall_ms = 0;
    return 0;
}

static int fail(struct weir_server *server, uint32_t device,
                const struct weir_server_reshape *change, const char *why, struct weir_err *err)
{
    int r = take_back(server, device, change);

    add_setback(server, &change->on, why);
    server->dirty = true;
    if (r < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to take back a change of a GPU");
    r = weir_server_note_setback(server, device, err);
    return r < 0 ? r : tell(server, device, change, why, err);
}

static int succeed(struct weir_server *server, uint32_t device,
                   const struct weir_server_reshape *change, struct weir_err *err)
{
    drop_setback(server, &change->on);
    server->dirty = true;
    if (forget_cause(server, device) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a change of a GPU");
    return tell(server, device, change, NULL, err);
}

/* The state may be built anew at the moment: then the driver's reading alone tells. */
static uint32_t device_of(const struct weir_server *server, const struct weir_key *on)
{
    return server->edit == NULL ? WEIR_NONE : weir_edit_find(server->edit, WEIR_TABLE_DEVICES, on);
}

void weir_server_reshaped(struct weir_server *server, const struct weir_gpu_mig_result *result)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_server_reshape change = {.ticket = 0};
    uint32_t device;
    int r;

    weir_vec_foreach (one, &server->reshapes) {
        if (one->ticket == 0 || one->ticket != result->ticket)
            continue;
        one->is_done = true;
        change = *one;
    }
    if (change.ticket == 0)
        return;
    device = device_of(server, &change.on);
    if (result->err.code != 0) {
        weir_server_forget_reshape(server, &change.on, change.slots);
        if (device == WEIR_NONE)
            add_setback(server, &change.on, result->err.text);
    }
    if (device == WEIR_NONE)
        return;
    r = result->err.code != 0 ? fail(server, device, &change, result->err.text, &err)
                              : succeed(server, device, &change, &err);
    if (r < 0)
        weir_server_fail(server, r, &err);
}

/* ---- requests ---- */

static void keep_profile(const struct weir_server *server, uint32_t resource,
                         struct weir_server_reshape *change)
{
    struct weir_str name = weir_world_mig_name(weir_edit_view(server->edit), resource);

    snprintf(change->profile, sizeof(change->profile), "%.*s",
             WEIR_STR_ARG(weir_str_cut(name, sizeof(change->profile) - 1)));
}

/* The driver's number of the profile, and where; size 0: it takes no such instance. */
static void fill_create(const struct weir_server *server, uint32_t device, uint32_t resource,
                        uint16_t slots, struct weir_gpu_mig_request *request)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    const struct weir_device *row = weir_world_device(world, device);

    for (uint32_t i = 0; i < weir_world_n_mig_offers(world, row); i++) {
        struct weir_mig_offer offer = weir_world_mig_offer(world, row, i);

        if (offer.profile != resource || offer.size != (uint32_t)__builtin_popcount(slots))
            continue;
        request->profile_id = offer.driver_id;
        request->start = __builtin_ctz(slots);
        request->size = offer.size;
    }
}

static int ask(struct weir_server *server, uint32_t device, struct weir_gpu_mig_request *request,
               uint64_t *ret_ticket, struct weir_err *err)
{
    if (request->action == WEIR_GPU_MIG_CREATE && request->size == 0)
        return weir_error(err, WEIR_E_INVALID, "the GPU does not take such an instance");
    if (server->gpu.mig == NULL)
        return weir_error(err, WEIR_E_UNSUPPORTED, "there is no MIG here");
    request->uuid = weir_world_string(weir_edit_view(server->edit), row_of(server, device)->uuid);
    return server->gpu.mig(server->gpu.ctx, request, ret_ticket, err);
}

/* Without memory to remember it by, it is not asked for: the next reading puts the rows right. */
static void ask_and_remember(struct weir_server *server, uint32_t device,
                             struct weir_gpu_mig_request *request,
                             struct weir_server_reshape *change)
{
    struct weir_err why = WEIR_ERR_INIT;

    if (weir_vec_reserve(&server->reshapes, server->reshapes.n + 1) < 0) {
        weir_error(&why, WEIR_E_NO_MEMORY, "no memory for a change of MIG");
        weir_server_fail(server, WEIR_E_NO_MEMORY, &why);
        return;
    }
    if (ask(server, device, request, &change->ticket, &why) < 0) {
        change->ticket = 0;
        snprintf(change->refusal, sizeof(change->refusal), "%.*s",
                 WEIR_STR_ARG(weir_str_cut(weir_str(why.text), sizeof(change->refusal) - 1)));
        server->dirty = true;
    }
    server->reshapes.items[server->reshapes.n++] = *change;
}

int weir_server_take_refusals(struct weir_server *server, struct weir_err *err)
{
    int r = 0;

    for (size_t i = server->reshapes.n; r == 0 && i-- > 0;) {
        struct weir_server_reshape change = server->reshapes.items[i];
        uint32_t device = device_of(server, &change.on);

        if (change.refusal[0] == '\0')
            continue;
        weir_vec_remove(&server->reshapes, i);
        if (device != WEIR_NONE)
            r = fail(server, device, &change, change.refusal, err);
    }
    return r;
}

static void destroy(struct weir_server *server, uint32_t index, uint32_t cause)
{
    const struct weir_device *row = row_of(server, index);
    struct weir_gpu_mig_request request = {.action = WEIR_GPU_MIG_DESTROY,
                                           .gpu_instance = row->instance};
    struct weir_server_reshape change = {.reshape = WEIR_RESHAPE_DESTROY,
                                         .cause = cause,
                                         .slots = row->slots,
                                         .on = row_of(server, row->parent)->row.key};

    keep_profile(server, row->mig_profile, &change);
    ask_and_remember(server, row->parent, &request, &change);
}

void weir_server_reshape(struct weir_server *server, const struct weir_action *action)
{
    struct weir_gpu_mig_request request = {.start = WEIR_GPU_ANY_PLACE};
    struct weir_server_reshape change = {.reshape = action->reshape, .cause = action->cause};

    if (action->reshape == WEIR_RESHAPE_DESTROY) {
        destroy(server, action->device, action->cause);
        return;
    }
    change.on = row_of(server, action->device)->row.key;
    if (action->reshape == WEIR_RESHAPE_CREATE) {
        change.slots = action->slots;
        keep_profile(server, action->resource, &change);
        request.action = WEIR_GPU_MIG_CREATE;
        fill_create(server, action->device, action->resource, action->slots, &request);
    } else {
        request.action =
            action->reshape == WEIR_RESHAPE_ENABLE ? WEIR_GPU_MIG_ENABLE : WEIR_GPU_MIG_DISABLE;
    }
    ask_and_remember(server, action->device, &request, &change);
}

/* ---- what serves nobody ---- */

static bool may_change(struct weir_server *server, uint32_t device)
{
    return row_of(server, device)->change_not_before_wall_ms <=
           server->clock.now(server->clock.ctx).wall_ms;
}

int weir_server_clear_half(struct weir_server *server, uint32_t index, struct weir_err *err)
{
    struct weir_server_gpu *gpu = weir_server_gpu_of(server, index);
    const struct weir_device *row = row_of(server, index);
    int64_t now = server->clock.now(server->clock.ctx).mono_ms;

    if (gpu == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an instance");
    if (gpu->half_made_mono_ms == 0)
        gpu->half_made_mono_ms = now;
    if (now - gpu->half_made_mono_ms < HALF_MADE_MS || row->n_foreign > 0 ||
        !may_change(server, row->parent) ||
        weir_server_find_reshape(server, &row_of(server, row->parent)->row.key, row->slots) != NULL)
        return 0;
    destroy(server, index, WEIR_CAUSE_UNUSED);
    return 0;
}

void weir_server_remove_orphans(struct weir_server *server)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    uint32_t next;

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE; i = next) {
        const struct weir_device *row = weir_world_device(world, i);

        next = weir_world_after(world, WEIR_TABLE_DEVICES, i);
        if (row->kind != WEIR_DEVICE_MIG || row->parent == WEIR_NONE ||
            row->phase != WEIR_DEVICE_THERE || row->n_sharers > 0 || row->n_foreign > 0 ||
            row_of(server, row->parent)->layout != WEIR_NONE || !may_change(server, row->parent))
            continue;
        if (set_phase(server, i, WEIR_DEVICE_UNMAKING) < 0) {
            struct weir_err err = WEIR_ERR_INIT;

            weir_server_fail(server, weir_error(&err, WEIR_E_NO_MEMORY, "no memory for orphans"),
                             &err);
            return;
        }
        destroy(server, i, WEIR_CAUSE_UNUSED);
        server->dirty = true;
    }
}

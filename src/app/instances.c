/* MIG as the driver shows it: the mode of each GPU, what instances it takes, which it has. The
 * driver is the truth: whatever a plan began ends here, when it is seen.
 *
 * An instance is a device of its own, named by the UUID of its compute instance. A GPU instance
 * without a compute instance, or with several, serves nobody: its row is UNMAKING, so that its
 * slots count as taken and as room to come. A person may be making it just now: only one that stays
 * so is destroyed. */
#include "app/server.h"
#include "app/setup.h"
#include "base/arena.h"
#include "base/bitset.h"
#include "base/cleanup.h"

static const struct weir_device *row_of(const struct weir_server *server, uint32_t index)
{
    return weir_world_device(weir_edit_view(server->edit), index);
}

static int no_memory(struct weir_err *err)
{
    return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the instances of a GPU");
}

/* ---- its mode ---- */

static uint32_t mode_of(const struct weir_gpu_device *seen)
{
    if ((seen->valid & WEIR_GPU_HAS_MIG_MODE) == 0)
        return WEIR_MIG_NONE;
    return seen->mig_mode ? WEIR_MIG_ON : WEIR_MIG_OFF;
}

/* The change was made, and takes effect with a reset that is not weir's to do: somebody is to have
 * it so, and till then nobody gets the GPU. */
static bool waits_for_reset(const struct weir_device *row, const struct weir_gpu_device *seen)
{
    uint32_t next = seen->mig_pending ? WEIR_MIG_ON : WEIR_MIG_OFF;

    return (seen->valid & WEIR_GPU_HAS_MIG_MODE) != 0 && seen->mig_pending != seen->mig_mode &&
           row->mig_wanted == next;
}

static uint32_t phase_of(struct weir_server *server, const struct weir_device *row,
                         const struct weir_gpu_device *seen)
{
    const struct weir_server_reshape *change = weir_server_find_reshape(server, &row->row.key, 0);

    if (change != NULL && !change->is_done)
        return WEIR_DEVICE_SWITCHING;
    if (change != NULL)
        weir_server_forget_reshape(server, &row->row.key, 0);
    return waits_for_reset(row, seen) ? WEIR_DEVICE_SWITCHING : WEIR_DEVICE_THERE;
}

int weir_server_observe_mode(struct weir_server *server, uint32_t device,
                             const struct weir_gpu_device *seen, struct weir_err *err)
{
    const struct weir_device *was = row_of(server, device);
    uint32_t phase = phase_of(server, was, seen);
    uint32_t cause = was->change_cause;
    struct weir_device *row;
    uint32_t offers;
    uint16_t slots;
    int r = weir_server_offers_of(server, was, seen, &offers, &slots, err);

    if (r < 0)
        return r;
    if (phase == WEIR_DEVICE_SWITCHING && waits_for_reset(was, seen))
        r = weir_edit_string(server->edit,
                             WEIR_STR("its MIG mode changes with its next reset, which is a "
                                      "person's to do"),
                             &cause);
    else if (was->phase == WEIR_DEVICE_SWITCHING && phase == WEIR_DEVICE_THERE)
        cause = WEIR_NONE;
    if (r < 0)
        return no_memory(err);
    slots |= was->slots_used;
    if (was->mig == mode_of(seen) && was->offers == offers && was->slots == slots &&
        was->phase == phase && was->change_cause == cause)
        return 0;
    row = weir_edit_device(server->edit, device);
    if (row == NULL)
        return no_memory(err);
    row->mig = mode_of(seen);
    row->offers = offers;
    row->slots = slots;
    row->phase = phase;
    row->change_cause = cause;
    server->dirty = true;
    return 0;
}

/* ---- its instances ---- */

static const struct weir_gpu_mig_profile *profile_of(const struct weir_gpu_device *seen,
                                                     const struct weir_gpu_instance *instance)
{
    for (uint32_t i = 0; i < seen->n_profiles; i++)
        if (seen->profiles[i].id == instance->profile_id)
            return &seen->profiles[i];
    return NULL;
}

static uint16_t slots_of(const struct weir_gpu_instance *instance)
{
    const struct weir_gpu_placement *at = &instance->placement;

    if (at->size == 0 || at->start + at->size > WEIR_DEVICE_SLOTS_MAX)
        return 0;
    return (uint16_t)(((1u << at->size) - 1) << at->start);
}

/* The UUID of the one compute instance; empty: it serves nobody. */
static struct weir_str name_of(const struct weir_gpu_instance *instance)
{
    return instance->n_compute == 1 ? instance->compute[0].uuid : WEIR_STR("");
}

static struct weir_key key_of(const struct weir_device *parent,
                              const struct weir_gpu_instance *instance)
{
    return name_of(instance).len > 0 ? weir_key_of_device(name_of(instance))
                                     : weir_key_of_instance(&parent->row.key, slots_of(instance));
}

/* Rows on these slots of the device that are no such instance: what was being made is there, or
 * something else is in its place. Those that are held stay, and are lost. */
static int clear_slots(struct weir_server *server, uint32_t device, uint16_t slots, uint32_t but,
                       struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);

    uint32_t next;

    for (uint32_t i = weir_world_next_instance(world, device, WEIR_NONE); i != WEIR_NONE;
         i = next) {
        const struct weir_device *row = weir_world_device(world, i);

        next = weir_world_next_instance(world, device, i);
        if (i == but || (row->slots & slots) == 0 || row->n_sharers > 0)
            continue;
        weir_server_forget_gpu(server, i);
        if (weir_edit_remove_device(server->edit, i) < 0)
            return no_memory(err);
        server->dirty = true;
    }
    return 0;
}

static int fill_instance(struct weir_server *server, uint32_t device,
                         const struct weir_gpu_device *seen,
                         const struct weir_gpu_instance *instance, struct weir_device *row,
                         struct weir_err *err)
{
    const struct weir_gpu_mig_profile *profile = profile_of(seen, instance);
    const struct weir_device *parent = row_of(server, device);
    struct weir_server_cordon cordon = {.phase = WEIR_NODE_READY};
    int r = weir_edit_string(server->edit, name_of(instance), &row->uuid);

    if (r == 0)
        r = weir_edit_mig_profile(server->edit, profile->name, &row->mig_profile);
    if (r == 0 && name_of(instance).len > 0)
        r = weir_server_find_cordon(server, WEIR_SUBJECT_DEVICE, name_of(instance), &cordon, err);
    if (r < 0)
        return r == WEIR_E_NO_MEMORY ? no_memory(err) : r;
    row->model = parent->model;
    row->gpu_class = parent->gpu_class;
    row->node = parent->node;
    row->numa = parent->numa;
    row->nvlink = parent->nvlink;
    row->index = parent->index;
    row->cordoned = parent->cordoned || cordon.phase != WEIR_NODE_READY;
    row->isolation = WEIR_ISOLATION_HARDWARE;
    row->max_sharers = row->n_sharers > 1 ? row->n_sharers : 1;
    row->memory_bytes = profile->memory_bytes;
    row->instance = instance->id;
    return 0;
}

static int add_instance(struct weir_server *server, uint32_t device,
                        const struct weir_gpu_device *seen,
                        const struct weir_gpu_instance *instance, const struct weir_key *key,
                        uint32_t *ret_index, struct weir_err *err)
{
    struct weir_device like = weir_device_blank();
    int r = fill_instance(server, device, seen, instance, &like, err);

    if (r < 0)
        return r;
    like.kind = WEIR_DEVICE_MIG;
    like.parent = device;
    like.slots = slots_of(instance);
    like.phase = name_of(instance).len > 0 ? WEIR_DEVICE_THERE : WEIR_DEVICE_UNMAKING;
    server->dirty = true;
    return weir_edit_add_device(server->edit, key, &like, ret_index) < 0 ? no_memory(err) : 0;
}

/* It was known by its name only, as the holder of a running task (load.c). */
static int put_back_instance(struct weir_server *server, uint32_t device, uint32_t index,
                             const struct weir_gpu_device *seen,
                             const struct weir_gpu_instance *instance, struct weir_err *err)
{
    struct weir_device *row;

    if (weir_edit_adopt_instance(server->edit, index, device, slots_of(instance)) < 0)
        return no_memory(err);
    row = weir_edit_device(server->edit, index);
    server->dirty = true;
    return row == NULL ? no_memory(err) : fill_instance(server, device, seen, instance, row, err);
}

/* Whether a destruction of it is under way; one that was told to be done and left it there is not
 * waited for. */
static bool is_being_destroyed(struct weir_server *server, const struct weir_device *row,
                               const struct weir_key *on)
{
    const struct weir_server_reshape *change = weir_server_find_reshape(server, on, row->slots);

    if (change == NULL || change->reshape != WEIR_RESHAPE_DESTROY)
        return false;
    if (!change->is_done)
        return true;
    weir_server_forget_reshape(server, on, row->slots);
    return false;
}

/* Health follows the GPU; what was given out stays so until it ends. */
static int update_instance(struct weir_server *server, uint32_t device, uint32_t index,
                           const struct weir_gpu_instance *instance, struct weir_err *err)
{
    const struct weir_device *parent = row_of(server, device);
    const struct weir_device *was = row_of(server, index);
    bool serves = name_of(instance).len > 0;
    uint32_t phase = serves && !is_being_destroyed(server, was, &parent->row.key)
                         ? WEIR_DEVICE_THERE
                         : WEIR_DEVICE_UNMAKING;
    struct weir_device *row;

    if (was->health == parent->health && was->health_cause == parent->health_cause &&
        was->phase == phase && was->instance == instance->id && was->index == parent->index)
        return 0;
    row = weir_edit_device(server->edit, index);
    if (row == NULL)
        return no_memory(err);
    row->health = parent->health;
    row->health_cause = parent->health_cause;
    row->phase = phase;
    row->instance = instance->id;
    row->index = parent->index;
    server->dirty = true;
    return 0;
}

static int take_in_instance(struct weir_server *server, uint32_t device,
                            const struct weir_gpu_device *seen,
                            const struct weir_gpu_instance *instance, struct weir_bitset *known,
                            struct weir_err *err)
{
    const struct weir_device *parent = row_of(server, device);
    struct weir_key key = key_of(parent, instance);
    uint32_t index = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
    int r = 0;

    /* What cannot be placed cannot be given out (a weir without the right to read it). */
    if (slots_of(instance) == 0 || profile_of(seen, instance) == NULL ||
        profile_of(seen, instance)->name.len == 0)
        return 0;
    if (index != WEIR_NONE && row_of(server, index)->phase == WEIR_DEVICE_MAKING &&
        weir_server_find_reshape(server, &parent->row.key, slots_of(instance)) != NULL) {
        weir_bitset_add(known, index); /* half of it is there */
        return 0;
    }
    r = clear_slots(server, device, slots_of(instance), index, err);
    if (r == 0 && index == WEIR_NONE)
        r = add_instance(server, device, seen, instance, &key, &index, err);
    else if (r == 0 && row_of(server, index)->parent == WEIR_NONE)
        r = put_back_instance(server, device, index, seen, instance, err);
    if (r == 0)
        r = update_instance(server, device, index, instance, err);
    if (r == 0 && name_of(instance).len == 0)
        r = weir_server_clear_half(server, index, err);
    if (r == 0)
        weir_bitset_add(known, index);
    return r;
}

/* ---- what is gone ---- */

static int lose(struct weir_server *server, uint32_t index, uint32_t health, uint32_t cause,
                struct weir_err *err)
{
    const struct weir_device *was = row_of(server, index);
    struct weir_device *row;

    if (was->health == health && was->health_cause == cause)
        return 0;
    row = weir_edit_device(server->edit, index);
    if (row == NULL)
        return no_memory(err);
    row->health = health;
    row->health_cause = cause;
    server->dirty = true;
    return 0;
}

/* Who held it is told by its loss; it goes when nobody does any more. */
static int lose_or_remove(struct weir_server *server, uint32_t index, struct weir_err *err)
{
    uint32_t cause;

    if (row_of(server, index)->n_sharers == 0) {
        weir_server_forget_gpu(server, index);
        server->dirty = true;
        return weir_edit_remove_device(server->edit, index) < 0 ? no_memory(err) : 0;
    }
    if (weir_edit_string(server->edit, WEIR_STR("the driver does not list it any more"), &cause) <
        0)
        return no_memory(err);
    return lose(server, index, WEIR_DEVICE_LOST, cause, err);
}

/* One row of this device that was not among what was seen. */
static int miss_instance(struct weir_server *server, uint32_t device, uint32_t index,
                         const struct weir_gpu_device *seen, struct weir_err *err)
{
    const struct weir_device *parent = row_of(server, device);
    const struct weir_device *row = row_of(server, index);
    const struct weir_server_reshape *change =
        weir_server_find_reshape(server, &parent->row.key, row->slots);
    bool is_making = row->phase == WEIR_DEVICE_MAKING;
    bool is_whole_list = (seen->valid & WEIR_GPU_HAS_INSTANCES) != 0 || !seen->mig_mode;

    if (is_making && change != NULL && !change->is_done)
        return 0;
    if (seen->state != WEIR_GPU_READY && !is_making)
        return lose(server, index, parent->health, parent->health_cause, err);
    if (!is_making && !is_whole_list)
        return 0;
    if (change != NULL && change->is_done)
        weir_server_forget_reshape(server, &parent->row.key, row->slots);
    return lose_or_remove(server, index, err);
}

static int miss_instances(struct weir_server *server, uint32_t device,
                          const struct weir_gpu_device *seen, struct weir_bitset *known,
                          struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    uint32_t next;
    int r = 0;

    for (uint32_t i = weir_world_next_instance(world, device, WEIR_NONE); r == 0 && i != WEIR_NONE;
         i = next) {
        next = weir_world_next_instance(world, device, i);
        if (weir_bitset_has(known, i))
            continue;
        r = miss_instance(server, device, i, seen, err);
        if (r == 0)
            weir_bitset_add(known, i);
    }
    return r;
}

/* The state was built anew while the driver is at it: it is as if it had just been asked. */
static int restore_making(struct weir_server *server, uint32_t device,
                          const struct weir_server_reshape *change, struct weir_bitset *known,
                          struct weir_err *err)
{
    const struct weir_device *parent = row_of(server, device);
    struct weir_key key = weir_key_of_instance(&parent->row.key, change->slots);
    struct weir_device like = weir_device_blank();
    uint32_t index = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);
    int r = 0;

    if (index == WEIR_NONE && (parent->slots_used & change->slots) == 0) {
        r = weir_edit_mig_profile(server->edit, weir_str(change->profile), &like.mig_profile);
        like.kind = WEIR_DEVICE_MIG;
        like.phase = WEIR_DEVICE_MAKING;
        like.parent = device;
        like.slots = change->slots;
        like.node = parent->node;
        like.uuid = WEIR_NONE;
        like.model = parent->model;
        like.index = parent->index;
        like.gpu_class = parent->gpu_class;
        if (r == 0)
            r = weir_edit_add_device(server->edit, &key, &like, &index);
    }
    if (r < 0)
        return no_memory(err);
    if (index != WEIR_NONE)
        weir_bitset_add(known, index);
    return 0;
}

static int restore_all_making(struct weir_server *server, uint32_t device,
                              struct weir_bitset *known, struct weir_err *err)
{
    struct weir_key on = row_of(server, device)->row.key;

    weir_vec_foreach (change, &server->reshapes)
        if (change->reshape == WEIR_RESHAPE_CREATE && !change->is_done &&
            weir_key_eq(&change->on, &on) && restore_making(server, device, change, known, err) < 0)
            return WEIR_E_NO_MEMORY;
    return 0;
}

/* ---- all of it ---- */

/* A GPU that does not answer from the start is as it was. */
static bool is_first_of(const struct weir_device *row, const struct weir_gpu_device *seen)
{
    return seen->is_remembered && row->mig == WEIR_MIG_NONE && row->offers == WEIR_NONE;
}

int weir_server_observe_mig(struct weir_server *server, uint32_t device,
                            const struct weir_gpu_device *seen, struct weir_bitset *known,
                            struct weir_err *err)
{
    bool tells = seen->state == WEIR_GPU_READY || is_first_of(row_of(server, device), seen);
    int r = 0;

    if (tells)
        r = weir_server_observe_mode(server, device, seen, err);
    if (r == 0)
        r = weir_setups_apply_to(server, device, seen, err);
    for (uint32_t i = 0; r == 0 && tells && seen->mig_mode && i < seen->n_instances; i++)
        r = take_in_instance(server, device, seen, &seen->instances[i], known, err);
    if (r == 0)
        r = miss_instances(server, device, seen, known, err);
    if (seen->state == WEIR_GPU_READY)
        weir_server_forget_done(server, &row_of(server, device)->row.key);
    if (r == 0)
        r = restore_all_making(server, device, known, err);
    return r < 0 ? r : weir_server_note_setback(server, device, err);
}

int weir_server_drop_instances(struct weir_server *server, const struct weir_bitset *known,
                               struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    int r = 0;

    for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); r == 0 && i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_DEVICES, i)) {
        const struct weir_device *row = weir_world_device(world, i);

        if (row->kind == WEIR_DEVICE_MIG && !weir_bitset_has(known, i) && row->n_sharers == 0)
            r = lose_or_remove(server, i, err);
    }
    return r;
}

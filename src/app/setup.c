#include "app/setup.h"
#include "app/known.h"

#include "app/server.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "model/gpu_catalogue.h"

struct weir_server_setups {
    struct weir_arena arena;
    struct setups weir_vec(const struct weir_tree *) specs; /* by name */
};

/* ---- the store's ---- */

void weir_setups_unload(struct weir_server *server)
{
    if (server->setups == NULL)
        return;
    weir_arena_finish(&server->setups->arena);
    weir_vec_finish(&server->setups->specs);
    server->setups = weir_mem_free(server->setups);
}

struct reading {
    struct weir_server_setups *setups;
    struct weir_err *err;
};

static int read_setup(void *arg, const struct weir_setup_record *record)
{
    struct reading *reading = arg;
    struct weir_tree *spec = NULL;
    char *text = weir_str_dup(record->spec, &reading->setups->arena);
    int r = text != NULL ? weir_json_read(weir_str_n(text, record->spec.len), NULL,
                                          &reading->setups->arena, &spec, reading->err)
                         : weir_error(reading->err, WEIR_E_NO_MEMORY, "no memory for a setup");

    if (r == 0 && weir_vec_push(&reading->setups->specs, spec) < 0)
        r = weir_error(reading->err, WEIR_E_NO_MEMORY, "no memory for a setup");
    return r < 0 ? weir_error_wrap(reading->err, "stored setup '%.*s'", WEIR_STR_ARG(record->name))
                 : 0;
}

int weir_setups_load(struct weir_server *server, struct weir_err *err)
{
    struct reading reading = {weir_mem_alloc_array(1, sizeof(*reading.setups)), err};
    struct weir_server_setups *old = server->setups;
    int r;

    if (reading.setups == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the setups");
    reading.setups->arena = (struct weir_arena)WEIR_ARENA_INIT;
    r = server->store.each_setup(server->store.ctx, read_setup, &reading, err);
    if (r < 0) {
        server->setups = reading.setups;
        weir_setups_unload(server);
        server->setups = old;
        return r;
    }
    weir_setups_unload(server);
    server->setups = reading.setups;
    return 0;
}

/* ---- which GPU ---- */

static bool has_text(const struct weir_tree *list, struct weir_str text)
{
    weir_tree_foreach (each, list)
        if (weir_str_eq_nocase(each->text, text))
            return true;
    return false;
}

static bool has_class(const struct weir_tree *list, struct weir_str class)
{
    weir_tree_foreach (each, list) {
        const struct weir_gpu_model *known = weir_gpu_catalogue_find(each->text);

        if (weir_str_eq_nocase(known != NULL ? weir_str(known->id) : each->text, class))
            return true;
    }
    return false;
}

static bool has_index(const struct weir_tree *list, uint32_t index)
{
    weir_tree_foreach (each, list) {
        int64_t value;

        if (weir_str_to_i64(each->text, &value) && value == (int64_t)index)
            return true;
    }
    return false;
}

/* "0x20B210DE"; what stands behind a colon is the subsystem, which is not looked at. */
static bool has_pci_id(const struct weir_tree *list, uint32_t pci_id)
{
    char text[16];
    /* The driver has the device in front, as mig-parted has; here the vendor is. */
    uint32_t swapped = pci_id << 16 | pci_id >> 16;

    snprintf(text, sizeof(text), "0x%08X", swapped);
    weir_tree_foreach (each, list) {
        ptrdiff_t colon = weir_str_find_char(each->text, ':');

        if (weir_str_eq_nocase(weir_str_sub(each->text, 0,
                                            colon < 0 ? each->text.len : (size_t)colon),
                               weir_str(text)))
            return true;
    }
    return false;
}

static bool selects(const struct weir_server *server, const struct weir_tree *entry,
                    const struct weir_gpu_device *seen)
{
    const struct weir_tree *select = weir_tree_get(entry, "select");
    const struct weir_tree *index = weir_tree_get(select, "index");
    const struct weir_tree *node = weir_tree_get(select, "node");
    const struct weir_tree *class = weir_tree_get(select, "class");
    const struct weir_tree *uuid = weir_tree_get(select, "uuid");
    const struct weir_tree *pci_id = weir_tree_get(select, "pciId");

    return (index == NULL || has_index(index, seen->index)) &&
           (node == NULL ||
            has_text(node, seen->node.len > 0 ? seen->node : weir_str(server->node_name))) &&
           (class == NULL || has_class(class, seen->class)) &&
           (uuid == NULL || has_text(uuid, seen->uuid)) &&
           (pci_id == NULL || has_pci_id(pci_id, seen->pci_id));
}

const struct weir_tree *weir_setup_entry(const struct weir_server *server,
                                         const struct weir_tree *spec,
                                         const struct weir_gpu_device *seen)
{
    const struct weir_tree *entries = weir_tree_get(spec, "gpus");

    if (entries == NULL)
        return NULL;
    weir_tree_foreach (entry, entries)
        if (selects(server, entry, seen))
            return entry;
    return NULL;
}

static const struct weir_tree *entry_of(const struct weir_server *server,
                                        const struct weir_gpu_device *seen)
{
    if (server->setups == NULL)
        return NULL;
    for (size_t i = 0; i < server->setups->specs.n; i++) {
        const struct weir_tree *entry =
            weir_setup_entry(server, server->setups->specs.items[i], seen);

        if (entry != NULL)
            return entry;
    }
    return NULL;
}

/* ---- what is said of it ---- */

struct wanted {
    uint32_t mig;
    uint32_t sharing;
    uint32_t replicas;
    const struct weir_tree *counts; /* of instances; NULL: as jobs need them */
};

/* A profile that the device does not take is left out: the setup was made for others, too. */
static uint32_t find_offer(const struct weir_world *world, const struct weir_device *row,
                           struct weir_str name)
{
    for (uint32_t i = 0; i < weir_world_n_mig_offers(world, row); i++) {
        uint32_t profile = weir_world_mig_offer(world, row, i).profile;

        if (weir_str_eq(weir_world_mig_name(world, profile), name))
            return profile;
    }
    return WEIR_NONE;
}

static int intern_layout(struct weir_server *server, uint32_t device,
                         const struct weir_tree *counts, uint32_t *ret_layout, struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    uint32_t cells[2 * WEIR_RESOURCE_MAX];
    uint32_t n = 0;

    weir_tree_foreach (each, counts) {
        int64_t count = 0;
        uint32_t profile = find_offer(world, weir_world_device(world, device), each->key);

        if (!weir_str_to_i64(each->text, &count) || count <= 0 || count > WEIR_DEVICE_SLOTS_MAX ||
            n == 2 * WEIR_RESOURCE_MAX || profile == WEIR_NONE)
            continue;
        cells[n++] = profile;
        cells[n++] = (uint32_t)count;
    }
    if (n > 0 && weir_edit_span(server->edit, cells, n, ret_layout) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a setup");
    return 0;
}

static void read_entry(const struct weir_tree *entry, struct wanted *wanted)
{
    const struct weir_tree *mig = weir_tree_get(entry, "mig");
    const struct weir_tree *enabled = weir_tree_get(mig, "enabled");
    const struct weir_tree *devices = weir_tree_get(mig, "devices");
    const struct weir_tree *sharing = weir_tree_get(entry, "sharing");
    const struct weir_tree *replicas = weir_tree_get(entry, "replicas");
    int64_t n = 0;

    if (enabled != NULL)
        wanted->mig = weir_str_eq_c(enabled->text, "true") ? WEIR_MIG_ON : WEIR_MIG_OFF;
    else if (devices != NULL && devices->first != NULL)
        wanted->mig = WEIR_MIG_ON;
    if (wanted->mig == WEIR_MIG_ON)
        wanted->counts = devices;
    if (sharing != NULL && weir_sharing_from_name(sharing->text) >= 0)
        wanted->sharing = (uint32_t)weir_sharing_from_name(sharing->text);
    if (replicas != NULL && wanted->sharing == WEIR_SHARING_REPLICAS &&
        weir_str_to_i64(replicas->text, &n))
        wanted->replicas = (uint32_t)n;
}

/* What a device takes may depend on the mode that it is to be in. */
static int set_mode(struct weir_server *server, uint32_t device, const struct weir_gpu_device *seen,
                    uint32_t wanted, struct weir_err *err)
{
    struct weir_device *row;

    if (weir_world_device(weir_edit_view(server->edit), device)->mig_wanted == wanted)
        return 0;
    row = weir_edit_device(server->edit, device);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a setup");
    row->mig_wanted = wanted;
    server->dirty = true;
    return weir_server_observe_mode(server, device, seen, err);
}

int weir_setups_apply_to(struct weir_server *server, uint32_t device,
                         const struct weir_gpu_device *seen, struct weir_err *err)
{
    const struct weir_tree *entry = entry_of(server, seen);
    struct wanted wanted = {.sharing = WEIR_SHARING_BUDGETS};
    const struct weir_device *was = weir_world_device(weir_edit_view(server->edit), device);
    uint32_t layout = WEIR_NONE;
    struct weir_device *row;
    int r;

    if (seen->state != WEIR_GPU_READY) /* it may tell too little of itself */
        return 0;
    if (entry != NULL)
        read_entry(entry, &wanted);
    r = set_mode(server, device, seen, was->mig != WEIR_MIG_NONE ? wanted.mig : WEIR_MIG_NONE, err);
    if (r == 0 && wanted.counts != NULL)
        r = intern_layout(server, device, wanted.counts, &layout, err);
    if (r < 0)
        return r;
    was = weir_world_device(weir_edit_view(server->edit), device);
    if (was->layout == layout && was->sharing == wanted.sharing && was->replicas == wanted.replicas)
        return 0;
    row = weir_edit_device(server->edit, device);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a setup");
    row->layout = layout;
    row->sharing = wanted.sharing;
    row->replicas = wanted.replicas;
    server->dirty = true;
    return 0;
}

int weir_setups_apply(struct weir_server *server, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device *devices;
    uint32_t n = 0;
    int r = weir_known_list(server, &arena, &devices, &n, err);

    if (r < 0)
        return r == WEIR_E_NO_MEMORY ? r : 0;
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct weir_key key = weir_key_of_device(devices[i].uuid);
        uint32_t device = weir_edit_find(server->edit, WEIR_TABLE_DEVICES, &key);

        if (device != WEIR_NONE)
            r = weir_setups_apply_to(server, device, &devices[i], err);
    }
    return r;
}

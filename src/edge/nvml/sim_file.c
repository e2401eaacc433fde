#include "edge/nvml/sim_file.h"

#include "base/arena.h"
#include "base/char.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/tree.h"
#include "fmt/yaml.h"
#include "model/gpu_catalogue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

struct reader {
    struct weir_arena *arena;
    uint64_t seed;
    struct weir_sim_plan *plan;
    uint32_t cap_nodes;
    uint32_t cap_gpus;
    uint32_t cap_orders;
    struct weir_err *err;
};

static int no_memory(const struct reader *in)
{
    return weir_error(in->err, WEIR_E_NO_MEMORY, "no memory for the fleet");
}

static int check_keys(const struct weir_tree *object, const char *const *keys, size_t n,
                      struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];

    if (object->kind != WEIR_TREE_OBJECT)
        return weir_tree_error(object, err, "a mapping expected, not %s",
                               weir_tree_kind_name(object->kind));
    weir_tree_foreach (child, object) {
        size_t i = 0;

        while (i < n && !weir_str_eq_c(child->key, keys[i]))
            i++;
        if (i == n) {
            weir_tree_error(child, err, "there is no such field as '%s'",
                            weir_str_show(child->key, shown));
            return weir_error_at(err, child->key_line, child->key_column);
        }
    }
    return 0;
}

/* A short text of letters, digits and a few signs: it ends up in places where little more may
 * stand. Left out, it is empty. */
static int read_label(const struct weir_tree *node, const char *key, size_t room, char *ret_label,
                      struct weir_err *err)
{
    const struct weir_tree *at = weir_tree_get(node, key);
    struct weir_str text;
    int rc;

    ret_label[0] = '\0';
    if (at == NULL)
        return 0;
    rc = weir_tree_str(at, &text, err);
    if (rc < 0)
        return rc;
    if (text.len == 0 || text.len >= room)
        return weir_tree_error(at, err, "it has 1 to %zu characters", room - 1);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (!weir_char_is_letter(c) && !weir_char_is_digit(c) &&
            (i == 0 || (c != '-' && c != '.' && c != '_')))
            return weir_tree_error(
                at, err, "it has letters, digits, and after the first also '-', '.' and '_'");
    }
    snprintf(ret_label, room, "%.*s", WEIR_STR_ARG(text));
    return 0;
}

/* "8xH100", added to the node that was begun last. */
static int add_gpus(struct reader *in, const struct weir_tree *at)
{
    struct weir_fleet *fleet = &in->plan->fleet;
    struct weir_fleet_node *node = &fleet->nodes[fleet->n_nodes - 1];
    struct weir_fleet more;
    struct weir_str text;
    int rc = weir_tree_str(at, &text, in->err);

    if (rc == 0)
        rc = weir_fleet_parse(text, in->seed, in->arena, &more, in->err);
    if (rc < 0)
        return weir_tree_place(at, in->err);
    if (more.n_nodes != 1)
        return weir_tree_error(at, in->err,
                               "the GPUs of one node are like 8xH100; use 'count' for more nodes");
    if (node->n_gpus + more.n_gpus > WEIR_FLEET_GPUS_PER_NODE_MAX ||
        fleet->n_gpus + more.n_gpus > WEIR_FLEET_GPUS_MAX) {
        weir_error(in->err, WEIR_E_TOO_LARGE, "more than %d GPUs, or %d in one node",
                   WEIR_FLEET_GPUS_MAX, WEIR_FLEET_GPUS_PER_NODE_MAX);
        return weir_tree_place(at, in->err);
    }
    if (weir_arena_grow(in->arena, &fleet->gpus, &in->cap_gpus, fleet->n_gpus + more.n_gpus,
                        sizeof(fleet->gpus[0])) < 0)
        return no_memory(in);
    for (uint32_t i = 0; i < more.n_gpus; i++) {
        struct weir_fleet_gpu *gpu = &fleet->gpus[fleet->n_gpus++];

        *gpu = more.gpus[i];
        gpu->node = fleet->n_nodes - 1;
        gpu->pci_domain = gpu->node;
        gpu->pci_bus = (uint8_t)(8 + 3 * node->n_gpus);
        weir_fleet_identify(gpu, in->seed, node->name, node->n_gpus++);
    }
    return 0;
}

static int read_gpus(struct reader *in, const struct weir_tree *node)
{
    const struct weir_tree *gpus = weir_tree_get(node, "gpus");
    int rc = 0;

    if (gpus == NULL || (gpus->kind == WEIR_TREE_ARRAY && gpus->first == NULL))
        return weir_tree_error(gpus != NULL ? gpus : node, in->err,
                               "a node says what 'gpus' it has, like 8xH100");
    if (gpus->kind != WEIR_TREE_ARRAY)
        return add_gpus(in, gpus);
    for (const struct weir_tree *at = gpus->first; at != NULL && rc == 0; at = at->next)
        rc = add_gpus(in, at);
    return rc;
}

/* Is the order one for GPUs of the node that was begun last? Known before anything is made. */
static bool fits(const struct weir_fleet *fleet, const struct weir_sim_order *order)
{
    const struct weir_fleet_node *node = &fleet->nodes[fleet->n_nodes - 1];
    bool is_all = weir_str_eq_c(order->gpu, "all");
    uint64_t place = 0;

    if (!is_all && (!weir_str_to_u64(order->gpu, &place) || place >= node->n_gpus))
        return false;
    for (uint32_t i = 0; i < node->n_gpus; i++)
        if ((is_all || i == place) && order->fault.kind == WEIR_SIM_FAULT_POWER &&
            order->fault.amount > fleet->gpus[node->first_gpu + i].model->tdp_w * UINT64_C(1000))
            return false;
    return true;
}

static int read_fault(struct reader *in, const struct weir_tree *at, const char *node)
{
    struct weir_sim_plan *plan = in->plan;
    struct weir_sim_order *orders = NULL;
    struct weir_str text;
    size_t n;
    int rc = weir_tree_str(at, &text, in->err);

    if (rc == 0)
        rc = weir_sim_orders_parse(text, in->arena, &orders, &n, in->err);
    if (rc < 0)
        return weir_tree_place(at, in->err);
    if (n == 1 && !orders[0].is_reload && !fits(&plan->fleet, &orders[0]))
        return weir_tree_error(at, in->err, "the node has no such GPU, or that GPU no such limit");
    if (n != 1 || orders[0].is_reload || orders[0].after_ms != 0 || orders[0].node.len > 0)
        return weir_tree_error(at, in->err, "one fault of a GPU expected, like 'gpu 3 xid 79'");
    if (weir_arena_grow(in->arena, &plan->orders, &in->cap_orders, (uint32_t)plan->n_orders + 1,
                        sizeof(orders[0])) < 0)
        return no_memory(in);
    orders[0].node = weir_str(node);
    orders[0].line = at->line;
    orders[0].gpu_column = at->column;
    plan->orders[plan->n_orders++] = orders[0];
    return 0;
}

static int read_faults(struct reader *in, const struct weir_tree *node, const char *name)
{
    const struct weir_tree *faults = weir_tree_get(node, "faults");
    int rc = 0;

    if (faults == NULL)
        return 0;
    if (faults->kind != WEIR_TREE_ARRAY)
        return weir_tree_error(faults, in->err, "a list of faults expected, not %s",
                               weir_tree_kind_name(faults->kind));
    for (const struct weir_tree *at = faults->first; at != NULL && rc == 0; at = at->next)
        rc = read_fault(in, at, name);
    return rc;
}

/* One node more, like the one given but for its name. */
static int add_node(struct reader *in, const struct weir_tree *at,
                    const struct weir_fleet_node *like, int64_t number)
{
    struct weir_fleet *fleet = &in->plan->fleet;
    struct weir_fleet_node node = *like;
    const char *name;
    int rc;

    if (number > 0 && snprintf(node.name, sizeof(node.name), "%s-%" PRId64, like->name, number) >=
                          (int)sizeof(node.name))
        return weir_tree_error(at, in->err, "the name with its number is too long");
    for (uint32_t i = 0; i < fleet->n_nodes; i++)
        if (strcmp(fleet->nodes[i].name, node.name) == 0)
            return weir_tree_error(at, in->err, "two nodes are called '%s'", node.name);
    if (fleet->n_nodes == WEIR_FLEET_NODES_MAX) {
        weir_error(in->err, WEIR_E_TOO_LARGE, "more than %d nodes", WEIR_FLEET_NODES_MAX);
        return weir_tree_place(at, in->err);
    }
    if (weir_arena_grow(in->arena, &fleet->nodes, &in->cap_nodes, fleet->n_nodes + 1,
                        sizeof(node)) < 0)
        return no_memory(in);
    node.first_gpu = fleet->n_gpus;
    fleet->nodes[fleet->n_nodes++] = node;
    rc = read_gpus(in, at);
    if (rc < 0)
        return rc;
    name = weir_arena_strndup(in->arena, node.name, strlen(node.name));
    return name != NULL ? read_faults(in, at, name) : no_memory(in);
}

static int read_node(struct reader *in, const struct weir_tree *at)
{
    static const char *const keys[] = {"name", "count",      "gpus", "zone",
                                       "rack", "linkDomain", "mig",  "faults"};
    const struct weir_tree *count_at;
    struct weir_fleet_node node = {.n_gpus = 0};
    int64_t count = 0;
    int rc = check_keys(at, keys, WEIR_COUNT_OF(keys), in->err);

    if (rc == 0)
        rc = read_label(at, "name", sizeof(node.name), node.name, in->err);
    if (rc == 0 && node.name[0] == '\0')
        rc = weir_tree_error(at, in->err, "a node has a 'name'");
    if (rc == 0)
        rc = read_label(at, "zone", sizeof(node.zone), node.zone, in->err);
    if (rc == 0)
        rc = read_label(at, "rack", sizeof(node.rack), node.rack, in->err);
    if (rc == 0)
        rc = read_label(at, "linkDomain", sizeof(node.link_domain), node.link_domain, in->err);
    if (rc == 0 && weir_tree_get(at, "mig") != NULL)
        rc = weir_tree_bool(weir_tree_get(at, "mig"), &node.mig, in->err);
    count_at = weir_tree_get(at, "count");
    if (rc == 0 && count_at != NULL)
        rc = weir_tree_i64(count_at, 1, WEIR_FLEET_NODES_MAX, &count, in->err);
    if (rc == 0 && count == 0)
        return add_node(in, at, &node, 0);
    for (int64_t number = 1; number <= count && rc == 0; number++)
        rc = add_node(in, at, &node, number);
    return rc;
}

static int read_document(struct reader *in, const struct weir_tree *root)
{
    static const char *const keys[] = {"nodes"};
    const struct weir_tree *nodes;
    int rc = check_keys(root, keys, 1, in->err);

    if (rc < 0)
        return rc;
    nodes = weir_tree_get(root, "nodes");
    if (nodes == NULL || nodes->kind != WEIR_TREE_ARRAY || nodes->first == NULL)
        return weir_tree_error(nodes != NULL ? nodes : root, in->err,
                               "'nodes' is a list of at least one node");
    for (const struct weir_tree *at = nodes->first; at != NULL && rc == 0; at = at->next)
        rc = read_node(in, at);
    return rc;
}

static int read_yaml(const char *path, struct reader *in)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_SIM_FILE_BYTES_MAX);
    weir_cleanup_fd int fd = weir_fd_open_file(AT_FDCWD, path, 0, in->err);
    const struct weir_tree *root;
    int rc;

    if (fd < 0)
        return weir_error_wrap(in->err, "fleet '%s'", path);
    if (weir_fd_read_all(fd, &text) < 0)
        return weir_error_errno(in->err, errno, "read '%s'", path);
    rc = weir_buf_check(&text, path, in->err);
    if (rc == 0)
        rc = weir_yaml_read_one(weir_buf_view(&text), WEIR_SIM_FILE_BYTES_MAX, in->arena, &root,
                                in->err);
    if (rc == 0)
        rc = read_document(in, root);
    if (rc < 0 && in->err != NULL && in->err->line > 0)
        return weir_error_wrap(in->err, "fleet '%s', line %" PRIu32 " column %" PRIu32, path,
                               in->err->line, in->err->column);
    return rc < 0 ? weir_error_wrap(in->err, "fleet '%s'", path) : rc;
}

int weir_sim_file_read(struct weir_str spec, uint64_t seed, struct weir_arena *arena,
                       struct weir_sim_plan *ret_plan, struct weir_err *err)
{
    struct weir_sim_plan plan = {.n_orders = 0};
    struct reader in = {.arena = arena, .seed = seed, .plan = &plan, .err = err};
    const char *path;
    int rc;

    if (!weir_str_ends_with(spec, WEIR_STR(".yaml")) &&
        !weir_str_ends_with(spec, WEIR_STR(".yml"))) {
        rc = weir_fleet_parse(spec, seed, arena, &plan.fleet, err);
    } else {
        path = weir_str_dup(spec, arena);
        rc = path != NULL ? read_yaml(path, &in) : no_memory(&in);
    }
    if (rc == 0)
        *ret_plan = plan;
    return rc;
}

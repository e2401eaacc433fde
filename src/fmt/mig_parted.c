#include "fmt/mig_parted.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"

#include <inttypes.h>

enum { NAMES_MAX = 256, HINT_MAX = 200, INDEX_MAX = 1023, COUNT_MAX = 16 };

struct reading {
    struct weir_arena *arena;
    struct weir_err *err;
};

bool weir_mig_parted_is(const struct weir_tree *doc)
{
    return doc != NULL && weir_tree_get(doc, "mig-configs") != NULL;
}

/* ---- writing ---- */

/* A node where the file says what it stands for. */
static struct weir_tree *add(struct reading *in, struct weir_tree *parent, enum weir_tree_kind kind,
                             const char *key, const struct weir_tree *from)
{
    struct weir_tree *node = weir_tree_add(parent, kind, weir_str(key), in->arena);

    if (node == NULL) {
        weir_error(in->err, WEIR_E_NO_MEMORY, "no memory for a setup");
        return NULL;
    }
    node->line = from->line;
    node->column = from->column;
    node->key_line = from->key_line;
    node->key_column = from->key_column;
    node->text = from->text;
    return node;
}

static int add_text(struct reading *in, struct weir_tree *parent, const char *key, const char *text,
                    const struct weir_tree *from)
{
    struct weir_tree *node = add(in, parent, WEIR_TREE_STRING, key, from);

    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    node->text = weir_str(text);
    return 0;
}

/* ---- one entry ---- */

static int check_keys(const struct weir_tree *node, const char *const *known, size_t n_known,
                      struct weir_err *err)
{
    struct weir_str names[8];

    weir_tree_foreach (each, node) {
        size_t i = 0;
        ptrdiff_t near;

        while (i < n_known && !weir_str_eq_c(each->key, known[i]))
            i++;
        if (i < n_known)
            continue;
        for (i = 0; i < n_known && i < WEIR_COUNT_OF(names); i++)
            names[i] = weir_str(known[i]);
        near = weir_str_nearest(each->key, names, i);
        weir_tree_error(each, err, "mig-parted knows no field '%.*s'", WEIR_STR_ARG(each->key));
        return near >= 0 ? weir_error_hint(err, "did you mean '%s'?", known[near])
                         : weir_error_code(err);
    }
    return 0;
}

/* all, or a list of numbers. */
static int read_devices(struct reading *in, const struct weir_tree *entry, struct weir_tree *select)
{
    const struct weir_tree *devices = weir_tree_get(entry, "devices");
    struct weir_tree *list;

    if (devices == NULL)
        return weir_tree_error(entry, in->err, "devices is missing: all, or a list of numbers");
    if (devices->kind == WEIR_TREE_STRING && weir_str_eq_c(devices->text, "all"))
        return 0;
    if (devices->kind != WEIR_TREE_ARRAY || devices->first == NULL)
        return weir_tree_error(devices, in->err, "neither all nor a list of numbers");
    list = add(in, select, WEIR_TREE_ARRAY, "index", devices);
    if (list == NULL)
        return WEIR_E_NO_MEMORY;
    weir_tree_foreach (each, devices) {
        int64_t index;

        if (weir_tree_i64(each, 0, INDEX_MAX, &index, in->err) < 0)
            return weir_error_code(in->err);
        if (add(in, list, WEIR_TREE_NUMBER, "", each) == NULL)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static bool is_hex(struct weir_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (weir_str_find_char(WEIR_STR("0123456789abcdefABCDEF"), text.ptr[i]) < 0)
            return false;
    return text.len == 8;
}

/* "0x20B210DE", or with a subsystem behind a colon. */
static bool is_filter(struct weir_str text)
{
    struct weir_str part;

    while (weir_str_split(&text, ':', &part)) {
        if (!weir_str_starts_with(part, WEIR_STR("0x")) &&
            !weir_str_starts_with(part, WEIR_STR("0X")))
            return false;
        if (!is_hex(weir_str_sub(part, 2, part.len)))
            return false;
    }
    return true;
}

/* YAML takes 0x20B210DE for a number where it is not quoted. What cannot be one of these stays. */
static int written_out(struct reading *in, const struct weir_tree *filter, struct weir_str *ret)
{
    uint64_t value;
    const char *text;

    *ret = filter->text;
    if (!weir_str_to_u64(filter->text, &value) || value >> 16 == 0 || value > UINT32_MAX)
        return 0;
    text = weir_arena_printf(in->arena, "0x%08" PRIX64, value);
    if (text == NULL)
        return weir_error(in->err, WEIR_E_NO_MEMORY, "no memory for a setup");
    *ret = weir_str(text);
    return 0;
}

static int add_filter(struct reading *in, const struct weir_tree *filter, struct weir_tree *list)
{
    struct weir_str text = filter->text;
    struct weir_tree *node;

    if (filter->kind == WEIR_TREE_NUMBER && written_out(in, filter, &text) < 0)
        return WEIR_E_NO_MEMORY;
    if (text.len == 0 || !is_filter(text)) {
        weir_tree_error(filter, in->err, "'%.*s' is no device-filter", WEIR_STR_ARG(filter->text));
        return weir_error_hint(in->err, "write it like 0x20B210DE: device and vendor");
    }
    node = add(in, list, WEIR_TREE_STRING, "", filter);
    if (node == NULL)
        return WEIR_E_NO_MEMORY;
    node->text = text;
    return 0;
}

static int read_filter(struct reading *in, const struct weir_tree *entry, struct weir_tree *select)
{
    const struct weir_tree *filter = weir_tree_get(entry, "device-filter");
    struct weir_tree *list;
    int r = 0;

    if (filter == NULL || (filter->kind != WEIR_TREE_ARRAY && filter->text.len == 0) ||
        (filter->kind == WEIR_TREE_ARRAY && filter->first == NULL))
        return 0;
    list = add(in, select, WEIR_TREE_ARRAY, "pciId", filter);
    if (list == NULL)
        return WEIR_E_NO_MEMORY;
    list->text = WEIR_STR("");
    if (filter->kind != WEIR_TREE_ARRAY)
        return add_filter(in, filter, list);
    for (const struct weir_tree *each = filter->first; r == 0 && each != NULL; each = each->next)
        r = add_filter(in, each, list);
    return r;
}

static int read_instances(struct reading *in, const struct weir_tree *entry, bool is_enabled,
                          struct weir_tree *mig)
{
    const struct weir_tree *devices = weir_tree_get(entry, "mig-devices");
    struct weir_tree *counts;
    int64_t sum = 0;

    if (devices == NULL || devices->kind == WEIR_TREE_NULL)
        return is_enabled ? weir_tree_error(entry, in->err,
                                            "mig-devices is missing, where mig-enabled is true")
                          : 0;
    if (devices->kind != WEIR_TREE_OBJECT)
        return weir_tree_error(devices, in->err, "no numbers of instances by profile");
    if (devices->first == NULL)
        return 0;
    if (!is_enabled)
        return weir_tree_error(devices, in->err, "instances, where mig-enabled is false");
    counts = add(in, mig, WEIR_TREE_OBJECT, "devices", devices);
    if (counts == NULL)
        return WEIR_E_NO_MEMORY;
    weir_tree_foreach (each, devices) {
        struct weir_tree *count;
        int64_t n;

        if (weir_tree_i64(each, 0, COUNT_MAX, &n, in->err) < 0)
            return weir_error_code(in->err);
        sum += n;
        count = add(in, counts, WEIR_TREE_NUMBER, "", each);
        if (count == NULL)
            return WEIR_E_NO_MEMORY;
        count->key = each->key;
    }
    return sum > 0 ? 0 : weir_tree_error(devices, in->err, "every count is 0");
}

static int read_entry(struct reading *in, const struct weir_tree *entry, struct weir_tree *list)
{
    static const char *const known[] = {"device-filter", "devices", "mig-enabled", "mig-devices"};
    const struct weir_tree *enabled = weir_tree_get(entry, "mig-enabled");
    struct weir_tree *to;
    struct weir_tree *select;
    struct weir_tree *mig;
    bool is_enabled = false;
    int r;

    if (entry->kind != WEIR_TREE_OBJECT)
        return weir_tree_error(entry, in->err, "an entry with devices and mig-enabled expected");
    r = check_keys(entry, known, WEIR_COUNT_OF(known), in->err);
    if (r < 0)
        return r;
    if (enabled == NULL)
        return weir_tree_error(entry, in->err, "mig-enabled is missing");
    if (weir_tree_bool(enabled, &is_enabled, in->err) < 0)
        return weir_error_code(in->err);
    to = add(in, list, WEIR_TREE_OBJECT, "", entry);
    select = to != NULL ? add(in, to, WEIR_TREE_OBJECT, "select", entry) : NULL;
    mig = select != NULL ? add(in, to, WEIR_TREE_OBJECT, "mig", entry) : NULL;
    if (mig == NULL || add(in, mig, WEIR_TREE_BOOL, "enabled", enabled) == NULL)
        return WEIR_E_NO_MEMORY;
    r = read_devices(in, entry, select);
    if (r == 0)
        r = read_filter(in, entry, select);
    return r < 0 ? r : read_instances(in, entry, is_enabled, mig);
}

/* ---- a configuration ---- */

/* A number in two lists that no filter keeps apart. */
static int check_twice(const struct weir_tree *entries, struct weir_err *err)
{
    weir_tree_foreach (a, entries) {
        for (const struct weir_tree *b = entries->first; b != a; b = b->next) {
            const struct weir_tree *list = weir_tree_get(a, "devices");
            const struct weir_tree *before = weir_tree_get(b, "devices");

            if (weir_tree_get(a, "device-filter") != NULL ||
                weir_tree_get(b, "device-filter") != NULL || list->kind != WEIR_TREE_ARRAY ||
                before->kind != WEIR_TREE_ARRAY)
                continue;
            weir_tree_foreach (one, list)
                weir_tree_foreach (other, before)
                    if (weir_str_eq(one->text, other->text))
                        return weir_tree_error(one, err, "GPU %.*s is in two entries",
                                               WEIR_STR_ARG(one->text));
        }
    }
    return 0;
}

static int no_config(const struct weir_tree *configs, struct weir_str config, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf list = WEIR_BUF_INIT(HINT_MAX);
    struct weir_str names[NAMES_MAX];
    size_t n = 0;
    size_t shown = 0;
    ptrdiff_t near;

    weir_tree_foreach (each, configs) {
        if (n < NAMES_MAX)
            names[n++] = each->key;
        if (list.len + each->key.len + 16 < HINT_MAX) {
            weir_buf_printf(&list, "%s%.*s", shown > 0 ? ", " : "", WEIR_STR_ARG(each->key));
            shown++;
        }
    }
    if (shown < configs->n_children)
        weir_buf_printf(&list, " and more");
    if (config.len == 0) {
        weir_tree_error(configs, err, "which of its %u configurations is meant",
                        configs->n_children);
        return weir_error_hint(err, "--mig-config NAME: %s", weir_buf_cstr(&list));
    }
    near = weir_str_nearest(config, names, n);
    weir_tree_error(configs, err, "there is no configuration '%.*s'", WEIR_STR_ARG(config));
    if (near >= 0)
        return weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[near]));
    return weir_error_hint(err, "there are: %s", weir_buf_cstr(&list));
}

static int find_config(const struct weir_tree *doc, struct weir_str config,
                       const struct weir_tree **ret_entries, struct weir_err *err)
{
    static const char *const known[] = {"version", "mig-configs"};
    const struct weir_tree *version = weir_tree_get(doc, "version");
    const struct weir_tree *configs = weir_tree_get(doc, "mig-configs");
    int r = check_keys(doc, known, WEIR_COUNT_OF(known), err);

    if (r < 0)
        return r;
    if (version == NULL || !weir_str_eq_c(version->text, "v1"))
        return weir_tree_error(version != NULL ? version : doc, err,
                               "a mig-parted file of version v1 expected");
    if (configs->kind != WEIR_TREE_OBJECT || configs->first == NULL)
        return weir_tree_error(configs, err, "there is no configuration in it");
    *ret_entries = NULL;
    weir_tree_foreach (each, configs)
        if (config.len > 0 ? weir_str_eq(each->key, config) : configs->n_children == 1)
            *ret_entries = each;
    if (*ret_entries == NULL)
        return no_config(configs, config, err);
    if ((*ret_entries)->kind != WEIR_TREE_ARRAY || (*ret_entries)->first == NULL)
        return weir_tree_error(*ret_entries, err, "a list of entries expected");
    return 0;
}

int weir_mig_parted_read(const struct weir_tree *doc, struct weir_str config,
                         struct weir_arena *arena, const struct weir_tree **ret_setup,
                         struct weir_err *err)
{
    struct reading in = {arena, err};
    const struct weir_tree *entries = NULL;
    struct weir_tree *setup;
    struct weir_tree *metadata;
    struct weir_tree *spec;
    struct weir_tree *list;
    int r = find_config(doc, config, &entries, err);

    if (r < 0)
        return r;
    setup = add(&in, NULL, WEIR_TREE_OBJECT, "", doc);
    if (setup == NULL || add_text(&in, setup, "apiVersion", "weir.dev/v1", doc) < 0 ||
        add_text(&in, setup, "kind", "GpuSetup", doc) < 0)
        return weir_error_code(err);
    metadata = add(&in, setup, WEIR_TREE_OBJECT, "metadata", doc);
    if (metadata == NULL || add_text(&in, metadata, "name", WEIR_MIG_PARTED_SETUP, doc) < 0)
        return weir_error_code(err);
    spec = add(&in, setup, WEIR_TREE_OBJECT, "spec", entries);
    list = spec != NULL ? add(&in, spec, WEIR_TREE_ARRAY, "gpus", entries) : NULL;
    if (list == NULL)
        return weir_error_code(err);
    for (const struct weir_tree *entry = entries->first; r == 0 && entry != NULL;
         entry = entry->next)
        r = read_entry(&in, entry, list);
    if (r == 0)
        r = check_twice(entries, err);
    if (r == 0)
        *ret_setup = setup;
    return r;
}

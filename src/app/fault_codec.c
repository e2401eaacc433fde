#include "app/fault_codec.h"

#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"

#include <string.h>

static const char *const kinds[WEIR_FAULT_KIND_MAX] = {
    [WEIR_FAULT_NONE] = "none",
    [WEIR_FAULT_XID] = "xid",
    [WEIR_FAULT_SXID] = "sxid",
    [WEIR_FAULT_SXID_DETAIL] = "sxid-detail",
    [WEIR_FAULT_LOST] = "lost",
    [WEIR_FAULT_LOST_HEAD] = "lost-head",
    [WEIR_FAULT_LOST_TAIL] = "lost-tail",
    [WEIR_FAULT_UNSUPPORTED] = "unsupported",
    [WEIR_FAULT_INIT_FAILED] = "init-failed",
    [WEIR_FAULT_MARKED_FOR_RESET] = "marked-for-reset",
    [WEIR_FAULT_RESET_REQUIRED] = "reset-required",
    [WEIR_FAULT_RECOVERY] = "recovery",
    [WEIR_FAULT_VERSION_MISMATCH] = "version-mismatch",
    [WEIR_FAULT_NO_PROBE] = "no-probe",
    [WEIR_FAULT_LINK_SETUP] = "link-setup",
    [WEIR_FAULT_POWER_MISSING] = "power-missing",
    [WEIR_FAULT_CONTAINER] = "container",
    [WEIR_FAULT_COUNT] = "count",
    [WEIR_FAULT_AER] = "aer",
    [WEIR_FAULT_AER_DETAIL] = "aer-detail",
    [WEIR_FAULT_FABRIC_MANAGER] = "fabric-manager",
    [WEIR_FAULT_NIC_POWER] = "nic-power",
    [WEIR_FAULT_NIC_FAILED] = "nic-failed",
    [WEIR_FAULT_NIC_CABLE] = "nic-cable",
    [WEIR_FAULT_NIC_PORT] = "nic-port",
    [WEIR_FAULT_NIC_NOISE] = "nic-noise",
    [WEIR_FAULT_PEER_MEMORY] = "peer-memory",
    [WEIR_FAULT_NCCL] = "nccl",
};

static const char *const severities[WEIR_FAULT_SEVERITY_MAX] = {
    [WEIR_FAULT_SEVERITY_UNKNOWN] = "unknown",
    [WEIR_FAULT_SEVERITY_CORRECTED] = "corrected",
    [WEIR_FAULT_SEVERITY_NONFATAL] = "nonfatal",
    [WEIR_FAULT_SEVERITY_FATAL] = "fatal",
};

/* The numbers of an event, under their names. */
struct numbers {
    int64_t domain, bus, device, function;
    int64_t recovery;
    int64_t wants_reset, wants_drain;
    int64_t code, caused_by;
    int64_t pid, user;
    int64_t gpu_instance, link, gpc, tpc;
};

static const struct {
    const char *name;
    size_t at;
    int64_t min, max, otherwise;
} fields[] = {
    {"domain", offsetof(struct numbers, domain), 0, UINT32_MAX, -1},
    {"bus", offsetof(struct numbers, bus), 0, 255, -1},
    {"device", offsetof(struct numbers, device), 0, 255, -1},
    {"function", offsetof(struct numbers, function), 0, 255, 0},
    {"recovery", offsetof(struct numbers, recovery), 0, 255, WEIR_FAULT_RECOVERY_ABSENT},
    {"wants_reset", offsetof(struct numbers, wants_reset), 0, 1, 0},
    {"wants_drain", offsetof(struct numbers, wants_drain), 0, 1, 0},
    {"code", offsetof(struct numbers, code), 0, UINT32_MAX, 0},
    {"caused_by", offsetof(struct numbers, caused_by), 0, UINT32_MAX, 0},
    {"pid", offsetof(struct numbers, pid), 0, INT64_MAX, -1},
    {"user", offsetof(struct numbers, user), 0, INT64_MAX, 0},
    {"gpu_instance", offsetof(struct numbers, gpu_instance), 0, INT32_MAX, -1},
    {"link", offsetof(struct numbers, link), 0, INT32_MAX, -1},
    {"gpc", offsetof(struct numbers, gpc), 0, INT32_MAX, -1},
    {"tpc", offsetof(struct numbers, tpc), 0, INT32_MAX, -1},
};

static int64_t *number(struct numbers *numbers, size_t field)
{
    return (int64_t *)((char *)numbers + fields[field].at);
}

static struct numbers numbers_of(const struct weir_fault_event *e)
{
    return (struct numbers){
        .domain = e->device.is_known ? (int64_t)e->device.domain : -1,
        .bus = e->device.is_known ? e->device.bus : -1,
        .device = e->device.is_known ? e->device.device : -1,
        .function = e->device.function,
        .recovery = e->recovery,
        .wants_reset = e->wants_reset,
        .wants_drain = e->wants_drain,
        .code = e->code,
        .caused_by = e->caused_by,
        .pid = e->pid,
        .user = (int64_t)e->user,
        .gpu_instance = e->gpu_instance,
        .link = e->link,
        .gpc = e->gpc,
        .tpc = e->tpc,
    };
}

static void put_text(struct weir_json_writer *w, const char *key, struct weir_str text)
{
    if (text.len == 0)
        return;
    weir_json_key(w, key);
    weir_json_str(w, text);
}

int weir_fault_encode(const struct weir_fault_event *event, struct weir_buf *out,
                      struct weir_err *err)
{
    struct numbers numbers = numbers_of(event);
    struct weir_json_writer w;

    weir_json_writer_init(&w, out, false);
    weir_json_object_begin(&w);
    put_text(&w, "kind", weir_str(kinds[event->kind]));
    put_text(&w, "severity", weir_str(severities[event->severity]));
    for (size_t i = 0; i < WEIR_COUNT_OF(fields); i++) {
        if (*number(&numbers, i) == fields[i].otherwise)
            continue;
        weir_json_key(&w, fields[i].name);
        weir_json_i64(&w, *number(&numbers, i));
    }
    weir_json_key(&w, "words");
    weir_json_array_begin(&w);
    for (uint32_t i = 0; i < event->n_words; i++)
        weir_json_u64(&w, event->words[i]);
    weir_json_array_end(&w);
    put_text(&w, "unit", event->unit);
    put_text(&w, "text", event->text);
    weir_json_object_end(&w);
    return weir_json_writer_end(&w, "a fault", err);
}

static int find(const struct weir_tree *doc, const char *key, const char *const *names, size_t n,
                uint8_t *ret, struct weir_err *err)
{
    const struct weir_tree *node = weir_tree_get(doc, key);

    for (size_t i = 0; node != NULL && i < n; i++) {
        if (!weir_str_eq_c(node->text, names[i]))
            continue;
        *ret = (uint8_t)i;
        return 0;
    }
    return weir_error(err, WEIR_E_UNSUPPORTED, "a stored fault is of no known %s", key);
}

static int read_words(const struct weir_tree *words, struct weir_fault_event *event,
                      struct weir_err *err)
{
    weir_tree_foreach (word, words) {
        int64_t value = 0;
        int r = event->n_words == WEIR_FAULT_WORDS_MAX
                    ? weir_tree_error(word, err, "too many registers")
                    : weir_tree_i64(word, 0, UINT32_MAX, &value, err);

        if (r < 0)
            return r;
        event->words[event->n_words++] = (uint32_t)value;
    }
    return 0;
}

static struct weir_str text_of(const struct weir_tree *doc, const char *key)
{
    const struct weir_tree *node = weir_tree_get(doc, key);

    return node != NULL ? node->text : WEIR_STR("");
}

static void take_numbers(const struct numbers *n, struct weir_fault_event *e)
{
    e->device.is_known = n->domain >= 0 && n->bus >= 0 && n->device >= 0;
    if (e->device.is_known) {
        e->device.domain = (uint32_t)n->domain;
        e->device.bus = (uint8_t)n->bus;
        e->device.device = (uint8_t)n->device;
    }
    e->device.function = (uint8_t)n->function;
    e->recovery = (uint8_t)n->recovery;
    e->wants_reset = n->wants_reset != 0;
    e->wants_drain = n->wants_drain != 0;
    e->code = (uint32_t)n->code;
    e->caused_by = (uint32_t)n->caused_by;
    e->pid = n->pid;
    e->user = (uint64_t)n->user;
    e->gpu_instance = (int32_t)n->gpu_instance;
    e->link = (int32_t)n->link;
    e->gpc = (int32_t)n->gpc;
    e->tpc = (int32_t)n->tpc;
}

int weir_fault_decode(struct weir_str text, struct weir_arena *arena,
                      struct weir_fault_event *ret_event, struct weir_err *err)
{
    struct weir_fault_event event = {.origin = WEIR_FAULT_ORIGIN_KERNEL};
    struct numbers numbers;
    struct weir_tree *doc;
    int r = weir_json_read(text, NULL, arena, &doc, err);

    if (r == 0)
        r = find(doc, "kind", kinds, WEIR_COUNT_OF(kinds), &event.kind, err);
    if (r == 0)
        r = find(doc, "severity", severities, WEIR_COUNT_OF(severities), &event.severity, err);
    for (size_t i = 0; r == 0 && i < WEIR_COUNT_OF(fields); i++) {
        const struct weir_tree *node = weir_tree_get(doc, fields[i].name);

        *number(&numbers, i) = fields[i].otherwise;
        if (node != NULL)
            r = weir_tree_i64(node, fields[i].min, fields[i].max, number(&numbers, i), err);
    }
    if (r == 0 && weir_tree_get(doc, "words") != NULL)
        r = read_words(weir_tree_get(doc, "words"), &event, err);
    if (r < 0)
        return r;
    take_numbers(&numbers, &event);
    event.unit = text_of(doc, "unit");
    event.text = text_of(doc, "text");
    *ret_event = event;
    return 0;
}

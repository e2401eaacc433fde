/* Reasons, and what would help, as sentences. */
#include "base/count.h"
#include "base/err.h"
#include "base/units.h"
#include "edge/api/words.h"
#include "fmt/quantity.h"

#include <string.h>

enum { HOLDERS_SHOWN = 3, ENDS_SHOWN = 8, BEFORE_SHOWN = 3 };

/* ---- reasons ---- */

/* {isolation} that it or its queue demands; {need} and {have}: amounts of the resource, or
 * {need-count} and {have-count} of things; {held} and {limit} of the queue; {resource}; {time} not
 * before. */
struct phrase {
    const char *alone;   /* of the workload, its queue, its gang */
    const char *nodes;   /* after "3 of 5 "; NULL: alone */
    const char *devices; /* after "3 of 5 " */
};

static const struct phrase phrases[WEIR_REASON_CODE_MAX] = {
    [WEIR_REASON_NONE] = {"ok", "fit", "fit"},
    [WEIR_REASON_PRIORITY] = {"it fits, but others come first",
                              "are taken by workloads that come first",
                              "go to workloads that come first"},
    [WEIR_REASON_RESOURCES] = {"not enough free {resource} anywhere",
                               "have too few free {resource}", "have too little free"},
    [WEIR_REASON_QUEUE_LIMIT] = {"its limit of {limit} is reached ({held} held, {need} more asked "
                                 "for)",
                                 NULL, NULL},
    [WEIR_REASON_PARENT_LIMIT] = {"the limit of {limit} further up is reached ({held} held, {need} "
                                  "more asked for)",
                                  NULL, NULL},
    [WEIR_REASON_GANG] = {"{have-count} of {need-count} members fit at the same time", NULL, NULL},
    [WEIR_REASON_TOPOLOGY] = {"nowhere do all members fit as close together as asked for",
                              "are in a domain that is too small", NULL},
    [WEIR_REASON_GPU_CLASS] = {"no GPU of the model asked for", "have GPUs of another model",
                               "are of another model"},
    [WEIR_REASON_GPU_MEMORY] = {"no GPU with enough memory", "have GPUs with too little memory",
                                "have too little memory"},
    [WEIR_REASON_ISOLATION] = {"no GPU can be shared with {isolation}",
                               "have no GPU that can be shared with {isolation}",
                               "are not to be shared with {isolation}"},
    [WEIR_REASON_NODE_CORDONED] = {"the node is cordoned", "are cordoned", "are on cordoned nodes"},
    [WEIR_REASON_NODE_DRAINING] = {"the node is draining", "are draining", "are on draining nodes"},
    [WEIR_REASON_NODE_NOT_READY] = {"the node is not ready", "are not ready",
                                    "are on nodes that are not ready"},
    [WEIR_REASON_DEVICE_UNHEALTHY] = {"the GPU is unhealthy", "have unhealthy GPUs",
                                      "are unhealthy"},
    [WEIR_REASON_DEVICE_CORDONED] = {"the GPU is cordoned", "have cordoned GPUs", "are cordoned"},
    [WEIR_REASON_DEVICE_FOREIGN] = {"the GPU is in use by processes weir did not start",
                                    "have GPUs in use by processes weir did not start",
                                    "are in use by processes weir did not start"},
    [WEIR_REASON_DEVICE_BUSY] = {"the GPUs are held by other workloads",
                                 "have their GPUs held by other workloads",
                                 "are held by other workloads"},
    [WEIR_REASON_DEVICE_FULL] = {"no GPU has that much memory left",
                                 "have too little GPU memory left", "have too little memory left"},
    [WEIR_REASON_MIG_MODE] = {"no GPU is in the MIG mode that it needs",
                              "have GPUs in the other MIG mode", "are in the other MIG mode"},
    [WEIR_REASON_RESHAPING] = {"a GPU is being made ready for it", "have GPUs that are made ready",
                               "are being made ready"},
    [WEIR_REASON_CPU] = {"not enough free CPUs", "have too few free CPUs",
                         "are on nodes with too few free CPUs"},
    [WEIR_REASON_MEMORY] = {"not enough free memory", "have too little free memory",
                            "are on nodes with too little free memory"},
    [WEIR_REASON_LABELS] = {"no node has the labels asked for", "lack the labels asked for",
                            "are on nodes without the labels asked for"},
    [WEIR_REASON_BEGIN_TIME] = {"not before {time}", NULL, NULL},
    [WEIR_REASON_BACKOFF] = {"waits until {time} after a failure", NULL, NULL},
    [WEIR_REASON_HELD] = {"held until it is released", NULL, NULL},
    [WEIR_REASON_EVICTING] = {"room is being made: what is in the way is stopping",
                              "are being made free: what runs there is stopping",
                              "are being made free: what runs there is stopping"},
    [WEIR_REASON_RESERVED] = {"what is free is kept for a workload before it",
                              "are kept for a workload before it",
                              "are kept for a workload before it"},
    [WEIR_REASON_ALL_RUNNING] = {"as many of its tasks run as may; the rest waits its turn", NULL,
                                 NULL},
    [WEIR_REASON_MISCONFIGURED] = {"it can never run as the fleet is now",
                                   "can never run it as they are", "can never run it as they are"},
};

static int64_t not_before(const struct weir_words *words)
{
    const struct weir_workload *w = weir_world_workload(words->world, words->workload);
    int64_t earliest = INT64_MAX;

    if (words->until_wall_ms > 0)
        return words->until_wall_ms;
    if (w->not_before_wall_ms > words->now_wall_ms)
        return w->not_before_wall_ms;
    for (uint32_t t = w->first_task; t != WEIR_NONE;) {
        const struct weir_task *task = weir_world_task(words->world, t);

        if (task->state == WEIR_TASK_QUEUED && task->not_before_wall_ms > 0 &&
            task->not_before_wall_ms < earliest)
            earliest = task->not_before_wall_ms;
        t = task->next_in_workload;
    }
    return earliest == INT64_MAX ? w->not_before_wall_ms : earliest;
}

static const struct weir_queue *queue_of(const struct weir_words *words,
                                         const struct weir_reason *reason)
{
    if (reason->subject_kind == WEIR_SUBJECT_QUEUE && reason->subject != WEIR_NONE)
        return weir_world_queue(words->world, reason->subject);
    return weir_world_queue(words->world,
                            weir_world_workload(words->world, words->workload)->queue);
}

/* "isolation hardware, which queue prod demands" */
static void put_isolation(const struct weir_words *words, struct weir_buf *out)
{
    const struct weir_world *world = words->world;
    const struct weir_workload *job = weir_world_workload(world, words->workload);
    uint32_t own =
        weir_world_shape(world, weir_world_role(world, job->first_role)->shape)->isolation;
    uint32_t of_queue = weir_world_queue_isolation(world, job->queue);
    uint32_t queue = job->queue;

    weir_buf_printf(out, "isolation %s",
                    weir_isolation_name((enum weir_isolation)(own > of_queue ? own : of_queue)));
    if (own >= of_queue)
        return;
    while (weir_world_queue(world, queue)->isolation != of_queue)
        queue = weir_world_queue(world, queue)->parent;
    weir_buf_printf(out, ", which queue %.*s demands",
                    WEIR_STR_ARG(weir_world_string(world, weir_world_queue(world, queue)->name)));
}

/* What it asks for of each task where that is a part of a GPU; else NULL. */
static const struct weir_shape *part_of(const struct weir_words *words)
{
    const struct weir_workload *job = weir_world_workload(words->world, words->workload);
    const struct weir_shape *shape =
        weir_world_shape(words->world, weir_world_role(words->world, job->first_role)->shape);

    return shape->n_devices > 0 && shape->device_mgpu < WEIR_MGPU_PER_GPU ? shape : NULL;
}

static void put_part(const struct weir_shape *shape, struct weir_buf *out)
{
    if (shape->device_memory_bytes > 0) {
        weir_quantity_format_bytes(shape->device_memory_bytes, out);
        weir_buf_puts(out, " of GPU memory");
        return;
    }
    weir_units_format_mgpu(shape->device_mgpu, out);
    weir_buf_puts(out, " of a GPU");
}

/* As it was asked for, and what that counts as. */
static void put_need(const struct weir_words *words, uint32_t resource, int64_t need,
                     struct weir_buf *out)
{
    uint32_t kind = weir_world_resource(words->world, resource)->kind;
    const struct weir_shape *part = part_of(words);

    if (part == NULL || part->device_memory_bytes == 0 || need != part->device_mgpu ||
        (kind != WEIR_RESOURCE_GPU && kind != WEIR_RESOURCE_GPU_CLASS)) {
        weir_words_amount(words->world, resource, need, out);
        return;
    }
    weir_words_amount(words->world, resource, need, out);
    weir_buf_puts(out, " for ");
    put_part(part, out);
}

static void put_field(const struct weir_words *words, const struct weir_reason *reason,
                      struct weir_str name, struct weir_buf *out)
{
    uint32_t resource = reason->resource != WEIR_NONE ? reason->resource : WEIR_RES_GPU;
    const struct weir_queue *queue = queue_of(words, reason);

    if (weir_str_eq_c(name, "resource"))
        weir_words_resource(words->world, reason->resource, out);
    else if (weir_str_eq_c(name, "need"))
        put_need(words, resource, reason->need, out);
    else if (weir_str_eq_c(name, "have"))
        weir_words_amount(words->world, resource, reason->have, out);
    else if (weir_str_eq_c(name, "held"))
        weir_words_amount(words->world, resource, queue->limit.of[resource] - reason->have, out);
    else if (weir_str_eq_c(name, "limit"))
        weir_words_amount(words->world, resource, queue->limit.of[resource], out);
    else if (weir_str_eq_c(name, "count"))
        weir_buf_u64(out, reason->count);
    else if (weir_str_eq_c(name, "have-count"))
        weir_buf_i64(out, reason->have);
    else if (weir_str_eq_c(name, "need-count"))
        weir_buf_i64(out, reason->need);
    else if (weir_str_eq_c(name, "isolation"))
        put_isolation(words, out);
    else if (weir_str_eq_c(name, "time"))
        weir_words_time(not_before(words), words->now_wall_ms, out);
    else
        WEIR_BUG("a phrase with an unknown field");
}

static void put_phrase(const struct weir_words *words, const struct weir_reason *reason,
                       const char *phrase, struct weir_buf *out)
{
    struct weir_str rest = weir_str(phrase);

    while (rest.len > 0) {
        ptrdiff_t open = weir_str_find_char(rest, '{');
        ptrdiff_t close = weir_str_find_char(rest, '}');

        if (open < 0) {
            weir_buf_str(out, rest);
            return;
        }
        weir_buf_str(out, weir_str_sub(rest, 0, (size_t)open));
        put_field(words, reason, weir_str_sub(rest, (size_t)open + 1, (size_t)(close - open) - 1),
                  out);
        rest = weir_str_sub(rest, (size_t)close + 1, rest.len);
    }
}

/* "1 of 3 is", "2 of 3 are". */
static const char *for_one(const char *phrase, struct weir_buf *out)
{
    static const char *const verbs[][2] = {
        {"have their ", "has its "}, {"have ", "has "}, {"are ", "is "}, {"go ", "goes "},
        {"lack ", "lacks "},         {"fit", "fits"},
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(verbs); i++) {
        size_t len = strlen(verbs[i][0]);

        if (strncmp(phrase, verbs[i][0], len) == 0) {
            weir_buf_puts(out, verbs[i][1]);
            return phrase + len;
        }
    }
    return phrase;
}

static void put_counted(const struct weir_words *words, const struct weir_reason *reason,
                        const char *phrase, struct weir_buf *out)
{
    enum weir_table_id table =
        reason->level == WEIR_LEVEL_NODES ? WEIR_TABLE_NODES : WEIR_TABLE_DEVICES;

    uint32_t n = weir_world_table(words->world, table)->n_live;

    weir_buf_printf(out, "%u of %u %s%s ", reason->count, n,
                    table == WEIR_TABLE_NODES ? "node" : "GPU", n == 1 ? "" : "s");
    if (reason->count == 1)
        phrase = for_one(phrase, out);
    put_phrase(words, reason, phrase, out);
}

static void put_level(const struct weir_words *words, const struct weir_reason *reason,
                      struct weir_buf *out)
{
    static const char *const names[WEIR_LEVEL_MAX] = {
        [WEIR_LEVEL_WORKLOAD] = "workload", [WEIR_LEVEL_QUEUE] = "queue",
        [WEIR_LEVEL_GANG] = "members",      [WEIR_LEVEL_TOPOLOGY] = "topology",
        [WEIR_LEVEL_NODES] = "nodes",       [WEIR_LEVEL_DEVICES] = "GPUs"};

    weir_buf_puts(out, reason->level < WEIR_LEVEL_MAX ? names[reason->level] : "fleet");
    if (reason->level == WEIR_LEVEL_QUEUE)
        weir_buf_printf(out, " %.*s",
                        WEIR_STR_ARG(
                            weir_world_string(words->world, queue_of(words, reason)->name)));
    weir_buf_puts(out, ": ");
}

static void put_quota(const struct weir_words *words, const struct weir_reason *reason,
                      struct weir_buf *out)
{
    uint32_t resource = reason->resource != WEIR_NONE ? reason->resource : WEIR_RES_GPU;
    const struct weir_queue *queue = queue_of(words, reason);
    int64_t limit = queue->limit.of[resource];

    weir_buf_puts(out, " (");
    weir_words_amount(words->world, resource, queue->held.of[resource], out);
    if (limit == INT64_MAX) {
        weir_buf_puts(out, " held, no limit)");
        return;
    }
    weir_buf_puts(out, " held, limit ");
    weir_words_amount(words->world, resource, limit, out);
    weir_buf_putc(out, ')');
}

/* Its own tasks may be what is in the way of the rest of them. */
static void put_holder(const struct weir_words *words, uint32_t workload, const char *kind,
                       struct weir_buf *out)
{
    const struct weir_workload *row = weir_world_workload(words->world, workload);

    if (workload == words->workload)
        weir_buf_printf(out, "its own other %s", row->independent ? "elements" : "members");
    else
        weir_buf_printf(out, "%s%llu", kind, (unsigned long long)row->number);
}

static void put_holders(const struct weir_words *words, const struct weir_reason *reason,
                        struct weir_buf *out)
{
    const struct weir_plan *plan = words->plan;

    for (uint32_t i = 0; i < reason->n_holders; i++) {
        const struct weir_holder *holder = &plan->holders[reason->first_holder + i];

        if (i == HOLDERS_SHOWN) {
            weir_buf_printf(out, " and %u more", reason->n_holders - i);
            return;
        }
        weir_buf_puts(out, i == 0 ? "; held by " : ", ");
        put_holder(words, holder->workload, i == 0 ? "workload " : "", out);
        if (holder->end_p50_wall_ms < INT64_MAX && holder->end_p50_wall_ms > 0) {
            weir_buf_puts(out, " (until about ");
            weir_words_time(holder->end_p50_wall_ms, words->now_wall_ms, out);
            weir_buf_puts(out, holder->is_assumed ? ", assumed)" : ")");
        }
    }
}

/* The node that comes nearest. */
static void put_nearest(const struct weir_words *words, const struct weir_reason *reason,
                        struct weir_buf *out)
{
    const struct weir_shape *part = part_of(words);

    if (reason->subject_kind != WEIR_SUBJECT_NODE || reason->subject == WEIR_NONE ||
        reason->resource == WEIR_NONE)
        return;
    /* Of parts the devices that are free as a whole tell nothing. */
    if (part != NULL && reason->code == WEIR_REASON_DEVICE_FULL) {
        weir_buf_puts(out, " (it needs ");
        put_part(part, out);
        weir_buf_putc(out, ')');
        return;
    }
    weir_buf_printf(out, " (nearest: %.*s with ",
                    WEIR_STR_ARG(weir_world_string(
                        words->world, weir_world_node(words->world, reason->subject)->name)));
    put_phrase(words, reason, "{have}, {need} needed)", out);
}

/* Where a level says a reason in its own way; else NULL. */
static const char *special_phrase(const struct weir_reason *reason)
{
    bool is_passed = reason->code == WEIR_REASON_NONE;

    if (reason->level == WEIR_LEVEL_DEVICES && is_passed)
        return "{have-count} of {count} can be had now, {need-count} needed";
    if (reason->level == WEIR_LEVEL_GANG && is_passed && reason->need > 0)
        return "{have-count} of {need-count} find room at the same time";
    if (reason->level == WEIR_LEVEL_GANG && reason->code == WEIR_REASON_GANG && reason->need == 0)
        return "some of them are still stopping";
    if (reason->level == WEIR_LEVEL_QUEUE && reason->code == WEIR_REASON_BEGIN_TIME)
        return "closed until {time}";
    return NULL;
}

/* Below the reason that sums them up, nodes and devices are counted by what is in the way. */
static const char *counted_phrase(const struct weir_reason *reason, const struct phrase *phrase)
{
    if (reason->count == 0 || reason->first_child != WEIR_NONE || reason->resource != WEIR_NONE)
        return NULL;
    if (reason->level == WEIR_LEVEL_NODES)
        return phrase->nodes;
    return reason->level == WEIR_LEVEL_DEVICES ? phrase->devices : NULL;
}

void weir_words_reason(const struct weir_words *words, const struct weir_reason *reason,
                       struct weir_buf *out)
{
    static const struct phrase unknown = {"it has to wait", NULL, NULL};
    const struct phrase *phrase =
        reason->code < WEIR_REASON_CODE_MAX ? &phrases[reason->code] : &unknown;
    const char *special = special_phrase(reason);
    const char *counted = counted_phrase(reason, phrase);

    put_level(words, reason, out);
    if (special != NULL)
        put_phrase(words, reason, special, out);
    else if (counted != NULL)
        put_counted(words, reason, counted, out);
    else
        put_phrase(words, reason, phrase->alone, out);
    if (reason->level == WEIR_LEVEL_QUEUE && reason->code == WEIR_REASON_NONE)
        put_quota(words, reason, out);
    put_nearest(words, reason, out);
    put_holders(words, reason, out);
}

/* ---- what would help ---- */

const char *weir_words_unblock_name(uint32_t kind)
{
    static const char *const names[WEIR_UNBLOCK_MAX] = {
        [WEIR_UNBLOCK_NONE] = "none",
        [WEIR_UNBLOCK_WAIT_FOR] = "wait-for",
        [WEIR_UNBLOCK_WAIT_FOR_ANY] = "wait-for-any",
        [WEIR_UNBLOCK_RAISE_LIMIT] = "raise-limit",
        [WEIR_UNBLOCK_UNCORDON] = "uncordon",
        [WEIR_UNBLOCK_ADD_CAPACITY] = "add-capacity",
        [WEIR_UNBLOCK_WAIT_UNTIL] = "wait-until",
        [WEIR_UNBLOCK_RELEASE] = "release",
        [WEIR_UNBLOCK_FOREIGN] = "foreign",
    };

    return kind < WEIR_UNBLOCK_MAX ? names[kind] : "none";
}

/* Before the i-th of a list of which n are named and n_more are not. */
static void put_joint(uint32_t i, uint32_t n, uint32_t n_more, struct weir_buf *out)
{
    bool is_last = i + 1 == n && n_more == 0;

    weir_buf_puts(out, i == 0 ? "" : is_last ? " and " : ", ");
}

static void put_more(uint32_t n, struct weir_buf *out)
{
    if (n > 0)
        weir_buf_printf(out, " and %u more", n);
}

static void put_cordons(const struct weir_words *words, const struct weir_verdict *verdict,
                        struct weir_buf *out)
{
    const struct weir_cordoned *cordons = words->plan->cordons + verdict->unblock_first_cordon;
    uint32_t n = verdict->unblock_n_cordons;
    uint32_t n_shown = n < ENDS_SHOWN ? n : ENDS_SHOWN;
    uint32_t n_more = n - n_shown + verdict->unblock_n_more_cordons;

    for (uint32_t i = 0; i < n_shown; i++) {
        put_joint(i, n_shown, n_more, out);
        weir_words_subject(words->world, cordons[i].kind, cordons[i].subject, out);
    }
    put_more(n_more, out);
}

static void put_ends(const struct weir_words *words, const struct weir_verdict *verdict,
                     struct weir_buf *out)
{
    const struct weir_awaited *ends = words->plan->ends + verdict->unblock_first_end;
    uint32_t n = verdict->unblock_n_ends;
    uint32_t n_shown = n < ENDS_SHOWN ? n : ENDS_SHOWN;
    uint32_t n_more = n - n_shown + verdict->unblock_n_more_ends;

    for (uint32_t i = 0; i < n_shown; i++) {
        put_joint(i, n_shown, n_more, out);
        put_holder(words, ends[i].workload, "workload/", out);
    }
    put_more(n_more, out);
}

/* What comes free may go to others first, as the order is now. */
static void put_before(const struct weir_words *words, const struct weir_verdict *verdict,
                       struct weir_buf *out)
{
    const struct weir_plan *plan = words->plan;
    uint32_t n = 0;
    uint32_t n_shown;

    while (n < plan->n_verdicts && plan->verdicts[n].position < verdict->position)
        n++;
    n_shown = n < BEFORE_SHOWN ? n : BEFORE_SHOWN;
    for (uint32_t i = 0; i < n_shown; i++) {
        const struct weir_workload *row =
            weir_world_workload(words->world, plan->verdicts[i].workload);

        weir_buf_puts(out, i == 0 ? "; as the order is now, " : "");
        put_joint(i, n_shown, n - n_shown, out);
        weir_buf_printf(out, "workload/%llu", (unsigned long long)row->number);
    }
    put_more(n - n_shown, out);
    if (n > 0)
        weir_buf_puts(out, n == 1 ? " is looked at first" : " are looked at first");
}

void weir_words_unblock(const struct weir_words *words, const struct weir_verdict *verdict,
                        struct weir_buf *out)
{
    uint32_t resource =
        verdict->unblock_resource != WEIR_NONE ? verdict->unblock_resource : WEIR_RES_GPU;

    switch ((enum weir_unblock_kind)verdict->unblock) {
    case WEIR_UNBLOCK_WAIT_FOR:
        weir_buf_puts(out, "what it needs comes free with the end of ");
        put_ends(words, verdict, out);
        put_before(words, verdict, out);
        break;
    case WEIR_UNBLOCK_WAIT_FOR_ANY:
        weir_buf_puts(out,
                      "what it needs is free by now: it is looked at again with the end of any "
                      "of ");
        put_ends(words, verdict, out);
        put_before(words, verdict, out);
        break;
    case WEIR_UNBLOCK_RAISE_LIMIT:
        weir_buf_puts(out, "it could start if the limit of ");
        weir_words_subject(words->world, verdict->unblock_subject_kind, verdict->unblock_subject,
                           out);
        weir_buf_puts(out, " were ");
        weir_words_amount(words->world, resource, verdict->unblock_amount, out);
        break;
    case WEIR_UNBLOCK_UNCORDON:
        weir_buf_puts(out, verdict->unblock_n_ends > 0
                               ? "it needs these put back into use: "
                               : "it could start if these were put back into use: ");
        put_cordons(words, verdict, out);
        if (verdict->unblock_n_ends > 0) {
            weir_buf_puts(out, ", and the end of ");
            put_ends(words, verdict, out);
            put_before(words, verdict, out);
        }
        break;
    case WEIR_UNBLOCK_ADD_CAPACITY:
        weir_buf_puts(out, "it could start with this much more: ");
        weir_words_amount(words->world, resource, verdict->unblock_amount, out);
        break;
    case WEIR_UNBLOCK_WAIT_UNTIL:
        weir_buf_puts(out, "it can start from ");
        weir_words_time(verdict->unblock_amount, words->now_wall_ms, out);
        weir_buf_puts(out, " on");
        break;
    case WEIR_UNBLOCK_RELEASE:
        weir_buf_puts(out, "it can start when it is released");
        break;
    case WEIR_UNBLOCK_FOREIGN:
        weir_buf_puts(out, "it needs processes that weir did not start to end: look at ");
        weir_words_subject(words->world, verdict->unblock_subject_kind, verdict->unblock_subject,
                           out);
        break;
    case WEIR_UNBLOCK_NONE:
    case WEIR_UNBLOCK_MAX:
        break;
    }
}

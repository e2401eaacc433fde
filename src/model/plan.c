#include "model/plan.h"

#include "base/buf.h"
#include "base/hash.h"

static const char *const actions[WEIR_ACTION_KIND_MAX] = {"start",  "stop",    "evict",
                                                          "settle", "reshape", "share",
                                                          "cordon", "drain",   "request-node",
                                                          "scale",  "route",   "notify"};

static const char *const causes[WEIR_CAUSE_MAX] = {
    "none",    "placed",      "backfilled", "preempted",    "reclaimed",   "cancelled",
    "drained", "gang-broken", "run-limit",  "exited",       "time-limit",  "out-of-memory",
    "lost",    "not-started", "retried",    "device-fault", "over-budget", "within-budget"};

static const char *const reasons[WEIR_REASON_CODE_MAX] = {
    "None",          "Priority",      "Resources",    "QueueLimit",      "ParentLimit",
    "Gang",          "Topology",      "GpuClass",     "GpuMemory",       "Isolation",
    "NodeCordoned",  "NodeDraining",  "NodeNotReady", "DeviceUnhealthy", "DeviceCordoned",
    "DeviceForeign", "DeviceBusy",    "Cpu",          "Memory",          "Labels",
    "BeginTime",     "Backoff",       "Held",         "Evicting",        "Reserved",
    "AllRunning",    "Misconfigured", "DeviceFull"};

static const char *const levels[WEIR_LEVEL_MAX] = {"workload", "queue", "gang",
                                                   "topology", "nodes", "devices"};

const char *weir_action_name(enum weir_action_kind kind)
{
    return kind < WEIR_ACTION_KIND_MAX ? actions[kind] : "unknown";
}

const char *weir_cause_name(enum weir_cause cause)
{
    return cause < WEIR_CAUSE_MAX ? causes[cause] : "unknown";
}

bool weir_cause_makes_room(uint32_t cause)
{
    return cause == WEIR_CAUSE_PREEMPTED || cause == WEIR_CAUSE_RECLAIMED ||
           cause == WEIR_CAUSE_DRAINED;
}

bool weir_cause_requeues(uint32_t cause)
{
    return weir_cause_makes_room(cause) || cause == WEIR_CAUSE_DEVICE_FAULT;
}

const char *weir_reason_name(enum weir_reason_code code)
{
    return code < WEIR_REASON_CODE_MAX ? reasons[code] : "Unknown";
}

const char *weir_level_name(enum weir_reason_level level)
{
    return level < WEIR_LEVEL_MAX ? levels[level] : "unknown";
}

/* ---- bytes: the head, then each array whole. Rows have no padding, so they are what they say.
 * ---- */

_Static_assert(sizeof(struct weir_action) == 56, "no padding");
_Static_assert(sizeof(struct weir_grant) == 32, "no padding");
_Static_assert(sizeof(struct weir_verdict) == 64, "no padding");
_Static_assert(sizeof(struct weir_reason) == 56, "no padding");
_Static_assert(sizeof(struct weir_holder) == 24, "no padding");
_Static_assert(sizeof(struct weir_awaited) == 16, "no padding");
_Static_assert(sizeof(struct weir_cordoned) == 8, "no padding");
_Static_assert(sizeof(struct weir_intent) == 128, "no padding");

struct head {
    uint64_t world_version;
    int64_t wake_wall_ms;
    uint32_t n_actions;
    uint32_t n_grants;
    uint32_t n_intents;
    uint32_t n_verdicts;
    uint32_t n_reasons;
    uint32_t n_holders;
    uint32_t n_ends;
    uint32_t n_cordons;
};

enum { N_PARTS = 9 };

struct part {
    const void *data;
    size_t size;
};

static void list_parts(const struct weir_plan *plan, struct head *head, struct part parts[N_PARTS])
{
    *head = (struct head){
        .world_version = plan->world_version,
        .wake_wall_ms = plan->wake_wall_ms,
        .n_actions = plan->n_actions,
        .n_grants = plan->n_grants,
        .n_intents = plan->n_intents,
        .n_verdicts = plan->n_verdicts,
        .n_reasons = plan->n_reasons,
        .n_holders = plan->n_holders,
        .n_ends = plan->n_ends,
        .n_cordons = plan->n_cordons,
    };
    parts[0] = (struct part){head, sizeof(*head)};
    parts[1] = (struct part){plan->actions, plan->n_actions * sizeof(plan->actions[0])};
    parts[2] = (struct part){plan->grants, plan->n_grants * sizeof(plan->grants[0])};
    parts[3] = (struct part){plan->intents, plan->n_intents * sizeof(plan->intents[0])};
    parts[4] = (struct part){plan->verdicts, plan->n_verdicts * sizeof(plan->verdicts[0])};
    parts[5] = (struct part){plan->reasons, plan->n_reasons * sizeof(plan->reasons[0])};
    parts[6] = (struct part){plan->holders, plan->n_holders * sizeof(plan->holders[0])};
    parts[7] = (struct part){plan->ends, plan->n_ends * sizeof(plan->ends[0])};
    parts[8] = (struct part){plan->cordons, plan->n_cordons * sizeof(plan->cordons[0])};
}

int weir_plan_write(const struct weir_plan *plan, struct weir_buf *out)
{
    struct head head;
    struct part parts[N_PARTS];
    int r = 0;

    list_parts(plan, &head, parts);
    for (int i = 0; i < N_PARTS && r == 0; i++)
        if (parts[i].size > 0)
            r = weir_buf_append(out, parts[i].data, parts[i].size);
    return r;
}

/* Two lanes over the bytes as words of eight; all parts are whole words. */
struct digest {
    uint64_t lanes[2];
};

static void digest_add(struct digest *digest, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;

        memcpy(&word, bytes + i, sizeof(word));
        digest->lanes[0] = weir_hash_mix64(digest->lanes[0] ^ word) + 0x9e3779b97f4a7c15u;
        digest->lanes[1] = weir_hash_mix64(digest->lanes[1] + word) ^ digest->lanes[0];
    }
}

static void digest_write(const struct digest *digest, uint8_t ret_digest[16])
{
    for (int i = 0; i < 16; i++)
        ret_digest[i] = (uint8_t)(digest->lanes[i / 8] >> (56 - 8 * (i % 8)));
}

void weir_plan_digest(const struct weir_plan *plan, uint8_t ret_digest[16])
{
    struct digest digest = {{0x77656972u, 0x706c616eu}};
    struct head head;
    struct part parts[N_PARTS];

    list_parts(plan, &head, parts);
    for (int i = 0; i < N_PARTS; i++)
        digest_add(&digest, parts[i].data, parts[i].size);
    digest_write(&digest, ret_digest);
}

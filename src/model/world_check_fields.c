/* Every field of every table against what world.h says of it, as far as the field tells by itself.
 * List links are only seen to be rows here. */
#include "base/bitset.h"
#include "base/count.h"
#include "base/err.h"
#include "model/plan.h"
#include "model/world_check_impl.h"

#include <string.h>

enum rule {
    RULE_BELOW,    /* uint32 below limit */
    RULE_STRING,   /* a string or WEIR_NONE */
    RULE_ROW,      /* a row of table `limit` */
    RULE_LINK,     /* the same, or WEIR_NONE */
    RULE_RESOURCE, /* a resource of kind `limit`, or WEIR_NONE */
    RULE_SPAN,     /* a span of kind `limit` (enum span_kind), or WEIR_NONE */
    RULE_MS,       /* time or duration */
    RULE_MS_LIMIT, /* duration, or INT64_MAX */
    RULE_AMOUNT,
    RULE_LIMIT, /* amount, or INT64_MAX */
    RULE_AMOUNTS,
    RULE_LIMITS,
    RULE_ZERO, /* `limit` bytes */
};

enum span_kind { SPAN_PAIRS, SPAN_TAINTS, SPAN_HOURS, SPAN_STATUSES, SPAN_KIND_MAX };

struct field {
    const char *name;
    uint32_t offset;
    uint32_t rule; /* enum rule */
    uint32_t limit;
};

struct fields_check {
    const struct weir_check *check;
    struct weir_bitset heads;                    /* span cells that hold a count */
    struct weir_bitset seen_well[SPAN_KIND_MAX]; /* spans that were seen to be of that kind */
};

/* ---- strings and spans ---- */

static int check_strings(const struct weir_check *check)
{
    const struct weir_table *table = weir_world_table(check->world, WEIR_TABLE_STRINGS);

    for (uint32_t i = 0; i < table->n_rows; i++) {
        const struct weir_string *row = weir_table_row(table, i);

        if (row->len >= sizeof(row->text))
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_STRINGS, i, "len"),
                                    "is %u, not below %zu", row->len, sizeof(row->text));
        for (size_t k = row->len; k < sizeof(row->text); k++)
            if (row->text[k] != '\0')
                return weir_check_fault(check, weir_check_at(WEIR_TABLE_STRINGS, i, "text"),
                                        "goes on after its %u bytes", row->len);
    }
    return 0;
}

/* Spans fill their table side by side, from the first cell. */
static int check_spans(struct fields_check *fc)
{
    const struct weir_check *check = fc->check;
    const struct weir_table *table = weir_world_table(check->world, WEIR_TABLE_SPANS);

    if (weir_bitset_init(&fc->heads, table->n_rows, check->arena) < 0)
        return weir_check_no_memory(check);
    for (int kind = 0; kind < SPAN_KIND_MAX; kind++)
        if (weir_bitset_init(&fc->seen_well[kind], table->n_rows, check->arena) < 0)
            return weir_check_no_memory(check);
    for (uint32_t i = 0; i < table->n_rows; i++)
        if (((const struct weir_span_cell *)weir_table_row(table, i))->reserved != 0)
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_SPANS, i, "reserved"),
                                    "is not 0");
    for (uint32_t i = 0; i < table->n_rows;) {
        uint32_t n = weir_world_span_len(check->world, i);

        if (n == 0 || n > table->n_rows - i - 1)
            return weir_check_fault(check, weir_check_at(WEIR_TABLE_SPANS, i, "value"),
                                    "counts %u cells, %u follow", n, table->n_rows - i - 1);
        weir_bitset_add(&fc->heads, i);
        i += n + 1;
    }
    return 0;
}

static bool is_string(const struct weir_world *world, uint32_t index)
{
    return index < world->tables[WEIR_TABLE_STRINGS].n_rows;
}

static bool is_span_value(const struct weir_world *world, uint32_t span, uint32_t i,
                          enum span_kind kind)
{
    uint32_t value = weir_world_span_at(world, span, i);

    switch (kind) {
    case SPAN_PAIRS:
    case SPAN_TAINTS:
        return is_string(world, value);
    case SPAN_HOURS:
        return i % 2 == 0 || value > weir_world_span_at(world, span, i - 1);
    case SPAN_STATUSES:
        return value <= 255;
    case SPAN_KIND_MAX:
        break;
    }
    return false;
}

/* Many rows may share a span: its cells are looked at once per kind. */
static int check_span(struct fields_check *fc, struct weir_check_place place, uint32_t span,
                      enum span_kind kind)
{
    static const uint32_t groups[SPAN_KIND_MAX] = {2, 3, 2, 1};
    const struct weir_world *world = fc->check->world;
    uint32_t n;

    if (span == WEIR_NONE || weir_bitset_has(&fc->seen_well[kind], span))
        return 0;
    if (!weir_bitset_has(&fc->heads, span))
        return weir_check_fault(fc->check, place, "is %u, not a span", span);
    n = weir_world_span_len(world, span);
    if (n % groups[kind] != 0)
        return weir_check_fault(fc->check, place, "is a span of %u cells, not of groups of %u", n,
                                groups[kind]);
    for (uint32_t i = 0; i < n; i++)
        if (!is_span_value(world, span, i, kind))
            return weir_check_fault(fc->check, place, "has %u in cell %u of its span, out of range",
                                    weir_world_span_at(world, span, i), i);
    weir_bitset_add(&fc->seen_well[kind], span);
    return 0;
}

/* ---- one field ---- */

#define FIELD(type, name, rule, limit)                                                             \
    {                                                                                              \
#name, (uint32_t)offsetof(struct type, name), rule, limit                                  \
    }
#define FIELD_RESERVED(type, name)                                                                 \
    FIELD(type, name, RULE_ZERO, (uint32_t)sizeof(((struct type *)NULL)->name))

static const struct field resource_fields[] = {
    FIELD(weir_resource, kind, RULE_BELOW, WEIR_RESOURCE_KIND_MAX),
    FIELD(weir_resource, name, RULE_STRING, 0),
    FIELD(weir_resource, grain, RULE_AMOUNT, 0),
};

static const struct field shape_fields[] = {
    FIELD(weir_shape, n_amounts, RULE_BELOW, WEIR_SHAPE_AMOUNTS_MAX + 1),
    FIELD(weir_shape, gpu_class, RULE_RESOURCE, WEIR_RESOURCE_GPU_CLASS),
    FIELD(weir_shape, mig_profile, RULE_RESOURCE, WEIR_RESOURCE_MIG),
    FIELD(weir_shape, isolation, RULE_BELOW, WEIR_ISOLATION_MAX),
    FIELD(weir_shape, device_mgpu, RULE_AMOUNT, 0),
    FIELD(weir_shape, device_memory_bytes, RULE_AMOUNT, 0),
    FIELD(weir_shape, labels, RULE_SPAN, SPAN_PAIRS),
};

static const struct field node_fields[] = {
    FIELD(weir_node, name, RULE_STRING, 0),
    FIELD(weir_node, pool, RULE_STRING, 0),
    FIELD(weir_node, phase, RULE_BELOW, WEIR_NODE_PHASE_MAX),
    FIELD(weir_node, topology[0], RULE_STRING, 0),
    FIELD(weir_node, topology[1], RULE_STRING, 0),
    FIELD(weir_node, topology[2], RULE_STRING, 0),
    FIELD(weir_node, topology[3], RULE_STRING, 0),
    FIELD(weir_node, topology[4], RULE_STRING, 0),
    FIELD(weir_node, labels, RULE_SPAN, SPAN_PAIRS),
    FIELD(weir_node, taints, RULE_SPAN, SPAN_TAINTS),
    FIELD(weir_node, first_device, RULE_LINK, WEIR_TABLE_DEVICES),
    FIELD(weir_node, first_task, RULE_LINK, WEIR_TABLE_TASKS),
    FIELD(weir_node, phase_cause, RULE_STRING, 0),
    FIELD_RESERVED(weir_node, reserved),
    FIELD(weir_node, ready_p50_wall_ms, RULE_MS, 0),
    FIELD(weir_node, ready_p90_wall_ms, RULE_MS, 0),
    FIELD(weir_node, capacity, RULE_AMOUNTS, 0),
    FIELD(weir_node, held, RULE_AMOUNTS, 0),
    FIELD(weir_node, foreign, RULE_AMOUNTS, 0),
};

static const struct field device_fields[] = {
    FIELD(weir_device, uuid, RULE_STRING, 0),
    FIELD(weir_device, model, RULE_STRING, 0),
    FIELD(weir_device, node, RULE_ROW, WEIR_TABLE_NODES),
    FIELD(weir_device, parent, RULE_LINK, WEIR_TABLE_DEVICES),
    FIELD(weir_device, next_on_node, RULE_LINK, WEIR_TABLE_DEVICES),
    FIELD(weir_device, kind, RULE_BELOW, WEIR_DEVICE_KIND_MAX),
    FIELD(weir_device, health, RULE_BELOW, WEIR_DEVICE_HEALTH_MAX),
    FIELD(weir_device, binder, RULE_BELOW, WEIR_BINDER_MAX),
    FIELD(weir_device, gpu_class, RULE_RESOURCE, WEIR_RESOURCE_GPU_CLASS),
    FIELD(weir_device, mig_profile, RULE_RESOURCE, WEIR_RESOURCE_MIG),
    FIELD(weir_device, cordoned, RULE_BELOW, 2),
    FIELD(weir_device, nvlink, RULE_STRING, 0),
    FIELD(weir_device, isolation, RULE_BELOW, WEIR_ISOLATION_MAX),
    FIELD(weir_device, first_hold, RULE_LINK, WEIR_TABLE_HOLDS),
    FIELD(weir_device, memory_bytes, RULE_AMOUNT, 0),
    FIELD(weir_device, memory_foreign_bytes, RULE_AMOUNT, 0),
    FIELD(weir_device, held_mgpu, RULE_AMOUNT, 0),
    FIELD(weir_device, held_memory_bytes, RULE_AMOUNT, 0),
    FIELD(weir_device, health_cause, RULE_STRING, 0),
    FIELD_RESERVED(weir_device, reserved),
};

static const struct field hold_fields[] = {
    FIELD(weir_hold, device, RULE_ROW, WEIR_TABLE_DEVICES),
    FIELD(weir_hold, task, RULE_ROW, WEIR_TABLE_TASKS),
    FIELD(weir_hold, next_of_device, RULE_LINK, WEIR_TABLE_HOLDS),
    FIELD(weir_hold, next_of_task, RULE_LINK, WEIR_TABLE_HOLDS),
    FIELD(weir_hold, part_mgpu, RULE_AMOUNT, 0),
    FIELD(weir_hold, memory_bytes, RULE_AMOUNT, 0),
    FIELD(weir_hold, used_bytes, RULE_AMOUNT, 0),
    FIELD(weir_hold, n_over, RULE_BELOW, WEIR_SAMPLES_MAX + 1),
    FIELD(weir_hold, n_under, RULE_BELOW, WEIR_SAMPLES_MAX + 1),
    FIELD(weir_hold, is_warned, RULE_BELOW, 2),
    FIELD_RESERVED(weir_hold, reserved),
};

static const struct field queue_fields[] = {
    FIELD(weir_queue, name, RULE_STRING, 0),
    FIELD(weir_queue, parent, RULE_LINK, WEIR_TABLE_QUEUES),
    FIELD(weir_queue, first_child, RULE_LINK, WEIR_TABLE_QUEUES),
    FIELD(weir_queue, next_sibling, RULE_LINK, WEIR_TABLE_QUEUES),
    FIELD(weir_queue, first_workload, RULE_LINK, WEIR_TABLE_WORKLOADS),
    FIELD(weir_queue, isolation, RULE_BELOW, WEIR_ISOLATION_MAX),
    FIELD(weir_queue, preemptible, RULE_BELOW, 2),
    FIELD(weir_queue, created_wall_ms, RULE_MS, 0),
    FIELD(weir_queue, run_limit_ms, RULE_MS_LIMIT, 0),
    FIELD(weir_queue, budget_uusd, RULE_LIMIT, 0),
    FIELD(weir_queue, spent_uusd, RULE_AMOUNT, 0),
    FIELD(weir_queue, open_hours, RULE_SPAN, SPAN_HOURS),
    FIELD(weir_queue, over_budget, RULE_BELOW, WEIR_OVER_BUDGET_MAX),
    FIELD(weir_queue, open_hours_base_wall_ms, RULE_MS, 0),
    FIELD(weir_queue, guaranteed, RULE_AMOUNTS, 0),
    FIELD(weir_queue, limit, RULE_LIMITS, 0),
    FIELD(weir_queue, decayed, RULE_AMOUNTS, 0),
};

static const struct field workload_fields[] = {
    FIELD(weir_workload, queue, RULE_ROW, WEIR_TABLE_QUEUES),
    FIELD(weir_workload, next_in_queue, RULE_LINK, WEIR_TABLE_WORKLOADS),
    FIELD(weir_workload, prev_in_queue, RULE_LINK, WEIR_TABLE_WORKLOADS),
    FIELD(weir_workload, owner, RULE_STRING, 0),
    FIELD(weir_workload, class, RULE_BELOW, WEIR_CLASS_MAX),
    FIELD(weir_workload, preemptible, RULE_BELOW, 2),
    FIELD(weir_workload, independent, RULE_BELOW, 2),
    FIELD(weir_workload, first_role, RULE_LINK, WEIR_TABLE_ROLES),
    FIELD(weir_workload, first_task, RULE_LINK, WEIR_TABLE_TASKS),
    FIELD(weir_workload, held, RULE_BELOW, 2),
    FIELD(weir_workload, cancelled, RULE_BELOW, 2),
    FIELD(weir_workload, retry_on, RULE_SPAN, SPAN_STATUSES),
    FIELD(weir_workload, backoff_ms, RULE_MS, 0),
    FIELD(weir_workload, checkpoint_signal, RULE_BELOW, 65),
    FIELD(weir_workload, submitted_wall_ms, RULE_MS, 0),
    FIELD(weir_workload, not_before_wall_ms, RULE_MS, 0),
    FIELD(weir_workload, deadline_wall_ms, RULE_MS, 0),
    FIELD(weir_workload, checkpoint_grace_ms, RULE_MS, 0),
    FIELD(weir_workload, runtime.limit_ms, RULE_MS_LIMIT, 0),
    FIELD(weir_workload, runtime.p50_ms, RULE_MS, 0),
    FIELD(weir_workload, runtime.p90_ms, RULE_MS, 0),
};

static const struct field role_fields[] = {
    FIELD(weir_role, workload, RULE_ROW, WEIR_TABLE_WORKLOADS),
    FIELD(weir_role, next_in_workload, RULE_LINK, WEIR_TABLE_ROLES),
    FIELD(weir_role, name, RULE_STRING, 0),
    FIELD(weir_role, shape, RULE_ROW, WEIR_TABLE_SHAPES),
    FIELD(weir_role, is_leader, RULE_BELOW, 2),
    FIELD_RESERVED(weir_role, reserved),
};

static const struct field task_fields[] = {
    FIELD(weir_task, workload, RULE_ROW, WEIR_TABLE_WORKLOADS),
    FIELD(weir_task, role, RULE_ROW, WEIR_TABLE_ROLES),
    FIELD(weir_task, next_in_workload, RULE_LINK, WEIR_TABLE_TASKS),
    FIELD(weir_task, state, RULE_BELOW, WEIR_TASK_STATE_MAX),
    FIELD(weir_task, node, RULE_LINK, WEIR_TABLE_NODES),
    FIELD(weir_task, next_on_node, RULE_LINK, WEIR_TABLE_TASKS),
    FIELD(weir_task, first_hold, RULE_LINK, WEIR_TABLE_HOLDS),
    FIELD(weir_task, stop_cause, RULE_BELOW, WEIR_CAUSE_MAX),
    FIELD(weir_task, ended, RULE_BELOW, WEIR_END_MAX),
    FIELD(weir_task, exit_status, RULE_BELOW, 256),
    FIELD(weir_task, cause, RULE_BELOW, WEIR_CAUSE_MAX),
    FIELD_RESERVED(weir_task, reserved),
    FIELD(weir_task, started_wall_ms, RULE_MS, 0),
    FIELD(weir_task, started_mono_ms, RULE_MS, 0),
    FIELD(weir_task, ended_wall_ms, RULE_MS, 0),
    FIELD(weir_task, checkpoint_mono_ms, RULE_MS, 0),
    FIELD(weir_task, not_before_wall_ms, RULE_MS, 0),
};

static const struct field signal_fields[] = {
    FIELD(weir_signal, subject_kind, RULE_BELOW, WEIR_SUBJECT_MAX),
    FIELD(weir_signal, metric, RULE_STRING, 0),
    FIELD(weir_signal, window_ms, RULE_MS, 0),
    FIELD(weir_signal, observed_wall_ms, RULE_MS, 0),
    FIELD(weir_signal, valid, RULE_BELOW, 2),
    FIELD_RESERVED(weir_signal, reserved),
};

static const struct field intent_fields[] = {
    FIELD(weir_intent, kind, RULE_BELOW, WEIR_INTENT_KIND_MAX),
    FIELD(weir_intent, subject_kind, RULE_BELOW, WEIR_SUBJECT_MAX),
    FIELD(weir_intent, created_wall_ms, RULE_MS, 0),
    FIELD(weir_intent, not_before_wall_ms, RULE_MS, 0),
    FIELD(weir_intent, deadline_wall_ms, RULE_MS, 0),
    FIELD(weir_intent, device, RULE_LINK, WEIR_TABLE_DEVICES),
    FIELD(weir_intent, node, RULE_LINK, WEIR_TABLE_NODES),
    FIELD(weir_intent, reserved_mgpu, RULE_AMOUNT, 0),
};

static const struct field price_fields[] = {
    FIELD(weir_price, gpu_class, RULE_RESOURCE, WEIR_RESOURCE_GPU_CLASS),
    FIELD(weir_price, pool, RULE_STRING, 0),
    FIELD(weir_price, uusd_per_gpu_hour, RULE_AMOUNT, 0),
    FIELD(weir_price, from_wall_ms, RULE_MS, 0),
    FIELD(weir_price, source, RULE_STRING, 0),
    FIELD(weir_price, spot, RULE_BELOW, 2),
};

#define FIELDS(of) of, WEIR_COUNT_OF(of)

static const struct {
    const struct field *fields;
    size_t n;
} fields_of[WEIR_TABLE_MAX] = {
    [WEIR_TABLE_RESOURCES] = {FIELDS(resource_fields)},
    [WEIR_TABLE_SHAPES] = {FIELDS(shape_fields)},
    [WEIR_TABLE_NODES] = {FIELDS(node_fields)},
    [WEIR_TABLE_DEVICES] = {FIELDS(device_fields)},
    [WEIR_TABLE_HOLDS] = {FIELDS(hold_fields)},
    [WEIR_TABLE_QUEUES] = {FIELDS(queue_fields)},
    [WEIR_TABLE_WORKLOADS] = {FIELDS(workload_fields)},
    [WEIR_TABLE_ROLES] = {FIELDS(role_fields)},
    [WEIR_TABLE_TASKS] = {FIELDS(task_fields)},
    [WEIR_TABLE_SIGNALS] = {FIELDS(signal_fields)},
    [WEIR_TABLE_INTENTS] = {FIELDS(intent_fields)},
    [WEIR_TABLE_PRICES] = {FIELDS(price_fields)},
};

static bool is_row(const struct weir_world *world, uint32_t index, const struct field *field)
{
    return weir_table_is_live(&world->tables[field->limit], index) ||
           (index == WEIR_NONE && field->rule == RULE_LINK);
}

static bool is_resource(const struct weir_world *world, uint32_t index, uint32_t kind)
{
    return index == WEIR_NONE || (index < weir_world_n_resources(world) &&
                                  weir_world_resource(world, index)->kind == kind);
}

static int check_index(struct fields_check *fc, struct weir_check_place place,
                       const struct field *field, uint32_t value)
{
    const struct weir_world *world = fc->check->world;

    switch ((enum rule)field->rule) {
    case RULE_BELOW:
        if (value < field->limit)
            return 0;
        return weir_check_fault(fc->check, place, "is %u, not below %u", value, field->limit);
    case RULE_STRING:
        if (value == WEIR_NONE || is_string(world, value))
            return 0;
        return weir_check_fault(fc->check, place, "is %u, not a string", value);
    case RULE_LINK:
    case RULE_ROW:
        if (is_row(world, value, field))
            return 0;
        return weir_check_fault(fc->check, place, "is %u, not a live row of %s", value,
                                weir_table_name((enum weir_table_id)field->limit));
    case RULE_RESOURCE:
        if (is_resource(world, value, field->limit))
            return 0;
        return weir_check_fault(fc->check, place, "is %u, not a resource of kind %u", value,
                                field->limit);
    case RULE_SPAN:
        return check_span(fc, place, value, (enum span_kind)field->limit);
    case RULE_MS:
    case RULE_MS_LIMIT:
    case RULE_AMOUNT:
    case RULE_LIMIT:
    case RULE_AMOUNTS:
    case RULE_LIMITS:
    case RULE_ZERO:
        break;
    }
    WEIR_BUG("not a rule for an index");
}

/* *total is what the rows before have in this field. */
static int check_amount(const struct weir_check *check, struct weir_check_place place,
                        int64_t value, bool is_limit, int64_t *total)
{
    if (is_limit && value == INT64_MAX)
        return 0;
    if (value < 0 || value > WEIR_AMOUNT_MAX)
        return weir_check_fault(check, place, "is %lld, not within 0 and %lld", (long long)value,
                                (long long)WEIR_AMOUNT_MAX);
    if (is_limit)
        return 0;
    *total += value;
    if (*total > WEIR_AMOUNT_MAX)
        return weir_check_fault(check, place, "brings the sum over the table to %lld, past %lld",
                                (long long)*total, (long long)WEIR_AMOUNT_MAX);
    return 0;
}

static int check_ms(const struct weir_check *check, struct weir_check_place place, int64_t value,
                    bool is_limit)
{
    if ((value >= 0 && value <= WEIR_MS_MAX) || (is_limit && value == INT64_MAX))
        return 0;
    return weir_check_fault(check, place, "is %lld, not within 0 and %lld", (long long)value,
                            (long long)WEIR_MS_MAX);
}

static int check_zero(const struct weir_check *check, struct weir_check_place place,
                      const char *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return weir_check_fault(check, place, "is not 0");
    return 0;
}

static int check_amounts(const struct weir_check *check, struct weir_check_place place,
                         const char *values, bool is_limit, struct weir_amounts *totals)
{
    for (int i = 0; i < WEIR_RESOURCE_MAX; i++) {
        int64_t value;
        int r;

        memcpy(&value, values + (size_t)i * sizeof(value), sizeof(value));
        place.element = i;
        r = check_amount(check, place, value, is_limit, &totals->of[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_field(struct fields_check *fc, struct weir_check_place place,
                       const struct field *field, const void *row, struct weir_amounts *totals)
{
    const char *at = (const char *)row + field->offset;
    uint32_t index;
    int64_t value;

    switch ((enum rule)field->rule) {
    case RULE_BELOW:
    case RULE_STRING:
    case RULE_ROW:
    case RULE_LINK:
    case RULE_RESOURCE:
    case RULE_SPAN:
        memcpy(&index, at, sizeof(index));
        return check_index(fc, place, field, index);
    case RULE_MS:
    case RULE_MS_LIMIT:
        memcpy(&value, at, sizeof(value));
        return check_ms(fc->check, place, value, field->rule == RULE_MS_LIMIT);
    case RULE_AMOUNT:
    case RULE_LIMIT:
        memcpy(&value, at, sizeof(value));
        return check_amount(fc->check, place, value, field->rule == RULE_LIMIT, &totals->of[0]);
    case RULE_AMOUNTS:
    case RULE_LIMITS:
        return check_amounts(fc->check, place, at, field->rule == RULE_LIMITS, totals);
    case RULE_ZERO:
        return check_zero(fc->check, place, at, field->limit);
    }
    WEIR_BUG("not a rule");
}

/* All fields of one row. `totals`: of each field, what the rows before have. */
static int check_fields_of(struct fields_check *fc, enum weir_table_id id, uint32_t index,
                           struct weir_amounts *totals)
{
    const void *row = weir_table_row(weir_world_table(fc->check->world, id), index);

    for (size_t f = 0; f < fields_of[id].n; f++) {
        const struct field *field = &fields_of[id].fields[f];
        int r = check_field(fc, weir_check_at(id, index, field->name), field, row, &totals[f]);

        if (r < 0)
            return r;
    }
    return 0;
}

static int check_table(struct fields_check *fc, enum weir_table_id id)
{
    const struct weir_table *table = weir_world_table(fc->check->world, id);
    struct weir_amounts *totals =
        weir_arena_new_n(fc->check->arena, struct weir_amounts, fields_of[id].n);

    if (totals == NULL)
        return weir_check_no_memory(fc->check);
    for (uint32_t i = weir_table_next(table, 0); i != WEIR_NONE;
         i = weir_table_next(table, i + 1)) {
        int r = check_fields_of(fc, id, i, totals);

        if (r == 0)
            r = weir_check_row(fc->check, id, i);
        if (r < 0)
            return r;
    }
    return 0;
}

int weir_check_fields(const struct weir_check *check)
{
    struct fields_check fc = {.check = check};
    uint32_t n_resources = weir_world_n_resources(check->world);
    int r;

    if (n_resources <= WEIR_RES_MEMORY || n_resources > WEIR_RESOURCE_MAX)
        return weir_check_fault(check, weir_check_at(WEIR_TABLE_RESOURCES, WEIR_NONE, "n_rows"),
                                "is %u, not within %d and %d", n_resources, WEIR_RES_MEMORY + 1,
                                WEIR_RESOURCE_MAX);
    r = check_strings(check);
    if (r < 0)
        return r;
    r = check_spans(&fc);
    if (r < 0)
        return r;
    /* In the order of the tables: rows are judged by fields of tables before theirs. */
    for (enum weir_table_id id = 0; id < WEIR_TABLE_MAX; id++) {
        r = check_table(&fc, id);
        if (r < 0)
            return r;
    }
    return 0;
}

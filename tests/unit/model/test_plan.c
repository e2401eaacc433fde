#include "model/plan.h"

#include "base/buf.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HEAD_BYTES = 48 };

/* ---- names ---- */

static const char *action_name(uint32_t i)
{
    return weir_action_name((enum weir_action_kind)i);
}

static const char *cause_name(uint32_t i)
{
    return weir_cause_name((enum weir_cause)i);
}

static const char *reason_name(uint32_t i)
{
    return weir_reason_name((enum weir_reason_code)i);
}

static const char *level_name(uint32_t i)
{
    return weir_level_name((enum weir_reason_level)i);
}

static void has_names(const char *(*name)(uint32_t i), uint32_t n, const char *otherwise)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_non_null(name(i));
        assert_string_not_equal(name(i), "");
        assert_string_not_equal(name(i), otherwise);
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(name(i), name(j));
    }
    assert_string_equal(name(n), otherwise);
    assert_string_equal(name(UINT32_MAX), otherwise);
}

static void every_value_has_a_name_of_its_own(void **state)
{
    (void)state;
    has_names(action_name, WEIR_ACTION_KIND_MAX, "unknown");
    has_names(cause_name, WEIR_CAUSE_MAX, "unknown");
    has_names(reason_name, WEIR_REASON_CODE_MAX, "Unknown");
    has_names(level_name, WEIR_LEVEL_MAX, "unknown");
}

/* The tables and the enumerations are in the same order. */
static void names_say_what_they_name(void **state)
{
    (void)state;
    assert_string_equal(action_name(WEIR_ACTION_REQUEST_NODE), "request-node");
    assert_string_equal(action_name(WEIR_ACTION_NOTIFY), "notify");
    assert_string_equal(cause_name(WEIR_CAUSE_GANG_BROKEN), "gang-broken");
    assert_string_equal(cause_name(WEIR_CAUSE_RETRIED), "retried");
    assert_string_equal(cause_name(WEIR_CAUSE_DEVICE_FAULT), "device-fault");
    assert_string_equal(reason_name(WEIR_REASON_DEVICE_BUSY), "DeviceBusy");
    assert_string_equal(reason_name(WEIR_REASON_MISCONFIGURED), "Misconfigured");
    assert_string_equal(level_name(WEIR_LEVEL_DEVICES), "devices");
}

/* ---- bytes ---- */

struct rows {
    struct weir_action actions[2];
    struct weir_grant grants[3];
    struct weir_intent intents[1];
    struct weir_verdict verdicts[2];
    struct weir_reason reasons[4];
    struct weir_holder holders[2];
    struct weir_awaited ends[3];
    struct weir_cordoned cordons[2];
};

/* Every byte of every row is set, and no two rows are the same. */
static struct weir_plan plan_of(struct rows *rows)
{
    unsigned char *bytes = (unsigned char *)rows;

    for (size_t i = 0; i < sizeof(*rows); i++)
        bytes[i] = (unsigned char)(1 + i * 7 % 251);
    return (struct weir_plan){
        .world_version = 0x0102030405060708,
        .wake_wall_ms = 0x1112131415161718,
        .actions = rows->actions,
        .n_actions = 2,
        .grants = rows->grants,
        .n_grants = 3,
        .intents = rows->intents,
        .n_intents = 1,
        .verdicts = rows->verdicts,
        .n_verdicts = 2,
        .reasons = rows->reasons,
        .n_reasons = 4,
        .holders = rows->holders,
        .n_holders = 2,
        .ends = rows->ends,
        .n_ends = 3,
        .cordons = rows->cordons,
        .n_cordons = 2,
    };
}

static const char *take(const char *at, const void *what, size_t size)
{
    assert_memory_equal(at, what, size);
    return at + size;
}

static void bytes_are_laid_out_as_promised(void **state)
{
    struct weir_buf out = WEIR_BUF_INIT(1 << 16);
    struct rows rows;
    struct weir_plan plan = plan_of(&rows);
    const uint32_t counts[] = {2, 3, 1, 2, 4, 2, 3, 2};
    const char *at;

    (void)state;
    assert_int_equal(weir_plan_write(&plan, &out), 0);
    at = take(out.data, &plan.world_version, sizeof(plan.world_version));
    at = take(at, &plan.wake_wall_ms, sizeof(plan.wake_wall_ms));
    at = take(at, counts, sizeof(counts));
    at = take(at, rows.actions, sizeof(rows.actions));
    at = take(at, rows.grants, sizeof(rows.grants));
    at = take(at, rows.intents, sizeof(rows.intents));
    at = take(at, rows.verdicts, sizeof(rows.verdicts));
    at = take(at, rows.reasons, sizeof(rows.reasons));
    at = take(at, rows.holders, sizeof(rows.holders));
    at = take(at, rows.ends, sizeof(rows.ends));
    at = take(at, rows.cordons, sizeof(rows.cordons));
    assert_int_equal(at - (const char *)out.data, out.len);
    weir_buf_finish(&out);
}

static void an_empty_plan_is_a_head(void **state)
{
    struct weir_buf out = WEIR_BUF_INIT(1 << 16);
    struct weir_plan plan = {.world_version = 7, .wake_wall_ms = INT64_MAX};
    uint8_t digest[16] = {0};
    uint8_t none[16] = {0};

    (void)state;
    assert_int_equal(weir_plan_write(&plan, &out), 0);
    assert_int_equal(out.len, HEAD_BYTES);
    weir_plan_digest(&plan, digest);
    assert_memory_not_equal(digest, none, sizeof(digest));
    weir_buf_finish(&out);
}

static void a_full_buffer_is_told_of(void **state)
{
    struct rows rows;
    struct weir_plan plan = plan_of(&rows);

    (void)state;
    for (size_t max = 1; max < HEAD_BYTES + sizeof(rows); max += 13) {
        struct weir_buf out = WEIR_BUF_INIT(max);

        assert_int_equal(weir_plan_write(&plan, &out), WEIR_E_TOO_LARGE);
        weir_buf_finish(&out);
    }
}

/* ---- digests ---- */

/* No two of the plans that differ in one bit, or in what is part of which array, have one digest.
 */
static void every_bit_counts(void **state)
{
    enum { N = 16 };
    struct rows rows;
    struct weir_plan plan = plan_of(&rows);
    size_t n_bits = sizeof(rows) * 8;
    uint8_t(*digests)[N] = calloc(n_bits + 1, sizeof(*digests));

    (void)state;
    assert_non_null(digests);
    weir_plan_digest(&plan, digests[n_bits]);
    for (size_t i = 0; i < n_bits; i++) {
        unsigned char *byte = (unsigned char *)&rows + i / 8;

        *byte ^= (unsigned char)(1u << i % 8);
        weir_plan_digest(&plan, digests[i]);
        *byte ^= (unsigned char)(1u << i % 8);
    }
    for (size_t i = 0; i <= n_bits; i++)
        for (size_t j = 0; j < i; j++)
            if (memcmp(digests[i], digests[j], N) == 0)
                fail_msg("bits %zu and %zu give one digest", i, j);
    free(digests);
}

static void the_head_counts(void **state)
{
    struct rows rows;
    struct weir_plan plan = plan_of(&rows);
    struct weir_plan others[] = {plan, plan, plan, plan, plan};
    uint8_t digests[6][16];

    (void)state;
    others[0].world_version++;
    others[1].wake_wall_ms--;
    others[2].n_holders--;
    others[3].n_actions = 0;
    others[4].n_ends--;
    weir_plan_digest(&plan, digests[5]);
    for (int i = 0; i < 5; i++) {
        weir_plan_digest(&others[i], digests[i]);
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(digests[i], digests[j], sizeof(digests[i]));
        assert_memory_not_equal(digests[i], digests[5], sizeof(digests[i]));
    }
}

static void addresses_do_not_count(void **state)
{
    struct rows rows[2];
    struct weir_plan plan = plan_of(&rows[0]);
    struct weir_plan copy = plan_of(&rows[1]);
    uint8_t digests[2][16];

    (void)state;
    weir_plan_digest(&plan, digests[0]);
    weir_plan_digest(&copy, digests[1]);
    assert_memory_equal(digests[0], digests[1], sizeof(digests[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_has_a_name_of_its_own),
        cmocka_unit_test(names_say_what_they_name),
        cmocka_unit_test(bytes_are_laid_out_as_promised),
        cmocka_unit_test(an_empty_plan_is_a_head),
        cmocka_unit_test(a_full_buffer_is_told_of),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(the_head_counts),
        cmocka_unit_test(addresses_do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Fault events as the store keeps them. */
#include "../support.h"

#include "app/fault_codec.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "base/rng.h"

#include <stdlib.h>

enum { N_RANDOM = 2000 };

static void round_trip(const struct weir_fault_event *event, struct weir_fault_event *ret)
{
    struct weir_buf text = WEIR_BUF_INIT(1 << 16);
    struct weir_arena arena = WEIR_ARENA_INIT;

    assert_int_equal(weir_fault_encode(event, &text, NULL), 0);
    assert_int_equal(weir_fault_decode(weir_buf_view(&text), &arena, ret, NULL), 0);
    assert_true(weir_str_eq(ret->text, event->text));
    assert_true(weir_str_eq(ret->unit, event->unit));
    ret->text = event->text;
    ret->unit = event->unit;
    weir_arena_finish(&arena);
    weir_buf_finish(&text);
}

static void same(const struct weir_fault_event *a, const struct weir_fault_event *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->severity, b->severity);
    assert_int_equal(a->recovery, b->recovery);
    assert_int_equal(a->wants_reset, b->wants_reset);
    assert_int_equal(a->wants_drain, b->wants_drain);
    assert_int_equal(a->code, b->code);
    assert_int_equal(a->caused_by, b->caused_by);
    assert_true(a->pid == b->pid && a->user == b->user);
    assert_int_equal(a->gpu_instance, b->gpu_instance);
    assert_int_equal(a->link, b->link);
    assert_int_equal(a->gpc, b->gpc);
    assert_int_equal(a->tpc, b->tpc);
    assert_int_equal(a->n_words, b->n_words);
    for (uint32_t i = 0; i < a->n_words; i++)
        assert_int_equal(a->words[i], b->words[i]);
    assert_int_equal(a->device.is_known, b->device.is_known);
    assert_int_equal(a->device.domain, b->device.domain);
    assert_int_equal(a->device.bus, b->device.bus);
    assert_int_equal(a->device.device, b->device.device);
    assert_int_equal(a->device.function, b->device.function);
}

static struct weir_fault_event any_event(struct weir_rng *rng)
{
    struct weir_fault_event event = {
        .kind = (uint8_t)weir_rng_below(rng, WEIR_FAULT_KIND_MAX),
        .severity = (uint8_t)weir_rng_below(rng, WEIR_FAULT_SEVERITY_MAX),
        .recovery = (uint8_t)weir_rng_next(rng),
        .wants_reset = weir_rng_below(rng, 2) != 0,
        .wants_drain = weir_rng_below(rng, 2) != 0,
        .code = (uint32_t)weir_rng_next(rng),
        .caused_by = (uint32_t)weir_rng_next(rng),
        .pid = (int64_t)(weir_rng_next(rng) >> 1),
        .user = weir_rng_next(rng) >> 1,
        .gpu_instance = (int32_t)weir_rng_below(rng, 8) - 1,
        .link = (int32_t)weir_rng_below(rng, 20) - 1,
        .gpc = (int32_t)weir_rng_below(rng, 8) - 1,
        .tpc = (int32_t)weir_rng_below(rng, 8) - 1,
        .n_words = (uint32_t)weir_rng_below(rng, WEIR_FAULT_WORDS_MAX + 1),
        .unit = WEIR_STR("RLW"),
        .text = WEIR_STR("a \"quoted\"\n\x01 line: Ü"),
    };

    if (weir_rng_below(rng, 3) > 0)
        event.device = (struct weir_fault_device){.domain = (uint32_t)weir_rng_next(rng),
                                                  .bus = (uint8_t)weir_rng_next(rng),
                                                  .device = (uint8_t)weir_rng_next(rng),
                                                  .function = (uint8_t)weir_rng_below(rng, 8),
                                                  .is_known = true};
    if (weir_rng_below(rng, 4) == 0)
        event.pid = -1;
    for (uint32_t i = 0; i < event.n_words; i++)
        event.words[i] = (uint32_t)weir_rng_next(rng);
    return event;
}

static void what_is_stored_reads_back(void **state)
{
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 1);
    for (int i = 0; i < N_RANDOM; i++) {
        struct weir_fault_event event = any_event(&rng);
        struct weir_fault_event back;

        round_trip(&event, &back);
        same(&event, &back);
        assert_int_equal(back.origin, WEIR_FAULT_ORIGIN_KERNEL);
    }
}

static void what_is_none_is_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"", WEIR_E_INVALID},
        {"[]", WEIR_E_UNSUPPORTED},
        {"{\"kind\": \"xid\"}", WEIR_E_UNSUPPORTED},
        {"{\"kind\": \"of tomorrow\", \"severity\": \"fatal\"}", WEIR_E_UNSUPPORTED},
        {"{\"kind\": \"xid\", \"severity\": \"fatal\", \"code\": -1}", WEIR_E_INVALID},
        {"{\"kind\": \"xid\", \"severity\": \"fatal\", \"bus\": 256}", WEIR_E_INVALID},
        {"{\"kind\": \"xid\", \"severity\": \"fatal\", \"code\": \"79\"}", WEIR_E_INVALID},
        {"{\"kind\": \"xid\", \"severity\": \"fatal\", \"words\": [0,1,2,3,4,5,6,7,8,9]}",
         WEIR_E_INVALID},
        {"{\"kind\": \"xid\", \"severity\": \"fatal\", \"words\": [4294967296]}", WEIR_E_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_fault_event event;

        print_message("%s\n", rows[i].text);
        assert_int_equal(weir_fault_decode(weir_str(rows[i].text), &arena, &event, &err),
                         rows[i].code);
        assert_string_not_equal(err.text, "");
        weir_arena_finish(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_reads_back),
        cmocka_unit_test(what_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

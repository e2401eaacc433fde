#include "model/fleet_spec.h"

#include "base/arena.h"
#include "base/count.h"
#include "base/err.h"
#include "model/gpu_catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct weir_arena arena = WEIR_ARENA_INIT;

static int reset(void **state)
{
    (void)state;
    weir_arena_finish(&arena);
    return 0;
}

static struct weir_fleet parse(const char *spec, uint64_t seed)
{
    struct weir_fleet fleet = {NULL, NULL, 0, 0};
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_fleet_parse(weir_str(spec), seed, &arena, &fleet, &err) < 0)
        fail_msg("'%s': %s", spec, err.text);
    return fleet;
}

static void one_node(void **state)
{
    struct weir_fleet fleet = parse("8xH100", 1);

    (void)state;
    assert_int_equal(fleet.n_nodes, 1);
    assert_int_equal(fleet.n_gpus, 8);
    assert_string_equal(fleet.nodes[0].name, "sim-1");
    assert_int_equal(fleet.nodes[0].first_gpu, 0);
    assert_int_equal(fleet.nodes[0].n_gpus, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_string_equal(fleet.gpus[i].model->id, "h100-sxm");
        assert_int_equal(fleet.gpus[i].node, 0);
        assert_int_equal(fleet.gpus[i].pci_domain, 0);
    }
}

static void several_nodes(void **state)
{
    struct weir_fleet fleet = parse(" 2 x 8xH100 + 4xl40s+NVIDIA L4", 1);

    (void)state;
    assert_int_equal(fleet.n_nodes, 4);
    assert_int_equal(fleet.n_gpus, 21);
    assert_string_equal(fleet.nodes[3].name, "sim-4");
    assert_int_equal(fleet.nodes[1].first_gpu, 8);
    assert_int_equal(fleet.nodes[2].first_gpu, 16);
    assert_int_equal(fleet.nodes[2].n_gpus, 4);
    assert_int_equal(fleet.nodes[3].n_gpus, 1);
    assert_string_equal(fleet.gpus[15].model->id, "h100-sxm");
    assert_string_equal(fleet.gpus[16].model->id, "l40s");
    assert_string_equal(fleet.gpus[20].model->id, "l4");
    assert_int_equal(fleet.gpus[20].node, 3);
}

static void model_alone_is_one_gpu(void **state)
{
    struct weir_fleet fleet = parse("H100", 1);

    (void)state;
    assert_int_equal(fleet.n_nodes, 1);
    assert_int_equal(fleet.n_gpus, 1);
}

static void identities_are_unique_and_well_formed(void **state)
{
    struct weir_fleet fleet = parse("40x64xH100+8xA100", 7);

    (void)state;
    assert_int_equal(fleet.n_gpus, 2568);
    for (uint32_t i = 0; i < fleet.n_gpus; i++) {
        const struct weir_fleet_gpu *gpu = &fleet.gpus[i];
        unsigned part[5];
        char tail;

        assert_int_equal(strlen(gpu->uuid), 40);
        assert_int_equal(strlen(gpu->serial), 13);
        assert_int_equal(sscanf(gpu->uuid, "GPU-%8x-%4x-4%3x-%4x-%8x%c", &part[0], &part[1],
                                &part[2], &part[3], &part[4], &tail),
                         6);
        assert_int_equal(part[3] >> 14, 2);
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(gpu->uuid, fleet.gpus[j].uuid) == 0)
                fail_msg("GPUs %u and %u share a UUID", i, j);
            if (gpu->pci_domain == fleet.gpus[j].pci_domain &&
                gpu->pci_bus == fleet.gpus[j].pci_bus)
                fail_msg("GPUs %u and %u share an address", i, j);
        }
    }
}

static void identities_follow_from_the_seed(void **state)
{
    struct weir_fleet a = parse("8xH100", 1);
    struct weir_fleet b = parse("8xh100-sxm+4xL40S", 1);
    struct weir_fleet c = parse("8xH100", 2);
    struct weir_fleet d = parse("8xH200", 1);

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        assert_string_equal(a.gpus[i].uuid, b.gpus[i].uuid);
        assert_string_equal(a.gpus[i].serial, b.gpus[i].serial);
        assert_string_not_equal(a.gpus[i].uuid, c.gpus[i].uuid);
        assert_string_not_equal(a.gpus[i].uuid, d.gpus[i].uuid);
    }
}

static void refuses_with_place_and_hint(void **state)
{
    static const struct {
        const char *spec;
        int code;
        uint32_t column;
        const char *text, *hint;
    } cases[] = {
        {"", WEIR_E_INVALID, 1, "model is missing", "8xH100"},
        {"   ", WEIR_E_INVALID, 4, "model is missing", ""},
        {"8xH100+", WEIR_E_INVALID, 8, "model is missing", ""},
        {"8x", WEIR_E_INVALID, 3, "model is missing", ""},
        {"8H100", WEIR_E_INVALID, 2, "'x' expected after the count 8", "8xH100"},
        {"8", WEIR_E_INVALID, 2, "'x' expected", ""},
        {"0xH100", WEIR_E_INVALID, 1, "zero", "leave the group out"},
        {"2x0xH100", WEIR_E_INVALID, 3, "zero", ""},
        {"2x2x2xH100", WEIR_E_INVALID, 5, "more than two counts", "nodes x GPUs"},
        {"8xH10O", WEIR_E_NOT_FOUND, 3, "unknown GPU model 'H10O'", "h100-sxm"},
        {"8xH100+4xL4OS", WEIR_E_NOT_FOUND, 10, "'L4OS'", "l40s"},
        {"2x8xH100 + 4x L40SS", WEIR_E_NOT_FOUND, 15, "'L40SS'", "l40s"},
        {"8xMI300X", WEIR_E_UNSUPPORTED, 3, "mi300x cannot be simulated", ""},
        {"8xH100\n", WEIR_E_INVALID, 7, "0x0a", ""},
        {"8\xc3\x97H100", WEIR_E_INVALID, 2, "0xc3", ""},
        {"65xH100", WEIR_E_TOO_LARGE, 1, "64 GPUs", ""},
        {"8xH100+1025x1xH100", WEIR_E_TOO_LARGE, 8, "1024 nodes", ""},
        {"5000xH100", WEIR_E_TOO_LARGE, 1, "5000", ""},
        {"99999999999999999999999xH100", WEIR_E_TOO_LARGE, 1, "a count of", ""},
        {"64x64xH100+H100", WEIR_E_TOO_LARGE, 12, "more than 4096 GPUs", ""},
        {"-8xH100", WEIR_E_NOT_FOUND, 1, "'-8xH100'", ""},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_fleet fleet = {NULL, NULL, 77, 0};
        struct weir_err err = WEIR_ERR_INIT;
        int rc = weir_fleet_parse(weir_str(cases[i].spec), 1, &arena, &fleet, &err);

        if (rc != cases[i].code || err.code != rc || err.column != cases[i].column ||
            err.line != 1 || strstr(err.text, cases[i].text) == NULL ||
            strstr(err.hint, cases[i].hint) == NULL)
            fail_msg("'%s': code %d, %u:%u: %s (%s)", cases[i].spec, rc, err.line, err.column,
                     err.text, err.hint);
        assert_int_equal(fleet.n_nodes, 77);
        assert_int_equal(weir_fleet_parse(weir_str(cases[i].spec), 1, &arena, &fleet, NULL), rc);
    }
}

static void takes_as_many_groups_as_fit(void **state)
{
    char spec[WEIR_FLEET_SPEC_BYTES_MAX + 2];
    struct weir_fleet fleet = {NULL, NULL, 0, 0};
    struct weir_err err = WEIR_ERR_INIT;
    size_t len = 0;

    (void)state;
    while (len + 3 <= WEIR_FLEET_SPEC_BYTES_MAX) {
        memcpy(spec + len, "+l4", 3);
        len += 3;
    }
    spec[0] = ' ';
    assert_int_equal(weir_fleet_parse(weir_str_n(spec, len), 1, &arena, &fleet, &err), 0);
    assert_int_equal(fleet.n_nodes, len / 3);
    memset(spec, ' ', sizeof(spec));
    assert_int_equal(weir_fleet_parse(weir_str_n(spec, sizeof(spec)), 1, &arena, &fleet, &err),
                     WEIR_E_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_node, reset),
        cmocka_unit_test_teardown(several_nodes, reset),
        cmocka_unit_test_teardown(model_alone_is_one_gpu, reset),
        cmocka_unit_test_teardown(identities_are_unique_and_well_formed, reset),
        cmocka_unit_test_teardown(identities_follow_from_the_seed, reset),
        cmocka_unit_test_teardown(refuses_with_place_and_hint, reset),
        cmocka_unit_test_teardown(takes_as_many_groups_as_fit, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "model/gpu_catalogue.h"

#include "base/count.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *id_of(const char *name)
{
    const struct weir_gpu_model *model = weir_gpu_catalogue_find(weir_str(name));

    return model != NULL ? model->id : "(none)";
}

static void finds_by_id_alias_and_device_name(void **state)
{
    (void)state;
    assert_string_equal(id_of("h100-sxm"), "h100-sxm");
    assert_string_equal(id_of("H100"), "h100-sxm");
    assert_string_equal(id_of("  h100 "), "h100-sxm");
    assert_string_equal(id_of("NVIDIA H100 80GB HBM3"), "h100-sxm");
    assert_string_equal(id_of("nvidia h100 80gb hbm3"), "h100-sxm");
    assert_string_equal(id_of("NVIDIA H100 PCIe"), "h100-pcie");
    assert_string_equal(id_of("A100"), "a100-sxm4-80");
    assert_string_equal(id_of("V100"), "v100-sxm2-32");
    assert_string_equal(id_of("H200"), "h200-sxm");
    assert_string_equal(id_of("Tesla T4"), "t4");
    assert_string_equal(id_of("AMD Instinct MI300X"), "mi300x");
    assert_string_equal(id_of("H10"), "(none)");
    assert_string_equal(id_of(""), "(none)");
}

static void every_name_finds_its_model(void **state)
{
    (void)state;
    assert_true(weir_n_gpu_names > weir_n_gpu_models);
    for (size_t i = 0; i < weir_n_gpu_names; i++)
        assert_ptr_equal(weir_gpu_catalogue_find(weir_str(weir_gpu_names[i].text)),
                         &weir_gpu_models[weir_gpu_names[i].model]);
    for (size_t i = 0; i < weir_n_gpu_models; i++) {
        assert_ptr_equal(weir_gpu_catalogue_find(weir_str(weir_gpu_models[i].id)),
                         &weir_gpu_models[i]);
        assert_ptr_equal(weir_gpu_catalogue_find(weir_str(weir_gpu_models[i].name)),
                         &weir_gpu_models[i]);
    }
}

static void holds_what_the_driver_reports(void **state)
{
    const struct weir_gpu_model *h100 = weir_gpu_catalogue_find(WEIR_STR("h100"));
    const struct weir_gpu_model *gb200 = weir_gpu_catalogue_find(WEIR_STR("gb200"));
    const struct weir_gpu_model *amd = weir_gpu_catalogue_find(WEIR_STR("mi300x"));

    (void)state;
    assert_non_null(h100);
    assert_int_equal(h100->memory_total_bytes, INT64_C(81559) * 1024 * 1024);
    assert_int_equal(h100->memory_reserved_bytes, INT64_C(480) * 1024 * 1024);
    assert_int_equal(h100->cc_major, 9);
    assert_int_equal(h100->cc_minor, 0);
    assert_int_equal(h100->tdp_w, 700);
    assert_int_equal(h100->sm_count, 132);
    assert_int_equal(h100->link, WEIR_GPU_LINK_NVLINK);
    assert_int_equal(h100->n_links, 18);
    assert_int_equal(h100->link_mb_per_s, 450000);
    assert_int_equal(h100->n_pci_ids, 1);
    assert_int_equal(h100->pci_ids[0], 0x10de2330);
    assert_non_null(gb200);
    assert_int_equal(gb200->max_link_domain, 72);
    assert_non_null(amd);
    assert_int_equal(amd->vendor, WEIR_GPU_VENDOR_AMD);
    assert_int_equal(amd->cc_major, 0);
    assert_null(amd->device_name);
}

static const struct weir_mig_profile *profile_of(const char *model, const char *name)
{
    const struct weir_gpu_model *gpu = weir_gpu_catalogue_find(weir_str(model));

    assert_non_null(gpu);
    for (size_t i = 0; i < gpu->n_mig_profiles; i++)
        if (strcmp(gpu->mig_profiles[i].name, name) == 0)
            return &gpu->mig_profiles[i];
    return NULL;
}

static void knows_mig_geometry(void **state)
{
    const struct weir_mig_profile *half = profile_of("h100", "3g.40gb");
    const struct weir_mig_profile *quarter = profile_of("rtx-pro-6000", "1g.24gb");

    (void)state;
    assert_non_null(half);
    assert_int_equal(half->start_mask, 1u << 0 | 1u << 4);
    assert_int_equal(half->memory_slices, 4);
    assert_int_equal(half->compute_slices, 3);
    assert_int_equal(half->gi_profile_id, 9);
    assert_int_equal(half->max_instances, 2);
    assert_int_equal(half->sm_count, 60);
    assert_int_equal(half->memory_bytes, INT64_C(40448) * 1024 * 1024);
    assert_non_null(quarter);
    assert_int_equal(quarter->start_mask, 1u << 0 | 1u << 3 | 1u << 6 | 1u << 9);
    assert_null(profile_of("l40s", "1g.10gb"));
}

static void names_the_nearest_for_an_unknown_one(void **state)
{
    static const struct {
        const char *name, *hint;
    } cases[] = {
        {"h1000", "h100-sxm"},    {"H10", "h100-sxm"},      {"l40x", "l40"},
        {"a100-sxm4-90", "a100"}, {"h100-foo", "h100-sxm"}, {"NVIDIA H100 90GB HBM3", "h100-sxm"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        const struct weir_gpu_model *model = NULL;
        struct weir_err err = WEIR_ERR_INIT;

        assert_int_equal(weir_gpu_catalogue_lookup(weir_str(cases[i].name), &model, &err),
                         WEIR_E_NOT_FOUND);
        assert_null(model);
        assert_non_null(strstr(err.text, cases[i].name));
        if (strstr(err.hint, cases[i].hint) == NULL)
            fail_msg("hint for '%s' is '%s'", cases[i].name, err.hint);
    }
}

static void says_how_names_look_when_nothing_is_near(void **state)
{
    const struct weir_gpu_model *model = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_gpu_catalogue_lookup(WEIR_STR("quantum-annealer-mark-seven"), &model,
                                               &err),
                     WEIR_E_NOT_FOUND);
    assert_string_equal(err.hint, "models are named like h100-sxm, a100-sxm4-80 or l40s");
    assert_int_equal(weir_gpu_catalogue_lookup(WEIR_STR("nope"), &model, NULL), WEIR_E_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_id_alias_and_device_name),
        cmocka_unit_test(every_name_finds_its_model),
        cmocka_unit_test(holds_what_the_driver_reports),
        cmocka_unit_test(knows_mig_geometry),
        cmocka_unit_test(names_the_nearest_for_an_unknown_one),
        cmocka_unit_test(says_how_names_look_when_nothing_is_near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

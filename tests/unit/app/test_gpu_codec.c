/* What a GPU is, as the store keeps it. */
#include "../support.h"

#include "app/gpu_codec.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"

enum { TEXT_MAX = 1 << 16 };

static const struct weir_gpu_placement places[] = {{0, 1}, {1, 1}, {4, 2}};
static const struct weir_gpu_mig_profile profiles[] = {
    {.id = 19,
     .slices = 1,
     .instances_max = 7,
     .n_multiprocessors = 16,
     .memory_bytes = 10737418240,
     .name = {"1g.10gb", 7},
     .placements = places,
     .n_placements = 3},
    {.id = 0, .slices = 7, .instances_max = 1, .name = {"7g.80gb", 7}},
};
static const struct weir_gpu_compute_instance compute[] = {{0, 0, {"MIG-1", 5}}};
static const struct weir_gpu_instance instances[] = {
    {.id = 9, .profile_id = 19, .placement = {1, 1}, .compute = compute, .n_compute = 1},
    {.id = 3, .profile_id = WEIR_GPU_UNKNOWN_PROFILE},
};

static struct weir_gpu_device whole(void)
{
    return (struct weir_gpu_device){
        .name = WEIR_STR("NVIDIA \"H100\" \n"),
        .class = WEIR_STR("h100-sxm"),
        .node = WEIR_STR("alpha"),
        .pci = WEIR_STR("0000:18:00.0"),
        .serial = WEIR_STR("123"),
        .index = 3,
        .valid = WEIR_GPU_HAS_MEMORY | WEIR_GPU_HAS_PROFILES | WEIR_GPU_HAS_INSTANCES |
                 WEIR_GPU_HAS_MIG_MODE,
        .mig_mode = true,
        .mig_pending = true,
        .minor = 2,
        .pci_id = UINT32_MAX,
        .compute_major = 9,
        .compute_mode = 3,
        .numa_node = 1,
        .memory_total_bytes = INT64_MAX,
        .memory_reserved_bytes = 5,
        .profiles = profiles,
        .n_profiles = 2,
        .instances = instances,
        .n_instances = 2,
    };
}

static void what_is_kept_comes_back(void **state)
{
    struct weir_gpu_device gpu = whole();
    struct weir_buf text = WEIR_BUF_INIT(TEXT_MAX);
    struct weir_buf again = WEIR_BUF_INIT(TEXT_MAX);
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_gpu_device back;

    (void)state;
    gpu.valid |= WEIR_GPU_HAS_LINKS; /* the links are not kept */
    assert_int_equal(weir_gpu_encode(&gpu, &text, NULL), 0);
    assert_int_equal(weir_gpu_decode(weir_buf_view(&text), &arena, &back, NULL), 0);
    assert_true(back.is_remembered);
    assert_true(weir_str_eq(back.name, gpu.name));
    assert_true(weir_str_eq(back.pci, gpu.pci));
    assert_int_equal(back.index, 3);
    assert_int_equal(back.valid, whole().valid);
    assert_true(back.memory_total_bytes == INT64_MAX && back.mig_mode && back.mig_pending);
    assert_int_equal(back.n_profiles, 2);
    assert_int_equal(back.profiles[0].n_placements, 3);
    assert_int_equal(back.profiles[0].placements[2].start, 4);
    assert_int_equal(back.n_instances, 2);
    assert_true(weir_str_eq_c(back.instances[0].compute[0].uuid, "MIG-1"));
    assert_true(back.instances[1].profile_id == WEIR_GPU_UNKNOWN_PROFILE);
    assert_int_equal(weir_gpu_encode(&back, &again, NULL), 0);
    assert_true(weir_str_eq(weir_buf_view(&text), weir_buf_view(&again)));
    weir_buf_finish(&text);
    weir_buf_finish(&again);
    weir_arena_finish(&arena);
}

static void expect(const char *text, int want)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_gpu_device gpu;

    assert_int_equal(weir_gpu_decode(weir_str(text), &arena, &gpu, &err), want);
    weir_arena_finish(&arena);
}

static void what_is_no_gpu_is_refused(void **state)
{
    (void)state;
    expect("{}", 0);
    expect("", WEIR_E_INVALID);
    expect("[]", WEIR_E_INVALID);
    expect("{\"index\":-1}", WEIR_E_INVALID);
    expect("{\"memory_bytes\":\"x\"}", WEIR_E_INVALID);
    expect("{\"mig\":2}", WEIR_E_INVALID);
    expect("{\"profiles\":[{\"placements\":[1]}]}", 0); /* a half of a place is none */
    expect("{\"profiles\":[{\"placements\":[1,99999]}]}", WEIR_E_INVALID);
    expect("{\"profiles\":[3]}", 0);
    expect("{\"instances\":[{\"compute\":[{\"id\":4294967296}]}]}", WEIR_E_INVALID);
}

static void reading_needs_memory(void **state)
{
    struct weir_gpu_device gpu = whole();
    struct weir_buf text = WEIR_BUF_INIT(TEXT_MAX);
    int r = -1;

    (void)state;
    assert_int_equal(weir_gpu_encode(&gpu, &text, NULL), 0);
    for (uint64_t n = 0; r < 0; n++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_gpu_device back;

        weir_mem_fail(n, 1);
        r = weir_gpu_decode(weir_buf_view(&text), &arena, &back, NULL);
        weir_mem_fail(0, 0);
        assert_true(r == 0 || r == WEIR_E_NO_MEMORY);
        weir_arena_finish(&arena);
    }
    weir_buf_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_comes_back),
        cmocka_unit_test(what_is_no_gpu_is_refused),
        cmocka_unit_test(reading_needs_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

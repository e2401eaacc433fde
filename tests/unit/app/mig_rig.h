/* One GPU that is cut into instances, on a server with a store: a driver of which the test says
 * when it answers, and how. Memory slices 0-7; 1g on one of 0-6, 3g on 0-3 or 4-7. */
#ifndef WEIR_TESTS_APP_MIG_RIG_H
#define WEIR_TESTS_APP_MIG_RIG_H

#include "app_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MIG_SLOTS = 8, MIG_REQUESTS_MAX = 16 };

enum { PROFILE_1G = 19, PROFILE_3G = 9 };

/* What begins at a slot. */
struct mig_instance {
    uint32_t profile; /* 0: nothing */
    bool is_half;
};

static struct app_rig rig;

static struct {
    bool has_mig;
    bool is_on;
    bool is_pending; /* the other mode comes with a reset */
    bool hides_instances;
    struct mig_instance at[MIG_SLOTS];
    struct weir_gpu_mig_request requests[MIG_REQUESTS_MAX];
    uint32_t n_requests; /* ever; tickets count from 1 */
    int refuses;         /* at once */
} mig;

static inline int mig_list(void *ctx, struct weir_arena *arena,
                           struct weir_gpu_device **ret_devices, uint32_t *ret_n,
                           struct weir_err *err)
{
    static const struct weir_gpu_placement ones[] = {{0, 1}, {1, 1}, {2, 1}, {3, 1},
                                                     {4, 1}, {5, 1}, {6, 1}};
    static const struct weir_gpu_placement threes[] = {{0, 4}, {4, 4}};
    static const struct weir_gpu_mig_profile profiles[] = {{.id = PROFILE_3G,
                                                            .slices = 3,
                                                            .instances_max = 2,
                                                            .memory_bytes = (int64_t)39 << 30,
                                                            .name = {"3g.40gb", 7},
                                                            .placements = threes,
                                                            .n_placements = 2},
                                                           {.id = PROFILE_1G,
                                                            .slices = 1,
                                                            .instances_max = 7,
                                                            .memory_bytes = (int64_t)9 << 30,
                                                            .name = {"1g.10gb", 7},
                                                            .placements = ones,
                                                            .n_placements = 7}};
    static const char *const uuids[MIG_SLOTS] = {"MIG-0", "MIG-1", "MIG-2", "MIG-3",
                                                 "MIG-4", "MIG-5", "MIG-6", "MIG-7"};
    struct weir_gpu_device *device = weir_arena_new_n(arena, struct weir_gpu_device, 1);
    struct weir_gpu_instance *instances =
        weir_arena_new_n(arena, struct weir_gpu_instance, MIG_SLOTS);
    struct weir_gpu_compute_instance *compute =
        weir_arena_new_n(arena, struct weir_gpu_compute_instance, MIG_SLOTS);
    uint32_t n = 0;

    (void)ctx;
    if (device == NULL || instances == NULL || compute == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for devices");
    for (uint32_t i = 0; !mig.hides_instances && i < MIG_SLOTS; i++) {
        if (mig.at[i].profile == 0)
            continue;
        compute[i].uuid = weir_str(uuids[i]);
        instances[n++] =
            (struct weir_gpu_instance){.id = i + 1,
                                       .profile_id = mig.at[i].profile,
                                       .placement = {i, mig.at[i].profile == PROFILE_3G ? 4 : 1},
                                       .compute = &compute[i],
                                       .n_compute = mig.at[i].is_half ? 0 : 1};
    }
    *device = (struct weir_gpu_device){
        .uuid = WEIR_STR("GPU-0"),
        .name = WEIR_STR("NVIDIA A100"),
        .class = WEIR_STR("a100-sxm4-80"),
        .valid = WEIR_GPU_HAS_MEMORY | WEIR_GPU_HAS_INSTANCES |
                 (mig.has_mig ? WEIR_GPU_HAS_MIG_MODE | WEIR_GPU_HAS_PROFILES : 0),
        .mig_mode = mig.is_on,
        .mig_pending = mig.is_on != mig.is_pending,
        .pci_id = 0x10de20b2,
        .memory_total_bytes = (int64_t)80 << 30,
        .profiles = profiles,
        .n_profiles = mig.has_mig ? 2 : 0,
        .instances = instances,
        .n_instances = n,
    };
    *ret_devices = device;
    *ret_n = 1;
    return 0;
}

static inline int mig_ask(void *ctx, const struct weir_gpu_mig_request *request,
                          uint64_t *ret_ticket, struct weir_err *err)
{
    (void)ctx;
    if (mig.refuses < 0)
        return weir_error(err, mig.refuses, "it hangs");
    assert_in_range(mig.n_requests, 0, MIG_REQUESTS_MAX - 1);
    mig.requests[mig.n_requests++] = *request;
    *ret_ticket = mig.n_requests;
    return 0;
}

static const struct weir_gpu_port mig_port = {.list = mig_list, .mig = mig_ask};

static inline int mig_set_up(void **state)
{
    (void)state;
    memset(&mig, 0, sizeof(mig));
    mig.has_mig = true;
    mig.is_on = true;
    app_rig_init(&rig);
    rig.own_gpus = &mig_port;
    app_rig_crash(&rig); /* the rig's own GPUs were never */
    return 0;
}

static inline int mig_tear_down(void **state)
{
    (void)state;
    app_rig_finish(&rig);
    return 0;
}

static inline void mig_tick(void)
{
    assert_int_equal(app_rig_tick(&rig), 0);
    app_rig_begin_all(&rig);
    assert_int_equal(app_rig_tick(&rig), 0);
}

/* The driver is read again, and what follows is decided. */
static inline void mig_look(void)
{
    weir_server_look(&rig.server, true);
    mig_tick();
}

static inline void mig_submit(const char *spec)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (app_rig_submit(&rig, spec, "", &err) < 0)
        fail_msg("%s", err.text);
    mig_tick();
}

/* What the request says is done, or fails so; told, but not read yet. */
static inline void mig_answer(uint32_t ticket, int code)
{
    const struct weir_gpu_mig_request *request = &mig.requests[ticket - 1];
    struct weir_gpu_mig_result result = {.ticket = ticket};

    if (code < 0)
        weir_error(&result.err, code, "it is in use");
    else if (request->action == WEIR_GPU_MIG_CREATE)
        mig.at[request->start] = (struct mig_instance){.profile = request->profile_id};
    else if (request->action == WEIR_GPU_MIG_DESTROY)
        mig.at[request->gpu_instance - 1] = (struct mig_instance){.profile = 0};
    else
        mig.is_on = request->action == WEIR_GPU_MIG_ENABLE;
    if (rig.server.edit != NULL)
        weir_server_reshaped(&rig.server, &result);
}

/* "1g.10gb@0:there 3g.40gb@4:making": the rows of instances, by slot. */
static inline const char *mig_rows(void)
{
    static const char *const phases[] = {"there", "making", "unmaking", "switching"};
    static char text[512];
    const struct weir_world *world = weir_edit_view(rig.server.edit);
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t slot = 0; slot < MIG_SLOTS; slot++) {
        for (uint32_t i = weir_world_first(world, WEIR_TABLE_DEVICES); i != WEIR_NONE;
             i = weir_world_after(world, WEIR_TABLE_DEVICES, i)) {
            const struct weir_device *row = weir_world_device(world, i);

            if (row->kind != WEIR_DEVICE_MIG || row->slots == 0 ||
                (uint32_t)__builtin_ctz(row->slots) != slot)
                continue;
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s@%u:%s", n > 0 ? " " : "",
                                  WEIR_STR_ARG(weir_world_mig_name(world, row->mig_profile)), slot,
                                  row->health == WEIR_DEVICE_LOST ? "lost" : phases[row->phase]);
        }
    }
    return text;
}

static inline const struct weir_device *mig_gpu(void)
{
    const struct weir_world *world = weir_edit_view(rig.server.edit);

    return weir_world_device(world, weir_edit_find_device(rig.server.edit, WEIR_STR("GPU-0")));
}

#define MIG_TEST(name) cmocka_unit_test_setup_teardown(name, mig_set_up, mig_tear_down)

#endif

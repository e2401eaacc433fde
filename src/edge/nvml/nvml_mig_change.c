#include "edge/nvml/nvml_internal.h"

#include "base/err.h"

#include <stdio.h>
#include <string.h>

enum { INSTANCES_MAX = 64 };

static int set_mode(struct weir_nvml_reader *reader, bool enable,
                    struct weir_gpu_mig_result *result, struct weir_err *err)
{
    const struct weir_nvml_symbols *call = reader->call;
    const char *what = enable ? "turn MIG on" : "turn MIG off";
    int activation = WEIR_NVML_SUCCESS;
    int answer;

    if (call->mig_set_mode == NULL)
        return weir_nvml_fail(call, WEIR_NVML_FUNCTION_NOT_FOUND, what, err);
    answer = call->mig_set_mode(reader->handle,
                                enable ? WEIR_NVML_MIG_ENABLE : WEIR_NVML_MIG_DISABLE, &activation);
    if (answer != WEIR_NVML_SUCCESS)
        return weir_nvml_fail(call, answer, what, err);
    /* Where no reset can be done from here it is the mode after the next one. */
    result->needs_reset = activation == WEIR_NVML_RESET_REQUIRED;
    return activation == WEIR_NVML_SUCCESS || result->needs_reset
               ? 0
               : weir_nvml_fail(call, activation, what, err);
}

/* The compute profile that takes the whole GPU instance: the one with the most slices. */
static int find_whole(struct weir_nvml_reader *reader, struct weir_nvml_gi_handle *instance,
                      uint32_t *ret_profile_id)
{
    uint32_t most = 0;

    for (uint32_t number = 0; number < WEIR_NVML_CI_PROFILE_COUNT; number++) {
        struct weir_nvml_ci_profile_info_v1 info = {.id = 0};

        if (reader->call->ci_profile(instance, number, WEIR_NVML_CI_ENGINE_SHARED, &info) !=
                WEIR_NVML_SUCCESS ||
            info.slices <= most)
            continue;
        most = info.slices;
        *ret_profile_id = info.id;
    }
    return most > 0 ? WEIR_NVML_SUCCESS : WEIR_NVML_NOT_SUPPORTED;
}

static int fill(struct weir_nvml_reader *reader, struct weir_nvml_gi_handle *instance,
                struct weir_gpu_mig_result *result)
{
    struct weir_nvml_ci_handle *compute = NULL;
    struct weir_nvml_ci_info_v2 info = {.id = 0};
    uint32_t profile_id = 0;
    int answer = find_whole(reader, instance, &profile_id);

    if (answer == WEIR_NVML_SUCCESS)
        answer = reader->call->ci_create(instance, profile_id, &compute);
    if (answer == WEIR_NVML_SUCCESS)
        answer = reader->call->ci_info(compute, &info);
    result->compute_instance = info.id;
    return answer;
}

static int create_instance(struct weir_nvml_reader *reader,
                           const struct weir_gpu_mig_request *request,
                           struct weir_nvml_gi_handle **ret)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_placement place = {(uint32_t)request->start, request->size};

    if (request->start == WEIR_GPU_ANY_PLACE)
        return call->gi_create(reader->handle, request->profile_id, ret);
    return call->gi_create_at != NULL
               ? call->gi_create_at(reader->handle, request->profile_id, &place, ret)
               : WEIR_NVML_FUNCTION_NOT_FOUND;
}

static int create(struct weir_nvml_reader *reader, const struct weir_gpu_mig_request *request,
                  struct weir_gpu_mig_result *result, struct weir_err *err)
{
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_gi_handle *instance = NULL;
    struct weir_nvml_gi_info info = {.id = 0};
    int answer;

    if (call->gi_create == NULL || call->gi_info == NULL || call->gi_destroy == NULL ||
        call->ci_profile == NULL || call->ci_create == NULL || call->ci_info == NULL)
        return weir_nvml_fail(call, WEIR_NVML_FUNCTION_NOT_FOUND, "make a GPU instance", err);
    answer = create_instance(reader, request, &instance);
    if (answer != WEIR_NVML_SUCCESS)
        return weir_nvml_fail(call, answer, "make a GPU instance", err);
    answer = call->gi_info(instance, &info);
    result->gpu_instance = info.id;
    result->placement = (struct weir_gpu_placement){info.placement.start, info.placement.size};
    if (answer == WEIR_NVML_SUCCESS)
        answer = fill(reader, instance, result);
    if (answer == WEIR_NVML_SUCCESS)
        return 0;
    /* Half of it is of no use to anyone. */
    call->gi_destroy(instance);
    return weir_nvml_fail(call, answer, "make the compute instance of a GPU instance", err);
}

/* The profiles of compute instances that were destroyed. */
struct destroyed {
    uint32_t profiles[INSTANCES_MAX];
    uint32_t n;
};

static int destroy_compute(struct weir_nvml_reader *reader, struct weir_nvml_gi_handle *instance,
                           struct destroyed *destroyed)
{
    const struct weir_nvml_symbols *call = reader->call;

    for (uint32_t number = 0; number < WEIR_NVML_CI_PROFILE_COUNT; number++) {
        struct weir_nvml_ci_profile_info_v1 info = {.id = 0};
        struct weir_nvml_ci_handle *found[INSTANCES_MAX];
        unsigned n = INSTANCES_MAX;

        if (call->ci_profile(instance, number, WEIR_NVML_CI_ENGINE_SHARED, &info) !=
                WEIR_NVML_SUCCESS ||
            info.instances > INSTANCES_MAX ||
            call->ci_list(instance, info.id, found, &n) != WEIR_NVML_SUCCESS)
            continue;
        for (unsigned i = 0; i < n && i < INSTANCES_MAX; i++) {
            int answer = call->ci_destroy(found[i]);

            if (answer != WEIR_NVML_SUCCESS)
                return answer;
            if (destroyed->n < INSTANCES_MAX)
                destroyed->profiles[destroyed->n++] = info.id;
        }
    }
    return WEIR_NVML_SUCCESS;
}

/* A GPU instance that could not be destroyed serves again. Where that fails, too, it is seen to
 * serve nobody. */
static void make_again(struct weir_nvml_reader *reader, struct weir_nvml_gi_handle *instance,
                       const struct destroyed *destroyed)
{
    for (uint32_t i = 0; reader->call->ci_create != NULL && i < destroyed->n; i++) {
        struct weir_nvml_ci_handle *compute = NULL;

        if (reader->call->ci_create(instance, destroyed->profiles[i], &compute) !=
            WEIR_NVML_SUCCESS)
            return;
    }
}

static int destroy(struct weir_nvml_reader *reader, uint32_t id, struct weir_err *err)
{
    struct destroyed destroyed = {.n = 0};
    const struct weir_nvml_symbols *call = reader->call;
    struct weir_nvml_gi_handle *instance = NULL;
    char what[64];
    int answer;

    snprintf(what, sizeof(what), "destroy GPU instance %u", id);
    if (call->gi_by_id == NULL || call->gi_destroy == NULL || call->ci_profile == NULL ||
        call->ci_list == NULL || call->ci_destroy == NULL)
        return weir_nvml_fail(call, WEIR_NVML_FUNCTION_NOT_FOUND, what, err);
    answer = call->gi_by_id(reader->handle, id, &instance);
    if (answer == WEIR_NVML_SUCCESS)
        answer = destroy_compute(reader, instance, &destroyed);
    if (answer == WEIR_NVML_SUCCESS)
        answer = call->gi_destroy(instance);
    if (answer != WEIR_NVML_SUCCESS)
        make_again(reader, instance, &destroyed);
    return answer == WEIR_NVML_SUCCESS ? 0 : weir_nvml_fail(call, answer, what, err);
}

static int carry_out(struct weir_nvml_reader *reader, const struct weir_gpu_mig_request *request,
                     struct weir_gpu_mig_result *result, struct weir_err *err)
{
    switch (request->action) {
    case WEIR_GPU_MIG_ENABLE:
        return set_mode(reader, true, result, err);
    case WEIR_GPU_MIG_DISABLE:
        return set_mode(reader, false, result, err);
    case WEIR_GPU_MIG_CREATE:
        return create(reader, request, result, err);
    case WEIR_GPU_MIG_DESTROY:
        return destroy(reader, request->gpu_instance, err);
    case WEIR_GPU_MIG_ACTION_MAX:
        break;
    }
    return weir_error(err, WEIR_E_INVALID, "no such change of MIG: %d", (int)request->action);
}

void weir_nvml_change_mig(const struct weir_nvml *nvml, const struct weir_gpu_mig_request *request,
                          struct weir_gpu_mig_result *ret_result)
{
    struct weir_nvml_reader reader = {&nvml->call, NULL, NULL, WEIR_NVML_SUCCESS};
    struct weir_gpu_mig_result result = {.ticket = ret_result->ticket};
    char uuid[WEIR_NVML_UUID_BYTES];
    int answer;

    snprintf(uuid, sizeof(uuid), "%.*s", WEIR_STR_ARG(request->uuid));
    answer = nvml->call.by_uuid(uuid, &reader.handle);
    if (answer != WEIR_NVML_SUCCESS)
        weir_nvml_fail(&nvml->call, answer, "find the GPU", &result.err);
    else
        carry_out(&reader, request, &result, &result.err);
    if (result.err.code != 0)
        weir_error_wrap(&result.err, "%s", uuid);
    *ret_result = result;
}

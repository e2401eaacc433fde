#include "base/count.h"
#include "edge/nvml/simlib/simlib.h"

#include <stdio.h>

API const char *nvmlErrorString(int result);
API int nvmlSystemGetDriverVersion(char *version, unsigned length);
API int nvmlSystemGetNVMLVersion(char *version, unsigned length);
API int nvmlSystemGetCudaDriverVersion(int *version);
API int nvmlSystemGetCudaDriverVersion_v2(int *version);
API int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length);
API int nvmlUnitGetCount(unsigned *count);
API int nvmlDeviceGetCount(unsigned *count);
API int nvmlDeviceGetCount_v2(unsigned *count);
API int nvmlDeviceGetHandleByIndex(unsigned index, struct weir_nvml_handle **ret);
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct weir_nvml_handle **ret);

int weir_sim_text(char *out, unsigned room, const char *text)
{
    size_t size = strlen(text) + 1;

    if (out == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    if (size > room)
        return WEIR_NVML_INSUFFICIENT_SIZE;
    memcpy(out, text, size);
    return WEIR_NVML_SUCCESS;
}

const char *nvmlErrorString(int result)
{
    static const struct {
        int result;
        const char *text;
    } texts[] = {
        {WEIR_NVML_SUCCESS, "Success"},
        {WEIR_NVML_UNINITIALIZED, "Uninitialized"},
        {WEIR_NVML_INVALID_ARGUMENT, "Invalid Argument"},
        {WEIR_NVML_NOT_SUPPORTED, "Not Supported"},
        {WEIR_NVML_NO_PERMISSION, "Insufficient Permissions"},
        {WEIR_NVML_NOT_FOUND, "Not Found"},
        {WEIR_NVML_INSUFFICIENT_SIZE, "Insufficient Size"},
        {WEIR_NVML_DRIVER_NOT_LOADED, "Driver Not Loaded"},
        {WEIR_NVML_TIMEOUT, "Timeout"},
        {WEIR_NVML_FUNCTION_NOT_FOUND, "Function Not Found"},
        {WEIR_NVML_GPU_IS_LOST, "GPU is lost"},
        {WEIR_NVML_RESET_REQUIRED, "GPU requires reset"},
        {WEIR_NVML_OPERATING_SYSTEM, "Operating system error"},
        {WEIR_NVML_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch"},
        {WEIR_NVML_IN_USE, "In use by another client"},
        {WEIR_NVML_MEMORY, "Insufficient Memory"},
        {WEIR_NVML_NO_DATA, "No data"},
        {WEIR_NVML_INSUFFICIENT_RESOURCES, "Insufficient Resources"},
        {WEIR_NVML_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch"},
        {WEIR_NVML_GPU_NOT_FOUND, "GPU not found"},
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(texts); i++)
        if (texts[i].result == result)
            return texts[i].text;
    return "Unknown Error";
}

static int system_text(char *out, unsigned length, size_t offset)
{
    char text[WEIR_NVML_VERSION_BYTES];
    int result = weir_sim_header(text, offset, sizeof(text));

    if (result != WEIR_NVML_SUCCESS)
        return result;
    text[sizeof(text) - 1] = '\0';
    return weir_sim_text(out, length, text);
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    return system_text(version, length, offsetof(struct weir_sim_header, driver_version));
}

int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    return system_text(version, length, offsetof(struct weir_sim_header, nvml_version));
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    return weir_sim_header(version, offsetof(struct weir_sim_header, cuda_version),
                           sizeof(*version));
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
    char path[64];
    char text[1024];
    FILE *file;
    size_t n;
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    file = fopen(path, "re");
    if (file == NULL)
        return WEIR_NVML_NOT_FOUND;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    return weir_sim_text(name, length, text);
}

int nvmlUnitGetCount(unsigned *count)
{
    int result = weir_sim_ready();

    if (result != WEIR_NVML_SUCCESS)
        return result;
    if (count == NULL)
        return WEIR_NVML_INVALID_ARGUMENT;
    *count = 0;
    return WEIR_NVML_SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    return weir_sim_header(count, offsetof(struct weir_sim_header, n_devices), sizeof(*count));
}

int nvmlDeviceGetCount(unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct weir_nvml_handle **ret)
{
    struct weir_nvml_handle *handle = weir_sim_gpu_handle(index);
    struct weir_sim_view view;
    int result = weir_sim_look_with(handle, ret, WEIR_SIM_ACCEPT_RESET, &view);

    if (result == WEIR_NVML_SUCCESS)
        *ret = handle;
    return result;
}

int nvmlDeviceGetHandleByIndex(unsigned index, struct weir_nvml_handle **ret)
{
    return nvmlDeviceGetHandleByIndex_v2(index, ret);
}

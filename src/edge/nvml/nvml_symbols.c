#include "edge/nvml/nvml_symbols.h"

#include "base/count.h"

#include <dlfcn.h>
#include <string.h>

struct wanted {
    size_t at; /* in struct weir_nvml_symbols */
    bool is_required;
    const char *names[3]; /* newest first */
};

#define AT(member) offsetof(struct weir_nvml_symbols, member)

static const struct wanted table[] = {
    {AT(init), true, {"nvmlInit_v2", "nvmlInit", NULL}},
    {AT(shutdown), true, {"nvmlShutdown", NULL, NULL}},
    {AT(count), true, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", NULL}},
    {AT(by_index), true, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", NULL}},
    {AT(uuid), true, {"nvmlDeviceGetUUID", NULL, NULL}},
    {AT(by_uuid), true, {"nvmlDeviceGetHandleByUUID", NULL, NULL}},
    {AT(error_string), false, {"nvmlErrorString", NULL, NULL}},
    {AT(driver_version), false, {"nvmlSystemGetDriverVersion", NULL, NULL}},
    {AT(name), false, {"nvmlDeviceGetName", NULL, NULL}},
    {AT(serial), false, {"nvmlDeviceGetSerial", NULL, NULL}},
    {AT(node), false, {"weirSimDeviceGetNode", NULL, NULL}},
    {AT(minor), false, {"nvmlDeviceGetMinorNumber", NULL, NULL}},
    {AT(pci_info),
     false,
     {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}},
    {AT(memory_v2), false, {"nvmlDeviceGetMemoryInfo_v2", NULL, NULL}},
    {AT(memory_v1), false, {"nvmlDeviceGetMemoryInfo", NULL, NULL}},
    {AT(compute_capability), false, {"nvmlDeviceGetCudaComputeCapability", NULL, NULL}},
    {AT(mig_mode), false, {"nvmlDeviceGetMigMode", NULL, NULL}},
};

static void *find(void *library, const char *const names[3])
{
    for (int i = 0; i < 3 && names[i] != NULL; i++) {
        void *symbol = dlsym(library, names[i]);

        if (symbol != NULL)
            return symbol;
    }
    return NULL;
}

/* In driver 535.43 to 535.86 the _v3 functions fill records of 32 bytes instead of 24. Those
 * drivers have the first of these functions and not yet the second. */
static bool has_wide_records(void *library)
{
    return dlsym(library, "nvmlDeviceGetConfComputeMemSizeInfo") != NULL &&
           dlsym(library, "nvmlDeviceGetRunningProcessDetailList") == NULL;
}

static struct weir_nvml_process_list find_list(void *library, const char *v3, const char *v2,
                                               const char *v1)
{
    const char *const newest[3] = {v3, v2, NULL};
    const char *const safe[3] = {v2, NULL, NULL};
    const char *const oldest[3] = {v1, NULL, NULL};
    struct weir_nvml_process_list list = {NULL, false};
    void *symbol = find(library, has_wide_records(library) ? safe : newest);

    if (symbol == NULL) {
        symbol = find(library, oldest);
        list.is_v1 = true;
    }
    memcpy(&list.call, &symbol, sizeof(symbol));
    return list;
}

const char *weir_nvml_symbols_load(void *library, struct weir_nvml_symbols *ret_symbols)
{
    struct weir_nvml_symbols symbols = {0};

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++) {
        void *symbol = find(library, table[i].names);

        if (symbol == NULL && table[i].is_required)
            return table[i].names[0];
        memcpy((char *)&symbols + table[i].at, &symbol, sizeof(symbol));
    }
    symbols.compute = find_list(library, "nvmlDeviceGetComputeRunningProcesses_v3",
                                "nvmlDeviceGetComputeRunningProcesses_v2",
                                "nvmlDeviceGetComputeRunningProcesses");
    symbols.graphics = find_list(library, "nvmlDeviceGetGraphicsRunningProcesses_v3",
                                 "nvmlDeviceGetGraphicsRunningProcesses_v2",
                                 "nvmlDeviceGetGraphicsRunningProcesses");
    symbols.mps = find_list(library, "nvmlDeviceGetMPSComputeRunningProcesses_v3",
                            "nvmlDeviceGetMPSComputeRunningProcesses_v2",
                            "nvmlDeviceGetMPSComputeRunningProcesses");
    *ret_symbols = symbols;
    return NULL;
}

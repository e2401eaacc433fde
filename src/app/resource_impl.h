/* app/resource_impl.h — what the files of resource*.c share. */
#ifndef WEIR_APP_RESOURCE_IMPL_H
#define WEIR_APP_RESOURCE_IMPL_H

#include "app/resource.h"

struct weir_resource_numbers {
    int64_t gpus_mgpu;
    int64_t gpu_memory_bytes; /* of each GPU at least, or its budget on one */
    bool has_budget;          /* on a GPU beside others: what of it that is, is not known yet */
    int64_t cpu_mcpu;
    int64_t memory_bytes;
    int64_t members;
    int64_t min_members;
    int64_t array;
    int64_t priority;
    int64_t retries;
};

/* ---- resource_gpu.c ---- */
/* "gpu/H100" or "mig/1g.10gb", the key of an amount, as a resource. */
int weir_resource_class_of_key(const struct weir_tree *node, struct weir_edit *edit,
                               enum weir_resource_origin origin, uint32_t *ret_resource,
                               struct weir_err *err);
/* What does not go together of gpus, gpuMemory and mig. */
int weir_resource_check_gpus(const struct weir_tree *spec, const struct weir_resource_numbers *n,
                             struct weir_err *err);
int weir_resource_shape(const struct weir_tree *spec, const struct weir_resource_numbers *n,
                        enum weir_resource_origin origin, struct weir_edit *edit,
                        struct weir_shape *shape, struct weir_err *err);

#endif

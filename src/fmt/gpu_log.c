#include "fmt/gpu_log.h"

#include "base/count.h"
#include "fmt/gpu_log_scan.h"

enum weir_gpu_log_kind weir_gpu_log_read(struct weir_str line, struct weir_gpu_log *ret_log)
{
    static const struct weir_gpu_log nothing = {
        .gpu_instance = -1,
        .compute_instance = -1,
        .pid = -1,
        .action_from = WEIR_GPU_LOG_ACTION_NONE,
        .action_to = WEIR_GPU_LOG_ACTION_NONE,
        .link = WEIR_GPU_LOG_NO_LINK,
        .gpc = -1,
        .tpc = -1,
    };
    bool (*const shapes[])(struct weir_str, struct weir_gpu_log *) = {weir_gpu_log_read_xid,
                                                                      weir_gpu_log_read_sxid,
                                                                      weir_gpu_log_read_aer,
                                                                      weir_gpu_log_read_other};
    struct weir_str trimmed = weir_str_trim(line);

    for (size_t i = 0; i < WEIR_COUNT_OF(shapes); i++) {
        *ret_log = nothing;
        if (shapes[i](trimmed, ret_log))
            return ret_log->kind;
    }
    *ret_log = nothing;
    return WEIR_GPU_LOG_NONE;
}

/* app/gpu_codec.h — what a GPU is, as the JSON that the store keeps of it: by it a GPU that does
 * not answer is still known. What changes by itself (limits, links, samples) is not in it. */
#ifndef WEIR_APP_GPU_CODEC_H
#define WEIR_APP_GPU_CODEC_H

#include "port/gpu.h"

struct weir_buf;

int weir_gpu_encode(const struct weir_gpu_device *gpu, struct weir_buf *out, struct weir_err *err);
/* Everything but the uuid, the state and the cause. It lives in the arena. WEIR_E_INVALID: it is
 * not of that form. */
int weir_gpu_decode(struct weir_str text, struct weir_arena *arena, struct weir_gpu_device *ret_gpu,
                    struct weir_err *err);

#endif

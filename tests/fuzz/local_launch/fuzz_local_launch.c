/* A launch request's body: what decodes must satisfy the check, and encode to the same bytes. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "edge/local/launch.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_buf buf = WEIR_BUF_INIT(64 << 20);
    struct weir_attempt_id id;
    struct weir_launch launch;
    struct weir_launch again;

    if (weir_launch_decode((const char *)data, size, &arena, &id, &launch, NULL) == 0) {
        WEIR_ASSERT(weir_launch_check(&launch, NULL) == 0);
        WEIR_ASSERT(weir_launch_encode(&launch, &buf, NULL) == 0);
        WEIR_ASSERT(buf.len == WEIR_LAUNCH_HEAD_BYTES + size);
        WEIR_ASSERT(weir_launch_decode(buf.data + WEIR_LAUNCH_HEAD_BYTES, size, &arena, &id, &again,
                                       NULL) == 0);
        WEIR_ASSERT(strcmp(again.cwd, launch.cwd) == 0);
    }
    weir_buf_finish(&buf);
    weir_arena_finish(&arena);
    return 0;
}

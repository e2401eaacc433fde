/* Input: 4 bytes (little-endian) length of a keyframe, the keyframe, a delta against it. Both get
 * the layout of this build, so that seeds outlive a change of it as far as they can. What reads
 * back and passes the check is written again byte for byte and worked with to the end. */
#include "base/buf.h"
#include "base/err.h"
#include "model/world_check.h"
#include "model/world_codec.h"
#include "model/world_edit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void exercise(const struct weir_world *world)
{
    struct weir_edit *fork = weir_edit_fork(world);
    const struct weir_world *then;

    WEIR_ASSERT(fork != NULL);
    for (uint32_t i = weir_world_first(world, WEIR_TABLE_WORKLOADS); i != WEIR_NONE;
         i = weir_world_after(world, WEIR_TABLE_WORKLOADS, i))
        WEIR_ASSERT(weir_edit_remove_workload(fork, i) == 0);
    then = weir_edit_seal(fork);
    WEIR_ASSERT(then != NULL && weir_world_check(then, NULL) == 0);
    weir_world_unref(then);
    weir_edit_destroy(fork);
}

static const struct weir_world *run(const uint8_t *data, size_t size, const struct weir_world *base)
{
    struct weir_buf again = WEIR_BUF_INIT(BYTES_MAX);
    struct weir_err err = WEIR_ERR_INIT;
    const struct weir_world *world = NULL;
    uint64_t layout = weir_world_layout();
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    int r;

    WEIR_ASSERT(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    if (size >= sizeof(layout))
        memcpy(bytes, &layout, sizeof(layout));
    r = weir_world_read(weir_str_n((const char *)bytes, size), base, &world, &err);
    WEIR_ASSERT((r == 0) == (err.code == 0));
    if (r == 0) {
        r = weir_world_write(world, world->is_keyframe ? NULL : base, &again);
        WEIR_ASSERT(r == 0 && again.len == size && memcmp(again.data, bytes, size) == 0);
        r = weir_world_check(world, &err);
        WEIR_ASSERT(r == 0 || err.text[0] != '\0');
        if (r == 0)
            exercise(world);
    }
    if (r < 0) {
        weir_world_unref(world);
        world = NULL;
    }
    weir_buf_finish(&again);
    free(bytes);
    return world;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct weir_world *base;
    const struct weir_world *world;
    size_t n;

    if (size < 4 || size > 1 << 20)
        return 0;
    n = data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 | (size_t)data[3] << 24;
    data += 4;
    size -= 4;
    if (n > size)
        n = size;
    base = run(data, n, NULL);
    world = run(data + n, size - n, base);
    weir_world_unref(world);
    weir_world_unref(base);
    return 0;
}

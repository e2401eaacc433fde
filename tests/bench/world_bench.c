/* What versions cost: sealing with ten changed rows, the delta of that, the check, a keyframe. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/world_check.h"
#include "model/world_codec.h"
#include "world_history.h"

#include <inttypes.h>
#include <stdio.h>

enum { BYTES_MAX = 256 << 20, ROUNDS = 2000, CHANGED = 10 };

static void change_some(struct history *history)
{
    for (int i = 0; i < CHANGED; i++) {
        struct weir_workload *row =
            weir_edit_workload(history->edit, history_any(history, WEIR_TABLE_WORKLOADS));

        WEIR_ASSERT(row != NULL);
        row->n_failures++;
    }
}

static void bench_versions(struct history *history, const struct weir_world *world)
{
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);
    int64_t edit_us = 0;
    int64_t seal_us = 0;
    int64_t write_us = 0;
    size_t n_bytes = 0;

    weir_world_ref(world);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t at = weir_clock_mono_us();
        const struct weir_world *next;

        change_some(history);
        edit_us += weir_clock_mono_us() - at;
        at = weir_clock_mono_us();
        next = weir_edit_seal(history->edit);
        WEIR_ASSERT(next != NULL);
        seal_us += weir_clock_mono_us() - at;
        weir_buf_reset(&bytes);
        at = weir_clock_mono_us();
        WEIR_ASSERT(weir_world_write(next, world, &bytes) == 0);
        write_us += weir_clock_mono_us() - at;
        n_bytes += bytes.len;
        weir_world_unref(world);
        world = next;
    }
    printf("  %d changed rows: change %.1f us, seal %.1f us, delta %.1f us and %zu bytes\n",
           CHANGED, (double)edit_us / ROUNDS, (double)seal_us / ROUNDS, (double)write_us / ROUNDS,
           n_bytes / ROUNDS);
    weir_world_unref(world);
    weir_buf_finish(&bytes);
}

static void bench_whole(const struct weir_world *world)
{
    struct weir_buf bytes = WEIR_BUF_INIT(BYTES_MAX);
    const struct weir_world *back;
    int64_t at = weir_clock_mono_us();
    int64_t check_us;
    int64_t write_us;

    WEIR_ASSERT(weir_world_check(world, NULL) == 0);
    check_us = weir_clock_mono_us() - at;
    at = weir_clock_mono_us();
    WEIR_ASSERT(weir_world_write(world, NULL, &bytes) == 0);
    write_us = weir_clock_mono_us() - at;
    at = weir_clock_mono_us();
    WEIR_ASSERT(weir_world_read(weir_buf_view(&bytes), NULL, &back, NULL) == 0);
    printf("  check %" PRId64 " us; keyframe of %zu bytes: write %" PRId64 " us, read %" PRId64
           " us\n",
           check_us, bytes.len, write_us, weir_clock_mono_us() - at);
    weir_world_unref(back);
    weir_buf_finish(&bytes);
}

static void bench(uint32_t n_nodes, uint32_t n_workloads)
{
    struct history history;
    const struct weir_world *world;
    int64_t at = weir_clock_mono_us();

    WEIR_ASSERT(history_init(&history, 1, 0, 0) == 0);
    WEIR_ASSERT(history_fill(&history, n_nodes, n_workloads) == 0);
    world = weir_edit_seal(history.edit);
    WEIR_ASSERT(world != NULL);
    printf("%u nodes, %u devices, %u workloads: built in %" PRId64 " us\n", n_nodes, n_nodes * 8,
           n_workloads, weir_clock_mono_us() - at);
    bench_versions(&history, world);
    bench_whole(world);
    weir_world_unref(world);
    history_finish(&history);
}

int main(void)
{
    bench(2, 100);
    bench(2, 10000);
    bench(125, 10000);
    bench(12500, 100000);
    return 0;
}

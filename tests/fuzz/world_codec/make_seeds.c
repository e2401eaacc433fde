/* Writes the seeds of the fuzz target: make-world-seeds FOLDER. Run it again when a row changes;
 * with a 'w' before them they are those of fuzz/decide, too. */
#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "model/world_codec.h"
#include "world_history.h"

#include <stdio.h>

enum { BYTES_MAX = 1 << 20 };

static const struct weir_world *grown(struct history *history, unsigned n_steps)
{
    const struct weir_world *world;

    WEIR_ASSERT(history_run(history, n_steps) == 0);
    world = weir_edit_seal(history->edit);
    WEIR_ASSERT(world != NULL);
    return world;
}

static void write_seed(const char *folder, unsigned number, unsigned n_steps, unsigned n_more)
{
    struct weir_buf whole = WEIR_BUF_INIT(BYTES_MAX);
    struct weir_buf out = WEIR_BUF_INIT(BYTES_MAX);
    struct history history;
    const struct weir_world *base;
    const struct weir_world *world;
    char path[4096];
    FILE *file;

    WEIR_ASSERT(history_init(&history, number, 1, 1) == 0);
    base = grown(&history, n_steps);
    world = grown(&history, n_more);
    WEIR_ASSERT(weir_world_write(base, NULL, &whole) == 0);
    for (int i = 0; i < 4; i++)
        weir_buf_putc(&out, (char)(whole.len >> 8 * i));
    weir_buf_str(&out, weir_buf_view(&whole));
    WEIR_ASSERT(weir_world_write(world, base, &out) == 0);
    snprintf(path, sizeof(path), "%s/history-%u-%u-%u", folder, number, n_steps, n_more);
    file = fopen(path, "wb");
    WEIR_ASSERT(file != NULL && fwrite(out.data, 1, out.len, file) == out.len && fclose(file) == 0);
    weir_world_unref(base);
    weir_world_unref(world);
    history_finish(&history);
    weir_buf_finish(&whole);
    weir_buf_finish(&out);
}

int main(int argc, char **argv)
{
    static const unsigned steps[][2] = {{0, 0}, {5, 3}, {20, 5}, {60, 10}, {100, 30}};

    if (argc != 2)
        return 2;
    for (unsigned i = 0; i < WEIR_COUNT_OF(steps); i++)
        write_seed(argv[1], i, steps[i][0], steps[i][1]);
    return 0;
}

/* Nothing the reader is given makes it read past its end; and a sample it read, written again,
 * reads as the same sample. */
#include "base/arena.h"
#include "base/err.h"
#include "fmt/prom.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool cond)
{
    if (!cond)
        abort();
}

static void must_equal(const struct weir_prom_sample *a, const struct weir_prom_sample *b)
{
    must(weir_str_eq(a->name, b->name));
    must(a->n_labels == b->n_labels);
    must(isnan(a->value) ? isnan(b->value) : memcmp(&a->value, &b->value, sizeof(double)) == 0);
    must(a->has_time == b->has_time && a->wall_ms == b->wall_ms);
    for (size_t i = 0; i < a->n_labels; i++) {
        must(weir_str_eq(a->labels[i].name, b->labels[i].name));
        must(weir_str_eq(a->labels[i].value, b->labels[i].value));
    }
}

static void write_again(const struct weir_prom_sample *sample)
{
    struct weir_buf out = WEIR_BUF_INIT(1 << 20);
    struct weir_arena arena = WEIR_ARENA_INIT;
    char *name = weir_str_dup(sample->name, &arena);
    struct weir_prom prom;
    struct weir_prom_reader reader;
    struct weir_prom_sample again;

    must(name != NULL);
    weir_prom_init(&prom, &out);
    weir_prom_family(&prom, name, sample->type, "");
    if (sample->has_time)
        weir_prom_f64_at(&prom, "", sample->labels, sample->n_labels, sample->value,
                         sample->wall_ms);
    else
        weir_prom_f64(&prom, "", sample->labels, sample->n_labels, sample->value);
    must(weir_prom_finish(&prom, NULL) == 0);
    weir_prom_reader_init(&reader, weir_buf_view(&out));
    must(weir_prom_next(&reader, &arena, &again, NULL) == 1);
    must_equal(sample, &again);
    must(weir_prom_next(&reader, &arena, &again, NULL) == 0);
    weir_prom_reader_finish(&reader);
    weir_arena_finish(&arena);
    weir_buf_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_prom_reader reader;
    struct weir_prom_sample sample;
    struct weir_err err = WEIR_ERR_INIT;
    int code;

    weir_prom_reader_init(&reader, weir_str_n((const char *)data, size));
    while ((code = weir_prom_next(&reader, &arena, &sample, &err)) != 0) {
        if (code == 1)
            write_again(&sample);
        else
            must(err.line > 0 && err.column > 0);
    }
    weir_prom_reader_finish(&reader);
    weir_arena_finish(&arena);
    return 0;
}

/* The first byte chooses what is read (bit 0: responses, bit 1: to HEAD) and where it is cut. What
 * the reader says may not depend on the cuts. */
#include "../../support/http1_transcript.h"

#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BODY_MAX = 4096 };

static void feed(struct transcript *t, const uint8_t *data, size_t n)
{
    char *copy = malloc(n > 0 ? n : 1);

    if (copy == NULL)
        abort();
    if (n > 0)
        memcpy(copy, data, n);
    transcript_feed(t, weir_str_n(copy, n));
    free(copy);
}

static void read_cut(struct transcript *t, uint8_t mode, const uint8_t *data, size_t size,
                     size_t step)
{
    transcript_init(t, (mode & 1) != 0 ? WEIR_HTTP1_RESPONSE : WEIR_HTTP1_REQUEST, (mode & 2) != 0,
                    BODY_MAX);
    for (size_t at = 0; at < size; at += step)
        feed(t, data + at, step < size - at ? step : size - at);
    transcript_eof(t);
}

static void must_equal(const struct transcript *a, const struct transcript *b)
{
    if (a->text.len != b->text.len ||
        (a->text.len > 0 && memcmp(a->text.data, b->text.data, a->text.len) != 0)) {
        fprintf(stderr, "whole:\n%s\ncut:\n%s\n", weir_buf_cstr(&a->text), weir_buf_cstr(&b->text));
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct transcript whole;
    struct transcript cut;
    size_t steps[2];

    if (size < 1)
        return 0;
    steps[0] = 1;
    steps[1] = 2u + (data[0] >> 2);
    read_cut(&whole, data[0], data + 1, size - 1, size);
    for (int i = 0; i < 2; i++) {
        read_cut(&cut, data[0], data + 1, size - 1, steps[i]);
        must_equal(&whole, &cut);
        transcript_finish(&cut);
    }
    transcript_finish(&whole);
    return 0;
}

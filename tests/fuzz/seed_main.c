/* Runs a fuzz target over every file below the given folders: seeds and past crashes as ordinary
 * tests. */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned n_inputs;

/* Sources and dictionary of the target lie beside its seeds and crashes. */
static int is_of_the_target(const char *path)
{
    const char *end = strrchr(path, '.');

    return end != NULL &&
           (strcmp(end, ".c") == 0 || strcmp(end, ".h") == 0 || strcmp(end, ".dict") == 0);
}

static int run_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    FILE *file;
    uint8_t *data;
    size_t n;

    (void)at;
    if (type != FTW_F || is_of_the_target(path))
        return 0;
    file = fopen(path, "rb");
    data = malloc((size_t)st->st_size + 1);
    if (file == NULL || data == NULL)
        return 1;
    n = fread(data, 1, (size_t)st->st_size, file);
    fclose(file);
    /* An exact copy, so that a read past the end is seen. */
    uint8_t *exact = malloc(n > 0 ? n : 1);
    if (exact == NULL)
        return 1;
    for (size_t i = 0; i < n; i++)
        exact[i] = data[i];
    free(data);
    LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    n_inputs++;
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (nftw(argv[i], run_file, 16, FTW_PHYS) != 0) {
            fprintf(stderr, "cannot run %s\n", argv[i]);
            return 1;
        }
    printf("%u inputs\n", n_inputs);
    return n_inputs > 0 ? 0 : 1;
}

/* A folder of its own for each test, removed with all that is in it. */
#ifndef WEIR_TEST_TEMP_DIR_H
#define WEIR_TEST_TEMP_DIR_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static char temp_dir[PATH_MAX];

static int temp_dir_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int temp_dir_make(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(temp_dir, sizeof(temp_dir), "%s/weir-test-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(temp_dir) != NULL ? 0 : -1;
}

static int temp_dir_remove(void **state)
{
    (void)state;
    return nftw(temp_dir, temp_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path of a file in the folder, until the next call but three. */
static inline const char *temp_path(const char *below)
{
    static char paths[4][PATH_MAX + 64];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", temp_dir, below);
    return path;
}

#endif

/* port/gpu_test.h — a command of the administrator's that tries a GPU before it serves again. */
#ifndef WEIR_PORT_GPU_TEST_H
#define WEIR_PORT_GPU_TEST_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_err;

struct weir_gpu_test {
    struct weir_str uuid;
    struct weir_str node;
    uint32_t index; /* of the GPU, as the driver counts */
};

struct weir_gpu_test_result {
    struct weir_str uuid;
    bool has_passed;
    struct weir_str how;    /* "exit status 3", "it took longer than 60 s" */
    struct weir_str output; /* the end of what it said on both streams */
};

typedef void (*weir_gpu_test_each)(void *arg, const struct weir_gpu_test_result *result);

/* One test at a time for a GPU. Nothing here waits. */
struct weir_gpu_test_port {
    void *ctx;
    /* NULL: there is no command. WEIR_E_UNAVAILABLE: as many as may run at once do. */
    int (*start)(void *ctx, const struct weir_gpu_test *test, struct weir_err *err);
    /* Ends it with all that it started; nothing is told of it any more. */
    void (*stop)(void *ctx, struct weir_str uuid);
    /* Gives out what has ended. To be called when notice_fd is readable, and once a second. */
    void (*collect)(void *ctx, weir_gpu_test_each each, void *arg);
    int notice_fd;
};

#endif

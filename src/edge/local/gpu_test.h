/* edge/local/gpu_test.h — port/gpu_test.h by processes of this machine.
 *
 * The command is a line for /bin/sh, which weir runs as its own user: the line is the
 * administrator's, and has to name the GPU ("dcgmi diag -r 1 -i $WEIR_GPU_INDEX"). It has a process
 * group of its own and dies with weir; what it left behind is known by its environment
 * (WEIR_GPU_TEST_OF=data directory), and is ended by the next weir_gpu_tests_open() there. */
#ifndef WEIR_EDGE_LOCAL_GPU_TEST_H
#define WEIR_EDGE_LOCAL_GPU_TEST_H

#include "port/gpu_test.h"

#include <stdint.h>

enum { WEIR_GPU_TESTS_MAX = 8, WEIR_GPU_TEST_OUTPUT_MAX = 4096 };

struct weir_gpu_tests;

/* command NULL: nothing can be started, and the strays of an earlier weir are ended. data_dir and
 * command are the caller's and live as long. ret_n_strays: how many were ended. */
int weir_gpu_tests_open(const char *data_dir, const char *command, int64_t timeout_ms,
                        struct weir_gpu_tests **ret_tests, struct weir_gpu_test_port *ret_port,
                        uint32_t *ret_n_strays, struct weir_err *err);
/* Ends what runs. */
struct weir_gpu_tests *weir_gpu_tests_close(struct weir_gpu_tests *tests);

#endif

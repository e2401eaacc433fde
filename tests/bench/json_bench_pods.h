/* A list of pods as a Kubernetes API server sends it, in the make-up that matters to a reader:
 * managedFields with their escaped keys, environment, status. */
#ifndef WEIR_BENCH_JSON_PODS_H
#define WEIR_BENCH_JSON_PODS_H

#include <stdint.h>
#include <stdio.h>

/* What a reader must find in the list. */
struct bench_sums {
    uint64_t pods;
    uint64_t gpus;
    uint64_t names; /* sum of the names' CRC-32C */
};

/* Writes pods until the file has at least `bytes` bytes. 0 or negative. */
int bench_write_pods(FILE *file, uint64_t bytes, struct bench_sums *ret_sums);

#endif

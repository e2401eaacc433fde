/* tests/unit/support.h — what cmocka needs, random numbers that can be repeated, and death. */
#ifndef WEIR_TESTS_UNIT_SUPPORT_H
#define WEIR_TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/count.h"
#include "base/rng.h"

#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers let an absurd allocation fail, as malloc does, so that its handling can be tested. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* Seeded by WEIR_SEED, else anew each time; the seed is told, so that a failure can be repeated. */
static inline struct weir_rng random_numbers(void)
{
    const char *wanted = getenv("WEIR_SEED");
    struct weir_rng rng;
    uint64_t seed = 0;

    if (wanted != NULL)
        seed = strtoull(wanted, NULL, 10);
    else if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        seed = 1;
    printf("# WEIR_SEED=%llu\n", (unsigned long long)seed);
    weir_rng_init(&rng, seed);
    return rng;
}

/* Whether action(arg) ends the process by abort(). */
static inline bool dies(void (*action)(void *arg), void *arg)
{
    int status = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        close(STDERR_FILENO);
        action(arg);
        _exit(0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

#endif

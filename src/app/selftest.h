/* app/selftest.h — a GPU that was out of service is tested before it serves again.
 *
 * What is to be tested has a mark of the class WEIR_SELFTEST_DUE in the store (app/faults.h), from
 * when it is lost or its fault is over until it passed; so a kill at any time leaves it to be
 * tested. While it answers it is SUSPECT: nothing is started on it. A test is
 *   a look of some seconds at what the driver tells, always;
 *   the administrator's command, where there is one, once nobody uses the GPU;
 *   and nothing said of a fault meanwhile.
 * One that fails has a mark of the class WEIR_SELFTEST_FAILED like that of a fault.
 *
 *     LOOKING → WAITING → RUNNING → RAN → passed, or failed from each of them
 *
 * A GPU that is lost meanwhile begins again. */
#ifndef WEIR_APP_SELFTEST_H
#define WEIR_APP_SELFTEST_H

#include "port/gpu.h"
#include "port/gpu_test.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_server;
struct weir_server_mark;
struct weir_fault_event;
struct weir_err;

#define WEIR_SELFTEST_DUE    "self-test:due"
#define WEIR_SELFTEST_FAILED "self-test:failed"

enum { WEIR_SELFTEST_WHY_MAX = 200 };

enum weir_selftest_phase {
    WEIR_SELFTEST_IDLE, /* the GPU does not answer, or was not looked at yet */
    WEIR_SELFTEST_LOOKING,
    WEIR_SELFTEST_WAITING, /* for the GPU to be free, or for a place among the commands */
    WEIR_SELFTEST_RUNNING,
    WEIR_SELFTEST_RAN,
};

/* The test of a GPU, in its mark; lives in memory only. */
struct weir_selftest {
    uint32_t phase; /* enum weir_selftest_phase */
    int64_t began_ms;
    int64_t since_ms; /* of the phase */
    int64_t errors;   /* uncorrected ones when it began; < 0: not known */
    bool is_measured;
    bool was_told_to_wait;
    char trouble[WEIR_SELFTEST_WHY_MAX]; /* what failed it; "": nothing yet */
};

bool weir_selftest_is_due(const struct weir_server_mark *mark);
/* Whether its class is one of the two. */
bool weir_selftest_is_of(const struct weir_server_mark *mark);
/* The GPU is to be tested before it serves, whatever mark it has; `why`: "it was reset". */
int weir_selftest_require(struct weir_server *server, struct weir_str key, const char *why,
                          struct weir_err *err);
/* Goes on with every test, as the devices were last read. */
int weir_selftest_step(struct weir_server *server, struct weir_err *err);
/* A tick is due for one of them. */
bool weir_selftest_wants_tick(struct weir_server *server);
/* Takes over which commands have ended. */
void weir_selftest_collect(struct weir_server *server);
/* Something was said of a device. */
void weir_selftest_note(struct weir_server *server, const struct weir_fault_event *event);
/* Whether the command runs there: then what uses the GPU is the test's. */
bool weir_selftest_runs_on(const struct weir_server *server, struct weir_str key);
/* How far it is, a sentence's begin: "being tested". */
const char *weir_selftest_words(const struct weir_server_mark *mark);
/* Ends the command that runs, if one does. */
void weir_selftest_stop(struct weir_server *server, struct weir_server_mark *mark);

#endif

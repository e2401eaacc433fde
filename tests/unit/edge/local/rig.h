/* The test rig: a data directory with slots, notes and a launcher, as a server has them, and jobs
 * run through it. The test program itself serves as launcher and as the jobs' helper program. */
#ifndef WEIR_TESTS_EDGE_LOCAL_RIG_H
#define WEIR_TESTS_EDGE_LOCAL_RIG_H

#include "edge/local/attempt.h"
#include "edge/local/launch.h"
#include "edge/local/launcher.h"
#include "edge/local/output.h"
#include "edge/local/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RIG_DEADLINE_MS = 60000, RIG_SLOTS = 64, RIG_OUTPUT_CAP = 64 << 20 };

struct rig {
    char dir[256]; /* DATA */
    struct weir_slots slots;
    struct weir_launcher launcher;
    int notes_fd;
    uint64_t last_serial;
    uint64_t nonce;
};

/* A launch request with everything filled in that a test does not care for. */
struct rig_job {
    struct weir_launch launch;
    char marker[WEIR_CLUSTER_MARKER_MAX];
    char output_dir[64];
    const char *envp[16];
};

int rig_main(int argc, char **argv, int (*run_all)(void));
/* The path of this program, for jobs: "SELF job NAME ARGS". */
const char *rig_self(void);

int rig_setup(void **state);    /* of cmocka: a fresh rig in *state */
int rig_teardown(void **state); /* fails when a process of the rig is left */
/* Below dir instead of the temporary directory. */
struct rig *rig_create_in(const char *dir);
void rig_destroy(struct rig *rig);
void rig_start_launcher(struct rig *rig);

void rig_prepare(struct rig *rig, struct rig_job *job, const char *const *argv);
void rig_prepare_sh(struct rig *rig, struct rig_job *job, const char *script);
void rig_launch(struct rig *rig, const struct rig_job *job);
/* Waits by notes, with a deadline. */
struct weir_attempt_status rig_wait_running(struct rig *rig, const struct rig_job *job);
struct weir_attempt_status rig_wait_final(struct rig *rig, const struct rig_job *job);
/* prepare, launch, wait_final. */
struct weir_attempt_status rig_run(struct rig *rig, struct rig_job *job, const char *const *argv);
struct weir_attempt_status rig_run_sh(struct rig *rig, struct rig_job *job, const char *script);

void rig_assert_exited(const struct weir_attempt_status *status, int exit_status);
/* And with these flags (enum weir_attempt_flag) alone. */
void rig_assert_exited_with(const struct weir_attempt_status *status, int exit_status,
                            uint32_t flags);
/* Skips the test, and says so, where the machine does not offer what it needs. */
void rig_need(bool condition, const char *what);

/* A stream's bytes from 0 on, NUL-terminated, at most size - 1. */
size_t rig_output(struct rig *rig, const struct rig_job *job, enum weir_output_stream stream,
                  char *text, size_t size);
/* Waits until the stream holds the text. */
void rig_wait_output(struct rig *rig, const struct rig_job *job, const char *text);
void rig_command(struct rig *rig, const struct rig_job *job, int op, int signal, uint32_t grace_ms);

/* Waits until the condition holds, looking every millisecond; fails the test after the deadline. */
#define rig_wait_until(condition)                                                                  \
    do {                                                                                           \
        int64_t rig_until_ = rig_now_ms() + RIG_DEADLINE_MS;                                       \
        while (!(condition)) {                                                                     \
            if (rig_now_ms() > rig_until_)                                                         \
                fail_msg("%s:%d: not in time: %s", __FILE__, __LINE__, #condition);                \
            rig_pause();                                                                           \
        }                                                                                          \
    } while (0)
int64_t rig_now_ms(void);
void rig_pause(void);
/* Living processes whose environment carries the job's marker. */
unsigned rig_count_marked(const struct rig_job *job);

/* What "SELF job NAME" does; returns the exit status. */
int rig_job_main(int argc, char **argv);

#endif

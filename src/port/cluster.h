/* port/cluster.h — where tasks run: how an attempt is started, watched and ended.
 *
 * An attempt is known by (serial, nonce, slot), given out by the caller and stored before the
 * launch. Serials never fall. A launch is not answered: what became of it is seen by looking. */
#ifndef WEIR_PORT_CLUSTER_H
#define WEIR_PORT_CLUSTER_H

#include "base/str.h"
#include "model/world.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_buf;
struct weir_err;

/* What a launch may ask for; more is WEIR_E_INVALID or WEIR_E_TOO_LARGE, however often it is tried.
 * The kernel's part: one string of an exec takes 128 KiB with its NUL (MAX_ARG_STRLEN), all of them
 * with a pointer each a quarter of the stack limit, of which 8 MiB is the usual one (execve(2)). */
enum {
    WEIR_CLUSTER_PATH_MAX = 4000,             /* bytes of cwd */
    WEIR_CLUSTER_OUTPUT_MIN = 4096,           /* bytes of output_max_bytes */
    WEIR_CLUSTER_STRING_MAX = 128 * 1024 - 1, /* bytes of a word of argv, or of NAME=VALUE */
    WEIR_CLUSTER_EXEC_MAX = 2 * 1024 * 1024,  /* bytes of argv and envp, see above */
};
/* Milliseconds of a time limit: shims reckon in microseconds from the start of the machine. */
#define WEIR_CLUSTER_TIME_LIMIT_MAX (INT64_MAX / 4000)

struct weir_cluster_ref {
    uint64_t serial; /* > 0 */
    uint64_t nonce;
    uint32_t slot;
};

/* The entry of envp that every launch must have: the processes of an attempt are known by it, also
 * when whoever started them is gone. */
enum { WEIR_CLUSTER_MARKER_MAX = 64 };
static inline const char *weir_cluster_marker(uint64_t serial, uint64_t nonce,
                                              char ret_text[WEIR_CLUSTER_MARKER_MAX])
{
    return weir_str_format(ret_text, WEIR_CLUSTER_MARKER_MAX,
                           "WEIR_ATTEMPT=%" PRIu64 ":%016" PRIx64, serial, nonce);
}

struct weir_cluster_launch {
    struct weir_cluster_ref ref;
    uint64_t number; /* of the workload */
    uint32_t member;
    uint32_t attempt;
    const char *const *argv; /* NULL-terminated */
    const char *const *envp; /* NULL-terminated */
    const char *cwd;
    uint32_t umask;
    bool switch_user; /* to uid and gid, with the user's groups */
    uint32_t uid;
    uint32_t gid;
    int64_t time_limit_ms;    /* > 0; INT64_MAX: none */
    int64_t stop_grace_ms;    /* between SIGTERM and SIGKILL */
    int64_t output_max_bytes; /* per stream */
    int64_t memory_max_bytes; /* enforced where that can be; 0: none */
};

enum weir_cluster_phase {
    WEIR_SEEN_NOTHING, /* not begun; it may still begin */
    WEIR_SEEN_RUNNING,
    WEIR_SEEN_ENDED,
};

enum { WEIR_CLUSTER_DETAIL_MAX = 320 };

struct weir_cluster_facts {
    uint32_t phase; /* enum weir_cluster_phase */
    uint32_t end;   /* enum weir_end, when ended */
    int32_t exit_status;
    uint32_t pid;          /* of the command, from when it began; 0: it never did */
    bool was_checkpointed; /* the checkpoint signal was delivered before the end */
    int64_t started_wall_ms;
    int64_t ended_wall_ms;
    int64_t cpu_us;
    int64_t maxrss_bytes;
    /* Of a start that failed: "cannot run 'x': No such file or directory"; else empty. */
    char detail[WEIR_CLUSTER_DETAIL_MAX];
};

enum weir_cluster_command {
    WEIR_CLUSTER_SIGNAL,     /* signal_number to the command's process group */
    WEIR_CLUSTER_STOP,       /* SIGTERM to all, SIGKILL after the stop grace of the launch */
    WEIR_CLUSTER_CHECKPOINT, /* signal_number to the command, after grace_ms as STOP */
};

/* Whose a process of this machine is. */
struct weir_cluster_owner {
    uint64_t serial; /* of the attempt that lives and that it is of; 0: of none */
    uint32_t uid;
    bool is_gone; /* there is no such process any more */
};

enum weir_stream { WEIR_STDOUT, WEIR_STDERR };

struct weir_cluster {
    void *ctx;
    /* Fails only if it surely did not start (WEIR_E_NO_SPACE, WEIR_E_UNAVAILABLE…). With
     * WEIR_E_INVALID or WEIR_E_TOO_LARGE it never will. */
    int (*launch)(void *ctx, const struct weir_cluster_launch *launch, struct weir_err *err);
    /* What is known now. An attempt whose supervisor died is ENDED with WEIR_END_LOST, and nothing
     * of it runs any more. WEIR_E_CORRUPT, WEIR_E_IO: cannot tell. */
    int (*look)(void *ctx, const struct weir_cluster_ref *ref, struct weir_cluster_facts *ret_facts,
                struct weir_err *err);
    /* The same of what was adopted, and forbids a start from now on: NOTHING becomes ENDED with
     * WEIR_END_NOT_STARTED. Unless this very cluster has launched it: that may still begin. */
    int (*settle)(void *ctx, const struct weir_cluster_ref *ref,
                  struct weir_cluster_facts *ret_facts, struct weir_err *err);
    /* signal: for SIGNAL and CHECKPOINT; grace_ms: for CHECKPOINT. WEIR_E_NOT_FOUND: it is gone. */
    int (*command)(void *ctx, const struct weir_cluster_ref *ref, enum weir_cluster_command command,
                   int signal_number, int64_t grace_ms, struct weir_err *err);
    /* A file descriptor that becomes readable when attempts changed, and their serials. */
    int (*notice_fd)(void *ctx);
    int (*notices)(void *ctx, void (*each)(void *arg, uint64_t serial), void *arg,
                   struct weir_err *err);
    /* The slot's record is no longer needed: the end is stored. */
    void (*release)(void *ctx, const struct weir_cluster_ref *ref);
    /* A free slot number, and the lowest serial that may be used next. */
    int (*new_ref)(void *ctx, struct weir_cluster_ref *ret_ref, struct weir_err *err);
    /* Forgets which slots are in use, before all attempts are adopted anew. */
    void (*forget)(void *ctx);
    /* Marks a slot as in use. Whether its attempt ever begins is in doubt: looking at it settles
     * it, unless it was settled before. */
    int (*adopt)(void *ctx, const struct weir_cluster_ref *ref, struct weir_err *err);
    /* Whose these processes are, each in the order of the pids. */
    int (*owners)(void *ctx, const uint32_t *pids, size_t n, struct weir_cluster_owner *ret_owners,
                  struct weir_err *err);
    /* Appends up to max bytes of a stream from `offset`. *ret_first: where they begin; above
     * `offset` where output was rotated away or dropped. 0 bytes appended: nothing more now.
     * WEIR_E_NOT_FOUND: never wrote anything. */
    int (*read_output)(void *ctx, uint64_t number, uint32_t member, uint32_t attempt,
                       enum weir_stream stream, uint64_t offset, size_t max, uint64_t *ret_first,
                       struct weir_buf *out, struct weir_err *err);
    int (*remove_output)(void *ctx, uint64_t number, uint32_t member, uint32_t attempt,
                         struct weir_err *err);
};

#endif

/* edge/local/launch.h — the request to start an attempt: what the server tells the launcher.
 *
 * On the wire (unix stream socket): a head of 8 bytes (body length, mark), then the body; numbers
 * little-endian, strings NUL-terminated. Both ends are the same binary. */
#ifndef WEIR_EDGE_LOCAL_LAUNCH_H
#define WEIR_EDGE_LOCAL_LAUNCH_H

#include "edge/local/attempt.h"
#include "port/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct weir_arena;
struct weir_buf;
struct weir_err;

enum {
    WEIR_LAUNCH_HEAD_BYTES = 8,
    WEIR_LAUNCH_BYTES_MAX = 16 << 20, /* of a body; the kernel takes at most 6 MiB for exec */
    WEIR_LAUNCH_PATH_MAX = WEIR_CLUSTER_PATH_MAX,
    WEIR_LAUNCH_OUTPUT_CAP_MIN = WEIR_CLUSTER_OUTPUT_MIN,
};

struct weir_launch {
    struct weir_attempt_id id;

    /* The command. argv[0] is looked up in the PATH of envp unless it holds a '/', as the job's
     * user and below cwd. NULL-terminated. */
    const char *const *argv;
    /* Exactly what the job sees; nothing is added. The caller must put in weir_attempt_marker()
     * (WEIR_ATTEMPT=…): without it descendants of a dead shim cannot be found. Everything else
     * (WEIR_JOB_ID, WEIR_ARRAY_INDEX, CUDA_VISIBLE_DEVICES, HOME, …) is the caller's choice. */
    const char *const *envp;
    const char *cwd; /* absolute; entered as the job's user */
    mode_t umask;    /* 0 … 0777 */

    /* With set_identity the job runs as uid, gid and exactly these groups (root only; a server that
     * is not root may name its own uid and gid, and groups are left alone then). */
    bool set_identity;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    uint32_t n_groups;

    int64_t time_limit_ms; /* 0: none; monotonic, from the start of main */
    uint32_t grace_ms;     /* between SIGTERM and SIGKILL, for the time limit and by default */

    /* Where output goes: a path below DATA (relative), made by the shim (mode 0700) when the first
     * byte comes; its parent exists. See output.h. */
    const char *output_dir;
    int64_t output_cap_bytes; /* per stream; >= WEIR_LAUNCH_OUTPUT_CAP_MIN */

    /* cgroup v2: absolute path of the job's own group, made and removed by the shim (its parent
     * exists and hands down the controllers asked for); "": none. A limit that cannot be set fails
     * the start. */
    const char *cgroup;
    int64_t memory_max_bytes; /* memory.max; 0: none */
    int64_t cpu_max_mcpu;     /* cpu.max, thousandths of a CPU; 0: none */
};

/* Checks what both ends rely on; the error names the field. WEIR_E_INVALID, WEIR_E_TOO_LARGE. */
int weir_launch_check(const struct weir_launch *launch, struct weir_err *err);

/* Checks, then appends head and body to out. Besides weir_launch_check(): WEIR_E_TOO_LARGE (over
 * WEIR_LAUNCH_BYTES_MAX, or over out's maximum), WEIR_E_NO_MEMORY; out is as before then. */
int weir_launch_encode(const struct weir_launch *launch, struct weir_buf *out,
                       struct weir_err *err);
/* The body's length. WEIR_E_CORRUPT. */
int weir_launch_decode_head(const uint8_t head[WEIR_LAUNCH_HEAD_BYTES], size_t *ret_body_bytes,
                            struct weir_err *err);
/* ret_launch points into body and arena. Checks as above; WEIR_E_CORRUPT when the body is cut off,
 * or has bytes left over. ret_id is set as soon as it could be read, even on failure (else zero).
 */
int weir_launch_decode(const char *body, size_t len, struct weir_arena *arena,
                       struct weir_attempt_id *ret_id, struct weir_launch *ret_launch,
                       struct weir_err *err);

#endif

#include "edge/local/launch.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "edge/local/slots.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* "WLR1" read as little-endian. */
#define LAUNCH_MARK 0x31524C57U

enum { GROUPS_MAX = 65536, SET_IDENTITY = 1 };

static int check_path(const char *path, const char *field, bool must_be_absolute,
                      struct weir_err *err)
{
    if (path == NULL || strlen(path) > WEIR_LAUNCH_PATH_MAX) {
        weir_error(err, WEIR_E_TOO_LARGE, "launch: path longer than %d bytes",
                   WEIR_LAUNCH_PATH_MAX);
        return weir_error_field(err, "%s", field);
    }
    if (path[0] == '\0' || (must_be_absolute && path[0] != '/')) {
        weir_error(err, WEIR_E_INVALID, "launch: path '%s' is %s", path,
                   path[0] == '\0' ? "empty" : "not absolute");
        return weir_error_field(err, "%s", field);
    }
    return 0;
}

static int invalid(struct weir_err *err, const char *field, const char *why)
{
    weir_error(err, WEIR_E_INVALID, "launch: %s %s", field, why);
    return weir_error_field(err, "%s", field);
}

static int check_environment(const struct weir_launch *launch, struct weir_err *err)
{
    char marker[WEIR_CLUSTER_MARKER_MAX];
    bool has_marker = false;

    if (launch->envp == NULL)
        return invalid(err, "envp", "is missing");
    weir_attempt_marker(&launch->id, marker);
    for (size_t i = 0; launch->envp[i] != NULL; i++) {
        const char *equals = strchr(launch->envp[i], '=');

        if (equals == NULL || equals == launch->envp[i])
            return invalid(err, "envp", "has an entry without a name");
        has_marker |= strcmp(launch->envp[i], marker) == 0;
    }
    return has_marker ? 0 : invalid(err, "envp", "lacks WEIR_ATTEMPT=serial:nonce");
}

static int check_limits(const struct weir_launch *launch, struct weir_err *err)
{
    if (launch->umask > 0777)
        return invalid(err, "umask", "is over 0777");
    if (launch->n_groups > GROUPS_MAX)
        return invalid(err, "groups", "are too many");
    if (launch->time_limit_ms < 0 || launch->time_limit_ms > WEIR_CLUSTER_TIME_LIMIT_MAX)
        return invalid(err, "time_limit_ms", "is out of range");
    if (launch->output_cap_bytes < WEIR_LAUNCH_OUTPUT_CAP_MIN)
        return invalid(err, "output_cap_bytes", "is under 4096");
    if (launch->memory_max_bytes < 0)
        return invalid(err, "memory_max_bytes", "is negative");
    if (launch->cpu_max_mcpu < 0 || launch->cpu_max_mcpu > INT32_MAX)
        return invalid(err, "cpu_max_mcpu", "is out of range");
    if (launch->cgroup[0] == '\0' && (launch->memory_max_bytes > 0 || launch->cpu_max_mcpu > 0))
        return invalid(err, "cgroup", "is needed to hold limits");
    return 0;
}

int weir_launch_check(const struct weir_launch *launch, struct weir_err *err)
{
    int code;

    if (launch->id.serial == 0)
        return invalid(err, "id.serial", "is 0");
    if (launch->id.slot >= WEIR_SLOTS_MAX)
        return invalid(err, "id.slot", "is out of range");
    if (launch->argv == NULL || launch->argv[0] == NULL || launch->argv[0][0] == '\0')
        return invalid(err, "argv", "names no command");
    code = check_path(launch->cwd, "cwd", true, err);
    if (code == 0)
        code = check_path(launch->output_dir, "output_dir", false, err);
    if (code == 0 && launch->cgroup == NULL)
        code = invalid(err, "cgroup", "is missing");
    if (code == 0 && launch->cgroup[0] != '\0')
        code = check_path(launch->cgroup, "cgroup", true, err);
    if (code == 0)
        code = check_environment(launch, err);
    return code == 0 ? check_limits(launch, err) : code;
}

static void append_number(struct weir_buf *out, uint64_t value, size_t n_bytes)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    weir_buf_append(out, bytes, n_bytes);
}

static void append_string(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, text, strlen(text) + 1);
}

static uint32_t count(const char *const *strings)
{
    uint32_t n = 0;

    while (strings[n] != NULL)
        n++;
    return n;
}

static void append_body(struct weir_buf *out, const struct weir_launch *launch)
{
    append_number(out, launch->id.serial, 8);
    append_number(out, launch->id.nonce, 8);
    append_number(out, launch->id.slot, 4);
    append_number(out, launch->set_identity ? SET_IDENTITY : 0, 4);
    append_number(out, launch->uid, 4);
    append_number(out, launch->gid, 4);
    append_number(out, launch->umask, 4);
    append_number(out, launch->grace_ms, 4);
    append_number(out, (uint64_t)launch->time_limit_ms, 8);
    append_number(out, (uint64_t)launch->output_cap_bytes, 8);
    append_number(out, (uint64_t)launch->memory_max_bytes, 8);
    append_number(out, (uint64_t)launch->cpu_max_mcpu, 8);
    append_number(out, launch->n_groups, 4);
    append_number(out, count(launch->argv), 4);
    append_number(out, count(launch->envp), 4);
    for (uint32_t i = 0; i < launch->n_groups; i++)
        append_number(out, launch->groups[i], 4);
    /* First what the shim needs to the end, so that it can give back the pages of the rest. */
    append_string(out, launch->output_dir);
    append_string(out, launch->cgroup);
    append_string(out, launch->cwd);
    for (size_t i = 0; launch->argv[i] != NULL; i++)
        append_string(out, launch->argv[i]);
    for (size_t i = 0; launch->envp[i] != NULL; i++)
        append_string(out, launch->envp[i]);
}

int weir_launch_encode(const struct weir_launch *launch, struct weir_buf *out, struct weir_err *err)
{
    size_t start = out->len;
    size_t n_body;
    int code = weir_launch_check(launch, err);

    if (code < 0)
        return code;
    append_number(out, 0, 4);
    append_number(out, LAUNCH_MARK, 4);
    append_body(out, launch);
    code = weir_buf_check(out, "launch request", err);
    n_body = out->len - start - WEIR_LAUNCH_HEAD_BYTES;
    if (code == 0 && n_body > WEIR_LAUNCH_BYTES_MAX)
        code = weir_error(err, WEIR_E_TOO_LARGE, "launch request: more than %d bytes",
                          WEIR_LAUNCH_BYTES_MAX);
    if (code < 0) {
        out->failed = 0;
        weir_buf_truncate(out, start);
        return code;
    }
    for (size_t i = 0; i < 4; i++)
        out->data[start + i] = (char)(uint8_t)(n_body >> (8 * i));
    return 0;
}

struct reader {
    const char *at;
    const char *end;
    bool is_short;
};

static uint64_t read_number(struct reader *reader, size_t n_bytes)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < n_bytes) {
        reader->is_short = true;
        reader->at = reader->end;
        return 0;
    }
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)(uint8_t)*reader->at++ << (8 * i);
    return value;
}

static const char *read_string(struct reader *reader)
{
    const char *text = reader->at;
    const char *nul = NULL;

    if (reader->at < reader->end)
        nul = memchr(reader->at, '\0', (size_t)(reader->end - reader->at));
    if (nul == NULL) {
        reader->is_short = true;
        reader->at = reader->end;
        return "";
    }
    reader->at = nul + 1;
    return text;
}

int weir_launch_decode_head(const uint8_t head[WEIR_LAUNCH_HEAD_BYTES], size_t *ret_body_bytes,
                            struct weir_err *err)
{
    struct reader reader = {(const char *)head, (const char *)head + WEIR_LAUNCH_HEAD_BYTES, false};
    uint32_t n_body = (uint32_t)read_number(&reader, 4);

    if (read_number(&reader, 4) != LAUNCH_MARK)
        return weir_error(err, WEIR_E_CORRUPT, "launch request: unknown format");
    if (n_body > WEIR_LAUNCH_BYTES_MAX)
        return weir_error(err, WEIR_E_CORRUPT, "launch request: %u bytes are too many", n_body);
    *ret_body_bytes = n_body;
    return 0;
}

static const char *const *read_strings(struct reader *reader, uint32_t n, struct weir_arena *arena)
{
    const char **strings = weir_arena_new_n(arena, const char *, (size_t)n + 1);

    for (uint32_t i = 0; strings != NULL && i < n; i++)
        strings[i] = read_string(reader);
    return strings;
}

static const gid_t *read_groups(struct reader *reader, uint32_t n, struct weir_arena *arena)
{
    gid_t *groups = weir_arena_new_n(arena, gid_t, (size_t)n + 1);

    for (uint32_t i = 0; groups != NULL && i < n; i++)
        groups[i] = (gid_t)read_number(reader, 4);
    return groups;
}

static void read_numbers(struct reader *reader, struct weir_launch *launch)
{
    launch->set_identity = (read_number(reader, 4) & SET_IDENTITY) != 0;
    launch->uid = (uid_t)read_number(reader, 4);
    launch->gid = (gid_t)read_number(reader, 4);
    launch->umask = (mode_t)read_number(reader, 4);
    launch->grace_ms = (uint32_t)read_number(reader, 4);
    launch->time_limit_ms = (int64_t)read_number(reader, 8);
    launch->output_cap_bytes = (int64_t)read_number(reader, 8);
    launch->memory_max_bytes = (int64_t)read_number(reader, 8);
    launch->cpu_max_mcpu = (int64_t)read_number(reader, 8);
    launch->n_groups = (uint32_t)read_number(reader, 4);
}

int weir_launch_decode(const char *body, size_t len, struct weir_arena *arena,
                       struct weir_attempt_id *ret_id, struct weir_launch *ret_launch,
                       struct weir_err *err)
{
    struct reader reader = {body, body + len, false};
    struct weir_launch launch = {0};
    uint32_t n_args;
    uint32_t n_env;
    size_t n_left;
    int code;

    launch.id.serial = read_number(&reader, 8);
    launch.id.nonce = read_number(&reader, 8);
    launch.id.slot = (uint32_t)read_number(&reader, 4);
    *ret_id = reader.is_short ? (struct weir_attempt_id){0} : launch.id;
    read_numbers(&reader, &launch);
    n_args = (uint32_t)read_number(&reader, 4);
    n_env = (uint32_t)read_number(&reader, 4);
    /* Every group takes 4 bytes, every string at least one: no count can ask for much memory. */
    n_left = (size_t)(reader.end - reader.at);
    if (reader.is_short || launch.n_groups > n_left / 4 || n_args > n_left || n_env > n_left)
        return weir_error(err, WEIR_E_CORRUPT, "launch request: cut off");
    launch.groups = read_groups(&reader, launch.n_groups, arena);
    launch.output_dir = read_string(&reader);
    launch.cgroup = read_string(&reader);
    launch.cwd = read_string(&reader);
    launch.argv = read_strings(&reader, n_args, arena);
    launch.envp = read_strings(&reader, n_env, arena);
    if (launch.groups == NULL || launch.argv == NULL || launch.envp == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "launch request: out of memory");
    if (reader.is_short || reader.at != reader.end)
        return weir_error(err, WEIR_E_CORRUPT, "launch request: %s",
                          reader.is_short ? "cut off" : "bytes left over");
    code = weir_launch_check(&launch, err);
    if (code == 0)
        *ret_launch = launch;
    return code;
}

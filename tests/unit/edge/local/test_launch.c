#include "edge/local/launch.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MARKER "WEIR_ATTEMPT=7:0000000000000009"

static const char *const argv[] = {"python3", "train.py", "", "--lr=1e-3", NULL};
static const char *const envp[] = {"PATH=/bin", "EMPTY=", MARKER, NULL};
static const gid_t groups[] = {4, 0xFFFFFFFE};

static struct weir_launch sample(void)
{
    return (struct weir_launch){
        .id = {7, 9, 3},
        .argv = argv,
        .envp = envp,
        .cwd = "/home/user",
        .umask = 027,
        .set_identity = true,
        .uid = 1000,
        .gid = 1001,
        .groups = groups,
        .n_groups = 2,
        .time_limit_ms = 1LL << 40,
        .grace_ms = 60000,
        .output_dir = "out/7",
        .output_cap_bytes = 1 << 20,
        .cgroup = "/sys/fs/cgroup/weir/7",
        .memory_max_bytes = 1LL << 40,
        .cpu_max_mcpu = 1500,
    };
}

static void assert_strings(const char *const *a, const char *const *b)
{
    size_t i = 0;

    for (; a[i] != NULL; i++)
        assert_string_equal(a[i], b[i]);
    assert_null(b[i]);
}

static void a_request_reads_back(void **state)
{
    struct weir_launch in = sample();
    struct weir_launch out;
    struct weir_attempt_id id;
    struct weir_buf buf = WEIR_BUF_INIT(100000);
    struct weir_arena arena = WEIR_ARENA_INIT;
    size_t n_body;

    (void)state;
    weir_buf_puts(&buf, "before");
    assert_int_equal(weir_launch_encode(&in, &buf, NULL), 0);
    weir_buf_consume(&buf, 6);
    assert_int_equal(weir_launch_decode_head((const uint8_t *)buf.data, &n_body, NULL), 0);
    assert_int_equal(n_body, buf.len - WEIR_LAUNCH_HEAD_BYTES);
    assert_int_equal(
        weir_launch_decode(buf.data + WEIR_LAUNCH_HEAD_BYTES, n_body, &arena, &id, &out, NULL), 0);
    assert_true(id.serial == 7 && out.id.serial == 7 && out.id.nonce == 9 && out.id.slot == 3);
    assert_strings(in.argv, out.argv);
    assert_strings(in.envp, out.envp);
    assert_string_equal(out.cwd, in.cwd);
    assert_string_equal(out.output_dir, in.output_dir);
    assert_string_equal(out.cgroup, in.cgroup);
    assert_int_equal(out.umask, 027);
    assert_true(out.set_identity && out.uid == 1000 && out.gid == 1001);
    assert_int_equal(out.n_groups, 2);
    assert_memory_equal(out.groups, groups, sizeof(groups));
    assert_true(out.time_limit_ms == in.time_limit_ms && out.grace_ms == in.grace_ms);
    assert_true(out.output_cap_bytes == in.output_cap_bytes);
    assert_true(out.memory_max_bytes == in.memory_max_bytes && out.cpu_max_mcpu == 1500);
    /* What the shim drops after the start stands behind what it keeps. */
    assert_true(out.output_dir < out.cwd && out.cgroup < out.cwd && out.cwd < out.argv[0] &&
                out.argv[3] < out.envp[0]);
    weir_arena_finish(&arena);
    weir_buf_finish(&buf);
}

static void expect_refused(const struct weir_launch *launch, int code, const char *field)
{
    struct weir_buf buf = WEIR_BUF_INIT(100000);
    struct weir_err err = WEIR_ERR_INIT;

    weir_buf_puts(&buf, "kept");
    assert_int_equal(weir_launch_encode(launch, &buf, &err), code);
    assert_string_equal(err.field, field);
    assert_string_equal(weir_buf_cstr(&buf), "kept");
    weir_buf_finish(&buf);
}

#define EXPECT_REFUSED(change, code, field)                                                        \
    do {                                                                                           \
        struct weir_launch launch = sample();                                                      \
        change;                                                                                    \
        expect_refused(&launch, code, field);                                                      \
    } while (0)

static void bad_requests_name_the_field(void **state)
{
    static const char *const none[] = {NULL};
    static const char *const empty_name[] = {"", NULL};
    static const char *const no_equals[] = {MARKER, "HOME", NULL};
    static const char *const no_name[] = {MARKER, "=x", NULL};
    static const char *const other_marker[] = {"WEIR_ATTEMPT=7:0000000000000008", NULL};
    static char long_path[WEIR_LAUNCH_PATH_MAX + 2] = "/";

    (void)state;
    memset(long_path + 1, 'p', sizeof(long_path) - 2);
    EXPECT_REFUSED(launch.id.serial = 0, WEIR_E_INVALID, "id.serial");
    EXPECT_REFUSED(launch.id.slot = 1 << 20, WEIR_E_INVALID, "id.slot");
    EXPECT_REFUSED(launch.argv = NULL, WEIR_E_INVALID, "argv");
    EXPECT_REFUSED(launch.argv = none, WEIR_E_INVALID, "argv");
    EXPECT_REFUSED(launch.argv = empty_name, WEIR_E_INVALID, "argv");
    EXPECT_REFUSED(launch.envp = NULL, WEIR_E_INVALID, "envp");
    EXPECT_REFUSED(launch.envp = none, WEIR_E_INVALID, "envp");
    EXPECT_REFUSED(launch.envp = no_equals, WEIR_E_INVALID, "envp");
    EXPECT_REFUSED(launch.envp = no_name, WEIR_E_INVALID, "envp");
    EXPECT_REFUSED(launch.envp = other_marker, WEIR_E_INVALID, "envp");
    EXPECT_REFUSED(launch.cwd = "relative", WEIR_E_INVALID, "cwd");
    EXPECT_REFUSED(launch.cwd = "", WEIR_E_INVALID, "cwd");
    EXPECT_REFUSED(launch.cwd = long_path, WEIR_E_TOO_LARGE, "cwd");
    EXPECT_REFUSED(launch.output_dir = "", WEIR_E_INVALID, "output_dir");
    EXPECT_REFUSED(launch.output_dir = NULL, WEIR_E_TOO_LARGE, "output_dir");
    EXPECT_REFUSED(launch.cgroup = NULL, WEIR_E_INVALID, "cgroup");
    EXPECT_REFUSED(launch.cgroup = "weir", WEIR_E_INVALID, "cgroup");
    EXPECT_REFUSED(launch.cgroup = "", WEIR_E_INVALID, "cgroup");
    EXPECT_REFUSED(launch.umask = 01000, WEIR_E_INVALID, "umask");
    EXPECT_REFUSED(launch.n_groups = 70000, WEIR_E_INVALID, "groups");
    EXPECT_REFUSED(launch.time_limit_ms = -1, WEIR_E_INVALID, "time_limit_ms");
    EXPECT_REFUSED(launch.time_limit_ms = INT64_MAX / 1000, WEIR_E_INVALID, "time_limit_ms");
    EXPECT_REFUSED(launch.output_cap_bytes = 4095, WEIR_E_INVALID, "output_cap_bytes");
    EXPECT_REFUSED(launch.memory_max_bytes = -1, WEIR_E_INVALID, "memory_max_bytes");
    EXPECT_REFUSED(launch.cpu_max_mcpu = -1, WEIR_E_INVALID, "cpu_max_mcpu");
}

static void what_is_too_large_is_refused(void **state)
{
    struct weir_launch launch = sample();
    struct weir_buf small = WEIR_BUF_INIT(100);
    struct weir_buf large = WEIR_BUF_INIT(64 << 20);
    size_t n = WEIR_LAUNCH_BYTES_MAX;
    char *text = malloc(n + 1);
    const char *const huge[] = {text, MARKER, NULL};

    (void)state;
    assert_non_null(text);
    assert_int_equal(weir_launch_encode(&launch, &small, NULL), WEIR_E_TOO_LARGE);
    assert_int_equal(small.len, 0);
    memset(text, '=', n);
    text[0] = 'A';
    text[n] = '\0';
    launch.envp = huge;
    assert_int_equal(weir_launch_encode(&launch, &large, NULL), WEIR_E_TOO_LARGE);
    assert_int_equal(large.len, 0);
    free(text);
    weir_buf_finish(&small);
    weir_buf_finish(&large);
}

/* Every prefix, and a byte too many, is refused; and so is what was changed to nonsense. */
static void broken_bodies_are_refused(void **state)
{
    struct weir_launch in = sample();
    struct weir_buf buf = WEIR_BUF_INIT(100000);
    const char *body;
    size_t n_body;
    struct weir_rng rng;

    (void)state;
    assert_int_equal(weir_launch_encode(&in, &buf, NULL), 0);
    weir_buf_putc(&buf, '\0');
    body = buf.data + WEIR_LAUNCH_HEAD_BYTES;
    n_body = buf.len - 1 - WEIR_LAUNCH_HEAD_BYTES;
    for (size_t n = 0; n <= n_body + 1; n++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_attempt_id id;
        struct weir_launch out;
        char *copy = malloc(n > 0 ? n : 1);
        int code;

        assert_non_null(copy);
        memcpy(copy, body, n);
        code = weir_launch_decode(copy, n, &arena, &id, &out, NULL);
        assert_int_equal(code == 0, n == n_body);
        assert_int_equal(id.serial, n >= 20 ? 7 : 0);
        free(copy);
        weir_arena_finish(&arena);
    }
    weir_rng_init(&rng, 5);
    for (int i = 0; i < 20000; i++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_attempt_id id;
        struct weir_launch out;
        char *copy = malloc(n_body);

        assert_non_null(copy);
        memcpy(copy, body, n_body);
        for (int k = 0; k < 3; k++)
            copy[weir_rng_below(&rng, n_body)] = (char)weir_rng_next(&rng);
        if (weir_launch_decode(copy, n_body, &arena, &id, &out, NULL) == 0)
            assert_int_equal(weir_launch_check(&out, NULL), 0);
        free(copy);
        weir_arena_finish(&arena);
    }
    weir_buf_finish(&buf);
}

static void bad_heads_are_refused(void **state)
{
    uint8_t head[WEIR_LAUNCH_HEAD_BYTES] = {1, 0, 0, 0, 'W', 'L', 'R', '1'};
    size_t n_body;

    (void)state;
    assert_int_equal(weir_launch_decode_head(head, &n_body, NULL), 0);
    assert_int_equal(n_body, 1);
    head[3] = 2;
    assert_int_equal(weir_launch_decode_head(head, &n_body, NULL), WEIR_E_CORRUPT);
    head[3] = 0;
    head[7] = '2';
    assert_int_equal(weir_launch_decode_head(head, &n_body, NULL), WEIR_E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_reads_back),
        cmocka_unit_test(bad_requests_name_the_field),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(broken_bodies_are_refused),
        cmocka_unit_test(bad_heads_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

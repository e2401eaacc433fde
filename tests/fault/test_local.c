/* Launch requests when memory is short. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "edge/local/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const argv[] = {"true", NULL};
static const char *const envp[] = {"WEIR_ATTEMPT=7:0000000000000009", NULL};
static const gid_t groups[] = {1, 2, 3};
static const struct weir_launch sample = {
    .id = {7, 9, 3},
    .argv = argv,
    .envp = envp,
    .cwd = "/",
    .groups = groups,
    .n_groups = 3,
    .output_dir = "out",
    .output_cap_bytes = 4096,
    .cgroup = "",
};

static void encoding_fails_cleanly(void **state)
{
    int code = WEIR_E_NO_MEMORY;
    unsigned n_failed = 0;

    (void)state;
    for (uint64_t after = 0; code != 0; after++) {
        struct weir_buf buf = WEIR_BUF_INIT(10000);
        struct weir_err err = WEIR_ERR_INIT;

        weir_mem_fail(after, 1);
        code = weir_launch_encode(&sample, &buf, &err);
        weir_mem_fail(0, 0);
        if (code != 0) {
            assert_int_equal(code, WEIR_E_NO_MEMORY);
            assert_true(err.text[0] != '\0');
            assert_int_equal(buf.len, 0);
            assert_int_equal(buf.failed, 0);
            n_failed++;
        }
        weir_buf_finish(&buf);
    }
    assert_true(n_failed > 0);
}

static void decoding_fails_cleanly(void **state)
{
    struct weir_buf buf = WEIR_BUF_INIT(10000);
    int code = WEIR_E_NO_MEMORY;
    unsigned n_failed = 0;

    (void)state;
    assert_int_equal(weir_launch_encode(&sample, &buf, NULL), 0);
    for (uint64_t after = 0; code != 0; after++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_attempt_id id;
        struct weir_launch launch = {.umask = 0123};
        struct weir_err err = WEIR_ERR_INIT;

        weir_mem_fail(after, 1);
        code = weir_launch_decode(buf.data + WEIR_LAUNCH_HEAD_BYTES,
                                  buf.len - WEIR_LAUNCH_HEAD_BYTES, &arena, &id, &launch, &err);
        weir_mem_fail(0, 0);
        if (code != 0) {
            assert_int_equal(code, WEIR_E_NO_MEMORY);
            assert_int_equal(id.serial, 7);
            assert_int_equal(launch.umask, 0123);
            n_failed++;
        }
        weir_arena_finish(&arena);
    }
    assert_true(n_failed > 0);
    weir_buf_finish(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding_fails_cleanly),
        cmocka_unit_test(decoding_fails_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

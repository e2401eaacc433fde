#include "../support.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/commands.h"
#include "cmd/run_body.h"
#include "edge/nvml/sim_model.h"
#include "fmt/json.h"

static const char *const shell_environment[] = {
    "PATH=/bin",
    "HOME=/home/user",
    "WEIR_TOKEN=secret",
    "WEIR_SERVER=http://localhost",
    "_=/bin/sh",
    "A=1=2",
    "EMPTY=",
    "A=last",
    "BASH_FUNC_f%%=() { :; }",
    "1ST=x",
    "no equals",
    "=odd",
    "LC_ALL=C",
    NULL,
};

static struct weir_arena arena;
static struct weir_err err;

static int make(const char *const *words, const char *const *environment, const char *cwd,
                struct weir_buf *out)
{
    struct weir_run_shell shell = {.environment = (char *const *)environment,
                                   .cwd = cwd,
                                   .umask = 022};
    struct weir_args args;
    int n = 0;
    int result;

    while (words[n] != NULL)
        n++;
    err = (struct weir_err)WEIR_ERR_INIT;
    result = weir_args_parse(&weir_command_run, n, words, &arena, &args, &err);
    return result < 0 ? result : weir_run_body(&args, &shell, out, &err);
}
#define WORDS(...) ((const char *[]){__VA_ARGS__, NULL})

static void assert_body(const char *const *words, const char *wanted)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);
    static const char *const none[] = {NULL};

    weir_arena_reset(&arena);
    if (make(words, none, "/here", &out) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(weir_buf_cstr(&out), wanted);
}

static void options_become_fields(void **state)
{
    (void)state;
    assert_body(
        WORDS("--", "true", "-x"),
        "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Workload\",\"spec\":{\"command\":[\"true\","
        "\"-x\"],\"umask\":18,\"cwd\":\"/here\"}}");
    assert_body(
        WORDS("-n", "n", "-g", "0.5", "--gpu-model", "H100", "--gpu-memory", "20Gi", "--cpu",
              "500m", "--memory", "1Gi", "-Q", "q", "-p", "-7", "-t", "90", "--class", "dev",
              "--isolation", "memory", "--grace", "1m", "--checkpoint-signal", "USR1", "--backoff",
              "2s", "--output-max", "1Mi", "--sim-profile", "idle", "--members", "4",
              "--min-members", "2", "-r", "3", "--preemptible", "--cwd", "/x", "c"),
        "{\"apiVersion\":\"weir.dev/"
        "v1\",\"kind\":\"Workload\",\"metadata\":{\"name\":\"n\"},\"spec\":{\"command\":[\"c\"],"
        "\"queue\":\"q\",\"class\":\"dev\",\"gpus\":\"0.5\",\"gpuModel\":\"H100\",\"gpuMemory\":"
        "\"20Gi\",\"cpu\":\"500m\","
        "\"memory\":\"1Gi\",\"isolation\":\"memory\",\"timeLimit\":\"90\",\"grace\":\"1m\","
        "\"checkpointSignal\":\"USR1\","
        "\"backoff\":\"2s\",\"outputMax\":\"1Mi\",\"simProfile\":\"idle\",\"priority\":-7,"
        "\"members\":"
        "4,\"minMembers\":2,"
        "\"retries\":3,\"preemptible\":true,\"umask\":18,\"cwd\":\"/x\"}}");
    assert_body(WORDS("--array=2", "--retry-on", "7,1-3,2", "c"),
                "{\"apiVersion\":\"weir.dev/"
                "v1\",\"kind\":\"Workload\",\"spec\":{\"command\":[\"c\"],\"array\":2,\"umask\":18,"
                "\"retryOn\":[1,2,3,7],\"cwd\":\"/here\"}}");
}

static void every_profile_is_a_choice(void **state)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);
    static const char *const none[] = {NULL};

    (void)state;
    for (uint32_t i = 0; i < WEIR_SIM_PROFILE_MAX; i++)
        if (make(WORDS("--sim-profile", weir_sim_profile_name(i), "c"), none, "/", &out) < 0)
            fail_msg("%s", err.text);
    assert_int_equal(make(WORDS("--sim-profile", "sawtooth", "c"), none, "/", &out),
                     WEIR_E_INVALID);
    assert_non_null(strstr(err.hint, "saw-tooth"));
}

static const struct weir_tree *environment_of(const char *const *words, struct weir_buf *out)
{
    struct weir_tree *tree = NULL;

    weir_arena_reset(&arena);
    if (make(words, shell_environment, "/", out) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(weir_json_read(weir_buf_view(out), NULL, &arena, &tree, NULL), 0);
    return weir_tree_path(tree, "spec.env");
}

static void assert_variable(const struct weir_tree *env, const char *name, const char *value)
{
    const struct weir_tree *found = weir_tree_get(env, name);

    assert_non_null(found);
    assert_true(weir_str_eq_c(found->text, value));
}

static void the_shells_environment_goes_along(void **state)
{
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);
    weir_cleanup_buf struct weir_buf clean = WEIR_BUF_INIT(1 << 20);
    const struct weir_tree *env;
    (void)state;

    env = environment_of(WORDS("-e", "B=x=y", "c"), &out);
    assert_int_equal(env->n_children, 6);
    assert_variable(env, "PATH", "/bin");
    assert_variable(env, "A", "last");
    assert_variable(env, "EMPTY", "");
    assert_variable(env, "B", "x=y");
    env = environment_of(WORDS("--clean-env", "-e", "PATH=/mine", "c"), &clean);
    assert_int_equal(env->n_children, 3);
    assert_variable(env, "PATH", "/mine");
    assert_variable(env, "LC_ALL", "C");
}

static void what_cannot_be_sent_is_refused(void **state)
{
    static const char *const bad_value[] = {"A=\xff", NULL};
    static const char *const bad_codes[] = {"0",    "256", "1-",    "-1", "5-4",
                                            "1,,2", "x",   "1-2-3", "",   "1 2"};
    static const char *const none[] = {NULL};
    weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);
    weir_cleanup_buf struct weir_buf little = WEIR_BUF_INIT(50);
    (void)state;

    assert_int_equal(make(WORDS("c"), bad_value, "/", &out), WEIR_E_INVALID);
    assert_string_equal(err.text, "the variable A is not UTF-8");
    assert_int_equal(make(WORDS("--clean-env", "c"), bad_value, "/", &out), 0);
    assert_int_equal(make(WORDS("c"), none, "/\xff", &out), WEIR_E_INVALID);
    assert_int_equal(make(WORDS("\xff"), none, "/", &out), WEIR_E_INVALID);
    assert_int_equal(make(WORDS("-e", "A=\xff", "c"), none, "/", &out), WEIR_E_INVALID);
    assert_int_equal(make(WORDS("-e", "A B=1", "c"), none, "/", &out), WEIR_E_INVALID);
    for (size_t i = 0; i < WEIR_COUNT_OF(bad_codes); i++)
        assert_int_equal(make(WORDS("--retry-on", bad_codes[i], "c"), none, "/", &out),
                         WEIR_E_INVALID);
    assert_int_equal(make(WORDS("c"), none, "/", &little), WEIR_E_TOO_LARGE);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (uint64_t after = 0;; after++) {
        weir_cleanup_buf struct weir_buf out = WEIR_BUF_INIT(1 << 20);
        uint64_t used;
        int result;

        weir_arena_finish(&arena);
        weir_mem_fail(after, 1);
        result = make(WORDS("-e", "B=1", "--retry-on", "1", "c"), shell_environment, "/", &out);
        used = weir_mem_count();
        weir_mem_fail(0, 0);
        if (used <= after) {
            assert_int_equal(result, 0);
            assert_true(after > 2);
            return;
        }
        assert_int_equal(result, WEIR_E_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_become_fields),
        cmocka_unit_test(every_profile_is_a_choice),
        cmocka_unit_test(the_shells_environment_goes_along),
        cmocka_unit_test(what_cannot_be_sent_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    weir_arena_finish(&arena);
    return failed;
}

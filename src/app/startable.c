#include "app/startable.h"

#include "base/count.h"
#include "base/err.h"
#include "base/time.h"
#include "base/tree.h"
#include "base/units.h"
#include "fmt/quantity.h"
#include "port/cluster.h"

#include <stdint.h>
#include <string.h>

/* Of WEIR_CLUSTER_EXEC_MAX, for the variables that weir adds. */
enum { ADDED_BYTES_MAX = 256 * 1024, EXEC_BYTES_MAX = WEIR_CLUSTER_EXEC_MAX - ADDED_BYTES_MAX };

static int check_no_nul(const struct weir_tree *node, struct weir_err *err)
{
    if (node->text.len == 0 || memchr(node->text.ptr, '\0', node->text.len) == NULL)
        return 0;
    return weir_tree_error(node, err, "no program can be given a NUL byte");
}

/* Adds what an exec needs for a string of so many bytes. */
static int add_string(const struct weir_tree *node, size_t n_bytes, size_t *total,
                      struct weir_err *err)
{
    int r = check_no_nul(node, err);

    if (r < 0)
        return r;
    if (n_bytes > WEIR_CLUSTER_STRING_MAX) {
        weir_tree_error(node, err, "%zu bytes are more than a program can be given at once",
                        n_bytes);
        return weir_error_hint(err, "at most %d; put more into a file", WEIR_CLUSTER_STRING_MAX);
    }
    *total += n_bytes + 1 + sizeof(char *);
    if (*total <= EXEC_BYTES_MAX)
        return 0;
    weir_tree_error(node->parent, err, "command and env are more than a program can be given");
    return weir_error_hint(err, "at most %d bytes, 9 more for each; put more into a file",
                           EXEC_BYTES_MAX);
}

static int check_command(const struct weir_tree *command, size_t *total, struct weir_err *err)
{
    if (command->first->text.len == 0)
        return weir_tree_error(command->first, err, "the name of the program is empty");
    weir_tree_foreach (word, command) {
        int r = add_string(word, word->text.len, total, err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int check_env(const struct weir_tree *env, size_t *total, struct weir_err *err)
{
    if (env == NULL)
        return 0;
    weir_tree_foreach (variable, env) {
        int r;

        if (weir_str_eq_c(variable->key, "WEIR_TOKEN")) {
            weir_tree_error(variable, err, "a token is not for a job, and would be stored");
            return weir_error_hint(err, "leave it out; a job can read one from a file");
        }
        r = add_string(variable, variable->key.len + 1 + variable->text.len, total, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_cwd(const struct weir_tree *cwd, struct weir_err *err)
{
    int r = cwd == NULL ? 0 : check_no_nul(cwd, err);

    if (cwd == NULL || r < 0)
        return r;
    if (cwd->text.len == 0 || cwd->text.ptr[0] != '/')
        return weir_tree_error(cwd, err, "a folder is to be named from / on");
    if (cwd->text.len > WEIR_CLUSTER_PATH_MAX)
        return weir_tree_error(cwd, err, "more than %d bytes", WEIR_CLUSTER_PATH_MAX);
    return 0;
}

static int check_output(const struct weir_tree *node, struct weir_err *err)
{
    int64_t bytes;

    if (node == NULL || weir_quantity_bytes(node->text, &bytes, NULL) < 0)
        return 0; /* the schema has said so */
    if (bytes >= WEIR_CLUSTER_OUTPUT_MIN)
        return 0;
    weir_tree_error(node, err, "'%.*s' is too little output to keep", WEIR_STR_ARG(node->text));
    return weir_error_hint(err, "at least %d bytes", WEIR_CLUSTER_OUTPUT_MIN);
}

int weir_startable_check_limit(const struct weir_tree *node, struct weir_err *err)
{
    int64_t limit_ms;

    if (node == NULL || weir_duration_parse(node->text, &limit_ms, NULL) < 0)
        return 0; /* the schema has said so */
    if (limit_ms > 0 && limit_ms <= WEIR_CLUSTER_TIME_LIMIT_MAX)
        return 0;
    weir_tree_error(node, err, "'%.*s' is no time to run in", WEIR_STR_ARG(node->text));
    return weir_error_hint(err, "leave it out for no limit");
}

/* "20" is twenty bytes: nobody means that. */
static int check_size(const struct weir_tree *node, struct weir_err *err)
{
    int64_t bytes;

    if (node == NULL || weir_quantity_bytes(node->text, &bytes, NULL) < 0)
        return 0; /* the schema has said so */
    if (bytes == 0 || bytes >= WEIR_MIB)
        return 0;
    weir_tree_error(node, err, "'%.*s' is less than 1Mi of memory", WEIR_STR_ARG(node->text));
    if (bytes > 1024)
        return weir_error_hint(err, "for example 20Gi");
    return weir_error_hint(err, "bytes are meant where no unit is given; '%lldGi'?",
                           (long long)bytes);
}

/* What is asked of GPUs that it does not want, or wants none of, means something else. */
static int check_gpus(const struct weir_tree *spec, struct weir_err *err)
{
    static const char *const fields[] = {"gpuMemory", "gpuModel"};
    const struct weir_tree *memory = weir_tree_get(spec, "gpuMemory");
    const struct weir_tree *gpus = weir_tree_get(spec, "gpus");
    int64_t bytes, n_mgpu;

    if (memory != NULL && weir_quantity_bytes(memory->text, &bytes, NULL) == 0 && bytes == 0) {
        weir_tree_error(memory, err, "'%.*s' is no memory", WEIR_STR_ARG(memory->text));
        return weir_error_hint(err, "leave it out for a whole GPU, or say how much of one: 20Gi");
    }
    if (gpus == NULL || weir_quantity_milli(gpus->text, &n_mgpu, NULL) < 0 || n_mgpu != 0)
        return check_size(memory, err);
    for (size_t i = 0; i < WEIR_COUNT_OF(fields); i++) {
        const struct weir_tree *field = weir_tree_get(spec, fields[i]);

        if (field == NULL)
            continue;
        weir_tree_error(field, err, "it asks for no GPU (gpus: %.*s) that could have that",
                        WEIR_STR_ARG(gpus->text));
        return weir_error_hint(err, "leave out one of the two");
    }
    return 0;
}

static int check_retries(const struct weir_tree *spec, struct weir_err *err)
{
    const struct weir_tree *statuses = weir_tree_get(spec, "retryOn");
    const struct weir_tree *retries = weir_tree_get(spec, "retries");

    if (statuses == NULL || (retries != NULL && !weir_str_eq_c(retries->text, "0")))
        return 0;
    weir_tree_error(statuses, err,
                    "without retries it is never started again, whatever its status");
    return weir_error_hint(err, "say how often: retries");
}

int weir_startable_check(const struct weir_tree *spec, struct weir_err *err)
{
    size_t total = 0;
    int r = check_command(weir_tree_get(spec, "command"), &total, err);

    if (r == 0)
        r = check_env(weir_tree_get(spec, "env"), &total, err);
    if (r == 0)
        r = check_cwd(weir_tree_get(spec, "cwd"), err);
    if (r == 0)
        r = check_output(weir_tree_get(spec, "outputMax"), err);
    if (r == 0)
        r = check_gpus(spec, err);
    if (r == 0)
        r = check_size(weir_tree_get(spec, "memory"), err);
    if (r == 0)
        r = check_retries(spec, err);
    if (r == 0)
        r = weir_startable_check_limit(weir_tree_get(spec, "timeLimit"), err);
    return r;
}

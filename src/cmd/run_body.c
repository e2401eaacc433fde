#include "cmd/run_body.h"

#include "base/char.h"
#include "base/count.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "fmt/json.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Options whose value goes into the spec as it is. */
struct spec_field {
    const char *option;
    const char *field;
};

static const struct spec_field text_fields[] = {
    {"queue", "queue"},
    {"class", "class"},
    {"gpus", "gpus"},
    {"gpu-model", "gpuModel"},
    {"gpu-memory", "gpuMemory"},
    {"mig", "mig"},
    {"cpu", "cpu"},
    {"memory", "memory"},
    {"isolation", "isolation"},
    {"time", "timeLimit"},
    {"grace", "grace"},
    {"checkpoint-signal", "checkpointSignal"},
    {"backoff", "backoff"},
    {"output-max", "outputMax"},
    {"sim-profile", "simProfile"},
};

static const struct spec_field count_fields[] = {
    {"priority", "priority"}, {"members", "members"}, {"min-members", "minMembers"},
    {"array", "array"},       {"retries", "retries"},
};

static const char *option_of(const struct spec_field *fields, size_t n, struct weir_str name)
{
    for (size_t i = 0; i < n; i++)
        if (weir_str_eq_c(name, fields[i].field))
            return fields[i].option;
    return NULL;
}

const char *weir_run_body_option(const char *field)
{
    static const struct spec_field others[] = {{"cwd", "cwd"},
                                               {"preemptible", "preemptible"},
                                               {"retry-on", "retryOn"}};
    struct weir_str name = weir_str(field);
    const char *option;

    if (weir_str_eq_c(name, "metadata.name"))
        return "name";
    if (!weir_str_starts_with(name, WEIR_STR("spec.")))
        return NULL;
    name = weir_str_sub(name, 5, name.len);
    option = option_of(text_fields, WEIR_COUNT_OF(text_fields), name);
    if (option == NULL)
        option = option_of(count_fields, WEIR_COUNT_OF(count_fields), name);
    return option != NULL ? option : option_of(others, WEIR_COUNT_OF(others), name);
}

/* What says who may talk to weir is not for the job, nor is what only the shell itself means. */
static bool is_left_out(struct weir_str name)
{
    static const char *const names[] = {"WEIR_TOKEN", "WEIR_SERVER", "_"};

    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++)
        if (weir_str_eq_c(name, names[i]))
            return true;
    return false;
}

/* A shell exports more than that (bash its functions), under names that no other program can use;
 * the API takes none of them. */
static bool is_env_name(struct weir_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!weir_char_is_letter(c) && c != '_' && (i == 0 || !weir_char_is_digit(c)))
            return false;
    }
    return name.len > 0;
}

static bool is_kept_clean(struct weir_str name)
{
    static const char *const names[] = {"PATH",  "HOME", "USER", "LOGNAME",
                                        "SHELL", "LANG", "TZ",   "TERM"};

    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++)
        if (weir_str_eq_c(name, names[i]))
            return true;
    return weir_str_starts_with(name, WEIR_STR("LC_"));
}

/* ---- environment ---- */

struct variable {
    struct weir_str name;
    struct weir_str value;
    size_t order;
};

struct variables weir_vec(struct variable);

static int by_name(const void *a, const void *b)
{
    const struct variable *left = a;
    const struct variable *right = b;
    int order = weir_str_cmp(left->name, right->name);

    if (order != 0)
        return order;
    return left->order < right->order ? -1 : 1;
}

static int add_variable(struct variables *variables, struct weir_str name, struct weir_str value,
                        struct weir_err *err)
{
    struct variable variable = {name, value, variables->n};

    if (weir_vec_push(variables, variable) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the environment");
    return 0;
}

static int add_shell(struct variables *variables, char *const *environment, bool clean,
                     struct weir_err *err)
{
    for (; *environment != NULL; environment++) {
        struct weir_str value = weir_str(*environment);
        struct weir_str name;

        if (!weir_str_split(&value, '=', &name) || value.ptr == NULL || !is_env_name(name) ||
            is_left_out(name) || (clean && !is_kept_clean(name)))
            continue;
        if (!weir_str_is_utf8(value)) {
            weir_error(err, WEIR_E_INVALID, "the variable %.*s is not UTF-8", WEIR_STR_ARG(name));
            return weir_error_hint(err, "unset it, or use --clean-env");
        }
        if (add_variable(variables, name, value, err) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

/* --env K=V sets it, --env K takes it from the shell. */
static int add_given(struct variables *variables, const struct weir_args *args,
                     struct weir_err *err)
{
    const char *text;
    size_t at = 0;

    while ((text = weir_args_next(args, "env", &at)) != NULL) {
        const char *equals = strchr(text, '=');
        struct weir_str name =
            equals != NULL ? weir_str_n(text, (size_t)(equals - text)) : weir_str(text);
        const char *value = equals != NULL ? equals + 1 : getenv(text);
        char shown[WEIR_STR_SHOW_MAX];

        if (!is_env_name(name) || (value != NULL && !weir_str_is_utf8(weir_str(value)))) {
            weir_error(err, WEIR_E_INVALID, "run: --env '%s' is no variable in UTF-8",
                       weir_str_show(weir_str(text), shown));
            return weir_error_hint(err, "for example --env EPOCHS=3");
        }
        if (value == NULL)
            return weir_error(err, WEIR_E_INVALID, "run: --env %s: the shell has no such variable",
                              text);
        if (add_variable(variables, name, weir_str(value), err) < 0)
            return WEIR_E_NO_MEMORY;
    }
    return 0;
}

static int put_env(struct weir_json_writer *writer, const struct weir_args *args,
                   const struct weir_run_shell *shell, struct weir_err *err)
{
    struct variables variables = {0};
    int result = add_shell(&variables, shell->environment, weir_args_has(args, "clean-env"), err);

    if (result == 0)
        result = add_given(&variables, args, err);
    if (result == 0 && variables.n > 0) {
        qsort(variables.items, variables.n, sizeof(variables.items[0]), by_name);
        weir_json_key(writer, "env");
        weir_json_object_begin(writer);
        for (size_t i = 0; i < variables.n; i++) {
            /* Of one name the last one counts, as in a shell. */
            if (i + 1 < variables.n &&
                weir_str_eq(variables.items[i].name, variables.items[i + 1].name))
                continue;
            weir_json_key_str(writer, variables.items[i].name);
            weir_json_str(writer, variables.items[i].value);
        }
        weir_json_object_end(writer);
    }
    weir_vec_finish(&variables);
    return result;
}

/* ---- the rest of the spec ---- */

static int bad_codes(const char *text, struct weir_err *err)
{
    weir_error(err, WEIR_E_INVALID, "run: --retry-on '%s' is no list of exit statuses 1 to 255",
               text);
    return weir_error_hint(err, "for example --retry-on 1,64-78");
}

/* "1,64-78" */
static int put_retry_on(struct weir_json_writer *writer, const char *text, struct weir_err *err)
{
    struct weir_str rest = weir_str(text);
    struct weir_str part;
    bool wanted[256] = {false};

    while (weir_str_split(&rest, ',', &part)) {
        struct weir_str to = part;
        struct weir_str from;
        uint64_t first;
        uint64_t last;

        if (!weir_str_split(&to, '-', &from))
            return bad_codes(text, err);
        if (to.ptr == NULL)
            to = from;
        if (!weir_str_to_u64(from, &first) || !weir_str_to_u64(to, &last) || first < 1 ||
            last > 255 || first > last)
            return bad_codes(text, err);
        for (uint64_t code = first; code <= last; code++)
            wanted[code] = true;
    }
    weir_json_key(writer, "retryOn");
    weir_json_array_begin(writer);
    for (unsigned code = 1; code < WEIR_COUNT_OF(wanted); code++)
        if (wanted[code])
            weir_json_i64(writer, code);
    weir_json_array_end(writer);
    return 0;
}

static int put_command(struct weir_json_writer *writer, const struct weir_args *args,
                       struct weir_err *err)
{
    weir_json_key(writer, "command");
    weir_json_array_begin(writer);
    for (size_t i = 0; i < args->n_operands; i++) {
        if (!weir_str_is_utf8(weir_str(args->operands[i])))
            return weir_error(err, WEIR_E_INVALID, "run: word %zu of the command is not UTF-8",
                              i + 1);
        weir_json_text(writer, args->operands[i]);
    }
    weir_json_array_end(writer);
    return 0;
}

static int put_cwd(struct weir_json_writer *writer, const struct weir_args *args,
                   const struct weir_run_shell *shell, struct weir_err *err)
{
    const char *given = weir_args_text(args, "cwd");
    const char *cwd = given != NULL ? given : shell->cwd;
    char real[PATH_MAX];

    /* One that begins at the root is looked up where the job runs. */
    if (cwd[0] != '/') {
        if (realpath(cwd, real) == NULL) {
            weir_error_errno(err, errno, "run: --cwd '%s'", cwd);
            return weir_error(err, WEIR_E_INVALID, "%s", err->text);
        }
        cwd = real;
    }
    if (!weir_str_is_utf8(weir_str(cwd))) {
        weir_error(err, WEIR_E_INVALID, "the path of this folder is not UTF-8");
        return weir_error_hint(err, "name another: --cwd DIR");
    }
    weir_json_key(writer, "cwd");
    weir_json_text(writer, cwd);
    return 0;
}

static int put_spec(struct weir_json_writer *writer, const struct weir_args *args,
                    const struct weir_run_shell *shell, struct weir_err *err)
{
    const char *codes = weir_args_text(args, "retry-on");
    int result = put_command(writer, args, err);

    if (result < 0)
        return result;
    for (size_t i = 0; i < WEIR_COUNT_OF(text_fields); i++) {
        const char *value = weir_args_text(args, text_fields[i].option);

        if (value == NULL)
            continue;
        weir_json_key(writer, text_fields[i].field);
        weir_json_text(writer, value);
    }
    for (size_t i = 0; i < WEIR_COUNT_OF(count_fields); i++) {
        if (!weir_args_has(args, count_fields[i].option))
            continue;
        weir_json_key(writer, count_fields[i].field);
        weir_json_i64(writer, weir_args_count(args, count_fields[i].option, 0));
    }
    if (weir_args_has(args, "preemptible")) {
        weir_json_key(writer, "preemptible");
        weir_json_bool(writer, weir_args_bool(args, "preemptible", true));
    }
    weir_json_key(writer, "umask");
    weir_json_i64(writer, shell->umask);
    if (codes != NULL)
        result = put_retry_on(writer, codes, err);
    if (result == 0)
        result = put_cwd(writer, args, shell, err);
    return result < 0 ? result : put_env(writer, args, shell, err);
}

int weir_run_body(const struct weir_args *args, const struct weir_run_shell *shell,
                  struct weir_buf *out, struct weir_err *err)
{
    const char *name = weir_args_text(args, "name");
    struct weir_json_writer writer;
    int result;

    weir_json_writer_init(&writer, out, false);
    weir_json_object_begin(&writer);
    weir_json_key(&writer, "apiVersion");
    weir_json_text(&writer, "weir.dev/v1");
    weir_json_key(&writer, "kind");
    weir_json_text(&writer, "Workload");
    if (name != NULL) {
        weir_json_key(&writer, "metadata");
        weir_json_object_begin(&writer);
        weir_json_key(&writer, "name");
        weir_json_text(&writer, name);
        weir_json_object_end(&writer);
    }
    weir_json_key(&writer, "spec");
    weir_json_object_begin(&writer);
    result = put_spec(&writer, args, shell, err);
    if (result < 0)
        return result;
    weir_json_object_end(&writer);
    weir_json_object_end(&writer);
    return weir_json_writer_end(&writer, "the workload", err);
}

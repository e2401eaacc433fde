#include "fmt/schema_format.h"

#include "base/char.h"
#include "base/count.h"
#include "base/time.h"
#include "fmt/quantity.h"

#include <string.h>

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253 };

unsigned weir_schema_type(struct weir_str name)
{
    static const struct {
        const char *name;
        unsigned bit;
    } types[] = {
        {"object", WEIR_SCHEMA_OBJECT}, {"array", WEIR_SCHEMA_ARRAY},
        {"string", WEIR_SCHEMA_STRING}, {"integer", WEIR_SCHEMA_INTEGER},
        {"number", WEIR_SCHEMA_NUMBER}, {"boolean", WEIR_SCHEMA_BOOLEAN},
        {"null", WEIR_SCHEMA_NULL},
    };

    for (size_t i = 0; i < WEIR_COUNT_OF(types); i++)
        if (weir_str_eq_c(name, types[i].name))
            return types[i].bit;
    return 0;
}

unsigned weir_schema_types(const struct weir_tree *type)
{
    unsigned bits = 0;

    if (type == NULL)
        return 0;
    if (type->kind == WEIR_TREE_STRING)
        return weir_schema_type(type->text);
    weir_tree_foreach (name, type)
        bits |= weir_schema_type(name->text);
    return bits;
}

enum weir_schema_format weir_schema_format(struct weir_str name)
{
    static const char *const names[WEIR_SCHEMA_FORMAT_MAX] = {
        "",          "quantity-bytes", "quantity-milli", "duration", "name",      "label",
        "timestamp", "signal",         "label-key",      "env-name", "gpu-class",
    };

    for (unsigned i = 1; i < WEIR_SCHEMA_FORMAT_MAX; i++)
        if (weir_str_eq_c(name, names[i]))
            return (enum weir_schema_format)i;
    return WEIR_SCHEMA_FORMAT_NONE;
}

bool weir_schema_format_is_for_keys(enum weir_schema_format format)
{
    return format == WEIR_SCHEMA_FORMAT_LABEL_KEY || format == WEIR_SCHEMA_FORMAT_ENV_NAME ||
           format == WEIR_SCHEMA_FORMAT_GPU_CLASS;
}

bool weir_schema_format_takes_numbers(enum weir_schema_format format)
{
    return format == WEIR_SCHEMA_FORMAT_QUANTITY_BYTES ||
           format == WEIR_SCHEMA_FORMAT_QUANTITY_MILLI || format == WEIR_SCHEMA_FORMAT_DURATION;
}

static bool in_set(char c, const char *set)
{
    return weir_str_find_char(weir_str(set), c) >= 0;
}

/* Not empty, `inner` everywhere, `outer` at both ends. */
static bool is_word_of(struct weir_str s, const char *inner, const char *outer)
{
    for (size_t i = 0; i < s.len; i++)
        if (!in_set(s.ptr[i], inner))
            return false;
    return s.len > 0 && in_set(s.ptr[0], outer) && in_set(s.ptr[s.len - 1], outer);
}

static bool is_dns_label(struct weir_str s)
{
    return s.len <= LABEL_MAX && is_word_of(s, LOWER DIGITS "-", LOWER DIGITS);
}

static bool is_label_value(struct weir_str s)
{
    return s.len <= LABEL_MAX && is_word_of(s, LOWER UPPER DIGITS "-_.", LOWER UPPER DIGITS);
}

/* A name made of what was written, or an empty text where none is near. */
static struct weir_str suggest_name(struct weir_str s, char room[LABEL_MAX])
{
    struct weir_str name;

    if (s.len > LABEL_MAX)
        return weir_str_n("", 0);
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        room[i] = in_set(c, UPPER) ? (char)(c | 0x20) : in_set(c, "_. /") ? '-' : c;
    }
    name = weir_str_n(room, s.len);
    return is_dns_label(name) ? name : weir_str_n("", 0);
}

static int check_name(struct weir_str text, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    char room[LABEL_MAX];
    struct weir_str name = suggest_name(text, room);

    if (is_dns_label(text))
        return 0;
    weir_error(err, WEIR_E_INVALID, "'%s' is not a name", weir_str_show(text, shown));
    if (name.len > 0)
        return weir_error_hint(err, "write %.*s", WEIR_STR_ARG(name));
    return weir_error_hint(err,
                           "use a-z, 0-9 and '-', at most %d, with a letter or digit at both "
                           "ends",
                           LABEL_MAX);
}

static int check_label(struct weir_str text, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];

    if (text.len == 0 || is_label_value(text))
        return 0;
    weir_error(err, WEIR_E_INVALID, "'%s' is not a label value", weir_str_show(text, shown));
    return weir_error_hint(err,
                           "use letters, digits, '-', '_' and '.', at most %d, with a letter "
                           "or digit at both ends",
                           LABEL_MAX);
}

static bool is_subdomain(struct weir_str s)
{
    struct weir_str part;

    if (s.len > SUBDOMAIN_MAX)
        return false;
    while (weir_str_split(&s, '.', &part))
        if (!is_word_of(part, LOWER DIGITS "-", LOWER DIGITS))
            return false;
    return true;
}

static int check_label_key(struct weir_str text, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t slash = weir_str_find_char(text, '/');
    struct weir_str prefix = weir_str_sub(text, 0, slash < 0 ? 0 : (size_t)slash);
    struct weir_str name = weir_str_sub(text, (size_t)(slash + 1), text.len);

    if (is_label_value(name) && (slash < 0 || is_subdomain(prefix)))
        return 0;
    weir_error(err, WEIR_E_INVALID, "'%s' is not a label key", weir_str_show(text, shown));
    return weir_error_hint(err, "write it as name or example.com/name");
}

static int check_env_name(struct weir_str text, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    bool fits = text.len > 0;

    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || text.ptr[i] == '=')
            fits = false;
    if (fits)
        return 0;
    return weir_error(err, WEIR_E_INVALID, "'%s' is not the name of a variable",
                      weir_str_show(text, shown));
}

/* "1g.10gb+me" */
static bool is_profile(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!weir_char_is_letter(s.ptr[i]) && !weir_char_is_digit(s.ptr[i]) &&
            !in_set(s.ptr[i], ".+-"))
            return false;
    return s.len > 0 && s.len <= 63;
}

static int check_gpu_class(struct weir_str text, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];

    if (weir_str_starts_with(text, WEIR_STR("gpu/")) &&
        is_label_value(weir_str_sub(text, 4, text.len)))
        return 0;
    if (weir_str_starts_with(text, WEIR_STR("mig/")) && is_profile(weir_str_sub(text, 4, text.len)))
        return 0;
    weir_error(err, WEIR_E_INVALID, "'%s' is not a class of GPUs", weir_str_show(text, shown));
    return weir_error_hint(err, "write it as gpu/MODEL, instances as mig/PROFILE");
}

static int check_signal(struct weir_str text, struct weir_err *err)
{
    static const char *const signals[] = {
        "HUP",  "INT",  "QUIT",   "ILL",  "TRAP",  "ABRT", "BUS",  "FPE",  "USR1",   "SEGV",
        "USR2", "PIPE", "ALRM",   "TERM", "CHLD",  "CONT", "TSTP", "TTIN", "TTOU",   "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO",   "PWR",  "SYS",  "STKFLT",
    };
    enum { N = WEIR_COUNT_OF(signals) };
    char shown[WEIR_STR_SHOW_MAX];
    struct weir_str names[N];
    bool has_prefix = weir_str_starts_with(text, WEIR_STR("SIG"));
    struct weir_str name = has_prefix ? weir_str_sub(text, 3, text.len) : text;
    ptrdiff_t near;

    for (size_t i = 0; i < N; i++) {
        names[i] = weir_str(signals[i]);
        if (weir_str_eq(name, names[i]))
            return 0;
    }
    if (weir_str_eq_c(name, "KILL") || weir_str_eq_c(name, "STOP")) {
        weir_error(err, WEIR_E_INVALID, "no process can catch %s", weir_str_show(text, shown));
        return weir_error_hint(err, "use TERM or USR1");
    }
    near = weir_str_nearest(name, names, N);
    weir_error(err, WEIR_E_INVALID, "'%s' is not a signal", weir_str_show(text, shown));
    if (near < 0)
        return weir_error_hint(err, "write a name such as TERM or USR1");
    return weir_error_hint(err, "did you mean '%s%s'?", has_prefix ? "SIG" : "", signals[near]);
}

int weir_schema_format_check(enum weir_schema_format format, struct weir_str text,
                             struct weir_err *err)
{
    int64_t value;

    switch (format) {
    case WEIR_SCHEMA_FORMAT_QUANTITY_BYTES:
        return weir_quantity_bytes(text, &value, err);
    case WEIR_SCHEMA_FORMAT_QUANTITY_MILLI:
        return weir_quantity_milli(text, &value, err);
    case WEIR_SCHEMA_FORMAT_DURATION:
        return weir_duration_parse(text, &value, err);
    case WEIR_SCHEMA_FORMAT_TIMESTAMP:
        return weir_time_parse(text, &value, err);
    case WEIR_SCHEMA_FORMAT_NAME:
        return check_name(text, err);
    case WEIR_SCHEMA_FORMAT_LABEL:
        return check_label(text, err);
    case WEIR_SCHEMA_FORMAT_SIGNAL:
        return check_signal(text, err);
    case WEIR_SCHEMA_FORMAT_LABEL_KEY:
        return check_label_key(text, err);
    case WEIR_SCHEMA_FORMAT_ENV_NAME:
        return check_env_name(text, err);
    case WEIR_SCHEMA_FORMAT_GPU_CLASS:
        return check_gpu_class(text, err);
    case WEIR_SCHEMA_FORMAT_NONE:
    case WEIR_SCHEMA_FORMAT_MAX:
        break;
    }
    return 0;
}

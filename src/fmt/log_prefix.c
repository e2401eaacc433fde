#include "fmt/log_prefix.h"
#include "base/count.h"

#include <string.h>

enum {
    HEADER_WORDS_MAX = 5, /* "Feb", "27", "15:10:02", "node" and one to spare */
    HEADER_BYTES_MAX = 320,
    PRIO_DIGITS_MAX = 3,
    FACILITY_SHIFT = 3
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct weir_str skip_blanks(struct weir_str s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = weir_str_sub(s, 1, s.len);
    return s;
}

static bool take(struct weir_str *s, const char *literal)
{
    if (!weir_str_starts_with(*s, weir_str(literal)))
        return false;
    *s = weir_str_sub(*s, strlen(literal), s->len);
    return true;
}

/* "[journal FIELD=VALUE]" or "[journal FIELD != VALUE]". */
static enum weir_log_origin take_journal(struct weir_str *s)
{
    enum weir_log_origin origin = WEIR_LOG_ORIGIN_UNKNOWN;
    struct weir_str rest = *s, field;
    ptrdiff_t close;
    bool is_kernel;

    if (!take(&rest, "[journal "))
        return origin;
    close = weir_str_find_char(rest, ']');
    if (close < 0)
        return origin;
    field = weir_str_sub(rest, 0, (size_t)close);
    is_kernel =
        weir_str_ends_with(field, WEIR_STR("kernel")) && weir_str_find(field, WEIR_STR("!=")) < 0;
    if (weir_str_starts_with(field, WEIR_STR("_BOOT_ID")))
        origin = weir_str_find(field, WEIR_STR("!=")) >= 0 ? WEIR_LOG_ORIGIN_STALE
                                                           : WEIR_LOG_ORIGIN_UNKNOWN;
    else if (weir_str_starts_with(field, WEIR_STR("_TRANSPORT")))
        origin = is_kernel ? WEIR_LOG_ORIGIN_KERNEL : WEIR_LOG_ORIGIN_USER;
    *s = skip_blanks(weir_str_sub(rest, (size_t)close + 1, rest.len));
    return origin;
}

/* "<4>": facility << 3 | level. */
static enum weir_log_origin take_priority(struct weir_str *s)
{
    ptrdiff_t close = weir_str_find_char(*s, '>');
    uint64_t prio;

    if (s->len == 0 || s->ptr[0] != '<' || close < 2 || close > 1 + PRIO_DIGITS_MAX ||
        !weir_str_to_u64(weir_str_sub(*s, 1, (size_t)close - 1), &prio))
        return WEIR_LOG_ORIGIN_UNKNOWN;
    *s = skip_blanks(weir_str_sub(*s, (size_t)close + 1, s->len));
    return prio >> FACILITY_SHIFT == 0 ? WEIR_LOG_ORIGIN_KERNEL : WEIR_LOG_ORIGIN_USER;
}

static bool is_facility(struct weir_str word)
{
    static const char *const names[] = {"kern",     "user",   "mail",   "daemon", "auth",
                                        "syslog",   "lpr",    "news",   "uucp",   "cron",
                                        "authpriv", "ftp",    "local0", "local1", "local2",
                                        "local3",   "local4", "local5", "local6", "local7"};

    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++)
        if (weir_str_eq_c(word, names[i]))
            return true;
    return false;
}

static bool is_level(struct weir_str word)
{
    static const char *const names[] = {"emerg", "alert",   "crit",   "err",  "error",
                                        "warn",  "warning", "notice", "info", "debug"};

    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++)
        if (weir_str_eq_c(word, names[i]))
            return true;
    return false;
}

/* Up to the next ':', which is passed over with the blanks behind it. */
static bool take_part(struct weir_str *s, struct weir_str *ret_part)
{
    ptrdiff_t colon = weir_str_find_char(*s, ':');

    if (colon < 0)
        return false;
    *ret_part = weir_str_trim(weir_str_sub(*s, 0, (size_t)colon));
    *s = skip_blanks(weir_str_sub(*s, (size_t)colon + 1, s->len));
    return true;
}

/* "[ADDRESS: ]FACILITY: LEVEL: ", the forms that name the facility in words. */
static enum weir_log_origin take_facility(struct weir_str *s)
{
    struct weir_str rest = *s, word, level;

    if (!take_part(&rest, &word))
        return WEIR_LOG_ORIGIN_UNKNOWN;
    if (!is_facility(word) && (weir_str_find_char(word, ' ') >= 0 || !take_part(&rest, &word)))
        return WEIR_LOG_ORIGIN_UNKNOWN;
    if (!is_facility(word) || !take_part(&rest, &level) || !is_level(level))
        return WEIR_LOG_ORIGIN_UNKNOWN;
    *s = rest;
    return weir_str_eq_c(word, "kern") ? WEIR_LOG_ORIGIN_KERNEL : WEIR_LOG_ORIGIN_USER;
}

/* A word of a syslog header: a name, a date or a time, but not another program's tag. */
static bool is_header_word(struct weir_str word)
{
    if (word.len == 0 || word.ptr[word.len - 1] == ':')
        return word.len == 0;
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] == '"' || word.ptr[i] == '\'' || word.ptr[i] == '[' || word.ptr[i] == '=')
            return false;
    return true;
}

/* "Feb 27 15:10:02 node kernel: ". */
static enum weir_log_origin take_syslog(struct weir_str *s)
{
    struct weir_str rest = weir_str_sub(*s, 0, HEADER_BYTES_MAX), word;
    unsigned n_words = 0;

    while (weir_str_split(&rest, ' ', &word)) {
        if (weir_str_eq_c(word, "kernel:")) {
            size_t end = (size_t)(word.ptr - s->ptr) + word.len;

            *s = skip_blanks(weir_str_sub(*s, end, s->len));
            return WEIR_LOG_ORIGIN_KERNEL;
        }
        n_words += word.len > 0;
        if (n_words > HEADER_WORDS_MAX || !is_header_word(word))
            break;
    }
    return WEIR_LOG_ORIGIN_UNKNOWN;
}

/* "Thu Feb 27 …", "Feb 27 …". */
static bool begins_a_date(struct weir_str s)
{
    static const char names[] = "Mon Tue Wed Thu Fri Sat Sun "
                                "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";

    for (size_t i = 0; s.len >= 4 && i + 4 < sizeof(names); i += 4)
        if (memcmp(s.ptr, names + i, 4) == 0)
            return true;
    return false;
}

/* "T12" or "C3": the thread or processor that spoke. */
static bool is_caller(struct weir_str s)
{
    uint64_t number;

    return s.len > 1 && (s.ptr[0] == 'T' || s.ptr[0] == 'C') &&
           weir_str_to_u64(weir_str_sub(s, 1, s.len), &number);
}

/* "[ 12.345]", "[Thu Feb 27 15:10:02 2025]", "[2026-01-02T03:04:05Z]:", "[T123]", "[    C3]". */
static bool take_time(struct weir_str *s)
{
    ptrdiff_t close = weir_str_find_char(*s, ']');
    struct weir_str inside;

    if (s->len == 0 || s->ptr[0] != '[' || close < 0)
        return false;
    inside = weir_str_trim(weir_str_sub(*s, 1, (size_t)close - 1));
    if (inside.len == 0 || !(is_digit(inside.ptr[0]) || begins_a_date(inside) || is_caller(inside)))
        return false;
    *s = weir_str_sub(*s, (size_t)close + 1, s->len);
    (void)take(s, ":");
    *s = skip_blanks(*s);
    return true;
}

enum weir_log_origin weir_log_prefix_strip(struct weir_str line, struct weir_str *ret_message)
{
    struct weir_str rest = skip_blanks(line);
    enum weir_log_origin (*const steps[])(struct weir_str *) = {take_journal, take_priority,
                                                                take_facility, take_syslog};
    enum weir_log_origin origin = WEIR_LOG_ORIGIN_UNKNOWN;

    /* The worst that any of them says counts: a stale entry of the kernel is stale. */
    for (size_t i = 0; i < WEIR_COUNT_OF(steps); i++) {
        enum weir_log_origin said = steps[i](&rest);

        if (said > origin)
            origin = said;
    }
    while (take_time(&rest))
        ;
    *ret_message = rest;
    return origin;
}

#include "base/char.h"
#include "fmt/yaml.h"

#include "base/arena.h"
#include "base/count.h"
#include "base/err.h"

#include <inttypes.h>

#define DIGITS "0123456789"

struct word {
    const char *text;
    uint8_t kind;
    bool is_true;
    bool only_1_1; /* YAML 1.2 reads a string */
};

static const struct word words[] = {
    {"", WEIR_TREE_NULL, false, false},      {"~", WEIR_TREE_NULL, false, false},
    {"null", WEIR_TREE_NULL, false, false},  {"Null", WEIR_TREE_NULL, false, false},
    {"NULL", WEIR_TREE_NULL, false, false},  {"true", WEIR_TREE_BOOL, true, false},
    {"True", WEIR_TREE_BOOL, true, false},   {"TRUE", WEIR_TREE_BOOL, true, false},
    {"false", WEIR_TREE_BOOL, false, false}, {"False", WEIR_TREE_BOOL, false, false},
    {"FALSE", WEIR_TREE_BOOL, false, false}, {"y", WEIR_TREE_BOOL, true, true},
    {"Y", WEIR_TREE_BOOL, true, true},       {"yes", WEIR_TREE_BOOL, true, true},
    {"Yes", WEIR_TREE_BOOL, true, true},     {"YES", WEIR_TREE_BOOL, true, true},
    {"on", WEIR_TREE_BOOL, true, true},      {"On", WEIR_TREE_BOOL, true, true},
    {"ON", WEIR_TREE_BOOL, true, true},      {"n", WEIR_TREE_BOOL, false, true},
    {"N", WEIR_TREE_BOOL, false, true},      {"no", WEIR_TREE_BOOL, false, true},
    {"No", WEIR_TREE_BOOL, false, true},     {"NO", WEIR_TREE_BOOL, false, true},
    {"off", WEIR_TREE_BOOL, false, true},    {"Off", WEIR_TREE_BOOL, false, true},
    {"OFF", WEIR_TREE_BOOL, false, true},
};

static const struct word *find_word(struct weir_str s)
{
    if (s.len > 5)
        return NULL;
    for (size_t i = 0; i < WEIR_COUNT_OF(words); i++)
        if (weir_str_eq_c(s, words[i].text))
            return &words[i];
    return NULL;
}

/* Takes the leading characters that are in the set; returns how many. */
static size_t take(struct weir_str *s, const char *set)
{
    struct weir_str chars = weir_str(set);
    size_t n = 0;

    while (n < s->len && weir_str_find_char(chars, s->ptr[n]) >= 0)
        n++;
    *s = weir_str_sub(*s, n, s->len);
    return n;
}

static bool take_one(struct weir_str *s, const char *set)
{
    if (s->len == 0 || weir_str_find_char(weir_str(set), s->ptr[0]) < 0)
        return false;
    *s = weir_str_sub(*s, 1, s->len);
    return true;
}

/* Takes "0x" and the like in either case. */
static bool take_prefix(struct weir_str *s, const char *letters)
{
    struct weir_str rest = *s;

    if (!take_one(&rest, "0") || !take_one(&rest, letters))
        return false;
    *s = rest;
    return true;
}

static bool all_of(struct weir_str s, const char *set)
{
    return take(&s, set) > 0 && s.len == 0;
}

static struct weir_str without_underscores(struct weir_str s, char *room)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] != '_')
            room[n++] = s.ptr[i];
    return weir_str_n(room, n);
}

static bool based_value(struct weir_str digits, unsigned base, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (digits.len == 0)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        int digit = weir_char_hex(digits.ptr[i]);

        if (digit < 0 || (unsigned)digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (unsigned)digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

/* 1: an integer that is not plain decimal. 0: none, or beyond 64 bits. Negative: no memory. */
static int read_based(bool negative, struct weir_str digits, struct weir_arena *arena,
                      struct weir_str *ret_text)
{
    unsigned base = 8;
    uint64_t value;
    char *text;

    if (take_prefix(&digits, "xX"))
        base = 16;
    else if (take_prefix(&digits, "bB"))
        base = 2;
    else if (!take_prefix(&digits, "oO") && !take_one(&digits, "0"))
        return 0;
    if (!based_value(digits, base, &value) || (negative && value > (uint64_t)INT64_MAX + 1))
        return 0;
    text = weir_arena_printf(arena, "%s%" PRIu64, negative && value > 0 ? "-" : "", value);
    if (text == NULL)
        return WEIR_E_NO_MEMORY;
    *ret_text = weir_str(text);
    return 1;
}

struct decimal {
    bool negative;
    bool is_integer;
    struct weir_str whole;
    struct weir_str fraction;
    struct weir_str exponent; /* with its letter and sign */
};

static bool split_decimal(struct weir_str s, struct decimal *ret)
{
    struct weir_str rest = s;
    bool has_point;

    ret->negative = s.len > 0 && s.ptr[0] == '-';
    take_one(&rest, "+-");
    ret->whole = rest;
    ret->whole.len = take(&rest, DIGITS);
    has_point = take_one(&rest, ".");
    ret->fraction = rest;
    ret->fraction.len = has_point ? take(&rest, DIGITS) : 0;
    if (ret->whole.len + ret->fraction.len == 0)
        return false;
    ret->exponent = rest;
    ret->is_integer = !has_point && rest.len == 0;
    if (rest.len == 0)
        return true;
    if (!take_one(&rest, "eE"))
        return false;
    take_one(&rest, "+-");
    return take(&rest, DIGITS) > 0 && rest.len == 0;
}

/* As a JSON number: no plus sign, no needless zero in front, digits on both sides of the point. */
static int write_decimal(const struct decimal *d, struct weir_arena *arena,
                         struct weir_str *ret_text)
{
    struct weir_str whole = d->whole;
    char *text;

    while (whole.len > 1 && whole.ptr[0] == '0')
        whole = weir_str_sub(whole, 1, whole.len);
    if (whole.len == 0)
        whole = WEIR_STR("0");
    if (d->is_integer && weir_str_eq_c(whole, "0")) {
        *ret_text = WEIR_STR("0");
        return 0;
    }
    text = weir_arena_printf(arena, "%s%.*s%s%.*s%.*s", d->negative ? "-" : "", WEIR_STR_ARG(whole),
                             d->fraction.len > 0 ? "." : "", WEIR_STR_ARG(d->fraction),
                             WEIR_STR_ARG(d->exponent));
    if (text == NULL)
        return WEIR_E_NO_MEMORY;
    *ret_text = weir_str(text);
    return 0;
}

/* 1: a number. 0: none. Negative: no memory. */
static int read_number(struct weir_str s, struct weir_arena *arena, struct weir_yaml_scalar *ret)
{
    struct weir_str digits = s;
    struct decimal decimal;
    int found = 0;

    take_one(&digits, "+-");
    if (digits.len > 1 && digits.ptr[0] == '0')
        found = read_based(s.ptr[0] == '-', digits, arena, &ret->text);
    if (found != 0) {
        ret->is_integer = true;
        return found;
    }
    if (!split_decimal(s, &decimal))
        return 0;
    ret->is_integer = decimal.is_integer;
    return write_decimal(&decimal, arena, &ret->text) < 0 ? (int)WEIR_E_NO_MEMORY : 1;
}

int weir_yaml_resolve(struct weir_str plain, struct weir_arena *arena,
                      struct weir_yaml_scalar *ret_scalar)
{
    const struct word *word = find_word(plain);
    struct weir_yaml_scalar number = {WEIR_TREE_NUMBER, false, {NULL, 0}};
    struct weir_str s = plain;
    int found;

    if (word != NULL) {
        *ret_scalar = (struct weir_yaml_scalar){word->kind, false,
                                                word->kind == WEIR_TREE_NULL ? weir_str_n("", 0)
                                                : word->is_true              ? WEIR_STR("true")
                                                                             : WEIR_STR("false")};
        return 0;
    }
    *ret_scalar = (struct weir_yaml_scalar){WEIR_TREE_STRING, false, plain};
    if (!all_of(plain, DIGITS "+-._abcdefABCDEFxXoO"))
        return 0;
    /* Underscores count only in what starts with a digit or a sign. */
    if (weir_str_find_char(plain, '_') >= 0 && weir_str_find_char(weir_str("._"), s.ptr[0]) < 0) {
        char *room = weir_arena_bytes(arena, plain.len);

        if (room == NULL)
            return WEIR_E_NO_MEMORY;
        s = without_underscores(plain, room);
    }
    found = read_number(s, arena, &number);
    if (found == 1)
        *ret_scalar = number;
    return found < 0 ? found : 0;
}

enum reading {
    AS_STRING,
    AS_NULL,
    AS_TRUE,
    AS_FALSE,
    AS_DECIMAL,
    AS_OCTAL,
    AS_HEX,
    AS_FLOAT,
    AS_OTHER_1_1, /* something YAML 1.2 does not have: binary, base 60, a time, `<<` … */
};

static enum reading reading_of_word(const struct word *word)
{
    if (word->kind == WEIR_TREE_NULL)
        return AS_NULL;
    return word->is_true ? AS_TRUE : AS_FALSE;
}

static bool is_inf_or_nan(struct weir_str s)
{
    if (weir_str_eq_c(s, ".nan") || weir_str_eq_c(s, ".NaN") || weir_str_eq_c(s, ".NAN"))
        return true;
    take_one(&s, "+-");
    return weir_str_eq_c(s, ".inf") || weir_str_eq_c(s, ".Inf") || weir_str_eq_c(s, ".INF");
}

/* The core schema of YAML 1.2, section 10.3.2. */
static enum reading read_1_2(struct weir_str s)
{
    const struct word *word = find_word(s);
    struct weir_str rest = s;
    struct decimal decimal;

    if (word != NULL)
        return word->only_1_1 ? AS_STRING : reading_of_word(word);
    if (is_inf_or_nan(s))
        return AS_FLOAT;
    if (weir_str_starts_with(s, WEIR_STR("0o")))
        return all_of(weir_str_sub(s, 2, s.len), "01234567") ? AS_OCTAL : AS_STRING;
    if (weir_str_starts_with(s, WEIR_STR("0x")))
        return all_of(weir_str_sub(s, 2, s.len), DIGITS "abcdefABCDEF") ? AS_HEX : AS_STRING;
    if (!split_decimal(rest, &decimal))
        return AS_STRING;
    return decimal.is_integer ? AS_DECIMAL : AS_FLOAT;
}

/* Base 60, whole or with a fraction: 190:20:30, 20:30.15. */
static bool is_sexagesimal(struct weir_str s)
{
    bool zero_first;
    unsigned n_groups = 0;

    take_one(&s, "+-");
    zero_first = s.len > 0 && s.ptr[0] == '0';
    if (s.len == 0 || s.ptr[0] == '_' || take(&s, DIGITS "_") == 0)
        return false;
    for (; take_one(&s, ":"); n_groups++) {
        bool tens = s.len > 1 && weir_char_is_digit(s.ptr[1]);

        if ((tens && !take_one(&s, "012345")) || !take_one(&s, DIGITS))
            return false;
    }
    if (n_groups == 0)
        return false;
    if (take_one(&s, ".")) {
        take(&s, DIGITS "_");
        return s.len == 0;
    }
    return s.len == 0 && !zero_first;
}

/* A date, or a date with a time: https://yaml.org/type/timestamp.html */
static bool is_timestamp(struct weir_str s)
{
    size_t month;
    size_t day;

    if (take(&s, DIGITS) != 4 || !take_one(&s, "-"))
        return false;
    month = take(&s, DIGITS);
    if (month < 1 || month > 2 || !take_one(&s, "-"))
        return false;
    day = take(&s, DIGITS);
    if (day < 1 || day > 2)
        return false;
    if (s.len == 0)
        return month == 2 && day == 2;
    if (!take_one(&s, "Tt") && take(&s, " \t") == 0)
        return false;
    if (take(&s, DIGITS) == 0 || !take_one(&s, ":") || take(&s, DIGITS) != 2 ||
        !take_one(&s, ":") || take(&s, DIGITS) != 2)
        return false;
    take(&s, DIGITS ".:+-Z \t");
    return s.len == 0;
}

static enum reading read_integer_1_1(struct weir_str s)
{
    bool underscored = weir_str_find_char(s, '_') >= 0;

    take_one(&s, "+-");
    if (weir_str_starts_with(s, WEIR_STR("0b")))
        return all_of(weir_str_sub(s, 2, s.len), "01_") ? AS_OTHER_1_1 : AS_STRING;
    if (weir_str_starts_with(s, WEIR_STR("0x")))
        return !all_of(weir_str_sub(s, 2, s.len), DIGITS "abcdefABCDEF_") ? AS_STRING
               : underscored                                              ? AS_OTHER_1_1
                                                                          : AS_HEX;
    if (weir_str_eq_c(s, "0"))
        return AS_DECIMAL;
    if (s.len == 0 || s.ptr[0] == '_' || !all_of(s, DIGITS "_"))
        return AS_STRING;
    if (s.ptr[0] == '0')
        return all_of(s, "01234567_") ? AS_OCTAL : AS_STRING;
    return underscored ? AS_OTHER_1_1 : AS_DECIMAL;
}

static enum reading read_float_1_1(struct weir_str s)
{
    bool underscored = weir_str_find_char(s, '_') >= 0;
    size_t n_digits;

    take_one(&s, "+-");
    if (s.len == 0 || s.ptr[0] == '_')
        return AS_STRING;
    n_digits = take(&s, DIGITS "_");
    if (!take_one(&s, "."))
        return AS_STRING;
    n_digits += take(&s, DIGITS "_");
    if (n_digits == 0)
        return AS_STRING;
    /* The exponent must carry its sign. */
    if (s.len > 0 && (!take_one(&s, "eE") || !take_one(&s, "+-") || !all_of(s, DIGITS)))
        return AS_STRING;
    return underscored ? AS_OTHER_1_1 : AS_FLOAT;
}

/* The type repository of YAML 1.1, https://yaml.org/type/ */
static enum reading read_1_1(struct weir_str s)
{
    const struct word *word = find_word(s);
    enum reading integer;

    if (word != NULL)
        return reading_of_word(word);
    if (weir_str_eq_c(s, "<<") || weir_str_eq_c(s, "=") || is_sexagesimal(s) || is_timestamp(s))
        return AS_OTHER_1_1;
    if (is_inf_or_nan(s))
        return AS_FLOAT;
    integer = read_integer_1_1(s);
    return integer != AS_STRING ? integer : read_float_1_1(s);
}

bool weir_yaml_is_ambiguous(struct weir_str plain)
{
    return read_1_1(plain) != read_1_2(plain);
}

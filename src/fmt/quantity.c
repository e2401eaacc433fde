#include "fmt/quantity.h"

#include "base/buf.h"
#include "base/char.h"
#include "base/count.h"
#include "base/err.h"

/* 10^38 is the largest power of ten below 2^128, with room for one doubling. */
enum { DIGITS_MAX = 38, DECIMALS_MAX = 9 };

__extension__ typedef unsigned __int128 uint128;

struct suffix {
    const char *name;
    int8_t ten;  /* power of ten */
    uint8_t two; /* power of two */
};

/* Decimal ones first, and M before m: the first of equally near ones is what the hint suggests. */
static const struct suffix suffixes[] = {
    {"", 0, 0},    {"k", 3, 0},   {"M", 6, 0},   {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},
    {"E", 18, 0},  {"m", -3, 0},  {"u", -6, 0},  {"n", -9, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

enum { N_SUFFIXES = WEIR_COUNT_OF(suffixes) };

/* mantissa * 10^ten * 2^two */
struct number {
    bool negative;
    uint128 mantissa;
    int64_t ten;
    unsigned two;
};

static struct weir_str take_digits(struct weir_str *s)
{
    size_t n = 0;
    struct weir_str digits = *s;

    while (n < s->len && weir_char_is_digit(s->ptr[n]))
        n++;
    digits.len = n;
    *s = weir_str_sub(*s, n, s->len);
    return digits;
}

static bool take_char(struct weir_str *s, char c)
{
    if (s->len == 0 || s->ptr[0] != c)
        return false;
    *s = weir_str_sub(*s, 1, s->len);
    return true;
}

static bool is_word(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!weir_char_is_letter(s.ptr[i]))
            return false;
    return s.len > 0;
}

/* The suffix that was probably meant, or NULL. */
static const char *nearest_suffix(struct weir_str written)
{
    struct weir_str names[N_SUFFIXES];
    ptrdiff_t at;

    if (!is_word(written))
        return NULL;
    if (weir_str_eq_nocase(written, WEIR_STR("b")) ||
        weir_str_eq_nocase(written, WEIR_STR("byte")) ||
        weir_str_eq_nocase(written, WEIR_STR("bytes")))
        return "";
    for (size_t i = 0; i < N_SUFFIXES; i++)
        names[i] = weir_str(suffixes[i].name);
    at = weir_str_nearest(written, names + 1, N_SUFFIXES - 1);
    return at < 0 ? NULL : suffixes[at + 1].name;
}

/* `number` is the part of the text before what cannot be read, `rest` what cannot. */
static int not_a_quantity(struct weir_str text, struct weir_str number, struct weir_str rest,
                          struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    const char *suffix = nearest_suffix(weir_str_trim(rest));

    if (text.len == 0)
        weir_error(err, WEIR_E_INVALID, "an empty text is not a quantity");
    else
        weir_error(err, WEIR_E_INVALID, "'%s' is not a quantity", weir_str_show(text, shown));
    if (number.len > 0 && suffix != NULL)
        return weir_error_hint(err, "write %s%s", weir_str_show(number, shown), suffix);
    if (number.len > 0 && rest.len > 0 && rest.ptr[0] == ',')
        return weir_error_hint(err,
                               "write the fraction with a point, and thousands without a mark");
    return weir_error_hint(err, "write a number, with one of %s or nothing behind it",
                           "n u m k M G T P E Ki Mi Gi Ti Pi Ei");
}

/* The digits as one whole number; false when there are too many. */
static bool read_mantissa(struct weir_str whole, struct weir_str fraction, struct number *ret)
{
    while (whole.len > 0 && whole.ptr[0] == '0')
        whole = weir_str_sub(whole, 1, whole.len);
    while (fraction.len > 0 && fraction.ptr[fraction.len - 1] == '0')
        fraction.len--;
    if (whole.len + fraction.len > DIGITS_MAX)
        return false;
    ret->mantissa = 0;
    for (size_t i = 0; i < whole.len; i++)
        ret->mantissa = ret->mantissa * 10 + (unsigned)(whole.ptr[i] - '0');
    for (size_t i = 0; i < fraction.len; i++)
        ret->mantissa = ret->mantissa * 10 + (unsigned)(fraction.ptr[i] - '0');
    ret->ten = -(int64_t)fraction.len;
    return true;
}

static bool read_suffix(struct weir_str s, struct number *number)
{
    struct weir_str digits = s;
    int64_t exponent;

    for (size_t i = 0; i < N_SUFFIXES; i++) {
        if (!weir_str_eq_c(s, suffixes[i].name))
            continue;
        number->ten += suffixes[i].ten;
        number->two = suffixes[i].two;
        return true;
    }
    if (!take_char(&digits, 'e') && !take_char(&digits, 'E'))
        return false;
    if (digits.len > 1 && digits.ptr[0] == '+' && weir_char_is_digit(digits.ptr[1]))
        digits = weir_str_sub(digits, 1, digits.len);
    if (!weir_str_to_i64(digits, &exponent) || exponent > INT32_MAX || exponent < INT32_MIN)
        return false;
    number->ten += exponent;
    return true;
}

static int read_number(struct weir_str text, struct number *ret, struct weir_err *err)
{
    struct weir_str rest = text;
    struct weir_str number = text;
    struct weir_str whole;
    struct weir_str fraction = {NULL, 0};

    ret->negative = rest.len > 0 && rest.ptr[0] == '-';
    ret->two = 0;
    if (!take_char(&rest, '-'))
        take_char(&rest, '+');
    whole = take_digits(&rest);
    if (take_char(&rest, '.'))
        fraction = take_digits(&rest);
    number.len = text.len - rest.len;
    if (whole.len + fraction.len == 0)
        return not_a_quantity(text, weir_str_n(NULL, 0), rest, err);
    if (!read_mantissa(whole, fraction, ret)) {
        char shown[WEIR_STR_SHOW_MAX];

        return weir_error(err, WEIR_E_INVALID, "quantity '%s' has more than %d digits",
                          weir_str_show(text, shown), DIGITS_MAX);
    }
    if (!read_suffix(rest, ret))
        return not_a_quantity(text, number, rest, err);
    return 0;
}

static uint128 power_of_ten(int64_t n)
{
    uint128 power = 1;

    while (n-- > 0)
        power *= 10;
    return power;
}

static bool multiply(uint128 *value, uint128 factor)
{
    return !__builtin_mul_overflow(*value, factor, value);
}

/* mantissa * 2^two / 10^down, rounded up; two <= 60. */
static bool divide(const struct number *n, int64_t down, uint128 *ret)
{
    uint128 divisor;
    uint128 whole;
    uint128 rest;
    uint128 part = 0;

    if (down > DIGITS_MAX) {
        /* Only an exponent leads here, so there is no power of two: less than one. */
        *ret = n->mantissa > 0 ? 1 : 0;
        return true;
    }
    divisor = power_of_ten(down);
    whole = n->mantissa / divisor;
    rest = n->mantissa % divisor;
    for (unsigned i = 0; i < n->two; i++) {
        rest *= 2;
        part = part * 2 + (rest >= divisor ? 1 : 0);
        if (rest >= divisor)
            rest -= divisor;
    }
    if (!multiply(&whole, (uint128)1 << n->two))
        return false;
    return !__builtin_add_overflow(whole, part + (rest > 0 ? 1 : 0), ret);
}

/* |number| in units of 10^-decimals; false when it is beyond 128 bits. */
static bool magnitude(const struct number *n, unsigned decimals, uint128 *ret)
{
    int64_t ten = n->ten + decimals;

    if (ten < 0)
        return divide(n, -ten, ret);
    *ret = n->mantissa;
    if (n->mantissa == 0)
        return true;
    return ten <= DIGITS_MAX && multiply(ret, power_of_ten(ten)) &&
           multiply(ret, (uint128)1 << n->two);
}

int weir_quantity_parse(struct weir_str text, unsigned decimals, enum weir_quantity_sign sign,
                        int64_t *ret_amount, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    struct number number = {0};
    uint128 amount;
    int rc;

    WEIR_ASSERT(decimals <= DECIMALS_MAX);
    rc = read_number(text, &number, err);
    if (rc < 0)
        return rc;
    weir_str_show(text, shown);
    if (number.negative && number.mantissa > 0 && sign == WEIR_QUANTITY_UNSIGNED)
        return weir_error(err, WEIR_E_INVALID, "quantity '%s' is negative", shown);
    if (!magnitude(&number, decimals, &amount) ||
        amount > (uint128)INT64_MAX + (number.negative ? 1 : 0))
        return weir_error(err, WEIR_E_TOO_LARGE, "quantity '%s' is too large", shown);
    *ret_amount = number.negative ? (int64_t)(0 - (uint64_t)amount) : (int64_t)amount;
    return 0;
}

int weir_quantity_bytes(struct weir_str text, int64_t *ret_bytes, struct weir_err *err)
{
    return weir_quantity_parse(text, 0, WEIR_QUANTITY_UNSIGNED, ret_bytes, err);
}

int weir_quantity_milli(struct weir_str text, int64_t *ret_milli, struct weir_err *err)
{
    return weir_quantity_parse(text, 3, WEIR_QUANTITY_UNSIGNED, ret_milli, err);
}

int weir_quantity_format_bytes(int64_t bytes, struct weir_buf *out)
{
    static const char *const names[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    uint64_t value = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    unsigned steps = 0;

    while (value > 0 && value % 1024 == 0 && steps < 6) {
        value /= 1024;
        steps++;
    }
    weir_buf_puts(out, bytes < 0 ? "-" : "");
    weir_buf_u64(out, value);
    return weir_buf_puts(out, names[steps]);
}

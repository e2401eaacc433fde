#include "base/time.h"

#include "base/buf.h"
#include "base/char.h"
#include "base/count.h"
#include "base/err.h"

#include <string.h>

#define DURATION_MAX_MS (WEIR_TIME_DAY_MS * 3653)

static int64_t days_from_civil(int64_t y, unsigned m, unsigned d)
{
    int64_t era;
    unsigned yoe;
    unsigned doy;
    unsigned doe;

    y -= m <= 2;
    era = (y >= 0 ? y : y - 399) / 400;
    yoe = (unsigned)(y - era * 400);
    doy = (153 * (m + (m > 2 ? (unsigned)-3 : 9u)) + 2) / 5 + d - 1;
    doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + (int64_t)doe - 719468;
}

void weir_time_civil(int64_t wall_ms, struct weir_civil *ret_civil)
{
    int64_t days = wall_ms / WEIR_TIME_DAY_MS - (wall_ms % WEIR_TIME_DAY_MS < 0);
    int64_t rest =
        wall_ms % WEIR_TIME_DAY_MS + (wall_ms % WEIR_TIME_DAY_MS < 0 ? WEIR_TIME_DAY_MS : 0);
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    unsigned doe = (unsigned)(z - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    unsigned mp = (5 * doy + 2) / 153;

    ret_civil->day = (uint8_t)(doy - (153 * mp + 2) / 5 + 1);
    ret_civil->month = (uint8_t)(mp < 10 ? mp + 3 : mp - 9);
    ret_civil->year = (int32_t)((int64_t)yoe + era * 400 + (ret_civil->month <= 2));
    ret_civil->hour = (uint8_t)(rest / WEIR_TIME_H);
    ret_civil->minute = (uint8_t)(rest / WEIR_TIME_MIN % 60);
    ret_civil->second = (uint8_t)(rest / WEIR_TIME_S % 60);
    ret_civil->millisecond = (uint16_t)(rest % WEIR_TIME_S);
}

int64_t weir_time_from_civil(const struct weir_civil *civil)
{
    return days_from_civil(civil->year, civil->month, civil->day) * WEIR_TIME_DAY_MS +
           (int64_t)civil->hour * WEIR_TIME_H + (int64_t)civil->minute * WEIR_TIME_MIN +
           (int64_t)civil->second * WEIR_TIME_S + civil->millisecond;
}

int weir_time_format(int64_t wall_ms, struct weir_buf *out)
{
    struct weir_civil c;

    weir_time_civil(wall_ms, &c);
    return weir_buf_printf(out, "%04d-%02u-%02uT%02u:%02u:%02u.%03uZ", c.year, c.month, c.day,
                           c.hour, c.minute, c.second, c.millisecond);
}

/* Takes n digits. */
static bool digits(struct weir_str *s, size_t n, unsigned *ret_value)
{
    uint64_t value;

    if (s->len < n || !weir_str_to_u64(weir_str_sub(*s, 0, n), &value))
        return false;
    *s = weir_str_sub(*s, n, s->len);
    *ret_value = (unsigned)value;
    return true;
}

static bool one_of(struct weir_str *s, const char *set)
{
    if (s->len == 0 || weir_str_find_char(weir_str(set), s->ptr[0]) < 0)
        return false;
    *s = weir_str_sub(*s, 1, s->len);
    return true;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* The digits after the point, in thousandths; more than three are cut. */
static bool take_fraction(struct weir_str *s, uint16_t *ret_thousandths)
{
    unsigned thousandths = 0;
    unsigned scale = 100;

    if (s->len == 0 || !weir_char_is_digit(s->ptr[0]))
        return false;
    while (s->len > 0 && weir_char_is_digit(s->ptr[0])) {
        thousandths += (unsigned)(s->ptr[0] - '0') * scale;
        scale /= 10;
        *s = weir_str_sub(*s, 1, s->len);
    }
    *ret_thousandths = (uint16_t)thousandths;
    return true;
}

static bool take_offset(struct weir_str *s, int64_t *ret_offset_ms)
{
    bool west = s->len > 0 && s->ptr[0] == '-';
    unsigned h;
    unsigned m;

    *ret_offset_ms = 0;
    if (one_of(s, "Zz"))
        return true;
    if (!one_of(s, "+-") || !digits(s, 2, &h) || !one_of(s, ":") || !digits(s, 2, &m) || h > 23 ||
        m > 59)
        return false;
    *ret_offset_ms = (int64_t)(h * 60 + m) * WEIR_TIME_MIN * (west ? -1 : 1);
    return true;
}

/* "2026-11-30" */
static bool take_date(struct weir_str *s, struct weir_civil *ret_civil)
{
    unsigned year;
    unsigned month;
    unsigned day;

    if (!digits(s, 4, &year) || !one_of(s, "-") || !digits(s, 2, &month) || !one_of(s, "-") ||
        !digits(s, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    ret_civil->year = (int32_t)year;
    ret_civil->month = (uint8_t)month;
    ret_civil->day = (uint8_t)day;
    return true;
}

/* "15:04:05.123"; a leap second counts as the first of the next minute. */
static bool take_clock(struct weir_str *s, struct weir_civil *ret_civil)
{
    unsigned hour;
    unsigned minute;
    unsigned second;

    if (!digits(s, 2, &hour) || !one_of(s, ":") || !digits(s, 2, &minute) || !one_of(s, ":") ||
        !digits(s, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;
    ret_civil->hour = (uint8_t)hour;
    ret_civil->minute = (uint8_t)minute;
    ret_civil->second = (uint8_t)second;
    ret_civil->millisecond = 0;
    return !one_of(s, ".") || take_fraction(s, &ret_civil->millisecond);
}

int weir_time_parse(struct weir_str text, int64_t *ret_wall_ms, struct weir_err *err)
{
    struct weir_str s = text;
    struct weir_civil c;
    int64_t offset;

    if (!take_date(&s, &c) || !one_of(&s, "Tt ") || !take_clock(&s, &c) ||
        !take_offset(&s, &offset) || s.len > 0) {
        weir_error(err, WEIR_E_INVALID, "'%.*s' is not a time", WEIR_STR_ARG(text));
        return weir_error_hint(err, "write it as 2026-11-30T15:04:05Z");
    }
    *ret_wall_ms = weir_time_from_civil(&c) - offset;
    return 0;
}

int weir_duration_format(int64_t duration_ms, struct weir_buf *out)
{
    int64_t s = duration_ms / WEIR_TIME_S;

    if (duration_ms < 0) {
        weir_buf_putc(out, '-');
        if (duration_ms == INT64_MIN)
            duration_ms++;
        return weir_duration_format(-duration_ms, out);
    }
    if (duration_ms < WEIR_TIME_S)
        return weir_buf_printf(out, "%dms", (int)duration_ms);
    if (s < 10)
        return weir_buf_printf(out, "%d.%ds", (int)s, (int)(duration_ms % 1000 / 100));
    if (s < 60)
        return weir_buf_printf(out, "%ds", (int)s);
    if (s < 3600)
        return weir_buf_printf(out, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    if (s < 86400)
        return weir_buf_printf(out, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
    return weir_buf_printf(out, "%lldd%02dh", (long long)(s / 86400), (int)(s / 3600 % 24));
}

/* "HH:MM:SS" or "MM:SS"; every part but the first below 60. */
static bool parse_colons(struct weir_str text, int64_t *ret_ms)
{
    struct weir_str part;
    int64_t seconds = 0;
    int n = 0;

    while (weir_str_split(&text, ':', &part)) {
        uint64_t value;

        if (++n > 3 || part.len > 6 || !weir_str_to_u64(part, &value) || (n > 1 && value > 59))
            return false;
        seconds = seconds * 60 + (int64_t)value;
    }
    *ret_ms = seconds * WEIR_TIME_S;
    return n >= 2;
}

static bool take_unit(struct weir_str *s, int64_t *ret_ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1},          {"s", WEIR_TIME_S}, {"m", WEIR_TIME_MIN},
                 {"h", WEIR_TIME_H}, {"d", 86400000},    {"w", 7 * (int64_t)86400000}};

    for (size_t i = 0; i < WEIR_COUNT_OF(units); i++) {
        struct weir_str name = weir_str(units[i].name);

        if (weir_str_starts_with(*s, name)) {
            *s = weir_str_sub(*s, name.len, s->len);
            *ret_ms = units[i].ms;
            return true;
        }
    }
    return false;
}

/* One "1.5h"; the fraction keeps three digits. */
static bool take_part(struct weir_str *s, int64_t *total_ms)
{
    size_t n = 0;
    uint64_t whole;
    uint16_t thousandths = 0;
    int64_t unit;

    while (n < s->len && weir_char_is_digit(s->ptr[n]))
        n++;
    if (n > 12 || !weir_str_to_u64(weir_str_sub(*s, 0, n), &whole))
        return false;
    *s = weir_str_sub(*s, n, s->len);
    if (one_of(s, ".") && !take_fraction(s, &thousandths))
        return false;
    if (!take_unit(s, &unit) || __builtin_mul_overflow((int64_t)whole, unit, total_ms))
        return false;
    return !__builtin_add_overflow(*total_ms, thousandths * unit / 1000, total_ms);
}

/* Of "1h30", whose last number has no unit: the one that comes after 'h'. 0: it is not like that.
 */
static char next_unit(struct weir_str text)
{
    static const char units[] = "dhms";
    size_t n = text.len;
    const char *unit;

    while (n > 0 && weir_char_is_digit(text.ptr[n - 1]))
        n--;
    if (n == 0 || n == text.len)
        return 0;
    unit = memchr(units, text.ptr[n - 1], sizeof(units) - 2);
    return unit != NULL && weir_char_is_digit(text.ptr[0]) ? unit[1] : 0;
}

int weir_duration_parse(struct weir_str text, int64_t *ret_duration_ms, struct weir_err *err)
{
    struct weir_str s = text;
    int64_t total = 0;
    uint64_t seconds;

    if (text.len == 0)
        goto bad;
    if (weir_str_to_u64(text, &seconds)) {
        if (seconds > (uint64_t)(DURATION_MAX_MS / WEIR_TIME_S))
            goto bad;
        total = (int64_t)seconds * WEIR_TIME_S;
    } else if (weir_str_find_char(text, ':') >= 0) {
        if (!parse_colons(text, &total))
            goto bad;
    } else {
        while (s.len > 0) {
            int64_t part;

            if (!take_part(&s, &part) || part > DURATION_MAX_MS)
                goto bad;
            total += part;
            if (total > DURATION_MAX_MS)
                goto bad;
        }
    }
    if (total > DURATION_MAX_MS)
        goto bad;
    *ret_duration_ms = total;
    return 0;
bad:
    weir_error(err, WEIR_E_INVALID, "'%.*s' is not a duration", WEIR_STR_ARG(text));
    if (next_unit(text) != 0)
        return weir_error_hint(err, "did you mean %.*s%c?", WEIR_STR_ARG(text), next_unit(text));
    return weir_error_hint(err, "write it as 90s, 1h30m, 2d or 01:30:00 (at most ten years)");
}

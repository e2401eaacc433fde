#include "base/str.h"

#include "base/arena.h"
#include "base/char.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct weir_str weir_str(const char *text)
{
    return (struct weir_str){text, text != NULL ? strlen(text) : 0};
}

struct weir_str weir_str_n(const char *text, size_t len)
{
    return (struct weir_str){text, len};
}

bool weir_str_eq(struct weir_str a, struct weir_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool weir_str_eq_c(struct weir_str a, const char *b)
{
    return weir_str_eq(a, weir_str(b));
}

bool weir_str_eq_nocase(struct weir_str a, struct weir_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (weir_char_lower(a.ptr[i]) != weir_char_lower(b.ptr[i]))
            return false;
    return true;
}

int weir_str_cmp(struct weir_str a, struct weir_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool weir_str_starts_with(struct weir_str s, struct weir_str prefix)
{
    return s.len >= prefix.len && weir_str_eq(weir_str_n(s.ptr, prefix.len), prefix);
}

bool weir_str_ends_with(struct weir_str s, struct weir_str suffix)
{
    return s.len >= suffix.len &&
           weir_str_eq(weir_str_sub(s, s.len - suffix.len, suffix.len), suffix);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct weir_str weir_str_trim(struct weir_str s)
{
    while (s.len > 0 && is_blank(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

struct weir_str weir_str_sub(struct weir_str s, size_t from, size_t n)
{
    if (from >= s.len)
        return weir_str_n(s.len > 0 ? s.ptr + s.len : s.ptr, 0);
    if (n > s.len - from)
        n = s.len - from;
    return weir_str_n(s.ptr + from, n);
}

ptrdiff_t weir_str_find_char(struct weir_str s, char c)
{
    const char *at = s.len > 0 ? memchr(s.ptr, c, s.len) : NULL;

    return at != NULL ? at - s.ptr : -1;
}

ptrdiff_t weir_str_find(struct weir_str s, struct weir_str needle)
{
    const char *at;

    if (needle.len == 0)
        return 0;
    at = s.len > 0 ? memmem(s.ptr, s.len, needle.ptr, needle.len) : NULL;
    return at != NULL ? at - s.ptr : -1;
}

bool weir_str_split(struct weir_str *rest, char sep, struct weir_str *ret_part)
{
    ptrdiff_t at;

    if (rest->ptr == NULL)
        return false;
    at = weir_str_find_char(*rest, sep);
    if (at < 0) {
        *ret_part = *rest;
        *rest = weir_str_n(NULL, 0);
        return true;
    }
    *ret_part = weir_str_n(rest->ptr, (size_t)at);
    rest->ptr += at + 1;
    rest->len -= (size_t)at + 1;
    return true;
}

bool weir_str_to_u64(struct weir_str s, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (!weir_char_is_digit(s.ptr[i]) || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.ptr[i] - '0'), &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool weir_str_to_i64(struct weir_str s, int64_t *ret_value)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    uint64_t value;

    if (!weir_str_to_u64(negative ? weir_str_sub(s, 1, s.len) : s, &value))
        return false;
    if (value > (uint64_t)INT64_MAX + (negative ? 1u : 0u))
        return false;
    *ret_value = negative ? (int64_t)(0u - value) : (int64_t)value;
    return true;
}

char *weir_str_dup(struct weir_str s, struct weir_arena *arena)
{
    return weir_arena_strndup(arena, s.ptr, s.len);
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

struct weir_str weir_str_cut(struct weir_str s, size_t n)
{
    size_t at = n;

    if (s.len <= n)
        return s;
    while (at > 0 && n - at < 3 && is_continuation(s.ptr[at]))
        at--;
    /* Still within a sequence: then it is none of UTF-8, and any cut is as good. */
    return weir_str_n(s.ptr, is_continuation(s.ptr[at]) ? n : at);
}

static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    size_t n;
    uint32_t code;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xC2 && p[0] <= 0xDF)
        n = 2;
    else if ((p[0] & 0xF0) == 0xE0)
        n = 3;
    else if (p[0] >= 0xF0 && p[0] <= 0xF4)
        n = 4;
    else
        return 0;
    if (left < n)
        return 0;
    code = p[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3Fu);
    }
    if (n == 3 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF)))
        return 0;
    if (n == 4 && (code < 0x10000 || code > 0x10FFFF))
        return 0;
    return n;
}

size_t weir_str_utf8_length(struct weir_str s)
{
    return s.len > 0 ? utf8_sequence((const unsigned char *)s.ptr, s.len) : 0;
}

bool weir_str_is_utf8(struct weir_str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t i = 0;

    while (i < s.len) {
        size_t n;
        uint64_t word;

        if (s.len - i >= sizeof(word)) {
            memcpy(&word, p + i, sizeof(word));
            if ((word & 0x8080808080808080u) == 0) {
                i += sizeof(word);
                continue;
            }
        }
        n = utf8_sequence(p + i, s.len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

bool weir_str_eq_constant_time(struct weir_str a, struct weir_str b)
{
    volatile unsigned char difference = a.len == b.len ? 0 : 1;

    for (size_t i = 0; i < a.len; i++)
        difference = (unsigned char)(difference | (a.ptr[i] ^ (b.len > 0 ? b.ptr[i % b.len] : 1)));
    return difference == 0;
}

unsigned weir_str_distance(struct weir_str a, struct weir_str b, unsigned limit)
{
    enum { LONGEST = 63 };
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0];
    unsigned *last = rows[1];
    unsigned *now = rows[2];

    if (a.len > LONGEST || b.len > LONGEST)
        return weir_str_eq_nocase(a, b) ? 0 : limit + 1;
    for (unsigned j = 0; j <= b.len; j++) {
        before[j] = j;
        last[j] = j;
    }
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned *spare = before;

        now[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            bool same = weir_char_lower(a.ptr[i - 1]) == weir_char_lower(b.ptr[j - 1]);
            unsigned best = last[j - 1] + (same ? 0 : 1);

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && weir_char_lower(a.ptr[i - 1]) == weir_char_lower(b.ptr[j - 2]) &&
                weir_char_lower(a.ptr[i - 2]) == weir_char_lower(b.ptr[j - 1]) &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[b.len] <= limit ? last[b.len] : limit + 1;
}

ptrdiff_t weir_str_nearest(struct weir_str s, const struct weir_str *candidates, size_t n)
{
    unsigned limit = s.len <= 3 ? 1 : s.len <= 8 ? 2 : 3;
    unsigned best = limit + 1;
    ptrdiff_t at = -1;

    for (size_t i = 0; i < n; i++) {
        unsigned d = weir_str_distance(s, candidates[i], limit);

        /* A candidate that shares nothing with a short word is no help. */
        if (d < best && d < (candidates[i].len > s.len ? candidates[i].len : s.len)) {
            best = d;
            at = (ptrdiff_t)i;
        }
    }
    return at;
}

const char *weir_str_show(struct weir_str s, char ret_text[WEIR_STR_SHOW_MAX])
{
    static const char cut[] = "...";
    size_t room = WEIR_STR_SHOW_MAX - sizeof(cut);
    size_t at = 0;
    size_t n = 0;

    while (at < s.len) {
        const unsigned char *p = (const unsigned char *)s.ptr + at;
        size_t length = utf8_sequence(p, s.len - at);
        bool printable =
            length > 0 && p[0] >= 0x20 && p[0] != 0x7F && !(p[0] == 0xC2 && p[1] < 0xA0);

        if (n + (printable ? length : 1) > room)
            break;
        if (printable)
            memcpy(ret_text + n, p, length);
        else
            ret_text[n] = '?';
        n += printable ? length : 1;
        at += length > 0 ? length : 1;
    }
    if (at < s.len) {
        memcpy(ret_text + n, cut, sizeof(cut) - 1);
        n += sizeof(cut) - 1;
    }
    ret_text[n] = '\0';
    return ret_text;
}

const char *weir_str_format(char *ret_text, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(ret_text, size, format, args);
    va_end(args);
    return ret_text;
}

/* base/char.h — what an ASCII character is, whatever the locale says. */
#ifndef WEIR_BASE_CHAR_H
#define WEIR_BASE_CHAR_H

#include <stdbool.h>

static inline bool weir_char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool weir_char_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline char weir_char_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* 0 to 15, or -1 where c is no hex digit. */
static inline int weir_char_hex(char c)
{
    if (weir_char_is_digit(c))
        return c - '0';
    c = weir_char_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif

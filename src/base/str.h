/* base/str.h — a borrowed piece of text: pointer and length, not NUL-terminated, never owned. */
#ifndef WEIR_BASE_STR_H
#define WEIR_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;

struct weir_str {
    const char *ptr; /* may be NULL when len is 0 */
    size_t len;
};

#define WEIR_STR(literal) ((struct weir_str){"" literal "", sizeof(literal) - 1})
/* For printf: "%.*s", WEIR_STR_ARG(s) */
#define WEIR_STR_ARG(s) (int)((s).len), ((s).len > 0 ? (s).ptr : "")

struct weir_str weir_str(const char *text); /* NULL gives the empty string */
struct weir_str weir_str_n(const char *text, size_t len);
bool weir_str_eq(struct weir_str a, struct weir_str b);
bool weir_str_eq_c(struct weir_str a, const char *b);
bool weir_str_eq_nocase(struct weir_str a, struct weir_str b); /* ASCII only */
int weir_str_cmp(struct weir_str a, struct weir_str b);        /* byte order, the shorter first */
bool weir_str_starts_with(struct weir_str s, struct weir_str prefix);
bool weir_str_ends_with(struct weir_str s, struct weir_str suffix);
struct weir_str weir_str_trim(struct weir_str s);                       /* blanks, tabs, CR, LF */
struct weir_str weir_str_sub(struct weir_str s, size_t from, size_t n); /* clamped */
/* Index of the first occurrence, or -1. */
ptrdiff_t weir_str_find_char(struct weir_str s, char c);
ptrdiff_t weir_str_find(struct weir_str s, struct weir_str needle);
/* Takes the part before the next sep off *rest. False when *rest is exhausted (its ptr is NULL
 * then). */
bool weir_str_split(struct weir_str *rest, char sep, struct weir_str *ret_part);
/* Strict decimal numbers: digits only (a leading '-' for int64), no blanks, whole string, no
 * overflow. */
bool weir_str_to_u64(struct weir_str s, uint64_t *ret_value);
bool weir_str_to_i64(struct weir_str s, int64_t *ret_value);
/* NUL-terminated copy in the arena; NULL when memory is short. */
char *weir_str_dup(struct weir_str s, struct weir_arena *arena);
/* At most n bytes from the start, without half a UTF-8 sequence at the cut. */
struct weir_str weir_str_cut(struct weir_str s, size_t n);
bool weir_str_is_utf8(struct weir_str s); /* RFC 3629: no surrogates, no overlong forms */
/* Length of the UTF-8 sequence at the start of s (1 to 4), or 0 if it is not one or s is empty. */
size_t weir_str_utf8_length(struct weir_str s);
/* The time taken depends on the lengths only, never on the content: for secrets. */
bool weir_str_eq_constant_time(struct weir_str a, struct weir_str b);
/* Edit distance with transposition (optimal string alignment); at most `limit`, else limit + 1.
 * Case is ignored. */
unsigned weir_str_distance(struct weir_str a, struct weir_str b, unsigned limit);
/* Index of the candidate nearest to s, or -1 when none is near enough to be what was meant. */
ptrdiff_t weir_str_nearest(struct weir_str s, const struct weir_str *candidates, size_t n);

enum { WEIR_STR_SHOW_MAX = 64 };
/* For messages, which are one line: control characters and bytes that are not UTF-8 become '?', a
 * long text is cut and ends in "...". Returns ret_text. */
const char *weir_str_show(struct weir_str s, char ret_text[WEIR_STR_SHOW_MAX]);
/* As snprintf(), for where no buffer may grow. Returns ret_text. */
__attribute__((format(printf, 3, 4))) const char *weir_str_format(char *ret_text, size_t size,
                                                                  const char *format, ...);

#endif

/* fmt/url.h — the parts of a URL (RFC 3986), strict: what is not allowed to stand there is refused,
 * never repaired. */
#ifndef WEIR_FMT_URL_H
#define WEIR_FMT_URL_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;
struct weir_buf;
struct weir_err;

enum { WEIR_URL_SEGMENTS_MAX = 32, WEIR_URL_PARAMS_MAX = 64 };

struct weir_url_path {
    struct weir_str *segments; /* decoded; "/" has none */
    size_t n_segments;
    bool trailing_slash; /* "/ui/": no empty last segment is counted */
};

struct weir_url_param {
    struct weir_str name; /* decoded */
    struct weir_str value;
};

struct weir_url_query {
    struct weir_url_param *params; /* in order of the input; a name may stand there twice */
    size_t n_params;
};

/* Only bytes that may stand in a path or query, and whole percent triplets. A path begins with '/'.
 */
bool weir_url_is_path(struct weir_str s);
bool weir_url_is_query(struct weir_str s);

/* "host", "host:80", "1.2.3.4:80", "[::1]:80"; the host may be empty. The brackets of an IPv6
 * address are no part of ret_host. ret_port is 0 when none is given. WEIR_E_INVALID otherwise. */
int weir_url_parse_authority(struct weir_str s, struct weir_str *ret_host, uint16_t *ret_port,
                             struct weir_err *err);

/* "localhost" or an address of this machine itself; brackets are no part of it. */
bool weir_url_is_loopback(struct weir_str host);

/* Decodes percent triplets. The result is UTF-8 without control characters, else WEIR_E_INVALID; it
 * points into s where nothing had to be decoded, else into the arena. */
int weir_url_decode(struct weir_str s, bool plus_is_space, struct weir_arena *arena,
                    struct weir_str *ret_text, struct weir_err *err);

/* Refuses empty segments ("//") and, decoded too, "." and ".." and segments holding '/'. */
int weir_url_split_path(struct weir_str path, struct weir_arena *arena,
                        struct weir_url_path *ret_path, struct weir_err *err);

/* "a=1&b=x+y&c": '+' is a blank, a missing '=' gives an empty value, empty pairs are skipped. */
int weir_url_split_query(struct weir_str query, struct weir_arena *arena,
                         struct weir_url_query *ret_query, struct weir_err *err);
/* The first value under that name, or NULL. */
const struct weir_str *weir_url_query_get(const struct weir_url_query *query, const char *name);

/* Whether s can stand in a path, encoded: what weir_url_split_path() refuses of a segment cannot.
 */
bool weir_url_is_segment(struct weir_str s);
/* Appends s so that it can stand as one path segment, or as a name or value of a query. */
int weir_url_encode(struct weir_str s, struct weir_buf *out);

#endif

#include "fmt/url.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/char.h"
#include "base/err.h"

enum {
    UNRESERVED = 1,  /* RFC 3986, 2.3 */
    SUB_DELIM = 2,   /* 2.2 */
    PATH_DELIM = 4,  /* 3.3 */
    QUERY_DELIM = 8, /* 3.4 */
    PATH = UNRESERVED | SUB_DELIM | PATH_DELIM,
    QUERY = PATH | QUERY_DELIM,
};

static const uint8_t classes[256] = {
    ['a' ... 'z'] = UNRESERVED, ['A' ... 'Z'] = UNRESERVED, ['0' ... '9'] = UNRESERVED,
    ['-'] = UNRESERVED,         ['.'] = UNRESERVED,         ['_'] = UNRESERVED,
    ['~'] = UNRESERVED,         ['!'] = SUB_DELIM,          ['$'] = SUB_DELIM,
    ['&' ... ','] = SUB_DELIM,  [';'] = SUB_DELIM,          ['='] = SUB_DELIM,
    ['/'] = PATH_DELIM,         [':'] = PATH_DELIM,         ['@'] = PATH_DELIM,
    ['?'] = QUERY_DELIM,
};

/* The byte that a triplet at s[at] stands for, or -1. */
static int triplet(struct weir_str s, size_t at)
{
    int high;
    int low;

    if (s.len - at < 3)
        return -1;
    high = weir_char_hex(s.ptr[at + 1]);
    low = weir_char_hex(s.ptr[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static bool holds_only(struct weir_str s, unsigned allowed)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '%') {
            if (triplet(s, i) < 0)
                return false;
            i += 2;
        } else if ((classes[(unsigned char)s.ptr[i]] & allowed) == 0) {
            return false;
        }
    }
    return true;
}

bool weir_url_is_path(struct weir_str s)
{
    return s.len > 0 && s.ptr[0] == '/' && holds_only(s, PATH);
}

bool weir_url_is_query(struct weir_str s)
{
    return holds_only(s, QUERY);
}

static bool is_ip_literal(struct weir_str s)
{
    unsigned n_colons = 0;

    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == ':')
            n_colons++;
        else if (weir_char_hex(s.ptr[i]) < 0 && s.ptr[i] != '.')
            return false;
    }
    return n_colons >= 2;
}

static bool parse_port(struct weir_str digits, uint16_t *ret_port)
{
    uint64_t port;

    if (!weir_str_to_u64(digits, &port) || port == 0 || port > UINT16_MAX)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

int weir_url_parse_authority(struct weir_str s, struct weir_str *ret_host, uint16_t *ret_port,
                             struct weir_err *err)
{
    struct weir_str host;
    struct weir_str rest;
    uint16_t port = 0;
    bool valid;

    if (s.len > 0 && s.ptr[0] == '[') {
        ptrdiff_t end = weir_str_find_char(s, ']');

        if (end < 0)
            return weir_error(err, WEIR_E_INVALID, "host '%.*s' lacks its ']'", WEIR_STR_ARG(s));
        host = weir_str_sub(s, 1, (size_t)end - 1);
        rest = weir_str_sub(s, (size_t)end + 1, s.len);
        valid = is_ip_literal(host);
    } else {
        ptrdiff_t colon = weir_str_find_char(s, ':');

        host = colon < 0 ? s : weir_str_sub(s, 0, (size_t)colon);
        rest = weir_str_sub(s, host.len, s.len);
        valid = holds_only(host, UNRESERVED | SUB_DELIM);
    }
    if (!valid)
        return weir_error(err, WEIR_E_INVALID, "host is neither a name nor an address");
    if (rest.len > 0 && (rest.ptr[0] != ':' || !parse_port(weir_str_sub(rest, 1, rest.len), &port)))
        return weir_error(err, WEIR_E_INVALID, "port after host '%.*s' is not 1 to 65535",
                          WEIR_STR_ARG(host));
    *ret_host = host;
    *ret_port = port;
    return 0;
}

bool weir_url_is_loopback(struct weir_str host)
{
    static const struct weir_str block = {"127.", 4};

    if (weir_str_eq_nocase(host, WEIR_STR("localhost")) || weir_str_eq(host, WEIR_STR("::1")))
        return true;
    for (size_t i = 0; i < host.len; i++)
        if (!weir_char_is_digit(host.ptr[i]) && host.ptr[i] != '.')
            return false;
    return weir_str_starts_with(host, block);
}

static bool has_control(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7F)
            return true;
    return false;
}

static int check_text(struct weir_str s, struct weir_err *err)
{
    if (has_control(s))
        return weir_error(err, WEIR_E_INVALID, "url holds a control character");
    if (!weir_str_is_utf8(s))
        return weir_error(err, WEIR_E_INVALID, "url is not UTF-8");
    return 0;
}

int weir_url_decode(struct weir_str s, bool plus_is_space, struct weir_arena *arena,
                    struct weir_str *ret_text, struct weir_err *err)
{
    struct weir_str text = s;
    char *out;
    size_t n = 0;

    if (weir_str_find_char(s, '%') >= 0 || (plus_is_space && weir_str_find_char(s, '+') >= 0)) {
        out = weir_arena_bytes(arena, s.len);
        if (out == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory to decode a url");
        for (size_t i = 0; i < s.len; i++) {
            int byte = (unsigned char)s.ptr[i];

            if (byte == '+' && plus_is_space) {
                byte = ' ';
            } else if (byte == '%') {
                byte = triplet(s, i);
                if (byte < 0)
                    return weir_error(err, WEIR_E_INVALID,
                                      "'%%' in a url is not followed by two hex digits");
                i += 2;
            }
            out[n++] = (char)byte;
        }
        text = weir_str_n(out, n);
    }
    if (check_text(text, err) < 0)
        return weir_error_code(err);
    *ret_text = text;
    return 0;
}

static int decode_segment(struct weir_str raw, struct weir_arena *arena, struct weir_str *ret_text,
                          struct weir_err *err)
{
    struct weir_str text;
    int code;

    if (raw.len == 0)
        return weir_error(err, WEIR_E_INVALID, "path holds an empty segment ('//')");
    code = weir_url_decode(raw, false, arena, &text, err);
    if (code < 0)
        return code;
    if (weir_str_eq_c(text, ".") || weir_str_eq_c(text, ".."))
        return weir_error(err, WEIR_E_INVALID, "path holds the segment '%.*s'", WEIR_STR_ARG(text));
    if (weir_str_find_char(text, '/') >= 0)
        return weir_error(err, WEIR_E_INVALID, "path holds an encoded '/'");
    *ret_text = text;
    return 0;
}

bool weir_url_is_segment(struct weir_str s)
{
    return s.len > 0 && !weir_str_eq_c(s, ".") && !weir_str_eq_c(s, "..") &&
           weir_str_find_char(s, '/') < 0 && !has_control(s) && weir_str_is_utf8(s);
}

static size_t count_char(struct weir_str s, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += s.ptr[i] == c;
    return n;
}

int weir_url_split_path(struct weir_str path, struct weir_arena *arena,
                        struct weir_url_path *ret_path, struct weir_err *err)
{
    struct weir_url_path parts = {NULL, 0, false};
    struct weir_str rest;
    struct weir_str raw;

    if (!weir_url_is_path(path))
        return weir_error(err, WEIR_E_INVALID,
                          "path does not begin with '/' or holds a byte that "
                          "must be percent-encoded");
    rest = weir_str_sub(path, 1, path.len);
    if (rest.len > 0 && rest.ptr[rest.len - 1] == '/') {
        parts.trailing_slash = true;
        rest.len--;
        if (rest.len == 0)
            return weir_error(err, WEIR_E_INVALID, "path holds an empty segment ('//')");
    }
    if (rest.len > 0) {
        size_t n = count_char(rest, '/') + 1;

        if (n > WEIR_URL_SEGMENTS_MAX)
            return weir_error(err, WEIR_E_TOO_LARGE, "path has more than %d segments",
                              WEIR_URL_SEGMENTS_MAX);
        parts.segments = weir_arena_new_n(arena, struct weir_str, n);
        if (parts.segments == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a path");
        while (weir_str_split(&rest, '/', &raw)) {
            int code = decode_segment(raw, arena, &parts.segments[parts.n_segments++], err);

            if (code < 0)
                return code;
        }
    }
    *ret_path = parts;
    return 0;
}

static int decode_param(struct weir_str pair, struct weir_arena *arena,
                        struct weir_url_param *ret_param, struct weir_err *err)
{
    ptrdiff_t equals = weir_str_find_char(pair, '=');
    struct weir_str name = equals < 0 ? pair : weir_str_sub(pair, 0, (size_t)equals);
    struct weir_str value = weir_str_sub(pair, name.len + 1, pair.len);
    int code = weir_url_decode(name, true, arena, &ret_param->name, err);

    return code < 0 ? code : weir_url_decode(value, true, arena, &ret_param->value, err);
}

int weir_url_split_query(struct weir_str query, struct weir_arena *arena,
                         struct weir_url_query *ret_query, struct weir_err *err)
{
    struct weir_url_query parts = {NULL, 0};
    struct weir_str rest = query;
    struct weir_str pair;
    size_t n = count_char(query, '&') + 1;

    if (!weir_url_is_query(query))
        return weir_error(err, WEIR_E_INVALID, "query holds a byte that must be percent-encoded");
    if (n > WEIR_URL_PARAMS_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "query has more than %d parameters",
                          WEIR_URL_PARAMS_MAX);
    if (query.len > 0) {
        parts.params = weir_arena_new_n(arena, struct weir_url_param, n);
        if (parts.params == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a query");
    }
    while (query.len > 0 && weir_str_split(&rest, '&', &pair)) {
        int code;

        if (pair.len == 0)
            continue;
        code = decode_param(pair, arena, &parts.params[parts.n_params++], err);
        if (code < 0)
            return code;
    }
    *ret_query = parts;
    return 0;
}

const struct weir_str *weir_url_query_get(const struct weir_url_query *query, const char *name)
{
    for (size_t i = 0; i < query->n_params; i++)
        if (weir_str_eq_c(query->params[i].name, name))
            return &query->params[i].value;
    return NULL;
}

int weir_url_encode(struct weir_str s, struct weir_buf *out)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((classes[c] & UNRESERVED) != 0) {
            weir_buf_putc(out, (char)c);
        } else {
            char escaped[3] = {'%', hex[c >> 4], hex[c & 15]};

            weir_buf_append(out, escaped, sizeof(escaped));
        }
    }
    return out->failed;
}

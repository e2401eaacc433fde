/* fmt/http1.h — HTTP/1.1 messages (RFC 9110, RFC 9112): a strict, incremental reader. No I/O.
 *
 * The reader is fed bytes in pieces of any size; what it says does not depend on how they were cut.
 * What two peers could read in two ways is refused, never guessed at: Content-Length beside
 * Transfer-Encoding, a second or malformed Content-Length, any coding but "chunked", folded header
 * lines, CR or LF alone, NUL and other control characters, white space before a colon, a missing or
 * second Host in HTTP/1.1, a target with bytes that must be encoded, an absolute target that names
 * another host than Host. Upgrade and CONNECT are refused. Trailers are checked and
 * dropped.
 *
 *     weir_http1_parser_init(&parser, WEIR_HTTP1_REQUEST);
 *     weir_http1_parser_begin(&parser, &arena);
 *     while ((event = weir_http1_next(&parser, &input, &err)) != WEIR_HTTP1_EVENT_MORE) …
 *
 * A message is HEAD, then BODY as often as there are pieces, then END; what is left of the input
 * belongs to the next message, which weir_http1_parser_begin() starts. After ERROR the connection
 * cannot be read on. */
#ifndef WEIR_FMT_HTTP1_H
#define WEIR_FMT_HTTP1_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_arena;
struct weir_err;

enum {
    WEIR_HTTP1_LINE_MAX = 8192,             /* request line without its end; over it: 414 */
    WEIR_HTTP1_HEAD_MAX = 32768,            /* head with all line ends; over it: 431 */
    WEIR_HTTP1_HEADERS_MAX = 100,           /* over it: 431 */
    WEIR_HTTP1_TRAILER_MAX = 8192,          /* trailer with all line ends; over it: 431 */
    WEIR_HTTP1_CHUNK_EXT_MAX = 256,         /* chunk extensions of one chunk; over it: 400 */
    WEIR_HTTP1_CHUNK_EXT_TOTAL_MAX = 16384, /* chunk extensions of one message; over it: 400 */
    WEIR_HTTP1_INTERIM_MAX = 8,             /* 1xx answers before the real one */
    WEIR_HTTP1_BODY_MAX = 1024 * 1024,      /* until set otherwise; over it: 413 */
};

enum weir_http1_kind { WEIR_HTTP1_REQUEST, WEIR_HTTP1_RESPONSE };

enum weir_http1_method {
    WEIR_HTTP1_METHOD_GET,
    WEIR_HTTP1_METHOD_HEAD,
    WEIR_HTTP1_METHOD_POST,
    WEIR_HTTP1_METHOD_PUT,
    WEIR_HTTP1_METHOD_PATCH,
    WEIR_HTTP1_METHOD_DELETE,
    WEIR_HTTP1_METHOD_OPTIONS,
    WEIR_HTTP1_METHOD_MAX
};

enum weir_http1_event {
    WEIR_HTTP1_EVENT_MORE, /* all input was used; feed more */
    WEIR_HTTP1_EVENT_HEAD, /* parser->head is set */
    WEIR_HTTP1_EVENT_BODY, /* parser->piece points into the input */
    WEIR_HTTP1_EVENT_END,  /* the message is whole */
    WEIR_HTTP1_EVENT_ERROR /* parser->status says how a server answers; err says why */
};

struct weir_http1_header {
    struct weir_str name; /* as sent; compare without case */
    struct weir_str value;
};

/* Everything points into the arena the message was begun with. */
struct weir_http1_head {
    /* requests */
    enum weir_http1_method method;
    struct weir_str target; /* as sent */
    struct weir_str path;   /* still encoded; "*" for OPTIONS * */
    struct weir_str query;  /* still encoded, without '?' */
    struct weir_str host;   /* empty if HTTP/1.0 and none was sent */
    bool expect_continue;   /* the peer waits for "100 Continue" before it sends the body */
    /* responses */
    uint16_t status;
    struct weir_str reason;
    bool until_close; /* the body ends with the connection */
    /* both */
    uint8_t minor;           /* HTTP/1.minor: 0 or 1 */
    bool keep_alive;         /* another message may follow on the connection */
    bool chunked;            /* the length of the body is not known beforehand */
    uint64_t content_length; /* of the body, 0 when there is none or it is not known */
    const struct weir_http1_header *headers;
    size_t n_headers;
};

struct weir_http1_parser {
    enum weir_http1_kind kind;
    struct weir_http1_head head;
    struct weir_str piece;
    int status; /* after ERROR on a request: 400, 413, 414, 417, 431, 501, 503 (no memory) or 505 */
    /* private */
    uint8_t state;
    bool saw_cr;
    bool answers_head;
    bool skipped_blank;
    uint8_t n_interim;
    uint8_t n_digits;
    size_t line_len;    /* of the line under way, without CR */
    size_t section_len; /* of the head or trailer under way */
    size_t n_lines;     /* finished in it */
    size_t ext_len;
    size_t ext_total;
    uint64_t body_max;
    uint64_t body_len; /* taken so far */
    uint64_t left;     /* of the body or of the chunk */
    struct weir_buf held;
    struct weir_arena *arena;
};

void weir_http1_parser_init(struct weir_http1_parser *parser, enum weir_http1_kind kind);
void weir_http1_parser_finish(struct weir_http1_parser *parser);
/* Starts the next message; its head lives in the arena. The body cap is the default one again. */
void weir_http1_parser_begin(struct weir_http1_parser *parser, struct weir_arena *arena);
/* The response to come answers a HEAD request, so it has no body. After begin, before input. */
void weir_http1_parser_answers_head(struct weir_http1_parser *parser);
/* May be called at any time; a body announced or grown larger is refused at the next step. */
void weir_http1_parser_set_body_max(struct weir_http1_parser *parser, uint64_t max_bytes);

/* Takes bytes off the front of input up to the next event. */
enum weir_http1_event weir_http1_next(struct weir_http1_parser *parser, struct weir_str *input,
                                      struct weir_err *err);
/* The peer will send no more: MORE if no message was under way, END if that ends the body (or it
 * had ended), ERROR if something is missing. */
enum weir_http1_event weir_http1_end_of_input(struct weir_http1_parser *parser,
                                              struct weir_err *err);
/* Nothing of a message was taken since begin (a blank line before it does not count). */
bool weir_http1_parser_is_idle(const struct weir_http1_parser *parser);

/* The first header of that name, without case; NULL if there is none. */
const struct weir_str *weir_http1_find(const struct weir_http1_head *head, const char *name);
const char *weir_http1_method_name(enum weir_http1_method method);
/* "Not Found"; "Unknown" for a status that has no registered phrase here. */
const char *weir_http1_reason(int status);

/* What may stand as a name (RFC 9110, 5.6.2), and as a value: no CR, LF, NUL or other control
 * character but the tab, no blank at its ends. */
bool weir_http1_is_token(struct weir_str s);
bool weir_http1_is_value(struct weir_str s);

#endif

/* Heads and trailers are held until their blank line and then read as a whole (http1_head.c); what
 * is checked byte by byte on the way are line ends, control characters and caps. Bodies are never
 * held: their pieces point into the caller's input.
 *
 *     HEAD → BODY_START → BODY_LENGTH | BODY_CLOSE | CHUNK_… → TRAILER → DONE
 *
 * Each check names the earliest byte at which it can be made, so pieces cut differently fail alike.
 */
#include "fmt/http1.h"
#include "base/char.h"

#include "base/arena.h"
#include "base/err.h"
#include "fmt/http1_head.h"

#include <string.h>

enum state {
    STATE_HEAD,
    STATE_BODY_START,
    STATE_BODY_LENGTH,
    STATE_BODY_CLOSE,
    STATE_CHUNK_SIZE,
    STATE_CHUNK_EXT,
    STATE_CHUNK_SIZE_LF,
    STATE_CHUNK_DATA,
    STATE_CHUNK_CR,
    STATE_CHUNK_LF,
    STATE_TRAILER,
    STATE_DONE,
    STATE_FAILED
};

enum { CHUNK_DIGITS_MAX = 16 };

void weir_http1_parser_init(struct weir_http1_parser *parser, enum weir_http1_kind kind)
{
    *parser = (struct weir_http1_parser){.kind = kind};
    weir_buf_init(&parser->held, WEIR_HTTP1_HEAD_MAX);
}

void weir_http1_parser_finish(struct weir_http1_parser *parser)
{
    if (parser != NULL)
        weir_buf_finish(&parser->held);
}

static void begin_section(struct weir_http1_parser *parser, enum state state)
{
    parser->state = (uint8_t)state;
    parser->saw_cr = false;
    parser->line_len = 0;
    parser->section_len = 0;
    parser->n_lines = 0;
    weir_buf_finish(&parser->held);
}

void weir_http1_parser_begin(struct weir_http1_parser *parser, struct weir_arena *arena)
{
    weir_buf_finish(&parser->held);
    weir_http1_parser_init(parser, parser->kind);
    parser->arena = arena;
    parser->body_max = WEIR_HTTP1_BODY_MAX;
}

void weir_http1_parser_answers_head(struct weir_http1_parser *parser)
{
    parser->answers_head = true;
}

void weir_http1_parser_set_body_max(struct weir_http1_parser *parser, uint64_t max_bytes)
{
    parser->body_max = max_bytes;
}

bool weir_http1_parser_is_idle(const struct weir_http1_parser *parser)
{
    return parser->state == STATE_HEAD && parser->n_lines == 0 && parser->line_len == 0 &&
           !parser->saw_cr && parser->n_interim == 0;
}

#define REFUSE(parser, http_status, err, ...)                                                      \
    weir_http1_refuse(&(parser)->status, (http_status), (err), __VA_ARGS__)

static void advance(struct weir_str *input, size_t n)
{
    if (n > 0) /* an empty input may have no address */
        *input = weir_str_n(input->ptr + n, input->len - n);
}

static int check_caps(struct weir_http1_parser *parser, bool is_head, struct weir_err *err)
{
    if (parser->section_len >= (is_head ? WEIR_HTTP1_HEAD_MAX : WEIR_HTTP1_TRAILER_MAX))
        return REFUSE(parser, 431, err, "the headers are longer than %d bytes",
                      is_head ? WEIR_HTTP1_HEAD_MAX : WEIR_HTTP1_TRAILER_MAX);
    if (is_head && parser->n_lines == 0 && parser->line_len > WEIR_HTTP1_LINE_MAX)
        return REFUSE(parser, 414, err, "the first line is longer than %d bytes",
                      WEIR_HTTP1_LINE_MAX);
    return 0;
}

/* One byte of a line. Returns 1 if it ends the line, else 0 or a refusal. */
static int take_line_byte(struct weir_http1_parser *parser, unsigned char c, bool is_head,
                          struct weir_err *err)
{
    if (parser->saw_cr) {
        if (c != '\n')
            return REFUSE(parser, 400, err, "CR stands without LF");
        parser->saw_cr = false;
        parser->section_len++;
        return 1;
    }
    if (c == '\n')
        return REFUSE(parser, 400, err, "LF stands without CR");
    if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7F)
        return REFUSE(parser, 400, err, "control character 0x%02x in the headers", c);
    if (parser->line_len == 0 && (c == ' ' || c == '\t'))
        return REFUSE(parser, 400, err, "a line begins with white space");
    if (c == '\r')
        parser->saw_cr = true;
    else
        parser->line_len++;
    parser->section_len++;
    return check_caps(parser, is_head, err);
}

/* A line has ended. Returns 1 if that ends the section, else 0 or a refusal. */
static int take_line_end(struct weir_http1_parser *parser, bool is_head, struct weir_err *err)
{
    bool blank = parser->line_len == 0;

    parser->line_len = 0;
    if (blank && is_head && parser->n_lines == 0) {
        /* RFC 9112, 2.2: one blank line before a request, left over from the last one. */
        if (parser->kind == WEIR_HTTP1_RESPONSE || parser->skipped_blank)
            return REFUSE(parser, 400, err, "the first line is empty");
        parser->skipped_blank = true;
        return 0;
    }
    if (blank)
        return 1;
    parser->n_lines++;
    if (parser->n_lines > WEIR_HTTP1_HEADERS_MAX + (is_head ? 1u : 0u))
        return REFUSE(parser, 431, err, "there are more than %d headers", WEIR_HTTP1_HEADERS_MAX);
    return 0;
}

/* Takes input up to the blank line that ends a head or trailer. Returns 1 when it is there, with
 * the section's whole lines in ret_text (in the input or in parser->held); else 0 or a refusal. */
static int take_section(struct weir_http1_parser *parser, struct weir_str *input, bool is_head,
                        struct weir_str *ret_text, struct weir_err *err)
{
    size_t n = 0;
    int code = 0;

    if (input->len == 0)
        return 0;
    while (code == 0 && n < input->len) {
        code = take_line_byte(parser, (unsigned char)input->ptr[n], is_head, err);
        n++;
        if (code == 1)
            code = take_line_end(parser, is_head, err);
    }
    if (code == 1 && parser->held.len == 0) {
        *ret_text = weir_str_n(input->ptr, n);
    } else if (code >= 0) {
        if (weir_buf_append(&parser->held, input->ptr, n) < 0)
            return REFUSE(parser, 503, err, "no memory for the headers");
        *ret_text = weir_buf_view(&parser->held);
    }
    if (code < 0)
        return code;
    advance(input, n);
    ret_text->len -= code == 1 ? 2 : 0;
    return code;
}

static int finish_head(struct weir_http1_parser *parser, struct weir_str text, struct weir_err *err)
{
    char *copy;
    int code;

    if (parser->skipped_blank)
        text = weir_str_sub(text, 2, text.len);
    copy = weir_arena_bytes(parser->arena, text.len);
    if (copy == NULL)
        return REFUSE(parser, 503, err, "no memory for the headers");
    memcpy(copy, text.ptr, text.len);
    code = weir_http1_read_head(weir_str_n(copy, text.len), parser->n_lines, parser->kind,
                                parser->arena, &parser->head, &parser->status, err);
    if (code < 0)
        return code;
    if (parser->kind == WEIR_HTTP1_RESPONSE && parser->head.status == 101)
        return REFUSE(parser, 501, err, "the peer switches to a protocol that was not asked for");
    if (parser->answers_head && parser->head.until_close)
        parser->head.until_close = false;
    begin_section(parser, STATE_BODY_START);
    return 0;
}

static bool is_interim(const struct weir_http1_parser *parser)
{
    return parser->kind == WEIR_HTTP1_RESPONSE && parser->head.status < 200;
}

static int step_head(struct weir_http1_parser *parser, struct weir_str *input,
                     enum weir_http1_event *ret_event, struct weir_err *err)
{
    struct weir_str text = WEIR_STR("");
    int code = take_section(parser, input, true, &text, err);

    *ret_event = WEIR_HTTP1_EVENT_MORE;
    if (code <= 0)
        return code;
    code = finish_head(parser, text, err);
    if (code < 0)
        return code;
    if (!is_interim(parser)) {
        *ret_event = WEIR_HTTP1_EVENT_HEAD;
        return 1;
    }
    if (++parser->n_interim > WEIR_HTTP1_INTERIM_MAX)
        return REFUSE(parser, 400, err, "the peer sends more than %d interim answers",
                      WEIR_HTTP1_INTERIM_MAX);
    begin_section(parser, STATE_HEAD);
    return 1;
}

static int step_body_start(struct weir_http1_parser *parser, struct weir_err *err)
{
    const struct weir_http1_head *head = &parser->head;

    parser->left = head->content_length;
    parser->state = STATE_BODY_LENGTH;
    if (parser->answers_head)
        parser->left = 0;
    else if (head->chunked)
        parser->state = STATE_CHUNK_SIZE;
    else if (head->until_close)
        parser->state = STATE_BODY_CLOSE;
    if (parser->left > parser->body_max)
        return REFUSE(parser, 413, err, "a body of %llu bytes is larger than %llu",
                      (unsigned long long)parser->left, (unsigned long long)parser->body_max);
    return 1;
}

/* Hands out what the input holds of the next `left` bytes. */
static int step_data(struct weir_http1_parser *parser, struct weir_str *input,
                     enum weir_http1_event *ret_event, struct weir_err *err)
{
    size_t n = input->len;

    if (parser->state != STATE_BODY_CLOSE && n > parser->left)
        n = (size_t)parser->left;
    /* The cap may have been lowered, or the length may be unknown. */
    if (n > 0 &&
        (parser->body_len >= parser->body_max || n > parser->body_max - parser->body_len)) {
        if (parser->body_len >= parser->body_max)
            return REFUSE(parser, 413, err, "the body is larger than %llu bytes",
                          (unsigned long long)parser->body_max);
        n = (size_t)(parser->body_max - parser->body_len);
    }
    *ret_event = n > 0 ? WEIR_HTTP1_EVENT_BODY : WEIR_HTTP1_EVENT_MORE;
    parser->piece = weir_str_n(input->ptr, n);
    parser->body_len += n;
    if (parser->state != STATE_BODY_CLOSE)
        parser->left -= n;
    advance(input, n);
    return n > 0;
}

static int take_chunk_size(struct weir_http1_parser *parser, unsigned char c, struct weir_err *err)
{
    int digit = weir_char_hex((char)c);

    if (digit >= 0) {
        if (++parser->n_digits > CHUNK_DIGITS_MAX)
            return REFUSE(parser, 400, err, "a chunk size has more than %d digits",
                          CHUNK_DIGITS_MAX);
        parser->left = parser->left << 4 | (unsigned)digit;
        return 1;
    }
    if (parser->n_digits == 0 || (c != ';' && c != '\r'))
        return REFUSE(parser, 400, err, "a chunk size is not a hexadecimal number");
    parser->state = c == ';' ? STATE_CHUNK_EXT : STATE_CHUNK_SIZE_LF;
    parser->ext_len = c == ';';
    parser->ext_total += c == ';';
    return 1;
}

static int take_chunk_ext(struct weir_http1_parser *parser, unsigned char c, struct weir_err *err)
{
    if (c == '\r') {
        parser->state = STATE_CHUNK_SIZE_LF;
        return 1;
    }
    if ((c < 0x20 && c != '\t') || c == 0x7F)
        return REFUSE(parser, 400, err, "control character 0x%02x in a chunk extension", c);
    if (++parser->ext_len > WEIR_HTTP1_CHUNK_EXT_MAX ||
        ++parser->ext_total > WEIR_HTTP1_CHUNK_EXT_TOTAL_MAX)
        return REFUSE(parser, 400, err, "the chunk extensions are too long");
    return 1;
}

static int finish_chunk_size(struct weir_http1_parser *parser, struct weir_err *err)
{
    if (parser->body_len > parser->body_max || parser->left > parser->body_max - parser->body_len)
        return REFUSE(parser, 413, err, "the body is larger than %llu bytes",
                      (unsigned long long)parser->body_max);
    parser->n_digits = 0;
    if (parser->left == 0)
        begin_section(parser, STATE_TRAILER);
    else
        parser->state = STATE_CHUNK_DATA;
    return 1;
}

static int expect(struct weir_http1_parser *parser, unsigned char c, unsigned char wanted,
                  enum state next, const char *what, struct weir_err *err)
{
    if (c != wanted)
        return REFUSE(parser, 400, err, "%s is not followed by CR LF", what);
    parser->state = (uint8_t)next;
    return 1;
}

/* One byte of what stands between the chunks' data. */
static int step_chunk_byte(struct weir_http1_parser *parser, struct weir_str *input,
                           struct weir_err *err)
{
    unsigned char c;

    if (input->len == 0)
        return 0;
    c = (unsigned char)input->ptr[0];
    advance(input, 1);
    switch (parser->state) {
    case STATE_CHUNK_SIZE:
        return take_chunk_size(parser, c, err);
    case STATE_CHUNK_EXT:
        return take_chunk_ext(parser, c, err);
    case STATE_CHUNK_SIZE_LF:
        if (c != '\n')
            return REFUSE(parser, 400, err, "a chunk size is not followed by CR LF");
        return finish_chunk_size(parser, err);
    case STATE_CHUNK_CR:
        return expect(parser, c, '\r', STATE_CHUNK_LF, "the data of a chunk", err);
    default:
        return expect(parser, c, '\n', STATE_CHUNK_SIZE, "the data of a chunk", err);
    }
}

static int step_trailer(struct weir_http1_parser *parser, struct weir_str *input,
                        struct weir_err *err)
{
    struct weir_str text = WEIR_STR("");
    int code = take_section(parser, input, false, &text, err);

    if (code <= 0)
        return code;
    code = weir_http1_check_trailer(text, &parser->status, err);
    if (code < 0)
        return code;
    begin_section(parser, STATE_DONE);
    return 1;
}

/* One transition. Returns 1 if something was done (an event may be set), 0 if more input is needed,
 * or a refusal. */
static int step(struct weir_http1_parser *parser, struct weir_str *input,
                enum weir_http1_event *ret_event, struct weir_err *err)
{
    switch ((enum state)parser->state) {
    case STATE_HEAD:
        return step_head(parser, input, ret_event, err);
    case STATE_BODY_START:
        return step_body_start(parser, err);
    case STATE_BODY_LENGTH:
        if (parser->left == 0) {
            parser->state = STATE_DONE;
            return 1;
        }
        return step_data(parser, input, ret_event, err);
    case STATE_BODY_CLOSE:
        return step_data(parser, input, ret_event, err);
    case STATE_CHUNK_DATA:
        if (parser->left == 0) {
            parser->state = STATE_CHUNK_CR;
            return 1;
        }
        return step_data(parser, input, ret_event, err);
    case STATE_CHUNK_SIZE:
    case STATE_CHUNK_EXT:
    case STATE_CHUNK_SIZE_LF:
    case STATE_CHUNK_CR:
    case STATE_CHUNK_LF:
        return step_chunk_byte(parser, input, err);
    case STATE_TRAILER:
        return step_trailer(parser, input, err);
    case STATE_DONE:
        *ret_event = WEIR_HTTP1_EVENT_END;
        return 1;
    case STATE_FAILED:
        break;
    }
    return weir_error(err, WEIR_E_INVALID, "the connection cannot be read on after an error");
}

enum weir_http1_event weir_http1_next(struct weir_http1_parser *parser, struct weir_str *input,
                                      struct weir_err *err)
{
    enum weir_http1_event event = WEIR_HTTP1_EVENT_MORE;
    int code;

    do {
        code = step(parser, input, &event, err);
    } while (code > 0 && event == WEIR_HTTP1_EVENT_MORE);
    if (code < 0) {
        parser->state = STATE_FAILED;
        return WEIR_HTTP1_EVENT_ERROR;
    }
    return event;
}

enum weir_http1_event weir_http1_end_of_input(struct weir_http1_parser *parser,
                                              struct weir_err *err)
{
    if (weir_http1_parser_is_idle(parser))
        return WEIR_HTTP1_EVENT_MORE;
    if (parser->state == STATE_BODY_CLOSE)
        parser->state = STATE_DONE;
    if (parser->state == STATE_DONE)
        return WEIR_HTTP1_EVENT_END;
    if (parser->state != STATE_FAILED)
        REFUSE(parser, 400, err, "the peer closed the connection in the middle of %s",
               parser->state == STATE_HEAD ? "the headers" : "the body");
    parser->state = STATE_FAILED;
    return WEIR_HTTP1_EVENT_ERROR;
}

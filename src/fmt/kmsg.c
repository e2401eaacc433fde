#include "fmt/kmsg.h"

#include "base/err.h"

enum { LEVEL_BITS = 3, LEVEL_MASK = 7, PRIO_MAX = 0xffff };

static int fault(struct weir_err *err, size_t at, const char *what)
{
    weir_error(err, WEIR_E_INVALID, "kernel log record: %s", what);
    return weir_error_at(err, 1, (uint32_t)at + 1);
}

/* A number of the head, up to its comma (or, the last one, up to `end`). */
static int take_number(struct weir_str head, size_t *at, const char *what, uint64_t *ret_value,
                       struct weir_err *err)
{
    struct weir_str rest = weir_str_sub(head, *at, head.len);
    ptrdiff_t comma = weir_str_find_char(rest, ',');
    char text[64];

    if (comma < 0 || !weir_str_to_u64(weir_str_sub(rest, 0, (size_t)comma), ret_value))
        return fault(err, *at, weir_str_format(text, sizeof(text), "the %s is no number", what));
    *at += (size_t)comma + 1;
    return 0;
}

static int read_head(struct weir_str head, struct weir_kmsg *kmsg, struct weir_err *err)
{
    uint64_t prio = 0;
    size_t at = 0;
    struct weir_str rest, flags;
    int result = take_number(head, &at, "priority", &prio, err);

    if (result == 0 && prio > PRIO_MAX)
        return fault(err, 0, "the priority is too large");
    if (result == 0)
        result = take_number(head, &at, "sequence number", &kmsg->seq, err);
    if (result == 0)
        result = take_number(head, &at, "time", &kmsg->at_us, err);
    if (result < 0)
        return result;
    rest = weir_str_sub(head, at, head.len);
    /* Later kernels may add fields behind the flags; readers are asked to pass over them. */
    (void)weir_str_split(&rest, ',', &flags);
    if (flags.len != 1 || (flags.ptr[0] != '-' && flags.ptr[0] != 'c' && flags.ptr[0] != '+'))
        return fault(err, at, "the flags are neither '-', 'c' nor '+'");
    kmsg->facility = (uint32_t)(prio >> LEVEL_BITS);
    kmsg->level = prio & LEVEL_MASK;
    kmsg->is_fragment = flags.ptr[0] != '-';
    return 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static int decode(struct weir_str text, size_t column, char *buffer, struct weir_str *ret_message,
                  struct weir_err *err)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '\\') {
            int high = i + 3 < text.len && text.ptr[i + 1] == 'x' ? hex_digit(text.ptr[i + 2]) : -1;
            int low = high >= 0 ? hex_digit(text.ptr[i + 3]) : -1;

            if (low < 0)
                return fault(err, column + i, "a backslash that begins no \\xNN");
            c = (char)(high << 4 | low);
            i += 3;
        }
        buffer[n++] = c;
    }
    *ret_message = weir_str_n(buffer, n);
    return 0;
}

/* Behind the message come only lines that begin with a blank. */
static int check_dictionary(struct weir_str lines, size_t column, struct weir_err *err)
{
    struct weir_str rest = lines, line;

    while (weir_str_split(&rest, '\n', &line)) {
        if (line.len == 0 && rest.ptr == NULL)
            break; /* the newline that ends the record */
        if (line.len == 0 || line.ptr[0] != ' ')
            return fault(err, column + (size_t)(line.ptr - lines.ptr),
                         "a line of the dictionary does not begin with a blank");
    }
    return 0;
}

int weir_kmsg_read(struct weir_str record, char *buffer, size_t size, struct weir_kmsg *ret_kmsg,
                   struct weir_err *err)
{
    struct weir_kmsg kmsg = {0};
    ptrdiff_t semicolon, newline;
    struct weir_str body, message;
    int result;

    if (record.len > WEIR_KMSG_RECORD_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "kernel log record: more than %d bytes",
                          WEIR_KMSG_RECORD_MAX);
    semicolon = weir_str_find_char(record, ';');
    if (semicolon < 0)
        return fault(err, record.len, "there is no ';'");
    result = read_head(weir_str_sub(record, 0, (size_t)semicolon), &kmsg, err);
    if (result < 0)
        return result;
    body = weir_str_sub(record, (size_t)semicolon + 1, record.len);
    newline = weir_str_find_char(body, '\n');
    message = weir_str_sub(body, 0, newline < 0 ? body.len : (size_t)newline);
    if (newline >= 0)
        kmsg.dictionary = weir_str_sub(body, (size_t)newline + 1, body.len);
    if (message.len > size)
        return weir_error(err, WEIR_E_TOO_LARGE,
                          "kernel log record: a message of %zu bytes, of %zu", message.len, size);
    result = decode(message, (size_t)semicolon + 1, buffer, &kmsg.message, err);
    if (result == 0 && kmsg.dictionary.len > 0)
        result = check_dictionary(kmsg.dictionary, (size_t)(kmsg.dictionary.ptr - record.ptr), err);
    if (result == 0)
        *ret_kmsg = kmsg;
    return result;
}

struct weir_str weir_kmsg_value(const struct weir_kmsg *kmsg, const char *key)
{
    struct weir_str rest = kmsg->dictionary, line;

    while (weir_str_split(&rest, '\n', &line)) {
        struct weir_str name;

        line = weir_str_sub(line, 1, line.len);
        if (weir_str_split(&line, '=', &name) && weir_str_eq_c(name, key) && line.ptr != NULL)
            return line;
    }
    return weir_str_n(NULL, 0);
}

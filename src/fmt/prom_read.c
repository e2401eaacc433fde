#include "base/char.h"
#include "fmt/prom.h"

#include "base/arena.h"
#include "base/err.h"
#include "fmt/prom_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the map holds of a family: its type above the flags. */
enum { HAS_TYPE = 1, HAS_HELP = 2, HAS_SAMPLES = 4, TYPE_SHIFT = 8 };

/* A place in one line. */
struct cursor {
    struct weir_str line;
    size_t at;
    uint32_t number;
    struct weir_err *err;
};

#define FAULT(cursor, ...)                                                                         \
    (weir_error((cursor)->err, WEIR_E_INVALID, __VA_ARGS__),                                       \
     weir_error_at((cursor)->err, (cursor)->number, (uint32_t)(cursor)->at + 1), WEIR_E_INVALID)

static int out_of_memory(struct cursor *cursor)
{
    return weir_error(cursor->err, WEIR_E_NO_MEMORY, "no memory to read metrics");
}

static struct weir_str rest_of(const struct cursor *cursor)
{
    return weir_str_sub(cursor->line, cursor->at, cursor->line.len);
}

static bool at_char(const struct cursor *cursor, char c)
{
    return cursor->at < cursor->line.len && cursor->line.ptr[cursor->at] == c;
}

static void skip_blanks(struct cursor *cursor)
{
    while (at_char(cursor, ' ') || at_char(cursor, '\t'))
        cursor->at++;
}

static struct weir_str take_word(struct cursor *cursor)
{
    size_t from = cursor->at;

    while (cursor->at < cursor->line.len && !at_char(cursor, ' ') && !at_char(cursor, '\t'))
        cursor->at++;
    return weir_str_sub(cursor->line, from, cursor->at - from);
}

static int take_name(struct cursor *cursor, size_t (*name_len)(struct weir_str),
                     struct weir_str *ret_name)
{
    size_t n = name_len(rest_of(cursor));

    if (n == 0)
        return FAULT(cursor, "a name is missing");
    *ret_name = weir_str_sub(cursor->line, cursor->at, n);
    cursor->at += n;
    return 0;
}

void weir_prom_reader_init(struct weir_prom_reader *reader, struct weir_str text)
{
    *reader = (struct weir_prom_reader){.rest = text};
}

void weir_prom_reader_finish(struct weir_prom_reader *reader)
{
    if (reader != NULL)
        weir_map_finish(&reader->families);
}

static uint64_t family_flags(const struct weir_prom_reader *reader, struct weir_str name)
{
    uint64_t flags = 0;

    weir_map_get(&reader->families, name, &flags);
    return flags;
}

static int take_type(struct weir_prom_reader *reader, struct cursor *cursor, struct weir_str name,
                     uint64_t flags)
{
    size_t from = cursor->at;
    struct weir_str word = take_word(cursor);
    unsigned type = 0;

    skip_blanks(cursor);
    while (type < WEIR_PROM_TYPE_MAX && !weir_str_eq_c(word, weir_prom_type_names[type]))
        type++;
    if (type == WEIR_PROM_TYPE_MAX || cursor->at < cursor->line.len) {
        cursor->at = from;
        return FAULT(cursor, "TYPE is not counter, gauge, histogram, summary or untyped");
    }
    if ((flags & HAS_TYPE) != 0)
        return FAULT(cursor, "TYPE of '%.*s' is given twice", WEIR_STR_ARG(name));
    if ((flags & HAS_SAMPLES) != 0)
        return FAULT(cursor, "TYPE of '%.*s' stands behind its samples", WEIR_STR_ARG(name));
    flags |= HAS_TYPE | (uint64_t)type << TYPE_SHIFT;
    return weir_map_set(&reader->families, name, flags) < 0 ? out_of_memory(cursor) : 0;
}

static int take_help(struct weir_prom_reader *reader, struct cursor *cursor, struct weir_str name,
                     uint64_t flags)
{
    if ((flags & HAS_HELP) != 0)
        return FAULT(cursor, "HELP of '%.*s' is given twice", WEIR_STR_ARG(name));
    if (!weir_str_is_utf8(rest_of(cursor)))
        return FAULT(cursor, "HELP of '%.*s' is not UTF-8", WEIR_STR_ARG(name));
    return weir_map_set(&reader->families, name, flags | HAS_HELP) < 0 ? out_of_memory(cursor) : 0;
}

/* Behind '#'. */
static int take_comment(struct weir_prom_reader *reader, struct cursor *cursor)
{
    struct weir_str word;
    struct weir_str name;
    bool is_type;
    int code;

    skip_blanks(cursor);
    word = take_word(cursor);
    is_type = weir_str_eq_c(word, "TYPE");
    if (!is_type && !weir_str_eq_c(word, "HELP"))
        return 0;
    skip_blanks(cursor);
    code = take_name(cursor, weir_prom_metric_name_len, &name);
    if (code < 0)
        return code;
    if (cursor->at < cursor->line.len && !at_char(cursor, ' ') && !at_char(cursor, '\t'))
        return FAULT(cursor, "a metric name holds a character that is not allowed");
    skip_blanks(cursor);
    if (is_type)
        return take_type(reader, cursor, name, family_flags(reader, name));
    return take_help(reader, cursor, name, family_flags(reader, name));
}

/* Index of the quote that closes the value at the cursor, or -1. */
static ptrdiff_t closing_quote(const struct cursor *cursor)
{
    for (size_t i = cursor->at; i < cursor->line.len; i++) {
        if (cursor->line.ptr[i] == '"')
            return (ptrdiff_t)i;
        if (cursor->line.ptr[i] == '\\')
            i++;
    }
    return -1;
}

static int unescape(struct cursor *cursor, struct weir_str raw, struct weir_arena *arena,
                    struct weir_str *ret_value)
{
    char *out = weir_arena_bytes(arena, raw.len);
    size_t n = 0;

    if (out == NULL)
        return out_of_memory(cursor);
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];

        if (c == '\\') {
            c = raw.ptr[++i];
            if (c == 'n')
                c = '\n';
            else if (c != '\\' && c != '"')
                return FAULT(cursor, "a label value holds '\\' before neither '\\', '\"' nor 'n'");
        }
        out[n++] = c;
    }
    *ret_value = weir_str_n(out, n);
    return 0;
}

/* Behind the opening quote. */
static int take_label_value(struct cursor *cursor, struct weir_arena *arena,
                            struct weir_str *ret_value)
{
    ptrdiff_t end = closing_quote(cursor);
    struct weir_str raw;
    int code = 0;

    if (end < 0)
        return FAULT(cursor, "a label value is not closed by '\"'");
    raw = weir_str_sub(cursor->line, cursor->at, (size_t)end - cursor->at);
    if (!weir_str_is_utf8(raw))
        return FAULT(cursor, "a label value is not UTF-8");
    if (weir_str_find_char(raw, '\\') >= 0)
        code = unescape(cursor, raw, arena, &raw);
    if (code < 0)
        return code;
    cursor->at = (size_t)end + 1;
    *ret_value = raw;
    return 0;
}

static int take_label(struct cursor *cursor, struct weir_arena *arena,
                      struct weir_prom_label *labels, size_t n_labels)
{
    struct weir_prom_label *label = &labels[n_labels];
    int code;

    if (n_labels == WEIR_PROM_LABELS_MAX)
        return FAULT(cursor, "a sample has more than %d labels", WEIR_PROM_LABELS_MAX);
    code = take_name(cursor, weir_prom_label_name_len, &label->name);
    if (code < 0)
        return code;
    for (size_t i = 0; i < n_labels; i++)
        if (weir_str_eq(labels[i].name, label->name))
            return FAULT(cursor, "label '%.*s' is given twice", WEIR_STR_ARG(label->name));
    skip_blanks(cursor);
    if (!at_char(cursor, '='))
        return FAULT(cursor, "a label name is not followed by '='");
    cursor->at++;
    skip_blanks(cursor);
    if (!at_char(cursor, '"'))
        return FAULT(cursor, "a label value does not begin with '\"'");
    cursor->at++;
    code = take_label_value(cursor, arena, &label->value);
    if (code < 0)
        return code;
    skip_blanks(cursor);
    if (!at_char(cursor, ',') && !at_char(cursor, '}'))
        return FAULT(cursor, "a label is followed by neither ',' nor '}'");
    return 0;
}

/* Behind the opening brace. A comma behind the last label is allowed. */
static int take_labels(struct cursor *cursor, struct weir_arena *arena,
                       struct weir_prom_sample *sample)
{
    struct weir_prom_label labels[WEIR_PROM_LABELS_MAX];
    struct weir_prom_label *copy;
    size_t n = 0;

    skip_blanks(cursor);
    while (!at_char(cursor, '}')) {
        int code = take_label(cursor, arena, labels, n);

        if (code < 0)
            return code;
        n++;
        if (at_char(cursor, ','))
            cursor->at++;
        skip_blanks(cursor);
    }
    cursor->at++;
    if (n == 0)
        return 0;
    copy = weir_arena_new_n(arena, struct weir_prom_label, n);
    if (copy == NULL)
        return out_of_memory(cursor);
    memcpy(copy, labels, n * sizeof(*copy));
    sample->labels = copy;
    sample->n_labels = n;
    return 0;
}

static size_t count_digits(struct weir_str s, size_t at)
{
    size_t n = 0;

    while (at + n < s.len && weir_char_is_digit(s.ptr[at + n]))
        n++;
    return n;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or behind the point. */
static bool is_decimal(struct weir_str s)
{
    size_t at = s.len > 0 && (s.ptr[0] == '+' || s.ptr[0] == '-');
    size_t n = count_digits(s, at);

    at += n;
    if (at < s.len && s.ptr[at] == '.') {
        size_t behind = count_digits(s, at + 1);

        n += behind;
        at += 1 + behind;
    }
    if (n == 0)
        return false;
    if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
        at++;
        if (at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-'))
            at++;
        n = count_digits(s, at);
        if (n == 0)
            return false;
        at += n;
    }
    return at == s.len;
}

static bool is_nocase(struct weir_str s, const char *text)
{
    return weir_str_eq_nocase(s, weir_str(text));
}

static int take_value(struct cursor *cursor, struct weir_prom_sample *sample)
{
    size_t from = cursor->at;
    struct weir_str word = take_word(cursor);
    char text[400];

    sample->value_text = word;
    if (is_nocase(word, "nan")) {
        sample->value = (double)NAN;
    } else if (is_nocase(word, "+inf") || is_nocase(word, "inf")) {
        sample->value = (double)INFINITY;
    } else if (is_nocase(word, "-inf")) {
        sample->value = -(double)INFINITY;
    } else {
        cursor->at = from;
        if (!is_decimal(word) || word.len >= sizeof(text))
            return FAULT(cursor, "a value is not a number");
        memcpy(text, word.ptr, word.len);
        text[word.len] = '\0';
        sample->value = strtod(text, NULL);
        if (isinf(sample->value))
            return FAULT(cursor, "a value is out of range");
        cursor->at += word.len;
    }
    return 0;
}

static int take_time(struct cursor *cursor, struct weir_prom_sample *sample)
{
    struct weir_str word;
    size_t from;

    skip_blanks(cursor);
    from = cursor->at;
    if (from == cursor->line.len)
        return 0;
    word = take_word(cursor);
    skip_blanks(cursor);
    if (!weir_str_to_i64(word, &sample->wall_ms) || cursor->at < cursor->line.len) {
        cursor->at = from;
        return FAULT(cursor, "a value is followed by something other than milliseconds");
    }
    sample->has_time = true;
    return 0;
}

/* "x_bucket" belongs to the histogram "x", if there is one. */
static void find_family(const struct weir_prom_reader *reader, struct weir_prom_sample *sample)
{
    static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
    uint64_t flags = family_flags(reader, sample->name);

    sample->family = sample->name;
    for (size_t i = 0; i < 3 && (flags & HAS_TYPE) == 0; i++) {
        struct weir_str base = sample->name;
        uint64_t type;

        if (!weir_str_ends_with(base, weir_str(suffixes[i])))
            continue;
        base.len -= strlen(suffixes[i]);
        type = family_flags(reader, base) >> TYPE_SHIFT;
        if (type == WEIR_PROM_HISTOGRAM || (type == WEIR_PROM_SUMMARY && i > 0)) {
            sample->family = base;
            flags = family_flags(reader, base);
        }
    }
    sample->type = (enum weir_prom_type)(flags >> TYPE_SHIFT);
}

static int take_sample(struct weir_prom_reader *reader, struct cursor *cursor,
                       struct weir_arena *arena, struct weir_prom_sample *ret_sample)
{
    struct weir_prom_sample sample = {0};
    size_t before;
    int code = take_name(cursor, weir_prom_metric_name_len, &sample.name);

    if (code < 0)
        return code;
    before = cursor->at;
    skip_blanks(cursor);
    if (at_char(cursor, '{')) {
        cursor->at++;
        code = take_labels(cursor, arena, &sample);
        if (code < 0)
            return code;
        skip_blanks(cursor);
    } else if (cursor->at == before) {
        return FAULT(cursor, "a metric name is followed by neither a blank nor '{'");
    }
    code = take_value(cursor, &sample);
    if (code == 0)
        code = take_time(cursor, &sample);
    if (code < 0)
        return code;
    find_family(reader, &sample);
    if (weir_map_set(&reader->families, sample.family,
                     family_flags(reader, sample.family) | HAS_SAMPLES) < 0)
        return out_of_memory(cursor);
    *ret_sample = sample;
    return 1;
}

/* Returns 1 if the line is a sample. */
static int take_line(struct weir_prom_reader *reader, struct cursor *cursor,
                     struct weir_arena *arena, struct weir_prom_sample *ret_sample)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->line.len)
        return 0;
    if (!at_char(cursor, '#'))
        return take_sample(reader, cursor, arena, ret_sample);
    cursor->at++;
    return take_comment(reader, cursor);
}

int weir_prom_next(struct weir_prom_reader *reader, struct weir_arena *arena,
                   struct weir_prom_sample *ret_sample, struct weir_err *err)
{
    int code = 0;

    while (code == 0 && reader->rest.len > 0) {
        ptrdiff_t end = weir_str_find_char(reader->rest, '\n');
        struct cursor cursor = {.number = ++reader->line, .err = err};

        if (end < 0) {
            cursor.at = reader->rest.len;
            reader->rest.len = 0;
            return FAULT(&cursor, "the last line has no line end");
        }
        cursor.line = weir_str_sub(reader->rest, 0, (size_t)end);
        reader->rest = weir_str_sub(reader->rest, (size_t)end + 1, reader->rest.len);
        code = take_line(reader, &cursor, arena, ret_sample);
    }
    return code;
}

const struct weir_str *weir_prom_label(const struct weir_prom_sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->n_labels; i++)
        if (weir_str_eq_c(sample->labels[i].name, name))
            return &sample->labels[i].value;
    return NULL;
}

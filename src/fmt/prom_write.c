#include "base/char.h"
#include "fmt/prom.h"

#include "base/err.h"
#include "fmt/prom_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const weir_prom_type_names[WEIR_PROM_TYPE_MAX] = {
    [WEIR_PROM_UNTYPED] = "untyped", [WEIR_PROM_COUNTER] = "counter",
    [WEIR_PROM_GAUGE] = "gauge",     [WEIR_PROM_HISTOGRAM] = "histogram",
    [WEIR_PROM_SUMMARY] = "summary",
};

static bool is_name_char(char c, bool first, bool colon)
{
    return weir_char_is_letter(c) || c == '_' || (colon && c == ':') ||
           (!first && weir_char_is_digit(c));
}

static size_t name_len(struct weir_str s, bool colon)
{
    size_t n = 0;

    while (n < s.len && is_name_char(s.ptr[n], n == 0, colon))
        n++;
    return n;
}

size_t weir_prom_metric_name_len(struct weir_str s)
{
    return name_len(s, true);
}

size_t weir_prom_label_name_len(struct weir_str s)
{
    return name_len(s, false);
}

void weir_prom_init(struct weir_prom *prom, struct weir_buf *out)
{
    *prom = (struct weir_prom){.out = out};
}

int weir_prom_finish(struct weir_prom *prom, struct weir_err *err)
{
    weir_map_finish(&prom->families);
    if (prom->failed < 0)
        return weir_error(err, prom->failed, "no memory for the metrics");
    return weir_buf_check(prom->out, "the metrics", err);
}

static void put_help(struct weir_buf *out, const char *help)
{
    for (; *help != '\0'; help++) {
        if (*help == '\\')
            weir_buf_puts(out, "\\\\");
        else if (*help == '\n')
            weir_buf_puts(out, "\\n");
        else
            weir_buf_putc(out, *help);
    }
}

void weir_prom_family(struct weir_prom *prom, const char *name, enum weir_prom_type type,
                      const char *help)
{
    struct weir_str text = weir_str(name);

    WEIR_ASSERT(text.len > 0 && weir_prom_metric_name_len(text) == text.len);
    WEIR_ASSERT(type < WEIR_PROM_TYPE_MAX);
    WEIR_ASSERT(!weir_map_get(&prom->families, text, &(uint64_t){0}));
    prom->family = text;
    if (weir_map_set(&prom->families, text, 0) < 0)
        prom->failed = WEIR_E_NO_MEMORY;
    weir_buf_printf(prom->out, "# HELP %s ", name);
    put_help(prom->out, help);
    weir_buf_printf(prom->out, "\n# TYPE %s %s\n", name, weir_prom_type_names[type]);
}

/* Length of the valid UTF-8 sequence at s[at], or 0. */
static size_t sequence_len(struct weir_str s, size_t at)
{
    for (size_t n = 1; n <= 4 && n <= s.len - at; n++)
        if (weir_str_is_utf8(weir_str_sub(s, at, n)))
            return n;
    return 0;
}

/* A byte that is no UTF-8 would make the whole page unreadable: it becomes U+FFFD. */
static void put_label_value(struct weir_buf *out, struct weir_str value)
{
    for (size_t at = 0; at < value.len;) {
        size_t n = sequence_len(value, at);

        if (n == 0)
            weir_buf_puts(out, "\xEF\xBF\xBD");
        else if (value.ptr[at] == '\\' || value.ptr[at] == '"')
            weir_buf_printf(out, "\\%c", value.ptr[at]);
        else if (value.ptr[at] == '\n')
            weir_buf_puts(out, "\\n");
        else
            weir_buf_append(out, value.ptr + at, n);
        at += n > 0 ? n : 1;
    }
}

static void put_series(struct weir_prom *prom, const char *suffix,
                       const struct weir_prom_label *labels, size_t n_labels)
{
    WEIR_ASSERT(prom->family.len > 0 && n_labels <= WEIR_PROM_LABELS_MAX);
    WEIR_ASSERT(suffix[0] == '\0' || suffix[0] == '_');
    WEIR_ASSERT(weir_prom_label_name_len(weir_str(suffix)) == strlen(suffix));
    weir_buf_str(prom->out, prom->family);
    weir_buf_puts(prom->out, suffix);
    for (size_t i = 0; i < n_labels; i++) {
        struct weir_str name = labels[i].name;

        WEIR_ASSERT(name.len > 0 && weir_prom_label_name_len(name) == name.len);
        weir_buf_putc(prom->out, i == 0 ? '{' : ',');
        weir_buf_str(prom->out, name);
        weir_buf_puts(prom->out, "=\"");
        put_label_value(prom->out, labels[i].value);
        weir_buf_putc(prom->out, '"');
    }
    weir_buf_puts(prom->out, n_labels > 0 ? "} " : " ");
}

static void put_double(struct weir_buf *out, double value)
{
    char text[32];

    if (isnan(value)) {
        weir_buf_puts(out, "NaN");
        return;
    }
    if (isinf(value)) {
        weir_buf_puts(out, value > 0 ? "+Inf" : "-Inf");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof(text), "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    weir_buf_puts(out, text);
}

void weir_prom_i64(struct weir_prom *prom, const char *suffix, const struct weir_prom_label *labels,
                   size_t n_labels, int64_t value)
{
    put_series(prom, suffix, labels, n_labels);
    weir_buf_i64(prom->out, value);
    weir_buf_putc(prom->out, '\n');
}

void weir_prom_f64(struct weir_prom *prom, const char *suffix, const struct weir_prom_label *labels,
                   size_t n_labels, double value)
{
    put_series(prom, suffix, labels, n_labels);
    put_double(prom->out, value);
    weir_buf_putc(prom->out, '\n');
}

void weir_prom_f64_at(struct weir_prom *prom, const char *suffix,
                      const struct weir_prom_label *labels, size_t n_labels, double value,
                      int64_t wall_ms)
{
    put_series(prom, suffix, labels, n_labels);
    put_double(prom->out, value);
    weir_buf_putc(prom->out, ' ');
    weir_buf_i64(prom->out, wall_ms);
    weir_buf_putc(prom->out, '\n');
}

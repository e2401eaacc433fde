#include "fmt/yaml_place.h"

#include "base/count.h"
#include "base/err.h"

#include <string.h>

void weir_yaml_places_init(struct weir_yaml_places *places, struct weir_str text)
{
    *places = (struct weir_yaml_places){text, 0, 0, {1, 1}};
}

static void step(struct weir_yaml_places *p)
{
    char c = p->text.ptr[p->at];
    bool ends_line =
        c == '\n' || (c == '\r' && (p->at + 1 == p->text.len || p->text.ptr[p->at + 1] != '\n'));
    size_t from = p->at++;

    while (p->at < p->text.len && ((unsigned char)p->text.ptr[p->at] & 0xC0) == 0x80)
        p->at++;
    p->index++;
    if (ends_line) {
        p->place.line++;
        p->place.column = 1;
    } else {
        p->place.column += (uint32_t)(p->at - from);
    }
}

struct weir_yaml_place weir_yaml_places_find(struct weir_yaml_places *places,
                                             const yaml_mark_t *mark)
{
    if (mark->index < places->index)
        weir_yaml_places_init(places, places->text);
    while (places->index < mark->index && places->at < places->text.len)
        step(places);
    return places->place;
}

/* The reader, below the scanner, knows a byte offset instead of a mark. */
static int reader_error(const yaml_parser_t *parser, struct weir_yaml_places *places,
                        struct weir_err *err)
{
    weir_yaml_places_init(places, places->text);
    while (places->at < parser->problem_offset && places->at < places->text.len)
        step(places);
    if (parser->problem_value == 0)
        weir_error(err, WEIR_E_INVALID, "not YAML: a NUL byte");
    else if (parser->problem_value > 0)
        weir_error(err, WEIR_E_INVALID, "not YAML: %s (0x%X)", parser->problem,
                   (unsigned)parser->problem_value);
    else
        weir_error(err, WEIR_E_INVALID, "not YAML: %s", parser->problem);
    weir_error_hint(err, "save the file as UTF-8 text");
    return weir_error_at(err, places->place.line, places->place.column);
}

static void add_hint(struct weir_err *err, const char *problem, char at)
{
    static const struct {
        const char *problem;
        const char *hint;
    } hints[] = {
        {"mapping values are not allowed",
         "quote a text that contains ': ', or correct the indentation"},
        {"did not find expected key",
         "keys of one mapping start in the same column; quote a text that starts with '{' or '['"},
        {"did not find expected '-'", "items of one list start in the same column"},
        {"could not find expected ':'", "a key ends with ':' and a blank"},
        {"did not find expected ',' or", "close the bracket, or quote a text that contains one"},
        {"alphabetic or numeric character", "quote a text that starts with '*' or '&'"},
        {"found unexpected ':'", "put a blank behind the ':'"},
        {"document start", "separate documents with '---'"},
        {"unexpected end of stream", "close the quote"},
        {"found unknown escape character", "in single quotes a backslash is only a backslash"},
    };

    if (at == '\t') {
        weir_error_hint(err, "indent with blanks, not with tabs");
        return;
    }
    if (strstr(problem, "cannot start any token") != NULL) {
        weir_error_hint(err, "quote a text that starts with '%c'", at);
        return;
    }
    for (size_t i = 0; i < WEIR_COUNT_OF(hints); i++) {
        if (strstr(problem, hints[i].problem) == NULL)
            continue;
        weir_error_hint(err, "%s", hints[i].hint);
        return;
    }
}

int weir_yaml_syntax_error(const yaml_parser_t *parser, struct weir_yaml_places *places,
                           struct weir_err *err)
{
    const char *problem = parser->problem != NULL ? parser->problem : "unreadable";
    struct weir_yaml_place context;
    struct weir_yaml_place place;

    if (parser->error == YAML_MEMORY_ERROR)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to read YAML");
    if (parser->error == YAML_READER_ERROR)
        return reader_error(parser, places, err);
    context = weir_yaml_places_find(places, &parser->context_mark);
    place = weir_yaml_places_find(places, &parser->problem_mark);
    if (parser->context != NULL && context.line != place.line)
        weir_error(err, WEIR_E_INVALID, "not YAML: %s, %s from line %u", problem, parser->context,
                   context.line);
    else if (parser->context != NULL)
        weir_error(err, WEIR_E_INVALID, "not YAML: %s, %s", problem, parser->context);
    else
        weir_error(err, WEIR_E_INVALID, "not YAML: %s", problem);
    add_hint(err, problem, places->at < places->text.len ? places->text.ptr[places->at] : '\0');
    return weir_error_at(err, place.line, place.column);
}

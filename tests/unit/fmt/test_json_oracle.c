/* weir's reader and jansson read the same texts alike. What differs and why: json-differs.md. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "base/rng.h"
#include "base/tree.h"
#include "fmt/json.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

enum { N_MUTATIONS = 200000, LENGTH_MAX = 4000 };

static struct weir_arena arena = WEIR_ARENA_INIT;

static int release(void **state)
{
    (void)state;
    weir_arena_finish(&arena);
    return 0;
}

static const char *const texts[] = {
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{"
    "\"name\":"
    "\"a-0\",\"managedFields\":[{\"fieldsV1\":{\"f:env\":{\"k:{\\\"name\\\":\\\"X\\\"}\":{}}}}]},"
    "\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}]}",
    "[0,-0,1,-1,10,1.5,-1.5e+3,1E5,1e-5,0.0,0e0,123456789012345678,9223372036854775807,"
    "-9223372036854775808,1e308,1e-400,4.9e-324]",
    "{\"a\":1,\"b\":2,\"ab\":3,\"\":4,\"A\":5,\"\\u0061b\\u0063\":6,\"a b\":7}",
    "[\"\",\"\\\"\\\\\\/"
    "\\b\\f\\n\\r\\t\",\"\\u00e9\\u20AC\\ud83d\\ude00\\u0000\",\"\xC3\xA9\xE2\x82\xAC"
    "\xF0\x9F\x98\x80\x7F\",\"\\uD800\\uDC00\\uDBFF\\uDFFF\\uffff\"]",
    " \t\r\n[ true , false , null , { } , [ ] , { \"x\" : [ { } ] } ]\n",
    "[[[[[[[[{\"a\":{\"b\":{\"c\":[[[]]]}}}]]]]]]]]",
    "{\"k0\":0,\"k1\":0,\"k2\":0,\"k3\":0,\"k4\":0,\"k5\":0,\"k6\":0,\"k7\":0,\"k8\":0,\"k9\":0,"
    "\"k10\":0,\"k11\":0,\"k12\":0,\"k13\":0,\"k14\":0,\"k15\":0,\"k16\":0,\"k17\":0}",
    "\"root\"",
    "-12",
    "true",
    "null",
    "1e5",
    "[]",
    "{}",
    /* and what both must refuse */
    "",
    " ",
    "x",
    "tru",
    "nulll",
    "True",
    "NaN",
    "[1,]",
    "[,1]",
    "[1,,2]",
    "[1 2]",
    "[1}",
    "[",
    "]",
    "{",
    "}",
    "{]",
    "[}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1,\"a\":2}",
    "{\"\\u0061\":1,\"a\":2}",
    "1 2",
    "[] []",
    "[]]",
    "{}x",
    "// x\n1",
    "[1/**/]",
    "-",
    "+1",
    ".5",
    "1.",
    "1.e1",
    "1e",
    "1e+",
    "01",
    "-01",
    "00",
    "0x1",
    "1_0",
    "--1",
    "1.2.3",
    "1e1.5",
    "\"",
    "\"\\",
    "\"\\\"",
    "\"a\nb\"",
    "\"\t\"",
    "\"\x01\"",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\u 123\"",
    "\"\\u+123\"",
    "\"\\ud800\"",
    "\"\\ud800x\"",
    "\"\\ud800\\n\"",
    "\"\\ud800\\u0041\"",
    "\"\\udc00\"",
    "\"\\udc00\\ud800\"",
    "\"\\ud800\\ud800\"",
    "\"\x80\"",
    "\"\xC0\xAF\"",
    "\"\xC1\xBF\"",
    "\"\xC3\"",
    "\"\xE0\x80\x80\"",
    "\"\xE2\x82\"",
    "\"\xED\xA0\x80\"",
    "\"\xED\xBF\xBF\"",
    "\"\xF0\x80\x80\x80\"",
    "\"\xF4\x90\x80\x80\"",
    "\"\xF8\x88\x80\x80\x80\"",
    "\"\xFE\"",
    "\"\xFF\"",
    "\xEF\xBB\xBF[]",
    "\xFE\xFF",
    "\v[]",
    "\f[]",
    "\xC2\xA0[]",
    "[\xC3\xA9]",
    "{\"a\":\xC3\xA9}",
    "'a'",
    "undefined",
    "Infinity",
    "-Infinity",
    "[1;2]",
    "(1)",
    "<a>",
    "\\u0031",
};

/* ---- the rule: what jansson refuses although it is JSON ---- */

static bool number_out_of_range(struct weir_str text)
{
    char *copy = weir_str_dup(text, &arena);
    int64_t value;

    assert_non_null(copy);
    if (strpbrk(copy, ".eE") == NULL)
        return !weir_str_to_i64(text, &value);
    return !isfinite(strtod(copy, NULL));
}

static bool jansson_cannot(const struct weir_tree *node)
{
    if (node->key.len > 0 && memchr(node->key.ptr, '\0', node->key.len) != NULL)
        return true;
    if (node->kind == WEIR_TREE_NUMBER && number_out_of_range(node->text))
        return true;
    weir_tree_foreach (child, node)
        if (jansson_cannot(child))
            return true;
    return false;
}

/* What jansson sees: a NUL byte right behind a number or a word is white space to it. Returns
 * whether there is one. */
static bool as_jansson_sees(struct weir_str text, struct weir_str *ret_seen)
{
    char *copy = weir_str_dup(text, &arena);
    bool in_string = false;
    bool changed = false;

    assert_non_null(copy);
    for (size_t i = 0; i < text.len; i++) {
        if (copy[i] == '"')
            in_string = !in_string;
        else if (in_string && copy[i] == '\\')
            i++;
        else if (!in_string && copy[i] == '\0' && i > 0 && isalnum((unsigned char)copy[i - 1])) {
            copy[i] = ' ';
            changed = true;
        }
    }
    *ret_seen = weir_str_n(copy, text.len);
    return changed;
}

/* ---- the same values ---- */

static bool same_value(const struct weir_tree *ours, const json_t *theirs);

static bool same_number(struct weir_str text, const json_t *theirs)
{
    char *copy = weir_str_dup(text, &arena);
    int64_t value;

    if (json_is_integer(theirs))
        return weir_str_to_i64(text, &value) && value == json_integer_value(theirs);
    return json_is_real(theirs) && strtod(copy, NULL) == json_real_value(theirs);
}

static bool same_members(const struct weir_tree *ours, const json_t *theirs)
{
    if (!json_is_object(theirs) || json_object_size(theirs) != ours->n_children)
        return false;
    weir_tree_foreach (child, ours) {
        const char *key = weir_str_dup(child->key, &arena);
        const json_t *other = json_object_get(theirs, key);

        if (other == NULL || !same_value(child, other))
            return false;
    }
    return true;
}

static bool same_items(const struct weir_tree *ours, const json_t *theirs)
{
    size_t i = 0;

    if (!json_is_array(theirs) || json_array_size(theirs) != ours->n_children)
        return false;
    weir_tree_foreach (child, ours)
        if (!same_value(child, json_array_get(theirs, i++)))
            return false;
    return true;
}

static bool same_value(const struct weir_tree *ours, const json_t *theirs)
{
    switch ((enum weir_tree_kind)ours->kind) {
    case WEIR_TREE_NULL:
        return json_is_null(theirs);
    case WEIR_TREE_BOOL:
        return json_is_boolean(theirs) && json_is_true(theirs) == weir_str_eq_c(ours->text, "true");
    case WEIR_TREE_NUMBER:
        return same_number(ours->text, theirs);
    case WEIR_TREE_STRING:
        return json_is_string(theirs) &&
               weir_str_eq(ours->text,
                           weir_str_n(json_string_value(theirs), json_string_length(theirs)));
    case WEIR_TREE_ARRAY:
        return same_items(ours, theirs);
    case WEIR_TREE_OBJECT:
        return same_members(ours, theirs);
    case WEIR_TREE_KIND_MAX:
        break;
    }
    return false;
}

/* ---- both on one text ---- */

struct verdicts {
    bool weir;
    bool jansson;
    bool expected; /* of jansson, by the rule */
    bool same;     /* both accept, with the same values */
};

static struct verdicts judge(struct weir_str text, bool duplicates)
{
    struct weir_json_options options = {.allow_duplicates = duplicates};
    size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | (duplicates ? 0 : JSON_REJECT_DUPLICATES);
    struct verdicts v = {false, false, false, false};
    struct weir_str seen;
    struct weir_tree *ours = NULL;
    json_t *theirs;
    json_error_t fault;

    weir_arena_reset(&arena);
    theirs = json_loadb(text.len > 0 ? text.ptr : "", text.len, flags, &fault);
    v.jansson = theirs != NULL;
    v.weir = weir_json_read(text, &options, &arena, &ours, NULL) == 0;
    v.expected = v.weir;
    if (as_jansson_sees(text, &seen)) {
        assert_false(v.weir);
        v.expected = weir_json_read(seen, &options, &arena, &ours, NULL) == 0;
    }
    v.expected = v.expected && !jansson_cannot(ours);
    v.same = v.expected && v.jansson && same_value(ours, theirs);
    json_decref(theirs);
    return v;
}

/* For a message: what is not printable as \\xHH. */
static const char *shown(struct weir_str text)
{
    static struct weir_buf out = WEIR_BUF_INIT(LENGTH_MAX * 8);

    weir_buf_reset(&out);
    for (size_t i = 0; i < text.len; i++)
        weir_buf_printf(&out, text.ptr[i] >= ' ' && text.ptr[i] <= '~' ? "%c" : "\\x%02X",
                        (unsigned char)text.ptr[i]);
    return weir_buf_cstr(&out);
}

static struct verdicts compare(struct weir_str text)
{
    struct verdicts strict = judge(text, false);
    struct verdicts lenient = judge(text, true);

    if (strict.jansson != strict.expected)
        fail_msg("weir %s, jansson %s: %s", strict.weir ? "accepts" : "refuses",
                 strict.jansson ? "accepts" : "refuses", shown(text));
    if (strict.jansson && !strict.same)
        fail_msg("read differently: %s", shown(text));
    if (strict.weir && (!lenient.weir || lenient.jansson != strict.jansson))
        fail_msg("leave to repeat names changes the verdict: %s", shown(text));
    /* A value that was replaced is not in weir's tree, so there the rule cannot see all. */
    if (lenient.jansson && !lenient.same)
        fail_msg("read differently with names repeated: %s", shown(text));
    return strict;
}

static void listed_texts_are_read_alike(void **state)
{
    size_t n_accepted = 0;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(texts); i++) {
        struct verdicts v = compare(weir_str(texts[i]));

        assert_int_equal(v.weir, v.jansson);
        n_accepted += v.weir;
    }
    assert_int_equal(n_accepted, 14);
}

static void names_repeated_are_read_alike(void **state)
{
    static const char *const repeated[] = {
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"b\":2,\"a\":{\"c\":3,\"c\":[4]},\"b\":5}",
        "{\"a\":1,\"\\u0061\":null,\"a\":\"x\"}",
        ("{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":0,"
         "\"l\":0,\"m\":0,\"n\":0,\"o\":0,\"p\":0,\"q\":0,\"a\":1,\"q\":2,\"a\":3}"),
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(repeated); i++) {
        struct verdicts strict = judge(weir_str(repeated[i]), false);
        struct verdicts lenient = judge(weir_str(repeated[i]), true);

        assert_false(strict.weir || strict.jansson);
        assert_true(lenient.weir && lenient.jansson && lenient.same);
    }
}

/* '_' stands for a NUL byte. The text is valid until the next call. */
static struct weir_str with_nuls(const char *text)
{
    static char copy[64];
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] == '_' ? '\0' : text[i];
    return weir_str_n(copy, n);
}

/* The table of json-differs.md. */
static void differences_are_as_written(void **state)
{
    static const char *const weir_only[] = {
        "9223372036854775808", "-9223372036854775809", "[18446744073709551616]",     "1e999",
        "{\"a\":-1.5e400}",    "{\"\\u0000\":1}",      "{\"a\\u0000b\":{\"x\":[]}}",
    };
    static const char *const jansson_only[] = {"-1_", "[1.5_,2]", "{\"a\":true_}", "[0_ ]"};
    static const char *const neither[] = {"_", "1 _", "1__", "{}_", "\"a\"_", "[1,_2]", "\"a_\""};
    char deep[300];
    struct verdicts v;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(weir_only); i++) {
        v = compare(weir_str(weir_only[i]));
        assert_true(v.weir && !v.jansson);
    }
    for (size_t i = 0; i < WEIR_COUNT_OF(jansson_only); i++) {
        v = compare(with_nuls(jansson_only[i]));
        assert_true(!v.weir && v.jansson);
    }
    for (size_t i = 0; i < WEIR_COUNT_OF(neither); i++) {
        v = compare(with_nuls(neither[i]));
        assert_true(!v.weir && !v.jansson);
    }
    memset(deep, '[', 129);
    memset(deep + 129, ']', 129);
    v = judge(weir_str_n(deep, 258), false);
    assert_true(!v.weir && v.jansson);
    v = judge(weir_str_n(deep + 1, 256), false);
    assert_true(v.weir && v.jansson && v.same);
}

/* ---- random changes ---- */

static void replace(struct weir_buf *text, size_t at, size_t n, const char *by, size_t n_by)
{
    struct weir_buf changed = WEIR_BUF_INIT(LENGTH_MAX * 2);
    struct weir_str old = weir_buf_view(text);

    weir_buf_str(&changed, weir_str_sub(old, 0, at));
    weir_buf_append(&changed, by, n_by);
    weir_buf_str(&changed, weir_str_sub(old, at + n, old.len));
    assert_int_equal(changed.failed, 0);
    weir_buf_finish(text);
    *text = changed;
}

static const char *const pieces[] = {"\"",
                                     "\\",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "0",
                                     "9",
                                     "-",
                                     ".",
                                     "e",
                                     "+",
                                     " ",
                                     "\n",
                                     "\\u",
                                     "\\ud800",
                                     "\\udc00",
                                     "\\u0000",
                                     "\x80",
                                     "\xC3",
                                     "\xED",
                                     "\xA0",
                                     "\xF0",
                                     "true",
                                     "null",
                                     "\"a\":1,",
                                     "1e999",
                                     "\x01",
                                     "99999999999999999999"};

static void change(struct weir_rng *rng, struct weir_buf *text)
{
    size_t len = text->len;
    size_t at = (size_t)weir_rng_below(rng, len + 1);
    size_t n = (size_t)weir_rng_below(rng, 12);
    const char *piece = pieces[weir_rng_below(rng, WEIR_COUNT_OF(pieces))];
    char byte = (char)weir_rng_below(rng, 256);

    n = n > len - at ? len - at : n;
    switch (weir_rng_below(rng, 6)) {
    case 0:
        replace(text, at, n > 0 ? 1 : 0, &byte, 1);
        break;
    case 1:
        replace(text, at, n, "", 0);
        break;
    case 2:
        replace(text, at, 0, piece, strlen(piece));
        break;
    case 3:
        replace(text, at, n > 0 ? 1 : 0, piece, strlen(piece));
        break;
    case 4: {
        char copy[16];

        if (n > 0)
            memcpy(copy, text->data + at, n);
        replace(text, (size_t)weir_rng_below(rng, len + 1), 0, copy, n);
        break;
    }
    default:
        if (weir_rng_below(rng, 8) == 0)
            weir_buf_truncate(text, at);
        else
            replace(text, at, n > 0 ? 1 : 0, "\"", 1);
        break;
    }
}

static void changed_texts_are_read_alike(void **state)
{
    const char *given = getenv("WEIR_SEED");
    uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
    uint64_t n = given != NULL ? 1 : N_MUTATIONS;
    uint64_t n_accepted = 0;
    uint64_t n_differ = 0;

    (void)state;
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct weir_buf text = WEIR_BUF_INIT(LENGTH_MAX * 2);
        struct weir_rng rng;
        struct verdicts v;

        weir_rng_init(&rng, seed);
        weir_buf_puts(&text, texts[weir_rng_below(&rng, 14)]);
        for (uint64_t changes = 1 + weir_rng_below(&rng, 3); changes > 0; changes--)
            change(&rng, &text);
        v = compare(weir_buf_view(&text));
        n_accepted += v.weir;
        n_differ += v.weir != v.jansson;
        weir_buf_finish(&text);
    }
    /* The changes must leave enough to accept, and meet the differences. */
    if (given == NULL)
        assert_true(n_accepted > n / 20 && n_accepted < n / 2 && n_differ > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_texts_are_read_alike),
        cmocka_unit_test(names_repeated_are_read_alike),
        cmocka_unit_test(differences_are_as_written),
        cmocka_unit_test(changed_texts_are_read_alike),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}

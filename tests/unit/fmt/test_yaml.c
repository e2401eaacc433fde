#include "fmt/yaml.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 20 };

struct fixture {
    struct weir_arena arena;
    struct weir_err err;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    weir_arena_init(&fixture.arena, 0);
    memset(&fixture.err, 0, sizeof(fixture.err));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    weir_arena_finish(&f->arena);
    return 0;
}

static const struct weir_tree *read_ok(struct fixture *f, const char *text)
{
    const struct weir_tree *root = NULL;

    if (weir_yaml_read_one(weir_str(text), MAX_BYTES, &f->arena, &root, &f->err) < 0)
        fail_msg("%u:%u %s in:\n%s", f->err.line, f->err.column, f->err.text, text);
    return root;
}

static void assert_node(const struct weir_tree *root, const char *path, enum weir_tree_kind kind,
                        const char *text)
{
    const struct weir_tree *node = weir_tree_path(root, path);

    if (node == NULL)
        fail_msg("nothing at '%s'", path);
    if (node->kind != kind || !weir_str_eq_c(node->text, text))
        fail_msg("'%s' is %s '%.*s'", path, weir_tree_kind_name(node->kind),
                 WEIR_STR_ARG(node->text));
}

static void assert_place(const struct weir_tree *root, const char *path, uint32_t line,
                         uint32_t column, uint32_t key_line, uint32_t key_column)
{
    const struct weir_tree *node = weir_tree_path(root, path);

    if (node == NULL)
        fail_msg("nothing at '%s'", path);
    if (node->line != line || node->column != column || node->key_line != key_line ||
        node->key_column != key_column)
        fail_msg("'%s' is at %u:%u, key at %u:%u", path, node->line, node->column, node->key_line,
                 node->key_column);
}

/* An input that is refused, and the error in full. */
struct refusal {
    const char *text;
    size_t len; /* 0: up to the NUL */
    int code;
    uint32_t line;
    uint32_t column;
    const char *message;
    const char *hint;
    const char *field;
};

static void assert_refused(struct fixture *f, const struct refusal *want)
{
    struct weir_yaml_stream stream = {NULL, 77};
    size_t len = want->len > 0 ? want->len : strlen(want->text);
    int rc = weir_yaml_read(weir_str_n(want->text, len), MAX_BYTES, &f->arena, &stream, &f->err);

    if (rc != want->code || f->err.code != want->code || f->err.line != want->line ||
        f->err.column != want->column || strcmp(f->err.text, want->message) != 0 ||
        strcmp(f->err.hint, want->hint) != 0 || strcmp(f->err.field, want->field) != 0)
        fail_msg("got %d at %u:%u\n  %s\n  hint: %s\n  field: %s\nfor:\n%s", rc, f->err.line,
                 f->err.column, f->err.text, f->err.hint, f->err.field, want->text);
    assert_int_equal(stream.n_documents, 77);
    assert_int_equal(weir_yaml_read(weir_str_n(want->text, len), MAX_BYTES, &f->arena, &stream,
                                    NULL),
                     want->code);
}

static void reads_a_manifest_with_places(void **state)
{
    const struct weir_tree *root = read_ok(*state, "# a comment\n"
                                                   "kind: Pod\n"
                                                   "spec:\n"
                                                   "  größe: &g [1, 'two']\n"
                                                   "  \"ä\":  x\n"
                                                   "  containers:\n"
                                                   "  - name: a\n"
                                                   "    args: !!seq\n"
                                                   "    - |\n"
                                                   "      line\n"
                                                   "  - name:\n"
                                                   "  more: *g\n");

    assert_place(root, "", 2, 1, 0, 0);
    assert_place(root, "kind", 2, 7, 2, 1);
    assert_place(root, "spec", 4, 3, 3, 1);
    /* Columns are bytes: two of these characters have two. */
    assert_place(root, "spec.größe", 4, 12, 4, 3);
    assert_place(root, "spec.größe[1]", 4, 19, 0, 0);
    assert_place(root, "spec.ä", 5, 10, 5, 3);
    assert_place(root, "spec.containers[0].args[0]", 9, 7, 0, 0);
    assert_node(root, "spec.containers[0].args[0]", WEIR_TREE_STRING, "line\n");
    assert_node(root, "spec.containers[1].name", WEIR_TREE_NULL, "");
    assert_place(root, "spec.containers[1].name", 11, 10, 11, 5);
    /* An alias stands where it is used, its content where it is written. */
    assert_place(root, "spec.more", 12, 9, 12, 3);
    assert_place(root, "spec.more[1]", 4, 19, 0, 0);
    assert_true(weir_tree_path(root, "spec.more[1]")->quoted);
    assert_false(weir_tree_path(root, "kind")->quoted);
    assert_true(weir_tree_path(root, "spec.containers[0].args[0]")->quoted);
}

static void counts_lines_as_editors_do(void **state)
{
    const struct weir_tree *root =
        read_ok(*state, "\xEF\xBB\xBF"
                        "a: 1\r\nb: 2\rc: \"\xC2\x85\xE2\x80\xA8\"\nd: 4\n");

    assert_place(root, "a", 1, 4, 1, 1);
    assert_place(root, "b", 2, 4, 2, 1);
    assert_place(root, "c", 3, 4, 3, 1);
    assert_place(root, "d", 4, 4, 4, 1);
}

static void reads_streams(void **state)
{
    struct fixture *f = *state;
    struct weir_yaml_stream s;

    assert_int_equal(weir_yaml_read(WEIR_STR("%YAML 1.1\n---\na: &x 1\n...\n"
                                             "# between\n"
                                             "---\n"
                                             "# nothing\n"
                                             "--- [b]\n"),
                                    MAX_BYTES, &f->arena, &s, &f->err),
                     0);
    assert_int_equal(s.n_documents, 3);
    assert_int_equal(s.documents[0].line, 1);
    assert_int_equal(s.documents[1].line, 6);
    assert_int_equal(s.documents[1].root->kind, WEIR_TREE_NULL);
    assert_int_equal(s.documents[2].line, 8);
    assert_node(s.documents[2].root, "[0]", WEIR_TREE_STRING, "b");

    assert_int_equal(weir_yaml_read(WEIR_STR("\n\na: 1\n"), MAX_BYTES, &f->arena, &s, &f->err), 0);
    assert_int_equal(s.documents[0].line, 3);
    assert_int_equal(weir_yaml_read(WEIR_STR("# only\n"), MAX_BYTES, &f->arena, &s, &f->err), 0);
    assert_int_equal(s.n_documents, 0);
    assert_int_equal(weir_yaml_read(weir_str_n(NULL, 0), 0, &f->arena, &s, &f->err), 0);
    assert_int_equal(s.n_documents, 0);
}

static void one_document_means_one(void **state)
{
    struct fixture *f = *state;
    const struct weir_tree *root = NULL;

    assert_int_equal(weir_yaml_read_one(WEIR_STR(" "), MAX_BYTES, &f->arena, &root, &f->err),
                     WEIR_E_INVALID);
    assert_string_equal(f->err.text, "the YAML is empty");
    assert_int_equal(weir_yaml_read_one(WEIR_STR("a: 1\n---\nb: 1\n"), MAX_BYTES, &f->arena, &root,
                                        &f->err),
                     WEIR_E_INVALID);
    assert_string_equal(f->err.text, "2 documents where one is wanted");
    assert_int_equal(f->err.line, 2);
    assert_int_equal(weir_yaml_read_one(WEIR_STR("a: ["), MAX_BYTES, &f->arena, &root, &f->err),
                     WEIR_E_INVALID);
    assert_null(root);
}

static void json_is_yaml(void **state)
{
    const struct weir_tree *root =
        read_ok(*state, "{\n\t\"a\": [1, -2.5e3, true, null, \"x\\ty\\u00e9\"],\r\n\t\"b\":{}}\n");

    assert_node(root, "a[0]", WEIR_TREE_NUMBER, "1");
    assert_node(root, "a[1]", WEIR_TREE_NUMBER, "-2.5e3");
    assert_node(root, "a[2]", WEIR_TREE_BOOL, "true");
    assert_node(root, "a[3]", WEIR_TREE_NULL, "");
    assert_node(root, "a[4]", WEIR_TREE_STRING, "x\ty\xC3\xA9");
    assert_int_equal(weir_tree_get(root, "b")->kind, WEIR_TREE_OBJECT);
}

static void aliases_are_copies(void **state)
{
    const struct weir_tree *root = read_ok(*state, "a: &a {x: [1, 2], y: &y why}\n"
                                                   "b: *a\n"
                                                   "*y : key\n"
                                                   "&k anchored: *y\n"
                                                   "c: *k\n"
                                                   "d: &a again\n"
                                                   "e: *a\n");

    assert_node(root, "b.x[1]", WEIR_TREE_NUMBER, "2");
    assert_true(weir_tree_equal(weir_tree_get(root, "a"), weir_tree_get(root, "b")));
    assert_ptr_not_equal(weir_tree_path(root, "a.x"), weir_tree_path(root, "b.x"));
    assert_ptr_equal(weir_tree_path(root, "b.x")->parent, weir_tree_get(root, "b"));
    assert_node(root, "why", WEIR_TREE_STRING, "key");
    assert_node(root, "anchored", WEIR_TREE_STRING, "why");
    assert_node(root, "c", WEIR_TREE_STRING, "anchored");
    assert_node(root, "e", WEIR_TREE_STRING, "again");
}

static void merge_keys_merge(void **state)
{
    const struct weir_tree *root = read_ok(*state, "base: &b {cpu: 1, mem: 2}\n"
                                                   "more: &m {mem: 3, gpu: 4}\n"
                                                   "one: {<<: *b, cpu: 9}\n"
                                                   "two: {own: 0, <<: [*b, *m], gpu: 8}\n"
                                                   "inline: {<<: &i {p: 1}}\n"
                                                   "again: *i\n"
                                                   "quoted: {'<<': 1}\n"
                                                   "only: {<<: {}}\n"
                                                   "nested: {<<: {<<: *b, q: 1}, mem: 0}\n");
    const struct weir_tree *two = weir_tree_get(root, "two");

    assert_node(root, "one.cpu", WEIR_TREE_NUMBER, "9");
    assert_node(root, "one.mem", WEIR_TREE_NUMBER, "2");
    assert_int_equal(weir_tree_get(root, "one")->n_children, 2);
    assert_node(root, "two.mem", WEIR_TREE_NUMBER, "2");
    assert_node(root, "two.gpu", WEIR_TREE_NUMBER, "8");
    assert_int_equal(two->n_children, 4);
    assert_true(weir_str_eq_c(two->first->key, "own"));
    assert_true(weir_str_eq_c(two->first->next->key, "gpu"));
    assert_true(weir_str_eq_c(two->last->key, "mem"));
    assert_place(root, "two.mem", 1, 24, 1, 19);
    assert_node(root, "again.p", WEIR_TREE_NUMBER, "1");
    assert_node(root, "quoted.<<", WEIR_TREE_NUMBER, "1");
    assert_int_equal(weir_tree_get(root, "only")->n_children, 0);
    assert_null(weir_tree_get(root, "only")->last);
    assert_node(root, "nested.cpu", WEIR_TREE_NUMBER, "1");
    assert_node(root, "nested.mem", WEIR_TREE_NUMBER, "0");
    assert_node(root, "nested.q", WEIR_TREE_NUMBER, "1");
}

static void keys_become_text(void **state)
{
    const struct weir_tree *root =
        read_ok(*state, "on: 1\nn: 2\n0x10: 3\n1.5: 4\n.inf: 5\n'yes': 6\n!!str no: 7\n? plain\n");

    assert_node(root, "true", WEIR_TREE_NUMBER, "1");
    assert_node(root, "false", WEIR_TREE_NUMBER, "2");
    assert_node(root, "16", WEIR_TREE_NUMBER, "3");
    assert_non_null(weir_tree_get(root, "1.5"));
    assert_non_null(weir_tree_get(root, ".inf"));
    assert_node(root, "yes", WEIR_TREE_NUMBER, "6");
    assert_node(root, "no", WEIR_TREE_NUMBER, "7");
    assert_node(root, "plain", WEIR_TREE_NULL, "");
}

static void tags_are_honoured(void **state)
{
    const struct weir_tree *root =
        read_ok(*state,
                "a: !!str 5\nb: !!int '0x1F'\nc: !!bool \"yes\"\nd: !!null ''\ne: !!float 1\n"
                "f: ! yes\ng: !!map {x: 1}\nh: !!seq [1]\ni: !!str\n");

    assert_node(root, "a", WEIR_TREE_STRING, "5");
    assert_true(weir_tree_get(root, "a")->quoted);
    assert_node(root, "b", WEIR_TREE_NUMBER, "31");
    assert_false(weir_tree_get(root, "b")->quoted);
    assert_node(root, "c", WEIR_TREE_BOOL, "true");
    assert_node(root, "d", WEIR_TREE_NULL, "");
    assert_node(root, "e", WEIR_TREE_NUMBER, "1");
    assert_node(root, "f", WEIR_TREE_STRING, "yes");
    assert_int_equal(weir_tree_get(root, "g")->kind, WEIR_TREE_OBJECT);
    assert_int_equal(weir_tree_get(root, "h")->kind, WEIR_TREE_ARRAY);
    assert_node(root, "i", WEIR_TREE_STRING, "");
}

static void normalised_numbers_can_be_asked_for(void **state)
{
    const struct weir_tree *root = read_ok(*state, "[0x7FFFFFFFFFFFFFFF, -010, +1_000, .5, 08]");
    int64_t i;
    double d;

    assert_int_equal(weir_tree_i64(weir_tree_path(root, "[0]"), INT64_MIN, INT64_MAX, &i, NULL), 0);
    assert_true(i == INT64_MAX);
    assert_int_equal(weir_tree_i64(weir_tree_path(root, "[1]"), -8, -8, &i, NULL), 0);
    assert_int_equal(weir_tree_i64(weir_tree_path(root, "[2]"), 1000, 1000, &i, NULL), 0);
    assert_int_equal(weir_tree_f64(weir_tree_path(root, "[3]"), &d, NULL), 0);
    assert_true(d == 0.5);
    assert_int_equal(weir_tree_i64(weir_tree_path(root, "[4]"), 8, 8, &i, NULL), 0);
}

static void resolves_plain_scalars(void **state)
{
    static const struct {
        const char *plain;
        uint8_t kind;
        const char *text;
        bool is_integer;
    } table[] = {
        {"", WEIR_TREE_NULL, "", false},
        {"~", WEIR_TREE_NULL, "", false},
        {"NULL", WEIR_TREE_NULL, "", false},
        {"nULL", WEIR_TREE_STRING, "nULL", false},
        {"y", WEIR_TREE_BOOL, "true", false},
        {"N", WEIR_TREE_BOOL, "false", false},
        {"Yes", WEIR_TREE_BOOL, "true", false},
        {"OFF", WEIR_TREE_BOOL, "false", false},
        {"oN", WEIR_TREE_STRING, "oN", false},
        {"True", WEIR_TREE_BOOL, "true", false},
        {"0", WEIR_TREE_NUMBER, "0", true},
        {"-0", WEIR_TREE_NUMBER, "0", true},
        {"+12", WEIR_TREE_NUMBER, "12", true},
        {"-12", WEIR_TREE_NUMBER, "-12", true},
        {"18446744073709551616", WEIR_TREE_NUMBER, "18446744073709551616", true},
        {"0x1f", WEIR_TREE_NUMBER, "31", true},
        {"0X1F", WEIR_TREE_NUMBER, "31", true},
        {"-0x1f", WEIR_TREE_NUMBER, "-31", true},
        {"0xFFFFFFFFFFFFFFFF", WEIR_TREE_NUMBER, "18446744073709551615", true},
        {"0x10000000000000000", WEIR_TREE_STRING, "0x10000000000000000", false},
        {"-0x8000000000000000", WEIR_TREE_NUMBER, "-9223372036854775808", true},
        {"-0x8000000000000001", WEIR_TREE_STRING, "-0x8000000000000001", false},
        {"0x", WEIR_TREE_STRING, "0x", false},
        {"0xG", WEIR_TREE_STRING, "0xG", false},
        {"0o17", WEIR_TREE_NUMBER, "15", true},
        {"0o8", WEIR_TREE_STRING, "0o8", false},
        {"0755", WEIR_TREE_NUMBER, "493", true},
        {"00", WEIR_TREE_NUMBER, "0", true},
        {"-017", WEIR_TREE_NUMBER, "-15", true},
        {"08", WEIR_TREE_NUMBER, "8", true},
        {"0b101", WEIR_TREE_NUMBER, "5", true},
        {"0b2", WEIR_TREE_STRING, "0b2", false},
        {"1_000", WEIR_TREE_NUMBER, "1000", true},
        {"0x_1_F", WEIR_TREE_NUMBER, "31", true},
        {"_1", WEIR_TREE_STRING, "_1", false},
        {"._5", WEIR_TREE_STRING, "._5", false},
        {"-_1", WEIR_TREE_NUMBER, "-1", true},
        {"+_", WEIR_TREE_STRING, "+_", false},
        {"1.5", WEIR_TREE_NUMBER, "1.5", false},
        {".5", WEIR_TREE_NUMBER, "0.5", false},
        {"-.5", WEIR_TREE_NUMBER, "-0.5", false},
        {"5.", WEIR_TREE_NUMBER, "5", false},
        {"007.50", WEIR_TREE_NUMBER, "7.50", false},
        {"1e3", WEIR_TREE_NUMBER, "1e3", false},
        {"1.E+03", WEIR_TREE_NUMBER, "1E+03", false},
        {"-0.0", WEIR_TREE_NUMBER, "-0.0", false},
        {"1e", WEIR_TREE_STRING, "1e", false},
        {"1e+", WEIR_TREE_STRING, "1e+", false},
        {"e3", WEIR_TREE_STRING, "e3", false},
        {".", WEIR_TREE_STRING, ".", false},
        {"-", WEIR_TREE_STRING, "-", false},
        {"+", WEIR_TREE_STRING, "+", false},
        {"1.2.3", WEIR_TREE_STRING, "1.2.3", false},
        {"--1", WEIR_TREE_STRING, "--1", false},
        {".inf", WEIR_TREE_STRING, ".inf", false},
        {"-.Inf", WEIR_TREE_STRING, "-.Inf", false},
        {".NaN", WEIR_TREE_STRING, ".NaN", false},
        {"12:30", WEIR_TREE_STRING, "12:30", false},
        {"2026-11-30", WEIR_TREE_STRING, "2026-11-30", false},
        {"1 2", WEIR_TREE_STRING, "1 2", false},
        {"500m", WEIR_TREE_STRING, "500m", false},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct weir_yaml_scalar s;

        assert_int_equal(weir_yaml_resolve(weir_str(table[i].plain), &f->arena, &s), 0);
        if (s.kind != table[i].kind || !weir_str_eq_c(s.text, table[i].text) ||
            s.is_integer != table[i].is_integer)
            fail_msg("'%s' is %s '%.*s'", table[i].plain, weir_tree_kind_name(s.kind),
                     WEIR_STR_ARG(s.text));
    }
}

static void tells_what_versions_disagree_on(void **state)
{
    static const char *const ambiguous[] = {
        "y",
        "N",
        "yes",
        "Off",
        "on",
        "010",
        "00",
        "0o17",
        "08",
        "1_000",
        "0b11",
        "-0x1F",
        "0x1_F",
        "1e3",
        "1.5e3",
        "1_0.5",
        "12:30",
        "1:02:03",
        "20:30.15",
        "2026-11-30",
        "2026-1-3T1:02:03Z",
        "2001-12-14 21:59:43.10 -5",
        "<<",
        "=",
        "0:30.",
    };
    static const char *const clear[] = {
        "",
        "~",
        "null",
        "true",
        "False",
        "1",
        "-1",
        "+1",
        "0",
        "0x1F",
        "1.5",
        ".5",
        "5.",
        "1.5e+3",
        "-.inf",
        ".NaN",
        "abc",
        "500m",
        "01:30:00",
        "12:60",
        "12:3x",
        "12:",
        "1.2.3",
        "2026-1",
        "2026-1-3",
        "20260-01-03",
        "2026-11-30x",
        "0o8",
        "0b2",
        "0xG",
        "_1",
        "-",
        ".",
        "yEs",
        "1e",
        "1.e",
        "2026-11-30T1:2:3",
        "2026-11-30T01:02",
        "0b",
        "0x",
        "+",
        "1:2:",
        "-_1",
        "2026-111-30",
        "2026-11-301",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ambiguous) / sizeof(ambiguous[0]); i++)
        if (!weir_yaml_is_ambiguous(weir_str(ambiguous[i])))
            fail_msg("'%s' should be ambiguous", ambiguous[i]);
    for (size_t i = 0; i < sizeof(clear) / sizeof(clear[0]); i++)
        if (weir_yaml_is_ambiguous(weir_str(clear[i])))
            fail_msg("'%s' should be clear", clear[i]);
}

static void refuses_what_it_cannot_mean(void **state)
{
    static const struct refusal table[] = {
        {"a: 1\nb:\n  x: 1\n  'x': 2\n", 0, WEIR_E_INVALID, 4, 3,
         "key 'x' is given twice, on lines 3 and 4", "", "b.x"},
        {"yes: 1\non: 2\n", 0, WEIR_E_INVALID, 2, 1, "key 'true' is given twice, on lines 1 and 2",
         "'on' without quotes is read as a boolean", "true"},
        {"{<<: {a: 1}, <<: {b: 1}}", 0, WEIR_E_INVALID, 1, 14,
         "key '<<' is given twice, on lines 1 and 1", "", "<<"},
        {"~: 1\n", 0, WEIR_E_INVALID, 1, 1, "null cannot be a key", "put the key in quotes", ""},
        {"a: &n\n*n : 1\n", 0, WEIR_E_INVALID, 2, 1, "null cannot be a key",
         "put the key in quotes", ""},
        {"x: {[a]: b}\n", 0, WEIR_E_INVALID, 1, 5, "an array cannot be a key",
         "quote a text that starts with '{' or '['", "x"},
        {"a: &l [1]\n*l : 1\n", 0, WEIR_E_INVALID, 2, 1, "an array cannot be a key", "", ""},
        {"a: *nowhere\n", 0, WEIR_E_INVALID, 1, 4,
         "alias '*nowhere' has no anchor '&nowhere' before it", "quote a text that starts with '*'",
         "a"},
        {"a: &x 1\n---\nb: *x\n", 0, WEIR_E_INVALID, 3, 4,
         "alias '*x' has no anchor '&x' before it", "quote a text that starts with '*'", "b"},
        {"a: &x [1, {b: *x}]\n", 0, WEIR_E_INVALID, 1, 15,
         "alias '*x' is inside what it stands for", "", "a[1].b"},
        {"<<: 5\n", 0, WEIR_E_INVALID, 1, 5,
         "'<<' takes a mapping or a list of mappings, not a number", "", ""},
        {"a: {<<: [{}, x]}\n", 0, WEIR_E_INVALID, 1, 14,
         "'<<' takes a mapping or a list of mappings, not a string", "", "a"},
        {"a: !!int x\n", 0, WEIR_E_INVALID, 1, 4, "'x' does not fit its tag '!!int'", "", "a"},
        {"a: !!int 1.5\n", 0, WEIR_E_INVALID, 1, 4, "'1.5' does not fit its tag '!!int'", "", "a"},
        {"a: !!float .inf\n", 0, WEIR_E_INVALID, 1, 4, "'.inf' does not fit its tag '!!float'", "",
         "a"},
        {"a: !!bool 1\n", 0, WEIR_E_INVALID, 1, 4, "'1' does not fit its tag '!!bool'", "", "a"},
        {"a: !!null x\n", 0, WEIR_E_INVALID, 1, 4, "'x' does not fit its tag '!!null'", "", "a"},
        {"a: !!binary aGk=\n", 0, WEIR_E_INVALID, 1, 4, "tag '!!binary' cannot be used here", "",
         "a"},
        {"a: !mine x\n", 0, WEIR_E_INVALID, 1, 4, "tag '!mine' cannot be used here", "", "a"},
        {"- !!set {a}\n", 0, WEIR_E_INVALID, 1, 3, "tag '!!set' cannot be used here", "", ""},
        {"- !!map [a]\n", 0, WEIR_E_INVALID, 1, 3, "tag '!!map' cannot be used here", "", ""},
        {"a: \"x\\0y\"\n", 0, WEIR_E_INVALID, 1, 4, "text with a NUL character", "", "a"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_refused(*state, &table[i]);
}

static void refuses_what_is_no_yaml(void **state)
{
    static const struct refusal table[] = {
        {"a:\n\tb: 1\n", 0, WEIR_E_INVALID, 2, 1,
         "not YAML: found character that cannot start any token, while scanning for the next token",
         "indent with blanks, not with tabs", ""},
        {"ä: @x\n", 0, WEIR_E_INVALID, 1, 5,
         "not YAML: found character that cannot start any token, while scanning for the next token",
         "quote a text that starts with '@'", ""},
        {"a: b: c\n", 0, WEIR_E_INVALID, 1, 5,
         "not YAML: mapping values are not allowed in this context",
         "quote a text that contains ': ', or correct the indentation", ""},
        {"path: {user}/x\n", 0, WEIR_E_INVALID, 1, 13,
         "not YAML: did not find expected key, while parsing a block mapping",
         "keys of one mapping start in the same column; quote a text that starts with '{' or '['",
         ""},
        {"a:\n  b: 1\n c: 1\n", 0, WEIR_E_INVALID, 3, 2,
         "not YAML: did not find expected key, while parsing a block mapping from line 1",
         "keys of one mapping start in the same column; quote a text that starts with '{' or '['",
         ""},
        {"- a\nb: 1\n", 0, WEIR_E_INVALID, 2, 1,
         "not YAML: did not find expected '-' indicator, while parsing a block collection from "
         "line 1",
         "items of one list start in the same column", ""},
        {"a: [1, 2\nb: 3\n", 0, WEIR_E_INVALID, 2, 2,
         "not YAML: did not find expected ',' or ']', while parsing a flow sequence from line 1",
         "close the bracket, or quote a text that contains one", ""},
        {"a: 'x\n", 0, WEIR_E_INVALID, 2, 1,
         "not YAML: found unexpected end of stream, while scanning a quoted scalar from line 1",
         "close the quote", ""},
        {"a: \"\\d\"\n", 0, WEIR_E_INVALID, 1, 5,
         "not YAML: found unknown escape character, while parsing a quoted scalar",
         "in single quotes a backslash is only a backslash", ""},
        {"a: 1\nb: \xC3(\n", 0, WEIR_E_INVALID, 2, 5,
         "not YAML: invalid trailing UTF-8 octet (0x28)", "save the file as UTF-8 text", ""},
        {"\xFF", 0, WEIR_E_INVALID, 1, 1, "not YAML: invalid leading UTF-8 octet (0xFF)",
         "save the file as UTF-8 text", ""},
        {"\xEF\xBB\xBF"
         "a: \xED\xA0\x80",
         0, WEIR_E_INVALID, 1, 4, "not YAML: invalid Unicode character (0xD800)",
         "save the file as UTF-8 text", ""},
        {"a: b\0c", 6, WEIR_E_INVALID, 1, 5, "not YAML: a NUL byte", "save the file as UTF-8 text",
         ""},
        {"a: \x1B[0m", 0, WEIR_E_INVALID, 1, 4,
         "not YAML: control characters are not allowed (0x1B)", "save the file as UTF-8 text", ""},
        {"\xFF\xFE"
         "a\0",
         4, WEIR_E_INVALID, 1, 1, "not YAML: UTF-16 text", "save the file as UTF-8 text", ""},
        {"\xFE\xFF\0a", 4, WEIR_E_INVALID, 1, 1, "not YAML: UTF-16 text",
         "save the file as UTF-8 text", ""},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_refused(*state, &table[i]);
}

static void keeps_to_the_maximum_of_bytes(void **state)
{
    struct fixture *f = *state;
    struct weir_yaml_stream s;

    assert_int_equal(weir_yaml_read(WEIR_STR("a: 12"), 5, &f->arena, &s, &f->err), 0);
    assert_int_equal(weir_yaml_read(WEIR_STR("a: 123"), 5, &f->arena, &s, &f->err),
                     WEIR_E_TOO_LARGE);
    assert_string_equal(f->err.text, "YAML of 6 bytes is over the maximum of 5");
}

/* `open` n times, around the text. */
static struct weir_str nest(struct weir_buf *buf, const char *open, const char *inner,
                            const char *close, unsigned n)
{
    weir_buf_reset(buf);
    for (unsigned i = 0; i < n; i++)
        weir_buf_puts(buf, open);
    weir_buf_puts(buf, inner);
    for (unsigned i = 0; i < n; i++)
        weir_buf_puts(buf, close);
    return weir_buf_view(buf);
}

static void nests_so_deep_and_no_deeper(void **state)
{
    static const struct {
        const char *open;
        const char *close;
    } kinds[] = {{"[", "]"}, {"{a: ", "}"}, {"- ", ""}};
    struct fixture *f = *state;
    struct weir_buf buf = WEIR_BUF_INIT(1 << 20);
    struct weir_yaml_stream s;

    for (size_t i = 0; i < 3; i++) {
        struct weir_str fits = nest(&buf, kinds[i].open, "1", kinds[i].close, WEIR_YAML_DEPTH_MAX);

        assert_int_equal(weir_yaml_read(fits, MAX_BYTES, &f->arena, &s, &f->err), 0);
        for (unsigned n = WEIR_YAML_DEPTH_MAX + 1; n <= 100000; n += 99871) {
            struct weir_str deep = nest(&buf, kinds[i].open, "1", "", n);

            assert_int_equal(weir_yaml_read(deep, MAX_BYTES, &f->arena, &s, &f->err),
                             WEIR_E_TOO_LARGE);
            assert_string_equal(f->err.text, "nested deeper than 128 levels");
            assert_int_equal(f->err.line, 1);
            assert_int_equal(f->err.column, strlen(kinds[i].open) * WEIR_YAML_DEPTH_MAX + 1);
        }
    }
    weir_buf_finish(&buf);
}

static void aliases_do_not_nest_deeper(void **state)
{
    struct fixture *f = *state;
    struct weir_buf buf = WEIR_BUF_INIT(1 << 20);
    struct weir_yaml_stream s;

    /* Sixty levels under an anchor, used below 68 (128 in all) and below 69. */
    for (unsigned below = 68; below <= 69; below++) {
        struct weir_str text;

        weir_buf_reset(&buf);
        weir_buf_puts(&buf, "a: &x ");
        for (unsigned i = 0; i < 60; i++)
            weir_buf_putc(&buf, '[');
        for (unsigned i = 0; i < 60; i++)
            weir_buf_putc(&buf, ']');
        weir_buf_puts(&buf, "\nb: ");
        for (unsigned i = 1; i < below; i++)
            weir_buf_putc(&buf, '[');
        weir_buf_puts(&buf, "*x ");
        for (unsigned i = 1; i < below; i++)
            weir_buf_putc(&buf, ']');
        text = weir_buf_view(&buf);
        assert_int_equal(weir_yaml_read(text, MAX_BYTES, &f->arena, &s, &f->err),
                         below == 68 ? 0 : (int)WEIR_E_TOO_LARGE);
    }
    assert_int_equal(f->err.line, 2);
    weir_buf_finish(&buf);
}

static void an_alias_bomb_is_refused(void **state)
{
    static const char *const bombs[] = {
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
        "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
        "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
        "e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n"
        "f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]\n"
        "g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]\n",
        "a: &a {k: [x, x, x, x, x, x, x, x, x]}\n"
        "b: &b {<<: *a, k0: *a, k1: *a, k2: *a, k3: *a, k4: *a, k5: *a, k6: *a, k7: *a}\n"
        "c: &c {<<: *b, c0: *b, c1: *b, c2: *b, c3: *b, c4: *b, c5: *b, c6: *b, c7: *b}\n"
        "d: &d {<<: *c, d0: *c, d1: *c, d2: *c, d3: *c, d4: *c, d5: *c, d6: *c, d7: *c}\n"
        "e: &e {<<: *d, e0: *d, e1: *d, e2: *d, e3: *d, e4: *d, e5: *d, e6: *d, e7: *d}\n"
        "f: &f {<<: *e, f0: *e, f1: *e, f2: *e, f3: *e, f4: *e, f5: *e, f6: *e, f7: *e}\n",
    };
    struct fixture *f = *state;
    struct weir_yaml_stream s;

    for (size_t i = 0; i < 2; i++) {
        weir_arena_reset(&f->arena);
        assert_int_equal(weir_yaml_read(weir_str(bombs[i]), MAX_BYTES, &f->arena, &s, &f->err),
                         WEIR_E_TOO_LARGE);
        assert_string_equal(f->err.text, "aliases expand to more than 100000 values");
        assert_int_equal(f->err.line, 5 + i);
        assert_true(f->arena.used_bytes < 32 << 20);
    }
}

static void the_alias_budget_is_one_for_all_documents(void **state)
{
    struct fixture *f = *state;
    struct weir_buf buf = WEIR_BUF_INIT(1 << 22);
    struct weir_yaml_stream s;

    for (unsigned over = 0; over <= 1; over++) {
        weir_buf_reset(&buf);
        for (unsigned d = 0; d < 2; d++) {
            weir_buf_puts(&buf, "---\n- &a x\n");
            for (unsigned i = 0; i < WEIR_YAML_EXPANDED_MAX / 2 + over * d; i++)
                weir_buf_puts(&buf, "- *a\n");
        }
        assert_int_equal(weir_yaml_read(weir_buf_view(&buf), 1 << 22, &f->arena, &s, &f->err),
                         over ? (int)WEIR_E_TOO_LARGE : 0);
    }
    weir_buf_finish(&buf);
}

static void a_huge_scalar_is_bounded(void **state)
{
    enum { HUGE = 50 * 1000 * 1000 };
    struct fixture *f = *state;
    struct weir_buf buf = WEIR_BUF_INIT(HUGE + 10);
    struct weir_yaml_stream s;
    char *room;

    weir_buf_puts(&buf, "a: ");
    room = weir_buf_reserve(&buf, HUGE);
    assert_non_null(room);
    memset(room, 'x', HUGE);
    weir_buf_commit(&buf, HUGE);
    assert_int_equal(weir_yaml_read(weir_buf_view(&buf), MAX_BYTES, &f->arena, &s, &f->err),
                     WEIR_E_TOO_LARGE);
    assert_int_equal(f->arena.used_bytes, 0);
    /* Allowed by the caller, it costs its own length, and an arena with a maximum refuses it. */
    assert_int_equal(weir_yaml_read(weir_buf_view(&buf), 1 << 26, &f->arena, &s, &f->err), 0);
    assert_int_equal(s.documents[0].root->first->text.len, HUGE);
    assert_true(f->arena.used_bytes < HUGE + (2 << 20));
    weir_arena_finish(&f->arena);
    weir_arena_init(&f->arena, 1 << 20);
    assert_int_equal(weir_yaml_read(weir_buf_view(&buf), 1 << 26, &f->arena, &s, &f->err),
                     WEIR_E_NO_MEMORY);
    weir_buf_finish(&buf);
}

static void many_keys_are_told_apart(void **state)
{
    struct fixture *f = *state;
    struct weir_buf buf = WEIR_BUF_INIT(1 << 22);
    const struct weir_tree *root;
    struct weir_yaml_stream s;

    for (unsigned i = 0; i < 100000; i++)
        weir_buf_printf(&buf, "k%u: %u\n", i, i);
    assert_int_equal(weir_yaml_read_one(weir_buf_view(&buf), 1 << 22, &f->arena, &root, &f->err),
                     0);
    assert_int_equal(root->n_children, 100000);
    assert_node(root, "k99999", WEIR_TREE_NUMBER, "99999");
    weir_buf_puts(&buf, "k7: again\n");
    assert_int_equal(weir_yaml_read(weir_buf_view(&buf), 1 << 22, &f->arena, &s, &f->err),
                     WEIR_E_INVALID);
    assert_string_equal(f->err.text, "key 'k7' is given twice, on lines 8 and 100001");
    weir_buf_finish(&buf);
}

/* Around the number of members from which on keys are looked up in a table. */
static void a_key_given_twice_is_found_at_every_size(void **state)
{
    struct fixture *f = *state;
    struct weir_buf buf = WEIR_BUF_INIT(1 << 16);
    struct weir_yaml_stream s;

    for (unsigned n = 1; n < 40; n++) {
        for (unsigned twice = 0; twice < n; twice++) {
            weir_buf_reset(&buf);
            weir_buf_puts(&buf, "m: &m {k0: 1, other: 2}\nx:\n");
            for (unsigned i = 0; i < n; i++)
                weir_buf_printf(&buf, "  k%u: 1\n", i);
            weir_buf_puts(&buf, "  <<: *m\n");
            assert_int_equal(weir_yaml_read(weir_buf_view(&buf), MAX_BYTES, &f->arena, &s, &f->err),
                             0);
            assert_int_equal(weir_tree_get(s.documents[0].root, "x")->n_children, n + 1);
            weir_buf_printf(&buf, "  k%u: 2\n", twice);
            assert_int_equal(weir_yaml_read(weir_buf_view(&buf), MAX_BYTES, &f->arena, &s, &f->err),
                             WEIR_E_INVALID);
            assert_int_equal(f->err.line, n + 4);
            weir_arena_reset(&f->arena);
        }
    }
    weir_buf_finish(&buf);
}

static void many_tag_directives_are_refused(void **state)
{
    static const char *const ends[] = {"\n", "\r", "\xC2\x85", "\xE2\x80\xA8"};
    struct fixture *f = *state;
    struct weir_buf buf = WEIR_BUF_INIT(1 << 20);
    struct weir_yaml_stream s;

    for (size_t i = 0; i < 4; i++)
        for (unsigned n = WEIR_YAML_TAG_DIRECTIVES_MAX; n <= 20000; n += 19936) {
            weir_buf_reset(&buf);
            for (unsigned k = 0; k < n; k++)
                weir_buf_printf(&buf, "%%TAG !t%u! tag:yaml.org,2002:%s", k, ends[i]);
            weir_buf_puts(&buf, "--- !t3!str 5");
            assert_int_equal(weir_yaml_read(weir_buf_view(&buf), MAX_BYTES, &f->arena, &s, &f->err),
                             n == WEIR_YAML_TAG_DIRECTIVES_MAX ? 0 : (int)WEIR_E_TOO_LARGE);
        }
    assert_string_equal(f->err.text, "more than 64 %TAG directives");
    /* In the middle of a line it is only text. */
    weir_buf_reset(&buf);
    weir_buf_puts(&buf, "a: '");
    for (unsigned k = 0; k < 100; k++)
        weir_buf_puts(&buf, " %TAG");
    weir_buf_puts(&buf, "'");
    assert_int_equal(weir_yaml_read(weir_buf_view(&buf), MAX_BYTES, &f->arena, &s, &f->err), 0);
    weir_buf_finish(&buf);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_a_manifest_with_places),
        TEST(counts_lines_as_editors_do),
        TEST(reads_streams),
        TEST(one_document_means_one),
        TEST(json_is_yaml),
        TEST(aliases_are_copies),
        TEST(merge_keys_merge),
        TEST(keys_become_text),
        TEST(tags_are_honoured),
        TEST(normalised_numbers_can_be_asked_for),
        TEST(resolves_plain_scalars),
        TEST(tells_what_versions_disagree_on),
        TEST(refuses_what_it_cannot_mean),
        TEST(refuses_what_is_no_yaml),
        TEST(keeps_to_the_maximum_of_bytes),
        TEST(nests_so_deep_and_no_deeper),
        TEST(aliases_do_not_nest_deeper),
        TEST(an_alias_bomb_is_refused),
        TEST(the_alias_budget_is_one_for_all_documents),
        TEST(a_huge_scalar_is_bounded),
        TEST(many_keys_are_told_apart),
        TEST(a_key_given_twice_is_found_at_every_size),
        TEST(many_tag_directives_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

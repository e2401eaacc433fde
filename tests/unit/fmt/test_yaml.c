#include "base/count.h"
#include "yaml_fixture.h"

enum { MAX_BYTES = 1 << 20 };

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

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++)
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

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++)
        assert_refused(*state, &table[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        YAML_TEST(reads_a_manifest_with_places),
        YAML_TEST(counts_lines_as_editors_do),
        YAML_TEST(reads_streams),
        YAML_TEST(one_document_means_one),
        YAML_TEST(json_is_yaml),
        YAML_TEST(aliases_are_copies),
        YAML_TEST(merge_keys_merge),
        YAML_TEST(keys_become_text),
        YAML_TEST(tags_are_honoured),
        YAML_TEST(normalised_numbers_can_be_asked_for),
        YAML_TEST(refuses_what_it_cannot_mean),
        YAML_TEST(refuses_what_is_no_yaml),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

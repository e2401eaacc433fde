#include "yaml_fixture.h"

#include "base/buf.h"

enum { MAX_BYTES = 1 << 20 };

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
    assert_true(weir_str_eq_c(weir_tree_get(root, "k99999")->text, "99999"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        YAML_TEST(keeps_to_the_maximum_of_bytes),
        YAML_TEST(nests_so_deep_and_no_deeper),
        YAML_TEST(aliases_do_not_nest_deeper),
        YAML_TEST(an_alias_bomb_is_refused),
        YAML_TEST(the_alias_budget_is_one_for_all_documents),
        YAML_TEST(a_huge_scalar_is_bounded),
        YAML_TEST(many_keys_are_told_apart),
        YAML_TEST(a_key_given_twice_is_found_at_every_size),
        YAML_TEST(many_tag_directives_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

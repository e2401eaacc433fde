#include "base/arena.h"
#include "base/count.h"
#include "base/err.h"
#include "base/mem.h"
#include "fmt/schema.h"
#include "fmt/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The program is linked with --wrap for these, so that the n-th call fails wherever it comes from:
 * libyaml allocates by itself. */
void *__real_malloc(size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);

static bool armed;
static unsigned long n_calls;
static unsigned long fail_at;

static bool must_fail(void)
{
    return armed && n_calls++ == fail_at;
}

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return must_fail() ? NULL : __real_realloc(old, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return must_fail() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return must_fail() ? NULL : __real_reallocarray(old, n, size);
}

char *__wrap_strdup(const char *text)
{
    return must_fail() ? NULL : __real_strdup(text);
}

/* Has anchors, merges, tags, a table of keys, several documents, directives. */
static const char good[] = "%TAG !t! tag:yaml.org,2002:\n"
                           "---\n"
                           "base: &b {a: 1, b: 0x1F, c: 1_0}\n"
                           "copy: *b\n"
                           "more: {<<: [*b, {d: .5}], e: !t!str 5}\n"
                           "many: {k0: 0, k1: 1, k2: 2, k3: 3, k4: 4, k5: 5, k6: 6, k7: 7, k8: 8,\n"
                           "  k9: 9, k10: 10, k11: 11, k12: 12, k13: 13, k14: 14, k15: 15,\n"
                           "  k16: 16, k17: 17, k18: 18, k19: 19, k20: 20, <<: *b}\n"
                           "? &k key\n"
                           ": [x, 'y', \"z\", ~, yes]\n"
                           "block: |\n"
                           "  text\n"
                           "---\n"
                           "second: 2\n";

static const char bad[] = "a: {b: [1, 2, {c: 3}]}\nb: {k: 1, k: 2}\n";

/* Fails every allocation in turn until none is left to fail. Returns how many there were. */
static unsigned long fail_each(const char *text, int rc_unharmed)
{
    for (fail_at = 0;; fail_at++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        struct weir_err err = WEIR_ERR_INIT;
        struct weir_yaml_stream stream = {NULL, 77};
        bool failed;
        int rc;

        n_calls = 0;
        armed = true;
        rc = weir_yaml_read(weir_str(text), 4096, &arena, &stream, &err);
        armed = false;
        failed = n_calls > fail_at;
        if (!failed) {
            assert_int_equal(rc, rc_unharmed);
            weir_arena_finish(&arena);
            return fail_at;
        }
        /* Only the path of an error may be lost without a word. */
        if (rc != WEIR_E_NO_MEMORY)
            assert_true(rc_unharmed < 0 && rc == rc_unharmed && err.field[0] == '\0');
        assert_int_equal(err.code, rc);
        assert_int_equal(stream.n_documents, 77);
        weir_arena_finish(&arena);
    }
}

static void reading_yaml_survives_every_failure(void **state)
{
    (void)state;
    assert_true(fail_each(good, 0) > 100);
    assert_true(fail_each(bad, WEIR_E_INVALID) > 20);
}

static void one_document_survives_every_failure(void **state)
{
    const struct weir_tree *root = NULL;

    (void)state;
    for (uint64_t n = 0;; n++) {
        struct weir_arena arena = WEIR_ARENA_INIT;
        int rc;

        weir_mem_fail(n, 1);
        rc = weir_yaml_read_one(WEIR_STR("a: [1, &x 2, *x]"), 4096, &arena, &root, NULL);
        if (weir_mem_count() <= n) {
            weir_mem_fail(0, 0);
            assert_int_equal(rc, 0);
            assert_non_null(root);
            weir_arena_finish(&arena);
            assert_true(n >= 3);
            return;
        }
        weir_mem_fail(0, 0);
        assert_int_equal(rc, WEIR_E_NO_MEMORY);
        assert_null(root);
        weir_arena_finish(&arena);
    }
}

static const struct weir_tree *tree(const char *text, struct weir_arena *arena)
{
    const struct weir_tree *root = NULL;

    assert_int_equal(weir_yaml_read_one(weir_str(text), 4096, arena, &root, NULL), 0);
    return root;
}

/* A schema is checked without memory; only the words of an error take some. */
static void checking_a_schema_survives_every_failure(void **state)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *schema =
        tree("{type: object, required: [z, w], properties: {\n"
             "  a: {description: a, type: string, enum: [one, two]},\n"
             "  b: {description: b, type: [string, number], x-weir-format: quantity-milli},\n"
             "  z: {description: z, type: integer}, w: {description: w, type: integer}},\n"
             " additionalProperties: false}",
             &arena);
    const struct weir_tree *docs[] = {
        tree("{a: three}", &arena), tree("{b: 5x}", &arena), tree("{c: 1}", &arena),
        tree("{z: 1}", &arena),     tree("{z: x}", &arena),
    };
    const struct weir_tree *broken = tree("{type: object, additionalProperties: 5}", &arena);
    uint64_t n;

    (void)state;
    for (n = 0;; n++) {
        struct weir_err err;

        weir_mem_fail(n, 1);
        for (size_t i = 0; i < WEIR_COUNT_OF(docs); i++) {
            err = (struct weir_err)WEIR_ERR_INIT;
            assert_int_equal(weir_schema_check(schema, docs[i], &err), WEIR_E_INVALID);
            assert_int_equal(err.code, WEIR_E_INVALID);
            assert_true(err.text[0] != '\0' && err.line == 1);
        }
        assert_int_equal(weir_schema_check_schema(schema, &err), 0);
        assert_int_equal(weir_schema_check_schema(broken, &err), WEIR_E_INVALID);
        if (weir_mem_count() <= n)
            break;
    }
    weir_mem_fail(0, 0);
    assert_true(n >= 2);
    weir_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_yaml_survives_every_failure),
        cmocka_unit_test(one_document_survives_every_failure),
        cmocka_unit_test(checking_a_schema_survives_every_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

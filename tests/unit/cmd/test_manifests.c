#include "../support.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/manifests.h"
#include "fmt/yaml.h"

#include <fcntl.h>
#include <sys/stat.h>

static void add(struct weir_manifests *manifests, const char *name, const char *text)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_manifests_add_text(manifests, name, weir_str(text), &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

/* Each file holds a mapping with `name` and, as `line`, the line where that stands. */
static void lines_lead_back_to_their_files(void **state)
{
    static const char *const texts[] = {
        "name: 0\nline: 2\n",
        "name: 1\nline: 2",
        "# comment\n---\nname: 2\nline: 4\n---\nname: 2\nline: 7\n",
        "\xef\xbb\xbfname: 3\nline: 2\n",
        "%YAML 1.1\n---\nname: 4\nline: 4\n...\n",
        "%YAML 1.1\n# two\n---\nname: 5\nline: 5\n",
        "",
        "# nothing\n",
        "{\"name\": 8,\n\"line\": 2}\n",
        "---\nname: 9\nline: 3\ntext: |\n  a\n  b\n",
        "name: 10\nline: 2\ntext: |+\n\n\n",
        "name: 11\r\nline: 2\r\n",
    };
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_yaml_stream stream;
    struct weir_manifests manifests;
    struct weir_err err = WEIR_ERR_INIT;
    size_t n = 0;
    (void)state;

    weir_manifests_init(&manifests);
    for (size_t i = 0; i < WEIR_COUNT_OF(texts); i++) {
        char name[8];

        snprintf(name, sizeof(name), "%zu", i);
        add(&manifests, name, texts[i]);
    }
    if (weir_yaml_read(weir_buf_view(&manifests.text), 1 << 20, &arena, &stream, &err) < 0)
        fail_msg("%u:%u: %s\n%s", err.line, err.column, err.text, weir_buf_cstr(&manifests.text));
    for (size_t i = 0; i < stream.n_documents; i++) {
        const struct weir_tree *root = stream.documents[i].root;
        const struct weir_tree *line = weir_tree_get(root, "line");
        uint32_t at;
        char text[16];

        if (root->kind == WEIR_TREE_NULL)
            continue;
        n++;
        at = line->line;
        assert_true(
            weir_str_eq_c(weir_tree_get(root, "name")->text, weir_manifests_find(&manifests, &at)));
        snprintf(text, sizeof(text), "%u", at);
        assert_true(weir_str_eq_c(line->text, text));
    }
    assert_int_equal(n, 11);
    assert_int_equal(manifests.n_documents, n);
    weir_manifests_finish(&manifests);
}

static void faults_are_found_in_their_own_file(void **state)
{
    static const char *const faults[] = {"a: [1\n",  "a: 'open\n",   "a: b: c\n",
                                         "\ta: 1\n", "a: 1\na: 2\n", "\xff\n"};
    (void)state;

    for (size_t i = 0; i < WEIR_COUNT_OF(faults); i++) {
        struct weir_manifests manifests;
        struct weir_err err = WEIR_ERR_INIT;

        weir_manifests_init(&manifests);
        add(&manifests, "good", "a: 1\n");
        assert_int_equal(weir_manifests_add_text(&manifests, "bad", weir_str(faults[i]), &err),
                         WEIR_E_INVALID);
        assert_true(err.line > 0 && err.line < 4);
        weir_manifests_finish(&manifests);
    }
}

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void folders_are_read_by_name(void **state)
{
    char dir[] = "/tmp/weir-manifests-XXXXXX";
    struct weir_manifests manifests;
    struct weir_err err = WEIR_ERR_INIT;
    const char *file = NULL;
    char sub[64];
    (void)state;

    assert_non_null(mkdtemp(dir));
    snprintf(sub, sizeof(sub), "%s/c.yaml", dir);
    weir_manifests_init(&manifests);
    assert_int_equal(weir_manifests_add(&manifests, dir, &file, &err), WEIR_E_INVALID);
    assert_string_equal(err.text, "there is nothing to apply");
    write_file(dir, "b.yml", "x: b\n");
    write_file(dir, "a.json", "{\"x\": \"a\"}");
    write_file(dir, ".hidden.yaml", "{");
    write_file(dir, "README", "{");
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(weir_manifests_add(&manifests, dir, &file, &err), 0);
    assert_string_equal(weir_buf_cstr(&manifests.text), "{\"x\": \"a\"}\n---\nx: b\n");
    write_file(dir, "d.yaml", "x: [\n");
    assert_int_equal(weir_manifests_add(&manifests, dir, &file, &err), WEIR_E_INVALID);
    assert_non_null(strstr(file, "/d.yaml"));
    assert_int_equal(weir_manifests_add(&manifests, "/no/such/file", &file, &err),
                     WEIR_E_NOT_FOUND);
    assert_string_equal(file, "/no/such/file");
    weir_manifests_finish(&manifests);
    for (size_t i = 0; i < 5; i++) {
        char path[64];

        snprintf(path, sizeof(path), "%s/%s", dir,
                 (const char *[]){"a.json", "b.yml", ".hidden.yaml", "README", "d.yaml"}[i]);
        unlink(path);
    }
    rmdir(sub);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_lead_back_to_their_files),
        cmocka_unit_test(faults_are_found_in_their_own_file),
        cmocka_unit_test(folders_are_read_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "fmt/schema.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "fmt/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BYTES = 1 << 20 };

struct fixture {
    struct weir_arena arena;
    struct weir_err err;
    struct weir_buf queue_text;
    struct weir_buf workload_text;
    const struct weir_tree *queue;
    const struct weir_tree *workload;
};

static const struct weir_tree *tree(struct fixture *f, struct weir_str text)
{
    const struct weir_tree *root = NULL;

    if (weir_yaml_read_one(text, MAX_BYTES, &f->arena, &root, &f->err) < 0)
        fail_msg("%u:%u %s in:\n%.*s", f->err.line, f->err.column, f->err.text, WEIR_STR_ARG(text));
    return root;
}

static void read_file(const char *name, struct weir_buf *out)
{
    const char *root = getenv("WEIR_SOURCE_ROOT");
    char path[4096];
    weir_cleanup_file FILE *file = NULL;
    char *room;

    snprintf(path, sizeof(path), "%s/data/schema/%s", root != NULL ? root : ".", name);
    file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    weir_buf_init(out, MAX_BYTES);
    room = weir_buf_reserve(out, 1 << 16);
    assert_non_null(room);
    weir_buf_commit(out, fread(room, 1, 1 << 16, file));
    assert_true(feof(file));
}

static int set_up(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof(fixture));
    read_file("queue.json", &fixture.queue_text);
    read_file("workload.json", &fixture.workload_text);
    fixture.queue = tree(&fixture, weir_buf_view(&fixture.queue_text));
    fixture.workload = tree(&fixture, weir_buf_view(&fixture.workload_text));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    weir_buf_finish(&f->queue_text);
    weir_buf_finish(&f->workload_text);
    weir_arena_finish(&f->arena);
    return 0;
}

static void assert_fits(struct fixture *f, const struct weir_tree *schema, const char *text)
{
    const struct weir_tree *doc = tree(f, weir_str(text));

    if (weir_schema_check(schema, doc, &f->err) < 0)
        fail_msg("%u:%u %s: %s\n%s", f->err.line, f->err.column, f->err.field, f->err.text, text);
}

struct fault {
    const char *text;
    uint32_t line;
    uint32_t column;
    const char *field;
    const char *message;
    const char *hint;
};

static void assert_err(const struct weir_err *err, const struct fault *want)
{
    if (err->code != WEIR_E_INVALID || err->line != want->line || err->column != want->column ||
        strcmp(err->field, want->field) != 0 || strcmp(err->text, want->message) != 0 ||
        strcmp(err->hint, want->hint) != 0)
        fail_msg("got %d at %u:%u\n  field: %s\n  %s\n  hint: %s\nfor:\n%s", err->code, err->line,
                 err->column, err->field, err->text, err->hint, want->text);
}

static void assert_fault(struct fixture *f, const struct weir_tree *schema,
                         const struct fault *want)
{
    const struct weir_tree *doc = tree(f, weir_str(want->text));
    struct weir_err err = WEIR_ERR_INIT;

    assert_int_equal(weir_schema_check(schema, doc, NULL), WEIR_E_INVALID);
    assert_int_equal(weir_schema_check(schema, doc, &err), WEIR_E_INVALID);
    assert_err(&err, want);
}

static void our_schemas_are_schemas(void **state)
{
    struct fixture *f = *state;

    if (weir_schema_check_schema(f->queue, &f->err) < 0)
        fail_msg("queue.json:%u %s", f->err.line, f->err.text);
    if (weir_schema_check_schema(f->workload, &f->err) < 0)
        fail_msg("workload.json:%u %s", f->err.line, f->err.text);
}

/* Doubles one letter of every keyword in turn: each such slip must be found. */
static void a_typo_in_our_schemas_is_found(void **state)
{
    static const char *const keywords[] = {
        "\"type\":",     "\"properties\":", "\"required\":",          "\"additionalProperties\":",
        "\"enum\":",     "\"default\":",    "\"description\":",       "\"x-weir-format\":",
        "\"minimum\":",  "\"maximum\":",    "\"x-weir-key-format\":", "\"items\":",
        "\"minItems\":", "\"maxItems\":",   "\"minLength\":",         "\"maxLength\":",
    };
    struct fixture *f = *state;
    const struct weir_buf *texts[] = {&f->queue_text, &f->workload_text};
    struct weir_buf changed = WEIR_BUF_INIT(MAX_BYTES);
    unsigned n = 0;

    for (size_t t = 0; t < 2; t++)
        for (size_t k = 0; k < WEIR_COUNT_OF(keywords); k++) {
            const char *text = weir_buf_cstr(texts[t]);
            struct weir_arena arena = WEIR_ARENA_INIT;

            for (const char *at = text; (at = strstr(at, keywords[k])) != NULL; at++, n++) {
                const struct weir_tree *schema;

                weir_buf_reset(&changed);
                weir_buf_append(&changed, text, (size_t)(at - text) + 2);
                weir_buf_puts(&changed, at + 1);
                assert_int_equal(weir_yaml_read_one(weir_buf_view(&changed), MAX_BYTES, &arena,
                                                    &schema, &f->err),
                                 0);
                if (weir_schema_check_schema(schema, &f->err) >= 0)
                    fail_msg("a doubled letter passes at ...%.60s", at);
                assert_true(f->err.line > 0);
                weir_arena_reset(&arena);
            }
            weir_arena_finish(&arena);
        }
    assert_true(n > 200);
    weir_buf_finish(&changed);
}

static void full_documents_fit(void **state)
{
    struct fixture *f = *state;

    assert_fits(f, f->queue,
                "apiVersion: weir.dev/v1\n"
                "kind: Queue\n"
                "metadata:\n"
                "  name: team-a\n"
                "  labels: {weir.dev/team: A_1, empty: ''}\n"
                "  annotations: {note: 'any text, of any length'}\n"
                "spec:\n"
                "  parent: research\n"
                "  priority: -2147483648\n"
                "  weight: 0\n"
                "  guaranteed: {gpu: 4, cpu: 500m, memory: 64Gi, gpu/H100: 2, gpu/a100-80gb: 0.5}\n"
                "  limit: {gpu: '8'}\n"
                "  isolation: hardware\n"
                "  preemption: no\n"
                "  maxRunTime: 12h\n");
    assert_fits(f, f->queue,
                "{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: a}, spec: {}}");
    assert_fits(f, f->workload,
                "apiVersion: weir.dev/v1\n"
                "kind: Workload\n"
                "metadata: {name: train-7b}\n"
                "spec:\n"
                "  queue: team-a\n"
                "  class: training\n"
                "  priority: 1000000\n"
                "  command: [python, train.py, '']\n"
                "  env: {HF_HOME: /data, 'lower.case': ''}\n"
                "  cwd: /srv\n"
                "  umask: 0777\n"
                "  gpus: 0.5\n"
                "  gpuModel: h100\n"
                "  gpuMemory: 20Gi\n"
                "  cpu: 4\n"
                "  memory: 1e9\n"
                "  isolation: memory\n"
                "  members: 4096\n"
                "  minMembers: 1\n"
                "  array: 100000\n"
                "  timeLimit: 90\n"
                "  grace: 1h30m\n"
                "  checkpointSignal: SIGUSR1\n"
                "  retries: 1000\n"
                "  retryOn: [1, 137]\n"
                "  backoff: 01:30:00\n"
                "  outputMax: 64Mi\n"
                "  preemptible: true\n");
}

#define HEAD "{apiVersion: weir.dev/v1, kind: Workload, metadata: {name: a}, spec:\n"

static const struct fault workload_faults[] = {
    {HEAD "{command: [a],\n gpu: 1}}", 3, 2, "spec.gpu", "unknown field 'gpu'",
     "did you mean 'gpus'?"},
    {HEAD "{command: [a], gpumodel: x}}", 2, 16, "spec.gpumodel", "unknown field 'gpumodel'",
     "did you mean 'gpuModel'?"},
    {HEAD "{command: [a], nodes: 1}}", 2, 16, "spec.nodes", "unknown field 'nodes'", ""},
    {HEAD "{command: [a]}, status: {}}", 2, 17, "status", "unknown field 'status'", ""},
    {HEAD "{command: [a], \"x\\ny\": 1}}", 2, 16, "spec.x?y", "unknown field 'x?y'", ""},
    {HEAD "{gpus: 1}}", 2, 1, "spec.command", "field 'command' is missing", ""},
    {"{}", 1, 1, "apiVersion", "field 'apiVersion' is missing", ""},
    {"[]", 1, 1, "", "expected an object, got an array", ""},
    {HEAD "{command: [a], class: bach}}", 2, 23, "spec.class",
     "'bach' is not one of service, batch, training, dev", "did you mean 'batch'?"},
    {HEAD "{command: [a], class: interactive}}", 2, 23, "spec.class",
     "'interactive' is not one of service, batch, training, dev", ""},
    {"{apiVersion: weir.dev/v2}", 1, 14, "apiVersion", "'weir.dev/v2' is not weir.dev/v1", ""},
    {HEAD "{command: python}}", 2, 11, "spec.command", "expected an array, got a string",
     "write a list, one item to a line with '- ' in front"},
    {HEAD "{command: []}}", 2, 11, "spec.command", "0 items, fewer than the 1 wanted", ""},
    {HEAD "{command: [sleep, 10]}}", 2, 19, "spec.command[1]", "expected a string, got a number",
     "put it in quotes"},
    {HEAD "{command: [a], env: {DEBUG: yes}}}", 2, 29, "spec.env.DEBUG",
     "expected a string, got a boolean", "put it in quotes"},
    {HEAD "{command: [a], env: {A=B: x}}}", 2, 22, "spec.env.A=B",
     "'A=B' is not the name of a variable", ""},
    {HEAD "{command: [a], env: {'a b': x}}}", 2, 22, "spec.env.a b",
     "'a b' is not the name of a variable", ""},
    {HEAD "{command: [a], queue: ~}}", 2, 23, "spec.queue", "expected a string, got null",
     "give a value, or leave the field out"},
    {HEAD "{command: [a], queue: Team_A}}", 2, 23, "spec.queue", "'Team_A' is not a name",
     "write team-a"},
    {HEAD "{command: [a], queue: -x}}", 2, 23, "spec.queue", "'-x' is not a name",
     "use a-z, 0-9 and '-', at most 63, with a letter or digit at both ends"},
    {HEAD "{command: [a], members: '4'}}", 2, 25, "spec.members",
     "expected a whole number, got a string", "leave the quotes out"},
    {HEAD "{command: [a], members: four}}", 2, 25, "spec.members",
     "expected a whole number, got a string", ""},
    {HEAD "{command: [a], members: 1.5}}", 2, 25, "spec.members",
     "'1.5' is not a whole number in range", ""},
    {HEAD "{command: [a], members: 9223372036854775808}}", 2, 25, "spec.members",
     "'9223372036854775808' is not a whole number in range", ""},
    {HEAD "{command: [a], members: 0}}", 2, 25, "spec.members", "0 is below the minimum of 1", ""},
    {HEAD "{command: [a], umask: 01000}}", 2, 23, "spec.umask", "512 is over the maximum of 511",
     ""},
    {HEAD "{command: [a], retryOn: [1, 0]}}", 2, 29, "spec.retryOn[1]",
     "0 is below the minimum of 1", ""},
    {HEAD "{command: [a], preemptible: maybe}}", 2, 29, "spec.preemptible",
     "expected a boolean, got a string", "write true or false"},
    {HEAD "{command: [a], gpus: -1}}", 2, 22, "spec.gpus", "quantity '-1' is negative", ""},
    {HEAD "{command: [a], gpus: [1]}}", 2, 22, "spec.gpus",
     "expected a string or a number, got an array", ""},
    {HEAD "{command: [a], gpus: 1e30}}", 2, 22, "spec.gpus", "quantity '1e30' is too large", ""},
    {HEAD "{command: [a], gpuMemory: 20GiB}}", 2, 27, "spec.gpuMemory", "'20GiB' is not a quantity",
     "write 20Gi"},
    {HEAD "{command: [a], timeLimit: soon}}", 2, 27, "spec.timeLimit", "'soon' is not a duration",
     "write it as 90s, 1h30m, 2d or 01:30:00 (at most ten years)"},
    {HEAD "{command: [a], checkpointSignal: SIGUSR}}", 2, 34, "spec.checkpointSignal",
     "'SIGUSR' is not a signal", "did you mean 'SIGUSR1'?"},
    {HEAD "{command: [a], checkpointSignal: 10x}}", 2, 34, "spec.checkpointSignal",
     "'10x' is not a signal", "write a name such as TERM or USR1"},
    {HEAD "{command: [a], checkpointSignal: KILL}}", 2, 34, "spec.checkpointSignal",
     "no process can catch KILL", "use TERM or USR1"},
    {HEAD "{command: [a], cwd: ''}}", 2, 21, "spec.cwd", "0 characters, fewer than the 1 wanted",
     ""},
    {HEAD "{command: [a], gpuModel: a b}}", 2, 26, "spec.gpuModel", "'a b' is not a label value",
     "use letters, digits, '-', '_' and '.', at most 63, with a letter or digit at both ends"},
};

static void faults_of_workloads_are_named(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < WEIR_COUNT_OF(workload_faults); i++)
        assert_fault(f, f->workload, &workload_faults[i]);
}

#define QUEUE "{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: a}, spec:\n"

static void faults_of_queues_are_named(void **state)
{
    static const struct fault table[] = {
        {QUEUE "{guaranteed: {gpus: 4}}}", 2, 15, "spec.guaranteed.gpus", "unknown field 'gpus'",
         "did you mean 'gpu'?"},
        {QUEUE "{limit: {disk: 4}}}", 2, 10, "spec.limit.disk", "unknown field 'disk'",
         "write it as gpu/MODEL, instances as mig/PROFILE"},
        {QUEUE "{limit: {gpu/H 100: 4}}}", 2, 10, "spec.limit.gpu/H 100",
         "unknown field 'gpu/H 100'", "write it as gpu/MODEL, instances as mig/PROFILE"},
        {QUEUE "{limit: {gpu/H100: four}}}", 2, 20, "spec.limit.gpu/H100",
         "'four' is not a quantity",
         "write a number, with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei or nothing behind it"},
        {QUEUE "{priority: 2147483648}}", 2, 12, "spec.priority",
         "2147483648 is over the maximum of 2147483647", ""},
        {QUEUE "{weight: -1}}", 2, 10, "spec.weight", "-1 is below the minimum of 0", ""},
        {QUEUE "{isolation: hardwear}}", 2, 13, "spec.isolation",
         "'hardwear' is not one of hardware, memory, none", "did you mean 'hardware'?"},
        {"{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: a, labels: {/a: b}}}", 1, 69,
         "metadata.labels./a", "'/a' is not a label key", "write it as name or example.com/name"},
        {"{apiVersion: weir.dev/v1, kind: Queue, metadata: {name: a, labels: {a: -}}}", 1, 72,
         "metadata.labels.a", "'-' is not a label value",
         "use letters, digits, '-', '_' and '.', at most 63, with a letter or digit at both ends"},
        {"{apiVersion: weir.dev/v1, kind: queue}", 1, 33, "kind", "'queue' is not Queue", ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++)
        assert_fault(f, f->queue, &table[i]);
}

/* In the order of the document; what is missing comes after what is wrong in the same object. */
static void the_first_fault_is_told(void **state)
{
    static const struct fault table[] = {
        {"{kinds: Workload, spec: {\ncommand: [a,\n   10]}}\n", 1, 2, "kinds",
         "unknown field 'kinds'", "did you mean 'kind'?"},
        {"{spec: {\ncommand: [a,\n   10,\n   on],\n gpus: 1x}}\n", 3, 4, "spec.command[1]",
         "expected a string, got a number", "put it in quotes"},
        {"{spec: {\ncommand: [a],\n gpus: 1x}}\n", 3, 8, "spec.gpus", "'1x' is not a quantity",
         "write a number, with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei or nothing behind it"},
        {"{spec: {command: [a]}}\n", 1, 1, "apiVersion", "field 'apiVersion' is missing", ""},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++)
        assert_fault(f, f->workload, &table[i]);
}

static void numbers_compare_exactly(void **state)
{
    struct fixture *f = *state;
    const struct weir_tree *whole =
        tree(f, WEIR_STR("{type: integer, maximum: 9223372036854775806}"));
    const struct weir_tree *real =
        tree(f, WEIR_STR("{type: number, minimum: -0.5, maximum: 9007199254740993}"));
    static const struct fault over = {"9223372036854775807",
                                      1,
                                      1,
                                      "",
                                      "9223372036854775807 is over the maximum of "
                                      "9223372036854775806",
                                      ""};
    static const struct fault above = {"9007199254740994",
                                       1,
                                       1,
                                       "",
                                       "9007199254740994 is over the maximum of "
                                       "9007199254740993",
                                       ""};
    static const struct fault below = {"-0.51", 1, 1, "", "-0.51 is below the minimum of -0.5", ""};

    assert_int_equal(weir_schema_check_schema(whole, NULL), 0);
    assert_int_equal(weir_schema_check_schema(real, NULL), 0);
    assert_fits(f, whole, "9223372036854775806");
    assert_fault(f, whole, &over);
    assert_fits(f, real, "9007199254740993");
    assert_fits(f, real, "-0.5");
    assert_fits(f, real, "-5e-1");
    assert_fault(f, real, &above);
    assert_fault(f, real, &below);
}

static void lengths_are_characters(void **state)
{
    struct fixture *f = *state;
    const struct weir_tree *schema =
        tree(f, WEIR_STR("{type: string, minLength: 2, maxLength: 3}"));
    static const struct fault one = {"ä", 1, 1, "", "1 characters, fewer than the 2 wanted", ""};
    static const struct fault four = {"äöüß", 1, 1, "", "4 characters, more than the 3 allowed",
                                      ""};

    assert_fits(f, schema, "äö");
    assert_fits(f, schema, "äöü");
    assert_fault(f, schema, &one);
    assert_fault(f, schema, &four);
}

static void formats_hold_at_their_edges(void **state)
{
    static const struct {
        const char *format;
        const char *value;
        bool fits;
    } table[] = {
        {"name", "a", true},
        {"name", "0-9", true},
        {"name", "a123456789b123456789c123456789d123456789e123456789f123456789g12", true},
        {"name", "a123456789b123456789c123456789d123456789e123456789f123456789g123", false},
        {"name", "A123456789b123456789c123456789d123456789e123456789f123456789g123", false},
        {"name", "''", false},
        {"name", "a-", false},
        {"name", "a.b", false},
        {"name", "größe", false},
        {"label", "''", true},
        {"label", "A.b_c-9", true},
        {"label", "_a", false},
        {"label", "a123456789b123456789c123456789d123456789e123456789f123456789g12", true},
        {"label", "a123456789b123456789c123456789d123456789e123456789f123456789g123", false},
        {"timestamp", "2026-11-30T10:00:00Z", true},
        {"timestamp", "2026-11-30T10:00:00+01:00", true},
        {"timestamp", "2026-11-30", false},
        {"timestamp", "2026-02-30T10:00:00Z", false},
        {"signal", "HUP", true},
        {"signal", "SIGRTMIN", false},
        {"signal", "SIGSTOP", false},
        {"signal", "usr1", false},
        {"signal", "''", false},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < WEIR_COUNT_OF(table); i++) {
        char text[128];
        const struct weir_tree *schema;
        const struct weir_tree *doc;

        snprintf(text, sizeof(text), "{type: string, x-weir-format: %s}", table[i].format);
        schema = tree(f, weir_str(text));
        assert_int_equal(weir_schema_check_schema(schema, &f->err), 0);
        doc = tree(f, weir_str(table[i].value));
        if ((weir_schema_check(schema, doc, &f->err) >= 0) != table[i].fits)
            fail_msg("%s '%s'", table[i].format, table[i].value);
    }
}

static void label_keys_hold_at_their_edges(void **state)
{
    static const char *const good[] = {"a", "A_b.c", "example.com/a", "a/b", "a-b.c/d"};
    static const char *const bad[] = {"''",  "/a",     "a/",    "a/b/c", "A.com/b", "a..b/c",
                                      "a b", "-a.b/c", "a_b/c", "ä",     "a/-b",    ".a/b"};
    struct fixture *f = *state;
    const struct weir_tree *schema =
        tree(f, WEIR_STR("{type: object, x-weir-key-format: label-key, "
                         "additionalProperties: {type: integer}}"));
    char text[400];
    char prefix[255];

    for (size_t i = 0; i < WEIR_COUNT_OF(good); i++) {
        snprintf(text, sizeof(text), "%s: 1", good[i]);
        assert_fits(f, schema, text);
    }
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text), "%s: 1", bad[i]);
        if (weir_schema_check(schema, tree(f, weir_str(text)), &f->err) >= 0)
            fail_msg("%s passes", bad[i]);
    }
    memset(prefix, 'a', 254);
    prefix[254] = '\0';
    snprintf(text, sizeof(text), "%s/x: 1", prefix + 1);
    assert_fits(f, schema, text);
    snprintf(text, sizeof(text), "%s/x: 1", prefix);
    assert_int_equal(weir_schema_check(schema, tree(f, weir_str(text)), &f->err), WEIR_E_INVALID);
}

static const struct fault schema_faults[] = {
    {"x", 1, 1, "", "expected an object, got a string", ""},
    {"{description: x}", 1, 1, "", "keyword 'type' is missing", ""},
    {"{type: strin}", 1, 8, "type", "unknown type 'strin'", ""},
    {"{type: 5}", 1, 8, "type", "expected a string, got a number", ""},
    {"{type: []}", 1, 8, "type", "0 values, not 1 to 128", ""},
    {"{type: [string, string]}", 1, 17, "type[1]", "'string' is given twice", ""},
    {"{type: [string, x]}", 1, 17, "type[1]", "unknown type 'x'", ""},
    {"{type: string, minLenght: 1}", 1, 16, "minLenght", "unknown keyword 'minLenght'",
     "did you mean 'minLength'?"},
    {"{type: string, pattern: x}", 1, 16, "pattern", "unknown keyword 'pattern'", ""},
    {"{type: string, description: ''}", 1, 29, "description", "empty text", ""},
    {"{type: string, minLength: -1}", 1, 27, "minLength", "-1 is not between 0 and 2147483647", ""},
    {"{type: string, minLength: 3, maxLength: 2}", 1, 41, "maxLength",
     "maxLength is below minLength", ""},
    {"{type: string, minimum: 3}", 1, 25, "minimum", "keyword 'minimum' does not suit the type",
     ""},
    {"{type: integer, minimum: x}", 1, 26, "minimum", "expected a number, got a string", ""},
    {"{type: integer, minimum: 3, maximum: 2}", 1, 38, "maximum", "maximum is below minimum", ""},
    {"{type: integer, x-weir-format: name}", 1, 32, "x-weir-format",
     "keyword 'x-weir-format' does not suit the type", ""},
    {"{type: string, x-weir-format: nam}", 1, 31, "x-weir-format", "unknown format 'nam'", ""},
    {"{type: string, x-weir-format: label-key}", 1, 31, "x-weir-format",
     "unknown format 'label-key'", ""},
    {"{type: string, x-weir-format: duration}", 1, 31, "x-weir-format",
     "format 'duration' does not suit the type", ""},
    {"{type: [string, number], x-weir-format: name}", 1, 41, "x-weir-format",
     "format 'name' does not suit the type", ""},
    {"{type: [string, number], minimum: 1, x-weir-format: duration}", 1, 1, "",
     "a range does not go with 'x-weir-format'", ""},
    {"{type: string, enum: []}", 1, 22, "enum", "0 values, not 1 to 128", ""},
    {"{type: string, enum: a}", 1, 22, "enum", "expected an array, got a string", ""},
    {"{type: string, enum: [a, b, a]}", 1, 29, "enum[2]", "'a' is given twice", ""},
    {"{type: string, enum: [a, 1]}", 1, 26, "enum[1]", "expected a string, got a number",
     "put it in quotes"},
    {"{type: string, enum: [a, b], default: c}", 1, 39, "default", "'c' is not one of a, b", ""},
    {"{type: integer, maximum: 3, default: 4}", 1, 38, "default", "4 is over the maximum of 3", ""},
    {"{type: object}", 1, 1, "", "an object without 'additionalProperties'", ""},
    {"{type: object, additionalProperties: true}", 1, 38, "additionalProperties",
     "expected an object, got a boolean", ""},
    {"{type: object, additionalProperties: {}}", 1, 38, "additionalProperties",
     "keyword 'type' is missing", ""},
    {"{type: object, additionalProperties: false, x-weir-key-format: env-name}", 1, 64,
     "x-weir-key-format", "a format of keys without a schema of their values", ""},
    {"{type: object, additionalProperties: {type: string}, x-weir-key-format: name}", 1, 73,
     "x-weir-key-format", "unknown format 'name'", ""},
    {"{type: object, additionalProperties: false, properties: []}", 1, 57, "properties",
     "expected an object, got an array", ""},
    {"{type: object, additionalProperties: false, properties: {a: {type: string}}}", 1, 61,
     "properties.a", "property without a description", ""},
    {"{type: object, additionalProperties: false, required: [a]}", 1, 56, "required[0]",
     "'a' is required but not a property", ""},
    {"{type: object, additionalProperties: false, required: [b],\n"
     " properties: {a: {type: string, description: x}}}",
     1, 56, "required[0]", "'b' is required but not a property", ""},
    {"{type: array}", 1, 1, "", "an array without 'items'", ""},
    {"{type: array, items: {type: strin}}", 1, 29, "items.type", "unknown type 'strin'", ""},
    {"{type: string, items: {type: string}}", 1, 23, "items",
     "keyword 'items' does not suit the type", ""},
};

static void schemas_with_faults_are_refused(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < WEIR_COUNT_OF(schema_faults); i++) {
        const struct weir_tree *schema = tree(f, weir_str(schema_faults[i].text));
        struct weir_err err = WEIR_ERR_INIT;

        assert_int_equal(weir_schema_check_schema(schema, NULL), WEIR_E_INVALID);
        assert_int_equal(weir_schema_check_schema(schema, &err), WEIR_E_INVALID);
        assert_err(&err, &schema_faults[i]);
    }
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(our_schemas_are_schemas),
        TEST(a_typo_in_our_schemas_is_found),
        TEST(full_documents_fit),
        TEST(faults_of_workloads_are_named),
        TEST(faults_of_queues_are_named),
        TEST(the_first_fault_is_told),
        TEST(numbers_compare_exactly),
        TEST(lengths_are_characters),
        TEST(formats_hold_at_their_edges),
        TEST(label_keys_hold_at_their_edges),
        TEST(schemas_with_faults_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

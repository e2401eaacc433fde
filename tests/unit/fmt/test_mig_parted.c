/* Files of mig-parted, as setups. */
#include "../support.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "fmt/mig_parted.h"
#include "fmt/yaml.h"

#include <string.h>

static struct weir_arena arena;

static int read_file(const char *text, const char *config, const struct weir_tree **ret,
                     struct weir_err *err)
{
    struct weir_yaml_stream stream = {0};

    assert_int_equal(weir_yaml_read(weir_str(text), 1 << 20, &arena, &stream, err), 0);
    assert_true(weir_mig_parted_is(stream.documents[0].root));
    return weir_mig_parted_read(stream.documents[0].root, weir_str(config), &arena, ret, err);
}

static void assert_setup(const char *text, const char *config, const char *want)
{
    struct weir_buf json = WEIR_BUF_INIT(65536);
    const struct weir_tree *setup = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_json_writer writer;

    if (read_file(text, config, &setup, &err) < 0)
        fail_msg("%s", err.text);
    weir_json_writer_init(&writer, &json, false);
    weir_json_write_tree(&writer, weir_tree_path(setup, "spec.gpus"), NULL);
    assert_int_equal(weir_json_writer_end(&writer, "a setup", &err), 0);
    assert_string_equal(weir_buf_cstr(&json), want);
    weir_buf_finish(&json);
}

static void assert_refused(const char *text, const char *config, uint32_t line, const char *why,
                           const char *hint)
{
    const struct weir_tree *setup = NULL;
    struct weir_err err = WEIR_ERR_INIT;

    assert_true(read_file(text, config, &setup, &err) < 0);
    if (strstr(err.text, why) == NULL || strstr(err.hint, hint) == NULL || err.line != line)
        fail_msg("line %u: %s (%s)", err.line, err.text, err.hint);
}

#define HEAD "version: v1\nmig-configs:\n  a:\n"

static void files_become_setups(void **state)
{
    (void)state;
    assert_setup(HEAD "  - devices: all\n    mig-enabled: false\n", "",
                 "[{\"select\":{},\"mig\":{\"enabled\":false}}]");
    assert_setup(HEAD "  - devices: [0, 2]\n    mig-enabled: true\n    mig-devices: {}\n", "a",
                 "[{\"select\":{\"index\":[0,2]},\"mig\":{\"enabled\":true}}]");
    assert_setup(HEAD "  - device-filter: 0x20B210DE\n    devices: all\n    mig-enabled: true\n"
                      "    mig-devices: {1g.10gb+me: 1, 1g.10gb: 6}\n"
                      "  - device-filter: [\"0x233010DE:0x16C010DE\"]\n    devices: all\n"
                      "    mig-enabled: false\n  b:\n  - {devices: all, mig-enabled: false}\n",
                 "a",
                 "[{\"select\":{\"pciId\":[\"0x20B210DE\"]},\"mig\":{\"enabled\":true,\"devices\":{"
                 "\"1g.10gb+me\":1,\"1g.10gb\":6}}},{\"select\":{\"pciId\":[\"0x233010DE:"
                 "0x16C010DE\"]},\"mig\":{\"enabled\":false}}]");
}

static void faults_are_named(void **state)
{
    (void)state;
    assert_refused("version: v2\nmig-configs: {a: []}\n", "", 1, "version v1", "");
    assert_refused("version: v1\nmig-configs: {}\n", "", 2, "no configuration", "");
    assert_refused("version: v1\nmig-configs:\n  all-1g: []\n  all-2g: []\n", "", 3,
                   "which of its 2", "all-1g, all-2g");
    assert_refused("version: v1\nmig-configs:\n  all-1g: []\n  all-2g: []\n", "all-3g", 3,
                   "no configuration 'all-3g'", "did you mean");
    assert_refused("version: v1\nmig-config: 1\nmig-configs: {a: []}\n", "", 2, "knows no field",
                   "mig-configs");
    assert_refused(HEAD "  - devices: all\n", "", 4, "mig-enabled is missing", "");
    assert_refused(HEAD "  - mig-enabled: false\n", "", 4, "devices is missing", "");
    assert_refused(HEAD "  - devices: some\n    mig-enabled: false\n", "", 4, "neither all", "");
    assert_refused(HEAD "  - devices: [-1]\n    mig-enabled: false\n", "", 4, "-1", "");
    assert_refused(HEAD "  - devices: all\n    mig-enabled: true\n", "", 4, "mig-devices is", "");
    assert_refused(HEAD "  - devices: all\n    mig-enabled: false\n    mig-devices: {1g.5gb: 1}\n",
                   "", 6, "mig-enabled is false", "");
    assert_refused(HEAD "  - devices: all\n    mig-enabled: true\n    mig-devices: {1g.5gb: 0}\n",
                   "", 6, "every count is 0", "");
    assert_refused(HEAD "  - devices: all\n    mig-enabled: true\n    mig-devices: {1g.5gb: x}\n",
                   "", 6, "number", "");
    assert_refused(HEAD "  - devices: all\n    device-filter: 20B2\n    mig-enabled: false\n", "",
                   5, "no device-filter", "0x20B210DE");
    assert_refused(HEAD "  - devices: all\n    device-filter: 8370\n    mig-enabled: false\n", "",
                   5, "'8370' is no device-filter", "0x20B210DE");
    assert_refused(HEAD "  - {devices: [0, 1], mig-enabled: false}\n"
                        "  - {devices: [1], mig-enabled: false}\n",
                   "", 5, "GPU 1 is in two", "");
}

static int set_up(void **state)
{
    (void)state;
    arena = (struct weir_arena)WEIR_ARENA_INIT;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weir_arena_finish(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_become_setups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(faults_are_named, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Faults as text, and YAML fleets: what they are read as, and where their errors are. */
#include "edge/nvml/sim_file.h"

#include "base/arena.h"
#include "base/count.h"
#include "base/err.h"
#include "edge/nvml/nvml_abi_values.h"
#include "edge/nvml/sim_facts.h"
#include "model/gpu_catalogue.h"

#include "temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct weir_arena arena;
static struct weir_err err;
static struct weir_sim_order *orders;
static size_t n;

static int set_up(void **state)
{
    weir_arena_init(&arena, 0);
    err = (struct weir_err)WEIR_ERR_INIT;
    return temp_dir_make(state);
}

static int tear_down(void **state)
{
    weir_arena_finish(&arena);
    return temp_dir_remove(state);
}

static void parse(const char *text)
{
    if (weir_sim_orders_parse(weir_str(text), &arena, &orders, &n, &err) < 0)
        fail_msg("%u:%u %s", err.line, err.column, err.text);
}

static void expect_fault(size_t i, uint32_t kind, uint32_t which, uint64_t amount)
{
    assert_true(i < n);
    assert_int_equal(orders[i].fault.kind, kind);
    assert_int_equal(orders[i].fault.which, which);
    assert_int_equal(orders[i].fault.amount, amount);
}

static void reads_every_kind_of_fault(void **state)
{
    (void)state;
    parse("gpu 3 xid 79\n"
          "gpu 3 xid 31 pid 4711   # whose it is\n"
          "gpu sim-1/3 lost\n"
          "\n"
          "  # nothing\n"
          "gpu all reset-required\r\n"
          "gpu 0 recovered\n"
          "gpu 2 ecc 1\n"
          "gpu 2 ecc 5 corrected\n"
          "gpu 2 remap correctable 3\n"
          "gpu 2 remap uncorrectable 1\n"
          "gpu 2 remap failed\n"
          "gpu 0 thermal 70\n"
          "gpu 0 thermal off\n"
          "gpu 0 power 400\n"
          "gpu 0 power off\n"
          "gpu 0 hang 20s\n"
          "gpu 0 hang forever\n"
          "gpu 0 action drain-and-reset\n"
          "driver reload\n"
          "driver reload 5s");
    assert_int_equal(n, 19);
    expect_fault(0, WEIR_SIM_FAULT_XID, 0, 79);
    expect_fault(1, WEIR_SIM_FAULT_XID, 0, 31);
    assert_int_equal(orders[1].fault.pid, 4711);
    expect_fault(2, WEIR_SIM_FAULT_LOST, 0, 0);
    assert_true(weir_str_eq_c(orders[2].gpu, "sim-1/3"));
    assert_int_equal(orders[3].line, 6);
    expect_fault(3, WEIR_SIM_FAULT_RESET_REQUIRED, 0, 0);
    expect_fault(4, WEIR_SIM_FAULT_RECOVERED, 0, 0);
    expect_fault(5, WEIR_SIM_FAULT_ECC, WEIR_NVML_ECC_UNCORRECTED, 1);
    expect_fault(6, WEIR_SIM_FAULT_ECC, WEIR_NVML_ECC_CORRECTED, 5);
    expect_fault(7, WEIR_SIM_FAULT_REMAP, WEIR_SIM_REMAP_CORRECTABLE, 3);
    expect_fault(8, WEIR_SIM_FAULT_REMAP, WEIR_SIM_REMAP_UNCORRECTABLE, 1);
    expect_fault(9, WEIR_SIM_FAULT_REMAP, WEIR_SIM_REMAP_FAILED, 1);
    expect_fault(10, WEIR_SIM_FAULT_THERMAL, 0, 70);
    expect_fault(11, WEIR_SIM_FAULT_THERMAL, 0, 0);
    expect_fault(12, WEIR_SIM_FAULT_POWER, 0, 400000);
    expect_fault(13, WEIR_SIM_FAULT_POWER, 0, 0);
    expect_fault(14, WEIR_SIM_FAULT_HANG, 0, 20000);
    expect_fault(15, WEIR_SIM_FAULT_HANG, 0, (uint64_t)WEIR_SIM_NEVER);
    expect_fault(16, WEIR_SIM_FAULT_ACTION, WEIR_NVML_RECOVERY_DRAIN_AND_RESET, 0);
    assert_true(orders[17].is_reload && orders[17].down_ms == 2000);
    assert_true(orders[18].is_reload && orders[18].down_ms == 5000);
}

static void puts_a_schedule_in_order(void **state)
{
    (void)state;
    parse("at 1m gpu 1 lost\nat 30s gpu 0 lost\ngpu 2 lost\nat 30s driver reload\n");
    assert_int_equal(n, 4);
    assert_int_equal(orders[0].line, 3);
    assert_int_equal(orders[0].after_ms, 0);
    assert_int_equal(orders[1].line, 2);
    assert_int_equal(orders[1].after_ms, 30000);
    assert_int_equal(orders[2].line, 4);
    assert_int_equal(orders[3].after_ms, 60000);
    parse("");
    assert_int_equal(n, 0);
}

static void a_line_may_say_when_and_where(void **state)
{
    (void)state;
    parse("+2m  node gpu-a-1 gpu all power 400  # hot\n+1h30m driver reload 5s\nnode b gpu 0 lost");
    assert_int_equal(n, 3);
    assert_true(weir_str_eq_c(orders[0].node, "b"));
    assert_int_equal(orders[0].after_ms, 0);
    assert_int_equal(orders[1].after_ms, 120000);
    assert_true(weir_str_eq_c(orders[1].node, "gpu-a-1"));
    assert_int_equal(orders[1].node_column, 11);
    assert_true(weir_str_eq_c(orders[1].gpu, "all"));
    assert_true(weir_str_eq_c(orders[1].text, "node gpu-a-1 gpu all power 400"));
    expect_fault(1, WEIR_SIM_FAULT_POWER, 0, 400000);
    assert_int_equal(orders[2].after_ms, 5400000);
    assert_true(weir_str_eq_c(orders[2].text, "driver reload 5s"));
}

static void says_where_a_line_is_wrong(void **state)
{
    static const struct {
        const char *text;
        uint32_t line;
        uint32_t column;
        const char *says;
    } cases[] = {
        {"gpu 0 lost\ngup 1 lost", 2, 1, "'gpu', 'node' or 'driver' expected, not 'gup'"},
        {"gpu", 1, 4, "which GPU"},
        {"gpu 0", 1, 6, "a fault expected at the end"},
        {"gpu 0 explode", 1, 7, "a fault expected, not 'explode'"},
        {"gpu 0 xid", 1, 10, "the code of an XID expected at the end"},
        {"gpu 0 xid 0", 1, 11, "the code of an XID expected, not '0'"},
        {"gpu 0 xid 10000", 1, 11, "at most 9999"},
        {"gpu 0 xid 31 by 4", 1, 14, "'pid' or nothing expected, not 'by'"},
        {"gpu 0 lost again", 1, 12, "nothing more expected, not 'again'"},
        {"gpu 0 ecc many", 1, 11, "a number of errors expected, not 'many'"},
        {"gpu 0 ecc 1 bad", 1, 13, "'corrected', 'uncorrected' or nothing"},
        {"gpu 0 remap some 1", 1, 13, "'correctable', 'uncorrectable' or 'failed'"},
        {"gpu 0 thermal 500", 1, 15, "at most 120"},
        {"gpu 0 power hot", 1, 13, "a number of watts or 'off' expected, not 'hot'"},
        {"gpu 0 hang", 1, 11, "a duration"},
        {"gpu 0 hang soon", 1, 12, "soon"},
        {"gpu 0 action run", 1, 14, "'none', 'reset'"},
        {"at gpu 0 lost", 1, 4, "gpu"},
        {"+ gpu 0 lost", 1, 1, "a duration like 30s"},
        {"+soon gpu 0 lost", 1, 1, "soon"},
        {"+3s", 1, 4, "'gpu', 'node' or 'driver' expected at the end"},
        {"+3s +4s gpu 0 lost", 1, 5, "not '+4s'"},
        {"node", 1, 5, "the name of a node"},
        {"node a driver reload", 1, 8, "'gpu' expected, not 'driver'"},
        {"node a", 1, 7, "'gpu' expected at the end"},
        {"driver restart", 1, 8, "'reload' expected"},
        {"\n\n  driver reload x", 3, 17, "x"},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        err = (struct weir_err)WEIR_ERR_INIT;
        orders = NULL;
        assert_int_equal(weir_sim_orders_parse(weir_str(cases[i].text), &arena, &orders, &n, &err),
                         WEIR_E_INVALID);
        assert_null(orders);
        if (err.line != cases[i].line || err.column != cases[i].column ||
            strstr(err.text, cases[i].says) == NULL)
            fail_msg("'%s' gives %u:%u %s", cases[i].text, err.line, err.column, err.text);
    }
}

static void refuses_too_many_faults(void **state)
{
    enum { LINES = WEIR_SIM_ORDERS_MAX + 1 };
    static char text[LINES * 11 + 1];

    (void)state;
    for (int i = 0; i < LINES; i++)
        memcpy(text + i * 11, "gpu 0 lost\n", 12);
    assert_int_equal(weir_sim_orders_parse(weir_str(text), &arena, &orders, &n, &err),
                     WEIR_E_TOO_LARGE);
    assert_int_equal(err.line, LINES);
    assert_int_equal(weir_sim_orders_parse(weir_str_n(text, WEIR_SIM_ORDERS_BYTES_MAX + 1), &arena,
                                           &orders, &n, &err),
                     WEIR_E_TOO_LARGE);
}

static const char *write_yaml(const char *text)
{
    const char *path = temp_path("fleet.yaml");
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static struct weir_sim_plan plan;

static int read_yaml(const char *text)
{
    return weir_sim_file_read(weir_str(write_yaml(text)), 1, &arena, &plan, &err);
}

static void reads_a_fleet_file(void **state)
{
    struct weir_sim_facts facts;
    struct weir_sim_facts other;

    (void)state;
    if (read_yaml("nodes:\n"
                  "  - name: a\n"
                  "    gpus: 2xH100\n"
                  "    zone: eu-1\n"
                  "    rack: r7\n"
                  "  - name: nvl\n"
                  "    count: 2\n"
                  "    gpus: [4xGB200, L40S]\n"
                  "    linkDomain: d1\n"
                  "    mig: yes\n"
                  "    faults:\n"
                  "      - gpu 3 xid 79\n"
                  "      - gpu all power 300\n") < 0)
        fail_msg("%u:%u %s", err.line, err.column, err.text);
    assert_int_equal(plan.fleet.n_nodes, 3);
    assert_int_equal(plan.fleet.n_gpus, 12);
    assert_string_equal(plan.fleet.nodes[0].name, "a");
    assert_string_equal(plan.fleet.nodes[2].name, "nvl-2");
    assert_string_equal(plan.fleet.gpus[6].model->id, "l40s");
    assert_int_equal(plan.n_orders, 4);
    assert_true(weir_str_eq_c(plan.orders[2].node, "nvl-2"));
    assert_int_equal(plan.orders[0].line, 12);
    weir_sim_facts_fill(&plan.fleet, 0, 1, &facts);
    assert_string_equal(facts.zone, "eu-1");
    assert_string_equal(facts.rack, "r7");
    assert_int_equal(facts.link, WEIR_SIM_LINK_SWITCH);
    assert_int_equal(facts.link_domain, 1);
    /* One domain over two nodes, and only of the GPUs that have links. */
    weir_sim_facts_fill(&plan.fleet, 2, 1, &facts);
    weir_sim_facts_fill(&plan.fleet, 10, 1, &other);
    assert_int_equal(facts.link_domain, 3);
    assert_int_equal(other.link_domain, 3);
    assert_memory_equal(facts.fabric_uuid, other.fabric_uuid, sizeof(facts.fabric_uuid));
    assert_int_not_equal(facts.fabric_uuid[0] | facts.fabric_uuid[1], 0);
    weir_sim_facts_fill(&plan.fleet, 6, 1, &facts);
    assert_int_equal(facts.link, WEIR_SIM_LINK_NONE);
}

/* UUIDs are those of the text where node and place are the same. */
static void a_file_and_a_text_name_the_same_gpus(void **state)
{
    struct weir_sim_plan text;

    (void)state;
    assert_int_equal(weir_sim_file_read(WEIR_STR("2xH100"), 1, &arena, &text, &err), 0);
    assert_int_equal(read_yaml("nodes: [{name: sim-1, gpus: 2xH100}]\n"), 0);
    assert_string_equal(text.fleet.gpus[1].uuid, plan.fleet.gpus[1].uuid);
    assert_int_equal(text.n_orders, 0);
}

static void says_where_a_file_is_wrong(void **state)
{
    static const struct {
        const char *text;
        int code;
        uint32_t line;
        uint32_t column;
        const char *says;
    } cases[] = {
        {"", WEIR_E_INVALID, 0, 0, ""},
        {"nodes: 3\n", WEIR_E_INVALID, 1, 8, "at least one node"},
        {"nodes: []\n", WEIR_E_INVALID, 1, 8, "at least one node"},
        {"node:\n", WEIR_E_INVALID, 1, 1, "no such field as 'node'"},
        {"nodes:\n  - gpus: H100\n", WEIR_E_INVALID, 2, 5, "a node has a 'name'"},
        {"nodes:\n  - name: a\n", WEIR_E_INVALID, 2, 5, "what 'gpus' it has"},
        {"nodes:\n  - name: a\n    gpus: []\n", WEIR_E_INVALID, 3, 11, "what 'gpus' it has"},
        {"nodes:\n  - name: a\n    gpus: 8xH10O\n", WEIR_E_NOT_FOUND, 3, 11, "unknown GPU model"},
        {"nodes:\n  - name: a\n    gpus: 2x8xH100\n", WEIR_E_INVALID, 3, 11, "use 'count'"},
        {"nodes:\n  - name: a\n    gpus: [40xH100, 40xH100]\n", WEIR_E_TOO_LARGE, 3, 21, "64"},
        {"nodes:\n  - name: a/b\n    gpus: H100\n", WEIR_E_INVALID, 2, 11, "letters, digits"},
        {"nodes:\n  - {name: a, gpus: H100}\n  - {name: a, gpus: H100}\n", WEIR_E_INVALID, 3, 5,
         "two nodes are called 'a'"},
        {"nodes:\n  - {name: a, gpus: H100, count: 0}\n", WEIR_E_INVALID, 2, 34, "between 1"},
        {"nodes:\n  - {name: a, gpus: H100, mig: maybe}\n", WEIR_E_INVALID, 2, 32, ""},
        {"nodes:\n  - {name: a, gpus: H100, colour: red}\n", WEIR_E_INVALID, 2, 27, "'colour'"},
        {"nodes:\n  - name: a\n    gpus: H100\n    faults: lost\n", WEIR_E_INVALID, 4, 13,
         "a list of faults"},
        {"nodes:\n  - name: a\n    gpus: H100\n    faults: [gpu 0 los]\n", WEIR_E_INVALID, 4, 14,
         "'los'"},
        {"nodes:\n  - name: a\n    gpus: H100\n    faults: [gpu 1 lost]\n", WEIR_E_INVALID, 4, 14,
         "no such GPU"},
        {"nodes:\n  - name: a\n    gpus: H100\n    faults: [gpu 0 power 900]\n", WEIR_E_INVALID, 4,
         14, "no such limit"},
        {"nodes:\n  - name: a\n    gpus: H100\n    faults: [at 3s gpu 0 lost]\n", WEIR_E_INVALID, 4,
         14, "one fault of a GPU"},
        {"nodes:\n  - name: a\n    gpus: H100\n    faults: [node a gpu 0 lost]\n", WEIR_E_INVALID,
         4, 14, "one fault of a GPU"},
        {"nodes:\n  - name: a\n    gpus: H100\n    faults: [driver reload]\n", WEIR_E_INVALID, 4,
         14, "one fault of a GPU"},
        {"nodes: [\n", WEIR_E_INVALID, 2, 1, ""},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        err = (struct weir_err)WEIR_ERR_INIT;
        int code = read_yaml(cases[i].text);

        if (code != cases[i].code || strstr(err.text, cases[i].says) == NULL ||
            strstr(err.text, "fleet.yaml") == NULL ||
            (cases[i].line > 0 && (err.line != cases[i].line || err.column != cases[i].column)))
            fail_msg("'%s' gives %d %u:%u %s", cases[i].text, code, err.line, err.column, err.text);
    }
    assert_int_equal(weir_sim_file_read(weir_str(temp_path("none.yaml")), 1, &arena, &plan, &err),
                     WEIR_E_NOT_FOUND);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_every_kind_of_fault),
        TEST(puts_a_schedule_in_order),
        TEST(a_line_may_say_when_and_where),
        TEST(says_where_a_line_is_wrong),
        TEST(refuses_too_many_faults),
        TEST(reads_a_fleet_file),
        TEST(a_file_and_a_text_name_the_same_gpus),
        TEST(says_where_a_file_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

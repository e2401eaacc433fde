/* For every n, the n-th allocation of the SSE and Prometheus codecs fails: it is said, nothing
 * leaks.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "fmt/prom.h"
#include "fmt/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int read_sse(struct weir_err *err)
{
    struct weir_sse_reader reader;
    struct weir_str input = WEIR_STR("\xEF\xBB"
                                     "x: y\nid: 1\nevent: x\ndata: a\ndata: b\n\ndata: c\n\n");
    int code;
    int n = 0;

    weir_sse_reader_init(&reader, 100);
    while ((code = weir_sse_next(&reader, &input, err)) > 0)
        n++;
    weir_sse_reader_finish(&reader);
    return code < 0 ? code : n;
}

static int write_sse(struct weir_err *err)
{
    struct weir_buf out = WEIR_BUF_INIT(1000);
    struct weir_sse_event event = {WEIR_STR("1"), WEIR_STR("x"), WEIR_STR("a\nb")};
    int code = weir_sse_write(&out, &event, err);

    weir_buf_finish(&out);
    return code < 0 ? code : 2;
}

static int write_prom(struct weir_err *err)
{
    struct weir_buf out = WEIR_BUF_INIT(1000);
    struct weir_prom_label label = {WEIR_STR("a"), WEIR_STR("b\n")};
    struct weir_prom prom;
    int code;

    weir_prom_init(&prom, &out);
    weir_prom_family(&prom, "m", WEIR_PROM_GAUGE, "h");
    weir_prom_i64(&prom, "", &label, 1, 1);
    weir_prom_family(&prom, "n", WEIR_PROM_GAUGE, "h");
    weir_prom_f64(&prom, "", &label, 1, 1);
    code = weir_prom_finish(&prom, err);
    weir_buf_finish(&out);
    return code < 0 ? code : 2;
}

static int read_prom(struct weir_err *err)
{
    struct weir_prom_reader reader;
    struct weir_prom_sample sample;
    struct weir_arena arena = WEIR_ARENA_INIT;
    int code;
    int n = 0;

    weir_prom_reader_init(&reader, WEIR_STR("# HELP a x\n# TYPE a gauge\na{b=\"\\\\\"} 1\nc 2\n"));
    while ((code = weir_prom_next(&reader, &arena, &sample, err)) > 0)
        n++;
    weir_prom_reader_finish(&reader);
    weir_arena_finish(&arena);
    return code < 0 ? code : n;
}

static void survives(int (*run)(struct weir_err *))
{
    for (uint64_t n_failures = 1; n_failures != 0; n_failures = n_failures == 1 ? UINT64_MAX : 0) {
        uint64_t n = 0;
        int code;

        do {
            struct weir_err err = WEIR_ERR_INIT;

            weir_mem_fail(n, n_failures);
            code = run(&err);
            weir_mem_fail(0, 0);
            assert_true(code == WEIR_E_NO_MEMORY || code == 2);
            assert_int_equal(err.code, code < 0 ? code : 0);
            n++;
            assert_true(n < 1000);
        } while (code < 0);
        assert_true(n > 1);
    }
}

static void sse_survives(void **state)
{
    (void)state;
    survives(read_sse);
    survives(write_sse);
}

static void prom_survives(void **state)
{
    (void)state;
    survives(write_prom);
    survives(read_prom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sse_survives),
        cmocka_unit_test(prom_survives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* For every n, the n-th allocation of serving some requests fails: every connection is answered or
 * closed, every handle ends once, nothing leaks, and the server goes on. */
#include "base/count.h"
#include "base/mem.h"
#include "io/http_server.h"

#include "../support/http_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static unsigned n_streams;

static void on_closed(struct weir_http_request *request)
{
    (void)request;
    n_streams--;
}

static void on_request(void *ctx, struct weir_http_request *request)
{
    static char block[300 * 1024];
    struct weir_str path = weir_http_request_head(request)->path;

    (void)ctx;
    if (weir_str_eq_c(path, "/stream")) {
        memset(block, 'x', sizeof(block));
        n_streams++;
        weir_http_request_on_closed(request, on_closed);
        if (weir_http_reply_start(request, 200, "text/plain", NULL) < 0)
            return;
        if (weir_http_reply_write(request, weir_str_n(block, sizeof(block))) < 0)
            return;
        n_streams--;
        weir_http_reply_end(request);
        return;
    }
    weir_http_reply_header(request, "X-Header", WEIR_STR("value"), NULL);
    weir_http_reply(request, 200, "text/plain", weir_http_request_body(request));
}

/* Some requests, cut so that everything that may have to wait has to. */
static bool talk(struct fixture *f)
{
    static const char *const parts[] = {
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Le",
        "ngth: 6\r\n\r\nabc",
        "defPOST /echo HTTP/1.1\r\nHost: h\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nGET",
        " /stream HTTP/1.1\r\nHost: h\r\n\r\nGET /bad|one HTTP/1.1\r\nHost: h\r\n\r\n",
    };
    struct weir_buf heard = WEIR_BUF_INIT(4 * 1024 * 1024);
    int fd = dial(f);
    bool whole;

    for (size_t i = 0; i < WEIR_COUNT_OF(parts); i++) {
        say(f, fd, parts[i]);
        turn(f);
        turn(f);
    }
    whole = hear(f, fd, &heard, NULL);
    fixture_must(whole, "closing by the server");
    close(fd);
    whole = count(weir_buf_cstr(&heard), "HTTP/1.1 200 OK") == 3 &&
            count(weir_buf_cstr(&heard), "400 Bad Request") == 1 &&
            strstr(weir_buf_cstr(&heard), "abcdef") != NULL;
    weir_buf_finish(&heard);
    return whole;
}

static void serving_survives(void **state)
{
    static const struct weir_http_handler handler = {NULL, NULL, on_request, NULL};
    struct fixture f;
    unsigned n_failed = 0;

    (void)state;
    fixture_init(&f, &(struct weir_http_server_config){0}, &handler);
    for (uint64_t n = 0;; n++) {
        struct weir_http_server_stats stats;
        bool whole;

        /* Everything here runs in one thread: the client's allocations fail too, which its tests
         * look at; a failed one of its buffers only makes it deaf. */
        weir_mem_fail(n, 1);
        whole = talk(&f);
        if (weir_mem_count() <= n) {
            assert_true(whole);
            break;
        }
        weir_mem_fail(0, 0);
        n_failed += !whole;
        turn_for(&f, 1);
        weir_http_server_stats(f.server, &stats);
        assert_int_equal(stats.n_open, 0);
        assert_int_equal(n_streams, 0);
        assert_true(talk(&f));
        assert_true(n < 1000);
    }
    weir_mem_fail(0, 0);
    assert_true(n_failed > 5);
    fixture_finish(&f);
}

static void starting_survives(void **state)
{
    static const struct weir_http_handler handler = {NULL, NULL, on_request, NULL};
    static const struct weir_http_server_config config = {0};
    unsigned n_failed = 0;
    bool whole = false;

    (void)state;
    for (uint64_t n = 0; !whole; n++) {
        struct fixture f = {.done = false};
        struct weir_err err = WEIR_ERR_INIT;

        snprintf(f.path, sizeof(f.path), "/tmp/weir-fault-%d.sock", (int)getpid());
        assert_int_equal(uv_loop_init(&f.loop), 0);
        weir_mem_fail(n, 1);
        whole = weir_http_server_create(&f.loop, &config, &handler, &f.server, &err) == 0;
        whole = whole && weir_http_server_listen_unix(f.server, f.path, 0600, &err) == 0 &&
                weir_http_server_listen_tcp(f.server, "127.0.0.1:0", NULL, &err) == 0;
        weir_mem_fail(0, 0);
        assert_int_equal(err.code, whole ? 0 : WEIR_E_NO_MEMORY);
        n_failed += !whole;
        if (f.server != NULL)
            weir_http_server_shutdown(f.server, 0, fixture_done, &f);
        uv_run(&f.loop, UV_RUN_DEFAULT);
        assert_true(f.done || f.server == NULL);
        assert_int_equal(uv_loop_close(&f.loop), 0);
        assert_true(n < 100);
    }
    assert_true(n_failed >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serving_survives),
        cmocka_unit_test(starting_survives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

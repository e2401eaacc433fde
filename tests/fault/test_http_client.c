/* For every n, the n-th allocation of a request fails: it is said, nothing leaks, and the client
 * can ask again. The server is a process of its own. */
#include "base/err.h"
#include "base/mem.h"
#include "io/http_client.h"
#include "io/http_server.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

static char dir[] = "/tmp/weir-fault-XXXXXX";
static char path[64];

static void on_request(void *ctx, struct weir_http_request *request)
{
    (void)ctx;
    weir_http_reply(request, 200, "text/plain", weir_http_request_body(request));
}

static void serve(int ready_fd)
{
    static const struct weir_http_handler handler = {NULL, NULL, on_request, NULL};
    static const struct weir_http_server_config config = {0};
    struct weir_http_server *server;

    if (weir_http_server_create(uv_default_loop(), &config, &handler, &server, NULL) < 0 ||
        weir_http_server_listen_unix(server, path, 0600, NULL) < 0 || write(ready_fd, "x", 1) != 1)
        _exit(1);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static int ask(struct weir_http_client *client, struct weir_buf *body, struct weir_err *err)
{
    const struct weir_http1_head *head;
    int code = weir_http_client_request(client, "POST", WEIR_STR("/"), NULL, 0, WEIR_STR("hello"),
                                        &head, err);

    return code < 0 ? code : weir_http_client_read_all(client, body, err);
}

static void asking_survives(void **state)
{
    struct weir_http_endpoint endpoint = {.unix_path = path, .token = "secret"};
    unsigned n_failed = 0;
    int code;

    (void)state;
    do {
        struct weir_http_client client;
        struct weir_buf body = WEIR_BUF_INIT(100);
        struct weir_err err = WEIR_ERR_INIT;

        weir_http_client_init(&client, &endpoint, 10000);
        weir_mem_fail(n_failed, 1);
        code = ask(&client, &body, &err);
        weir_mem_fail(0, 0);
        assert_true(code == 0 || code == WEIR_E_NO_MEMORY);
        assert_int_equal(err.code, code);
        n_failed += code < 0;
        assert_true(n_failed < 100);
        weir_buf_reset(&body);
        assert_int_equal(ask(&client, &body, &err), 0);
        assert_string_equal(weir_buf_cstr(&body), "hello");
        weir_http_client_finish(&client);
        weir_buf_finish(&body);
    } while (code < 0);
    assert_true(n_failed >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asking_survives),
    };
    int ready[2];
    char byte;
    pid_t server;
    int result;

    if (mkdtemp(dir) == NULL || pipe(ready) < 0)
        return 1;
    snprintf(path, sizeof(path), "%s/s", dir);
    server = fork();
    if (server == 0)
        serve(ready[1]);
    if (server < 0 || read(ready[0], &byte, 1) != 1)
        return 1;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    unlink(path);
    rmdir(dir);
    return result;
}

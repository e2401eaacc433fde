/* The handler that the server's tests share, what it saw, and a connection or two. */
#ifndef WEIR_TESTS_SUPPORT_HTTP_HANDLER_H
#define WEIR_TESTS_SUPPORT_HTTP_HANDLER_H

#include "http_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GET(target)  "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"
#define LAST(target) "GET " target " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

/* What the handler below was asked and told. */
static struct {
    struct weir_http_request *kept;
    unsigned n_heads;
    unsigned n_requests;
    unsigned n_closed;
    unsigned n_drained;
    struct weir_http_peer peer;
} seen;

static inline void reply_text(struct weir_http_request *request, int status, const char *text)
{
    weir_http_reply(request, status, "text/plain", weir_str(text));
}

static inline void on_closed(struct weir_http_request *request)
{
    assert_ptr_equal(weir_http_request_user(request), &seen);
    seen.n_closed++;
    if (seen.kept == request)
        seen.kept = NULL;
}

static inline void on_drain(struct weir_http_request *request)
{
    (void)request;
    seen.n_drained++;
}

static inline bool is_path(const struct weir_http_request *request, const char *path)
{
    return weir_str_eq_c(weir_http_request_head(request)->path, path);
}

static inline void on_head(void *ctx, struct weir_http_request *request)
{
    assert_ptr_equal(ctx, &seen);
    seen.n_heads++;
    weir_http_request_set_user(request, &seen);
    if (is_path(request, "/denied"))
        reply_text(request, 401, "denied");
    if (is_path(request, "/small"))
        weir_http_request_set_body_max(request, 4);
    if (is_path(request, "/large"))
        weir_http_request_set_body_max(request, 64 * 1024 * 1024);
    if (is_path(request, "/told"))
        weir_http_request_on_closed(request, on_closed);
    if (is_path(request, "/abort-head"))
        weir_http_request_abort(request);
}

static inline void keep(struct weir_http_request *request, bool tell)
{
    seen.kept = request;
    if (tell)
        weir_http_request_on_closed(request, on_closed);
}

static inline void reply_body(struct weir_http_request *request)
{
    weir_http_reply(request, 200, "application/octet-stream", weir_http_request_body(request));
}

static inline void on_request(void *ctx, struct weir_http_request *request)
{
    (void)ctx;
    seen.n_requests++;
    seen.peer = *weir_http_request_peer(request);
    if (is_path(request, "/later"))
        keep(request, true);
    else if (is_path(request, "/untold"))
        keep(request, false);
    else if (is_path(request, "/eof")) {
        keep(request, true);
        weir_http_request_close_on_eof(request, true);
    } else if (is_path(request, "/stream")) {
        keep(request, true);
        weir_http_reply_start(request, 200, "text/plain", on_drain);
    } else if (is_path(request, "/echo") || is_path(request, "/large") ||
               is_path(request, "/small"))
        reply_body(request);
    else if (is_path(request, "/none"))
        weir_http_reply(request, 204, NULL, WEIR_STR(""));
    else if (is_path(request, "/abort"))
        weir_http_request_abort(request);
    else if (is_path(request, "/smuggle")) {
        weir_http_reply_header(request, "X", WEIR_STR("a\r\nY: b"), NULL);
        reply_text(request, 200, "not seen");
    } else if (is_path(request, "/headers")) {
        weir_http_reply_header(request, "X-A", WEIR_STR("1"), NULL);
        weir_http_reply_header(request, "X-B", WEIR_STR("2"), NULL);
        reply_text(request, 201, "made");
    } else {
        reply_text(request, 200, "hello");
    }
}

static struct fixture fx;
static struct weir_buf heard = WEIR_BUF_INIT(256 * 1024 * 1024);

static const struct weir_http_handler handler = {&seen, on_head, on_request, NULL};

static inline int start_with(const struct weir_http_server_config *config)
{
    memset(&seen, 0, sizeof(seen));
    weir_buf_reset(&heard);
    fixture_init(&fx, config, &handler);
    return 0;
}

static inline int start(void **state)
{
    (void)state;
    return start_with(&(struct weir_http_server_config){0});
}

static inline int stop(void **state)
{
    (void)state;
    fixture_finish(&fx);
    weir_buf_finish(&heard);
    return 0;
}

static inline struct weir_http_server_stats stats(void)
{
    struct weir_http_server_stats now;

    weir_http_server_stats(fx.server, &now);
    return now;
}

static inline void assert_heard(const char *text)
{
    if (strstr(weir_buf_cstr(&heard), text) == NULL)
        fail_msg("heard:\n%s\nnot in it: %s", weir_buf_cstr(&heard), text);
}

/* One connection, one exchange, closed by the server. */
static inline void ask_once(bool tcp, const char *text)
{
    int fd = tcp ? dial_tcp(&fx) : dial(&fx);

    weir_buf_reset(&heard);
    assert_true(say(&fx, fd, text));
    assert_true(hear(&fx, fd, &heard, NULL));
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif

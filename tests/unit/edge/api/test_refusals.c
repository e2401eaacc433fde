/* Who is let in, and what is refused before a route is asked. */
#include "api_test.h"
#include "base/count.h"
#include "edge/api/impl.h"

#include <sys/stat.h>

static int set_up(void **state)
{
    (void)state;
    api_fixture_init(&f, "gpus.example");
    return 0;
}

struct refusal {
    const char *method;
    const char *target;
    const char *headers;
    const char *body;
    int status;
    const char *code;
    const char *hint; /* part of it; NULL: any */
};

static void check(const struct refusal *r, bool is_tcp)
{
    struct api_answer answer;

    if (is_tcp)
        api_ask_tcp(&f, r->method, r->target, r->headers, r->body, &answer);
    else
        api_ask(&f, r->method, r->target, r->headers, r->body, &answer);
    if (answer.status != r->status)
        fail_msg("%s %s: %d, not %d: %s", r->method, r->target, answer.status, r->status,
                 weir_buf_cstr(&answer.body));
    if (r->code != NULL) {
        assert_string_equal(api_text(&answer, "error.code"), r->code);
        assert_true(api_text(&answer, "error.message")[0] != '\0');
    }
    if (r->hint != NULL && strstr(api_text(&answer, "error.hint"), r->hint) == NULL)
        fail_msg("%s %s: hint '%s' lacks '%s'", r->method, r->target,
                 api_text(&answer, "error.hint"), r->hint);
    api_answer_finish(&answer);
}

#define JSON "Content-Type: application/json\r\n"
#define YAML "Content-Type: application/yaml\r\n"

static void test_paths_and_methods(void **state)
{
    static const struct refusal refusals[] = {
        {"GET", "/v1/workload", NULL, NULL, 404, "not-found", "/v1/workloads"},
        {"GET", "/v1/workloads/", NULL, NULL, 404, "not-found", "/v1/workloads"},
        {"GET", "/v1/workloads/7/explian", NULL, NULL, 404, "not-found", "/v1/workloads/7/explain"},
        {"POST", "/v1/gpus/GPU-0/drain", NULL, NULL, 404, "not-found", NULL},
        {"GET", "/nothing/like/this/at/all", NULL, NULL, 404, "not-found", "openapi"},
        {"GET", "//v1", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/../v1/queues", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/workloads/a%2fb", NULL, NULL, 400, "invalid", NULL},
        {"PUT", "/v1/queues", NULL, NULL, 405, "unsupported", "GET, HEAD"},
        {"DELETE", "/v1/workloads/1", NULL, NULL, 405, "unsupported", "GET, HEAD"},
        {"POST", "/v1/queues/a", NULL, NULL, 405, "unsupported", "GET, HEAD, DELETE"},
        {"OPTIONS", "/v1/queues", NULL, NULL, 405, "unsupported", "GET, HEAD"},
    };
    struct api_answer answer;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(refusals); i++)
        check(&refusals[i], false);
    api_ask(&f, "PATCH", "/v1/queues/a", NULL, NULL, &answer);
    assert_string_equal(api_header(&answer, "Allow"), "GET, HEAD, DELETE");
    api_answer_finish(&answer);
}

static void test_query(void **state)
{
    static const struct refusal refusals[] = {
        {"GET", "/v1/workloads?al=true", NULL, NULL, 400, "invalid", "did you mean 'all'"},
        {"GET", "/v1/workloads?xyzzy=1", NULL, NULL, 400, "invalid", "known: all queue owner"},
        {"GET", "/v1/whoami?x=1", NULL, NULL, 400, "invalid", "none"},
        {"GET", "/v1/workloads?all=true&all=true", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/workloads?all=yes", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/workloads?limit=0", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/workloads?limit=1001", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/workloads?limit=", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/workloads?after=-1", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/workloads?state=runninx", NULL, NULL, 400, "invalid", "running"},
        {"GET", "/v1/workloads?name=%ff", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/queues?after=nobody", NULL, NULL, 400, "invalid", "first page"},
        {"GET", "/v1/events?after=x", NULL, NULL, 400, "invalid", "`next`"},
        {"GET", "/v1/events?after=", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?after=1-", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?after=1-2-3", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?after=1-2-3-4-5-6", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?after=1-2-0-2-100000001", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?after=1-9223372036854775808", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?tail=-1", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?tail=100000001", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?after=1-2&tail=x", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?since_ms=1h", NULL, NULL, 400, "invalid", NULL},
        {"GET", "/v1/events?tail=1", "Accept: text/event-stream\r\n", NULL, 400, "invalid",
         "`after`"},
        {"GET", "/v1/events?since_ms=1", "Accept: text/event-stream\r\n", NULL, 400, "invalid",
         "`after`"},
        {"GET", "/v1/events?after=1-2", "Accept: text/event-stream\r\n", NULL, 400, "invalid",
         NULL},
        {"GET", "/v1/events", "Accept: text/event-stream\r\nLast-Event-ID: x\r\n", NULL, 400,
         "invalid", NULL},
        {"POST", "/v1/apply?dryRun=1", YAML, "kind: Queue\n", 400, "invalid", NULL},
    };
    struct api_answer answer;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(refusals); i++)
        check(&refusals[i], false);
    api_ask(&f, "GET", "/v1/workloads?al=true", NULL, NULL, &answer);
    assert_string_equal(api_text(&answer, "error.field"), "al");
    api_answer_finish(&answer);
}

static void test_bodies(void **state)
{
    static const struct refusal refusals[] = {
        {"POST", "/v1/workloads", NULL, "{}", 415, "unsupported", "application/yaml"},
        {"POST", "/v1/workloads", "Content-Type: text/html\r\n", "{}", 415, "unsupported", NULL},
        {"POST", "/v1/workloads", "Content-Type: application/json; charset=latin-1\r\n", "{}", 415,
         "unsupported", NULL},
        {"POST", "/v1/workloads", "Content-Type: application/jsonx\r\n", "{}", 415, "unsupported",
         NULL},
        {"POST", "/v1/workloads/1/signal", YAML, "signal: INT", 415, "unsupported",
         "application/json"},
        {"POST", "/v1/workloads", JSON, "", 400, "invalid", NULL},
        {"POST", "/v1/workloads", JSON, "{\"a\": }", 400, "invalid", NULL},
        {"POST", "/v1/workloads", YAML, "a: [", 400, "invalid", NULL},
        {"POST", "/v1/apply", YAML, "# nothing\n---\n", 400, "invalid", NULL},
        {"POST", "/v1/apply", JSON, "[]", 400, "invalid", NULL},
        {"POST", "/v1/workloads/1/cancel", JSON, "{}", 400, "invalid", NULL},
        {"GET", "/v1/queues", JSON, "{}", 400, "invalid", NULL},
        {"POST", "/v1/workloads", JSON "Idempotency-Key: a\r\nIdempotency-Key: a\r\n", "{}", 400,
         "invalid", NULL},
        {"POST", "/v1/workloads", JSON "Idempotency-Key: \r\n", "{}", 400, "invalid", NULL},
        {"POST", "/v1/workloads", JSON "Idempotency-Key: \xc3\xa4\r\n", "{}", 400, "invalid", NULL},
    };
    char key[200] = JSON "Idempotency-Key: ";
    struct api_answer answer;
    size_t len = strlen(key);

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(refusals); i++)
        check(&refusals[i], false);
    memset(key + len, 'k', 129);
    memcpy(key + len + 129, "\r\n", 3);
    api_ask(&f, "POST", "/v1/workloads", key, "{}", &answer);
    assert_int_equal(answer.status, 400);
    api_answer_finish(&answer);
    api_ask(&f, "POST", "/v1/workloads", JSON, "{\n  \"a\": }", &answer);
    assert_string_equal(api_text(&answer, "error.line"), "2");
    assert_string_equal(api_text(&answer, "error.column"), "8");
    api_answer_finish(&answer);
}

static void test_too_large(void **state)
{
    size_t n = 4 * 1024 * 1024 + 1;
    char *body = malloc(n + 1);
    struct api_answer answer;

    (void)state;
    assert_non_null(body);
    memset(body, ' ', n);
    body[n] = '\0';
    api_ask(&f, "POST", "/v1/workloads", JSON, body, &answer);
    assert_int_equal(answer.status, 413);
    assert_string_equal(api_text(&answer, "error.code"), "too-large");
    api_answer_finish(&answer);
    free(body);
}

static void test_host(void **state)
{
    static const struct {
        const char *host;
        bool is_ours;
    } hosts[] = {
        {"127.0.0.1", true},       {"127.0.0.1:7433", true},     {"localhost", true},
        {"LocalHost:80", true},    {"[::1]:80", true},           {"gpus.example", true},
        {"GPUS.example:1", true},  {"10.1.2.3", true},           {"evil.example", false},
        {"localhost.evil", false}, {"gpus.example.evil", false}, {"127.0.0.1.evil", false},
    };
    char header[64];

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(hosts); i++) {
        struct refusal r = {"GET",
                            "/healthz",
                            header,
                            NULL,
                            hosts[i].is_ours ? 200 : 421,
                            hosts[i].is_ours ? NULL : "invalid",
                            NULL};

        snprintf(header, sizeof(header), "Host: %s\r\n", hosts[i].host);
        check(&r, true);
        r.status = 200; /* a local user is not a web page */
        r.code = NULL;
        check(&r, false);
    }
}

static void test_origin(void **state)
{
    static const struct refusal refusals[] = {
        {"GET", "/healthz", "Origin: http://evil.example\r\n", NULL, 403, "denied", NULL},
        {"GET", "/healthz", "Origin: null\r\n", NULL, 403, "denied", NULL},
        {"GET", "/healthz", "Origin: https://127.0.0.1\r\n", NULL, 403, "denied", NULL},
        {"GET", "/healthz", "Origin: http://127.0.0.1:9\r\n", NULL, 403, "denied", NULL},
        {"GET", "/healthz", "Origin: http://127.0.0.1\r\nOrigin: http://127.0.0.1\r\n", NULL, 400,
         "invalid", NULL},
        {"GET", "/healthz", "Origin: http://127.0.0.1\r\n", NULL, 200, NULL, NULL},
        {"GET", "/healthz", "Host: localhost:7433\r\nOrigin: http://localhost:7433\r\n", NULL, 200,
         NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(refusals); i++)
        check(&refusals[i], true);
}

static void test_tokens(void **state)
{
    static const struct refusal refusals[] = {
        {"GET", "/v1/whoami", NULL, NULL, 401, "unauthenticated", "DATA/tokens"},
        {"GET", "/v1/whoami", "Authorization: Basic YTpi\r\n", NULL, 401, "unauthenticated", NULL},
        {"GET", "/v1/whoami", "Authorization: Bearer nobody-0123456789\r\n", NULL, 401,
         "unauthenticated", NULL},
        {"GET", "/v1/whoami", "Authorization: Bearer admin-token-012345678\r\n", NULL, 401,
         "unauthenticated", NULL},
        {"GET", "/v1/whoami", "Authorization: Bearer admin-token-01234567890\r\n", NULL, 401,
         "unauthenticated", NULL},
        {"GET", "/v1/whoami", "Authorization: Bearer\r\n", NULL, 401, "unauthenticated", NULL},
        {"GET", "/v1/whoami",
         "Authorization: Bearer admin-token-0123456789\r\nAuthorization: Bearer x\r\n", NULL, 400,
         "invalid", NULL},
        {"GET", "/metrics", NULL, NULL, 401, "unauthenticated", NULL},
        {"GET", "/healthz", NULL, NULL, 200, NULL, NULL},
        {"GET", "/readyz", NULL, NULL, 200, NULL, NULL},
        {"GET", "/v1/openapi.json", NULL, NULL, 200, NULL, NULL},
        {"GET", "/", NULL, NULL, 200, NULL, NULL},
    };
    struct api_answer answer;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(refusals); i++)
        check(&refusals[i], true);
    api_ask_tcp(&f, "GET", "/v1/whoami", NULL, NULL, &answer);
    assert_string_equal(api_header(&answer, "WWW-Authenticate"), "Bearer");
    api_answer_finish(&answer);
    api_ask_tcp(&f, "GET", "/v1/whoami", "authorization: bearer submit-token-0123456789\r\n", NULL,
                &answer);
    assert_int_equal(answer.status, 200);
    assert_string_equal(api_text(&answer, "user"), "sam");
    assert_string_equal(api_text(&answer, "role"), "submit");
    api_answer_finish(&answer);
}

/* Each route with each role: let in exactly where its row says so. */
static void test_roles(void **state)
{
    static const char *const tokens[] = {"read-token-0123456789", "submit-token-0123456789",
                                         "admin-token-0123456789"};
    char headers[128];

    (void)state;
    api_add(&f, "one", "default", 1, false);
    api_tick(&f);
    for (uint32_t i = 0; i < weir_api_n_routes; i++) {
        const struct weir_api_route *route = &weir_api_routes[i];
        char path[128] = "";

        /* The one workload, queue, GPU or node there is not: refusals come before. */
        for (const char *at = route->path; *at != '\0'; at++) {
            size_t len = strlen(path);

            snprintf(path + len, sizeof(path) - len, "%s", *at == '{' ? "none" : (char[]){*at, 0});
            if (*at == '{')
                at = strchr(at, '}');
        }
        for (int role = 0; role < 3; role++) {
            struct api_answer answer;
            bool is_allowed = (int)route->access <= role + 1;

            /* Jobs cannot run as the fixture's users, who have no account; only a server that is
             * root looks. */
            if (getuid() == 0 && strcmp(route->path, "/v1/workloads") == 0 &&
                route->method == WEIR_HTTP1_METHOD_POST)
                is_allowed = false;
            snprintf(headers, sizeof(headers), "Authorization: Bearer %s\r\n%s", tokens[role],
                     route->body == WEIR_API_BODY_NONE ? "" : JSON);
            api_ask_tcp(&f, weir_http1_method_name(route->method), path, headers,
                        route->body == WEIR_API_BODY_NONE ? NULL : "{}", &answer);
            if ((answer.status == 403) == is_allowed)
                fail_msg("%s as role %d: %d", path, role, answer.status);
            api_answer_finish(&answer);
        }
    }
}

static void test_no_account(void **state)
{
    static const char queue[] = "kind: Queue\nmetadata: {name: q}\n";
    static const char both[] = "kind: Queue\nmetadata: {name: q}\n---\nkind: Workload\n"
                               "metadata: {name: w}\n";
    static const char headers[] = YAML "Authorization: Bearer admin-token-0123456789\r\n";
    struct api_answer answer;

    (void)state;
    if (getuid() != 0)
        skip();
    api_ask_tcp(&f, "POST", "/v1/apply", headers, queue, &answer);
    assert_int_equal(answer.status, 200);
    api_answer_finish(&answer);
    api_ask_tcp(&f, "POST", "/v1/apply", headers, both, &answer);
    assert_int_equal(answer.status, 403);
    assert_non_null(strstr(api_text(&answer, "error.message"), "'ada' is not a user"));
    api_answer_finish(&answer);
}

static void test_unix_user(void **state)
{
    struct api_answer answer;
    char uid[16];

    (void)state;
    snprintf(uid, sizeof(uid), "%u", getuid());
    api_ask(&f, "GET", "/v1/whoami", NULL, NULL, &answer);
    assert_string_equal(api_text(&answer, "role"), "admin");
    assert_string_equal(api_text(&answer, "uid"), uid);
    api_answer_finish(&answer);
    api_ask(&f, "POST", "/v1/nodes/alpha/drain", NULL, NULL, &answer);
    assert_int_equal(answer.status, 202);
    assert_non_null(strstr(f.asker, uid));
    assert_non_null(strstr(f.asker, "admin"));
    api_answer_finish(&answer);
}

static void test_socket_mode(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(stat(f.socket, &st), 0);
    assert_int_equal(st.st_mode & 0777, getuid() == 0 ? 0666 : 0600);
}

/* Faults that the server finds before a route is known are told in the same form. */
static void test_not_http(void **state)
{
    struct weir_buf heard = WEIR_BUF_INIT(65536);
    int fd = api_dial(&f);

    (void)state;
    api_say(&f, fd, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 37);
    assert_true(api_hear(&f, fd, &heard, NULL));
    assert_non_null(strstr(weir_buf_cstr(&heard), "HTTP/1.1 400"));
    assert_non_null(strstr(weir_buf_cstr(&heard), "application/json"));
    assert_non_null(strstr(weir_buf_cstr(&heard), "{\"error\":{\"code\":\"invalid\""));
    close(fd);
    weir_buf_finish(&heard);
}

static void test_not_ready(void **state)
{
    static const struct refusal refusals[] = {
        {"GET", "/v1/workloads", NULL, NULL, 503, "unavailable", NULL},
        {"POST", "/v1/workloads/1/cancel", NULL, NULL, 503, "unavailable", NULL},
        {"GET", "/readyz", NULL, NULL, 503, "unavailable", NULL},
        {"GET", "/healthz", NULL, NULL, 200, NULL, NULL},
        {"GET", "/v1/version", NULL, NULL, 200, NULL, NULL},
        {"GET", "/metrics", NULL, NULL, 200, NULL, NULL},
    };
    struct api_answer answer;

    (void)state;
    f.is_ready = false;
    for (size_t i = 0; i < WEIR_COUNT_OF(refusals); i++)
        check(&refusals[i], false);
    api_ask(&f, "GET", "/v1/queues", NULL, NULL, &answer);
    assert_string_equal(api_header(&answer, "Retry-After"), "1");
    api_answer_finish(&answer);
}

/* An error of the service keeps its words, place and field, whenever it comes. */
static void test_service_errors(void **state)
{
    static const struct {
        int code;
        int status;
    } codes[] = {
        {WEIR_E_INVALID, 400},    {WEIR_E_UNAUTHENTICATED, 401}, {WEIR_E_DENIED, 403},
        {WEIR_E_NOT_FOUND, 404},  {WEIR_E_EXISTS, 409},          {WEIR_E_TOO_LARGE, 413},
        {WEIR_E_IMPOSSIBLE, 422}, {WEIR_E_UNSUPPORTED, 501},     {WEIR_E_UNAVAILABLE, 503},
        {WEIR_E_TIMEOUT, 504},    {WEIR_E_NO_SPACE, 507},        {WEIR_E_NO_MEMORY, 500},
        {WEIR_E_IO, 500},         {WEIR_E_CORRUPT, 500},
    };
    static const char body[] = "{\"kind\": \"Workload\", \"metadata\": {\"name\": \"x\"}}";
    struct api_answer answer;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(codes); i++) {
        f.refuse = codes[i].code;
        api_ask(&f, "POST", "/v1/workloads", JSON, body, &answer);
        assert_int_equal(answer.status, codes[i].status);
        assert_string_equal(api_text(&answer, "error.code"), weir_code_name(codes[i].code));
        assert_string_equal(api_text(&answer, "error.message"), "refused as told");
        assert_string_equal(api_text(&answer, "error.hint"), "tell it otherwise");
        assert_string_equal(api_text(&answer, "error.field"), "spec.gpus");
        assert_string_equal(api_text(&answer, "error.line"), "3");
        assert_string_equal(api_text(&answer, "error.column"), "7");
        api_answer_finish(&answer);
        f.fail = codes[i].code;
        api_ask(&f, "POST", "/v1/workloads", JSON, body, &answer);
        assert_int_equal(answer.status, codes[i].status);
        assert_string_equal(api_text(&answer, "error.message"), "it failed as told");
        api_answer_finish(&answer);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, api_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_paths_and_methods),
        TEST(test_query),
        TEST(test_bodies),
        TEST(test_too_large),
        TEST(test_host),
        TEST(test_origin),
        TEST(test_tokens),
        TEST(test_roles),
        TEST(test_no_account),
        TEST(test_unix_user),
        TEST(test_socket_mode),
        TEST(test_not_http),
        TEST(test_not_ready),
        TEST(test_service_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

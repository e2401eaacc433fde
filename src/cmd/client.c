#include "cmd/client.h"

#include "app/datadir.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "base/vec.h"
#include "cmd/options.h"
#include "fmt/json.h"
#include "fmt/url.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a weir that runs as a service has its socket. */
static const char system_socket[] = "/var/lib/weir/weir.sock";

enum { ANSWER_TIMEOUT_MS = 60000, DEFAULT_PORT = 7433, PAGE_NAME_MAX = 256 };

static int use_socket(struct weir_client *client, const char *data, struct weir_err *err)
{
    int n = snprintf(client->socket, sizeof(client->socket), "%s/weir.sock", data);

    if (n < 0 || (size_t)n >= sizeof(client->socket))
        return weir_error(err, WEIR_E_TOO_LARGE, "the path of the data directory is too long");
    return 0;
}

static int use_default(struct weir_client *client, struct weir_err *err)
{
    char data[WEIR_DATADIR_PATH_MAX];
    int result = weir_datadir_default(data, sizeof(data), err);

    if (result == 0)
        result = use_socket(client, data, err);
    if (result == 0 && geteuid() != 0 && access(client->socket, F_OK) < 0 &&
        access(system_socket, F_OK) == 0)
        snprintf(client->socket, sizeof(client->socket), "%s", system_socket);
    return result;
}

static int bad_url(const char *url, const char *why, struct weir_err *err)
{
    weir_error(err, WEIR_E_INVALID, "'%s' is no address of a weir: %s", url, why);
    return weir_error_hint(err, "for example http://127.0.0.1:7433");
}

static int use_url(struct weir_client *client, const char *url, uint16_t *ret_port,
                   struct weir_err *err)
{
    struct weir_str rest = weir_str(url);
    struct weir_str host;
    uint16_t port;

    if (weir_str_starts_with(rest, WEIR_STR("http://")))
        rest = weir_str_sub(rest, 7, rest.len);
    else if (weir_str_find(rest, WEIR_STR("://")) >= 0)
        return bad_url(url, "it does not begin with http://", err);
    if (weir_str_ends_with(rest, WEIR_STR("/")))
        rest.len--;
    if (weir_url_parse_authority(rest, &host, &port, err) < 0)
        return bad_url(url, err != NULL ? err->text : "", err);
    if (host.len == 0 || host.len >= sizeof(client->host))
        return bad_url(url, "the host is missing or too long", err);
    snprintf(client->host, sizeof(client->host), "%.*s", WEIR_STR_ARG(host));
    *ret_port = port != 0 ? port : DEFAULT_PORT;
    return 0;
}

static int find_server(struct weir_client *client, const struct weir_args *args, uint16_t *ret_port,
                       struct weir_err *err)
{
    const char *server = weir_args_text(args, "server");
    const char *data = weir_args_text(args, "data");

    if (server != NULL && data != NULL) {
        weir_error(err, WEIR_E_INVALID, "--data and --server name two servers");
        return weir_error_hint(err, "give one of them");
    }
    if (server == NULL && data == NULL) {
        server = getenv("WEIR_SERVER");
        data = getenv("WEIR_DATA");
    }
    if (server != NULL && server[0] != '\0')
        return use_url(client, server, ret_port, err);
    if (data != NULL && data[0] != '\0')
        return use_socket(client, data, err);
    return use_default(client, err);
}

static void init_http(struct weir_client *client, uint16_t port)
{
    const char *token = getenv("WEIR_TOKEN");
    bool has_token = client->socket[0] == '\0' && token != NULL && token[0] != '\0';
    struct weir_http_endpoint endpoint = {.unix_path =
                                              client->socket[0] != '\0' ? client->socket : NULL,
                                          .host = client->host,
                                          .port = port,
                                          .token = has_token ? token : NULL};

    weir_http_client_init(&client->http, &endpoint, ANSWER_TIMEOUT_MS);
}

int weir_client_init(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    uint16_t port = 0;
    int result;

    memset(client, 0, sizeof(*client));
    weir_buf_init(&client->path, WEIR_CLIENT_PATH_MAX);
    weir_buf_init(&client->answer, WEIR_CLIENT_ANSWER_MAX);
    result = find_server(client, args, &port, err);
    init_http(client, port);
    return result;
}

void weir_client_init_like(struct weir_client *client, const struct weir_client *other)
{
    memset(client, 0, sizeof(*client));
    weir_buf_init(&client->path, WEIR_CLIENT_PATH_MAX);
    weir_buf_init(&client->answer, WEIR_CLIENT_ANSWER_MAX);
    memcpy(client->socket, other->socket, sizeof(client->socket));
    memcpy(client->host, other->host, sizeof(client->host));
    init_http(client, other->http.endpoint.port);
}

void weir_client_finish(struct weir_client *client)
{
    weir_http_client_finish(&client->http);
    weir_buf_finish(&client->path);
    weir_buf_finish(&client->answer);
}

bool weir_client_is_absent(const struct weir_client *client)
{
    return client->socket[0] != '\0' && access(client->socket, F_OK) < 0;
}

/* The same words as the server's, for what it cannot be asked: "there is no workload ''". */
static void refuse_word(struct weir_client *client, const char *word)
{
    static const struct {
        const char *path;
        const char *thing;
        const char *list;
    } things[] = {
        {"/v1/workloads/", "workload", "weir ps -a"},
        {"/v1/queues/", "queue", "weir get queues"},
        {"/v1/gpus/", "GPU", "weir get gpus"},
        {"/v1/nodes/", "node", "weir get nodes"},
    };
    struct weir_err *err = &client->no_path;
    char shown[WEIR_STR_SHOW_MAX];

    for (size_t i = 0; i < WEIR_COUNT_OF(things); i++) {
        if (!weir_str_eq_c(weir_buf_view(&client->path), things[i].path))
            continue;
        weir_error(err, WEIR_E_NOT_FOUND, "there is no %s '%s'", things[i].thing,
                   weir_str_show(weir_str(word), shown));
        weir_error_hint(err, "`%s` lists them", things[i].list);
    }
}

void weir_client_path(struct weir_client *client, const char *format, ...)
{
    va_list args;

    weir_buf_reset(&client->path);
    client->no_path.code = 0;
    va_start(args, format);
    for (const char *at = format; *at != '\0'; at++) {
        if (at[0] == '%' && at[1] == 's') {
            const char *word = va_arg(args, const char *);

            if (!weir_url_is_segment(weir_str(word)))
                refuse_word(client, word);
            weir_url_encode(weir_str(word), &client->path);
            at++;
        } else {
            weir_buf_putc(&client->path, *at);
        }
    }
    va_end(args);
}

void weir_client_query(struct weir_client *client, const char *name, const char *value)
{
    if (value == NULL)
        return;
    weir_buf_putc(&client->path, strchr(weir_buf_cstr(&client->path), '?') != NULL ? '&' : '?');
    weir_buf_printf(&client->path, "%s=", name);
    weir_url_encode(weir_str(value), &client->path);
}

/* The error the server sent, or that it sent none. */
static int read_error(struct weir_client *client, struct weir_str body, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_json_options options = {.allow_duplicates = true};
    struct weir_tree *answer = NULL;
    const struct weir_tree *error = NULL;
    struct weir_str code, hint, field;
    int number = 0;
    int status = client->head->status;

    if (weir_json_read(body, &options, &arena, &answer, NULL) == 0)
        error = weir_tree_get(answer, "error");
    code = weir_client_text(error, "code");
    if (code.len > 0 && code.len < 32) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", WEIR_STR_ARG(code));
        number = weir_code_from_name(name);
    }
    if (error == NULL || weir_client_text(error, "message").len == 0)
        return weir_error(err, WEIR_E_IO, "weir answers %d %s", status, weir_http1_reason(status));
    if (number == 0)
        number = status >= 500 ? WEIR_E_IO : WEIR_E_INVALID;
    weir_error(err, number, "%.*s", WEIR_STR_ARG(weir_client_text(error, "message")));
    hint = number == WEIR_E_UNAUTHENTICATED && client->http.endpoint.token == NULL
               ? WEIR_STR("set $WEIR_TOKEN")
               : weir_client_text(error, "hint");
    field = weir_client_text(error, "field");
    if (hint.len > 0)
        weir_error_hint(err, "%.*s", WEIR_STR_ARG(hint));
    if (field.len > 0)
        weir_error_field(err, "%.*s", WEIR_STR_ARG(field));
    weir_error_at(err, (uint32_t)weir_client_i64(error, "line", 0),
                  (uint32_t)weir_client_i64(error, "column", 0));
    return number;
}

static int send_request(struct weir_client *client, const struct weir_client_request *request,
                        struct weir_err *err)
{
    struct weir_http_header headers[3];
    size_t n = 0;

    if (client->no_path.code != 0)
        return weir_error_pass(err, &client->no_path);
    if (client->path.failed != 0)
        return weir_error(err, WEIR_E_TOO_LARGE, "what was asked for is too long");
    if (request->content_type != NULL)
        headers[n++] = (struct weir_http_header){"Content-Type", weir_str(request->content_type)};
    if (request->accept != NULL)
        headers[n++] = (struct weir_http_header){"Accept", weir_str(request->accept)};
    if (request->key != NULL)
        headers[n++] = (struct weir_http_header){"Idempotency-Key", weir_str(request->key)};
    client->http.last = request->last;
    return weir_http_client_request(&client->http, request->method, weir_buf_view(&client->path),
                                    headers, n, request->body, &client->head, err);
}

static int read_body(struct weir_client *client, struct weir_err *err)
{
    weir_buf_reset(&client->answer);
    return weir_http_client_read_all(&client->http, &client->answer, err);
}

int weir_client_stream(struct weir_client *client, const char *accept, struct weir_err *err)
{
    struct weir_client_request request = {.method = "GET", .accept = accept};
    int result = send_request(client, &request, err);

    if (result < 0 || client->head->status < 400)
        return result;
    result = read_body(client, err);
    return result < 0 ? result : read_error(client, weir_buf_view(&client->answer), err);
}

int weir_client_call(struct weir_client *client, const struct weir_client_request *request,
                     struct weir_arena *arena, const struct weir_tree **ret_answer,
                     struct weir_err *err)
{
    struct weir_json_options options = {.allow_duplicates = true};
    struct weir_tree *answer = NULL;
    struct weir_str body;
    int result = send_request(client, request, err);

    if (result == 0)
        result = read_body(client, err);
    if (result < 0)
        return result;
    body = weir_buf_view(&client->answer);
    if (client->head->status >= 400)
        return read_error(client, body, err);
    if (ret_answer == NULL)
        return 0;
    body.ptr = weir_arena_strndup(arena, body.ptr, body.len);
    if (body.ptr == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the answer");
    result = weir_json_read(body, &options, arena, &answer, err);
    if (result < 0) {
        weir_error_wrap(err, "weir answers what is no JSON");
        return result == WEIR_E_NO_MEMORY ? result : WEIR_E_IO;
    }
    *ret_answer = answer;
    return 0;
}

int weir_client_get(struct weir_client *client, struct weir_arena *arena,
                    const struct weir_tree **ret_answer, struct weir_err *err)
{
    struct weir_client_request request = {.method = "GET"};

    return weir_client_call(client, &request, arena, ret_answer, err);
}

int weir_client_post(struct weir_client *client, struct weir_arena *arena,
                     const struct weir_tree **ret_answer, struct weir_err *err)
{
    struct weir_client_request request = {.method = "POST"};

    return weir_client_call(client, &request, arena, ret_answer, err);
}

/* One page, and where the next begins: empty at the end. */
static int get_page(struct weir_client *client, struct weir_arena *arena, size_t path_len,
                    char next[PAGE_NAME_MAX], const struct weir_tree **ret_items,
                    struct weir_err *err)
{
    const struct weir_tree *answer = NULL;
    int result;

    weir_buf_truncate(&client->path, path_len);
    if (next[0] != '\0')
        weir_client_query(client, "after", next);
    result = weir_client_get(client, arena, &answer, err);
    if (result < 0)
        return result;
    *ret_items = weir_tree_get(answer, "items");
    if (*ret_items == NULL || (*ret_items)->kind != WEIR_TREE_ARRAY)
        return weir_error(err, WEIR_E_IO, "weir answers what is no list");
    snprintf(next, PAGE_NAME_MAX, "%.*s", WEIR_STR_ARG(weir_client_text(answer, "next")));
    return 0;
}

int weir_client_list(struct weir_client *client,
                     int (*each)(void *ctx, const struct weir_tree *item, struct weir_err *err),
                     void *ctx, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *items = NULL;
    char next[PAGE_NAME_MAX] = "";
    size_t path_len;

    weir_client_query(client, "limit", "1000");
    path_len = client->path.len;
    do {
        int result;

        weir_arena_reset(&arena);
        result = get_page(client, &arena, path_len, next, &items, err);
        for (const struct weir_tree *item = result == 0 ? items->first : NULL; item != NULL;
             item = item->next) {
            result = each(ctx, item, err);
            if (result < 0)
                break;
        }
        if (result < 0)
            return result;
    } while (next[0] != '\0');
    return 0;
}

int weir_client_collect(struct weir_client *client, struct weir_arena *arena,
                        const struct weir_tree ***ret_items, size_t *ret_n, struct weir_err *err)
{
    struct found weir_vec(const struct weir_tree *) found = {0};
    const struct weir_tree *items = NULL;
    const struct weir_tree **kept;
    char next[PAGE_NAME_MAX] = "";
    size_t path_len;
    int result;

    weir_client_query(client, "limit", "1000");
    path_len = client->path.len;
    do {
        result = get_page(client, arena, path_len, next, &items, err);
        for (const struct weir_tree *item = result == 0 ? items->first : NULL; item != NULL;
             item = item->next)
            if (weir_vec_push(&found, item) < 0)
                result = weir_error(err, WEIR_E_NO_MEMORY, "no memory for a list");
    } while (result == 0 && next[0] != '\0');
    kept = weir_arena_new_n(arena, const struct weir_tree *, found.n + 1);
    if (result == 0 && kept == NULL)
        result = weir_error(err, WEIR_E_NO_MEMORY, "no memory for a list");
    if (result == 0) {
        if (found.n > 0)
            memcpy(kept, found.items, found.n * sizeof(kept[0]));
        *ret_items = kept;
        *ret_n = found.n;
    }
    weir_vec_finish(&found);
    return result;
}

struct weir_str weir_client_text(const struct weir_tree *object, const char *name)
{
    const struct weir_tree *member = weir_tree_get(object, name);

    if (member == NULL || (member->kind != WEIR_TREE_STRING && member->kind != WEIR_TREE_NUMBER &&
                           member->kind != WEIR_TREE_BOOL))
        return (struct weir_str){NULL, 0};
    return member->text;
}

int64_t weir_client_i64(const struct weir_tree *object, const char *name, int64_t fallback)
{
    const struct weir_tree *member = weir_tree_get(object, name);
    int64_t value;

    if (member == NULL || member->kind != WEIR_TREE_NUMBER ||
        !weir_str_to_i64(member->text, &value))
        return fallback;
    return value;
}

#include "api_fixture_impl.h"

#include "base/clock.h"
#include "fmt/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_BYTES_MAX = 1 << 29 };

/* ---- asking ---- */

void api_turn(struct api_fixture *f)
{
    uv_run(&f->loop, UV_RUN_NOWAIT);
}

int api_dial(struct api_fixture *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->socket);
    api_must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    return fd;
}

int api_dial_tcp(struct api_fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(f->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    api_must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
    return fd;
}

void api_say(struct api_fixture *f, int fd, const char *text, size_t n)
{
    int64_t until = weir_clock_mono_ms() + API_PATIENCE_MS;

    while (n > 0 && weir_clock_mono_ms() < until) {
        ssize_t sent = send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return; /* the server has answered and closed: what it said can still be heard */
        if (sent < 0) {
            api_turn(f);
            continue;
        }
        text += sent;
        n -= (size_t)sent;
    }
}

/* False at the end. */
static bool hear_some(int fd, struct weir_buf *heard)
{
    char room[65536];
    ssize_t n = recv(fd, room, sizeof(room), MSG_DONTWAIT);

    if (n == 0 || (n < 0 && errno != EAGAIN))
        return false;
    if (n > 0)
        weir_buf_append(heard, room, (size_t)n);
    return true;
}

bool api_hear(struct api_fixture *f, int fd, struct weir_buf *heard, const char *text)
{
    int64_t until = weir_clock_mono_ms() + API_PATIENCE_MS;

    while (weir_clock_mono_ms() < until) {
        size_t before = heard->len;

        if (text != NULL && weir_str_find(weir_buf_view(heard), weir_str(text)) >= 0)
            return true;
        api_turn(f);
        if (!hear_some(fd, heard))
            return text == NULL || weir_str_find(weir_buf_view(heard), weir_str(text)) >= 0;
        if (heard->len == before)
            usleep(200);
    }
    return false;
}

void api_hear_for(struct api_fixture *f, int fd, struct weir_buf *heard, int ms)
{
    int64_t until = weir_clock_mono_ms() + ms;

    do {
        api_turn(f);
        if (!hear_some(fd, heard))
            return;
        usleep(500);
    } while (weir_clock_mono_ms() < until);
}

/* Feeds the parser with what comes, and ticks when the service waits for it. */
static void hear_answer(struct api_fixture *f, int fd, bool is_head, struct api_answer *answer)
{
    struct weir_buf heard = WEIR_BUF_INIT(ANSWER_BYTES_MAX);
    struct weir_http1_parser parser;
    struct weir_err err = WEIR_ERR_INIT;
    enum weir_http1_event event = WEIR_HTTP1_EVENT_MORE;
    int64_t until = weir_clock_mono_ms() + API_PATIENCE_MS;
    bool is_open = true;

    weir_http1_parser_init(&parser, WEIR_HTTP1_RESPONSE);
    weir_http1_parser_begin(&parser, &answer->arena);
    weir_http1_parser_set_body_max(&parser, ANSWER_BYTES_MAX);
    if (is_head)
        weir_http1_parser_answers_head(&parser);
    while (event != WEIR_HTTP1_EVENT_END && event != WEIR_HTTP1_EVENT_ERROR) {
        struct weir_str input;

        api_must(weir_clock_mono_ms() < until, "an answer in time");
        api_turn(f);
        if (f->dones.n > 0)
            api_tick(f);
        weir_buf_reset(&heard);
        is_open = is_open && hear_some(fd, &heard);
        input = weir_buf_view(&heard);
        while ((event = weir_http1_next(&parser, &input, &err)) != WEIR_HTTP1_EVENT_MORE &&
               event != WEIR_HTTP1_EVENT_END && event != WEIR_HTTP1_EVENT_ERROR)
            if (event == WEIR_HTTP1_EVENT_BODY)
                weir_buf_str(&answer->body, parser.piece);
        if (event == WEIR_HTTP1_EVENT_MORE && !is_open)
            event = weir_http1_end_of_input(&parser, &err);
        api_must(event != WEIR_HTTP1_EVENT_MORE || is_open, "an answer before the end");
    }
    api_must(event == WEIR_HTTP1_EVENT_END, err.text);
    answer->head = parser.head;
    answer->status = parser.head.status;
    weir_http1_parser_finish(&parser);
    weir_buf_finish(&heard);
}

static void ask(struct api_fixture *f, int fd, const char *method, const char *target,
                const char *headers, const char *body, struct api_answer *answer)
{
    struct weir_buf text = WEIR_BUF_INIT(1 << 26);
    const struct weir_str *type;

    *answer = (struct api_answer){.body = WEIR_BUF_INIT(ANSWER_BYTES_MAX)};
    weir_buf_printf(&text, "%s %s HTTP/1.1\r\n", method, target);
    if (headers == NULL || strstr(headers, "Host:") == NULL)
        weir_buf_puts(&text, "Host: 127.0.0.1\r\n");
    weir_buf_puts(&text, headers != NULL ? headers : "");
    if (body != NULL)
        weir_buf_printf(&text, "Content-Length: %zu\r\n", strlen(body));
    weir_buf_puts(&text, "\r\n");
    weir_buf_puts(&text, body != NULL ? body : "");
    api_say(f, fd, text.data, text.len);
    weir_buf_finish(&text);
    hear_answer(f, fd, strcmp(method, "HEAD") == 0, answer);
    close(fd);
    type = weir_http1_find(&answer->head, "Content-Type");
    if (type != NULL && weir_str_eq_c(*type, "application/json") && answer->body.len > 0)
        api_must(weir_json_read(weir_buf_view(&answer->body), NULL, &answer->arena, &answer->json,
                                NULL) == 0,
                 "well-formed JSON");
}

void api_ask(struct api_fixture *f, const char *method, const char *target, const char *headers,
             const char *body, struct api_answer *ret_answer)
{
    ask(f, api_dial(f), method, target, headers, body, ret_answer);
}

void api_ask_tcp(struct api_fixture *f, const char *method, const char *target, const char *headers,
                 const char *body, struct api_answer *ret_answer)
{
    ask(f, api_dial_tcp(f), method, target, headers, body, ret_answer);
}

void api_answer_finish(struct api_answer *answer)
{
    weir_buf_finish(&answer->body);
    weir_arena_finish(&answer->arena);
}

static const char *keep(struct weir_str text)
{
    static char kept[8][2048];
    static unsigned turn;
    char *to = kept[turn++ % 8];

    snprintf(to, sizeof(kept[0]), "%.*s", WEIR_STR_ARG(text));
    return to;
}

const char *api_text(const struct api_answer *answer, const char *path)
{
    const struct weir_tree *node = weir_tree_path(answer->json, path);

    if (node == NULL)
        return "";
    return node->kind == WEIR_TREE_NULL ? "null" : keep(node->text);
}

const char *api_header(const struct api_answer *answer, const char *name)
{
    const struct weir_str *value = weir_http1_find(&answer->head, name);

    return value == NULL ? "" : keep(*value);
}

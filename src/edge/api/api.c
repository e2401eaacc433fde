#include "edge/api/impl.h"

static void free_api(struct weir_api *api)
{
    weir_tokens_finish(&api->tokens);
    weir_api_index_finish(&api->index);
    weir_mem_free(api->host);
    weir_mem_free(api->version);
    weir_mem_free(api);
}

static int copy_text(const char *text, char **ret_copy)
{
    if (text == NULL)
        return 0;
    *ret_copy = weir_mem_strdup(text);
    return *ret_copy != NULL ? 0 : WEIR_E_NO_MEMORY;
}

static int prepare(struct weir_api *api, const struct weir_api_config *config, struct weir_err *err)
{
    const struct weir_user *user = weir_users_by_uid(&api->users, config->uid, config->gid);
    struct weir_http_handler handler = {api, weir_api_on_head, weir_api_on_request,
                                        weir_api_on_refused};
    struct weir_http_server_config server = {0};
    int r;

    if (copy_text(config->host, &api->host) < 0 ||
        copy_text(config->version_text, &api->version) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the API");
    r = weir_api_store(api)->last_event(weir_api_store(api)->ctx, &api->last_seq, err);
    if (r == 0)
        r = weir_tokens_open(&api->tokens, config->tokens_path, config->uid, weir_str(user->name),
                             err);
    api->tokens.on_bad = config->on_bad_tokens;
    return r < 0 ? r : weir_http_server_create(api->loop, &server, &handler, &api->http, err);
}

int weir_api_create(struct uv_loop_s *loop, const struct weir_api_config *config,
                    const struct weir_service *service, struct weir_api **ret_api,
                    struct weir_err *err)
{
    struct weir_api *api = weir_mem_alloc_array(1, sizeof(*api));
    int r;

    if (api == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the API");
    api->loop = loop;
    api->service = *service;
    api->uid = config->uid;
    api->gid = config->gid;
    r = prepare(api, config, err);
    if (r < 0) {
        free_api(api);
        return r;
    }
    weir_api_streams_init(api);
    *ret_api = api;
    return 0;
}

int weir_api_listen_unix(struct weir_api *api, const char *path, struct weir_err *err)
{
    return weir_http_server_listen_unix(api->http, path, api->uid == 0 ? 0666 : 0600, err);
}

int weir_api_listen_tcp(struct weir_api *api, const char *address, uint16_t *ret_port,
                        struct weir_err *err)
{
    return weir_http_server_listen_tcp(api->http, address, ret_port, err);
}

void weir_api_changed(struct weir_api *api)
{
    const struct weir_store *store = weir_api_store(api);
    int64_t seq;

    api->n_changes++;
    weir_api_index_forget(&api->index);
    if (store->last_event(store->ctx, &seq, NULL) == 0)
        api->last_seq = seq;
    weir_api_streams_changed(api);
}

bool weir_api_is_watched(const struct weir_api *api)
{
    return api->streams != NULL;
}

/* ---- the end ---- */

static void one_closed(struct weir_api *api)
{
    void (*on_done)(void *ctx) = api->on_done;
    void *ctx = api->on_done_ctx;

    if (--api->n_to_close > 0)
        return;
    free_api(api);
    if (on_done != NULL)
        on_done(ctx);
}

void weir_api_simulated(struct weir_api *api)
{
    api->n_simulating--;
    if (api->n_to_close > 0)
        one_closed(api);
}

static void on_timer_closed(uv_handle_t *handle)
{
    one_closed(handle->data);
}

static void on_server_closed(void *ctx)
{
    one_closed(ctx);
}

void weir_api_shutdown(struct weir_api *api, uint32_t grace_ms, void (*on_done)(void *ctx),
                       void *ctx)
{
    api->on_done = on_done;
    api->on_done_ctx = ctx;
    api->n_to_close = 3 + api->n_simulating; /* two timers and the server */
    weir_api_streams_abort(api);
    uv_close((uv_handle_t *)&api->poll, on_timer_closed);
    uv_close((uv_handle_t *)&api->beat, on_timer_closed);
    weir_http_server_shutdown(api->http, grace_ms, on_server_closed, api);
}

#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"

extern const char weir_embed_openapi[], weir_embed_openapi_end[];

#define TEXT_TYPE "text/plain; charset=utf-8"

int weir_api_get_root(struct weir_api_call *call, struct weir_err *err)
{
    (void)err;
    weir_api_reply(call, 200, TEXT_TYPE,
                   WEIR_STR("This is weir " WEIR_VERSION ", a control plane for GPUs.\n"
                            "\n"
                            "  /v1/openapi.json   what can be asked here\n"
                            "  /readyz            whether it can be asked now\n"
                            "  /metrics           for Prometheus\n"
                            "\n"
                            "Over TCP a token is needed: Authorization: Bearer TOKEN, with one of "
                            "the tokens\n"
                            "in the file `tokens` of the server's data directory. Or use the "
                            "command line: weir --help\n"));
    return 0;
}

int weir_api_get_healthz(struct weir_api_call *call, struct weir_err *err)
{
    (void)err;
    weir_api_reply(call, 200, TEXT_TYPE, WEIR_STR("ok\n"));
    return 0;
}

int weir_api_get_readyz(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_service *service = &call->api->service;

    if (!service->is_ready(service->ctx))
        return weir_error(err, WEIR_E_UNAVAILABLE, "weir has not read its store yet");
    weir_api_reply(call, 200, TEXT_TYPE, WEIR_STR("ready\n"));
    return 0;
}

int weir_api_get_openapi(struct weir_api_call *call, struct weir_err *err)
{
    (void)err;
    weir_api_reply(call, 200, "application/json",
                   weir_str_n(weir_embed_openapi,
                              (size_t)(weir_embed_openapi_end - weir_embed_openapi)));
    return 0;
}

int weir_api_get_version(struct weir_api_call *call, struct weir_err *err)
{
    struct weir_api_json json;

    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_str(&json.w, "version", WEIR_STR(WEIR_VERSION));
    weir_api_put_name(&json.w, "inside", weir_str(call->api->version));
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

int weir_api_get_whoami(struct weir_api_call *call, struct weir_err *err)
{
    static const char *const roles[] = {
        [WEIR_ROLE_READ] = "read", [WEIR_ROLE_SUBMIT] = "submit", [WEIR_ROLE_ADMIN] = "admin"};
    struct weir_api_json json;

    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_api_put_str(&json.w, "user", call->actor.user);
    weir_api_put_str(&json.w, "role", weir_str(roles[call->actor.role]));
    weir_json_key(&json.w, "uid");
    if (call->may_run_jobs)
        weir_json_u64(&json.w, call->actor.uid);
    else
        weir_json_null(&json.w);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

/* Who asks, and whether a browser was made to ask for somebody else. */
#include "edge/api/impl.h"

#include <arpa/inet.h>

enum { BEARER_LEN = 7, ORIGIN_SCHEME_LEN = 7 };

static bool is_address(struct weir_str host)
{
    struct in6_addr address;
    char text[INET6_ADDRSTRLEN];

    if (host.len == 0 || host.len >= sizeof(text))
        return false;
    snprintf(text, sizeof(text), "%.*s", WEIR_STR_ARG(host));
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

int weir_api_check_host(const struct weir_api_call *call, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    struct weir_str host;
    uint16_t port;

    if (weir_http_request_peer(call->request)->is_unix)
        return 0;
    if (weir_url_parse_authority(call->head->host, &host, &port, NULL) == 0 &&
        (is_address(host) || weir_str_eq_nocase(host, WEIR_STR("localhost")) ||
         (call->api->host != NULL && weir_str_eq_nocase(host, weir_str(call->api->host)))))
        return 0;
    weir_error(err, WEIR_E_INVALID, "this server is not called '%s'",
               weir_str_show(call->head->host, shown));
    return weir_error_hint(err, "use its address, or start it with --host NAME");
}

static int one_header(const struct weir_api_call *call, const char *name,
                      const struct weir_str **ret_value, struct weir_err *err)
{
    const struct weir_str *value = NULL;

    for (size_t i = 0; i < call->head->n_headers; i++) {
        if (!weir_str_eq_nocase(call->head->headers[i].name, weir_str(name)))
            continue;
        if (value != NULL)
            return weir_error(err, WEIR_E_INVALID, "header %s is given twice", name);
        value = &call->head->headers[i].value;
    }
    *ret_value = value;
    return 0;
}

int weir_api_check_origin(const struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_str *origin;
    char shown[WEIR_STR_SHOW_MAX];
    int r = one_header(call, "Origin", &origin, err);

    if (r < 0 || origin == NULL)
        return r;
    if (weir_str_starts_with(*origin, WEIR_STR("http://")) &&
        weir_str_eq_nocase(weir_str_sub(*origin, ORIGIN_SCHEME_LEN, origin->len), call->head->host))
        return 0;
    weir_error(err, WEIR_E_DENIED, "requests from '%s' are refused", weir_str_show(*origin, shown));
    return weir_error_hint(err, "only pages that weir serves itself may ask it");
}

static int set_actor(struct weir_api_call *call, struct weir_str user, uint32_t uid, uint32_t gid,
                     enum weir_actor_role role, struct weir_err *err)
{
    const char *copy = weir_str_dup(user, call->arena);

    if (copy == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a request");
    call->actor = (struct weir_actor){weir_str(copy), uid, gid, role};
    return 0;
}

static int authenticate_unix(struct weir_api_call *call, const struct weir_http_peer *peer,
                             struct weir_err *err)
{
    struct weir_api *api = call->api;
    bool is_own = peer->uid == api->uid || peer->uid == 0;
    const struct weir_user *user;

    if (!is_own && api->uid != 0) {
        weir_error(err, WEIR_E_DENIED, "this weir serves uid %u only", api->uid);
        return weir_error_hint(err, "a weir started by root serves all users");
    }
    user = weir_users_by_uid(&api->users, peer->uid, peer->gid);
    call->may_run_jobs = true;
    return set_actor(call, weir_str(user->name), peer->uid, peer->gid,
                     is_own ? WEIR_ROLE_ADMIN : WEIR_ROLE_SUBMIT, err);
}

/* Jobs of a token's user run as that user of the machine, where weir may choose. */
static int authenticate_token(struct weir_api_call *call, const struct weir_token *token,
                              struct weir_err *err)
{
    struct weir_api *api = call->api;
    const struct weir_user *user;

    if (api->uid != 0) {
        call->may_run_jobs = true;
        return set_actor(call, token->user, api->uid, api->gid, token->role, err);
    }
    user = weir_users_by_name(&api->users, token->user);
    call->may_run_jobs = user != NULL;
    return set_actor(call, token->user, user != NULL ? user->uid : UINT32_MAX,
                     user != NULL ? user->gid : UINT32_MAX, token->role, err);
}

static int authenticate_tcp(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_str *header = NULL;
    const struct weir_token *token = NULL;
    int r = one_header(call, "Authorization", &header, err);

    if (r < 0)
        return r;
    if (header == NULL) {
        weir_error(err, WEIR_E_UNAUTHENTICATED, "a token is needed");
        return weir_error_hint(err, "send Authorization: Bearer TOKEN, with one of DATA/tokens");
    }
    if (!weir_str_eq_nocase(weir_str_sub(*header, 0, BEARER_LEN), WEIR_STR("Bearer "))) {
        weir_error(err, WEIR_E_UNAUTHENTICATED, "only bearer tokens are known here");
        return weir_error_hint(err, "send Authorization: Bearer TOKEN");
    }
    r = weir_tokens_check(&call->api->tokens,
                          weir_str_trim(weir_str_sub(*header, BEARER_LEN, header->len)), &token,
                          err);
    return r < 0 ? r : authenticate_token(call, token, err);
}

static int check_access(const struct weir_api_call *call, struct weir_err *err)
{
    static const enum weir_actor_role needed[] = {
        [WEIR_API_READ] = WEIR_ROLE_READ,
        [WEIR_API_SUBMIT] = WEIR_ROLE_SUBMIT,
        [WEIR_API_ADMIN] = WEIR_ROLE_ADMIN,
    };
    static const char *const names[] = {
        [WEIR_ROLE_READ] = "read", [WEIR_ROLE_SUBMIT] = "submit", [WEIR_ROLE_ADMIN] = "admin"};
    enum weir_actor_role role = needed[call->route->access];

    if (call->actor.role < role) {
        weir_error(err, WEIR_E_DENIED, "%.*s has the role %s and may not do this",
                   WEIR_STR_ARG(call->actor.user), names[call->actor.role]);
        return weir_error_hint(err, "it takes the role %s", names[role]);
    }
    return 0;
}

int weir_api_check_account(const struct weir_api_call *call, struct weir_err *err)
{
    if (call->may_run_jobs)
        return 0;
    weir_error(err, WEIR_E_DENIED, "'%.*s' is not a user of this machine",
               WEIR_STR_ARG(call->actor.user));
    return weir_error_hint(err,
                           "jobs run as the user of the token: give it the name of an account");
}

int weir_api_authenticate(struct weir_api_call *call, struct weir_err *err)
{
    const struct weir_http_peer *peer = weir_http_request_peer(call->request);
    int r;

    if (call->route->access == WEIR_API_ANYBODY)
        return 0;
    r = peer->is_unix ? authenticate_unix(call, peer, err) : authenticate_tcp(call, err);
    return r < 0 ? r : check_access(call, err);
}

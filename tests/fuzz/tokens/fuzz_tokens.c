/* The token file: what is read keeps to its rules, and what is not says where. */
#include "base/err.h"
#include "edge/api/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tokens(const struct weir_token *tokens, uint32_t n)
{
    WEIR_ASSERT(n <= WEIR_TOKENS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        WEIR_ASSERT(tokens[i].token.len >= WEIR_TOKEN_BYTES_MIN &&
                    tokens[i].token.len <= WEIR_TOKEN_BYTES_MAX);
        WEIR_ASSERT(tokens[i].user.len > 0 && tokens[i].user.len <= WEIR_TOKEN_USER_BYTES_MAX);
        WEIR_ASSERT(weir_str_is_utf8(tokens[i].user));
        WEIR_ASSERT(tokens[i].role <= WEIR_ROLE_ADMIN);
        for (uint32_t j = 0; j < i; j++)
            WEIR_ASSERT(!weir_str_eq(tokens[i].token, tokens[j].token));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_token *tokens;
    uint32_t n;

    if (weir_tokens_parse(weir_str_n((const char *)data, size), &arena, &tokens, &n, &err) == 0)
        check_tokens(tokens, n);
    else
        WEIR_ASSERT(err.code == WEIR_E_INVALID && err.line > 0 && err.text[0] != '\0' &&
                    weir_str_is_utf8(weir_str(err.text)));
    weir_arena_finish(&arena);
    return 0;
}

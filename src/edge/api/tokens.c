#include "edge/api/tokens.h"

#include "base/buf.h"
#include "base/char.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>

/* ---- content ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next word of the line from *at on; empty at its end. */
static struct weir_str next_word(struct weir_str line, size_t *at)
{
    size_t from;

    while (*at < line.len && is_blank(line.ptr[*at]))
        (*at)++;
    from = *at;
    while (*at < line.len && !is_blank(line.ptr[*at]))
        (*at)++;
    return weir_str_sub(line, from, *at - from);
}

static bool is_token(struct weir_str s)
{
    static const char others[] = "-._~+/=";

    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!weir_char_is_letter(c) && !weir_char_is_digit(c) &&
            memchr(others, c, sizeof(others) - 1) == NULL)
            return false;
    }
    return true;
}

static bool is_user(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
            return false;
    return s.len <= WEIR_TOKEN_USER_BYTES_MAX && weir_str_is_utf8(s);
}

static int parse_role(struct weir_str word, enum weir_actor_role *ret_role, struct weir_err *err)
{
    static const struct weir_str names[] = {[WEIR_ROLE_READ] = {"read", 4},
                                            [WEIR_ROLE_SUBMIT] = {"submit", 6},
                                            [WEIR_ROLE_ADMIN] = {"admin", 5}};
    char shown[WEIR_STR_SHOW_MAX];

    for (int i = 0; i <= WEIR_ROLE_ADMIN; i++) {
        if (weir_str_eq(word, names[i])) {
            *ret_role = (enum weir_actor_role)i;
            return 0;
        }
    }
    weir_error(err, WEIR_E_INVALID, "there is no role '%s'", weir_str_show(word, shown));
    return weir_error_hint(err, "one of read, submit, admin");
}

static int at_column(struct weir_err *err, size_t offset)
{
    return weir_error_at(err, 0, (uint32_t)offset + 1);
}

static int parse_line(struct weir_str line, struct weir_token *ret_token, struct weir_err *err)
{
    struct weir_token token = {.role = WEIR_ROLE_READ};
    struct weir_str role;
    struct weir_str rest;
    size_t at = 0;

    token.token = next_word(line, &at);
    if (token.token.len < WEIR_TOKEN_BYTES_MIN || token.token.len > WEIR_TOKEN_BYTES_MAX ||
        !is_token(token.token)) {
        weir_error(err, WEIR_E_INVALID, "not a token");
        weir_error_hint(err, "a token is 16 to 256 letters, digits and - . _ ~ + / =");
        return at_column(err, at - token.token.len);
    }
    role = next_word(line, &at);
    if (parse_role(role, &token.role, err) < 0)
        return at_column(err, at - role.len);
    token.user = next_word(line, &at);
    if (token.user.len == 0 || !is_user(token.user)) {
        weir_error(err, WEIR_E_INVALID, "not a user name");
        weir_error_hint(err, "a line is TOKEN ROLE USER");
        return at_column(err, at - token.user.len);
    }
    rest = next_word(line, &at);
    if (rest.len > 0) {
        weir_error(err, WEIR_E_INVALID, "something follows the user name");
        weir_error_hint(err, "a line is TOKEN ROLE USER");
        return at_column(err, at - rest.len);
    }
    *ret_token = token;
    return 0;
}

static int add_token(const struct weir_token *token, struct weir_arena *arena,
                     struct weir_token *tokens, uint32_t *n, struct weir_err *err)
{
    struct weir_token *added = &tokens[*n];

    for (uint32_t i = 0; i < *n; i++)
        if (weir_str_eq(tokens[i].token, token->token))
            return weir_error(err, WEIR_E_INVALID, "this token is given twice");
    if (*n == WEIR_TOKENS_MAX)
        return weir_error(err, WEIR_E_INVALID, "more than %d tokens", WEIR_TOKENS_MAX);
    added->role = token->role;
    added->token =
        weir_str_n(weir_arena_strndup(arena, token->token.ptr, token->token.len), token->token.len);
    added->user =
        weir_str_n(weir_arena_strndup(arena, token->user.ptr, token->user.len), token->user.len);
    if (added->token.ptr == NULL || added->user.ptr == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the tokens");
    (*n)++;
    return 0;
}

int weir_tokens_parse(struct weir_str text, struct weir_arena *arena,
                      struct weir_token **ret_tokens, uint32_t *ret_n, struct weir_err *err)
{
    struct weir_token *tokens = weir_arena_new_n(arena, struct weir_token, WEIR_TOKENS_MAX);
    struct weir_str line;
    uint32_t number = 0;
    uint32_t n = 0;

    if (tokens == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the tokens");
    while (weir_str_split(&text, '\n', &line)) {
        struct weir_token token = {0};
        struct weir_str word;
        size_t at = 0;
        int r;

        number++;
        if (line.len > 0 && line.ptr[line.len - 1] == '\r')
            line.len--;
        word = next_word(line, &at);
        if (word.len == 0 || word.ptr[0] == '#')
            continue;
        r = parse_line(line, &token, err);
        if (r == 0)
            r = add_token(&token, arena, tokens, &n, err);
        if (r < 0)
            return weir_error_at(err, number, err != NULL ? err->column : 0);
    }
    *ret_tokens = tokens;
    *ret_n = n;
    return 0;
}

/* ---- the file ---- */

static int check_private(const struct weir_tokens *tokens, const struct stat *st,
                         struct weir_err *err)
{
    if (st->st_uid != tokens->uid && st->st_uid != 0)
        return weir_error(err, WEIR_E_DENIED, "the token file belongs to uid %u", st->st_uid);
    if ((st->st_mode & 077) == 0)
        return 0;
    weir_error(err, WEIR_E_DENIED, "the token file is open to others (mode %04o)",
               st->st_mode & 07777);
    return weir_error_hint(err, "chmod 600 it, and give out new tokens if others may have read it");
}

/* Takes the file in as it is now. What was known before is forgotten in any case. */
static int read_file(struct weir_tokens *tokens, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_TOKENS_FILE_BYTES_MAX);
    weir_cleanup_fd int fd = weir_fd_open_file(AT_FDCWD, tokens->path, O_NOFOLLOW, err);
    struct stat st;
    int r;

    tokens->is_read = false;
    if (fd < 0)
        return weir_error_wrap(err, "open the token file");
    if (fstat(fd, &st) < 0)
        return weir_error_errno(err, errno, "look at the token file");
    r = check_private(tokens, &st, err);
    if (r < 0)
        return r;
    if (weir_fd_read_all(fd, &text) < 0)
        return weir_error_errno(err, errno, "read the token file");
    if (weir_buf_check(&text, "the token file", err) < 0)
        return weir_error_code(err);
    weir_arena_reset(&tokens->arena);
    r = weir_tokens_parse(weir_buf_view(&text), &tokens->arena, &tokens->tokens, &tokens->n, err);
    explicit_bzero(text.data, text.len);
    if (r < 0)
        return weir_error_wrap(err, "in the token file");
    tokens->seen = st;
    tokens->is_read = true;
    return 0;
}

static int make_line(struct weir_str user, struct weir_buf *out, struct weir_err *err)
{
    unsigned char random[32];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return weir_error_errno(err, errno, "make a token");
    for (size_t i = 0; i < sizeof(random); i++)
        weir_buf_printf(out, "%02x", random[i]);
    weir_buf_printf(out, " admin %.*s\n", WEIR_STR_ARG(user));
    explicit_bzero(random, sizeof(random));
    return weir_buf_check(out, "a token", err);
}

/* Written beside and renamed, so that no half-written file is ever found. */
static int make_file(const struct weir_tokens *tokens, struct weir_str user, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf line = WEIR_BUF_INIT(1024);
    weir_cleanup_fd int fd = -1;
    char beside[PATH_MAX];
    int r;

    if ((size_t)snprintf(beside, sizeof(beside), "%s.new", tokens->path) >= sizeof(beside))
        return weir_error(err, WEIR_E_INVALID, "the path of the token file is too long");
    r = make_line(user, &line, err);
    if (r < 0)
        return r;
    if (unlink(beside) < 0 && errno != ENOENT)
        return weir_error_errno(err, errno, "make the token file");
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return weir_error_errno(err, errno, "make the token file");
    if (weir_fd_write_all(fd, line.data, line.len) < 0 || fsync(fd) < 0)
        r = weir_error_errno(err, errno, "write the token file");
    if (r == 0 && rename(beside, tokens->path) < 0)
        r = weir_error_errno(err, errno, "make the token file");
    if (r < 0)
        unlink(beside);
    explicit_bzero(line.data, line.len);
    return r;
}

static void advise(struct weir_err *err)
{
    char hint[WEIR_ERR_HINT_MAX];

    if (err == NULL || (err->code != WEIR_E_INVALID && err->hint[0] != '\0'))
        return;
    snprintf(hint, sizeof(hint), "%s", err->hint);
    weir_error_hint(err, "%s%scorrect it, or move it away: then one new token is made", hint,
                    hint[0] != '\0' ? "; " : "");
}

int weir_tokens_open(struct weir_tokens *tokens, const char *path, uint32_t uid,
                     struct weir_str user, struct weir_err *err)
{
    int r = 0;

    *tokens = (struct weir_tokens){.uid = uid, .path = weir_mem_strdup(path)};
    if (tokens->path == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the tokens");
    if (access(path, F_OK) < 0 && errno == ENOENT)
        r = make_file(tokens, user, err);
    if (r == 0)
        r = read_file(tokens, err);
    if (r < 0) {
        weir_error_wrap(err, "'%s'", path);
        advise(err);
        weir_tokens_finish(tokens);
    }
    return r;
}

void weir_tokens_finish(struct weir_tokens *tokens)
{
    weir_mem_free(tokens->path);
    weir_arena_finish(&tokens->arena);
    *tokens = (struct weir_tokens){0};
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mode == b->st_mode && a->st_uid == b->st_uid &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static void tell(struct weir_tokens *tokens, const struct weir_err *why)
{
    char text[WEIR_ERR_TEXT_MAX];

    snprintf(text, sizeof(text), "%u:%u %.400s", why->line, why->column, why->text);
    if (tokens->on_bad == NULL || strcmp(text, tokens->told) == 0)
        return;
    snprintf(tokens->told, sizeof(tokens->told), "%s", text);
    tokens->on_bad(why);
}

int weir_tokens_check(struct weir_tokens *tokens, struct weir_str token,
                      const struct weir_token **ret_token, struct weir_err *err)
{
    struct weir_err cause = WEIR_ERR_INIT;
    uint32_t found = UINT32_MAX;
    struct stat st;
    bool is_current =
        tokens->is_read && lstat(tokens->path, &st) == 0 && is_same(&st, &tokens->seen);

    if (!is_current && read_file(tokens, &cause) < 0) {
        tell(tokens, &cause);
        weir_error(err, WEIR_E_UNAVAILABLE, "tokens cannot be checked: %s", cause.text);
        weir_error_at(err, cause.line, cause.column);
        return weir_error_hint(err, "%s", cause.hint);
    }
    tokens->told[0] = '\0';
    for (uint32_t i = 0; i < tokens->n; i++)
        if (weir_str_eq_constant_time(token, tokens->tokens[i].token))
            found = i;
    if (found == UINT32_MAX)
        return weir_error(err, WEIR_E_UNAUTHENTICATED, "this token is not known");
    *ret_token = &tokens->tokens[found];
    return 0;
}

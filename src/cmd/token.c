#include "app/datadir.h"
#include "base/buf.h"
#include "base/count.h"
#include "base/err.h"
#include "cmd/commands.h"
#include "cmd/output.h"
#include "cmd/token_file.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_BYTES = 8, OUTPUT_BYTES_MAX = 1024 * 1024 };

static const struct weir_option options[] = {
    {.name = "role",
     .letter = 'r',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "ROLE",
     .choices = "read|submit|admin",
     .help = "what the new token allows: to see, also to submit and end one's own, everything",
     .example = "submit"},
    {.name = "user",
     .letter = 'u',
     .kind = WEIR_OPTION_TEXT,
     .argument = "USER",
     .help = "who the new token stands for, or whose tokens are revoked",
     .example = "alice"},
    {.name = "data",
     .kind = WEIR_OPTION_DIR,
     .argument = "DIR",
     .help = "the data directory of the weir; else $WEIR_DATA, or the default place",
     .example = "/var/lib/weir"},
};

static const char *const role_names[] = {
    [WEIR_ROLE_READ] = "read", [WEIR_ROLE_SUBMIT] = "submit", [WEIR_ROLE_ADMIN] = "admin"};

static int create_token(const struct weir_args *args, struct weir_token_file *file,
                        struct weir_err *err)
{
    const char *role = weir_args_text(args, "role");
    const char *user = weir_args_text(args, "user");
    const char *token = NULL;
    int result;

    if (args->n_operands > 1)
        return weir_error(err, WEIR_E_INVALID, "token create: '%s' is one word too many",
                          args->operands[1]);
    if (role == NULL || user == NULL) {
        weir_error(err, WEIR_E_INVALID, "token create: --role and --user are needed");
        return weir_error_hint(err, "for example weir token create --role submit --user alice");
    }
    if (strpbrk(user, " \t") != NULL)
        return weir_error(err, WEIR_E_INVALID, "token create: --user '%s' holds a blank", user);
    result = weir_token_file_add(file, role, user, &token, err);
    if (result == 0)
        result = weir_token_file_write(file, err);
    if (result < 0)
        return result;
    printf("%s\n", token);
    if (strcmp(role, "read") != 0 && geteuid() == 0 && getpwnam(user) == NULL)
        fprintf(stderr,
                "weir: this machine has no account '%s': a weir that root runs takes no jobs with "
                "this token\n",
                user);
    return 0;
}

/* The tokens themselves are told to nobody again. */
static int list_tokens(const struct weir_args *args, const struct weir_token_file *file,
                       struct weir_err *err)
{
    static const struct weir_sheet_column columns[] = {{.title = "TOKEN"},
                                                       {.title = "ROLE"},
                                                       {.title = "USER"}};
    struct weir_buf text = WEIR_BUF_INIT(OUTPUT_BYTES_MAX);
    struct weir_sheet_look look = weir_output_look(args, false);
    struct weir_sheet sheet;
    int result;

    if (args->n_operands > 1)
        return weir_error(err, WEIR_E_INVALID, "token list: '%s' is one word too many",
                          args->operands[1]);
    weir_sheet_init(&sheet, columns, WEIR_COUNT_OF(columns));
    for (uint32_t i = 0; i < file->n_tokens; i++) {
        char shown[SHOWN_BYTES + sizeof("…")];

        snprintf(shown, sizeof(shown), "%.*s…", SHOWN_BYTES, file->tokens[i].token.ptr);
        weir_sheet_add(&sheet, weir_str(shown));
        weir_sheet_add(&sheet, weir_str(role_names[file->tokens[i].role]));
        weir_sheet_add(&sheet, file->tokens[i].user);
    }
    result = weir_sheet_write(&sheet, &look, &text, err);
    if (result == 0)
        fputs(weir_buf_cstr(&text), stdout);
    weir_sheet_finish(&sheet);
    weir_buf_finish(&text);
    return result;
}

struct revoked {
    const char *start; /* of the token; NULL: any */
    const char *user;  /* NULL: any */
};

static bool is_revoked(void *ctx, const struct weir_token *token)
{
    const struct revoked *revoked = ctx;

    return (revoked->start == NULL ||
            weir_str_starts_with(token->token, weir_str(revoked->start))) &&
           (revoked->user == NULL || weir_str_eq_c(token->user, revoked->user));
}

static int revoke_tokens(const struct weir_args *args, struct weir_token_file *file,
                         struct weir_err *err)
{
    struct revoked revoked = {.start = args->n_operands > 1 ? args->operands[1] : NULL,
                              .user = weir_args_text(args, "user")};
    uint32_t n = 0;
    int result;

    if (revoked.start == NULL && revoked.user == NULL) {
        weir_error(err, WEIR_E_INVALID, "token revoke: which one?");
        return weir_error_hint(err, "give its first %d characters, or --user USER", SHOWN_BYTES);
    }
    if (revoked.start != NULL && strlen(revoked.start) < SHOWN_BYTES)
        return weir_error(err, WEIR_E_INVALID, "token revoke: give at least %d characters of it",
                          SHOWN_BYTES);
    for (uint32_t i = 0; i < file->n_tokens; i++)
        n += is_revoked(&revoked, &file->tokens[i]);
    if (n == 0)
        return weir_error(err, WEIR_E_NOT_FOUND, "token revoke: there is no such token");
    if (revoked.start != NULL && n > 1)
        return weir_error(err, WEIR_E_INVALID, "token revoke: %u tokens begin like that", n);
    weir_token_file_drop(file, is_revoked, &revoked);
    result = weir_token_file_write(file, err);
    if (result == 0)
        printf("%u revoked\n", n);
    return result;
}

static int with_file(const struct weir_args *args, const char *data, struct weir_err *err)
{
    const char *what = args->operands[0];
    struct weir_token_file file;
    int result = weir_token_file_open(&file, data, err);

    if (result == 0 && strcmp(what, "create") == 0)
        result = create_token(args, &file, err);
    else if (result == 0 && strcmp(what, "list") == 0)
        result = list_tokens(args, &file, err);
    else if (result == 0)
        result = revoke_tokens(args, &file, err);
    weir_token_file_finish(&file);
    return result;
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    static const struct weir_option verbs = {.kind = WEIR_OPTION_CHOICE,
                                             .choices = "create|list|revoke"};
    char chosen[WEIR_DATADIR_PATH_MAX];
    char shown[WEIR_STR_SHOW_MAX];
    const char *data = weir_args_text(args, "data");
    int result = weir_option_check(&verbs, args->operands[0], err);

    if (result < 0)
        return weir_error_wrap(err, "token: '%s'",
                               weir_str_show(weir_str(args->operands[0]), shown));
    if (data == NULL)
        data = getenv("WEIR_DATA");
    if (data == NULL || data[0] == '\0') {
        result = weir_datadir_default(chosen, sizeof(chosen), err);
        data = chosen;
    }
    return result < 0 ? result : with_file(args, data, err);
}

static const struct weir_example examples[] = {
    {"weir token create --role submit --user alice", "a new token, printed once"},
    {"weir token list", "who has one; never the tokens themselves"},
    {"weir token revoke --user alice", "all of a user"},
};

const struct weir_command weir_command_token = {
    .name = "token",
    .summary = "make, list and revoke the tokens of the HTTP API",
    .operands = "create|list|revoke [TOKEN]",
    .operand_choices = "create|list|revoke",
    .about =
        "Over TCP a token says who asks and what is allowed. This changes the file DATA/tokens "
        "on the server's machine; the server takes the change in by itself. A token to revoke "
        "is named by its first eight characters, as list shows them.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .min_operands = 1,
    .max_operands = 2,
    .group = WEIR_GROUP_SERVER,
    .run = run,
};

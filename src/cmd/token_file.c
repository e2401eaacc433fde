#include "cmd/token_file.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_BYTES = 32 };

static const char name[] = "tokens";
static const char new_name[] = "tokens.new";

static int parse(struct weir_token_file *file, struct weir_err *err)
{
    int result = weir_tokens_parse(weir_buf_view(&file->text), &file->arena, &file->tokens,
                                   &file->n_tokens, err);

    if (result == WEIR_E_INVALID && err != NULL)
        weir_error_wrap(err, "line %u of the token file", err->line);
    return result;
}

int weir_token_file_open(struct weir_token_file *file, const char *data, struct weir_err *err)
{
    weir_cleanup_fd int fd = -1;

    memset(file, 0, sizeof(*file));
    weir_buf_init(&file->text, WEIR_TOKENS_FILE_BYTES_MAX);
    weir_arena_init(&file->arena, 0);
    file->dir_fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file->dir_fd < 0) {
        weir_error_errno(err, errno, "open the data directory '%s'", data);
        return weir_error_hint(err, "name it with --data, or make it with `weir up`");
    }
    while (flock(file->dir_fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return weir_error_errno(err, errno, "lock '%s'", data);
    fd = weir_fd_open_file(file->dir_fd, name, O_NOFOLLOW, err);
    if (fd < 0 && fd != WEIR_E_NOT_FOUND)
        return weir_error_wrap(err, "open the token file");
    if (fd >= 0 && weir_fd_read_all(fd, &file->text) < 0)
        return weir_error_errno(err, errno, "read the token file");
    if (weir_buf_check(&file->text, "the token file", err) < 0)
        return weir_error_code(err);
    return parse(file, err);
}

void weir_token_file_finish(struct weir_token_file *file)
{
    if (file->text.data != NULL)
        explicit_bzero(file->text.data, file->text.cap);
    weir_buf_finish(&file->text);
    weir_arena_finish(&file->arena);
    if (file->dir_fd >= 0)
        close(file->dir_fd);
    file->dir_fd = -1;
}

int weir_token_file_add(struct weir_token_file *file, const char *role, const char *user,
                        const char **ret_token, struct weir_err *err)
{
    unsigned char secret[SECRET_BYTES];
    char *token = weir_arena_bytes(&file->arena, 2 * SECRET_BYTES + 1);
    struct weir_str text = weir_buf_view(&file->text);
    int result;

    if (token == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a token");
    if (getrandom(secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
        return weir_error(err, WEIR_E_IO, "the system has no random numbers");
    for (size_t i = 0; i < sizeof(secret); i++)
        snprintf(token + 2 * i, 3, "%02x", secret[i]);
    if (text.len > 0 && !weir_str_ends_with(text, WEIR_STR("\n")))
        weir_buf_putc(&file->text, '\n');
    weir_buf_printf(&file->text, "%s %s %s\n", token, role, user);
    result = weir_buf_check(&file->text, "the token file", err);
    /* What the server would refuse must not get in. */
    if (result == 0)
        result = parse(file, err);
    if (result == 0)
        *ret_token = token;
    return result;
}

static const struct weir_token *token_of_line(const struct weir_token_file *file,
                                              struct weir_str line)
{
    struct weir_str trimmed = weir_str_trim(line);

    for (uint32_t i = 0; i < file->n_tokens; i++) {
        struct weir_str token = file->tokens[i].token;

        if (weir_str_starts_with(trimmed, token) && trimmed.len > token.len &&
            (trimmed.ptr[token.len] == ' ' || trimmed.ptr[token.len] == '\t'))
            return &file->tokens[i];
    }
    return NULL;
}

uint32_t weir_token_file_drop(struct weir_token_file *file,
                              bool (*drops)(void *ctx, const struct weir_token *token), void *ctx)
{
    struct weir_str rest = weir_buf_view(&file->text);
    struct weir_str line;
    size_t kept = 0;
    uint32_t n = 0;

    /* In place: what is kept moves towards the front. */
    while (weir_str_split(&rest, '\n', &line)) {
        const struct weir_token *token = token_of_line(file, line);
        bool has_end = rest.ptr != NULL;

        if (token != NULL && drops(ctx, token)) {
            n++;
            continue;
        }
        memmove(file->text.data + kept, line.ptr, line.len);
        kept += line.len;
        if (has_end)
            file->text.data[kept++] = '\n';
    }
    weir_buf_truncate(&file->text, kept);
    return n;
}

/* Root may do this for a weir of another user, who must be able to read the file. */
static int give_to_owner(const struct weir_token_file *file, int fd, struct weir_err *err)
{
    struct stat st;

    if (fstatat(file->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && fstat(file->dir_fd, &st) < 0)
        return weir_error_errno(err, errno, "look at the token file");
    if (st.st_uid != geteuid() && fchown(fd, st.st_uid, st.st_gid) < 0)
        return weir_error_errno(err, errno, "give the token file to its owner");
    return 0;
}

int weir_token_file_write(struct weir_token_file *file, struct weir_err *err)
{
    weir_cleanup_fd int fd = -1;
    int result;

    if (unlinkat(file->dir_fd, new_name, 0) < 0 && errno != ENOENT)
        return weir_error_errno(err, errno, "write the token file");
    fd = openat(file->dir_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return weir_error_errno(err, errno, "write the token file");
    result = weir_fd_write_all(fd, file->text.data, file->text.len) < 0
                 ? weir_error_errno(err, errno, "write the token file")
                 : give_to_owner(file, fd, err);
    if (result == 0 && (fsync(fd) < 0 || renameat(file->dir_fd, new_name, file->dir_fd, name) < 0))
        result = weir_error_errno(err, errno, "write the token file");
    if (result == 0 && fsync(file->dir_fd) < 0)
        result = weir_error_errno(err, errno, "write the token file");
    if (result < 0)
        unlinkat(file->dir_fd, new_name, 0);
    return result;
}

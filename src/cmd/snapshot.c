#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/fd.h"
#include "cmd/client.h"
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES_MAX = 4096 };

static const struct weir_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = WEIR_OPTION_FILE,
     .argument = "FILE",
     .help = "the file to write; else stdout",
     .example = "weir.json"},
};

static int copy(struct weir_client *client, int fd, struct weir_err *err)
{
    struct weir_str piece;
    int result;

    weir_client_path(client, "/v1/snapshot");
    result = weir_client_stream(client, NULL, err);
    if (result < 0)
        return result;
    while ((result = weir_http_client_read(&client->http, &piece, err)) > 0)
        if (weir_fd_write_all(fd, piece.ptr, piece.len) < 0)
            return weir_error_errno(err, errno, "write the snapshot");
    return result;
}

/* A file is there whole or not at all. */
static int copy_to_file(struct weir_client *client, const char *path, struct weir_err *err)
{
    weir_cleanup_fd int fd = -1;
    char new_path[PATH_BYTES_MAX];
    int n = snprintf(new_path, sizeof(new_path), "%s.%ld.new", path, (long)getpid());
    int result;

    if (n < 0 || (size_t)n >= sizeof(new_path))
        return weir_error(err, WEIR_E_TOO_LARGE, "the path of the file is too long");
    fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return weir_error_errno(err, errno, "write '%s'", path);
    result = copy(client, fd, err);
    if (result == 0 && fsync(fd) < 0)
        result = weir_error_errno(err, errno, "write '%s'", path);
    if (result == 0 && rename(new_path, path) < 0)
        result = weir_error_errno(err, errno, "write '%s'", path);
    if (result < 0)
        unlink(new_path);
    return result;
}

static int snapshot(struct weir_client *client, const struct weir_args *args, struct weir_err *err)
{
    const char *path = weir_args_text(args, "output");

    if (path != NULL && strcmp(path, "-") != 0)
        return copy_to_file(client, path, err);
    return copy(client, STDOUT_FILENO, err);
}

static const struct weir_example examples[] = {
    {"weir snapshot -o weir.json", "the whole state, for a bug report"},
};

const struct weir_command weir_command_snapshot = {
    .name = "snapshot",
    .summary = "write the whole state into one file",
    .operands = "",
    .about =
        "Writes all that weir knows of nodes, GPUs, queues and workloads as one JSON document. "
        "Secrets are left out: no token, no variable of a job's environment.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .group = WEIR_GROUP_MANAGE,
    .is_client = true,
    .ask = snapshot,
};

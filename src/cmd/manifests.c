#include "cmd/manifests.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/tree.h"
#include "fmt/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void weir_manifests_init(struct weir_manifests *manifests)
{
    memset(manifests, 0, sizeof(*manifests));
    weir_buf_init(&manifests->text, WEIR_MANIFESTS_BYTES_MAX);
    weir_arena_init(&manifests->arena, 0);
}

void weir_manifests_finish(struct weir_manifests *manifests)
{
    weir_buf_finish(&manifests->text);
    weir_vec_finish(&manifests->files);
    weir_arena_finish(&manifests->arena);
}

/* ---- one text ---- */

/* Documents that hold something. */
static int count_documents(struct weir_str text, size_t *ret_n, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_yaml_stream stream = {0};
    int result = weir_yaml_read(text, WEIR_MANIFESTS_BYTES_MAX, &arena, &stream, err);

    *ret_n = 0;
    for (size_t i = 0; result == 0 && i < stream.n_documents; i++)
        *ret_n += stream.documents[i].root->kind != WEIR_TREE_NULL;
    return result;
}

/* What must stand before the text so that its first document begins there. */
static const char *separator_before(struct weir_str text)
{
    struct weir_str line;

    while (weir_str_split(&text, '\n', &line)) {
        struct weir_str trimmed = weir_str_trim(line);

        if (trimmed.len == 0 || trimmed.ptr[0] == '#')
            continue;
        /* Directives need the end of the document before them. */
        if (line.ptr[0] == '%')
            return "...\n";
        return weir_str_starts_with(line, WEIR_STR("---")) ? "" : "---\n";
    }
    return "";
}

static void add_lines(struct weir_manifests *manifests, struct weir_str text)
{
    for (size_t i = 0; i < text.len; i++)
        manifests->n_lines += text.ptr[i] == '\n';
    weir_buf_str(&manifests->text, text);
}

int weir_manifests_add_text(struct weir_manifests *manifests, const char *name,
                            struct weir_str text, struct weir_err *err)
{
    struct weir_manifest file = {.name = weir_arena_strndup(&manifests->arena, name, strlen(name))};
    size_t n_documents;
    int result = count_documents(text, &n_documents, err);

    if (result < 0)
        return result;
    if (weir_str_starts_with(text, WEIR_STR("\xef\xbb\xbf")))
        text = weir_str_sub(text, 3, text.len);
    if (manifests->files.n > 0)
        add_lines(manifests, weir_str(separator_before(text)));
    file.first_line = manifests->n_lines + 1;
    add_lines(manifests, text);
    if (!weir_str_ends_with(text, WEIR_STR("\n")))
        add_lines(manifests, WEIR_STR("\n"));
    manifests->n_documents += n_documents;
    if (file.name == NULL || weir_vec_push(&manifests->files, file) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the files");
    return weir_buf_check(&manifests->text, "what is to be applied", err);
}

const char *weir_manifests_find(const struct weir_manifests *manifests, uint32_t *line)
{
    for (size_t i = manifests->files.n; i > 0; i--) {
        const struct weir_manifest *file = &manifests->files.items[i - 1];

        if (*line < file->first_line)
            continue;
        *line -= file->first_line - 1;
        return file->name;
    }
    return NULL;
}

/* ---- files ---- */

static int add_file(struct weir_manifests *manifests, const char *name, int fd,
                    struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT(WEIR_MANIFESTS_BYTES_MAX);
    int result;

    if (weir_fd_read_all(fd, &text) < 0)
        return weir_error_errno(err, errno, "it cannot be read");
    result = weir_buf_check(&text, "the file", err);
    if (result == 0 && manifests->files.n == WEIR_MANIFESTS_FILES_MAX)
        result = weir_error(err, WEIR_E_TOO_LARGE, "more than %d files", WEIR_MANIFESTS_FILES_MAX);
    return result < 0 ? result
                      : weir_manifests_add_text(manifests, name, weir_buf_view(&text), err);
}

static int is_manifest(const struct dirent *entry)
{
    struct weir_str name = weir_str(entry->d_name);

    return name.ptr[0] != '.' && (weir_str_ends_with(name, WEIR_STR(".yaml")) ||
                                  weir_str_ends_with(name, WEIR_STR(".yml")) ||
                                  weir_str_ends_with(name, WEIR_STR(".json")));
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_entry(struct weir_manifests *manifests, int folder, const char *path,
                     const char *name, const char **ret_file, struct weir_err *err)
{
    weir_cleanup_fd int fd = -1;
    struct stat st;
    const char *full = weir_arena_printf(&manifests->arena, "%s/%s", path, name);

    if (full == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the files");
    *ret_file = full;
    if (fstatat(folder, name, &st, 0) == 0 && S_ISDIR(st.st_mode))
        return 0;
    fd = weir_fd_open_file(folder, name, 0, err);
    return fd < 0 ? fd : add_file(manifests, full, fd, err);
}

static int add_folder(struct weir_manifests *manifests, const char *path, int folder,
                      const char **ret_file, struct weir_err *err)
{
    struct dirent **entries = NULL;
    int n = scandirat(folder, ".", &entries, is_manifest, by_bytes);
    int result = 0;

    if (n < 0)
        return weir_error_errno(err, errno, "it cannot be read");
    if (n == 0) {
        weir_error(err, WEIR_E_INVALID, "there is nothing to apply");
        result = weir_error_hint(err, "the names must end in .yaml, .yml or .json");
    }
    for (int i = 0; i < n; i++) {
        if (result == 0)
            result = add_entry(manifests, folder, path, entries[i]->d_name, ret_file, err);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int weir_manifests_add(struct weir_manifests *manifests, const char *path, const char **ret_file,
                       struct weir_err *err)
{
    weir_cleanup_fd int fd = -1;

    *ret_file = path;
    if (strcmp(path, "-") == 0)
        return add_file(manifests, path, STDIN_FILENO, err);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        return add_folder(manifests, path, fd, ret_file, err);
    fd = weir_fd_open_file(AT_FDCWD, path, 0, err);
    if (fd == WEIR_E_INVALID)
        return weir_error_hint(err, "- reads standard input");
    return fd < 0 ? fd : add_file(manifests, path, fd, err);
}

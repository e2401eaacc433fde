/* json-bench [FOLDER]: reads a 60 MiB list of pods with the splitter and the reader, one pod at a
 * time, and with jansson in whole. Each run is a process of its own, so that its peak resident size
 * is its own; runs alternate; medians of five. Prints a JSON line per reader and one for the ratio.
 * Fails if the readers do not find the same. */
#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "json_bench_pods.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIST_BYTES = 60 * 1024 * 1024, CHUNK_BYTES = 64 * 1024, N_ROUNDS = 5 };

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    if (file != NULL)
        fclose(file);
    return kib;
}

static void add_name(struct bench_sums *sums, const char *name, size_t len)
{
    sums->pods++;
    sums->names += weir_hash_crc32c(0, name, len);
}

/* ---- weir ---- */

static void add_pod(const struct weir_tree *pod, struct bench_sums *sums)
{
    const struct weir_tree *name = weir_tree_path(pod, "metadata.name");
    const struct weir_tree *containers = weir_tree_path(pod, "spec.containers");

    add_name(sums, name->text.ptr, name->text.len);
    weir_tree_foreach (container, containers) {
        const struct weir_tree *limits = weir_tree_path(container, "resources.limits");
        const struct weir_tree *gpu = weir_tree_get(limits, "nvidia.com/gpu");
        uint64_t n = 0;

        if (gpu != NULL && weir_str_to_u64(gpu->text, &n))
            sums->gpus += n;
    }
}

static int run_weir(const char *path, struct bench_sums *sums, struct weir_err *err)
{
    static const struct weir_json_split_options options = {WEIR_JSON_SPLIT_LIST, 1024 * 1024,
                                                           64 * 1024};
    static char chunk[CHUNK_BYTES];
    struct weir_json_split split;
    struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_json_item item;
    struct weir_tree *tree;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    int got = 0;

    if (fd < 0)
        return weir_error(err, WEIR_E_IO, "cannot open '%s'", path);
    weir_json_split_init(&split, &options);
    while (got >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0) {
        weir_json_split_push(&split, weir_str_n(chunk, (size_t)n));
        while ((got = weir_json_split_next(&split, &item, err)) > 0) {
            weir_arena_reset(&arena);
            got = weir_json_read(item.text, &item.options, &arena, &tree, err);
            if (got < 0)
                break;
            add_pod(tree, sums);
        }
    }
    weir_json_split_end(&split);
    if (got == 0)
        got = weir_json_split_next(&split, &item, err);
    if (got == 0)
        got = weir_json_split_envelope(&split, &arena, &tree, err);
    if (got == 0 && !weir_str_eq_c(weir_tree_path(tree, "metadata.resourceVersion")->text, "9001"))
        got = weir_error(err, WEIR_E_INVALID, "wrong envelope");
    weir_json_split_finish(&split);
    weir_arena_finish(&arena);
    close(fd);
    return got;
}

/* ---- jansson ---- */

static size_t more(void *buffer, size_t len, void *data)
{
    const int *fd = data;
    ssize_t n = read(*fd, buffer, len);

    return n < 0 ? (size_t)-1 : (size_t)n;
}

static int run_jansson(const char *path, struct bench_sums *sums, struct weir_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    json_error_t fault;
    json_t *root;
    json_t *pod;
    json_t *container;
    size_t i;
    size_t j;

    root = json_load_callback(more, &fd, 0, &fault);
    if (root == NULL)
        return weir_error(err, WEIR_E_INVALID, "jansson: %s", fault.text);
    json_array_foreach(json_object_get(root, "items"), i, pod)
    {
        const char *name =
            json_string_value(json_object_get(json_object_get(pod, "metadata"), "name"));

        add_name(sums, name, strlen(name));
        json_array_foreach(json_object_get(json_object_get(pod, "spec"), "containers"), j,
                           container)
        {
            json_t *limits = json_object_get(json_object_get(container, "resources"), "limits");
            const char *gpu = json_string_value(json_object_get(limits, "nvidia.com/gpu"));

            if (gpu != NULL)
                sums->gpus += strtoull(gpu, NULL, 10);
        }
    }
    json_decref(root);
    close(fd);
    return 0;
}

/* ---- one run, in a process of its own ---- */

struct result {
    double cpu_ms;
    uint64_t peak_kib;
    struct bench_sums sums;
};

static int child(const char *reader, const char *path)
{
    struct result result = {0};
    struct weir_err err = WEIR_ERR_INIT;
    double begin = cpu_ms();
    int code = strcmp(reader, "weir") == 0 ? run_weir(path, &result.sums, &err)
                                           : run_jansson(path, &result.sums, &err);

    result.cpu_ms = cpu_ms() - begin;
    result.peak_kib = (uint64_t)peak_kib();
    if (code < 0) {
        fprintf(stderr, "%s: line %u, column %u: %s\n", reader, err.line, err.column, err.text);
        return 1;
    }
    return fwrite(&result, sizeof(result), 1, stdout) == 1 ? 0 : 1;
}

static int run(const char *reader, const char *path, struct result *ret_result)
{
    char command[8192];
    FILE *pipe;
    size_t n;

    snprintf(command, sizeof(command), "exec '/proc/%ld/exe' --run %s '%s'", (long)getpid(), reader,
             path);
    pipe = popen(command, "r");
    if (pipe == NULL)
        return -1;
    n = fread(ret_result, sizeof(*ret_result), 1, pipe);
    return pclose(pipe) == 0 && n == 1 ? 0 : -1;
}

static int compare_cpu(const void *a, const void *b)
{
    const struct result *x = a;
    const struct result *y = b;

    return (x->cpu_ms > y->cpu_ms) - (x->cpu_ms < y->cpu_ms);
}

static void print(const char *reader, struct result *results, uint64_t bytes)
{
    struct weir_buf out = WEIR_BUF_INIT(4096);
    struct weir_json_writer w;
    uint64_t peak = 0;

    qsort(results, N_ROUNDS, sizeof(*results), compare_cpu);
    for (int i = 0; i < N_ROUNDS; i++)
        peak = results[i].peak_kib > peak ? results[i].peak_kib : peak;
    weir_json_writer_init(&w, &out, false);
    weir_json_object_begin(&w);
    weir_json_key(&w, "reader");
    weir_json_text(&w, reader);
    weir_json_key(&w, "bytes");
    weir_json_u64(&w, bytes);
    weir_json_key(&w, "pods");
    weir_json_u64(&w, results[0].sums.pods);
    weir_json_key(&w, "gpus");
    weir_json_u64(&w, results[0].sums.gpus);
    weir_json_key(&w, "cpu_ms");
    weir_json_f64(&w, (double)(int64_t)(results[N_ROUNDS / 2].cpu_ms * 10) / 10);
    weir_json_key(&w, "cpu_ms_min");
    weir_json_f64(&w, (double)(int64_t)(results[0].cpu_ms * 10) / 10);
    weir_json_key(&w, "cpu_ms_max");
    weir_json_f64(&w, (double)(int64_t)(results[N_ROUNDS - 1].cpu_ms * 10) / 10);
    weir_json_key(&w, "mb_per_s");
    weir_json_u64(&w, (uint64_t)((double)bytes / 1e3 / results[N_ROUNDS / 2].cpu_ms));
    weir_json_key(&w, "peak_rss_kib");
    weir_json_u64(&w, peak);
    weir_json_object_end(&w);
    if (weir_json_writer_end(&w, "result", NULL) == 0)
        printf("%s\n", weir_buf_cstr(&out));
    weir_buf_finish(&out);
}

static int measure(const char *path, const struct bench_sums *expected, uint64_t bytes)
{
    static const char *const readers[] = {"weir", "jansson"};
    struct result results[2][N_ROUNDS];

    for (int round = 0; round < N_ROUNDS; round++) {
        for (int r = 0; r < 2; r++) {
            if (run(readers[r], path, &results[r][round]) < 0)
                return 1;
            if (memcmp(&results[r][round].sums, expected, sizeof(*expected)) != 0) {
                fprintf(stderr, "%s does not find what was written\n", readers[r]);
                return 1;
            }
        }
    }
    print(readers[0], results[0], bytes);
    print(readers[1], results[1], bytes);
    printf("{\"ratio\":%.2f}\n", results[1][N_ROUNDS / 2].cpu_ms / results[0][N_ROUNDS / 2].cpu_ms);
    return 0;
}

int main(int argc, char **argv)
{
    char path[4096];
    struct bench_sums sums;
    struct stat st;
    FILE *file;
    int result;

    if (argc == 4 && strcmp(argv[1], "--run") == 0)
        return child(argv[2], argv[3]);
    snprintf(path, sizeof(path), "%s/json-bench-pods.json", argc > 1 ? argv[1] : ".");
    file = fopen(path, "wb");
    if (file == NULL) {
        fprintf(stderr, "cannot write '%s'\n", path);
        return 1;
    }
    result = bench_write_pods(file, LIST_BYTES, &sums);
    if (fclose(file) != 0 || result < 0 || stat(path, &st) != 0)
        return 1;
    result = measure(path, &sums, (uint64_t)st.st_size);
    unlink(path);
    return result;
}

#include "api_fixture_impl.h"

#include "base/clock.h"
#include "base/count.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const api_admin_token = "admin-token-0123456789";
const char *const api_submit_token = "submit-token-0123456789";
const char *const api_read_token = "read-token-0123456789";

void api_must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "api fixture: %s failed (errno %d)\n", what, errno);
        abort();
    }
}

/* ---- the service ---- */

static void note_actor(struct api_fixture *f, const struct weir_actor *actor)
{
    static const char *const roles[] = {"read", "submit", "admin"};

    snprintf(f->asker, sizeof(f->asker), "%.*s %u %s", WEIR_STR_ARG(actor->user), actor->uid,
             roles[actor->role]);
}

static int take(struct api_fixture *f, struct weir_done done, uint64_t outcome,
                struct weir_err *err)
{
    struct api_done entry = {done, outcome};

    if (f->refuse != 0) {
        int code = f->refuse;

        f->refuse = 0;
        weir_error(err, code, "refused as told");
        weir_error_at(err, 3, 7);
        weir_error_field(err, "spec.gpus");
        return weir_error_hint(err, "tell it otherwise");
    }
    if (weir_vec_push(&f->dones, entry) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a done");
    return 0;
}

void api_begin(struct api_fixture *f)
{
    if (!f->in_transaction)
        api_must(f->store.begin(f->store.ctx, NULL) == 0, "begin");
    f->in_transaction = true;
}

static const struct weir_world *fake_world(void *ctx)
{
    return ((struct api_fixture *)ctx)->world;
}

static const struct weir_world *fake_plan_world(void *ctx)
{
    return ((struct api_fixture *)ctx)->plan_world;
}

static const struct weir_plan *fake_plan(void *ctx)
{
    return &((struct api_fixture *)ctx)->plan;
}

static const struct weir_store *fake_store(void *ctx)
{
    return &((struct api_fixture *)ctx)->store;
}

static const struct weir_cluster *fake_cluster(void *ctx)
{
    return &((struct api_fixture *)ctx)->cluster;
}

static const struct weir_policy *fake_policy(void *ctx)
{
    return &((struct api_fixture *)ctx)->policy;
}

static struct weir_service_counters fake_counters(void *ctx)
{
    (void)ctx;
    return (struct weir_service_counters){17, 2, 14, 1, 4096, true};
}

static bool fake_is_ready(void *ctx)
{
    return ((struct api_fixture *)ctx)->is_ready;
}

struct weir_service_eta {
    int64_t p50;
    int64_t p90;
    uint32_t takes_ms;
};

static int fake_eta_begin(void *ctx, uint64_t number, struct weir_service_eta **ret_eta,
                          struct weir_err *err)
{
    const struct api_fixture *f = ctx;

    if (f->eta_p50 == 0)
        return weir_error(err, WEIR_E_NOT_FOUND, "workload %llu does not wait",
                          (unsigned long long)number);
    *ret_eta = weir_mem_alloc(sizeof(**ret_eta));
    if (*ret_eta == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a simulation");
    **ret_eta = (struct weir_service_eta){f->eta_p50, f->eta_p90, f->eta_takes_ms};
    return 0;
}

static int fake_eta_run(struct weir_service_eta *eta, int64_t *ret_p50, int64_t *ret_p90,
                        bool *ret_is_assumed, struct weir_err *err)
{
    usleep(1000 * eta->takes_ms); /* the loop goes on meanwhile */
    if (eta->p90 == 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "too large to simulate");
    *ret_p50 = eta->p50;
    *ret_p90 = eta->p90;
    *ret_is_assumed = true;
    return 0;
}

static void fake_eta_end(struct weir_service_eta *eta)
{
    weir_mem_free(eta);
}

static int fake_submit(void *ctx, const struct weir_actor *actor, const struct weir_tree *doc,
                       struct weir_str key, struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;
    const struct weir_tree *name = weir_tree_path(doc, "metadata.name");
    char text[128];
    uint64_t number = 0;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "submit key=%.*s", WEIR_STR_ARG(key));
    if (name == NULL)
        return weir_tree_error(doc, err, "no name");
    snprintf(text, sizeof(text), "%.*s", WEIR_STR_ARG(name->text));
    if (f->refuse == 0)
        number = api_add(f, text, "default", 1, false);
    return take(f, done, number, err);
}

static int fake_apply(void *ctx, const struct weir_actor *actor,
                      const struct weir_tree *const *docs, uint32_t n_docs, bool dry_run,
                      struct weir_arena *arena, struct weir_apply_result **ret_results,
                      struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;
    struct weir_apply_result *results = weir_arena_new_n(arena, struct weir_apply_result, n_docs);

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "apply %u%s", n_docs, dry_run ? " dry" : "");
    if (results == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for results");
    for (uint32_t i = 0; i < n_docs; i++) {
        const struct weir_tree *kind = weir_tree_get(docs[i], "kind");
        const struct weir_tree *name = weir_tree_path(docs[i], "metadata.name");

        if (kind == NULL || name == NULL)
            return weir_tree_error(docs[i], err, "not a resource");
        results[i] = (struct weir_apply_result){.kind = kind->text,
                                                .name = name->text,
                                                .applied = (enum weir_applied)(i % 3),
                                                .shortfall = {.resource = WEIR_NONE}};
        if (!weir_str_eq_c(kind->text, "Workload"))
            continue;
        results[i].number = 7 + i;
        results[i].assumed = weir_tree_get(docs[i], "metadata");
    }
    *ret_results = results;
    return take(f, done, 0, err);
}

static int fake_delete_queue(void *ctx, const struct weir_actor *actor, struct weir_str name,
                             struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "delete %.*s", WEIR_STR_ARG(name));
    return take(f, done, 0, err);
}

static int fake_delete_setup(void *ctx, const struct weir_actor *actor, struct weir_str name,
                             struct weir_done done, struct weir_err *err)
{
    (void)ctx;
    (void)actor;
    (void)done;
    return weir_error(err, WEIR_E_NOT_FOUND, "there is no GPU setup '%.*s'", WEIR_STR_ARG(name));
}

static int fake_delete_gpu(void *ctx, const struct weir_actor *actor, struct weir_str name,
                           struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "delete gpu %.*s", WEIR_STR_ARG(name));
    return take(f, done, 0, err);
}

static int fake_cancel(void *ctx, const struct weir_actor *actor, uint64_t number,
                       struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "cancel %llu", (unsigned long long)number);
    return take(f, done, number, err);
}

static int fake_signal(void *ctx, const struct weir_actor *actor, uint64_t number,
                       int signal_number, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "signal %llu %d", (unsigned long long)number,
             signal_number);
    if (f->refuse != 0)
        return weir_error(err, f->refuse, "refused as told");
    return 0;
}

static int fake_set_phase(void *ctx, const struct weir_actor *actor, enum weir_subject kind,
                          struct weir_str name, enum weir_node_phase phase, bool without_test,
                          struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "phase %s %.*s %s%s",
             kind == WEIR_SUBJECT_NODE ? "node" : "gpu", WEIR_STR_ARG(name),
             weir_node_phase_name(phase), without_test ? " untested" : "");
    return take(f, done, 0, err);
}

/* "wrong" in the second line is so. */
static int fake_befall(void *ctx, const struct weir_actor *actor, struct weir_str faults,
                       struct weir_done done, struct weir_err *err)
{
    struct api_fixture *f = ctx;

    note_actor(f, actor);
    snprintf(f->asked, sizeof(f->asked), "befall %.*s", WEIR_STR_ARG(faults));
    if (weir_str_find(faults, WEIR_STR("wrong")) < 0)
        return take(f, done, 0, err);
    weir_error(err, WEIR_E_NOT_FOUND, "no such thing");
    return weir_error_at(err, 2, 7);
}

static const struct weir_gpu_device *fake_gpu(void *ctx, struct weir_str uuid,
                                              struct weir_arena *arena)
{
    const struct api_fixture *f = ctx;

    (void)arena;
    return f->gpu != NULL && weir_str_eq(f->gpu->uuid, uuid) ? f->gpu : NULL;
}

static bool fake_fault(void *ctx, struct weir_str uuid, struct weir_arena *arena,
                       struct weir_mark_record *ret_mark)
{
    const struct api_fixture *f = ctx;

    (void)arena;
    if (f->mark == NULL || !weir_str_eq(f->mark->key, uuid))
        return false;
    *ret_mark = *f->mark;
    return true;
}

static bool fake_process(void *ctx, struct weir_str uuid, uint32_t pid,
                         struct weir_service_process *ret_process)
{
    const struct api_fixture *f = ctx;

    if (f->gpu == NULL || !weir_str_eq(f->gpu->uuid, uuid) || pid != f->known_pid)
        return false;
    *ret_process = f->known_process;
    return true;
}

struct api_output *api_find_output(struct api_fixture *f, uint64_t number, uint32_t member,
                                   uint32_t attempt, enum weir_stream stream)
{
    for (uint32_t i = 0; i < f->n_outputs; i++) {
        struct api_output *o = &f->outputs[i];

        if (o->number == number && o->member == member && o->attempt == attempt &&
            o->stream == stream)
            return o;
    }
    return NULL;
}

static int fake_read_output(void *ctx, uint64_t number, uint32_t member, uint32_t attempt,
                            enum weir_stream stream, uint64_t offset, size_t max,
                            uint64_t *ret_first, struct weir_buf *out, struct weir_err *err)
{
    struct api_fixture *f = ctx;
    const struct api_output *o = api_find_output(f, number, member, attempt, stream);
    uint64_t at;

    f->n_reads++;
    if (o == NULL)
        return weir_error(err, WEIR_E_NOT_FOUND, "nothing was written");
    *ret_first = o->first;
    at = offset > o->first ? offset - o->first : 0;
    if (at >= o->data.len)
        return 0;
    weir_buf_str(out, weir_str_sub(weir_buf_view(&o->data), at, max));
    return 0;
}

/* ---- life ---- */

static void make_service(struct api_fixture *f)
{
    f->cluster = (struct weir_cluster){.ctx = f, .read_output = fake_read_output};
    f->policy = weir_policy_default();
    f->service = (struct weir_service){
        .ctx = f,
        .world = fake_world,
        .plan = fake_plan,
        .plan_world = fake_plan_world,
        .store = fake_store,
        .cluster = fake_cluster,
        .eta_begin = fake_eta_begin,
        .eta_run = fake_eta_run,
        .eta_end = fake_eta_end,
        .is_ready = fake_is_ready,
        .policy = fake_policy,
        .counters = fake_counters,
        .submit = fake_submit,
        .apply = fake_apply,
        .delete_queue = fake_delete_queue,
        .delete_setup = fake_delete_setup,
        .delete_gpu = fake_delete_gpu,
        .cancel = fake_cancel,
        .signal = fake_signal,
        .set_phase = fake_set_phase,
        .befall = fake_befall,
        .gpu = fake_gpu,
        .fault = fake_fault,
        .process = fake_process,
    };
}

static void write_tokens(const char *path)
{
    FILE *file = fopen(path, "we");

    api_must(file != NULL && fchmod(fileno(file), 0600) == 0, "tokens");
    fprintf(file, "# for tests\n%s admin ada\n%s submit sam\n%s read rea\n", api_admin_token,
            api_submit_token, api_read_token);
    fclose(file);
}

void api_fixture_init(struct api_fixture *f, const char *host)
{
    char path[128];
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_api_config config;

    memset(f, 0, sizeof(*f));
    snprintf(f->dir, sizeof(f->dir), "/tmp/weir-api-XXXXXX");
    api_must(mkdtemp(f->dir) != NULL, "mkdtemp");
    snprintf(f->socket, sizeof(f->socket), "%s/s", f->dir);
    snprintf(f->tokens, sizeof(f->tokens), "%s/tokens", f->dir);
    snprintf(path, sizeof(path), "%s/store", f->dir);
    api_must(weir_sqlite_open(path, &f->sqlite, &f->store, &err) == 0, err.text);
    make_service(f);
    api_make_world(f);
    write_tokens(f->tokens);
    f->is_ready = true;
    api_must(uv_loop_init(&f->loop) == 0, "loop");
    config = (struct weir_api_config){.tokens_path = f->tokens,
                                      .host = host,
                                      .version_text = "weir with tests inside",
                                      .uid = getuid(),
                                      .gid = getgid()};
    api_must(f->store.commit(f->store.ctx, true, &err) == 0, err.text);
    f->in_transaction = false;
    api_must(weir_api_create(&f->loop, &config, &f->service, &f->api, &err) == 0, err.text);
    api_must(weir_api_listen_unix(f->api, f->socket, &err) == 0, err.text);
    api_must(weir_api_listen_tcp(f->api, "127.0.0.1:0", &f->port, &err) == 0, err.text);
    api_tick(f);
}

static void note_closed(void *ctx)
{
    ((struct api_fixture *)ctx)->is_closed = true;
}

void api_fixture_finish(struct api_fixture *f)
{
    static const char *const files[] = {"store", "store-wal", "store-shm", "tokens"};
    char path[160];
    int64_t until = weir_clock_mono_ms() + API_PATIENCE_MS;

    weir_api_shutdown(f->api, 0, note_closed, f);
    while (!f->is_closed) {
        api_turn(f);
        api_must(weir_clock_mono_ms() < until, "shutdown in time");
    }
    api_turn(f);
    api_must(uv_loop_close(&f->loop) == 0, "close the loop");
    for (size_t i = 0; i < f->dones.n; i++)
        f->dones.items[i].done.fn(f->dones.items[i].done.arg, WEIR_E_UNAVAILABLE, 0, NULL);
    weir_vec_finish(&f->dones);
    weir_world_unref(f->world);
    weir_world_unref(f->plan_world);
    weir_edit_destroy(f->edit);
    weir_sqlite_close(f->sqlite);
    for (uint32_t i = 0; i < f->n_outputs; i++)
        weir_buf_finish(&f->outputs[i].data);
    for (size_t i = 0; i < WEIR_COUNT_OF(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->dir, files[i]);
        unlink(path);
    }
    api_must(rmdir(f->dir) == 0, "removal of the folder");
}

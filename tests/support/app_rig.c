#include "app_rig_store.h"

#include "app/schemas.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/log.h"
#include "fmt/json.h"
#include "model/world_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct weir_actor app_ana = {{"ana", 3}, 1000, 1000, WEIR_ROLE_SUBMIT};
const struct weir_actor app_root = {{"root", 4}, 0, 0, WEIR_ROLE_ADMIN};

void app_must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "the rig fails: %s\n", what);
    abort();
}

static struct weir_now read_clock(void *ctx)
{
    return ((struct app_rig *)ctx)->now;
}

/* ---- devices ---- */

/* The newest sample of one device, in the arena; NULL: no memory. */
static const struct weir_gpu_sample *sample_of(const struct app_rig *rig, uint32_t gpu,
                                               struct weir_arena *arena)
{
    struct weir_gpu_sample *sample = weir_arena_new(arena, struct weir_gpu_sample);
    struct weir_gpu_process *processes =
        weir_arena_new_n(arena, struct weir_gpu_process, RIG_PROCESSES_MAX);

    if (sample == NULL || processes == NULL)
        return NULL;
    *sample = (struct weir_gpu_sample){.read_ms = rig->sample_ms,
                                       .has_processes = true,
                                       .processes = processes};
    for (uint32_t i = 0; i < rig->n_processes; i++) {
        const struct app_process *from = &rig->processes[i];

        if (from->gpu == gpu)
            processes[sample->n_processes++] = (struct weir_gpu_process){
                .pid = from->pid,
                .kinds = from->only_draws ? WEIR_GPU_PROCESS_GRAPHICS : WEIR_GPU_PROCESS_COMPUTE,
                .valid = from->bytes >= 0 ? WEIR_GPU_PROCESS_HAS_MEMORY : 0,
                .used_bytes = from->bytes,
                .gpu_instance = WEIR_GPU_NO_INSTANCE,
                .compute_instance = WEIR_GPU_NO_INSTANCE,
            };
    }
    return sample;
}

static int list_gpus(void *ctx, struct weir_arena *arena, struct weir_gpu_device **ret_devices,
                     uint32_t *ret_n, struct weir_err *err)
{
    static const char *const uuids[RIG_GPUS] = {"GPU-0", "GPU-1", "GPU-2", "GPU-3"};
    static const char *const places[RIG_GPUS] = {"0000:00:00.0", "0000:01:00.0", "0000:02:00.0",
                                                 "0000:03:00.0"};
    struct app_rig *rig = ctx;
    struct weir_gpu_device *devices;
    uint32_t n = 0;

    if (rig->list_result < 0)
        return weir_error(err, rig->list_result, "the driver does not answer");
    devices = weir_arena_new_n(arena, struct weir_gpu_device, RIG_GPUS);
    if (devices == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for devices");
    for (uint32_t i = 0; i < RIG_GPUS; i++)
        if (!rig->gpu_is_absent[i]) {
            devices[n] =
                (struct weir_gpu_device){.uuid = weir_str(uuids[i]),
                                         .name = WEIR_STR("NVIDIA H100"),
                                         .class = WEIR_STR("h100-sxm"),
                                         .index = rig->gpus_count_on ? n : i,
                                         .read_ms = rig->sample_ms,
                                         .pci = weir_str(rig->shows_pci ? places[i] : ""),
                                         .state = rig->gpu_is_lost[i] ? WEIR_GPU_LOST
                                                  : rig->gpu_hangs[i] ? WEIR_GPU_HUNG
                                                                      : WEIR_GPU_READY,
                                         .valid = WEIR_GPU_HAS_MEMORY | WEIR_GPU_HAS_COMPUTE_MODE |
                                                  WEIR_GPU_HAS_COMPUTE_CAPABILITY,
                                         .compute_major = rig->gpu_major,
                                         .compute_mode = rig->gpu_is_exclusive[i] ? 3 : 0,
                                         .memory_total_bytes =
                                             rig->gpu_hides_memory ? 0 : RIG_GPU_BYTES};
            n++;
        }
    for (uint32_t i = 0; rig->sample_ms > 0 && i < n; i++) {
        devices[i].sample = sample_of(rig, devices[i].index, arena);
        if (devices[i].sample == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a sample");
    }
    *ret_devices = devices;
    *ret_n = n;
    return 0;
}

/* ---- the cluster ---- */

static struct app_attempt *find_attempt(struct app_rig *rig, const struct weir_cluster_ref *ref)
{
    for (uint32_t i = 0; i < rig->n_attempts; i++)
        if (rig->attempts[i].ref.serial == ref->serial)
            return &rig->attempts[i];
    return NULL;
}

static struct app_attempt *make_attempt(struct app_rig *rig, const struct weir_cluster_ref *ref)
{
    struct app_attempt *attempt;

    app_must(rig->n_attempts < RIG_ATTEMPTS_MAX, "too many attempts");
    attempt = &rig->attempts[rig->n_attempts++];
    *attempt = (struct app_attempt){.ref = *ref};
    return attempt;
}

static int launch(void *ctx, const struct weir_cluster_launch *launch, struct weir_err *err)
{
    struct app_rig *rig = ctx;
    struct app_attempt *attempt;

    rig->n_launches++;
    if (rig->launch_result < 0)
        return weir_error(err, rig->launch_result, "it does not start");
    if (rig->swallows)
        return 0;
    app_must(find_attempt(rig, &launch->ref) == NULL, "an attempt is launched twice");
    attempt = make_attempt(rig, &launch->ref);
    attempt->number = launch->number;
    attempt->member = launch->member;
    attempt->attempt = launch->attempt;
    attempt->was_launched = true;
    for (const char *const *e = launch->envp; *e != NULL; e++)
        if (strncmp(*e, "CUDA_VISIBLE_DEVICES=", 21) == 0)
            snprintf(attempt->devices, sizeof(attempt->devices), "%s", *e + 21);
        else if (strncmp(*e, "WEIR_GPU_MEMORY_BYTES=", 22) == 0)
            attempt->budget_bytes = strtoll(*e + 22, NULL, 10);
        else if (strncmp(*e, "CUDA_MPS_", 9) == 0)
            snprintf(attempt->mps + strlen(attempt->mps),
                     sizeof(attempt->mps) - strlen(attempt->mps), "%s\n", *e);
    return 0;
}

static int look(void *ctx, const struct weir_cluster_ref *ref, struct weir_cluster_facts *ret_facts,
                struct weir_err *err)
{
    struct app_rig *rig = ctx;
    const struct app_attempt *attempt = find_attempt(rig, ref);

    if (rig->look_result < 0)
        return weir_error(err, rig->look_result, "cannot tell");
    *ret_facts = attempt != NULL ? attempt->facts : (struct weir_cluster_facts){0};
    return 0;
}

static int settle(void *ctx, const struct weir_cluster_ref *ref,
                  struct weir_cluster_facts *ret_facts, struct weir_err *err)
{
    struct app_rig *rig = ctx;
    struct app_attempt *attempt = find_attempt(rig, ref);

    if (rig->look_result < 0)
        return weir_error(err, rig->look_result, "cannot tell");
    if (attempt == NULL)
        attempt = make_attempt(rig, ref);
    if (attempt->facts.phase == WEIR_SEEN_NOTHING)
        attempt->facts =
            (struct weir_cluster_facts){.phase = WEIR_SEEN_ENDED, .end = WEIR_END_NOT_STARTED};
    *ret_facts = attempt->facts;
    return 0;
}

static int command(void *ctx, const struct weir_cluster_ref *ref, enum weir_cluster_command command,
                   int signal_number, int64_t grace_ms, struct weir_err *err)
{
    struct app_rig *rig = ctx;
    struct app_attempt *attempt = find_attempt(rig, ref);

    (void)signal_number;
    (void)grace_ms;
    if (rig->command_result < 0)
        return weir_error(err, rig->command_result, "it cannot be told");
    if (attempt == NULL || attempt->facts.phase == WEIR_SEEN_NOTHING)
        return weir_error(err, WEIR_E_UNAVAILABLE, "it has not begun");
    if (attempt->facts.phase == WEIR_SEEN_ENDED)
        return weir_error(err, WEIR_E_NOT_FOUND, "it is gone");
    attempt->n_stops += command == WEIR_CLUSTER_STOP;
    attempt->n_checkpoints += command == WEIR_CLUSTER_CHECKPOINT;
    attempt->n_signals += command == WEIR_CLUSTER_SIGNAL;
    return 0;
}

static int notice_fd(void *ctx)
{
    (void)ctx;
    return -1;
}

static int notices(void *ctx, void (*each)(void *arg, uint64_t serial), void *arg,
                   struct weir_err *err)
{
    struct app_rig *rig = ctx;

    (void)err;
    for (uint32_t i = 0; i < rig->n_attempts; i++) {
        if (!rig->attempts[i].noticed)
            continue;
        rig->attempts[i].noticed = false;
        each(arg, rig->attempts[i].ref.serial);
    }
    return 0;
}

static void release(void *ctx, const struct weir_cluster_ref *ref)
{
    struct app_attempt *attempt = find_attempt(ctx, ref);

    if (attempt != NULL)
        attempt->is_released = true;
}

static int new_ref(void *ctx, struct weir_cluster_ref *ret_ref, struct weir_err *err)
{
    struct app_rig *rig = ctx;

    (void)err;
    rig->next_serial++;
    *ret_ref = (struct weir_cluster_ref){rig->next_serial, rig->next_serial * 7919,
                                         (uint32_t)rig->next_serial};
    return 0;
}

static void forget(void *ctx)
{
    (void)ctx;
}

static int adopt(void *ctx, const struct weir_cluster_ref *ref, struct weir_err *err)
{
    (void)err;
    app_must(ref->serial > 0 && ref->serial <= ((struct app_rig *)ctx)->next_serial,
             "an attempt is adopted that nobody made");
    return 0;
}

static int owners(void *ctx, const uint32_t *pids, size_t n, struct weir_cluster_owner *ret_owners,
                  struct weir_err *err)
{
    struct app_rig *rig = ctx;

    if (rig->owners_result < 0)
        return weir_error(err, rig->owners_result, "whose they are cannot be told");
    for (size_t i = 0; i < n; i++) {
        ret_owners[i] = (struct weir_cluster_owner){.uid = 1000};
        for (uint32_t p = 0; p < rig->n_processes; p++)
            ret_owners[i].is_gone |= rig->processes[p].pid == pids[i] && rig->processes[p].is_gone;
        for (uint32_t a = 0; a < rig->n_attempts; a++)
            if (rig->attempts[a].facts.pid == pids[i] &&
                rig->attempts[a].facts.phase == WEIR_SEEN_RUNNING)
                ret_owners[i].serial = rig->attempts[a].ref.serial;
    }
    return 0;
}

/* ---- coming and going ---- */

static void set_up_server(struct app_rig *rig)
{
    struct weir_server *server = &rig->server;

    *server = (struct weir_server){.policy = weir_policy_default(),
                                   .boot_id = {1},
                                   .output_max_bytes = 1 << 20,
                                   .keep_ended_ms = 1000,
                                   .seed = 42};
    snprintf(server->node_name, sizeof(server->node_name), "alpha");
    server->store = app_rig_wrap_store(rig);
    server->clock = (struct weir_clock){rig, read_clock};
    server->gpu = (struct weir_gpu_port){.ctx = rig, .list = list_gpus};
    if (rig->own_gpus != NULL)
        server->gpu = *rig->own_gpus;
    server->cluster = (struct weir_cluster){.ctx = rig,
                                            .launch = launch,
                                            .look = look,
                                            .settle = settle,
                                            .command = command,
                                            .notice_fd = notice_fd,
                                            .notices = notices,
                                            .release = release,
                                            .new_ref = new_ref,
                                            .forget = forget,
                                            .adopt = adopt,
                                            .owners = owners};
    weir_server_service(server, &rig->service);
}

static void open_store(struct app_rig *rig)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/weir.db", rig->dir);
    app_must(weir_sqlite_open(path, &rig->sqlite, &rig->real, NULL) == 0, "open the store");
}

void app_rig_init(struct app_rig *rig)
{
    static bool is_loaded;
    struct weir_err err = WEIR_ERR_INIT;

    if (!is_loaded)
        app_must(weir_schemas_load(NULL) == 0, "schemas");
    is_loaded = true;
    weir_log_set_fd(-1);
    *rig = (struct app_rig){.now = {1700000000000, 1000}, .fail_at = -1};
    /* In memory where that can be had: these tests commit thousands of times. */
    snprintf(rig->dir, sizeof(rig->dir), "/dev/shm/weir-app-XXXXXX");
    if (mkdtemp(rig->dir) == NULL) {
        snprintf(rig->dir, sizeof(rig->dir), "/tmp/weir-app-XXXXXX");
        app_must(mkdtemp(rig->dir) != NULL, "a folder");
    }
    open_store(rig);
    set_up_server(rig);
    if (weir_server_load(&rig->server, &err) < 0 || weir_server_first_run(&rig->server, &err) < 0)
        app_must(false, err.text);
    rig->n_writes = 0;
}

static void drop_server(struct app_rig *rig)
{
    rig->real.rollback(rig->real.ctx);
    weir_server_unload(&rig->server);
    weir_server_forget_reshapes(&rig->server);
    for (int i = 0; i < 2; i++)
        weir_arena_finish(&rig->server.plan_arenas[i]);
    weir_vec_finish(&rig->server.dones);
}

void app_rig_finish(struct app_rig *rig)
{
    static const char *const names[] = {"weir.db", "weir.db-wal", "weir.db-shm"};
    char path[96];

    drop_server(rig);
    rig->sqlite = weir_sqlite_close(rig->sqlite);
    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", rig->dir, names[i]);
        (void)remove(path);
    }
    (void)remove(rig->dir);
}

int app_rig_try_crash(struct app_rig *rig)
{
    drop_server(rig);
    set_up_server(rig);
    return weir_server_load(&rig->server, NULL);
}

void app_rig_crash(struct app_rig *rig)
{
    struct weir_err err = WEIR_ERR_INIT;

    drop_server(rig);
    rig->sqlite = weir_sqlite_close(rig->sqlite);
    open_store(rig);
    set_up_server(rig);
    if (weir_server_load(&rig->server, &err) < 0)
        app_must(false, err.text);
    app_rig_check(rig);
}

/* ---- ticks ---- */

static bool is_on_device(const struct app_attempt *attempt)
{
    return attempt->was_launched && attempt->facts.phase != WEIR_SEEN_ENDED;
}

/* What others than `own` that live have a device in hand with: their budgets on it. */
static int64_t budgets_beside(const struct app_rig *rig, uint32_t own, struct weir_str device)
{
    bool shares = rig->attempts[own].budget_bytes > 0;
    int64_t sum = 0;

    for (uint32_t i = 0; i < rig->n_attempts; i++) {
        const struct app_attempt *other = &rig->attempts[i];

        if (i == own || !is_on_device(other) || weir_str_find(weir_str(other->devices), device) < 0)
            continue;
        app_must(shares && other->budget_bytes > 0, "a device is in two hands");
        sum += other->budget_bytes;
    }
    return sum;
}

/* No two live attempts have a device in common, unless both have budgets on it. */
static void check_hands(const struct app_rig *rig)
{
    for (uint32_t i = 0; i < rig->n_attempts; i++) {
        struct weir_str rest = weir_str(rig->attempts[i].devices);
        struct weir_str device;

        if (!is_on_device(&rig->attempts[i]))
            continue;
        while (rest.len > 0 && weir_str_split(&rest, ',', &device))
            app_must(budgets_beside(rig, i, device) + rig->attempts[i].budget_bytes <=
                         RIG_GPU_BYTES,
                     "more is promised of a device than it has");
    }
}

void app_rig_check(struct app_rig *rig)
{
    struct weir_err err = WEIR_ERR_INIT;

    check_hands(rig);
    if (rig->server.edit == NULL)
        return;
    if (weir_world_check(rig->server.world, &err) < 0 ||
        weir_world_check(weir_edit_view(rig->server.edit), &err) < 0)
        app_must(false, err.text);
}

int app_rig_tick(struct app_rig *rig)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r = weir_server_tick(&rig->server, &err);

    app_must(r == 0 || err.code == r, "a tick fails with another error than it says");
    app_must(!rig->server.in_transaction, "a tick leaves a transaction open");
    app_rig_check(rig);
    return r;
}

void app_rig_pass(struct app_rig *rig, int64_t ms)
{
    rig->now.wall_ms += ms;
    rig->now.mono_ms += ms;
}

/* ---- what uses the GPUs ---- */

void app_rig_use(struct app_rig *rig, uint32_t gpu, uint32_t pid, int64_t bytes)
{
    uint32_t at = 0;

    while (at < rig->n_processes &&
           (rig->processes[at].gpu != gpu || rig->processes[at].pid != pid))
        at++;
    if (at == rig->n_processes)
        rig->n_processes++;
    app_must(rig->n_processes <= RIG_PROCESSES_MAX, "too many processes");
    rig->processes[at] = (struct app_process){.gpu = gpu, .pid = pid, .bytes = bytes};
    if (bytes == 0)
        rig->processes[at] = rig->processes[--rig->n_processes];
}

void app_rig_sample(struct app_rig *rig)
{
    app_rig_pass(rig, 1000);
    rig->sample_ms = rig->now.mono_ms;
    if (rig->server.edit != NULL) /* else the tick loads, and looks */
        weir_server_look_at_use(&rig->server);
    app_rig_check(rig);
    if (rig->server.dirty || rig->server.failed < 0)
        app_rig_tick(rig);
}

void app_rig_test_gpus(struct app_rig *rig)
{
    for (int i = 0; i < 6; i++) {
        app_rig_sample(rig);
        app_rig_tick(rig);
    }
}

/* ---- asking ---- */

static void on_done(void *arg, int result, uint64_t outcome, const struct weir_err *err)
{
    struct app_rig *rig = arg;

    app_must(result == 0 || (err != NULL && err->text[0] != '\0'), "a failure without a reason");
    app_must(rig->n_answers < RIG_ANSWERS_MAX, "too many answers");
    rig->answers[rig->n_answers++] = (struct app_answer){result, outcome};
}

struct weir_done app_done(struct app_rig *rig)
{
    return (struct weir_done){on_done, rig};
}

int app_rig_submit(struct app_rig *rig, const char *spec, const char *key, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_tree *doc;
    char text[2048];
    int r;

    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Workload\",\"spec\":%s}", spec);
    r = weir_json_read(weir_str(text), NULL, &arena, &doc, err);
    if (r < 0)
        return r;
    return rig->service.submit(rig->service.ctx, &app_ana, doc, weir_str(key), app_done(rig), err);
}

int app_rig_apply(struct app_rig *rig, const char *text, bool dry_run, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_apply_result *results;
    const struct weir_tree *docs[16];
    struct weir_tree *list;
    uint32_t n = 0;
    int r = weir_json_read(weir_str(text), NULL, &arena, &list, err);

    if (r < 0)
        return r;
    for (const struct weir_tree *doc = list->first; doc != NULL && n < 16; doc = doc->next)
        docs[n++] = doc;
    return rig->service.apply(rig->service.ctx, &app_root, docs, n, dry_run, &arena, &results,
                              app_done(rig), err);
}

/* ---- what happens ---- */

struct app_attempt *app_rig_attempt(struct app_rig *rig, uint64_t number, uint32_t member)
{
    for (uint32_t i = rig->n_attempts; i-- > 0;)
        if (rig->attempts[i].was_launched && rig->attempts[i].number == number &&
            rig->attempts[i].member == member)
            return &rig->attempts[i];
    return NULL;
}

void app_rig_begin_all(struct app_rig *rig)
{
    for (uint32_t i = 0; i < rig->n_attempts; i++) {
        struct app_attempt *attempt = &rig->attempts[i];

        if (!attempt->was_launched || attempt->facts.phase != WEIR_SEEN_NOTHING)
            continue;
        attempt->facts.phase = WEIR_SEEN_RUNNING;
        attempt->facts.pid = 1000 + i;
        attempt->facts.started_wall_ms = rig->now.wall_ms;
        attempt->noticed = true;
    }
}

void app_rig_end(struct app_rig *rig, struct app_attempt *attempt, enum weir_end end, int status)
{
    app_must(attempt != NULL && attempt->facts.phase != WEIR_SEEN_ENDED, "nothing to end");
    attempt->facts.phase = WEIR_SEEN_ENDED;
    attempt->facts.end = end;
    attempt->facts.exit_status = status;
    attempt->facts.ended_wall_ms = rig->now.wall_ms;
    attempt->noticed = true;
}

void app_rig_end_all(struct app_rig *rig)
{
    for (uint32_t i = 0; i < rig->n_attempts; i++) {
        struct app_attempt *attempt = &rig->attempts[i];

        if (attempt->facts.phase == WEIR_SEEN_RUNNING)
            app_rig_end(rig, attempt,
                        attempt->n_stops + attempt->n_checkpoints > 0 ? WEIR_END_STOPPED
                                                                      : WEIR_END_EXITED,
                        0);
    }
}

/* ---- looking ---- */

static int print_record(void *arg, const struct weir_workload_record *w)
{
    snprintf(arg, 256, "%s attempt=%u exit=%d failures=%u gpus=%.*s node=%.*s",
             weir_task_state_name((enum weir_task_state)w->state), w->attempt, w->exit_status,
             w->n_failures, WEIR_STR_ARG(w->gpus), WEIR_STR_ARG(w->node));
    return 0;
}

const char *app_rig_record(struct app_rig *rig, uint64_t number)
{
    static char text[256];

    if (rig->real.get_workload(rig->real.ctx, number, print_record, text, NULL) < 0)
        snprintf(text, sizeof(text), "none");
    return text;
}

struct printing {
    const char *subject;
    char *text;
    size_t size;
    size_t n;
};

static int print_event(void *arg, const struct weir_event_record *e)
{
    struct printing *printing = arg;

    if (!weir_str_eq_c(e->subject, printing->subject))
        return 0;
    printing->n +=
        (size_t)snprintf(printing->text + printing->n, printing->size - printing->n,
                         "%.*s:%.*s:%.*s>%.*s\n", WEIR_STR_ARG(e->kind), WEIR_STR_ARG(e->cause),
                         WEIR_STR_ARG(e->before), WEIR_STR_ARG(e->after));
    app_must(printing->n < printing->size, "too many events");
    return 0;
}

const char *app_rig_events(struct app_rig *rig, const char *subject)
{
    static char text[8192];
    struct printing printing = {subject, text, sizeof(text), 0};
    struct weir_event_filter all = {.until = INT64_MAX, .limit = UINT32_MAX};

    text[0] = '\0';
    app_must(rig->real.each_event(rig->real.ctx, &all, print_event, &printing, NULL) == 0,
             "events");
    return text;
}

uint32_t app_rig_n_live(const struct app_rig *rig)
{
    return weir_edit_view(rig->server.edit)->tables[WEIR_TABLE_WORKLOADS].n_live;
}

/* What people ask for. Each function checks everything first, then writes into the tick's
 * transaction and the edit; a write that fails half-way fails the whole transaction
 * (transaction.c), so nothing is ever half applied. */
#include "app/service_impl.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "core/sim/eta.h"

enum { ETA_STEPS_MAX = 2000 };
#define ETA_HORIZON_MS ((int64_t)30 * 24 * 3600 * 1000)

/* ---- common ---- */

int weir_service_check_ready(const struct weir_server *server, struct weir_err *err)
{
    if (server->edit != NULL)
        return 0;
    weir_error(err, WEIR_E_UNAVAILABLE, "weir cannot read its store at the moment");
    weir_error_hint(err, "it tries again every second; its log says why");
    return WEIR_E_UNAVAILABLE;
}

int weir_service_check_role(const struct weir_actor *actor, enum weir_actor_role role,
                            const char *what, struct weir_err *err)
{
    if (actor->role >= role)
        return 0;
    weir_error(err, WEIR_E_DENIED, "%.*s may not %s", WEIR_STR_ARG(actor->user), what);
    weir_error_hint(err, "it takes the role %s", role == WEIR_ROLE_ADMIN ? "admin" : "submit");
    return WEIR_E_DENIED;
}

uint32_t weir_service_find_queue(const struct weir_server *server, struct weir_str name)
{
    struct weir_key key;

    weir_hash_key128(WEIR_STR("queue"), name, key.bytes);
    return weir_edit_find(server->edit, WEIR_TABLE_QUEUES, &key);
}

/* Not found, with the nearest name of a queue. */
int weir_service_no_queue(const struct weir_server *server, int code, struct weir_str name,
                          struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);
    struct weir_str names[64];
    size_t n = 0;
    ptrdiff_t nearest;

    for (uint32_t q = weir_world_first(world, WEIR_TABLE_QUEUES); q != WEIR_NONE && n < 64;
         q = weir_world_after(world, WEIR_TABLE_QUEUES, q))
        names[n++] = weir_world_string(world, weir_world_queue(world, q)->name);
    nearest = weir_str_nearest(name, names, n);
    weir_error(err, code, "there is no queue '%.*s'", WEIR_STR_ARG(name));
    if (nearest >= 0)
        weir_error_hint(err, "did you mean '%.*s'?", WEIR_STR_ARG(names[nearest]));
    else
        weir_error_hint(err, "`weir get queues` lists them");
    return code;
}

uint32_t weir_service_find_workload(const struct weir_server *server, uint64_t number)
{
    struct weir_key key = weir_key_of_number(server->store.space, number);

    return weir_edit_find(server->edit, WEIR_TABLE_WORKLOADS, &key);
}

struct weir_str weir_service_actor_name(const struct weir_actor *actor, char *text, size_t size)
{
    snprintf(text, size, "user:%.*s", WEIR_STR_ARG(actor->user));
    return weir_str(text);
}

int weir_service_event(struct weir_server *server, const struct weir_actor *actor, const char *kind,
                       const char *subject_kind, struct weir_str name, struct weir_str after,
                       struct weir_err *err)
{
    char who[128];
    char subject[256];

    snprintf(subject, sizeof(subject), "%s/%.*s", subject_kind, WEIR_STR_ARG(name));
<<<<<<< HEAD
    return weir_server_event(server, weir_service_actor_name(actor, who, sizeof(who)), kind,
                             weir_str(subject), WEIR_STR(""), WEIR_STR(""), after, err);
=======
    return weir_server_event(server, actor_name(actor, who, sizeof(who)), kind, weir_str(subject),
                             WEIR_STR(""), WEIR_STR(""), after, err);
}

/* ---- submitting ---- */

struct submission {
    const struct weir_actor *actor;
    struct weir_resource_workload ask;
    struct weir_str name;
    struct weir_str spec;
    bool is_demo;
};

/* The command's last path component, as a name may be written: "Train_2.py" gives "train-2-py". */
static int default_name(struct weir_str word, struct weir_arena *arena, struct weir_str *ret_name,
                        struct weir_err *err)
{
    char *name = weir_arena_bytes(arena, NAME_MAX_BYTES + 1);
    size_t n = 0;

    if (name == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a name");
    for (size_t i = word.len; i > 0; i--) {
        if (word.ptr[i - 1] == '/' && i < word.len) {
            word = weir_str_sub(word, i, word.len);
            break;
        }
    }
    for (size_t i = 0; i < word.len && n < NAME_MAX_BYTES; i++) {
        char c = word.ptr[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            name[n++] = c;
        else if (n > 0 && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    *ret_name = n > 0 ? weir_str_n(name, n) : WEIR_STR("job");
    return 0;
}

static int check_user(const struct weir_server *server, const struct weir_actor *actor,
                      struct weir_err *err)
{
    if (server->uid == 0 || actor->uid == server->uid)
        return 0;
    weir_error(err, WEIR_E_DENIED, "this weir runs as uid %u and runs jobs of nobody else",
               server->uid);
    weir_error_hint(err, "a weir started by root serves all users");
    return WEIR_E_DENIED;
}

static int check_isolation(const struct weir_server *server, const struct weir_tree *doc,
                           const struct submission *s, struct weir_err *err)
{
    const struct weir_world *world = weir_edit_view(server->edit);

    for (uint32_t q = s->ask.workload.queue; q != WEIR_NONE;) {
        const struct weir_queue *queue = weir_world_queue(world, q);

        if (s->ask.shape.n_devices > 0 && s->ask.shape.isolation < queue->isolation) {
            weir_tree_error(weir_tree_get(doc, "spec"), err,
                            "queue '%.*s' takes no isolation below %s",
                            WEIR_STR_ARG(weir_world_string(world, queue->name)),
                            weir_isolation_name((enum weir_isolation)queue->isolation));
            return WEIR_E_INVALID;
        }
        q = queue->parent;
    }
    return 0;
}

/* In an arena of its own: it looks at the whole fleet, for each of many submissions. */
static int admit(struct weir_server *server, struct submission *s, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_ask ask = {&s->ask.workload, &s->ask.role, &s->ask.shape, 1};
    struct weir_refusal refusal;

    return weir_admit(weir_edit_view(server->edit), &server->policy, &ask, &arena, &refusal, err);
}

/* Everything that can be wrong with a submission, before anything is written. */
static int check_submission(struct weir_server *server, const struct weir_actor *actor,
                            const struct weir_tree *doc, struct weir_arena *arena,
                            struct submission *ret, struct weir_err *err)
{
    const struct weir_tree *demo = weir_tree_path(doc, "metadata.labels.demo");
    struct submission s = {.actor = actor, .name = weir_resource_name(doc)};
    int r = check_user(server, actor, err);

    if (r == 0)
        r = weir_resource_workload(weir_tree_get(doc, "spec"), &server->policy, server->edit,
                                   &s.ask, err);
    if (r == 0)
        r = weir_resource_spec_json(doc, arena, &s.spec, err);
    if (r < 0)
        return r;
    s.is_demo = demo != NULL && weir_str_eq_c(demo->text, "true");
    if (s.name.len == 0) {
        r = default_name(s.ask.first_word, arena, &s.name, err);
        if (r < 0)
            return r;
    }
    s.ask.workload.queue = find_queue(server, s.ask.queue);
    if (s.ask.workload.queue == WEIR_NONE) {
        no_queue(server, WEIR_E_INVALID, s.ask.queue, err);
        weir_error_field(err, "spec.queue");
        return WEIR_E_INVALID;
    }
    if (weir_world_queue(weir_edit_view(server->edit), s.ask.workload.queue)->first_child !=
        WEIR_NONE)
        return weir_error(err, WEIR_E_INVALID,
                          "queue '%.*s' has queues below it: name one of those",
                          WEIR_STR_ARG(s.ask.queue));
    r = check_isolation(server, doc, &s, err);
    if (r < 0)
        return r;
    r = admit(server, &s, err);
    if (r == 0)
        *ret = s;
    return r;
}

static int store_submission(struct weir_server *server, struct submission *s, uint64_t *ret_number,
                            struct weir_err *err)
{
    const struct weir_workload *w = &s->ask.workload;
    struct weir_workload_record record = {
        .name = s->name,
        .queue = s->ask.queue,
        .owner = s->actor->user,
        .uid = s->actor->uid,
        .gid = s->actor->gid,
        .spec = s->spec,
        .class = w->class,
        .priority = w->priority,
        .n_tasks = s->ask.role.n_tasks,
        .independent = w->independent,
        .state = WEIR_TASK_QUEUED,
        .is_demo = s->is_demo,
        .submitted_wall_ms = w->submitted_wall_ms,
    };
    char number[24];
    int r = server->store.next_number(server->store.ctx, &record.number, err);

    if (r == 0)
        r = server->store.add_workload(server->store.ctx, &record, err);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)record.number);
    if (r == 0)
        r = write_event(server, s->actor, "workload.submitted", "workload", weir_str(number),
                        s->name, err);
    if (r == 0)
        *ret_number = record.number;
    return r;
}

static int add_submission(struct weir_server *server, struct submission *s, uint64_t number,
                          struct weir_err *err)
{
    struct weir_key key = weir_key_of_number(server->store.space, number);
    uint32_t index;
    int r;

    s->ask.workload.number = number;
    r = weir_edit_string(server->edit, s->actor->user, &s->ask.workload.owner);
    if (r == 0)
        r = weir_edit_shape(server->edit, &s->ask.shape, &s->ask.role.shape);
    if (r == 0)
        r = weir_edit_add_workload(server->edit, &key, &s->ask.workload, &s->ask.role, 1, &index);
    return r < 0 ? weir_error(err, r, "no memory for another workload") : 0;
}

static int accept_submission(struct weir_server *server, struct submission *s, uint64_t *ret_number,
                             struct weir_err *err)
{
    int r = weir_server_begin(server, err);

    if (r < 0)
        return r;
    s->ask.workload.submitted_wall_ms = server->clock.now(server->clock.ctx).wall_ms;
    r = store_submission(server, s, ret_number, err);
    if (r == 0)
        r = add_submission(server, s, *ret_number, err);
    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

static int remember_request(struct weir_server *server, const struct weir_actor *actor,
                            struct weir_str key, const uint8_t digest[16], uint64_t number,
                            struct weir_err *err)
{
    int r = server->store.put_request(server->store.ctx, actor->user, key, digest, number,
                                      server->clock.now(server->clock.ctx).wall_ms, err);

    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

/* A repeated request: the same content gives the number it made, another is refused. */
static int recall_request(struct weir_server *server, const struct weir_actor *actor,
                          struct weir_str key, const uint8_t digest[16], uint64_t *ret_number,
                          struct weir_err *err)
{
    uint8_t known[16];
    int r = server->store.get_request(server->store.ctx, actor->user, key, known, ret_number, err);

    if (r == 0 && memcmp(known, digest, sizeof(known)) != 0) {
        weir_error(err, WEIR_E_EXISTS, "the idempotency key was used for another submission");
        weir_error_hint(err, "use a new key for a new submission");
        return WEIR_E_EXISTS;
    }
    return r;
}

static int service_submit(void *ctx, const struct weir_actor *actor, const struct weir_tree *doc,
                          struct weir_str key, struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct submission s;
    enum weir_kind kind;
    uint8_t digest[16];
    uint64_t number;
    int r = check_ready(server, err);

    if (r == 0)
        r = check_role(actor, WEIR_ROLE_SUBMIT, "submit", err);
    if (r == 0)
        r = weir_resource_check(doc, &kind, err);
    if (r < 0)
        return r;
    if (kind != WEIR_KIND_WORKLOAD)
        return weir_tree_error(weir_tree_get(doc, "kind"), err, "only a Workload can be submitted");
    r = check_submission(server, actor, doc, &arena, &s, err);
    if (r < 0)
        return r;
    if (key.len > 0) {
        weir_hash_key128(s.name, s.spec, digest);
        r = recall_request(server, actor, key, digest, &number, err);
        if (r == 0)
            return weir_server_add_done(server, done, number);
        if (r != WEIR_E_NOT_FOUND)
            return r;
    }
    r = accept_submission(server, &s, &number, err);
    if (r == 0 && key.len > 0)
        r = remember_request(server, actor, key, digest, number, err);
    return r < 0 ? r : weir_server_add_done(server, done, number);
}

/* ---- queues ---- */

struct queue_change {
    struct weir_str name;
    struct weir_str spec;
    struct weir_str parent;
    struct weir_queue row;
    uint32_t index; /* WEIR_NONE: new */
    bool unchanged;
};

struct same_spec {
    struct weir_str name;
    struct weir_str spec;
};

static int compare_spec(void *arg, const struct weir_queue_record *record)
{
    const struct same_spec *same = arg;

    return weir_str_eq(record->name, same->name) && weir_str_eq(record->spec, same->spec);
}

static int check_queue(struct weir_server *server, const struct weir_tree *doc,
                       struct weir_arena *arena, struct queue_change *ret, struct weir_err *err)
{
    const struct weir_tree *spec = weir_tree_get(doc, "spec");
    struct queue_change change = {.name = weir_resource_name(doc),
                                  .parent = weir_resource_queue_parent(spec)};
    struct same_spec same;
    int r;

    if (change.name.len == 0)
        return weir_tree_error(doc, err, "a queue needs a name (metadata.name)");
    r = weir_resource_queue(spec, server->edit, &change.row, err);
    if (r == 0)
        r = weir_resource_spec_json(doc, arena, &change.spec, err);
    if (r < 0)
        return r;
    change.index = find_queue(server, change.name);
    same = (struct same_spec){change.name, change.spec};
    r = server->store.each_queue(server->store.ctx, compare_spec, &same, err);
    if (r < 0)
        return r;
    change.unchanged = r > 0;
    *ret = change;
    return 0;
}

/* The parent may be one of this apply: the tree is checked when all queues of it are known. */
static int check_parents(struct weir_server *server, const struct weir_tree *const *docs,
                         const struct queue_change *changes, uint32_t n, struct weir_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        struct weir_str at = changes[i].parent;
        uint32_t steps = 0;
        uint32_t index;

        if (changes[i].name.len == 0)
            continue;
        while (at.len > 0) {
            uint32_t j = 0;

            if (weir_str_eq(at, changes[i].name) || ++steps > 1000)
                return weir_tree_error(weir_tree_path(docs[i], "spec.parent"), err,
                                       "queue '%.*s' would be its own ancestor",
                                       WEIR_STR_ARG(changes[i].name));
            while (j < n && !weir_str_eq(changes[j].name, at))
                j++;
            if (j < n) {
                at = changes[j].parent;
                continue;
            }
            index = find_queue(server, at);
            if (index == WEIR_NONE) {
                no_queue(server, WEIR_E_INVALID, at, err);
                weir_error_field(err, "spec.parent");
                return WEIR_E_INVALID;
            }
            index = weir_world_queue(weir_edit_view(server->edit), index)->parent;
            at = index == WEIR_NONE
                     ? WEIR_STR("")
                     : weir_world_string(
                           weir_edit_view(server->edit),
                           weir_world_queue(weir_edit_view(server->edit), index)->name);
        }
        index = find_queue(server, changes[i].parent);
        if (index != WEIR_NONE &&
            weir_world_queue(weir_edit_view(server->edit), index)->first_workload != WEIR_NONE)
            return weir_tree_error(weir_tree_path(docs[i], "spec.parent"), err,
                                   "queue '%.*s' has workloads of its own: it cannot be a parent",
                                   WEIR_STR_ARG(changes[i].parent));
    }
    return 0;
}

/* The fields people set; the rest of the row is the world's. */
static void set_queue(struct weir_queue *row, const struct weir_queue *like)
{
    row->priority = like->priority;
    row->weight = like->weight;
    row->isolation = like->isolation;
    row->preemptible = like->preemptible;
    row->run_limit_ms = like->run_limit_ms;
    row->guaranteed = like->guaranteed;
    row->limit = like->limit;
}

static int write_queue(struct weir_server *server, const struct weir_actor *actor,
                       struct queue_change *change, struct weir_err *err)
{
    struct weir_queue_record record = {change->name, change->spec,
                                       server->clock.now(server->clock.ctx).wall_ms};
    struct weir_queue *row;
    struct weir_key key;
    int r = server->store.put_queue(server->store.ctx, &record, err);

    if (r == 0)
        r = write_event(server, actor,
                        change->index == WEIR_NONE ? "queue.created" : "queue.configured", "queue",
                        change->name, change->spec, err);
    if (r < 0)
        return r;
    if (change->index != WEIR_NONE) {
        row = weir_edit_queue(server->edit, change->index);
        if (row == NULL)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a queue");
        set_queue(row, &change->row);
        return 0;
    }
    change->row.created_wall_ms = record.created_wall_ms;
    weir_hash_key128(WEIR_STR("queue"), change->name, key.bytes);
    r = weir_edit_string(server->edit, change->name, &change->row.name);
    if (r == 0)
        r = weir_edit_add_queue(server->edit, &key, &change->row, &change->index);
    return r < 0 ? weir_error(err, r, "no memory for a queue") : 0;
}

static int write_parent(struct weir_server *server, const struct queue_change *change,
                        struct weir_err *err)
{
    uint32_t parent = change->parent.len > 0 ? find_queue(server, change->parent) : WEIR_NONE;

    if (weir_world_queue(weir_edit_view(server->edit), change->index)->parent == parent)
        return 0;
    if (weir_edit_move_queue(server->edit, change->index, parent) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to move a queue");
    return 0;
}

/* ---- apply ---- */

struct applying {
    struct weir_server *server;
    const struct weir_actor *actor;
    const struct weir_tree *const *docs;
    uint32_t n;
    enum weir_kind *kinds;
    struct queue_change *queues; /* name empty where the document is no queue */
    struct submission *submissions;
    struct weir_apply_result *results;
    struct weir_arena *arena;
};

static int check_apply(struct applying *a, struct weir_err *err)
{
    for (uint32_t i = 0; i < a->n; i++) {
        int r = weir_resource_check(a->docs[i], &a->kinds[i], err);

        if (r == 0)
            r = check_role(a->actor,
                           a->kinds[i] == WEIR_KIND_QUEUE ? WEIR_ROLE_ADMIN : WEIR_ROLE_SUBMIT,
                           a->kinds[i] == WEIR_KIND_QUEUE ? "change queues" : "submit", err);
        if (r == 0 && a->kinds[i] == WEIR_KIND_QUEUE)
            r = check_queue(a->server, a->docs[i], a->arena, &a->queues[i], err);
        if (r < 0)
            return r;
        for (uint32_t j = 0; j < i; j++)
            if (a->queues[i].name.len > 0 && weir_str_eq(a->queues[i].name, a->queues[j].name))
                return weir_tree_error(a->docs[i], err, "queue '%.*s' is given twice",
                                       WEIR_STR_ARG(a->queues[i].name));
    }
    return check_parents(a->server, a->docs, a->queues, a->n, err);
}

static int write_queues(struct applying *a, struct weir_err *err)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < a->n; i++)
        if (a->kinds[i] == WEIR_KIND_QUEUE && !a->queues[i].unchanged)
            r = write_queue(a->server, a->actor, &a->queues[i], err);
    for (uint32_t i = 0; r == 0 && i < a->n; i++)
        if (a->kinds[i] == WEIR_KIND_QUEUE)
            r = write_parent(a->server, &a->queues[i], err);
    return r < 0 ? weir_server_fail(a->server, r, err) : 0;
}

static void report(struct applying *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const struct queue_change *q = &a->queues[i];

        if (a->kinds[i] == WEIR_KIND_QUEUE)
            a->results[i] =
                (struct weir_apply_result){WEIR_STR("Queue"), q->name, 0,
                                           q->unchanged            ? WEIR_APPLIED_UNCHANGED
                                           : q->index == WEIR_NONE ? WEIR_APPLIED_CREATED
                                                                   : WEIR_APPLIED_CONFIGURED};
        else
            a->results[i] = (struct weir_apply_result){WEIR_STR("Workload"), a->submissions[i].name,
                                                       0, WEIR_APPLIED_CREATED};
    }
}

/* Queues come first, so that workloads of the same apply find them; the transaction is open then,
 * and a workload that is refused fails it as a whole. */
static int write_apply(struct applying *a, struct weir_err *err)
{
    int r = weir_server_begin(a->server, err);

    if (r == 0)
        r = write_queues(a, err);
    for (uint32_t i = 0; r == 0 && i < a->n; i++) {
        if (a->kinds[i] != WEIR_KIND_WORKLOAD)
            continue;
        r = check_submission(a->server, a->actor, a->docs[i], a->arena, &a->submissions[i], err);
        if (r < 0)
            return weir_server_fail(a->server, r, err);
        r = accept_submission(a->server, &a->submissions[i], &a->results[i].number, err);
    }
    return r;
}

/* Workloads that name only queues that exist are refused before anything is written. */
static int precheck_workloads(struct applying *a, struct weir_err *err)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const struct weir_tree *queue = weir_tree_path(a->docs[i], "spec.queue");
        bool is_new = false;

        if (a->kinds[i] != WEIR_KIND_WORKLOAD)
            continue;
        for (uint32_t j = 0; queue != NULL && j < a->n; j++)
            is_new = is_new || weir_str_eq(a->queues[j].name, queue->text);
        if (!is_new) {
            int r = check_submission(a->server, a->actor, a->docs[i], a->arena, &a->submissions[i],
                                     err);

            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int service_apply(void *ctx, const struct weir_actor *actor,
                         const struct weir_tree *const *docs, uint32_t n_docs, bool dry_run,
                         struct weir_arena *arena, struct weir_apply_result **ret_results,
                         struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    struct applying a = {
        .server = server,
        .actor = actor,
        .docs = docs,
        .n = n_docs,
        .kinds = weir_arena_new_n(arena, enum weir_kind, n_docs + 1u),
        .queues = weir_arena_new_n(arena, struct queue_change, n_docs + 1u),
        .submissions = weir_arena_new_n(arena, struct submission, n_docs + 1u),
        .results = weir_arena_new_n(arena, struct weir_apply_result, n_docs + 1u),
        .arena = arena,
    };
    int r = check_ready(server, err);

    if (r < 0)
        return r;
    if (a.kinds == NULL || a.queues == NULL || a.submissions == NULL || a.results == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to apply %u resources", n_docs);
    r = check_apply(&a, err);
    if (r == 0)
        r = precheck_workloads(&a, err);
    if (r < 0)
        return r;
    report(&a);
    *ret_results = a.results;
    if (!dry_run)
        r = write_apply(&a, err);
    return r < 0 ? r : weir_server_add_done(server, done, 0);
}

static int service_delete_queue(void *ctx, const struct weir_actor *actor, struct weir_str name,
                                struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    const struct weir_queue *row;
    uint32_t index;
    int r = check_ready(server, err);

    if (r == 0)
        r = check_role(actor, WEIR_ROLE_ADMIN, "delete queues", err);
    if (r < 0)
        return r;
    index = find_queue(server, name);
    if (index == WEIR_NONE)
        return no_queue(server, WEIR_E_NOT_FOUND, name, err);
    if (weir_str_eq_c(name, "default"))
        return weir_error(err, WEIR_E_EXISTS,
                          "queue 'default' stays: it takes the jobs that name no queue");
    row = weir_world_queue(weir_edit_view(server->edit), index);
    if (row->first_child != WEIR_NONE || row->first_workload != WEIR_NONE) {
        weir_error(err, WEIR_E_EXISTS, "queue '%.*s' is not empty: it has %s", WEIR_STR_ARG(name),
                   row->first_child != WEIR_NONE ? "queues below it" : "workloads");
        weir_error_hint(err, "`weir ps --queue %.*s` shows them", WEIR_STR_ARG(name));
        return WEIR_E_EXISTS;
    }
    r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    r = server->store.delete_queue(server->store.ctx, name, err);
    if (r == 0)
        r = write_event(server, actor, "queue.deleted", "queue", name, WEIR_STR(""), err);
    if (r == 0 && weir_edit_remove_queue(server->edit, index) < 0)
        r = weir_error(err, WEIR_E_NO_MEMORY, "no memory to delete a queue");
    return r < 0 ? weir_server_fail(server, r, err) : weir_server_add_done(server, done, 0);
}

/* ---- workloads ---- */

static int note_owner(void *arg, const struct weir_workload_record *record)
{
    uint32_t *uid = arg;

    *uid = record->uid;
    return 0;
}

/* The live workload, if the actor may touch it. */
static int find_own(struct weir_server *server, const struct weir_actor *actor, uint64_t number,
                    uint32_t *ret_index, struct weir_err *err)
{
    uint32_t uid;
    int r = check_ready(server, err);

    if (r == 0)
        r = check_role(actor, WEIR_ROLE_SUBMIT, "change workloads", err);
    if (r == 0)
        r = server->store.get_workload(server->store.ctx, number, note_owner, &uid, err);
    if (r < 0)
        return r;
    if (actor->role < WEIR_ROLE_ADMIN && actor->uid != uid)
        return weir_error(err, WEIR_E_DENIED, "workload %llu is not yours",
                          (unsigned long long)number);
    *ret_index = find_workload(server, number);
    return 0;
}

static int service_cancel(void *ctx, const struct weir_actor *actor, uint64_t number,
                          struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    struct weir_workload *row;
    char text[24];
    uint32_t index;
    int r = find_own(server, actor, number, &index, err);

    if (r < 0)
        return r;
    if (index == WEIR_NONE || weir_world_workload(weir_edit_view(server->edit), index)->cancelled)
        return weir_server_add_done(server, done, number); /* it has ended, or is about to */
    r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    r = write_event(server, actor, "workload.cancelled", "workload", weir_str(text), WEIR_STR(""),
                    err);
    row = r == 0 ? weir_edit_workload(server->edit, index) : NULL;
    if (row == NULL)
        return weir_server_fail(server, r < 0 ? r : WEIR_E_NO_MEMORY, err);
    row->cancelled = 1;
    return weir_server_add_done(server, done, number);
}

static int service_signal(void *ctx, const struct weir_actor *actor, uint64_t number,
                          int signal_number, struct weir_err *err)
{
    struct weir_server *server = ctx;
    const struct weir_world *world;
    uint32_t index;
    uint32_t n_sent = 0;
    int r = find_own(server, actor, number, &index, err);

    if (r < 0)
        return r;
    world = weir_edit_view(server->edit);
    for (uint32_t t = index != WEIR_NONE ? weir_world_workload(world, index)->first_task
                                         : WEIR_NONE;
         t != WEIR_NONE; t = weir_world_task(world, t)->next_in_workload) {
        const struct weir_server_attempt *attempt = weir_server_attempt_of(server, t);

        if (!weir_task_state_holds(weir_world_task(world, t)->state) || attempt == NULL)
            continue;
        r = server->cluster.command(server->cluster.ctx, &attempt->ref, WEIR_CLUSTER_SIGNAL,
                                    signal_number, 0, err);
        if (r < 0 && r != WEIR_E_NOT_FOUND)
            return r;
        n_sent++;
    }
    if (n_sent == 0)
        return weir_error(err, WEIR_E_UNAVAILABLE, "workload %llu is not running",
                          (unsigned long long)number);
    return 0;
}

/* ---- nodes and devices ---- */

static int find_subject(struct weir_server *server, enum weir_subject kind, struct weir_str name,
                        uint32_t *ret_index, struct weir_err *err)
{
    bool is_node = kind == WEIR_SUBJECT_NODE;
    enum weir_table_id table = is_node ? WEIR_TABLE_NODES : WEIR_TABLE_DEVICES;
    struct weir_key key;

    weir_hash_key128(is_node ? WEIR_STR("node") : WEIR_STR("gpu"), name, key.bytes);
    *ret_index = weir_edit_find(server->edit, table, &key);
    if (*ret_index != WEIR_NONE)
        return 0;
    weir_error(err, WEIR_E_NOT_FOUND, "there is no %s '%.*s'", is_node ? "node" : "GPU",
               WEIR_STR_ARG(name));
    weir_error_hint(err, is_node ? "`weir get nodes` lists them" : "`weir get gpus` lists them");
    return WEIR_E_NOT_FOUND;
}

static int set_subject(struct weir_server *server, enum weir_subject kind, uint32_t index,
                       enum weir_node_phase phase, struct weir_str cause, struct weir_err *err)
{
    uint32_t string = WEIR_NONE;
    int r = weir_edit_string(server->edit, cause, &string);

    if (r == 0 && kind == WEIR_SUBJECT_NODE) {
        struct weir_node *node = weir_edit_node(server->edit, index);

        if (node != NULL) {
            node->phase = phase;
            node->phase_cause = phase == WEIR_NODE_READY ? WEIR_NONE : string;
            return 0;
        }
    } else if (r == 0) {
        struct weir_device *device = weir_edit_device(server->edit, index);

        if (device != NULL) {
            device->cordoned = phase != WEIR_NODE_READY;
            return 0;
        }
    }
    return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a cordon");
}

static int service_set_phase(void *ctx, const struct weir_actor *actor, enum weir_subject kind,
                             struct weir_str name, enum weir_node_phase phase,
                             struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    char who[128];
    struct weir_cordon_record record = {kind, phase, name, actor_name(actor, who, sizeof(who))};
    uint32_t index;
    int r = check_ready(server, err);

    if (r == 0)
        r = check_role(actor, WEIR_ROLE_ADMIN, "take things out of use", err);
    if (r == 0)
        r = find_subject(server, kind, name, &index, err);
    if (r == 0)
        r = weir_server_begin(server, err);
    if (r < 0)
        return r;
    r = server->store.put_cordon(server->store.ctx, &record, err);
    if (r == 0)
        r = write_event(server, actor, kind == WEIR_SUBJECT_NODE ? "node.phase" : "gpu.phase",
                        kind == WEIR_SUBJECT_NODE ? "node" : "gpu", name,
                        weir_str(weir_node_phase_name(phase)), err);
    if (r == 0)
        r = set_subject(server, kind, index, phase, record.cause, err);
    return r < 0 ? weir_server_fail(server, r, err) : weir_server_add_done(server, done, 0);
>>>>>>> api
}

/* ---- reading ---- */

static const struct weir_world *service_world(void *ctx)
{
    return ((struct weir_server *)ctx)->world;
}

static const struct weir_plan *service_plan(void *ctx)
{
    return &((struct weir_server *)ctx)->plan;
}

static const struct weir_world *service_plan_world(void *ctx)
{
    return ((struct weir_server *)ctx)->plan_world;
}

static const struct weir_store *service_store(void *ctx)
{
    return &((struct weir_server *)ctx)->store;
}

static const struct weir_cluster *service_cluster(void *ctx)
{
    return &((struct weir_server *)ctx)->cluster;
}

static bool service_is_ready(void *ctx)
{
    return ((struct weir_server *)ctx)->edit != NULL;
}

static const struct weir_policy *service_policy(void *ctx)
{
    return &((struct weir_server *)ctx)->policy;
}

static struct weir_service_counters service_counters(void *ctx)
{
    const struct weir_server *server = ctx;

    return (struct weir_service_counters){server->n_ticks, server->n_failed_ticks};
}

/* All that the simulation needs: an immutable version, and copies. */
struct weir_service_eta {
    const struct weir_world *world;
    struct weir_policy policy;
    struct weir_now now;
    uint64_t seed;
    uint32_t workload;
};

static int service_eta_begin(void *ctx, uint64_t number, struct weir_service_eta **ret_eta,
                             struct weir_err *err)
{
    struct weir_server *server = ctx;
    struct weir_service_eta *eta;
    uint32_t index;
    int r = weir_service_check_ready(server, err);

    if (r < 0)
        return r;
    index = weir_service_find_workload(server, number);
    if (index == WEIR_NONE ||
        !weir_table_is_live(&server->world->tables[WEIR_TABLE_WORKLOADS], index) ||
        weir_world_workload(server->world, index)->n_waiting == 0)
        return weir_error(err, WEIR_E_NOT_FOUND, "workload %llu does not wait",
                          (unsigned long long)number);
    eta = weir_mem_alloc(sizeof(*eta));
    if (eta == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for a simulation");
    *eta = (struct weir_service_eta){server->world, server->policy,
                                     server->clock.now(server->clock.ctx), server->seed, index};
    weir_world_ref(eta->world);
    *ret_eta = eta;
    return 0;
}

static int service_eta_run(struct weir_service_eta *eta, int64_t *ret_p50_wall_ms,
                           int64_t *ret_p90_wall_ms, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_eta_limits limits = {.max_steps = ETA_STEPS_MAX, .horizon_ms = ETA_HORIZON_MS};
    struct weir_eta found;
    int r = weir_eta(eta->world, &eta->policy, eta->now, eta->seed, &limits, &eta->workload, 1,
                     &arena, &found, err);

    if (r < 0)
        return r;
    *ret_p50_wall_ms = found.p50_wall_ms;
    *ret_p90_wall_ms = found.p90_wall_ms;
    return 0;
}

static void service_eta_end(struct weir_service_eta *eta)
{
    weir_world_unref(eta->world);
    weir_mem_free(eta);
}

void weir_server_service(struct weir_server *server, struct weir_service *ret_service)
{
    *ret_service = (struct weir_service){
        .ctx = server,
        .world = service_world,
        .plan = service_plan,
        .plan_world = service_plan_world,
        .store = service_store,
        .cluster = service_cluster,
        .eta_begin = service_eta_begin,
        .eta_run = service_eta_run,
        .eta_end = service_eta_end,
        .is_ready = service_is_ready,
        .policy = service_policy,
        .counters = service_counters,
        .submit = weir_service_submit,
        .apply = weir_service_apply,
        .delete_queue = weir_service_delete_queue,
        .cancel = weir_service_cancel,
        .signal = weir_service_signal,
        .set_phase = weir_service_set_phase,
    };
}

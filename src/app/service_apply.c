/* Many resources at once, all or nothing. */
#include "app/service_impl.h"
#include "base/arena.h"
#include "base/tree.h"

struct applying {
    struct weir_server *server;
    const struct weir_actor *actor;
    const struct weir_tree *const *docs;
    uint32_t n;
    enum weir_kind *kinds;
    struct weir_queue_change *queues; /* name empty where the document is no queue */
    struct weir_setup_change *setups;
    struct weir_submission *submissions;
    struct weir_apply_result *results;
    struct weir_arena *arena;
};

static bool is_of(const struct applying *a, uint32_t i, enum weir_kind kind)
{
    return a->kinds[i] == kind;
}

/* One that comes after another of its kind and name. */
static int check_twice(const struct applying *a, uint32_t i, struct weir_err *err)
{
    struct weir_str name = weir_resource_name(a->docs[i]);

    for (uint32_t j = 0; j < i; j++)
        if (!is_of(a, i, WEIR_KIND_WORKLOAD) && a->kinds[i] == a->kinds[j] &&
            weir_str_eq(name, weir_resource_name(a->docs[j])))
            return weir_tree_error(a->docs[i], err, "%s '%.*s' is given twice",
                                   is_of(a, i, WEIR_KIND_QUEUE) ? "queue" : "GPU setup",
                                   WEIR_STR_ARG(name));
    return 0;
}

static int check_one(struct applying *a, uint32_t i, struct weir_err *err)
{
    static const char *const what[WEIR_KIND_MAX] = {[WEIR_KIND_QUEUE] = "change queues",
                                                    [WEIR_KIND_WORKLOAD] = "submit",
                                                    [WEIR_KIND_GPU_SETUP] = "change GPU setups"};
    int r = weir_resource_check(a->docs[i], &a->kinds[i], err);

    if (r == 0)
        r = weir_service_check_role(a->actor,
                                    is_of(a, i, WEIR_KIND_WORKLOAD) ? WEIR_ROLE_SUBMIT
                                                                    : WEIR_ROLE_ADMIN,
                                    what[a->kinds[i]], err);
    if (r == 0 && is_of(a, i, WEIR_KIND_QUEUE))
        r = weir_queue_change_check(a->server, a->docs[i], a->arena, &a->queues[i], err);
    if (r == 0 && is_of(a, i, WEIR_KIND_GPU_SETUP))
        r = weir_setup_change_check(a->server, a->docs[i], a->arena, &a->setups[i], err);
    return r < 0 ? r : check_twice(a, i, err);
}

static int check_apply(struct applying *a, struct weir_err *err)
{
    for (uint32_t i = 0; i < a->n; i++) {
        int r = check_one(a, i, err);

        if (r < 0)
            return r;
    }
    return weir_queue_change_check_parents(a->server, a->docs, a->queues, a->n, err);
}

static int move_queues(struct applying *a, bool back, uint32_t *ret_failed)
{
    int r = 0;

    *ret_failed = 0;
    for (uint32_t i = 0; r == 0 && i < a->n; i++)
        if (a->kinds[i] == WEIR_KIND_QUEUE)
            r = weir_queue_change_unlink(a->server, &a->queues[i], back);
    for (uint32_t i = 0; r == 0 && i < a->n; i++) {
        *ret_failed = i;
        if (a->kinds[i] == WEIR_KIND_QUEUE)
            r = weir_queue_change_link(a->server, &a->queues[i], back);
    }
    return r;
}

static int write_queues(struct applying *a, struct weir_err *err)
{
    uint32_t failed;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < a->n; i++)
        if (a->kinds[i] == WEIR_KIND_QUEUE && !a->queues[i].unchanged)
            r = weir_queue_change_write(a->server, a->actor, &a->queues[i], err);
    if (r < 0)
        return weir_server_fail(a->server, r, err);
    r = move_queues(a, false, &failed);
    if (r == WEIR_E_TOO_LARGE) /* a refusal like any other: it is taken back */
        return weir_tree_error(weir_tree_path(a->docs[failed], "spec.parent"), err,
                               "queue '%.*s' cannot take that much more: it is beyond counting",
                               WEIR_STR_ARG(a->queues[failed].parent));
    if (r < 0)
        return weir_server_fail(a->server,
                                weir_error(err, WEIR_E_NO_MEMORY, "no memory to move a queue"),
                                err);
    return 0;
}

static bool has_setups(const struct applying *a)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (is_of(a, i, WEIR_KIND_GPU_SETUP) && !a->setups[i].unchanged)
            return true;
    return false;
}

static int write_setups(struct applying *a, struct weir_err *err)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < a->n; i++)
        if (is_of(a, i, WEIR_KIND_GPU_SETUP) && !a->setups[i].unchanged)
            r = weir_setup_change_write(a->server, a->actor, &a->setups[i], err);
    if (r == 0 && has_setups(a))
        r = weir_setup_change_take_over(a->server, err);
    return r < 0 ? weir_server_fail(a->server, r, err) : 0;
}

static void report_setup(struct applying *a, uint32_t i)
{
    struct weir_apply_result *result = &a->results[i];

    result->kind = WEIR_STR("GpuSetup");
    result->name = a->setups[i].name;
    result->applied = a->setups[i].unchanged ? WEIR_APPLIED_UNCHANGED
                      : a->setups[i].is_new  ? WEIR_APPLIED_CREATED
                                             : WEIR_APPLIED_CONFIGURED;
    result->shortfall.resource = WEIR_NONE;
}

static int report_workload(struct applying *a, uint32_t i, struct weir_err *err)
{
    struct weir_apply_result *result = &a->results[i];

    result->kind = WEIR_STR("Workload");
    result->name = a->submissions[i].name;
    result->applied = WEIR_APPLIED_CREATED;
    result->shortfall.resource = WEIR_NONE;
    return weir_resource_assumed(weir_tree_get(a->docs[i], "spec"), &a->submissions[i].ask,
                                 a->arena, &result->assumed, err);
}

static void report_queue(struct applying *a, uint32_t i)
{
    struct weir_apply_result *result = &a->results[i];

    result->kind = WEIR_STR("Queue");
    result->name = a->queues[i].name;
    result->applied = a->queues[i].unchanged ? WEIR_APPLIED_UNCHANGED
                      : a->queues[i].is_new  ? WEIR_APPLIED_CREATED
                                             : WEIR_APPLIED_CONFIGURED;
    result->shortfall =
        weir_guarantee_shortfall(weir_edit_view(a->server->edit),
                                 weir_edit_find_queue(a->server->edit, a->queues[i].name));
}

static int report(struct applying *a, struct weir_err *err)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < a->n; i++) {
        if (a->kinds[i] == WEIR_KIND_WORKLOAD)
            r = report_workload(a, i, err);
        else if (is_of(a, i, WEIR_KIND_GPU_SETUP))
            report_setup(a, i);
        else
            report_queue(a, i);
    }
    return r;
}

/* Queues come first, so that workloads of the same apply find them. */
static int write_all(struct applying *a, struct weir_err *err)
{
    int r = write_queues(a, err);

    if (r == 0)
        r = write_setups(a, err);
    for (uint32_t i = 0; r == 0 && i < a->n; i++) {
        if (a->kinds[i] != WEIR_KIND_WORKLOAD)
            continue;
        r = weir_submission_check(a->server, a->actor, a->docs[i], a->arena, &a->submissions[i],
                                  err);
        if (r == 0)
            r = weir_submission_accept(a->server, &a->submissions[i], &a->results[i].number, err);
    }
    return r < 0 ? r : report(a, err);
}

static int undo_edit(struct applying *a)
{
    uint32_t failed;
    int r = 0;

    for (uint32_t i = a->n; r == 0 && i-- > 0;)
        if (a->kinds[i] == WEIR_KIND_WORKLOAD && a->results[i].number > 0)
            r = weir_edit_remove_workload(
                a->server->edit, weir_service_find_workload(a->server, a->results[i].number));
    if (r == 0)
        r = move_queues(a, true, &failed);
    for (uint32_t i = a->n; r == 0 && i-- > 0;)
        if (a->kinds[i] == WEIR_KIND_QUEUE)
            r = weir_queue_change_undo(a->server, &a->queues[i]);
    return r;
}

/* Takes back what this apply did to the open transaction and to the edit, and nothing else: others
 * may have changes in both. */
static void undo(struct applying *a)
{
    struct weir_err err = WEIR_ERR_INIT;
    int r;

    if (a->server->failed != 0)
        return; /* all of it goes */
    r = a->server->store.undo(a->server->store.ctx, &err);
    if (r == 0 && has_setups(a))
        r = weir_setup_change_take_over(a->server, &err);
    if (r == 0 && undo_edit(a) < 0)
        r = weir_error(&err, WEIR_E_NO_MEMORY, "no memory to take back an apply");
    if (r < 0)
        weir_server_fail(a->server, r, &err);
}

/* Everything is tried for real, so that a dry run says what a wet one would. */
static int write_or_undo(struct applying *a, bool dry_run, struct weir_err *err)
{
    struct weir_server *server = a->server;
    int r = weir_server_begin(server, err);

    if (r < 0)
        return r;
    r = server->store.mark(server->store.ctx, err);
    if (r < 0)
        return weir_server_fail(server, r, err);
    r = write_all(a, err);
    if (r < 0 || dry_run)
        undo(a);
    return r;
}

int weir_service_apply(void *ctx, const struct weir_actor *actor,
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
        .queues = weir_arena_new_n(arena, struct weir_queue_change, n_docs + 1u),
        .setups = weir_arena_new_n(arena, struct weir_setup_change, n_docs + 1u),
        .submissions = weir_arena_new_n(arena, struct weir_submission, n_docs + 1u),
        .results = weir_arena_new_n(arena, struct weir_apply_result, n_docs + 1u),
        .arena = arena,
    };
    int r = weir_service_check_ready(server, err);

    if (r < 0)
        return r;
    if (a.kinds == NULL || a.queues == NULL || a.setups == NULL || a.submissions == NULL ||
        a.results == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to apply %u resources", n_docs);
    r = check_apply(&a, err);
    if (r == 0)
        r = write_or_undo(&a, dry_run, err);
    if (r == 0)
        *ret_results = a.results;
    return r < 0 ? r : weir_server_add_done(server, done, 0, err);
}

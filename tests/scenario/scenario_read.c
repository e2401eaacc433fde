#include "scenario.h"

#include "base/count.h"
#include "fmt/yaml.h"
#include "model/world_check.h"

/* What a member of an object becomes, and where it goes. */
enum field_kind { FIELD_INT, FIELD_MS, FIELD_BOOL, FIELD_TEXT, FIELD_TREE };

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset;
};

struct node_read {
    struct node_spec spec;
    const char *phase;
    const struct weir_tree *cordoned; /* GPUs, by index */
    const struct weir_tree *unhealthy;
    const struct weir_tree *foreign;
    int foreign_gib; /* of each of them */
};

struct attempt {
    const char *host;
    const struct weir_tree *gpus;
    int64_t ran_ms;        /* since it was started */
    int64_t checkpoint_ms; /* since its last checkpoint; 0: none */
    const char *leaving;   /* it was asked to: why */
    const char *for_whom;
    const char *ended;
    int status;
    int failures;       /* before this attempt */
    int64_t backoff_ms; /* of one that waits: so long from now on */
};

struct file_read {
    const char *rule;
    const struct weir_tree *policy;
    const struct weir_tree *nodes;
    const struct weir_tree *queues;
    const struct weir_tree *jobs;
    const struct weir_tree *asks;
    const char *plan;
};

struct policy_read {
    bool place;
    bool preempt;
    bool reclaim;
};

static const struct field file_fields[] = {
    {"rule", FIELD_TEXT, offsetof(struct file_read, rule)},
    {"policy", FIELD_TREE, offsetof(struct file_read, policy)},
    {"nodes", FIELD_TREE, offsetof(struct file_read, nodes)},
    {"queues", FIELD_TREE, offsetof(struct file_read, queues)},
    {"jobs", FIELD_TREE, offsetof(struct file_read, jobs)},
    {"asks", FIELD_TREE, offsetof(struct file_read, asks)},
    {"plan", FIELD_TEXT, offsetof(struct file_read, plan)},
};

static const struct field policy_fields[] = {
    {"place", FIELD_BOOL, offsetof(struct policy_read, place)},
    {"preempt", FIELD_BOOL, offsetof(struct policy_read, preempt)},
    {"reclaim", FIELD_BOOL, offsetof(struct policy_read, reclaim)},
};

static const struct field node_fields[] = {
    {"name", FIELD_TEXT, offsetof(struct node_read, spec.name)},
    {"gpus", FIELD_INT, offsetof(struct node_read, spec.gpus)},
    {"model", FIELD_TEXT, offsetof(struct node_read, spec.class)},
    {"gpu_gib", FIELD_INT, offsetof(struct node_read, spec.gpu_gib)},
    {"cpus", FIELD_INT, offsetof(struct node_read, spec.cpus)},
    {"gib", FIELD_INT, offsetof(struct node_read, spec.gib)},
    {"sharers", FIELD_INT, offsetof(struct node_read, spec.sharers)},
    {"nvlink", FIELD_INT, offsetof(struct node_read, spec.nvlink)},
    {"rack", FIELD_TEXT, offsetof(struct node_read, spec.rack)},
    {"phase", FIELD_TEXT, offsetof(struct node_read, phase)},
    {"cordoned", FIELD_TREE, offsetof(struct node_read, cordoned)},
    {"unhealthy", FIELD_TREE, offsetof(struct node_read, unhealthy)},
    {"foreign", FIELD_TREE, offsetof(struct node_read, foreign)},
    {"foreign_gib", FIELD_INT, offsetof(struct node_read, foreign_gib)},
};

static const struct field queue_fields[] = {
    {"name", FIELD_TEXT, offsetof(struct queue_spec, name)},
    {"parent", FIELD_TEXT, offsetof(struct queue_spec, parent)},
    {"guaranteed", FIELD_INT, offsetof(struct queue_spec, guaranteed_gpus)},
    {"limit", FIELD_INT, offsetof(struct queue_spec, limit_gpus)},
    {"priority", FIELD_INT, offsetof(struct queue_spec, priority)},
    {"weight", FIELD_INT, offsetof(struct queue_spec, weight)},
    {"fixed", FIELD_BOOL, offsetof(struct queue_spec, fixed)},
    {"run_limit_ms", FIELD_MS, offsetof(struct queue_spec, run_limit_ms)},
    {"opens_ms", FIELD_MS, offsetof(struct queue_spec, opens_ms)},
};

static const struct field job_fields[] = {
    {"name", FIELD_TEXT, offsetof(struct scenario_job, spec.name)},
    {"queue", FIELD_TEXT, offsetof(struct scenario_job, spec.queue)},
    {"gpus", FIELD_INT, offsetof(struct scenario_job, spec.gpus)},
    {"mgpu", FIELD_INT, offsetof(struct scenario_job, spec.mgpu)},
    {"model", FIELD_TEXT, offsetof(struct scenario_job, spec.class)},
    {"gpu_gib", FIELD_INT, offsetof(struct scenario_job, spec.gpu_gib)},
    {"cpus", FIELD_INT, offsetof(struct scenario_job, spec.cpus)},
    {"gib", FIELD_INT, offsetof(struct scenario_job, spec.gib)},
    {"members", FIELD_INT, offsetof(struct scenario_job, spec.tasks)},
    {"min_members", FIELD_INT, offsetof(struct scenario_job, spec.min)},
    {"array", FIELD_BOOL, offsetof(struct scenario_job, spec.array)},
    {"same_rack", FIELD_BOOL, offsetof(struct scenario_job, spec.same_rack)},
    {"priority", FIELD_INT, offsetof(struct scenario_job, spec.priority)},
    {"fixed", FIELD_BOOL, offsetof(struct scenario_job, spec.fixed)},
    {"held", FIELD_BOOL, offsetof(struct scenario_job, spec.held)},
    {"retries", FIELD_INT, offsetof(struct scenario_job, spec.retries)},
    {"p50_ms", FIELD_MS, offsetof(struct scenario_job, spec.p50_ms)},
    {"time_ms", FIELD_MS, offsetof(struct scenario_job, spec.limit_ms)},
    {"begin_ms", FIELD_MS, offsetof(struct scenario_job, spec.begin_ms)},
    {"submitted_ms", FIELD_MS, offsetof(struct scenario_job, spec.submitted_ms)},
    {"attempts", FIELD_TREE, offsetof(struct scenario_job, attempts)},
};

static const struct field attempt_fields[] = {
    {"host", FIELD_TEXT, offsetof(struct attempt, host)},
    {"gpus", FIELD_TREE, offsetof(struct attempt, gpus)},
    {"ran_ms", FIELD_MS, offsetof(struct attempt, ran_ms)},
    {"checkpoint_ms", FIELD_MS, offsetof(struct attempt, checkpoint_ms)},
    {"leaving", FIELD_TEXT, offsetof(struct attempt, leaving)},
    {"for", FIELD_TEXT, offsetof(struct attempt, for_whom)},
    {"ended", FIELD_TEXT, offsetof(struct attempt, ended)},
    {"status", FIELD_INT, offsetof(struct attempt, status)},
    {"failures", FIELD_INT, offsetof(struct attempt, failures)},
    {"backoff_ms", FIELD_MS, offsetof(struct attempt, backoff_ms)},
};

static const char *const phases[] = {"requested", "booting",     "ready", "cordoned",
                                     "draining",  "quarantined", "gone"};
static const char *const ends[] = {"not",     "exited", "time-limit", "out-of-memory",
                                   "stopped", "lost",   "not-started"};

/* ---- reading ---- */

static void must_read(int r, const struct weir_err *err)
{
    if (r < 0)
        fail_msg("line %u, column %u, '%s': %s", err->line, err->column, err->field, err->text);
}

static void refuse(const struct weir_tree *node, const char *what)
{
    struct weir_err err = WEIR_ERR_INIT;

    must_read(weir_tree_error(node, &err, "%s", what), &err);
}

static const char *read_text(struct scenario *s, const struct weir_tree *node)
{
    const char *copy;

    if (node->kind != WEIR_TREE_STRING)
        refuse(node, "is not a string");
    copy = weir_str_dup(node->text, &s->arena);
    assert_non_null(copy);
    return copy;
}

static int64_t read_number(const struct weir_tree *node, int64_t min, int64_t max)
{
    struct weir_err err = WEIR_ERR_INIT;
    int64_t value = 0;

    must_read(weir_tree_i64(node, min, max, &value, &err), &err);
    return value;
}

static void read_field(struct scenario *s, const struct weir_tree *node, const struct field *field,
                       void *ret)
{
    struct weir_err err = WEIR_ERR_INIT;
    char *at = (char *)ret + field->offset;

    switch (field->kind) {
    case FIELD_INT:
        *(int *)(void *)at = (int)read_number(node, -1000000, 1000000);
        break;
    case FIELD_MS:
        *(int64_t *)(void *)at = read_number(node, 0, INT32_MAX);
        break;
    case FIELD_BOOL:
        must_read(weir_tree_bool(node, (bool *)(void *)at, &err), &err);
        break;
    case FIELD_TEXT:
        *(const char **)(void *)at = read_text(s, node);
        break;
    case FIELD_TREE:
        *(const struct weir_tree **)(void *)at = node;
        break;
    }
}

static void read_object(struct scenario *s, const struct weir_tree *node,
                        const struct field *fields, size_t n, void *ret)
{
    if (node->kind != WEIR_TREE_OBJECT)
        refuse(node, "must be an object");
    weir_tree_foreach (member, node) {
        size_t i = 0;

        while (i < n && !weir_str_eq_c(member->key, fields[i].key))
            i++;
        if (i == n)
            refuse(member, "no such key");
        read_field(s, member, &fields[i], ret);
    }
}

/* The list itself; NULL stays NULL: an empty one. */
static const struct weir_tree *first_of(const struct weir_tree *list)
{
    if (list != NULL && list->kind != WEIR_TREE_ARRAY)
        refuse(list, "must be a list");
    return list != NULL ? list->first : NULL;
}

static uint32_t one_of(const struct weir_tree *node, const char *text, const char *const *names,
                       size_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    fail_msg("line %u: '%s' is none of those there are", node->line, text);
    return 0;
}

/* ---- fleet and queues ---- */

static struct weir_device *device_of(struct bench *b, const char *node, const struct weir_tree *gpu)
{
    uint32_t row = device_at(b, node, (int)read_number(gpu, 0, 1000));

    if (row == WEIR_NONE)
        refuse(gpu, "the node has no such GPU");
    return weir_edit_device(b->edit, row);
}

static void read_node(struct scenario *s, const struct weir_tree *node)
{
    struct node_read read = {.phase = "ready"};
    struct bench *b = &s->bench;

    read_object(s, node, node_fields, WEIR_COUNT_OF(node_fields), &read);
    if (read.spec.name == NULL)
        refuse(node, "has no name");
    add_node(b, read.spec);
    weir_edit_node(b->edit, node_at(b, read.spec.name))->phase =
        one_of(node, read.phase, phases, WEIR_COUNT_OF(phases));
    for (const struct weir_tree *at = first_of(read.cordoned); at != NULL; at = at->next)
        device_of(b, read.spec.name, at)->cordoned = 1;
    for (const struct weir_tree *at = first_of(read.unhealthy); at != NULL; at = at->next)
        device_of(b, read.spec.name, at)->health = WEIR_DEVICE_UNHEALTHY;
    for (const struct weir_tree *at = first_of(read.foreign); at != NULL; at = at->next) {
        device_of(b, read.spec.name, at)->n_foreign = 1;
        device_of(b, read.spec.name, at)->memory_foreign_bytes = (int64_t)read.foreign_gib
                                                                 << GIB_BITS;
    }
}

static void read_queue(struct scenario *s, const struct weir_tree *node, int64_t created_ms)
{
    struct queue_spec spec = {.created_ms = created_ms};

    read_object(s, node, queue_fields, WEIR_COUNT_OF(queue_fields), &spec);
    if (spec.name == NULL)
        refuse(node, "has no name");
    if (spec.parent != NULL && queue_at(&s->bench, spec.parent) == WEIR_NONE)
        refuse(node, "its parent must stand before it");
    if (weir_tree_get(node, "limit") != NULL && spec.limit_gpus == 0)
        spec.limit_gpus = -1; /* nothing at all, for add_queue() */
    add_queue(&s->bench, spec);
}

static void read_policy(struct scenario *s, const struct weir_tree *node)
{
    struct policy_read read = {true, true, true};

    if (node == NULL)
        return;
    read_object(s, node, policy_fields, WEIR_COUNT_OF(policy_fields), &read);
    s->bench.policy.actions = (read.place ? WEIR_POLICY_PLACE : 0u) |
                              (read.preempt ? WEIR_POLICY_PREEMPT : 0u) |
                              (read.reclaim ? WEIR_POLICY_RECLAIM : 0u);
}

/* ---- jobs ---- */

static void read_job(struct scenario *s, const struct weir_tree *node, struct scenario_job *job)
{
    read_object(s, node, job_fields, WEIR_COUNT_OF(job_fields), job);
    if (job->spec.name == NULL || job->spec.queue == NULL)
        refuse(node, "needs a name and a queue");
    if (queue_at(&s->bench, job->spec.queue) == WEIR_NONE)
        refuse(node, "there is no such queue");
}

static void read_jobs(struct scenario *s, const struct weir_tree *list, struct scenario_job *jobs,
                      int *ret_n)
{
    for (const struct weir_tree *at = first_of(list); at != NULL; at = at->next) {
        if (*ret_n == SCENARIO_JOBS_MAX)
            refuse(at, "too many jobs");
        read_job(s, at, &jobs[(*ret_n)++]);
    }
}

static void start_task(struct scenario *s, const struct weir_tree *node,
                       const struct attempt *attempt, const struct scenario_job *job, uint32_t task)
{
    struct bench *b = &s->bench;
    struct weir_grant grants[64];
    uint32_t n = 0;

    if (node_at(b, attempt->host) == WEIR_NONE)
        refuse(node, "there is no such host");
    for (const struct weir_tree *at = first_of(attempt->gpus); at != NULL; at = at->next) {
        const struct weir_device *device = device_of(b, attempt->host, at);

        assert_true(n < WEIR_COUNT_OF(grants));
        grants[n++] = (struct weir_grant){
            .device = device_at(b, attempt->host, (int)read_number(at, 0, 1000)),
            .device_gen = device->row.gen,
            .part_mgpu = job->spec.mgpu > 0 ? job->spec.mgpu : 1000,
            .memory_bytes = job->spec.mgpu > 0 ? (int64_t)job->spec.gpu_gib << GIB_BITS : 0,
        };
    }
    if (n != (job->spec.mgpu > 0 ? 1u : (uint32_t)job->spec.gpus))
        refuse(node, "holds as many GPUs as its job asks for");
    must(weir_edit_task_start(b->edit, task, node_at(b, attempt->host), grants, n,
                              b->now.wall_ms - attempt->ran_ms, b->now.mono_ms - attempt->ran_ms));
    must(weir_edit_task_state(b->edit, task, WEIR_TASK_RUNNING));
}

static void ask_to_leave(struct scenario *s, const struct weir_tree *node,
                         const struct attempt *attempt, uint32_t task)
{
    struct bench *b = &s->bench;
    uint32_t whom = attempt->for_whom != NULL ? job_at(b, attempt->for_whom) : WEIR_NONE;
    uint32_t cause = WEIR_CAUSE_NONE;
    struct weir_task *row;

    while (cause < WEIR_CAUSE_MAX &&
           strcmp(attempt->leaving, weir_cause_name((enum weir_cause)cause)) != 0)
        cause++;
    if (cause == WEIR_CAUSE_MAX)
        refuse(node, "leaves for no known cause");
    if (attempt->for_whom != NULL && whom == WEIR_NONE)
        refuse(node, "leaves for a job that is not there");
    must(weir_edit_task_state(b->edit, task, WEIR_TASK_STOPPING));
    row = weir_edit_task(b->edit, task);
    row->stop_cause = cause;
    row->cause = cause;
    row->for_whom = whom;
}

static void read_attempt(struct scenario *s, const struct weir_tree *node,
                         const struct scenario_job *job, uint32_t task)
{
    struct attempt attempt = {.ended = "not"};
    struct bench *b = &s->bench;
    struct weir_task *row;

    read_object(s, node, attempt_fields, WEIR_COUNT_OF(attempt_fields), &attempt);
    if (attempt.host != NULL)
        start_task(s, node, &attempt, job, task);
    if (attempt.leaving != NULL)
        ask_to_leave(s, node, &attempt, task);
    row = weir_edit_task(b->edit, task);
    row->ended = one_of(node, attempt.ended, ends, WEIR_COUNT_OF(ends));
    row->exit_status = attempt.status;
    row->n_failures = (uint32_t)attempt.failures;
    if (attempt.checkpoint_ms > 0)
        row->checkpoint_mono_ms = b->now.mono_ms - attempt.checkpoint_ms;
    if (attempt.backoff_ms > 0)
        row->not_before_wall_ms = b->now.wall_ms + attempt.backoff_ms;
}

static void read_attempts(struct scenario *s, const struct scenario_job *job)
{
    uint32_t n_tasks = job->spec.tasks > 0 ? (uint32_t)job->spec.tasks : 1;
    uint32_t member = 0;

    for (const struct weir_tree *at = first_of(job->attempts); at != NULL; at = at->next) {
        if (member == n_tasks)
            refuse(at, "its job has no so many members");
        read_attempt(s, at, job, task_at(&s->bench, job->spec.name, member++));
    }
}

/* ---- the file ---- */

void scenario_read(struct scenario *s, struct weir_str text)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct file_read file = {.rule = NULL};
    const struct weir_tree *root;
    int64_t n_queues = 0;

    must_read(weir_yaml_read_one(text, SCENARIO_BYTES_MAX, &s->arena, &root, &err), &err);
    read_object(s, root, file_fields, WEIR_COUNT_OF(file_fields), &file);
    if (file.rule == NULL || file.plan == NULL)
        refuse(root, "needs a rule and a plan");
    read_policy(s, file.policy);
    for (const struct weir_tree *at = first_of(file.nodes); at != NULL; at = at->next)
        read_node(s, at);
    for (const struct weir_tree *at = first_of(file.queues); at != NULL; at = at->next)
        read_queue(s, at, ++n_queues);
    read_jobs(s, file.jobs, s->jobs, &s->n_jobs);
    read_jobs(s, file.asks, s->asks, &s->n_asks);
    for (int i = 0; i < s->n_jobs; i++)
        s->jobs[i].row = add_job(&s->bench, s->jobs[i].spec);
    for (int i = 0; i < s->n_jobs; i++)
        read_attempts(s, &s->jobs[i]);
    must_read(weir_world_check(weir_edit_view(s->bench.edit), &err), &err);
    s->plan = file.plan;
}

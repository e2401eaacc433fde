#include "app/service_impl.h"
#include "app/startable.h"
#include "base/char.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/tree.h"
#include "core/admit.h"

#include <string.h>

enum { NAME_MAX_BYTES = 63 };

static bool is_number(struct weir_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!weir_char_is_digit(name.ptr[i]))
            return false;
    return name.len > 0;
}

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
        char c = weir_char_lower(word.ptr[i]);

        if (weir_char_is_letter(c) || weir_char_is_digit(c))
            name[n++] = c;
        else if (n > 0 && name[n - 1] != '-')
            name[n++] = '-';
    }
    while (n > 0 && name[n - 1] == '-')
        n--;
    /* A name of digits would be taken for a number. */
    *ret_name = n > 0 && !is_number(weir_str_n(name, n)) ? weir_str_n(name, n) : WEIR_STR("job");
    return 0;
}

static int check_name(const struct weir_tree *doc, struct weir_err *err)
{
    const struct weir_tree *name = weir_tree_path(doc, "metadata.name");

    if (name == NULL || !is_number(name->text))
        return 0;
    weir_tree_error(name, err, "'%.*s' would be taken for the number of a job",
                    WEIR_STR_ARG(name->text));
    weir_error_field(err, "metadata.name");
    return weir_error_hint(err, "for example job-%.*s", WEIR_STR_ARG(name->text));
}

static int check_user(const struct weir_server *server, const struct weir_actor *actor,
                      struct weir_err *err)
{
    if (server->uid == 0 || actor->uid == server->uid)
        return 0;
    weir_error(err, WEIR_E_DENIED, "this weir runs as uid %u and runs jobs of nobody else",
               server->uid);
    return weir_error_hint(err, "a weir started by root serves all users");
}

/* Where the document says what was refused; where it does not, the spec that left it out. */
static int place(const struct weir_tree *doc, struct weir_err *err)
{
    const struct weir_tree *node;

    if (err == NULL || err->field[0] == '\0' || err->line > 0)
        return weir_error_code(err);
    node = weir_tree_path(doc, err->field);
    if (node != NULL)
        return weir_tree_place(node, err);
    node = weir_tree_get(doc, "spec");
    return weir_error_at(err, node->line, node->column);
}

/* In an arena of its own: it looks at the whole fleet, for each of many submissions. */
static int admit(struct weir_server *server, struct weir_submission *s, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_ask ask = {&s->ask.workload, &s->ask.role, &s->ask.shape, 1};
    struct weir_refusal refusal;

    return weir_admit(weir_edit_view(server->edit), &server->policy, &ask, &arena, &refusal, err);
}

/* What the books refuse, they refuse before anything is written. */
static int check_books(struct weir_server *server, struct weir_submission *s, struct weir_err *err)
{
    int r = weir_edit_shape(server->edit, &s->ask.shape, &s->ask.role.shape);

    if (r < 0)
        return weir_server_fail(server, weir_error(err, r, "no memory for another workload"), err);
    r = weir_edit_check_workload(server->edit, s->ask.workload.queue, &s->ask.role, 1);
    if (r < 0) {
        weir_error(err, r, "queue '%.*s' cannot take that much more: it is beyond counting",
                   WEIR_STR_ARG(s->ask.queue));
        weir_error_field(err, "spec.queue");
        weir_error_hint(err, "ask for less, or wait until less is queued");
    }
    return r;
}

int weir_submission_check(struct weir_server *server, const struct weir_actor *actor,
                          const struct weir_tree *doc, struct weir_arena *arena,
                          struct weir_submission *ret, struct weir_err *err)
{
    const struct weir_tree *demo = weir_tree_path(doc, "metadata.labels.demo");
    struct weir_submission s = {.actor = actor, .name = weir_resource_name(doc)};
    int r = weir_resource_json(weir_tree_get(doc, "spec"), arena, &s.spec, err);

    *ret = s;
    if (r == 0)
        r = check_user(server, actor, err);
    if (r == 0)
        r = check_name(doc, err);
    if (r == 0)
        r = weir_startable_check(weir_tree_get(doc, "spec"), err);
    if (r < 0)
        return r;
    r = weir_resource_workload(weir_tree_get(doc, "spec"), WEIR_RESOURCE_ASKED, &server->policy,
                               server->edit, &s.ask, err);
    if (r == WEIR_E_NO_MEMORY) /* while it put words into the edit, perhaps */
        weir_server_fail(server, r, err);
    if (r < 0)
        return r;
    s.is_demo = demo != NULL && weir_str_eq_c(demo->text, "true");
    if (s.name.len == 0) {
        r = default_name(s.ask.first_word, arena, &s.name, err);
        if (r < 0)
            return r;
    }
    s.ask.workload.queue = weir_edit_find_queue(server->edit, s.ask.queue);
    if (s.ask.workload.queue == WEIR_NONE) {
        weir_service_no_queue(server, WEIR_E_INVALID, s.ask.queue, err);
        weir_error_field(err, "spec.queue");
        return place(doc, err);
    }
    r = admit(server, &s, err);
    if (r == 0)
        r = check_books(server, &s, err);
    if (r < 0)
        return place(doc, err);
    *ret = s;
    return 0;
}

static int store_submission(struct weir_server *server, struct weir_submission *s,
                            uint64_t *ret_number, struct weir_err *err)
{
    const struct weir_workload *w = &s->ask.workload;
    struct weir_workload_record record = {
        .name = s->name,
        .queue = s->ask.queue,
        .owner = s->actor->user,
        .uid = s->actor->uid,
        .gid = s->actor->gid,
        .spec = s->spec,
        .request = s->request,
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

    memcpy(record.digest, s->digest, sizeof(record.digest));
    if (r == 0)
        r = server->store.add_workload(server->store.ctx, &record, err);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)record.number);
    if (r == 0)
        r = weir_service_event(server, s->actor, "workload.submitted", "workload", weir_str(number),
                               s->name, err);
    if (r == 0)
        *ret_number = record.number;
    return r;
}

static int add_submission(struct weir_server *server, struct weir_submission *s, uint64_t number,
                          struct weir_err *err)
{
    struct weir_key key = weir_key_of_number(server->store.space, number);
    uint32_t index;
    int r;

    s->ask.workload.number = number;
    r = weir_edit_string(server->edit, s->actor->user, &s->ask.workload.owner);
    if (r == 0)
        r = weir_edit_add_workload(server->edit, &key, &s->ask.workload, &s->ask.role, 1, &index);
    return r < 0 ? weir_error(err, r, "no memory for another workload") : 0;
}

int weir_submission_accept(struct weir_server *server, struct weir_submission *s,
                           uint64_t *ret_number, struct weir_err *err)
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

/* A repeated request: the same content gives the number it made, another is refused.
 * WEIR_E_NOT_FOUND for one that is new. */
static int recall_request(struct weir_server *server, const struct weir_submission *s,
                          uint64_t *ret_number, struct weir_err *err)
{
    uint8_t known[16];
    int r = server->store.get_request(server->store.ctx, s->actor->user, s->request, known,
                                      ret_number, err);

    if (r == 0 && memcmp(known, s->digest, sizeof(known)) != 0) {
        weir_error(err, WEIR_E_EXISTS, "the idempotency key was used for another submission");
        return weir_error_hint(err, "use a new key for a new submission");
    }
    return r;
}

/* Of all that was asked, before defaults: the same request has the same digest, whatever became of
 * the fleet and the queues meanwhile. */
static int put_digest(const struct weir_tree *doc, struct weir_arena *arena,
                      struct weir_submission *s, struct weir_err *err)
{
    struct weir_str metadata;
    int r = weir_resource_json(weir_tree_get(doc, "metadata"), arena, &metadata, err);

    if (r == 0)
        weir_hash_key128(metadata, s->spec, s->digest);
    return r;
}

/* What was accepted once is so for ever: `checked`, how the check of today went, is asked only
 * where the request is new. The key is looked up in the transaction that is to have it. */
static int accept_once(struct weir_server *server, const struct weir_tree *doc, int checked,
                       struct weir_arena *arena, struct weir_submission *s, uint64_t *ret_number,
                       struct weir_err *err)
{
    struct weir_err other = WEIR_ERR_INIT;
    int r = s->spec.len > 0 ? put_digest(doc, arena, s, &other) : checked;

    if (r == 0 && checked == 0)
        r = weir_server_begin(server, &other);
    if (r == 0)
        r = recall_request(server, s, ret_number, &other);
    if (r == WEIR_E_NOT_FOUND)
        return checked < 0 ? checked : weir_submission_accept(server, s, ret_number, err);
    return r < 0 && other.code != 0 ? weir_error_pass(err, &other) : r;
}

int weir_service_submit(void *ctx, const struct weir_actor *actor, const struct weir_tree *doc,
                        struct weir_str key, struct weir_done done, struct weir_err *err)
{
    struct weir_server *server = ctx;
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_submission s;
    enum weir_kind kind;
    uint64_t number;
    int r = weir_service_check_ready(server, err);

    if (r == 0)
        r = weir_service_check_role(actor, WEIR_ROLE_SUBMIT, "submit", err);
    if (r == 0)
        r = weir_resource_check(doc, &kind, err);
    if (r < 0)
        return r;
    if (kind != WEIR_KIND_WORKLOAD)
        return weir_tree_error(weir_tree_get(doc, "kind"), err, "only a Workload can be submitted");
    r = weir_submission_check(server, actor, doc, &arena, &s, err);
    s.request = key;
    if (key.len > 0)
        r = accept_once(server, doc, r, &arena, &s, &number, err);
    else if (r == 0)
        r = weir_submission_accept(server, &s, &number, err);
    return r < 0 ? r : weir_server_add_done(server, done, number, err);
}

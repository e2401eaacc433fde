#include "cmd/subject.h"

#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/tree.h"
#include "cmd/client.h"
#include "cmd/job_id.h"
#include "cmd/kinds.h"

#include <stdio.h>
#include <string.h>

struct subject {
    const char *plural; /* of its kind */
    const char *one;
    char name[WEIR_SUBJECT_TEXT_MAX]; /* as it was given, then as it is known */
    uint64_t member;
    bool has_member;
};

static const struct {
    const char *plural;
    const char *key; /* the member of the object that names it */
} named[] = {{"workloads", "id"}, {"queues", "name"}, {"gpus", "key"}, {"nodes", "name"}};

static const char *key_of(const char *plural)
{
    for (size_t i = 0; i < WEIR_COUNT_OF(named); i++)
        if (strcmp(named[i].plural, plural) == 0)
            return named[i].key;
    return NULL;
}

/* "gpu" of "gpu/GPU-8f1c"; NULL: what stands there is no kind. */
static const struct weir_kind_entry *kind_before(struct weir_str word)
{
    const struct weir_kind_entry *kind = NULL;
    struct weir_str head;
    char text[16];

    if (!weir_str_split(&word, '/', &head) || word.ptr == NULL || head.len >= sizeof(text))
        return NULL;
    snprintf(text, sizeof(text), "%.*s", WEIR_STR_ARG(head));
    return weir_kind_find("get", text, &kind, NULL) == 0 && key_of(kind->plural) != NULL ? kind
                                                                                         : NULL;
}

static int read_word(const char *word, struct subject *ret_subject, struct weir_err *err)
{
    const struct weir_kind_entry *kind = kind_before(weir_str(word));
    const char *name = kind != NULL ? strchr(word, '/') + 1 : word;
    struct subject subject = {.plural = "workloads", .one = "workload"};
    struct weir_str text = weir_str(name);

    if (kind == NULL && weir_kind_is_gpu_key(word)) {
        subject.plural = "gpus";
        subject.one = "gpu";
    } else if (kind != NULL) {
        subject.plural = kind->plural;
        subject.one = kind->one;
    }
    if (strcmp(subject.plural, "workloads") == 0) {
        struct weir_job_id job = weir_job_id(name);

        text = job.id;
        subject.has_member = weir_str_to_u64(job.member, &subject.member);
    }
    if (text.len >= sizeof(subject.name))
        return weir_error(err, WEIR_E_TOO_LARGE, "get: no %s has so long a name", subject.one);
    snprintf(subject.name, sizeof(subject.name), "%.*s", WEIR_STR_ARG(text));
    *ret_subject = subject;
    return 0;
}

static int check_member(struct subject *subject, const struct weir_tree *workload,
                        struct weir_err *err)
{
    int64_t n = weir_client_i64(workload, "members", 1);

    if (!subject->has_member)
        return 0;
    if (subject->member >= (uint64_t)n) {
        weir_error(err, WEIR_E_NOT_FOUND, "workload %s has no member %llu", subject->name,
                   (unsigned long long)subject->member);
        return weir_error_hint(err, "the last one is %lld", (long long)n - 1);
    }
    subject->has_member = n > 1; /* what happens to the only one happens to the workload */
    return 0;
}

static int look_up(struct weir_client *client, struct subject *subject, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    const struct weir_tree *object = NULL;
    int result;

    weir_client_path(client, "/v1/%s/%s", subject->plural, subject->name);
    if (strcmp(subject->plural, "workloads") == 0)
        weir_client_query(client, "limit", "1"); /* of its tasks */
    result = weir_client_get(client, &arena, &object, err);
    if (result < 0)
        return result;
    snprintf(subject->name, sizeof(subject->name), "%.*s",
             WEIR_STR_ARG(weir_client_text(object, key_of(subject->plural))));
    return check_member(subject, object, err);
}

static void put_subject(const struct subject *subject, char ret_text[WEIR_SUBJECT_TEXT_MAX])
{
    int n = snprintf(ret_text, WEIR_SUBJECT_TEXT_MAX, "%s/%s", subject->one, subject->name);

    if (subject->has_member && n > 0 && n < WEIR_SUBJECT_TEXT_MAX)
        snprintf(ret_text + n, WEIR_SUBJECT_TEXT_MAX - (size_t)n, "/%llu",
                 (unsigned long long)subject->member);
}

static int note_event(void *ctx, const struct weir_tree *event, struct weir_err *err)
{
    bool *has_history = ctx;

    (void)event;
    (void)err;
    *has_history = true;
    return 0;
}

/* A queue that was deleted, or a GPU that is gone, had a life before. */
static bool has_history(struct weir_client *client, const char *subject)
{
    bool found = false;

    weir_client_path(client, "/v1/events");
    weir_client_query(client, "subject", subject);
    weir_client_query(client, "tail", "1");
    return weir_client_list(client, note_event, &found, NULL) == 0 && found;
}

int weir_subject_find(struct weir_client *client, const char *word,
                      char ret_subject[WEIR_SUBJECT_TEXT_MAX], struct weir_err *err)
{
    struct subject subject;
    char text[WEIR_SUBJECT_TEXT_MAX];
    int result = read_word(word, &subject, err);

    if (result < 0)
        return result;
    result = look_up(client, &subject, err);
    if (result < 0 && (result != WEIR_E_NOT_FOUND || client->no_path.code != 0))
        return result;
    put_subject(&subject, text);
    if (result < 0 && !has_history(client, text))
        return result;
    memcpy(ret_subject, text, sizeof(text));
    return 0;
}

#include "app/demo.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "fmt/yaml.h"
#include "port/service.h"
#include "port/store.h"

#include <pwd.h>
#include <unistd.h>

extern const char weir_embed_demo[], weir_embed_demo_end[];

static void on_done(void *arg, int result, uint64_t outcome, const struct weir_err *err)
{
    (void)arg;
    (void)outcome;
    if (result < 0)
        weir_log_warn("demo", "%s", err->text);
}

static int is_demo(void *arg, const struct weir_workload_record *workload)
{
    (void)arg;
    return workload->is_demo != 0;
}

/* One document after the other: what a small fleet cannot run is left out. */
static int apply(struct weir_service *service, struct weir_arena *arena, struct weir_err *err)
{
    struct weir_str text =
        weir_str_n(weir_embed_demo, (size_t)(weir_embed_demo_end - weir_embed_demo));
    const struct passwd *user = getpwuid(geteuid());
    struct weir_actor actor = {.user = weir_str(user != NULL ? user->pw_name : "weir"),
                               .uid = geteuid(),
                               .gid = getegid(),
                               .role = WEIR_ROLE_ADMIN};
    struct weir_yaml_stream stream;
    struct weir_apply_result *results;
    int r = weir_yaml_read(text, text.len, arena, &stream, err);

    for (size_t i = 0; r == 0 && i < stream.n_documents; i++) {
        const struct weir_tree *doc = stream.documents[i].root;

        if (service->apply(service->ctx, &actor, &doc, 1, false, arena, &results,
                           (struct weir_done){on_done, NULL}, err) < 0)
            weir_log_info("demo", "left out: %s", err->text);
    }
    return r;
}

void weir_demo_submit(struct weir_service *service, struct weir_store *store)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_workload_filter live = {.state = -1};
    struct weir_err err = WEIR_ERR_INIT;

    if (store->each_workload(store->ctx, &live, false, is_demo, NULL, &err) != 0)
        return;
    if (apply(service, &arena, &err) < 0)
        weir_log_warn("demo", "%s (%s)", err.text, err.hint);
}

#include "app/schemas.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"
#include "fmt/schema.h"

extern const char weir_embed_schema_queue[], weir_embed_schema_queue_end[];
extern const char weir_embed_schema_gpusetup[], weir_embed_schema_gpusetup_end[];
extern const char weir_embed_schema_workload[], weir_embed_schema_workload_end[];

static struct weir_arena arena = WEIR_ARENA_INIT;
static struct weir_tree *schemas[WEIR_KIND_MAX];

/* As compiled in. */
static struct weir_str text_of(enum weir_kind kind)
{
    if (kind == WEIR_KIND_GPU_SETUP)
        return weir_str_n(weir_embed_schema_gpusetup,
                          (size_t)(weir_embed_schema_gpusetup_end - weir_embed_schema_gpusetup));
    if (kind == WEIR_KIND_QUEUE)
        return weir_str_n(weir_embed_schema_queue,
                          (size_t)(weir_embed_schema_queue_end - weir_embed_schema_queue));
    return weir_str_n(weir_embed_schema_workload,
                      (size_t)(weir_embed_schema_workload_end - weir_embed_schema_workload));
}

int weir_schemas_load(struct weir_err *err)
{
    for (int kind = 0; kind < WEIR_KIND_MAX; kind++) {
        int r = weir_json_read(text_of((enum weir_kind)kind), NULL, &arena, &schemas[kind], err);

        if (r == 0)
            r = weir_schema_check_schema(schemas[kind], err);
        if (r < 0)
            return weir_error_wrap(err, "in the built-in schema %d", kind);
    }
    return 0;
}

void weir_schemas_unload(void)
{
    weir_arena_finish(&arena);
}

const struct weir_tree *weir_schema_of(enum weir_kind kind)
{
    return schemas[kind];
}

#include "edge/api/spec.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/tree.h"
#include "fmt/json.h"

static void put_names(struct weir_json_writer *w, const struct weir_tree *env)
{
    weir_json_object_begin(w);
    weir_tree_foreach (variable, env) {
        weir_json_key_str(w, variable->key);
        weir_json_null(w);
    }
    weir_json_object_end(w);
}

int weir_api_put_spec(struct weir_json_writer *w, struct weir_str spec, bool with_secrets,
                      struct weir_arena *arena, struct weir_err *err)
{
    struct weir_tree *tree;
    int r = weir_json_read(spec, NULL, arena, &tree, err);

    if (r < 0)
        return r == WEIR_E_NO_MEMORY
                   ? r
                   : weir_error(err, WEIR_E_CORRUPT, "the stored spec does not read back");
    weir_json_key(w, "spec");
    weir_json_object_begin(w);
    weir_tree_foreach (child, tree) {
        weir_json_key_str(w, child->key);
        if (!with_secrets && weir_str_eq_c(child->key, "env"))
            put_names(w, child);
        else
            weir_json_write_tree(w, child,
                                 NULL); /* it was JSON: only the buffer can fail, and it says so */
    }
    weir_json_object_end(w);
    return 0;
}

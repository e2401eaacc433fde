/* What befalls simulated GPUs by order. */
#include "edge/api/facts.h"
#include "edge/api/handlers.h"
#include "edge/api/impl.h"

enum { FAULTS_BYTES_MAX = 1 << 20 };

/* It becomes a line of an event, which people look at on a terminal. */
static bool is_one_line(struct weir_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7f)
            return false;
    return true;
}

/* A list of texts, each a line. */
static int read_list(const struct weir_tree *list, struct weir_buf *lines, struct weir_err *err)
{
    if (list->kind != WEIR_TREE_ARRAY || list->first == NULL)
        return weir_tree_error(list, err, "expected a list of faults, like [\"gpu 3 xid 79\"]");
    weir_tree_foreach (fault, list) {
        if (fault->kind != WEIR_TREE_STRING)
            return weir_tree_error(fault, err, "expected a text like 'gpu 3 xid 79'");
        if (!is_one_line(fault->text))
            return weir_tree_error(fault, err, "one fault a text, in one line");
        weir_buf_str(lines, fault->text);
        weir_buf_putc(lines, '\n');
    }
    return weir_buf_check(lines, "the faults", err);
}

/* The list of the body, and its lines; NULL: it is wrong. */
static const struct weir_tree *read_faults(const struct weir_api_call *call, struct weir_buf *lines,
                                           struct weir_err *err)
{
    const struct weir_tree *tree;
    const struct weir_tree *list;

    if (weir_api_body_tree(call, &tree, err) < 0)
        return NULL;
    if (tree->kind != WEIR_TREE_OBJECT) {
        weir_tree_error(tree, err, "expected {\"faults\": [\"gpu 3 xid 79\"]}");
        return NULL;
    }
    weir_tree_foreach (child, tree) {
        if (weir_str_eq_c(child->key, "faults"))
            continue;
        weir_tree_error(child, err, "unknown field");
        weir_error_hint(err, "known: faults");
        return NULL;
    }
    list = weir_tree_get(tree, "faults");
    if (list != NULL)
        return read_list(list, lines, err) < 0 ? NULL : list;
    weir_tree_error(tree, err, "faults is missing");
    weir_error_field(err, "faults");
    return NULL;
}

/* The place in the text becomes that of the request: which fault, and how far in it. */
static int place_error(const struct weir_tree *list, struct weir_err *err)
{
    const struct weir_tree *fault = list->first;
    uint32_t column = err->column;

    for (uint32_t i = 1; i < err->line && fault->next != NULL; i++)
        fault = fault->next;
    if (err->line == 0)
        return weir_error_code(err);
    weir_error_wrap(err, "character %u", column);
    return weir_tree_place(fault, err);
}

static int finish_faults(struct weir_api_call *call, uint64_t outcome, struct weir_err *err)
{
    const struct weir_tree *list = call->arg;
    struct weir_api_json json;

    (void)outcome;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_json_key(&json.w, "faults");
    weir_json_u64(&json.w, list->n_children);
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 202, &json, err);
}

int weir_api_order_faults(struct weir_api_call *call, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf lines = WEIR_BUF_INIT(FAULTS_BYTES_MAX);
    const struct weir_service *service = &call->api->service;
    const struct weir_tree *list = read_faults(call, &lines, err);
    struct weir_done done = {0};
    int r;

    if (list == NULL)
        return weir_error_code(err);
    r = weir_api_pending_new(call, finish_faults, &done, err);
    if (r < 0)
        return r;
    call->arg = (void *)list;
    r = service->befall(service->ctx, &call->actor, weir_buf_view(&lines), done, err);
    if (r == 0)
        return 0;
    weir_api_pending_drop(call);
    return place_error(list, err);
}

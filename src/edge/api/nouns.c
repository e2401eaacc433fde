#include "edge/api/nouns.h"

#include "edge/api/facts.h"
#include "edge/api/impl.h"

enum { LIKES_SHOWN = 3 };

struct order {
    const struct weir_api_noun *noun;
    const struct weir_world *world;
};

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct order *order = arg;
    uint32_t row_a = *(const uint32_t *)a;
    uint32_t row_b = *(const uint32_t *)b;
    int by_place =
        order->noun->compare != NULL ? order->noun->compare(order->world, row_a, row_b) : 0;

    return by_place != 0 ? by_place
                         : weir_str_cmp(order->noun->name(order->world, row_a),
                                        order->noun->name(order->world, row_b));
}

uint32_t *weir_api_noun_rows(const struct weir_api_noun *noun, const struct weir_world *world,
                             struct weir_arena *arena, uint32_t *ret_n)
{
    struct order order = {noun, world};
    uint32_t n_live = weir_world_table(world, noun->table)->n_live;
    uint32_t *rows = weir_arena_new_n(arena, uint32_t, n_live + 1u);
    uint32_t n = 0;

    if (rows == NULL)
        return NULL;
    for (uint32_t row = weir_world_first(world, noun->table); row != WEIR_NONE && n < n_live;
         row = weir_world_after(world, noun->table, row))
        rows[n++] = row;
    qsort_r(rows, n, sizeof(*rows), compare_rows, &order);
    *ret_n = n;
    return rows;
}

static int rows_of(struct weir_api_call *call, const struct weir_api_noun *noun,
                   uint32_t **ret_rows, uint32_t *ret_n, struct weir_err *err)
{
    int r = weir_api_index_make(&call->api->index, &call->api->service, err);

    if (r < 0)
        return r;
    *ret_rows = weir_api_noun_rows(noun, call->api->index.world, call->arena, ret_n);
    return *ret_rows != NULL ? 0 : weir_error(err, WEIR_E_NO_MEMORY, "no memory for a list");
}

/* Where the page begins. */
static int find_after(const struct weir_api_call *call, const struct weir_api_noun *noun,
                      const uint32_t *rows, uint32_t n, uint32_t *ret_from, struct weir_err *err)
{
    const struct weir_str *after = weir_api_query(call, "after");
    char shown[WEIR_STR_SHOW_MAX];

    *ret_from = 0;
    if (after == NULL)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (weir_str_eq(*after, noun->name(call->api->index.world, rows[i]))) {
            *ret_from = i + 1;
            return 0;
        }
    }
    weir_error(err, WEIR_E_INVALID, "there is no %s '%s' any more", noun->word,
               weir_str_show(*after, shown));
    weir_error_field(err, "after");
    return weir_error_hint(err, "begin again at the first page");
}

int weir_api_noun_list(struct weir_api_call *call, const struct weir_api_noun *noun,
                       struct weir_err *err)
{
    struct weir_api_json json;
    uint32_t limit = 0;
    uint32_t from = 0;
    uint32_t *rows = NULL;
    uint32_t n = 0;
    int r = weir_api_query_limit(call, &limit, err);

    if (r == 0)
        r = rows_of(call, noun, &rows, &n, err);
    if (r == 0)
        r = find_after(call, noun, rows, n, &from, err);
    if (r < 0)
        return r;
    weir_api_json_init(&json);
    weir_json_object_begin(&json.w);
    weir_json_key(&json.w, "items");
    weir_json_array_begin(&json.w);
    /* A page does not end at what has no name: the next one could not begin behind it. */
    while (n - from > limit && noun->name(call->api->index.world, rows[from + limit - 1]).len == 0)
        limit++;
    for (uint32_t i = from; i < n && i - from < limit; i++)
        noun->put(&json.w, call->api, rows[i]);
    weir_json_array_end(&json.w);
    if (n - from > limit)
        weir_api_put_str(&json.w, "next",
                         noun->name(call->api->index.world, rows[from + limit - 1]));
    weir_json_object_end(&json.w);
    return weir_api_json_reply(call, 200, &json, err);
}

static int no_such(const struct weir_api_call *call, const struct weir_api_noun *noun,
                   const uint32_t *rows, uint32_t n, struct weir_err *err)
{
    struct weir_str *names = weir_arena_new_n(call->arena, struct weir_str, n + 1u);
    char shown[WEIR_STR_SHOW_MAX];
    ptrdiff_t nearest = -1;

    weir_error(err, WEIR_E_NOT_FOUND, "there is no %s '%s'", noun->word,
               weir_str_show(call->params[0], shown));
    for (uint32_t i = 0; names != NULL && i < n; i++)
        names[i] = noun->name(call->api->index.world, rows[i]);
    if (names != NULL)
        nearest = weir_str_nearest(call->params[0], names, n);
    if (nearest >= 0)
        return weir_error_hint(err, "did you mean '%s'?", weir_str_show(names[nearest], shown));
    return weir_error_hint(err, "%s", noun->list);
}

/* Rows whose names begin with what the path names, or that are called so: the first few. */
struct likes {
    uint32_t rows[LIKES_SHOWN];
    uint32_t n;
};

static int ambiguous(const struct weir_api_call *call, const struct weir_api_noun *noun,
                     const struct likes *likes, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf list = WEIR_BUF_INIT(WEIR_ERR_TEXT_MAX);
    char shown[WEIR_STR_SHOW_MAX];
    bool is_short;

    for (uint32_t i = 0; i < likes->n && i < LIKES_SHOWN; i++)
        weir_buf_printf(&list, "%s%s", i > 0 ? ", " : "",
                        weir_str_show(noun->name(call->api->index.world, likes->rows[i]), shown));
    if (likes->n > LIKES_SHOWN)
        weir_buf_printf(&list, " and %u more", likes->n - LIKES_SHOWN);
    is_short =
        weir_str_starts_with(noun->name(call->api->index.world, likes->rows[0]), call->params[0]);
    weir_error(err, WEIR_E_EXISTS, "several %ss %s '%s': %s", noun->word,
               is_short ? "begin with" : "are called", weir_str_show(call->params[0], shown),
               weir_buf_cstr(&list));
    return weir_error_hint(err, "write more of it");
}

int weir_api_noun_find(struct weir_api_call *call, const struct weir_api_noun *noun,
                       uint32_t *ret_row, struct weir_err *err)
{
    struct weir_str wanted = call->params[0];
    bool may_be_short = noun->prefix_min > 0 && wanted.len >= noun->prefix_min;
    struct likes likes = {.n = 0};
    uint32_t *rows = NULL;
    uint32_t n = 0;
    int r = rows_of(call, noun, &rows, &n, err);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < n; i++) {
        struct weir_str name = noun->name(call->api->index.world, rows[i]);

        if (weir_str_eq(wanted, name)) {
            *ret_row = rows[i];
            return 0;
        }
        if (!(may_be_short && weir_str_starts_with(name, wanted)) &&
            !(noun->is_called != NULL && noun->is_called(call->api->index.world, rows[i], wanted)))
            continue;
        if (likes.n < LIKES_SHOWN)
            likes.rows[likes.n] = rows[i];
        likes.n++;
    }
    if (likes.n == 0)
        return no_such(call, noun, rows, n, err);
    if (likes.n > 1)
        return ambiguous(call, noun, &likes, err);
    *ret_row = likes.rows[0];
    return 0;
}

int weir_api_noun_get(struct weir_api_call *call, const struct weir_api_noun *noun,
                      struct weir_err *err)
{
    struct weir_api_json json;
    uint32_t row = WEIR_NONE;
    int r = weir_api_noun_find(call, noun, &row, err);

    if (r < 0)
        return r;
    weir_api_json_init(&json);
    if (noun->put_one != NULL)
        noun->put_one(&json.w, call, row);
    else
        noun->put(&json.w, call->api, row);
    return weir_api_json_reply(call, 200, &json, err);
}

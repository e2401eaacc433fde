#include "fmt/json_keys.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/tree.h"

#include <string.h>

enum {
    FEW = 16,                     /* up to here comparing all with all is faster than sorting */
    REPLACED = WEIR_TREE_KIND_MAX /* a mark: this member goes */
};

/* Any total order will do; lengths differ most often. */
static int compare(const struct weir_tree *a, const struct weir_tree *b)
{
    if (a->key.len != b->key.len)
        return a->key.len < b->key.len ? -1 : 1;
    return a->key.len > 0 ? memcmp(a->key.ptr, b->key.ptr, a->key.len) : 0;
}

static int settle_pair(struct weir_tree *earlier, const struct weir_tree *later, bool last_wins,
                       struct weir_err *err)
{
    struct weir_str shown = weir_str_sub(later->key, 0, 200);

    if (last_wins) {
        earlier->kind = REPLACED;
        return 0;
    }
    weir_error(err, WEIR_E_INVALID, "key '%.*s' is given twice, first on line %u, column %u",
               WEIR_STR_ARG(shown), earlier->key_line, earlier->key_column);
    return weir_error_at(err, later->key_line, later->key_column);
}

static int settle_few(struct weir_tree *object, bool last_wins, struct weir_err *err)
{
    for (struct weir_tree *later = object->first; later != NULL; later = later->next)
        for (struct weir_tree *earlier = object->first; earlier != later; earlier = earlier->next)
            if (compare(earlier, later) == 0 && settle_pair(earlier, later, last_wins, err) < 0)
                return weir_error_code(err);
    return 0;
}

/* Merges two neighbouring sorted runs; of equals the left one first, so that they stay in order of
 * the input. */
static void merge(struct weir_tree **from, struct weir_tree **to, size_t begin, size_t middle,
                  size_t end)
{
    size_t left = begin;
    size_t right = middle;

    for (size_t i = begin; i < end; i++) {
        if (right >= end || (left < middle && compare(from[left], from[right]) <= 0))
            to[i] = from[left++];
        else
            to[i] = from[right++];
    }
}

/* Sorts the n items of a, with b as room for as many. Returns the one of the two that holds the
 * result. Written out because qsort may fall back to a quadratic method, and a hash table invites
 * chosen collisions. */
static struct weir_tree **sort(struct weir_tree **a, struct weir_tree **b, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        struct weir_tree **sorted = b;

        for (size_t begin = 0; begin < n; begin += 2 * width) {
            size_t middle = begin + width < n ? begin + width : n;
            size_t end = begin + 2 * width < n ? begin + 2 * width : n;

            merge(a, b, begin, middle, end);
        }
        b = a;
        a = sorted;
    }
    return a;
}

static int settle_many(struct weir_tree *object, bool last_wins, struct weir_err *err)
{
    size_t n = object->n_children;
    struct weir_tree **members = weir_mem_alloc_array(2 * n, sizeof(*members));
    struct weir_tree **sorted;
    int result = 0;
    size_t i = 0;

    if (members == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory to compare %zu keys", n);
    for (struct weir_tree *child = object->first; child != NULL; child = child->next)
        members[i++] = child;
    sorted = sort(members, members + n, n);
    for (i = 1; i < n && result == 0; i++)
        if (compare(sorted[i - 1], sorted[i]) == 0)
            result = settle_pair(sorted[i - 1], sorted[i], last_wins, err);
    weir_mem_free(members);
    return result;
}

static void drop_replaced(struct weir_tree *object)
{
    struct weir_tree **link = &object->first;

    object->n_children = 0;
    for (struct weir_tree *child = object->first; child != NULL; child = child->next) {
        if (child->kind == REPLACED)
            continue;
        *link = child;
        link = &child->next;
        object->last = child;
        object->n_children++;
    }
    *link = NULL;
}

int json_keys_settle(struct weir_tree *object, bool last_wins, struct weir_err *err)
{
    int result = object->n_children <= FEW ? settle_few(object, last_wins, err)
                                           : settle_many(object, last_wins, err);

    if (result == 0 && last_wins)
        drop_replaced(object);
    return result;
}

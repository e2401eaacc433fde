#include "model/gpu_catalogue.h"

#include "base/err.h"

enum { NEAREST_MAX = 3 };

struct near {
    unsigned distance;
    uint16_t model;
};

static const struct weir_gpu_name *find_name(struct weir_str name)
{
    for (size_t i = 0; i < weir_n_gpu_names; i++)
        if (weir_str_eq_nocase(weir_str(weir_gpu_names[i].text), name))
            return &weir_gpu_names[i];
    return NULL;
}

const struct weir_gpu_model *weir_gpu_catalogue_find(struct weir_str name)
{
    const struct weir_gpu_name *entry = find_name(weir_str_trim(name));

    return entry != NULL ? &weir_gpu_models[entry->model] : NULL;
}

/* Keeps the list sorted by distance, with each model once. */
static void offer(struct near *list, size_t *n, struct near candidate)
{
    size_t at = *n;

    for (size_t i = 0; i < *n; i++)
        if (list[i].model == candidate.model) {
            if (list[i].distance <= candidate.distance)
                return;
            at = i;
            break;
        }
    if (at == *n) {
        if (*n == NEAREST_MAX && list[*n - 1].distance <= candidate.distance)
            return;
        if (*n < NEAREST_MAX)
            (*n)++;
        at = *n - 1;
    }
    for (; at > 0 && list[at - 1].distance > candidate.distance; at--)
        list[at] = list[at - 1];
    list[at] = candidate;
}

static size_t nearest(struct weir_str name, struct near *list)
{
    /* "h100-foo" should still show the H100 family, so up to half of the name may differ. */
    unsigned limit = name.len < 4 ? 1 : (unsigned)(name.len < 40 ? name.len / 2 : 20);
    size_t n = 0;

    for (size_t i = 0; i < weir_n_gpu_names; i++) {
        struct weir_str text = weir_str(weir_gpu_names[i].text);
        unsigned distance = weir_str_distance(name, text, limit);

        if (distance <= limit && distance < text.len)
            offer(list, &n, (struct near){distance, weir_gpu_names[i].model});
    }
    return n;
}

static const char *id_of(const struct near *near)
{
    return weir_gpu_models[near->model].id;
}

int weir_gpu_catalogue_lookup(struct weir_str name, const struct weir_gpu_model **ret_model,
                              struct weir_err *err)
{
    const struct weir_gpu_model *model = weir_gpu_catalogue_find(name);
    struct near list[NEAREST_MAX];
    size_t n;

    if (model != NULL) {
        *ret_model = model;
        return 0;
    }
    name = weir_str_trim(name);
    weir_error(err, WEIR_E_NOT_FOUND, "unknown GPU model '%.*s'",
               (int)(name.len < 80 ? name.len : 80), name.len > 0 ? name.ptr : "");
    n = nearest(name, list);
    if (n == 0)
        weir_error_hint(err, "models are named like h100-sxm, a100-sxm4-80 or l40s");
    else if (n == 1)
        weir_error_hint(err, "did you mean %s?", id_of(&list[0]));
    else if (n == 2)
        weir_error_hint(err, "did you mean %s or %s?", id_of(&list[0]), id_of(&list[1]));
    else
        weir_error_hint(err, "did you mean %s, %s or %s?", id_of(&list[0]), id_of(&list[1]),
                        id_of(&list[2]));
    return WEIR_E_NOT_FOUND;
}

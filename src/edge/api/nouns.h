/* edge/api/nouns.h — things of the world that have names: lists in pages, and one by its name. */
#ifndef WEIR_EDGE_API_NOUNS_H
#define WEIR_EDGE_API_NOUNS_H

#include "fmt/json.h"
#include "model/world.h"

struct weir_api;
struct weir_api_call;
struct weir_arena;
struct weir_err;

struct weir_api_noun {
    enum weir_table_id table;
    const char *word; /* "queue" */
    const char *list; /* "`weir get queues` lists them" */
    struct weir_str (*name)(const struct weir_world *world, uint32_t row);
    /* The order of lists; NULL: by name. */
    int (*compare)(const struct weir_world *world, uint32_t a, uint32_t b);
    /* So many characters of a name stand for it where no other name begins with them; 0: none do.
     */
    uint32_t prefix_min;
    /* What it is called besides its name, maybe with others: "3", "node-1:3"; NULL: nothing. */
    bool (*is_called)(const struct weir_world *world, uint32_t row, struct weir_str word);
    void (*put)(struct weir_json_writer *w, const struct weir_api *api, uint32_t row);
    /* What is shown of the one that was asked for; NULL: the same. */
    void (*put_one)(struct weir_json_writer *w, const struct weir_api_call *call, uint32_t row);
};

extern const struct weir_api_noun weir_api_queues;
extern const struct weir_api_noun weir_api_gpus;
extern const struct weir_api_noun weir_api_nodes;

/* All rows in order, in the arena. NULL: no memory. */
uint32_t *weir_api_noun_rows(const struct weir_api_noun *noun, const struct weir_world *world,
                             struct weir_arena *arena, uint32_t *ret_n);
int weir_api_noun_list(struct weir_api_call *call, const struct weir_api_noun *noun,
                       struct weir_err *err);
/* The row that the path names. WEIR_E_NOT_FOUND, or WEIR_E_EXISTS: the beginning of several names.
 */
int weir_api_noun_find(struct weir_api_call *call, const struct weir_api_noun *noun,
                       uint32_t *ret_row, struct weir_err *err);
/* The one that the path names. */
int weir_api_noun_get(struct weir_api_call *call, const struct weir_api_noun *noun,
                      struct weir_err *err);

#endif

/* core/preempt/hunt.h — the state of one search for victims, and the steps it is made of. For
 * preempt/ only. */
#ifndef WEIR_CORE_PREEMPT_HUNT_H
#define WEIR_CORE_PREEMPT_HUNT_H

#include "core/place/gang.h"
#include "core/queue/order.h"

struct weir_victim {
    uint32_t running;
    uint32_t cause; /* enum weir_cause */
    uint32_t unit;  /* victims of one unit leave and stay together */
};

/* What is asked to leave together: one task, or all that runs of a gang. */
struct weir_unit {
    int64_t lost_ms;
    int32_t priority;
    uint32_t running; /* the task, or one of the gang */
    uint32_t is_own;  /* of the requester's queue */
    uint32_t reserved;
};

struct weir_hunt_cost {
    int64_t mgpu;
    int64_t lost_ms;
    int32_t own_priority; /* of the dearest in its own queue; INT32_MIN: none */
    int32_t priority;     /* of the dearest elsewhere */
    uint32_t n;
};

struct weir_hunt {
    struct weir_line *line;
    struct weir_tick *tick;
    struct weir_overlay *overlay;
    const struct weir_candidate *candidate;
    struct weir_set *set;
    uint32_t n_within; /* queues from its leaf up that stay within their guarantee */
    uint32_t n_taken;  /* units so far */
    uint32_t n_victims;
    uint32_t cap_victims;
    uint32_t n_units;
    uint32_t cap_units;
    struct weir_victim *victims; /* in the order they were taken */
    struct weir_unit *units;     /* scratch */
};

/* Functions that return int: 0, or WEIR_E_NO_MEMORY; those that search: 1 found, 0 not. */
void weir_hunt_init(struct weir_hunt *hunt, struct weir_line *line,
                    const struct weir_candidate *candidate, struct weir_set *set);
/* Lists what could be asked on one node (WEIR_NONE: on all), cheapest first, in hunt->units. */
int weir_hunt_list(struct weir_hunt *hunt, uint32_t node);
/* Asks a unit to leave, if it still may. 1: it leaves. */
int weir_hunt_take(struct weir_hunt *hunt, uint32_t running);
/* The victim and what would leave with it stay, or leave again. */
int weir_hunt_spare(struct weir_hunt *hunt, uint32_t first, uint32_t n);
int weir_hunt_take_again(struct weir_hunt *hunt, uint32_t first, uint32_t n);
/* Victims [from, …) end with one unit: how many of the last belong to it. */
uint32_t weir_hunt_last_unit(const struct weir_hunt *hunt, uint32_t from, uint32_t end);
/* Takes victims [first, first + n) off the list: they stay. */
void weir_hunt_forget(struct weir_hunt *hunt, uint32_t first, uint32_t n);
struct weir_hunt_cost weir_hunt_cost(const struct weir_hunt *hunt, uint32_t from);
bool weir_hunt_is_cheaper(const struct weir_hunt_cost *a, const struct weir_hunt_cost *b);

#endif

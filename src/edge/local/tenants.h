/* edge/local/tenants.h — which attempt has which slot, as this server knows it.
 *
 * An attempt is in doubt when it may never begin: nobody claimed it when it was refused, when the
 * launcher died, or when the server did. Looking at it then settles it, until its slot says what it
 * is. One that our launcher has in hand is not, even if the state is built anew meanwhile.
 * A slot is one of the first tenants.slots.n; only weir_tenants_find() takes any number. */
#ifndef WEIR_EDGE_LOCAL_TENANTS_H
#define WEIR_EDGE_LOCAL_TENANTS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_tenant {
    uint64_t serial; /* of the attempt that has the slot; 0: free */
    uint64_t sent;   /* of the attempt that was sent to the launcher that lives, last */
    bool is_in_doubt;
};

struct weir_tenants {
    struct weir_tenant_slots weir_vec(struct weir_tenant) slots;
    size_t n_in_doubt;
};

/* To n slots at least; the new ones are free. */
int weir_tenants_grow(struct weir_tenants *tenants, size_t n, struct weir_err *err);
void weir_tenants_finish(struct weir_tenants *tenants);

/* NULL: that attempt does not have that slot. */
struct weir_tenant *weir_tenants_find(struct weir_tenants *tenants, uint64_t serial, uint32_t slot);
/* The first one, or how many slots there are. */
uint32_t weir_tenants_free_slot(const struct weir_tenants *tenants);

/* Gives the slot to an attempt that is not in doubt; 0: to nobody. */
void weir_tenants_set(struct weir_tenants *tenants, uint32_t slot, uint64_t serial);
/* The same for an attempt of an earlier state: it is in doubt unless the launcher has it. */
void weir_tenants_adopt(struct weir_tenants *tenants, uint32_t slot, uint64_t serial);
/* It was looked at; NULL is fine. */
void weir_tenants_settle(struct weir_tenants *tenants, struct weir_tenant *tenant);
/* The launcher does not have it, or not any more; NULL is fine. */
void weir_tenants_doubt(struct weir_tenants *tenants, struct weir_tenant *tenant);
void weir_tenants_doubt_all(struct weir_tenants *tenants);

#endif

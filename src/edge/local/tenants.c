#include "edge/local/tenants.h"

#include "base/err.h"

int weir_tenants_grow(struct weir_tenants *tenants, size_t n, struct weir_err *err)
{
    static const struct weir_tenant nobody;

    while (tenants->slots.n < n)
        if (weir_vec_push(&tenants->slots, nobody) < 0)
            return weir_error(err, WEIR_E_NO_MEMORY, "no memory for slots");
    return 0;
}

void weir_tenants_finish(struct weir_tenants *tenants)
{
    weir_vec_finish(&tenants->slots);
    tenants->n_in_doubt = 0;
}

struct weir_tenant *weir_tenants_find(struct weir_tenants *tenants, uint64_t serial, uint32_t slot)
{
    struct weir_tenant *tenant = slot < tenants->slots.n ? &tenants->slots.items[slot] : NULL;

    return tenant != NULL && serial != 0 && tenant->serial == serial ? tenant : NULL;
}

uint32_t weir_tenants_free_slot(const struct weir_tenants *tenants)
{
    uint32_t slot = 0;

    while (slot < tenants->slots.n && tenants->slots.items[slot].serial != 0)
        slot++;
    return slot;
}

static void set_doubt(struct weir_tenants *tenants, struct weir_tenant *tenant, bool is_in_doubt)
{
    if (tenant->is_in_doubt == is_in_doubt)
        return;
    tenant->is_in_doubt = is_in_doubt;
    if (is_in_doubt)
        tenants->n_in_doubt++;
    else
        tenants->n_in_doubt--;
}

void weir_tenants_set(struct weir_tenants *tenants, uint32_t slot, uint64_t serial)
{
    set_doubt(tenants, &tenants->slots.items[slot], false);
    tenants->slots.items[slot].serial = serial;
}

void weir_tenants_adopt(struct weir_tenants *tenants, uint32_t slot, uint64_t serial)
{
    struct weir_tenant *tenant = &tenants->slots.items[slot];

    weir_tenants_set(tenants, slot, serial);
    set_doubt(tenants, tenant, tenant->sent != serial);
}

void weir_tenants_settle(struct weir_tenants *tenants, struct weir_tenant *tenant)
{
    if (tenant != NULL)
        set_doubt(tenants, tenant, false);
}

void weir_tenants_doubt(struct weir_tenants *tenants, struct weir_tenant *tenant)
{
    if (tenant == NULL)
        return;
    tenant->sent = 0;
    set_doubt(tenants, tenant, tenant->serial != 0);
}

void weir_tenants_doubt_all(struct weir_tenants *tenants)
{
    weir_vec_foreach (tenant, &tenants->slots)
        weir_tenants_doubt(tenants, tenant);
}

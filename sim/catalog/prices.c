#include "sim/catalog/prices.h"

#include "sim/catalog/shelf.h"

#include <string.h>

static const struct shelf shelf = {"prices", "price list", "orrery list prices", NULL};

#define PRICE(key, member, what)                                                                                       \
    ROW_QUANTITY(key, member, UNIT_MONEY_PER_H, SOURCED_OPTIONAL, WITHIN(0, 1e6), what)
#define ROW_OF struct price_entry
static const struct config_field entry_fields[] = {
    PRICE("on_demand", on_demand_usd_per_h, "of one GPU on demand"),
    PRICE("reserved", reserved_usd_per_h, "of one reserved GPU"),
    PRICE("spot", spot_usd_per_h, "of one spot GPU, which may be revoked"),
    {0}};
#undef PRICE
#undef ROW_OF

#define ROW_OF struct price_list
static const struct config_field catalog_price_fields[] = {
    ROW_TEXT("date", date, REQUIRED, WITHIN(4, 64), "date of these prices"),
    ROW_TEXT("source", source, REQUIRED, WITHIN(1, 1024), "source of the prices"),
    ROW_MAP("gpus", gpus, REQUIRED, WITHIN(1, 1000), struct price_entry, entry_fields, "prices by the name of the GPU"),
    {0}};
#undef ROW_OF

int catalog_list_prices(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                        struct diag *diag)
{
    return shelf_list(catalog, &shelf, arena, names, diag);
}

int catalog_prices(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct price_list *prices, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &shelf, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, catalog_price_fields, arena, prices, sizeof *prices, diag);
    if (code != 0) return code;
    prices->name = shelf_entry_name(arena, path);
    return prices->name != NULL ? 0 : diag_nomem(diag);
}

const struct price_entry *price_list_find(const struct price_list *prices, const char *gpu)
{
    const struct price_entry *entry = prices->gpus.items;
    for (size_t i = 0; gpu != NULL && i < prices->gpus.n; i++, entry++)
        if (strcmp(entry->gpu, gpu) == 0) return entry;
    return NULL;
}

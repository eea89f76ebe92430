#include "sim/catalog/prices.h"

#include "sim/catalog/shelf.h"

#include <string.h>

static const struct shelf shelf = {"prices", "price list", "orrery list prices"};

#define FIELD(name) offsetof(struct price_entry, name)
#define PRICE(key, member, text)                                                                                       \
    {.name = key, .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL | CONFIG_SOURCED, .dim = UNIT_MONEY_PER_H,           \
     .offset = FIELD(member), .min = 0, .max = 1e6, .help = text}
static const struct config_field entry_fields[] = {
    PRICE("on_demand", on_demand_usd_per_h, "of one GPU that stays as long as it is wanted"),
    PRICE("reserved", reserved_usd_per_h, "of one GPU that is paid for a long time"),
    PRICE("spot", spot_usd_per_h, "of one GPU that may be taken away"),
    {0}};
#undef PRICE
#undef FIELD

#define FIELD(name) offsetof(struct price_list, name)
const struct config_field catalog_price_fields[] = {
    {.name = "date", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, .offset = FIELD(date), .min = 4, .max = 64,
     .help = "when these prices held"},
    {.name = "source", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, .offset = FIELD(source), .min = 1, .max = 1024,
     .help = "who says so"},
    {.name = "gpus", .kind = CONFIG_MAP, .flags = CONFIG_REQUIRED, .offset = FIELD(gpus), .fields = entry_fields,
     .elem_bytes = sizeof(struct price_entry), .min = 1, .max = 1000, .help = "prices by the name of the GPU"},
    {0}};
#undef FIELD

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

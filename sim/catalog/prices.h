/* Dated lists of what renting GPUs costs: configs/prices/NAME.json.
 *
 *     { "date": "2025", "source": "...",
 *       "gpus": { "h100-sxm": {"on_demand": "$2.29/h", "spot": "$0.8015/h"}, ... } }
 *
 * Prices are of one GPU, by its name in the hardware catalog. */
#ifndef ORRERY_CATALOG_PRICES_H
#define ORRERY_CATALOG_PRICES_H

#include "sim/catalog/catalog.h"

/* Dollars per hour; NAN: not offered. */
struct price_entry {
    const char *gpu; /* its key */
    double on_demand_usd_per_h, reserved_usd_per_h, spot_usd_per_h;
};

struct price_list {
    const char *name, *date, *source;
    struct config_list gpus; /* struct price_entry */
};

/* Reads a list by its name, or path. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int catalog_prices(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct price_list *prices, struct diag *diag);
int catalog_list_prices(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                        struct diag *diag);

/* The entry of a GPU, or NULL. */
const struct price_entry *price_list_find(const struct price_list *prices, const char *gpu);

#endif

/* The market over time: GPUs of each type that are rented, those of them that are in use, and the bill so far of each offer. */
#include "sim/world/market/market_state.h"

enum { PER_PART = 2 };

static int32_t n_parts(const struct market *market)
{
    int32_t n = 0;
    for (const struct cluster *part = market->env.cluster; part != NULL; part = part->next) n++;
    return n;
}

int market_series(void *self, struct sampler_series *series)
{
    const struct market *market = self;
    const int32_t n = PER_PART * n_parts(market) + market->view.n_offers;
    if (series == NULL) return n;
    for (const struct cluster *part = market->env.cluster; part != NULL; part = part->next) {
        const char *gpu = part->gpu != NULL ? part->gpu : "GPUs";
        const char *rented = arena_printf(market->env.site->arena, "%s rented", gpu);
        const char *used = arena_printf(market->env.site->arena, "%s in use", gpu);
        if (rented == NULL || used == NULL) return SIM_E_NOMEM;
        *series++ = (struct sampler_series){"rental.gpus", rented};
        *series++ = (struct sampler_series){"rental.gpus", used};
    }
    for (int32_t i = 0; i < market->view.n_offers; i++)
        *series++ = (struct sampler_series){"cost.usd", market->offers[i].name};
    return n;
}

void market_sample(void *self, sim_ns at, double *values)
{
    const struct market *market = self;
    for (const struct cluster *part = market->env.cluster; part != NULL; part = part->next) {
        *values++ = market_leased_gpus(market, part);
        *values++ = gpus_of(part->ugpus_in_use.value);
    }
    for (int32_t i = 0; i < market->view.n_offers; i++)
        *values++ = (double)ledger_account_uusd(&market->ledger, i, at) / PRICE_MICRO;
}

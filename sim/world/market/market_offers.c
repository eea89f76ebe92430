/* The offers of the market: prices, nodes, and the renter's view of job types on them. */
#include "sim/world/market/market_state.h"

#include "sim/catalog/catalog.h"
#include "sim/world/jobs/job_types.h"

#include <math.h>
#include <string.h>

static const char *where_of(const struct market *market, const char *offer)
{
    const char *path = arena_printf(market->env.site->arena, "market.offers.%s", offer);
    return config_where(market->env.site->config, path != NULL && market->config->offers.n > 0 ? path : "market");
}

/* An offer is for the nodes of one type, so node types with the same GPU are ambiguous. */
static int check_parts(const struct market *market)
{
    for (const struct cluster *part = market->env.cluster; part->gpu != NULL && part->next != NULL; part = part->next)
        for (const struct cluster *other = part->next; other != NULL; other = other->next)
            if (strcmp(part->gpu, other->gpu) == 0)
                return diag_error(
                    market->env.site->diag, SIM_E_CONFIG, config_where(market->env.site->config, "cluster"),
                    "make them one type of nodes, or leave out the market",
                    "two types of nodes have GPU '%s', of which offers can only stand for one", part->gpu);
    return 0;
}

/* Default offers: one on demand for each type of GPU at the site. */
static const struct offer_config *offers_of_site(const struct market *market, int32_t *n)
{
    *n = 0;
    for (const struct cluster *part = market->env.cluster; part != NULL; part = part->next) ++*n;
    struct offer_config *offers = arena_alloc(market->env.site->arena, (size_t)*n * sizeof *offers);
    const struct cluster *part = market->env.cluster;
    for (int32_t i = 0; offers != NULL && i < *n; i++, part = part->next)
        offers[i] = (struct offer_config){.name = part->gpu != NULL ? part->gpu : "gpu",
                                          .gpu = part->gpu,
                                          .kind = OFFER_ON_DEMAND,
                                          .usd_per_h = (double)NAN,
                                          .limit_gpus = (double)NAN,
                                          .pays_start_up = true,
                                          .quantum_ns = SIM_NS_PER_S,
                                          .spot = {.mean_life_s = (double)NAN}};
    return offers;
}

/* The price in the list; NAN: it has none. */
static int listed_price(const struct market *market, const struct price_list *prices, const struct offer_config *offer,
                        const char *gpu, const char *where, double *usd_per_h)
{
    struct price_entry price;
    struct gpu_spec spec = {.whole = NULL};
    const bool is_slice = gpu != NULL && strchr(gpu, ':') != NULL;
    *usd_per_h = (double)NAN;
    const int code = is_slice ? catalog_gpu(market->env.site->catalog, gpu, where, market->env.site->arena, &spec,
                                            market->env.site->diag)
                              : 0;
    if (code != 0 || !price_list_price(prices, &spec, gpu, &price)) return code;
    *usd_per_h = offer->kind == OFFER_SPOT       ? price.spot_usd_per_h
                 : offer->kind == OFFER_RESERVED ? price.reserved_usd_per_h
                                                 : price.on_demand_usd_per_h;
    return 0;
}

/* The price on demand, of the cluster or the hardware catalog. NAN: not known. */
static int known_price(const struct market *market, const char *gpu, const char *where, double *usd_per_h)
{
    struct gpu_spec spec;
    *usd_per_h = gpu != NULL ? cluster_gpu_usd_per_h(market->env.cluster, gpu) : (double)NAN;
    if (gpu == NULL || !isnan(*usd_per_h)) return 0;
    const int code = catalog_gpu(market->env.site->catalog, gpu, where, market->env.site->arena, &spec,
                                 market->env.site->diag);
    if (code == 0) *usd_per_h = spec.usd_per_h;
    return code;
}

/* Checks a price per hour. */
static int64_t whole_uusd(const struct market *market, const struct offer_config *offer, double usd_per_h)
{
    const int64_t uusd = price_uusd_from_usd(usd_per_h);
    if (fabs((double)uusd - usd_per_h * 1e6) > 1e-3)
        diag_warning(market->env.site->diag, where_of(market, offer->name), NULL,
                     "the price of offer '%s' is rounded to whole micro-dollars per hour", offer->name);
    return uusd;
}

/* A price list that lacks the GPU is no source of its price. */
static void warn_unlisted(const struct market *market, const char *gpu, double usd_per_h)
{
    const char *list = market->config->prices;
    if (list == NULL || gpu == NULL || isnan(usd_per_h)) return;
    diag_warning(
        market->env.site->diag, config_where(market->env.site->config, "market.prices"),
        "set 'price' of an offer, or choose a list that has it: orrery list prices",
        "price list '%s' has no price of %s on demand: it costs $%.10g/h, as the scenario's cluster or the GPU's "
        "file says",
        list, gpu, usd_per_h);
}

static int find_price(const struct market *market, const struct price_list *prices, const struct offer_config *offer,
                      struct market_offer *view)
{
    const char *where = where_of(market, offer->name);
    double usd_per_h = offer->usd_per_h;
    int code = 0;
    if (isnan(usd_per_h)) code = listed_price(market, prices, offer, view->gpu, where, &usd_per_h);
    if (code == 0 && isnan(usd_per_h) && offer->kind == OFFER_ON_DEMAND) {
        code = known_price(market, view->gpu, where, &usd_per_h);
        if (code == 0) warn_unlisted(market, view->gpu, usd_per_h);
    }
    if (code != 0) return code;
    if (isnan(usd_per_h))
        return diag_error(market->env.site->diag, SIM_E_CONFIG, where, "add \"price\": \"$2.49/h\", of one GPU",
                          "no price of offer '%s' is known", offer->name);
    view->usd_per_h = (double)whole_uusd(market, offer, usd_per_h) / 1e6;
    return 0;
}

static int find_changes(const struct market *market, const struct offer_config *offer, struct market_offer *view,
                        struct billing *billing)
{
    const struct offer_price *prices = offer->changes.items;
    const size_t n = offer->changes.n;
    struct price_change *changes = arena_alloc(market->env.site->arena, (n + 1) * sizeof *changes);
    if (changes == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && prices[i].at_ns <= prices[i - 1].at_ns)
            return diag_error(market->env.site->diag, SIM_E_CONFIG, where_of(market, offer->name),
                              "sort them by \"at\"",
                              "price %zu of offer '%s' comes at %.10g s, not after the one before it", i, offer->name,
                              sim_s_from_ns(prices[i].at_ns));
        changes[i] = (struct price_change){prices[i].at_ns, whole_uusd(market, offer, prices[i].usd_per_h)};
    }
    billing->n_changes = n;
    billing->changes = changes;
    billing->follows = offer->kind == OFFER_SPOT;
    view->changes_price = n > 0 && changes[n - 1].at_ns > 0;
    return 0;
}

/* Finds the nodes with the offer's GPUs. */
static int find_part(const struct market *market, const struct offer_config *offer, struct offer_state *state)
{
    state->part = market->env.cluster;
    if (offer->gpu == NULL) return 0;
    for (; state->part != NULL; state->part = state->part->next, state->node_type++)
        if (state->part->gpu != NULL && strcmp(state->part->gpu, offer->gpu) == 0) return 0;
    return diag_error(market->env.site->diag, SIM_E_CONFIG, where_of(market, offer->name),
                      "name it in cluster.gpu, or add nodes with it to cluster.node_types",
                      "offer '%s' is of '%s', of which the site has no nodes", offer->name, offer->gpu);
}

/* --- Terms that nothing reads --- */

static void warn_term(const struct market *market, const struct offer_config *offer, const char *key, const char *why)
{
    const char *path = arena_printf(market->env.site->arena, "market.offers.%s.%s", offer->name, key);
    if (path != NULL)
        config_warn_idle(market->env.site->config, path, path, why, "leave it out", market->env.site->diag);
}

static void warn_terms(const struct market *market, const struct offer_config *offer)
{
    const struct spot_config *spot = &offer->spot;
    const bool draws = !isnan(spot->mean_life_s), follows = spot->availability != NULL;
    if (offer->kind == OFFER_SPOT && !draws && !follows && market->renter->rent != NULL)
        diag_warning(market->env.site->diag, where_of(market, offer->name),
                     "state 'spot' with 'mean_life' or 'availability'",
                     "GPUs of spot offer '%s' are never withdrawn: nothing says when", offer->name);
    if (offer->kind != OFFER_SPOT && draws)
        warn_term(market, offer, "spot.mean_life", "only leases of kind 'spot' have a life");
    if (!draws && spot->law != SPOT_EXPONENTIAL) warn_term(market, offer, "spot.law", "there is no 'mean_life'");
    if (!follows && spot->gpus_per_instance != 1)
        warn_term(market, offer, "spot.gpus_per_instance", "there is no 'availability'");
    if (market->renter->rent == NULL && offer->start_up_ns > 0)
        warn_term(market, offer, "start_up", "GPUs for the whole run are there from its start");
}

static int make_offer(struct market *market, int32_t i, const struct offer_config *offer,
                      const struct price_list *prices)
{
    struct offer_state *state = &market->states[i];
    struct market_offer *view = &market->offers[i];
    state->config = offer;
    int code = find_part(market, offer, state);
    if (code != 0) return code;
    *view = (struct market_offer){.name = offer->name,
                                  .gpu = offer->gpu != NULL ? offer->gpu : state->part->gpu,
                                  .kind = (enum offer_kind)offer->kind,
                                  .start_up_ns = offer->start_up_ns,
                                  .pays_start_up = offer->pays_start_up};
    code = find_price(market, prices, offer, view);
    struct billing *billing = &market->ledger.accounts[i].billing;
    *billing = (struct billing){.uusd_per_gpu_h = price_uusd_from_usd(view->usd_per_h),
                                .quantum_ns = offer->quantum_ns,
                                .minimum_ns = offer->minimum_ns};
    if (code == 0) code = find_changes(market, offer, view, billing);
    view->usd_per_h = (double)price_at(billing, 0) / PRICE_MICRO;
    if (code == 0) code = market_supply_open(market, i);
    if (code == 0) warn_terms(market, offer);
    view->limit_gpus = market_most_gpus(market, i);
    return code;
}

/* Services count their costs at the price that the site pays for their GPUs. Another one that the cluster states would
 * have no effect. */
static void set_prices(const struct market *market)
{
    for (struct cluster *part = market->env.cluster; part != NULL; part = part->next) {
        const int32_t index = market_offer_for_run(market, part);
        if (index < 0) continue;
        const struct market_offer *offer = &market->offers[index];
        const double stated = part->gpu_usd_per_h;
        if (!isnan(stated) && fabs(stated - offer->usd_per_h) > 0.5e-6)
            diag_warning(market->env.site->diag, config_where(market->env.site->config, "cluster.gpu_price"),
                         "set 'price' of the offer, or leave out the section 'market'",
                         "gpu_price of %s, $%.10g/h, has no effect: offer '%s' of the market prices them at $%.10g/h",
                         part->gpu != NULL ? part->gpu : "the GPUs", stated, offer->name, offer->usd_per_h);
        part->gpu_usd_per_h = offer->usd_per_h;
    }
}

int market_make_offers(struct market *market)
{
    const struct market_config *config = market->config;
    struct price_list prices = {0};
    int32_t n = (int32_t)config->offers.n;
    const struct offer_config *offers = config->offers.items;
    int code = check_parts(market);
    if (code != 0) return code;
    if (n == 0) offers = offers_of_site(market, &n);
    market->view.n_offers = n;
    market->offers = arena_alloc(market->env.site->arena, (size_t)n * sizeof *market->offers);
    market->states = arena_alloc(market->env.site->arena, (size_t)n * sizeof *market->states);
    market->view.offers = market->offers;
    if (offers == NULL || market->offers == NULL || market->states == NULL || ledger_init(&market->ledger, n) != 0)
        return SIM_E_NOMEM;
    if (config->prices != NULL)
        code = catalog_prices(market->env.site->catalog, config->prices,
                              config_where(market->env.site->config, "market.prices"), market->env.site->arena, &prices,
                              market->env.site->diag);
    for (int32_t i = 0; i < n && code == 0; i++) code = make_offer(market, i, &offers[i], &prices);
    if (code == 0) set_prices(market);
    return code;
}

static int make_type(struct market *market, const struct job_type *type, struct market_job_type *view)
{
    const int32_t n = market->view.n_offers;
    if (type->training.plan.llm != NULL && !market->renter->ignores_speeds)
        return diag_error(market->env.site->diag, SIM_E_CONFIG, "jobs.types",
                          "rent a \"fixed-fleet\", or give its 'speeds' and 'speedup' instead",
                          "'%s' compares offers by 'speeds', but type '%s' has 'training'", market->renter->policy.name,
                          type->name);
    double *speeds = arena_alloc(market->env.site->arena, (size_t)n * sizeof *speeds);
    if (speeds == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < n; i++) speeds[i] = job_type_speed(type, market->offers[i].gpu, 1, 1);
    *view = (struct market_job_type){type->name, speedup_config_get(&type->speedup), speeds};
    return 0;
}

int market_make_types(struct market *market)
{
    const struct config_list *types = market->env.types;
    market->types = arena_alloc(market->env.site->arena, (types->n + 1) * sizeof *market->types);
    if (market->types == NULL) return SIM_E_NOMEM;
    market->view.job_types = market->types;
    market->view.n_job_types = (int32_t)types->n;
    int code = 0;
    for (size_t i = 0; i < types->n && code == 0; i++)
        code = make_type(market, (const struct job_type *)types->items + i, &market->types[i]);
    return code;
}

#include "sim/world/market/market_state.h"

#include "sim/core/check.h"
#include "sim/world/policy/instance.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Building --- */

static int make_renter(struct market *market)
{
    const struct config_variant *renting = &market->config->renting;
    int code = policy_state_create(&market->renter->policy, POLICY_RENTAL, sizeof *market->renter, renting->params,
                                   &market->renter_state, market->env.site->diag);
    if (code == 0 && market->renter->prepare != NULL) {
        const int n_errors = market->env.site->diag->n_errors;
        code = market->renter->prepare(market->renter_state, &market->view, market->env.site->diag);
        code = policy_answered(&market->renter->policy, "prepare", code, n_errors, market->env.site->diag);
    }
    if (code == 0 && market->renter->fleet != NULL) code = market_make_fleet(market);
    return code;
}

/* Jobs that rent for themselves start in the order of their arrival, so a scheduler of the scenario would have no
 * effect. */
static int check_scheduler(const struct market *market)
{
    const char *scheduler = market->env.scheduler->policy.name;
    if (strcmp(scheduler, "fifo") == 0) return 0;
    return diag_error(
        market->env.site->diag, SIM_E_CONFIG, config_where(market->env.site->config, "jobs.scheduler"),
        "leave it out, or rent a \"fixed-fleet\" for it to share out",
        "scheduler '%s' would have no effect: under '%s' each job runs on the GPUs it rented, first come, first served",
        scheduler, market->renter->policy.name);
}

/* A copy of market_jobs_scheduler under the renter's name and with its oracles. */
static int make_scheduler(struct market *market)
{
    if (market->renter->rent == NULL || market->env.scheduler == NULL) return 0;
    const int code = check_scheduler(market);
    if (code != 0) return code;
    market->scheduler = arena_alloc(market->env.site->arena, sizeof *market->scheduler);
    if (market->scheduler == NULL) return SIM_E_NOMEM;
    *market->scheduler = market_jobs_scheduler;
    market->scheduler->policy.name = market->renter->policy.name;
    market->scheduler->policy.oracle = market->renter->policy.oracle;
    market->watcher.ops = &market_jobs_watcher_ops;
    holders_watch(&market->env.cluster->holders, &market->watcher);
    return 0;
}

static void destroy(void *self)
{
    struct market *market = self;
    if (market == NULL) return;
    for (int32_t i = 0; market->states != NULL && i < market->view.n_offers; i++)
        availability_fini(&market->states[i].availability);
    if (market->renter != NULL) policy_state_destroy(&market->renter->policy, market->renter_state);
    ledger_fini(&market->ledger);
    mem_free(market);
}

int market_create(const struct market_config *config, const struct market_env *env, struct market **out)
{
    struct market *market = mem_zalloc(1, sizeof *market);
    if (market == NULL) return SIM_E_NOMEM;
    market->env = *env;
    market->config = config;
    market->renter = config->renting.entry;
    owner_init(&market->timer, site_env_owner_ids(env->site, 1));
    int code = market_make_offers(market);
    if (code == 0) code = market_make_types(market);
    if (code == 0) code = make_renter(market);
    if (code == 0) code = make_scheduler(market);
    *out = code == 0 ? market : NULL;
    if (code != 0) destroy(market);
    return code;
}

const struct scheduler *market_scheduler(const struct market *market)
{
    return market->scheduler;
}

const void *market_scheduler_params(struct market *const *market)
{
    return market;
}

/* --- Leases --- */

/* Price of one GPU at the start of its bill. */
static double price_of(const struct market *market, const struct lease *lease)
{
    return (double)price_at(&market->ledger.accounts[lease->offer].billing, lease->start_ns) / PRICE_MICRO;
}

static int emit_lease(const struct market *market, const struct lease *lease, const char *action, const char *cost,
                      sim_ns now)
{
    const struct market_offer *offer = &market->offers[lease->offer];
    const double usd_per_h = price_of(market, lease);
    const struct sink *sink = market->env.site->sink;
    if (sink->detail == NULL || lease->job == NULL) return 0;
    char reason[256];
    snprintf(reason, sizeof reason, "lease %lld: %.10g GPUs of '%s' at $%.10g/h each%s", (long long)lease->id,
             gpus_of(lease->micro_gpus), offer->name, usd_per_h, cost);
    const struct decision_row row = {.t_s = sim_s_from_ns(now), .service = "", .policy = market->renter->policy.name,
                                     .action = action, .subject = lease->job->view->id, .reason = reason};
    return sink->detail(sink->context, &row);
}

/* Emits the row of a lease. */
static int emit_row(const struct market *market, const struct lease *lease, const char *fate, sim_ns now)
{
    static const char *const kinds[] = {"on-demand", "reserved", "spot"};
    static const char *const uses[] = {"services", "jobs", "site"};
    const struct market_offer *offer = &market->offers[lease->offer];
    const struct billing *billing = &market->ledger.accounts[lease->offer].billing;
    const sim_ns start_ns = lease->start_ns < now ? lease->start_ns : now;
    if (market->env.site->sink->lease == NULL) return 0;
    const struct lease_row row = {
        .id = lease->id,
        .offer = offer->name,
        .kind = kinds[offer->kind],
        .gpu = offer->gpu,
        .use = uses[lease->use],
        .job = lease->job != NULL ? lease->job->view->id : -1,
        .node = lease->node,
        .gpus = gpus_of(lease->micro_gpus),
        .start_s = sim_s_from_ns(start_ns),
        .end_s = sim_s_from_ns(now),
        .quanta = now < lease->start_ns ? 0 : price_billed_ns(billing, now - start_ns) / billing->quantum_ns,
        .usd_per_h = price_of(market, lease),
        .cost_uusd = ledger_lease_uusd(&market->ledger, lease, now),
        .fate = fate};
    return market->env.site->sink->lease(market->env.site->sink->context, &row);
}

int market_lease(struct market *market, struct renting_job *job, sim_ns now)
{
    const struct market_offer *offer = &market->offers[job->rental.offer];
    struct lease as = {.offer = job->rental.offer, .job = job, .use = LEASE_JOBS, .node = -1,
                       .micro_gpus = ugpus_of(job->rental.gpus), .ready_ns = sim_ns_add(now, offer->start_up_ns)};
    as.start_ns = offer->pays_start_up ? now : as.ready_ns;
    as.expires_ns = market_draw_expiry(market, as.offer, market->ledger.n_leases, as.ready_ns);
    job->lease = ledger_open(&market->ledger, &as, now);
    return job->lease == NULL ? SIM_E_NOMEM : emit_lease(market, job->lease, "rent", "", now);
}

int market_return(struct market *market, struct lease *lease, const char *action, sim_ns now)
{
    char cost[32];
    snprintf(cost, sizeof cost, ": $%.6f", (double)ledger_lease_uusd(&market->ledger, lease, now) / PRICE_MICRO);
    int code = emit_lease(market, lease, action, cost, now);
    if (code == 0) code = emit_row(market, lease, strcmp(action, "return") == 0 ? "returned" : "lost", now);
    ledger_close(&market->ledger, lease, now);
    return code;
}

int32_t market_offer_for_run(const struct market *market, const struct cluster *part)
{
    for (int32_t i = 0; i < market->view.n_offers; i++)
        if (market->states[i].part == part && market->offers[i].kind != OFFER_SPOT) return i;
    return -1;
}

static int lease_for_run(struct market *market, const struct cluster *part, int64_t gpus, enum lease_use use)
{
    if (gpus == 0) return 0;
    const int32_t offer = market_offer_for_run(market, part);
    if (offer < 0 || (double)gpus > market_most_for_run(market, offer))
        return diag_error(market->env.site->diag, SIM_E_CONFIG, config_where(market->env.site->config, "market"),
                          "raise the 'limit' of one on demand, add one, or make the site smaller; GPUs on spot are "
                          "for jobs that rent as they come, not for services or a whole site",
                          "no offer has the %lld GPUs%s%s that the site needs for the whole run", (long long)gpus,
                          part->gpu != NULL ? " of type " : "", part->gpu != NULL ? part->gpu : "");
    const sim_ns now = engine_now(market->env.site->engine);
    const struct lease as = {.offer = offer, .use = use, .node = -1, .micro_gpus = gpus * GPU_MICRO,
                             .start_ns = now, .ready_ns = now, .expires_ns = SIM_NS_MAX};
    market->states[offer].run_ugpus += as.micro_gpus;
    return ledger_open(&market->ledger, &as, now) != NULL ? 0 : SIM_E_NOMEM;
}

/* Jobs that share the cluster share its whole bill; renters for single jobs or fleets pay for the GPUs of services
 * only. */
static bool leases_cluster(const struct market *market)
{
    return market->scheduler == NULL && market->renter->fleet == NULL;
}

/* Who pays for a leased node type. Jobs share those that their scheduler can use. */
static enum lease_use use_of_part(const struct market *market, const struct cluster *part)
{
    const struct scheduler *scheduler = market->env.scheduler;
    if (market->env.services->n == 0) return scheduler != NULL ? LEASE_JOBS : LEASE_SERVICES;
    if (scheduler == NULL || (part->node_type > 0 && !scheduler->uses_node_types)) return LEASE_SERVICES;
    return LEASE_SITE;
}

/* Scaling of services is not followed: they pay for their initial replicas. */
static void warn_of_scaling(const struct market *market)
{
    const struct service_config *services = market->env.services->items;
    for (size_t i = 0; i < market->env.services->n && !leases_cluster(market); i++)
        if (service_config_scales(&services[i]))
            diag_warning(market->env.site->diag, config_where(market->env.site->config, "market.renting"),
                         "rent a fixed fleet", "service '%s' scales, but its leases cover its first replicas only",
                         services[i].name);
}

static int start(void *self)
{
    struct market *market = self;
    int code = 0;
    warn_of_scaling(market);
    for (struct cluster *part = market->env.cluster; part != NULL && code == 0; part = part->next) {
        level_init(&part->late_group_gpus, market->env.site->warmup_ns, part->group_gpus.value);
        if (!leases_cluster(market)) {
            code = lease_for_run(market, part, part->group_gpus.value, LEASE_SERVICES);
            continue;
        }
        if (part->total_gpus == INT64_MAX)
            return diag_error(
                market->env.site->diag, SIM_E_CONFIG, config_where(market->env.site->config, "market.renting"),
                "give the cluster nodes, or choose a policy that rents for each job: orrery list policies",
                "policy '%s' rents the whole cluster, which has no limit", market->renter->policy.name);
        code = lease_for_run(market, part, part->total_gpus, use_of_part(market, part));
    }
    return code;
}

static void check(void *self, sim_ns now)
{
    const struct market *market = self;
    const struct ledger *ledger = &market->ledger;
    const struct ledger_sums sums = ledger_add_up(ledger, now);
    SIM_LAW("INV-12 (leased GPUs, by lease)", ledger->micro_gpus.value, sums.lease_micro_gpus);
    SIM_LAW("INV-12 (leased GPUs, by offer)", ledger->micro_gpus.value, sums.account_micro_gpus);
    SIM_LAW("INV-12 (the bill, by offer)", ledger_uusd(ledger, now), sums.account_uusd);
}

/* --- Metrics --- */

static double per(double usd, int64_t n)
{
    return n > 0 ? usd / (double)n : (double)NAN;
}

/* Fraction of the run after the warm-up. */
static double measured_frac(const struct market *market, sim_ns now)
{
    const sim_ns warmup_ns = market->env.site->warmup_ns;
    return now > warmup_ns ? (double)(now - warmup_ns) / (double)now : 0.0;
}

/* Who bears the bill, in micro-dollars; the bills of services and jobs add up to it. */
struct bill {
    int64_t services_uusd, jobs_uusd;
    int64_t idle_uusd;         /* of jobs_uusd: for GPUs of a shared fleet that nothing holds */
    double late_services_uusd; /* after the warm-up, of leases for the whole run */
};

/* Adds the part of a lease that services and jobs share: each GPU is charged to its service while one holds it, and
 * else to the jobs. What is rounded up to quanta is shared alike. */
static void share_lease(const struct market *market, const struct lease *lease, sim_ns now, struct bill *bill)
{
    const struct cluster *part = market->states[lease->offer].part;
    const int64_t uusd = ledger_lease_uusd(&market->ledger, lease, now);
    const double gpu_s = gpus_of(lease->micro_gpus) * sim_s_from_ns(now - lease->start_ns);
    if (!(gpu_s > 0)) return;
    const double late_gpu_s = now > part->late_group_gpus.start_ns ? level_integral_s(&part->late_group_gpus, now) : 0;
    const double services_gpu_s = level_integral_s(&part->group_gpus, now);
    const double held_gpu_s = fmax(level_integral_s_in(&part->ugpus_in_use, now, GPU_MICRO), services_gpu_s);
    const int64_t services_uusd = llround((double)uusd * (services_gpu_s / gpu_s));
    bill->services_uusd += services_uusd;
    bill->jobs_uusd -= services_uusd;
    bill->idle_uusd += uusd - llround((double)uusd * (held_gpu_s / gpu_s));
    bill->late_services_uusd += (double)uusd * (late_gpu_s / gpu_s);
}

static struct bill share_bill(const struct market *market, sim_ns now)
{
    const struct ledger *ledger = &market->ledger;
    struct bill bill = {.services_uusd = ledger_use_uusd(ledger, LEASE_SERVICES, now),
                        .jobs_uusd = ledger_use_uusd(ledger, LEASE_JOBS, now) +
                                     ledger_use_uusd(ledger, LEASE_SITE, now)};
    bill.late_services_uusd = (double)bill.services_uusd * measured_frac(market, now);
    for (const struct lease *lease = ledger->oldest; lease != NULL; lease = lease->next)
        if (lease->use == LEASE_SITE) share_lease(market, lease, now, &bill);
    return bill;
}

static int emit_offer(const struct market *market, int32_t i, sim_ns now)
{
    const struct sink *sink = market->env.site->sink;
    const char *name = market->offers[i].name;
    const double usd = (double)ledger_account_uusd(&market->ledger, i, now) / PRICE_MICRO;
    int code = metric_emit_of(sink, "cost.usd", name, usd);
    if (code == 0) code = metric_emit_of(sink, "rental.gpu_s", name, ledger_account_gpu_s(&market->ledger, i, now));
    if (code != 0) return code;
    return metric_emit_of(sink, "rental.billed_gpu_s", name, ledger_account_billed_gpu_s(&market->ledger, i, now));
}

/* --- Warnings --- */

static int warn(const struct market *market, const char *code, const char *text)
{
    const struct sink *sink = market->env.site->sink;
    const struct warning_row row = {.t_s = (double)NAN, .code = code, .text = text, .count = 1};
    return sink->warning != NULL ? sink->warning(sink->context, &row) : 0;
}

/* Warns of offers that no lease can use: jobs that rent for themselves can use any, leases for the whole run only
 * market_offer_for_run. Also of a renter that rents for jobs where there are none. */
static int warn_of_idle_offers(const struct market *market)
{
    char text[256];
    const char *renter = market->renter->policy.name;
    int code = 0;
    if (market->scheduler != NULL) return 0;
    snprintf(text, sizeof text,
             "'%s' rents for jobs, and there are none: the whole cluster is leased for the whole run", renter);
    if (market->renter->rent != NULL) code = warn(market, "offer-unused", text);
    for (int32_t i = 0; i < market->view.n_offers && code == 0; i++) {
        const struct market_offer *offer = &market->offers[i];
        const int32_t used = market_offer_for_run(market, market->states[i].part);
        if (used == i) continue;
        if (offer->kind == OFFER_SPOT)
            snprintf(text, sizeof text, "no lease can use offer '%s': GPUs on spot are for jobs that rent as they come",
                     offer->name);
        else
            snprintf(text, sizeof text, "no lease can use offer '%s': the whole run is leased from '%s', listed before",
                     offer->name, market->offers[used].name);
        code = warn(market, "offer-unused", text);
    }
    return code;
}

static int warn_of_free_interruptions(const struct market *market)
{
    char text[256];
    if (market->n_free_interruptions == 0) return 0;
    snprintf(
        text, sizeof text,
        "%lld of %lld interruptions cost no work: jobs without a 'checkpoint' of their type keep all of it, so the "
        "bill may be too low",
        (long long)market->n_free_interruptions, (long long)market->n_interruptions);
    return warn(market, "free-interruptions", text);
}

static int finish(void *self, sim_ns now)
{
    const struct market *market = self;
    const struct market_yield yield = market->env.yield(market->env.context);
    const struct ledger *ledger = &market->ledger;
    const struct bill bill = share_bill(market, now);
    const double services_usd = (double)bill.services_uusd / PRICE_MICRO;
    const double jobs_usd = (double)bill.jobs_uusd / PRICE_MICRO;
    const double late_services_usd = bill.late_services_uusd / PRICE_MICRO;
    const bool has_both = market->env.services->n > 0 && market->env.scheduler != NULL;
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"cost.usd", (double)ledger_uusd(ledger, now) / PRICE_MICRO},
        {"cost.services_usd", has_both ? services_usd : (double)NAN},
        {"cost.jobs_usd", has_both ? jobs_usd : (double)NAN},
        {"cost.idle_usd", has_both ? (double)bill.idle_uusd / PRICE_MICRO : (double)NAN},
        {"cost.usd_per_job", per(jobs_usd, yield.jobs)},
        {"cost.usd_per_output_token", per(services_usd, yield.output_tokens)},
        {"cost.usd_per_met_request", per(late_services_usd, yield.met_requests)},
        {"rental.leases", (double)ledger->n_leases},
        {"rental.interruptions", (double)market->n_interruptions},
        {"rental.lost_gpu_s", market->lost_gpu_s},
        {"rental.gpus.mean", level_mean(&ledger->micro_gpus, now) / GPU_MICRO},
        {"rental.gpus.max", gpus_of(ledger->micro_gpus.max)},
    };
    int code = 0;
    for (const struct lease *lease = ledger->oldest; lease != NULL && code == 0; lease = lease->next)
        code = emit_row(market, lease, "open", now);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && code == 0; i++)
        code = metric_emit(market->env.site->sink, metrics[i].name, metrics[i].value);
    for (int32_t i = 0; i < market->view.n_offers && code == 0; i++) code = emit_offer(market, i, now);
    if (code == 0) code = warn_of_free_interruptions(market);
    return code == 0 ? warn_of_idle_offers(market) : code;
}

/* --- Time series --- */

enum { PER_PART = 2 };

static int32_t n_parts(const struct market *market)
{
    int32_t n = 0;
    for (const struct cluster *part = market->env.cluster; part != NULL; part = part->next) n++;
    return n;
}

static int list_series(void *self, struct sampler_series *series)
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

static void sample(void *self, sim_ns at, double *values)
{
    const struct market *market = self;
    for (const struct cluster *part = market->env.cluster; part != NULL; part = part->next) {
        *values++ = market_leased_gpus(market, part);
        *values++ = gpus_of(part->ugpus_in_use.value);
    }
    for (int32_t i = 0; i < market->view.n_offers; i++)
        *values++ = (double)ledger_account_uusd(&market->ledger, i, at) / PRICE_MICRO;
}

const struct component market_component = {.name = "market", .start = start, .check = check, .series = list_series,
                                           .sample = sample, .finish = finish, .destroy = destroy};

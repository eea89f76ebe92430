#include "sim/world/world.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/failures/failure.h"
#include "sim/world/idle_types.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/market/market.h"
#include "sim/world/origins.h"
#include "sim/world/power/power.h"
#include "sim/world/rl/rl.h"
#include "sim/world/rows/metric.h"
#include "sim/world/unread.h"

#include <math.h>
#include <string.h>

enum { MOST_SINGLE_PARTS = 16 }; /* beside the services */

struct world {
    const struct scenario *scenario;
    struct world_options options;
    struct sink sink; /* empty until the run begins */
    struct arena arena;
    struct site_env site;
    struct gpu_spec gpu;
    struct cluster *cluster;
    struct topology *topology;
    struct service **services;
    size_t n_services; /* created */
    struct failures *failures; /* NULL: nothing fails */
    struct jobs *jobs;
    struct power *power; /* NULL: not wanted */
    struct market *market; /* NULL: nothing is rented */
    struct rl *rl; /* NULL: nothing learns */
    struct sampler sampler; /* empty: no samples are wanted */
    const volatile sig_atomic_t *interrupt;
    struct part {
        const struct component *is;
        void *self;
        int n_series;
    } *parts; /* [n_parts], in the order in which they start and finish */
    size_t n_parts;
};

/* --- Looking in while it runs --- */

static double world_done_frac(const struct world *world)
{
    double least = 1;
    for (size_t i = 0; i < world->n_services; i++) {
        double done = service_place(world->services[i]).done_frac;
        if (done < least) least = done;
    }
    if (world->jobs != NULL) {
        double done = jobs_place(world->jobs).done_frac;
        if (done < least) least = done;
    }
    return least;
}

static void world_check(const struct world *world)
{
    const sim_ns now = engine_now(world->site.engine);
    for (const struct part *part = world->parts; part < world->parts + world->n_parts; part++)
        if (part->is->check != NULL) part->is->check(part->self, now);
}

static void world_observe(void *context, sim_ns now, uint64_t events)
{
    const struct world *world = context;
    if (world->options.check) world_check(world);
    if (world->options.progress == NULL) return;
    struct world_progress progress = {.now_ns = now, .events = events, .done_frac = world_done_frac(world)};
    world->options.progress(world->options.progress_context, &progress);
}

/* --- Building --- */

/* Placers see leaves as racks, if the scenario names none, and pods. More node types begin at a leaf or have none. */
static void note_distances(struct world *world)
{
    const struct graph *graph = topology_graph(world->topology);
    if (graph_is_flat(graph)) return;
    const int32_t leaf_nodes = graph_leaf_nodes(graph), pod_nodes = graph_pod_nodes(graph);
    for (struct cluster *type = world->cluster; type != NULL; type = type->next) {
        if (type->nodes_per_rack == 0 && type->first_node % leaf_nodes == 0) type->nodes_per_rack = leaf_nodes;
        if (pod_nodes > 0 && type->first_node % pod_nodes == 0) type->nodes_per_pod = pod_nodes;
    }
}

static int create_topology(struct world *world)
{
    struct topology_env env = {
        .site = &world->site,
        .cluster = &world->scenario->cluster.nodes,
        .links = &world->scenario->cluster.links,
        .slows_nics = failures_config_slows_nics(&world->scenario->failures),
    };
    const int code = topology_create(&env, &world->topology);
    if (code == 0) note_distances(world);
    return code;
}

/* What the run achieved, for the market's bill. */
static struct market_yield yield_of(void *context)
{
    const struct world *world = context;
    struct market_yield yield = {0};
    if (world->jobs != NULL) yield.jobs = jobs_finished(world->jobs);
    for (size_t i = 0; i < world->n_services; i++) {
        yield.output_tokens += service_output_tokens(world->services[i]);
        yield.met_requests += service_met_requests(world->services[i]);
    }
    return yield;
}

static int create_market(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    if (scenario->market.renting.entry == NULL) return 0;
    const struct market_env env = {
        .site = &world->site,
        .cluster = world->cluster,
        .types = &scenario->jobs.all_types,
        .services = &scenario->services,
        .yield = yield_of,
        .context = world,
        .scheduler = scenario->jobs.trace.entry != NULL ? scenario->jobs.scheduler.entry : NULL,
    };
    return market_create(&scenario->market, &env, &world->market);
}

/* The service as in the scenario, or with the replicas that the renter planned. */
static const struct service_config *service_of(const struct world *world, size_t i)
{
    return world->market != NULL ? market_service(world->market, i) : scenario_service(world->scenario, i);
}

/* A tripped breaker takes the power of its nodes. */
static bool has_outages(const struct scenario *scenario)
{
    return scenario->cluster.power.breaker.outage_ns > 0;
}

static bool nodes_fail(const struct scenario *scenario)
{
    return failures_config_strikes_nodes(&scenario->failures) || has_outages(scenario);
}

static int create_services(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    const struct world_options *options = &world->options;
    if (scenario->services.n == 0 && world->market == NULL)
        cluster_section_warn_prices(&scenario->cluster, options->config, world->site.diag);
    if (scenario->services.n == 0) return 0;
    if (scenario->cluster.nodes.gpu == NULL)
        return diag_error(world->site.diag, SIM_E_CONFIG, config_where(options->config, "cluster"),
                          "add \"gpu\": see 'orrery list gpus'", "services need to know the cluster's 'gpu'");
    int code = catalog_gpu(options->catalog, scenario->cluster.nodes.gpu, config_where(options->config, "cluster.gpu"),
                           &world->arena, &world->gpu, world->site.diag);
    if (code != 0) return code;
    world->services = mem_zalloc(scenario->services.n, sizeof *world->services);
    if (world->services == NULL) return SIM_E_NOMEM;
    struct service_env env = {
        .site = &world->site,
        .cluster = world->cluster,
        .topology = world->topology,
        .gpu = &world->gpu,
        .nodes_fail = nodes_fail(scenario),
    };
    for (size_t i = 0; i < scenario->services.n && code == 0; i++) {
        const struct service_config *config = service_of(world, i);
        env.takes_weights = scenario->rl.service != NULL && strcmp(scenario->rl.service, config->name) == 0;
        code = service_create(config, &env, &world->services[i]);
        world->n_services = i + 1;
    }
    return code;
}

static int create_failures(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    const struct placer *placer = scenario->jobs.placement.entry;
    const bool no_jobs = scenario->jobs.trace.entry == NULL;
    const bool some = failures_config_any(&scenario->failures) || has_outages(scenario);
    struct failures_options options = {
        .places_jobs = world->cluster->n_nodes > 0 && (no_jobs || placer == NULL || placer->place != NULL),
        .has_breakers = has_outages(scenario),
        .topology = world->topology,
    };
    const int code = some ? failures_create(&world->site, world->cluster, &scenario->failures, &options,
                                            &world->failures)
                          : 0;
    if (code == 0) failures_config_warn(&scenario->failures, !no_jobs, world->site.config, world->site.diag);
    return code;
}

static int create_jobs(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    if (scenario->jobs.trace.entry == NULL) return 0;
    const struct network_config *network = &scenario->cluster.links.network;
    struct jobs_options options = {
        .topology = world->topology,
        .nic_bytes_per_s = network->bytes_per_s > 0 ? network->bytes_per_s : 0.0,
        .nic_per_node = network->per == NETWORK_PER_NODE};
    if (world->market != NULL) {
        options.renting = market_scheduler(world->market);
        options.renting_params = market_scheduler_params(&world->market);
    }
    return jobs_create(&world->site, world->cluster, &scenario->jobs, &options, &world->jobs);
}

static int create_power(struct world *world)
{
    const struct power_env env = {
        .site = &world->site,
        .holders = &world->cluster->holders,
        .has_jobs = world->jobs != NULL,
        .cluster = &world->scenario->cluster.nodes,
        .server_power = &world->scenario->cluster.server_power,
        .power = &world->scenario->cluster.power,
        .checks_energy = world->options.check && (world->options.single_step || world->n_services == 0),
    };
    int code = power_create(&env, &world->power);
    const struct service_power power = {env.power->clock_like, env.power->clock_share, has_outages(world->scenario)};
    for (size_t i = 0; i < world->n_services && code == 0; i++)
        code = service_join(world->services[i], world->power != NULL ? &power : NULL);
    return code != 0 || world->power == NULL || world->jobs == NULL ? code : jobs_check_power(world->jobs);
}

static int refuse_rl(const struct world *world, const char *path, const char *problem)
{
    return diag_error(world->site.diag, SIM_E_CONFIG, config_where(world->options.config, path),
                      "leave out 'rl' or this section", "'rl' is not simulated together with %s", problem);
}

static int create_rl(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    const struct rl_config *config = &scenario->rl;
    if (config->service == NULL) return 0;
    if (failures_config_any(&scenario->failures)) return refuse_rl(world, "failures", "failures");
    if (scenario->cluster.power.capping.entry != NULL)
        return refuse_rl(world, "cluster.power", "the power of the site");
    if (world->market != NULL) return refuse_rl(world, "market", "rented GPUs");
    const struct network_config *network = &scenario->cluster.links.network;
    struct rl_env env = {.site = &world->site, .cluster = world->cluster, .topology = world->topology,
                         .nic_bytes_per_s = network->bytes_per_s > 0 ? network->bytes_per_s : 0.0,
                         .nic_per_node = network->per == NETWORK_PER_NODE};
    for (size_t i = 0; i < world->n_services; i++) {
        const struct service_config *service = scenario_service(scenario, i);
        if (strcmp(service->name, config->service) != 0) continue;
        env.service = world->services[i];
        env.has_pools = service->pools.n > 0;
    }
    if (env.service != NULL) return rl_create(config, &env, &world->rl);
    return diag_error(world->site.diag, SIM_E_CONFIG, config_where(world->options.config, "rl.service"),
                      "name one of 'services'", "there is no service '%s'", config->service);
}

/* --- The site itself: who holds its GPUs --- */

/* Where a service scales: GPUs by use, one series for each service and one for the jobs. */
static size_t n_uses(const struct world *world)
{
    bool scales = false;
    for (size_t i = 0; i < world->n_services; i++) scales = scales || service_scales(world->services[i]);
    return scales ? world->n_services + (world->jobs != NULL) : 0;
}

static int list_site(void *self, struct sampler_series *series)
{
    const struct world *world = self;
    const size_t n = n_uses(world);
    for (size_t i = 0; i < n && series != NULL; i++)
        *series++ = (struct sampler_series){
            "cluster.gpus_by_use", i < world->n_services ? scenario_service(world->scenario, i)->name : "jobs"};
    if (series != NULL) *series = (struct sampler_series){"cluster.gpus_in_use", ""};
    return (int)n + 1;
}

static void sample_site(void *self, sim_ns at, double *values)
{
    (void)at;
    const struct world *world = self;
    const double used = cluster_gpus_in_use(world->cluster);
    double left = used;
    const size_t n = n_uses(world);
    for (size_t i = 0; i < n; i++) {
        *values = i < world->n_services ? (double)service_gpus(world->services[i]) : left;
        left -= *values++;
    }
    *values = used;
}

static void check_site(void *self, sim_ns now)
{
    (void)now;
    const struct world *world = self;
    for (const struct cluster *part = world->cluster; part != NULL; part = part->next) cluster_check(part);
}

static int finish_site(void *self, sim_ns now)
{
    const struct world *world = self;
    int code = cluster_emit(world->cluster, now, &world->sink);
    if (code == 0) code = idle_types_warn(world->scenario, &world->sink);
    if (code != 0) return code;
    return origins_warn(world->scenario, world->services, world->n_services, world->jobs, &world->sink);
}

static const struct component site_component = {
    .name = "site", .check = check_site, .series = list_site, .sample = sample_site, .finish = finish_site};

/* --- The components --- */

/* Metrics of all services together, once each has emitted its rows. */
static int finish_services(void *self, sim_ns now)
{
    const struct world *world = self;
    return services_emit_metrics(world->services, world->n_services, &world->sink, now);
}

static const struct component services_component = {.name = "services", .finish = finish_services};

static void add_part(struct world *world, const struct component *component, void *self)
{
    if (self == NULL) return;
    SIM_REQUIRE(world->n_parts < MOST_SINGLE_PARTS + world->scenario->services.n);
    world->parts[world->n_parts++] = (struct part){component, self, 0};
}

/* The order in which components start and finish; they are destroyed in reverse. A new subsystem is one more entry. */
static void list_parts(struct world *world)
{
    add_part(world, &power_component, world->power);
    for (size_t i = 0; i < world->n_services; i++) add_part(world, &service_component, world->services[i]);
    add_part(world, &rl_component, world->rl);
    add_part(world, &services_component, world);
    add_part(world, &jobs_component, world->jobs);
    add_part(world, &failures_component, world->failures);
    add_part(world, &market_component, world->market);
    add_part(world, &site_component, world);
    add_part(world, &topology_component, world->topology);
}

static void warn_unread(const struct world *world)
{
    const struct unread_env env = {.scenario = world->scenario,
                                   .config = world->options.config,
                                   .cluster = world->cluster,
                                   .most_tdp_w = world->power != NULL ? power_most_tdp_w(world->power) : (double)NAN,
                                   .reads_estimates = world->jobs != NULL && jobs_reads_estimates(world->jobs),
                                   .may_migrate = world->jobs != NULL && jobs_may_migrate(world->jobs),
                                   .diag = world->site.diag};
    scenario_warn_unread(&env);
}

int world_create(const struct scenario *scenario, const struct world_options *options, struct world **out,
                 struct diag *diag)
{
    struct world *world = mem_zalloc(1, sizeof *world);
    *out = NULL;
    if (world == NULL) return diag_nomem(diag);
    world->scenario = scenario;
    world->options = *options;
    arena_init(&world->arena);
    world->site = (struct site_env){
        .diag = diag,
        .catalog = options->catalog,
        .config = options->config,
        .sink = &world->sink,
        .arena = &world->arena,
        .seed = (uint64_t)scenario->seed,
        .run = options->run,
        .interrupt = options->interrupt,
        .warmup_ns = scenario->warmup_ns,
        .single_step = options->single_step,
        .strict_domain = options->strict_domain,
        .time_case = options->time_case,
        .each_replica = options->each_replica,
    };
    world->interrupt = options->interrupt;
    struct engine_options engine_options = {.queue = options->queue, .until = scenario->until_ns,
                                            .stall_events = options->stall_events,
                                            .interrupt = options->interrupt, .context = world, .look = world_observe,
                                            .look_every = options->check ? 1 : 0};
    world->site.engine = engine_create(&engine_options);
    int code = world->site.engine != NULL ? cluster_create(&scenario->cluster.nodes, &world->cluster) : SIM_E_NOMEM;
    world->parts = mem_zalloc(MOST_SINGLE_PARTS + scenario->services.n, sizeof *world->parts);
    if (world->parts == NULL) code = SIM_E_NOMEM;
    if (code == 0)
        code = cluster_section_check_gpus(&scenario->cluster, options->catalog, options->config, &world->arena, diag);
    cluster_section_warn_unlimited(&scenario->cluster, world->site.config, world->site.diag);
    if (code == 0) code = create_topology(world);
    if (code == 0) code = create_market(world);
    if (code == 0) code = create_services(world);
    if (code == 0) code = create_rl(world);
    if (code == 0) code = create_failures(world);
    if (code == 0) code = create_jobs(world);
    if (code == 0) code = create_power(world);
    if (code == 0) warn_unread(world);
    if (world->parts != NULL) list_parts(world); /* also those that a failure left, to be destroyed */
    if (code == 0) *out = world;
    if (code == 0) return 0;
    if (diag->n_errors == 0) diag_error(diag, code, NULL, NULL, "%s", sim_err_text(code));
    world_destroy(world);
    return code;
}

void world_say_time_errors(const struct world *world, struct time_errors *errors)
{
    for (size_t i = 0; i < world->n_services; i++) service_say_time_errors(world->services[i], errors);
}

int world_warn_ahead(const struct world *world, const char *where, struct diag *diag)
{
    if (world->power != NULL) power_warn_brake(world->power, diag);
    for (size_t i = 0; i < world->n_services; i++)
        if (service_warn_kernels(world->services[i], where, diag) != 0) return SIM_E_NOMEM;
    return 0;
}

double world_power_error(const struct world *world)
{
    double most = 0.0;
    for (size_t i = 0; i < world->n_services; i++) {
        const double error = service_power_error(world->services[i]);
        if (isnan(error)) return error;
        most = fmax(most, error);
    }
    return most;
}

const struct jobs *world_jobs(const struct world *world)
{
    return world->jobs;
}

void world_destroy(struct world *world)
{
    if (world == NULL) return;
    engine_destroy(world->site.engine);
    while (world->n_parts > 0) {
        const struct part *part = &world->parts[--world->n_parts];
        if (part->is->destroy != NULL) part->is->destroy(part->self);
    }
    mem_free(world->parts);
    mem_free(world->services);
    sampler_fini(&world->sampler);
    cluster_destroy(world->cluster);
    arena_fini(&world->arena);
    mem_free(world);
}

/* --- Time series --- */

static void read_samples(void *context, sim_ns at, double *values)
{
    const struct world *world = context;
    for (const struct part *part = world->parts; part < world->parts + world->n_parts; part++) {
        if (part->n_series > 0) part->is->sample(part->self, at, values);
        values += part->n_series;
    }
}

static sim_ns take_samples(void *context, sim_ns next_ns)
{
    struct world *world = context;
    int code = sampler_take(&world->sampler, next_ns);
    if (code != 0) engine_fail(world->site.engine, code);
    return world->sampler.next_ns;
}

/* Lists the series and starts to sample, if the sink wants samples. */
static int start_sampling(struct world *world)
{
    const struct part *end = world->parts + world->n_parts;
    size_t n = 0;
    if (world->sink.sample == NULL) return 0;
    for (struct part *part = world->parts; part < end; part++) {
        part->n_series = part->is->series != NULL ? part->is->series(part->self, NULL) : 0;
        if (part->n_series < 0) return part->n_series;
        n += (size_t)part->n_series;
    }
    struct sampler *sampler = &world->sampler;
    if (sampler_init(sampler, &world->scenario->sample, n) != 0) return SIM_E_NOMEM;
    sampler->sink = &world->sink;
    sampler->interrupt = world->interrupt;
    sampler->read = read_samples;
    sampler->context = world;
    struct sampler_series *series = sampler->series;
    for (const struct part *part = world->parts; part < end; part++) {
        const int code = part->n_series > 0 ? part->is->series(part->self, series) : 0;
        if (code < 0) return code;
        series += part->n_series;
    }
    engine_watch(world->site.engine, 0, take_samples);
    return 0;
}

static int end_sampling(struct world *world, sim_ns now)
{
    if (world->sampler.series == NULL) return 0;
    int code = sampler_take(&world->sampler, sim_ns_add(now, 1));
    return code != 0 ? code : sampler_end(&world->sampler);
}

/* --- Running --- */

int world_read_through(struct world *world)
{
    const sim_ns until_ns = world->scenario->until_ns > 0 ? world->scenario->until_ns : SIM_NS_MAX;
    int first = 0;
    for (const struct part *part = world->parts; part < world->parts + world->n_parts; part++) {
        const int code = part->is->read_through != NULL ? part->is->read_through(part->self, until_ns) : 0;
        if (first == 0) first = code;
    }
    return first;
}

static int start_all(struct world *world)
{
    int code = 0;
    for (const struct part *part = world->parts; part < world->parts + world->n_parts && code == 0; part++)
        if (part->is->start != NULL) code = part->is->start(part->self);
    return code;
}

/* Running jobs that do not end are the cause, if there are any: others may wait for their GPUs. */
static int fail_stuck_jobs(const struct world *world)
{
    const long long waiting = jobs_waiting(world->jobs) + jobs_held(world->jobs), running = jobs_running(world->jobs);
    char kept[200];
    const long long n_kept = jobs_kept(world->jobs, kept, sizeof kept);
    if (n_kept > 0 && n_kept == running)
        return diag_error(world->site.diag, SIM_E_STALLED, NULL, jobs_kept_hint(world->jobs),
                          "deadlock: %lld job%s forever for GPUs that %lld %s: %s", waiting,
                          waiting == 1 ? " waits" : "s wait", n_kept, n_kept == 1 ? "other keeps" : "others keep",
                          kept);
    if (running == 0)
        return diag_error(world->site.diag, SIM_E_STALLED, NULL, "see the rows with status 'unfinished'",
                          "%lld job%s forever: the scheduler never starts %s, or the placer never finds room", waiting,
                          waiting == 1 ? " waits" : "s wait", waiting == 1 ? "it" : "them");
    return diag_error(
        world->site.diag, SIM_E_STALLED, NULL, "see the rows with status 'unfinished'; \"until\" ends a run earlier",
        "%lld running and %lld waiting jobs never finish: the speed is 0, an outage does not end, failures undo all "
        "work, or the work goes on past the 292 years that time covers",
        running, waiting);
}

/* No event is left: what is still in the system stays there. Running jobs first: all others may await their GPUs. */
static int find_stuck(const struct world *world)
{
    sim_ns until = world->scenario->until_ns;
    if (until > 0 && engine_now(world->site.engine) >= until) return 0;
    if (world->jobs != NULL && jobs_running(world->jobs) > 0) return fail_stuck_jobs(world);
    for (size_t i = 0; i < world->n_services; i++) {
        const int code = service_check_done(world->services[i], world->site.diag);
        if (code != 0) return code;
    }
    return world->jobs == NULL || jobs_done(world->jobs) ? 0 : fail_stuck_jobs(world);
}

/* Rows and metrics of what has happened by now. */
static int finish_all(struct world *world, sim_ns now)
{
    int code = end_sampling(world, now);
    for (const struct part *part = world->parts; part < world->parts + world->n_parts && code == 0; part++)
        if (part->is->finish != NULL) code = part->is->finish(part->self, now);
    return code != 0 ? code : metric_emit(&world->sink, "sim.end_s", sim_s_from_ns(now));
}

int world_run(struct world *world, const struct sink *sink, struct world_result *result)
{
    world->sink = *sink;
    int code = start_sampling(world);
    if (code == 0) code = start_all(world);
    if (code == 0) code = engine_run(world->site.engine, world->site.diag);
    if (code == SIM_E_STALLED && world->jobs != NULL) jobs_explain_stall(world->jobs);
    if (code == 0) code = find_stuck(world);
    sim_ns now = engine_now(world->site.engine);
    if (code == 0 || code == SIM_E_INTERRUPTED || code == SIM_E_STALLED) {
        world_check(world);
        int finish_code = finish_all(world, now);
        if (finish_code != 0) code = finish_code;
        if (code == 0 && world->sampler.series != NULL && world->sampler.next_ns <= now) code = SIM_E_INTERRUPTED;
    }
    if (code != 0 && world->site.diag->n_errors == 0)
        diag_error(world->site.diag, code, NULL, NULL, "%s at %.9f s", sim_err_text(code), sim_s_from_ns(now));
    *result = (struct world_result){.end_ns = now,
                                    .extrapolated_frac = services_extrapolated_frac(world->services,
                                                                                    world->n_services),
                                    .has_exact_estimates = world->jobs != NULL && jobs_has_exact_estimates(world->jobs),
                                    .engine = engine_stats(world->site.engine)};
    return code;
}

#include "sim/world/world.h"

#include "sim/core/mem.h"
#include "sim/world/failures/failure.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/market/market.h"
#include "sim/world/power/power.h"
#include "sim/world/rows/metric.h"

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
    struct power *power; /* NULL: nobody asks for it */
    struct market *market; /* NULL: nothing is rented */
    struct sampler sampler; /* empty when nobody wants samples */
};

/* --- Looking in while it runs --- */

static double world_done_frac(const struct world *world)
{
    double least = 1;
    for (size_t i = 0; i < world->n_services; i++) {
        double done = service_done_frac(world->services[i]);
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
    for (size_t i = 0; i < world->n_services; i++) service_check(world->services[i], engine_now(world->site.engine));
    for (const struct cluster *part = world->cluster; part != NULL; part = part->next) cluster_check(part);
    topology_check(world->topology, engine_now(world->site.engine));
    const bool is_even = world->options.single_step || world->n_services == 0; /* between two looks */
    if (world->power != NULL && world->options.check && is_even)
        power_check(world->power, engine_now(world->site.engine));
    if (world->market != NULL) market_check(world->market, engine_now(world->site.engine));
}

static void world_look(void *context, sim_ns now, uint64_t events)
{
    const struct world *world = context;
    if (world->options.check) world_check(world);
    if (world->options.look == NULL) return;
    struct world_progress progress = {.now_ns = now, .events = events, .done_frac = world_done_frac(world)};
    world->options.look(world->options.look_context, &progress);
}

/* --- Building --- */

static int create_topology(struct world *world)
{
    struct topology_env env = {
        .site = &world->site,
        .cluster = &world->scenario->cluster.nodes,
        .links = &world->scenario->cluster.links,
    };
    return topology_create(&env, &world->topology);
}

/* The GPUs of further node types are in the catalog, whether or not a pool wants them. */
static int check_node_types(struct world *world)
{
    const struct config_list *types = &world->scenario->cluster.nodes.node_types;
    int code = 0;
    for (size_t i = 0; i < types->n; i++) {
        const struct node_type_config *type = (const struct node_type_config *)types->items + i;
        const char *path = arena_printf(&world->arena, "cluster.nodes.node_types.%s.gpu", type->name);
        struct gpu_spec gpu;
        if (path == NULL) return SIM_E_NOMEM;
        const int type_code = catalog_gpu(world->options.catalog, type->gpu, config_where(world->options.config, path),
                                          &world->arena, &gpu, world->site.diag);
        if (code == 0) code = type_code;
    }
    return code;
}

static int create_market(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    if (scenario->market.renting.entry == NULL) return 0;
    const struct market_env env = {
        .site = &world->site,
        .cluster = world->cluster,
        .types = &scenario->jobs.types,
        .services = &scenario->services,
        .scheduler = scenario->jobs.trace.entry != NULL ? scenario->jobs.scheduler.entry : NULL,
    };
    return market_create(&scenario->market, &env, &world->market);
}

/* As in the scenario, or with the replicas that were planned for it. */
static const struct service_config *service_of(const struct world *world, size_t i)
{
    return world->market != NULL ? market_service(world->market, i) : scenario_service(world->scenario, i);
}

/* Breakers leave nodes in the dark. */
static bool goes_dark(const struct scenario *scenario)
{
    return scenario->cluster.power.breaker.outage_ns > 0;
}

static bool nodes_fail(const struct scenario *scenario)
{
    return failures_config_strikes_nodes(&scenario->failures) || goes_dark(scenario);
}

static int create_services(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    const struct world_options *options = &world->options;
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
        code = service_create(service_of(world, i), &env, &world->services[i]);
        world->n_services = i + 1;
    }
    return code;
}

static int create_failures(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    const struct placer *placer = scenario->jobs.placement.entry;
    const bool no_jobs = scenario->jobs.trace.entry == NULL;
    if (!failures_config_any(&scenario->failures) && !goes_dark(scenario)) return 0;
    struct failures_options options = {
        .places_jobs = world->cluster->n_nodes > 0 && (no_jobs || placer == NULL || placer->place != NULL),
        .has_breakers = goes_dark(scenario),
    };
    return failures_create(&world->site, world->cluster, &scenario->failures, &options, &world->failures);
}

static int create_jobs(struct world *world)
{
    const struct scenario *scenario = world->scenario;
    if (scenario->jobs.trace.entry == NULL) return 0;
    struct jobs_options options = {0};
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
    };
    int code = power_create(&env, &world->power);
    const struct service_power power = {env.power->clock_like, env.power->clock_share, goes_dark(world->scenario)};
    for (size_t i = 0; i < world->n_services && code == 0; i++)
        code = service_join(world->services[i], world->power != NULL ? &power : NULL);
    return code != 0 || world->power == NULL || world->jobs == NULL ? code : jobs_check_power(world->jobs);
}

int world_create(const struct scenario *scenario, const struct world_options *options, struct world **out,
                 struct diag *diag)
{
    struct world *world = mem_zalloc(1, sizeof *world);
    *out = NULL;
    if (world == NULL) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
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
        .warmup_ns = scenario->warmup_ns,
        .single_step = options->single_step,
        .strict_domain = options->strict_domain,
    };
    struct engine_options engine_options = {.queue = options->queue, .until = scenario->until_ns,
                                            .stall_events = options->stall_events,
                                            .interrupt = options->interrupt, .context = world, .look = world_look,
                                            .look_every = options->check ? 1 : 0};
    world->site.engine = engine_create(&engine_options);
    int code = world->site.engine != NULL ? cluster_create(&scenario->cluster.nodes, &world->cluster) : SIM_E_NOMEM;
    if (code == 0) code = check_node_types(world);
    if (code == 0) code = create_topology(world);
    if (code == 0) code = create_market(world);
    if (code == 0) code = create_services(world);
    if (code == 0) code = create_failures(world);
    if (code == 0) code = create_jobs(world);
    if (code == 0) code = create_power(world);
    if (code == 0) {
        *out = world;
        return 0;
    }
    if (diag->n_errors == 0) diag_error(diag, code, NULL, NULL, "%s", sim_err_text(code));
    world_destroy(world);
    return code;
}

void world_destroy(struct world *world)
{
    if (world == NULL) return;
    engine_destroy(world->site.engine);
    for (size_t i = 0; i < world->n_services; i++) service_destroy(world->services[i]);
    mem_free(world->services);
    power_destroy(world->power);
    topology_destroy(world->topology);
    sampler_fini(&world->sampler);
    jobs_destroy(world->jobs);
    failures_destroy(world->failures);
    market_destroy(world->market);
    cluster_destroy(world->cluster);
    arena_fini(&world->arena);
    mem_free(world);
}

/* --- Time series --- */

/* Where a service scales: GPUs by use, one series for each service and one for the jobs. */
static size_t n_uses(const struct world *world)
{
    bool scales = false;
    for (size_t i = 0; i < world->n_services; i++) scales = scales || service_scales(world->services[i]);
    return scales ? world->n_services + (world->jobs != NULL) : 0;
}

static struct sampler_series *list_uses(const struct world *world, struct sampler_series *series)
{
    const size_t n = n_uses(world);
    for (size_t i = 0; i < n; i++)
        *series++ = (struct sampler_series){
            "cluster.gpus_by_use", i < world->n_services ? scenario_service(world->scenario, i)->name : "jobs"};
    return series;
}

static double *read_uses(const struct world *world, double *values)
{
    double left = cluster_gpus_in_use(world->cluster);
    const size_t n = n_uses(world);
    for (size_t i = 0; i < n; i++) {
        *values = i < world->n_services ? (double)service_gpus(world->services[i]) : left;
        left -= *values++;
    }
    return values;
}

static void read_samples(void *context, sim_ns at, double *values)
{
    const struct world *world = context;
    for (size_t i = 0; i < world->n_services; i++) {
        service_sample(world->services[i], at, values);
        values += service_series(world->services[i], NULL);
    }
    topology_sample(world->topology, values);
    values += topology_n_series(world->topology);
    if (world->power != NULL) {
        power_sample(world->power, at, values);
        values += power_series(world->power, NULL);
    }
    if (world->market != NULL) {
        market_sample(world->market, at, values);
        values += market_series(world->market, NULL);
    }
    values = read_uses(world, values);
    *values++ = cluster_gpus_in_use(world->cluster);
    if (world->jobs == NULL) return;
    *values++ = (double)jobs_waiting(world->jobs);
    *values++ = (double)jobs_running(world->jobs);
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
    static const struct sampler_series of_site[] = {
        {"cluster.gpus_in_use", ""}, {"job.pending", ""}, {"job.running", ""}};
    size_t n_of_site = world->jobs != NULL ? 3 : 1, n = n_of_site;
    if (world->sink.sample == NULL) return 0;
    for (size_t i = 0; i < world->n_services; i++) n += (size_t)service_series(world->services[i], NULL);
    int code = topology_prepare_series(world->topology);
    if (code != 0) return code;
    n += (size_t)topology_n_series(world->topology) + n_uses(world);
    if (world->power != NULL) n += (size_t)power_series(world->power, NULL);
    if (world->market != NULL) n += (size_t)market_series(world->market, NULL);
    struct sampler *sampler = &world->sampler;
    if (sampler_init(sampler, &world->scenario->sample, n) != 0) return SIM_E_NOMEM;
    sampler->sink = &world->sink;
    sampler->read = read_samples;
    sampler->context = world;
    struct sampler_series *series = sampler->series;
    for (size_t i = 0; i < world->n_services; i++) {
        int got = service_series(world->services[i], series);
        if (got < 0) return got;
        series += got;
    }
    topology_series(world->topology, series);
    series += topology_n_series(world->topology);
    if (world->power != NULL) series += power_series(world->power, series);
    if (world->market != NULL) {
        int got = market_series(world->market, series);
        if (got < 0) return got;
        series += got;
    }
    series = list_uses(world, series);
    for (size_t i = 0; i < n_of_site; i++) *series++ = of_site[i];
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

static int start_all(struct world *world)
{
    int code = world->market != NULL ? market_start(world->market) : 0;
    if (code == 0 && world->power != NULL) code = power_start(world->power);
    for (size_t i = 0; i < world->n_services && code == 0; i++) code = service_start(world->services[i]);
    if (code == 0 && world->failures != NULL) code = failures_start(world->failures);
    return code != 0 || world->jobs == NULL ? code : jobs_start(world->jobs);
}

/* The queue is empty: whoever is still in the system waits for something that will never come. */
static int find_stuck(const struct world *world)
{
    sim_ns until = world->scenario->until_ns;
    if (until > 0 && engine_now(world->site.engine) >= until) return 0;
    for (size_t i = 0; i < world->n_services; i++) {
        int64_t left = service_outstanding(world->services[i]);
        if (left > 0)
            return diag_error(world->site.diag, SIM_E_STALLED, NULL, "see the rows with status 'unfinished'",
                              "%lld requests of service '%s' wait for ever: its batching policy never takes them",
                              (long long)left, scenario_service(world->scenario, i)->name);
    }
    if (world->jobs == NULL || jobs_done(world->jobs)) return 0;
    return diag_error(world->site.diag, SIM_E_STALLED, NULL, "see the rows with status 'unfinished'",
                      "%lld jobs wait for ever: the scheduler never starts them, or the placer never finds them room",
                      (long long)jobs_waiting(world->jobs));
}

static int finish_market(struct world *world, sim_ns now)
{
    struct market_yield yield = {0};
    if (world->market == NULL) return 0;
    if (world->jobs != NULL) yield.jobs = jobs_finished(world->jobs);
    for (size_t i = 0; i < world->n_services; i++) {
        yield.output_tokens += service_output_tokens(world->services[i]);
        yield.met_requests += service_met_requests(world->services[i]);
    }
    return market_finish(world->market, &yield, now);
}

/* Rows and metrics of what has happened by now. */
static int finish_all(struct world *world, sim_ns now)
{
    int code = end_sampling(world, now);
    if (code == 0 && world->power != NULL) code = power_emit(world->power, now);
    for (size_t i = 0; i < world->n_services && code == 0; i++) code = service_finish(world->services[i], now);
    if (code == 0) code = services_emit_metrics(world->services, world->n_services, &world->sink, now);
    if (code == 0 && world->jobs != NULL) code = jobs_finish(world->jobs);
    if (code == 0 && world->failures != NULL) code = failures_emit(world->failures, now);
    if (code == 0) code = finish_market(world, now);
    if (code == 0) code = cluster_emit(world->cluster, now, &world->sink);
    if (code == 0) code = topology_emit(world->topology, now, &world->sink);
    return code != 0 ? code : metric_emit(&world->sink, "sim.end_s", sim_s_from_ns(now));
}

int world_run(struct world *world, const struct sink *sink, struct world_result *result)
{
    world->sink = *sink;
    int code = start_sampling(world);
    if (code == 0) code = start_all(world);
    if (code == 0) code = engine_run(world->site.engine, world->site.diag);
    if (code == 0) code = find_stuck(world);
    sim_ns now = engine_now(world->site.engine);
    if (code == 0 || code == SIM_E_INTERRUPTED || code == SIM_E_STALLED) {
        world_check(world);
        int finish_code = finish_all(world, now);
        if (finish_code != 0) code = finish_code;
    }
    if (code != 0 && world->site.diag->n_errors == 0)
        diag_error(world->site.diag, code, NULL, NULL, "%s at %.9f s", sim_err_text(code), sim_s_from_ns(now));
    *result = (struct world_result){.end_ns = now,
                                    .extrapolated_frac = services_extrapolated_frac(world->services,
                                                                                    world->n_services),
                                    .engine = engine_stats(world->site.engine)};
    return code;
}

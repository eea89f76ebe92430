#include "sim/world/power/power_state.h"

#include "sim/catalog/power.h"
#include "sim/core/check.h"
#include "sim/core/config/config_tree.h"
#include "sim/core/vec.h"
#include "sim/world/policy/instance.h"

#include <math.h>
#include <string.h>

/* --- Building --- */

static int64_t servers_per_domain(const struct power_config *config, int64_t nodes)
{
    switch (config->level) {
    case POWER_LEVEL_SERVER: return 1;
    case POWER_LEVEL_RACK: return config->servers_per_rack;
    case POWER_LEVEL_ROW: return config->servers_per_rack * config->racks_per_row;
    default: return nodes;
    }
}

static const char *place(const struct power_env *env, const char *key)
{
    return config_where(env->site->config, key);
}

/* Readings in progress, each with the energies at its begin. */
enum { MOST_WINDOWS = 100000 };

/* Whether the scenario has the section, whose values may all be 0. */
static bool knows_server_power(const struct power_env *env)
{
    if (env->server_power->idle_w > 0.0 || env->server_power->per_gpu_w != 0.0) return true;
    return config_is_given(env->site->config, "cluster.server_power");
}

static int check_config(const struct power_env *env)
{
    const struct cluster_config *cluster = env->cluster;
    if (cluster->unlimited)
        return diag_error(env->site->diag, SIM_E_CONFIG, place(env, "cluster.power"), "leave out \"unlimited\"",
                          "power has domains of nodes, and an unlimited cluster has none");
    if (!knows_server_power(env))
        return diag_error(env->site->diag, SIM_E_CONFIG, place(env, "cluster.power"),
                          "add \"server_power\": {\"idle\": \"680W\", \"per_gpu_watt\": 0.66}, as of a DGX A100",
                          "'cluster.power' needs to know what a node draws beside its GPUs ('cluster.server_power')");
    if (power_window_ns(env->power) / env->power->telemetry.period_ns > MOST_WINDOWS)
        return diag_error(env->site->diag, SIM_E_CONFIG, place(env, "cluster.power.telemetry"),
                          "shorten \"window\", or lengthen \"period\"",
                          "a reading begins every %.6g s and lasts %.6g s: more than %d at once",
                          sim_s_from_ns(env->power->telemetry.period_ns), sim_s_from_ns(power_window_ns(env->power)),
                          MOST_WINDOWS);
    return 0;
}

static int make_domain(struct power *power, int32_t index, int64_t first_node, int64_t servers)
{
    struct power_domain *domain = &power->domains[index];
    const struct power_config *config = power->config;
    const char *level = power_level_name(config->level);
    domain->first_node = first_node;
    domain->servers = servers;
    domain->beside.w = (double)servers * power->env.server_power->idle_w;
    domain->name = config->level == POWER_LEVEL_SITE ? level
                                                     : arena_printf(power->env.site->arena, "%s%d", level, index);
    tally_init(&domain->used);
    struct power_least *least = &domain->least;
    least->capacity = (int32_t)fmin((double)(power_latency_ns(config) / config->telemetry.period_ns), 1e6) + 2;
    least->dips = arena_alloc(power->env.site->arena, (size_t)least->capacity * sizeof *least->dips);
    if (domain->name == NULL || least->dips == NULL) return SIM_E_NOMEM;
    if (config->breaker.outage_ns > 0) power_outage_init(power, index);
    domain->view = (struct power_view){.domain = index, .name = domain->name, .budget_w = config->budget_w,
                                       .reading = {.mean_w = (double)NAN}};
    return policy_state_create(&power->capper->policy, POLICY_POWER_CAP, sizeof *power->capper, config->capping.params,
                               &domain->capper_state, power->env.site->diag);
}

struct power_domain *power_domain_of(const struct power *power, int64_t node)
{
    const int64_t nodes = cluster_config_nodes(power->env.cluster);
    return &power->domains[node / servers_per_domain(power->config, nodes)];
}

/* Adds a node type: its GPUs' bare idle power in their domains, and the voltage of the GPU. */
static int add_type(struct power *power, struct power_node_type *type, const char *gpu, int64_t first_node,
                    const struct node_type_config *nodes)
{
    const struct power_env *env = &power->env;
    struct gpu_power known;
    if (gpu == NULL)
        return diag_error(env->site->diag, SIM_E_CONFIG, place(env, "cluster"), "add \"gpu\": see 'orrery list gpus'",
                          "'cluster.power' needs to know the cluster's 'gpu'");
    int code = catalog_gpu(env->site->catalog, gpu, place(env, "cluster.gpu"), env->site->arena, &type->gpu,
                           env->site->diag);
    if (code == 0) code = catalog_gpu_power(env->site->catalog, &type->gpu, env->site->arena, &known, env->site->diag);
    if (code != 0) return code;
    if (isnan(type->gpu.idle_w))
        return diag_error(env->site->diag, SIM_E_CONFIG, place(env, "cluster.power"), "add 'idle_power' to its file",
                          "the idle power of %s is not known", type->gpu.name);
    type->model = (struct power_model){.context_w = isnan(type->gpu.context_w) ? type->gpu.idle_w : type->gpu.context_w,
                                       .limit_w = type->gpu.tdp_w, .voltage_floor = known.model.voltage_floor,
                                       .voltage_knee = known.model.voltage_knee};
    type->load = known.model;
    type->load.context_w = type->model.context_w;
    type->load.limit_w = type->model.limit_w;
    memcpy(type->compute_range, known.compute_range, sizeof type->compute_range);
    memcpy(type->memory_range, known.memory_range, sizeof type->memory_range);
    type->is_measured = known.is_measured;
    for (int64_t node = first_node; node < first_node + nodes->nodes; node++) {
        struct power_domain *domain = power_domain_of(power, node);
        domain->bare_w += (double)nodes->gpus_per_node * type->gpu.idle_w;
        domain->process_w += (double)nodes->gpus_per_node * type->model.context_w;
        domain->rest.w = domain->bare_w;
        domain->least_limit_w = domain->view.gpu_limit_w > 0.0 ? fmin(domain->least_limit_w, type->gpu.tdp_w)
                                                               : type->gpu.tdp_w;
        domain->view.gpu_limit_w = fmax(domain->view.gpu_limit_w, type->gpu.tdp_w);
    }
    power->idle.w += (double)(nodes->nodes * nodes->gpus_per_node) * type->gpu.idle_w;
    if (isnan(type->model.voltage_floor))
        code = catalog_power_voltage(env->site->catalog, power->config->clock_like,
                                     place(env, "cluster.power.clock_like"), env->site->arena, &type->model,
                                     env->site->diag);
    type->load.voltage_floor = type->model.voltage_floor;
    type->load.voltage_knee = type->model.voltage_knee;
    return code;
}

static int add_types(struct power *power)
{
    const struct cluster_config *cluster = power->env.cluster;
    const struct node_type_config *types = cluster->node_types.items;
    const struct node_type_config own = {.nodes = cluster->nodes, .gpus_per_node = cluster->gpus_per_node};
    power->types = arena_alloc(power->env.site->arena, (1 + cluster->node_types.n) * sizeof *power->types);
    if (power->types == NULL) return SIM_E_NOMEM;
    int64_t first = cluster->nodes;
    int code = add_type(power, &power->types[0], cluster->gpu, 0, &own);
    for (size_t i = 0; i < cluster->node_types.n && code == 0; i++) {
        code = add_type(power, &power->types[1 + i], types[i].gpu, first, &types[i]);
        first += types[i].nodes;
    }
    return code;
}

static int make_domains(struct power *power)
{
    const int64_t nodes = cluster_config_nodes(power->env.cluster);
    const int64_t each = servers_per_domain(power->config, nodes);
    power->n_domains = (int32_t)((nodes + each - 1) / each);
    power->domains = mem_zalloc((size_t)power->n_domains, sizeof *power->domains);
    power->joules = mem_zalloc((size_t)power->n_domains, sizeof *power->joules);
    if (power->domains == NULL || power->joules == NULL) return SIM_E_NOMEM;
    int code = 0;
    for (int32_t i = 0; i < power->n_domains && code == 0; i++) {
        const int64_t first = (int64_t)i * each, left = nodes - first;
        code = make_domain(power, i, first, left < each ? left : each);
    }
    return code != 0 ? code : add_types(power);
}

/* --- Members --- */

static struct power_share *part_of(struct power_member *member, int32_t domain)
{
    struct power_share *part = member->parts;
    while (part < member->parts + member->n_parts && part->domain != domain) part++;
    if (part == member->parts + member->n_parts) member->parts[member->n_parts++] = (struct power_share){domain, 0.0};
    return part;
}

/* A member takes (+1) or releases (-1) a GPU of a node. */
static struct power_domain *take_gpu(const struct power_member *member, int32_t node, int sign, sim_ns now)
{
    const struct holder_draw *draw = member->holder->draw;
    struct power_domain *domain = power_domain_of(member->power, node);
    struct power_view *view = &domain->view;
    power_meter_add(&domain->rest, -sign * draw->idle_w, now);
    power_meter_add(&member->power->idle, -sign * draw->idle_w, now);
    view->groups[draw->group].gpus += sign;
    view->highest_hz = fmax(view->highest_hz, draw->highest_hz);
    view->gpu_limit_w = fmax(view->gpu_limit_w, draw->limit_w);
    return domain;
}

static void count_given(struct power_member *member, sim_ns now)
{
    const struct holder *holder = member->holder;
    const double n_gpus = (double)(holder->ugpus / GPU_MICRO);
    for (const struct allocation *part = holder->held; part != NULL; part = part->next)
        for (int32_t i = 0; i < part->gpus; i++) {
            const struct power_domain *domain = take_gpu(member, part->node, 1, now);
            part_of(member, (int32_t)(domain - member->power->domains))->share += 1.0 / n_gpus;
        }
    member->before_j = holder->ops->drawn_j(holder, now);
    power_apply(member, now);
}

static void count_taken(struct power_member *member, sim_ns now)
{
    const struct holder *holder = member->holder;
    const double drawn_j = holder->ops->drawn_j(holder, now) - member->before_j;
    if (member->n_parts == 0) return; /* it never got its GPUs */
    for (const struct allocation *part = holder->held; part != NULL; part = part->next)
        for (int32_t i = 0; i < part->gpus; i++) take_gpu(member, part->node, -1, now);
    for (int32_t i = 0; i < member->n_parts; i++)
        member->power->domains[member->parts[i].domain].rest.j += member->parts[i].share * drawn_j;
    member->n_parts = 0;
}

static struct power_member *add_member(struct power *power)
{
    struct power_member *member = arena_alloc(power->env.site->arena, sizeof *member);
    if (member == NULL || vec_push(&power->members, &power->n_members, &power->capacity, member) != 0) return NULL;
    return member;
}

/* --- Holders --- */

static struct power *power_of(const struct watcher *watcher)
{
    return OWNER_ENTITY(watcher, struct power, watcher);
}

static int on_joins(struct watcher *watcher, struct holder *holder)
{
    struct power *power = power_of(watcher);
    struct power_member *member = add_member(power);
    struct power_share *parts = arena_alloc(power->env.site->arena, (size_t)holder->draw->gpus * sizeof *parts);
    if (member == NULL || parts == NULL) return SIM_E_NOMEM;
    *member = (struct power_member){.power = power, .holder = holder, .parts = parts};
    holder->watcher_state[watcher->slot] = member;
    power->varies_between_events = power->varies_between_events || holder->draw->varies_between_events;
    return 0;
}

static int on_given(struct watcher *watcher, struct holder *holder, sim_ns now)
{
    if (holder->ops->drawn_j == NULL) return power_job_starts(power_of(watcher), holder, now);
    if (holder->watcher_state[watcher->slot] != NULL) count_given(holder->watcher_state[watcher->slot], now);
    return 0;
}

static void on_taken(struct watcher *watcher, struct holder *holder, sim_ns now)
{
    if (holder->watcher_state[watcher->slot] == NULL) return;
    if (holder->ops->drawn_j == NULL)
        power_job_stops(power_of(watcher), holder, now);
    else
        count_taken(holder->watcher_state[watcher->slot], now);
}

static void on_redrawn(struct watcher *watcher, struct holder *holder, sim_ns now)
{
    if (holder->watcher_state[watcher->slot] != NULL) power_job_redrawn(power_of(watcher), holder, now);
}

static void on_leaves(struct watcher *watcher, struct holder *holder, bool is_finished)
{
    (void)holder;
    power_of(watcher)->n_finished_jobs += is_finished;
}

static const struct watcher_ops watcher_ops = {
    .joins = on_joins, .given = on_given, .taken = on_taken, .redrawn = on_redrawn, .leaves = on_leaves,
    .drawn_j = power_job_j, .command = power_job_command};

/* --- Life --- */

static void destroy(void *self)
{
    struct power *power = self;
    if (power == NULL) return;
    for (int32_t i = 0; power->domains != NULL && i < power->n_domains; i++)
        policy_state_destroy(&power->capper->policy, power->domains[i].capper_state);
    pool_fini(&power->orders);
    pool_fini(&power->jobs);
    mem_free(power->domains);
    mem_free(power->joules);
    mem_free((void *)power->members);
    mem_free(power);
}

double power_most_tdp_w(const struct power *power)
{
    double most_w = power->types[0].gpu.tdp_w;
    for (size_t i = 1; i <= power->env.cluster->node_types.n; i++) most_w = fmax(most_w, power->types[i].gpu.tdp_w);
    return most_w;
}

int power_create(const struct power_env *env, struct power **out)
{
    const struct power_config *config = env->power;
    *out = NULL;
    if (config->capping.entry == NULL) return 0;
    int code = check_config(env);
    if (code != 0) return code;
    struct power *power = mem_zalloc(1, sizeof *power);
    if (power == NULL) return SIM_E_NOMEM;
    *out = power;
    power->env = *env;
    power->config = config;
    power->capper = config->capping.entry;
    /* Their owners have the lower ids: a command takes effect before a reading of the same moment is seen. */
    power_commands_init(power);
    owner_init(&power->mark_owner, site_env_owner_ids(env->site, 1));
    owner_init(&power->sample_owner, site_env_owner_ids(env->site, 1));
    owner_init(&power->seen_owner, site_env_owner_ids(env->site, 1));
    tally_init(&power->site);
    pool_init(&power->jobs, sizeof(struct power_job));
    power->watcher.ops = &watcher_ops;
    holders_watch(env->holders, &power->watcher);
    return make_domains(power);
}

/* --- Energy --- */

void power_collect(struct power *power, sim_ns at, double *joules)
{
    for (int32_t i = 0; i < power->n_domains; i++) joules[i] = power_meter_j(&power->domains[i].rest, at);
    for (size_t m = 0; m < power->n_members; m++) {
        const struct power_member *member = power->members[m];
        if (member->n_parts == 0) continue;
        const double drawn_j = member->holder->ops->drawn_j(member->holder, at) - member->before_j;
        for (int32_t i = 0; i < member->n_parts; i++)
            joules[member->parts[i].domain] += member->parts[i].share * drawn_j;
    }
    const double each = 1.0 + power->env.server_power->per_gpu_w;
    for (int32_t i = 0; i < power->n_domains; i++)
        joules[i] = each * joules[i] + power_meter_j(&power->domains[i].beside, at);
}

static void collect_w(const struct power *power, sim_ns at, double *watts)
{
    for (int32_t i = 0; i < power->n_domains; i++) watts[i] = power->domains[i].rest.w;
    for (size_t m = 0; m < power->n_members; m++) {
        const struct power_member *member = power->members[m];
        if (member->n_parts == 0) continue;
        const double draws_w = member->holder->ops->draws_w(member->holder, at);
        for (int32_t i = 0; i < member->n_parts; i++)
            watts[member->parts[i].domain] += member->parts[i].share * draws_w;
    }
    const double each = 1.0 + power->env.server_power->per_gpu_w;
    for (int32_t i = 0; i < power->n_domains; i++) watts[i] = each * watts[i] + power->domains[i].beside.w;
}

static double sum(const struct power *power)
{
    double all = 0.0;
    for (int32_t i = 0; i < power->n_domains; i++) all += power->joules[i];
    return all;
}

double power_site_j(struct power *power, sim_ns at)
{
    power_collect(power, at, power->joules);
    return sum(power);
}

double power_site_w(struct power *power, sim_ns at)
{
    collect_w(power, at, power->joules);
    return sum(power);
}

static void check(void *self, sim_ns now)
{
    struct power *power = self;
    if (power->varies_between_events || !power->env.checks_energy) return;
    power->checked_j += power->checked_w * sim_s_from_ns(now - power->checked_ns);
    power->checked_ns = now;
    power->checked_w = power_site_w(power, now);
    const double site_j = power_site_j(power, now);
    if (fabs(site_j - power->checked_j) > 1e-9 * site_j)
        SIM_BUG("INV-11 (energy is the integral of power) is violated: %.17g J and %.17g J at %.9f s", site_j,
                power->checked_j, sim_s_from_ns(now));
}

/* --- Time series --- */

static int32_t n_sampled(const struct power *power)
{
    return power->n_domains > 1 && power->n_domains <= POWER_SAMPLED_DOMAINS ? power->n_domains : 0;
}

static int list_series(void *self, struct sampler_series *series)
{
    const struct power *power = self;
    const int32_t n = n_sampled(power);
    if (series == NULL) return 1 + n;
    *series++ = (struct sampler_series){"power.site_w", ""};
    for (int32_t i = 0; i < n; i++) *series++ = (struct sampler_series){"power.domain_w", power->domains[i].name};
    return 1 + n;
}

static void sample(void *self, sim_ns at, double *values)
{
    struct power *power = self;
    *values++ = power_site_w(power, at);
    for (int32_t i = 0; i < n_sampled(power); i++) *values++ = power->joules[i];
}

const struct component power_component = {.name = "power", .start = power_start, .check = check, .series = list_series,
                                          .sample = sample, .finish = power_finish, .destroy = destroy};

#include "sim/world/failures/failure.h"

#include "sim/core/check.h"
#include "sim/core/vec.h"
#include "sim/world/failures/failure_state.h"
#include "sim/world/links/topology.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Queue of coming failures and returns --- */

static bool is_before(const struct failure_entry *a, const struct failure_entry *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

int failure_queue_add(struct failure_queue *queue, const struct failure_entry *entry)
{
    if (vec_reserve(&queue->entries, &queue->capacity, queue->n + 1) != 0) return SIM_E_NOMEM;
    size_t place = queue->n++;
    for (; place > 0 && is_before(entry, &queue->entries[(place - 1) / 2]); place = (place - 1) / 2)
        queue->entries[place] = queue->entries[(place - 1) / 2];
    queue->entries[place] = *entry;
    return 0;
}

static struct failure_entry failure_queue_take(struct failure_queue *queue)
{
    struct failure_entry *entries = queue->entries;
    const struct failure_entry first = entries[0], last = entries[--queue->n];
    size_t place = 0;
    for (size_t child = 1; child < queue->n; child = 2 * place + 1) {
        if (child + 1 < queue->n && is_before(&entries[child + 1], &entries[child])) child++;
        if (!is_before(&entries[child], &last)) break;
        entries[place] = entries[child];
        place = child;
    }
    entries[place] = last;
    return first;
}

static sim_ns failure_queue_next_ns(const struct failure_queue *queue)
{
    return queue->n > 0 ? queue->entries[0].time_ns : SIM_NS_MAX;
}

static void failure_queue_fini(struct failure_queue *queue)
{
    mem_free(queue->entries);
}

/* Numbers of queue entries: a component of a source, or a node that a shock of a source will strike later. */
enum { COMPONENT_BITS = FAILURE_COMPONENT_BITS };
#define STAGGERED (INT64_C(1) << (COMPONENT_BITS + FAILURE_SOURCE_BITS))

static int64_t entry_number(const struct failures *failures, const struct failure_source *source, int64_t component)
{
    return (int64_t)(source - failures->sources) << COMPONENT_BITS | component;
}

/* --- Chance --- */

void failure_stream(const struct failures *failures, const struct failure_source *source, uint64_t component,
                    uint32_t n, struct rng *rng)
{
    rng_init(rng, failures->site->seed, failures->site->run, source->stream, component << 24 | n);
}

sim_ns failure_draw_ns(const struct lifetime *lifetime, struct rng *rng)
{
    return sim_ns_from_s(lifetime_quantile_s(lifetime, rng_uniform(rng)));
}

sim_ns failure_draw_life_ns(const struct lifetime *lifetime, struct rng *rng)
{
    const sim_ns life_ns = failure_draw_ns(lifetime, rng);
    return life_ns > 0 ? life_ns : 1;
}

/* --- Sources --- */

static int64_t count_components(const struct failures *failures, const struct failure_source *source)
{
    switch (source->scope) {
    case FAILURE_GPU: return failures->n_gpus;
    case FAILURE_NIC: return failures->nic_per_gpu ? failures->n_gpus : failures->n_nodes;
    case FAILURE_JOB: return 0;
    default: return (failures->n_nodes + source->nodes_each - 1) / source->nodes_each;
    }
}

int failure_source_add(struct failures *failures, const struct failure_source *source, const char *kind)
{
    struct failure_source *added = &failures->sources[failures->n_sources++];
    *added = *source;
    snprintf(added->stream, sizeof added->stream, "failure.%s.%s", kind, source->name);
    if (source->scope == FAILURE_JOB) added->job_index = failures->n_job_sources++;
    added->n_components = count_components(failures, added);
    added->n_failures = mem_zalloc((size_t)added->n_components + 1, sizeof *added->n_failures);
    added->n_held = mem_zalloc((size_t)added->n_components + 1, sizeof *added->n_held);
    return added->n_failures == NULL || added->n_held == NULL ? SIM_E_NOMEM : 0;
}

/* Components of the cause are slow, or hang, before anything else happens. */
static int make_slow(struct failures *failures, const struct failure_cause_config *cause)
{
    struct failure_source *source = &failures->sources[failures->n_sources - 1];
    if (!failure_cause_is_slow(cause)) return 0;
    source->slow = mem_zalloc((size_t)source->n_components + 1, sizeof *source->slow);
    source->slow_frac = cause->slow_frac >= 0.0 ? cause->slow_frac : 0.0;
    source->is_found = cause->detection.mean_s > 0.0;
    source->detection = lifetime_config_get(&cause->detection);
    return source->slow == NULL ? SIM_E_NOMEM : 0;
}

static int add_cause(struct failures *failures, const struct failure_cause_config *cause)
{
    struct failure_source source = {.name = cause->name,
                                    .scope = cause->scope,
                                    .lifetime = lifetime_config_get(&cause->lifetime),
                                    .repair = lifetime_config_get(&cause->repair),
                                    .restart = lifetime_config_get(&cause->restart),
                                    .visible_frac = cause->visible_frac,
                                    .hit_frac = 1.0,
                                    .nodes_each = 1};
    if (cause->scope == FAILURE_SWITCH) source.nodes_each = (int32_t)failures->config->nodes_per_switch;
    if (cause->scope == FAILURE_SITE) source.nodes_each = failures->n_nodes;
    const int code = failure_source_add(failures, &source, "cause");
    return code == 0 ? make_slow(failures, cause) : code;
}

static int add_shocks(struct failures *failures, const struct failure_domain_config *domain, double mean_s,
                      double hit_frac, const char *kind)
{
    if (isnan(mean_s)) return 0;
    return failure_source_add(failures,
                      &(struct failure_source){.name = domain->name,
                                               .scope = FAILURE_SWITCH,
                                               .is_shock = true,
                                               .lifetime = {.kind = LIFETIME_EXPONENTIAL, .mean_s = mean_s},
                                               .repair = lifetime_config_get(&domain->repair),
                                               .restart = lifetime_config_get(&domain->restart),
                                               .visible_frac = 1.0,
                                               .hit_frac = hit_frac,
                                               .spread_s = domain->spread_s,
                                               .nodes_each = (int32_t)domain->nodes},
                      kind);
}

/* A source that strikes by failures_black_out only, never by chance. */
static int add_breaker(struct failures *failures)
{
    if (!failures->options.has_breakers) return 0;
    struct failure_source source = {.name = "breaker", .scope = FAILURE_SWITCH, .nodes_each = 1, .hit_frac = 1.0};
    source.lifetime = (struct lifetime){.kind = LIFETIME_EXPONENTIAL, .mean_s = (double)INFINITY};
    const int code = failure_source_add(failures, &source, "cause");
    failures->breaker = &failures->sources[failures->n_sources - 1];
    failures->breaker->n_components = 0;
    return code;
}

static int add_sources(struct failures *failures)
{
    const struct failures_config *config = failures->config;
    const struct failure_cause_config *cause = config->causes.items;
    const struct failure_domain_config *domain = config->domains.items;
    failures->sources = mem_zalloc(config->causes.n + 2 * config->domains.n + config->outages.n + 2,
                                   sizeof *failures->sources);
    int code = failures->sources == NULL ? SIM_E_NOMEM : 0;
    for (size_t i = 0; i < config->causes.n && code == 0; i++) code = add_cause(failures, &cause[i]);
    for (size_t i = 0; i < config->domains.n && code == 0; i++) {
        code = add_shocks(failures, &domain[i], domain[i].shock_mean_s, domain[i].hit_frac, "shock");
        if (code == 0) code = add_shocks(failures, &domain[i], domain[i].lethal_mean_s, 1.0, "lethal");
    }
    if (code == 0) code = failure_outages_add(failures);
    return code == 0 ? add_breaker(failures) : code;
}

/* --- Strikes --- */

/* Draws the next failure of a component that is new or repaired at `from_ns`. */
static int begin_life(struct failures *failures, struct failure_source *source, int64_t component, sim_ns from_ns)
{
    struct rng rng;
    failure_stream(failures, source, (uint64_t)component, source->n_failures[component], &rng);
    const sim_ns at_ns = sim_ns_add(from_ns, failure_draw_life_ns(&source->lifetime, &rng));
    const struct failure_entry entry = {.time_ns = at_ns, .number = entry_number(failures, source, component)};
    return failure_queue_add(&failures->strikes, &entry);
}

/* A node fails. Returns 1 if it was up, 0 if not, or a negative code. Jobs that pause on it lose it to a breaker. */
static int strike_node(struct failures *failures, const struct failure_effect *effect, int32_t node)
{
    const bool is_up = failures->nodes[node].state == FAILURE_NODE_UP;
    if (!is_up && effect->source != failures->breaker) return 0;
    int code = failure_clear_node(failures, effect, node);
    if (!is_up) return code == 0 ? failure_node_keeps_none(failures, node) : code;
    if (code == 0 && effect->repair_ns > 0) code = failure_node_goes_down(failures, effect, node);
    holders_changed(&failures->cluster->holders, SITE_NODE_FAILED);
    return code < 0 ? code : 1;
}

static void count_strike(struct failure_source *source, int failed)
{
    source->n_seen += failed > 0;
    source->n_unseen += failed == 0;
}

/* A component fails with all its nodes. Returns how many were up, or a negative code. */
static int strike_component(struct failures *failures, const struct failure_effect *effect, int64_t component)
{
    int32_t first, n_failed = 0;
    const int32_t n = failure_nodes_of(failures, effect->source, component, &first);
    for (int32_t i = 0; i < n; i++) {
        const int failed = strike_node(failures, effect, first + i);
        if (failed < 0) return failed;
        n_failed += failed;
    }
    return n_failed;
}

/* A shock of a group: draws for every node whether and when it fails. Nodes that fail at once do so here. */
static int shock_group(struct failures *failures, struct failure_effect *effect, int64_t group, struct rng *rng)
{
    const struct failure_source *source = effect->source;
    const sim_ns now = engine_now(failures->site->engine);
    int32_t first, n_failed = 0;
    const int32_t n = failure_nodes_of(failures, source, group, &first);
    for (int32_t i = 0; i < n; i++) {
        const bool hits = rng_uniform(rng) < source->hit_frac;
        const sim_ns later_ns = sim_ns_from_s(rng_uniform(rng) * source->spread_s);
        effect->repair_ns = failure_draw_ns(&source->repair, rng);
        if (!hits) continue;
        int failed = failures->nodes[first + i].state == FAILURE_NODE_UP;
        if (later_ns == 0) {
            failed = strike_node(failures, effect, first + i);
        } else {
            const int code = failure_queue_add(
                &failures->strikes, &(struct failure_entry){sim_ns_add(now, later_ns),
                                                            STAGGERED | entry_number(failures, source, first + i),
                                                            effect->repair_ns, effect->restart_ns});
            if (code < 0) return code;
        }
        if (failed < 0) return failed;
        n_failed += failed;
    }
    return n_failed;
}

/* The lifetime of a component ends. */
static int strike(struct failures *failures, struct failure_source *source, int64_t component)
{
    const sim_ns now = engine_now(failures->site->engine);
    struct rng rng;
    failure_stream(failures, source, (uint64_t)component, source->n_failures[component]++, &rng);
    rng_uniform(&rng); /* its lifetime */
    const bool is_visible = rng_uniform(&rng) < source->visible_frac;
    struct failure_effect effect = {.source = source, .restart_ns = failure_draw_ns(&source->restart, &rng)};
    int failed = 0;
    if (source->is_shock) {
        failed = shock_group(failures, &effect, component, &rng);
    } else {
        effect.repair_ns = failure_draw_ns(&source->repair, &rng);
        if (is_visible && source->slow != NULL)
            failed = failure_slow_begin(failures, &effect, component, &rng);
        else if (is_visible)
            failed = strike_component(failures, &effect, component);
    }
    if (source->slow != NULL && failed > 0) {
        count_strike(source, failed);
        return 0; /* its life begins anew when it has been found or mended */
    }
    const bool is_repaired = failed > 0 && !source->is_shock; /* an unseen failure needs no repair */
    count_strike(source, failed);
    return failed < 0 ? failed
                      : begin_life(failures, source, component, sim_ns_add(now, is_repaired ? effect.repair_ns : 0));
}

static int strike_entry(struct failures *failures, const struct failure_entry *entry)
{
    if ((entry->number & FAILURE_OUTAGE) != 0) return failure_outage_begin(failures, entry);
    const int64_t number = entry->number & ~STAGGERED;
    struct failure_source *source = &failures->sources[number >> COMPONENT_BITS];
    const int64_t component = number & ((INT64_C(1) << COMPONENT_BITS) - 1);
    if (number == entry->number) return strike(failures, source, component);
    const struct failure_effect effect = {source, entry->repair_ns, entry->restart_ns};
    const int failed = strike_node(failures, &effect, (int32_t)component); /* counted with the shock */
    return failed < 0 ? failed : 0;
}

/* A slow component is found, and its nodes fail; or it is as before. Or an outage ends. */
static int end_slow(struct failures *failures, const struct failure_entry *entry)
{
    if ((entry->number & FAILURE_OUTAGE) != 0) return failure_outage_end(failures);
    struct failure_source *source = &failures->sources[entry->number >> COMPONENT_BITS];
    const int64_t component = entry->number & ((INT64_C(1) << COMPONENT_BITS) - 1);
    const struct failure_effect effect = {source, entry->repair_ns, entry->restart_ns};
    int code = failure_slow_end(failures, source, component), failed = 0;
    if (code == 0 && source->is_found) failed = strike_component(failures, &effect, component);
    if (failed < 0) code = failed;
    if (code < 0) return code;
    const sim_ns now = engine_now(failures->site->engine);
    return begin_life(failures, source, component, sim_ns_add(now, failed > 0 ? entry->repair_ns : 0));
}

/* Schedules the event of the next failure or return. */
static void schedule_next(struct failures *failures);

/* A breaker leaves nodes without power until `until_ns`. They fail now, and none of them, including those that are down
 * or spare, is in service before. Counted as "breaker". */
int failures_black_out(struct watcher *watcher, int32_t first_node, int32_t n_nodes, sim_ns until_ns)
{
    struct failures *failures = OWNER_ENTITY(watcher, struct failures, watcher);
    const sim_ns now = engine_now(failures->site->engine);
    int code = 0, failed = 0;
    for (int32_t node = first_node; node < first_node + n_nodes && code == 0; node++) {
        const int64_t number = STAGGERED | entry_number(failures, failures->breaker, node);
        failed += failures->nodes[node].state == FAILURE_NODE_UP;
        if (until_ns > failures->nodes[node].out_until_ns) failures->nodes[node].out_until_ns = until_ns;
        code = failure_queue_add(&failures->strikes, &(struct failure_entry){now, number, until_ns - now, 0});
    }
    count_strike(failures->breaker, failed);
    schedule_next(failures);
    return code;
}

/* --- Time --- */

static int do_due(struct failures *failures, sim_ns now)
{
    int code = 0;
    while (code == 0 && failure_queue_next_ns(&failures->returns) <= now) {
        code = failure_node_returns(failures, (int32_t)failure_queue_take(&failures->returns).number);
        holders_changed(&failures->cluster->holders, SITE_NODE_RETURNED);
    }
    while (code == 0 && failure_queue_next_ns(&failures->found) <= now) {
        const struct failure_entry entry = failure_queue_take(&failures->found);
        code = end_slow(failures, &entry);
    }
    while (code == 0 && failure_queue_next_ns(&failures->strikes) <= now) {
        const struct failure_entry entry = failure_queue_take(&failures->strikes);
        code = strike_entry(failures, &entry);
    }
    return code;
}

static void on_due(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct failures *failures = OWNER_ENTITY(owner, struct failures, due);
    if (failures->due_ns <= now) failures->due_ns = SIM_NS_MAX;
    const int code = do_due(failures, now);
    if (code < 0) engine_fail(engine, code);
    schedule_next(failures);
}

static void on_awaited(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct failures *failures = OWNER_ENTITY(owner, struct failures, awaited);
    const int code = do_due(failures, now);
    if (code < 0) engine_fail(engine, code);
    schedule_next(failures);
}

static void schedule_next(struct failures *failures)
{
    const sim_ns strike_ns = failure_queue_next_ns(&failures->strikes);
    const sim_ns found_ns = failure_queue_next_ns(&failures->found);
    const sim_ns back_ns = failure_queue_next_ns(&failures->returns);
    const sim_ns return_ns = back_ns < found_ns ? back_ns : found_ns; /* jobs may wait for either */
    const sim_ns next_ns = strike_ns < return_ns ? strike_ns : return_ns;
    if (failures->cluster->holders.n_awaiting > 0 && return_ns < SIM_NS_MAX)
        engine_arm(failures->site->engine, return_ns, PRIORITY_FAILURE, on_awaited, &failures->awaited);
    if (next_ns >= failures->due_ns) return;
    failures->due_ns = next_ns;
    engine_schedule_background(failures->site->engine, next_ns, PRIORITY_FAILURE, on_due, &failures->due);
}

/* --- Life --- */

static int list_gpus(struct failures *failures)
{
    for (int32_t i = 0; i < failures->n_nodes; i++) failures->n_gpus += failure_node_boards(&failures->nodes[i]);
    failures->node_of_gpu = mem_alloc(((size_t)failures->n_gpus + 1) * sizeof *failures->node_of_gpu);
    failures->first_gpu = mem_zalloc((size_t)failures->n_nodes + 1, sizeof *failures->first_gpu);
    if (failures->node_of_gpu == NULL || failures->first_gpu == NULL) return SIM_E_NOMEM;
    int32_t *gpu = failures->node_of_gpu;
    for (int32_t i = 0; i < failures->n_nodes; i++) {
        for (int32_t k = failure_node_boards(&failures->nodes[i]); k > 0; k--) *gpu++ = i;
        failures->first_gpu[i + 1] = gpu - failures->node_of_gpu;
    }
    return 0;
}

/* Spare nodes must have as many GPUs as the nodes they replace. */
static int check_equal(const struct failures *failures, struct diag *diag)
{
    if (failures->config->spare_nodes == 0 || failures->cluster->n_nodes == 0) return 0;
    const int32_t gpus = failure_node_gpus(failures->nodes);
    for (int32_t node = 1; node < failures->cluster->n_nodes; node++)
        if (failure_node_gpus(&failures->nodes[node]) != gpus)
            return diag_error(diag, SIM_E_CONFIG, config_where(failures->site->config, "failures.spare_nodes"),
                              "leave it out, or list nodes with equal numbers of GPUs",
                              "spare nodes take the place of any other, but node 0 has %d GPUs and node %d has %d",
                              gpus, node, failure_node_gpus(&failures->nodes[node]));
    return 0;
}

/* Where GPUs are on no nodes, only causes of scope 'job' are possible. */
static int check_nodes(const struct failures *failures, struct diag *diag)
{
    const struct failures_config *config = failures->config;
    const char *where = config_where(failures->site->config, "failures");
    if (failures_config_strikes_nodes(config) && !failures->options.places_jobs)
        return diag_error(diag, SIM_E_CONFIG, where, "choose another placement, or causes of scope 'job' only",
                          "nodes cannot fail where jobs are on no node in particular");
    if (config->spare_nodes > 0 && !failures_config_strikes_nodes(config) && !failures->options.has_breakers)
        return diag_error(diag, SIM_E_CONFIG, config_where(failures->site->config, "failures.spare_nodes"),
                          "add 'causes' that hit nodes, or leave it out",
                          "spare nodes would never serve: no cause or domain makes nodes fail");
    if (config->spare_nodes >= failures->cluster->n_nodes && config->spare_nodes > 0)
        return diag_error(diag, SIM_E_CONFIG, config_where(failures->site->config, "failures.spare_nodes"),
                          "lower spare_nodes, or add nodes", "all %d nodes of the cluster are spare nodes",
                          failures->cluster->n_nodes);
    for (int64_t node = failures->cluster->n_nodes - config->spare_nodes; node < failures->cluster->n_nodes; node++)
        if (failures->cluster->node_free_gpus[node] < failure_node_gpus(&failures->nodes[node]))
            return diag_error(diag, SIM_E_CONFIG, config_where(failures->site->config, "failures.spare_nodes"),
                              "add nodes, or lower spare_nodes or the services' replicas",
                              "node %lld is a spare node, but a service holds GPUs of it", (long long)node);
    const int code = failure_outages_check(failures, diag);
    return code != 0 ? code : check_equal(failures, diag);
}

/* Slow NICs need a network whose links are all there is between nodes. */
static int check_nics(struct failures *failures, struct diag *diag)
{
    const struct failure_cause_config *causes = failures->config->causes.items;
    const struct topology *topology = failures->options.topology;
    const struct network_config *network = topology != NULL ? &topology_config(topology)->network : NULL;
    failures->nic_per_gpu = network == NULL || network->per == NETWORK_PER_GPU;
    for (size_t i = 0; i < failures->config->causes.n; i++) {
        if (causes[i].scope == FAILURE_NIC && failures->nic_per_gpu && failures->cluster->slices > 1)
            return diag_error(diag, SIM_E_CONFIG, config_where(failures->site->config, "failures"),
                              "give the network \"per\": \"node\"",
                              "cause '%s' slows the NIC of a GPU, which its MIG slices share", causes[i].name);
        if (causes[i].scope != FAILURE_NIC || (network != NULL && network->bytes_per_s > 0)) continue;
        return diag_error(diag, SIM_E_CONFIG, config_where(failures->site->config, "failures"),
                          "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
                          "cause '%s' makes NICs slow, and there is no network", causes[i].name);
    }
    return 0;
}

static void destroy(void *self)
{
    struct failures *failures = self;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        mem_free(failures->sources[i].n_failures);
        mem_free(failures->sources[i].n_held);
        mem_free(failures->sources[i].slow);
    }
    mem_free(failures->sources);
    mem_free(failures->node_of_gpu);
    mem_free(failures->first_gpu);
    failure_queue_fini(&failures->found);
    failure_queue_fini(&failures->strikes);
    failure_queue_fini(&failures->returns);
    failure_nodes_fini(failures);
    pool_fini(&failures->exposures);
    pool_fini(&failures->occupants);
    mem_free(failures);
}

int failures_create(struct site_env *site, struct cluster *cluster, const struct failures_config *config,
                    const struct failures_options *options, struct failures **out)
{
    int code = failures_config_check(config, options->has_breakers, site->config, site->diag);
    if (code != 0) return code;
    struct failures *failures = mem_zalloc(1, sizeof *failures);
    if (failures == NULL) return SIM_E_NOMEM;
    *failures = (struct failures){.site = site, .cluster = cluster, .config = config, .options = *options};
    failures->due_ns = SIM_NS_MAX;
    owner_init(&failures->due, site_env_owner_ids(site, 1));
    owner_init(&failures->awaited, site_env_owner_ids(site, 1));
    pool_init(&failures->occupants, sizeof(struct failure_occupant));
    level_init(&failures->exposed, 0, 0);
    code = failure_nodes_init(failures);
    if (code == 0) code = list_gpus(failures);
    if (code == 0) code = check_nodes(failures, site->diag);
    if (code == 0) code = check_nics(failures, site->diag);
    if (code == 0) code = add_sources(failures);
    if (code < 0) {
        destroy(failures);
        return code;
    }
    pool_init(&failures->exposures,
              sizeof(struct failure_exposure) + (size_t)failures->n_job_sources * sizeof(struct job_strike));
    failure_set_spares_aside(failures);
    failures->watcher.ops = &failure_watcher_ops;
    holders_watch(&cluster->holders, &failures->watcher);
    *out = failures;
    return 0;
}

void failures_none_awaited(struct watcher *watcher)
{
    struct failures *failures = OWNER_ENTITY(watcher, struct failures, watcher);
    engine_disarm(failures->site->engine, &failures->awaited);
}

static int start(void *self)
{
    struct failures *failures = self;
    int code = 0;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        struct failure_source *source = &failures->sources[i];
        for (int64_t k = 0; k < source->n_components && code == 0; k++) code = begin_life(failures, source, k, 0);
    }
    if (code == 0) code = failure_outages_start(failures);
    schedule_next(failures);
    return code;
}

/* --- Metrics --- */

/* Whether a source counts with the one before it: lethal shocks and other shocks of one domain. */
static bool is_further(const struct failures *failures, int32_t index)
{
    const struct failure_source *source = &failures->sources[index];
    return source->is_shock && index > 0 && source[-1].is_shock && strcmp(source[-1].name, source->name) == 0;
}

struct counts {
    double seen, unseen, interrupts, lost_gpu_s;
};

static void add(struct counts *counts, const struct failure_source *source)
{
    counts->seen += (double)source->n_seen;
    counts->unseen += (double)source->n_unseen;
    counts->interrupts += (double)source->n_interrupts;
    counts->lost_gpu_s += source->lost_gpu_s;
}

static int emit_counts(const struct failures *failures, const char *name, const struct counts *counts)
{
    const struct sink *sink = failures->site->sink;
    int code = metric_emit_of(sink, "failure.events", name, counts->seen);
    if (code == 0) code = metric_emit_of(sink, "failure.unseen", name, counts->unseen);
    if (code == 0) code = metric_emit_of(sink, "failure.interrupts", name, counts->interrupts);
    return code != 0 ? code : metric_emit_of(sink, "failure.lost_gpu_s", name, counts->lost_gpu_s);
}

static int emit_available(const struct failures *failures, sim_ns now)
{
    const struct sink *sink = failures->site->sink;
    double gpus = 0.0;
    for (const struct cluster *part = failures->cluster; part != NULL && part->n_nodes > 0; part = part->next)
        gpus += (double)(part->total_gpus - part->spare_gpus);
    int code = 0;
    if (gpus > 0.0)
        code = metric_emit(sink, "cluster.available_frac", 1.0 - level_mean(&failures->missing_gpus, now) / gpus);
    for (size_t i = 0; i < failures->n_quorums && code == 0; i++) {
        const struct failure_quorum *quorum = &failures->quorums[i];
        code = metric_emit_of(sink, "failure.available_frac", quorum->domain->name,
                              level_mean(&quorum->available, now) / quorum->n_groups);
    }
    return code;
}

static int finish(void *self, sim_ns now)
{
    const struct failures *failures = self;
    struct counts all = {0}, of_name = {0};
    int code = 0;
    for (int32_t i = 0; i < failures->n_sources && code == 0; i++) {
        if (!is_further(failures, i)) of_name = (struct counts){0};
        add(&of_name, &failures->sources[i]);
        add(&all, &failures->sources[i]);
        if (i + 1 == failures->n_sources || !is_further(failures, i + 1))
            code = emit_counts(failures, failures->sources[i].name, &of_name);
    }
    if (code == 0) code = emit_counts(failures, NULL, &all);
    if (code == 0) code = failure_recovery_emit(failures);
    if (code == 0) code = failure_outages_finish(failures, now);
    if (code == 0) code = failure_never_finish(failures, now);
    return code != 0 ? code : emit_available(failures, now);
}

const struct component failures_component = {
    .name = "failures", .start = start, .finish = finish, .destroy = destroy};

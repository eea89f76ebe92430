#include "sim/world/scenario.h"

#include "sim/world/policy/checkpointing.h"
#include "sim/world/policy/kv_offload.h"
#include "sim/world/policy/rental.h"
#include "sim/world/policy/speculation.h"
#include "sim/world/service/engine_batching.h"

#include <stdio.h>
#include <string.h>

static const char *const keep_names[] = {"metrics", "curves", "rows", "decisions", NULL};

#define ROW_OF struct scenario
const struct config_field scenario_fields[] = {
    ROW_TEXT("name", name, DEFAULT(""), ANY, "title of the run in results"),
    ROW_SECTION("cluster", cluster, FILLED, cluster_section_fields, "nodes and their GPUs"),
    ROW_MAP("services", services, OPTIONAL, ANY, struct service_config, service_config_fields, "LLM services, by name"),
    ROW_SECTION("jobs", jobs, OPTIONAL, jobs_config_fields, "training and batch jobs"),
    ROW_SECTION("rl", rl, OPTIONAL, rl_config_fields, "reinforcement learning of the LLM of a service"),
    ROW_SECTION("failures", failures, OPTIONAL, failures_config_fields,
                "failures of nodes and jobs, and their repair"),
    ROW_SECTION("market", market, OPTIONAL, market_config_fields, "prices of rented GPUs, and the policy that rents them"),
    ROW_INT("seed", seed, DEFAULT("1"), WITHIN(0, 9e15), "seed of all random streams"),
    ROW_TIME("warmup", warmup_ns, DEFAULT("0s"), WITHIN(0, 9e9),
             "metrics leave out requests and jobs that arrive before this time"),
    ROW_TIME("until", until_ns, DEFAULT("0s"), WITHIN(0, 9e9),
             "end of the run; 0s: when all requests and jobs have finished"),
    ROW_CHOICE("keep", keep, DEFAULT("rows"), keep_names,
               "rows to store: metrics; curves: also distributions and time series; rows: also requests and jobs; "
               "decisions: also all decisions"),
    ROW_SECTION("sample", sample, FILLED, sample_config_fields, "time series of queues, batches, KV cache and GPUs"),
    {0}};
#undef ROW_OF

/* The slices of a GPU share its network adapter evenly, like its PCIe link, and are behind the same PCIe switch. */
static int share_links(struct cluster_section *cluster, const struct config *config, struct diag *diag)
{
    struct network_config *network = &cluster->links.network;
    struct pcie_switch_config *pcie_switch = &cluster->links.pcie_switch;
    const int64_t slices = cluster_config_slices(&cluster->nodes);
    const bool has_nics = network->bytes_per_s > 0 && network->per == NETWORK_PER_GPU;
    if (slices < 0 && pcie_switch->gpus > 0)
        return diag_error(diag, SIM_E_CONFIG, config_where(config, "cluster.pcie_switch"), "leave it out",
                          "node types have different numbers of MIG slices per GPU, and PCIe switches");
    if (slices < 0 && has_nics)
        return diag_error(diag, SIM_E_CONFIG, config_where(config, "cluster.network"),
                          "\"per\": \"node\", with the bandwidth of all NICs of a node",
                          "node types have different numbers of MIG slices per GPU, and one NIC per GPU");
    if (pcie_switch->gpus > 0) pcie_switch->gpus *= slices;
    if (has_nics) network->bytes_per_s /= (double)slices;
    return 0;
}

int scenario_bind(struct config *config, const struct config_families *families, const struct catalog *catalog,
                  struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    int code = engine_batching_apply(config, catalog, diag);
    if (code == 0) code = config_bind(config, scenario_fields, families, arena, scenario, sizeof *scenario, diag);
    if (code == 0) code = cluster_config_load(&scenario->cluster.nodes, config, catalog, arena, diag);
    if (code == 0) code = share_links(&scenario->cluster, config, diag);
    if (code == 0)
        code = job_types_load(&scenario->jobs.types, &scenario->jobs.profiles, families, arena,
                              &scenario->jobs.all_types, diag);
    if (code != 0) return code;
    if (scenario->services.n == 0 && scenario->jobs.trace.entry == NULL)
        return diag_error(diag, SIM_E_CONFIG, config_where(config, "services"), "add a 'services' or a 'jobs' section",
                          "nothing arrives in this scenario");
    if (scenario->cluster.nodes.nodes_file.path != NULL && scenario->cluster.power.capping.entry != NULL)
        return diag_error(diag, SIM_E_CONFIG, config_where(config, "cluster.power"), "leave out one of the two",
                          "power is simulated for equal nodes, not for a 'nodes_file'");
    if (scenario->until_ns > 0 && scenario->warmup_ns >= scenario->until_ns)
        return diag_error(diag, SIM_E_CONFIG, config_where(config, "warmup"), NULL,
                          "the warm-up does not end before 'until'");
    return 0;
}

typedef void (*policy_visit)(void *context, const char *service, const char *key, const struct policy *policy);

/* The batching policy that all pools share where they name none; those that they name, and their autoscalers. */
static void visit_pools(const struct service_config *service, void *context, policy_visit visit)
{
    const struct pool_config *pools = service->pools.items;
    bool shared = service->pools.n == 0;
    for (size_t i = 0; i < service->pools.n; i++) shared = shared || pools[i].batching.entry == NULL;
    if (shared) visit(context, service->name, "batching", service->batching.entry);
    for (size_t i = 0; i < service->pools.n; i++) {
        char key[128];
        snprintf(key, sizeof key, "pools.%s.batching", pools[i].name);
        if (pools[i].batching.entry != NULL) visit(context, service->name, key, pools[i].batching.entry);
        snprintf(key, sizeof key, "pools.%s.scaling", pools[i].name);
        if (pools[i].scaling.policy.entry != NULL) visit(context, service->name, key, pools[i].scaling.policy.entry);
    }
}

/* Of types of jobs, those that take checkpoints. */
static void visit_checkpoints(const struct config_list *types, void *context, policy_visit visit)
{
    for (size_t i = 0; i < types->n; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        const struct checkpointer *policy = type->checkpoint.policy.entry;
        char key[128];
        snprintf(key, sizeof key, "jobs.types.%s.checkpoint", type->name);
        if (policy != NULL && policy->interval_s != NULL) visit(context, NULL, key, &policy->policy);
    }
}

/* Whether jobs rent for themselves, under no scheduler. */
static bool jobs_rent(const struct scenario *scenario)
{
    const struct renter *renter = scenario->market.renting.entry;
    return renter != NULL && renter->rent != NULL;
}

/* Calls `visit` for every policy in force. `service` is NULL for policies of jobs, and of the site, whose key is the
 * whole path. */
static void each_policy(const struct scenario *scenario, void *context, policy_visit visit)
{
    for (size_t i = 0; i < scenario->services.n; i++) {
        const struct service_config *service = scenario_service(scenario, i);
        visit_pools(service, context, visit);
        visit(context, service->name, "routing", service->routing.entry);
        const struct kv_offloader *offloader = service->kv.offload.policy.entry;
        if (offloader->place != NULL || offloader->evicted != NULL) /* the others leave all as it is */
            visit(context, service->name, "kv.offload", &offloader->policy);
        if (service->scaling.policy.entry != NULL)
            visit(context, service->name, "scaling", service->scaling.policy.entry);
        const struct speculator *speculator = service->speculation.entry;
        if (speculator != NULL && speculator->plan != NULL)
            visit(context, service->name, "speculation", &speculator->policy);
        if (service->decode_routing.entry != NULL)
            visit(context, service->name, "decode_routing", service->decode_routing.entry);
    }
    if (scenario->cluster.power.capping.entry != NULL)
        visit(context, NULL, "cluster.power.capping", scenario->cluster.power.capping.entry);
    if (scenario->market.renting.entry != NULL) visit(context, NULL, "market.renting", scenario->market.renting.entry);
    if (scenario->jobs.trace.entry == NULL) return;
    if (!jobs_rent(scenario)) visit(context, NULL, "scheduler", scenario->jobs.scheduler.entry);
    visit(context, NULL, "placement", scenario->jobs.placement.entry);
    visit_checkpoints(&scenario->jobs.types, context, visit);
}

static void add_policy(void *context, const char *service, const char *key, const struct policy *policy)
{
    struct text *text = context;
    const char *prefix = service != NULL ? "services." : strchr(key, '.') == NULL ? "jobs" : NULL;
    text_add(text, text->length ? " " : "");
    if (prefix != NULL) text_printf(text, "%s%s.", prefix, service != NULL ? service : "");
    text_printf(text, "%s=%s", key, policy->name);
}

void scenario_policies(const struct scenario *scenario, struct text *text)
{
    each_policy(scenario, text, add_policy);
}

static void add_oracle(void *context, const char *service, const char *key, const struct policy *policy)
{
    (void)service;
    (void)key;
    *(uint32_t *)context |= policy->oracle;
}

uint32_t scenario_oracle(const struct scenario *scenario)
{
    uint32_t oracle = 0;
    each_policy(scenario, &oracle, add_oracle);
    return oracle;
}

struct policy_search {
    const struct policy *wanted;
    bool found;
};

static void look_for_policy(void *context, const char *service, const char *key, const struct policy *policy)
{
    (void)service;
    (void)key;
    struct policy_search *search = context;
    search->found = search->found || policy == search->wanted;
}

bool scenario_uses(const struct scenario *scenario, const struct policy *policy)
{
    struct policy_search search = {.wanted = policy};
    each_policy(scenario, &search, look_for_policy);
    return search.found;
}

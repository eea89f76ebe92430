/* Making the autoscaler of a service. */
#include "sim/world/policy/instance.h"
#include "sim/world/service/scaling_state.h"
#include "sim/world/service/service_scaling.h"

#include <math.h>

/* From taking GPUs to being up: what the scenario says, else the time to read the weights. */
static sim_ns start_delay(const struct service *service)
{
    const struct service_config *config = service->config;
    const struct start_config *start = config->scaling.policy.entry != NULL ? &config->scaling.start : &config->restart;
    if (!isnan(start->delay_s)) return sim_ns_from_s(start->delay_s);
    return sim_ns_from_s(llm_weight_bytes(&service->llm) / start->load_bytes_per_s);
}

/* The replicas that the service begins with are up. */
static int set_out(struct service_scaling *scaling)
{
    struct fleet *fleet = &scaling->service->fleet;
    const size_t n = (size_t)fleet->n_replicas;
    scaling->n = fleet->n_replicas;
    scaling->tenures = mem_zalloc(n, sizeof *scaling->tenures);
    fleet->candidates.numbers = mem_zalloc(n, sizeof *fleet->candidates.numbers);
    fleet->candidates.loads = mem_zalloc(n, sizeof *fleet->candidates.loads);
    if (scaling->tenures == NULL || fleet->candidates.numbers == NULL || fleet->candidates.loads == NULL)
        return SIM_E_NOMEM;
    const int64_t n_start = service_start_replicas(scaling->service->config);
    const int32_t n_up = n_start < fleet->n_replicas ? (int32_t)n_start : fleet->n_replicas;
    for (int32_t i = 0; i < n_up; i++) {
        scaling->tenures[i].life = REPLICA_UP;
        fleet->candidates.numbers[i] = i;
    }
    fleet->candidates.n = n_up;
    scaling->count[REPLICA_UP] = n_up;
    scaling->count[REPLICA_DOWN] = scaling->n - n_up;
    scaling->wanted = n_up;
    level_init(&scaling->up, 0, n_up);
    level_init(&scaling->seated, 0, n_up);
    level_init(&scaling->missing, 0, 0);
    level_init(&scaling->struck, 0, 0);
    level_init(&scaling->gone, 0, 0);
    return 0;
}

int scaling_create(struct service *service, struct service_scaling **out)
{
    const struct config_variant *policy = &service->config->scaling.policy;
    const bool fails = service->env.nodes_fail && fleet_may_restart(&service->fleet);
    *out = NULL;
    if (policy->entry == NULL && !fails) return 0;
    struct service_scaling *scaling = mem_zalloc(1, sizeof *scaling);
    *out = scaling;
    if (scaling == NULL) return SIM_E_NOMEM;
    scaling->service = service;
    scaling->config = &service->config->scaling;
    scaling->autoscaler = policy->entry;
    scaling->min = policy->entry != NULL ? scaling->config->min : INT64_MAX;
    if (policy->entry == NULL) scaling->next_ns = SIM_NS_MAX;
    scaling->delay_ns = start_delay(service);
    owner_init(&scaling->clock, site_env_owner_ids(service->env.site, 1));
    owner_init(&scaling->release, site_env_owner_ids(service->env.site, 1));
    const int code = set_out(scaling);
    return code != 0 || scaling->autoscaler == NULL
               ? code
               : policy_state_create(&scaling->autoscaler->policy, POLICY_AUTOSCALING, sizeof(struct autoscaler),
                                     policy->params, &scaling->state, service->env.site->diag);
}

void scaling_destroy(struct service_scaling *scaling)
{
    if (scaling == NULL) return;
    if (scaling->autoscaler != NULL) policy_state_destroy(&scaling->autoscaler->policy, scaling->state);
    mem_free(scaling->tenures);
    mem_free(scaling);
}

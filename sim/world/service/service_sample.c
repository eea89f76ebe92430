/* The time series of a service (sampler.h). */
#include "sim/world/service/service_scaling.h"
#include "sim/world/service/service_state.h"

static const char *const of_service[] = {"service.waiting", "service.running", "service.kv_used_frac"};
static const char *const of_replica[] = {"replica.waiting", "replica.running", "replica.kv_used_frac"};
static const char *const of_scaling[] = {"service.replicas", "service.replicas_wanted"};
enum { N_SERIES = sizeof of_service / sizeof *of_service, N_SCALING = sizeof of_scaling / sizeof *of_scaling };

static int64_t n_sampled(const struct service *service)
{
    return service->fleet.n_replicas <= SERVICE_SAMPLED_REPLICAS ? service->fleet.n_replicas : 0;
}

int service_series(const struct service *service, struct sampler_series *series)
{
    int64_t n_replicas = n_sampled(service);
    for (int i = 0; series != NULL && i < N_SERIES; i++)
        *series++ = (struct sampler_series){of_service[i], service->config->name};
    for (int64_t r = 0; series != NULL && r < n_replicas; r++) {
        const char *entity = arena_printf(service->env.site->arena, "%s/%lld", service->config->name, (long long)r);
        if (entity == NULL) return SIM_E_NOMEM;
        for (int i = 0; i < N_SERIES; i++) *series++ = (struct sampler_series){of_replica[i], entity};
    }
    for (int i = 0; series != NULL && service->scaling != NULL && i < N_SCALING; i++)
        *series++ = (struct sampler_series){of_scaling[i], service->config->name};
    return N_SERIES * (int)(1 + n_replicas) + (service->scaling != NULL ? N_SCALING : 0);
}

/* Requests that wait, requests in the batch, KV blocks in use. */
struct standing {
    int64_t waiting, running, used_blocks, total_blocks;
};

static double *write_standing(const struct standing *standing, double *values)
{
    *values++ = (double)standing->waiting;
    *values++ = (double)standing->running;
    *values++ = standing->total_blocks > 0 ? (double)standing->used_blocks / (double)standing->total_blocks : 0.0;
    return values;
}

void service_sample(const struct service *service, sim_ns at, double *values)
{
    struct standing all = {0};
    double *own = values + N_SERIES;
    bool each = n_sampled(service) > 0;
    for (int32_t r = 0; r < service->fleet.n_replicas; r++) {
        const struct replica *replica = &service->fleet.replicas[r];
        struct standing one = {replica->waiting.n, replica_running(replica), replica_used_blocks(replica, at),
                               replica->kv.total_blocks};
        if (each) own = write_standing(&one, own);
        all.waiting += one.waiting;
        all.running += one.running;
        all.used_blocks += one.used_blocks;
        if (scaling_is_seated(service->scaling, r)) all.total_blocks += one.total_blocks;
    }
    all.waiting += scaling_held(service->scaling);
    write_standing(&all, values);
    if (service->scaling != NULL) scaling_sample(service->scaling, own);
}

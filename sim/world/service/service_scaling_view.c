/* A service whose replicas come and go: the view of its autoscaler, time series, metrics and invariants. */
#include "sim/core/check.h"
#include "sim/world/policy/autoscaling.h"
#include "sim/world/service/scaling_state.h"

#include <math.h>

/* --- For autoscalers --- */

static bool is_delayed(const struct fleet *fleet)
{
    return fleet->reports.period_ns > 0;
}

static int64_t used_blocks(const struct fleet *fleet, int32_t i, sim_ns now)
{
    return is_delayed(fleet) ? fleet->reports.usages[i].kv_blocks : replica_used_blocks(&fleet->replicas[i], now);
}

/* Of the replicas that are up. */
static void add_usage(struct service_scaling *scaling, struct autoscaling_view *view, sim_ns now)
{
    const struct fleet *fleet = &scaling->service->fleet;
    int64_t used = 0, total = 0;
    sim_ns busy_ns = 0, up_ns = 0;
    for (int32_t i = 0; i < scaling->n; i++) {
        struct tenure *tenure = &scaling->tenures[i];
        if (tenure->phase != REPLICA_UP) continue;
        const sim_ns computed_ns = replica_busy_ns(&fleet->replicas[i], now);
        used += used_blocks(fleet, i, now);
        total += fleet->replicas[i].kv.total_blocks;
        busy_ns += computed_ns - tenure->busy_ns;
        up_ns += now - tenure->seen_ns;
        tenure->busy_ns = computed_ns;
        tenure->seen_ns = now;
    }
    if (total > 0) view->kv_used_frac = (double)used / (double)total;
    if (up_ns > 0) view->busy_frac = (double)busy_ns / (double)up_ns;
}

static void add_loads(const struct service_scaling *scaling, struct autoscaling_view *view)
{
    const struct fleet *fleet = &scaling->service->fleet;
    view->outstanding = view->waiting = scaling->waiting.n;
    for (int32_t i = 0; i < scaling->n; i++) {
        const struct replica_load *load = fleet_seen_load(fleet, i);
        view->outstanding += load->outstanding;
        view->waiting += load->waiting;
        view->queued_tokens += load->queued_tokens;
    }
}

struct autoscaling_view scaling_make_view(struct service_scaling *scaling, sim_ns now)
{
    struct fleet *fleet = &scaling->service->fleet;
    fleet_reports_before_routing(fleet, now);
    struct autoscaling_view view = {.now_ns = now,
                                    .seen_ns = is_delayed(fleet) ? fleet->reports.seen_ns : now,
                                    .interval_ns = scaling->config->interval_ns,
                                    .min = scaling->config->min,
                                    .max = scaling->config->max,
                                    .up = scaling->count[REPLICA_UP],
                                    .starting = scaling->count[REPLICA_STARTING],
                                    .draining = scaling->count[REPLICA_DRAINING],
                                    .arrived = scaling->n_arrived - scaling->n_seen};
    scaling->n_seen = scaling->n_arrived;
    add_loads(scaling, &view);
    add_usage(scaling, &view, now);
    return view;
}

/* --- Held requests --- */

int64_t scaling_waiting(const struct service_scaling *scaling)
{
    return scaling != NULL ? scaling->waiting.n + scaling->service->handing_over.undecided.n : 0;
}

void scaling_each_waiting(const struct service_scaling *scaling, void (*visit)(void *context, struct request *request),
                          void *context)
{
    if (scaling == NULL) return;
    request_list_each(&scaling->waiting, visit, context);
    request_list_each(&scaling->service->handing_over.undecided, visit, context);
}

/* --- GPUs --- */

bool scaling_is_placed(const struct service_scaling *scaling, int32_t replica)
{
    return scaling == NULL || scaling->tenures[replica].phase != REPLICA_DOWN;
}

sim_ns scaling_held_ns(const struct service_scaling *scaling, int32_t replica, sim_ns now)
{
    if (scaling == NULL) return now;
    const struct tenure *tenure = &scaling->tenures[replica];
    return tenure->held_ns + (tenure->phase != REPLICA_DOWN ? now - tenure->since_ns : 0);
}

double scaling_held_frac(const struct service_scaling *scaling, int32_t replica, sim_ns now)
{
    if (scaling == NULL) return 1.0;
    return now > 0 ? (double)scaling_held_ns(scaling, replica, now) / (double)now : 0.0;
}

static int64_t replica_gpus(const struct service_scaling *scaling, int32_t index)
{
    const struct pool_config *config = &fleet_pool_of(&scaling->service->fleet, index)->config;
    return config->tensor_parallel * config->pipeline_parallel;
}

void scaling_sample(const struct service_scaling *scaling, double *values)
{
    *values++ = (double)scaling->up.value;
    *values++ = (double)scaling->wanted;
}

bool service_scales(const struct service *service)
{
    return service->scaling != NULL && service->scaling->autoscaler != NULL;
}

int64_t service_gpus(const struct service *service)
{
    int64_t gpus = 0;
    for (int32_t i = 0; service->scaling != NULL && i < service->fleet.n_replicas; i++)
        if (service->scaling->tenures[i].phase != REPLICA_DOWN) gpus += replica_gpus(service->scaling, i);
    for (size_t i = 0; service->scaling == NULL && i < service->fleet.n_pools; i++) {
        const struct pool_config *config = &service->fleet.pools[i].config;
        gpus += config->replicas * config->tensor_parallel * config->pipeline_parallel;
    }
    return gpus;
}

void scaling_check(const struct service_scaling *scaling)
{
    if (scaling == NULL) return;
    const struct fleet *fleet = &scaling->service->fleet;
    int32_t count[REPLICA_PHASES] = {0};
    for (int32_t i = 0; i < scaling->n; i++) {
        const struct replica *replica = &fleet->replicas[i];
        const enum replica_phase phase = scaling->tenures[i].phase;
        count[phase]++;
        if (phase == REPLICA_DOWN || phase == REPLICA_STARTING) replica_check_absent(replica);
        if (fleet->env->cluster->n_nodes > 0)
            SIM_LAW("INV-10 (replicas hold the GPUs they need)", replica->placement.n_gpus,
                    phase == REPLICA_DOWN ? 0 : replica_gpus(scaling, i));
    }
    for (int phase = 0; phase < REPLICA_PHASES; phase++) SIM_REQUIRE(count[phase] == scaling->count[phase]);
}

/* --- Metrics --- */

struct scaling_total {
    double up_mean, up_max, missing_s, gpu_s;
    int64_t starts, drains, held, yielded;
};

static void add(struct scaling_total *total, const struct service_scaling *scaling, sim_ns now)
{
    total->up_mean += level_mean(&scaling->up, now);
    total->up_max += (double)scaling->up.max;
    total->missing_s += level_integral_s(&scaling->missing, now);
    total->gpu_s += level_integral_s(&scaling->placed, now) * (double)replica_gpus(scaling, 0); /* it has one pool */
    total->starts += scaling->n_starts;
    total->drains += scaling->n_drains;
    total->held += scaling->n_held;
    total->yielded += scaling->n_yielded;
}

/* For services that do not scale: only GPUs that jobs yielded to restarting replicas. */
static int emit(const struct scaling_total *total, bool scales, const char *entity, const struct sink *sink)
{
    const struct {
        const char *name;
        double value;
        bool of_all;
    } metrics[] = {
        {"scaling.replicas.mean", total->up_mean, false},
        {"scaling.replicas.max", total->up_max, false},
        {"scaling.starts.sum", (double)total->starts, false},
        {"scaling.drains.sum", (double)total->drains, false},
        {"scaling.missing_replica_s.sum", total->missing_s, false},
        {"scaling.held_requests.sum", (double)total->held, false},
        {"scaling.yielded_jobs.sum", (double)total->yielded, true},
        {"scaling.gpu_s.sum", total->gpu_s, false},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof metrics / sizeof *metrics; i++)
        if (scales || metrics[i].of_all) code = metric_emit_of(sink, metrics[i].name, entity, metrics[i].value);
    return code;
}

int services_emit_scaling(struct service *const *services, size_t n, const struct sink *sink, sim_ns now)
{
    struct scaling_total all = {0};
    size_t n_scaling = 0, n_starting = 0;
    for (size_t i = 0; i < n; i++) {
        if (services[i]->scaling == NULL) continue;
        if (service_scales(services[i]))
            add(&all, services[i]->scaling, now);
        else
            all.yielded += services[i]->scaling->n_yielded;
        n_scaling += service_scales(services[i]);
        n_starting++;
    }
    int code = n_starting > 0 ? emit(&all, n_scaling > 0, NULL, sink) : 0;
    for (size_t i = 0; code == 0 && i < n && n_starting > 1; i++) {
        struct scaling_total one = {0};
        if (services[i]->scaling == NULL) continue;
        add(&one, services[i]->scaling, now);
        code = emit(&one, service_scales(services[i]) && n_scaling > 1, services[i]->config->name, sink);
    }
    return code;
}

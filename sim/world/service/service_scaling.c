#include "sim/world/service/scaling_state.h"

#include "sim/core/check.h"
#include "sim/world/policy/autoscaling.h"
#include "sim/world/policy/instance.h"
#include "sim/world/rows/priority.h"

#include <math.h>

/* --- Creating the autoscaler of a service --- */

/* Delay from taking GPUs to being up: as given, else the time to read the weights. */
static sim_ns start_delay(const struct service *service, const struct fleet_pool *pool)
{
    const struct service_config *config = service->config;
    const struct start_config *start = config->scaling.policy.entry != NULL ? &config->scaling.start : &config->restart;
    if (!isnan(start->delay_s)) return sim_ns_from_s(start->delay_s);
    return sim_ns_from_s(pool_weight_bytes(&pool->config, &service->llm) / start->load_bytes_per_s);
}

/* The replicas that the service starts with are up. */
static int init_replicas(struct service_scaling *scaling)
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
        scaling->tenures[i].phase = REPLICA_UP;
        fleet->candidates.numbers[i] = i;
    }
    fleet->candidates.n = n_up;
    scaling->count[REPLICA_UP] = n_up;
    scaling->count[REPLICA_DOWN] = scaling->n - n_up;
    scaling->wanted = n_up;
    level_init(&scaling->up, 0, n_up);
    level_init(&scaling->placed, 0, n_up);
    level_init(&scaling->missing, 0, 0);
    level_init(&scaling->failed, 0, 0);
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
    owner_init(&scaling->clock, site_env_owner_ids(service->env.site, 1));
    owner_init(&scaling->release, site_env_owner_ids(service->env.site, 1));
    const int code = init_replicas(scaling);
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

static void fail(const struct service_scaling *scaling, int code)
{
    if (code < 0) engine_fail(scaling->service->env.site->engine, code);
}

/* --- Rows --- */

int scaling_emit_decision(const struct service_scaling *scaling, const char *policy, int32_t replica,
                          const char *action, const char *reason, sim_ns now)
{
    const struct service *service = scaling->service;
    char text[160];
    if (service->env.site->sink->decision == NULL) return 0;
    if (replica >= 0) snprintf(text, sizeof text, "replica %d: %s", replica, reason);
    struct decision_row row = {.t_s = sim_s_from_ns(now), .service = service->config->name,
                               .policy = policy, .action = action, .subject = -1, /* no request */
                               .reason = replica >= 0 ? text : reason};
    return service->env.site->sink->decision(service->env.site->sink->context, &row);
}

static int emit(const struct service_scaling *scaling, int32_t replica, const char *action, const char *reason,
                sim_ns now)
{
    const char *policy = scaling->autoscaler != NULL ? scaling->autoscaler->policy.name : "failures";
    return scaling_emit_decision(scaling, policy, replica, action, reason, now);
}

/* --- States of replicas --- */

static const struct fleet_pool *pool_of(const struct service_scaling *scaling, int32_t index)
{
    return fleet_pool_of(&scaling->service->fleet, index);
}

static struct replica *replica_of(const struct service_scaling *scaling, int32_t index)
{
    return &scaling->service->fleet.replicas[index];
}

/* The lowest number of the pool in this state, or the highest one of all; -1: none. */
static int32_t lowest(const struct service_scaling *scaling, const struct fleet_pool *pool, enum replica_phase phase)
{
    for (int32_t i = pool->first; i < pool->first + pool->n; i++)
        if (scaling->tenures[i].phase == phase) return i;
    return -1;
}

static int32_t highest(const struct service_scaling *scaling, enum replica_phase phase)
{
    for (int32_t i = scaling->n - 1; i >= 0; i--)
        if (scaling->tenures[i].phase == phase) return i;
    return -1;
}

static void list_candidates(struct service_scaling *scaling)
{
    struct fleet_candidates *candidates = &scaling->service->fleet.candidates;
    candidates->n = 0;
    for (int32_t i = 0; i < scaling->n; i++)
        if (scaling->tenures[i].phase == REPLICA_UP) candidates->numbers[candidates->n++] = i;
}

static void set_phase(struct service_scaling *scaling, int32_t index, enum replica_phase phase, sim_ns now)
{
    struct tenure *tenure = &scaling->tenures[index];
    scaling->count[tenure->phase]--;
    scaling->count[phase]++;
    tenure->phase = phase;
    level_set(&scaling->up, now, scaling->count[REPLICA_UP]);
    list_candidates(scaling);
    scaling_count_failed(scaling, now);
}

void scaling_route_waiting(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct service_scaling *scaling = OWNER_ENTITY(owner, struct service_scaling, release);
    int code = 0;
    while (code == 0 && scaling->waiting.n > 0 && fleet_may_prompt(&scaling->service->fleet)) {
        struct request *request = request_of(&scaling->waiting.head->view);
        request_list_remove(&scaling->waiting, request);
        code = service_route(scaling->service, request, now);
    }
    if (code == 0) code = service_send_undecided(scaling->service, now);
    fail(scaling, code);
}

static int put_up(struct service_scaling *scaling, int32_t index, const char *action, const char *reason, sim_ns now)
{
    struct tenure *tenure = &scaling->tenures[index];
    scaling_clear_failure(scaling, index, now);
    set_phase(scaling, index, REPLICA_UP, now);
    tenure->seen_ns = now;
    tenure->busy_ns = replica_busy_ns(replica_of(scaling, index), now);
    if (scaling->waiting.n + scaling->service->handing_over.undecided.n > 0)
        engine_arm(scaling->service->env.site->engine, now + 1, PRIORITY_ARRIVAL, scaling_route_waiting,
                   &scaling->release);
    return emit(scaling, index, action, reason, now);
}

/* Takes GPUs for a replica, from jobs that yield if none are free. Returns 1, 0 without room, or a negative code. */
static int take_gpus(struct service_scaling *scaling, struct replica *replica, sim_ns now)
{
    const struct fleet_pool *pool = pool_of(scaling, replica->index);
    const struct fleet_parts parts = fleet_parts_of(&scaling->service->fleet, &pool->config);
    const struct holders *holders = &scaling->service->env.cluster->holders;
    int got = fleet_take_gpus(&scaling->service->fleet, pool, replica, now), yielded = 1;
    while (got == 0 && yielded > 0) {
        yielded = holders_make_room(holders, pool->config.gpu, parts.gpus, parts.n, now);
        if (yielded > 0) got = fleet_take_gpus(&scaling->service->fleet, pool, replica, now);
        if (yielded > 0) scaling->n_yielded += yielded;
    }
    if (got > 0) fleet_relist_groups(pool, replica);
    return yielded < 0 ? yielded : got;
}

/* GPUs for the lowest replica that is down, of the first pool that has room. Returns 1, 0 or a negative code. */
static int take_for_one(struct service_scaling *scaling, int32_t *index, sim_ns now)
{
    const struct fleet *fleet = &scaling->service->fleet;
    int got = 0;
    for (size_t i = 0; i < fleet->n_pools && got == 0; i++) {
        *index = lowest(scaling, &fleet->pools[i], REPLICA_DOWN);
        if (*index >= 0) got = take_gpus(scaling, replica_of(scaling, *index), now);
    }
    return got;
}

/* Starts one replica. Returns 1, 0 if there is none to start or no room, or a negative code. */
static int start_one(struct service_scaling *scaling, const char *reason, sim_ns now)
{
    int32_t index;
    int got = take_for_one(scaling, &index, now);
    if (got <= 0) return got;
    scaling->tenures[index].since_ns = now;
    scaling->tenures[index].up_ns = now > 0 ? sim_ns_add(now, start_delay(scaling->service, pool_of(scaling, index))) : 0;
    scaling->n_starts++;
    scaling->moved = true;
    set_phase(scaling, index, REPLICA_STARTING, now);
    level_set(&scaling->placed, now, scaling->placed.value + 1);
    int code = emit(scaling, index, "start", reason, now);
    if (code == 0 && scaling->tenures[index].up_ns <= now) code = put_up(scaling, index, "up", "is loaded", now);
    return code == 0 ? 1 : code;
}

int scaling_leave_gpus(struct service_scaling *scaling, int32_t index, sim_ns now)
{
    struct tenure *tenure = &scaling->tenures[index];
    struct replica *replica = replica_of(scaling, index);
    SIM_REQUIRE(replica->load->outstanding == 0 && replica->state == REPLICA_IDLE && replica->n_moves == 0);
    tenure->held_ns += now - tenure->since_ns;
    fleet_release_gpus(&scaling->service->fleet, replica, now);
    level_set(&scaling->placed, now, scaling->placed.value - 1);
    set_phase(scaling, index, REPLICA_DOWN, now);
    scaling->moved = true;
    return fleet_renew(&scaling->service->fleet, pool_of(scaling, index), replica);
}

/* Stops a replica without requests: it releases its GPUs. */
static int stop(struct service_scaling *scaling, int32_t index, const char *reason, sim_ns now)
{
    const int code = scaling_leave_gpus(scaling, index, now);
    return code != 0 ? code : emit(scaling, index, "stop", reason, now);
}

static int stop_if_empty(struct service_scaling *scaling, int32_t index, sim_ns now)
{
    bool empty = replica_of(scaling, index)->load->outstanding == 0;
    return empty ? stop(scaling, index, "has no requests left", now) : 0;
}

static int drain(struct service_scaling *scaling, int32_t index, const char *reason, sim_ns now)
{
    set_phase(scaling, index, REPLICA_DRAINING, now);
    scaling->n_drains++;
    int code = emit(scaling, index, "drain", reason, now);
    return code != 0 ? code : stop_if_empty(scaling, index, now);
}

/* --- Following the wanted number --- */

static int64_t count_serving(const struct service_scaling *scaling)
{
    return scaling->count[REPLICA_UP] + scaling->count[REPLICA_STARTING];
}

/* Only services with an autoscaler drain replicas, and these have one pool. */
static int add_replicas(struct service_scaling *scaling, const char *reason, sim_ns now)
{
    int code = 0, got = 1;
    int32_t index;
    while (code == 0 && count_serving(scaling) < scaling->wanted &&
           (index = lowest(scaling, pool_of(scaling, 0), REPLICA_DRAINING)) >= 0)
        code = put_up(scaling, index, "keep", reason, now);
    while (code == 0 && got > 0 && count_serving(scaling) < scaling->wanted) {
        got = start_one(scaling, reason, now);
        if (got < 0) code = got;
    }
    return code;
}

static int drop_replicas(struct service_scaling *scaling, const char *reason, sim_ns now)
{
    int code = 0;
    int32_t index;
    while (code == 0 && count_serving(scaling) > scaling->wanted && (index = highest(scaling, REPLICA_STARTING)) >= 0)
        code = stop(scaling, index, reason, now);
    while (code == 0 && count_serving(scaling) > scaling->wanted)
        code = drain(scaling, highest(scaling, REPLICA_UP), reason, now);
    return code;
}

/* Counts wanted replicas without GPUs; reports the first time. */
static int note_missing(struct service_scaling *scaling, sim_ns now)
{
    const int64_t before = scaling->missing.value, missing = scaling->wanted - count_serving(scaling);
    level_set(&scaling->missing, now, missing);
    return before == 0 && missing > 0 ? emit(scaling, -1, "wait", "a replica is wanted, and finds no GPUs", now) : 0;
}

static int scale_to(struct service_scaling *scaling, int64_t wanted, const char *reason, sim_ns now)
{
    scaling->wanted = wanted;
    scaling->tries_again = false;
    scaling_count_failed(scaling, now);
    int code = add_replicas(scaling, reason, now);
    if (code == 0) code = drop_replicas(scaling, reason, now);
    return code != 0 ? code : note_missing(scaling, now);
}

/* --- Decisions --- */

static int decide(struct service_scaling *scaling, sim_ns now)
{
    const struct policy *policy = &scaling->autoscaler->policy;
    const struct scaling_config *config = scaling->config;
    const struct autoscaling_view view = scaling_make_view(scaling, now);
    struct autoscaling_plan plan = {.replicas = count_serving(scaling)};
    struct diag *diag = scaling->service->env.site->diag;
    int code = scaling->autoscaler->decide(scaling->state, &view, &plan);
    if (code < 0) return policy_failed(policy, code, now, diag);
    if (plan.replicas < 0)
        return diag_error(diag, SIM_E_POLICY, NULL, NULL,
                          "autoscaling policy '%s' wants %lld replicas of service '%s' at %.9f s", policy->name,
                          (long long)plan.replicas, scaling->service->config->name, sim_s_from_ns(now));
    int64_t wanted = plan.replicas > config->max ? config->max : plan.replicas;
    if (wanted < config->min) wanted = config->min;
    scaling->next_ns = sim_ns_add(now - now % config->interval_ns, config->interval_ns);
    return scale_to(scaling, wanted, plan.reason != NULL ? plan.reason : "as the policy wants", now);
}

/* No request is in the service or to come. */
static bool is_over(const struct service *service)
{
    return service->dry && service->in_system.value == 0 && service->follow_ups.n_live == 0;
}

static int wind_down(struct service_scaling *scaling, sim_ns now)
{
    const int64_t up = scaling->count[REPLICA_UP], min = scaling->min;
    fleet_reports_when_empty(&scaling->service->fleet, now);
    holders_end(&scaling->service->env.cluster->holders, &scaling->service->tenant);
    scaling->is_over = true;
    for (int32_t i = 0; i < scaling->n; i++) fleet_claim_gpus(&scaling->service->fleet, replica_of(scaling, i), false);
    return scale_to(scaling, up < min ? up : min, "the last request has left", now);
}

/* --- The clock --- */

static void on_clock(struct engine *engine, struct owner *owner, sim_ns now);

static void arm(struct service_scaling *scaling, sim_ns at)
{
    engine_arm(scaling->service->env.site->engine, at, PRIORITY_SCALE, on_clock, &scaling->clock);
}

static void arm_next(struct service_scaling *scaling)
{
    sim_ns next_ns = scaling->next_ns;
    for (int32_t i = 0; i < scaling->n; i++)
        if (scaling->tenures[i].phase == REPLICA_STARTING && scaling->tenures[i].up_ns < next_ns)
            next_ns = scaling->tenures[i].up_ns;
    if (next_ns < SIM_NS_MAX) arm(scaling, next_ns);
}

static int advance_replicas(struct service_scaling *scaling, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; i < scaling->n && code == 0; i++) {
        const struct tenure *tenure = &scaling->tenures[i];
        if (tenure->phase == REPLICA_STARTING && tenure->up_ns <= now)
            code = put_up(scaling, i, "up", "is loaded", now);
        if (code == 0 && tenure->phase == REPLICA_DRAINING) code = stop_if_empty(scaling, i, now);
    }
    return code;
}

static void on_clock(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct service_scaling *scaling = OWNER_ENTITY(owner, struct service_scaling, clock);
    int code = advance_replicas(scaling, now);
    if (is_over(scaling->service)) {
        scaling->next_ns = SIM_NS_MAX;
        if (code == 0) code = wind_down(scaling, now);
    } else if (code == 0 && scaling->next_ns <= now) {
        code = decide(scaling, now);
        /* scaling waits for requests, not requests for scaling */
        if (scaling->service->in_system.value == 0) engine_progress(engine);
    } else if (code == 0 && scaling->tries_again) {
        code = scale_to(scaling, scaling->wanted, scaling->failed.value > 0 ? "a failure took one" : "GPUs have come",
                        now);
    }
    if (scaling->moved) holders_changed(&scaling->service->env.cluster->holders, SITE_SERVICE_CHANGED);
    scaling->moved = false;
    fail(scaling, code);
    arm_next(scaling);
}

void scaling_try_again(struct service_scaling *scaling)
{
    scaling->tries_again = true;
    arm(scaling, engine_now(scaling->service->env.site->engine));
}

void scaling_start(struct service_scaling *scaling)
{
    arm(scaling, 0);
}

void scaling_on_dry(struct service_scaling *scaling)
{
    if (is_over(scaling->service)) arm(scaling, engine_now(scaling->service->env.site->engine));
}

void scaling_on_leave(struct service_scaling *scaling, const struct request *request, sim_ns now)
{
    const bool drains = scaling->tenures[request->replica].phase == REPLICA_DRAINING;
    if (drains || (scaling->service->dry && scaling->service->in_system.value == 0)) arm(scaling, now);
}

void scaling_on_arrival(struct service_scaling *scaling)
{
    scaling->n_arrived++;
}

bool scaling_makes_wait(struct service_scaling *scaling, struct request *request)
{
    const bool is_up = fleet_may_prompt(&scaling->service->fleet);
    if (is_up && scaling->waiting.n == 0) return false;
    request_list_push_back(&scaling->waiting, request);
    scaling->n_held += !is_up;
    return true;
}

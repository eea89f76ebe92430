#include "sim/world/service/scaling_state.h"

#include "sim/core/check.h"
#include "sim/world/policy/autoscaling.h"
#include "sim/world/policy/instance.h"
#include "sim/world/rows/priority.h"
#include "sim/world/rows/source.h"

#include <math.h>
#include <string.h>

/* --- Creating the autoscaler of a service --- */

/* Delay from taking GPUs to being up: as given, else the time to read the weights. */
static sim_ns start_delay(const struct service *service, const struct fleet_pool *pool)
{
    const struct scaling_config *scaling = &pool->config.scaling;
    const struct start_config *start = scaling->policy.entry != NULL ? &scaling->start : &service->config->restart;
    if (!isnan(start->delay_s)) return sim_ns_from_s(start->delay_s);
    return sim_ns_from_s(pool_weight_bytes(&pool->config, &service->llm) / start->load_bytes_per_s);
}

/* The replicas that a pool starts with are up. */
static void init_pool(struct service_scaling *scaling, struct pool_scaling *pool)
{
    struct fleet_candidates *up = &scaling->service->fleet.candidates;
    const struct pool_config *config = &pool->pool->config;
    const int32_t n = pool->pool->n, n_up = config->start_replicas < n ? (int32_t)config->start_replicas : n;
    pool->config = &config->scaling;
    pool->autoscaler = config->scaling.policy.entry;
    pool->min = pool->autoscaler != NULL ? config->scaling.min : INT64_MAX;
    pool->next_ns = pool->autoscaler != NULL ? 0 : SIM_NS_MAX;
    for (int32_t i = 0; i < n_up; i++) {
        scaling->tenures[pool->pool->first + i].phase = REPLICA_UP;
        up->numbers[up->n++] = pool->pool->first + i;
    }
    for (int phase = 0; phase < (int)REPLICA_PHASES; phase++) {
        pool->lowest[phase] = pool->pool->first;
        pool->highest[phase] = pool->pool->first + n - 1;
    }
    pool->count[REPLICA_UP] = n_up;
    pool->count[REPLICA_DOWN] = n - n_up;
    pool->wanted = n_up;
    level_init(&pool->up, 0, n_up);
    level_init(&pool->placed, 0, n_up);
    level_init(&pool->missing, 0, 0);
}

/* Pools of the fleet are in the order of their replicas. */
static int init_replicas(struct service_scaling *scaling)
{
    struct fleet *fleet = &scaling->service->fleet;
    const size_t n = (size_t)fleet->n_replicas;
    scaling->n = fleet->n_replicas;
    scaling->pools = mem_zalloc(fleet->n_pools, sizeof *scaling->pools);
    scaling->tenures = mem_zalloc(n, sizeof *scaling->tenures);
    fleet->candidates.numbers = mem_zalloc(n, sizeof *fleet->candidates.numbers);
    fleet->candidates.loads = mem_zalloc(n, sizeof *fleet->candidates.loads);
    if (scaling->pools == NULL || scaling->tenures == NULL || fleet->candidates.numbers == NULL ||
        fleet->candidates.loads == NULL)
        return SIM_E_NOMEM;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        scaling->pools[i].pool = &fleet->pools[i];
        init_pool(scaling, &scaling->pools[i]);
    }
    level_init(&scaling->up, 0, fleet->candidates.n);
    level_init(&scaling->missing, 0, 0);
    level_init(&scaling->failed, 0, 0);
    level_init(&scaling->gone, 0, 0);
    return 0;
}

static int create_autoscalers(const struct service_scaling *scaling)
{
    int code = 0;
    for (size_t i = 0; i < scaling->service->fleet.n_pools && code == 0; i++) {
        struct pool_scaling *pool = &scaling->pools[i];
        if (pool->autoscaler != NULL)
            code = policy_state_create(&pool->autoscaler->policy, POLICY_AUTOSCALING, sizeof(struct autoscaler),
                                       pool->config->policy.params, &pool->state, scaling->service->env.site->diag);
    }
    return code;
}

int scaling_create(struct service *service, struct service_scaling **out)
{
    const bool fails = service->env.nodes_fail && fleet_may_restart(&service->fleet);
    const bool scales = service_config_scales(service->config);
    *out = NULL;
    if (!scales && !fails) return 0;
    struct service_scaling *scaling = mem_zalloc(1, sizeof *scaling);
    *out = scaling;
    if (scaling == NULL) return SIM_E_NOMEM;
    scaling->service = service;
    scaling->scales = scales;
    scaling->only_node = service_only_node(service);
    owner_init(&scaling->clock, site_env_owner_ids(service->env.site, 1));
    owner_init(&scaling->release, site_env_owner_ids(service->env.site, 1));
    const int code = init_replicas(scaling);
    return code != 0 ? code : create_autoscalers(scaling);
}

void scaling_destroy(struct service_scaling *scaling)
{
    if (scaling == NULL) return;
    for (size_t i = 0; scaling->pools != NULL && i < scaling->service->fleet.n_pools; i++)
        if (scaling->pools[i].autoscaler != NULL)
            policy_state_destroy(&scaling->pools[i].autoscaler->policy, scaling->pools[i].state);
    mem_free(scaling->pools);
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

static int emit(const struct service_scaling *scaling, const struct pool_scaling *pool, int32_t replica,
                const char *action, const char *reason, sim_ns now)
{
    const char *policy = pool->autoscaler != NULL ? pool->autoscaler->policy.name : "failures";
    return scaling_emit_decision(scaling, policy, replica, action, reason, now);
}

/* --- States of replicas --- */

static struct pool_scaling *pool_of(const struct service_scaling *scaling, int32_t index)
{
    const struct fleet *fleet = &scaling->service->fleet;
    return &scaling->pools[fleet_pool_of(fleet, index) - fleet->pools];
}

static struct replica *replica_of(const struct service_scaling *scaling, int32_t index)
{
    return &scaling->service->fleet.replicas[index];
}

/* The lowest and the highest number of the pool in this state; -1: none. A search goes on where the one before ended,
 * so that many starts at one moment look at each replica once. */
static int32_t lowest(const struct service_scaling *scaling, struct pool_scaling *pool, enum replica_phase phase)
{
    if (pool->count[phase] == 0) return -1;
    int32_t *at = &pool->lowest[phase];
    while (scaling->tenures[*at].phase != phase) ++*at;
    return *at;
}

static int32_t highest(const struct service_scaling *scaling, struct pool_scaling *pool, enum replica_phase phase)
{
    if (pool->count[phase] == 0) return -1;
    int32_t *at = &pool->highest[phase];
    while (scaling->tenures[*at].phase != phase) --*at;
    return *at;
}

/* The first of the candidates that is not below `index`. */
static int32_t candidates_from(const struct fleet_candidates *candidates, int32_t index)
{
    int32_t from = 0, to = candidates->n;
    while (from < to) {
        const int32_t middle = from + (to - from) / 2;
        if (candidates->numbers[middle] < index)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Adds a replica to the candidates, which are in the order of their numbers, or takes it from them. */
static void list_candidate(struct fleet_candidates *candidates, int32_t index, bool is_up)
{
    const int32_t at = candidates_from(candidates, index);
    int32_t *place = candidates->numbers + at;
    const bool is_listed = at < candidates->n && *place == index;
    if (is_listed == is_up) return;
    if (is_up) {
        memmove(place + 1, place, (size_t)(candidates->n++ - at) * sizeof *place);
        *place = index;
    } else {
        memmove(place, place + 1, (size_t)(--candidates->n - at) * sizeof *place);
    }
}

static void widen(struct pool_scaling *pool, enum replica_phase phase, int32_t index)
{
    if (index < pool->lowest[phase]) pool->lowest[phase] = index;
    if (index > pool->highest[phase]) pool->highest[phase] = index;
}

static void set_phase(struct service_scaling *scaling, int32_t index, enum replica_phase phase, sim_ns now)
{
    struct tenure *tenure = &scaling->tenures[index];
    struct pool_scaling *pool = pool_of(scaling, index);
    pool->count[tenure->phase]--;
    pool->count[phase]++;
    tenure->phase = phase;
    widen(pool, phase, index);
    level_set(&pool->up, now, pool->count[REPLICA_UP]);
    list_candidate(&scaling->service->fleet.candidates, index, phase == REPLICA_UP);
    level_set(&scaling->up, now, scaling->service->fleet.candidates.n);
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
    return emit(scaling, pool_of(scaling, index), index, action, reason, now);
}

/* Takes GPUs for a replica, from jobs that yield if none are free. Returns 1, 0 without room, or a negative code. */
static int take_gpus(struct service_scaling *scaling, struct replica *replica, sim_ns now)
{
    const struct fleet_pool *pool = pool_of(scaling, replica->index)->pool;
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

/* Starts the lowest replica of the pool that is down. Returns 1, 0 if there is none or no room, or a negative code. */
static int start_one(struct service_scaling *scaling, struct pool_scaling *pool, const char *reason, sim_ns now)
{
    const int32_t index = lowest(scaling, pool, REPLICA_DOWN);
    const int got = index >= 0 ? take_gpus(scaling, replica_of(scaling, index), now) : 0;
    if (got <= 0) return got;
    struct tenure *tenure = &scaling->tenures[index];
    tenure->since_ns = now;
    tenure->up_ns = now > 0 ? sim_ns_add(now, start_delay(scaling->service, pool->pool)) : 0;
    pool->n_starts++;
    scaling->moved = true;
    set_phase(scaling, index, REPLICA_STARTING, now);
    level_set(&pool->placed, now, pool->placed.value + 1);
    int code = emit(scaling, pool, index, "start", reason, now);
    if (code == 0 && tenure->up_ns <= now) code = put_up(scaling, index, "up", "is loaded", now);
    return code == 0 ? 1 : code;
}

int scaling_leave_gpus(struct service_scaling *scaling, int32_t index, sim_ns now)
{
    struct tenure *tenure = &scaling->tenures[index];
    struct replica *replica = replica_of(scaling, index);
    SIM_REQUIRE(replica->load->outstanding == 0 && replica->state == REPLICA_IDLE && replica->n_moves == 0);
    tenure->held_ns += now - tenure->since_ns;
    tenure->late_ns += scaling_late_ns(scaling, tenure->since_ns, now);
    fleet_release_gpus(&scaling->service->fleet, replica, now);
    struct pool_scaling *pool = pool_of(scaling, index);
    level_set(&pool->placed, now, pool->placed.value - 1);
    set_phase(scaling, index, REPLICA_DOWN, now);
    scaling->moved = true;
    return fleet_renew(&scaling->service->fleet, pool->pool, replica);
}

/* Stops a replica without requests: it releases its GPUs. */
static int stop(struct service_scaling *scaling, int32_t index, const char *reason, sim_ns now)
{
    const int code = scaling_leave_gpus(scaling, index, now);
    return code != 0 ? code : emit(scaling, pool_of(scaling, index), index, "stop", reason, now);
}

/* Tokens are reserved for prompts whose KV has not left, and for all requests that are to decode there. */
static int stop_if_empty(struct service_scaling *scaling, int32_t index, sim_ns now)
{
    const struct fleet *fleet = &scaling->service->fleet;
    const bool empty = fleet->loads[index].outstanding == 0 && fleet->reserved_tokens[index] == 0;
    return empty ? stop(scaling, index, "has no requests left", now) : 0;
}

static int drain(struct service_scaling *scaling, int32_t index, const char *reason, sim_ns now)
{
    struct pool_scaling *pool = pool_of(scaling, index);
    set_phase(scaling, index, REPLICA_DRAINING, now);
    pool->n_drains++;
    int code = emit(scaling, pool, index, "drain", reason, now);
    return code != 0 ? code : stop_if_empty(scaling, index, now);
}

/* --- Following the wanted number --- */

/* Whether the pool's number is followed in this event. */
static bool is_due(const struct pool_scaling *pool)
{
    return pool->decides || pool->tries_again;
}

static bool lacks_least(const struct pool_scaling *pool)
{
    return scaling_serving(pool) < (pool->wanted < pool->min ? pool->wanted : pool->min);
}

/* The engine ends the run after this event. */
static bool is_interrupted(const struct service_scaling *scaling)
{
    return source_is_interrupted(scaling->service->env.site->interrupt);
}

/* Up to `most` replicas, and no more than are wanted. An interrupt ends the loop: there may be very many. */
static int add_replicas(struct service_scaling *scaling, struct pool_scaling *pool, int64_t most, sim_ns now)
{
    const char *again = scaling->failed.value > 0 ? "a failure took one" : "GPUs have come";
    const char *reason = pool->decides ? pool->reason : again;
    const int64_t n = pool->wanted < most ? pool->wanted : most;
    int code = 0, got = 1;
    int32_t index;
    while (code == 0 && scaling_serving(pool) < n && (index = lowest(scaling, pool, REPLICA_DRAINING)) >= 0)
        code = put_up(scaling, index, "keep", reason, now);
    while (code == 0 && got > 0 && scaling_serving(pool) < n && !is_interrupted(scaling)) {
        got = start_one(scaling, pool, reason, now);
        if (got < 0) code = got;
    }
    return code;
}

/* Pools get their `min` first, those that decode before the others: processed prompts hold GPUs until their KV goes. */
static int add_in_turn(struct service_scaling *scaling, sim_ns now)
{
    const size_t n = scaling->service->fleet.n_pools;
    int code = 0;
    for (size_t i = 0; i < 3 * n && code == 0; i++) {
        struct pool_scaling *pool = &scaling->pools[i % n];
        const bool is_turn = i >= 2 * n || (pool->pool->config.role == POOL_PREFILL) == (i >= n);
        if (is_due(pool) && is_turn) code = add_replicas(scaling, pool, i < 2 * n ? pool->min : INT64_MAX, now);
    }
    return code;
}

static int drop_replicas(struct service_scaling *scaling, struct pool_scaling *pool, const char *reason, sim_ns now)
{
    int code = 0;
    int32_t index;
    while (code == 0 && scaling_serving(pool) > pool->wanted && (index = highest(scaling, pool, REPLICA_STARTING)) >= 0)
        code = stop(scaling, index, reason, now);
    while (code == 0 && scaling_serving(pool) > pool->wanted)
        code = drain(scaling, highest(scaling, pool, REPLICA_UP), reason, now);
    return code;
}

/* Counts wanted replicas without GPUs; reports the first time. */
static int note_missing(struct service_scaling *scaling, struct pool_scaling *pool, sim_ns now)
{
    const int64_t before = scaling->missing.value, missing = pool->wanted - scaling_serving(pool);
    const int64_t all = before - pool->missing.value + missing;
    level_set(&pool->missing, now, missing);
    level_set(&scaling->missing, now, all);
    return before == 0 && all > 0 ? emit(scaling, pool, -1, "wait", "a replica is wanted, and finds no GPUs", now) : 0;
}

/* Pools that need fewer replicas come before those that need more. One that lacks some of its `min` is always due. */
static int scale_pools(struct service_scaling *scaling, sim_ns now)
{
    const size_t n = scaling->service->fleet.n_pools;
    bool any = false;
    int code = 0;
    for (size_t i = 0; i < n; i++) any = any || is_due(&scaling->pools[i]);
    if (any) scaling_count_failed(scaling, now);
    for (size_t i = 0; i < n && code == 0; i++) {
        struct pool_scaling *pool = &scaling->pools[i];
        pool->tries_again = pool->tries_again || (any && lacks_least(pool));
        if (is_due(pool)) code = drop_replicas(scaling, pool, pool->reason, now);
    }
    if (code == 0) code = add_in_turn(scaling, now);
    for (size_t i = 0; i < n && code == 0; i++) {
        struct pool_scaling *pool = &scaling->pools[i];
        if (is_due(pool) && !is_interrupted(scaling)) code = note_missing(scaling, pool, now);
        pool->decides = pool->tries_again = false;
    }
    return code;
}

/* --- Decisions --- */

static int decide(struct service_scaling *scaling, struct pool_scaling *pool, sim_ns now)
{
    const struct policy *policy = &pool->autoscaler->policy;
    const struct scaling_config *config = pool->config;
    const struct autoscaling_view view = scaling_make_view(scaling, pool, now);
    struct autoscaling_plan plan = {.replicas = scaling_serving(pool)};
    struct diag *diag = scaling->service->env.site->diag;
    int code = pool->autoscaler->decide(pool->state, &view, &plan);
    if (code < 0) return policy_failed(policy, "decide", code, now, diag);
    if (plan.replicas < 0)
        return diag_error(diag, SIM_E_POLICY, NULL, NULL,
                          "autoscaling policy '%s' wants %lld replicas of service '%s' at %.9f s", policy->name,
                          (long long)plan.replicas, scaling->service->config->name, sim_s_from_ns(now));
    pool->wanted = scaling_within(config, plan.replicas);
    pool->reason = plan.reason != NULL ? plan.reason : "as the policy wants";
    pool->next_ns = sim_ns_add(now - now % config->interval_ns, config->interval_ns);
    pool->decides = true;
    return 0;
}

/* Asks the autoscalers that are due. Returns their number or a negative code. */
static int decide_all(struct service_scaling *scaling, sim_ns now)
{
    int code = 0, n = 0;
    for (size_t i = 0; i < scaling->service->fleet.n_pools && code == 0; i++) {
        if (scaling->pools[i].next_ns > now) continue;
        code = decide(scaling, &scaling->pools[i], now);
        n++;
    }
    return code != 0 ? code : n;
}

/* No request is in the service or to come. */
static bool is_over(const struct service *service)
{
    return service->dry && service->in_system.value == 0 && service->follow_ups.n_live == 0;
}

static int wind_down(struct service_scaling *scaling, sim_ns now)
{
    fleet_reports_when_empty(&scaling->service->fleet, now);
    holders_end(&scaling->service->env.cluster->holders, &scaling->service->tenant);
    scaling->is_over = true;
    for (int32_t i = 0; i < scaling->n; i++) fleet_claim_gpus(&scaling->service->fleet, replica_of(scaling, i), false);
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) {
        struct pool_scaling *pool = &scaling->pools[i];
        const int64_t up = pool->count[REPLICA_UP];
        pool->wanted = up < pool->min ? up : pool->min;
        pool->reason = "the last request has left";
        pool->next_ns = SIM_NS_MAX;
        pool->decides = true;
    }
    return scale_pools(scaling, now);
}

/* --- The clock --- */

static void on_clock(struct engine *engine, struct owner *owner, sim_ns now);

static void arm(struct service_scaling *scaling, sim_ns at)
{
    engine_arm(scaling->service->env.site->engine, at, PRIORITY_SCALE, on_clock, &scaling->clock);
}

/* GPUs that one pool has just released may be what another one lacks: then there is an event at `now` again. */
static void arm_next(struct service_scaling *scaling, sim_ns now)
{
    sim_ns next_ns = SIM_NS_MAX;
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++) {
        if (scaling->pools[i].tries_again) next_ns = now;
        if (scaling->pools[i].next_ns < next_ns) next_ns = scaling->pools[i].next_ns;
    }
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
    if (code == 0 && is_over(scaling->service)) {
        code = wind_down(scaling, now);
    } else if (code == 0) {
        const int n = decide_all(scaling, now);
        code = n < 0 ? n : scale_pools(scaling, now);
        /* scaling waits for requests, not requests for scaling */
        if (n > 0 && scaling->service->in_system.value == 0) engine_progress(engine);
    }
    if (scaling->moved) holders_changed(&scaling->service->env.cluster->holders, SITE_SERVICE_CHANGED);
    scaling->moved = false;
    fail(scaling, code);
    arm_next(scaling, now);
}

void scaling_try_again(struct service_scaling *scaling, bool only_constant)
{
    for (size_t i = 0; i < scaling->service->fleet.n_pools; i++)
        if (!only_constant || scaling->pools[i].autoscaler == NULL) scaling->pools[i].tries_again = true;
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

void scaling_on_release(struct service_scaling *scaling, int32_t replica, sim_ns now)
{
    if (scaling->tenures[replica].phase == REPLICA_DRAINING) arm(scaling, now);
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

#include "sim/study/guard.h"

#include "sim/core/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The state that the world keeps; the policy's own lies behind it. */
struct guarded {
    struct guard *guard;
    int64_t gpus_in_use, n_pending, n_running;
    uint64_t running; /* sum of the marks of the running jobs */
    int64_t n_cached, n_held; /* items of a cache */
    _Alignas(16) char inner[];
};

__attribute__((format(printf, 4, 5))) static void breach(struct guard *guard, enum guard_breach kind, sim_ns now,
                                                         const char *format, ...)
{
    if (guard->breach != GUARD_NOTHING) return;
    guard->breach = kind;
    guard->breach_ns = now;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(guard->text, sizeof guard->text, format, arguments);
    va_end(arguments);
}

static void count_call(struct guard *guard)
{
    if (++guard->n_calls == guard->interrupt_at) guard->interrupt(guard->context);
}

static int guarded_init(void *state, const void *params, struct diag *diag)
{
    struct guarded *guarded = state;
    guarded->guard = *(struct guard *const *)params;
    const struct policy *inner = guarded->guard->inner;
    return inner->init == NULL ? 0 : inner->init(guarded->inner, guarded->guard->inner_params, diag);
}

static void guarded_fini(void *state)
{
    struct guarded *guarded = state;
    const struct policy *inner = guarded->guard->inner;
    if (inner->fini != NULL) inner->fini(guarded->inner);
}

/* --- Fingerprints of what is shown --- */

static uint64_t mix(uint64_t sum, const void *bytes, size_t n)
{
    static const uint64_t prime = UINT64_C(0x100000001b3); /* FNV-1a, by words */
    const unsigned char *at = bytes;
    uint64_t word;
    for (; n >= sizeof word; n -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * prime;
    }
    while (n-- > 0) sum = (sum ^ *at++) * prime;
    return sum;
}

static const uint64_t empty_mix = UINT64_C(0xcbf29ce484222325);

static uint64_t mix_requests(uint64_t sum, const struct request_view *request)
{
    for (; request != NULL; request = request->next) sum = mix(sum, request, sizeof *request);
    return sum;
}

static uint64_t replica_print(const struct replica_view *view)
{
    uint64_t sum = mix(empty_mix, view, sizeof *view);
    sum = mix_requests(sum, view->waiting);
    sum = mix_requests(sum, view->prefilling);
    return mix_requests(sum, view->oldest_decoding);
}

static uint64_t fleet_print(const struct fleet_view *view, const struct request_view *request)
{
    uint64_t sum = mix(empty_mix, view, sizeof *view);
    sum = mix(sum, view->loads, (size_t)view->n_replicas * sizeof *view->loads);
    return mix(sum, request, sizeof *request);
}

static uint64_t cluster_print(const struct cluster_view *view, const struct job_view *job)
{
    uint64_t sum = mix(empty_mix, view, sizeof *view);
    if (view->node_free_gpus != NULL) sum = mix(sum, view->node_free_gpus, (size_t)view->n_nodes * sizeof(int32_t));
    if (view->nodes != NULL) sum = mix(sum, view->nodes, (size_t)view->n_nodes * sizeof *view->nodes);
    return mix(sum, job, sizeof *job);
}

static void check_print(struct guard *guard, uint64_t before, uint64_t after, sim_ns now)
{
    if (before != after) breach(guard, GUARD_VIEW, now, "it changed what it was shown");
}

/* --- Schedulers --- */

static void check_cluster(struct guarded *guarded, const struct cluster_view *view)
{
    struct guard *guard = guarded->guard;
    sim_ns now = view->now_ns;
    /* on nodes of their own kind jobs may hold shares of GPUs */
    bool limited = view->total_gpus < INT64_MAX && !guard->grants_others && view->nodes == NULL;
    if (view->free_gpus < 0 || (limited && view->free_gpus + guarded->gpus_in_use != view->total_gpus))
        breach(guard, GUARD_LAWS, now,
               "%" PRId64 " GPUs free and %" PRId64 " held by running jobs are not the %" PRId64 " of the cluster",
               view->free_gpus, guarded->gpus_in_use, view->total_gpus);
    if (view->n_pending != guarded->n_pending || view->n_running != guarded->n_running)
        breach(guard, GUARD_LAWS, now,
               "%" PRId64 " jobs wait and %" PRId64 " run, but the view says %" PRId64 " and %" PRId64,
               guarded->n_pending, guarded->n_running, view->n_pending, view->n_running);
    int64_t on_nodes = 0;
    for (int32_t node = 0; node < view->n_nodes; node++) on_nodes += view->node_free_gpus[node];
    if (limited && view->n_nodes > 0 && on_nodes != view->free_gpus)
        breach(guard, GUARD_LAWS, now, "%" PRId64 " GPUs are free, but %" PRId64 " on the nodes", view->free_gpus,
               on_nodes);
}

static void guarded_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    static const struct {
        int pending, running;
    } effects[] = {[JOB_EVENT_SUBMIT] = {+1, 0},
                   [JOB_EVENT_START] = {-1, +1},
                   [JOB_EVENT_PREEMPT] = {+1, -1},
                   [JOB_EVENT_FINISH] = {0, -1},
                   [JOB_EVENT_RESIZE] = {0, 0},
                   [JOB_EVENT_PACE] = {0, 0}};
    struct guarded *guarded = state;
    const struct scheduler *inner = (const void *)guarded->guard->inner;
    guarded->n_pending += effects[note->event].pending;
    guarded->n_running += effects[note->event].running;
    guarded->gpus_in_use += effects[note->event].running * note->job->gpus;
    const bool as_asked = note->job->held_gpus == note->job->gpus && note->job->node_type == 0;
    if (note->event == JOB_EVENT_START && !as_asked) guarded->guard->grants_others = true;
    uint64_t mark = mix(empty_mix, &note->job->sequence, sizeof note->job->sequence);
    guarded->running += effects[note->event].running > 0 ? mark : effects[note->event].running < 0 ? -mark : 0;
    check_cluster(guarded, view);
    uint64_t before = cluster_print(view, note->job);
    inner->notify(guarded->inner, view, note);
    check_print(guarded->guard, before, cluster_print(view, note->job), view->now_ns);
}

static int guarded_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct guarded *guarded = state;
    struct guard *guard = guarded->guard;
    const struct scheduler *inner = (const void *)guard->inner;
    count_call(guard);
    check_cluster(guarded, view);
    int code = inner->decide(guarded->inner, view, plan);
    check_cluster(guarded, view);
    if (code < 0 || !guard->ask_twice || view->n_pending > 0) return code;
    uint64_t running = guarded->running;
    code = inner->decide(guarded->inner, view, plan);
    if (guarded->running != running)
        breach(guard, GUARD_RESTLESS, view->now_ns, "nobody waits, and it preempts running jobs all the same");
    return code;
}

static int guarded_scheduler_prepare(void *state, const struct cluster_view *view, struct diag *diag)
{
    struct guarded *guarded = state;
    return ((const struct scheduler *)(const void *)guarded->guard->inner)->prepare(guarded->inner, view, diag);
}

static bool guarded_wants_sizes(const void *state)
{
    const struct guarded *guarded = state;
    return ((const struct scheduler *)(const void *)guarded->guard->inner)->wants_sizes(guarded->inner);
}

static void guarded_finish(void *state, struct job_plan *plan)
{
    struct guarded *guarded = state;
    ((const struct scheduler *)(const void *)guarded->guard->inner)->finish(guarded->inner, plan);
}

static void watch_scheduler(struct scheduler *scheduler)
{
    scheduler->notify = guarded_notify;
    scheduler->decide = guarded_decide;
    if (scheduler->prepare != NULL) scheduler->prepare = guarded_scheduler_prepare;
    if (scheduler->wants_sizes != NULL) scheduler->wants_sizes = guarded_wants_sizes;
    if (scheduler->finish != NULL) scheduler->finish = guarded_finish;
}

/* --- The other families --- */

static int guarded_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    uint64_t before = replica_print(view);
    int code = ((const struct batcher *)(const void *)guarded->guard->inner)->compose(guarded->inner, view, plan);
    check_print(guarded->guard, before, replica_print(view), view->now_ns);
    return code;
}

static int64_t guarded_pass(void *state, const struct replica_view *view)
{
    struct guarded *guarded = state;
    uint64_t before = replica_print(view);
    int64_t n = ((const struct batcher *)(const void *)guarded->guard->inner)->pass(guarded->inner, view);
    check_print(guarded->guard, before, replica_print(view), view->now_ns);
    return n;
}

static int guarded_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    uint64_t before = fleet_print(view, request);
    int replica = ((const struct router *)(const void *)guarded->guard->inner)->route(guarded->inner, view, request);
    check_print(guarded->guard, before, fleet_print(view, request), view->now_ns);
    return replica;
}

static int guarded_offload_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    uint64_t before = mix(empty_mix, view, sizeof *view);
    int code = ((const struct kv_offloader *)(const void *)guarded->guard->inner)->place(guarded->inner, view, plan);
    check_print(guarded->guard, before, mix(empty_mix, view, sizeof *view), 0);
    return code;
}

static enum offload_tier guarded_evicted(void *state, const struct offload_view *view,
                                         const struct request_view *request)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    uint64_t before = mix(mix(empty_mix, view, sizeof *view), request, sizeof *request);
    enum offload_tier tier =
        ((const struct kv_offloader *)(const void *)guarded->guard->inner)->evicted(guarded->inner, view, request);
    check_print(guarded->guard, before, mix(mix(empty_mix, view, sizeof *view), request, sizeof *request), 0);
    return tier;
}

static uint32_t guarded_reads(const void *state)
{
    const struct guarded *guarded = state;
    return ((const struct kv_offloader *)(const void *)guarded->guard->inner)->reads(guarded->inner);
}

static int guarded_route_pair(void *state, const struct fleet_view *view, const struct request_view *request,
                              struct route_pair *pair)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    uint64_t before = fleet_print(view, request);
    int code =
        ((const struct router *)(const void *)guarded->guard->inner)->route_pair(guarded->inner, view, request, pair);
    check_print(guarded->guard, before, fleet_print(view, request), view->now_ns);
    return code;
}

static bool guarded_possible(void *state, const struct cluster_view *view, const struct job_view *job)
{
    struct guarded *guarded = state;
    uint64_t before = cluster_print(view, job);
    bool possible = ((const struct placer *)(const void *)guarded->guard->inner)->possible(guarded->inner, view, job);
    check_print(guarded->guard, before, cluster_print(view, job), view->now_ns);
    return possible;
}

static int guarded_place(void *state, const struct cluster_view *view, const struct job_view *job,
                         struct placement *placement)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    uint64_t before = cluster_print(view, job);
    int code =
        ((const struct placer *)(const void *)guarded->guard->inner)->place(guarded->inner, view, job, placement);
    check_print(guarded->guard, before, cluster_print(view, job), view->now_ns);
    return code;
}

static int guarded_scale(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    uint64_t before = mix(empty_mix, view, sizeof *view);
    int code = ((const struct autoscaler *)(const void *)guarded->guard->inner)->decide(guarded->inner, view, plan);
    check_print(guarded->guard, before, mix(empty_mix, view, sizeof *view), view->now_ns);
    return code;
}

static uint64_t cache_print(const struct cache_view *view, int32_t item)
{
    uint64_t sum = mix(empty_mix, view, sizeof *view);
    if (item == CACHE_NO_ITEM) return sum;
    uint64_t key = cache_view_key(view, item);
    return mix(sum, &key, sizeof key);
}

/* Where it is in time: as many seconds as accesses went before. */
static sim_ns cache_now(const struct cache_view *view)
{
    return view->access < 0 ? 0 : sim_ns_from_s((double)view->access);
}

static void check_cache(struct guarded *guarded, const struct cache_view *view)
{
    if (view->size == guarded->n_cached && view->held == guarded->n_held && view->size <= view->capacity) return;
    breach(guarded->guard, GUARD_LAWS, cache_now(view),
           "%" PRId64 " items are cached and %" PRId64 " in use, but the view says %" PRId64 " and %" PRId64,
           guarded->n_cached, guarded->n_held, view->size, view->held);
}

static int guarded_item(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct guarded *guarded = state;
    guarded->n_cached += event == CACHE_INSERT;
    guarded->n_held += (event == CACHE_ACQUIRE) - (event == CACHE_RELEASE);
    check_cache(guarded, view);
    guarded->n_cached -= event == CACHE_FORGET; /* it is there until everybody has been told */
    uint64_t before = cache_print(view, item);
    int code = ((const struct evictor *)(const void *)guarded->guard->inner)->notify(guarded->inner, view, item, event);
    check_print(guarded->guard, before, cache_print(view, item), cache_now(view));
    return code;
}

static int32_t guarded_victim(void *state, const struct cache_view *view)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    check_cache(guarded, view);
    uint64_t before = cache_print(view, CACHE_NO_ITEM);
    int32_t item = ((const struct evictor *)(const void *)guarded->guard->inner)->victim(guarded->inner, view);
    check_print(guarded->guard, before, cache_print(view, CACHE_NO_ITEM), cache_now(view));
    return item;
}

/* --- Power cappers --- */

typedef int (*cap_fn)(void *state, const struct power_view *view, struct power_plan *plan);

static int watched_cap(struct guarded *guarded, cap_fn inner, const struct power_view *view, struct power_plan *plan)
{
    struct guard *guard = guarded->guard;
    const struct power_reading *reading = &view->reading;
    count_call(guard);
    if (!isnan(reading->mean_w) && (reading->from_ns >= reading->to_ns || reading->to_ns > view->now_ns))
        breach(guard, GUARD_LAWS, view->now_ns, "a reading is of a time that has not passed");
    const uint64_t before = mix(empty_mix, view, sizeof *view);
    const int code = inner(guarded->inner, view, plan);
    check_print(guard, before, mix(empty_mix, view, sizeof *view), view->now_ns);
    return code;
}

static int guarded_setup(void *state, const struct power_view *view, struct power_plan *plan)
{
    struct guarded *guarded = state;
    return watched_cap(guarded, ((const struct power_capper *)guarded->guard->inner)->setup, view, plan);
}

static int guarded_cap(void *state, const struct power_view *view, struct power_plan *plan)
{
    struct guarded *guarded = state;
    return watched_cap(guarded, ((const struct power_capper *)guarded->guard->inner)->decide, view, plan);
}

/* Its view has no time: a breach is told at 0. */
static double guarded_interval(void *state, const struct checkpoint_view *view)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    const uint64_t before = mix(mix(empty_mix, view, sizeof *view), view->job, sizeof *view->job);
    const double interval_s =
        ((const struct checkpointer *)(const void *)guarded->guard->inner)->interval_s(guarded->inner, view);
    const uint64_t after = mix(mix(empty_mix, view, sizeof *view), view->job, sizeof *view->job);
    check_print(guarded->guard, before, after, 0);
    return interval_s;
}

/* --- Renters --- */

static int guarded_prepare(void *state, const struct market_view *view, struct diag *diag)
{
    struct guarded *guarded = state;
    return ((const struct renter *)(const void *)guarded->guard->inner)->prepare(guarded->inner, view, diag);
}

static uint64_t market_print(const struct market_view *view, const struct job_view *job)
{
    const uint64_t sum = mix(empty_mix, view->offers, (size_t)view->n_offers * sizeof *view->offers);
    return mix(sum, job, sizeof *job);
}

static int guarded_rent(void *state, const struct market_view *view, const struct job_view *job, struct rental *rental)
{
    struct guarded *guarded = state;
    count_call(guarded->guard);
    const uint64_t before = market_print(view, job);
    const int code =
        ((const struct renter *)(const void *)guarded->guard->inner)->rent(guarded->inner, view, job, rental);
    check_print(guarded->guard, before, market_print(view, job), view->now_ns);
    return code;
}

static int guarded_fleet(void *state, const struct market_view *view, struct fleet_plan *plan, struct diag *diag)
{
    struct guarded *guarded = state;
    return ((const struct renter *)(const void *)guarded->guard->inner)->fleet(guarded->inner, view, plan, diag);
}

static void watch_renter(struct renter *renter)
{
    if (renter->prepare != NULL) renter->prepare = guarded_prepare;
    if (renter->rent != NULL) renter->rent = guarded_rent;
    if (renter->fleet != NULL) renter->fleet = guarded_fleet;
}

static void watch_calls(struct guard *guard)
{
    switch (guard->inner->family) {
    case POLICY_SCHEDULER: watch_scheduler(&guard->watched.scheduler); break;
    case POLICY_BATCHING:
        guard->watched.batcher.compose = guarded_compose;
        if (guard->watched.batcher.pass != NULL) guard->watched.batcher.pass = guarded_pass;
        break;
    case POLICY_ROUTING: /* what a router, offloader or placer leaves out means something */
        if (guard->watched.router.route != NULL) guard->watched.router.route = guarded_route;
        if (guard->watched.router.route_pair != NULL) guard->watched.router.route_pair = guarded_route_pair;
        break;
    case POLICY_KV_OFFLOAD:
        if (guard->watched.offloader.place != NULL) guard->watched.offloader.place = guarded_offload_place;
        if (guard->watched.offloader.evicted != NULL) guard->watched.offloader.evicted = guarded_evicted;
        if (guard->watched.offloader.reads != NULL) guard->watched.offloader.reads = guarded_reads;
        break;
    case POLICY_PLACEMENT:
        if (guard->watched.placer.possible != NULL) guard->watched.placer.possible = guarded_possible;
        if (guard->watched.placer.place != NULL) guard->watched.placer.place = guarded_place;
        break;
    case POLICY_EVICTION:
        guard->watched.evictor.notify = guarded_item;
        guard->watched.evictor.victim = guarded_victim;
        break;
    case POLICY_AUTOSCALING: guard->watched.autoscaler.decide = guarded_scale; break;
    case POLICY_POWER_CAP:
        if (guard->watched.capper.setup != NULL) guard->watched.capper.setup = guarded_setup;
        if (guard->watched.capper.decide != NULL) guard->watched.capper.decide = guarded_cap;
        break;
    case POLICY_CHECKPOINTING:
        if (guard->watched.checkpointer.interval_s != NULL) guard->watched.checkpointer.interval_s = guarded_interval;
        break;
    case POLICY_RENTAL: watch_renter(&guard->watched.renter); break;
    case POLICY_FAMILY_COUNT: break;
    }
}

void guard_lay(struct guard *guard, struct config_variant *variant)
{
    *guard = (struct guard){.self = guard, .inner = variant->entry, .inner_params = variant->params};
    memcpy(&guard->watched, guard->inner, policy_family_bytes(guard->inner->family));
    guard->watched.policy.state_bytes = sizeof(struct guarded) + guard->inner->state_bytes;
    guard->watched.policy.init = guarded_init;
    guard->watched.policy.fini = guarded_fini;
    watch_calls(guard);
    variant->entry = &guard->watched;
    variant->params = &guard->self;
}

#include "sim/study/guard.h"

#include "sim/core/err.h"
#include "sim/world/policy/instance.h"

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

static int guarded_init(void *state, const void *params, struct diag *diag)
{
    struct guarded *guarded = state;
    guarded->guard = *(struct guard *const *)params;
    return policy_state_init(guarded->guard->inner, guarded->inner, guarded->guard->inner_params, diag);
}

static void guarded_fini(void *state)
{
    struct guarded *guarded = state;
    const struct policy *inner = guarded->guard->inner;
    if (inner->fini != NULL) inner->fini(guarded->inner);
}

/* --- Views --- */

/* A kind of view: its data outside of the struct, its time, its laws, and what waits. */
struct view_kind {
    uint64_t (*more)(uint64_t sum, const void *view);
    sim_ns (*now)(const void *view);
    void (*check)(const struct guarded *guarded, const void *view);
    void (*waiting)(const void *view, int64_t *waiting, int64_t *running);
};

static const uint64_t empty_mix = UINT64_C(0xcbf29ce484222325);

static const uint64_t mix_prime = UINT64_C(0x100000001b3);

static uint64_t mix_word(uint64_t sum, const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return (sum ^ word) * mix_prime;
}

/* FNV-1a by words, in four lanes where there are many: a product has to wait for the one before it in its lane. */
static uint64_t mix(uint64_t sum, const void *bytes, size_t n)
{
    enum { LANES = 4, WORD = sizeof(uint64_t) };
    const unsigned char *at = bytes;
    if (n >= 2 * LANES * WORD) {
        uint64_t a = sum, b = 0, c = 0, d = 0; /* variables, since compilers keep an array in memory */
        for (; n >= LANES * WORD; n -= LANES * WORD, at += LANES * WORD) {
            a = mix_word(a, at);
            b = mix_word(b, at + WORD);
            c = mix_word(c, at + 2 * WORD);
            d = mix_word(d, at + 3 * WORD);
        }
        sum = (((a ^ b) * mix_prime ^ c) * mix_prime ^ d) * mix_prime;
    }
    for (; n >= WORD; n -= WORD, at += WORD) sum = mix_word(sum, at);
    while (n-- > 0) sum = (sum ^ *at++) * mix_prime;
    return sum;
}

/* The time of views whose first member is now_ns. */
static sim_ns first_member(const void *view)
{
    return *(const sim_ns *)view;
}

static uint64_t mix_requests(uint64_t sum, const struct request_view *request)
{
    for (; request != NULL; request = request->next) sum = mix(sum, request, sizeof *request);
    return sum;
}

static uint64_t more_of_replica(uint64_t sum, const void *shown)
{
    const struct replica_view *view = shown;
    sum = mix_requests(sum, view->waiting);
    sum = mix_requests(sum, view->prefilling);
    return mix_requests(sum, view->oldest_decoding);
}

static uint64_t more_of_fleet(uint64_t sum, const void *shown)
{
    const struct fleet_view *view = shown;
    return mix(sum, view->loads, (size_t)view->n_replicas * sizeof *view->loads);
}

static void waiting_at_replica(const void *shown, int64_t *waiting, int64_t *running)
{
    const struct replica_view *view = shown;
    *waiting = view->n_waiting;
    *running = replica_view_running(view);
}

static void waiting_in_fleet(const void *shown, int64_t *waiting, int64_t *running)
{
    const struct fleet_view *view = shown;
    *waiting = *running = 0;
    for (int32_t i = 0; i < view->n_replicas; i++) {
        *waiting += view->loads[i].waiting;
        *running += view->loads[i].outstanding - view->loads[i].waiting;
    }
}

static void waiting_in_cluster(const void *shown, int64_t *waiting, int64_t *running)
{
    const struct cluster_view *view = shown;
    *waiting = view->n_pending;
    *running = view->n_running;
}

static uint64_t more_of_cluster(uint64_t sum, const void *shown)
{
    const struct cluster_view *view = shown;
    if (view->node_free_gpus != NULL) sum = mix(sum, view->node_free_gpus, (size_t)view->n_nodes * sizeof(int32_t));
    if (view->nodes != NULL) sum = mix(sum, view->nodes, (size_t)view->n_nodes * sizeof *view->nodes);
    return sum;
}

static uint64_t more_of_market(uint64_t sum, const void *shown)
{
    const struct market_view *view = shown;
    return mix(sum, view->offers, (size_t)view->n_offers * sizeof *view->offers);
}

static uint64_t more_of_speculation(uint64_t sum, const void *shown)
{
    const struct speculation_view *view = shown;
    if (view->rates != NULL) sum = mix(sum, view->rates, sizeof *view->rates);
    return mix(sum, view->history, sizeof *view->history);
}

/* Caches have no time: one second per earlier access. */
static sim_ns cache_now(const void *shown)
{
    const struct cache_view *view = shown;
    return view->access < 0 ? 0 : sim_ns_from_s((double)view->access);
}

static void check_cache(const struct guarded *guarded, const void *shown)
{
    const struct cache_view *view = shown;
    if (view->size == guarded->n_cached && view->held == guarded->n_held && view->size <= view->capacity) return;
    breach(guarded->guard, GUARD_LAWS, cache_now(view),
           "%" PRId64 " items are cached and %" PRId64 " in use, but the view says %" PRId64 " and %" PRId64,
           guarded->n_cached, guarded->n_held, view->size, view->held);
}

static void check_reading(const struct guarded *guarded, const void *shown)
{
    const struct power_view *view = shown;
    const struct power_reading *reading = &view->reading;
    if (!isnan(reading->mean_w) && (reading->from_ns >= reading->to_ns || reading->to_ns > view->now_ns))
        breach(guarded->guard, GUARD_LAWS, view->now_ns, "a reading is of a time that has not passed");
}

static const struct view_kind replica_kind = {.more = more_of_replica, .now = first_member, .waiting = waiting_at_replica},
                              fleet_kind = {.more = more_of_fleet, .now = first_member, .waiting = waiting_in_fleet},
                              cluster_kind = {.more = more_of_cluster, .now = first_member, .waiting = waiting_in_cluster},
                              market_kind = {.more = more_of_market, .now = first_member},
                              scaling_kind = {.now = first_member},
                              speculation_kind = {.more = more_of_speculation, .now = first_member},
                              power_kind = {.now = first_member, .check = check_reading},
                              cache_kind = {.now = cache_now, .check = check_cache}, other_kind = {0};

#define KIND_OF(view)                                                                                                  \
    _Generic((view),                                                                                                   \
        const struct replica_view *: &replica_kind,                                                                    \
        const struct fleet_view *: &fleet_kind,                                                                        \
        const struct cluster_view *: &cluster_kind,                                                                    \
        const struct market_view *: &market_kind,                                                                      \
        const struct autoscaling_view *: &scaling_kind,                                                                \
        const struct power_view *: &power_kind,                                                                        \
        const struct cache_view *: &cache_kind,                                                                        \
        const struct speculation_view *: &speculation_kind,                                                            \
        default: &other_kind)

/* --- Calls --- */

/* A call of one of the policy's functions. */
struct call {
    const char *function;
    double returned; /* NAN: nothing */
    struct guard *guard;
    void *state; /* the policy's own */
    const struct view_kind *kind;
    const void *view, *subject; /* shown to the policy; NULL: nothing */
    size_t view_bytes, subject_bytes;
    uint64_t print; /* fingerprint of both, before the call */
};

static uint64_t print_of(const struct call *call)
{
    uint64_t sum = mix(empty_mix, call->view, call->view != NULL ? call->view_bytes : 0);
    if (call->view != NULL && call->kind->more != NULL) sum = call->kind->more(sum, call->view);
    return mix(sum, call->subject, call->subject != NULL ? call->subject_bytes : 0);
}

struct conform_trail *guard_trail(struct guard *guard)
{
    return guard->trail != NULL ? guard->trail : &guard->own_trail;
}

/* What the view shows is noted, so that it can be told if the policy does not return. */
static void note_call(const struct call *call)
{
    struct conform_trail *trail = guard_trail(call->guard);
    const bool decides = call->view == NULL && call->guard->decides_on != NULL;
    const void *view = decides ? call->guard->decides_on : call->view;
    const struct view_kind *kind = decides ? &cluster_kind : call->kind;
    trail_enter(trail, call->function, view != NULL && kind->now != NULL ? kind->now(view) : -1);
    if (view == NULL || kind->waiting == NULL) return;
    int64_t waiting, running;
    kind->waiting(view, &waiting, &running);
    trail_see(trail, waiting, running);
}

/* Another run begins and ends here; it notes its calls in the same place. */
static void interrupt(struct guard *guard)
{
    const struct conform_trail own = *guard_trail(guard);
    guard->interrupt(guard->context);
    *guard_trail(guard) = own;
}

static void begin_call(struct call *call, const void *state)
{
    const struct guarded *guarded = state;
    call->guard = guarded->guard;
    call->state = (void *)(uintptr_t)guarded->inner;
    if (++call->guard->n_calls == call->guard->interrupt_at) interrupt(call->guard);
    if (call->view != NULL && call->kind->check != NULL) call->kind->check(guarded, call->view);
    call->print = print_of(call);
    note_call(call);
}

static void end_call(const struct call *call)
{
    trail_leave(guard_trail(call->guard), call->returned);
    if (print_of(call) == call->print) return;
    const sim_ns now = call->kind->now != NULL ? call->kind->now(call->view) : 0;
    breach(call->guard, GUARD_VIEW, now, "it changed what it was shown");
}

/* RETURN(result, call, expression): returns the expression, whose value is noted unless its type is void. */
#define VOID_OR_NOT_void ~, VOID
#define SECOND(first, second, ...) second
#define PICK(...) SECOND(__VA_ARGS__)
#define JOIN(a, b) JOINED(a, b)
#define JOINED(a, b) a##b
#define RETURN_VOID(result, call, expression) expression
#define RETURN_VALUE(result, call, expression)                                                                         \
    const result value = expression;                                                                                   \
    (call).returned = (double)value;                                                                                   \
    return value
#define RETURN(result, call, expression)                                                                               \
    JOIN(RETURN_, PICK(VOID_OR_NOT_##result, VALUE, ~))(result, call, expression)

/* Every function of every family under watch, with the state of its policy. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define GUARDED(family_struct, need, result, name, parameters, arguments, shown, about)                                \
    static result guarded_##family_struct##_##name parameters                                                          \
    {                                                                                                                  \
        __attribute__((cleanup(end_call))) struct call call = {.function = #name,                                      \
                                                               .returned = (double)NAN,                                \
                                                               .kind = KIND_OF(shown),                                 \
                                                               .view = shown,                                          \
                                                               .view_bytes = sizeof *(shown),                          \
                                                               .subject = about,                                       \
                                                               .subject_bytes = sizeof *(about)};                      \
        begin_call(&call, state);                                                                                      \
        state = call.state;                                                                                            \
        RETURN(result, call, ((const struct family_struct *)(const void *)call.guard->inner)->name arguments);         \
    }
#define GUARDED_FAMILY(id, title, family_struct, functions, ...) functions(GUARDED)
POLICY_FAMILIES(GUARDED_FAMILY)
#pragma GCC diagnostic pop

/* --- Schedulers --- */

static void check_cluster(const struct guarded *guarded, const struct cluster_view *view)
{
    struct guard *guard = guarded->guard;
    sim_ns now = view->now_ns;
    /* jobs may hold shares of GPUs on nodes of their own type */
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

static void counted_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    static const struct {
        int pending, running;
    } effects[] = {[JOB_EVENT_SUBMIT] = {+1, 0}, [JOB_EVENT_START] = {-1, +1}, [JOB_EVENT_PREEMPT] = {+1, -1},
                   [JOB_EVENT_FINISH] = {0, -1}, [JOB_EVENT_RESIZE] = {0, 0}, [JOB_EVENT_SPEED] = {0, 0}};
    struct guarded *guarded = state;
    guarded->n_pending += effects[note->event].pending;
    guarded->n_running += effects[note->event].running;
    guarded->gpus_in_use += effects[note->event].running * note->job->gpus;
    const bool as_asked = note->job->held_gpus == note->job->gpus && note->job->node_type == 0;
    if (note->event == JOB_EVENT_START && !as_asked) guarded->guard->grants_others = true;
    uint64_t mark = mix(empty_mix, &note->job->sequence, sizeof note->job->sequence);
    guarded->running += effects[note->event].running > 0 ? mark : effects[note->event].running < 0 ? -mark : 0;
    check_cluster(guarded, view);
    guarded_scheduler_notify(state, view, note);
}

static int checked_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct guarded *guarded = state;
    struct guard *guard = guarded->guard;
    check_cluster(guarded, view);
    guard->decides_on = view; /* the call itself is watched without its view */
    int code = guarded_scheduler_decide(state, view, plan);
    guard->decides_on = NULL;
    check_cluster(guarded, view);
    if (code < 0 || !guard->ask_twice || view->n_pending > 0) return code;
    uint64_t running = guarded->running;
    code = ((const struct scheduler *)(const void *)guard->inner)->decide(guarded->inner, view, plan);
    if (guarded->running != running)
        breach(guard, GUARD_RESTLESS, view->now_ns, "no job waits, and it preempts running jobs");
    return code;
}

/* --- Evictors --- */

/* A forgotten item counts until the policy's function has returned. */
static int counted_item(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct guarded *guarded = state;
    guarded->n_cached += event == CACHE_INSERT;
    guarded->n_held += (event == CACHE_ACQUIRE) - (event == CACHE_RELEASE);
    const int code = guarded_evictor_notify(state, view, item, event);
    guarded->n_cached -= event == CACHE_FORGET;
    return code;
}

/* --- Laying --- */

/* What the guard counts beyond calls, by the struct of the family. */
static void count_jobs(struct guard *guard, struct scheduler *watched)
{
    watched->notify = counted_notify;
    watched->decide = checked_decide;
    guard->can_ask_twice = true;
}

static void count_items(struct guard *guard, struct evictor *watched)
{
    (void)guard;
    watched->notify = counted_item;
    watched->skips_held = false; /* it counts them */
}

static bool guarded_schedules_ahead(const void *params)
{
    const struct guard *guard = *(struct guard *const *)params;
    return ((const struct batcher *)guard->inner)->schedules_ahead(guard->inner_params);
}

static int64_t guarded_most_output_tokens(const void *params)
{
    const struct guard *guard = *(struct guard *const *)params;
    return ((const struct batcher *)guard->inner)->most_output_tokens(guard->inner_params);
}

/* Counts nothing, and reads the parameters of the batcher itself. */
static void read_parameters(struct guard *guard, struct batcher *watched)
{
    (void)guard;
    if (watched->schedules_ahead != NULL) watched->schedules_ahead = guarded_schedules_ahead;
    if (watched->most_output_tokens != NULL) watched->most_output_tokens = guarded_most_output_tokens;
}

static void count_nothing(struct guard *guard, void *watched)
{
    (void)guard, (void)watched;
}

#define COUNT_OF(watched)                                                                                              \
    _Generic((watched), struct scheduler * : count_jobs, struct evictor * : count_items,                               \
             struct batcher * : read_parameters, default : count_nothing)

#define LAY_FUNCTION(family_struct, need, result, name, ...)                                                           \
    if (watched->name != NULL) watched->name = guarded_##family_struct##_##name;
#define LAY_FAMILY(id, title, family_struct, functions, ...)                                                           \
    static void lay_##family_struct(struct guard *guard)                                                               \
    {                                                                                                                  \
        struct family_struct *watched = &guard->watched.family_struct;                                                 \
        functions(LAY_FUNCTION)                                                                                        \
        COUNT_OF(watched)(guard, watched);                                                                             \
    }
POLICY_FAMILIES(LAY_FAMILY)

static void lay_functions(struct guard *guard)
{
    static void (*const lay[])(struct guard *) = {
#define LAY(id, title, family_struct, ...) [id] = lay_##family_struct,
        POLICY_FAMILIES(LAY)
#undef LAY
    };
    lay[guard->inner->family](guard);
}

void guard_lay(struct guard *guard, struct config_variant *variant)
{
    *guard = (struct guard){.self = guard, .inner = variant->entry, .inner_params = variant->params};
    memcpy(&guard->watched, guard->inner, policy_family_bytes(guard->inner->family));
    guard->watched.policy.state_bytes = sizeof(struct guarded) + guard->inner->state_bytes;
    guard->watched.policy.params = NULL; /* variant->params is the guard */
    guard->watched.policy.params_bytes = 0;
    guard->watched.policy.init = guarded_init;
    guard->watched.policy.fini = guarded_fini;
    lay_functions(guard);
    variant->entry = &guard->watched;
    variant->params = &guard->self;
}

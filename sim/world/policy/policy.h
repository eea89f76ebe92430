/* The policy interfaces: every policy has the same header, every family its own decision. A view in, a decision out.
 *
 * A policy is one file in policies/<family>/ that defines one const struct, listed once in policies/list.h. It keeps no state
 * outside the `state` the world hands it. */
#ifndef ORRERY_WORLD_POLICY_POLICY_H
#define ORRERY_WORLD_POLICY_POLICY_H

#include "sim/core/config/config_field.h"
#include "sim/core/err.h"
#include "sim/world/policy/kv_offload.h"
#include "sim/world/policy/market_view.h"
#include "sim/world/policy/plan.h"
#include "sim/world/policy/power_cap.h"
#include "sim/world/policy/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POLICY_ABI = 2 };

/* X(enum, name of the family in configs and listings) */
#define POLICY_FAMILIES(X)                                                                                             \
    X(POLICY_BATCHING, "batching")                                                                                     \
    X(POLICY_ROUTING, "routing")                                                                                       \
    X(POLICY_KV_OFFLOAD, "kv_offload")                                                                                 \
    X(POLICY_SCHEDULER, "scheduler")                                                                                   \
    X(POLICY_PLACEMENT, "placement")                                                                                   \
    X(POLICY_EVICTION, "eviction")                                                                                     \
    X(POLICY_AUTOSCALING, "autoscaling")                                                                               \
    X(POLICY_POWER_CAP, "power_cap")                                                                                   \
    X(POLICY_CHECKPOINTING, "checkpointing")                                                                           \
    X(POLICY_RENTAL, "rental")

enum policy_family {
#define POLICY_FAMILY_ENUM(id, name) id,
    POLICY_FAMILIES(POLICY_FAMILY_ENUM)
#undef POLICY_FAMILY_ENUM
    POLICY_FAMILY_COUNT
};

/* Knowledge that no real system has; a policy that uses it says so, and the run records it. X(enum, bit, name) */
#define POLICY_ORACLES(X)                                                                                              \
    X(ORACLE_DURATION, 0, "duration")                                                                                  \
    X(ORACLE_OUTPUT, 1, "output tokens")                                                                               \
    X(ORACLE_FUTURE, 2, "future accesses")                                                                             \
    X(ORACLE_MIX, 3, "mix of jobs")

enum policy_oracle {
#define POLICY_ORACLE_ENUM(id, bit, name) id = 1u << (bit),
    POLICY_ORACLES(POLICY_ORACLE_ENUM)
#undef POLICY_ORACLE_ENUM
};

struct policy {
    uint32_t abi, size;                   /* POLICY_ABI, size of the family's struct: append-only */
    enum policy_family family;
    const char *name, *summary, *source;  /* "sjf", one line, the paper or system */
    uint32_t oracle;
    const struct config_field *params;    /* what a scenario may set; NULL: nothing */
    size_t params_bytes;
    size_t state_bytes;                   /* the world allocates, zeroes and frees it */
    int (*init)(void *state, const void *params, struct diag *diag); /* may be NULL */
    void (*fini)(void *state);                                       /* may be NULL */
};

/* The order in which a batcher sees those that are ready to decode, or to go on with their prompt. It shows only where not all
 * of them are always in the same batch. */
enum batch_order {
    BATCH_AS_THEY_COME,     /* back from their batch */
    BATCH_BY_ARRIVAL,       /* equal ones as they come */
    BATCH_BY_ADMISSION,
    BATCH_LEFT_BY_ARRIVAL,  /* those left out of a batch by arrival, behind them the others as they come */
    BATCH_BY_LATEST_TOKEN,  /* who has waited longest since its latest token is first; equal ones as they come */
};

/* The next iteration of a replica, and how long the choice stands. Returns 0 or a negative code. An empty plan (nothing
 * prefilled, nothing decoded) leaves the replica idle until something changes at it.
 *
 * A replica with pipeline stages has as many batches in flight as stages; compose is called whenever there are fewer and
 * something has changed, and sees those that are in none. */
struct batcher {
    struct policy policy;
    int (*compose)(void *state, const struct replica_view *view, struct batch_plan *plan);
    enum batch_order order;
    /* It takes sequences back that are away: those that it evicts to recompute them may go to the host instead, where the
     * service's kv_offload policy says so. */
    bool takes_back;
    /* It takes requests whose prompt was processed elsewhere (replica_view_is_remote). A pool that may be handed some must have
     * such a batcher. */
    bool takes_handed_over;
    /* With it the later pipeline stages batch for themselves, each from a queue of its own, and the first one composes the next
     * batch as soon as it is free, however many are on their way. Of the sequences that decode and wait for such a stage, which
     * the view shows, so many, from the first on, pass it together: at least one. Prompts go before them, in the batches in
     * which they came. No batch of such a pipeline may wait for KV (struct batch_resumption). NULL: as above. */
    int64_t (*pass)(void *state, const struct replica_view *view);
};

/* Where a request's prompt is processed and where it decodes. */
struct route_pair {
    int32_t prompt, decode;
};

/* The replica a request goes to: 0 .. n_replicas - 1. In a service with pools `route` is asked on arrival, of the replicas that
 * may process a prompt, and, by `decode_routing`, when a replica of role prefill has processed it, of those that may decode.
 *
 * A router with `route_pair` chooses both replicas on arrival, of all that there are and whatever their roles; it is not
 * asked again. It returns 0 or a negative code, and may leave `route` NULL. */
struct router {
    struct policy policy;
    int (*route)(void *state, const struct fleet_view *view, const struct request_view *request);
    int (*route_pair)(void *state, const struct fleet_view *view, const struct request_view *request,
                      struct route_pair *pair);
};

/* Where weights, KV cache and hidden states of a replica lie. All may be NULL. */
struct kv_offloader {
    struct policy policy;
    /* Asked once, before a replica starts: fills the plan in and sets in_use, or leaves it as it is. 0 or a negative code. */
    int (*place)(void *state, const struct offload_view *view, struct offload_plan *plan);
    /* The tier that the KV cache of a decoding sequence goes to that a batcher evicts (struct batcher, takes_back): OFFLOAD_HOST, or
     * OFFLOAD_GPU_MEMORY: nowhere, it is computed again, as without this function. */
    enum offload_tier (*evicted)(void *state, const struct offload_view *view, const struct request_view *request);
    /* What `place` goes by under its parameters, bits of enum offload_reads: a scenario that sets anything else is told that it
     * has no effect. NULL: by none of them. */
    uint32_t (*reads)(const void *state);
};

enum job_event {
    JOB_EVENT_SUBMIT,
    JOB_EVENT_START,
    JOB_EVENT_PREEMPT,
    JOB_EVENT_FINISH,
    JOB_EVENT_RESIZE, /* it goes on with other GPUs, as many or not; like the next one only for those who hear the pace */
    JOB_EVENT_PACE    /* it goes on at another speed */
};

struct job_note {
    enum job_event event;
    const struct job_view *job;
    bool forced; /* JOB_EVENT_PREEMPT: not by a plan: a failure or a service took its GPUs */
};

/* Which jobs run. `notify` keeps the scheduler's own index up to date and is called for every change, also for those of
 * its own plans, as soon as they are made; `decide` is called once per moment in which something changed, after all of
 * that moment's changes. */
struct scheduler {
    struct policy policy;
    size_t job_bytes; /* of the scheduler's own state per job (job_view_slot) */
    void (*notify)(void *state, const struct cluster_view *view, const struct job_note *note);
    int (*decide)(void *state, const struct cluster_view *view, struct job_plan *plan); /* 0 or a negative code */
    bool hears_pace;      /* it is notified of JOB_EVENT_RESIZE and JOB_EVENT_PACE */
    bool uses_node_types; /* it starts jobs on further node types; else one that the first can never hold is rejected */
    /* Whether it goes by the GPU time that jobs take (cluster_view.sizes_gpu_s, ORACLE_MIX); asked once, after init. NULL: no. */
    bool (*wants_sizes)(const void *state);
    /* Asked once, before the run: whether its parameters go with the cluster. 0, or what diag_error returns. NULL: they do. */
    int (*prepare)(void *state, const struct cluster_view *view, struct diag *diag);
    /* Called once, after the run: may warn (job_plan_warn), of texts that last as long as the state. NULL: nothing is to be said. */
    void (*finish)(void *state, struct job_plan *plan);
};

/* Which GPUs a job gets. A placer that only counts leaves both functions NULL: its jobs' GPUs are on no node in
 * particular. On an unlimited cluster no placer is asked. */
struct placer {
    struct policy policy;
    /* Whether the job could be placed on an empty cluster; if not, it is rejected when it is submitted. It never asks
     * for more than view->total_gpus. NULL: always. */
    bool (*possible)(void *state, const struct cluster_view *view, const struct job_view *job);
    /* Fills `placement` with nodes that have the GPUs free and returns 1, or 0 when there is no room now. Called only
     * when view->free_gpus suffices. */
    int (*place)(void *state, const struct cluster_view *view, const struct job_view *job, struct placement *placement);
    bool by_node;     /* it goes by what is left of each node (cluster_view.nodes), and places shares of GPUs */
    bool wants_tasks; /* and by the kinds of jobs that the trace has (cluster_view.tasks, ORACLE_MIX) */
};

enum cache_event {
    CACHE_INSERT,  /* a new item: the latest access missed it. Nobody holds it yet */
    CACHE_HIT,     /* the latest access found it; it may be held or not */
    CACHE_ACQUIRE, /* nobody held it, now somebody does: it cannot be evicted */
    CACHE_RELEASE, /* nobody holds it any more: it can be evicted */
    CACHE_FORGET   /* it leaves the cache, as a victim or otherwise; its slot is cleared afterwards */
};

/* Which item of a full cache makes room. `notify` keeps the evictor's own index up to date; `victim` names an item that
 * nobody holds, and is asked only when there is one: CACHE_FORGET of this item follows. Both return a negative code when
 * they fail; an item that is not cached, or that somebody holds, is a policy fault. */
struct evictor {
    struct policy policy;
    size_t item_bytes; /* of the evictor's own state per item (cache_view_slot) */
    int (*notify)(void *state, const struct cache_view *view, int32_t item, enum cache_event event);
    int32_t (*victim)(void *state, const struct cache_view *view);
};

/* How many replicas a service is to have, asked at every multiple of scaling.interval, at time 0 first. Those that are wanted
 * take GPUs as these become free; those that are not finish what they have. Returns 0 or a negative code. */
struct autoscaler {
    struct policy policy;
    int (*decide)(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan);
};

/* What the GPUs of a power domain are held to. Each domain has a state of its own. */
struct power_capper {
    struct policy policy;
    /* Settings in force from the beginning; no reading has come. NULL: none. */
    int (*setup)(void *state, const struct power_view *view, struct power_plan *plan);
    /* Asked when a reading has come. The plan is empty: what it leaves out stays as it is. NULL: never. Both return 0 or a
     * negative code. */
    int (*decide)(void *state, const struct power_view *view, struct power_plan *plan);
};

/* How often a job saves its state. `interval_s` is asked whenever a job starts or gets other GPUs: seconds of work between two
 * saves, taken as at least view->least_interval_s; INFINITY: never. A policy without it takes no checkpoints. */
struct checkpointer {
    struct policy policy;
    double (*interval_s)(void *state, const struct checkpoint_view *view);
};

/* Which GPUs are rented. All functions may be NULL; they return 0 or a negative code. A renter without any leaves the site as it
 * is: its whole cluster is rented from the start of the run to its end. */
struct renter {
    struct policy policy;
    /* Asked once, before the run. */
    int (*prepare)(void *state, const struct market_view *view, struct diag *diag);
    /* What a job rents for itself, which it holds until it is done. Asked when it is submitted. With this function jobs run under no
     * scheduler. */
    int (*rent)(void *state, const struct market_view *view, const struct job_view *job, struct rental *rental);
    /* How many replicas services have, by fleet_plan_set; asked once, before the run. Their GPUs are rented for the whole run. */
    int (*fleet)(void *state, const struct market_view *view, struct fleet_plan *plan, struct diag *diag);
};

/* A list of policies. */
struct policy_table {
    size_t n;
    const struct policy *const *policies;
};

/* The family's name in configs and listings, and the size of its struct. */
const char *policy_family_name(enum policy_family family);

/* The names of the oracle knowledge in this set, separated by commas; "" for none. */
enum { POLICY_ORACLE_CHARS = 64 };
void policy_oracle_names(uint32_t oracle, char names[POLICY_ORACLE_CHARS]);
size_t policy_family_bytes(enum policy_family family);

/* What a plug-in exports under this name: pointers to its policies, ended by NULL. */
typedef const struct policy *const *orrery_policies_fn(void);

/* Stands once in a plug-in, and names its policies: ORRERY_PLUGIN(&smallest_area.policy, &my_router.policy) */
#define ORRERY_PLUGIN(...)                                                                                             \
    orrery_policies_fn orrery_policies;                                                                                \
    __attribute__((visibility("default"))) const struct policy *const *orrery_policies(void)                           \
    {                                                                                                                  \
        static const struct policy *const orrery_plugin_policies[] = {__VA_ARGS__, NULL};                              \
        return orrery_plugin_policies;                                                                                 \
    }

#endif

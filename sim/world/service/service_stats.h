/* Counts of a service: every request that arrived after the warm-up, the output after it, and the work of its replicas
 * over the whole run. */
#ifndef ORRERY_WORLD_SERVICE_SERVICE_STATS_H
#define ORRERY_WORLD_SERVICE_SERVICE_STATS_H

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/world/replica/replica.h"
#include "sim/world/replica/request.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/sink.h"
#include "sim/world/service/session_stats.h"
#include "sim/world/service/slo.h"

#include <stdbool.h>

/* Counts of the requests of a service, or of one class of them. Requests that arrived after the warm-up count, and
 * output after it. */
struct request_stats {
    int64_t arrived, finished, rejected, unfinished;
    int64_t prompt_tokens, output_tokens, preemptions; /* of finished requests */
    int64_t cached_tokens;                           /* of these, found in the prefix cache on first admission */
    int64_t late_finished, late_output_tokens;         /* of requests that finished after the warm-up */
    sim_ns last_token_ns;                              /* of the last of these; 0 before */
    struct distribution queue_s, ttft_s, tpot_s, e2e_s, max_gap_s, norm_s;
    struct slo_counts slo;
};

/* A request that arrived after the warm-up has finished under limits_s[SLO_LIMITS]. Returns 0 or SIM_E_NOMEM.
 * `by_class`: these counts are of a service whose classes count too; its histograms get their values at the end. */
int request_stats_add_finished(struct request_stats *stats, const double *limits_s, const struct request *request,
                               bool by_class, sim_ns now);

/* A request that arrived after the warm-up was rejected. */
void request_stats_add_rejected(struct request_stats *stats, const double *limits_s);

/* A request that is still at its replica at the end of the run, with its generated_tokens and max_gap at `now`. */
void request_stats_add_unfinished(struct request_stats *stats, const double *limits_s, const struct request *request,
                                  sim_ns now);

/* A request has finished after the warm-up. */
void request_stats_add_output(struct request_stats *stats, const struct request *request, sim_ns now);

/* The classes of a service's requests: names from the trace and from slo.classes in one table, and what is counted of
 * each.
 *
 * If neither trace nor SLO names classes, the service has one class without a name, which has no counts of its own. If
 * there are classes, requests without one are of the class "default". */

struct service_class {
    struct request_class view; /* first: a view is the class it belongs to */
    const char *source_name;   /* as interned by the trace; NULL: not yet seen */
    const char *entity;        /* of its metrics: "chat/interactive" */
    bool occurs;               /* a request of it has arrived */
    double limits_s[SLO_LIMITS];
    struct request_stats stats;
};

struct service_classes {
    const char *service; /* its name */
    const char *where;   /* config path of its trace, for findings */
    const struct slo_config *slo;
    struct arena *arena;
    struct diag *diag;
    struct service_class unnamed; /* of a service without classes; its stats stay empty */
    struct service_class *items[SLO_MAX_CLASSES];
    uint16_t n;
    bool are_added; /* to their service (service_classes_add_up) */
    const char *latest_name; /* of the class of the latest request */
    struct service_class *latest;
};

/* The classes of `slo`. The texts and pointers outlive the table. Returns 0 or SIM_E_NOMEM; service_classes_fini also
 * after failure. */
int service_classes_init(struct service_classes *classes, const struct slo_config *slo, const char *service,
                         const char *where, struct arena *arena, struct diag *diag);
void service_classes_fini(struct service_classes *classes);

/* The class of an arriving request, by its interned name in the trace (struct request_record); NULL: unnamed. A new one
 * is added. Returns 0, SIM_E_NOMEM, or SIM_E_DATA with a finding if there are too many. */
int service_classes_find(struct service_classes *classes, const char *name, struct service_class **found);

static inline int service_classes_get(struct service_classes *classes, const char *name, struct service_class **found)
{
    *found = classes->latest;
    return *found != NULL && name == classes->latest_name ? 0 : service_classes_find(classes, name, found);
}

static inline struct service_class *service_class_of(const struct request *request)
{
    return (struct service_class *)(uintptr_t)request->view.request_class;
}

/* The counts of the request's class; NULL in a service without classes. */
static inline struct request_stats *service_class_stats(const struct service_classes *classes,
                                                        const struct request *request)
{
    return classes->n > 0 ? &service_class_of(request)->stats : NULL;
}

/* Adds the histograms of all classes to those of their service. A second call adds nothing. Returns 0 or
 * SIM_E_NOMEM. */
int service_classes_add_up(struct service_classes *classes, struct request_stats *all);

/* Emits request.*, slo.* and service.* metrics of each class. `span_s`: the time that rates are over, the service's, so
 * that those of all classes add up to its own. */
int service_classes_emit(const struct service_classes *classes, double span_s, const struct sink *sink);

struct service_stats {
    struct request_stats requests;
    struct session_stats sessions;
    struct distribution kv_transfer_s;
    int64_t run_finished, run_output_tokens; /* requests, and their tokens, of the whole run */
    int64_t kv_transfer_bytes; /* from replicas of prompts to those that decode, whole run */
    int64_t sequences, sequence_tokens; /* that have finished, of requests with several; whole run */
    struct histogram token_gap_s;
    struct replica_counts work; /* summed over replicas at the end */
    double replicas;  /* weighted by the share of the run in which each held GPUs */
    bool uncalibrated; /* some replica's cost model has no calibrated range */
    double kv_peak_frac;
    int64_t prefix_caches;                   /* replicas that cache prefixes */
    int64_t prefix_blocks, prefix_evictions; /* KV blocks cached at the end, and evicted */
    double in_system_mean;                   /* requests, over the whole run */
    struct work_sums used;             /* summed over replicas: use of their KV caches */
    double flop, peak_flop;            /* of the processed work; peak of the GPUs over their busy time */
    double read_bytes, bandwidth_bytes; /* of the processed work; peak of the memory over the busy time */
    double usd_per_h, late_usd_per_h;  /* of all GPUs, mean over the run and after the warm-up; NAN: not known */
};

int service_stats_init(struct service_stats *stats); /* 0 or SIM_E_NOMEM */
void service_stats_fini(struct service_stats *stats);
int service_stats_merge(struct service_stats *into, const struct service_stats *from); /* 0 or SIM_E_NOMEM */

/* Adds a replica's work at the end, on `gpus` GPUs of this type, held for shares of the run and of its time after the
 * warm-up. */
void service_stats_add_replica(struct service_stats *stats, const struct replica *replica, const struct gpu_spec *gpu,
                               int64_t gpus, double held_frac, double late_held_frac);

/* The time that rates refer to: from the end of the warm-up to the last token. */
double service_stats_span_s(const struct service_stats *stats, sim_ns warmup_ns);

/* Share of the busy time modelled outside the range of the cost model; NAN if there was no busy time or a model has no
 * range. */
double service_stats_extrapolated_frac(const struct service_stats *stats);

/* Emits the speculation.* metrics of a service, or with entity NULL of all. */
int service_stats_emit_speculation(const struct service_stats *stats, const char *entity, const struct sink *sink);

/* Emits every request.*, token.*, slo.*, service.*, replica.*, kv.*, cost.* and model.* metric. */
int service_stats_emit(const struct service_stats *stats, const struct sink *sink, sim_ns warmup_ns, sim_ns end_ns);

#endif

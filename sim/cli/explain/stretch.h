/* What happened on a site in a stretch of time, gathered from the rows of its run: load and throughput of the services
 * against the mean of the run, jobs, and events: commands of the power policy, failures, nodes that go down and come
 * back, replicas that start and stop, jobs that yield. */
#ifndef ORRERY_CLI_EXPLAIN_STRETCH_H
#define ORRERY_CLI_EXPLAIN_STRETCH_H

#include "sim/cli/explain/story.h"
#include "sim/core/tally.h"

/* Counts of a service in the stretch or in the whole run. */
struct stretch_load {
    int64_t arrivals, finished, rejected;
    double tokens;               /* first tokens, and one of each sequence in a decoding iteration; NAN: not known */
    double busy_s, slowed_s;     /* time of its replicas' iterations; of it, what lower clocks added */
    double queue_s, ttft_s;      /* summed over the requests that arrive and are scheduled, have a first token */
    int64_t n_queued, n_answered;
    struct histogram ttft;       /* of these n_answered, in seconds; without buckets before the first one */
};

/* How many there are at both ends, before what happens at these moments; at the end of the run, behind all. */
struct stretch_ends {
    int64_t from, to;
};

struct stretch_service {
    const char *name;
    struct stretch_load in, all;
    struct stretch_ends not_scheduled; /* requests that no batch has taken so far */
    int64_t preempted, restarted;      /* in the stretch: taken out of a batch; sent back by a failed replica */
};

/* Jobs in the stretch. */
struct stretch_jobs {
    int64_t submitted, started, resumed, preempted, interrupted, yielded, ended;
    struct stretch_ends not_started; /* submitted, and neither started for the first time nor rejected nor ended */
};

/* Power of the site: samples in the stretch; mean and highest sample of the whole run. NAN: not known. */
struct stretch_power {
    int64_t n;
    double sum_w, max_w, run_mean_w, run_max_w;
};

struct stretch {
    double from_s, to_s; /* [from, to); to_s is INFINITY until stretch_end if it is the end of the run, which counts */
    struct story story;  /* of no request or job: events of the site, and commands of the power policy */
    struct stretch_service *services;
    size_t n_services, capacity;
    struct stretch_jobs jobs;
    bool has_jobs;
    struct stretch_power power;
};

/* Texts go to the arena. stretch_fini frees the rest. `to_s` INFINITY: up to the end of the run, and with what happens
 * then. */
void stretch_init(struct stretch *stretch, double from_s, double to_s, struct arena *arena);
void stretch_fini(struct stretch *stretch);

/* Receives the rows of the run. Its functions return 0 or SIM_E_NOMEM. */
struct sink stretch_sink(struct stretch *stretch);

/* Iterations with drafts bring more tokens than their rows tell, and those of several sequences tokens of all of them:
 * output tokens of the service are not known. */
void stretch_forget_tokens(struct stretch_service *service);

/* Batches of a replica with pipeline stages overlap: how much of the time it computes is not known. */
void stretch_forget_busy(struct stretch_service *service);

/* Once the run has ended: the events of its commands, and the end of the run as an end of the stretch. Returns 0 or
 * SIM_E_NOMEM. */
int stretch_end(struct stretch *stretch);

#endif

/* The simple processes: Poisson, Gamma renewal, fixed gaps, closed loop. */
#include "traces/generate/arrival.h"

#include "sim/core/mem.h"
#include "traces/stream.h"

#include <gsl/gsl_randist.h>
#include <stdio.h>

int arrivals_create(const struct arrival_process *process, const void *params, const struct source_options *options,
                    struct arrivals **arrivals, struct diag *diag)
{
    int code = process->check != NULL ? process->check(params, options->where, diag) : 0;
    if (code != 0) return code;
    struct arrivals *new = mem_zalloc(1, sizeof *new);
    if (new == NULL) return diag_nomem(diag);
    *new = (struct arrivals){.process = process, .params = params, .seed = options->seed, .run = options->run};
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.arrivals", options->stream);
    rng_init(&new->rng, options->seed, options->run, name, 0);
    new->gsl = rng_gsl(&new->rng);
    new->state = mem_zalloc(1, process->state_bytes > 0 ? process->state_bytes : 1);
    if (new->state == NULL) {
        arrivals_destroy(new);
        return diag_nomem(diag);
    }
    if (process->start != NULL) process->start(new);
    *arrivals = new;
    return 0;
}

void arrivals_destroy(struct arrivals *arrivals)
{
    if (arrivals == NULL) return;
    mem_free(arrivals->state);
    mem_free(arrivals);
}

sim_ns arrivals_next(struct arrivals *arrivals)
{
    arrivals->now_ns = arrivals->process->next(arrivals);
    arrivals->n++;
    return arrivals->now_ns;
}

/* now_ns + gap_s, saturating. */
static sim_ns arrivals_after(const struct arrivals *arrivals, double gap_s)
{
    sim_ns sum;
    return __builtin_add_overflow(arrivals->now_ns, sim_ns_from_s(gap_s), &sum) ? SIM_NS_MAX : sum;
}

int arrivals_out_of_time(const char *where, struct diag *diag)
{
    return diag_error(diag, SIM_E_CONFIG, where,
                      "raise the rate of arrivals, or set a smaller \"count\" or a \"duration\"",
                      "the trace goes on past the 292 years that time covers");
}

#define RATE_PARAM ROW_QUANTITY("rate", rate_per_s, UNIT_RATE, REQUIRED, WITHIN(1e-9, 1e9), "mean arrivals per time")

/* --- poisson --- */

struct poisson_params {
    double rate_per_s;
};

static sim_ns poisson_next(struct arrivals *arrivals)
{
    const struct poisson_params *params = arrivals->params;
    return arrivals_after(arrivals, rng_exponential(&arrivals->rng, 1 / params->rate_per_s));
}

#define ROW_OF struct poisson_params
static const struct config_field poisson_params[] = {RATE_PARAM, {0}};
#undef ROW_OF

static const struct arrival_process arrival_poisson = {.name = "poisson",
                                                .summary = "independent arrivals at a constant rate",
                                                .params = poisson_params,
                                                .params_bytes = sizeof(struct poisson_params),
                                                .next = poisson_next};

/* --- gamma --- */

struct gamma_params {
    double rate_per_s, cv;
};

/* A Gamma distribution of shape k has CV 1 / sqrt(k). */
static sim_ns gamma_next(struct arrivals *arrivals)
{
    const struct gamma_params *params = arrivals->params;
    double shape = 1 / (params->cv * params->cv);
    return arrivals_after(arrivals, gsl_ran_gamma(&arrivals->gsl, shape, 1 / (shape * params->rate_per_s)));
}

#define ROW_OF struct gamma_params
static const struct config_field gamma_params[] = {
    RATE_PARAM,
    ROW_REAL("cv", cv, DEFAULT("1"), WITHIN(0.01, 100),
             "standard deviation of the gaps over their mean; above 1: bursty"),
    {0}};
#undef ROW_OF

static const struct arrival_process arrival_gamma = {.name = "gamma",
                                              .summary = "independent Gamma-distributed gaps of a given CV",
                                              .params = gamma_params,
                                              .params_bytes = sizeof(struct gamma_params),
                                              .next = gamma_next};

/* --- fixed --- */

/* The n-th arrival is at n / rate, rounded once. */
static sim_ns fixed_next(struct arrivals *arrivals)
{
    const struct poisson_params *params = arrivals->params;
    return sim_ns_from_s((double)arrivals->n / params->rate_per_s);
}

static const struct arrival_process arrival_fixed = {.name = "fixed",
                                              .summary = "equal gaps; the first arrival is at 0",
                                              .params = poisson_params,
                                              .params_bytes = sizeof(struct poisson_params),
                                              .next = fixed_next};

/* --- closed --- */

enum { THINK_EXPONENTIAL, THINK_FIXED };

struct closed_params {
    int64_t users;
    sim_ns think_ns;
    int distribution;
};

static double think_mean_s(const struct closed_params *params)
{
    return sim_s_from_ns(params->think_ns);
}

/* The first request of every user, as if all had begun to think at time 0; with a fixed think time the users are
 * spread over it. The n-th smallest of m exponential times lies an exponential time of mean 1 / (m - n) after the
 * one before. */
static sim_ns closed_next(struct arrivals *arrivals)
{
    const struct closed_params *params = arrivals->params;
    arrivals->ended = arrivals->n >= params->users;
    if (arrivals->ended) return SIM_NS_MAX;
    double mean_s = think_mean_s(params), users = (double)params->users, n = (double)arrivals->n;
    if (params->distribution == THINK_FIXED) return sim_ns_from_s(mean_s * n / users);
    return mean_s > 0 ? arrivals_after(arrivals, rng_exponential(&arrivals->rng, mean_s / (users - n))) : 0;
}

static sim_ns closed_think(const struct arrivals *arrivals, int64_t ended_id)
{
    const struct closed_params *params = arrivals->params;
    if (params->distribution == THINK_FIXED || params->think_ns == 0) return params->think_ns;
    struct rng rng;
    rng_init(&rng, arrivals->seed, arrivals->run, "think", (uint64_t)ended_id);
    return sim_ns_from_s(rng_exponential(&rng, think_mean_s(params)));
}

static const char *const think_names[] = {"exponential", "fixed", NULL};

#define ROW_OF struct closed_params
static const struct config_field closed_params[] = {
    ROW_INT("users", users, REQUIRED, WITHIN(1, 1e8), "number of users; each has at most one unfinished request"),
    ROW_TIME("think", think_ns, DEFAULT("0s"), WITHIN(0, 1e8), "mean pause between an answer and the next request"),
    ROW_CHOICE("think_distribution", distribution, DEFAULT("exponential"), think_names, "distribution of the pauses"),
    {0}};
#undef ROW_OF

static const struct arrival_process arrival_closed = {.name = "closed",
                                               .summary = "users that wait for the answer, pause, and send the next request",
                                               .params = closed_params,
                                               .params_bytes = sizeof(struct closed_params),
                                               .next = closed_next,
                                               .think = closed_think};

const struct arrival_process *const arrival_processes[] = {
    &arrival_poisson,   &arrival_gamma,   &arrival_fixed,  &arrival_mmpp,
    &arrival_modulated, &arrival_diurnal, &arrival_closed, NULL};

/* --- Where a generated trace ends --- */

int generate_end_check(const struct generate_end *end, const char *where, struct diag *diag)
{
    if (end->count > 0 || end->duration_ns > 0) return 0;
    const bool is_option = strcmp(where, "--set") == 0; /* of 'orrery trace' */
    return diag_error(diag, SIM_E_CONFIG, where,
                      is_option ? "write --set count=1000, or --set duration=1h"
                                : "write \"count\": 1000, or \"duration\": \"1h\"",
                      "a generated trace needs an end");
}

bool generate_end_reached(const struct generate_end *end, int64_t n, sim_ns arrival_ns)
{
    if (end->count > 0 && n >= end->count) return true;
    return end->duration_ns > 0 && arrival_ns >= end->duration_ns;
}

static double share(double done, double all)
{
    if (all <= 0) return 0;
    return done < all ? done / all : 1;
}

struct source_place generate_end_place(const struct generate_end *end, int64_t n, sim_ns now_ns)
{
    double by_count = share((double)n, (double)end->count);
    double by_time = share((double)now_ns, (double)end->duration_ns);
    return (struct source_place){.row = n, .done_frac = by_count > by_time ? by_count : by_time};
}

/* What `orrery size` looks for: the cheapest fleets that serve a load within an objective. */
#ifndef ORRERY_CLI_SIZE_SIZE_H
#define ORRERY_CLI_SIZE_SIZE_H

#include "sim/catalog/catalog.h"
#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"
#include "sim/core/json_write.h"
#include "sim/core/mem.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_MAX_OBJECTIVES = 16, SIZE_MAX_GPUS = 64 };
enum { SIZE_WANTED = 10 };          /* fleets of the table */
enum { SIZE_MOST_SEQUENCES = 256 }; /* of a replica: the default of most batchers */

enum size_time { SIZE_TTFT, SIZE_TPOT, SIZE_E2E, SIZE_TIMES };

/* "ttft.p99=1s", or of one class "chat:ttft.p99=1s": the quantile of the time over all requests is at most the limit.
 * A request that is rejected or never finishes exceeds every limit. */
struct size_objective {
    const char *class_name; /* NULL: all requests */
    enum size_time time;
    double quantile; /* 0 < quantile <= 1 */
    double limit_s;
    const char *name; /* "ttft p99", "chat: ttft p99" */
};

/* The requests of n that must be within the limit: the least whole number that is at least quantile * n. The product
 * of doubles may be above a whole number that it stands for, as 0.55 * 100 is; that number is meant. */
static inline size_t size_rank(double quantile, size_t n)
{
    return (size_t)ceil(quantile * (double)n * (1.0 - 4.0 * DBL_EPSILON));
}

struct size_gpu {
    const char *name;
    double usd_per_h;
    const char *origin; /* of the price, in words; NULL: not known */
    int64_t slices;     /* of its GPU, of which it is one; 0: a whole GPU */
};

struct size_question {
    const char *llm;
    const char *trace_json;              /* the section "trace" of the service */
    const char *study_trace_json;        /* with an absolute path */
    const char *load_text;               /* the trace or rate, in words */
    const char *command;                 /* what asks this question in a shell */
    const struct option_texts *settings; /* --set */
    const char *prices;                  /* the list of --prices by name; NULL: prices of the hardware files */
    size_t n_objectives, n_gpus, n_unpriced;
    struct size_objective objectives[SIZE_MAX_OBJECTIVES];
    struct size_gpu gpus[SIZE_MAX_GPUS];
    struct size_gpu unpriced[SIZE_MAX_GPUS]; /* `prices` lacks them; at the price of the hardware file */
    int64_t most_gpus;
    bool disaggregated;  /* pools are tried, too */
    bool sure;           /* a fleet must meet the objectives at both ends of the interval, too */
    bool has_experts;    /* the LLM: attention in groups of its own is tried, too */
    int64_t max_context; /* of the LLM, in tokens; 0: not known */
    struct catalog_memory *memory;
    const struct plugins *plugins;
};

/* A batching policy and its token budget; 0: the policy has none. */
struct size_batching {
    const char *policy;
    int64_t token_budget;
    const char *budget_key; /* the parameter with the budget */
    bool shares_iterations; /* prompts and decoding share iterations */
    int64_t max_sequences;  /* 0: the default of the policy */
    const char *capacity;   /* of `trtllm`, with prompts in chunks; else NULL */
};

/* A configuration but for the number of its replicas. */
struct size_option {
    const struct size_gpu *gpu;
    int64_t tensor_parallel, pipeline_parallel;
    int64_t groups; /* of data parallelism: 1, or one per GPU, which then hold the experts together */
    const struct size_batching *batching; /* of each group */
    int64_t prefill_replicas;             /* a pool of its own for prompts; 0: no pools */
    bool is_engines;                      /* the preset of the engine that the settings name has the policy */
};

static inline int64_t size_replica_gpus(const struct size_option *option)
{
    return option->tensor_parallel * option->pipeline_parallel;
}

/* Tokens of an iteration over all groups; 0: the policy has no budget. */
static inline int64_t size_token_budget(const struct size_option *option)
{
    return option->groups * option->batching->token_budget;
}

/* The fewest replicas: with pools, one that decodes. */
static inline int64_t size_first_replicas(const struct size_option *option)
{
    return option->prefill_replicas + 1;
}

/* --- size_space.c --- */

/* Writes all options of the question, in an order of their own, with the batching policies of the engine. `scheduler`:
 * the one in its preset; NULL: not known. `names_engine`: the settings name the engine, so that the policy is left to
 * it. Returns 0 or SIM_E_NOMEM. */
int size_options(const struct size_question *question, const char *scheduler, bool names_engine, struct arena *arena,
                 struct size_option **options, size_t *n);

/* Writes the section "services.llm" of a scenario, or its members that the option decides. */
void size_write_service(const struct size_option *option, int64_t replicas, struct json_writer *json);
void size_write_cluster(const struct size_option *option, int64_t replicas, struct json_writer *json);

/* Loads the scenario with `replicas` replicas. Returns like setup_load; setup_fini may follow. */
int size_load(const struct size_question *question, const struct size_option *option, int64_t replicas,
              struct setup *setup, struct diag *diag);

/* Its parallelism in words: "TP 8 PP 2"; with attention in groups, whose GPUs share the experts, "DP 8 EP 8". */
void size_describe_shape(const struct size_option *option, struct text *text);

/* The option in words: "4 x h100-sxm: 2 replicas, TP 2, vllm-v1 2048". */
void size_describe(const struct size_option *option, int64_t replicas, struct text *text);

/* --- size_warnings.c --- */

enum { SIZE_MAX_WARNINGS = 24 };

/* Warnings of a run. */
struct size_warnings {
    size_t n;
    struct size_warning {
        char code[48], text[512];
        int64_t count;
    } items[SIZE_MAX_WARNINGS];
};

struct answer;
struct warning_row;
struct request_source;

/* Adds the warning, unless it is there already or the answer has it in its own words. */
void size_warnings_take(struct size_warnings *warnings, const struct warning_row *row);

/* Adds what the trace of a service left out or changed, at its end. */
void size_warnings_take_notes(struct size_warnings *warnings, const struct request_source *source, const char *service);

/* Adds "bad-row: service 'llm': bad rows left out, first at FILE:3 (2 times)", a line without its end. */
void size_add_warning(const struct size_warning *warning, struct text *text);

/* Adds a line for each, for programs the list "warnings". Returns 0 or SIM_E_NOMEM. */
int size_warnings_add(const struct size_warnings *warnings, struct answer *answer);

/* --- size_load.c --- */

/* A load that arrives in less time says little: answers that still run do not weigh on it yet. */
enum { SIZE_LEAST_S = 60 };

/* The requests of the trace. */
struct size_requests {
    size_t n, capacity;
    struct size_request {
        int64_t id; /* ascending */
        int32_t prompt_tokens, output_tokens;
        uint32_t objectives; /* bit i: objective i counts it */
        bool is_shared;      /* its prompt may be cached in part */
    } * items;
    double span_s;                       /* first to last arrival */
    double prompt_tokens, output_tokens; /* of all */
    size_t n_warm;                       /* those that arrive after the warm-up: no objective counts others */
    size_t counted[SIZE_MAX_OBJECTIVES]; /* requests that an objective counts */
    size_t n_long[SIZE_MAX_OBJECTIVES];  /* of these, longer than the LLM's context: rejected by every fleet */
    bool is_closed;                      /* arrivals depend on the fleet: only the first ones are here */
    struct size_warnings notes;          /* what the trace left out or changed */
};

/* Reads the trace of a loaded scenario. Returns 0 or a negative code with findings. */
int size_requests_read(const struct size_question *question, const struct setup *setup,
                       const volatile sig_atomic_t *interrupt, struct size_requests *requests, struct diag *diag);
/* The request with this id; NULL: none. */
const struct size_request *size_requests_find(const struct size_requests *requests, int64_t id);
void size_requests_fini(struct size_requests *requests);

/* What the resolved form of a loaded scenario says: the rate of its arrivals if they are drawn and Poisson, whatever
 * settings led to them (0: they are not), and whether the settings name a calibration or a set of kernels in it.
 * Returns 0 or a negative code with findings. */
int size_resolved_find(const struct setup *setup, double *poisson_per_s, bool *names_kernels, struct diag *diag);

/* --- size_bound.c --- */

/* What a closed form says of a GPU, tensor, pipeline and data parallelism. */
struct size_bound {
    double n_prefill, n_decode; /* replicas that prompts and decoding keep busy at least, each alone */
    int limit;                  /* an objective that no number of replicas meets; -1: none */
    double alone_s;             /* of that objective: a lower bound of the quantile */
    bool cannot_run;            /* `why` says what does not fit or cannot be split */
    bool is_wrong;              /* it cannot run by a setting of the question */
    bool has_no_error;          /* the question asks for both ends of the interval, which is not known */
    char why[DIAG_TEXT_CHARS];
    char no_error[DIAG_TEXT_CHARS]; /* why the error of its times is not known; "": it is, or there is no reason */
};

/* Bounds without simulating. Returns 0 or SIM_E_NOMEM. */
int size_bound_find(const struct size_question *question, const struct size_option *option,
                    const struct size_requests *requests, struct size_bound *bound);

/* The least number of replicas of the option; INT64_MAX: no number is enough. */
int64_t size_bound_replicas(const struct size_bound *bound, const struct size_option *option);

/* --- size_try.c --- */

/* Pools of replicas. Without pools all are of the second. */
enum size_pool { SIZE_PREFILL, SIZE_DECODE, SIZE_POOLS };

/* Iterations: with prompts, which may share them with decoding, and of decoding alone. */
enum size_phase { SIZE_WITH_PROMPTS, SIZE_DECODING_ALONE, SIZE_PHASES };

struct size_outcome {
    bool has_run;  /* false: `why` says why */
    bool is_wrong; /* it cannot run by a setting of the question */
    bool meets;
    bool has_no_error; /* it meets all at both ends of the interval, which are its prediction: no error is known */
    int n_simulations; /* that it took, as predicted and at the ends of the interval */
    bool is_cut;       /* ended as soon as an objective was missed for good; values are not known */
    int missed;        /* the first objective that was missed; -1: none */
    double reached_s;  /* cut: what its quantile is at least, by the requests that had ended */
    size_t n_ended;    /* of the requests that it counts */
    double values[SIZE_MAX_OBJECTIVES];
    double extrapolated_frac;
    double kv_peak_frac; /* NAN: not known */
    double busy_frac;    /* share of the time in which replicas compute; NAN: not known */
    double pool_kv_frac[SIZE_POOLS], pool_waiting[SIZE_POOLS]; /* of a whole run: the most sampled at a replica */
    double compute_s[SIZE_POOLS][SIZE_PHASES]; /* of a whole run: the sum over iterations of all replicas */
    int64_t n_rejected;
    int64_t n_preemptions; /* so far, where it is cut */
    double queue_max_s;    /* the longest time until a request was first scheduled */
    char why[DIAG_TEXT_CHARS];
    char engine[DIAG_TEXT_CHARS]; /* where the engine was measured, if not on such a replica; "": nothing to say */
};

/* How a run counts times, and whether it goes on after a miss, so that all values are known. */
struct size_case {
    enum time_case time_case;
    bool is_whole;
    struct size_warnings *warnings; /* takes those of the run; NULL: nobody asks */
};

/* Simulates the option. */
void size_try(const struct size_question *question, const struct size_requests *requests,
              const struct size_option *option, int64_t replicas, struct size_case how,
              const volatile sig_atomic_t *interrupt, struct size_outcome *outcome);

/* As size_try, with the findings. Returns 0 or a negative code. */
int size_try_told(const struct size_question *question, const struct size_requests *requests,
                  const struct size_option *option, int64_t replicas, struct size_case how,
                  const volatile sig_atomic_t *interrupt, struct size_outcome *outcome, struct diag *diag);

/* Whether the first finding is of a setting (--set) that is wrong, and not of an LLM that does not fit. */
bool size_is_wrong(int code, const struct diag *diag);

/* --- size_search.c --- */

/* What a fleet does with times at the slow end of the interval. */
enum size_end { SIZE_END_UNKNOWN, SIZE_END_KEPT, SIZE_END_MISSED };

/* What is known of an option in the end. */
struct size_state {
    struct size_option option;
    struct size_bound bound;
    int64_t replicas;         /* the least that meet the objectives; 0: none found */
    bool is_exact;            /* one replica fewer fails, or a closed form says so */
    struct size_outcome good; /* of `replicas` */
    struct size_outcome bad;  /* of the most replicas that failed; has_run false: none was simulated */
    int64_t bad_replicas;     /* those */
    struct size_outcome slow; /* of the best, at the slow end */
    enum size_end slow_end;   /* of the best; unknown where the error of the times is, and of all others */
    int64_t failed, most;     /* replicas that fail, by a run or a closed form, and that there may be */
};

/* A fleet that has a replica less than the best one, run to its end: as predicted, and where the question asks for
 * both ends of the interval at these, too. */
struct size_fewer {
    bool is_tried; /* false: there is no such fleet */
    struct size_option option;
    int64_t replicas;
    struct size_outcome outcomes[3]; /* by enum time_case; has_run false: not run */
};

struct size_result {
    size_t n;
    struct size_state *states; /* [n] */
    size_t n_best;
    size_t *best;  /* [n_best] the cheapest first */
    bool has_ends; /* of the best one: it ran to both ends of the interval, and the error of its model is known */
    struct size_outcome fast, slow;      /* those runs (sim/catalog/time_error.h) */
    struct size_outcome whole;           /* of the best one, as predicted */
    struct size_fewer fewer[SIZE_POOLS]; /* [0]: one replica less, with pools of those that decode; [1]: for prompts */
    const struct size_state *other;      /* the best with pools if the best one has none, or without; NULL: none */
    struct size_outcome other_fast, other_slow;
    bool has_sure;                    /* the best one misses a limit at an end, or its error is not known: `sure` was
                                       * searched, too */
    struct size_state sure;           /* the best that is known to keep both ends; replicas 0: there is none */
    struct size_state sure_other;     /* of these, the best of the other kind; replicas 0: none was found */
    double sure_open_usd_per_h;       /* as size_open_of_kind, of that kind and any GPU */
    struct size_state sure_alike;     /* the best of that kind with the GPU of `sure`; replicas 0: none was found */
    double sure_alike_open_usd_per_h; /* as size_open_of_kind, of that kind and this GPU */
    int64_t n_runs;                   /* of the search: configurations and numbers of replicas that were tried */
    int64_t n_simulations;       /* in all: of each run that was tried, at the ends of the interval, and for `sure` */
    int64_t n_sweep;             /* runs of a sweep over all options and numbers of replicas */
    size_t n_unfit, n_ruled_out; /* options that cannot hold the LLM, and that a closed form rules out */
    size_t n_uncertain;          /* of all others: options without a known error, where both ends must be kept */
    double poisson_per_s;        /* rate of the arrivals; 0: they are not Poisson */
    bool names_kernels;          /* the settings name a calibration, or a set of its kernels */
    const char *cost_model, *engine; /* of all fleets, by name; engine NULL: the cost model knows no engines */
    const char *scheduler;           /* batching policy in the preset of the engine; NULL: none */
    bool names_engine;               /* the settings name the engine */
    struct size_requests requests;
    struct size_warnings warnings; /* of the run of the best one; without a fleet those of the load */
    const char *trust; /* of the best one: size_find_trust; NULL: there is none */
};

/* Searches. `report` is called after each round with the runs so far; may be NULL. Returns 0 or a negative code with
 * findings. size_result_fini may follow either. */
int size_search(const struct size_question *question, int workers, const volatile sig_atomic_t *interrupt,
                void (*report)(void *context, int64_t n_runs), void *report_context, struct arena *arena,
                struct size_result *result, struct diag *diag);
void size_result_fini(struct size_result *result);

static inline double size_fleet_usd_per_h(const struct size_option *option, int64_t replicas)
{
    return (double)(replicas * size_replica_gpus(option)) * option->gpu->usd_per_h;
}

static inline double size_usd_per_h(const struct size_state *state)
{
    return size_fleet_usd_per_h(&state->option, state->replicas);
}

/* Dollars per million output tokens of the load, in the time in which it arrives; NAN: it arrives at once. */
static inline double size_usd_per_million(const struct size_requests *requests, double usd_per_h)
{
    if (!(requests->span_s > 0) || !(requests->output_tokens > 0)) return (double)NAN;
    return usd_per_h * (requests->span_s / 3600) / (requests->output_tokens / 1e6);
}

/* Whether fleet a comes before b in the answer: a total order. The cheaper comes first; of equal price, the one with
 * more room to its limits, with fewer GPUs, with the GPU whose name comes first, with less tensor, pipeline and data
 * parallelism, with fewer prefill replicas, with the batching whose name comes first, with the smaller budget. */
bool size_is_before(const struct size_question *question, const struct size_state *a, const struct size_state *b);

/* --- size_ends.c --- */

struct map;

/* Runs the best fleets at the slow end, each to its end. Of equal price, those that keep their limits there come
 * first, then those that withstand more of the error. The best are those that size_search kept, by size_is_before: a
 * fleet of equal price that is not among them may keep its limits there. Then runs the best at the fast end and as
 * predicted, fleets with a replica less, and the best of the other kind at both ends. Returns 0 or a negative code. */
int size_ends(const struct size_question *question, struct map *map, struct arena *arena, struct size_result *result,
              struct diag *diag);

/* Runs the fleet `sure` at the slow end. Returns 0 or a negative code. */
int size_end_sure(const struct size_question *question, struct map *map, struct size_result *result, struct diag *diag);

/* The best fleet with pools if the best one has none, or without; of this GPU (NULL: of any). NULL: none was found. */
const struct size_state *size_other_kind(const struct size_question *question, const struct size_result *result,
                                         const struct size_gpu *gpu);

/* The outcome that misses a limit, as predicted or at an end of the interval, and where; NULL: none does. */
const struct size_outcome *size_fewer_miss(const struct size_fewer *fewer, enum time_case *at);

/* "GPU", or "GPUs" of any number but 1. */
static inline const char *size_gpus_word(int64_t n)
{
    return n == 1 ? "GPU" : "GPUs";
}

/* The largest part of a limit that an objective takes in a run, and the objective. */
double size_tightest(const struct size_question *question, const struct size_outcome *outcome, size_t *at);

/* Whether the times of a fleet at an end of the interval differ from its prediction. They are equal where the error of
 * its times is not known. */
bool size_has_error(const struct size_question *question, const struct size_outcome *predicted,
                    const struct size_outcome *end);

/* How much of the model's error to its slow side a fleet withstands: 0 to 1, the share of the way from the prediction
 * to the slow value at which it first misses a limit, and that limit. 1: it misses none there, or the end is not
 * known. */
double size_withstood(const struct size_question *question, const struct size_state *state, size_t *at);

/* A value at the slow end of more than so many times its limit, as of requests in a queue that grows. */
enum { SIZE_SATURATED_TIMES = 10 };

/* Whether a value of the fleet at the slow end is that large. */
bool size_is_saturated(const struct size_question *question, const struct size_state *state);

/* Adds the most in use and in queues of that run, by pools, and its preemptions: "for prompts 100 % of a KV cache
 * in use and 708 requests waiting at one replica; for decoding ...; 12 preemptions; up to 40 s until a request is
 * first scheduled". */
void size_add_saturation(const struct size_state *state, struct text *text);

/* --- size_settings.c --- */

/* Refuses each --set of what the search chooses itself, of what an option of 'size' says, or of another service than
 * "llm". Returns 0, SIM_E_USAGE or SIM_E_NOMEM. */
int size_check_settings(const struct option_texts *settings, struct arena *arena, struct diag *diag);

/* A callback for struct verb: what stands for an option that 'size' lacks. */
enum option_hint size_explain_option(const char *name, char *hint, size_t hint_bytes);

/* --- size_trust.c --- */

/* Writes result->trust: how well the kernels of the best fleet's GPU are predicted, in words, with those of experts if
 * the LLM has any. Only of the shipped calibration are errors known. Returns 0 or SIM_E_NOMEM. */
int size_find_trust(const struct size_question *question, const struct catalog *catalog, struct arena *arena,
                    struct size_result *result);

/* --- size_limits.c --- */

/* What a run of a fleet with a replica less says of the pool that lost it. Shares are of the time of the run. */
struct size_lack {
    const struct size_outcome *outcome;
    enum time_case time_case;
    int objective;       /* the one that it misses */
    bool is_short_of_kv; /* at least 95 % of a KV cache were in use */
    double kv_frac, waiting;
    double busy_frac, prompts_frac, decoding_frac; /* replicas compute; in iterations with prompts, in all others */
};

/* Writes what result->fewer[at] lacks. Returns false if nothing is known. */
bool size_lack_of(const struct size_result *result, size_t at, struct size_lack *lack);

/* Adds what limits the best fleet, without the end of the line. */
void size_add_limit(const struct size_question *question, const struct size_result *result, struct text *text);

/* --- size_json.c --- */

/* Adds what the lines say as fields, for programs. Returns 0 or SIM_E_NOMEM. */
int size_write_fields(const struct size_question *question, const struct size_result *result, struct arena *arena,
                      struct answer *answer);

/* Opens an object of this key (NULL: a row of a list) with the fields of a fleet. The caller closes it. */
void size_open_fleet(const char *key, const struct size_question *question, const struct size_state *state,
                     struct answer *answer);

/* --- size_say.c --- */

/* What a line of the answer is about. */
enum size_topic { SIZE_FLEET, SIZE_LATENCY, SIZE_POOL_LINES, SIZE_TRUST, SIZE_PRICES, SIZE_TOPICS };

/* The answer in lines: the question; the cheapest fleet with its price; where it misses a limit at an end of the
 * interval or its error is not known, the cheapest known to keep both ends; the load; dollars per million output
 * tokens; latencies of the first; the limit that binds; their interval by the error of the cost model; where the
 * price comes from; what pools change, if they were tried, and the latencies with and without; what limits it; how
 * the requests of a rate arrive; how sure this is. Without a fleet the second line says so and is the last. */
enum { SIZE_MAX_LINES = 14 };

struct size_lines {
    size_t n;
    const char *lines[SIZE_MAX_LINES];
    enum size_topic topics[SIZE_MAX_LINES];
    bool failed;
};

/* Writes the lines, in the arena. Returns 0 or SIM_E_NOMEM. */
int size_say(const struct size_question *question, const struct size_result *result, struct arena *arena,
             struct size_lines *lines);

/* "kept" or "missed"; NULL: unknown. In size_answer.c. */
const char *size_end_word(enum size_end end);

/* Adds "440 ms", "1.2 s"; "never" if infinite. */
void size_add_time(double seconds, struct text *text);

/* Adds "ttft p99 440 ms of 1 s". */
void size_add_value(const struct size_question *question, const struct size_outcome *outcome, size_t at,
                    struct text *text);

/* Times at the slow end of the interval, in words. */
#define SIZE_SLOW_SIDE "if the model errs to its slow side"

/* --- size_pools.c --- */

/* Whether prompts and decoding have pools of their own. */
bool size_has_pools(const struct size_state *state);

/* Adds what pools change, without the end of the line: the price with and without, and the reason where they do not
 * pay, or which fleet of equal price comes first. */
void size_add_pools(const struct size_question *question, const struct size_result *result, struct text *text);

/* Adds what pools change of the price of `sure`. */
void size_add_sure_pools(const struct size_result *result, struct text *text);

/* Adds the fleet result->other and its latencies beside those of the best. */
void size_add_pool_values(const struct size_question *question, const struct size_result *result, struct text *text);

/* --- size_others.c --- */

/* All GPUs but that of the best fleet, those with the cheapest fleets first. Returns their number. */
size_t size_order_others(const struct size_question *question, const struct size_result *result,
                         const struct size_gpu *ordered[SIZE_MAX_GPUS]);

/* The fleet of a GPU that the table lists first, else the cheapest found, NULL if none; and the least price of a fleet
 * of it that was not tried, INFINITY if all were. */
const struct size_state *size_find_other(const struct size_question *question, const struct size_result *result,
                                         const struct size_gpu *gpu, double *open_usd_per_h);

/* Adds that the list of --prices lacks this GPU, and its price without the list, as a line without its end. */
void size_add_unpriced(const struct size_question *question, const struct size_gpu *gpu, struct text *text);

/* The least price of a fleet of this GPU (NULL: of any) with pools, or without, that was not tried; INFINITY: all
 * were. */
double size_open_of_kind(const struct size_result *result, const struct size_gpu *gpu, bool has_pools);

/* Adds that fleet, or why there is none, as a line without its end. */
void size_add_other(const struct size_question *question, const struct size_result *result, const struct size_gpu *gpu,
                    struct text *text);

/* --- size_answer.c --- */

/* Prints the answer. Returns 0 or a negative code. */
int size_answer(const struct size_question *question, const struct size_result *result, int form, struct arena *arena,
                FILE *out, struct diag *diag);

/* --- size_page.c --- */

/* Adds the answer as a page of HTML, which needs no other file. Returns 0 or SIM_E_NOMEM. */
int size_page(const struct size_question *question, const struct size_result *result, struct arena *arena,
              struct text *html);

/* --- size_study.c --- */

/* "FILE.scenario.json" for "FILE.json". In the arena; NULL when out of memory. */
const char *size_scenario_path(const char *path, struct arena *arena);

/* Writes a study of the best options to `path`, and its scenario beside it. Returns 0 or a negative code. */
int size_write_study(const struct size_question *question, const struct size_result *result, const char *path,
                     struct arena *arena, struct diag *diag);

#endif

/* How many replicas a load needs at least, from the cost of iterations alone.
 *
 * Latency: a request is not faster than alone on a replica. Its time to first token is at least that of its prompt in
 * one iteration, its time per token at least that of decoding alone.
 *
 * Work: the share of requests that must be in time needs replica time. Prompts take at least the best time per token
 * of any chunk. Tokens take at least their share of the best batch that fits into the KV cache and keeps to the limit
 * on the time per token. Requests of the warm-up need not be in time. n replicas have n times the span of the arrivals
 * and the limits. Where prompts and decoding share iterations, the larger of both counts, else the sum.
 *
 * The costs are not quite monotone (waves of tiles, kernels chosen by size), so every bound is taken times SLACK. */
#include "sim/catalog/cost.h"
#include "sim/catalog/time_error.h"
#include "sim/cli/size/size.h"
#include "sim/core/real_list.h"
#include "sim/core/units.h"
#include "sim/world/policy/speculation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SLACK = 0.9;

/* A replica of the option, its model, and what fits into it. */
struct replica_model {
    struct setup setup;
    struct time_error error; /* of a run's times */
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct iteration_model model;
    double kv_tokens;
    int64_t groups; /* of data parallelism, each with sequences of its own */
    double most_tokens; /* of a sequence in one iteration: more than 1 with drafts */
};

static int build(const struct size_question *question, const struct size_option *option, struct replica_model *replica,
                 struct diag *diag)
{
    struct size_option alone = *option;
    alone.prefill_replicas = 0;
    int code = size_load(question, &alone, 1, &replica->setup, diag);
    if (code != 0) return code;
    struct arena *arena = &replica->setup.arena;
    const struct service_config *service = scenario_service(&replica->setup.scenario, 0);
    const struct pool_config pool = service_pool(service, 0);
    replica->groups = llm_groups(pool.data_parallel);
    replica->most_tokens = service->speculation.entry != NULL ? 1 + SPECULATION_MAX_DEPTH : 1;
    code = catalog_gpu(&replica->setup.catalog, option->gpu->name, "--gpu", arena, &replica->gpu, diag);
    if (code == 0) code = service_llm(service, &replica->setup.catalog, "LLM", arena, &replica->llm, diag);
    if (code != 0) return code;
    const struct cluster_section *cluster = &replica->setup.scenario.cluster;
    const int64_t per_node = cluster_config_gpus_per_node(&cluster->nodes, option->gpu->name);
    replica->kv_tokens = (double)(pool_kv_blocks(&pool, &replica->gpu, &replica->llm) * pool.kv.block_tokens);
    const struct cost_request request = {.catalog = &replica->setup.catalog,
                                         .gpu = &replica->gpu,
                                         .llm = &replica->llm,
                                         .tensor_parallel = pool.tensor_parallel,
                                         .pipeline_parallel = pool.pipeline_parallel,
                                         .data_parallel = pool.data_parallel,
                                         .nodes = pool_nodes(&pool, per_node, &cluster->links.network),
                                         .host_waits = pool_host_waits(service, &pool),
                                         .where = "cost",
                                         .arena = arena,
                                         .diag = diag};
    code = cost_build(&pool.cost, &request, &replica->model);
    if (code == 0) code = cost_time_error(&pool.cost, &request, &replica->model, &replica->error);
    if (code != 0 || replica->kv_tokens > 0) return code;
    const int64_t gpus = size_replica_gpus(option);
    return diag_error(diag, SIM_E_UNFIT, NULL, NULL,
                      "%lld GPU%s ha%s %.4g GB: no KV cache fits beside %.4g GB of weights and the activations",
                      (long long)gpus, gpus == 1 ? "" : "s", gpus == 1 ? "s" : "ve",
                      (double)gpus * replica->gpu.memory_bytes * pool.kv.usable_frac / 1e9,
                      pool_weight_bytes(&pool, &replica->llm) / 1e9);
}

/* `prompts` equal prompts in one iteration. */
static double prefill_s(const struct iteration_model *model, int64_t prompts, double tokens)
{
    const struct iteration_work work = {.prefill_sequences = prompts,
                                        .prefill_tokens = prompts * (int64_t)tokens,
                                        .prefill_pairs = (double)prompts * tokens * tokens};
    struct iteration_cost cost;
    model->cost(model->model, &work, &cost);
    return cost.first_s;
}

static double decode_s(const struct iteration_model *model, int64_t sequences, double context_tokens)
{
    const struct iteration_work work = {.decode_sequences = sequences,
                                        .decode_context_tokens = (int64_t)((double)sequences * context_tokens)};
    struct iteration_cost cost;
    model->cost(model->model, &work, &cost);
    return cost.first_s;
}

/* The least time of a request that is alone. */
static double alone_s(const struct replica_model *replica, const struct size_request *request, enum size_time time)
{
    const double prompt_s = prefill_s(&replica->model, 1, request->is_shared ? 1 : request->prompt_tokens);
    const double token_s = decode_s(&replica->model, 1, request->prompt_tokens) / replica->most_tokens;
    if (time == SIZE_TTFT) return prompt_s;
    if (time == SIZE_TPOT) return token_s;
    return prompt_s + (double)(request->output_tokens - 1) * token_s;
}

/* Whether more requests exceed the limit, each alone, than the quantile allows. */
static bool is_ruled_out(const struct size_question *question, const struct size_requests *requests,
                         const struct replica_model *replica, size_t at)
{
    const struct size_objective *objective = &question->objectives[at];
    const size_t n = requests->counted[at];
    size_t n_over = 0;
    for (size_t i = 0; i < requests->n; i++) {
        const struct size_request *request = &requests->items[i];
        if ((request->objectives >> at & 1) == 0) continue;
        n_over += SLACK * alone_s(replica, request, objective->time) > objective->limit_s;
    }
    return n_over > n - size_rank(objective->quantile, n);
}

/* A lower bound of the objective's quantile: that of requests which are alone. NAN when out of memory. */
static double alone_quantile_s(const struct size_question *question, const struct size_requests *requests,
                               const struct replica_model *replica, size_t at)
{
    const struct size_objective *objective = &question->objectives[at];
    double *times = mem_zalloc(requests->n + 1, sizeof *times), value;
    size_t n = 0;
    if (times == NULL) return (double)NAN;
    for (size_t i = 0; i < requests->n; i++)
        if ((requests->items[i].objectives >> at & 1) != 0)
            times[n++] = SLACK * alone_s(replica, &requests->items[i], objective->time);
    qsort(times, n, sizeof *times, real_compare);
    const size_t rank = size_rank(objective->quantile, n);
    value = times[rank > 0 ? rank - 1 : 0];
    mem_free(times);
    return value;
}

static int compare_tokens(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The tokens of the shortest `share` of the requests. */
static double least_tokens(const struct size_requests *requests, bool is_prompt, double share, int32_t *sorted)
{
    double sum = 0;
    for (size_t i = 0; i < requests->n; i++) {
        const struct size_request *request = &requests->items[i];
        sorted[i] = is_prompt ? request->is_shared ? 1 : request->prompt_tokens : request->output_tokens - 1;
    }
    qsort(sorted, requests->n, sizeof *sorted, compare_tokens);
    for (size_t i = 0; i < (size_t)(share * (double)requests->n); i++) sum += sorted[i];
    return sum;
}

/* The best time per token of a prompt: each group has one at a time. */
static double best_prefill_s(const struct replica_model *replica)
{
    double best = (double)INFINITY;
    const double groups = (double)replica->groups;
    for (double tokens = 128; tokens <= 16384; tokens *= 2)
        best = fmin(best, prefill_s(&replica->model, replica->groups, tokens) / (groups * tokens));
    return best;
}

/* The best time per token of a batch, of those whose iterations keep to the limit. */
static double best_decode_s(const struct replica_model *replica, double context_tokens, double limit_s)
{
    double best = (double)INFINITY;
    for (int64_t n = 1; n <= SIZE_MOST_SEQUENCES * replica->groups; n *= 2) {
        const double step_s = decode_s(&replica->model, n, context_tokens);
        const bool is_too_slow = SLACK * step_s > replica->most_tokens * limit_s;
        if (n > 1 && ((double)n * context_tokens > 2 * replica->kv_tokens || is_too_slow)) break;
        best = fmin(best, step_s / ((double)n * replica->most_tokens));
    }
    return best;
}

/* The tightest objective over all requests on one time. */
static const struct size_objective *find_limit(const struct size_question *question, enum size_time time)
{
    const struct size_objective *found = NULL;
    for (size_t i = 0; i < question->n_objectives; i++) {
        const struct size_objective *objective = &question->objectives[i];
        if (objective->class_name != NULL || objective->time != time) continue;
        if (found == NULL || objective->limit_s < found->limit_s) found = objective;
    }
    return found;
}

/* Replicas that prompts and decoding keep busy, each alone. */
static int find_work(const struct size_question *question, const struct size_requests *requests,
                     const struct replica_model *replica, double *n_prefill, double *n_decode)
{
    const struct size_objective *ttft = find_limit(question, SIZE_TTFT), *tpot = find_limit(question, SIZE_TPOT);
    const struct size_objective *e2e = find_limit(question, SIZE_E2E);
    *n_prefill = *n_decode = 0;
    int32_t *sorted = mem_zalloc(requests->n, sizeof *sorted);
    if (sorted == NULL) return SIM_E_NOMEM;
    double share = ttft != NULL ? ttft->quantile : e2e != NULL ? e2e->quantile : 0;
    const double wait_s = ttft != NULL ? ttft->limit_s : e2e != NULL ? e2e->limit_s : (double)INFINITY;
    const double warm_frac = (double)requests->n_warm / (double)requests->n;
    const double prompts = least_tokens(requests, true, share * warm_frac, sorted);
    if (share > 0) *n_prefill = SLACK * prompts * best_prefill_s(replica) / (requests->span_s + wait_s);
    share = fmax(0, share + (tpot != NULL ? tpot->quantile : 1) - 1); /* in time in both */
    const double tokens = least_tokens(requests, false, share * warm_frac, sorted);
    const double longest = requests->n > 0 ? sorted[requests->n - 1] : 0;
    const double last_s = e2e != NULL    ? e2e->limit_s
                          : tpot != NULL ? wait_s + longest * tpot->limit_s
                                         : (double)INFINITY;
    const double context = least_tokens(requests, true, 1, sorted) / (double)requests->n;
    const double step_s = tpot != NULL ? tpot->limit_s : (double)INFINITY;
    if (share > 0 && isfinite(last_s))
        *n_decode = SLACK * tokens * best_decode_s(replica, fmax(1, context / 2), step_s) / (requests->span_s + last_s);
    mem_free(sorted);
    return 0;
}

int64_t size_bound_replicas(const struct size_bound *bound, const struct size_option *option)
{
    if (bound->cannot_run || bound->has_no_error || bound->limit >= 0) return INT64_MAX;
    if (option->prefill_replicas > 0) {
        const double decode = fmax(1, ceil(bound->n_decode));
        return (double)option->prefill_replicas < bound->n_prefill ? INT64_MAX
                                                                   : option->prefill_replicas + (int64_t)decode;
    }
    const bool shares_iterations = option->batching->shares_iterations;
    const double busy = shares_iterations ? fmax(bound->n_prefill, bound->n_decode)
                                          : bound->n_prefill + bound->n_decode;
    return busy > 1 ? (int64_t)ceil(busy) : 1;
}

int size_bound_find(const struct size_question *question, const struct size_option *option,
                    const struct size_requests *requests, struct size_bound *bound)
{
    struct replica_model replica;
    struct diag diag;
    diag_init(&diag);
    *bound = (struct size_bound){.limit = -1};
    int code = build(question, option, &replica, &diag);
    if (code == SIM_E_UNFIT || code == SIM_E_CONFIG || code == SIM_E_USAGE) {
        bound->cannot_run = true;
        bound->is_wrong = size_is_wrong(code, &diag);
        snprintf(bound->why, sizeof bound->why, "%s", diag.n_items > 0 ? diag.items[0].text : sim_err_text(code));
        code = 0;
    } else if (code == 0) {
        code = find_work(question, requests, &replica, &bound->n_prefill, &bound->n_decode);
        snprintf(bound->no_error, sizeof bound->no_error, "%s", replica.error.why != NULL ? replica.error.why : "");
        bound->has_no_error = question->sure && replica.error.basis == NULL;
        for (size_t i = 0; code == 0 && i < question->n_objectives && bound->limit < 0; i++)
            if (is_ruled_out(question, requests, &replica, i)) bound->limit = (int)i;
        if (code == 0 && bound->limit >= 0)
            bound->alone_s = alone_quantile_s(question, requests, &replica, (size_t)bound->limit);
        if (isnan(bound->alone_s)) code = SIM_E_NOMEM;
    }
    setup_fini(&replica.setup);
    return code;
}

/* Random scenarios for the naive simulator, the same as Orrery reads them, and the comparison of both. */
#include "tests/oracle/naive_cases.h"

#include "models/failure.h"
#include "sim/core/text.h"
#include "sim/world/replica/sequence_group.h"
#include "sim/world/replica/speculation.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* --- Random scenarios --- */

int naive_between(struct rng *rng, int low, int high)
{
    return low + (int)rng_below(rng, (uint64_t)(high - low + 1));
}

bool naive_one_in(struct rng *rng, int n)
{
    return rng_below(rng, (uint64_t)n) == 0;
}

static struct naive_terms random_terms(struct rng *rng)
{
    return (struct naive_terms){.fixed = naive_between(rng, 1, 9000000), .token = naive_between(rng, 0, 50000),
                                .sequence = naive_between(rng, 0, 20000), .context = naive_between(rng, 0, 300),
                                .pair = naive_between(rng, 0, 9)}; /* whole nanoseconds */
}

/* Alone, in bursts, and two at the same time. */
static void random_requests(struct naive_scenario *s, struct rng *rng)
{
    int64_t now_ns = 0;
    double gap_ms = rng_uniform(rng) * 60;
    bool burst = naive_one_in(rng, 4);
    int longest = naive_between(rng, 1, 150);
    s->n = naive_between(rng, 1, 60);
    for (int i = 0; i < s->n; i++) {
        if (!burst && !naive_one_in(rng, 5)) now_ns += (int64_t)(rng_exponential(rng, gap_ms) * 1e6);
        s->requests[i] = (struct naive_request){.arrival_ns = now_ns, .prompt = naive_between(rng, 1, longest),
                                                .output = naive_one_in(rng, 6) ? 1 : naive_between(rng, 1, 60)};
    }
}

void naive_random_scenario(struct naive_scenario *s, enum naive_kind kind, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, (uint32_t)kind, "differential", 0);
    memset(s, 0, sizeof *s);
    s->kind = kind;
    random_requests(s, &rng);
    s->routing = (enum naive_routing)naive_between(&rng, NAIVE_ROUND_ROBIN, NAIVE_GIVEN);
    s->replicas = naive_one_in(&rng, 2) ? 1 : naive_between(&rng, 1, 4);
    s->stages = naive_one_in(&rng, 2) ? 1 : naive_between(&rng, 2, NAIVE_STAGES);
    s->block_tokens = naive_one_in(&rng, 3) ? 1 : naive_one_in(&rng, 3) ? naive_between(&rng, 2, 32) : 16;
    s->blocks = (naive_one_in(&rng, 2) ? naive_between(&rng, 100, 260) : naive_between(&rng, 200, 2000)) /
                    s->block_tokens +
                2;
    s->max_sequences = naive_between(&rng, 1, 40);
    s->max_tokens = naive_between(&rng, kind == NAIVE_VLLM_V0 ? 8 : s->max_sequences, 400);
    s->reservation = (enum naive_reservation)naive_between(&rng, NAIVE_MAX, NAIVE_ORACLE);
    s->max_context = NAIVE_MAX_CONTEXT;
    s->watermark_blocks = naive_one_in(&rng, 2) ? 0 : (int64_t)rng_below(&rng, (uint64_t)s->blocks / 4 + 1);
    s->padded = naive_one_in(&rng, 2);
    s->prefill = random_terms(&rng);
    s->decode = random_terms(&rng);
}

/* --- The same scenario as Orrery reads it --- */

static void add_terms(struct text *text, const char *phase, const struct naive_terms *terms, int stages)
{
    text_printf(text, "'%s': {'fixed': '%.0fns', 'per_token': '%.0fns', 'per_sequence': '%.0fns',", phase,
                terms->fixed * stages, terms->token * stages, terms->sequence * stages);
    text_printf(text, " 'per_context_token': '%.0fns', 'per_pair': '%.0fns'}", terms->context * stages,
                terms->pair * stages);
}

static void add_batching(struct text *text, const struct naive_scenario *s)
{
    static const char *const policies[] = {[NAIVE_VLLM_V0] = "vllm-v0",
                                           [NAIVE_VLLM_V1] = "vllm-v1",
                                           [NAIVE_SARATHI] = "sarathi",
                                           [NAIVE_ORCA] = "orca",
                                           [NAIVE_FASTER_TRANSFORMER] = "fastertransformer"};
    static const char *const tokens[] = {[NAIVE_VLLM_V0] = "max_batched_tokens",
                                         [NAIVE_VLLM_V1] = "token_budget",
                                         [NAIVE_SARATHI] = "token_budget",
                                         [NAIVE_ORCA] = "max_tokens",
                                         [NAIVE_FASTER_TRANSFORMER] = "max_tokens"};
    static const char *const reservations[] = {"max", "pow2", "oracle"};
    double watermark = s->watermark_blocks > 0 ? ((double)s->watermark_blocks + 0.5) / (double)s->blocks : 0;
    text_printf(text, "'batching': {'policy': '%s', 'max_sequences': %d, '%s': %d", policies[s->kind], s->max_sequences,
                tokens[s->kind], s->max_tokens);
    if (s->by_priority) text_printf(text, ", 'order': 'priority', 'priorities': {'default': 1, 'batch': 2}");
    if (s->kind == NAIVE_VLLM_V0)
        text_printf(text, ", 'padded': %s, 'preemption': '%s'", s->padded ? "true" : "false",
                    s->swap ? "swap" : "recompute");
    if (s->kind == NAIVE_VLLM_V0 || s->kind == NAIVE_SARATHI) text_printf(text, ", 'watermark': %.15f", watermark);
    if (s->kind == NAIVE_ORCA || s->kind == NAIVE_FASTER_TRANSFORMER)
        text_printf(text, ", 'reservation': '%s'", reservations[s->reservation]);
    text_printf(text, "}, ");
}

/* Chance and the KV cache are for the engine alone to know: it gives its choice to the naive simulator. */
static const char *routing_of(const struct naive_scenario *s)
{
    static const char *const given[] = {"'random'", "'power-of-two'", "'least-kv'"};
    switch (s->routing) {
    case NAIVE_ROUND_ROBIN: return "'round-robin'";
    case NAIVE_LEAST_OUTSTANDING: return "'least-outstanding'";
    case NAIVE_LEAST_WAITING: return "{'policy': 'least-outstanding', 'count': 'queued'}";
    case NAIVE_LEAST_TOKENS: return "'jsq-tokens'";
    case NAIVE_GIVEN: return given[s->n % 3];
    }
    return "";
}

static int stages_in(const struct naive_scenario *s, bool decodes)
{
    return decodes && s->decode_stages > 0 ? s->decode_stages : s->stages;
}

static void add_scaling(struct text *text, const struct naive_scaling *scaling)
{
    text_printf(text,
                "'scaling': {'policy': {'policy': 'target-outstanding', 'target': %d, 'tolerance': 0, 'down_window':"
                " '0s'}, 'min': %d, 'max': %d, 'interval': '%lldns', 'start_delay': '%lldns'}",
                scaling->target, scaling->min, scaling->max, (long long)scaling->interval_ns,
                (long long)scaling->delay_ns);
}

static void add_pool(struct text *text, const struct naive_scenario *s, bool decodes)
{
    const struct naive_site *site = s->site;
    const struct naive_scaling *scaling = site != NULL && site->scaling[decodes].max > 0 ? &site->scaling[decodes]
                                                                                         : NULL;
    const int replicas = decodes ? s->replicas - s->prefill_replicas : s->prefill_replicas;
    text_printf(text, "'%s': {'role': '%s', 'replicas': %d", decodes ? "tokens" : "prompts",
                decodes ? "decode" : "prefill", scaling != NULL ? scaling->start : replicas);
    if (scaling != NULL) text_printf(text, ", ");
    if (scaling != NULL) add_scaling(text, scaling);
    if (site != NULL)
        text_printf(text, ", 'tensor_parallel': %d, 'data_parallel': %d, 'pipeline_parallel': %d",
                    decodes ? site->decode_gpus : site->gpus, decodes ? site->decode_groups : site->groups,
                    stages_in(s, decodes));
    text_printf(text, "}");
}

/* Prompts in one pool, decoding in another. */
static void add_pools(struct text *text, const struct naive_scenario *s)
{
    text_printf(text, "'pools': {");
    add_pool(text, s, false);
    text_printf(text, ", ");
    add_pool(text, s, true);
    text_printf(text, "}, 'decode_routing': 'least-outstanding', 'kv_transfer': {'start': '%s'",
                s->push ? "push" : "pull");
    if (s->site == NULL) text_printf(text, ", 'bandwidth': '%.17gB/s'", NAIVE_TOKEN_BYTES * 1e9 / s->kv_token_ns);
    text_printf(text, "}, ");
}

static void add_cluster(struct text *text, const struct naive_scenario *s)
{
    const struct naive_site *site = s->site;
    text_printf(text, "'cluster': {'nodes': %d, 'gpus_per_node': %d, 'gpu': 'a100-80-sxm'",
                site != NULL ? site->nodes : 1, site != NULL ? site->node_gpus : 24);
    if (s->swap)
        text_printf(text, ", 'pcie': '%.17gB/s'",
                    NAIVE_TOKEN_BYTES * 1e9 * s->block_tokens / (double)(s->copy_block_ns * s->stages));
    if (site != NULL) {
        text_printf(text,
                    ", 'pcie': '%.17gGB/s', 'network': {'bandwidth': '%.17gGB/s', 'per': '%s', 'latency': '%lldns'",
                    site->port, site->adapter, site->adapter_per_node ? "node" : "gpu", (long long)site->latency_ns);
        if (site->fabric > 0) text_printf(text, ", 'fabric': '%.17gGB/s'", site->fabric);
        text_printf(text, "}");
    }
    text_printf(text, "}, ");
}

/* Causes are named a and b. */
static void add_failures(struct text *text, const struct naive_site *site)
{
    text_printf(text, "'seed': %llu, 'failures': {'nodes_per_switch': %d, 'causes': {", (unsigned long long)site->seed,
                site->causes[0].nodes_each);
    for (int i = 0; i < site->n_causes; i++)
        text_printf(text,
                    "%s'%c': {'scope': '%s', 'lifetime': {'mean': '%lldns'}, 'repair': {'law': 'constant',"
                    " 'mean': '%lldns'}}",
                    i > 0 ? ", " : "", 'a' + i, site->causes[i].of_gpus ? "gpu" : "switch",
                    (long long)site->causes[i].mean_ns, (long long)site->causes[i].repair_ns);
    text_printf(text, "}}, ");
}

int64_t naive_life_ns(const struct naive_site *site, int cause, int component, int n)
{
    const double mean_s = (double)site->causes[cause].mean_ns / 1e9;
    const struct lifetime lifetime = {.kind = LIFETIME_EXPONENTIAL, .mean_s = mean_s};
    struct rng rng;
    rng_init(&rng, site->seed, 0, cause == 0 ? "failure.cause.a" : "failure.cause.b",
             (uint64_t)component << 24 | (unsigned)n);
    const int64_t life_ns = llrint(lifetime_quantile_s(&lifetime, rng_uniform(&rng)) * 1e9);
    return life_ns > 0 ? life_ns : 1;
}

/* The draft LLM is named for its cost only. */
static void add_speculation(struct text *text, const struct naive_speculation *speculation)
{
    if (speculation->tokens > 0)
        text_printf(text,
                    "'speculation': {'policy': 'eagle', 'depth': %d, 'branches': %d, 'tokens': %d, 'shape': '%s'}, ",
                    speculation->drafts, speculation->branches, speculation->tokens,
                    speculation->is_likeliest ? "likeliest" : "eagle-2");
    else
        text_printf(text, "'speculation': {'policy': 'fixed', 'drafts': %d}, ", speculation->drafts);
    text_printf(text, "'acceptance': {'rates': [");
    for (int i = 0; i < speculation->n_rates; i++)
        text_printf(text, "%s%.17g", i > 0 ? ", " : "", speculation->rates[i]);
    text_printf(text, "]");
    if (speculation->tokens > 0) text_printf(text, ", 'rank_power': %.17g", speculation->rank_power);
    text_printf(text, "}, 'draft': {'pass_overhead': '%lldns', 'sequence_overhead': '%lldns'",
                (long long)speculation->pass_ns, (long long)speculation->sequence_ns);
    if (speculation->tokens == 0) {
        text_printf(text, ", 'llm': 'llama-2-7b', 'cost': {'kind': 'affine', ");
        add_terms(text, "prefill", &speculation->prefill, 1);
        text_printf(text, ", ");
        add_terms(text, "decode", &speculation->decode, 1);
        text_printf(text, "}");
    }
    text_printf(text, "}, ");
}

/* --- Trees of drafts, level by level --- */

enum { MOST_BRANCHES = 5, MOST_DEPTH = 5, MOST_CANDIDATES = 600 };

struct candidate {
    int depth, parent; /* of a likeliest tree: number of the parent in its level; 0: the newest token */
    double kept;
};

static int by_kept(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->kept != y->kept) return x->kept < y->kept ? 1 : -1;
    return x->depth - y->depth;
}

static double rate_of(const struct naive_speculation *speculation, int depth, int rank)
{
    const double first = speculation->rates[depth < speculation->n_rates ? depth - 1 : speculation->n_rates - 1];
    if (rank == 1 || first <= 0.0) return rank == 1 ? first : 0.0;
    return (1.0 - first) * (pow(rank - 1, -speculation->rank_power) - pow(rank, -speculation->rank_power));
}

/* The candidates of all levels, best first: behind the best ones of each level, or behind all. Returns how many. */
static int rank_candidates(const struct naive_speculation *speculation, struct candidate *all)
{
    static const struct candidate newest = {0, 0, 1.0};
    const struct candidate *above = &newest;
    int n = 0, n_extended = 1;
    for (int depth = 1; depth <= speculation->drafts; depth++) {
        struct candidate *level = &all[n];
        int n_level = 0;
        for (int i = 0; i < n_extended; i++)
            for (int rank = 1; rank <= speculation->branches; rank++)
                level[n_level++] =
                    (struct candidate){depth, i, above[i].kept * rate_of(speculation, depth, rank)};
        qsort(level, (size_t)n_level, sizeof *level, by_kept);
        n_extended = speculation->is_likeliest || n_level < speculation->branches ? n_level : speculation->branches;
        above = level;
        n += n_level;
    }
    qsort(all, (size_t)n, sizeof *all, by_kept);
    return n;
}

/* Sets the acceptance of the tree: the best of all candidates are verified. */
static void grow_tree(const struct naive_speculation *speculation, struct acceptance *acceptance)
{
    struct candidate all[MOST_CANDIDATES];
    double reach[MOST_DEPTH + 1] = {1.0};
    rank_candidates(speculation, all);
    for (int i = 0; i < speculation->tokens; i++) reach[all[i].depth] += all[i].kept;
    for (int depth = 0; depth <= speculation->drafts; depth++) acceptance_set_right(acceptance, depth, reach[depth]);
}

/* EAGLE-2 extends as many nodes in each pass; a likeliest tree has passes for its levels, as wide as the widest
 * one. */
static void find_passes(struct naive_speculation *speculation)
{
    struct candidate all[MOST_CANDIDATES];
    speculation->passes = speculation->drafts;
    speculation->width = speculation->branches;
    if (!speculation->is_likeliest) return;
    const int n = rank_candidates(speculation, all);
    speculation->passes = speculation->width = 0;
    if (speculation->tokens > n) speculation->tokens = n;
    for (int depth = 1; depth <= speculation->drafts; depth++) {
        int parents = 0;
        for (int i = 0; i < speculation->tokens; i++) {
            bool is_new = all[i].depth == depth;
            for (int k = 0; k < i; k++) is_new = is_new && !(all[k].depth == depth && all[k].parent == all[i].parent);
            parents += is_new;
        }
        if (parents > 0) speculation->passes = depth;
        if (parents > speculation->width) speculation->width = parents;
    }
}

static int right_drafts(const struct naive_speculation *speculation, bool is_tree, int id, int position, int most)
{
    struct acceptance acceptance = {.rates = NULL};
    struct rng rng;
    rng_init(&rng, 1, 0, "services.s.acceptance", 0);
    acceptance.key = rng_u64(&rng);
    if (is_tree)
        grow_tree(speculation, &acceptance);
    else
        acceptance_from_rates(&acceptance, speculation->rates, speculation->n_rates);
    return (int)acceptance_draw(&acceptance, id, position, most);
}

void naive_random_speculation(struct naive_speculation *speculation, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "speculation", 0);
    *speculation = (struct naive_speculation){.drafts = naive_between(&rng, 0, naive_one_in(&rng, 3) ? 20 : 5),
                                              .n_rates = naive_between(&rng, 1, 3),
                                              .pass_ns = naive_one_in(&rng, 2) ? 0 : naive_between(&rng, 1, 500000),
                                              .sequence_ns = naive_one_in(&rng, 2) ? 0 : naive_between(&rng, 1, 50000),
                                              .prefill = random_terms(&rng),
                                              .decode = random_terms(&rng),
                                              .right = right_drafts};
    for (int i = 0; i < speculation->n_rates; i++)
        speculation->rates[i] = naive_one_in(&rng, 4) ? (double)naive_between(&rng, 0, 1) : rng_uniform(&rng);
}

static struct naive_terms rounded_terms(const struct naive_terms *terms)
{
    return (struct naive_terms){.fixed = 32 * ceil(terms->fixed / 32), .token = 32 * ceil(terms->token / 32),
                                .sequence = 32 * ceil(terms->sequence / 32), .context = 32 * ceil(terms->context / 32),
                                .pair = 32 * ceil(terms->pair / 32)};
}

/* Of the terms of one stage of so many. */
static struct naive_terms layer_terms(const struct naive_terms *terms, int stages)
{
    const double part = stages / 32.0;
    return (struct naive_terms){.fixed = terms->fixed * part, .token = terms->token * part,
                                .sequence = terms->sequence * part, .context = terms->context * part,
                                .pair = terms->pair * part};
}

/* Llama-2-7B has 32 layers. Rates and power are such that no candidate is likelier than a better one. Equal candidates
 * make no difference to the passes of EAGLE-2; a likeliest tree has none. */
void naive_random_tree(struct naive_scenario *s, struct naive_speculation *speculation, uint64_t seed)
{
    struct rng rng;
    naive_random_speculation(speculation, seed);
    rng_init(&rng, seed, 0, "tree", 0);
    const bool is_likeliest = speculation->is_likeliest = naive_one_in(&rng, 2);
    speculation->drafts = naive_between(&rng, 1, is_likeliest ? 4 : MOST_DEPTH);
    const int branches = speculation->branches = naive_between(&rng, 2, is_likeliest ? 4 : MOST_BRANCHES);
    const int most = branches + (speculation->drafts - 1) * branches * branches;
    speculation->tokens = naive_between(&rng, speculation->drafts, naive_one_in(&rng, 2) ? most : most < 8 ? most : 8);
    speculation->rank_power = 0.05 + 0.25 * rng_uniform(&rng);
    for (int i = 0; i < speculation->n_rates; i++)
        speculation->rates[i] = !is_likeliest && naive_one_in(&rng, 5) ? (double)naive_between(&rng, 0, 1)
                                                                       : 0.2 + 0.79 * rng_uniform(&rng);
    find_passes(speculation);
    s->prefill = rounded_terms(&s->prefill);
    s->decode = rounded_terms(&s->decode);
    speculation->prefill = layer_terms(&s->prefill, s->stages);
    speculation->decode = layer_terms(&s->decode, s->stages);
}

static struct sampling_model sampling_of(const struct naive_sampling *sampling)
{
    return (struct sampling_model){.sequences = sampling->width, .is_beam = sampling->beams,
                                   .length_sigma = sampling->sigma, .resampled_frac = sampling->resampled, .seed = 1,
                                   .stream = "services.s.sampling"};
}

static int random_length(const struct naive_sampling *sampling, int id, int slot, int output, int most)
{
    const struct sampling_model model = sampling_of(sampling);
    return sampling_length(&model, id, slot, output, most);
}

static void random_parents(const struct naive_sampling *sampling, int id, int position, int *parents)
{
    const struct sampling_model model = sampling_of(sampling);
    sampling_parents(&model, id, position, parents);
}

void naive_random_sampling(struct naive_scenario *s, struct naive_sampling *sampling, bool beams, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "sampling", 0);
    *sampling = (struct naive_sampling){.width = naive_between(&rng, 2, 5), .beams = beams,
                                        .sigma = naive_one_in(&rng, 3) ? 0.0 : rng_uniform(&rng),
                                        .resampled = naive_one_in(&rng, 3) ? 1.0 : rng_uniform(&rng),
                                        .length = random_length, .parents = random_parents};
    if (s->n > NAIVE_REQUESTS / sampling->width) s->n = NAIVE_REQUESTS / sampling->width;
    for (int slot = 1; slot < sampling->width; slot++)
        for (int i = 0; i < s->n; i++) s->requests[slot * s->n + i] = s->requests[i];
    s->sampling = sampling;
}

static void add_sampling(struct text *text, const struct naive_sampling *sampling)
{
    text_printf(text, "'sampling': {'search': '%s', 'sequences': %d", sampling->beams ? "beam" : "parallel",
                sampling->width);
    text_printf(text, ", 'length_sigma': %.17g, 'resampled_frac': %.17g}, ", sampling->sigma, sampling->resampled);
}

static bool all_scale(const struct naive_scenario *s)
{
    return s->site->scaling[0].max > 0 && (s->prefill_replicas == 0 || s->site->scaling[1].max > 0);
}

/* Two layers see all tokens; two for each share of them have a window. */
static const char *llm_of(const struct naive_scenario *s)
{
    if (s->site != NULL) return "mixtral-8x7b";
    if (s->window_share == 0) return "llama-2-7b";
    return test_file(
        "windows.json",
        "{'source': 'test', 'layers': %d, 'full_layers': 2, 'sliding_window': %d, 'hidden': 64, 'q_heads': 4, "
        "'kv_heads': 4, 'head_dim': 16, 'ffn': 128, 'vocab': 100, 'max_context': %d}",
        2 + 2 * s->window_share, s->window_tokens, s->max_context);
}

static void write_scenario(const struct naive_scenario *s, const char *trace, struct text *text)
{
    text_printf(text, "{");
    add_cluster(text, s);
    if (s->site != NULL && s->site->n_causes > 0) add_failures(text, s->site);
    text_printf(text, "'services': {'s': {'llm': '%s', 'routing': %s, ", llm_of(s), routing_of(s));
    if (s->site == NULL || s->prefill_replicas == 0) text_printf(text, "'pipeline_parallel': %d, ", s->stages);
    if (s->site != NULL && s->prefill_replicas == 0)
        text_printf(text, "'tensor_parallel': %d, 'data_parallel': %d, ", s->site->gpus, s->site->groups);
    if (s->site != NULL && s->site->n_causes > 0 && !all_scale(s))
        text_printf(text, "'restart': {'delay': '%lldns'}, ", (long long)s->site->restart_ns);
    if (s->site != NULL && s->prefill_replicas == 0 && all_scale(s)) {
        add_scaling(text, &s->site->scaling[0]);
        text_printf(text, ", ");
    }
    if (s->speculation != NULL) add_speculation(text, s->speculation);
    if (s->sampling != NULL) add_sampling(text, s->sampling);
    if (s->prefill_replicas > 0)
        add_pools(text, s);
    else
        text_printf(text, "'replicas': %d, ",
                    s->site != NULL && all_scale(s) ? s->site->scaling[0].start : s->replicas);
    text_printf(text, "'kv': {'blocks': %lld, 'block_tokens': %d%s}, ", (long long)s->blocks, s->block_tokens,
                s->window_share > 0 ? ", 'windows': 'free'" : "");
    add_batching(text, s);
    text_printf(text, "'cost': {'kind': 'affine', ");
    const int stages = s->stages * (s->decode_stages > 0 ? s->decode_stages : 1);
    add_terms(text, "prefill", &s->prefill, stages);
    text_printf(text, ", ");
    add_terms(text, "decode", &s->decode, stages);
    text_printf(text, "}, 'trace': {'format': 'csv', 'path': '%s'}}}}", trace);
}

static void write_trace(const struct naive_scenario *s, const char *path)
{
    static const char *const classes[NAIVE_PRIORITIES] = {"interactive", "default", "batch"};
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fprintf(file, "arrival_s,prompt_tokens,output_tokens%s\n", s->by_priority ? ",class" : "");
    for (int i = 0; i < s->n; i++) {
        const struct naive_request *request = &s->requests[i];
        fprintf(file, "%lld.%09lld,%d,%d", (long long)(request->arrival_ns / 1000000000),
                (long long)(request->arrival_ns % 1000000000), request->prompt, request->output);
        if (s->by_priority) fprintf(file, ",%s", classes[request->priority]);
        fprintf(file, "\n");
    }
    fclose(file);
}

/* --- Comparison --- */

static int64_t ns_after(int64_t arrival_ns, double seconds)
{
    return isnan(seconds) ? -1 : arrival_ns + llrint(seconds * 1e9);
}

static bool same(const struct naive_request *request, const struct naive_outcome *naive, const struct request_row *row,
                 char *text, size_t n_chars)
{
    if (row == NULL) {
        snprintf(text, n_chars, "has no row");
        return false;
    }
    int64_t first_ns = ns_after(request->arrival_ns, row->ttft_s), end_ns = ns_after(request->arrival_ns, row->e2e_s);
    const int64_t max_gap_ns = ns_after(0, row->max_gap_s);
    snprintf(text, n_chars, "%s first %lld end %lld gap %lld replica %d preemptions %d, naive %d: %lld %lld %lld %d %d",
             row->status, (long long)first_ns, (long long)end_ns, (long long)max_gap_ns, (int)row->replica,
             (int)row->preemptions, naive->rejected, (long long)naive->first_ns, (long long)naive->end_ns,
             (long long)naive->max_gap_ns, naive->replica, naive->preemptions);
    return max_gap_ns == naive->max_gap_ns && first_ns == naive->first_ns && end_ns == naive->end_ns &&
           row->replica == naive->replica && row->preemptions == naive->preemptions &&
           (strcmp(row->status, "rejected") == 0) == naive->rejected;
}

/* Rows come in the order of ends: so do those of requests that end in one iteration. */
static bool compare_order(const struct naive_outcome *outcomes, const struct bed_rows *rows, uint64_t seed,
                          struct naive_totals *totals)
{
    for (size_t i = 1; i < rows->n_requests; i++) {
        const struct naive_outcome *before = &outcomes[rows->requests[i - 1].id],
                                   *now = &outcomes[rows->requests[i].id];
        char told[200];
        if (before->end_ns != now->end_ns || before->replica != now->replica || before->rejected || now->rejected)
            continue;
        totals->ties++;
        totals->turned += rows->requests[i].id < rows->requests[i - 1].id;
        if (now->end_number > before->end_number) continue;
        snprintf(told, sizeof told, "seed %d: request %d ends behind %d at %lld, naive before it", (int)seed,
                 (int)rows->requests[i].id, (int)rows->requests[i - 1].id, (long long)now->end_ns);
        return test_check(false, told, __FILE__, __LINE__);
    }
    return true;
}

static bool compare(const struct naive_scenario *s, const struct naive_outcome *outcomes, const struct bed_rows *rows,
                    uint64_t seed, struct naive_totals *totals)
{
    CHECK_EQ_INT(rows->n_requests, s->n);
    for (int i = 0; i < s->n; i++) {
        char text[256], told[400];
        totals->requests++;
        totals->preemptions += outcomes[i].preemptions;
        totals->cut_prompts += outcomes[i].cut_prompts;
        totals->rejections += outcomes[i].rejected;
        totals->restarts += outcomes[i].restarts;
        totals->lost_moves += outcomes[i].lost_moves;
        totals->right += outcomes[i].right;
        if (same(&s->requests[i], &outcomes[i], bed_request(rows, i), text, sizeof text)) continue;
        if (s->site != NULL && s->site->counts != NULL && s->site->counts->halfway > 0) {
            totals->halfway++;
            return true;
        }
        snprintf(told, sizeof told, "seed %d request %d: %s", (int)seed, i, text);
        return test_check(false, told, __FILE__, __LINE__);
    }
    return compare_order(outcomes, rows, seed, totals);
}

void naive_check_scenario(struct naive_scenario *s, uint64_t seed, struct naive_totals *totals)
{
    static struct naive_outcome outcomes[NAIVE_REQUESTS];
    SCOPED(text) text = {0};
    char trace[512];
    snprintf(trace, sizeof trace, "%s/trace.csv", test_tmpdir());
    write_trace(s, trace);
    write_scenario(s, trace, &text);
    struct bed_rows *macro = bed_run(BED(.check = true), "%s", text.chars);
    struct bed_rows *single = bed_run(BED(.single_step = true, .queue = QUEUE_HEAP), "%s", text.chars);
    CHECK_EQ_INT(macro->code, 0);
    for (int i = 0; i < s->n; i++) {
        const struct request_row *row = bed_request(macro, i);
        s->requests[i].replica = row != NULL ? (int)row->replica : -1;
    }
    struct naive_counts *counts = s->site != NULL ? s->site->counts : NULL;
    if (counts != NULL) *counts = (struct naive_counts){0};
    MUST(naive_serve(s, outcomes) >= 0);
    if (counts != NULL && s->site->scaling[0].max + s->site->scaling[1].max > 0) {
        CHECK_EQ_INT(counts->starts, (int64_t)bed_metric(macro, "scaling.starts.sum"));
        totals->starts += counts->starts;
        totals->drains += counts->drains;
    }
    if (!compare(s, outcomes, macro, seed, totals) || !CHECK(bed_equal(macro, single))) {
        FILE *file = fopen("build/differential.json", "w");
        test_quotes(text.chars);
        if (file != NULL) fprintf(file, "%s\n", text.chars), fclose(file);
    }
    bed_free(macro);
    bed_free(single);
}

/* Laws of requests with several sequences: shared blocks in closed form, blocks and tokens that are conserved under
 * every batcher and beside the rest of the site, runs that do not depend on how they are stepped through. */
#include "sim/world/replica/sequence_group.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

#define SITE "'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '25GB/s'}}"
#define AFFINE                                                                                                         \
    "{'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'}, 'decode': {'fixed': '11ms',"                  \
    " 'per_sequence': '20us', 'per_token': '5us', 'per_context_token': '30ns'}}"
#define TRACE                                                                                                          \
    "'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '6/s'},"                   \
    " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 150},"                                                    \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 80}}"

/* One request alone. */
static struct bed_rows *alone(int prompt, int output, int block_tokens, const char *sampling)
{
    return bed_ok(BED(.check = true),
                  "{" SITE ", 'services': {'s': {'llm': 'mistral-7b', 'kv': {'blocks': 400, 'block_tokens': %d},"
                  " 'cost': " AFFINE ", %s 'trace': {'format': 'generate', 'count': 1,"
                  " 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': %d},"
                  " 'output': {'distribution': 'fixed', 'tokens': %d}}}}}",
                  block_tokens, sampling, prompt, output);
}

static const char *parallel(int sequences)
{
    static char text[80];
    snprintf(text, sizeof text, "'sampling': {'sequences': %d},", sequences);
    return text;
}

/* Of n samples each has the blocks of its tokens, but the full blocks of the prompt are there once. The last block of
 * the prompt is copied n - 1 times unless it is full. */
TEST(samples_share_the_full_blocks_of_the_prompt)
{
    static const int prompts[] = {1, 15, 16, 17, 31, 32, 33, 100}, outputs[] = {2, 16, 33};
    for (size_t p = 0; p < sizeof prompts / sizeof *prompts; p++)
        for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++)
            for (int n = 2; n <= 5; n++) {
                const int block = p % 2 == 0 ? 16 : 4, full = prompts[p] / block;
                const int each = (prompts[p] + outputs[o] - 1 + block - 1) / block - full;
                const struct bed_rows *rows = alone(prompts[p], outputs[o], block, parallel(n));
                const int copies = prompts[p] % block != 0 ? n - 1 : 0;
                CHECK_NEAR(bed_metric(rows, "replica.kv_peak_frac"), (full + n * each) / 400.0, 1e-12);
                CHECK_EQ_INT((int64_t)bed_metric(rows, "sampling.copied_blocks.sum"), copies);
                CHECK_EQ_INT((int64_t)bed_metric(rows, "sampling.sequences.sum"), n);
                CHECK_EQ_INT((int64_t)bed_metric(rows, "sampling.sequence_tokens.sum"), n * outputs[o]);
                CHECK_EQ_INT((int64_t)bed_metric(rows, "request.output_tokens.sum"), n * outputs[o]);
            }
}

/* One sequence is the same as none given. */
TEST(one_sequence_is_a_request)
{
    const struct bed_rows *none = alone(20, 30, 16, ""), *one = alone(20, 30, 16, parallel(1));
    CHECK(bed_equal(none, one));
}

/* Beams that never continue another one are samples of one length. */
TEST(beams_without_resampling_are_samples)
{
    const struct bed_rows *beams = alone(20, 30, 16,
                                         "'sampling': {'search': 'beam', 'sequences': 4,"
                                         " 'resampled_frac': 0},");
    const struct bed_rows *samples = alone(20, 30, 16, parallel(4));
    static const char *const same[] = {"request.e2e_s.mean", "replica.kv_peak_frac", "sampling.copied_blocks.sum",
                                       "sampling.sequence_tokens.sum"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        CHECK_NEAR(bed_metric(beams, same[i]), bed_metric(samples, same[i]), 1e-12);
    CHECK_EQ_INT((int64_t)bed_metric(beams, "request.output_tokens.sum"), 30);
}

/* Beams that always continue one at random have one ancestor after a few tokens: all but the last blocks are shared. */
TEST(resampled_beams_share_their_past)
{
    const struct bed_rows *beams = alone(16, 1000, 16, "'sampling': {'search': 'beam', 'sequences': 4},");
    CHECK(bed_metric(beams, "replica.kv_peak_frac") < (64 + 4 * 4) / 400.0);
    CHECK(bed_metric(beams, "sampling.saved_frac") > 0.7);
    CHECK(bed_metric(beams, "sampling.saved_frac") < 0.75);
}

/* Neutral: every slot is drawn as often, and the chance that two beams have one parent is 1 / n. */
TEST(parents_are_drawn_alike)
{
    const struct sampling_model model = {.sequences = 5, .is_beam = true, .resampled_frac = 1.0, .seed = 3,
                                         .stream = "beams"};
    const int n = 20000;
    int64_t drawn[5] = {0}, meet = 0;
    for (int position = 0; position < n; position++) {
        int32_t parents[5];
        sampling_parents(&model, position % 7, position, parents);
        for (int i = 0; i < 5; i++) drawn[parents[i]]++;
        meet += parents[0] == parents[1];
    }
    for (int i = 0; i < 5; i++) CHECK(fabs((double)drawn[i] / (5.0 * n) - 0.2) < 4.5 * 0.4 / sqrt(5.0 * n));
    CHECK(fabs((double)meet / n - 0.2) < 4.5 * 0.4 / sqrt(n));
}

/* The median factor of lengths is 1, and the mean of their logarithms has the given deviation. */
TEST(lengths_are_lognormal)
{
    const struct sampling_model model = {.sequences = 2, .length_sigma = 0.5, .seed = 3, .stream = "lengths"};
    const int n = 20000;
    double sum = 0.0, squares = 0.0;
    for (int id = 0; id < n; id++) {
        const double log_factor = log(sampling_length(&model, id, 1, 1000000, 1 << 30) / 1e6);
        sum += log_factor;
        squares += log_factor * log_factor;
    }
    CHECK(fabs(sum / n) < 4.5 * 0.5 / sqrt(n));
    CHECK_NEAR(sqrt(squares / n), 0.5, 4.5 * 0.5 / sqrt(2.0 * n));
    CHECK_EQ_INT(sampling_length(&model, 5, 0, 70, 1000), 70);
    CHECK(sampling_length(&model, 5, 1, 1, 1000) >= 1);
    CHECK(sampling_length(&model, 7, 1, 900, 1000) <= 1000);
}

/* Every request and every sequence gets its tokens; the invariants hold after every event; single steps with the other
 * queue give the same bytes. */
static void check_conserved(const char *service, const char *site)
{
    static const char *const kinds[] = {"'search': 'parallel', 'length_sigma': 0.5", "'search': 'parallel'",
                                        "'search': 'beam', 'resampled_frac': 0.5", "'search': 'beam'"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[2048];
        const int sequences = 2 + (int)i;
        if (strstr(kinds[i], "beam") != NULL && (strstr(service, "pipeline") || strstr(service, "speculation")))
            continue;
        snprintf(text, sizeof text,
                 "{" SITE "%s, 'services': {'s': {'llm': 'mistral-7b', 'cost': " AFFINE ", 'sampling': {%s,"
                 " 'sequences': %d}, %s " TRACE "}}}",
                 site, kinds[i], sequences, service);
        struct bed_rows *rows = bed_ok(BED(.check = true), "%s", text);
        struct bed_rows *single = bed_ok(BED(.single_step = true, .queue = QUEUE_HEAP, .check = true), "%s", text);
        CHECK(bed_equal(rows, single));
        CHECK_EQ_INT(rows->n_requests, 60);
        const int64_t rejected = (int64_t)bed_metric(rows, "request.rejected");
        CHECK_EQ_INT((int64_t)bed_metric(rows, "request.finished"), 60 - rejected);
        if (rejected == 0) CHECK_EQ_INT((int64_t)bed_metric(rows, "sampling.sequences.sum"), 60 * sequences);
        bed_free(rows);
        bed_free(single);
    }
}

TEST(batchers_that_preempt)
{
    check_conserved("'batching': 'vllm-v0', 'kv': {'blocks': 40},", "");
    check_conserved("'batching': {'policy': 'vllm-v0', 'preemption': 'swap'}, 'kv': {'blocks': 40},", "");
    check_conserved("'batching': 'vllm-v1', 'kv': {'blocks': 40},", "");
    check_conserved("'batching': {'policy': 'vllm-v1', 'token_budget': 32, 'max_sequences': 12}, 'kv': {'blocks': 40},",
                    "");
    check_conserved("'batching': {'policy': 'sarathi', 'token_budget': 64}, 'kv': {'blocks': 60, 'block_tokens': 4},",
                    "");
    check_conserved("'batching': {'policy': 'vllm-v0', 'max_sequences': 3}, 'kv': {'blocks': 40},", "");
}

TEST(pipelines_and_drafts)
{
    check_conserved("'batching': 'vllm-v1', 'pipeline_parallel': 2, 'kv': {'blocks': 40},", "");
    check_conserved("'batching': 'sarathi', 'pipeline_parallel': 3, 'kv': {'blocks': 40},", "");
    check_conserved(
        "'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': [0.8]}, 'kv': {'blocks': 40},", "");
}

TEST(prefix_caches)
{
    check_conserved("'batching': 'vllm-v1', 'kv': {'blocks': 40, 'prefix_cache': 'lru'},", "");
    check_conserved("'batching': 'vllm-v0', 'kv': {'blocks': 40, 'prefix_cache': 'lru'},", "");
    check_conserved("'batching': 'sarathi', 'kv': {'blocks': 40, 'prefix_cache': 'lru',"
                    " 'prefix_store': {'tiers': {'host': {'capacity': '1GB'}}}},",
                    "");
}

/* Prompts in one pool, several sequences in the other. */
TEST(pools)
{
    check_conserved("'batching': 'vllm-v1', 'kv': {'blocks': 60}, 'pools': {'p': {'role': 'prefill', 'replicas': 1},"
                    " 'd': {'role': 'decode', 'replicas': 2}},",
                    "");
    check_conserved("'batching': 'vllm-v0', 'kv': {'blocks': 60}, 'kv_transfer': {'start': 'push'}, 'pools':"
                    " {'p': {'role': 'prefill', 'replicas': 1}, 'd': {'role': 'decode', 'replicas': 2}},",
                    "");
}

TEST(failures)
{
    static const char *const fail = ", 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '6s'},"
                                    " 'repair': {'mean': '2s'}}}}";
    check_conserved("'batching': 'vllm-v1', 'replicas': 3, 'tensor_parallel': 4, 'kv': {'blocks': 40}, 'restart':"
                    " {'delay': '1s'},",
                    fail);
    check_conserved(
        "'batching': 'vllm-v1', 'tensor_parallel': 4, 'kv': {'blocks': 60, 'prefix_cache': 'lru'}, 'restart':"
        " {'delay': '1s'}, 'pools': {'p': {'role': 'prefill', 'replicas': 1},"
        " 'd': {'role': 'decode', 'replicas': 2}},",
        fail);
}

/* A prompt of 2 tokens in blocks of 256. While other prompts are processed, its sequences share one block with 2
 * tokens: not all 256 slots of it are tokens that count once. */
TEST(shared_blocks_that_are_not_full)
{
    static const char *const kinds[] = {"parallel", "beam"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" SITE ", 'services': {'s': {'llm': 'mistral-7b', 'batching': 'vllm-v0', 'kv': {'block_tokens': 256},"
            " 'cost': " AFFINE ", 'sampling': {'search': '%s', 'sequences': 16}, 'trace': {'format': 'generate',"
            " 'count': 60, 'arrival': {'process': 'poisson', 'rate': '20/s'},"
            " 'prompt': {'distribution': 'fixed', 'tokens': 2},"
            " 'output': {'distribution': 'fixed', 'tokens': 3}}}}}",
            kinds[i]);
        const double held_frac = bed_metric(rows, "kv.held_frac"), reserved_frac = bed_metric(rows, "kv.reserved_frac");
        CHECK(held_frac > 0.0 && held_frac < 4.0 / 256.0 * reserved_frac);
    }
}

/* A request forks into full blocks while others decode: the run of iterations before has another batch. Energy is the
 * integral of power in single steps only if work and batch agree. */
TEST(a_fork_ends_the_run_of_iterations)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true, .single_step = true),
        "{'cluster': {'gpu': 'a100-80-sxm', 'server_power': {'idle': '680W', 'per_gpu_watt': 0.667}, 'power': {'budget':"
        " '20kW'}}, 'services': {'s': {'llm': 'llama-3.1-8b', 'batching': {'policy': 'vllm-v1', 'max_sequences': 4},"
        " 'kv': {'block_tokens': 2}, 'sampling': {'sequences': 2}, 'kv_transfer': {'mode': 'layer-wise'}, 'pools':"
        " {'p': {'role': 'prefill', 'replicas': 2}, 'd': {'role': 'decode'}}, 'trace': {'format': 'generate',"
        " 'count': 120, 'arrival': {'process': 'poisson', 'rate': '50/s'}}}}}");
    CHECK_EQ_INT((int64_t)bed_metric(rows, "request.finished"), 120);
}

/* A run that ends early has one row for each request. */
TEST(unfinished_requests_have_one_row)
{
    const struct bed_rows *rows = bed_ok(BED(.check = true),
                                         "{" SITE ", 'until': '5s', 'services': {'s': {'llm': 'mistral-7b', 'cost': " AFFINE
                                         ", 'sampling': {'sequences': 3}, " TRACE "}}}");
    for (size_t i = 1; i < rows->n_requests; i++) CHECK(rows->requests[i].id != rows->requests[i - 1].id);
    CHECK(bed_metric(rows, "request.unfinished") > 0);
}

/* A beam that stands for its request since the others were preempted has tokens too, whatever its slot. */
TEST(unfinished_beams_have_output)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true), "{" SITE ", 'until': '5s', 'services': {'s': {'llm': 'mistral-7b', 'cost': " AFFINE
                            ", 'kv': {'blocks': 30}, 'sampling': {'sequences': 4, 'search': 'beam'}, " TRACE "}}}");
    int preempted = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        if (row->ttft_s >= 0.0) CHECK(row->output_tokens > 0);
        preempted += row->ttft_s >= 0.0 && row->preemptions > 0 && strcmp(row->status, "unfinished") == 0;
    }
    CHECK(preempted > 0);
}

/* What cannot work is refused with its reason. */
static void check_refused(const char *service, const char *words)
{
    struct bed_rows *rows = bed_run(BED(.quiet = true), "{" SITE ", 'services': {'s': {'llm': 'mistral-7b', %s " TRACE "}}}",
                                    service);
    bool found = false;
    for (int i = 0; i < rows->diag.n_items; i++) found |= strstr(rows->diag.items[i].text, words) != NULL;
    CHECK(rows->code != 0 && found);
}

TEST(impossible_combinations_are_refused)
{
    static const char *const others[] = {"orca", "fastertransformer", "splitwise", "distserve", "sglang", "trtllm"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char service[128];
        snprintf(service, sizeof service, "'sampling': {'sequences': 2}, 'batching': '%s',", others[i]);
        check_refused(service, "one sequence per request");
    }
    check_refused("'sampling': {'sequences': 2, 'returned': 3},", "returns 3 of 2 sequences");
    check_refused("'sampling': {'sequences': 2, 'search': 'beam'}, 'pipeline_parallel': 2,", "pipeline stages");
    check_refused(
        "'sampling': {'sequences': 2, 'search': 'beam'}, 'speculation': 'fixed', 'acceptance': {'rates': [0.5]},",
        "which drafts of a beam are right");
}

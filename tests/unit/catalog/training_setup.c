/* Plans from configurations: as few recomputed layers as fit, against a walk over all numbers of them. */
#include "sim/catalog/training.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

static const struct catalog catalog = {.root = "configs"};

/* A plan on eight A100, of which `recompute` layers are recomputed; TRAINING_AS_NEEDED, or a number of layers. */
struct case_of {
    struct training_config config;
    struct training_setup setup;
    struct training_step step;
    const char *problem; /* NULL: none */
};

enum { LAYERS = 16 }; /* of a stage */

static void price(struct case_of *of, double reserve_frac, int recompute, int64_t layers)
{
    SCOPED(session) session = {0};
    of->config = (struct training_config){
        .llm = "llama-2-7b", .trainer = "megatron-core", .tensor_parallel = 2, .pipeline_parallel = 2,
        .pipeline_chunks = 1, .context_parallel = 1, .expert_parallel = 1, .sequence_parallel = true,
        .schedule = SCHEDULE_1F1B, .micro_batch = 2, .micro_batches = 8, .recompute = recompute,
        .recompute_layers = layers, .zero = 1, .sequence_tokens = 8192, .reserve_frac = reserve_frac,
        .offload = {.cpu_update_per_s = 6.64e9, .flush_bytes_per_s = 4.96e9, .link_bytes_per_s = (double)NAN}};
    const struct training_request request = {.gpu = "a100-80-sxm", .gpus = 8, .gpus_per_node = 8, .nvlink = true,
                                             .link_share = 1.0, .bridge_share = (double)NAN,
                                             .network_bytes_per_s = 25e9, .training = of->config};
    MUST(training_setup_make(&catalog, &request, "test", &session.arena, &of->setup, &session.diag) == 0);
    of->setup.config = &of->config;
    MUST(training_setup_price(&of->setup, 8, false, &of->step) == NULL);
}

/* Activations of layers that are not recomputed go to the host, or on to drives, over a link of some bandwidth. */
static void price_tiers(struct case_of *of, double link_bytes_per_s, double host_bytes, int recompute, int64_t layers)
{
    SCOPED(session) session = {0};
    of->config = (struct training_config){
        .llm = "llama-2-7b", .trainer = "deepspeed-zero3", .tensor_parallel = 1, .pipeline_parallel = 1,
        .pipeline_chunks = 1, .context_parallel = 1, .expert_parallel = 1, .schedule = SCHEDULE_1F1B, .micro_batch = 4,
        .micro_batches = 2, .recompute = recompute, .recompute_layers = layers, .zero = 1, .sequence_tokens = 2048,
        .tiers = {.weights = HOME_HOST, .gradients = HOME_HOST, .optimizer = HOME_DISK, .activations = HOME_DISK,
                  .flow = FLOW_PIPELINED, .tiles = 1, .read_bytes_per_s = 10e9, .write_bytes_per_s = 6e9,
                  .link_bytes_per_s = link_bytes_per_s, .host_bytes = host_bytes, .cpu_update_per_s = 6.64e9}};
    const struct training_request request = {.gpu = "rtx-4090", .gpus = 1, .gpus_per_node = 1, .nvlink = true,
                                             .link_share = 1.0, .bridge_share = (double)NAN,
                                             .network_bytes_per_s = (double)NAN, .training = of->config};
    MUST(training_setup_make(&catalog, &request, "test", &session.arena, &of->setup, &session.diag) == 0);
    of->setup.config = &of->config;
    of->problem = training_setup_price(&of->setup, 1, false, &of->step);
}

/* The least number that fits, one by one; all, if none does. */
static int64_t walk(struct case_of *of, double reserve_frac)
{
    price(of, reserve_frac, RECOMPUTE_NONE, 0);
    for (int64_t n = 1; !of->step.fits && n <= LAYERS; n++) {
        price(of, reserve_frac, RECOMPUTE_FULL, n);
        if (of->step.fits) return n;
    }
    return of->step.fits ? 0 : LAYERS;
}

TEST(as_few_layers_are_recomputed_as_fit)
{
    int64_t before = -1, numbers = 0;
    for (double reserve_frac = 0.02; reserve_frac < 0.9; reserve_frac += 0.05) {
        struct case_of found, least;
        price(&found, reserve_frac, TRAINING_AS_NEEDED, 0);
        const int64_t n = training_plan_recomputed(&found.setup.plan, &found.setup.llm, 0);
        CHECK_EQ_INT(n, walk(&least, reserve_frac));
        CHECK_NEAR(found.step.step_s, least.step.step_s, 0.0);
        CHECK_EQ_INT(found.step.fits, least.step.fits);
        CHECK(n >= before);
        numbers += n != before;
        before = n;
    }
    CHECK(numbers > 5);
    CHECK_EQ_INT(before, LAYERS);
}

/* Fuyou's choice: no number of layers that fits is faster. A slow link leaves nothing to move, a fast one nothing to
 * recompute, and one between both something of each. */
TEST(activations_move_where_that_is_faster)
{
    const double links[] = {2e9, 12e9, 16e9, 24e9, 60e9};
    int64_t before = 32, between = 0;
    for (int i = 0; i < 5; i++) {
        struct case_of found, other;
        price_tiers(&found, links[i], 64e9, TRAINING_FASTEST, 0);
        const int64_t n = training_plan_recomputed(&found.setup.plan, &found.setup.llm, 0);
        double best_s = (double)INFINITY;
        for (int64_t k = 0; k <= 32; k++) {
            price_tiers(&other, links[i], 64e9, k > 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE, k);
            if (other.step.fits) best_s = fmin(best_s, other.step.step_s);
        }
        CHECK_NEAR(found.step.step_s, best_s, 0.0);
        CHECK(found.problem == NULL && found.step.fits && n <= before);
        between += n > 0 && n < 32;
        before = n;
    }
    CHECK(between > 0);
}

/* A link of next to nothing is a reason, and no short step. */
TEST(steps_without_end_have_a_reason)
{
    struct case_of found;
    for (double link = 1e-300; link < 1.0; link *= 1e99) {
        price_tiers(&found, link, 64e9, RECOMPUTE_NONE, 0);
        CHECK(found.problem != NULL && strstr(found.problem, "next to none") != NULL);
    }
    price_tiers(&found, 1e3, 64e9, RECOMPUTE_NONE, 0);
    CHECK(found.problem == NULL && found.step.step_s > 1e6);
}

/* Where nothing moves, recomputing more only takes longer. */
TEST(fewest_layers_are_fastest_on_the_gpu)
{
    for (double reserve_frac = 0.1; reserve_frac < 0.9; reserve_frac += 0.2) {
        struct case_of fastest, least;
        price(&fastest, reserve_frac, TRAINING_FASTEST, 0);
        price(&least, reserve_frac, TRAINING_AS_NEEDED, 0);
        CHECK_NEAR(fastest.step.step_s, least.step.step_s, 0.0);
        CHECK_EQ_INT(training_plan_recomputed(&fastest.setup.plan, &fastest.setup.llm, 0),
                     training_plan_recomputed(&least.setup.plan, &least.setup.llm, 0));
    }
}

/* An LLM on eight nodes of two clusters, with some number of micro-batches, and what the plan may choose. */
static void price_nics(struct case_of *of, double second, double between, int64_t batches, int groups, int layers)
{
    SCOPED(session) session = {0};
    struct training_cluster_config clusters[] = {{2, 25e9}, {2, second}};
    of->config = (struct training_config){
        .llm = "llama-2-7b", .trainer = "megatron-core", .tensor_parallel = 2, .pipeline_parallel = 4,
        .pipeline_chunks = 1, .context_parallel = 1, .expert_parallel = 1, .sequence_parallel = true,
        .schedule = SCHEDULE_1F1B, .micro_batch = 1, .micro_batches = batches, .recompute = RECOMPUTE_NONE, .zero = 1,
        .sequence_tokens = 4096, .reserve_frac = 0.06,
        .offload = {.cpu_update_per_s = 6.64e9, .flush_bytes_per_s = 4.96e9, .link_bytes_per_s = (double)NAN},
        .nics = {.clusters = {.items = clusters, .n = 2}, .between_bytes_per_s = between, .groups = groups,
                 .layers = layers}};
    const struct training_request request = {.gpu = "a100-80-sxm", .gpus = 32, .gpus_per_node = 4, .nvlink = true,
                                             .link_share = 1.0, .bridge_share = (double)NAN,
                                             .network_bytes_per_s = (double)NAN, .training = of->config};
    MUST(training_setup_make(&catalog, &request, "test", &session.arena, &of->setup, &session.diag) == 0);
    of->setup.config = &of->config;
    MUST(training_setup_price(&of->setup, 32, false, &of->step) == NULL);
}

/* Holmes: never slower than the plan that mixes NICs, nor than stages apart with as many layers each. Each of the three
 * is the fastest somewhere. */
TEST(plans_of_unlike_nics_are_the_fastest)
{
    const double networks[] = {25e9, 3e9, 0.2e9}, betweens[] = {25e9, 2e9, 0.1e9};
    int64_t mixed = 0, uneven = 0, even = 0;
    for (int i = 0; i < 27; i++) {
        struct case_of found, other;
        const double second = networks[i % 3], between = betweens[i / 3 % 3];
        const int64_t batches = i / 9 == 0 ? 1 : i / 9 == 1 ? 8 : 2048;
        price_nics(&found, second, between, batches, NIC_GROUPS_FASTEST, 0);
        price_nics(&other, second, between, batches, NIC_GROUPS_MIXED, 0);
        CHECK(found.step.step_s <= other.step.step_s);
        price_nics(&other, second, between, batches, NIC_GROUPS_APART, 1);
        CHECK(found.step.step_s <= other.step.step_s);
        price_nics(&other, second, between, batches, NIC_GROUPS_APART, 0);
        CHECK(found.step.step_s <= other.step.step_s);
        const struct training_nics *nics = &found.setup.plan.nics;
        mixed += nics->is_mixed;
        uneven += !nics->is_mixed && nics->layers[0] != nics->layers[3];
        even += !nics->is_mixed && nics->layers[0] == nics->layers[3];
    }
    CHECK(mixed > 0 && uneven > 0 && even > 0);
}

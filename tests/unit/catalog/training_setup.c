/* Plans from configurations: as few recomputed layers as fit, against a walk over all numbers of them. */
#include "sim/catalog/training.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <math.h>

static const struct catalog catalog = {.root = "configs"};

/* A plan on eight A100, of which `recompute` layers are recomputed; TRAINING_AS_NEEDED, or a number of layers. */
struct case_of {
    struct training_config config;
    struct training_setup setup;
    struct training_step step;
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
        const int64_t n = training_plan_recomputed(&found.setup.plan, &found.setup.llm);
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

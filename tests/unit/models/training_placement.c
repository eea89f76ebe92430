/* States and activations of some layers beyond the GPU: closed forms of what moves, and a search over four numbers
 * that finds what pricing all of them finds. */
#include "models/training/placement.h"
#include "models/training/tiers.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

#include <math.h>

static const double gb = 1e9;

/* States in host memory that CPUs update beside the backward pass. */
static void bed_init(struct plan_bed *bed, struct gpu_spec *gpu, int64_t layers)
{
    plan_bed_init(bed, &plan_bed_gpt);
    *gpu = plan_bed_a100;
    bed->parts.gpu = gpu;
    bed->llm.layers = layers;
    bed->plan.micro_batches = 3;
    bed->plan.tiers = (struct training_tiers){.weights = HOME_HOST, .gradients = HOME_HOST, .optimizer = HOME_HOST,
                                              .flow = FLOW_PIPELINED, .link_bytes_per_s = 25.0 * gb,
                                              .cpu_update_per_s = 2e9};
}

/* --- What moves --- */

/* Of P parameters in l layers, p persistent and b buffered: (1 - p/l) 2 P bytes come for each forward pass, and
 * (1 - (p + b)/l) 2 P for each backward pass, however many layers are recomputed. Gradients leave by the first. */
TEST(persistent_and_buffered_layers_do_not_move)
{
    struct plan_bed bed;
    struct gpu_spec gpu;
    bed_init(&bed, &gpu, 8);
    const double bytes = 2.0 * (double)llm_parameters(&bed.llm), batches = 3.0;
    for (int64_t p = 0; p <= 8; p++)
        for (int64_t b = 2; b <= 8; b++) {
            const struct training_placement placement = {p, b, 0, (p + b) % 4};
            training_placement_set(&bed.plan, HOME_HOST, &placement);
            const struct training_step step = plan_bed_step(&bed);
            const double moving = 1.0 - (double)p / 8.0, again = fmax(moving - (double)b / 8.0, 0.0);
            CHECK_NEAR(step.up_bytes, batches * (moving + again) * bytes, 1.0);
            CHECK_NEAR(step.down_bytes, batches * moving * bytes, 1.0);
            const struct training_memory memory = step.memory;
            CHECK_NEAR((memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes) / bytes,
                       (1.0 - moving) * 8.0, 1e-9);
            CHECK_NEAR(memory.host_bytes / bytes, moving * 8.0, 1e-9);
        }
}

/* A buffer has room for a layer of weights; a swapped layer's activations leave once and come back. */
TEST(buffers_and_swapped_layers_take_room)
{
    struct plan_bed bed;
    struct gpu_spec gpu;
    bed_init(&bed, &gpu, 8);
    const double layer = 2.0 * training_block_parameters(&bed.parts, BLOCK_DENSE).dense;
    const double kept = training_layer_bytes(&bed.parts, BLOCK_DENSE);
    const struct training_placement none = {0, 4, 0, 0};
    training_placement_set(&bed.plan, HOME_HOST, &none);
    const struct training_step before = plan_bed_step(&bed);
    const struct training_placement more = {0, 6, 0, 0};
    training_placement_set(&bed.plan, HOME_HOST, &more);
    const double working = plan_bed_step(&bed).memory.working_bytes;
    CHECK_NEAR((working - before.memory.working_bytes) / (2.0 * layer), 1.0, 1e-9);
    for (int64_t tiles = 2; tiles <= 8; tiles *= 2) { /* these cut the layer at work, not two more buffers */
        bed.plan.tiers.tiles = tiles;
        training_placement_set(&bed.plan, HOME_HOST, &none);
        const double four = plan_bed_step(&bed).memory.working_bytes;
        training_placement_set(&bed.plan, HOME_HOST, &more);
        CHECK_NEAR((plan_bed_step(&bed).memory.working_bytes - four) / (2.0 * layer), 1.0, 1e-9);
    }
    bed.plan.tiers.tiles = 1;
    for (int64_t s = 3; s <= 8; s++) {
        const struct training_placement swapped = {0, 4, s, 0};
        training_placement_set(&bed.plan, HOME_HOST, &swapped);
        const struct training_step step = plan_bed_step(&bed);
        CHECK_NEAR((step.down_bytes - before.down_bytes) / (3.0 * (double)s * kept), 1.0, 1e-9);
        CHECK_NEAR((step.up_bytes - before.up_bytes) / (3.0 * (double)s * kept), 1.0, 1e-9);
        CHECK_NEAR((before.memory.activation_bytes - step.memory.activation_bytes) / ((double)(s - 2) * kept), 1.0,
                   1e-9);
        CHECK_NEAR((step.memory.host_bytes - before.memory.host_bytes) / ((double)s * kept), 1.0, 1e-9);
    }
}

/* Ranks that share weights gather those of buffered layers once. */
TEST(buffered_layers_are_gathered_once)
{
    struct plan_bed bed;
    struct gpu_spec gpu;
    bed_init(&bed, &gpu, 8);
    bed.plan.data = 8;
    bed.plan.zero = 3;
    const double bytes = 2.0 * (double)llm_parameters(&bed.llm) * 7.0 / 8.0;
    for (int64_t b = 2; b <= 8; b++) {
        const struct training_placement placement = {0, b, 0, 0};
        training_placement_set(&bed.plan, HOME_HOST, &placement);
        CHECK_NEAR(plan_bed_step(&bed).data_bytes / (3.0 * (3.0 - (double)b / 8.0) * bytes), 1.0, 1e-12);
    }
}

/* --- The search --- */

struct naive {
    double step_s;  /* of the fastest that fits */
    double bytes;   /* the least of a GPU */
    bool found;
};

static void price(struct plan_bed *bed, enum training_home kept, const struct training_placement *placement,
                  struct naive *naive)
{
    training_placement_set(&bed->plan, kept, placement);
    const struct training_step step = plan_bed_step(bed);
    naive->bytes = fmin(naive->bytes, step.memory.total_bytes);
    if (!step.fits) return;
    naive->step_s = naive->found ? fmin(naive->step_s, step.step_s) : step.step_s;
    naive->found = true;
}

static struct naive price_all(struct plan_bed *bed, enum training_home kept)
{
    const int64_t layers = bed->llm.layers;
    struct naive naive = {.bytes = (double)INFINITY};
    for (int64_t p = 0; p <= layers; p++)
        for (int64_t b = 2; b == 2 || b <= layers - p; b++)
            for (int64_t s = 0; s <= (kept != HOME_GPU ? layers : 0); s++)
                for (int64_t r = 0; r <= layers - s; r++)
                    price(bed, kept, &(struct training_placement){p, b, s, r}, &naive);
    return naive;
}

static bool search_equals_naive(struct plan_bed *bed, enum training_home kept)
{
    const struct training_plan plan = bed->plan;
    struct training_placement best;
    const struct naive naive = price_all(bed, kept);
    bed->plan = plan;
    bed->plan.tiers.activations = kept;
    const bool found = training_placement_find(&bed->parts, 0.0, &best);
    CHECK(found == naive.found);
    training_placement_set(&bed->plan, kept, &best);
    const struct training_step step = plan_bed_step(bed);
    bed->plan = plan;
    CHECK(step.fits == found);
    if (found) CHECK_NEAR(step.step_s, naive.step_s, 0.0);
    if (!found) CHECK_NEAR(step.memory.total_bytes, naive.bytes, 0.0);
    return found;
}

/* On GPUs that hold nothing, a part and all; links, CPUs and host memory that bind or do not; each flow. */
TEST(the_search_finds_the_best_of_all)
{
    static const double memory_gb[] = {4.0, 7.0, 9.0, 12.0, 16.0, 24.0, 80.0};
    int n_found = 0, n_all = 0;
    for (int m = 0; m < 7; m++)
        for (int way = 0; way < 6; way++) {
            struct plan_bed bed;
            struct gpu_spec gpu;
            bed_init(&bed, &gpu, 4);
            gpu.memory_bytes = memory_gb[m] * gb;
            bed.plan.micro_batch = way % 2 == 0 ? 4 : 1;
            bed.plan.tiers.flow = way < 2 ? FLOW_PREFETCHED : way < 5 ? FLOW_PIPELINED : FLOW_SERIAL;
            if (way == 3) bed.plan.tiers.link_bytes_per_s = 2.0 * gb;
            if (way == 4) bed.plan.tiers.host_bytes = 12.0 * gb;
            if (way >= 4) bed.plan.data = 4;
            if (way >= 4) bed.plan.zero = 3;
            n_found += search_equals_naive(&bed, way == 2 ? HOME_GPU : HOME_HOST);
            n_all++;
        }
    CHECK(n_found > n_all / 3 && n_found < n_all);
}

/* More memory never makes the best placement slower; all of it leaves nothing beyond the GPU but what CPUs update
 * beside the backward pass. */
TEST(more_memory_is_never_slower)
{
    double before_s = (double)INFINITY;
    for (double memory = 8.0; memory <= 160.0; memory *= 1.5) {
        struct plan_bed bed;
        struct gpu_spec gpu;
        struct training_placement best;
        bed_init(&bed, &gpu, 12);
        gpu.memory_bytes = memory * gb;
        bed.plan.micro_batch = 4;
        bed.plan.tiers.activations = HOME_HOST;
        if (!training_placement_find(&bed.parts, 0.0, &best)) continue;
        training_placement_set(&bed.plan, HOME_HOST, &best);
        const double seconds = plan_bed_step(&bed).step_s;
        CHECK(seconds <= before_s);
        before_s = seconds;
        if (memory > 130.0) CHECK_EQ_INT(best.swapped + best.recomputed, 0);
    }
    CHECK(isfinite(before_s));
}

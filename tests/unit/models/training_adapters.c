/* Adapters that the rings of a group get: the rings that NCCL 2.8.4 finds on a DGX A100, which has two GPUs and two
 * adapters behind each PCIe switch. */
#include "models/training/adapters.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

#include <math.h>

/* What its search lists for some GPUs of a node: the adapters of its rings, and whether they send without GPUDirect. */
struct found {
    int64_t tensor;    /* GPUs of a tensor group: members of a data group lie so far apart */
    int32_t adapters;  /* of the group's rings, on a node */
    bool is_staged;
};

/* Data groups of 32, 16, 8 and 4 ranks on eight nodes. With t = 1 the rings of all eight GPUs use all adapters. Else
 * those of both GPUs of a switch use its first one: an adapter for every second GPU of a node, for two groups. */
TEST(rings_share_first_adapters)
{
    static const struct found found[] = {{1, 8, false}, {2, 4, true}, {4, 2, true}, {8, 1, false}, {16, 1, false}};
    const struct training_adapters adapters = {.per_switch = 2, .staged_frac = 0.6};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        const int64_t stride = found[i].tensor, gpus = 64 / stride, nodes = gpus < 8 ? gpus : 8;
        const struct training_group group = {gpus, stride};
        const double own = (double)gpus / (double)nodes; /* adapters, were each GPU to use its own */
        const double meet = stride > 1 ? 2.0 : 1.0, staged = found[i].is_staged ? 0.6 : 1.0;
        CHECK_NEAR(training_adapter_share(&adapters, group, (double)nodes) * own,
                   (double)found[i].adapters / meet * staged, 1e-12);
    }
}

/* A switch with as many adapters as GPUs gives the rings of its groups all of them together. Members of a group that
 * share a switch leave by it. */
TEST(rings_of_wider_switches)
{
    const struct training_adapters four = {.per_switch = 4, .staged_frac = 0.5};
    CHECK_NEAR(training_adapter_share(&four, (struct training_group){16, 2}, 4.0), 0.5, 0.0);
    CHECK_NEAR(training_adapter_share(&four, (struct training_group){16, 4}, 8.0), 0.25 * 0.5, 0.0);
    CHECK_NEAR(training_adapter_share(&four, (struct training_group){8, 8}, 8.0), 0.25, 0.0);
    CHECK_NEAR(training_adapter_share(&four, (struct training_group){8, 1}, 1.0), 1.0, 0.0);
    const struct training_adapters own = {.per_switch = 1, .staged_frac = 0.5};
    CHECK_NEAR(training_adapter_share(&own, (struct training_group){32, 2}, 8.0), 1.0, 0.0);
}

/* Gradients of a large model take as many times as long as their adapters are shared; messages inside a node and sends
 * between stages take as long as before. */
TEST(first_adapters_slow_rings_between_nodes)
{
    for (int64_t tensor = 1; tensor <= 8; tensor *= 2) {
        struct plan_bed bed;
        plan_bed_init(&bed, &plan_bed_gpt);
        struct gpu_spec gpu = plan_bed_a100;
        gpu.gpus_per_switch = 2;
        bed.parts.gpu = &gpu;
        bed.llm.layers = 64;
        bed.plan.tensor = tensor;
        bed.plan.pipeline = 2;
        bed.plan.data = 64 / tensor;
        const struct training_step own = plan_bed_step(&bed);
        bed.trainer.first_adapters = true;
        bed.trainer.staged_frac = 0.5;
        const struct training_step first = plan_bed_step(&bed);
        const double times = tensor == 1 ? 1.0 : tensor == 8 ? 2.0 : 4.0;
        CHECK_NEAR(first.data_s / own.data_s, times, 0.05 * times);
        CHECK_NEAR(first.tensor_s, own.tensor_s, 0.0);
        CHECK_NEAR(first.pipeline_s, own.pipeline_s, 0.0);
        CHECK_NEAR(first.data_bytes, own.data_bytes, 0.0);
    }
}

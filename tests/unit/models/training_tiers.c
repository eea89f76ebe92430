/* States beyond the GPU: bytes and memory in closed form, and what work and transfers take together. */
#include "models/training/phases.h"
#include "models/training/tiers.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

#include <math.h>
#include <string.h>

static const double gb = 1e9;

/* All states on drives, every layer recomputed, 20 bytes of a parameter: as in ZeRO-Infinity. */
static void infinity_init(struct plan_bed *bed)
{
    plan_bed_init(bed, &plan_bed_gpt);
    bed->plan.recompute = RECOMPUTE_FULL;
    bed->plan.micro_batches = 1;
    bed->plan.zero = 3;
    bed->trainer.optimizer_bytes = 16.0;
    bed->plan.tiers = (struct training_tiers){
        .weights = HOME_DISK, .gradients = HOME_DISK, .optimizer = HOME_DISK, .flow = FLOW_PREFETCHED, .tiles = 1,
        .read_bytes_per_s = 6.0 * gb, .write_bytes_per_s = 3.0 * gb, .link_bytes_per_s = 25.0 * gb,
        .cpu_update_per_s = 5e9};
}

static double parameters_of(const struct plan_bed *bed)
{
    const struct training_parameters all = training_stage_parameters(&bed->parts, 0);
    return all.dense + all.expert;
}

/* Three loads of two bytes and a gradient of two: FLOP per byte are the tokens. States read and written: a quarter of
 * them. Without overlap the share of the peak follows, eff = ait bw/(ait bw + peak). */
TEST(arithmetic_intensity_is_tokens)
{
    struct plan_bed bed;
    infinity_init(&bed);
    const double parameters = parameters_of(&bed), tokens = 3.0 * 2048.0, peak = 120e12;
    const double flop = 8.0 * parameters * tokens;
    bed.plan.tiers.gradients = bed.plan.tiers.weights = HOME_HOST;
    bed.plan.tiers.flow = FLOW_SERIAL;
    const struct training_passes passes = {0.25 * flop / peak, 0.75 * flop / peak};
    const struct training_swaps swaps = training_swaps_of(&bed.parts, passes);
    CHECK_NEAR(flop / (swaps.up_bytes + swaps.down_bytes) / tokens, 1.0, 1e-12);
    CHECK_NEAR(flop / (swaps.read_bytes + swaps.written_bytes) / (0.25 * tokens), 1.0, 1e-12);
    const double speed = tokens * 25.0 * gb, computing_s = passes.forward_s + passes.backward_s;
    CHECK_NEAR(computing_s / (computing_s + swaps.wait_s) / (speed / (speed + peak)), 1.0, 1e-12);
}

/* Every state lies on one tier: 20 bytes of a parameter together, wherever. */
TEST(states_are_somewhere)
{
    struct plan_bed bed;
    for (int homes = 0; homes < 27; homes++) {
        infinity_init(&bed);
        bed.plan.tiers.weights = (enum training_home)(homes % 3);
        bed.plan.tiers.gradients = (enum training_home)(homes / 3 % 3);
        bed.plan.tiers.optimizer = (enum training_home)(homes / 9);
        if (training_plan_problem(&bed.plan, &bed.llm) != NULL) {
            CHECK(bed.plan.tiers.gradients != HOME_GPU && bed.plan.tiers.optimizer == HOME_GPU);
            continue;
        }
        const struct training_memory memory = training_memory_of(&bed.parts);
        const double buffers = 0.25 * memory.disk_bytes; /* two of eight layers */
        const double states = memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes + memory.host_bytes -
                              buffers + memory.disk_bytes;
        CHECK_NEAR(states / (20.0 * parameters_of(&bed)), 1.0, 1e-12);
    }
}

/* Data ranks share them, and a node has those of all its ranks. */
TEST(nodes_hold_the_shards_of_their_ranks)
{
    struct plan_bed bed;
    infinity_init(&bed);
    const double alone = training_memory_of(&bed.parts).disk_bytes;
    bed.plan.data = 32;
    CHECK_NEAR(training_memory_of(&bed.parts).disk_bytes / (alone / 4.0), 1.0, 1e-12);
    bed.plan.data = 4;
    CHECK_NEAR(training_memory_of(&bed.parts).disk_bytes / alone, 1.0, 1e-12);
}

/* A rank moves its shards and what a micro-batch keeps. A node reads and writes for all its ranks and the update. */
TEST(bytes_are_those_of_all_ranks)
{
    struct plan_bed bed;
    infinity_init(&bed);
    bed.plan.data = 8;
    bed.plan.micro_batches = 2;
    bed.plan.tiers.activations = HOME_HOST;
    const double shard = parameters_of(&bed) / 8.0, kept = training_kept_bytes(&bed.parts, 0);
    const struct training_swaps swaps = training_swaps_of(&bed.parts, (struct training_passes){1.0, 3.0});
    CHECK_NEAR(swaps.up_bytes / (2.0 * (3.0 * 2.0 * shard + kept)), 1.0, 1e-12);
    CHECK_NEAR(swaps.down_bytes / (2.0 * (2.0 * shard + kept)), 1.0, 1e-12);
    CHECK_NEAR(swaps.read_bytes / (8.0 * shard * (2.0 * 3.0 * 2.0 + 2.0 + 16.0 + 2.0)), 1.0, 1e-12);
    CHECK_NEAR(swaps.written_bytes / (8.0 * shard * (2.0 * 2.0 + 16.0 + 2.0)), 1.0, 1e-12);
    CHECK_NEAR(swaps.update.s[RESOURCE_CPU] / (8.0 * shard / 5e9), 1.0, 1e-12);
    CHECK_NEAR(swaps.update.s[RESOURCE_DRIVES] / (8.0 * shard * (18.0 / (6.0 * gb) + 18.0 / (3.0 * gb))), 1.0, 1e-12);
}

/* As tensor group of two, with half of the activations on drives where they may go there. */
static void spread_init(struct plan_bed *bed, int homes, int64_t data, bool recomputes)
{
    infinity_init(bed);
    bed->plan.recompute = recomputes ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    struct training_tiers *tiers = &bed->plan.tiers;
    bed->plan.tensor = 2;
    bed->plan.data = data;
    bed->plan.micro_batches = 2;
    tiers->weights = (enum training_home)(homes % 3);
    tiers->gradients = (enum training_home)(homes / 3 % 3);
    tiers->optimizer = (enum training_home)(homes / 9 % 3);
    tiers->host_bytes = training_homes_of(&bed->parts).host_bytes +
                        0.5 * training_ranks_on_node(&bed->plan) * training_kept_bytes(&bed->parts, 0);
    tiers->activations = (enum training_home)(homes / 27);
}

/* Every state crosses the link once for each use on the other side, and the drives once for each use: nothing else. The
 * table of tiers.h, for all homes, nodes of four and of eight ranks, owners of layers, with and without recomputing. */
TEST(bytes_are_those_that_change_their_side)
{
    for (int i = 0; i < 3 * 81 * 2; i++) {
        struct plan_bed bed;
        const int64_t data = i % 3 == 0 ? 2 : i % 3 == 1 ? 4 : 16;
        spread_init(&bed, i / 3 % 81, data, i % 2 == 0);
        const struct training_tiers *tiers = &bed.plan.tiers;
        bed.plan.tiers.by_owner = i / 243 == 1;
        if (training_plan_problem(&bed.plan, &bed.llm) != NULL || !training_tiers_used(tiers)) continue;
        const bool w = tiers->weights != HOME_GPU, g = tiers->gradients != HOME_GPU, o = tiers->optimizer != HOME_GPU;
        const bool a = tiers->activations != HOME_GPU, a_disk = tiers->activations == HOME_DISK;
        const bool w_disk = tiers->weights == HOME_DISK, g_disk = tiers->gradients == HOME_DISK;
        const double uses = i % 2 == 0 ? 3.0 : 2.0; /* of the weights: forward, backward, recomputing */
        const double ranks = fmin(8.0, 2.0 * (double)data), all = parameters_of(&bed), own = all / (double)data;
        const double kept = training_kept_bytes(&bed.parts, 0);
        const double states = tiers->optimizer == HOME_DISK ? ranks * 16.0 * own : 0.0;
        const struct training_swaps swaps = training_swaps_of(&bed.parts, (struct training_passes){1.0, 3.0});
        CHECK_NEAR(swaps.up_bytes, 2.0 * (w * uses * 2.0 * own + a * kept) + (o && !w) * 2.0 * own, 1.0);
        CHECK_NEAR(swaps.down_bytes, 2.0 * (g * 2.0 * own + a * kept) + (o && !g) * 2.0 * own + (w && !o) * 2.0 * own,
                   1.0);
        CHECK_NEAR(swaps.read_bytes,
                   2.0 * (w_disk * uses * 2.0 * ranks * own + a_disk * 0.5 * ranks * kept) + states +
                       g_disk * 2.0 * ranks * 2.0 * own, /* by the second micro-batch and by the update */
                   100.0);
        CHECK_NEAR(swaps.written_bytes,
                   2.0 * (g_disk * ranks * 2.0 * own + a_disk * 0.5 * ranks * kept) + states +
                       w_disk * ranks * 2.0 * own,
                   100.0);
        CHECK_NEAR(swaps.update.s[RESOURCE_CPU], o * ranks * own / 5e9, 1e-9);
    }
}

/* What the host has no room for cannot be more than all, nor room for two layers more than the only one. */
TEST(homes_have_their_bounds)
{
    struct plan_bed bed;
    infinity_init(&bed);
    bed.plan.tiers.activations = HOME_DISK;
    bed.plan.tiers.host_bytes = 1.0;
    CHECK_NEAR(training_homes_of(&bed.parts).activation_disk_frac, 1.0, 0.0);
    bed.plan.tiers.activations = HOME_GPU;
    bed.llm.layers = 1;
    const struct training_homes homes = training_homes_of(&bed.parts);
    CHECK_NEAR(homes.host_bytes, homes.disk_bytes, 0.0);
    CHECK_NEAR(homes.disk_bytes / (20.0 * parameters_of(&bed)), 1.0, 1e-12);
}

/* Drives are shared by reading data and checkpoints, links by others: each share counts for its own resource. */
TEST(others_take_from_one_resource)
{
    struct plan_bed bed;
    infinity_init(&bed);
    const struct training_passes passes = {1.0, 3.0};
    const struct training_load alone = training_swaps_of(&bed.parts, passes).backward;
    bed.plan.tiers.others_disk_frac = 0.75;
    const struct training_load disk = training_swaps_of(&bed.parts, passes).backward;
    CHECK_NEAR(disk.s[RESOURCE_DRIVES] / alone.s[RESOURCE_DRIVES], 4.0, 1e-12);
    CHECK_NEAR(disk.s[RESOURCE_UP], alone.s[RESOURCE_UP], 0.0);
    CHECK_NEAR(disk.s[RESOURCE_DOWN], alone.s[RESOURCE_DOWN], 0.0);
}

/* Gradients on drives are read by each micro-batch but the first, which adds its own; in host memory they stay. */
TEST(micro_batches_add_up_gradients)
{
    for (int64_t batches = 1; batches < 6; batches += 2) {
        struct plan_bed bed;
        infinity_init(&bed);
        bed.plan.micro_batches = batches;
        const struct training_swaps disk = training_swaps_of(&bed.parts, (struct training_passes){1.0, 3.0});
        bed.plan.tiers.gradients = HOME_HOST;
        const struct training_swaps host = training_swaps_of(&bed.parts, (struct training_passes){1.0, 3.0});
        const double gradients = 2.0 * parameters_of(&bed), n = (double)batches;
        CHECK_NEAR((disk.read_bytes - host.read_bytes) / gradients, n, 1e-9); /* the last time by the update */
        CHECK_NEAR((disk.written_bytes - host.written_bytes) / gradients, n, 1e-9);
        CHECK_NEAR(disk.down_bytes / host.down_bytes, 1.0, 0.0);
    }
}

/* What ranks do not shard, each of them keeps whole: it reads and writes it. What GPUs reduce or gather at the end of a
 * step passes their links. In bytes of a whole copy, by ZeRO stage, of four ranks of a node and one micro-batch. */
TEST(whole_copies_move_whole)
{
    static const double up[] = {3.0 + 1.0, 3.0 + 1.0 + 0.25, 3.0 + 0.25, 0.75};
    static const double down[] = {1.0 + 1.0, 1.0 + 0.25 + 1.0, 0.25 + 1.0, 0.25};
    static const double read[] = {12.0 + 32.0 + 4.0, 12.0 + 8.0 + 4.0, 12.0 + 8.0 + 1.0, 3.0 + 8.0 + 1.0};
    static const double written[] = {4.0 + 32.0 + 4.0, 4.0 + 8.0 + 4.0, 1.0 + 8.0 + 4.0, 1.0 + 8.0 + 1.0};
    for (int zero = 0; zero < 4; zero++) {
        struct plan_bed bed;
        infinity_init(&bed);
        bed.plan.data = 4;
        bed.plan.zero = zero;
        const double copy = 2.0 * parameters_of(&bed);
        const struct training_swaps swaps = training_swaps_of(&bed.parts, (struct training_passes){1.0, 3.0});
        CHECK_NEAR(swaps.up_bytes / copy, up[zero], 1e-12);
        CHECK_NEAR(swaps.down_bytes / copy, down[zero], 1e-12);
        CHECK_NEAR(swaps.read_bytes / copy, read[zero], 1e-12);
        CHECK_NEAR(swaps.written_bytes / copy, written[zero], 1e-12);
    }
}

/* A rate of next to nothing makes a step long, in every flow, and never short or not a number. */
TEST(next_to_no_rate_takes_for_ever)
{
    for (int rate = 0; rate < 4; rate++)
        for (int flow = 0; flow < 3; flow++) {
            struct plan_bed bed;
            infinity_init(&bed);
            struct training_tiers *tiers = &bed.plan.tiers;
            double *const rates[] = {&tiers->read_bytes_per_s, &tiers->write_bytes_per_s, &tiers->link_bytes_per_s,
                                     &tiers->cpu_update_per_s};
            tiers->flow = (enum training_flow)flow;
            *rates[rate] = 1e-300;
            CHECK(plan_bed_step(&bed).step_s > 1e200);
        }
}

/* With an owner, n ranks have the link of one; drives of a node have as much to read, if the ranks fill it. */
TEST(all_links_together_bring_weights_sooner)
{
    struct plan_bed bed;
    infinity_init(&bed);
    bed.plan.data = 8;
    const struct training_passes passes = {1.0, 3.0};
    const struct training_swaps all = training_swaps_of(&bed.parts, passes);
    bed.plan.tiers.by_owner = true;
    const struct training_swaps owner = training_swaps_of(&bed.parts, passes);
    CHECK_NEAR(owner.forward.s[RESOURCE_UP] / all.forward.s[RESOURCE_UP], 8.0, 1e-9);
    CHECK_NEAR(owner.forward.s[RESOURCE_DRIVES] / all.forward.s[RESOURCE_DRIVES], 1.0, 1e-9);
    CHECK(owner.wait_s >= all.wait_s);
    bed.plan.data = 32; /* of four nodes, one at a time reads */
    const struct training_swaps far_owner = training_swaps_of(&bed.parts, passes);
    bed.plan.tiers.by_owner = false;
    const struct training_swaps far = training_swaps_of(&bed.parts, passes);
    CHECK_NEAR(far_owner.forward.s[RESOURCE_DRIVES] / far.forward.s[RESOURCE_DRIVES], 4.0, 1e-9);
    CHECK_NEAR(far_owner.forward.s[RESOURCE_UP] / far.forward.s[RESOURCE_UP], 32.0, 1e-9);
    CHECK_NEAR(far_owner.up_bytes / far.up_bytes, 1.0, 1e-12); /* each owner moves its own layers alone */
    CHECK_NEAR(far_owner.read_bytes / far.read_bytes, 1.0, 1e-12);
}

/* A tile more takes its part of two layers' weights and gradients. */
TEST(tiles_cut_what_is_at_work)
{
    struct plan_bed bed;
    infinity_init(&bed);
    bed.plan.sequence_tokens = 64; /* the layer outweighs the loss */
    const struct training_parameters layer = training_block_parameters(&bed.parts, BLOCK_DENSE);
    const double whole = training_memory_of(&bed.parts).working_bytes;
    bed.plan.tiers.tiles = 2;
    const double halves = training_memory_of(&bed.parts).working_bytes;
    CHECK_NEAR((whole - halves) / (0.5 * 2.0 * 4.0 * layer.dense), 1.0, 1e-9);
    CHECK_NEAR(plan_bed_step(&bed).step_s, (bed.plan.tiers.tiles = 1, plan_bed_step(&bed).step_s), 0.0);
}

/* Numbers of layers above those of the LLM, or of what stays on the GPU in any case, are refused. */
TEST(numbers_of_layers_that_do_nothing_are_refused)
{
    static const struct {
        int64_t persistent, buffers, swapped;
        enum training_home states, kept;
        bool possible;
    } cases[] = {{8, 8, 8, HOME_HOST, HOME_HOST, true}, {9, 0, 0, HOME_HOST, HOME_HOST, false},
                 {0, 9, 0, HOME_HOST, HOME_HOST, false}, {0, 0, 9, HOME_HOST, HOME_HOST, false},
                 {0, 0, 8, HOME_GPU, HOME_HOST, true}, {1, 0, 0, HOME_GPU, HOME_HOST, false},
                 {0, 2, 0, HOME_GPU, HOME_HOST, false}, {8, 2, 0, HOME_HOST, HOME_GPU, true},
                 {0, 0, 1, HOME_HOST, HOME_GPU, false}, {1, 2, 1, HOME_GPU, HOME_GPU, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_bed bed;
        infinity_init(&bed);
        struct training_tiers *tiers = &bed.plan.tiers;
        tiers->weights = tiers->gradients = tiers->optimizer = cases[i].states;
        tiers->activations = cases[i].kept;
        tiers->persistent = cases[i].persistent;
        tiers->buffers = cases[i].buffers;
        tiers->swapped = cases[i].swapped;
        CHECK_EQ_INT(training_plan_problem(&bed.plan, &bed.llm) == NULL, cases[i].possible);
    }
}

/* Layers that pass through the five resources one after another, each resource one layer at a time. */
static double line_s(const struct training_load *load, int64_t layers)
{
    double free_s[TRAINING_RESOURCES] = {0.0};
    for (int64_t layer = 0; layer < layers; layer++) {
        double ready_s = 0.0;
        for (int i = 0; i < TRAINING_RESOURCES; i++)
            ready_s = free_s[i] = fmax(ready_s, free_s[i]) + load->s[i] / (double)layers;
    }
    return free_s[TRAINING_RESOURCES - 1];
}

/* Prefetching is the line of layers, never below the work of a resource and never above taking turns. */
TEST(prefetched_layers_pass_in_line)
{
    struct plan_bed bed;
    const double gpu_s[] = {0.01, 1.0, 100.0};
    for (int i = 0; i < 3; i++)
        for (int64_t batches = 1; batches < 4; batches += 2) {
            infinity_init(&bed);
            bed.plan.tiers.activations = HOME_HOST;
            bed.plan.micro_batches = batches;
            const struct training_passes passes = {gpu_s[i], 3.0 * gpu_s[i]};
            const struct training_swaps swaps = training_swaps_of(&bed.parts, passes);
            const double n = (double)batches, all_s = swaps.wait_s + swaps.update_s + 4.0 * n * gpu_s[i];
            if (batches == 1)
                CHECK_NEAR(all_s / (line_s(&swaps.forward, 8) + line_s(&swaps.backward, 8) + line_s(&swaps.update, 8)),
                           1.0, 1e-12);
            for (int k = 0; k < TRAINING_RESOURCES; k++)
                CHECK(all_s >= (n * (swaps.forward.s[k] + swaps.backward.s[k]) + swaps.update.s[k]) * (1.0 - 1e-12));
            bed.plan.tiers.flow = FLOW_SERIAL;
            const struct training_swaps serial = training_swaps_of(&bed.parts, passes);
            CHECK(serial.wait_s >= swaps.wait_s && serial.update_s >= swaps.update_s);
        }
}

/* The update beside the last backward pass: the line of layers through both, never slower than one after the other. */
TEST(pipelined_layers_are_updated_in_line)
{
    struct plan_bed bed;
    const double gpu_s[] = {0.01, 1.0, 5.0, 100.0};
    for (int i = 0; i < 4; i++)
        for (int64_t batches = 1; batches < 4; batches++) {
            infinity_init(&bed);
            bed.plan.micro_batches = batches;
            const struct training_passes passes = {gpu_s[i], 3.0 * gpu_s[i]};
            const struct training_swaps after = training_swaps_of(&bed.parts, passes);
            bed.plan.tiers.flow = FLOW_PIPELINED;
            const struct training_swaps beside = training_swaps_of(&bed.parts, passes);
            struct training_load last = beside.backward;
            for (int k = 0; k < TRAINING_RESOURCES; k++) last.s[k] += beside.update.s[k];
            const double n = (double)batches, all_s = beside.wait_s + beside.update_s + 4.0 * n * gpu_s[i];
            CHECK(all_s <= (after.wait_s + after.update_s + 4.0 * n * gpu_s[i]) * (1.0 + 1e-12));
            if (batches == 1) CHECK_NEAR(all_s / (line_s(&beside.forward, 8) + line_s(&last, 8)), 1.0, 1e-12);
            for (int k = 0; k < TRAINING_RESOURCES; k++)
                CHECK(all_s >=
                      (n * beside.forward.s[k] + (n - 1.0) * beside.backward.s[k] + last.s[k]) * (1.0 - 1e-12));
        }
    CHECK_NEAR(training_swaps_of(&bed.parts, (struct training_passes){1e6, 3e6}).update_s, 0.0, 0.0);
}

/* Without bounds on what moves, a step is that on the GPU but for the update, which CPUs then do in no time. */
TEST(fast_tiers_cost_nothing)
{
    struct plan_bed bed;
    infinity_init(&bed);
    struct training_tiers *tiers = &bed.plan.tiers;
    tiers->read_bytes_per_s = tiers->write_bytes_per_s = tiers->link_bytes_per_s = tiers->cpu_update_per_s = 1e30;
    const struct training_step beyond = plan_bed_step(&bed);
    *tiers = (struct training_tiers){.weights = HOME_GPU};
    const struct training_step kept = plan_bed_step(&bed);
    CHECK_NEAR(beyond.swap_s, 0.0, 1e-9);
    CHECK_NEAR((beyond.step_s - beyond.optimizer_s) / (kept.step_s - kept.optimizer_s), 1.0, 1e-9);
    CHECK(kept.up_bytes + kept.down_bytes + kept.read_bytes + kept.written_bytes == 0.0);
    CHECK(kept.memory.host_bytes + kept.memory.disk_bytes == 0.0);
    CHECK(beyond.memory.total_bytes < kept.memory.total_bytes);
}

/* The parts of a step and its phases add up to it, whatever waits for states; a GPU that waits idles. */
TEST(waiting_for_states_is_part_of_the_step)
{
    const enum training_flow flows[] = {FLOW_SERIAL, FLOW_PREFETCHED, FLOW_PIPELINED};
    for (int i = 0; i < 3; i++) {
        struct plan_bed bed;
        struct power_stage phases[TRAINING_PHASES];
        double sum_s = 0.0;
        infinity_init(&bed);
        bed.plan.data = 8;
        bed.plan.tiers.flow = flows[i];
        const struct training_step step = plan_bed_step(&bed);
        CHECK(step.swap_s > 0.0);
        CHECK_NEAR((step.forward_s + step.backward_s + step.recompute_s + step.data_s + step.swap_s + step.optimizer_s +
                    step.host_s) /
                       step.step_s,
                   1.0, 1e-12);
        training_phases_of(&bed.parts, &step, phases);
        for (int k = 0; k < TRAINING_PHASES; k++) sum_s += phases[k].time_s;
        CHECK_NEAR(sum_s / step.step_s, 1.0, 1e-12);
        CHECK(phases[PHASE_WAITING].time_s >= step.swap_s);
    }
}

/* What others take of a bandwidth is as if it were not there. */
TEST(others_take_their_share)
{
    struct plan_bed bed;
    infinity_init(&bed);
    const double alone_s = plan_bed_step(&bed).step_s;
    bed.plan.tiers.others_disk_frac = bed.plan.tiers.others_link_frac = 0.75;
    CHECK(plan_bed_step(&bed).step_s > alone_s);
    bed.plan.tiers.read_bytes_per_s *= 4.0;
    bed.plan.tiers.write_bytes_per_s *= 4.0;
    bed.plan.tiers.link_bytes_per_s *= 4.0;
    CHECK_NEAR(plan_bed_step(&bed).step_s, alone_s, 1e-9 * alone_s);
}

/* The first tier without room is named; activations go on to drives where they may. */
TEST(each_tier_has_room_or_not)
{
    struct plan_bed bed;
    infinity_init(&bed);
    CHECK(plan_bed_step(&bed).fits);
    const struct training_memory memory = training_memory_of(&bed.parts);
    bed.plan.tiers.disk_bytes = memory.disk_bytes;
    bed.plan.tiers.host_bytes = memory.host_bytes;
    CHECK(plan_bed_step(&bed).fits && plan_bed_step(&bed).lacks == TRAINING_HOMES);
    bed.plan.tiers.disk_bytes *= 0.999;
    CHECK(plan_bed_step(&bed).lacks == HOME_DISK);
    bed.plan.tiers.disk_bytes = 0.0;
    bed.plan.tiers.activations = HOME_HOST;
    CHECK(plan_bed_step(&bed).lacks == HOME_HOST);
    bed.plan.tiers.activations = HOME_DISK;
    const double kept = training_kept_bytes(&bed.parts, 0);
    bed.plan.tiers.host_bytes += 0.25 * kept;
    const struct training_memory split = training_memory_of(&bed.parts);
    CHECK_NEAR(training_homes_of(&bed.parts).activation_disk_frac, 0.75, 1e-9);
    CHECK_NEAR(split.disk_bytes - memory.disk_bytes, 0.75 * kept, 1e-6 * kept);
    CHECK(plan_bed_step(&bed).fits);
}

static const char *problem_with(void (*change)(struct training_plan *plan))
{
    struct plan_bed bed;
    infinity_init(&bed);
    change(&bed.plan);
    const char *problem = training_plan_problem(&bed.plan, &bed.llm);
    return problem != NULL ? problem : "";
}

static void no_drives(struct training_plan *plan) { plan->tiers.write_bytes_per_s = 0.0; }
static void no_cpus(struct training_plan *plan) { plan->tiers.cpu_update_per_s = 0.0; }
static void no_link(struct training_plan *plan) { plan->tiers.link_bytes_per_s = 0.0; }
static void gpu_updates(struct training_plan *plan) { plan->tiers.optimizer = HOME_GPU; }
static void both_offload(struct training_plan *plan)
{
    plan->offload = (struct training_offload){.optimizer_frac = 0.5, .cpu_update_per_s = 1e9, .link_bytes_per_s = 1e9};
}
static void has_stages(struct training_plan *plan)
{
    plan->zero = 1;
    plan->pipeline = 2;
}

TEST(impossible_tiers_have_reasons)
{
    CHECK(strstr(problem_with(no_drives), "tiers.disk_write") != NULL);
    CHECK(strstr(problem_with(no_cpus), "tiers.cpu_update") != NULL);
    CHECK(strstr(problem_with(no_link), "link") != NULL);
    CHECK(strstr(problem_with(gpu_updates), "tiers.gradients") != NULL);
    CHECK(strstr(problem_with(both_offload), "offload.optimizer") != NULL);
    CHECK(strstr(problem_with(has_stages), "pipeline_parallel") != NULL);
}

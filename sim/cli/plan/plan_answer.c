/* The answer: one plan with its parts, or the best plans of a search. */
#include "sim/cli/plan/plan.h"

#include "models/training/tiers.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>

static const double gib = 1024.0 * 1024.0 * 1024.0;

static void add_size(struct text *text, const char *name, int64_t size)
{
    if (size > 1) text_printf(text, ", %s %" PRId64, name, size);
}

/* "stages apart by NIC with 12/12/8/8 layers". */
static void add_nics(struct text *text, const struct training_plan *plan, const struct llm_spec *llm)
{
    if (plan->nics.n == 0) return;
    text_add(text, plan->nics.is_mixed ? ", NICs mixed" : ", stages apart by NIC");
    if (plan->nics.is_mixed) return;
    for (int64_t i = 0; i < plan->pipeline; i++)
        text_printf(text, "%s%" PRId64, i == 0 ? " with " : "/", training_plan_layers(plan, llm, i));
    text_add(text, " layers");
}

static const char *const messages[] = {"stored", "int8", "int4"};

/* "TP 8, PP 2, DP 4"; "shards 1/1/8" are those of weights, gradients and optimizer states. */
static void describe(const struct training_plan *plan, const struct training_config *config, const struct llm_spec *llm,
                     struct text *text)
{
    static const char *const recomputes[] = {"", ", selective recomputation", ", full recomputation", "", ""};
    text_printf(text, "TP %" PRId64 ", PP %" PRId64, plan->tensor, plan->pipeline);
    add_size(text, "chunks", plan->chunks);
    add_size(text, "CP", plan->context);
    add_size(text, "EP", plan->expert);
    text_printf(text, ", DP %" PRId64, plan->data);
    if (plan->shard_optimizer > 0)
        text_printf(text, ", shards %" PRId64 "/%" PRId64 "/%" PRId64, plan->shard_weights, plan->shard_gradients,
                    plan->shard_optimizer);
    else if (plan->zero != 1)
        text_printf(text, ", ZeRO %" PRId64, plan->zero);
    if (plan->shard_secondary > 0) text_printf(text, ", second copy %" PRId64, plan->shard_secondary);
    const bool gathers = training_plan_shards(plan, training_plan_replicas(plan)).optimizer > 1;
    if (plan->weight_message != MESSAGE_STORED && gathers)
        text_printf(text, ", weights sent in %s", messages[plan->weight_message]);
    if (plan->gradient_message != MESSAGE_STORED)
        text_printf(text, ", gradients in %s", messages[plan->gradient_message]);
    text_add(text, recomputes[config->recompute]);
    if (training_chooses_layers(config->recompute) && plan->recompute == RECOMPUTE_FULL)
        text_printf(text, ", %" PRId64 " layers of a stage recomputed", plan->recompute_layers);
    if (config->tiers.placement == 1)
        text_printf(
            text, ", layers: %" PRId64 " persistent, %" PRId64 " buffered, %" PRId64 " swapped, %" PRId64 " recomputed",
            plan->tiers.persistent, plan->tiers.buffers, plan->tiers.swapped, plan->recompute_layers);
    add_nics(text, plan, llm);
}

/* --- JSON --- */

/* Of plans over clusters. */
static void add_clusters(struct answer *answer, const struct training_plan *plan, const struct llm_spec *llm)
{
    if (plan->nics.n == 0) return;
    answer_bool(answer, "nics_mixed", plan->nics.is_mixed);
    answer_open(answer, "stage_layers", '[');
    for (int64_t i = 0; i < plan->pipeline; i++)
        answer_number(answer, NULL, (double)training_plan_layers(plan, llm, i));
    answer_close(answer, ']');
}

static void add_layout(struct answer *answer, const struct training_plan *plan, const struct training_config *config,
                       const struct llm_spec *llm)
{
    static const char *const recomputes[] = {"none", "selective", "full", "as-needed", "fastest"};
    answer_number(answer, "tensor_parallel", (double)plan->tensor);
    answer_number(answer, "pipeline_parallel", (double)plan->pipeline);
    answer_number(answer, "pipeline_chunks", (double)plan->chunks);
    answer_number(answer, "context_parallel", (double)plan->context);
    answer_number(answer, "expert_parallel", (double)plan->expert);
    answer_number(answer, "data_parallel", (double)plan->data);
    answer_number(answer, "zero", (double)plan->zero);
    answer_number(answer, "shard_weights", (double)plan->shard_weights);
    answer_number(answer, "shard_gradients", (double)plan->shard_gradients);
    answer_number(answer, "shard_optimizer", (double)plan->shard_optimizer);
    answer_number(answer, "shard_secondary", (double)plan->shard_secondary);
    answer_text(answer, "weight_messages", messages[plan->weight_message]);
    answer_text(answer, "gradient_messages", messages[plan->gradient_message]);
    answer_text(answer, "recompute", recomputes[config->recompute]);
    if (training_chooses_layers(config->recompute))
        answer_number(answer, "recompute_layers",
                      plan->recompute == RECOMPUTE_FULL ? (double)plan->recompute_layers : 0.0);
    if (config->tiers.placement == 1) {
        answer_open(answer, "placement", '{');
        answer_number(answer, "persistent", (double)plan->tiers.persistent);
        answer_number(answer, "buffers", (double)plan->tiers.buffers);
        answer_number(answer, "swapped", (double)plan->tiers.swapped);
        answer_number(answer, "recomputed", (double)plan->recompute_layers);
        answer_close(answer, '}');
    }
    add_clusters(answer, plan, llm);
    answer_number(answer, "micro_batch", (double)plan->micro_batch);
    answer_number(answer, "micro_batches", (double)plan->micro_batches);
    answer_number(answer, "global_batch", (double)training_plan_sequences(plan));
}

/* Parts of the step in the order of the answer; the last name is NULL. */
struct part {
    const char *name, *shown;
    double value;
};

enum { STEP_PARTS = 14, BUBBLE_PART = 3, MEMORY_PARTS = 6, LEVEL_PARTS = 3 };

static void step_parts(const struct training_step *step, struct part parts[STEP_PARTS])
{
    const struct part all[STEP_PARTS] = {
        {"forward_s", "forward", step->forward_s},
        {"backward_s", "backward", step->backward_s},
        {"recompute_s", "recomputation", step->recompute_s},
        {"bubble_s", "pipeline bubble", step->bubble_s},
        {"tensor_s", "tensor-parallel messages", step->tensor_s},
        {"context_s", "context-parallel messages", step->context_s},
        {"expert_s", "expert-parallel messages", step->expert_s},
        {"pipeline_s", "messages between stages", step->pipeline_s},
        {"data_s", "gradients and weights", step->data_s},
        {"quantise_s", "messages made narrow", step->quantise_s},
        {"flush_s", "gradients to the host", step->flush_s},
        {"swap_s", "states beyond the GPU", step->swap_s},
        {"optimizer_s", "optimizer", step->optimizer_s},
        {"host_s", "CPU", step->host_s}};
    for (int i = 0; i < STEP_PARTS; i++) parts[i] = all[i];
}

static void memory_parts(const struct training_memory *memory, struct part parts[MEMORY_PARTS])
{
    const struct part all[MEMORY_PARTS] = {
        {"weight_bytes", "weights", memory->weight_bytes},
        {"gradient_bytes", "gradients", memory->gradient_bytes},
        {"optimizer_bytes", "optimizer", memory->optimizer_bytes},
        {"activation_bytes", "activations", memory->activation_bytes},
        {"working_bytes", "working set", memory->working_bytes},
        {"buffer_bytes", "buffers", memory->buffer_bytes}};
    for (int i = 0; i < MEMORY_PARTS; i++) parts[i] = all[i];
}

/* --- Sequences of unlike length --- */

static const char *const split_names[] = {"static", "flexible", "hybrid", "best static plan"};

/* The step with each split. Speedups are over the best static plan of all widths. Some batches fell back on a static
 * split. */
static void add_splits(struct answer *answer, const char *key, const char *heading, const struct plan_found *found)
{
    static const struct table_column columns[] = {LEFT("split"),      RIGHT("step_s"),
                                                  RIGHT("speedup"),   RIGHT("ranks_per_token"),
                                                  RIGHT("waiting_s"), RIGHT("fell_back")};
    const struct training_step *base = &found->splits[SPLIT_BEST_STATIC];
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int split = 0; split < TRAINING_SPLITS; split++) {
        const struct training_step *step = &found->splits[split];
        const double values[] = {step->step_s, base->step_s / step->step_s, step->width, step->bubble_s,
                                 step->static_frac};
        table_text(&table, split_names[split]);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            char shown[32];
            snprintf(shown, sizeof shown, "%.4g", values[i]);
            table_shown(&table, values[i], shown);
        }
    }
    answer_add(answer, key, heading, &table);
}

static double least_step_s(const struct training_step *step)
{
    return step->step_s - step->passes_s - step->bubble_s + step->bound_s;
}

static double mean_tokens(const struct training_plan *plan)
{
    return training_plan_tokens(plan) / (double)training_plan_sequences(plan);
}

static void add_lengths(struct answer *answer, const struct plan_found *found)
{
    if (found->plan.lengths == NULL) return;
    answer_open(answer, "lengths", '{');
    answer_text(answer, "split", split_names[found->plan.split]);
    answer_number(answer, "mean_tokens", mean_tokens(&found->plan));
    answer_number(answer, "longest_tokens", (double)training_plan_longest(&found->plan));
    answer_number(answer, "bound_s", least_step_s(&found->splits[SPLIT_HYBRID]));
    add_splits(answer, "splits", NULL, found);
    answer_close(answer, '}');
}

static void say_lengths(struct answer *answer, const struct plan_found *found)
{
    if (found->plan.lengths == NULL) return;
    add_splits(answer, NULL, NULL, found);
    answer_say(answer, "no split of this plan into its widths takes less than %.4g s, at these prices\n",
               least_step_s(&found->splits[SPLIT_HYBRID]));
}

/* --- The parts as data --- */

static void add_data(struct answer *answer, const struct training_setup *setup, const struct plan_found *found)
{
    const struct training_step *step = &found->step;
    struct part times[STEP_PARTS], bytes[MEMORY_PARTS];
    step_parts(step, times);
    memory_parts(&step->memory, bytes);
    answer_open(answer, "step", '{');
    answer_number(answer, "step_s", step->step_s);
    for (int i = 0; i < STEP_PARTS; i++) answer_number(answer, times[i].name, times[i].value);
    answer_close(answer, '}');
    answer_open(answer, "memory", '{');
    answer_number(answer, "total_bytes", step->memory.total_bytes);
    for (int i = 0; i < MEMORY_PARTS; i++) answer_number(answer, bytes[i].name, bytes[i].value);
    answer_number(answer, "gpu_bytes", setup->gpu.memory_bytes);
    answer_number(answer, "host_bytes", step->memory.host_bytes);
    answer_number(answer, "disk_bytes", step->memory.disk_bytes);
    answer_number(answer, "stage", (double)step->memory.stage);
    answer_bool(answer, "fits", step->fits);
    answer_close(answer, '}');
    answer_open(answer, "moved", '{');
    answer_number(answer, "to_gpu_bytes", step->up_bytes);
    answer_number(answer, "from_gpu_bytes", step->down_bytes);
    answer_number(answer, "disk_read_bytes", step->read_bytes);
    answer_number(answer, "disk_written_bytes", step->written_bytes);
    answer_close(answer, '}');
    answer_number(answer, "mfu", step->mfu);
    answer_number(answer, "hfu", step->hfu);
    answer_number(answer, "tflops_per_gpu", step->flop_per_s / 1e12);
    answer_number(answer, "tokens_per_s", training_plan_tokens(&found->plan) / step->step_s);
    answer_number(answer, "model_flop", step->model_flop);
    answer_number(answer, "hardware_flop", step->hardware_flop);
    if (step->forward_parts > 0) {
        answer_number(answer, "expert_forward_parts", step->forward_parts);
        answer_number(answer, "expert_backward_parts", step->backward_parts);
    }
    answer_number(answer, "outside_frac", step->outside_frac);
}

static double exposed_s(const struct training_step *step)
{
    return step->tensor_s + step->context_s + step->expert_s + step->pipeline_s + step->data_s;
}

static double tokens_of(const struct plan_found *found)
{
    return training_plan_tokens(&found->plan);
}

/* Bytes of a step, over all GPUs. */
static void level_parts(const struct training_levels *levels, struct part parts[LEVEL_PARTS])
{
    const struct part all[LEVEL_PARTS] = {{"node_bytes", "within nodes", levels->node_bytes},
                                          {"rack_bytes", "between nodes of a rack", levels->rack_bytes},
                                          {"site_bytes", "between racks", levels->site_bytes}};
    for (int i = 0; i < LEVEL_PARTS; i++) parts[i] = all[i];
}

static void add_traffic(struct answer *answer, const struct plan_found *found)
{
    struct part bytes[LEVEL_PARTS];
    level_parts(&found->levels, bytes);
    answer_open(answer, "traffic", '{');
    for (int i = 0; i < LEVEL_PARTS; i++) answer_number(answer, bytes[i].name, bytes[i].value);
    answer_number(answer, "node_bytes_per_token", found->levels.node_bytes / tokens_of(found));
    answer_number(answer, "rack_bytes_per_token", found->levels.rack_bytes / tokens_of(found));
    answer_number(answer, "site_bytes_per_token", found->levels.site_bytes / tokens_of(found));
    answer_number(answer, "exposed_frac", exposed_s(&found->step) / found->step.step_s);
    answer_number(answer, "binds_at_oversubscription",
                  isfinite(found->levels.binds_at) ? found->levels.binds_at : (double)NAN);
    answer_close(answer, '}');
}

static void add_subject(struct answer *answer, const struct training_setup *setup)
{
    answer_text(answer, "llm", setup->llm.name);
    answer_text(answer, "gpu", setup->gpu.name);
    answer_number(answer, "gpus", (double)setup->gpus);
    answer_text(answer, "trainer", setup->preset.name);
    answer_bool(answer, "trainer_measured", setup->trainer_measured);
    answer_bool(answer, "calibrated", setup->calibration.calibrated);
}

/* --- Text --- */

static void say_trust(struct answer *answer, const struct training_setup *setup, double outside_frac)
{
    answer_say(answer, "\n%.0f %% of the kernels' time lies outside the calibrated range.\n", 100.0 * outside_frac);
    if (!setup->calibration.calibrated && setup->gpu.slices > 0)
        answer_say(answer, "No kernel of a slice was measured: times follow those of %s.\n",
                   gpu_whole_name(&setup->gpu));
    else if (!setup->calibration.calibrated)
        answer_say(answer, "No kernel of %s was measured: times follow the fit over all GPUs%s.\n", setup->gpu.name,
                   gpu_vendor_caveat(&setup->gpu));
    if (!setup->trainer_measured)
        answer_say(answer, "The constants of %s were not fitted on %s.\n", setup->preset.name, setup->gpu.name);
}

static void say_parts(struct answer *answer, const char *heading, const char *unit, const struct part *parts, int n,
                      double total, double scale)
{
    const struct table_column columns[] = {LEFT_SHOWN(heading), RIGHT_SHOWN(unit), RIGHT_SHOWN("share")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int i = 0; i < n; i++) {
        char value[32], share[32];
        if (!(parts[i].value > 0.0)) continue;
        snprintf(value, sizeof value, "%.4g", parts[i].value / scale);
        snprintf(share, sizeof share, "%.1f %%", 100.0 * parts[i].value / total);
        table_text(&table, parts[i].shown);
        table_shown(&table, parts[i].value, value);
        table_shown(&table, parts[i].value / total, share);
    }
    answer_add(answer, NULL, NULL, &table);
}

/* Of plans over several nodes. */
static void say_traffic(struct answer *answer, const struct plan_found *found)
{
    const struct training_levels *levels = &found->levels;
    const double all = levels->node_bytes + levels->rack_bytes + levels->site_bytes;
    struct part bytes[LEVEL_PARTS];
    if (!(levels->rack_bytes + levels->site_bytes > 0.0)) return;
    answer_say(answer, "\nmessages of all GPUs, %.4g bytes per token; waiting for them is %.1f %% of the step",
               all / tokens_of(found), 100.0 * exposed_s(&found->step) / found->step.step_s);
    if (isfinite(levels->binds_at))
        answer_say(answer, "\nracks that are oversubscribed by more than %.4g make it slower", levels->binds_at);
    answer_say(answer, "\n\n");
    level_parts(levels, bytes);
    say_parts(answer, "messages", "GB", bytes, LEVEL_PARTS, all, 1e9);
}

static void say_tier(struct answer *answer, const char *name, double bytes, double most_bytes)
{
    if (!(bytes > 0.0)) return;
    answer_say(answer, "%s of a node: %.4g", name, bytes / gib);
    if (most_bytes > 0.0)
        answer_say(answer, " of %.4g GiB: %s\n", most_bytes / gib, bytes <= most_bytes ? "fits" : "does not fit");
    else
        answer_say(answer, " GiB\n");
}

/* Of plans with states beyond the GPU. */
static void say_tiers(struct answer *answer, const struct plan_found *found)
{
    const struct training_step *step = &found->step;
    const struct training_tiers *tiers = &found->plan.tiers;
    if (!training_tiers_used(tiers)) return;
    answer_say(answer, "\n");
    say_tier(answer, "host memory", step->memory.host_bytes, tiers->host_bytes);
    say_tier(answer, "drives", step->memory.disk_bytes, tiers->disk_bytes);
    answer_say(answer, "in a step a GPU gets %.4g GB and sends %.4g GB over its link", step->up_bytes / 1e9,
               step->down_bytes / 1e9);
    if (step->read_bytes + step->written_bytes > 0.0)
        answer_say(answer, "; a node reads %.4g GB and writes %.4g GB", step->read_bytes / 1e9,
                   step->written_bytes / 1e9);
    answer_say(answer, "\n");
}

static void say_plan(struct answer *answer, const struct training_setup *setup, const struct plan_found *found)
{
    const struct training_plan *plan = &found->plan;
    const struct training_step *step = &found->step;
    struct part times[STEP_PARTS], bytes[MEMORY_PARTS];
    struct text layout;
    text_init(&layout);
    describe(plan, &found->config, &setup->llm, &layout);
    answer_say(answer, "%s (%" PRId64 " layers) on %" PRId64 " %s, %s: %s\n", setup->llm.name, setup->llm.layers,
               training_plan_gpus(plan), setup->gpu.name, setup->preset.name, layout.failed ? "" : layout.chars);
    text_fini(&layout);
    if (plan->lengths == NULL)
        answer_say(answer, "%" PRId64 " micro-batches of %" PRId64 " x %" PRId64 " tokens on each data rank\n",
                   plan->micro_batches, plan->micro_batch, plan->sequence_tokens);
    else
        answer_say(answer, "%" PRId64 " %s of %.0f tokens on the mean, at most %" PRId64 "; %s split\n",
                   training_plan_sequences(plan), training_plan_sequences(plan) == 1 ? "sequence" : "sequences",
                   mean_tokens(plan), training_plan_longest(plan), split_names[plan->split]);
    if (step->forward_parts > 1 || step->backward_parts > 1)
        answer_say(answer, "experts get %d part%s of a micro-batch in turn forward, %d backward\n", step->forward_parts,
                   step->forward_parts == 1 ? "" : "s", step->backward_parts);
    else if (step->forward_parts == 1)
        answer_say(answer, "experts get whole micro-batches: no number of parts is faster\n");
    answer_say(answer, "step %.4g s: %.4g tokens/s, %.4g TFLOP/s of a GPU, MFU %.1f %%, HFU %.1f %%\n\n", step->step_s,
               training_plan_tokens(plan) / step->step_s, step->flop_per_s / 1e12, 100.0 * step->mfu,
               100.0 * step->hfu);
    step_parts(step, times);
    if (plan->lengths != NULL) times[BUBBLE_PART].shown = "waiting for the last rank";
    say_parts(answer, "time", "s", times, STEP_PARTS, step->step_s, 1.0);
    say_lengths(answer, found);
    answer_say(answer, "\nmemory of the fullest rank, of stage %" PRId64 ": %.4g of %.4g GiB: %s\n\n",
               step->memory.stage, step->memory.total_bytes / gib, setup->gpu.memory_bytes / gib,
               step->lacks == HOME_GPU ? "does not fit" : "fits");
    memory_parts(&step->memory, bytes);
    say_parts(answer, "memory", "GiB", bytes, MEMORY_PARTS, step->memory.total_bytes, gib);
    say_tiers(answer, found);
    if (found->config.tiers.placement == 1 && !step->fits)
        answer_say(answer, "no placement of the layers fits; this one takes the least of the GPU\n");
    say_traffic(answer, found);
    say_trust(answer, setup, step->outside_frac);
}

int plan_answer_one(const struct training_setup *setup, const struct plan_found *found, enum answer_form form,
                    FILE *out, struct diag *diag)
{
    struct answer answer;
    answer_init(&answer, form, NULL);
    if (answer_is_data(form)) {
        add_subject(&answer, setup);
        add_layout(&answer, &found->plan, &found->config, &setup->llm);
        add_data(&answer, setup, found);
        if (found->plan.lengths == NULL) add_traffic(&answer, found);
        add_lengths(&answer, found);
    } else {
        say_plan(&answer, setup, found);
    }
    return answer_end(&answer, 0, out, diag);
}

/* --- A search --- */

static void add_table(struct answer *answer, const struct training_setup *setup, const struct plan_search *search)
{
    static const struct table_column columns[] = {
        LEFT("plan"), RIGHT("micro_batch"), RIGHT("step_s"), RIGHT("tokens_per_s"), RIGHT("mfu"), RIGHT("bubble_frac"),
        RIGHT("messages_frac"), RIGHT("memory_gib"), RIGHT("outside_frac")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < search->n_best; i++) {
        const struct plan_found *found = &search->best[i];
        const struct training_step *step = &found->step;
        const double values[] = {step->step_s,
                                 training_plan_tokens(&found->plan) / step->step_s,
                                 step->mfu,
                                 step->bubble_s / step->step_s,
                                 exposed_s(step) / step->step_s,
                                 step->memory.total_bytes / gib,
                                 step->outside_frac};
        struct text layout;
        text_init(&layout);
        describe(&found->plan, &found->config, &setup->llm, &layout);
        table_text(&table, layout.failed ? "" : layout.chars);
        text_fini(&layout);
        table_number(&table, (double)found->plan.micro_batch);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            char shown[32];
            snprintf(shown, sizeof shown, "%.4g", values[k]);
            table_shown(&table, values[k], shown);
        }
    }
    answer_add(answer, "plans", NULL, &table);
}

static void say_search(struct answer *answer, const struct training_setup *setup, const struct plan_search *search)
{
    answer_say(answer, "%s (%" PRId64 " layers) on %" PRId64 " %s, %s: %zu plans, of which %zu do not fit\n",
               setup->llm.name, setup->llm.layers, setup->gpus, setup->gpu.name, setup->preset.name, search->n_priced,
               search->n_unfit);
    if (setup->lengths != NULL)
        answer_say(answer, "sequences have %.0f tokens on the mean; %s split\n",
                   setup->lengths->step_tokens / (double)setup->lengths->sequences,
                   split_names[setup->config->lengths.split]);
    if (search->n_priced == 0)
        answer_say(answer, "No plan has the keys that are set. Layouts, and why they are none:\n");
    if (search->n_best > 0 || search->n_priced == 0) return;
    struct text layout;
    text_init(&layout);
    describe(&search->smallest.plan, &search->smallest.config, &setup->llm, &layout);
    answer_say(answer, "No plan fits. The least memory has %s: %.4g of %.4g GiB.\n", layout.failed ? "" : layout.chars,
               search->smallest.step.memory.total_bytes / gib, setup->gpu.memory_bytes / gib);
    text_fini(&layout);
}

/* Where no layout is a plan: the reasons of those that divide layers and GPUs, or why none does. */
static void add_reasons(struct answer *answer, const struct plan_search *search)
{
    static const struct table_column columns[] = {RIGHT("layouts"), LEFT("reason")};
    const struct plan_reasons *reasons = search->refused.n > 0 ? &search->refused : &search->undivided;
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < reasons->n; i++) {
        table_number(&table, (double)reasons->items[i].n);
        table_text(&table, reasons->items[i].text);
    }
    answer_add(answer, "refused", NULL, &table);
}

int plan_answer_search(const struct training_setup *setup, const struct plan_search *search, enum answer_form form,
                       FILE *out, struct diag *diag)
{
    struct answer answer;
    answer_init(&answer, form, "plans");
    if (answer_is_data(form)) {
        add_subject(&answer, setup);
        answer_number(&answer, "priced", (double)search->n_priced);
        answer_number(&answer, "unfit", (double)search->n_unfit);
        answer_number(&answer, "least_bytes",
                      search->n_priced > 0 ? search->smallest.step.memory.total_bytes : (double)NAN);
        if (setup->lengths != NULL) {
            answer_number(&answer, "mean_tokens", setup->lengths->step_tokens / (double)setup->lengths->sequences);
            answer_text(&answer, "split", split_names[setup->config->lengths.split]);
        }
    } else {
        say_search(&answer, setup, search);
    }
    add_table(&answer, setup, search);
    if (search->n_priced == 0) add_reasons(&answer, search);
    if (!answer_is_data(form) && search->n_best > 0) say_trust(&answer, setup, search->best[0].step.outside_frac);
    return answer_end(&answer, 0, out, diag);
}

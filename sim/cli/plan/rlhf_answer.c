/* The answer: the calls of the best plan, its moves, and plans with one split for all calls. */
#include "sim/cli/plan/plan.h"
#include "sim/cli/plan/rlhf.h"

#include <inttypes.h>
#include <math.h>

static const double gib = 1024.0 * 1024.0 * 1024.0;

static void show(struct answer_table *table, double value)
{
    char shown[32];
    snprintf(shown, sizeof shown, "%.4g", value);
    table_shown(table, value, shown);
}

/* --- Calls --- */

static void add_call(struct answer_table *table, const struct rlhf_setup *setup, const struct rlhf_space *space,
                     const struct rlhf_found *found, enum rlhf_call call)
{
    const struct rlhf_option *option = rlhf_option_of(space, call, found->calls[call]);
    const struct rlhf_mesh *mesh = &space->meshes[found->calls[call].mesh];
    const struct rlhf_way *way = found->ways[call];
    static const char *const recomputes[] = {"none", "selective", "full"};
    char gpus[32];
    snprintf(gpus, sizeof gpus, "%" PRId64 "-%" PRId64, mesh->first, mesh->first + mesh->gpus - 1);
    table_text(table, rlhf_call_names[call]);
    table_text(table, setup->llms[rlhf_model_of(call)].name);
    table_text(table, gpus);
    table_number(table, (double)mesh->first);
    table_number(table, (double)mesh->gpus);
    table_number(table, (double)option->tensor);
    table_number(table, (double)option->pipeline);
    table_number(table, (double)option->data);
    table_number(table, (double)way->micro_batch);
    table_number(table, (double)way->waves);
    table_text(table, recomputes[way->recompute]);
    show(table, found->times[call].start_s);
    show(table, way->seconds);
    show(table, found->bytes[call] / gib);
}

static void add_calls(struct answer *answer, const struct rlhf_setup *setup, const struct rlhf_space *space,
                      const struct rlhf_found *found)
{
    static const struct table_column columns[] = {
        LEFT("call"), JSON_ONLY("llm"), LEFT_SHOWN("GPUs"), JSON_ONLY("first_gpu"), JSON_ONLY("gpus"),
        {"TP", "tensor_parallel", COLUMN_RIGHT}, {"PP", "pipeline_parallel", COLUMN_RIGHT},
        {"DP", "data_parallel", COLUMN_RIGHT}, RIGHT("micro_batch"), RIGHT("waves"), LEFT("recompute"),
        RIGHT("start_s"), RIGHT("seconds"), RIGHT("memory_gib")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int call = 0; found != NULL && call < RLHF_CALLS; call++)
        add_call(&table, setup, space, found, (enum rlhf_call)call);
    answer_add(answer, "calls", NULL, &table);
}

/* --- Moves --- */

static void add_moves(struct answer *answer, const struct rlhf_found *found)
{
    static const struct table_column columns[] = {
        {"weights of", "model", COLUMN_LEFT}, {"to", "call", COLUMN_LEFT}, {"kept GB", "kept_bytes", COLUMN_RIGHT},
        {"within nodes GB", "node_bytes", COLUMN_RIGHT}, {"between nodes GB", "network_bytes", COLUMN_RIGHT},
        RIGHT("start_s"), RIGHT("seconds")};
    static const char *const models[] = {"actor", "critic"};
    static const enum rlhf_call calls[] = {RLHF_GENERATE, RLHF_VALUES};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (int move = 0; found != NULL && move < 2; move++) {
        const struct reallocation *moved = &found->moves[move];
        const double bytes[] = {moved->kept_bytes, moved->node_bytes, moved->network_bytes};
        if (!(moved->kept_bytes + moved->node_bytes + moved->network_bytes > 0.0)) continue;
        table_text(&table, models[move]);
        table_text(&table, rlhf_call_names[calls[move]]);
        for (int i = 0; i < 3; i++) {
            char shown[32];
            snprintf(shown, sizeof shown, "%.4g", bytes[i] / 1e9);
            table_shown(&table, bytes[i], shown);
        }
        show(&table, found->times[RLHF_NODE_MOVE_ACTOR + move].start_s);
        show(&table, moved->seconds);
    }
    answer_add(answer, "moves", NULL, &table);
}

/* --- Plans to compare with --- */

static void add_other(struct answer_table *table, const struct rlhf_space *space, const char *name,
                      const struct rlhf_found *found, double best_s)
{
    const struct rlhf_option *option = rlhf_option_of(space, RLHF_GENERATE, found->calls[RLHF_GENERATE]);
    table_text(table, name);
    table_number(table, (double)option->tensor);
    table_number(table, (double)option->pipeline);
    table_number(table, (double)option->data);
    show(table, found->step_s);
    show(table, found->step_s / best_s);
}

static void add_others(struct answer *answer, const struct rlhf_space *space, const struct rlhf_search *search)
{
    static const struct table_column columns[] = {
        {"all calls on all GPUs", "plan", COLUMN_LEFT}, {"TP", "tensor_parallel", COLUMN_RIGHT},
        {"PP", "pipeline_parallel", COLUMN_RIGHT}, {"DP", "data_parallel", COLUMN_RIGHT}, RIGHT("step_s"),
        {"over the best", "over_best", COLUMN_RIGHT}};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    if (search->has_megatron) add_other(&table, space, "megatron", &search->megatron, search->best.step_s);
    if (search->has_symmetric) add_other(&table, space, "fastest", &search->symmetric, search->best.step_s);
    answer_add(answer, "symmetric", NULL, &table);
}

/* --- All --- */

/* Of a step, prompts too. */
static double tokens_of(const struct rlhf_config *config)
{
    return (double)rlhf_sequences(config) * (double)(config->prompt_tokens + config->output_tokens);
}

static void add_head(struct answer *answer, const struct rlhf_setup *setup, const struct rlhf_search *search)
{
    static const char *const keys[RLHF_MODELS] = {"actor", "critic", "reference", "reward"};
    const struct rlhf_config *config = setup->config;
    for (int model = 0; model < RLHF_MODELS; model++) answer_text(answer, keys[model], setup->llms[model].name);
    answer_text(answer, "gpu", setup->actor.gpu.name);
    answer_number(answer, "gpus", (double)config->gpus);
    answer_number(answer, "sequences", (double)rlhf_sequences(config));
    answer_number(answer, "prompt_tokens", (double)config->prompt_tokens);
    answer_number(answer, "output_tokens", (double)config->output_tokens);
    answer_number(answer, "updates", (double)config->updates);
    answer_number(answer, "step_s", search->has_best ? search->best.step_s : (double)NAN);
    answer_number(answer, "tokens_per_s", search->has_best ? tokens_of(config) / search->best.step_s : (double)NAN);
    answer_number(answer, "evaluated", (double)search->n_evaluated);
    answer_number(answer, "visited", (double)search->n_visited);
    answer_bool(answer, "is_optimum", search->is_exact && search->has_best);
    answer_bool(answer, "is_exhausted", search->is_exact); /* without a plan: none fits */
    answer_bool(answer, "is_interrupted", search->is_interrupted);
    answer_bool(answer, "calibrated", setup->actor.calibration.calibrated);
}

static void say_head(struct answer *answer, const struct rlhf_setup *setup, const struct rlhf_search *search)
{
    const struct rlhf_config *config = setup->config;
    answer_say(answer, "actor %s, critic %s, reference %s, reward %s on %" PRId64 " %s\n", setup->llms[0].name,
               setup->llms[1].name, setup->llms[2].name, setup->llms[3].name, config->gpus, setup->actor.gpu.name);
    answer_say(answer, "%" PRId64 " sequences of %" PRId64 " + %" PRId64 " tokens, %" PRId64 " updates\n",
               rlhf_sequences(config), config->prompt_tokens, config->output_tokens, config->updates);
    if (search->has_best)
        answer_say(answer, "step %.4g s: %.4g tokens/s; %s\n\n", search->best.step_s,
                   tokens_of(config) / search->best.step_s,
                   search->is_exact         ? "no plan is faster"
                   : search->is_interrupted ? "the search was interrupted, and there may be a faster plan"
                                            : "a faster plan was not ruled out");
    else
        answer_say(answer, search->is_exact ? "No plan fits.\n" : "No plan that fits was found.\n");
}

static void say_trust(struct answer *answer, const struct rlhf_setup *setup)
{
    const struct gpu_spec *gpu = &setup->actor.gpu;
    if (!setup->actor.calibration.calibrated && gpu->slices > 0)
        answer_say(answer, "No kernel of a slice was measured: times follow those of %s.\n", gpu_whole_name(gpu));
    else if (!setup->actor.calibration.calibrated)
        answer_say(answer, "No kernel of %s was measured: times follow the fit over all GPUs.\n", gpu->name);
    if (!setup->actor.trainer_measured)
        answer_say(answer, "The constants of %s were not fitted on %s.\n", setup->actor.preset.name, gpu->name);
}

int rlhf_answer(const struct rlhf_setup *setup, const struct rlhf_space *space, const struct rlhf_search *search,
                enum answer_form form, FILE *out, struct diag *diag)
{
    const struct rlhf_found *best = search->has_best ? &search->best : NULL;
    struct answer answer;
    answer_init(&answer, form, "calls");
    if (answer_is_data(form))
        add_head(&answer, setup, search);
    else
        say_head(&answer, setup, search);
    add_calls(&answer, setup, space, best);
    if (!answer_is_data(form)) answer_say(&answer, "\n");
    add_moves(&answer, best);
    add_others(&answer, space, search);
    if (!answer_is_data(form)) say_trust(&answer, setup);
    return answer_end(&answer, 0, out, diag);
}

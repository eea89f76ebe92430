/* The answer's lines as fields: fleets, predictions, intervals, what limits the best fleet and how sure it is. */
#include "sim/cli/answer.h"
#include "sim/cli/size/size.h"

#include <math.h>

/* Opens a row of a list, or an object of this key. */
static void open_any(const char *key, struct answer *answer)
{
    if (key == NULL)
        answer_open_row(answer, NULL, '{');
    else
        answer_open(answer, key, '{');
}

void size_open_fleet(const char *key, const struct size_question *question, const struct size_state *state,
                     struct answer *answer)
{
    const struct size_option *option = &state->option;
    struct text text;
    text_init(&text);
    size_describe(option, state->replicas, &text);
    open_any(key, answer);
    answer_text(answer, "fleet", text.failed ? NULL : text.chars);
    answer_number(answer, "usd_per_h", round(size_usd_per_h(state) * 1e4) / 1e4);
    answer_number(answer, "gpus", (double)(state->replicas * size_replica_gpus(option)));
    answer_text(answer, "gpu", option->gpu->name);
    answer_number(answer, "tp", (double)option->tensor_parallel);
    answer_number(answer, "pp", (double)option->pipeline_parallel);
    if (question->has_experts) answer_number(answer, "dp", (double)option->groups);
    answer_number(answer, "replicas", (double)state->replicas);
    answer_number(answer, "prefill", (double)option->prefill_replicas);
    answer_text(answer, "batching", option->batching->policy);
    if (option->batching->token_budget > 0) answer_number(answer, "token_budget", (double)size_token_budget(option));
    size_t at;
    if (state->slow_end == SIZE_END_MISSED)
        answer_number(answer, "withstood_frac", size_withstood(question, state, &at));
    answer->failed |= text.failed;
    text_fini(&text);
}

/* The values of a fleet as predicted, and at an end of the interval that was asked for (NULL: it was not). Null: the
 * error of its times is not known. */
static void write_end(const struct size_question *question, const char *key, const struct size_outcome *predicted,
                      const struct size_outcome *end, size_t at, struct answer *answer)
{
    if (end != NULL)
        answer_number(answer, key, size_has_error(question, predicted, end) ? end->values[at] : (double)NAN);
}

static void write_values(const struct size_question *question, const struct size_outcome *predicted,
                         const struct size_outcome *fast, const struct size_outcome *slow, struct answer *answer)
{
    answer_open(answer, "objectives", '[');
    for (size_t i = 0; i < question->n_objectives; i++) {
        answer_open_row(answer, NULL, '{');
        answer_text(answer, "name", question->objectives[i].name);
        answer_number(answer, "limit_s", question->objectives[i].limit_s);
        answer_number(answer, "predicted_s", predicted->values[i]);
        write_end(question, "fast_s", predicted, fast, i, answer);
        write_end(question, "slow_s", predicted, slow, i, answer);
        answer_close(answer, '}');
    }
    answer_close(answer, ']');
}

static void write_limit(const struct size_question *question, const struct size_result *result, struct answer *answer)
{
    static const char *const cases[] = {[TIMES_PREDICTED] = "predicted", [TIMES_FAST] = "fast", [TIMES_SLOW] = "slow"};
    answer_open(answer, "limit", '[');
    for (size_t i = 0; i < SIZE_POOLS; i++) {
        struct size_lack lack;
        if (!size_lack_of(result, i, &lack)) continue;
        const struct size_fewer *fewer = &result->fewer[i];
        answer_open_row(answer, NULL, '{');
        answer_number(answer, "replicas", (double)fewer->replicas);
        answer_number(answer, "prefill", (double)fewer->option.prefill_replicas);
        answer_text(answer, "missed", question->objectives[lack.objective].name);
        answer_number(answer, "value_s", lack.outcome->values[lack.objective]);
        answer_number(answer, "limit_s", question->objectives[lack.objective].limit_s);
        answer_text(answer, "times", cases[lack.time_case]);
        answer_text(answer, "short_of", lack.is_short_of_kv ? "KV cache" : NULL);
        answer_number(answer, "kv_peak_frac", lack.kv_frac);
        answer_number(answer, "busy_frac", lack.busy_frac);
        answer_number(answer, "prompts_frac", lack.prompts_frac);
        answer_number(answer, "decoding_frac", lack.decoding_frac);
        answer_number(answer, "waiting_max", lack.waiting);
        answer_close(answer, '}');
    }
    answer_close(answer, ']');
}

static void write_trust(const struct size_result *result, struct answer *answer)
{
    const struct size_state *best = &result->states[result->best[0]];
    answer_open(answer, "trust", '{');
    answer_number(answer, "outside_frac", best->good.extrapolated_frac);
    answer_number(answer, "kv_peak_frac", result->whole.kv_peak_frac);
    if (result->whole.engine[0] != 0) answer_text(answer, "engine", result->whole.engine);
    answer_text(answer, "kernels", result->trust);
    answer_close(answer, '}');
}

/* An empty object where no fleet is known to keep its limits at both ends. */
static void write_sure(const struct size_question *question, const struct size_state *sure, struct answer *answer)
{
    if (sure->replicas == 0) {
        answer_open(answer, "sure", '{');
    } else {
        size_open_fleet("sure", question, sure, answer);
        write_values(question, &sure->good, NULL, &sure->slow, answer);
    }
    answer_close(answer, '}');
}

/* The cheapest fleet of the other kind that keeps its limits at both ends, and that with the GPU of the other. Without
 * such a fleet, the least price that one may have: null if no number of GPUs is enough. */
static void write_sure_kind(const char *key, const struct size_question *question, const struct size_state *state,
                            double open_usd_per_h, struct answer *answer)
{
    if (state->replicas > 0) {
        size_open_fleet(key, question, state, answer);
        write_values(question, &state->good, NULL, NULL, answer);
    } else {
        answer_open(answer, key, '{');
        answer_number(answer, "at_least_usd_per_h", open_usd_per_h);
    }
    answer_close(answer, '}');
}

static void write_sure_kinds(const struct size_question *question, const struct size_result *result,
                             struct answer *answer)
{
    if (result->sure.replicas == 0 || !question->disaggregated) return;
    const bool has_pools = size_has_pools(&result->sure);
    write_sure_kind(has_pools ? "sure_without_pools" : "sure_with_pools", question, &result->sure_other,
                    result->sure_open_usd_per_h, answer);
    write_sure_kind(has_pools ? "sure_without_pools_same_gpu" : "sure_with_pools_same_gpu", question,
                    &result->sure_alike, result->sure_alike_open_usd_per_h, answer);
}

/* The other kind of fleet: with pools, if the best one has none, or without. */
static void write_other_kind(const struct size_question *question, const struct size_result *result,
                             struct answer *answer)
{
    const struct size_state *other = result->other;
    if (other == NULL) return;
    size_open_fleet(other->option.prefill_replicas > 0 ? "with_pools" : "without_pools", question, other, answer);
    write_values(question, &other->good, &result->other_fast, &result->other_slow, answer);
    answer_close(answer, '}');
}

int size_write_fields(const struct size_question *question, const struct size_result *result, struct arena *arena,
                      struct answer *answer)
{
    struct size_lines lines;
    int code = size_say(question, result, arena, &lines);
    answer_open_row(answer, "lines", '[');
    for (size_t i = 0; code == 0 && i < lines.n; i++) answer_text(answer, NULL, lines.lines[i]);
    answer_close(answer, ']');
    if (code != 0 || result->n_best == 0) return code;
    const struct size_state *best = &result->states[result->best[0]];
    size_open_fleet("cheapest", question, best, answer);
    write_values(question, &best->good, &result->fast, &result->slow, answer);
    answer_close(answer, '}');
    if (result->has_sure) write_sure(question, &result->sure, answer);
    if (result->has_sure) write_sure_kinds(question, result, answer);
    write_other_kind(question, result, answer);
    write_limit(question, result, answer);
    write_trust(result, answer);
    return 0;
}

/* A study of the best options, for `orrery sweep` and its pages: FILE.json, and FILE.scenario.json, which it
 * varies. */
#include "sim/cli/paths.h"
#include "sim/cli/size/size.h"
#include "sim/core/json_doc.h"
#include "sim/core/output.h"
#include "sim/core/units.h"

#include <math.h>
#include <string.h>

static const char *const time_names[SIZE_TIMES] = {"ttft", "tpot", "e2e"};

static int write_file(const char *path, const struct text *text, struct diag *diag)
{
    struct output *output;
    if (text->failed) return diag_nomem(diag);
    int code = output_open(path, &output, diag);
    if (code != 0) return code;
    text_add_bytes(output_text(output), text->chars, text->length);
    text_add(output_text(output), "\n");
    return output_close(output, false, diag);
}

/* What all options share. */
static void write_scenario(const struct size_question *question, struct json_writer *json, struct text *text)
{
    char limit[48];
    json_write_open(json, NULL, '{');
    json_write_open(json, "services", '{');
    json_write_open(json, "llm", '{');
    json_write_string(json, "llm", question->llm);
    json_write_open_row(json, "slo", '{');
    for (int time = 0; time < SIZE_TIMES; time++)
        for (size_t i = 0; i < question->n_objectives; i++) {
            const struct size_objective *objective = &question->objectives[i];
            if (objective->class_name != NULL || objective->time != (enum size_time)time) continue;
            unit_format(objective->limit_s, UNIT_TIME, limit, sizeof limit);
            json_write_string(json, time_names[time], limit);
            break;
        }
    json_write_close(json, '}');
    json_write_key(json, "trace");
    text_add(text, question->study_trace_json);
    json_write_close(json, '}');
    json_write_close(json, '}');
    json_write_close(json, '}');
}

/* "key=value": the value as it stands if it is JSON, else as a string. */
static int write_setting(const char *setting, struct arena *arena, struct json_writer *json, struct text *text)
{
    static const struct json_source source = {.name = "--set", .directory = "."};
    const char *value = strchr(setting, '=');
    if (value == NULL) return 0;
    char *key = arena_printf(arena, "%.*s", (int)(value - setting), setting);
    char *copy = arena_strdup(arena, value + 1);
    struct json_node *node;
    if (key == NULL || copy == NULL) return SIM_E_NOMEM;
    const int code = json_parse(arena, &source, copy, strlen(copy), &node, NULL);
    if (code == SIM_E_NOMEM) return code;
    if (code != 0) {
        json_write_string(json, key, value + 1);
    } else {
        json_write_key(json, key);
        text_add(text, value + 1);
    }
    return 0;
}

/* Whether the objective's limit is that of the scenario's "slo": the first of its time, of all requests. */
static bool is_slo(const struct size_question *question, size_t at)
{
    const struct size_objective *objective = &question->objectives[at];
    for (size_t i = 0; i < at; i++)
        if (question->objectives[i].time == objective->time && question->objectives[i].class_name == NULL) return false;
    return objective->class_name == NULL;
}

/* "p99": the percentile that metrics have nearest to a quantile. */
static const char *percentile_of(double quantile)
{
    const double percent = 100 * quantile;
    return percent > 97 ? "p99" : percent > 92.5 ? "p95" : percent > 70 ? "p90" : "p50";
}

/* The metrics that the objectives are about, each once. */
static void write_shown(const struct size_question *question, struct json_writer *json, struct arena *arena)
{
    json_write_open_row(json, "show", '[');
    json_write_string(json, NULL, "cost.usd_per_h");
    for (size_t i = 0; i < question->n_objectives; i++) {
        const struct size_objective *objective = &question->objectives[i];
        const char *percentile = percentile_of(objective->quantile);
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && (question->objectives[j].time != objective->time ||
                                strcmp(percentile_of(question->objectives[j].quantile), percentile) != 0);
        if (is_new)
            json_write_string(json, NULL,
                              arena_printf(arena, "request.%s_s.%s", time_names[objective->time], percentile));
    }
    json_write_close(json, ']');
}

/* The limits as conditions. That a percentile keeps its limit is the same as that its share of the requests keeps it,
 * and shares are exact, while percentiles are to 0.1 %. An objective that is not in "slo" has no share. */
static void write_where(const struct size_question *question, struct json_writer *json, struct arena *arena)
{
    size_t n = 0;
    for (size_t i = 0; i < question->n_objectives; i++) n += is_slo(question, i);
    if (n == 0) return;
    json_write_open_row(json, "pareto", '[');
    json_write_string(json, NULL, "cost.usd_per_h");
    json_write_close(json, ']');
    json_write_open_row(json, "where", '[');
    for (size_t i = 0; i < question->n_objectives; i++) {
        if (!is_slo(question, i)) continue;
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "metric",
                          arena_printf(arena, "slo.%s_kept_frac", time_names[question->objectives[i].time]));
        json_write_number(json, "at_least", question->objectives[i].quantile);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

/* `gpu_price` is that of a whole GPU, the answer's price that of one slice. */
static void write_price(const struct size_gpu *gpu, struct json_writer *json)
{
    char price[48];
    const double slices = gpu->slices > 0 ? (double)gpu->slices : 1.0;
    snprintf(price, sizeof price, "$%.12g/h", gpu->usd_per_h * slices);
    json_write_string(json, "gpu_price", price);
}

static int write_study(const struct size_question *question, const struct size_result *result, const char *scenario,
                       struct arena *arena, struct json_writer *json, struct text *text)
{
    int code = 0;
    json_write_open(json, NULL, '{');
    json_write_string(json, "question", "Which of these fleets is the cheapest within its objectives?");
    json_write_string(json, "scenario", scenario);
    json_write_open(json, "set", '{');
    for (size_t i = 0; code == 0 && i < question->settings->n; i++)
        code = write_setting(question->settings->items[i], arena, json, text);
    json_write_close(json, '}');
    json_write_open(json, "axes", '[');
    json_write_open(json, NULL, '{');
    json_write_open(json, "zip", '{');
    for (int is_service = 0; is_service < 2; is_service++) {
        json_write_open(json, is_service ? "services.llm" : "cluster", '[');
        for (size_t i = 0; i < result->n_best; i++) {
            const struct size_state *state = &result->states[result->best[i]];
            json_write_open_row(json, NULL, '{');
            if (is_service) {
                size_write_service(&state->option, state->replicas, json);
            } else {
                size_write_cluster(&state->option, state->replicas, json);
                write_price(state->option.gpu, json);
            }
            json_write_close(json, '}');
        }
        json_write_close(json, ']');
    }
    json_write_close(json, '}');
    json_write_close(json, '}');
    json_write_close(json, ']');
    write_shown(question, json, arena);
    write_where(question, json, arena);
    json_write_key(json, "intervals");
    text_add(text, "true");
    json_write_close(json, '}');
    return code;
}

const char *size_scenario_path(const char *path, struct arena *arena)
{
    const size_t n = strlen(path), n_tail = strlen(".json");
    const bool has_tail = n > n_tail && strcmp(path + n - n_tail, ".json") == 0;
    return arena_printf(arena, "%.*s.scenario.json", (int)(has_tail ? n - n_tail : n), path);
}

int size_write_study(const struct size_question *question, const struct size_result *result, const char *path,
                     struct arena *arena, struct diag *diag)
{
    const char *scenario = size_scenario_path(path, arena);
    if (scenario == NULL) return diag_nomem(diag);
    const char *name = strrchr(scenario, '/');
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    text_add(&text,
             "// The load and the limits of the study beside this file. The study adds GPUs and replicas: 'orrery "
             "sweep' runs it.\n// Alone this file has no GPUs, so 'orrery run' refuses it.\n");
    write_scenario(question, &json, &text);
    int code = write_file(scenario, &text, diag);
    text_fini(&text);
    if (code != 0) return code;
    text_init(&text);
    json_writer_init(&json, &text);
    if (write_study(question, result, name != NULL ? name + 1 : scenario, arena, &json, &text) != 0) text.failed = true;
    code = write_file(path, &text, diag);
    text_fini(&text);
    return code;
}

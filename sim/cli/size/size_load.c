/* The requests of a question's trace, for closed forms and for knowing early that an objective is missed. */
#include "sim/cli/size/size.h"
#include "sim/core/json_doc.h"
#include "sim/core/units.h"
#include "sim/core/vec.h"
#include "sim/world/rows/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The objectives that count a request. One token has no time per further token. */
static uint32_t find_objectives(const struct size_question *question, const struct request_record *record)
{
    uint32_t found = 0;
    for (size_t i = 0; i < question->n_objectives; i++) {
        const struct size_objective *objective = &question->objectives[i];
        if (objective->time == SIZE_TPOT && record->output_tokens < 2) continue;
        const bool is_its = objective->class_name == NULL ||
                            (record->class_name != NULL && strcmp(objective->class_name, record->class_name) == 0);
        if (is_its) found |= 1u << i;
    }
    return found;
}

/* As in a run's metrics, requests that arrive during the warm-up do not count. */
static int add(const struct size_question *question, const struct request_record *record, sim_ns warmup_ns,
               struct size_requests *requests)
{
    const bool is_warm = record->arrival_ns >= warmup_ns;
    const struct size_request request = {record->id, record->prompt_tokens, record->output_tokens,
                                         is_warm ? find_objectives(question, record) : 0, record->n_prefix_blocks > 0};
    const int64_t tokens = (int64_t)record->prompt_tokens + record->output_tokens;
    const bool is_long = question->max_context > 0 && tokens > question->max_context;
    for (size_t i = 0; i < question->n_objectives; i++) {
        requests->counted[i] += request.objectives >> i & 1;
        requests->n_long[i] += is_long && (request.objectives >> i & 1);
    }
    requests->n_warm += is_warm;
    requests->prompt_tokens += record->prompt_tokens;
    requests->output_tokens += record->output_tokens;
    return vec_push(&requests->items, &requests->n, &requests->capacity, request);
}

static int compare_ids(const void *a, const void *b)
{
    const struct size_request *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

const struct size_request *size_requests_find(const struct size_requests *requests, int64_t id)
{
    if (id >= 0 && (size_t)id < requests->n && requests->items[id].id == id) return &requests->items[id];
    const struct size_request wanted = {.id = id};
    return bsearch(&wanted, requests->items, requests->n, sizeof wanted, compare_ids);
}

/* Whether any fleet could meet the objective, by its requests alone. */
static int check_objective(const struct size_question *question, const struct size_requests *requests, size_t i,
                           struct diag *diag)
{
    char hint[128];
    const struct size_objective *objective = &question->objectives[i];
    const size_t n = requests->counted[i], n_long = requests->n_long[i];
    if (requests->n_warm == 0)
        return diag_error(diag, SIM_E_USAGE, "warmup", "a shorter warm-up, or a longer load",
                          "all %zu requests arrive before the warm-up ends: none counts", requests->n);
    if (requests->counted[i] == 0)
        return diag_error(diag, SIM_E_USAGE, "--slo", NULL, "no request of the trace counts for '%s'", objective->name);
    if (n_long <= n - size_rank(objective->quantile, n)) return 0;
    snprintf(hint, sizeof hint, "--set services.llm.trace.max_total_tokens=%" PRId64 " cuts them",
             question->max_context);
    return diag_error(diag, SIM_E_USAGE, "--slo", hint,
                      "%.3g %% of the requests that '%s' counts are longer than the context of %s, %" PRId64
                      " tokens: every fleet rejects them",
                      100 * (double)n_long / (double)n, objective->name, question->llm, question->max_context);
}

int size_requests_read(const struct size_question *question, const struct setup *setup,
                       const volatile sig_atomic_t *interrupt, struct size_requests *requests, struct diag *diag)
{
    const struct service_config *service = setup->scenario.services.items;
    const struct trace_format *format = service->trace.entry;
    const struct source_options options = {.seed = (uint64_t)setup->scenario.seed, .stream = service->name,
                                           .where = "--trace", .interrupt = interrupt};
    struct request_source *source;
    struct request_record record;
    sim_ns first_ns = 0, last_ns = 0;
    *requests = (struct size_requests){0};
    int code = format->open_requests(service->trace.params, &options, &source, diag);
    if (code != 0) return code;
    requests->is_closed = source->follow != NULL;
    while ((code = source->next(source, &record, diag)) == 1) {
        if (requests->n == 0) first_ns = record.arrival_ns;
        last_ns = record.arrival_ns;
        code = add(question, &record, setup->scenario.warmup_ns, requests);
        if (code != 0) break;
    }
    size_warnings_take_notes(&requests->notes, source, service->name);
    source->close(source);
    if (requests->n > 0) qsort(requests->items, requests->n, sizeof *requests->items, compare_ids);
    requests->span_s = sim_s_from_ns(last_ns - first_ns);
    if (code == SIM_E_NOMEM) return diag_nomem(diag);
    if (code == 0 && requests->n == 0)
        code = diag_error(diag, SIM_E_DATA, "--trace", NULL, "the trace has no requests");
    for (size_t i = 0; code == 0 && i < question->n_objectives && !requests->is_closed; i++)
        code = check_objective(question, requests, i, diag);
    return code;
}

/* The process of an arrival section is Poisson, or of none. */
static bool is_poisson(const struct json_node *of)
{
    const struct json_node *arrival = json_member(of, "arrival"), *process = json_member(arrival, "process");
    return arrival == NULL ||
           (process != NULL && process->kind == JSON_STRING && strcmp(process->text, "poisson") == 0);
}

static double number_of(const struct json_node *trace, const char *key)
{
    const struct json_node *node = json_member(trace, key);
    return node != NULL && node->kind == JSON_NUMBER ? node->number : 1;
}

/* The rate of Poisson arrivals that this resolved section "trace" generates. A part of them, drawn at random, and a
 * change of the clock leave them Poisson; copies do not, and classes may have arrivals of their own. */
static double find_poisson_per_s(const struct json_node *trace)
{
    const struct json_node *format = json_member(trace, "format"), *arrival = json_member(trace, "arrival");
    const struct json_node *rate = json_member(arrival, "rate"), *classes = json_member(trace, "classes");
    double per_s;
    const char *why;
    if (format == NULL || format->kind != JSON_STRING || strcmp(format->text, "generate") != 0) return 0;
    if (arrival == NULL || !is_poisson(trace) || json_member(trace, "replicate") != NULL) return 0;
    if (json_member(trace, "upscale") != NULL) return 0;
    for (const struct json_node *of = classes != NULL ? classes->first : NULL; of != NULL; of = of->next)
        if (!is_poisson(of)) return 0;
    if (rate == NULL || rate->text == NULL || unit_parse(rate->text, UNIT_RATE, &per_s, &why) != 0) return 0;
    return per_s * number_of(trace, "rate_scale") * number_of(trace, "thin");
}

static bool is_auto(const struct json_node *cost, const char *key)
{
    const struct json_node *node = json_member(cost, key);
    return node == NULL || (node->kind == JSON_STRING && strcmp(node->text, "auto") == 0);
}

int size_resolved_find(const struct setup *setup, double *poisson_per_s, bool *names_kernels, struct diag *diag)
{
    const struct json_source source = {.name = "the resolved scenario"};
    struct json_node *root;
    struct arena arena;
    struct text json;
    arena_init(&arena);
    text_init(&json);
    int code = setup_dump(setup, &json) == 0 ? 0 : diag_nomem(diag);
    if (code == 0) code = json_parse(&arena, &source, json.chars, strlen(json.chars), &root, diag);
    const struct json_node *services = code == 0 ? json_member(root, "services") : NULL;
    const struct json_node *service = services != NULL ? services->first : NULL, *cost = json_member(service, "cost");
    *poisson_per_s = find_poisson_per_s(json_member(service, "trace"));
    *names_kernels = !is_auto(cost, "calibration") || !is_auto(cost, "kernels");
    text_fini(&json);
    arena_fini(&arena);
    return code;
}

void size_requests_fini(struct size_requests *requests)
{
    mem_free(requests->items);
}

#include "sim/cli/explain/explain_experts.h"

#include "models/operators/expert_placement.h"
#include "sim/catalog/cost_operators.h"
#include "sim/catalog/expert_affinity.h"
#include "sim/cli/answer.h"
#include "sim/cli/explain/explain_cost.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"

#include <string.h>

/* The experts of a pool, dealt to GPUs (or groups of them), and the memory to place them. */
struct dealt {
    const char *name;
    const struct llm_spec *llm;
    struct expert_flows flows;
    size_t n_gpus;
    double *steps, *doubles;
    size_t *sizes, *gpu_of;
};

static int dealt_init(struct dealt *dealt, const struct modelled_pool *pool, const struct cost_operators *cost)
{
    const struct llm_spec *llm = &pool->llm;
    *dealt = (struct dealt){.name = pool->name, .llm = llm, .n_gpus = (size_t)cost->operators.parts.split.expert};
    dealt->flows.layers = (size_t)(llm->layers - llm->dense_layers);
    dealt->flows.experts = (size_t)llm->experts;
    const size_t n = dealt->flows.experts, layers = dealt->flows.layers;
    dealt->steps = mem_alloc(layers * n * n * sizeof(double));
    dealt->doubles = mem_alloc(expert_affinity_doubles(&dealt->flows, dealt->n_gpus) * sizeof(double));
    dealt->sizes = mem_alloc(expert_affinity_sizes(&dealt->flows, dealt->n_gpus) * sizeof(size_t));
    dealt->gpu_of = mem_alloc(layers * n * sizeof(size_t));
    dealt->flows.flows = dealt->steps;
    const bool has_memory = dealt->steps && dealt->doubles && dealt->sizes && dealt->gpu_of;
    return has_memory ? 0 : SIM_E_NOMEM;
}

static void dealt_fini(struct dealt *dealt)
{
    mem_free(dealt->steps);
    mem_free(dealt->doubles);
    mem_free(dealt->sizes);
    mem_free(dealt->gpu_of);
}

/* --- Loads --- */

/* Tokens of an expert: those that leave it, in the last layer those that come. */
static double load_of(const struct expert_flows *flows, size_t layer, size_t expert)
{
    const size_t n = flows->experts;
    double load = 0.0;
    for (size_t k = 0; k < n; k++)
        load += layer + 1 < flows->layers ? flows->flows[(layer * n + expert) * n + k]
                                          : flows->flows[((layer - 1) * n + k) * n + expert];
    return load;
}

/* By EPLB's global policy, layer by layer, without copies. */
static int place_by_load(struct dealt *dealt)
{
    const size_t n = dealt->flows.experts;
    double *loads = mem_alloc(n * sizeof *loads);
    struct expert_copy *copies = mem_alloc(n * sizeof *copies);
    struct expert_gpu *gpus = mem_alloc(dealt->n_gpus * sizeof *gpus);
    const bool has_memory = loads && copies && gpus;
    for (size_t layer = 0; layer < dealt->flows.layers && has_memory; layer++) {
        for (size_t i = 0; i < n; i++) loads[i] = load_of(&dealt->flows, layer, i);
        expert_place(loads, n, copies, n, gpus, dealt->n_gpus);
        for (size_t i = 0; i < n; i++) dealt->gpu_of[layer * n + copies[i].expert] = copies[i].gpu;
    }
    mem_free(gpus);
    mem_free(copies);
    mem_free(loads);
    return has_memory ? 0 : SIM_E_NOMEM;
}

/* Load of the busiest GPU over the mean, mean over the layers. */
static double imbalance_of(const struct dealt *dealt)
{
    const size_t n = dealt->flows.experts;
    double sum = 0.0;
    for (size_t layer = 0; layer < dealt->flows.layers; layer++) {
        double busiest = 0.0, all = 0.0;
        for (size_t gpu = 0; gpu < dealt->n_gpus; gpu++) {
            double load = 0.0;
            for (size_t i = 0; i < n; i++)
                if (dealt->gpu_of[layer * n + i] == gpu) load += load_of(&dealt->flows, layer, i);
            busiest = load > busiest ? load : busiest;
            all += load;
        }
        sum += all > 0.0 ? busiest * (double)dealt->n_gpus / all : 1.0;
    }
    return sum / (double)dealt->flows.layers;
}

/* --- Rows --- */

static void add_row(struct answer_table *table, const struct dealt *dealt, const char *placement)
{
    const struct expert_steps steps = expert_steps_of(&dealt->flows, dealt->gpu_of);
    const double all = steps.local + steps.moved, local = all > 0.0 ? steps.local / all : 0.0;
    const double step_kb = (double)dealt->llm->hidden * number_format_bytes(dealt->llm->compute) / 1e3;
    const double pass_kb = step_kb * (double)(dealt->flows.layers - 1);
    table_text(table, dealt->name);
    table_text(table, placement);
    table_number(table, (double)dealt->n_gpus);
    table_number(table, local);
    table_number(table, pass_kb * local);
    table_number(table, pass_kb * (1.0 - local));
    table_number(table, imbalance_of(dealt));
}

static int add_rows(struct answer_table *table, struct dealt *dealt)
{
    expert_place_in_order(&dealt->flows, dealt->n_gpus, dealt->gpu_of);
    add_row(table, dealt, "in order");
    const int code = place_by_load(dealt);
    if (code != 0) return code;
    add_row(table, dealt, "by load");
    expert_place_by_affinity(&dealt->flows, dealt->n_gpus, dealt->doubles, dealt->sizes, dealt->gpu_of);
    add_row(table, dealt, "by affinity");
    return 0;
}

static int add_pool(struct cli *cli, const struct modelled_pool *pool, const struct expert_affinity *given,
                    struct answer_table *table)
{
    const struct cost_operators *cost = cost_operators_of(&pool->model);
    const int64_t layers = pool->llm.layers - pool->llm.dense_layers;
    struct dealt dealt;
    if (cost == NULL || pool->llm.experts == 0 || layers < 2 || cost->operators.parts.split.expert < 2 ||
        pool->llm.experts % cost->operators.parts.split.expert != 0)
        return 0;
    int code = dealt_init(&dealt, pool, cost);
    struct expert_affinity affinity = *given;
    affinity.layers = dealt.flows.layers;
    affinity.experts = dealt.flows.experts;
    if (code == 0) code = expert_affinity_read(&affinity, dealt.steps, &cli->diag);
    if (code == 0) code = add_rows(table, &dealt);
    dealt_fini(&dealt);
    return code;
}

static int read_given(struct cli *cli, const struct explain_affinity *given, struct expert_affinity *affinity)
{
    const char *share = given->share;
    *affinity = (struct expert_affinity){.path = given->path};
    if (share != NULL && given->path != NULL)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "leave one out",
                          "'--affinity' and '--affinity-file' both say how tokens go from expert to expert");
    if (share == NULL) return 0;
    const bool is_read = number_f64(share, strlen(share), &affinity->affinity) == NUMBER_OK;
    if (is_read && affinity->affinity >= 0.0 && affinity->affinity <= 1.0) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, "such as 0.5",
                      "'--affinity' must be a share from 0 to 1, got '%s'", share);
}

static int add_service(struct cli *cli, const struct setup *setup, const struct service_config *service,
                       const struct expert_affinity *affinity, struct arena *arena, struct answer_table *table)
{
    int code = 0;
    for (size_t i = 0; i < service_n_pools(service) && code == 0; i++) {
        struct modelled_pool pool;
        code = explain_model_pool(cli, setup, service, i, arena, &pool);
        if (code == 0) code = add_pool(cli, &pool, affinity, table);
    }
    return code;
}

int explain_experts(struct cli *cli, const struct setup *setup, const struct explain_affinity *given, int form)
{
    static const struct table_column columns[] = {
        LEFT("service"),           LEFT("experts"),           RIGHT("gpus"),     RIGHT("local_frac"),
        RIGHT("local_kb_per_pass"), RIGHT("moved_kb_per_pass"), RIGHT("imbalance")};
    struct expert_affinity affinity;
    struct answer_table table;
    struct arena arena;
    arena_init(&arena);
    TABLE_INIT(&table, columns);
    int code = read_given(cli, given, &affinity);
    for (size_t i = 0; i < setup->scenario.services.n && code == 0; i++)
        code = add_service(cli, setup, scenario_service(&setup->scenario, i), &affinity, &arena, &table);
    if (code == 0 && table.n_cells == 0)
        code = diag_error(
            &cli->diag, SIM_E_CONFIG, NULL,
            "take an LLM with experts, \"cost\": {\"kind\": \"operators\", \"expert_parallel\": N}, and an N "
            "that divides the experts",
            "no service deals experts of several layers to GPUs in equal numbers");
    code = table_print(&table, code, (enum answer_form)form, cli->out, &cli->diag);
    arena_fini(&arena);
    return code;
}

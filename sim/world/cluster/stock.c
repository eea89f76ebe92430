#include "sim/world/cluster/stock.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <string.h>

enum { WHOLE = 1000 };

/* The index of a model, which is added if it is new; -1: too many models. */
static int32_t model_index(struct gpu_models *models, const char *model)
{
    for (int32_t i = 0; i < models->n; i++)
        if (strcmp(models->names[i], model) == 0) return i;
    if (models->n == GPU_MODELS_MAX) return -1;
    models->names[models->n] = model;
    return models->n++;
}

static int fill_node(struct stock *stock, const struct node_spec *spec, struct gpu_models *models, int32_t index,
                     int32_t first_gpu)
{
    const int32_t model = model_index(models, spec->gpu_model);
    if (model < 0) return SIM_E_CONFIG;
    if (spec->gpus > 0) stock->model_set |= UINT64_C(1) << model;
    int32_t *left_milli = stock->left_milli + first_gpu;
    for (int32_t g = 0; g < spec->gpus; g++) left_milli[g] = WHOLE;
    stock->nodes[index] = (struct node_view){
        .gpus = spec->gpus,
        .free_gpus = spec->gpus,
        .left_milli = spec->gpus * WHOLE,
        .gpu_model = model,
        .gpu_left_milli = left_milli,
        .cpu_milli = spec->cpu_milli,
        .cpu_left_milli = spec->cpu_milli,
        .memory_bytes = spec->memory_bytes,
        .memory_left_bytes = spec->memory_bytes,
        .jobs_by_gpus = stock->jobs_by_gpus + (int64_t)index * stock->n_kinds,
        .changes = 1,
    };
    return 0;
}

static int fill(struct stock *stock, const struct node_spec *specs, struct gpu_models *models, int64_t n_gpus)
{
    const size_t n = (size_t)stock->n_nodes;
    stock->nodes = mem_zalloc(n, sizeof *stock->nodes);
    stock->left_milli = mem_zalloc((size_t)n_gpus + 1, sizeof *stock->left_milli);
    stock->jobs_by_gpus = mem_zalloc(n * (size_t)stock->n_kinds, sizeof *stock->jobs_by_gpus);
    stock->group_sets = mem_zalloc(n, sizeof *stock->group_sets);
    stock->down = mem_zalloc(n, sizeof *stock->down);
    stock->models = models;
    if (stock->nodes == NULL || stock->left_milli == NULL || stock->jobs_by_gpus == NULL || stock->group_sets == NULL ||
        stock->down == NULL)
        return SIM_E_NOMEM;
    int32_t first_gpu = 0;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < stock->n_nodes; first_gpu += specs[i++].gpus)
        code = fill_node(stock, &specs[i], models, i, first_gpu);
    return code;
}

int stock_create(const struct node_spec *specs, int32_t n_nodes, struct gpu_models *models, struct stock **out)
{
    struct stock *stock = mem_zalloc(1, sizeof *stock);
    if (stock == NULL) return SIM_E_NOMEM;
    int64_t n_gpus = 0;
    int32_t most = 0;
    for (int32_t i = 0; i < n_nodes; i++) {
        n_gpus += specs[i].gpus;
        if (specs[i].gpus > most) most = specs[i].gpus;
    }
    stock->n_nodes = n_nodes;
    stock->n_kinds = most + 1;
    int code = most <= NODE_LIST_MAX_GPUS ? fill(stock, specs, models, n_gpus) : SIM_E_CONFIG;
    if (code < 0) {
        stock_destroy(stock);
        return code;
    }
    *out = stock;
    return 0;
}

void stock_destroy(struct stock *stock)
{
    if (stock == NULL) return;
    mem_free(stock->nodes);
    mem_free(stock->left_milli);
    mem_free(stock->jobs_by_gpus);
    mem_free(stock->group_sets);
    mem_free(stock->down);
    mem_free(stock);
}

static int32_t *left_of(struct stock *stock, const struct node_view *node)
{
    return stock->left_milli + (node->gpu_left_milli - stock->left_milli);
}

/* The GPUs for a holding: for a share the GPU it names, else the lowest free ones; 0 if there are not enough. */
static uint64_t choose(const struct node_view *node, const struct holding *holding)
{
    if (holding->gpu_milli < WHOLE) return UINT64_C(1) << holding->gpu;
    uint64_t set = 0;
    int32_t missing = holding->gpus;
    for (int32_t g = 0; missing > 0 && g < node->gpus; g++) {
        if (node->gpu_left_milli[g] < WHOLE) continue;
        set |= UINT64_C(1) << g;
        missing--;
    }
    return missing == 0 ? set : 0;
}

static bool has_left(const struct node_view *node, uint64_t set, int32_t milli)
{
    for (; set != 0; set &= set - 1) {
        const int g = __builtin_ctzll(set);
        if (g >= node->gpus || node->gpu_left_milli[g] < milli) return false;
    }
    return true;
}

/* Subtracts `sign` times the holding from the free resources. */
static void move(struct stock *stock, const struct holding *holding, int32_t sign)
{
    struct node_view *node = &stock->nodes[holding->node];
    int32_t *left = left_of(stock, node);
    for (uint64_t set = holding->gpu_set; set != 0; set &= set - 1) {
        const int g = __builtin_ctzll(set);
        node->free_gpus -= left[g] == WHOLE;
        left[g] -= sign * holding->gpu_milli;
        node->free_gpus += left[g] == WHOLE;
        node->left_milli -= sign * holding->gpu_milli;
        SIM_REQUIRE(left[g] >= 0 && left[g] <= WHOLE);
    }
    if (node->cpu_milli < INT64_MAX) node->cpu_left_milli -= sign * holding->cpu_milli;
    if (node->memory_bytes < INT64_MAX) node->memory_left_bytes -= sign * holding->memory_bytes;
    node->changes++;
    if (holding->is_group || holding->gpus == 0) return;
    const int32_t kind = holding->gpu_milli < WHOLE ? 0 : holding->gpus;
    int32_t *jobs = &stock->jobs_by_gpus[(int64_t)holding->node * stock->n_kinds + kind];
    node->n_kinds -= *jobs > 0;
    *jobs += sign;
    node->n_kinds += *jobs > 0;
}

bool stock_take(struct stock *stock, struct holding *holding)
{
    if (holding->node < 0 || holding->node >= stock->n_nodes) return false;
    const struct node_view *node = &stock->nodes[holding->node];
    const bool is_share = holding->gpu_milli < WHOLE;
    if (is_share && (holding->gpus != 1 || holding->gpu < 0 || holding->gpu >= node->gpus)) return false;
    if (holding->gpus < 0 || holding->gpus > node->gpus) return false;
    if (holding->cpu_milli > node->cpu_left_milli || holding->memory_bytes > node->memory_left_bytes) return false;
    const uint64_t set = holding->gpu_set != 0 ? holding->gpu_set : choose(node, holding);
    if ((set == 0) != (holding->gpus == 0) || !has_left(node, set, holding->gpu_milli)) return false;
    holding->gpu_set = set;
    move(stock, holding, 1);
    return true;
}

void stock_give(struct stock *stock, const struct holding *holding)
{
    move(stock, holding, -1);
}

void stock_take_group(struct stock *stock, int32_t node, int32_t gpus)
{
    struct holding holding = {.node = node, .gpus = gpus, .gpu_milli = WHOLE, .is_group = true};
    SIM_REQUIRE(stock_take(stock, &holding));
    stock->group_sets[node] |= holding.gpu_set;
}

void stock_give_group(struct stock *stock, int32_t node, int32_t gpus)
{
    struct holding holding = {.node = node, .gpus = gpus, .gpu_milli = WHOLE, .is_group = true};
    for (uint64_t set = stock->group_sets[node]; gpus > 0; gpus--, set &= set - 1) {
        SIM_REQUIRE(set != 0);
        holding.gpu_set |= set & -set;
    }
    stock->group_sets[node] &= ~holding.gpu_set;
    stock_give(stock, &holding);
}

void stock_remove_node(struct stock *stock, int32_t index)
{
    const struct node_view *node = &stock->nodes[index];
    const bool has_cpu = node->cpu_milli < INT64_MAX, has_memory = node->memory_bytes < INT64_MAX;
    struct holding left = {.node = index, .gpus = node->free_gpus, .gpu_milli = WHOLE, .is_group = true,
                           .cpu_milli = has_cpu ? node->cpu_left_milli : 0,
                           .memory_bytes = has_memory ? node->memory_left_bytes : 0};
    struct holding *down = &stock->down[index];
    SIM_REQUIRE(stock_take(stock, &left));
    left.gpu_set |= down->gpu_set;
    left.gpus += down->gpus;
    left.cpu_milli += down->cpu_milli;
    left.memory_bytes += down->memory_bytes;
    *down = left;
}

void stock_return_node(struct stock *stock, int32_t node)
{
    stock_give(stock, &stock->down[node]);
    stock->down[node] = (struct holding){0};
}

uint64_t gpu_models_of(const struct gpu_models *models, const char *list)
{
    if (list == NULL || *list == '\0') return UINT64_MAX;
    uint64_t bits = 0;
    for (const char *name = list; *name != '\0';) {
        const size_t n = strcspn(name, "|");
        for (int32_t i = 0; i < models->n; i++)
            if (strlen(models->names[i]) == n && memcmp(models->names[i], name, n) == 0) bits |= UINT64_C(1) << i;
        name += n;
        name += *name == '|';
    }
    return bits;
}

static const char *node_fault(const struct node_view *node)
{
    int32_t left_milli = 0, free_gpus = 0;
    for (int32_t g = 0; g < node->gpus; g++) {
        if (node->gpu_left_milli[g] < 0 || node->gpu_left_milli[g] > WHOLE) return "more is held of a GPU than it has";
        left_milli += node->gpu_left_milli[g];
        free_gpus += node->gpu_left_milli[g] == WHOLE;
    }
    if (left_milli != node->left_milli || free_gpus != node->free_gpus) return "what is left of GPUs does not add up";
    if (node->cpu_left_milli < 0 || node->cpu_left_milli > node->cpu_milli) return "more CPU is held than there is";
    if (node->memory_left_bytes < 0 || node->memory_left_bytes > node->memory_bytes)
        return "more memory is held than there is";
    return NULL;
}

const char *stock_fault(const struct stock *stock)
{
    const char *fault = NULL;
    for (int32_t i = 0; fault == NULL && i < stock->n_nodes; i++) fault = node_fault(&stock->nodes[i]);
    return fault;
}

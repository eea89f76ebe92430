#include "sim/world/cluster/node_resources.h"

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

static int fill_node(struct node_resources *resources, const struct node_spec *spec, struct gpu_models *models,
                     int32_t index, int32_t first_gpu)
{
    const int32_t model = model_index(models, spec->gpu_model);
    if (model < 0) return SIM_E_CONFIG;
    if (spec->gpus > 0) resources->model_set |= UINT64_C(1) << model;
    int32_t *left_milli = resources->left_milli + first_gpu;
    for (int32_t g = 0; g < spec->gpus; g++) left_milli[g] = WHOLE;
    resources->nodes[index] = (struct node_view){
        .gpus = spec->gpus,
        .free_gpus = spec->gpus,
        .left_milli = spec->gpus * WHOLE,
        .gpu_model = model,
        .gpu_left_milli = left_milli,
        .cpu_milli = spec->cpu_milli,
        .cpu_left_milli = spec->cpu_milli,
        .memory_bytes = spec->memory_bytes,
        .memory_left_bytes = spec->memory_bytes,
        .jobs_by_gpus = resources->jobs_by_gpus + (int64_t)index * resources->n_kinds,
        .changes = 1,
    };
    return 0;
}

static int fill(struct node_resources *resources, const struct node_spec *specs, struct gpu_models *models,
                int64_t n_gpus)
{
    const size_t n = (size_t)resources->n_nodes;
    resources->nodes = mem_zalloc(n, sizeof *resources->nodes);
    resources->left_milli = mem_zalloc((size_t)n_gpus + 1, sizeof *resources->left_milli);
    resources->jobs_by_gpus = mem_zalloc(n * (size_t)resources->n_kinds, sizeof *resources->jobs_by_gpus);
    resources->group_sets = mem_zalloc(n, sizeof *resources->group_sets);
    resources->down = mem_zalloc(n, sizeof *resources->down);
    resources->models = models;
    if (change_log_init(&resources->changed, resources->n_nodes) != 0 || resources->nodes == NULL ||
        resources->left_milli == NULL || resources->jobs_by_gpus == NULL || resources->group_sets == NULL ||
        resources->down == NULL)
        return SIM_E_NOMEM;
    int32_t first_gpu = 0;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < resources->n_nodes; first_gpu += specs[i++].gpus)
        code = fill_node(resources, &specs[i], models, i, first_gpu);
    return code;
}

int node_resources_create(const struct node_spec *specs, int32_t n_nodes, struct gpu_models *models,
                          struct node_resources **out)
{
    struct node_resources *resources = mem_zalloc(1, sizeof *resources);
    if (resources == NULL) return SIM_E_NOMEM;
    int64_t n_gpus = 0;
    int32_t most = 0;
    for (int32_t i = 0; i < n_nodes; i++) {
        n_gpus += specs[i].gpus;
        if (specs[i].gpus > most) most = specs[i].gpus;
    }
    resources->n_nodes = n_nodes;
    resources->n_kinds = most + 1;
    int code = most <= NODE_LIST_MAX_GPUS ? fill(resources, specs, models, n_gpus) : SIM_E_CONFIG;
    if (code < 0) {
        node_resources_destroy(resources);
        return code;
    }
    *out = resources;
    return 0;
}

void node_resources_destroy(struct node_resources *resources)
{
    if (resources == NULL) return;
    mem_free(resources->nodes);
    mem_free(resources->left_milli);
    mem_free(resources->jobs_by_gpus);
    mem_free(resources->group_sets);
    mem_free(resources->down);
    change_log_fini(&resources->changed);
    mem_free(resources);
}

static int32_t *left_of(struct node_resources *resources, const struct node_view *node)
{
    return resources->left_milli + (node->gpu_left_milli - resources->left_milli);
}

/* Bits of the GPUs for an allocation: for a share the GPU it names, else the lowest free ones; 0: not enough are
 * free. */
static uint64_t choose(const struct node_view *node, const struct node_allocation *allocation)
{
    if (allocation->gpu_milli < WHOLE) return UINT64_C(1) << allocation->gpu;
    uint64_t set = 0;
    int32_t missing = allocation->gpus;
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

/* Subtracts `sign` times the allocation from the free resources. */
static void move(struct node_resources *resources, const struct node_allocation *allocation, int32_t sign)
{
    struct node_view *node = &resources->nodes[allocation->node];
    int32_t *left = left_of(resources, node);
    for (uint64_t set = allocation->gpu_set; set != 0; set &= set - 1) {
        const int g = __builtin_ctzll(set);
        node->free_gpus -= left[g] == WHOLE;
        left[g] -= sign * allocation->gpu_milli;
        node->free_gpus += left[g] == WHOLE;
        node->left_milli -= sign * allocation->gpu_milli;
        SIM_REQUIRE(left[g] >= 0 && left[g] <= WHOLE);
    }
    if (node->cpu_milli < INT64_MAX) node->cpu_left_milli -= sign * allocation->cpu_milli;
    if (node->memory_bytes < INT64_MAX) node->memory_left_bytes -= sign * allocation->memory_bytes;
    node->changes++;
    change_log_add(&resources->changed, allocation->node);
    if (allocation->is_group || allocation->gpus == 0) return;
    const int32_t kind = allocation->gpu_milli < WHOLE ? 0 : allocation->gpus;
    int32_t *jobs = &resources->jobs_by_gpus[(int64_t)allocation->node * resources->n_kinds + kind];
    node->n_kinds -= *jobs > 0;
    *jobs += sign;
    node->n_kinds += *jobs > 0;
}

bool node_resources_take(struct node_resources *resources, struct node_allocation *allocation)
{
    if (allocation->node < 0 || allocation->node >= resources->n_nodes) return false;
    const struct node_view *node = &resources->nodes[allocation->node];
    const bool is_share = allocation->gpu_milli < WHOLE;
    if (is_share && (allocation->gpus != 1 || allocation->gpu < 0 || allocation->gpu >= node->gpus)) return false;
    if (allocation->gpus < 0 || allocation->gpus > node->gpus) return false;
    if (allocation->cpu_milli > node->cpu_left_milli || allocation->memory_bytes > node->memory_left_bytes)
        return false;
    const uint64_t set = allocation->gpu_set != 0 ? allocation->gpu_set : choose(node, allocation);
    if ((set == 0) != (allocation->gpus == 0) || !has_left(node, set, allocation->gpu_milli)) return false;
    allocation->gpu_set = set;
    move(resources, allocation, 1);
    return true;
}

void node_resources_release(struct node_resources *resources, const struct node_allocation *allocation)
{
    move(resources, allocation, -1);
}

bool node_resources_has_host(const struct node_resources *resources, const struct node_allocation *allocation,
                             int64_t cpu_milli, int64_t memory_bytes)
{
    const struct node_view *node = &resources->nodes[allocation->node];
    return cpu_milli - allocation->cpu_milli <= node->cpu_left_milli &&
           memory_bytes - allocation->memory_bytes <= node->memory_left_bytes;
}

void node_resources_set_host(struct node_resources *resources, struct node_allocation *allocation, int64_t cpu_milli,
                             int64_t memory_bytes)
{
    move(resources, allocation, -1);
    allocation->cpu_milli = cpu_milli;
    allocation->memory_bytes = memory_bytes;
    move(resources, allocation, 1);
}

void node_resources_take_group(struct node_resources *resources, int32_t node, int32_t gpus)
{
    struct node_allocation allocation = {.node = node, .gpus = gpus, .gpu_milli = WHOLE, .is_group = true};
    SIM_REQUIRE(node_resources_take(resources, &allocation));
    resources->group_sets[node] |= allocation.gpu_set;
}

void node_resources_release_group(struct node_resources *resources, int32_t node, int32_t gpus)
{
    struct node_allocation allocation = {.node = node, .gpus = gpus, .gpu_milli = WHOLE, .is_group = true};
    for (uint64_t set = resources->group_sets[node]; gpus > 0; gpus--, set &= set - 1) {
        SIM_REQUIRE(set != 0);
        allocation.gpu_set |= set & -set;
    }
    resources->group_sets[node] &= ~allocation.gpu_set;
    node_resources_release(resources, &allocation);
}

void node_resources_remove_node(struct node_resources *resources, int32_t index)
{
    const struct node_view *node = &resources->nodes[index];
    const bool has_cpu = node->cpu_milli < INT64_MAX, has_memory = node->memory_bytes < INT64_MAX;
    struct node_allocation left = {.node = index, .gpus = node->free_gpus, .gpu_milli = WHOLE, .is_group = true,
                                   .cpu_milli = has_cpu ? node->cpu_left_milli : 0,
                                   .memory_bytes = has_memory ? node->memory_left_bytes : 0};
    struct node_allocation *down = &resources->down[index];
    SIM_REQUIRE(node_resources_take(resources, &left));
    left.gpu_set |= down->gpu_set;
    left.gpus += down->gpus;
    left.cpu_milli += down->cpu_milli;
    left.memory_bytes += down->memory_bytes;
    *down = left;
}

void node_resources_return_node(struct node_resources *resources, int32_t node)
{
    node_resources_release(resources, &resources->down[node]);
    resources->down[node] = (struct node_allocation){0};
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

const char *node_resources_fault(const struct node_resources *resources)
{
    const char *fault = NULL;
    for (int32_t i = 0; fault == NULL && i < resources->n_nodes; i++) fault = node_fault(&resources->nodes[i]);
    return fault;
}

#include "sim/world/cluster/demands.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <string.h>

void demands_init(struct demands *demands)
{
    *demands = (struct demands){0};
}

void demands_fini(struct demands *demands)
{
    mem_free(demands->items);
    mem_free(demands->counts);
    mem_free(demands->slots);
    mem_free(demands->tasks);
}

struct job_demand demand_of(const struct job_record *record, const struct gpu_models *models)
{
    const bool is_share = record->gpus == 1 && record->gpu_milli > 0 && record->gpu_milli < 1000;
    return (struct job_demand){.gpus = record->gpus,
                               .nodes = record->nodes,
                               .gpu_milli = is_share ? record->gpu_milli : 1000,
                               .cpu_milli = record->cpu_milli,
                               .memory_bytes = record->memory_bytes,
                               .gpu_models = record->gpus > 0 ? gpu_models_of(models, record->gpu_models) : UINT64_MAX};
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct job_demand *demand)
{
    uint64_t hash = mix(1, (uint64_t)demand->gpus << 32 | (uint32_t)demand->nodes);
    hash = mix(hash, (uint64_t)demand->gpu_milli);
    hash = mix(hash, (uint64_t)demand->cpu_milli);
    hash = mix(hash, (uint64_t)demand->memory_bytes);
    return mix(hash, demand->gpu_models);
}

static bool is_same(const struct job_demand *a, const struct job_demand *b)
{
    return a->gpus == b->gpus && a->nodes == b->nodes && a->gpu_milli == b->gpu_milli && a->cpu_milli == b->cpu_milli &&
           a->memory_bytes == b->memory_bytes && a->gpu_models == b->gpu_models;
}

/* The slot of a request, or the empty slot for it. */
static int32_t *slot_of(const struct demands *demands, const struct job_demand *demand)
{
    const uint64_t mask = (uint64_t)demands->n_slots - 1;
    uint64_t at = hash_of(demand) & mask;
    while (demands->slots[at] >= 0 && !is_same(&demands->items[demands->slots[at]], demand)) at = (at + 1) & mask;
    return &demands->slots[at];
}

static int rehash(struct demands *demands, int32_t n_slots)
{
    int32_t *slots = mem_alloc((size_t)n_slots * sizeof *slots);
    if (slots == NULL) return SIM_E_NOMEM;
    memset(slots, -1, (size_t)n_slots * sizeof *slots);
    mem_free(demands->slots);
    demands->slots = slots;
    demands->n_slots = n_slots;
    for (int32_t i = 0; i < demands->n; i++) *slot_of(demands, &demands->items[i]) = i;
    return 0;
}

static int grow(struct demands *demands)
{
    const int32_t capacity = demands->capacity > 0 ? 2 * demands->capacity : 64;
    struct job_demand *items = mem_realloc(demands->items, (size_t)capacity * sizeof *items);
    if (items != NULL) demands->items = items;
    int64_t *counts = mem_realloc(demands->counts, (size_t)capacity * sizeof *counts);
    if (counts != NULL) demands->counts = counts;
    if (items == NULL || counts == NULL) return SIM_E_NOMEM;
    demands->capacity = capacity;
    return rehash(demands, 4 * capacity);
}

int32_t demands_index(struct demands *demands, const struct job_demand *demand)
{
    if (demands->n == demands->capacity && grow(demands) < 0) return -1;
    int32_t *slot = slot_of(demands, demand);
    if (*slot >= 0) return *slot;
    demands->items[demands->n] = *demand;
    demands->counts[demands->n] = 0;
    return *slot = demands->n++;
}

static bool is_same_kind(const struct frag_task *task, const struct job_demand *demand)
{
    return task->gpus == demand->gpus && task->cpu_milli == demand->cpu_milli && task->gpu_milli == demand->gpu_milli &&
           task->gpu_models == demand->gpu_models;
}

static void add_kind(struct demands *demands, const struct job_demand *demand, int64_t count)
{
    struct frag_task *task = demands->tasks, *end = task + demands->n_tasks;
    while (task < end && !is_same_kind(task, demand)) task++;
    if (task == end) {
        *task = (struct frag_task){.gpus = demand->gpus, .gpu_milli = demand->gpu_milli,
                                   .cpu_milli = demand->cpu_milli, .gpu_models = demand->gpu_models};
        demands->n_tasks++;
    }
    task->popularity_frac += (double)count;
}

int demands_learn(struct demands *demands, struct job_source *source, const struct gpu_models *models,
                  double cover_frac, struct diag *diag)
{
    struct job_record record;
    int code;
    while ((code = source->next(source, &record, diag)) == 1) {
        const struct job_demand demand = demand_of(&record, models);
        const int32_t index = demands_index(demands, &demand);
        if (index < 0) return SIM_E_NOMEM;
        demands->counts[index]++;
    }
    if (code < 0) return code;
    demands->tasks = mem_zalloc((size_t)demands->n + 1, sizeof *demands->tasks);
    if (demands->tasks == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < demands->n; i++) add_kind(demands, &demands->items[i], demands->counts[i]);
    demands->n_tasks = fragmentation_typical(demands->tasks, demands->n_tasks, cover_frac);
    return 0;
}

#include "sim/world/cluster/resource_requests.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <string.h>

void resource_requests_init(struct resource_requests *requests)
{
    *requests = (struct resource_requests){0};
}

void resource_requests_fini(struct resource_requests *requests)
{
    mem_free(requests->items);
    mem_free(requests->counts);
    mem_free(requests->slots);
    mem_free(requests->tasks);
}

struct resource_request resource_request_of(const struct job_record *record, const struct gpu_models *models)
{
    const bool is_share = record->gpus == 1 && record->gpu_milli > 0 && record->gpu_milli < 1000;
    return (struct resource_request){
        .gpus = record->gpus,
        .nodes = record->nodes,
        .gpu_milli = is_share ? record->gpu_milli : 1000,
        .cpu_milli = record->cpu_milli,
        .memory_bytes = record->memory_bytes,
        .gpu_models = record->gpus > 0 ? gpu_models_of(models, record->gpu_models) : UINT64_MAX,
    };
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct resource_request *request)
{
    uint64_t hash = mix(1, (uint64_t)request->gpus << 32 | (uint32_t)request->nodes);
    hash = mix(hash, (uint64_t)request->gpu_milli);
    hash = mix(hash, (uint64_t)request->cpu_milli);
    hash = mix(hash, (uint64_t)request->memory_bytes);
    return mix(hash, request->gpu_models);
}

static bool is_same(const struct resource_request *a, const struct resource_request *b)
{
    return a->gpus == b->gpus && a->nodes == b->nodes && a->gpu_milli == b->gpu_milli && a->cpu_milli == b->cpu_milli &&
           a->memory_bytes == b->memory_bytes && a->gpu_models == b->gpu_models;
}

/* The slot of a request, or the empty slot for it. */
static int32_t *slot_of(const struct resource_requests *requests, const struct resource_request *request)
{
    const uint64_t mask = (uint64_t)requests->n_slots - 1;
    uint64_t at = hash_of(request) & mask;
    while (requests->slots[at] >= 0 && !is_same(&requests->items[requests->slots[at]], request)) at = (at + 1) & mask;
    return &requests->slots[at];
}

static int rehash(struct resource_requests *requests, int32_t n_slots)
{
    int32_t *slots = mem_alloc((size_t)n_slots * sizeof *slots);
    if (slots == NULL) return SIM_E_NOMEM;
    memset(slots, -1, (size_t)n_slots * sizeof *slots);
    mem_free(requests->slots);
    requests->slots = slots;
    requests->n_slots = n_slots;
    for (int32_t i = 0; i < requests->n; i++) *slot_of(requests, &requests->items[i]) = i;
    return 0;
}

static int grow(struct resource_requests *requests)
{
    const int32_t capacity = requests->capacity > 0 ? 2 * requests->capacity : 64;
    struct resource_request *items = mem_realloc(requests->items, (size_t)capacity * sizeof *items);
    if (items != NULL) requests->items = items;
    int64_t *counts = mem_realloc(requests->counts, (size_t)capacity * sizeof *counts);
    if (counts != NULL) requests->counts = counts;
    if (items == NULL || counts == NULL) return SIM_E_NOMEM;
    requests->capacity = capacity;
    return rehash(requests, 4 * capacity);
}

int32_t resource_requests_index(struct resource_requests *requests, const struct resource_request *request)
{
    const int32_t known = requests->n > 0 ? *slot_of(requests, request) : -1;
    if (known >= 0) return known;
    if (requests->n == requests->capacity && grow(requests) < 0) return -1;
    requests->items[requests->n] = *request;
    requests->counts[requests->n] = 0;
    int32_t *slot = slot_of(requests, request);
    return *slot = requests->n++;
}

static bool is_same_kind(const struct frag_task *task, const struct resource_request *request)
{
    return task->gpus == request->gpus && task->cpu_milli == request->cpu_milli &&
           task->gpu_milli == request->gpu_milli && task->gpu_models == request->gpu_models;
}

static void add_kind(struct resource_requests *requests, const struct resource_request *request, int64_t count)
{
    struct frag_task *task = requests->tasks, *end = task + requests->n_tasks;
    while (task < end && !is_same_kind(task, request)) task++;
    if (task == end) {
        *task = (struct frag_task){.gpus = request->gpus, .gpu_milli = request->gpu_milli,
                                   .cpu_milli = request->cpu_milli, .gpu_models = request->gpu_models};
        requests->n_tasks++;
    }
    task->popularity_frac += (double)count;
}

int resource_requests_learn(struct resource_requests *requests, struct job_source *source,
                            const struct gpu_models *models, double cover_frac, struct diag *diag)
{
    struct job_record record;
    int code;
    while ((code = source->next(source, &record, diag)) == 1) {
        const struct resource_request request = resource_request_of(&record, models);
        const int32_t index = resource_requests_index(requests, &request);
        if (index < 0) return SIM_E_NOMEM;
        requests->counts[index]++;
    }
    if (code < 0) return code;
    requests->tasks = mem_zalloc((size_t)requests->n + 1, sizeof *requests->tasks);
    if (requests->tasks == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < requests->n; i++) add_kind(requests, &requests->items[i], requests->counts[i]);
    requests->n_tasks = fragmentation_typical(requests->tasks, requests->n_tasks, cover_frac);
    return 0;
}

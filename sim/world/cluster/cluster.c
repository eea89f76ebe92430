#include "sim/world/cluster/cluster.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <string.h>

/* Creates the nodes of one type; `list` is NULL if they are equal. */
static int make_nodes(struct cluster *cluster, const struct node_spec *list)
{
    cluster->node_free_gpus = mem_alloc((size_t)cluster->n_nodes * sizeof *cluster->node_free_gpus);
    cluster->nodes_by_free = mem_zalloc((size_t)cluster->gpus_per_node + 1, sizeof *cluster->nodes_by_free);
    cluster->node_down_gpus = mem_alloc((size_t)cluster->n_nodes * sizeof *cluster->node_down_gpus);
    if (cluster->node_free_gpus == NULL || cluster->nodes_by_free == NULL || cluster->node_down_gpus == NULL)
        return SIM_E_NOMEM;
    for (int32_t free = 0; free <= cluster->gpus_per_node; free++) {
        if (nodeset_init(&cluster->nodes_by_free[free], cluster->n_nodes) < 0) return SIM_E_NOMEM;
    }
    cluster->total_gpus = 0;
    for (int32_t node = 0; node < cluster->n_nodes; node++) {
        const int32_t gpus = list != NULL ? list[node].gpus : cluster->gpus_per_node;
        cluster->node_free_gpus[node] = gpus;
        cluster->node_down_gpus[node] = -1;
        cluster->total_gpus += gpus;
        nodeset_add(&cluster->nodes_by_free[gpus], node);
    }
    cluster->free_gpus = cluster->total_gpus;
    return 0;
}

/* Tracks the resources of equal nodes. */
static int make_equal_resources(struct cluster *cluster, int64_t cpu_milli, int64_t memory_bytes)
{
    struct node_spec *specs = mem_alloc((size_t)cluster->n_nodes * sizeof *specs);
    if (specs == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < cluster->n_nodes; i++)
        specs[i] = (struct node_spec){.gpus = cluster->gpus_per_node, .cpu_milli = cpu_milli,
                                      .memory_bytes = memory_bytes,
                                      .gpu_model = cluster->gpu != NULL ? cluster->gpu : ""};
    const int code = node_resources_create(specs, cluster->n_nodes, cluster->models, &cluster->resources);
    mem_free(specs);
    return code;
}

static int make_resources(struct cluster *cluster, const struct node_type_config *type, const struct node_spec *list)
{
    const double cpus = type->cpus_per_node, memory_bytes = type->memory_per_node_bytes;
    if (list != NULL) return node_resources_create(list, cluster->n_nodes, cluster->models, &cluster->resources);
    if (!(cpus > 0) && !(memory_bytes > 0)) return 0;
    return make_equal_resources(cluster, cpus > 0 ? (int64_t)(cpus * 1000 + 0.5) : INT64_MAX,
                                memory_bytes > 0 ? (int64_t)memory_bytes : INT64_MAX);
}

static bool is_down(const struct cluster *cluster, int32_t node)
{
    return cluster->node_down_gpus[node] >= 0;
}

/* Takes the GPUs that services already hold on a node from its free resources. */
static void fill_resources_from_counts(struct cluster *cluster, int32_t node)
{
    const int32_t n_withdrawn = is_down(cluster, node) ? cluster->node_down_gpus[node] : 0;
    node_resources_take_group(cluster->resources, node,
                              cluster->gpus_per_node - cluster->node_free_gpus[node] - n_withdrawn);
    if (is_down(cluster, node)) node_resources_remove_node(cluster->resources, node);
}

int cluster_track_resources(struct cluster *cluster)
{
    int code = 0;
    for (; code == 0 && cluster != NULL; cluster = cluster->next) {
        if (cluster->resources != NULL || cluster->n_nodes == 0) continue;
        code = make_equal_resources(cluster, INT64_MAX, INT64_MAX);
        for (int32_t node = 0; code == 0 && node < cluster->n_nodes; node++) fill_resources_from_counts(cluster, node);
    }
    return code;
}

static int create_part(const struct node_type_config *type, bool unlimited, const struct node_spec *list,
                       struct cluster *first, struct cluster **out)
{
    struct cluster *cluster = *out = mem_zalloc(1, sizeof *cluster);
    if (cluster == NULL) return SIM_E_NOMEM;
    cluster->models = first != NULL ? first->models : &cluster->own_models;
    level_init(&cluster->ugpus_in_use, 0, 0);
    level_init(&cluster->site_ugpus, 0, 0);
    level_init(&cluster->group_gpus, 0, 0);
    level_init(&cluster->late_group_gpus, 0, 0);
    cluster->first = cluster;
    pool_init(&cluster->allocations, sizeof(struct allocation));
    cluster->gpu = type->gpu;
    cluster->slices = type->slices > 0 ? (int32_t)type->slices : 1;
    cluster->type_name = type->name;
    cluster->gpu_usd_per_h = type->gpu_usd_per_h > 0 ? type->gpu_usd_per_h : (double)NAN;
    cluster->total_gpus = cluster->free_gpus = INT64_MAX;
    if (unlimited) return 0;
    cluster->n_nodes = (int32_t)type->nodes;
    cluster->gpus_per_node = (int32_t)type->gpus_per_node;
    const int code = make_nodes(cluster, list);
    return code < 0 ? code : make_resources(cluster, type, list);
}

int cluster_create(const struct cluster_config *config, struct cluster **out)
{
    const struct node_type_config own = {.nodes = config->nodes, .gpus_per_node = config->gpus_per_node,
                                         .gpu = config->gpu, .slices = config->slices,
                                         .gpu_usd_per_h = config->gpu_usd_per_h,
                                         .cpus_per_node = config->cpus_per_node,
                                         .memory_per_node_bytes = config->memory_per_node_bytes};
    int code = create_part(&own, config->unlimited, config->node_list.items, NULL, out);
    struct cluster *last = *out;
    const struct node_type_config *type = config->node_types.items;
    for (size_t i = 0; code == 0 && i < config->node_types.n; i++, type++) {
        code = create_part(type, false, NULL, *out, &last->next);
        if (last->next != NULL) last->next->first = *out;
        if (code < 0) break;
        last->next->node_type = last->node_type + 1;
        last->next->first_node = last->first_node + last->n_nodes;
        last = last->next;
    }
    bool has_resources = false;
    for (last = *out; last != NULL; last = last->next) {
        last->nodes_per_rack = (int32_t)config->nodes_per_rack;
        has_resources = has_resources || last->resources != NULL;
    }
    if (code == 0 && has_resources) code = cluster_track_resources(*out);
    if (code == 0) return 0;
    cluster_destroy(*out);
    *out = NULL;
    return code;
}

void cluster_destroy(struct cluster *cluster)
{
    if (cluster == NULL) return;
    cluster_destroy(cluster->next);
    for (int32_t free = 0; cluster->nodes_by_free != NULL && free <= cluster->gpus_per_node; free++) {
        nodeset_fini(&cluster->nodes_by_free[free]);
    }
    mem_free(cluster->nodes_by_free);
    mem_free(cluster->node_free_gpus);
    mem_free(cluster->node_down_gpus);
    node_resources_destroy(cluster->resources);
    mem_free(cluster->fragmentation.milli);
    pool_fini(&cluster->allocations);
    mem_free(cluster);
}

/* Counts GPUs as taken (ugpus > 0) or released (ugpus < 0). */
static void count(struct cluster *cluster, sim_ns now, int64_t ugpus)
{
    const int64_t in_use = cluster->ugpus_in_use.value + ugpus;
    level_set(&cluster->ugpus_in_use, now, in_use);
    if (cluster->first->next != NULL)
        level_set(&cluster->first->site_ugpus, now, cluster->first->site_ugpus.value + ugpus);
    if (cluster->node_free_gpus != NULL)
        cluster->free_gpus = cluster->total_gpus - cluster->down_gpus -
                             (in_use + (cluster->resources == NULL ? GPU_MICRO - 1 : 0)) / GPU_MICRO;
    if (cluster->fragmentation.tasks != NULL)
        level_set(&cluster->fragmentation.ugpus, now, llround(cluster->fragmentation.sum_milli * 1000));
    SIM_REQUIRE(in_use >= 0 && cluster->free_gpus >= 0 && cluster->free_gpus <= cluster->total_gpus);
}

static void take_on_node(struct cluster *cluster, int32_t node, int32_t gpus)
{
    int32_t *free = &cluster->node_free_gpus[node];
    SIM_REQUIRE(*free - gpus >= 0 && *free - gpus <= cluster->gpus_per_node);
    nodeset_remove(&cluster->nodes_by_free[*free], node);
    *free -= gpus;
    nodeset_add(&cluster->nodes_by_free[*free], node);
}

static void measure_node(struct cluster *cluster, int32_t node)
{
    struct fragmentation *fragmentation = &cluster->fragmentation;
    const struct node_view *of = &cluster->resources->nodes[node];
    const struct frag_node left = {of->gpu_left_milli, of->gpus, of->gpu_model, of->cpu_left_milli};
    const double milli = fragmentation_milli(&left, fragmentation->tasks, fragmentation->n_tasks);
    fragmentation->sum_milli += milli - fragmentation->milli[node];
    fragmentation->milli[node] = milli;
}

int cluster_measure(struct cluster *cluster, sim_ns now, const struct frag_task *tasks, int32_t n_tasks)
{
    struct fragmentation *fragmentation = &cluster->fragmentation;
    if (cluster->resources == NULL) return 0;
    fragmentation->milli = mem_zalloc((size_t)cluster->n_nodes, sizeof *fragmentation->milli);
    if (fragmentation->milli == NULL) return SIM_E_NOMEM;
    fragmentation->tasks = tasks;
    fragmentation->n_tasks = n_tasks;
    for (int32_t node = 0; node < cluster->n_nodes; node++) measure_node(cluster, node);
    level_init(&fragmentation->ugpus, now, llround(fragmentation->sum_milli * 1000));
    return 0;
}

/* Updates the counts of a node from its resources. */
static void update_counts_from_resources(struct cluster *cluster, int32_t node)
{
    const int32_t taken = cluster->node_free_gpus[node] - cluster->resources->nodes[node].free_gpus;
    if (taken != 0) take_on_node(cluster, node, taken);
    if (cluster->fragmentation.tasks != NULL) measure_node(cluster, node);
}

/* Updates the counts of a node: from its resources if these are tracked, else by `gpus`. */
static void move_group(struct cluster *cluster, int32_t node, int32_t gpus)
{
    if (cluster->resources != NULL)
        update_counts_from_resources(cluster, node);
    else
        take_on_node(cluster, node, gpus);
}

int32_t cluster_node_gpus(const struct cluster *cluster, int32_t node)
{
    return cluster->resources != NULL ? cluster->resources->nodes[node].gpus : cluster->gpus_per_node;
}

const char *cluster_gpu_of(const struct cluster *cluster, int64_t node)
{
    const struct node_resources *resources = node >= 0 ? cluster->resources : NULL;
    const char *model = resources != NULL ? resources->models->names[resources->nodes[node].gpu_model] : "";
    return model[0] != '\0' ? model : cluster->gpu;
}

/* Counts GPUs as taken (gpus > 0) or released (gpus < 0) by services. */
static void count_group(struct cluster *cluster, sim_ns now, int32_t gpus)
{
    struct level *late = &cluster->late_group_gpus;
    level_set(&cluster->group_gpus, now, cluster->group_gpus.value + gpus);
    level_set(late, now > late->start_ns ? now : late->start_ns, cluster->group_gpus.value);
}

static void take_group(struct cluster *cluster, sim_ns now, int32_t node, int32_t gpus)
{
    if (cluster->resources != NULL) node_resources_take_group(cluster->resources, node, gpus);
    move_group(cluster, node, gpus);
    count(cluster, now, (int64_t)gpus * GPU_MICRO);
    count_group(cluster, now, gpus);
    cluster->capacity_epoch++;
}

int32_t cluster_take_group(struct cluster *cluster, sim_ns now, int32_t gpus)
{
    int32_t node = -1;
    if (gpus > cluster->free_gpus) return -1;
    for (int32_t free = gpus; free <= cluster->gpus_per_node && node < 0; free++)
        node = cluster_next_node(cluster, free, free, 0);
    if (node >= 0) take_group(cluster, now, node, gpus);
    return node;
}

struct cluster *cluster_with_gpu(struct cluster *cluster, const char *gpu)
{
    if (cluster != NULL && cluster->total_gpus == INT64_MAX) return cluster;
    while (cluster != NULL && (cluster->gpu == NULL || strcmp(cluster->gpu, gpu) != 0)) cluster = cluster->next;
    return cluster;
}

double cluster_gpu_usd_per_h(const struct cluster *cluster, const char *gpu)
{
    for (; cluster != NULL; cluster = cluster->next)
        if (cluster->gpu != NULL && strcmp(cluster->gpu, gpu) == 0 && !isnan(cluster->gpu_usd_per_h))
            return cluster->gpu_usd_per_h;
    return (double)NAN;
}

int32_t cluster_take_group_of(struct cluster *cluster, const char *gpu, sim_ns now, int32_t gpus)
{
    struct cluster *part = cluster_with_gpu(cluster, gpu);
    int32_t node = -1;
    for (; part != NULL && node < 0; part = cluster_with_gpu(part->next, gpu)) {
        node = cluster_take_group(part, now, gpus);
        if (node >= 0) node += part->first_node;
    }
    return node;
}

/* Groups that can be taken, at most `most`. */
static int64_t count_groups(const struct cluster *cluster, int32_t gpus, int64_t most)
{
    int64_t n = 0;
    if (cluster->free_gpus / gpus < most) most = cluster->free_gpus / gpus;
    for (int32_t free = gpus; free <= cluster->gpus_per_node && n < most; free++) {
        int32_t node = -1;
        while (n < most && (node = cluster_next_node(cluster, free, free, node + 1)) >= 0) n += free / gpus;
    }
    return n < most ? n : most;
}

bool cluster_has_groups_of(struct cluster *cluster, const char *gpu, int32_t gpus, int64_t groups)
{
    struct cluster *part = cluster_with_gpu(cluster, gpu);
    for (; part != NULL && groups > 0; part = cluster_with_gpu(part->next, gpu))
        groups -= count_groups(part, gpus, groups);
    return groups <= 0;
}

double cluster_gpus_in_use(const struct cluster *cluster)
{
    int64_t ugpus = 0;
    for (; cluster != NULL; cluster = cluster->next) ugpus += cluster->ugpus_in_use.value;
    return gpus_of(ugpus);
}

/* Withdraws what is free on a node that is down, CPU and memory included. */
static void withdraw(struct cluster *cluster, int32_t node)
{
    const int32_t gpus = cluster->node_free_gpus[node];
    if (cluster->resources != NULL) node_resources_remove_node(cluster->resources, node);
    move_group(cluster, node, gpus);
    cluster->node_down_gpus[node] += gpus;
    cluster->down_gpus += gpus;
    cluster->free_gpus -= gpus;
    cluster->capacity_epoch++;
}

void cluster_remove_node(struct cluster *cluster, int32_t node)
{
    cluster->node_down_gpus[node] = 0;
    withdraw(cluster, node);
}

void cluster_return_node(struct cluster *cluster, int32_t node)
{
    const int32_t gpus = cluster->node_down_gpus[node];
    if (cluster->resources != NULL) node_resources_return_node(cluster->resources, node);
    move_group(cluster, node, -gpus);
    cluster->node_down_gpus[node] = -1;
    cluster->down_gpus -= gpus;
    cluster->free_gpus += gpus;
    cluster->capacity_epoch++;
}

void cluster_release_group(struct cluster *cluster, sim_ns now, int32_t node, int32_t gpus)
{
    if (cluster->resources != NULL) node_resources_release_group(cluster->resources, node, gpus);
    move_group(cluster, node, -gpus);
    count(cluster, now, -(int64_t)gpus * GPU_MICRO);
    count_group(cluster, now, -gpus);
    cluster->capacity_epoch++;
    if (is_down(cluster, node)) withdraw(cluster, node);
}

/* The node type of a node by its number in the site. */
static struct cluster *part_of(struct cluster *cluster, int32_t node)
{
    while (node >= cluster->first_node + cluster->n_nodes) cluster = cluster->next;
    return cluster;
}

void cluster_take_group_on(struct cluster *cluster, sim_ns now, int32_t node, int32_t gpus)
{
    cluster = part_of(cluster, node);
    take_group(cluster, now, node - cluster->first_node, gpus);
}

void cluster_note_returnable(struct cluster *cluster, int32_t node, int32_t gpus)
{
    part_of(cluster, node)->returnable_gpus += gpus;
}

void cluster_note_claimed(struct cluster *cluster, int32_t node, int32_t gpus)
{
    part_of(cluster, node)->claimed_gpus += gpus;
}

void cluster_release_group_of(struct cluster *cluster, sim_ns now, int32_t node, int32_t gpus)
{
    cluster = part_of(cluster, node);
    cluster_release_group(cluster, now, node - cluster->first_node, gpus);
}

static bool is_free(const struct cluster *cluster, int32_t node, int32_t gpus)
{
    return node >= 0 && node < cluster->n_nodes && gpus > 0 && gpus <= cluster->node_free_gpus[node];
}

/* Takes a part of an allocation. Returns whether it was free. */
static bool take_part(struct cluster *cluster, struct allocation *part)
{
    if (cluster->resources == NULL && !is_free(cluster, part->node, part->gpus)) return false;
    if (cluster->resources != NULL && !node_resources_take(cluster->resources, &part->details)) return false;
    move_group(cluster, part->node, part->gpus);
    return true;
}

static void release_part(struct cluster *cluster, const struct allocation *part)
{
    if (cluster->resources != NULL) node_resources_release(cluster->resources, &part->details);
    move_group(cluster, part->node, -part->gpus);
}

/* Releases and forgets a partial allocation. */
static void release_parts(struct cluster *cluster, struct allocation *allocation)
{
    for (const struct allocation *part = allocation; part != NULL; part = part->next) release_part(cluster, part);
    cluster_forget(cluster, allocation);
}

/* The part of a placement on its i-th node. */
static struct allocation portion_of(const struct resource_request *request, const struct placement *placement,
                                    int32_t i)
{
    const int32_t node = placement->nodes[i], gpus = placement->gpus[i];
    return (struct allocation){.node = node,
                               .gpus = gpus,
                               .details = {.node = node, .gpus = gpus, .gpu_milli = request->gpu_milli,
                                           .gpu = placement->gpu,
                                           .cpu_milli = resource_request_share(request->cpu_milli, gpus, request->gpus),
                                           .memory_bytes = resource_request_share(request->memory_bytes, gpus,
                                                                                  request->gpus)}};
}

static int take_parts(struct cluster *cluster, const struct resource_request *request,
                      const struct placement *placement, struct allocation **allocation)
{
    int64_t missing = request->gpus;
    for (int32_t i = placement->n - 1; i >= 0; i--) {
        struct allocation *part = pool_take(&cluster->allocations);
        if (part == NULL) return SIM_E_NOMEM;
        *part = portion_of(request, placement, i);
        if ((part->gpus == 0 && request->gpus > 0) || !take_part(cluster, part)) {
            pool_give(&cluster->allocations, part);
            return SIM_E_POLICY;
        }
        part->next = *allocation;
        *allocation = part;
        missing -= part->gpus;
    }
    const bool nowhere = placement->n == 0 && (request->cpu_milli > 0 || request->memory_bytes > 0);
    return missing == 0 && !nowhere ? 0 : SIM_E_POLICY;
}

int cluster_take_request(struct cluster *cluster, sim_ns now, const struct resource_request *request,
                         const struct placement *placement, struct allocation **allocation)
{
    const int64_t ugpus = (int64_t)request->gpus * request->gpu_milli * (GPU_MICRO / 1000);
    *allocation = NULL;
    if (!cluster_has_free(cluster, ugpus)) return SIM_E_POLICY;
    const int code = take_parts(cluster, request, placement, allocation);
    if (code == 0) {
        count(cluster, now, ugpus);
    } else {
        release_parts(cluster, *allocation);
        *allocation = NULL;
    }
    return code;
}

int cluster_take(struct cluster *cluster, sim_ns now, int64_t ugpus, const struct placement *placement,
                 struct allocation **allocation)
{
    const struct resource_request whole = {.gpus = (int32_t)(ugpus / GPU_MICRO), .gpu_milli = 1000};
    if (placement != NULL) return cluster_take_request(cluster, now, &whole, placement, allocation);
    *allocation = NULL;
    if (!cluster_has_free(cluster, ugpus)) return SIM_E_POLICY;
    cluster->unplaced_ugpus += ugpus;
    count(cluster, now, ugpus);
    return 0;
}

void cluster_release(struct cluster *cluster, sim_ns now, int64_t ugpus, const struct allocation *allocation)
{
    for (const struct allocation *part = allocation; part != NULL; part = part->next) release_part(cluster, part);
    if (allocation == NULL) cluster->unplaced_ugpus -= ugpus;
    count(cluster, now, -ugpus);
    for (const struct allocation *part = allocation; part != NULL; part = part->next)
        if (is_down(cluster, part->node)) withdraw(cluster, part->node);
}

bool cluster_set_host(struct cluster *cluster, struct allocation *allocation, const struct resource_request *request)
{
    const int64_t cpu_milli = request->cpu_milli, bytes = request->memory_bytes;
    for (const struct allocation *part = allocation; part != NULL; part = part->next)
        if (!node_resources_has_host(cluster->resources, &part->details,
                                     resource_request_share(cpu_milli, part->gpus, request->gpus),
                                     resource_request_share(bytes, part->gpus, request->gpus)))
            return false;
    for (struct allocation *part = allocation; part != NULL; part = part->next) {
        node_resources_set_host(cluster->resources, &part->details,
                                resource_request_share(cpu_milli, part->gpus, request->gpus),
                                resource_request_share(bytes, part->gpus, request->gpus));
        move_group(cluster, part->node, 0);
        if (is_down(cluster, part->node)) withdraw(cluster, part->node);
    }
    cluster->capacity_epoch++;
    return true;
}

static bool retake(struct cluster *cluster, sim_ns now, int64_t ugpus, struct allocation *allocation)
{
    if (!cluster_has_free(cluster, ugpus)) return false;
    for (struct allocation *part = allocation; part != NULL; part = part->next) {
        if (take_part(cluster, part)) continue;
        for (const struct allocation *taken = allocation; taken != part; taken = taken->next)
            release_part(cluster, taken);
        return false;
    }
    if (allocation == NULL) cluster->unplaced_ugpus += ugpus;
    count(cluster, now, ugpus);
    return true;
}

bool cluster_retake(struct cluster *cluster, sim_ns now, int64_t ugpus, struct allocation *allocation)
{
    for (struct allocation *part = allocation; part != NULL; part = part->next) {
        part->is_withdrawn = is_down(cluster, part->node);
        if (part->is_withdrawn) cluster_return_node(cluster, part->node);
    }
    const bool is_taken = retake(cluster, now, ugpus, allocation);
    for (struct allocation *part = allocation; part != NULL; part = part->next)
        if (part->is_withdrawn) cluster_remove_node(cluster, part->node);
    return is_taken;
}

void cluster_forget(struct cluster *cluster, struct allocation *allocation)
{
    while (allocation != NULL) {
        struct allocation *next = allocation->next;
        pool_give(&cluster->allocations, allocation);
        allocation = next;
    }
}

int32_t cluster_next_node(const struct cluster *cluster, int32_t low, int32_t high, int32_t from)
{
    int32_t lowest = -1;
    for (int32_t free = low; free <= high; free++) {
        int32_t node = nodeset_next(&cluster->nodes_by_free[free], from);
        if (node >= 0 && (lowest < 0 || node < lowest)) lowest = node;
    }
    return lowest;
}

static int emit_fragmentation(const struct cluster *cluster, sim_ns now, const struct sink *sink)
{
    double mean = 0, free_mean = 0, end = 0, free_end = 0;
    for (const struct cluster *part = cluster; part != NULL; part = part->next) {
        if (part->fragmentation.tasks == NULL) continue;
        mean += level_mean_in(&part->fragmentation.ugpus, now, GPU_MICRO);
        free_mean += (double)part->total_gpus - level_mean_in(&part->ugpus_in_use, now, GPU_MICRO);
        end += part->fragmentation.sum_milli / 1000;
        free_end += cluster_free_amount(part);
    }
    int code = metric_emit(sink, "cluster.frag_gpus.mean", mean);
    if (code == 0 && free_mean > 0) code = metric_emit(sink, "cluster.frag_frac.mean", mean / free_mean);
    if (code == 0 && free_end > 0) code = metric_emit(sink, "cluster.frag_frac.end", end / free_end);
    return code;
}

int cluster_emit(const struct cluster *cluster, sim_ns now, const struct sink *sink)
{
    double mean = 0, total = 0;
    const double max = gpus_of((cluster->next != NULL ? &cluster->site_ugpus : &cluster->ugpus_in_use)->max);
    for (const struct cluster *part = cluster; part != NULL; part = part->next) {
        mean += level_mean_in(&part->ugpus_in_use, now, GPU_MICRO);
        total += (double)part->total_gpus;
    }
    int code = metric_emit(sink, "cluster.gpus_in_use.mean", mean);
    if (code == 0) code = metric_emit(sink, "cluster.gpus_in_use.max", max);
    if (code < 0 || cluster->n_nodes == 0) return code;
    code = metric_emit(sink, "cluster.gpus", total);
    if (code == 0) code = metric_emit(sink, "cluster.gpu_util", mean / total);
    return code < 0 || cluster->fragmentation.tasks == NULL ? code : emit_fragmentation(cluster, now, sink);
}

/* --- INV-6 --- */

/* No GPU, CPU or memory is allocated twice, and the counts agree with the resources. */
static void check_resources(const struct cluster *cluster)
{
    const char *fault = node_resources_fault(cluster->resources);
    if (fault != NULL) SIM_BUG("INV-6: %s", fault);
    int64_t left_milli = 0;
    for (int32_t i = 0; i < cluster->n_nodes; i++) {
        const struct node_view *node = &cluster->resources->nodes[i];
        left_milli += node->left_milli;
        SIM_LAW("INV-6 (free GPUs of a node)", cluster->node_free_gpus[i], node->free_gpus);
    }
    SIM_LAW("INV-6 (what is left of GPUs)", left_milli * (GPU_MICRO / 1000) + cluster->ugpus_in_use.value,
            cluster->unplaced_ugpus + (cluster->total_gpus - cluster->down_gpus) * GPU_MICRO);
}

void cluster_check(const struct cluster *cluster)
{
    if (cluster->total_gpus == INT64_MAX) return;
    const int64_t ugpus = cluster->ugpus_in_use.value + (cluster->resources == NULL ? GPU_MICRO - 1 : 0);
    SIM_LAW("INV-6 (GPUs are conserved)", cluster->free_gpus + cluster->down_gpus + ugpus / GPU_MICRO,
            cluster->total_gpus);
    if (cluster->is_placed) SIM_LAW("INV-6 (what is placed is on nodes)", cluster->unplaced_ugpus, 0);
    if (cluster->resources != NULL) check_resources(cluster);
    for (int32_t i = 0; cluster->node_free_gpus != NULL && i < cluster->n_nodes; i++) {
        int32_t free_gpus = cluster->node_free_gpus[i];
        if (free_gpus < 0 || free_gpus > cluster->gpus_per_node)
            SIM_BUG("INV-6: node %d has %d free GPUs of %d", i, free_gpus, cluster->gpus_per_node);
    }
}

/* HiveD (Zhao et al., OSDI 2020): each tenant has a virtual cluster of promised cells, such as a node or half of one.
 * Its jobs get cells of the virtual cluster as if that were a cluster of its own (virtual.h). A promised cell with
 * jobs is bound to a cell of the real cluster, which the buddy system always has. So a job that a cluster of its
 * tenant's own could place finds GPUs here, too. Jobs go in order of submission within a virtual cluster, and those
 * that do not fit are skipped.
 *
 * Jobs of no virtual cluster, and those that their virtual cluster could never take, are opportunistic: they use free
 * GPUs anywhere. Where a job in a promised cell needs them, they are preempted, the youngest first. A cell is bound
 * where the fewest of their GPUs must be taken.
 *
 * "cells": false is the paper's comparison: a tenant has a quota of as many GPUs, and the placer places its jobs. If
 * nodes differ or GPUs are only counted, quotas are all that there is. The cluster's own nodes only. A bound cell does
 * not move, so while nodes are down or held by services, a job may wait that a cluster of its own could place. */
#include "policies/declared.h"
#include "policies/scheduler/cells/virtual.h"
#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdio.h>
#include <string.h>

enum { CELLED_GPUS = 1 << 24 }; /* most GPUs of a cluster with cells */

struct promise {
    int64_t gpus, count;
};

/* An entry of "virtual_clusters". */
struct tenant_params {
    const char *name; /* key: a group of jobs of the trace, or a type of jobs */
    struct config_list cells; /* struct promise */
};

struct hived_params {
    struct config_list tenants; /* struct tenant_params */
    bool cells;
};

/* GPUs of a running job on one node. */
struct part {
    int32_t cell, level; /* of its tenant; cell -1: of an opportunistic job */
    int32_t node, gpus;
    int32_t next; /* of the same job in hived.parts; -1: none */
};

struct hived_job {
    struct ranked ranked; /* first: its place among pending jobs */
    int32_t tenant;       /* -1: opportunistic */
    int32_t parts;        /* the first in hived.parts; -1: none */
    size_t at;            /* of a running opportunistic job: in hived.running */
};

struct tenant {
    struct pending pending;
    bool has_jobs; /* a job named it, even if too large for it */
    int64_t quota_gpus, used_gpus;
};

struct hived {
    struct hived_params params;
    bool has_cells;
    struct virtual_clusters clusters; /* if has_cells: of the tenants, in their order */
    int32_t n_tenants;
    struct tenant *tenants;  /* [n_tenants] */
    struct pending unbound;  /* opportunistic jobs */
    struct hived_job **running; /* [n] opportunistic ones, in any order */
    size_t n, capacity;
    struct part *parts;
    int32_t n_parts, parts_capacity, free_part;
    struct placement where;
    struct hived_job **victims;
    size_t n_victims, victims_capacity;
    int64_t n_large; /* jobs that became opportunistic since the last decision */
    char absent[256]; /* text of a warning */
    int code;
};

/* How a job is cut: `n` parts of `level`, the first `n_more` of `gpus` + 1 GPUs and the others of `gpus`; then one of
 * `rest_gpus`, if above 0. */
struct shape {
    int32_t n, level, gpus, n_more, rest_level, rest_gpus;
};

static struct shape shape_of(const struct hived *hived, const struct job_view *job)
{
    const struct cell_levels *levels = &hived->clusters.levels;
    const int32_t node = levels->node, per_node = levels->gpus[node], most = hived->where.capacity;
    const int32_t least = (job->gpus + per_node - 1) / per_node;
    int32_t nodes = job->nodes < job->gpus ? job->nodes : job->gpus;
    if (nodes > most) nodes = most;
    if (nodes > least) return (struct shape){nodes, node, job->gpus / nodes, job->gpus % nodes, 0, 0};
    if (job->gpus <= per_node) return (struct shape){1, cell_level_for(levels, job->gpus), job->gpus, 0, 0, 0};
    const int32_t rest = job->gpus % per_node;
    return (struct shape){job->gpus / per_node, node, per_node, 0, cell_level_for(levels, rest), rest};
}

/* Whether the promised cells of a tenant could take the job, if all were free. */
static bool could_take(const struct hived *hived, int32_t tenant, const struct job_view *job)
{
    if (!hived->has_cells) return job->gpus <= hived->tenants[tenant].quota_gpus;
    const struct cell_levels *levels = &hived->clusters.levels;
    const struct shape shape = shape_of(hived, job);
    int64_t n = 0, smaller = 0; /* cells that the promised ones make for the parts; others that take the rest */
    for (int32_t level = 0; level < levels->n; level++) {
        const int32_t roots = hived->clusters.items[tenant].cells.roots[level];
        if (level >= shape.level) n += (int64_t)roots * (levels->gpus[level] / levels->gpus[shape.level]);
        if (level >= shape.rest_level && level < shape.level) smaller += roots;
    }
    return n > shape.n || (n == shape.n && (shape.rest_gpus == 0 || smaller > 0));
}

/* --- Running jobs --- */

/* Notes GPUs that a job is about to get. Returns 0 or SIM_E_NOMEM. */
static int add_part(struct hived *hived, struct hived_job *job, struct part part)
{
    part.next = job->parts;
    if (hived->free_part < 0) {
        job->parts = hived->n_parts;
        const int code = vec_push(&hived->parts, &hived->n_parts, &hived->parts_capacity, part);
        if (code != 0) job->parts = part.next;
        return code;
    }
    job->parts = hived->free_part;
    hived->free_part = hived->parts[job->parts].next;
    hived->parts[job->parts] = part;
    return 0;
}

/* The job has no GPUs any more, or gets none. */
static void drop_parts(struct hived *hived, struct hived_job *job)
{
    while (job->parts >= 0) {
        struct part *part = &hived->parts[job->parts];
        const int32_t next = part->next;
        const int code = part->cell >= 0 ? virtual_give(&hived->clusters, job->tenant, part->level, part->cell) : 0;
        if (code < 0) hived->code = code;
        if (part->cell < 0) hived->clusters.lent_gpus[part->node] -= part->gpus;
        part->next = hived->free_part;
        hived->free_part = job->parts;
        job->parts = next;
    }
}

static struct pending *queue_of(struct hived *hived, const struct hived_job *job)
{
    return job->tenant < 0 ? &hived->unbound : &hived->tenants[job->tenant].pending;
}

static int32_t tenant_of(struct hived *hived, const struct job_view *job)
{
    const struct tenant_params *params = hived->params.tenants.items;
    int32_t tenant = hived->params.tenants.n == 0 ? 0 : -1;
    for (int32_t i = 0; i < (int32_t)hived->params.tenants.n && tenant < 0; i++)
        if (strcmp(params[i].name, job->group) == 0 || strcmp(params[i].name, job->type) == 0) tenant = i;
    if (tenant >= 0) hived->tenants[tenant].has_jobs = true;
    if (tenant < 0 || could_take(hived, tenant, job)) return tenant;
    hived->n_large++;
    return -1;
}

static void run(struct hived *hived, struct hived_job *job)
{
    pending_remove(queue_of(hived, job), &job->ranked);
    if (job->tenant >= 0) {
        hived->tenants[job->tenant].used_gpus += job->ranked.job->gpus;
        return;
    }
    job->at = hived->n;
    if (vec_push(&hived->running, &hived->n, &hived->capacity, job) != 0) hived->code = SIM_E_NOMEM;
}

static void stop(struct hived *hived, struct hived_job *job)
{
    drop_parts(hived, job);
    if (job->tenant >= 0) {
        hived->tenants[job->tenant].used_gpus -= job->ranked.job->gpus;
    } else if (job->at < hived->n && hived->running[job->at] == job) { /* else there was no memory for it */
        hived->running[job->at] = hived->running[--hived->n];
        hived->running[job->at]->at = job->at;
    }
}

static void hived_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct hived *hived = state;
    struct hived_job *job = job_view_slot(note->job);
    (void)view;
    if (note->event == JOB_EVENT_START) run(hived, job);
    if (note->event == JOB_EVENT_FINISH || note->event == JOB_EVENT_PREEMPT) stop(hived, job);
    if (note->event == JOB_EVENT_SUBMIT) {
        *job = (struct hived_job){.ranked = {.job = note->job, .gpus = note->job->gpus,
                                             .rank = {.first = note->job->sequence}},
                                  .tenant = tenant_of(hived, note->job), .parts = -1};
    }
    if (note->event != JOB_EVENT_SUBMIT && note->event != JOB_EVENT_PREEMPT) return;
    const int code = pending_add(queue_of(hived, job), &job->ranked);
    if (code < 0) hived->code = code;
}

/* --- Cells --- */

static void note_part(struct hived *hived, struct hived_job *job, struct part part)
{
    const int code = add_part(hived, job, part);
    if (code < 0) hived->code = code;
    if (code == 0) placement_add(&hived->where, part.node, part.gpus);
}

/* Takes a cell for a part of the job. */
static bool seek_part(struct hived *hived, const struct cluster_view *view, struct hived_job *job, int32_t level,
                      int32_t gpus)
{
    struct virtual_cell taken;
    const int code = virtual_take(&hived->clusters, job->tenant, view, gpus, level, &taken);
    if (code < 0) hived->code = code;
    if (code == 1) note_part(hived, job, (struct part){taken.cell, taken.level, taken.node, gpus, -1});
    return code == 1 && hived->code == 0;
}

static bool seek_cells(struct hived *hived, const struct cluster_view *view, struct hived_job *job)
{
    const struct shape shape = shape_of(hived, job->ranked.job);
    bool found = true;
    hived->where.n = 0;
    for (int32_t i = 0; i < shape.n && found; i++)
        found = seek_part(hived, view, job, shape.level, shape.gpus + (i < shape.n_more));
    return found && (shape.rest_gpus == 0 || seek_part(hived, view, job, shape.rest_level, shape.rest_gpus));
}

/* The youngest opportunistic job with GPUs on a node; NULL: none. node -1: on any. */
static struct hived_job *youngest_on(const struct hived *hived, int32_t node)
{
    struct hived_job *youngest = NULL;
    for (size_t i = 0; i < hived->n; i++) {
        struct hived_job *job = hived->running[i];
        if (youngest != NULL && job->ranked.job->sequence < youngest->ranked.job->sequence) continue;
        int32_t part = job->parts;
        while (part >= 0 && hived->parts[part].node != node) part = hived->parts[part].next;
        if (node < 0 || part >= 0) youngest = job;
    }
    return youngest;
}

static bool start_in_cells(struct hived *hived, const struct cluster_view *view, struct hived_job *job,
                           struct job_plan *plan)
{
    bool started = seek_cells(hived, view, job);
    for (int32_t i = 0; i < hived->where.n && started; i++) {
        const int32_t node = hived->where.nodes[i];
        struct hived_job *victim = job;
        while (view->node_free_gpus[node] < hived->where.gpus[i] && victim != NULL)
            if ((victim = youngest_on(hived, node)) != NULL)
                job_plan_preempt(plan, victim->ranked.job, "a virtual cluster needs its cell");
        started = victim != NULL;
    }
    if (started && job_plan_start_at(plan, job->ranked.job, &hived->where, "cells of its virtual cluster are free"))
        return true;
    drop_parts(hived, job);
    return false;
}

/* Whether one of the first `n` parts of the placement is on the node. */
static bool is_used(const struct placement *where, int32_t n, int32_t node)
{
    for (int32_t i = 0; i < n; i++)
        if (where->nodes[i] == node) return true;
    return false;
}

/* Puts `n` parts of `gpus` GPUs on the nodes with the fewest free GPUs that suffice, each on one of its own. */
static bool lend_nodes(struct hived *hived, const struct cluster_view *view, struct hived_job *job, int32_t n,
                       int32_t gpus)
{
    const int32_t before = hived->where.n;
    for (int32_t free = gpus; free <= view->gpus_per_node && n > 0; free++) {
        int32_t node = -1;
        while (n > 0 && (node = cluster_view_next_node(view, free, free, node + 1)) >= 0) {
            if (is_used(&hived->where, before, node)) continue;
            note_part(hived, job, (struct part){-1, 0, node, gpus, -1});
            if (hived->code != 0) return false;
            hived->clusters.lent_gpus[node] += gpus;
            n--;
        }
    }
    return n == 0;
}

/* An opportunistic job takes free GPUs, its larger parts first. */
static bool start_anywhere(struct hived *hived, const struct cluster_view *view, struct hived_job *job,
                           struct job_plan *plan)
{
    const struct shape shape = shape_of(hived, job->ranked.job);
    hived->where.n = 0;
    const bool found = lend_nodes(hived, view, job, shape.n_more, shape.gpus + 1) &&
                       lend_nodes(hived, view, job, shape.n - shape.n_more, shape.gpus) &&
                       (shape.rest_gpus == 0 || lend_nodes(hived, view, job, 1, shape.rest_gpus));
    if (found && job_plan_start_at(plan, job->ranked.job, &hived->where, "free GPUs, opportunistic")) return true;
    drop_parts(hived, job);
    return false;
}

/* --- Quotas --- */

static bool start_in_quota(struct hived *hived, struct hived_job *job, struct job_plan *plan)
{
    const struct tenant *tenant = &hived->tenants[job->tenant];
    const struct job_view *view = job->ranked.job;
    if (view->gpus > tenant->quota_gpus - tenant->used_gpus) return false;
    struct hived_job *victim;
    bool started = job_plan_start(plan, view, "within the quota");
    hived->n_victims = 0;
    while (!started && hived->code == 0 && (victim = youngest_on(hived, -1)) != NULL) {
        job_plan_preempt(plan, victim->ranked.job, "a job within its quota needs GPUs");
        if (vec_push(&hived->victims, &hived->n_victims, &hived->victims_capacity, victim) != 0)
            hived->code = SIM_E_NOMEM;
        started = job_plan_start(plan, view, "within the quota");
    }
    for (size_t i = hived->n_victims; i-- > 0 && !started;)
        job_plan_start(plan, hived->victims[i]->ranked.job, "goes on"); /* on the GPUs that it has just lost */
    return started;
}

static bool start(struct hived *hived, const struct cluster_view *view, struct hived_job *job, struct job_plan *plan)
{
    if (hived->has_cells)
        return job->tenant < 0 ? start_anywhere(hived, view, job, plan) : start_in_cells(hived, view, job, plan);
    if (job->tenant >= 0) return start_in_quota(hived, job, plan);
    return job_plan_start(plan, job->ranked.job, "free GPUs, opportunistic");
}

/* Starts the jobs of a queue in order of submission, skipping those that do not fit. */
static void serve(struct hived *hived, const struct cluster_view *view, struct pending *pending, struct job_plan *plan)
{
    struct ranked *first;
    pending->round++;
    while (hived->code == 0 && (first = pending_first(pending, INT64_MAX)) != NULL)
        if (!start(hived, view, (struct hived_job *)(void *)first, plan))
            pending_class_of(pending, first->job)->refused_in = pending->round;
}

static int hived_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct hived *hived = state;
    for (; hived->n_large > 0; hived->n_large--)
        job_plan_warn(plan, "hived-large", "jobs too large for their virtual cluster run as opportunistic ones");
    for (int32_t i = 0; i < hived->n_tenants; i++) serve(hived, view, &hived->tenants[i].pending, plan);
    serve(hived, view, &hived->unbound, plan);
    return hived->code;
}

/* Virtual clusters that no job named; the text names the first. */
static void warn_absent(struct hived *hived, struct job_plan *plan)
{
    const struct tenant_params *params = hived->params.tenants.items;
    for (size_t i = 0; i < hived->params.tenants.n; i++) {
        if (hived->tenants[i].has_jobs) continue;
        if (hived->absent[0] == '\0')
            snprintf(hived->absent, sizeof hived->absent,
                     "virtual clusters whose name is the group or type of no job that arrived, '%.100s' first: jobs of "
                     "other names are opportunistic",
                     params[i].name);
        job_plan_warn(plan, "hived-absent", hived->absent);
    }
}

static void hived_finish(void *state, struct job_plan *plan)
{
    struct hived *hived = state;
    warn_absent(hived, plan);
    if (hived->params.cells && !hived->has_cells && hived->params.tenants.n > 0)
        job_plan_warn(plan, "hived-quotas",
                      "virtual clusters are quotas of GPUs: cells need equal nodes, on which a placer puts whole GPUs");
}

/* --- Promised cells --- */

static int make_cells(struct hived *hived, const struct cluster_view *view)
{
    struct placement *where = &hived->where;
    where->nodes = mem_alloc((size_t)view->n_nodes * sizeof *where->nodes);
    where->gpus = mem_alloc((size_t)view->n_nodes * sizeof *where->gpus);
    where->capacity = view->n_nodes;
    where->gpu = -1;
    const int code = virtual_init(&hived->clusters, view);
    return where->nodes == NULL || where->gpus == NULL ? SIM_E_NOMEM : code;
}

/* Counts the cells of a virtual cluster by level. Returns 0 or what diag_error returns. */
static int count_roots(const struct hived *hived, const struct tenant_params *params, int32_t roots[CELL_LEVELS],
                       struct diag *diag)
{
    const struct cell_levels *levels = &hived->clusters.levels;
    const struct promise *promises = params->cells.items;
    for (size_t i = 0; i < params->cells.n; i++) {
        const int32_t level = cell_level_for(levels, (int32_t)promises[i].gpus);
        if (level < 0 || levels->gpus[level] != promises[i].gpus)
            return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.virtual_clusters",
                              "a cell is a node, a rack, or 1, 2, 4 .. GPUs of a node that divide it evenly",
                              "virtual cluster '%s' has cells of %lld GPUs; nodes have %d GPUs", params->name,
                              (long long)promises[i].gpus, levels->gpus[levels->node]);
        roots[level] += (int32_t)promises[i].count;
    }
    return 0;
}

/* GPUs of all promised cells. */
static int64_t promised_gpus(struct hived *hived)
{
    const struct tenant_params *params = hived->params.tenants.items;
    int64_t gpus = 0;
    for (size_t i = 0; i < hived->params.tenants.n; i++) {
        const struct promise *promises = params[i].cells.items;
        for (size_t k = 0; k < params[i].cells.n; k++)
            hived->tenants[i].quota_gpus += promises[k].gpus * promises[k].count;
        gpus += hived->tenants[i].quota_gpus;
    }
    return gpus;
}

static int make_promises(struct hived *hived, struct diag *diag)
{
    const struct tenant_params *params = hived->params.tenants.items;
    int code = 0;
    for (int32_t i = 0; i < (int32_t)hived->params.tenants.n && code == 0; i++) {
        int32_t roots[CELL_LEVELS] = {0};
        code = count_roots(hived, &params[i], roots, diag);
        if (code == 0) code = virtual_add(&hived->clusters, roots);
    }
    return hived->params.tenants.n > 0 ? code : virtual_add(&hived->clusters, hived->clusters.cells.roots);
}

static int hived_prepare(void *state, const struct cluster_view *view, struct diag *diag)
{
    struct hived *hived = state;
    const bool has_none = hived->params.tenants.n == 0;
    const int64_t all_gpus = view->n_nodes > 0 ? (int64_t)view->n_nodes * view->gpus_per_node : view->total_gpus;
    hived->has_cells = hived->params.cells && view->n_nodes > 0 && view->nodes == NULL && all_gpus <= CELLED_GPUS;
    hived->n_tenants = has_none ? 1 : (int32_t)hived->params.tenants.n;
    hived->tenants = mem_zalloc((size_t)hived->n_tenants, sizeof *hived->tenants);
    if (hived->tenants == NULL) return SIM_E_NOMEM;
    const int64_t gpus = promised_gpus(hived);
    if (has_none) hived->tenants[0].quota_gpus = INT64_MAX;
    if (view->nodes == NULL && gpus > all_gpus)
        return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.virtual_clusters", "promise fewer cells",
                          "the virtual clusters have %lld GPUs together, but the cluster has %lld", (long long)gpus,
                          (long long)all_gpus);
    const int code = hived->has_cells ? make_cells(hived, view) : 0;
    return code == 0 && hived->has_cells ? make_promises(hived, diag) : code;
}

static int hived_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    *(struct hived *)state = (struct hived){.params = *(const struct hived_params *)params, .free_part = -1};
    return 0;
}

static void hived_fini(void *state)
{
    struct hived *hived = state;
    for (int32_t i = 0; i < hived->n_tenants && hived->tenants != NULL; i++) pending_fini(&hived->tenants[i].pending);
    pending_fini(&hived->unbound);
    virtual_fini(&hived->clusters);
    mem_free(hived->tenants);
    mem_free(hived->running);
    mem_free(hived->parts);
    mem_free(hived->where.nodes);
    mem_free(hived->where.gpus);
    mem_free(hived->victims);
}

#define ROW_OF struct promise
static const struct config_field promise_fields[] = {
    ROW_INT("gpus", gpus, REQUIRED, WITHIN(1, 1e6), "GPUs of a cell: of a rack, a node, or 1, 2, 4 .. of a node"),
    ROW_INT("count", count, DEFAULT("1"), WITHIN(0, 1e6), "number of these cells"),
    {0}};
#undef ROW_OF

#define ROW_OF struct tenant_params
static const struct config_field tenant_fields[] = {
    ROW_LIST("cells", cells, REQUIRED, ANY, struct promise, promise_fields, "cells that it was promised"),
    {0}};
#undef ROW_OF

#define ROW_OF struct hived_params
static const struct config_field hived_fields[] = {
    ROW_MAP("virtual_clusters", tenants, OPTIONAL, ANY, struct tenant_params, tenant_fields,
            "cells of the jobs whose group or type has this name; default: one virtual cluster with all cells"),
    ROW_BOOL("cells", cells, DEFAULT("true"), "false: as many GPUs in place of the cells, anywhere"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_hived = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "hived",
               .summary = "virtual clusters with promised cells of the topology; other jobs are opportunistic, and yield",
               .source = "Zhao et al., HiveD (OSDI 2020)",
               .params = hived_fields,
               .params_bytes = sizeof(struct hived_params),
               .state_bytes = sizeof(struct hived),
               .init = hived_init,
               .fini = hived_fini},
    .job_bytes = sizeof(struct hived_job),
    .notify = hived_notify,
    .decide = hived_decide,
    .prepare = hived_prepare,
    .finish = hived_finish,
    .ignores_estimates = true,
};

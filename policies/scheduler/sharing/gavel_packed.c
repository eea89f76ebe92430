/* Gavel with space sharing (Narayanan et al., OSDI 2020): jobs take turns on the GPU types, alone or two on the
 * same GPUs, in the shares of a linear program (packed_lp.h). Objectives:
 *
 *     las       maximise the least rate relative to an equal share of all GPUs
 *     makespan  minimise the time at which the last job ends, by users' estimates
 *
 * Gavel's program has a variable for each pair of jobs. Here equal jobs form kinds, and the program has one for
 * each pair of kinds, which gives the same optimum for las. For makespan the 8 longest jobs are kinds of their own. The
 * others of a kind count by their mean remaining work, and within a kind the longest ones run first. Jobs beyond the
 * oldest that form 128 kinds wait.
 *
 * In each round, combinations run in order of what they are owed: y per round, less their runs. GPUs that no
 * combination is owed go to jobs in order of submission. Pairs need the placement "counted" and speeds from
 * "sharing".
 *
 * Each start looks through all jobs. So the time of a round grows by more than 2.4 when the jobs double, until
 * pairs fill the GPUs. */
#include "policies/declared.h"
#include "policies/scheduler/gavel/gavel_rounds.h"
#include "policies/scheduler/sharing/packed_kinds.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <string.h>

_Static_assert((int)GAVEL_TYPES <= (int)PACKED_TYPES, "the program holds all node types");

enum packed_objective { PACKED_LAS, PACKED_MAKESPAN };

struct packed_params {
    sim_ns round_ns, reallocation_ns;
    int64_t depth;
    int objective;
    bool shares;
};

struct packed {
    struct packed_params params;
    struct cpu_jobs cpu_jobs;
    struct packed_kinds kinds;
    bool is_stale, is_placed; /* jobs have come or gone; a placer places GPUs */
    sim_ns allocated_ns, round_ns; /* of the last allocation and round; -1: none */
    int types;
    const struct cluster_view *views[PACKED_TYPES];
    double gpus[PACKED_TYPES], left[PACKED_TYPES];
    double *y, *owed; /* [combinations][types] of the last allocation */
    size_t y_capacity, owed_capacity;
    unsigned char *states; /* of the basis: columns, then rows */
    size_t states_capacity;
    int states_kinds, states_combinations;
    int code;
};

/* --- Jobs --- */

static void packed_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct packed *packed = state;
    struct packed_job *job = job_view_slot(note->job);
    cpu_jobs_notify(&packed->cpu_jobs, note, &job->waiting);
    if (note->job->gpus == 0) return;
    if (note->event == JOB_EVENT_SUBMIT) {
        *job = (struct packed_job){.view = note->job, .kind = -1, .next_type = -1};
        const int code = packed_kinds_add(&packed->kinds, job);
        if (packed->code == 0) packed->code = code;
    }
    if (note->event == JOB_EVENT_FINISH) packed_kinds_remove(&packed->kinds, job);
    packed->is_stale |= note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_FINISH;
    if (note->event != JOB_EVENT_FINISH && note->event != JOB_EVENT_PREEMPT) return;
    if (job->partner != NULL) job->partner->partner = NULL;
    job->partner = NULL;
}

/* --- Allocation --- */

static void read_types(struct packed *packed, const struct cluster_view *view)
{
    double wanted = 0;
    for (size_t i = 0; i < packed->kinds.n; i++) wanted += packed->kinds.jobs[i]->view->gpus;
    packed->is_placed = view->n_nodes > 0;
    packed->types = 0;
    for (; view != NULL && packed->types < PACKED_TYPES; view = view->next_type) {
        const double gpus = view->total_gpus == INT64_MAX ? wanted : (double)view->total_gpus;
        packed->is_stale |= gpus != packed->gpus[packed->types];
        packed->views[packed->types] = view;
        packed->gpus[packed->types++] = gpus;
    }
}

static double left_s(const struct cluster_view *view, const struct packed_job *job)
{
    const double left = fmax(sim_s_from_ns(job_view_estimated_remaining_ns(view, job->view)), 1);
    return job->view->state == JOB_RUNNING ? left * job->view->speed : left;
}

enum { LONG_JOBS = 8 };

/* Under makespan the longest jobs are kinds of their own: each runs on one place at a time, so its kind's mean says too
 * little about it. */
static void set_own_kinds(struct packed *packed, const struct cluster_view *view)
{
    const size_t n = packed_kinds_n(&packed->kinds);
    struct packed_job *longest[LONG_JOBS + 1];
    size_t n_long = 0;
    if (packed->params.objective != PACKED_MAKESPAN) return;
    for (size_t i = 0; i < n; i++) {
        struct packed_job *job = packed->kinds.jobs[i];
        size_t at = n_long < LONG_JOBS ? n_long++ : LONG_JOBS;
        job->is_own_kind = false;
        for (; at > 0 && left_s(view, longest[at - 1]) < left_s(view, job); at--) longest[at] = longest[at - 1];
        longest[at] = job;
    }
    for (size_t i = 0; i < n_long; i++) longest[i]->is_own_kind = true;
}

static void set_needs(struct packed *packed, const struct cluster_view *view)
{
    struct packed_kinds *kinds = &packed->kinds;
    double all = 0;
    for (int j = 0; j < packed->types; j++) all += packed->gpus[j];
    for (int k = 0; k < kinds->kinds; k++) kinds->need[k] = 0;
    if (packed->params.objective == PACKED_MAKESPAN) {
        for (size_t i = 0; i < packed_kinds_n(kinds); i++) {
            const int k = kinds->jobs[i]->kind;
            if (k >= 0) kinds->need[k] += left_s(view, kinds->jobs[i]) / kinds->count[k];
        }
        return;
    }
    for (int k = 0; k < kinds->kinds; k++) {
        const struct job_view *job = kinds->first[k]->view;
        for (int j = 0; j < packed->types; j++)
            kinds->need[k] += job_view_speed_on(packed->views[j], job, job->gpus) * packed->gpus[j] / all / job->gpus;
        if (!(kinds->need[k] > 0)) kinds->need[k] = 1;
    }
}

/* The basis of the last call serves kinds and combinations of the same number. */
static int prepare_basis(struct packed *packed, struct packed_basis *basis)
{
    const struct packed_kinds *kinds = &packed->kinds;
    const size_t columns = (size_t)(kinds->combinations * packed->types + 1);
    const size_t n = columns + (size_t)(packed->types + 2 * kinds->kinds);
    if (vec_reserve(&packed->states, &packed->states_capacity, n) != 0) return SIM_E_NOMEM;
    if (packed->states_kinds != kinds->kinds || packed->states_combinations != kinds->combinations)
        memset(packed->states, LP_NEW, n);
    packed->states_kinds = kinds->kinds;
    packed->states_combinations = kinds->combinations;
    *basis = (struct packed_basis){.columns = packed->states, .rows = packed->states + columns};
    return 0;
}

/* Without a solution every kind has an equal share of all types. */
static void share_equally(struct packed *packed)
{
    const struct packed_kinds *kinds = &packed->kinds;
    for (int c = 0; c < kinds->combinations; c++)
        for (int j = 0; j < packed->types; j++) {
            const struct combination *of = &kinds->of[c];
            packed->y[c * packed->types + j] = of->second < 0 && of->speed_first[j] > 0
                                                   ? packed->gpus[j] / of->gpus / kinds->kinds
                                                   : 0;
        }
}

static int allocate(struct packed *packed, const struct cluster_view *view, struct job_plan *plan)
{
    struct packed_kinds *kinds = &packed->kinds;
    struct packed_basis basis;
    double level;
    set_own_kinds(packed, view);
    int code = packed_kinds_find(kinds, view, packed->params.shares && !packed->is_placed);
    const size_t n = (size_t)(kinds->combinations * packed->types);
    if (code == 0) code = vec_reserve(&packed->y, &packed->y_capacity, n + 1);
    if (code == 0) code = vec_reserve(&packed->owed, &packed->owed_capacity, n + 1);
    if (code == 0) code = prepare_basis(packed, &basis);
    if (code != 0) return code;
    for (size_t i = 0; i < n; i++) packed->owed[i] = 0;
    packed->allocated_ns = view->now_ns;
    packed->is_stale = false;
    if (n == 0) return 0;
    set_needs(packed, view);
    const struct packed_problem problem = {.kinds = kinds->kinds, .combinations = kinds->combinations,
                                           .types = packed->types, .count = kinds->count, .need = kinds->need,
                                           .gpus = packed->gpus, .of = kinds->of};
    const enum lp_outcome outcome = packed_solve(&problem, &basis, packed->y, &level);
    if (outcome == LP_NO_MEMORY) return SIM_E_NOMEM;
    if (outcome == LP_OPTIMAL) return 0;
    packed->states_kinds = 0;
    job_plan_warn(plan, "gavel-lp", "allocations of equal shares, as the linear program was not solved");
    share_equally(packed);
    return 0;
}

/* --- Rounds --- */

/* What combinations and jobs are owed of this round: a job has its part of its kind's runs. */
static void add_owed(struct packed *packed)
{
    const struct packed_kinds *kinds = &packed->kinds;
    double runs[PACKED_MOST_KINDS] = {0};
    for (int i = 0; i < kinds->combinations * packed->types; i++) {
        const struct combination *of = &kinds->of[i / packed->types];
        packed->owed[i] += packed->y[i];
        runs[of->first] += packed->y[i];
        if (of->second >= 0) runs[of->second] += packed->y[i];
    }
    for (size_t i = 0; i < packed_kinds_n(kinds); i++) {
        struct packed_job *job = kinds->jobs[i];
        job->next_type = -1;
        job->next_partner = NULL;
        if (job->kind >= 0) job->owed += runs[job->kind] / kinds->count[job->kind];
    }
}

/* The job of a kind that runs next: under makespan the longest, else the one that is owed most. Jobs that already run
 * with this partner, or alone, go first among equals. */
static struct packed_job *next_of(const struct packed *packed, const struct cluster_view *view, int kind,
                                  const struct packed_job *partner)
{
    const struct packed_kinds *kinds = &packed->kinds;
    struct packed_job *best = NULL;
    double most = 0;
    for (size_t i = 0; i < packed_kinds_n(kinds); i++) {
        struct packed_job *job = kinds->jobs[i];
        if (job->kind != kind || job->next_type >= 0 || job == partner) continue;
        if (partner != NULL && partner->partner == job) return job;
        const double value = packed->params.objective == PACKED_MAKESPAN ? left_s(view, job) : job->owed;
        if (best != NULL && value <= most) continue;
        best = job;
        most = value;
    }
    return best;
}

static void run(struct packed *packed, struct packed_job *job, struct packed_job *partner, int type)
{
    packed->left[type] -= job->view->gpus;
    job->next_type = type;
    job->next_partner = partner;
    job->owed--;
    if (partner == NULL) return;
    partner->next_type = type;
    partner->next_partner = job;
    partner->owed--;
}

/* Runs a combination once. Returns whether there were jobs for it. */
static bool run_combination(struct packed *packed, const struct cluster_view *view, int c, int type)
{
    const struct combination *of = &packed->kinds.of[c];
    struct packed_job *first = next_of(packed, view, of->first, NULL);
    struct packed_job *second = first != NULL && of->second >= 0 ? next_of(packed, view, of->second, first) : NULL;
    packed->owed[c * packed->types + type]--;
    if (first == NULL || (of->second >= 0 && second == NULL)) return false;
    run(packed, first, second, type);
    return true;
}

/* Less than this is owed by rounding errors. */
static const double LEAST_OWED = 1e-6;

/* The combination and type that is owed most and fits, or -1. */
static int most_owed(const struct packed *packed)
{
    const struct packed_kinds *kinds = &packed->kinds;
    int best = -1;
    for (int i = 0; i < kinds->combinations * packed->types; i++) {
        const double gpus = kinds->of[i / packed->types].gpus;
        if (packed->y[i] <= LEAST_OWED || packed->owed[i] <= LEAST_OWED || gpus > packed->left[i % packed->types])
            continue;
        if (best < 0 || packed->owed[i] > packed->owed[best]) best = i;
    }
    return best;
}

static void choose(struct packed *packed, const struct cluster_view *view)
{
    for (int j = 0; j < packed->types; j++) packed->left[j] = packed->gpus[j];
    add_owed(packed);
    for (int i = most_owed(packed); i >= 0; i = most_owed(packed))
        run_combination(packed, view, i / packed->types, i % packed->types);
    for (size_t i = 0; i < packed_kinds_n(&packed->kinds); i++) {
        struct packed_job *job = packed->kinds.jobs[i];
        int best = -1;
        double most = 0;
        for (int j = 0; j < packed->types && job->next_type < 0; j++) {
            const double speed = job_view_speed_on(packed->views[j], job->view, job->view->gpus);
            if (job->view->gpus > packed->left[j] || speed <= most) continue;
            best = j;
            most = speed;
        }
        if (best >= 0) run(packed, job, NULL, best);
    }
}

static bool stays(const struct packed_job *job)
{
    return job->next_type == job->view->node_type && job->next_partner == job->partner &&
           (job->partner != NULL || job->view->held_gpus == job->view->gpus);
}

static void start(struct packed_job *job, struct job_plan *plan)
{
    static const char reason[] = "it is owed most of its share";
    const struct job_grant grant = {.gpus = job->view->gpus, .node_type = job->next_type};
    if (job->next_partner == NULL) {
        job_plan_start_as(plan, job->view, &grant, reason);
        return;
    }
    const struct job_view *pair[] = {job->view, job->next_partner->view};
    if (!job_plan_start_group(plan, pair, 2, &grant, reason)) return;
    job->partner = job->next_partner;
    job->next_partner->partner = job;
}

static int open_round(struct packed *packed, const struct cluster_view *view, struct job_plan *plan)
{
    const struct packed_kinds *kinds = &packed->kinds;
    const bool is_due = packed->allocated_ns < 0 || packed->round_ns < 0 ||
                        view->now_ns >= sim_ns_add(packed->allocated_ns, packed->params.reallocation_ns) ||
                        view->n_running == 0;
    read_types(packed, view);
    const int code = packed->is_stale && is_due ? allocate(packed, view, plan) : 0;
    if (code < 0) return code;
    choose(packed, view);
    for (size_t i = 0; i < packed_kinds_n(kinds); i++)
        if (kinds->jobs[i]->view->state == JOB_RUNNING && !stays(kinds->jobs[i]))
            job_plan_preempt(plan, kinds->jobs[i]->view, "others are owed more of their share");
    for (size_t i = 0; i < packed_kinds_n(kinds); i++)
        if (kinds->jobs[i]->next_type >= 0 && kinds->jobs[i]->view->state == JOB_PENDING) start(kinds->jobs[i], plan);
    packed->round_ns = view->now_ns;
    return 0;
}

static int packed_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct packed *packed = state;
    const sim_ns end_ns = packed->round_ns < 0 ? 0 : sim_ns_add(packed->round_ns, packed->params.round_ns);
    const bool is_open = packed->round_ns >= 0 && view->now_ns < end_ns &&
                         (view->now_ns == packed->round_ns || view->n_running > 0);
    if (packed->code == 0 && !is_open && packed->kinds.n > 0) packed->code = open_round(packed, view, plan);
    if (packed->code == 0) packed->code = cpu_jobs_start(&packed->cpu_jobs, view, true, plan);
    if (packed->code == 0 && packed->kinds.n > 0)
        job_plan_wake_at(plan, sim_ns_add(packed->round_ns, packed->params.round_ns));
    return packed->code;
}

static int packed_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct packed *packed = state;
    packed->params = *(const struct packed_params *)params;
    packed->kinds.depth = (size_t)packed->params.depth;
    packed->allocated_ns = packed->round_ns = -1;
    return 0;
}

static void packed_fini(void *state)
{
    struct packed *packed = state;
    packed_kinds_fini(&packed->kinds);
    cpu_jobs_fini(&packed->cpu_jobs);
    mem_free(packed->y);
    mem_free(packed->owed);
    mem_free(packed->states);
}

static const char *const objectives[] = {"las", "makespan", NULL};

#define ROW_OF struct packed_params
static const struct config_field packed_fields[] = {
    ROW_TIME("round", round_ns, DEFAULT("6min"), AT_LEAST(1e-3), "length of a round"),
    ROW_TIME("reallocation", reallocation_ns, DEFAULT("32min"), AT_LEAST(0),
             "least time between two computations of the shares"),
    ROW_INT("depth", depth, DEFAULT("2000"), WITHIN(1, 1e9),
            "only the oldest jobs take part, at most so many, which bounds the cost of a round"),
    ROW_CHOICE("objective", objective, DEFAULT("las"), objectives,
               "las: max-min fair rates; makespan: earliest last finish"),
    ROW_BOOL("shares", shares, DEFAULT("true"), "two jobs may share GPUs; false: each runs alone"),
    {0}};
#undef ROW_OF

static bool packed_shares(const void *state)
{
    return ((const struct packed *)state)->params.shares;
}

const struct scheduler scheduler_gavel_packed = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "gavel-packed",
               .summary = "Gavel with space sharing: time shares of jobs and of pairs on each GPU type by a linear program",
               .source = "Narayanan et al., Gavel (OSDI 2020)",
               .oracle = ORACLE_SPEEDS,
               .params = packed_fields,
               .params_bytes = sizeof(struct packed_params),
               .state_bytes = sizeof(struct packed),
               .init = packed_init,
               .fini = packed_fini},
    .job_bytes = sizeof(struct packed_job),
    .notify = packed_notify,
    .decide = packed_decide,
    .prepare = gavel_check_types,
    .uses_node_types = true,
    .shares = packed_shares,
    .shares_gpus = true,
};

#include "policies/scheduler/goodput/elastic.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void elastic_init(struct elastic *elastic, const struct elastic_rule *rule, const struct elastic_params *params)
{
    elastic->rule = rule;
    elastic->params = *params;
    elastic->decided_ns = -1;
}

void elastic_fini(void *state)
{
    struct elastic *elastic = state;
    mem_free(elastic->jobs);
    mem_free(elastic->chosen);
    cpu_jobs_fini(&elastic->cpu_jobs);
}

/* --- Jobs that come and go --- */

static void enter(struct elastic *elastic, const struct job_view *view)
{
    struct elastic_job *job = job_view_slot(view);
    job->view = view;
    const size_t n = elastic->n_all + 1;
    int code = vec_reserve(&elastic->jobs, &elastic->capacity, n);
    if (code == 0) code = vec_reserve(&elastic->chosen, &elastic->chosen_capacity, n);
    if (code == 0)
        elastic->jobs[elastic->n_all++] = job;
    else
        elastic->code = code;
}

static void leave(struct elastic *elastic, const struct job_view *view)
{
    size_t low = 0, high = elastic->n_all;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (elastic->jobs[middle]->view->sequence < view->sequence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == elastic->n_all || elastic->jobs[low]->view != view) return; /* there was no memory for it */
    memmove(&elastic->jobs[low], &elastic->jobs[low + 1], (--elastic->n_all - low) * sizeof(struct elastic_job *));
}

void elastic_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct elastic *elastic = state;
    struct elastic_job *job = job_view_slot(note->job);
    cpu_jobs_notify(&elastic->cpu_jobs, note, &job->waiting);
    if (note->job->gpus == 0) return;
    if (note->event == JOB_EVENT_SUBMIT) enter(elastic, note->job);
    if (note->event == JOB_EVENT_FINISH) leave(elastic, note->job);
    if (note->event != JOB_EVENT_START) return;
    job->n_starts++;
    if (note->job->held_gpus > job->most_held) job->most_held = (int32_t)note->job->held_gpus;
}

/* --- What schedulers ask for --- */

double elastic_speed(const struct elastic *elastic, const struct elastic_job *job, int type, int32_t gpus)
{
    return gpus > elastic->gpus[type] ? 0 : job_view_speed_on(elastic->views[type], job->view, gpus);
}

int32_t elastic_most_gpus(const struct elastic *elastic, const struct elastic_job *job, int type)
{
    const int64_t most = elastic->params.most_gpus > job->view->gpus ? elastic->params.most_gpus : job->view->gpus;
    return (int32_t)(most < elastic->gpus[type] ? most : elastic->gpus[type]);
}

int32_t elastic_least_gpus(const struct elastic *elastic, const struct elastic_job *job, int type)
{
    const int32_t most = elastic_most_gpus(elastic, job, type);
    for (int32_t gpus = 1; gpus <= most; gpus++)
        if (elastic_speed(elastic, job, type, gpus) > 0) return gpus;
    return 0;
}

int32_t elastic_explored_gpus(const struct elastic_job *job, int32_t least, int32_t most)
{
    const int32_t twice = 2 * job->most_held, explored = twice > least ? twice : least;
    return explored < most ? explored : most;
}

int32_t elastic_whole_ranks(const struct elastic_job *job, int32_t gpus)
{
    return gpus - gpus % job_view_rank_gpus(job->view);
}

int32_t elastic_next_faster(const struct elastic *elastic, const struct elastic_job *job, int32_t unit)
{
    const int32_t most = elastic_most_gpus(elastic, job, 0);
    const double now = elastic_speed(elastic, job, 0, job->gpus);
    for (int32_t gpus = job->gpus; gpus <= most - unit;) {
        gpus += unit;
        if (elastic_speed(elastic, job, 0, gpus) > now) return gpus;
    }
    return 0;
}

int64_t elastic_all_gpus(const struct elastic *elastic)
{
    int64_t sum = 0;
    for (int j = 0; j < elastic->types; j++) sum += elastic->gpus[j];
    return sum;
}

double elastic_left_s(const struct cluster_view *view, const struct elastic_job *job)
{
    const double wait_s = sim_s_from_ns(job_view_wait_ns(view, job->view));
    const double left_s = fmax(sim_s_from_ns(job_view_estimated_remaining_ns(view, job->view)) - wait_s, 0);
    return fmax(job->view->state == JOB_RUNNING ? left_s * job->view->speed : left_s, 1);
}

double elastic_restart_factor(const struct cluster_view *view, const struct elastic_job *job, double wait_s)
{
    const double age_s = sim_s_from_ns(view->now_ns - job->view->submit_ns);
    const double n_restarts = job->n_starts > 0 ? job->n_starts - 1 : 0;
    return fmax(age_s - n_restarts * wait_s, 0) / (age_s + wait_s);
}

/* --- Rounds --- */

static void read_types(struct elastic *elastic, const struct cluster_view *view)
{
    int64_t wanted = 0;
    for (size_t i = 0; i < elastic->n_all; i++) wanted += elastic->jobs[i]->view->gpus;
    elastic->types = 0;
    for (; view != NULL && elastic->types < (elastic->rule->one_type ? 1 : ELASTIC_TYPES); view = view->next_type) {
        const bool is_unlimited = view->total_gpus == INT64_MAX;
        elastic->views[elastic->types] = view;
        elastic->gpus[elastic->types++] = is_unlimited ? wanted : view->total_gpus;
    }
}

static bool start_on(const struct elastic *elastic, const struct elastic_job *job, int type, int32_t gpus,
                     struct job_plan *plan)
{
    const struct job_grant grant = {.gpus = gpus, .node_type = type};
    return elastic_speed(elastic, job, type, gpus) > 0 &&
           job_plan_start_as(plan, job->view, &grant, elastic->rule->starts);
}

static int by_gpus(const void *one, const void *other)
{
    const struct elastic_job *a = *(struct elastic_job *const *)one, *b = *(struct elastic_job *const *)other;
    if (a->gpus != b->gpus) return a->gpus > b->gpus ? -1 : 1;
    return a->view->sequence < b->view->sequence ? -1 : 1;
}

static void start_chosen(struct elastic *elastic, struct job_plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < elastic->n; i++) {
        struct elastic_job *job = elastic->jobs[i];
        if (job->gpus > 0 && job->view->state == JOB_PENDING) elastic->chosen[n++] = job;
    }
    if (n > 1) qsort(elastic->chosen, n, sizeof *elastic->chosen, by_gpus);
    for (size_t i = 0; i < n; i++) {
        const struct elastic_job *job = elastic->chosen[i];
        const int32_t rank = job_view_rank_gpus(job->view), least = elastic->rule->is_gang ? job->gpus : 1;
        for (int32_t gpus = job->gpus; gpus >= least; gpus -= gpus % rank > 0 ? gpus % rank : rank)
            if (start_on(elastic, job, job->type, gpus, plan)) break;
    }
}

static bool any_runs(const struct elastic *elastic)
{
    for (size_t i = 0; i < elastic->n; i++)
        if (elastic->jobs[i]->view->state == JOB_RUNNING) return true;
    return false;
}

/* So that jobs for which only their request fits run some time. */
static void start_as_requested(const struct elastic *elastic, struct job_plan *plan)
{
    for (size_t i = 0; i < elastic->n; i++)
        for (int j = 0; j < elastic->types; j++)
            if (elastic->jobs[i]->view->state == JOB_PENDING)
                start_on(elastic, elastic->jobs[i], j, elastic->jobs[i]->view->gpus, plan);
}

static void apply(struct elastic *elastic, struct job_plan *plan)
{
    for (size_t i = 0; i < elastic->n; i++) {
        const struct elastic_job *job = elastic->jobs[i];
        if (job->view->state == JOB_RUNNING && !elastic_is_held(job, job->type, job->gpus))
            job_plan_preempt(plan, job->view, elastic->rule->stops);
    }
    start_chosen(elastic, plan);
    if (!any_runs(elastic)) start_as_requested(elastic, plan);
}

static int decide_round(struct elastic *elastic, const struct cluster_view *view, struct job_plan *plan)
{
    read_types(elastic, view);
    elastic->n = elastic->n_all < (size_t)elastic->params.depth ? elastic->n_all : (size_t)elastic->params.depth;
    for (size_t i = 0; i < elastic->n; i++) elastic->jobs[i]->gpus = elastic->jobs[i]->type = 0;
    const int code = elastic->rule->choose(elastic, view);
    if (code >= 0) apply(elastic, plan);
    return code < 0 ? code : 0;
}

int elastic_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct elastic *elastic = state;
    const sim_ns round_ns = elastic->params.round_ns, past_ns = view->now_ns % round_ns;
    const bool is_due = past_ns == 0 && view->now_ns != elastic->decided_ns; /* once at a time, whatever ends then */
    if (elastic->code == 0 && is_due && elastic->n_all > 0) {
        elastic->decided_ns = view->now_ns;
        elastic->code = decide_round(elastic, view, plan);
    }
    if (elastic->code == 0) elastic->code = cpu_jobs_start(&elastic->cpu_jobs, view, !elastic->rule->one_type, plan);
    if (elastic->code == 0 && elastic->n_all > 0) job_plan_wake_at(plan, sim_ns_add(view->now_ns - past_ns, round_ns));
    return elastic->code;
}

/* --- Choices --- */

void elastic_choices_fini(struct elastic_choices *choices)
{
    mem_free(choices->items);
    mem_free(choices->starts);
    mem_free(choices->picked);
}

int elastic_choices_begin(struct elastic_choices *choices, size_t jobs)
{
    choices->n = choices->n_starts = 0;
    const int code = vec_reserve(&choices->starts, &choices->starts_capacity, jobs + 1);
    return code != 0 ? code : vec_reserve(&choices->picked, &choices->picked_capacity, jobs + 1);
}

int elastic_choices_next(struct elastic_choices *choices)
{
    return vec_push(&choices->starts, &choices->n_starts, &choices->starts_capacity, choices->n);
}

int elastic_choices_add(struct elastic_choices *choices, double value, int type, int32_t gpus)
{
    const struct knapsack_choice choice = {.value = value, .gpus = gpus, .type = type};
    return value > 0 ? vec_push(&choices->items, &choices->n, &choices->capacity, choice) : 0;
}

int elastic_choices_apply(struct elastic_choices *choices, struct elastic *elastic)
{
    const int code = elastic_choices_next(choices);
    if (code < 0) return code;
    const struct knapsack knapsack = {.n = elastic->n, .starts = choices->starts, .choices = choices->items,
                                      .types = elastic->types, .gpus = elastic->gpus};
    const int solved = knapsack_solve(&knapsack, choices->picked);
    for (size_t i = 0; solved >= 0 && i < elastic->n; i++) {
        if (choices->picked[i] < 0) continue;
        const struct knapsack_choice *choice = &choices->items[choices->starts[i] + (size_t)choices->picked[i]];
        elastic->jobs[i]->gpus = choice->gpus;
        elastic->jobs[i]->type = choice->type;
    }
    return solved;
}

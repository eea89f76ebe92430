/* Shockwave (Zheng et al., NSDI 2023): fair finish times for jobs that change their batch size as they train.
 *
 * In rounds, the scheduler forecasts what is left of each job (forecast.h). The fair time of a job from submission to
 * end is (its time so far + what is left) / min(1, GPUs / jobs). It is estimated when jobs come or end, and averaged
 * over the rounds for which an estimate held. The market (welfare.h) plans a window of rounds. If all jobs can keep
 * their fair times, it must give them the rounds for that. Else the utility of a job that would take q > `ratio` times
 * its fair time counts q^power times. In the rounds of a window, jobs of high priority go first. GPUs that are left go
 * to the jobs with the longest remaining times. The window is planned anew when jobs come or end.
 *
 * The artifact measures finish times from the start of the run. Here they are measured from the submission of the job,
 * as in the paper. The batch sizes of a job, and their speeds, are profiled, as there. The cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/adaptation/forecast.h"
#include "policies/scheduler/adaptation/welfare.h"
#include "policies/scheduler/rounds.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>

struct shockwave_params {
    sim_ns round_ns;
    int64_t window, depth;
    double penalty_per_s, power, ratio;
};

struct shockwave_job {
    struct round_job round; /* first */
    double spent_s;       /* at its batch sizes so far */
    double remaining_s;
    double fair_s, fair_sum_s; /* last estimate of the time from submission to end; sum over rounds before it */
    int64_t fair_since, fair_from; /* rounds of the last estimate and of the first */
    double priority;
    int32_t rounds;       /* left of those that the window gave it */
};

struct shockwave {
    struct shockwave_params params;
    struct rounds rounds;
    struct welfare welfare;
    size_t welfare_capacity, heap_capacity, best_capacity;
    int64_t round, window_round; /* rounds so far; those of the window */
    bool is_stale;               /* jobs have come or ended */
    int code;
};

/* The i-th of the jobs that take part. */
static struct shockwave_job *job_at(const struct shockwave *wave, size_t i)
{
    return (struct shockwave_job *)(void *)wave->rounds.jobs[i];
}

static void shockwave_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct shockwave *wave = state;
    struct shockwave_job *job = job_view_slot(note->job);
    (void)view;
    const int code = rounds_notify(&wave->rounds, note);
    if (code < 0) wave->code = code;
    if (note->job->gpus == 0) return;
    if (note->event == JOB_EVENT_SUBMIT) job->fair_from = -1;
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_FINISH) wave->is_stale = true;
}

/* --- Predictions --- */

static void predict(const struct cluster_view *view, struct shockwave_job *job)
{
    const struct job_epochs epochs = job_view_epochs(view, job->round.view);
    const struct forecast forecast = forecast_of(&epochs, fmax(1e-9, sim_s_from_ns(job->round.view->estimate_ns)));
    job->spent_s = forecast.spent_s;
    job->remaining_s = fmax(1, forecast.remaining_s); /* a second, if its estimate was too short */
}

static double share_of(const struct shockwave *wave, const struct cluster_view *view)
{
    return fmax(1e-9, fmin(1, (double)view->total_gpus / (double)wave->rounds.n));
}

static void estimate_fair(const struct shockwave *wave, struct shockwave_job *job, double share)
{
    if (job->fair_from < 0) job->fair_from = job->fair_since = wave->round;
    job->fair_sum_s += job->fair_s * (double)(wave->round - job->fair_since);
    job->fair_since = wave->round;
    job->fair_s = (job->spent_s + job->remaining_s) / share;
}

/* The mean over rounds, with a tenth of the last estimate, as in the artifact. */
static double fair_of(const struct shockwave *wave, const struct shockwave_job *job)
{
    const int64_t held = wave->round - job->fair_since, rounds = wave->round - job->fair_from;
    const double mean_s = rounds > 0 ? (job->fair_sum_s + job->fair_s * (double)held) / (double)rounds : job->fair_s;
    return 0.9 * mean_s + 0.1 * job->fair_s;
}

/* --- Plans --- */

/* How late the job would be with its fair share from now on, as a multiple of its fair finish time. */
static double ratio_of(const struct shockwave *wave, const struct cluster_view *view, const struct shockwave_job *job,
                       double share)
{
    const double so_far_s = sim_s_from_ns(view->now_ns - job->round.view->submit_ns);
    return (so_far_s + job->remaining_s / share) / fair_of(wave, job);
}

/* Rounds that the job needs in the window to end by its fair finish time, with its share after the window; -1: no
 * number suffices. */
static int32_t fair_rounds(const struct shockwave *wave, const struct cluster_view *view,
                           const struct shockwave_job *job, double share)
{
    const double round_s = sim_s_from_ns(wave->params.round_ns);
    const double so_far_s = sim_s_from_ns(view->now_ns - job->round.view->submit_ns);
    const double end_s = so_far_s + round_s * (double)wave->params.window;
    const double after_s = share * (fair_of(wave, job) * wave->params.ratio - end_s);
    const double rounds = ceil((job->remaining_s - after_s) / round_s - 1e-9);
    if (after_s < 0 || rounds > (double)wave->params.window) return -1;
    return rounds > 0 ? (int32_t)rounds : 0;
}

static int reserve(struct shockwave *wave)
{
    struct welfare *welfare = &wave->welfare;
    if (vec_reserve(&welfare->jobs, &wave->welfare_capacity, wave->rounds.n) != 0) return SIM_E_NOMEM;
    if (vec_reserve(&welfare->heap, &wave->heap_capacity, wave->rounds.n) != 0) return SIM_E_NOMEM;
    return vec_reserve(&welfare->best, &wave->best_capacity, wave->rounds.n);
}

static int plan_window(struct shockwave *wave, const struct cluster_view *view)
{
    struct welfare *welfare = &wave->welfare;
    const double share = share_of(wave, view);
    int code = reserve(wave);
    if (code != 0) return code;
    bool is_fair = true;
    welfare->n = wave->rounds.n;
    welfare->gpus = 0;
    welfare->rounds = (int32_t)wave->params.window;
    welfare->round_s = sim_s_from_ns(wave->params.round_ns);
    welfare->penalty_per_s = wave->params.penalty_per_s;
    for (size_t j = 0; j < wave->rounds.n; j++) {
        struct shockwave_job *job = job_at(wave, j);
        welfare->gpus += job->round.view->gpus;
        const double all_s = job->spent_s + job->remaining_s, done_frac = job->spent_s / all_s;
        const int32_t least = fair_rounds(wave, view, job, share);
        if (least < 0) is_fair = false;
        job->priority = 1;
        welfare->jobs[j] = (struct welfare_job){.gpus = job->round.view->gpus, .least = least, .priority = 1,
                                                .done_frac = done_frac, .per_round_frac = welfare->round_s / all_s,
                                                .remaining_s = job->remaining_s};
    }
    if (welfare->gpus > view->total_gpus) welfare->gpus = view->total_gpus;
    if (!is_fair || welfare_solve(welfare) == 0) {
        for (size_t j = 0; j < wave->rounds.n; j++) {
            struct shockwave_job *job = job_at(wave, j);
            const double ratio = ratio_of(wave, view, job, share);
            const double power = job->remaining_s < welfare->round_s ? 100 : wave->params.power;
            if (ratio > wave->params.ratio) job->priority = fmin(1e12, pow(ratio, power));
            welfare->jobs[j].priority = job->priority;
            welfare->jobs[j].least = 0;
        }
        welfare_solve(welfare);
    }
    for (size_t j = 0; j < wave->rounds.n; j++) job_at(wave, j)->rounds = welfare->jobs[j].rounds;
    return 0;
}

/* High priority first, then the longest remaining time, then the oldest job. */
static int by_priority(const void *one, const void *other)
{
    const struct shockwave_job *a = *(struct shockwave_job *const *)one, *b = *(struct shockwave_job *const *)other;
    if (a->priority != b->priority) return a->priority > b->priority ? -1 : 1;
    if (a->remaining_s != b->remaining_s) return a->remaining_s > b->remaining_s ? -1 : 1;
    return a->round.view->sequence < b->round.view->sequence ? -1 : 1;
}

static int by_remaining(const void *one, const void *other)
{
    const struct shockwave_job *a = *(struct shockwave_job *const *)one, *b = *(struct shockwave_job *const *)other;
    if (a->remaining_s != b->remaining_s) return a->remaining_s > b->remaining_s ? -1 : 1;
    return a->round.view->sequence < b->round.view->sequence ? -1 : 1;
}

/* Chooses jobs with at least `least` rounds left, in their present order, while they fit. */
static void choose(struct shockwave *wave, int64_t least, int64_t *gpus)
{
    for (size_t j = 0; j < wave->rounds.n; j++)
        if (job_at(wave, j)->rounds >= least) rounds_choose(&job_at(wave, j)->round, gpus);
}

/* The jobs of the next round: first those that need all rounds that are left of the window. */
static void choose_round(struct shockwave *wave, const struct cluster_view *view)
{
    int64_t gpus = view->total_gpus;
    rounds_sort(&wave->rounds, by_priority);
    choose(wave, wave->params.window - wave->window_round, &gpus);
    choose(wave, 1, &gpus);
    rounds_sort(&wave->rounds, by_remaining);
    choose(wave, 0, &gpus);
    for (size_t j = 0; j < wave->rounds.n; j++) {
        struct shockwave_job *job = job_at(wave, j);
        if (job->round.is_chosen && job->rounds > 0) job->rounds--;
    }
}

static int decide_round(struct shockwave *wave, const struct cluster_view *view, struct job_plan *plan)
{
    const bool is_over = wave->window_round == wave->params.window;
    for (size_t j = 0; j < wave->rounds.n; j++) predict(view, job_at(wave, j));
    for (size_t j = 0; j < wave->rounds.n && wave->is_stale; j++)
        estimate_fair(wave, job_at(wave, j), share_of(wave, view));
    if (wave->is_stale || is_over) {
        const int code = plan_window(wave, view);
        if (code != 0) return code;
        wave->window_round = 0;
    }
    wave->is_stale = false;
    choose_round(wave, view);
    rounds_apply(&wave->rounds, plan, "the market gives this round to others", "the market gives it this round");
    wave->round++;
    wave->window_round++;
    return 0;
}

static int shockwave_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct shockwave *wave = state;
    const int due = wave->code == 0 ? rounds_begin(&wave->rounds, view, wave->params.round_ns, wave->params.depth) : 0;
    if (due < 0) wave->code = due;
    if (due > 0) wave->code = decide_round(wave, view, plan);
    if (wave->code == 0) wave->code = rounds_end(&wave->rounds, view, wave->params.round_ns, plan);
    return wave->code;
}

static int shockwave_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct shockwave *)state)->params = *(const struct shockwave_params *)params;
    return 0;
}

static void shockwave_fini(void *state)
{
    struct shockwave *wave = state;
    mem_free(wave->welfare.jobs);
    mem_free(wave->welfare.heap);
    mem_free(wave->welfare.best);
    rounds_fini(&wave->rounds);
}

#define ROW_OF struct shockwave_params
static const struct config_field shockwave_fields[] = {
    ROW_TIME("round", round_ns, DEFAULT("120s"), AT_LEAST(1e-3), "time between two decisions"),
    ROW_INT("window", window, DEFAULT("20"), WITHIN(1, 1000), "rounds that are planned at once"),
    ROW_INT("depth", depth, DEFAULT("300"), WITHIN(1, 1e9),
            "only the oldest jobs take part, at most so many, which bounds the cost of a decision"),
    ROW_REAL("penalty", penalty_per_s, DEFAULT("0.001"), WITHIN(0, 1e6),
             "k: utility that a second of the longest remaining time costs"),
    ROW_REAL("power", power, DEFAULT("12"), WITHIN(0, 100), "power of a late job's ratio by which its utility counts"),
    ROW_REAL("ratio", ratio, DEFAULT("1"), WITHIN(0.01, 100),
             "time to the end, over the fair one, from which a job is late"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_shockwave = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "shockwave",
               .summary = "in rounds, a market that plans fair finish times, with jobs whose batch sizes change",
               .source = "Zheng et al., Shockwave (NSDI 2023)",
               .params = shockwave_fields,
               .params_bytes = sizeof(struct shockwave_params),
               .state_bytes = sizeof(struct shockwave),
               .init = shockwave_init,
               .fini = shockwave_fini},
    .job_bytes = sizeof(struct shockwave_job),
    .notify = shockwave_notify,
    .decide = shockwave_decide,
};

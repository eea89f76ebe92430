/* Tiresias' discretized 2D-Gittins: as in its 2D-LAS, jobs move down a few queues as their attained GPU time reaches
 * the limits. Within a queue the job with the higher Gittins index (models/gittins.h) goes first: the one more likely
 * to end within a quantum, per GPU time that it takes. Equal jobs stand in order of submission, running or not.
 * Without limits the index alone decides.
 *
 * The sizes of jobs come from a `history` of other jobs or, as in the paper's simulator, from the trace itself. The
 * index of a running job is updated when the job reaches one of these sizes, or one of `steps` quantiles of them.
 *
 * Attained service is the GPU time that a job has held, while sizes of the trace are run times. Both agree for jobs of
 * speed 1 without delays on their GPUs. Other jobs pass their own size before they finish, and the run warns of that.
 *
 * The paper's released simulator uses another index (gittins_index_released) and updates it at every size. It notices
 * changes only when jobs arrive or end, or at the checks of tiresias with `looks` "released". Of equal jobs that were
 * submitted in the same second, it serves those that run first; here they stand in order of submission. */
#include "models/gittins.h"
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "policies/scheduler/queues.h"
#include "policies/scheduler/sizes_file.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum variant { AS_PUBLISHED, AS_RELEASED };

struct gittins_params {
    const char *history;
    double quantum; /* GPU-seconds; 0: the best one */
    struct config_list limits; /* double: GPU-seconds */
    int64_t steps;
    int variant;
};

struct gittins_job {
    struct preemptive_job preemptive; /* first */
    struct ranked clock; /* while it runs, ranked by its next update */
    int32_t queue;
};

/* A range of attained GPU time: from from_gpu_s to that of the next step. */
struct step {
    double from_gpu_s, index;
    int64_t place; /* among all steps, the highest index first; equal ones share a place */
    size_t next;   /* next step with another place; the number of steps: none */
};

struct scheduling {
    struct preemptive preemptive; /* first */
    struct gittins_params params;
    struct real_list sizes;
    struct step *steps; /* NULL: not computed yet */
    size_t n_steps;
    struct ranking clocks;
    struct ranked_list due;
    int64_t n_unlike; /* finished jobs whose GPU time was not their size; not warned of yet */
};

static const char *const variants[] = {"published", "released", NULL};
static const struct config_field limit_item[] = {
    {.kind = CONFIG_REAL, .min = DBL_MIN, .max = 1e12, .help = "GPU-seconds at which a job leaves the queue"}, {0}};
#define ROW_OF struct gittins_params
static const struct config_field gittins_fields[] = {
    ROW_PATH("history", history, OPTIONAL,
             "CSV file with a column gpu_s, the GPU-seconds of past jobs; default: those of the jobs of the trace"),
    ROW_REAL("quantum", quantum, DEFAULT("3250"), WITHIN(0, 1e12),
             "quantum of the index, in GPU-seconds; 0: for each job the one with the highest index"),
    ROW_LIST("limits", limits, DEFAULT("[3250, 7200]"), WITHIN(0, 64), double, limit_item,
             "limits of all queues but the last, in GPU-seconds; increasing; []: one queue"),
    ROW_INT("steps", steps, DEFAULT("100"), WITHIN(1, 1e6),
            "number of quantiles of job size at which the index of a running job is updated"),
    ROW_CHOICE("variant", variant, DEFAULT("published"), variants,
               "as in the paper, or with the index and the update times of its released simulator"),
    {0}};
#undef ROW_OF

static int gittins_init(void *state, const void *params, struct diag *diag)
{
    struct scheduling *of = state;
    of->params = *(const struct gittins_params *)params;
    if (of->params.variant == AS_RELEASED && of->params.quantum < 1)
        return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.quantum", "give the quantum in GPU-seconds: 1 or more",
                          "variant 'released' takes no quantum below 1: got %g", of->params.quantum);
    int code = queues_check_limits(&of->params.limits, diag);
    if (code == 0 && of->params.history != NULL) code = sizes_file_read(of->params.history, &of->sizes, diag);
    if (code < 0) real_list_fini(&of->sizes);
    return code;
}

static void gittins_fini(void *state)
{
    struct scheduling *of = state;
    real_list_fini(&of->sizes);
    ranked_list_fini(&of->due);
    mem_free(of->steps);
    preemptive_fini(&of->preemptive);
}

static bool gittins_wants_sizes(const void *state)
{
    return ((const struct scheduling *)state)->params.history == NULL;
}

/* --- What is known beforehand --- */

/* Lists the beginnings of steps: 0 and quantiles of the sizes. */
static int list_steps(const struct scheduling *of, const struct gittins *gittins, struct real_list *from)
{
    const size_t all = gittins->n, most = (size_t)of->params.steps;
    const size_t n = of->params.variant == AS_RELEASED || all < most ? all : most;
    int code = real_list_add(from, 0);
    for (size_t i = 1; i <= n && code == 0; i++) code = real_list_add(from, gittins->sizes[i * all / n - 1]);
    real_list_unique(from);
    return code;
}

static double index_at(const struct scheduling *of, const struct gittins *gittins, const struct gittins_quantum *best,
                       double attained_gpu_s)
{
    if (of->params.variant == AS_RELEASED) return gittins_index_released(gittins, attained_gpu_s, of->params.quantum);
    if (of->params.quantum > 0) return gittins_index(gittins, attained_gpu_s, of->params.quantum);
    return best[gittins_ended(gittins, attained_gpu_s)].index;
}

static int by_index(const void *a, const void *b)
{
    const struct step *const *x = a, *const *y = b;
    return ((*x)->index < (*y)->index) - ((*x)->index > (*y)->index);
}

/* Ranks the steps by their indices. */
static int rank_steps(struct scheduling *of)
{
    const size_t n = of->n_steps;
    struct step **order = mem_zalloc(n, sizeof(struct step *));
    if (order == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) order[i] = &of->steps[i];
    qsort(order, n, sizeof(struct step *), by_index);
    for (size_t i = 1; i < n; i++) order[i]->place = order[i - 1]->place + (order[i]->index < order[i - 1]->index);
    mem_free(order);
    of->steps[n - 1].next = n;
    for (size_t i = n - 1; i-- > 0;)
        of->steps[i].next = of->steps[i].place != of->steps[i + 1].place ? i + 1 : of->steps[i + 1].next;
    return 0;
}

static int make_steps(struct scheduling *of, const struct gittins *gittins, const struct gittins_quantum *best)
{
    struct real_list from = {0};
    int code = list_steps(of, gittins, &from);
    if (code == 0) of->steps = mem_zalloc(from.n, sizeof *of->steps);
    if (code == 0 && of->steps == NULL) code = SIM_E_NOMEM;
    of->n_steps = from.n;
    for (size_t i = 0; i < from.n && code == 0; i++)
        of->steps[i] = (struct step){.from_gpu_s = from.items[i], .index = index_at(of, gittins, best, from.items[i])};
    real_list_fini(&from);
    return code < 0 ? code : rank_steps(of);
}

static int learn(struct scheduling *of, const struct cluster_view *view)
{
    const bool from_trace = of->params.history == NULL;
    struct gittins gittins = {.n = from_trace ? view->n_sizes : of->sizes.n,
                              .sizes = from_trace ? view->sizes_gpu_s : of->sizes.items};
    double *sums = mem_zalloc(gittins.n + 1, sizeof *sums);
    struct gittins_quantum *best = mem_zalloc(gittins.n + 1, sizeof *best);
    int code = sums == NULL || best == NULL ? SIM_E_NOMEM : 0;
    gittins.sums = sums;
    if (code == 0) {
        gittins_sum(gittins.sizes, gittins.n, sums);
        gittins_best(&gittins, best);
        code = make_steps(of, &gittins, best);
    }
    mem_free(sums);
    mem_free(best);
    return code;
}

/* --- Where a job stands --- */

static struct gittins_job *job_of_clock(const struct ranked *clock)
{
    return job_view_slot(clock->job);
}

/* The time in which a job with this many GPUs attains this GPU time. */
static sim_ns span_ns(double gpu_s, int32_t gpus)
{
    const double span = ceil(gpu_s * SIM_NS_PER_S / gpus);
    return span < (double)SIM_NS_MAX ? (sim_ns)span : SIM_NS_MAX;
}

/* The step of a job after this executed time. */
static size_t step_at(const struct scheduling *of, int32_t gpus, sim_ns executed_ns)
{
    size_t low = 0, high = of->n_steps;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *(span_ns(of->steps[middle].from_gpu_s, gpus) <= executed_ns ? &low : &high) = middle;
    }
    return low;
}

/* Whether the job has reached the limit of its queue. */
static bool goes_down(const struct scheduling *of, const struct gittins_job *job, sim_ns executed_ns)
{
    return job->queue < (int32_t)of->params.limits.n &&
           span_ns(queues_limit(&of->params.limits, job->queue), job->clock.job->gpus) <= executed_ns;
}

/* Place of the job among all jobs now. As released, it moves down one queue at a time. */
static int64_t level_of(const struct scheduling *of, struct gittins_job *job, sim_ns executed_ns)
{
    while (goes_down(of, job, executed_ns)) {
        job->queue++;
        if (of->params.variant == AS_RELEASED) break;
    }
    const size_t step = step_at(of, job->clock.job->gpus, executed_ns);
    return job->queue * (int64_t)of->n_steps + of->steps[step].place;
}

/* Executed time at which the job's place next changes; SIM_NS_MAX: never. */
static sim_ns next_change_ns(const struct scheduling *of, const struct gittins_job *job, sim_ns executed_ns)
{
    const int32_t gpus = job->clock.job->gpus;
    const size_t next = of->steps[step_at(of, gpus, executed_ns)].next;
    const sim_ns step_ns = next < of->n_steps ? span_ns(of->steps[next].from_gpu_s, gpus) : SIM_NS_MAX;
    if (job->queue == (int32_t)of->params.limits.n) return step_ns;
    const sim_ns limit_ns = span_ns(queues_limit(&of->params.limits, job->queue), gpus);
    return limit_ns < step_ns ? limit_ns : step_ns;
}

static void start_clock(struct scheduling *of, const struct cluster_view *view, struct gittins_job *job)
{
    const sim_ns executed_ns = job_view_executed_ns(view, job->clock.job);
    const sim_ns change_ns = next_change_ns(of, job, executed_ns);
    job->clock.rank = (struct rank){.first = sim_ns_add(view->now_ns - executed_ns, change_ns),
                                    .second = job->clock.job->sequence};
    ranking_add(&of->clocks, &job->clock);
}

/* Whether a job of the trace has exactly this size. */
static bool is_size(const struct cluster_view *view, double gpu_s)
{
    const struct gittins gittins = {.n = view->n_sizes, .sizes = view->sizes_gpu_s};
    const size_t ended = gittins_ended(&gittins, gpu_s);
    return ended > 0 && gittins.sizes[ended - 1] == gpu_s;
}

static void count_unlike(struct scheduling *of, const struct cluster_view *view, const struct job_view *job)
{
    if (of->params.history != NULL || job->gpus == 0) return;
    of->n_unlike += !is_size(view, sim_s_from_ns(job_view_executed_ns(view, job)) * job->gpus);
}

static void warn_of_unlike(struct scheduling *of, struct job_plan *plan)
{
    for (; of->n_unlike > 0; of->n_unlike--)
        job_plan_warn(plan, "gittins-sizes",
                      "jobs whose time on GPUs differs from the trace: their index was that of another size");
}

static void gittins_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct scheduling *of = state;
    struct gittins_job *job = job_view_slot(note->job);
    job->clock.job = note->job;
    if (of->steps == NULL && of->preemptive.code == 0) of->preemptive.code = learn(of, view);
    if (of->preemptive.code < 0) return;
    const bool ended = note->event == JOB_EVENT_PREEMPT || note->event == JOB_EVENT_FINISH;
    if (ended) ranking_remove(&of->clocks, &job->clock);
    if (note->event == JOB_EVENT_FINISH) count_unlike(of, view, note->job);
    if (note->event == JOB_EVENT_SUBMIT || note->forced)
        job->preemptive.level = level_of(of, job, job_view_executed_ns(view, note->job));
    preemptive_notify(&of->preemptive, view, note);
    if (note->event == JOB_EVENT_START) start_clock(of, view, job);
}

/* --- Deciding --- */

static void list_due(struct scheduling *of, sim_ns now)
{
    of->due.n = 0;
    while (of->clocks.first != NULL && of->clocks.first->rank.first <= now && of->preemptive.code == 0) {
        struct ranked *clock = of->clocks.first;
        ranking_remove(&of->clocks, clock);
        of->preemptive.code = ranked_list_add(&of->due, clock);
    }
}

static void rank_anew(struct scheduling *of, const struct cluster_view *view)
{
    list_due(of, view->now_ns);
    for (size_t i = 0; i < of->due.n && of->preemptive.code == 0; i++) {
        struct gittins_job *job = job_of_clock(of->due.items[i]);
        const int64_t level = level_of(of, job, job_view_executed_ns(view, job->clock.job));
        preemptive_set_level(&of->preemptive, &job->preemptive, level, view->now_ns);
        start_clock(of, view, job);
    }
}

/* Time at which the released simulator checks a job again: it takes GPU-seconds for seconds. SIM_NS_MAX: never. */
static sim_ns released_check_ns(const struct scheduling *of, const struct cluster_view *view,
                                const struct gittins_job *job)
{
    if (job->queue == (int32_t)of->params.limits.n) return SIM_NS_MAX;
    const double left_s = queues_limit(&of->params.limits, job->queue) -
                          sim_s_from_ns(job_view_executed_ns(view, job->clock.job));
    return sim_ns_add(view->now_ns, sim_ns_from_s(fmax(floor(left_s / job->clock.job->gpus), 1)));
}

static sim_ns next_check_ns(const struct scheduling *of, const struct cluster_view *view)
{
    const struct ranked *clock = of->clocks.first;
    if (of->params.variant == AS_PUBLISHED) return clock != NULL ? clock->rank.first : SIM_NS_MAX;
    sim_ns next_ns = SIM_NS_MAX;
    while (clock != NULL) {
        const sim_ns check_ns = released_check_ns(of, view, job_of_clock(clock));
        if (check_ns < next_ns) next_ns = check_ns;
        clock = ranking_first_from(&of->clocks, (struct rank){clock->rank.first, clock->rank.second, 1});
    }
    return next_ns;
}

static int gittins_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct scheduling *of = state;
    if (of->steps != NULL) rank_anew(of, view);
    warn_of_unlike(of, plan);
    const int code = preemptive_decide(&of->preemptive, view, plan);
    const sim_ns next_ns = code == 0 ? next_check_ns(of, view) : SIM_NS_MAX;
    if (next_ns < SIM_NS_MAX) job_plan_wake_at(plan, next_ns);
    return code;
}

const struct scheduler scheduler_tiresias_gittins = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "tiresias-gittins",
               .summary = "highest Gittins index first, in a few queues (2D-Gittins); preemptive, knows the distribution of GPU time",
               .source = "Gu et al., Tiresias (NSDI 2019)",
               .oracle = ORACLE_MIX,
               .params = gittins_fields,
               .params_bytes = sizeof(struct gittins_params),
               .state_bytes = sizeof(struct scheduling),
               .init = gittins_init,
               .fini = gittins_fini},
    .job_bytes = sizeof(struct gittins_job),
    .notify = gittins_notify,
    .decide = gittins_decide,
    .wants_sizes = gittins_wants_sizes,
    .ignores_estimates = true,
};

/* Tiresias' discretized 2D-LAS: jobs begin in the first of a few queues. A job moves down one queue when its attained
 * service, GPU time or time alone, reaches the queue's limit. Within a queue jobs go first come, first served
 * (queues.h). A job that has waited `promote_knob` times its executed time returns to the end of the first queue, and
 * both counts restart. If it had waited that long before it lost its GPUs, it returns at the next decision.
 *
 * `looks` chooses when the scheduler notices a reached limit, apart from arrivals and ends of jobs. "exact": at once.
 * "released": as planned by the paper's simulator, floor((limit - executed time) / GPUs) whole seconds after the
 * latest decision. That is right if service is time. For GPU time it takes GPU-seconds for seconds: the check comes
 * too late by a factor of the GPUs, or too early and then again. Where this plans a check at once, the released
 * simulator (SymbioticLab/Tiresias @ 959f9b0, simulator/run_sim.py) never ends; here the check comes a second later.
 * A job awaits its promotion for whole seconds, rounded down. */
#include "policies/declared.h"
#include "policies/scheduler/queues.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"

#include <float.h>
#include <math.h>

enum service { SERVICE_GPU_TIME, SERVICE_TIME };
enum looks { LOOKS_EXACT, LOOKS_RELEASED };

struct las_params {
    int service, looks;
    struct config_list limits; /* double: seconds or GPU-seconds */
    double promote_knob;
};

struct las_job {
    struct queued queued; /* first */
    /* Ranked, while the job runs above the last queue, by its virtual start: had it run without interruption since its
     * latest promotion. While it awaits promotion, by the time of the promotion. */
    struct ranked clock;
    bool has_clock;
    sim_ns promoted_at_ns; /* executed time at the latest promotion */
    sim_ns waited_ns;      /* time waited since then, after its first GPUs */
    sim_ns waits_since_ns;
};

struct las {
    struct queues queues; /* first */
    struct las_params params;
    struct pending *running; /* [queues.n - 1]: clocks of a queue's running jobs, by class */
    struct ranking promotions;
    struct ranked_list due; /* jobs that change their queue now */
};

static const char *const services[] = {"gpu-time", "time", NULL}, *const looks[] = {"exact", "released", NULL};
static const struct config_field limit_item[] = {
    {.kind = CONFIG_REAL, .min = DBL_MIN, .max = 1e9, .help = "service at which a job leaves the queue"}, {0}};
#define ROW_OF struct las_params
static const struct config_field las_fields[] = {
    ROW_CHOICE("service", service, DEFAULT("gpu-time"), services,
               "attained service: GPUs times time on them, or the time alone"),
    ROW_LIST("limits", limits, DEFAULT("[3250, 7200]"), WITHIN(1, 64), double, limit_item,
             "limits of all queues but the last, in GPU-seconds or seconds; increasing"),
    ROW_CHOICE(
        "looks", looks, DEFAULT("exact"), looks,
        "when a job changes its queue: as it reaches a limit, or at the later checks of the paper's released simulator"),
    ROW_REAL("promote_knob", promote_knob, DEFAULT("0"), WITHIN(0, 1e9),
             "a job that has waited this multiple of its time on GPUs returns to the first queue; 0: never"),
    {0}};
#undef ROW_OF

static void las_fini(void *state)
{
    struct las *las = state;
    for (int32_t i = 0; las->running != NULL && i < las->queues.n - 1; i++) pending_fini(&las->running[i]);
    mem_free(las->running);
    ranked_list_fini(&las->due);
    queues_fini(&las->queues);
}

static int las_init(void *state, const void *params, struct diag *diag)
{
    struct las *las = state;
    las->params = *(const struct las_params *)params;
    const size_t n_limits = las->params.limits.n;
    int code = queues_check_limits(&las->params.limits, diag);
    if (code < 0) return code;
    las->running = mem_zalloc(n_limits, sizeof *las->running);
    code = las->running == NULL ? SIM_E_NOMEM : queues_init(&las->queues, (int32_t)n_limits + 1);
    if (code < 0) mem_free(las->running);
    return code;
}

/* --- Clocks --- */

static struct las_job *las_job_of(const struct ranked *clock)
{
    return job_view_slot(clock->job);
}

static sim_ns executed_ns(const struct cluster_view *view, const struct las_job *job)
{
    return job_view_executed_ns(view, job->clock.job) - job->promoted_at_ns;
}

/* The time in which a job with this many GPUs reaches the limit of a queue. */
static sim_ns span_ns(const struct las *las, int32_t queue, int32_t gpus)
{
    double seconds = queues_limit(&las->params.limits, queue) / (las->params.service == SERVICE_TIME ? 1 : gpus);
    return (sim_ns)ceil(seconds * SIM_NS_PER_S);
}

/* A job of CPUs alone never attains GPU time. */
static void start_clock(struct las *las, const struct cluster_view *view, struct las_job *job)
{
    if (job->queued.queue == las->queues.n - 1) return;
    if (job->clock.job->gpus == 0 && las->params.service != SERVICE_TIME) return;
    job->has_clock = true;
    job->clock.rank = (struct rank){.first = view->now_ns - executed_ns(view, job), .second = job->clock.job->sequence};
    int code = pending_add(&las->running[job->queued.queue], &job->clock);
    if (code < 0) las->queues.code = code;
}

static void await_promotion(struct las *las, const struct cluster_view *view, struct las_job *job)
{
    job->waits_since_ns = view->now_ns;
    if (!(las->params.promote_knob > 0) || job->queued.queue == 0) return;
    double patience_s = las->params.promote_knob * sim_s_from_ns(executed_ns(view, job));
    if (las->params.looks == LOOKS_RELEASED) patience_s = floor(patience_s);
    sim_ns since_ns = view->now_ns - job->waited_ns;
    job->has_clock = true;
    job->clock.rank = (struct rank){.first = sim_ns_add(since_ns, sim_ns_from_s(patience_s)),
                                    .second = job->clock.job->sequence};
    ranking_add(&las->promotions, &job->clock);
}

static void stop_clock(struct las *las, struct las_job *job, bool ran)
{
    if (job->has_clock && ran) pending_remove(&las->running[job->queued.queue], &job->clock);
    if (job->has_clock && !ran) ranking_remove(&las->promotions, &job->clock);
    job->has_clock = false;
}

static void las_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct las *las = state;
    struct las_job *job = job_view_slot(note->job);
    queues_notify(&las->queues, note);
    if (las->queues.code < 0) return;
    if (note->event == JOB_EVENT_SUBMIT) {
        job->clock.job = note->job;
    } else if (note->event == JOB_EVENT_START) {
        stop_clock(las, job, false);
        if (executed_ns(view, job) > 0) job->waited_ns += view->now_ns - job->waits_since_ns;
        start_clock(las, view, job);
    } else if (note->event == JOB_EVENT_PREEMPT || note->event == JOB_EVENT_FINISH) {
        stop_clock(las, job, true);
        if (note->event == JOB_EVENT_PREEMPT) await_promotion(las, view, job);
    }
}

/* --- Deciding --- */

static void add_due(struct las *las, struct las_job *job, bool ran)
{
    stop_clock(las, job, ran);
    int code = ranked_list_add(&las->due, &job->clock);
    if (code < 0) las->queues.code = code;
}

static void list_due_of_queue(struct las *las, const struct cluster_view *view, int32_t queue)
{
    const struct pending *running = &las->running[queue];
    las->due.n = 0;
    for (size_t i = 0; i < running->n; i++) {
        const struct ranking *clocks = &running->classes[i]->jobs;
        sim_ns bound_ns = view->now_ns - span_ns(las, queue, running->classes[i]->gpus);
        while (clocks->first != NULL && clocks->first->rank.first <= bound_ns && las->queues.code == 0)
            add_due(las, las_job_of(clocks->first), true);
    }
    ranked_list_sort(&las->due);
}

/* Moves jobs that reached the limit of their queue to the next one, in order of submission. The last queues go first,
 * so that no job falls by two. */
static void demote(struct las *las, const struct cluster_view *view)
{
    for (int32_t queue = las->queues.n - 2; queue >= 0; queue--) {
        list_due_of_queue(las, view, queue);
        for (size_t i = 0; i < las->due.n && las->queues.code == 0; i++) {
            struct las_job *job = las_job_of(las->due.items[i]);
            queues_move(&las->queues, &job->queued, queue + 1);
            start_clock(las, view, job);
        }
    }
}

static void promote(struct las *las, const struct cluster_view *view)
{
    const struct ranking *clocks = &las->promotions;
    las->due.n = 0;
    while (clocks->first != NULL && clocks->first->rank.first <= view->now_ns && las->queues.code == 0)
        add_due(las, las_job_of(clocks->first), false);
    ranked_list_sort(&las->due);
    for (size_t i = 0; i < las->due.n && las->queues.code == 0; i++) {
        struct las_job *job = las_job_of(las->due.items[i]);
        job->promoted_at_ns = job_view_executed_ns(view, job->clock.job);
        job->waited_ns = 0;
        job->waits_since_ns = view->now_ns;
        queues_move(&las->queues, &job->queued, 0);
    }
}

/* Delay until the released simulator checks a job again. */
static sim_ns released_check_ns(const struct las *las, int32_t queue, int32_t gpus, sim_ns executed_ns)
{
    double left_s = queues_limit(&las->params.limits, queue) - sim_s_from_ns(executed_ns);
    double wait_s = floor(left_s / (las->params.service == SERVICE_TIME ? 1 : gpus));
    return sim_ns_from_s(fmax(wait_s, 1));
}

/* Time of the next check of the first job of this class in this queue. */
static sim_ns next_check_ns(const struct las *las, const struct cluster_view *view, int32_t queue,
                            const struct pending_class *class)
{
    sim_ns began_ns = class->jobs.first->rank.first;
    if (las->params.looks == LOOKS_EXACT) return began_ns + span_ns(las, queue, class->gpus);
    return sim_ns_add(view->now_ns, released_check_ns(las, queue, class->gpus, view->now_ns - began_ns));
}

static void plan_wake(const struct las *las, const struct cluster_view *view, struct job_plan *plan)
{
    struct rank later = {.first = view->now_ns + 1, .second = INT64_MIN};
    const struct ranked *promotion = ranking_first_from(&las->promotions, later);
    sim_ns next_ns = promotion != NULL ? promotion->rank.first : SIM_NS_MAX;
    for (int32_t queue = 0; queue < las->queues.n - 1; queue++) {
        for (size_t i = 0; i < las->running[queue].n; i++) {
            const struct pending_class *class = las->running[queue].classes[i];
            if (class->jobs.first == NULL) continue;
            sim_ns check_ns = next_check_ns(las, view, queue, class);
            if (check_ns < next_ns) next_ns = check_ns;
        }
    }
    if (next_ns < SIM_NS_MAX) job_plan_wake_at(plan, next_ns > view->now_ns ? next_ns : view->now_ns + 1);
}

static int las_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct las *las = state;
    demote(las, view);
    promote(las, view);
    if (las->queues.code == 0) queues_walk(&las->queues, view, plan);
    if (las->queues.code == 0) plan_wake(las, view, plan);
    return las->queues.code;
}

const struct scheduler scheduler_tiresias = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "tiresias",
               .summary = "least attained service first, in a few queues (2D-LAS); preemptive, needs no run times",
               .source = "Gu et al., Tiresias (NSDI 2019)",
               .params = las_fields,
               .params_bytes = sizeof(struct las_params),
               .state_bytes = sizeof(struct las),
               .init = las_init,
               .fini = las_fini},
    .job_bytes = sizeof(struct las_job),
    .notify = las_notify,
    .decide = las_decide,
    .ignores_estimates = true,
};

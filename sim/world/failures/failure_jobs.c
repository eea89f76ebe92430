/* Where jobs are exposed to failures: which ones a node takes with it, and those of their own software. */
#include "sim/world/failures/failure_state.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>

/* --- Strikes --- */

/* Takes a job off its GPUs; `node` -1: they are not the reason. Returns 0 or the sink's code. */
static int interrupt(const struct failure_blow *blow, struct job *job, int32_t node)
{
    const sim_ns now = engine_now(job->jobs->site->engine);
    const sim_ns lost_ns = job_progress_done_ns(&job->progress, now) - job_progress_saved_ns(&job->progress, now);
    char reason[160], place[32] = "";
    if (node >= 0) snprintf(place, sizeof place, " on node %d", node);
    snprintf(reason, sizeof reason, "%.80s%s: loses %.6g s of work on", blow->source->name, place,
             sim_s_from_ns(lost_ns));
    job->restart_ns = blow->restart_ns;
    const int code = job_interrupt(job, now, true, reason);
    blow->source->n_interrupts++;
    blow->source->lost_gpu_s += job->unsaved_gpu_s;
    return code;
}

int failure_clear_node(struct failures *failures, const struct failure_blow *blow, int32_t node)
{
    int code = 0;
    while (code == 0 && failures->nodes[node].seats != NULL)
        code = interrupt(blow, failures->nodes[node].seats->exposure->job, node);
    for (size_t i = 0; i < failures->n_services && code == 0; i++) {
        const int n = service_strike(failures->services[i], node, blow->source->name,
                                     engine_now(failures->site->engine));
        if (n < 0) code = n;
    }
    return code;
}

/* The source whose failure comes first. */
static struct failure_source *next_source(const struct failure_exposure *exposure)
{
    const struct failures *failures = exposure->failures;
    struct failure_source *first = NULL;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        struct failure_source *source = &failures->sources[i];
        if (source->scope != FAILURE_JOB) continue;
        if (first == NULL || exposure->next[source->job_index].at_ns < exposure->next[first->job_index].at_ns)
            first = source;
    }
    return first;
}

/* Draws the job's next failure of a source, counted from `held_ns` on. */
static void draw_next(struct failure_exposure *exposure, const struct failure_source *source, sim_ns held_ns,
                      struct rng *rng)
{
    struct job_strike *next = &exposure->next[source->job_index];
    failure_stream(exposure->failures, source, (uint64_t)exposure->job->view.sequence, next->n++, rng);
    next->at_ns = sim_ns_add(held_ns, failure_draw_ns(&source->lifetime, rng));
}

static void arm(struct failure_exposure *exposure, sim_ns now);

static void on_job_strike(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct failure_exposure *exposure = OWNER_ENTITY(owner, struct failure_exposure, strike);
    struct failure_source *source = next_source(exposure);
    struct job_strike *next = &exposure->next[source->job_index];
    struct rng rng;
    failure_stream(exposure->failures, source, (uint64_t)exposure->job->view.sequence, next->n - 1, &rng);
    rng_uniform(&rng); /* its time */
    const bool is_visible = rng_uniform(&rng) < source->visible_frac;
    const struct failure_blow blow = {.source = source, .restart_ns = failure_draw_ns(&source->restart, &rng)};
    draw_next(exposure, source, next->at_ns, &rng);
    if (is_visible)
        source->n_seen++;
    else
        source->n_unseen++;
    const int code = is_visible ? interrupt(&blow, exposure->job, -1) : 0;
    if (!is_visible) arm(exposure, now);
    if (code < 0) engine_fail(engine, code);
}

static void arm(struct failure_exposure *exposure, sim_ns now)
{
    const struct failure_source *source = next_source(exposure);
    if (source == NULL) return;
    const sim_ns left_ns = exposure->next[source->job_index].at_ns - job_executed_ns(exposure->job, now);
    const sim_ns at_ns = sim_ns_add(now, left_ns > 0 ? left_ns : 0);
    engine_arm(exposure->failures->site->engine, at_ns, PRIORITY_FAILURE, on_job_strike, &exposure->strike);
}

/* --- Seats --- */

static int sit_down(struct failure_exposure *exposure, int32_t index)
{
    struct failures *failures = exposure->failures;
    struct failure_node *node = &failures->nodes[index];
    struct failure_seat *seat = pool_take(&failures->seats);
    if (seat == NULL) return SIM_E_NOMEM;
    *seat = (struct failure_seat){
        .exposure = exposure, .node = index, .after = node->seats, .next = exposure->seats};
    if (seat->after != NULL) seat->after->before = seat;
    node->seats = exposure->seats = seat;
    return 0;
}

static void stand_up(struct failure_exposure *exposure)
{
    struct failures *failures = exposure->failures;
    while (exposure->seats != NULL) {
        struct failure_seat *seat = exposure->seats;
        exposure->seats = seat->next;
        if (seat->after != NULL) seat->after->before = seat->before;
        *(seat->before != NULL ? &seat->before->after : &failures->nodes[seat->node].seats) = seat->after;
        pool_give(&failures->seats, seat);
    }
}

static struct failure_exposure *expose(struct failures *failures, struct job *job)
{
    struct failure_exposure *exposure = pool_take(&failures->exposures);
    struct rng rng;
    if (exposure == NULL) return NULL;
    *exposure = (struct failure_exposure){.failures = failures, .job = job};
    owner_init_passing(&exposure->strike, OWNER_ID_JOB_FAILURES, (uint64_t)job->view.sequence);
    for (int32_t i = 0; i < failures->n_job_sources; i++) exposure->next[i] = (struct job_strike){0};
    for (int32_t i = 0; i < failures->n_sources; i++)
        if (failures->sources[i].scope == FAILURE_JOB) draw_next(exposure, &failures->sources[i], 0, &rng);
    return exposure;
}

int failures_job_begins(struct failures *failures, struct job *job, sim_ns now)
{
    if (job->view.gpus == 0 && job->allocation == NULL) return 0;
    if (job->exposure == NULL) job->exposure = expose(failures, job);
    if (job->exposure == NULL) return SIM_E_NOMEM;
    const int32_t first = jobs_cluster_of(job->jobs, job->view.node_type)->first_node;
    stand_up(job->exposure);
    for (const struct allocation *part = job->allocation; part != NULL; part = part->next)
        if (sit_down(job->exposure, first + part->node) != 0) return SIM_E_NOMEM;
    if (job->view.gpus > 0) arm(job->exposure, now);
    return 0;
}

void failures_job_ends(struct failures *failures, struct job *job)
{
    if (job->exposure == NULL) return;
    stand_up(job->exposure);
    engine_disarm(failures->site->engine, &job->exposure->strike);
}

void failures_job_leaves(struct failures *failures, struct job *job, bool is_last)
{
    if (job->exposure != NULL) pool_give(&failures->exposures, job->exposure);
    job->exposure = NULL;
    if (is_last) failures_jobs_end(failures);
}

/* --- What a job must reckon with --- */

static bool hits_groups(const struct failure_source *source)
{
    return source->scope != FAILURE_GPU && source->scope != FAILURE_JOB;
}

/* The how many-th node of the job it is that hangs on its component. */
static int32_t count_held(const struct failure_source *source, int32_t node)
{
    return source->nodes_each == 1 ? 1 : ++source->n_held[node / source->nodes_each];
}

static void forget_held(const struct failure_source *source, const struct allocation *part, int32_t first)
{
    for (; part != NULL && hits_groups(source) && source->nodes_each > 1; part = part->next)
        source->n_held[(first + part->node) / source->nodes_each] = 0;
}

/* Failures per second of a source among those that hold what the job holds: a shock strikes it when it hits any of its nodes. */
static double rate_of(const struct failures *failures, const struct failure_source *source, const struct job *job)
{
    const double each = source->visible_frac / source->lifetime.mean_s;
    double rate = source->scope == FAILURE_JOB && job->view.gpus > 0 ? each : 0.0;
    const int32_t first = jobs_cluster_of(job->jobs, job->view.node_type)->first_node;
    for (const struct allocation *part = job->allocation; part != NULL; part = part->next) {
        const int32_t node = first + part->node;
        if (source->scope == FAILURE_GPU) rate += each * failure_node_gpus(&failures->nodes[node]);
        if (hits_groups(source))
            rate += each * source->hit_frac * pow(1.0 - source->hit_frac, count_held(source, node) - 1);
    }
    forget_held(source, job->allocation, first);
    return rate;
}

double failures_job_mtbf_s(const struct failures *failures, const struct job *job)
{
    double rate = 0.0;
    for (int32_t i = 0; i < failures->n_sources; i++) rate += rate_of(failures, &failures->sources[i], job);
    return rate > 0.0 ? 1.0 / rate : (double)INFINITY;
}

double failures_job_restart_s(const struct failures *failures, const struct job *job)
{
    double rate = 0.0, sum = 0.0;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        const double of_source = rate_of(failures, &failures->sources[i], job);
        rate += of_source;
        sum += of_source * failures->sources[i].restart.mean_s;
    }
    return rate > 0.0 ? sum / rate : 0.0;
}

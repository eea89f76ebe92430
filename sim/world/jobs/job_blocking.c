/* Jobs that keep their GPUs after their work, until the jobs that they keep them for have started: machines of a shop
 * without buffers. A job keeps no more than it asked for. To its scheduler it has ended, and its GPUs are gone until it
 * does end. A decision that starts the last of the others frees them, so a decision of that moment follows.
 *
 * Jobs that wait for one another's GPUs would wait forever. They may exchange them: each of a cycle of waiting
 * jobs takes the very GPUs that are kept for the next one, all at one moment. A waiting job takes part if no GPUs are
 * free for it, and if the kept ones are as many as it asks for, where it can run. The cycle with the oldest job goes
 * first. The scheduler asks for it (job_plan_exchange). If it does not, they wait on, and the run ends as stalled.
 *
 * Not modelled: that kept GPUs idle; they draw the power of the work before. A job that shares its GPUs keeps none. A
 * job that a failure or a service interrupts while it keeps its GPUs loses them, and must run again to end: to its
 * scheduler it is a new job. */
#include "sim/world/jobs/job.h"
#include "sim/world/rows/priority.h"

#include <inttypes.h>
#include <stdio.h>

enum { KEPT_TOLD = 3 };

/* --- Keeping, and letting go --- */

/* Schedulers see so many GPUs less. */
static void move_kept(const struct job *job, int64_t ugpus)
{
    struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    cluster->kept_ugpus += ugpus;
    cluster->capacity_epoch++;
}

/* To the scheduler the job has ended. */
static void tell_ended(struct job *job)
{
    const struct job_view view = job->view;
    move_kept(job, job->holder.ugpus);
    job->jobs->view.n_running--;
    job->view.state = JOB_FINISHED;
    job->view.held_gpus = job->view.speed = 0.0;
    jobs_notify(job->jobs, JOB_EVENT_FINISH, job);
    job->view = view;
    jobs_request_decision(job->jobs);
}

/* The job holds no more GPUs than it asked for. Returns 0 or a negative code. */
static int give_excess_back(struct job *job)
{
    const int64_t asked = job_ugpus(job, job->view.gpus);
    if (job->holder.ugpus <= asked) return 0;
    jobs_refresh_view(job->jobs);
    const int code = job_exchange_gpus(job, asked);
    return code < 0 ? code : 0;
}

bool job_keeps(struct job *job, sim_ns now)
{
    struct job_graph *graph = &job->jobs->graph;
    struct job_place *place = job->place;
    if (place->n_keeps_for == 0 || job->view.gpus == 0 || job->mate != NULL) return false;
    if (place->is_kept) return true;
    job_progress_move(&job->progress, now);
    const int given = give_excess_back(job);
    if (job->activity != NULL) job_saver_end(job);
    if (job->activity != NULL) job_swaps_end(job);
    if (job->activity != NULL) job_traffic_end(job);
    place->is_kept = true;
    place->kept_ns = now;
    graph->n_kept++;
    tell_ended(job);
    const int code = given < 0 ? given : job_graph_end(job, now);
    if (code < 0) engine_fail(job->jobs->site->engine, code);
    return true;
}

void job_count_kept(struct job *job, sim_ns now)
{
    if (!job->place->is_kept) return;
    job->jobs->graph.kept_gpu_s += sim_s_from_ns(now - job->place->kept_ns) * gpus_of(job->holder.ugpus);
}

void job_keeps_no_more(struct job *job, sim_ns now)
{
    struct job_graph *graph = &job->jobs->graph;
    if (!job->place->is_kept) return;
    job_count_kept(job, now);
    job->place->is_kept = false;
    graph->n_kept--;
    move_kept(job, -job->holder.ugpus);
    graph->n_leaving -= job->place->n_keeps_for == 0;
}

void job_let_go(struct job_link *link)
{
    struct job *keeper = link->keeper;
    link->keeper = NULL;
    if (keeper == NULL || --keeper->place->n_keeps_for > 0 || !keeper->place->is_kept) return;
    struct engine *engine = keeper->jobs->site->engine;
    keeper->jobs->graph.n_leaving++;
    engine_arm(engine, engine_now(engine), PRIORITY_JOB_FINISH, job_on_finish, &keeper->finish);
}

/* --- Exchanging --- */

/* Whether the waiting job can take the GPUs that the other one keeps. */
static bool can_take(const struct job *job, const struct job *kept)
{
    struct jobs *jobs = job->jobs;
    const struct job_view *asks = &job->view, *has = &kept->view;
    if (!kept->place->is_kept || kept->place->heir == NULL || job_ugpus(job, asks->gpus) != kept->holder.ugpus)
        return false;
    if (asks->nodes != has->nodes || asks->request != has->request) return false;
    if (has->node_type > 0 && !jobs->scheduler->uses_node_types) return false;
    return job_view_speed_on(jobs_view_of(jobs, has->node_type), asks, asks->gpus) > 0;
}

/* Whether free GPUs would do: then it waits for its scheduler, and not for others. */
static bool finds_free(const struct job *job)
{
    struct jobs *jobs = job->jobs;
    const int32_t n = jobs_used_types(jobs);
    for (int32_t i = 0; i < n; i++)
        if (cluster_has_free(jobs_cluster_of(jobs, i), job_ugpus(job, job->view.gpus)) &&
            job_view_speed_on(jobs_view_of(jobs, i), &job->view, job->view.gpus) > 0)
            return true;
    return false;
}

/* The heir of a job is the waiting job that it keeps its GPUs for, if there is one and no other. */
static void name_heirs(struct jobs *jobs)
{
    for (struct job *job = jobs->oldest; job != NULL; job = job->next) job->place->heir = NULL;
    for (struct job *job = jobs->oldest; job != NULL; job = job->next) {
        if (job->view.state != JOB_PENDING || job_is_held(job) || finds_free(job)) continue;
        for (struct job_link *link = job->place->needs; link != NULL; link = link->next_need)
            if (link->keeper != NULL && link->keeper->place->n_keeps_for == 1) link->keeper->place->heir = job;
    }
}

/* Searches breadth first from a waiting job over those for which others keep what it can take. Returns the job that
 * keeps the last GPUs of a cycle through `from`, or NULL. Not `among_others`: only `from` itself is a cycle. */
static struct job *find_cycle(struct job *from, bool among_others)
{
    struct jobs *jobs = from->jobs;
    const uint64_t search = ++jobs->graph.n_searches;
    struct job *last = from;
    from->place->next_due = NULL;
    for (struct job *at = from; at != NULL; at = at->place->next_due)
        for (struct job *kept = jobs->oldest; kept != NULL; kept = kept->next) {
            if (!can_take(at, kept) || kept->place->searched_in == search) continue;
            struct job *heir = kept->place->heir;
            kept->place->searched_in = search;
            kept->place->reached_by = at;
            if (heir == from) return kept;
            if (heir->place->searched_in == search || !among_others) continue;
            heir->place->searched_in = search;
            heir->place->reached_by = kept;
            heir->place->next_due = NULL;
            last = last->place->next_due = heir;
        }
    return NULL;
}

/* Each job of the cycle through `from` takes what is kept for the next one; `kept` keeps its GPUs for `from`. */
static void exchange(struct jobs *jobs, struct job *from, struct job *kept, sim_ns now)
{
    struct job *taker, *next;
    for (struct job *at = kept;; at = taker->place->reached_by) {
        job_end_run(at, now);
        if ((taker = at->place->reached_by) == from) break;
    }
    for (struct job *at = kept;; at = taker->place->reached_by) {
        taker = at->place->reached_by;
        job_plan_take_over(&jobs->plan, taker, at);
        if (taker == from) break;
    }
    for (struct job *at = kept;; at = next) {
        taker = at->place->reached_by;
        next = taker->place->reached_by;
        job_end_after_plan(at);
        if (taker == from) break;
    }
}

static bool is_heir(const struct job *job)
{
    for (const struct job_link *link = job->place->needs; link != NULL; link = link->next_need)
        if (link->keeper != NULL && link->keeper->place->heir == job) return true;
    return false;
}

bool job_plan_exchange(struct job_plan *plan, bool among_others)
{
    struct jobs *jobs = plan->jobs;
    jobs->graph.exchanges = among_others ? JOBS_EXCHANGE : JOBS_TAKE_OWN;
    if (jobs->graph.n_kept == 0 || jobs->graph.n_leaving > 0 || plan->code < 0) return false;
    name_heirs(jobs);
    for (struct job *job = jobs->oldest; job != NULL; job = job->next) {
        struct job *kept = is_heir(job) ? find_cycle(job, among_others) : NULL;
        if (kept == NULL) continue;
        exchange(jobs, job, kept, jobs->view.now_ns);
        return true;
    }
    return false;
}

/* --- Deadlock --- */

bool jobs_are_stuck(struct jobs *jobs, bool wakes)
{
    enum { MOST_IDLE = 1000, MOST_LONE = 100000 };
    const bool idles = jobs->graph.n_kept > 0 && jobs->view.n_running == 0;
    jobs->n_idle_decisions = idles ? jobs->n_idle_decisions + wakes : 0;
    const bool is_lone = wakes && !engine_goes_on(jobs->site->engine); /* so no job works */
    jobs->n_lone_wakes = is_lone ? jobs->n_lone_wakes + 1 : 0;
    return jobs->n_idle_decisions > MOST_IDLE || jobs->n_lone_wakes > MOST_LONE;
}

const char *jobs_kept_hint(const struct jobs *jobs)
{
    if (jobs->graph.exchanges == JOBS_NEVER_EXCHANGE)
        return "choose the scheduler 'dispatch', which lets jobs exchange GPUs, or keep fewer";
    if (jobs->graph.exchanges == JOBS_TAKE_OWN) return "set 'jobs.scheduler.swap', which lets jobs exchange GPUs";
    return "keep fewer GPUs: jobs exchange only as many as they ask for, of a node type where they can run";
}

int64_t jobs_kept(const struct jobs *jobs, char *text, size_t n_chars)
{
    size_t n = 0, n_told = 0;
    text[0] = 0;
    if (jobs->graph.n_kept == 0) return 0;
    for (const struct job *job = jobs->oldest; job != NULL; job = job->next)
        for (const struct job_link *link = job->place->needs; link != NULL; link = link->next_need) {
            const struct job *keeper = link->keeper;
            if (keeper == NULL || !keeper->place->is_kept || n_told++ >= KEPT_TOLD || n >= n_chars) continue;
            n += (size_t)snprintf(text + n, n_chars - n, "%sjob %" PRId64 " for job %" PRId64, n > 0 ? ", " : "",
                                  keeper->view.id, job->view.id);
        }
    if (n_told > KEPT_TOLD && n < n_chars) snprintf(text + n, n_chars - n, ", ..");
    return jobs->graph.n_kept;
}

/* The trace of jobs, read whole: for what policies want to know of it before the run begins, and for `validate`, which
 * looks for jobs that can never run. */
#include "sim/world/jobs/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- What is known of the whole trace --- */

/* Reads the whole trace for the GPU time of its jobs, if the scheduler uses it. */
static int learn_sizes(struct jobs *jobs, const struct trace_format *format)
{
    const struct scheduler *scheduler = jobs->scheduler;
    struct real_list *sizes = &jobs->sizes_gpu_s;
    struct job_source *source;
    if (scheduler->wants_sizes == NULL || !scheduler->wants_sizes(jobs->scheduler_state)) return 0;
    int code = format->open_jobs(jobs->config->trace.params, &jobs->source_options, &source, jobs->site->diag);
    if (code < 0) return code;
    struct job_record record;
    while (code == 0 && (code = source->next(source, &record, jobs->site->diag)) == 1 &&
           (code = job_training_price(jobs, &record)) == 0)
        code = record.gpus > 0 ? real_list_add(sizes, job_record_run_s(&jobs->config->all_types, &record) * record.gpus)
                               : 0;
    source->close(source);
    real_list_sort(sizes);
    jobs->view.sizes_gpu_s = sizes->items;
    jobs->view.n_sizes = sizes->n;
    return code;
}

/* Reads the whole trace for the requests of its jobs, if the fragmentation metric or the placer uses them. */
static int learn_requests(struct jobs *jobs, const struct trace_format *format)
{
    const struct jobs_config *config = jobs->config;
    struct job_source *source;
    if (jobs->cluster->resources == NULL || jobs->placer == NULL) return 0;
    if (!config->fragmentation.measure && !jobs->placer->wants_tasks) return 0;
    int code = format->open_jobs(config->trace.params, &jobs->source_options, &source, jobs->site->diag);
    if (code < 0) return code;
    struct resource_requests *requests = &jobs->requests;
    code = resource_requests_learn(requests, source, jobs->cluster->models, config->fragmentation.cover_frac,
                                   jobs->site->diag);
    source->close(source);
    struct cluster *cluster = jobs->cluster;
    for (int32_t i = 0; code == 0 && i < jobs->n_node_types; i++, cluster = cluster->next) {
        struct cluster_view *view = jobs_view_of(jobs, i);
        view->tasks = requests->tasks;
        view->n_tasks = requests->n_tasks;
        code = cluster_measure(cluster, 0, requests->tasks, requests->n_tasks);
    }
    return code;
}

int jobs_learn_trace(struct jobs *jobs, const struct trace_format *format)
{
    const int code = learn_requests(jobs, format);
    return code < 0 ? code : learn_sizes(jobs, format);
}

/* --- Jobs that can never run --- */

/* Of the jobs of a trace, those that can never run. */
struct hopeless {
    int64_t n_jobs, n;
    int64_t first; /* its id */
    char why[DIAG_TEXT_CHARS - 80];
};

/* Looks at the record as submit() does, but for rentals and the jobs that it comes after. */
static int check_record(struct jobs *jobs, struct job *job, struct hopeless *hopeless)
{
    const struct job_record *record = &jobs->record;
    if (jobs->trainings != NULL || record->steps != 0) {
        const int code = job_training_price(jobs, &jobs->record);
        if (code != 0) return code;
    }
    memset(job, 0, sizeof *job);
    job->jobs = jobs;
    job->type = job_type_find(&jobs->config->all_types, record->type);
    job->holder.cluster = jobs->cluster;
    job->place_speed = job->holder.speed_frac = job->holder.slow_frac = 1.0;
    job->view.id = record->id;
    job->view.gpus = record->gpus;
    job->view.nodes = record->nodes;
    job->view.type = record->type != NULL ? record->type : "";
    job->view.group = record->group != NULL ? record->group : "";
    job->view.request = jobs_request_index(jobs);
    hopeless->n_jobs++;
    if (job->view.request < 0) return SIM_E_NOMEM;
    if (!job_needs_node(job) || jobs_can_run(jobs, job)) return 0;
    if (hopeless->n++ > 0) return 0;
    hopeless->first = record->id;
    job_obstacle_text(job, job_never_fits, hopeless->why, sizeof hopeless->why);
    return 0;
}

static void warn_of_hopeless(const struct jobs *jobs, const struct hopeless *hopeless)
{
    if (hopeless->n == 0) return;
    if (hopeless->n_jobs == hopeless->n)
        diag_warning(jobs->site->diag, jobs_record_where(jobs, hopeless->first), NULL,
                     "no job can ever run; job %" PRId64 " %s", hopeless->first, hopeless->why);
    else
        diag_warning(jobs->site->diag, jobs_record_where(jobs, hopeless->first), NULL,
                     "%" PRId64 " of %" PRId64 " jobs can never run; job %" PRId64 " %s", hopeless->n, hopeless->n_jobs,
                     hopeless->first, hopeless->why);
}

const char *jobs_record_where(const struct jobs *jobs, int64_t id)
{
    char path[64];
    snprintf(path, sizeof path, "jobs.trace.jobs.%" PRId64, id);
    return jobs->site->config != NULL ? config_where(jobs->site->config, path) : "jobs";
}

int jobs_read_through(void *self, sim_ns until_ns)
{
    struct jobs *jobs = self;
    struct diag *diag = jobs->site->diag;
    struct job *job = pool_take(&jobs->pool);
    struct hopeless hopeless = {.n_jobs = 0};
    int first = job != NULL ? 0 : SIM_E_NOMEM;
    for (bool more = first == 0; more;) {
        int code = jobs->source->next(jobs->source, &jobs->record, diag);
        more = code == 1 || code == SIM_E_DATA;
        if (code == 1 && jobs->record.submit_ns > until_ns) break;
        if (code == 1) code = check_record(jobs, job, &hopeless);
        if (code < 0 && first == 0) first = code;
        if (code == SIM_E_NOMEM || (diag != NULL && diag->n_errors >= DIAG_MAX_ITEMS)) more = false;
    }
    warn_of_hopeless(jobs, &hopeless);
    if (job != NULL) pool_give(&jobs->pool, job);
    return first;
}

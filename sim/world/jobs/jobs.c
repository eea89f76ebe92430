#include "sim/world/jobs/jobs.h"

#include "sim/core/check.h"
#include "sim/world/jobs/job.h"
#include "sim/world/policy/instance.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <string.h>

#define ROW_OF struct restart_config
static const struct config_field restart_fields[] = {
    ROW_TIME("start", start_ns, DEFAULT("0s"), AT_LEAST(0), "delay of a job that starts for the first time"),
    ROW_TIME("resume", resume_ns, DEFAULT("0s"), AT_LEAST(0), "delay of a job that resumes after a preemption or failure"),
    ROW_QUANTITY("resume_multi_node", resume_multi_node_s, UNIT_TIME, OPTIONAL, WITHIN(0, 9e9),
                 "delay of a job that resumes with more GPUs than a node has; default: as resume"),
    ROW_QUANTITY("migrate", migrate_s, UNIT_TIME, OPTIONAL, WITHIN(0, 9e9),
                 "delay of a running job that moves to other nodes; default: as resume"),
    {0}};
#undef ROW_OF

static const char *const yield_names[] = {"latest-start", "least-work", NULL};

#define ROW_OF struct network_penalty
static const struct config_field network_penalty_fields[] = {
    ROW_REAL("nodes", nodes_frac, DEFAULT("0"), WITHIN(0, 1),
             "share of its speed that a job loses on several nodes of one rack"),
    ROW_REAL("racks", racks_frac, DEFAULT("0"), WITHIN(0, 1), "share of its speed that a job loses on several racks"),
    {0}};
#undef ROW_OF

#define ROW_OF struct fragmentation_config
static const struct config_field fragmentation_fields[] = {
    ROW_BOOL("measure", measure, DEFAULT("false"),
             "report cluster.frag_*; the trace is read once before the run for its mix of jobs"),
    ROW_REAL("cover", cover_frac, DEFAULT("0.95"), WITHIN(0, 1),
             "share of the jobs that the mix covers, most frequent kinds first"),
    {0}};
#undef ROW_OF

#define ROW_OF struct jobs_config
const struct config_field jobs_config_fields[] = {
    ROW_SHORT_VARIANT("scheduler", scheduler, DEFAULT("fifo"), "scheduler", "policy", "which jobs run"),
    ROW_SHORT_VARIANT("placement", placement, DEFAULT("consolidated"), "placement", "policy", "on which GPUs a job runs"),
    ROW_VARIANT("trace", trace, REQUIRED, "job-trace", "format", "source of the jobs"),
    ROW_VARIANT("profiles", profiles, OPTIONAL, "job-profile", "format",
                "file of measured speeds, whose types of jobs are added to 'types'"),
    ROW_MAP("types", types, OPTIONAL, ANY, struct job_type, job_type_config_fields,
            "job types, by their name in the trace; \"default\" for all others"),
    ROW_SECTION("restart", restart, FILLED, restart_fields, "time for which a job holds its GPUs before it computes"),
    ROW_SECTION("estimates", estimates, FILLED, estimates_config_fields, "run times that users estimate for their jobs"),
    ROW_SECTION("deadlines", deadlines, OPTIONAL, deadlines_config_fields, "deadlines of jobs; default: they have none"),
    ROW_REAL("loss_noise", loss_noise, DEFAULT("0"), WITHIN(0, 1e9), "standard deviation of a trial's loss as it begins"),
    ROW_TIME("round", round_ns, DEFAULT("0s"), AT_LEAST(0),
             "the scheduler decides at multiples of this time only; 0s: at every change"),
    ROW_BOOL("preemptible", preemptible, DEFAULT("false"),
             "running jobs yield to services that find no free GPUs"),
    ROW_CHOICE(
        "yield", yield, DEFAULT("latest-start"), yield_names,
        "first to yield among jobs of one priority: the job that got its GPUs last, or the one with the least GPU time so far"),
    ROW_SECTION("network_penalty", network_penalty, FILLED, network_penalty_fields,
                "loss of speed of jobs on distant GPUs"),
    ROW_SECTION("fragmentation", fragmentation, FILLED, fragmentation_fields,
                "fragmentation: free GPUs that jobs cannot use, for placement and as a metric"),
    {0}};
#undef ROW_OF

static void notify(struct jobs *jobs, const struct job_note *note)
{
    jobs_refresh_view(jobs);
    jobs->scheduler->notify(jobs->scheduler_state, &jobs->view, note);
}

void jobs_notify(struct jobs *jobs, enum job_event event, const struct job *job)
{
    if (event >= JOB_EVENT_RESIZE && !jobs->scheduler->wants_speed_events) return;
    notify(jobs, &(struct job_note){.event = event, .job = &job->view});
}

void jobs_notify_forced(struct jobs *jobs, const struct job *job)
{
    notify(jobs, &(struct job_note){.event = JOB_EVENT_PREEMPT, .job = &job->view, .forced = true});
}

static void on_decide(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct jobs *jobs = OWNER_ENTITY(owner, struct jobs, decide);
    active_jobs_move(jobs, now);
    jobs->decision_due = false;
    engine_disarm(engine, &jobs->wake);
    jobs_refresh_view(jobs);
    const struct sink *sink = jobs->site->sink;
    int code = sink->queue != NULL ? jobs_emit_queue(jobs, NULL, now) : 0;
    if (code == 0 && sink->seen != NULL) code = jobs_emit_seen(jobs, now);
    job_plan_begin(jobs);
    const int decided = code == 0 ? jobs->scheduler->decide(jobs->scheduler_state, &jobs->view, &jobs->plan) : 0;
    int fault = job_plan_end(jobs);
    if (decided < 0 && jobs->scheduler != jobs->config->scheduler.entry) /* the market's: codes of the world */
        code = decided;
    else if (decided < 0 && fault == 0)
        code = policy_failed(&jobs->scheduler->policy, "decide", decided, now, jobs->site->diag);
    if (code < 0 || fault < 0) engine_fail(engine, fault < 0 ? fault : code);
}

/* The end of the round that `now` is in. */
static sim_ns round_end_ns(sim_ns round_ns, sim_ns now)
{
    const sim_ns past_ns = round_ns > 0 ? now % round_ns : 0;
    return past_ns == 0 ? now : sim_ns_add(now - past_ns, round_ns);
}

void jobs_request_decision(struct jobs *jobs)
{
    if (jobs->decision_due) return;
    jobs->decision_due = true;
    const sim_ns time_ns = round_end_ns(jobs->config->round_ns, engine_now(jobs->site->engine));
    engine_schedule(jobs->site->engine, time_ns, PRIORITY_JOB_DECIDE, on_decide, &jobs->decide);
}

void jobs_on_wake(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine, (void)now;
    jobs_request_decision(OWNER_ENTITY(owner, struct jobs, wake));
}

static void leave(struct jobs *jobs, struct job *job)
{
    *(job->prev != NULL ? &job->prev->next : &jobs->oldest) = job->next;
    *(job->next != NULL ? &job->next->prev : &jobs->youngest) = job->prev;
    cluster_forget(jobs_cluster_of(jobs, job->view.node_type), job->holder.held);
    holders_leave(&jobs->cluster->holders, &job->holder, job->view.state == JOB_FINISHED);
    if (job->place != NULL) job_graph_leave(job);
    if (job->activity != NULL) job_activity_destroy(job);
    if (jobs->losses.traced.n > 0) job_loss_forget(job);
    if (jobs_done(jobs)) holders_end(&jobs->cluster->holders, &jobs->tenant);
    job_give_back(job);
}

void job_end_run(struct job *job, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    const bool was_kept = job_is_kept(job);
    job_prefetch(job);
    const int code = job_emit_placement(job, now);
    if (code < 0) engine_fail(jobs->site->engine, code);
    active_jobs_move(jobs, now);
    job_stop(job, now);
    SIM_REQUIRE(job->is_stopped || job->progress.done_ns == job->progress.work_ns);
    job->view.state = JOB_FINISHED;
    if (!job_needs_node(job)) return;
    if (!was_kept) {
        jobs->view.n_running--;
        jobs_notify(jobs, JOB_EVENT_FINISH, job);
    }
    if (job->mate != NULL) job_group_leave(job, now);
    jobs_request_decision(jobs);
}

void job_end(struct job *job, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    struct engine *engine = jobs->site->engine;
    int code = job_emit_finish(job, now);
    if (code == 0) code = job_stats_finish(&jobs->stats, job, now);
    if (code < 0) engine_fail(engine, code);
    engine_progress(engine);
    code = job->place != NULL ? job_graph_end(job, now) : 0;
    if (code < 0) engine_fail(engine, code);
    leave(jobs, job);
}

void job_on_finish(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job *job = OWNER_ENTITY(owner, struct job, finish);
    (void)engine;
    if (job->place != NULL && job_keeps(job, now)) return;
    job_end_run(job, now);
    job_end(job, now);
}

static void append(struct jobs *jobs, struct job *job)
{
    job->prev = jobs->youngest;
    *(job->prev != NULL ? &job->prev->next : &jobs->oldest) = job;
    jobs->youngest = job;
}

/* The job of the next record, at the end of the list. */
static struct job *enter(struct jobs *jobs)
{
    struct job *job = job_take(jobs);
    if (job == NULL) return NULL;
    const struct job_record *record = &jobs->record;
    const struct job_type *type = job_type_find(&jobs->config->all_types, record->type);
    job_types_see(&jobs->types_seen, &jobs->config->types, record->type);
    const sim_ns estimate_ns = estimate_of(&jobs->config->estimates, record, &jobs->estimates);
    const sim_ns deadline_ns = deadline_of(&jobs->config->deadlines, record, &jobs->deadlines);
    const sim_ns work_ns = job_type_run_ns(type, record->duration_ns);
    const int32_t request = jobs_request_index(jobs);
    job->view.id = record->id;
    job->view.submit_ns = record->submit_ns;
    job->view.estimate_ns = estimate_ns;
    job->view.gpus = record->gpus;
    job->view.nodes = record->nodes;
    job->view.state = JOB_PENDING;
    job->view.type = record->type != NULL ? record->type : "";
    job->view.request = request;
    job->view.deadline_ns = deadline_ns;
    job->view.group = record->group != NULL ? record->group : "";
    job->user = record->user != NULL ? record->user : "";
    job->jobs = jobs;
    job->type = type;
    job->first_start_ns = -1;
    job->place_speed = 1.0;
    job->progress.work_ns = work_ns;
    job->holder.speed_frac = job->holder.slow_frac = 1.0;
    job->holder.cluster = jobs->cluster;
    job->holder.tenant = &jobs->tenant;
    job->holder.ops = &job_holder_ops;
    job->holder.number = (uint64_t)jobs->stats.n_submitted;
    job->holder.draw = job_typed_draw(job);
    job->active_before_ns = jobs->active.job_ns;
    job->status = record->status;
    owner_init_passing(&job->finish, OWNER_ID_JOBS, job_number(job));
    jobs->stats.n_estimated += estimate_ns != record->duration_ns;
    jobs->stats.n_short_estimates += estimate_ns < record->duration_ns / 2;
    append(jobs, job);
    return job;
}

static int reject_alone(struct job *job, const char *obstacle, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    job->view.state = JOB_REJECTED;
    int code = job_emit_reject(job, obstacle, now);
    if (code == 0) code = job_stats_reject(&jobs->stats, job, obstacle, now);
    leave(jobs, job);
    return code;
}

static int reject(struct job *job, const char *obstacle, sim_ns now)
{
    const int code = job_graph_reject(job, now);
    const int rejected = reject_alone(job, obstacle, now);
    return code < 0 ? code : rejected;
}

static const char follows_rejected[] = "comes after a rejected job, and asked for";

int jobs_reject_held(struct job *job, sim_ns now)
{
    return reject_alone(job, follows_rejected, now);
}

void jobs_make_known(struct job *job)
{
    struct jobs *jobs = job->jobs;
    memset(job_view_slot(&job->view), 0, jobs->scheduler->job_bytes);
    job->view.sequence = jobs->n_known++;
    jobs_notify(jobs, JOB_EVENT_SUBMIT, job);
}

int jobs_admit(struct job *job, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    job->view.sequence = jobs->n_known++;
    if (!job_needs_node(job)) {
        job_run(job, now, 0);
        return 0;
    }
    const int code = jobs->site->sink->queue != NULL ? jobs_emit_queue(jobs, job, now) : 0;
    if (code != 0) return code;
    jobs->view.n_pending++;
    jobs->obstacle = NULL;
    jobs_notify(jobs, JOB_EVENT_SUBMIT, job);
    jobs_request_decision(jobs);
    if (jobs->obstacle == NULL) return 0;
    jobs->view.n_pending--;
    return reject(job, jobs->obstacle, now);
}

static int submit(struct jobs *jobs, sim_ns now)
{
    struct job *job = enter(jobs);
    const char *obstacle = NULL; /* why it can never run */
    if (job == NULL) return SIM_E_NOMEM;
    job_stats_submit(&jobs->stats, job);
    if (job->view.request < 0 || job_activity_create(job) != 0) return SIM_E_NOMEM;
    if (jobs->record.has_loss && job_loss_trace(job, jobs->record.loss) != 0) return SIM_E_NOMEM;
    if (jobs->graph.is_used || jobs->record.n_needs > 0) {
        if (job_graph_enter(job, &jobs->record) != 0) return SIM_E_NOMEM;
        if (job_graph_is_void(jobs, &jobs->record)) obstacle = follows_rejected;
    }
    if (job_needs_node(job) && !jobs_can_run(jobs, job)) obstacle = job_never_fits;
    if (obstacle != NULL) return reject(job, obstacle, now);
    return job_is_held(job) ? 0 : jobs_admit(job, now);
}

/* Reads the next record. Returns 0 or a negative code. An interrupt is the end of the trace: the engine reports it. */
static int pull(struct jobs *jobs)
{
    sim_ns before_ns = jobs->record.submit_ns;
    int found = jobs->source->next(jobs->source, &jobs->record, jobs->site->diag);
    if (found == SIM_E_INTERRUPTED) found = 0;
    if (found < 0) return found;
    jobs->dry = found == 0;
    if (!jobs->dry && (jobs->trainings != NULL || jobs->record.steps != 0)) {
        const int code = job_training_price(jobs, &jobs->record);
        if (code < 0) return code;
    }
    const struct job_record *record = &jobs->record;
    SIM_REQUIRE(jobs->dry || (record->submit_ns >= before_ns && record->duration_ns >= 0 && record->gpus >= 0));
    return 0;
}

static void on_submit(struct engine *engine, struct owner *owner, sim_ns now);

/* After a record has been read, or the trace has ended. */
static void await_next(struct jobs *jobs)
{
    if (!jobs->dry)
        engine_schedule(jobs->site->engine, jobs->record.submit_ns, PRIORITY_JOB_SUBMIT, on_submit, &jobs->submit);
    else if (jobs_done(jobs))
        holders_end(&jobs->cluster->holders, &jobs->tenant);
}

static void on_submit(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct jobs *jobs = OWNER_ENTITY(owner, struct jobs, submit);
    int code = 0;
    active_jobs_move(jobs, now);
    while (code == 0 && !jobs->dry && jobs->record.submit_ns == now) {
        code = submit(jobs, now);
        if (code == 0) code = pull(jobs);
    }
    engine_progress(engine);
    if (code < 0)
        engine_fail(engine, code);
    else
        await_next(jobs);
}

static int make_policies(struct jobs *jobs, const struct jobs_config *config, const struct jobs_options *options)
{
    const struct placer *placer = config->placement.entry;
    const bool rents = options->renting != NULL;
    jobs->scheduler = rents ? options->renting : config->scheduler.entry;
    job_pools_init(jobs);
    int code = policy_state_create(&jobs->scheduler->policy, POLICY_SCHEDULER, sizeof *jobs->scheduler,
                                   rents ? options->renting_params : config->scheduler.params, &jobs->scheduler_state,
                                   jobs->site->diag);
    if (code < 0 || placer->place == NULL || jobs->cluster->n_nodes == 0) return code;
    jobs->placer = placer;
    if (placer->by_node) code = cluster_track_resources(jobs->cluster);
    if (code == SIM_E_CONFIG)
        diag_error(jobs->site->diag, code, "jobs", "choose a placer that counts GPUs per node",
                   "placer '%s' looks at nodes one by one, but nodes have more than %d GPUs", placer->policy.name,
                   NODE_LIST_MAX_GPUS);
    return code;
}

/* A placer for each node type. */
static int make_placers(struct jobs *jobs)
{
    const struct placer *placer = jobs->placer;
    int code = 0;
    if (placer == NULL) return 0;
    jobs->placer_states = mem_zalloc((size_t)jobs->n_node_types, sizeof *jobs->placer_states);
    if (jobs->placer_states == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < jobs->n_node_types && code == 0; i++)
        code = policy_state_create(&placer->policy, POLICY_PLACEMENT, sizeof *placer, jobs->config->placement.params,
                                   &jobs->placer_states[i], jobs->site->diag);
    return code;
}

static int open_trace(struct jobs *jobs, const struct jobs_config *config)
{
    const struct trace_format *format = config->trace.entry;
    jobs->source_options = (struct source_options){
        .seed = jobs->site->seed, .run = jobs->site->run, .stream = "jobs",
        .where = config_where(jobs->site->config, "jobs.trace"), .interrupt = jobs->site->interrupt};
    return format->open_jobs(config->trace.params, &jobs->source_options, &jobs->source, jobs->site->diag);
}

/* Shows the scheduler its cluster. */
static int prepare(struct jobs *jobs)
{
    job_sharing_check(jobs);
    if (jobs->scheduler->prepare == NULL) return 0;
    jobs_refresh_view(jobs);
    const int n_errors = jobs->site->diag != NULL ? jobs->site->diag->n_errors : 0;
    return policy_answered(&jobs->scheduler->policy, "prepare",
                           jobs->scheduler->prepare(jobs->scheduler_state, &jobs->view, jobs->site->diag), n_errors,
                           jobs->site->diag);
}

int jobs_create(struct site_env *site, struct cluster *cluster, const struct jobs_config *config,
                const struct jobs_options *options, struct jobs **out)
{
    struct jobs *jobs = mem_zalloc(1, sizeof *jobs);
    if (jobs == NULL) return SIM_E_NOMEM;
    jobs->site = site;
    jobs->cluster = cluster;
    jobs->config = config;
    jobs->tenant = (struct tenant){.ops = &jobs_tenant_ops, .awaits_nodes = true};
    holders_enter(&cluster->holders, &jobs->tenant);
    resource_requests_init(&jobs->requests);
    job_graph_init(&jobs->graph);
    job_losses_init(&jobs->losses, config);
    rng_init(&jobs->random, site->seed, site->run, "placement", 0);
    rng_init(&jobs->estimates, site->seed, site->run, "jobs.estimates", 0);
    rng_init(&jobs->deadlines, site->seed, site->run, "jobs.deadlines", 0);
    owner_init(&jobs->submit, site_env_owner_ids(site, 1));
    owner_init(&jobs->decide, site_env_owner_ids(site, 1));
    owner_init(&jobs->wake, site_env_owner_ids(site, 1));
    int code = job_stats_init(&jobs->stats, site->sink, site->warmup_ns);
    if (code == 0) code = job_types_seen_init(&jobs->types_seen, &config->types, &config->all_types);
    if (code == 0) code = job_types_check(&config->all_types, "jobs", site->diag);
    if (code == 0) code = job_types_check_gpus(&config->types, site, cluster);
    if (code == 0) code = deadlines_check(&config->deadlines, site->diag);
    if (code == 0) code = job_draws_create(jobs);
    if (code == 0) code = job_checkpoints_create(jobs);
    if (code == 0) code = make_policies(jobs, config, options);
    if (code == 0) code = jobs_make_views(jobs);
    if (code == 0) code = job_trainings_create(jobs, options, &jobs->trainings);
    if (code == 0) code = goodput_cache_init(&jobs->goodputs, jobs);
    if (code == 0) code = make_placers(jobs);
    if (code == 0) code = jobs_check_hosts(jobs);
    jobs->topology = options->topology;
    if (code == 0) code = job_traffic_create(jobs, options->topology);
    if (code == 0) code = job_swaps_create(jobs);
    if (code == 0) code = job_savers_check(jobs, options->topology);
    if (code == 0) code = job_readers_create(jobs);
    if (code == 0) code = prepare(jobs);
    for (int32_t i = 0; code == 0 && i < jobs->n_node_types; i++)
        jobs_cluster_of(jobs, i)->is_placed = jobs->placer != NULL;
    if (code == 0) code = open_trace(jobs, config);
    if (code == 0) code = jobs_learn_trace(jobs, config->trace.entry);
    if (code < 0) {
        jobs_destroy(jobs);
        return code;
    }
    *out = jobs;
    return 0;
}

void jobs_destroy(struct jobs *jobs)
{
    if (jobs == NULL) return;
    if (jobs->source != NULL) jobs->source->close(jobs->source);
    if (jobs->scheduler != NULL) policy_state_destroy(&jobs->scheduler->policy, jobs->scheduler_state);
    for (int32_t i = 0; jobs->placer_states != NULL && i < jobs->n_node_types; i++)
        policy_state_destroy(&jobs->placer->policy, jobs->placer_states[i]);
    mem_free((void *)jobs->placer_states);
    for (struct job *job = jobs->oldest; job != NULL; job = job->next)
        cluster_forget(jobs_cluster_of(jobs, job->view.node_type), job->holder.held);
    for (struct job *job = jobs->oldest; job != NULL; job = job->next)
        if (job->activity != NULL) job_activity_forget(job);
    job_swaps_destroy(jobs);
    job_traffic_destroy(jobs);
    job_readers_destroy(jobs);
    job_checkpoints_destroy(jobs);
    job_trainings_destroy(jobs->trainings);
    mem_free(jobs->draws);
    job_graph_fini(&jobs->graph);
    job_losses_fini(&jobs->losses);
    mem_free((void *)jobs->ended);
    mem_free(jobs->next_views);
    resource_requests_fini(&jobs->requests);
    real_list_fini(&jobs->sizes_gpu_s);
    goodput_cache_fini(&jobs->goodputs);
    pool_fini(&jobs->pool);
    pool_fini(&jobs->slots);
    pool_fini(&jobs->activities);
    job_stats_fini(&jobs->stats);
    job_types_seen_fini(&jobs->types_seen);
    mem_free(jobs->plan.actions);
    mem_free(jobs->placement.nodes);
    mem_free(jobs->placement.gpus);
    mem_free(jobs);
}

int jobs_start(struct jobs *jobs)
{
    int code = pull(jobs);
    if (code == 0) await_next(jobs);
    return code;
}

int jobs_finish(struct jobs *jobs)
{
    int code = jobs_emit_notes(jobs);
    if (code == 0) code = job_trainings_warn(jobs);
    if (code == 0) code = job_savers_warn(jobs);
    if (code == 0) code = job_checkpoints_warn(jobs);
    if (code == 0) code = job_plan_emit_warnings(jobs);
    sim_ns now = engine_now(jobs->site->engine);
    for (struct job *job = jobs->oldest; code == 0 && job != NULL; job = job->next) {
        code = job_emit_placement(job, now);
        if (job->place != NULL) job_count_kept(job, now);
        if (job->view.state == JOB_RUNNING) job_progress_move(&job->progress, now);
        if (job->activity != NULL) job_activity_end(job);
        job_stats_idle(&jobs->stats, job);
        if (code == 0) code = job_stats_unfinished(&jobs->stats, job, now);
    }
    active_jobs_move(jobs, now);
    if (code == 0) code = job_stats_emit(&jobs->stats, jobs, now);
    if (code == 0) code = job_traffic_emit(jobs);
    if (code == 0) code = job_swaps_emit(jobs);
    return code < 0 ? code : job_readers_emit(jobs);
}

int64_t jobs_waiting(const struct jobs *jobs)
{
    return jobs->view.n_pending;
}

int64_t jobs_running(const struct jobs *jobs)
{
    return jobs->view.n_running + jobs->graph.n_kept;
}

int64_t jobs_held(const struct jobs *jobs)
{
    return jobs->graph.n_held;
}

int64_t jobs_finished(const struct jobs *jobs)
{
    return jobs->stats.n_ended;
}

bool jobs_done(const struct jobs *jobs)
{
    return jobs->dry && jobs->oldest == NULL;
}

const char *jobs_absent_type(const struct jobs *jobs, size_t *at)
{
    const struct config_list *types = &jobs->config->types;
    const struct job_type *items = types->items;
    while (*at < types->n && jobs->dry && jobs->stats.n_submitted > 0) {
        const size_t i = (*at)++;
        if (!jobs->types_seen.has_occurred[i] && !job_type_may_occur(jobs->config->trace.entry, items[i].name))
            return items[i].name;
    }
    return NULL;
}

size_t jobs_unnamed_types(const struct jobs *jobs, const char *const **names)
{
    *names = jobs->types_seen.unnamed;
    return jobs->types_seen.n_unnamed;
}

struct source_place jobs_place(const struct jobs *jobs)
{
    return jobs->source->place(jobs->source);
}

/* --- As a component --- */

static int start(void *self)
{
    return jobs_start(self);
}

static int list_series(void *self, struct sampler_series *series)
{
    (void)self;
    if (series != NULL) {
        series[0] = (struct sampler_series){"job.pending", ""};
        series[1] = (struct sampler_series){"job.running", ""};
    }
    return 2;
}

static void sample(void *self, sim_ns at, double *values)
{
    (void)at;
    values[0] = (double)jobs_waiting(self);
    values[1] = (double)jobs_running(self);
}

static int finish(void *self, sim_ns now)
{
    (void)now;
    return jobs_finish(self);
}

static void destroy(void *self)
{
    jobs_destroy(self);
}

const struct component jobs_component = {
    .name = "jobs", .read_through = jobs_read_through, .start = start, .check = jobs_check_held, .series = list_series, .sample = sample,
    .finish = finish, .destroy = destroy};

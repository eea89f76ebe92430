#include "sim/world/jobs/job_reader.h"

#include "sim/world/jobs/job.h"
#include "sim/world/links/topology.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>
#include <utlist.h>

/* --- Configuration --- */

#define ROW_OF struct data_config
const struct config_field data_config_fields[] = {
    ROW_TEXT("from", from, REQUIRED, ANY, "the storage: an entry of cluster.storage behind the network"),
    ROW_QUANTITY("step_bytes", step_bytes, UNIT_BYTES, OPTIONAL, POSITIVE,
                 "bytes that each step reads, all GPUs together"),
    ROW_QUANTITY("sample_bytes", sample_bytes, UNIT_BYTES, OPTIONAL, POSITIVE,
                 "bytes of a sequence, in place of 'step_bytes': steps read the batch of the 'training' plan"),
    ROW_QUANTITY("step_time", step_s, UNIT_TIME, OPTIONAL, WITHIN(1e-6, 1e6),
                 "time of a step on the GPUs that a job asks for; default: that of its 'training' or 'step'"),
    ROW_INT("prefetch", prefetch_steps, DEFAULT("2"), WITHIN(1, 1e6),
            "steps that loaders read ahead: in PyTorch, workers times prefetch_factor"),
    ROW_QUANTITY(
        "node_read", node_read_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
        "most that the loaders of a job on a node read, such as what its CPUs decode; default: what its NICs carry"),
    {0}};
#undef ROW_OF

struct reader_flow {
    struct link_flow claim;
    struct job_reader *reader;
    double part_frac;        /* of what the job reads: that of the GPUs it reads for */
    double most_bytes_per_s; /* of the loaders of its node, its part */
};

struct job_reader {
    struct job *job;
    int32_t n_flows, n_parts;     /* n_parts: flows of a whole run */
    struct reader_flow *flows;    /* [n_parts] */
    double gpus, widest_gpus;     /* that all flows read for, and the one that reads for most */
    double step_bytes, step_s;    /* step_s: of work */
    double need_bytes_per_s;      /* at full speed in an idle network, all flows together; 0: its speed is 0 */
    double ahead_bytes;           /* read, and not worked off */
    double rate_bytes_per_s;      /* of all flows, by the least grant */
    double read_bytes;            /* since it began */
    bool fills;                   /* asks for more than it needs */
    bool is_short;                /* some grant is less than it needs */
    bool is_stale;
    struct job_reader *before_stale, *next_stale;
    sim_ns filled_ns;             /* when it last ceased to fill its buffer; -1: never */
    sim_ns moved_ns, done_ns;     /* up to when the bytes are counted; work done by then */
    sim_ns counted_ns;            /* up to when its GPU time is counted */
    double waits_frac;            /* of its time since then, for data */
    double held_gpus;
};

struct job_readers {
    struct owner settle;
    struct job_reader *stale; /* whose grants have changed at this moment */
    struct gpu_time_share waits; /* of jobs that read: for data */
};

static bool is_given(const struct job_type *type)
{
    return type->data.from != NULL;
}

static int refuse(const struct jobs *jobs, const struct job_type *type, const char *key, const char *hint,
                  const char *text)
{
    char where[DIAG_WHERE_CHARS];
    snprintf(where, sizeof where, "jobs.types.%s.%s", type->name, key);
    return diag_error(jobs->site->diag, SIM_E_CONFIG, config_where(jobs->site->config, where), hint,
                      "data of jobs of type '%s' %s", type->name, text);
}

static int check_type(const struct jobs *jobs, const struct job_type *type)
{
    const struct data_config *data = &type->data;
    const bool trains = type->training.plan.llm != NULL, states_steps = type->step.collectives.n > 0;
    if (isnan(data->step_bytes) == isnan(data->sample_bytes))
        return refuse(jobs, type, "data", "for example \"step_bytes\": \"2GB\"",
                      "need 'step_bytes' or 'sample_bytes', one of the two");
    if (!isnan(data->sample_bytes) && !trains)
        return refuse(jobs, type, "data.sample_bytes", "give 'step_bytes'",
                      "count samples, and no 'training' plan says how many a step has");
    if (isnan(data->step_s) && !trains && !states_steps)
        return refuse(
            jobs, type, "data", "for example \"step_time\": \"300ms\"",
            "are read step by step, and neither 'step_time' nor 'training' nor 'step' says how long steps take");
    if (!isnan(data->step_s) && (trains || states_steps))
        return refuse(jobs, type, "data.step_time", "leave it out",
                      "have a 'step_time', which follows from 'training' or 'step'");
    if (goodput_is_given(&type->goodput) || type->regimes.n > 0)
        return refuse(jobs, type, "data", "describe the jobs by 'speedup' and 'speeds', or by 'training'",
                      "are read by steps of one batch size, and 'goodput' or 'regimes' changes it");
    return 0;
}

int job_readers_create(struct jobs *jobs)
{
    bool any = false;
    int code = 0;
    for (size_t i = 0; i < jobs->config->all_types.n && code == 0; i++) {
        if (!is_given(jobs_type(jobs, i))) continue;
        any = true;
        code = check_type(jobs, jobs_type(jobs, i));
    }
    if (!any || code != 0) return code;
    jobs->readers = mem_zalloc(1, sizeof *jobs->readers);
    if (jobs->readers == NULL) return SIM_E_NOMEM;
    owner_init(&jobs->readers->settle, site_env_owner_ids(jobs->site, 1));
    return 0;
}

void job_readers_destroy(struct jobs *jobs)
{
    mem_free(jobs->readers);
}

bool job_reads(const struct job *job)
{
    return job->jobs->readers != NULL && job->type != NULL && is_given(job->type) && job->view.gpus > 0;
}

static double step_s_of(const struct job *job)
{
    const struct job_type *type = job->type;
    if (!isnan(type->data.step_s)) return type->data.step_s;
    if (type->training.plan.llm != NULL) return job_training_asked_s(job->jobs, type, (double)job->view.gpus);
    return job_traffic_ideal_s(job);
}

static double step_bytes_of(const struct job *job)
{
    const struct data_config *data = &job->type->data;
    if (!isnan(data->step_bytes)) return data->step_bytes;
    const struct job_training_facts *facts = NULL;
    for (int32_t i = 0; i < job->jobs->n_node_types && facts == NULL; i++)
        facts = job_training_facts(job->jobs, job->type, i, (double)job->view.gpus);
    return facts != NULL ? data->sample_bytes * facts->sequences : 0.0;
}

/* --- The fluid --- */

/* Bytes within which the buffer counts as empty or full: what rounding to ns moves. Work is rounded to ns at speed 1,
 * however slow the job is. */
static double slack_bytes(const struct job_reader *reader)
{
    const double full_bytes_per_s = reader->step_bytes / reader->step_s;
    return 1e-9 * reader->step_bytes + 2e-9 * full_bytes_per_s +
           4e-9 * fmax(reader->need_bytes_per_s, reader->rate_bytes_per_s);
}

static double buffer_bytes(const struct job_reader *reader)
{
    return (double)reader->job->type->data.prefetch_steps * reader->step_bytes;
}

static bool is_empty(const struct job_reader *reader)
{
    return reader->ahead_bytes <= slack_bytes(reader);
}

/* Bytes worked off per second at the present speed. */
static double used_bytes_per_s(const struct job_reader *reader, sim_ns now)
{
    const struct job_progress *progress = &reader->job->progress;
    if (job_waits(reader->job, now) || job_progress_stalls(progress, now)) return 0.0;
    return progress->speed * reader->step_bytes / reader->step_s;
}

/* What it needs at full speed. If it sends data, its steps take the time of an idle network: with that of the present
 * network, what it reads and what it sends would slow each other in turns. */
static double need_of(const struct job_reader *reader)
{
    const double speed = job_full_speed(reader->job) / job_traffic_speed(reader->job);
    return speed * reader->step_bytes / reader->step_s;
}

/* Counts the GPU time since the last call. */
static void count_time(struct job_reader *reader, sim_ns now)
{
    gpu_time_share_count(&reader->job->jobs->readers->waits, &reader->counted_ns, now, reader->held_gpus,
                         reader->waits_frac);
}

/* Moves the bytes to `now`, at the rates since the last call. */
static void move(struct job_reader *reader, sim_ns now)
{
    const sim_ns done_ns = job_progress_done_ns(&reader->job->progress, now);
    const double used = sim_s_from_ns(done_ns - reader->done_ns) * reader->step_bytes / reader->step_s;
    const double room = buffer_bytes(reader) - reader->ahead_bytes + used;
    double read = fmin(reader->rate_bytes_per_s * sim_s_from_ns(now - reader->moved_ns), fmax(room, 0.0));
    read = fmax(read, used - reader->ahead_bytes); /* rounding */
    reader->ahead_bytes = fmax(reader->ahead_bytes + read - used, 0.0);
    if (is_empty(reader)) { /* else roundings would add up to data that it does not have */
        read -= reader->ahead_bytes;
        reader->ahead_bytes = 0.0;
    }
    reader->read_bytes += read;
    reader->moved_ns = now;
    reader->done_ns = done_ns;
}

double job_reader_waits_frac(const struct job *job)
{
    return job->activity->reader != NULL ? job->activity->reader->waits_frac : 0.0;
}

double job_reader_speed(const struct job *job)
{
    const struct job_reader *reader = job->activity->reader;
    if (reader == NULL || !reader->is_short || !is_empty(reader)) return (double)INFINITY;
    return reader->rate_bytes_per_s * reader->step_s / reader->step_bytes;
}

static void note_stale(struct job_reader *reader, sim_ns now);

/* What a flow asks for: its part of the need, or as much as it gets; less if the loaders read less. A claim must ask
 * for something: that of a job that needs nothing asks for 1 byte/s. */
static double demand_of(const struct job_reader *reader, const struct reader_flow *flow)
{
    const double part = reader->fills ? link_flow_path_bytes_per_s(&flow->claim)
                                      : fmax(reader->need_bytes_per_s * flow->part_frac, 1.0);
    return fmin(part, flow->most_bytes_per_s);
}

/* A claim whose demand changes is not told of its grant. */
static void ask(struct job_reader *reader, sim_ns now)
{
    for (int32_t i = 0; i < reader->n_flows; i++)
        link_claim_ask(&reader->flows[i].claim, demand_of(reader, &reader->flows[i]));
    note_stale(reader, now);
}

/* Takes the grants of the moment. All parts are read at the pace of the slowest. */
static void take_grants(struct job_reader *reader)
{
    double least = (double)INFINITY;
    for (int32_t i = 0; i < reader->n_flows; i++)
        least = fmin(least, link_flow_bytes_per_s(&reader->flows[i].claim) / reader->flows[i].part_frac);
    reader->rate_bytes_per_s = least;
}

/* Decides whether it fills its buffer. It begins once a step of it is free, and never anew at the moment when it
 * has ceased: parts of one job may slow each other when all ask for more. */
static void set_filling(struct job_reader *reader, sim_ns now)
{
    const double free_bytes = buffer_bytes(reader) - reader->ahead_bytes, slack = slack_bytes(reader);
    reader->is_short = reader->rate_bytes_per_s < reader->need_bytes_per_s * (1.0 - 1e-9);
    if (reader->fills && (free_bytes <= slack || reader->is_short)) {
        reader->fills = false;
        reader->filled_ns = now;
    } else if (!reader->fills && !reader->is_short && free_bytes >= reader->step_bytes - slack &&
               reader->filled_ns != now)
        reader->fills = true;
}

static void on_due(struct engine *engine, struct owner *owner, sim_ns now);

/* Awaits the moment when the buffer is full, or empty, or a stall begins or ends. */
static void await(struct job_reader *reader, sim_ns now)
{
    struct engine *engine = reader->job->jobs->site->engine;
    const double change = reader->rate_bytes_per_s - used_bytes_per_s(reader, now);
    double left_s = (double)INFINITY;
    if (reader->fills && change > 0.0)
        left_s = fmax(buffer_bytes(reader) - reader->ahead_bytes, 0.0) / change;
    else if (reader->is_short && change < 0.0 && !is_empty(reader))
        left_s = reader->ahead_bytes / -change;
    sim_ns due_ns = left_s < 1e9 ? sim_ns_add(now, sim_ns_add(sim_ns_from_s(left_s), 1)) : SIM_NS_MAX;
    const sim_ns turn_ns = job_progress_turn_ns(&reader->job->progress);
    if (turn_ns > now && turn_ns < due_ns && reader->is_short) due_ns = turn_ns;
    if (due_ns < SIM_NS_MAX)
        engine_arm(engine, due_ns, PRIORITY_LINK, on_due, &reader->job->activity->read);
    else
        engine_disarm(engine, &reader->job->activity->read);
}

/* Brings all up to date but the speed of the job. */
static void update(struct job_reader *reader, sim_ns now)
{
    const bool filled = reader->fills;
    set_filling(reader, now);
    if (reader->fills != filled) ask(reader, now);
    await(reader, now);
}

/* The bytes have been moved to now, or the grants are others. Each move of the progress rounds its work: it moves only
 * if the speed changes, or a stall has begun or ended. */
static void look(struct job_reader *reader, sim_ns now)
{
    struct job *job = reader->job;
    const double waits_frac = reader->waits_frac;
    update(reader, now);
    if (job_speed(job) == job->progress.speed && job_progress_turn_ns(&job->progress) > now) return;
    job_speed_changed(job, now);
    if (reader->waits_frac != waits_frac) job_activity_redraw(job, now, true);
}

static void on_due(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job_reader *reader = OWNER_ENTITY(owner, struct job_activity, read)->reader;
    (void)engine;
    move(reader, now);
    look(reader, now);
}

void job_reader_turned(struct job *job, sim_ns now)
{
    struct job_reader *reader = job->activity->reader;
    if (reader == NULL) return;
    move(reader, now);
    look(reader, now);
}

void job_reader_paced(struct job *job, sim_ns now)
{
    struct job_reader *reader = job->activity->reader;
    if (reader == NULL) return;
    const double full_speed = job_full_speed(job), speed = job->progress.speed;
    const double need = need_of(reader);
    move(reader, now);
    count_time(reader, now);
    reader->waits_frac = full_speed > 0.0 && speed < full_speed ? 1.0 - speed / full_speed : 0.0;
    if (need != reader->need_bytes_per_s) {
        reader->need_bytes_per_s = need;
        ask(reader, now);
    }
    update(reader, now);
}

/* --- Grants --- */

/* Takes it out of those whose grants have changed. */
static void drop_stale(struct job_readers *readers, struct job_reader *reader)
{
    if (!reader->is_stale) return;
    DL_DELETE2(readers->stale, reader, before_stale, next_stale);
    reader->is_stale = false;
}

/* All claims of the moment have their grants. */
static void on_settle(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job_readers *readers = OWNER_ENTITY(owner, struct job_readers, settle);
    (void)engine;
    while (readers->stale != NULL) {
        struct job_reader *reader = readers->stale;
        drop_stale(readers, reader);
        move(reader, now);
        take_grants(reader);
        look(reader, now);
    }
}

static void note_stale(struct job_reader *reader, sim_ns now)
{
    struct jobs *jobs = reader->job->jobs;
    struct job_readers *readers = jobs->readers;
    if (reader->is_stale) return;
    reader->is_stale = true;
    if (readers->stale == NULL) engine_arm(jobs->site->engine, now, PRIORITY_LINK_SETTLE, on_settle, &readers->settle);
    DL_APPEND2(readers->stale, reader, before_stale, next_stale);
}

static void on_changed(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    note_stale(LINK_FLOW_ENTITY(claim, struct reader_flow, claim)->reader, now);
}

/* --- A run of a job --- */

static int32_t flows_on(const struct job *job, const struct allocation *part)
{
    const bool each = topology_config(job->jobs->topology)->network.per == NETWORK_PER_GPU;
    return each && part->gpus > 0 ? part->gpus : 1;
}

/* GPUs that a flow reads for; parts of GPUs count as one. */
static double gpus_of_flow(const struct job *job, const struct allocation *part)
{
    return part->gpus > 0 ? (double)part->gpus / flows_on(job, part) : 1.0;
}

/* One of the n claims of a part of the job. Claims have weights like their parts, and the greatest has weight 1. */
static int start_claim(struct job_reader *reader, const struct allocation *part, int32_t nic, int32_t n)
{
    struct job *job = reader->job;
    struct topology *topology = job->jobs->topology;
    struct reader_flow *flow = &reader->flows[reader->n_flows];
    const double most = job->type->data.node_read_bytes_per_s;
    const struct graph_nic at = {jobs_cluster_of(job->jobs, job->view.node_type)->first_node + part->node, nic};
    struct link_path path;
    int code = topology_storage_path(topology, at, job->type->data.from, false, &path);
    flow->reader = reader;
    flow->part_frac = gpus_of_flow(job, part) / reader->gpus;
    flow->most_bytes_per_s = isnan(most) ? (double)INFINITY : most / n;
    if (code == 0)
        code = link_claim_start(topology_net(topology), &flow->claim, &path, demand_of(reader, flow), on_changed, NULL);
    if (code != 0) return code;
    link_claim_hold(&flow->claim);
    if (gpus_of_flow(job, part) < reader->widest_gpus)
        link_claim_weigh(&flow->claim, gpus_of_flow(job, part) / reader->widest_gpus);
    topology_note_path(topology, &flow->claim, 1);
    reader->n_flows++;
    return 0;
}

static int start_claims(struct job_reader *reader)
{
    const struct job *job = reader->job;
    int code = 0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        reader->n_parts += flows_on(job, part);
        reader->gpus += flows_on(job, part) * gpus_of_flow(job, part);
        reader->widest_gpus = fmax(reader->widest_gpus, gpus_of_flow(job, part));
    }
    reader->flows = mem_zalloc((size_t)reader->n_parts + 1, sizeof *reader->flows);
    if (reader->flows == NULL) return SIM_E_NOMEM;
    for (const struct allocation *part = job->holder.held; part != NULL && code == 0; part = part->next) {
        const int32_t of_node = flows_on(job, part);
        for (int32_t nic = 0; nic < of_node && code == 0; nic++) code = start_claim(reader, part, nic, of_node);
    }
    return code;
}

int job_reader_begin(struct job *job)
{
    const sim_ns now = engine_now(job->jobs->site->engine);
    if (job->activity->reader != NULL || !job_reads(job) || job->holder.held == NULL) return 0;
    const double step_s = step_s_of(job), step_bytes = step_bytes_of(job);
    if (!(step_s > 0.0) || !(step_bytes > 0.0)) return 0; /* it cannot run so */
    struct job_reader *reader = job->activity->reader = mem_zalloc(1, sizeof *reader);
    if (reader == NULL) return SIM_E_NOMEM;
    reader->job = job;
    reader->filled_ns = -1;
    reader->step_s = step_s;
    reader->step_bytes = step_bytes;
    reader->ahead_bytes = job->activity->ahead_bytes;
    reader->moved_ns = reader->counted_ns = now;
    reader->held_gpus = job->view.held_gpus;
    reader->done_ns = job->progress.done_ns;
    reader->need_bytes_per_s = reader->rate_bytes_per_s = need_of(reader);
    const int code = start_claims(reader);
    if (code != 0) return code;
    note_stale(reader, now);
    return 0;
}

void job_reader_end(struct job *job)
{
    struct job_reader *reader = job->activity->reader;
    if (reader == NULL) return;
    struct topology *topology = job->jobs->topology;
    const sim_ns now = engine_now(job->jobs->site->engine);
    move(reader, now);
    count_time(reader, now);
    for (int32_t i = 0; i < reader->n_flows; i++) {
        struct link_flow *claim = &reader->flows[i].claim;
        const int64_t bytes = (int64_t)fmin(reader->read_bytes * reader->flows[i].part_frac, 9e18);
        link_claim_count(claim, bytes);
        topology_count_moved(topology, claim, bytes);
        topology_note_path(topology, claim, -1);
        link_flow_cancel(claim);
    }
    job->activity->ahead_bytes = reader->ahead_bytes;
    engine_disarm(job->jobs->site->engine, &job->activity->read);
    drop_stale(job->jobs->readers, reader);
    job_reader_forget(job);
}

void job_reader_forget(struct job *job)
{
    struct job_reader *reader = job->activity->reader;
    if (reader == NULL) return;
    mem_free(reader->flows);
    mem_free(reader);
    job->activity->reader = NULL;
}

int job_readers_emit(const struct jobs *jobs)
{
    if (jobs->readers == NULL) return 0;
    return gpu_time_share_emit(&jobs->readers->waits, jobs->site->sink, "job.data_wait_frac");
}

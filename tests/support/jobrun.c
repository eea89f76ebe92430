#include "tests/support/jobrun.h"

#include "policies/registry.h"
#include "sim/world/jobs/job.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/policy/instance.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/priority.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

struct job_record jobrun_record(int64_t id, double submit_s, double duration_s, int32_t gpus)
{
    sim_ns duration_ns = sim_ns_from_s(duration_s);
    return (struct job_record){.id = id,
                               .submit_ns = sim_ns_from_s(submit_s),
                               .duration_ns = duration_ns,
                               .estimate_ns = duration_ns,
                               .gpus = gpus,
                               .gpu_milli = 1000,
                               .group = "",
                               .user = ""};
}

/* --- A trace that is an array --- */

struct array_source {
    struct job_source source;
    const struct jobrun_spec *spec;
    size_t next;
};

static int array_next(struct job_source *source, struct job_record *record, struct diag *diag)
{
    struct array_source *array = (struct array_source *)source;
    if (array->spec->bad_row > 0 && array->next == array->spec->bad_row)
        return diag_error(diag, SIM_E_DATA, "jobs.csv:7:3", NULL, "not a number");
    if (array->next == array->spec->n) return 0;
    *record = array->spec->records[array->next++];
    return 1;
}

static struct source_place array_place(const struct job_source *source)
{
    return (struct source_place){.row = (int64_t)((const struct array_source *)source)->next};
}

static bool array_note(const struct job_source *source, size_t index, struct source_note *note)
{
    (void)source, (void)index, (void)note;
    return false;
}

static void array_close(struct job_source *source)
{
    mem_free(source);
}

static int array_open(const void *params, const struct source_options *options, struct job_source **source,
                      struct diag *diag)
{
    (void)options, (void)diag;
    struct array_source *array = mem_zalloc(1, sizeof *array);
    if (array == NULL) return SIM_E_NOMEM;
    array->source = (struct job_source){array_next, array_place, array_note, array_close};
    array->spec = params;
    *source = &array->source;
    return 0;
}

static const struct trace_format array_format = {.name = "array", .open_jobs = array_open};

/* --- A scheduler that checks another one --- */

struct checker_params {
    const struct scheduler *inner;
    size_t n; /* jobs */
    const void *inner_params;
    bool needs_progress, needs_no_waste;
    bool *parts; /* set when a job holds a part of a GPU */
};

enum { CHECKER_MAX_GPUS = 64 };

struct checker {
    struct checker_params params;
    const struct scheduler *inner;
    double *held; /* [n]: GPUs of the first node type by the number of the job */
    double in_use;
    int64_t n_pending, n_running;
    int64_t n_pending_of[CHECKER_MAX_GPUS + 1]; /* by GPUs; wider ones count as the widest */
    _Alignas(16) char inner_state[];
};

static int checker_init(void *state, const void *params, struct diag *diag)
{
    struct checker *checker = state;
    checker->params = *(const struct checker_params *)params;
    checker->inner = checker->params.inner;
    const struct policy *policy = &checker->inner->policy;
    checker->held = calloc(checker->params.n + 1, sizeof *checker->held);
    int code = policy_state_init(policy, checker->inner_state, checker->params.inner_params, diag);
    if (code < 0) free(checker->held);
    return code;
}

static void checker_fini(void *state)
{
    struct checker *checker = state;
    free(checker->held);
    if (checker->inner->policy.fini != NULL) checker->inner->policy.fini(checker->inner_state);
}

static void check_view(const struct checker *checker, const struct cluster_view *view)
{
    bool limited = view->total_gpus < INT64_MAX;
    CHECK(view->free_gpus >= 0 && view->free_gpus <= view->total_gpus);
    if (limited) CHECK_NEAR(view->free_amount + checker->in_use, (double)view->total_gpus, 1e-9);
    CHECK_EQ_INT(view->n_pending, checker->n_pending);
    CHECK_EQ_INT(view->n_running, checker->n_running);
    int64_t free_gpus = 0; /* on the nodes */
    for (int32_t node = 0; node < view->n_nodes; node++) free_gpus += view->node_free_gpus[node];
    if (view->n_nodes > 0) CHECK_EQ_INT(free_gpus, view->free_gpus);
}

static void checker_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    static const struct {
        enum job_state state;
        int pending, running;
    } effects[] = {[JOB_EVENT_SUBMIT] = {JOB_PENDING, +1, 0},
                   [JOB_EVENT_START] = {JOB_RUNNING, -1, +1},
                   [JOB_EVENT_PREEMPT] = {JOB_PENDING, +1, -1},
                   [JOB_EVENT_FINISH] = {JOB_FINISHED, 0, -1},
                   [JOB_EVENT_RESIZE] = {JOB_RUNNING, 0, 0},
                   [JOB_EVENT_SPEED] = {JOB_RUNNING, 0, 0}};
    struct checker *checker = state;
    CHECK_EQ_INT(note->job->state, effects[note->event].state);
    checker->n_pending += effects[note->event].pending;
    checker->n_running += effects[note->event].running;
    int32_t gpus = note->job->gpus < CHECKER_MAX_GPUS ? note->job->gpus : CHECKER_MAX_GPUS;
    checker->n_pending_of[gpus] += effects[note->event].pending;
    double *held = &checker->held[note->job->sequence];
    checker->in_use -= *held;
    *held = note->job->node_type == 0 ? note->job->held_gpus : 0;
    checker->in_use += *held;
    if (note->job->held_gpus != floor(note->job->held_gpus)) *checker->params.parts = true;
    check_view(checker, view);
    if (note->event < JOB_EVENT_RESIZE || checker->inner->wants_speed_events)
        checker->inner->notify(checker->inner_state, view, note);
}

static int checker_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct checker *checker = state;
    check_view(checker, view);
    int code = checker->inner->decide(checker->inner_state, view, plan);
    check_view(checker, view);
    if (code < 0) return code;
    bool idle = view->free_gpus == view->total_gpus && view->total_gpus < INT64_MAX;
    CHECK(!idle || view->n_pending == 0 || plan->wake_ns < SIM_NS_MAX || !checker->params.needs_progress);
    if (!checker->params.needs_no_waste) return 0;
    for (int64_t gpus = 0; gpus <= view->free_gpus && gpus <= CHECKER_MAX_GPUS; gpus++)
        CHECK_EQ_INT(checker->n_pending_of[gpus], 0);
    return 0;
}

static bool checker_wants_sizes(const void *state)
{
    const struct checker *checker = state;
    return checker->inner->wants_sizes(checker->inner_state);
}

static bool checker_shares(const void *state)
{
    const struct checker *checker = state;
    return checker->inner->shares(checker->inner_state);
}

static int checker_prepare(void *state, const struct cluster_view *view, struct diag *diag)
{
    struct checker *checker = state;
    return checker->inner->prepare == NULL ? 0 : checker->inner->prepare(checker->inner_state, view, diag);
}

static void checker_finish(void *state, struct job_plan *plan)
{
    struct checker *checker = state;
    checker->inner->finish(checker->inner_state, plan);
}

static struct scheduler checker_of(const struct scheduler *inner)
{
    struct scheduler checker = *inner;
    checker.policy.state_bytes = sizeof(struct checker) + inner->policy.state_bytes;
    checker.policy.init = checker_init;
    checker.policy.fini = checker_fini;
    checker.notify = checker_notify;
    checker.decide = checker_decide;
    checker.prepare = checker_prepare;
    if (inner->finish != NULL) checker.finish = checker_finish;
    checker.wants_speed_events = true;
    if (inner->wants_sizes != NULL) checker.wants_sizes = checker_wants_sizes;
    if (inner->shares != NULL) checker.shares = checker_shares;
    return checker;
}

/* --- A sink that keeps everything --- */

static int keep_job(void *context, const struct job_row *row)
{
    struct jobrun *run = context;
    struct jobrun_job *job = &run->jobs[row->id];
    CHECK(job->status == NULL);
    int64_t starts = job->starts;
    *job = (struct jobrun_job){.submit_s = row->submit_s,
                               .start_s = row->start_s,
                               .end_s = row->end_s,
                               .jct_s = row->jct_s,
                               .gpu_s = row->gpu_s,
                               .preemptions = row->preemptions,
                               .starts = starts,
                               .finish_rank = (int64_t)run->n_rows++,
                               .status = row->status};
    return 0;
}

static int keep_decision(void *context, const struct decision_row *row)
{
    struct jobrun *run = context;
    if ((run->n_decisions & (run->n_decisions + 1)) == 0)
        run->decisions = realloc(run->decisions, 2 * (run->n_decisions + 1) * sizeof *run->decisions);
    run->decisions[run->n_decisions++] = (struct jobrun_decision){row->t_s, row->action, row->reason, row->subject};
    if (strcmp(row->action, "preempt") != 0) run->jobs[row->subject].starts++;
    return 0;
}

static int keep_placement(void *context, const struct placement_row *row)
{
    struct jobrun *run = context;
    if ((run->n_placements & (run->n_placements + 1)) == 0)
        run->placements = realloc(run->placements, 2 * (run->n_placements + 1) * sizeof *run->placements);
    run->placements[run->n_placements++] = *row;
    return 0;
}

static int keep_metric(void *context, const struct metric_row *row)
{
    struct jobrun *run = context;
    if (!CHECK(run->n_metrics < sizeof run->metrics / sizeof run->metrics[0])) return 0;
    snprintf(run->metrics[run->n_metrics].name, sizeof run->metrics[0].name, "%s", row->name);
    run->metrics[run->n_metrics++].value = row->value;
    return 0;
}

static int keep_warning(void *context, const struct warning_row *row)
{
    struct jobrun *run = context;
    run->n_warnings++;
    if (strcmp(row->code, "chronus-late") == 0) run->n_late += row->count;
    return 0;
}

/* --- What placements must say --- */

/* Somebody takes (gpus > 0) or frees GPUs of a node. */
struct move {
    double t_s;
    int64_t node, gpus;
};

static int compare_moves(const void *a, const void *b)
{
    const struct move *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->t_s != y->t_s) return x->t_s < y->t_s ? -1 : 1;
    return (x->gpus > y->gpus) - (x->gpus < y->gpus); /* GPUs that become free at this moment first */
}

/* No node holds more than it has, at any time. */
static void check_capacity(const struct jobrun *run, const struct jobrun_spec *spec)
{
    struct move *moves = calloc(2 * run->n_placements + 1, sizeof *moves);
    bool fits = true;
    for (size_t i = 0; i < run->n_placements; i++) {
        const struct placement_row *row = &run->placements[i];
        moves[2 * i] = (struct move){row->start_s, row->node, row->gpus};
        moves[2 * i + 1] = (struct move){row->end_s, row->node, -row->gpus};
    }
    const int64_t most_on_node = spec->cluster.node_types.n == 0 ? spec->cluster.gpus_per_node : 1024;
    qsort(moves, 2 * run->n_placements, sizeof *moves, compare_moves);
    int64_t held = 0;
    for (size_t i = 0; i < 2 * run->n_placements; i++) {
        if (i == 0 || moves[i].node != moves[i - 1].node) held = moves[i].node == 0 ? spec->group_gpus : 0;
        held += moves[i].gpus;
        fits = fits && (moves[i].node < 0 || held <= most_on_node);
        fits = fits && (spec->cluster.unlimited || held <= cluster_config_nodes(&spec->cluster) * most_on_node);
    }
    CHECK(fits);
    free(moves);
}

/* Every GPU-second of a job is on some node, from its first start to its end; of parts of GPUs no row tells. */
static void check_placements(const struct jobrun *run, const struct jobrun_spec *spec, bool parts)
{
    double *gpu_s = calloc(spec->n + 1, sizeof *gpu_s);
    bool in_life = true, equal = true;
    for (size_t i = 0; i < run->n_placements; i++) {
        const struct placement_row *row = &run->placements[i];
        const struct jobrun_job *job = &run->jobs[row->job];
        gpu_s[row->job] += (double)row->gpus * (row->end_s - row->start_s);
        in_life = in_life && row->gpus > 0 && row->start_s < row->end_s && row->start_s >= job->start_s &&
                  !(row->end_s > job->end_s);
    }
    for (size_t i = 0; i < spec->n; i++) {
        bool held = run->jobs[i].status != NULL && spec->records[i].gpus > 0;
        double expected = held ? run->jobs[i].gpu_s : 0;
        equal = equal && (parts || fabs(gpu_s[i] - expected) <= 1e-9 * (1 + expected));
    }
    CHECK(in_life);
    CHECK(equal);
    free(gpu_s);
    check_capacity(run, spec);
}

/* --- Disturbances --- */

struct disturber {
    struct owner owner;
    struct jobs *jobs;
    sim_ns every_ns;
    int64_t n;
};

/* Of the running jobs the one whose turn it is; NULL when none runs. */
static struct job *victim(const struct disturber *disturber)
{
    if (disturber->jobs->view.n_running == 0) return NULL;
    int64_t skipped = disturber->n * 7 % disturber->jobs->view.n_running;
    struct job *job = disturber->jobs->oldest;
    while (job != NULL && (job->view.state != JOB_RUNNING || skipped-- > 0)) job = job->next;
    return job;
}

static void on_disturb(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct disturber *disturber = OWNER_ENTITY(owner, struct disturber, owner);
    struct job *job = victim(disturber);
    disturber->n++;
    if (job != NULL && disturber->n % 2 == 0) {
        CHECK_EQ_INT(job_interrupt(job, now, 0, "a disturbance"), 0);
    } else if (job != NULL) {
        job->holder.speed_frac = disturber->n % 4 == 1 ? 0.5 : 1.25;
        job->holder.ops->speed_changed(&job->holder, now);
    }
    if (!jobs_done(disturber->jobs))
        engine_schedule(engine, now + disturber->every_ns, PRIORITY_JOB_FINISH, on_disturb, owner);
}

static void disturb(struct engine *engine, struct disturber *disturber)
{
    owner_init(&disturber->owner, 3 /* behind those of the jobs */);
    if (disturber->every_ns > 0)
        engine_schedule(engine, disturber->every_ns, PRIORITY_JOB_FINISH, on_disturb, &disturber->owner);
}

/* --- The run --- */

static void sum_up(struct jobrun *run, size_t n)
{
    int64_t n_finished = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (run->jobs[i].status == NULL || isnan(run->jobs[i].end_s)) continue;
        n_finished++;
        sum += run->jobs[i].jct_s;
        run->makespan_s = fmax(run->makespan_s, run->jobs[i].end_s);
    }
    run->mean_jct_s = n_finished > 0 ? sum / (double)n_finished : (double)NAN;
}

static int simulate(struct jobrun *run, const struct jobrun_spec *spec, const struct jobs_config *config,
                    const struct sink *sink)
{
    struct engine *engine = engine_create(&(struct engine_options){.queue = spec->queue, .until = spec->until});
    struct cluster *cluster = NULL;
    struct jobs *jobs = NULL;
    struct site_env site = {.engine = engine, .diag = &run->diag, .sink = sink, .warmup_ns = spec->warmup_ns};
    int code = engine == NULL ? SIM_E_NOMEM : cluster_create(&spec->cluster, &cluster);
    if (code == 0 && spec->group_gpus > 0) CHECK_EQ_INT(cluster_take_group(cluster, 0, spec->group_gpus), 0);
    if (code == 0) code = jobs_create(&site, cluster, config, &(struct jobs_options){0}, &jobs);
    if (code == 0) code = jobs_start(jobs);
    struct disturber disturber = {.jobs = jobs, .every_ns = spec->disturb_every_ns};
    if (code == 0) disturb(engine, &disturber);
    if (code == 0) code = engine_run(engine, &run->diag);
    if (code == 0) code = jobs_finish(jobs);
    if (code == 0) code = cluster_emit(cluster, engine_now(engine), sink);
    if (code == 0 && cluster->n_nodes > 0 && jobs_done(jobs))
        CHECK_EQ_INT(cluster->free_gpus + spec->group_gpus, cluster->total_gpus);
    jobs_destroy(jobs);
    cluster_destroy(cluster);
    engine_destroy(engine);
    return code;
}

void jobrun_init(struct jobrun *run, const struct jobrun_spec *spec, int expected)
{
    *run = (struct jobrun){.jobs = calloc(spec->n + 1, sizeof *run->jobs)};
    diag_init(&run->diag);
    const char *placement = spec->placement == NULL ? "counted" : spec->placement;
    const struct scheduler *inner = spec->own_scheduler;
    const struct placer *placer = spec->own_placer;
    if (inner == NULL) inner = (const void *)policy_find(POLICY_SCHEDULER, spec->scheduler);
    if (placer == NULL) placer = (const void *)policy_find(POLICY_PLACEMENT, placement);
    if (!CHECK(inner != NULL) || !CHECK(placer != NULL)) return;
    const struct scheduler checker = checker_of(inner);
    bool listed = spec->own_scheduler == NULL && spec->own_placer == NULL;
    SCOPED(arena) arena = {0};
    bool parts = false;
    struct checker_params params = {.inner = inner,
                                    .n = spec->n,
                                    .parts = &parts,
                                    .inner_params = policy_params(&inner->policy, spec->scheduler_params, &arena),
                                    .needs_progress = listed && spec->fail_after == 0,
                                    .needs_no_waste = spec->needs_no_waste};
    struct jobs_config config = {.scheduler = {.name = inner->policy.name, .entry = &checker, .params = &params},
                                 .placement = {.name = placer->policy.name, .entry = placer},
                                 .trace = {.name = "array", .entry = &array_format, .params = (void *)(uintptr_t)spec},
                                 .types = spec->types,
                                 .all_types = spec->types,
                                 .deadlines = spec->deadlines, .round_ns = spec->round_ns};
    if (spec->restart != NULL) config.restart = *spec->restart;
    struct sink sink = {.context = run,
                        .job = keep_job,
                        .decision = keep_decision,
                        .placement = keep_placement,
                        .metric = keep_metric,
                        .warning = keep_warning};
    if (spec->fail_after > 0) mem_fail_after(spec->fail_after);
    run->code = simulate(run, spec, &config, &sink);
    mem_fail_never();
    if (spec->fail_after == 0) CHECK_EQ_INT(run->code, expected);
    if (run->code == 0) check_placements(run, spec, parts);
    sum_up(run, spec->n);
}

void jobrun_fini(struct jobrun *run)
{
    free(run->jobs);
    free(run->decisions);
    free(run->placements);
}

double jobrun_metric(const struct jobrun *run, const char *name)
{
    for (size_t i = 0; i < run->n_metrics; i++) {
        if (strcmp(run->metrics[i].name, name) == 0) return run->metrics[i].value;
    }
    return (double)NAN;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool jobrun_equal(const struct jobrun *a, const struct jobrun *b, size_t n)
{
    bool equal = a->n_rows == b->n_rows && a->n_decisions == b->n_decisions;
    for (size_t i = 0; equal && i < n; i++) {
        const struct jobrun_job *x = &a->jobs[i], *y = &b->jobs[i];
        equal = same(x->start_s, y->start_s) && same(x->end_s, y->end_s) && same(x->gpu_s, y->gpu_s) &&
                x->preemptions == y->preemptions && x->starts == y->starts && x->finish_rank == y->finish_rank;
    }
    for (size_t i = 0; equal && i < a->n_decisions; i++) {
        equal = same(a->decisions[i].t_s, b->decisions[i].t_s) && a->decisions[i].job == b->decisions[i].job &&
                strcmp(a->decisions[i].action, b->decisions[i].action) == 0;
    }
    return equal;
}

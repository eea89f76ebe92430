#include "policies/scheduler/gavel/gavel_rounds.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A job or a pair that competes for a node type. */
struct gavel_candidate {
    struct gavel_job *job, *partner;
    double priority, owed_s, share;
    size_t order;
};

#define ROW_OF struct gavel_params
const struct config_field gavel_rounds_fields[] = {GAVEL_ROWS(, "true"), {0}};
#undef ROW_OF

void gavel_rounds_init(struct gavel_rounds *rounds, const struct gavel_rule *rule, const void *params)
{
    rounds->rule = rule;
    rounds->params = *(const struct gavel_params *)params;
    rounds->allocated_ns = -1;
}

void gavel_rounds_fini(void *state)
{
    struct gavel_rounds *rounds = state;
    mem_free(rounds->jobs);
    mem_free(rounds->candidates);
    mem_free(rounds->later);
    cpu_jobs_fini(&rounds->cpu_jobs);
}

double gavel_speed_on(const struct gavel_rounds *rounds, const struct gavel_job *job, int type, double gpus)
{
    return job->possible[type] ? job_view_speed_on(rounds->views[type], job->view, gpus) : 0;
}

static double shared_speed(const struct gavel_rounds *rounds, const struct gavel_job *job, const struct gavel_job *with,
                           int type)
{
    const struct job_view *const jobs[] = {job->view, with->view};
    return job->possible[type] && with->possible[type] ? job_view_shared_speed(rounds->views[type], jobs, 2, 0) : 0;
}

bool gavel_shares(const struct gavel_rounds *rounds, const struct gavel_job *job, const struct gavel_job *with,
                  int type)
{
    return shared_speed(rounds, job, with, type) > 0;
}

double gavel_packed_speed(const struct gavel_rounds *rounds, const struct gavel_job *job, const struct gavel_job *with,
                          int type)
{
    const double shared = shared_speed(rounds, job, with, type);
    for (int other = 0; other < rounds->types && !(shared > 0); other++)
        if (gavel_shares(rounds, job, with, other)) return 0.0; /* measured, but not here: they cannot share */
    return shared > 0 ? shared : gavel_speed_on(rounds, job, type, job->view->gpus / 2.0);
}

void gavel_pair(struct gavel_job *a, struct gavel_job *b)
{
    a->partner = b;
    b->partner = a;
    a->paired = b->paired = (struct gavel_claim){0};
}

void gavel_split_pair(struct gavel_job *job)
{
    job->partner->partner = NULL;
    job->partner = NULL;
}

void gavel_nth_part(const struct gavel_rounds *rounds, double n, double width, double share[GAVEL_TYPES])
{
    double sum = 0;
    for (int j = 0; j < rounds->types; j++) sum += rounds->gpus[j] / n / width;
    for (int j = 0; j < rounds->types; j++) share[j] = rounds->gpus[j] / n / width / fmax(sum, 1);
}

/* --- Jobs that come and go --- */

static int reserve(struct gavel_rounds *rounds, size_t n)
{
    const int code = vec_reserve(&rounds->candidates, &rounds->candidates_capacity, 2 * n);
    return code != 0 ? code : vec_reserve(&rounds->jobs, &rounds->capacity, n);
}

/* Lets a job take part in the rounds, as the youngest. */
static void enter(struct gavel_rounds *rounds, struct gavel_job *job)
{
    if (rounds->code == 0) rounds->code = reserve(rounds, rounds->n + 1);
    if (rounds->code < 0) return;
    rounds->jobs[rounds->n++] = job;
    rounds->is_stale = true;
}

static void submit(struct gavel_rounds *rounds, const struct job_view *view)
{
    struct gavel_job *job = job_view_slot(view);
    *job = (struct gavel_job){.view = view, .ran_on = -1, .next_on = -1};
    const bool has_place = rounds->params.depth == 0 || (int64_t)rounds->n < rounds->params.depth;
    if (has_place)
        enter(rounds, job);
    else if (rounds->code == 0)
        rounds->code = vec_push(&rounds->later, &rounds->n_later, &rounds->later_capacity, job);
}

/* The oldest job that waits for a place takes the one of a job that has finished. */
static void fill_place(struct gavel_rounds *rounds)
{
    if (rounds->later_first == rounds->n_later) return;
    enter(rounds, rounds->later[rounds->later_first++]);
    const size_t left = rounds->n_later - rounds->later_first;
    if (left > rounds->later_first) return;
    memmove(rounds->later, rounds->later + rounds->later_first, left * sizeof *rounds->later);
    rounds->later_first = 0;
    rounds->n_later = left;
}

static void leave(struct gavel_rounds *rounds, const struct gavel_job *job)
{
    if (job->partner != NULL) job->partner->partner = NULL;
    if (job->ran_with != NULL) {
        job->ran_with->ran_on = -1; /* the received time was that of the pair */
        job->ran_with->ran_with = NULL;
    }
    size_t low = 0, high = rounds->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (rounds->jobs[middle]->view->sequence < job->view->sequence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == rounds->n || rounds->jobs[low] != job) return; /* the list had no memory for it at submission */
    memmove(&rounds->jobs[low], &rounds->jobs[low + 1], (--rounds->n - low) * sizeof(struct gavel_job *));
    rounds->is_stale = true;
    fill_place(rounds);
}

static void stop_sharing(struct gavel_job *job)
{
    if (job->shares_with != NULL) job->shares_with->shares_with = NULL;
    job->shares_with = NULL;
}

void gavel_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct gavel_rounds *rounds = state;
    const enum job_event event = note->event;
    cpu_jobs_notify(&rounds->cpu_jobs, note, job_view_slot(note->job));
    if (note->job->gpus == 0) return;
    if (event == JOB_EVENT_SUBMIT) submit(rounds, note->job);
    if (event == JOB_EVENT_PREEMPT || event == JOB_EVENT_FINISH) stop_sharing(job_view_slot(note->job));
    if (event == JOB_EVENT_FINISH) leave(rounds, job_view_slot(note->job));
    if (event == JOB_EVENT_START) rounds->n_running++;
    if (event == JOB_EVENT_PREEMPT || event == JOB_EVENT_FINISH) rounds->n_running--;
}

/* --- Time received, and allocations --- */

int gavel_check_types(void *state, const struct cluster_view *view, struct diag *diag)
{
    int types = 0;
    (void)state;
    for (; view != NULL; view = view->next_type) types++;
    if (types <= GAVEL_TYPES) return 0;
    return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler", "merge node types, or take another scheduler",
                      "the policies of Gavel divide at most %d node types, and the cluster has %d", GAVEL_TYPES, types);
}

static void read_node_types(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    double wanted = 0;
    for (size_t i = 0; i < rounds->n; i++) wanted += rounds->jobs[i]->view->gpus;
    rounds->types = 0;
    for (; view != NULL && rounds->types < GAVEL_TYPES; view = view->next_type) {
        const bool is_unlimited = view->total_gpus == INT64_MAX;
        const double gpus = is_unlimited ? wanted * (double)rounds->n : (double)view->total_gpus;
        rounds->is_stale |= gpus != rounds->gpus[rounds->types];
        rounds->views[rounds->types] = view;
        rounds->gpus[rounds->types++] = gpus;
    }
    if (view != NULL) rounds->code = SIM_E_POLICY;
}

/* Notes where new jobs fit: GPUs alone do not tell, if CPUs and memory count. */
static void find_possible(const struct gavel_rounds *rounds)
{
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i];
        for (int j = 0; j < rounds->types && !job->is_known; j++)
            job->possible[j] = job_view_possible_on(rounds->views[j], job->view);
        job->is_known = true;
    }
}

/* Adds the time of the round to received time. The claim of a pair is that of its older job. */
static void close_round(struct gavel_rounds *rounds, sim_ns now)
{
    const sim_ns start_ns = rounds->params.idle_waits ? rounds->end_ns : rounds->start_ns;
    const double elapsed_s = sim_s_from_ns(now - start_ns);
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i], *with = job->ran_with;
        if (job->ran_on < 0) continue;
        if (with == NULL)
            job->alone.received_s[job->ran_on] += elapsed_s;
        else if (job->view->sequence < with->view->sequence)
            job->paired.received_s[job->ran_on] += elapsed_s;
    }
    rounds->end_ns = now;
}

static void settle(const struct gavel_rounds *rounds, struct gavel_claim *claim, double elapsed_s)
{
    for (int j = 0; j < rounds->types; j++) {
        claim->owed_s[j] += claim->share[j] * elapsed_s - claim->received_s[j];
        claim->received_s[j] = claim->share[j] = 0;
    }
}

static void reallocate(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    const double elapsed_s = rounds->allocated_ns < 0 ? 0 : sim_s_from_ns(view->now_ns - rounds->allocated_ns);
    for (size_t i = 0; i < rounds->n; i++) {
        settle(rounds, &rounds->jobs[i]->alone, elapsed_s);
        settle(rounds, &rounds->jobs[i]->paired, elapsed_s);
        rounds->jobs[i]->is_admitted = true;
    }
    rounds->allocated_ns = view->now_ns;
    rounds->is_stale = false;
    const int code = rounds->rule->allocate(rounds, view);
    if (rounds->code == 0) rounds->code = code;
}

/* In the authors' simulator time 0 means none: after an allocation at time 0 the next one is due at once. */
static bool is_due(const struct gavel_rounds *rounds, const struct cluster_view *view)
{
    const bool idle_waits = rounds->params.idle_waits;
    if (rounds->allocated_ns < 0 || (rounds->allocated_ns == 0 && idle_waits)) return true;
    if (rounds->n_running == 0 && !idle_waits) return true;
    return view->now_ns >= sim_ns_add(rounds->allocated_ns, rounds->params.reallocation_ns);
}

/* End of the wait of jobs while nothing runs: the first arrival once an allocation is due or, without one, the time
 * when another one would be due. */
static sim_ns patience_end_ns(const struct gavel_rounds *rounds)
{
    return sim_ns_add(rounds->allocated_ns, sim_ns_add(rounds->params.reallocation_ns, rounds->params.reallocation_ns));
}

/* --- Who runs --- */

/* A smaller excess over the share, in parts of a round, is a rounding error. */
static const double AHEAD_FRAC = 0.1;

static bool goes_before(const struct gavel_candidate *a, const struct gavel_candidate *b)
{
    if (a->priority != b->priority) return a->priority > b->priority;
    if (a->owed_s != b->owed_s) return a->owed_s > b->owed_s;
    if (a->share != b->share) return a->share > b->share;
    return a->order < b->order;
}

/* Restores the heap of n candidates, the first at its top, below `at`. */
static void sift(struct gavel_candidate *heap, size_t n, size_t at)
{
    const struct gavel_candidate moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && goes_before(&heap[child + 1], &heap[child])) child++;
        if (!goes_before(&heap[child], &moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static struct gavel_candidate candidate(const struct gavel_rounds *rounds, struct gavel_job *job, int type,
                                        bool is_pair, size_t order)
{
    const struct gavel_claim *claim = is_pair ? &job->paired : &job->alone;
    const double received_s = claim->received_s[type] + sim_s_from_ns(rounds->params.round_ns) / 2;
    return (struct gavel_candidate){.job = job, .partner = is_pair ? job->partner : NULL, .owed_s = claim->owed_s[type],
                                    .priority = claim->share[type] / received_s, .share = claim->share[type], .order = order};
}

/* Whether it has received more than its share so far, under a rule that does not allow this. */
static bool is_ahead(const struct gavel_rounds *rounds, const struct gavel_job *job, int type)
{
    const double share = job->alone.share[type], received_s = job->alone.received_s[type];
    const double since_s = sim_s_from_ns(rounds->views[type]->now_ns - rounds->allocated_ns);
    const double round_s = sim_s_from_ns(rounds->params.round_ns);
    return rounds->rule->is_exact && share > 0 && received_s > share * since_s + AHEAD_FRAC * round_s;
}

static bool may_run_on(const struct gavel_rounds *rounds, const struct gavel_job *job, int type)
{
    if (job->next_on >= 0 || (rounds->rule->is_strict && !(job->alone.share[type] > 0))) return false;
    return !is_ahead(rounds, job, type) && gavel_speed_on(rounds, job, type, job->view->gpus) > 0;
}

/* Lists jobs, then pairs. Returns their number. */
static size_t list_candidates(struct gavel_rounds *rounds, int type)
{
    size_t n = 0;
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i];
        if (may_run_on(rounds, job, type)) rounds->candidates[n++] = candidate(rounds, job, type, false, i);
    }
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i];
        if (job->partner == NULL || job->partner->view->sequence < job->view->sequence) continue;
        if (job->next_on < 0 && job->paired.share[type] > 0 &&
            gavel_packed_speed(rounds, job, job->partner, type) > 0 &&
            gavel_packed_speed(rounds, job->partner, job, type) > 0)
            rounds->candidates[n++] = candidate(rounds, job, type, true, rounds->n + i);
    }
    return n;
}

static void take(const struct gavel_candidate *taken, int type, double *left)
{
    struct gavel_job *job = taken->job, *partner = taken->partner;
    if (job->next_on >= 0 || (partner != NULL && partner->next_on >= 0) || job->view->gpus > *left) return;
    *left -= job->view->gpus;
    if (!job->is_admitted) return; /* its GPUs stay free until its allocation */
    job->next_on = type;
    job->ran_with = partner;
    if (partner == NULL) return;
    partner->next_on = type;
    partner->ran_with = job;
}

static void choose_on(struct gavel_rounds *rounds, int type)
{
    struct gavel_candidate *heap = rounds->candidates;
    size_t n = list_candidates(rounds, type);
    double left = rounds->gpus[type];
    for (size_t i = n / 2; i-- > 0;) sift(heap, n, i);
    while (n > 0 && left > 0) {
        take(&heap[0], type, &left);
        heap[0] = heap[--n];
        if (n > 0) sift(heap, n, 0);
    }
}

static void choose(struct gavel_rounds *rounds)
{
    for (size_t i = 0; i < rounds->n; i++) {
        rounds->jobs[i]->next_on = -1;
        rounds->jobs[i]->ran_with = NULL;
    }
    const int types = rounds->types;
    const int first = rounds->rule->rotates && types > 0 ? (int)(rounds->number % types) : 0;
    for (int j = 0; j < types; j++) choose_on(rounds, (first + j) % types);
}

static double grant_of(const struct gavel_job *job)
{
    return job->ran_with == NULL ? job->view->gpus : job->view->gpus / 2.0;
}

/* The job that it is to share GPUs with in the next round; NULL: none. */
static struct gavel_job *next_sharer(const struct gavel_rounds *rounds, const struct gavel_job *job)
{
    struct gavel_job *with = job->ran_with;
    return with != NULL && gavel_shares(rounds, job, with, job->next_on) ? with : NULL;
}

/* Whether a running job continues on the same node type with the same GPUs. */
static bool stays(const struct gavel_rounds *rounds, const struct gavel_job *job)
{
    return job->next_on == job->view->node_type && job->view->held_gpus == grant_of(job) &&
           job->shares_with == next_sharer(rounds, job);
}

static int by_width(const void *one, const void *other)
{
    const struct gavel_candidate *a = one, *b = other;
    if (a->job->view->gpus != b->job->view->gpus) return a->job->view->gpus > b->job->view->gpus ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void start(const struct gavel_rounds *rounds, struct gavel_job *job, struct job_plan *plan)
{
    static const char reason[] = "has received least of its share";
    struct gavel_job *with = next_sharer(rounds, job);
    const struct job_grant grant = {.gpus = with != NULL ? job->view->gpus : grant_of(job), .node_type = job->next_on};
    if (job->view->state != JOB_PENDING) return; /* it has started with its partner */
    if (with == NULL) {
        job_plan_start_as(plan, job->view, &grant, reason);
        return;
    }
    const struct job_view *const pair[] = {job->view, with->view};
    if (!job_plan_start_group(plan, pair, 2, &grant, reason)) return;
    job->shares_with = with;
    with->shares_with = job;
}

/* Starts the widest jobs first, while whole nodes are free. */
static void start_chosen(struct gavel_rounds *rounds, struct job_plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < rounds->n; i++)
        if (rounds->jobs[i]->next_on >= 0 && rounds->jobs[i]->view->state == JOB_PENDING)
            rounds->candidates[n++] = (struct gavel_candidate){.job = rounds->jobs[i], .order = i};
    if (n > 1) qsort(rounds->candidates, n, sizeof *rounds->candidates, by_width);
    for (size_t i = 0; i < n; i++) start(rounds, rounds->candidates[i].job, plan);
}

static bool some_are_ahead(const struct gavel_rounds *rounds)
{
    for (size_t i = 0; i < rounds->n; i++)
        for (int j = 0; j < rounds->types; j++)
            if (is_ahead(rounds, rounds->jobs[i], j)) return true;
    return false;
}

/* A round in which nothing runs passes too, if jobs are ahead of their shares: a later round or allocation starts
 * them. */
static void open_round(struct gavel_rounds *rounds, const struct cluster_view *view, struct job_plan *plan)
{
    choose(rounds);
    for (size_t i = 0; i < rounds->n; i++)
        if (rounds->jobs[i]->view->state == JOB_RUNNING && !stays(rounds, rounds->jobs[i]))
            job_plan_preempt(plan, rounds->jobs[i]->view, "others have received less of their share");
    start_chosen(rounds, plan);
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i];
        job->ran_on = job->view->state == JOB_RUNNING ? job->next_on : -1;
    }
    rounds->start_ns = view->now_ns;
    rounds->is_open = rounds->n_running > 0 || some_are_ahead(rounds);
    rounds->is_idle = !rounds->is_open;
    rounds->is_stale |= rounds->is_open && rounds->n_running == 0;
    rounds->number++;
}

/* Whether pending jobs continue to wait while nothing runs. */
static bool must_wait(const struct gavel_rounds *rounds, const struct cluster_view *view)
{
    return rounds->is_idle && rounds->is_stale && rounds->n > 0 && !is_due(rounds, view) &&
           view->now_ns < patience_end_ns(rounds);
}

/* Closes the round that ends, reallocates if due, and opens the next round. */
static void start_next_round(struct gavel_rounds *rounds, const struct cluster_view *view, struct job_plan *plan)
{
    read_node_types(rounds, view);
    find_possible(rounds);
    if (rounds->is_open) close_round(rounds, view->now_ns);
    if (rounds->code == 0 && rounds->is_stale && is_due(rounds, view)) reallocate(rounds, view);
    if (rounds->code == 0) open_round(rounds, view, plan);
}

int gavel_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct gavel_rounds *rounds = state;
    const sim_ns round_ns = rounds->params.round_ns;
    rounds->plan = plan;
    const bool goes_on = rounds->is_open && rounds->n_running > 0 &&
                         view->now_ns < sim_ns_add(rounds->start_ns, round_ns);
    if (!goes_on && !must_wait(rounds, view)) start_next_round(rounds, view, plan);
    if (rounds->code == 0) rounds->code = cpu_jobs_start(&rounds->cpu_jobs, view, true, plan);
    if (rounds->code < 0) return rounds->code;
    if (rounds->is_open)
        job_plan_wake_at(plan, sim_ns_add(rounds->start_ns, round_ns));
    else if (must_wait(rounds, view))
        job_plan_wake_at(plan, patience_end_ns(rounds));
    return 0;
}

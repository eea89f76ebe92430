/* List scheduling of graphs of jobs: a plan gives each job, before it can start, a place in the order of one processing
 * element, which is a node type of one GPU. Jobs that are known when a job becomes ready are planned together, behind
 * or between those planned before. With estimated run times w on each element and delays c between two of them:
 *
 *     order                     the next job to be planned
 *     upward-rank               largest u = mean w + max over its users (c + u)                        (HEFT)
 *     critical-path             of those whose needs are planned, the largest u + longest path to it   (CPOP)
 *     submission                the oldest
 *     least-start, least-finish of those whose needs are planned, that with the least start (ETF) or finish (EFT)
 *
 *     choice                    its element
 *     finish                    the least finish; with `insertion` gaps of the plan are used
 *     time                      the least w                                                            (MET)
 *     start                     the least start
 *
 * CPOP puts the jobs of a critical path on the element that runs them in the least time. Jobs without GPUs run on no
 * element. Ties go to the older job, then to the first element.
 *
 * Jobs start in the order of the plan as soon as their needs, the element and their data allow; times of the plan are
 * not revised when run times differ.
 *
 * A plan costs the square of the n jobs planned together. Under least-start and least-finish each job that can be next
 * keeps its slot on every element, 16 bytes each. Only the slots that the planned job overlaps move, so a plan costs
 * n^2 slots, unless these pass by many gaps too short for them. 1,000 jobs of tests/bench/rounds.c on 16 elements take
 * 48, 106 and 81 million instructions by rank, least start and least finish; 2,000 take 3.3, 3.9 and 3.7 times as
 * many. On a cluster whose node types have more GPUs there is no plan: ready jobs start in the order where they fit.
 *
 * Sources: Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002 (HEFT, CPOP); Hwang et al., SIAM J. Computing 18(2), 1989
 * (ETF). */
#include "policies/declared.h"
#include "policies/scheduler/graphs/line.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_ELEMENTS = 64, NO_ELEMENT = -1 };
enum order { UPWARD_RANK, CRITICAL_PATH, SUBMISSION, LEAST_START, LEAST_FINISH };
enum choice { BY_FINISH, BY_TIME, BY_START };

static const char *const order_names[] = {"upward-rank", "critical-path", "submission",
                                          "least-start", "least-finish",  NULL};
static const char *const choice_names[] = {"finish", "time", "start", NULL};

struct heft_params {
    int order, choice;
    bool insertion;
};

struct slot {
    int32_t element;
    sim_ns start_ns, finish_ns;
};

/* The slot that a job would get on an element if it were next. */
struct offer {
    sim_ns start_ns, time_ns; /* time_ns below 0: it cannot run there */
};

/* The scheduler's state of a job. */
struct task {
    struct line_job line_job; /* first */
    const struct job_view *job;
    bool is_planned, is_ready, is_critical;
    int32_t element;
    sim_ns start_ns, finish_ns; /* planned */
    struct task *next;          /* on its element, in the order of the plan */
    /* while a plan is made */
    bool is_open;          /* no need is still to be planned */
    int32_t needs_planned; /* so many of its first needs are planned */
    double lateness;       /* the order takes the open job next that has the least */
    struct offer *offers;  /* [n_elements] of an open job, under least-start and least-finish */
    struct slot best;      /* of these */
};

struct heft {
    struct heft_params params; /* first */
    struct line line;          /* unless `has_elements`: of the ready jobs; else only of those without GPUs */
    bool has_elements;         /* each node type is one */
    const struct cluster_view *elements[MOST_ELEMENTS];
    int32_t n_elements;
    struct task *first[MOST_ELEMENTS]; /* jobs planned on each that have not finished */
    const struct job_view *latest;     /* a job in the system, if one became ready since the latest plan; else NULL */
    struct task **tasks;               /* [n] to be planned */
    size_t n, capacity;
    struct offer *offers; /* those of the tasks */
    size_t offers_capacity;
};

static struct task *task_of(const struct job_view *job)
{
    return job_view_slot(job);
}

/* --- Times --- */

/* The estimated run time on an element; infinite where the job cannot run. */
static double time_on(const struct heft *heft, const struct job_view *job, int32_t element)
{
    const double longest = (double)(SIM_NS_MAX / 2);
    const double speed = job_view_speed_on(heft->elements[element], job, job->gpus);
    return speed > 0 ? fmin((double)job->estimate_ns / speed, longest) : (double)INFINITY;
}

static sim_ns later(sim_ns one, sim_ns other)
{
    return one > other ? one : other;
}

/* When the data of all needs is on the element, by the plan. */
static sim_ns data_ns(const struct heft *heft, const struct cluster_view *view, const struct job_view *job,
                      int32_t element)
{
    sim_ns there_ns = view->now_ns;
    struct job_edge edge;
    for (int32_t i = 0; job_view_need(view, job, i, &edge); i++) {
        const struct task *from = edge.from != NULL ? task_of(edge.from) : NULL;
        const bool is_here = element != NO_ELEMENT &&
                             (from != NULL ? from->element == element : edge.on == heft->elements[element]);
        const sim_ns end_ns = from != NULL ? from->finish_ns : edge.ended_ns;
        there_ns = later(there_ns, is_here ? end_ns : sim_ns_add(end_ns, edge.delay_ns));
    }
    return there_ns;
}

/* The first time from `from_ns` on at which an element is free for `time_ns`, beside the given task of its plan and
 * all behind that. */
static sim_ns free_ns(const struct heft *heft, const struct task *first, sim_ns from_ns, sim_ns time_ns)
{
    sim_ns at_ns = from_ns;
    for (const struct task *task = first; task != NULL; task = task->next) {
        if (heft->params.insertion && sim_ns_add(at_ns, time_ns) <= task->start_ns) break;
        at_ns = later(at_ns, task->finish_ns);
    }
    return at_ns;
}

static struct slot slot_on(const struct heft *heft, const struct cluster_view *view, const struct job_view *job,
                           int32_t element)
{
    const sim_ns time_ns = (sim_ns)llround(time_on(heft, job, element));
    const sim_ns start_ns = free_ns(heft, heft->first[element], data_ns(heft, view, job, element), time_ns);
    return (struct slot){element, start_ns, sim_ns_add(start_ns, time_ns)};
}

/* The slot that a choice takes; its element is NO_ELEMENT if the job can run on none. */
static struct slot best_slot(const struct heft *heft, const struct cluster_view *view, const struct job_view *job,
                             enum choice choice)
{
    struct slot best = {.element = NO_ELEMENT};
    double least = (double)INFINITY;
    for (int32_t i = 0; i < heft->n_elements; i++) {
        const double time = time_on(heft, job, i);
        if (isinf(time)) continue;
        const struct slot slot = slot_on(heft, view, job, i);
        const double value = choice == BY_TIME    ? time
                             : choice == BY_START ? (double)slot.start_ns
                                                  : (double)slot.finish_ns;
        if (!(value < least)) continue;
        least = value;
        best = slot;
    }
    return best;
}

/* --- The plan --- */

static void put(struct heft *heft, struct task *task)
{
    struct task **at = &heft->first[task->element];
    while (*at != NULL && ((*at)->start_ns < task->start_ns ||
                           ((*at)->start_ns == task->start_ns && (*at)->finish_ns <= task->start_ns)))
        at = &(*at)->next;
    task->next = *at;
    *at = task;
}

/* Jobs in the system that are not planned, the oldest first. */
static int list_tasks(struct heft *heft, const struct cluster_view *view)
{
    int code = 0;
    heft->n = 0;
    for (const struct job_view *job = job_view_oldest(view, heft->latest); job != NULL && code == 0;
         job = job_view_next(view, job)) {
        struct task *task = task_of(job);
        if (task->is_planned) continue;
        task->job = job;
        task->element = NO_ELEMENT;
        task->is_open = false;
        task->needs_planned = 0;
        code = vec_push(&heft->tasks, &heft->n, &heft->capacity, task);
    }
    return code;
}

/* Whether no need is still to be planned. */
static bool has_needs_planned(const struct cluster_view *view, struct task *task)
{
    struct job_edge edge;
    for (; job_view_need(view, task->job, task->needs_planned, &edge); task->needs_planned++)
        if (edge.from != NULL && !task_of(edge.from)->is_planned) return false;
    return true;
}

static sim_ns priority_of(const struct cluster_view *view, const struct task *task)
{
    const struct job_path path = job_view_path(view, task->job);
    return sim_ns_add(path.head_ns, path.tail_ns);
}

static bool comes_after(const struct cluster_view *view, const struct task *task, const struct task *other)
{
    struct job_edge edge;
    for (int32_t i = 0; job_view_need(view, task->job, i, &edge); i++)
        if (edge.from == other->job) return true;
    return false;
}

/* Marks the critical path: one of the longest, the oldest jobs of it where several are. Needs are older. */
static void mark_critical(const struct heft *heft, const struct cluster_view *view)
{
    sim_ns longest_ns = 0;
    const struct task *end = NULL;
    for (size_t i = 0; i < heft->n; i++) longest_ns = later(longest_ns, priority_of(view, heft->tasks[i]));
    for (size_t i = 0; i < heft->n; i++) {
        struct task *task = heft->tasks[i];
        task->is_critical = priority_of(view, task) == longest_ns && (end == NULL || comes_after(view, task, end));
        if (task->is_critical) end = task;
    }
}

/* The element that runs the jobs of the critical path in the least time. */
static int32_t critical_element(const struct heft *heft)
{
    int32_t best = NO_ELEMENT;
    double least = (double)INFINITY;
    for (int32_t i = 0; i < heft->n_elements; i++) {
        double sum = 0;
        for (size_t k = 0; k < heft->n; k++)
            if (heft->tasks[k]->is_critical && heft->tasks[k]->job->gpus > 0)
                sum += time_on(heft, heft->tasks[k]->job, i);
        if (!(sum < least)) continue;
        least = sum;
        best = i;
    }
    return best;
}

/* A job without GPUs runs as soon as its needs have ended, on no element. */
static struct slot slot_of(const struct heft *heft, const struct cluster_view *view, const struct task *task,
                           int32_t critical)
{
    if (task->job->gpus == 0) {
        const sim_ns start_ns = data_ns(heft, view, task->job, NO_ELEMENT);
        return (struct slot){NO_ELEMENT, start_ns, sim_ns_add(start_ns, task->job->estimate_ns)};
    }
    if (critical != NO_ELEMENT && task->is_critical) return slot_on(heft, view, task->job, critical);
    return best_slot(heft, view, task->job, (enum choice)heft->params.choice);
}

/* --- Orders by least start and finish: the slots of open jobs are kept --- */

static bool keeps_offers(const struct heft *heft)
{
    return heft->params.order == LEAST_START || heft->params.order == LEAST_FINISH;
}

static double lateness_of(const struct heft *heft, struct slot slot)
{
    return (double)(heft->params.order == LEAST_START ? slot.start_ns : slot.finish_ns);
}

/* The first element of those with the least. */
static void choose_best(const struct heft *heft, struct task *task)
{
    task->best = (struct slot){.element = NO_ELEMENT};
    task->lateness = lateness_of(heft, task->best);
    for (int32_t i = 0; i < heft->n_elements; i++) {
        const struct offer offer = task->offers[i];
        if (offer.time_ns < 0) continue;
        const struct slot slot = {i, offer.start_ns, sim_ns_add(offer.start_ns, offer.time_ns)};
        if (task->best.element != NO_ELEMENT && !(lateness_of(heft, slot) < task->lateness)) continue;
        task->best = slot;
        task->lateness = lateness_of(heft, slot);
    }
}

static void offer_all(const struct heft *heft, const struct cluster_view *view, struct task *task)
{
    for (int32_t i = 0; i < heft->n_elements; i++) {
        const double time = time_on(heft, task->job, i);
        task->offers[i].time_ns = isinf(time) ? -1 : (sim_ns)llround(time);
        if (!isinf(time)) task->offers[i].start_ns = slot_on(heft, view, task->job, i).start_ns;
    }
    choose_best(heft, task);
}

/* The slot of another task on its element once the placed one is in the plan. A slot only moves to a later time, and
 * only if the placed task overlaps it; the tasks before that have no gap for it. Returns whether it moves. */
static bool has_moved(const struct heft *heft, const struct task *placed, struct offer *offer)
{
    const sim_ns before_ns = offer->start_ns;
    if (offer->time_ns < 0 || placed->finish_ns <= before_ns) return false;
    if (!heft->params.insertion)
        offer->start_ns = placed->finish_ns;
    else if (placed->start_ns < sim_ns_add(before_ns, offer->time_ns))
        offer->start_ns = free_ns(heft, placed, before_ns, offer->time_ns);
    return offer->start_ns != before_ns;
}

/* A job's best element stays its best where another one's slot moves: that one only gets worse. */
static void move_offers(const struct heft *heft, const struct task *placed)
{
    const int32_t element = placed->element;
    for (size_t i = 0; i < heft->n; i++) {
        struct task *task = heft->tasks[i];
        if (task->is_planned || !task->is_open || task->job->gpus == 0) continue;
        if (has_moved(heft, placed, &task->offers[element]) && task->best.element == element) choose_best(heft, task);
    }
}

/* --- The next job --- */

/* The job's needs are planned now. */
static void open_task(const struct heft *heft, const struct cluster_view *view, struct task *task)
{
    task->is_open = true;
    switch ((enum order)heft->params.order) {
    case UPWARD_RANK: task->lateness = -(double)job_view_path(view, task->job).tail_ns; return;
    case CRITICAL_PATH: task->lateness = -(double)priority_of(view, task); return;
    case SUBMISSION: task->lateness = 0; return; /* all alike: the oldest */
    case LEAST_START: break;
    case LEAST_FINISH: break;
    }
    if (task->job->gpus > 0) {
        offer_all(heft, view, task);
        return;
    }
    task->best = slot_of(heft, view, task, NO_ELEMENT);
    task->lateness = lateness_of(heft, task->best);
}

static struct task *next_task(const struct heft *heft, const struct cluster_view *view)
{
    struct task *next = NULL;
    for (size_t i = 0; i < heft->n; i++) {
        struct task *task = heft->tasks[i];
        if (task->is_planned || (!task->is_open && !has_needs_planned(view, task))) continue;
        if (!task->is_open) open_task(heft, view, task);
        if (next == NULL || task->lateness < next->lateness) next = task;
    }
    return next;
}

static int prepare_tasks(struct heft *heft, const struct cluster_view *view)
{
    int code = list_tasks(heft, view);
    if (code != 0 || !keeps_offers(heft)) return code;
    const size_t n_elements = (size_t)heft->n_elements;
    code = vec_reserve(&heft->offers, &heft->offers_capacity, heft->n * n_elements);
    for (size_t i = 0; i < heft->n && code == 0; i++) heft->tasks[i]->offers = heft->offers + i * n_elements;
    return code;
}

static int plan_all(struct heft *heft, const struct cluster_view *view)
{
    const int code = prepare_tasks(heft, view);
    int32_t critical = NO_ELEMENT;
    if (heft->params.order == CRITICAL_PATH && code == 0) {
        mark_critical(heft, view);
        critical = critical_element(heft);
    }
    for (struct task *task; code == 0 && (task = next_task(heft, view)) != NULL;) {
        const struct slot slot = keeps_offers(heft) ? task->best : slot_of(heft, view, task, critical);
        task->is_planned = true;
        task->element = slot.element;
        task->start_ns = slot.start_ns;
        task->finish_ns = slot.finish_ns;
        if (slot.element == NO_ELEMENT) continue;
        put(heft, task);
        if (keeps_offers(heft)) move_offers(heft, task);
    }
    return code;
}

/* --- Doing it --- */

static void heft_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct heft *heft = state;
    struct task *task = task_of(note->job);
    if (!heft->has_elements) line_notify(&heft->line, view, note);
    if (heft->has_elements) cpu_jobs_notify(&heft->line.cpu_jobs, note, &task->line_job.ranked);
    if (!heft->has_elements || note->job->gpus == 0) return;
    task->is_ready = note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT;
    if (note->event == JOB_EVENT_SUBMIT) heft->latest = note->job;
    if (note->event != JOB_EVENT_FINISH) return;
    struct task **at = &heft->first[task->element];
    while (*at != task) at = &(*at)->next;
    *at = task->next;
}

/* Starts what is first in the plan of an element once its data is there. */
static void start_on(struct heft *heft, const struct cluster_view *view, int32_t element, struct job_plan *plan)
{
    const struct task *task = heft->first[element];
    if (task == NULL || !task->is_ready) return;
    const sim_ns there_ns = data_ns(heft, view, task->job, element);
    const struct job_grant grant = {.gpus = task->job->gpus, .node_type = element};
    if (there_ns > view->now_ns)
        job_plan_wake_at(plan, there_ns);
    else if (heft->elements[element]->free_gpus >= task->job->gpus)
        job_plan_start_as(plan, task->job, &grant, order_names[heft->params.order]);
}

/* Without elements there is no plan, and the order is that of the ready jobs. */
static double rank_of(const void *state, const struct cluster_view *view, const struct job_view *job)
{
    const struct heft *heft = state;
    const struct job_path path = job_view_path(view, job);
    switch ((enum order)heft->params.order) {
    case UPWARD_RANK: return -(double)path.tail_ns;
    case CRITICAL_PATH: return -(double)sim_ns_add(path.head_ns, path.tail_ns);
    case LEAST_FINISH: return (double)path.own_ns;
    case LEAST_START: break;
    case SUBMISSION: break;
    }
    return (double)job->sequence;
}

static int heft_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct heft *heft = state;
    if (!heft->has_elements)
        return line_start(&heft->line, view, plan, rank_of, heft, true, order_names[heft->params.order]);
    int code = cpu_jobs_start(&heft->line.cpu_jobs, view, true, plan);
    if (code == 0 && heft->latest != NULL) code = plan_all(heft, view);
    heft->latest = NULL;
    for (int32_t i = 0; i < heft->n_elements && code == 0; i++) start_on(heft, view, i, plan);
    return code;
}

static int heft_prepare(void *state, const struct cluster_view *view, struct diag *diag)
{
    struct heft *heft = state;
    (void)diag;
    heft->has_elements = true;
    for (const struct cluster_view *type = view; type != NULL; type = type->next_type) {
        heft->has_elements = heft->has_elements && type->total_gpus == 1 && heft->n_elements < MOST_ELEMENTS;
        if (heft->has_elements) heft->elements[heft->n_elements++] = type;
    }
    return 0;
}

static void heft_fini(void *state)
{
    struct heft *heft = state;
    line_fini(&heft->line);
    mem_free(heft->tasks);
    mem_free(heft->offers);
}

#define ROW_OF struct heft_params
static const struct config_field heft_fields[] = {
    ROW_CHOICE("order", order, DEFAULT("upward-rank"), order_names, "the order in which jobs are planned"),
    ROW_CHOICE("choice", choice, DEFAULT("finish"), choice_names,
               "a job's node type: the least of this; orders by least start and finish have their own"),
    ROW_BOOL("insertion", insertion, DEFAULT("true"), "use gaps between jobs planned before"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_heft = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "heft",
               .summary = "plans graphs of jobs on node types of one GPU: HEFT, CPOP, ETF, EFT, MET",
               .source = "Topcuoglu, Hariri and Wu, TPDS 13(3), 2002", .oracle = ORACLE_SPEEDS, .params = heft_fields,
               .params_bytes = sizeof(struct heft_params), .state_bytes = sizeof(struct heft), .fini = heft_fini},
    .job_bytes = sizeof(struct task),
    .notify = heft_notify,
    .decide = heft_decide,
    .prepare = heft_prepare,
    .uses_node_types = true,
};

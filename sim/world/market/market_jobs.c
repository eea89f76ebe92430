/* The scheduler of jobs that rent for themselves. On arrival the renter decides the type and number of a job's GPUs;
 * the job runs on them from the end of their start-up until it is done. If supply is short, jobs wait in the queue of
 * each offer. A job that loses its GPUs waits for the same ones again, behind the others. A job without GPUs rents
 * nothing and runs on a node with room for it. GPUs that have to start up are leased by number, not by node. If no
 * node has room for the job when they are ready, the job waits while it pays for its lease. */
#include "sim/world/jobs/job.h"
#include "sim/world/market/market_state.h"
#include "sim/world/policy/instance.h"

#include <math.h>

struct renting_state {
    struct market *market;
    int code; /* of the first failure in notify */
};

static int init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct renting_state *)state)->market = *(struct market *const *)params;
    return 0;
}

static void queue_add(struct renting_queue *queue, struct renting_job *job)
{
    job->prev = queue->last;
    job->next = NULL;
    *(queue->last != NULL ? &queue->last->next : &queue->first) = job;
    queue->last = job;
}

static void queue_remove(struct renting_queue *queue, struct renting_job *job)
{
    *(job->prev != NULL ? &job->prev->next : &queue->first) = job->next;
    *(job->next != NULL ? &job->next->prev : &queue->last) = job->prev;
}

static struct offer_state *offer_of(struct market *market, const struct renting_job *job)
{
    return &market->states[job->rental.offer];
}

static void wait_for_supply(struct market *market, struct renting_job *job)
{
    queue_add(&offer_of(market, job)->waiting, job);
}

/* --- What the renter wants for a job --- */

static int fault(const struct market *market, const struct renting_job *job, const char *problem)
{
    const struct rental *rental = &job->rental;
    return diag_error(market->env.site->diag, SIM_E_POLICY, "market.renting", NULL,
                      "policy '%s' rents %.6g GPUs of offer %d for job %lld%s, at %.15g s", market->renter->policy.name,
                      rental->gpus, rental->offer, (long long)job->view->id, problem,
                      sim_s_from_ns(market->view.now_ns));
}

/* Why the job can never hold its rental; NULL: it can. */
static const char *obstacle_of(const struct market *market, const struct cluster_view *view,
                               const struct renting_job *job)
{
    const struct rental *rental = &job->rental;
    const int32_t node_type = market->states[rental->offer].node_type;
    if (rental->gpus > market->offers[rental->offer].limit_gpus) return "its offer never has what it rents for";
    for (int32_t type = node_type; type > 0; type--) view = view->next_type;
    if (!(job_view_speed_on(view, job->view, rental->gpus) > 0)) return "it cannot run on what it rents for";
    if (!job_is_possible_on(job_of(job->view), node_type, rental->gpus))
        return "no node ever has room for what it rents for";
    return NULL;
}

/* A rental that never comes rejects its job. */
static int check_rental(const struct market *market, const struct cluster_view *view, struct renting_job *job)
{
    const struct rental *rental = &job->rental;
    if (rental->offer < 0 || rental->offer >= market->view.n_offers)
        return fault(market, job, ", which does not exist");
    if (!(rental->gpus * GPU_MICRO >= 1)) return fault(market, job, "");
    job_of(job->view)->jobs->obstacle = obstacle_of(market, view, job);
    return 0;
}

static int ask(struct market *market, const struct cluster_view *view, struct renting_job *job)
{
    struct rng rng;
    int code = market_supply_look(market, view->now_ns);
    if (code != 0) return code;
    rng_init(&rng, market->env.site->seed, market->env.site->run, "renting", (uint64_t)job->view->sequence);
    market->view.random = &rng;
    market->view.now_ns = view->now_ns;
    for (int32_t i = 0; i < market->view.n_offers; i++) {
        market->offers[i].free_gpus = market_free_gpus(market, i);
        market->offers[i].limit_gpus = market_most_gpus(market, i);
        market->offers[i].usd_per_h = (double)price_at(&market->ledger.accounts[i].billing, view->now_ns) / PRICE_MICRO;
    }
    code = market->renter->rent(market->renter_state, &market->view, job->view, &job->rental);
    market->view.random = NULL;
    if (code < 0) return policy_failed(&market->renter->policy, "rent", code, view->now_ns, market->env.site->diag);
    return check_rental(market, view, job);
}

/* --- Lines --- */

static int leave_lease(struct market *market, struct renting_job *job, const char *action)
{
    const sim_ns now = engine_now(market->env.site->engine);
    struct lease *lease = job->lease;
    job->lease = NULL;
    return lease != NULL ? market_return(market, lease, action, now) : 0;
}

static void notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct renting_state *renting = state;
    struct market *market = renting->market;
    struct renting_job *job = job_view_slot(note->job);
    int code = 0;
    if (note->event == JOB_EVENT_SUBMIT) job->view = note->job;
    if (note->job->gpus == 0) {
        if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) queue_add(&market->without_gpus, job);
    } else if (note->event == JOB_EVENT_SUBMIT) {
        code = ask(market, view, job);
        if (code == 0 && job_of(note->job)->jobs->obstacle == NULL) wait_for_supply(market, job);
    } else if (note->event == JOB_EVENT_PREEMPT) {
        code = leave_lease(market, job, "lose");
        wait_for_supply(market, job);
    } else if (note->event == JOB_EVENT_FINISH) {
        code = leave_lease(market, job, "return");
    }
    if (code < 0 && renting->code == 0) renting->code = code;
}

static void wait_for_start_up(struct offer_state *state, struct renting_job *job)
{
    queue_add(&state->starting, job);
    state->starting_ugpus += job->lease->micro_gpus;
}

static void leave_start_up(struct offer_state *state, struct renting_job *job)
{
    queue_remove(&state->starting, job);
    state->starting_ugpus -= job->lease->micro_gpus;
}

/* The number in the site of the node with all of the job's GPUs; -1: none. */
static int64_t node_of(const struct job *job, const struct cluster *part)
{
    const struct allocation *allocation = job->holder.held;
    return allocation != NULL && allocation->next == NULL ? part->first_node + allocation->node : -1;
}

/* Starts a job on its rented GPUs. Returns whether its nodes have room. */
static bool start(const struct offer_state *state, struct job_plan *plan, const struct renting_job *job)
{
    const struct job_grant grant = {.gpus = job->rental.gpus, .node_type = state->node_type};
    return job_plan_start_as(plan, job->view, &grant, "its GPUs are rented");
}

/* GPUs without a start-up are leased when their job starts; others before their node is known. */
static int lease_waiting(struct market *market, struct job_plan *plan, int32_t offer, sim_ns now)
{
    struct offer_state *state = &market->states[offer];
    const bool at_once = market->offers[offer].start_up_ns == 0;
    struct renting_job *job;
    while ((job = state->waiting.first) != NULL && job->rental.gpus <= market_free_gpus(market, offer)) {
        if (at_once && !start(state, plan, job)) return 0;
        const int code = market_lease(market, job, now);
        if (code < 0) return code;
        queue_remove(&state->waiting, job);
        if (at_once)
            job->lease->node = node_of(job_of(job->view), state->part);
        else
            wait_for_start_up(state, job);
    }
    return 0;
}

static void start_ready(struct offer_state *state, struct job_plan *plan, sim_ns now)
{
    struct renting_job *job;
    while ((job = state->starting.first) != NULL && job->lease->ready_ns <= now) {
        if (!start(state, plan, job)) return;
        leave_start_up(state, job);
        job->lease->node = node_of(job_of(job->view), state->part);
    }
    if (job != NULL) job_plan_wake_at(plan, job->lease->ready_ns);
}

/* Whether any node type has room. */
static bool start_somewhere(const struct market *market, struct job_plan *plan, const struct renting_job *job)
{
    struct job_grant grant = {0};
    for (const struct cluster *part = market->env.cluster; part != NULL; part = part->next, grant.node_type++)
        if (job_plan_start_as(plan, job->view, &grant, "it needs no GPUs")) return true;
    return false;
}

static void start_without_gpus(struct market *market, struct job_plan *plan)
{
    struct renting_job *next;
    for (struct renting_job *job = market->without_gpus.first; job != NULL; job = next) {
        next = job->next;
        if (start_somewhere(market, plan, job)) queue_remove(&market->without_gpus, job);
    }
}

static int decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct renting_state *renting = state;
    struct market *market = renting->market;
    int code = renting->code;
    if (code == 0) code = market_supply_catch_up(market, view->now_ns);
    for (int32_t i = 0; i < market->view.n_offers && code == 0; i++) {
        code = lease_waiting(market, plan, i, view->now_ns);
        start_ready(&market->states[i], plan, view->now_ns);
    }
    start_without_gpus(market, plan);
    market_supply_watch(market);
    return code;
}

static int evict(struct market *market, struct renting_job *job, sim_ns now)
{
    struct job *running = job_of(job->view);
    const double lost_gpu_s = running->lost_gpu_s;
    market->n_free_interruptions += !job_checkpoint_is_taken(running) && !job_checkpoint_keeps_saved(running);
    const int code = job_evict(running, now, offer_of(market, job)->config->spot.notice_ns, "loses its spot GPUs:");
    market->lost_gpu_s += running->lost_gpu_s - lost_gpu_s;
    return code;
}

int market_jobs_interrupt(struct market *market, struct renting_job *job, sim_ns now)
{
    market->n_interruptions++;
    if (job->view->state == JOB_RUNNING) return evict(market, job, now);
    leave_start_up(offer_of(market, job), job);
    const int code = leave_lease(market, job, "lose");
    wait_for_supply(market, job);
    return code;
}

/* The mean life of a lease, whatever its age. A job that can save within the notice loses only what it does meanwhile.
 * That it may hang then is left out. */
static struct holder_risk risk(const struct watcher *watcher, const struct holder *holder)
{
    struct market *market = OWNER_ENTITY(watcher, struct market, watcher);
    const struct job *job = OWNER_ENTITY(holder, const struct job, holder);
    const struct renting_job *renting = job_view_slot(&job->view);
    const struct holder_risk none = {(double)INFINITY, 0.0};
    if (market->offers[renting->rental.offer].kind != OFFER_SPOT) return none;
    const struct spot_config *spot = &offer_of(market, renting)->config->spot;
    if (isnan(spot->mean_life_s) || job_checkpoint_save_ns(job) <= spot->notice_ns) return none;
    return (struct holder_risk){spot->mean_life_s, 0.0};
}

const struct watcher_ops market_jobs_watcher_ops = {.risk = risk};

void market_jobs_request_decision(struct market *market)
{
    for (int32_t i = 0; i < market->view.n_offers; i++) {
        const struct renting_job *job = market->states[i].waiting.first;
        if (job == NULL) continue;
        jobs_request_decision(job_of(job->view)->jobs);
        return;
    }
}

const struct scheduler market_jobs_scheduler = {
    .policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler), .family = POLICY_SCHEDULER, .name = "market",
               .summary = "jobs run on what they rent", .source = "", .state_bytes = sizeof(struct renting_state),
               .init = init},
    .job_bytes = sizeof(struct renting_job),
    .notify = notify,
    .decide = decide,
    .uses_node_types = true,
    .ignores_estimates = true,
};

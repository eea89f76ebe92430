/* Themis (Mahajan et al., NSDI 2020): finish-time fairness by auctions of leases. For job i let
 *
 *     rho = (age + time to the end with its GPUs) / run time alone
 *
 * At the multiples of a round, free GPUs and those whose lease has ended are offered to the worst jobs, the share 1
 * - `fairness` of those without a lease, at least one. A job bids all the GPUs that it requested or none. Its value
 * is 1 / rho, with one more round of waiting if it gets none. The partial allocation mechanism (Cole, Gkatzelis and
 * Goel, EC 2013) takes the allocation with the largest product of values. A winner keeps only the part
 *
 *     c = product of the others' values now / product of the others' values if it had not bid
 *
 * so that no job gains by a false bid. GPUs of one job cannot be divided here, so c shortens its lease. GPUs that
 * are left go to the other jobs, the worst first. Run times are users' estimates. Agents, tuning of hyperparameters
 * and placement in bids are left out. Jobs keep their batch size. */
#include "policies/declared.h"
#include "policies/scheduler/goodput/elastic.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>

struct themis_params {
    struct elastic_params elastic;
    double fairness;
    sim_ns lease_ns;
};

struct bidder {
    struct elastic_job *job;
    double rho, gain; /* fairness without GPUs; logarithm of the value of GPUs over that of none */
};

struct themis {
    struct elastic elastic; /* first */
    struct themis_params params;
    struct bidder *bidders;
    size_t n, capacity;
    int64_t left;
    double *best;  /* [left + 1]: sums of gains */
    bool *taken;   /* [bidders][left + 1] */
    size_t best_capacity, taken_capacity;
};

/* Fairness when the job gets its GPUs after this wait. */
static double rho_after(const struct cluster_view *view, const struct elastic_job *job, double wait_s)
{
    const double age_s = sim_s_from_ns(view->now_ns - job->view->submit_ns);
    const double alone_s = fmax(sim_s_from_ns(job->view->estimate_ns), 1);
    return (age_s + wait_s + elastic_left_s(view, job)) / alone_s;
}

static int by_rho(const void *one, const void *other)
{
    const struct bidder *a = one, *b = other;
    if (a->rho != b->rho) return a->rho > b->rho ? -1 : 1;
    return a->job->view->sequence < b->job->view->sequence ? -1 : 1;
}

/* Jobs with a lease keep their GPUs; the others are listed, the worst first. */
static int list_bidders(struct themis *themis, const struct cluster_view *view)
{
    struct elastic *elastic = &themis->elastic;
    const double round_s = sim_s_from_ns(elastic->params.round_ns);
    const int code = vec_reserve(&themis->bidders, &themis->capacity, elastic->n);
    themis->n = 0;
    themis->left = elastic->gpus[0];
    for (size_t i = 0; code == 0 && i < elastic->n; i++) {
        struct elastic_job *job = elastic->jobs[i];
        if (job->view->state == JOB_RUNNING && view->now_ns < job->until_ns) {
            job->gpus = (int32_t)job->view->held_gpus;
            themis->left -= job->gpus;
            continue;
        }
        const double with = rho_after(view, job, 0), without = rho_after(view, job, round_s);
        themis->bidders[themis->n++] = (struct bidder){.job = job, .rho = without, .gain = log(without / with)};
    }
    if (themis->n > 1) qsort(themis->bidders, themis->n, sizeof *themis->bidders, by_rho);
    return code;
}

/* The largest sum of gains among the first n bidders but `absent` within the GPUs left. `keeps`: notes who wins. */
static double auction(struct themis *themis, size_t n, size_t absent, bool keeps)
{
    const size_t left = (size_t)themis->left, width = left + 1;
    for (size_t g = 0; g <= left; g++) themis->best[g] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t gpus = (size_t)themis->bidders[i].job->view->gpus;
        bool *taken = &themis->taken[i * width];
        for (size_t g = left + 1; g-- > 0;) {
            const double with = g >= gpus && i != absent ? themis->best[g - gpus] + themis->bidders[i].gain : -1;
            if (keeps) taken[g] = with > themis->best[g];
            if (with > themis->best[g]) themis->best[g] = with;
        }
    }
    return themis->best[left];
}

static void lease(struct themis *themis, const struct cluster_view *view, const struct bidder *bidder, double part)
{
    struct elastic_job *job = bidder->job;
    const double lease_s = fmax(sim_s_from_ns(themis->params.lease_ns) * part,
                                sim_s_from_ns(themis->elastic.params.round_ns));
    job->gpus = job->view->gpus;
    job->until_ns = sim_ns_add(view->now_ns, sim_ns_from_s(lease_s));
    themis->left -= job->gpus;
}

/* Winners pay what the others lose by them. */
static void settle(struct themis *themis, const struct cluster_view *view, size_t n, double sum)
{
    const size_t width = (size_t)themis->left + 1;
    size_t g = (size_t)themis->left;
    for (size_t i = n; i-- > 0;) {
        const struct bidder *bidder = &themis->bidders[i];
        if (!themis->taken[i * width + g]) continue;
        g -= (size_t)bidder->job->view->gpus;
        bidder->job->gpus = -1; /* a winner, until all payments are known */
    }
    const int64_t offered = themis->left;
    for (size_t i = 0; i < n; i++) {
        const struct bidder *bidder = &themis->bidders[i];
        if (bidder->job->gpus >= 0) continue;
        const int64_t rest = themis->left;
        themis->left = offered;
        const double part = exp(sum - bidder->gain - auction(themis, n, i, false));
        themis->left = rest;
        lease(themis, view, bidder, fmin(part, 1));
    }
}

static int hold_auction(struct themis *themis, const struct cluster_view *view, size_t n)
{
    const size_t width = (size_t)themis->left + 1;
    int code = vec_reserve(&themis->best, &themis->best_capacity, width);
    if (code == 0) code = vec_reserve(&themis->taken, &themis->taken_capacity, n * width);
    if (code == 0) settle(themis, view, n, auction(themis, n, n, true));
    return code;
}

/* At most so many jobs bid, which bounds the cost of an auction. */
enum { MOST_BIDDERS = 64, MOST_OFFERED = 4096 };

static int choose(struct elastic *elastic, const struct cluster_view *view)
{
    struct themis *themis = (struct themis *)elastic;
    int code = list_bidders(themis, view);
    size_t n = (size_t)ceil((1 - themis->params.fairness) * (double)themis->n);
    if (n == 0 && themis->n > 0) n = 1;
    if (n > MOST_BIDDERS) n = MOST_BIDDERS;
    if (code == 0 && themis->left > 0 && themis->left <= MOST_OFFERED) code = hold_auction(themis, view, n);
    for (size_t i = 0; code == 0 && i < themis->n; i++) {
        const struct elastic_job *job = themis->bidders[i].job;
        if (job->gpus == 0 && job->view->gpus <= themis->left) lease(themis, view, &themis->bidders[i], 1);
    }
    return code;
}

static const struct elastic_rule rule = {.choose = choose, .is_gang = true, .one_type = true,
                                         .stops = "its lease has ended", .starts = "it has a lease"};

static int themis_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct themis *themis = state;
    themis->params = *(const struct themis_params *)params;
    elastic_init(&themis->elastic, &rule, &themis->params.elastic);
    return 0;
}

static void themis_fini(void *state)
{
    struct themis *themis = state;
    mem_free(themis->bidders);
    mem_free(themis->best);
    mem_free(themis->taken);
    elastic_fini(state);
}

#define ROW_OF struct themis_params
static const struct config_field themis_fields[] = {
    ELASTIC_ROWS(elastic., "60s"),
    ROW_REAL("fairness", fairness, DEFAULT("0.8"), WITHIN(0, 1), "share of the jobs, those treated best, that do not bid"),
    ROW_TIME("lease", lease_ns, DEFAULT("20min"), AT_LEAST(1e-3), "longest lease"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_themis = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "themis",
               .summary = "auctions of leases among the jobs whose finish times are least fair; all requested GPUs or none",
               .source = "Mahajan et al., Themis (NSDI 2020)",
               .oracle = ORACLE_SPEEDS,
               .params = themis_fields,
               .params_bytes = sizeof(struct themis_params),
               .state_bytes = sizeof(struct themis),
               .init = themis_init,
               .fini = themis_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
};

/* ElasticFlow (Gu et al., ASPLOS 2023): jobs get at least the GPUs that they need to keep their deadlines, their
 * minimum satisfactory share, and a job is admitted only if it and all admitted ones can keep theirs.
 *
 * Time is cut into slots of a round. Progressive filling serves jobs in order of deadlines. For each it takes the
 * least power of two k such that min(k, GPUs left in the slot) in every slot up to the deadline does the remaining
 * work, by users' estimates. Speeds on these GPUs are those of the job. A job that trains by a plan holds the whole
 * ranks on 2^k GPUs. What the jobs hold in the first slot is
 * what they get now.
 *
 * GPUs that are left double the share of the job that saves most GPU time by it, per GPU:
 *
 *     GPU time = k slot + m (left - speed(k) slot) / speed(m),  m: the fewest on which it runs
 *
 * Whether a new job is admitted shows when it and the promises after its deadline are filled again; those before keep
 * what they have. GPUs that are left behind every STRIDE promises are kept for that.
 *
 * Jobs that are not admitted, have no deadline or cannot keep it any more run with what is left: m GPUs each in
 * order of submission before any share is doubled. ElasticFlow drops the first of these. Its placement by buddies,
 * and the cost of scaling in its plan, are left out. The cluster's own nodes only.
 *
 * Each new job fills the promises after its deadline again, slot by slot, as the paper's admission does. So a round of
 * n new jobs takes time in proportion to n^2 slots: 368 million instructions for 1,000 jobs of tests/bench/rounds.c,
 * and 1,521 million for 2,000. In a round with few new jobs it is their number times n slots. */
#include "policies/declared.h"
#include "policies/scheduler/goodput/elastic.h"
#include "policies/scheduler/goodput/gains.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 4096, MOST_POWERS = 31, STRIDE = 16 };

/* The whole ranks of a job on 2^k GPUs. */
struct width {
    double work_s; /* in a slot */
    int32_t gpus;
};

struct promise {
    struct elastic_job *job;
    double left_s;
    bool is_new;
    int32_t share;              /* k of its filling; 0: none suffices */
    int32_t slots, powers;      /* whole slots before the deadline; k may be 1, 2, 4 ... of so many powers */
    struct width *widths;       /* [powers] */
};

struct elasticflow {
    struct elastic elastic; /* first */
    struct gains gains;
    struct promise *promises; /* [n] jobs with deadlines that are admitted or new, the earliest deadline first */
    size_t n, capacity;
    int32_t *left;            /* [MOST_SLOTS]: GPUs left */
    int32_t slots;            /* most of any promise */
    int32_t *kept;            /* [n / STRIDE + 1][slots]: GPUs left by the first 0, STRIDE, 2 STRIDE ... promises */
    struct width *widths;     /* of all promises */
    size_t kept_capacity, widths_capacity;
    int64_t n_refused;
};

/* Deadline jobs use until_ns of their slot: 0: new, 1: admitted, 2: not admitted. */
enum { IS_NEW, IS_ADMITTED, IS_REFUSED };

static int by_deadline(const void *one, const void *other)
{
    const struct job_view *a = ((const struct promise *)one)->job->view,
                          *b = ((const struct promise *)other)->job->view;
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns ? -1 : 1;
    return a->sequence < b->sequence ? -1 : 1;
}

/* Whole slots before the deadline. */
static int32_t slots_of(const struct elasticflow *flow, const struct cluster_view *view, const struct elastic_job *job)
{
    const sim_ns until_ns = job->view->deadline_ns - view->now_ns;
    const sim_ns n = until_ns > 0 ? until_ns / flow->elastic.params.round_ns : 0;
    return n < MOST_SLOTS ? (int32_t)n : MOST_SLOTS;
}

/* Index of the largest power of two that is at most `gpus`, which is at least 1. */
static int32_t power_within(int32_t gpus)
{
    return 31 - __builtin_clz((unsigned)gpus);
}

/* GPUs that a job holds of 2^p. */
static int32_t width_of(const struct elastic_job *job, int32_t p)
{
    return elastic_whole_ranks(job, (int32_t)1 << p);
}

static void describe(struct elasticflow *flow, const struct cluster_view *view, struct promise *promise,
                     struct width *widths)
{
    const struct elastic *elastic = &flow->elastic;
    const double slot_s = sim_s_from_ns(elastic->params.round_ns);
    const int32_t most = elastic_most_gpus(elastic, promise->job, 0);
    promise->slots = slots_of(flow, view, promise->job);
    promise->powers = most > 0 ? power_within(most) + 1 : 0;
    promise->widths = widths;
    for (int32_t p = 0; p < promise->powers; p++) {
        const int32_t gpus = width_of(promise->job, p);
        widths[p] = (struct width){elastic_speed(elastic, promise->job, 0, gpus) * slot_s, gpus};
    }
    if (promise->slots > flow->slots) flow->slots = promise->slots;
}

static int list_promises(struct elasticflow *flow, const struct cluster_view *view)
{
    struct elastic *elastic = &flow->elastic;
    int code = vec_reserve(&flow->promises, &flow->capacity, elastic->n);
    if (code == 0) code = vec_reserve(&flow->widths, &flow->widths_capacity, elastic->n * MOST_POWERS);
    flow->n = 0;
    flow->slots = 0;
    for (size_t i = 0; code == 0 && i < elastic->n; i++) {
        struct elastic_job *job = elastic->jobs[i];
        if (job->view->deadline_ns == SIM_NS_MAX || job->until_ns == IS_REFUSED) continue;
        flow->promises[flow->n++] = (struct promise){.job = job, .left_s = elastic_left_s(view, job),
                                                     .is_new = job->until_ns == IS_NEW};
    }
    if (flow->n > 1) qsort(flow->promises, flow->n, sizeof *flow->promises, by_deadline);
    for (size_t i = 0; code == 0 && i < flow->n; i++)
        describe(flow, view, &flow->promises[i], flow->widths + i * MOST_POWERS);
    if (code == 0)
        code = vec_reserve(&flow->kept, &flow->kept_capacity, (flow->n / STRIDE + 1) * (size_t)flow->slots + 1);
    return code;
}

/* GPUs of the job in slot t if it has at most 2^p, as index of the power; -1: none, or too few to run. */
static int32_t power_in(const struct elasticflow *flow, const struct promise *promise, int32_t t, int32_t p)
{
    const int32_t left = flow->left[t];
    if (left < 1) return -1;
    const struct width *widths = promise->widths;
    int32_t power = widths[p].gpus <= left ? p : power_within(left);
    if (power < p && widths[power + 1].gpus <= left) power++;
    return widths[power].work_s > 0 ? power : -1;
}

/* Work that at most 2^p GPUs do in the slots before the deadline, of as many as are needed. */
static double work_of(const struct elasticflow *flow, const struct promise *promise, int32_t p)
{
    double work_s = 0;
    for (int32_t t = 0; t < promise->slots && work_s < promise->left_s; t++) {
        const int32_t power = power_in(flow, promise, t, p);
        if (power >= 0) work_s += promise->widths[power].work_s;
    }
    return work_s;
}

/* Takes these GPUs; `takes`: the job gets those of the first slot. */
static void fill(struct elasticflow *flow, const struct promise *promise, int32_t p, bool takes)
{
    double work_s = 0;
    for (int32_t t = 0; t < promise->slots && work_s < promise->left_s; t++) {
        const int32_t power = power_in(flow, promise, t, p), gpus = power >= 0 ? promise->widths[power].gpus : 0;
        if (power >= 0) work_s += promise->widths[power].work_s;
        flow->left[t] -= gpus;
        if (t == 0 && takes) promise->job->gpus = gpus;
    }
}

/* Whether so many GPUs suffice even if all slots have them, apart from rounding errors. */
static bool may_suffice(const struct promise *promise, int32_t p)
{
    double most_s = 0;
    for (int32_t i = 0; i <= p; i++) most_s = fmax(most_s, promise->widths[i].work_s);
    return most_s * promise->slots * (1 + 1e-9) >= promise->left_s;
}

/* The least power of the share of a job; -1: it cannot keep its deadline. */
static int32_t share_of(const struct elasticflow *flow, const struct promise *promise)
{
    for (int32_t p = 0; p < promise->powers; p++)
        if (may_suffice(promise, p) && work_of(flow, promise, p) >= promise->left_s) return p;
    return -1;
}

/* Fills a promise. Returns its share, or 0. */
static int32_t fill_one(struct elasticflow *flow, const struct promise *promise, bool takes)
{
    const int32_t p = share_of(flow, promise);
    if (p >= 0) fill(flow, promise, p, takes);
    return p >= 0 ? (int32_t)1 << p : 0;
}

static size_t slots_bytes(const struct elasticflow *flow)
{
    return (size_t)flow->slots * sizeof *flow->left;
}

/* Keeps the GPUs that are left before promise i, if i is a multiple of STRIDE. */
static void keep_left(struct elasticflow *flow, size_t i)
{
    if (i % STRIDE == 0 && flow->slots > 0)
        memcpy(flow->kept + i / STRIDE * (size_t)flow->slots, flow->left, slots_bytes(flow));
}

/* Fills the promises from `first` on, but no new ones, and keeps their shares. `takes`: jobs get the GPUs of the first
 * slot. */
static void fill_from(struct elasticflow *flow, size_t first, bool takes)
{
    for (size_t i = first; i < flow->n; i++) {
        struct promise *promise = &flow->promises[i];
        keep_left(flow, i);
        if (!promise->is_new) promise->share = fill_one(flow, promise, takes);
    }
}

/* The first promise of the stretch with promise i; sets the GPUs that those before it leave. */
static size_t rewind_to(struct elasticflow *flow, size_t i)
{
    const size_t first = i / STRIDE * STRIDE;
    if (flow->slots > 0) memcpy(flow->left, flow->kept + first / STRIDE * (size_t)flow->slots, slots_bytes(flow));
    return first;
}

/* Whether the new promise at `at` can be kept beside the admitted ones, of which each keeps what it could before. */
static bool fits(struct elasticflow *flow, size_t at)
{
    for (size_t i = rewind_to(flow, at); i < flow->n; i++) {
        const struct promise *promise = &flow->promises[i];
        if (promise->is_new && i != at) continue;
        if (fill_one(flow, promise, false) == 0 && (i == at || promise->share > 0)) return false;
    }
    return true;
}

static void fill_all(struct elasticflow *flow, bool takes)
{
    for (int32_t t = 0; t < flow->slots; t++) flow->left[t] = (int32_t)flow->elastic.gpus[0];
    fill_from(flow, 0, takes);
}

static int by_submission(const void *one, const void *other)
{
    const struct elastic_job *a = *(struct elastic_job *const *)one, *b = *(struct elastic_job *const *)other;
    return a->view->sequence < b->view->sequence ? -1 : 1;
}

static void admit(struct elasticflow *flow)
{
    struct elastic *elastic = &flow->elastic;
    size_t n = 0;
    for (size_t i = 0; i < flow->n; i++)
        if (flow->promises[i].is_new) elastic->chosen[n++] = flow->promises[i].job;
    if (n > 1) qsort(elastic->chosen, n, sizeof *elastic->chosen, by_submission);
    fill_all(flow, false);
    for (size_t i = 0; i < n; i++) {
        struct elastic_job *job = elastic->chosen[i];
        size_t at = 0;
        while (flow->promises[at].job != job) at++;
        const bool is_kept = fits(flow, at);
        job->until_ns = is_kept ? IS_ADMITTED : IS_REFUSED;
        flow->n_refused += !is_kept;
        flow->promises[at].is_new = !is_kept;
        if (is_kept) fill_from(flow, rewind_to(flow, at), false);
    }
}

/* --- What is left --- */

/* The whole ranks on the least power of two on which the job runs; 0: none. */
static int32_t least_width(const struct elastic *elastic, const struct elastic_job *job)
{
    const int32_t most = elastic_most_gpus(elastic, job, 0);
    for (int32_t p = 0; p < MOST_POWERS && width_of(job, p) <= most; p++)
        if (elastic_speed(elastic, job, 0, width_of(job, p)) > 0) return width_of(job, p);
    return 0;
}

static double gpu_time_s(const struct elasticflow *flow, const struct elastic_job *job, double left_s, int32_t gpus)
{
    const struct elastic *elastic = &flow->elastic;
    const double slot_s = sim_s_from_ns(elastic->params.round_ns);
    const double speed = gpus > 0 ? elastic_speed(elastic, job, 0, gpus) : 0;
    const double used_s = fmin(slot_s, speed > 0 ? left_s / speed : slot_s);
    const int32_t least = least_width(elastic, job);
    return gpus * used_s + least * (left_s - speed * used_s) / elastic_speed(elastic, job, 0, least);
}

/* GPU time saved per GPU by twice as many. Further GPUs of a job that does not scale cost time: the least such job
 * comes first. */
static double gain_of(const struct elasticflow *flow, const struct elastic_job *job, double left_s)
{
    const struct elastic *elastic = &flow->elastic;
    const int32_t twice = 2 * job->gpus;
    if (twice > elastic_most_gpus(elastic, job, 0)) return -(double)INFINITY;
    if (!(elastic_speed(elastic, job, 0, twice) > elastic_speed(elastic, job, 0, job->gpus))) return -(double)INFINITY;
    return (gpu_time_s(flow, job, left_s, job->gpus) - gpu_time_s(flow, job, left_s, twice)) / job->gpus;
}

static int share_rest(struct elasticflow *flow, const struct cluster_view *view, int64_t left)
{
    struct elastic *elastic = &flow->elastic;
    struct gains *gains = &flow->gains;
    const int code = gains_begin(gains, elastic->n);
    for (size_t i = 0; code == 0 && i < elastic->n; i++) {
        struct elastic_job *job = elastic->jobs[i];
        const int32_t least = job->gpus == 0 ? least_width(elastic, job) : 0;
        if (least > 0 && least <= left) {
            job->gpus = least;
            left -= least;
        }
        const double left_s = elastic_left_s(view, job);
        if (job->gpus > 0) gains_add(gains, &(struct gain){job, gain_of(flow, job, left_s), left_s, job->gpus});
    }
    while (code == 0 && left > 0 && gains->n > 0 && gains->heap[0].value > -(double)INFINITY) {
        struct gain *top = &gains->heap[0];
        const bool fits = top->job->gpus <= left;
        if (fits) left -= top->job->gpus;
        if (fits) top->job->gpus *= 2;
        top->value = fits ? gain_of(flow, top->job, top->left_s) : -(double)INFINITY;
        gains_sift(gains);
    }
    return code;
}

static int choose(struct elastic *elastic, const struct cluster_view *view)
{
    struct elasticflow *flow = (struct elasticflow *)elastic;
    int64_t left = elastic->gpus[0];
    int code = list_promises(flow, view);
    if (code != 0) return code;
    admit(flow);
    fill_all(flow, true);
    for (size_t i = 0; i < elastic->n; i++) left -= elastic->jobs[i]->gpus;
    return share_rest(flow, view, left);
}

static const struct elastic_rule rule = {.choose = choose, .one_type = true, .stops = "its share changes",
                                         .starts = "its share keeps its deadline, or is left by others"};

static int elasticflow_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct elasticflow *flow = state;
    flow->left = mem_zalloc(MOST_SLOTS, sizeof *flow->left);
    if (flow->left == NULL) return SIM_E_NOMEM;
    elastic_init(&flow->elastic, &rule, params);
    return 0;
}

static void elasticflow_fini(void *state)
{
    struct elasticflow *flow = state;
    gains_fini(&flow->gains);
    mem_free(flow->promises);
    mem_free(flow->left);
    mem_free(flow->kept);
    mem_free(flow->widths);
    elastic_fini(state);
}

#define ROW_OF struct elastic_params
static const struct config_field elasticflow_fields[] = {ELASTIC_ROWS(, "240s"), {0}};
#undef ROW_OF

const struct scheduler scheduler_elasticflow = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "elasticflow",
               .summary = "in rounds, the fewest GPUs that keep all deadlines of admitted jobs; the rest where it saves GPU time",
               .source = "Gu et al., ElasticFlow (ASPLOS 2023)",
               .oracle = ORACLE_SPEEDS,
               .params = elasticflow_fields,
               .params_bytes = sizeof(struct elastic_params),
               .state_bytes = sizeof(struct elasticflow),
               .init = elasticflow_init,
               .fini = elasticflow_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
    .reads_deadlines = true,
};

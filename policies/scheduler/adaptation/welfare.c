#include "policies/scheduler/adaptation/welfare.h"

#include <math.h>
#include <stdbool.h>

/* Steps of the search for the bound on the longest remaining time. */
enum { STEPS = 32 };

/* The logarithm between 0 and 1 in straight lines; at 0 it is that of 1e-6, as in the artifact. */
static double log_of(double frac)
{
    static const double at[] = {-13.815510557964274, -1.6094379124341003, -0.916290731874155,
                                -0.5108256237659907, -0.2231435513142097, 0};
    const double x = frac < 0 ? 0 : frac < 1 ? frac * 5 : 5;
    const int i = x < 4 ? (int)x : 4;
    return at[i] + (x - i) * (at[i + 1] - at[i]);
}

static double utility(const struct welfare_job *job, int32_t rounds)
{
    return job->priority * log_of(job->done_frac + rounds * job->per_round_frac);
}

/* Time that is planned for the job in so many rounds: no more than its epochs take at its present speed. */
static double planned_s(const struct welfare *welfare, const struct welfare_job *job, int32_t rounds)
{
    const double most = (1 - job->done_frac) / job->per_round_frac;
    return welfare->round_s * (rounds < most ? rounds : most);
}

static double left_s(const struct welfare *welfare, const struct welfare_job *job, int32_t rounds)
{
    return fmax(0, job->remaining_s - planned_s(welfare, job, rounds));
}

double welfare_value(const struct welfare *welfare)
{
    double sum = 0, longest_s = 0;
    for (size_t j = 0; j < welfare->n; j++) {
        sum += utility(&welfare->jobs[j], welfare->jobs[j].rounds);
        longest_s = fmax(longest_s, left_s(welfare, &welfare->jobs[j], welfare->jobs[j].rounds));
    }
    if (welfare->n == 0) return 0;
    return sum / ((double)welfare->n * welfare->rounds) - welfare->penalty_per_s * longest_s;
}

static bool is_before(const struct welfare_offer *a, const struct welfare_offer *b)
{
    return a->gain != b->gain ? a->gain > b->gain : a->job < b->job;
}

static void sink(struct welfare_offer *heap, size_t n, size_t at)
{
    const struct welfare_offer offer = heap[at];
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &offer)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = offer;
}

static double gain_of(const struct welfare_job *job)
{
    return (utility(job, job->rounds + 1) - utility(job, job->rounds)) / (double)job->gpus;
}

/* Gives each job the rounds that a bound on the longest remaining time requires. Returns the GPU-rounds left; below 0:
 * they do not suffice. */
static int64_t keep_bound(struct welfare *welfare, double bound_s)
{
    int64_t left = welfare->gpus * welfare->rounds;
    for (size_t j = 0; j < welfare->n; j++) {
        struct welfare_job *job = &welfare->jobs[j];
        const double needed = ceil((job->remaining_s - bound_s) / welfare->round_s - 1e-9);
        job->rounds = job->least;
        if (needed > job->rounds) job->rounds = needed < welfare->rounds ? (int32_t)needed : welfare->rounds;
        left -= job->gpus * job->rounds;
    }
    return left;
}

/* Gives rounds to the jobs that gain most per GPU. */
static void share(struct welfare *welfare, int64_t left)
{
    struct welfare_offer *heap = welfare->heap;
    size_t n = 0;
    for (size_t j = 0; j < welfare->n; j++)
        if (welfare->jobs[j].rounds < welfare->rounds) heap[n++] = (struct welfare_offer){gain_of(&welfare->jobs[j]), j};
    for (size_t at = n / 2; at-- > 0;) sink(heap, n, at);
    while (n > 0 && heap[0].gain > 0) {
        struct welfare_job *job = &welfare->jobs[heap[0].job];
        const bool fits = job->gpus <= left;
        if (fits) {
            left -= job->gpus;
            job->rounds++;
        }
        if (fits && job->rounds < welfare->rounds)
            heap[0].gain = gain_of(job);
        else
            heap[0] = heap[--n];
        if (n > 0) sink(heap, n, 0);
    }
}

/* The value with a bound; -INFINITY: it cannot be kept. */
static double try_bound(struct welfare *welfare, double bound_s)
{
    const int64_t left = keep_bound(welfare, bound_s);
    if (left < 0) return -(double)INFINITY;
    share(welfare, left);
    return welfare_value(welfare);
}

/* The value with a bound, which becomes the best if it is that. */
static double consider(struct welfare *welfare, double bound_s, double *best)
{
    const double value = try_bound(welfare, bound_s);
    if (value > *best) {
        *best = value;
        for (size_t j = 0; j < welfare->n; j++) welfare->best[j] = welfare->jobs[j].rounds;
    }
    return value;
}

int welfare_solve(struct welfare *welfare)
{
    double low_s = 0, high_s = 0, best = -(double)INFINITY;
    for (size_t j = 0; j < welfare->n; j++) {
        low_s = fmax(low_s, left_s(welfare, &welfare->jobs[j], welfare->rounds));
        high_s = fmax(high_s, welfare->jobs[j].remaining_s);
    }
    if (consider(welfare, high_s, &best) == -(double)INFINITY) return 0;
    double feasible_s = high_s; /* the least bound that can be kept, to a step */
    for (int step = 0; step < STEPS; step++) {
        const double middle_s = (low_s + feasible_s) / 2;
        if (keep_bound(welfare, middle_s) >= 0)
            feasible_s = middle_s;
        else
            low_s = middle_s;
    }
    consider(welfare, feasible_s, &best);
    for (int step = 0; step < STEPS && high_s - feasible_s > welfare->round_s / 8; step++) {
        const double third_s = (high_s - feasible_s) / 3;
        const bool lower = consider(welfare, feasible_s + third_s, &best) >= consider(welfare, high_s - third_s, &best);
        if (lower)
            high_s -= third_s;
        else
            feasible_s += third_s;
    }
    for (size_t j = 0; j < welfare->n; j++) welfare->jobs[j].rounds = welfare->best[j];
    return 1;
}

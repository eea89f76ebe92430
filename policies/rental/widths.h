/* The number of GPUs for each class of jobs when GPUs are rented and a budget holds in the long run: the fixed-width
 * policy of "How to Rent GPUs on a Budget" (arXiv 2406.15560). A job of class i gets its width on arrival, keeps it
 * until it finishes, and never queues. No other policy within the budget has a lower mean response time.
 *
 * All classes share one price h. Each class minimises (weight h + c k) (size / s(k) + start-up) over its kinds of GPUs
 * (c: price of one GPU) and its widths k. The price h rises until the budget is spent. Smooth laws have closed forms.
 * Tables of speedups and whole GPUs leave a jump at the last price: at most one class mixes two widths, neighbours on
 * the concave hull.
 *
 * Left out: limits of supply, billing by quanta, and, if GPUs start up, widths between the points of a table. These
 * may then be better than both neighbours by about 1e-4. */
#ifndef ORRERY_POLICIES_RENTAL_WIDTHS_H
#define ORRERY_POLICIES_RENTAL_WIDTHS_H

#include "models/speedup.h"

#include <stdbool.h>

/* A kind of GPU on which jobs of a class may run. */
struct width_option {
    struct speedup speedup;
    double speed; /* of one GPU, in work per second */
    double price; /* of one GPU, in the unit of the budget; above 0 */
    double start_up_s;     /* from the job's arrival until it runs */
    bool pays_start_up;
};

struct width_class {
    double rate_per_s; /* of arrivals */
    double size;       /* mean work of a job */
    double weight;     /* of its jobs' response time in the mean to minimise; above 0 */
    double most_gpus;  /* largest width of a job; at least 1 */
    int n_options;     /* at least one */
    const struct width_option *options;
};

struct width {
    int option;
    double gpus;
};

/* A job gets `high` with probability high_frac, else `low`. In all classes but one, both are equal. */
struct width_choice {
    struct width low, high;
    double high_frac;
};

struct widths_problem {
    int n;
    const struct width_class *classes;
    double budget; /* mean spending, or the mean number of GPUs if each costs 1 */
    bool whole;    /* whole GPUs only */
};

struct widths_plan {
    double price;                 /* h: the spending that one job less in the system is worth */
    double spent;                 /* mean; below the budget only if every class has its widest */
    double least;                 /* mean with the cheapest widths: the smallest feasible budget */
    double jobs_in_system;        /* mean; divided by the sum of the rates: the mean response time */
    /* variance of the momentary spending with Poisson arrivals: the classes are M/G/inf queues */
    double spent_variance;
};

/* The width of one class at price h. It minimises (weight h + price k) (size / s(k) + start_up_s); start-up that is
 * not paid counts in the jobs' time only. Among equals the first option and the smaller width win. */
struct width width_at_price(const struct width_class *of, double price, bool whole);

/* Mean response time of a job with this width. */
double width_time_s(const struct width_class *of, struct width width);

/* Fills choices [problem->n] and the plan. False: even the cheapest widths exceed the budget, and plan->least is their
 * cost. */
bool widths_solve(const struct widths_problem *problem, struct width_choice *choices, struct widths_plan *plan);

/* The plan that results from these choices; its price stays 0. */
struct widths_plan widths_account(const struct widths_problem *problem, const struct width_choice *choices);

#endif

/* On how many GPUs to run each class of jobs when GPUs are rented and a budget holds in the long run: the fixed-width
 * policy of "How to Rent GPUs on a Budget" (arXiv 2406.15560). A job of class i gets its width on arrival, keeps it
 * until it is done and never queues; no other policy within the budget has a lower mean response time.
 *
 * One price h for all classes: each minimises (weight h + c k) (size / s(k) + start-up) over its kinds of GPUs (c:
 * what one costs) and its widths k, and h rises until the budget is spent. Smooth laws have closed forms. Tables of
 * speedups and whole GPUs leave a jump at the last price: at most one class mixes two widths, next to each other on
 * the concave hull.
 *
 * Leaves out limits of supply, billing by quanta, and, where GPUs start up, widths between the points of a table,
 * which may then be better than both by some 1e-4. */
#ifndef ORRERY_POLICIES_RENTAL_WIDTHS_H
#define ORRERY_POLICIES_RENTAL_WIDTHS_H

#include "models/speedup.h"

#include <stdbool.h>

/* A kind of GPUs that jobs of a class may run on. */
struct width_option {
    struct speedup speedup;
    double speed; /* of one of these GPUs, in work per second */
    double price; /* of one of these GPUs, in the unit of the budget; above 0 */
    double start_up_s;     /* a job's GPUs start up for so long before it runs */
    bool pays_start_up;
};

struct width_class {
    double rate_per_s; /* of arrivals */
    double size;       /* mean work of a job */
    double weight;     /* of its jobs' time in what is minimised; above 0 */
    double most_gpus;  /* no job gets more; at least 1 */
    int n_options;     /* at least one */
    const struct width_option *options;
};

struct width {
    int option;
    double gpus;
};

/* A job gets `high` with probability high_frac, else `low`. Both are the same in all classes but one. */
struct width_choice {
    struct width low, high;
    double high_frac;
};

struct widths_problem {
    int n;
    const struct width_class *classes;
    double budget; /* mean of what is paid: of GPUs, where one costs 1 */
    bool whole;    /* whole GPUs only */
};

struct widths_plan {
    double price;                 /* h: the budget that a job's presence is worth */
    double spent;                 /* mean; below the budget only where every class has its widest */
    double least;                 /* mean that is paid with the cheapest widths: less is no budget */
    double jobs_in_system;        /* mean; over the sum of the rates it is the mean response time */
    /* of what is paid at a moment, with Poisson arrivals: the classes are M/G/inf queues */
    double spent_variance;
};

/* The width of one class at price h: what minimises (weight h + price k) (size / s(k) + start_up_s), where start-up
 * that is not paid for is in the jobs' time only. Of equals the first option and the smaller width. */
struct width width_at_price(const struct width_class *of, double price, bool whole);

/* Mean response time of a job with this width, and of one with this choice. */
double width_time_s(const struct width_class *of, struct width width);
double width_choice_time_s(const struct width_class *of, const struct width_choice *choice);

/* Fills choices [problem->n] and the plan. False: even the cheapest widths cost more than the budget (plan->least
 * says how much). */
bool widths_solve(const struct widths_problem *problem, struct width_choice *choices, struct widths_plan *plan);

/* What these choices come to; price stays 0. */
struct widths_plan widths_account(const struct widths_problem *problem, const struct width_choice *choices);

#endif

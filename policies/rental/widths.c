#include "policies/rental/widths.h"

#include <math.h>

/* s / s', for the laws that have a derivative. */
static double over_slope(const struct speedup *speedup, double gpus)
{
    const double f = speedup->parallel_frac;
    switch (speedup->law) {
    case SPEEDUP_POWER: return gpus / speedup->exponent;
    case SPEEDUP_AMDAHL: return gpus * ((1.0 - f) * gpus + f) / f;
    case SPEEDUP_LINEAR:
    case SPEEDUP_TABLE: break;
    }
    return gpus;
}

/* The width without start-up: s/s' - k = h. */
static double closed_form(const struct speedup *speedup, double h)
{
    const double f = speedup->parallel_frac, p = speedup->exponent;
    switch (speedup->law) {
    case SPEEDUP_POWER: return h * p / (1.0 - p);
    case SPEEDUP_AMDAHL: return sqrt(h * f / (1.0 - f));
    case SPEEDUP_LINEAR:
    case SPEEDUP_TABLE: break;
    }
    return h > 0.0 ? (double)INFINITY : 0.0;
}

/* The excess of k over the best width: (s/s') (1 + start-up s/size) - k - h, which rises with k. */
static double beyond(const struct width_class *of, const struct width_option *option, double h, double gpus)
{
    const double share = option->start_up_s * option->speed * speedup_at(&option->speedup, gpus) / of->size;
    const double slope = over_slope(&option->speedup, gpus);
    return slope - gpus + slope * share - h;
}

static double between(const struct width_class *of, const struct width_option *option, double h)
{
    double low = 1.0, high = of->most_gpus;
    if (beyond(of, option, h, low) >= 0.0) return low;
    if (beyond(of, option, h, high) <= 0.0) return high;
    for (double middle = 0.5 * (low + high); middle > low && middle < high; middle = 0.5 * (low + high))
        *(beyond(of, option, h, middle) < 0.0 ? &low : &high) = middle;
    return low;
}

/* The best width on one kind of GPU, as a real number. Never called for a table. */
static double smooth_width(const struct width_class *of, const struct width_option *option, double price)
{
    const double h = of->weight * price / option->price;
    if (option->pays_start_up && option->start_up_s > 0.0) return between(of, option, h);
    return fmin(fmax(closed_form(&option->speedup, h), 1.0), of->most_gpus);
}

double width_time_s(const struct width_class *of, struct width width)
{
    const struct width_option *option = &of->options[width.option];
    return of->size / (option->speed * speedup_at(&option->speedup, width.gpus)) + option->start_up_s;
}

/* The paid part of that time. */
static double paid_time_s(const struct width_class *of, struct width width)
{
    const struct width_option *option = &of->options[width.option];
    return width_time_s(of, width) - (option->pays_start_up ? 0.0 : option->start_up_s);
}

struct search {
    const struct width_class *of;
    double price;
    bool whole;
    struct width best;
    double value, time_s; /* of the best; INFINITY before the first candidate */
};

static void consider(struct search *search, struct width width)
{
    const struct width_class *of = search->of;
    if (width.gpus > of->most_gpus || (search->whole && width.gpus != floor(width.gpus))) return;
    const double time_s = width_time_s(of, width);
    const double cost = of->options[width.option].price * width.gpus * paid_time_s(of, width);
    const double value = of->weight * search->price * time_s + cost;
    if (value > search->value || (value == search->value && time_s >= search->time_s)) return;
    search->best = width;
    search->value = value;
    search->time_s = time_s;
}

static void consider_option(struct search *search, int i)
{
    const struct width_option *option = &search->of->options[i];
    if (!(option->speed > 0.0)) return;
    if (option->speedup.law == SPEEDUP_TABLE) {
        for (size_t k = 0; k < option->speedup.n_points; k++)
            consider(search, (struct width){i, option->speedup.points[k].gpus});
        return;
    }
    const double gpus = smooth_width(search->of, option, search->price);
    consider(search, (struct width){i, search->whole ? floor(gpus) : gpus});
    if (search->whole) consider(search, (struct width){i, ceil(gpus)});
}

struct width width_at_price(const struct width_class *of, double price, bool whole)
{
    struct search search = {.of = of, .price = price, .whole = whole, .best = {0, 1.0}, .value = (double)INFINITY,
                            .time_s = (double)INFINITY};
    for (int i = 0; i < of->n_options; i++) consider_option(&search, i);
    return search.best;
}

/* Mean spending on a class. */
static double paid(const struct width_class *of, struct width width)
{
    return of->rate_per_s * of->options[width.option].price * width.gpus * paid_time_s(of, width);
}

static double paid_at(const struct widths_problem *problem, double price)
{
    double sum = 0.0;
    for (int i = 0; i < problem->n; i++) {
        const struct width_class *of = &problem->classes[i];
        sum += paid(of, width_at_price(of, price, problem->whole));
    }
    return sum;
}

static void add_part(struct widths_plan *plan, const struct width_class *of, struct width width, double frac)
{
    const double per_s = frac * of->rate_per_s, paying = per_s * paid_time_s(of, width);
    const double each = of->options[width.option].price * width.gpus;
    plan->jobs_in_system += per_s * width_time_s(of, width);
    plan->spent += paying * each;
    plan->spent_variance += paying * each * each;
}

struct widths_plan widths_account(const struct widths_problem *problem, const struct width_choice *choices)
{
    struct widths_plan plan = {.least = paid_at(problem, 0.0)};
    for (int i = 0; i < problem->n; i++) {
        add_part(&plan, &problem->classes[i], choices[i].low, 1.0 - choices[i].high_frac);
        add_part(&plan, &problem->classes[i], choices[i].high, choices[i].high_frac);
    }
    return plan;
}

static bool is_one_width(struct width a, struct width b)
{
    return a.option == b.option && fabs(a.gpus - b.gpus) <= 1e-9 * b.gpus;
}

/* At the price where the budget is spent, classes move from low to high one after the other, the last one in part. */
static void fill(const struct widths_problem *problem, double low, double high, struct width_choice *choices)
{
    double room = problem->budget - paid_at(problem, low);
    for (int i = 0; i < problem->n; i++) {
        const struct width_class *of = &problem->classes[i];
        const struct width from = width_at_price(of, low, problem->whole),
                           to = width_at_price(of, high, problem->whole);
        const double more = paid(of, to) - paid(of, from);
        const double frac = more <= room ? 1.0 : fmax(room, 0.0) / more;
        room -= frac * more;
        const bool is_one = is_one_width(from, to);
        choices[i] = (struct width_choice){frac < 1.0 || is_one ? from : to, frac > 0.0 && !is_one ? to : from,
                                           frac < 1.0 && !is_one ? frac : 0.0};
    }
}

/* Relative rounding error allowed when the budget just suffices. */
static const double SLACK = 1e-12;
static const double DEAREST = 1e18;

bool widths_solve(const struct widths_problem *problem, struct width_choice *choices, struct widths_plan *plan)
{
    double low = 0.0, high = 1.0;
    *plan = (struct widths_plan){.least = paid_at(problem, low)};
    if (plan->least > problem->budget * (1.0 + SLACK)) return false;
    while (high < DEAREST && paid_at(problem, high) <= problem->budget) high *= 2.0;
    for (double middle = 0.5 * high; middle > low && middle < high; middle = 0.5 * (low + high))
        *(paid_at(problem, middle) <= problem->budget ? &low : &high) = middle;
    fill(problem, low, high, choices);
    *plan = widths_account(problem, choices);
    plan->price = low;
    return true;
}
